"""Pick a Node for one Pod: filter a rotating sample of the Nodes, score what is left, take the best.

>>> from k8slab.scheduler.cycle import num_feasible_nodes_to_find
>>> [num_feasible_nodes_to_find(0, n) for n in (50, 100, 1000, 5000, 6000)]
[50, 100, 420, 500, 300]

Upstream: pkg/scheduler/schedule_one.go (schedulePod, findNodesThatFitPod, prioritizeNodes, selectHost)
Simplified: Nodes are evaluated in order instead of by 16 workers, so exactly as many are looked at as needed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from k8slab.api.objects import Object
from k8slab.api.quantity import wrap_int64
from k8slab.scheduler.diagnosis import NO_NODES_MESSAGE, Diagnosis, FitError
from k8slab.scheduler.extender import EXTENDER, ExtenderError, at_once
from k8slab.scheduler.framework import (
    PODS_TO_ACTIVATE,
    SUCCESS,
    Code,
    CycleState,
    FilterPlugin,
    NodeInfo,
    PostFilterResult,
    SignPlugin,
    Status,
)
from k8slab.scheduler.memo import Entry, MemoScores, NodeMemo, add_up
from k8slab.scheduler.nominator import nominated_node_name
from k8slab.scheduler.runtime import Framework, WeightedScore, left_out_by, name_of, signed_filter_status
from k8slab.scheduler.snapshot import Snapshot

if TYPE_CHECKING:
    from k8slab.scheduler.explain import Explanation

__all__ = ["ScheduleResult", "SchedulingAlgorithm", "num_feasible_nodes_to_find"]

MIN_FEASIBLE_NODES_TO_FIND = 100
MIN_FEASIBLE_NODES_PERCENTAGE = 5


def num_feasible_nodes_to_find(percentage: int, num_all_nodes: int) -> int:
    """How many feasible Nodes are enough. `percentage` 0: 50 % of 100 Nodes, falling to 5 % of 5,625 and more."""
    if num_all_nodes < MIN_FEASIBLE_NODES_TO_FIND:
        return num_all_nodes
    if percentage == 0:
        percentage = max(50 - num_all_nodes // 125, MIN_FEASIBLE_NODES_PERCENTAGE)
    return max(num_all_nodes * percentage // 100, MIN_FEASIBLE_NODES_TO_FIND)


@dataclass(slots=True)
class ScheduleResult:
    """What came out for one Pod.

    `node`: the choice, "" when there is none. `status`: SUCCESS, a rejection whose message is the FailedScheduling
    text, or Error. `evaluated`: Nodes looked at; `feasible_nodes`: those that passed, in that order. `score`: the
    total of `node`. `post_filter`: where room could be made; None: keep the nomination as it is.
    """

    node: str
    status: Status
    evaluated: int = 0
    feasible_nodes: list[NodeInfo] = field(default_factory=list)
    score: int = 0
    diagnosis: Diagnosis = field(default_factory=Diagnosis)
    state: CycleState = field(default_factory=CycleState)
    post_filter: PostFilterResult | None = None
    explanation: Explanation | None = None
    detail: Callable[[], list[WeightedScore]] | None = None
    _weighted: list[WeightedScore] = field(default_factory=list)

    @property
    def weighted(self) -> list[WeightedScore]:
        """Scores by plugin over `feasible_nodes`; empty when only one was feasible: then nobody scores."""
        if self.detail is not None:
            self._weighted, self.detail = self.detail(), None
        return self._weighted

    @weighted.setter
    def weighted(self, scores: list[WeightedScore]) -> None:
        self._weighted = scores

    @property
    def feasible(self) -> list[str]:
        """Names of the Nodes that passed, in the order they were looked at."""
        return [node.name for node in self.feasible_nodes]

    @property
    def scores(self) -> Mapping[str, Mapping[str, int]]:
        """Node -> plugin -> weighted score."""
        return {
            node: {score.plugin: score.weighted[index] for score in self.weighted}
            for index, node in enumerate(self.feasible)
        }

    @property
    def totals(self) -> Mapping[str, int]:
        """Node -> sum of its weighted scores."""
        return {node: sum(of_plugin.values()) for node, of_plugin in self.scores.items()}

    @property
    def message(self) -> str:
        """Why the Pod was not placed; "" when it was."""
        return self.status.message


class SchedulingAlgorithm:
    """What a scheduler does for one Pod in one profile: decides, with no API. It remembers where the last sample ended.

    Pure where nobody is asked beside the plugins. Where extenders are, `cycle` waits for each answer.

    `rng` breaks ties among the best Nodes (replays of recorded clusters put the recorded choice in the place of
    `break_tie`, which is given the Pod and their names). `memo` False works every verdict out anew.
    """

    def __init__(self, framework: Framework, rng: random.Random, *, memo: bool = True) -> None:
        self.framework = framework
        self.next_start_node_index = 0
        self.break_tie: Callable[[Object, Sequence[str]], str] = lambda _pod, names: rng.choice(names)
        self.memo: NodeMemo[Entry] | None = NodeMemo() if memo else None
        self._local = frozenset(
            name for name, plugin in framework.plugins.items() if isinstance(plugin, SignPlugin) and plugin.node_local
        )

    def schedule(self, pod: Object, snapshot: Snapshot, *, explain: bool = False) -> ScheduleResult:
        """Choose a Node. Nothing is assumed or written: the caller counts the Pod on the Node before the next call.

        `explain` adds every plugin's verdict for every Node, and leaves the memo out.
        """
        return at_once(self.cycle(pod, snapshot, explain=explain))

    async def cycle(self, pod: Object, snapshot: Snapshot, *, explain: bool = False) -> ScheduleResult:
        """`schedule` that waits where extenders have to be asked. Without extenders it waits for nobody."""
        framework = self.framework
        began_ms = framework.now_ms
        framework.use_snapshot(snapshot)
        result = ScheduleResult("", SUCCESS)
        result.state.write(PODS_TO_ACTIVATE, {})
        if explain and snapshot.nodes:
            result.explanation = framework.explain(pod, snapshot)
        memo = None if explain or self.memo is None else self._entries(pod, snapshot, self.memo)
        feasible = await self._find_feasible(pod, snapshot, result, memo)
        if result.status is SUCCESS and feasible is not None:
            await self._choose(pod, feasible, result, memo)
        framework.metrics.scheduling_algorithm_duration.observe(framework.now_ms - began_ms)
        return result

    def _entries(self, pod: Object, snapshot: Snapshot, memo: NodeMemo[Entry]) -> dict[str, Entry] | None:
        signature = self.framework.sign(pod)
        return None if signature is None else memo.entries(signature, snapshot)

    def filter_signature(self, state: CycleState, pod: Object) -> str | None:
        """`Framework.sign` where the plugins that sign are all that Filter asks; else, and without a memo, None."""
        if self.memo is None or any(name_of(p) not in self._local for p in self.framework.active_filters(state)):
            return None
        return self.framework.sign(pod)

    # -- filter ------------------------------------------------------------------------------------

    async def _find_feasible(
        self, pod: Object, snapshot: Snapshot, result: ScheduleResult, memo: dict[str, Entry] | None
    ) -> list[NodeInfo] | None:
        """The feasible Nodes; None with `result.status` set when there are none."""
        framework, diagnosis = self.framework, result.diagnosis
        nodes: Sequence[NodeInfo] = snapshot.nodes
        if not nodes:
            result.status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, NO_NODES_MESSAGE)
            return None
        names, status, narrowed_by = framework.run_pre_filter(result.state, pod, nodes)
        if status is not SUCCESS:
            if not status.is_rejected:
                result.status = status
                return None
            diagnosis.unschedulable_plugins.update(dict.fromkeys(narrowed_by))
            diagnosis.node_to_status.absent = status
            diagnosis.pre_filter_message = status.message
            diagnosis.add_plugin_status(status)
            await self._unschedulable(pod, snapshot, result)
            return None
        if names is not None:
            nodes = [info for info in map(snapshot.get, sorted(names)) if info is not None]
            diagnosis.unschedulable_plugins.update(dict.fromkeys(narrowed_by))
            diagnosis.node_to_status.absent = left_out_by(narrowed_by)
        feasible = await self._nominated(pod, snapshot, result)
        if feasible:
            return feasible
        feasible = self._sample(pod, nodes, result, memo)
        self._count_filters(result, len(feasible))
        result.evaluated = len(feasible) + len(diagnosis.node_to_status)
        self.next_start_node_index = (self.next_start_node_index + result.evaluated) % len(snapshot.nodes)
        if result.status is not SUCCESS:
            return None
        if feasible and framework.extenders:
            feasible = await self._ask_extenders(pod, feasible, result)
            if result.status is not SUCCESS:
                return None
        if not feasible:
            await self._unschedulable(pod, snapshot, result)
            return None
        return feasible

    async def _ask_extenders(self, pod: Object, feasible: list[NodeInfo], result: ScheduleResult) -> list[NodeInfo]:
        """The Nodes that extenders leave; Error in `result.status` when one fails that may not be ignored."""
        try:
            left = await self.framework.extenders.filter(pod, feasible, result.diagnosis)
        except ExtenderError as error:
            result.status = Status(Code.ERROR, str(error))
            return []
        if len(left) != len(feasible):
            result.diagnosis.unschedulable_plugins[EXTENDER] = None
        return left

    async def _unschedulable(self, pod: Object, snapshot: Snapshot, result: ScheduleResult) -> None:
        """Run PostFilter and put the whole message together."""
        diagnosis = result.diagnosis
        if self.framework.post_filter_plugins:
            found = self.framework.post_filter(result.state, pod, diagnosis.node_to_status)
            result.post_filter, status = await found
            diagnosis.post_filter_message = status.message
        result.status = Status(Code.UNSCHEDULABLE, str(FitError(len(snapshot.nodes), diagnosis)))

    async def _nominated(self, pod: Object, snapshot: Snapshot, result: ScheduleResult) -> list[NodeInfo]:
        """The Node the Pod was nominated for, if it fits there now: then no other is looked at.

        Only Filter is asked, as upstream does, also where PreFilter has left this Node out.
        """
        name = nominated_node_name(pod)
        node = snapshot.get(name) if name else None
        if node is None:
            return []
        status = self.framework.run_filter_with_nominated(result.state, pod, node)
        if status is SUCCESS:
            result.evaluated = 1
            try:
                return await self.framework.extenders.filter(pod, [node], result.diagnosis)
            except ExtenderError:
                return []  # said in the trace; then all Nodes are looked at
        if status.code is not Code.ERROR:
            result.diagnosis.node_to_status.set(name, status)
            result.diagnosis.add_plugin_status(status)
        return []

    def _sample(
        self, pod: Object, nodes: Sequence[NodeInfo], result: ScheduleResult, memo: dict[str, Entry] | None
    ) -> list[NodeInfo]:
        """Filter from where the last cycle stopped until enough Nodes are feasible."""
        if not nodes:
            return []
        framework, state, diagnosis = self.framework, result.state, result.diagnosis
        enough = num_feasible_nodes_to_find(framework.percentage_of_nodes_to_score, len(nodes))
        if not framework.score_plugins and not framework.extenders.choose_nodes:
            enough = 1  # nobody would choose among more
        start = self.next_start_node_index % len(nodes)
        verdict, known = self._verdicts(pod, state, memo), diagnosis.unschedulable_plugins
        feasible: list[NodeInfo] = []
        for window in _windows(nodes, start, enough):
            for node in window:
                status = verdict(node)
                if status is SUCCESS:
                    feasible.append(node)
                    if len(feasible) >= enough:
                        return feasible
                elif status.code is Code.ERROR:
                    result.status = status
                    return feasible
                else:
                    diagnosis.node_to_status.set(node.name, status)
                    if status.plugin not in known or status.code is Code.PENDING:
                        diagnosis.add_plugin_status(status)
        return feasible

    def _count_filters(self, result: ScheduleResult, feasible: int) -> None:
        framework, rejected = self.framework, result.diagnosis.node_to_status.explicit().values()
        plugins = [name_of(plugin) for plugin in framework.active_filters(result.state)]
        rejected_by = [status.plugin for status in rejected]
        looked_at = feasible + len(rejected_by)
        framework.metrics.filtered(plugins, looked_at, rejected_by, result.status, framework.profile_name)

    def _verdicts(self, pod: Object, state: CycleState, memo: dict[str, Entry] | None) -> Callable[[NodeInfo], Status]:
        """The Filter of one Pod. The memo covers the leading node-local plugins: the first rejection names the
        reason, so a node-local plugin behind another one must keep its place."""
        plain = self._plain_verdicts(pod, state, memo)
        if not self.framework.nominator:
            return plain

        def run(node: NodeInfo) -> Status:
            if self.framework.nominated_pods(pod, node.name):
                status = self.framework.run_filter_with_nominated(state, pod, node)
                if status is not SUCCESS:
                    return status
            return plain(node)  # here too: scores are remembered beside its verdict

        return run

    def _plain_verdicts(
        self, pod: Object, state: CycleState, memo: dict[str, Entry] | None
    ) -> Callable[[NodeInfo], Status]:
        filters = self.framework.active_filters(state)
        if memo is None:
            return _runner(filters, state, pod)
        foreign = (i for i, plugin in enumerate(filters) if name_of(plugin) not in self._local)
        end = next(foreign, len(filters))
        rest = _runner(filters[end:], state, pod) if filters[end:] else None
        return _with_memo(memo, _runner(filters[:end], state, pod), rest)

    # -- score -------------------------------------------------------------------------------------

    async def _choose(
        self, pod: Object, feasible: list[NodeInfo], result: ScheduleResult, memo: dict[str, Entry] | None
    ) -> None:
        result.feasible_nodes = feasible
        if len(feasible) == 1:
            result.node = feasible[0].name
            return
        framework, state = self.framework, result.state
        status = framework.run_pre_score(state, pod, feasible)
        if status is not SUCCESS:
            result.status = status
            return
        if memo is None:
            result.weighted, result.status = framework.run_score(state, pod, feasible)
            totals = add_up([score.weighted for score in result.weighted], len(feasible))
        else:
            scores = MemoScores(framework, self._local, state, pod, feasible, memo)
            totals, result.status = scores.totals()
            result.detail = scores.weighted
        if result.status is SUCCESS and framework.extenders:
            totals = await self._add_extenders(pod, feasible, totals, result)
        scorers = [name_of(plugin) for plugin in framework.active_scorers(state)]
        framework.metrics.scored(scorers, len(feasible), result.status, framework.profile_name)
        if result.status is SUCCESS:
            result.node, result.score = self._select_host(pod, feasible, totals)

    async def _add_extenders(
        self, pod: Object, feasible: list[NodeInfo], totals: list[int], result: ScheduleResult
    ) -> list[int]:
        """`totals` with the scores of extenders, whatever they are: upstream checks no range, and sums wrap around."""
        columns = [WeightedScore(*column) for column in await self.framework.extenders.prioritize(pod, feasible)]
        result.weighted = [*result.weighted, *columns]
        return list(map(wrap_int64, add_up([totals, *(column.weighted for column in columns)], len(feasible))))

    def _select_host(self, pod: Object, feasible: list[NodeInfo], totals: list[int]) -> tuple[str, int]:
        """One of the Nodes with the highest total, evenly."""
        highest = max(totals)
        if totals.count(highest) == 1:
            return feasible[totals.index(highest)].name, highest
        best = [node.name for node, total in zip(feasible, totals, strict=True) if total == highest]
        return self.break_tie(pod, best), highest


def _runner(filters: list[FilterPlugin], state: CycleState, pod: Object) -> Callable[[NodeInfo], Status]:
    """Runs `filters` on one Node: SUCCESS, or the first other verdict, signed."""
    calls = [plugin.filter for plugin in filters]

    def run(node: NodeInfo) -> Status:
        for call in calls:
            status = call(state, pod, node)
            if status is not SUCCESS and not status.is_success:
                return signed_filter_status(status, name_of(filters[calls.index(call)]))
        return SUCCESS

    return run


def _with_memo(
    entries: dict[str, Entry], local: Callable[[NodeInfo], Status], rest: Callable[[NodeInfo], Status] | None
) -> Callable[[NodeInfo], Status]:
    """Verdicts of `local` from the memo where it is current; then those of `rest`."""
    find = entries.get

    def run(node: NodeInfo) -> Status:
        entry = find(node.name)
        if entry is None or entry.generation != node.generation:
            entry = entries[node.name] = Entry(node.generation, local(node))
        if rest is not None and entry.status is SUCCESS:
            return rest(node)
        return entry.status

    return run


def _windows(nodes: Sequence[NodeInfo], start: int, size: int) -> Iterator[Sequence[NodeInfo]]:
    """All Nodes once, from `start` round to `start`, in slices: a cycle rarely needs more than the first."""
    for begin in range(start, len(nodes), size):
        yield nodes[begin : begin + size]
    for begin in range(0, start, size):
        yield nodes[begin : min(begin + size, start)]
