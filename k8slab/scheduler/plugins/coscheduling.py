"""Gangs by Permit: Pods that name one PodGroup are bound when at least `minMember` of them have a place, or not at all.

    reserved ──> waits in Permit ── enough of the group have a place ──> all of them are bound
                      ├─ a member finds no Node (and many are missing) ──> all are sent back: PostFilter
                      └─ `scheduleTimeoutSeconds` pass ──> one is sent back, and takes the others with it: Unreserve

A member that waits holds its place: two gangs that fit one at a time can hold half of the cluster each and wait for
the rest. Order (QueueSort keeps a group together), PostFilter and the timeout make that rare and short. They do not
make it impossible, because every member is placed by a cycle of its own.

A plugin out of tree: put it into a scheduler's `registry`, and `Coscheduling` in the place of PrioritySort. Groups are
objects of `scheduling.x-k8s.io/v1alpha1`, and a Pod names its group by label.

>>> from k8slab.scheduler import Framework
>>> from k8slab.scheduler.plugins.coscheduling import PROFILE, REGISTRY
>>> list(Framework.from_profile(PROFILE, registry=REGISTRY).plugins)[-1]
'Coscheduling'

Upstream: kubernetes-sigs/scheduler-plugins pkg/coscheduling/coscheduling.go, pkg/coscheduling/core/core.go,
    apis/scheduling/v1alpha1/types.go (v0.34)
Simplified: members with a place are counted on the Nodes and in Permit, not in a ledger fed by Permit, Unreserve and an
    informer (one that was rejected and has not heard of it yet does not count: upstream can count it); siblings are
    activated by Permit itself, not through the cycle state, and after their back-off if PostFilter sent the group back
    less than a second ago (upstream tries a group that cannot fit as fast as it can); amounts of a "resource gap" are
    printed as quantities, not as Go prints the struct; nobody writes the group's status.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.api.quantity import Quantity, quantity
from k8slab.api.scheme import GVR, PODS
from k8slab.api.times import parse_time
from k8slab.scheduler.framework import (
    SUCCESS,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    Code,
    CycleState,
    EventResource,
    Handle,
    NodeInfo,
    NodeStatuses,
    PodInfo,
    PostFilterResult,
    PreFilterResult,
    QueuedPod,
    Status,
    custom_resource,
    labels_of,
    namespace_of,
    uid_of,
)

__all__ = ["PODGROUPS", "POD_GROUP_LABEL", "PROFILE", "REGISTRY", "Coscheduling", "pod_group_name"]

PODGROUPS = GVR("scheduling.x-k8s.io", "v1alpha1", "podgroups")
"""Where the plugin's PodGroups are served."""

POD_GROUP_LABEL = "scheduling.x-k8s.io/pod-group"
"""The label by which a Pod names its group."""

DEFAULT_WAIT_S = 60
RECENTLY_MS = 1_000


def pod_group_name(pod: Object) -> str:
    """`namespace/name` of the group a Pod belongs to; "" for none."""
    name = labels_of(pod).get(POD_GROUP_LABEL)
    return f"{namespace_of(pod)}/{name}" if name else ""


class _Group(NamedTuple):
    """What is asked of a PodGroup. `wait_ms` None: the plugin's default."""

    min_member: int
    min_resources: Mapping[str, Quantity]
    wait_ms: int | None
    created_ms: int


class Coscheduling:
    """Args: `permitWaitingTimeSeconds` (60), `podGroupBackoffSeconds` (0: a rejected group may come back at once),
    `podGroupRejectPercentage` (10: PostFilter spares a group that lacks at most so many of its members).
    """

    name = "Coscheduling"

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        self._handle = handle
        self._wait_ms = _argument(args, "permitWaitingTimeSeconds", DEFAULT_WAIT_S) * 1000
        self._backoff_ms = _argument(args, "podGroupBackoffSeconds", 0) * 1000
        self._reject_percentage = _argument(args, "podGroupRejectPercentage", 10, most=100)
        self._backed_off_until: dict[str, int] = {}
        self._permitted_until: dict[str, int] = {}  # groups whose minResources were found
        self._failed_at: dict[str, tuple[int, int]] = {}  # ms, and a number: no two groups fail at the same time
        self._failures = 0
        self._rejected_at: dict[str, int] = {}

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return [
            ClusterEventWithHint(ClusterEvent(EventResource.POD, ActionType.ADD)),
            ClusterEventWithHint(ClusterEvent(custom_resource(PODGROUPS), ActionType.ADD | ActionType.UPDATE)),
        ]

    # -- queue -------------------------------------------------------------------------------------

    def less(self, a: QueuedPod, b: QueuedPod) -> bool:
        """By priority, then by how old the group is (it ages anew when it failed), then by name."""
        if a.priority != b.priority:
            return a.priority > b.priority
        mine, others = self._age_of(a), self._age_of(b)
        return a.key < b.key if mine == others else mine < others

    def _age_of(self, info: QueuedPod) -> tuple[int, int]:
        name, since = pod_group_name(info.pod), info.initial_attempt_ms
        if name in self._failed_at:
            return self._failed_at[name]
        group = self._group(name)
        if isinstance(group, _Group):
            return group.created_ms, 0
        return (since if since is not None else info.timestamp_ms), 0

    # -- before the Nodes are looked at --------------------------------------------------------------

    def pre_filter(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]
    ) -> tuple[PreFilterResult | None, Status]:
        """Deny quickly: a group that failed just now, has too few Pods, or cannot have its `minResources`."""
        name = pod_group_name(pod)
        problem = self._problem(name, self._group(name), pod["metadata"]["name"], nodes)
        return None, Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, problem) if problem else SUCCESS

    def _problem(self, name: str, group: _Group | str | None, pod_name: str, nodes: Sequence[NodeInfo]) -> str:
        if not isinstance(group, _Group):
            return group or ""
        if self._backed_off_until.get(name, 0) > self._handle.now_ms:
            return f"podGroup {name} failed recently"
        members = self._members(name)
        if len(members) < group.min_member:
            return (
                f"pre-filter pod {pod_name} cannot find enough sibling pods, "
                f"current pods number: {len(members)}, minMember of group: {group.min_member}"
            )
        gated = sum(1 for member in members if (member["spec"].get("schedulingGates") or ()))
        if len(members) - gated < group.min_member:
            return f"pre-filter pod {pod_name} cannot proceed due to gated pods in the same PodGroup"
        if not group.min_resources or self._permitted_until.get(name, 0) > self._handle.now_ms:
            return ""
        gap = _resource_gap({**group.min_resources, "pods": quantity(group.min_member)}, nodes, name)
        if gap:
            return f"resource gap: {{{', '.join(f'{what}: {amount}' for what, amount in gap.items())}}}"
        self._permitted_until[name] = self._handle.now_ms + self._wait_ms
        return ""

    # -- no Node was found ---------------------------------------------------------------------------

    def post_filter(
        self, state: CycleState, pod: Object, statuses: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        """If one member finds no Node the others will not: send back those that wait, unless few are missing."""
        name = pod_group_name(pod)
        group = self._group(name)
        if not isinstance(group, _Group):
            return None, Status(Code.UNSCHEDULABLE, "can not find pod group")
        missing = group.min_member - self._count(name)
        if missing <= 0 or missing * 100 <= self._reject_percentage * group.min_member:
            return None, Status(Code.UNSCHEDULABLE)
        if self._reject(name, "optimistic rejection in PostFilter"):
            self._rejected_at[name] = self._handle.now_ms
        if self._backoff_ms and len(self._members(name)) >= group.min_member:
            self._back_off(name)
        self._failed(name)
        text = (
            f"PodGroup {name} gets rejected due to Pod {pod['metadata']['name']} is unschedulable even after PostFilter"
        )
        return None, Status(Code.UNSCHEDULABLE, text)

    # -- a Node was found ----------------------------------------------------------------------------

    def permit(self, state: CycleState, pod: Object, node_name: str) -> tuple[Status, int]:
        """Wait until enough of the group have a place; the one that makes it enough lets the others go."""
        name = pod_group_name(pod)
        if not name:
            return SUCCESS, 0
        group = self._group(name)
        if not isinstance(group, _Group):
            return Status(Code.UNSCHEDULABLE, group or "PodGroup not found"), 0
        others = self._count(name)
        if others + 1 < group.min_member:
            if others == 0:  # the first one wakes its siblings; one call is enough
                self._wake(name, [member for member in self._members(name) if uid_of(member) != uid_of(pod)])
            return Status(Code.WAIT), group.wait_ms or self._wait_ms
        self._failed_at.pop(name, None)
        for waiting in self._handle.waiting_pods():
            if pod_group_name(waiting.pod) == name:
                waiting.allow(self.name)
        return SUCCESS, 0

    def reserve(self, state: CycleState, pod: Object, node_name: str) -> Status:
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Object, node_name: str) -> None:
        """One member lost its place, by its timeout or in binding: those that wait for it wait in vain."""
        name = pod_group_name(pod)
        if isinstance(self._group(name), _Group):
            self._reject(name, "rejection in Unreserve")
            self._failed(name)

    # -- inside --------------------------------------------------------------------------------------

    def _group(self, name: str) -> _Group | str | None:
        """The group, None if there is none, or what is wrong with it."""
        namespace, _, short = name.partition("/")
        found = self._handle.lister.get(PODGROUPS, short, namespace) if name else None
        if found is None:
            return None
        spec = found.get("spec") or {}
        numbers = {field: spec.get(field) for field in ("minMember", "scheduleTimeoutSeconds")}
        for field, number in numbers.items():
            if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 0):
                return f"PodGroup {name}: spec.{field}: {number!r}, expected an integer of 0 or more"
        seconds, created = numbers["scheduleTimeoutSeconds"], found["metadata"].get("creationTimestamp")
        resources: dict[str, Quantity] = {}
        for what, amount in (spec.get("minResources") or {}).items():
            try:
                resources[what] = quantity(amount)
            except (TypeError, ValueError) as error:
                return f"PodGroup {name}: spec.minResources.{what}: {error}"
        return _Group(
            numbers["minMember"] or 0,
            resources,
            None if seconds is None else seconds * 1000,
            parse_time(created) if created else 0,
        )

    def _members(self, name: str) -> list[Object]:
        """The group's Pods that have not finished, with a Node or without."""
        return [pod for pod in self._handle.lister.list(PODS, name.partition("/")[0]) if pod_group_name(pod) == name]

    def _count(self, name: str) -> int:
        """How many have a place: bound, on the way to it, or waiting and not rejected."""
        return sum(
            1
            for node in self._handle.snapshot().nodes
            for info in node.pods.values()
            if pod_group_name(info.pod) == name and not self._is_rejected(info)
        )

    def _is_rejected(self, info: PodInfo) -> bool:
        waiting = self._handle.waiting_pod(info.uid)
        return waiting is not None and waiting.is_rejected

    def _reject(self, name: str, message: str) -> bool:
        """Whether anybody of the group waited."""
        mine = [waiting for waiting in self._handle.waiting_pods() if pod_group_name(waiting.pod) == name]
        ended = [waiting.reject(self.name, message) for waiting in mine]
        return any(ended)

    def _failed(self, name: str) -> None:
        """Its minResources are to be looked for again, and groups that have not failed yet come before it."""
        self._permitted_until.pop(name, None)
        self._failures += 1
        self._failed_at[name] = self._handle.now_ms, self._failures

    def _wake(self, name: str, siblings: list[Object]) -> None:
        """At once; but after PostFilter sent them back their own back-off holds, or a group that cannot fit would be
        tried over and over in one moment."""
        since = self._handle.now_ms - self._rejected_at.get(name, -RECENTLY_MS)
        self._handle.activate(siblings, after_backoff=since < RECENTLY_MS)

    def _back_off(self, name: str) -> None:
        """Deny the group for a while. A group that is denied already is not denied for longer."""
        now_ms = self._handle.now_ms
        if self._backed_off_until.get(name, 0) <= now_ms:
            self._backed_off_until[name] = now_ms + self._backoff_ms


def _argument(args: Mapping[str, Any], field: str, default: int, *, most: int | None = None) -> int:
    value = args.get(field)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{field}: {value!r}, expected an integer")
    if value < 0 or (most is not None and value > most):
        must = "must be greater than 0" if most is None else f"must be between 0 and {most}"
        raise ValueError(f"{field}: Invalid value: {value}: {must}")
    return value


def _resource_gap(wanted: Mapping[str, Quantity], nodes: Sequence[NodeInfo], name: str) -> dict[str, str]:
    """What of `wanted` the Nodes together cannot give, counting what the group's own Pods use as free."""
    gap = dict(wanted)
    for node in nodes:
        left = _left(node, name)
        for what in list(gap):
            gap[what] = gap[what] - quantity(left.get(what, "0"))
            if gap[what].sign <= 0:
                del gap[what]
    return {what: str(amount) for what, amount in gap.items()}


def _left(node: NodeInfo, name: str) -> dict[str, str]:
    """What a Node has left for a group, by resource."""
    used = node.requested.clone()
    others = 0
    for info in node.pods.values():
        if pod_group_name(info.pod) == name:
            used.add(info.requested, -1)
        else:
            others += 1
    has = node.allocatable
    left = {"cpu": f"{has.milli_cpu - used.milli_cpu}m", "pods": str(has.allowed_pod_number - others)}
    for what in ("memory", "ephemeral-storage", *has.scalar):
        left[what] = str(has.get(what) - used.get(what))
    return left


REGISTRY = {Coscheduling.name: Coscheduling}
"""For a scheduler's `registry`."""

PROFILE: Mapping[str, Any] = {
    "plugins": {"multiPoint": {"enabled": [{"name": "Coscheduling"}], "disabled": [{"name": "PrioritySort"}]}}
}
"""The default profile with this plugin, and with its order of the queue in the place of PrioritySort."""
