"""How fast a whole cluster is. Nothing here fails for being slow: the figures are for docs and for comparing.

python -m pytest tests/benchmarks/test_cluster.py --benchmark-only
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from k8slab.cluster import Cluster
from tests.counts import SOAK
from tests.deployments import deployment, new_image, settle

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.benchmark(timer=time.process_time)


def three_ready() -> Cluster:
    """From nothing to a Deployment of three Pods that are Ready."""
    cluster = Cluster(nodes=3)
    cluster.apply(deployment(3))
    assert cluster.run(until=cluster.all_ready, for_ms=60_000)
    return cluster


def test_from_nothing_to_three_ready_pods(benchmark: Any) -> None:
    three_ready().close()  # imports
    cluster = benchmark(three_ready)
    benchmark.extra_info["actions"] = cluster.loop.actions
    benchmark.extra_info["virtual_ms"] = cluster.now_ms


def test_booting_three_nodes(benchmark: Any) -> None:
    benchmark(lambda: Cluster(nodes=3).close())


@pytest.mark.parametrize("trace", [True, False], ids=["trace on", "trace off"])
def test_actions_a_second(trace: bool, benchmark: Any) -> None:
    """A rollout of 100 Pods on ten nodes: the cost of an average action of a busy cluster."""
    actions: list[int] = []

    def set_up() -> tuple[tuple[Cluster], dict[str, Any]]:
        cluster = Cluster(nodes=10, trace=trace)
        cluster.apply(deployment(100))
        settle(cluster, 100)
        new_image(cluster, "nginx:1.28")
        actions.append(cluster.loop.actions)
        return (cluster,), {}

    def roll_out(cluster: Cluster) -> None:
        assert cluster.loop.run(until=cluster.all_ready, for_ms=600_000)
        actions.append(cluster.loop.actions)

    benchmark.pedantic(roll_out, setup=set_up, rounds=6)
    done = actions[-1] - actions[-2]
    benchmark.extra_info["actions"] = done
    if benchmark.stats is not None:
        benchmark.extra_info["actions_per_s"] = round(done / benchmark.stats.stats.min)


def in_a_process(script: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


MANY = """
import json, resource, sys, time
from k8slab.cluster import Cluster
from tests.deployments import deployment
nodes, deployments, replicas = {sizes}
started = time.process_time()
cluster = Cluster(nodes=nodes, trace={trace})
booted = time.process_time()
for number in range(deployments):
    cluster.apply(deployment(replicas, name=f"web-{{number}}"))
assert cluster.run(until=cluster.all_ready, for_ms=600_000), cluster.not_ready()
ended = time.process_time()
pods = cluster.mirror.list("pods")
assert len(pods) == deployments * replicas and all(pod["status"]["phase"] == "Running" for pod in pods)
unit = 1 if sys.platform == "darwin" else 1024
print(json.dumps({{
    "boot_cpu_s": round(booted - started, 2), "run_cpu_s": round(ended - booted, 2), "actions": cluster.loop.actions,
    "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20),
}}))
"""


@pytest.mark.parametrize("trace", [True, False], ids=["trace on", "trace off"])
@pytest.mark.parametrize(
    "sizes", [(100, 30, 100)] if SOAK else [(20, 6, 100)], ids=lambda s: f"{s[0]} nodes, {s[1] * s[2]} Pods"
)
def test_many_pods_on_many_nodes(sizes: tuple[int, int, int], trace: bool, benchmark: Any) -> None:
    """Applied until all run, in a process of its own, whose peak of memory is what is told."""
    answer = benchmark.pedantic(in_a_process, args=(MANY.format(sizes=sizes, trace=trace),), rounds=1)
    benchmark.extra_info.update(answer)


IMPORT = """
import json, sys, time
started = time.process_time()
import {module}
print(json.dumps({{"import_cpu_s": round(time.process_time() - started, 4), "modules": len(sys.modules)}}))
"""


@pytest.mark.parametrize("module", ["k8slab", "k8slab.cluster"])
def test_importing(module: str, benchmark: Any) -> None:
    in_a_process(IMPORT.format(module=module))  # compiles
    answer = benchmark.pedantic(in_a_process, args=(IMPORT.format(module=module),), rounds=5)
    benchmark.extra_info.update(answer)


def test_the_trace_costs_less_than_the_run_itself() -> None:
    """A ratio within one run: recording everything does not double the time of a rollout."""

    def seconds(trace: bool) -> float:
        best = 1e9
        for _ in range(3):
            started = time.process_time()
            cluster = Cluster(nodes=3, trace=trace)
            cluster.apply(deployment(20))
            settle(cluster, 20)
            cluster.close()
            best = min(best, time.process_time() - started)
        return best

    assert seconds(True) < 2 * seconds(False) + 0.05
