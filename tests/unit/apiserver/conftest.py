"""A server over an empty store, and a client that waits for its answers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from k8slab.api.errors import StatusError
from k8slab.api.scheme import GVR, SERVICEACCOUNTS
from k8slab.api.transport import Request, StreamClosedError
from k8slab.apiserver import APIServer
from k8slab.etcd import Store
from k8slab.sim import Loop

MERGE = "application/merge-patch+json"


class Bench:
    """`call(verb, resource, ...)` returns the object or raises the StatusError; `http(...)` goes through `handle`."""

    def __init__(self, **options: Any) -> None:
        self.loop = Loop(seed=1)
        self.etcd = Store()
        self.server = APIServer(self.loop, self.etcd, **options)
        self.you = self.server.transport("you")
        self.loop.run(for_ms=20)

    def run(self, coro: Any, *, for_ms: int = 100) -> Any:
        """The result of a coroutine, run as a task. What it raises is raised here."""
        outcome: list[Any] = []

        async def guarded() -> None:
            try:
                outcome.append(await coro)
            except (StatusError, TimeoutError) as error:
                outcome.append(error)

        self.loop.spawn("you", guarded())
        self.loop.run(for_ms=for_ms)
        assert outcome, "no answer yet"
        if isinstance(outcome[0], Exception):
            raise outcome[0]
        return outcome[0]

    def call(self, verb: str, resource: GVR, name: str = "", body: Any = None, **more: Any) -> Any:
        """As Request; `ns` is the namespace ("default"), other keywords are query parameters."""
        fields = {key: more.pop(key) for key in ("subresource", "patch_type") if key in more}
        request = Request(
            verb, resource, namespace=more.pop("ns", "default"), name=name, body=body, params=more, **fields
        )
        return self.run(self.you.call(request))

    def http(self, method: str, path: str, body: Any = None, query: Any = None, **headers: str) -> Any:
        """(status, parsed body or text, headers)."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        response = self.run(self.server.handle(method, path, query or {}, sent, data))
        text = response.body.decode()
        try:
            return response.status, json.loads(text), response.headers
        except json.JSONDecodeError:
            return response.status, text, response.headers

    def watch(self, resource: GVR, **more: Any) -> list[Any]:
        """Open a watch; the list returned fills with (type, name, resourceVersion) as the loop runs."""
        found: list[Any] = []
        request = Request("watch", resource, namespace=more.pop("ns", "default"), params=more)

        async def read() -> None:
            stream = await self.you.watch(request)
            with contextlib.suppress(StreamClosedError):
                while True:
                    event = await stream.next()
                    metadata = event.object.get("metadata") or {}
                    found.append((event.type, metadata.get("name"), int(metadata.get("resourceVersion") or 0)))

        self.loop.spawn("you/watch", read())
        self.loop.run(for_ms=10)
        return found

    def pod(self, name: str, **spec: Any) -> Any:
        """Create a Pod, and the ServiceAccount it needs."""
        if self.server.cached("serviceaccounts", "default", "default") is None:
            self.call("create", SERVICEACCOUNTS, body={"metadata": {"name": "default"}})
        body = {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i:1"}], **spec}}
        return self.call("create", GVR("", "v1", "pods"), body=body)


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.server.check_invariants()
    made.loop.close()


@pytest.fixture
def make_bench() -> Iterator[Callable[..., Bench]]:
    made: list[Bench] = []

    def make(**options: Any) -> Bench:
        made.append(Bench(**options))
        return made[-1]

    yield make
    for one in made:
        one.loop.close()
