"""Filter: a CSI driver attaches only so many volumes to a Node (`spec.drivers[].allocatable.count` of its CSINode).

Upstream: pkg/scheduler/framework/plugins/nodevolumelimits/csi.go
Simplified: volumes of in-tree cloud plugins are not translated to CSI, so they are not counted; no gate
VolumeLimitScaling (alpha), so a Node that has not reported a driver has no limit for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.persistent_volumes import claim_class, is_claim_of, named_claims, not_for_pod, pod_claims
from k8slab.api.scheme import CSINODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, STORAGECLASSES, VOLUMEATTACHMENTS
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

__all__ = ["NodeVolumeLimits"]

_TOO_MANY = Status(Code.UNSCHEDULABLE, "node(s) exceed max volume count", plugin="NodeVolumeLimits")

_STATE = "NodeVolumeLimits"

Volume = tuple[str, str]
"""A volume of CSI: (driver, handle)."""


@dataclass(slots=True)
class _Question:
    """What is the same for every Node: the Pod's volumes, or why they cannot be counted; what is attached, by Node."""

    wanted: Mapping[Volume, None] = field(default_factory=dict)
    rejected: Status = SUCCESS
    attached: Mapping[str, dict[Volume, None]] | None = None


class _Rejected(Exception):
    """A volume of the incoming Pod cannot be counted."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.message)
        self.status = status


def _limits(csi_node: Object | None) -> dict[str, int]:
    drivers = ((csi_node or {}).get("spec") or {}).get("drivers") or ()
    counts = {driver.get("name") or "": (driver.get("allocatable") or {}).get("count") for driver in drivers}
    return {name: count for name, count in counts.items() if count is not None}


class NodeVolumeLimits:
    name = "NodeVolumeLimits"

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        self._handle = handle

    # -- PreFilter, Filter -------------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        if not pod_claims(pod):
            return None, SKIP
        state.write(_STATE, self._question(pod))
        return None, SUCCESS

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        try:
            question: _Question = state.read(_STATE)
        except KeyError:  # a profile may leave PreFilter out
            question = self._question(pod)
        if question.rejected is not SUCCESS:
            return question.rejected
        wanted = question.wanted
        limits = _limits(self._handle.lister.get(CSINODES, node.name)) if wanted else {}
        if not limits:
            return SUCCESS
        if question.attached is None:
            question.attached = self._attached()
        try:
            attached = self._used(node) | question.attached.get(node.name, {})
        except _Rejected as rejected:
            return rejected.status
        for driver in dict.fromkeys(driver for driver, _ in wanted):
            if driver in limits:
                there = {volume for volume in attached if volume[0] == driver}
                more = {volume for volume in wanted if volume[0] == driver}
                if len(there | more) > limits[driver] and not more <= there:
                    return _TOO_MANY
        return SUCCESS

    def _question(self, pod: Object) -> _Question:
        try:
            return _Question(self._volumes_of(pod, is_new=True))
        except _Rejected as rejected:
            return _Question(rejected=rejected.status)

    def _used(self, node: NodeInfo) -> dict[Volume, None]:
        """What the Pods of the Node use, each volume once."""
        found: dict[Volume, None] = {}
        for info in node.pods.values():
            found.update(self._volumes_of(info.pod, is_new=False))
        return found

    def _attached(self) -> dict[str, dict[Volume, None]]:
        """What is attached, by Node: also for Pods that are gone."""
        found: dict[str, dict[Volume, None]] = {}
        for attachment in self._handle.lister.list(VOLUMEATTACHMENTS):
            spec = attachment["spec"]
            name = (spec.get("source") or {}).get("persistentVolumeName")
            volume = self._handle.lister.get(PERSISTENTVOLUMES, name) if name and spec.get("attacher") else None
            csi = volume["spec"].get("csi") if volume is not None else None
            if csi is not None:
                there = found.setdefault(spec.get("nodeName") or "", {})
                there[spec["attacher"], csi.get("volumeHandle") or ""] = None
        return found

    def _volumes_of(self, pod: Object, *, is_new: bool) -> dict[Volume, None]:
        """The CSI volumes a Pod needs attached. What is missing for the incoming Pod is a verdict."""
        found: dict[Volume, None] = {}
        namespace = namespace_of(pod)
        for volume, name in pod_claims(pod):
            if not name:
                raise _Rejected(Status(Code.ERROR, "PersistentVolumeClaim had no name"))
            claim = self._handle.lister.get(PERSISTENTVOLUMECLAIMS, name, namespace)
            if claim is None:
                if is_new:
                    text = f'looking up PVC {namespace}/{name}: persistentvolumeclaim "{name}" not found'
                    raise _Rejected(Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text))
                continue
            if text := not_for_pod(pod, volume, claim):
                raise _Rejected(Status(Code.ERROR, text))
            csi = self._csi_volume(claim)
            if csi is not None:
                found[csi] = None
        return found

    def _csi_volume(self, claim: Object) -> Volume | None:
        """(driver, handle) behind a claim; while it has no volume, one is made up from its class and name."""
        volume = self._handle.lister.get(PERSISTENTVOLUMES, claim["spec"].get("volumeName") or "")
        if volume is not None:
            csi = volume["spec"].get("csi")
            driver, handle = (csi or {}).get("driver"), (csi or {}).get("volumeHandle")
            return (driver, handle) if driver and handle else None
        storage_class = self._handle.lister.get(STORAGECLASSES, claim_class(claim))
        if storage_class is None or not storage_class.get("provisioner"):
            return None
        # No handle has this form, so it is nobody else's. (Upstream prefixes random letters for that.)
        return storage_class["provisioner"], f"claim {namespace_of(claim)}/{claim['metadata']['name']}"

    # -- the queue ---------------------------------------------------------------------------------

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return [
            ClusterEventWithHint(ClusterEvent(EventResource.CSI_NODE, ActionType.ADD)),
            ClusterEventWithHint(ClusterEvent(EventResource.CSI_NODE, ActionType.UPDATE), self._after_limit_change),
            ClusterEventWithHint(ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE), self._after_pod_deleted),
            ClusterEventWithHint(
                ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.ADD), self._after_claim_added
            ),
            ClusterEventWithHint(
                ClusterEvent(EventResource.VOLUME_ATTACHMENT, ActionType.DELETE), self._after_detached
            ),
        ]

    def _after_limit_change(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        """It helps when some driver takes more volumes than before."""
        before, now = _limits(old), _limits(new)
        grown = any(count > before.get(name, 0) for name, count in now.items())
        return QueueingHint.of(grown)

    def _after_pod_deleted(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        helps = old is not None and old["spec"].get("nodeName") and pod_claims(old)
        return QueueingHint.of(helps)

    def _after_claim_added(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        return QueueingHint.of(is_claim_of(new, pod, [name for _, name in pod_claims(pod)]))

    def _after_detached(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        """A volume left a Node: it may help any Pod that has a claim."""
        return QueueingHint.of(named_claims(pod))
