"""The same seed and the same inputs give the same bytes: twice, in another process, replayed, forked, shared.

Spec: DESIGN.md, "Recordings" and "Trace".
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from k8slab.api.errors import NotFoundError
from k8slab.cluster import ApplyError, Cluster
from k8slab.kubelet import NodeConfig
from k8slab.sim import Hold, LatencyProfile, Recording
from tests.deployments import deployment, life, new_image

ROOT = Path(__file__).resolve().parents[2]
LATENCIES = ("none", "lan", "slow-watch")
ORDERS = ("fifo", "shuffle", "priority")

EVERYTHING = """
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {colour: blue}
---
apiVersion: example.org/v1
kind: Widget
metadata: {name: w, namespace: shop}
spec: {size: 3}
"""


def commands(cluster: Cluster) -> None:
    """Every command there is, with time passing in between."""
    cluster.apply(EVERYTHING)
    cluster.apply(deployment(3), namespace="shop")
    cluster.run(for_ms=3_000)
    cluster.apply(deployment(2, name="late"), wait=False)
    cluster.run(for_ms=500)
    cluster.patch("deploy/web", {"spec": {"paused": True}}, namespace="shop")
    cluster.patch("deploy/web", {"spec": {"paused": None}}, namespace="shop")
    cluster.patch("widgets.example.org/w", {"spec": {"size": 4}}, namespace="shop")
    cluster.scale("deploy/web", 5, namespace="shop")
    for number in range(40):
        cluster.step()
        if len(cluster.loop.ready) > 1 and number % 4 == 0:
            cluster.step_ready(len(cluster.loop.ready) - 1)
    cluster.crash("kcm")
    cluster.crash("scheduler", before_call=2, restart_after_ms=None)
    cluster.run(for_ms=2_000)
    cluster.restart("scheduler")
    cluster.slow_watch("kcm", 300)
    new_image(cluster, "nginx:1.28", name="late")
    cluster.partition("kubelet/node-2")
    cluster.run(for_ms=7_000)
    cluster.heal()
    cluster.partition("kcm", "apiserver")
    cluster.run(for_ms=1_234)
    cluster.heal()
    cluster.fail_node("node-1")
    cluster.run(for_ms=70_000)
    cluster.restore_node("node-1")
    cluster.run(for_ms=20_000)
    cluster.delete("deploy/late", propagation="Foreground")
    cluster.delete("deploy/web", namespace="shop", grace_period_seconds=0)
    cluster.delete("ns/shop")
    cluster.run(for_ms=60_000)


def bytes_of(make: Callable[[], Cluster], act: Callable[[Cluster], None] = commands) -> str:
    cluster = make()
    act(cluster)
    text = cluster.trace.to_jsonl()
    cluster.close()
    return text


@pytest.mark.parametrize("latency", LATENCIES)
@pytest.mark.parametrize("order", ORDERS)
def test_the_same_seed_gives_the_same_bytes_twice(order: str, latency: str) -> None:
    def make() -> Cluster:
        return Cluster(nodes=2, seed=11, latency=latency, order=order)

    first = bytes_of(make)
    assert first == bytes_of(make)
    assert first.count("\n") > 2_000


def test_another_seed_gives_other_bytes() -> None:
    assert bytes_of(lambda: Cluster(seed=1), life) != bytes_of(lambda: Cluster(seed=2), life)


def test_the_bytes_do_not_depend_on_hash_seeds() -> None:
    script = (
        "import hashlib; from tests.spec import test_determinism as t; from k8slab.cluster import Cluster\n"
        "print(hashlib.sha256(t.bytes_of(lambda: Cluster(nodes=2, seed=11)).encode()).hexdigest())"
    )
    here = hashlib.sha256(bytes_of(lambda: Cluster(nodes=2, seed=11)).encode()).hexdigest()
    for hash_seed in ("1", "4242"):
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert done.stdout.strip() == here


# -- recordings ------------------------------------------------------------------------------------

RECORDED: dict[str, Callable[[], Cluster]] = {
    "fifo": lambda: Cluster(nodes=2, seed=3),
    "shuffled, slow watches": lambda: Cluster(nodes=2, seed="a word", latency="slow-watch", order="shuffle"),
    "priorities, two servers": lambda: Cluster(nodes=2, seed=3, order="priority", apiservers=2),
    "held": lambda: Cluster(nodes=2, seed=3, order="holds", holds=[Hold("kcm/pods", 700, 100)]),
    "nodes, gates, options": lambda: Cluster(
        nodes=[
            NodeConfig("node-1"),
            NodeConfig("node-2", taints=({"key": "a", "value": "b", "effect": "PreferNoSchedule"},)),
        ],
        seed=3,
        gates={"StaleControllerConsistencyReplicaSet": False},
        options={"concurrent-replicaset-syncs": 2},
    ),
}
RECORDED["an older release"] = lambda: Cluster(nodes=2, seed=3, release="1.34")
recorded = pytest.mark.parametrize("make", RECORDED.values(), ids=RECORDED)


@recorded
def test_a_recording_replays_to_the_same_bytes(make: Callable[[], Cluster]) -> None:
    cluster = make()
    commands(cluster)
    again = Cluster.replay(cluster.recording())
    assert again.trace.to_jsonl() == cluster.trace.to_jsonl()
    assert again.recording() == cluster.recording()
    assert (again.now_ms, again.loop.actions) == (cluster.now_ms, cluster.loop.actions)


@recorded
def test_a_shared_recording_replays_to_the_same_bytes(make: Callable[[], Cluster]) -> None:
    cluster = make()
    commands(cluster)
    text = cluster.share()
    assert "\n" not in text
    assert Recording.load(text).inputs == cluster.recording().inputs
    again = Cluster.replay(text, to_action=cluster.loop.actions)
    assert again.trace.to_jsonl() == cluster.trace.to_jsonl()


def test_a_recording_goes_back_to_where_it_stood_and_on_from_there() -> None:
    cluster = Cluster(seed=3)
    cluster.apply(deployment(3))
    cluster.run(for_ms=2_000)
    cluster.scale("deploy/web", 5)
    cluster.run(for_ms=37)
    before = cluster.trace.to_jsonl()
    again = Cluster.replay(cluster.recording())
    assert again.trace.to_jsonl() == before
    for one in (cluster, again):
        one.run(until=one.all_ready, for_ms=60_000)
    assert again.trace.to_jsonl() == cluster.trace.to_jsonl()


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_a_fork_shares_the_past_and_goes_its_own_way(part: float) -> None:
    cluster = Cluster(nodes=2, seed=3)
    commands(cluster)
    action = cluster.started_action + int(part * (cluster.loop.actions - cluster.started_action))
    fork = cluster.fork(action)
    assert fork.loop.actions == action
    past = fork.trace.to_jsonl()
    assert cluster.trace.to_jsonl().startswith(past)
    fork.apply(deployment(1, name="other"))
    fork.run(for_ms=30_000)
    assert "default/other" in fork.trace.to_jsonl()
    assert "default/other" not in cluster.trace.to_jsonl()


def test_a_latency_profile_of_your_own_is_replayed_or_refused() -> None:
    """Never silently replayed with another one."""
    mine = LatencyProfile("mine", (3, 9), (1, 2), (5, 50))
    cluster = Cluster(nodes=1, seed=3, latency=mine)
    cluster.apply(deployment(2))
    cluster.run(for_ms=5_000)
    try:
        text = cluster.share()
    except ValueError as error:
        assert "latency" in str(error)
    else:
        again = Cluster.replay(text, to_action=cluster.loop.actions)
        assert again.trace.to_jsonl() == cluster.trace.to_jsonl()


def test_a_run_with_code_of_your_own_cannot_be_recorded() -> None:
    from k8slab.sim import Fifo

    for cluster, word in (
        (Cluster(nodes=1, order=Fifo()), "order"),
        (Cluster(nodes=1, controllers={"ttl-controller": None}), "controllers"),
    ):
        with pytest.raises(ValueError, match=word):
            cluster.share()


def test_commands_that_were_refused_are_refused_again() -> None:
    cluster = Cluster(nodes=1, seed=3)
    good, bad = deployment(1), deployment(1, name="Bad_Name")
    with pytest.raises(ApplyError):
        cluster.apply([good, bad])
    assert len(cluster.apply([good, bad], keep_going=True).errors) == 1
    with pytest.raises(NotFoundError):
        cluster.delete("pod/nobody")
    with pytest.raises(NotFoundError):
        cluster.patch("deploy/nobody", {"spec": {"replicas": 1}})
    cluster.run(for_ms=5_000)
    again = Cluster.replay(cluster.share(), to_action=cluster.loop.actions)
    assert again.trace.to_jsonl() == cluster.trace.to_jsonl()
    assert again.ready("deploy/web")


def test_a_damaged_recording_is_refused() -> None:
    text = Cluster(nodes=1).share()
    for wrong in ("", "k8slab1.", text[:-5], "hello"):
        with pytest.raises(ValueError, match="recording"):
            Cluster.replay(wrong)
