"""The life of a NodeClaim: website concepts/nodeclaims.md; pkg/controllers/nodeclaim."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.autoscaling.cloud import SPOT, Pool
from k8slab.autoscaling.karpenter import (
    LIFE_CYCLE,
    Catalogue,
    NodeClaim,
    NodePool,
    StateNode,
    claim_for,
    pack,
    pools_to_ask,
)
from k8slab.autoscaling.karpenter.node_claim import (
    CONSOLIDATABLE,
    DRIFTED_CONDITION,
    INITIALIZED,
    LAUNCHED,
    REGISTERED,
    UNREGISTERED_TAINT,
    drift_reason,
    expires_ms,
    initialize,
    register,
    timed_out,
    update_consolidatable,
    update_drifted,
)
from tests.karpenter import CAPACITY_TYPE, ZONE, app_pod, cluster, instance_type, node_pool, rule, run_node
from tests.scheduling import node

STARTUP = {"key": "cilium", "value": "true", "effect": "NoExecute"}
MINUTE = 60_000


def launched(**more: Any) -> NodeClaim:
    claim = NodeClaim("c-1", "default", 0, labels={"team": "a", ZONE: "a"}, **more)
    claim.set(LAUNCHED, "True", 1_000)
    return claim


def ready(made: dict[str, Any], status: str = "True") -> dict[str, Any]:
    return {**made, "status": {**made["status"], "conditions": [{"type": "Ready", "status": status}]}}


def test_registration_brings_labels_taints_and_the_finalizer_and_drops_the_first_taint() -> None:
    """nodeclaims.md: registration syncs labels, annotations and taints; unregistered goes last."""
    claim = launched(taints=({"key": "t", "effect": "NoSchedule"},), startup_taints=(STARTUP,))
    joined = node("n", taints=[dict(UNREGISTERED_TAINT)])
    assert register(NodeClaim("x", "default", 0), joined, 2_000) is None  # not launched yet
    written = register(claim, joined, 2_000)
    assert written is not None
    assert [taint["key"] for taint in written["spec"]["taints"]] == ["t", "cilium"]
    assert written["metadata"]["labels"] == {"team": "a", ZONE: "a", "karpenter.sh/registered": "true"}
    assert written["metadata"]["finalizers"] == ["karpenter.sh/termination"]
    assert (claim.node_name, claim.conditions[REGISTERED].since_ms) == ("n", 2_000)
    assert register(claim, written, 3_000) is None


@pytest.mark.parametrize(
    ("made", "reason", "message"),
    [
        pytest.param(None, "NodeNotFound", "Node not registered with cluster", id="the node is gone again"),
        pytest.param(ready(node("n"), "False"), "NodeNotReady", "Node status is NotReady", id="it is not ready"),
        pytest.param(ready(node("n", taints=[STARTUP])), "StartupTaintsExist",
                     'StartupTaint "cilium=true:NoExecute" still exists', id="a start-up taint is there"),
        pytest.param(ready(node("n", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}])),
                     "KnownEphemeralTaintsExist", 'KnownEphemeralTaint "node.kubernetes.io/not-ready:NoSchedule" still '
                     "exists", id="an ephemeral taint is there"),
        pytest.param(ready(node("n", taints=[{"key": "readiness.k8s.io/net", "effect": "NoSchedule"}])),
                     "KnownEphemeralTaintsExist", 'KnownEphemeralTaint "readiness.k8s.io/net:NoSchedule" still exists',
                     id="so is one of the readiness controller"),
        pytest.param(ready(node("n")), "ResourceNotRegistered", 'Resource "nvidia.com/gpu" was requested but not '
                     "registered", id="the device plugin has not registered its GPUs"),
    ],
)  # fmt: skip
def test_what_keeps_a_node_from_being_initialized(made: Any, reason: str, message: str) -> None:
    claim = launched(startup_taints=(STARTUP,), requests={"cpu": 1_000, "nvidia.com/gpu": 1})
    assert initialize(claim, made, 2_000) is None  # not registered yet
    claim.set(REGISTERED, "True", 2_000)
    assert initialize(claim, made, 3_000) is None
    condition = claim.conditions[INITIALIZED]
    assert (condition.status, condition.reason, condition.message) == ("Unknown", reason, message)


def test_an_initialized_node_gets_its_label() -> None:
    claim = launched(requests={"cpu": 1_000, "nvidia.com/gpu": 1})
    claim.set(REGISTERED, "True", 2_000)
    written = initialize(claim, ready(node("n", nvidia_com__gpu="1")), 3_000)
    assert written is not None and written["metadata"]["labels"] == {"karpenter.sh/initialized": "true"}
    assert claim.stage == INITIALIZED and all(claim.is_true(name) for name in LIFE_CYCLE)


def test_liveness_ends_claims_that_get_no_instance_or_no_node() -> None:
    """liveness.go: 5 minutes for the launch, 15 for the registration."""
    claim = NodeClaim("c", "default", 0)
    assert (timed_out(claim, 5 * MINUTE - 1), timed_out(claim, 5 * MINUTE)) == ("", "launch_timeout")
    claim.set(LAUNCHED, "True", MINUTE)
    assert (timed_out(claim, 15 * MINUTE - 1), timed_out(claim, 15 * MINUTE)) == ("", "registration_timeout")
    claim.set(REGISTERED, "True", 14 * MINUTE)
    assert timed_out(claim, 60 * MINUTE) == ""


def test_expiry_counts_from_the_creation() -> None:
    """disruption.md, Expiration."""
    assert expires_ms(NodeClaim("c", "default", 1_000, expire_after_ms=5_000)) == 6_000
    assert expires_ms(NodeClaim("c", "default", 1_000)) is None


def drifted(pool: dict[str, Any], age_ms: int = 0, **more: Any) -> str:
    state = cluster()
    made = run_node(state, "n1").claim
    assert made is not None
    return drift_reason(made, NodePool.parse(pool), state.catalogue, age_ms, **more)


@pytest.mark.parametrize(
    ("pool", "reason"),
    [
        pytest.param(node_pool(), "", id="nothing has changed"),
        pytest.param(node_pool(weight=7, limits={"cpu": "1"}, disruption={"consolidateAfter": "1h"}), "",
                     id="behavioural fields are not considered"),
        pytest.param(node_pool("default", rule("node.kubernetes.io/instance-type", "In", "m5.large", "m5.2xlarge")), "",
                     id="the node's type is among the new ones"),
        pytest.param(node_pool("default", rule("node.kubernetes.io/instance-type", "In", "m5.2xlarge")),
                     "RequirementsDrifted", id="the node's type is not"),
        pytest.param(node_pool(template={"taints": [{"key": "t", "effect": "NoSchedule"}]}), "NodePoolDrifted",
                     id="another template"),
        pytest.param(node_pool(template={"expireAfter": "1h"}), "NodePoolDrifted", id="another expiry is drift too"),
    ],
)  # fmt: skip
def test_drift_from_the_pool(pool: dict[str, Any], reason: str) -> None:
    """disruption.md, Drift: static fields by their hash, requirements by the node's labels."""
    assert drifted(pool) == reason


def test_drift_that_the_cloud_knows_of() -> None:
    assert drifted(node_pool(), provider=lambda claim: "ImageDrift") == "ImageDrift"


def test_a_type_that_is_no_longer_sold_is_drift_after_an_hour() -> None:
    """drift.go: InstanceTypeNotFound is looked at an hour after the creation."""
    claim = run_node(cluster(), "n1").claim
    other = cluster(types=[instance_type("c5.large", 2, 0.1)])
    assert claim is not None
    assert drift_reason(claim, other.pools["default"], other.catalogue, 60 * MINUTE) == ""
    assert drift_reason(claim, other.pools["default"], other.catalogue, 60 * MINUTE + 1) == "InstanceTypeNotFound"


def test_the_condition_drifted_comes_and_goes() -> None:
    claim = launched()
    update_drifted(claim, "NodePoolDrifted", 5_000)
    assert claim.conditions[DRIFTED_CONDITION].reason == "NodePoolDrifted"
    update_drifted(claim, "NodePoolDrifted", 9_000)
    assert claim.conditions[DRIFTED_CONDITION].since_ms == 5_000
    update_drifted(claim, "", 10_000)
    assert DRIFTED_CONDITION not in claim.conditions
    fresh = NodeClaim("c", "default", 0)
    update_drifted(fresh, "NodePoolDrifted", 0)
    assert DRIFTED_CONDITION not in fresh.conditions  # not launched


@pytest.mark.parametrize(
    ("after", "last_pod_ms", "at_ms", "consolidatable"),
    [
        pytest.param("0s", 0, 0, True, id="at once"),
        pytest.param("30s", None, 29_999, False, id="without Pods the initialization counts"),
        pytest.param("30s", None, 30_000, True, id="and then it is old enough"),
        pytest.param("30s", 20_000, 40_000, False, id="a Pod came: the time starts anew"),
        pytest.param("30s", 20_000, 50_000, True, id="and has passed again"),
        pytest.param("Never", None, 10**9, False, id="never"),
    ],
)
def test_consolidate_after(after: str, last_pod_ms: int | None, at_ms: int, consolidatable: bool) -> None:
    """disruption.md: consolidateAfter waits for quiet, and restarts with every Pod that comes or goes."""
    pool = NodePool.parse(node_pool(disruption={"consolidateAfter": after}))
    claim = launched(last_pod_event_ms=last_pod_ms)
    update_consolidatable(claim, pool, at_ms)
    assert CONSOLIDATABLE not in claim.conditions  # not initialized
    claim.set(INITIALIZED, "True", 0)
    update_consolidatable(claim, pool, at_ms)
    assert claim.is_true(CONSOLIDATABLE) is consolidatable


# -- the launch ------------------------------------------------------------------------------------------


def asked(pool: dict[str, Any], *types: Any, pod: Any = None) -> list[Pool]:
    state = cluster(pool, types=types)
    new = pack([pod or app_pod("a")], state).new[0]
    return pools_to_ask(claim_for(new, "c-1", 0), state.catalogue)


def test_the_claim_names_the_types_and_resolves_custom_labels() -> None:
    state = cluster(node_pool("default", rule("team", "In", "b", "a"), rule(CAPACITY_TYPE, "In", "spot")))
    claim = claim_for(pack([app_pod("a", "3")], state).new[0], "c-1", 7)
    assert claim.requirements.get("node.kubernetes.io/instance-type").listed() == ["m5.2xlarge", "m5.xlarge"]
    assert claim.labels == {"karpenter.sh/nodepool": "default", "team": "a"}
    assert (claim.requests, claim.created_ms) == ({"cpu": 3_000, "memory": 100 * 2**20, "pods": 1}, 7)


def test_spot_is_asked_first_and_alone() -> None:
    """nodepools.md, Capacity Type: spot is preferred; getCapacityType."""
    pools = asked(node_pool("default", rule(ZONE, "In", "a")), instance_type("m5.large", 2, 0.1, spot=0.04))
    assert [str(one) for one in pools] == ["m5.large/a/spot"]


def test_spot_that_costs_more_than_on_demand_is_not_bought() -> None:
    """filter.go, SpotOfferingFilter."""
    cheap, dear = instance_type("c5.large", 2, 0.05, spot=0.02), instance_type("m5.large", 2, 0.1, spot=0.06)
    assert {one.instance_type for one in asked(node_pool(), cheap, dear) if one.capacity_type == SPOT} == {"c5.large"}


def test_gpus_and_bare_metal_are_bought_only_when_nothing_else_will_do() -> None:
    """filter.go, ExoticInstanceTypeFilter."""
    gpu = instance_type("g5.large", 2, 0.01, gpus=1, gpu_product="NVIDIA-A10G")
    metal = instance_type("m5.metal", 8, 0.02, is_bare_metal=True)
    plain = instance_type("m5.large", 2, 0.1)
    assert {one.instance_type for one in asked(node_pool(), gpu, metal, plain)} == {"m5.large"}
    assert {one.instance_type for one in asked(node_pool(), gpu, metal)} == {"g5.large", "m5.metal"}
    wants = app_pod("a")
    wants["spec"]["containers"][0]["resources"]["requests"]["nvidia.com/gpu"] = "1"
    assert {one.instance_type for one in asked(node_pool(), gpu, metal, plain, pod=wants)} == {"g5.large"}


def test_a_state_node_needs_something() -> None:
    with pytest.raises(ValueError, match="neither a Node nor a NodeClaim"):
        StateNode()


def test_a_requirement_on_a_labels_key_still_counts_for_drift() -> None:
    """areRequirementsDrifted asks the manifest's requirements, whatever labels the template has."""
    template = {"metadata": {"labels": {"team": "a"}}, "spec": {"requirements": [rule("team", "In", "a")]}}
    manifest = {"metadata": {"name": "default"}, "spec": {"template": template}}
    claim = NodeClaim("c", "default", 0, labels={"team": "a"}, pool_hash=NodePool.parse(manifest).hash)
    types = Catalogue([instance_type("m5.large", 2, 0.1)])
    assert drift_reason(claim, NodePool.parse(manifest), types, 0) == ""
    template["spec"] = {"requirements": [rule("team", "In", "b")]}
    assert drift_reason(claim, NodePool.parse(manifest), types, 0) == "RequirementsDrifted"
