"""The scheduling queue: who is next, who backs off, who waits for something to change.

    Add ──> active ──pop──> in flight ──rejected──> unschedulable ──event──> back-off ──> active
                  └──bound──> gone        └─error─> back-off

A plain mechanism: the caller passes the time in, calls `flush` at `backoff_due_ms` and `flush_due_ms`, and pops
when `has_next`.

Upstream: pkg/scheduler/backend/queue/{scheduling_queue,active_queue,backoff_queue,unschedulable_pods}.go (v1.36)
Simplified: a group is no entry of its own, its Pods are (`pop_specific` takes the rest); with QueueingHints always
(they are GA). Nominated Pods are kept beside it, in `Nominator`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import cmp_to_key
from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.scheduler.framework import (
    FORCE_ACTIVATE,
    SUCCESS,
    UNSCHEDULABLE_TIMEOUT,
    UNSCHEDULED_POD_ADD,
    UNSCHEDULED_POD_UPDATE,
    ClusterEvent,
    ClusterEventWithHint,
    PreEnqueuePlugin,
    QueueingHint,
    QueueSortKey,
    QueueSortPlugin,
    pod_changes,
    pod_key,
    scheduler_name,
    uid_of,
)
from k8slab.scheduler.queued_pod import PodHeap, QueuedPodInfo

__all__ = [
    "BACKOFF_COMPLETE",
    "SCHEDULE_ATTEMPT_FAILURE",
    "QueueName",
    "QueueProfile",
    "SchedulingQueue",
]

SCHEDULE_ATTEMPT_FAILURE = "ScheduleAttemptFailure"
BACKOFF_COMPLETE = "BackoffComplete"
FORCE_ACTIVATED = "ForceActivate"

INITIAL_BACKOFF_MS = 1_000
MAX_BACKOFF_MS = 10_000
MAX_IN_UNSCHEDULABLE_MS = 5 * 60 * 1_000
FLUSH_UNSCHEDULABLE_EVERY_MS = 30_000
ORDERING_WINDOW_MS = 1_000


class QueueName(StrEnum):
    """Where a Pod is. `IN_FLIGHT`: popped, and neither bound nor back."""

    ACTIVE = "Active"
    BACKOFF = "Backoff"
    UNSCHEDULABLE = "Unschedulable"
    IN_FLIGHT = "InFlight"


class _Strategy(StrEnum):
    SKIP = "skip"
    AFTER_BACKOFF = "after backoff"
    IMMEDIATELY = "immediately"


class QueueProfile(NamedTuple):
    """What the queue needs of a framework: its gates, and per plugin the events that may help."""

    pre_enqueue: tuple[PreEnqueuePlugin, ...] = ()
    events: Mapping[str, list[ClusterEventWithHint]] = {}


class _Flight(NamedTuple):
    """An entry of the in-flight log: a Pod that was popped (`event` None), or an event that happened since."""

    uid: str
    event: ClusterEvent | None = None
    old: Object | None = None
    new: Object | None = None


def _ordering(sort: QueueSortPlugin) -> Callable[[QueuedPodInfo], Any]:
    """The key of a Pod in a heap: kept in the heap where the plugin has such keys, else compared when needed."""

    def compare(a: QueuedPodInfo, b: QueuedPodInfo) -> int:
        return -1 if sort.less(a, b) else 1 if sort.less(b, a) else a.seq - b.seq

    if isinstance(sort, QueueSortKey):
        return lambda info: (sort.sort_key(info), info.seq)
    return cmp_to_key(compare)


class SchedulingQueue:
    """Pending Pods of one scheduler, of all its profiles.

    `sort`: the QueueSort plugin. `profiles`: by scheduler name. `pop_from_backoff`: when nothing is active, take
    the Pod that backs off and has the nearest expiry rather than wait (gate SchedulerPopFromBackoffQ). Every method
    that may make a Pod poppable returns nothing; ask `has_next`. `on_move` hears (pod, from what event, where to),
    `on_hint` what a queueing hint answered (plugin, event, hint). `incoming`: how many Pods came by (queue, event).
    """

    def __init__(
        self,
        sort: QueueSortPlugin,
        profiles: Mapping[str, QueueProfile],
        *,
        initial_backoff_ms: int = INITIAL_BACKOFF_MS,
        max_backoff_ms: int = MAX_BACKOFF_MS,
        max_in_unschedulable_ms: int = MAX_IN_UNSCHEDULABLE_MS,
        pop_from_backoff: bool = True,
        on_move: Callable[[QueuedPodInfo, str, QueueName], None] | None = None,
    ) -> None:
        order = _ordering(sort)
        self._profiles = profiles
        self._initial_backoff_ms, self._max_backoff_ms = initial_backoff_ms, max_backoff_ms
        self._max_in_unschedulable_ms = max_in_unschedulable_ms
        self._pop_from_backoff = pop_from_backoff
        self._on_move = on_move
        self._active = PodHeap(order)
        # Within one ordering window the more important Pod comes first, although another may expire earlier.
        self._backoff = PodHeap(lambda info: (info.backoff_expiration_ms, order(info)))
        self._error_backoff = PodHeap(lambda info: info.backoff_expiration_ms)
        self._unschedulable: dict[str, QueuedPodInfo] = {}
        self._in_flight: dict[str, str] = {}  # uid -> name
        self._flying: dict[str, str] = {}  # name -> uid
        self._log: OrderedDict[int, _Flight] = OrderedDict()
        self._popped_at: dict[str, int] = {}  # uid -> number of its entry in the log
        self._log_count = 0
        self._interest: dict[ClusterEvent, bool] = {}
        self.incoming: dict[tuple[str, ...], int] = {}
        self.on_hint: Callable[[str, str, str], None] | None = None
        self._seq = 0
        self._next_flush_ms = FLUSH_UNSCHEDULABLE_EVERY_MS
        self.scheduling_cycle = 0

    # -- what comes in -----------------------------------------------------------------------------

    def add(self, pod: Object, now_ms: int) -> None:
        """A new Pod without a Node."""
        self._seq += 1
        info = QueuedPodInfo(pod, now_ms, self._seq)
        self._to_active(info, UNSCHEDULED_POD_ADD.label, now_ms)

    def update(self, old: Object | None, new: Object, now_ms: int) -> None:
        """A pending Pod changed. In the unschedulable pool its plugins are asked whether the change helps."""
        key, events = pod_key(new), pod_changes(new, old) if old is not None else []
        uid = uid_of(new)
        if uid in self._in_flight:
            for event in events:
                self._note(_Flight("", event, old, new))
            return
        for heap in (self._active, self._backoff, self._error_backoff):
            info = heap.remove(key)
            if info is not None:
                info.update(new)
                heap.push(info)
                return
        info = self._unschedulable.get(key)
        if info is None:
            self._seq += 1
            self._to_active(QueuedPodInfo(new, now_ms, self._seq), UNSCHEDULED_POD_UPDATE.label, now_ms)
            return
        info.update(new)
        for event in events:
            strategy = self._worth_requeuing(info, event, old, new)
            if self._requeue(info, strategy, event.label, now_ms) is not QueueName.UNSCHEDULABLE:
                return

    def delete(self, pod: Object) -> None:
        """The Pod is gone, or has a Node. In flight it stays until `done`."""
        key = pod_key(pod)
        for heap in (self._active, self._backoff, self._error_backoff):
            heap.remove(key)
        self._unschedulable.pop(key, None)

    def add_unschedulable(self, info: QueuedPodInfo, now_ms: int) -> QueueName:
        """A popped Pod could not be placed. Returns where it went.

        Without rejecting plugins it failed by an error and backs off by itself. Otherwise it waits for an event,
        unless one that helps happened while it was in flight. A Pod that is queued already is a ValueError.
        """
        if self.where(info.key) in (QueueName.ACTIVE, QueueName.BACKOFF, QueueName.UNSCHEDULABLE):
            raise ValueError(f"pod {info.key}: already present in the queue {self.where(info.key)}")
        if info.rejected_by:
            info.unschedulable_count += 1
            info.consecutive_errors = 0
        else:
            info.consecutive_errors += 1
        info.timestamp_ms = now_ms
        info.backoff_expiration_ms = None
        info.was_flushed = False
        strategy = self._strategy_in_flight(info)
        where = self._requeue(info, strategy, SCHEDULE_ATTEMPT_FAILURE, now_ms)
        self.done(info.uid)
        return where

    def activate(self, pods: Iterable[Object], now_ms: int) -> None:
        """Bring these back at once (a plugin asks for it). In flight: as soon as they come back."""
        for pod in pods:
            key = pod_key(pod)
            info = self._unschedulable.get(key) or self._backoff.remove(key) or self._error_backoff.remove(key)
            if info is not None:
                self._to_active(info, FORCE_ACTIVATED, now_ms)
            elif uid_of(pod) in self._in_flight:
                self._note(_Flight("", FORCE_ACTIVATE, None, pod))

    def move_all(
        self,
        event: ClusterEvent,
        old: Object | None,
        new: Object | None,
        now_ms: int,
        *,
        only: Callable[[QueuedPodInfo], bool] | None = None,
    ) -> None:
        """Something changed in the cluster: bring back the Pods that it may help (asked of who rejected them)."""
        if not self._is_of_interest(event):
            return
        for info in list(self._unschedulable.values()):
            if only is not None and not only(info):
                continue
            if info.gating_plugin and not self._interests(info, info.gating_plugin, event):
                continue
            strategy = self._worth_requeuing(info, event, old, new)
            if strategy is not _Strategy.SKIP:
                self._requeue(info, strategy, event.label, now_ms)
        if self._in_flight:
            self._note(_Flight("", event, old, new))

    def resort(self) -> None:
        """Work out the sort key of every Pod anew: what a `QueueSortKey` plugin sorts by has changed."""
        for heap in (self._active, self._backoff):
            heap.rebuild()

    # -- time --------------------------------------------------------------------------------------

    def flush(self, now_ms: int) -> None:
        """Move what has backed off to the active queue; every 30 s bring back who has waited for 5 minutes."""
        for heap in (self._backoff, self._error_backoff):
            while (info := heap.peek()) is not None and self._expiry(info) <= now_ms:
                heap.pop()
                self._to_active(info, BACKOFF_COMPLETE, now_ms, check_gates=False)
        if now_ms >= self._next_flush_ms:
            self._next_flush_ms = (now_ms // FLUSH_UNSCHEDULABLE_EVERY_MS + 1) * FLUSH_UNSCHEDULABLE_EVERY_MS
            self.move_all(UNSCHEDULABLE_TIMEOUT, None, None, now_ms, only=lambda info: self._waited_out(info, now_ms))

    def _waited_out(self, info: QueuedPodInfo, now_ms: int) -> bool:
        info.was_flushed = info.was_flushed or now_ms - info.timestamp_ms > self._max_in_unschedulable_ms
        return info.was_flushed

    @property
    def backoff_due_ms(self) -> int | None:
        """When the next back-off ends: `flush` then. None: nobody backs off."""
        due = [self._expiry(info) for heap in (self._backoff, self._error_backoff) if (info := heap.peek())]
        return min(due, default=None)

    @property
    def flush_due_ms(self) -> int | None:
        """When the unschedulable pool is looked through next; None: it is empty."""
        return self._next_flush_ms if self._unschedulable else None

    # -- what goes out -----------------------------------------------------------------------------

    @property
    def has_next(self) -> bool:
        """Whether `pop` has a Pod."""
        return len(self._active) > 0 or (self._pop_from_backoff and len(self._backoff) > 0)

    def pop(self) -> QueuedPodInfo:
        """The next Pod; it is in flight until `done` or `add_unschedulable`. IndexError when there is none."""
        info = self._active.pop()
        if info is None and self._pop_from_backoff:
            info = self._backoff.pop()
        if info is None:
            raise IndexError("pop from an empty scheduling queue")
        return self._flies(info)

    def pop_specific(self, key: str) -> QueuedPodInfo | None:
        """This Pod out of its turn, unless it is gated or not queued: the pod group cycle takes a whole group."""
        info = self.get(key)
        if info is None or info.gating_plugin:
            return None
        for heap in (self._active, self._backoff, self._error_backoff):
            heap.remove(key)
        self._unschedulable.pop(key, None)
        return self._flies(info)

    def _flies(self, info: QueuedPodInfo) -> QueuedPodInfo:
        info.attempts += 1
        info.unschedulable_plugins, info.pending_plugins = {}, {}
        self.scheduling_cycle += 1
        self._in_flight[info.uid], self._flying[info.key] = info.key, info.uid
        self._popped_at[info.uid] = self._note(_Flight(info.uid))
        return info

    def done(self, uid: str) -> None:
        """The Pod is no longer in flight; events that only it could need are forgotten. Idempotent."""
        key = self._in_flight.pop(uid, None)
        if key is None:
            return
        if self._flying[key] == uid:
            # Another Pod of this name may have flown since the last time this one came down.
            del self._flying[key]
            self._flying.update((name, other) for other, name in self._in_flight.items() if name == key)
        del self._log[self._popped_at.pop(uid)]
        while self._log:
            number, entry = self._log.popitem(last=False)
            if entry.event is None:
                self._log[number] = entry
                self._log.move_to_end(number, last=False)
                return

    # -- looking -----------------------------------------------------------------------------------

    def backs_off_until(self, key: str) -> int:
        """When the back-off of a Pod ends; 0 for one that does not back off or is not here."""
        info = self.get(key)
        return self._expiry(info) if info is not None else 0

    def where(self, key: str) -> QueueName | None:
        """The queue a Pod (`namespace/name`) is in; None: not pending here."""
        if key in self._active:
            return QueueName.ACTIVE
        if key in self._backoff or key in self._error_backoff:
            return QueueName.BACKOFF
        if key in self._unschedulable:
            return QueueName.UNSCHEDULABLE
        return QueueName.IN_FLIGHT if key in self._flying else None

    def get(self, key: str) -> QueuedPodInfo | None:
        """A Pod that waits in one of the three queues."""
        for heap in (self._active, self._backoff, self._error_backoff):
            if (info := heap.get(key)) is not None:
                return info
        return self._unschedulable.get(key)

    def counts(self) -> dict[str, int]:
        """How many Pods are in each queue; those that a gate holds back are apart, as `gated`."""
        gated = sum(bool(info.gating_plugin) for info in self._unschedulable.values())
        return {
            "active": len(self._active),
            "backoff": len(self._backoff) + len(self._error_backoff),
            "unschedulable": len(self._unschedulable) - gated,
            "gated": gated,
        }

    def infos(self) -> Iterable[QueuedPodInfo]:
        """All Pods but those in flight."""
        waiting = (heap.infos() for heap in (self._active, self._backoff, self._error_backoff))
        return [info for infos in (*waiting, self._unschedulable.values()) for info in infos]

    def in_flight_events(self) -> dict[str, int]:
        """How many entries of the in-flight log there are, by event; `PodPopped` for the Pods themselves."""
        found: dict[str, int] = {}
        for entry in self._log.values():
            label = "PodPopped" if entry.event is None else entry.event.label
            found[label] = found.get(label, 0) + 1
        return found

    def view(self) -> dict[str, Any]:
        """All Pods by queue, with why they are there."""

        def rows(infos: Iterable[QueuedPodInfo]) -> dict[str, Any]:
            return {
                info.key: {
                    "attempts": info.attempts,
                    "priority": info.priority,
                    "rejected_by": list(info.rejected_by),
                    "gated_by": info.gating_plugin,
                    "backoff_until_ms": info.backoff_expiration_ms,
                }
                for info in infos
            }

        return {
            "active": rows(self._active.infos()),
            "backoff": rows([*self._backoff.infos(), *self._error_backoff.infos()]),
            "unschedulable": rows(self._unschedulable.values()),
            "in_flight": {key: uid for uid, key in self._in_flight.items()},
        }

    def check_invariants(self) -> None:
        """Every Pod is in one queue; gated Pods wait; the log begins with a Pod in flight."""
        seen: dict[str, str] = {}
        queues = {
            "active": [info.key for info in self._active.infos()],
            "backoff": [info.key for info in self._backoff.infos()],
            "error backoff": [info.key for info in self._error_backoff.infos()],
            "unschedulable": list(self._unschedulable),
        }
        for name, keys in queues.items():
            for key in keys:
                assert key not in seen, f"queue: {key} is in {seen[key]} and in {name}"
                seen[key] = name
        for info in (*self._active.infos(), *self._backoff.infos()):
            assert not info.gating_plugin, f"queue: {info.key} is gated by {info.gating_plugin} and not waiting"
        entries = list(self._log.values())
        flying = [entry.uid for entry in entries if entry.event is None]
        assert flying == list(self._in_flight), f"queue: log says {flying} in flight, table {list(self._in_flight)}"
        assert self._flying == {key: uid for uid, key in self._in_flight.items()}, "queue: two tables of Pods in flight"
        assert not entries or entries[0].event is None, "queue: the log begins with an event nobody needs"

    # -- inside ------------------------------------------------------------------------------------

    def _note(self, entry: _Flight) -> int:
        self._log_count += 1
        self._log[self._log_count] = entry
        return self._log_count

    def _profile(self, info: QueuedPodInfo) -> QueueProfile:
        return self._profiles.get(scheduler_name(info.pod)) or next(iter(self._profiles.values()))

    def _is_gated(self, info: QueuedPodInfo) -> bool:
        for plugin in self._profile(info).pre_enqueue:
            if plugin.pre_enqueue(info.pod) is not SUCCESS:
                name: str = plugin.name  # type: ignore[attr-defined]
                info.unschedulable_plugins[name] = None
                info.gating_plugin = name
                return True
        info.gating_plugin = ""
        return False

    def _to_active(self, info: QueuedPodInfo, event: str, now_ms: int, *, check_gates: bool = True) -> bool:
        if check_gates and self._is_gated(info):
            self._gated(info, event)
            return False
        if info.initial_attempt_ms is None:
            info.initial_attempt_ms = now_ms
        self._unschedulable.pop(info.key, None)
        self._active.push(info)
        self._came("active", event)
        self._moved(info, event, QueueName.ACTIVE)
        return True

    def _to_backoff(self, info: QueuedPodInfo, event: str) -> bool:
        if self._is_gated(info):
            self._gated(info, event)
            return False
        self._unschedulable.pop(info.key, None)
        # A Pod that failed by an error is never taken before its time: the API server may be the one in trouble.
        (self._backoff if info.rejected_by else self._error_backoff).push(info)
        self._came("backoff", event)
        self._moved(info, event, QueueName.BACKOFF)
        return True

    def _requeue(self, info: QueuedPodInfo, strategy: _Strategy, event: str, now_ms: int) -> QueueName:
        if strategy is _Strategy.SKIP:
            fresh = info.key not in self._unschedulable
            self._unschedulable[info.key] = info
            if fresh:
                self._came("unschedulable", event)
                self._moved(info, event, QueueName.UNSCHEDULABLE)
            return QueueName.UNSCHEDULABLE
        if strategy is _Strategy.AFTER_BACKOFF and self._expiry(info) > now_ms:
            return QueueName.BACKOFF if self._to_backoff(info, event) else QueueName.UNSCHEDULABLE
        return QueueName.ACTIVE if self._to_active(info, event, now_ms) else QueueName.UNSCHEDULABLE

    def _gated(self, info: QueuedPodInfo, event: str) -> None:
        if info.key not in self._unschedulable:
            self._came("unschedulable", event)
        self._unschedulable[info.key] = info
        self._moved(info, event, QueueName.UNSCHEDULABLE)

    def _came(self, queue: str, event: str) -> None:
        self.incoming[queue, event] = self.incoming.get((queue, event), 0) + 1

    def _moved(self, info: QueuedPodInfo, event: str, to: QueueName) -> None:
        if self._on_move is not None:
            self._on_move(info, event, to)

    def _expiry(self, info: QueuedPodInfo) -> int:
        """When the back-off ends: 1 s, 2 s, 4 s, ... up to 10 s after the last attempt, then at the next full
        second, so that all Pods of one second can be ordered by priority."""
        if info.backoff_expiration_ms is None:
            failures = info.consecutive_errors or info.unschedulable_count
            if not failures:
                return 0
            expiry = info.timestamp_ms + min(self._initial_backoff_ms << (failures - 1), self._max_backoff_ms)
            if self._pop_from_backoff:
                expiry = (expiry // ORDERING_WINDOW_MS + 1) * ORDERING_WINDOW_MS
            info.backoff_expiration_ms = expiry
        return info.backoff_expiration_ms

    def _is_of_interest(self, event: ClusterEvent) -> bool:
        """Whether any plugin registered for it. What is registered never changes, so the answer is kept."""
        known = self._interest.get(event)
        if known is None:
            known = self._interest[event] = event.is_wildcard or any(
                registered.event.matches(event)
                for profile in self._profiles.values()
                for plugin in profile.events.values()
                for registered in plugin
            )
        return known

    def _interests(self, info: QueuedPodInfo, plugin: str, event: ClusterEvent) -> bool:
        registered = self._profile(info).events.get(plugin, ())
        return event.is_wildcard or any(entry.event.matches(event) for entry in registered)

    def _strategy_in_flight(self, info: QueuedPodInfo) -> _Strategy:
        """What the events that happened since the Pod was popped mean for it."""
        if not info.rejected_by:
            return _Strategy.AFTER_BACKOFF
        since = self._popped_at.get(info.uid)
        if since is None:
            return _Strategy.AFTER_BACKOFF
        happened: list[_Flight] = []
        for number in reversed(self._log):
            if number == since:
                break
            happened.append(self._log[number])
        found = _Strategy.SKIP
        for entry in reversed(happened):
            if entry.event is None:
                continue
            strategy = self._worth_requeuing(info, entry.event, entry.old, entry.new)
            if strategy is _Strategy.IMMEDIATELY:
                return strategy
            if strategy is _Strategy.AFTER_BACKOFF:
                found = strategy
        return found

    def _worth_requeuing(
        self, info: QueuedPodInfo, event: ClusterEvent, old: Object | None, new: Object | None
    ) -> _Strategy:
        """Ask the plugins that rejected the Pod. A Pending plugin's yes brings it back without back-off."""
        if not info.rejected_by:
            return _Strategy.AFTER_BACKOFF
        if event.is_wildcard:
            meant = new is None or uid_of(new) == info.uid
            return _Strategy.AFTER_BACKOFF if meant else _Strategy.SKIP
        found = _Strategy.SKIP
        for plugin, registered in self._profile(info).events.items():
            if plugin not in info.unschedulable_plugins and plugin not in info.pending_plugins:
                continue
            for entry in registered:
                if not entry.event.matches(event):
                    continue
                hint = entry.hint(info.pod, old, new) if entry.hint is not None else QueueingHint.QUEUE
                if self.on_hint is not None:
                    self.on_hint(plugin, event.label, hint)
                if hint is QueueingHint.QUEUE_SKIP:
                    continue
                if plugin in info.pending_plugins:
                    return _Strategy.IMMEDIATELY
                found = _Strategy.AFTER_BACKOFF
        return found
