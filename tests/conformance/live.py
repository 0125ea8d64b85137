"""Replays a recorded API scenario against our API server.

What `given` lists is made first; then the steps run in order, with `actions` before the step they name. Request
values that `refs` names are taken from our own earlier answers; resourceVersions of watches, which the recording
numbers by rank, are translated by what our answers held in the same places.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from k8slab.api.features import FeatureGates
from k8slab.api.objects import thaw
from k8slab.apiserver import APIServer, Frames, Response
from k8slab.apiserver.admission import OFF_BY_DEFAULT
from k8slab.apiserver.users import UserInfo
from k8slab.client import Client, SharedInformerFactory
from k8slab.controllers import REGISTRY, ControllerContext
from k8slab.etcd import Store
from k8slab.sim import Component, Loop
from tests.conformance.webhook_backend import Backend

Json = Any
CONTROLLERS = (
    "serviceaccount-controller",
    "root-ca-certificate-publisher-controller",
    "namespace-controller",
    "garbage-collector-controller",
    "resourcequota-controller",
)
ROOT_CA = "-----BEGIN CERTIFICATE-----\n"
USERS = {"admin": UserInfo("admin", "admin-uid", ("system:masters", "system:authenticated"))}
"""Whose token the recording used."""
BAD_TOKEN = "abc"
"""Stands for a continue token that never was one."""


class Scenario:
    """One recorded file, with a server of ours."""

    def __init__(self, doc: dict[str, Json]) -> None:
        self.doc = doc
        self.loop = Loop(seed=1)
        self.etcd = Store()
        self.servers = 0
        self.hooks = Backend(self.loop) if "hooks" in doc else None
        self.server = self._start()
        self.loop.run(for_ms=100)
        self.answers: list[dict[str, Json]] = []
        self.versions: dict[str, str] = {"0": "0"}
        self.watches: dict[str, list[Json]] = {}
        self._unopened = list(doc.get("watch", []))

    def _start(self) -> APIServer:
        """A server, and the controllers that ran beside the recorded one."""
        self.servers += 1
        name = f"apiserver/{self.servers}"
        server = APIServer(self.loop, self.etcd, name=name, enabled=OFF_BY_DEFAULT, http=self.hooks, users=USERS)
        self.component = Component(self.loop, "kcm")
        client = Client(server.transport("kcm"))
        informers = SharedInformerFactory(self.loop, self.component, client)
        context = ControllerContext(self.loop, self.component, client, informers, FeatureGates(), {"root-ca": ROOT_CA})
        controllers = [REGISTRY[name](context) for name in CONTROLLERS]
        informers.start()
        for controller in controllers:
            controller.start()
        return server

    # -- running -----------------------------------------------------------------------------------

    def records(self) -> Iterator[tuple[str, Json]]:
        """(name, actual) of every step and watch, as compare.py names them."""
        for item in self.doc.get("given", []):
            self._give(item)
        start_ms = self.loop.clock.now_ms
        for index, step in enumerate(self.doc["steps"]):
            for action in self.doc.get("actions", []):
                if action["before_step"] == index:
                    self._act(action)
            self._open_watches()
            due = start_ms + round(step["t"] * 1000)
            self.loop.run(for_ms=max(2, due - self.loop.clock.now_ms))
            self.answers.append(self._step(step))
            if self.hooks is not None and "webhook_calls" in step:
                self.answers[-1]["webhook_calls"] = self.hooks.taken()
            self._learn(step["response"], self.answers[-1])
            yield f"step {index}", self.answers[-1]
        self._open_watches()
        self.loop.run(for_ms=2_000)
        for watch in self.doc.get("watch", []):
            yield f"watch {watch['name']}", self.watches.get(watch["name"], [])
        self.loop.close()

    def _give(self, item: dict[str, Json]) -> None:
        if "create_namespace" in item:
            self._namespace(item["create_namespace"], item.get("labels"))
        elif "request" in item:
            self._request(item["request"])

    def _act(self, action: dict[str, Json]) -> None:
        if "create_namespace" in action:
            self._namespace(action["create_namespace"], action.get("labels"))
        elif "request" in action:
            self._request(action["request"])
        elif "etcd_compact" in action:
            step = int(action["etcd_compact"].rsplit(" ", 1)[1])
            self.etcd.compact(int(self.answers[step]["body"]["metadata"]["resourceVersion"]))
        elif "stop" in action and "apiserver" in action["stop"]:
            self.component.kill()
            self.etcd.put(b"/registry/leases/kube-node-lease/n", b'{"metadata":{"name":"n"}}')  # a last heartbeat
            self.server.kill()
        elif action.get("start") == "apiserver":
            self.server = self._start()
            self.loop.run(for_ms=100)

    def _namespace(self, name: str, labels: Json) -> None:
        """A namespace, and what the controllers put into it."""
        metadata = {"name": name, **({"labels": labels} if labels else {})}
        self._call("POST", "/api/v1/namespaces", {}, {}, json.dumps({"metadata": metadata}).encode())
        self.loop.run(for_ms=50)

    def _request(self, request: dict[str, Json]) -> Response:
        headers = {"Content-Type": request["content_type"]} if "content_type" in request else {}
        body = request.get("body")
        data = b"" if body is None else json.dumps(body).encode()
        return self._call(request["method"], request["path"], request.get("query", {}), headers, data)

    def _step(self, step: dict[str, Json]) -> dict[str, Json]:
        request = self._resolve(step)
        body = request["body"]
        data = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        response = self._call(request["method"], request["path"], request["query"], request["headers"], data)
        answer: dict[str, Json] = {"status": response.status, "headers": dict(response.headers)}
        if response.frames is not None:
            return {**answer, "frames": self._drain(response.frames)}
        text = response.body.decode()
        try:
            return {**answer, "body": json.loads(text)}
        except json.JSONDecodeError:
            return {**answer, "body": text}

    def _call(self, method: str, path: str, query: dict[str, str], headers: dict[str, str], body: bytes) -> Response:
        user = "admin" if self.hooks is not None else "system:admin"
        task = self.loop.spawn("you", self.server.handle(method, path, query, headers, body, user=user))
        self.loop.run(for_ms=1)
        for _ in range(10):
            if task.done:
                break
            self.loop.run(for_ms=1_000)
        assert isinstance(task.result, Response), f"{method} {path}: no answer"
        return task.result

    def _drain(self, frames: Frames) -> list[Json]:
        """All frames until the stream's time is over."""
        found: list[Json] = []

        async def read() -> None:
            while (frame := await frames.next()) is not None:
                found.append(thaw(frame))

        task = self.loop.spawn("you/watch", read())
        for _ in range(40):
            self.loop.run(for_ms=500)
            if task.done:
                break
        return found

    # -- watches -----------------------------------------------------------------------------------

    def _open_watches(self) -> None:
        """Open the recorded watches whose resourceVersion is known by now."""
        waiting = []
        for watch in self._unopened:
            query = dict(watch["request"]["query"])
            since = query.get("resourceVersion", "0")
            if since not in self.versions:
                waiting.append(watch)
                continue
            query["resourceVersion"] = self.versions[since]
            if "resourceVersion" not in watch["request"]["query"]:
                del query["resourceVersion"]
            self._open(watch, query)
        self._unopened = waiting

    def _open(self, watch: dict[str, Json], query: dict[str, str]) -> None:
        response = self._call("GET", watch["request"]["path"], query, {}, b"")
        found = self.watches[watch["name"]] = []
        frames = response.frames
        assert frames is not None, f"watch {watch['name']}: {response.body!r}"

        async def read() -> None:
            while (frame := await frames.next()) is not None:
                found.append(thaw(frame))

        self.loop.spawn(f"you/{watch['name']}", read())

    # -- references --------------------------------------------------------------------------------

    def _resolve(self, step: dict[str, Json]) -> dict[str, Json]:
        request = deepcopy(step["request"])
        refs = step.get("refs") or {}
        for target, source in refs.items():
            number, _, path = source.partition(":")
            value = _at(self.answers[int(number.removeprefix("step"))], path.split("."))
            _put(request, target.split("."), value)
        query = request["query"]
        if str(query.get("continue", "")).startswith("<continue") and "query.continue" not in refs:
            query["continue"] = BAD_TOKEN
        return request

    def _learn(self, recorded: Json, actual: Json) -> None:
        """Remember which of our resourceVersions stands where the recording has which rank."""
        if isinstance(recorded, dict) and isinstance(actual, dict):
            for key, value in recorded.items():
                if key == "resourceVersion" and isinstance(value, str) and isinstance(actual.get(key), str):
                    self.versions.setdefault(value, actual[key])
                else:
                    self._learn(value, actual.get(key))
        elif isinstance(recorded, list) and isinstance(actual, list):
            for a, b in zip(recorded, actual, strict=False):
                self._learn(a, b)


def _at(value: Json, path: list[str]) -> Json:
    for part in path:
        value = value[int(part)] if isinstance(value, list) else value[part]
    return value


def _put(target: Json, path: list[str], value: Json) -> None:
    for part in path[:-1]:
        target = target[int(part)] if isinstance(target, list) else target[part]
    last = path[-1]
    if isinstance(target, list):
        target[int(last)] = value
    else:
        target[last] = value
