"""Owners that are known not to exist: a bounded cache, the least recently used goes first.

Upstream: pkg/controller/garbagecollector/uid_cache.go
"""

from __future__ import annotations

from k8slab.controllers.garbage_collector.graph import ObjectReference

__all__ = ["ReferenceCache"]


class ReferenceCache:
    """A uid never comes back, so an owner that was absent once stays absent."""

    def __init__(self, size: int = 500) -> None:
        self.size = size
        self._references: dict[ObjectReference, None] = {}

    def add(self, reference: ObjectReference) -> None:
        self._references.pop(reference, None)
        self._references[reference] = None
        if len(self._references) > self.size:
            del self._references[next(iter(self._references))]

    def __contains__(self, reference: ObjectReference) -> bool:
        if reference not in self._references:
            return False
        self.add(reference)
        return True

    def __len__(self) -> int:
        return len(self._references)
