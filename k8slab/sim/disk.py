"""A disk that forgets what was not synced, with torn writes, errors and delays.

A file is a sequence of bytes. `append` and `replace` reach the page cache; `sync` makes them durable; `crash`
loses the rest: for each file a random prefix of the unsynced bytes survives (a torn tail), whole 512-byte sectors
or parts of one.

Upstream: none. Spec: Pillai et al., "All File Systems Are Not Created Equal" (what a crash may leave behind).
Simplified: one file does not reorder its own writes; directories are always durable.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from k8slab.sim.latency import check_bounds

__all__ = ["Disk", "DiskError"]

_SECTOR = 512


class DiskError(OSError):
    """The disk refused an operation (an injected fault, or no space left)."""


@dataclass(slots=True)
class _File:
    """The first `synced` bytes of `content` are durable; or `instead` is, where a new file's name is not yet."""

    content: bytearray = field(default_factory=bytearray)
    synced: int = 0
    instead: bytes | None = None

    @property
    def durable(self) -> bytes:
        return bytes(self.content[: self.synced]) if self.instead is None else self.instead


class Disk:
    """Files by name. `capacity` in bytes; `fail_next` makes the next operations of a kind fail."""

    def __init__(self, rng: random.Random, *, capacity: int | None = None, sync_ms: tuple[int, int] = (0, 0)) -> None:
        check_bounds("sync_ms", sync_ms)
        self._rng = rng
        self.capacity = capacity
        self._sync_ms = sync_ms
        self._files: dict[str, _File] = {}
        self._failures: dict[str, int] = {}
        self._used = 0
        self.syncs = 0

    def fail_next(self, operation: str, times: int = 1) -> None:
        """The next `times` calls of `append`, `replace`, `sync` or `read` raise DiskError."""
        if operation not in ("append", "replace", "sync", "read"):
            raise ValueError(f"operation {operation!r}: expected append, replace, sync or read")
        self._failures[operation] = self._failures.get(operation, 0) + times

    def append(self, name: str, data: bytes) -> None:
        """Add `data` at the end of file `name` (made when missing). Not durable before `sync`."""
        self._check("append", len(data))
        self._used += len(data)
        self._files.setdefault(name, _File()).content += data

    def replace(self, name: str, data: bytes) -> None:
        """Write a file anew and rename it over the old one: after a crash either content is there, whole."""
        old = self._files.get(name)
        growth = len(data) - (len(old.content) if old is not None else 0)
        self._check("replace", growth)
        self._used += growth
        new = self._files[name] = _File(bytearray(data), synced=len(data))
        if old is not None and self._rng.random() < 0.5:
            new.instead = old.durable

    def delete(self, name: str) -> None:
        """Remove a file; FileNotFoundError when there is none."""
        if name not in self._files:
            raise FileNotFoundError(name)
        self._used -= len(self._files.pop(name).content)

    def sync(self, name: str) -> int:
        """Make file `name` durable. Returns how many ms the caller must wait before it may rely on that."""
        self._check("sync", 0)
        file = self._files.setdefault(name, _File())
        file.synced, file.instead = len(file.content), None
        self.syncs += 1
        low, high = self._sync_ms
        return low if low == high else self._rng.randint(low, high)

    def read(self, name: str) -> bytes:
        """What a running process sees, synced or not; FileNotFoundError when there is no such file."""
        self._check("read", 0)
        if name not in self._files:
            raise FileNotFoundError(name)
        return bytes(self._files[name].content)

    def names(self) -> list[str]:
        return sorted(self._files)

    @property
    def used(self) -> int:
        """Bytes in all files."""
        return self._used

    def unsynced(self, name: str) -> int:
        """How many bytes of `name` a crash could lose."""
        file = self._files.get(name)
        if file is None:
            return 0
        return len(file.content) - (file.synced if file.instead is None else 0)

    def crash(self) -> None:
        """Power loss: every file falls back to what is durable plus a random part of what was appended since."""
        for name in self.names():
            file = self._files[name]
            kept = bytes(file.durable)
            tail = len(file.content) - file.synced
            if file.instead is None and tail:
                more = self._rng.randint(0, tail)
                if self._rng.random() < 0.5:
                    more -= more % _SECTOR
                kept = bytes(file.content[: file.synced + more])
            self._used += len(kept) - len(file.content)
            self._files[name] = _File(bytearray(kept), synced=len(kept))

    def _check(self, operation: str, growth: int) -> None:
        if self._failures.get(operation, 0) > 0:
            self._failures[operation] -= 1
            raise DiskError(5, f"input/output error: {operation} (injected)")
        if self.capacity is not None and growth > 0 and self.used + growth > self.capacity:
            raise DiskError(28, f"no space left on device: {self.used + growth} bytes wanted, {self.capacity} there")

    def view(self) -> dict[str, Any]:
        return {n: {"bytes": len(file.content), "unsynced": self.unsynced(n)} for n, file in self._files.items()}

    def check_invariants(self) -> None:
        """AssertionError when the books do not balance."""
        assert self._used == sum(len(file.content) for file in self._files.values()), "bytes are miscounted"
        assert all(file.synced <= len(file.content) for file in self._files.values()), "more is durable than is there"
