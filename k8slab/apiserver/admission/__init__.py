"""Admission: plugins that may change a write, then plugins that may only refuse it.

>>> list(REGISTRY)[:5]
['NamespaceLifecycle', 'ServiceAccount', 'TaintNodesByCondition', 'Priority', 'DefaultTolerationSeconds']
>>> plugins(disabled=("ServiceAccount",))[0].name
'NamespaceLifecycle'

A plugin is a class in a module of its own with a `name`, and `admit` (returns the changed object), `validate` (raises),
or both. It is shown `Attributes`, and reads through a `Lister`.

Simplified: LimitRanger, PodSecurity and ResourceQuota are not part of the chain.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from k8slab.apiserver.admission.attributes import (
    Attributes,
    Lister,
    MutatingPlugin,
    ValidatingPlugin,
    changed_fields,
    forbidden,
)
from k8slab.apiserver.admission.chain import Chain
from k8slab.apiserver.admission.default_toleration_seconds import DefaultTolerationSeconds
from k8slab.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from k8slab.apiserver.admission.pod_topology_labels import PodTopologyLabels
from k8slab.apiserver.admission.policy import MutatingAdmissionPolicy, ValidatingAdmissionPolicy
from k8slab.apiserver.admission.priority import Priority
from k8slab.apiserver.admission.service_account import ServiceAccount
from k8slab.apiserver.admission.taint_nodes_by_condition import TaintNodesByCondition
from k8slab.apiserver.admission.webhook import MutatingAdmissionWebhook, Outside, ValidatingAdmissionWebhook

__all__ = [
    "OUTWARD",
    "REGISTRY",
    "Attributes",
    "Chain",
    "DefaultTolerationSeconds",
    "Lister",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "MutatingPlugin",
    "NamespaceLifecycle",
    "Outside",
    "PodTopologyLabels",
    "Priority",
    "ServiceAccount",
    "TaintNodesByCondition",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "ValidatingPlugin",
    "changed_fields",
    "forbidden",
    "plugins",
]

REGISTRY: dict[str, type[Any]] = {
    "NamespaceLifecycle": NamespaceLifecycle,
    "ServiceAccount": ServiceAccount,
    "TaintNodesByCondition": TaintNodesByCondition,
    "Priority": Priority,
    "DefaultTolerationSeconds": DefaultTolerationSeconds,
    "PodTopologyLabels": PodTopologyLabels,
    "MutatingAdmissionPolicy": MutatingAdmissionPolicy,
    "MutatingAdmissionWebhook": MutatingAdmissionWebhook,
    "ValidatingAdmissionPolicy": ValidatingAdmissionPolicy,
    "ValidatingAdmissionWebhook": ValidatingAdmissionWebhook,
}
"""Plugins by name, in the order they run."""

OUTWARD = (
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
)
"""Plugins that need more of the server than its objects: made with an `Outside`."""


def plugins(disabled: Iterable[str] = (), outside: Outside | None = None) -> list[Any]:
    """One of each plugin that is not disabled. Without an `outside` no webhook can be reached. ValueError for a name
    that is not in the registry."""
    off = list(disabled)
    for name in off:
        if name not in REGISTRY:
            raise ValueError(f"admission plugin {name!r}: expected one of {', '.join(REGISTRY)}")
    return [kind(outside) if name in OUTWARD else kind() for name, kind in REGISTRY.items() if name not in off]
