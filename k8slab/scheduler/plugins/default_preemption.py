"""PostFilter: could evicting less important Pods make room, and where does it do least harm?

The plugin only decides. The choice (`PostFilterResult.preemption`) is carried out by `scheduler/executor.py`; until
it is done, PreEnqueue keeps the Pod out of the queue.

Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go,
pkg/scheduler/framework/preemption/preemption.go (Preempt)
Simplified: no pod groups, no out-of-tree rules for who may be a victim.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.api.pods import get_condition, pod_priority
from k8slab.scheduler.config_args import with_defaults
from k8slab.scheduler.diagnosis import Diagnosis, FitError
from k8slab.scheduler.framework import (
    SUCCESS,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    Code,
    CycleState,
    EventResource,
    Handle,
    NodeStatuses,
    PostFilterResult,
    QueueingHint,
    Status,
    uid_of,
)
from k8slab.scheduler.memo import NodeMemo
from k8slab.scheduler.nominator import nominated_node_name
from k8slab.scheduler.preemption import Candidate, DryRun, choose, dry_run_preemption

__all__ = ["DefaultPreemption"]

_NOT_HELPFUL = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "Preemption is not helpful for scheduling")
_IS_PREEMPTING = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "waiting for the preemption for this pod to be finished")
_REASON = "PreemptionByScheduler"


class DefaultPreemption:
    """Arguments: `minCandidateNodesPercentage` (10) and `minCandidateNodesAbsolute` (100), how many Nodes are tried."""

    name = "DefaultPreemption"

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        self._handle = handle
        args = with_defaults("DefaultPreemption", args, FeatureGates())
        self._percentage: int = args["minCandidateNodesPercentage"]
        self._absolute: int = args["minCandidateNodesAbsolute"]
        self._memo: NodeMemo[DryRun] = NodeMemo()

    # -- PostFilter --------------------------------------------------------------------------------

    def post_filter(
        self, state: CycleState, pod: Object, statuses: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        """The Node to clear and its victims; or why that would not help."""
        self._handle.metrics.preemption_attempts.inc()
        result, status = self._preempt(state, pod, statuses)
        if status is SUCCESS:
            return result, status
        return result, Status(status.code, f"preemption: {status.message}")

    def _preempt(
        self, state: CycleState, pod: Object, statuses: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        if why_not := self._not_eligible(pod, statuses):
            return None, Status(Code.UNSCHEDULABLE, why_not)
        nodes = self._handle.snapshot().nodes
        candidates, verdicts, errors = self.candidates(state, pod, statuses)
        if not candidates and errors:
            return None, Status(Code.ERROR, *errors)
        if not candidates:
            verdicts.absent = _NOT_HELPFUL
            error = FitError(len(nodes), Diagnosis(node_to_status=verdicts))
            return PostFilterResult(), Status(Code.UNSCHEDULABLE, str(error))
        choice = choose(candidates, self._handle.rng)
        return PostFilterResult(choice.node, choice, candidates), SUCCESS

    def candidates(
        self, state: CycleState, pod: Object, statuses: NodeStatuses
    ) -> tuple[list[Candidate], Any, list[str]]:
        """What dry runs find: see `preemption.dry_run_preemption`.

        Unschedulable Nodes only: something on them is in the way. UnschedulableAndUnresolvable ones are in the way
        themselves.
        """
        snapshot = self._handle.snapshot()
        potential = [node for node in snapshot.nodes if statuses.get(node.name).code is Code.UNSCHEDULABLE]
        if not potential:
            return dry_run_preemption(self._handle, state, pod, potential, ())
        offset = self._handle.rng.randrange(len(potential)) if len(potential) > 1 else 0
        enough, pdbs = self.num_candidates(len(potential)), self._handle.pdbs()
        known = None if pdbs else self._known(state, pod)
        return dry_run_preemption(self._handle, state, pod, potential, pdbs, offset=offset, enough=enough, known=known)

    def _known(self, state: CycleState, pod: Object) -> dict[str, DryRun] | None:
        """Dry runs for Pods that ask for the same and are as important; None where more than that matters."""
        signature = self._handle.filter_signature(state, pod)
        if signature is None:
            return None
        return self._memo.entries(f"{pod_priority(pod)} {signature}", self._handle.snapshot())

    def num_candidates(self, num_nodes: int) -> int:
        """How many candidates are enough, of so many Nodes that could be cleared."""
        return min(max(num_nodes * self._percentage // 100, self._absolute), num_nodes)

    def _not_eligible(self, pod: Object, statuses: NodeStatuses) -> str:
        """Why the Pod may not preempt; "" when it may."""
        if pod["spec"].get("preemptionPolicy") == "Never":
            return "not eligible due to preemptionPolicy=Never."
        nominated = nominated_node_name(pod)
        if not nominated or statuses.get(nominated).code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
            return ""
        node = self._handle.snapshot().get(nominated)
        mine = pod_priority(pod)
        if node is not None and any(
            info.priority < mine and _terminates_by_preemption(info.pod) for info in node.pods.values()
        ):
            return "not eligible due to a terminating pod on the nominated node."
        return ""

    # -- the queue ---------------------------------------------------------------------------------

    def pre_enqueue(self, pod: Object) -> Status:
        """Keep the Pod back while its victims are being evicted."""
        return _IS_PREEMPTING if self._handle.is_preempting(uid_of(pod)) else SUCCESS

    def events_to_register(self) -> list[ClusterEventWithHint]:
        """Deletions, so that a Pod held back is looked at again. Whether they help is for others to say: who rejected
        the Pod before it preempted."""
        if not self._handle.features.enabled("SchedulerAsyncPreemption"):
            return []
        deleted = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
        return [ClusterEventWithHint(deleted, lambda pod, old, new: QueueingHint.QUEUE_SKIP)]


def _terminates_by_preemption(pod: Object) -> bool:
    if not pod["metadata"].get("deletionTimestamp"):
        return False
    condition = get_condition(pod, "DisruptionTarget")
    return condition is not None and condition.get("status") == "True" and condition.get("reason") == _REASON
