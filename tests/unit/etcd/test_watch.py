"""Watches: start, order, previous values, filters, compaction, cancellation."""

from __future__ import annotations

import pytest

from k8slab.etcd import DeleteRangeRequest, PutRequest, Store, Watcher, WatchResponse


def texts(watcher: Watcher) -> list[str]:
    return [
        f"{event.type.value} {event.kv.key.decode()}@{event.kv.mod_revision}"
        for response in watcher.pending
        for event in response.events
    ]


def test_the_confirmation_comes_first_and_carries_the_current_revision() -> None:
    store = Store()
    store.put(b"a", b"1")
    watcher = store.watch(b"a")
    assert list(watcher.pending) == [WatchResponse(2, created=True)]


def test_a_watch_without_start_sees_only_the_future() -> None:
    store = Store()
    store.put(b"a", b"1")
    watcher = store.watch(b"a")
    store.put(b"a", b"2")
    store.put(b"b", b"2")
    assert texts(watcher) == ["PUT a@3"]


def test_a_watch_from_the_past_replays_it_in_one_response_and_goes_on_without_a_gap() -> None:
    store = Store()
    for value in (b"1", b"2"):
        store.put(b"p/a", value)
    store.delete_range(b"p/a")
    watcher = store.watch(b"p/", b"p0", start_revision=3)
    store.put(b"p/b", b"3")
    assert [response.revision for response in watcher.pending] == [4, 4, 5]
    assert texts(watcher) == ["PUT p/a@3", "DELETE p/a@4", "PUT p/b@5"]


def test_a_start_in_the_future_waits_for_it() -> None:
    store = Store()
    watcher = store.watch(b"a", start_revision=4)
    for value in (b"1", b"2", b"3"):
        store.put(b"a", value)
    assert texts(watcher) == ["PUT a@4"]


def test_the_events_of_a_transaction_come_together() -> None:
    store = Store()
    store.put(b"b", b"1")
    watcher = store.watch(b"a", b"z")
    store.txn([], [PutRequest(b"a", b"1"), DeleteRangeRequest(b"b"), PutRequest(b"c", b"1")])
    assert [len(response.events) for response in watcher.pending] == [0, 3]
    assert texts(watcher) == ["PUT a@3", "DELETE b@3", "PUT c@3"]


def test_previous_values_are_sent_on_request_and_not_for_a_creation() -> None:
    store = Store()
    watcher = store.watch(b"a", prev_kv=True)
    store.put(b"a", b"1")
    store.put(b"a", b"2")
    store.delete_range(b"a")
    events = [event for response in watcher.pending for event in response.events]
    assert [event.prev_kv and event.prev_kv.value for event in events] == [None, b"1", b"2"]
    assert events[2].kv == (b"a", 0, 4, 0, b"", 0)


def test_a_compacted_previous_value_is_left_out() -> None:
    store = Store()
    store.put(b"a", b"1")
    store.put(b"a", b"2")
    store.compact(3)
    watcher = store.watch(b"a", start_revision=3, prev_kv=True)
    (event,) = watcher.pending[1].events
    assert (event.kv.value, event.prev_kv) == (b"2", None)


def test_the_previous_value_at_the_compacted_revision_itself_is_still_there() -> None:
    store = Store()
    store.put(b"a", b"1")
    store.put(b"a", b"2")
    store.compact(2)
    (event,) = store.watch(b"a", start_revision=3, prev_kv=True).pending[1].events
    assert event.prev_kv is not None and event.prev_kv.value == b"1"


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        pytest.param(["NOPUT"], ["DELETE a@3"], id="without puts"),
        pytest.param(["NODELETE"], ["PUT a@2"], id="without deletions"),
        pytest.param(["NOPUT", "NODELETE"], [], id="without anything"),
    ],
)
def test_filters(filters: list[str], expected: list[str]) -> None:
    store = Store()
    watcher = store.watch(b"a", filters=filters)
    store.put(b"a", b"1")
    store.delete_range(b"a")
    assert texts(watcher) == expected
    assert len(watcher.pending) == 1 + len(expected), "a suppressed event sends no response"


def test_a_compacted_start_ends_the_watch_and_names_the_revision() -> None:
    store = Store()
    for value in (b"1", b"2", b"3"):
        store.put(b"a", value)
    store.compact(3)
    watcher = store.watch(b"a", start_revision=2)
    assert watcher.canceled
    assert watcher.pending[-1] == WatchResponse(0, compact_revision=3, canceled=True)
    assert not store.watch(b"a", start_revision=3).canceled


def test_compaction_overtakes_an_unsynced_watcher_but_not_a_synced_one() -> None:
    store = Store()
    store.put(b"a", b"1")
    synced, unsynced = store.watch(b"a"), store.watch(b"a", start_revision=2, sync=False)
    assert (synced.is_synced, unsynced.is_synced) == (True, False)
    store.put(b"a", b"2")
    store.compact(3)
    store.sync_watchers()
    assert (synced.canceled, unsynced.canceled) == (False, True)
    assert texts(synced) == ["PUT a@3"]


def test_a_cancelled_watch_says_so_once_and_hears_nothing_more() -> None:
    store = Store()
    watcher = store.watch(b"a")
    watcher.cancel()
    watcher.cancel()
    store.put(b"a", b"1")
    assert list(watcher.pending) == [WatchResponse(1, created=True), WatchResponse(1, canceled=True)]


def test_on_ready_is_called_when_something_is_pending_again() -> None:
    store = Store()
    watcher = store.watch(b"a")
    watcher.pending.clear()
    calls: list[int] = []
    watcher.on_ready = lambda: calls.append(store.revision)
    store.put(b"a", b"1")
    store.put(b"a", b"2")
    assert calls == [2], "the second event found the first one waiting"
    watcher.pending.clear()
    store.put(b"a", b"3")
    assert calls == [2, 4]


def test_progress_is_answered_only_when_synced() -> None:
    store = Store()
    store.put(b"a", b"1")
    watcher = store.watch(b"b", start_revision=2, sync=False)
    assert not watcher.request_progress()
    store.sync_watchers()
    assert watcher.request_progress()
    assert watcher.pending[-1] == WatchResponse(2)


def test_an_empty_interval_is_refused_as_a_cancelled_watch() -> None:
    watcher = Store().watch(b"b", b"a")
    (response,) = watcher.pending
    assert (response.created, response.canceled) == (True, True)
    assert response.cancel_reason == "mvcc: watcher range is empty"
