"""One time round: read the cluster, grow it for Pods that find no place, else see what is unneeded and let it go.

Plain state and one method, `run_once`: it calls the node groups (plain state, too), and returns all else that is to be
done. What goes over the API, the drains above all, is the caller's; it reports back with `deletion_ended`.

Upstream: cluster-autoscaler/core/static_autoscaler.go (RunOnce), core/podlistprocessor, core/filteroutschedulable
Simplified: no node autoprovisioning, provisioning requests, capacity buffers, bypassed schedulers.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from k8slab.api.go_duration import parse_duration_ns
from k8slab.api.objects import Object
from k8slab.autoscaling.cluster_autoscaler.cluster_snapshot import ClusterSnapshot
from k8slab.autoscaling.cluster_autoscaler.cluster_state import ClusterStateRegistry
from k8slab.autoscaling.cluster_autoscaler.deletion_tracker import NodeDeletionTracker
from k8slab.autoscaling.cluster_autoscaler.drainability import DrainContext
from k8slab.autoscaling.cluster_autoscaler.expanders import ExpanderStrategy
from k8slab.autoscaling.cluster_autoscaler.hinting_simulator import HintingSimulator
from k8slab.autoscaling.cluster_autoscaler.node_groups import CloudProviderError, NodeGroups
from k8slab.autoscaling.cluster_autoscaler.node_state import (
    DELETION_CANDIDATE_TAINT,
    TO_BE_DELETED_TAINT,
    created_ms,
    has_taint,
)
from k8slab.autoscaling.cluster_autoscaler.options import AutoscalingOptions
from k8slab.autoscaling.cluster_autoscaler.pdb import RemainingPdbTracker
from k8slab.autoscaling.cluster_autoscaler.planner import Planner
from k8slab.autoscaling.cluster_autoscaler.pod_state import (
    annotation,
    is_daemon_set_pod,
    is_expendable,
    is_unschedulable,
    recreatable,
)
from k8slab.autoscaling.cluster_autoscaler.removal import NodeToBeRemoved, UnremovableNode, UnremovableReason
from k8slab.autoscaling.cluster_autoscaler.scale_up import ScaleUpOrchestrator, ScaleUpResult, ScaleUpStatus
from k8slab.autoscaling.cluster_autoscaler.status import StatusWriter, last_updated
from k8slab.autoscaling.cluster_autoscaler.templates import TemplateNodeInfos, fresh_node
from k8slab.autoscaling.cluster_autoscaler.utilization import GPU_RESOURCES
from k8slab.autoscaling.cluster_autoscaler.view import (
    ClusterView,
    Effect,
    Effects,
    SetSoftTaint,
    StartDeletion,
    WriteStatus,
)
from k8slab.scheduler import Framework, NodeInfo, PodInfo

__all__ = ["RunResult", "StaticAutoscaler"]

POD_SCALE_UP_DELAY = "cluster-autoscaler.kubernetes.io/pod-scale-up-delay"
_NEW_POD_MS = 2_000
_NEW_GPU_POD_MS = 30_000
_NEVER = -(1 << 60)


@dataclass(slots=True)
class RunResult:
    """What one time round came to. `effects`: to be done by the caller, in order.

    `to_help`: Pods that would fit nowhere, not even on upcoming Nodes. `scale_down`: in upstream's words.
    """

    effects: list[Effect]
    scale_up: ScaleUpStatus = field(default_factory=lambda: ScaleUpStatus(ScaleUpResult.NOT_TRIED))
    scale_down: str = "ScaleDownNotTried"
    to_help: list[PodInfo] = field(default_factory=list)
    deletions: list[NodeToBeRemoved] = field(default_factory=list)


class StaticAutoscaler:
    """The autoscaler's mind. `framework`: whose filters say where Pods fit. `rng`: for the expanders.

    >>> from k8slab.autoscaling.cloud import Cloud, catalogue
    >>> from k8slab.autoscaling.cluster_autoscaler import NodeGroupConfig
    >>> groups = NodeGroups(Cloud(catalogue(), random.Random(7)), [NodeGroupConfig("pool", "m5.large")])
    >>> autoscaler = StaticAutoscaler(groups, Framework.from_profile(), AutoscalingOptions(), random.Random(7))
    >>> pending = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    >>> pods = [{"metadata": {"name": f"web-{n}"}, "status": {"conditions": [pending]},
    ...          "spec": {"containers": [{"resources": {"requests": {"cpu": "900m"}}}]}} for n in range(10)]
    >>> result = autoscaler.run_once(ClusterView((), pods), 10_000)
    >>> str(result.scale_up.infos[0])
    '{pool 0->5 (max: 10)}'
    """

    def __init__(
        self, groups: NodeGroups, framework: Framework, options: AutoscalingOptions, rng: random.Random
    ) -> None:
        self.groups = groups
        self.options = options
        self.registry = ClusterStateRegistry(groups, options)
        self.tracker = NodeDeletionTracker()
        self.planner = Planner(groups, self.registry, options, self.tracker)
        self.last_scale_up_ms = self.last_delete_ms = self.last_fail_ms = _NEVER
        self._framework = framework
        self._templates = TemplateNodeInfos(groups, options)
        self._orchestrator = ScaleUpOrchestrator(
            groups, self.registry, options, ExpanderStrategy(options.expander, rng)
        )
        self._placing = HintingSimulator()
        self._status = StatusWriter()
        self.templates: dict[str, NodeInfo] = {}
        """By group, the fresh Node that the last loop imagined."""
        self._pods: dict[str, PodInfo] = {}

    # -- one time round -----------------------------------------------------------------------------

    def run_once(self, view: ClusterView, now_ms: int) -> RunResult:
        """What a loop decides, at `now_ms`."""
        effects = Effects()
        result = RunResult(effects.list)
        self.groups.refresh(now_ms)
        nodes = [node for node in view.nodes if node["metadata"].get("deletionTimestamp") is None]
        pods = self._read(view.pods)
        snapshot = self._snapshot(nodes, pods)
        templates = self.templates = self._templates.recompute(snapshot.node_infos(), view.daemon_sets, now_ms)
        self.registry.update(nodes, now_ms, effects)
        if self._may_act(now_ms, effects):
            self._act(view, nodes, pods, snapshot, templates, now_ms, effects, result)
        if self.options.write_status_configmap:
            text = self._status.text(self.registry, list(self.groups), now_ms)
            effects.list.append(WriteStatus(text, last_updated(now_ms)))
        return result

    def _may_act(self, now_ms: int, effects: Effects) -> bool:
        """Clear away what never came; False: the cluster is in no state to be scaled, or sizes had to be put right."""
        self._remove_long_unregistered(effects, now_ms)
        if not self.registry.is_cluster_healthy():
            self.planner.clear()
            effects.status_event("Warning", "ClusterUnhealthy", "Cluster is unhealthy")
            return False
        for group_id, ids in self.registry.failed_instances().items():
            group = self.groups.groups[group_id]
            above = ids[: max(group.target_size - group.min_size, 0)]
            if above:
                self.groups.delete_nodes(group_id, above, now_ms)
        self.registry.recalculate()
        fixed = False
        for group_id, delta in self.registry.sizes_to_fix(now_ms).items():
            try:
                self.groups.decrease_target_size(group_id, delta, now_ms)
                fixed = True
            except CloudProviderError:
                continue  # machines are there that will register, or be removed as unregistered
        return not fixed

    def _remove_long_unregistered(self, effects: Effects, now_ms: int) -> None:
        """Machines that have not registered in time will not: give them back, down to the minimum."""
        for group in self.groups:
            limit = self.registry.options_of(group).max_node_provision_time_ms
            late = [
                one.provider_id
                for one in self.registry.unregistered.values()
                if one.group == group.id and one.since_ms + limit < now_ms
            ][: max(group.target_size - group.min_size, 0)]
            if not late:
                continue
            self.groups.delete_nodes(group.id, late, now_ms)
            for id in late:
                name = self.groups.node_name(group.instances[id])
                effects.status_event("Normal", "DeleteUnregistered", f"Removed unregistered node {name}")

    def _act(
        self,
        view: ClusterView,
        nodes: list[Object],
        pods: Sequence[PodInfo],
        snapshot: ClusterSnapshot,
        templates: dict[str, NodeInfo],
        now_ms: int,
        effects: Effects,
        result: RunResult,
    ) -> None:
        upcoming, registered = self.registry.upcoming_nodes(now_ms)
        self._add_upcoming(snapshot, templates, upcoming)
        awaited = {name for names in registered.values() for name in names}
        settled = [node for node in nodes if node["metadata"]["name"] not in awaited]
        for name in [info.name for info in snapshot.node_infos() if info.name in awaited]:
            snapshot.remove_node_info(name)
        to_help = result.to_help = self._pods_to_help(pods, snapshot, now_ms)
        ready = sum(self.registry.is_node_ready(node) for node in nodes)
        forbidden = self._grow(view, to_help, ready, snapshot, templates, now_ms, effects, result)
        if result.scale_up.result is ScaleUpResult.SUCCESSFUL:
            self.last_scale_up_ms = now_ms
        if self.options.scale_down_enabled:
            self._shrink(view, settled, snapshot, forbidden, now_ms, effects, result)
        if self.options.enforce_node_group_min_size:
            more = self._orchestrator.to_min_size(templates, now_ms, effects)
            if more.result is ScaleUpResult.SUCCESSFUL:
                self.last_scale_up_ms = now_ms

    # -- reading ------------------------------------------------------------------------------------

    def _read(self, pods: Iterable[Object]) -> list[PodInfo]:
        """Pods parsed; those that are as they were are not parsed again."""
        known, self._pods, found = self._pods, {}, []
        for pod in pods:
            uid = pod["metadata"].get("uid") or f"{pod['metadata'].get('namespace')}/{pod['metadata']['name']}"
            info = known.get(uid)
            if info is None or info.pod is not pod:
                info = PodInfo(pod)
            self._pods[uid] = info
            found.append(info)
        return found

    def _snapshot(self, nodes: Iterable[Object], pods: Iterable[PodInfo]) -> ClusterSnapshot:
        """The Nodes with their Pods, and those that a preemption makes room for; expendable Pods do not count."""
        infos = {}
        for node in nodes:
            infos[node["metadata"]["name"]] = NodeInfo.of(node)
        for pod in pods:
            status = pod.pod.get("status") or {}
            name = pod.pod["spec"].get("nodeName")
            if not name and not pod.is_terminating:
                name = status.get("nominatedNodeName")
            if name not in infos or status.get("phase") in ("Succeeded", "Failed"):
                continue
            if not is_expendable(pod.pod, self.options.expendable_pods_priority_cutoff):
                infos[name].add_pod(pod)
        return ClusterSnapshot(self._framework, infos.values())

    def _add_upcoming(self, snapshot: ClusterSnapshot, templates: dict[str, NodeInfo], counts: dict[str, int]) -> None:
        """Nodes that are on their way take Pods already: those need no second Node."""
        for group_id, count in counts.items():
            template = templates.get(group_id)
            for index in range(count if template is not None else 0):
                assert template is not None  # counted only then
                snapshot.add_node_info(fresh_node(template, f"{template.name}-upcoming-{index}"))

    # -- scale-up -----------------------------------------------------------------------------------

    def _pods_to_help(self, pods: Sequence[PodInfo], snapshot: ClusterSnapshot, now_ms: int) -> list[PodInfo]:
        """Unschedulable Pods (and those of Nodes being drained) that fit on no Node, upcoming ones included."""
        cutoff = self.options.expendable_pods_priority_cutoff
        waiting = [
            pod
            for pod in pods
            if is_unschedulable(pod.pod)
            and not (pod.pod.get("status") or {}).get("nominatedNodeName")
            and not is_expendable(pod.pod, cutoff)
        ]
        waiting += self._currently_drained(snapshot)
        waiting.sort(key=lambda pod: -pod.priority)
        placed = self._placing.try_schedule_pods(snapshot, waiting)
        self._placing.drop_old_hints()
        left = [pod for pod in waiting if pod.uid not in placed and not is_daemon_set_pod(pod.pod)]
        return [pod for pod in left if self._is_old_enough(pod, now_ms)]

    def _currently_drained(self, snapshot: ClusterSnapshot) -> list[PodInfo]:
        """What is still on Nodes that are being drained, as if it were pending."""
        found = []
        for name in self.tracker.drained:
            info = snapshot.get(name)
            pods = [] if info is None else [pod for pod in info.pods.values() if not pod.is_terminating]
            for pod in pods:
                if recreatable([pod.pod]):
                    spec = {field: value for field, value in pod.pod["spec"].items() if field != "nodeName"}
                    metadata = {**pod.pod["metadata"], "name": f"{pod.pod['metadata']['name']}-drained", "uid": None}
                    found.append(PodInfo({**pod.pod, "metadata": metadata, "spec": spec}))
        return found

    def _is_old_enough(self, pod: PodInfo, now_ms: int) -> bool:
        """--new-pod-scale-up-delay, or a longer one that the Pod's annotation asks for."""
        delay = self.options.new_pod_scale_up_delay_ms
        text = annotation(pod.pod, POD_SCALE_UP_DELAY)
        if text:
            with suppress(ValueError):  # upstream says so in its log, and takes the flag's
                delay = max(delay, parse_duration_ns(text) // 1_000_000)
        return now_ms - created_ms(pod.pod) > delay

    def _grow(
        self,
        view: ClusterView,
        to_help: list[PodInfo],
        ready: int,
        snapshot: ClusterSnapshot,
        templates: dict[str, NodeInfo],
        now_ms: int,
        effects: Effects,
        result: RunResult,
    ) -> bool:
        """Scale up if need be; returns whether nothing may be scaled down in this loop."""
        most = self.options.max_nodes_total
        if not to_help:
            result.scale_up = ScaleUpStatus(ScaleUpResult.NOT_NEEDED)
            return False
        if most and ready >= most:
            result.scale_up = ScaleUpStatus(ScaleUpResult.LIMITED_BY_MAX_NODES_TOTAL)
            result.scale_up.remaining = [(pod, {}) for pod in to_help]
            effects.status_event("Warning", "MaxNodesTotalReached", f"Max total nodes in cluster reached: {most}")
            result.scale_up.tell(effects)
            return False
        if _all_are_new(to_help, now_ms):
            result.scale_up = ScaleUpStatus(ScaleUpResult.IN_COOLDOWN)
            return True
        result.scale_up = self._orchestrator.scale_up(
            to_help, snapshot, templates, now_ms, effects, config_map=view.priority_config_map
        )
        result.scale_up.tell(effects)
        return False

    # -- scale-down ---------------------------------------------------------------------------------

    def _shrink(
        self,
        view: ClusterView,
        nodes: Sequence[Object],
        snapshot: ClusterSnapshot,
        forbidden: bool,
        now_ms: int,
        effects: Effects,
        result: RunResult,
    ) -> None:
        candidates, at_minimum = self._candidates(nodes)
        pdbs = RemainingPdbTracker(view.pdbs)
        context = DrainContext(self.options, now_ms, pdbs, view.controllers)
        self.planner.update(candidates, nodes, snapshot, context)
        for name in at_minimum:
            self.planner.unremovable.add(UnremovableNode(name, UnremovableReason.NODE_GROUP_MIN_SIZE_REACHED))
        self.registry.update_candidates(self.planner.unneeded_by_group())
        if forbidden or self._is_in_cooldown(now_ms):
            result.scale_down = "ScaleDownInCooldown"
        elif not candidates:
            result.scale_down = "ScaleDownNoCandidates"
        else:
            self._delete(now_ms, effects, result)
        self._soft_taints(nodes, effects)

    def _candidates(self, nodes: Sequence[Object]) -> tuple[list[Object], list[str]]:
        """(Nodes of groups that may shrink, names of those whose group is at its minimum)."""
        candidates, at_minimum = list[Object](), list[str]()
        for node in nodes:
            group = self.groups.group_of(node)
            if group is None or not self.groups.has_instance(node):
                continue
            if group.target_size <= group.min_size:
                at_minimum.append(node["metadata"]["name"])
            else:
                candidates.append(node)
        return candidates, at_minimum

    def _is_in_cooldown(self, now_ms: int) -> bool:
        options = self.options
        return (
            self.last_scale_up_ms + options.scale_down_delay_after_add_ms > now_ms
            or self.last_fail_ms + options.scale_down_delay_after_failure_ms > now_ms
            or self.last_delete_ms + options.delay_after_delete_ms > now_ms
        )

    def _delete(self, now_ms: int, effects: Effects, result: RunResult) -> None:
        empty, drain = self.planner.nodes_to_delete(now_ms)
        if not empty and not drain:
            result.scale_down = "ScaleDownNoNodeDeleted"
            return
        for found, drains in ((empty, False), (drain, True)):
            by_group: dict[str, list[str]] = {}
            for one in found:
                group = self.groups.group_of(one.node)
                assert group is not None  # it was eligible
                by_group.setdefault(group.id, []).append(one.name)
                self.tracker.start(group.id, one.name, drain=drains)
                self._tell_deletion(one, drains, effects)
            effects.list += [StartDeletion(group, tuple(names), drains) for group, names in by_group.items()]
        result.deletions = [*empty, *drain]
        result.scale_down = "ScaleDownNodeDeleteStarted"
        self.last_delete_ms = now_ms
        self.registry.recalculate()

    def _tell_deletion(self, one: NodeToBeRemoved, drains: bool, effects: Effects) -> None:
        if not drains:
            text = f'Scale-down: removing empty node "{one.name}"'
            effects.status_event("Normal", "ScaleDownEmpty", text)
            return
        pods = ",".join(pod.pod["metadata"]["name"] for pod in one.pods)
        used = self.planner.utilizations.get(one.name)
        text = f"Scale-down: removing node {one.name}, utilization: {used}, pods to reschedule: {pods}"
        effects.status_event("Normal", "ScaleDown", text)

    def deletion_ended(self, node_name: str, *, ok: bool, now_ms: int) -> None:
        """A Node that a `StartDeletion` named was given back to the cloud, or was not."""
        group = self.tracker.empty.get(node_name) or self.tracker.drained.get(node_name)
        self.tracker.end(node_name)
        self.planner.unneeded.pop(node_name, None)
        if ok and group is not None:
            self.registry.register_scale_down(group, now_ms)
        elif not ok:
            self.last_fail_ms = now_ms

    def _soft_taints(self, nodes: Sequence[Object], effects: Effects) -> None:
        """PreferNoSchedule for what is unneeded, off again for what is needed, so many Nodes a loop."""
        budget = self.options.max_bulk_soft_taint_count
        wanted = [(node, False) for node in nodes if node["metadata"]["name"] not in self.planner.unneeded]
        wanted += [(node, True) for node in nodes if node["metadata"]["name"] in self.planner.unneeded]
        for node, add in wanted:
            if budget <= 0:
                return
            if has_taint(node, TO_BE_DELETED_TAINT) or has_taint(node, DELETION_CANDIDATE_TAINT) is add:
                continue
            effects.list.append(SetSoftTaint(node["metadata"]["name"], add))
            budget -= 1

    def check_invariants(self) -> None:
        """Groups within their limits, and nothing both needed and unneeded."""
        self.groups.check_invariants()
        overlap = [name for name in self.planner.unneeded if name in self.tracker.in_progress()]
        assert not overlap or self.last_delete_ms > _NEVER, f"deleted and unneeded: {overlap}"


def _all_are_new(pods: Sequence[PodInfo], now_ms: int) -> bool:
    """All came within the last 2 s (those with GPUs: 30 s): more of them are probably on their way."""
    if min(created_ms(pod.pod) for pod in pods) + _NEW_POD_MS > now_ms:
        return True
    with_gpu = [created_ms(pod.pod) for pod in pods if any(pod.requested.scalar.get(name) for name in GPU_RESOURCES)]
    return bool(with_gpu) and min(with_gpu) + _NEW_GPU_POD_MS > now_ms
