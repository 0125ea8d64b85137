"""NodePools and their budgets: website concepts/nodepools.md, concepts/disruption.md; pkg/apis/v1/nodepool.go."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.times import parse_time
from k8slab.autoscaling.karpenter import Budget, NodePool, allowed_disruptions
from k8slab.autoscaling.karpenter.budgets import DRIFTED, EMPTY, UNDERUTILIZED, UNLIMITED
from k8slab.autoscaling.karpenter.nodepool import by_weight
from tests.karpenter import CAPACITY_TYPE, node_pool, rule


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
        pytest.param({"metadata": {"name": "p"}}, "nodepool p: spec.template: Required value", id="no template"),
        pytest.param(node_pool("p", weight=101), "spec.weight: Invalid value: 101: spec.weight in body should be "
                     "less than or equal to 100",
                     id="too heavy"),
        pytest.param(node_pool("p", limits={"cpu": "many"}), 'spec.limits[cpu]: Invalid value: "many"',
                     id="no quantity"),
        pytest.param(node_pool("p", replicas=3), "spec.replicas: static NodePools are not simulated", id="static"),
        pytest.param(node_pool("p", template={"expireAfter": "1d"}), "spec.template.spec.expireAfter: Invalid value: "
                     '"1d": spec.template.spec.expireAfter in body should match '
                     "'^(([0-9]+(s|m|h))+|Never)$'", id="days are no unit"),
        pytest.param(node_pool("p", disruption={"consolidationPolicy": "Always"}), "consolidationPolicy: Unsupported "
                     'value: "Always": supported values: "WhenEmpty", '
                     '"WhenEmptyOrUnderutilized", "Balanced"', id="an unknown policy"),
        pytest.param(node_pool("p", template={"taints": [{"key": "a", "effect": "Never"}]}),
                     'spec.template.spec.taints[0].effect: Unsupported value: "Never"', id="an unknown effect"),
        pytest.param(node_pool("p", rule("karpenter.sh/instance-size", "In", "large")),
                     'requirements[0].key: Invalid value: "string": label domain "karpenter.sh" is '
                     "restricted", id="E117: a label of a reserved domain"),
        pytest.param(node_pool("p", rule("kubernetes.io/hostname", "Exists")),
                     'label "kubernetes.io/hostname" is restricted', id="hostnames are the nodes' own"),
        pytest.param(node_pool("p", rule("karpenter.sh/nodepool", "In", "q")),
                     'label "karpenter.sh/nodepool" is restricted', id="the pool's name is given"),
        pytest.param(node_pool("p", disruption={"budgets": [{"nodes": "200%"}]}),
                     'spec.disruption.budgets[0].nodes: Invalid value: "200%"', id="more than all"),
        pytest.param(node_pool("p", disruption={"budgets": [{"nodes": "1", "schedule": "@daily"}]}),
                     "spec.disruption.budgets: Invalid value: \"array\": 'schedule' must be set with 'duration'",
                     id="a schedule without duration"),
        pytest.param(node_pool("p", disruption={"budgets": [{"nodes": "1", "schedule": "0 9 * *", "duration": "1h"}]}),
                     "budgets[0].schedule: Invalid value: '0 9 * *': expected exactly 5 fields, found 4",
                     id="a schedule of four fields"),
        pytest.param(node_pool("p", disruption={"budgets": [{"schedule": "@daily", "duration": "30s"}]}),
                     'budgets[0].duration: Invalid value: "30s"', id="cron knows no seconds"),
        pytest.param(node_pool("p", disruption={"budgets": [{"reasons": ["Expired"]}]}),
                     'budgets[0].reasons[0]: Unsupported value: "Expired"', id="expiry has no budget"),
        pytest.param(node_pool("p", disruption={"budgets": [{}] * 51}), "budgets: Too many: 51", id="51 budgets"),
    ],
)  # fmt: skip
def test_bad_pools_are_refused_by_the_field(manifest: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as refused:
        NodePool.parse(manifest)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(node_pool(disruption=None), id="disruption"),
        pytest.param(node_pool(disruption=dict.fromkeys(("consolidateAfter", "consolidationPolicy", "budgets"))),
                     id="all of disruption"),
        pytest.param(node_pool(disruption={"budgets": [dict.fromkeys(("nodes", "schedule", "duration", "reasons"))]}),
                     id="all of a budget"),
        pytest.param(node_pool(template={"expireAfter": None, "terminationGracePeriod": None, "taints": None}),
                     id="of the template"),
        pytest.param(node_pool(weight=None, limits={"cpu": None}, replicas=None), id="of the spec"),
    ],
)  # fmt: skip
def test_a_null_is_a_field_that_is_not_there(manifest: dict[str, Any]) -> None:
    """apiextensions-apiserver drops a null where the schema is not nullable, and only then fills in defaults."""
    assert NodePool.parse(manifest) == NodePool.parse(node_pool())


def template_of(**more: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"template": {"spec": {}, **more}}}


TAINT = {"key": "a", "effect": "NoSchedule"}


def labelled(labels: dict[str, Any]) -> dict[str, Any]:
    return template_of(spec={}, metadata={"labels": labels})


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        pytest.param(node_pool("p", template={"terminationGracePeriod": "Never"}),
                     "terminationGracePeriod in body should match '^([0-9]+(s|m|h))+$'", id="Never is no grace period"),
        pytest.param(node_pool("p", rule("a b", "Exists")), 'requirements[0].key: Invalid value: "a b"', id="a key"),
        pytest.param(node_pool("p", rule("a", "In", "x y")), "invalid value x y for key a, a valid label must be",
                     id="a value: the schema's pattern stands at the array and says nothing"),
        pytest.param(node_pool("p", rule("a", "Gt", "-1")),
                     "requirements: Invalid value: \"array\": requirements operator 'Gt', 'Lt', 'Gte', or 'Lte' must "
                     "have a single positive integer value", id="a negative bound"),
        pytest.param(node_pool("p", rule("a", "In", "x", minValues=2)),
                     "requirements with 'minValues' must have at least that many values", id="minValues"),
        pytest.param(node_pool("p", *[rule(f"a{n}", "Exists") for n in range(101)]),
                     "requirements: Too many: 101: must have at most 100 items", id="101 requirements"),
        pytest.param(node_pool("p", rule("notkarpenter.sh/x", "Exists")), 'label domain "karpenter.sh" is restricted',
                     id="the rule is about the end of the text, not about domains"),
        pytest.param(node_pool("p", rule("karpenter.k8s.aws/shoe-size", "Exists")),
                     'label domain "karpenter.k8s.aws" is restricted', id="the provider's domain"),
        pytest.param(node_pool("p", rule(CAPACITY_TYPE, "In", "free")),
                     "no valid values found in [free] for karpenter.sh/capacity-type", id="no such capacity type"),
        pytest.param(node_pool("p", template={"taints": [TAINT], "startupTaints": [TAINT]}),
                     "duplicate taint Key/Effect pair a=NoSchedule", id="one taint in both lists"),
        pytest.param(node_pool("p", template={"taints": [{"key": "a", "effect": None}]}),
                     "taints[0].effect: Required value", id="a null that has no default"),
        pytest.param(labelled({"karpenter.sh/nodepool": "x"}), 'label "karpenter.sh/nodepool" is restricted',
                     id="a reserved label"),
        pytest.param(labelled({"a": "x" * 64}), "labels[a]: Too long: may not be more than 63 bytes", id="64 letters"),
        pytest.param(labelled({"a b": "x"}), 'invalid key name "a b" in labels', id="a label's name"),
        pytest.param(node_pool("p", disruption={"budgets": [{"reasons": ["Empty", "Empty"]}]}),
                     'reasons[1]: Duplicate value: "Empty"', id="reasons are a set"),
        pytest.param(node_pool("p", disruption={"consolidationPolicy": "Balanced"}), "Balanced is not simulated",
                     id="what upstream has and we have not"),
        pytest.param(node_pool("p", template={"expireAfter": "9999999999h"}),
                     "spec.template.spec.expireAfter: Invalid value: '9999999999h'", id="more than int64 holds"),
        pytest.param(node_pool("p", template={"expireafter": "1h"}), 'unknown field "spec.template.spec.expireafter"',
                     id="a misspelt field"),
        pytest.param(node_pool("P_x"), 'metadata.name: Invalid value: "P_x"', id="a name"),
    ],
)  # fmt: skip
def test_what_the_schema_and_karpenter_itself_refuse(manifest: dict[str, Any], message: str) -> None:
    """karpenter.sh_nodepools.yaml first; nodepool_validation.go and nodeclaim_validation.go after it."""
    with pytest.raises(ValueError) as refused:
        NodePool.parse(manifest)
    assert message in str(refused.value)


def test_a_capacity_type_that_is_known_makes_up_for_one_that_is_not() -> None:
    """validateWellKnownValues: wrong values beside right ones are only logged."""
    pool = NodePool.parse(node_pool("p", rule(CAPACITY_TYPE, "In", "spot", "free")))
    assert pool.requirements.get(CAPACITY_TYPE).has("spot")


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({"metadata": {"name": 5}}, "metadata.name: 5: expected a string"),
        ({"metadata": {"name": "p"}, "spec": 5}, "spec: 5: expected a mapping"),
        (node_pool("p", limits=5), "spec.limits: 5: expected a mapping"),
        (node_pool("p", disruption=5), "spec.disruption: 5: expected a mapping"),
        (node_pool("p", disruption={"budgets": 5}), "spec.disruption.budgets: 5: expected a list"),
        (node_pool("p", disruption={"budgets": [{"reasons": 5}]}), "budgets[0].reasons: 5: expected a list"),
        (
            node_pool("p", disruption={"budgets": [{"schedule": 5, "duration": "1h"}]}),
            "budgets[0].schedule: 5: expected a string",
        ),
        (template_of(metadata=5), "spec.template.metadata: 5: expected a mapping"),
        (template_of(metadata={"labels": {"a": 5}}), "spec.template.metadata.labels[a]: 5: expected a string"),
        (template_of(spec={"requirements": 5}), "spec.template.spec.requirements: 5: expected a list"),
        (
            template_of(spec={"requirements": [{"key": ["a"], "operator": "Exists"}]}),
            "spec.template.spec.requirements[0].key: ['a']: expected a string",
        ),
        (template_of(spec={"nodeClassRef": "a"}), "spec.template.spec.nodeClassRef: 'a': expected a mapping"),
        (template_of(spec={"taints": 5}), "spec.template.spec.taints: 5: expected a list"),
        (
            template_of(spec={"taints": [{"key": "a", "value": 5, "effect": "NoSchedule"}]}),
            "spec.template.spec.taints[0].value: 5: expected a string",
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
