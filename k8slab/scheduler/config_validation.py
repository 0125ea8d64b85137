"""What a KubeSchedulerConfiguration may not say. Each problem is a Cause: the field and upstream's text.

Upstream: pkg/scheduler/apis/config/validation/validation.go, component-base/config/validation/validation.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from k8slab.api.errors import Cause
from k8slab.api.go_duration import format_duration
from k8slab.api.names import is_qualified_name
from k8slab.api.validation.field import GoStruct, duplicate, invalid, required
from k8slab.api.validation.resources import is_extended_resource
from k8slab.scheduler.config_args import validate_args
from k8slab.scheduler.config_extender import Extender
from k8slab.scheduler.framework import Gates
from k8slab.scheduler.profile import EXTENSION_POINTS, PluginSet, Profile

if TYPE_CHECKING:
    from k8slab.scheduler.config import KubeSchedulerConfiguration, LeaderElectionConfiguration

__all__ = ["validate_configuration"]

INVALID_PLUGINS = ("AzureDiskLimits", "CinderLimits", "EBSLimits", "GCEPDLimits")
"""Plugins that upstream removed; its text gives their version as "v1"."""

_CHECKED_BY_ITSELF = ("NodeResourcesFit",)
"""Upstream's table has it under the name of its arguments, so only the plugin checks them, when it is made."""


def validate_configuration(config: KubeSchedulerConfiguration, gates: Gates) -> list[Cause]:
    """All problems, in upstream's order; empty: none."""
    errors: list[Cause] = []
    if config.client_connection.burst < 0:
        errors.append(invalid("clientConnection.burst", config.client_connection.burst, "must be non-negative"))
    errors += _check_leader_election(config.leader_election)
    if config.parallelism <= 0:
        errors.append(invalid("parallelism", config.parallelism, "should be an integer value greater than zero"))
    errors += _check_profiles(config, gates)
    errors += _check_percentage("percentageOfNodesToScore", config.percentage_of_nodes_to_score)
    initial, longest = config.pod_initial_backoff_seconds, config.pod_max_backoff_seconds
    if initial <= 0:
        errors.append(invalid("podInitialBackoffSeconds", initial, "must be greater than 0"))
    if longest < initial:
        text = "must be greater than or equal to PodInitialBackoffSeconds"
        errors.append(invalid("podMaxBackoffSeconds", longest, text))
    return errors + _check_extenders(config.extenders)


def _check_leader_election(election: LeaderElectionConfiguration) -> list[Cause]:
    if not election.leader_elect:
        return []
    path, errors = "leaderElection", []
    durations = {
        "leaseDuration": election.lease_duration_ns,
        "renewDeadline": election.renew_deadline_ns,
        "retryPeriod": election.retry_period_ns,
    }
    for field, ns in durations.items():
        if ns <= 0:
            errors.append(_bad_duration(f"{path}.{field}", ns, "must be greater than zero"))
    if election.lease_duration_ns < election.renew_deadline_ns:
        text = "LeaseDuration must be greater than RenewDeadline"  # and the value shown is that of RenewDeadline
        errors.append(_bad_duration(f"{path}.leaseDuration", election.renew_deadline_ns, text))
    lock = election.resource_lock
    names = {"resourceLock": lock, "resourceNamespace": election.resource_namespace}
    names["resourceName"] = election.resource_name
    errors += [invalid(f"{path}.{field}", text, f"{field} is required") for field, text in names.items() if not text]
    if lock != "leases":
        errors.append(invalid(f"{path}.resourceLock", lock, 'resourceLock value must be "leases"'))
    return errors


def _bad_duration(path: str, ns: int, detail: str) -> Cause:
    return Cause("FieldValueInvalid", f"Invalid value: {format_duration(ns)}: {detail}", path)


def _check_percentage(path: str, percentage: int | None) -> list[Cause]:
    if percentage is None or 0 <= percentage <= 100:
        return []
    return [invalid(path, percentage, "not in valid range [0-100]")]


def _check_profiles(config: KubeSchedulerConfiguration, gates: Gates) -> list[Cause]:
    errors: list[Cause] = []
    first_of: dict[str, int] = {}
    for index, profile in enumerate(config.profiles):
        path = f"profiles[{index}]"
        errors += _check_profile(path, config.api_version, profile, gates)
        name = profile.scheduler_name
        if name in first_of:
            other = f"profiles[{first_of[name]}].schedulerName"
            errors.append(Cause("FieldValueDuplicate", f"Duplicate value: {other}", f"{path}.schedulerName"))
        first_of[name] = index
    return errors + _check_common_queue_sort(config.profiles)


def _check_profile(path: str, api_version: str, profile: Profile, gates: Gates) -> list[Cause]:
    errors: list[Cause] = []
    if not profile.scheduler_name:
        errors.append(required(f"{path}.schedulerName"))
    errors += _check_percentage(f"{path}.percentageOfNodesToScore", profile.percentage_of_nodes_to_score)
    for point in EXTENSION_POINTS:
        for index, (name, _) in enumerate(profile.points.get(point, PluginSet()).enabled):
            errors += _check_not_removed(f"{path}.plugins.{point}.enabled[{index}]", api_version, name)
    seen: dict[str, None] = {}
    for index, (name, args) in enumerate(profile.config_entries):
        where = f"{path}.pluginConfig[{index}]"
        if name in seen:
            errors.append(duplicate(where, name))
        seen[name] = None
        removed = _check_not_removed(where, api_version, name)
        errors += removed
        if not removed and name not in _CHECKED_BY_ITSELF:
            errors += validate_args(name, args, gates, f"{where}.args")
    return errors


def _check_not_removed(path: str, api_version: str, name: str) -> list[Cause]:
    if name not in INVALID_PLUGINS:
        return []
    text = f'was invalid in version "v1" (KubeSchedulerConfiguration is version "{api_version}")'
    return [invalid(path, name, text)]


def _check_common_queue_sort(profiles: Sequence[Profile]) -> list[Cause]:
    """All profiles share one queue, so they need one order."""
    errors: list[Cause] = []
    canon = profiles[0].points.get("queueSort", PluginSet())
    if len(canon.enabled) > 1:
        where, text = "profiles[0].plugins.queueSort.Enabled", "only one queue sort plugin can be enabled"
        errors.append(invalid(where, len(canon.enabled), text))
    name = canon.enabled[0][0] if canon.enabled else ""
    args = dict(profiles[0].config_entries).get(name)
    for index, profile in enumerate(profiles[1:], 1):
        current = profile.points.get("queueSort", PluginSet())
        if current != canon:
            where, text = f"profiles[{index}].plugins.queueSort", "must be the same for all profiles"
            errors.append(invalid(where, _shown(current), text))
        for entry, other in profile.config_entries:
            if entry == name and other != args:
                where, text = f"profiles[{index}].pluginConfig.args", "queueSort must be the same for all profiles"
                errors.append(invalid(where, other, text))
    return errors


def _shown(plugins: PluginSet) -> Mapping[str, Any]:
    enabled = [{"name": name, "weight": weight} for name, weight in plugins.enabled]
    disabled = [{"name": name, "weight": 0} for name in plugins.disabled]
    return GoStruct({"enabled": enabled or None, "disabled": disabled or None})


def _check_extenders(extenders: Sequence[Extender]) -> list[Cause]:
    errors: list[Cause] = []
    binders = sum(bool(extender.bind_verb) for extender in extenders)
    managed: dict[str, None] = {}
    for index, extender in enumerate(extenders):
        path = f"extenders[{index}]"
        if extender.prioritize_verb and extender.weight <= 0:
            text = "must have a positive weight applied to it"
            errors.append(invalid(f"{path}.weight", extender.weight, text))
        for number, resource in enumerate(extender.managed_resources):
            where, name = f"{path}.managedResources[{number}].name", resource.name
            errors += _check_extended_resource(where, name)
            if name in managed:
                errors.append(invalid(where, name, "duplicate extender managed resource name"))
            managed[name] = None
    if binders > 1:
        found = f"found {binders} extenders implementing bind"
        errors.append(invalid("extenders", found, "only one extender can implement bind"))
    return errors


def _check_extended_resource(path: str, name: str) -> list[Cause]:
    if problems := is_qualified_name(name):
        return [invalid(path, name, problem) for problem in problems]
    return [] if is_extended_resource(name) else [invalid(path, name, "is an invalid extended resource name")]
