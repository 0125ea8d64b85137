"""A Deployment's life under many schedules: whoever acts next, and however late the watches are, it ends the same."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from k8slab.cluster import Cluster
from k8slab.sim import Hold
from tests.counts import examples
from tests.deployments import created_pods, life, verdict

SEEDS = examples(108, 1_200)
CHUNK = 12
LATENCIES = ("none", "lan", "slow-watch")
ORDERS = ("shuffle", "priority", "holds")
ACTORS = ("kcm/deployment", "kcm/replicaset", "kcm/garbage-collector", "kcm/pods", "kcm/replicasets", "kcm/deployments",
          "scheduler", "kubelet/node-1", "kubelet/node-2", "apiserver/0/watch-cache", "kcm")  # fmt: skip


def some_holds(seed: int) -> list[Hold]:
    """From when the cluster is up: before that little else acts, so a hold may outlast the time for coming up."""
    rng = random.Random(f"holds/{seed}")
    return [Hold(rng.choice(ACTORS), rng.randrange(1_000, 5_000), rng.randrange(20, 400)) for _ in range(6)]


def combinations(seeds: Iterator[int]) -> Iterator[tuple[int, str, str]]:
    """Every latency with every order, in turn."""
    for seed in seeds:
        yield seed, LATENCIES[seed % 3], ORDERS[seed // 3 % 3]


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_a_deployment_lives_the_same_life_under_every_schedule(first: int) -> None:
    for seed, latency, order in combinations(iter(range(first, min(first + CHUNK, SEEDS)))):
        holds = some_holds(seed) if order == "holds" else ()
        cluster = Cluster(nodes=2, seed=seed, latency=latency, order=order, holds=holds)
        try:
            life(cluster)
            assert verdict(cluster) == []
            # 6, then at most 6 of the new image and 3 for the scale-up: nobody was created twice
            assert len(created_pods(cluster)) == 6 + 6 + 3
            cluster.control_plane.server.check_invariants()
        except BaseException as error:
            error.add_note(f"seed {seed}, latency {latency}, order {order}, holds {'; '.join(map(str, holds))}")
            raise
        finally:
            cluster.close()
