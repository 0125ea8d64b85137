"""What webhooks need of the server beside the request: the way out, a clock, random numbers, tasks.

Upstream: apiserver/pkg/admission/initializer/initializer.go (the role)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from k8slab.api.scheme import GVK, GVR, SCHEME, ResourceInfo
from k8slab.api.transport import HTTPCaller, HTTPResponse
from k8slab.sim import Loop, Task

__all__ = ["Outside", "Unreachable"]


class Unreachable:
    """An `HTTPCaller` without a network: nobody listens anywhere."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, timeout_ms: int) -> HTTPResponse:
        raise ConnectionError(f"dial tcp {urlsplit(url).netloc}: connect: connection refused")


def _no_equivalents(resource: GVR) -> Iterable[tuple[GVR, GVK]]:
    return ()


def _builtin(kind: GVK) -> ResourceInfo | None:
    return SCHEME.resource_of(kind) if kind in SCHEME else None


@dataclass(frozen=True)
class Outside:
    """`spawn(name, job)` starts a task that ends with the server. `equivalents`: a resource's other versions and
    groups, over the same stored objects, with the kind of each. `resource_of`: where a kind is served, None if it is
    not. `lane`: where calls appear in the trace."""

    loop: Loop = field(default_factory=Loop)
    http: HTTPCaller = field(default_factory=Unreachable)
    spawn: Callable[[str, Callable[[], Coroutine[Any, Any, Any]]], Task] | None = None
    equivalents: Callable[[GVR], Iterable[tuple[GVR, GVK]]] = _no_equivalents
    resource_of: Callable[[GVK], ResourceInfo | None] = _builtin
    name: str = "apiserver/0"
    lane: str = "apiserver"

    @property
    def uids(self) -> random.Random:
        """For the uids of AdmissionReviews."""
        return self.loop.stream(f"{self.name}/admission-reviews")

    def start(self, name: str, job: Callable[[], Coroutine[Any, Any, Any]]) -> Task:
        return self.spawn(name, job) if self.spawn is not None else self.loop.spawn(f"{self.name}/{name}", job)
