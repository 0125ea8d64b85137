"""EndpointSlices of Services, as in shared/golden/vectors/endpointslice.json and live/ctl-endpointslice.json."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.objects import Object, freeze, thaw
from k8slab.api.scheme import ENDPOINTSLICES, NODES, PODS, SERVICES
from k8slab.api.times import rfc3339
from k8slab.controllers.endpointslice import EndpointSliceTracker, reconcile
from k8slab.controllers.endpointslice.endpoints import address_types, endpoint_of, find_port
from k8slab.controllers.endpointslice.tracker import TriggerTimeTracker
from tests.unit.controllers.world import World

ONLY = ("endpointslice-controller",)


def service(name: str = "web", **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"svc-{name}"},
        "spec": {
            "clusterIP": "10.0.0.1",
            "ipFamilies": ["IPv4"],
            "selector": {"app": "web"},
            "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": "web"}],
            **spec,
        },
    }


def pod(number: int, ready: bool = True, deleted: bool = False, port: int = 8080, **spec: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": f"web-{number}",
        "namespace": "default",
        "uid": f"pod-{number}",
        "labels": {"app": "web"},
    }
    if deleted:
        metadata["deletionTimestamp"] = rfc3339(0)
    ports = [{"name": "web", "containerPort": port, "protocol": "TCP"}]
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": rfc3339(1000)}
    ip = f"10.1.{number // 250}.{number % 250 + 1}"
    status = {"phase": "Running", "conditions": [condition], "podIP": ip, "podIPs": [{"ip": ip}]}
    return {
        "metadata": metadata,
        "spec": {"nodeName": "n1", "containers": [{"name": "c", "image": "web:1", "ports": ports}], **spec},
        "status": status,
    }


NODE = {"metadata": {"name": "n1", "labels": {"topology.kubernetes.io/zone": "a"}}}


def node(name: str) -> Object | None:
    return NODE if name == "n1" else None


# -- endpoints -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ready", "deleted", "publish", "expected"),
    [
        pytest.param(True, False, False, (True, True, False), id="ready"),
        pytest.param(False, False, False, (False, False, False), id="not ready"),
        pytest.param(True, True, False, (False, True, True), id="ending but still serving"),
        pytest.param(False, True, False, (False, False, True), id="ending and not serving"),
        pytest.param(False, True, True, (True, False, True), id="published whatever it is"),
    ],
)
def test_conditions(ready: bool, deleted: bool, publish: bool, expected: tuple[bool, bool, bool]) -> None:
    found = endpoint_of(pod(1, ready, deleted), NODE, service(publishNotReadyAddresses=publish), "IPv4")
    assert found is not None
    assert tuple(found["conditions"][name] for name in ("ready", "serving", "terminating")) == expected
    assert (found["nodeName"], found["zone"]) == ("n1", "a")


def test_a_pod_without_address_of_the_family_has_no_endpoint() -> None:
    assert endpoint_of(pod(1), NODE, service(), "IPv6") is None


def test_a_host_name_is_taken_over_when_the_subdomain_is_the_service() -> None:
    found = endpoint_of(pod(1, hostname="web-0", subdomain="web"), NODE, service(), "IPv4")
    assert found is not None and found["hostname"] == "web-0"


@pytest.mark.parametrize(
    ("port", "expected"),
    [
        pytest.param({"targetPort": 9090}, 9090, id="a number is itself"),
        pytest.param({"targetPort": "web", "protocol": "TCP"}, 8080, id="a name is looked up"),
        pytest.param({"targetPort": "web", "protocol": "UDP"}, None, id="with its protocol"),
        pytest.param({"targetPort": "metrics", "protocol": "TCP"}, 9000, id="in sidecars too"),
        pytest.param({"targetPort": "none", "protocol": "TCP"}, None, id="a name nobody has"),
    ],
)
def test_target_ports(port: dict[str, Any], expected: int | None) -> None:
    sidecar = {"restartPolicy": "Always", "ports": [{"name": "metrics", "containerPort": 9000, "protocol": "TCP"}]}
    assert find_port(pod(1, initContainers=[sidecar]), port) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"ipFamilies": ["IPv6", "IPv4"]}, ["IPv6", "IPv4"], id="as the Service says"),
        pytest.param({"clusterIP": "fd00::1"}, ["IPv6"], id="else by the cluster IP"),
        pytest.param({"clusterIP": "None"}, ["IPv4", "IPv6"], id="both for a headless one"),
    ],
)
def test_address_types(spec: dict[str, Any], expected: list[str]) -> None:
    assert address_types({"spec": spec}) == expected


# -- packing -------------------------------------------------------------------------------------


def stored(slices: list[dict[str, Any]], prefix: str = "s") -> list[Any]:
    return [
        freeze({**slice, "metadata": {**slice["metadata"], "name": f"{prefix}{number}", "uid": f"{prefix}{number}"}})
        for number, slice in enumerate(slices)
    ]


def sizes(slices: list[Any]) -> list[int]:
    return [len(slice["endpoints"]) for slice in slices]


def test_a_new_service_fills_slices_of_at_most_a_hundred() -> None:
    changes = reconcile(service(), [pod(n) for n in range(250)], [], node, 100)
    assert sizes(changes.create) == [100, 100, 50]
    assert changes.create[0]["metadata"]["labels"] == {
        "kubernetes.io/service-name": "web",
        "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
    }
    assert changes.create[0]["ports"] == [{"name": "http", "protocol": "TCP", "port": 8080}]


def test_nothing_is_written_when_nothing_changed() -> None:
    pods = [pod(n) for n in range(7)]
    existing = stored(reconcile(service(), pods, [], node, 3).create)
    assert reconcile(service(), pods, existing, node, 3) == ([], [], [], [])


def test_a_new_pod_goes_into_the_slice_that_has_room() -> None:
    existing = stored(reconcile(service(), [pod(n) for n in range(7)], [], node, 3).create)
    changes = reconcile(service(), [pod(n) for n in range(8)], existing, node, 3)
    assert (changes.create, changes.delete) == ([], [])
    (updated,) = changes.update
    assert (updated["metadata"]["name"], len(updated["endpoints"])) == ("s2", 2)


def test_endpoints_stay_where_they_are_and_gaps_are_filled_in_slices_that_change_anyway() -> None:
    existing = stored(reconcile(service(), [pod(n) for n in range(6)], [], node, 3).create)
    changes = reconcile(service(), [pod(n) for n in (0, 1, 3, 4, 5, 6)], existing, node, 3)
    (updated,) = changes.update
    names = [endpoint["targetRef"]["name"] for endpoint in updated["endpoints"]]
    assert (updated["metadata"]["name"], names) == ("s0", ["web-0", "web-1", "web-6"])


def test_when_everything_is_replaced_the_slices_are_reused() -> None:
    existing = stored(reconcile(service(), [pod(n) for n in range(4)], [], node, 2).create)
    changes = reconcile(service(), [pod(n) for n in range(10, 14)], existing, node, 2)
    assert (changes.create, changes.delete) == ([], [])
    assert sorted(slice["metadata"]["name"] for slice in changes.update) == ["s0", "s1"]


def test_a_service_without_pods_keeps_one_empty_slice() -> None:
    (empty,) = reconcile(service(), [], [], node, 100).create
    assert (empty["endpoints"], empty["ports"]) == ([], [])
    assert reconcile(service(), [], stored([empty]), node, 100) == ([], [], [], [])
    existing = stored(reconcile(service(), [pod(n) for n in range(4)], [], node, 2).create)
    changes = reconcile(service(), [], existing, node, 2)
    assert (sizes(changes.update), len(changes.delete)) == ([0], 1)


def test_pods_with_other_ports_behind_one_name_get_slices_of_their_own() -> None:
    changes = reconcile(service(), [pod(1), pod(2, port=9090)], [], node, 100)
    assert [slice["ports"][0]["port"] for slice in changes.create] == [8080, 9090]


def test_slices_of_another_service_of_the_same_name_are_deleted() -> None:
    foreign = reconcile({**service(), "metadata": {**service()["metadata"], "uid": "before"}}, [pod(1)], [], node, 100)
    changes = reconcile(service(), [pod(1)], stored(foreign.create), node, 100)
    assert (sizes(changes.create), len(changes.delete)) == ([1], 1)


def test_a_pod_on_an_unknown_node_is_left_out_with_an_error() -> None:
    lost = pod(2, nodeName="gone")
    changes = reconcile(service(), [pod(1), lost], [], node, 100)
    assert sizes(changes.create) == [1]
    assert changes.errors == ["skipping Pod web-2 for Service default/web: Node gone Not Found"]
    published = reconcile(service(publishNotReadyAddresses=True), [pod(1), lost], [], node, 100)
    assert (sizes(published.create), published.errors) == ([2], [])


def test_labels_of_the_service_are_mirrored_but_not_reserved_ones() -> None:
    labelled = service()
    labelled["metadata"]["labels"] = {"team": "blue", "kubernetes.io/service-name": "lie"}
    existing = stored(reconcile(service(), [pod(1)], [], node, 100).create)
    (updated,) = reconcile(labelled, [pod(1)], existing, node, 100).update
    assert updated["metadata"]["labels"]["team"] == "blue"
    assert updated["metadata"]["labels"]["kubernetes.io/service-name"] == "web"


def test_a_headless_service_is_labelled() -> None:
    (created,) = reconcile(service(clusterIP="None"), [pod(1)], [], node, 100).create
    assert created["metadata"]["labels"]["service.kubernetes.io/headless"] == ""


def test_traffic_distribution_sets_and_removes_hints() -> None:
    close = service(trafficDistribution="PreferSameNode")
    (created,) = reconcile(close, [pod(1)], [], node, 100).create
    hints = {"forZones": [{"name": "a"}], "forNodes": [{"name": "n1"}]}
    assert created["endpoints"][0]["hints"] == hints
    existing = stored([created])
    assert reconcile(close, [pod(1)], existing, node, 100).update == []
    (updated,) = reconcile(service(), [pod(1)], existing, node, 100).update
    assert "hints" not in updated["endpoints"][0]


# -- memories ------------------------------------------------------------------------------------


def slice_of(uid: str, generation: int) -> dict[str, Any]:
    labels = {"kubernetes.io/service-name": "web"}
    return {"metadata": {"uid": uid, "namespace": "default", "generation": generation, "labels": labels}}


def test_the_tracker_knows_a_stale_cache() -> None:
    tracker = EndpointSliceTracker()
    assert not tracker.stale_slices("default/web", [])
    tracker.update(slice_of("a", 2))
    assert tracker.stale_slices("default/web", []), "one that was written is missing"
    assert tracker.stale_slices("default/web", [slice_of("a", 1)]), "an older generation is shown"
    assert not tracker.stale_slices("default/web", [slice_of("a", 2)])
    assert tracker.should_sync(slice_of("a", 3)) and not tracker.should_sync(slice_of("a", 2))
    tracker.expect_deletion(slice_of("a", 2))
    assert tracker.stale_slices("default/web", [slice_of("a", 2)]), "one that was deleted is shown"
    assert tracker.handle_deletion(slice_of("a", 2)), "the deletion was expected"
    tracker.update(slice_of("b", 1))
    assert not tracker.handle_deletion(slice_of("b", 1)), "somebody else deleted it"
    tracker.check_invariants()


def test_trigger_times_are_the_earliest_change() -> None:
    tracker = TriggerTimeTracker()
    made = {"metadata": {"name": "web", "namespace": "default", "creationTimestamp": rfc3339(0)}}

    def ready(name: str, since_ms: int) -> dict[str, Any]:
        condition = {"type": "Ready", "status": "True", "lastTransitionTime": rfc3339(since_ms)}
        return {"metadata": {"name": name}, "status": {"conditions": [condition]}}

    assert tracker.compute(made, [ready("a", 5000)]) == rfc3339(0)
    assert tracker.compute(made, [ready("a", 5000)]) == ""
    assert tracker.compute(made, [ready("a", 9000), ready("b", 7000)]) == rfc3339(7000)


# -- the controller ------------------------------------------------------------------------------


@pytest.fixture
def world() -> Any:
    world = World(ONLY, start_ms=None)
    world.transport.put(NODES, dict(NODE))
    yield world
    world.close()


def slices(world: World) -> list[Object]:
    return world.transport.of(ENDPOINTSLICES)


def test_a_service_gets_a_slice_that_follows_its_pods(world: World) -> None:
    """ctl-endpointslice up to its mark "selector change"."""
    world.transport.put(SERVICES, service())
    world.run(100)
    (empty,) = slices(world)
    assert not empty.get("endpoints")
    assert empty["metadata"]["generateName"] == "web-"
    assert empty["metadata"]["ownerReferences"][0]["kind"] == "Service"
    for number in range(3):
        world.transport.put(PODS, pod(number))
    world.run(100)
    (only,) = slices(world)
    assert only["metadata"]["name"] == empty["metadata"]["name"]
    assert len(only["endpoints"]) == 3
    assert only["metadata"]["annotations"] == {"endpoints.kubernetes.io/last-change-trigger-time": rfc3339(1000)}
    world.transport.put(PODS, pod(1, deleted=True))
    world.run(100)
    states = {e["targetRef"]["name"]: e["conditions"] for e in slices(world)[0]["endpoints"]}
    assert states["web-1"] == {"ready": False, "serving": True, "terminating": True}
    world.change(SERVICES, "default/web", lambda obj: obj["spec"].update(selector={"app": "none"}))
    world.run(100)
    (last,) = slices(world)
    assert last["metadata"]["name"] == empty["metadata"]["name"]
    assert not last.get("endpoints") and not last.get("ports")


def test_services_without_selector_or_with_an_external_name_are_left_alone(world: World) -> None:
    world.transport.put(SERVICES, service("nosel", selector=None))
    world.transport.put(SERVICES, service("ext", type="ExternalName"))
    world.run(100)
    assert slices(world) == []


def test_a_slice_that_somebody_changed_is_put_right_after_a_second(world: World) -> None:
    world.transport.put(SERVICES, service())
    world.transport.put(PODS, pod(1))
    world.run(100)
    broken = thaw(slices(world)[0])
    broken["endpoints"] = []
    broken["metadata"]["generation"] = 99
    world.transport.put(ENDPOINTSLICES, broken)
    world.run(500)
    assert slices(world)[0]["endpoints"] == []
    world.run(1500)
    assert len(slices(world)[0]["endpoints"]) == 1


def test_a_pod_on_a_missing_node_is_retried_and_reported(world: World) -> None:
    world.transport.put(SERVICES, service())
    world.transport.put(PODS, pod(1, nodeName="late"))
    world.run(500)
    (event,) = world.events("Service")
    assert event == (
        "Warning",
        "FailedToUpdateEndpointSlices",
        "Error updating Endpoint Slices for Service default/web: "
        "skipping Pod web-1 for Service default/web: Node late Not Found",
    )
    world.transport.put(NODES, {"metadata": {"name": "late"}})
    world.run(5000)
    assert len(slices(world)[0]["endpoints"]) == 1


def test_a_change_that_no_endpoint_shows_makes_no_sync(world: World) -> None:
    world.transport.put(SERVICES, service())
    world.transport.put(PODS, pod(1))
    world.run(100)
    syncs = [event for event in world.loop.trace if event.kind == "sync"]
    world.change(PODS, "default/web-1", lambda obj: obj["metadata"].update(annotations={"x": "y"}))
    world.run(100)
    assert [event for event in world.loop.trace if event.kind == "sync"] == syncs
