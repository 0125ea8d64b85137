"""What the scheduler does when its informers tell it of a change: keep the cache, feed and stir the queue.

Upstream: pkg/scheduler/eventhandlers.go
Simplified: resource claims are absent.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.api.pods import pod_priority
from k8slab.api.scheme import (
    CSIDRIVERS,
    CSINODES,
    CSISTORAGECAPACITIES,
    GVR,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    STORAGECLASSES,
    VOLUMEATTACHMENTS,
)
from k8slab.scheduler.cache import Cache
from k8slab.scheduler.framework import (
    ASSIGNED_POD_ADD,
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    NODE_DELETE,
    UNSCHEDULED_POD_ADD,
    UNSCHEDULED_POD_UPDATE,
    ActionType,
    ClusterEvent,
    EventResource,
    image_sizes,
    node_changes,
    placed_on,
    pod_changes,
    pod_key,
    scheduler_name,
    uid_of,
)
from k8slab.scheduler.nominator import Nominator, nominated_node_name
from k8slab.scheduler.pod_groups import scheduling_group
from k8slab.scheduler.queue import QueueName, SchedulingQueue

__all__ = ["OTHER_RESOURCES", "EventHandlers", "ResourceHandlers", "assigned"]

OTHER_RESOURCES: Mapping[GVR, EventResource] = {
    PERSISTENTVOLUMES: EventResource.PERSISTENT_VOLUME,
    PERSISTENTVOLUMECLAIMS: EventResource.PERSISTENT_VOLUME_CLAIM,
    STORAGECLASSES: EventResource.STORAGE_CLASS,
    CSINODES: EventResource.CSI_NODE,
    CSIDRIVERS: EventResource.CSI_DRIVER,
    CSISTORAGECAPACITIES: EventResource.CSI_STORAGE_CAPACITY,
    VOLUMEATTACHMENTS: EventResource.VOLUME_ATTACHMENT,
}
"""What is not in the cache of Nodes and Pods, and may yet bring a Pod back."""


def assigned(pod: Object) -> bool:
    """Whether the Pod has a Node."""
    return bool((pod.get("spec") or {}).get("nodeName"))


class ResourceHandlers(NamedTuple):
    """What `SharedInformer.add_event_handler` takes."""

    add: Callable[..., None]
    update: Callable[[Object, Object], None]
    delete: Callable[[Object], None]


class EventHandlers:
    """Plain functions for `SharedInformer.add_event_handler`; they never wait.

    `profiles`: names of the schedulers this process is. `reject_waiting(uid)`: end a wait in Permit, if there is one.
    `handled(label)` counts the events.
    """

    def __init__(
        self,
        cache: Cache,
        queue: SchedulingQueue,
        nominator: Nominator,
        profiles: Container[str],
        now_ms: Callable[[], int],
        reject_waiting: Callable[[str], bool],
        handled: Callable[[str], None] = lambda label: None,
    ) -> None:
        self._cache = cache
        self._queue = queue
        self._nominator = nominator
        self._profiles = profiles
        self._now_ms = now_ms
        self._reject_waiting = reject_waiting
        self._handled = handled

    # -- Nodes -------------------------------------------------------------------------------------

    def add_node(self, node: Object, is_initial: bool = False) -> None:
        self._cache.add_node(node)
        self._queue.move_all(NODE_ADD, None, node, self._now_ms())
        self._handled(NODE_ADD.label)

    def update_node(self, old: Object, new: Object) -> None:
        """Heartbeats change nothing that matters here: they leave the Node's generation alone."""
        events = node_changes(new, old)
        if events or image_sizes(old) != image_sizes(new):
            self._cache.update_node(new)
        for event in events:
            self._queue.move_all(event, old, new, self._now_ms())
            self._handled(event.label)

    def delete_node(self, node: Object) -> None:
        self._queue.move_all(NODE_DELETE, node, None, self._now_ms())
        self._cache.remove_node(node["metadata"]["name"])
        self._handled(NODE_DELETE.label)

    # -- Pods --------------------------------------------------------------------------------------

    def add_pod(self, pod: Object, is_initial: bool = False) -> None:
        if assigned(pod):
            self._add_assigned(pod)
        elif self._is_ours(pod):
            self._nominator.add(pod)
            self._cache.pod_groups.add_unscheduled(pod)
            self._queue.add(pod, self._now_ms())
            if scheduling_group(pod):  # the one that makes a gang complete, perhaps
                self._queue.move_all(UNSCHEDULED_POD_ADD, None, pod, self._now_ms())
            self._handled(UNSCHEDULED_POD_ADD.label)

    def update_pod(self, old: Object, new: Object) -> None:
        if old["metadata"].get("uid") != new["metadata"].get("uid"):
            self.delete_pod(old)
            self.add_pod(new)
        elif assigned(old):
            self._cache.update_pod(new)
            for event in pod_changes(new, old):
                self._queue.move_all(event, old, new, self._now_ms())
                self._handled(event.label)
        elif assigned(new):
            # This is the binding: ours, seen at last, or somebody else's.
            self._cache.pod_groups.remove_unscheduled(old)
            self._add_assigned(new)
            if self._is_ours(old):
                self._queue.delete(old)
                self._nominator.delete(old)
        elif self._is_ours(old):
            self._update_pending(old, new)

    def delete_pod(self, pod: Object) -> None:
        if assigned(pod):
            self._cache.remove_pod(pod_key(pod))
            self._queue.move_all(ASSIGNED_POD_DELETE, pod, None, self._now_ms())
            self._handled(ASSIGNED_POD_DELETE.label)
        elif self._is_ours(pod):
            self._cache.pod_groups.remove_unscheduled(pod)
            self._handled("UnscheduledPodDelete")
            self._queue.delete(pod)
            self._nominator.delete(pod)
            if self._cache.is_assumed(pod_key(pod)):
                self._assumed_pod_deleted(pod)
            elif nominated_node_name(pod):
                self._room_given_up(pod)

    # -- other resources ---------------------------------------------------------------------------

    def others(self, resource: EventResource | str) -> ResourceHandlers:
        """Handlers that only stir the queue."""
        return ResourceHandlers(
            lambda obj, is_initial=False: self._stir(resource, ActionType.ADD, None, obj),
            lambda old, new: self._stir(resource, ActionType.UPDATE, old, new),
            lambda obj: self._stir(resource, ActionType.DELETE, obj, None),
        )

    def resort(self, *_: Any) -> None:
        """Something that the order of the queue depends on has changed."""
        self._queue.resort()

    def _stir(self, resource: EventResource | str, action: ActionType, old: Object | None, new: Object | None) -> None:
        self._queue.move_all(ClusterEvent(resource, action), old, new, self._now_ms())

    # -- inside ------------------------------------------------------------------------------------

    def _is_ours(self, pod: Object) -> bool:
        return scheduler_name(pod) in self._profiles

    def _add_assigned(self, pod: Object) -> None:
        self._cache.add_pod(pod)
        self._queue.move_all(ASSIGNED_POD_ADD, None, pod, self._now_ms())
        self._handled(ASSIGNED_POD_ADD.label)

    def _update_pending(self, old: Object, new: Object) -> None:
        before, now = old["metadata"], new["metadata"]
        if before.get("resourceVersion") == now.get("resourceVersion"):
            return  # a resync, not a change
        if self._cache.is_assumed(pod_key(new)):
            if now.get("deletionTimestamp") and not before.get("deletionTimestamp"):
                self._assumed_pod_deleted(new)
            return
        if self._queue.where(pod_key(new)) is not QueueName.IN_FLIGHT:
            self._nominator.update(old, new)
        self._queue.update(old, new, self._now_ms())
        self._handled(UNSCHEDULED_POD_UPDATE.label)
        if nominated_node_name(old) and nominated_node_name(old) != nominated_node_name(new):
            self._room_given_up(old)

    def _room_given_up(self, pod: Object) -> None:
        """The room kept for a nominated Pod is free: as good as a deletion, for Pods that are not more important."""
        mine = pod_priority(pod)
        self._queue.move_all(ASSIGNED_POD_DELETE, pod, None, self._now_ms(), only=lambda info: info.priority <= mine)

    def _assumed_pod_deleted(self, pod: Object) -> None:
        """It was placed, and is deleted before its binding was seen: free at once what it was to use."""
        key = pod_key(pod)
        placed = placed_on(pod, self._cache.node_of(key) or "")
        self._reject_waiting(uid_of(pod))
        self._cache.forget(key, uid_of(pod))
        self._queue.move_all(ASSIGNED_POD_DELETE, placed, None, self._now_ms())
