"""Thresholds beyond the golden cases: defaults, what a configuration refuses, containerfs, conditions."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.quantity import Quantity
from k8slab.kubelet.eviction import EvictionConfig, Observation, parse_threshold_config, thresholds_met
from k8slab.kubelet.eviction.config import FIELDS
from k8slab.kubelet.eviction.thresholds import (
    first_observed_at,
    grace_period_met,
    merge_thresholds,
    observed_since,
    update_container_fs_thresholds,
    updated_stats,
)


def texts(config: dict[str, Any]) -> list[str]:
    return [str(threshold) for threshold in EvictionConfig.from_dict(config).thresholds]


DEFAULTS = [  # pkg/kubelet/eviction/defaults_linux.go
    "memory.available < 100Mi",
    "nodefs.available < 10%",
    "nodefs.inodesFree < 5%",
    "imagefs.available < 15%",
    "imagefs.inodesFree < 5%",
]
POD_MEMORY = "allocatableMemory.available < 100Mi"


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param({}, [*DEFAULTS, POD_MEMORY], id="without a configuration the Linux defaults count"),
        pytest.param(
            {"evictionHard": {"memory.available": "500Mi"}},
            ["memory.available < 500Mi", "allocatableMemory.available < 500Mi"],
            id="one threshold of one's own drops all other defaults",
        ),
        pytest.param(
            {"evictionHard": {"memory.available": "500Mi"}, "mergeDefaultEvictionSettings": True},
            ["memory.available < 500Mi", *DEFAULTS[1:], "allocatableMemory.available < 500Mi"],
            id="merged with the defaults only the one that is named changes",
        ),
        pytest.param(
            {"evictionHard": {"memory.available": "0%"}}, [], id="0% switches a threshold, and the defaults, off"
        ),
        pytest.param({"enforceNodeAllocatable": ["none"]}, DEFAULTS, id="the Pods' own cgroup counts when enforced"),
        pytest.param(
            {
                "evictionHard": {},
                "evictionSoft": {"memory.available": "1Gi"},
                "evictionSoftGracePeriod": {"memory.available": "90s"},
            },
            ["memory.available < 1Gi for 1m30s"],
            id="a soft threshold is not copied to the Pods' cgroup",
        ),
    ],
)
def test_a_configuration_means_these_thresholds(config: dict[str, Any], expected: list[str]) -> None:
    assert texts(config) == expected


@pytest.mark.parametrize(
    ("config", "words"),
    [
        pytest.param({"evictionhard": {}}, "unknown field 'evictionhard': expected one of", id="an unknown field"),
        pytest.param(["x"], "expected the fields of a KubeletConfiguration", id="no mapping"),
        pytest.param({"kind": "Pod"}, "kubelet_config.kind: 'Pod'", id="another kind"),
        pytest.param({"evictionHard": "100Mi"}, "kubelet_config.evictionHard: '100Mi'", id="a text for a mapping"),
        pytest.param({"evictionHard": {"memory.available": 100}}, "expected a text such as '100Mi'", id="a number"),
        pytest.param({"evictionHard": {"memory": "1Gi"}}, "unsupported eviction signal memory", id="an unknown signal"),
        pytest.param(
            {"evictionHard": {"memory": "1Gi"}},
            "kubelet_config.evictionHard: memory: '1Gi': unsupported eviction signal memory, expected one of",
            id="an unknown signal, with field and value",
        ),
        pytest.param(
            {"evictionSoft": {"pid.available": "x"}}, "kubelet_config.evictionSoft: pid.available: 'x'", id="soft"
        ),
        pytest.param(
            {"evictionSoftGracePeriod": {"pid.available": "-1s"}},
            "kubelet_config.evictionSoftGracePeriod: pid.available: '-1s': invalid eviction grace period",
            id="a grace period below zero, though nothing is soft",
        ),
        pytest.param(
            {"evictionMinimumReclaim": {"pid.available": "-1"}},
            "kubelet_config.evictionMinimumReclaim: pid.available: '-1': negative eviction minimum reclaim",
            id="less than nothing to reclaim",
        ),
        pytest.param(
            {"evictionSoft": {"pid.available": "5"}},
            "kubelet_config.evictionSoftGracePeriod: nothing for pid.available, which evictionSoft sets to '5'",
            id="a soft threshold without a grace period, with the field",
        ),
        pytest.param({"enforceNodeAllocatable": ["podz"]}, "'podz': expected one of none, pods", id="an unknown key"),
        pytest.param({"enforceNodeAllocatable": ["none", "pods"]}, "expected none alone", id="none beside another"),
        pytest.param({"apiVersion": "v1"}, "kubelet_config.apiVersion: 'v1'", id="another version"),
        pytest.param({"mergeDefaultEvictionSettings": "yes"}, "expected true or false", id="a text for a flag"),
        pytest.param({"evictionMaxPodGracePeriod": "60s"}, "expected whole seconds", id="a text for seconds"),
        pytest.param({"evictionMaxPodGracePeriod": True}, "expected whole seconds", id="true for seconds"),
        pytest.param({"evictionPressureTransitionPeriod": "soon"}, 'invalid duration "soon"', id="no duration"),
        pytest.param({"evictionPressureTransitionPeriod": "-1s"}, "expected 0s or more", id="a negative duration"),
        pytest.param({"enforceNodeAllocatable": "pods"}, "expected a list such as ['pods']", id="a text for a list"),
        pytest.param(
            {"evictionSoft": {"memory.available": "1Gi"}},
            "grace period must be specified for the soft eviction threshold memory.available",
            id="a soft threshold without a grace period",
        ),
        pytest.param(
            {"evictionHard": {"memory.available": "150%"}},
            "eviction percentage threshold memory.available must be <= 100%: 150%",
            id="more than all",
        ),
        pytest.param(
            {"evictionHard": {"memory.available": "1e39%"}},
            'strconv.ParseFloat: parsing "1e39": value out of range',
            id="more than a float32 can hold",
        ),
        pytest.param(
            {"evictionHard": {}, "evictionMinimumReclaim": {"memory.available": "0%"}},
            "eviction percentage minimum reclaim memory.available must be positive: 0%",
            id="a minimum of nothing in per cent",
        ),
    ],
)
def test_a_wrong_configuration_is_refused_with_the_field_and_the_reason(config: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError)) as error:
        EvictionConfig.from_dict(config)
    assert words in str(error.value)


def test_null_is_as_if_the_field_were_not_there() -> None:
    assert EvictionConfig.from_dict(dict.fromkeys(FIELDS)) == EvictionConfig.from_dict({})


def test_a_soft_threshold_that_is_switched_off_needs_no_grace_period() -> None:
    assert texts({"evictionHard": {}, "evictionSoft": {"memory.available": "0%"}}) == []


def test_a_transition_period_of_zero_becomes_the_default_of_five_minutes() -> None:
    config = EvictionConfig.from_dict({"evictionPressureTransitionPeriod": "0s"})
    assert config.pressure_transition_ms == 5 * 60 * 1000


@pytest.mark.parametrize(
    ("image_fs", "separate", "expected"),
    [
        pytest.param(False, False, "10%", id="on one disk containerfs follows nodefs"),
        pytest.param(True, False, "15%", id="with images on a disk of their own it follows imagefs"),
        pytest.param(True, True, "10%", id="split from the images it follows nodefs"),
    ],
)
def test_the_threshold_of_containerfs_is_never_ones_own(image_fs: bool, separate: bool, expected: str) -> None:
    given = parse_threshold_config(
        hard={"containerfs.available": "50%", "nodefs.available": "10%", "imagefs.available": "15%"}
    )
    found = update_container_fs_thresholds(given, image_fs=image_fs, separate_container_image_fs=separate)
    assert [str(t) for t in found if t.signal == "containerfs.available"] == [f"containerfs.available < {expected}"]


def seen(available: int, time_ms: int | None = None) -> dict[str, Observation]:
    return {"memory.available": Observation(Quantity(available), Quantity(1000), time_ms)}


def test_the_minimum_to_reclaim_counts_only_for_what_was_crossed_before() -> None:
    given = parse_threshold_config(hard={"memory.available": "100"}, minimum_reclaim={"memory.available": "50"})
    rows = [(available, before) for available in (99, 100, 149, 150) for before in (False, True)]
    met = {row: bool(thresholds_met(given, seen(row[0]), enforce_min_reclaim=row[1])) for row in rows}
    assert [row for row in rows if met[row]] == [(99, False), (99, True), (100, True), (149, True)]


def test_a_minimum_that_no_int64_holds_wraps_as_upstreams_does() -> None:
    [threshold] = parse_threshold_config(
        hard={"memory.available": "1Gi"}, minimum_reclaim={"memory.available": "1e30%"}
    )
    seen = {"memory.available": Observation(Quantity.parse("2Gi"), Quantity.parse("4Gi"))}
    assert thresholds_met([threshold], seen, enforce_min_reclaim=True) == []


def test_merging_keeps_each_threshold_once_and_tells_hard_from_soft() -> None:
    hard = parse_threshold_config(hard={"memory.available": "100"})
    soft = parse_threshold_config(soft={"memory.available": "100"}, soft_grace_period={"memory.available": "1s"})
    assert merge_thresholds(hard, [*hard, *soft]) == [*hard, *soft]


def test_a_grace_period_starts_anew_after_a_break() -> None:
    [soft] = parse_threshold_config(soft={"memory.available": "1Gi"}, soft_grace_period={"memory.available": "90s"})
    since: dict[Any, int] = {}
    acted = []
    for now_ms, crossed in [
        (0, True),
        (60_000, True),
        (70_000, False),
        (80_000, True),
        (169_999, True),
        (170_000, True),
    ]:
        since = first_observed_at([soft] if crossed else [], since, now_ms)
        acted.append(bool(grace_period_met(since, now_ms)))
    assert acted == [False, False, False, False, False, True]


def test_a_measurement_is_acted_on_once() -> None:
    hard = parse_threshold_config(hard={"memory.available": "100"})
    assert updated_stats(hard, seen(50, 10), {}) == hard
    assert updated_stats(hard, seen(50, 10), seen(50, 10)) == []
    assert updated_stats(hard, seen(50, 11), seen(50, 10)) == hard
    assert updated_stats(hard, seen(50), seen(50)) == hard, "without times every look counts"
    assert updated_stats(hard, {}, {}) == []


def test_conditions_are_reported_in_one_order() -> None:
    assert observed_since({"PIDPressure": 0, "MemoryPressure": 0}, 10, 9) == ["MemoryPressure", "PIDPressure"]


@pytest.mark.parametrize(
    ("text", "percent"),
    [
        pytest.param("1_0%", "10%", id="underscores between digits"),
        pytest.param("+1e1%", "10%", id="a sign and an exponent"),
        pytest.param("0x1p4%", "16%", id="hexadecimal"),
        pytest.param(".5%", "0.5%", id="no digit before the point"),
        pytest.param("10%%", "10%", id="two signs"),
    ],
)
def test_percentages_are_read_as_go_reads_numbers(text: str, percent: str) -> None:
    assert texts({"evictionHard": {"pid.available": text}}) == [f"pid.available < {percent}"]


@pytest.mark.parametrize("text", ["1_%", "_1%", "1__0%", "1e%", "0x1%", "10 %", "\u0661%", "1,5%"])
def test_what_is_no_number_to_go_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="invalid syntax"):
        EvictionConfig.from_dict({"evictionHard": {"pid.available": text}})


@pytest.mark.parametrize("text", ["inf%", "+Infinity%", "1e30%"])
def test_more_than_all_is_refused_whatever_it_is_called(text: str) -> None:
    with pytest.raises(ValueError, match="must be <= 100%"):
        EvictionConfig.from_dict({"evictionHard": {"pid.available": text}})
