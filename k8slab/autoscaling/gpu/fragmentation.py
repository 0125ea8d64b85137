"""How much of what is free is of no use: fragmentation, measured by the tasks that are likely to come.

For a task, the free GPUs of a node on which it cannot run are fragments, all of them; on a node where it can run, those
GPUs are that have less left than it asks of one. A workload is tasks with how often they come; its measure is the mean.

>>> from k8slab.autoscaling.gpu import GpuNode, TaskClass, Workload
>>> pairs = Workload({TaskClass(gpus=2): 1})
>>> halves = GpuNode("n", 8_000, 32_768, [500, 500, 1_000, 1_000])
>>> pairs.fragments(halves.state), pairs.fragments(GpuNode("m", 8_000, 32_768, [1_000]).state)
(1000.0, 1000.0)

Spec: Weng et al., "Beware of Fragmentation: Scheduling GPU-Sharing Workloads with Fragmentation Gradient Descent",
USENIX ATC 2023, section 3
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from k8slab.autoscaling.gpu.nodes import WHOLE, GpuNode, State, TaskClass

__all__ = ["Workload", "fragments_for"]


def fragments_for(kind: TaskClass, state: State) -> int:
    """Thousandths of free GPUs that are of no use to one such task. Whoever asks for no GPU finds all of them
    useless."""
    cpu, memory, gpus, model = state
    free = sum(gpus)
    fits = kind.milli_cpu <= cpu and kind.memory_mib <= memory and (not kind.model or kind.model == model)
    if not fits or not kind.amount:
        return free
    each = WHOLE if kind.gpus else kind.gpu_milli
    usable = [left for left in gpus if left >= each]
    return free - sum(usable) if len(usable) >= (kind.gpus or 1) else free


class Workload:
    """Classes of tasks, and how often each comes (any positive weights). ValueError: none."""

    def __init__(self, weights: Mapping[TaskClass, int]) -> None:
        total = sum(weights.values())
        if total <= 0 or any(weight < 0 for weight in weights.values()):
            raise ValueError(f"workload: weights {list(weights.values())}: expected at least one above 0, none below")
        self._classes = [(kind, weight / total) for kind, weight in weights.items() if weight]
        self._by_gpus: dict[tuple[tuple[int, ...], str], list[tuple[int, int, float, float]]] = {}

    @classmethod
    def of(cls, kinds: Iterable[TaskClass], most: int = 20) -> Workload:
        """From tasks that were seen: the `most` frequent classes, of which equal ones count together."""
        counts: dict[TaskClass, int] = {}
        for kind in kinds:
            counts[kind] = counts.get(kind, 0) + 1
        ranked = sorted(counts.items(), key=lambda pair: (-pair[1], _order(pair[0])))
        return cls(dict(ranked[:most]))

    def fragments(self, state: State) -> float:
        """The mean of `fragments_for`: thousandths of GPUs."""
        cpu, memory, gpus, model = state
        free = sum(gpus)
        if not free:
            return 0.0
        total = 0.0
        for least_cpu, least_memory, share, runs in self._terms(gpus, model):
            total += runs if least_cpu <= cpu and least_memory <= memory else share * free
        return total

    def _terms(self, gpus: tuple[int, ...], model: str) -> list[tuple[int, int, float, float]]:
        """Per class: the CPU and memory it needs, its weight, and its share of the sum when it has these."""
        found = self._by_gpus.get((gpus, model))
        if found is None:
            roomy: State = (1 << 60, 1 << 60, gpus, model)
            found = [
                (kind.milli_cpu, kind.memory_mib, share, share * fragments_for(kind, roomy))
                for kind, share in self._classes
            ]
            self._by_gpus[gpus, model] = found
        return found

    def useless(self, state: State, left: int) -> float:
        """What part of the workload could not use a GPU with so much left, on a node of this state."""
        if not left:
            return 0.0
        lost = 0.0
        for kind, share in self._classes:
            each = WHOLE if kind.gpus else kind.gpu_milli
            if left < each or not kind.amount or fragments_for(kind, state) == sum(state[2]):
                lost += share
        return lost

    def of_cluster(self, nodes: Iterable[GpuNode]) -> float:
        """The sum over nodes, in whole GPUs."""
        return sum(self.fragments(node.state) for node in nodes) / WHOLE

    def rate(self, nodes: Sequence[GpuNode]) -> float:
        """What part of the free GPUs is fragments; 0 when nothing is free."""
        free = sum(sum(node.left) for node in nodes) / WHOLE
        return self.of_cluster(nodes) / free if free else 0.0


def _order(kind: TaskClass) -> tuple[int, int, int, int, str]:
    return kind.gpus, kind.gpu_milli, kind.milli_cpu, kind.memory_mib, kind.model
