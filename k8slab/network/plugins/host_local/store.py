"""Leases as files: one for each address, named after it, with the container and its interface in it.

>>> from k8slab.network.cni.files import MemoryFiles
>>> store = LeaseStore(MemoryFiles(), "/var/lib/cni/networks/net")
>>> with store.locked():
...     store.reserve("c1", "eth0", parse_ip("10.1.0.2"), "0"), store.reserve("c2", "eth0", parse_ip("10.1.0.2"), "0")
(True, False)
>>> store.files.read("/var/lib/cni/networks/net/10.1.0.2")
b'c1\\r\\neth0'

Upstream: containernetworking/plugins plugins/ipam/host-local/backend/disk/backend.go, lock.go
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import NamedTuple

from k8slab.network.cni.addresses import Address, parse_ip
from k8slab.network.cni.errors import CNIError
from k8slab.network.cni.files import Files

__all__ = ["Lease", "LeaseStore"]

LINE_BREAK = "\r\n"
_LAST = "last_reserved_ip."
_SPACE = " \t\n\v\f\r\x85\xa0"


class Lease(NamedTuple):
    """An address that is taken, and what its file says of by whom. `key` "": a file that was never written out."""

    address: Address
    key: str

    @property
    def container_id(self) -> str:
        return self.key.partition(LINE_BREAK)[0]

    @property
    def if_name(self) -> str:
        return self.key.partition(LINE_BREAK)[2]


def key_of(container_id: str, if_name: str) -> str:
    """What stands in a lease's file."""
    return f"{container_id.strip(_SPACE)}{LINE_BREAK}{if_name}"


class LeaseStore:
    """The folder of one network. Hold `locked()` around what reads and then writes."""

    def __init__(self, files: Files, folder: str) -> None:
        self.files = files
        self.folder = folder.rstrip("/")

    def open(self) -> None:
        """Make the folder with its lock file, as the first to come does."""
        with self.locked():
            pass

    def locked(self) -> AbstractContextManager[None]:
        """Hold the lock file. The kernel drops it when its holder ends, however that ends."""
        return self.files.locked(f"{self.folder}/lock")

    def reserve(self, container_id: str, if_name: str, address: Address, range_id: str) -> bool:
        """Take an address, unless its file is there already; note it as the last one given of this range."""
        try:
            self.files.create(f"{self.folder}/{address}", key_of(container_id, if_name).encode())
        except FileExistsError:
            return False
        self.files.write(f"{self.folder}/{_LAST}{range_id}", str(address).encode())
        return True

    def last_reserved(self, range_id: str) -> Address | None:
        """The address that was given last; None when no such is known."""
        path = f"{self.folder}/{_LAST}{range_id}"
        if not self.files.exists(path):
            return None
        return _address(self.files.read(path).decode(errors="replace"))

    def leases(self) -> list[Lease]:
        """Everything that is taken, in the order of the files' names."""
        found = []
        for path in self.files.walk(self.folder):
            address = _address(path.rpartition("/")[2])
            if address is not None:
                found.append(Lease(address, self._content(path)))
        return found

    def _content(self, path: str) -> str:
        return self.files.read(path).decode(errors="replace").strip(_SPACE)

    def of(self, container_id: str, if_name: str) -> list[Address]:
        """The addresses of an attachment, also from files of a time when the interface was not noted."""
        paths = self._with(key_of(container_id, if_name), container_id.strip(_SPACE))
        named = (_address(path.rpartition("/")[2]) for path in paths)
        return [address for address in named if address is not None]

    def _with(self, *keys: str) -> list[str]:
        """The files in which one of these keys stands."""
        return [path for path in self.files.walk(self.folder) if self._content(path) in keys]

    def has(self, container_id: str, if_name: str) -> bool:
        """Whether any file is an attachment's, whatever its name."""
        return bool(self._with(key_of(container_id, if_name), container_id.strip(_SPACE)))

    def release(self, container_id: str, if_name: str) -> bool:
        """Free all of an attachment's; when it has none, those noted under the container alone. Whether any was."""
        return self._release(key_of(container_id, if_name)) or self._release(container_id.strip(_SPACE))

    def _release(self, key: str) -> bool:
        mine = self._with(key)
        for path in mine:
            self.files.remove(path)
        return bool(mine)

    def collect(self, valid: Iterable[tuple[str, str]]) -> list[Lease]:
        """Free what belongs to none of the `valid` attachments, and half-written files of nobody. What was freed."""
        keys = [key for container_id, if_name in valid for key in (key_of(container_id, if_name), container_id)]
        known, gone = dict.fromkeys(keys), []
        for lease in self.leases():
            is_torn_of_a_valid_one = lease.key != "" and any(key.startswith(lease.key) for key in known)
            if lease.key not in known and not is_torn_of_a_valid_one:
                self.files.remove(f"{self.folder}/{lease.address}")
                gone.append(lease)
        return gone

    def check_invariants(self) -> None:
        """AssertionError when a file is named by another spelling of its address: it could be given twice."""
        for path in self.files.walk(self.folder):
            name = path.rpartition("/")[2]
            address = _address(name)
            assert address is None or str(address) == name, f"{name} is {address}, spelled in another way"


def _address(text: str) -> Address | None:
    try:
        return parse_ip(text)
    except CNIError:
        return None
