"""What objects count for in a quota: expected values from upstream's evaluators and their tests, or by adding up."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k8slab.api.pod_requests import resource_list
from k8slab.api.quota import (
    add,
    calculate_usage,
    equal,
    evaluator_of,
    evaluators_for,
    exceeded,
    mask,
    matches,
    negative,
    printed,
    subtract_non_negative,
    without_zeros,
)
from k8slab.api.times import rfc3339

Json = Any


def pod(**spec: Json) -> Json:
    return {"metadata": {"name": "p", "namespace": "ns"}, "spec": {"containers": [{"name": "c"}], **spec}}


def wanting(requests: Json = None, limits: Json = None) -> Json:
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    return pod(containers=[{"name": "c", "resources": resources}])


@pytest.mark.parametrize(
    ("obj", "used"),
    [
        pytest.param(pod(), "count/pods=1,pods=1", id="a Pod that asks for nothing is a Pod"),
        pytest.param(
            wanting({"cpu": "1", "nvidia.com/gpu": "2"}),
            "count/pods=1,cpu=1,pods=1,requests.cpu=1,requests.nvidia.com/gpu=2",
            id="an extended resource counts by its request only",
        ),
        pytest.param(
            wanting({"hugepages-2Mi": "4Mi"}),
            "count/pods=1,hugepages-2Mi=4Mi,pods=1,requests.hugepages-2Mi=4Mi",
            id="huge pages count under both names",
        ),
        pytest.param(
            wanting({"ephemeral-storage": "1Gi"}, {"ephemeral-storage": "2Gi"}),
            "count/pods=1,ephemeral-storage=1Gi,limits.ephemeral-storage=2Gi,pods=1,requests.ephemeral-storage=1Gi",
            id="ephemeral storage counts as cpu and memory do",
        ),
        pytest.param(
            {**wanting({"cpu": "1"}), "status": {"phase": "Failed"}},
            "count/pods=1",
            id="a Pod that failed is an object",
        ),
    ],
)
def test_what_a_pod_costs(obj: Json, used: str) -> None:
    assert printed(evaluator_of("pods").usage(obj, 0)) == used


@pytest.mark.parametrize(("late_ms", "counts"), [(0, True), (30_000, True), (30_001, False)])
def test_a_pod_stuck_in_its_deletion_costs_nothing_once_the_grace_period_is_over(late_ms: int, counts: bool) -> None:
    dying = pod()
    dying["metadata"] |= {"deletionTimestamp": rfc3339(0), "deletionGracePeriodSeconds": 30}
    assert ("pods" in evaluator_of("pods").usage(dying, late_ms)) == counts


@pytest.mark.parametrize(
    ("spec", "used"),
    [
        pytest.param({"type": "ClusterIP", "ports": [{"port": 80}]}, "0 0", id="a ClusterIP has no node port"),
        pytest.param({"type": "NodePort", "ports": [{"port": 80}, {"port": 81}]}, "2 0", id="one for each port"),
        pytest.param({"type": "LoadBalancer", "ports": [{"port": 80}]}, "1 1", id="a load balancer has them too"),
        pytest.param(
            {
                "type": "LoadBalancer",
                "allocateLoadBalancerNodePorts": False,
                "ports": [{"port": 80}, {"port": 81, "nodePort": 30081}],
            },
            "1 1",
            id="but for those that it declines",
        ),
    ],
)
def test_node_ports_and_load_balancers(spec: Json, used: str) -> None:
    usage = evaluator_of("services").usage({"metadata": {"name": "s"}, "spec": spec}, 0)
    assert f"{usage['services.nodeports']} {usage['services.loadbalancers']}" == used


def test_a_claim_counts_for_its_class_in_whole_bytes() -> None:
    claim = {
        "metadata": {"name": "c"},
        "spec": {"storageClassName": "gold", "resources": {"requests": {"storage": "1500m"}}},
    }
    usage = evaluator_of("persistentvolumeclaims").usage(claim, 0)
    assert str(usage["gold.storageclass.storage.k8s.io/requests.storage"]) == str(usage["requests.storage"]) == "2"
    assert str(usage["gold.storageclass.storage.k8s.io/persistentvolumeclaims"]) == "1"


def test_objects_without_metadata_count_too() -> None:
    assert printed(evaluator_of("persistentvolumeclaims").usage({}, 0)) == (
        "count/persistentvolumeclaims=1,persistentvolumeclaims=1"
    )
    assert printed(evaluator_of("pods").usage({}, 0)) == "count/pods=1,pods=1"


TERM = {"labelSelector": {}, "topologyKey": "zone", "namespaces": ["other"]}


@pytest.mark.parametrize(
    ("scope", "obj", "is_in"),
    [
        ("Terminating", pod(activeDeadlineSeconds=5), True),
        ("NotTerminating", pod(activeDeadlineSeconds=5), False),
        ("BestEffort", pod(), True),
        ("NotBestEffort", wanting({"cpu": "1"}), True),
        ("PriorityClass", pod(), False),
        ("PriorityClass", pod(priorityClassName="high"), True),
        ("CrossNamespacePodAffinity", pod(), False),
        (
            "CrossNamespacePodAffinity",
            pod(affinity={"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [TERM]}}),
            True,
        ),
        (
            "CrossNamespacePodAffinity",
            pod(
                affinity={
                    "podAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, "podAffinityTerm": TERM}]
                    }
                }
            ),
            True,
        ),
        ("Unheard", pod(), False),
    ],
)
def test_scopes(scope: str, obj: Json, is_in: bool) -> None:
    quota = {"spec": {"scopes": [scope]}, "status": {"hard": {"pods": "1"}}}
    assert matches(evaluator_of("pods"), quota, obj) == is_in


@pytest.mark.parametrize(
    ("operator", "values", "classes"),
    [
        ("In", ["high"], ["high"]),
        ("NotIn", ["high"], ["", "low"]),
        ("Exists", [], ["high", "low"]),
        ("DoesNotExist", [], [""]),
    ],
)
def test_a_scope_selects_priority_classes_as_a_label_selector_would(
    operator: str, values: list[str], classes: list[str]
) -> None:
    selector = {"matchExpressions": [{"scopeName": "PriorityClass", "operator": operator, "values": values}]}
    quota = {"spec": {"scopeSelector": selector}, "status": {"hard": {"pods": "1"}}}
    found = [name for name in ("", "high", "low") if matches(evaluator_of("pods"), quota, pod(priorityClassName=name))]
    assert found == classes


def test_an_operator_that_there_is_not_is_an_error() -> None:
    scope = {"scopeName": "PriorityClass", "operator": "Like", "values": ["x"]}
    with pytest.raises(ValueError, match='"Like" is not a valid scope selector operator'):
        evaluator_of("pods").matches_scope(scope, pod())


def test_containers_must_name_what_is_limited_unless_the_pod_does() -> None:
    required = ["requests.cpu", "limits.memory", "pods", "requests.nvidia.com/gpu"]
    several = pod(containers=[{"name": "b"}, {"name": "a", "resources": {"requests": {"cpu": "1"}}}])
    text = evaluator_of("pods").constraints(required, several)
    assert text == "must specify limits.memory for: a,b; requests.cpu for: b"
    assert evaluator_of("pods").constraints(required, pod(resources={"requests": {"cpu": "1"}})) == ""


def test_usage_is_the_sum_over_the_namespace_by_scope() -> None:
    quota = {"spec": {"hard": {"pods": "9", "cpu": "9", "count/jobs.batch": "9"}, "scopes": ["NotTerminating"]}}
    objects = {"pods": [wanting({"cpu": "1"}), wanting({"cpu": "2"}), pod(activeDeadlineSeconds=1)], "jobs.batch": [{}]}
    used, failed = calculate_usage(quota, objects.get, 0)
    assert (printed(used), failed) == ("count/jobs.batch=0,cpu=3,pods=2", [])  # a Job is in no scope
    used, failed = calculate_usage({"spec": {"hard": {"pods": "9", "configmaps": "1"}}}, {"pods": []}.get, 0)
    assert (printed(used), failed) == ("pods=0", ["configmaps"])


def test_who_counts_what_a_quota_names() -> None:
    names = ["pods", "services.nodeports", "count/widgets.example.com", "secrets", "requests.storage", "nonsense"]
    assert [one.resource for one in evaluators_for(names)] == [
        "pods",
        "services",
        "persistentvolumeclaims",
        "widgets.example.com",
        "secrets",
    ]


AMOUNTS = st.dictionaries(st.sampled_from("abcd"), st.integers(-3, 6), max_size=4)


@given(AMOUNTS, AMOUNTS)
def test_lists_of_resources_are_dicts_of_numbers(a: dict[str, int], b: dict[str, int]) -> None:
    """The twin: the same on Python's integers."""
    x, y = ({name: str(n) for name, n in one.items()} for one in (a, b))
    p, q = resource_list(x), resource_list(y)
    names = {*a, *b}

    def plain(resources: Json) -> dict[str, int]:
        return {name: amount.value() for name, amount in resources.items()}

    assert plain(add(p, q)) == {n: a.get(n, 0) + b.get(n, 0) for n in names}
    assert plain(subtract_non_negative(p, q)) == {n: max(0, a[n] - b.get(n, 0)) if n in a else 0 for n in names}
    assert sorted(exceeded(p, q)) == sorted(n for n in b if n in a and a[n] > b[n])
    assert plain(mask(p, q)) == {n: a[n] for n in a if n in b}
    assert plain(without_zeros(p)) == {n: v for n, v in a.items() if v}
    assert sorted(negative(p)) == sorted(n for n in a if a[n] < 0)
    assert equal(p, q) == (a == b)
