"""An example of a plugin of one's own: Filter by the temperature of a Node's GPUs, Score by how cool they are.

Out of tree: hand it to `registry=`, and enable it in a profile.

>>> from k8slab.scheduler import Framework, Snapshot
>>> from k8slab.sim import Loop
>>> def node(name, celsius):
...     annotations = {TEMPERATURE: celsius, MEASURED_AT: "2026-01-01T00:00:00Z"}
...     gpus = {"cpu": "8", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "4"}
...     return {"metadata": {"name": name, "annotations": annotations}, "status": {"allocatable": gpus}}
>>> gpu = {"limits": {"nvidia.com/gpu": "1"}, "requests": {"nvidia.com/gpu": "1"}}
>>> pod = {"metadata": {"name": "train"}, "spec": {"containers": [{"name": "c", "resources": gpu}]}}
>>> profile = {"plugins": {"multiPoint": {"enabled": [{"name": "GPUTemperature", "weight": 5}]}}}
>>> framework = Framework.from_profile(profile, registry={"GPUTemperature": GPUTemperature}, loop=Loop())
>>> framework.schedule(pod, Snapshot.of([node("hot", "86"), node("warm", "84"), node("cool", "60")])).node
'cool'

The source is two annotations of the Node that an agent on it writes: the temperature of its hottest GPU in whole
degrees Celsius, and when it was measured. The Node is in the snapshot already, so a verdict needs no other lookup;
both values change in one write; and a change of annotations is a cluster event, so that a Pod that was rejected comes
back when a Node cools. The price is a write of the whole Node, seen by everybody who watches Nodes, for each report:
5,000 nodes every 15 s are 333 writes a second. At that size the reports belong into a small object of their own, as a
Lease is for heartbeats.

A report that is older than `maxMetricAgeSeconds` is no report: GPUs heat up in seconds, and an agent that is silent
may be silent because its node is in trouble. Rejecting Nodes without one (`withoutMetric: Reject`) fails closed: when
all agents die, no GPU Pod is placed. `Allow` places it and scores such Nodes 0.

The verdict depends on the time, so the plugin is not `node_local`: the memo of equal Pods would keep "fresh" for ever.

Upstream: none with this purpose; the shape is that of pkg/scheduler/framework/plugins/nodeaffinity
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.pod_requests import pod_requests
from k8slab.api.times import parse_time
from k8slab.scheduler.framework import (
    SKIP,
    SUCCESS,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    Code,
    CycleState,
    EventResource,
    Handle,
    NodeInfo,
    PreFilterResult,
    QueueingHint,
    Status,
    is_extended_resource,
)
from k8slab.scheduler.plugins.normalize_score import default_normalize_score

__all__ = ["MEASURED_AT", "TEMPERATURE", "GPUTemperature"]

TEMPERATURE = "gpu.k8slab.dev/temperature-celsius"
"""The annotation with the temperature of the hottest GPU, whole degrees: `72`."""

MEASURED_AT = "gpu.k8slab.dev/measured-at"
"""The annotation that says when that was measured, RFC 3339: `2026-01-01T00:00:07Z`."""

_DEGREES = re.compile(r"-?[0-9]{1,3}")
_NOW = "PreFilterGPUTemperature"
_POLICIES = ("Reject", "Allow")
_DEFAULTS: Mapping[str, Any] = {
    "resourceName": "nvidia.com/gpu",
    "maxTemperatureCelsius": 85,
    "maxMetricAgeSeconds": 15,
    "withoutMetric": "Reject",
}


class GPUTemperature:
    """Only Pods that request `resourceName` are looked at.

    Args: `maxTemperatureCelsius` (85: a Node at 85 is kept, at 86 rejected), `maxMetricAgeSeconds` (15),
    `withoutMetric` (`Reject`, or `Allow` and score 0), `resourceName` (nvidia.com/gpu). ValueError for others.
    """

    name = "GPUTemperature"

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        _check(args)
        chosen = {**_DEFAULTS, **args}
        self._handle = handle
        self._resource: str = chosen["resourceName"]
        self._most: int = chosen["maxTemperatureCelsius"]
        self._max_age_ms = chosen["maxMetricAgeSeconds"] * 1000
        self._allows_silence = chosen["withoutMetric"] == "Allow"
        # One text for all Nodes, without their temperatures: reasons are counted, and equal ones become one.
        unresolvable = Code.UNSCHEDULABLE_AND_UNRESOLVABLE  # evicting Pods does not change what was measured
        self._hot = Status(unresolvable, f"node(s) had a GPU hotter than {self._most} degrees Celsius")
        self._silent = Status(
            unresolvable, f"node(s) had no GPU temperature of the last {chosen['maxMetricAgeSeconds']} seconds"
        )

    # -- the cycle ---------------------------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        """Take the time once, so that all Nodes are judged at the same moment. Skip for Pods that want no GPU."""
        if not self._wants_gpu(pod):
            return None, SKIP
        state.write(_NOW, self._handle.now_ms)
        return None, SUCCESS

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        celsius = self._celsius(node.node, state.read(_NOW))
        if celsius is None:
            return SUCCESS if self._allows_silence else self._silent
        return SUCCESS if celsius <= self._most else self._hot

    def pre_score(self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]) -> Status:
        return SUCCESS if self._wants_gpu(pod) else SKIP

    def score(self, state: CycleState, pod: Object, node: NodeInfo) -> int:
        """The headroom: degrees below the limit. 0 where there is none, or nothing is known."""
        celsius = self._celsius(node.node, state.read(_NOW))
        return 0 if celsius is None else max(0, self._most - celsius)

    def normalize_score(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo], scores: list[int]
    ) -> list[int]:
        """The most headroom becomes 100, the others in proportion: one degree stays a small difference.

        (Stretching coolest to hottest over 0 to 100 would make 60 and 61 degrees as different as 20 and 85.)
        """
        return default_normalize_score(scores, reverse=False)

    # -- coming back -------------------------------------------------------------------------------

    def events_to_register(self) -> list[ClusterEventWithHint]:
        event = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ANNOTATION)
        return [ClusterEventWithHint(event, self._after_node_change)]

    def _after_node_change(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        """It helps when the Node would pass now and, with what was known of it before, would not."""
        if new is None or not self._passes(new):
            return QueueingHint.QUEUE_SKIP
        return QueueingHint.of(old is None or not self._passes(old))

    # -- inside ------------------------------------------------------------------------------------

    def _passes(self, node: Object) -> bool:
        celsius = self._celsius(node, self._handle.now_ms)
        return self._allows_silence if celsius is None else celsius <= self._most

    def _celsius(self, node: Object | None, now_ms: int) -> int | None:
        """What was reported, if that is recent. None: nothing, nothing readable, or nothing recent.

        A report from the future (its clock is ahead) is as good as one from as long ago.
        """
        annotations = ((node or {}).get("metadata") or {}).get("annotations") or {}
        text, measured_at = annotations.get(TEMPERATURE), _moment(annotations.get(MEASURED_AT))
        if text is None or measured_at is None or not _DEGREES.fullmatch(text):
            return None
        return int(text) if abs(now_ms - measured_at) <= self._max_age_ms else None

    def _wants_gpu(self, pod: Object) -> bool:
        amount = pod_requests(pod).get(self._resource)
        return amount is not None and amount.sign > 0


def _moment(text: str | None) -> int | None:
    """The time an agent wrote; None for none, and for what is no time: the Node is not ours to refuse."""
    if text is None:
        return None
    try:
        return parse_time(text)
    except ValueError:
        return None


def _check(args: Mapping[str, Any]) -> None:
    for field in args:
        if field not in _DEFAULTS:
            raise ValueError(f"args.{field}: unknown, expected {', '.join(_DEFAULTS)}")
    for field, least in (("maxTemperatureCelsius", 1), ("maxMetricAgeSeconds", 1)):
        value = args.get(field, least)
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError(f"args.{field}: {value!r}, expected an integer of {least} or more")
    policy = args.get("withoutMetric", _POLICIES[0])
    if policy not in _POLICIES:
        raise ValueError(f"args.withoutMetric: {policy!r}, expected {' or '.join(_POLICIES)}")
    resource = args.get("resourceName", _DEFAULTS["resourceName"])
    if not isinstance(resource, str) or not is_extended_resource(resource):
        raise ValueError(f"args.resourceName: {resource!r}, expected an extended resource such as nvidia.com/gpu")
