"""From what the metrics ask for to what is written: stabilization windows, rates, and the bounds of the spec.

>>> history = History()
>>> bounds = Bounds(min_replicas=1, max_replicas=20)
>>> [history.normalize(bounds, 6, wanted, now_ms=t).replicas for t, wanted in ((0, 6), (15_000, 2), (299_999, 2))]
[6, 6, 6]
>>> history.normalize(bounds, 6, 2, now_ms=300_001).replicas      # the 6 of t=0 has left the window of 300 s
2

A window does not wait: of all recommendations in it the highest counts on the way down, the lowest on the way up.

Upstream: pkg/controller/podautoscaler/horizontal.go (normalizeDesiredReplicas, normalizeDesiredReplicasWithBehaviors,
stabilizeRecommendation, stabilizeRecommendationWithBehaviors, convertDesiredReplicasWithRules,
convertDesiredReplicasWithBehaviorRate, storeScaleEvent), v1.36
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.autoscaling.hpa.conditions import Condition
from k8slab.autoscaling.hpa.scaling_rules import (
    ScaleEvent,
    ScalingRules,
    plain_scale_up_limit,
    scale_down_limit,
    scale_up_limit,
)

__all__ = ["Behavior", "Bounds", "History", "Normalized", "Recommendation"]

DOWNSCALE_STABILIZATION_MS = 300_000

WITHIN = ("DesiredWithinRange", "the desired count is within the acceptable range")
UP_LIMIT = ("ScaleUpLimit", "the desired replica count is increasing faster than the maximum scale rate")
DOWN_LIMIT = ("ScaleDownLimit", "the desired replica count is decreasing faster than the maximum scale rate")
TOO_MANY = ("TooManyReplicas", "the desired replica count is more than the maximum replica count")
TOO_FEW = ("TooFewReplicas", "the desired replica count is less than the minimum replica count")
READY = ("ReadyForNewScale", "recommended size matches current size")
UP_STABILIZED = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
)
DOWN_STABILIZED = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
)


class Recommendation(NamedTuple):
    """What the metrics asked for at a moment, before windows and bounds."""

    replicas: int
    at_ms: int


class Behavior(NamedTuple):
    """Both halves of `spec.behavior`, after defaulting."""

    scale_up: ScalingRules
    scale_down: ScalingRules

    @classmethod
    def of(cls, behavior: Object) -> Behavior:
        return cls(ScalingRules.of(behavior.get("scaleUp") or {}), ScalingRules.of(behavior.get("scaleDown") or {}))


class Bounds(NamedTuple):
    """What the spec allows. `behavior` None: twice as many at most on the way up, the controller's window down."""

    min_replicas: int
    max_replicas: int
    behavior: Behavior | None = None

    @classmethod
    def of(cls, spec: Object) -> Bounds:
        """The bounds of a HorizontalPodAutoscaler's spec, as defaulted."""
        behavior, least = spec.get("behavior"), spec.get("minReplicas")
        return cls(
            1 if least is None else least, spec["maxReplicas"], None if behavior is None else Behavior.of(behavior)
        )


class Normalized(NamedTuple):
    """`replicas` to set. `stabilized`: after the window, before rates and bounds."""

    replicas: int
    stabilized: int
    able_to_scale: Condition
    scaling_limited: Condition


@dataclass(slots=True)
class History:
    """What one autoscaler remembers: its recommendations, and the changes it made.

    It lives in the memory of the controller: a restart forgets it. Entries that are too old are overwritten in place,
    so that the lists do not grow.
    """

    downscale_stabilization_ms: int = DOWNSCALE_STABILIZATION_MS
    recommendations: list[Recommendation] = field(default_factory=list)
    ups: list[ScaleEvent] = field(default_factory=list)
    downs: list[ScaleEvent] = field(default_factory=list)

    def record_initial(self, current: int, now_ms: int) -> None:
        """The first thing that is remembered is how many replicas were found."""
        if not self.recommendations:
            self.recommendations.append(Recommendation(current, now_ms))

    def normalize(self, bounds: Bounds, current: int, desired: int, *, now_ms: int) -> Normalized:
        """The count to set for what the metrics ask for, which is remembered."""
        if bounds.behavior is None:
            stabilized = self._stabilize(desired, now_ms)
            stabilization = DOWN_STABILIZED
            replicas, limited = _within_bounds(bounds, current, stabilized)
        else:
            stabilized, stabilization = self._stabilize_both(bounds.behavior, current, desired, now_ms)
            replicas, limited = self._within_rates(bounds, bounds.behavior, current, stabilized, now_ms)
        able = READY if stabilized == desired else stabilization
        return Normalized(
            replicas,
            stabilized,
            Condition("AbleToScale", "True", *able),
            Condition("ScalingLimited", "False" if replicas == stabilized else "True", *limited),
        )

    def store_scale_event(self, behavior: Behavior | None, before: int, after: int, now_ms: int) -> None:
        """Remember a change that was made, for as long as a policy may ask; without a behavior nobody asks."""
        if behavior is None:
            return
        grew = after > before
        events = self.ups if grew else self.downs
        rules = behavior.scale_up if grew else behavior.scale_down
        cutoff = now_ms - 1000 * rules.longest_period_seconds
        events[:] = [event._replace(is_outdated=event.is_outdated or event.at_ms < cutoff) for event in events]
        _put(events, ScaleEvent(abs(after - before), now_ms), lambda event: event.is_outdated)

    # -- windows -----------------------------------------------------------------------------------------

    def _stabilize(self, desired: int, now_ms: int) -> int:
        """The highest recommendation that is not older than the controller's window."""
        cutoff = now_ms - self.downscale_stabilization_ms
        highest = max([desired, *(one.replicas for one in self.recommendations if one.at_ms >= cutoff)])
        _put(self.recommendations, Recommendation(desired, now_ms), lambda one: one.at_ms < cutoff)
        return highest

    def _stabilize_both(
        self, behavior: Behavior, current: int, desired: int, now_ms: int
    ) -> tuple[int, tuple[str, str]]:
        """The present count, moved no further than the lowest recommendation of the window up, and the highest of the
        window down, ask."""
        up_cutoff = now_ms - 1000 * (behavior.scale_up.stabilization_window_seconds or 0)
        down_cutoff = now_ms - self._down_window_ms(behavior)
        lowest = min([desired, *(one.replicas for one in self.recommendations if one.at_ms > up_cutoff)])
        highest = max([desired, *(one.replicas for one in self.recommendations if one.at_ms > down_cutoff)])
        _put(
            self.recommendations,
            Recommendation(desired, now_ms),
            lambda one: one.at_ms < up_cutoff and one.at_ms < down_cutoff,
        )
        stabilized = min(max(current, lowest), highest)
        return stabilized, UP_STABILIZED if desired >= current else DOWN_STABILIZED

    def _down_window_ms(self, behavior: Behavior) -> int:
        seconds = behavior.scale_down.stabilization_window_seconds
        return self.downscale_stabilization_ms // 1000 * 1000 if seconds is None else 1000 * seconds

    # -- rates -------------------------------------------------------------------------------------------

    def _within_rates(
        self, bounds: Bounds, behavior: Behavior, current: int, desired: int, now_ms: int
    ) -> tuple[int, tuple[str, str]]:
        if desired > current:
            limit = max(current, scale_up_limit(current, self.ups, self.downs, behavior.scale_up, now_ms))
            allowed, why = (limit, UP_LIMIT) if bounds.max_replicas > limit else (bounds.max_replicas, TOO_MANY)
            if desired > allowed:
                return allowed, why
        elif desired < current:
            limit = min(current, scale_down_limit(current, self.ups, self.downs, behavior.scale_down, now_ms))
            allowed, why = (limit, DOWN_LIMIT) if bounds.min_replicas < limit else (bounds.min_replicas, TOO_FEW)
            if desired < allowed:
                return allowed, why
        return desired, WITHIN

    def view(self) -> dict[str, Any]:
        """Its state as keyed maps, for a picture."""
        return {
            "recommendations": {str(one.at_ms): one.replicas for one in sorted(self.recommendations, key=_time)},
            "ups": {str(one.at_ms): one.replica_change for one in sorted(self.ups, key=_time)},
            "downs": {str(one.at_ms): one.replica_change for one in sorted(self.downs, key=_time)},
        }

    def check_invariants(self) -> None:
        """AssertionError names what is broken."""
        for event in (*self.ups, *self.downs):
            assert event.replica_change > 0, f"a change by {event.replica_change} replicas is remembered"
        for one in self.recommendations:
            assert one.replicas >= 0, f"a recommendation of {one.replicas} replicas is remembered"


def _time(entry: Any) -> int:
    at_ms: int = entry.at_ms
    return at_ms


def _within_bounds(bounds: Bounds, current: int, desired: int) -> tuple[int, tuple[str, str]]:
    limit = plain_scale_up_limit(current)
    allowed, why = (limit, UP_LIMIT) if bounds.max_replicas > limit else (bounds.max_replicas, TOO_MANY)
    if desired < bounds.min_replicas:
        return bounds.min_replicas, TOO_FEW
    if desired > allowed:
        return allowed, why
    return desired, WITHIN


def _put(entries: list[Any], new: Any, is_old: Any) -> None:
    """In the place of the last entry that is too old; at the end when there is none."""
    for index in range(len(entries) - 1, -1, -1):
        if is_old(entries[index]):
            entries[index] = new
            return
    entries.append(new)
