"""Filter: a disk that takes one writer has no writer on the Node, and a ReadWriteOncePod claim no user anywhere.

Upstream: pkg/scheduler/framework/plugins/volumerestrictions/volume_restrictions.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.persistent_volumes import is_claim_of, named_claims
from k8slab.api.scheme import PERSISTENTVOLUMECLAIMS
from k8slab.scheduler.framework import (
    SKIP,
    SUCCESS,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    Code,
    CycleState,
    EventResource,
    Handle,
    NodeInfo,
    PodInfo,
    PreFilterResult,
    QueueingHint,
    Status,
    namespace_of,
)

__all__ = ["VolumeRestrictions", "conflicts"]

_STATE = "PreFilterVolumeRestrictions"
_DISK_CONFLICT = Status(Code.UNSCHEDULABLE, "node(s) had no available disk", plugin="VolumeRestrictions")
_IN_USE = Status(
    Code.UNSCHEDULABLE,
    "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
    plugin="VolumeRestrictions",
)

Source = Mapping[str, Any]


def _both_read(a: Source, b: Source) -> bool:
    return bool(a.get("readOnly") and b.get("readOnly"))


def _same_rbd_image(a: Source, b: Source) -> bool:
    image, other = ((x.get("pool") or "rbd", x.get("image")) for x in (a, b))
    return image == other and not set(a.get("monitors") or ()).isdisjoint(b.get("monitors") or ())


_DISKS: Mapping[str, Callable[[Source, Source], bool]] = {
    "gcePersistentDisk": lambda a, b: a.get("pdName") == b.get("pdName") and not _both_read(a, b),
    "awsElasticBlockStore": lambda a, b: a.get("volumeID") == b.get("volumeID"),
    "iscsi": lambda a, b: a.get("iqn") == b.get("iqn") and not _both_read(a, b),
    "rbd": lambda a, b: _same_rbd_image(a, b) and not _both_read(a, b),
}
"""Kind of disk in a Pod's spec -> whether two Pods that name these cannot be on one Node."""


def _volumes(pod: Object) -> Sequence[Mapping[str, Any]]:
    volumes: Sequence[Mapping[str, Any]] = pod["spec"].get("volumes") or ()
    return volumes


def _names_disk(pod: Object) -> bool:
    return any(volume.get(kind) is not None for volume in _volumes(pod) for kind in _DISKS)


def conflicts(pod: Object, other: Object) -> bool:
    """Whether the two name a disk that they cannot share on one Node."""
    return any(
        mine.get(kind) is not None and theirs.get(kind) is not None and clash(mine[kind], theirs[kind])
        for mine in _volumes(pod)
        for theirs in _volumes(other)
        for kind, clash in _DISKS.items()
    )


class _State:
    """`claims`: those of the Pod with ReadWriteOncePod. `uses`: how many of them Pods on Nodes have."""

    __slots__ = ("claims", "uses")

    def __init__(self, claims: frozenset[str], uses: int) -> None:
        self.claims, self.uses = claims, uses

    def clone(self) -> _State:
        return _State(self.claims, self.uses)

    def count(self, pod: Object, sign: int) -> None:
        self.uses += sign * sum(name in self.claims for name in named_claims(pod))


class VolumeRestrictions:
    name = "VolumeRestrictions"

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        self._handle = handle

    # -- PreFilter, Filter -------------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        namespace, exclusive = namespace_of(pod), set()
        for name in named_claims(pod):
            claim = self._handle.lister.get(PERSISTENTVOLUMECLAIMS, name, namespace)
            if claim is None:
                return None, Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, f'persistentvolumeclaim "{name}" not found')
            if "ReadWriteOncePod" in (claim["spec"].get("accessModes") or ()):
                exclusive.add(name)
        found = _State(frozenset(exclusive), self._in_use(namespace, exclusive))
        if not found.uses and not _names_disk(pod):
            return None, SKIP
        state.write(_STATE, found)
        return None, SUCCESS

    def _in_use(self, namespace: str, claims: Iterable[str]) -> int:
        """How many of `claims` some Pod on a Node has. Looks at all Pods, and only for such claims."""
        wanted = frozenset(claims)
        if not wanted:
            return 0
        pods = (info for node in self._handle.snapshot().nodes for info in node.pods.values())
        used = {name for info in pods if info.namespace == namespace for name in named_claims(info.pod)}
        return len(wanted & used)

    def add_pod(self, state: CycleState, pod: Object, to_add: PodInfo, node: NodeInfo) -> Status:
        state.read(_STATE).count(to_add.pod, 1)
        return SUCCESS

    def remove_pod(self, state: CycleState, pod: Object, to_remove: PodInfo, node: NodeInfo) -> Status:
        """Preempting the Pod that has the claim helps on every Node."""
        state.read(_STATE).count(to_remove.pod, -1)
        return SUCCESS

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        if _names_disk(pod) and any(conflicts(pod, info.pod) for info in node.pods.values()):
            return _DISK_CONFLICT
        try:
            found: _State = state.read(_STATE)
        except KeyError:
            return Status(Code.ERROR, f'cannot read "{_STATE}" from cycleState')
        return _IN_USE if found.uses > 0 else SUCCESS

    # -- the queue ---------------------------------------------------------------------------------

    def events_to_register(self) -> list[ClusterEventWithHint]:
        deleted = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
        claim = ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD)
        return [
            ClusterEventWithHint(deleted, self._after_pod_deleted),
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD)),
            ClusterEventWithHint(claim, self._after_claim_added),
        ]

    def _after_pod_deleted(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        """It helps when the Pod that is gone had the disk, or a claim of the same name."""
        if old is None or namespace_of(old) != namespace_of(pod):
            return QueueingHint.QUEUE_SKIP
        helps = conflicts(pod, old) or not set(named_claims(pod)).isdisjoint(named_claims(old))
        return QueueingHint.of(helps)

    def _after_claim_added(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        return QueueingHint.of(is_claim_of(new, pod, named_claims(pod)))
