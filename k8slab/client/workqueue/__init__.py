"""Work queues: which key a controller works on next, and when a failed one is tried again.

    >>> from k8slab.client.workqueue import ItemExponentialFailureRateLimiter, Queue
    >>> queue = Queue()
    >>> [queue.add(key) for key in ("web", "db", "web")]
    [True, True, False]
    >>> queue.get(), queue.add("web"), queue.get(), queue.get()
    ('web', True, 'db', None)
    >>> queue.done("web")
    >>> queue.get()
    'web'
    >>> limiter = ItemExponentialFailureRateLimiter(5, 1_000_000)
    >>> [limiter.when("web") for _ in range(4)]
    [5, 10, 20, 40]

Duties of the caller: `done(key)` for every key that `get` handed out, also when the work failed; `forget(key)`
when it succeeded.

Upstream: staging/src/k8s.io/client-go/util/workqueue
Simplified: no metrics, no priorities; durations are whole milliseconds.
"""

from k8slab.client.workqueue.delaying_queue import DelayingQueue
from k8slab.client.workqueue.queue import Queue
from k8slab.client.workqueue.rate import Limiter
from k8slab.client.workqueue.rate_limiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
    WithMaxWaitRateLimiter,
    default_controller_rate_limiter,
    default_item_based_rate_limiter,
)
from k8slab.client.workqueue.rate_limiting_queue import WorkQueue

__all__ = [
    "BucketRateLimiter",
    "DelayingQueue",
    "ItemExponentialFailureRateLimiter",
    "ItemFastSlowRateLimiter",
    "Limiter",
    "MaxOfRateLimiter",
    "Queue",
    "RateLimiter",
    "WithMaxWaitRateLimiter",
    "WorkQueue",
    "default_controller_rate_limiter",
    "default_item_based_rate_limiter",
]
