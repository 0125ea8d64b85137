"""The EndpointSlice controller: which Pods stand behind a Service, in pieces of at most 100.

    >>> from k8slab.controllers.endpointslice import reconcile
    >>> service = {"metadata": {"name": "web", "uid": "u"}, "spec": {"clusterIP": "10.0.0.1", "ports": [{"port": 80}]}}
    >>> changes = reconcile(service, [], [], node=lambda name: None, max_endpoints=100)
    >>> [slice["metadata"]["generateName"] for slice in changes.create], changes.update, changes.delete
    (['web-'], [], [])

`endpoints` makes an endpoint of a Pod, `reconciler` packs endpoints into slices with the fewest writes,
`traffic_distribution` adds hints: plain functions. `EndpointSliceController` reads caches and carries out the writes;
`tracker` keeps it from working on slices older than those it wrote.

Duties of the caller: build the controller before the informers are started, then call `start()`.

Upstream: pkg/controller/endpointslice, staging/src/k8s.io/endpointslice
Simplified: no topology-aware hints by annotation; the older Endpoints objects are not written.
"""

from k8slab.controllers.endpointslice.endpointslice_controller import EndpointSliceController
from k8slab.controllers.endpointslice.reconciler import Changes, reconcile
from k8slab.controllers.endpointslice.tracker import EndpointSliceTracker

__all__ = ["Changes", "EndpointSliceController", "EndpointSliceTracker", "reconcile"]
