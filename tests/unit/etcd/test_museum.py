"""The museum's second room: a fault is caught by the check it names, the mended lines pass the same experiment."""

from __future__ import annotations

import inspect
import re

import pytest

from k8slab.etcd.cluster import EtcdCluster
from k8slab.etcd.messages import (
    FROM_KEY,
    Event,
    EventType,
    KeyValue,
    PutRequest,
    RangeRequest,
    RangeResponse,
    WatchResponse,
)
from k8slab.etcd.museum import EXHIBITS, Follower, Paused, overtaken, show
from k8slab.etcd.store import Store
from k8slab.raft.museum import lines

WIDTH = 80
"""Of a cell's output in a page, in characters."""


@pytest.mark.parametrize("name", EXHIBITS)
def test_the_check_finds_the_fault_and_nothing_in_the_mended_lines(name: str) -> None:
    found = show(name)
    assert found and all(problem.startswith(EXHIBITS[name].check) for problem in found), found
    assert show(name, mended=True) == []
    assert show(name) == found


@pytest.mark.parametrize("name", EXHIBITS)
def test_an_exhibit_says_where_it_happened_and_shows_few_lines(name: str) -> None:
    exhibit = EXHIBITS[name]
    assert exhibit.name == name
    assert re.search(r"\b\d{3,6}\b", exhibit.source), "the number of an issue"
    assert bool(exhibit.wrong) != bool(exhibit.mended)
    shown = lines(exhibit.wrong or exhibit.mended)
    assert len(shown.split("\n")) <= 12
    shown += f"\n{inspect.getsource(exhibit.experiment)}"
    assert max(map(len, shown.split("\n"))) <= WIDTH


def test_an_unknown_exhibit_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="mona-lisa"):
        show("mona-lisa")


def events(revision: int, *, header: int, watch_id: int = 0) -> WatchResponse:
    """A response of one event."""
    kv = KeyValue(b"a", revision, revision, 1, b"")
    return WatchResponse(header, (Event(EventType.PUT, kv, None),), watch_id=watch_id)


def test_progress_is_overtaken_by_what_it_vouched_for_and_by_nothing_else() -> None:
    at_4 = WatchResponse(4, watch_id=-1)
    assert overtaken([events(2, header=4), at_4, events(5, header=5)]) == []
    assert overtaken([at_4, events(4, header=4)]) == [
        "an event of revision 4 comes after the stream said that it was at 4"
    ]
    assert overtaken([WatchResponse(4, created=True), events(2, header=4)]) == []


def test_a_follower_keeps_a_copy_through_all_that_a_store_does() -> None:
    store = Store()
    store.put(b"a", b"1")
    follower = Follower(store)
    assert follower.values == {b"a": b"1"}
    store.put(b"b", b"2")
    store.delete_range(b"a")
    assert follower.differences() == []
    assert (follower.values, follower.revision) == ({b"b": b"2"}, 4)
    store.put(b"c", b"3")
    follower.reconnect()
    assert follower.differences() == []
    store.put(b"d", b"4")
    follower.watcher.cancel()
    store.compact(store.revision)
    follower.watcher = store.watch(FROM_KEY, FROM_KEY, 2)  # from before: it is told to list again
    assert follower.differences() == []
    assert follower.values == {b"b": b"2", b"c": b"3", b"d": b"4"}


def test_a_difference_is_told_from_both_sides() -> None:
    store = Store()
    store.put(b"a", b"1")
    follower = Follower(store)
    follower.values = {b"a": b"2", b"z": b"0"}
    assert follower.differences() == [
        "the copy has '2' for a, the store '1'",
        "the copy has '0' for z, the store nothing",
    ]


def test_a_paused_member_hears_nothing_until_it_is_let_and_then_everything_in_order() -> None:
    etcd = EtcdCluster(3, seed=1, trace=False)
    etcd.do(PutRequest(b"x", b"1"))
    etcd.run(for_ms=300)
    leader, away = etcd.leader, etcd.leader % 3 + 1
    paused = Paused(etcd, away)
    etcd.do(PutRequest(b"x", b"2"))
    etcd.run(for_ms=1_000)
    sender = etcd.raft.endpoint(leader)
    assert list(paused.waiting) == [sender]
    sent = [carried.message.type for carried in paused.waiting[sender]]
    assert sent.count("MsgHeartbeat") == 10 and "MsgApp" in sent
    assert etcd.store(away).revision == 2
    paused.hear(leader, most=sent.index("MsgApp"))
    etcd.run(for_ms=1)
    assert etcd.store(away).revision == 2
    paused.resume()
    etcd.run(for_ms=300)
    assert etcd.store(away).revision == 3
    assert not paused.waiting[sender]


def test_a_leader_that_is_paused_takes_the_others_new_leader_when_it_goes_on() -> None:
    etcd = EtcdCluster(3, seed=1, trace=False)
    etcd.do(PutRequest(b"x", b"1"))
    old = etcd.leader
    paused = Paused(etcd, old)
    assert etcd.run(until=lambda: etcd.leader not in (0, old), for_ms=10_000)
    assert etcd.raft.members[old].view()["role"] == "leader"
    paused.resume()
    etcd.run(for_ms=300)
    assert etcd.raft.members[old].view()["role"] == "follower"
    answer = etcd.do(RangeRequest(b"x"), via=old)
    assert isinstance(answer, RangeResponse) and answer.kvs[0].value == b"1"
