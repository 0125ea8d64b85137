"""A member: what it refuses before and after the agreement, alarms, quota, leases, compaction by itself."""

from __future__ import annotations

import random
from typing import Any

import pytest

from k8slab.etcd import (
    AlarmMember,
    AlarmRequest,
    Applier,
    CompactedError,
    CompactionRequest,
    CompactionResponse,
    CorruptError,
    DeleteRangeRequest,
    DuplicateKeyError,
    EmptyKeyError,
    EtcdServer,
    KeyNotFoundError,
    LeaseGrantRequest,
    LeaseKeepAliveResponse,
    LeaseRevokeRequest,
    LeaseTimeToLiveResponse,
    NoSpaceError,
    NotPrimaryError,
    PeriodicCompactor,
    PutRequest,
    RangeRequest,
    RequestTooLargeError,
    RevisionCompactor,
    TooManyOpsError,
    TxnRequest,
    decode,
    encode,
    is_readonly,
    is_serializable,
)


def raises(call: Any, error: type[Exception]) -> bool:
    with pytest.raises(error):
        call()
    return True


# -- before the agreement --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        pytest.param(PutRequest(b""), EmptyKeyError, id="a put without key"),
        pytest.param(TxnRequest((), (PutRequest(b"a"), PutRequest(b"a"))), DuplicateKeyError, id="a key twice"),
        pytest.param(TxnRequest((), (RangeRequest(b"a"),) * 129), TooManyOpsError, id="129 operations"),
        pytest.param(PutRequest(b"a", bytes(1_572_864)), RequestTooLargeError, id="a value of 1.5 MiB"),
    ],
)
def test_what_never_could_be_is_not_proposed(request_: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        EtcdServer().prepare(request_)


def test_what_the_store_would_refuse_is_proposed_and_refused_by_all() -> None:
    servers = [EtcdServer(member_id=id) for id in (1, 2)]
    request = servers[0].prepare(PutRequest(b"a", ignore_value=True))
    assert all(raises(lambda each=each: each.apply(request), KeyNotFoundError) for each in servers)


def test_limits_are_settings() -> None:
    server = EtcdServer(max_txn_ops=200, max_request_bytes=1_000)
    assert len(server.do(TxnRequest((), (RangeRequest(b"a"),) * 150)).responses) == 150
    server.do(TxnRequest((), tuple(DeleteRangeRequest(b"%d" % n) for n in range(50))))
    assert raises(lambda: server.do(PutRequest(b"a", bytes(1_000))), RequestTooLargeError)


def test_a_lease_without_id_gets_one_from_the_stream_before_it_is_proposed() -> None:
    grants = [EtcdServer(rng=random.Random(7)).prepare(LeaseGrantRequest(10)) for _ in range(2)]
    assert grants[0] == grants[1] != LeaseGrantRequest(10)
    assert 0 < grants[0].id < 2**63
    with pytest.raises(ValueError, match="a lease with id 0 needs an id"):
        EtcdServer().prepare(LeaseGrantRequest(10))


@pytest.mark.parametrize(
    ("request_", "readonly", "serializable"),
    [
        pytest.param(RangeRequest(b"a"), True, False, id="a range"),
        pytest.param(RangeRequest(b"a", serializable=True), True, True, id="a serializable range"),
        pytest.param(TxnRequest((), (RangeRequest(b"a"),), ()), True, False, id="a transaction that reads"),
        pytest.param(
            TxnRequest((), (RangeRequest(b"a", serializable=True),), ()), True, True, id="a serializable transaction"
        ),
        pytest.param(TxnRequest((), (), (PutRequest(b"a"),)), False, False, id="a transaction that may write"),
        pytest.param(TxnRequest((), (TxnRequest(),), ()), False, False, id="a nested one, whatever it holds"),
        pytest.param(PutRequest(b"a"), False, False, id="a put"),
    ],
)
def test_what_goes_into_the_log(request_: Any, readonly: bool, serializable: bool) -> None:
    assert (is_readonly(request_), is_serializable(request_)) == (readonly, serializable)


# -- members agree ---------------------------------------------------------------------------------


def test_members_that_apply_the_same_log_at_other_times_hold_the_same() -> None:
    leader = EtcdServer(member_id=1, rng=random.Random(1))
    others = [EtcdServer(member_id=id, is_leader=False) for id in (2, 3)]
    log = []
    requests: list[Any] = [
        LeaseGrantRequest(10),
        PutRequest(b"a", b"1"),
        DeleteRangeRequest(b"a"),
        CompactionRequest(2),
    ]
    for number, request in enumerate(requests):
        log.append(encode(leader.prepare(request), number))
        leader.apply(decode(log[-1])[1], now_ms=number)
    lease = leader.lease_leases().leases[0]
    log.append(encode(leader.prepare(PutRequest(b"b", b"2", lease)), 9))
    leader.apply(decode(log[-1])[1], now_ms=50)
    (revoke,) = leader.due(now_ms=10_000)
    assert revoke == LeaseRevokeRequest(lease)
    log.append(encode(revoke))
    leader.apply(revoke, now_ms=10_000)
    for delay, other in enumerate(others, 1):
        for entry in log:
            other.apply(decode(entry)[1], now_ms=delay * 77_777)
        assert other.due(10**9) == [] and other.snapshot() == leader.snapshot()


def test_a_new_leader_gives_every_lease_its_time_and_an_election_timeout() -> None:
    server = EtcdServer(is_leader=False)
    server.apply(LeaseGrantRequest(10, 7), now_ms=0)
    with pytest.raises(NotPrimaryError):
        server.lease_keep_alive(7, now_ms=1)
    server.promote(now_ms=5_000)
    assert server.lease_time_to_live(7, 5_000).ttl == 11
    assert server.next_due_ms == 16_000
    server.demote()
    assert server.next_due_ms is None


# -- leases ----------------------------------------------------------------------------------------


def test_leases_over_time() -> None:
    server = EtcdServer()
    server.do(LeaseGrantRequest(10, 7), now_ms=0)
    server.do(PutRequest(b"b", b"1", 7))
    server.do(PutRequest(b"a", b"1", 7))
    assert server.lease_time_to_live(7, 3_001, keys=True) == LeaseTimeToLiveResponse(3, 7, 6, 10, (b"a", b"b"))
    assert server.lease_keep_alive(7, 9_999) == LeaseKeepAliveResponse(3, 7, 10)
    assert server.tick(19_998) == []
    assert server.tick(19_999) == [LeaseRevokeRequest(7)]
    assert server.store.revision == 4
    assert server.lease_keep_alive(7, 20_000) == LeaseKeepAliveResponse(4, 7, 0)
    assert server.lease_time_to_live(7, 20_000) == LeaseTimeToLiveResponse(4, 7, -1)


# -- space -----------------------------------------------------------------------------------------


def full(quota: int = 100_000) -> EtcdServer:
    """A server that has just refused a put and raised the alarm."""
    server = EtcdServer(member_id=5, quota_backend_bytes=quota)
    with pytest.raises(NoSpaceError, match="etcdserver: mvcc: database space exceeded"):
        for _ in range(100):
            server.do(PutRequest(b"k", bytes(10_000)))
    return server


def test_a_full_server_raises_the_alarm_and_takes_only_what_makes_room() -> None:
    server = full()
    assert server.do(AlarmRequest()).alarms == (AlarmMember(5, "NOSPACE"),)
    put = TxnRequest((), (PutRequest(b"x"),), ())
    for request in (PutRequest(b"x"), put, LeaseGrantRequest(10, 7)):
        assert raises(lambda request=request: server.do(request), NoSpaceError)
    assert server.do(RangeRequest(b"k")).count == 1
    assert server.do(TxnRequest((), (RangeRequest(b"k"),), ())).succeeded
    assert server.do(DeleteRangeRequest(b"k")).deleted == 1
    assert isinstance(server.do(CompactionRequest(server.store.revision)), CompactionResponse)


def test_room_comes_from_compaction_and_defragmentation_and_the_alarm_must_be_disarmed() -> None:
    server = full()
    size = server.store.db_size
    server.do(CompactionRequest(server.store.revision))
    assert server.store.db_size == size and server.store.db_size_in_use < size / 2
    server.do(AlarmRequest("DEACTIVATE", 5, "NOSPACE"))
    assert raises(lambda: server.do(PutRequest(b"k", bytes(10_000))), NoSpaceError), "the file is as large as before"
    assert server.do(AlarmRequest()).alarms != ()
    server.store.defrag()
    assert raises(lambda: server.do(PutRequest(b"k", bytes(10_000))), NoSpaceError), "the alarm is on"
    server.do(AlarmRequest("DEACTIVATE", 5, "NOSPACE"))
    assert server.do(PutRequest(b"k", bytes(10_000))).revision == server.store.revision


def test_a_put_that_was_agreed_on_beyond_the_quota_is_done_and_answered_with_the_error() -> None:
    """Two members let it pass before either was full."""
    server = EtcdServer(quota_backend_bytes=50_000)
    requests = [server.prepare(PutRequest(b"k%d" % n, bytes(20_000))) for n in range(2)]
    server.apply(requests[0])
    assert raises(lambda: server.apply(requests[1]), NoSpaceError)
    assert server.store.range(b"k1").count == 1


def test_over_the_quota_even_a_transaction_that_only_reads_is_refused() -> None:
    server = EtcdServer(quota_backend_bytes=50_000)
    server.applier.store.put(b"k", bytes(40_000))
    assert server.store.db_size >= 50_000
    assert raises(lambda: server.do(TxnRequest((), (RangeRequest(b"k"),), ())), NoSpaceError)
    assert server.do(RangeRequest(b"k")).count == 1


def test_puts_in_nested_transactions_cost_nothing_and_slip_past_the_alarm() -> None:
    """As upstream, whose cost function looks at the outermost operations alone."""
    server = full()
    server.do(TxnRequest((), (TxnRequest((), (PutRequest(b"x"),), ()),), ()))
    assert server.store.range(b"x").count == 1


@pytest.mark.parametrize(
    ("quota", "most"),
    [
        pytest.param(0, 2 * 1024**3, id="0 is the default, 2 GiB"),
        pytest.param(1_000, 1_000, id="a number is that many bytes"),
    ],
)
def test_quota(quota: int, most: int) -> None:
    assert Applier(quota_backend_bytes=quota).quota.max_backend_bytes == most


def test_a_negative_quota_is_none() -> None:
    server = EtcdServer(quota_backend_bytes=-1)
    assert server.applier.quota.is_available(PutRequest(b"k"), db_size=10**15)


# -- alarms ----------------------------------------------------------------------------------------


def test_alarms_are_raised_listed_and_disarmed_by_member_and_kind() -> None:
    server = EtcdServer()
    space, corrupt = AlarmMember(1, "NOSPACE"), AlarmMember(2, "CORRUPT")
    assert server.do(AlarmRequest("ACTIVATE", *space)).alarms == (space,)
    assert server.do(AlarmRequest("ACTIVATE", *space)).alarms == (space,), "it is on already"
    assert server.do(AlarmRequest("ACTIVATE", *corrupt)).alarms == (corrupt,)
    assert server.do(AlarmRequest("GET", 0, "CORRUPT")).alarms == (corrupt,)
    assert server.do(AlarmRequest("GET")).alarms == (space, corrupt)
    assert server.do(AlarmRequest("ACTIVATE", 1, "NONE")).alarms == ()
    assert server.do(AlarmRequest("DEACTIVATE", 9, "NOSPACE")).alarms == (), "not raised by that member"
    assert server.do(AlarmRequest("DEACTIVATE", *space)).alarms == (space,)
    assert server.do(AlarmRequest("GET")).alarms == (corrupt,)


def test_a_corrupt_cluster_answers_reads_alone() -> None:
    server = EtcdServer()
    server.do(PutRequest(b"a", b"1"))
    server.do(AlarmRequest("ACTIVATE", 1, "CORRUPT"))
    for request in (PutRequest(b"a"), DeleteRangeRequest(b"a"), CompactionRequest(2), LeaseGrantRequest(5, 1)):
        with pytest.raises(CorruptError, match="etcdserver: corrupt cluster"):
            server.do(request)
    assert server.do(RangeRequest(b"a")).count == 1


def test_an_unknown_alarm_is_named() -> None:
    with pytest.raises(ValueError, match="alarm is 'FIRE', expected one of NONE, NOSPACE, CORRUPT"):
        EtcdServer().do(AlarmRequest("ACTIVATE", 1, "FIRE"))
    with pytest.raises(ValueError, match="expected a range or a transaction of ranges alone"):
        Applier().read(PutRequest(b"a"))
    with pytest.raises(TypeError, match="request is 'put', expected one of RangeRequest"):
        EtcdServer().do("put")


# -- compaction by itself --------------------------------------------------------------------------


def test_the_leader_compacts_what_its_compactor_says() -> None:
    server = EtcdServer(compactor=RevisionCompactor(3))
    for _ in range(10):
        server.do(PutRequest(b"k"))
    assert server.next_due_ms == 300_000
    assert server.tick(300_000) == [CompactionRequest(8)]
    assert server.store.compact_revision == 8
    assert server.tick(600_000) == [], "nothing new since"
    server.demote()
    server.store.put(b"k", b"2")
    assert server.due(900_000) == []


def test_a_compaction_that_was_done_already_counts_as_done() -> None:
    server = EtcdServer(compactor=RevisionCompactor(1))
    server.do(PutRequest(b"k"))
    server.do(PutRequest(b"k"))
    server.do(CompactionRequest(3))
    assert server.tick(300_000) == [CompactionRequest(2)]
    assert server.tick(600_000) == []
    assert raises(lambda: server.do(CompactionRequest(2)), CompactedError)


def test_a_periodic_compactor_keeps_the_history_of_its_retention() -> None:
    """Ten minutes: noted every minute; first at minute 10, then every ten, always what was noted ten minutes before."""
    compactor = PeriodicCompactor(600_000, revision=1)
    found = {}
    for minute in range(1, 41):
        due = compactor.tick(minute * 60_000, revision=100 * minute)
        if due is not None:
            found[minute] = due
            compactor.compacted(minute * 60_000, due)
    assert found == {10: 1, 20: 900, 30: 1_900, 40: 2_900}


def test_a_periodic_compactor_of_a_day_compacts_every_hour_after_the_first_day() -> None:
    compactor = PeriodicCompactor(24 * 3_600_000, revision=1)
    found = []
    for step in range(1, 10 * 27 + 1):
        due = compactor.tick(step * 360_000, revision=step)
        if due is not None:
            found.append((step / 10, due))
            compactor.compacted(step * 360_000, due)
    assert found == [(24.0, 1), (25.0, 9), (26.0, 19), (27.0, 29)]


def test_a_periodic_compaction_that_failed_is_tried_again_after_a_tenth() -> None:
    compactor = PeriodicCompactor(600_000, revision=1)
    for minute in range(1, 10):
        assert compactor.tick(minute * 60_000, revision=2) is None
    assert [compactor.tick(minute * 60_000, revision=2) for minute in (10, 11)] == [1, 1]
    compactor.compacted(660_000, 1)
    assert compactor.tick(720_000, revision=2) is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        pytest.param(lambda: PeriodicCompactor(9), "retention_ms is 9, expected at least 10", id="a retention of 9 ms"),
        pytest.param(lambda: RevisionCompactor(0), "retention is 0, expected at least 1 revision", id="no revision"),
        pytest.param(lambda: EtcdServer(quota_backend_bytes="2G"), "quota_backend_bytes is '2G'", id="a text as quota"),
    ],
)
def test_bad_settings_are_named(call: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_view() -> None:
    server = full()
    view = server.view()
    assert (view["is_leader"], view["alarms"]) == (True, {"5/NOSPACE": True})
    assert view["db_size"] >= view["db_size_in_use"] > 0
