"""Patches against naive twins: RFC 7386's pseudo-code, and what a patch made from two versions must do."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from k8slab.api import patch
from k8slab.api.scheme import GVK
from tests.counts import examples

POD = GVK("", "v1", "Pod")

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "x", "y"])
keys = st.sampled_from(["a", "b", "c", "d"])
values = st.recursive(scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(keys, v, max_size=3), max_leaves=8)
objects = st.dictionaries(keys, values, max_size=4)


def rfc_7386(target: Any, change: Any) -> Any:
    """Section 2 of the RFC, line by line."""
    if not isinstance(change, dict):
        return change
    if not isinstance(target, dict):
        target = {}
    target = dict(target)
    for name, value in change.items():
        if value is None:
            target.pop(name, None)
        else:
            target[name] = rfc_7386(target.get(name), value)
    return target


def without_nulls(value: Any) -> Any:
    """Upstream also drops nulls of objects inside lists, which the RFC keeps."""
    if isinstance(value, dict):
        return {k: without_nulls(v) for k, v in value.items() if v is not None}
    return [without_nulls(v) for v in value] if isinstance(value, list) else value


def in_lists_too(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: in_lists_too(v) for k, v in value.items()}
    return without_nulls(value) if isinstance(value, list) else value


@settings(max_examples=examples(300), deadline=None)
@given(document=objects, change=objects)
def test_merge_patch_is_the_pseudo_code_of_rfc_7386(document: dict[str, Any], change: dict[str, Any]) -> None:
    assert patch.merge_patch(document, change) == rfc_7386(document, in_lists_too(change))


@settings(max_examples=examples(300), deadline=None)
@given(before=objects, after=objects.map(without_nulls))
def test_a_two_way_merge_patch_leads_to_its_target(before: dict[str, Any], after: dict[str, Any]) -> None:
    made = patch.create_two_way_merge_patch(before, after)
    assert patch.merge_patch(before, made) == after


names = st.sampled_from(["a", "b", "c"])
env = st.lists(
    st.fixed_dictionaries({"name": names, "value": st.sampled_from(["1", "2"])}),
    max_size=3,
    unique_by=lambda e: e["name"],
)
container = st.fixed_dictionaries(
    {"name": names, "image": st.sampled_from(["x", "y"])}, optional={"env": env, "args": st.lists(names, max_size=2)}
)
pods = st.fixed_dictionaries(
    {
        "metadata": st.fixed_dictionaries(
            {"name": st.just("p")},
            optional={
                "labels": st.dictionaries(keys, names, max_size=2),
                "finalizers": st.lists(names, max_size=3, unique=True).map(sorted),  # why: see the unit tests
            },
        ),
        "spec": st.fixed_dictionaries(
            {"containers": st.lists(container, max_size=3, unique_by=lambda c: c["name"])},
            optional={"nodeSelector": st.dictionaries(keys, names, max_size=2), "hostNetwork": st.booleans()},
        ),
    }
)


def normal(value: Any) -> Any:
    """Empty lists and maps are the same as absent ones: a strategic patch cannot tell them apart."""
    if isinstance(value, dict):
        return {k: n for k, v in value.items() if (n := normal(v)) not in ({}, [])}
    return [normal(v) for v in value] if isinstance(value, list) else value


@settings(max_examples=examples(300), deadline=None)
@given(pod=pods)
def test_the_strategic_patch_between_equal_objects_is_empty(pod: dict[str, Any]) -> None:
    assert patch.create_two_way_strategic_patch(pod, pod, POD) == {}
    assert patch.strategic_merge_patch(pod, {}, POD) == pod


@settings(max_examples=examples(300), deadline=None)
@given(before=pods, after=pods)
def test_a_two_way_strategic_patch_leads_to_its_target(before: dict[str, Any], after: dict[str, Any]) -> None:
    made = patch.create_two_way_strategic_patch(before, after, POD)
    assert normal(patch.strategic_merge_patch(before, made, POD)) == normal(after)


@settings(max_examples=examples(300), deadline=None)
@given(before=pods, after=pods)
def test_applying_a_strategic_patch_twice_changes_nothing_more(before: dict[str, Any], after: dict[str, Any]) -> None:
    made = patch.create_two_way_strategic_patch(before, after, POD)
    once = patch.strategic_merge_patch(before, made, POD)
    assert normal(patch.strategic_merge_patch(once, made, POD)) == normal(once)


@settings(max_examples=examples(200), deadline=None)
@given(last=pods, target=pods, extra=st.dictionaries(st.just("zz"), names, min_size=1))
def test_apply_never_removes_what_somebody_else_added(
    last: dict[str, Any], target: dict[str, Any], extra: dict[str, str]
) -> None:
    current = {**last, "metadata": {**last["metadata"], "annotations": extra}}
    made = patch.create_three_way_strategic_patch(last, target, current, POD)
    result = patch.strategic_merge_patch(current, made, POD)
    assert result["metadata"]["annotations"] == extra
    assert normal(
        {**result, "metadata": {k: v for k, v in result["metadata"].items() if k != "annotations"}}
    ) == normal(target)
