"""Why here and not there: every plugin's verdict and score for every Node.

The scheduler itself stops at the first plugin that rejects a Node, and looks at a sample. An explanation asks all
of them about all Nodes, changes nothing, and uses no memo. Like the scheduler it counts the Pods that are nominated for
a Node as if they were there.

Upstream: none (the scheduler's logs at verbosity 10 hold parts of it)
Simplified: extenders are not asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from k8slab.api.objects import Object
from k8slab.scheduler.framework import SUCCESS, CycleState, NodeInfo, Status, pod_key
from k8slab.scheduler.runtime import Framework, left_out_by, name_of, signed_filter_status
from k8slab.scheduler.snapshot import Snapshot

__all__ = ["Explanation", "NodeVerdict", "explain"]


@dataclass(slots=True)
class NodeVerdict:
    """One Node: `filters` verdict by plugin (all of them), `raw` and `weighted` scores by plugin, if feasible.

    `kept_for`: keys of the Pods nominated for the Node, if some plugin rejects it only because of them.
    """

    node: str
    filters: dict[str, Status] = field(default_factory=dict)
    raw: dict[str, int] = field(default_factory=dict)
    weighted: dict[str, int] = field(default_factory=dict)
    kept_for: list[str] = field(default_factory=list)

    @property
    def feasible(self) -> bool:
        return all(status.is_success for status in self.filters.values())

    @property
    def total(self) -> int:
        """The sum of the weighted scores."""
        return sum(self.weighted.values())

    @property
    def reasons(self) -> list[str]:
        """Why not, from every plugin that says no."""
        return [reason for status in self.filters.values() for reason in status.reasons]


@dataclass(slots=True)
class Explanation:
    """The matrix for one Pod. `skipped_filters`, `skipped_scores`: plugins that have nothing to say about it."""

    pod: str
    nodes: list[NodeVerdict]
    filter_plugins: list[str]
    score_plugins: list[str]
    skipped_filters: list[str]
    skipped_scores: list[str]
    weights: dict[str, int]

    def node(self, name: str) -> NodeVerdict:
        """One row; KeyError for an unknown Node."""
        for row in self.nodes:
            if row.node == name:
                return row
        raise KeyError(f"node {name!r}: not in the explanation")

    @property
    def best(self) -> list[str]:
        """The feasible Nodes with the highest total: the scheduler takes any of them."""
        feasible = [row for row in self.nodes if row.feasible]
        top = max((row.total for row in feasible), default=0)
        return [row.node for row in feasible if row.total == top]

    def view(self) -> dict[str, Any]:
        """The matrix as keyed maps, for widgets and JSON."""
        return {
            "pod": self.pod,
            "weights": dict(self.weights),
            "skipped": {"filter": list(self.skipped_filters), "score": list(self.skipped_scores)},
            "nodes": {
                row.node: {
                    "feasible": row.feasible,
                    "filters": {
                        plugin: {"code": status.code.value, "reasons": list(status.reasons)}
                        for plugin, status in row.filters.items()
                    },
                    "raw": dict(row.raw),
                    "weighted": dict(row.weighted),
                    "total": row.total,
                    "kept_for": list(row.kept_for),
                }
                for row in self.nodes
            },
        }


def explain(framework: Framework, pod: Object, snapshot: Snapshot) -> Explanation:
    """Ask every plugin about every Node of `snapshot`, in the snapshot's order.

    Plugins see `snapshot` meanwhile, and then again what they saw before: a cycle may be waiting for an extender.
    """
    before = framework.snapshot()
    framework.use_snapshot(snapshot)
    try:
        with framework.without_memory():
            return _explain(framework, pod, snapshot)
    finally:
        framework.use_snapshot(before)


def _explain(framework: Framework, pod: Object, snapshot: Snapshot) -> Explanation:
    state = CycleState()
    names, status, narrowed_by = framework.run_pre_filter(state, pod, snapshot.nodes)
    rows = [NodeVerdict(node.name) for node in snapshot.nodes]
    for row, node in zip(rows, snapshot.nodes, strict=True):
        if status is not SUCCESS:
            row.filters[status.plugin or "PreFilter"] = status
            continue
        if names is not None and node.name not in names:
            row.filters["PreFilter"] = left_out_by(narrowed_by)
            continue
        _filter(framework, state, pod, node, row)
    _score(framework, state, pod, [n for n, row in zip(snapshot.nodes, rows, strict=True) if row.feasible], rows)
    return Explanation(
        pod_key(pod),
        rows,
        [name_of(plugin) for plugin in framework.filter_plugins],
        [name_of(plugin) for plugin in framework.score_plugins],
        sorted(state.skip_filter),
        sorted(state.skip_score),
        {name_of(plugin): framework.weight(name_of(plugin)) for plugin in framework.score_plugins},
    )


def _filter(framework: Framework, state: CycleState, pod: Object, node: NodeInfo, row: NodeVerdict) -> None:
    """What every plugin says, with the nominated Pods there and without them: both must pass."""
    nominated = framework.nominated_pods(pod, node.name)
    state_then, node_then = (state.clone(), node.clone()) if nominated else (state, node)
    for info in nominated:
        node_then.add_pod(info)
        status = framework.run_add_pod(state_then, pod, info, node_then)
        if status is not SUCCESS:
            row.filters["PreFilter"] = status
            return
    for plugin in framework.active_filters(state):
        name, verdict = name_of(plugin), plugin.filter(state, pod, node)
        if nominated and verdict.is_success:
            verdict = plugin.filter(state_then, pod, node_then)
            if not verdict.is_success:
                row.kept_for = [info.key for info in nominated]
        row.filters[name] = SUCCESS if verdict.is_success else signed_filter_status(verdict, name)


def _score(
    framework: Framework, state: CycleState, pod: Object, feasible: Sequence[NodeInfo], rows: Sequence[NodeVerdict]
) -> None:
    if not feasible or framework.run_pre_score(state, pod, feasible) is not SUCCESS:
        return
    found, _ = framework.run_score(state, pod, feasible)
    by_name = {row.node: row for row in rows}
    for score in found:
        for index, node in enumerate(feasible):
            by_name[node.name].raw[score.plugin] = score.raw[index]
            by_name[node.name].weighted[score.plugin] = score.weighted[index]
