"""The store against a twin that keeps a full copy of the keys for every revision."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from k8slab.etcd import (
    CompactedError,
    DeleteRangeRequest,
    FutureRevisionError,
    KeyValue,
    PutRequest,
    Store,
    Watcher,
)
from tests.counts import examples

KEYS = [b"a", b"aa", b"b", b"c/1", b"c/2", b"d"]
keys = st.sampled_from(KEYS)
ends = st.sampled_from([b"", b"\x00", b"b", b"c0", b"e"])
values = st.binary(max_size=2)

State = dict[bytes, KeyValue]


class Twin:
    """`states[n]` is everything that existed at revision n; `changes[n]` what revision n did."""

    def __init__(self) -> None:
        self.states: list[State] = [{}, {}]
        self.changes: list[list[KeyValue]] = [[], []]
        self.compacted = 0

    @property
    def revision(self) -> int:
        return len(self.states) - 1

    def commit(self, puts: list[tuple[bytes, bytes]], deletes: list[tuple[bytes, bytes]]) -> None:
        state, main, changes = dict(self.states[-1]), len(self.states), []
        for key, value in puts:
            old = state.get(key)
            kv = KeyValue(key, old.create_revision if old else main, main, old.version + 1 if old else 1, value)
            state[key] = kv
            changes.append(kv)
        for key, end in deletes:
            for name in sorted(name for name in state if inside(name, key, end)):
                del state[name]
                changes.append(KeyValue(name, 0, main, 0, b""))
        if changes:
            self.states.append(state)
            self.changes.append(changes)


def inside(name: bytes, key: bytes, end: bytes) -> bool:
    if not end:
        return name == key
    return name >= key and (end == b"\x00" or name < end)


class StoreMachine(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.store = Store()
        self.twin = Twin()
        self.watchers: list[tuple[Watcher, bytes, bytes, int]] = []

    @rule(key=keys, value=values)
    def put(self, key: bytes, value: bytes) -> None:
        self.store.put(key, value)
        self.twin.commit([(key, value)], [])

    @rule(key=keys, end=ends)
    def delete(self, key: bytes, end: bytes) -> None:
        expected = [kv for kv in self.twin.states[-1].values() if inside(kv.key, key, end)]
        assert self.store.delete_range(key, end).deleted == len(expected)
        self.twin.commit([], [(key, end)])

    @rule(puts=st.dictionaries(keys, values, max_size=3), gone=st.lists(keys, max_size=2, unique=True))
    def txn(self, puts: dict[bytes, bytes], gone: list[bytes]) -> None:
        gone = [key for key in gone if key not in puts]
        requests: list[Any] = [PutRequest(key, value) for key, value in puts.items()]
        self.store.txn([], requests + [DeleteRangeRequest(key) for key in gone])
        self.twin.commit(list(puts.items()), [(key, b"") for key in gone])

    @rule(data=st.data())
    def compact(self, data: st.DataObject) -> None:
        revision = data.draw(st.integers(1, self.twin.revision + 1))
        try:
            self.store.compact(revision)
        except CompactedError:
            assert revision <= self.twin.compacted
        except FutureRevisionError:
            assert revision > self.twin.revision
        else:
            self.twin.compacted = revision

    @rule(key=keys, end=ends, data=st.data())
    def range(self, key: bytes, end: bytes, data: st.DataObject) -> None:
        revision = data.draw(st.integers(0, self.twin.revision + 1))
        try:
            response = self.store.range(key, end, revision=revision)
        except CompactedError:
            assert 0 < revision < self.twin.compacted
        except FutureRevisionError:
            assert revision > self.twin.revision
        else:
            state = self.twin.states[revision or self.twin.revision]
            assert list(response.kvs) == [state[name] for name in sorted(state) if inside(name, key, end)]

    @rule(key=keys, end=st.sampled_from([b"", b"\x00"]), data=st.data())
    def watch(self, key: bytes, end: bytes, data: st.DataObject) -> None:
        start = data.draw(st.integers(0, self.twin.revision + 2))
        watcher = self.store.watch(key, end, start_revision=start)
        assert watcher.canceled == (0 < start < self.twin.compacted and start <= self.twin.revision)
        if not watcher.canceled:
            # 3.5 drops a tombstone at the compacted revision itself, and older puts it doesn't need.
            first = start or self.twin.revision + 1
            self.watchers.append((watcher, key, end, max(first, self.twin.compacted + 1)))

    @invariant()
    def holds(self) -> None:
        self.store.check_invariants()
        assert self.store.revision == self.twin.revision
        for watcher, key, end, first in self.watchers:
            seen = [e.kv for response in watcher.pending for e in response.events if e.kv.mod_revision >= first]
            changes = [kv for change in self.twin.changes[first:] for kv in change]
            assert seen == [kv for kv in changes if inside(kv.key, key, end)]


TestStore = StoreMachine.TestCase
TestStore.settings = settings(max_examples=examples(100), stateful_step_count=30, deadline=None)
