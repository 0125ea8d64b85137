"""Builders for tests of the autoscalers: groups on a still cloud, Pods that wait, a small world that plays along."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.times import rfc3339
from k8slab.autoscaling.cloud import GIB, Cloud, CloudTimings, InstanceType, Offering
from k8slab.autoscaling.cluster_autoscaler import (
    AutoscalingOptions,
    ClusterView,
    NodeGroupConfig,
    NodeGroups,
    RecordEvent,
    RunResult,
    SetSoftTaint,
    StartDeletion,
    StaticAutoscaler,
)
from k8slab.scheduler import Framework

__all__ = ["MINUTE", "STILL", "CaWorld", "groups_of", "machine", "owned", "waiting_pod"]

MINUTE = 60_000
STILL = CloudTimings(pending_ms=0, boot_ms=30_000, boot_jitter_ms=0, gpu_boot_ms=0, shutdown_ms=0)
_UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}


def machine(name: str, cpus: int, gib: int, *, price: int = 100_000, pods: int = 100, **more: Any) -> InstanceType:
    """A type whose Nodes have exactly so many CPUs and GiB to give (nothing is kept back)."""
    zones = ("a", "b")
    offerings = tuple(Offering(zone, kind, price) for zone in zones for kind in ("on-demand", "spot"))
    return _Plain(
        name, "amd64", "m", name, 5, "large", cpus * 1_000, gib * GIB, pods, offerings, is_bare_metal=True, **more
    )


class _Plain(InstanceType):
    """Allocatable is capacity: arithmetic in tests stays short."""

    __slots__ = ()

    def reserved(self) -> dict[str, int]:
        return {}


def groups_of(
    *configs: NodeGroupConfig, types: Sequence[InstanceType] = (), timings: CloudTimings = STILL, **cloud: Any
) -> NodeGroups:
    types = types or (machine("two", 2, 8),)
    return NodeGroups(Cloud(types, random.Random(7), timings=timings, **cloud), configs)


def waiting_pod(
    name: str, cpu: str = "", memory: str = "", *, owner: str = "", created_ms: int = 0, **spec: Any
) -> Object:
    """A Pod that the scheduler found no place for. `owner`: a ReplicaSet's name."""
    requests = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value}
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    metadata["creationTimestamp"] = rfc3339(created_ms)
    metadata["labels"] = spec.pop("labels", {})
    if annotations := spec.pop("annotations", None):
        metadata["annotations"] = annotations
    if namespace := spec.pop("namespace", None):
        metadata["namespace"] = namespace
    if owner:
        metadata["ownerReferences"] = [owned(owner)]
    containers = spec.pop("containers", [{"name": "c", "resources": {"requests": requests}}])
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": containers, **spec},
        "status": {"phase": "Pending", "conditions": [_UNSCHEDULABLE]},
    }


def owned(name: str, kind: str = "ReplicaSet", version: str = "apps/v1") -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}


class CaWorld:
    """Nodes and Pods that do what an autoscaler wants, without an API: machines become Nodes when they have booted,
    Pods that wait are put where they fit, evicted Pods come back as waiting ones, deleted Nodes go.
    """

    def __init__(self, groups: NodeGroups, options: AutoscalingOptions | None = None, **flags: Any) -> None:
        self.groups = groups
        self.options = (options or AutoscalingOptions()).with_overrides(flags)
        self.ca = StaticAutoscaler(groups, Framework.from_profile(), self.options, random.Random(7))
        self.now_ms = 100 * MINUTE
        self.nodes: dict[str, dict[str, Any]] = {}
        self.pods: dict[str, dict[str, Any]] = {}
        self.more: dict[str, Any] = {}
        self.events: list[tuple[str, str, str]] = []
        self.taints: dict[str, bool] = {}
        self.deleted: list[str] = []
        self.last: RunResult | None = None
        groups.refresh(self.now_ms)

    # -- the cluster --------------------------------------------------------------------------------

    def add(self, pods: Iterable[Object]) -> None:
        for pod in pods:
            self.pods[pod["metadata"]["name"]] = dict(pod)

    def place(self, pod: Object, node: str) -> None:
        """A Pod that runs on a Node."""
        running = {**pod, "spec": {**pod["spec"], "nodeName": node}, "status": {"phase": "Running"}}
        self.pods[pod["metadata"]["name"]] = running

    def join(self, *, age_ms: int = 10 * MINUTE, ready: bool = True) -> list[str]:
        """All machines that are there register at once, and were Ready for `age_ms`."""
        joined = []
        for group in self.groups:
            for instance in group.live():
                name = self.groups.node_name(instance)
                if name not in self.nodes:
                    self.nodes[name] = self._node(group, instance, self.now_ms - age_ms, ready)
                    joined.append(name)
        return joined

    def _node(self, group: Any, instance: Any, since_ms: int, ready: bool) -> dict[str, Any]:
        from k8slab.autoscaling.cloud import node_object

        node: dict[str, Any] = dict(
            node_object(
                self.groups.node_name(instance),
                instance.instance_type,
                instance.zone,
                labels=group.config.labels,
                taints=group.config.taints,
                provider_id=instance.provider_id,
            )
        )
        node["metadata"]["creationTimestamp"] = rfc3339(since_ms)
        ready_condition = {"type": "Ready", "status": "True" if ready else "False"}
        node["status"]["conditions"] = [{**ready_condition, "lastTransitionTime": rfc3339(since_ms)}]
        return node

    def view(self) -> ClusterView:
        return ClusterView(list(self.nodes.values()), list(self.pods.values()), **self.more)

    # -- time ---------------------------------------------------------------------------------------

    def loop(self, after_ms: int = 10_000, *, carry_out: bool = True) -> RunResult:
        """Let time pass, and run the autoscaler once."""
        self.now_ms += after_ms
        self.groups.cloud.step(self.now_ms)
        self.last = self.ca.run_once(self.view(), self.now_ms)
        for effect in self.last.effects:
            if isinstance(effect, RecordEvent):
                about = effect.about if isinstance(effect.about, str) else effect.about["metadata"]["name"]
                self.events.append((about, effect.reason, effect.message))
            elif isinstance(effect, SetSoftTaint):
                self._soft_taint(effect)
            elif isinstance(effect, StartDeletion) and carry_out:
                self._delete(effect)
        self.ca.check_invariants()
        return self.last

    def loops(self, for_ms: int, every_ms: int = 10_000) -> None:
        for _ in range(for_ms // every_ms):
            self.loop(every_ms)

    def _soft_taint(self, effect: SetSoftTaint) -> None:
        node = self.nodes[effect.node]
        taint = {"key": "DeletionCandidateOfClusterAutoscaler", "value": "1", "effect": "PreferNoSchedule"}
        taints = [one for one in node["spec"].get("taints") or () if one["key"] != taint["key"]]
        node["spec"] = {**node["spec"], "taints": [*taints, taint] if effect.add else taints}
        self.taints[effect.node] = effect.add

    def _delete(self, effect: StartDeletion) -> None:
        for name in effect.nodes:
            node = self.nodes.pop(name)
            for key, pod in list(self.pods.items()):
                if pod["spec"].get("nodeName") == name:
                    del self.pods[key]
            self.groups.delete_nodes(effect.group, [node["spec"]["providerID"]], self.now_ms)
            self.ca.deletion_ended(name, ok=True, now_ms=self.now_ms)
            self.deleted.append(name)

    # -- asking -------------------------------------------------------------------------------------

    def sizes(self) -> Mapping[str, int]:
        return {group.id: group.target_size for group in self.groups}

    def reason(self, node: str) -> str:
        """Why a Node stays."""
        found = self.ca.planner.unremovable.reasons.get(node)
        return "" if found is None else found.reason.value

    def blocking(self, node: str) -> str:
        """What the Pod that keeps a Node has against it."""
        found = self.ca.planner.unremovable.reasons[node].blocking
        assert found is not None
        return found.reason.value
