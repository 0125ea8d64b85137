"""Namespaces: their deletion, their ServiceAccount, their CA bundle; and the TTL annotation of nodes."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.errors import ForbiddenError, InternalError
from k8slab.api.objects import Object, thaw
from k8slab.api.pods import get_condition
from k8slab.api.scheme import (
    CONFIGMAPS,
    DEPLOYMENTS,
    GVK,
    GVR,
    NAMESPACES,
    NODES,
    PODS,
    SCHEME,
    SECRETS,
    SERVICEACCOUNTS,
)
from k8slab.client import Client
from k8slab.controllers.namespace import namespaced_resources
from k8slab.controllers.namespace_conditions import NamespaceConditions, updated_conditions
from k8slab.controllers.node_ttl import NodeTTL
from k8slab.controllers.root_ca import DESCRIPTION
from tests.unit.controllers.house import House, named, pod

NAME = "namespace-controller"
RESOURCES = {"namespaced-resources": [DEPLOYMENTS, PODS, CONFIGMAPS, SECRETS]}


def namespace(name: str = "doomed") -> dict[str, Any]:
    return named(name, "", spec={"finalizers": ["kubernetes"]}, status={"phase": "Active"})


def house(*names: str, **options: Any) -> House:
    house = House(*(names or (NAME,)), options={**RESOURCES, **options}, graceful_pods=True)
    house.server.put(NAMESPACES, namespace())
    house.run(100)
    return house


def delete(house: House) -> None:
    house.loop.spawn("you", Client(house.server).delete(NAMESPACES, "doomed"))


def conditions(obj: Object) -> dict[str, tuple[str, str, str]]:
    return {c["type"]: (c["status"], c["reason"], c["message"]) for c in obj["status"].get("conditions", ())}


def test_a_namespace_is_emptied_after_five_seconds_and_goes() -> None:
    world = house()
    world.server.put(CONFIGMAPS, named("settings", "doomed"))
    delete(world)
    world.run(4900)
    assert world.writes() == ["delete namespaces doomed"], "time for everybody to notice"
    world.run(300)
    assert world.keys(CONFIGMAPS) + world.keys(NAMESPACES) == []
    assert world.writes()[-1] == "update namespaces/finalize doomed"
    world.close()


def test_pods_go_first_and_the_conditions_do_not_tell_of_them() -> None:
    world = house()
    web = pod("web-0", "w0", terminationGracePeriodSeconds=30)
    world.server.put(PODS, {**web, "metadata": {"name": "web-0", "namespace": "doomed"}})
    world.server.put(CONFIGMAPS, named("settings", "doomed"))
    delete(world)
    world.run(6000)
    assert world.keys(CONFIGMAPS) == ["doomed/settings"]
    found = conditions(world.server.get(NAMESPACES, "doomed"))
    assert found == {
        "NamespaceDeletionDiscoveryFailure": (
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        "NamespaceDeletionGroupVersionParsingFailure": (
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        "NamespaceDeletionContentFailure": (
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        "NamespaceContentRemaining": ("False", "ContentRemoved", "All content successfully removed"),
        "NamespaceFinalizersRemaining": (
            "False",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    }, "as recorded in ctl-namespace-deletion"
    world.server.remove(PODS, "doomed/web-0")
    world.run(5000)
    assert world.keys(NAMESPACES) == [], "the change of its status brought it back after five seconds"
    world.close()


def test_before_1_33_everything_is_deleted_together() -> None:
    world = House(NAME, options=RESOURCES, graceful_pods=True, release="1.32")
    world.server.put(NAMESPACES, namespace())
    web = pod("web-0", "w0", terminationGracePeriodSeconds=30)
    world.server.put(PODS, {**web, "metadata": {"name": "web-0", "namespace": "doomed"}})
    world.server.put(CONFIGMAPS, named("settings", "doomed"))
    world.run(100)
    delete(world)
    world.run(6000)
    assert (world.keys(CONFIGMAPS), world.keys(PODS)) == ([], ["doomed/web-0"])
    world.close()


def test_a_finalizer_holds_the_namespace_and_is_named() -> None:
    world = house()
    held = named("held", "doomed")
    held["metadata"]["finalizers"] = ["example.io/hold"]
    world.server.put(CONFIGMAPS, held)
    delete(world)
    world.run(6000)
    found = conditions(world.server.get(NAMESPACES, "doomed"))
    assert found["NamespaceContentRemaining"] == (
        "True",
        "SomeResourcesRemain",
        "Some resources are remaining: configmaps. has 1 resource instances",
    )
    assert found["NamespaceFinalizersRemaining"] == (
        "True",
        "SomeFinalizersRemain",
        "Some content in the namespace has finalizers remaining: example.io/hold in 1 resource instances",
    )
    world.server.remove(CONFIGMAPS, "doomed/held")
    world.run(10_000)
    assert world.keys(NAMESPACES) == []
    world.close()


def test_custom_resources_are_emptied_too(monkeypatch: pytest.MonkeyPatch) -> None:
    things = GVR("example.io", "v1", "things")
    info = SCHEME.unstructured(GVK("example.io", "v1", "Thing"))
    scheme = SCHEME.copy()
    scheme.register(info)
    monkeypatch.setattr("tests.fakes.SCHEME", scheme)
    world = house(NAME, **{"custom-resources": [info]})
    world.server.put(things, named("thing", "doomed"))
    delete(world)
    world.run(6000)
    assert world.keys(things) + world.keys(NAMESPACES) == []
    world.close()


def test_errors_are_told_in_the_conditions_and_tried_again() -> None:
    world = house()
    world.server.put(CONFIGMAPS, named("settings", "doomed"))
    world.server.fail_next("deletecollection", CONFIGMAPS, InternalError("etcd is away"))
    delete(world)
    world.run(6000)
    versions = [change.new for change in world.server.changes if change.gvr == NAMESPACES and change.new]
    told = [conditions(each).get("NamespaceDeletionContentFailure") for each in versions]
    assert (
        "True",
        "ContentDeletionFailed",
        "Failed to delete all resource types, 1 remaining: etcd is away",
    ) in told
    world.run(10_000)
    assert world.keys(NAMESPACES) == []
    world.close()


def test_other_finalizers_of_the_namespace_are_left_to_their_owners() -> None:
    world = house()
    world.server.put(
        NAMESPACES, named("doomed", "", spec={"finalizers": ["kubernetes", "other"]}, status={"phase": "Active"})
    )
    delete(world)
    world.run(30_000)
    assert world.server.get(NAMESPACES, "doomed")["spec"]["finalizers"] == ["other"]
    world.close()


def test_an_unchanged_status_keeps_its_time() -> None:
    now = NamespaceConditions().conditions("2026-01-01T00:00:06Z")
    assert updated_conditions(now, NamespaceConditions().conditions("2026-01-01T00:00:16Z")) is None
    failed = NamespaceConditions(errors=["b", "a"]).conditions("2026-01-01T00:00:16Z")
    changed = updated_conditions(now, failed)
    assert changed is not None
    assert [each["lastTransitionTime"][17:19] for each in changed] == ["06", "06", "16", "06", "06"]
    assert changed[2]["message"] == "Failed to delete all resource types, 2 remaining: a, b"


def test_only_the_preferred_version_of_a_namespaced_resource_is_emptied() -> None:
    found = namespaced_resources()
    assert [gvr.version for gvr in found if gvr.resource == "horizontalpodautoscalers"] == ["v2"]
    assert not any(gvr.resource in ("nodes", "namespaces") for gvr in found)


def test_every_active_namespace_gets_a_service_account_and_gets_it_back() -> None:
    world = house("serviceaccount-controller")
    assert world.keys(SERVICEACCOUNTS) == ["doomed/default"]
    world.server.remove(SERVICEACCOUNTS, "doomed/default")
    world.run(1000)
    assert world.keys(SERVICEACCOUNTS) == ["doomed/default"]
    delete(world)
    world.run(100)
    world.server.remove(SERVICEACCOUNTS, "doomed/default")
    world.run(1000)
    assert world.keys(SERVICEACCOUNTS) == []
    world.close()


def test_a_namespace_that_is_going_is_no_error() -> None:
    world = House("serviceaccount-controller")
    cause = {"reason": "NamespaceTerminating", "message": "namespace doomed is being terminated", "field": "metadata"}
    refusal = ForbiddenError("unable to create new content", details={"causes": [cause]})
    world.server.fail_next("create", SERVICEACCOUNTS, refusal)
    world.server.put(NAMESPACES, namespace())
    world.run(10_000)
    assert world.keys(SERVICEACCOUNTS) == []
    assert world.told("sync.error") == []
    world.close()


def test_every_namespace_gets_the_ca_bundle_and_keeps_it() -> None:
    world = house("root-ca-certificate-publisher-controller", **{"root-ca": "PEM"})
    found = world.server.get(CONFIGMAPS, "doomed/kube-root-ca.crt")
    assert (found["data"], found["metadata"]["annotations"]["kubernetes.io/description"]) == (
        {"ca.crt": "PEM"},
        DESCRIPTION,
    )
    world.server.put(CONFIGMAPS, {**thaw(found), "data": {"ca.crt": "forged", "more": "x"}})
    world.run(1000)
    assert world.server.get(CONFIGMAPS, "doomed/kube-root-ca.crt")["data"] == {"ca.crt": "PEM"}
    world.server.remove(CONFIGMAPS, "doomed/kube-root-ca.crt")
    world.run(1000)
    assert world.keys(CONFIGMAPS) == ["doomed/kube-root-ca.crt"]
    world.close()


def test_nodes_get_the_ttl_annotation_for_the_size_of_the_cluster() -> None:
    world = House("ttl-controller")
    for number in range(101):
        world.server.put(NODES, named(f"w{number}", "", spec={}))
    world.run(1000)
    found = {node["metadata"]["annotations"]["node.alpha.kubernetes.io/ttl"] for node in world.server.of(NODES)}
    assert found == {"15"}
    writes = len(world.writes())
    world.run(10_000)
    assert len(world.writes()) == writes
    world.close()


@pytest.mark.parametrize(
    ("sizes", "seconds"),
    [
        pytest.param([0], [0], id="no nodes"),
        pytest.param([100, 101], [0, 15], id="growing past 100"),
        pytest.param([101, 90, 89], [15, 15, 0], id="shrinking below 90, not below 101"),
        pytest.param([2001, 1800, 1799], [300, 300, 60], id="a large cluster shrinks"),
    ],
)
def test_ttl_boundaries_overlap(sizes: list[int], seconds: list[int]) -> None:
    ttl = NodeTTL()
    assert [ttl.resize(size) for size in sizes] == seconds


def test_conditions_survive_in_the_order_of_their_types() -> None:
    listed = NamespaceConditions(remaining={PODS: 2, CONFIGMAPS: 1}).conditions("2026-01-01T00:00:06Z")
    assert get_condition({"status": {"conditions": listed}}, "NamespaceContentRemaining") is not None
    assert listed[3]["message"] == (
        "Some resources are remaining: configmaps. has 1 resource instances, pods. has 2 resource instances"
    )
