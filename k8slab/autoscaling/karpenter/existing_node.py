"""A node that there is (or that was bought and is on its way), as a place for Pods.

Upstream: kubernetes-sigs/karpenter pkg/controllers/provisioning/scheduling/existingnode.go
Simplified: no limits on volumes.
"""

from __future__ import annotations

from collections.abc import Mapping

from k8slab.autoscaling.karpenter.pod_data import PodData, tolerates
from k8slab.autoscaling.karpenter.requirement import Requirement
from k8slab.autoscaling.karpenter.requirements import HOSTNAME, Requirements
from k8slab.autoscaling.karpenter.state import StateNode
from k8slab.autoscaling.karpenter.topology import Topology
from k8slab.scheduler.framework import HostPorts

__all__ = ["ExistingNode"]


class ExistingNode:
    """`left`: what Pods may still ask for, once the DaemonSets that belong here run. `is_fresh`: Pods came or went
    within consolidateAfter, so consolidation moves nobody here."""

    __slots__ = ("_ports", "_taints", "_topology", "is_fresh", "left", "node", "pods", "requirements")

    def __init__(
        self, node: StateNode, topology: Topology, daemon_requests: Mapping[str, int], *, is_fresh: bool = False
    ) -> None:
        self.node = node
        self.is_fresh = is_fresh
        self.pods: list[PodData] = []
        self._topology = topology
        self._taints = node.taints()
        self._ports = HostPorts()
        for info in node.pods.values():
            self._ports.add(info.host_ports)
        self.left = node.available()
        already = node.daemon_requests()
        for name, amount in daemon_requests.items():
            self.left[name] = self.left.get(name, 0) - max(amount - already.get(name, 0), 0)
        self.requirements = Requirements.of_labels(node.labels())
        self.requirements.add(Requirement.of(HOSTNAME, "In", (node.hostname,)))
        topology.register_hostname(node.hostname)

    def can_add(self, data: PodData) -> Requirements | None:
        """The node's requirements with this Pod on it; None when it cannot go there."""
        left = self.left
        for name, amount in data.requests.items():
            if amount > left.get(name, 0):
                return None
        if not tolerates(data, self._taints) or any(self._ports.conflicts(port) for port in data.info.host_ports):
            return None
        base = self.requirements
        if len(data.requirements):
            if not base.compatible(data.requirements):
                return None
            base = base.copy()
            base.add_all(data.requirements)
        tightened = self._topology.add_requirements(data, base)
        if tightened is None or (tightened is not base and not base.compatible(tightened)):
            return None
        return tightened

    def add(self, data: PodData, requirements: Requirements) -> None:
        """Take the Pod; `requirements` is what `can_add` said."""
        self.pods.append(data)
        self.requirements = requirements
        for name, amount in data.requests.items():
            self.left[name] -= amount
        self._ports.add(data.info.host_ports)
        self._topology.record(data, self._taints, requirements)
