"""Which plugins a scheduler runs, at which extension points, in which order, with which weights and arguments.

Upstream: pkg/scheduler/apis/config/v1/default_plugins.go, pkg/scheduler/framework/runtime/framework.go
(expandMultiPointPlugins)
Simplified: one profile as a dict of KubeSchedulerConfiguration's `profiles` list; the file around it (client
connection, leader election, extenders) is not read, and arguments are checked by the plugins that take them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from k8slab.api.objects import Object
from k8slab.scheduler.framework import (
    BindPlugin,
    FilterPlugin,
    Gates,
    PermitPlugin,
    PostBindPlugin,
    PostFilterPlugin,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterPlugin,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScorePlugin,
)

__all__ = ["EXTENSION_POINTS", "PluginSet", "Profile", "default_plugins", "points_of"]

EXTENSION_POINTS: Mapping[str, type] = {
    "preEnqueue": PreEnqueuePlugin,
    "queueSort": QueueSortPlugin,
    "preFilter": PreFilterPlugin,
    "filter": FilterPlugin,
    "postFilter": PostFilterPlugin,
    "preScore": PreScorePlugin,
    "score": ScorePlugin,
    "reserve": ReservePlugin,
    "permit": PermitPlugin,
    "preBind": PreBindPlugin,
    "bind": BindPlugin,
    "postBind": PostBindPlugin,
}
"""Name in a configuration -> Protocol a plugin implements to take part."""

_DEFAULT: tuple[tuple[str, int], ...] = (
    ("SchedulingGates", 0),
    ("PrioritySort", 0),
    ("NodeUnschedulable", 0),
    ("NodeName", 0),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", 0),
    ("NodeResourcesFit", 1),
    ("VolumeRestrictions", 0),
    ("NodeVolumeLimits", 0),
    ("VolumeBinding", 0),
    ("VolumeZone", 0),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    ("DynamicResources", 0),
    ("DefaultPreemption", 0),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("DefaultBinder", 0),
    ("GangScheduling", 0),
)
_GATED: Mapping[str, str] = {"DynamicResources": "DynamicResourceAllocation", "GangScheduling": "GangScheduling"}


def default_plugins(features: Gates) -> list[tuple[str, int]]:
    """(name, weight) of the default profile in upstream's order, as far as the plugins exist here."""
    return [(name, weight) for name, weight in _DEFAULT if name not in _GATED or features.enabled(_GATED[name])]


@dataclass(frozen=True, slots=True)
class PluginSet:
    """What a profile says about one extension point: names (with weights) to enable, names (or `*`) to disable."""

    enabled: tuple[tuple[str, int], ...] = ()
    disabled: frozenset[str] = frozenset()

    @classmethod
    def of(cls, where: str, raw: Mapping[str, Any]) -> PluginSet:
        enabled = []
        for index, entry in enumerate(raw.get("enabled") or ()):
            weight = entry.get("weight") or 0
            if not isinstance(weight, int) or weight < 0:
                raise ValueError(f"{where}.enabled[{index}].weight: {weight!r}, expected an integer of 0 or more")
            enabled.append((_name(f"{where}.enabled[{index}]", entry), weight))
        disabled = frozenset(
            _name(f"{where}.disabled[{index}]", entry) for index, entry in enumerate(raw.get("disabled") or ())
        )
        return cls(tuple(enabled), disabled)

    def merged_into(self, default: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
        """The default list without what is disabled, re-configured plugins in their old place, new ones at the end."""
        own = dict(self.enabled)
        kept = [] if "*" in self.disabled else [(n, own.get(n, w)) for n, w in default if n not in self.disabled]
        there = {name for name, _ in kept}
        return kept + [entry for entry in self.enabled if entry[0] not in there]


def _name(where: str, entry: Mapping[str, Any]) -> str:
    name = entry.get("name")
    if not isinstance(name, str) or not name:
        raise ValueError(f"{where}.name: {name!r}, expected the name of a plugin")
    return name


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile. `plugin_config`: arguments by plugin name. `percentage_of_nodes_to_score` 0: adaptive."""

    scheduler_name: str = "default-scheduler"
    multi_point: PluginSet = PluginSet()
    points: Mapping[str, PluginSet] = field(default_factory=dict)
    plugin_config: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    percentage_of_nodes_to_score: int = 0

    @classmethod
    def from_dict(cls, raw: Object) -> Profile:
        """From an entry of `profiles` in a KubeSchedulerConfiguration. Unknown extension points: ValueError."""
        plugins = raw.get("plugins") or {}
        for point in plugins:
            if point != "multiPoint" and point not in EXTENSION_POINTS:
                raise ValueError(f"plugins.{point}: unknown, expected multiPoint or {', '.join(EXTENSION_POINTS)}")
        percentage = raw.get("percentageOfNodesToScore") or 0
        if not isinstance(percentage, int) or not 0 <= percentage <= 100:
            raise ValueError(f"percentageOfNodesToScore: {percentage!r}, not in valid range [0-100]")
        config: dict[str, Mapping[str, Any]] = {}
        for index, entry in enumerate(raw.get("pluginConfig") or ()):
            name = _name(f"pluginConfig[{index}]", entry)
            if name in config:
                raise ValueError(f"pluginConfig[{index}]: repeated config for plugin {name}")
            config[name] = entry.get("args") or {}
        return cls(
            raw.get("schedulerName") or "default-scheduler",
            PluginSet.of("plugins.multiPoint", plugins.get("multiPoint") or {}),
            {p: PluginSet.of(f"plugins.{p}", s or {}) for p, s in plugins.items() if p != "multiPoint"},
            config,
            percentage,
        )


def points_of(profile: Profile, features: Gates, implements: Mapping[str, Any]) -> dict[str, list[tuple[str, int]]]:
    """Per extension point the (name, weight) list that a profile comes to.

    `implements`: the plugin objects by name. Order at a point: what is enabled at the point *and* in multiPoint
    (in the point's order, with its weight), then the rest of multiPoint, then what is enabled at the point only.
    """
    multi = profile.multi_point.merged_into(default_plugins(features))
    expanded: dict[str, list[tuple[str, int]]] = {}
    for point, protocol in EXTENSION_POINTS.items():
        own = profile.points.get(point, PluginSet())
        for name, _ in own.enabled:
            if not isinstance(implements[name], protocol):
                raise ValueError(f"plugin {name!r} does not extend {point} plugin")
        usable = [] if "*" in own.disabled else multi
        inherited = [(n, w) for n, w in usable if isinstance(implements[n], protocol)]
        in_multi = {name for name, _ in inherited}
        named = {name for name, _ in own.enabled}
        first = [entry for entry in own.enabled if entry[0] in in_multi]
        rest = [(n, w) for n, w in inherited if n not in named and n not in own.disabled]
        expanded[point] = first + rest + [entry for entry in own.enabled if entry[0] not in in_multi]
    return expanded
