"""The claims of a Pod: Filter Nodes by their volumes, Reserve volumes for them, and bind those before the Pod.

A claim whose class binds at once must be bound already. For one that waits for its first consumer the Pod's Node
decides: Filter finds a volume or a provisioner for each Node, Reserve takes it in memory, PreBind writes it and waits.

Upstream: pkg/scheduler/framework/plugins/volumebinding/volume_binding.go
Simplified: it scores nothing, as upstream without the gate StorageCapacityScoring (alpha).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.api.persistent_volumes import is_claim_of, not_for_pod, pod_claims
from k8slab.api.quantity import quantity
from k8slab.scheduler.config_args import with_defaults
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
    namespace_of,
)
from k8slab.scheduler.plugins.volume_binder import PodClaims, PodVolumes, VolumeBinder, VolumeBindingError

__all__ = ["VolumeBinding"]

_STATE = "VolumeBinding"
_UNBOUND = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "pod has unbound immediate PersistentVolumeClaims")
_NOT_FOUND = Status(Code.ERROR, "not found")
_MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"


class _State:
    """`by_node`: what Filter found for each Node. It is shared with clones, as upstream does."""

    __slots__ = ("all_bound", "by_node", "claims")

    def __init__(self, claims: PodClaims | None = None) -> None:
        self.claims = claims
        self.by_node: dict[str, PodVolumes] = {}
        self.all_bound = False


def _read(state: CycleState) -> _State | None:
    """What PreFilter wrote; None where a profile leaves the plugin's PreFilter out."""
    try:
        found: _State = state.read(_STATE)
    except KeyError:
        return None
    return found


class VolumeBinding:
    """Args: `bindTimeoutSeconds` (600), how long PreBind waits for the PV controller."""

    name = "VolumeBinding"

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        args = with_defaults("VolumeBinding", args, FeatureGates())
        self.binder = VolumeBinder(handle, args["bindTimeoutSeconds"])

    # -- PreFilter, Filter -------------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        claimed = pod_claims(pod)
        if not claimed:
            state.write(_STATE, _State())
            return None, SKIP
        for volume, name in claimed:
            if problem := self._problem(pod, volume, name):
                return None, Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, problem)
        try:
            claims = self.binder.sort_claims(pod)
        except VolumeBindingError as error:
            return None, Status(Code.ERROR, str(error))
        if claims.immediate:
            return None, _UNBOUND
        state.write(_STATE, _State(claims))
        return None, SUCCESS

    def _problem(self, pod: Object, volume: Mapping[str, Any], name: str) -> str:
        """Why a claim cannot be used whatever the Node; "" when it can."""
        claim = self.binder.claims.get_api(name, namespace_of(pod))
        if claim is None:
            if volume.get("ephemeral") is not None:
                return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
            return f'persistentvolumeclaim "{name}" not found'
        if (claim.get("status") or {}).get("phase") == "Lost":
            lost = claim["spec"].get("volumeName") or ""
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{lost}"'
        if claim["metadata"].get("deletionTimestamp"):
            return f'persistentvolumeclaim "{name}" is being deleted'
        return not_for_pod(pod, volume, claim)

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        found = _read(state)
        if found is None:
            return _NOT_FOUND
        try:
            volumes, reasons = self.binder.find(found.claims or PodClaims(), node.name, node.labels)
        except VolumeBindingError as error:
            return Status(Code.ERROR, str(error))
        if reasons:
            return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, *reasons, plugin=self.name)
        found.by_node[node.name] = volumes
        return SUCCESS

    # -- Score -------------------------------------------------------------------------------------

    def pre_score(self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]) -> Status:
        return SKIP

    def score(self, state: CycleState, pod: Object, node: NodeInfo) -> int:
        return 0

    # -- Reserve, PreBind --------------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: Object, node_name: str) -> Status:
        found = _read(state)
        if found is None:
            return _NOT_FOUND
        volumes = found.by_node.get(node_name)
        if volumes is None:
            found.all_bound = True
            return SUCCESS
        try:
            found.all_bound = self.binder.assume(pod, node_name, volumes)
        except VolumeBindingError as error:
            return Status(Code.ERROR, str(error))
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Object, node_name: str) -> None:
        found = _read(state)
        volumes = None if found is None else found.by_node.get(node_name)
        if volumes is not None:
            self.binder.revert(volumes)

    def pre_bind_pre_flight(self, state: CycleState, pod: Object, node_name: str) -> Status:
        found = _read(state)
        if found is None:
            return _NOT_FOUND
        return SKIP if found.all_bound else SUCCESS

    async def pre_bind(self, state: CycleState, pod: Object, node_name: str) -> Status:
        """Error when a write fails, somebody undoes the binding, or time is over: then the Pod starts again."""
        found = _read(state)
        if found is not None and found.all_bound:
            return SUCCESS
        volumes = None if found is None else found.by_node.get(node_name)
        if volumes is None:
            return Status(Code.ERROR, f'no pod volumes found for node "{node_name}"')
        try:
            await self.binder.bind(pod, volumes)
        except VolumeBindingError as error:
            return Status(Code.ERROR, str(error))
        return SUCCESS

    # -- the queue ---------------------------------------------------------------------------------

    def events_to_register(self) -> list[ClusterEventWithHint]:
        changed = ActionType.ADD | ActionType.UPDATE
        capacity = ClusterEvent(EventResource.CSI_STORAGE_CAPACITY, changed)
        return [
            ClusterEventWithHint(ClusterEvent(EventResource.STORAGE_CLASS, changed), _after_class_change),
            ClusterEventWithHint(ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, changed), _after_claim_change),
            ClusterEventWithHint(ClusterEvent(EventResource.PERSISTENT_VOLUME, changed)),
            ClusterEventWithHint(ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_LABEL)),
            ClusterEventWithHint(ClusterEvent(EventResource.CSI_NODE, changed), _after_csi_node_change),
            ClusterEventWithHint(ClusterEvent(EventResource.CSI_DRIVER, ActionType.UPDATE), _after_driver_change),
            ClusterEventWithHint(capacity, _after_capacity_change),
        ]


def _after_class_change(pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
    """A new class may help; of an old one only the topologies can change."""
    return QueueingHint.of(old is None or old.get("allowedTopologies") != (new or {}).get("allowedTopologies"))


def _after_claim_change(pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
    return QueueingHint.of(is_claim_of(new, pod, [name for _, name in pod_claims(pod)]))


def _after_csi_node_change(pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
    """In-tree volumes are handed to CSI Node by Node: this annotation says which."""
    migrated = [(((node or {}).get("metadata") or {}).get("annotations") or {}).get(_MIGRATED) for node in (old, new)]
    return QueueingHint.of(old is None or migrated[0] != migrated[1])


def _after_driver_change(pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
    """It helps when a driver whose volumes the Pod has inline no longer wants its capacity looked at."""
    before, now = (bool(((driver or {}).get("spec") or {}).get("storageCapacity")) for driver in (old, new))
    drivers = [(volume.get("csi") or {}).get("driver") for volume in pod["spec"].get("volumes") or ()]
    return QueueingHint.of(new is not None and new["metadata"]["name"] in drivers and before and not now)


def _after_capacity_change(pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
    if old is None:
        return QueueingHint.QUEUE
    limits = [(capacity or {}).get("maximumVolumeSize") or (capacity or {}).get("capacity") for capacity in (old, new)]
    grown = limits[1] is not None and (limits[0] is None or quantity(limits[0]) < quantity(limits[1]))
    return QueueingHint.of(grown)
