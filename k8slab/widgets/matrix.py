"""One scheduling cycle as steps: every filter for every node, every score, the winner.

Takes what `k8slab.scheduler.explain` answers (its `view()`), and plays it in the order the scheduler works:
filters node by node, stopping at the first that says no; then scores plugin by plugin.

Simplified: the scheduler filters nodes in parallel and looks at a sample of a large cluster; here one node after
another, all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from k8slab.sim import Kind, Trace, add_kinds
from k8slab.sim.clock import Clock

__all__ = ["SchedulingCycle", "steps_of"]

LANE = "scheduler"

add_kinds(
    {
        "cycle.pop": Kind(
            "work",
            1,
            ("pod", "nodes"),
            "take {pod}",
            "the scheduler takes Pod {pod} from its queue; {nodes} {nodes:node is a candidate|nodes are candidates}",
        ),
        "cycle.filter": Kind(
            "work", 2, ("plugin", "node"), "{plugin} passes {node}", "{plugin} has nothing against {node}"
        ),
        "cycle.reject": Kind(
            "work",
            1,
            ("plugin", "node", "reason"),
            "{plugin} rejects {node}",
            "{plugin} rejects {node}: {reason}; later filters are not asked about it",
        ),
        "cycle.feasible": Kind(
            "state", 1, ("node", "filters"), "{node} is feasible", "all {filters} filters have passed {node}"
        ),
        "cycle.score": Kind(
            "work",
            2,
            ("plugin", "node", "score", "weight", "weighted", "raw"),
            "{node} gets {weighted}",
            "{plugin} gives {node} {score} of 100{raw}; weight {weight} makes it {weighted}",
        ),
        "cycle.scored": Kind(
            "work", 1, ("plugin", "nodes"), "{plugin} done", "{plugin} has scored {nodes} {nodes:node|nodes}"
        ),
        "cycle.winner": Kind(
            "state", 1, ("node", "total", "rest"), "{node} wins", "{node} has the highest total, {total}{rest}"
        ),
        "cycle.only": Kind(
            "state", 1, ("node",), "{node} wins", "the only feasible node is {node}: it is taken, and nobody scores"
        ),
        "cycle.none": Kind("wait", 1, ("pod", "nodes"), "no node", "no node is feasible: {pod} stays pending"),
    }
)


def steps_of(thing: Any) -> SchedulingCycle:
    """A steppable made of a thing that only has a state. TypeError when it is not known how."""
    view = thing.view() if hasattr(thing, "view") else None
    if isinstance(view, Mapping) and {"pod", "nodes", "weights"} <= set(view):
        return SchedulingCycle(view)
    raise TypeError(
        f"{type(thing).__name__}: expected something with view(), step() and trace (a Cluster), "
        "or a scheduler's explanation"
    )


class SchedulingCycle:
    """A steppable: `explanation` is the `view()` of a scheduler's Explanation."""

    views = ("matrix",)
    looks_within = True

    def __init__(self, explanation: Mapping[str, Any]) -> None:
        self.trace = Trace(Clock())
        self._about = explanation
        nodes: Mapping[str, Any] = explanation["nodes"]
        self.title = f"Which node for {str(explanation['pod']).rpartition('/')[2]}?"
        if len(self.title) > 40:
            self.title = "One scheduling cycle: which node?"
        asked = [p for node in nodes.values() for p in node["filters"]]
        scored = [p for node in nodes.values() for p in node["raw"]]
        self._filters = list(dict.fromkeys(asked))
        feasible = [name for name, node in nodes.items() if node["feasible"]]
        self._scores = [p for p in explanation["weights"] if p in scored and len(feasible) > 1]
        self._cells: dict[str, dict[str, Any]] = {name: {} for name in nodes}
        self._winner: str | None = None
        self._plan = self._play()

    def view(self) -> dict[str, Any]:
        """`matrix`: Pod, nodes, filters, scores with weights, `cell` {node: {"f:Plugin" or "s:Plugin": …}}, winner."""
        about = self._about
        totals = {
            name: sum(cell["x"] for key, cell in cells.items() if key.startswith("s:"))
            for name, cells in self._cells.items()
            if any(key.startswith("s:") for key in cells)
        }
        matrix: dict[str, Any] = {
            "pod": about["pod"],
            "nodes": list(about["nodes"]),
            "filters": self._filters,
            "scores": [{"name": name, "weight": about["weights"][name]} for name in self._scores],
            "cell": {name: dict(cells) for name, cells in self._cells.items()},
            "total": totals,
        }
        if idle := {plugin for skipped in about.get("skipped", {}).values() for plugin in skipped}:
            matrix["idle"] = len(idle)
        if self._winner is not None:
            matrix["winner"] = self._winner
        return {"matrix": matrix}

    def step(self) -> bool:
        """The next verdict or score; False after the last."""
        return next(self._plan, None) is not None

    def _play(self) -> Iterator[bool]:
        trace, nodes = self.trace, self._about["nodes"]
        start = trace.emit("cycle.pop", LANE, pod=self._about["pod"], nodes=len(nodes))
        yield True
        for name, node in nodes.items():
            trace.current = start
            yield from self._filter(name, node["filters"])
        feasible = [name for name, node in nodes.items() if node["feasible"]]
        for plugin in self._scores:
            yield from self._score(plugin, feasible)
        totals = {name: nodes[name]["total"] for name in feasible}
        if not totals:
            trace.emit("cycle.none", LANE, pod=self._about["pod"], nodes=len(nodes))
        elif len(feasible) == 1:
            trace.emit("cycle.only", LANE, node=feasible[0])
            self._winner = feasible[0]
        else:
            best = [name for name, total in totals.items() if total == max(totals.values())]
            trace.emit("cycle.winner", LANE, node=best[0], total=totals[best[0]], rest=_rest(totals, best))
            self._winner = best[0]
        yield True

    def _filter(self, node: str, verdicts: Mapping[str, Any]) -> Iterator[bool]:
        for number, (plugin, verdict) in enumerate(verdicts.items(), 1):
            if verdict["code"] != "Success":
                reason = ", ".join(verdict["reasons"]) or str(verdict["code"])
                if kept := self._about["nodes"][node].get("kept_for"):
                    reason += f" (room is kept for {', '.join(key.removeprefix('default/') for key in kept)})"
                self.trace.emit("cycle.reject", LANE, plugin=plugin, node=node, reason=reason)
                self._cells[node][f"f:{plugin}"] = {"ok": False, "why": reason}
                yield True
                return
            last = number == len(verdicts)
            if last:
                self.trace.emit("cycle.feasible", LANE, node=node, filters=number)
            else:
                self.trace.emit("cycle.filter", LANE, plugin=plugin, node=node)
            self._cells[node][f"f:{plugin}"] = {"ok": True}
            yield True

    def _score(self, plugin: str, feasible: list[str]) -> Iterator[bool]:
        weight = self._about["weights"][plugin]
        for number, name in enumerate(feasible, 1):
            node = self._about["nodes"][name]
            weighted = node["weighted"].get(plugin, 0)
            score = weighted // weight if weight else 0
            raw = node["raw"].get(plugin, score)
            self.trace.emit(
                "cycle.score",
                LANE,
                plugin=plugin,
                node=name,
                score=score,
                weight=weight,
                weighted=weighted,
                raw="" if raw == score else f" (normalised from {raw})",
            )
            self._cells[name][f"s:{plugin}"] = {"v": score, "x": weighted, "r": raw}
            if number == len(feasible):
                self.trace.emit("cycle.scored", LANE, plugin=plugin, nodes=number)
            yield True


def _rest(totals: Mapping[str, int], best: list[str]) -> str:
    """How far ahead the winner is, or with whom it shares the highest total."""
    if len(best) > 1:
        return f"; so {'has' if len(best) == 2 else 'have'} {', '.join(best[1:])}: any of them will do"
    others = {node: total for node, total in totals.items() if node not in best}
    second = max(others, key=lambda node: others[node])
    return f", {totals[best[0]] - others[second]} more than {second}"
