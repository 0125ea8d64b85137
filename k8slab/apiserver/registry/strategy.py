"""What is particular about a resource: how it begins, what an update may change, when its generation grows.

`Strategy` describes a resource by a few attributes; a resource with rules of its own subclasses it. Drafts are
changed in place at the top level and in the metadata, parts below are replaced.

Upstream: apiserver/pkg/registry/rest/{create,update,delete}.go (the interfaces), pkg/registry/*/*/strategy.go
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from k8slab.api.decoding import decode
from k8slab.api.errors import Cause
from k8slab.api.objects import Frozen, Object, freeze
from k8slab.api.scheme import GVK
from k8slab.api.validation import validate_create, validate_status_update, validate_update
from k8slab.apiserver.registry.context import Context, Draft
from k8slab.apiserver.registry.delete_options import DeleteOptions

__all__ = ["BACKGROUND", "ORPHAN", "UNSUPPORTED", "StatusStrategy", "Strategy", "empty_status", "keep", "spec_changed"]

BACKGROUND, ORPHAN, UNSUPPORTED = "DeleteDependents", "OrphanDependents", "Unsupported"


def spec_changed(obj: Object, old: Object) -> bool:
    return bool(obj.get("spec") != old.get("spec"))


@cache
def empty_status(gvk: GVK) -> Frozen | None:
    """The status of an object nobody has looked at yet: the fields Go always writes. None where there is none."""
    status = decode({}, gvk).object.get("status")
    return None if status is None else freeze(status)


class Strategy:
    """The rules of most resources. Class attributes are the answers that differ between resources."""

    has_generation = False
    """`metadata.generation` is 1 at first and grows with every change of the spec."""
    has_status = False
    """There is a `status` subresource: the main endpoint ignores the status."""
    allow_create_on_update = False
    allow_unconditional_update = True
    is_graceful = False
    returns_deleted = False
    gc_policy = BACKGROUND

    def __init__(
        self,
        *,
        has_status: bool | None = None,
        has_generation: bool | None = None,
        returns_deleted: bool | None = None,
        allow_create_on_update: bool | None = None,
        allow_unconditional_update: bool | None = None,
        gc_policy: str | None = None,
    ) -> None:
        given = {k: v for k, v in locals().items() if k not in ("self", "__class__") and v is not None}
        for name, value in given.items():
            setattr(self, name, value)

    def prepare_for_create(self, ctx: Context, obj: Draft) -> None:
        """Set what the server sets, drop what the client may not."""
        if self.has_status:
            status = empty_status(ctx.gvk)
            if status is None:
                obj.pop("status", None)
            else:
                obj["status"] = status
        if self.has_generation:
            obj["metadata"]["generation"] = 1

    def validate(self, ctx: Context, obj: Object) -> list[Cause]:
        return validate_create(obj)

    def prepare_for_update(self, ctx: Context, obj: Draft, old: Frozen) -> None:
        """Undo what an update may not change."""
        if self.has_status:
            keep(obj, old, "status")
        if self.has_generation and self.generation_changes(obj, old):
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def generation_changes(self, obj: Object, old: Object) -> bool:
        return spec_changed(obj, old)

    def validate_update(self, ctx: Context, obj: Object, old: Frozen) -> list[Cause]:
        return validate_update(obj, old)

    def should_delete_during_update(self, obj: Object, old: Frozen) -> bool:
        """A further condition for removing an object whose last finalizer went."""
        return True

    def check_graceful_delete(self, ctx: Context, obj: Object, options: DeleteOptions) -> bool:
        """Whether to delete gracefully; sets `options.grace_period_seconds` then."""
        return False

    def attributes(self, obj: Object) -> Mapping[str, str]:
        """Values of the selectable fields."""
        metadata = obj["metadata"]
        return {"metadata.name": metadata.get("name", ""), "metadata.namespace": metadata.get("namespace", "")}


class StatusStrategy(Strategy):
    """The `status` subresource of a resource: everything but the status, and some metadata, stays as it was."""

    kept: tuple[str, ...] = ()
    """Metadata that a status update cannot touch either (labels of Deployments)."""

    def __init__(self, main: Strategy, *, kept: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.main = main
        self.kept = kept
        self.allow_unconditional_update = main.allow_unconditional_update

    def prepare_for_update(self, ctx: Context, obj: Draft, old: Frozen) -> None:
        for field in dict.fromkeys((*obj, *old)):
            if field not in ("metadata", "status"):
                keep(obj, old, field)
        for field in self.kept:
            keep(obj["metadata"], old["metadata"], field)

    def validate_update(self, ctx: Context, obj: Object, old: Frozen) -> list[Cause]:
        return validate_status_update(obj, old)

    def should_delete_during_update(self, obj: Object, old: Frozen) -> bool:
        return self.main.should_delete_during_update(obj, old)


def keep(target: dict[str, Any], source: Mapping[str, Any], field: str) -> None:
    """Give `target` the field as `source` has it, or take it away where `source` has none."""
    if field in source:
        target[field] = source[field]
    else:
        target.pop(field, None)
