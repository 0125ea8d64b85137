"""Webhooks for tests: configurations in one line, backends as functions of the request."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from k8slab.api.scheme import GVR
from k8slab.api.transport import HTTPResponse

__all__ = ["MUTATING", "VALIDATING", "Backend", "configuration", "label", "reply", "webhook"]

_GROUP = "admissionregistration.k8s.io"
MUTATING = GVR(_GROUP, "v1", "mutatingwebhookconfigurations")
VALIDATING = GVR(_GROUP, "v1", "validatingwebhookconfigurations")
RULE = {"operations": ["CREATE", "UPDATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
Json = Any


def webhook(name: str, /, **fields: Any) -> Json:
    """One webhook `NAME.example.com` at https://hooks/NAME for ConfigMaps; fields replace or add."""
    made = {
        "name": f"{name}.example.com",
        "clientConfig": {"url": f"https://hooks/{name}"},
        "rules": [RULE],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {**made, **fields}


def configuration(name: str, *webhooks: Json) -> Json:
    return {"metadata": {"name": name}, "webhooks": list(webhooks)}


def reply(request: Json, patch: list[Json] | None = None, **response: Any) -> HTTPResponse:
    """An AdmissionReview that allows, unless `response` says otherwise."""
    fields: dict[str, Any] = {"uid": request["uid"], "allowed": True, **response}
    if patch is not None:
        fields |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": fields}
    return HTTPResponse(200, {"Content-Type": "application/json"}, json.dumps(review).encode())


def label(request: Json, key: str, value: str) -> list[Json]:
    """The patch that sets a label."""
    labels = request["object"]["metadata"].get("labels")
    begin = [] if labels else [{"op": "add", "path": "/metadata/labels", "value": {}}]
    return [*begin, {"op": "add", "path": f"/metadata/labels/{key}", "value": value}]


class Backend:
    """Handlers by name. `asked`: (name, request) in the order of the calls."""

    def __init__(self, **handlers: Callable[[Json], HTTPResponse]) -> None:
        self.handlers = handlers
        self.asked: list[tuple[str, Json]] = []

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.asked]

    def __call__(self, method: str, path: str, body: bytes) -> HTTPResponse:
        assert method == "POST"
        name = path.partition("?")[0].strip("/")
        request = json.loads(body)["request"]
        self.asked.append((name, request))
        handler = self.handlers.get(name)
        return handler(request) if handler is not None else reply(request)
