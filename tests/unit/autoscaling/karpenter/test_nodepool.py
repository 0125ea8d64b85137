"""NodePools and their budgets: website concepts/nodepools.md, concepts/disruption.md; pkg/apis/v1/nodepool.go."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.times import parse_time
from k8slab.autoscaling.karpenter import Budget, NodePool, allowed_disruptions
from k8slab.autoscaling.karpenter.budgets import DRIFTED, EMPTY, UNDERUTILIZED, UNLIMITED
from k8slab.autoscaling.karpenter.nodepool import by_weight
from tests.karpenter import node_pool, rule


def read(**more: Any) -> NodePool:
    return NodePool.parse(node_pool(**more))


def test_defaults_are_those_of_the_api() -> None:
    """nodepools.md: consolidationPolicy WhenEmptyOrUnderutilized, consolidateAfter 0s, budget 10 %, expireAfter
    720h."""
    pool = read()
    assert (pool.consolidation_policy, pool.consolidate_after_ms) == ("WhenEmptyOrUnderutilized", 0)
    assert (pool.budgets, pool.expire_after_ms) == ((Budget("10%"),), 720 * 3_600_000)
    assert (pool.termination_grace_period_ms, pool.weight, pool.limits) == (None, 0, {})


def test_durations_may_be_never() -> None:
    pool = read(template={"expireAfter": "Never"}, disruption={"consolidateAfter": "Never"})
    assert (pool.expire_after_ms, pool.consolidate_after_ms) == (None, None)


def test_the_heaviest_pool_is_tried_first_and_of_equals_the_later_name() -> None:
    """nodepools.md, spec.weight; pkg/utils/nodepool OrderByWeight."""
    pools = [NodePool.parse(node_pool(name, weight=weight)) for name, weight in (("a", 10), ("b", 10), ("c", 50))]
    assert [pool.name for pool in by_weight([*pools, NodePool.parse(node_pool("d"))])] == ["c", "b", "a", "d"]


def test_the_hash_is_about_the_template_but_not_about_requirements() -> None:
    """disruption.md, Drift: requirements are compared with labels; weight, limits and disruption are behavioural."""
    plain = read()
    assert plain.hash == read(weight=5, limits={"cpu": "8"}, disruption={"consolidateAfter": "5m"}).hash
    assert plain.hash == NodePool.parse(node_pool("default", rule("kubernetes.io/arch", "In", "arm64"))).hash
    taints = [{"key": "a", "effect": "NoSchedule"}, {"key": "b", "effect": "NoSchedule"}]
    assert plain.hash != read(template={"taints": taints}).hash
    assert read(template={"taints": taints}).hash == read(template={"taints": taints[::-1]}).hash
    assert plain.hash != read(template={"expireAfter": "24h"}).hash
    assert plain.hash == read(template={"expireAfter": "720h"}).hash


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        pytest.param({"metadata": {}}, "nodepool: metadata.name: Required value", id="no name"),
        pytest.param({"metadata": {"name": "p"}}, "nodepool p: spec.template.spec: Required value", id="no template"),
        pytest.param(node_pool("p", weight=101), "spec.weight: Invalid value: 101: expected a number from 1 to 100",
                     id="too heavy"),
        pytest.param(node_pool("p", limits={"cpu": "many"}), "spec.limits[cpu]: Invalid value: 'many'",
                     id="no quantity"),
        pytest.param(node_pool("p", replicas=3), "spec.replicas: static NodePools are not simulated", id="static"),
        pytest.param(node_pool("p", template={"expireAfter": "1d"}), "spec.template.spec.expireAfter: Invalid value: "
                     "'1d': expected a duration such as 30m, or Never", id="days are no unit"),
        pytest.param(node_pool("p", disruption={"consolidationPolicy": "Always"}), "consolidationPolicy: Unsupported "
                     "value: 'Always'", id="an unknown policy"),
        pytest.param(node_pool("p", template={"taints": [{"key": "a", "effect": "Never"}]}),
                     "spec.template.spec.taints[0]", id="an unknown effect"),
        pytest.param(node_pool("p", rule("karpenter.sh/instance-size", "In", "large")),
                     "using label karpenter.sh/instance-size is not allowed", id="E117: a label of a reserved domain"),
        pytest.param(node_pool("p", rule("kubernetes.io/hostname", "Exists")),
                     "using label kubernetes.io/hostname is not allowed", id="hostnames are the nodes' own"),
        pytest.param(node_pool("p", rule("karpenter.sh/nodepool", "In", "q")),
                     "using label karpenter.sh/nodepool is not allowed", id="the pool's name is given"),
        pytest.param(node_pool("p", disruption={"budgets": [{"nodes": "200%"}]}),
                     "spec.disruption.budgets[0].nodes: Invalid value: '200%'", id="more than all"),
        pytest.param(node_pool("p", disruption={"budgets": [{"nodes": "1", "schedule": "@daily"}]}),
                     "spec.disruption.budgets[0]: Invalid value: 'schedule' must be set with 'duration'",
                     id="a schedule without duration"),
        pytest.param(node_pool("p", disruption={"budgets": [{"nodes": "1", "schedule": "0 9 * *", "duration": "1h"}]}),
                     "budgets[0].schedule: Invalid value: '0 9 * *': expected exactly 5 fields, found 4",
                     id="a schedule of four fields"),
        pytest.param(node_pool("p", disruption={"budgets": [{"schedule": "@daily", "duration": "30s"}]}),
                     "budgets[0].duration: Invalid value: '30s'", id="cron knows no seconds"),
        pytest.param(node_pool("p", disruption={"budgets": [{"reasons": ["Expired"]}]}),
                     "budgets[0].reasons: Unsupported value: 'Expired'", id="expiry has no budget"),
        pytest.param(node_pool("p", disruption={"budgets": [{}] * 51}), "budgets: Too many: 51", id="51 budgets"),
    ],
)  # fmt: skip
def test_bad_pools_are_refused_by_the_field(manifest: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as refused:
        NodePool.parse(manifest)
    assert message in str(refused.value)


def template_of(**more: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"template": {"spec": {}, **more}}}


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({"metadata": {"name": 5}}, "metadata.name: 5: expected a string"),
        ({"metadata": {"name": "p"}, "spec": 5}, "spec: 5: expected a mapping"),
        (node_pool("p", limits=5), "spec.limits: 5: expected a mapping"),
        (node_pool("p", disruption=5), "spec.disruption: 5: expected a mapping"),
        (node_pool("p", disruption={"budgets": 5}), "spec.disruption.budgets: 5: expected a list"),
        (node_pool("p", disruption={"budgets": [{"reasons": 5}]}), "budgets[0].reasons: 5: expected a list of strings"),
        (
            node_pool("p", disruption={"budgets": [{"schedule": 5, "duration": "1h"}]}),
            "budgets[0].schedule: 5: expected a string",
        ),
        (template_of(metadata=5), "spec.template.metadata: 5: expected a mapping"),
        (template_of(metadata={"labels": {"a": 5}}), "spec.template.metadata.labels[a]: 5: expected a string"),
        (template_of(spec={"requirements": 5}), "spec.template.spec.requirements: 5: expected a list"),
        (
            template_of(spec={"requirements": [{"key": ["a"], "operator": "Exists"}]}),
            "spec.template.spec.requirements[0]: {'key': ['a'], 'operator': 'Exists'}: expected strings for key and",
        ),
        (template_of(spec={"nodeClassRef": "a"}), "spec.template.spec.nodeClassRef: 'a': expected a mapping"),
        (template_of(spec={"taints": 5}), "spec.template.spec.taints: 5: expected a list"),
        (
            template_of(spec={"taints": [{"key": "a", "value": 5, "effect": "NoSchedule"}]}),
            "spec.template.spec.taints[0]: {'key': 'a', 'value': 5, 'effect': 'NoSchedule'}: expected strings for key",
        ),
    ],
)
def test_values_of_another_kind_are_named_and_never_a_traceback(manifest: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError) as refused:
        NodePool.parse(manifest)
    assert message in str(refused.value)


# -- budgets: disruption.md, NodePool Disruption Budgets -----------------------------------------------

DOCUMENTED = NodePool.parse(
    node_pool(
        disruption={
            "budgets": [
                {"nodes": "20%", "reasons": ["Empty", "Drifted"]},
                {"nodes": "5"},
                {"nodes": "0", "schedule": "@daily", "duration": "10m", "reasons": ["Underutilized"]},
            ]
        }
    )
).budgets


@pytest.mark.parametrize(
    ("reason", "nodes", "at", "allowed"),
    [
        pytest.param(EMPTY, 19, "12:00", 4, id="20 % of 19 nodes is 3.8, rounded up"),
        pytest.param(DRIFTED, 30, "12:00", 5, id="the second budget is a ceiling from 25 nodes on"),
        pytest.param(UNDERUTILIZED, 30, "12:00", 5, id="the first budget is not about underutilised nodes"),
        pytest.param(UNDERUTILIZED, 30, "00:05", 0, id="none in the first ten minutes of the day"),
        pytest.param(UNDERUTILIZED, 30, "00:09", 0, id="the tenth minute is the last"),
        pytest.param(UNDERUTILIZED, 30, "00:10", 5, id="then again"),
        pytest.param(EMPTY, 19, "00:05", 4, id="the third budget is about underutilised nodes only"),
        pytest.param(EMPTY, 0, "12:00", 0, id="of no nodes, none"),
    ],
)
def test_the_documents_three_budgets(reason: str, nodes: int, at: str, allowed: int) -> None:
    now_ms = parse_time(f"2026-03-04T{at}:00Z")
    assert allowed_disruptions(DOCUMENTED, reason, now_ms, nodes) == allowed


def test_without_budgets_nothing_is_limited() -> None:
    """GetAllowedDisruptionsByReason starts from MaxInt32: `budgets: []` is not the default of 10 %."""
    assert allowed_disruptions((), EMPTY, 0, 10) == UNLIMITED
    assert NodePool.parse(node_pool(disruption={"budgets": []})).budgets == ()


def test_a_window_may_begin_yesterday() -> None:
    """disruption.md, Schedule: weekdays 9:00 UTC for 8 hours; Duration: `160h` is allowed."""
    office = Budget.parse({"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}, "b")
    night = Budget.parse({"nodes": "0", "schedule": "0 22 * * *", "duration": "8h"}, "b")
    assert [office.is_active(parse_time(f"2026-01-0{day}T12:00:00Z")) for day in (2, 3, 4, 5)] == [
        True,  # a Friday
        False,
        False,
        True,
    ]
    assert night.is_active(parse_time("2026-01-03T05:59:00Z"))
    assert not night.is_active(parse_time("2026-01-03T06:01:00Z"))


def test_a_schedule_that_never_comes_is_always_active() -> None:
    """IsActive: the zero time of a schedule without a next moment is not after now."""
    never = Budget.parse({"nodes": "0", "schedule": "0 0 31 2 *", "duration": "1h"}, "b")
    assert never.is_active(parse_time("2026-06-01T00:00:00Z"))
