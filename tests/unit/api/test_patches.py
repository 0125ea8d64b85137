"""Patches: clauses of RFC 7386, RFC 6902 as evanphx/json-patch applies it, and strategic merge directives."""

from typing import Any

import pytest

from k8slab.api import patch
from k8slab.api.scheme import GVK

POD = GVK("", "v1", "Pod")
DEPLOYMENT = GVK("apps", "v1", "Deployment")

RFC_7386_APPENDIX_A = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("document", "change", "result"), RFC_7386_APPENDIX_A)
def test_merge_patch_examples_of_rfc_7386(document: Any, change: Any, result: Any) -> None:
    assert patch.merge_patch(document, change) == result


@pytest.mark.parametrize("change", [None, "bar", 5, True])
def test_a_merge_patch_must_be_an_object_or_a_list(change: Any) -> None:
    with pytest.raises(ValueError, match="Invalid JSON Patch"):
        patch.merge_patch({"a": 1}, change)


def test_three_way_json_merge_keeps_what_others_added() -> None:
    made = patch.create_three_way_merge_patch({"a": 1, "b": 2}, {"a": 1, "c": 3}, {"a": 1, "b": 2, "other": 9})
    assert made == {"b": None, "c": 3}


DOCUMENT: dict[str, Any] = {"a": {"b": [1, 2, 3], "c~d": "t", "e/f": "s"}, "n": None}


@pytest.mark.parametrize(
    ("operation", "change"),
    [
        pytest.param({"op": "add", "path": "/a/b/-", "value": 4}, lambda d: d["a"]["b"].append(4), id="add at the end"),
        pytest.param({"op": "add", "path": "/a/b/0", "value": 0}, lambda d: d["a"]["b"].insert(0, 0), id="add first"),
        pytest.param({"op": "remove", "path": "/a/b/-1"}, lambda d: d["a"]["b"].pop(), id="negative indexes"),
        pytest.param({"op": "replace", "path": "/new", "value": 1}, lambda d: d.update(new=1), id="replace may add"),
        pytest.param({"op": "copy", "from": "/zz", "path": "/x"}, lambda d: d.update(x=None), id="copy of nothing"),
        pytest.param({"op": "test", "path": "/zz", "value": None}, lambda d: None, id="nothing tests as null"),
        pytest.param({"op": "add", "path": "/x"}, lambda d: d.update(x=None), id="add without a value stores null"),
        pytest.param({"op": "test", "path": "/a/c~0d", "value": "t"}, lambda d: None, id="~0 is a tilde"),
        pytest.param({"op": "test", "path": "/a/e~1f", "value": "s"}, lambda d: None, id="~1 is a slash"),
        pytest.param({"op": "add", "path": "/a/b/01", "value": 7}, lambda d: d["a"]["b"].insert(1, 7), id="index 01"),
        pytest.param(
            {"op": "move", "from": "/a/b", "path": "/b"}, lambda d: d.update(b=d["a"].pop("b")), id="move takes away"
        ),
    ],
)
def test_json_patch_operations(operation: dict[str, Any], change: Any) -> None:
    expected: dict[str, Any] = {"a": {"b": [1, 2, 3], "c~d": "t", "e/f": "s"}, "n": None}
    change(expected)
    assert patch.json_patch(DOCUMENT, [operation]) == expected


@pytest.mark.parametrize(
    ("operations", "code", "text"),
    [
        ({}, 400, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        ([{"op": "bogus", "path": "/a"}], 422, "Unexpected kind: bogus"),
        ([{"path": "/a"}], 422, "Unexpected kind: unknown"),
        ([{"op": "add", "value": 1}], 422, "add operation failed to decode path: missing value"),
        ([{"op": "move", "path": "/a"}], 422, "move operation failed to decode from: operation, missing from field"),
        ([{"op": "remove", "path": "/zz"}], 422, "Unable to remove nonexistent key: zz: missing value"),
        ([{"op": "remove", "path": "/a/b/9"}], 422, "Unable to access invalid index: 9: invalid index referenced"),
        ([{"op": "add", "path": "/x/y", "value": 1}], 422, 'doc is missing path: "/x/y": missing value'),
        ([{"op": "add", "path": "/a/b/x", "value": 1}], 422, "value was not a proper array index: 'x'"),
        ([{"op": "replace", "path": "/a/b/9", "value": 1}], 422, "doc is missing key: /a/b/9: missing value"),
        ([{"op": "test", "path": "/a/b", "value": [1]}], 422, "testing value /a/b failed: test failed"),
        ([{"op": "test", "path": "", "value": 1}], 422, "testing value  failed: test failed"),
        ([{"op": "copy", "from": "/q/r", "path": "/x"}], 422, "doc is missing from path: /q/r: missing value"),
    ],
)
def test_json_patch_failures_apply_nothing(operations: Any, code: int, text: str) -> None:
    with pytest.raises(patch.PatchError) as caught:
        patch.json_patch(DOCUMENT, operations)
    assert caught.value.code == code and text in str(caught.value)
    assert DOCUMENT["a"]["b"] == [1, 2, 3]


def pod(*containers: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"containers": list(containers)}}


def names(obj: dict[str, Any]) -> list[str]:
    return [container["name"] for container in obj["spec"]["containers"]]


def test_a_new_list_element_goes_before_the_old_ones() -> None:
    result = patch.strategic_merge_patch(pod({"name": "a"}, {"name": "b"}), pod({"name": "c"}), POD)
    assert names(result) == ["c", "a", "b"]


def test_set_element_order_puts_elements_where_the_client_wants_them() -> None:
    change = {"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}}
    assert names(patch.strategic_merge_patch(pod({"name": "a"}, {"name": "b"}), change, POD)) == ["b", "a"]


@pytest.mark.parametrize(
    ("change", "code", "text"),
    [
        ({"spec": {"containers": [{"image": "x"}]}}, 500, "does not contain declared merge key: name"),
        ({"$patch": "bogus"}, 500, "unknown patch type: bogus in map: map[$patch:bogus]"),
        ({"spec": {"containers": [{"$patch": "merge", "name": "a"}]}}, 500, "merging lists cannot yet be specified"),
        ({"spec": {"$setElementOrder/containers": "x"}}, 500, "expected a []interface {}, but received a string"),
        ({"spec": {"$setElementOrder": []}}, 400, "invalid patch format of setElementOrder list"),
        ({"spec": {"$deleteFromPrimitiveList": []}}, 400, "invalid patch format of primitive list"),
        ({"spec": {"volumes": [{"$retainKeys": "x", "name": "v"}]}}, 400, "invalid patch format of retainKeys"),
        ({"spec": {"containers": [["a"]]}}, 500, "list element types are not identical"),
        ({"spec": {"initContainers": [["a"]]}}, 422, "lists of lists are not supported"),
        ([1], 400, "invalid JSON document"),
    ],
)
def test_strategic_patches_that_cannot_be_applied(change: Any, code: int, text: str) -> None:
    document = {"spec": {"containers": [{"name": "a"}], "volumes": [{"name": "v"}], "initContainers": []}}
    with pytest.raises(patch.PatchError) as caught:
        patch.strategic_merge_patch(document, change, POD)
    assert caught.value.code == code and text in str(caught.value)


def test_directives_delete_and_replace() -> None:
    document = pod({"name": "a"}, {"name": "b"})
    assert names(patch.strategic_merge_patch(document, pod({"name": "a", "$patch": "delete"}), POD)) == ["b"]
    replaced = patch.strategic_merge_patch(document, pod({"name": "c"}, {"$patch": "replace"}), POD)
    assert names(replaced) == ["c"]
    assert patch.strategic_merge_patch(document, {"$patch": "replace", "x": 1}, POD) == {"x": 1}
    assert patch.strategic_merge_patch(document, {"$patch": "delete"}, POD) == {}


def test_retain_keys_clears_the_other_source_of_a_volume() -> None:
    document = {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}}
    change = {"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/x"}, "$retainKeys": ["name", "hostPath"]}]}}
    volumes = patch.strategic_merge_patch(document, change, POD)["spec"]["volumes"]
    assert volumes == [{"name": "v", "hostPath": {"path": "/x"}}]


def test_kinds_without_patch_tags_are_refused() -> None:
    with pytest.raises(patch.PatchError) as caught:
        patch.strategic_merge_patch({}, {}, GVK("ex.io", "v1", "Widget"))
    assert caught.value.code == 415


def test_three_way_apply_removes_what_the_user_removed_and_keeps_what_others_added() -> None:
    last = {"metadata": {"labels": {"a": "1"}}, "spec": {"replicas": 1}}
    now = {"metadata": {"labels": {"a": "1", "other": "x"}}, "spec": {"replicas": 5}}
    made = patch.create_three_way_strategic_patch(last, {"metadata": {"labels": {}}, "spec": {}}, now, DEPLOYMENT)
    result = patch.strategic_merge_patch(now, made, DEPLOYMENT)
    assert result == {"metadata": {"labels": {"other": "x"}}, "spec": {}}


def test_without_overwrite_a_field_changed_by_somebody_else_is_a_conflict() -> None:
    last, now = {"spec": {"replicas": 1}}, {"spec": {"replicas": 5}}
    with pytest.raises(patch.PatchConflictError, match="conflicts with changes made from original to current"):
        patch.create_three_way_strategic_patch(last, {"spec": {"replicas": 2}}, now, DEPLOYMENT, overwrite=False)


def test_upstream_sorts_the_old_list_of_texts_before_it_compares() -> None:
    """So an unsorted list always gets an order directive, and a change to the sorted order is not noticed."""

    def made(before: list[str], after: list[str]) -> dict[str, Any]:
        old, new = ({"metadata": {"finalizers": names}} for names in (before, after))
        return patch.create_two_way_strategic_patch(old, new, POD)

    assert made(["b", "a"], ["b", "a"]) == {"metadata": {"$setElementOrder/finalizers": ["b", "a"]}}
    assert made(["b", "a"], ["a", "b"]) == {}


def test_patches_do_not_change_what_they_are_given() -> None:
    document, change = pod({"name": "a", "env": [{"name": "x", "value": "1"}]}), pod({"name": "a", "image": "i"})
    before = repr((document, change))
    patch.strategic_merge_patch(document, change, POD)
    patch.merge_patch(document, change)
    patch.create_two_way_strategic_patch(document, change, POD)
    assert repr((document, change)) == before
