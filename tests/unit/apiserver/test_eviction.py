"""Evictions against disruption budgets."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.errors import StatusError
from k8slab.api.scheme import PODDISRUPTIONBUDGETS, PODS
from tests.unit.apiserver.conftest import MERGE, Bench

LABELS = {"metadata": {"labels": {"app": "x"}}}


def running(bench: Bench, name: str, ready: str = "True") -> None:
    bench.pod(name)
    bench.call("patch", PODS, name, LABELS, patch_type=MERGE)
    status = {"phase": "Running", "conditions": [{"type": "Ready", "status": ready}]}
    bench.call("patch", PODS, name, {"status": status}, patch_type=MERGE, subresource="status")


def budget(bench: Bench, name: str = "pdb", **status: Any) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}}
    bench.call("create", PODDISRUPTIONBUDGETS, body={"metadata": {"name": name}, "spec": spec})
    if status:
        patch = {"status": {"observedGeneration": 1, **status}}
        bench.call("patch", PODDISRUPTIONBUDGETS, name, patch, patch_type=MERGE, subresource="status")


def evict(bench: Bench, name: str, **more: Any) -> str:
    """The answer's `Success`, or the first cause of the refusal."""
    body = {"metadata": {"name": name}, **more}
    try:
        return str(bench.call("create", PODS, name, body, subresource="eviction")["status"])
    except StatusError as error:
        causes = (error.details or {}).get("causes") or [{"message": error.message}]
        return f"{error.code} {causes[0]['message']}"


def test_a_pod_without_a_budget_goes(bench: Bench) -> None:
    running(bench, "p")
    assert evict(bench, "p") == "Success"
    assert bench.server.cached("pods", "default", "p") is None


def test_the_pod_says_why_it_goes(bench: Bench) -> None:
    running(bench, "p")
    bench.call("create", PODS, "p", {"metadata": {"name": "p"}, "target": {"name": "n"}}, subresource="binding")
    evict(bench, "p")
    pod = bench.call("get", PODS, "p")
    reasons = {c["type"]: c.get("reason") for c in pod["status"]["conditions"]}
    assert reasons["DisruptionTarget"] == "EvictionByEvictionAPI" and "deletionTimestamp" in pod["metadata"]


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        pytest.param(
            {}, "429 The disruption budget pdb is still being processed by the server.", id="not observed yet"
        ),
        pytest.param(
            {"disruptionsAllowed": 0, "currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 2},
            "429 The disruption budget pdb needs 2 healthy pods and has 2 currently",
            id="no healthy Pod to spare",
        ),
        pytest.param(
            {"disruptionsAllowed": 0, "currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3},
            "429 The disruption budget pdb does not allow evicting pods currently",
            id="used up for now",
        ),
        pytest.param(
            {"disruptionsAllowed": 1, "currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3},
            "Success",
            id="allowed",
        ),
    ],
)
def test_the_budget_decides(bench: Bench, status: Any, answer: str) -> None:
    running(bench, "p")
    budget(bench, **status)
    assert evict(bench, "p") == answer


def test_an_eviction_uses_the_budget_up(bench: Bench) -> None:
    running(bench, "p")
    running(bench, "q")
    budget(bench, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1, expectedPods=2)
    assert evict(bench, "p") == "Success"
    status = bench.call("get", PODDISRUPTIONBUDGETS, "pdb")["status"]
    assert status["disruptionsAllowed"] == 0 and list(status["disruptedPods"]) == ["p"]
    assert status["conditions"][0]["reason"] == "InsufficientPods"
    assert evict(bench, "q").startswith("429")


def test_a_dry_run_changes_nothing(bench: Bench) -> None:
    running(bench, "p")
    budget(bench, disruptionsAllowed=1, currentHealthy=2, desiredHealthy=1, expectedPods=2)
    before = bench.etcd.revision
    assert evict(bench, "p", deleteOptions={"dryRun": ["All"]}) == "Success"
    assert bench.etcd.revision == before


def test_pods_that_serve_nobody_are_not_protected(bench: Bench) -> None:
    bench.pod("pending")
    bench.call("patch", PODS, "pending", LABELS, patch_type=MERGE)
    running(bench, "unready", ready="False")
    budget(bench, disruptionsAllowed=0, currentHealthy=2, desiredHealthy=2, expectedPods=2)
    assert evict(bench, "pending") == "Success"
    assert evict(bench, "unready") == "Success"


def test_two_budgets_are_an_error(bench: Bench) -> None:
    running(bench, "p")
    budget(bench, "one")
    budget(bench, "two")
    assert evict(bench, "p").startswith("500 This pod has more than one PodDisruptionBudget")


def test_the_name_of_the_eviction_is_that_of_the_pod(bench: Bench) -> None:
    with pytest.raises(StatusError) as caught:
        bench.call("create", PODS, "p", {"metadata": {"name": "q"}}, subresource="eviction")
    assert caught.value.message == "name in URL does not match name in Eviction object"
