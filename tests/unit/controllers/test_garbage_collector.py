"""The garbage collector, running."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from k8slab.api.errors import ConflictError, InternalError
from k8slab.api.objects import thaw
from k8slab.api.scheme import CONFIGMAPS, DEPLOYMENTS, GVK, GVR, NODES, PODS, REPLICASETS, SCHEME, SECRETS
from tests.unit.controllers.house import House, named, owned, pod

GC = "garbage-collector-controller"


@pytest.fixture
def house() -> Iterator[House]:
    house = House(GC, graceful_pods=False)
    yield house
    house.controllers[GC].check_invariants()
    house.close()


def deployment(house: House) -> None:
    """web owns web-1, which owns two Pods."""
    web = house.server.put(DEPLOYMENTS, named("web", spec={}))
    rs = house.server.put(REPLICASETS, owned(named("web-1", spec={}), web))
    for name in ("web-1-a", "web-1-b"):
        house.server.put(PODS, owned(pod(name, "node-1"), rs))


def test_a_deleted_owner_takes_its_dependents_along_level_by_level(house: House) -> None:
    deployment(house)
    house.run(1000)
    assert house.writes() == [], "nothing is garbage as long as its owner lives"
    house.server.remove(DEPLOYMENTS, "default/web")
    house.run(1000)
    assert house.writes() == [
        "delete replicasets default/web-1",
        "delete pods default/web-1-a",
        "delete pods default/web-1-b",
    ]
    policies = [request.body["propagationPolicy"] for request in house.server.requests if request.verb == "delete"]
    assert policies == ["Background"] * 3
    assert house.told("gc.delete")[0] == (
        "the garbage collector deletes ReplicaSet default/web-1 (Background): its owners are gone"
    )


def test_in_the_foreground_the_owner_goes_last(house: House) -> None:
    deployment(house)
    house.run(1000)
    house.server.start_deletion(DEPLOYMENTS, "default/web", "foregroundDeletion")
    house.run(2000)
    gone = [change.old["kind"] for change in house.server.changes if change.new is None and change.old]
    assert gone == ["Pod", "Pod", "ReplicaSet", "Deployment"]


def test_orphaned_dependents_stay_and_lose_the_reference(house: House) -> None:
    deployment(house)
    house.run(1000)
    house.server.start_deletion(DEPLOYMENTS, "default/web", "orphan")
    house.run(2000)
    assert house.keys(DEPLOYMENTS) == []
    (rs,) = house.server.of(REPLICASETS)
    assert not rs["metadata"].get("ownerReferences")
    assert len(house.keys(PODS)) == 2


def test_an_object_with_one_living_owner_stays_and_loses_the_others(house: House) -> None:
    first, second = (house.server.put(CONFIGMAPS, named(name)) for name in ("first", "second"))
    house.server.put(SECRETS, owned(named("both"), first, second))
    house.run(1000)
    house.server.remove(CONFIGMAPS, "default/first")
    house.run(1000)
    (secret,) = house.server.of(SECRETS)
    assert [owner["name"] for owner in secret["metadata"]["ownerReferences"]] == ["second"]


def test_objects_that_own_each_other_can_be_deleted_in_the_foreground(house: House) -> None:
    first = house.server.put(CONFIGMAPS, named("first"))
    second = house.server.put(SECRETS, owned(named("second"), first))
    house.server.put(CONFIGMAPS, owned(thaw(first), second))
    house.run(1000)
    house.server.start_deletion(CONFIGMAPS, "default/first", "foregroundDeletion")
    house.run(5000)
    assert house.keys(CONFIGMAPS) + house.keys(SECRETS) == []


def test_a_dependent_whose_owner_never_existed_is_collected() -> None:
    house = House(GC)
    ghost = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "ghost", "uid": "uid-ghost"}}
    house.server.put(PODS, owned(pod("left"), ghost))
    house.run(1000)
    assert house.keys(PODS) == []
    assert house.told("gc.absent") == ["the garbage collector finds no ReplicaSet default/ghost at the API server"]
    house.close()


def test_a_namesake_of_the_owner_does_not_count(house: House) -> None:
    old = house.server.put(CONFIGMAPS, named("owner"))
    house.server.put(PODS, owned(pod("mine"), old))
    house.run(1000)
    house.server.remove(CONFIGMAPS, "default/owner")
    house.server.put(CONFIGMAPS, named("owner"))
    house.run(1000)
    assert (house.keys(PODS), house.keys(CONFIGMAPS)) == ([], ["default/owner"])


def test_a_change_that_leaves_the_owners_alone_does_not_save_the_object(house: House) -> None:
    owner = house.server.put(CONFIGMAPS, named("owner"))
    house.server.put(PODS, owned(pod("mine"), owner))
    house.run(1000)
    house.server.fail_next("delete", PODS, ConflictError("the object has been modified"))
    house.server.remove(CONFIGMAPS, "default/owner")
    house.run(1000)
    first, second = [request.body["preconditions"] for request in house.server.requests if request.verb == "delete"]
    assert ("resourceVersion" in first, "resourceVersion" in second) == (True, False)
    assert house.keys(PODS) == []


def test_an_owner_in_another_namespace_is_reported_and_does_not_count(house: House) -> None:
    owner = house.server.put(CONFIGMAPS, named("owner", "other"))
    house.run(1000)
    house.server.put(PODS, owned(pod("mine"), owner))
    house.run(1000)
    assert house.keys(PODS) == []
    uid = owner["metadata"]["uid"]
    assert house.events() == [
        f"OwnerRefInvalidNamespace: ownerRef [v1/ConfigMap, namespace: default, name: owner, uid: {uid}] "
        'does not exist in namespace "default"'
    ]


def test_a_cluster_scoped_object_with_a_namespaced_owner_is_left_alone(house: House) -> None:
    owner = house.server.put(CONFIGMAPS, named("owner"))
    house.server.put(NODES, owned(named("node-1", ""), owner))
    house.run(1000)
    house.server.remove(CONFIGMAPS, "default/owner")
    house.run(60_000)
    assert house.keys(NODES) == ["node-1"]


def test_an_owner_of_an_unknown_kind_protects_and_the_loop_counts_as_idle(house: House) -> None:
    owner = {"apiVersion": "example.io/v1", "kind": "Thing", "metadata": {"name": "thing", "uid": "uid-thing"}}
    house.server.put(PODS, owned(pod("mine"), owner))
    house.run(60_000)
    assert house.keys(PODS) == ["default/mine"]
    assert house.loop.idle


@pytest.mark.parametrize("is_known_at_start", [False, True], ids=["served later", "served from the start"])
def test_a_custom_resource_owns(is_known_at_start: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    things = GVR("example.io", "v1", "things")
    info = SCHEME.unstructured(GVK("example.io", "v1", "Thing"))
    scheme = SCHEME.copy()
    scheme.register(info)
    monkeypatch.setattr("tests.fakes.SCHEME", scheme)
    house = House(GC, options={"custom-resources": [info]} if is_known_at_start else {})
    thing = house.server.put(things, named("thing"))
    house.server.put(PODS, owned(pod("mine"), thing))
    if not is_known_at_start:
        house.controllers[GC].monitor(info)
    house.run(1000)
    assert house.keys(PODS) == ["default/mine"]
    house.server.remove(things, "default/thing")
    house.run(1000)
    assert house.keys(PODS) == []
    house.close()


def test_errors_of_the_server_are_outlived(house: House) -> None:
    deployment(house)
    house.run(1000)
    for verb in ("get", "delete"):
        house.server.fail_next(verb, None, InternalError("etcd is away"), times=3)
    house.server.lose_reply("delete", PODS)
    house.server.remove(DEPLOYMENTS, "default/web")
    house.run(5000)
    assert house.keys(REPLICASETS) + house.keys(PODS) == []


def test_a_restarted_collector_finds_what_was_left(house: House) -> None:
    deployment(house)
    house.run(1000)
    house.crash()
    house.server.remove(DEPLOYMENTS, "default/web")
    house.start()
    house.run(2000)
    assert house.keys(REPLICASETS) + house.keys(PODS) == []


def test_a_waiting_owner_goes_when_its_last_blocking_dependent_leaves_it(house: House) -> None:
    owner = house.server.put(CONFIGMAPS, named("owner"))
    held = owned(named("held"), owner)
    held["metadata"]["finalizers"] = ["example.io/hold"]
    house.server.put(SECRETS, held)
    house.run(1000)
    house.server.start_deletion(CONFIGMAPS, "default/owner", "foregroundDeletion")
    house.run(1000)
    assert house.keys(CONFIGMAPS) == ["default/owner"], "its dependent is held by a finalizer"
    secret = thaw(house.server.get(SECRETS, "default/held"))
    secret["metadata"]["ownerReferences"] = []
    house.server.put(SECRETS, secret)
    house.run(1000)
    assert house.keys(CONFIGMAPS) == []


def test_a_dependent_that_does_not_block_does_not_hold_its_owner(house: House) -> None:
    owner = house.server.put(CONFIGMAPS, named("owner"))
    held = owned(named("held"), owner, block=False)
    held["metadata"]["finalizers"] = ["example.io/hold"]
    house.server.put(SECRETS, held)
    house.run(1000)
    house.server.start_deletion(CONFIGMAPS, "default/owner", "foregroundDeletion")
    house.run(1000)
    assert house.keys(CONFIGMAPS) == []
