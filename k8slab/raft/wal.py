"""The write-ahead log: what a node must find again after a crash, on a disk that may lose and tear what was not synced.

One file of records, each with its length and a checksum over everything before it and itself. A record that is not
whole at the end is a torn write, which nobody was promised: it is cut off. A checksum that is wrong elsewhere means
that the file was changed behind the node's back: it refuses to start. So does a length that points behind the end
although the checksum holds for fewer bytes: not the record is torn, the length is wrong. (etcd's has no such test; it
takes any record that ends early, at the end of its last file, for a torn one.)

>>> import random
>>> from k8slab.sim import Disk
>>> disk = Disk(random.Random(1))
>>> wal = WriteAheadLog(disk)
>>> wal.save(HardState(term=1, vote=1), [Entry(1, 1, data=b"a"), Entry(1, 2, data=b"b")], sync=True)
0
>>> wal.save(HardState(term=2), [Entry(2, 2, data=b"c")], sync=False)
0
>>> disk.crash()
>>> storage = WriteAheadLog(disk).load()
>>> storage.hard_state.term, [entry.data for entry in storage.entries(1, 3)]
(1, [b'a', b'b'])

Upstream: etcd server/storage/wal (wal.go, decoder.go, encoder.go), server/etcdserver/api/snap/snapshotter.go
Simplified: one file, written anew after a snapshot, in place of 64 MiB segments; records are not protobuf.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Sequence

from k8slab.raft.errors import RaftError
from k8slab.raft.messages import ConfState, Entry, EntryType, HardState, Snapshot
from k8slab.raft.storage import MemoryStorage
from k8slab.sim import Disk

__all__ = ["CRCMismatchError", "SnapshotFileError", "WriteAheadLog"]

LOG, SNAPSHOT = "wal", "snap"
_HEAD = struct.Struct("<II")  # length of what follows, checksum
_ENTRY = struct.Struct("<BQQB")
_STATE = struct.Struct("<BQQQ")
_ENTRY_RECORD, _STATE_RECORD, _SNAPSHOT_RECORD = 2, 3, 5
_TYPES: tuple[EntryType, ...] = ("EntryNormal", "EntryConfChange", "EntryConfChangeV2")


class CRCMismatchError(RaftError):
    """The log is not what was written."""

    message = "walpb: crc mismatch"


class SnapshotFileError(RaftError):
    """The snapshot file is empty or not what was written."""

    message = "snap: crc mismatch"


class WriteAheadLog:
    """The files of one node on `disk`. Saving returns how many ms the disk takes until it may be relied on."""

    def __init__(self, disk: Disk) -> None:
        self.disk = disk
        self._crc = 0

    # -- writing -----------------------------------------------------------------------------------

    def save(self, state: HardState | None, entries: Sequence[Entry], *, sync: bool) -> int:
        """Append; with `sync` it survives a crash. DiskError from the disk: nothing may be promised then."""
        records = [_packed_entry(entry) for entry in entries]
        records += [_STATE.pack(_STATE_RECORD, *state)] if state is not None else []
        if records:
            self.disk.append(LOG, b"".join(map(self._framed, records)))
        return self.disk.sync(LOG) if sync and records else 0

    def save_snapshot(self, snapshot: Snapshot, storage: MemoryStorage) -> int:
        """Keep a snapshot, and of the log what follows it in `storage`."""
        self.disk.replace(SNAPSHOT, _packed_snapshot(snapshot))
        took = self.disk.sync(SNAPSHOT)
        mark = struct.pack("<BQQ", _SNAPSHOT_RECORD, snapshot.index, snapshot.term)
        first, last = storage.first_index(), storage.last_index()
        kept = storage.entries(first, last + 1) if first <= last else ()
        self._crc = 0
        records = [mark, *map(_packed_entry, kept), _STATE.pack(_STATE_RECORD, *storage.hard_state)]
        self.disk.replace(LOG, b"".join(map(self._framed, records)))
        return took + self.disk.sync(LOG)

    def _framed(self, record: bytes) -> bytes:
        self._crc = zlib.crc32(record, self._crc)
        return _HEAD.pack(len(record), self._crc) + record

    # -- reading -----------------------------------------------------------------------------------

    def load(self) -> MemoryStorage:
        """What the files hold. CRCMismatchError, SnapshotFileError: they are damaged; nothing was changed."""
        snapshot = self._load_snapshot()
        storage = MemoryStorage(snapshot)
        for record in self._records():
            kind = record[0]
            if kind == _ENTRY_RECORD:
                storage.append([_unpacked_entry(record)])
            elif kind == _STATE_RECORD:
                storage.hard_state = HardState(*_STATE.unpack(record)[1:])
            else:
                index = struct.unpack("<BQQ", record)[1]
                if index > snapshot.index:
                    raise RaftError("wal: snapshot not found")
        if storage.hard_state.commit < snapshot.index:
            storage.hard_state = storage.hard_state._replace(commit=snapshot.index)
        return storage

    def _records(self) -> Iterator[bytes]:
        """Whole records; what is torn at the end is cut off."""
        data = self.disk.read(LOG) if LOG in self.disk.names() else b""
        at, self._crc = 0, 0
        while at + _HEAD.size <= len(data):
            length, checksum = _HEAD.unpack_from(data, at)
            record = data[at + _HEAD.size : at + _HEAD.size + length]
            if len(record) < length:
                self._check_torn(record, checksum)
                break
            if zlib.crc32(record, self._crc) != checksum or not record:
                raise CRCMismatchError
            self._crc = checksum
            at += _HEAD.size + length
            yield record
        if at < len(data):
            self.disk.replace(LOG, data[:at])
            self.disk.sync(LOG)

    def _check_torn(self, rest: bytes, checksum: int) -> None:
        """CRCMismatchError when a record at the start of `rest` is whole, so that it is its length that was changed."""
        crc = self._crc
        for byte in rest:
            crc = zlib.crc32(bytes((byte,)), crc)
            if crc == checksum:
                raise CRCMismatchError

    def _load_snapshot(self) -> Snapshot:
        if SNAPSHOT not in self.disk.names():
            return Snapshot()
        data = self.disk.read(SNAPSHOT)
        if not data:
            raise SnapshotFileError("snap: empty snapshot")
        if len(data) < _HEAD.size:
            raise SnapshotFileError
        length, checksum = _HEAD.unpack_from(data)
        if _snapshot_checksum(length, data[_HEAD.size :]) != checksum:
            raise SnapshotFileError
        about = json.loads(data[8 : 8 + length])
        voters, learners, outgoing, learners_next, auto_leave = about["conf_state"]
        conf = ConfState(tuple(voters), tuple(learners), tuple(outgoing), tuple(learners_next), auto_leave)
        return Snapshot(about["index"], about["term"], conf, data[8 + length :])


def _packed_entry(entry: Entry) -> bytes:
    return _ENTRY.pack(_ENTRY_RECORD, entry.term, entry.index, _TYPES.index(entry.type)) + entry.data


def _unpacked_entry(record: bytes) -> Entry:
    _, term, index, kind = _ENTRY.unpack_from(record)
    return Entry(term, index, _TYPES[kind], record[_ENTRY.size :])


def _packed_snapshot(snapshot: Snapshot) -> bytes:
    about = {"index": snapshot.index, "term": snapshot.term, "conf_state": list(snapshot.conf_state)}
    head = json.dumps(about, sort_keys=True).encode()
    body = head + snapshot.data
    return _HEAD.pack(len(head), _snapshot_checksum(len(head), body)) + body


def _snapshot_checksum(length: int, body: bytes) -> int:
    """Over the length of the head, too: it says where the state begins."""
    return zlib.crc32(body, zlib.crc32(struct.pack("<I", length)))
