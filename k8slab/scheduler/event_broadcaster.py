"""The scheduler's events: of the newer events API, which folds repetitions into a series.

An event is repeated when type, action, reason and the object (at the same resourceVersion) are those of one before;
then the first one gets `series.count`. Series and single events are forgotten after six minutes of silence.

Upstream: staging/src/k8s.io/client-go/tools/events/{event_broadcaster,event_recorder}.go
Simplified: written as core/v1 Events with the newer fields, which is how the server stores both; a write that fails
is not repeated.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from k8slab.api.errors import StatusError
from k8slab.api.objects import Object
from k8slab.api.scheme import EVENTS
from k8slab.api.times import micro_time
from k8slab.client import Client
from k8slab.client.events import reference_of
from k8slab.scheduler.framework import pod_key
from k8slab.sim.component import Component
from k8slab.sim.loop import Loop, Waiters, pause, sleep

__all__ = ["EventBroadcaster"]

FINISH_MS = 6 * 60 * 1_000
REFRESH_EVERY = 5
NOTE_LENGTH_LIMIT = 1_024


class EventBroadcaster:
    """Records events about Pods for one `reporting_controller` (`default-scheduler`). `event` never waits."""

    def __init__(self, loop: Loop, component: Component, client: Client, reporting_controller: str) -> None:
        self._loop = loop
        self._component = component
        self._client = client
        self._controller = reporting_controller
        self._queue: deque[tuple[dict[str, Any], int | None]] = deque()
        self._series: dict[tuple[str, ...], dict[str, Any]] = {}
        self._last_ms: dict[tuple[str, ...], int] = {}
        self._waiters = Waiters(loop)
        self._rng = loop.stream(f"events/{component.name}/{reporting_controller}")
        self._started = False

    def event(
        self, pod: Object, type: str, reason: str, action: str, note: str, *, related: Object | None = None
    ) -> None:
        """Say something about a Pod, and the Pod that caused it. Notes of more than 1,024 characters are cut."""
        if len(note) > NOTE_LENGTH_LIMIT:
            note = note[: NOTE_LENGTH_LIMIT - 4] + " ..."
        trace = self._loop.trace
        before = trace.current
        cause = trace.emit(
            "event.record",
            self._component.name,
            resource="pods",
            key=pod_key(pod),
            type=type,
            reason=reason,
            note=note[:80],
        )
        trace.current = before
        made = self._make(pod, type, reason, action, note)
        if related is not None:
            made["related"] = reference_of({"apiVersion": "v1", "kind": "Pod", **related})
        self._queue.append((made, cause if cause is not None else before))
        self._waiters.wake()
        if not self._started and self._component.alive:
            self._started = True
            self._component.spawn(f"events/{self._controller}", self._broadcast())
            self._component.spawn(f"events/{self._controller}/finish", self._finish())

    def _make(self, pod: Object, type: str, reason: str, action: str, note: str) -> dict[str, Any]:
        metadata = pod["metadata"]
        now_ms = self._loop.clock.now_ms
        suffix = f"{now_ms * 1_000_000 + self._rng.randrange(1_000_000):x}"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{metadata['name']}.{suffix}", "namespace": metadata.get("namespace") or "default"},
            "involvedObject": reference_of({"apiVersion": "v1", "kind": "Pod", **pod}),
            "reason": reason,
            "message": note,
            "source": {},
            "firstTimestamp": None,
            "lastTimestamp": None,
            "type": type,
            "eventTime": micro_time(now_ms),
            "action": action,
            "reportingComponent": self._controller,
            "reportingInstance": f"{self._controller}-{self._component.name}",
        }

    async def _broadcast(self) -> None:
        while True:
            while not self._queue:
                await pause(self._waiters)
            event, cause = self._queue.popleft()
            self._loop.trace.current = cause
            await self._record(event)
            await pause()

    async def _record(self, event: dict[str, Any]) -> None:
        key = _key(event)
        self._last_ms[key] = self._loop.clock.now_ms
        first = self._series.get(key)
        if first is None:
            self._series[key] = event
            await self._write(event, None)
            return
        series = first.get("series")
        first["series"] = {"count": series["count"] + 1 if series else 2, "lastObservedTime": event["eventTime"]}
        if series is None:  # the second occurrence is written, later ones only when the series ends
            await self._write(first, {"series": dict(first["series"])})

    async def _write(self, event: dict[str, Any], patch: dict[str, Any] | None) -> None:
        metadata = event["metadata"]
        try:
            if patch is None:
                await self._client.create(EVENTS, {**event, "metadata": dict(metadata)})
            else:
                await self._client.patch(EVENTS, metadata["name"], patch, metadata["namespace"])
        except (StatusError, TimeoutError) as error:
            key = f"{metadata['namespace']}/{event['involvedObject']['name']}"
            why = str(error)[:80]
            self._loop.trace.emit(
                "event.drop", self._component.name, resource="pods", key=key, reason=event["reason"], why=why
            )

    async def _finish(self) -> None:
        """Every six minutes write and forget what has fallen silent; every thirty write the series that go on."""
        ticks = 0
        while True:
            await sleep(FINISH_MS, periodic=True)
            ticks += 1
            self._loop.trace.current = None
            limit = self._loop.clock.now_ms - FINISH_MS
            for key in [key for key, last_ms in self._last_ms.items() if last_ms < limit]:
                del self._last_ms[key]
                event = self._series.pop(key)
                if "series" in event:
                    await self._write(event, {"series": dict(event["series"])})
            if ticks % REFRESH_EVERY == 0:
                for event in [event for event in self._series.values() if "series" in event]:
                    await self._write(event, {"series": dict(event["series"])})


def _key(event: Object) -> tuple[str, ...]:
    about = event["involvedObject"]
    parts = ("kind", "namespace", "name", "uid", "resourceVersion")
    return (event["type"], event["action"], event["reason"], *(str(about.get(part)) for part in parts))
