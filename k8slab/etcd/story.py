"""A store's life as steps: every operation an event, and after each the keys and revisions as a picture shows them.

>>> from k8slab.etcd import Store, StoreStory
>>> story = StoreStory(Store(), ["put a 1", "put a 2", "del a", "compact 3", "get a --rev=2"])
>>> while story.step():
...     pass
>>> for event in story.trace:
...     print(event.message)
revision 2: put a, its version 1, a new generation begins
revision 3: put a, its version 2
revision 4: del a writes 1 tombstone
compaction at revision 3 forgets 1 older record
etcd refuses get a --rev=2: etcdserver: mvcc: required revision has been compacted

Upstream: etcd etcdctl/ctlv3/command/{put,get,del,compaction}_command.go for the words
Simplified: of etcdctl's words only these, with --rev and --prefix; a transaction is given as a TxnRequest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, TypeAlias

from k8slab.etcd.errors import EtcdError
from k8slab.etcd.messages import CompactionRequest, DeleteRangeRequest, PutRequest, RangeRequest, TxnRequest
from k8slab.etcd.store import Store
from k8slab.sim import Clock, Kind, Trace, add_kinds

__all__ = ["Operation", "StoreStory"]

Operation: TypeAlias = PutRequest | DeleteRangeRequest | RangeRequest | TxnRequest | CompactionRequest
"""What can be told of a store."""

WORDS = "put KEY VALUE, get KEY [--rev=N] [--prefix], del KEY [--prefix] or compact REVISION"

add_kinds(
    {
        "store.put": Kind(
            "commit",
            1,
            ("key", "revision", "version"),
            "rev {revision}: put {key}",
            "revision {revision}: put {key}, its version {version}{version:, a new generation begins|}",
        ),
        "store.delete": Kind(
            "commit",
            1,
            ("what", "revision", "count"),
            "rev {revision}: {what}",
            "revision {revision}: {what} writes {count} {count:tombstone|tombstones}",
        ),
        "store.txn": Kind(
            "commit",
            1,
            ("revision", "count"),
            "rev {revision}: txn",
            "revision {revision}: a transaction with {count} {count:write|writes}",
        ),
        "store.nothing": Kind(
            "work", 1, ("what", "revision"), "{what}", "nothing to write for {what}: the revision stays {revision}"
        ),
        "store.read": Kind(
            "request",
            1,
            ("what", "revision", "count"),
            "{what}",
            "at revision {revision}, {what} finds {count} {count:key|keys}",
        ),
        "store.compact": Kind(
            "work",
            1,
            ("revision", "count"),
            "compact {revision}",
            "compaction at revision {revision} forgets {count} older {count:record|records}",
        ),
        "store.refuse": Kind("wait", 1, ("what", "why"), "refuses {what}", "etcd refuses {what}: {why}"),
    }
)


class StoreStory:
    """A steppable: carries `operations` out on `store`, one a step, and remembers what compaction takes away.

    Operations are requests or texts in etcdctl's words: `put a 1`, `get a --rev=3`, `get /pods/ --prefix`, `del a`,
    `compact 4`. `Stepper(StoreStory(store, operations))` shows keys and revisions as a grid; with `live=True` more
    operations can be typed below it. The store must be written through the story alone.

    ValueError: an operation that cannot be understood. TypeError: what is no store.
    """

    views = ("mvcc",)
    title = "A store, revision by revision"

    def __init__(self, store: Store, operations: Iterable[Operation | str] = ()) -> None:
        self.store = expect_store(store)
        self.trace = Trace(Clock())
        self._todo = deque(parsed(operation) for operation in operations)
        self._cells: dict[str, dict[str, dict[str, Any]]] = {}
        self._read: dict[str, Any] | None = None
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
        request = parsed(operation)
        self._read = None
        self.trace.current = None
        try:
            self._carry_out(request)
        except EtcdError as error:
            if isinstance(request, RangeRequest):
                self._read = {"at": request.revision, "refused": True}
            self.trace.emit("store.refuse", "etcd", what=words_of(request), why=str(error))

    def _carry_out(self, request: Operation) -> None:
        store, emit = self.store, self.trace.emit
        before = store.revision
        match request:
            case RangeRequest():
                found = store.range(**{name: getattr(request, name) for name in request._fields})
                at = request.revision if request.revision > 0 else store.revision
                self._read = {"at": at, "found": {_text(kv.key): kv.mod_revision for kv in found.kvs}}
                emit("store.read", "etcd", what=words_of(request), revision=at, count=found.count)
                return
            case CompactionRequest():
                records = len(list(store.since(0)))
                store.compact(request.revision)
                left = list(store.since(0))
                self._forget({(_text(kv.key), str(kv.mod_revision)) for kv in left})
                emit("store.compact", "etcd", revision=request.revision, count=records - len(left))
                return
            case PutRequest():
                store.put(*request)
            case DeleteRangeRequest():
                store.delete_range(*request)
            case TxnRequest():
                store.txn(*request)
        written = self._remember(before + 1)
        if not written:
            emit("store.nothing", "etcd", what=words_of(request), revision=before)
        elif isinstance(request, PutRequest):
            version = store.range(request.key).kvs[0].version
            emit("store.put", "etcd", key=_text(request.key), revision=store.revision, version=version)
        elif isinstance(request, DeleteRangeRequest):
            emit("store.delete", "etcd", what=words_of(request), revision=store.revision, count=written)
        else:
            emit("store.txn", "etcd", revision=store.revision, count=written)

    # -- what the picture shows --------------------------------------------------------------------

    def _remember(self, since: int) -> int:
        """Take in the store's records from a revision on; how many."""
        count = 0
        for kv in self.store.since(since):
            cells = self._cells.setdefault(_text(kv.key), {})
            last = next(reversed(cells.values()), None)
            created = kv.create_revision if kv.version or last is None else last["created"]
            cells[str(kv.mod_revision)] = {"version": kv.version, "created": created, "value": _text(kv.value)}
            count += 1
        return count

    def _forget(self, left: set[tuple[str, str]]) -> None:
        for key, cells in self._cells.items():
            for revision, cell in cells.items():
                if (key, revision) not in left:
                    cell["gone"] = True

    def view(self) -> dict[str, Any]:
        """`mvcc`: the current `revision`, the `compacted` one (0: none), `keys` by name: for each revision that
        wrote the key its `version` (0: a tombstone), the generation's `created` revision, the `value`, and `gone`
        if compaction took it; `read`: at which revision the last operation read and what it found, if it was one."""
        mvcc: dict[str, Any] = {
            "revision": self.store.revision,
            "compacted": max(0, self.store.compact_revision),
            "keys": {
                key: {revision: dict(cell) for revision, cell in cells.items()} for key, cells in self._cells.items()
            },
        }
        if self._read is not None:
            mvcc["read"] = self._read
        return {"mvcc": mvcc}


# -- etcdctl's words -------------------------------------------------------------------------------


def parsed(operation: Operation | str) -> Operation:
    """A request as it is, a text as the request that etcdctl would send. ValueError: not understood."""
    if not isinstance(operation, str):
        if isinstance(operation, (PutRequest, DeleteRangeRequest, RangeRequest, TxnRequest, CompactionRequest)):
            return operation
        raise ValueError(f"operation {operation!r}: expected a request to a store, or {WORDS}")
    words = operation.split()
    plain = [word for word in words if not word.startswith("--")]
    flags = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
    key = plain[1].encode() if len(plain) > 1 else b""
    end = after_prefix(key) if "prefix" in flags else b""
    match plain, sorted(flags):
        case ["put", _, value], []:
            return PutRequest(key, value.encode())
        case ["get", _], [*names] if set(names) <= {"prefix", "rev"}:
            return RangeRequest(key, end, revision=number_of(operation, flags.get("rev", "0")))
        case ["del", _], [] | ["prefix"]:
            return DeleteRangeRequest(key, end)
        case ["compact", revision], []:
            return CompactionRequest(number_of(operation, revision))
    raise ValueError(f"operation {operation!r}: expected {WORDS}")


def expect_store(store: object) -> Store:
    """`store`, or a TypeError for what is none."""
    if not isinstance(store, Store):
        raise TypeError(f"store is {store!r}, expected a Store")
    return store


def number_of(operation: str, text: str) -> int:
    """The revision that stands as `text` in an operation. ValueError: it is no number."""
    if not text.isdecimal():
        raise ValueError(f"operation {operation!r}: revision {text!r}: expected a number such as 4")
    return int(text)


def after_prefix(key: bytes) -> bytes:
    """The end of the interval of all keys that begin with `key`; `\\0`, as in etcd, when there is none."""
    head = key.rstrip(b"\xff")
    return head[:-1] + bytes([head[-1] + 1]) if head else b"\x00"


def words_of(request: Operation) -> str:
    """A request in etcdctl's words, without the value."""
    if isinstance(request, TxnRequest):
        return "txn"
    if isinstance(request, CompactionRequest):
        return f"compact {request.revision}"
    if isinstance(request, PutRequest):
        return f"put {_text(request.key)}"
    words = f"{'get' if isinstance(request, RangeRequest) else 'del'} {_text(request.key)}"
    if request.range_end:
        is_prefix = request.range_end == after_prefix(request.key)
        words += " --prefix" if is_prefix else f" {_text(request.range_end)}"
    if isinstance(request, RangeRequest) and request.revision > 0:
        words += f" --rev={request.revision}"
    return words


def _text(value: bytes) -> str:
    return value.decode("utf-8", "backslashreplace")
