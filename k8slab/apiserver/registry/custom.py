"""Custom resources and kinds of foreign groups: stored, versioned and watched, but not understood.

Upstream: apiextensions-apiserver/pkg/registry/customresource/strategy.go
Simplified: no schema, no defaulting, no printer columns, no scale; one version.
"""

from __future__ import annotations

from k8slab.api.errors import Cause
from k8slab.api.objects import Frozen, Object
from k8slab.api.validation.metadata import path_segment, validate_common_update, validate_metadata
from k8slab.apiserver.registry.context import Context
from k8slab.apiserver.registry.strategy import Strategy

__all__ = ["CustomResourceStrategy"]


class CustomResourceStrategy(Strategy):
    """Everything but metadata (and, with a status subresource, the status) counts for the generation."""

    has_generation = True
    allow_unconditional_update = False

    def generation_changes(self, obj: Object, old: Object) -> bool:
        ignored = ("metadata", "status") if self.has_status else ("metadata",)
        return {k: v for k, v in obj.items() if k not in ignored} != {k: v for k, v in old.items() if k not in ignored}

    def validate(self, ctx: Context, obj: Object) -> list[Cause]:
        return validate_metadata(obj["metadata"], ctx.info.namespaced, path_segment)

    def validate_update(self, ctx: Context, obj: Object, old: Frozen) -> list[Cause]:
        return validate_common_update(obj["metadata"], old["metadata"], ctx.info.namespaced)
