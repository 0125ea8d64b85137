"""Requests, responses and events: plain data in, plain data out.

Upstream: etcd api/etcdserverpb/rpc.proto, api/mvccpb/kv.proto
Simplified: a response carries the revision of the header alone (no cluster id, member id, Raft term).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, TypeAlias

FROM_KEY = b"\x00"
"""As `range_end`: every key from `key` on. As `key` with this `range_end`: all keys."""


class KeyValue(NamedTuple):
    """One key as one revision left it. A deletion is recorded with revisions `(0, mod_revision)` and version 0."""

    key: bytes
    create_revision: int
    mod_revision: int
    version: int
    value: bytes
    lease: int = 0


class SortTarget(StrEnum):
    """What the keys of a range are sorted by."""

    KEY = "KEY"
    VERSION = "VERSION"
    CREATE = "CREATE"
    MOD = "MOD"
    VALUE = "VALUE"


class SortOrder(StrEnum):
    """The direction of sorting; without one, keys come in ascending order."""

    NONE = "NONE"
    ASCEND = "ASCEND"
    DESCEND = "DESCEND"


class RangeRequest(NamedTuple):
    """Keys in `[key, range_end)` at `revision`; an empty `range_end` means the one key, revision 0 means now.

    `serializable`: any member may answer from what it has, without asking the others (one member alone: no matter).
    """

    key: bytes
    range_end: bytes = b""
    revision: int = 0
    limit: int = 0
    sort_target: str = SortTarget.KEY
    sort_order: str = SortOrder.NONE
    keys_only: bool = False
    count_only: bool = False
    min_mod_revision: int = 0
    max_mod_revision: int = 0
    min_create_revision: int = 0
    max_create_revision: int = 0
    serializable: bool = False


@dataclass(frozen=True, slots=True)
class RangeResponse:
    """`count` is the number of keys in the interval, whatever `limit` and the revision filters cut from `kvs`."""

    kvs: tuple[KeyValue, ...]
    count: int
    more: bool
    revision: int


class PutRequest(NamedTuple):
    """Write `value` to `key`. `ignore_value`, `ignore_lease`: keep those of the key, which must exist."""

    key: bytes
    value: bytes = b""
    lease: int = 0
    prev_kv: bool = False
    ignore_value: bool = False
    ignore_lease: bool = False


class PutResponse(NamedTuple):
    """`revision`: the one that the put made. `prev_kv`: what the key held before, if it was asked for and existed."""

    revision: int
    prev_kv: KeyValue | None = None


class DeleteRangeRequest(NamedTuple):
    """Delete the keys in `[key, range_end)`, or the one key when `range_end` is empty."""

    key: bytes
    range_end: bytes = b""
    prev_kv: bool = False


class DeleteRangeResponse(NamedTuple):
    """`deleted`: how many keys. When there were none, `revision` is the one that was current: nothing was written."""

    revision: int
    deleted: int = 0
    prev_kvs: tuple[KeyValue, ...] = ()


class CompareTarget(StrEnum):
    """The field of a key that a condition looks at."""

    VERSION = "VERSION"
    CREATE = "CREATE"
    MOD = "MOD"
    VALUE = "VALUE"
    LEASE = "LEASE"


class CompareResult(StrEnum):
    """The relation that the field must have to the operand."""

    EQUAL = "EQUAL"
    NOT_EQUAL = "NOT_EQUAL"
    GREATER = "GREATER"
    LESS = "LESS"


class Compare(NamedTuple):
    """A condition of a transaction: `target` of `key` stands in relation `result` to `operand`.

    With `range_end` every key of the interval must fulfil it. A key that doesn't exist has version, revisions and
    lease 0; a comparison of its *value* is false whatever is asked.
    """

    key: bytes
    target: str
    result: str
    operand: int | bytes
    range_end: bytes = b""


class TxnRequest(NamedTuple):
    """If all of `compare` hold do `success`, else `failure`: atomically, and all writes share one main revision."""

    compare: Sequence[Compare] = ()
    success: Sequence[Request] = ()
    failure: Sequence[Request] = ()


class TxnResponse(NamedTuple):
    """`responses` belongs to the branch that ran, in its order; a nested transaction's `revision` is 0, as upstream."""

    succeeded: bool
    responses: tuple[Response, ...]
    revision: int


Request: TypeAlias = RangeRequest | PutRequest | DeleteRangeRequest | TxnRequest
"""What a transaction may hold."""

Response: TypeAlias = RangeResponse | PutResponse | DeleteRangeResponse | TxnResponse
"""What answers a Request."""


class CompactionRequest(NamedTuple):
    """Forget what only reads before `revision` could see. `physical`: answer when that is done (here: always)."""

    revision: int
    physical: bool = False


class CompactionResponse(NamedTuple):
    """`revision`: the current one, not the compacted one."""

    revision: int


class LeaseGrantRequest(NamedTuple):
    """A lease for `ttl` seconds. `id` 0: the server chooses one."""

    ttl: int
    id: int = 0


class LeaseGrantResponse(NamedTuple):
    """`ttl`: what was granted, at least the server's minimum."""

    revision: int
    id: int
    ttl: int


class LeaseRevokeRequest(NamedTuple):
    """End a lease: all its keys are deleted, in one revision."""

    id: int


class LeaseRevokeResponse(NamedTuple):
    """`revision`: that of the deletions, if there were any."""

    revision: int


class LeaseKeepAliveResponse(NamedTuple):
    """`ttl`: how long the lease lives again; 0 when there is none."""

    revision: int
    id: int
    ttl: int


class LeaseTimeToLiveResponse(NamedTuple):
    """`ttl`: whole seconds left, -1 when there is no such lease. `keys` in order, when they were asked for."""

    revision: int
    id: int
    ttl: int
    granted_ttl: int = 0
    keys: tuple[bytes, ...] = ()


class LeaseLeasesResponse(NamedTuple):
    """`leases`: ids, the one that ends first in front."""

    revision: int
    leases: tuple[int, ...]


class AlarmType(StrEnum):
    """What is wrong with a member. NONE stands for any, in a question."""

    NONE = "NONE"
    NOSPACE = "NOSPACE"
    CORRUPT = "CORRUPT"


class AlarmAction(StrEnum):
    """What to do about an alarm."""

    GET = "GET"
    ACTIVATE = "ACTIVATE"
    DEACTIVATE = "DEACTIVATE"


class AlarmMember(NamedTuple):
    """An alarm that is on, and the member that raised it."""

    member_id: int
    alarm: str


class AlarmRequest(NamedTuple):
    """List, raise or disarm an alarm."""

    action: str = AlarmAction.GET
    member_id: int = 0
    alarm: str = AlarmType.NONE


class AlarmResponse(NamedTuple):
    """`alarms`: those asked for, or the one that was raised or disarmed."""

    revision: int
    alarms: tuple[AlarmMember, ...] = ()


LoggedRequest: TypeAlias = Request | CompactionRequest | LeaseGrantRequest | LeaseRevokeRequest | AlarmRequest
"""What may stand in the log of a cluster, and is applied by every member."""

LoggedResponse: TypeAlias = Response | CompactionResponse | LeaseGrantResponse | LeaseRevokeResponse | AlarmResponse
"""What applying a LoggedRequest gives."""


class EventType(StrEnum):
    """Whether a key was written or deleted."""

    PUT = "PUT"
    DELETE = "DELETE"


class Event(NamedTuple):
    """A change of one key. `kv` of a deletion holds the key and the revision of the deletion alone."""

    type: EventType
    kv: KeyValue
    prev_kv: KeyValue | None = None


class WatchFilter(StrEnum):
    """Events that a watcher does not want: puts, deletions."""

    NOPUT = "NOPUT"
    NODELETE = "NODELETE"


class WatchResponse(NamedTuple):
    """What a watcher receives: the confirmation (`created`), events, an end (`canceled`), or progress (nothing else).

    All events of one revision are in one response, unless the watcher takes fragments: then all but the last are
    marked. `compact_revision` is set when the watcher was cancelled because its start had been compacted;
    `cancel_reason` when it never could have begun. `watch_id` tells the watchers of one stream apart; -1 stands for
    none (refused) or all (progress).
    """

    revision: int
    events: tuple[Event, ...] = ()
    compact_revision: int = 0
    created: bool = False
    canceled: bool = False
    cancel_reason: str = ""
    watch_id: int = 0
    fragment: bool = False
