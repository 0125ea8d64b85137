"""What a fresh Node of each group would be: like a good one that is there, else as the group's data say.

Upstream: cluster-autoscaler/processors/nodeinfosprovider/mixed_nodeinfos_processor.go, simulator/node_info_utils.go,
utils/daemonset/daemonset.go; pkg/controller/daemon/daemon_controller.go (NodeShouldRunDaemonPod)
Simplified: templates that were seen are kept for ever (upstream: 10 years).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from k8slab.api.node_affinity import required_node_affinity
from k8slab.api.objects import Object
from k8slab.api.times import parse_time
from k8slab.api.tolerations import find_matching_untolerated_taint
from k8slab.autoscaling.cluster_autoscaler.node_groups import NodeGroups
from k8slab.autoscaling.cluster_autoscaler.node_state import (
    TO_BE_DELETED_TAINT,
    has_taint,
    is_ready,
    sanitized_taints,
)
from k8slab.autoscaling.cluster_autoscaler.options import AutoscalingOptions
from k8slab.autoscaling.cluster_autoscaler.pod_state import is_daemon_set_pod, is_mirror_pod
from k8slab.scheduler import NodeInfo, PodInfo

__all__ = ["TemplateNodeInfos", "fresh_node"]

TEMPLATE_NODE_LABEL = "cluster-autoscaler.kubernetes.io/template-node"
_STABILIZATION_MS = 60_000
_DAEMON_TOLERATIONS = tuple(
    {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect}
    for name, effect in (
        ("not-ready", "NoExecute"),
        ("unreachable", "NoExecute"),
        ("disk-pressure", "NoSchedule"),
        ("memory-pressure", "NoSchedule"),
        ("pid-pressure", "NoSchedule"),
        ("unschedulable", "NoSchedule"),
    )
)


def fresh_node(template: NodeInfo, name: str) -> NodeInfo:
    """A copy of a template under another name; its Pods get names of their own, too."""
    assert template.node is not None  # templates are made from Nodes
    node = template.node
    labels = {**(node["metadata"].get("labels") or {}), "kubernetes.io/hostname": name}
    info = NodeInfo.of({**node, "metadata": {**node["metadata"], "name": name, "labels": labels}})
    for pod in template.pods.values():
        info.add_pod(PodInfo(_pod_on(pod.pod, name)))
    return info


def _pod_on(pod: Object, node_name: str) -> Object:
    metadata = {**pod["metadata"], "name": f"{pod['metadata']['name']}-{node_name}", "uid": None}
    return {**pod, "metadata": metadata, "spec": {**pod["spec"], "nodeName": node_name}}


class TemplateNodeInfos:
    """By group: an imagined Node with the Pods that run on every Node. Remembers the last good one of each group."""

    def __init__(self, groups: NodeGroups, options: AutoscalingOptions) -> None:
        self._groups = groups
        self._options = options
        self._cache: dict[str, NodeInfo] = {}

    def recompute(self, nodes: Iterable[NodeInfo], daemon_sets: Sequence[Object], now_ms: int) -> dict[str, NodeInfo]:
        """From Nodes that are Ready for a minute; else from earlier ones; else from the group's data."""
        result: dict[str, NodeInfo] = {}
        for info in nodes:
            if info.node is not None and self._is_good(info.node, now_ms):
                group = self._groups.group_of(info.node)
                if group is not None and group.id not in result:
                    result[group.id] = self._cache[group.id] = self._from_example(info, group.id)
        for group in self._groups:
            if group.id in result:
                continue
            if group.id in self._cache:
                result[group.id] = self._cache[group.id]
                continue
            base = NodeInfo.of(group.template())
            result[group.id] = self._sanitized(base, group.id, _daemon_pods(base, daemon_sets))
        return result

    def _is_good(self, node: Object, now_ms: int) -> bool:
        changed = [
            parse_time(condition["lastTransitionTime"])
            for condition in (node.get("status") or {}).get("conditions") or ()
            if condition.get("type") in ("Ready", "DiskPressure", "NetworkUnavailable")
            and condition.get("lastTransitionTime")
        ]
        is_stable = max(changed, default=-_STABILIZATION_MS - 1) + _STABILIZATION_MS < now_ms
        schedulable = not (node.get("spec") or {}).get("unschedulable")
        return is_ready(node) and is_stable and schedulable and not has_taint(node, TO_BE_DELETED_TAINT)

    def _from_example(self, info: NodeInfo, group_id: str) -> NodeInfo:
        """Like a Node that is there: of its Pods only those that a fresh one gets, too."""
        pods = [
            pod.pod
            for pod in info.pods.values()
            if not pod.is_terminating and (is_mirror_pod(pod.pod) or is_daemon_set_pod(pod.pod))
        ]
        return self._sanitized(info, group_id, pods)

    def _sanitized(self, info: NodeInfo, group_id: str, pods: Iterable[Object]) -> NodeInfo:
        assert info.node is not None  # of a Node, or of a group's template
        name = f"template-node-for-{group_id}"
        options = self._options
        taints = sanitized_taints(info.node, options.startup_taints, options.status_taints)
        labels = {**info.labels, "kubernetes.io/hostname": name, TEMPLATE_NODE_LABEL: "true"}
        metadata = {"name": name, "labels": labels}
        if info.node["metadata"].get("annotations"):
            metadata["annotations"] = info.node["metadata"]["annotations"]
        spec = {**(info.node.get("spec") or {}), "taints": list(taints)}
        spec.pop("providerID", None)
        return NodeInfo.of({**info.node, "metadata": metadata, "spec": spec}, (_pod_on(pod, name) for pod in pods))


def _daemon_pods(node: NodeInfo, daemon_sets: Sequence[Object]) -> list[Object]:
    """One Pod of each DaemonSet that would run on the Node."""
    found = []
    for daemon_set in daemon_sets:
        pod = _daemon_pod(daemon_set)
        untolerated = find_matching_untolerated_taint(
            node.taints,
            [*(pod["spec"].get("tolerations") or ()), *_DAEMON_TOLERATIONS],
            lambda taint: taint.get("effect") in ("NoExecute", "NoSchedule"),
        )
        if untolerated is None and node.node is not None and required_node_affinity(pod).matches(node.node):
            found.append(pod)
    return found


def _daemon_pod(daemon_set: Object) -> Object:
    metadata: Mapping[str, Any] = daemon_set["metadata"]
    template = daemon_set["spec"]["template"]
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": metadata["name"], "controller": True}
    owner["uid"] = metadata.get("uid") or metadata["name"]
    own = template.get("metadata") or {}
    return {
        "metadata": {
            "name": f"{metadata['name']}-pod",
            "namespace": metadata.get("namespace") or "default",
            "labels": own.get("labels") or {},
            "annotations": own.get("annotations") or {},
            "ownerReferences": [owner],
        },
        "spec": template["spec"],
    }
