"""The predictor: whole numbers from arithmetic, the same answer for the same job, worse ones for the unknown."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k8slab.controllers.aijob.predictor import SIGNATURES, Features, features_of, job_signature, predict, retention
from tests.aijobs import aijob

BERT = Features("bert-large", 100, "a100", gpus=1, replicas=1, checkpoint_seconds=0)
# 40,000,000 samples in steps of 100: 400,000 steps of 12 ms + 100 * 0.7 ms = 82 ms.
BERT_SECONDS = 32_800


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        ({}, BERT_SECONDS),
        ({"gpu_type": "h100"}, BERT_SECONDS // 2),
        ({"gpus": 2, "replicas": 4}, BERT_SECONDS // 8),
        ({"checkpoint_seconds": 1_000}, BERT_SECONDS + 32 * 20),
        ({"gpu_type": "t4"}, BERT_SECONDS * 100 // 15),
        ({"gpu_type": "abacus"}, BERT_SECONDS * 100 // 15),
        ({"model": "never-seen"}, 1_000_000 * (30_000 + 100 * 3_000) // 1_000_000),
    ],
    ids=["as it is", "twice as fast", "eight GPUs", "32 checkpoints of 20 s", "slow", "unknown GPU", "unknown model"],
)
def test_the_runtime_is_steps_times_their_time_over_the_gpus(changes: dict[str, Any], seconds: int) -> None:
    assert predict(BERT._replace(**changes)).runtime_seconds == seconds


@pytest.mark.parametrize(
    ("own", "other", "kept"),
    [
        ("vision-small", "vision-small", 90),  # 100 - 25 * 40 / 100
        ("vision-small", "vision-large", 85),  # 100 - 25 * 60 / 100
        ("language-small", "language-small", 72),  # 100 - 40 * 70 / 100
        ("recommender-large", "recommender-large", 40),  # 100 - 60 * 100 / 100
        ("other-small", "other-large", 20),  # 100 - 80 * 100 / 100
    ],
)
def test_retention_is_sensitivity_times_pressure(own: str, other: str, kept: int) -> None:
    assert retention(own, other) == kept


def test_the_batch_decides_small_or_large() -> None:
    assert [job_signature(BERT._replace(batch_size=n)) for n in (255, 256)] == ["language-small", "language-large"]


features = st.builds(
    Features,
    st.sampled_from(["resnet50", "vit-large", "bert-large", "llama-7b", "dlrm", "x"]),
    st.integers(1, 10_000),
    st.sampled_from(["h100", "a100", "v100", "t4", "x"]),
    st.integers(1, 16),
    st.integers(1, 100),
    st.integers(0, 10_000),
)


@given(features)
def test_a_prediction_names_every_signature_and_more_gpus_never_take_longer(job: Features) -> None:
    found = predict(job, 70)
    assert found == predict(job, 70)
    assert tuple(found.interference) == SIGNATURES
    assert found.signature in SIGNATURES
    assert found.min_retention == 70
    assert all(0 <= kept <= 100 for kept in found.interference.values())
    assert predict(job._replace(gpus=job.gpus + 1)).runtime_seconds <= found.runtime_seconds


def test_features_come_from_the_spec() -> None:
    job = aijob("a", "dlrm", replicas=3, batch=512, checkpoint={"intervalSeconds": 600}, gpu={"type": "t4", "count": 2})
    assert features_of(job) == Features("dlrm", 512, "t4", 2, 3, 600)
    assert features_of(aijob("a")).checkpoint_seconds == 0
