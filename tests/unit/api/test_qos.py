"""QoS classes and OOM scores beyond the golden cases."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.qos import compute_qos_class, is_critical_pod, is_node_critical_pod, oom_score_adj, qos_class

GI = 1 << 30


def _pod(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": list(containers), **spec}}


def _container(name: str, memory: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "resources": {"requests": {"memory": memory}}, **more}


def test_a_tenth_of_the_memory_scores_900() -> None:
    pod = _pod(_container("a", "1Gi"))
    assert oom_score_adj(pod, pod["spec"]["containers"][0], 10 * GI) == 900


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        pytest.param("1", 999, id="next to nothing is still better than BestEffort"),
        pytest.param("1Ti", 3, id="more than everything is still worse than Guaranteed"),
    ],
)
def test_the_bounds_of_burstable(memory: str, expected: int) -> None:
    pod = _pod(_container("a", memory))
    assert oom_score_adj(pod, pod["spec"]["containers"][0], 10 * GI) == expected


def test_a_sidecar_is_not_killed_before_what_it_serves() -> None:
    sidecar = _container("s", "1Gi", restartPolicy="Always")
    pod = _pod(_container("a", "2Gi"), _container("b", "5Gi"), initContainers=[sidecar])
    assert oom_score_adj(pod, sidecar, 10 * GI) == 800
    regular = _container("a", "1Gi", restartPolicy="Always")
    assert oom_score_adj(_pod(regular, _container("b", "5Gi")), regular, 10 * GI) == 900


def test_the_spare_part_of_a_pod_level_request_is_shared() -> None:
    pod = _pod(_container("a", "1Gi"), _container("b", "1Gi"), resources={"requests": {"memory": "4Gi"}})
    a = pod["spec"]["containers"][0]
    assert oom_score_adj(pod, a, 10 * GI) == 800
    assert oom_score_adj(pod, a, 10 * GI, pod_level_resources=False) == 900


def test_the_recorded_class_wins() -> None:
    pod = _pod(_container("a", "1Gi"))
    assert qos_class(pod) == compute_qos_class(pod) == "Burstable"
    assert qos_class({**pod, "status": {"qosClass": "Guaranteed"}}) == "Guaranteed"


def test_without_the_gate_pod_level_resources_do_not_count() -> None:
    same = {"cpu": "1", "memory": "1Gi"}
    pod = _pod({"name": "a"}, resources={"requests": same, "limits": same})
    assert compute_qos_class(pod) == "Guaranteed"
    assert compute_qos_class(pod, pod_level_resources=False) == "BestEffort"


def test_critical_pods() -> None:
    node_critical = _pod(priority=2_000_001_000, priorityClassName="system-node-critical")
    assert is_node_critical_pod(node_critical)
    assert not is_node_critical_pod(_pod(priorityClassName="system-node-critical"))
    static = {**_pod(), "metadata": {"annotations": {"kubernetes.io/config.source": "file"}}}
    mirror = {**_pod(), "metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}
    assert is_critical_pod(static) and is_critical_pod(mirror)
    assert not is_critical_pod(_pod(priority=1_000_000_000))
    assert oom_score_adj(node_critical, {"name": "a"}, GI) == -997


def test_a_node_has_memory() -> None:
    with pytest.raises(ValueError, match="memory_capacity 0: expected"):
        oom_score_adj(_pod(), {}, 0)
