"""Keys that become due later: a heap by time, one entry a key, the earlier time wins.

Upstream: staging/src/k8s.io/client-go/util/workqueue/delaying_queue.go (waitForPriorityQueue)
Simplified: no channel between AddAfter and the heap, so a key is in the heap at once; keys of equal time leave in
the order in which they came (upstream: heap order).
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

__all__ = ["DelayingQueue", "WaitFor"]


class WaitFor(NamedTuple):
    """One waiting key. `seq` breaks ties of `ready_at_ms`; `cause` is the trace event that asked for it; `periodic`
    marks delays that recur for ever."""

    ready_at_ms: int
    seq: int
    key: Any
    cause: int | None = None
    periodic: bool = False


class DelayingQueue:
    """Holds keys until their time has come. The pure mechanism: the caller owns the clock."""

    def __init__(self) -> None:
        self._heap: list[WaitFor] = []
        self._entries: dict[Any, WaitFor] = {}
        self._seq = 0

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, key: Any, ready_at_ms: int, cause: int | None = None, periodic: bool = False) -> bool:
        """Let `key` wait until `ready_at_ms`. False: it waits already, and not for longer."""
        known = self._entries.get(key)
        if known is not None and known.ready_at_ms <= ready_at_ms:
            return False
        entry = WaitFor(ready_at_ms, self._seq, key, cause, periodic)
        self._seq += 1
        self._entries[key] = entry
        heapq.heappush(self._heap, entry)
        return True

    def pop_ready(self, now_ms: int) -> list[WaitFor]:
        """Take out every key whose time has come, earliest first."""
        ready = []
        while self._heap and self._heap[0].ready_at_ms <= now_ms:
            entry = heapq.heappop(self._heap)
            if self._entries.get(entry.key) is entry:
                del self._entries[entry.key]
                ready.append(entry)
        return ready

    def peek(self) -> WaitFor | None:
        """The key that becomes due next; None when none waits."""
        while self._heap and self._entries.get(self._heap[0].key) is not self._heap[0]:
            heapq.heappop(self._heap)
        return self._heap[0] if self._heap else None

    def clear(self) -> None:
        self._heap.clear()
        self._entries.clear()

    def check_invariants(self) -> None:
        """AssertionError names what is broken."""
        in_heap = {id(entry) for entry in self._heap}
        for key, entry in self._entries.items():
            assert entry.key == key, f"the entry of {key!r} is for {entry.key!r}"
            assert id(entry) in in_heap, f"the entry of {key!r} is not in the heap: it would never become due"
        for place in range(1, len(self._heap)):
            assert self._heap[(place - 1) // 2] <= self._heap[place], f"the heap order is broken at place {place}"

    def view(self) -> dict[str, int]:
        """Waiting keys and when they become due."""
        return {str(key): entry.ready_at_ms for key, entry in self._entries.items()}
