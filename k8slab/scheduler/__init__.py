"""The scheduler: which Node for which Pod, why, and why not.

    >>> from k8slab.scheduler import Framework, Snapshot
    >>> nodes = [{"metadata": {"name": n}, "status": {"allocatable": {"cpu": c, "memory": "4Gi", "pods": "110"}}}
    ...          for n, c in (("small", "1"), ("big", "8"))]
    >>> def pod(cpu):
    ...     return {"metadata": {"name": "web"}, "spec": {"containers": [{"resources": {"requests": {"cpu": cpu}}}]}}
    >>> result = Framework.from_profile().schedule(pod("500m"), Snapshot.of(nodes))
    >>> result.node, result.totals
    ('big', {'small': 434, 'big': 467})
    >>> Framework.from_profile().schedule(pod("9"), Snapshot.of(nodes)).message.split(" no new")[0]
    '0/2 nodes are available: 2 Insufficient cpu.'

`Framework` runs a profile's plugins and needs nothing else: `schedule` picks a Node, `explain` asks every plugin about
every Node. `SchedulingQueue` and `Cache` are plain mechanisms too. `Scheduler` is the process that ties them to an API
server: informers feed queue and cache, one task decides (and waits for extenders, if any), one task a Pod binds.

Duties of the caller: whoever uses `schedule` counts the Pod on its Node before the next call (`Snapshot.assume`);
plugins never change Pods or Nodes, and never wait in anything up to Permit; nor do handlers.

Upstream: pkg/scheduler, cmd/kube-scheduler (v1.36)
Simplified: no leader election.
"""

import k8slab.scheduler.kinds  # noqa: F401  (adds the rows of this package to the table of event kinds)
from k8slab.scheduler.cache import Cache
from k8slab.scheduler.config import (
    ClientConnectionConfiguration,
    ConfigError,
    KubeSchedulerConfiguration,
    LeaderElectionConfiguration,
)
from k8slab.scheduler.config_extender import Extender, ExtenderManagedResource, ExtenderTLSConfig
from k8slab.scheduler.cycle import ScheduleResult, SchedulingAlgorithm, num_feasible_nodes_to_find
from k8slab.scheduler.diagnosis import Diagnosis, FitError, NodeToStatus
from k8slab.scheduler.explain import Explanation, NodeVerdict
from k8slab.scheduler.extender_server import ExtenderServer
from k8slab.scheduler.framework import SKIP, SUCCESS, Code, CycleState, NodeInfo, PluginError, PodInfo, Status
from k8slab.scheduler.listers import ObjectLister
from k8slab.scheduler.metrics import SchedulerMetrics
from k8slab.scheduler.plugins import REGISTRY
from k8slab.scheduler.preemption_story import PreemptionStory
from k8slab.scheduler.profile import Profile
from k8slab.scheduler.queue import QueueName, QueueProfile, SchedulingQueue
from k8slab.scheduler.queue_story import QueueStory
from k8slab.scheduler.queued_pod import QueuedPodInfo
from k8slab.scheduler.runtime import Framework, FrameworkOptions, WeightedScore
from k8slab.scheduler.scheduler import Scheduler
from k8slab.scheduler.snapshot import Snapshot
from k8slab.scheduler.spread_story import SpreadOperation, SpreadStory

__all__ = [
    "REGISTRY",
    "SKIP",
    "SUCCESS",
    "Cache",
    "ClientConnectionConfiguration",
    "Code",
    "ConfigError",
    "CycleState",
    "Diagnosis",
    "Explanation",
    "Extender",
    "ExtenderManagedResource",
    "ExtenderServer",
    "ExtenderTLSConfig",
    "FitError",
    "Framework",
    "FrameworkOptions",
    "KubeSchedulerConfiguration",
    "LeaderElectionConfiguration",
    "NodeInfo",
    "NodeToStatus",
    "NodeVerdict",
    "ObjectLister",
    "PluginError",
    "PodInfo",
    "PreemptionStory",
    "Profile",
    "QueueName",
    "QueueProfile",
    "QueueStory",
    "QueuedPodInfo",
    "ScheduleResult",
    "Scheduler",
    "SchedulerMetrics",
    "SchedulingAlgorithm",
    "SchedulingQueue",
    "Snapshot",
    "SpreadOperation",
    "SpreadStory",
    "Status",
    "WeightedScore",
    "num_feasible_nodes_to_find",
]
