"""Kinds, resources and versions: which resource serves which kind.

Upstream: apimachinery/pkg/runtime/scheme.go, apimachinery/pkg/api/meta/restmapper.go
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["GVK", "GVR"]


class GVK(NamedTuple):
    """Group, version, kind: what an object is."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


class GVR(NamedTuple):
    """Group, version, resource: where an object is served."""

    group: str
    version: str
    resource: str

    @property
    def group_resource(self) -> str:
        """`deployments.apps`, or `pods` in the core group: how traces, storage and error texts name a resource."""
        return f"{self.resource}.{self.group}" if self.group else self.resource
