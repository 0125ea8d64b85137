"""What every floor knows about API objects: their names, their text forms, and the rules that several floors share.

Objects are the dicts that users write in YAML. What a server or a cache hands out is `Frozen`: read it, and `thaw` it
before you change it. Everything here is a plain function or a small immutable value; nothing waits, and nothing knows
a clock.

>>> from k8slab.api import Quantity, parse_selector, pod_requests, qos_class
>>> str(Quantity.parse("1.5Gi") + Quantity.parse("512Mi"))
'2Gi'
>>> parse_selector("app in (web, db), tier!=front").matches({"app": "web"})
True
>>> pod = {"metadata": {}, "spec": {"containers": [{"resources": {"requests": {"cpu": "250m"}}}] * 2}}
>>> pod_requests(pod)["cpu"].milli_value(), qos_class(pod)
(500, 'Burstable')

Duties of the caller: selectors, node affinities and quantities are parsed once and used often (parsing texts is
remembered, parsing objects is not); a ValueError carries upstream's text without the field it came from, so whoever
reads a manifest adds that; quantities are int64 where upstream's are, and wrap round where it does.

Simplified: see each module; here rules stand without the machinery around them (protobuf, code generation, internal
versions).
"""

from __future__ import annotations

from k8slab.api.errors import Cause, StatusError
from k8slab.api.features import FeatureGates
from k8slab.api.fields import FieldSelector, parse_field_selector
from k8slab.api.labels import EVERYTHING, NOTHING, Requirement, Selector, parse_selector, selector_from_dict
from k8slab.api.names import fnv32a, generate_name, safe_encode
from k8slab.api.node_affinity import NodeSelector, PreferredSchedulingTerms, required_node_affinity
from k8slab.api.objects import Frozen, FrozenList, Object, freeze, key_of, thaw
from k8slab.api.pod_requests import pod_limits, pod_requests
from k8slab.api.pods import get_condition, is_pod_active, is_pod_available, is_pod_ready, is_pod_terminal
from k8slab.api.qos import compute_qos_class, oom_score_adj, qos_class
from k8slab.api.quantity import Quantity, milli_value
from k8slab.api.scheme import GVK, GVR
from k8slab.api.times import micro_time, parse_time, rfc3339
from k8slab.api.tolerations import (
    find_matching_untolerated_taint,
    matching_tolerations,
    min_toleration_seconds,
    tolerates,
)

__all__ = [
    "EVERYTHING",
    "GVK",
    "GVR",
    "NOTHING",
    "Cause",
    "FeatureGates",
    "FieldSelector",
    "Frozen",
    "FrozenList",
    "NodeSelector",
    "Object",
    "PreferredSchedulingTerms",
    "Quantity",
    "Requirement",
    "Selector",
    "StatusError",
    "compute_qos_class",
    "find_matching_untolerated_taint",
    "fnv32a",
    "freeze",
    "generate_name",
    "get_condition",
    "is_pod_active",
    "is_pod_available",
    "is_pod_ready",
    "is_pod_terminal",
    "key_of",
    "matching_tolerations",
    "micro_time",
    "milli_value",
    "min_toleration_seconds",
    "oom_score_adj",
    "parse_field_selector",
    "parse_selector",
    "parse_time",
    "pod_limits",
    "pod_requests",
    "qos_class",
    "required_node_affinity",
    "rfc3339",
    "safe_encode",
    "selector_from_dict",
    "thaw",
    "tolerates",
]
