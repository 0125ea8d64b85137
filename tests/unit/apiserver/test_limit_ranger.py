"""LimitRanger on a server: what it fills in, what it refuses, what it leaves alone."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.scheme import LIMITRANGES, PERSISTENTVOLUMECLAIMS, PODS
from k8slab.apiserver.admission import Chain, Objects
from k8slab.apiserver.admission.limit_ranger import LimitRanger, validate_claim, validate_pod
from tests.unit.apiserver.conftest import Bench
from tests.unit.apiserver.test_admission import refused

Json = Any


def limits(bench: Bench, *items: Json, name: str = "l") -> None:
    bench.call("create", LIMITRANGES, body={"metadata": {"name": name}, "spec": {"limits": list(items)}})


def containers(**resources: Json) -> Json:
    return [{"name": "c", "image": "i:1", "resources": resources}]


def test_requests_and_limits_come_from_the_range_and_an_annotation_says_so(bench: Bench) -> None:
    limits(bench, {"type": "Container", "default": {"memory": "1Gi"}, "defaultRequest": {"cpu": "100m"}})
    pod = bench.pod("p", initContainers=[{"name": "i", "image": "i:1"}])
    assert pod["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "100m", "memory": "1Gi"},
        "limits": {"memory": "1Gi"},
    }
    assert pod["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: cpu, memory request for container c; memory limit for container c; "
        "cpu, memory request for init container i; memory limit for init container i"
    )


def test_nothing_is_annotated_where_nothing_is_missing(bench: Bench) -> None:
    limits(bench, {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}})
    pod = bench.pod("p", containers=containers(requests={"cpu": "1"}, limits={"cpu": "1"}))
    assert "annotations" not in pod["metadata"]


def test_a_range_of_another_namespace_does_not_matter(bench: Bench) -> None:
    body = {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", "max": {"cpu": "1m"}}]}}
    bench.call("create", LIMITRANGES, ns="kube-system", body=body)
    bench.pod("p", containers=containers(limits={"cpu": "1"}))


def test_what_a_default_limit_makes_of_a_request_above_it_is_for_validation(bench: Bench) -> None:
    bench.pod("first")
    limits(bench, {"type": "Container", "default": {"cpu": "500m"}})
    pod = {"metadata": {"name": "p"}, "spec": {"containers": containers(requests={"cpu": "5"})}}
    assert refused(bench, "create", PODS, body=pod).startswith('422 Pod "p" is invalid: spec.containers[0].resources')


def test_a_pod_that_is_there_is_not_looked_at_again(bench: Bench) -> None:
    two = containers(limits={"cpu": "2"})
    pod = bench.pod("p", containers=two)
    limits(bench, {"type": "Container", "max": {"cpu": "1"}})
    assert "maximum cpu usage per Container is 1, but limit is 2" in refused(
        bench, "create", PODS, body={"metadata": {"name": "q"}, "spec": {"containers": two}}
    )
    bench.call("update", PODS, "p", {**pod, "metadata": {**pod["metadata"], "labels": {"a": "b"}}})


def test_claims_have_bounds_on_their_requests(bench: Bench) -> None:
    limits(bench, {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}, "min": {"storage": "1Mi"}})
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
    assert refused(bench, "create", PERSISTENTVOLUMECLAIMS, body={"metadata": {"name": "c"}, "spec": spec}) == (
        '403 persistentvolumeclaims "c" is forbidden: maximum storage usage per PersistentVolumeClaim is 1Gi, but '
        "request is 2Gi"
    )


@pytest.mark.parametrize(
    ("requests", "problem"),
    [
        ({}, "minimum storage usage per PersistentVolumeClaim is 5.  No request is specified"),
        ({"storage": "4"}, "minimum storage usage per PersistentVolumeClaim is 5, but request is 4"),
        ({"storage": "5"}, ""),
    ],
)
def test_claims_need_a_request(requests: Json, problem: str) -> None:
    limit_range = {"spec": {"limits": [{"type": "PersistentVolumeClaim", "min": {"storage": "5"}}]}}
    assert "".join(validate_claim(limit_range, {"spec": {"resources": {"requests": requests}}})) == problem


def test_a_pod_is_the_sum_of_its_containers_or_its_largest_init_container() -> None:
    """600m + 600m is above 1; an init container of 1500m is too, but does not add up."""
    limit_range = {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}}
    half = {"resources": {"limits": {"cpu": "600m"}}}
    big = {"resources": {"limits": {"cpu": "1500m"}}}
    assert validate_pod(limit_range, {"spec": {"containers": [half]}}) == []
    assert validate_pod(limit_range, {"spec": {"containers": [half, half]}}) == [
        "maximum cpu usage per Pod is 1, but limit is 1200m"
    ]
    assert validate_pod(limit_range, {"spec": {"containers": [half], "initContainers": [big]}}) == [
        "maximum cpu usage per Pod is 1, but limit is 1500m"
    ]


@pytest.mark.parametrize(
    ("requests", "limits", "problem"),
    [
        ({"cpu": "1"}, {"cpu": "2"}, ""),
        ({"cpu": "1"}, {"cpu": "2001m"}, ", but provided ratio is 2.001000"),
        ({}, {"cpu": "1"}, ", but no request is specified or request is 0"),
        ({"cpu": "0"}, {"cpu": "1"}, ", but no request is specified or request is 0"),
        ({"cpu": "1"}, {}, ", but no limit is specified or limit is 0"),
    ],
)
def test_the_ratio_of_limit_to_request(requests: Json, limits: Json, problem: str) -> None:
    limit_range = {"spec": {"limits": [{"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}]}}
    found = validate_pod(limit_range, {"spec": {"containers": containers(requests=requests, limits=limits)}})
    expected = f"cpu max limit to request ratio per Container is 2{problem}" if problem else ""
    assert "".join(found) == expected


@pytest.mark.parametrize(
    ("own", "problems"),
    [
        ({}, ["maximum cpu usage per Pod is 1, but limit is 1200m"]),
        ({"limits": {"cpu": "900m"}}, []),
        ({"limits": {"cpu": "3"}}, ["maximum cpu usage per Pod is 1, but limit is 3"]),
        ({"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}, ["maximum cpu usage per Pod is 1, but request is 2"]),
        ({"limits": {"hugepages-2Mi": "4Mi"}}, ["maximum cpu usage per Pod is 1, but limit is 1200m"]),
    ],
    ids=[
        "without resources of its own the containers' sum counts",
        "a limit of the Pod below the sum counts instead of it",
        "a limit of the Pod above the sum counts instead of it",
        "so does a request of the Pod",
        "huge pages of the Pod change nothing",
    ],
)
def test_resources_at_pod_level_count_instead_of_the_containers_sum(own: Json, problems: list[str]) -> None:
    limit_range = {"spec": {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}}
    half = {"resources": {"requests": {"cpu": "100m"}, "limits": {"cpu": "600m"}}}
    assert validate_pod(limit_range, {"spec": {"containers": [half, half], "resources": own}}) == problems


@pytest.mark.parametrize(("subresource", "refuses"), [("", False), ("status", False), ("resize", True)])
def test_of_all_updates_of_a_pod_only_a_resize_is_looked_at(subresource: str, refuses: bool) -> None:
    spec = {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}
    objects = Objects(
        [{"kind": "LimitRange", "apiVersion": "v1", "metadata": {"name": "l", "namespace": "d"}, "spec": spec}]
    )
    old, new = ({"metadata": {"name": "p"}, "spec": {"containers": containers(limits={"cpu": n})}} for n in "12")
    attributes = objects.attributes("pods", new, operation="UPDATE", old=old, namespace="d", subresource=subresource)
    stages = list(objects.passage_of(Chain([LimitRanger()], objects), attributes))
    assert [stage.error is not None for stage in stages] == [False, refuses]
