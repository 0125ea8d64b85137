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

Each part can be used alone:

    Store           revisions, ranges, transactions, compaction, snapshots
    WatchStream     several watches with one bounded queue: `store.watch_stream()`
    Lessor          leases: grant, renew, expire
    StoreStory      operations on a Store, to step through
    WatchStory      the same with watches: who is owed what
    EtcdServer      a member: requests in, answers out, with leases, quota, alarms and compaction
    encode, decode  a request as the bytes of a log entry

Plain state: no clock, no task, no I/O; time comes in as `now_ms`. Keys and values are bytes and mean nothing here.
The caller's duties: drain `watcher.pending` (of a watcher made by `Store.watch` nothing is dropped, so it grows; a
`WatchStream` has a limit), not to write from `on_ready`, to compact (nothing else ever forgets), to call
`sync_watchers()` for watchers made with `sync=False`, and to revoke the leases that `lessor.expired()` names.

Upstream: etcd 3.5 server/storage/mvcc, server/lease, server/etcdserver, api/
Simplified: no users and roles; memory in place of a bbolt file. Agreement among members is `k8slab.raft`'s.
"""

from __future__ import annotations

from k8slab.etcd.alarms import AlarmStore
from k8slab.etcd.applier import Applier
from k8slab.etcd.cluster import EtcdCluster, EtcdMachine
from k8slab.etcd.compactor import Compactor, PeriodicCompactor, RevisionCompactor
from k8slab.etcd.errors import (
    CompactedError,
    CorruptError,
    DuplicateKeyError,
    EmptyKeyError,
    EtcdError,
    FutureRevisionError,
    KeyNotFoundError,
    LeaderChangedError,
    LeaderFailTimeoutError,
    LeaseExistError,
    LeaseNotFoundError,
    LeaseProvidedError,
    LeaseTTLTooLargeError,
    NoSpaceError,
    NotPrimaryError,
    ProposalDroppedError,
    RequestTimedOutError,
    RequestTooLargeError,
    SnapshotError,
    StoppedError,
    TooManyOpsError,
    UnavailableError,
    ValueProvidedError,
)
from k8slab.etcd.key_index import Generation, KeyIndex
from k8slab.etcd.lease import Lease, Lessor, min_lease_ttl
from k8slab.etcd.messages import (
    FROM_KEY,
    AlarmAction,
    AlarmMember,
    AlarmRequest,
    AlarmResponse,
    AlarmType,
    CompactionRequest,
    CompactionResponse,
    Compare,
    CompareResult,
    CompareTarget,
    DeleteRangeRequest,
    DeleteRangeResponse,
    Event,
    EventType,
    KeyValue,
    LeaseGrantRequest,
    LeaseGrantResponse,
    LeaseKeepAliveResponse,
    LeaseLeasesResponse,
    LeaseRevokeRequest,
    LeaseRevokeResponse,
    LeaseTimeToLiveResponse,
    LoggedRequest,
    LoggedResponse,
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
from k8slab.etcd.pages import Pages
from k8slab.etcd.quota import BackendQuota
from k8slab.etcd.reads import READ_INDEX_RETRY_MS, LinearizableReads
from k8slab.etcd.revision import Revision
from k8slab.etcd.server import EtcdServer
from k8slab.etcd.snapshot import Image, SnapshotStatus, snapshot_status
from k8slab.etcd.store import Store
from k8slab.etcd.story import Operation, StoreStory
from k8slab.etcd.txn import is_readonly, is_serializable
from k8slab.etcd.watch import Channel, Watcher, WatchHub
from k8slab.etcd.watch_story import WatchStory
from k8slab.etcd.watch_stream import WatchStream
from k8slab.etcd.wire import decode, encode, encoded_size

__all__ = [
    "FROM_KEY",
    "READ_INDEX_RETRY_MS",
    "AlarmAction",
    "AlarmMember",
    "AlarmRequest",
    "AlarmResponse",
    "AlarmStore",
    "AlarmType",
    "Applier",
    "BackendQuota",
    "Channel",
    "CompactedError",
    "CompactionRequest",
    "CompactionResponse",
    "Compactor",
    "Compare",
    "CompareResult",
    "CompareTarget",
    "CorruptError",
    "DeleteRangeRequest",
    "DeleteRangeResponse",
    "DuplicateKeyError",
    "EmptyKeyError",
    "EtcdCluster",
    "EtcdError",
    "EtcdMachine",
    "EtcdServer",
    "Event",
    "EventType",
    "FutureRevisionError",
    "Generation",
    "Image",
    "KeyIndex",
    "KeyNotFoundError",
    "KeyValue",
    "LeaderChangedError",
    "LeaderFailTimeoutError",
    "Lease",
    "LeaseExistError",
    "LeaseGrantRequest",
    "LeaseGrantResponse",
    "LeaseKeepAliveResponse",
    "LeaseLeasesResponse",
    "LeaseNotFoundError",
    "LeaseProvidedError",
    "LeaseRevokeRequest",
    "LeaseRevokeResponse",
    "LeaseTTLTooLargeError",
    "LeaseTimeToLiveResponse",
    "Lessor",
    "LinearizableReads",
    "LoggedRequest",
    "LoggedResponse",
    "NoSpaceError",
    "NotPrimaryError",
    "Operation",
    "Pages",
    "PeriodicCompactor",
    "ProposalDroppedError",
    "PutRequest",
    "PutResponse",
    "RangeRequest",
    "RangeResponse",
    "RequestTimedOutError",
    "RequestTooLargeError",
    "Revision",
    "RevisionCompactor",
    "SnapshotError",
    "SnapshotStatus",
    "SortOrder",
    "SortTarget",
    "StoppedError",
    "Store",
    "StoreStory",
    "TooManyOpsError",
    "TxnRequest",
    "TxnResponse",
    "UnavailableError",
    "ValueProvidedError",
    "WatchFilter",
    "WatchHub",
    "WatchResponse",
    "WatchStory",
    "WatchStream",
    "Watcher",
    "decode",
    "encode",
    "encoded_size",
    "is_readonly",
    "is_serializable",
    "min_lease_ttl",
    "snapshot_status",
]
