"""Evictions from tainted nodes: the rule, the timed work, the controller."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from k8slab.api.errors import InternalError
from k8slab.api.objects import thaw
from k8slab.api.pods import get_condition
from k8slab.api.scheme import NODES, PODS
from k8slab.controllers.taint_eviction import TimedWorkerQueue
from tests.unit.controllers.house import House, named, pod

NAME = "taint-eviction-controller"
MAINTENANCE = {"key": "maintenance", "effect": "NoExecute"}


def tolerates(seconds: int | None = None, key: str = "maintenance") -> dict[str, Any]:
    limit = {} if seconds is None else {"tolerationSeconds": seconds}
    return {"key": key, "operator": "Exists", "effect": "NoExecute", **limit}


@pytest.fixture
def house() -> Iterator[House]:
    house = House(NAME, graceful_pods=True)
    for name in ("w0", "w1"):
        house.server.put(NODES, named(name, "", spec={}))
    house.server.put(PODS, pod("plain", "w0"))
    house.server.put(PODS, pod("patient", "w0", tolerations=[tolerates(3)]))
    house.server.put(PODS, pod("forever", "w0", tolerations=[tolerates()]))
    house.server.put(PODS, pod("elsewhere", "w1"))
    house.run(100)
    yield house
    house.controllers[NAME].check_invariants()
    house.close()


def taint(house: House, *taints: dict[str, Any], node: str = "w0") -> None:
    house.server.put(NODES, named(node, "", spec={"taints": list(taints)}))


def terminating(house: House) -> list[str]:
    return [p["metadata"]["name"] for p in house.server.of(PODS) if p["metadata"].get("deletionTimestamp")]


def test_pods_go_at_once_later_or_never_as_they_tolerate(house: House) -> None:
    taint(house, MAINTENANCE)
    house.run(1000)
    assert terminating(house) == ["plain"]
    house.run(1900)
    assert terminating(house) == ["plain"]
    house.run(300)
    assert terminating(house) == ["plain", "patient"]
    house.run(60_000)
    assert terminating(house) == ["plain", "patient"]
    assert house.events() == [
        "TaintManagerEviction: Marking for deletion Pod default/plain",
        "TaintManagerEviction: Marking for deletion Pod default/patient",
    ]
    assert house.told() == [
        "the taint eviction controller deletes Pod default/plain: it does not tolerate w0 any longer",
        "the taint eviction controller deletes Pod default/patient: it does not tolerate w0 any longer",
    ]


def test_the_pod_says_why_it_was_deleted(house: House) -> None:
    taint(house, MAINTENANCE)
    house.run(1000)
    assert house.writes() == ["patch pods/status default/plain", "delete pods default/plain"]
    condition = get_condition(house.server.get(PODS, "default/plain"), "DisruptionTarget")
    assert condition is not None
    assert (condition["status"], condition["reason"], condition["message"]) == (
        "True",
        "DeletionByTaintManager",
        "Taint manager: deleting due to NoExecute taint",
    )
    ready = get_condition(house.server.get(PODS, "default/plain"), "Ready")
    assert ready is not None, "the other conditions stay"


def test_a_taint_that_goes_in_time_cancels_the_deletion(house: House) -> None:
    taint(house, MAINTENANCE)
    house.run(2000)
    taint(house)
    house.run(10_000)
    assert terminating(house) == ["plain"]
    assert house.events()[-1] == "TaintManagerEviction: Cancelling deletion of Pod default/patient"


def test_a_second_taint_that_is_not_tolerated_ends_the_patience(house: House) -> None:
    taint(house, MAINTENANCE)
    house.run(1000)
    taint(house, MAINTENANCE, {"key": "fire", "effect": "NoExecute"})
    house.run(500)
    assert terminating(house) == ["plain", "patient", "forever"]
    assert "TaintManagerEviction: Cancelling deletion of Pod default/patient" in house.events()


def test_a_taint_that_is_added_again_does_not_restart_the_clock(house: House) -> None:
    taint(house, MAINTENANCE)
    house.run(2000)
    taint(house, MAINTENANCE, {"key": "note", "effect": "NoSchedule"})
    taint(house, {**MAINTENANCE, "value": "x"})
    house.run(1200)
    assert "patient" in terminating(house)


def test_a_pod_that_lands_on_a_tainted_node_is_judged(house: House) -> None:
    taint(house, MAINTENANCE, node="w1")
    house.run(500)
    house.server.put(PODS, pod("late", "w1"))
    house.run(500)
    assert terminating(house) == ["elsewhere", "late"]


def test_a_pod_that_is_deleted_meanwhile_is_not_deleted_again(house: House) -> None:
    taint(house, MAINTENANCE)
    house.run(1000)
    house.server.remove(PODS, "default/patient")
    house.run(10_000)
    assert "delete pods default/patient" not in house.writes()
    assert house.events()[-1] == "TaintManagerEviction: Cancelling deletion of Pod default/patient"


def test_tolerations_that_change_are_seen(house: House) -> None:
    taint(house, MAINTENANCE)
    house.run(1000)
    patient = thaw(house.server.get(PODS, "default/patient"))
    patient["spec"]["tolerations"] = [tolerates()]
    house.server.put(PODS, patient)
    house.run(10_000)
    assert terminating(house) == ["plain"]


def test_five_tries_then_the_pod_is_left_alone(house: House) -> None:
    house.server.fail_next("delete", PODS, InternalError("etcd is away"), times=5)
    taint(house, MAINTENANCE)
    house.run(2000)
    assert terminating(house) == []
    assert house.writes().count("delete pods default/plain") == 5


def test_a_pod_without_a_node_is_not_its_business(house: House) -> None:
    taint(house, MAINTENANCE)
    house.server.put(PODS, pod("pending"))
    house.run(1000)
    assert "pending" not in terminating(house)


def test_the_waiting_controller_counts_as_busy_until_the_last_deletion(house: House) -> None:
    taint(house, MAINTENANCE)
    house.run(1000)
    assert not house.loop.idle
    house.run(3000)
    assert house.loop.idle


def test_work_is_unique_cancellable_and_runs_once() -> None:
    work = TimedWorkerQueue()
    assert work.add_work("a", 0, 100)
    assert not work.add_work("a", 0, 50), "there is work for it already"
    assert work.due("a", 99) == 1
    assert work.due("a", 100) == 0
    assert not work.add_work("a", 100, 200), "it is running"
    assert not work.cancel_work("a"), "it can't be cancelled any more"
    assert work.add_work("a", 100, 200), "but new work can be added then"
    work.finished("b")
    work.check_invariants()
    assert work.view() == {"a": 200}
