"""The EndpointSlice controller: Services and Pods to slices.

Upstream: pkg/controller/endpointslice/endpointslice_controller.go
Simplified: the Services that a Pod change touches are looked up in the handler (upstream: a queue of its own); no
batching of endpoint updates; no topology cache.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from k8slab.api.errors import ConflictError, StatusError
from k8slab.api.labels import selector_from_set
from k8slab.api.objects import Object, key_of
from k8slab.api.pods import is_pod_ready
from k8slab.api.scheme import ENDPOINTSLICES, NODES, PODS, SERVICES
from k8slab.client import WorkQueue, run_workers
from k8slab.client.workqueue import ItemExponentialFailureRateLimiter
from k8slab.controllers.context import ControllerContext
from k8slab.controllers.endpointslice.reconciler import MANAGED_BY, MANAGER, SERVICE_NAME, Changes, reconcile
from k8slab.controllers.endpointslice.tracker import EndpointSliceTracker, TriggerTimeTracker
from k8slab.controllers.status_cause import has_namespace_terminating_cause

__all__ = ["EndpointSliceController"]

LANE = "kcm/endpointslice"
TRIGGER_TIME = "endpoints.kubernetes.io/last-change-trigger-time"
MAX_RETRIES = 15
SLICE_CHANGE_DELAY_MS = 1000
"""How long a change of a slice by somebody else waits for further ones."""
SERVICE_INDEX = "endpointslice-service"


def _service_of_slice(slice: Object) -> Sequence[str]:
    """For the index: the Service that one of our slices belongs to."""
    metadata = slice["metadata"]
    labels = metadata.get("labels") or {}
    if labels.get(MANAGED_BY) != MANAGER or not labels.get(SERVICE_NAME):
        return ()
    return (f"{metadata.get('namespace', '')}/{labels[SERVICE_NAME]}",)


class EndpointSliceController:
    """Keeps the slices of every Service with a selector."""

    def __init__(self, ctx: ControllerContext) -> None:
        self.ctx = ctx
        self.queue = WorkQueue(ctx.loop, "endpointslice", ItemExponentialFailureRateLimiter(1000, 1_000_000), lane=LANE)
        self.tracker = EndpointSliceTracker()
        self.trigger_times = TriggerTimeTracker()
        self.recorder = ctx.recorder("endpoint-slice-controller")
        self.services = ctx.informers.informer(SERVICES)
        self.pods = ctx.informers.informer(PODS)
        self.slices = ctx.informers.informer(ENDPOINTSLICES)
        self.nodes = ctx.informers.informer(NODES)
        self.slices.add_index(SERVICE_INDEX, _service_of_slice)
        self.services.add_event_handler(
            on_add=lambda service, is_initial: self.queue.add(key_of(service)),
            on_update=lambda old, new: self.queue.add(key_of(new)),
            on_delete=lambda service: self.queue.add(key_of(service)),
        )
        self.pods.add_event_handler(
            on_add=lambda pod, is_initial: self._enqueue_services_of(pod),
            on_update=self._pod_updated,
            on_delete=self._enqueue_services_of,
        )
        self.slices.add_event_handler(
            on_add=lambda slice, is_initial: self._slice_changed(slice),
            on_update=self._slice_updated,
            on_delete=self._slice_deleted,
        )

    def start(self) -> None:
        run_workers(
            self.ctx.component,
            self.queue,
            self.sync,
            workers=self.ctx.option("concurrent-service-endpoint-syncs", 5),
            max_retries=MAX_RETRIES,
            informers=(self.services, self.pods, self.slices, self.nodes),
        )

    # -- events ------------------------------------------------------------------------------------

    def _services_of(self, pod: Object) -> list[str]:
        labels = pod["metadata"].get("labels")
        return [
            key_of(service)
            for service in self.services.indexer.list(pod["metadata"].get("namespace") or "")
            if service["spec"].get("selector") and selector_from_set(service["spec"]["selector"]).matches(labels)
        ]

    def _enqueue_services_of(self, pod: Object) -> None:
        for key in self._services_of(pod):
            self.queue.add(key)

    def _pod_updated(self, old: Object, new: Object) -> None:
        """Only what shows in an endpoint, or decides which Service it belongs to, is worth a sync."""
        changed, labels_changed = _endpoint_changed(old, new), _membership_changed(old, new)
        if not (changed or labels_changed):
            return
        now = self._services_of(new)
        before = self._services_of(old) if labels_changed else now
        for key in dict.fromkeys(now + before):
            if changed or (key in now) != (key in before):
                self.queue.add(key)

    def _slice_changed(self, slice: Object) -> None:
        if _service_of_slice(slice) and self.tracker.should_sync(slice):
            self._enqueue_service_of(slice)

    def _slice_updated(self, old: Object, new: Object) -> None:
        if _service_of_slice(old) != _service_of_slice(new):
            self._enqueue_service_of(old)
            self._enqueue_service_of(new)
        else:
            self._slice_changed(new)

    def _slice_deleted(self, slice: Object) -> None:
        if _service_of_slice(slice) and self.tracker.has(slice) and not self.tracker.handle_deletion(slice):
            self._enqueue_service_of(slice)

    def _enqueue_service_of(self, slice: Object) -> None:
        metadata = slice["metadata"]
        service = (metadata.get("labels") or {}).get(SERVICE_NAME)
        if service:
            self.queue.add_after(f"{metadata.get('namespace', '')}/{service}", SLICE_CHANGE_DELAY_MS)

    # -- sync --------------------------------------------------------------------------------------

    async def sync(self, key: str) -> None:
        """Bring the slices of the Service `key` in line with its Pods."""
        service = self.services.indexer.get(key)
        if service is None:
            self.tracker.delete_service(key)
            self.trigger_times.delete_service(key)
            return
        if service["spec"].get("type") == "ExternalName" or not service["spec"].get("selector"):
            return  # its endpoints are somebody else's business
        selector = selector_from_set(service["spec"]["selector"])
        namespace = service["metadata"].get("namespace") or ""
        pods = [pod for pod in self.pods.indexer.list(namespace) if selector.matches(pod["metadata"].get("labels"))]
        slices = [
            slice
            for slice in self.slices.indexer.by_index(SERVICE_INDEX, key)
            if slice["metadata"].get("deletionTimestamp") is None
        ]
        if self.tracker.stale_slices(key, slices):
            raise ConflictError("EndpointSlice informer cache is out of date")
        trigger_time = self.trigger_times.compute(service, pods)
        limit = self.ctx.option("max-endpoints-per-slice", 100)
        changes = reconcile(service, pods, slices, self.nodes.indexer.get, limit)
        try:
            await self._write(key, service, changes, trigger_time)
            if changes.errors:
                raise StatusError(_aggregate(changes.errors))
        except (StatusError, TimeoutError) as error:
            message = f"Error updating Endpoint Slices for Service {key}: {error}"
            self.recorder.event(service, "Warning", "FailedToUpdateEndpointSlices", message)
            raise

    async def _write(self, key: str, service: Object, changes: Changes, trigger_time: str) -> None:
        client = self.ctx.client
        namespace = service["metadata"].get("namespace") or ""
        if service["metadata"].get("deletionTimestamp") is None:  # else the garbage collector deletes what we create
            for slice in changes.create:
                self._emit(key, "create", "a slice", slice)
                try:
                    self.tracker.update(await client.create(ENDPOINTSLICES, _stamped(slice, trigger_time)))
                except StatusError as error:
                    if has_namespace_terminating_cause(error):
                        return
                    raise
        for slice in changes.update:
            self._emit(key, "update", slice["metadata"]["name"], slice)
            self.tracker.update(await client.update(ENDPOINTSLICES, _stamped(slice, trigger_time)))
        for gone in changes.delete:
            self._emit(key, "delete", gone["metadata"]["name"], gone)
            await client.delete(ENDPOINTSLICES, gone["metadata"]["name"], namespace)
            self.tracker.expect_deletion(gone)

    def _emit(self, key: str, verb: str, name: str, slice: Object) -> None:
        self.ctx.loop.trace.emit(
            "endpointslice.write",
            LANE,
            resource=SERVICES.group_resource,
            key=key,
            verb=verb,
            slice=name,
            endpoints=len(slice.get("endpoints") or ()),
        )


def _stamped(slice: Object, trigger_time: str) -> dict[str, Any]:
    """The slice to send: with the trigger time, or without an old one; empty lists are left out, which the API reads
    as null."""
    metadata = dict(slice["metadata"])
    annotations = {
        name: value for name, value in (metadata.pop("annotations", None) or {}).items() if name != TRIGGER_TIME
    }
    if trigger_time:
        annotations[TRIGGER_TIME] = trigger_time
    if annotations:
        metadata["annotations"] = annotations
    empty = [field for field in ("endpoints", "ports") if not slice.get(field)]
    return {**{field: value for field, value in slice.items() if field not in empty}, "metadata": metadata}


def _aggregate(errors: Sequence[str]) -> str:
    unique = list(dict.fromkeys(errors))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def _membership_changed(old: Object, new: Object) -> bool:
    names = ("hostname", "subdomain")
    return old["metadata"].get("labels") != new["metadata"].get("labels") or any(
        old["spec"].get(name) != new["spec"].get(name) for name in names
    )


def _endpoint_changed(old: Object, new: Object) -> bool:
    def ips(pod: Object) -> list[str]:
        return [entry.get("ip", "") for entry in (pod.get("status") or {}).get("podIPs") or ()]

    deletion_changed = old["metadata"].get("deletionTimestamp") != new["metadata"].get("deletionTimestamp")
    return deletion_changed or is_pod_ready(old) != is_pod_ready(new) or ips(old) != ips(new)
