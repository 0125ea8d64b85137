"""Counts what the objects of a namespace use, and writes it into the status of its ResourceQuotas.

Admission only ever adds. So this controller counts anew when a quota's limits change, when something that costs is
gone or has ended, and every five minutes: that is how `used` comes down, and how it is put right after a request that
was charged and then failed. It counts in its caches, and they may lag: a count can miss an object that was admitted a
moment ago, and then for a while more is admitted than the quota says.

Upstream: pkg/controller/resourcequota/{resource_quota_controller,resource_quota_monitor}.go
Simplified: only the resources that some quota names are watched, upstream watches all that can be deleted.
"""

from __future__ import annotations

from collections.abc import Iterable

import k8slab.controllers.lifecycle_kinds  # noqa: F401
from k8slab.api.objects import Object, key_of
from k8slab.api.pod_requests import ResourceList, resource_list
from k8slab.api.quota import (
    IGNORED,
    calculate_usage,
    equal,
    evaluator_of,
    evaluators_for,
    is_terminating,
    mask,
    printed,
    quota_counts_pod,
    texts,
)
from k8slab.api.scheme import GVR, RESOURCEQUOTAS, SCHEME, UnknownResourceError
from k8slab.client import SharedInformer, WorkQueue, run_workers
from k8slab.controllers.context import ControllerContext
from k8slab.sim.kinds import cut
from k8slab.sim.loop import sleep

__all__ = ["ResourceQuotaController"]

LANE = "kcm/resourcequota"
SYNC_PERIOD_MS = 300_000
_SHOWN = 60


class ResourceQuotaController:
    """Options `concurrent-resource-quota-syncs` (5), `resource-quota-sync-period-ms` (300,000)."""

    def __init__(self, ctx: ControllerContext) -> None:
        self.ctx = ctx
        self.loop = ctx.loop
        self.queue = WorkQueue(ctx.loop, "resourcequota_primary", lane=LANE)
        self.missing_usage = WorkQueue(ctx.loop, "resourcequota_priority", lane=LANE)
        self.quotas = ctx.informers.informer(RESOURCEQUOTAS)
        self.quotas.add_event_handler(
            on_add=lambda quota, is_initial: self._changed(quota),
            on_update=self._updated,
            on_delete=lambda quota: self.queue.add(key_of(quota)),
        )
        self._monitors: dict[str, SharedInformer] = {}

    def start(self) -> None:
        """Start the workers of both queues, and the periodic count."""
        workers = self.ctx.option("concurrent-resource-quota-syncs", 5)
        for queue in (self.queue, self.missing_usage):
            run_workers(self.ctx.component, queue, self.sync, workers, LANE, informers=(self.quotas,))
        self.ctx.component.spawn("resourcequota/resync", self._resync())

    async def _resync(self) -> None:
        period_ms = self.ctx.option("resource-quota-sync-period-ms", SYNC_PERIOD_MS)
        await self.quotas.wait_synced()
        while True:
            await sleep(period_ms, periodic=True)
            self.loop.trace.current = None
            for quota in self.quotas.indexer.list():
                self.queue.add(key_of(quota))

    # -- what makes it count -----------------------------------------------------------------------

    def _updated(self, old: Object, new: Object) -> None:
        """Admission and this controller itself write the status all the time: only other limits count."""
        before, after = (resource_list((one.get("spec") or {}).get("hard")) for one in (old, new))
        if not equal(before, after):
            self._changed(new)

    def _changed(self, quota: Object) -> None:
        """Into the queue for those whose usage nobody knows, else into the other."""
        for evaluator in evaluators_for((quota.get("spec") or {}).get("hard") or {}):
            self._monitor(evaluator.resource)
        status = quota.get("status") or {}
        spec_hard, hard = resource_list((quota.get("spec") or {}).get("hard")), resource_list(status.get("hard"))
        used = status.get("used") or {}
        unknown = [name for name in hard if name not in used and any(evaluators_for([name]))]
        is_unknown = not equal(spec_hard, hard) or bool(unknown)
        (self.missing_usage if is_unknown else self.queue).add(key_of(quota))

    def _monitor(self, resource: str) -> None:
        """Watch a resource that a quota names, if it is served."""
        if resource in self._monitors or resource in IGNORED:
            return
        gvr = self._gvr(resource)
        if gvr is None:
            return
        informer = self._monitors[resource] = self.ctx.informers.informer(gvr)
        informer.add_event_handler(
            on_update=lambda old, new: self._replenish(resource, new) if self._frees(resource, old, new) else None,
            on_delete=lambda obj: self._replenish(resource, obj),
        )
        informer.start()

    def _gvr(self, resource: str) -> GVR | None:
        for info in self.ctx.options.get("custom-resources", ()):
            if info.gvr.group_resource == resource:
                return info.gvr if info.namespaced else None
        try:
            info = SCHEME.find(resource)
        except UnknownResourceError:
            return None
        return info.gvr if info.namespaced and "list" in info.verbs else None

    def _frees(self, resource: str, old: Object, new: Object) -> bool:
        """Whether an update can make an object cost less, or in another scope."""
        now_ms = self.loop.clock.now_ms
        if resource == "pods":
            ended = quota_counts_pod(old, now_ms) and not quota_counts_pod(new, now_ms)
            return ended or is_terminating(old) != is_terminating(new)
        if resource == "services":
            return _service_type(old) != _service_type(new)
        if resource == "persistentvolumeclaims":
            return evaluator_of(resource).handles("UPDATE", "status", new, old)
        return False

    def _replenish(self, resource: str, obj: Object) -> None:
        """Something costs less: count for the quotas that limit it."""
        namespace = obj["metadata"].get("namespace", "")
        evaluator = evaluator_of(resource)
        for quota in self._in(self.quotas, namespace):
            if evaluator.matching_resources((quota.get("status") or {}).get("hard") or {}):
                self.queue.add(key_of(quota))

    # -- counting ----------------------------------------------------------------------------------

    async def sync(self, key: str) -> None:
        """Count for one quota, and write what differs. ConflictError: tried again on the newer quota."""
        quota = self.quotas.indexer.get(key)
        if quota is None:
            return
        for evaluator in evaluators_for(quota["spec"].get("hard") or {}):
            if evaluator.resource in self._monitors:
                await self._monitors[evaluator.resource].wait_synced()
        quota = self.quotas.indexer.get(key)
        if quota is None:
            return
        usage = self._usage(quota)
        if usage is not None:
            self.loop.trace.emit(
                "quota.count", LANE, resource="resourcequotas", key=key, used=cut(printed(usage), _SHOWN)
            )
            status = {"hard": dict(quota["spec"].get("hard") or {}), "used": texts(usage)}
            await self.ctx.client.update_status(RESOURCEQUOTAS, {**quota, "status": status})

    def _usage(self, quota: Object) -> ResourceList | None:
        """What is used of `spec.hard`; what could not be counted is as it was. None: the status says so already."""
        hard = resource_list(quota["spec"].get("hard"))
        status = quota.get("status") or {}
        before = resource_list(status.get("used"))
        counted, _ = calculate_usage(
            quota,
            lambda resource: self._objects(resource, quota["metadata"]["namespace"]),
            self.loop.clock.now_ms,
        )
        used = mask({**before, **counted}, hard)
        same = equal(hard, resource_list(status.get("hard"))) and equal(used, before)
        return None if same and "hard" in status and "used" in status else used

    def _objects(self, resource: str, namespace: str) -> Iterable[Object] | None:
        informer = self._monitors.get(resource)
        return None if informer is None else self._in(informer, namespace)

    def _in(self, informer: SharedInformer, namespace: str) -> list[Object]:
        return [obj for obj in informer.indexer.list() if obj["metadata"].get("namespace") == namespace]


def _service_type(service: Object) -> str:
    kind = (service.get("spec") or {}).get("type") or ""
    return kind if kind in ("NodePort", "LoadBalancer") else ""
