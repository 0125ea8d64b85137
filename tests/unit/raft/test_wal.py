"""The write-ahead log at every point where a crash or a scratch may leave it.

Spec: etcd server/storage/wal: what was synced is found again, a torn tail is cut off, a wrong checksum is fatal.
"""

from __future__ import annotations

import random

import pytest

from k8slab.raft import (
    ConfState,
    CRCMismatchError,
    Entry,
    HardState,
    MemoryStorage,
    Snapshot,
    SnapshotFileError,
    WriteAheadLog,
)
from k8slab.sim import Disk, DiskError

ENTRIES = [Entry(1, index, data=b"e%d" % index) for index in range(1, 6)]


def written() -> tuple[Disk, list[int]]:
    """A disk with five entries, one save each, and the length of the file after each."""
    disk = Disk(random.Random(1))
    wal = WriteAheadLog(disk)
    lengths = []
    for entry in ENTRIES:
        wal.save(HardState(1, 1, entry.index - 1), [entry], sync=True)
        lengths.append(len(disk.read("wal")))
    return disk, lengths


def cut_at(length: int) -> Disk:
    """What is left when only the first `length` bytes of that disk's log are."""
    left = Disk(random.Random(2))
    left.replace("wal", written()[0].read("wal")[:length])
    return left


@pytest.mark.parametrize("length", range(0, written()[1][-1] + 1, 1))
def test_a_log_that_is_torn_anywhere_gives_back_the_saves_that_are_whole(length: int) -> None:
    disk, lengths = cut_at(length), written()[1]
    whole = sum(one <= length for one in lengths)
    storage = WriteAheadLog(disk).load()
    assert whole <= storage.last_index() <= whole + 1  # the entry may be there without the state saved with it
    assert [storage.term(index) for index in range(1, storage.last_index() + 1)] == [1] * storage.last_index()
    if whole:
        assert storage.hard_state.commit >= whole - 1
    storage.check_invariants()


def test_after_a_torn_tail_was_cut_off_writing_goes_on_behind_it() -> None:
    disk = cut_at(written()[1][2] - 3)
    wal = WriteAheadLog(disk)
    last = wal.load().last_index()
    wal.save(None, [Entry(2, last + 1, data=b"new")], sync=True)
    storage = WriteAheadLog(disk).load()
    assert storage.entries(last + 1, last + 2)[0].data == b"new"


@pytest.mark.parametrize("bit", range(8))
def test_one_changed_bit_anywhere_is_found_and_the_file_stays_as_it_is(bit: int) -> None:
    """In a length, too, which then seems to be that of a torn record."""
    whole = written()[0].read("wal")
    for place in range(len(whole)):
        data = bytearray(whole)
        data[place] ^= 1 << bit
        disk = Disk(random.Random(3))
        disk.replace("wal", bytes(data))
        with pytest.raises(CRCMismatchError, match=r"^walpb: crc mismatch$"):
            WriteAheadLog(disk).load()
        assert disk.read("wal") == bytes(data), f"byte {place}"


def test_a_snapshot_replaces_what_it_covers() -> None:
    disk = Disk(random.Random(1))
    wal = WriteAheadLog(disk)
    wal.save(HardState(1, 1, 5), ENTRIES, sync=True)
    storage = wal.load()
    snapshot = storage.create_snapshot(3, ConfState((1, 2, 3)), b"state")
    storage.compact(3)
    wal.save_snapshot(snapshot, storage)
    disk.crash()
    again = WriteAheadLog(disk).load()
    assert again.snapshot() == Snapshot(3, 1, ConfState((1, 2, 3)), b"state")
    assert (again.first_index(), again.last_index(), again.hard_state) == (4, 5, HardState(1, 1, 5))


@pytest.mark.parametrize(("data", "message"), [(b"", "empty snapshot"), (b"1234", "crc mismatch")])
def test_a_snapshot_file_that_is_damaged_is_refused(data: bytes, message: str) -> None:
    disk = Disk(random.Random(1))
    disk.replace("snap", data)
    with pytest.raises(SnapshotFileError, match=message):
        WriteAheadLog(disk).load()


@pytest.mark.parametrize("bit", range(8))
def test_a_snapshot_with_one_changed_bit_anywhere_is_refused(bit: int) -> None:
    disk = Disk(random.Random(1))
    WriteAheadLog(disk).save_snapshot(Snapshot(3, 1, ConfState((1,)), b"state"), MemoryStorage(Snapshot(3, 1)))
    whole = disk.read("snap")
    for place in range(len(whole)):
        data = bytearray(whole)
        data[place] ^= 1 << bit
        disk.replace("snap", bytes(data))
        with pytest.raises(SnapshotFileError, match=r"^snap: crc mismatch$"):
            WriteAheadLog(disk).load()


def test_a_disk_that_refuses_promises_nothing() -> None:
    disk = Disk(random.Random(1))
    wal = WriteAheadLog(disk)
    disk.fail_next("append")
    with pytest.raises(DiskError):
        wal.save(HardState(2), ENTRIES, sync=True)
    assert WriteAheadLog(disk).load().last_index() == 0
