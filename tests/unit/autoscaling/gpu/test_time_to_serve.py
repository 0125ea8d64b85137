"""Cold starts, capacity that is not there, gangs, bursts, and training that must not be moved."""

from __future__ import annotations

import random
from typing import Any

import pytest

from k8slab.autoscaling.cloud import Cloud, CloudTimings, InstanceState, Pool
from k8slab.autoscaling.gpu import Burst, ColdStart, QueueScaler, buy, buy_gang, gpu_pools, serve
from k8slab.autoscaling.karpenter import Method
from tests.karpenter import CAPACITY_TYPE, DO_NOT_DISRUPT, cluster, instance_type, node_pool, rule, run_node
from tests.unit.autoscaling.karpenter.test_consolidation import command
from tests.unit.autoscaling.karpenter.test_small_world import EXACT, World, template

A10G: dict[str, Any] = {"gpus": 1, "gpu_product": "NVIDIA-A10G", "gpu_memory": 24_576}
ZONES = ("a", "b")


def gpu_types() -> list[Any]:
    return [
        instance_type("g5.xlarge", 4, 1.0, spot=0.4, zones=ZONES, **A10G),
        instance_type("g5.12xlarge", 48, 5.7, zones=ZONES, **{**A10G, "gpus": 4}),
        instance_type("p5.48xlarge", 192, 55.0, zones=("a",), gpus=8, gpu_product="NVIDIA-H100-80GB-HBM3"),
        instance_type("m5.large", 2, 0.1, zones=ZONES),
    ]


def cloud(**capacity: int) -> Cloud:
    pools = {Pool(name.replace("_", ".").split("/")[0], *name.split("/")[1:]): n for name, n in capacity.items()}
    return Cloud(gpu_types(), random.Random(1), timings=EXACT, capacity=pools)


# -- K102: time to serve = provision + boot + (driver) + plugin + pull + load ----------------------------------------


def test_the_stages_add_up() -> None:
    sizes: dict[str, Any] = {"image_gib": 10, "image_mib_per_s": 100, "model_gib": 20, "model_mib_per_s": 500}
    start = ColdStart(CloudTimings(8_000, 40_000, 0, 30_000), 5_000, plugin_ms=20_000, warm_up_ms=6_000, **sizes)
    pull, load = 10 * 1024 * 10, 20 * 1024 * 2
    assert [(stage.name, stage.lasts_ms) for stage in start.stages] == [
        ("provision", 8_000),
        ("boot", 70_000),
        ("kubelet", 5_000),
        ("plugin", 20_000),
        ("image", pull),
        ("load", load),
        ("warm-up", 6_000),
    ]
    assert start.total_ms == 109_000 + pull + load
    assert [start.before(name) for name in ("kubelet", "plugin")] == [83_000, 103_000]
    assert all(a.ends_ms == b.starts_ms for a, b in zip(start.stages, start.stages[1:], strict=False))


@pytest.mark.parametrize(
    ("change", "less_ms"),
    [
        pytest.param({"image_on_disk": True}, 8 * 1024 * 1000 // 77, id="the image lies on the machine's disk"),
        pytest.param({"driver_baked": False}, -90_000, id="the driver is not in the machine's image"),
        pytest.param({"warm_node": True}, 8_000 + 70_000 + 5_000 + 20_000, id="a node stands ready"),
        pytest.param({"model_gib": 0}, 32_000, id="the model comes with the image"),
    ],
)
def test_what_makes_it_shorter(change: dict[str, Any], less_ms: int) -> None:
    assert ColdStart().total_ms - ColdStart(**change).total_ms == less_ms


def test_bad_budgets() -> None:
    with pytest.raises(ValueError, match="image_mib_per_s: 0: expected more than 0"):
        ColdStart(image_mib_per_s=0)
    with pytest.raises(ValueError, match="model_gib: -1"):
        ColdStart(model_gib=-1)
    with pytest.raises(ValueError, match="stage 'dns'"):
        ColdStart().before("dns")


# -- capacity -------------------------------------------------------------------------------------------------


def test_pools_come_by_price_and_only_with_enough_gpus_in_one_machine() -> None:
    assert [str(one) for one in gpu_pools(gpu_types(), 4)] == [
        "g5.12xlarge/a/on-demand",
        "g5.12xlarge/b/on-demand",
        "p5.48xlarge/a/on-demand",
    ]
    assert str(gpu_pools(gpu_types(), 1, spot=True)[0]) == "g5.xlarge/a/spot"
    assert [str(one) for one in gpu_pools(gpu_types(), 1, product="H100")] == ["p5.48xlarge/a/on-demand"]
    assert {one.zone for one in gpu_pools(gpu_types(), 1, zones=("b",))} == {"b"}
    with pytest.raises(ValueError, match="no instance type has 16 GPUs in one machine"):
        gpu_pools(gpu_types(), 16)


def test_falling_back_over_zones_and_types() -> None:
    """S0-69: InsufficientInstanceCapacity; try another zone, then another type."""
    sky = cloud(**{"g5_xlarge/a/on-demand": 0, "g5_xlarge/b/on-demand": 0})
    bought = buy(sky, gpu_pools(gpu_types(), 1), now_ms=0)
    assert [(str(one.pool), one.error) for one in bought.attempts] == [
        ("g5.xlarge/a/on-demand", "InsufficientInstanceCapacity"),
        ("g5.xlarge/b/on-demand", "InsufficientInstanceCapacity"),
        ("g5.12xlarge/a/on-demand", ""),
    ]
    assert bought.instance is not None and bought.at_ms == 0


def test_waiting_for_capacity() -> None:
    sky = cloud(**{"p5_48xlarge/a/on-demand": 0})
    bought = buy(sky, gpu_pools(gpu_types(), 8), now_ms=0, rounds=3)
    assert (bought.instance, [one.at_ms for one in bought.attempts]) == (None, [0, 60_000, 120_000])
    with pytest.raises(ValueError, match="expected at least one of each"):
        buy(sky, [], now_ms=0)


@pytest.mark.parametrize(
    ("first", "second", "bought", "given_back"),
    [
        pytest.param(4, 4, "g5.xlarge", 0, id="the first pool has all"),
        pytest.param(3, 4, "g5.12xlarge", 3, id="three of four are given back, the next pool has all"),
        pytest.param(3, 1, "", 4, id="no pool has all: nothing stays"),
    ],
)
def test_gangs_are_all_or_nothing(first: int, second: int, bought: str, given_back: int) -> None:
    sky = cloud(**{"g5_xlarge/a/on-demand": first, "g5_12xlarge/a/on-demand": second})
    pools = [Pool(name, "a", "on-demand") for name in ("g5.xlarge", "g5.12xlarge")]
    launch = buy_gang(sky, pools, 4, now_ms=0)
    assert ({one.instance_type.name for one in launch.instances}, launch.given_back) == (
        {bought} if bought else set(),
        given_back,
    )
    assert sum(1 for _ in sky.live()) == len(launch.instances)
    assert sum(one.state is InstanceState.SHUTTING_DOWN for one in sky.instances.values()) == given_back
    sky.check_invariants()
    with pytest.raises(ValueError, match="count: 0"):
        buy_gang(sky, pools, 0, now_ms=0)


# -- inference on the length of the queue -----------------------------------------------------------------------

BURST = Burst(quiet_per_s=2, peak_per_s=20, starts_s=60, ends_s=360, until_s=900)


@pytest.mark.parametrize(
    ("queued", "wish"),
    [
        pytest.param(0, 1, id="the least"),
        pytest.param(10, 1, id="one for ten"),
        pytest.param(11, 2, id="rounded up"),
        pytest.param(10_000, 8, id="the most"),
    ],
)
def test_replicas_wished_for(queued: int, wish: int) -> None:
    assert QueueScaler(per_replica=10, least=1, most=8).wish(queued) == wish


def naive_waits(load: Burst, replicas: int) -> list[int]:
    """With a fixed number of replicas and one second a request: who comes at s is served in order."""
    waits, queue = [], []
    for second in range(5_000):
        queue += [second] * load.at(second)
        for since in queue[:replicas]:
            waits.append(second - since)
        del queue[:replicas]
    return waits


@pytest.mark.parametrize("replicas", [2, 5, 20])
def test_a_fixed_number_of_replicas_serves_in_order(replicas: int) -> None:
    scaler = QueueScaler(per_replica=1, least=replicas, most=replicas)
    served = serve(BURST, scaler, seconds_per_request=1, cold_start_s=0)
    assert served.waits_s == naive_waits(BURST, replicas)


def test_the_longer_the_cold_start_the_longer_the_wait() -> None:
    scaler = QueueScaler(per_replica=10, least=1, most=16)
    waits = [serve(BURST, scaler, seconds_per_request=0.5, cold_start_s=s).worst_wait_s for s in (0, 30, 120, 240)]
    assert waits == sorted(waits) and waits[-1] - waits[0] >= 180
    total = sum(BURST.at(second) for second in range(900))
    assert serve(BURST, scaler, seconds_per_request=0.5, cold_start_s=240).served == total


def test_from_zero_the_first_request_waits_for_the_whole_cold_start() -> None:
    lone = Burst(0, 1, 30, 31, 31)
    served = serve(lone, QueueScaler(per_replica=1, least=0, most=1), seconds_per_request=1, cold_start_s=100)
    assert served.waits_s == [100]  # the scaler looks at 30


def test_scaling_down_waits_for_the_window() -> None:
    served = serve(BURST, QueueScaler(per_replica=10, least=1, most=16), seconds_per_request=0.5, cold_start_s=0)
    peak = max(count for _, _, _, count in served.timeline)
    high = max(second for second, queued, _, _ in served.timeline if queued > 10 * (peak - 1))
    down = next(second for second, _, _, count in served.timeline if second > high and count < peak)
    assert down - high == 300  # five minutes after the last wish for as many


def test_bad_scalers() -> None:
    with pytest.raises(ValueError, match="per_replica 0"):
        QueueScaler(per_replica=0)
    with pytest.raises(ValueError, match="least 3, most 2"):
        QueueScaler(per_replica=1, least=3, most=2)
    with pytest.raises(ValueError, match="seconds_per_request: 0: expected more than 0"):
        serve(BURST, QueueScaler(1), seconds_per_request=0, cold_start_s=0)


# -- together with Karpenter -----------------------------------------------------------------------------------------


def gpu_pod(name: str, gpus: str = "1", annotations: dict[str, str] | None = None) -> Any:
    made = template(nvidia_com__gpu=gpus, annotations=annotations)
    return {**made, "metadata": {**made["metadata"], "name": name, "labels": {"app": name}}}


@pytest.mark.parametrize(
    ("annotations", "moves"),
    [
        pytest.param({}, True, id="an unprotected training is moved to save money"),
        pytest.param({DO_NOT_DISRUPT: "true"}, False, id="a protected one is not"),
    ],
)
def test_training_and_consolidation(annotations: dict[str, str], moves: bool) -> None:
    """S0-70: karpenter.sh/do-not-disrupt on the Pod."""
    pool = node_pool("default", rule(CAPACITY_TYPE, "In", "on-demand"), disruption={"budgets": [{"nodes": "100%"}]})
    state = cluster(pool, types=gpu_types())
    run_node(state, "big", "g5.12xlarge", gpu_pod("train", annotations=annotations))
    found, reasons = command(state, Method.SINGLE)
    assert (found is not None) is moves
    if not moves:
        assert reasons["big"] == 'pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/train)'


def test_a_gpu_node_is_tainted_bought_and_used_only_by_who_asks() -> None:
    """S0-70: toleration, product label, limits: and an ordinary Pod lands elsewhere."""
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    pools = [
        node_pool(
            "gpu", rule("karpenter.k8s.aws/instance-gpu-name", "In", "a10g"), template={"taints": [taint]}, weight=10
        ),
        node_pool("plain", rule("karpenter.k8s.aws/instance-gpu-count", "DoesNotExist")),
    ]
    world = World(*pools, types=gpu_types())
    llm = template(nvidia_com__gpu="1")
    llm["spec"]["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    world.scale("llm", 1, llm)
    world.scale("web", 1, template())
    world.run(180_000)
    where = {key: pod["spec"]["nodeName"] for key, pod in world.pods.items()}
    assert {key: world.state.nodes[name].claim.pool for key, name in where.items()} == {  # type: ignore[union-attr]
        "default/llm-1": "gpu",
        "default/web-1": "plain",
    }


@pytest.mark.parametrize(
    ("field", "value"), [("quiet_per_s", -1), ("peak_per_s", 1.5), ("until_s", True), ("starts_s", 400)]
)
def test_bad_bursts_are_told_the_field(field: str, value: Any) -> None:
    numbers: dict[str, Any] = {"quiet_per_s": 2, "peak_per_s": 20, "starts_s": 60, "ends_s": 360, "until_s": 900}
    with pytest.raises(ValueError, match=field):
        Burst(**{**numbers, field: value})


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), -1.0])
def test_a_request_takes_some_time_and_not_for_ever(seconds: float) -> None:
    with pytest.raises(ValueError, match="seconds_per_request"):
        serve(Burst(1, 1, 0, 1, 1), QueueScaler(1), seconds_per_request=seconds, cold_start_s=1)
