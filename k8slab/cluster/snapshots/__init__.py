"""Snapshots of real clusters: why a Pod is pending there, what would change it, and what more would fit.

>>> from k8slab.cluster.snapshots import ClusterSnapshot
>>> node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1"},
...         "status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "110"}}}
>>> pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "big"},
...        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "3"}}}]}}
>>> ClusterSnapshot.of([node, pod]).pending[0]["metadata"]["name"]
'big'

Simplified: nothing; this package has no upstream.
"""

from k8slab.cluster.snapshots.added import ELSEWHERE, WORKLOADS, owner_of, pods_of
from k8slab.cluster.snapshots.capacity import Placement, Usage, WhatIf, WhatIfAnswer, more_nodes
from k8slab.cluster.snapshots.changes import ORDER, Change
from k8slab.cluster.snapshots.mocks import MockedResult, mocked_results
from k8slab.cluster.snapshots.pending import Eviction, Finding, Pending, PodState
from k8slab.cluster.snapshots.replay import WhatIfRecording, answer_hash, what_if_report
from k8slab.cluster.snapshots.search import Remedy
from k8slab.cluster.snapshots.snapshot import BASELINE, ClusterSnapshot
from k8slab.cluster.snapshots.stream import SnapshotError

__all__ = [
    "BASELINE",
    "ELSEWHERE",
    "ORDER",
    "WORKLOADS",
    "Change",
    "ClusterSnapshot",
    "Eviction",
    "Finding",
    "MockedResult",
    "Pending",
    "Placement",
    "PodState",
    "Remedy",
    "SnapshotError",
    "Usage",
    "WhatIf",
    "WhatIfAnswer",
    "WhatIfRecording",
    "answer_hash",
    "mocked_results",
    "more_nodes",
    "owner_of",
    "pods_of",
    "what_if_report",
]
