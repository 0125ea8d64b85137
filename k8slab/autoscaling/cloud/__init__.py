"""A simulated cloud: machines by type, zone and price, that take time to come and may be taken back.

    >>> import random
    >>> from k8slab.autoscaling.cloud import Cloud, Pool, catalogue
    >>> cloud = Cloud(catalogue(), random.Random(7))
    >>> pools = [Pool("m5.large", zone, "spot") for zone in ("region-1a", "region-1b")]
    >>> cloud.set_capacity(pools[0], 0)
    >>> bought = cloud.launch(pools, now_ms=0)
    >>> bought.instance.zone, [error.code for error in bought.refused]
    ('region-1b', ['InsufficientInstanceCapacity'])
    >>> [type(event).__name__ for event in cloud.step(60_000)]
    ['InstanceRunning', 'InstanceBooted']
    >>> cloud.interrupt(bought.instance.id, now_ms=90_000)[0].interruption_ms
    210000

Duties of the caller: call `step` when `next_due_ms` says so, and start and stop nodes as the events say. An autoscaler
sees instances and errors; when a pool runs dry is not its to know beforehand.

Upstream: none; the shape of EC2's API, as autoscalers use it
Simplified: one region, one account.
"""

import k8slab.autoscaling.cloud.kinds  # noqa: F401  (adds the rows of this package)
from k8slab.autoscaling.cloud.catalogue import ZONES, catalogue, small_catalogue
from k8slab.autoscaling.cloud.cloud import INTERRUPTION_NOTICE_MS, Cloud, CloudTimings, Launch
from k8slab.autoscaling.cloud.errors import (
    CloudError,
    InstanceNotFoundError,
    InsufficientCapacityError,
    LaunchFailedError,
    QuotaExceededError,
)
from k8slab.autoscaling.cloud.instance_types import GIB, MIB, ON_DEMAND, SPOT, InstanceType, Offering, Pool
from k8slab.autoscaling.cloud.instances import (
    CloudEvent,
    Instance,
    InstanceBooted,
    InstanceRunning,
    InstanceShuttingDown,
    InstanceState,
    InstanceTerminated,
    SpotInterruptionNotice,
)
from k8slab.autoscaling.cloud.machines import node_object

__all__ = [
    "GIB",
    "INTERRUPTION_NOTICE_MS",
    "MIB",
    "ON_DEMAND",
    "SPOT",
    "ZONES",
    "Cloud",
    "CloudError",
    "CloudEvent",
    "CloudTimings",
    "Instance",
    "InstanceBooted",
    "InstanceNotFoundError",
    "InstanceRunning",
    "InstanceShuttingDown",
    "InstanceState",
    "InstanceTerminated",
    "InstanceType",
    "InsufficientCapacityError",
    "Launch",
    "LaunchFailedError",
    "Offering",
    "Pool",
    "QuotaExceededError",
    "SpotInterruptionNotice",
    "catalogue",
    "node_object",
    "small_catalogue",
]
