"""From names in a profile to plugin objects with their arguments.

Upstream: pkg/scheduler/framework/runtime/{registry,framework}.go (Merge, NewFramework)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from k8slab.scheduler.config_args import checked_args
from k8slab.scheduler.framework import Gates, Plugin
from k8slab.scheduler.plugins import REGISTRY
from k8slab.scheduler.profile import Profile, default_plugins

__all__ = ["Factory", "known_plugins", "make_plugins"]

Factory = Callable[[Mapping[str, Any], Any], Plugin]
"""A function of the arguments and the Handle, mostly a class."""


def known_plugins(registry: Mapping[str, Factory]) -> dict[str, Factory]:
    """The in-tree plugins and `registry`. ValueError for a name that an in-tree one has."""
    known: dict[str, Factory] = dict(REGISTRY)
    for name, factory in registry.items():
        if name in known:
            raise ValueError(f"a plugin named {name} already exists")
        known[name] = factory
    return known


def make_plugins(
    profile: Profile,
    known: Mapping[str, Factory],
    features: Gates,
    handle: Any,
    left_to_extenders: Sequence[str] = (),
) -> dict[str, Plugin]:
    """The plugins that the profile names; names that nobody knows are left to `points_of`.

    `left_to_extenders`: resources that NodeResourcesFit ignores, in the place of what the profile says.
    """
    wanted = dict.fromkeys(name for name, _ in profile.multi_point.merged_into(default_plugins(features)))
    for plugin_set in profile.points.values():
        wanted.update(dict.fromkeys(name for name, _ in plugin_set.enabled))
    config = dict(profile.plugin_config)
    if left_to_extenders:
        config["NodeResourcesFit"] = {**config.get("NodeResourcesFit", {}), "ignoredResources": list(left_to_extenders)}
    made: dict[str, Plugin] = {}
    for name in wanted:
        if name in known:
            try:
                made[name] = known[name](checked_args(name, config.get(name, {}), features), handle)
            except ValueError as error:
                raise ValueError(f'initializing plugin "{name}": {error}') from error
    return made
