"""Eviction: a delete that asks the disruption budgets first.

Upstream: pkg/registry/core/pod/storage/eviction.go
Simplified: a conflict on the budget is retried at once and without limit, upstream waits 500 ms, 20 times; a budget
    with more than 2,000 disrupted Pods is not refused. Nobody computes the status of the budgets in a simulated
    cluster: an eviction under one is refused until the status is patched by hand.
"""

from __future__ import annotations

from typing import Any

from k8slab.api.errors import BadRequestError, InternalError, TooManyRequestsError
from k8slab.api.labels import selector_from_dict
from k8slab.api.objects import Frozen, Object
from k8slab.api.pods import is_pod_ready
from k8slab.apiserver.registry.binding import SUCCESS
from k8slab.apiserver.registry.context import Context, draft_of
from k8slab.apiserver.registry.delete_options import DeleteOptions
from k8slab.apiserver.registry.store import Store
from k8slab.apiserver.storage import KeyNotFoundError, Preconditions, StorageError

__all__ = ["EvictionStore"]

_REFUSED = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."


class EvictionStore:
    """`pods/eviction`."""

    def __init__(self, pods: Store, budgets: Store) -> None:
        self.pods = pods
        self.budgets = budgets

    async def create(self, ctx: Context, eviction: Object) -> Object:
        """Delete the Pod if its budget allows. Raises TooManyRequestsError when it does not, NotFoundError."""
        if (eviction.get("metadata") or {}).get("name") != ctx.name:
            raise BadRequestError("name in URL does not match name in Eviction object")
        options = DeleteOptions.of(eviction.get("deleteOptions"), {})
        ctx.dry_run = options.dry_run = ctx.dry_run or options.dry_run
        pod = await self.pods.get(ctx)
        if not _ignores_budgets(pod):
            budget = await self._budget_of(pod)
            if budget is not None and not _may_go_unready(pod, budget):
                await self._take(ctx, budget["metadata"]["name"], pod)
        await self._delete(ctx, options)
        return SUCCESS

    async def _budget_of(self, pod: Frozen) -> Frozen | None:
        """The one budget that selects the Pod. Raises InternalError when there are several."""
        prefix = self.budgets.storage.layout.resource_prefix(self.budgets.resource)
        found = (await self.budgets.storage.list(f"{prefix}{pod['metadata']['namespace']}/")).items
        labels = pod["metadata"].get("labels")
        matching = [b for b in found if selector_from_dict(b["spec"].get("selector")).matches(labels)]
        if len(matching) > 1:
            raise InternalError(_SEVERAL, reason="")
        return matching[0] if matching else None

    async def _take(self, ctx: Context, name: str, pod: Frozen) -> None:
        """Use up one disruption of the budget. Raises TooManyRequestsError."""

        async def decrement(existing: Frozen | None) -> Object:
            assert existing is not None, "a missing budget is refused before"
            return _decremented(ctx, existing, pod["metadata"]["name"])

        key = self.budgets.key(ctx.namespace, name)
        try:
            await self.budgets.storage.guaranteed_update(key, decrement, dry_run=ctx.dry_run)
        except KeyNotFoundError:
            return  # the budget went in the meantime: nothing protects the Pod
        except StorageError as error:
            raise self.budgets._interpret(error, name) from None

    async def _delete(self, ctx: Context, options: DeleteOptions) -> None:
        """Say in the status why the Pod goes, then delete it."""

        async def mark(existing: Frozen | None) -> Object:
            assert existing is not None, "a missing Pod is refused before"
            return {**existing, "status": _disrupted(ctx, existing.get("status") or {})}

        preconditions = Preconditions(options.uid, options.resource_version)
        if not ctx.dry_run:
            try:
                marked = await self.pods.storage.guaranteed_update(
                    self.pods.key(ctx.namespace, ctx.name), mark, preconditions=preconditions
                )
            except StorageError as error:
                raise self.pods._interpret(error, ctx.name) from None
            if options.resource_version is not None:
                options.resource_version = marked["metadata"]["resourceVersion"]

        async def no_admission(obj: Object | None, old: Frozen | None) -> None:
            """The eviction was admitted; the deletion that follows from it is not asked again."""

        await self.pods.delete(ctx, options, no_admission)


def _ignores_budgets(pod: Frozen) -> bool:
    """A Pod that runs nothing, or is going already, disrupts nobody."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or "deletionTimestamp" in pod["metadata"]


def _may_go_unready(pod: Frozen, budget: Frozen) -> bool:
    """Whether the budget's policy lets a Pod go that is not ready anyway."""
    if is_pod_ready(pod):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    desired = status.get("desiredHealthy", 0)
    return bool(status.get("currentHealthy", 0) >= desired > 0)


def _decremented(ctx: Context, budget: Frozen, pod_name: str) -> dict[str, Any]:
    name, status = budget["metadata"]["name"], budget.get("status") or {}
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _refused(f"The disruption budget {name} is still being processed by the server.", retry_seconds=10)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed <= 0:
        raise _refused(_why_none(name, status))
    draft = draft_of(budget)
    disrupted = {**(status.get("disruptedPods") or {}), pod_name: ctx.now}
    draft["status"] = {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": disrupted}
    if allowed == 1:
        draft["status"]["conditions"] = _not_allowed(ctx, status)
    return draft


def _why_none(name: str, status: Object) -> str:
    failed = next((c for c in status.get("conditions") or () if c.get("reason") == "SyncFailed"), None)
    if failed is not None:
        why = failed.get("message", "")
        return f"The disruption budget {name} does not allow evicting pods currently because it failed sync: {why}"
    current, desired = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    if current <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
    return f"The disruption budget {name} does not allow evicting pods currently"


def _refused(why: str, *, retry_seconds: int = 0) -> TooManyRequestsError:
    details: dict[str, Any] = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    if retry_seconds:
        details["retryAfterSeconds"] = retry_seconds
    return TooManyRequestsError(_REFUSED, details=details)


def _not_allowed(ctx: Context, status: Object) -> list[Any]:
    """The conditions with DisruptionAllowed=False."""
    condition = {"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": ""}
    old: Object = next((c for c in status.get("conditions") or () if c["type"] == "DisruptionAllowed"), {})
    since = old.get("lastTransitionTime", ctx.now) if old.get("status") == "False" else ctx.now
    condition = {**condition, "lastTransitionTime": since}
    full = {**condition, "observedGeneration": status.get("observedGeneration", 0)}
    return [*(c for c in status.get("conditions") or () if c["type"] != "DisruptionAllowed"), full]


def _disrupted(ctx: Context, status: Object) -> dict[str, Any]:
    condition = {
        "type": "DisruptionTarget",
        "status": "True",
        "lastTransitionTime": ctx.now,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }
    others = [c for c in status.get("conditions") or () if c["type"] != "DisruptionTarget"]
    return {**status, "conditions": [*others, condition]}
