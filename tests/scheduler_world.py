"""One scheduler before a fake API server, for tests of the process."""

from __future__ import annotations

from typing import Any

from k8slab.api.objects import Object
from k8slab.api.scheme import EVENTS, NODES, PODS
from k8slab.client import Client, SharedInformerFactory
from k8slab.scheduler import Scheduler
from k8slab.sim.component import Component
from k8slab.sim.loop import Loop
from k8slab.sim.order import Order
from tests.fakes import FakeTransport

__all__ = ["SchedulerWorld"]


class SchedulerWorld:
    """Invariants are checked after every run."""

    def __init__(
        self,
        seed: int = 7,
        *,
        graceful: bool = False,
        latency_ms: int = 1,
        order: Order | None = None,
        **options: Any,
    ) -> None:
        self.loop = Loop(seed, order=order)
        self.server = FakeTransport(self.loop, latency_ms=latency_ms, graceful_pods=graceful)
        self.component = Component(self.loop, "scheduler")
        client = Client(self.server)
        informers = SharedInformerFactory(self.loop, self.component, client)
        self.scheduler = Scheduler(self.loop, self.component, client, informers, **options)
        informers.start()
        self.scheduler.start()

    def put(self, *objects: Object) -> None:
        """Nodes and Pods, told apart by what they have."""
        for obj in objects:
            self.server.put(PODS if "containers" in (obj.get("spec") or {}) else NODES, obj)

    def run(self, ms: int) -> None:
        self.loop.run(for_ms=ms)
        self.scheduler.check_invariants()

    def pod(self, name: str) -> Object:
        return self.server.get(PODS, f"default/{name}")

    def node_of(self, name: str) -> str | None:
        node_name: str | None = self.pod(name)["spec"].get("nodeName")
        return node_name

    def pods(self) -> dict[str, str]:
        """Node by Pod, "" for none."""
        return {made["metadata"]["name"]: made["spec"].get("nodeName", "") for made in self.server.of(PODS)}

    def plugin(self, name: str) -> Any:
        return next(iter(self.scheduler.frameworks.values())).plugins[name]

    def events(self, name: str) -> list[tuple[str, str]]:
        return [
            (event["reason"], event["message"])
            for event in self.server.of(EVENTS)
            if event["involvedObject"]["name"] == name
        ]

    def events_with(self, reason: str) -> list[Object]:
        return [event for event in self.server.of(EVENTS) if event["reason"] == reason]

    def wishes(self, verb: str) -> list[str]:
        """The Pods that requests with this verb named."""
        return [request.name for request in self.server.requests if request.verb == verb and request.resource == PODS]

    def kinds(self, *wanted: str) -> list[str]:
        """Of the events in the trace those of these kinds."""
        return [event.kind for event in self.loop.trace if event.kind in wanted]

    def count(self, kind: str) -> int:
        """How many events of this kind the trace has."""
        return sum(event.kind == kind for event in self.loop.trace)
