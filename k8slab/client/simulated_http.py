"""Outgoing HTTP inside the simulation: an `HTTPCaller` whose servers are plain functions.

>>> from k8slab.api.transport import HTTPResponse
>>> from k8slab.sim.loop import Loop
>>> loop = Loop(seed=7)
>>> http = SimulatedHTTP(loop)
>>> http.serve("http://gpu.local/scheduler", lambda method, path, body: HTTPResponse(200, {}, body), delay_ms=30)
>>> async def ask():
...     answer = await http.post("http://gpu.local/scheduler/filter", {}, b"{}", 5_000)
...     print(answer.status, answer.body, "at", loop.clock.now_ms, "ms")
>>> _ = loop.spawn("you", ask())
>>> loop.run(until_idle=True)
200 b'{}' at 30 ms
True

Upstream: net/http (the role)
Simplified: no headers on the server's side, no streams, no TLS, no names to resolve.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import NamedTuple
from urllib.parse import urlsplit

from k8slab.api.transport import HTTPResponse
from k8slab.sim.kinds import cut
from k8slab.sim.loop import Future, Loop, sleep

__all__ = ["HTTPHandler", "SimulatedHTTP"]

HTTPHandler = Callable[[str, str, bytes], "HTTPResponse | Awaitable[HTTPResponse]"]
"""(method, path below the prefix with its query, body) -> response, or what brings it later."""


class _Server(NamedTuple):
    handler: HTTPHandler
    delay_ms: int


class SimulatedHTTP:
    """Servers by URL prefix. Without a loop they answer at once, and cannot be slow."""

    def __init__(self, loop: Loop | None = None) -> None:
        self._loop = loop
        self._servers: dict[str, _Server] = {}

    def serve(self, url_prefix: str, handler: HTTPHandler, *, delay_ms: int = 0) -> None:
        """Answer what comes below `url_prefix`, `delay_ms` after it was asked. Again: another answer from now on."""
        if isinstance(delay_ms, bool) or not isinstance(delay_ms, int) or delay_ms < 0:
            raise ValueError(f"delay_ms: {delay_ms!r}: expected an integer of 0 or more")
        if delay_ms and self._loop is None:
            raise ValueError(f"delay_ms: {delay_ms}: expected 0, since there is no loop on which time could pass")
        self._servers[url_prefix.rstrip("/")] = _Server(handler, delay_ms)

    def stop(self, url_prefix: str) -> None:
        """Nobody listens there any more. Idempotent."""
        self._servers.pop(url_prefix.rstrip("/"), None)

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, timeout_ms: int) -> HTTPResponse:
        """Raises ConnectionError where nobody listens, TimeoutError after `timeout_ms`."""
        place = url.partition("?")[0]
        prefix = max((p for p in self._servers if place == p or place.startswith(f"{p}/")), key=len, default=None)
        if prefix is None:
            raise ConnectionError(f"dial tcp {urlsplit(url).netloc}: connect: connection refused")
        server, path = self._servers[prefix], url.removeprefix(prefix)
        if self._loop is None:
            return await _answer(server, url, path, body)
        future: Future[HTTPResponse] = Future(self._loop)
        self._loop.spawn(f"http/{urlsplit(url).netloc}", lambda: _resolve(future, server, url, path, body))
        return await future.wait(timeout_ms)


async def _answer(server: _Server, url: str, path: str, body: bytes) -> HTTPResponse:
    """TypeError for what is no response; what a handler raises passes, with a note of the URL."""
    try:
        response = server.handler("POST", path, body)
        response = await response if isawaitable(response) else response
    except Exception as error:
        error.add_note(f"raised by the handler of {url}")
        raise
    if not isinstance(response, HTTPResponse):
        raise TypeError(f"the handler of {url} returned {cut(repr(response), 60)}: expected an HTTPResponse")
    if not isinstance(response.body, bytes):
        raise TypeError(f"the handler of {url} returned the body {cut(repr(response.body), 60)}: expected bytes")
    return response


async def _resolve(future: Future[HTTPResponse], server: _Server, url: str, path: str, body: bytes) -> None:
    if server.delay_ms:
        await sleep(server.delay_ms)
    future.resolve(await _answer(server, url, path, body))
