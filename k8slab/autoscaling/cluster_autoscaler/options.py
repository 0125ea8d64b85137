"""The flags of the autoscaler: names as upstream's, durations in ms.

Upstream: cluster-autoscaler/config/flags/flags.go, config/autoscaling_options.go (release 1.36)
Simplified: the flags that decide about scaling; not those of metrics, leader election, single clouds, provisioning
requests and the limits of cores and memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from k8slab.api.go_duration import parse_duration_ns

__all__ = ["EXPANDERS", "AutoscalingOptions"]

EXPANDERS = ("random", "most-pods", "least-waste", "price", "priority", "least-nodes")
"""What `--expander` takes, one or several."""

_MINUTE = 60_000


@dataclass(frozen=True, slots=True)
class AutoscalingOptions:
    """`--scale-down-unneeded-time=10m` is `scale_down_unneeded_time_ms=600_000`; ratios lie between 0 and 1.

    `scale_down_delay_after_delete_ms` None is the scan interval. `max_nodes_total` 0: no limit.
    """

    scan_interval_ms: int = 10_000
    expander: tuple[str, ...] = ("least-waste",)
    max_nodes_total: int = 0
    max_nodes_per_scaleup: int = 1_000
    max_node_provision_time_ms: int = 15 * _MINUTE
    max_node_startup_time_ms: int = 15 * _MINUTE
    balance_similar_node_groups: bool = False
    balancing_ignore_labels: tuple[str, ...] = ()
    enforce_node_group_min_size: bool = False
    new_pod_scale_up_delay_ms: int = 0
    expendable_pods_priority_cutoff: int = -10
    initial_node_group_backoff_duration_ms: int = 5 * _MINUTE
    max_node_group_backoff_duration_ms: int = 30 * _MINUTE
    node_group_backoff_reset_timeout_ms: int = 180 * _MINUTE
    max_total_unready_percentage: int = 45
    ok_total_unready_count: int = 3
    scale_down_enabled: bool = True
    scale_down_unready_enabled: bool = True
    scale_down_delay_after_add_ms: int = 10 * _MINUTE
    scale_down_delay_after_delete_ms: int | None = None
    scale_down_delay_after_failure_ms: int = 3 * _MINUTE
    scale_down_unneeded_time_ms: int = 10 * _MINUTE
    scale_down_unready_time_ms: int = 20 * _MINUTE
    scale_down_utilization_threshold: float = 0.5
    scale_down_gpu_utilization_threshold: float = 0.5
    unremovable_node_recheck_timeout_ms: int = 5 * _MINUTE
    ignore_daemonsets_utilization: bool = False
    ignore_mirror_pods_utilization: bool = False
    max_scale_down_parallelism: int = 10
    max_drain_parallelism: int = 1
    max_bulk_soft_taint_count: int = 10
    node_delete_delay_after_taint_ms: int = 5_000
    cordon_node_before_terminating: bool = True
    max_graceful_termination_sec: int = 600
    max_pod_eviction_time_ms: int = 2 * _MINUTE
    daemonset_eviction_for_empty_nodes: bool = False
    daemonset_eviction_for_occupied_nodes: bool = True
    skip_nodes_with_system_pods: bool = True
    blocking_system_pod_distruption_timeout_ms: int = 60 * _MINUTE
    skip_nodes_with_local_storage: bool = True
    skip_nodes_with_custom_controller_pods: bool = True
    min_replica_count: int = 0
    startup_taints: tuple[str, ...] = ()
    status_taints: tuple[str, ...] = ()
    write_status_configmap: bool = True
    status_config_map_name: str = "cluster-autoscaler-status"
    namespace: str = "kube-system"

    def __post_init__(self) -> None:
        for name in self.expander:
            if name not in EXPANDERS:
                raise ValueError(f"Expander {name} not supported")
            if self.expander.count(name) > 1:
                raise ValueError(
                    f"Expander {name} was specified multiple times, each expander must not be specified more than once"
                )
        if "random" in self.expander[:-1]:
            after = self.expander[self.expander.index("random") + 1]
            raise ValueError(
                f"Expander {after} came after an expander random that will always return only one result, this is not "
                f"allowed since {after} will never be used"
            )
        for name in ("scale_down_utilization_threshold", "scale_down_gpu_utilization_threshold"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name}: {getattr(self, name)}: expected a number from 0 to 1")
        for field in fields(self):
            value = getattr(self, field.name)
            signed = field.name == "expendable_pods_priority_cutoff"
            if isinstance(value, int) and not isinstance(value, bool) and value < 0 and not signed:
                raise ValueError(f"{field.name}: {value}: expected 0 or more")
        if self.scan_interval_ms <= 0:
            raise ValueError(f"scan_interval_ms: {self.scan_interval_ms}: expected more than 0")

    @property
    def delay_after_delete_ms(self) -> int:
        """How long after a deletion the next may begin."""
        given = self.scale_down_delay_after_delete_ms
        return self.scan_interval_ms if given is None else given

    def with_overrides(self, given: Mapping[str, Any]) -> AutoscalingOptions:
        """These with some fields replaced, as a node group may do. ValueError for a name that is none."""
        known = {field.name for field in fields(self)}
        for name in given:
            if name not in known:
                raise ValueError(f"option {name!r}: expected one of {', '.join(sorted(known))}")
        return replace(self, **dict(given)) if given else self

    @classmethod
    def from_flags(cls, flags: Mapping[str, Any]) -> AutoscalingOptions:
        """From `{"scale-down-unneeded-time": "5m", "expander": "priority,least-waste"}`; ValueError names the flag.

        >>> AutoscalingOptions.from_flags({"scale-down-unneeded-time": "90s"}).scale_down_unneeded_time_ms
        90000
        """
        by_name = {field.name: field for field in fields(cls)}
        found: dict[str, Any] = {}
        for flag, given in flags.items():
            name = flag.removeprefix("--").replace("-", "_")
            if f"{name}_ms" in by_name:
                found[f"{name}_ms"] = _duration(flag, given)
            elif name in by_name:
                found[name] = _typed(flag, given, getattr(_DEFAULTS, name))
            else:
                shown = ", ".join(one.removesuffix("_ms").replace("_", "-") for one in by_name)
                raise ValueError(f"flag {flag!r}: expected one of {shown}")
        return cls(**found)


def _duration(flag: str, given: Any) -> int:
    try:
        nanoseconds = parse_duration_ns(given if isinstance(given, str) else f"{int(given)}s")
    except (ValueError, TypeError, OverflowError):
        raise ValueError(f"flag {flag}: {given!r}: expected a duration such as 10m or 90s") from None
    return nanoseconds // 1_000_000


def _typed(flag: str, given: Any, default: Any) -> Any:
    """The value as the type of its default."""
    if isinstance(default, tuple):
        names = given.split(",") if isinstance(given, str) else given
        if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"flag {flag}: {given!r}: expected texts with commas between, or a list of texts")
        return tuple(names)
    if isinstance(default, bool):
        if isinstance(given, bool) or str(given).lower() in ("true", "false"):
            return given is True or str(given).lower() == "true"
        raise ValueError(f"flag {flag}: {given!r}: expected true or false")
    if isinstance(default, str):
        return str(given)
    try:
        return type(default)(given)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"flag {flag}: {given!r}: expected a number") from None


_DEFAULTS = AutoscalingOptions()
