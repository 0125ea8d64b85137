"""Eviction for want of memory, disk or processes: thresholds, grace periods, and who goes first.

`EvictionManager` is the whole of it: plain state, no clock. Give it the Pods that are active on a node and what was
measured, and it says what to do now and why.

>>> from k8slab.kubelet.eviction import EvictionManager, PodStats, Summary
>>> pods = [{"metadata": {"name": name}, "spec": {"containers": [{"name": "c"}]}} for name in ("small", "large")]
>>> used = {"default/small": PodStats(memory=300 << 20), "default/large": PodStats(memory=600 << 20)}
>>> node = Summary(memory_available=80 << 20, memory_working_set=900 << 20, pods=used)
>>> decision = EvictionManager({"evictionHard": {"memory.available": "100Mi"}}).synchronize(pods, node, now_ms=0)
>>> [effect.pod["metadata"]["name"] for effect in decision.evicted]
['large']
>>> print(decision.ranking[0].before(decision.ranking[1]))
large goes before small: both use more memory than they request; both have priority 0; its use of memory is 600Mi above its request, that of small is 300Mi above its request.

The caller's duties: call `synchronize` every ten seconds with fresh numbers, carry out the effects in order, and after
a `Reclaim` measure again and call `after_reclaim`.

Simplified: see the modules.
"""  # noqa: E501 (one of the sentences that are printed is longer)

from k8slab.kubelet.eviction.config import DEFAULT_EVICTION_HARD, EvictionConfig, check_kubelet_config
from k8slab.kubelet.eviction.eviction_manager import (
    REASON,
    Decision,
    EvictionManager,
    EvictPod,
    NodeEvent,
    Reclaim,
    reason_of,
)
from k8slab.kubelet.eviction.local_storage import exceeded_limit
from k8slab.kubelet.eviction.messages import eviction_message
from k8slab.kubelet.eviction.rank import (
    DISK_CRITERIA,
    INODES_CRITERIA,
    MEMORY_CRITERIA,
    PID_CRITERIA,
    Criterion,
    RankedPod,
    disk_criteria,
    rank,
    rank_criteria,
    resource_request,
)
from k8slab.kubelet.eviction.reclaim import DELETE_CONTAINERS, DELETE_IMAGES
from k8slab.kubelet.eviction.signals import (
    CONDITION_OF,
    NODE_CONDITIONS,
    RESOURCE_OF,
    Observation,
    Signal,
    signal_observations,
)
from k8slab.kubelet.eviction.stats import ContainerStats, FsStats, PodStats, Summary, VolumeStats, pod_id
from k8slab.kubelet.eviction.thresholds import (
    Threshold,
    ThresholdValue,
    grace_period_met,
    node_conditions,
    observed_since,
    parse_threshold_config,
    threshold_quantity,
    thresholds_met,
)

__all__ = [
    "CONDITION_OF",
    "DEFAULT_EVICTION_HARD",
    "DELETE_CONTAINERS",
    "DELETE_IMAGES",
    "DISK_CRITERIA",
    "INODES_CRITERIA",
    "MEMORY_CRITERIA",
    "NODE_CONDITIONS",
    "PID_CRITERIA",
    "REASON",
    "RESOURCE_OF",
    "ContainerStats",
    "Criterion",
    "Decision",
    "EvictPod",
    "EvictionConfig",
    "EvictionManager",
    "FsStats",
    "NodeEvent",
    "Observation",
    "PodStats",
    "RankedPod",
    "Reclaim",
    "Signal",
    "Summary",
    "Threshold",
    "ThresholdValue",
    "VolumeStats",
    "check_kubelet_config",
    "disk_criteria",
    "eviction_message",
    "exceeded_limit",
    "grace_period_met",
    "node_conditions",
    "observed_since",
    "parse_threshold_config",
    "pod_id",
    "rank",
    "rank_criteria",
    "reason_of",
    "resource_request",
    "signal_observations",
    "threshold_quantity",
    "thresholds_met",
]
