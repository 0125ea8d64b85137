"""Score: prefer Nodes whose resources would be used evenly.

From 1.36 on the score says how much the Pod improves the balance of the Node: 75 for no change, towards 100 when
it evens things out, towards 50 when it makes them worse. Until 1.35 it was the balance with the Pod there.

Upstream: pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go (changed by PR 135573, 130260)
Simplified: resources served through DRA are not scored; fractions are exact up to 2^53 bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.scheduler.framework import MAX_NODE_SCORE, SKIP, SUCCESS, CycleState, Handle, NodeInfo, Status
from k8slab.scheduler.plugins.fit import sign_resources
from k8slab.scheduler.plugins.resource_allocation import (
    fractions_of,
    pod_request_list,
    requested_and_allocatable,
    resource_specs,
)

__all__ = ["BalancedAllocation", "balance", "improvement"]

_HALF = MAX_NODE_SCORE // 2
_STATE = "PreScoreNodeResourcesBalancedAllocation"


def balance(requested: Sequence[int], allocatable: Sequence[int]) -> int:
    """(1 - standard deviation of the used fractions) * 100, cut off: 50 (one full, one empty) to 100 (all alike).

    >>> balance([1000, 1000], [4000, 4000]), balance([0, 4000], [4000, 4000])
    (100, 50)
    """
    fractions = fractions_of(requested, allocatable)
    if len(fractions) == 2:
        deviation = abs((fractions[0] - fractions[1]) / 2)
    elif len(fractions) > 2:
        mean = _sum(fractions) / len(fractions)
        deviation = math.sqrt(_sum([(f - mean) * (f - mean) for f in fractions]) / len(fractions))
    else:
        deviation = 0.0
    return int((1 - deviation) * MAX_NODE_SCORE)


def _of_cpu_and_memory(node: NodeInfo, cpu: int, memory: int, *, by_improvement: bool) -> int:
    """The score over CPU and memory, written out: it is the default, and runs for every Node and Pod."""
    has, used = node.allocatable, node.requested
    cpu_before, memory_before = used.milli_cpu / has.milli_cpu, used.memory / has.memory
    cpu_after, memory_after = (used.milli_cpu + cpu) / has.milli_cpu, (used.memory + memory) / has.memory
    if cpu_after > 1.0:
        cpu_after, cpu_before = 1.0, min(cpu_before, 1.0)
    if memory_after > 1.0:
        memory_after, memory_before = 1.0, min(memory_before, 1.0)
    with_pod = int((1 - abs((cpu_after - memory_after) / 2)) * MAX_NODE_SCORE)
    if not by_improvement:
        return with_pod
    without_pod = int((1 - abs((cpu_before - memory_before) / 2)) * MAX_NODE_SCORE)
    return _HALF + (_HALF + with_pod - without_pod) // 2


def _sum(values: Sequence[float]) -> float:
    """Left to right, one rounding a step, as Go does; the built-in `sum` of newer Pythons compensates."""
    total = 0.0
    for value in values:
        total += value
    return total


def improvement(with_pod: int, without_pod: int) -> int:
    """The 1.36 score from the balance with and without the Pod.

    >>> improvement(100, 100), improvement(100, 50), improvement(50, 100)
    (75, 100, 50)
    """
    return _HALF + (_HALF + with_pod - without_pod) // 2


class BalancedAllocation:
    """Args: `resources` (their weights are not used)."""

    name = "NodeResourcesBalancedAllocation"
    node_local = True

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        self._specs = resource_specs(args.get("resources"))
        self._cpu_and_memory = [spec.name for spec in self._specs] == ["cpu", "memory"]
        self._by_improvement = handle.features.at_least("1.36")
        self._skips_idle = handle.features.at_least("1.33")  # PR 130260

    def pre_score(self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]) -> Status:
        requests = pod_request_list(pod, self._specs, defaults=False, pod_level=True)
        if self._skips_idle and not any(requests):
            return SKIP  # a Pod that asks for nothing leaves every balance as it is
        state.write(_STATE, requests)
        return SUCCESS

    def score(self, state: CycleState, pod: Object, node: NodeInfo) -> int:
        requests: Sequence[int] = state.read(_STATE)
        if self._cpu_and_memory and node.allocatable.milli_cpu and node.allocatable.memory:
            return _of_cpu_and_memory(node, requests[0], requests[1], by_improvement=self._by_improvement)
        return self.general_score(requests, node)

    def general_score(self, requests: Sequence[int], node: NodeInfo) -> int:
        """The score for any list of resources."""
        requested, allocatable = requested_and_allocatable(self._specs, requests, node, non_zero=False)
        with_pod = balance(requested, allocatable)
        if not self._by_improvement:
            return with_pod
        before = [amount - of_pod for amount, of_pod in zip(requested, requests, strict=True)]
        return improvement(with_pod, balance(before, allocatable))

    def sign_pod(self, pod: Object) -> Mapping[str, Any]:
        return {"resources()": sign_resources(pod)}
