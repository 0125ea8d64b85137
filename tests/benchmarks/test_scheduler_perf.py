"""The shapes of scheduler_perf at 1,000 nodes, and that a Pod costs no more where there are many (ratios, one run)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.benchmarks.scheduler_perf import WORKLOADS, Run, rate

BATCH = 20


@pytest.mark.parametrize("name", WORKLOADS)
def test_workload(benchmark: Any, name: str) -> None:
    run = Run(WORKLOADS[name], 1_000)
    benchmark.pedantic(run.place, (BATCH,), rounds=4, warmup_rounds=1)
    if benchmark.stats is not None:
        benchmark.extra_info["pods_per_second"] = round(BATCH / benchmark.stats.stats.min)


@pytest.mark.parametrize(
    "name", ["SchedulingPodAffinity", "SchedulingPreferredPodAffinity", "TopologySpreading", "MixedSchedulingBasePod"]
)
def test_a_pod_costs_the_same_where_ten_times_as_many_are(benchmark: Any, name: str) -> None:
    """Without the memo it costs several times as much; twice is for a busy machine."""
    few = WORKLOADS[name]
    many = replace(few, initial=tuple((maker, each * 10) for maker, each in few.initial))
    rates = benchmark.pedantic(lambda: (rate(few, 300, 200), rate(many, 300, 200)), rounds=1)
    benchmark.extra_info["pods_per_second"] = [round(found) for found in rates]
    assert rates[1] > rates[0] / 2
