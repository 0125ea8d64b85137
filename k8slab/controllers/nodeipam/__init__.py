"""Node CIDRs: which part of the cluster's Pod range each Node hands out to its Pods.

    >>> from k8slab.controllers.nodeipam import CIDRSet
    >>> subnets = CIDRSet("10.0.0.0/28", 30)
    >>> subnets.occupy("10.0.0.5/32")            # a whole /30 goes for one address
    >>> [str(subnets.allocate_next()) for _ in range(3)]
    ['10.0.0.0/30', '10.0.0.8/30', '10.0.0.12/30']

host-local IPAM knows its own node only: two nodes with one range hand out the same addresses. This controller is what
keeps them apart. It runs with `Cluster(options={"allocate-node-cidrs": 1, "cluster-cidr": "10.244.0.0/16"})`.

Upstream: pkg/controller/nodeipam
"""

from k8slab.controllers.nodeipam.cidr_set import (
    CIDRRangeNoCIDRsRemainingError,
    CIDRSet,
    CIDRSetSubNetTooBigError,
)
from k8slab.controllers.nodeipam.range_allocator import (
    ClusterRange,
    NodeIPAMController,
    RangeAllocator,
    cluster_ranges,
)

__all__ = [
    "CIDRRangeNoCIDRsRemainingError",
    "CIDRSet",
    "CIDRSetSubNetTooBigError",
    "ClusterRange",
    "NodeIPAMController",
    "RangeAllocator",
    "cluster_ranges",
]
