"""Requests and limits of Pods beyond the golden cases: pod-level resizes, missing parts."""

from __future__ import annotations

from typing import Any

from k8slab.api.pod_requests import pod_limits, pod_requests, resource_list


def _pod(spec: dict[str, Any], status: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": spec, "status": status or {}}


def _texts(pod: dict[str, Any], **options: bool) -> dict[str, str]:
    return {k: str(v) for k, v in pod_requests(pod, **options).items()}  # type: ignore[arg-type]


def test_a_pod_without_anything_asks_for_nothing() -> None:
    assert pod_requests({}) == {}
    assert pod_limits({"spec": {"containers": [{"name": "a", "resources": None}]}}) == {}


def test_pod_level_requests_replace_the_sum_of_the_containers() -> None:
    container = {"name": "a", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    pod = _pod({"containers": [container], "resources": {"requests": {"cpu": "500m", "example.com/gpu": "1"}}})
    assert _texts(pod) == {"cpu": "500m", "memory": "1Gi"}
    assert _texts(pod, skip_pod_level_resources=True) == {"cpu": "1", "memory": "1Gi"}
    assert _texts(pod, skip_container_level_resources=True) == {"cpu": "500m"}


def test_a_resize_at_pod_level_counts_the_greatest_of_wanted_actual_and_allocated() -> None:
    spec = {"containers": [], "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}
    status = {"resources": {"requests": {"cpu": "3"}, "limits": {"cpu": "5"}}, "allocatedResources": {"cpu": "4"}}
    options = {"use_status_resources": True, "in_place_pod_level_resources_vertical_scaling": True}
    assert _texts(_pod(spec, status), **options) == {"cpu": "4"}
    assert str(pod_limits(_pod(spec, status), **options)["cpu"]) == "5"  # type: ignore[arg-type]
    assert _texts(_pod(spec, status), use_status_resources=True) == {"cpu": "1"}


def test_an_infeasible_resize_counts_what_is_there_only() -> None:
    spec = {"containers": [], "resources": {"requests": {"cpu": "9"}, "limits": {"cpu": "9"}}}
    condition = {"type": "PodResizePending", "reason": "Infeasible"}
    status = {"conditions": [condition], "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}
    options = {"use_status_resources": True, "in_place_pod_level_resources_vertical_scaling": True}
    assert _texts(_pod(spec, status), **options) == {"cpu": "1"}
    assert str(pod_limits(_pod(spec, status), **options)["cpu"]) == "2"  # type: ignore[arg-type]


def test_defaults_for_the_scheduler_do_not_change_explicit_zeros() -> None:
    containers = [{"name": "a", "resources": {"requests": {"cpu": "0"}}}, {"name": "b"}]
    extra = resource_list({"cpu": "100m", "memory": "200Mi"})
    total = pod_requests(_pod({"containers": containers}), non_missing_container_requests=extra)
    assert {k: str(v) for k, v in total.items()} == {"cpu": "100m", "memory": "400Mi"}


def test_overhead_is_added_to_limits_that_exist_only() -> None:
    container = {"name": "a", "resources": {"limits": {"cpu": "1", "memory": "0"}}}
    pod = _pod({"containers": [container], "overhead": {"cpu": "250m", "memory": "1Gi", "ephemeral-storage": "1"}})
    assert {k: str(v) for k, v in pod_limits(pod).items()} == {"cpu": "1250m", "memory": "0"}
