"""What a replay takes from the Pods of a recording: the lots that its scheduler drew, and their random names.

The scheduler breaks ties at random, and what follows depends on it: how many Pods a Node takes along when it fails.
Only ties are decided here; a recorded Node that our scheduler does not rate best is not taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.scheduler import Scheduler
from k8slab.scheduler.cycle import ScheduleResult, SchedulingAlgorithm
from k8slab.scheduler.snapshot import Snapshot

__all__ = ["RecordedNames", "RecordedPlacement"]


class RecordedPlacement:
    """The Nodes of a recorded timeline's Pods, in the order in which they were bound.

    Pods of one owner are replicas of each other: the n-th that is placed draws as the n-th recorded one.
    """

    def __init__(self, doc: dict[str, Any]) -> None:
        self._nodes: dict[str, list[str]] = {}
        self._placed: Counter[str] = Counter()
        bound: set[str] = set()
        for pod in _pods(watch["events"] for watch in doc["watch"]):
            name, node = pod["metadata"]["name"], pod["spec"].get("nodeName")
            if node and name not in bound:
                bound.add(name)
                self._nodes.setdefault(_group(pod), []).append(node)

    def guide(self, scheduler: Scheduler) -> None:
        """From now on `scheduler` draws the recorded lots."""
        for framework in scheduler.frameworks.values():
            framework.algorithm = _Guided(framework.algorithm, self)

    def draw(self, pod: Object, names: Sequence[str]) -> str | None:
        """The recorded Node if it is among these; None otherwise."""
        group = _group(pod)
        nodes = self._nodes.get(group, [])
        number = self._placed[group]
        return nodes[number] if number < len(nodes) and nodes[number] in names else None

    def placed(self, pod: Object) -> None:
        self._placed[_group(pod)] += 1


class _Guided(SchedulingAlgorithm):
    """A scheduling algorithm with its lots drawn beforehand."""

    def __init__(self, algorithm: SchedulingAlgorithm, recorded: RecordedPlacement) -> None:
        self.__dict__.update(algorithm.__dict__)
        self._recorded = recorded
        draw = algorithm.break_tie
        self.break_tie = lambda pod, names: recorded.draw(pod, names) or draw(pod, names)

    async def cycle(self, pod: Object, snapshot: Snapshot, *, explain: bool = False) -> ScheduleResult:
        result = await super().cycle(pod, snapshot, explain=explain)
        if result.node and not explain:
            self._recorded.placed(pod)
        return result


class RecordedNames:
    """Which of our Pods a recorded random name stands for: the n-th of an owner is the n-th of ours."""

    def __init__(self, doc: dict[str, Any]) -> None:
        self._recorded = _names(_pods(watch["events"] for watch in doc["watch"]))

    def ours(self, path: str, frames: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
        """`path` with our Pod's name in the place of a recorded one. `frames`: what our watches have shown so far."""
        found = _names(_pods(frames.values()))
        parts = path.split("/")
        for group, names in self._recorded.items():
            for name, own in zip(names, found.get(group, ()), strict=False):
                parts = [own if part == name else part for part in parts]
        return "/".join(parts)


def _pods(streams: Iterable[Iterable[Mapping[str, Any]]]) -> Iterator[Object]:
    """The Pods of these watch events, in order."""
    for stream in streams:
        for event in stream:
            if event["object"].get("kind") == "Pod":
                yield event["object"]


def _names(pods: Iterable[Object]) -> dict[str, list[str]]:
    """Pod names by owner, in the order of their first appearance."""
    found: dict[str, dict[str, None]] = {}
    for pod in pods:
        found.setdefault(_group(pod), {})[pod["metadata"]["name"]] = None
    return {group: list(names) for group, names in found.items()}


def _group(pod: Object) -> str:
    """What the Pod is a replica of: its owner, without the template's hash; itself, if it has none."""
    owners = pod["metadata"].get("ownerReferences") or ()
    if not owners:
        return f"Pod/{pod['metadata']['name']}"
    kind, name = owners[0]["kind"], owners[0]["name"]
    return f"{kind}/{name.rsplit('-', 1)[0] if kind == 'ReplicaSet' else name}"
