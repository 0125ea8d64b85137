"""A server with leases, slow readers and snapshots against a twin: a list of all changes, and dates in a dict."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from k8slab.etcd import (
    CompactionRequest,
    DeleteRangeRequest,
    EtcdError,
    EtcdServer,
    Event,
    LeaseGrantRequest,
    LeaseRevokeRequest,
    PutRequest,
    TxnRequest,
    WatchResponse,
    decode,
    encode,
)
from tests.counts import examples

KEYS = [b"a", b"aa", b"b", b"c/1", b"c/2"]
keys = st.sampled_from(KEYS)
ends = st.sampled_from([b"", b"\x00", b"b", b"c0"])
lease_ids = st.sampled_from([0, 0, 1, 2])
CAPACITY = 2


class Change(NamedTuple):
    """A key as a revision left it; value None: deleted."""

    revision: int
    key: bytes
    value: bytes | None
    lease: int


@dataclass
class Reader:
    """A watch as its reader sees it. `since`: the first revision that it is owed."""

    key: bytes
    end: bytes
    since: int
    got: list[Event] = field(default_factory=list)
    over: bool = False


def inside(name: bytes, key: bytes, end: bytes) -> bool:
    return name >= key and (end == b"\x00" or name < end) if end else name == key


class ServerMachine(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.server = EtcdServer()
        self.now_ms = 0
        self.revision = 1
        self.changes: list[Change] = []
        self.ends: dict[int, tuple[int, int]] = {}  # lease -> (TTL in seconds, end in ms)
        self.compacted: list[int] = [-1]
        self.readers: dict[int, Reader] = {}
        self.open_stream()

    def open_stream(self) -> None:
        self.stream = self.server.store.watch_stream(CAPACITY)

    def do(self, request: Any) -> Any:
        """Through the bytes of a log entry, as a member does."""
        try:
            return self.server.apply(decode(encode(self.server.prepare(request)))[1], self.now_ms)
        except EtcdError as error:
            return error.message

    def living(self) -> dict[bytes, Change]:
        state = {change.key: change for change in self.changes}
        return {key: change for key, change in state.items() if change.value is not None}

    def commit(self, changes: list[tuple[bytes, bytes | None, int]]) -> None:
        if changes:
            self.revision += 1
            self.changes += [Change(self.revision, *change) for change in changes]

    # -- what clients do ---------------------------------------------------------------------------

    @rule(key=keys, value=st.binary(max_size=2), lease=lease_ids)
    def put(self, key: bytes, value: bytes, lease: int) -> None:
        answer = self.do(PutRequest(key, value, lease))
        if lease and lease not in self.ends:
            assert answer == "etcdserver: requested lease not found"
        else:
            self.commit([(key, value, lease)])
            assert answer.revision == self.revision

    @rule(key=keys, end=ends)
    def delete(self, key: bytes, end: bytes) -> None:
        gone = sorted(name for name in self.living() if inside(name, key, end))
        assert self.do(DeleteRangeRequest(key, end)).deleted == len(gone)
        self.commit([(name, None, 0) for name in gone])

    @rule(first=keys, second=keys, lease=lease_ids)
    def txn(self, first: bytes, second: bytes, lease: int) -> None:
        answer = self.do(TxnRequest((), (PutRequest(first, b"t", lease), PutRequest(second, b"t"))))
        if first == second:
            assert answer == "etcdserver: duplicate key given in txn request"
        elif lease and lease not in self.ends:
            assert answer == "etcdserver: requested lease not found"
        else:
            self.commit([(first, b"t", lease), (second, b"t", 0)])

    @rule(id=st.sampled_from([1, 2]), ttl=st.integers(0, 5))
    def grant(self, id: int, ttl: int) -> None:
        answer = self.do(LeaseGrantRequest(ttl, id))
        if id in self.ends:
            assert answer == "etcdserver: lease already exists"
        else:
            assert answer.ttl == max(ttl, 2)
            self.ends[id] = (max(ttl, 2), self.now_ms + 1_000 * max(ttl, 2))

    @rule(id=st.sampled_from([1, 2]))
    def revoke(self, id: int) -> None:
        answer = self.do(LeaseRevokeRequest(id))
        if id in self.ends:
            self.end(id)
            assert answer.revision == self.revision
        else:
            assert answer == "etcdserver: requested lease not found"

    def end(self, id: int) -> None:
        self.commit([(name, None, 0) for name, change in sorted(self.living().items()) if change.lease == id])
        del self.ends[id]

    @rule(id=st.sampled_from([1, 2]))
    def keep_alive(self, id: int) -> None:
        answer = self.server.lease_keep_alive(id, self.now_ms)
        assert answer.ttl == self.ends.get(id, (0, 0))[0]
        if id in self.ends:
            self.ends[id] = (answer.ttl, self.now_ms + 1_000 * answer.ttl)

    @rule(ms=st.sampled_from([500, 1_000, 3_000]))
    def pass_time(self, ms: int) -> None:
        self.now_ms += ms
        self.server.tick(self.now_ms)
        for _, id in sorted((end, id) for id, (_, end) in self.ends.items() if end <= self.now_ms):
            self.end(id)

    @rule(data=st.data())
    def compact(self, data: st.DataObject) -> None:
        revision = data.draw(st.integers(1, self.revision + 1))
        answer = self.do(CompactionRequest(revision))
        if revision <= self.compacted[-1]:
            assert answer == "etcdserver: mvcc: required revision has been compacted"
        elif revision > self.revision:
            assert answer == "etcdserver: mvcc: required revision is a future revision"
        else:
            self.compacted.append(revision)

    # -- watches -----------------------------------------------------------------------------------

    @rule(key=keys, end=st.sampled_from([b"", b"\x00"]), data=st.data())
    def watch(self, key: bytes, end: bytes, data: st.DataObject) -> None:
        start = data.draw(st.integers(0, self.revision + 2))
        id = self.stream.watch(key, end, start_revision=start)
        self.readers[id] = Reader(key, end, max(start or self.revision + 1, 1))

    @rule(data=st.data())
    def read(self, data: st.DataObject) -> None:
        """Take some of what is pending, and let the stream be fed."""
        for _ in range(data.draw(st.integers(0, len(self.stream.pending)))):
            self.take(self.stream.pending.popleft())
        self.stream.sync()

    def take(self, response: WatchResponse) -> None:
        reader = self.readers[response.watch_id]
        assert not reader.over
        reader.got += response.events
        if response.compact_revision:
            reader.over = True
            assert response.compact_revision in self.compacted  # the last one when it was fed, not when it reads
            assert response.compact_revision > reader.since

    def owed(self, reader: Reader) -> list[tuple[int, bytes, bytes | None]]:
        """3.5 drops a deletion at a compacted revision itself, and older puts that nothing needs."""
        first = max(reader.since, self.compacted[-1] + 1 if reader.since <= self.compacted[-1] else 0)
        return [c[:3] for c in self.changes if c.revision >= first and inside(c.key, reader.key, reader.end)]

    @rule()
    def restart_from_a_snapshot(self) -> None:
        """Another member takes over what the first held; clients ask anew."""
        data = self.server.snapshot()
        before = {key: kv for kv in self.server.store.range(b"\x00", b"\x00").kvs for key in [kv.key]}
        self.stream.close()
        self.server = EtcdServer(member_id=2)
        self.server.restore(data, self.now_ms)
        assert {kv.key: kv for kv in self.server.store.range(b"\x00", b"\x00").kvs} == before
        assert self.server.snapshot() == data
        self.ends = {id: (ttl, self.now_ms + 1_000 * ttl) for id, (ttl, _) in self.ends.items()}
        self.readers = {}
        self.open_stream()

    @invariant()
    def holds(self) -> None:
        self.server.check_invariants()
        self.stream.check_invariants()
        assert self.server.store.revision == self.revision
        kvs = self.server.store.range(b"\x00", b"\x00").kvs
        assert {kv.key: (kv.value, kv.lease) for kv in kvs} == {
            key: (change.value, change.lease) for key, change in self.living().items()
        }
        assert sum(bool(response.events) for response in self.stream.pending) <= CAPACITY

    def teardown(self) -> None:
        """When everybody has read to the end, each has got every event once and in order, or was told why not."""
        while self.stream.pending:
            for response in self.stream.receive():
                self.take(response)
        for reader in self.readers.values():
            got = [(e.kv.mod_revision, e.kv.key, e.kv.value if e.kv.version else None) for e in reader.got]
            lost = set(self.compacted)
            owed = [c for c in self.owed(reader) if c[2] is not None or c[0] not in lost]
            first = owed[0][0] if owed else self.revision + 1
            seen = [c for c in got if c[0] >= first and (c[2] is not None or c[0] not in lost)]
            assert seen == owed[: len(seen)]
            if not reader.over:
                assert seen == owed
            assert [c[0] for c in got] == sorted(c[0] for c in got)


TestServer = ServerMachine.TestCase
TestServer.settings = settings(max_examples=examples(100), stateful_step_count=40, deadline=None)
