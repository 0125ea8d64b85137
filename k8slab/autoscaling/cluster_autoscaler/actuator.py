"""Removes Nodes: taint and cordon, wait, drain, give the machine back. What fails is undone.

All Nodes that go together are tainted before the first is drained, so that no Pod moves from one to the other. A drain
asks for each Pod's eviction until it is granted, for two minutes; then it waits for the Pods to be gone.

Upstream: cluster-autoscaler/core/scaledown/actuation (actuator.go, drain.go, delete_in_batch.go),
utils/taints/taints.go
Simplified: one group of Pods (upstream can drain by priority), no batches, no delay-deletion annotations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from k8slab.api.errors import ConflictError, NotFoundError, StatusError
from k8slab.api.objects import Object
from k8slab.api.scheme import NODES, PODS
from k8slab.autoscaling.cluster_autoscaler.drainability import DrainContext, PodMoveInfo, pods_to_move
from k8slab.autoscaling.cluster_autoscaler.node_groups import CloudProviderError
from k8slab.autoscaling.cluster_autoscaler.node_state import (
    DELETION_CANDIDATE_TAINT,
    TO_BE_DELETED_TAINT,
    provider_id,
    unix_seconds,
)
from k8slab.autoscaling.cluster_autoscaler.pod_state import annotation, is_expendable
from k8slab.autoscaling.cluster_autoscaler.static_autoscaler import StaticAutoscaler
from k8slab.autoscaling.cluster_autoscaler.view import StartDeletion
from k8slab.client import Client, EventRecorder, SharedInformer
from k8slab.scheduler import PodInfo
from k8slab.sim.component import Component
from k8slab.sim.loop import Loop, sleep

__all__ = ["Actuator"]

ENABLE_DS_EVICTION = "cluster-autoscaler.kubernetes.io/enable-ds-eviction"
_EVICTION_RETRY_MS = 10_000
_HEADROOM_MS = 30_000
_POLL_MS = 5_000
_CONFLICT_MS = 750
_TAINT_DEADLINE_MS = 5_000
_DEFAULT_GRACE_SECONDS = 30

_Refused = (StatusError, TimeoutError)


class _DrainError(Exception):
    """The Node stays; the text says why."""


class Actuator:
    """The deleting hand of one autoscaler process. `context` gives the rules with the caches as they are now."""

    def __init__(
        self,
        loop: Loop,
        component: Component,
        client: Client,
        mind: StaticAutoscaler,
        recorder: EventRecorder,
        *,
        nodes: SharedInformer,
        pods: SharedInformer,
        context: Callable[[], DrainContext],
        status_event: Callable[[str, str, str], None],
    ) -> None:
        self._loop, self._component, self._client = loop, component, client
        self._mind, self._recorder = mind, recorder
        self._nodes, self._pods = nodes, pods
        self._context, self._status_event = context, status_event

    # -- one deletion -------------------------------------------------------------------------------

    async def start(self, deletion: StartDeletion) -> None:
        """Taint all Nodes; then the rest goes on by itself, a task for each."""
        tainted, failed = list[str](), False
        for name in deletion.nodes:
            try:
                await self._mark(name)
                tainted.append(name)
                self._say(name, "Normal", "ScaleDown", "marked the node as toBeDeleted/unschedulable")
            except _Refused as error:
                failed = True
                text = f"failed to mark the node as toBeDeleted/unschedulable: {error}"
                self._say(name, "Warning", "ScaleDownFailed", text)
                break
        if failed:
            for name in tainted:
                await self._clean(name)
            for name in deletion.nodes:
                self._mind.deletion_ended(name, ok=False, now_ms=self._loop.clock.now_ms)
            return
        for name in deletion.nodes:
            self._component.spawn(f"delete/{name}", self._delete(name, deletion.group, drain=deletion.drain))

    async def _delete(self, name: str, group: str, *, drain: bool) -> None:
        await sleep(self._mind.options.node_delete_delay_after_taint_ms)
        node = self._nodes.indexer.get(name)
        try:
            if node is None:
                raise _DrainError(f"nodeInfos.Get for {name} returned error: node not found")
            moves = self._moves(name)
            if drain:
                await self._drain(name, moves)
            else:
                self._check_empty(name, moves)
                await self._evict_all(self._daemons(moves, empty=True), 0)
            self._give_back(node, group)
        except _DrainError as error:
            await self._fail(name, str(error), drain)
            return
        trace = self._loop.trace
        trace.emit("ca.deleted", self._component.name, resource="nodes", key=name, group=group)
        self._say(name, "Normal", "ScaleDown", "nodes removed by cluster autoscaler")
        if drain:
            self._status_event("Normal", "ScaleDown", f"Scale-down: node {name} removed with drain")
        else:
            self._status_event("Normal", "ScaleDownEmpty", f"Scale-down: empty node {name} removed")
        self._mind.deletion_ended(name, ok=True, now_ms=self._loop.clock.now_ms)

    async def _fail(self, name: str, why: str, drain: bool) -> None:
        what = "failed to drain and delete node" if drain else "failed to delete empty node"
        self._say(name, "Warning", "ScaleDownFailed", f"{what}: {why}")
        self._loop.trace.emit("ca.delete-failed", self._component.name, resource="nodes", key=name, why=why[:60])
        await self._clean(name)
        self._mind.deletion_ended(name, ok=False, now_ms=self._loop.clock.now_ms)

    def _give_back(self, node: Object, group: str) -> None:
        try:
            self._mind.groups.delete_nodes(group, [provider_id(node)], self._loop.clock.now_ms)
        except CloudProviderError as error:
            raise _DrainError(f"failed to delete nodes from group {group}: {error}") from None

    # -- Pods ---------------------------------------------------------------------------------------

    def _moves(self, name: str) -> PodMoveInfo:
        """The Pods of the Node, judged once more: things may have changed since it was planned."""
        cutoff = self._mind.options.expendable_pods_priority_cutoff
        pods = [
            PodInfo(pod)
            for pod in self._pods.indexer.list()
            if pod["spec"].get("nodeName") == name
            and (pod.get("status") or {}).get("phase") not in ("Succeeded", "Failed")
            and not is_expendable(pod, cutoff)
        ]
        moves = pods_to_move(pods, self._context())
        if moves.blocking is not None:
            raise _DrainError(f'GetPodsToMove for "{name}" returned error: {moves.blocking.message}')
        return moves

    def _check_empty(self, name: str, moves: PodMoveInfo) -> None:
        if moves.pods:
            raise _DrainError(f'failed to delete empty node "{name}", new pods scheduled')
        if moves.on_completion_pods:
            raise _DrainError(f'failed to delete empty node "{name}", active on-completion pods present')

    def _daemons(self, moves: PodMoveInfo, *, empty: bool) -> list[PodInfo]:
        """The DaemonSets' Pods that are evicted, too: as their annotation says, else as the flag."""
        options = self._mind.options
        default = options.daemonset_eviction_for_empty_nodes if empty else options.daemonset_eviction_for_occupied_nodes
        said = ((pod, annotation(pod.pod, ENABLE_DS_EVICTION)) for pod in moves.daemon_set_pods)
        return [pod for pod, word in said if (word == "true" if word else default)]

    async def _drain(self, name: str, moves: PodMoveInfo) -> None:
        options = self._mind.options
        errors = await self._evict_all(moves.pods, options.max_pod_eviction_time_ms)
        await self._evict_all(self._daemons(moves, empty=False), 0)
        if errors:
            raise _DrainError(f"Failed to drain node /{name}, due to following errors: [{' '.join(errors)}]")
        deadline = self._loop.clock.now_ms + options.max_graceful_termination_sec * 1_000 + _HEADROOM_MS
        waiting = list(moves.pods)
        while True:
            waiting = [pod for pod in waiting if await self._is_still_there(pod, name)]
            if not waiting:
                return
            if self._loop.clock.now_ms >= deadline:
                raise _DrainError(f"Failed to drain node /{name}: pods remaining after timeout")
            await sleep(_POLL_MS)

    async def _is_still_there(self, pod: PodInfo, node_name: str) -> bool:
        try:
            found = await self._client.get(PODS, pod.pod["metadata"]["name"], pod.namespace)
        except NotFoundError:
            return False
        except _Refused:
            return True
        return bool(found["spec"].get("nodeName") == node_name)

    async def _evict_all(self, pods: Sequence[PodInfo], for_ms: int) -> list[str]:
        """Ask for each Pod's eviction, again every 10 s for `for_ms`; returns upstream's errors of what is refused."""
        last: dict[str, str] = {}
        waiting = list(pods)
        until = self._loop.clock.now_ms + for_ms
        for pod in waiting:
            self._recorder.event(pod.pod, "Normal", "ScaleDown", "deleting pod for node scale down")
        while waiting:
            left = []
            for pod in waiting:
                error = await self._evict(pod)
                if error:
                    left.append(pod)
                    last[pod.key] = error
            waiting = left
            if not waiting or self._loop.clock.now_ms + _EVICTION_RETRY_MS >= until:
                break
            await sleep(_EVICTION_RETRY_MS)
        if for_ms:
            for pod in waiting:
                self._recorder.event(pod.pod, "Warning", "ScaleDownFailed", "failed to delete pod for ScaleDown")
        template = "failed to evict pod {} within allowed timeout (last error: {})"
        return [template.format(pod.key, last[pod.key]) for pod in waiting]

    async def _evict(self, pod: PodInfo) -> str:
        """Why the eviction was refused; "": it was granted, or the Pod is gone."""
        grace = pod.pod["spec"].get("terminationGracePeriodSeconds")
        wanted = _DEFAULT_GRACE_SECONDS if grace is None else grace
        seconds = min(wanted, self._mind.options.max_graceful_termination_sec)
        name = pod.pod["metadata"]["name"]
        eviction = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": name, "namespace": pod.namespace},
            "deleteOptions": {"gracePeriodSeconds": seconds},
        }
        self._loop.trace.emit("ca.evict", self._component.name, resource="pods", key=pod.key)
        try:
            await self._client.create_subresource(PODS, pod.namespace, name, "eviction", eviction)
        except _Refused as error:
            if not isinstance(error, NotFoundError):  # one that is gone already is as good as evicted
                return str(error)
        self._mind.tracker.register_eviction(pod, self._loop.clock.now_ms)
        return ""

    # -- taints -------------------------------------------------------------------------------------

    async def _mark(self, name: str) -> None:
        value = str(unix_seconds(self._loop.clock.now_ms))
        taint = {"key": TO_BE_DELETED_TAINT, "value": value, "effect": "NoSchedule"}
        cordon = True if self._mind.options.cordon_node_before_terminating else None
        await self._change(name, lambda taints: [*_without(taints, TO_BE_DELETED_TAINT), taint], cordon)

    async def _clean(self, name: str) -> None:
        """Take the mark off again; a Node that is gone has none."""
        cordon = False if self._mind.options.cordon_node_before_terminating else None
        try:
            await self._change(name, lambda taints: _without(taints, TO_BE_DELETED_TAINT), cordon)
        except _Refused as error:
            self._say(name, "Warning", "ScaleDownFailed", f"failed to remove the taint: {error}")

    async def set_soft_taint(self, name: str, add: bool) -> None:
        """PreferNoSchedule for a Node that will probably go, or no longer."""
        taint = {
            "key": DELETION_CANDIDATE_TAINT,
            "value": str(unix_seconds(self._loop.clock.now_ms)),
            "effect": "PreferNoSchedule",
        }
        more = [taint] if add else []
        try:
            await self._change(name, lambda taints: [*_without(taints, DELETION_CANDIDATE_TAINT), *more], None)
        except _Refused:
            return  # the next loop sees what is there, and tries again

    async def clean_up(self) -> None:
        """At the start of a new life: nobody remembers the deletions and the candidates of the one before."""
        for node in self._nodes.indexer.list():
            keys = [taint["key"] for taint in (node.get("spec") or {}).get("taints") or ()]
            name = node["metadata"]["name"]
            if TO_BE_DELETED_TAINT in keys:
                await self._clean(name)
            if DELETION_CANDIDATE_TAINT in keys:
                await self.set_soft_taint(name, False)

    async def _change(self, name: str, change: Callable[[Sequence[Any]], list[Any]], cordon: bool | None) -> None:
        """Change a Node's taints, again after conflicts, for five seconds. A Node that is gone needs no change."""
        deadline = self._loop.clock.now_ms + _TAINT_DEADLINE_MS
        while True:
            try:
                node = await self._client.get(NODES, name)
                spec = dict(node["spec"])
                spec["taints"] = change(spec.get("taints") or ())
                if cordon is not None:
                    spec["unschedulable"] = cordon
                await self._client.update(NODES, {**node, "spec": spec})
                return
            except NotFoundError:
                return
            except (ConflictError, TimeoutError):
                if self._loop.clock.now_ms >= deadline:
                    raise
            await sleep(_CONFLICT_MS)

    def _say(self, name: str, type: str, reason: str, message: str) -> None:
        node = self._nodes.indexer.get(name)
        if node is not None:
            self._recorder.event(node, type, reason, message)


def _without(taints: Sequence[Any], key: str) -> list[Any]:
    return [taint for taint in taints if taint["key"] != key]
