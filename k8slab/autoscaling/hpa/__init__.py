"""The horizontal Pod autoscaler: how many replicas, from what is measured.

>>> from k8slab.autoscaling.hpa import HorizontalPodAutoscaler, PodFacts, PodMetric, Scale
>>> cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}}
>>> spec = {"minReplicas": 2, "maxReplicas": 20, "metrics": [{"type": "Resource", "resource": cpu}]}
>>> hpa = {"metadata": {"name": "web", "namespace": "shop"}, "spec": spec}
>>> container = {"name": "c", "resources": {"requests": {"cpu": "100m"}}}
>>> pods = [PodFacts(f"web-{n}", pod={"spec": {"containers": [container]}}) for n in range(4)]
>>> autoscaler = HorizontalPodAutoscaler()
>>> for used in (77, 78):      # 110 % of the target is within the tolerance, 111 % is not
...     usage = {pod.name: PodMetric(used) for pod in pods}
...     print(autoscaler.decide(hpa, Scale(4, 4), pods, [usage], now_ms=0).desired)
4
5

`ReplicaCalculator` turns samples into a count, `metric_specs` does so for each entry of `spec.metrics`,
`HorizontalPodAutoscaler` takes the greatest (and never goes down on missing data), `History` applies windows, policies
and bounds. All of that is plain: samples in, a `Decision` out. `HorizontalController` connects it to the API server,
`metrics` is where samples come from.

The caller's duties: see `HorizontalPodAutoscaler`; for the controller, build it before the informers are started, then
call `start()`.

Upstream: pkg/controller/podautoscaler
Simplified: see the modules.
"""

from k8slab.autoscaling.hpa.autoscaler import Computation, Decision, HorizontalPodAutoscaler, Scale, tolerances_of
from k8slab.autoscaling.hpa.conditions import Condition, Said, set_condition
from k8slab.autoscaling.hpa.horizontal import HorizontalController
from k8slab.autoscaling.hpa.metric_specs import MetricFailure, MetricsError
from k8slab.autoscaling.hpa.normalize import Behavior, Bounds, History, Normalized, Recommendation
from k8slab.autoscaling.hpa.pod_facts import CalculatorError, PodFacts, PodMetric
from k8slab.autoscaling.hpa.replica_calculator import Proposal, ReplicaCalculator, Tolerances
from k8slab.autoscaling.hpa.scaling_rules import Policy, ScaleEvent, ScalingRules, scale_down_limit, scale_up_limit

__all__ = [
    "Behavior",
    "Bounds",
    "CalculatorError",
    "Computation",
    "Condition",
    "Decision",
    "History",
    "HorizontalController",
    "HorizontalPodAutoscaler",
    "MetricFailure",
    "MetricsError",
    "Normalized",
    "PodFacts",
    "PodMetric",
    "Policy",
    "Proposal",
    "Recommendation",
    "ReplicaCalculator",
    "Said",
    "Scale",
    "ScaleEvent",
    "ScalingRules",
    "Tolerances",
    "scale_down_limit",
    "scale_up_limit",
    "set_condition",
    "tolerances_of",
]
