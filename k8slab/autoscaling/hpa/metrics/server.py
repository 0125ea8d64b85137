"""A metrics server: it scrapes kubelets, keeps two readings, and serves `metrics.k8s.io`.

What an autoscaler sees is thus old: up to one resolution since the scrape, over a window of one resolution before.

Spec: kubernetes-sigs/metrics-server pkg/{scraper,storage,api}
Simplified: all nodes are scraped at one moment (the real one spreads them over a part of the resolution); NodeMetrics
are the sum of the node's Pods.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from k8slab.api.errors import BadRequestError, NotFoundError, StatusError
from k8slab.api.go_duration import format_duration_ms
from k8slab.api.labels import Selector, parse_selector
from k8slab.api.objects import Object
from k8slab.api.times import rfc3339
from k8slab.api.transport import Request
from k8slab.autoscaling.hpa.metrics.client import RESOURCE
from k8slab.autoscaling.hpa.metrics.points import PodUsage, Points, Readings
from k8slab.sim import Component, Loop, sleep

__all__ = ["MetricsServer", "PodSource", "Scrape", "selector_of"]

LANE = "metrics-server"
RESOURCES: tuple[Mapping[str, Any], ...] = (
    {"name": "nodes", "singularName": "", "namespaced": False, "kind": "NodeMetrics", "verbs": ["get", "list"]},
    {"name": "pods", "singularName": "", "namespaced": True, "kind": "PodMetrics", "verbs": ["get", "list"]},
)

Scrape = Callable[[int], Mapping[str, Readings]]
"""now_ms -> readings by node. A node that does not answer is left out."""


class PodSource(Protocol):
    """Where the metrics server looks for Pods and their labels: the cache of an informer."""

    def list(self, namespace: str = "") -> Sequence[Object]: ...


class MetricsServer:
    """Scrapes every `resolution_ms`, and answers from what it has. It begins with nothing after a restart."""

    group, version = RESOURCE

    def __init__(
        self, loop: Loop, component: Component, pods: PodSource, scrape: Scrape, *, resolution_ms: int = 15_000
    ) -> None:
        self.loop = loop
        self.component = component
        self.pods = pods
        self.scrape = scrape
        self.points = Points(resolution_ms)
        self.nodes: dict[str, tuple[tuple[str, str], ...]] = {}

    def start(self) -> None:
        """Scrape now, and again and again."""
        self.component.spawn("scraper", self._run())

    async def _run(self) -> None:
        while True:
            self.loop.trace.current = None
            self.read()
            await sleep(self.points.resolution_ms, periodic=True)

    def read(self) -> None:
        """One scrape of all nodes."""
        by_node = self.scrape(self.loop.clock.now_ms)
        readings = {pod: containers for pods in by_node.values() for pod, containers in pods.items()}
        self.nodes = {node: tuple(pods) for node, pods in by_node.items()}
        self.points.store(readings)
        self.loop.trace.emit("metrics.scrape", LANE, nodes=len(by_node), pods=len(readings))

    # -- the API -----------------------------------------------------------------------------------------

    def resources(self) -> Sequence[Mapping[str, Any]]:
        return RESOURCES

    async def serve(self, request: Request) -> Object:
        """`pods` of a namespace (or all), `nodes`; lists leave out what has no rate yet."""
        if request.resource.resource == "nodes":
            return self._nodes(request)
        if request.resource.resource != "pods" or request.subresource:
            raise NotFoundError("the server could not find the requested resource", details={})
        selector = selector_of(request)
        found = []
        for pod in self.pods.list(request.namespace):
            metadata = pod["metadata"]
            if request.name not in ("", metadata["name"]) or not selector.matches(metadata.get("labels")):
                continue
            usage = self.points.usage(metadata["namespace"], metadata["name"])
            if usage is not None:
                found.append(_pod_metrics(metadata, usage))
        if request.name:
            if not found:
                key = f"{request.namespace}/{request.name}"
                raise NotFoundError.of("podmetrics", key, self.group)
            return {"apiVersion": f"{self.group}/{self.version}", **found[0]}
        return _list("PodMetricsList", found)

    def _nodes(self, request: Request) -> Object:
        found = []
        for node, pods in sorted(self.nodes.items()):
            usages = [usage for pod in pods if (usage := self.points.usage(*pod)) is not None]
            if request.name not in ("", node) or not usages:
                continue
            containers = [one for usage in usages for one in usage.containers.values()]
            found.append(
                {
                    "kind": "NodeMetrics",
                    "metadata": {"name": node},
                    "timestamp": rfc3339(min(usage.timestamp_ms for usage in usages)),
                    "window": format_duration_ms(usages[0].window_ms),
                    "usage": _usage(sum(one.cpu_milli for one in containers), sum(one.memory for one in containers)),
                }
            )
        if request.name:
            if not found:
                raise NotFoundError.of("nodemetrics", request.name, self.group)
            return {"apiVersion": f"{self.group}/{self.version}", **found[0]}
        return _list("NodeMetricsList", found)


def selector_of(request: Request) -> Selector:
    """The label selector that a request asks with. BadRequestError when it is none."""
    try:
        return parse_selector(request.params.get("labelSelector", ""))
    except ValueError as error:
        raise BadRequestError(str(error)) from None


def metrics_down(message: str = "metrics not available yet") -> StatusError:
    """503, as a metrics server that is not ready answers."""
    return StatusError(message, code=503, reason="ServiceUnavailable")


def _list(kind: str, items: list[dict[str, Any]]) -> Object:
    group, version = RESOURCE
    return {"kind": kind, "apiVersion": f"{group}/{version}", "metadata": {}, "items": items}


def _usage(cpu_milli: int, memory: int) -> dict[str, str]:
    return {"cpu": f"{cpu_milli}m" if cpu_milli else "0", "memory": f"{memory // 1024}Ki"}


def _pod_metrics(metadata: Object, usage: PodUsage) -> dict[str, Any]:
    shown = {key: metadata[key] for key in ("name", "namespace", "labels") if metadata.get(key)}
    containers = [{"name": name, "usage": _usage(*one)} for name, one in usage.containers.items()]
    return {
        "kind": "PodMetrics",
        "metadata": shown,
        "timestamp": rfc3339(usage.timestamp_ms),
        "window": format_duration_ms(usage.window_ms),
        "containers": containers,
    }
