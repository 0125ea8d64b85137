"""A small cluster around Karpenter: applications that keep their replicas, a scheduler, kubelets that come up.

Pods are placed by the framework of `k8slab.scheduler`, with its default profile; machines come from
`k8slab.autoscaling. cloud`. `advance` goes from one due moment to the next.

Upstream: none; it stands for kube-scheduler, kubelets and ReplicaSets.
Simplified: no API server; a Pod runs at once where it is placed and ends at once when it is evicted; kubelets are ready
5 s after the boot; a device plugin registers its GPUs 20 s after that; start-up taints go after 10 s.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from k8slab.api.labels import selector_from_dict
from k8slab.api.objects import Object
from k8slab.api.pods import set_condition
from k8slab.api.times import rfc3339
from k8slab.api.tolerations import taint_exists
from k8slab.autoscaling.cloud import (
    Cloud,
    CloudTimings,
    InstanceBooted,
    InstanceShuttingDown,
    InstanceType,
    SpotInterruptionNotice,
    node_object,
)
from k8slab.autoscaling.karpenter.controller import Karpenter
from k8slab.autoscaling.karpenter.effects import DeletePod, EvictPod, Note, RemoveNode, WriteNode
from k8slab.autoscaling.karpenter.instance_types import Catalogue
from k8slab.autoscaling.karpenter.node_claim import UNREGISTERED_TAINT
from k8slab.autoscaling.karpenter.nodepool import NodePool
from k8slab.autoscaling.karpenter.state import ClusterState, StateNode
from k8slab.scheduler import Framework, Snapshot
from k8slab.scheduler.framework import is_extended_resource, labels_of, namespace_of, placed_on, pod_key

__all__ = ["PLUGIN_MS", "READY_MS", "STARTUP_TAINT_MS", "Happening", "SmallWorld"]

READY_MS = 5_000
PLUGIN_MS = 20_000
STARTUP_TAINT_MS = 10_000
_NOT_READY: Object = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}

Happening = Callable[[str, str, str], None]
"""Hears what happens: (kind, about, message). Kinds: decide, bind, wait, evict, node, cloud."""


class SmallWorld:
    """Applications by name, each with as many Pods as `scale` said; see the module.

    `types`: what the cloud sells. `timings`: as for `Cloud`, `spot_to_spot` and `disrupts` as for `Karpenter`. `pdbs`:
    their `disruptionsAllowed` is kept up to date from `minAvailable` or `maxUnavailable`, in numbers.
    """

    def __init__(
        self,
        pools: Iterable[Object],
        types: Sequence[InstanceType],
        *,
        seed: int | str = 7,
        daemons: Iterable[Object] = (),
        pdbs: Iterable[Object] = (),
        spot_to_spot: bool = False,
        disrupts: bool = True,
        timings: CloudTimings | None = None,
        tell: Happening | None = None,
    ) -> None:
        self.now_ms = 0
        self.cloud = Cloud(types, random.Random(f"{seed}/cloud"), timings=timings)
        self.state = ClusterState(map(NodePool.parse, pools), Catalogue(types), daemons=daemons)
        self._tell: Happening = tell or (lambda kind, about, message: None)
        self.karpenter = Karpenter(
            self.state, self.cloud, spot_to_spot=spot_to_spot, disrupts=disrupts, tell=self._decided
        )
        self.framework = Framework.from_profile()
        self.pods: dict[str, Object] = {}
        self._pdbs = list(pdbs)
        self._apps: dict[str, tuple[int, Object]] = {}
        self._numbers: dict[str, int] = {}
        self._due: list[tuple[int, int, Callable[[], None]]] = []
        self._order = 0

    # -- what a user does ---------------------------------------------------------------------------

    def scale(self, app: str, replicas: int, template: Object | None = None) -> None:
        """So many Pods of the application from now on; `template` is their manifest, needed the first time."""
        known = self._apps.get(app)
        if template is None and known is None:
            raise ValueError(f"app {app!r}: not known, expected a template")
        if replicas < 0:
            raise ValueError(f"app {app}: replicas {replicas}: expected 0 or more")
        self._apps[app] = (replicas, template if template is not None else known[1])  # type: ignore[index]
        self._keep_replicas(app)

    def knows(self, app: str) -> bool:
        """Whether `scale` was told what its Pods are."""
        return app in self._apps

    def _of_app(self, app: str) -> list[str]:
        return [key for key, pod in self.pods.items() if _app_of(pod) == app]

    def _keep_replicas(self, app: str) -> None:
        replicas, template = self._apps[app]
        there = self._of_app(app)
        waiting_first = sorted(there, key=lambda key: (bool(self.pods[key]["spec"].get("nodeName")), key))
        for key in waiting_first[: max(len(there) - replicas, 0)]:
            self._remove(key)
        for _ in range(replicas - len(there)):
            self._numbers[app] = self._numbers.get(app, 0) + 1
            self._put(self._made(app, self._numbers[app], template))

    def _made(self, app: str, number: int, template: Object) -> Object:
        metadata = {
            "namespace": "default",
            **(template.get("metadata") or {}),
            "name": f"{app}-{number}",
            "uid": f"uid-{app}-{number}",
            "labels": {"app": app, **labels_of(template)},
            "creationTimestamp": rfc3339(self.now_ms),
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "controller": True}],
        }
        return {"metadata": metadata, "spec": template["spec"], "status": {"phase": "Pending"}}

    # -- Pods ---------------------------------------------------------------------------------------

    def _put(self, pod: Object) -> None:
        self.pods[pod_key(pod)] = pod
        self.state.add_pod(pod)

    def _remove(self, key: str) -> None:
        pod = self.pods.pop(key)
        node = self.state.node_of(key)
        self.state.remove_pod(key)
        self._touch(node)
        if pod["spec"].get("nodeName"):
            self._update_budgets()

    def _touch(self, node: StateNode | None) -> None:
        """A Pod came or went: consolidateAfter starts anew."""
        if node is not None and node.claim is not None:
            node.claim.last_pod_event_ms = self.now_ms

    def _update_budgets(self) -> None:
        self.state.set_pdbs([{**pdb, "status": {"disruptionsAllowed": self._allowed(pdb)}} for pdb in self._pdbs])

    def _allowed(self, pdb: Object) -> int:
        selector = selector_from_dict(pdb["spec"].get("selector"))
        chosen = [
            pod
            for pod in self.pods.values()
            if namespace_of(pod) == namespace_of(pdb) and selector.matches(labels_of(pod))
        ]
        healthy = sum(1 for pod in chosen if pod["spec"].get("nodeName"))
        least, most = pdb["spec"].get("minAvailable"), pdb["spec"].get("maxUnavailable")
        if least is None:
            least = len(chosen) - (most or 0)  # a budget that names neither allows nothing, as upstream's
        return max(healthy - int(least), 0)

    def _schedule(self) -> bool:
        """Try every Pod that waits; whether one was placed."""
        if not self.state.waiting:
            return False
        nodes = [one.node for one in self.state.nodes.values() if one.node is not None]
        running = [info.pod for one in self.state.nodes.values() for info in one.pods.values()]
        snapshot = Snapshot.of(nodes, running, check=False)
        placed = False
        for key in sorted(self.state.waiting, key=_number):
            pod = self.pods[key]
            result = self.framework.schedule(pod, snapshot)
            if result.node:
                snapshot.assume(placed_on(pod, result.node), result.node)
                self._run(pod, result.node)
                placed = True
            elif "conditions" not in pod["status"]:
                self._wait(pod, result.message)
        if placed:
            self._update_budgets()
        return placed

    def _run(self, pod: Object, node: str) -> None:
        self._tell("bind", pod["metadata"]["name"], node)
        status = {"phase": "Running", "startTime": rfc3339(self.now_ms)}
        self._put({**placed_on(pod, node), "status": status})
        self._touch(self.state.nodes[node])

    def _wait(self, pod: Object, message: str) -> None:
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        self._tell("wait", pod["metadata"]["name"], message)
        self._put({**pod, "status": {**pod["status"], "conditions": set_condition([], condition)}})

    # -- nodes --------------------------------------------------------------------------------------

    def _later(self, span_ms: int, action: Callable[[], None]) -> None:
        self._order += 1
        heapq.heappush(self._due, (self.now_ms + span_ms, self._order, action))

    def _booted(self, instance_id: str) -> None:
        instance = self.cloud.instances[instance_id]
        claim = instance.tags["karpenter.sh/nodeclaim"]
        taints = (UNREGISTERED_TAINT, _NOT_READY)
        made = node_object(
            claim, instance.instance_type, instance.zone, taints=taints, provider_id=instance.provider_id
        )
        allocatable = dict(made["status"]["allocatable"])
        devices = {name: allocatable.pop(name) for name in list(allocatable) if is_extended_resource(name)}
        not_ready = [{"type": "Ready", "status": "False", "reason": "KubeletNotReady"}]
        status = {**made["status"], "allocatable": allocatable, "conditions": not_ready}
        self._tell("node", claim, "has joined, and is not ready yet")
        self.karpenter.joined(claim, {**made, "status": status})
        self._later(READY_MS, lambda: self._ready(claim))
        self._later(READY_MS + STARTUP_TAINT_MS, lambda: self._drop_startup_taints(claim))
        if devices:
            self._later(READY_MS + PLUGIN_MS, lambda: self._register_devices(claim, devices))

    def _change(self, claim: str, change: Callable[[Object, StateNode], Object], what: str) -> None:
        node = self.state.nodes.get(claim)
        if node is not None and node.node is not None:
            self._tell("node", claim, what)
            self.karpenter.joined(claim, change(node.node, node))

    def _ready(self, claim: str) -> None:
        def ready(node: Object, _: StateNode) -> Object:
            taints = [one for one in node["spec"].get("taints") or () if not taint_exists((_NOT_READY,), one)]
            conditions = [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]
            return {
                **node,
                "spec": {**node["spec"], "taints": taints},
                "status": {**node["status"], "conditions": conditions},
            }

        self._change(claim, ready, "is ready")

    def _drop_startup_taints(self, claim: str) -> None:
        def drop(node: Object, known: StateNode) -> Object:
            startup = known.claim.startup_taints if known.claim is not None else ()
            taints = [one for one in node["spec"].get("taints") or () if not taint_exists(startup, one)]
            return {**node, "spec": {**node["spec"], "taints": taints}}

        node = self.state.nodes.get(claim)
        if node is not None and node.claim is not None and node.claim.startup_taints:
            self._change(claim, drop, "has lost its start-up taints")

    def _register_devices(self, claim: str, devices: Mapping[str, str]) -> None:
        def register(node: Object, _: StateNode) -> Object:
            status: Mapping[str, Any] = node["status"]
            return {**node, "status": {**status, "allocatable": {**status["allocatable"], **devices}}}

        self._change(claim, register, f"has registered {', '.join(devices)}")

    def _gone(self, name: str) -> None:
        """Nothing runs on the node any more: its Pods' owners make others."""
        for key in [key for key, pod in self.pods.items() if pod["spec"].get("nodeName") == name]:
            self._replace(key)

    def _replace(self, key: str) -> None:
        app = _app_of(self.pods[key])
        self._remove(key)
        self._keep_replicas(app)

    # -- time ---------------------------------------------------------------------------------------

    def next_due_ms(self) -> int:
        due = [self.karpenter.next_due_ms(self.now_ms)]
        due += [at for at in (self.cloud.next_due_ms(),) if at is not None]
        due += [self._due[0][0]] if self._due else []
        return max(min(due), self.now_ms)

    def run(self, for_ms: int) -> None:
        """Let so much time pass."""
        until_ms = self.now_ms + for_ms
        self.settle()
        while self.next_due_ms() <= until_ms:
            self.advance()
        self.now_ms = until_ms

    def advance(self) -> None:
        """Go to the next due moment, and do what is due."""
        self.now_ms = self.next_due_ms()
        self.settle()

    def settle(self) -> None:
        """Do what is due now: the cloud, the kubelets, the scheduler, Karpenter, and the scheduler again."""
        for event in self.cloud.step(self.now_ms):
            match event:
                case InstanceBooted():
                    self._booted(event.instance)
                case SpotInterruptionNotice():
                    self._tell("cloud", event.instance, "will be taken back in two minutes")
                    self.karpenter.interrupted(event, self.now_ms)
                case InstanceShuttingDown() if event.reason != "user":
                    self._gone(self.cloud.instances[event.instance].tags["karpenter.sh/nodeclaim"])
        while self._due and self._due[0][0] <= self.now_ms:
            heapq.heappop(self._due)[2]()
        self._schedule()
        for effect in self.karpenter.step(self.now_ms):
            self._carry_out(effect)
        self._schedule()

    def _decided(self, note: Note) -> None:
        self._tell("decide", note.about, f"{note.reason}: {note.message}")

    def _carry_out(self, effect: object) -> None:
        match effect:
            case EvictPod():
                pod = self.pods[effect.key]
                if not self.state.limits.why_not([pod], self.now_ms):
                    self._tell("evict", pod["metadata"]["name"], effect.node)
                    self._replace(effect.key)
            case DeletePod():
                self._tell("evict", self.pods[effect.key]["metadata"]["name"], effect.node)
                self._replace(effect.key)
            case RemoveNode():
                self._tell("node", effect.name, "is gone")
                self._gone(effect.name)
            case WriteNode() | Note():
                pass  # `state` holds the Nodes, and Karpenter has written there; notes were heard

    @property
    def price_micros(self) -> int:
        """What the live instances cost an hour."""
        return sum(one.price_micros for one in self.cloud.live())


def _app_of(pod: Object) -> str:
    owner: str = pod["metadata"]["ownerReferences"][0]["name"]
    return owner


def _number(key: str) -> tuple[str, int]:
    name, _, number = key.rpartition("-")
    return name, int(number) if number.isdecimal() else 0
