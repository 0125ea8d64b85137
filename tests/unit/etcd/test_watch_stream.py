"""Several watches on one stream: ids, a queue that fills up, progress, fragments, closing."""

from __future__ import annotations

import random
from typing import Any

import pytest

from k8slab.etcd import Event, EventType, KeyValue, Store, WatchResponse, WatchStream
from k8slab.etcd.watch_stream import fragments


def ids(responses: list[WatchResponse]) -> list[int]:
    return [response.watch_id for response in responses]


def seen(responses: list[WatchResponse], watch_id: int = 0) -> list[int]:
    """Revisions of the events of a watch, in order."""
    return [e.kv.mod_revision for r in responses if r.watch_id == watch_id for e in r.events]


def test_ids_are_given_from_0_on_past_those_that_were_chosen() -> None:
    stream = Store().watch_stream()
    assert [stream.watch(b"a", watch_id=id) for id in (1, 0, 0, 7, 0)] == [1, 0, 2, 7, 3]
    assert ids(stream.receive()) == [1, 0, 2, 7, 3]


def test_an_id_that_is_taken_is_refused() -> None:
    stream = Store().watch_stream()
    assert [stream.watch(b"a", watch_id=5), stream.watch(b"b", watch_id=5)] == [5, -1]
    assert stream.receive()[1] == WatchResponse(
        1,
        created=True,
        canceled=True,
        cancel_reason="mvcc: duplicate watch ID provided on the WatchStream",
        watch_id=-1,
    )
    assert stream.cancel(5) and stream.watch(b"b", watch_id=5) == 5, "a cancelled id is free again"


def test_an_empty_interval_is_refused_and_takes_no_id() -> None:
    stream = Store().watch_stream()
    assert [stream.watch(b"b", b"a"), stream.watch(b"a")] == [-1, 0]
    refused, created = stream.receive()
    assert (refused.watch_id, refused.cancel_reason) == (-1, "mvcc: watcher range is empty")
    assert (created.watch_id, created.created) == (0, True)


def test_a_cancelled_watch_hears_nothing_more_and_the_others_do() -> None:
    store = Store()
    stream = store.watch_stream()
    stream.watch(b"a")
    stream.watch(b"a")
    assert (stream.cancel(0), stream.cancel(0), stream.cancel(9)) == (True, False, False)
    store.put(b"a", b"1")
    responses = stream.receive()
    assert responses[2:] == [WatchResponse(1, canceled=True), responses[3]]
    assert ids(responses) == [0, 1, 0, 1]


def test_compaction_ends_a_watch_of_the_past_and_its_id_stays_until_it_is_cancelled() -> None:
    store = Store()
    for value in (b"1", b"2", b"3"):
        store.put(b"a", value)
    store.compact(3)
    stream = store.watch_stream()
    stream.watch(b"a", watch_id=4, start_revision=2)
    stream.sync()
    assert stream.receive()[1:] == [WatchResponse(0, compact_revision=3, canceled=True, watch_id=4)]
    assert stream.watch(b"a", watch_id=4) == -1
    assert stream.cancel(4)
    assert stream.receive()[-1] == WatchResponse(4, canceled=True, watch_id=4)
    stream.check_invariants()


def test_a_full_queue_takes_no_more_and_the_reader_gets_every_event_once_and_in_order() -> None:
    store = Store()
    stream = store.watch_stream(capacity=4)
    stream.watch(b"a")
    got = stream.receive()
    for _ in range(50):
        store.put(b"a", b"1")
        assert len(stream.pending) <= 4
        assert stream.view()["0"]["state"] == ("synced" if store.revision <= 5 else "victim")
        store.check_invariants()
    got += stream.receive()
    assert stream.view()["0"]["state"] == "synced", "there was room, so it was fed from the history"
    while stream.pending:
        got += stream.receive()
    assert seen(got) == list(range(2, 52))
    store.put(b"a", b"1")
    assert seen(stream.receive()) == [52]


def test_one_slow_reader_does_not_hold_up_another() -> None:
    store = Store()
    slow, quick = store.watch_stream(capacity=1), store.watch_stream(capacity=2)
    for stream in (slow, quick):
        stream.watch(b"a")
    quick.receive()
    for _ in range(10):
        store.put(b"a", b"1")
        assert len(quick.receive()) == 1
    assert len(slow.pending) == 1


def test_a_compaction_that_is_faster_than_a_slow_reader_ends_its_watch() -> None:
    store = Store()
    stream = store.watch_stream(capacity=1)
    stream.watch(b"a")
    for _ in range(10):
        store.put(b"a", b"1")
    store.compact(8)
    got = [*stream.receive(), *stream.receive(), *stream.receive()]
    assert seen(got) == [2], "the one that was kept for it"
    assert got[-1] == WatchResponse(0, compact_revision=8, canceled=True)


def test_the_past_comes_in_pieces_of_1000_revisions() -> None:
    store = Store()
    for _ in range(2_500):
        store.put(b"a", b"1")
    stream = store.watch_stream()
    stream.watch(b"a", start_revision=2)
    got = [*stream.receive(), *stream.receive()]
    assert [len(response.events) for response in got] == [0, 1_000, 1_000, 500]
    assert seen(got) == list(range(2, 2_502))


def test_progress_has_id_minus_1_and_stands_behind_every_event_up_to_its_revision() -> None:
    store = Store()
    store.put(b"a", b"1")
    stream = store.watch_stream()
    stream.watch(b"a", start_revision=2)
    assert stream.request_progress()
    assert stream.receive()[1:] == [
        WatchResponse(2, (Event(EventType.PUT, store.range(b"a").kvs[0]),)),
        WatchResponse(2, watch_id=-1),
    ]


def test_progress_waits_for_a_watcher_that_is_behind() -> None:
    store = Store()
    stream = store.watch_stream(capacity=2)
    stream.watch(b"a")
    for _ in range(5):
        store.put(b"a", b"1")
    assert not stream.request_progress()
    got = stream.receive()
    assert -1 not in ids(got)
    while -1 not in ids(got):
        got += stream.receive()
    assert got[-1] == WatchResponse(6, watch_id=-1)
    assert seen(got) == [2, 3, 4, 5, 6]


def test_before_3_5_8_progress_overtook_events() -> None:
    store = Store()
    store.put(b"a", b"1")
    stream = store.watch_stream(early_progress=True)
    stream.watch(b"a", start_revision=2)
    assert stream.request_progress()
    stream.sync()
    progress, past = stream.receive()[1:]
    assert (progress.watch_id, progress.revision) == (-1, 2)
    assert past.events[0].kv.mod_revision == 2, "an event of the past that the progress had vouched for"


def test_progress_nobody_asked_for_comes_when_a_watcher_was_quiet_for_an_interval() -> None:
    store = Store()
    stream = store.watch_stream(progress_interval_ms=1_000)
    stream.watch(b"a", progress_notify=True)
    stream.watch(b"b", progress_notify=True)
    stream.watch(b"c")
    stream.receive()
    store.put(b"a", b"1")
    assert [stream.tick(now) for now in (999, 1_000, 1_001)] == [0, 1, 0]
    assert stream.receive()[1:] == [WatchResponse(2, watch_id=1)], "not the one that had an event, nor the third"
    assert stream.tick(2_000) == 2
    assert stream.receive() == [WatchResponse(2, watch_id=0), WatchResponse(2, watch_id=1)]


def test_the_interval_has_a_minimum_and_up_to_a_tenth_of_chance() -> None:
    store = Store()
    assert store.watch_stream(progress_interval_ms=1).interval_ms == 100
    assert store.watch_stream().interval_ms == 600_000
    drawn = {store.watch_stream(rng=random.Random(seed)).interval_ms for seed in range(50)}
    assert len(drawn) > 40 and min(drawn) >= 600_000 and max(drawn) < 660_000


def event(number: int, size: int) -> Event:
    return Event(EventType.PUT, KeyValue(b"k%d" % number, 2, 2, 1, bytes(size)))


def test_fragments_hold_less_than_the_limit_or_one_event_and_all_but_the_last_are_marked() -> None:
    response = WatchResponse(2, tuple(event(number, size) for number, size in enumerate([10, 10, 500, 10, 10])))
    parts = list(fragments(response, most=120))
    assert [[e.kv.key for e in part.events] for part in parts] == [[b"k0", b"k1"], [b"k2"], [b"k3", b"k4"]]
    assert [part.fragment for part in parts] == [True, True, False]


@pytest.mark.parametrize(
    ("most", "sizes"),
    [
        pytest.param(76, [1, 1], id="two that reach the limit come apart"),
        pytest.param(77, [2], id="two that are below it come together"),
    ],
)
def test_a_fragment_stays_below_the_limit(most: int, sizes: list[int]) -> None:
    """38 bytes an event: 16, and a KeyValue of 22 (key 2 + 2, three numbers of 2, value 2 + 10)."""
    response = WatchResponse(2, (event(0, 10), event(1, 10)))
    assert [len(part.events) for part in fragments(response, most=most)] == sizes


def test_only_who_asks_for_fragments_gets_them() -> None:
    store = Store()
    for number in range(3):
        store.put(b"k%d" % number, bytes(1_000_000))
    counts = []
    for fragment in (False, True):
        stream = store.watch_stream()
        stream.watch(b"k", b"l", start_revision=2, fragment=fragment)
        stream.sync()
        counts.append([len(response.events) for response in stream.receive()[1:]])
    assert counts == [[3], [2, 1]]


def test_on_ready_is_called_when_something_is_pending_again() -> None:
    store = Store()
    stream = store.watch_stream()
    stream.watch(b"a")
    stream.receive()
    calls: list[int] = []
    stream.on_ready = lambda: calls.append(store.revision)
    store.put(b"a", b"1")
    store.put(b"a", b"2")
    assert calls == [2]


def test_a_closed_stream_is_silent_and_takes_no_watch() -> None:
    store = Store()
    stream = store.watch_stream()
    stream.watch(b"a")
    stream.close()
    store.put(b"a", b"1")
    assert stream.receive() == [] and store.view()["watchers"] == {}
    with pytest.raises(ValueError, match="the watch stream is closed"):
        stream.watch(b"a")
    stream.check_invariants()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(lambda s: s.watch_stream(capacity=0), "capacity is 0, expected at least 1", id="no capacity"),
        pytest.param(lambda s: s.watch_stream().watch(b"a", start_revision=-1), "start_revision is -1", id="a start"),
        pytest.param(
            lambda s: s.watch_stream().watch(b"a", filters=["NO"]),
            "filter is 'NO', expected one of NOPUT",
            id="a filter",
        ),
        pytest.param(
            lambda s: s.watch_stream(progress_interval_ms=0),
            "progress_interval_ms: 0: expected 1 millisecond or more",
            id="no interval",
        ),
        pytest.param(
            lambda s: s.watch_stream(progress_interval_ms=-5),
            "progress_interval_ms: -5: expected 1 millisecond or more",
            id="an interval of the past",
        ),
        pytest.param(
            lambda s: s.watch_stream(progress_interval_ms="x"),
            "progress_interval_ms: 'x': expected a whole number of milliseconds",
            id="an interval as text",
        ),
        pytest.param(
            lambda s: s.watch_stream(now_ms=-1), "now_ms: -1: expected 0 milliseconds or more", id="a time before all"
        ),
        pytest.param(lambda s: s.watch_stream(rng=7), "rng is 7, expected a random.Random", id="a seed"),
        pytest.param(
            lambda s: s.watch_stream(True), "capacity is True, expected at least 1", id="a yes for a capacity"
        ),
        pytest.param(
            lambda s: s.watch_stream().tick(-1), "now_ms: -1: expected 0 milliseconds or more", id="a tick before all"
        ),
        pytest.param(
            lambda s: s.watch_stream().watch(b"a", watch_id=True),
            "watch_id is True, expected int",
            id="a yes for an id",
        ),
        pytest.param(lambda s: s.watch_stream().cancel("x"), "watch_id is 'x', expected int", id="a text for an id"),
        pytest.param(lambda s: WatchStream(5), "hub is 5, expected a WatchHub", id="no hub"),  # type: ignore[arg-type]
    ],
)
def test_bad_input_is_named(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call(Store())


def test_a_clock_that_runs_backwards_is_refused_and_no_notification_lost() -> None:
    stream = Store().watch_stream(now_ms=50, progress_interval_ms=1_000)
    stream.watch(b"a", progress_notify=True)
    assert stream.tick(700) == 0
    with pytest.raises(ValueError, match=r"^now_ms: 699: expected 700 milliseconds or more$"):
        stream.tick(699)
    assert [stream.tick(now) for now in (700, 1_050)] == [0, 1]


def test_a_stream_belongs_to_a_store() -> None:
    assert isinstance(Store().watch_stream(), WatchStream)
