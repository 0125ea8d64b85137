"""A machine's small files: leases, the lock, cached results.

What plugins and runtime need of a file system, as a Protocol: `MemoryFiles` has them in memory, or on a `Disk` of the
simulation that forgets what was not synced. An edge can put a real folder in its place.

>>> files = MemoryFiles()
>>> files.create("/var/lib/cni/networks/net/10.1.0.2", b"c1")
>>> files.walk("/var/lib/cni/networks/net")
['/var/lib/cni/networks/net/10.1.0.2']

Upstream: Go's os.OpenFile, os.WriteFile, filepath.Walk; github.com/alexflint/go-filemutex
Simplified: no permissions; a folder is there as soon as something is in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from k8slab.sim import Disk

__all__ = ["Files", "MemoryFiles"]


class Files(Protocol):
    """Errors are OSErrors of Python's names: FileNotFoundError, FileExistsError, BlockingIOError for a lock."""

    def read(self, path: str) -> bytes: ...

    def create(self, path: str, data: bytes) -> None:
        """FileExistsError when it is there: O_CREATE with O_EXCL, which decides between two at the same time."""

    def write(self, path: str, data: bytes) -> None:
        """Over what was there."""

    def remove(self, path: str) -> None: ...

    def exists(self, path: str) -> bool: ...

    def walk(self, folder: str) -> list[str]:
        """All files below `folder`, in the order of their names."""

    def locked(self, path: str) -> AbstractContextManager[None]:
        """Hold the lock file `path` (made when missing) for a block."""


class MemoryFiles:
    """Files by path. `disk`: where they lie; without one nothing is ever lost."""

    def __init__(self, disk: Disk | None = None) -> None:
        self.disk = disk
        self._folders: dict[str, dict[str, bytes]] = {}
        self._held: dict[str, bool] = {}
        if disk is not None:
            self.reload()

    def read(self, path: str) -> bytes:
        folder, name = _split(path)
        try:
            return self._folders[folder][name]
        except KeyError:
            raise FileNotFoundError(2, "no such file or directory", path) from None

    def exists(self, path: str) -> bool:
        folder, name = _split(path)
        return name in self._folders.get(folder, {})

    def create(self, path: str, data: bytes) -> None:
        if self.exists(path):
            raise FileExistsError(17, "file exists", path)
        if self.disk is not None:
            self.disk.append(path, data)  # not synced: a power cut may leave the name and not all that was in it
        self._put(path, data)

    def write(self, path: str, data: bytes) -> None:
        if self.disk is not None:
            if path in self.disk.names():
                self.disk.delete(path)
            self.disk.append(path, data)
        self._put(path, data)

    def remove(self, path: str) -> None:
        folder, name = _split(path)
        if name not in self._folders.get(folder, {}):
            raise FileNotFoundError(2, "no such file or directory", path)
        del self._folders[folder][name]
        if self.disk is not None:
            self.disk.delete(path)

    def walk(self, folder: str) -> list[str]:
        top = folder.rstrip("/")
        inside = [one for one in self._folders if one == top or one.startswith(f"{top}/")]
        return sorted(f"{one}/{name}" for one in inside for name in self._folders[one])

    @contextmanager
    def locked(self, path: str) -> Iterator[None]:
        if not self.exists(path):
            self._put(path, b"")
            if self.disk is not None:
                self.disk.append(path, b"")
        if self._held.get(path):
            raise BlockingIOError(11, "resource temporarily unavailable: the lock is held", path)
        self._held[path] = True
        try:
            yield
        finally:
            self._held[path] = False

    def reload(self) -> None:
        """Read anew from the disk, after a power cut. Locks are gone: they belonged to processes."""
        self._folders.clear()
        self._held.clear()
        if self.disk is not None:
            for path in self.disk.names():
                self._put(path, self.disk.read(path))

    def _put(self, path: str, data: bytes) -> None:
        folder, name = _split(path)
        self._folders.setdefault(folder, {})[name] = data

    def check_invariants(self) -> None:
        """AssertionError when memory and disk differ, or a lock is held between two calls."""
        assert not any(self._held.values()), "a lock is held and nobody runs"
        if self.disk is not None:
            here = {path: self.read(path) for path in self.walk("")}
            assert here == {path: self.disk.read(path) for path in self.disk.names()}, "memory and disk differ"


def _split(path: str) -> tuple[str, str]:
    folder, _, name = path.rpartition("/")
    return folder, name
