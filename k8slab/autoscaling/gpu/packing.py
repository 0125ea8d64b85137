"""Where to put the next GPU task: spread, binpack, best fit, or down the gradient of fragmentation.

`Placer.place` looks at every node; nodes whose state is the same cost one look, and a node that has not changed since
the last task of the same class costs none.

>>> from k8slab.autoscaling.gpu import GpuNode, Placer, Policy, Task
>>> def nodes():
...     return [GpuNode(name, 64_000, 262_144, [1_000] * 8) for name in ("a", "b")]
>>> for policy in (Policy.SPREAD, Policy.BINPACK):
...     placer = Placer(nodes(), policy)
...     print([placer.place(Task(f"t{n}", 1_000, 1_024, gpus=1)) for n in range(4)], placer.place(Task("t", gpus=8)))
['a', 'b', 'a', 'b'] None
['a', 'a', 'a', 'a'] b

Spec: Weng et al., USENIX ATC 2023, section 4 (FGD) and the baselines of section 6
Upstream: pkg/scheduler/framework/plugins/noderesources (LeastAllocated is spread, MostAllocated binpack)
Simplified: policies see GPUs before CPU and memory, which only have to suffice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum

from k8slab.autoscaling.gpu.fragmentation import Workload
from k8slab.autoscaling.gpu.nodes import WHOLE, GpuNode, State, Task, TaskClass

__all__ = ["Placer", "Policy", "options"]

_Score = tuple[float, int]
_Choice = tuple[float, int, int]  # score, what is left of the chosen GPU, CPU left


class Policy(StrEnum):
    """How nodes compare; the least score wins, of equals the node that comes first."""

    SPREAD = "spread"
    BINPACK = "binpack"
    BEST_FIT = "best-fit"
    FGD = "fgd"


def options(kind: TaskClass, state: State) -> list[tuple[int, State]]:
    """The ways a task can sit on a node of this state: what the (least free) chosen GPU has left, and the state then.

    GPUs with the same amount left are one option. None: it does not fit.
    """
    cpu, memory, gpus, model = state
    if kind.milli_cpu > cpu or kind.memory_mib > memory or (kind.model and kind.amount and kind.model != model):
        return []
    rest = (cpu - kind.milli_cpu, memory - kind.memory_mib)
    if kind.gpus:
        if kind.gpus > len(gpus) or gpus[-kind.gpus] < WHOLE:
            return []
        return [(0, (*rest, tuple([0] * kind.gpus + list(gpus[: -kind.gpus])), model))]
    if not kind.gpu_milli:
        return [(0, (*rest, gpus, model))]
    found = []
    for left in sorted({left for left in gpus if left >= kind.gpu_milli}):
        after = list(gpus)
        after[after.index(left)] = left - kind.gpu_milli
        found.append((left - kind.gpu_milli, (*rest, tuple(sorted(after)), model)))
    return found


class Placer:
    """Places tasks on nodes, one after the other. `workload`: what FGD expects to come (needed for that policy)."""

    def __init__(self, nodes: Iterable[GpuNode], policy: Policy, workload: Workload | None = None) -> None:
        self.nodes = {node.name: node for node in nodes}
        self.policy = policy
        self.failed: list[str] = []
        if policy is Policy.FGD and workload is None:
            raise ValueError("workload: None: expected one, the policy fgd needs to know what is likely to come")
        self._workload = workload
        self._order = list(self.nodes.values())
        self._places = {node.name: index for index, node in enumerate(self._order)}
        self._changes: list[int] = []
        self._seen: dict[TaskClass, int] = {}
        self._scores: dict[TaskClass, list[_Choice | None]] = {}
        self._by_state: dict[tuple[TaskClass, State], _Choice | None] = {}
        self._fragments: dict[State, float] = {}

    def place(self, task: Task) -> str | None:
        """Put the task on the best node, and return its name; None: it fits nowhere (`failed` remembers it)."""
        kind = task.kind
        scores = self._up_to_date(kind)
        best: tuple[_Choice, int] | None = None
        for index, choice in enumerate(scores):
            if choice is not None and (best is None or choice < best[0]):
                best = (choice, index)
        if best is None:
            self.failed.append(task.name)
            return None
        (_, left, _), index = best
        node = self._order[index]
        node.take(task, self._chosen(node, kind, left))
        self._changes.append(index)
        return node.name

    def release(self, task: str, node: str) -> None:
        """A task has ended."""
        self.nodes[node].release(task)
        self._changes.append(self._places[node])

    @staticmethod
    def _chosen(node: GpuNode, kind: TaskClass, left: int) -> Sequence[int] | None:
        """The GPU that will have `left` left."""
        if not kind.gpu_milli:
            return None
        return [node.left.index(left + kind.gpu_milli)]

    def _up_to_date(self, kind: TaskClass) -> list[_Choice | None]:
        scores = self._scores.get(kind)
        if scores is None:
            scores = [self._choice(kind, node.state) for node in self._order]
            self._scores[kind] = scores
        else:
            for index in dict.fromkeys(self._changes[self._seen[kind] :]):
                scores[index] = self._choice(kind, self._order[index].state)
        self._seen[kind] = len(self._changes)
        return scores

    def _choice(self, kind: TaskClass, state: State) -> _Choice | None:
        """The best way to sit on a node of this state, None when there is none."""
        key = (kind, state)
        if key not in self._by_state:
            score = self._scorer()
            found = [(score(kind, state, after), left, after[0]) for left, after in options(kind, state)]
            self._by_state[key] = min(found, default=None)
        return self._by_state[key]

    def _scorer(self) -> Callable[[TaskClass, State, State], float]:
        return {
            Policy.SPREAD: self._spread,
            Policy.BINPACK: self._binpack,
            Policy.BEST_FIT: self._best_fit,
            Policy.FGD: self._gradient,
        }[self.policy]

    @staticmethod
    def _spread(kind: TaskClass, before: State, after: State) -> float:
        return -sum(after[2]) / max(len(after[2]), 1) - sum(left == WHOLE for left in after[2]) / 1e3

    @staticmethod
    def _binpack(kind: TaskClass, before: State, after: State) -> float:
        return sum(after[2]) / max(len(after[2]), 1) - sum(left == WHOLE for left in after[2]) / 1e3

    @staticmethod
    def _best_fit(kind: TaskClass, before: State, after: State) -> float:
        """As little as possible of everything left, each resource against a large machine."""
        return after[0] / 128_000 + after[1] / 1_048_576 + sum(after[2]) / (8 * WHOLE)

    def _gradient(self, kind: TaskClass, before: State, after: State) -> float:
        """How much more of what is free will be of no use."""
        return self._of(after) - self._of(before)

    def _of(self, state: State) -> float:
        found = self._fragments.get(state)
        if found is None:
            assert self._workload is not None
            found = self._fragments[state] = self._workload.fragments(state)
        return found

    def check_invariants(self) -> None:
        """Nodes count right, and remembered scores are those of the states."""
        for node in self._order:
            node.check_invariants()
        for kind, scores in self._scores.items():
            if self._seen[kind] == len(self._changes):
                for node, score in zip(self._order, scores, strict=True):
                    assert score == self._choice(kind, node.state), f"placer: {node.name} has an old score"
