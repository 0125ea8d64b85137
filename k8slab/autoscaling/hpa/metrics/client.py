"""How the autoscaler asks for metrics: three groups of the API, each served by whoever an APIService names.

`metrics.k8s.io` has CPU and memory of Pods, and nothing else; `custom.metrics.k8s.io` has numbers about objects of the
cluster; `external.metrics.k8s.io` has numbers from outside. Nothing at all is an error here, not a zero.

Upstream: pkg/controller/podautoscaler/metrics/client.go, k8s.io/metrics/pkg/client/{custom_metrics,external_metrics}
Simplified: one client for all groups; versions are fixed, not discovered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from k8slab.api.errors import NotFoundError, StatusError
from k8slab.api.go_duration import parse_duration_ns
from k8slab.api.labels import Selector, selector_from_dict
from k8slab.api.objects import Object
from k8slab.api.quantity import milli_value, wrap_int64
from k8slab.api.scheme import GVK, GVR, SCHEME, UnknownKindError
from k8slab.api.times import parse_time
from k8slab.api.transport import Request, Transport
from k8slab.autoscaling.hpa.metric_specs import MetricSelectorError, MetricsError, Samples
from k8slab.autoscaling.hpa.pod_facts import PodMetric, PodMetrics

__all__ = ["CUSTOM", "EXTERNAL", "RESOURCE", "MetricsClient", "RESTMetricsClient", "fetch"]

RESOURCE = ("metrics.k8s.io", "v1beta1")
CUSTOM = ("custom.metrics.k8s.io", "v1beta2")
EXTERNAL = ("external.metrics.k8s.io", "v1beta1")

DEFAULT_WINDOW_MS = 60_000


class MetricsClient(Protocol):
    """Where samples come from. Every method raises MetricsError when there are none."""

    async def get_resource_metric(
        self, resource: str, namespace: str, selector: Selector, container: str
    ) -> PodMetrics: ...

    async def get_raw_metric(
        self, name: str, namespace: str, selector: Selector, metric_selector: Selector
    ) -> PodMetrics: ...

    async def get_object_metric(
        self, name: str, namespace: str, described: Object, metric_selector: Selector
    ) -> int: ...

    async def get_external_metric(self, name: str, namespace: str, metric_selector: Selector) -> list[int]: ...


async def fetch(client: MetricsClient, metrics: Sequence[Object], namespace: str, selector: Selector) -> list[Samples]:
    """What there is for each entry of `spec.metrics`; a MetricsError in the place of what cannot be had."""
    found: list[Samples] = []
    for spec in metrics:
        try:
            found.append(await _fetch_one(client, spec, namespace, selector))
        except MetricsError as error:
            found.append(error)
    return found


async def _fetch_one(client: MetricsClient, spec: Object, namespace: str, selector: Selector) -> Samples:
    kind = spec.get("type", "")
    if kind == "Resource":
        return await client.get_resource_metric(spec["resource"]["name"], namespace, selector, "")
    if kind == "ContainerResource":
        source = spec["containerResource"]
        return await client.get_resource_metric(source["name"], namespace, selector, source["container"])
    if kind == "Pods":
        metric = spec["pods"]["metric"]
        return await client.get_raw_metric(metric["name"], namespace, selector, _selector(metric))
    if kind == "Object":
        metric = spec["object"]["metric"]
        described = spec["object"]["describedObject"]
        return await client.get_object_metric(metric["name"], namespace, described, _selector(metric))
    if kind == "External":
        metric = spec["external"]["metric"]
        return await client.get_external_metric(metric["name"], namespace, _selector(metric))
    return MetricsError(f"unknown metric source type {kind!r}")


def _selector(metric: Object) -> Selector:
    """The selector of a metric; without one, everything."""
    given = metric.get("selector")
    if given is None:
        return Selector()
    try:
        return selector_from_dict(given)
    except ValueError as error:
        raise MetricSelectorError(str(error)) from None


class RESTMetricsClient:
    """Asks an API server, which asks whoever serves the group."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport

    async def get_resource_metric(
        self, resource: str, namespace: str, selector: Selector, container: str
    ) -> PodMetrics:
        """Usage of Pods, or of one container of each."""
        request = Request(
            "list", GVR(*RESOURCE, "pods"), namespace, params={"labelSelector": str(selector)} if str(selector) else {}
        )
        items = await self._items(request, "resource", f"(get pods.{RESOURCE[0]})")
        with _decoding("resource"):
            found = container_metrics(items, resource, container) if container else pod_metrics(items, resource)
        return found

    async def get_raw_metric(
        self, name: str, namespace: str, selector: Selector, metric_selector: Selector
    ) -> PodMetrics:
        """One number for each Pod."""
        params = {"labelSelector": str(selector), "metricLabelSelector": str(metric_selector)}
        request = Request(
            "get", GVR(*CUSTOM, "pods"), namespace, "*", name, params={key: one for key, one in params.items() if one}
        )
        items = await self._items(request, "custom")
        found: PodMetrics = {}
        with _decoding("custom"):
            for item in items:
                seconds = item.get("windowSeconds")
                window_ms = DEFAULT_WINDOW_MS if seconds is None else 1000 * seconds
                found[item["describedObject"]["name"]] = PodMetric(milli_value(item["value"]), _time(item), window_ms)
        return found

    async def get_object_metric(self, name: str, namespace: str, described: Object, metric_selector: Selector) -> int:
        """One number about one object."""
        group, _, version = described.get("apiVersion", "").rpartition("/")
        resource, target = _plural(group, version, described["kind"]), described["name"]
        if resource == "namespaces":  # of itself only, whatever name was given
            namespace, target = "", namespace
        params = {"metricLabelSelector": str(metric_selector)} if str(metric_selector) else {}
        request = Request("get", GVR(*CUSTOM, resource), namespace, target, name, params=params)
        items = await self._items(request, "custom")
        with _decoding("custom"):
            value = milli_value(items[0]["value"])
        return value

    async def get_external_metric(self, name: str, namespace: str, metric_selector: Selector) -> list[int]:
        """All numbers of a name that the selector matches."""
        params = {"labelSelector": str(metric_selector)} if str(metric_selector) else {}
        request = Request("list", GVR(*EXTERNAL, name), namespace, params=params)
        items = await self._items(request, "external", f"(get {name}.{EXTERNAL[0]})")
        with _decoding("external"):
            values = [milli_value(item["value"]) for item in items]
        return values

    async def _items(self, request: Request, which: str, where: str = "") -> Sequence[Mapping[str, Any]]:
        try:
            answer = await self.transport.call(request)
        except (StatusError, TimeoutError) as error:
            text = str(error)
            if isinstance(error, NotFoundError) and not error.details:  # nobody serves the group
                text = f"{text} {where}" if where else f"no custom metrics API ({CUSTOM[0]}) registered"
            raise MetricsError(f"unable to fetch metrics from {which} metrics API: {text}") from None
        with _decoding(which):
            items: Sequence[Mapping[str, Any]] = answer.get("items") or ()
        if not items:
            raise MetricsError(f"no metrics returned from {which} metrics API")
        return items


@contextmanager
def _decoding(which: str) -> Iterator[None]:
    """An answer that is no list of metrics (a value of NaN, no name) is as good as none: a MetricsError."""
    try:
        yield
    except KeyError as error:
        text = f"malformed answer: an item has no {error}"
    except (AttributeError, TypeError, ValueError) as error:
        text = f"malformed answer: {error}"
    else:
        return
    raise MetricsError(f"unable to fetch metrics from {which} metrics API: {text}")


def pod_metrics(items: Sequence[Mapping[str, Any]], resource: str) -> PodMetrics:
    """Usage by Pod: its containers' sum. A Pod of which one container says nothing is left out."""
    found: PodMetrics = {}
    for item in items:
        usages = [(one.get("usage") or {}).get(resource) for one in item.get("containers") or ()]
        if not usages or None in usages:
            continue
        total = wrap_int64(sum(milli_value(usage) for usage in usages))
        found[item["metadata"]["name"]] = PodMetric(total, _time(item), _window(item))
    return found


def container_metrics(items: Sequence[Mapping[str, Any]], resource: str, container: str) -> PodMetrics:
    """Usage of one container by Pod. MetricsError when a Pod does not have it."""
    found: PodMetrics = {}
    for item in items:
        metadata = item["metadata"]
        one = next((one for one in item.get("containers") or () if one["name"] == container), None)
        if one is None:
            where = f"pod {metadata.get('namespace', '')}/{metadata['name']}"
            raise MetricsError(
                f"failed to get container metrics: container {container} not present in metrics for {where}"
            )
        usage = (one.get("usage") or {}).get(resource)
        if usage is not None:
            found[metadata["name"]] = PodMetric(milli_value(usage), _time(item), _window(item))
    return found


def _time(item: Mapping[str, Any]) -> int:
    return parse_time(item["timestamp"]) if item.get("timestamp") else 0


def _window(item: Mapping[str, Any]) -> int:
    """A duration such as `15s`, `15.5s` or `1m0s`, in milliseconds."""
    return parse_duration_ns(item["window"]) // 1_000_000 if item.get("window") else 0


def _plural(group: str, version: str, kind: str) -> str:
    """The resource of a kind as the custom metrics API has it: `ingresses.networking.k8s.io`."""
    try:
        return SCHEME.resource_of(GVK(group, version, kind)).gvr.group_resource
    except UnknownKindError:
        plural = kind.lower() + ("es" if kind.lower().endswith("s") else "s")
        return f"{plural}.{group}" if group else plural
