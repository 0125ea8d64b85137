"""The node lifecycle controller: notices silent nodes, taints them, marks their Pods not ready.

    >>> from k8slab.controllers.node_lifecycle import GracePeriods, observe
    >>> ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}
    >>> node = {"metadata": {"name": "node-1"}, "status": {"conditions": [ready]}}
    >>> seen = observe(node, lease=None, health=None, now_ms=0, grace=GracePeriods())
    >>> later = observe(node, None, seen.health, now_ms=50_001, grace=GracePeriods())
    >>> seen.current["status"], later.current["status"], later.current["message"]
    ('True', 'Unknown', 'Kubelet stopped posting node status.')

`health` says who is silent, `zones` how fast a zone may be tainted, `rate_limited_queue` keeps to that; the controller
reads caches and writes. Deleting Pods is not its job: the taint eviction controller does that.

Upstream: pkg/controller/nodelifecycle
Simplified: see `controller`.
"""

from k8slab.controllers.node_lifecycle.controller import NodeLifecycleController
from k8slab.controllers.node_lifecycle.health import GracePeriods, NodeHealth, Observation, observe
from k8slab.controllers.node_lifecycle.rate_limited_queue import RateLimitedTimedQueue
from k8slab.controllers.node_lifecycle.zones import ZoneSettings, ZoneState, compute_zone_state, reduced_qps, zone_key

__all__ = [
    "GracePeriods",
    "NodeHealth",
    "NodeLifecycleController",
    "Observation",
    "RateLimitedTimedQueue",
    "ZoneSettings",
    "ZoneState",
    "compute_zone_state",
    "observe",
    "reduced_qps",
    "zone_key",
]
