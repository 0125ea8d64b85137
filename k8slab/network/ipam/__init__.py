"""Block IPAM: nodes claim blocks of a cluster-wide pool and hand out their addresses, as Calico does.

    >>> from k8slab.network.ipam import Connection, Datastore, IPAMClient, IPPool
    >>> from k8slab.sim import Loop
    >>> loop, store = Loop(seed=7), Datastore()
    >>> client = IPAMClient(Connection(store), [IPPool("default", "10.0.0.0/24", block_size=30)], loop.clock)
    >>> async def pods(node):
    ...     return [(await client.auto_assign(node, handle=f"{node}-{n}")).addresses[0] for n in range(5)]
    >>> tasks = [loop.spawn(f"{node}/cni", pods(node)) for node in ("node-a", "node-b")]
    >>> _ = loop.run(until_idle=True)
    >>> for task in tasks:
    ...     print(task.result)
    ['10.0.0.148', '10.0.0.149', '10.0.0.150', '10.0.0.151', '10.0.0.152']
    ['10.0.0.120', '10.0.0.121', '10.0.0.122', '10.0.0.123', '10.0.0.124']

A block is one route to one node. A node that runs out claims another block; when there is none left, it borrows single
addresses from others' blocks (unless affinity is strict), each with a route of its own. There is no allocator process:
every node reads blocks, decides, and writes with compare-and-swap.

The caller's duties: give each sandbox a handle of its own, and release by it; run `LeakFinder` and `collect` now and
then, for those that died before they could.

Upstream: libcalico-go/lib/ipam, kube-controllers/pkg/controllers/node of projectcalico/calico
"""

from k8slab.network.ipam import kinds as _kinds  # noqa: F401  (adds this package's rows to KINDS)
from k8slab.network.ipam.affinities import AffinityState, BlockReaderWriter
from k8slab.network.ipam.block import Block, Owner, ReleaseOptions
from k8slab.network.ipam.client import Assignments, IPAMClient
from k8slab.network.ipam.datastore import AffinityKey, Backend, BlockKey, Connection, Datastore, Entry, HandleKey
from k8slab.network.ipam.errors import (
    AlreadyExistsError,
    BadHandleError,
    BadSequenceNumberError,
    BlockClaimConflictError,
    BlockLimitError,
    BlockNotEmptyError,
    ConflictError,
    DatastoreError,
    DoesNotExistError,
    IPAMError,
    NoFreeBlocksError,
    StaleAffinityError,
)
from k8slab.network.ipam.garbage import (
    LeakFinder,
    PodAddresses,
    ReleaseAddress,
    ReleaseBlock,
    ReleaseNode,
    collect,
    pod_attributes,
)
from k8slab.network.ipam.pools import IPAMConfig, IPPool, Reservations, blocks_from, check_pools

__all__ = [
    "AffinityKey",
    "AffinityState",
    "AlreadyExistsError",
    "Assignments",
    "Backend",
    "BadHandleError",
    "BadSequenceNumberError",
    "Block",
    "BlockClaimConflictError",
    "BlockKey",
    "BlockLimitError",
    "BlockNotEmptyError",
    "BlockReaderWriter",
    "ConflictError",
    "Connection",
    "Datastore",
    "DatastoreError",
    "DoesNotExistError",
    "Entry",
    "HandleKey",
    "IPAMClient",
    "IPAMConfig",
    "IPAMError",
    "IPPool",
    "LeakFinder",
    "NoFreeBlocksError",
    "Owner",
    "PodAddresses",
    "ReleaseAddress",
    "ReleaseBlock",
    "ReleaseNode",
    "ReleaseOptions",
    "Reservations",
    "StaleAffinityError",
    "blocks_from",
    "check_pools",
    "collect",
    "pod_attributes",
]
