"""The event recorder: components say what they did; a task of its own writes it to the API server.

Recording never waits and never fails: when the queue is full, or the server refuses, the event is lost.

Upstream: staging/src/k8s.io/client-go/tools/record/event.go
Simplified: writes core/v1 Events only; one broadcaster and correlator a recorder; the nanoseconds in an event's
name come from the virtual clock and a random stream; no logging sinks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from k8slab.api.errors import NotFoundError, StatusError
from k8slab.api.names import is_dns1123_subdomain
from k8slab.api.objects import Object
from k8slab.api.scheme import EVENTS, GVK, SCHEME, UnknownKindError
from k8slab.api.times import rfc3339
from k8slab.client.client import Client
from k8slab.client.events.events_cache import CorrelateResult, EventCorrelator, unix_nanoseconds
from k8slab.sim.component import Component
from k8slab.sim.loop import Loop, Waiters, pause, sleep

__all__ = ["EventRecorder", "reference_of"]

MAX_TRIES_PER_EVENT = 12
SLEEP_MS = 10_000
MAX_QUEUED_EVENTS = 1000


class EventRecorder:
    """Records events whose `source.component` is `source` (`deployment-controller`), and `source.host` is `host`.

    `component` owns the writing task (`<component>/events/<source>`). `lane` is the actor of the trace events; by
    default it is the part of the component that recorded the event, as far as the trace knows it.
    """

    def __init__(
        self, loop: Loop, client: Client, component: Component, source: str, *, host: str = "", lane: str | None = None
    ) -> None:
        self.loop = loop
        self.client = client
        self.component = component
        self.source = {"component": source, **({"host": host} if host else {})}
        self.lane = lane
        self.correlator = EventCorrelator()
        self.queue: deque[tuple[dict[str, Any], int | None]] = deque()
        self._waiters = Waiters(loop)
        self._rng = loop.stream(f"events/{component.name}/{source}")
        self._started = False

    def event(
        self,
        obj: Object,
        type: str,
        reason: str,
        message: str,
        *,
        annotations: Mapping[str, str] | None = None,
        field_path: str = "",
    ) -> None:
        """Say something about `obj`. `type`: Normal or Warning (ValueError otherwise). `field_path`: the part of it,
        such as spec.containers{app}. Never waits."""
        if type not in ("Normal", "Warning"):
            raise ValueError(f"event type {type!r}: expected Normal or Warning")
        reference = reference_of(obj, field_path)
        event = self._make(reference, annotations, type, reason, message)
        trace = self.loop.trace
        before = trace.current
        resource, key = _resource(reference), _key(reference)
        if len(self.queue) >= MAX_QUEUED_EVENTS:
            trace.emit(
                "event.drop",
                self._actor(before),
                resource=resource,
                key=key,
                reason=reason,
                why="too many queued events",
            )
            trace.current = before
            return
        seq = trace.emit(
            "event.record", self._actor(before), resource=resource, key=key, type=type, reason=reason, note=message[:80]
        )
        trace.current = before
        self.queue.append((event, seq if seq is not None else before))
        self._waiters.wake()
        if not self._started and self.component.alive:
            self._started = True
            self.component.spawn(f"events/{self.source['component']}", self._broadcast())

    def _actor(self, current: int | None) -> str:
        """The lane of whoever records: the actor of the event `current`, if that is part of the component."""
        if self.lane is not None:
            return self.lane
        try:
            actor = self.loop.trace.actor_of(current) if current is not None else ""
        except KeyError:  # the trace no longer keeps it
            actor = ""
        return actor if actor.startswith(f"{self.component.name}/") else self.component.name

    def _make(
        self, reference: dict[str, Any], annotations: Mapping[str, str] | None, type: str, reason: str, message: str
    ) -> dict[str, Any]:
        now_ms = self.loop.clock.now_ms
        nanoseconds = unix_nanoseconds(now_ms) + self._rng.randrange(1_000_000)
        name = f"{reference['name']}.{nanoseconds:x}"
        if is_dns1123_subdomain(name):  # not every object's name makes a valid name for an Event
            name = str(UUID(int=self._rng.getrandbits(128), version=4))
        metadata: dict[str, Any] = {
            "name": name,
            "namespace": reference.get("namespace") or "default",
        }
        if annotations:
            metadata["annotations"] = dict(annotations)
        now = rfc3339(now_ms)
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": metadata,
            "involvedObject": reference,
            "reason": reason,
            "message": message,
            "source": dict(self.source),
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": type,
            "reportingComponent": self.source["component"],
            "reportingInstance": self.source.get("host", ""),
        }

    # -- the writing task ------------------------------------------------------------------------------

    async def _broadcast(self) -> None:
        while True:
            while not self.queue:
                await pause(self._waiters)
            event, cause = self.queue.popleft()
            self.loop.trace.current = cause
            result = self.correlator.correlate(event, self.loop.clock.now_ms)
            if result.skip:
                self._drop(event, "spam filter")
            else:
                await self._record_to_sink(result)
            await pause()

    async def _record_to_sink(self, result: CorrelateResult) -> None:
        """Try up to twelve times, ten seconds apart (the first time anything up to that), while no answer comes."""
        assert result.event is not None
        for tries in range(1, MAX_TRIES_PER_EVENT + 1):
            try:
                written = await self._write(result.event, result.patch)
            except StatusError as error:
                self._drop(result.event, str(error)[:80])
                return
            except (TimeoutError, ConnectionError) as error:
                if tries == MAX_TRIES_PER_EVENT:
                    self._drop(result.event, f"retry limit exceeded: {error}"[:80])
                    return
            else:
                self.correlator.update_state(written)
                return
            await sleep(int(SLEEP_MS * self._rng.random()) if tries == 1 else SLEEP_MS)

    async def _write(self, event: dict[str, Any], patch: dict[str, Any] | None) -> Object:
        metadata = event["metadata"]
        if patch is not None:
            try:
                return await self.client.patch(EVENTS, metadata["name"], patch, metadata["namespace"])
            except NotFoundError:
                metadata = {key: value for key, value in metadata.items() if key != "resourceVersion"}
                event = {**event, "metadata": metadata}
        return await self.client.create(EVENTS, event)

    def _drop(self, event: Object, why: str) -> None:
        reference = event["involvedObject"]
        self.loop.trace.emit(
            "event.drop",
            self._actor(self.loop.trace.current),
            resource=_resource(reference),
            key=_key(reference),
            reason=event.get("reason", ""),
            why=why,
        )


def reference_of(obj: Object, field_path: str = "") -> dict[str, Any]:
    """The ObjectReference to `obj`, or a copy of `obj` if it is one already (it has no `metadata`)."""
    if "metadata" not in obj:
        reference = dict(obj)
    else:
        metadata = obj["metadata"]
        found = {
            "kind": obj.get("kind"),
            "namespace": metadata.get("namespace"),
            "name": metadata.get("name"),
            "uid": metadata.get("uid"),
            "apiVersion": obj.get("apiVersion"),
            "resourceVersion": metadata.get("resourceVersion"),
        }
        reference = {key: value for key, value in found.items() if value}
    if not reference.get("kind") or not reference.get("name"):
        raise ValueError(f"event about {reference}: expected an object with kind and metadata.name")
    if field_path:
        reference["fieldPath"] = field_path
    return reference


def _key(reference: Object) -> str:
    namespace = reference.get("namespace")
    return f"{namespace}/{reference['name']}" if namespace else str(reference["name"])


def _resource(reference: Object) -> str:
    group, _, version = str(reference.get("apiVersion") or "v1").rpartition("/")
    try:
        return SCHEME.resource_of(GVK(group, version, reference["kind"])).gvr.group_resource
    except UnknownKindError:
        return str(reference["kind"]).lower()
