"""A disk that forgets what was not synced, with torn writes, errors and delays.

A file is a sequence of bytes. `append` and `replace` reach the page cache; `sync` makes them durable; `crash`
loses the rest: for each file a random prefix of the unsynced bytes survives (a torn tail), whole 512-byte sectors
or parts of one.

Upstream: none. Spec: Pillai et al., "All File Systems Are Not Created Equal" (what a crash may leave behind).
Simplified: one file does not reorder its own writes; directories are always durable.
"""

from __future__ import annotations

import random
from typing import Any

__all__ = ["Disk", "DiskError"]

_SECTOR = 512


class DiskError(OSError):
    """The disk refused an operation (an injected fault, or no space left)."""


class Disk:
    """Files by name. `capacity` in bytes; `fail_next` makes the next operations of a kind fail."""

    def __init__(self, rng: random.Random, *, capacity: int | None = None, sync_ms: tuple[int, int] = (0, 0)) -> None:
        self._rng = rng
        self.capacity = capacity
        self._sync_ms = sync_ms
        self._durable: dict[str, bytes] = {}
        self._cached: dict[str, bytes] = {}
        self._failures: dict[str, int] = {}
        self.syncs = 0

    def fail_next(self, operation: str, times: int = 1) -> None:
        """The next `times` calls of `append`, `replace`, `sync` or `read` raise DiskError."""
        if operation not in ("append", "replace", "sync", "read"):
            raise ValueError(f"operation {operation!r}: expected append, replace, sync or read")
        self._failures[operation] = self._failures.get(operation, 0) + times

    def append(self, name: str, data: bytes) -> None:
        """Add `data` at the end of file `name` (made when missing). Not durable before `sync`."""
        self._check("append", len(data))
        self._cached[name] = self._cached.get(name, b"") + data

    def replace(self, name: str, data: bytes) -> None:
        """Write a file anew and rename it over the old one: after a crash either content is there, whole."""
        self._check("replace", len(data) - len(self._cached.get(name, b"")))
        self._cached[name] = data
        self._durable[name] = self._rng.choice((data, self._durable[name])) if name in self._durable else data

    def delete(self, name: str) -> None:
        """Remove a file; FileNotFoundError when there is none."""
        if name not in self._cached:
            raise FileNotFoundError(name)
        del self._cached[name]
        self._durable.pop(name, None)

    def sync(self, name: str) -> int:
        """Make file `name` durable. Returns how many ms the caller must wait before it may rely on that."""
        self._check("sync", 0)
        self._durable[name] = self._cached.get(name, b"")
        self.syncs += 1
        low, high = self._sync_ms
        return low if low == high else self._rng.randint(low, high)

    def read(self, name: str) -> bytes:
        """What a running process sees, synced or not; FileNotFoundError when there is no such file."""
        self._check("read", 0)
        if name not in self._cached:
            raise FileNotFoundError(name)
        return self._cached[name]

    def names(self) -> list[str]:
        return sorted(self._cached)

    @property
    def used(self) -> int:
        """Bytes in all files."""
        return sum(len(data) for data in self._cached.values())

    def unsynced(self, name: str) -> int:
        """How many bytes at the end of `name` a crash could lose."""
        durable, cached = self._durable.get(name, b""), self._cached.get(name, b"")
        return len(cached) - len(durable) if cached.startswith(durable) else len(cached)

    def crash(self) -> None:
        """Power loss: every file falls back to what is durable plus a random part of what was appended since."""
        for name in sorted(self._cached):
            durable, cached = self._durable.get(name, b""), self._cached[name]
            if cached.startswith(durable) and len(cached) > len(durable):
                tail = cached[len(durable) :]
                kept = self._rng.randint(0, len(tail))
                if self._rng.random() < 0.5:
                    kept -= kept % _SECTOR
                durable += tail[:kept]
            self._durable[name] = durable
        self._cached = dict(self._durable)

    def _check(self, operation: str, growth: int) -> None:
        if self._failures.get(operation, 0) > 0:
            self._failures[operation] -= 1
            raise DiskError(5, f"input/output error: {operation} (injected)")
        if self.capacity is not None and growth > 0 and self.used + growth > self.capacity:
            raise DiskError(28, f"no space left on device: {self.used + growth} bytes wanted, {self.capacity} there")

    def view(self) -> dict[str, Any]:
        return {name: {"bytes": len(data), "unsynced": self.unsynced(name)} for name, data in self._cached.items()}

    def check_invariants(self) -> None:
        """AssertionError when a durable file is unknown to the running system."""
        assert self._durable.keys() <= self._cached.keys(), "a durable file is not visible"
