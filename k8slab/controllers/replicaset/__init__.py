"""The ReplicaSet controller: keeps the number of Pods.

    >>> from k8slab.controllers.replicaset import pods_to_delete, slow_start_batches
    >>> slow_start_batches(10)
    [1, 2, 4, 3]
    >>> def pod(name, phase): return {"metadata": {"name": name, "uid": name}, "status": {"phase": phase}}
    >>> pods = [pod("a", "Running"), pod("b", "Pending")]
    >>> [pod["metadata"]["name"] for pod in pods_to_delete(pods, pods, 1, now_ms=0)]
    ['b']

`scale_down` ranks, `status` counts; both are plain functions. `ReplicaSetController` claims the Pods of a ReplicaSet,
creates them in growing batches or deletes them at once, waits for its expectations, and reports the status.

Duties of the caller: build the controller before the informers are started, then call `start()`.

Upstream: pkg/controller/replicaset
Simplified: no ReplicationController (upstream runs the same code for it); no metrics.
"""

from k8slab.controllers.parallel import slow_start_batches
from k8slab.controllers.replicaset.replica_set import BURST_REPLICAS, REPLICA_SET, ReplicaSetController
from k8slab.controllers.replicaset.scale_down import pods_to_delete
from k8slab.controllers.replicaset.status import calculate_status

__all__ = [
    "BURST_REPLICAS",
    "REPLICA_SET",
    "ReplicaSetController",
    "calculate_status",
    "pods_to_delete",
    "slow_start_batches",
]
