"""Checks of what callers hand to a cluster: a wrong value is named before anything happens.

Upstream: none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.features import FeatureGates
from k8slab.api.plain import UnfitError, plain_copy
from k8slab.controllers import OPTIONS
from k8slab.kubelet import NodeConfig
from k8slab.scheduler import KubeSchedulerConfiguration
from k8slab.sim import Hold
from k8slab.sim.loop import check_seed

__all__ = ["check_arguments", "plain_data", "scheduler_configuration"]


def plain_data(name: str, value: Any) -> Any:
    """A copy of JSON-like data; ValueError for what JSON cannot hold (cycles, NaN, objects, endless nesting)."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()  # half of a surrogate pair is no character
        return json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"{name}: expected plain data as JSON can hold it: {_reason(value) or error}") from None


def _reason(value: Any) -> str:
    """What is wrong with the data, and where."""
    try:
        plain_copy(value)
    except UnfitError as error:
        return str(error)
    return ""


def check_arguments(
    nodes: Any,
    seed: Any,
    release: Any,
    apiservers: Any,
    etcd: Any,
    order: Any,
    *,
    options: Any,
    choices: Any,
    holds: Any,
) -> None:
    """The arguments of `Cluster` that nothing else checks."""
    if not isinstance(nodes, int) and (
        isinstance(nodes, str) or not isinstance(nodes, Sequence) or not all(isinstance(n, NodeConfig) for n in nodes)
    ):
        raise TypeError(f"nodes: {nodes!r}: expected a number, or a list of NodeConfig")
    check_seed(seed)
    if not isinstance(release, str):
        raise TypeError(f"release: {release!r}: expected a text such as '1.36'")
    for name, value, most in (("apiservers", apiservers, 10), ("etcd", etcd, 7)):
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ValueError(f"{name}: {value!r}: expected a number from 1 to {most}")
    if not isinstance(order, str) and not callable(getattr(order, "pick", None)):
        raise TypeError(f"order: {order!r}: expected a name such as 'fifo', or an Order")
    for name in options or {}:
        if name not in OPTIONS:
            raise ValueError(f"options: {name!r}: expected one of {', '.join(OPTIONS)}")
        value = options[name]
        if isinstance(value, int | float) and not value >= 0:
            raise ValueError(f"options: {name}: {value!r}: expected 0 or more")
    if not isinstance(choices or {}, Mapping) or not all(
        isinstance(k, int) and isinstance(v, int) for k, v in (choices or {}).items()
    ):
        raise TypeError(f"choices: {choices!r}: expected {{action: index}}, whole numbers")
    if not all(isinstance(hold, Hold) for hold in holds):
        raise TypeError(f"holds: {holds!r}: expected a list of Hold")


def scheduler_configuration(given: Any, features: FeatureGates) -> KubeSchedulerConfiguration | None:
    """The `scheduler_config` of `Cluster`: YAML, an object, or what was read already. ConfigError as kube-scheduler."""
    if given is None or isinstance(given, KubeSchedulerConfiguration):
        return given
    if isinstance(given, str):
        return KubeSchedulerConfiguration.from_yaml(given, source="scheduler_config", features=features)
    if isinstance(given, Mapping):
        return KubeSchedulerConfiguration.from_dict(given, features=features)
    raise TypeError(f"scheduler_config: {given!r}: expected YAML, an object or a KubeSchedulerConfiguration")
