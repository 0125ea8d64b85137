"""Filter: a bound volume with zone or region labels must be on a Node with the same labels.

Upstream: pkg/scheduler/framework/plugins/volumezone/volume_zone.go, cloud-provider/volume/helpers/zones.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.api.persistent_volumes import claim_class, is_claim_of, named_claims
from k8slab.api.scheme import PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, STORAGECLASSES
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
    PreFilterResult,
    QueueingHint,
    Status,
    labels_of,
    namespace_of,
)

__all__ = ["VolumeZone", "topologies"]

_STATE = "PreFilterVolumeZone"
_CONFLICT = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) had no available volume zone", plugin="VolumeZone")
_GA_OF_BETA = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_LABELS = (*_GA_OF_BETA, *_GA_OF_BETA.values())


class Topology(NamedTuple):
    """A volume can be used where the Node's label `key` has one of `values`."""

    key: str
    values: frozenset[str]


def topologies(volume: Object) -> list[Topology]:
    """What a volume's labels say. Several zones are joined by `__`; a label with an empty one is ignored."""
    found = []
    for key in _LABELS:
        zones = [zone.strip() for zone in labels_of(volume).get(key, "").split("__")]
        if all(zones):
            found.append(Topology(key, frozenset(zones)))
    return found


def _unresolvable(text: str) -> Status:
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text)


class VolumeZone:
    name = "VolumeZone"

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        self._handle = handle

    # -- PreFilter, Filter -------------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        found = self._topologies_of(pod)
        if isinstance(found, Status):
            return None, found
        if not found:
            return None, SKIP
        state.write(_STATE, found)
        return None, SUCCESS

    def _topologies_of(self, pod: Object) -> list[Topology] | Status:
        """What the Pod's bound volumes demand, or why nobody can say."""
        found: list[Topology] = []
        for name in named_claims(pod):
            if not name:
                return _unresolvable("PersistentVolumeClaim had no name")
            claim = self._handle.lister.get(PERSISTENTVOLUMECLAIMS, name, namespace_of(pod))
            if claim is None:
                return _unresolvable(f'persistentvolumeclaim "{name}" not found')
            volume_name = claim["spec"].get("volumeName")
            if not volume_name:
                if text := self._not_to_be_bound_later(claim):
                    return _unresolvable(text)
                continue
            volume = self._handle.lister.get(PERSISTENTVOLUMES, volume_name)
            if volume is None:
                return _unresolvable(f'persistentvolume "{volume_name}" not found')
            found += topologies(volume)
        return found

    def _not_to_be_bound_later(self, claim: Object) -> str:
        """Why an unbound claim is in the way; "" when its class waits for the first consumer."""
        name = claim_class(claim)
        if not name:
            return "PersistentVolumeClaim had no pv name and storageClass name"
        storage_class = self._handle.lister.get(STORAGECLASSES, name)
        if storage_class is None:
            return f'storageclass.storage.k8s.io "{name}" not found'
        mode = storage_class.get("volumeBindingMode")
        if mode is None:
            return f'VolumeBindingMode not set for StorageClass "{name}"'
        return "" if mode == "WaitForFirstConsumer" else "PersistentVolume had no name"

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        """A Node without any such label takes every volume: a cluster in one zone may have none."""
        labels = node.labels
        if not any(key in labels for key in _LABELS):
            return SUCCESS
        try:
            found = state.read(_STATE)
        except KeyError:  # a profile may leave PreFilter out
            found = self._topologies_of(pod)
        if isinstance(found, Status):
            return found
        for topology in found:
            value = labels.get(topology.key, labels.get(_GA_OF_BETA.get(topology.key, "")))
            if value not in topology.values:
                return _CONFLICT
        return SUCCESS

    # -- the queue ---------------------------------------------------------------------------------

    def events_to_register(self) -> list[ClusterEventWithHint]:
        changed = ActionType.ADD | ActionType.UPDATE
        node = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)
        return [
            ClusterEventWithHint(ClusterEvent(EventResource.STORAGE_CLASS, ActionType.ADD), self._after_class_added),
            ClusterEventWithHint(node),
            ClusterEventWithHint(
                ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, changed), self._after_claim_change
            ),
            ClusterEventWithHint(ClusterEvent(EventResource.PERSISTENT_VOLUME, changed), self._after_volume_change),
        ]

    def _after_class_added(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        helps = new is not None and new.get("volumeBindingMode") == "WaitForFirstConsumer"
        return QueueingHint.of(helps)

    def _after_claim_change(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        return QueueingHint.of(is_claim_of(new, pod, named_claims(pod)))

    def _after_volume_change(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        """A new volume may help, another state of one only when its labels say something else."""
        same = old is not None and new is not None and topologies(old) == topologies(new)
        return QueueingHint.of(not same)
