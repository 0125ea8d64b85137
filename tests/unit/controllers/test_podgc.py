"""Pods that nobody else deletes."""

from __future__ import annotations

from typing import Any

from k8slab.api.errors import InternalError
from k8slab.api.pods import get_condition
from k8slab.api.scheme import NODES, PODS
from k8slab.api.times import rfc3339
from k8slab.controllers.podgc import on_out_of_service_nodes, terminated_beyond, unscheduled_terminating
from tests.unit.controllers.house import House, named, pod

NAME = "pod-garbage-collector-controller"


def ended(name: str, age: int, reason: str = "", phase: str = "Failed") -> dict[str, Any]:
    status = {"phase": phase, **({"reason": reason} if reason else {})}
    return {"metadata": {"name": name, "creationTimestamp": rfc3339(age)}, "spec": {}, "status": status}


def test_pods_of_a_node_that_is_gone_are_deleted_after_the_quarantine() -> None:
    house = House(NAME)
    house.server.put(NODES, named("w0", "", spec={}))
    house.server.put(PODS, pod("here", "w0"))
    house.server.put(PODS, pod("lost", "w1"))
    house.run(39_000)
    assert house.keys(PODS) == ["default/here", "default/lost"]
    house.run(22_000)
    assert house.keys(PODS) == ["default/here"]
    last = [change.new for change in house.server.changes if change.gvr == PODS and change.new][-1]
    condition = get_condition(last, "DisruptionTarget")
    assert last["status"]["phase"] == "Failed"
    assert condition is not None
    assert (condition["reason"], condition["message"]) == ("DeletionByPodGC", "PodGC: node no longer exists")
    assert house.writes() == ["patch pods/status default/lost", "delete pods default/lost"]
    assert house.told() == ["the Pod garbage collector deletes Pod default/lost at once: its node no longer exists"]
    house.close()


def test_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    house = House(NAME)
    house.server.put(PODS, pod("lost", "w1"))
    house.run(30_000)
    house.server.put(NODES, named("w1", "", spec={}))
    house.run(120_000)
    assert house.keys(PODS) == ["default/lost"]
    house.close()


def test_a_server_that_does_not_answer_is_no_proof_that_a_node_is_gone() -> None:
    house = House(NAME)
    house.server.put(PODS, pod("lost", "w1"))
    house.server.fail_next("get", NODES, InternalError("etcd is away"))
    house.run(61_000)
    assert house.keys(PODS) == ["default/lost"]
    house.run(60_000)
    assert house.keys(PODS) == [], "a new quarantine began"
    house.close()


def test_beyond_the_threshold_evicted_pods_go_first_then_the_oldest() -> None:
    pods = [
        ended("young", 3000),
        ended("old", 1000),
        ended("evicted", 5000, "Evicted"),
        ended("done", 2000, phase="Succeeded"),
    ]
    running = pod("running", "w0")
    assert [p["metadata"]["name"] for p in terminated_beyond([*pods, running], 2)] == ["evicted", "old"]
    assert terminated_beyond(pods, 4) == []


def test_terminating_pods_without_a_node_are_deleted() -> None:
    going = named("going", spec={})
    going["metadata"]["deletionTimestamp"] = rfc3339(0)
    assert unscheduled_terminating([going, pod("staying")]) == [going]


def test_terminating_pods_leave_a_node_that_is_out_of_service_and_not_ready() -> None:
    taints = [{"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}]
    going = pod("going", "w0")
    going["metadata"]["deletionTimestamp"] = rfc3339(0)
    down = named("w0", "", spec={"taints": taints}, status={"conditions": [{"type": "Ready", "status": "Unknown"}]})
    up = named("w0", "", spec={"taints": taints}, status={"conditions": [{"type": "Ready", "status": "True"}]})
    assert on_out_of_service_nodes([going, pod("staying", "w0")], {"w0": down}) == [going]
    assert on_out_of_service_nodes([going], {"w0": up}) == []
