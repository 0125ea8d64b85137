"""What the autoscaler knows of the groups: which machines came, which are awaited, which will never come.

`update` is called once a loop. A scale-up is remembered until its Nodes are there; one that takes longer than
--max-node-provision-time, or whose machines the cloud could not make, makes its group pause.

Upstream: cluster-autoscaler/clusterstate/clusterstate.go
Simplified: no suspended nodes, no groups that are created asynchronously.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from k8slab.api.go_duration import format_duration_ms
from k8slab.api.objects import Object
from k8slab.api.quantity import value
from k8slab.autoscaling.cluster_autoscaler.backoff import ExponentialBackoff
from k8slab.autoscaling.cluster_autoscaler.node_groups import (
    CloudProviderError,
    GroupInstance,
    InstanceError,
    InstanceStatus,
    NodeGroup,
    NodeGroups,
)
from k8slab.autoscaling.cluster_autoscaler.node_state import created_ms, is_ready, provider_id
from k8slab.autoscaling.cluster_autoscaler.options import AutoscalingOptions
from k8slab.autoscaling.cluster_autoscaler.view import Effects

__all__ = ["AcceptableRange", "ClusterStateRegistry", "Readiness", "ScaleUpRequest", "UnregisteredNode"]

MAX_ERRORS_TOLD = 3
_DELETION_MS = 5 * 60_000  # MaxCloudProviderNodeDeletionTime


@dataclass(slots=True)
class ScaleUpRequest:
    """A group was asked to grow by `increase`; all should be there at `expected_ms`."""

    group: str
    increase: int
    time_ms: int
    expected_ms: int


@dataclass(slots=True)
class Readiness:
    """Names of Nodes by state. `not_started`: registered, and young enough to become Ready still."""

    ready: list[str] = field(default_factory=list)
    unready: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    not_started: list[str] = field(default_factory=list)
    registered: list[str] = field(default_factory=list)
    long_unregistered: list[str] = field(default_factory=list)
    unregistered: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AcceptableRange:
    """How many Ready Nodes a group may have, as things go: fewer while it grows, more while it shrinks."""

    min_nodes: int
    max_nodes: int
    current_target: int


@dataclass(frozen=True, slots=True)
class UnregisteredNode:
    """A machine that has not registered, since when it is known."""

    provider_id: str
    group: str
    since_ms: int


@dataclass(frozen=True, slots=True)
class _IncorrectSize:
    current: int
    expected: int
    since_ms: int


class ClusterStateRegistry:
    """See the module."""

    def __init__(self, groups: NodeGroups, options: AutoscalingOptions) -> None:
        self._groups = groups
        self._options = options
        self.backoff = ExponentialBackoff(
            options.initial_node_group_backoff_duration_ms,
            options.max_node_group_backoff_duration_ms,
            options.node_group_backoff_reset_timeout_ms,
        )
        self.scale_up_requests: dict[str, ScaleUpRequest] = {}
        self.readiness: dict[str, Readiness] = {}
        self.total = Readiness()
        self.acceptable: dict[str, AcceptableRange] = {}
        self.unregistered: dict[str, UnregisteredNode] = {}
        self.candidates: dict[str, list[str]] = {}
        self.updated_ms = 0
        self._scale_downs: list[tuple[str, int]] = []
        self._incorrect: dict[str, _IncorrectSize] = {}
        self._instances: dict[str, list[GroupInstance]] = {}
        self._previous: dict[str, list[GroupInstance]] = {}
        self._node_count = 0

    # -- once a loop --------------------------------------------------------------------------------

    def update(self, nodes: Sequence[Object], now_ms: int, effects: Effects) -> None:
        """Take in the Nodes and the instances as they are now."""
        self._previous = self._instances
        self._instances = {group.id: self._groups.instances(group.id) for group in self._groups}
        self._node_count, self.updated_ms = len(nodes), now_ms
        self._update_unregistered(nodes, now_ms)
        self._update_readiness(nodes, now_ms)
        self.recalculate()
        self.backoff.remove_stale(now_ms)
        self._update_requests(now_ms, effects)
        self._handle_creation_errors(now_ms, effects)
        self.recalculate()
        self._update_incorrect_sizes(now_ms)

    def _update_unregistered(self, nodes: Sequence[Object], now_ms: int) -> None:
        registered = {provider_id(node) for node in nodes}
        found = {}
        for group_id, instances in self._instances.items():
            for one in instances:
                expected = one.status is not InstanceStatus.DELETING and one.error is None
                if expected and one.provider_id not in registered:
                    known = self.unregistered.get(one.provider_id)
                    found[one.provider_id] = known or UnregisteredNode(one.provider_id, group_id, now_ms)
        self.unregistered = found

    def _update_readiness(self, nodes: Sequence[Object], now_ms: int) -> None:
        self.readiness, self.total = {}, Readiness()
        for node in nodes:
            group = self._groups.group_of(node)
            ofs = [self.total]
            if group is not None:
                ofs.append(self.readiness.setdefault(group.id, Readiness()))
            state = self._state_of(node, group, now_ms)
            for one in ofs:
                one.registered.append(node["metadata"]["name"])
                getattr(one, state).append(node["metadata"]["name"])
        for unregistered in self.unregistered.values():
            group = self._groups.groups[unregistered.group]
            is_late = unregistered.since_ms + self.options_of(group).max_node_provision_time_ms < now_ms
            for one in (self.total, self.readiness.setdefault(group.id, Readiness())):
                (one.long_unregistered if is_late else one.unregistered).append(unregistered.provider_id)

    def _state_of(self, node: Object, group: NodeGroup | None, now_ms: int) -> str:
        options = self._options if group is None else self.options_of(group)
        if not self._groups.has_instance(node):
            return "deleted"
        if self.is_node_ready(node):
            return "ready"
        return "not_started" if created_ms(node) + options.max_node_startup_time_ms > now_ms else "unready"

    def options_of(self, group: NodeGroup) -> AutoscalingOptions:
        """The options with what the group has of its own."""
        return self._options.with_overrides(group.config.options)

    def recalculate(self) -> None:
        """Work the acceptable ranges out anew, after sizes were changed."""
        ranges = {}
        for group in self._groups:
            late = len(self.readiness.get(group.id, _NONE).long_unregistered)
            request = self.scale_up_requests.get(group.id)
            least = group.target_size - late - (request.increase if request is not None else 0)
            shrinking = sum(name == group.id for name, _ in self._scale_downs)
            ranges[group.id] = AcceptableRange(least, group.target_size + shrinking, group.target_size)
        self.acceptable = ranges

    def is_node_ready(self, node: Object) -> bool:
        """Ready, without a startup taint, and with the GPUs that its group's machines have."""
        if not is_ready(node, self._options.startup_taints):
            return False
        group = self._groups.group_of(node)
        if group is None or not group.instance_type.gpus:
            return True
        amount = ((node.get("status") or {}).get("allocatable") or {}).get(f"{group.instance_type.gpu_vendor}/gpu")
        return amount is not None and value(amount) > 0

    # -- scale-ups ----------------------------------------------------------------------------------

    def register_scale_up(self, group: NodeGroup, delta: int, now_ms: int) -> None:
        """The group's target went up by `delta` (down: part of an earlier scale-up is given up)."""
        request = self.scale_up_requests.get(group.id)
        expected = now_ms + self.options_of(group).max_node_provision_time_ms
        if request is None:
            if delta > 0:
                self.scale_up_requests[group.id] = ScaleUpRequest(group.id, delta, now_ms, expected)
            return
        if request.increase + delta <= 0:
            del self.scale_up_requests[group.id]
            return
        request.increase += delta
        if delta > 0:
            request.time_ms, request.expected_ms = now_ms, expected

    def register_failed_scale_up(self, group: NodeGroup, error: InstanceError, now_ms: int) -> None:
        """The group pauses."""
        self.backoff.back_off(group.id, error, now_ms)

    def register_scale_down(self, group_id: str, now_ms: int) -> None:
        """A Node of the group was deleted; its machine may take a while to go."""
        self._scale_downs.append((group_id, now_ms + _DELETION_MS))

    def _update_requests(self, now_ms: int, effects: Effects) -> None:
        for group_id, request in list(self.scale_up_requests.items()):
            if not self.upcoming_in(group_id):
                del self.scale_up_requests[group_id]  # all are there
            elif request.expected_ms < now_ms:
                self._time_out(self._groups.groups[group_id], request, now_ms, effects)
                del self.scale_up_requests[group_id]
        self._scale_downs = [(group, until) for group, until in self._scale_downs if until > now_ms]

    def _time_out(self, group: NodeGroup, request: ScaleUpRequest, now_ms: int, effects: Effects) -> None:
        after = format_duration_ms(now_ms - request.time_ms)
        text = f"Nodes added to group {group.id} failed to register within {after}"
        effects.status_event("Warning", "ScaleUpTimedOut", text)
        what = f"Scale-up timed out for node group {group.id} after {after}"
        self.register_failed_scale_up(group, InstanceError("Other", "timeout", what), now_ms)
        try:
            self._groups.decrease_target_size(group.id, -request.increase, now_ms)
        except CloudProviderError as error:
            text = f"Failed to decrease target size for group {group.id} after scale-up timeout: {error}"
            effects.status_event("Warning", "FailedToRevertScaleUp", text)

    def _handle_creation_errors(self, now_ms: int, effects: Effects) -> None:
        """Machines that the cloud could not make, and had not failed to make the last time."""
        for group in self._groups:
            seen = {one.provider_id for one in self._previous.get(group.id, ()) if one.error is not None}
            by_code: dict[tuple[str, str], list[InstanceError]] = {}
            for one in self._instances[group.id]:
                if one.error is not None and one.provider_id not in seen:
                    by_code.setdefault((one.error.error_class, one.error.code), []).append(one.error)
            for (kind, code), errors in by_code.items():
                if self.is_scaling_up(group.id):
                    self._tell_creation_error(group, f"{kind}.{code}", errors, now_ms, effects)

    def _tell_creation_error(
        self, group: NodeGroup, code: str, errors: Sequence[InstanceError], now_ms: int, effects: Effects
    ) -> None:
        texts = list(dict.fromkeys(error.message for error in errors))
        told = ", ".join(texts) + (", ..." if len(texts) > MAX_ERRORS_TOLD else "")
        text = f"Failed adding {len(errors)} nodes to group {group.id} due to {code}; source errors: {told}"
        effects.status_event("Warning", "ScaleUpFailed", text)
        self.register_scale_up(group, -len(errors), now_ms)
        self.register_failed_scale_up(group, InstanceError(errors[0].error_class, errors[0].code, told), now_ms)

    # -- asking -------------------------------------------------------------------------------------

    def upcoming_in(self, group_id: str) -> int:
        """How many Nodes of the group are still to come or to become Ready; never below 0."""
        acceptable = self.acceptable.get(group_id)
        if acceptable is None:
            return 0
        there = self.readiness.get(group_id, _NONE)
        settled = len(there.ready) + len(there.unready) + len(there.long_unregistered)
        return max(acceptable.current_target - settled, 0)

    def upcoming_nodes(self, now_ms: int) -> tuple[dict[str, int], dict[str, list[str]]]:
        """(how many Nodes are upcoming by group, which of them have registered).

        Groups that pause, and those without a scale-up under way, have none: Pods must not wait for them.
        """
        counts: dict[str, int] = {}
        registered: dict[str, list[str]] = {}
        for group in self._groups:
            upcoming = self.upcoming_in(group.id)
            waits = group.id in self.scale_up_requests and not self.backoff.is_backed_off(group.id, now_ms)
            if upcoming and waits:
                counts[group.id] = upcoming
                registered[group.id] = self.readiness.get(group.id, _NONE).not_started
        return counts, registered

    def is_scaling_up(self, group_id: str) -> bool:
        return group_id in self.scale_up_requests and self.upcoming_in(group_id) > 0

    def is_cluster_healthy(self) -> bool:
        """At most --ok-total-unready-count unready Nodes, or at most --max-total-unready-percentage of them."""
        return not self._too_many(len(self.total.unready), self._node_count)

    def is_group_healthy(self, group_id: str) -> bool:
        """Not too many Nodes are missing that should be Ready."""
        acceptable, there = self.acceptable.get(group_id), self.readiness.get(group_id)
        if acceptable is None:
            return False
        if there is None:
            growing = acceptable.min_nodes == 0 and acceptable.current_target > 0
            return acceptable.current_target == 0 or growing
        missing = max(acceptable.min_nodes - len(there.ready), 0)
        return not self._too_many(missing, len(there.ready) + len(there.unready) + len(there.not_started))

    def _too_many(self, unready: int, total: int) -> bool:
        options = self._options
        return unready > options.ok_total_unready_count and unready * 100 > options.max_total_unready_percentage * total

    def scale_up_safety(self, group_id: str, now_ms: int) -> str:
        """Why the group may not grow now, in upstream's words; "": it may."""
        if not self.is_group_healthy(group_id):
            return "not ready for scale-up"
        return "in backoff after failed scale-up" if self.backoff.is_backed_off(group_id, now_ms) else ""

    def failed_instances(self) -> dict[str, list[str]]:
        """By group, the instances that will never come."""
        found: dict[str, list[str]] = {}
        for group_id, instances in self._instances.items():
            for one in instances:
                if one.error is not None:
                    found.setdefault(group_id, []).append(one.provider_id)
        return found

    def _update_incorrect_sizes(self, now_ms: int) -> None:
        result = {}
        for group in self._groups:
            there = self.readiness.get(group.id)
            if there is None:
                continue
            target = self.acceptable[group.id].current_target
            awaited = len(there.unregistered) + len(there.long_unregistered)
            registered = len(there.registered)
            if registered > target or registered < target - awaited:
                known = self._incorrect.get(group.id)
                same = known is not None and (known.current, known.expected) == (registered, target)
                result[group.id] = known if same and known else _IncorrectSize(registered, target, now_ms)
        self._incorrect = result

    def sizes_to_fix(self, now_ms: int) -> dict[str, int]:
        """By group, how far (below 0) its target has been above its Nodes for longer than they may take to come."""
        found = {}
        for group_id, wrong in self._incorrect.items():
            limit = self.options_of(self._groups.groups[group_id]).max_node_provision_time_ms
            if wrong.since_ms + limit < now_ms and wrong.current < wrong.expected:
                found[group_id] = wrong.current - wrong.expected
        return found

    def update_candidates(self, nodes_by_group: Mapping[str, list[str]]) -> None:
        """The Nodes that are unneeded now, for the status."""
        self.candidates = dict(nodes_by_group)


_NONE = Readiness()
