"""Questions about Pods."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.pods import (
    get_condition,
    is_pod_active,
    is_pod_available,
    is_pod_ready,
    is_pod_terminal,
    is_pod_terminating,
    pod_phase,
    pod_priority,
    set_condition,
)
from k8slab.api.times import rfc3339


def _ready(since_ms: int | None, status: str = "True") -> dict[str, Any]:
    condition: dict[str, Any] = {"type": "Ready", "status": status}
    if since_ms is not None:
        condition["lastTransitionTime"] = rfc3339(since_ms)
    return {"metadata": {}, "status": {"phase": "Running", "conditions": [condition]}}


@pytest.mark.parametrize(
    ("pod", "seconds", "now_ms", "expected"),
    [
        pytest.param(_ready(5000), 10, 14_999, False, id="not yet ready for long enough"),
        pytest.param(_ready(5000), 10, 15_000, True, id="ready for exactly long enough"),
        pytest.param(_ready(None), 10, 99_000, False, id="ready since nobody knows when"),
        pytest.param(_ready(None), 0, 0, True, id="no time asked for"),
        pytest.param(_ready(0, "False"), 0, 99_000, False, id="not ready"),
        pytest.param({"metadata": {}}, 0, 0, False, id="no status"),
    ],
)
def test_availability(pod: dict[str, Any], seconds: int, now_ms: int, expected: bool) -> None:
    assert is_pod_available(pod, seconds, now_ms) is expected


def test_phases_and_deletion() -> None:
    running, done = _ready(0), {"metadata": {}, "status": {"phase": "Succeeded"}}
    leaving = {**running, "metadata": {"deletionTimestamp": rfc3339(0)}}
    assert [is_pod_active(p) for p in (running, done, leaving)] == [True, False, False]
    assert [is_pod_terminal(p) for p in (running, done, leaving)] == [False, True, False]
    assert [is_pod_terminating(p) for p in (running, done, leaving)] == [False, False, True]
    assert is_pod_ready(running) and not is_pod_ready(done)
    assert pod_phase({"metadata": {}}) == "" and get_condition({}, "Ready") is None
    assert pod_priority({"spec": {"priority": 7}}) == 7 and pod_priority({}) == 0


def test_a_condition_keeps_its_transition_time_while_its_status_stays() -> None:
    old = {"type": "Ready", "status": "True", "lastTransitionTime": "t0", "reason": "a"}
    same = set_condition([old], {"type": "Ready", "status": "True", "lastTransitionTime": "t1", "reason": "b"})
    assert same == [{"type": "Ready", "status": "True", "lastTransitionTime": "t0", "reason": "b"}]
    other = set_condition(same, {"type": "Ready", "status": "False", "lastTransitionTime": "t2"})
    assert other == [{"type": "Ready", "status": "False", "lastTransitionTime": "t2"}]
    assert set_condition(other, {"type": "New", "status": "True"})[1]["type"] == "New"
