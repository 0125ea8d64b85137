"""Deployments and ReplicaSets under shuffled orders, lost answers and closed watches: they end where they should."""

from __future__ import annotations

import random

import pytest

from k8slab.api.scheme import DEPLOYMENTS, PODS, REPLICASETS
from k8slab.sim.order import Shuffle
from tests.counts import examples
from tests.unit.controllers.world import World, deployment

SEEDS = range(examples(30, 300))
REPLICAS, SURGE = 6, 2


def check_end(world: World, image: str, replicas: int) -> None:
    sizes = {image: rs["spec"]["replicas"] for image, rs in world.replica_sets().items()}
    assert {name: size for name, size in sizes.items() if size} == {image: replicas}
    assert len(world.pods()) == replicas
    status = world.deployment()["status"]
    counts = [status[field] for field in ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")]
    assert counts == [replicas] * 4


@pytest.mark.parametrize("seed", SEEDS)
def test_a_shuffled_rollout_keeps_its_bounds_and_converges(seed: int) -> None:
    world = World(seed=seed, latency_ms=0, order=Shuffle(random.Random(seed)))
    world.transport.put(DEPLOYMENTS, deployment(replicas=REPLICAS))
    world.run()
    check_end(world, "web:1", REPLICAS)
    created = [change for change in world.transport.changes if change.gvr == PODS and change.old is None]
    assert len(created) == REPLICAS
    world.set_image("web:2")
    world.run()
    check_end(world, "web:2", REPLICAS)
    assert max(sum(sizes.values()) for sizes in world.sizes_over_time()) <= REPLICAS + SURGE
    world.change(DEPLOYMENTS, "default/web", lambda obj: obj["spec"].update(replicas=2))
    world.run()
    check_end(world, "web:2", 2)
    world.close()


@pytest.mark.parametrize("seed", range(examples(15, 150)))
def test_lost_answers_and_closed_watches_only_delay(seed: int) -> None:
    rng = random.Random(seed)
    world = World(seed=seed, latency_ms=1, order=Shuffle(rng))
    world.transport.put(DEPLOYMENTS, deployment(replicas=REPLICAS))
    for _ in range(6):
        verb, gvr = rng.choice([("update", DEPLOYMENTS), ("update", REPLICASETS), ("create", PODS), ("delete", PODS)])
        world.transport.lose_reply(verb, gvr)
        world.run(rng.randrange(50))
        world.transport.drop_watches(rng.choice([DEPLOYMENTS, REPLICASETS, PODS]))
        world.set_image(f"web:{rng.choice((1, 2))}")
    world.set_image("web:3")
    world.run(600_000)
    check_end(world, "web:3", REPLICAS)
    world.close()


@pytest.mark.parametrize("seed", range(examples(20, 200)))
def test_a_manager_that_crashes_anywhere_creates_nothing_twice(seed: int) -> None:
    """Killed between any two of its steps, and started again with a consistent list."""
    rng = random.Random(seed)
    world = World(seed=seed, latency_ms=1, order=Shuffle(rng))
    world.transport.put(DEPLOYMENTS, deployment(replicas=REPLICAS))
    for _ in range(3):
        world.loop.run(max_actions=rng.randrange(1, 120))
        world.component.kill()
        world.start_manager()
    world.run(5000)
    check_end(world, "web:1", REPLICAS)
    created = [change for change in world.transport.changes if change.gvr == PODS and change.old is None]
    assert len(created) == REPLICAS
    assert len(world.transport.of(REPLICASETS)) == 1
    world.close()
