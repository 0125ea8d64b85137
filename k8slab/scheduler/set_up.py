"""What a scheduler process is made of: frameworks from its configuration, and informers that its plugins need.

Upstream: pkg/scheduler/scheduler.go (New), pkg/scheduler/profile/profile.go (NewMap), pkg/scheduler/eventhandlers.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Unpack

from k8slab.api.labels import go_quote
from k8slab.api.objects import Object
from k8slab.client import SharedInformer
from k8slab.scheduler.config import KubeSchedulerConfiguration
from k8slab.scheduler.event_handlers import EventHandlers
from k8slab.scheduler.framework import PodListener, QueueSortKey, custom_resource, custom_resource_of
from k8slab.scheduler.listers import InformerLister
from k8slab.scheduler.profile import Profile
from k8slab.scheduler.runtime import Framework, FrameworkOptions, name_of

__all__ = ["build_frameworks", "config_of", "listen_for_plugins"]


def config_of(
    config: KubeSchedulerConfiguration | None, profiles: Sequence[Profile | Object] | None
) -> KubeSchedulerConfiguration:
    """`config`, or one that has just these profiles; the defaults without either."""
    if profiles is None:
        return config if config is not None else KubeSchedulerConfiguration()
    if config is not None:
        raise ValueError("profiles: given beside config, expected one of them")
    given = tuple(p if isinstance(p, Profile) else Profile.from_dict(p) for p in profiles)
    return KubeSchedulerConfiguration(profiles=given or (Profile(),))


def _unlike(framework: Framework, built: Mapping[str, Framework]) -> str:
    """Why a profile cannot stand beside those there are; "" when it can."""
    name = framework.profile_name
    if not name:
        return "scheduler name is needed"
    if name in built:
        return f"duplicate profile with scheduler name {go_quote(name)}"
    if not built:
        return ""
    first = next(iter(built.values()))
    own, other = name_of(framework.queue_sort_plugin), name_of(first.queue_sort_plugin)
    if own != other:
        return f"different queue sort plugins for profile {go_quote(name)}: {go_quote(own)}, first: {go_quote(other)}"
    if framework.profile.plugin_config.get(own) != first.profile.plugin_config.get(own):
        return f"different queue sort plugin args for profile {go_quote(name)}"
    return ""


def build_frameworks(config: KubeSchedulerConfiguration, **options: Unpack[FrameworkOptions]) -> dict[str, Framework]:
    """The frameworks by scheduler name; `options` as of `Framework.from_profile`. ValueError as upstream says it.

    They share one queue, so all must sort it alike.
    """
    built: dict[str, Framework] = {}
    options.setdefault("percentage_of_nodes_to_score", config.percentage_of_nodes_to_score)
    for profile in config.profiles:
        name = profile.scheduler_name
        try:
            framework = Framework.from_profile(profile, **options)
        except ValueError as error:
            raise ValueError(f"initializing profiles: creating profile for scheduler name {name}: {error}") from error
        if problem := _unlike(framework, built):
            raise ValueError(f"initializing profiles: {problem}")
        built[name] = framework
    return built


def listen_for_plugins(
    frameworks: Iterable[Framework], handlers: EventHandlers, lister: InformerLister, pods: SharedInformer
) -> None:
    """Informers for custom resources that plugins registered events of, and for what QueueSort sorts by."""
    registered = [
        entry.event
        for framework in frameworks
        for entries in framework.events_to_register().values()
        for entry in entries
    ]
    resources = dict.fromkeys(gvr for event in registered if (gvr := custom_resource_of(event)) is not None)
    for gvr in resources:
        lister.informer(gvr).add_event_handler(*handlers.others(custom_resource(gvr)))
    for framework in frameworks:
        for plugin in framework.plugins.values():
            if isinstance(plugin, PodListener):
                pods.add_event_handler(plugin.pod_added, plugin.pod_updated, plugin.pod_deleted)
    sort = next(iter(frameworks)).queue_sort_plugin
    for gvr in sort.sorts_by if isinstance(sort, QueueSortKey) else ():
        lister.informer(gvr).add_event_handler(handlers.resort, handlers.resort, handlers.resort)
