"""How far one decision may go: policies over a period, of which the widest or the narrowest counts.

>>> rules = ScalingRules.of({"selectPolicy": "Max", "policies": [
...     {"type": "Pods", "value": 4, "periodSeconds": 15}, {"type": "Percent", "value": 100, "periodSeconds": 15}]})
>>> scale_up_limit(3, (), (), rules, now_ms=0), scale_up_limit(10, (), (), rules, now_ms=0)
(7, 20)
>>> added = (ScaleEvent(4, 10_000),)                     # of 7 replicas 4 are not older than 15 s
>>> scale_up_limit(7, added, (), rules, now_ms=20_000)
7

Upstream: pkg/controller/podautoscaler/horizontal.go (calculateScaleUpLimitWithScalingRules,
calculateScaleDownLimitWithBehaviors, getReplicasChangePerPeriod, calculateScaleUpLimit)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from k8slab.api.objects import Object
from k8slab.autoscaling.hpa.go_numbers import MAX_INT32, MIN_INT32, int32, wrap_int32

__all__ = [
    "Policy",
    "ScaleEvent",
    "ScalingRules",
    "changed_within",
    "plain_scale_up_limit",
    "scale_down_limit",
    "scale_up_limit",
]

SCALE_UP_LIMIT_FACTOR = 2.0
SCALE_UP_LIMIT_MINIMUM = 4.0


class ScaleEvent(NamedTuple):
    """A change that was made: by so many replicas (positive in both directions), at this moment. `is_outdated`: once
    it was older than all policies' periods; it stays so when they get longer, but still counts while it is there."""

    replica_change: int
    at_ms: int
    is_outdated: bool = False


class Policy(NamedTuple):
    """`type` Pods or Percent."""

    type: str
    value: int
    period_seconds: int


@dataclass(frozen=True, slots=True)
class ScalingRules:
    """`spec.behavior.scaleUp` or `scaleDown`, with its defaults. `stabilization_window_seconds` None: the
    controller's. `tolerance` None: the controller's."""

    select_policy: str
    policies: tuple[Policy, ...]
    stabilization_window_seconds: int | None = None

    @classmethod
    def of(cls, rules: Object) -> ScalingRules:
        policies = rules.get("policies") or ()
        return cls(
            select_policy=rules.get("selectPolicy") or "Max",
            policies=tuple(Policy(one["type"], one["value"], one["periodSeconds"]) for one in policies),
            stabilization_window_seconds=rules.get("stabilizationWindowSeconds"),
        )

    @property
    def longest_period_seconds(self) -> int:
        return max((policy.period_seconds for policy in self.policies), default=0)


def changed_within(period_seconds: int, events: Iterable[ScaleEvent], now_ms: int) -> int:
    """By how many replicas `events` changed the count in the last seconds; one exactly so old does not count."""
    cutoff = now_ms - 1000 * period_seconds
    return wrap_int32(sum(event.replica_change for event in events if event.at_ms > cutoff))


def plain_scale_up_limit(current: int) -> int:
    """Without a behavior: twice as many, at least 4."""
    return int32(max(SCALE_UP_LIMIT_FACTOR * current, SCALE_UP_LIMIT_MINIMUM))


def scale_up_limit(
    current: int, ups: Sequence[ScaleEvent], downs: Sequence[ScaleEvent], rules: ScalingRules, now_ms: int
) -> int:
    """The most replicas the rules allow now. May be below `current` while earlier changes are young."""
    if rules.select_policy == "Disabled":
        return current
    takes_least = rules.select_policy == "Min"
    result = MAX_INT32 if takes_least else MIN_INT32
    for policy in rules.policies:
        start = _period_start(current, ups, downs, policy, now_ms)
        proposed = wrap_int32(start + policy.value)
        if policy.type == "Percent":  # rounded up, lest a small count never grow
            proposed = int32(math.ceil(start * (1 + policy.value / 100)))
        result = min(result, proposed) if takes_least else max(result, proposed)
    return result


def scale_down_limit(
    current: int, ups: Sequence[ScaleEvent], downs: Sequence[ScaleEvent], rules: ScalingRules, now_ms: int
) -> int:
    """The fewest replicas the rules allow now. May be above `current` while earlier changes are young."""
    if rules.select_policy == "Disabled":
        return current
    takes_least = rules.select_policy == "Min"
    result = MIN_INT32 if takes_least else MAX_INT32
    for policy in rules.policies:
        start = _period_start(current, ups, downs, policy, now_ms)
        proposed = wrap_int32(start - policy.value)
        if policy.type == "Percent":
            proposed = int32(start * (1 - policy.value / 100))
        result = max(result, proposed) if takes_least else min(result, proposed)
    return result


def _period_start(
    current: int, ups: Sequence[ScaleEvent], downs: Sequence[ScaleEvent], policy: Policy, now_ms: int
) -> int:
    """How many replicas there were when the policy's period began."""
    period = policy.period_seconds
    return wrap_int32(current - changed_within(period, ups, now_ms) + changed_within(period, downs, now_ms))
