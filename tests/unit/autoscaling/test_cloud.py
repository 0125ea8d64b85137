"""The simulated cloud: what it sells, when machines come and go, what it refuses."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from k8slab.autoscaling.cloud import (
    GIB,
    MIB,
    Cloud,
    CloudTimings,
    InstanceNotFoundError,
    InstanceType,
    LaunchFailedError,
    Offering,
    Pool,
    QuotaExceededError,
    catalogue,
    node_object,
)

A, B = Pool("m5.large", "region-1a", "on-demand"), Pool("m5.large", "region-1b", "on-demand")
SPOT = Pool("m5.large", "region-1a", "spot")
STILL = CloudTimings(pending_ms=1_000, boot_ms=10_000, boot_jitter_ms=0, gpu_boot_ms=20_000, shutdown_ms=5_000)


def plain_type(name: str = "m5.large", cpus: int = 2, **more: object) -> InstanceType:
    zones = ("region-1a", "region-1b")
    offerings = tuple(
        Offering(z, kind, price) for z in zones for kind, price in (("on-demand", 96_000), ("spot", 30_000))
    )
    made = InstanceType(name, "amd64", name[0], name.split(".")[0], 5, "large", cpus * 1_000, 8 * GIB, 29, offerings)
    return replace(made, **more)  # type: ignore[arg-type]


def cloud_of(*types: InstanceType, **options: object) -> Cloud:
    return Cloud(types or (plain_type(),), random.Random(7), timings=STILL, **options)  # type: ignore[arg-type]


NAN = float("nan")


def sold(*offerings: tuple[str, str, float]) -> InstanceType:
    return plain_type(offerings=tuple(Offering(*one) for one in offerings))  # type: ignore[arg-type]


def names(events: object) -> list[tuple[str, int]]:
    return [(type(event).__name__, event.at_ms) for event in events]  # type: ignore[attr-defined]


class TestCatalogue:
    def test_it_has_some_700_types_with_distinct_names_and_the_same_seed_gives_the_same_ones(self) -> None:
        types = catalogue(3)
        assert 650 <= len(types) <= 750
        assert len({one.name for one in types}) == len(types)
        assert types == catalogue(3)
        assert types != catalogue(4)

    def test_spot_costs_25_to_65_percent_of_on_demand_and_on_demand_is_the_same_in_every_zone(self) -> None:
        for one in catalogue():
            on_demand = {offering.price_micros for offering in one.offerings if offering.capacity_type == "on-demand"}
            assert len(on_demand) == 1
            price = on_demand.pop()
            for offering in one.offerings:
                if offering.capacity_type == "spot":
                    assert price * 25 // 100 <= offering.price_micros <= price * 65 // 100

    def test_both_architectures_gpus_and_bare_metal_are_there(self) -> None:
        types = {one.name: one for one in catalogue()}
        assert {one.architecture for one in types.values()} == {"amd64", "arm64"}
        assert types["p5.48xlarge"].gpus == 8 and types["p5.48xlarge"].nvlink
        assert not types["p5.4xlarge"].nvlink  # one GPU has no neighbour
        assert types["m5.metal"].is_bare_metal

    def test_a_node_keeps_6_percent_of_the_first_cpu_1_of_the_second_and_11_mib_a_pod(self) -> None:
        # The formula of EKS: 60m + 10m; 255 MiB + 11 MiB x 29 Pods, and 100 MiB before eviction begins.
        one = plain_type()
        assert one.reserved()["cpu"] == 70
        assert one.reserved()["memory"] == (255 + 11 * 29 + 100) * MIB
        assert one.allocatable()["cpu"] == 1_930
        assert plain_type(cpus=8).reserved()["cpu"] == 60 + 10 + 2 * 5 + 4 * 25 // 10

    def test_a_node_of_a_type_says_what_the_well_known_labels_say(self) -> None:
        node = node_object("n", plain_type(gpus=1), "region-1a", labels={"team": "a"}, taints=[{"key": "gpu"}])
        labels = node["metadata"]["labels"]
        assert labels["node.kubernetes.io/instance-type"] == "m5.large"
        assert labels["topology.kubernetes.io/zone"] == "region-1a"
        assert (labels["kubernetes.io/arch"], labels["team"]) == ("amd64", "a")
        assert node["status"]["allocatable"]["cpu"] == "1930m"
        assert node["status"]["capacity"]["nvidia.com/gpu"] == "1"


class TestLife:
    def test_a_machine_is_pending_then_running_then_booted(self) -> None:
        cloud = cloud_of()
        instance = cloud.launch(A, 500).instance
        assert instance.state == "pending"
        assert cloud.next_due_ms() == 1_500
        assert names(cloud.step(1_499)) == []
        assert names(cloud.step(20_000)) == [("InstanceRunning", 1_500), ("InstanceBooted", 11_500)]
        assert instance.is_booted and cloud.next_due_ms() is None

    def test_gpu_machines_take_longer(self) -> None:
        cloud = cloud_of(plain_type("g5.large", gpus=1))
        cloud.launch(Pool("g5.large", "region-1a", "on-demand"), 0)
        assert names(cloud.step(100_000))[-1] == ("InstanceBooted", 31_000)

    def test_terminating_stops_the_bill_and_frees_capacity_at_once(self) -> None:
        cloud = cloud_of(capacity={A: 1})
        instance = cloud.launch(A, 0).instance
        cloud.step(12_000)
        assert names(cloud.terminate(instance.id, 3_601_000)) == [("InstanceShuttingDown", 3_601_000)]
        assert cloud.terminate(instance.id, 3_602_000) == ()
        assert cloud.is_available(A)
        assert names(cloud.step(3_700_000)) == [("InstanceTerminated", 3_606_000)]
        assert cloud.cost_micros(9_000_000) == 96_000  # one hour, running from 1,000 to 3,601,000

    def test_terminating_while_it_is_pending_means_that_it_never_runs_nor_costs(self) -> None:
        cloud = cloud_of()
        instance = cloud.launch(A, 0).instance
        cloud.terminate(instance.id, 500)
        assert names(cloud.step(60_000)) == [("InstanceTerminated", 5_500)]
        assert cloud.cost_micros(60_000) == 0 and not instance.is_booted

    def test_spot_is_taken_back_two_minutes_after_the_notice(self) -> None:
        cloud = cloud_of()
        instance = cloud.launch(SPOT, 0).instance
        cloud.step(30_000)
        assert names(cloud.interrupt(instance.id, 30_000)) == [("SpotInterruptionNotice", 30_000)]
        assert cloud.interrupt(instance.id, 31_000) == ()  # once is enough
        events = cloud.step(200_000)
        assert names(events) == [("InstanceShuttingDown", 150_000), ("InstanceTerminated", 155_000)]
        assert events[0].reason == "spot interruption"  # type: ignore[union-attr]

    def test_interruptions_come_by_themselves_at_the_rate_that_was_asked(self) -> None:
        timings = replace(STILL, spot_interruptions_per_1000_hours=1_000)
        cloud = Cloud([plain_type()], random.Random(7), timings=timings)
        for _ in range(2_000):
            cloud.launch(SPOT, 0)
        notices = [one for one in names(cloud.step(3_601_000)) if one[0] == "SpotInterruptionNotice"]
        assert 1_180 <= len(notices) <= 1_350  # 1 - 1/e of 2,000 within an hour is 1,264; 4 deviations are 86

    def test_a_machine_that_fails_to_boot_runs_and_costs(self) -> None:
        cloud = Cloud([plain_type()], random.Random(7), timings=replace(STILL, boot_failures_per_1000=1_000))
        cloud.launch(A, 0)
        assert names(cloud.step(3_601_000)) == [("InstanceRunning", 1_000)]
        assert cloud.cost_micros(3_601_000) == 96_000


class TestRefusals:
    def test_a_fleet_falls_back_to_the_next_pool_and_says_which_refused(self) -> None:
        cloud = cloud_of(capacity={A: 0})
        bought = cloud.launch([A, B], 0)
        assert bought.instance.pool == B
        assert [(error.code, error.pool) for error in bought.refused] == [("InsufficientInstanceCapacity", A)]

    def test_when_all_pools_refuse_nothing_is_bought(self) -> None:
        cloud = cloud_of(capacity={A: 0, B: 0})
        with pytest.raises(LaunchFailedError, match="InsufficientInstanceCapacity: We currently do not have") as caught:
            cloud.launch([A, B], 0)
        assert [error.pool for error in caught.value.errors] == [A, B]
        assert not cloud.instances and cloud.next_due_ms() is None

    def test_a_quota_counts_cpus_of_all_types_of_its_bucket(self) -> None:
        big = plain_type("c5.xlarge", 4)
        cloud = cloud_of(plain_type(), big, quotas={"standard/on-demand": 6})
        cloud.launch(Pool("c5.xlarge", "region-1a", "on-demand"), 0)
        cloud.launch(A, 0)
        with pytest.raises(LaunchFailedError, match="VcpuLimitExceeded") as caught:
            cloud.launch(A, 0)
        assert isinstance(caught.value.errors[0], QuotaExceededError)
        cloud.launch(SPOT, 0)  # spot has a quota of its own

    def test_gpu_families_have_their_own_quota(self) -> None:
        cloud = cloud_of(plain_type("g5.large", gpus=1), quotas={"g/spot": 0})
        with pytest.raises(LaunchFailedError, match="MaxSpotInstanceCountExceeded"):
            cloud.launch(Pool("g5.large", "region-1a", "spot"), 0)

    def test_capacity_that_comes_back_can_be_bought(self) -> None:
        cloud = cloud_of(capacity={A: 0})
        cloud.set_capacity(A, None)
        assert cloud.launch(A, 0).instance.pool == A

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            (lambda: cloud_of().launch([], 0), "pools: none, expected at least one"),
            (lambda: cloud_of().launch(Pool("x9", "a", "spot"), 0), "instance type 'x9': not in the catalogue"),
            (
                lambda: cloud_of().launch(Pool("m5.large", "mars", "spot"), 0),
                "m5.large/mars/spot: this type is not",
            ),
            (lambda: cloud_of(quotas={"standard": 3}), "quotas: 'standard': expected one of standard/on-demand, "),
            (lambda: cloud_of(quotas={"standart/spot": 3}), "quotas: 'standart/spot': expected one of standard/on-"),
            (lambda: cloud_of(quotas={"standard/spot": -1}), "quotas: standard/spot: -1, expected a whole number"),
            (lambda: cloud_of(quotas={"standard/spot": NAN}), "quotas: standard/spot: nan, expected a whole number"),
            (lambda: cloud_of(capacity={A: -1}), "m5.large/region-1a/on-demand: -1, expected a whole number, 0 or"),
            (lambda: cloud_of(capacity={A: NAN}), "m5.large/region-1a/on-demand: nan, expected a whole number"),
            (lambda: Cloud([], random.Random(1)), "instance types: none"),
            (lambda: cloud_of(plain_type(), plain_type()), "m5.large is there twice"),
            (lambda: cloud_of(plain_type(cpus=0)), "m5.large: milli_cpu is 0, expected a whole number, more than 0"),
            (lambda: cloud_of(plain_type(memory=NAN)), "m5.large: memory is nan, expected a whole number"),
            (lambda: cloud_of(plain_type(gpus=-1)), "m5.large: gpus is -1, expected a whole number, 0 or more"),
            (lambda: cloud_of(replace(plain_type(), name="")), "instance types: name '', expected a text"),
            (lambda: cloud_of(sold()), "instance type m5.large: offerings: none, expected at least one"),
            (lambda: cloud_of(sold(("a", "spot", NAN))), "offering in a: price_micros is nan, expected a whole"),
            (lambda: cloud_of(sold(("a", "spot", -1))), "offering in a: price_micros is -1, expected a whole"),
            (lambda: cloud_of(sold(("a", "lent", 1))), "offering in a: capacity_type 'lent', expected on-demand or"),
            (lambda: cloud_of(sold(("", "spot", 1))), "instance type m5.large: zone '', expected a name"),
            (lambda: cloud_of(sold(("a", "spot", 1), ("a", "spot", 2))), "offering in a: spot is there twice"),
            (lambda: CloudTimings(boot_ms=-1), "boot_ms: -1: expected a number of 0 or more"),
            (lambda: CloudTimings(boot_ms=1, boot_jitter_ms=2), "boot_jitter_ms: 2: expected at most boot_ms, 1"),
            (lambda: catalogue(zones=()), "zones: none"),
            (lambda: catalogue(zones=("a", "a")), "zones: .*: expected names that differ"),
            (lambda: catalogue(zones="abc"), "zones: 'abc': expected names that differ"),
        ],
    )
    def test_bad_input_is_named(self, wrong: object, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            wrong()  # type: ignore[operator]

    def test_instances_nobody_knows_and_time_that_goes_back_are_refused(self) -> None:
        cloud = cloud_of()
        with pytest.raises(InstanceNotFoundError, match="The instance ID 'i-1' does not exist"):
            cloud.terminate("i-1", 0)
        instance = cloud.launch(A, 1_000).instance
        with pytest.raises(ValueError, match="expected a live spot instance"):
            cloud.interrupt(instance.id, 1_000)
        with pytest.raises(ValueError, match="time does not go back"):
            cloud.step(999)

    def test_time_that_goes_back_changes_nothing(self) -> None:
        cloud = cloud_of()
        instance = cloud.launch(A, 0).instance
        cloud.launch(B, 5_000)
        with pytest.raises(ValueError, match="time does not go back"):
            cloud.step(4_000)
        assert instance.running_ms is None
        assert names(cloud.step(5_000)) == [("InstanceRunning", 1_000)]


WORDS = st.sampled_from(["launch", "end", "interrupt", "wait"])
OPERATIONS = st.lists(st.tuples(WORDS, st.integers(0, 9)), max_size=40)
WILD = replace(STILL, boot_jitter_ms=9_000, boot_failures_per_1000=200, spot_interruptions_per_1000_hours=90_000)


@given(OPERATIONS, st.integers(0, 99))
@settings(max_examples=60, deadline=None)
def test_whatever_is_done_books_are_kept_and_the_same_seed_gives_the_same_events(
    operations: list[tuple[str, int]], seed: int
) -> None:
    def run() -> list[object]:
        limits: dict[str, Any] = {"capacity": {A: 2}, "quotas": {"standard/spot": 8}}
        cloud = Cloud([plain_type()], random.Random(seed), timings=WILD, **limits)
        now, seen = 0, list[object]()
        for what, number in operations:
            ids = list(cloud.instances)
            if what == "launch":
                try:
                    cloud.launch([A, SPOT] if number % 2 else [SPOT], now)
                except LaunchFailedError as error:
                    seen.append(error.code)
            elif what == "wait":
                now += number * 7_000
                seen += cloud.step(now)
            elif ids and what == "end":
                seen += cloud.terminate(ids[number % len(ids)], now)
            elif ids:
                one = cloud.instances[ids[number % len(ids)]]
                if one.is_live and one.capacity_type == "spot":
                    seen += cloud.interrupt(one.id, now)
            cloud.check_invariants()
        return seen

    assert run() == run()
