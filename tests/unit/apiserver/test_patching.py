"""Patches as the server applies them."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.defaults import apply_defaults
from k8slab.api.errors import StatusError
from k8slab.api.objects import freeze
from k8slab.api.scheme import CONFIGMAPS, GVK
from k8slab.api.transport import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from k8slab.apiserver.handlers.patching import apply_patch, parse_patch
from tests.unit.apiserver.conftest import Bench

POD = GVK("", "v1", "Pod")
OLD = freeze(
    {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "labels": {"a": "b"}},
        "spec": {"containers": [{"name": "c", "image": "i:1", "resources": {}}]},
        "status": {"phase": "Pending", "conditions": [{"type": "Ready", "status": "False"}]},
    }
)


@pytest.mark.parametrize(
    ("patch_type", "patch"),
    [
        pytest.param(MERGE_PATCH, {"status": {"phase": "Running"}}, id="merge patch"),
        pytest.param(STRATEGIC_MERGE_PATCH, {"status": {"phase": "Running"}}, id="strategic merge patch"),
    ],
)
def test_what_a_patch_does_not_name_is_shared(patch_type: str, patch: Any) -> None:
    new, unknown = apply_patch(OLD, patch, patch_type, POD)
    assert new["status"]["phase"] == "Running" and new["status"]["conditions"] == OLD["status"]["conditions"]
    assert new["spec"] is OLD["spec"] and new["metadata"] is OLD["metadata"] and unknown == []


def test_a_json_patch_changes_one_place() -> None:
    new, _ = apply_patch(OLD, [{"op": "replace", "path": "/status/phase", "value": "Failed"}], JSON_PATCH, POD)
    assert new == {**OLD, "status": {**OLD["status"], "phase": "Failed"}}


def test_conditions_merge_by_type() -> None:
    patch = {"status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "X", "status": "True"}]}}
    new, _ = apply_patch(OLD, patch, STRATEGIC_MERGE_PATCH, POD)
    assert {c["type"]: c["status"] for c in new["status"]["conditions"]} == {"Ready": "True", "X": "True"}


def test_a_removed_struct_comes_back_empty_and_an_unknown_field_does_not() -> None:
    new, unknown = apply_patch(OLD, {"status": None, "bogus": 1, "spec": {"extra": 2}}, MERGE_PATCH, POD)
    assert new["status"] == {} and "bogus" not in new and unknown == ["bogus", "spec.extra"]


@pytest.mark.parametrize(
    ("patch_type", "patch", "code"),
    [
        pytest.param(JSON_PATCH, [{"op": "test", "path": "/kind", "value": "X"}], 422, id="a test that fails"),
        pytest.param(MERGE_PATCH, {"spec": {"hostNetwork": "yes"}}, 422, id="a wrong type"),
        pytest.param(MERGE_PATCH, {"kind": "Secret"}, 422, id="another kind"),
        pytest.param(STRATEGIC_MERGE_PATCH, {"spec": {"containers": [{"image": "x"}]}}, 500, id="no merge key"),
        pytest.param("text/plain", {}, 400, id="an unknown patch type"),
    ],
)
def test_patches_that_cannot_be_applied(patch_type: str, patch: Any, code: int) -> None:
    with pytest.raises(StatusError) as caught:
        apply_patch(OLD, patch, patch_type, POD)
    assert caught.value.code == code


NOWHERE = ' is registered for version "{}" in scheme "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"'


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        pytest.param({"kind": "Fish"}, 'no kind "Fish"' + NOWHERE.format("v1"), id="a kind that there is not"),
        pytest.param({"apiVersion": "v2"}, 'no kind "Pod"' + NOWHERE.format("v2"), id="a version that there is not"),
        pytest.param({"apiVersion": "apps/v1"}, 'no kind "Pod"' + NOWHERE.format("apps/v1"), id="another group"),
        pytest.param({"kind": "Secret"}, "converting (v1.Secret) to (core.Pod): unknown conversion", id="another kind"),
        pytest.param(
            {"apiVersion": 5},
            "couldn't get version/kind; json parse error: "
            "json: cannot unmarshal number into Go struct field .apiVersion of type string",
            id="a number",
        ),
        pytest.param({"apiVersion": "a/b/c"}, "unexpected GroupVersion string: a/b/c", id="too many slashes"),
    ],
)
@pytest.mark.parametrize("patch_type", [MERGE_PATCH, JSON_PATCH])
def test_a_patch_cannot_make_it_something_else(patch_type: str, patch: Any, why: str) -> None:
    ops = [{"op": "replace", "path": f"/{name}", "value": value} for name, value in patch.items()]
    with pytest.raises(StatusError) as caught:
        apply_patch(OLD, ops if patch_type == JSON_PATCH else patch, patch_type, POD)
    assert caught.value.code == 422 and caught.value.message.startswith(' "" is invalid: patch: Invalid value: ')
    assert caught.value.message.endswith(f": {why}")


@pytest.mark.parametrize("patch", [{"apiVersion": "v2"}, {"kind": "Secret"}])
def test_a_strategic_patch_of_the_kind_changes_nothing(patch: Any) -> None:
    new, _ = apply_patch(OLD, patch, STRATEGIC_MERGE_PATCH, POD)
    assert new == OLD


def test_a_patch_may_be_written_in_another_served_version() -> None:
    old = apply_defaults(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "h"},
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}, "maxReplicas": 3},
        }
    )
    patch = {"apiVersion": "autoscaling/v1", "spec": {"targetCPUUtilizationPercentage": 50, "metrics": None}}
    new, _ = apply_patch(freeze(old), patch, MERGE_PATCH, GVK("autoscaling", "v2", "HorizontalPodAutoscaler"))
    assert new["apiVersion"] == "autoscaling/v2"
    assert new["spec"]["metrics"][0]["resource"]["target"] == {"type": "Utilization", "averageUtilization": 50}


def test_a_strict_patch_refuses_unknown_fields() -> None:
    with pytest.raises(StatusError) as caught:
        apply_patch(OLD, {"foo": 1}, STRATEGIC_MERGE_PATCH, POD, strict=True)
    assert caught.value.message == (
        ' "" is invalid: patch: Invalid value: "map[foo:1]": strict decoding error: unknown field "foo"'
    )


@pytest.mark.parametrize(
    ("patch_type", "body", "text"),
    [
        pytest.param(
            MERGE_PATCH, b"[1]", "json: cannot unmarshal array into Go value of type map", id="a list to merge"
        ),
        pytest.param(JSON_PATCH, b"{}", "json: cannot unmarshal object into Go value of type []handlers", id="no list"),
        pytest.param(STRATEGIC_MERGE_PATCH, b"notjson", "invalid character 'o' in literal null", id="no JSON"),
    ],
)
def test_bodies_that_are_no_patches(patch_type: str, body: bytes, text: str) -> None:
    with pytest.raises(StatusError) as caught:
        parse_patch(body, patch_type)
    assert caught.value.code == 400 and text in caught.value.message


@pytest.mark.parametrize(
    ("patch", "lenient", "code", "text"),
    [
        pytest.param(
            [1], False, 400, "error decoding patch: {} number into Go value of type handlers.jsonPatchOp", id="1"
        ),
        pytest.param([1], True, 400, "{} number into Go value of type jsonpatch.Operation", id="1, and no checks"),
        pytest.param(
            [{"op": 1}],
            False,
            400,
            "error decoding patch: {} number into Go struct field jsonPatchOp.op of type string",
            id="an op that is a number",
        ),
        pytest.param([{"op": 1}], True, 422, "the server rejected our request", id="the same, and no checks"),
        pytest.param([None], False, 422, "the server rejected our request", id="null is an operation without an op"),
        pytest.param(
            [{}] * 10_001,
            False,
            413,
            "Request entity is too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
            id="too many operations",
        ),
    ],
)
def test_operations_that_are_none(patch: Any, lenient: bool, code: int, text: str) -> None:
    with pytest.raises(StatusError) as caught:
        apply_patch(OLD, patch, JSON_PATCH, POD, lenient=lenient)
    assert caught.value.code == code
    assert caught.value.message.startswith(text.format("json: cannot unmarshal"))


@pytest.mark.parametrize("patch_type", [JSON_PATCH, STRATEGIC_MERGE_PATCH])
def test_null_is_a_patch_that_changes_nothing(patch_type: str) -> None:
    assert apply_patch(OLD, parse_patch(b"null", patch_type), patch_type, POD) == (OLD, [])


def test_null_is_no_merge_patch() -> None:
    with pytest.raises(StatusError, match=r"^Invalid JSON Patch$"):
        apply_patch(OLD, None, MERGE_PATCH, POD)


@pytest.mark.parametrize("patch_type", [JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH])
def test_a_program_that_sends_no_patch_gets_a_status_too(bench: Bench, patch_type: str) -> None:
    bench.call("create", CONFIGMAPS, body={"metadata": {"name": "a"}})
    bodies: list[Any] = ["x", 1, [1], [{"op": []}]]
    for body in bodies:
        with pytest.raises(StatusError) as caught:
            bench.call("patch", CONFIGMAPS, "a", body, patch_type=patch_type)
        assert caught.value.code == 400 and "cannot unmarshal" in caught.value.message
