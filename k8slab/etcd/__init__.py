"""etcd's data model: a store in which every write makes a revision and every revision can be read and watched.

    >>> from k8slab.etcd import Compare, PutRequest, Store
    >>> store = Store()
    >>> store.put(b"/registry/pods/default/web-0", b"v1").revision
    2
    >>> store.txn([Compare(b"/registry/pods/default/web-0", "MOD", "EQUAL", 2)],
    ...           [PutRequest(b"/registry/pods/default/web-0", b"v2")]).succeeded
    True
    >>> watcher = store.watch(b"/registry/", b"/registry0", start_revision=2)
    >>> [[(event.type.value, event.kv.value, event.kv.version) for event in r.events] for r in watcher.pending]
    [[], [('PUT', b'v1', 1), ('PUT', b'v2', 2)]]
    >>> store.range(b"/registry/pods/default/web-0", revision=2).kvs[0].value
    b'v1'

Plain state: no clock, no task, no I/O. Keys and values are bytes and mean nothing here.
The caller's duties: drain `watcher.pending` (nothing is dropped, so it grows), not to write from `on_ready`, to
compact (nothing else ever forgets), and to call `sync_watchers()` for watchers made with `sync=False`.

Upstream: etcd 3.5 server/storage/mvcc, server/etcdserver/txn, api/
Simplified: one member without Raft, write-ahead log or leases; memory in place of a bbolt file; a watcher is its own
stream.
"""

from __future__ import annotations

from k8slab.etcd.errors import (
    CompactedError,
    DuplicateKeyError,
    EmptyKeyError,
    EtcdError,
    FutureRevisionError,
    KeyNotFoundError,
    LeaseNotFoundError,
    LeaseProvidedError,
    TooManyOpsError,
    ValueProvidedError,
)
from k8slab.etcd.key_index import Generation, KeyIndex
from k8slab.etcd.messages import (
    FROM_KEY,
    Compare,
    CompareResult,
    CompareTarget,
    DeleteRangeRequest,
    DeleteRangeResponse,
    Event,
    EventType,
    KeyValue,
    PutRequest,
    PutResponse,
    RangeRequest,
    RangeResponse,
    SortOrder,
    SortTarget,
    TxnRequest,
    TxnResponse,
    WatchFilter,
    WatchResponse,
)
from k8slab.etcd.revision import Revision
from k8slab.etcd.store import Store
from k8slab.etcd.watch import Watcher, WatchHub

__all__ = [
    "FROM_KEY",
    "CompactedError",
    "Compare",
    "CompareResult",
    "CompareTarget",
    "DeleteRangeRequest",
    "DeleteRangeResponse",
    "DuplicateKeyError",
    "EmptyKeyError",
    "EtcdError",
    "Event",
    "EventType",
    "FutureRevisionError",
    "Generation",
    "KeyIndex",
    "KeyNotFoundError",
    "KeyValue",
    "LeaseNotFoundError",
    "LeaseProvidedError",
    "PutRequest",
    "PutResponse",
    "RangeRequest",
    "RangeResponse",
    "Revision",
    "SortOrder",
    "SortTarget",
    "Store",
    "TooManyOpsError",
    "TxnRequest",
    "TxnResponse",
    "ValueProvidedError",
    "WatchFilter",
    "WatchHub",
    "WatchResponse",
    "Watcher",
]
