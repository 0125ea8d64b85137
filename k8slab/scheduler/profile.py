"""Which plugins a scheduler runs, at which extension points, in which order, with which weights and arguments.

A profile is an entry of `profiles` in a KubeSchedulerConfiguration; `scheduler/config.py` reads the file around it.
Arguments for a plugin that the profile does not run are ignored, as upstream does.

Upstream: pkg/scheduler/apis/config/v1/default_plugins.go (mergePlugins), pkg/scheduler/framework/runtime/framework.go
(updatePluginList, expandMultiPointPlugins, getScoreWeights)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from k8slab.api.decoding import DecodeError, decode, strict_error, unknown_field
from k8slab.api.labels import go_quote
from k8slab.api.objects import Object
from k8slab.api.pods import DEFAULT_SCHEDULER_NAME
from k8slab.api.scheme import GVK
from k8slab.scheduler.framework import (
    MAX_NODE_SCORE,
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

__all__ = ["EXTENSION_POINTS", "PluginSet", "Profile", "default_plugins", "points_of", "score_weights"]

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


_ORDER_OF_CHECKS = (
    *("preFilter", "filter", "postFilter", "reserve", "preScore", "score"),
    *("preBind", "bind", "postBind", "permit", "preEnqueue", "queueSort"),
)
"""Upstream goes through the points in this order, so this decides which of several errors is told."""

MAX_TOTAL_SCORE = (1 << 63) - 1
_CONFIGURATION = GVK("kubescheduler.config.k8s.io", "v1", "KubeSchedulerConfiguration")


@dataclass(frozen=True, slots=True)
class PluginSet:
    """What a profile says about one extension point: names (with weights) to enable, names (or `*`) to disable."""

    enabled: tuple[tuple[str, int], ...] = ()
    disabled: tuple[str, ...] = ()

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> PluginSet:
        return cls(
            tuple((entry.get("name") or "", entry.get("weight") or 0) for entry in raw.get("enabled") or ()),
            tuple(entry.get("name") or "" for entry in raw.get("disabled") or ()),
        )

    def merged_into(self, default: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
        """The default list without what is disabled, re-configured plugins in their old place, new ones at the end.

        A plugin that is enabled twice stays twice: `points_of` refuses it.
        """
        last = {name: index for index, (name, _) in enumerate(self.enabled)}
        kept: list[tuple[str, int]] = []
        replacing: list[int] = []
        for name, weight in () if "*" in self.disabled else default:
            if name in self.disabled:
                continue
            if name in last:
                replacing.append(last[name])
                kept.append(self.enabled[last[name]])
            else:
                kept.append((name, weight))
        return kept + [entry for index, entry in enumerate(self.enabled) if index not in replacing]


@dataclass(frozen=True, slots=True)
class Profile:
    """One profile. `config_entries`: arguments as (plugin, args), in the order given.

    `percentage_of_nodes_to_score` 0: adaptive; None: as the configuration around it says, adaptive when it is silent.
    """

    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    multi_point: PluginSet = PluginSet()
    points: Mapping[str, PluginSet] = field(default_factory=dict)
    config_entries: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    percentage_of_nodes_to_score: int | None = None

    @classmethod
    def from_dict(cls, raw: Object) -> Profile:
        """From an entry of `profiles` in a KubeSchedulerConfiguration. Unknown fields, wrong types and what is out of
        range are ValueErrors with upstream's text. Arguments are left to the plugins: they may be any Python values."""
        entries, args = _without_args(raw.get("pluginConfig"))
        try:
            decoded = decode({"profiles": [{**raw, "pluginConfig": entries}]}, _CONFIGURATION)
        except DecodeError as error:
            raise ValueError(error.message) from None
        if decoded.unknown:
            raise ValueError(strict_error(map(unknown_field, decoded.unknown)))
        profile = cls.from_decoded(decoded.object["profiles"][0], DEFAULT_SCHEDULER_NAME)
        names = (name for name, _ in profile.config_entries)
        profile = replace(profile, config_entries=tuple(zip(names, args, strict=True)))
        percentage = profile.percentage_of_nodes_to_score
        if percentage is not None and not 0 <= percentage <= 100:
            raise ValueError(f"percentageOfNodesToScore: Invalid value: {percentage}: not in valid range [0-100]")
        return profile

    @classmethod
    def from_decoded(cls, raw: Object, default_name: str) -> Profile:
        """From an entry whose types are checked. `default_name`: what it is called when it says nothing."""
        plugins = raw.get("plugins") or {}
        name = raw.get("schedulerName")
        return cls(
            default_name if name is None else name,
            PluginSet.of(plugins.get("multiPoint") or {}),
            {point: PluginSet.of(plugins[point]) for point in EXTENSION_POINTS if plugins.get(point)},
            tuple((entry.get("name") or "", entry.get("args") or {}) for entry in raw.get("pluginConfig") or ()),
            raw.get("percentageOfNodesToScore"),
        )

    @property
    def plugin_config(self) -> dict[str, Mapping[str, Any]]:
        """Arguments by plugin. ValueError when a plugin has them twice."""
        found: dict[str, Mapping[str, Any]] = {}
        for name, args in self.config_entries:
            if name in found:
                raise ValueError(f"repeated config for plugin {name}")
            found[name] = args
        return found


def _without_args(entries: Any) -> tuple[Any, list[Mapping[str, Any]]]:
    """The entries of `pluginConfig` without their arguments, and these. What is no list of objects stays as it is."""
    if not isinstance(entries, list | tuple) or not all(isinstance(entry, Mapping) for entry in entries):
        return entries, []
    args = [entry.get("args") or {} for entry in entries]
    for index, value in enumerate(args):
        if not isinstance(value, Mapping):
            raise ValueError(f"pluginConfig[{index}].args: {value!r}, expected an object")
    return [{key: value for key, value in entry.items() if key != "args"} for entry in entries], args


def points_of(profile: Profile, features: Gates, implements: Mapping[str, Any]) -> dict[str, list[tuple[str, int]]]:
    """Per extension point the (name, weight) list that a profile comes to.

    `implements`: the plugin objects by name. Order at a point: what is enabled at the point *and* in multiPoint
    (in the point's order, with its weight), then the rest of multiPoint, then what is enabled at the point only.
    """
    multi = profile.multi_point.merged_into(default_plugins(features))
    for point in _ORDER_OF_CHECKS:
        _check_point(point, profile.points.get(point, PluginSet()), implements)
    return {
        point: _expand(point, profile.points.get(point, PluginSet()), multi, implements) for point in _ORDER_OF_CHECKS
    }


def _check_point(point: str, own: PluginSet, implements: Mapping[str, Any]) -> None:
    kind = EXTENSION_POINTS[point].__name__
    seen: dict[str, None] = {}
    for name, _ in own.enabled:
        if name not in implements:
            raise ValueError(f"{kind} {go_quote(name)} does not exist")
        if not isinstance(implements[name], EXTENSION_POINTS[point]):
            raise ValueError(f"plugin {go_quote(name)} does not extend {kind} plugin")
        if name in seen:
            raise ValueError(f"plugin {go_quote(name)} already registered as {go_quote(kind)}")
        seen[name] = None


def _expand(
    point: str, own: PluginSet, multi: Sequence[tuple[str, int]], implements: Mapping[str, Any]
) -> list[tuple[str, int]]:
    if "*" in own.disabled:
        return list(own.enabled)
    protocol, named = EXTENSION_POINTS[point], {name for name, _ in own.enabled}
    overriding: dict[str, None] = {}
    inherited: dict[str, int] = {}
    for name, weight in multi:
        if name not in implements:
            raise ValueError(f"{protocol.__name__} {go_quote(name)} does not exist")
        if not isinstance(implements[name], protocol) or name in own.disabled:
            continue
        if name in named:
            overriding[name] = None
        elif name in inherited:
            raise ValueError(f"plugin {go_quote(name)} already registered as {go_quote(protocol.__name__)}")
        else:
            inherited[name] = weight
    first = [entry for entry in own.enabled if entry[0] in overriding]
    return first + list(inherited.items()) + [entry for entry in own.enabled if entry[0] not in overriding]


def score_weights(profile: Profile, features: Gates, implements: Mapping[str, Any]) -> dict[str, int]:
    """The weight of every plugin that scores: that of the score point, else that of multiPoint; 0 counts as 1.

    ValueError when the sum of the highest scores would not fit into 64 bits.
    """
    own = profile.points.get("score", PluginSet()).enabled
    weights: dict[str, int] = {}
    total = 0
    for name, weight in (*own, *profile.multi_point.merged_into(default_plugins(features))):
        if name in weights or not isinstance(implements[name], ScorePlugin):
            continue
        weights[name] = weight or 1
        if weights[name] * MAX_NODE_SCORE > MAX_TOTAL_SCORE - total:
            raise ValueError("total score of Score plugins could overflow")
        total += weights[name] * MAX_NODE_SCORE
    return weights
