"""Deletes Pods that nobody else will: on nodes that are gone, never scheduled, or finished and too many.

A node that vanishes takes its kubelet along, and only a kubelet ends a graceful deletion; its Pods would stay for ever.

Upstream: pkg/controller/podgc/gc_controller.go
Simplified: Pods are deleted one after the other; the quarantine of a missing node is kept in a dict, not in a queue.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import k8slab.controllers.lifecycle_kinds  # noqa: F401
from k8slab.api.errors import NotFoundError, StatusError
from k8slab.api.objects import Object, key_of
from k8slab.api.pods import get_condition, is_pod_terminal, pod_phase
from k8slab.api.scheme import NODES, PODS
from k8slab.api.times import rfc3339
from k8slab.controllers.context import ControllerContext
from k8slab.controllers.node_taints import taints_of
from k8slab.sim.loop import sleep

__all__ = ["PodGCController", "on_out_of_service_nodes", "terminated_beyond", "unscheduled_terminating"]

LANE = "kcm/podgc"
CHECK_PERIOD_MS = 20_000
QUARANTINE_MS = 40_000
OUT_OF_SERVICE = "node.kubernetes.io/out-of-service"
NODE_GONE = {"reason": "DeletionByPodGC", "message": "PodGC: node no longer exists"}


class PodGCController:
    """Option `terminated-pod-gc-threshold` (12,500; 0: finished Pods stay)."""

    def __init__(self, ctx: ControllerContext) -> None:
        self.ctx = ctx
        self.loop = ctx.loop
        self.client = ctx.client
        self.threshold = ctx.option("terminated-pod-gc-threshold", 12_500)
        self.pods = ctx.informers.informer(PODS)
        self.nodes = ctx.informers.informer(NODES)
        self.quarantine: dict[str, int] = {}

    def start(self) -> None:
        """Start the round."""
        self.ctx.component.spawn("podgc/round", self._run())

    async def _run(self) -> None:
        for informer in (self.pods, self.nodes):
            await informer.wait_synced()
        while True:
            self.loop.trace.current = None
            await self.gc()
            await sleep(CHECK_PERIOD_MS, periodic=True)

    async def gc(self) -> None:
        """One round: finished Pods beyond the threshold, Pods of nodes out of service, of missing nodes, of none."""
        pods = self.pods.indexer.list()
        nodes = {node["metadata"]["name"]: node for node in self.nodes.indexer.list()}
        if self.threshold > 0:
            await self._delete_all(terminated_beyond(pods, self.threshold), "it ended, and too many did")
        await self._delete_all(on_out_of_service_nodes(pods, nodes), "its node is out of service")
        gone = await self._deleted_nodes(pods, nodes)
        orphans = [pod for pod in pods if pod["spec"].get("nodeName") in gone]
        await self._delete_all(orphans, "its node no longer exists", NODE_GONE)
        await self._delete_all(unscheduled_terminating(pods), "it is being deleted and was never scheduled")

    async def _deleted_nodes(self, pods: Iterable[Object], nodes: dict[str, Object]) -> dict[str, None]:
        """Nodes that Pods name, that were missing for the quarantine, and that the API server does not have."""
        now_ms = self.loop.clock.now_ms
        missing = dict.fromkeys(pod["spec"].get("nodeName") for pod in pods if pod["spec"].get("nodeName"))
        for name in missing:
            if name not in nodes:
                self.quarantine.setdefault(name, now_ms + QUARANTINE_MS)
        gone: dict[str, None] = {}
        for name in [name for name, until_ms in self.quarantine.items() if until_ms <= now_ms]:
            del self.quarantine[name]
            if name in nodes:
                continue
            try:
                await self.client.get(NODES, name)
            except NotFoundError:
                gone[name] = None
            except (StatusError, TimeoutError) as error:
                self._failed(name, error)
        return gone

    async def _delete_all(self, pods: Iterable[Object], why: str, condition: dict[str, str] | None = None) -> None:
        for pod in pods:
            self.loop.trace.emit("podgc.delete", LANE, resource="pods", key=key_of(pod), why=why)
            try:
                await self._mark_failed_and_delete(pod, condition)
            except NotFoundError:
                continue
            except (StatusError, TimeoutError) as error:
                self._failed(key_of(pod), error)

    async def _mark_failed_and_delete(self, pod: Object, condition: dict[str, str] | None) -> None:
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        if not is_pod_terminal(pod):
            status: dict[str, Any] = {"phase": "Failed"}
            if condition is not None:
                generation = pod["metadata"].get("generation", 0)
                now = rfc3339(self.loop.clock.now_ms)
                base: dict[str, Any] = {"type": "DisruptionTarget", "status": "True"}
                if self.ctx.features.enabled("PodObservedGenerationTracking"):
                    base["observedGeneration"] = generation
                status["conditions"] = [{**base, **condition, "lastTransitionTime": now}]
            patch = {"metadata": {"uid": pod["metadata"]["uid"]}, "status": status}
            await self.client.patch(PODS, name, patch, namespace, subresource="status")
        await self.client.delete(PODS, name, namespace, grace_period_seconds=0)

    def _failed(self, key: str, error: Exception) -> None:
        text = str(error)[:80]
        self.loop.trace.emit("sync.error", LANE, queue="podgc", key=key, error=text, retry_ms=CHECK_PERIOD_MS)


def terminated_beyond(pods: Iterable[Object], threshold: int) -> list[Object]:
    """Finished Pods beyond the threshold: evicted ones first, then the oldest."""
    ended = [pod for pod in pods if pod_phase(pod) not in ("", "Pending", "Running", "Unknown")]
    ended.sort(key=_by_eviction_and_age)
    return ended[: max(0, len(ended) - threshold)]


def on_out_of_service_nodes(pods: Iterable[Object], nodes: dict[str, Object]) -> list[Object]:
    """Terminating Pods on nodes that are not ready and have the out-of-service taint."""
    found = []
    for pod in pods:
        node = nodes.get(pod["spec"].get("nodeName") or "")
        if node is None or pod["metadata"].get("deletionTimestamp") is None:
            continue
        ready = get_condition(node, "Ready")
        is_ready = ready is not None and ready.get("status") == "True"
        if not is_ready and any(taint["key"] == OUT_OF_SERVICE for taint in taints_of(node)):
            found.append(pod)
    return sorted(found, key=_by_eviction_and_age)


def unscheduled_terminating(pods: Iterable[Object]) -> list[Object]:
    """Terminating Pods without a node."""
    return [
        pod for pod in pods if pod["metadata"].get("deletionTimestamp") is not None and not pod["spec"].get("nodeName")
    ]


def _by_eviction_and_age(pod: Object) -> tuple[bool, str, str]:
    is_evicted = pod_phase(pod) == "Failed" and (pod.get("status") or {}).get("reason") == "Evicted"
    return (not is_evicted, pod["metadata"].get("creationTimestamp", ""), pod["metadata"]["name"])
