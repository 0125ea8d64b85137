"""Gangs in tree: Pods that name a PodGroup with a `gang` policy are bound when `minCount` of them fit together.

    created ── the group and minCount Pods exist ──> queued ── the pod group cycle finds places ──> all are bound
       └─ else gated in PreEnqueue                      └─ else all go back, and nothing is held meanwhile

Alpha and off: gates GenericWorkload (the API, `spec.schedulingGroup`, the cycle) and GangScheduling (this plugin). What
differs from gangs by Permit alone is the cycle, see `pod_group_cycle`: the members are placed one after the other, but
in one go, so no gang holds places while it waits for more.

Upstream: pkg/scheduler/framework/plugins/gangscheduling/gangscheduling.go (v1.36)
Simplified: Permit does not activate the group's other Pods, since the cycle has taken them from the queue. Not
    established for 1.36: the plugin's place in the default profile (here the last) and which plugin is blamed for a
    member that fits while its group does not (here this one). In 1.35 the API was v1alpha1; it is not served.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.scheme import PODGROUPS
from k8slab.scheduler.framework import (
    SUCCESS,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    Code,
    CycleState,
    EventResource,
    Handle,
    QueueingHint,
    Status,
    namespace_of,
)
from k8slab.scheduler.pod_groups import scheduling_group

__all__ = ["GangScheduling"]

PERMIT_TIMEOUT_MS = 5 * 60 * 1000


class GangScheduling:
    name = "GangScheduling"

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        self._handle = handle

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return [
            ClusterEventWithHint(ClusterEvent(EventResource.UNSCHEDULED_POD, ActionType.ADD), self._after_pod_added),
            ClusterEventWithHint(ClusterEvent(EventResource.ASSIGNED_POD, ActionType.ADD), self._after_pod_added),
            ClusterEventWithHint(ClusterEvent(EventResource.POD_GROUP, ActionType.ADD), self._after_group_added),
        ]

    def _after_pod_added(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        mine = scheduling_group(pod)
        same = bool(mine) and new is not None and scheduling_group(new) == mine
        return QueueingHint.of(same)

    def _after_group_added(self, pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        mine = scheduling_group(pod)
        same = bool(mine) and new is not None and f"{namespace_of(new)}/{new['metadata']['name']}" == mine
        return QueueingHint.of(same)

    def pre_enqueue(self, pod: Object) -> Status:
        """Keep a gang out of the queue until its group and enough of its Pods exist."""
        name = scheduling_group(pod)
        if not name:
            return SUCCESS
        group = self._group(name)
        if group is None:
            short = name.partition("/")[2]
            return self._no(f'waiting for pods\'s pod group "{short}" to appear in scheduling queue')
        if self._handle.pod_groups.get(name).all_pods_count < _min_count(group):
            return self._no("waiting for minCount pods from a gang to appear in scheduling queue")
        return SUCCESS

    def permit(self, state: CycleState, pod: Object, node_name: str) -> tuple[Status, int]:
        """Wait until minCount of the gang have a place; the one that makes it enough lets the others go."""
        name = scheduling_group(pod)
        if not name:
            return SUCCESS, 0
        group = self._group(name)
        if group is None:
            text = f'failed to get podGroup {name}: podgroup.scheduling.k8s.io "{name.partition("/")[2]}" not found'
            return Status(Code.ERROR, text), 0
        members = self._handle.pod_groups.get(name)
        if members.scheduled_pods_count < _min_count(group):
            return Status(Code.WAIT, "waiting for minCount pods from a gang to be scheduled"), PERMIT_TIMEOUT_MS
        for uid in members.placed_uids:
            waiting = self._handle.waiting_pod(uid)
            if waiting is not None:
                waiting.allow(self.name)
        return SUCCESS, 0

    def _group(self, name: str) -> Object | None:
        namespace, _, short = name.partition("/")
        return self._handle.lister.get(PODGROUPS, short, namespace)

    def _no(self, text: str) -> Status:
        return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text, plugin=self.name)


def _min_count(group: Object) -> int:
    """How many must fit together: 0 for a group whose policy is `basic`."""
    gang = group["spec"]["schedulingPolicy"].get("gang")
    count: int = gang["minCount"] if gang is not None else 0
    return count
