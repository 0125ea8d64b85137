"""What an admission plugin is shown, and how it refuses, warns and annotates.

Upstream: apiserver/pkg/admission/{attributes,interfaces,errors,reinvocation}.go
Simplified: audit annotations end in the trace, since there is no audit log.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

from k8slab.api.errors import ForbiddenError, InternalError
from k8slab.api.names import is_qualified_name
from k8slab.api.objects import Frozen, Object
from k8slab.api.scheme import GVK, GVR
from k8slab.apiserver.registry import Context
from k8slab.sim import Loop

__all__ = ["Attributes", "Lister", "MutatingPlugin", "Reinvocation", "ValidatingPlugin", "forbidden", "internal"]


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

    @property
    def user(self) -> str:
        return self.context.user

    @property
    def dry_run(self) -> bool:
        return self.context.dry_run

    def warn(self, text: str) -> None:
        """Goes into a `Warning` header of the answer; the same text once."""
        self.context.warn(text)

    def annotate(self, key: str, value: str) -> None:
        """An annotation of the request's audit event. As upstream has it, the first value of a key stays, and a key
        that is not `domain/name` is left out."""
        if key.count("/") == 1 and not is_qualified_name(key):
            self.context.audit.setdefault(key, value)


class Lister(Protocol):
    """What plugins read: what the server has heard (its watch cache), or etcd; and the one write some need."""

    @property
    def loop(self) -> Loop: ...

    def cached(self, group_resource: str, namespace: str, name: str) -> Frozen | None: ...

    def cached_all(self, group_resource: str) -> list[Frozen]: ...

    async def live(self, group_resource: str, namespace: str, name: str) -> Frozen | None: ...

    async def replace_status(self, group_resource: str, obj: Object) -> Frozen:
        """Write an object's status, as the server itself. Raises ConflictError when it was changed meanwhile."""


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


def internal(why: str) -> InternalError:
    """500, the server's own fault."""
    return InternalError(f"Internal error occurred: {why}", details={"causes": [{"message": why}]})
