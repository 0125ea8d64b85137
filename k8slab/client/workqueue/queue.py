"""The work queue: a set of dirty keys, a set of keys being processed, and the order between them.

A key is queued at most once, however often it is added, and never handed to two workers at a time:

    add a            queue [a]   dirty {a}   processing {}
    get -> a         queue []    dirty {}    processing {a}
    add a            queue []    dirty {a}   processing {a}    (waits until `a` is done)
    done a           queue [a]   dirty {a}   processing {}

Upstream: staging/src/k8s.io/client-go/util/workqueue/queue.go (Typed)
Simplified: no metrics, no pluggable order (upstream's Queue interface with Touch).
"""

from __future__ import annotations

from collections import deque
from typing import Any

__all__ = ["Queue"]


class Queue:
    """The pure mechanism: plain calls, no waiting. Keys are hashable; `get` gives None when nothing is queued."""

    def __init__(self) -> None:
        self.queue: deque[Any] = deque()
        self.dirty: dict[Any, None] = {}
        self.processing: dict[Any, None] = {}
        self.shutting_down = False

    def __len__(self) -> int:
        """How many keys wait for a worker (those being processed are not counted)."""
        return len(self.queue)

    def add(self, key: Any) -> bool:
        """Mark `key` as needing work. True: it was not marked before. Ignored once shut down."""
        if self.shutting_down or key in self.dirty:
            return False
        self.dirty[key] = None
        if key not in self.processing:
            self.queue.append(key)
        return True

    def get(self) -> Any | None:
        """The key to work on next, None when none is queued. The caller owes a `done` for it."""
        if not self.queue:
            return None
        key = self.queue.popleft()
        self.processing[key] = None
        self.dirty.pop(key, None)
        return key

    def done(self, key: Any) -> None:
        """The work on `key` is over; if it was added meanwhile it is queued again.

        Call it only for keys that `get` handed out: for one that is still queued it would queue it twice, as
        upstream does.
        """
        self.processing.pop(key, None)
        if key in self.dirty:
            self.queue.append(key)

    def shut_down(self) -> None:
        """Take no more keys. Those queued are still handed out: the queue drains."""
        self.shutting_down = True

    def check_invariants(self) -> None:
        """AssertionError names what is broken. Holds as long as `done` is called for handed-out keys only."""
        queued = list(self.queue)
        assert len(set(queued)) == len(queued), f"a key is queued twice: {queued}"
        for key in queued:
            assert key in self.dirty, f"key {key!r} is queued but not dirty"
            assert key not in self.processing, f"key {key!r} is queued while it is being processed"
        for key in self.dirty:
            assert key in self.processing or key in queued, f"key {key!r} is dirty but neither queued nor processed"

    def view(self) -> dict[str, Any]:
        """Its state as keyed maps, for the stepper."""
        return {
            "queue": {str(key): place for place, key in enumerate(self.queue)},
            "dirty": {str(key): True for key in self.dirty},
            "processing": {str(key): True for key in self.processing},
            "shutting_down": self.shutting_down,
        }
