"""Which group grows, and by how much: simulate, estimate, let an expander choose, cap, spread over similar groups.

Upstream: cluster-autoscaler/core/scaleup/orchestrator (orchestrator.go, executor.go, skippedreasons.go),
processors/nodegroupset (balancing_processor.go, compare_nodegroups.go),
processors/status/eventing_scale_up_processor.go
Simplified: no resource quotas beside the number of Nodes, no all-or-nothing scale-ups, no groups that scale from zero
to their maximum only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from k8slab.api.objects import Object
from k8slab.api.quantity import quantity
from k8slab.autoscaling.cluster_autoscaler.cluster_snapshot import ClusterSnapshot
from k8slab.autoscaling.cluster_autoscaler.cluster_state import ClusterStateRegistry
from k8slab.autoscaling.cluster_autoscaler.equivalence import PodGroup, build_pod_groups
from k8slab.autoscaling.cluster_autoscaler.estimator import BinpackingNodeEstimator, Estimate, EstimationContext
from k8slab.autoscaling.cluster_autoscaler.expanders import ExpanderStrategy, Option
from k8slab.autoscaling.cluster_autoscaler.node_groups import (
    CloudProviderError,
    InstanceError,
    NodeGroup,
    NodeGroups,
)
from k8slab.autoscaling.cluster_autoscaler.options import AutoscalingOptions
from k8slab.autoscaling.cluster_autoscaler.view import Effects
from k8slab.scheduler import NodeInfo, PodInfo

__all__ = ["ScaleUpInfo", "ScaleUpOrchestrator", "ScaleUpResult", "ScaleUpStatus", "balance", "is_similar"]

MAX_LIMIT_REACHED = "max node group size reached"
NOT_READY = "not ready for scale-up"
EXECUTION_FAILED = "scale-up execution failed"
FILTERED_OUT = "expansion options filtered out and no longer considered"

_MEMORY_RATIO = 0.015
_ALLOCATABLE_RATIO = 0.05
_FREE_RATIO = 0.05
_IGNORED_LABELS = frozenset(
    (
        "kubernetes.io/hostname",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "beta.kubernetes.io/fluentd-ds-ready",
        "kops.k8s.io/instancegroup",
    )
)


class ScaleUpResult(StrEnum):
    """How the scale-up of a loop ended."""

    SUCCESSFUL = "ScaleUpSuccessful"
    ERROR = "ScaleUpError"
    NO_OPTIONS_AVAILABLE = "ScaleUpNoOptionsAvailable"
    NOT_NEEDED = "ScaleUpNotNeeded"
    NOT_TRIED = "ScaleUpNotTried"
    IN_COOLDOWN = "ScaleUpInCooldown"
    LIMITED_BY_MAX_NODES_TOTAL = "ScaleUpLimitedByMaxNodesTotal"


@dataclass(frozen=True, slots=True)
class ScaleUpInfo:
    """A group and the size that it gets."""

    group: NodeGroup
    current_size: int
    new_size: int

    def __str__(self) -> str:
        return f"{{{self.group.id} {self.current_size}->{self.new_size} (max: {self.group.max_size})}}"


@dataclass(slots=True)
class ScaleUpStatus:
    """What a loop did about Pods that find no place.

    `options`: the choices there were. `left_by_expander`: (expander, ids that it left). `skipped`: groups that were not
    looked at, and why. `remaining`: Pods that no group can help, with what each group says. `pod_groups`: the Pods as
    they were judged, with what each node group said.
    """

    result: ScaleUpResult
    infos: list[ScaleUpInfo] = field(default_factory=list)
    triggered: list[PodInfo] = field(default_factory=list)
    remaining: list[tuple[PodInfo, dict[str, tuple[str, ...]]]] = field(default_factory=list)
    awaiting: list[PodInfo] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    options: list[Option] = field(default_factory=list)
    estimates: dict[str, Estimate] = field(default_factory=dict)
    pod_groups: list[PodGroup] = field(default_factory=list)
    left_by_expander: tuple[tuple[str, tuple[str, ...]], ...] = ()
    best: Option | None = None

    def tell(self, effects: Effects) -> None:
        """Events on the Pods: who caused the scale-up, and whom it could not help."""
        if self.result not in (ScaleUpResult.SUCCESSFUL, ScaleUpResult.ERROR):
            for pod, reasons in self.remaining:
                text = f"pod didn't trigger scale-up: {self._reasons(reasons)}"
                effects.event(pod.pod, "Normal", "NotTriggerScaleUp", text)
        if self.infos:
            listed = f"[{' '.join(map(str, self.infos))}]"
            for pod in self.triggered:
                effects.event(pod.pod, "Normal", "TriggeredScaleUp", f"pod triggered scale-up: {listed}")

    def _reasons(self, rejected: Mapping[str, tuple[str, ...]]) -> str:
        """Equal reasons of several groups counted together; upstream's order is that of a Go map, ours by first."""
        if self.result is ScaleUpResult.LIMITED_BY_MAX_NODES_TOTAL:
            return "max total nodes in cluster reached"
        counts: dict[str, int] = {}
        for reason in [*(one for reasons in rejected.values() for one in reasons), *self.skipped.values()]:
            counts[reason] = counts.get(reason, 0) + 1
        return ", ".join(f"{count} {reason}" for reason, count in counts.items())


class ScaleUpOrchestrator:
    """One for the autoscaler's life."""

    def __init__(
        self,
        groups: NodeGroups,
        registry: ClusterStateRegistry,
        options: AutoscalingOptions,
        expander: ExpanderStrategy,
    ) -> None:
        self._groups = groups
        self._registry = registry
        self._options = options
        self._expander = expander

    def scale_up(
        self,
        pods: Sequence[PodInfo],
        snapshot: ClusterSnapshot,
        templates: Mapping[str, NodeInfo],
        now_ms: int,
        effects: Effects,
        *,
        config_map: Object | None = None,
    ) -> ScaleUpStatus:
        """Grow a group (or similar ones together) for these Pods. `snapshot`: Nodes, upcoming ones included."""
        node_count = len(snapshot.node_infos())
        pod_groups = build_pod_groups(pods)
        valid, skipped = self._valid_groups(templates, now_ms)
        status = ScaleUpStatus(ScaleUpResult.NO_OPTIONS_AVAILABLE, skipped=skipped, pod_groups=pod_groups)
        fitting = {group.id: _fitting(pod_groups, templates[group.id], group.id, snapshot) for group in valid}
        for group in valid:
            option = self._option(group, fitting, templates, snapshot, node_count, status, now_ms)
            if option is not None:
                status.options.append(option)
        if not status.options:
            return self._finished(status, pod_groups)
        chosen = self._expander.best_option(status.options, templates, node_count=node_count, config_map=config_map)
        for reason, message in chosen.warnings:
            effects.event("priority", "Warning", reason, message)
        status.left_by_expander, status.best = chosen.left, chosen.option
        if chosen.option is None:
            for pod_group in pod_groups:
                pod_group.mark_unschedulable(FILTERED_OUT)
            return self._finished(status, pod_groups)
        self._carry_out(chosen.option, status, pod_groups, fitting, templates, node_count, now_ms, effects)
        return self._finished(status, pod_groups)

    def _finished(self, status: ScaleUpStatus, pod_groups: Sequence[PodGroup]) -> ScaleUpStatus:
        status.remaining = [
            (pod, group.errors) for group in pod_groups if not group.is_schedulable for pod in group.pods
        ]
        if status.result is ScaleUpResult.SUCCESSFUL and status.best is not None:
            helped = status.best.group.id
            waiting = (g for g in pod_groups if g.is_schedulable and helped not in g.schedulable_groups)
            status.awaiting = [pod for group in waiting for pod in group.pods]
        return status

    # -- which groups -------------------------------------------------------------------------------

    def _valid_groups(self, templates: Mapping[str, NodeInfo], now_ms: int) -> tuple[list[NodeGroup], dict[str, str]]:
        valid, skipped = [], {}
        for group in self._groups:
            reason = self._registry.scale_up_safety(group.id, now_ms)
            if not reason and group.target_size >= group.max_size:
                reason = MAX_LIMIT_REACHED
            if not reason and group.id not in templates:
                reason = NOT_READY
            if reason:
                skipped[group.id] = reason
            else:
                valid.append(group)
        return valid, skipped

    def _option(
        self,
        group: NodeGroup,
        fitting: Mapping[str, list[PodGroup]],
        templates: Mapping[str, NodeInfo],
        snapshot: ClusterSnapshot,
        node_count: int,
        status: ScaleUpStatus,
        now_ms: int,
    ) -> Option | None:
        if not fitting[group.id]:
            return None
        similar = self._similar(group, fitting, templates, now_ms)
        options = self._options
        context = EstimationContext(options.max_nodes_total, options.max_nodes_per_scaleup, node_count, similar)
        estimate = BinpackingNodeEstimator(snapshot).estimate(fitting[group.id], templates[group.id], group, context)
        status.estimates[group.id] = estimate
        if not estimate.pods or not estimate.node_count:
            return None
        return Option(group, estimate.node_count, estimate.pods, similar)

    def _similar(
        self,
        group: NodeGroup,
        fitting: Mapping[str, list[PodGroup]],
        templates: Mapping[str, NodeInfo],
        now_ms: int,
    ) -> tuple[NodeGroup, ...]:
        """Groups of the same kind of machine that would take the same Pods (--balance-similar-node-groups)."""
        if not self._options.balance_similar_node_groups:
            return ()
        ignored = _IGNORED_LABELS.union(self._options.balancing_ignore_labels)
        return tuple(
            other
            for other in self._groups
            if other.id != group.id
            and other.id in templates
            and is_similar(templates[group.id], templates[other.id], ignored)
            and not self._registry.scale_up_safety(other.id, now_ms)
            and all(pods in fitting.get(other.id, ()) for pods in fitting[group.id])
        )

    # -- carrying out -------------------------------------------------------------------------------

    def _carry_out(
        self,
        option: Option,
        status: ScaleUpStatus,
        pod_groups: Sequence[PodGroup],
        fitting: Mapping[str, list[PodGroup]],
        templates: Mapping[str, NodeInfo],
        node_count: int,
        now_ms: int,
        effects: Effects,
    ) -> None:
        new_nodes = self._capped(option.node_count, node_count, effects)
        status.triggered = option.pods
        if new_nodes < 1:
            status.result = ScaleUpResult.ERROR
            for pod_group in pod_groups:
                pod_group.mark_unschedulable(EXECUTION_FAILED)
            return
        similar = self._similar(option.group, fitting, templates, now_ms)
        status.infos = balance([option.group, *similar], new_nodes)
        failed = self._execute_all(status, now_ms, effects)
        for pod_group in pod_groups:
            pod_group.mark_failed(failed, EXECUTION_FAILED)

    def _capped(self, new_nodes: int, there: int, effects: Effects) -> int:
        """--max-nodes-total: no more than are left of it beside those `there`, which may be none or less."""
        most = self._options.max_nodes_total
        if not most or new_nodes + there <= most:
            return new_nodes
        effects.status_event("Warning", "MaxNodesTotalReached", f"Max total nodes in cluster reached: {most}")
        return most - there

    def _execute_all(self, status: ScaleUpStatus, now_ms: int, effects: Effects) -> list[str]:
        """Carry the plan of `status.infos` out, up to the first group that fails. The ids of those that did not grow:
        that one, and all that came after it in the plan; groups before it have grown."""
        for index, info in enumerate(status.infos):
            if not self._execute(info, now_ms, effects):
                failed = [one.group.id for one in status.infos[index:]]
                status.result, status.infos = ScaleUpResult.ERROR, []
                return failed
        status.result = ScaleUpResult.SUCCESSFUL
        self._registry.recalculate()
        return []

    def _execute(self, info: ScaleUpInfo, now_ms: int, effects: Effects) -> bool:
        group, (new, old) = info.group, (info.new_size, info.current_size)
        text = f"Scale-up: setting group {group.id} size to {new} instead of {old} (max: {group.max_size})"
        effects.status_event("Normal", "ScaledUpGroup", text)
        try:
            self._groups.increase_size(group.id, new - old, now_ms)
        except CloudProviderError as error:
            text = f"Scale-up failed for group {group.id}: {error}"
            effects.status_event("Warning", "FailedToScaleUpGroup", text)
            what = f"failed to increase node group size: {error}"
            self._registry.register_failed_scale_up(group, InstanceError("Other", "cloudProviderError", what), now_ms)
            return False
        self._registry.register_scale_up(group, new - old, now_ms)
        text = f"Scale-up: group {group.id} size set to {new} instead of {old} (max: {group.max_size})"
        effects.status_event("Normal", "ScaledUpGroup", text)
        return True

    def to_min_size(self, templates: Mapping[str, NodeInfo], now_ms: int, effects: Effects) -> ScaleUpStatus:
        """--enforce-node-group-min-size: bring groups that are below their minimum up to it.

        As upstream, --max-nodes-total caps each group by itself here: what other groups have does not count.
        """
        status = ScaleUpStatus(ScaleUpResult.NOT_NEEDED)
        for group in self._groups:
            size = group.target_size
            if size >= group.min_size or self._registry.scale_up_safety(group.id, now_ms) or group.id not in templates:
                continue
            new_nodes = self._capped(group.min_size - size, size, effects)
            if new_nodes > 0:
                status.infos.append(ScaleUpInfo(group, size, size + new_nodes))
        if status.infos:
            self._execute_all(status, now_ms, effects)
        return status


def _fitting(
    pod_groups: Sequence[PodGroup], template: NodeInfo, group_id: str, snapshot: ClusterSnapshot
) -> list[PodGroup]:
    """The groups of Pods whose first fits on one fresh Node; the others are told why not."""
    found = []
    snapshot.fork()
    snapshot.add_node_info(template.clone())
    for pod_group in pod_groups:
        failure = snapshot.check_predicates(pod_group.exemplar, template.name)
        if failure is None:
            found.append(pod_group)
            pod_group.is_schedulable = True
            pod_group.schedulable_groups.append(group_id)
        else:
            pod_group.errors[group_id] = failure.reasons
    snapshot.revert()
    return found


def balance(groups: Sequence[NodeGroup], new_nodes: int) -> list[ScaleUpInfo]:
    """Spread new Nodes: always one more for the smallest group that may still grow. Those that grow are returned.

    More Nodes than all may take are cut down to what they may.
    """
    growing = sorted((group for group in groups if group.target_size < group.max_size), key=lambda g: g.target_size)
    sizes = {group.id: group.target_size for group in growing}
    left = min(new_nodes, sum(group.max_size - group.target_size for group in growing))
    while left:
        group = min((g for g in growing if sizes[g.id] < g.max_size), key=lambda g: sizes[g.id])
        sizes[group.id] += 1
        left -= 1
    infos = (ScaleUpInfo(group, group.target_size, sizes[group.id]) for group in growing)
    return [info for info in infos if info.new_size != info.current_size]


def is_similar(first: NodeInfo, second: NodeInfo, ignored_labels: frozenset[str] = _IGNORED_LABELS) -> bool:
    """Machines of one kind: equal capacity (memory within 1.5 %), allocatable and free within 5 %, equal labels."""
    assert first.node is not None and second.node is not None  # templates are made from Nodes
    one, two = (_amounts(info.node or {}, "capacity") for info in (first, second))
    if one.keys() != two.keys():
        return False
    for name, amount in one.items():
        exact = name != "memory"
        if (exact and amount != two[name]) or (not exact and not _within(amount, two[name], _MEMORY_RATIO)):
            return False
    one, two = (_amounts(info.node or {}, "allocatable") for info in (first, second))
    if one.keys() != two.keys() or not all(_within(one[name], two[name], _ALLOCATABLE_RATIO) for name in one):
        return False
    free_one, free_two = _free(first), _free(second)
    if not all(_within(free_one[name], free_two[name], _FREE_RATIO) for name in free_one):
        return False
    labels_one, labels_two = (
        {name: value for name, value in info.labels.items() if name not in ignored_labels} for info in (first, second)
    )
    return labels_one == labels_two


def _amounts(node: Object, part: str) -> dict[str, int]:
    listed = (node.get("status") or {}).get(part) or {}
    return {name: quantity(text).milli_value() for name, text in listed.items()}


def _free(info: NodeInfo) -> dict[str, int]:
    room, used = info.allocatable, info.requested
    return {"cpu": room.milli_cpu - used.milli_cpu, "memory": room.memory - used.memory}


def _within(one: int, two: int, ratio: float) -> bool:
    larger = max(one, two)
    return larger - min(one, two) <= larger * ratio
