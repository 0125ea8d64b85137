"""Namespaces: born with a finalizer, deleted in two steps.

Upstream: pkg/registry/core/namespace/strategy.go, pkg/registry/core/namespace/storage/storage.go
"""

from __future__ import annotations

from collections.abc import Mapping

from k8slab.api.errors import ConflictError
from k8slab.api.objects import Frozen, Object
from k8slab.apiserver.registry.context import Context, Draft, draft_of
from k8slab.apiserver.registry.delete_options import DeleteOptions
from k8slab.apiserver.registry.rest import FINALIZER_ORPHAN
from k8slab.apiserver.registry.store import Store, Validate
from k8slab.apiserver.registry.strategy import StatusStrategy, Strategy, keep
from k8slab.apiserver.storage import Preconditions, StorageError

__all__ = ["FinalizeStrategy", "NamespaceStore", "NamespaceStrategy"]

NAME_LABEL = "kubernetes.io/metadata.name"


class NamespaceStrategy(Strategy):
    has_status = True
    returns_deleted = True

    def prepare_for_create(self, ctx: Context, obj: Draft) -> None:
        super().prepare_for_create(ctx, obj)
        spec = obj.get("spec") or {}
        finalizers = list(spec.get("finalizers") or ())
        if "kubernetes" not in finalizers:
            finalizers.append("kubernetes")
        obj["spec"] = {**spec, "finalizers": finalizers}
        obj["status"] = {"phase": "Active"}
        _label(obj)

    def prepare_for_update(self, ctx: Context, obj: Draft, old: Frozen) -> None:
        super().prepare_for_update(ctx, obj, old)
        obj["spec"] = {**(obj.get("spec") or {}), "finalizers": (old.get("spec") or {}).get("finalizers") or []}
        if not obj["spec"]["finalizers"]:
            obj["spec"].pop("finalizers")
        _label(obj)

    def should_delete_during_update(self, obj: Object, old: Frozen) -> bool:
        return not (obj.get("spec") or {}).get("finalizers")

    def attributes(self, obj: Object) -> Mapping[str, str]:
        name, phase = obj["metadata"]["name"], (obj.get("status") or {}).get("phase", "")
        return {"metadata.name": name, "name": name, "status.phase": phase}


def _label(obj: Draft) -> None:
    """Every namespace carries its name as a label."""
    metadata = obj["metadata"]
    name = metadata.get("name")
    if name and (metadata.get("labels") or {}).get(NAME_LABEL) != name:
        metadata["labels"] = {**(metadata.get("labels") or {}), NAME_LABEL: name}


class FinalizeStrategy(StatusStrategy):
    """The `finalize` subresource changes nothing but `spec.finalizers`."""

    def prepare_for_update(self, ctx: Context, obj: Draft, old: Frozen) -> None:
        finalizers = (obj.get("spec") or {}).get("finalizers") or []
        spec = {k: v for k, v in (old.get("spec") or {}).items() if k != "finalizers"}
        obj["spec"] = {**spec, "finalizers": finalizers} if finalizers else spec
        keep(obj, old, "status")
        _label(obj)


class NamespaceStore(Store):
    """Deleting a namespace first turns it to Terminating; it goes when its content and finalizers have gone."""

    async def delete(self, ctx: Context, options: DeleteOptions, validate: Validate) -> tuple[Object, bool]:
        key = self.key("", ctx.name)
        existing = await self.storage.get(key)
        if existing is None:
            raise self._not_found(ctx.name)
        uid = existing["metadata"]["uid"]
        if options.uid is None:
            options.uid = uid
        elif options.uid != uid:
            why = f"Precondition failed: UID in precondition: {options.uid}, UID in object meta: {uid}"
            raise ConflictError.of("namespaces", ctx.name, why)
        if "deletionTimestamp" not in existing["metadata"]:
            return await self._terminate(ctx, key, options, validate), False
        if (existing.get("spec") or {}).get("finalizers"):
            return existing, False
        return await super().delete(ctx, options, validate)

    async def _terminate(self, ctx: Context, key: str, options: DeleteOptions, validate: Validate) -> Frozen:
        async def attempt(existing: Frozen | None) -> Object:
            assert existing is not None, "a missing namespace is refused before"
            await validate(None, existing)
            draft = draft_of(existing)
            draft["metadata"].setdefault("deletionTimestamp", ctx.now)
            draft["status"] = {**(draft.get("status") or {}), "phase": "Terminating"}
            finalizers = [f for f in draft["metadata"].get("finalizers") or () if f != FINALIZER_ORPHAN]
            if options.orphan_dependents is True or options.propagation_policy == "Orphan":
                finalizers.append(FINALIZER_ORPHAN)
            if finalizers:
                draft["metadata"]["finalizers"] = finalizers
            else:
                draft["metadata"].pop("finalizers", None)
            return draft

        try:
            return await self.storage.guaranteed_update(
                key, attempt, preconditions=Preconditions(uid=options.uid), dry_run=ctx.dry_run
            )
        except StorageError as error:
            raise self._interpret(error, ctx.name) from None
