"""The scheduler in shuffled orders: whatever comes first, no Node is overfilled and everything that fits is placed."""

from __future__ import annotations

import random
from typing import Any

import pytest

from k8slab.api.errors import InternalError
from k8slab.api.scheme import NODES, PODS
from k8slab.scheduler import Scheduler
from k8slab.sim.order import Shuffle
from tests.counts import examples
from tests.fakes import FakeTransport
from tests.scheduler_world import SchedulerWorld
from tests.scheduling import node, pod


def play(seed: int, latency_ms: int, trouble: str) -> tuple[FakeTransport, Scheduler]:
    """Nine Pods for three Nodes that hold nine, one Node late, and `trouble`: calm, failing or lost."""
    rng = random.Random(seed)
    world = SchedulerWorld(seed, latency_ms=latency_ms, order=Shuffle(random.Random(seed + 1)))
    loop, server, scheduler = world.loop, world.server, world.scheduler
    names = [f"p{index}" for index in range(9)]
    steps: list[Any] = [lambda name=name: server.put(PODS, pod(name, "600m")) for name in names]
    steps += [lambda name=name: server.put(NODES, node(name, "2")) for name in ("a", "b")]
    rng.shuffle(steps)
    if trouble == "failing":
        server.fail_next("create", PODS, InternalError("etcdserver: request timed out"), times=2)
        server.fail_next("patch", PODS, InternalError("no"), times=1)
    elif trouble == "lost":
        server.lose_reply("create", PODS, times=2)
    for step in steps:
        step()
        loop.run(max_actions=rng.randrange(40), for_ms=10)
        scheduler.check_invariants()
    if trouble != "calm":
        server.drop_watches()
    loop.run(for_ms=3_000)
    server.put(NODES, node("c", "2"))
    loop.run(for_ms=30_000)
    scheduler.check_invariants()
    return server, scheduler


@pytest.mark.parametrize("trouble", ["calm", "failing", "lost"])
@pytest.mark.parametrize("latency_ms", [0, 3])
def test_in_every_order_all_pods_end_up_on_nodes_that_hold_them(latency_ms: int, trouble: str) -> None:
    for seed in range(examples(20, 200)):
        server, scheduler = play(seed, latency_ms, trouble)
        placed = [obj["spec"].get("nodeName") for obj in server.of(PODS)]
        assert None not in placed, f"seed {seed}: {placed}"
        if trouble != "lost":
            # After a lost answer the Pod is forgotten, as upstream does, and until the watch shows that it was
            # bound all the same its place looks free: then a Node can be overfilled.
            assert sorted(placed) == ["a"] * 3 + ["b"] * 3 + ["c"] * 3, f"seed {seed}: {placed}"
        assert scheduler.view()["cache"]["assumed"] == {}, f"seed {seed}"
        queue = scheduler.view()["queue"]
        assert not any(queue.values()), f"seed {seed}: {queue}"
