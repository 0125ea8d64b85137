"""Which Pods would have to go for a more important one to fit, and from which Node that does least harm.

Dry runs on copies: all less important Pods leave the Node in thought, then as many as possible come back, the most
important first, those protected by a disruption budget before all others. Who cannot come back is a victim.

>>> from k8slab.scheduler.preemption import Candidate, best_candidates
>>> best_candidates([Candidate("a", (), 1), Candidate("b", (), 0)])
[Candidate(node='b', victims=(), pdb_violations=0)]

Upstream: pkg/scheduler/framework/preemption/preemption.go (DryRunPreemption, SelectCandidate,
pickOneNodeForPreemption), plugins/defaultpreemption/default_preemption.go (SelectVictimsOnNode,
filterPodsWithPDBViolation), pkg/scheduler/util/utils.go (MoreImportantPod, GetEarliestPodStartTime)
Simplified: Nodes are tried one after the other instead of by 16 workers, so exactly as many are tried as needed; no
pod groups. Nobody computes `status.disruptionsAllowed` of the budgets in a simulated cluster: until it is
patched by hand every budget counts as used up, and each victim that one selects as a violation.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from k8slab.api.labels import Selector, selector_from_dict
from k8slab.api.objects import Object
from k8slab.api.pods import pod_priority
from k8slab.api.times import parse_time
from k8slab.scheduler.diagnosis import NodeToStatus
from k8slab.scheduler.framework import (
    SUCCESS,
    Code,
    CycleState,
    Handle,
    NodeInfo,
    PluginError,
    PodInfo,
    Status,
    namespace_of,
)

__all__ = [
    "CRITERIA",
    "Candidate",
    "DryRun",
    "best_candidates",
    "by_importance",
    "choose",
    "dry_run_preemption",
    "select_victims_on_node",
    "split_by_pdb_violation",
]

NO_VICTIMS = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "No preemption victims found for incoming pod")
_SHIFT = 1 << 31
"""Makes every priority positive, so that the sum over more Pods is larger even if their priorities are negative."""


class Candidate(NamedTuple):
    """A Node where the Pod would fit without `victims` (most important first), of whom so many break a budget."""

    node: str
    victims: tuple[PodInfo, ...]
    pdb_violations: int = 0


def start_time_ms(pod: Object) -> float:
    """When the Pod started. One that has not started yet counts as started just now: later than all others."""
    started = (pod.get("status") or {}).get("startTime")
    return float("inf") if started is None else float(parse_time(started))


def by_importance(pods: Iterable[PodInfo]) -> list[PodInfo]:
    """The most important first: higher priority, then longer running.

    Upstream takes the time anew for each Pod that has not started, so among these the one that came last is first.
    """

    def key(entry: tuple[int, PodInfo]) -> tuple[int, float, int]:
        index, info = entry
        started = start_time_ms(info.pod)
        return -info.priority, started, -index if started == float("inf") else index

    return [info for _, info in sorted(enumerate(pods), key=key)]


# -- budgets -------------------------------------------------------------------------------------------


class _Budget:
    """A PodDisruptionBudget while victims are counted against it."""

    def __init__(self, pdb: Object) -> None:
        status = pdb.get("status") or {}
        self.namespace: str = pdb["metadata"].get("namespace") or "default"
        self.allowed: int = status.get("disruptionsAllowed") or 0
        self.disrupted = status.get("disruptedPods") or {}
        self.selector = _selector(pdb)

    def concerns(self, pod: Object) -> bool:
        """Whether losing the Pod counts. One the API server is evicting already was counted there."""
        metadata = pod["metadata"]
        return (
            self.selector is not None
            and not self.selector.empty
            and namespace_of(pod) == self.namespace
            and self.selector.matches(metadata.get("labels"))
            and metadata["name"] not in self.disrupted
        )


def _selector(pdb: Object) -> Selector | None:
    """None: the selector is invalid, and matches nothing."""
    try:
        return selector_from_dict((pdb.get("spec") or {}).get("selector"))
    except ValueError:
        return None


def split_by_pdb_violation(pods: Sequence[PodInfo], pdbs: Iterable[Object]) -> tuple[list[PodInfo], list[PodInfo]]:
    """(those whose loss would break a budget, the others), each in the order given.

    A budget of 2 covers the first two Pods it selects, the third breaks it.
    """
    budgets = [_Budget(pdb) for pdb in pdbs]
    violating: list[PodInfo] = []
    others: list[PodInfo] = []
    for info in pods:
        breaks = False
        if info.pod["metadata"].get("labels"):
            for budget in budgets:
                if budget.concerns(info.pod):
                    budget.allowed -= 1
                    breaks = breaks or budget.allowed < 0
        (violating if breaks else others).append(info)
    return violating, others


# -- one Node ------------------------------------------------------------------------------------------


def select_victims_on_node(
    handle: Handle, state: CycleState, pod: Object, node: NodeInfo, pdbs: Iterable[Object]
) -> tuple[tuple[PodInfo, ...], int, Status]:
    """(victims, how many of them break a budget, verdict). Changes `state` and `node`: give it copies."""
    mine = pod_priority(pod)
    potential = [info for info in node.pods.values() if info.priority < mine]

    def leave(info: PodInfo) -> None:
        node.remove_pod(info.key)
        _demand(handle.run_remove_pod(state, pod, info, node))

    def come_back(info: PodInfo) -> None:
        node.add_pod(info)
        _demand(handle.run_add_pod(state, pod, info, node))

    if not potential:
        return (), 0, NO_VICTIMS
    for info in potential:
        leave(info)
    status = handle.run_filter_with_nominated(state, pod, node)
    if status is not SUCCESS:
        return (), 0, status
    violating, others = split_by_pdb_violation(by_importance(potential), pdbs)
    victims: list[PodInfo] = []
    violations = 0
    for info in (*violating, *others):
        come_back(info)
        if handle.run_filter_with_nominated(state, pod, node) is not SUCCESS:
            leave(info)
            victims.append(info)
        if info is (violating[-1] if violating else None):
            violations = len(victims)
    if violating and others:
        victims = by_importance(victims)
    return tuple(victims), violations, SUCCESS


def _demand(status: Status) -> None:
    if status is not SUCCESS:
        raise PluginError(status.message)


class DryRun(NamedTuple):
    """What came out for one Node while it had this generation, as `select_victims_on_node` says it."""

    generation: int
    victims: tuple[PodInfo, ...]
    violations: int
    status: Status


def _dry_run(handle: Handle, state: CycleState, pod: Object, original: NodeInfo, pdbs: Iterable[Object]) -> DryRun:
    """`select_victims_on_node` on copies."""
    node = original.clone()
    try:
        victims, violations, status = select_victims_on_node(handle, state.clone(), pod, node, pdbs)
    except PluginError as error:
        victims, violations, status = (), 0, Status(Code.ERROR, str(error))
    if status is SUCCESS and not victims:
        status = Status(Code.ERROR, f'expected at least one victim pod on node "{node.name}"')
    return DryRun(original.generation, victims, violations, status)


# -- all Nodes -----------------------------------------------------------------------------------------


def dry_run_preemption(
    handle: Handle,
    state: CycleState,
    pod: Object,
    nodes: Sequence[NodeInfo],
    pdbs: Sequence[Object],
    *,
    offset: int = 0,
    enough: int | None = None,
    known: dict[str, DryRun] | None = None,
) -> tuple[list[Candidate], NodeToStatus, list[str]]:
    """(candidates, verdicts of the other Nodes that were tried, errors).

    Starts at `offset` and goes round until there are `enough` candidates (None: never), one of which breaks no
    budget. Candidates that break none come first. `known`: what came out for equal Pods, by Node; new runs are added.
    """
    limit = len(nodes) if enough is None else enough
    harmless: list[Candidate] = []
    harmful: list[Candidate] = []
    statuses, errors = NodeToStatus(), []
    for index in range(len(nodes)):
        original = nodes[(offset + index) % len(nodes)]
        kept = known if known is not None and not handle.nominated_pods(pod, original.name) else {}
        run = kept.get(original.name)
        if run is None or run.generation != original.generation:
            run = kept[original.name] = _dry_run(handle, state, pod, original, pdbs)
        _, victims, violations, status = run
        if status is SUCCESS:
            found = harmful if violations else harmless
            if len(found) < limit:
                found.append(Candidate(original.name, victims, violations))
            if harmless and len(harmless) + len(harmful) >= limit:
                break
            continue
        if status.code is Code.ERROR:
            errors.append(status.message)
        statuses.set(original.name, status)
    return harmless + harmful, statuses, errors


def _earliest_start_of_the_most_important(candidate: Candidate) -> float:
    top = max(info.priority for info in candidate.victims)
    return min(start_time_ms(info.pod) for info in candidate.victims if info.priority == top)


CRITERIA: tuple[Callable[[Candidate], float], ...] = (
    lambda candidate: candidate.pdb_violations,
    lambda candidate: candidate.victims[0].priority,
    lambda candidate: sum(info.priority + _SHIFT for info in candidate.victims),
    lambda candidate: len(candidate.victims),
    lambda candidate: -_earliest_start_of_the_most_important(candidate),
)
"""The least of each wins, and the next is asked only among equals: budgets broken, priority of the most important
victim, sum of priorities, number of victims; last, whose most important victims started latest."""


def best_candidates(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Those that do least harm; several are a genuine tie."""
    left = list(candidates)
    for criterion in CRITERIA:
        if len(left) < 2:
            break
        harm = [criterion(candidate) for candidate in left]
        least = min(harm)
        left = [candidate for candidate, value in zip(left, harm, strict=True) if value == least]
    return left


def choose(candidates: Sequence[Candidate], rng: random.Random) -> Candidate:
    """One that does least harm; ties are drawn."""
    best = best_candidates(candidates)
    return best[0] if len(best) == 1 else rng.choice(best)
