"""What preemption thinks: Node by Node who would have to go, then the comparison that picks one, column by column.

>>> from k8slab.scheduler import Framework, PreemptionStory, Snapshot
>>> def pod(name, priority, node=None):
...     container = {"name": "c", "resources": {"requests": {"cpu": "1"}}}
...     return {"metadata": {"name": name}, "spec": {"priority": priority, "nodeName": node, "containers": [container]}}
>>> node = {"metadata": {"name": "node-1"}, "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "110"}}}
>>> there = [pod("low", 1, "node-1"), pod("middle", 5, "node-1")]
>>> story = PreemptionStory(Framework.from_profile(), pod("high", 9), Snapshot.of([node], there))
>>> while story.step():
...     pass
>>> for event in story.trace:
...     print(event.message)
Pod high (priority 9) fits on none of 1 node: who would have to go for it
without its 2 less important Pods there is room on node-1: they come back one by one
Pod middle (priority 5) may stay on node-1
Pod low (priority 1) cannot stay on node-1: a victim
node-1 is a candidate: 1 victim, 0 of them against a budget
node-1 is chosen: low must go

Upstream: none (the steps are those of pkg/scheduler/framework/preemption/preemption.go)
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.scheduler.framework import SUCCESS, Code, CycleState, Handle, NodeInfo, PodInfo, Status
from k8slab.scheduler.plugins.default_preemption import DefaultPreemption
from k8slab.scheduler.preemption import (
    CRITERIA,
    Candidate,
    best_candidates,
    by_importance,
    dry_run_preemption,
    split_by_pdb_violation,
)
from k8slab.scheduler.runtime import Framework
from k8slab.scheduler.snapshot import Snapshot
from k8slab.sim import Clock, Kind, Trace, add_kinds
from k8slab.sim.kinds import cut

__all__ = ["PreemptionStory"]

LANE = "scheduler"
COLUMNS = (
    "budgets broken",
    "priority of the most important victim",
    "sum of the priorities",
    "number of victims",
    "start of the most important victims",
)
"""What `CRITERIA` compare, in words."""

add_kinds(
    {
        "preempt.ask": Kind(
            "queue",
            1,
            ("pod", "priority", "nodes"),
            "{pod} asks for room",
            "Pod {pod} (priority {priority}) fits on none of {nodes} {nodes:node|nodes}: who would have to go for it",
        ),
        "preempt.no": Kind("wait", 1, ("node", "why"), "not {node}", "{node} is no candidate: {why}"),
        "preempt.clear": Kind(
            "work",
            1,
            ("node", "count"),
            "{node} cleared in thought",
            "without its {count} less important {count:Pod|Pods} there is room on {node}: "
            "{count:it comes back|they come back one by one}",
        ),
        "preempt.stay": Kind(
            "state",
            2,
            ("pod", "priority", "node"),
            "{pod} may stay",
            "Pod {pod} (priority {priority}) may stay on {node}",
        ),
        "preempt.victim": Kind(
            "state",
            2,
            ("pod", "priority", "node"),
            "{pod}: a victim",
            "Pod {pod} (priority {priority}) cannot stay on {node}: a victim",
        ),
        "preempt.candidate": Kind(
            "work",
            1,
            ("node", "victims", "violations"),
            "{node} is a candidate",
            "{node} is a candidate: {victims} {victims:victim|victims}, {violations} of them against a budget",
        ),
        "preempt.compare": Kind(
            "work",
            1,
            ("what", "left", "out"),
            "by {what}",
            "by {what}: {left} {left:node is|nodes are} left, {out} {out:is|are} out",
        ),
        "preempt.choose": Kind(
            "state", 1, ("node", "victims", "ties"), "{node} is chosen", "{node} is chosen: {victims} must go{ties}"
        ),
        "preempt.refuse": Kind("wait", 1, ("pod", "why"), "{pod} may not", "Pod {pod} may not preempt: {why}"),
        "preempt.none": Kind("wait", 1, ("pod",), "no candidate", "no node can be cleared: Pod {pod} stays pending"),
    }
)


class _Move(NamedTuple):
    """One call of a dry run: `away`, `back` (of a Pod), or `fits` (asked with `ok` as the answer)."""

    what: str
    pod: str = ""
    ok: bool = False


class _Watched:
    """A `Handle` for dry runs that notes, Node by Node, in which order they ask."""

    def __init__(self, framework: Framework) -> None:
        self._framework = framework
        self.moves: dict[str, list[_Move]] = {}

    def _note(self, node: NodeInfo, move: _Move) -> None:
        self.moves.setdefault(node.name, []).append(move)

    def run_remove_pod(self, state: CycleState, pod: Object, info: PodInfo, node: NodeInfo) -> Status:
        self._note(node, _Move("away", info.key))
        return self._framework.run_remove_pod(state, pod, info, node)

    def run_add_pod(self, state: CycleState, pod: Object, info: PodInfo, node: NodeInfo) -> Status:
        self._note(node, _Move("back", info.key))
        return self._framework.run_add_pod(state, pod, info, node)

    def run_filter_with_nominated(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        status = self._framework.run_filter_with_nominated(state, pod, node)
        self._note(node, _Move("fits", ok=status is SUCCESS))
        return status

    def __getattr__(self, name: str) -> Any:
        return getattr(self._framework, name)


class PreemptionStory:
    """A steppable what-if: nothing is evicted. `pod` must fit on no Node of `snapshot`.

    `pdbs`: disruption budgets. `offset`: the Node the dry runs begin with, of those that could be cleared; the real
    scheduler draws it. `Stepper(PreemptionStory(framework, pod, snapshot))` shows the Nodes with their victims.

    ValueError: the Pod fits somewhere, or the profile has no DefaultPreemption.
    """

    views = ("preempt",)
    title = "Who has to go?"

    def __init__(
        self, framework: Framework, pod: Object, snapshot: Snapshot, *, pdbs: Sequence[Object] = (), offset: int = 0
    ) -> None:
        plugin = framework.plugins.get(DefaultPreemption.name)
        if not isinstance(plugin, DefaultPreemption):
            raise ValueError(f"framework: profile {framework.profile_name} has no DefaultPreemption")
        self.trace = Trace(Clock())
        self._info, self._pdbs = PodInfo(pod), pdbs
        result = framework.schedule(pod, snapshot)
        if result.status is SUCCESS:
            raise ValueError(f"pod {self._info.key}: it fits on {result.node}, expected one that fits nowhere")
        statuses = result.diagnosis.node_to_status
        potential = [node for node in snapshot.nodes if statuses.get(node.name).code is Code.UNSCHEDULABLE]
        watched: Any = _Watched(framework)
        handle: Handle = watched
        self._enough = plugin.num_candidates(len(potential))
        self.candidates, verdicts, _ = dry_run_preemption(
            handle, result.state, pod, potential, pdbs, offset=offset, enough=self._enough
        )
        refused = result.post_filter is None
        self._refusal = result.diagnosis.post_filter_message.partition("preemption: ")[2] if refused else ""
        self._why = {
            node.name: _reason(statuses.get(node.name)) for node in snapshot.nodes if node not in potential
        } | {name: _reason(status) for name, status in verdicts.explicit().items()}
        turn = [potential[(offset + index) % len(potential)] for index in range(len(potential))]
        self._order = [*turn, *(node for node in snapshot.nodes if node not in potential)]
        self._moves = watched.moves
        self._rows = {node.name: self._row(node) for node in snapshot.nodes}
        self._column = -1
        self._plan = self._play()

    def _row(self, node: NodeInfo) -> dict[str, Any]:
        lower = by_importance(info for info in node.pods.values() if info.priority < self._info.priority)
        breaking = {info.key for info in split_by_pdb_violation(lower, self._pdbs)[0]}
        pods = {
            info.key: {"p": info.priority, "s": "", "b": info.key in breaking}
            for info in by_importance(node.pods.values())
        }
        return {"state": "", "pods": pods, "cells": {}}

    def step(self) -> bool:
        """The next thought; False after the last."""
        return next(self._plan, None) is not None

    def view(self) -> Mapping[str, Any]:
        """`preempt`: the `pod`, its `priority`, the `column` being compared (-1: none yet) and `nodes` by name: their
        `state` (asked, no, candidate, out, chosen or ""), `why` not, `cells` by column number, and `pods` by key: `p`
        the priority, `b` whether its loss breaks a budget, `s` away, stays, victim or ""."""
        rows = {
            name: {**row, "pods": {key: dict(pod) for key, pod in row["pods"].items()}, "cells": dict(row["cells"])}
            for name, row in self._rows.items()
        }
        return {
            "preempt": {
                "pod": _name(self._info.key),
                "priority": self._info.priority,
                "column": self._column,
                "nodes": rows,
            }
        }

    # -- the steps ---------------------------------------------------------------------------------

    def _play(self) -> Iterator[bool]:
        emit, name = self.trace.emit, _name(self._info.key)
        asked = emit("preempt.ask", LANE, pod=name, priority=self._info.priority, nodes=len(self._rows))
        yield True
        if self._refusal:
            emit("preempt.refuse", LANE, pod=name, why=self._refusal)
            yield True
            return
        by_node = {candidate.node: candidate for candidate in self.candidates}
        for node in self._order:
            self.trace.current = asked
            yield from self._try(node.name, by_node.get(node.name))
        if not self.candidates:
            emit("preempt.none", LANE, pod=name)
            yield True
            return
        left = list(self.candidates)
        for column in range(len(CRITERIA)):
            if len(left) < 2:
                break
            left = yield from self._compare(column, left)
        best = best_candidates(self.candidates)
        self._rows[best[0].node]["state"] = "chosen"
        victims = ", ".join(_name(info.key) for info in best[0].victims)
        ties = f"; {', '.join(one.node for one in best[1:])} would do as well" if len(best) > 1 else ""
        emit("preempt.choose", LANE, node=best[0].node, victims=cut(victims, 60), ties=cut(ties, 40))
        yield True

    def _try(self, node: str, candidate: Candidate | None) -> Iterator[bool]:
        row, moves = self._rows[node], self._moves.get(node, [])
        away = [move.pod for move in moves[: _number_away(moves)]]
        if candidate is None:
            row["state"] = "no"
            row["why"] = self._why.get(
                node, f"not tried, {self._enough} {'candidate is' if self._enough == 1 else 'candidates are'} enough"
            )
            self.trace.emit("preempt.no", LANE, node=node, why=cut(row["why"], 80))
            yield True
            return
        row["state"] = "asked"
        for key in away:
            row["pods"][key]["s"] = "away"
        self.trace.emit("preempt.clear", LANE, node=node, count=len(away))
        yield True
        victims = {info.key for info in candidate.victims}
        for key in (move.pod for move in moves if move.what == "back"):
            gone = key in victims
            row["pods"][key]["s"] = "victim" if gone else "stays"
            priority = row["pods"][key]["p"]
            kind = "preempt.victim" if gone else "preempt.stay"
            self.trace.emit(kind, LANE, pod=_name(key), priority=priority, node=node)
            yield True
        row["state"] = "candidate"
        self.trace.emit(
            "preempt.candidate",
            LANE,
            node=node,
            victims=len(candidate.victims),
            violations=candidate.pdb_violations,
        )
        yield True

    def _compare(self, column: int, left: list[Candidate]) -> Generator[bool, None, list[Candidate]]:
        harm = [CRITERIA[column](candidate) for candidate in left]
        self._column = column
        kept = []
        for candidate, value in zip(left, harm, strict=True):
            self._rows[candidate.node]["cells"][str(column)] = _cell(column, candidate)
            if value == min(harm):
                kept.append(candidate)
            else:
                self._rows[candidate.node]["state"] = "out"
        out = len(left) - len(kept)
        self.trace.emit("preempt.compare", LANE, what=COLUMNS[column], left=len(kept), out=out)
        yield True
        return kept


def _number_away(moves: Sequence[_Move]) -> int:
    """How many Pods left before the Node was asked for the first time."""
    return next((index for index, move in enumerate(moves) if move.what == "fits"), len(moves))


def _cell(column: int, candidate: Candidate) -> str:
    """A criterion's value as a reader says it."""
    victims = candidate.victims
    if column == 2:
        return f"{sum(info.priority for info in victims)} + {len(victims)}\N{MIDDLE DOT}2\u00b3\u00b9"
    if column == 4:
        top = [info for info in victims if info.priority == victims[0].priority]
        started = [(info.pod.get("status") or {}).get("startTime") for info in top]
        known = [time for time in started if time]
        return min(known).partition("T")[2].removesuffix("Z") if known else "not yet"
    return str((candidate.pdb_violations, victims[0].priority, 0, len(victims))[column])


def _reason(status: Status) -> str:
    text = status.message or "preemption would not help"
    if status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE and "victims" not in text:
        return f"{text}; nobody's leaving changes that"
    return text


def _name(key: str) -> str:
    return key.removeprefix("default/")
