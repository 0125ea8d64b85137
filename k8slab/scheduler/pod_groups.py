"""Which Pods belong to which PodGroup, and which of them have a place: what GangScheduling asks.

>>> groups = PodGroupManager()
>>> pods = [{"metadata": {"name": n}, "spec": {"schedulingGroup": {"podGroupName": "g"}}} for n in ("a", "b")]
>>> for pod in pods:
...     groups.add_unscheduled(pod)
>>> groups.placed(pods[0])
>>> state = groups.get("default/g")
>>> state.all_pods_count, state.scheduled_pods_count, [pod["metadata"]["name"] for pod in state.unscheduled_pods]
(2, 1, ['b'])

A plain mechanism. The event handlers tell it of Pods without a Node, the cache of those that are assumed or bound: what
the cache forgets is unscheduled again, so no count can outlive what it counts.

Upstream: pkg/scheduler/backend/cache (PodGroupManager, PodGroupState), v1.36
"""

from __future__ import annotations

from collections.abc import Callable

from k8slab.api.objects import Object
from k8slab.scheduler.framework import namespace_of, uid_of

__all__ = ["PodGroupManager", "PodGroupState", "scheduling_group"]


def scheduling_group(pod: Object) -> str:
    """`namespace/name` of the PodGroup that `spec.schedulingGroup` names; "" for none."""
    name = ((pod.get("spec") or {}).get("schedulingGroup") or {}).get("podGroupName")
    return f"{namespace_of(pod)}/{name}" if name else ""


class PodGroupState:
    """The Pods of one group, by uid."""

    def __init__(self) -> None:
        self._unscheduled: dict[str, Object] = {}
        self._placed: dict[str, Object] = {}

    @property
    def all_pods_count(self) -> int:
        return len(self._placed) + len(self.unscheduled_pods)

    @property
    def scheduled_pods_count(self) -> int:
        """Those that are assumed or bound."""
        return len(self._placed)

    @property
    def unscheduled_pods(self) -> list[Object]:
        return [pod for uid, pod in self._unscheduled.items() if uid not in self._placed]

    @property
    def placed_uids(self) -> list[str]:
        return list(self._placed)


class PodGroupManager:
    """All groups that have Pods, by `namespace/name`."""

    def __init__(self) -> None:
        self._groups: dict[str, PodGroupState] = {}

    def get(self, name: str) -> PodGroupState:
        """The state of a group; one without Pods is empty."""
        return self._groups.get(name) or PodGroupState()

    def add_unscheduled(self, pod: Object) -> None:
        """A Pod without a Node, new or in another state."""
        if name := scheduling_group(pod):
            self._groups.setdefault(name, PodGroupState())._unscheduled[uid_of(pod)] = pod

    def remove_unscheduled(self, pod: Object) -> None:
        """It was deleted, or was seen bound."""
        self._take(pod, lambda state: state._unscheduled)

    def placed(self, pod: Object) -> None:
        """It is assumed or bound."""
        if name := scheduling_group(pod):
            self._groups.setdefault(name, PodGroupState())._placed[uid_of(pod)] = pod

    def displaced(self, pod: Object) -> None:
        """It was forgotten, or is gone."""
        self._take(pod, lambda state: state._placed)

    def _take(self, pod: Object, which: Callable[[PodGroupState], dict[str, Object]]) -> None:
        name = scheduling_group(pod)
        state = self._groups.get(name) if name else None
        if state is None:
            return
        which(state).pop(uid_of(pod), None)
        if not state._unscheduled and not state._placed:
            del self._groups[name]
