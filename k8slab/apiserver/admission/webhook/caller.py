"""Calling a webhook: where it is, how long it may take, and what went wrong.

A webhook is found at a URL, or behind a Service: then the call goes to the Service's cluster IP, where nobody answers
unless one of its endpoints is ready. That is how a webhook that must approve its own Pods locks itself out.

Upstream: apiserver/pkg/util/webhook/{client,error,serviceresolver}.go, apiserver/pkg/util/proxy/proxy.go
(ResolveCluster), client-go/rest/request.go, apimachinery/pkg/api/errors/errors.go (NewGenericServerResponse)
Simplified: no TLS and no authentication: caBundle is kept, not used; a call is not repeated, also not for Retry-After.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from k8slab.api.go_json import JSONError, parse
from k8slab.api.labels import go_quote
from k8slab.api.objects import Object
from k8slab.api.transport import HTTPCaller, HTTPResponse
from k8slab.apiserver.admission.attributes import Lister
from k8slab.apiserver.admission.webhook.accessors import Hook

__all__ = ["CallError", "call", "target_url"]

_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, */*"}
_SERVER_SAYS = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
}


class CallError(Exception):
    """A webhook could not be called, or did not answer as it must: failurePolicy decides what follows."""

    def __init__(self, webhook: str, why: object) -> None:
        super().__init__(f"failed calling webhook {go_quote(webhook)}: {why}")
        self.why = str(why)


def target_url(client_config: Object, timeout_seconds: int) -> str:
    """Where the review is posted to. ValueError when the configuration names no place."""
    service = client_config.get("service")
    if service is not None:
        host = f"{service.get('name')}.{service.get('namespace')}.svc:{service.get('port') or 443}"
        scheme, path = "https", service.get("path") or ""
    else:
        if not client_config.get("url"):
            raise ValueError("webhook configuration must have either service or URL")
        scheme, host, path, *_ = urlsplit(client_config["url"])
    return f"{scheme}://{host}{posixpath.normpath('/' + path.lstrip('/'))}?timeout={timeout_seconds}s"


async def call(hook: Hook, review: Object, http: HTTPCaller, lister: Lister) -> bytes:
    """The body of the webhook's answer. Raises CallError."""
    seconds = hook.timeout_seconds
    try:
        url = target_url(hook.client_config, seconds)
    except ValueError as error:
        raise CallError(hook.name, f"could not get REST client: {error}") from None
    body = json.dumps(review, separators=(",", ":"), ensure_ascii=False).encode()
    problem = _unreachable(hook.client_config, lister)
    try:
        if problem:
            raise ConnectionError(problem)
        response = await http.post(url, _HEADERS, body, seconds * 1_000)
    except TimeoutError:
        raise CallError(hook.name, f"failed to call webhook: Post {go_quote(url)}: context deadline exceeded") from None
    except ConnectionError as error:
        raise CallError(hook.name, f"failed to call webhook: Post {go_quote(url)}: {error}") from None
    why = _refusal(response)
    if why:
        raise CallError(hook.name, f"failed to call webhook: {why}")
    return response.body


# -- Services ----------------------------------------------------------------------------------------


def _unreachable(client_config: Object, lister: Lister) -> str:
    """Why nobody can answer behind a Service now; empty for a URL, or when somebody can."""
    wanted = client_config.get("service")
    if wanted is None:
        return ""
    namespace, name, port = wanted.get("namespace") or "", wanted.get("name") or "", wanted.get("port") or 443
    service = lister.cached("services", namespace, name)
    if service is None:
        return f'service "{name}" not found'
    spec = service.get("spec") or {}
    kind = spec.get("type") or "ClusterIP"
    if kind == "ExternalName":
        return ""
    if kind not in ("ClusterIP", "NodePort", "LoadBalancer"):
        return f"unsupported service type {go_quote(kind)}"
    address = spec.get("clusterIP") or "None"
    if address != "None" and all(one.get("port") != port for one in spec.get("ports") or ()):
        return f"no service port {port} found for service {go_quote(name)}"
    if any(_is_ready(piece) for piece in _endpoint_slices(lister, namespace, name)):
        return ""
    if address == "None":
        return f"dial tcp: lookup {name}.{namespace}.svc: no such host"
    return f"dial tcp {address}:{port}: connect: connection refused"


def _endpoint_slices(lister: Lister, namespace: str, service: str) -> list[Any]:
    return [
        piece
        for piece in lister.cached_all("endpointslices.discovery.k8s.io")
        if piece["metadata"].get("namespace") == namespace
        and (piece["metadata"].get("labels") or {}).get("kubernetes.io/service-name") == service
    ]


def _is_ready(piece: Object) -> bool:
    """Whether a slice has an endpoint that is ready (unknown counts as ready)."""
    return any((one.get("conditions") or {}).get("ready") is not False for one in piece.get("endpoints") or ())


# -- what HTTP says ----------------------------------------------------------------------------------


def _refusal(response: HTTPResponse) -> str:
    """What is wrong with a response as such; empty for one with a body to read."""
    if 200 <= response.status <= 206:
        if response.body:
            return ""
        kind = _header(response.headers, "content-type")
        return f"0-length response with status code: {response.status} and content type: {kind}"
    return _status_message(response.body) or _generic(response)


def _status_message(body: bytes) -> str:
    """The message of a Status, if the body is one that tells of a failure."""
    try:
        status, _ = parse(body)
    except JSONError:
        return ""
    if not isinstance(status, Mapping) or status.get("kind", "Status") != "Status":
        return ""
    return str(status.get("message") or "") if status.get("status") == "Failure" else ""


def _generic(response: HTTPResponse) -> str:
    code = response.status
    is_text = _header(response.headers, "content-type").startswith("text/")
    said = response.body.decode("utf-8", "replace").strip() if is_text else "unknown"
    if code in (403, 415):
        return said
    if code == 406:
        unable = "the server was unable to respond with a content type that the client supports"
        return said if said not in ("", "unknown") else unable
    if code == 503:
        return "the server is currently unable to handle the request"
    if code == 504:
        waited = "the server was unable to return a response in the time allotted"
        return f"{waited}, but may still be processing the request"
    if code >= 500:
        return f"an error on the server ({go_quote(said)}) has prevented the request from succeeding"
    nothing_more = f"the server responded with the status code {code} but did not return more information"
    return _SERVER_SAYS.get(code, nothing_more)


def _header(headers: Mapping[str, str], name: str) -> str:
    return next((value for key, value in headers.items() if key.lower() == name), "")
