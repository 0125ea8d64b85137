"""Adapters: the servers behind custom and external metrics. Each has numbers under names, and says so when it has none.

>>> adapter = ExternalMetrics()
>>> adapter.set("queue_length", 12, labels={"queue": "mail"}, namespace="shop")
>>> [row["value"] for row in adapter.matching("queue_length", "shop", "queue=mail", now_ms=0)]
['12']
>>> adapter.matching("queue_length", "shop", "queue=video", now_ms=0)
[]

A number may be a function of the moment: then it is asked for every time.

Spec: kubernetes-sigs/custom-metrics-apiserver pkg/provider (interfaces and errors), k8s.io/metrics
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from k8slab.api.errors import InternalError, NotFoundError
from k8slab.api.labels import parse_selector
from k8slab.api.objects import Object
from k8slab.api.quantity import quantity
from k8slab.api.times import rfc3339
from k8slab.api.transport import Request
from k8slab.autoscaling.hpa.metrics.client import CUSTOM, EXTERNAL
from k8slab.autoscaling.hpa.metrics.server import PodSource, selector_of
from k8slab.sim import Loop

__all__ = ["CustomMetrics", "ExternalMetrics", "Number"]

Number = int | float | str | Callable[[int], "int | float | str | None"]
"""A quantity, or what gives one at `now_ms`; None: there is no number then."""


class _Series(NamedTuple):
    number: Number
    labels: Mapping[str, str]


def _quantity(number: Number, now_ms: int, name: str) -> str | None:
    """The number as a quantity. ValueError for one that is none, such as NaN."""
    found = number(now_ms) if callable(number) else number
    if found is None:
        return None
    if isinstance(found, float):
        found = f"{found:.3f}".rstrip("0").rstrip(".") if abs(found) < 1e15 else str(found)
    try:
        return str(quantity(found))
    except (TypeError, ValueError) as error:
        raise ValueError(f"metric {name}: {found!r}: expected a quantity, such as 12 or 500m") from error


def _answer(number: Number, now_ms: int, name: str) -> str | None:
    """The number as a quantity, asked for by a client: 500 for one that is none."""
    try:
        return _quantity(number, now_ms, name)
    except ValueError as error:
        raise InternalError(str(error)) from None


class ExternalMetrics:
    """`external.metrics.k8s.io`: numbers from outside, by name, namespace and labels."""

    group, version = EXTERNAL

    def __init__(self, loop: Loop | None = None) -> None:
        self.loop = loop
        self._series: dict[tuple[str, str], list[_Series]] = {}

    def set(
        self, name: str, number: Number, *, namespace: str = "default", labels: Mapping[str, str] | None = None
    ) -> None:
        """There is such a number now; one with the same labels is replaced."""
        _quantity(number, 0, name)
        rows = self._series.setdefault((namespace, name), [])
        rows[:] = [row for row in rows if row.labels != (labels or {})]
        rows.append(_Series(number, dict(labels or {})))

    def forget(self, name: str, *, namespace: str = "default") -> None:
        """There is no such number any more. Idempotent."""
        self._series.pop((namespace, name), None)

    def matching(self, name: str, namespace: str, selector: str, now_ms: int) -> list[dict[str, Any]]:
        """The ExternalMetricValues of a name that a selector matches. InternalError for a number that is none."""
        wanted = parse_selector(selector)
        found = []
        for row in self._series.get((namespace, name), ()):
            amount = _answer(row.number, now_ms, name) if wanted.matches(row.labels) else None
            if amount is not None:
                found.append(
                    {
                        "metricName": name,
                        "metricLabels": dict(row.labels),
                        "timestamp": rfc3339(now_ms),
                        "value": amount,
                    }
                )
        return found

    def resources(self) -> Sequence[Mapping[str, Any]]:
        names = sorted({name for _, name in self._series})
        row = {"singularName": "", "namespaced": True, "kind": "ExternalMetricValueList", "verbs": ["get"]}
        return [{"name": name, **row} for name in names]

    async def serve(self, request: Request) -> Object:
        """The numbers of one name; an unknown one is an empty list."""
        now_ms = self.loop.clock.now_ms if self.loop is not None else 0
        selector = str(selector_of(request))
        items = self.matching(request.resource.resource, request.namespace, selector, now_ms)
        return {
            "kind": "ExternalMetricValueList",
            "apiVersion": f"{self.group}/{self.version}",
            "metadata": {},
            "items": items,
        }


class CustomMetrics:
    """`custom.metrics.k8s.io`: numbers about objects. `pods`: where to find Pods by their labels."""

    group, version = CUSTOM

    def __init__(self, loop: Loop | None = None, pods: PodSource | None = None) -> None:
        self.loop = loop
        self.pods = pods
        self._numbers: dict[tuple[str, str, str, str], Number] = {}

    def set(self, resource: str, name: str, metric: str, number: Number, *, namespace: str = "default") -> None:
        """There is such a number about an object now: `set("pods", "web-0", "qps", 12)`."""
        _quantity(number, 0, metric)
        self._numbers[(resource, namespace, name, metric)] = number

    def forget(self, resource: str, name: str, metric: str, *, namespace: str = "default") -> None:
        """There is no such number any more. Idempotent."""
        self._numbers.pop((resource, namespace, name, metric), None)

    def resources(self) -> Sequence[Mapping[str, Any]]:
        names = sorted({f"{resource}/{metric}" for resource, _, _, metric in self._numbers})
        row = {"singularName": "", "namespaced": True, "kind": "MetricValueList", "verbs": ["get"]}
        return [{"name": name, **row} for name in names]

    async def serve(self, request: Request) -> Object:
        """The number about one object, or (name `*`) about all Pods a selector matches. NotFoundError without any."""
        now_ms = self.loop.clock.now_ms if self.loop is not None else 0
        resource, metric = request.resource.resource, request.subresource
        names = self._selected(request) if request.name == "*" else [request.name]
        namespace = request.namespace or (request.name if resource == "namespaces" else "")
        items = []
        for name in names:
            number = self._numbers.get((resource, namespace, name, metric))
            amount = None if number is None else _answer(number, now_ms, metric)
            if amount is not None:
                items.append(self._value(resource, namespace, name, metric, amount, now_ms))
        if not items:
            about = "" if request.name == "*" else f" {request.name}"
            raise NotFoundError(
                f"the server could not find the metric {metric} for {resource}{about}",
                details={"name": metric, "kind": resource},
            )
        return {
            "kind": "MetricValueList",
            "apiVersion": f"{self.group}/{self.version}",
            "metadata": {},
            "items": items,
        }

    def _selected(self, request: Request) -> list[str]:
        if self.pods is None:
            return []
        selector = selector_of(request)
        return [
            pod["metadata"]["name"]
            for pod in self.pods.list(request.namespace)
            if selector.matches(pod["metadata"].get("labels"))
        ]

    def _value(self, resource: str, namespace: str, name: str, metric: str, amount: str, now_ms: int) -> dict[str, Any]:
        described = {"kind": resource.partition(".")[0], "namespace": namespace, "name": name}
        return {
            "describedObject": described,
            "metric": {"name": metric},
            "timestamp": rfc3339(now_ms),
            "value": amount,
        }
