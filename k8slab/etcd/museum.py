"""The bug museum, second room: mistakes around etcd's store, its watches, leases and backups.

As in `k8slab.raft.museum` each exhibit is a few wrong lines, an experiment, and a check that notices.

>>> from k8slab.etcd import museum
>>> museum.show("progress-overtakes")
['an event of revision 2 comes after the stream said that it was at 4']
>>> museum.show("progress-overtakes", mended=True)
[]

Upstream: see `source` of each exhibit
Simplified: the faults are put into our store; the lines that were wrong upstream are others.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from k8slab.check import Operation, not_linearizable
from k8slab.etcd.cluster import EtcdCluster, EtcdMachine
from k8slab.etcd.key_index import KeyIndex
from k8slab.etcd.messages import FROM_KEY, LeaseGrantRequest, PutRequest, RangeRequest, RangeResponse, WatchResponse
from k8slab.etcd.reads import READ_INDEX_RETRY_MS, LinearizableReads
from k8slab.etcd.revision import Revision
from k8slab.etcd.snapshot import Image
from k8slab.etcd.store import Store
from k8slab.etcd.watch import WatchHub
from k8slab.etcd.watch_stream import WatchStream
from k8slab.raft.museum import Change, in_place

__all__ = ["EXHIBITS", "Exhibit", "Follower", "Paused", "show"]


class Exhibit(NamedTuple):
    """`story`: what goes wrong. `source`: where it happened. `wrong`, `mended`: what is put in place of what, to have
    the fault or not; only one of them where the package itself is the other. `experiment` returns what `check` finds.
    """

    name: str
    story: str
    source: str
    wrong: Sequence[Change]
    experiment: Callable[[], list[str]]
    check: str
    mended: Sequence[Change] = ()


def show(name: str, *, mended: bool = False) -> list[str]:
    """What the check finds in the wrong variant, or in the mended one, by the same experiment. KeyError."""
    exhibit = EXHIBITS[name]
    with in_place(exhibit.mended if mended else exhibit.wrong):
        return exhibit.experiment()


# -- the client of most experiments ----------------------------------------------------------------


class Follower:
    """A client as informers are: lists, watches from there on, lists again when it is told that its past is gone."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.relist()

    def relist(self) -> None:
        """Read everything, and watch from the next revision on."""
        found = self.store.range(FROM_KEY, FROM_KEY)
        self.values = {kv.key: kv.value for kv in found.kvs}
        self.revision = found.revision
        self.watch()

    def watch(self) -> None:
        """Watch from where it is."""
        self.watcher = self.store.watch(FROM_KEY, FROM_KEY, self.revision + 1)

    def reconnect(self) -> None:
        """The connection broke: what was under way is lost."""
        self.watcher.cancel()
        self.watch()

    def take(self, most: int = 1_000) -> None:
        """Take so many responses in."""
        while self.watcher.pending and most:
            most -= 1
            response = self.watcher.pending.popleft()
            if response.canceled:
                self.relist()
            for event in response.events:
                self.values[event.kv.key] = event.kv.value
                if not event.kv.version:
                    del self.values[event.kv.key]
            if response.events:
                self.seen(response)

    def seen(self, response: WatchResponse) -> None:
        """Remember where to go on: after the last event."""
        self.revision = response.events[-1].kv.mod_revision

    def differences(self) -> list[str]:
        """The check: once all has been taken in, the copy is the store."""
        self.take()
        real = {kv.key: kv.value for kv in self.store.range(FROM_KEY, FROM_KEY).kvs}
        return [
            f"the copy has {_text(self.values.get(key))} for {key.decode()}, the store {_text(real.get(key))}"
            for key in sorted({*self.values, *real})
            if self.values.get(key) != real.get(key)
        ]


class Paused:
    """A member whose process is stopped: what is sent to it waits, each sender's messages in their order."""

    def __init__(self, etcd: EtcdCluster, id: int) -> None:
        self._raft, self._id = etcd.raft, id
        self._receive = etcd.raft.members[id]._receive
        self.waiting: dict[str, deque[Any]] = {}
        self._raft.skew(id, 1)  # its clock nearly stands
        self._raft.network.listen(self._raft.endpoint(id), self._wait)

    def _wait(self, sender: str, message: Any) -> None:
        self.waiting.setdefault(sender, deque()).append(message)

    def hear(self, sender: int, most: int = 1_000) -> None:
        """Have it take in what this member sent, the oldest first."""
        name = self._raft.endpoint(sender)
        messages = self.waiting.get(name, deque())
        for _ in range(min(most, len(messages))):
            self._receive(name, messages.popleft())

    def resume(self) -> None:
        """Go on, with all that waits."""
        self._raft.skew(self._id, 100)
        self._raft.network.listen(self._raft.endpoint(self._id), self._receive)
        for id in self._raft.members:
            self.hear(id)


def _text(value: bytes | None) -> str:
    return "nothing" if value is None else repr(value.decode())


def overtaken(responses: Iterable[WatchResponse]) -> list[str]:
    """The check: no event comes after an answer that says it has been delivered."""
    told, found = 0, []
    for response in responses:
        if response.watch_id == -1:
            told = response.revision
        late = [event.kv.mod_revision for event in response.events if event.kv.mod_revision <= told]
        found += [f"an event of revision {late[0]} comes after the stream said that it was at {told}"] if late else []
    return found


# -- the wrong lines -------------------------------------------------------------------------------


def _answer_at_once(self: WatchStream) -> bool:
    self._progress_requests += 1
    # right: when all watchers have got what they are owed
    self._answer_progress()
    return True


_restore = Store.restore


def _restore_as_it_was(self: Store, data: bytes, **options: Any) -> Image:
    return _restore(self, data)  # right: with bump_revision and mark_compacted


def _revision_of_a_record(self: Store, data: bytes, **options: Any) -> Image:
    image = _restore(self, data, **options)
    # right: the one that was reached
    self.revision = max(kv.mod_revision for kv in self.since(0))
    return image


def _leave_them_where_they_are(self: WatchHub, revision: int) -> None:
    return  # right: all watchers are fed from the new history


def _keep_a_tombstone(self: KeyIndex, at_revision: int) -> Revision | None:
    ended = [one.revisions[-1].main for one in self.generations[:-1]]
    first = sum(main < at_revision for main in ended)  # before 3.5.16: <=
    del self.generations[:first]
    generation = self.generations[0]
    position = generation.last_at(at_revision)
    if position < 0:
        return None
    del generation.revisions[:position]
    return generation.revisions[0]


def _never_demoted(self: EtcdCluster, role: str, machine: EtcdMachine) -> None:
    if role == "StateLeader":
        self._elected_ms = self.now_ms
    # right: and in every other role the lessor is demoted


def _after_the_header(self: Follower, response: WatchResponse) -> None:
    self.revision = response.revision  # right: the revision of the last event


def _ask_by_the_same_name(self: LinearizableReads) -> int:
    self._again = False
    # right: a new number each time, not once a round
    self._number += 0 if self._asked else 1
    context = f"{self._prefix}{self._number}".encode()
    self._asked.add(context)
    self._ask(context)
    return self._loop.clock.now_ms + READ_INDEX_RETRY_MS


# -- the experiments -------------------------------------------------------------------------------


def _ask_for_progress() -> list[str]:
    store = Store()
    for name in (b"a", b"b", b"c"):
        store.put(name)
    stream = store.watch_stream()
    stream.watch(FROM_KEY, FROM_KEY, start_revision=2)
    stream.request_progress()
    return overtaken([*stream.receive(), *stream.receive()])


def _restore_a_backup() -> list[str]:
    store = Store()
    store.put(b"a", b"1")
    backup = store.snapshot()
    follower = Follower(store)
    store.put(b"a", b"2")
    follower.take()
    store.restore(backup, bump_revision=1_000_000, mark_compacted=True)
    store.put(b"b", b"1")
    return follower.differences()


def _restart_after_a_compaction() -> list[str]:
    store, again = Store(), Store()
    store.put(b"a")
    store.put(b"b")
    store.delete_range(b"b")
    store.compact(store.revision)
    again.restore(store.snapshot())
    if again.revision >= store.revision:
        return []
    return [f"the revision falls from {store.revision} to {again.revision}"]


def _catch_up_by_snapshot() -> list[str]:
    member, leader = Store(), Store()
    follower = Follower(member)
    for value in (b"1", b"2", b"3"):
        leader.put(b"a", value)
    member.restore(leader.snapshot())
    return follower.differences()


def _compact_at_a_deletion() -> list[str]:
    store = Store()
    store.put(b"a", b"1")
    follower = Follower(store)
    store.delete_range(b"a")
    store.compact(store.revision)
    follower.reconnect()
    return follower.differences()


def _hand_over_and_keep_alive() -> list[str]:
    etcd = EtcdCluster(3, seed=7, trace=False)
    etcd.do(LeaseGrantRequest(ttl=3, id=7))
    etcd.do(PutRequest(b"lock", b"me", lease=7))
    old = etcd.leader
    etcd.raft.transfer(old % 3 + 1)
    etcd.run(until=lambda: etcd.leader not in (0, old), for_ms=5_000)
    etcd.run(for_ms=100)
    alive = True
    for _ in range(10):
        server = etcd.server(etcd.leader)
        alive = alive and server.lease_keep_alive(7, etcd.now_ms).ttl > 0
        etcd.run(for_ms=500)
    etcd.close()
    return [] if alive else ["lease 7 is gone, though it was renewed in time"]


def _break_between_two_responses() -> list[str]:
    store = Store()
    follower = Follower(store)
    follower.watcher.cancel()
    follower.watcher.pending.clear()
    for number in range(1_001):  # one more than one response holds
        store.put(b"%04d" % number, b"1")
    follower.watch()
    follower.take(most=2)
    follower.reconnect()
    return follower.differences()


def _pause_the_leader() -> list[str]:
    etcd = EtcdCluster(3, seed=7, trace=False)
    etcd.do(PutRequest(b"x", b"1"))
    done = Operation("first", "x", "write", "1", 0, etcd.now_ms)
    etcd.run(for_ms=300)
    old = etcd.leader
    follower, other = old % 3 + 1, (old + 1) % 3 + 1
    read = RangeRequest(b"x")
    etcd.loop.spawn("a", etcd.attempt(follower, read))  # question A
    reads = etcd.raft.members[old].node.raft.reads
    etcd.run(until=lambda: len(reads) > 0)
    paused = Paused(etcd, old)  # two answers to A are on their way to it
    etcd.run(until=lambda: etcd.leader == other)  # A is asked again
    called = etcd.now_ms
    etcd.do(PutRequest(b"x", b"2"), via=other)
    more = Operation("second", "x", "write", "2", called, etcd.now_ms)
    history = [done, more]
    paused.hear(follower, most=1)  # its answer to A: confirmed
    etcd.run(for_ms=1)
    called = etcd.now_ms
    late = etcd.loop.spawn("b", etcd.attempt(old, read))  # question B
    etcd.run(for_ms=1)
    paused.hear(follower)  # A again, behind B
    etcd.run(for_ms=1)
    paused.hear(other, most=1)  # its answer to A
    etcd.run(for_ms=1)
    paused.resume()
    etcd.run(until=lambda: late.done, for_ms=9_000)
    if isinstance(late.result, RangeResponse):
        value = late.result.kvs[0].value.decode()
        history.append(Operation("b", "x", "read", value, called, etcd.now_ms))
    etcd.close()
    bad = not_linearizable(history)
    return [f"no order explains the answers about {key}" for key in bad]


_ALL = (
    Exhibit(
        "progress-overtakes",
        "A client asks how far its watches are. The answer names the newest revision, and goes out before older "
        "events.",
        "etcd issue 15220, mended by 15237 (3.5.8). The API server checks the version before it trusts such answers.",
        ((WatchStream, "request_progress", _answer_at_once),),
        _ask_for_progress,
        "an event of revision",
    ),
    Exhibit(
        "history-rewritten",
        "A backup is restored as it was. New writes take revisions that clients have seen already, with other content.",
        "etcd issue 16028, Kubernetes issue 118501 (2023): since then --bump-revision and --mark-compacted.",
        ((Store, "restore", _restore_as_it_was),),
        _restore_a_backup,
        "the copy has",
    ),
    Exhibit(
        "revision-falls",
        "A member reads its revision off the last record. Compaction took the last record, a deletion: it falls back.",
        "etcd issue 17780 (2024), mended by 17815 (3.4.32, 3.5.14): the newest revision is never compacted away.",
        ((Store, "restore", _revision_of_a_record),),
        _restart_after_a_compaction,
        "the revision falls",
    ),
    Exhibit(
        "rejoined-in-silence",
        "A member that was away gets a snapshot. Its watchers count as up to date, and never hear what it contained.",
        "etcd issue 8411 (3.1.9, 2017): an API server's cache stayed old; a second mistake in the mend: 9281.",
        ((WatchHub, "restart", _leave_them_where_they_are),),
        _catch_up_by_snapshot,
        "the copy has",
    ),
    Exhibit(
        "deletion-compacted",
        "Compaction at the revision of a deletion removes it. A watch from that very revision is allowed, and empty.",
        "etcd issue 18089 (2024), mended by 18274 (3.5.16), after a restart by 19249 (3.5.18). "
        "k8slab does as 3.5.1, so here the mended lines are put in.",
        (),
        _compact_at_a_deletion,
        "the copy has",
        ((KeyIndex, "compact", _keep_a_tombstone),),
    ),
    Exhibit(
        "deposed-lessor",
        "A leader that was deposed still counts the time of leases that are renewed elsewhere, and has them revoked.",
        "etcd issues 12528 (3.4.6, 2020) and 15247 (2023), mended by 16822 (3.4.31, 3.5.13): only who leads now "
        "may revoke.",
        ((EtcdCluster, "_role", _never_demoted),),
        _hand_over_and_keep_alive,
        "lease 7 is gone",
    ),
    Exhibit(
        "resumed-after-the-header",
        "A client goes on after the revision in a response's header. The header is ahead of the events in it.",
        "Gazette issue 337, mended by 336 (2023). A client's mistake: only an event says how far its watch is.",
        ((Follower, "seen", _after_the_header),),
        _break_between_two_responses,
        "the copy has",
    ),
    Exhibit(
        "same-name-again",
        "A question that is asked again keeps its name. Late answers to the first confirm the second, and whatever "
        "waits before it.",
        "etcd issue 20418, mended by 21399 (3.4.42, 3.5.28 and 3.6.9, March 2026): a new name each time.",
        ((LinearizableReads, "_ask_anew", _ask_by_the_same_name),),
        _pause_the_leader,
        "no order explains",
    ),
)
EXHIBITS: dict[str, Exhibit] = {exhibit.name: exhibit for exhibit in _ALL}
"""By name."""
