"""A whole store in one piece of bytes, and back.

>>> image = Image(revision=5, compact_revision=-1, leases=(), records=())
>>> data = pack(image)
>>> len(data) % 512, unpack(data) == image
(32, True)

As etcd's, the file is a multiple of 4 KiB and ends with its SHA-256, 32 bytes more: so it can be seen whether it is
there. What lies in the file is our own.

    magic | header: JSON, one line | records: key of 17 or 18 bytes, length, KeyValue | zeros | SHA-256

Upstream: etcd etcdutl/snapshot/v3_snapshot.go, etcdutl/etcdutl/snapshot_command.go, server/storage/mvcc/revision.go
Simplified: not a bbolt file; no members, no consistent index.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from k8slab.etcd.errors import SnapshotError
from k8slab.etcd.fields import MOST, check_data, check_fields
from k8slab.etcd.lease import MAX_LEASE_TTL
from k8slab.etcd.messages import AlarmMember, AlarmType, KeyValue, LeaseGrantRequest
from k8slab.etcd.pages import PAGE_SIZE
from k8slab.etcd.revision import Revision
from k8slab.etcd.wire import decode_kv, encode_kv

__all__ = ["Image", "SnapshotStatus", "pack", "snapshot_status", "unpack"]

MAX_BUMPED = 2**62
"""No bump takes a store further: revisions have 63 bits, and half of them are left for writes."""

_MAGIC = b"k8slab etcd 1\n"
_SHA = hashlib.sha256().digest_size
_SECTOR = 512
_TOMBSTONE = b"t"
_KEY = struct.Struct(">q1sq")
_LENGTH = struct.Struct(">I")


@dataclass(frozen=True, slots=True)
class Image:
    """What a snapshot holds: revisions, leases as (id, ttl), records oldest first, alarms, the size of the file."""

    revision: int
    compact_revision: int
    leases: tuple[tuple[int, int], ...]
    records: tuple[tuple[Revision, KeyValue], ...]
    alarms: tuple[AlarmMember, ...] = ()
    size: int = 5 * PAGE_SIZE
    must_compact: bool = False

    def bumped(self, bump_revision: int, mark_compacted: bool) -> Image:
        """The same so many revisions later, with everything before to be compacted. ValueError unless given both."""
        if not isinstance(bump_revision, int) or bump_revision < 0:
            raise ValueError(f"bump_revision is {bump_revision!r}, expected 0 or more")
        if (bump_revision > 0) != mark_compacted:
            raise ValueError("--mark-compacted required if --revision-bump > 0")
        if not bump_revision:
            return self
        latest = self.revision + bump_revision
        if latest > MAX_BUMPED:
            most = max(0, MAX_BUMPED - self.revision)
            raise ValueError(f"bump_revision is {bump_revision}, expected at most {most}")
        return replace(self, revision=latest, compact_revision=latest, must_compact=True)


class SnapshotStatus(NamedTuple):
    """What `etcdutl snapshot status` says of a file. `hash` is of the contents."""

    hash: int
    revision: int
    total_key: int
    total_size: int


def pack(image: Image) -> bytes:
    """The bytes of a snapshot: `image.size`, or more if the records need it, and 32."""
    header = {
        "revision": image.revision,
        "compact_revision": image.compact_revision,
        "leases": image.leases,
        "alarms": image.alarms,
        "records": len(image.records),
    }
    parts = [_MAGIC, json.dumps(header, separators=(",", ":")).encode(), b"\n"]
    for revision, kv in image.records:
        value = encode_kv(kv)
        parts += [_revision_bytes(revision, kv), _LENGTH.pack(len(value)), value]
    content = b"".join(parts)
    size = max(image.size, -(-len(content) // PAGE_SIZE) * PAGE_SIZE)
    content = content.ljust(size, b"\0")
    return content + hashlib.sha256(content).digest()


def unpack(data: bytes, *, skip_hash_check: bool = False) -> Image:
    """What a snapshot holds. Raises SnapshotError, with the texts of `etcdutl snapshot restore`."""
    check_data(data)
    if len(data) < _SHA:
        raise SnapshotError(f"seek snapshot: invalid argument: {len(data)} bytes, expected at least {_SHA}")
    has_hash = len(data) % _SECTOR == _SHA
    content = data[:-_SHA] if has_hash else data
    if not skip_hash_check:
        if not has_hash:
            raise SnapshotError("snapshot missing hash but --skip-hash-check=false")
        wanted, got = data[-_SHA:], hashlib.sha256(content).digest()
        if wanted != got:
            raise SnapshotError(f"expected sha256 {_go(wanted)}, got {_go(got)}")
    if not content.startswith(_MAGIC):
        raise SnapshotError("invalid database")
    try:
        return _image(content)
    except (ValueError, KeyError, TypeError, IndexError, struct.error) as wrong:
        raise SnapshotError(f"invalid database: {wrong}") from wrong


def snapshot_status(data: bytes) -> SnapshotStatus:
    """Revision, number of records, leases and alarms, and size of a snapshot. Raises SnapshotError."""
    image = unpack(data, skip_hash_check=True)
    total = len(image.records) + len(image.leases) + len(image.alarms)
    size = len(data) - len(data) % _SECTOR
    last = max([revision.main for revision, _ in image.records], default=0)
    return SnapshotStatus(zlib.crc32(data[:size]), last, total, size)


def _image(content: bytes) -> Image:
    end = content.index(b"\n", len(_MAGIC))
    header: dict[str, Any] = json.loads(content[len(_MAGIC) : end])
    records: list[tuple[Revision, KeyValue]] = []
    at = end + 1
    for _ in range(_number(header["records"])):
        main, mark, sub = _KEY.unpack_from(content, at)
        at += _KEY.size
        is_tombstone = content.startswith(_TOMBSTONE, at)
        at += is_tombstone
        (length,) = _LENGTH.unpack_from(content, at)
        at += _LENGTH.size + length
        if at > len(content):
            raise ValueError(f"a record ends at {at}, the file at {len(content)}")
        revision, kv = Revision(main, sub), decode_kv(content[at - length : at])
        before = records[-1][0] if records else Revision(0, 0)
        is_own = mark == b"_" and kv.mod_revision == main and is_tombstone == (kv.version == 0)
        if not is_own or sub < 0 or revision <= before:
            raise ValueError(f"record {revision} of key {kv.key!r} does not fit what stands before it")
        records.append((revision, kv))
    image = Image(
        _number(header["revision"]),
        _number(header["compact_revision"]),
        tuple(_lease(id, ttl) for id, ttl in header["leases"]),
        tuple(records),
        tuple(AlarmMember(_number(member), AlarmType(alarm)) for member, alarm in header["alarms"]),
        len(content),
    )
    last = records[-1][0].main if records else 1
    if not (-1 <= image.compact_revision <= image.revision and last <= image.revision <= MOST):
        raise ValueError(f"revision {image.revision}, compacted at {image.compact_revision}, last record {last}")
    return image


def _number(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r}, expected a number")
    return value


def _lease(id: int, ttl: int) -> tuple[int, int]:
    check_fields(LeaseGrantRequest(ttl, id))
    if id == 0 or ttl > MAX_LEASE_TTL:
        raise ValueError(
            f"lease {id} of {ttl} seconds, expected an id other than 0 and at most {MAX_LEASE_TTL} seconds"
        )
    return id, ttl


def _revision_bytes(revision: Revision, kv: KeyValue) -> bytes:
    return _KEY.pack(revision.main, b"_", revision.sub) + (b"" if kv.version else _TOMBSTONE)


def _go(digest: bytes) -> str:
    """Bytes as Go prints them."""
    return f"[{' '.join(map(str, digest))}]"
