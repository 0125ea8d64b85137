"""A process dies between two of its API calls, at every place in turn: the cluster ends the same, with no Pod too many.

Spec: DESIGN.md ("an await is exactly the place where a crash can come between two writes"). What a controller only
remembered (queues, expectations) is lost; what the store holds must be enough to go on.
"""

from __future__ import annotations

from functools import cache

import pytest

from k8slab.cluster import Cluster
from tests.counts import SOAK
from tests.deployments import created_pods, deployment, images, new_image, settle, verdict

REPLICAS = 3
PROCESSES = ("kcm", "scheduler", "kubelet/node-1")


def create_and_roll(cluster: Cluster) -> None:
    cluster.apply(deployment(REPLICAS))
    settle(cluster, REPLICAS)
    new_image(cluster, "nginx:1.28")
    settle(cluster, REPLICAS)


def check_end(cluster: Cluster) -> None:
    assert images(cluster) == ["nginx:1.28"] * REPLICAS
    assert verdict(cluster) == []
    assert len(created_pods(cluster)) == 2 * REPLICAS, "a Pod was created twice"
    assert len(cluster.objects("replicasets")) == 2


@cache
def calls_of(process: str) -> int:
    """How many API calls the process makes while a Deployment is created and rolled (Leases and Events included)."""
    cluster = Cluster(nodes=1)
    point = cluster.control_plane.call_points[process]
    before = point.calls
    create_and_roll(cluster)
    check_end(cluster)
    cluster.close()
    return point.calls - before


def lives_of(cluster: Cluster, process: str) -> int:
    processes = [cluster.control_plane.manager, cluster.control_plane.scheduler]
    processes += [machine.kubelet for machine in cluster.nodes.values()]
    return next(p.lives for p in processes if p.name == process)


@pytest.mark.parametrize("process", PROCESSES)
def test_a_process_may_die_instead_of_any_of_its_calls(process: str) -> None:
    calls = calls_of(process)
    assert calls > 2 * REPLICAS, "the process has something to do"
    for call in range(calls):
        cluster = Cluster(nodes=1)
        try:
            cluster.crash(process, before_call=call)
            create_and_roll(cluster)
            cluster.run(for_ms=5_000)  # its last calls tell of what is done already
            check_end(cluster)
            assert lives_of(cluster, process) == 2, "it did not die"
        except BaseException as error:
            error.add_note(f"{process} died instead of call {call} of {calls}")
            raise
        finally:
            cluster.close()


@pytest.mark.parametrize("process", PROCESSES)
def test_a_process_may_die_after_any_action(process: str) -> None:
    """Also between a request and its reply: what was asked happens, and nobody remembers having asked."""
    for action in range(0, 400, 3 if SOAK else 40):
        cluster = Cluster(nodes=1, seed=action)
        try:
            cluster.apply(deployment(REPLICAS), wait=False)
            for _ in range(action):
                cluster.step()
            cluster.crash(process)
            settle(cluster, REPLICAS)
            new_image(cluster, "nginx:1.28")
            for _ in range(action):
                cluster.step()
            cluster.crash(process)
            settle(cluster, REPLICAS)
            check_end(cluster)
        except BaseException as error:
            error.add_note(f"{process} died after action {action} of the creation, and of the rollout")
            raise
        finally:
            cluster.close()


def test_a_process_that_stays_down_stops_its_part_alone_until_it_is_started() -> None:
    cluster = Cluster(nodes=2)
    cluster.crash("scheduler", restart_after_ms=None)
    cluster.apply(deployment(REPLICAS))
    cluster.run(for_ms=60_000)
    assert [pod["spec"].get("nodeName") for pod in cluster.objects("pods")] == [None] * REPLICAS
    assert set(cluster.not_ready()) == {"deployments.apps/default/web"}
    cluster.restart("scheduler")
    settle(cluster, REPLICAS)
    assert verdict(cluster) == []
    cluster.close()


def test_all_processes_may_die_at_once() -> None:
    cluster = Cluster(nodes=2)
    cluster.apply(deployment(REPLICAS))
    for _ in range(150):
        cluster.step()
    for process in ("kcm", "scheduler", "kubelet/node-1", "kubelet/node-2"):
        cluster.crash(process, restart_after_ms=2_000)
    settle(cluster, REPLICAS)
    assert verdict(cluster) == []
    assert len(created_pods(cluster)) == REPLICAS
    cluster.close()
