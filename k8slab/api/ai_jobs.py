"""AIJobs, what is predicted of them, and what is known of a node's GPUs: three custom kinds, and how to read them.

The operator (`k8slab.controllers.aijob`) writes what the scheduler plugin (`k8slab.scheduler.plugins.predictive`)
reads. They share these names and nothing else.

    AIJob             what a user asks for: model, batch size, GPUs, workers
    PredictionResult  status: how long it will run, and what share of its speed it keeps beside which other jobs
    NodeGpuProfile    named as its node; spec: how its GPUs are joined; status: how busy they are, and by what

Shares are whole percents: API conventions keep floating point out of specs, and two decimals of a share are exact.

Upstream: none. Spec: the API conventions of sig-architecture (spec and status, no floating point)
Simplified: the definitions carry no schema; whoever reads an object checks it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.api.quantity import quantity
from k8slab.api.scheme import GVK, GVR, definition_of

__all__ = [
    "AIJOB",
    "AIJOBS",
    "DEFINITIONS",
    "GPU_RESOURCE",
    "NODEGPUPROFILES",
    "NODE_GPU_PROFILE",
    "PREDICTIONRESULTS",
    "PREDICTION_RESULT",
    "QAD",
    "SIGNATURE",
    "UNKNOWN",
    "GpuProfile",
    "Prediction",
    "job_problems",
    "job_uid",
    "read_gpu_profile",
    "read_prediction",
    "signature_of",
]

GROUP = "ai.k8slab.dev"
AIJOB = GVK(GROUP, "v1", "AIJob")
PREDICTION_RESULT = GVK(GROUP, "v1", "PredictionResult")
NODE_GPU_PROFILE = GVK(GROUP, "v1", "NodeGpuProfile")
AIJOBS = GVR(GROUP, "v1", "aijobs")
PREDICTIONRESULTS = GVR(GROUP, "v1", "predictionresults")
NODEGPUPROFILES = GVR(GROUP, "v1", "nodegpuprofiles")

SIGNATURE = f"{GROUP}/job-signature"
"""The annotation of a worker Pod with the signature of its job: jobs of one signature disturb others alike."""

QAD = f"{GROUP}/qad"
"""The annotation of a Namespace that says how much more than its share the tenant has: whole number, low is served
first."""

UNKNOWN = "unknown"
"""The signature of a Pod that has none."""

GPU_RESOURCE = "nvidia.com/gpu"

DEFINITIONS = (
    definition_of(AIJOB, AIJOBS, "Namespaced"),
    definition_of(PREDICTION_RESULT, PREDICTIONRESULTS, "Namespaced"),
    definition_of(NODE_GPU_PROFILE, NODEGPUPROFILES, "Cluster"),
)
"""The CustomResourceDefinitions of the three kinds."""


# -- AIJob -----------------------------------------------------------------------------------------


def job_problems(spec: Any) -> list[str]:
    """What is wrong with the spec of an AIJob: field, value, what was expected. Empty: nothing.

    >>> job_problems({"model": "bert-large", "batchSize": 0, "gpu": {"type": "a100", "count": 1}, "replicas": 2})
    ['spec.batchSize: 0: expected a whole number from 1 to 1000000']
    """
    if not isinstance(spec, Mapping):
        return [f"spec: {spec!r}: expected a mapping"]
    gpu, checkpoint = spec.get("gpu"), spec.get("checkpoint", {})
    problems = [
        _text("spec.model", spec.get("model")),
        _whole("spec.batchSize", spec.get("batchSize"), 1, 1_000_000),
        _whole("spec.replicas", spec.get("replicas"), 1, 1_000),
        _whole("spec.minRetentionPercent", spec.get("minRetentionPercent", 80), 0, 100),
    ]
    if isinstance(gpu, Mapping):
        problems += [_text("spec.gpu.type", gpu.get("type")), _whole("spec.gpu.count", gpu.get("count"), 1, 16)]
    else:
        problems.append(f"spec.gpu: {gpu!r}: expected a mapping with type and count")
    if not isinstance(checkpoint, Mapping):
        problems.append(f"spec.checkpoint: {checkpoint!r}: expected a mapping with intervalSeconds")
    elif "intervalSeconds" in checkpoint:
        problems.append(_whole("spec.checkpoint.intervalSeconds", checkpoint["intervalSeconds"], 1, 10_000_000))
    problems += [_text(f"spec.{name}", spec[name]) for name in ("priorityClassName", "schedulerName") if name in spec]
    return [*filter(None, problems), *_resource_problems(spec.get("resources", {}))]


def _resource_problems(resources: Any) -> list[str]:
    if not isinstance(resources, Mapping):
        return [f"spec.resources: {resources!r}: expected a mapping with cpu and memory"]
    problems = []
    for name, amount in resources.items():
        if name not in ("cpu", "memory"):
            problems.append(f"spec.resources.{name}: {amount!r}: expected cpu or memory only")
            continue
        try:
            quantity(amount)
        except (ValueError, TypeError):
            problems.append(f"spec.resources.{name}: {amount!r}: expected a quantity such as 4 or 16Gi")
    return problems


def job_uid(pod: Object) -> str | None:
    """The uid of the AIJob that a Pod works for; None: for none."""
    for owner in pod["metadata"].get("ownerReferences") or ():
        if owner.get("controller") and owner.get("kind") == AIJOB.kind and owner.get("apiVersion") == AIJOB.api_version:
            uid: str = owner["uid"]
            return uid
    return None


def signature_of(pod: Object) -> str:
    """What the Pod itself says of its job."""
    signature: str = (pod["metadata"].get("annotations") or {}).get(SIGNATURE) or UNKNOWN
    return signature


# -- PredictionResult and NodeGpuProfile -----------------------------------------------------------


class Prediction(NamedTuple):
    """`interference`: by signature of another job, the percent of its speed that this one keeps beside it."""

    runtime_seconds: int
    signature: str
    min_retention: int
    interference: Mapping[str, int]


class GpuProfile(NamedTuple):
    """`utilization`: percent; `colocated`: signatures that were seen on it; `island`: GPUs joined by fast links."""

    utilization: int
    colocated: tuple[str, ...]
    island: int


def read_prediction(result: Object) -> Prediction:
    """The status of a PredictionResult. ValueError names field, value and what was expected."""
    status = result.get("status") or {}
    interference = status.get("interferenceProfile")
    problems = [
        _whole("status.runtimeSeconds", status.get("runtimeSeconds"), 0, 1_000_000_000),
        _text("status.jobSignature", status.get("jobSignature")),
        _whole("status.minRetentionPercent", status.get("minRetentionPercent"), 0, 100),
    ]
    if isinstance(interference, Mapping):
        problems += [_whole(f"status.interferenceProfile.{name}", n, 0, 100) for name, n in interference.items()]
    else:
        problems.append(f"status.interferenceProfile: {interference!r}: expected percents by signature")
    _raise_first(problems)
    return Prediction(
        status["runtimeSeconds"], status["jobSignature"], status["minRetentionPercent"], dict(interference or {})
    )


def read_gpu_profile(profile: Object) -> GpuProfile:
    """Spec and status of a NodeGpuProfile; what is missing is 0, none, 1. ValueError as for predictions."""
    status, spec = profile.get("status") or {}, profile.get("spec") or {}
    utilization, colocated = status.get("gpuUtilizationPercent", 0), status.get("colocatedJobSignatures", [])
    island = spec.get("nvlinkIslandSize", 1)
    problems = [
        _whole("status.gpuUtilizationPercent", utilization, 0, 100),
        _whole("spec.nvlinkIslandSize", island, 1, 1_000),
    ]
    if not isinstance(colocated, list) or not all(isinstance(one, str) for one in colocated):
        problems.append(f"status.colocatedJobSignatures: {colocated!r}: expected a list of texts")
    _raise_first(problems)
    return GpuProfile(utilization, tuple(colocated), island)


def _raise_first(problems: list[str]) -> None:
    for problem in filter(None, problems):
        raise ValueError(problem)


def _whole(field: str, value: Any, least: int, most: int) -> str:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        return f"{field}: {value!r}: expected a whole number from {least} to {most}"
    return ""


_WORD = re.compile(r"[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?")


def _text(field: str, value: Any) -> str:
    if not isinstance(value, str) or not _WORD.fullmatch(value):
        return f"{field}: {value!r}: expected lower case letters, digits, '-' and '.', at most 63 characters"
    return ""
