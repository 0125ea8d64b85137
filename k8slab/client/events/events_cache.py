"""The event correlator: fewer events, each of which says more.

An event passes three stations. The aggregator turns the tenth different message of the same kind within ten minutes
into "(combined from similar events)". The logger notices that the very same event happened before: then the event
that exists is patched with a new count. The spam filter lets a source say 25 things about an object, and one more
every five minutes.

Upstream: staging/src/k8s.io/client-go/tools/record/events_cache.go
Simplified: where upstream's aggregator forgets any one message of a full set (map order), the oldest goes.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from typing import Any, Generic, NamedTuple, TypeVar

from k8slab.api.objects import Object
from k8slab.api.times import EPOCH, rfc3339
from k8slab.client.workqueue.rate import Limiter

__all__ = ["CorrelateResult", "EventCorrelator"]

V = TypeVar("V")

MAX_LRU_CACHE_ENTRIES = 4096
AGGREGATE_MAX_EVENTS = 10
AGGREGATE_INTERVAL_S = 600
SPAM_BURST = 25
SPAM_QPS: float = struct.unpack("f", struct.pack("f", 1 / 300))[0]
"""One event in five minutes, as the float32 that upstream computes with."""


class CorrelateResult(NamedTuple):
    """`skip`: write nothing. Otherwise write `event`: as a patch of the one that exists if `patch` is not None."""

    event: dict[str, Any] | None
    patch: dict[str, Any] | None
    skip: bool


class _Lru(Generic[V]):
    def __init__(self, size: int) -> None:
        self._size = size
        self._items: OrderedDict[str, V] = OrderedDict()

    def get(self, key: str) -> V | None:
        if key in self._items:
            self._items.move_to_end(key)
        return self._items.get(key)

    def put(self, key: str, value: V) -> None:
        self._items[key] = value
        self._items.move_to_end(key)
        if len(self._items) > self._size:
            self._items.popitem(last=False)

    def __len__(self) -> int:
        return len(self._items)


class _AggregateRecord(NamedTuple):
    messages: dict[str, None]
    last_ms: int


class _EventLog(NamedTuple):
    times: int
    first_timestamp: str
    name: str
    resource_version: str


class EventCorrelator:
    """Decides what becomes of each event. The pure mechanism: the caller writes what it returns, and tells
    `update_state` what the server made of it."""

    def __init__(
        self,
        *,
        cache_size: int = MAX_LRU_CACHE_ENTRIES,
        max_events: int = AGGREGATE_MAX_EVENTS,
        max_interval_s: int = AGGREGATE_INTERVAL_S,
        burst: int = SPAM_BURST,
        qps: float = SPAM_QPS,
    ) -> None:
        self.max_events = max_events
        self.max_interval_ms = max_interval_s * 1000
        self.burst = burst
        self.qps = qps
        self._aggregates: _Lru[_AggregateRecord] = _Lru(cache_size)
        self._logs: _Lru[_EventLog] = _Lru(cache_size)
        self._limiters: _Lru[Limiter] = _Lru(cache_size)

    def correlate(self, event: Object, now_ms: int) -> CorrelateResult:
        """What to do with `event`, a core/v1 Event with count 1 that happened at `now_ms`."""
        aggregate, key = self._aggregate(event, now_ms)
        observed, patch = self._observe(aggregate, key)
        if self._is_spam(observed, now_ms):
            return CorrelateResult(None, None, True)
        return CorrelateResult(observed, patch, False)

    def update_state(self, event: Object) -> None:
        """The server holds `event` now: remember its name, count and resourceVersion."""
        self._remember(event, event_key(event))

    def check_invariants(self) -> None:
        """AssertionError names what is broken."""
        for key, record in self._aggregates._items.items():
            assert 0 < len(record.messages) < max(self.max_events, 2), (
                f"the aggregate {key} holds {len(record.messages)}"
            )
        for key, limiter in self._limiters._items.items():
            assert limiter.tokens <= self.burst, f"the bucket {key} holds more than {self.burst} tokens"

    def view(self) -> dict[str, Any]:
        """Counts by event, messages by aggregate, tokens by source and object."""
        return {
            "counts": {key: log.times for key, log in self._logs._items.items()},
            "messages": {key: len(record.messages) for key, record in self._aggregates._items.items()},
            "tokens": {key: int(limiter.tokens) for key, limiter in self._limiters._items.items()},
        }

    # -- the three stations ----------------------------------------------------------------------------

    def _aggregate(self, event: Object, now_ms: int) -> tuple[dict[str, Any], str]:
        group = aggregate_key(event)
        record = self._aggregates.get(group)
        if record is None or now_ms - record.last_ms > self.max_interval_ms:
            record = _AggregateRecord({}, now_ms)
        messages = record.messages
        messages[event.get("message", "")] = None
        self._aggregates.put(group, _AggregateRecord(messages, now_ms))
        if len(messages) < self.max_events:
            return dict(event), event_key(event)
        del messages[next(iter(messages))]
        involved = event.get("involvedObject") or {}
        now = rfc3339(now_ms)
        combined = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {
                "name": f"{involved.get('name', '')}.{unix_nanoseconds(now_ms):x}",
                "namespace": event["metadata"].get("namespace", ""),
            },
            "involvedObject": involved,
            "reason": event.get("reason", ""),
            "message": "(combined from similar events): " + event.get("message", ""),
            "source": event.get("source") or {},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": event.get("type", ""),
        }
        return combined, group

    def _observe(self, event: dict[str, Any], key: str) -> tuple[dict[str, Any], dict[str, Any] | None]:
        log = self._logs.get(key)
        patch = None
        if log is not None and log.times > 0:
            metadata = {**event["metadata"], "name": log.name, "resourceVersion": log.resource_version}
            event = {**event, "metadata": metadata, "firstTimestamp": log.first_timestamp, "count": log.times + 1}
            patch = {"count": event["count"], "lastTimestamp": event.get("lastTimestamp")}
            if event.get("message"):
                patch["message"] = event["message"]
        self._remember(event, key)
        return event, patch

    def _is_spam(self, event: Object, now_ms: int) -> bool:
        key = spam_key(event)
        limiter = self._limiters.get(key)
        if limiter is None:
            limiter = Limiter(self.qps, self.burst)
        allowed = limiter.allow(now_ms * 1_000_000)
        self._limiters.put(key, limiter)
        return not allowed

    def _remember(self, event: Object, key: str) -> None:
        metadata = event["metadata"]
        self._logs.put(
            key,
            _EventLog(
                event.get("count", 0),
                event.get("firstTimestamp") or "",
                metadata.get("name", ""),
                metadata.get("resourceVersion", ""),
            ),
        )


def event_key(event: Object) -> str:
    """Names one event: source, object, type, reason and message."""
    kind, namespace, name, uid, api_version = _involved(event)
    return "".join(
        (
            *_source(event),
            *(kind, namespace, name, (event.get("involvedObject") or {}).get("fieldPath") or "", uid, api_version),
            event.get("type") or "",
            event.get("reason") or "",
            event.get("message") or "",
        )
    )


def aggregate_key(event: Object) -> str:
    """Names a group of similar events: as `event_key`, but for the message (and the field path)."""
    return "".join(
        (
            *_source(event),
            *_involved(event),
            event.get("type") or "",
            event.get("reason") or "",
            event.get("reportingComponent") or "",
            event.get("reportingInstance") or "",
        )
    )


def spam_key(event: Object) -> str:
    """Names a source and an object."""
    return "".join((*_source(event), *_involved(event), event.get("type") or ""))


def unix_nanoseconds(now_ms: int) -> int:
    """The wire's idea of a virtual moment."""
    return (int(EPOCH.timestamp()) * 1000 + now_ms) * 1_000_000


def _source(event: Object) -> tuple[str, str]:
    source = event.get("source") or {}
    return source.get("component") or "", source.get("host") or ""


def _involved(event: Object) -> tuple[str, ...]:
    involved = event.get("involvedObject") or {}
    get = involved.get
    return get("kind") or "", get("namespace") or "", get("name") or "", get("uid") or "", get("apiVersion") or ""
