"""The watch cache alone: state, history, selectors, the node index."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.errors import ExpiredError
from k8slab.api.fields import parse_field_selector
from k8slab.api.labels import parse_selector
from k8slab.api.objects import freeze
from k8slab.apiserver import CacheWatch, WatchCache
from k8slab.sim import Clock


def pod(name: str, revision: int, node: str = "", **labels: str) -> Any:
    metadata = {"name": name, "namespace": "d", "labels": labels, "resourceVersion": str(revision)}
    return freeze({"metadata": metadata, "spec": {"nodeName": node}})


def make(**options: Any) -> tuple[WatchCache, Clock]:
    clock = Clock()
    cache = WatchCache("pods", clock, attributes=lambda obj: {"spec.nodeName": obj["spec"]["nodeName"]}, **options)
    cache.replace({}, 1)
    return cache, clock


def told(watch: CacheWatch) -> list[tuple[str, str, int]]:
    return [(e.type, e.object["metadata"]["name"], int(e.object["metadata"]["resourceVersion"])) for e in watch.pending]


def test_a_deleted_event_carries_the_revision_of_the_deletion() -> None:
    cache, _ = make()
    watch = CacheWatch(cache)
    cache.start(watch, 1)
    cache.apply("d/a", pod("a", 2), 2)
    cache.apply("d/a", None, 3)
    assert told(watch) == [("ADDED", "a", 2), ("DELETED", "a", 3)]


def test_leaving_a_selector_is_a_deletion_with_the_old_object() -> None:
    cache, _ = make()
    watch = CacheWatch(cache, label_selector=parse_selector("app=web"))
    cache.start(watch, 1)
    cache.apply("d/a", pod("a", 2), 2)
    cache.apply("d/a", pod("a", 3, app="web"), 3)
    cache.apply("d/a", pod("a", 4, app="web", x="1"), 4)
    cache.apply("d/a", pod("a", 5, app="db"), 5)
    assert told(watch) == [("ADDED", "a", 3), ("MODIFIED", "a", 4), ("DELETED", "a", 5)]
    assert watch.pending[-1].object["metadata"]["labels"] == {"app": "web", "x": "1"}


def test_a_watch_on_a_node_hears_of_pods_that_come_and_go() -> None:
    cache, _ = make(index_field="spec.nodeName")
    one, two = (CacheWatch(cache, field_selector=parse_field_selector(f"spec.nodeName={n}")) for n in ("n1", "n2"))
    cache.start(one, 1)
    cache.start(two, 1)
    cache.apply("d/a", pod("a", 2), 2)
    cache.apply("d/a", pod("a", 3, "n1"), 3)
    cache.apply("d/a", pod("a", 4, "n2"), 4)
    assert told(one) == [("ADDED", "a", 3), ("DELETED", "a", 4)]
    assert told(two) == [("ADDED", "a", 4)]


def test_an_event_is_offered_to_the_indexed_watches_only() -> None:
    cache, _ = make(index_field="spec.nodeName")
    offered: list[str] = []

    class Counting(CacheWatch):
        def offer(self, change: Any) -> None:
            offered.append(str(self.fields))
            super().offer(change)

    for node in range(50):
        cache.start(Counting(cache, field_selector=parse_field_selector(f"spec.nodeName=n{node}")), 1)
    cache.apply("d/a", pod("a", 2, "n7"), 2)
    assert offered == ["spec.nodeName=n7"]


def test_a_closed_watch_hears_nothing_more() -> None:
    cache, _ = make(index_field="spec.nodeName")
    watches = [CacheWatch(cache), CacheWatch(cache, field_selector=parse_field_selector("spec.nodeName=n"))]
    for watch in watches:
        cache.start(watch, 1)
        watch.close()
        watch.close()
    cache.apply("d/a", pod("a", 2, "n"), 2)
    assert [list(watch.pending) for watch in watches] == [[], []] and list(cache.watches()) == []


def test_a_watch_of_a_namespace_hears_of_that_namespace() -> None:
    cache, _ = make()
    watch = CacheWatch(cache, prefix="d/")
    cache.start(watch, 1)
    cache.apply("d/a", pod("a", 2), 2)
    cache.apply("dd/a", pod("b", 3), 3)
    assert told(watch) == [("ADDED", "a", 2)]


def test_the_state_at_an_older_revision_is_rebuilt_from_the_history() -> None:
    cache, _ = make()
    cache.apply("d/a", pod("a", 2), 2)
    cache.apply("d/b", pod("b", 3), 3)
    cache.apply("d/a", None, 4)
    cache.apply("d/a", pod("a", 5), 5)
    names = {at: list(cache.state_at(at)) for at in (1, 2, 3, 4, 5)}
    assert names == {1: [], 2: ["d/a"], 3: ["d/a", "d/b"], 4: ["d/b"], 5: ["d/a", "d/b"]}


def test_history_that_was_dropped_is_gone() -> None:
    cache, _ = make(capacity=100)
    for revision in range(2, 203):
        cache.apply("d/a", pod("a", revision), revision)
    assert len(cache.history) == 100 and cache.oldest == 102
    with pytest.raises(ExpiredError) as caught:
        cache.changes_since(50)
    assert caught.value.message == "too old resource version: 50 (102)"
    assert [change.revision for change in cache.changes_since(200)] == [201, 202]
    cache.check_invariants()


def test_events_older_than_75_seconds_go_when_there_are_more_than_100() -> None:
    cache, clock = make()
    for revision in range(2, 152):
        cache.apply("d/a", pod("a", revision), revision)
    clock.now_ms = 76_000
    cache.apply("d/a", pod("a", 152), 152)
    assert len(cache.history) == 100


def test_a_new_list_ends_the_open_watches() -> None:
    cache, _ = make()
    watch = CacheWatch(cache)
    cache.start(watch, 1)
    cache.replace({"d/a": pod("a", 7)}, 9)
    assert watch.closed and cache.revision == 9
    with pytest.raises(ExpiredError):
        cache.changes_since(8)


def test_a_watch_from_the_future_stays_silent_until_then() -> None:
    cache, _ = make()
    watch = CacheWatch(cache)
    cache.start(watch, 3)
    for revision in (2, 3, 4):
        cache.apply("d/a", pod("a", revision), revision)
    assert told(watch) == [("MODIFIED", "a", 4)]
