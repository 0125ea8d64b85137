"""How many messages a group of five exchanges a second, and what judging costs. Nothing here fails for being slow.

python -m pytest tests/benchmarks/test_raft.py --benchmark-only
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from k8slab.check import Operation, linearizable
from k8slab.raft import RaftCluster
from k8slab.raft.explore import explore

PROPOSALS = 1_000


def settled(trace: bool) -> RaftCluster:
    raft = RaftCluster(5, seed=1, trace=trace)
    assert raft.run(until=raft.has_leader)
    return raft


@pytest.mark.parametrize("trace", [False, True], ids=["trace off", "trace on"])
def test_messages_a_second_at_five_nodes(benchmark: Any, trace: bool) -> None:
    messages = []

    def work(raft: RaftCluster) -> None:
        before = raft.network.sent
        for number in range(PROPOSALS):
            raft.propose(f"x={number}")
            raft.run(for_ms=4)
        messages.append(raft.network.sent - before)

    benchmark.pedantic(work, setup=lambda: ((settled(trace),), {}), rounds=5, warmup_rounds=1)
    if benchmark.stats is not None:
        benchmark.extra_info["messages_per_second"] = round(messages[0] / benchmark.stats.stats.min)


def history(operations: int, clients: int = 8) -> list[Operation]:
    """Answers of one register to clients that overlap: each takes effect at some moment between call and return."""
    rng = random.Random(3)
    free = [0] * clients
    planned = []
    for number in range(operations):
        client = min(range(clients), key=lambda one: free[one])
        called = free[client] + rng.randint(0, 3)
        effect = called + rng.randint(0, 5)
        free[client] = effect + rng.randint(0, 5) + 1
        planned.append((effect, number, client, called, free[client] - 1))
    value: str | None = None
    found = []
    for _, number, client, called, returned in sorted(planned):
        is_write = rng.random() < 0.5
        value = str(number) if is_write else value
        kind = "write" if is_write else "read"
        found.append(Operation(f"c{client}", "x", kind, value, called, returned))  # type: ignore[arg-type]
    return found


def test_judging_a_history_of_1000_operations(benchmark: Any) -> None:
    assert benchmark(linearizable, history(1_000))


def test_states_a_second_of_an_exploration(benchmark: Any) -> None:
    found = benchmark.pedantic(explore, kwargs={"terms": 2, "entries": 0}, rounds=3)
    if benchmark.stats is not None:
        benchmark.extra_info["states_per_second"] = round(found.states / benchmark.stats.stats.min)
