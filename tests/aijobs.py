"""Clusters with the AIJob operator and the predictive scheduler, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from k8slab.api.ai_jobs import SIGNATURE, job_uid
from k8slab.cluster import Cluster
from k8slab.controllers.aijob import AIJobOperator
from k8slab.kubelet import NodeConfig
from k8slab.scheduler import Scheduler
from k8slab.scheduler.plugins.predictive import PredictivePlugin

__all__ = ["PROFILE", "ai_cluster", "aijob", "derived", "gpu_profile", "plugin_of"]

PROFILE: dict[str, Any] = {
    "plugins": {
        "queueSort": {"disabled": [{"name": "PrioritySort"}]},
        "multiPoint": {"enabled": [{"name": "PredictivePlugin", "weight": 5}]},
    }
}


def ai_cluster(
    nodes: int = 2, *, gpus: int = 4, predict_ms: int = 50, registry: dict[str, Any] | None = None, **options: Any
) -> Cluster:
    """Nodes with GPUs. `registry`: what to use for PredictivePlugin."""
    extended = {"nvidia.com/gpu": str(gpus)}
    configs = [NodeConfig(f"node-{n}", internal_ip=f"10.0.0.{n}", extended=extended) for n in range(1, nodes + 1)]
    plugins = registry or {"PredictivePlugin": PredictivePlugin}
    return Cluster(
        nodes=configs,
        scheduler=partial(Scheduler, profiles=[PROFILE], registry=plugins),
        operators={"aijob-operator": partial(AIJobOperator, predict_ms=predict_ms)},
        **options,
    )


def aijob(name: str, model: str = "resnet50", *, replicas: int = 1, batch: int = 64, **spec: Any) -> dict[str, Any]:
    """An AIJob of workers with one GPU each. `annotations` go to its metadata."""
    annotations = spec.pop("annotations", {})
    described = {"model": model, "batchSize": batch, "gpu": {"type": "a100", "count": 1}, "replicas": replicas}
    return {
        "apiVersion": "ai.k8slab.dev/v1",
        "kind": "AIJob",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {**described, **spec},
    }


def gpu_profile(node: str, utilization: int = 0, island: int = 4, colocated: Sequence[str] = ()) -> dict[str, Any]:
    return {
        "apiVersion": "ai.k8slab.dev/v1",
        "kind": "NodeGpuProfile",
        "metadata": {"name": node},
        "spec": {"nvlinkIslandSize": island},
        "status": {"gpuUtilizationPercent": utilization, "colocatedJobSignatures": list(colocated)},
    }


def plugin_of(cluster: Cluster) -> PredictivePlugin:
    (framework,) = cluster.control_plane.scheduler.program.frameworks.values()
    found = framework.plugins["PredictivePlugin"]
    assert isinstance(found, PredictivePlugin)
    return found


def derived(cluster: Cluster) -> dict[str, dict[str, str]]:
    """What the ledger should be: the workers that count in the scheduler's cache, assumed ones included."""
    cache = cluster.control_plane.scheduler.program.cache
    found: dict[str, dict[str, str]] = {}
    for name in sorted(cache.view()["nodes"]):
        pods = sorted(cache.node(name).pods.values(), key=lambda info: info.uid)
        workers = {p.uid: p.pod["metadata"]["annotations"][SIGNATURE] for p in pods if job_uid(p.pod) is not None}
        if workers:
            found[name] = workers
    return found
