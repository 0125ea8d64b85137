"""From the kind an ownerReference names to the resource that serves it.

Upstream: pkg/controller/garbagecollector/operations.go (apiResource), errors.go
Simplified: kinds of foreign groups are known when they are registered, not through discovery.
"""

from __future__ import annotations

from k8slab.api.scheme import GVK, GVR, SCHEME, ResourceInfo, Scheme, UnknownKindError, parse_group_version
from k8slab.controllers.garbage_collector.graph import ObjectReference

__all__ = ["RestMapper", "RestMappingError"]


class RestMappingError(LookupError):
    """No resource is known to serve the kind; perhaps later."""

    def __init__(self, kind: str, api_version: str) -> None:
        super().__init__(f"unable to get REST mapping for {api_version}/{kind}.")


class RestMapper:
    """The built-in kinds and those registered."""

    def __init__(self) -> None:
        self._scheme: Scheme = SCHEME.copy()

    def register(self, info: ResourceInfo) -> None:
        self._scheme.register(info)

    def kind_of(self, gvr: GVR) -> GVK:
        return self._scheme.kind_of(gvr)

    def resource_of(self, identity: ObjectReference) -> ResourceInfo:
        """Raises RestMappingError for a kind or version that is not served."""
        try:
            group, version = parse_group_version(identity.api_version)
            return self._scheme.resource_of(GVK(group, version, identity.kind))
        except (UnknownKindError, ValueError):
            raise RestMappingError(identity.kind, identity.api_version) from None
