"""How long a job will run, and how much of its speed it keeps beside another: from its description alone.

>>> features = Features("resnet50", 256, "a100", gpus=1, replicas=2, checkpoint_seconds=600)
>>> predict(features).runtime_seconds, job_signature(features)
(4433, 'vision-large')

A stand-in for a trained model, as small as keeps what matters to a scheduler: whole numbers, the same answer for the
same description, worse answers for what it does not know. Work is samples times the time of one; interference is how
sensitive a job is times how hard its neighbour presses on memory and links.

Upstream: none. Spec: the source's design (features in, runtime and interference out, off the scheduler's path)
Simplified: the figures of models and GPUs are round ones for teaching, not measurements.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from k8slab.api.ai_jobs import Prediction
from k8slab.api.objects import Object

__all__ = ["SIGNATURES", "Features", "features_of", "job_signature", "predict", "retention"]

LARGE_BATCH = 256
CHECKPOINT_SECONDS = 20


class Features(NamedTuple):
    """What a prediction depends on. `gpus`: of each worker; `checkpoint_seconds`: between two, 0 for none."""

    model: str
    batch_size: int
    gpu_type: str
    gpus: int
    replicas: int
    checkpoint_seconds: int


class _Model(NamedTuple):
    kind: str
    samples: int
    sample_us: int
    step_us: int


class _Kind(NamedTuple):
    """`sensitivity`, `pressure`: percent."""

    sensitivity: int
    pressure: int


_MODELS = {
    "resnet50": _Model("vision", 25_000_000, 320, 6_000),
    "vit-large": _Model("vision", 25_000_000, 900, 8_000),
    "bert-large": _Model("language", 40_000_000, 700, 12_000),
    "llama-7b": _Model("language", 60_000_000, 2_500, 30_000),
    "dlrm": _Model("recommender", 400_000_000, 20, 3_000),
}
_OTHER = _Model("other", 100_000_000, 3_000, 30_000)

_KINDS = {
    "vision": _Kind(sensitivity=25, pressure=40),
    "language": _Kind(sensitivity=40, pressure=70),
    "recommender": _Kind(sensitivity=60, pressure=80),
    "other": _Kind(sensitivity=80, pressure=80),
}
_LARGE_BATCH_PRESSURE = 20

_SPEED = {"h100": 200, "a100": 100, "v100": 45, "t4": 15}
_SLOWEST = 15

SIGNATURES = tuple(f"{kind}-{size}" for kind in _KINDS for size in ("small", "large"))
"""Every signature there is: kinds of model, with small or large batches."""


def features_of(job: Object) -> Features:
    """The features of an AIJob whose spec has no problems."""
    spec: dict[str, Any] = job["spec"]
    return Features(
        spec["model"],
        spec["batchSize"],
        spec["gpu"]["type"],
        spec["gpu"]["count"],
        spec["replicas"],
        (spec.get("checkpoint") or {}).get("intervalSeconds", 0),
    )


def job_signature(features: Features) -> str:
    """Jobs with the same signature disturb others alike."""
    kind = _MODELS.get(features.model, _OTHER).kind
    return f"{kind}-{'large' if features.batch_size >= LARGE_BATCH else 'small'}"


def retention(own: str, other: str) -> int:
    """The percent of its speed that a job of signature `own` keeps beside one of signature `other`.

    >>> retention("vision-small", "vision-small"), retention("recommender-small", "language-large")
    (90, 46)
    """
    kind, size = other.rsplit("-", 1)
    pressure = _KINDS[kind].pressure + (_LARGE_BATCH_PRESSURE if size == "large" else 0)
    return 100 - _KINDS[own.rsplit("-", 1)[0]].sensitivity * pressure // 100


def predict(features: Features, min_retention: int = 80) -> Prediction:
    """The prediction for a job. `min_retention`: what its owner asked for; it is passed on."""
    model = _MODELS.get(features.model, _OTHER)
    steps = -(-model.samples // features.batch_size)
    step_us = model.step_us + features.batch_size * model.sample_us
    speed = _SPEED.get(features.gpu_type, _SLOWEST) * features.gpus * features.replicas
    seconds = steps * step_us * 100 // speed // 1_000_000
    if features.checkpoint_seconds:
        seconds += seconds // features.checkpoint_seconds * CHECKPOINT_SECONDS
    own = job_signature(features)
    return Prediction(seconds, own, min_retention, {other: retention(own, other) for other in SIGNATURES})
