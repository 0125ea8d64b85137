"""What objects count for in a ResourceQuota: who counts what, in which scope, and the sum over a namespace.

>>> from k8slab.api.quota import evaluator_of, printed
>>> web = {"resources": {"requests": {"cpu": "250m"}, "limits": {"memory": "1Gi"}}}
>>> pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "web", **web}]}}
>>> printed(evaluator_of("pods").usage(pod, now_ms=0))
'count/pods=1,cpu=250m,limits.memory=1Gi,pods=1,requests.cpu=250m'
>>> printed(evaluator_of("configmaps").usage({}, now_ms=0))
'configmaps=1,count/configmaps=1'

Admission adds what a write would cost and compares; the quota controller counts everything anew. Both use this package.

Upstream: pkg/quota/v1/evaluator/core, apiserver/pkg/quota/v1
Simplified: devices of ResourceClaims are not counted by device class.
"""

from k8slab.api.quota.evaluators import (
    IGNORED,
    Evaluator,
    calculate_usage,
    evaluator_of,
    evaluators_for,
    matches,
    scope_selectors,
)
from k8slab.api.quota.pods import PodEvaluator, is_terminating, quota_counts_pod
from k8slab.api.quota.resource_lists import (
    add,
    equal,
    exceeded,
    mask,
    negative,
    printed,
    subtract_non_negative,
    texts,
    without_zeros,
)

__all__ = [
    "IGNORED",
    "Evaluator",
    "PodEvaluator",
    "add",
    "calculate_usage",
    "equal",
    "evaluator_of",
    "evaluators_for",
    "exceeded",
    "is_terminating",
    "mask",
    "matches",
    "negative",
    "printed",
    "quota_counts_pod",
    "scope_selectors",
    "subtract_non_negative",
    "texts",
    "without_zeros",
]
