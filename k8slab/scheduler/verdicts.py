"""Verdicts that the framework makes itself, and whose they are.

Upstream: pkg/scheduler/framework/runtime/framework.go (RunFilterPlugins, RunPreFilterPlugins,
RunReservePluginsReserve, RunPermitPlugins, RunPreBindPlugins, RunBindPlugins),
pkg/scheduler/schedule_one.go (findNodesThatFitPod)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from k8slab.scheduler.framework import Code, PreFilterResult, Status

__all__ = ["left_out_by", "name_of", "narrowed", "nobody_left", "not_success_at", "signed_filter_status"]


def name_of(plugin: Any) -> str:
    """The name of any plugin (`name` is part of no extension point's Protocol)."""
    name: str = plugin.name
    return name


def signed_filter_status(status: Status, plugin: str) -> Status:
    """A Filter verdict with its plugin's name; codes that Filter may not use become Error."""
    if status.is_rejected:
        return status.with_plugin(plugin)
    return Status(Code.ERROR, f'running "{plugin}" filter plugin: {status.message}', plugin=plugin)


def not_success_at(point: str, status: Status, plugin: str) -> Status:
    """What ends the cycle behind the choice of a Node: a rejection, signed; all other codes become Error."""
    if status.is_rejected:
        return status.with_plugin(plugin)
    return Status(Code.ERROR, f'running {point} plugin "{plugin}": {status.message}')


def left_out_by(plugins: Sequence[str]) -> Status:
    """The verdict of Nodes that PreFilter plugins left out."""
    text = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}]"
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text)


def narrowed(names: frozenset[str] | None, result: PreFilterResult) -> frozenset[str]:
    """The Nodes that are left when a PreFilter plugin narrows them further."""
    found = result.node_names or frozenset()
    return found if names is None else names & found


def nobody_left(narrowed_by: Sequence[str]) -> Status:
    """The verdict when PreFilter plugins together leave no Node."""
    plugins = " ".join(sorted(narrowed_by))
    text = (
        f"node(s) didn't satisfy plugin {plugins}"
        if len(narrowed_by) == 1
        else f"node(s) didn't satisfy plugin(s) [{plugins}] simultaneously"
    )
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text)
