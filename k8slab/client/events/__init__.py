"""Events: what components have to say about objects, with the repetitions folded up.

    >>> from k8slab.client.events import EventCorrelator
    >>> pod = {"kind": "Pod", "namespace": "default", "name": "web-0"}
    >>> event = {"metadata": {"name": "web-0.1"}, "involvedObject": pod, "reason": "BackOff", "count": 1}
    >>> correlator = EventCorrelator()
    >>> first, second = (correlator.correlate(event, now_ms) for now_ms in (0, 60_000))
    >>> first.patch, second.patch["count"]
    (None, 2)

Duties of the caller of `EventCorrelator`: write what `correlate` returns, then `update_state` with what the server
answered. `EventRecorder` does this in a task of its own.

Upstream: staging/src/k8s.io/client-go/tools/record
Simplified: core/v1 Events only (the events.k8s.io recorder with series is absent).
"""

from k8slab.client.events.event import EventRecorder, reference_of
from k8slab.client.events.events_cache import CorrelateResult, EventCorrelator

__all__ = ["CorrelateResult", "EventCorrelator", "EventRecorder", "reference_of"]
