"""Karpenter from Pods that wait to instances that are given back: every step by the clock."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.autoscaling.cloud import SPOT, CloudTimings, InstanceType, Pool
from k8slab.autoscaling.karpenter.small_world import PLUGIN_MS, READY_MS, SmallWorld
from tests.karpenter import CAPACITY_TYPE, DO_NOT_DISRUPT, instance_type, node_pool, rule

MINUTE = 60_000
EXACT = CloudTimings(pending_ms=8_000, boot_ms=40_000, boot_jitter_ms=0, gpu_boot_ms=0, shutdown_ms=15_000)
TYPES = [
    instance_type("m5.large", 2, 0.1, spot=0.04),
    instance_type("m5.xlarge", 4, 0.2, spot=0.08),
    instance_type("m5.2xlarge", 8, 0.4, spot=0.16),
]


def template(
    cpu: str = "900m", memory: str = "1Gi", *, annotations: dict[str, str] | None = None, **requests: str
) -> Any:
    amounts = {"cpu": cpu, "memory": memory, **{k.replace("__", "/").replace("_", "."): v for k, v in requests.items()}}
    return {
        "metadata": {"annotations": annotations or {}},
        "spec": {"containers": [{"resources": {"requests": amounts}}]},
    }


class World(SmallWorld):
    """A world that keeps what it was told: (ms, kind, about, message)."""

    def __init__(self, *pools: Any, types: list[InstanceType] | None = None, **more: Any) -> None:
        self.told: list[tuple[int, str, str, str]] = []
        pools = pools or (node_pool(disruption={"budgets": [{"nodes": "100%"}]}),)
        super().__init__(pools, types or TYPES, timings=more.pop("timings", EXACT), tell=self._hear, **more)

    def _hear(self, kind: str, about: str, message: str) -> None:
        self.told.append((self.now_ms, kind, about, message))

    def when(self, kind: str, about: str, start: str = "") -> int:
        """When it was told first. StopIteration: never."""
        return next(at for at, k, a, message in self.told if (k, a) == (kind, about) and message.startswith(start))

    def nodes(self) -> list[str]:
        return list(self.state.nodes)

    def placed(self) -> int:
        return sum(1 for one in self.pods.values() if one["spec"].get("nodeName"))


def on_demand(**disruption: Any) -> Any:
    spec = {"budgets": [{"nodes": "100%"}], **disruption}
    return node_pool("default", rule(CAPACITY_TYPE, "In", "on-demand"), disruption=spec)


def test_from_a_pod_that_waits_to_one_that_runs() -> None:
    """One second of batching, 8 s until the machine is there, 40 s of boot, 5 s until the kubelet is ready."""
    world = World()
    world.scale("web", 3, template())
    world.run(2 * MINUTE)
    assert world.when("decide", "default-1", "Launched") == 1_000
    assert world.when("node", "default-1", "has joined") == 49_000
    assert world.when("decide", "default-1", "Initialized") == 49_000 + READY_MS
    assert (world.when("bind", "web-1"), world.placed()) == (49_000 + READY_MS, 3)
    world.cloud.check_invariants()


def test_batches_close_after_a_second_of_quiet_and_ten_at_most() -> None:
    """settings: BATCH_IDLE_DURATION 1s, BATCH_MAX_DURATION 10s."""
    world = World()
    for number in range(1, 15):
        world.scale("web", number, template())
        world.run(900)
    assert world.when("decide", "default-1", "Created") == 10_000
    assert world.told[0][1:3] == ("wait", "web-1")


def test_nodes_on_their_way_are_not_ordered_twice() -> None:
    world = World()
    world.scale("web", 2, template("500m"))
    world.run(10_000)
    world.scale("web", 3, template("500m"))
    world.run(60_000)
    assert (world.nodes(), world.placed()) == (["default-1"], 3)


def test_fewer_pods_make_a_smaller_node_and_none_make_none() -> None:
    world = World(on_demand(consolidateAfter="30s"))
    world.scale("web", 6, template())
    world.run(3 * MINUTE)
    before = world.price_micros
    world.scale("web", 2)
    world.run(5 * MINUTE)
    assert (before, world.price_micros, world.placed()) == (400_000, 100_000, 2)
    started = world.when("decide", "default-1", "DisruptionStarted")
    assert started >= 3 * MINUTE + 30_000 + 15_000
    assert world.when("evict", "web-3" if "default/web-3" in world.pods else "web-5") >= world.when(
        "decide", "default-2", "Initialized"
    )
    world.scale("web", 0)
    world.run(5 * MINUTE)
    assert (world.nodes(), world.price_micros, list(world.cloud.live())) == ([], 0, [])


def test_a_pool_without_capacity_is_left_out_for_three_minutes() -> None:
    """launch.go: InsufficientCapacity deletes the claim; the next round asks elsewhere."""
    world = World(node_pool("default", rule(CAPACITY_TYPE, "In", "spot", "on-demand")))
    for zone in "abc":
        for one in TYPES:
            world.cloud.set_capacity(Pool(one.name, zone, SPOT), 0)
    world.scale("web", 1, template())
    world.run(2 * MINUTE)
    assert world.when("decide", "default-1", "InsufficientCapacityError") == 1_000
    assert world.when("decide", "default-2", "Launched: m5.large/a/on-demand") == 2_000
    assert world.placed() == 1
    assert Pool("m5.large", "a", SPOT) in world.karpenter.unavailable.at(181_000 - 1)
    assert world.karpenter.unavailable.at(181_000) == frozenset()


def test_without_any_capacity_it_asks_again_when_pools_are_open_again() -> None:
    world = World(on_demand())
    pools = [Pool(one.name, zone, "on-demand") for one in TYPES for zone in "abc"]
    for pool in pools:
        world.cloud.set_capacity(pool, 0)
    world.scale("web", 1, template())
    world.run(MINUTE)
    assert world.nodes() == []
    for pool in pools:
        world.cloud.set_capacity(pool, None)
    world.run(4 * MINUTE)
    assert world.placed() == 1


def test_a_spot_interruption_drains_at_once_and_replaces_at_once() -> None:
    """disruption.md, Interruption: drain and provision in parallel, within the two minutes' notice."""
    world = World(node_pool("default", rule(CAPACITY_TYPE, "In", "spot"), disruption={"consolidateAfter": "Never"}))
    world.scale("web", 1, template())
    world.run(2 * MINUTE)
    instance = next(iter(world.cloud.live()))
    events = world.cloud.interrupt(instance.id, world.now_ms)
    world.karpenter.interrupted(events[0], world.now_ms)  # type: ignore[arg-type]
    world.run(90_000)
    assert world.when("decide", "default-2", "Launched") <= 2 * MINUTE + 2_000
    assert "m5.large/a/spot" not in next(
        m for _, _, a, m in world.told if a == "default-2" and m.startswith("Launched")
    )
    assert (world.nodes(), world.placed()) == (["default-2"], 1)


def test_expiry_drains_without_a_replacement_standing_ready() -> None:
    """disruption.md, Expiration: forceful, not held back by budgets."""
    pool = node_pool(template={"expireAfter": "10m"}, disruption={"budgets": [{"nodes": "0"}]})
    world = World(pool)
    world.scale("web", 1, template())
    world.run(11 * MINUTE)
    assert world.when("decide", "default-1", "Expired") == 10 * MINUTE + 1_000
    assert world.when("evict", "web-1") == 10 * MINUTE + 1_000
    world.run(2 * MINUTE)
    assert (world.nodes(), world.placed()) == (["default-2"], 1)


@pytest.mark.parametrize(
    ("grace", "gone_by_ms"),
    [
        pytest.param("5m", 16 * MINUTE, id="terminationGracePeriod ends the wait"),
        pytest.param(None, None, id="without it the node stays for ever"),
    ],
)
def test_do_not_disrupt_holds_an_expired_node(grace: str | None, gone_by_ms: int | None) -> None:
    """disruption.md: expireAfter + terminationGracePeriod is the most a node can live."""
    more = {"terminationGracePeriod": grace} if grace else {}
    world = World(node_pool(template={"expireAfter": "10m", **more}))
    made = template(annotations={DO_NOT_DISRUPT: "true"})
    made["spec"]["terminationGracePeriodSeconds"] = 30
    world.scale("web", 1, made)
    world.run(60 * MINUTE if gone_by_ms is None else gone_by_ms)
    assert ("default-1" in world.nodes()) is (gone_by_ms is None)
    if gone_by_ms is not None:
        assert world.when("evict", "web-1") == 10 * MINUTE + 1_000 + 5 * MINUTE - 30_000 + 1_000


def test_a_budget_of_one_lets_a_drain_take_turns() -> None:
    """Termination Controller: evictions respect PodDisruptionBudgets, and are asked for again."""
    pdb = {"metadata": {"name": "b", "namespace": "default"}, "spec": {"minAvailable": 2,
           "selector": {"matchLabels": {"app": "web"}}}}  # fmt: skip
    world = World(on_demand(consolidateAfter="Never"), pdbs=[pdb])
    world.scale("web", 3, template("500m"))
    world.run(2 * MINUTE)
    world.karpenter.delete_claim("default-1", world.now_ms)
    least = 3
    while "default-1" in world.nodes():
        world.advance()
        least = min(least, world.placed())
    assert (least, world.placed()) == (2, 3)


def test_a_template_keeps_its_own_labels_and_namespace() -> None:
    """The label `app` may be another word than the application's name; budgets and rules select by it."""
    made = template("500m")
    made["metadata"] |= {"labels": {"app": "frontend"}, "namespace": "shop"}
    pdb = {"metadata": {"name": "b", "namespace": "shop"}, "spec": {"maxUnavailable": 0,
           "selector": {"matchLabels": {"app": "frontend"}}}}  # fmt: skip
    world = World(on_demand(consolidateAfter="Never"), pdbs=[pdb])
    world.scale("web", 2, made)
    world.run(2 * MINUTE)
    assert sorted(world.pods) == ["shop/web-1", "shop/web-2"]
    world.karpenter.delete_claim("default-1", world.now_ms)
    world.run(2 * MINUTE)
    assert "default-1" in world.nodes() and world.placed() == 2  # the budget holds the drain
    world.scale("web", 1)
    assert len(world.pods) == 1


def test_a_budget_that_names_neither_bound_allows_nothing() -> None:
    """disruption.go, getExpectedPodCount: the expected count stays 0, and so nothing is allowed."""
    pdb = {"metadata": {"name": "b", "namespace": "default"}, "spec": {"selector": {"matchLabels": {"app": "web"}}}}
    world = World(on_demand(consolidateAfter="Never"), pdbs=[pdb])
    world.scale("web", 1, template("500m"))
    world.run(2 * MINUTE)
    world.karpenter.delete_claim("default-1", world.now_ms)
    world.run(2 * MINUTE)
    assert list(world.pods) == ["default/web-1"]


def test_gpus_are_there_twenty_seconds_after_the_node_is_ready() -> None:
    """K102: Ready is not yet allocatable; initialization.go waits for the resources that were asked for."""
    gpu = instance_type("g5.xlarge", 4, 1.0, gpus=1, gpu_product="NVIDIA-A10G")
    world = World(types=[gpu])
    world.scale("llm", 1, template(nvidia_com__gpu="1"))
    world.run(3 * MINUTE)
    ready = world.when("node", "default-1", "is ready")
    assert world.when("node", "default-1", "has registered nvidia.com/gpu") - ready == PLUGIN_MS
    assert world.when("decide", "default-1", "Initialized") == world.when("bind", "llm-1") == ready + PLUGIN_MS


def test_start_up_taints_keep_pods_away_until_they_are_gone() -> None:
    startup = {"key": "cilium", "effect": "NoExecute"}
    world = World(node_pool(template={"startupTaints": [startup]}))
    world.scale("web", 1, template())
    world.run(2 * MINUTE)
    assert world.when("bind", "web-1") == world.when("node", "default-1", "has lost its start-up taints")
    assert len(world.nodes()) == 1


def test_an_instance_that_never_joins_is_replaced_after_fifteen_minutes() -> None:
    """liveness.go, registrationTimeout."""
    world = World(timings=CloudTimings(boot_failures_per_1000=1_000))
    world.scale("web", 1, template())
    world.run(16 * MINUTE)
    assert world.when("decide", "default-1", "registration_timeout") == 15 * MINUTE + 1_000
    assert world.nodes() == ["default-2"]


def test_a_replacement_that_does_not_come_rolls_the_command_back() -> None:
    """disruption.md: if a replacement fails to initialize, un-taint the nodes and begin anew."""
    world = World(on_demand(consolidateAfter="10s"))
    world.scale("web", 6, template())
    world.run(2 * MINUTE)
    for zone in "abc":  # what would be cheaper is sold out
        for name in ("m5.large", "m5.xlarge"):
            world.cloud.set_capacity(Pool(name, zone, "on-demand"), 0)
    world.scale("web", 1)
    world.run(2 * MINUTE)
    assert world.when("decide", "default-1", "RolledBack") > 0
    node = world.state.nodes["default-1"].node
    assert node is not None and node["spec"]["taints"] == []
    assert world.placed() == 1


def test_the_same_seed_tells_the_same_story() -> None:
    def once() -> Any:
        world = World(on_demand(consolidateAfter="30s"), timings=CloudTimings(boot_failures_per_1000=100), seed=5)
        for replicas in (9, 3, 14, 1):
            world.scale("web", replicas, template())
            world.run(6 * MINUTE)
        world.state.check_invariants()
        world.cloud.check_invariants()
        return world.told

    assert once() == once()


def test_scaling_what_is_not_known_is_refused() -> None:
    world = World()
    with pytest.raises(ValueError, match="app 'web': not known, expected a template"):
        world.scale("web", 1)
    with pytest.raises(ValueError, match="replicas -1: expected 0 or more"):
        world.scale("web", -1, template())
