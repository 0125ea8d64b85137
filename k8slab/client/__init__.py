"""The client's side of the API: reading with caches, working with queues, writing with retries.

    >>> from k8slab.client import Client, SharedInformerFactory, WorkQueue, run_workers
    >>> from k8slab.sim.component import Component
    >>> from k8slab.sim.loop import Loop
    >>> loop = Loop(seed=7)
    >>> queue = WorkQueue(loop, "web", lane="kcm/web")
    >>> async def sync(key):
    ...     print("sync", key, "at", loop.clock.now_ms, "ms")
    >>> tasks = run_workers(Component(loop, "kcm"), queue, sync)
    >>> queue.add("default/a"); queue.add_after("default/b", 50); queue.add("default/a")
    >>> loop.run(for_ms=100)
    sync default/a at 0 ms
    sync default/b at 50 ms
    True

The chain of a controller: a `Reflector` lists and watches over the `Client` and fills a FIFO; a `SharedInformer`
pops it into its `Indexer` and tells the handlers; handlers add keys to a `WorkQueue`; `run_workers` hands each key
to `sync`, which reads caches, decides, and writes. `ControllerExpectations` and `ConsistencyStore` keep a sync from
acting on a cache that has not seen the controller's own writes.

Duties of the caller: handlers never await; objects out of caches are read-only; every key that `WorkQueue.get` hands
out gets its `done`; indexes and handlers are added before `start()`.

Upstream: staging/src/k8s.io/client-go (tools/cache, util/workqueue, util/retry, util/flowcontrol, tools/record),
pkg/controller/controller_utils.go
Simplified: no leader election, no metrics, no discovery, no typed clients a kind.
"""

import k8slab.client.kinds  # noqa: F401  (adds the rows of this package to the table of event kinds)
from k8slab.client.client import Client
from k8slab.client.consistency_store import ConsistencyError, ConsistencyStore, NoopConsistencyStore
from k8slab.client.delta import DeletedFinalStateUnknown, Delta, DeltaType
from k8slab.client.delta_fifo import DeltaFIFO
from k8slab.client.events import EventCorrelator, EventRecorder
from k8slab.client.expectations import ControllerExpectations, UIDTrackingExpectations
from k8slab.client.indexer import Indexer
from k8slab.client.real_fifo import RealFIFO
from k8slab.client.reflector import Reflector, ReflectorOptions
from k8slab.client.retry import DEFAULT_BACKOFF, DEFAULT_RETRY, on_error, retry_on_conflict
from k8slab.client.shared_informer import SharedInformer, SharedInformerFactory, fifo_kind
from k8slab.client.simulated_http import HTTPHandler, SimulatedHTTP
from k8slab.client.wait import Backoff
from k8slab.client.workers import is_retriable, run_workers
from k8slab.client.workqueue import WorkQueue

__all__ = [
    "DEFAULT_BACKOFF",
    "DEFAULT_RETRY",
    "Backoff",
    "Client",
    "ConsistencyError",
    "ConsistencyStore",
    "ControllerExpectations",
    "DeletedFinalStateUnknown",
    "Delta",
    "DeltaFIFO",
    "DeltaType",
    "EventCorrelator",
    "EventRecorder",
    "HTTPHandler",
    "Indexer",
    "NoopConsistencyStore",
    "RealFIFO",
    "Reflector",
    "ReflectorOptions",
    "SharedInformer",
    "SharedInformerFactory",
    "SimulatedHTTP",
    "UIDTrackingExpectations",
    "WorkQueue",
    "fifo_kind",
    "is_retriable",
    "on_error",
    "retry_on_conflict",
    "run_workers",
]
