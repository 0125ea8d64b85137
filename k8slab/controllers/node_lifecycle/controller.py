"""Watches over the nodes: who is silent becomes Unknown, is tainted, and its Pods are no longer ready.

    every 5 s    look at all nodes: conditions, NoExecute taint queues, Pods, zones
    every 100 ms take nodes from the queues of their zones and taint them NoExecute, as fast as the zone allows
    on a change  mirror the node's conditions as NoSchedule taints; mark Pods that land on a node that is not ready

Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go, pkg/controller/util/node/controller_utils.go
Simplified: all nodes that need a write are written at once (upstream: eight at a time); the 100 ms round sleeps while
nothing is queued; nodes and Pods share one queue; a failed NoSchedule taint is tried again at once (upstream: when the
node changes next); DaemonSets are not looked at (upstream waits for their cache and does not use it); no metrics.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Sequence
from typing import Any

import k8slab.controllers.lifecycle_kinds  # noqa: F401
from k8slab.api.errors import NotFoundError, StatusError
from k8slab.api.objects import Object, key_of
from k8slab.api.pods import get_condition
from k8slab.api.scheme import LEASES, NODES, PODS
from k8slab.api.times import rfc3339
from k8slab.api.tolerations import NO_SCHEDULE, taint_exists
from k8slab.client import WorkQueue, run_workers
from k8slab.controllers.context import ControllerContext
from k8slab.controllers.node_lifecycle.health import GracePeriods, NodeHealth, Observation, observe
from k8slab.controllers.node_lifecycle.labels import labels_to_update
from k8slab.controllers.node_lifecycle.rate_limited_queue import RateLimitedTimedQueue
from k8slab.controllers.node_lifecycle.zones import (
    Disruption,
    ZoneSettings,
    ZoneState,
    compute_zone_state,
    disruption,
    zone_key,
)
from k8slab.controllers.node_taints import (
    CONDITION_OF_TAINT,
    CONDITION_TO_TAINT,
    NOT_READY,
    UNREACHABLE,
    UNSCHEDULABLE,
    NodeTainter,
    taint_set_diff,
    taints_of,
)
from k8slab.controllers.parallel import call_all
from k8slab.controllers.pod_index import NODE_NAME, node_name_index
from k8slab.sim.loop import Waiters, pause, sleep

__all__ = ["NodeLifecycleController"]

LANE = "kcm/node-lifecycle"
SOURCE = "node-controller"
LEASE_NAMESPACE = "kube-node-lease"
NODE_EVICTION_PERIOD_MS = 100
NODE_HEALTH_UPDATE_RETRIES = 5
RETRY_SLEEP_MS = 20
WORKERS = 8
EXCLUDE_DISRUPTION = "node.kubernetes.io/exclude-disruption"


class NodeLifecycleController:
    """Options: node-monitor-period-ms (5,000), node-monitor-grace-period-ms (50,000), node-startup-grace-period-ms
    (60,000), node-eviction-rate (0.1), secondary-node-eviction-rate (0.01), unhealthy-zone-threshold (0.55),
    large-cluster-size-threshold (50)."""

    def __init__(self, ctx: ControllerContext) -> None:
        self.ctx = ctx
        self.loop = ctx.loop
        self.client = ctx.client
        self.recorder = ctx.recorder(SOURCE)
        self.tainter = NodeTainter(ctx.loop, ctx.client, LANE)
        self.period_ms = ctx.option("node-monitor-period-ms", 5_000)
        self.grace = GracePeriods(
            ctx.option("node-monitor-grace-period-ms", 50_000), ctx.option("node-startup-grace-period-ms", 60_000)
        )
        self.settings = ZoneSettings(
            float(ctx.options.get("node-eviction-rate", 0.1)),
            float(ctx.options.get("secondary-node-eviction-rate", 0.01)),
            float(ctx.options.get("unhealthy-zone-threshold", 0.55)),
            ctx.option("large-cluster-size-threshold", 50),
        )
        self.tracks_generation = ctx.features.enabled("PodObservedGenerationTracking")
        self.known_nodes: dict[str, Object] = {}
        self.health: dict[str, NodeHealth] = {}
        self.zone_states: dict[str, ZoneState] = {}
        self.tainters: dict[str, RateLimitedTimedQueue] = {}
        self.nodes_to_retry: dict[str, None] = {}
        self._tainting = Waiters(ctx.loop)
        self.queue = WorkQueue(ctx.loop, "node-lifecycle", lane=LANE)
        self._add_handlers()

    def _add_handlers(self) -> None:
        self.nodes = self.ctx.informers.informer(NODES)
        self.pods = self.ctx.informers.informer(PODS)
        self.leases = self.ctx.informers.informer(LEASES)
        self.pods.add_index(NODE_NAME, node_name_index)
        self.nodes.add_event_handler(
            on_add=lambda node, is_initial: self.queue.add(node["metadata"]["name"]),
            on_update=lambda old, new: self.queue.add(new["metadata"]["name"]),
            on_delete=self._node_deleted,
        )
        self.pods.add_event_handler(
            on_add=lambda pod, is_initial: self._pod_updated(None, pod), on_update=self._pod_updated
        )

    def _node_deleted(self, node: Object) -> None:
        self.nodes_to_retry.pop(node["metadata"]["name"], None)

    def start(self) -> None:
        """Start the workers and the two rounds."""
        component = self.ctx.component
        informers = (self.nodes, self.pods, self.leases)
        run_workers(component, self.queue, self.sync, WORKERS, LANE, informers=informers)
        component.spawn("node-lifecycle/tainting", self._run_tainting())
        component.spawn("node-lifecycle/monitor", self._run_monitor())

    # -- NoSchedule taints and labels, on every change of a node -------------------------------------

    async def sync(self, key: str) -> None:
        """`key` is a node's name, or `namespace/name` of a Pod."""
        await (self.sync_pod(key) if "/" in key else self.sync_node(key))

    async def sync_node(self, name: str) -> None:
        """Let the NoSchedule taints and the old labels of a node follow its conditions and its new labels."""
        node = self.nodes.indexer.get(name)
        if node is None:
            return
        to_add, to_remove = no_schedule_diff(node)
        if to_add or to_remove:
            await self.tainter.swap(node, to_add, to_remove)
        labels = labels_to_update(node)
        if labels:
            await self.client.patch(NODES, name, {"metadata": {"labels": labels}})

    # -- the monitor round ---------------------------------------------------------------------------

    async def _run_monitor(self) -> None:
        for informer in (self.leases, self.nodes, self.pods):
            await informer.wait_synced()
        while True:
            self.loop.trace.current = None
            await self.monitor_node_health()
            await sleep(self.period_ms, periodic=True)

    async def monitor_node_health(self) -> None:
        """One look at all nodes."""
        nodes = self.nodes.indexer.list()
        await self._register(nodes)
        zones: dict[str, list[bool]] = {}
        busy: list[tuple[Object, Observation]] = []
        for node in nodes:
            seen = self._observe(node)
            if self._is_quiet(node, seen):
                self._healthy(node, seen)
                _count(zones, node, seen.current)
            else:
                busy.append((node, seen))

        async def update(item: tuple[Object, Observation]) -> None:
            await self._update_node(*item, zones)

        for failure in await call_all(self.ctx.component, "node-lifecycle/node", update, busy):
            if failure is not None:
                self._failed("nodes", failure)
        await self._handle_disruption(zones, nodes)

    async def _register(self, nodes: Sequence[Object]) -> None:
        names = {node["metadata"]["name"]: node for node in nodes}
        for name, node in names.items():
            zone = zone_key(node)
            if zone not in self.zone_states:
                self.zone_states[zone] = ZoneState.INITIAL
                self.tainters[zone] = RateLimitedTimedQueue(self.settings.eviction_rate, self.loop.trace)
            if name not in self.known_nodes:
                self._node_event(node, "RegisteredNode", f"Node {name} event: Registered Node {name} in Controller")
                self.known_nodes[name] = node
                await self._try(name, self._mark_as_reachable(node))
        for name in [name for name in self.known_nodes if name not in names]:
            node = self.known_nodes.pop(name)
            self._node_event(node, "RemovingNode", f"Node {name} event: Removing Node {name} from Controller")

    def _observe(self, node: Object) -> Observation:
        name = node["metadata"]["name"]
        lease = self.leases.indexer.get(f"{LEASE_NAMESPACE}/{name}")
        return observe(node, lease, self.health.get(name), self.loop.clock.now_ms, self.grace)

    def _is_quiet(self, node: Object, seen: Observation) -> bool:
        """A ready node without a trace of trouble, or one that never said whether it is."""
        if seen.conditions is not None or node["metadata"]["name"] in self.nodes_to_retry:
            return False
        if seen.current is None:
            return True
        taints = taints_of(node)
        tainted = taint_exists(taints, UNREACHABLE) or taint_exists(taints, NOT_READY)
        return seen.current.get("status") == "True" and not tainted

    def _healthy(self, node: Object, seen: Observation) -> None:
        name = node["metadata"]["name"]
        self.health[name] = seen.health
        if seen.current is not None:
            self.tainters[zone_key(node)].remove(name)

    async def _update_node(self, node: Object, seen: Observation, zones: dict[str, list[bool]]) -> None:
        """All that one troubled node needs, in upstream's order."""
        node, seen = await self._write_health(node, seen)
        self._because_of(node)
        _count(zones, node, seen.current)
        name = node["metadata"]["name"]
        if seen.current is not None:
            # The condition as it is now decides: 1.36 taints 0.1 s after Unknown was written, not a round later.
            await self._try(name, self._process_taint_based_eviction(node, seen.current))
            turned = seen.current.get("status") != "True" and seen.observed.get("status") == "True"
            if turned:
                self._node_event(node, "NodeNotReady", f"Node {name} status is now: NodeNotReady")
            if turned or (name in self.nodes_to_retry and seen.observed.get("status") != "True"):
                pods = self.pods.indexer.by_index(NODE_NAME, name)
                if await self._mark_pods_not_ready(pods, name) is not None:
                    self.nodes_to_retry[name] = None
                    return
        self.nodes_to_retry.pop(name, None)

    def _because_of(self, node: Object) -> None:
        """A round has no cause, but what it does to a node it does because of the state that it found there."""
        revision = int(node["metadata"].get("resourceVersion") or 0)
        self.loop.trace.current = self.loop.trace.of_revision.get(revision)

    async def _write_health(self, node: Object, seen: Observation) -> tuple[Object, Observation]:
        """Write Unknown conditions if need be: five tries, each after the first with the node read anew."""
        name = node["metadata"]["name"]
        for attempt in range(1, NODE_HEALTH_UPDATE_RETRIES + 1):
            self.health[name] = seen.health
            if seen.conditions is None:
                break
            self.loop.trace.current = self.loop.trace.silenced.get(f"kubelet/{name}")
            self.loop.trace.emit("node.unknown", LANE, resource="nodes", key=name, silent_ms=seen.silent_ms)
            status = {**(node.get("status") or {}), "conditions": seen.conditions}
            try:
                node = await self.client.update_status(NODES, {**node, "status": status})
                self.health[name] = seen.after_write
                break
            except (StatusError, TimeoutError):
                if attempt == NODE_HEALTH_UPDATE_RETRIES:
                    raise
            await sleep(RETRY_SLEEP_MS)
            node = await self.client.get(NODES, name)
            seen = self._observe(node)
        return node, seen

    async def _process_taint_based_eviction(self, node: Object, ready: Object) -> None:
        """Swap one NoExecute taint for the other at once; a first one waits its turn in the zone's queue."""
        status = ready.get("status")
        if status == "True":
            await self._mark_as_reachable(node)
            return
        wanted, opposite = (NOT_READY, UNREACHABLE) if status == "False" else (UNREACHABLE, NOT_READY)
        if taint_exists(taints_of(node), opposite):
            await self.tainter.swap(node, [wanted], [opposite])
            return
        name, tainter = node["metadata"]["name"], self.tainters[zone_key(node)]
        if not taint_exists(taints_of(node), wanted):
            tainter.remove(name)
        if tainter.add(name, self.loop.clock.now_ms):
            self._tainting.wake()

    async def _mark_as_reachable(self, node: Object) -> None:
        await self.tainter.remove(node, [UNREACHABLE])
        await self.tainter.remove(node, [NOT_READY])
        self.tainters[zone_key(node)].remove(node["metadata"]["name"])

    # -- NoExecute taints, a few at a time -----------------------------------------------------------

    async def _run_tainting(self) -> None:
        for informer in (self.leases, self.nodes, self.pods):
            await informer.wait_synced()
        start_ms = self.loop.clock.now_ms
        while True:
            while not any(len(tainter) and tainter.qps > 0 for tainter in self.tainters.values()):
                await pause(self._tainting)
            elapsed_ms = (self.loop.clock.now_ms - start_ms) % NODE_EVICTION_PERIOD_MS
            await sleep(NODE_EVICTION_PERIOD_MS - elapsed_ms, periodic=True)
            for tainter in list(self.tainters.values()):
                await tainter.try_each(lambda: self.loop.clock.now_ms, self._taint_no_execute)

    async def _taint_no_execute(self, name: str) -> int | None:
        """Give a node the NoExecute taint that its Ready condition asks for. Milliseconds until the next try."""
        node = self.nodes.indexer.get(name)
        if node is None:
            return None
        ready = get_condition(node, "Ready")
        if ready is None:
            return 50
        if ready.get("status") == "True":
            return None
        wanted, opposite = (NOT_READY, UNREACHABLE) if ready.get("status") == "False" else (UNREACHABLE, NOT_READY)
        return None if await self._try(name, self.tainter.swap(node, [wanted], [opposite])) else 0

    # -- zones ---------------------------------------------------------------------------------------

    async def _handle_disruption(self, zones: dict[str, list[bool]], nodes: Sequence[Object]) -> None:
        new = {
            zone: compute_zone_state(sum(ready), len(ready) - sum(ready), self.settings)
            for zone, ready in zones.items()
        }
        self.zone_states = {zone: self.zone_states.get(zone, ZoneState.INITIAL) for zone in new}
        verdict = disruption(self.zone_states, new)
        if verdict is Disruption.NOTHING:
            return
        if verdict is Disruption.ENTER:
            for node in nodes:
                await self._try(node["metadata"]["name"], self._mark_as_reachable(node))
        elif verdict is Disruption.LEAVE:
            now_ms = self.loop.clock.now_ms
            for name, health in self.health.items():
                self.health[name] = NodeHealth(health.ready, now_ms, now_ms, health.renewed_ms)
        for zone, state in new.items():
            before = self.zone_states[zone]
            if state is before and verdict is Disruption.FOLLOW:
                continue
            qps = 0.0 if verdict is Disruption.ENTER else self.settings.qps(state, len(zones[zone]))
            if qps is not None:
                self.tainters[zone].swap_limiter(qps, self.loop.clock.now_ms)
            self.zone_states[zone] = state
            self.loop.trace.emit(
                "node.zone", LANE, zone=zone.replace(":\x00:", "/") or "(none)", before=before, after=state
            )
        self._tainting.wake()

    # -- Pods ----------------------------------------------------------------------------------------

    def _pod_updated(self, old: Object | None, new: Object) -> None:
        node = (new.get("spec") or {}).get("nodeName")
        if node and (old is None or (old.get("spec") or {}).get("nodeName") != node):
            health = self.health.get(node)
            if health is not None and health.ready is not None and health.ready.get("status") != "True":
                self.queue.add(key_of(new))

    async def sync_pod(self, key: str) -> None:
        """A Pod that was just bound: if its node is known not to be ready, neither is the Pod."""
        pod = self.pods.indexer.get(key)
        if pod is None:
            return
        node = pod["spec"].get("nodeName", "")
        health = self.health.get(node)
        if health is None or health.ready is None or health.ready.get("status") == "True":
            return
        failure = await self._mark_pods_not_ready([pod], node)
        if failure is not None:
            raise failure

    async def _mark_pods_not_ready(self, pods: Iterable[Object], node: str) -> StatusError | TimeoutError | None:
        """The last failure, None if every Pod could be marked; those that are gone count as marked."""
        failure: StatusError | TimeoutError | None = None
        for pod in pods:
            ready = get_condition(pod, "Ready")
            if ready is None or ready.get("status") == "False":
                continue
            self.loop.trace.emit("node.pod-not-ready", LANE, resource="pods", key=key_of(pod), node=node)
            try:
                now, tracks = rfc3339(self.loop.clock.now_ms), self.tracks_generation
                await self.client.update_status(PODS, not_ready(pod, now, tracks))
            except NotFoundError:
                continue
            except (StatusError, TimeoutError) as error:
                failure = error
                self._failed(key_of(pod), error)
            self.recorder.event(pod, "Warning", "NodeNotReady", "Node is not ready")
        return failure

    def _node_event(self, node: Object, reason: str, message: str) -> None:
        name, uid = node["metadata"]["name"], node["metadata"].get("uid", "")
        self.recorder.event({"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}, "Normal", reason, message)

    async def _try(self, key: str, call: Awaitable[None]) -> bool:
        """Whether the API call succeeded; if not, the next round sees the node again."""
        try:
            await call
        except (StatusError, TimeoutError) as error:
            self._failed(key, error)
            return False
        return True

    def _failed(self, key: str, error: Exception) -> None:
        trace = self.loop.trace
        trace.emit("sync.error", LANE, queue="node-lifecycle", key=key, error=str(error)[:80], retry_ms=self.period_ms)

    def view(self) -> dict[str, Any]:
        """Zones with their state and queue, and when each node was last heard of."""
        return {
            "zones": {
                zone: {"state": state, "qps": str(self.tainters[zone].qps), "queue": self.tainters[zone].view()}
                for zone, state in self.zone_states.items()
            },
            "heard_of_ms": {name: health.probe_ms for name, health in self.health.items()},
        }

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        for zone in self.zone_states:
            assert zone in self.tainters, f"zone {zone!r} has no queue"
        for tainter in self.tainters.values():
            tainter.check_invariants()


def no_schedule_diff(node: Object) -> tuple[list[Object], list[Object]]:
    """Which NoSchedule taints the node's conditions ask for and it lacks, and which it has without need."""
    wanted: list[Object] = []
    for condition in (node.get("status") or {}).get("conditions") or ():
        key = CONDITION_TO_TAINT.get(condition["type"], {}).get(condition.get("status"))
        if key is not None:
            wanted.append({"key": key, "effect": NO_SCHEDULE})
    if (node.get("spec") or {}).get("unschedulable"):
        wanted.append({"key": UNSCHEDULABLE, "effect": NO_SCHEDULE})
    present = [
        taint
        for taint in taints_of(node)
        if taint["effect"] == NO_SCHEDULE and (taint["key"] == UNSCHEDULABLE or taint["key"] in CONDITION_OF_TAINT)
    ]
    return taint_set_diff(wanted, present)


def not_ready(pod: Object, now: str, with_generation: bool) -> Object:
    """The Pod with its Ready condition False since `now`; reason and message stay as the kubelet left them."""
    generation = pod["metadata"].get("generation")
    changed: dict[str, Any] = {"status": "False", "lastTransitionTime": now}
    if with_generation and generation is not None:
        changed["observedGeneration"] = generation
    conditions = [
        {**condition, **changed} if condition["type"] == "Ready" else condition
        for condition in pod["status"]["conditions"]
    ]
    return {**pod, "status": {**pod["status"], "conditions": conditions}}


def _count(zones: dict[str, list[bool]], node: Object, ready: Object | None) -> None:
    if EXCLUDE_DISRUPTION not in (node["metadata"].get("labels") or {}):
        zones.setdefault(zone_key(node), []).append(ready is not None and ready.get("status") == "True")
