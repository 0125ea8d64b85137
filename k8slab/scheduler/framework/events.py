"""Changes in the cluster that may make a rejected Pod schedulable.

Upstream: staging/src/k8s.io/kube-scheduler/framework/types.go (ClusterEvent), pkg/scheduler/framework/events.go
Simplified: no events of resource claims, none for declared node features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntFlag, StrEnum
from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.api.pod_requests import pod_requests
from k8slab.api.scheme import GVR

__all__ = [
    "ASSIGNED_POD_ADD",
    "ASSIGNED_POD_DELETE",
    "ASSIGNED_POD_UPDATE",
    "FORCE_ACTIVATE",
    "NODE_ADD",
    "NODE_DELETE",
    "UNSCHEDULABLE_TIMEOUT",
    "UNSCHEDULED_POD_ADD",
    "UNSCHEDULED_POD_UPDATE",
    "ActionType",
    "ClusterEvent",
    "ClusterEventWithHint",
    "EventResource",
    "QueueingHint",
    "QueueingHintFn",
    "custom_resource",
    "custom_resource_of",
    "node_changes",
    "pod_changes",
]


class ActionType(IntFlag):
    """What happened to a resource; several can be or-ed in what a plugin registers."""

    ADD = 1 << 0
    DELETE = 1 << 1
    UPDATE_NODE_ALLOCATABLE = 1 << 2
    UPDATE_NODE_LABEL = 1 << 3
    UPDATE_NODE_TAINT = 1 << 4
    UPDATE_NODE_CONDITION = 1 << 5
    UPDATE_NODE_ANNOTATION = 1 << 6
    UPDATE_POD_LABEL = 1 << 7
    UPDATE_POD_SCALE_DOWN = 1 << 8
    UPDATE_POD_TOLERATION = 1 << 9
    UPDATE_POD_SCHEDULING_GATES_ELIMINATED = 1 << 10
    UPDATE = (1 << 11) - (1 << 2)
    ALL = (1 << 11) - 1


_LABELS = {
    ActionType.ADD: "Add",
    ActionType.DELETE: "Delete",
    ActionType.UPDATE_NODE_ALLOCATABLE: "UpdateNodeAllocatable",
    ActionType.UPDATE_NODE_LABEL: "UpdateNodeLabel",
    ActionType.UPDATE_NODE_TAINT: "UpdateNodeTaint",
    ActionType.UPDATE_NODE_CONDITION: "UpdateNodeCondition",
    ActionType.UPDATE_NODE_ANNOTATION: "UpdateNodeAnnotation",
    ActionType.UPDATE_POD_LABEL: "UpdatePodLabel",
    ActionType.UPDATE_POD_SCALE_DOWN: "UpdatePodScaleDown",
    ActionType.UPDATE_POD_TOLERATION: "UpdatePodToleration",
    ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED: "UpdatePodSchedulingGatesEliminated",
    ActionType.UPDATE: "Update",
    ActionType.ALL: "All",
}


def _label_of(action: ActionType) -> str:
    if (label := _LABELS.get(action)) is not None:
        return label
    parts = [one for one in _LABELS if one & action == one and (one & (one - 1) == 0 or one == ActionType.UPDATE)]
    if ActionType.UPDATE in parts:  # it stands for every kind of update
        parts = [one for one in parts if one == ActionType.UPDATE or not one & ActionType.UPDATE]
    return "|".join(_LABELS[one] for one in parts)


class EventResource(StrEnum):
    """Whose change it was. `POD` in a registration matches all three kinds of Pod."""

    POD = "Pod"
    ASSIGNED_POD = "AssignedPod"
    UNSCHEDULED_POD = "UnscheduledPod"
    TARGET_POD = "TargetPod"
    NODE = "Node"
    PERSISTENT_VOLUME = "PersistentVolume"
    PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim"
    STORAGE_CLASS = "storage.k8s.io/StorageClass"
    CSI_NODE = "storage.k8s.io/CSINode"
    CSI_DRIVER = "storage.k8s.io/CSIDriver"
    CSI_STORAGE_CAPACITY = "storage.k8s.io/CSIStorageCapacity"
    VOLUME_ATTACHMENT = "storage.k8s.io/VolumeAttachment"
    POD_GROUP = "scheduling.k8s.io/PodGroup"
    WILD_CARD = "*"


def custom_resource(gvr: GVR) -> str:
    """How a plugin names a custom resource in an event: `foos.v1.example.com`, as upstream does.

    >>> custom_resource(GVR("example.com", "v1", "foos"))
    'foos.v1.example.com'
    """
    return f"{gvr.resource}.{gvr.version}.{gvr.group}"


def custom_resource_of(event: ClusterEvent) -> GVR | None:
    """The custom resource an event is about; None for the built-in ones. (Group "": `namespaces.v1.` is one, too.)

    ValueError for a text that names no resource.
    """
    if isinstance(event.resource, EventResource):
        return None
    parts = event.resource.split(".", 2)
    if len(parts) < 3 or not parts[0] or not parts[1]:
        raise ValueError(f"event resource {event.resource!r}: expected an EventResource, or <plural>.<version>.<group>")
    return GVR(parts[2], parts[1], parts[0])


_PODS = frozenset((EventResource.ASSIGNED_POD, EventResource.UNSCHEDULED_POD, EventResource.TARGET_POD))


class ClusterEvent(NamedTuple):
    """A change of one resource, a custom one by the name that `custom_resource` gives it.

    `custom_label` names the special ones (a timeout, a forced activation).

    >>> ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_TAINT).label
    'NodeAdd|UpdateNodeTaint'
    """

    resource: EventResource | str
    action: ActionType
    custom_label: str = ""

    @property
    def label(self) -> str:
        return self.custom_label or f"{self.resource}{_label_of(self.action)}"

    @property
    def is_wildcard(self) -> bool:
        return self.resource == EventResource.WILD_CARD and self.action == ActionType.ALL

    def matches(self, incoming: ClusterEvent) -> bool:
        """Whether a plugin that registered this event wants to hear of `incoming`."""
        if self.is_wildcard:
            return True
        same = (
            self.resource == incoming.resource
            or self.resource == EventResource.WILD_CARD
            or (self.resource == EventResource.POD and incoming.resource in _PODS)
        )
        # All of `incoming`: a general Update only concerns plugins that registered for every kind of update.
        return same and self.action & incoming.action == incoming.action


ASSIGNED_POD_ADD = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD)
ASSIGNED_POD_UPDATE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.UPDATE)
ASSIGNED_POD_DELETE = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
UNSCHEDULED_POD_ADD = ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.ADD)
UNSCHEDULED_POD_UPDATE = ClusterEvent(EventResource.TARGET_POD, ActionType.UPDATE)
NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_DELETE = ClusterEvent(EventResource.NODE, ActionType.DELETE)
UNSCHEDULABLE_TIMEOUT = ClusterEvent(EventResource.WILD_CARD, ActionType.ALL, "UnschedulableTimeout")
FORCE_ACTIVATE = ClusterEvent(EventResource.WILD_CARD, ActionType.ALL, "ForceActivate")


class QueueingHint(StrEnum):
    """A plugin's answer to "could this change help the Pod you rejected?"."""

    QUEUE_SKIP = "QueueSkip"
    QUEUE = "Queue"

    @classmethod
    def of(cls, helps: object) -> QueueingHint:
        """QUEUE when `helps` is true in an `if`, otherwise QUEUE_SKIP."""
        return cls.QUEUE if helps else cls.QUEUE_SKIP


QueueingHintFn = Callable[[Object, Object | None, Object | None], QueueingHint]
"""(the rejected Pod, the object before, the object after) -> hint. Added: before is None. Deleted: after is None."""


class ClusterEventWithHint(NamedTuple):
    """An event a plugin registers for. Without `hint` every such event queues the Pod again."""

    event: ClusterEvent
    hint: QueueingHintFn | None = None


def _part(obj: Object, *path: str) -> Any:
    at: Any = obj
    for name in path:
        at = (at or {}).get(name)
    return at or None


def _conditions(node: Object) -> dict[str, str]:
    return {c["type"]: c.get("status", "") for c in _part(node, "status", "conditions") or ()}


def node_changes(new: Object, old: Object) -> list[ClusterEvent]:
    """Which scheduling properties of a Node changed, in upstream's order. Empty: none (a heartbeat)."""
    found: list[ActionType] = []
    if _part(old, "spec", "unschedulable") and not _part(new, "spec", "unschedulable"):
        found.append(ActionType.UPDATE_NODE_TAINT)
    watched: Mapping[ActionType, tuple[str, ...]] = {
        ActionType.UPDATE_NODE_ALLOCATABLE: ("status", "allocatable"),
        ActionType.UPDATE_NODE_LABEL: ("metadata", "labels"),
        ActionType.UPDATE_NODE_TAINT: ("spec", "taints"),
    }
    found += [action for action, path in watched.items() if _part(old, *path) != _part(new, *path)]
    if _conditions(old) != _conditions(new):
        found.append(ActionType.UPDATE_NODE_CONDITION)
    if _part(old, "metadata", "annotations") != _part(new, "metadata", "annotations"):
        found.append(ActionType.UPDATE_NODE_ANNOTATION)
    return [ClusterEvent(EventResource.NODE, action) for action in found]


def _scaled_down(new: Object, old: Object) -> bool:
    if _part(new, "spec", "containers") == _part(old, "spec", "containers"):
        return False
    before, after = pod_requests(old), pod_requests(new)
    return any(name not in after or quantity > after[name] for name, quantity in before.items())


def pod_changes(new: Object, old: Object) -> list[ClusterEvent]:
    """Which scheduling properties of a Pod changed. Nothing specific: one general Update event."""
    found: list[ActionType] = []
    if _part(new, "metadata", "labels") != _part(old, "metadata", "labels"):
        found.append(ActionType.UPDATE_POD_LABEL)
    if _scaled_down(new, old):
        found.append(ActionType.UPDATE_POD_SCALE_DOWN)
    if not _part(new, "spec", "schedulingGates") and _part(old, "spec", "schedulingGates"):
        found.append(ActionType.UPDATE_POD_SCHEDULING_GATES_ELIMINATED)
    if len(_part(new, "spec", "tolerations") or ()) != len(_part(old, "spec", "tolerations") or ()):
        found.append(ActionType.UPDATE_POD_TOLERATION)
    resource = EventResource.ASSIGNED_POD if _part(new, "spec", "nodeName") else EventResource.TARGET_POD
    return [ClusterEvent(resource, action) for action in found or [ActionType.UPDATE]]
