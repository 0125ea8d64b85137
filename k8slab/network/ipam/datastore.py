"""Where blocks, affinities and handles are stored: every write names the revision it is based on.

    >>> store = Datastore()
    >>> entry = store.create(HandleKey("pod-1"), {"10.0.0.0/26": 1})
    >>> newer = store.update(entry._replace(value={"10.0.0.0/26": 2}))
    >>> store.update(entry)
    Traceback (most recent call last):
    ...
    k8slab.network.ipam.errors.ConflictError: update conflict: HandleKey(handle='pod-1')

`Connection` is the way to it on a loop: each request takes its time, and an answer may be lost.

Upstream: libcalico-go/lib/backend/{api,model,etcdv3} of projectcalico/calico
Simplified: one store in memory; no watches.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import Any, NamedTuple, Protocol, TypeAlias, TypeVar

from k8slab.network.ipam.errors import AlreadyExistsError, ConflictError, DoesNotExistError
from k8slab.sim import sleep
from k8slab.table import Table

__all__ = ["AffinityKey", "Backend", "BlockKey", "Connection", "Datastore", "Entry", "HandleKey", "Key"]

T = TypeVar("T")


class BlockKey(NamedTuple):
    cidr: str


class AffinityKey(NamedTuple):
    """A host's claim to a block. Its value is a state: pending, confirmed, pendingDeletion."""

    host: str
    cidr: str


class HandleKey(NamedTuple):
    """What one handle holds: how many addresses of which block."""

    handle: str


Key: TypeAlias = BlockKey | AffinityKey | HandleKey


class Entry(NamedTuple):
    """A key with its value, which is never changed, and the revision it was written at."""

    key: Any
    value: Any
    revision: int


class Backend(Protocol):
    """What an IPAM client needs of a datastore. Each may raise a DatastoreError, or TimeoutError: outcome unknown."""

    async def get(self, key: Key) -> Entry: ...
    async def list(self, kind: type, host: str = "") -> list[Entry]: ...
    async def create(self, key: Key, value: Any) -> Entry: ...
    async def update(self, entry: Entry) -> Entry: ...
    async def delete(self, entry: Entry) -> None: ...


class Datastore:
    """The store itself: plain state. `conflicts` counts the writes that were not taken."""

    def __init__(self) -> None:
        self.revision = 0
        self.conflicts = 0
        self._entries: dict[Key, Entry] = {}
        self._keys: dict[tuple[type, str], list[Key]] = {}
        """The keys of each list, in order: sorted once, as they come, and not for each request."""

    def get(self, key: Key) -> Entry:
        """Raises DoesNotExistError."""
        found = self._entries.get(key)
        if found is None:
            raise DoesNotExistError(key)
        return found

    def list(self, kind: type, host: str = "") -> list[Entry]:
        """All entries of one kind of key, or the affinities of one host, in the keys' order."""
        entries = self._entries
        return [entries[key] for key in self._keys.get((kind, host), ())]

    def create(self, key: Key, value: Any) -> Entry:
        """Raises AlreadyExistsError."""
        if key in self._entries:
            self.conflicts += 1
            raise AlreadyExistsError(key)
        return self._write(key, value)

    def update(self, entry: Entry) -> Entry:
        """Write `entry.value` over the revision it was read at. Raises ConflictError, DoesNotExistError."""
        self._check(entry)
        return self._write(entry.key, entry.value)

    def delete(self, entry: Entry) -> None:
        """Raises ConflictError, DoesNotExistError."""
        self._check(entry)
        self.revision += 1
        del self._entries[entry.key]
        for group in _groups(entry.key):
            keys = self._keys[group]
            del keys[bisect_left(keys, entry.key)]

    def view(self) -> dict[str, Any]:
        """Blocks with their hosts and the handles of their addresses, claims and handles, by stable ids."""
        blocks = {
            entry.key.cidr: {
                "host": entry.value.affinity,
                "free": len(entry.value.unallocated),
                "addresses": {
                    address: owner.handle
                    for address in entry.value.in_use()
                    if (owner := entry.value.owner(address)) is not None
                },
            }
            for entry in self.list(BlockKey)
        }
        claims = {f"{entry.key.host}/{entry.key.cidr}": str(entry.value) for entry in self.list(AffinityKey)}
        handles = {entry.key.handle: dict(entry.value) for entry in self.list(HandleKey)}
        return {"blocks": blocks, "claims": claims, "handles": handles}

    def table(self) -> Table:
        """Every block: whose it is, how many addresses are in use, and by which nodes' attributes."""
        rows = []
        for entry in self.list(BlockKey):
            block = entry.value
            users = [owner.attributes.get("node", "") for owner in block.owners if owner is not None]
            borrowed = sum(1 for node in users if node and node != block.affinity)
            rows.append((block.cidr, block.affinity or "nobody", len(users), borrowed, len(block.unallocated)))
        return Table(rows, ("BLOCK", "NODE", "IN USE", "BORROWED", "FREE"))

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        for group, keys in self._keys.items():
            expected = sorted(key for key in self._entries if group in _groups(key))
            assert keys == expected, f"the list {group} has each of its keys once, in order"
        assert all(entry.revision <= self.revision for entry in self._entries.values()), "no entry is from the future"

    def _check(self, entry: Entry) -> None:
        if self.get(entry.key).revision != entry.revision:
            self.conflicts += 1
            raise ConflictError(entry.key)

    def _write(self, key: Key, value: Any) -> Entry:
        self.revision += 1
        if key not in self._entries:
            for group in _groups(key):
                insort(self._keys.setdefault(group, []), key)
        entry = self._entries[key] = Entry(key, value, self.revision)
        return entry


def _groups(key: Key) -> list[tuple[type, str]]:
    """The lists that a key is in."""
    return [(type(key), ""), *([(AffinityKey, key.host)] if isinstance(key, AffinityKey) else [])]


class Connection:
    """A client's connection to a `Datastore`: a request takes `delay_ms`, and as much again for the answer.

    `lose_next` answers are lost: TimeoutError, though the request was carried out.
    """

    def __init__(self, store: Datastore, delay_ms: int = 0) -> None:
        self.store = store
        self.delay_ms = delay_ms
        self.lose_next = 0

    async def get(self, key: Key) -> Entry:
        await sleep(self.delay_ms)
        return await self._answered(self.store.get(key))

    async def list(self, kind: type, host: str = "") -> list[Entry]:
        await sleep(self.delay_ms)
        return await self._answered(self.store.list(kind, host))

    async def create(self, key: Key, value: Any) -> Entry:
        await sleep(self.delay_ms)
        return await self._answered(self.store.create(key, value))

    async def update(self, entry: Entry) -> Entry:
        await sleep(self.delay_ms)
        return await self._answered(self.store.update(entry))

    async def delete(self, entry: Entry) -> None:
        await sleep(self.delay_ms)
        self.store.delete(entry)
        await self._answered(None)

    async def _answered(self, answer: T) -> T:
        await sleep(self.delay_ms)
        if self.lose_next:
            self.lose_next -= 1
            raise TimeoutError("the datastore did not answer")
        return answer
