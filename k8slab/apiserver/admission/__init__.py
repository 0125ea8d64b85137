"""Admission: plugins that may change a write, then plugins that may only refuse it.

>>> list(REGISTRY)[:4]
['NamespaceLifecycle', 'LimitRanger', 'ServiceAccount', 'NodeRestriction']
>>> plugins(disabled=("ServiceAccount",))[0].name
'NamespaceLifecycle'

A plugin is a class in a module of its own with a `name`, and `admit` (returns the changed object), `validate` (raises),
or both. It is shown `Attributes`, and reads through a `Lister`. `Chain` runs the plugins: the mutating ones in order,
then, after the registry's defaults and validation, the validating ones. `Objects` is a Lister over a few objects: with
it the chain runs alone, stage by stage.

Simplified: of upstream's plugins those that are on by default and that something here depends on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from k8slab.apiserver.admission.attributes import (
    Attributes,
    Lister,
    MutatingPlugin,
    Reinvocation,
    ValidatingPlugin,
    forbidden,
)
from k8slab.apiserver.admission.chain import Chain, Stage
from k8slab.apiserver.admission.claim_resize import PersistentVolumeClaimResize
from k8slab.apiserver.admission.default_ingress_class import DefaultIngressClass
from k8slab.apiserver.admission.default_storage_class import DefaultStorageClass
from k8slab.apiserver.admission.default_toleration_seconds import DefaultTolerationSeconds
from k8slab.apiserver.admission.diff import Change, changed_fields, differences
from k8slab.apiserver.admission.limit_ranger import LimitRanger
from k8slab.apiserver.admission.namespace_lifecycle import NamespaceLifecycle
from k8slab.apiserver.admission.node_restriction import NodeRestriction
from k8slab.apiserver.admission.objects import Objects
from k8slab.apiserver.admission.pod_security import PodSecurity
from k8slab.apiserver.admission.pod_topology_labels import PodTopologyLabels
from k8slab.apiserver.admission.policy import MutatingAdmissionPolicy, ValidatingAdmissionPolicy
from k8slab.apiserver.admission.priority import Priority
from k8slab.apiserver.admission.resource_quota import ResourceQuota
from k8slab.apiserver.admission.runtime_class import RuntimeClass
from k8slab.apiserver.admission.service_account import ServiceAccount
from k8slab.apiserver.admission.storage_object_in_use_protection import StorageObjectInUseProtection
from k8slab.apiserver.admission.taint_nodes_by_condition import TaintNodesByCondition
from k8slab.apiserver.admission.webhook import MutatingAdmissionWebhook, Outside, ValidatingAdmissionWebhook

__all__ = [
    "OFF_BY_DEFAULT",
    "OUTWARD",
    "REGISTRY",
    "Attributes",
    "Chain",
    "Change",
    "DefaultIngressClass",
    "DefaultStorageClass",
    "DefaultTolerationSeconds",
    "LimitRanger",
    "Lister",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "MutatingPlugin",
    "NamespaceLifecycle",
    "NodeRestriction",
    "Objects",
    "Outside",
    "PersistentVolumeClaimResize",
    "PodSecurity",
    "PodTopologyLabels",
    "Priority",
    "Reinvocation",
    "ResourceQuota",
    "RuntimeClass",
    "ServiceAccount",
    "Stage",
    "StorageObjectInUseProtection",
    "TaintNodesByCondition",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "ValidatingPlugin",
    "changed_fields",
    "differences",
    "forbidden",
    "plugins",
]

REGISTRY: dict[str, type[Any]] = {
    "NamespaceLifecycle": NamespaceLifecycle,
    "LimitRanger": LimitRanger,
    "ServiceAccount": ServiceAccount,
    "NodeRestriction": NodeRestriction,
    "TaintNodesByCondition": TaintNodesByCondition,
    "PodSecurity": PodSecurity,
    "Priority": Priority,
    "DefaultTolerationSeconds": DefaultTolerationSeconds,
    "DefaultStorageClass": DefaultStorageClass,
    "StorageObjectInUseProtection": StorageObjectInUseProtection,
    "PersistentVolumeClaimResize": PersistentVolumeClaimResize,
    "RuntimeClass": RuntimeClass,
    "DefaultIngressClass": DefaultIngressClass,
    "PodTopologyLabels": PodTopologyLabels,
    "MutatingAdmissionPolicy": MutatingAdmissionPolicy,
    "MutatingAdmissionWebhook": MutatingAdmissionWebhook,
    "ValidatingAdmissionPolicy": ValidatingAdmissionPolicy,
    "ValidatingAdmissionWebhook": ValidatingAdmissionWebhook,
    "ResourceQuota": ResourceQuota,
}
"""Plugins by name, in the order they run."""

OUTWARD = (
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
)
"""Plugins that need more of the server than its objects: made with an `Outside`."""

OFF_BY_DEFAULT = ("StorageObjectInUseProtection",)
"""Plugins that run only when they are enabled."""


def plugins(disabled: Iterable[str] = (), outside: Outside | None = None, *, enabled: Iterable[str] = ()) -> list[Any]:
    """One of each plugin that is on: by default, or because it is `enabled`, and not disabled.

    Without an `outside` no webhook can be reached. ValueError for a name that is not in the registry.
    """
    off, on = list(disabled), list(enabled)
    for name in (*off, *on):
        if name not in REGISTRY:
            raise ValueError(f"admission plugin {name!r}: expected one of {', '.join(REGISTRY)}")
    off += [name for name in OFF_BY_DEFAULT if name not in on]
    return [kind(outside) if name in OUTWARD else kind() for name, kind in REGISTRY.items() if name not in off]
