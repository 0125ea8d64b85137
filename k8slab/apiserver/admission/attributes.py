"""What an admission plugin is shown, and how it refuses.

Upstream: apiserver/pkg/admission/{attributes,interfaces,errors}.go
Simplified: no reinvocation, no audit annotations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from k8slab.api.errors import ForbiddenError
from k8slab.api.objects import Frozen, Object
from k8slab.api.scheme import GVK, GVR
from k8slab.apiserver.registry import Context

__all__ = ["Attributes", "Lister", "MutatingPlugin", "Reinvocation", "ValidatingPlugin", "changed_fields", "forbidden"]


@dataclass(slots=True)
class Reinvocation:
    """Whether the mutating plugins run once more: whoever sets `requested` asks for it, and `is_reinvoke` says that
    this is the second time. `values` is where plugins keep what they need to know then, each under its name."""

    requested: bool = False
    is_reinvoke: bool = False
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Attributes:
    """One write. `operation`: CREATE, UPDATE or DELETE. `object` is None for deletions, `old` for creations."""

    context: Context
    operation: str
    object: Object | None
    old: Frozen | None
    reinvocation: Reinvocation = field(default_factory=Reinvocation)

    @property
    def resource(self) -> GVR:
        return self.context.gvr

    @property
    def kind(self) -> GVK:
        return self.context.gvk

    @property
    def namespace(self) -> str:
        return self.context.namespace

    @property
    def name(self) -> str:
        if self.context.name:
            return self.context.name
        return str(((self.object or {}).get("metadata") or {}).get("name") or "")

    @property
    def subresource(self) -> str:
        return self.context.subresource

    def warn(self, text: str) -> None:
        """Goes into a `Warning` header of the answer; the same text once."""
        self.context.warn(text)

    def annotate(self, key: str, value: str) -> None:
        """An annotation of the request's audit event. The first value of a key stays, as upstream has it."""
        self.context.audit.setdefault(key, value)


class Lister(Protocol):
    """Reads for plugins: first what the server has heard (its watch cache), then etcd."""

    def cached(self, group_resource: str, namespace: str, name: str) -> Frozen | None: ...

    def cached_all(self, group_resource: str) -> list[Frozen]: ...

    async def live(self, group_resource: str, namespace: str, name: str) -> Frozen | None: ...


class MutatingPlugin(Protocol):
    """May return a changed object. `name` is the key of the registry."""

    name: str

    async def admit(self, attributes: Attributes, lister: Lister) -> Object | None:
        """The object as it should be, or None to leave it. Raises StatusErrors to refuse."""


class ValidatingPlugin(Protocol):
    """May only refuse."""

    name: str

    async def validate(self, attributes: Attributes, lister: Lister) -> None:
        """Raises StatusErrors to refuse."""


def forbidden(attributes: Attributes, why: str) -> ForbiddenError:
    """403 with the resource and name of the request."""
    gvr = attributes.resource
    metadata = (attributes.object or {}).get("metadata") or {}
    name = attributes.name or metadata.get("generateName") or "Unknown"
    return ForbiddenError.of(gvr.resource, name, why, gvr.group)


def changed_fields(new: object, old: object) -> int:
    """How many leaf fields differ. Shared parts are not looked into.

    >>> changed_fields({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3, "d": 4}})
    2
    """
    if new is old:
        return 0
    if isinstance(new, Mapping) and isinstance(old, Mapping):
        count = sum(1 for name in old if name not in new)
        for name, value in new.items():
            before = old.get(name)
            if value is not before:
                count += changed_fields(value, before)
        return count
    if isinstance(new, list) and isinstance(old, list):
        pairs = sum(changed_fields(a, b) for a, b in zip(new, old, strict=False))
        return pairs + abs(len(new) - len(old))
    return int(new != old)
