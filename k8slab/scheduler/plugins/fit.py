"""Filter: does the Node have what the Pod asks for? Score: by how full it would be.

Upstream: pkg/scheduler/framework/plugins/noderesources/fit.go
Simplified: resources served through DRA are not considered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.api.pod_requests import pod_requests
from k8slab.scheduler.config_args import with_defaults
from k8slab.scheduler.framework import (
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
    Resource,
    Status,
    is_extended_resource,
)
from k8slab.scheduler.nominator import nominated_node_name
from k8slab.scheduler.plugins.resource_allocation import (
    pod_request_list,
    resource_specs,
    strategy_scorer,
)

__all__ = ["Fit", "InsufficientResource", "sign_resources"]

_FILTER_STATE = "PreFilterNodeResourcesFit"
_SCORE_STATE = "PreScoreNodeResourcesFit"

InsufficientResource = tuple[str, bool]
"""(reason, whether not even the empty Node would do)."""


def insufficient_resources(
    request: Resource,
    node: NodeInfo,
    ignored: frozenset[str] = frozenset(),
    ignored_groups: frozenset[str] = frozenset(),
) -> list[InsufficientResource]:
    """What `node` lacks for `request`, in upstream's order; empty: it fits."""
    lacking: list[InsufficientResource] = []
    has, used = node.allocatable, node.requested
    if len(node.pods) + 1 > has.allowed_pod_number:
        lacking.append(("Too many pods", False))
    if request.milli_cpu > 0 and request.milli_cpu > has.milli_cpu - used.milli_cpu:
        lacking.append(("Insufficient cpu", request.milli_cpu > has.milli_cpu))
    if request.memory > 0 and request.memory > has.memory - used.memory:
        lacking.append(("Insufficient memory", request.memory > has.memory))
    if request.ephemeral_storage > 0 and request.ephemeral_storage > has.ephemeral_storage - used.ephemeral_storage:
        lacking.append(("Insufficient ephemeral-storage", request.ephemeral_storage > has.ephemeral_storage))
    for name, amount in request.scalar.items():
        if amount == 0 or (is_extended_resource(name) and (name in ignored or name.split("/", 1)[0] in ignored_groups)):
            continue
        if amount > has.scalar.get(name, 0) - used.scalar.get(name, 0):
            lacking.append((f"Insufficient {name}", amount > has.scalar.get(name, 0)))
    return lacking


def sign_resources(pod: Object) -> Any:
    """All that requests are worked out from."""
    spec = pod["spec"]
    lists = ([(c.get("resources"), c.get("restartPolicy")) for c in spec.get(part) or ()] for part in _CONTAINERS)
    return [*lists, spec.get("overhead"), spec.get("resources")]


_CONTAINERS = ("initContainers", "containers")


class Fit:
    """Args: `ignoredResources`, `ignoredResourceGroups`, `scoringStrategy` (type, resources, shape)."""

    name = "NodeResourcesFit"
    node_local = True

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        args = with_defaults("NodeResourcesFit", args, FeatureGates())
        strategy: Mapping[str, Any] = args["scoringStrategy"]
        self._scales = handle.features.enabled("InPlacePodVerticalScaling")
        self._ignored = frozenset(args.get("ignoredResources") or ())
        self._ignored_groups = frozenset(args.get("ignoredResourceGroups") or ())
        self._specs = resource_specs(strategy.get("resources"))
        self._score = strategy_scorer(strategy, self._specs)

    def pre_filter(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        state.write(_FILTER_STATE, Resource.of(pod_requests(pod)))
        return None, SUCCESS

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        request: Resource = state.read(_FILTER_STATE)
        has, used = node.allocatable, node.requested
        if (  # the usual case, without a list: there is more than enough of what Pods usually ask for
            request.milli_cpu <= has.milli_cpu - used.milli_cpu
            and request.memory <= has.memory - used.memory
            and len(node.pods) < has.allowed_pod_number
            and not request.ephemeral_storage
            and not request.scalar
        ):
            return SUCCESS
        lacking = insufficient_resources(request, node, self._ignored, self._ignored_groups)
        if not lacking:
            return SUCCESS
        hopeless = any(unresolvable for _, unresolvable in lacking)
        code = Code.UNSCHEDULABLE_AND_UNRESOLVABLE if hopeless else Code.UNSCHEDULABLE
        return Status(code, *(reason for reason, _ in lacking), plugin=self.name)

    def pre_score(self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]) -> Status:
        # Pod-level resources of the incoming Pod do not count here (upstream's scorer is built without them).
        state.write(_SCORE_STATE, pod_request_list(pod, self._specs, defaults=True, pod_level=False))
        return SUCCESS

    def score(self, state: CycleState, pod: Object, node: NodeInfo) -> int:
        return self._score(node, state.read(_SCORE_STATE))

    def sign_pod(self, pod: Object) -> Mapping[str, Any]:
        return {"resources()": sign_resources(pod)}

    def events_to_register(self) -> list[ClusterEventWithHint]:
        deleted = ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)
        scaled = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_SCALE_DOWN)
        node = ClusterEvent(EventResource.NODE, ActionType.ADD | ActionType.UPDATE_NODE_ALLOCATABLE)
        return [
            ClusterEventWithHint(deleted, self._after_pod_deleted),
            *([ClusterEventWithHint(scaled, self._after_scale_down)] if self._scales else []),
            ClusterEventWithHint(node, self._after_node_change),
        ]

    def _after_pod_deleted(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        """It helps when the Pod took room: on its Node, or on the one it was nominated for."""
        took_room = old is not None and (old["spec"].get("nodeName") or nominated_node_name(old))
        return QueueingHint.of(took_room)

    def _after_scale_down(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        """A Pod asks for less: it helps when that is the rejected Pod itself, or frees what it asks for."""
        if old is None or new is None:
            return QueueingHint.QUEUE_SKIP
        if new["metadata"].get("uid") == pod["metadata"].get("uid"):
            return QueueingHint.QUEUE
        before, after = Resource.of(pod_requests(old)), Resource.of(pod_requests(new))
        wanted = Resource.of(pod_requests(pod)).as_dict()
        freed = any(before.get(name) > after.get(name) for name in wanted)
        return QueueingHint.of(freed and new["spec"].get("nodeName"))

    def _after_node_change(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        """It helps when the empty Node could hold the Pod, and has more of something than before."""
        if new is None:
            return QueueingHint.QUEUE_SKIP
        wanted = Resource.of(pod_requests(pod))
        now = NodeInfo.of(new)
        if insufficient_resources(wanted, now, self._ignored, self._ignored_groups):
            return QueueingHint.QUEUE_SKIP
        if old is None:
            return QueueingHint.QUEUE
        before = NodeInfo.of(old).allocatable
        more = now.allocatable.allowed_pod_number > before.allowed_pod_number or any(
            now.allocatable.get(name) > before.get(name) for name in wanted.as_dict()
        )
        return QueueingHint.of(more)
