"""Feature gates by release."""

from __future__ import annotations

import pytest

from k8slab.api.features import GATES, FeatureGates, _minor


@pytest.mark.parametrize(
    ("release", "gate", "expected"),
    [
        ("1.32", "WatchList", True),
        ("1.33", "WatchList", False),
        ("1.36", "WatchList", True),
        ("1.35", "RelaxedServiceNameValidation", False),
        ("1.36", "RelaxedServiceNameValidation", True),
        ("1.33", "SchedulerAsyncAPICalls", False),
        ("1.36", "SchedulerAsyncAPICalls", False),
        ("1.33", "PodLevelResources", False),
        ("1.34", "PodLevelResources", True),
    ],
)
def test_defaults(release: str, gate: str, expected: bool) -> None:
    assert FeatureGates(release).enabled(gate) is expected


def test_the_table_is_in_order() -> None:
    for name, specs in GATES.items():
        releases = [_minor(spec.release) for spec in specs]
        assert releases == sorted(releases), name
        assert all(spec.default for spec in specs if spec.stage == "GA"), name
        assert not any(spec.default for spec in specs if spec.stage == "Alpha"), name
        assert not any(spec.locked for spec in specs[:-1]), name


def test_overrides() -> None:
    gates = FeatureGates("v1.36.2", {"SchedulerAsyncAPICalls": True, "AtomicFIFO": False})
    assert gates.release == "1.36"
    assert gates.enabled("SchedulerAsyncAPICalls") and not gates.enabled("AtomicFIFO")
    assert repr(gates) == "FeatureGates('1.36', overrides={'SchedulerAsyncAPICalls': True, 'AtomicFIFO': False})"


@pytest.mark.parametrize(
    ("release", "overrides", "message"),
    [
        ("1.36", {"NoSuchGate": True}, "NoSuchGate"),
        ("1.35", {"AtomicFIFO": True}, "expected a gate that 1.35 has"),
        ("1.36", {"LogarithmicScaleDown": False}, "cannot set feature gate LogarithmicScaleDown to false"),
        ("1.99", {}, "expected one of 1.32"),
        ("latest", {}, "expected a Kubernetes release such as 1.36"),
    ],
)
def test_bad_input(release: str, overrides: dict[str, bool], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        FeatureGates(release, overrides)


def test_overrides_are_booleans_and_gates_are_known() -> None:
    with pytest.raises(TypeError, match="expected True or False"):
        FeatureGates(overrides={"AtomicFIFO": "yes"})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="NoSuchGate"):
        FeatureGates().enabled("NoSuchGate")


def test_releases_are_compared_as_numbers() -> None:
    assert FeatureGates("1.36").at_least("1.9") and FeatureGates("1.36").at_least("1.36")
    assert not FeatureGates("1.35").at_least("1.36")
