"""GPU nodes and tasks boiled down to what placing needs: CPU, memory, and how much of each GPU is left.

A GPU is 1,000 thousandths. A task asks for a share of one GPU (time slicing, MPS), or for whole ones; never for one and
a half, and never for two halves of different GPUs.

>>> from k8slab.autoscaling.gpu import GpuNode, Task
>>> node = GpuNode("n1", milli_cpu=8_000, memory_mib=32_768, gpus=[1_000, 1_000])
>>> node.take(Task("a", 1_000, 1_024, gpu_milli=500))
(0,)
>>> node.take(Task("b", 1_000, 1_024, gpu_milli=500)), node.left
((0,), (0, 1000))
>>> node.take(Task("c", 1_000, 1_024, gpus=2))
Traceback (most recent call last):
ValueError: node n1: no room for task c: it wants 2 whole GPUs, and there are 1

Spec: the tasks and nodes of Weng et al., "Beware of Fragmentation", USENIX ATC 2023
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["WHOLE", "GpuNode", "State", "Task", "TaskClass"]

WHOLE = 1_000
"""One GPU."""

State = tuple[int, int, tuple[int, ...], str]
"""What is left of a node: CPU, memory, each GPU in ascending order, and the model."""


@dataclass(frozen=True, slots=True)
class TaskClass:
    """What a task asks for: `gpus` whole ones, or `gpu_milli` thousandths of one. `model` "": any will do."""

    milli_cpu: int = 0
    memory_mib: int = 0
    gpus: int = 0
    gpu_milli: int = 0
    model: str = ""

    def __post_init__(self) -> None:
        for name in ("milli_cpu", "memory_mib", "gpus", "gpu_milli"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name}: {getattr(self, name)}: expected 0 or more")
        if self.gpus and self.gpu_milli:
            raise ValueError(f"gpus {self.gpus} and gpu_milli {self.gpu_milli}: expected whole GPUs or a share of one")
        if self.gpu_milli >= WHOLE:
            raise ValueError(f"gpu_milli: {self.gpu_milli}: expected less than {WHOLE}, a whole GPU is gpus=1")

    @property
    def amount(self) -> int:
        """Thousandths of GPUs in all."""
        return self.gpus * WHOLE + self.gpu_milli


@dataclass(frozen=True, slots=True)
class Task:
    """A named task."""

    name: str
    milli_cpu: int = 0
    memory_mib: int = 0
    gpus: int = 0
    gpu_milli: int = 0
    model: str = ""

    @property
    def kind(self) -> TaskClass:
        return TaskClass(self.milli_cpu, self.memory_mib, self.gpus, self.gpu_milli, self.model)


class GpuNode:
    """A node with GPUs of one model. `gpus`: thousandths of each that are left."""

    __slots__ = ("_gpus", "_most", "cpu_left", "memory_left", "memory_mib", "milli_cpu", "model", "name", "tasks")

    def __init__(self, name: str, milli_cpu: int, memory_mib: int, gpus: Iterable[int] = (), model: str = "") -> None:
        self.name = name
        self.model = model
        self.milli_cpu = self.cpu_left = milli_cpu
        self.memory_mib = self.memory_left = memory_mib
        self._gpus = list(gpus)
        self._most = tuple(self._gpus)
        self.tasks: dict[str, tuple[TaskClass, tuple[int, ...]]] = {}
        if any(not 0 <= left <= WHOLE for left in self._gpus):
            raise ValueError(f"node {name}: gpus {self._gpus}: expected thousandths from 0 to {WHOLE}")

    @property
    def left(self) -> tuple[int, ...]:
        """Thousandths of each GPU, in their places."""
        return tuple(self._gpus)

    @property
    def state(self) -> State:
        """What matters to a task; nodes of equal states are as good as each other."""
        return self.cpu_left, self.memory_left, tuple(sorted(self._gpus)), self.model

    @property
    def total(self) -> int:
        """Thousandths that the node had at first."""
        return sum(self._most)

    def why_not(self, kind: TaskClass) -> str:
        """Why such a task cannot come here, "" when it can."""
        if kind.milli_cpu > self.cpu_left:
            return f"it wants {kind.milli_cpu}m CPU, and there are {self.cpu_left}m"
        if kind.memory_mib > self.memory_left:
            return f"it wants {kind.memory_mib} MiB memory, and there are {self.memory_left}"
        if kind.model and kind.amount and kind.model != self.model:
            return f"it wants {kind.model}, and here are {self.model or 'no GPUs'}"
        whole = self._gpus.count(WHOLE)
        if kind.gpus > whole:
            return f"it wants {kind.gpus} whole GPUs, and there are {whole}"
        if kind.gpu_milli and max(self._gpus, default=0) < kind.gpu_milli:
            return f"it wants {kind.gpu_milli} thousandths of one GPU, and no GPU has them"
        return ""

    def take(self, task: Task, places: Sequence[int] | None = None) -> tuple[int, ...]:
        """Put a task here, on the GPUs at `places` (None: for shares the fullest that has room, else the first whole).

        Returns the places. ValueError: it does not fit, or is here already.
        """
        kind = task.kind
        why = self.why_not(kind)
        if why:
            raise ValueError(f"node {self.name}: no room for task {task.name}: {why}")
        if task.name in self.tasks:
            raise ValueError(f"node {self.name}: task {task.name} is here already")
        chosen = tuple(self._default(kind) if places is None else places)
        each = WHOLE if kind.gpus else kind.gpu_milli
        if len(chosen) != (kind.gpus or bool(kind.gpu_milli)) or any(self._gpus[i] < each for i in chosen):
            raise ValueError(f"node {self.name}: task {task.name}: places {list(chosen)} of {self._gpus} will not do")
        for place in chosen:
            self._gpus[place] -= each
        self.cpu_left -= kind.milli_cpu
        self.memory_left -= kind.memory_mib
        self.tasks[task.name] = (kind, chosen)
        return chosen

    def _default(self, kind: TaskClass) -> list[int]:
        if kind.gpu_milli:
            return [min((left, i) for i, left in enumerate(self._gpus) if left >= kind.gpu_milli)[1]]
        return [i for i, left in enumerate(self._gpus) if left == WHOLE][: kind.gpus]

    def release(self, name: str) -> None:
        """A task has ended. KeyError: it is not here."""
        kind, places = self.tasks.pop(name)
        for place in places:
            self._gpus[place] += WHOLE if kind.gpus else kind.gpu_milli
        self.cpu_left += kind.milli_cpu
        self.memory_left += kind.memory_mib

    def check_invariants(self) -> None:
        """What is left and what the tasks have is what there was."""
        again = list(self._gpus)
        for kind, places in self.tasks.values():
            for place in places:
                again[place] += WHOLE if kind.gpus else kind.gpu_milli
        assert tuple(again) == self._most, f"node {self.name}: GPUs add up to {again}, not {self._most}"
        used = sum(kind.milli_cpu for kind, _ in self.tasks.values())
        assert used + self.cpu_left == self.milli_cpu, f"node {self.name}: CPU is miscounted"
        memory = sum(kind.memory_mib for kind, _ in self.tasks.values())
        assert memory + self.memory_left == self.memory_mib, f"node {self.name}: memory is miscounted"
