"""What every create, update and delete does, whatever the resource.

Upstream: apiserver/pkg/registry/rest/{meta,create,update,delete}.go, apiserver/pkg/registry/generic/registry/store.go
Simplified: managedFields are dropped, not tracked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.errors import BadRequestError, Cause, ConflictError, InvalidError
from k8slab.api.objects import Frozen, Object
from k8slab.api.times import parse_time, rfc3339
from k8slab.apiserver.registry.context import Context, Draft, new_uid
from k8slab.apiserver.registry.delete_options import DeleteOptions
from k8slab.apiserver.registry.strategy import ORPHAN, UNSUPPORTED, Strategy

__all__ = [
    "Deletion",
    "before_create",
    "before_delete",
    "before_update",
    "deletion_finalizers",
    "ensure_namespace",
    "mark_as_deleting",
    "should_delete_during_update",
    "wipe_system_fields",
]

FINALIZER_ORPHAN = "orphan"
FINALIZER_FOREGROUND = "foregroundDeletion"
OPTIMISTIC_LOCK = "the object has been modified; please apply your changes to the latest version and try again"


def wipe_system_fields(draft: Draft) -> None:
    """Drop what only the server may set, before a create."""
    for name in ("creationTimestamp", "uid", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        draft["metadata"].pop(name, None)
    draft["metadata"].pop("managedFields", None)


def ensure_namespace(ctx: Context, draft: Draft) -> None:
    """The object's namespace is the request's: filled in where it is missing, dropped from what has none."""
    metadata = draft["metadata"]
    wanted = ctx.namespace if ctx.info.namespaced else ""
    given = metadata.get("namespace") or ""
    if given and wanted and given != wanted:
        raise BadRequestError("the namespace of the provided object does not match the namespace sent on the request")
    if wanted:
        metadata["namespace"] = wanted
    else:
        metadata.pop("namespace", None)


def before_create(ctx: Context, strategy: Strategy, obj: Draft) -> None:
    """Fill in the metadata, let the strategy prepare, validate. Raises InvalidError, BadRequestError."""
    metadata = obj["metadata"]
    metadata["creationTimestamp"] = ctx.now
    metadata["uid"] = new_uid(ctx.env.uids)
    ensure_namespace(ctx, obj)
    strategy.prepare_for_create(ctx, obj)
    causes = strategy.validate(ctx, obj)
    if causes:
        raise _invalid(ctx, obj, causes)


def before_update(ctx: Context, strategy: Strategy, obj: Draft, old: Frozen) -> None:
    """Carry over what an update cannot change, let the strategy prepare, validate."""
    metadata, before = obj["metadata"], old["metadata"]
    ensure_namespace(ctx, obj)
    _carry(metadata, before, "generation")
    strategy.prepare_for_update(ctx, obj, old)
    metadata = obj["metadata"]
    if not metadata.get("uid"):
        metadata["uid"] = before["uid"]
    _carry(metadata, before, "creationTimestamp")
    if "deletionTimestamp" in before:
        metadata["deletionTimestamp"] = before["deletionTimestamp"]
    if before.get("deletionGracePeriodSeconds") is not None and metadata.get("deletionGracePeriodSeconds") is None:
        metadata["deletionGracePeriodSeconds"] = before["deletionGracePeriodSeconds"]
    metadata.pop("managedFields", None)
    causes = strategy.validate_update(ctx, obj, old)
    if causes:
        raise _invalid(ctx, obj, causes)


def _carry(metadata: dict[str, Any], before: Mapping[str, Any], field: str) -> None:
    if field in before:
        metadata[field] = before[field]
    else:
        metadata.pop(field, None)


def _invalid(ctx: Context, obj: Object, causes: list[Cause]) -> InvalidError:
    return InvalidError.of(ctx.gvk.kind, obj["metadata"].get("name", ""), causes, ctx.gvk.group)


class Deletion:
    """What `before_delete` decided. `is_graceful`: write `draft` first; `is_pending`: nothing is left to do."""

    __slots__ = ("draft", "is_graceful", "is_pending")

    def __init__(self, draft: Draft, *, is_graceful: bool = False, is_pending: bool = False) -> None:
        self.draft = draft
        self.is_graceful = is_graceful
        self.is_pending = is_pending


def before_delete(ctx: Context, strategy: Strategy, draft: Draft, options: DeleteOptions) -> Deletion:
    """Check the preconditions and set the deletion timestamp of objects that are deleted gracefully."""
    metadata = draft["metadata"]
    _check_preconditions(ctx, metadata, options)
    if options.grace_period_seconds is not None and options.grace_period_seconds < 0:
        options.grace_period_seconds = 1
    if (metadata.get("deletionGracePeriodSeconds") or 0) < 0:
        metadata["deletionGracePeriodSeconds"] = 1
    if not strategy.is_graceful:
        return Deletion(draft)
    if metadata.get("deletionTimestamp"):
        return _shorten(ctx, draft, options)
    if not strategy.check_graceful_delete(ctx, draft, options):
        return Deletion(draft)
    period = options.grace_period_seconds
    assert period is not None, "check_graceful_delete sets the grace period"
    metadata["deletionTimestamp"] = rfc3339(ctx.env.clock.now_ms + period * 1000)
    metadata["deletionGracePeriodSeconds"] = period
    if metadata.get("generation", 0) > 0:
        metadata["generation"] += 1
    return Deletion(draft, is_graceful=True)


def _shorten(ctx: Context, draft: Draft, options: DeleteOptions) -> Deletion:
    """Another delete of an object whose deletion is under way may only come sooner."""
    metadata = draft["metadata"]
    current = metadata.get("deletionGracePeriodSeconds") or 0
    if current == 0:
        return Deletion(draft)
    period = options.grace_period_seconds
    if period is None:
        options.grace_period_seconds = current
        return Deletion(draft, is_pending=True)
    if period >= current:
        return Deletion(draft, is_pending=True)
    now_ms = ctx.env.clock.now_ms
    when_ms = parse_time(metadata["deletionTimestamp"]) - current * 1000 + period * 1000
    if when_ms < now_ms:
        when_ms = now_ms
        if period != 0:
            period = 1
    metadata["deletionTimestamp"] = rfc3339(when_ms)
    metadata["deletionGracePeriodSeconds"] = period
    return Deletion(draft, is_graceful=True)


def _check_preconditions(ctx: Context, metadata: Mapping[str, Any], options: DeleteOptions) -> None:
    name, uid, revision = metadata["name"], metadata.get("uid", ""), metadata.get("resourceVersion", "")
    if options.uid is not None and options.uid != uid:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({uid}). "
            "The object might have been deleted and then recreated"
        )
        raise ConflictError.of(ctx.gvk.kind, name, why, ctx.gvk.group)
    if options.resource_version is not None and options.resource_version != revision:
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the ResourceVersion "
            f"in record ({revision}). The object might have been modified"
        )
        raise ConflictError.of(ctx.gvk.kind, name, why, ctx.gvk.group)


def deletion_finalizers(strategy: Strategy, finalizers: list[str], options: DeleteOptions) -> list[str]:
    """The finalizers of an object that is about to be deleted: the garbage collector's as the options ask for."""
    result = [name for name in finalizers if name not in (FINALIZER_ORPHAN, FINALIZER_FOREGROUND)]
    if _should_orphan(strategy, finalizers, options):
        result.append(FINALIZER_ORPHAN)
    if _should_foreground(strategy, finalizers, options):
        result.append(FINALIZER_FOREGROUND)
    return finalizers if set(result) == set(finalizers) else result


def _should_orphan(strategy: Strategy, finalizers: list[str], options: DeleteOptions) -> bool:
    if strategy.gc_policy == UNSUPPORTED:
        return False
    if options.orphan_dependents is not None:
        return options.orphan_dependents
    if options.propagation_policy is not None:
        return options.propagation_policy == "Orphan"
    for name in finalizers:
        if name in (FINALIZER_ORPHAN, FINALIZER_FOREGROUND):
            return name == FINALIZER_ORPHAN
    return strategy.gc_policy == ORPHAN


def _should_foreground(strategy: Strategy, finalizers: list[str], options: DeleteOptions) -> bool:
    if strategy.gc_policy == UNSUPPORTED or options.orphan_dependents is not None:
        return False
    if options.propagation_policy is not None:
        return options.propagation_policy == "Foreground"
    for name in finalizers:
        if name in (FINALIZER_ORPHAN, FINALIZER_FOREGROUND):
            return name == FINALIZER_FOREGROUND
    return False


def mark_as_deleting(draft: Draft, now_ms: int) -> None:
    """For objects that wait for finalizers and know no graceful deletion."""
    metadata = draft["metadata"]
    stamp = metadata.get("deletionTimestamp")
    if stamp is None and metadata.get("generation", 0) > 0:
        metadata["generation"] += 1
    if stamp is None or parse_time(stamp) > now_ms:
        metadata["deletionTimestamp"] = rfc3339(now_ms)
    metadata["deletionGracePeriodSeconds"] = 0


def should_delete_during_update(obj: Object, old: Frozen) -> bool:
    """The last finalizer of an object that is being deleted went, and no grace period is running."""
    before = old["metadata"]
    if obj["metadata"].get("finalizers") or "deletionTimestamp" not in before:
        return False
    return not before.get("deletionGracePeriodSeconds")
