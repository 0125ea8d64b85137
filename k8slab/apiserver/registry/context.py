"""What a request is about, and what strategies and admission plugins may use to answer it.

Upstream: apiserver/pkg/endpoints/request (RequestInfo, user in the context)
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.api.scheme import GVK, GVR, ResourceInfo
from k8slab.api.times import rfc3339
from k8slab.apiserver.allocators import ServiceRanges
from k8slab.apiserver.users import UserInfo, user_info
from k8slab.etcd import Compare
from k8slab.sim import Clock

__all__ = ["Context", "Draft", "Environment", "draft_of", "new_uid"]

Draft: TypeAlias = dict[str, Any]
"""An object on its way to storage: its top level and its `metadata` may be written to, everything below is shared and
must be replaced, not changed."""


def draft_of(obj: Object) -> Draft:
    """A draft that shares everything below the metadata with `obj`."""
    return {**obj, "metadata": {**(obj.get("metadata") or {})}}


def new_uid(rng: random.Random) -> str:
    """A random UUID (version 4) from a seeded stream."""
    digits = f"{rng.getrandbits(128):032x}"
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


@dataclass(frozen=True, slots=True)
class Environment:
    """What is the same for every request of one server."""

    clock: Clock
    features: FeatureGates
    uids: random.Random
    names: random.Random
    addresses: random.Random
    services: ServiceRanges = field(default_factory=ServiceRanges)
    users: Mapping[str, UserInfo] = field(default_factory=dict)

    def user(self, name: str) -> UserInfo:
        """Uid and groups of a user."""
        return self.users.get(name) or user_info(name)


@dataclass(slots=True)
class Context:
    """One request. `options`: its CreateOptions, UpdateOptions or DeleteOptions. `warnings` collects what goes into the
    `Warning` header, `audit` annotations of its audit event, `guards` further conditions of the write: when one does
    not hold, the write is computed anew. `waits_outside`: how many answers from outside it waits for now. `admitted`:
    the object after mutating admission."""

    env: Environment
    info: ResourceInfo
    verb: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    user: str = ""
    dry_run: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    guards: list[Compare] = field(default_factory=list)
    audit: dict[str, str] = field(default_factory=dict)
    waits_outside: int = 0
    admitted: Object | None = None

    @property
    def gvr(self) -> GVR:
        return self.info.gvr

    @property
    def gvk(self) -> GVK:
        return self.info.gvk

    @property
    def now(self) -> str:
        """The time, as objects write it."""
        return rfc3339(self.env.clock.now_ms)

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)
