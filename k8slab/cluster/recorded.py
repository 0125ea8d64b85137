"""A cluster's configuration as plain data, and back: what a recording needs to build the same cluster again.

Upstream: none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from k8slab.kubelet import NodeConfig, Timings
from k8slab.sim import PROFILES, Hold, LatencyProfile, Recording

__all__ = ["as_recorded", "blank_recording", "cluster_arguments", "own_code"]


def blank_recording(
    *,
    nodes: int | Sequence[NodeConfig],
    seed: int | str,
    latency: LatencyProfile,
    order: str,
    timings: Timings,
    choices: Mapping[int, int] | None,
    holds: Sequence[Hold],
    **plain: Any,
) -> Recording:
    """A recording without inputs. `plain`: the arguments that are plain data already."""
    config = {
        **plain,
        "nodes": nodes if isinstance(nodes, int) else [asdict(node) for node in nodes],
        "latency": latency.name if PROFILES.get(latency.name) == latency else list(latency),
        "timings": asdict(timings),
    }
    return Recording(config, seed, (), order, dict(choices or {}), tuple(holds))


def as_recorded(**given: Any) -> dict[str, Any]:
    """Arguments that a recording keeps only where they are given as plain data: texts and objects."""
    return {name: value for name, value in given.items() if isinstance(value, str | Mapping)}


def own_code(**given: Any) -> list[str]:
    """The arguments that are code or objects of the caller's own: a run with those cannot be recorded."""
    return [name for name, value in given.items() if value and not isinstance(value, str)]


def cluster_arguments(recording: Recording) -> dict[str, Any]:
    """The keyword arguments of the `Cluster` that was recorded."""
    config = dict(recording.config)
    if not isinstance(config["latency"], str):
        name, *bounds = config["latency"]
        config["latency"] = LatencyProfile(name, *((low, high) for low, high in bounds))
    if not isinstance(config["nodes"], int):
        config["nodes"] = [NodeConfig(**{**node, "taints": tuple(node["taints"])}) for node in config["nodes"]]
    return {
        **config,
        "timings": Timings(**config["timings"]),
        "seed": recording.seed,
        "order": recording.order,
        "choices": recording.choices,
        "holds": recording.holds,
    }
