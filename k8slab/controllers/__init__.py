"""The controllers of the controller manager: one module or package per controller.

    >>> from k8slab.controllers import REGISTRY
    >>> "deployment-controller" in REGISTRY
    True
    >>> from k8slab.controllers.replicaset import slow_start_batches
    >>> slow_start_batches(12)
    [1, 2, 4, 5]

Every controller has the same shape. Its constructor takes a `ControllerContext`, asks the shared informers for what it
reads, and registers handlers that put keys into its work queue. `start()` starts its workers, which wait until the
informers have synced. `sync(key)` reads the cache, calls plain functions for every decision, and awaits the writes;
between two writes anything may happen, a crash of the process included.

Duties of the caller: build all controllers, then `informers.start()`, then `start()` each of them. One component per
controller manager; killing it ends all of its controllers where they stand.

Upstream: cmd/kube-controller-manager, pkg/controller
Simplified: the controllers below only; no leader election, no metrics, no client-side rate limit (upstream: 20
requests a second). Without a disruption controller `status.disruptionsAllowed` of a PodDisruptionBudget stays 0.
"""

from collections.abc import Callable

import k8slab.controllers.kinds
import k8slab.controllers.lifecycle_kinds  # noqa: F401
from k8slab.controllers.context import OPTIONS, Controller, ControllerContext
from k8slab.controllers.deployment import DeploymentController
from k8slab.controllers.endpointslice import EndpointSliceController
from k8slab.controllers.garbage_collector import GarbageCollectorController
from k8slab.controllers.namespace import NamespaceController
from k8slab.controllers.node_lifecycle import NodeLifecycleController
from k8slab.controllers.node_ttl import TTLController
from k8slab.controllers.nodeipam import NodeIPAMController
from k8slab.controllers.podgc import PodGCController
from k8slab.controllers.replicaset import ReplicaSetController
from k8slab.controllers.root_ca import RootCACertificatePublisher
from k8slab.controllers.serviceaccount import ServiceAccountController
from k8slab.controllers.taint_eviction import TaintEvictionController

__all__ = ["OPTIONS", "REGISTRY", "Controller", "ControllerContext"]

REGISTRY: dict[str, Callable[[ControllerContext], Controller]] = {
    "endpointslice-controller": EndpointSliceController,
    "pod-garbage-collector-controller": PodGCController,
    "namespace-controller": NamespaceController,
    "serviceaccount-controller": ServiceAccountController,
    "garbage-collector-controller": GarbageCollectorController,
    "deployment-controller": DeploymentController,
    "replicaset-controller": ReplicaSetController,
    "ttl-controller": TTLController,
    "node-lifecycle-controller": NodeLifecycleController,
    "taint-eviction-controller": TaintEvictionController,
    "root-ca-certificate-publisher-controller": RootCACertificatePublisher,
    "node-ipam-controller": NodeIPAMController,
}
"""Every controller by upstream's name, in the order in which they are started."""
