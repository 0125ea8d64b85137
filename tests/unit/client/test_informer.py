"""Reflector and shared informer against a server with faults."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from k8slab.api.errors import (
    ExpiredError,
    ForbiddenError,
    InternalError,
    StatusError,
    TooManyRequestsError,
)
from k8slab.api.objects import Object, freeze
from k8slab.api.scheme import DEPLOYMENTS, PODS
from k8slab.client import Client, ReflectorOptions, SharedInformer, SharedInformerFactory
from k8slab.sim.component import Component
from k8slab.sim.loop import Loop
from tests.fakes import FakeTransport

FIFOS = ["real", "in-order", "delta"]


def pod(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default", "labels": labels}, "spec": {}}


class World:
    """A server, a component with one informer on Pods, and the log of what its handler was told."""

    def __init__(self, fifo: str = "real", **options: Any) -> None:
        self.loop = Loop(seed=1)
        self.server = FakeTransport(self.loop)
        self.kcm = Component(self.loop, "kcm")
        self.informer = SharedInformer(
            self.loop, self.kcm, Client(self.server), PODS, fifo=fifo, options=ReflectorOptions(**options)
        )
        self.log: list[tuple[str, ...]] = []
        self.informer.add_event_handler(
            lambda obj, initial: self.log.append(("add", name(obj), "initial" if initial else "later")),
            lambda old, new: self.log.append(("update", name(new), revision(old), revision(new))),
            lambda obj: self.log.append(("delete", name(obj), revision(obj))),
        )

    def run(self, for_ms: int = 100) -> None:
        self.loop.run(for_ms=for_ms)
        self.informer.check_invariants()

    def lists(self) -> list[dict[str, str]]:
        return [dict(request.params) for request in self.server.requests if request.verb == "list"]

    def watches(self) -> list[str]:
        return [r.params.get("resourceVersion", "") for r in self.server.requests if r.verb == "watch"]

    def kinds(self, kind: str) -> list[str]:
        return [event.message for event in self.loop.trace if event.kind == kind]

    def converged(self) -> bool:
        return {key: obj for (_gvr, key), obj in self.server.objects.items()} == {
            key: self.informer.indexer.get(key) for key in self.informer.indexer
        }


def name(obj: Object) -> str:
    return str(obj["metadata"]["name"])


def revision(obj: Object) -> str:
    return str(obj["metadata"]["resourceVersion"])


@pytest.mark.parametrize("fifo", FIFOS)
def test_the_first_list_is_adds_marked_initial_and_changes_after_it_are_not(fifo: str) -> None:
    world = World(fifo)
    world.server.put(PODS, pod("a"))
    world.server.put(PODS, pod("b"))
    assert not world.informer.has_synced
    world.informer.start()
    world.run()
    assert world.informer.has_synced
    world.server.put(PODS, pod("c"))
    world.server.put(PODS, pod("a", app="web"))
    world.server.remove(PODS, "default/b")
    world.run()
    assert world.log == [
        ("add", "a", "initial"),
        ("add", "b", "initial"),
        ("add", "c", "later"),
        ("update", "a", "1", "4"),
        ("delete", "b", "5"),
    ]
    assert world.converged()


def test_the_first_list_is_consistent_and_the_watch_starts_at_its_revision_with_bookmarks() -> None:
    world = World()
    world.server.put(PODS, pod("a"))
    world.informer.start()
    world.run()
    assert world.lists() == [{}]
    watch = next(request for request in world.server.requests if request.verb == "watch")
    assert watch.params["resourceVersion"] == "1"
    assert watch.params["allowWatchBookmarks"] == "true"
    assert 300 <= int(watch.params["timeoutSeconds"]) <= 600


def test_a_first_list_at_zero_is_asked_for_as_zero() -> None:
    world = World(
        first_list="0", allow_watch_bookmarks=False, label_selector="app=web", field_selector="spec.nodeName=n"
    )
    world.informer.start()
    world.run()
    selection = {"labelSelector": "app=web", "fieldSelector": "spec.nodeName=n"}
    assert world.lists() == [{"resourceVersion": "0", **selection}]
    watch = next(request for request in world.server.requests if request.verb == "watch")
    assert "allowWatchBookmarks" not in watch.params
    assert {key: watch.params[key] for key in selection} == selection


@pytest.mark.parametrize("fifo", FIFOS)
def test_waiting_for_sync_ends_when_the_first_list_was_popped(fifo: str) -> None:
    world = World(fifo)
    cached: list[list[str]] = []

    async def wait() -> None:
        await world.informer.wait_synced()
        cached.append(world.informer.indexer.keys())

    world.loop.spawn("waiter", wait())
    for pod_name in ("a", "b", "c"):
        world.server.put(PODS, pod(pod_name))
    world.run()
    assert cached == []
    world.informer.start()
    world.run()
    assert cached == [["default/a", "default/b", "default/c"]]


@pytest.mark.parametrize("fifo", FIFOS)
def test_waiting_for_sync_ends_after_an_empty_list_too(fifo: str) -> None:
    world = World(fifo)
    world.informer.start()
    task = world.loop.spawn("waiter", world.informer.wait_synced())
    world.run()
    assert task.done


def test_a_watch_that_the_server_closes_is_opened_again_from_the_last_revision_without_a_list() -> None:
    world = World()
    world.informer.start()
    world.run(2_000)
    world.server.put(PODS, pod("a"))
    world.run()
    world.server.drop_watches()
    world.server.put(PODS, pod("b"))
    world.run(0)
    assert (len(world.lists()), world.watches()) == (1, ["0", "1"])
    assert world.converged()


def test_a_watch_that_ends_within_a_second_but_brought_something_is_opened_again() -> None:
    world = World()
    world.server.put(PODS, pod("a"))
    world.informer.start()
    world.run(100)
    world.server.put(PODS, pod("b"))
    world.run(100)
    world.server.drop_watches()
    world.run(100)
    assert (len(world.lists()), world.watches()) == (1, ["1", "2"])


def test_a_watch_that_brings_nothing_within_a_second_is_followed_by_a_list_not_older_than_the_last() -> None:
    world = World()
    world.server.put(PODS, pod("a"))
    world.informer.start()
    world.run(500)
    world.server.drop_watches()
    world.run(3_000)
    assert world.lists() == [{}, {"resourceVersion": "1"}]
    assert len(world.server.streams) == 1
    (text,) = world.kinds("relist")
    assert "very short watch" in text


@pytest.mark.parametrize("fifo", FIFOS)
def test_an_expired_watch_relists_and_what_vanished_meanwhile_is_deleted_with_its_last_known_state(fifo: str) -> None:
    world = World(fifo)
    world.server.put(PODS, pod("a"))
    world.server.put(PODS, pod("b"))
    world.informer.start()
    world.run()
    world.log.clear()
    world.server.drop_watches(error=ExpiredError("too old resource version: 1 (9)"))
    world.server.remove(PODS, "default/a")
    world.server.put(PODS, pod("b", app="web"))
    world.server.put(PODS, pod("c"))
    world.server.compact()
    world.run(100)
    assert world.log == []
    world.run(3_000)
    assert sorted(world.log) == [("add", "c", "later"), ("delete", "a", "1"), ("update", "b", "2", "4")]
    if fifo != "delta":  # which has b's update queued before it looks for what vanished
        assert world.log[0] == ("delete", "a", "1")
    assert world.converged()
    assert world.lists() == [{}, {"resourceVersion": "2"}]


def test_a_watch_from_a_compacted_revision_gets_an_error_event_and_relists() -> None:
    world = World()
    world.server.put(PODS, pod("a"))
    world.informer.start()
    world.run(2_000)
    world.server.put(PODS, pod("b"))
    world.server.put(PODS, pod("c"))
    world.server.streams[0].box.items.clear()  # lost on the way
    world.server.drop_watches()
    world.server.compact()
    world.run(5_000)
    assert len(world.kinds("relist")) == 1
    assert world.converged()


def test_a_list_at_a_revision_the_server_no_longer_has_is_repeated_without_one() -> None:
    world = World()
    world.server.put(PODS, pod("a"))
    world.informer.start()
    world.run(100)
    world.server.drop_watches()
    world.server.fail_next("list", PODS, ExpiredError("The provided resource version is too old."))
    world.run(5_000)
    assert world.lists() == [{}, {"resourceVersion": "1"}, {}]
    world.server.drop_watches()
    world.run(5_000)
    assert world.watches()[-1] == "1"


def test_a_server_that_has_not_got_as_far_as_the_cache_is_asked_for_the_newest_it_has() -> None:
    world = World()
    world.server.revision = 50
    world.server.put(PODS, pod("a"))
    world.informer.start()
    world.run(100)
    world.server.drop_watches()
    world.server.changes.clear()
    world.server.revision = 7  # another server, restored from a backup
    world.run(5_000)
    assert world.lists() == [{}, {"resourceVersion": "51"}, {}]
    assert world.informer.last_sync_resource_version == "7"


def test_a_list_older_than_asked_for_is_not_taken() -> None:
    class Stale(FakeTransport):
        def _list(self, request: Any, cause: int | None) -> Object:
            page = super()._list(request, cause)
            if request.params.get("resourceVersion"):
                return freeze({**page, "items": [], "metadata": {"resourceVersion": "1"}})  # type: ignore[no-any-return]
            return page

    loop = Loop(seed=1)
    server = Stale(loop)
    for pod_name in ("a", "b"):
        server.put(PODS, pod(pod_name))
    informer = SharedInformer(loop, Component(loop, "kcm"), Client(server), PODS)
    informer.start()
    loop.run(for_ms=100)
    server.drop_watches()
    loop.run(for_ms=60_000)
    assert informer.indexer.keys() == ["default/a", "default/b"]
    assert informer.last_sync_resource_version == "2"
    assert any("older than 2" in event.message for event in loop.trace if event.kind == "list.error")


def test_a_failing_list_is_repeated_with_growing_pauses_and_then_works() -> None:
    world = World()
    world.server.put(PODS, pod("a"))
    world.server.fail_next("list", PODS, ForbiddenError("no"), times=3)
    world.informer.start()
    world.run(60_000)
    failed = [event.now_ms for event in world.loop.trace if event.kind == "list.error"]
    pauses = [later - earlier for earlier, later in pairwise(failed)]
    assert len(failed) == 3
    assert 800 <= pauses[0] <= 1_600
    assert 1_600 <= pauses[1] <= 3_200
    assert world.converged()


def test_a_list_without_an_answer_is_repeated() -> None:
    world = World()
    world.server.put(PODS, pod("a"))
    world.server.lose_reply("list", PODS)
    world.informer.start()
    world.run(3_000)
    assert world.converged()


@pytest.mark.parametrize("error", [TooManyRequestsError("slow down"), ConnectionRefusedError("no server")])
def test_a_watch_refused_for_lack_of_capacity_is_tried_again_without_a_list(error: Exception) -> None:
    world = World()
    world.server.fail_next("watch", PODS, error, times=2)
    world.informer.start()
    world.run(10_000)
    assert (len(world.lists()), len(world.watches())) == (1, 3)


@pytest.mark.parametrize("error", [InternalError("boom"), StatusError("odd", code=499, reason="Odd")])
def test_a_watch_that_fails_otherwise_leads_to_a_list(error: Exception) -> None:
    world = World()
    world.server.fail_next("watch", PODS, error)
    world.informer.start()
    world.run(10_000)
    assert (len(world.lists()), len(world.watches())) == (2, 2)


def test_an_error_event_that_says_too_many_requests_pauses_and_watches_again() -> None:
    world = World()
    world.server.put(PODS, pod("a"))
    world.informer.start()
    world.run()
    world.server.drop_watches(error=TooManyRequestsError("slow down"))
    world.run(10_000)
    assert (len(world.lists()), world.watches()) == (1, ["1", "1"])


def test_a_connection_that_breaks_in_the_middle_of_a_watch_is_closed_and_a_list_follows() -> None:
    world = World()
    world.server.put(PODS, pod("a"))
    world.informer.start()
    world.run()
    broken = world.server.streams[0]
    broken.box.close(ConnectionResetError("the network went away"))
    world.run(10)
    assert broken.closed
    world.server.put(PODS, pod("b"))
    world.run(3_000)
    assert world.converged()
    assert world.server.streams != [broken]


def test_a_bookmark_moves_the_revision_to_watch_from_and_the_cache_s_own() -> None:
    world = World()
    world.server.put(PODS, pod("a"))
    world.informer.start()
    world.run()
    world.server.put(DEPLOYMENTS, {"metadata": {"name": "d", "namespace": "default"}})
    world.server.bookmark()
    world.run()
    assert world.informer.last_sync_resource_version == "2"
    assert world.informer.indexer.last_sync_resource_version == "2"
    assert world.log == [("add", "a", "initial")]


def test_only_the_atomic_fifo_tells_how_far_the_cache_has_read() -> None:
    for fifo, expected in (("real", "1"), ("in-order", ""), ("delta", "")):
        world = World(fifo)
        world.server.put(PODS, pod("a"))
        world.informer.start()
        world.run()
        assert world.informer.indexer.last_sync_resource_version == expected


def test_killing_the_component_closes_the_stream_also_in_the_middle_of_a_list() -> None:
    for for_ms in (0, 1, 2, 100):
        world = World()
        world.server.latency_ms = 1
        world.informer.start()
        world.run(for_ms)
        world.kcm.kill()
        world.run(100)
        assert world.server.streams == []
        assert world.loop.idle


def test_a_list_in_pages_is_put_together_and_an_expired_token_starts_over() -> None:
    world = World(page_size=2)
    for number in range(5):
        world.server.put(PODS, pod(f"p{number}"))
    world.informer.start()
    world.run()
    assert [request.get("limit") for request in world.lists()] == ["2", "2", "2"]
    assert len({request.get("continue") for request in world.lists()}) == 3
    assert world.converged()

    world = World(page_size=2)
    for number in range(5):
        world.server.put(PODS, pod(f"p{number}"))
    world.informer.start()
    world.loop.step()
    world.loop.run(max_actions=3)
    world.server.fail_next("list", PODS, ExpiredError("token"))
    world.run()
    assert world.converged()


def test_a_watch_list_takes_the_first_state_from_the_watch_and_lists_nothing() -> None:
    world = World(watch_list=True)
    world.server.put(PODS, pod("a"))
    world.server.put(PODS, pod("b"))
    world.informer.start()
    world.run(2_000)
    assert world.lists() == []
    assert world.log == [("add", "a", "initial"), ("add", "b", "initial")]
    world.server.put(PODS, pod("c"))
    world.run()
    assert world.converged()
    assert len(world.watches()) == 1


def test_a_watch_list_that_fails_falls_back_to_a_list() -> None:
    world = World(watch_list=True)
    world.server.put(PODS, pod("a"))
    world.server.fail_next("watch", PODS, StatusError("sendInitialEvents is forbidden", code=422, reason="Invalid"))
    world.informer.start()
    world.run()
    assert len(world.lists()) == 1
    assert world.converged()


def test_a_resync_shows_every_object_again_as_an_update_to_itself() -> None:
    for fifo in FIFOS:
        loop = Loop(seed=1)
        server = FakeTransport(loop)
        server.put(PODS, pod("a"))
        informers = SharedInformerFactory(loop, Component(loop, "kcm"), Client(server), resync_ms=1_000, fifo=fifo)
        updates: list[tuple[int, bool]] = []
        informers.informer(PODS).add_event_handler(
            on_update=lambda old, new, updates=updates, loop=loop: updates.append((loop.clock.now_ms, old is new))
        )
        informers.start()
        loop.run(for_ms=2_500)
        assert updates == [(1_000, True), (2_000, True)]


def test_a_handler_with_a_filter_sees_objects_enter_and_leave() -> None:
    world = World()
    log: list[tuple[str, str]] = []
    world.informer.add_event_handler(
        lambda obj, initial: log.append(("add", name(obj))),
        lambda old, new: log.append(("update", name(new))),
        lambda obj: log.append(("delete", name(obj))),
        filter=lambda obj: obj["metadata"]["labels"].get("app") == "web",
    )
    world.informer.start()
    for labels in ({}, {"app": "web"}, {"app": "web", "x": "y"}, {"app": "db"}):
        world.server.put(PODS, pod("a", **labels))
        world.run()
    world.server.put(PODS, pod("b", app="web"))
    world.server.remove(PODS, "default/a")
    world.server.remove(PODS, "default/b")
    world.run()
    assert log == [("add", "a"), ("update", "a"), ("delete", "a"), ("add", "b"), ("delete", "b")]


def test_a_handler_that_comes_late_is_told_of_what_is_there_and_one_that_left_of_nothing() -> None:
    world = World()
    world.server.put(PODS, pod("a"))
    world.informer.start()
    world.run()
    late: list[tuple[str, bool]] = []
    handler = world.informer.add_event_handler(lambda obj, initial: late.append((name(obj), initial)))
    assert late == [("a", True)]
    world.informer.remove_event_handler(handler)
    world.server.put(PODS, pod("b"))
    world.run()
    assert late == [("a", True)]


def test_cached_objects_are_read_only() -> None:
    world = World()
    world.server.put(PODS, pod("a"))
    world.informer.start()
    world.run()
    cached: Any = world.informer.indexer.get("default/a")
    with pytest.raises(TypeError, match="read-only"):
        cached["metadata"]["labels"]["x"] = "y"


def test_items_of_a_list_get_the_kind_that_the_list_names() -> None:
    class Terse(FakeTransport):
        def _list(self, request: Any, cause: int | None) -> Object:
            page: Any = super()._list(request, cause)
            items = [{k: v for k, v in item.items() if k not in ("kind", "apiVersion")} for item in page["items"]]
            return {**page, "items": items}

    loop = Loop(seed=1)
    server = Terse(loop)
    server.put(DEPLOYMENTS, {"metadata": {"name": "d", "namespace": "default"}})
    informer = SharedInformer(loop, Component(loop, "kcm"), Client(server), DEPLOYMENTS)
    informer.start()
    loop.run(for_ms=10)
    found = informer.indexer.get("default/d")
    assert found is not None
    assert (found["apiVersion"], found["kind"]) == ("apps/v1", "Deployment")


def test_one_factory_has_one_informer_for_each_selection_and_starts_late_comers() -> None:
    loop = Loop(seed=1)
    server = FakeTransport(loop)
    informers = SharedInformerFactory(loop, Component(loop, "kcm"), Client(server))
    pods = informers.informer(PODS)
    assert informers.informer(PODS) is pods
    informers.start()
    bound = informers.informer(PODS, field_selector="spec.nodeName=n1")
    assert bound is not pods
    assert not informers.has_synced
    informers.start()
    task = loop.spawn("waiter", informers.wait_synced())
    loop.run(for_ms=10)
    assert task.done
    assert informers.has_synced
    assert sorted(task.name for task in loop.tasks.values()) == [
        "kcm/pods/informer",
        "kcm/pods/reflector",
        "kcm/pods[spec.nodeName=n1]/informer",
        "kcm/pods[spec.nodeName=n1]/reflector",
    ]


def test_every_handler_of_a_change_has_the_change_as_its_cause() -> None:
    world = World()
    causes: list[int | None] = []

    def note(obj: Object, initial: bool) -> None:
        causes.append(world.loop.trace.current)
        world.loop.trace.emit("queue.add", "kcm/x", queue="x", key=name(obj))

    world.informer.add_event_handler(note)
    world.informer.add_event_handler(note)
    world.informer.start()
    world.run()
    world.server.put(PODS, pod("a"))
    world.run()
    (update,) = [event.seq for event in world.loop.trace if event.kind == "cache.update"]
    assert causes == [update, update]


def test_cache_updates_of_leases_are_traced_only_where_renewals_are() -> None:
    from k8slab.api.scheme import LEASES
    from k8slab.sim.clock import Clock
    from k8slab.sim.trace import Trace

    for without, expected in ((("lease.renew",), 0), ((), 1)):
        loop = Loop(seed=1, trace=Trace(Clock(), without=without))
        server = FakeTransport(loop)
        informer = SharedInformer(loop, Component(loop, "kcm"), Client(server), LEASES)
        informer.start()
        loop.run(for_ms=10)
        server.put(LEASES, {"metadata": {"name": "n1", "namespace": "kube-node-lease"}})
        loop.run(for_ms=10)
        assert sum(event.kind == "cache.update" for event in loop.trace) == expected
        assert len(informer.indexer) == 1


def test_an_unknown_watch_event_stops_the_loop_with_the_reflector_s_name() -> None:
    world = World()
    world.informer.start()
    world.run()
    world.server.streams[0].send("RENAMED", freeze({"metadata": {}}))
    with pytest.raises(ValueError, match="watch event type 'RENAMED'") as caught:
        world.run()
    assert any("kcm/pods/reflector" in note for note in caught.value.__notes__)


def test_the_view_shows_fifo_and_cache() -> None:
    world = World()
    world.server.put(PODS, pod("a"))
    world.informer.start()
    world.run()
    assert world.informer.view() == {"fifo": {}, "cache": {"default/a": "1"}, "has_synced": True}
