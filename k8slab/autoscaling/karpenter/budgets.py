"""Disruption budgets of a NodePool: how many of its nodes may go at once, now and for this reason.

>>> from k8slab.autoscaling.karpenter import Budget
>>> Budget.parse({"nodes": "20%"}, "budgets[0]").allowed(now_ms=0, nodes=19)
4

Upstream: kubernetes-sigs/karpenter pkg/apis/v1/nodepool.go (Budget), website concepts/disruption.md (NodePool
Disruption Budgets)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from k8slab.api.cron import CronSchedule
from k8slab.api.go_duration import parse_duration_ns
from k8slab.api.intstr import scaled_value

__all__ = ["DRIFTED", "EMPTY", "REASONS", "UNDERUTILIZED", "UNLIMITED", "Budget", "allowed_disruptions"]

UNDERUTILIZED = "Underutilized"
EMPTY = "Empty"
DRIFTED = "Drifted"
REASONS = (UNDERUTILIZED, EMPTY, DRIFTED)

UNLIMITED = (1 << 31) - 1
"""What a budget allows that is not active (math.MaxInt32)."""

_NODES = re.compile(r"(100|[0-9]{1,2})%|[0-9]+", re.ASCII)
_DURATION = re.compile(r"(([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?", re.ASCII)
_KEYS = ("nodes", "schedule", "duration", "reasons")


@dataclass(frozen=True, slots=True)
class Budget:
    """`nodes`: a number or a percentage. With a `schedule` it is active for `duration_ms` after each of its moments."""

    nodes: str = "10%"
    reasons: tuple[str, ...] | None = None
    schedule: CronSchedule | None = None
    duration_ms: int = 0

    @classmethod
    def parse(cls, raw: Mapping[str, Any], path: str) -> Budget:
        """An entry of `spec.disruption.budgets`. ValueError that names the field."""
        if not isinstance(raw, Mapping):
            raise TypeError(f"{path}: {raw!r}: expected a mapping with nodes")
        for key in raw:
            if key not in _KEYS:
                raise ValueError(f"{path}: unknown field {key!r}, expected one of {', '.join(_KEYS)}")
        raw = {key: value for key, value in raw.items() if value is not None}  # a null is no value, as in any object
        nodes = raw.get("nodes", "10%")
        if not isinstance(nodes, str) or not _NODES.fullmatch(nodes):
            raise ValueError(f"{path}.nodes: Invalid value: {nodes!r}: expected a text such as '3' or '10%'")
        reasons = raw.get("reasons")
        if reasons is not None and not isinstance(reasons, (list, tuple)):
            raise TypeError(f"{path}.reasons: {reasons!r}: expected a list of strings")
        for reason in reasons or ():
            if reason not in REASONS:
                raise ValueError(f"{path}.reasons: Unsupported value: {reason!r}: expected one of {', '.join(REASONS)}")
        if ("schedule" in raw) != ("duration" in raw):
            raise ValueError(f"{path}: Invalid value: 'schedule' must be set with 'duration'")
        schedule, duration_ms = None, 0
        if "schedule" in raw:
            if not isinstance(raw["schedule"], str):
                raise TypeError(f"{path}.schedule: {raw['schedule']!r}: expected a string")
            try:
                schedule = CronSchedule.parse(raw["schedule"])
            except ValueError as error:
                raise ValueError(f"{path}.schedule: Invalid value: {raw['schedule']!r}: {error}") from None
            if not _DURATION.fullmatch(str(raw["duration"])):
                raise ValueError(
                    f"{path}.duration: Invalid value: {raw['duration']!r}: expected hours, minutes, or both"
                )
            try:
                duration_ms = parse_duration_ns(raw["duration"]) // 1_000_000
            except ValueError as error:  # longer than Go's int64
                raise ValueError(f"{path}.duration: Invalid value: {raw['duration']!r}: {error}") from None
        return cls(nodes, None if reasons is None else tuple(reasons), schedule, duration_ms)

    def is_active(self, now_ms: int) -> bool:
        """Whether a moment of the schedule lies in the last `duration_ms`; always, when there is no schedule."""
        if self.schedule is None:
            return True
        hit = self.schedule.next_ms(now_ms - self.duration_ms)
        return hit is None or hit <= now_ms  # a schedule that never comes is active forever, as upstream's zero time is

    def allowed(self, now_ms: int, nodes: int) -> int:
        """How many of `nodes` may be disrupted at once; percentages are rounded up."""
        if not self.is_active(now_ms):
            return UNLIMITED
        return scaled_value(self.nodes if self.nodes.endswith("%") else int(self.nodes), nodes, round_up=True)

    def applies_to(self, reason: str) -> bool:
        """A budget without reasons is for all of them."""
        return self.reasons is None or reason in self.reasons


def allowed_disruptions(budgets: Iterable[Budget], reason: str, now_ms: int, nodes: int) -> int:
    """What the strictest budget for this reason allows; `UNLIMITED` when none is for it."""
    return min((one.allowed(now_ms, nodes) for one in budgets if one.applies_to(reason)), default=UNLIMITED)
