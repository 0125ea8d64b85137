"""RuntimeClass admission: overhead, node selector and tolerations of a class, and what contradicts it."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.errors import StatusError
from k8slab.api.scheme import RUNTIMECLASSES
from k8slab.apiserver.admission import Chain, Objects, RuntimeClass
from k8slab.apiserver.admission.runtime_class import merge_tolerations
from tests.unit.apiserver.conftest import Bench

Json = Any
KATA = {
    "apiVersion": "node.k8s.io/v1",
    "kind": "RuntimeClass",
    "metadata": {"name": "kata"},
    "handler": "kata",
    "overhead": {"podFixed": {"cpu": "250m", "memory": "120Mi"}},
    "scheduling": {"nodeSelector": {"vm": "yes"}, "tolerations": [{"key": "vm", "operator": "Exists"}]},
}
PLAIN = {**{key: KATA[key] for key in ("apiVersion", "kind", "handler")}, "metadata": {"name": "plain"}}


def passage(**spec: Any) -> tuple[str, Json]:
    """(who refused and why, the spec) of a Pod that passes the plugin alone."""
    objects = Objects([KATA, PLAIN])
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}
    *_, last = objects.passage(Chain([RuntimeClass()], objects), "pods", pod, namespace="default")
    return ("" if last.error is None else f"{last.phase}: {last.error.message}"), (last.object or {}).get("spec")


def test_a_class_sets_overhead_and_where_its_pods_may_run() -> None:
    refused, spec = passage(runtimeClassName="kata", nodeSelector={"disk": "ssd"})
    assert refused == "" and spec["overhead"] == KATA["overhead"]["podFixed"]  # type: ignore[index]
    assert spec["nodeSelector"] == {"disk": "ssd", "vm": "yes"}
    assert spec["tolerations"] == [{"key": "vm", "operator": "Exists"}]


@pytest.mark.parametrize("spec", [{}, {"runtimeClassName": "plain"}], ids=["no class", "a class that says nothing"])
def test_other_pods_stay_as_they_are(spec: Json) -> None:
    refused, after = passage(**spec)
    assert refused == "" and set(after) == {"containers", *spec}


_PREFIX = 'pods "p" is forbidden: '


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param(
            {"runtimeClassName": "gone"},
            f'mutating: {_PREFIX}pod rejected: RuntimeClass "gone" not found',
            id="a class that there is not",
        ),
        pytest.param(
            {"runtimeClassName": "kata", "overhead": {"cpu": "1"}},
            f"mutating: {_PREFIX}pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead",
            id="another overhead",
        ),
        pytest.param(
            {"runtimeClassName": "kata", "nodeSelector": {"vm": "no"}},
            f"mutating: {_PREFIX}conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] "
            "= no",
            id="another node",
        ),
        pytest.param(
            {"overhead": {"cpu": "1"}},
            f"validating: {_PREFIX}pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
            id="overhead without a class",
        ),
        pytest.param(
            {"runtimeClassName": "plain", "overhead": {"cpu": "1"}},
            f"validating: {_PREFIX}pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead",
            id="overhead that the class does not name",
        ),
    ],
)
def test_what_contradicts_a_class_is_refused(spec: Json, why: str) -> None:
    assert passage(**spec)[0] == why


def test_the_same_overhead_written_otherwise_is_right() -> None:
    assert passage(runtimeClassName="kata", overhead={"cpu": "0.25", "memory": "122880Ki"})[0] == ""


def test_through_the_server(bench: Bench) -> None:
    bench.call("create", RUNTIMECLASSES, ns="", body=KATA)
    made = bench.pod("p", runtimeClassName="kata")
    assert made["spec"]["overhead"] == {"cpu": "250m", "memory": "120Mi"}
    with pytest.raises(StatusError, match='pod rejected: RuntimeClass "gone" not found'):
        bench.pod("q", runtimeClassName="gone")


ANY, KEY = {"operator": "Exists"}, {"key": "k", "operator": "Exists"}
VALUE = {"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param([KEY, KEY], [KEY], id="of equal ones the first"),
        pytest.param([KEY, ANY], [ANY], id="a later one covers all keys"),
        pytest.param([ANY, KEY], [ANY], id="an earlier one does"),
        pytest.param([VALUE, KEY], [KEY], id="any value and effect of a key"),
        pytest.param([KEY, {**KEY, "key": "other"}], [KEY, {**KEY, "key": "other"}], id="other keys"),
        pytest.param(
            [VALUE, {**VALUE, "tolerationSeconds": 5}], [VALUE], id="for ever covers five seconds, not the other way"
        ),
        pytest.param(
            [{**VALUE, "tolerationSeconds": 5}, {**VALUE, "tolerationSeconds": 9}],
            [{**VALUE, "tolerationSeconds": 9}],
            id="nine seconds cover five",
        ),
        pytest.param([VALUE, {**VALUE, "value": "w"}], [VALUE, {**VALUE, "value": "w"}], id="other values"),
    ],
)
def test_tolerations_are_merged(given: Json, kept: Json) -> None:
    assert merge_tolerations(given) == kept
