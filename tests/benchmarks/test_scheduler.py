"""How fast Pods are placed: the scheduling cycle alone (decide and count), without API server and binding.

Goals at 5,000 nodes: 3,000 equal Pods a second with the memo, 700 without; no slower with many Pods there already.
"""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.scheduler import Framework, Snapshot
from tests.scheduling import node, pod

BATCH = 200
LOOSE = 4  # the assertions allow for a machine that is four times slower, or busy


def cluster(nodes: int, pods_per_node: int = 0) -> Snapshot:
    there = [pod(f"e{n}-{i}", "1m", "1Mi", node_name=f"n{n}") for n in range(nodes) for i in range(pods_per_node)]
    return Snapshot.of([node(f"n{n}", "32", "256Gi", pods="1000") for n in range(nodes)], there)


def placer(snapshot: Snapshot, *, memo: bool, different: bool = False) -> Any:
    """A function that places BATCH Pods."""
    framework = Framework.from_profile(memo=memo)
    made = 0

    def place() -> None:
        nonlocal made
        for _ in range(BATCH):
            made += 1
            incoming = pod(f"p{made}", f"{10 + made % 500 if different else 10}m", "10Mi")
            result = framework.schedule(incoming, snapshot)
            snapshot.assume(incoming, result.node)

    return place


def measure(benchmark: Any, place: Any, goal: int, *, warmup_rounds: int = 2) -> None:
    """Best of six rounds against the goal. With xdist pytest-benchmark runs it once and measures nothing."""
    benchmark.pedantic(place, rounds=6, warmup_rounds=warmup_rounds)
    if benchmark.stats is not None:
        rate = BATCH / benchmark.stats.stats.min
        benchmark.extra_info["pods_per_second"] = round(rate)
        assert rate > goal / LOOSE


@pytest.mark.parametrize(
    ("nodes", "memo", "different", "goal"),
    [
        pytest.param(100, True, False, 5_000, id="100 nodes, equal pods, memo"),
        pytest.param(1_000, True, False, 3_000, id="1,000 nodes, equal pods, memo"),
        pytest.param(5_000, True, False, 3_000, id="5,000 nodes, equal pods, memo"),
        pytest.param(5_000, True, True, 450, id="5,000 nodes, every pod differs, memo"),
        pytest.param(5_000, False, False, 700, id="5,000 nodes, equal pods, no memo"),
    ],
)
def test_scheduling_cycle(benchmark: Any, nodes: int, memo: bool, different: bool, goal: int) -> None:
    place = placer(cluster(nodes), memo=memo, different=different)
    measure(benchmark, place, goal, warmup_rounds=2 if memo and not different else 1)


@pytest.mark.parametrize("pods_per_node", [0, 20], ids=["no pods there", "20,000 pods there"])
def test_cost_is_flat_in_the_pods_that_are_there(benchmark: Any, pods_per_node: int) -> None:
    place = placer(cluster(1_000, pods_per_node), memo=True)
    measure(benchmark, place, 3_000)
