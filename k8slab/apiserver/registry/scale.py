"""The `scale` subresource: one small object for everything that has replicas.

Upstream: pkg/registry/apps/{deployment,replicaset,statefulset}/storage/storage.go (ScaleREST)
Simplified: only built-in kinds scale; custom resources with a scale subresource do not.
"""

from __future__ import annotations

from typing import Any

from k8slab.api.errors import BadRequestError, Cause, ConflictError, InvalidError
from k8slab.api.labels import selector_from_dict, selector_from_set
from k8slab.api.objects import Frozen, Object, freeze
from k8slab.apiserver.registry.context import Context
from k8slab.apiserver.registry.rest import OPTIMISTIC_LOCK
from k8slab.apiserver.registry.store import Store, UpdatedObject, Validate

__all__ = ["ScaleStore", "scale_of"]


def scale_of(obj: Object) -> dict[str, Any]:
    """The autoscaling/v1 Scale of a workload. A zero is left out, as Go's omitempty does."""
    metadata, spec, status = obj["metadata"], obj["spec"], obj.get("status") or {}
    selector = spec.get("selector")
    text = str(selector_from_set(selector) if obj["kind"] == "ReplicationController" else selector_from_dict(selector))
    replicas = spec.get("replicas", 0)
    scale: dict[str, Any] = {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {
            name: metadata[name]
            for name in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
            if name in metadata
        },
        "spec": {"replicas": replicas} if replicas else {},
        "status": {"replicas": status.get("replicas", 0)},
    }
    if text:
        scale["status"]["selector"] = text
    return scale


class ScaleStore:
    """Reads and writes scales of the objects of `store`."""

    def __init__(self, store: Store) -> None:
        self.store = store

    async def get(self, ctx: Context) -> Object:
        return scale_of(await self.store.get(ctx))

    async def update(self, ctx: Context, updated: UpdatedObject, validate: Validate) -> Object:
        """`updated` maps the present Scale to the wanted one. Raises ConflictError for a stale resourceVersion."""

        async def apply(existing: Frozen | None) -> Object:
            assert existing is not None, "scales are not created"
            old = scale_of(existing)
            scale = await updated(old)  # type: ignore[arg-type]
            self._check(ctx, scale, existing)
            replicas = (scale.get("spec") or {}).get("replicas", 0)
            metadata = {**existing["metadata"], "resourceVersion": existing["metadata"]["resourceVersion"]}
            return {**existing, "metadata": metadata, "spec": {**existing["spec"], "replicas": replicas}}

        async def validate_scale(obj: Object | None, old: Frozen | None) -> None:
            """Admission sees the Scale, not the workload behind it."""
            assert obj is not None and old is not None, "scales are neither created nor deleted"
            await validate(scale_of(obj), freeze(scale_of(old)))

        obj, _ = await self.store.update(ctx, apply, validate_scale)
        return scale_of(obj)

    def _check(self, ctx: Context, scale: Object, existing: Frozen) -> None:
        info = self.store.info
        metadata = scale.get("metadata") or {}
        given = metadata.get("resourceVersion") or ""
        if given and given != existing["metadata"]["resourceVersion"]:
            raise ConflictError.of(info.gvr.resource, ctx.name, OPTIMISTIC_LOCK, info.gvr.group)
        uid = metadata.get("uid")
        if uid and uid != existing["metadata"]["uid"]:
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {existing['metadata']['uid']}"
            raise ConflictError.of(info.gvr.resource, ctx.name, why, info.gvr.group)
        replicas = (scale.get("spec") or {}).get("replicas", 0)
        if not isinstance(replicas, int) or isinstance(replicas, bool):
            raise BadRequestError(f"spec.replicas: expected an integer, got {replicas!r}")
        if replicas < 0:
            text = f"Invalid value: {replicas}: must be greater than or equal to 0"
            cause = Cause("FieldValueInvalid", text, "spec.replicas")
            raise InvalidError.of("Scale", ctx.name, [cause], "autoscaling")
