"""Score Nodes by how full they would be: the strategies of NodeResourcesFit.

All arithmetic is Go's: int64, division towards zero (every operand here is 0 or more, so `//` does it).

Upstream: pkg/scheduler/framework/plugins/noderesources/resource_allocation.go, least_allocated.go,
most_allocated.go, requested_to_capacity_ratio.go; pkg/scheduler/framework/plugins/helper/shape_score.go
Simplified: resources served through DRA are not scored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.api.pod_requests import pod_requests
from k8slab.scheduler.framework import (
    MAX_NODE_SCORE,
    NON_MISSING_REQUESTS,
    NodeInfo,
    Resource,
    is_scalar_resource,
)

__all__ = [
    "NodeScorer",
    "ResourceSpec",
    "Scorer",
    "broken_linear",
    "fractions_of",
    "general_scorer",
    "least_requested",
    "most_requested",
    "pod_request_list",
    "requested_and_allocatable",
    "resource_specs",
    "strategy_scorer",
]

Scorer = Callable[[Sequence[int], Sequence[int]], int]
"""(requested, allocatable) per configured resource -> score. Allocatable 0: leave that resource out."""

NodeScorer = Callable[[NodeInfo, Sequence[int]], int]
"""(Node, what the Pod asks of each configured resource) -> score."""

MAX_CUSTOM_PRIORITY_SCORE = 10


class ResourceSpec(NamedTuple):
    """A resource the score looks at, and its weight."""

    name: str
    weight: int


_DEFAULT_RESOURCES = (ResourceSpec("cpu", 1), ResourceSpec("memory", 1))


def resource_specs(configured: Sequence[Mapping[str, Any]] | None) -> tuple[ResourceSpec, ...]:
    """The resources of a plugin's args; cpu and memory, weight 1 each, when none are given."""
    if not configured:
        return _DEFAULT_RESOURCES
    return tuple(ResourceSpec(entry["name"], entry.get("weight") or 1) for entry in configured)


def pod_request_list(pod: Object, specs: Sequence[ResourceSpec], *, defaults: bool, pod_level: bool) -> tuple[int, ...]:
    """What the incoming Pod asks of each resource.

    `defaults`: containers that say nothing count as 100m and 200Mi. `pod_level`: whether pod-level resources count.
    """
    requests = Resource.of(
        pod_requests(
            pod,
            non_missing_container_requests=NON_MISSING_REQUESTS if defaults else {},
            skip_pod_level_resources=not pod_level,
        )
    )
    return tuple(requests.get(spec.name) for spec in specs)


def requested_and_allocatable(
    specs: Sequence[ResourceSpec], pod_requests: Sequence[int], node: NodeInfo, *, non_zero: bool
) -> tuple[list[int], list[int]]:
    """Per resource: what would be requested on the Node with the Pod there, and what the Node has.

    `non_zero`: count the neighbours with defaults. A named resource the Pod does not ask for is left out (0, 0).
    """
    requested, allocatable = [], []
    has, used = node.allocatable, node.requested
    for (name, _), amount in zip(specs, pod_requests, strict=True):
        if name == "cpu":
            capacity = has.milli_cpu
            total = (node.non_zero_cpu if non_zero else used.milli_cpu) + amount
        elif name == "memory":
            capacity = has.memory
            total = (node.non_zero_memory if non_zero else used.memory) + amount
        elif amount == 0 and is_scalar_resource(name):
            capacity = total = 0
        else:
            capacity, total = has.get(name), used.get(name) + amount
        allocatable.append(capacity)
        requested.append(total if capacity else 0)
    return requested, allocatable


def least_requested(requested: int, capacity: int) -> int:
    """100 for an empty Node, 0 for a full (or over-full) one."""
    if capacity == 0 or requested > capacity:
        return 0
    return (capacity - requested) * MAX_NODE_SCORE // capacity


def most_requested(requested: int, capacity: int) -> int:
    """0 for an empty Node, 100 for a full (or over-full) one."""
    if capacity == 0:
        return 0
    return min(requested, capacity) * MAX_NODE_SCORE // capacity


def _weighted_mean(specs: Sequence[ResourceSpec], one: Callable[[int, int], int]) -> Scorer:
    weights = [spec.weight for spec in specs]

    def score(requested: Sequence[int], allocatable: Sequence[int]) -> int:
        total = weight_sum = 0
        for weight, amount, capacity in zip(weights, requested, allocatable, strict=True):
            if capacity:
                total += one(amount, capacity) * weight
                weight_sum += weight
        return total // weight_sum if weight_sum else 0

    return score


def _truncated(numerator: int, denominator: int) -> int:
    """Go's integer division: towards zero."""
    quotient = abs(numerator) // abs(denominator)
    return quotient if (numerator < 0) == (denominator < 0) else -quotient


def broken_linear(shape: Sequence[tuple[int, int]]) -> Callable[[int], int]:
    """The function through these (utilization, score) points, flat before the first and after the last.

    >>> [broken_linear([(0, 0), (50, 100), (100, 20)])(x) for x in (-5, 25, 75, 200)]
    [0, 50, 60, 20]
    """

    def at(utilization: int) -> int:
        for index, (x, y) in enumerate(shape):
            if utilization <= x:
                if index == 0:
                    return y
                x0, y0 = shape[index - 1]
                return y0 + _truncated((y - y0) * (utilization - x0), x - x0)
        return shape[-1][1]

    return at


def _requested_to_capacity_ratio(specs: Sequence[ResourceSpec], shape: Sequence[tuple[int, int]]) -> Scorer:
    curve = broken_linear([(x, y * (MAX_NODE_SCORE // MAX_CUSTOM_PRIORITY_SCORE)) for x, y in shape])

    def score(requested: Sequence[int], allocatable: Sequence[int]) -> int:
        total = weight_sum = 0
        for (_, weight), amount, capacity in zip(specs, requested, allocatable, strict=True):
            if capacity == 0:
                continue
            one = curve(100 if amount > capacity else amount * 100 // capacity)
            if one > 0:  # a resource that scores 0 is left out of the mean, weight and all
                total += one * weight
                weight_sum += weight
        # math.Round: halves away from zero; the mean is never negative.
        return int(total / weight_sum + 0.5) if weight_sum else 0

    return score


def _shape(strategy: Mapping[str, Any]) -> list[tuple[int, int]]:
    points = strategy["requestedToCapacityRatio"]["shape"]
    return [(point["utilization"], point["score"]) for point in points]


def strategy_scorer(strategy: Mapping[str, Any], specs: Sequence[ResourceSpec]) -> NodeScorer:
    """The scorer that `scoringStrategy` of NodeResourcesFitArgs names."""
    if strategy["type"] == "LeastAllocated":
        if [spec.name for spec in specs] == ["cpu", "memory"]:
            return _least_allocated_cpu_and_memory(specs)
        return general_scorer(specs, _weighted_mean(specs, least_requested))
    if strategy["type"] == "MostAllocated":
        return general_scorer(specs, _weighted_mean(specs, most_requested))
    return general_scorer(specs, _requested_to_capacity_ratio(specs, _shape(strategy)))


def general_scorer(specs: Sequence[ResourceSpec], scorer: Scorer) -> NodeScorer:
    """`scorer` for any list of resources."""

    def score(node: NodeInfo, requests: Sequence[int]) -> int:
        return scorer(*requested_and_allocatable(specs, requests, node, non_zero=True))

    return score


def _least_allocated_cpu_and_memory(specs: Sequence[ResourceSpec]) -> NodeScorer:
    """The default strategy over the default resources, written out: it runs for every feasible Node of every Pod.

    A property test holds it equal to the general form.
    """
    cpu_weight, memory_weight = (spec.weight for spec in specs)
    both = cpu_weight + memory_weight
    general = general_scorer(specs, _weighted_mean(specs, least_requested))

    def score(node: NodeInfo, requests: Sequence[int]) -> int:
        has = node.allocatable
        cpu, memory = has.milli_cpu, has.memory
        if not (cpu and memory):
            return general(node, requests)
        free_cpu = cpu - node.non_zero_cpu - requests[0]
        free_memory = memory - node.non_zero_memory - requests[1]
        of_cpu = free_cpu * MAX_NODE_SCORE // cpu if free_cpu > 0 else 0
        of_memory = free_memory * MAX_NODE_SCORE // memory if free_memory > 0 else 0
        return (of_cpu * cpu_weight + of_memory * memory_weight) // both

    return score


def fractions_of(requested: Sequence[int], allocatable: Sequence[int]) -> list[float]:
    """Requested over allocatable, at most 1, for the resources the Node has."""
    return [min(amount / capacity, 1.0) for amount, capacity in zip(requested, allocatable, strict=True) if capacity]
