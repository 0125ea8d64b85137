"""How fast GPU tasks are placed: a generated trace of 1,523 nodes and 8,152 tasks. Goal: less than 60 s."""

from __future__ import annotations

import time
from typing import Any

import pytest

from k8slab.autoscaling.gpu import Placer, Policy, Workload, generated_nodes, generated_tasks

GOAL_S = 60


def place_all(policy: Policy, nodes: int = 1_523, tasks: int = 8_152) -> Placer:
    made = generated_tasks(tasks)
    placer = Placer(generated_nodes(nodes), policy, Workload.of(task.kind for task in made))
    for task in made:
        placer.place(task)
    return placer


@pytest.mark.parametrize("policy", list(Policy))
def test_a_whole_trace(benchmark: Any, policy: Policy) -> None:
    placer = benchmark.pedantic(lambda: place_all(policy), rounds=1)
    placed = sum(len(node.tasks) for node in placer.nodes.values())
    assert placed + len(placer.failed) == 8_152
    benchmark.extra_info["failed"] = len(placer.failed)
    if benchmark.stats is not None:
        assert benchmark.stats.stats.min < GOAL_S


def test_growth_follows_nodes_times_tasks() -> None:
    """Four times the tasks on four times the nodes: sixteen times the looks, and not much more than that."""

    def seconds(nodes: int, tasks: int) -> float:
        start = time.perf_counter()
        place_all(Policy.FGD, nodes, tasks)
        return time.perf_counter() - start

    assert seconds(800, 4_000) < 32 * min(seconds(200, 1_000) for _ in range(2))
