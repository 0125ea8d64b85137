"""The timeline of the HPA: its controller, and a metrics server that answers as recorded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from k8slab.api.errors import NotFoundError, StatusError
from k8slab.api.labels import parse_selector
from k8slab.api.objects import Object
from k8slab.api.scheme import NODES, PODS
from k8slab.api.times import rfc3339
from k8slab.api.transport import Request
from k8slab.autoscaling.hpa.metrics.server import RESOURCES
from tests.conformance.timelines import Timeline

__all__ = ["records"]


def records(doc: dict[str, Any], *, seed: int = 7) -> Iterator[tuple[str, Any]]:
    """(name, actual) of every step and watch."""
    timeline = Timeline(doc, seed)
    timeline.plane.server.aggregator.connect("kube-system/metrics", RecordedMetrics(timeline))
    timeline.plane.autoscale()
    played = timeline.play()
    recorded = {watch["name"]: watch["events"] for watch in doc["watch"]}
    yield from with_names(
        played, replica_sets(recorded["deployments"]), replica_sets(played["watch deployments"])
    ).items()


def replica_sets(frames: Any) -> dict[str, list[str]]:
    """The names of ReplicaSets that the conditions of Deployments mention, by Deployment, in the order they came."""
    found: dict[str, list[str]] = {}
    for name in re.findall(r'ReplicaSet \\"([a-z0-9-]+)\\" has', json.dumps(frames)):
        names = found.setdefault(name.rpartition("-")[0], [])
        if name not in names:
            names.append(name)
    return found


def with_names(played: dict[str, Any], recorded: dict[str, list[str]], ours: dict[str, list[str]]) -> dict[str, Any]:
    """What we played, with the recording's names of ReplicaSets: our hash of a template is our own, and no watch of
    this recording shows the label by which the comparator could tell."""
    text = json.dumps(played)
    for deployment, names in ours.items():
        for mine, theirs in zip(names, recorded.get(deployment, ()), strict=False):
            text = text.replace(mine, theirs)
    result: dict[str, Any] = json.loads(text)
    return result


class RecordedMetrics:
    """`metrics.k8s.io` as the recording's `metrics` tells: from a time on, so much CPU for every running container."""

    group, version = "metrics.k8s.io", "v1beta1"

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.values = timeline.doc["metrics"]["values"]

    def resources(self) -> Sequence[Mapping[str, Any]]:
        return RESOURCES

    async def serve(self, request: Request) -> Object:
        now_ms = self.timeline.loop.clock.now_ms
        seconds = (now_ms - self.timeline.start_ms) / 1000
        entry = [one for one in self.values if one["t"] <= seconds and "server" not in one][-1]
        if "status" in entry:
            raise StatusError("metrics down", code=503, reason="ServiceUnavailable")
        items = self._nodes(now_ms) if request.resource.resource == "nodes" else self._pods(request, entry, now_ms)
        if request.name:
            raise NotFoundError("the server could not find the requested resource", details={})
        kind = "NodeMetricsList" if request.resource.resource == "nodes" else "PodMetricsList"
        return {"kind": kind, "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {}, "items": items}

    def _nodes(self, now_ms: int) -> list[dict[str, Any]]:
        return [
            {
                "kind": "NodeMetrics",
                "metadata": {"name": node["metadata"]["name"]},
                "timestamp": rfc3339(now_ms),
                "window": "10s",
                "usage": {"cpu": "500m", "memory": "1Gi"},
            }
            for node in self.timeline.plane.mirror.list(NODES.group_resource)
        ]

    def _pods(self, request: Request, entry: Mapping[str, Any], now_ms: int) -> list[dict[str, Any]]:
        selector = parse_selector(request.params.get("labelSelector", ""))
        usage = {"cpu": entry["cpu"], "memory": "20Mi"}
        return [
            {
                "kind": "PodMetrics",
                "metadata": {"name": pod["metadata"]["name"], "namespace": pod["metadata"]["namespace"]},
                "timestamp": rfc3339(now_ms),
                "window": "10s",
                "containers": [{"name": one["name"], "usage": usage} for one in pod["spec"]["containers"]],
            }
            for pod in self.timeline.plane.mirror.list(PODS.group_resource, request.namespace)
            if pod["status"].get("phase") == "Running" and selector.matches(pod["metadata"].get("labels"))
        ]
