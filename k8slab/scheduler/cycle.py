"""Pick a Node for one Pod: filter a rotating sample of the Nodes, score what is left, take the best.

>>> from k8slab.scheduler.cycle import num_feasible_nodes_to_find
>>> [num_feasible_nodes_to_find(0, n) for n in (50, 100, 1000, 5000, 6000)]
[50, 100, 420, 500, 300]

Upstream: pkg/scheduler/schedule_one.go (schedulePod, findNodesThatFitPod, prioritizeNodes, selectHost)
Simplified: no extenders, no nominated Node is tried first; Nodes are evaluated in order instead of by 16 workers,
so exactly as many are looked at as needed.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from k8slab.api.objects import Object
from k8slab.scheduler.diagnosis import NO_NODES_MESSAGE, Diagnosis, FitError
from k8slab.scheduler.framework import (
    SUCCESS,
    Code,
    CycleState,
    FilterPlugin,
    NodeInfo,
    PluginError,
    ScorePlugin,
    SignPlugin,
    Status,
)
from k8slab.scheduler.memo import Entry, NodeMemo
from k8slab.scheduler.runtime import Framework, WeightedScore, name_of, signed_filter_status
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
    text, or Error. `evaluated`: Nodes looked at; `feasible`: those that passed, in that order. `weighted`: scores of
    the feasible Nodes by plugin (empty when only one was feasible: then nobody scores). `score`: that of `node`.
    """

    node: str
    status: Status
    evaluated: int = 0
    feasible: list[str] = field(default_factory=list)
    weighted: list[WeightedScore] = field(default_factory=list)
    score: int = 0
    diagnosis: Diagnosis = field(default_factory=Diagnosis)
    state: CycleState = field(default_factory=CycleState)
    explanation: Explanation | None = None

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
    """The pure half of a scheduler for one profile: no clock, no API. It remembers where the last sample ended.

    `rng` breaks ties among the best Nodes. `memo` False works every verdict out anew.
    """

    def __init__(self, framework: Framework, rng: random.Random, *, memo: bool = True) -> None:
        self.framework = framework
        self.next_start_node_index = 0
        self._rng = rng
        self.memo = NodeMemo() if memo else None
        self._local = frozenset(
            name for name, plugin in framework.plugins.items() if isinstance(plugin, SignPlugin) and plugin.node_local
        )

    def schedule(self, pod: Object, snapshot: Snapshot, *, explain: bool = False) -> ScheduleResult:
        """Choose a Node. Nothing is assumed or written: the caller counts the Pod on the Node before the next call.

        `explain` adds every plugin's verdict for every Node, and leaves the memo out.
        """
        framework = self.framework
        framework.use_snapshot(snapshot)
        result = ScheduleResult("", SUCCESS)
        if not snapshot.nodes:
            result.status = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, NO_NODES_MESSAGE)
            return result
        if explain:
            result.explanation = framework.explain(pod, snapshot)
        memo = None if explain or self.memo is None else self._entries(pod, snapshot, self.memo)
        feasible = self._find_feasible(pod, snapshot, result, memo)
        if result.status is SUCCESS and feasible is not None:
            self._choose(pod, feasible, result, memo)
        return result

    def _entries(self, pod: Object, snapshot: Snapshot, memo: NodeMemo) -> dict[str, Entry] | None:
        signature = self.framework.sign(pod)
        return None if signature is None else memo.entries(signature, snapshot)

    # -- filter ------------------------------------------------------------------------------------

    def _find_feasible(
        self, pod: Object, snapshot: Snapshot, result: ScheduleResult, memo: dict[str, Entry] | None
    ) -> list[NodeInfo] | None:
        """The feasible Nodes; None with `result.status` set when there are none."""
        framework, diagnosis = self.framework, result.diagnosis
        nodes: Sequence[NodeInfo] = snapshot.nodes
        names, status, narrowed_by = framework.run_pre_filter(result.state, pod, nodes)
        if status is not SUCCESS:
            if not status.is_rejected:
                result.status = status
                return None
            diagnosis.unschedulable_plugins.update(dict.fromkeys(narrowed_by))
            diagnosis.node_to_status.absent = status
            diagnosis.pre_filter_message = status.message
            diagnosis.add_plugin_status(status)
            return self._unschedulable(pod, snapshot, result)
        if names is not None:
            nodes = [info for info in map(snapshot.get, sorted(names)) if info is not None]
            diagnosis.unschedulable_plugins.update(dict.fromkeys(narrowed_by))
            diagnosis.node_to_status.absent = Status(
                Code.UNSCHEDULABLE_AND_UNRESOLVABLE,
                f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(narrowed_by))}]",
            )
        feasible = self._sample(pod, nodes, result, memo)
        result.evaluated = len(feasible) + len(diagnosis.node_to_status)
        self.next_start_node_index = (self.next_start_node_index + result.evaluated) % len(snapshot.nodes)
        if result.status is not SUCCESS:
            return None
        if not feasible:
            return self._unschedulable(pod, snapshot, result)
        return feasible

    def _unschedulable(self, pod: Object, snapshot: Snapshot, result: ScheduleResult) -> None:
        """Run PostFilter and put the whole message together."""
        diagnosis = result.diagnosis
        if self.framework.post_filter_plugins:
            _, status = self.framework.run_post_filter(result.state, pod, diagnosis.node_to_status)
            diagnosis.post_filter_message = status.message
        result.status = Status(Code.UNSCHEDULABLE, str(FitError(len(snapshot.nodes), diagnosis)))

    def _sample(
        self, pod: Object, nodes: Sequence[NodeInfo], result: ScheduleResult, memo: dict[str, Entry] | None
    ) -> list[NodeInfo]:
        """Filter from where the last cycle stopped until enough Nodes are feasible."""
        if not nodes:
            return []
        framework, state, diagnosis = self.framework, result.state, result.diagnosis
        enough = num_feasible_nodes_to_find(framework.profile.percentage_of_nodes_to_score, len(nodes))
        start = self.next_start_node_index % len(nodes)
        local, rest = self._split(framework.active_filters(state), memo)
        verdict = _Verdicts(local, rest, state, pod, memo)
        feasible: list[NodeInfo] = []
        for part in (nodes[start:], nodes[:start]):
            for node in part:
                status = verdict.of(node)
                if status is SUCCESS:
                    feasible.append(node)
                    if len(feasible) >= enough:
                        return feasible
                elif status.code is Code.ERROR:
                    result.status = status
                    return feasible
                else:
                    diagnosis.node_to_status.set(node.name, status)
                    diagnosis.add_plugin_status(status)
        return feasible

    def _split(
        self, filters: list[FilterPlugin], memo: dict[str, Entry] | None
    ) -> tuple[list[FilterPlugin], list[FilterPlugin]]:
        """The leading node-local filters, which the memo covers, and the rest. The first rejection names the
        reason, so a local filter behind another one must keep its place."""
        if memo is None:
            return [], filters
        for index, plugin in enumerate(filters):
            if name_of(plugin) not in self._local:
                return filters[:index], filters[index:]
        return filters, []

    # -- score -------------------------------------------------------------------------------------

    def _choose(
        self, pod: Object, feasible: list[NodeInfo], result: ScheduleResult, memo: dict[str, Entry] | None
    ) -> None:
        result.feasible = [node.name for node in feasible]
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
        else:
            self._score_with(memo, pod, feasible, result)
        if result.status is not SUCCESS:
            return
        columns = [score.weighted for score in result.weighted]
        totals = list(map(sum, zip(*columns, strict=True))) if columns else [1] * len(feasible)
        result.score = max(totals)
        best = [index for index, total in enumerate(totals) if total == result.score]
        result.node = feasible[best[0] if len(best) == 1 else self._rng.choice(best)].name

    def _score_with(
        self, memo: dict[str, Entry], pod: Object, feasible: list[NodeInfo], result: ScheduleResult
    ) -> None:
        """As Framework.run_score, with the raw scores of node-local plugins from the memo."""
        framework, state = self.framework, result.state
        active = framework.active_scorers(state)
        local = [plugin for plugin in active if name_of(plugin) in self._local]
        try:
            column = dict(zip(map(name_of, local), _columns(local, state, pod, feasible, memo), strict=True))
            for plugin in active:
                raw = column.get(name_of(plugin))
                if raw is None:
                    raw = [plugin.score(state, pod, node) for node in feasible]
                result.weighted.append(framework.finish_score(state, pod, feasible, plugin, raw))
        except PluginError as error:
            result.status = Status(Code.ERROR, f"running Score plugins: {error}")


def _columns(
    plugins: list[ScorePlugin], state: CycleState, pod: Object, nodes: list[NodeInfo], memo: dict[str, Entry]
) -> list[list[int]]:
    """Raw scores by plugin; each Node's row is worked out once per generation."""
    entries = [memo[node.name] for node in nodes]
    for entry, node in zip(entries, nodes, strict=True):
        if entry.scores is None:
            entry.scores = [plugin.score(state, pod, node) for plugin in plugins]
    rows = [entry.scores for entry in entries]
    return [list(column) for column in zip(*rows, strict=True)] if plugins else []  # type: ignore[arg-type]


class _Verdicts:
    """Filter verdicts for one Pod, Node by Node."""

    __slots__ = ("_local", "_memo", "_pod", "_rest", "_state")

    def __init__(
        self,
        local: list[FilterPlugin],
        rest: list[FilterPlugin],
        state: CycleState,
        pod: Object,
        memo: dict[str, Entry] | None,
    ) -> None:
        self._local, self._rest = local, rest
        self._state, self._pod, self._memo = state, pod, memo

    def of(self, node: NodeInfo) -> Status:
        """SUCCESS, or the first other verdict."""
        memo = self._memo
        if memo is not None:
            entry = memo.get(node.name)
            if entry is None or entry.generation != node.generation:
                entry = memo[node.name] = Entry(node.generation, self._run(self._local, node))
            if entry.status is not SUCCESS or not self._rest:
                return entry.status
        return self._run(self._rest, node)

    def _run(self, filters: list[FilterPlugin], node: NodeInfo) -> Status:
        for plugin in filters:
            status = plugin.filter(self._state, self._pod, node)
            if status is not SUCCESS and not status.is_success:
                return signed_filter_status(status, name_of(plugin))
        return SUCCESS
