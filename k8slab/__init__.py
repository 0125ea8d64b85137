"""k8slab: how Kubernetes works inside.

A simulated cluster whose every mechanism is a small class you can use alone, on one virtual clock, from one seed.

>>> from k8slab import Cluster
>>> cluster = Cluster(nodes=3, seed=7)
>>> print(cluster.get("nodes"))
NAME     STATUS   ROLES    AGE   VERSION
node-1   Ready    <none>   0s    v1.36.2
node-2   Ready    <none>   0s    v1.36.2
node-3   Ready    <none>   0s    v1.36.2
>>> cluster.close()

Names here are loaded when they are first used, so that `import k8slab` stays quick.

Simplified: see the package of each mechanism; every module says what it leaves out.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from k8slab.apiserver import APIServer
    from k8slab.autoscaling import HorizontalPodAutoscaler
    from k8slab.client import Client, SharedInformer, WorkQueue
    from k8slab.cluster import Cluster
    from k8slab.etcd import Store
    from k8slab.kubelet import EvictionManager
    from k8slab.scheduler import Framework, Scheduler
    from k8slab.sim import Loop, Recording, Trace
    from k8slab.table import Table
    from k8slab.widgets import Quiz, Stepper

__version__ = "0.1.0"
"""The version of the package, as in pyproject.toml."""

_HOME = {
    "APIServer": "k8slab.apiserver",
    "Client": "k8slab.client",
    "Cluster": "k8slab.cluster",
    "EvictionManager": "k8slab.kubelet",
    "Framework": "k8slab.scheduler",
    "HorizontalPodAutoscaler": "k8slab.autoscaling",
    "Loop": "k8slab.sim",
    "Quiz": "k8slab.widgets",
    "Recording": "k8slab.sim",
    "Scheduler": "k8slab.scheduler",
    "SharedInformer": "k8slab.client",
    "Stepper": "k8slab.widgets",
    "Store": "k8slab.etcd",
    "Table": "k8slab.table",
    "Trace": "k8slab.sim",
    "WorkQueue": "k8slab.client",
}

__all__ = [
    "APIServer",
    "Client",
    "Cluster",
    "EvictionManager",
    "Framework",
    "HorizontalPodAutoscaler",
    "Loop",
    "Quiz",
    "Recording",
    "Scheduler",
    "SharedInformer",
    "Stepper",
    "Store",
    "Table",
    "Trace",
    "WorkQueue",
    "__version__",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'k8slab' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
