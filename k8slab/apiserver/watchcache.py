"""One resource as this server last heard of it, with the recent history: what lists and watches are served from.

>>> from k8slab.api.objects import freeze
>>> from k8slab.sim import Clock
>>> cache = WatchCache("pods", Clock())
>>> cache.replace({}, revision=1)
>>> pod = lambda labels, rv: freeze({"metadata": {"name": "a", "labels": labels, "resourceVersion": str(rv)}})
>>> _ = cache.apply("default/a", pod({"app": "web"}, 2), 2)
>>> watch = CacheWatch(cache, label_selector=parse_selector("app=web"))
>>> cache.start(watch, since=1)
>>> _ = cache.apply("default/a", pod({"app": "db"}, 3), 3)
>>> [(event.type, event.object["metadata"]["labels"], event.revision) for event in watch.pending]
[('ADDED', {'app': 'web'}, 2), ('DELETED', {'app': 'web'}, 3)]

An object that leaves a watch's selector is DELETED for it: the event carries the old object with the new
resourceVersion. Watches whose field selector names an indexed field (`spec.nodeName` of Pods) are found through the
index, so an event is offered to the two watches concerned and not to every kubelet.

Upstream: apiserver/pkg/storage/cacher/{cacher,watch_cache,cache_watcher}.go
Simplified: state at an older revision is computed by undoing events, upstream keeps tree snapshots; one reflector for
    all resources of a server, so their caches never lag behind each other; the history keeps 75 s of events, at most
    `capacity`.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from k8slab.api.fields import FieldSelector, parse_field_selector
from k8slab.api.labels import Selector, parse_selector
from k8slab.api.objects import Frozen
from k8slab.apiserver.storage import too_old, with_revision
from k8slab.sim import Clock

__all__ = ["CacheEvent", "CacheWatch", "Change", "WatchCache"]

FRESH_MS = 75_000
MIN_HISTORY = 100

_ALL_LABELS = parse_selector("")
_ALL_FIELDS = parse_field_selector("")
Attributes = Callable[[Frozen], Mapping[str, str]]


class Change(NamedTuple):
    """One revision of one object: `obj` None when it was deleted, `prev` None when it was created."""

    key: str
    obj: Frozen | None
    prev: Frozen | None
    revision: int
    now_ms: int


class CacheEvent(NamedTuple):
    """What a watch is told. `revision` is the one that caused it."""

    type: str
    object: Frozen
    revision: int


def _no_fields(obj: Frozen) -> Mapping[str, str]:
    return {}


class CacheWatch:
    """A watch on a cache. Events go to `pending`; `on_event` is called after each one, `on_close` when the watch
    ends, also from the cache's side. Neither may wait.

    `prefix` is `namespace/` or empty. Field values come from the cache's `attributes`.
    """

    def __init__(
        self,
        cache: WatchCache,
        *,
        prefix: str = "",
        label_selector: Selector = _ALL_LABELS,
        field_selector: FieldSelector = _ALL_FIELDS,
    ) -> None:
        self.cache = cache
        self.prefix = prefix
        self.labels = label_selector
        self.fields = field_selector
        self.selects = not (label_selector.empty and field_selector.empty)
        self.pending: deque[CacheEvent] = deque()
        self.on_event: Callable[[], None] | None = None
        self.on_close: Callable[[], None] | None = None
        self.closed = False
        self.since = 0
        self.number = 0

    @property
    def trigger(self) -> str | None:
        """The value of the cache's index field that every event of this watch has, if there is one."""
        return self.fields.requires_exact_match(self.cache.index_field) if self.cache.index_field else None

    def matches(self, key: str, obj: Frozen) -> bool:
        """Whether an object belongs to what is watched."""
        if self.prefix and not key.startswith(self.prefix):
            return False
        if not self.selects:
            return True
        if not self.labels.matches(obj["metadata"].get("labels")):
            return False
        return self.fields.empty or self.fields.matches(self.cache.selectable(obj))

    def offer(self, change: Change) -> None:
        """Turn a change into the event this watch should see, if any."""
        if change.revision <= self.since:
            return
        obj, prev = change.obj, change.prev
        now = obj is not None and self.matches(change.key, obj)
        before = prev is not None and self.matches(change.key, prev)
        if now and obj is not None:
            self.push(CacheEvent("MODIFIED" if before else "ADDED", obj, change.revision))
        elif before and prev is not None:
            self.push(CacheEvent("DELETED", with_revision(prev, change.revision), change.revision))

    def push(self, event: CacheEvent) -> None:
        self.pending.append(event)
        if self.on_event is not None:
            self.on_event()

    def close(self) -> None:
        """Stop receiving; idempotent."""
        if not self.closed:
            self.closed = True
            self.cache.stop(self)
            if self.on_close is not None:
                self.on_close()


class WatchCache:
    """State and history of one resource. Keys are `namespace/name`, or `name`."""

    def __init__(
        self,
        resource: str,
        clock: Clock,
        *,
        attributes: Attributes = _no_fields,
        index_field: str = "",
        capacity: int = 10_240,
    ) -> None:
        self.resource = resource
        self.attributes = attributes
        self.index_field = index_field
        self.revision = 0
        self.listed_at = 0
        self.objects: dict[str, Frozen] = {}
        self.history: deque[Change] = deque()
        self._clock = clock
        self._capacity = capacity
        self._sorted: list[str] = []
        self._dropped_to = 0  # the newest revision that has been dropped from the history
        self._watches: dict[int, CacheWatch] = {}
        self._by_index: dict[str, dict[int, CacheWatch]] = {}
        self._numbers = 0
        self._selectable: dict[int, tuple[Frozen, Mapping[str, str]]] = {}  # by id(), the latest two
        self.on_change: Callable[[Change | None], None] | None = None
        """Called with every change, and with None when everything is new. It may not wait."""

    # -- changes -----------------------------------------------------------------------------------

    def replace(self, objects: Mapping[str, Frozen], revision: int) -> None:
        """Begin with a list as of `revision`; earlier history is unknown. Open watches end."""
        self.objects = dict(objects)
        self._sorted = sorted(self.objects)
        self.history.clear()
        self.revision = self.listed_at = self._dropped_to = revision
        for watch in list(self.watches()):
            watch.close()
        if self.on_change is not None:
            self.on_change(None)

    def apply(self, key: str, obj: Frozen | None, revision: int) -> Change:
        """The object behind `key` is now `obj` (None: deleted) as of `revision`."""
        prev = self.objects.get(key)
        if obj is None:
            if prev is not None:
                del self.objects[key]
                del self._sorted[bisect_left(self._sorted, key)]
        else:
            if prev is None:
                insort(self._sorted, key)
            self.objects[key] = obj
        change = Change(key, obj, prev, revision, self._clock.now_ms)
        self.history.append(change)
        self.revision = revision
        self._trim()
        self._dispatch(change)
        if self.on_change is not None:
            self.on_change(change)
        return change

    def progress(self, revision: int) -> None:
        """Nothing of this resource changed up to `revision`."""
        self.revision = max(self.revision, revision)

    def _trim(self) -> None:
        history, old = self.history, self._clock.now_ms - FRESH_MS
        while len(history) > MIN_HISTORY and (history[0].now_ms < old or len(history) > self._capacity):
            self._dropped_to = history.popleft().revision

    def _dispatch(self, change: Change) -> None:
        for watch in list(self._watches.values()):
            watch.offer(change)
        if self._by_index:
            seen: dict[str, None] = {}
            for obj in (change.obj, change.prev):
                if obj is not None:
                    seen[self.selectable(obj).get(self.index_field, "")] = None
            for value in seen:
                for watch in list(self._by_index.get(value, {}).values()):
                    watch.offer(change)

    def selectable(self, obj: Frozen) -> Mapping[str, str]:
        """The fields of `obj` that selectors may ask for. Every watch asks for the same two objects of a change."""
        found = self._selectable.get(id(obj))
        if found is None:
            found = self._selectable[id(obj)] = obj, self.attributes(obj)
            if len(self._selectable) > 2:
                del self._selectable[next(iter(self._selectable))]
        return found[1]

    # -- reading -----------------------------------------------------------------------------------

    def keys(self, prefix: str = "", start: str = "") -> Iterator[str]:
        """Keys under `prefix` in order, from `start` on."""
        for i in range(bisect_left(self._sorted, max(prefix, start)), len(self._sorted)):
            key = self._sorted[i]
            if prefix and not key.startswith(prefix):
                return
            yield key

    def knows(self, revision: int) -> bool:
        """Whether the state as of `revision` can be told from the history."""
        return self._dropped_to <= revision <= self.revision and revision >= self.listed_at

    def state_at(self, revision: int) -> dict[str, Frozen]:
        """All objects as of `revision`, in key order. Raises ExpiredError (410) when the history is gone."""
        if not self.knows(revision):
            raise too_old(revision, self.oldest)
        if not self.history or self.history[-1].revision <= revision:
            return {key: self.objects[key] for key in self._sorted}
        state: dict[str, Frozen | None] = dict(self.objects)
        for change in reversed(self.history):
            if change.revision <= revision:
                break
            state[change.key] = change.prev
        return {key: obj for key, obj in sorted(state.items()) if obj is not None}

    @property
    def oldest(self) -> int:
        """A watch may start at this revision or later."""
        return max(self._dropped_to, self.listed_at)

    def changes_since(self, revision: int) -> list[Change]:
        """Changes after `revision`. Raises ExpiredError (410) when some of them are gone."""
        if revision < self.oldest:
            raise too_old(revision, self.oldest)
        newer: list[Change] = []
        for change in reversed(self.history):
            if change.revision <= revision:
                break
            newer.append(change)
        newer.reverse()
        return newer

    # -- watches -----------------------------------------------------------------------------------

    def start(self, watch: CacheWatch, since: int | None) -> None:
        """Let `watch` receive what happened after revision `since`, or (None) the present objects as ADDED, and then
        everything new. Raises ExpiredError (410) when the past is gone."""
        if since is None:
            for key in self.keys(watch.prefix):
                obj = self.objects[key]
                if watch.matches(key, obj):
                    watch.push(CacheEvent("ADDED", obj, int(obj["metadata"]["resourceVersion"])))
            watch.since = self.revision
        else:
            for change in self.changes_since(since):
                watch.offer(change)
            watch.since = max(since, self.revision)
        self._numbers += 1
        watch.number = self._numbers
        value = watch.trigger
        group = self._watches if value is None else self._by_index.setdefault(value, {})
        group[watch.number] = watch

    def stop(self, watch: CacheWatch) -> None:
        """Forget a watch; unknown ones are ignored."""
        value = watch.trigger
        if value is None:
            self._watches.pop(watch.number, None)
        elif value in self._by_index:
            self._by_index[value].pop(watch.number, None)
            if not self._by_index[value]:
                del self._by_index[value]

    def watches(self) -> Iterator[CacheWatch]:
        """All open watches."""
        yield from list(self._watches.values())
        for group in list(self._by_index.values()):
            yield from list(group.values())

    def view(self) -> dict[str, Any]:
        """Revision, objects by key and open watches by number."""
        return {
            "revision": self.revision,
            "objects": {key: self.objects[key]["metadata"].get("resourceVersion") for key in self._sorted},
            "watches": {str(w.number): {"prefix": w.prefix, "pending": len(w.pending)} for w in self.watches()},
        }

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        assert self._sorted == sorted(self.objects), f"{self.resource}: key order and objects differ"
        revisions = [change.revision for change in self.history]
        assert revisions == sorted(revisions), f"{self.resource}: history is out of order"
        assert not revisions or revisions[0] > self.oldest, f"{self.resource}: history overlaps what was dropped"
        for key, obj in self.objects.items():
            assert int(obj["metadata"]["resourceVersion"]) <= self.revision, f"{self.resource} {key}: from the future"
