"""The same GPU tasks under several policies, step by step, with what is left that nobody can use.

>>> from k8slab.autoscaling.gpu import GpuNode, PlacingStory, Policy, Task, TaskClass, Workload
>>> def nodes():
...     return [GpuNode(f"n{n}", 64_000, 262_144, [1_000] * 4) for n in (1, 2)]
>>> tasks = [*(Task(f"small-{n}", 1_000, 1_024, gpus=1) for n in (1, 2)), Task("big", 4_000, 4_096, gpus=4)]
>>> story = PlacingStory(nodes, tasks, (Policy.SPREAD, Policy.BINPACK), Workload({TaskClass(gpus=4): 1}))
>>> while story.step():
...     pass
>>> print(list(story.trace)[-1].message)
task big (4 GPUs): spread: nowhere; binpack: n2

Upstream: none
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from k8slab.autoscaling.gpu.fragmentation import Workload
from k8slab.autoscaling.gpu.nodes import WHOLE, GpuNode, Task
from k8slab.autoscaling.gpu.packing import Placer, Policy
from k8slab.sim import Clock, Trace
from k8slab.sim.kinds import Kind, add_kinds, cut

__all__ = ["PlacingStory"]

add_kinds(
    {
        "gpu.place": Kind("work", 1, ("task", "asks", "where"), "{task}: {asks}", "task {task} ({asks}): {where}"),
        "gpu.end": Kind("state", 1, ("task",), "{task} ends", "task {task} has ended, and its GPUs are free again"),
    }
)
_MOST_WORDS = 80


class PlacingStory:
    """A steppable: places one task a step, under each policy on nodes of its own. A text in `tasks` names a task that
    ends. `workload`: what is likely to come; it says what is of no use. `nodes` makes the nodes."""

    views = ("fragments",)
    title = "Where GPU tasks go"

    def __init__(
        self,
        nodes: Callable[[], Sequence[GpuNode]],
        tasks: Iterable[Task | str],
        policies: Sequence[Policy],
        workload: Workload,
    ) -> None:
        if not policies:
            raise ValueError("policies: none, expected at least one")
        self.clock = Clock()
        self.trace = Trace(self.clock)
        self.workload = workload
        self.placers = {policy: Placer(nodes(), policy, workload) for policy in policies}
        self._todo = deque(tasks)
        self._where: dict[str, dict[Policy, str | None]] = {}
        self._last: dict[Policy, str] = {}

    def step(self) -> bool:
        """The next task; False when there was none left."""
        if not self._todo:
            return False
        task = self._todo.popleft()
        self.trace.current = None
        if isinstance(task, str):
            self._end(task)
        else:
            self._place(task)
        return True

    def _place(self, task: Task) -> None:
        found = {policy: placer.place(task) for policy, placer in self.placers.items()}
        self._where[task.name] = found
        self._last = {policy: name or "" for policy, name in found.items()}
        where = "; ".join(f"{policy}: {name or 'nowhere'}" for policy, name in found.items())
        self.trace.emit("gpu.place", "scheduler", task=task.name, asks=_asks(task), where=cut(where, _MOST_WORDS))

    def _end(self, name: str) -> None:
        if name not in self._where:
            raise ValueError(f"task {name!r}: it was not placed")
        for policy, node in self._where.pop(name).items():
            if node is not None:
                self.placers[policy].release(name, node)
        self._last = {}
        self.trace.emit("gpu.end", "you", task=name)

    def view(self) -> dict[str, Any]:
        """`fragments`: by policy the nodes, each with what of every GPU is `left` (thousandths) and how many in a
        hundred of the likely tasks could not use it (`lost`); what is free and of no use in all; tasks without a
        place."""
        return {"fragments": {str(policy): self._picture(policy, placer) for policy, placer in self.placers.items()}}

    def _picture(self, policy: Policy, placer: Placer) -> dict[str, Any]:
        nodes = list(placer.nodes.values())
        return {
            "free": sum(sum(node.left) for node in nodes),
            "lost": round(self.workload.of_cluster(nodes) * WHOLE),
            "failed": dict.fromkeys(placer.failed, True),
            "nodes": {
                node.name: {"new": self._last.get(policy) == node.name, "cpu": node.cpu_left, "gpus": self._gpus(node)}
                for node in nodes
            },
        }

    def _gpus(self, node: GpuNode) -> dict[str, dict[str, int]]:
        return {
            str(place): {"left": left, "lost": round(100 * self.workload.useless(node.state, left))}
            for place, left in enumerate(node.left)
        }


def _asks(task: Task) -> str:
    if task.gpus:
        return f"{task.gpus} GPU{'s' if task.gpus > 1 else ''}"
    return f"0.{task.gpu_milli:03d}".rstrip("0") + " GPU" if task.gpu_milli else f"{task.milli_cpu / 1_000:g} CPU"
