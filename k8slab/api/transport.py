"""The seam between clients and servers: requests, answers, watches.

`client` speaks to any `Transport`; `apiserver` implements one in process, `serve` one over HTTP. User and cause
are properties of the connection, not of the request.

Upstream: client-go/rest (the role), apimachinery/pkg/watch (WatchEvent)
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from k8slab.api.objects import Object
from k8slab.api.scheme import GVR

__all__ = [
    "JSON_PATCH",
    "MERGE_PATCH",
    "STRATEGIC_MERGE_PATCH",
    "HTTPCaller",
    "HTTPResponse",
    "Request",
    "StreamClosedError",
    "Transport",
    "WatchEvent",
    "WatchStream",
]

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"


class StreamClosedError(Exception):
    """The server (or the network) ended a watch; list or watch again from the last resourceVersion."""


@dataclass(frozen=True, slots=True)
class Request:
    """One API call.

    `verb`: get, list, create, update, patch, delete, deletecollection or watch. `body`: the object, the patch
    document (a list for JSON patch) or DeleteOptions. `params`: query parameters by their wire names
    (`labelSelector`, `resourceVersion`, `dryRun`, ...), values as text. `patch_type`: a media type, for patches.
    """

    verb: str
    resource: GVR
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    body: Object | list[Object] | None = None
    params: Mapping[str, str] = field(default_factory=dict)
    patch_type: str = ""


class WatchEvent(NamedTuple):
    """`type`: ADDED, MODIFIED, DELETED, BOOKMARK or ERROR (then `object` is a Status). `cause`: the trace event
    that committed the revision, None where it is not known."""

    type: str
    object: Object
    cause: int | None = None


class WatchStream(Protocol):
    """An open watch."""

    def next(self) -> Awaitable[WatchEvent]:
        """The next event; raises StreamClosedError when the stream ended. Sets the ambient cause."""

    def close(self) -> None:
        """Stop watching; idempotent, never waits."""


class Transport(Protocol):
    """How a client reaches an API server."""

    async def call(self, request: Request) -> Object:
        """Carry out any verb but watch. Raises a StatusError, or TimeoutError: the outcome is unknown."""

    async def watch(self, request: Request) -> WatchStream:
        """Open a watch. Raises a StatusError or TimeoutError when it cannot be opened."""


class HTTPResponse(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


class HTTPCaller(Protocol):
    """Outgoing HTTP, for webhooks, extenders and metrics adapters."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, timeout_ms: int) -> HTTPResponse:
        """Raises ConnectionError, or TimeoutError after `timeout_ms` of virtual time."""
