"""What a cluster starts when something is to be autoscaled: the HPA controller, and a metrics server.

Upstream: cmd/kube-controller-manager/app/autoscaling.go, kubernetes-sigs/metrics-server (its manifests)
Simplified: both begin with the first HorizontalPodAutoscaler that is stored, not with the cluster, so that a cluster
without one has nothing to do with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from k8slab.api.errors import AlreadyExistsError, StatusError
from k8slab.api.objects import Object
from k8slab.api.scheme import NODES, PODS, SERVICES
from k8slab.apiserver import APISERVICES
from k8slab.client import Client, SharedInformerFactory, fifo_kind
from k8slab.cluster.process import Process
from k8slab.controllers import Controller, ControllerContext
from k8slab.sim import Component, sleep

if TYPE_CHECKING:
    from k8slab.autoscaling.hpa.metrics import MetricsServer
    from k8slab.cluster.control_plane import ControlPlane

__all__ = ["AUTOSCALERS", "METRICS_SERVER", "metrics_server"]

ControllerFactory: TypeAlias = Callable[[ControllerContext], Controller]


def _horizontal(context: ControllerContext) -> Controller:
    from k8slab.autoscaling.hpa import HorizontalController  # only where something is autoscaled: imports stay quick

    return HorizontalController(context)


AUTOSCALERS: dict[str, ControllerFactory] = {"horizontal-pod-autoscaler-controller": _horizontal}
"""Controllers that run once there is something for them."""

METRICS_SERVER = "metrics-server"
_SERVICE = f"kube-system/{METRICS_SERVER}"
_RETRY_MS = 1_000
_MANIFESTS: tuple[tuple[Any, dict[str, Any]], ...] = (
    (
        SERVICES,
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": METRICS_SERVER, "namespace": "kube-system", "labels": {"k8s-app": METRICS_SERVER}},
            "spec": {"selector": {"k8s-app": METRICS_SERVER}, "ports": [{"name": "https", "port": 443}]},
        },
    ),
    (
        APISERVICES,
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v1beta1.metrics.k8s.io"},
            "spec": {
                "group": "metrics.k8s.io",
                "version": "v1beta1",
                "service": {"name": METRICS_SERVER, "namespace": "kube-system"},
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
            },
        },
    ),
)

Scrape: TypeAlias = Callable[[int], Mapping[str, Any]]


def metrics_server(plane: ControlPlane, scrape: Scrape) -> Process:
    """The process of a metrics server that registers itself. `scrape`: reads all nodes."""
    from k8slab.autoscaling.hpa.metrics import MetricsServer

    def build(component: Component) -> MetricsServer:
        client = plane.client(component.name, f"system:serviceaccount:kube-system:{component.name}")
        informers = SharedInformerFactory(plane.loop, component, client, fifo=fifo_kind(plane.features))
        pods, nodes = informers.informer(PODS), informers.informer(NODES)
        resolution_ms = plane.options.get("metric-resolution-ms", 15_000)
        more: dict[str, Any] = {"resolution_ms": resolution_ms, "node_source": nodes.indexer}
        server = MetricsServer(plane.loop, component, pods.indexer, scrape, **more)
        for one in plane.servers:
            one.aggregator.connect(_SERVICE, server)
            component.on_close(lambda one=one: one.aggregator.disconnect(_SERVICE))  # type: ignore[misc]
        informers.start()
        component.spawn("register", _register(client))
        server.start()
        return server

    return Process(plane.loop, METRICS_SERVER, build)


async def _register(client: Client) -> None:
    """Create the Service and the APIService, unless they are there."""
    for resource, manifest in _MANIFESTS:
        while not await _created(client, resource, manifest):
            await sleep(_RETRY_MS)


async def _created(client: Client, resource: Any, manifest: Object) -> bool:
    try:
        await client.create(resource, {**manifest, "metadata": dict(manifest["metadata"])})
    except AlreadyExistsError:
        return True
    except (StatusError, TimeoutError):
        return False
    return True
