"""The pod group cycle: place the queued Pods of one PodGroup together, or give all places back.

One member after the other is filtered, scored, assumed, reserved and asked in Permit, on the same Nodes; the next one
sees the places of those before. If Permit says Success for one (the quorum is reached), the group fits: the members
that found a place are bound. If it says only Wait, nobody is. Either way every place is given back before the answer,
in the reverse order, so that a group that does not fit has held nothing when the next Pod is looked at. All this is one
action of the loop, unless extenders have to be asked: then the places are held while they think.

Upstream: pkg/scheduler/schedule_one_podgroup.go (podGroupSchedulingDefaultAlgorithm), v1.36
Simplified: no preemption for a group (PostFilter is asked, but a member that would need it counts as rejected, and
nobody is evicted), no placements (gate TopologyAwareWorkloadScheduling), and nobody writes the group's status.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from k8slab.api.objects import Object
from k8slab.scheduler.cache import Cache
from k8slab.scheduler.cycle import ScheduleResult
from k8slab.scheduler.diagnosis import Diagnosis, FitError
from k8slab.scheduler.framework import SUCCESS, Code, Status, placed_on, pod_key, uid_of
from k8slab.scheduler.queued_pod import QueuedPodInfo
from k8slab.scheduler.runtime import Framework
from k8slab.scheduler.snapshot import Snapshot

__all__ = [
    "GroupPlan",
    "MemberPlan",
    "assume",
    "failure_of",
    "in_group_order",
    "plan_group",
    "rejected_at",
    "wrong_profiles",
]

GROUP_UNSCHEDULABLE = "pod group is unschedulable"


@dataclass(slots=True)
class MemberPlan:
    """What came out for one member. `status`: SUCCESS when it has a place. `permit`: what Permit said then."""

    info: QueuedPodInfo
    result: ScheduleResult
    status: Status
    permit: Status = SUCCESS


@dataclass(slots=True)
class GroupPlan:
    """What came out for the group. `status`: SUCCESS, Unschedulable, or Error, after which members may be missing."""

    members: list[MemberPlan] = field(default_factory=list)
    status: Status = SUCCESS

    @property
    def feasible(self) -> int:
        """How many members found a place."""
        return sum(1 for member in self.members if member.status is SUCCESS)


def in_group_order(members: Sequence[QueuedPodInfo]) -> list[QueuedPodInfo]:
    """By priority, then by when they became active for the first time."""
    return sorted(members, key=lambda info: (-info.priority, info.initial_attempt_ms or 0, info.seq))


def wrong_profiles(names: Sequence[str]) -> Status:
    """SUCCESS if all members ask for the same scheduler; the members' schedulers are `names`."""
    for name in names[1:]:
        if name != names[0]:
            text = (
                "all pods in a single pod group should have the same .spec.schedulerName set, "
                f'got: "{names[0]}" and "{name}"'
            )
            return Status(Code.ERROR, text)
    return SUCCESS


def rejected_at(node: str, status: Status) -> tuple[Diagnosis, Status]:
    """What Reserve, Permit or binding said of the one Node that was chosen, as a failure of the Pod."""
    diagnosis = Diagnosis()
    if not status.is_rejected:
        return diagnosis, Status(Code.ERROR, *status.reasons)
    diagnosis.node_to_status.set(node, status)
    diagnosis.add_plugin_status(status)
    return diagnosis, Status(status.code, str(FitError(1, diagnosis)))


def assume(cache: Cache, placed: Object, node: str) -> Status:
    """Count the Pod on its Node from now on. Error when the cache knows it already."""
    try:
        cache.assume(placed, node)
    except ValueError as error:
        return Status(Code.ERROR, str(error))
    return SUCCESS


async def plan_group(
    framework: Framework, cache: Cache, snapshot: Snapshot, members: Sequence[QueuedPodInfo]
) -> GroupPlan:
    """Try the members in their order. Leaves cache and plugins as they were."""
    plan = GroupPlan(status=Status(Code.UNSCHEDULABLE, GROUP_UNSCHEDULABLE))
    held: list[tuple[Object, ScheduleResult]] = []
    began_ms = framework.now_ms
    for info in members:
        cache.update_snapshot(snapshot)
        member = await _plan_member(framework, cache, snapshot, info, held)
        plan.members.append(member)
        if member.status is SUCCESS and member.permit.is_success:
            plan.status = SUCCESS
        elif not (member.status is SUCCESS or member.status.is_rejected):
            plan.status = Status(Code.ERROR, f"failed to schedule other pod from a pod group: {member.status.message}")
            break
    for placed, result in reversed(held):
        _give_back(framework, cache, placed, result)
    framework.metrics.podgroup_scheduling_algorithm_duration.observe(framework.now_ms - began_ms)
    return plan


def failure_of(plan: GroupPlan, member: MemberPlan | None) -> tuple[Diagnosis, Status]:
    """What to tell a Pod that is not placed: its own failure, or that of the group (None: it was not looked at)."""
    if member is None:
        return Diagnosis(), plan.status
    if member.status is not SUCCESS:
        is_own = plan.status.code is not Code.ERROR or not member.status.is_rejected
        return (member.result.diagnosis, member.status) if is_own else (Diagnosis(), plan.status)
    diagnosis = Diagnosis()
    status = plan.status
    if status.is_rejected:
        # It fits, and its group does not: what Permit said is the reason.
        status = Status(status.code, *status.reasons, *member.permit.reasons)
        diagnosis.add_plugin_status(status.with_plugin("GangScheduling"))
    return diagnosis, status


async def _plan_member(
    framework: Framework,
    cache: Cache,
    snapshot: Snapshot,
    info: QueuedPodInfo,
    held: list[tuple[Object, ScheduleResult]],
) -> MemberPlan:
    result = await framework.algorithm.cycle(info.pod, snapshot)
    if result.status is not SUCCESS:
        return MemberPlan(info, result, result.status)
    placed = placed_on(info.pod, result.node)
    status = assume(cache, placed, result.node)
    if not status.is_success:  # bound by somebody else while an extender was thinking
        return MemberPlan(info, result, status)
    status = framework.run_reserve(result.state, placed, result.node)
    permit = framework.ask_permit(result.state, placed, result.node)[0] if status.is_success else status
    if not (permit.is_success or permit.is_wait):
        _give_back(framework, cache, placed, result)
        result.diagnosis, permit = rejected_at(result.node, permit)
        return MemberPlan(info, result, permit)
    held.append((placed, result))
    return MemberPlan(info, result, SUCCESS, permit)


def _give_back(framework: Framework, cache: Cache, placed: Object, result: ScheduleResult) -> None:
    framework.run_unreserve(result.state, placed, result.node)
    cache.forget(pod_key(placed), uid_of(placed))
