"""A controller manager over the fake API server, and Pods that start by themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object, thaw
from k8slab.api.scheme import DEPLOYMENTS, EVENTS, PODS, REPLICASETS
from k8slab.api.times import rfc3339
from k8slab.api.transport import StreamClosedError
from k8slab.client import Client, SharedInformerFactory
from k8slab.controllers import REGISTRY, ControllerContext
from k8slab.sim.component import Component
from k8slab.sim.loop import Loop
from k8slab.sim.order import Order
from tests.fakes import FakeTransport

WORKLOADS = ("deployment-controller", "replicaset-controller")


def deployment(name: str = "web", replicas: int = 3, image: str = "web:1", **spec: Any) -> dict[str, Any]:
    """As the API server has defaulted it."""
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}}
    return {
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "strategy": rolling,
            "revisionHistoryLimit": 10,
            "progressDeadlineSeconds": 600,
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "c", "image": image}]},
            },
            **spec,
        },
        "status": {},
    }


def replica_set(name: str = "web-1", replicas: int = 3, **spec: Any) -> dict[str, Any]:
    labels = {"app": "web"}
    return {
        "metadata": {"name": name, "namespace": "default", "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "web:1"}]}},
            **spec,
        },
        "status": {"replicas": 0},
    }


class World:
    """`start_ms`: how long a Pod takes to become ready, None: never (or those whose image contains "broken")."""

    def __init__(
        self,
        controllers: tuple[str, ...] = WORKLOADS,
        *,
        seed: int = 7,
        latency_ms: int = 1,
        start_ms: int | None = 150,
        order: Order | None = None,
        features: Mapping[str, bool] | None = None,
        options: Mapping[str, Any] | None = None,
        release: str = "1.36",
        graceful_pods: bool = False,
    ) -> None:
        self.loop = Loop(seed, order=order)
        self.transport = FakeTransport(self.loop, latency_ms=latency_ms, graceful_pods=graceful_pods)
        self.features = FeatureGates(release, features or {})
        self.options = options or {}
        self.names = controllers
        self.start_manager()
        self.start_ms = start_ms
        self._seen: set[str] = set()
        self.loop.spawn("world/kubelet", self._kubelet())

    def start_manager(self) -> None:
        """Start a controller manager (after a crash: another one)."""
        self.component = Component(self.loop, "kcm")
        client = Client(self.transport)
        informers = SharedInformerFactory(self.loop, self.component, client)
        ctx = ControllerContext(self.loop, self.component, client, informers, self.features, self.options)
        self.controllers: dict[str, Any] = {name: REGISTRY[name](ctx) for name in self.names}
        informers.start()
        for controller in self.controllers.values():
            controller.start()

    def run(self, ms: int = 2000) -> None:
        self.loop.run(for_ms=ms)

    def close(self) -> None:
        self.component.kill()
        self.loop.close()

    # -- Pods ------------------------------------------------------------------------------------------

    async def _kubelet(self) -> None:
        """Starts Pods some time after it first saw them."""
        while True:
            stream = await Client(self.transport).watch(PODS)
            try:
                while True:
                    self._start((await stream.next()).object)
            except StreamClosedError:
                continue

    def _start(self, pod: Object) -> None:
        uid = pod["metadata"]["uid"]
        broken = "broken" in pod["spec"]["containers"][0]["image"]
        if uid not in self._seen and not pod.get("status") and self.start_ms is not None and not broken:
            self._seen.add(uid)
            self.loop.call_later(self.start_ms, lambda: self.set_ready(pod))

    def set_ready(self, pod: Object, ready: bool = True) -> None:
        key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        if (PODS, key) not in self.transport.objects:
            return
        now = rfc3339(self.loop.clock.now_ms)
        condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": now}
        status = {"phase": "Running", "conditions": [condition], "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}
        self.transport.put(PODS, {**thaw(self.transport.get(PODS, key)), "status": status})

    # -- asking ----------------------------------------------------------------------------------------

    def change(self, gvr: Any, key: str, edit: Callable[[dict[str, Any]], None]) -> None:
        """Another client edits an object; a changed spec gets a new generation."""
        obj = thaw(self.transport.get(gvr, key))
        before = thaw(obj["spec"])
        edit(obj)
        if obj["spec"] != before:
            obj["metadata"]["generation"] += 1
        self.transport.put(gvr, obj)

    def set_image(self, image: str, key: str = "default/web") -> None:
        def edit(obj: dict[str, Any]) -> None:
            obj["spec"]["template"]["spec"]["containers"][0]["image"] = image

        self.change(DEPLOYMENTS, key, edit)

    def deployment(self, key: str = "default/web") -> Object:
        return self.transport.get(DEPLOYMENTS, key)

    def replica_sets(self) -> dict[str, Object]:
        """By the image of their template."""
        sets = self.transport.of(REPLICASETS)
        return {rs["spec"]["template"]["spec"]["containers"][0]["image"]: rs for rs in sets}

    def pods(self) -> list[Object]:
        return self.transport.of(PODS)

    def sizes_over_time(self) -> list[dict[str, int]]:
        """spec.replicas of every ReplicaSet by image, whenever one of them changed."""
        sizes: dict[str, int] = {}
        history: list[dict[str, int]] = []
        for change in self.transport.changes:
            if change.gvr == REPLICASETS and change.new is not None:
                image = change.new["spec"]["template"]["spec"]["containers"][0]["image"]
                if sizes.get(image) != change.new["spec"]["replicas"]:
                    sizes[image] = change.new["spec"]["replicas"]
                    history.append(dict(sizes))
        return history

    def events(self, kind: str = "") -> list[tuple[str, str, str]]:
        """(type, reason, message) of the events about objects of `kind`, oldest first."""
        return [
            (event["type"], event["reason"], event["message"])
            for event in self.transport.of(EVENTS)
            if kind in ("", event["involvedObject"]["kind"])
        ]

    def condition(self, obj: Object, kind: str) -> tuple[str, str, str] | None:
        for condition in (obj.get("status") or {}).get("conditions") or ():
            if condition["type"] == kind:
                return condition["status"], condition["reason"], condition["message"]
        return None
