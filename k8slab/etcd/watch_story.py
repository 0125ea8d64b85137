"""Watches as steps: a store, those who watch it, and after each operation what everybody is owed, waits for and has.

>>> from k8slab.etcd import Store, WatchStory
>>> story = WatchStory(Store(), ["put a 1", "put a 2", "watch a --rev=2", "put a 3", "sync", "read 0"])
>>> while story.step():
...     pass
>>> for event in story.trace:
...     print(event.message)
revision 2: put a goes to nobody
revision 3: put a goes to nobody
watch 0 on a, from revision 2 on, is unsynced
revision 4: put a goes to nobody
the loop feeds watch 0 revisions 2 to 4
the reader of watch 0 takes revisions 2 to 4

Each watch has a stream and a reader of its own. Nothing happens by itself: `sync` is the loop that etcd runs every 100
ms, `read N` the reader of watch N that takes what waits.

Upstream: etcd server/storage/mvcc/watchable_store.go; etcdctl/ctlv3/command/watch_command.go for the words
Simplified: victims are fed by the same loop; upstream has a second one, every 10 ms.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from k8slab.etcd.errors import EtcdError
from k8slab.etcd.messages import CompactionRequest, DeleteRangeRequest, PutRequest, RangeRequest, TxnRequest
from k8slab.etcd.store import Store
from k8slab.etcd.story import Operation, after_prefix, expect_store, number_of, parsed, words_of
from k8slab.etcd.watch_stream import WatchStream
from k8slab.sim import Clock, Kind, Trace, add_kinds

__all__ = ["WatchStory"]

WORDS = "put KEY VALUE, del KEY [--prefix], compact REVISION, watch KEY [--rev=N] [--prefix], sync or read WATCH"

add_kinds(
    {
        "hub.write": Kind(
            "commit",
            1,
            ("what", "revision", "to"),
            "rev {revision}: {what}",
            "revision {revision}: {what} goes to {to}",
        ),
        "hub.nothing": Kind(
            "work", 1, ("what", "revision"), "{what}", "nothing to write for {what}: the revision stays {revision}"
        ),
        "hub.open": Kind(
            "request",
            1,
            ("id", "key", "revision", "group"),
            "watch {id} on {key}",
            "watch {id} on {key}, from revision {revision} on, is {group}",
        ),
        "hub.sync": Kind("work", 1, ("what",), "the loop", "the loop {what}"),
        "hub.read": Kind("watch", 1, ("id", "what"), "reader {id}", "the reader of watch {id} takes {what}"),
        "hub.compact": Kind(
            "work", 1, ("revision",), "compact {revision}", "compaction takes the history before revision {revision}"
        ),
        "hub.refuse": Kind("wait", 1, ("what", "why"), "refuses {what}", "etcd refuses {what}: {why}"),
    }
)


class WatchStory:
    """A steppable: carries `operations` out on `store`, one a step. `Stepper(WatchStory(store, operations))`.

    Operations are requests, or texts: `put a 1`, `del a`, `compact 4`, `watch a --rev=2`, `watch / --prefix`, `sync`,
    `read 0`. Watches are numbered from 0. `capacity`: how many responses wait for a reader.

    ValueError: an operation that cannot be understood, a capacity below 1. TypeError: what is no store.
    """

    views = ("watches",)
    title = "A store and those who watch it"

    def __init__(self, store: Store, operations: Iterable[Operation | str] = (), *, capacity: int = 3) -> None:
        if type(capacity) is not int or capacity < 1:
            raise ValueError(f"capacity is {capacity!r}, expected at least 1")
        self.store = expect_store(store)
        self.capacity = capacity
        self.trace = Trace(Clock())
        self.streams: list[WatchStream] = []
        self._todo: deque[Operation | str] = deque(_checked(operation) for operation in operations)
        self._keys: list[str] = []
        self._starts: list[int] = []
        self._read: list[list[int]] = []
        self._records: dict[int, str] = {}
        self._remember(0)

    def step(self) -> bool:
        """The next operation; False when there was none left."""
        if not self._todo:
            return False
        self.do(self._todo.popleft())
        return True

    def command(self, text: str) -> None:
        """An operation that a reader typed in a live Stepper: done now. ValueError: not understood."""
        self.do(text)

    def do(self, operation: Operation | str) -> None:
        """Carry an operation out now. What the store refuses is an event too."""
        operation = _checked(operation)
        self.trace.current = None
        if isinstance(operation, str):
            verb, *words = operation.split()
            match verb:
                case "watch":
                    self._watch(operation, words)
                case "sync":
                    self._sync()
                case _:
                    self._take(operation, words[0])
            return
        try:
            self._write(operation)
        except EtcdError as error:
            self.trace.emit("hub.refuse", "etcd", what=words_of(operation), why=str(error))

    # -- the operations ----------------------------------------------------------------------------

    def _write(self, request: Operation) -> None:
        store, what = self.store, words_of(request)
        before, waiting = store.revision, [self._waiting(id) for id in range(len(self.streams))]
        match request:
            case CompactionRequest():
                store.compact(request.revision)
                self.trace.emit("hub.compact", "etcd", revision=request.revision)
                return
            case PutRequest():
                store.put(*request)
            case DeleteRangeRequest():
                store.delete_range(*request)
            case TxnRequest():
                store.txn(*request)
        if store.revision == before:
            self.trace.emit("hub.nothing", "etcd", what=what, revision=before)
            return
        self._remember(store.revision)
        told = [f"watch {id}" for id in range(len(self.streams)) if self._waiting(id) != waiting[id]]
        full = [f"watch {id}" for id in range(len(self.streams)) if store.revision in self._kept(id)]
        to = " and ".join(told) or "nobody"
        to += f"; {' and '.join(full)} had no room" if full else ""
        self.trace.emit("hub.write", "etcd", what=what, revision=store.revision, to=to)

    def _watch(self, operation: str, words: list[str]) -> None:
        key, flags = words[0], dict(word[2:].partition("=")[::2] for word in words[1:])
        start = number_of(operation, flags.get("rev", "0")) or self.store.revision + 1
        end = after_prefix(key.encode()) if "prefix" in flags else b""
        stream, id = self.store.watch_stream(self.capacity), len(self.streams)
        stream.watch(key.encode(), end, start_revision=start)
        stream.pending.clear()  # the confirmation: it has no part in this story
        self.streams.append(stream)
        self._keys.append(key + ("*" if end else ""))
        self._starts.append(start)
        self._read.append([])
        self.trace.emit("hub.open", "etcd", id=id, key=self._keys[id], revision=start, group=self._group(id))

    def _sync(self) -> None:
        before = [(self._waiting(id), self._group(id)) for id in range(len(self.streams))]
        self.store.sync_watchers()
        told = []
        for id, (waiting, group) in enumerate(before):
            if self._group(id) == "canceled" != group:
                told.append(f"cancels watch {id}: revision {self._next(id)} is compacted")
            elif new := self._waiting(id)[len(waiting) :]:
                told.append(f"feeds watch {id} {_revisions(new)}")
        self.trace.emit("hub.sync", "etcd", what="; ".join(told) or "finds nothing to do")

    def _take(self, operation: str, word: str) -> None:
        id = int(word)
        if id >= len(self.streams):
            raise ValueError(f"operation {operation!r}: watch {id}: expected one of the {len(self.streams)} there are")
        taken = self._waiting(id)
        self.streams[id].pending.clear()
        self._read[id] += taken
        self.trace.emit("hub.read", "you", id=id, what=_revisions(taken) if taken else "nothing: nothing waits")

    # -- what the picture shows --------------------------------------------------------------------

    def view(self) -> dict[str, Any]:
        """`watches`: the current `revision`, the `compacted` one (0: none), `records` by revision (what was written,
        `gone` if compaction took it), and `by` number each watch: its `key`, its `group`, the revision it `starts` at
        and is owed `next`, and for each revision where its events are: `read`, `waits`, or `kept` aside."""
        left = {str(kv.mod_revision) for kv in self.store.since(0)}
        return {
            "watches": {
                "revision": self.store.revision,
                "compacted": max(0, self.store.compact_revision),
                "capacity": self.capacity,
                "records": {str(at): {"what": what, "gone": str(at) not in left} for at, what in self._records.items()},
                "by": {str(id): self._shown(id) for id in range(len(self.streams))},
            }
        }

    def _shown(self, id: int) -> dict[str, Any]:
        where = dict.fromkeys(map(str, self._read[id]), "read")
        where |= dict.fromkeys(map(str, self._waiting(id)), "waits")
        where |= dict.fromkeys(map(str, self._kept(id)), "kept")
        return {
            "key": self._keys[id],
            "group": self._group(id),
            "starts": self._starts[id],
            "next": self._next(id),
            "events": where,
        }

    def _remember(self, since: int) -> None:
        for kv in self.store.since(since):
            text = ("put " if kv.version else "del ") + kv.key.decode("utf-8", "backslashreplace")
            known = self._records.get(kv.mod_revision)
            self._records[kv.mod_revision] = f"{known}, {text}" if known else text

    def _waiting(self, id: int) -> list[int]:
        """The revisions of the events in a watch's queue."""
        revisions = [event.kv.mod_revision for response in self.streams[id].pending for event in response.events]
        return list(dict.fromkeys(revisions))

    def _kept(self, id: int) -> list[int]:
        """The revisions that are kept aside for a victim."""
        stream = self.streams[id]
        kept = [response for watcher, response in stream.hub.victims.values() if watcher.channel is stream.channel]
        return list(dict.fromkeys(event.kv.mod_revision for response in kept for event in response.events))

    def _group(self, id: int) -> str:
        state: str = self.streams[id].view()["0"]["state"]
        return state

    def _next(self, id: int) -> int:
        """The first revision that has not been handed to the watch; for a synced one the next to be made."""
        watcher = self.streams[id].watchers[0]
        return max(watcher.min_revision, self.store.revision + 1) if watcher.is_synced else watcher.min_revision


def _checked(operation: Operation | str) -> Operation | str:
    """A request, or one of this story's own texts."""
    if not isinstance(operation, str):
        if isinstance(operation, RangeRequest):
            raise ValueError(f"operation {operation!r}: expected a write or a compaction")
        return parsed(operation)
    words = operation.split()
    plain = [word for word in words if not word.startswith("--")]
    flags = {word[2:].partition("=")[0] for word in words if word.startswith("--")}
    match plain:
        case ["watch", _] if flags <= {"rev", "prefix"}:
            for word in words:
                if word.startswith("--rev"):
                    number_of(operation, word.partition("=")[2])
            return operation
        case ["sync"] if not flags:
            return operation
        case ["read", number] if not flags:
            if not number.isdecimal():
                raise ValueError(f"operation {operation!r}: watch {number!r}: expected a number such as 0")
            return operation
        case ["put" | "del" | "compact", *_]:
            return parsed(operation)
    raise ValueError(f"operation {operation!r}: expected {WORDS}")


def _revisions(revisions: list[int]) -> str:
    first, last = revisions[0], revisions[-1]
    if len(revisions) == 1:
        return f"revision {first}"
    if len(revisions) > 2 and last - first + 1 == len(revisions):
        return f"revisions {first} to {last}"
    more = f" and {len(revisions) - 6} more" if len(revisions) > 6 else ""
    return f"revisions {' '.join(map(str, revisions[:6]))}{more}"
