"""Binding a Pod to a node: the write of the scheduler.

Upstream: pkg/registry/core/pod/storage/storage.go (BindingREST, LegacyBindingREST),
    pkg/apis/core/validation/validation.go (ValidatePodBinding)
"""

from __future__ import annotations

from typing import Any

from k8slab.api.errors import Cause, ConflictError, StatusError
from k8slab.api.labels import go_quote
from k8slab.api.objects import Frozen, Object
from k8slab.apiserver.registry.context import Context, Draft, draft_of
from k8slab.apiserver.registry.store import Store
from k8slab.apiserver.storage import Preconditions, StorageError

__all__ = ["BindingStore"]

SUCCESS: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


class BindingStore:
    """`pods/binding`, and the older `bindings` resource."""

    def __init__(self, pods: Store) -> None:
        self.pods = pods

    async def create(self, ctx: Context, binding: Object) -> Object:
        """Assign the Pod to the node. Raises ConflictError when it is assigned already, gated, or being deleted."""
        name = ctx.name or (binding.get("metadata") or {}).get("name") or ""
        causes = _problems(binding)
        if causes:
            texts = [f"{cause.field}: {cause.message}" for cause in causes]
            raise StatusError(texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")

        async def assign(existing: Frozen | None) -> Object:
            assert existing is not None, "a missing Pod is refused before"
            return _assigned(ctx, existing, binding)

        metadata = binding.get("metadata") or {}
        preconditions = Preconditions(metadata.get("uid") or None, metadata.get("resourceVersion") or None)
        try:
            await self.pods.storage.guaranteed_update(
                self.pods.key(ctx.namespace, name), assign, preconditions=preconditions, dry_run=ctx.dry_run
            )
        except StorageError as error:
            raise self.pods._interpret(error, name) from None
        return SUCCESS


def _problems(binding: Object) -> list[Cause]:
    target = binding.get("target") or {}
    causes = []
    if target.get("kind") not in (None, "", "Node"):
        text = f'Unsupported value: {go_quote(str(target["kind"]))}: supported values: "Node", "<empty>"'
        causes.append(Cause("FieldValueNotSupported", text, "target.kind"))
    if not target.get("name"):
        causes.append(Cause("FieldValueRequired", "Required value", "target.name"))
    return causes


def _assigned(ctx: Context, pod: Frozen, binding: Object) -> Draft:
    name, spec = pod["metadata"]["name"], pod["spec"]
    if "deletionTimestamp" in pod["metadata"]:
        raise _conflict(name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise _conflict(name, f"pod {name} is already assigned to node {go_quote(spec['nodeName'])}")
    if spec.get("schedulingGates"):
        raise _conflict(name, f"pod {name} has non-empty .spec.schedulingGates")
    draft = draft_of(pod)
    draft["spec"] = {**spec, "nodeName": binding["target"]["name"]}
    for field in ("annotations", "labels"):
        extra = (binding.get("metadata") or {}).get(field)
        if extra:
            draft["metadata"][field] = {**(draft["metadata"].get(field) or {}), **extra}
    draft["status"] = _scheduled(ctx, draft.get("status") or {})
    if ctx.env.features.enabled("ClearingNominatedNodeNameAfterBinding"):
        draft["status"].pop("nominatedNodeName", None)
    return draft


def _scheduled(ctx: Context, status: Object) -> dict[str, Any]:
    """The status with the condition PodScheduled=True."""
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": ctx.now}
    conditions = list(status.get("conditions") or ())
    for index, old in enumerate(conditions):
        if old["type"] == "PodScheduled":
            if old["status"] == "True" and "lastTransitionTime" in old:
                condition["lastTransitionTime"] = old["lastTransitionTime"]
            conditions[index] = condition
            break
    else:
        conditions.append(condition)
    return {**status, "conditions": conditions}


def _conflict(name: str, why: str) -> ConflictError:
    return ConflictError.of("pods/binding", name, why)
