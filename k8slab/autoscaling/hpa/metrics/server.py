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
from k8slab.api.fields import FieldSelector, parse_field_selector
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
    """Where the metrics server looks for Pods (or Nodes) and their labels: the cache of an informer."""

    def list(self, namespace: str = "") -> Sequence[Object]: ...


class MetricsServer:
    """Scrapes every `resolution_ms`, and answers from what it has. It begins with nothing after a restart.

    `node_source`: the Nodes that are listed, with their labels; None: all that were scraped, without.
    """

    group, version = RESOURCE

    def __init__(
        self,
        loop: Loop,
        component: Component,
        pods: PodSource,
        scrape: Scrape,
        *,
        resolution_ms: int = 15_000,
        node_source: PodSource | None = None,
    ) -> None:
        self.loop = loop
        self.component = component
        self.pods = pods
        self.scrape = scrape
        self.node_source = node_source
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
        resource, is_about_one = request.resource.resource, bool(request.name)
        misplaced = bool(request.namespace) if resource == "nodes" else is_about_one and not request.namespace
        if resource not in ("nodes", "pods") or request.subresource or misplaced:
            raise NotFoundError("the server could not find the requested resource", details={})
        chosen = _chooser(request)
        if resource == "nodes":
            return self._nodes(request, chosen)
        found = []
        for pod in self.pods.list(request.namespace):
            metadata = pod["metadata"]
            usage = self.points.usage(metadata["namespace"], metadata["name"]) if chosen(metadata) else None
            if usage is not None:
                found.append(_pod_metrics(metadata, usage))
        if is_about_one:
            if not found:
                key = f"{request.namespace}/{request.name}"
                raise NotFoundError.of("podmetrics", key, self.group)
            return {"apiVersion": f"{self.group}/{self.version}", **found[0]}
        return _list("PodMetricsList", found)

    def _nodes(self, request: Request, chosen: Callable[[Mapping[str, Any]], bool]) -> Object:
        known: dict[str, Mapping[str, Any]] = {node: {"name": node} for node in self.nodes}
        if self.node_source is not None:
            known = {node["metadata"]["name"]: node["metadata"] for node in self.node_source.list()}
        found = []
        for node, pods in sorted(self.nodes.items()):
            usages = [usage for pod in pods if (usage := self.points.usage(*pod)) is not None]
            if usages and node in known and chosen(known[node]):
                found.append(_node_metrics(known[node], usages))
        if request.name:
            if not found:
                raise NotFoundError.of("nodemetrics", request.name, self.group)
            return {"apiVersion": f"{self.group}/{self.version}", **found[0]}
        return _list("NodeMetricsList", found)


def _chooser(request: Request) -> Callable[[Mapping[str, Any]], bool]:
    """Whether the object with some metadata is asked for: by its name, or by selectors of labels and fields."""
    selector = selector_of(request)
    fields = _fields_of(request)

    def chosen(metadata: Mapping[str, Any]) -> bool:
        if request.name:
            return bool(metadata["name"] == request.name)
        has = {"metadata.name": metadata["name"], "metadata.namespace": metadata.get("namespace", "")}
        return selector.matches(metadata.get("labels")) and fields.matches(has)

    return chosen


def selector_of(request: Request) -> Selector:
    """The label selector that a request asks with. BadRequestError when it is none."""
    try:
        return parse_selector(request.params.get("labelSelector", ""))
    except ValueError as error:
        raise BadRequestError(str(error)) from None


def _fields_of(request: Request) -> FieldSelector:
    """The field selector that a request asks with. BadRequestError when it is none, or about another field."""
    try:
        fields = parse_field_selector(request.params.get("fieldSelector", ""))
    except ValueError as error:
        raise BadRequestError(str(error)) from None
    for one in fields.requirements:
        if one.field not in ("metadata.name", "metadata.namespace"):
            known = 'only "metadata.name", "metadata.namespace"'
            raise BadRequestError(f'"{one.field}" is not a known field selector: {known}')
    return fields


def metrics_down(message: str = "metrics not available yet") -> StatusError:
    """503, as a metrics server that is not ready answers."""
    return StatusError(message, code=503, reason="ServiceUnavailable")


def _list(kind: str, items: list[dict[str, Any]]) -> Object:
    group, version = RESOURCE
    return {"kind": kind, "apiVersion": f"{group}/{version}", "metadata": {}, "items": items}


def _usage(cpu_milli: int, memory: int) -> dict[str, str]:
    return {"cpu": f"{cpu_milli}m" if cpu_milli else "0", "memory": f"{memory // 1024}Ki"}


def _node_metrics(metadata: Mapping[str, Any], usages: Sequence[PodUsage]) -> dict[str, Any]:
    """The sum of a node's Pods."""
    containers = [one for usage in usages for one in usage.containers.values()]
    return {
        "kind": "NodeMetrics",
        "metadata": {key: metadata[key] for key in ("name", "labels") if metadata.get(key)},
        "timestamp": rfc3339(min(usage.timestamp_ms for usage in usages)),
        "window": format_duration_ms(usages[0].window_ms),
        "usage": _usage(sum(one.cpu_milli for one in containers), sum(one.memory for one in containers)),
    }


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
