"""Empties a namespace that is being deleted, Pods first (since 1.33), then lets it go.

    DELETE → Terminating ──5 s──> delete Pods ──gone──> delete the rest ──empty──> take the finalizer off

Upstream: pkg/controller/namespace/namespace_controller.go, deletion/namespaced_resources_deleter.go
Simplified: resources come from the option `namespaced-resources` or the built-in table, not from discovery, so
discovery and group-version parsing never fail. All are looked at together first, and those without objects are left
at that; the others are emptied in a fixed order. Objects are listed whole.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import k8slab.controllers.lifecycle_kinds  # noqa: F401
from k8slab.api.errors import ConflictError, MethodNotSupportedError, NotFoundError, StatusError
from k8slab.api.objects import Object
from k8slab.api.pods import is_pod_terminal
from k8slab.api.scheme import GVR, NAMESPACES, PODS, SCHEME, ResourceInfo
from k8slab.api.times import parse_time, rfc3339
from k8slab.client import WorkQueue, run_workers
from k8slab.client.workqueue import BucketRateLimiter, ItemExponentialFailureRateLimiter, Limiter, MaxOfRateLimiter
from k8slab.controllers.context import ControllerContext
from k8slab.controllers.namespace_conditions import NamespaceConditions, updated_conditions
from k8slab.controllers.parallel import call_all

__all__ = ["FINALIZER", "NamespaceController", "namespaced_resources"]

LANE = "kcm/namespace"
FINALIZER = "kubernetes"
GRACE_PERIOD_MS = 5_000
"""Time for API servers to notice the deletion, and for late creations to be seen."""

FINALIZER_ESTIMATE_SECONDS = 15
"""How long objects with finalizers are taken to need."""


class UnexpectedItemsError(StatusError):
    """Objects are left that nothing holds; as good as a failure of the server."""

    def __init__(self, namespace: str, gvr: GVR) -> None:
        text = f"{gvr.group}/{gvr.version}, Resource={gvr.resource}"
        super().__init__(f"unexpected items still remain in namespace: {namespace} for gvr: {text}")


@dataclass(slots=True)
class Remains:
    """What is left of one resource. `estimate_seconds`: how long until it may be gone."""

    estimate_seconds: int = 0
    count: int = 0
    finalizers: dict[str, int] = field(default_factory=dict)
    error: StatusError | TimeoutError | None = None


class NamespaceController:
    """Options: `concurrent-namespace-syncs` (10); `namespaced-resources`, a list of GVR; `custom-resources`, a list of
    ResourceInfo of kinds that are not built in, as `monitor` takes them."""

    def __init__(self, ctx: ControllerContext) -> None:
        self.ctx = ctx
        self.loop = ctx.loop
        self.client = ctx.client
        found: Iterable[GVR] = ctx.options.get("namespaced-resources") or namespaced_resources()
        self.is_ordered = ctx.features.enabled("OrderedNamespaceDeletion")
        self.resources = [PODS, *(gvr for gvr in found if gvr != PODS)]
        for info in ctx.options.get("custom-resources", ()):
            self.monitor(info)
        limiter = MaxOfRateLimiter(
            ItemExponentialFailureRateLimiter(5, 60_000),
            BucketRateLimiter(Limiter(10, 100), lambda: ctx.loop.clock.now_ms),
        )
        self.queue = WorkQueue(ctx.loop, "namespace", limiter, lane=LANE)
        self.namespaces = ctx.informers.informer(NAMESPACES)
        self.namespaces.add_event_handler(
            on_add=lambda namespace, is_initial: self._enqueue(namespace),
            on_update=lambda old, new: self._enqueue(new),
        )

    def start(self) -> None:
        """Start the workers."""
        workers = self.ctx.option("concurrent-namespace-syncs", 10)
        run_workers(self.ctx.component, self.queue, self.sync, workers, LANE, informers=(self.namespaces,))

    def monitor(self, info: ResourceInfo) -> None:
        """Empty one more resource, such as a custom one, if it lives in namespaces."""
        if info.namespaced and info.gvr not in self.resources:
            self.resources.append(info.gvr)

    def _enqueue(self, namespace: Object) -> None:
        if namespace["metadata"].get("deletionTimestamp") is not None:
            self.queue.add_after(namespace["metadata"]["name"], GRACE_PERIOD_MS)

    async def sync(self, name: str) -> None:
        """One attempt to empty and finalize a namespace."""
        if self.namespaces.indexer.get(name) is None:
            return
        try:
            namespace = await self._terminating(name)
            if namespace is None:
                return
            estimate = await self._delete_all_content(namespace)
            if estimate > 0:
                self.queue.add_after(name, 1000 * (estimate // 2 + 1))
                return
            await self._finalize(name, namespace["metadata"]["uid"])
        except NotFoundError:
            return

    async def _terminating(self, name: str) -> Object | None:
        """The namespace with phase Terminating; None if there is nothing to do. NotFoundError: it is gone."""
        while True:
            namespace = await self.client.get(NAMESPACES, name)
            is_finalized = not (namespace.get("spec") or {}).get("finalizers")
            if namespace["metadata"].get("deletionTimestamp") is None or is_finalized:
                return None
            status = namespace.get("status") or {}
            if status.get("phase") == "Terminating":
                return namespace
            try:
                new = {**namespace, "status": {**status, "phase": "Terminating"}}
                return await self.client.update_status(NAMESPACES, new)
            except ConflictError:
                continue

    async def _finalize(self, name: str, uid: str) -> None:
        """Take our finalizer off; without finalizers the API server removes the namespace."""
        while True:
            namespace = await self.client.get(NAMESPACES, name)
            if namespace["metadata"]["uid"] != uid:
                return
            others = [each for each in namespace["spec"].get("finalizers") or () if each != FINALIZER]
            body = {**namespace, "spec": {**namespace["spec"], "finalizers": sorted(others)}}
            self.loop.trace.emit("namespace.finalize", LANE, resource="namespaces", key=name)
            try:
                await self.client.update_subresource(NAMESPACES, "", name, "finalize", body)
            except ConflictError:
                continue
            return

    # -- content -------------------------------------------------------------------------------------

    async def _delete_all_content(self, namespace: Object) -> int:
        """Delete everything, in two attempts: nothing else goes before the Pods are gone.

        Returns how many seconds to wait for the rest. Raises what went wrong, after the conditions were written.
        """
        name = namespace["metadata"]["name"]
        conditions = NamespaceConditions()
        errors: list[Exception] = []
        estimate = remaining = 0
        queue = [PODS]
        while queue:
            gvr = queue.pop(0)
            remains = await self._delete_resource(gvr, namespace)
            estimate = max(estimate, remains.estimate_seconds)
            remaining += remains.count
            if remains.error is not None:
                errors.append(remains.error)
                conditions.errors.append(str(remains.error))
            if gvr == PODS and remains.count and self.is_ordered:
                break  # the rest must wait; what remains is not told in the conditions
            if gvr == PODS:
                queue += await self._inhabited(name)
            if remains.count:
                conditions.remaining[gvr] = remains.count
                for finalizer, count in remains.finalizers.items():
                    conditions.finalizers[finalizer] = conditions.finalizers.get(finalizer, 0) + count
        self.loop.trace.emit("namespace.empty", LANE, resource="namespaces", key=name, remaining=remaining)
        await self._write_conditions(namespace, conditions)
        if errors:
            raise ExceptionGroup(f"deletion of namespace {name} failed", errors)
        return estimate

    async def _inhabited(self, name: str) -> list[GVR]:
        """Resources other than Pods that have objects in the namespace, or whose list failed."""
        empty: dict[GVR, None] = {}

        async def look(gvr: GVR) -> None:
            try:
                items = (await self.client.list(gvr, name, limit=1))["items"]
            except (NotFoundError, MethodNotSupportedError):
                items = []  # not served, or not as a collection
            if not items:
                empty[gvr] = None

        others = [gvr for gvr in self.resources if gvr != PODS]
        await call_all(self.ctx.component, "namespace/look", look, others)
        return [gvr for gvr in others if gvr not in empty]

    async def _write_conditions(self, namespace: Object, conditions: NamespaceConditions) -> None:
        status = namespace.get("status") or {}
        new = updated_conditions(status.get("conditions") or (), conditions.conditions(rfc3339(self.loop.clock.now_ms)))
        if new is None:
            return
        try:
            await self.client.update_status(NAMESPACES, {**namespace, "status": {**status, "conditions": new}})
        except (StatusError, TimeoutError) as error:
            key, text = namespace["metadata"]["name"], str(error)[:80]
            self.loop.trace.emit("sync.error", LANE, queue="namespace", key=key, error=text, retry_ms=0)

    async def _delete_resource(self, gvr: GVR, namespace: Object) -> Remains:
        """Delete all objects of one resource and look at what is left."""
        name = namespace["metadata"]["name"]
        estimate = 0
        try:
            try:
                if gvr == PODS:
                    pods = (await self.client.list(PODS, name))["items"]
                    if not pods:
                        return Remains()
                    deleted_ms = parse_time(namespace["metadata"]["deletionTimestamp"])
                    estimate = graceful_termination_seconds(pods, self.loop.clock.now_ms - deleted_ms)
                await self.client.delete_collection(gvr, name, propagation_policy="Background")
                items = (await self.client.list(gvr, name))["items"]
            except (NotFoundError, MethodNotSupportedError):
                return Remains()  # not served, or not as a collection
        except (StatusError, TimeoutError) as error:
            return Remains(error=error)
        if not items:
            return Remains()
        finalizers: dict[str, int] = {}
        for item in items:
            for finalizer in item["metadata"].get("finalizers") or ():
                finalizers[finalizer] = finalizers.get(finalizer, 0) + 1
        if estimate:
            return Remains(estimate, len(items), finalizers)
        if finalizers:
            return Remains(FINALIZER_ESTIMATE_SECONDS, len(items), finalizers)
        return Remains(0, len(items), {}, UnexpectedItemsError(name, gvr))


def graceful_termination_seconds(pods: Iterable[Object], elapsed_ms: int) -> int:
    """How long these Pods may take to end: the longest grace period, 0 when that much time has passed."""
    running = [pod for pod in pods if not is_pod_terminal(pod)]
    seconds: int = max((pod["spec"].get("terminationGracePeriodSeconds") or 0 for pod in running), default=0)
    return seconds if elapsed_ms < 1000 * seconds else 0


def namespaced_resources() -> list[GVR]:
    """Every built-in resource that lives in namespaces and can be deleted, in its preferred version."""
    preferred: dict[tuple[str, str], GVR] = {}
    for info in SCHEME:
        if info.namespaced and "deletecollection" in info.verbs and "list" in info.verbs:
            preferred.setdefault((info.gvr.group, info.gvr.resource), info.gvr)
    return list(preferred.values())
