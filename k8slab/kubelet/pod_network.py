"""What a node's runtime asks of whoever gives Pods a network; `Cluster(cni=...)` puts CNI behind it.

The kubelet itself calls no plugin: it asks its runtime for a sandbox, and the runtime does.

Upstream: containerd internal/cri/server/sandbox_run.go, sandbox_stop.go (no CNI code is under pkg/kubelet since 1.24)
"""

from __future__ import annotations

from typing import Protocol

from k8slab.api.objects import Object

__all__ = ["PodNetwork"]


class PodNetwork(Protocol):
    """`last_error`: why the last `set_up` failed, as the runtime answers it."""

    last_error: str

    def set_up(self, pod: Object) -> tuple[str, ...]:
        """Make the network of a new sandbox; what is left of an older one of this Pod goes. Its addresses, the Pod's
        first one first; () when that failed."""

    def tear_down(self, uid: str) -> None:
        """Undo it; idempotent."""

    def lose_power(self) -> None:
        """The machine went down: what only the kernel knew is gone."""
