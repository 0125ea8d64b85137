"""The part of a KubeletConfiguration that concerns eviction.

>>> from k8slab.kubelet.eviction import EvictionConfig
>>> only_memory = EvictionConfig.from_dict({"evictionHard": {"memory.available": "500Mi"}})
>>> [str(threshold) for threshold in only_memory.thresholds]
['memory.available < 500Mi', 'allocatableMemory.available < 500Mi']
>>> len(EvictionConfig.from_dict({}).thresholds)
6

Upstream: pkg/kubelet/apis/config/types.go, v1beta1/defaults.go, pkg/kubelet/eviction/defaults_linux.go
Simplified: the fields named here; any other is refused by name. Those about eviction, cgroups and node allocatable act,
the rest of a KubeletConfiguration has no counterpart in the simulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from k8slab.api.go_duration import parse_duration_ns
from k8slab.kubelet.eviction.signals import Signal
from k8slab.kubelet.eviction.thresholds import Threshold, check_statements, parse_threshold_config

__all__ = ["DEFAULT_EVICTION_HARD", "FIELDS", "EvictionConfig", "check_kubelet_config"]

DEFAULT_EVICTION_HARD: dict[str, str] = {
    Signal.MEMORY_AVAILABLE: "100Mi",
    Signal.NODE_FS_AVAILABLE: "10%",
    Signal.NODE_FS_INODES_FREE: "5%",
    Signal.IMAGE_FS_AVAILABLE: "15%",
    Signal.IMAGE_FS_INODES_FREE: "5%",
}
"""Linux, where nothing is configured. One threshold of your own drops all of these, unless
mergeDefaultEvictionSettings is true."""

_VERSION = "kubelet.config.k8s.io/v1beta1"
_ANY_GRACE = {str(signal): "1s" for signal in Signal}
_MAPS = ("evictionHard", "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim")
_FLAGS = ("mergeDefaultEvictionSettings", "localStorageCapacityIsolation", "failCgroupV1", "singleProcessOOMKill")
FIELDS = (
    *("apiVersion", "kind"),
    *_MAPS,
    *("evictionPressureTransitionPeriod", "evictionMaxPodGracePeriod", "enforceNodeAllocatable"),
    *_FLAGS,
)


_ENFORCED = (
    *("none", "pods", "system-reserved", "kube-reserved"),
    *("system-reserved-compressible", "kube-reserved-compressible"),
)


def check_kubelet_config(raw: Any) -> None:
    """TypeError or ValueError for the first field that is unknown, has another type than it should, or says what no
    kubelet takes. A null is as if the field were not there."""
    if not isinstance(raw, Mapping):
        raise TypeError(f"kubelet_config: {raw!r}: expected the fields of a KubeletConfiguration")
    for name in raw:
        if name not in FIELDS:
            raise ValueError(f"kubelet_config: unknown field {name!r}: expected one of {', '.join(FIELDS)}")
    raw = _given(raw)
    for name, value in raw.items():
        if name == "kind" and value != "KubeletConfiguration":
            raise ValueError(f"kubelet_config.kind: {value!r}: expected KubeletConfiguration")
        if name == "apiVersion" and value != _VERSION:
            raise ValueError(f"kubelet_config.apiVersion: {value!r}: expected {_VERSION}")
        if name in _FLAGS and not isinstance(value, bool):
            raise TypeError(f"kubelet_config.{name}: {value!r}: expected true or false")
        if name in _MAPS:
            _check_map(name, value)
    _whole_seconds(raw)
    _period_ms(raw)
    _enforced(raw)
    _check_statements(raw)


def _given(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if value is not None}


def _check_statements(raw: Mapping[str, Any]) -> None:
    """As upstream parses them: one field after the other."""
    try:
        for name in _MAPS:
            check_statements(name, raw.get(name, {}))
    except ValueError as error:
        raise ValueError(f"kubelet_config.{error}") from None
    for threshold in parse_threshold_config(soft=raw.get("evictionSoft"), soft_grace_period=_ANY_GRACE):
        if threshold.signal not in raw.get("evictionSoftGracePeriod", {}):
            value = raw["evictionSoft"][threshold.signal]
            raise ValueError(
                f"kubelet_config.evictionSoftGracePeriod: nothing for {threshold.signal}, which evictionSoft sets to "
                f"{value!r}: grace period must be specified for the soft eviction threshold {threshold.signal}"
            )


def _check_map(name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(
            f"kubelet_config.{name}: {value!r}: expected signals with texts, such as memory.available: 100Mi"
        )
    for signal, text in value.items():
        if not isinstance(signal, str) or not isinstance(text, str):
            raise TypeError(f"kubelet_config.{name}: {signal!r}: {text!r}: expected a text such as '100Mi' or '10%'")


def _whole_seconds(raw: Mapping[str, Any]) -> int:
    seconds = raw.get("evictionMaxPodGracePeriod", 0)
    if isinstance(seconds, bool) or not isinstance(seconds, int):
        raise TypeError(f"kubelet_config.evictionMaxPodGracePeriod: {seconds!r}: expected whole seconds")
    return seconds


def _period_ms(raw: Mapping[str, Any]) -> int:
    text = raw.get("evictionPressureTransitionPeriod", "5m")
    try:
        if not isinstance(text, str):
            raise ValueError("it is no text")
        period = parse_duration_ns(text)
    except ValueError as error:
        problem = f"kubelet_config.evictionPressureTransitionPeriod: {text!r}: expected a duration such as '5m'"
        raise ValueError(f"{problem} ({error})") from None
    if period < 0:
        raise ValueError(f"kubelet_config.evictionPressureTransitionPeriod: {text!r}: expected 0s or more")
    # v1beta1 cannot tell 0 from nothing: the default takes its place
    return period // 1_000_000 or 300_000


def _enforced(raw: Mapping[str, Any]) -> tuple[str, ...]:
    names = raw.get("enforceNodeAllocatable", ["pods"])
    if isinstance(names, str) or not isinstance(names, list | tuple) or not all(isinstance(n, str) for n in names):
        raise TypeError(f"kubelet_config.enforceNodeAllocatable: {names!r}: expected a list such as ['pods']")
    for name in names:
        if name not in _ENFORCED:
            raise ValueError(f"kubelet_config.enforceNodeAllocatable: {name!r}: expected one of {', '.join(_ENFORCED)}")
        if name == "none" and len(names) > 1:
            raise ValueError(f"kubelet_config.enforceNodeAllocatable: {list(names)}: expected none alone, or no none")
    return tuple(names)


@dataclass(frozen=True, slots=True)
class EvictionConfig:
    """`thresholds` as parsed; `pressure_transition_ms`: how long a condition stays after its last cause;
    `max_pod_grace_period_seconds`: the most a Pod gets in a soft eviction."""

    thresholds: tuple[Threshold, ...] = ()
    pressure_transition_ms: int = 300_000
    max_pod_grace_period_seconds: int = 0
    local_storage_capacity_isolation: bool = True

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> EvictionConfig:
        """From the fields of a KubeletConfiguration. ValueError, with the field, the value and upstream's text, for a
        wrong threshold."""
        check_kubelet_config(raw)
        raw = _given(raw)
        hard = raw.get("evictionHard")
        if hard is None or raw.get("mergeDefaultEvictionSettings"):
            hard = {**DEFAULT_EVICTION_HARD, **(hard or {})}
        thresholds = parse_threshold_config(
            _enforced(raw),
            hard,
            raw.get("evictionSoft"),
            raw.get("evictionSoftGracePeriod"),
            raw.get("evictionMinimumReclaim"),
        )
        isolation = raw.get("localStorageCapacityIsolation", True)
        return cls(tuple(thresholds), _period_ms(raw), _whole_seconds(raw), isolation)
