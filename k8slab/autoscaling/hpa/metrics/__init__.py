"""Where an autoscaler's numbers come from, and how old they are when it sees them.

>>> from k8slab.autoscaling.hpa.metrics import ContainerPoint, Points
>>> points = Points(resolution_ms=15_000)
>>> for second, core_ms in ((0, 0), (15, 1_500)):
...     points.store({("shop", "web"): {"c": ContainerPoint(1000 * second, -60_000, core_ms * 10**6, memory=0)}})
>>> points.usage("shop", "web").containers["c"].cpu_milli
100

Kubelets count CPU time; the metrics server (`MetricsServer`) reads it every 15 s and makes rates of two readings;
`metrics.k8s.io` serves them. `CustomMetrics` and `ExternalMetrics` are adapters for the other two groups. An APIService
decides who serves a group (`k8slab.apiserver.Aggregator`); `RESTMetricsClient` asks there, `fetch` gathers what the
entries of `spec.metrics` need. What cannot be had is an error, never a zero.

The caller's duties: connect a server behind a Service, create its APIService, then `start()` the metrics server.

Upstream: pkg/controller/podautoscaler/metrics
Simplified: see the modules.
"""

from k8slab.autoscaling.hpa.metrics.adapters import CustomMetrics, ExternalMetrics
from k8slab.autoscaling.hpa.metrics.client import MetricsClient, RESTMetricsClient, fetch
from k8slab.autoscaling.hpa.metrics.points import ContainerPoint, PodUsage, Points, Usage
from k8slab.autoscaling.hpa.metrics.server import MetricsServer

__all__ = [
    "ContainerPoint",
    "CustomMetrics",
    "ExternalMetrics",
    "MetricsClient",
    "MetricsServer",
    "PodUsage",
    "Points",
    "RESTMetricsClient",
    "Usage",
    "fetch",
]
