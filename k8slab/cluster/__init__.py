"""The composition root: components wired into a cluster that can be applied to, broken, stepped and asked why.

>>> from k8slab.cluster import Cluster
>>> cluster = Cluster(nodes=2, seed=1)
>>> result = cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"},
...                         "spec": {"containers": [{"name": "c", "image": "nginx:1.27"}]}})
>>> print(result)
pod/one created
>>> cluster.run(until=lambda: cluster.ready("pod/one"), for_ms=10_000)
True
>>> cluster.close()

`ClusterSnapshot` reads the dump of a real cluster, `Pending` says why Pods of it are pending.

The caller's duties: `run` or `step` to let time pass; `close` when done.

Simplified: one controller manager, no leader election; no authorization, so every client may do anything.
"""

from k8slab.cluster.address_map import AddressMap
from k8slab.cluster.apply import Applied, ApplyError, ApplyResult
from k8slab.cluster.cluster import Cluster
from k8slab.cluster.explain import Explanation, Why
from k8slab.cluster.gangs import GangChange, GangCluster, GangTimeline
from k8slab.cluster.not_simulated import not_simulated
from k8slab.cluster.snapshots import (
    Change,
    ClusterSnapshot,
    Eviction,
    Finding,
    Pending,
    PodState,
    Remedy,
    SnapshotError,
)
from k8slab.cluster.sources import manifest_files

__all__ = [
    "AddressMap",
    "Applied",
    "ApplyError",
    "ApplyResult",
    "Change",
    "Cluster",
    "ClusterSnapshot",
    "Eviction",
    "Explanation",
    "Finding",
    "GangChange",
    "GangCluster",
    "GangTimeline",
    "Pending",
    "PodState",
    "Remedy",
    "SnapshotError",
    "Why",
    "manifest_files",
    "not_simulated",
]
