"""One autoscaler over a load, without an API server: arithmetic of shares, samples, misses, windows."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from k8slab.autoscaling.hpa.simulation import LoadPoint, Run, Workload, simulate


def hpa(least: int = 1, most: int = 20, target: int = 50, **spec: Any) -> dict[str, Any]:
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": target}}
    metrics = [{"type": "Resource", "resource": cpu}]
    return {
        "metadata": {"name": "web"},
        "spec": {"minReplicas": least, "maxReplicas": most, "metrics": metrics, **spec},
    }


def changes(run: Run) -> list[tuple[int, int]]:
    return [(one.at_ms // 1000, one.replicas) for one in run.samples if one.replicas != one.before]


def test_a_steady_load_at_the_target_changes_nothing_and_is_served() -> None:
    run = simulate(hpa(2), [LoadPoint(0, 1_000)], Workload(1_000), for_ms=600_000)
    assert changes(run) == []
    assert run.summary.pod_seconds == 2 * 600 and run.summary.missed_share == 0
    assert {one.utilization for one in run.samples} == {50}


def test_what_ready_pods_cannot_serve_is_missed() -> None:
    # One Pod serves 1,000 of 3,000 for 80 s; then the second comes.
    run = simulate(hpa(1, 1), [LoadPoint(0, 3_000)], Workload(1_000), for_ms=60_000)
    assert run.summary.missed_share == pytest.approx(2 / 3)
    assert run.summary.worst_missed_milli == 2_000


def test_pods_that_start_slowly_are_missed_all_the_longer() -> None:
    load = [LoadPoint(0, 500), LoadPoint(60_000, 4_000)]
    missed = [
        simulate(hpa(1), load, Workload(1_000, startup_ms=1_000 * s), for_ms=400_000).summary.missed_share
        for s in (0, 20, 60, 120)
    ]
    assert missed == sorted(missed) and missed[0] < missed[-1]


def test_a_spike_holds_the_count_for_the_window() -> None:
    load = [LoadPoint(0, 500), LoadPoint(60_000, 2_000), LoadPoint(120_000, 500)]
    run = simulate(hpa(1), load, Workload(1_000), for_ms=900_000)
    downs = [at for at, count in changes(run) if at > 150]
    last_high = max(one.at_ms for one in run.samples if (one.recommended or 0) > 1) // 1000
    assert downs[-1] == last_high + 315  # the first round after more than 300 s


def test_a_behavior_limits_the_rate() -> None:
    up: dict[str, Any] = {"selectPolicy": "Max", "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}
    down = {"selectPolicy": "Disabled", "policies": [{"type": "Pods", "value": 1, "periodSeconds": 60}]}
    up["stabilizationWindowSeconds"] = 0
    load = [LoadPoint(0, 5_000), LoadPoint(300_000, 0)]
    run = simulate(hpa(1, behavior={"scaleUp": up, "scaleDown": down}), load, Workload(1_000), for_ms=1_200_000)
    counts = [count for _, count in changes(run)]
    assert counts == list(range(2, 2 + len(counts)))
    times = [at for at, _ in changes(run)]
    assert all(later - earlier >= 60 for earlier, later in itertools.pairwise(times))


def test_an_external_metric_counts_the_load_itself() -> None:
    queue = {"type": "External", "external": {"metric": {"name": "q"}, "target": {"averageValue": "10"}}}
    run = simulate(hpa(1, metrics=[queue]), [LoadPoint(0, 45_000)], for_ms=120_000)
    assert run.samples[-1].replicas == 5


def test_a_metric_that_no_metrics_server_reports_never_takes_pods_away() -> None:
    gpu = {"name": "nvidia.com/gpu", "target": {"type": "Utilization", "averageUtilization": 70}}
    metrics = [{"type": "Resource", "resource": gpu}]
    run = simulate(hpa(1, metrics=metrics), [LoadPoint(0, 0)], Workload(replicas=5), for_ms=900_000)
    assert changes(run) == [] and "did not receive metrics for targeted pods" in run.samples[-1].reason


def test_a_run_is_the_same_every_time() -> None:
    load = [LoadPoint(20_000 * n, 700 * (n % 7)) for n in range(40)]
    first, second = (simulate(hpa(1), load, Workload(500, startup_ms=30_000)) for _ in range(2))
    assert first.samples == second.samples


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param({"load": []}, "load: no points: expected at least one", id="no load at all"),
        pytest.param({"load": [LoadPoint(5, -1)]}, "load at 5 ms: -1: expected 0 or more", id="a load below zero"),
        pytest.param({"period_ms": 0}, "period_ms 0: expected a positive number", id="a period of nothing"),
        pytest.param({"phase_ms": 15_000}, "phase_ms 15000: expected 0 or more, and less", id="too late a phase"),
    ],
)
def test_impossible_arguments_are_refused_by_name(arguments: dict[str, Any], message: str) -> None:
    load = arguments.pop("load", [LoadPoint(0, 1)])
    with pytest.raises(ValueError, match=message):
        simulate(hpa(), load, **arguments)
