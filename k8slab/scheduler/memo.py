"""Equal Pods get equal verdicts from plugins that look only at the Pod and at one Node: remember them.

An entry is good as long as its NodeInfo has the generation it was made from, so after a placement one Node is
worked out anew and thousands are not. Preemption remembers its dry runs in the same way (`preemption.DryRun`). Neither
placements nor victims change by it (a property test holds this).

Upstream: none with this shape; the opportunistic batching of 1.35 (KEP-5598) reuses results by Pod signature too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import add
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from k8slab.api.objects import Object
from k8slab.scheduler.framework import SUCCESS, CycleState, NodeInfo, PluginError, ScorePlugin, SnapshotView, Status
from k8slab.scheduler.verdicts import name_of

if TYPE_CHECKING:
    from k8slab.scheduler.runtime import Framework, WeightedScore

__all__ = ["Entry", "MemoScores", "NodeMemo", "add_up"]

MAX_SIGNATURES = 16
MAX_SEEN_ONCE = 256


class Entry:
    """What node-local plugins said of one Node: the Filter verdict, and raw scores once somebody asked."""

    __slots__ = ("generation", "plain_total", "scores", "status")

    def __init__(self, generation: int, status: Status) -> None:
        self.generation = generation
        self.status = status
        self.scores: Sequence[int] | None = None
        self.plain_total = 0
        """The weighted scores of plugins that do not normalise, added up."""


class _HasGeneration(Protocol):
    @property
    def generation(self) -> int: ...


_Entry = TypeVar("_Entry", bound=_HasGeneration)


class NodeMemo(Generic[_Entry]):
    """Per Pod signature, entries by Node name. Bounded: the signature used longest ago goes first.

    A signature gets entries when it comes the second time: Pods that are all different would only pay for them.
    """

    def __init__(self) -> None:
        self._snapshot: SnapshotView | None = None
        self._by_signature: dict[str, dict[str, _Entry]] = {}
        self._seen_once: dict[str, None] = {}

    def entries(self, signature: str, snapshot: SnapshotView) -> dict[str, _Entry] | None:
        """The entries for `signature`, None the first time it comes.

        All are dropped when another snapshot is used (its generations are other ones).
        """
        if snapshot is not self._snapshot:
            self._snapshot = snapshot
            self._by_signature.clear()
        found = self._by_signature.pop(signature, None)
        if found is None:
            if signature not in self._seen_once:
                self._seen_once[signature] = None
                if len(self._seen_once) > MAX_SEEN_ONCE:
                    del self._seen_once[next(iter(self._seen_once))]
                return None
            found = {}
            if len(self._by_signature) >= MAX_SIGNATURES:
                del self._by_signature[next(iter(self._by_signature))]
        self._by_signature[signature] = found
        return found

    def check_invariants(self, nodes: Sequence[NodeInfo]) -> None:
        """No entry is from the future."""
        newest = {node.name: node.generation for node in nodes}
        for entries in self._by_signature.values():
            for name, entry in entries.items():
                limit = newest.get(name, entry.generation)
                assert entry.generation <= limit, (
                    f"memo: {name} of generation {entry.generation}, the node is at {limit}"
                )


def add_up(columns: Sequence[Sequence[int]], length: int) -> list[int]:
    """Row sums.

    >>> add_up([[1, 2], [10, 20]], 2), add_up([], 2)
    ([11, 22], [0, 0])
    """
    totals = list(columns[0]) if columns else [0] * length
    for column in columns[1:]:
        totals = list(map(add, totals, column))
    return totals


class MemoScores:
    """The scores of one cycle, node-local plugins' from the memo.

    A Node's row is worked out once per generation. Scores that need no normalising are kept as one sum, so that a
    cycle adds up one number a Node; the rest is normalised over the feasible Nodes as always.
    """

    def __init__(
        self,
        framework: Framework,
        local: frozenset[str],
        state: CycleState,
        pod: Object,
        nodes: Sequence[NodeInfo],
        entries: Mapping[str, Entry],
    ) -> None:
        self._framework, self._state, self._pod, self._nodes = framework, state, pod, nodes
        self._active = framework.active_scorers(state)
        self._kept = [plugin for plugin in self._active if name_of(plugin) in local]
        self._column_of = {name_of(plugin): index for index, plugin in enumerate(self._kept)}
        self._used = [entries[node.name] for node in nodes]
        self._finished: dict[str, WeightedScore] = {}

    def totals(self) -> tuple[list[int], Status]:
        """The total of each Node, or Error."""
        try:
            for entry, node in zip(self._used, self._nodes, strict=True):
                if entry.scores is None:
                    self._fill(entry, node)
            columns = [[entry.plain_total for entry in self._used]]
            columns += [self._finish(p).weighted for p in self._active if not self._is_plain(name_of(p))]
        except PluginError:
            return [], self._framework.run_score(self._state, self._pod, self._nodes)[1]  # says which error comes first
        return add_up(columns, len(self._nodes)), SUCCESS

    def weighted(self) -> list[WeightedScore]:
        """All scores by plugin, as `Framework.run_score` gives them."""
        return [self._finish(plugin) for plugin in self._active]

    def _is_plain(self, name: str) -> bool:
        return name in self._column_of and not self._framework.normalizes(name)

    def _fill(self, entry: Entry, node: NodeInfo) -> None:
        entry.scores = [plugin.score(self._state, self._pod, node) for plugin in self._kept]
        entry.plain_total = 0
        for plugin, score in zip(self._kept, entry.scores, strict=True):
            if self._is_plain(name_of(plugin)):
                finished = self._framework.finish_score(self._state, self._pod, [node], plugin, [score])
                entry.plain_total += finished.weighted[0]

    def _finish(self, plugin: ScorePlugin) -> WeightedScore:
        name = name_of(plugin)
        if name not in self._finished:
            column = self._column_of.get(name)
            if column is None:
                raw = [plugin.score(self._state, self._pod, node) for node in self._nodes]
            else:
                raw = [entry.scores[column] for entry in self._used if entry.scores is not None]
            self._finished[name] = self._framework.finish_score(self._state, self._pod, self._nodes, plugin, raw)
        return self._finished[name]
