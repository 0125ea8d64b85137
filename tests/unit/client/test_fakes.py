"""The fake transport keeps its promises: what other tests rely on."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import pytest

from k8slab.api.errors import AlreadyExistsError, ConflictError, ForbiddenError, NotFoundError
from k8slab.api.scheme import CONFIGMAPS, NODES, PODS
from k8slab.api.transport import MERGE_PATCH, StreamClosedError
from k8slab.client import Client
from k8slab.sim.loop import Loop
from tests.fakes import FakeTransport

CONFIG: dict[str, Any] = {"metadata": {"name": "c", "namespace": "d"}, "data": {"a": "1"}}


class World:
    def __init__(self, **options: Any) -> None:
        self.loop = Loop(seed=1)
        self.server = FakeTransport(self.loop, **options)
        self.client = Client(self.server)

    def do(self, coro: Coroutine[Any, Any, Any]) -> Any:
        """The answer to one request, or the error."""

        async def catch() -> Any:
            try:
                return await coro
            except Exception as error:
                return error

        task = self.loop.spawn("test", catch())
        self.loop.run(for_ms=self.server.latency_ms * 2)
        assert task.done
        return task.result

    def names(self, events: list[tuple[str, str]], stream: Any) -> list[tuple[str, str]]:
        while stream.box.items:
            event = stream.box.items.popleft()
            events.append((event.type, event.object["metadata"].get("name", "")))
        return events


def test_a_create_completes_the_metadata_and_a_second_one_fails() -> None:
    world = World()
    made = world.do(world.client.create(CONFIGMAPS, CONFIG))
    assert made["kind"] == "ConfigMap"
    assert made["metadata"]["resourceVersion"] == "1"
    assert made["metadata"]["uid"]
    assert made["metadata"]["creationTimestamp"] == "2026-01-01T00:00:00Z"
    assert isinstance(world.do(world.client.create(CONFIGMAPS, CONFIG)), AlreadyExistsError)


def test_an_update_from_an_old_revision_is_a_conflict_and_one_that_changes_nothing_makes_no_revision() -> None:
    world = World()
    old = world.server.put(CONFIGMAPS, CONFIG)
    new = world.do(world.client.update(CONFIGMAPS, {**old, "data": {"a": "2"}}))
    assert new["metadata"]["resourceVersion"] == "2"
    assert isinstance(world.do(world.client.update(CONFIGMAPS, {**old, "data": {"a": "3"}})), ConflictError)
    assert world.do(world.client.update(CONFIGMAPS, new)) is new
    assert world.server.revision == 2


def test_the_status_is_written_by_its_subresource_alone() -> None:
    world = World()
    pod = world.server.put(PODS, {"metadata": {"name": "p", "namespace": "d"}, "spec": {"x": 1}})
    both = {**pod, "spec": {"x": 2}, "status": {"phase": "Running"}}
    after = world.do(world.client.update_status(PODS, both))
    assert (after["spec"], after["status"]) == ({"x": 1}, {"phase": "Running"})
    again = world.do(world.client.patch(PODS, "p", {"spec": {"x": 2}, "status": {"phase": "Failed"}}, "d", MERGE_PATCH))
    assert (again["spec"], again["status"]) == ({"x": 2}, {"phase": "Running"})
    assert again["metadata"]["generation"] == 2


def test_a_finalizer_holds_an_object_until_it_is_taken_off() -> None:
    world = World()
    world.server.put(CONFIGMAPS, {"metadata": {"name": "c", "namespace": "d", "finalizers": ["x/y"]}})
    held = world.do(world.client.delete(CONFIGMAPS, "c", "d"))
    assert held["metadata"]["deletionTimestamp"]
    world.do(world.client.patch(CONFIGMAPS, "c", {"metadata": {"finalizers": None}}, "d", MERGE_PATCH))
    assert world.server.of(CONFIGMAPS) == []


def test_a_graceful_pod_goes_in_two_steps() -> None:
    world = World(graceful_pods=True)
    world.server.put(PODS, {"metadata": {"name": "p", "namespace": "d"}, "spec": {"nodeName": "n"}})
    going = world.do(world.client.delete(PODS, "p", "d"))
    assert going["metadata"]["deletionGracePeriodSeconds"] == 30
    assert going["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:30Z"
    world.do(world.client.delete(PODS, "p", "d", grace_period_seconds=0))
    assert world.server.of(PODS) == []


def test_a_delete_of_another_uid_is_a_conflict() -> None:
    world = World()
    world.server.put(PODS, {"metadata": {"name": "p", "namespace": "d"}})
    error = world.do(world.client.delete(PODS, "p", "d", uid="other"))
    assert isinstance(error, ConflictError)
    assert "UID in precondition: other" in error.message


def test_a_binding_sets_the_node_once() -> None:
    world = World()
    world.server.put(PODS, {"metadata": {"name": "p", "namespace": "d"}, "spec": {}})
    binding = {"target": {"kind": "Node", "name": "n1"}}
    world.do(world.client.create_subresource(PODS, "d", "p", "binding", binding))
    assert world.server.get(PODS, "d/p")["spec"]["nodeName"] == "n1"
    assert isinstance(world.do(world.client.create_subresource(PODS, "d", "p", "binding", binding)), ConflictError)


def test_a_scripted_failure_does_nothing_and_a_lost_reply_does_it() -> None:
    world = World(latency_ms=2)
    world.server.fail_next("create", CONFIGMAPS, ForbiddenError("no"))
    assert isinstance(world.do(world.client.create(CONFIGMAPS, CONFIG)), ForbiddenError)
    assert world.server.of(CONFIGMAPS) == []
    world.server.lose_reply("*", None)
    assert isinstance(world.do(world.client.create(CONFIGMAPS, CONFIG)), TimeoutError)
    assert len(world.server.of(CONFIGMAPS)) == 1
    assert isinstance(world.do(world.client.get(CONFIGMAPS, "nobody", "d")), NotFoundError)
    assert world.server.verbs("create", "get") == [
        ("create", "configmaps", "d"),
        ("create", "configmaps", "d"),
        ("get", "configmaps", "d/nobody"),
    ]


def test_a_watch_with_a_selector_sees_objects_enter_and_leave() -> None:
    world = World()
    stream = world.do(world.client.watch(PODS, "d", field_selector="spec.nodeName!=", label_selector="app=web"))
    for spec, labels in (({}, {"app": "web"}), ({"nodeName": "n"}, {"app": "web"}), ({"nodeName": "n"}, {"app": "db"})):
        world.server.put(PODS, {"metadata": {"name": "p", "namespace": "d", "labels": labels}, "spec": spec})
    world.server.put(NODES, {"metadata": {"name": "n"}})
    assert world.names([], stream) == [("ADDED", "p"), ("DELETED", "p")]


def test_a_watch_from_a_revision_replays_what_came_after_it_and_closing_ends_it() -> None:
    world = World()
    for name in ("a", "b"):
        world.server.put(PODS, {"metadata": {"name": name, "namespace": "d"}})
    stream = world.do(world.client.watch(PODS, resource_version="1"))
    world.server.remove(PODS, "d/a")
    assert world.names([], stream) == [("ADDED", "b"), ("DELETED", "a")]
    stream.close()
    world.server.remove(PODS, "d/b")
    assert world.names([], stream) == []
    assert isinstance(world.do(stream.next()), StreamClosedError)


def test_deleting_a_collection_takes_what_the_selector_matches() -> None:
    world = World()
    for name in ("a", "b"):
        world.server.put(PODS, {"metadata": {"name": name, "namespace": "d", "labels": {"n": name}}})
    world.do(world.client.delete_collection(PODS, "d", label_selector="n=a"))
    assert [pod["metadata"]["name"] for pod in world.server.of(PODS)] == ["b"]


def test_objects_that_leave_the_server_are_read_only() -> None:
    world = World()
    found: Any = world.server.put(CONFIGMAPS, CONFIG)
    with pytest.raises(TypeError, match="read-only"):
        found["data"]["a"] = "2"
