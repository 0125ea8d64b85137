"""Another correct solution, built otherwise: three sets of numbers (as etcd's groups), deques, and a whole list of what
is missing made before any of it is handed out."""

from collections import deque
from typing import NamedTuple


class Response(NamedTuple):
    revision: int
    events: list
    compact_revision: int = 0


class WatchHub:
    def __init__(self, history, room):
        self._history = history
        self._room = room
        self._keys, self._from, self._queues = [], [], []  # by number
        self._synced, self._unsynced = set(), set()

    def watch(self, key, end="", start=0):
        number = len(self._keys)
        first = start if start else self._history.revision + 1
        self._keys.append((key, end or key + "\0"))
        self._from.append(first)
        self._queues.append(deque())
        (self._synced if first > self._history.revision else self._unsynced).add(number)
        return number

    def _mine(self, number, events):
        first, end = self._keys[number]
        return [(key, value) for key, value in events if first <= key < end]

    def _has_room(self, number):
        return len(self._queues[number]) < self._room

    def notify(self, revision, events):
        for number in sorted(self._synced):
            mine = self._mine(number, events)
            if revision < self._from[number] or not mine:
                continue
            if self._has_room(number):
                self._queues[number].append(Response(revision, mine))
            else:
                self._synced.remove(number)
                self._unsynced.add(number)
                self._from[number] = revision

    def sync(self):
        for number in sorted(self._unsynced):
            if not self._has_room(number):
                continue
            compacted = self._history.compact_revision
            if self._from[number] < compacted:
                self._unsynced.remove(number)
                self._queues[number].append(Response(0, [], compacted))
                continue
            missing = [(at, self._mine(number, events)) for at, events in self._history.since(self._from[number])]
            missing = deque(Response(at, mine) for at, mine in missing if mine)
            while missing and self._has_room(number):
                self._queues[number].append(missing.popleft())
            if missing:
                self._from[number] = missing[0].revision
            else:
                self._from[number] = self._history.revision + 1
                self._unsynced.remove(number)
                self._synced.add(number)

    def take(self, watch_id):
        known = 0 <= watch_id < len(self._queues)
        return self._queues[watch_id].popleft() if known and self._queues[watch_id] else None

    def cancel(self, watch_id):
        self._synced.discard(watch_id)
        self._unsynced.discard(watch_id)
        if 0 <= watch_id < len(self._queues):
            self._queues[watch_id].clear()
