"""How fast autoscalers are: a virtual week of one, round by round, and one round with many Pods.

Goal: a week at 15 s (40,320 rounds) in under 5 s; a round's time grows with the number of Pods and no faster.
"""

from __future__ import annotations

import math
import time
from typing import Any

import pytest

from k8slab.autoscaling.hpa import HorizontalPodAutoscaler, PodFacts, PodMetric, Scale
from k8slab.autoscaling.hpa.simulation import LoadPoint, Workload, simulate

DAY_MS = 86_400_000
LOOSE = 4  # the assertions allow for a machine that is four times slower, or busy
CPU = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}
HPA: dict[str, Any] = {
    "metadata": {"name": "web"},
    "spec": {"minReplicas": 2, "maxReplicas": 5_000, "metrics": [{"type": "Resource", "resource": CPU}]},
}


@pytest.mark.benchmark(timer=time.process_time)  # nothing here waits, so a busy machine need not matter
def test_a_week_of_one_autoscaler(benchmark: Any) -> None:
    """A day's wave, a point every five minutes, 2 to 18 Pods."""
    load = [
        LoadPoint(at, int(3_000 + 2_500 * math.sin(2 * math.pi * at / DAY_MS))) for at in range(0, 7 * DAY_MS, 300_000)
    ]

    def week() -> int:
        return len(simulate(HPA, load, Workload(500, startup_ms=40_000), for_ms=7 * DAY_MS).samples)

    rounds = benchmark.pedantic(week, rounds=1, warmup_rounds=0)
    assert rounds == 40_319
    if benchmark.stats is not None:
        assert benchmark.stats.stats.min < 5 * LOOSE


@pytest.mark.parametrize("count", [10, 100, 1_000, 5_000])
def test_one_round_with_many_pods(benchmark: Any, count: int) -> None:
    container = {"name": "c", "resources": {"requests": {"cpu": "100m"}}}
    pods = [PodFacts(f"p{n}", pod={"spec": {"containers": [container]}}) for n in range(count)]
    usage = {pod.name: PodMetric(70) for pod in pods}
    mind = HorizontalPodAutoscaler()
    benchmark(lambda: mind.decide(HPA, Scale(count, count), pods, [usage], now_ms=0))
    if benchmark.stats is not None:
        benchmark.extra_info["microseconds_per_pod"] = round(1e6 * benchmark.stats.stats.min / count, 2)
