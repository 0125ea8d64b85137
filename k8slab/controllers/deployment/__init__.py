"""The Deployment controller: rolls a Pod template out over ReplicaSets.

    >>> from k8slab.controllers.deployment import Size, old_replica_set_sizes, resolve_fenceposts, simulate
    >>> fenceposts = resolve_fenceposts("25%", "25%", 10)
    >>> fenceposts
    Fenceposts(surge=3, unavailable=2)
    >>> old_replica_set_sizes(10, 2, [Size("old", 10, available=10)], Size("new", 3)).resizes
    [Resize(name='old', replicas=8)]
    >>> list(simulate(4, resolve_fenceposts("25%", "25%", 4), [Size("old", 4, 4, 1)], Size("new", 0, 0, 2)))[1:3]
    [{'old': 4, 'new': 1}, {'old': 2, 'new': 1}]

The decisions (`fenceposts`, `rolling`, `proportional`, `revisions`, `status`, `replica_sets`) are plain functions over
numbers and objects. `sync.sync_deployment` makes one step of one Deployment out of them: it takes a `Picture`, finds or
creates the new ReplicaSet (`new_replica_set`), writes sizes (`scaling`, `recreate`, `rollback`) and reports the status.
`DeploymentController` connects it to informers and a work queue. It never touches Pods: that is the ReplicaSet
controller's part.

Duties of the caller: build the controller before the informers are started, then call `start()`.

Upstream: pkg/controller/deployment
Simplified: the template hash is our own (see `template_hash`); no metrics.
"""

from k8slab.controllers.deployment.deployment_controller import DeploymentController
from k8slab.controllers.deployment.fenceposts import Fenceposts, resolve_fenceposts
from k8slab.controllers.deployment.proportional import find_active_or_latest, proportional_sizes
from k8slab.controllers.deployment.rolling import new_replica_set_size, old_replica_set_sizes, simulate
from k8slab.controllers.deployment.sizes import Resize, Size
from k8slab.controllers.deployment.template_hash import compute_hash, pod_template_hash

__all__ = [
    "DeploymentController",
    "Fenceposts",
    "Resize",
    "Size",
    "compute_hash",
    "find_active_or_latest",
    "new_replica_set_size",
    "old_replica_set_sizes",
    "pod_template_hash",
    "proportional_sizes",
    "resolve_fenceposts",
    "simulate",
]
