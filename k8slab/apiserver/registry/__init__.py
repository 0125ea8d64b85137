"""Resources: the rules of each, and the stores that apply them.

>>> from k8slab.api.scheme import DEPLOYMENTS, SCHEME
>>> deployments = strategy_for(SCHEME.info(DEPLOYMENTS))
>>> type(deployments).__name__, deployments.has_generation, deployments.has_status
('DeploymentStrategy', True, True)
>>> leases = strategy_for(SCHEME.find("leases"))
>>> leases.allow_create_on_update, leases.allow_unconditional_update
(True, False)

The caller's duties: hand a store drafts, objects whose top level and metadata it may write to.

Simplified: resources without an entry follow the general rules; managedFields are not tracked.
"""

from __future__ import annotations

from collections.abc import Callable

from k8slab.api.scheme import SCHEME, ResourceInfo
from k8slab.apiserver.registry.autoscalers import AutoscalerStrategy
from k8slab.apiserver.registry.binding import BindingStore
from k8slab.apiserver.registry.context import Context, Draft, Environment, draft_of, new_uid
from k8slab.apiserver.registry.core import (
    EndpointSliceStrategy,
    EventStrategy,
    NodeStrategy,
    SecretStrategy,
    VolumeStrategy,
)
from k8slab.apiserver.registry.custom import CustomResourceStrategy
from k8slab.apiserver.registry.delete_options import DeleteOptions
from k8slab.apiserver.registry.eviction import EvictionStore
from k8slab.apiserver.registry.field_labels import FIELD_LABELS, parse_fields
from k8slab.apiserver.registry.namespaces import FinalizeStrategy, NamespaceStore, NamespaceStrategy
from k8slab.apiserver.registry.pods import PodStatusStrategy, PodStrategy
from k8slab.apiserver.registry.scale import ScaleStore, scale_of
from k8slab.apiserver.registry.services import ServiceStore, ServiceStrategy
from k8slab.apiserver.registry.store import Store, UpdatedObject, Validate
from k8slab.apiserver.registry.strategy import ORPHAN, StatusStrategy, Strategy
from k8slab.apiserver.registry.workloads import (
    DaemonSetStrategy,
    DeploymentStrategy,
    JobStrategy,
    ReplicaStrategy,
)

__all__ = [
    "FIELD_LABELS",
    "STATUS_KEEPS",
    "STORES",
    "STRATEGIES",
    "BindingStore",
    "Context",
    "CustomResourceStrategy",
    "DeleteOptions",
    "Draft",
    "Environment",
    "EvictionStore",
    "FinalizeStrategy",
    "ScaleStore",
    "StatusStrategy",
    "Store",
    "Strategy",
    "UpdatedObject",
    "Validate",
    "draft_of",
    "new_uid",
    "parse_fields",
    "scale_of",
    "status_strategy_for",
    "strategy_for",
]

STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "pods": PodStrategy,
    "nodes": NodeStrategy,
    "namespaces": NamespaceStrategy,
    "services": ServiceStrategy,
    "secrets": SecretStrategy,
    "events": EventStrategy,
    "events.events.k8s.io": EventStrategy,
    "endpoints": lambda: Strategy(allow_create_on_update=True),
    "serviceaccounts": lambda: Strategy(returns_deleted=True),
    "limitranges": lambda: Strategy(allow_create_on_update=True),
    "resourcequotas": lambda: Strategy(returns_deleted=True),
    "podtemplates": lambda: Strategy(has_generation=True, returns_deleted=True),
    "persistentvolumes": VolumeStrategy,
    "persistentvolumeclaims": VolumeStrategy,
    "replicationcontrollers": lambda: ReplicaStrategy(gc_policy=ORPHAN),
    "deployments.apps": DeploymentStrategy,
    "replicasets.apps": ReplicaStrategy,
    "statefulsets.apps": lambda: Strategy(has_generation=True),
    "daemonsets.apps": DaemonSetStrategy,
    "horizontalpodautoscalers.autoscaling": AutoscalerStrategy,
    "jobs.batch": JobStrategy,
    "cronjobs.batch": lambda: Strategy(has_generation=True),
    "poddisruptionbudgets.policy": lambda: Strategy(has_generation=True, allow_unconditional_update=False),
    "ingresses.networking.k8s.io": lambda: Strategy(has_generation=True),
    "ingressclasses.networking.k8s.io": lambda: Strategy(has_generation=True),
    "networkpolicies.networking.k8s.io": lambda: Strategy(has_generation=True),
    "endpointslices.discovery.k8s.io": EndpointSliceStrategy,
    "leases.coordination.k8s.io": lambda: Strategy(allow_create_on_update=True, allow_unconditional_update=False),
    "podgroups.scheduling.k8s.io": lambda: Strategy(has_generation=True, allow_unconditional_update=False),
    "workloads.scheduling.k8s.io": lambda: Strategy(has_generation=True, allow_unconditional_update=False),
    "priorityclasses.scheduling.k8s.io": lambda: Strategy(has_generation=True),
    "storageclasses.storage.k8s.io": lambda: Strategy(returns_deleted=True),
    "csidrivers.storage.k8s.io": lambda: Strategy(returns_deleted=True, allow_unconditional_update=False),
    "csinodes.storage.k8s.io": lambda: Strategy(returns_deleted=True, allow_unconditional_update=False),
    "volumeattachments.storage.k8s.io": lambda: Strategy(returns_deleted=True, allow_unconditional_update=False),
    "roles.rbac.authorization.k8s.io": lambda: Strategy(allow_create_on_update=True),
    "rolebindings.rbac.authorization.k8s.io": lambda: Strategy(allow_create_on_update=True),
    "clusterroles.rbac.authorization.k8s.io": lambda: Strategy(allow_create_on_update=True),
    "clusterrolebindings.rbac.authorization.k8s.io": lambda: Strategy(allow_create_on_update=True),
    "runtimeclasses.node.k8s.io": lambda: Strategy(allow_unconditional_update=False),
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": lambda: Strategy(
        has_generation=True, allow_unconditional_update=False
    ),
    "validatingwebhookconfigurations.admissionregistration.k8s.io": lambda: Strategy(
        has_generation=True, allow_unconditional_update=False
    ),
    "customresourcedefinitions.apiextensions.k8s.io": lambda: Strategy(
        has_generation=True, returns_deleted=True, allow_unconditional_update=False
    ),
}
"""Rules by group resource. Resources that are not named follow `Strategy()`."""

STORES: dict[str, type[Store]] = {"namespaces": NamespaceStore, "services": ServiceStore}
"""Resources whose store does more than apply the strategy."""

STATUS_KEEPS: dict[str, tuple[str, ...]] = {
    "deployments.apps": ("labels",),
    "services": ("labels", "ownerReferences", "finalizers"),
    "persistentvolumes": ("labels", "ownerReferences", "finalizers"),
    "persistentvolumeclaims": ("labels", "ownerReferences", "finalizers"),
}
"""Metadata that a status update of the resource cannot change."""

_CUSTOM_KEEPS = ("labels", "annotations", "ownerReferences", "finalizers")


def strategy_for(info: ResourceInfo) -> Strategy:
    """The rules of a resource. Kinds of foreign groups get those of custom resources."""
    if not SCHEME.is_builtin_group(info.gvr.group):
        strategy: Strategy = CustomResourceStrategy()
    else:
        strategy = STRATEGIES.get(info.gvr.group_resource, Strategy)()
    strategy.has_status = "status" in info.subresources
    return strategy


def status_strategy_for(info: ResourceInfo, main: Strategy) -> StatusStrategy:
    """The rules of its `status` subresource."""
    if info.gvr.group_resource == "pods":
        return PodStatusStrategy(main)
    kept = _CUSTOM_KEEPS if isinstance(main, CustomResourceStrategy) else STATUS_KEEPS.get(info.gvr.group_resource, ())
    return StatusStrategy(main, kept=kept)
