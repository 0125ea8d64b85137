"""StorageClasses and CSINodes: what is refused, in upstream's words (pkg/apis/storage/validation)."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.defaults import apply_defaults
from k8slab.api.validation import validate_create, validate_update
from tests.scheduling import csi_node, storage_class

TOPOLOGY = {"matchLabelExpressions": [{"key": "zone", "values": ["a", "a"]}, {"key": "zone", "values": []}]}


def problems(obj: dict[str, Any]) -> list[tuple[str, str]]:
    return [(cause.field, cause.message) for cause in validate_create(apply_defaults(obj))]


def test_a_class_has_upstreams_defaults() -> None:
    made = apply_defaults({**storage_class("c"), "volumeBindingMode": None})
    assert (made["reclaimPolicy"], made["volumeBindingMode"]) == ("Delete", "Immediate")


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(storage_class("c"), [], id="a good class"),
        pytest.param(storage_class("c", provisioner=""), [("provisioner", "Required value")], id="no provisioner"),
        pytest.param(
            storage_class("c", mode="Later"),
            [
                (
                    "volumeBindingMode",
                    'Unsupported value: "Later": supported values: "Immediate", "WaitForFirstConsumer"',
                )
            ],
            id="an unknown mode",
        ),
        pytest.param(
            storage_class("c", reclaimPolicy="Recycle"),
            [("reclaimPolicy", 'Unsupported value: "Recycle": supported values: "Delete", "Retain"')],
            id="a policy for volumes only",
        ),
        pytest.param(
            storage_class("c", allowedTopologies=[TOPOLOGY]),
            [
                ("allowedTopologies[0].matchLabelExpressions[0].values[1]", 'Duplicate value: "a"'),
                ("allowedTopologies[0].matchLabelExpressions[1].values", "Required value"),
                ("allowedTopologies[0].matchLabelExpressions[1].key", 'Duplicate value: "zone"'),
            ],
            id="topologies twice and empty",
        ),
        pytest.param(csi_node("n", {"a": 1, "b": None}), [], id="a good CSINode"),
        pytest.param(
            csi_node("n", {"": -1}),
            [
                ("spec.drivers[0].name", "Required value"),
                ("spec.drivers[0].allocatable.count", "Invalid value: -1: must be greater than or equal to 0"),
            ],
            id="a nameless driver with a negative limit",
        ),
    ],
)
def test_what_is_refused(obj: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    assert problems(obj) == expected


def test_a_class_cannot_become_another() -> None:
    old = apply_defaults(storage_class("c"))
    new = {**old, "provisioner": "other.example.com", "volumeBindingMode": "Immediate"}
    new["metadata"] = {**old["metadata"], "resourceVersion": "1"}
    assert [(cause.field, cause.message) for cause in validate_update(new, old)] == [
        ("provisioner", "Forbidden: updates to provisioner are forbidden."),
        ("volumeBindingMode", 'Invalid value: "Immediate": field is immutable'),
    ]
