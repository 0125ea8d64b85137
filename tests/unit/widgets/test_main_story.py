"""The main story of a real cluster's runs: short, nothing told twice, and still the story."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from typing import Any

import pytest

from k8slab.cluster import Cluster
from k8slab.sim import KINDS, TraceEvent, main_story
from k8slab.widgets.story import is_noise
from tests.deployments import deployment

MOST = 30


def web(replicas: int = 3, image: str = "nginx:1.27", name: str = "web", **annotations: str) -> dict[str, Any]:
    made = deployment(replicas, name, image)
    made["spec"]["template"]["metadata"]["annotations"] = annotations
    return made


def told(cluster: Cluster, since: int) -> list[TraceEvent]:
    """The main story from event number `since` on."""
    events = cluster.trace.since(since)
    main = main_story(events)
    return [event for event in events if event.seq in main and not is_noise(event)]


def first_times(events: list[TraceEvent]) -> list[str]:
    """The kinds of events in the order in which each occurs for the first time."""
    return list(dict.fromkeys(event.kind for event in events))


def in_order(wanted: list[str], found: list[str]) -> bool:
    """Whether `wanted` occurs in `found` in this order, with others between."""
    rest = iter(found)
    return all(one in rest for one in wanted)


def create(cluster: Cluster) -> None:
    cluster.apply(web())
    cluster.run()


def roll_out(cluster: Cluster) -> None:
    cluster.apply(web(image="nginx:1.28"))
    cluster.run()
    cluster.run(for_ms=5_000)


def scale(cluster: Cluster) -> None:
    cluster.apply(web(replicas=5))
    cluster.run()
    cluster.apply(web(replicas=2))
    cluster.run()
    cluster.run(for_ms=5_000)


def delete(cluster: Cluster) -> None:
    cluster.delete("deploy/web")
    cluster.run(for_ms=60_000)


def lose_a_node(cluster: Cluster) -> None:
    cluster.fail_node("node-2")
    cluster.run(for_ms=400_000)
    cluster.restore_node("node-2")
    cluster.run(for_ms=60_000)


def crash(cluster: Cluster) -> None:
    cluster.apply(web(1, name="crashing", **{"k8slab.dev/run-ms": "1000", "k8slab.dev/exit-code": "1"}))
    cluster.run(for_ms=120_000)


STORIES: dict[str, tuple[Callable[[Cluster], None], bool, list[str]]] = {
    "a Deployment is created": (
        create,
        False,
        ["write", "deployment.create", "replicaset.create", "schedule.decide", "pod.running"],
    ),
    "three replicas are replaced": (
        roll_out,
        True,
        [
            *("write", "deployment.create", "replicaset.create", "schedule.decide", "pod.running"),
            *("deployment.scale", "replicaset.delete", "pod.stop"),
        ],
    ),
    "a Deployment is scaled up and down": (
        scale,
        True,
        [
            *("write", "deployment.scale", "replicaset.create", "schedule.decide", "pod.running"),
            *("replicaset.delete", "pod.stop"),
        ],
    ),
    "a Deployment is deleted": (delete, True, ["write", "gc.delete", "pod.stop"]),
    "a node fails and returns": (
        lose_a_node,
        True,
        [
            *("node.power", "node.unknown", "node.pod-not-ready", "node.taint", "taint.evict"),
            *("replicaset.create", "schedule.decide", "pod.running"),
        ],
    ),
    "a container crashes again and again": (
        crash,
        False,
        [
            *("write", "deployment.create", "replicaset.create", "schedule.decide", "pod.running"),
            *("container.fail", "container.backoff"),
        ],
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_the_main_story_is_short_and_complete(name: str) -> None:
    act, is_first_made, wanted = STORIES[name]
    with closing(Cluster(nodes=3, seed=7)) as cluster:
        if is_first_made:
            create(cluster)
        since = len(cluster.trace)
        act(cluster)
        events = told(cluster, since)
    assert len(events) <= MOST
    assert in_order(wanted, first_times(events))
    twice = [
        (before.message, event.message)
        for before, event in pairwise(events)
        if event.kind == "write" and KINDS[before.kind].mark == "work" and before.actor == event.actor
        and event.cause == before.seq
    ]  # fmt: skip
    assert twice == []


def test_a_kubelet_that_finds_its_node_there_does_not_tell_of_creating_it() -> None:
    with closing(Cluster(nodes=2, seed=7)) as cluster:
        cluster.fail_node("node-2")
        cluster.run(for_ms=1_000)
        since = len(cluster.trace)
        cluster.restore_node("node-2")
        cluster.run(for_ms=5_000)
        creations = [e for e in cluster.trace.since(since) if e.kind == "write" and e.data["verb"] == "create"]
        assert [event.data["resource"] for event in creations] == ["nodes"]
        assert not {event.seq for event in creations} & {event.seq for event in told(cluster, since)}


def test_what_the_reader_is_refused_is_told() -> None:
    with closing(Cluster(nodes=1, seed=7)) as cluster:
        since = len(cluster.trace)
        with pytest.raises(Exception, match="not found"):
            cluster.delete("deploy/nobody")
        assert [event.message for event in told(cluster, since)] == ["you delete Deployment default/nobody"]


def test_the_chain_of_a_node_failure_reaches_from_the_power_to_the_replacement() -> None:
    with closing(Cluster(nodes=3, seed=7)) as cluster:
        service = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
        create(cluster)
        cluster.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": service})
        cluster.run(for_ms=10_000)
        before = {pod["metadata"]["name"]: pod["spec"]["nodeName"] for pod in cluster.objects("pods")}
        cluster.fail_node("node-2")
        cluster.run(for_ms=400_000)
        after = [pod["metadata"]["name"] for pod in cluster.objects("pods")]
        (replacement,) = [name for name in after if name not in before]
        (evicted,) = [name for name, node in before.items() if node == "node-2"]
        (endpoints,) = [one["metadata"]["name"] for one in cluster.objects("endpointslices", namespace="default")]
        failure = ["node.power", "node.unknown", "node.taint"]
        eviction = [*failure, "taint.evict"]
        running = [*eviction, "replicaset.create", "schedule.decide", "pod.running"]
        for reference, wanted in (
            ("node/node-2", failure),
            (f"pod/{evicted}", eviction),
            (f"pod/{replacement}", running),
            (f"endpointslice/{endpoints}", [*running, "etcd.commit"]),
        ):
            assert [event.kind for event in cluster.why(reference).main().events] == wanted, reference


def test_objects_applied_together_do_not_cause_each_other() -> None:
    with closing(Cluster(nodes=3, seed=7)) as cluster:
        cluster.apply([web(1, name=f"d{number:02}") for number in range(12)])
        cluster.run()
        for name in ("d00", "d11"):
            chain = cluster.why(f"deploy/{name}").events
            assert {e.data["key"] for e in chain if e.actor == "you"} == {f"default/{name}"}
            assert [e.kind for e in cluster.why(f"deploy/{name}").main().events] == ["write", "deployment.create"]
