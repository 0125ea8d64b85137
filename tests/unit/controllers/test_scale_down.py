"""The order in which Pods are given up: one case per rule of ActivePodsWithRanks."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.times import rfc3339
from k8slab.controllers.replicaset.scale_down import (
    DELETION_COST,
    RankedPod,
    compare,
    deletion_cost,
    pods_to_delete,
    rank_pod,
    scale_down_order,
)

NOW = 10_000_000
BASE = RankedPod("a", "u1", "n1", "Running", True, NOW - 100_000, 0, 1, 0, 0, NOW - 200_000)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param({"node": ""}, {}, id="without a node before with one"),
        pytest.param({"phase": "Pending"}, {"phase": "Unknown"}, id="pending before unknown"),
        pytest.param({"phase": "Unknown"}, {"phase": "Running"}, id="unknown before running"),
        pytest.param({"ready": False}, {}, id="not ready before ready"),
        pytest.param({"cost": -1}, {}, id="cheaper before dearer"),
        pytest.param({"neighbours": 2}, {}, id="on a crowded node before alone"),
        pytest.param({"ready_ms": NOW - 1000}, {}, id="ready for a shorter time"),
        pytest.param({"ready_ms": None}, {}, id="ready since nobody knows when"),
        pytest.param({"restarts": 3}, {"restarts": 1}, id="more restarts before fewer"),
        pytest.param({"sidecar_restarts": 3}, {"sidecar_restarts": 1}, id="more restarts of sidecars"),
        pytest.param({"created_ms": NOW - 1000}, {}, id="created later"),
        pytest.param({"created_ms": None}, {}, id="created nobody knows when"),
        pytest.param({"ready_ms": NOW - 90_000, "uid": "u0"}, {}, id="of ages in one power of two the lower uid"),
        pytest.param({"ready_ms": NOW - 110_000, "uid": "u0"}, {}, id="so an older one may go first"),
    ],
)
def test_order(first: dict[str, Any], second: dict[str, Any]) -> None:
    a, b = BASE._replace(**first), BASE._replace(name="b", **second)
    assert compare(a, b, NOW) < 0
    assert compare(b, a, NOW) > 0


def test_rules_are_tried_in_order() -> None:
    """Each Pod loses by a rule that comes before the one by which it would win."""
    pods = [
        BASE._replace(name="restarted", restarts=9),
        BASE._replace(name="crowded", neighbours=2),
        BASE._replace(name="cheap", cost=-1),
        BASE._replace(name="not ready", ready=False, cost=100),
        BASE._replace(name="pending", phase="Pending", cost=100),
        BASE._replace(name="unscheduled", node="", cost=100),
    ]
    names = [pod.name for pod in scale_down_order(pods, NOW)]
    assert names == ["unscheduled", "pending", "not ready", "cheap", "crowded", "restarted"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10", 10),
        ("-5", -5),
        ("0", 0),
        ("+5", 0),
        ("007", 0),
        ("abc", 0),
        ("", 0),
        ("2147483648", 0),
        ("-2147483648", -(2**31)),
    ],
)
def test_deletion_cost(text: str, expected: int) -> None:
    assert deletion_cost({"metadata": {"annotations": {DELETION_COST: text}}}) == expected


def pod(name: str, node: str = "n1", **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "uid": name},
        "spec": {"nodeName": node},
        "status": {"phase": "Running", **status},
    }


def test_neighbours_are_the_active_related_pods_on_the_node() -> None:
    """Two Pods of the new version on n2 make its old Pod go first; one that ended on n1 does not count."""
    old = [pod("old-1", "n1"), pod("old-2", "n2")]
    new = [pod("new-1", "n2"), pod("new-2", "n1", phase="Failed")]
    assert [p["metadata"]["name"] for p in pods_to_delete(old, [*old, *new], 1, NOW)] == ["old-2"]


def test_deleting_all_needs_no_order() -> None:
    pods = [pod("b"), pod("a")]
    assert pods_to_delete(pods, [], 2, NOW) == pods


def test_rank_pod_reads_the_object() -> None:
    spec = {"nodeName": "n1", "initContainers": [{"name": "s", "restartPolicy": "Always"}, {"name": "i"}]}
    status = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": rfc3339(5000)}],
        "containerStatuses": [{"name": "a", "restartCount": 1}, {"name": "b", "restartCount": 4}],
        "initContainerStatuses": [{"name": "s", "restartCount": 2}, {"name": "i", "restartCount": 7}],
    }
    metadata = {"name": "p", "uid": "u", "creationTimestamp": rfc3339(1000)}
    found = rank_pod({"metadata": metadata, "spec": spec, "status": status}, 3)
    assert found == RankedPod("p", "u", "n1", "Running", True, 5000, 0, 3, 4, 2, 1000)
