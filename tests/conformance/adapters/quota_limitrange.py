"""LimitRanger, quota usage, quota admission and default tolerations, each as the plugin does it."""

from __future__ import annotations

from typing import Any

from k8slab.api.defaults import apply_defaults
from k8slab.api.errors import StatusError
from k8slab.api.labels import AggregateError
from k8slab.api.quota import evaluator_of, texts
from k8slab.api.times import parse_time
from k8slab.apiserver.admission import Chain, Objects
from k8slab.apiserver.admission.default_toleration_seconds import DefaultTolerationSeconds
from k8slab.apiserver.admission.limit_ranger import ANNOTATION, mutate_pod, validate_pod
from k8slab.apiserver.admission.resource_quota import check_request

Json = Any
RESOURCES = {"Pod": "pods", "Service": "services", "PersistentVolumeClaim": "persistentvolumeclaims"}


def run(given: Json) -> Json:
    return {"limitrange": _limits, "podusage": _usage, "quota": _quota, "tolerations": _tolerations}[given["op"]](given)


def _pod(obj: Json) -> Json:
    return apply_defaults({"apiVersion": "v1", "kind": "Pod", **obj})


def _limits(given: Json) -> Json:
    limit_range = {"spec": {"limits": given["limits"]}}
    pod = mutate_pod(limit_range, _pod(given["pod"]))
    spec = pod["spec"]
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    problems = validate_pod(limit_range, pod)
    return {
        "annotation": (pod["metadata"].get("annotations") or {}).get(ANNOTATION, ""),
        "mutateError": None,
        "resources": {
            c["name"]: {k: (c.get("resources") or {}).get(k) or {} for k in ("limits", "requests")} for c in containers
        },
        "validateError": str(AggregateError(problems)) if problems else None,
    }


def _usage(given: Json) -> Json:
    usage = evaluator_of("pods").usage(_pod(given["pod"]), parse_time(given["now"]))
    return {"error": None, "usage": texts(usage)}


def _quota(given: Json) -> Json:
    """The driver names every object `p` in the namespace `ns` in its request."""
    kind = given["kind"]
    obj = {"apiVersion": "v1", "kind": kind, **given["object"]}
    obj = apply_defaults(obj) if kind == "Pod" else obj
    quotas = [_with_namespace({"apiVersion": "v1", "kind": "ResourceQuota", **quota}) for quota in given["quotas"]]
    objects = Objects()
    attributes = objects.attributes(RESOURCES[kind], obj, namespace="ns", name="p")
    try:
        after = check_request(quotas, attributes)
    except StatusError as error:
        return {"error": error.message, "used": {}}
    return {
        "error": None,
        "used": {quota["metadata"]["name"]: (quota.get("status") or {}).get("used") or {} for quota in after},
    }


def _with_namespace(quota: Json) -> Json:
    return {**quota, "metadata": {"namespace": "ns", **quota["metadata"]}}


def _tolerations(given: Json) -> Json:
    objects = Objects()
    chain = Chain([DefaultTolerationSeconds()], objects)
    stage = next(objects.passage(chain, "pods", {"kind": "Pod", **given["pod"]}, namespace="ns"))
    return {"error": None, "tolerations": (stage.object or {})["spec"]["tolerations"]}
