"""An API server with webhooks in front of it, for the drills on admission.

Simplified: see `k8slab.apiserver`; ConfigMaps in one namespace, which no built-in plugin changes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from k8slab.api.errors import StatusError
from k8slab.api.scheme import CONFIGMAPS, GVR
from k8slab.api.transport import HTTPResponse, Request
from k8slab.apiserver import APIServer
from k8slab.client import SimulatedHTTP
from k8slab.etcd import Store
from k8slab.sim import Loop, sleep

__all__ = ["Guarded", "Hook", "Outcome"]

_RULE = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
_LONGEST_MS = 200_000

Labels = dict[str, str]


@dataclass(frozen=True)
class Hook:
    """A webhook. `patch`: the labels it sets, from those it sees; `answer`: "none" when nobody listens, "garbage" for
    an answer that is none, "http 500", else the fields of its response; `more`: fields of the configuration."""

    name: str
    configuration: str = "hooks"
    kind: str = "mutating"
    takes_ms: int = 0
    patch: Callable[[Labels], Labels] = lambda labels: {}
    answer: Any = None
    more: dict[str, Any] = field(default_factory=dict)

    def webhook(self) -> dict[str, Any]:
        made = {
            "name": f"{self.name.lower()}.example.com",
            "clientConfig": {"url": f"https://hooks/{self.name}"},
            "rules": [_RULE],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        return {**made, **self.more}


class Outcome(NamedTuple):
    """`code`: of a refusal, or 0. `took_ms`: hundreds, for what the server itself does takes less."""

    code: int
    took_ms: int
    asked: list[str]


class Guarded:
    """A server, and webhooks that are registered in the order given."""

    def __init__(self) -> None:
        self.loop = Loop(seed="drill")
        self._http = SimulatedHTTP(self.loop)
        self.server = APIServer(self.loop, Store(), http=self._http, compact_every_ms=0)
        self.loop.run(for_ms=20)
        self.asked: list[str] = []

    def register(self, hooks: Sequence[Hook]) -> None:
        configurations: dict[tuple[str, str], list[Any]] = {}
        for hook in hooks:
            configurations.setdefault((hook.kind, hook.configuration), []).append(hook.webhook())
            if hook.answer != "none":
                self._http.serve(f"https://hooks/{hook.name}", self._backend(hook))
        for (kind, name), webhooks in configurations.items():
            what = GVR("admissionregistration.k8s.io", "v1", f"{kind}webhookconfigurations")
            self._must(Request("create", what, body={"metadata": {"name": name}, "webhooks": webhooks}))
        self.loop.run(for_ms=10)

    def _backend(self, hook: Hook) -> Callable[..., Awaitable[HTTPResponse]]:
        async def answer(method: str, path: str, body: bytes) -> HTTPResponse:
            request = json.loads(body)["request"]
            self.asked.append(hook.name)
            await sleep(hook.takes_ms)
            if isinstance(hook.answer, str):
                return HTTPResponse(500 if hook.answer == "http 500" else 200, {}, b"oops")
            labels = ((request["object"] or {}).get("metadata") or {}).get("labels") or {}
            response = {"uid": request["uid"], "allowed": True, **(hook.answer or {}), **_encoded(hook, labels)}
            review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
            return HTTPResponse(200, {}, json.dumps(review).encode())

        return answer

    def send(self, verb: str, name: str = "it", labels: Labels | None = None, *, dry_run: bool = False) -> Outcome:
        """One request about a ConfigMap."""
        body = None if verb == "delete" else {"metadata": {"name": name, "labels": labels or {}}}
        began, before = self.loop.clock.now_ms, len(self.asked)
        at = "" if verb == "create" else name
        code = self._code(Request(verb, CONFIGMAPS, "default", at, "", body, {"dryRun": "All"} if dry_run else {}))
        return Outcome(code, (self.loop.clock.now_ms - began) // 100 * 100, self.asked[before:])

    def _must(self, request: Request) -> None:
        if code := self._code(request):
            raise ValueError(f"{request.verb} {request.resource.resource}: {code}")

    def _code(self, request: Request) -> int:
        found: list[int] = []

        async def call() -> None:
            try:
                await self.server.serve(request, "you")
                found.append(0)
            except StatusError as error:
                found.append(error.code)

        self.loop.spawn("you", call())
        self.loop.run(until=lambda: bool(found), for_ms=_LONGEST_MS)
        return found[0]


def _encoded(hook: Hook, labels: Labels) -> dict[str, Any]:
    """The fields of a response that carry the patch."""
    patch = hook.patch(labels) if hook.kind == "mutating" else {}
    if not patch:
        return {}
    begin = [] if labels else [{"op": "add", "path": "/metadata/labels", "value": {}}]
    changes = [{"op": "add", "path": f"/metadata/labels/{key}", "value": value} for key, value in patch.items()]
    return {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps([*begin, *changes]).encode()).decode()}
