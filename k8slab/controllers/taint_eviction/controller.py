"""Deletes Pods from nodes whose NoExecute taints they do not tolerate, or no longer.

A Pod with tolerationSeconds is put down for later; if the taint goes or the Pod changes, that is cancelled.

Upstream: pkg/controller/tainteviction/taint_eviction.go
Simplified: changes of nodes and Pods are acted on where informers report them (upstream: eight workers between, nodes
before Pods); at most `WORKERS` deletions at a time.
"""

from __future__ import annotations

from typing import Any

import k8slab.controllers.lifecycle_kinds  # noqa: F401
from k8slab.api.errors import StatusError
from k8slab.api.objects import Object, key_of, thaw
from k8slab.api.pods import get_condition
from k8slab.api.scheme import NODES, PODS
from k8slab.api.times import rfc3339
from k8slab.api.tolerations import FOREVER, no_execute_taints
from k8slab.client import WorkQueue, run_workers
from k8slab.controllers.context import ControllerContext
from k8slab.controllers.node_taints import taints_of
from k8slab.controllers.pod_index import NODE_NAME, node_name_index
from k8slab.controllers.taint_eviction.decision import decide
from k8slab.controllers.taint_eviction.timed_workers import TimedWorkerQueue
from k8slab.sim.loop import sleep

__all__ = ["TaintEvictionController"]

LANE = "kcm/taint-eviction"
SOURCE = "taint-eviction-controller"
RETRIES = 5
RETRY_MS = 10
WORKERS = 8


class TaintEvictionController:
    """`tainted_nodes`: node name → its NoExecute taints. `work`: Pods that are to be deleted, and when."""

    def __init__(self, ctx: ControllerContext) -> None:
        self.ctx = ctx
        self.loop = ctx.loop
        self.client = ctx.client
        self.recorder = ctx.recorder(SOURCE)
        self.tainted_nodes: dict[str, list[Object]] = {}
        self.work = TimedWorkerQueue()
        self.queue = WorkQueue(ctx.loop, "taint-eviction", lane=LANE)
        self.pods = ctx.informers.informer(PODS)
        self.nodes = ctx.informers.informer(NODES)
        self.pods.add_index(NODE_NAME, node_name_index)
        self.pods.add_event_handler(
            on_add=lambda pod, is_initial: self.pod_updated(None, pod),
            on_update=self.pod_updated,
            on_delete=lambda pod: self._cancel(key_of(pod)),
        )
        self.nodes.add_event_handler(
            on_add=lambda node, is_initial: self.node_updated(None, node),
            on_update=self.node_updated,
            on_delete=self._node_deleted,
        )

    def start(self) -> None:
        """Start the workers."""
        run_workers(self.ctx.component, self.queue, self.sync, WORKERS, LANE, informers=(self.pods, self.nodes))

    # -- changes -----------------------------------------------------------------------------------

    def pod_updated(self, old: Object | None, new: Object) -> None:
        """Only the node and the tolerations of a Pod matter."""
        node = new["spec"].get("nodeName")
        if old is not None and old["spec"].get("nodeName") == node and _tolerations(old) == _tolerations(new):
            return
        taints = self.tainted_nodes.get(node or "")
        if taints:
            self._process_pod_on_node(new, node, taints)

    def node_updated(self, old: Object | None, new: Object) -> None:
        """Only the NoExecute taints of a node matter."""
        name = new["metadata"]["name"]
        taints = no_execute_taints(taints_of(new))
        if old is not None and no_execute_taints(taints_of(old)) == taints:
            return
        if taints:
            self.tainted_nodes[name] = taints
        else:
            self.tainted_nodes.pop(name, None)
        for pod in self.pods.indexer.by_index(NODE_NAME, name):
            if taints:
                self._process_pod_on_node(pod, name, taints)
            else:
                self._cancel(key_of(pod))

    def _node_deleted(self, node: Object) -> None:
        self.tainted_nodes.pop(node["metadata"]["name"], None)

    def _process_pod_on_node(self, pod: Object, node: str, taints: list[Object]) -> None:
        key, now_ms = key_of(pod), self.loop.clock.now_ms
        decision = decide(taints, _tolerations(pod))
        if not decision.all_tolerated:
            self._cancel(key)
            self._add_work(key, node, now_ms, now_ms)
            return
        if decision.stay_seconds == FOREVER:
            self._cancel(key)
            return
        created_ms, stay_ms = now_ms, 1000 * decision.stay_seconds
        scheduled = self.work.get(key)
        if scheduled is not None:
            created_ms = scheduled.created_ms
            if created_ms < now_ms:
                return  # it was put down earlier, and keeps its time
            self._cancel(key)
        self._add_work(key, node, created_ms, now_ms + stay_ms)

    def _add_work(self, key: str, node: str, created_ms: int, fire_ms: int) -> None:
        if not self.work.add_work(key, created_ms, fire_ms):
            return
        delay_ms = fire_ms - self.loop.clock.now_ms
        trace = self.loop.trace
        before = trace.current
        if delay_ms > 0:
            trace.emit("taint.schedule", LANE, resource="pods", key=key, node=node, delay_ms=delay_ms)
        self.queue.add_after(key, delay_ms)
        trace.current = before

    def _cancel(self, key: str) -> None:
        if self.work.cancel_work(key):
            self.loop.trace.emit("taint.cancel", LANE, resource="pods", key=key)
            self._event(key, f"Cancelling deletion of Pod {key}")

    # -- deletions ---------------------------------------------------------------------------------

    async def sync(self, key: str) -> None:
        """Delete the Pod if its time has come and nobody cancelled it."""
        wait_ms = self.work.due(key, self.loop.clock.now_ms)
        if wait_ms is None:
            return
        if wait_ms > 0:
            self.queue.add_after(key, wait_ms)
            return
        pod = self.pods.indexer.get(key)
        node = "" if pod is None else pod["spec"].get("nodeName", "")
        self.loop.trace.emit("taint.evict", LANE, resource="pods", key=key, node=node)
        self._event(key, f"Marking for deletion Pod {key}")
        try:
            await self._delete(key)
        finally:
            self.work.finished(key)

    async def _delete(self, key: str) -> None:
        """Five tries; then the Pod is left alone until something changes."""
        namespace, _, name = key.partition("/")
        for attempt in range(1, RETRIES + 1):
            try:
                await self._add_condition_and_delete(namespace, name)
                return
            except (StatusError, TimeoutError) as error:
                text, retry_ms = str(error)[:80], RETRY_MS if attempt < RETRIES else 0
                self.loop.trace.emit("sync.error", LANE, queue=self.queue.name, key=key, error=text, retry_ms=retry_ms)
                await sleep(RETRY_MS)

    async def _add_condition_and_delete(self, namespace: str, name: str) -> None:
        pod = await self.client.get(PODS, name, namespace)
        tracks = self.ctx.features.enabled("PodObservedGenerationTracking")
        condition = disruption_target(pod, rfc3339(self.loop.clock.now_ms), tracks)
        if condition is not None:
            patch = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": {"conditions": [condition]}}
            await self.client.patch(PODS, name, patch, namespace, subresource="status")
        await self.client.delete(PODS, name, namespace)

    def _event(self, key: str, message: str) -> None:
        namespace, _, name = key.partition("/")
        about = {"apiVersion": "v1", "kind": "Pod", "namespace": namespace, "name": name}
        self.recorder.event(about, "Normal", "TaintManagerEviction", message)

    def view(self) -> dict[str, Any]:
        """Tainted nodes and planned deletions."""
        return {"tainted_nodes": thaw(self.tainted_nodes), "work": self.work.view()}

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        self.work.check_invariants()
        assert all(self.tainted_nodes.values()), "a node without NoExecute taints is listed as tainted"


def disruption_target(pod: Object, now: str, with_generation: bool) -> dict[str, Any] | None:
    """The condition that says why the Pod goes; None if it has just this one already."""
    condition: dict[str, Any] = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "DeletionByTaintManager",
        "message": "Taint manager: deleting due to NoExecute taint",
    }
    if with_generation:
        condition["observedGeneration"] = pod["metadata"].get("generation", 0)
    present = get_condition(pod, "DisruptionTarget")
    if present is not None and all(present.get(field) == value for field, value in condition.items()):
        return None
    since = present.get("lastTransitionTime") if present is not None and present.get("status") == "True" else None
    return {**condition, "lastTransitionTime": since or now}


def _tolerations(pod: Object) -> list[Object]:
    return list(pod["spec"].get("tolerations") or ())
