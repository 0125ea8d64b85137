"""The status of a ReplicaSet as a plain function."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.times import rfc3339
from k8slab.controllers.replicaset.status import (
    PodFacts,
    calculate_status,
    facts_of,
    next_availability_check_ms,
    status_differs,
)
from tests.unit.controllers.world import replica_set


def pod(ready_ms: int | None = -1, **labels: str) -> PodFacts:
    return PodFacts({}, "owner", True, False, tuple({"app": "web", **labels}.items()), ready_ms)


def rs(**status: Any) -> dict[str, Any]:
    made = replica_set(replicas=3, minReadySeconds=5)
    made["metadata"]["generation"] = 2
    made["spec"]["template"]["metadata"]["labels"] = {"app": "web", "tier": "x"}
    return {**made, "status": status}


def test_counts() -> None:
    pods = [pod(), pod(1000, tier="x", more="y"), pod(8000, tier="x"), pod(None)]
    assert calculate_status(rs(), pods, 2, None, 10_000) == {
        "replicas": 4,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 3,
        "availableReplicas": 1,
        "terminatingReplicas": 2,
        "observedGeneration": 2,
    }


@pytest.mark.parametrize(
    ("have", "reason"), [pytest.param(1, "FailedCreate", id="too few"), pytest.param(5, "FailedDelete", id="too many")]
)
def test_a_failure_is_named_after_what_was_to_be_done(have: int, reason: str) -> None:
    (condition,) = calculate_status(rs(), [pod()] * have, None, "quota", 9000)["conditions"]
    expected = {"type": "ReplicaFailure", "status": "True", "reason": reason, "message": "quota"}
    assert condition == {**expected, "lastTransitionTime": rfc3339(9000)}


def test_a_failure_stays_as_first_reported_and_goes_when_a_sync_succeeds() -> None:
    first = calculate_status(rs(), [], None, "one", 1000)
    later = calculate_status(rs(**first), [], None, "two", 5000)
    assert later["conditions"] == first["conditions"]
    assert "conditions" not in calculate_status(rs(**first), [], None, None, 5000)


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        pytest.param({}, False, id="nothing"),
        pytest.param({"readyReplicas": 0}, False, id="a zero for an absent count"),
        pytest.param({"replicas": 4}, True, id="a count"),
        pytest.param({"terminatingReplicas": 0}, True, id="a count reported for the first time"),
        pytest.param({"conditions": [{"type": "ReplicaFailure"}]}, True, id="a condition"),
    ],
)
def test_status_differs(change: dict[str, Any], differs: bool) -> None:
    before = {"replicas": 3, "observedGeneration": 2}
    assert status_differs(rs(**before), {**before, **change}) is differs


def test_a_generation_not_seen_before_is_worth_a_write() -> None:
    assert status_differs(rs(replicas=3, observedGeneration=1), {"replicas": 3, "observedGeneration": 2})


def test_the_next_availability_check_is_the_earliest_to_come() -> None:
    pods = [pod(), pod(None), pod(1000), pod(4000), pod(3000)]
    assert next_availability_check_ms(pods, 5, 7000) == 1000
    assert next_availability_check_ms([pod()], 5, 7000) is None


def test_facts_of_reads_the_object() -> None:
    condition = {"type": "Ready", "status": "True", "lastTransitionTime": rfc3339(5000)}
    metadata = {
        "name": "p",
        "labels": {"app": "web"},
        "deletionTimestamp": rfc3339(0),
        "ownerReferences": [{"uid": "u", "controller": True}],
    }
    obj = {"metadata": metadata, "status": {"phase": "Running", "conditions": [condition]}}
    assert facts_of(obj) == PodFacts(obj, "u", False, True, (("app", "web"),), 5000)
