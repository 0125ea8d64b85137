"""The three conditions of an autoscaler: AbleToScale, ScalingActive, ScalingLimited.

>>> from k8slab.autoscaling.hpa.conditions import Condition, set_condition
>>> first = set_condition([], Condition("AbleToScale", "True", "SucceededGetScale", "it was"), "2000-01-01T00:00:00Z")
>>> again = set_condition(first, Condition("AbleToScale", "True", "ReadyForNewScale", "it is"), "2000-01-01T00:00:15Z")
>>> again[0]["reason"], again[0]["lastTransitionTime"]
('ReadyForNewScale', '2000-01-01T00:00:00Z')

Upstream: pkg/controller/podautoscaler/horizontal.go (setConditionInList)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

__all__ = ["Condition", "Said", "set_condition"]


class Condition(NamedTuple):
    type: str
    status: str
    reason: str
    message: str


class Said(NamedTuple):
    """An Event about the autoscaler that is to be recorded. `type`: Normal or Warning."""

    type: str
    reason: str
    message: str


def set_condition(conditions: Sequence[Any], new: Condition, now: str) -> list[Any]:
    """`conditions` with `new` in the place of the one of its type, or at the end; only a new status has a new time."""
    entry = {
        "type": new.type,
        "status": new.status,
        "lastTransitionTime": now,
        "reason": new.reason,
        "message": new.message,
    }
    for index, old in enumerate(conditions):
        if old["type"] == new.type:
            if old.get("status") == new.status and "lastTransitionTime" in old:
                entry["lastTransitionTime"] = old["lastTransitionTime"]
            return [*conditions[:index], entry, *conditions[index + 1 :]]
    return [*conditions, entry]
