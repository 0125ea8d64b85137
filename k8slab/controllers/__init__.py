"""The controllers of the controller manager: one module or package per controller.

Upstream: cmd/kube-controller-manager, pkg/controller
"""

from __future__ import annotations

from k8slab.controllers.context import ControllerContext

__all__ = ["REGISTRY", "ControllerContext"]

REGISTRY: dict[str, type] = {
}
"""Every controller by upstream's name, in the order in which they are started."""
