"""Taint eviction: NoExecute taints send Pods away, at once or after their tolerationSeconds.

    >>> from k8slab.controllers.taint_eviction import TimedWorkerQueue, decide
    >>> decide([{"key": "maintenance", "effect": "NoExecute"}], [{"key": "maintenance", "operator": "Exists"}])[2]
    -1
    >>> work = TimedWorkerQueue()
    >>> work.add_work("default/web-0", created_ms=0, fire_ms=5000), work.due("default/web-0", now_ms=2000)
    (True, 3000)
    >>> work.cancel_work("default/web-0"), work.due("default/web-0", now_ms=5000)
    (True, None)

`decide` is the rule, `TimedWorkerQueue` remembers who goes when, `TaintEvictionController` watches and deletes.

Upstream: pkg/controller/tainteviction (a controller of its own since 1.29)
Simplified: see `controller`; no metrics.
"""

from k8slab.controllers.taint_eviction.controller import TaintEvictionController
from k8slab.controllers.taint_eviction.decision import Decision, decide
from k8slab.controllers.taint_eviction.timed_workers import TimedWorker, TimedWorkerQueue

__all__ = ["Decision", "TaintEvictionController", "TimedWorker", "TimedWorkerQueue", "decide"]
