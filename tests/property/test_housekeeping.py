"""All controllers over the real API server, in shuffled orders and under three latency profiles: what is deleted in the
three ways, and a whole namespace after it, leaves nothing behind."""

from __future__ import annotations

import random
from collections.abc import Coroutine
from typing import Any

import pytest

from k8slab.api.features import FeatureGates
from k8slab.api.scheme import DEPLOYMENTS, GVR, NAMESPACES, PODS, REPLICASETS
from k8slab.apiserver import APIServer
from k8slab.client import Client, SharedInformerFactory
from k8slab.controllers import REGISTRY, ControllerContext
from k8slab.etcd import Store
from k8slab.sim.component import Component
from k8slab.sim.loop import Loop
from k8slab.sim.order import Shuffle
from tests.counts import examples


class Plane:
    """etcd, an API server, a controller manager with every controller, and you."""

    def __init__(self, seed: int, latency: str) -> None:
        self.loop = Loop(seed, order=Shuffle(random.Random(seed)))
        self.store = Store()
        server = APIServer(self.loop, self.store, latency=latency)
        self.you = Client(server.transport("you"))
        self.manager = Component(self.loop, "kcm")
        client = Client(server.transport("kcm"))
        informers = SharedInformerFactory(self.loop, self.manager, client)
        ctx = ControllerContext(self.loop, self.manager, client, informers, FeatureGates())
        self.controllers: dict[str, Any] = {name: build(ctx) for name, build in REGISTRY.items()}
        informers.start()
        for controller in self.controllers.values():
            controller.start()
        self.loop.run(for_ms=1000)

    def do(self, call: Coroutine[Any, Any, Any]) -> Any:
        task = self.loop.spawn("you/kubectl", call)
        self.loop.run(for_ms=2000)
        assert task.done
        if task.error is not None:
            raise task.error
        return task.result

    def names(self, gvr: GVR) -> list[str]:
        return [item["metadata"]["name"] for item in self.do(self.you.list(gvr, "doomed"))["items"]]


def deployment(name: str) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "web:1"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": name}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


@pytest.mark.parametrize("latency", ["none", "lan", "slow-watch"])
@pytest.mark.parametrize("seed", range(examples(4, 40)))
def test_deletions_leave_what_they_should(seed: int, latency: str) -> None:
    plane = Plane(seed, latency)
    plane.do(plane.you.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "doomed"}}))
    for name in ("gone", "left", "kept"):
        plane.do(plane.you.create(DEPLOYMENTS, deployment(name), "doomed"))
    plane.do(plane.you.delete(DEPLOYMENTS, "gone", "doomed", propagation_policy="Foreground"))
    plane.do(plane.you.delete(DEPLOYMENTS, "left", "doomed", propagation_policy="Orphan"))
    plane.loop.run(for_ms=4000)
    assert plane.names(DEPLOYMENTS) == ["kept"]
    owners = {
        rs["metadata"]["labels"]["app"]: [owner["name"] for owner in rs["metadata"].get("ownerReferences") or ()]
        for rs in plane.do(plane.you.list(REPLICASETS, "doomed"))["items"]
    }
    assert owners == {"left": [], "kept": ["kept"]}
    assert len(plane.names(PODS)) == 6
    plane.do(plane.you.delete(NAMESPACES, "doomed"))
    plane.loop.run(for_ms=30_000)
    assert [kv.key for kv in plane.store.range(b"\x00", b"\x00").kvs if b"doomed" in kv.key] == []
    plane.store.check_invariants()
    plane.controllers["garbage-collector-controller"].check_invariants()
    plane.loop.close()
