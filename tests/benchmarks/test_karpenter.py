"""How fast Karpenter packs: diverse Pods against some 700 instance types, alone in one process.

Goal: 100 Pods a second (upstream's own benchmark, scheduling_benchmark_test.go, fails below it), and growth near
linear.
"""

from __future__ import annotations

import random
import time
from typing import Any

import pytest

from k8slab.autoscaling.cloud import catalogue
from k8slab.autoscaling.karpenter import Catalogue, ClusterState, NodePool, pack
from tests.karpenter import CAPACITY_TYPE, HOST, ZONE, app_pod, node_pool, rule

GOAL = 100
TYPES = Catalogue(catalogue())


def diverse_pods(count: int) -> list[dict[str, Any]]:
    """A sixth each: plain, spread over zones, over hosts, near its like in a zone, away from its like, one
    architecture.

    As upstream's makeDiversePods: sizes at random, a new application every 35 Pods.
    """
    rng = random.Random(7)
    pods = []
    for number in range(count):
        kind, app = number % 6, f"app-{number % 6}-{number // 210}"
        chosen = {"labelSelector": {"matchLabels": {"app": app}}}
        constraint = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **chosen}
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        more: list[dict[str, Any]] = [
            {},
            {"topologySpreadConstraints": [{**constraint, "topologyKey": ZONE}]},
            {"topologySpreadConstraints": [{**constraint, "topologyKey": HOST, "maxSkew": 3}]},
            {"affinity": {"podAffinity": {required: [{"topologyKey": ZONE, **chosen}]}}},
            {"affinity": {"podAntiAffinity": {required: [{"topologyKey": HOST, **chosen}]}}},
            {"nodeSelector": {"kubernetes.io/arch": rng.choice(["amd64", "arm64"])}},
        ]
        cpu = rng.choice([100, 250, 500, 1_000, 1_500])
        memory = rng.choice([100, 256, 512, 1_024, 2_048, 4_096])
        pods.append(app_pod(f"p{number}", f"{cpu}m", f"{memory}Mi", app=app, **more[kind]))
    return pods


def state() -> ClusterState:
    return ClusterState([NodePool.parse(node_pool("default", rule(CAPACITY_TYPE, "In", "spot", "on-demand")))], TYPES)


@pytest.mark.parametrize("count", [100, 1_000, 4_000])
def test_packing(benchmark: Any, count: int) -> None:
    assert len(TYPES.types) >= 700
    pods = diverse_pods(count)
    packing = benchmark.pedantic(lambda: pack(pods, state()), rounds=2, warmup_rounds=1)
    assert packing.errors == {}
    assert sum(len(one.pods) for one in packing.new) == count
    if benchmark.stats is not None:
        rate = count / benchmark.stats.stats.min
        benchmark.extra_info["pods_per_second"] = round(rate)
        assert rate > GOAL


def test_growth_is_near_linear() -> None:
    """Eight times the Pods take less than sixteen times as long."""

    def seconds(count: int) -> float:
        pods, best = diverse_pods(count), float("inf")
        for _ in range(3):
            start = time.perf_counter()
            pack(pods, state())
            best = min(best, time.perf_counter() - start)
        return best

    assert seconds(4_000) < 16 * seconds(500)
