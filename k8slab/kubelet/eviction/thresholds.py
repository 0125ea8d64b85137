"""Thresholds: parsed from the kubelet's configuration, compared with observations, held through grace periods.

>>> from k8slab.kubelet.eviction import parse_threshold_config
>>> for threshold in parse_threshold_config(
...     hard={"memory.available": "100Mi"},
...     soft={"memory.available": "10%"}, soft_grace_period={"memory.available": "1m30s"},
... ):
...     print(threshold)
memory.available < 100Mi
memory.available < 10% for 1m30s

Upstream: pkg/kubelet/eviction/helpers.go, pkg/kubelet/eviction/api/types.go
Simplified: where upstream goes through a Go map, whose order is arbitrary (statements, thresholds whose grace period
has passed), this goes by the order in the configuration. A containerfs threshold is made only from a nodefs or imagefs
threshold that there is (upstream makes an empty one that is never met).
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from k8slab.api.go_duration import format_duration, parse_duration_ns
from k8slab.api.labels import go_quote
from k8slab.api.quantity import BINARY_SI, Quantity
from k8slab.kubelet.eviction.signals import CONDITION_OF, NODE_CONDITIONS, RESOURCE_OF, Observations, Signal

__all__ = [
    "Threshold",
    "ThresholdValue",
    "by_eviction_priority",
    "check_statements",
    "first_observed_at",
    "grace_period_met",
    "merge_thresholds",
    "node_conditions",
    "observed_since",
    "parse_threshold_config",
    "threshold_quantity",
    "thresholds_met",
    "update_container_fs_thresholds",
    "updated_stats",
]

LESS_THAN = "LessThan"
_DIGITS, _HEX_DIGITS = r"[0-9](?:_?[0-9])*", r"[0-9a-fA-F](?:_?[0-9a-fA-F])*"
_DECIMAL = re.compile(rf"[+-]?(?:{_DIGITS}\.?(?:{_DIGITS})?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?")
_HEXADECIMAL = re.compile(rf"[+-]?0[xX]_?(?:{_HEX_DIGITS}\.?(?:{_HEX_DIGITS})?|\.{_HEX_DIGITS})[pP][+-]?{_DIGITS}")
_WORDS = {"inf": math.inf, "infinity": math.inf, "nan": math.nan}


@dataclass(frozen=True, slots=True)
class ThresholdValue:
    """An amount, or (where `quantity` is None) a part of the capacity: `percentage`, a float32 from 0 to 1."""

    quantity: Quantity | None = None
    percentage: float = 0.0

    def __str__(self) -> str:
        return str(self.quantity) if self.quantity is not None else f"{self.percentage * 100:.6g}%"


@dataclass(frozen=True, slots=True)
class Threshold:
    """Met when less than `value` of the signal is available; acted on when that lasted for `grace_period_ns`."""

    signal: str
    value: ThresholdValue
    grace_period_ns: int = 0
    min_reclaim: ThresholdValue | None = None
    operator: str = LESS_THAN

    @property
    def is_hard(self) -> bool:
        """No grace period, whatever list of the configuration it comes from."""
        return self.grace_period_ns == 0

    @property
    def resource(self) -> str:
        return RESOURCE_OF[self.signal]

    def __str__(self) -> str:
        wait = "" if self.is_hard else f" for {format_duration(self.grace_period_ns)}"
        return f"{self.signal} < {self.value}{wait}"


# -- from the configuration ------------------------------------------------------------------------


def parse_threshold_config(
    enforce_node_allocatable: Iterable[str] = (),
    hard: Mapping[str, str] | None = None,
    soft: Mapping[str, str] | None = None,
    soft_grace_period: Mapping[str, str] | None = None,
    minimum_reclaim: Mapping[str, str] | None = None,
) -> list[Threshold]:
    """ParseThresholdConfig. ValueError with upstream's text for the first statement that is wrong.

    With "pods" enforced, the hard memory threshold counts for the memory of all Pods together, too.
    """
    results = _statements(hard or {})
    soft_ones = _statements(soft or {})
    graces = {signal: _grace_period(signal, text) for signal, text in (soft_grace_period or {}).items()}
    reclaims = {signal: _minimum_reclaim(signal, text) for signal, text in (minimum_reclaim or {}).items()}
    for threshold in soft_ones:
        if threshold.signal not in graces:
            raise ValueError(f"grace period must be specified for the soft eviction threshold {threshold.signal}")
        results.append(replace(threshold, grace_period_ns=graces[threshold.signal]))
    results = [replace(t, min_reclaim=reclaims.get(t.signal)) for t in results]
    if "pods" in enforce_node_allocatable:
        memory = [t for t in results if t.signal == Signal.MEMORY_AVAILABLE and t.is_hard]
        results += [replace(t, signal=Signal.ALLOCATABLE_MEMORY_AVAILABLE) for t in memory]
    return results


def _statements(statements: Mapping[str, str]) -> list[Threshold]:
    parsed = ((signal, _statement(signal, text)) for signal, text in statements.items())
    return [Threshold(signal, value) for signal, value in parsed if value is not None]


def _check_signal(signal: str) -> None:
    if signal not in RESOURCE_OF:
        raise ValueError(f"unsupported eviction signal {signal}")


def _statement(signal: str, text: str) -> ThresholdValue | None:
    """None: 0% and 100%, written like that, switch a threshold off."""
    _check_signal(signal)
    if text.endswith("%"):
        if text in ("0%", "100%"):
            return None
        percentage = _percentage(text)
        if percentage < 0:
            raise ValueError(f"eviction percentage threshold {signal} must be >= 0%: {text}")
        if percentage > 1:
            raise ValueError(f"eviction percentage threshold {signal} must be <= 100%: {text}")
        return ThresholdValue(percentage=percentage)
    amount = Quantity.parse(text)
    if amount.sign <= 0:
        raise ValueError(f"eviction threshold {signal} must be positive: {amount}")
    return ThresholdValue(amount)


def _grace_period(signal: str, text: str) -> int:
    _check_signal(signal)
    period = parse_duration_ns(text)
    if period < 0:
        raise ValueError(f"invalid eviction grace period specified: {text}, must be a positive value")
    return period


def _minimum_reclaim(signal: str, text: str) -> ThresholdValue:
    _check_signal(signal)
    if text.endswith("%"):
        percentage = _percentage(text)
        if percentage <= 0:
            raise ValueError(f"eviction percentage minimum reclaim {signal} must be positive: {text}")
        return ThresholdValue(percentage=percentage)
    amount = Quantity.parse(text)
    if amount.sign < 0:
        raise ValueError(f"negative eviction minimum reclaim specified for {signal}")
    return ThresholdValue(amount)


_STATEMENTS: dict[str, Callable[[str, str], object]] = {
    "evictionHard": _statement,
    "evictionSoft": _statement,
    "evictionSoftGracePeriod": _grace_period,
    "evictionMinimumReclaim": _minimum_reclaim,
}
"""The fields of a KubeletConfiguration that hold statements, in the order in which they are parsed."""


def check_statements(field: str, statements: Mapping[str, str]) -> None:
    """ValueError for the first that is wrong: its field, signal and value, and what upstream says of it."""
    for signal, text in statements.items():
        try:
            _STATEMENTS[field](signal, text)
        except ValueError as error:
            known = f", expected one of {', '.join(RESOURCE_OF)}" if signal not in RESOURCE_OF else ""
            raise ValueError(f"{field}: {signal}: {text!r}: {error}{known}") from None


def _percentage(text: str) -> float:
    """float32, as strconv.ParseFloat and a division by 100 leave it."""
    return _float32(_parse_float(text.rstrip("%")) / 100)


def _parse_float(text: str) -> float:
    bare = text[1:] if text[:1] in ("+", "-") else text
    word = _WORDS.get(bare.lower())
    if word is not None and not (math.isnan(word) and bare != text):
        return -word if text[0] == "-" else word
    if _DECIMAL.fullmatch(text):
        number = float(text)
    elif _HEXADECIMAL.fullmatch(text):
        number = _from_hexadecimal(text.replace("_", ""))
    else:
        raise ValueError(f"strconv.ParseFloat: parsing {go_quote(text)}: invalid syntax")
    try:
        number = _float32(number)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise ValueError(f"strconv.ParseFloat: parsing {go_quote(text)}: value out of range")
    return number


def _from_hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return math.inf


def _float32(number: float) -> float:
    return float(struct.unpack("f", struct.pack("f", number))[0])


def update_container_fs_thresholds(
    thresholds: Sequence[Threshold], *, image_fs: bool, separate_container_image_fs: bool
) -> list[Threshold]:
    """The thresholds with those of containerfs, which nobody sets: they follow nodefs, or imagefs where containers lie
    with the images on a disk of their own."""
    with_images = image_fs and not separate_container_image_fs
    source = {
        Signal.CONTAINER_FS_AVAILABLE: Signal.IMAGE_FS_AVAILABLE if with_images else Signal.NODE_FS_AVAILABLE,
        Signal.CONTAINER_FS_INODES_FREE: Signal.IMAGE_FS_INODES_FREE if with_images else Signal.NODE_FS_INODES_FREE,
    }
    own = [t for t in thresholds if t.signal not in source]
    made = []
    for signal, follows in source.items():
        for hard in (True, False):
            found = [t for t in own if t.signal == follows and t.is_hard == hard]
            made += [replace(t, signal=signal) for t in found[-1:]]
    return own + made


# -- compared with what is observed ----------------------------------------------------------------


def threshold_quantity(value: ThresholdValue, capacity: Quantity) -> Quantity:
    """The amount that a value means where there is `capacity`; the lowest int64 for more than that, as on amd64."""
    if value.quantity is not None:
        return value.quantity
    amount = float(capacity.value()) * value.percentage
    return Quantity(int(amount) if -(2.0**63) <= amount < 2.0**63 else -(1 << 63), 0, BINARY_SI)


def thresholds_met(
    thresholds: Iterable[Threshold], observations: Observations, *, enforce_min_reclaim: bool
) -> list[Threshold]:
    """Those that are crossed now, whatever their grace period; a signal that is not observed is not crossed.

    `enforce_min_reclaim`: what was crossed before counts until the minimum to reclaim is free on top.
    """
    met = []
    for threshold in thresholds:
        seen = observations.get(threshold.signal)
        if seen is None:
            continue
        bound = threshold_quantity(threshold.value, seen.capacity)
        if enforce_min_reclaim and threshold.min_reclaim is not None:
            bound = bound + threshold_quantity(threshold.min_reclaim, seen.capacity)
        if bound.cmp(seen.available) > 0:
            met.append(threshold)
    return met


def merge_thresholds(first: Sequence[Threshold], more: Iterable[Threshold]) -> list[Threshold]:
    """`first`, and of `more` those that are not in it (by signal, value and grace period)."""
    result = list(first)
    for threshold in more:
        if not any(_is_same(threshold, other) for other in result):
            result.append(threshold)
    return result


def _is_same(a: Threshold, b: Threshold) -> bool:
    return (a.signal, a.operator, a.value, a.grace_period_ns) == (b.signal, b.operator, b.value, b.grace_period_ns)


def updated_stats(thresholds: Iterable[Threshold], observations: Observations, before: Observations) -> list[Threshold]:
    """Those whose signal was measured again since `before`: nobody is evicted twice on one measurement."""
    updated = []
    for threshold in thresholds:
        seen, last = observations.get(threshold.signal), before.get(threshold.signal)
        if seen is None:
            continue
        if last is None or seen.time_ms is None or last.time_ms is None or seen.time_ms > last.time_ms:
            updated.append(threshold)
    return updated


def first_observed_at(
    thresholds: Iterable[Threshold], before: Mapping[Threshold, int], now_ms: int
) -> dict[Threshold, int]:
    """Since when each threshold has been met without a break."""
    return {threshold: before.get(threshold, now_ms) for threshold in thresholds}


def grace_period_met(observed_at: Mapping[Threshold, int], now_ms: int) -> list[Threshold]:
    """Those that have been met for as long as their grace period."""
    return [t for t, since in observed_at.items() if (now_ms - since) * 1_000_000 >= t.grace_period_ns]


def node_conditions(thresholds: Iterable[Threshold]) -> list[str]:
    """The conditions that crossed thresholds stand for, each once, whatever their grace periods."""
    return list(dict.fromkeys(CONDITION_OF[t.signal] for t in thresholds))


def observed_since(observed_at: Mapping[str, int], period_ms: int, now_ms: int) -> list[str]:
    """The conditions last seen less than `period_ms` ago: what is still reported."""
    return [c for c in NODE_CONDITIONS if c in observed_at and now_ms - observed_at[c] < period_ms]


def by_eviction_priority(thresholds: Iterable[Threshold]) -> list[Threshold]:
    """Memory before everything else."""
    return sorted(thresholds, key=lambda t: t.resource != "memory")
