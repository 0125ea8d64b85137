"""The webhooks that a recording names by the path of their URL: see `hooks` in the golden file."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from k8slab.api.transport import HTTPResponse
from k8slab.sim import Future, Loop, sleep

Json = Any
_WORK_MS = 1
_SLOW_MS = 3_000
_WHOLE = 3


class Backend:
    """An HTTPCaller that answers as the recorded server did, and notes what it was asked."""

    def __init__(self, loop: Loop) -> None:
        self.loop = loop
        self._calls: list[tuple[int, str, dict[str, Json]]] = []

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, timeout_ms: int) -> HTTPResponse:
        parts = urlsplit(url)
        if parts.path == "/x":
            raise ConnectionError(f"dial tcp {parts.netloc}: connect: connection refused")
        review = json.loads(body)
        self._note(parts.path, parts.query, review)
        name = parts.path.removeprefix("/")
        done: Future[HTTPResponse] = Future(self.loop)

        async def answer() -> None:
            await sleep(_SLOW_MS if name == "slow" else _WORK_MS)
            done.resolve(_answer(name, review["request"]))

        self.loop.spawn("hook", answer())
        return await done.wait(timeout_ms)

    def _note(self, path: str, query: str, review: Json) -> None:
        request = review["request"]
        metadata = (request["object"] or {}).get("metadata") or {}
        call = {
            "path": path,
            "query": query,
            "request": {key: value for key, value in request.items() if key not in ("object", "oldObject")},
            "labels": metadata.get("labels"),
            "full": review,
        }
        self._calls.append((self.loop.clock.now_ms, path, call))

    def taken(self) -> list[Json]:
        """The calls since it was asked last; those of one moment, which came all at once, by path. As in the
        recording, only the first three of a step with the whole review."""
        calls, self._calls = self._calls, []
        found = [call for _, _, call in sorted(calls, key=lambda one: one[:2])]
        for call in found[_WHOLE:]:
            del call["full"]
        return found


def _answer(name: str, request: Json) -> HTTPResponse:
    if name == "http500":
        return HTTPResponse(500, {}, b"")
    if name == "garbage":
        return HTTPResponse(200, {"Content-Type": "application/json"}, b'"hello"')
    response = {"uid": "x" if name == "wronguid" else request["uid"], "allowed": True}
    response |= _REPLIES.get(name, {})
    patch = _patch(name, request)
    if patch:
        response |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    return HTTPResponse(200, {"Content-Type": "application/json"}, json.dumps(review).encode())


_REPLIES: dict[str, Json] = {
    "deny": {"allowed": False, "status": {"message": "denied by teacher", "code": 418, "reason": "Teapot"}},
    "deny-plain": {"allowed": False},
    "warn": {"warnings": ["first warning", "second warning"], "auditAnnotations": {"k": "v"}},
}


def _patch(name: str, request: Json) -> list[Json]:
    labels = ((request["object"] or {}).get("metadata") or {}).get("labels")
    if name.startswith("label-"):
        key = name.removeprefix("label-")
        return _labelled(labels, key, str(int((labels or {}).get(key, "0")) + 1))
    if name == "once" and "once" not in (labels or {}):
        return _labelled(labels, "once", "yes")
    if name == "badpatch":
        return [{"op": "remove", "path": "/nope"}]
    if name == "badobj":
        return [{"op": "add", "path": "/spec", "value": {"x": 1}}]
    return _labelled(labels, "v", "1") if name == "validpatch" else []


def _labelled(labels: Json, key: str, value: str) -> list[Json]:
    begin = [] if labels else [{"op": "add", "path": "/metadata/labels", "value": {}}]
    return [*begin, {"op": "add", "path": f"/metadata/labels/{key}", "value": value}]
