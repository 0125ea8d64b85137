"""The in-process way to an API server: send, handle, reply, each an action of its own.

The client's task sends and waits; a task of the server handles; the reply wakes the client. A client that dies does
not abort what the server does. A request or a reply that is lost is a TimeoutError: the outcome is unknown.

Upstream: client-go/rest/request.go (the role)
Simplified: no retries of the connection, no client-side rate limits; objects are handed over, not serialised.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from sys import intern
from typing import TYPE_CHECKING, Any

from k8slab.api.errors import StatusError
from k8slab.api.objects import Object
from k8slab.api.transport import Request, WatchStream
from k8slab.apiserver.kinds import deed, speaker
from k8slab.apiserver.streams import Connection
from k8slab.sim import Future, LatencyProfile

if TYPE_CHECKING:
    from k8slab.apiserver.server import APIServer

__all__ = ["InProcessTransport", "request_key"]

_READS = ("get", "list", "watch")
_DETAILS = ("events", "events.events.k8s.io", "endpointslices.discovery.k8s.io", "endpoints")
LEASES = "leases.coordination.k8s.io"


class InProcessTransport:
    """A client's connection. `client` is its component (partitions match it), `lane` where its requests appear."""

    def __init__(
        self,
        server: APIServer,
        client: str,
        *,
        user: str = "system:admin",
        lane: str | None = None,
        latency: LatencyProfile,
        timeout_ms: int = 10_000,
    ) -> None:
        self.server = server
        self.client = client
        self.user = user
        self.lane = lane if lane is not None else client
        self.timeout_ms = timeout_ms
        self._latency = latency
        self._loop = server.loop
        self._rng = server.loop.stream(f"{server.name}/latency/{client}")
        self._deadlines: deque[tuple[int, Future[Any], Request]] = deque()
        self._sweeping = False

    async def call(self, request: Request) -> Object:
        """Carry out a request. Raises StatusErrors, or TimeoutError: the outcome is unknown."""
        self._tell(request)
        try:
            answer: Object = await self._round_trip(request, is_watch=False)
        except StatusError as error:
            self._tell_error(request, error)
            raise
        return answer

    async def watch(self, request: Request) -> WatchStream:
        """Open a watch. Raises StatusErrors or TimeoutError when it cannot be opened."""
        self._tell(request)
        try:
            stream: WatchStream = await self._round_trip(request, is_watch=True)
        except StatusError as error:
            self._tell_error(request, error)
            raise
        return stream

    # -- the round trip ----------------------------------------------------------------------------

    async def _round_trip(self, request: Request, *, is_watch: bool) -> Any:
        future: Future[Any] = Future(self._loop)
        self._deadlines.append((self._loop.clock.now_ms + self.timeout_ms, future, request))
        self._sweep()
        if self._is_cut(self.client, self.server.name) or not self.server.alive:
            self._lose(future)
        else:
            delay_ms = self._latency.request(self._rng)
            self.server.spawn(lambda: self._handle(request, future, is_watch), delay_ms=delay_ms)
        try:
            return await future.wait()
        except TimeoutError:
            where = "request or the reply"
            resource = request.resource.group_resource
            self._emit("response.lost", resource=resource, key=self._key(request), verb=request.verb, where=where)
            raise

    async def _handle(self, request: Request, future: Future[Any], is_watch: bool) -> None:
        """The server's part, in a task of the server."""
        try:
            if is_watch:
                outcome: Any = await self.server.open_watch(request, self.connection())
            else:
                outcome = (await self.server.serve(request, self.user)).object
        except StatusError as error:
            self._reply(future, None, error)
        else:
            self._reply(future, outcome, None)

    def _reply(self, future: Future[Any], outcome: Any, error: StatusError | None) -> None:
        delay = self._latency.reply(self._rng)

        def arrive() -> None:
            if self._is_cut(self.server.name, self.client):
                self._lose(future)
                close = getattr(outcome, "close", None)
                if close is not None:
                    close()
            elif error is not None:
                future.fail(error)
            else:
                future.resolve(outcome)

        if delay > 0:
            self._loop.call_later(delay, arrive)
        else:
            arrive()

    def connection(self) -> Connection:
        """How this client's watches are delivered."""
        return Connection(
            lane=self.lane if self.lane == "you" or self.lane.endswith("/informers") else f"{self.lane}/informers",
            client=self.client,
            delay=lambda: self._latency.watch(self._rng) + self.server.extra_watch_ms(self.client),
            blocked=lambda: self._is_cut(self.server.name, self.client),
        )

    # -- loss --------------------------------------------------------------------------------------

    def _is_cut(self, source: str, target: str) -> bool:
        network = self.server.network
        return network is not None and network.blocked(source, target)

    def _lose(self, future: Future[Any]) -> None:
        """Nobody will answer: the client notices at its deadline."""
        deadline = next((d for d, f, _ in self._deadlines if f is future), self._loop.clock.now_ms)
        self._loop.call_later(deadline - self._loop.clock.now_ms, lambda: future.fail(self._timeout()))

    def _timeout(self) -> TimeoutError:
        return TimeoutError(f"{self.client}: no answer from {self.server.name} within {self.timeout_ms} ms")

    def _sweep(self) -> None:
        """One timer for all calls under way: it fails those whose deadline has passed."""
        while self._deadlines and self._deadlines[0][1].done:
            self._deadlines.popleft()
        if self._deadlines and not self._sweeping:
            self._sweeping = True
            self._loop.call_later(self._deadlines[0][0] - self._loop.clock.now_ms, self._expire, periodic=True)

    def _expire(self) -> None:
        self._sweeping = False
        patient: list[tuple[int, Future[Any], Request]] = []
        while self._deadlines and (self._deadlines[0][1].done or self._deadlines[0][0] <= self._loop.clock.now_ms):
            due_ms, future, request = self._deadlines.popleft()
            if self.server.waits_outside(request) and not self._is_cut(self.server.name, self.client):
                patient.append((due_ms + self.timeout_ms, future, request))  # the connection lives: the client waits
            else:
                future.fail(self._timeout())
        self._deadlines.extend(patient)  # later than all that are there: each waits as long
        self._sweep()

    # -- trace -------------------------------------------------------------------------------------

    def _tell(self, request: Request) -> None:
        if not self._loop.trace.on:
            return
        kind = _kind_of(request)
        if kind in self._loop.trace.without:
            return
        lane = self._lane_now()
        self._loop.trace.emit(
            kind,
            lane,
            who=speaker(lane),
            does=deed(lane, request.verb, request.subresource),
            verb=request.verb,
            resource=request.resource.group_resource,
            what=self.server.kind_name(request.resource),
            key=self._key(request),
            subresource=request.subresource,
            detail=_detail(request),
        )

    def _tell_error(self, request: Request, error: StatusError) -> None:
        self._emit(
            "response.error",
            resource=request.resource.group_resource,
            key=self._key(request),
            verb=request.verb,
            code=error.code,
            reason=error.reason,
            message=error.message[:200],
        )

    def _emit(self, kind: str, **data: Any) -> None:
        self._loop.trace.emit(kind, self._lane_now(), **data)

    def _lane_now(self) -> str:
        """The lane of who is calling: of several controllers on one connection, the one whose event came last."""
        trace = self._loop.trace
        if trace.current is not None:
            try:
                actor = trace.actor_of(trace.current)
            except KeyError:
                return self.lane  # that event is not kept any more
            if actor.startswith(self.lane + "/"):
                return actor
        return self.lane

    def _key(self, request: Request) -> str:
        return request_key(request)


def request_key(request: Request) -> str:
    """`namespace/name` of what a request is about; a name still to be generated ends in `…`."""
    name, namespace = request.name, request.namespace
    if not name and request.verb == "create" and isinstance(request.body, Mapping):
        metadata: Mapping[str, Any] = request.body.get("metadata") or {}
        name = metadata.get("name") or f"{metadata.get('generateName', '')}…"
    return intern(f"{namespace}/{name}" if namespace and name else name or namespace)  # many events repeat it


def _kind_of(request: Request) -> str:
    resource = request.resource.group_resource
    if resource == LEASES:
        return "lease.renew"
    if request.verb in _READS:
        return "request"
    if request.subresource in ("status", "finalize") or resource in _DETAILS or request.params.get("dryRun"):
        return "write.detail"
    return "write"


def _detail(request: Request) -> str:
    if request.params.get("dryRun"):
        return " (dry run)"
    if request.subresource == "binding" and isinstance(request.body, Mapping):
        return f" to {(request.body.get('target') or {}).get('name', '')}"
    return ""
