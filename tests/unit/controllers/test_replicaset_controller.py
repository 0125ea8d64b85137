"""The ReplicaSet controller over the fake API server: counts, expectations, guards, failures."""

from __future__ import annotations

import random
from typing import Any

import pytest

from k8slab.api.errors import ForbiddenError, InternalError
from k8slab.api.objects import thaw
from k8slab.api.scheme import PODS, REPLICASETS
from k8slab.sim.order import Shuffle
from tests.unit.controllers.world import World, replica_set

ONLY = ("replicaset-controller",)


@pytest.fixture
def world() -> Any:
    world = World(ONLY)
    yield world
    world.close()


def status(world: World, key: str = "default/web-1") -> dict[str, Any]:
    found: dict[str, Any] = thaw(world.transport.get(REPLICASETS, key)["status"])
    return found


def pod(name: str, labels: dict[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "default", "labels": labels or {"app": "web"}, **metadata},
        "spec": {"containers": [{"name": "c", "image": "web:1"}]},
    }


def batches(world: World) -> list[int]:
    """How many Pods were created at the same moment, in order."""
    made: dict[int, int] = {}
    for event in world.loop.trace:
        if event.kind == "event.record" and event.data["reason"] == "SuccessfulCreate":
            made[event.now_ms] = made.get(event.now_ms, 0) + 1
    return list(made.values())


def test_pods_are_made_of_the_template_with_the_owner_as_controller(world: World) -> None:
    template = {
        "metadata": {"labels": {"app": "web"}, "annotations": {"note": "x"}, "finalizers": ["example.com/f"]},
        "spec": {"containers": [{"name": "c", "image": "web:1"}]},
    }
    world.transport.put(REPLICASETS, replica_set(replicas=1, template=template))
    world.run()
    (made,) = world.pods()
    assert made["metadata"]["generateName"] == "web-1-"
    assert made["metadata"]["labels"] == {"app": "web"}
    assert made["metadata"]["annotations"] == {"note": "x"}
    assert made["metadata"]["finalizers"] == ["example.com/f"]
    assert made["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": "web-1",
            "uid": world.transport.get(REPLICASETS, "default/web-1")["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    name = made["metadata"]["name"]
    assert world.events("ReplicaSet") == [("Normal", "SuccessfulCreate", f"Created pod: {name}")]


def test_creations_start_slowly(world: World) -> None:
    world.transport.put(REPLICASETS, replica_set(replicas=12))
    world.run()
    assert batches(world) == [1, 2, 4, 5]
    assert status(world) == {
        "replicas": 12,
        "fullyLabeledReplicas": 12,
        "readyReplicas": 12,
        "availableReplicas": 12,
        "terminatingReplicas": 0,
        "observedGeneration": 1,
    }


def test_a_failing_batch_ends_the_creations_of_this_sync(world: World) -> None:
    world.transport.fail_next("create", PODS, ForbiddenError("exceeded quota"), times=1)
    world.transport.put(REPLICASETS, replica_set(replicas=4))
    world.run()
    creations = [r for r in world.transport.requests if r.verb == "create" and r.resource == PODS]
    assert len(creations) == 1 + 4
    assert world.events("ReplicaSet")[0] == ("Warning", "FailedCreate", "Error creating: exceeded quota")
    history = [change.new for change in world.transport.changes if change.gvr == REPLICASETS and change.new is not None]
    (condition,) = {
        tuple(condition[field] for field in ("type", "status", "reason", "message"))
        for rs in history
        for condition in (rs.get("status") or {}).get("conditions") or ()
    }
    assert condition == ("ReplicaFailure", "True", "FailedCreate", "exceeded quota")
    assert len(world.pods()) == 4
    assert "conditions" not in status(world)


def test_expectations_are_lowered_for_what_failed_and_for_what_was_never_tried(world: World) -> None:
    world.transport.fail_next("create", PODS, ForbiddenError("exceeded quota"), times=100)
    world.transport.put(REPLICASETS, replica_set(replicas=4))
    world.run()
    assert world.pods() == []
    expected = world.controllers[ONLY[0]].expectations.get_expectations("default/web-1")
    assert expected is not None and expected.add == 0


def test_at_most_five_hundred_pods_a_sync() -> None:
    world = World(ONLY, start_ms=None)
    world.transport.put(REPLICASETS, replica_set(replicas=501))
    world.run()
    assert [event.data["count"] for event in world.loop.trace if event.kind == "replicaset.create"] == [500, 1]
    assert len(world.pods()) == 501
    world.close()


def test_scaling_down_deletes_and_says_so(world: World) -> None:
    world.transport.put(REPLICASETS, replica_set(replicas=3))
    world.run()
    world.change(REPLICASETS, "default/web-1", lambda obj: obj["spec"].update(replicas=1))
    world.run()
    assert len(world.pods()) == 1
    deleted = [event for event in world.events("ReplicaSet") if event[1] == "SuccessfulDelete"]
    assert len(deleted) == 2 and all(message.startswith("Deleted pod: web-1-") for _, _, message in deleted)


def test_a_failed_deletion_is_reported_and_tried_again(world: World) -> None:
    world.transport.put(REPLICASETS, replica_set(replicas=3))
    world.run()
    world.transport.fail_next("delete", PODS, InternalError("no"))
    world.change(REPLICASETS, "default/web-1", lambda obj: obj["spec"].update(replicas=1))
    world.run()
    assert ("Warning", "FailedDelete", "Error deleting: no") in world.events("ReplicaSet")
    assert len(world.pods()) == 1


def test_a_pod_that_is_ending_is_replaced_at_once_and_counted_apart() -> None:
    world = World(ONLY, graceful_pods=True)
    world.transport.put(REPLICASETS, replica_set(replicas=2))
    world.run()
    victim = thaw(world.pods()[0])
    victim["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:30Z"
    victim["metadata"]["finalizers"] = ["example.com/wait"]
    world.transport.put(PODS, victim)
    world.run()
    assert len(world.pods()) == 3
    assert (status(world)["replicas"], status(world)["terminatingReplicas"]) == (2, 1)
    world.close()


def test_before_its_gate_terminating_replicas_are_not_reported() -> None:
    world = World(ONLY, features={"DeploymentReplicaSetTerminatingReplicas": False})
    world.transport.put(REPLICASETS, replica_set(replicas=1))
    world.run()
    assert "terminatingReplicas" not in status(world)
    world.close()


def test_a_failed_pod_is_replaced(world: World) -> None:
    world.transport.put(REPLICASETS, replica_set(replicas=2))
    world.run()
    world.transport.put(PODS, {**thaw(world.pods()[0]), "status": {"phase": "Failed"}})
    world.run()
    assert len(world.pods()) == 3
    assert status(world)["replicas"] == 2


def test_an_orphan_is_adopted_instead_of_creating_another_pod(world: World) -> None:
    world.transport.put(PODS, pod("orphan"))
    world.transport.put(REPLICASETS, replica_set(replicas=1))
    world.run()
    (only,) = world.pods()
    assert only["metadata"]["name"] == "orphan"
    assert only["metadata"]["ownerReferences"][0]["name"] == "web-1"


def test_a_pod_whose_labels_changed_is_released_and_replaced(world: World) -> None:
    world.transport.put(REPLICASETS, replica_set(replicas=1))
    world.run()
    (first,) = world.pods()
    world.change(PODS, f"default/{first['metadata']['name']}", lambda obj: obj["metadata"].update(labels={"app": "x"}))
    world.run(100)
    patches = [r.body for r in world.transport.requests if r.verb == "patch" and r.resource == PODS]
    assert isinstance(patches[0], dict) and patches[0]["metadata"]["ownerReferences"][0]["$patch"] == "delete"
    assert len(world.pods()) == 2


def test_without_seeing_its_pods_it_waits_five_minutes_before_it_tries_again(world: World) -> None:
    """Watch events that are lost for good: expectations expire instead of blocking for ever."""
    world.transport.put(REPLICASETS, replica_set(replicas=2))
    controller = world.controllers[ONLY[0]]
    controller.expectations.expect_creations("default/web-1", 2)
    world.run(299_000)
    assert world.pods() == []
    world.loop.call_later(2000, lambda: controller.queue.add("default/web-1"))
    world.run(3000)
    assert len(world.pods()) == 2


def test_a_recreated_replica_set_does_not_inherit_expectations(world: World) -> None:
    world.transport.put(REPLICASETS, replica_set(replicas=1))
    world.controllers[ONLY[0]].expectations.expect_creations("default/web-1", 5)
    world.run(20)
    world.transport.remove(REPLICASETS, "default/web-1")
    world.run(20)
    world.transport.put(REPLICASETS, replica_set(replicas=1))
    world.run()
    assert len(world.pods()) == 1


def test_min_ready_seconds_delay_availability(world: World) -> None:
    world.transport.put(REPLICASETS, replica_set(replicas=1, minReadySeconds=2))
    world.run(1500)
    assert status(world)["readyReplicas"] == 1 and "availableReplicas" not in status(world)
    world.run(1500)
    assert status(world)["availableReplicas"] == 1


def test_a_conflict_on_the_status_is_tried_once_more_in_the_same_sync(world: World) -> None:
    world.transport.fail_next("update", REPLICASETS, InternalError("etcd is slow"))
    world.transport.put(REPLICASETS, replica_set(replicas=1))
    world.run()
    gets = [r for r in world.transport.requests if r.verb == "get" and r.resource == REPLICASETS]
    assert len(gets) == 1
    assert status(world)["readyReplicas"] == 1


def waits(world: World) -> set[str]:
    return {str(event.data["why"]) for event in world.loop.trace if event.kind == "replicaset.wait"}


def test_the_consistency_guard_waits_for_its_own_writes() -> None:
    """With watches slower than replies, a sync would see an old status; with the gate it tries again later."""
    guarded = World(ONLY, latency_ms=0, order=Shuffle(random.Random(3)))
    guarded.transport.put(REPLICASETS, replica_set(replicas=6))
    guarded.run()
    assert any("is behind its writes" in why for why in waits(guarded))
    assert len(guarded.pods()) == 6
    guarded.close()
    free = World(
        ONLY, latency_ms=0, order=Shuffle(random.Random(3)), features={"StaleControllerConsistencyReplicaSet": False}
    )
    free.transport.put(REPLICASETS, replica_set(replicas=6))
    free.run()
    assert not any("is behind its writes" in why for why in waits(free))
    assert len(free.pods()) == 6
    free.close()


@pytest.mark.parametrize("seed", range(20))
def test_in_any_order_exactly_as_many_pods_are_created_as_wanted(seed: int) -> None:
    world = World(ONLY, seed=seed, latency_ms=0, order=Shuffle(random.Random(seed)))
    world.transport.put(REPLICASETS, replica_set(replicas=6))
    world.run()
    created = [change for change in world.transport.changes if change.gvr == PODS and change.old is None]
    assert len(created) == 6
    assert status(world)["availableReplicas"] == 6
    world.controllers[ONLY[0]].expectations.check_invariants()
    world.close()


def test_a_crash_and_restart_of_the_manager_creates_no_pod_too_many(world: World) -> None:
    world.transport.put(REPLICASETS, replica_set(replicas=6))
    world.run(6)
    assert 0 < len(world.pods()) < 6
    world.component.kill()
    world.start_manager()
    world.run()
    assert len(world.pods()) == 6
