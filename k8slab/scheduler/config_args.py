"""Arguments of the in-tree plugins: what upstream fills in, and what it refuses.

Arguments are dicts as they stand in `pluginConfig[].args`, decoded by the structs `*Args` of the schema.

>>> from k8slab.api.features import FeatureGates
>>> from k8slab.scheduler.config_args import validate_args, with_defaults
>>> args = with_defaults("DefaultPreemption", {"minCandidateNodesPercentage": 101}, FeatureGates())
>>> args
{'minCandidateNodesPercentage': 101, 'minCandidateNodesAbsolute': 100}
>>> [f"{cause.field}: {cause.message}" for cause in validate_args("DefaultPreemption", args, FeatureGates())]
['minCandidateNodesPercentage: Invalid value: 101: not in valid range [0, 100]']

Upstream: pkg/scheduler/apis/config/v1/defaults.go, pkg/scheduler/apis/config/validation/validation_pluginargs.go
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from k8slab.api.decoding import decode, strict_error, unknown_field
from k8slab.api.errors import Cause
from k8slab.api.go_duration import format_duration, parse_duration_ns
from k8slab.api.labels import AggregateError
from k8slab.api.node_affinity import NodeSelector, PreferredSchedulingTerms
from k8slab.api.scheme import GVK
from k8slab.api.validation.field import duplicate, forbidden, invalid, not_supported, required
from k8slab.api.validation.selectors import validate_label_name
from k8slab.scheduler.framework import Gates

__all__ = ["ARGS", "checked_args", "validate_args", "with_defaults"]

Args = Mapping[str, Any]
_Changed = dict[str, Any]

_STRATEGIES = ("LeastAllocated", "MostAllocated", "RequestedToCapacityRatio")
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def _cpu_and_memory() -> list[dict[str, Any]]:
    return [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]


def _unset(args: _Changed, field: str) -> bool:
    return args.get(field) is None


# -- defaults --------------------------------------------------------------------------------------


def _default_preemption(args: _Changed, gates: Gates) -> None:
    args.setdefault("minCandidateNodesPercentage", 10)
    args.setdefault("minCandidateNodesAbsolute", 100)


def _default_affinity(args: _Changed, gates: Gates) -> None:
    args.setdefault("hardPodAffinityWeight", 1)
    args.setdefault("ignorePreferredTermsOfExistingPods", False)


def _weighed(resources: Sequence[Args] | None) -> list[dict[str, Any]]:
    """CPU and memory when there are none; a weight of 0, or none, is 1."""
    if not resources:
        return _cpu_and_memory()
    return [{**resource, "weight": resource.get("weight") or 1} for resource in resources]


def _default_fit(args: _Changed, gates: Gates) -> None:
    strategy = args.get("scoringStrategy")
    if strategy is None:
        strategy = {"type": "LeastAllocated"}
    args["scoringStrategy"] = {**strategy, "resources": _weighed(strategy.get("resources"))}


def _default_balance(args: _Changed, gates: Gates) -> None:
    args["resources"] = _weighed(args.get("resources"))


def _default_spread(args: _Changed, gates: Gates) -> None:
    args["defaultingType"] = args.get("defaultingType") or "System"


def _default_volumes(args: _Changed, gates: Gates) -> None:
    args.setdefault("bindTimeoutSeconds", 600)
    if not args.get("shape") and gates.enabled("StorageCapacityScoring"):
        args["shape"] = [{"utilization": 0, "score": 10}, {"utilization": 100, "score": 0}]


def _default_dra(args: _Changed, gates: Gates) -> None:
    if _unset(args, "filterTimeout") and gates.enabled("DRASchedulerFilterTimeout"):
        args["filterTimeout"] = "10s"
    if _unset(args, "bindingTimeout") and _has_binding_conditions(gates):
        args["bindingTimeout"] = "10m0s"


def _has_binding_conditions(gates: Gates) -> bool:
    return gates.enabled("DRADeviceBindingConditions") and gates.enabled("DRAResourceClaimDeviceStatus")


def _nothing(args: _Changed, gates: Gates) -> None:
    """NodeAffinityArgs has no defaults."""


# -- validation ------------------------------------------------------------------------------------


def _check_preemption(path: str, args: Args, gates: Gates) -> list[Cause]:
    percentage, absolute = args["minCandidateNodesPercentage"], args["minCandidateNodesAbsolute"]
    at_percentage, at_absolute = f"{path}minCandidateNodesPercentage", f"{path}minCandidateNodesAbsolute"
    errors = []
    if not 0 <= percentage <= 100:
        errors.append(invalid(at_percentage, percentage, "not in valid range [0, 100]"))
    if absolute < 0:
        errors.append(invalid(at_absolute, absolute, "not in valid range [0, inf)"))
    if percentage == absolute == 0:
        same = "cannot be zero at the same time as"
        errors.append(invalid(at_percentage, percentage, f"{same} minCandidateNodesAbsolute"))
        errors.append(invalid(at_absolute, absolute, f"{same} minCandidateNodesPercentage"))
    return errors


def _check_affinity(path: str, args: Args, gates: Gates) -> list[Cause]:
    weight = args["hardPodAffinityWeight"]
    if 0 <= weight <= 100:
        return []
    return [invalid(f"{path}hardPodAffinityWeight", weight, "not in valid range [0, 100]")]


def _check_spread(path: str, args: Args, gates: Gates) -> list[Cause]:
    kind, constraints = args["defaultingType"], args.get("defaultConstraints") or ()
    errors: list[Cause] = []
    if kind not in ("System", "List"):
        errors.append(not_supported(f"{path}defaultingType", kind, ("System", "List")))
    elif kind == "System" and constraints:
        errors.append(invalid(f"{path}defaultingType", kind, "when .defaultConstraints are not empty"))
    seen: list[tuple[str, str]] = []
    for index, constraint in enumerate(constraints):
        errors += _check_constraint(f"{path}defaultConstraints[{index}]", constraint, seen)
    return errors


def _check_constraint(where: str, constraint: Args, seen: list[tuple[str, str]]) -> list[Cause]:
    skew, key, action = constraint["maxSkew"], constraint["topologyKey"], constraint["whenUnsatisfiable"]
    errors: list[Cause] = []
    if skew <= 0:
        errors.append(invalid(f"{where}.maxSkew", skew, "not in valid range (0, inf)"))
    if not key:
        errors.append(required(f"{where}.topologyKey", "can not be empty"))
    else:
        errors += validate_label_name(f"{where}.topologyKey", key)
    if not action:
        errors.append(required(f"{where}.whenUnsatisfiable", "can not be empty"))
    elif action not in _ACTIONS:
        errors.append(not_supported(f"{where}.whenUnsatisfiable", action, _ACTIONS))
    if constraint.get("labelSelector") is not None:
        text = "constraint must not define a selector, as they deduced for each pod"
        errors.append(forbidden(f"{where}.labelSelector", text))
    if (key, action) in seen:
        errors.append(duplicate(where, f"{{{key}, {action}}}"))
    seen.append((key, action))
    return errors


def _check_shape(path: str, shape: Sequence[Args]) -> list[Cause]:
    if not shape:
        return [required(path, "at least one point must be specified")]
    errors: list[Cause] = []
    at = [point["utilization"] for point in shape]
    unsorted = next((i for i in range(1, len(at)) if at[i - 1] >= at[i]), None)
    if unsorted is not None:
        text = "values must be sorted in increasing order"
        errors.append(invalid(f"{path}[{unsorted}].utilization", at[unsorted], text))
    for index, point in enumerate(shape):
        for field, most in (("utilization", 100), ("score", 10)):
            if not 0 <= point[field] <= most:
                errors.append(invalid(f"{path}[{index}].{field}", point[field], f"not in valid range [0, {most}]"))
    return errors


def _check_balance(path: str, args: Args, gates: Gates) -> list[Cause]:
    errors: list[Cause] = []
    seen: dict[str, None] = {}
    for index, resource in enumerate(args["resources"]):
        where, name = f"{path}resources[{index}]", resource["name"]
        if name in seen:
            errors.append(duplicate(f"{where}.name", name))
        seen[name] = None
        if resource["weight"] != 1:
            errors.append(invalid(f"{where}.weight", resource["weight"], "must be 1"))
    return errors


def _check_node_affinity(path: str, args: Args, gates: Gates) -> list[Cause]:
    added = args.get("addedAffinity") or {}
    texts: list[str] = []
    try:
        if (required_terms := added.get(_REQUIRED)) is not None:
            NodeSelector(required_terms, f"{path}addedAffinity.{_REQUIRED}").check()
    except AggregateError as error:
        texts += error.messages
    try:
        if preferred_terms := added.get(_PREFERRED):
            PreferredSchedulingTerms(preferred_terms, f"{path}addedAffinity.{_PREFERRED}")
    except AggregateError as error:
        texts += error.messages
    parts = (text.partition(": ") for text in texts)
    return [Cause("FieldValueInvalid", message, field) for field, _, message in parts]


def _check_volumes(path: str, args: Args, gates: Gates) -> list[Cause]:
    errors: list[Cause] = []
    seconds, shape = args["bindTimeoutSeconds"], args.get("shape")
    if seconds < 0:
        text = "invalid BindTimeoutSeconds, should not be a negative value"
        errors.append(invalid(f"{path}bindTimeoutSeconds", seconds, text))
    if gates.enabled("StorageCapacityScoring"):
        errors += _check_shape(f"{path}shape", shape or ())
    elif shape is not None:
        text = "unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring"
        errors.append(invalid(f"{path}shape", shape, text))
    return errors


def _check_fit(path: str, args: Args, gates: Gates) -> list[Cause]:
    errors: list[Cause] = []
    for index, name in enumerate(args.get("ignoredResources") or ()):
        errors += validate_label_name(f"{path}ignoredResources[{index}]", name)
    for index, group in enumerate(args.get("ignoredResourceGroups") or ()):
        where = f"{path}ignoredResourceGroups[{index}]"
        if "/" in group:
            errors.append(invalid(where, group, "resource group name can't contain '/'"))
        errors += validate_label_name(where, group)
    return errors + _check_strategy(f"{path}scoringStrategy", args["scoringStrategy"])


def _check_strategy(path: str, strategy: Args) -> list[Cause]:
    errors: list[Cause] = []
    kind = strategy.get("type") or ""
    if kind not in _STRATEGIES:
        errors.append(not_supported(f"{path}.type", kind, _STRATEGIES))
    for index, resource in enumerate(strategy["resources"]):
        weight = resource["weight"]
        if not 0 < weight <= 100:
            text = f"resource weight of {resource['name']} not in valid range (0, 100]"
            errors.append(invalid(f"{path}.resources[{index}].weight", weight, text))
    ratio, where = strategy.get("requestedToCapacityRatio"), f"{path}.requestedToCapacityRatio"
    if kind == "RequestedToCapacityRatio":
        if ratio is None:
            errors.append(required(where, "must be specified when type is RequestedToCapacityRatio"))
        else:
            errors += _check_shape(f"{where}.shape", ratio.get("shape") or ())
    elif ratio is not None:
        errors.append(forbidden(where, "must be nil when type is not RequestedToCapacityRatio"))
    return errors


def _check_dra(path: str, args: Args, gates: Gates) -> list[Cause]:
    """Setting what a disabled gate would need is an error here, unlike in the API."""
    errors: list[Cause] = []
    given, where = args.get("filterTimeout"), f"{path}filterTimeout"
    if given is not None and not gates.enabled("DRASchedulerFilterTimeout"):
        errors.append(forbidden(where, "DRASchedulingFilterTimeout feature gate is disabled"))
    elif given is not None and parse_duration_ns(given) < 0:
        errors.append(_bad_duration(where, given, "must be zero or positive"))
    given, where = args.get("bindingTimeout"), f"{path}bindingTimeout"
    if given is not None and not _has_binding_conditions(gates):
        gate = "DRADeviceBindingConditions or DRAResourceClaimDeviceStatus feature gate is disabled"
        errors.append(forbidden(where, gate))
    elif given is not None and parse_duration_ns(given) < 1_000_000_000:
        errors.append(_bad_duration(where, given, "must be at least 1 second"))
    return errors


def _bad_duration(path: str, text: str, detail: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {format_duration(parse_duration_ns(text))}: {detail}", path)


# -- by plugin -------------------------------------------------------------------------------------

ARGS: Mapping[str, tuple[Callable[[_Changed, Gates], None], Callable[[str, Args, Gates], list[Cause]]]] = {
    "DefaultPreemption": (_default_preemption, _check_preemption),
    "DynamicResources": (_default_dra, _check_dra),
    "InterPodAffinity": (_default_affinity, _check_affinity),
    "NodeAffinity": (_nothing, _check_node_affinity),
    "NodeResourcesBalancedAllocation": (_default_balance, _check_balance),
    "NodeResourcesFit": (_default_fit, _check_fit),
    "PodTopologySpread": (_default_spread, _check_spread),
    "VolumeBinding": (_default_volumes, _check_volumes),
}
"""Plugins with arguments that upstream knows: (what fills in, what refuses)."""


def with_defaults(plugin: str, args: Args, gates: Gates) -> dict[str, Any]:
    """`args` with what upstream fills in; those of a plugin it does not know as they are."""
    filled = {field: value for field, value in args.items() if value is not None}
    if plugin in ARGS:
        ARGS[plugin][0](filled, gates)
    return filled


def validate_args(plugin: str, args: Args, gates: Gates, path: str = "") -> list[Cause]:
    """What is wrong with arguments that have their defaults. `path` stands in front of the fields' names."""
    if plugin not in ARGS:
        return []
    return ARGS[plugin][1](f"{path}." if path else "", args, gates)


def checked_args(plugin: str, args: Args, gates: Gates) -> dict[str, Any]:
    """Arguments as a plugin is given them: decoded by their struct, with defaults. ValueError as upstream words it."""
    gvk = GVK("kubescheduler.config.k8s.io", "v1", f"{plugin}Args")
    if plugin not in ARGS:
        return dict(args)
    decoded = decode(args, gvk)
    if decoded.unknown:
        raise ValueError(strict_error(map(unknown_field, decoded.unknown)))
    typed = {field: value for field, value in decoded.object.items() if field not in ("apiVersion", "kind")}
    filled = with_defaults(plugin, typed, gates)
    if causes := validate_args(plugin, filled, gates):
        raise AggregateError(f"{cause.field}: {cause.message}" for cause in causes)
    return filled
