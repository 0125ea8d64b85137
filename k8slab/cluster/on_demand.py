"""Controllers that start with the first object they are about, since most runs have none.

Upstream: none; there they run from the start
Simplified: what such a controller would do before its first object exists, list and watch, is not in the trace.
"""

from __future__ import annotations

from collections.abc import Callable

from k8slab.apiserver.storage import KeyLayout, prefix_end
from k8slab.etcd import Store

__all__ = ["AUTOSCALED", "ON_DEMAND", "FirstObject"]

ON_DEMAND = {"resourcequota-controller": "resourcequotas"}
"""The controller's name, and the resource whose first object starts it."""

AUTOSCALED = {"horizontal-pod-autoscaler-controller": "horizontalpodautoscalers.autoscaling"}
"""The same of the autoscaler of Pods; with it starts a metrics server."""


class FirstObject:
    """Calls `start(name)` once, when the first object of a controller's resource is committed. `wanted`: the names of
    those that were called for."""

    def __init__(self, store: Store, layout: KeyLayout, start: Callable[[str], None]) -> None:
        self.wanted: list[str] = []
        self._start = start
        for name, resource in (ON_DEMAND | AUTOSCALED).items():
            prefix = layout.resource_prefix(resource)
            watcher = store.watch(prefix.encode(), prefix_end(prefix), start_revision=1)
            watcher.pending.clear()
            watcher.on_ready = lambda name=name, watcher=watcher: self._seen(name, watcher.cancel)

    def _seen(self, name: str, cancel: Callable[[], None]) -> None:
        if name not in self.wanted:
            self.wanted.append(name)
            self._start(name)
