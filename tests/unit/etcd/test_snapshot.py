"""Snapshots: what comes back, what is refused, and going back in time with and without bumping the revision."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from k8slab.etcd import (
    AlarmMember,
    AlarmRequest,
    CompactedError,
    EtcdServer,
    Image,
    KeyValue,
    LeaseGrantRequest,
    PutRequest,
    Revision,
    SnapshotError,
    SnapshotStatus,
    Store,
    snapshot_status,
)
from k8slab.etcd.snapshot import pack


def busy() -> Store:
    """Puts, deletions, a lease and a compaction."""
    store = Store()
    store.lessor.grant(7, 60)
    for number in range(20):
        store.put(b"k%d" % (number % 6), b"v%d" % number, lease=7 if number == 17 else 0)
    store.delete_range(b"k1", b"k3")
    store.put(b"k1", b"again")
    store.compact(12)
    return store


def without_time(view: dict[str, Any]) -> dict[str, Any]:
    return {**view, "leases": {id: {**lease, "expiry_ms": None} for id, lease in view["leases"].items()}}


def restored(data: bytes, **options: Any) -> Store:
    store = Store()
    store.restore(data, **options)
    store.check_invariants()
    return store


def test_a_restored_store_equals_its_source() -> None:
    source = busy()
    copy = restored(source.snapshot())
    assert without_time(copy.view()) == without_time(source.view())
    for revision in range(12, source.revision + 1):
        assert copy.range(b"\x00", b"\x00", revision=revision) == source.range(b"\x00", b"\x00", revision=revision)
    with pytest.raises(CompactedError):
        copy.range(b"\x00", b"\x00", revision=11)
    assert list(copy.since(0)) == list(source.since(0))
    assert copy.snapshot() == source.snapshot()


def test_a_restored_store_goes_on_as_its_source() -> None:
    source = busy()
    copy = restored(source.snapshot())
    for store in (source, copy):
        store.put(b"k3", b"more", ignore_lease=False)
        store.delete_range(b"k5")
        store.lessor.revoke(7)
        store.compact(store.revision - 1)
        store.check_invariants()
    assert without_time(copy.view()) == without_time(source.view())


def test_leases_do_not_run_before_somebody_leads() -> None:
    copy = restored(busy().snapshot())
    assert copy.lessor.remaining_ms(7, 10**9) is None
    copy.lessor.promote(now_ms=1_000)
    assert copy.lessor.remaining_ms(7, 1_000) == 60_000


def test_a_server_restores_its_alarms_and_its_leases_start_anew() -> None:
    server, copy = EtcdServer(), EtcdServer(member_id=2)
    server.do(LeaseGrantRequest(30, 4), now_ms=0)
    server.do(AlarmRequest("ACTIVATE", 1, "NOSPACE"))
    copy.restore(server.snapshot(), now_ms=100_000)
    assert copy.applier.alarms.get() == (AlarmMember(1, "NOSPACE"),)
    assert copy.lease_time_to_live(4, 101_000).ttl == 29


def test_the_file_is_as_large_as_the_database_and_the_hash() -> None:
    store = busy()
    data = store.snapshot()
    assert len(data) == store.db_size + 32
    assert hashlib.sha256(data[:-32]).digest() == data[-32:]
    status = snapshot_status(data)
    assert status[1:] == (23, len(list(store.since(0))) + 1, store.db_size)
    assert isinstance(status, SnapshotStatus) and status != snapshot_status(Store().snapshot())


def test_free_pages_stay_free_pages() -> None:
    store = Store()
    for _ in range(50):
        store.put(b"k", bytes(3_000))
    store.compact(51)
    copy = restored(store.snapshot())
    assert (copy.db_size, copy.db_size_in_use) == (store.db_size, store.db_size_in_use)


PAGE = bytes(4_096)
GOOD = busy().snapshot()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "seek snapshot: invalid argument", id="an empty file"),
        pytest.param(PAGE, "snapshot missing hash but --skip-hash-check=false", id="a file without hash"),
        pytest.param(GOOD[:-1], "snapshot missing hash but --skip-hash-check=false", id="a byte less"),
        pytest.param(GOOD[:4_096] + GOOD[-32:], r"expected sha256 \[\d+ ", id="pages that are missing"),
        pytest.param(GOOD[:100] + b"?" + GOOD[101:], r"expected sha256 \[\d+ .*\], got \[\d+ ", id="a byte changed"),
        pytest.param(PAGE + hashlib.sha256(PAGE).digest(), "invalid database", id="a file of something else"),
    ],
)
def test_a_damaged_snapshot_is_refused_and_changes_nothing(data: bytes, message: str) -> None:
    store = busy()
    before = store.view()
    with pytest.raises(SnapshotError, match=message):
        store.restore(data)
    assert store.view() == before


def test_every_cut_and_every_changed_byte_is_refused() -> None:
    for length in range(0, len(GOOD), 97):
        with pytest.raises(SnapshotError):
            restored(GOOD[:length])
    for at in range(0, len(GOOD), 211):
        with pytest.raises(SnapshotError):
            restored(GOOD[:at] + bytes([GOOD[at] ^ 1]) + GOOD[at + 1 :])


def test_every_changed_byte_under_its_own_hash_is_refused_or_makes_a_store_that_works() -> None:
    content = GOOD[:-32]
    taken = 0
    for at in range(len(content.rstrip(b"\0"))):
        store = Store()
        for flip in (0x02, 0x01, 0xFF):
            changed = content[:at] + bytes([content[at] ^ flip]) + content[at + 1 :]
            try:
                store.restore(changed + hashlib.sha256(changed).digest())
            except SnapshotError:
                continue
            taken += 1
            store.check_invariants()
            assert store.put(b"more").revision == store.revision
            restored(store.snapshot())
    assert taken > 100, "changed keys and values at least"


def test_a_store_bumped_as_far_as_can_be_goes_on() -> None:
    copy = restored(GOOD, bump_revision=2**62 - 23, mark_compacted=True)
    assert copy.put(b"x").revision == 2**62 + 1
    assert restored(copy.snapshot()).revision == 2**62 + 1
    with pytest.raises(ValueError, match="bump_revision is 1, expected at most 0"):
        restored(copy.snapshot(), bump_revision=1, mark_compacted=True)


def test_without_the_check_of_the_hash_a_copied_file_is_taken_and_nonsense_is_not() -> None:
    assert restored(GOOD[:-32], skip_hash_check=True).revision == 23
    refused = []
    for at in range(1_200):
        store = Store()
        try:
            store.restore(GOOD[:at] + b"\xff" + GOOD[at + 1 : -32], skip_hash_check=True)
        except SnapshotError as error:
            refused.append(at)
            assert "invalid database" in str(error) and store.revision == 1
    assert refused[:14] == list(range(14)), "the first bytes, and whatever else is seen; no other error is raised"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"bump_revision": 5}, "--mark-compacted required if --revision-bump > 0", id="the bump alone"),
        pytest.param({"mark_compacted": True}, "--mark-compacted required if", id="the mark alone"),
        pytest.param(
            {"bump_revision": 2**70, "mark_compacted": True},
            f"bump_revision is {2**70}, expected at most {2**62 - 23}",
            id="a bump beyond what numbers hold",
        ),
        pytest.param({"bump_revision": -1}, "bump_revision is -1, expected 0 or more", id="a step back"),
    ],
)
def test_bumping_and_marking_go_together(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Store().restore(GOOD, **options)


put = (Revision(2), KeyValue(b"k", 2, 2, 1, b"v"))
late = (Revision(2), KeyValue(b"k", 9, 2, 1, b"v"))
later = (Revision(3), KeyValue(b"k", 3, 3, 2, b"v"))
too_often = (Revision(3), KeyValue(b"k", 2, 3, 3, b"v"))
marked = (Revision(3), KeyValue(b"k", 0, 3, 0, b"", 7))
leased = (Revision(2), KeyValue(b"k", 2, 2, 1, b"v", 7))
gone = (Revision(3), KeyValue(b"k", 0, 3, 0, b""))
gone_again = (Revision(4), KeyValue(b"k", 0, 4, 0, b""))

# -- going back in time: what clients of before see ------------------------------------------------


def accident() -> tuple[Store, bytes]:
    """A snapshot at revision 3, and the store after two changes that it knows nothing of."""
    store = Store()
    store.put(b"a", b"1")
    store.put(b"b", b"1")
    data = store.snapshot()
    store.delete_range(b"b")
    store.put(b"c", b"1")
    return store, data


def test_without_a_bump_revisions_go_back_and_a_watch_misses_what_happens() -> None:
    store, data = accident()
    watcher = store.watch(b"\x00", b"\x00", start_revision=store.revision + 1)
    store.restore(data)
    assert store.revision == 3
    store.put(b"d", b"1")
    store.put(b"e", b"1")
    assert [e for response in watcher.pending for e in response.events] == [], "revisions 4 and 5 it had seen already"
    store.put(b"f", b"1")
    assert [e.kv.key for response in watcher.pending for e in response.events] == [b"f"]


def test_with_a_bump_the_watch_is_ended_and_a_new_list_is_after_all_that_was_seen() -> None:
    store, data = accident()
    seen = store.revision
    watcher = store.watch(b"\x00", b"\x00", start_revision=seen + 1)
    stream = store.watch_stream()
    stream.watch(b"a")
    store.restore(data, bump_revision=1_000, mark_compacted=True)
    assert (store.revision, store.compact_revision) == (1_003, 1_003)
    assert watcher.canceled and watcher.pending[-1].compact_revision == 1_003
    assert stream.receive()[-1].compact_revision == 1_003
    assert store.watch(b"a", start_revision=seen + 1).canceled
    response = store.range(b"\x00", b"\x00")
    assert (response.revision, [kv.key for kv in response.kvs]) == (1_003, [b"a", b"b"])
    assert not store.watch(b"a", start_revision=1_004).canceled
    with pytest.raises(CompactedError):
        store.range(b"a", revision=1_002)
    assert store.put(b"x").revision == 1_004
    store.check_invariants()


def test_with_a_bump_history_is_compacted_away() -> None:
    store = Store()
    for value in (b"1", b"2", b"3"):
        store.put(b"a", value)
    store.put(b"b", b"1")
    store.delete_range(b"b")
    copy = restored(store.snapshot(), bump_revision=10, mark_compacted=True)
    assert [(kv.key, kv.mod_revision) for kv in copy.since(0)] == [(b"a", 4)]
    assert copy.range(b"a").kvs == store.range(b"a").kvs


@pytest.mark.parametrize(
    ("records", "leases", "message"),
    [
        pytest.param([put, gone, gone_again], (), "record 4.0 deletes b'k', which does not", id="deleted twice"),
        pytest.param([gone], (), "record 3.0 deletes b'k', which does not live", id="a deletion of nothing"),
        pytest.param([leased], (), "b'k' hangs on lease 7, which is not there", id="a lease that was not granted"),
        pytest.param(
            [late], (), "of b'k' has version 1 and create_revision 9, expected 1 and 2 to", id="created after"
        ),
        pytest.param(
            [put, later], (), "version 2 and create_revision 3, expected 2 and 2 to 2", id="created in between"
        ),
        pytest.param([too_often], (), "version 3 and create_revision 2, expected 3 and 2 to 1", id="too many versions"),
        pytest.param([put, marked], ((7, 60),), "deletes b'k' and holds more than that", id="a deletion with a lease"),
        pytest.param([put], ((0, 60),), "lease 0 of 60 seconds, expected an id", id="a lease without id"),
        pytest.param([put], ((7, 10**10),), "lease 7 of 10000000000 seconds, expected", id="a lease of 300 years"),
        pytest.param([gone, put], (), "record 2.0 of key b'k' does not fit", id="records out of order"),
    ],
)
def test_contents_that_cannot_be_are_refused_though_their_hash_be_right(
    records: Any, leases: Any, message: str
) -> None:
    with pytest.raises(SnapshotError, match=message):
        restored(pack(Image(9, -1, leases, tuple(records))))


def test_a_follower_that_gets_a_snapshot_feeds_its_watchers_what_they_missed() -> None:
    """As Raft's snapshots are restored: the revision goes forward, and no event is lost or doubled."""
    leader, follower = EtcdServer(), EtcdServer(is_leader=False)
    requests = [PutRequest(b"k", b"%d" % number) for number in range(30)]
    stream = follower.store.watch_stream()
    stream.watch(b"k")
    for number, request in enumerate(requests):
        leader.apply(request)
        if number < 10:
            follower.apply(request)
    leader.store.compact(8)
    follower.restore(leader.snapshot())
    events = [event.kv.mod_revision for response in stream.receive() for event in response.events]
    assert events == list(range(2, 32))
