"""A generated cluster and its tasks: 1,500 nodes, 8,000 tasks, with the proportions of a production trace.

The same seed gives the same trace.

>>> from k8slab.autoscaling.gpu import generated_nodes, generated_tasks
>>> nodes, tasks = generated_nodes(), generated_tasks()
>>> len(nodes), sum(len(node.left) for node in nodes), len(tasks), sum(1 for task in tasks if task.gpu_milli)
(1523, 6496, 8152, 3054)

Spec: the shares of sizes as published with the trace gpu-v2023 of alibaba/clusterdata (1,523 nodes with 6,212 GPUs,
8,152 tasks; about 38 % ask for a part of a GPU, 48 % for one whole GPU)
Simplified: sizes are drawn independently; no arrival times, no durations.
"""

from __future__ import annotations

import random

from k8slab.autoscaling.gpu.nodes import GpuNode, Task

__all__ = ["NODES", "TASKS", "generated_nodes", "generated_tasks"]

NODES = 1_523
TASKS = 8_152
_GIB = 1_024

_MACHINES = (  # (weight, model, GPUs, milli-CPU, GiB)
    (310, "", 0, 94_000, 512),
    (134, "P100", 2, 64_000, 256),
    (242, "T4", 2, 96_000, 384),
    (162, "T4", 4, 96_000, 384),
    (89, "V100M16", 4, 64_000, 384),
    (34, "V100M32", 8, 96_000, 768),
    (480, "G2", 8, 96_000, 1_024),
    (39, "G3", 8, 128_000, 768),
)
_SHARES = ((100, 3), (200, 6), (300, 8), (400, 9), (500, 40), (600, 9), (700, 8), (800, 10), (900, 7))
_WHOLE = ((1, 960), (2, 10), (4, 10), (8, 20))
_KINDS = (("cpu", 13), ("share", 38), ("whole", 49))


def _pick(rng: random.Random, table: tuple[tuple[int, int], ...]) -> int:
    return rng.choices([value for value, _ in table], [weight for _, weight in table])[0]


def generated_nodes(count: int = NODES, seed: int | str = 0) -> list[GpuNode]:
    """`count` nodes of mixed models, without tasks."""
    rng = random.Random(f"{seed}/nodes")
    weights = [row[0] for row in _MACHINES]
    made = []
    for number in range(count):
        _, model, gpus, cpu, gib = rng.choices(_MACHINES, weights)[0]
        made.append(GpuNode(f"node-{number:04d}", cpu, gib * _GIB, [1_000] * gpus, model))
    return made


def generated_tasks(count: int = TASKS, seed: int | str = 0) -> list[Task]:
    """`count` tasks: some without GPU, many with a part of one, most with one, few with several."""
    rng = random.Random(f"{seed}/tasks")
    names, weights = [name for name, _ in _KINDS], [weight for _, weight in _KINDS]
    made = []
    for number in range(count):
        kind = rng.choices(names, weights)[0]
        name = f"task-{number:05d}"
        if kind == "cpu":
            made.append(Task(name, rng.choice((2_000, 4_000, 8_000)), rng.choice((4, 8, 16)) * _GIB))
        elif kind == "share":
            made.append(Task(name, rng.choice((2_000, 4_000)), rng.choice((8, 16)) * _GIB, 0, _pick(rng, _SHARES)))
        else:
            gpus = _pick(rng, _WHOLE)
            made.append(Task(name, 8_000 * gpus if gpus < 8 else 80_000, 32 * _GIB * gpus, gpus))
    return made
