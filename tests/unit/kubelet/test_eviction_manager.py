"""The eviction manager: when it acts, on whom, and what it says."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.kubelet.eviction import (
    DELETE_CONTAINERS,
    DELETE_IMAGES,
    ContainerStats,
    EvictionManager,
    EvictPod,
    FsStats,
    NodeEvent,
    PodStats,
    Reclaim,
    Summary,
    VolumeStats,
)

MI = 1 << 20
HARD = {"evictionHard": {"memory.available": "100Mi"}}
SOFT = {
    "evictionHard": {},
    "evictionSoft": {"memory.available": "1Gi"},
    "evictionSoftGracePeriod": {"memory.available": "90s"},
    "evictionMaxPodGracePeriod": 60,
}


def pod(name: str, request: str = "", **spec: Any) -> dict[str, Any]:
    resources = {"requests": {"memory": request}} if request else {}
    annotations = spec.pop("annotations", {})
    body = {"containers": [{"name": "c", "resources": resources}], **spec}
    return {"metadata": {"name": name, "uid": name, "annotations": annotations}, "spec": body}


def memory(available: int, time_ms: int, **used: int) -> Summary:
    pods = {name: PodStats(memory=mi * MI, containers=(ContainerStats("c", mi * MI),)) for name, mi in used.items()}
    return Summary(time_ms, memory_available=available * MI, memory_working_set=4096 * MI, pods=pods)


def names(decision: Any) -> list[str]:
    return [effect.pod["metadata"]["name"] for effect in decision.evicted]


def test_a_hard_threshold_acts_at_once_and_on_one_pod_a_look() -> None:
    manager, pods = EvictionManager(HARD), [pod("a"), pod("b"), pod("c")]
    first = manager.synchronize(pods, memory(99, 0, a=1, b=3, c=2), 0)
    assert first.effects[0] == NodeEvent("Warning", "EvictionThresholdMet", "Attempting to reclaim memory")
    assert names(first) == ["b"] and first.evicted[0].grace_period_seconds == 1
    second = manager.synchronize([pods[0], pods[2]], memory(99, 1_000, a=1, c=2), 1_000)
    assert names(second) == ["c"]
    manager.check_invariants()


def test_nothing_is_done_on_the_same_measurement_twice() -> None:
    manager, pods = EvictionManager(HARD), [pod("a"), pod("b")]
    manager.synchronize(pods, memory(99, 0, a=1, b=3), 0)
    again = manager.synchronize([pods[0]], memory(99, 0, a=1), 1_000)
    assert again.effects == () and again.met and again.starved == ()


def test_a_soft_threshold_waits_for_its_grace_period_and_grants_one() -> None:
    manager = EvictionManager(SOFT)
    pods = [pod("patient", terminationGracePeriodSeconds=300), pod("quick", terminationGracePeriodSeconds=10)]
    used = {"patient": 900, "quick": 800}
    looks = {now: manager.synchronize(pods, memory(1023, now, **used), now) for now in (0, 80_000, 90_000, 100_000)}
    assert [names(looks[now]) for now in looks] == [[], [], ["patient"], ["patient"]]
    assert looks[90_000].evicted[0].grace_period_seconds == 60, "the most that is configured"
    del used["patient"]
    after = manager.synchronize([pods[1]], memory(1023, 110_000, **used), 110_000)
    assert after.evicted[0].grace_period_seconds == 10, "its own, which is shorter"
    assert manager.node_conditions == ["MemoryPressure"]


def test_a_soft_threshold_reports_pressure_before_anybody_is_evicted() -> None:
    manager = EvictionManager(SOFT)
    assert manager.synchronize([pod("a")], memory(1023, 0, a=1), 0).effects == ()
    assert manager.node_conditions == ["MemoryPressure"] and manager.waits_until_ms() == 90_000


def test_a_condition_stays_for_the_transition_period_after_its_last_cause() -> None:
    manager = EvictionManager({**HARD, "evictionPressureTransitionPeriod": "30s"})
    manager.synchronize([], memory(99, 0), 0)
    told = []
    for now in (10_000, 29_999, 30_000):
        manager.synchronize([], memory(500, now), now)
        told.append(list(manager.node_conditions))
    assert told == [["MemoryPressure"], ["MemoryPressure"], []]


def test_the_minimum_to_reclaim_keeps_evicting_until_it_is_free() -> None:
    manager = EvictionManager({**HARD, "evictionMinimumReclaim": {"memory.available": "200Mi"}})
    pods = [pod(name) for name in "abc"]
    used = {"a": 300, "b": 200, "c": 100}
    evicted = []
    for now, available in ((0, 50), (1_000, 299), (2_000, 300)):
        evicted.append(names(manager.synchronize(pods, memory(available, now, **used), now)))
        pods = [one for one in pods if [one["metadata"]["name"]] != evicted[-1]]
    assert evicted == [["a"], ["b"], []], "299Mi are more than 100Mi, and less than 100Mi and 200Mi"


def test_usage_above_the_request_goes_before_priority_before_the_amount() -> None:
    pods = [
        pod("over-high", "100Mi", priority=1000),
        pod("over-low", "100Mi", priority=0),
        pod("under-low", "2Gi", priority=-10),
        pod("over-low-more", "100Mi", priority=0),
    ]
    used = {"over-high": 900, "over-low": 200, "under-low": 1500, "over-low-more": 201}
    decision = EvictionManager(HARD).synchronize(pods, memory(1, 0, **used), 0)
    assert [one.name for one in decision.ranking] == ["over-low-more", "over-low", "over-high", "under-low"]
    words = [a.before(b) for a, b in zip(decision.ranking, decision.ranking[1:], strict=False)]
    assert words == [
        "over-low-more goes before over-low: both use more memory than they request; both have priority 0; "
        "its use of memory is 101Mi above its request, that of over-low is 100Mi above its request.",
        "over-low goes before over-high: both use more memory than they request; "
        "its priority is 0, that of over-high is 1000.",
        "over-high goes before under-low: it uses more memory than it requests, "
        "under-low uses no more memory than it requests.",
    ]


def test_a_best_effort_pod_outlives_a_burstable_one_of_lower_priority() -> None:
    pods = [pod("best-effort", priority=100), pod("burstable", "100Mi")]
    decision = EvictionManager(HARD).synchronize(pods, memory(1, 0, **{"best-effort": 900, "burstable": 101}), 0)
    assert names(decision) == ["burstable"]


def test_a_pod_of_which_nothing_was_measured_goes_first_and_pods_alike_keep_their_order() -> None:
    pods = [pod("a"), pod("b"), pod("unknown"), pod("c")]
    decision = EvictionManager(HARD).synchronize(pods, memory(1, 0, a=5, b=5, c=5), 0)
    assert [one.name for one in decision.ranking] == ["unknown", "a", "b", "c"]
    assert "nothing tells them apart" in decision.ranking[1].before(decision.ranking[2])
    assert decision.ranking[0].before(decision.ranking[1]) == (
        "unknown goes before a: nothing was measured of it, a uses more memory than it requests."
    )


STATIC = {"kubernetes.io/config.source": "file"}
MIRROR = {"kubernetes.io/config.mirror": "x"}


@pytest.mark.parametrize(
    "critical",
    [
        pytest.param(pod("x", priority=2_000_001_000), id="of a system priority"),
        pytest.param(pod("x", annotations=STATIC), id="static"),
        pytest.param(pod("x", annotations=MIRROR), id="mirror of a static one"),
    ],
)
def test_a_critical_pod_is_passed_over(critical: dict[str, Any]) -> None:
    decision = EvictionManager(HARD).synchronize([critical, pod("y", "1Gi")], memory(1, 0, x=900, y=1), 0)
    assert names(decision) == ["y"]
    alone = EvictionManager(HARD).synchronize([critical], memory(1, 0, x=900), 0)
    assert names(alone) == [] and alone.passed_over == ("x",)


def test_without_pods_only_the_event_is_left() -> None:
    assert len(EvictionManager(HARD).synchronize([], memory(1, 0), 0).effects) == 1


def test_memory_comes_before_disk() -> None:
    manager = EvictionManager({"evictionHard": {"nodefs.available": "10%", "memory.available": "100Mi"}})
    disk = FsStats(available_bytes=0, capacity_bytes=100)
    summary = Summary(0, 0, 100, node_fs=disk, image_fs=disk, pods={"a": PodStats(memory=1)})
    decision = manager.synchronize([pod("a")], summary, 0)
    assert str(decision.threshold) == "memory.available < 100Mi"
    assert manager.node_conditions == ["MemoryPressure", "DiskPressure"]


# -- disk ------------------------------------------------------------------------------------------

DISK = {"evictionHard": {"nodefs.available": "10%"}}


def disk(available: int, time_ms: int, **used: int) -> Summary:
    pods = {
        name: PodStats(containers=(ContainerStats("c", rootfs=FsStats(amount), logs=FsStats(0)),))
        for name, amount in used.items()
    }
    fs = FsStats(available_bytes=available, capacity_bytes=1000, inodes_free=50, inodes=100)
    return Summary(time_ms, node_fs=fs, image_fs=fs, container_fs=fs, pods=pods)


def test_a_disk_is_cleared_of_dead_containers_and_images_before_anybody_goes() -> None:
    manager = EvictionManager(DISK)
    decision = manager.synchronize([pod("a")], disk(99, 0, a=5), 0)
    assert decision.effects[1] == Reclaim("ephemeral-storage", (DELETE_CONTAINERS, DELETE_IMAGES))
    assert manager.after_reclaim(disk(100, 0, a=5)).evicted == []
    with pytest.raises(ValueError, match="after_reclaim: expected after a decision that asks to reclaim"):
        manager.after_reclaim(disk(100, 0, a=5))


def test_when_clearing_does_not_help_a_pod_goes_and_the_message_tells_what_was_seen_before() -> None:
    manager = EvictionManager(DISK)
    manager.synchronize([pod("a"), pod("b")], disk(60, 0, a=5, b=7), 0)
    [effect] = manager.after_reclaim(disk(99, 0, a=5, b=7)).evicted
    assert effect.pod["metadata"]["name"] == "b"
    assert effect.message == (
        "The node was low on resource: ephemeral-storage. Threshold quantity: 100, available: 60. "
        "Container c was using 7, request is 0, has larger consumption of ephemeral-storage. "
    )
    assert effect.annotations["starved_resource"] == "ephemeral-storage"


def test_clearing_has_to_free_the_minimum_too() -> None:
    manager = EvictionManager({**DISK, "evictionMinimumReclaim": {"nodefs.available": "100"}})
    manager.synchronize([pod("a")], disk(60, 0, a=5), 0)
    assert names(manager.after_reclaim(disk(150, 0, a=5))) == ["a"]


def test_with_a_disk_for_images_nothing_can_be_cleared_on_the_other_and_only_logs_and_volumes_count() -> None:
    manager = EvictionManager(DISK, dedicated_image_fs=True)
    layers = PodStats(containers=(ContainerStats("c", rootfs=FsStats(900), logs=FsStats(1)),))
    logs = PodStats(containers=(ContainerStats("c", rootfs=FsStats(0), logs=FsStats(2)),))
    fs = FsStats(available_bytes=1, capacity_bytes=1000)
    decision = manager.synchronize([pod("a"), pod("b")], Summary(0, node_fs=fs, pods={"a": layers, "b": logs}), 0)
    assert names(decision) == ["b"]


def test_a_split_disk_without_one_for_images_is_refused() -> None:
    with pytest.raises(ValueError, match="split_container_image_fs"):
        EvictionManager(DISK, split_container_image_fs=True)


# -- limits of local storage -----------------------------------------------------------------------


def limited(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "uid": "a"}, "spec": {"containers": [{"name": "c"}], **spec}}


LIMIT_100 = {"resources": {"limits": {"ephemeral-storage": "100"}}}


@pytest.mark.parametrize(
    ("manifest", "stats", "message"),
    [
        pytest.param(
            limited(volumes=[{"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}]),
            PodStats(volumes=(VolumeStats("v", FsStats(MI + 1)),)),
            'Usage of EmptyDir volume "v" exceeds the limit "1Mi". ',
            id="an emptyDir above its sizeLimit",
        ),
        pytest.param(
            limited(volumes=[{"name": "v", "emptyDir": {"sizeLimit": "1Mi"}}]),
            PodStats(volumes=(VolumeStats("v", FsStats(MI)),)),
            "",
            id="an emptyDir at its sizeLimit",
        ),
        pytest.param(
            limited(volumes=[{"name": "v", "emptyDir": {"sizeLimit": "0"}}]),
            PodStats(volumes=(VolumeStats("v", FsStats(MI)),)),
            "",
            id="a sizeLimit of zero is none",
        ),
        pytest.param(
            limited(containers=[{"name": "c", **LIMIT_100}, {"name": "d", **LIMIT_100}]),
            PodStats(ephemeral_storage=201),
            "Pod ephemeral local storage usage exceeds the total limit of containers 200. ",
            id="the Pod above the sum of its containers' limits",
        ),
        pytest.param(
            limited(containers=[{"name": "c", **LIMIT_100}, {"name": "d"}]),
            PodStats(containers=(ContainerStats("c", rootfs=FsStats(60), logs=FsStats(41)),), ephemeral_storage=100),
            'Container c exceeded its local ephemeral storage limit "100". ',
            id="a container's layer and logs above its limit",
        ),
    ],
)
def test_a_limit_of_local_storage(manifest: dict[str, Any], stats: PodStats, message: str) -> None:
    manager = EvictionManager({"evictionHard": {}})
    decision = manager.synchronize([manifest], Summary(pods={"a": stats}), 0)
    assert [effect.message for effect in decision.evicted] == ([message] if message else [])


def test_every_pod_above_a_limit_goes_at_once_and_nobody_for_want_of_memory_in_that_look() -> None:
    volumes = [{"name": "v", "emptyDir": {"sizeLimit": "1"}}]
    pods = [
        pod("a", volumes=volumes),
        pod("b", volumes=volumes),
        pod("c"),
        pod("d", volumes=volumes, annotations=STATIC),
    ]
    used = PodStats(memory=1, volumes=(VolumeStats("v", FsStats(2)),))
    summary = Summary(0, 0, 1, pods={"a": used, "b": used, "c": PodStats(memory=99), "d": used})
    decision = EvictionManager(HARD).synchronize(pods, summary, 0)
    assert names(decision) == ["a", "b"] and decision.passed_over == ("d",)
    assert all(isinstance(e, EvictPod) and e.condition is None for e in decision.effects)


def test_with_isolation_switched_off_no_limit_counts() -> None:
    volumes = [{"name": "v", "emptyDir": {"sizeLimit": "1"}}]
    manager = EvictionManager({"evictionHard": {}, "localStorageCapacityIsolation": False})
    used = PodStats(volumes=(VolumeStats("v", FsStats(2)),))
    assert manager.synchronize([pod("a", volumes=volumes)], Summary(pods={"a": used}), 0).effects == ()


# -- admission -------------------------------------------------------------------------------------

TOLERANT = [{"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}]


@pytest.mark.parametrize(
    ("conditions", "arriving", "message"),
    [
        pytest.param([], pod("x"), None, id="without pressure everybody comes"),
        pytest.param(["MemoryPressure"], pod("x"), "[MemoryPressure]", id="BestEffort does not, short of memory"),
        pytest.param(["MemoryPressure"], pod("x", "1Mi"), None, id="Burstable does"),
        pytest.param(["MemoryPressure"], pod("x", tolerations=TOLERANT), None, id="BestEffort that tolerates it does"),
        pytest.param(["DiskPressure"], pod("x", "1Mi"), "[DiskPressure]", id="nobody comes when disk is short"),
        pytest.param(
            ["MemoryPressure", "PIDPressure"],
            pod("x", tolerations=TOLERANT),
            "[MemoryPressure PIDPressure]",
            id="two pressures are more than memory pressure",
        ),
        pytest.param(["DiskPressure"], pod("x", annotations=STATIC), None, id="a critical Pod always comes"),
    ],
)
def test_who_may_come_under_pressure(conditions: list[str], arriving: dict[str, Any], message: str | None) -> None:
    manager = EvictionManager(HARD)
    manager.node_conditions = conditions
    told = manager.admit(arriving)
    assert told == (None if message is None else ("Evicted", f"The node had condition: {message}. "))
