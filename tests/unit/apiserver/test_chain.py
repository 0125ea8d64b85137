"""The chain alone: what each stage changed, who refused, the second round."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k8slab.api.errors import ConflictError, ForbiddenError, NotFoundError
from k8slab.api.scheme import PODS, SERVICEACCOUNTS
from k8slab.apiserver.admission import (
    Attributes,
    Chain,
    Change,
    Lister,
    Objects,
    changed_fields,
    differences,
    forbidden,
    plugins,
)
from k8slab.apiserver.admission.diff import of_text, to_text
from k8slab.sim import Trace
from tests.unit.apiserver.conftest import MERGE, Bench

Json = Any
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


class Labels:
    """Sets a label, and asks for another round if told so."""

    def __init__(self, name: str, value: str, *, again: bool = False, once: bool = False) -> None:
        self.name, self.value, self.again, self.once = name, value, again, once
        self.calls = 0

    async def admit(self, attributes: Attributes, lister: Lister) -> Json:
        self.calls += 1
        if self.once and attributes.reinvocation.is_reinvoke:
            return None
        attributes.reinvocation.requested |= self.again
        obj = attributes.object or {}
        labels = {**(obj["metadata"].get("labels") or {}), self.name: self.value}
        return {**obj, "metadata": {**obj["metadata"], "labels": labels}}


class Guard:
    name = "Guard"

    def __init__(self) -> None:
        self.seen: list[Json] = []

    async def validate(self, attributes: Attributes, lister: Lister) -> None:
        self.seen.append(attributes.object)
        attributes.annotate("guard/says", "no")
        raise forbidden(attributes, "nobody passes")


def test_every_stage_says_what_it_changed() -> None:
    objects = Objects()
    chain = Chain([Labels("a", "1"), Labels("b", "2")], objects)
    stages = list(objects.passage(chain, "pods", POD, namespace="default"))
    assert [stage.changes for stage in stages] == [
        [Change("metadata.labels", None, '{"a":"1"}')],
        [Change("metadata.labels.b", None, "2")],
    ]
    assert POD["metadata"] == {"name": "p"}, "what was sent stays as it was"


def test_the_first_that_refuses_ends_it_and_the_trace_says_so() -> None:
    objects = Objects()
    trace = Trace(objects.loop.clock)
    guard = Guard()
    chain = Chain([Labels("a", "1"), guard, Guard()], objects, trace)
    stages = list(objects.passage(chain, "pods", POD, namespace="default"))
    assert [stage.plugin for stage in stages] == ["a", "Guard"]
    assert isinstance(stages[-1].error, ForbiddenError)
    assert str(stages[-1].error.message) == 'pods "p" is forbidden: nobody passes'
    assert guard.seen[0]["metadata"]["labels"] == {"a": "1"}, "validating plugins see the object after all mutations"
    told = [(event.kind, dict(event.data)) for event in trace]
    assert [kind for kind, _ in told] == ["admission", "admission.audit", "admission.refused"]
    assert of_text(str(told[0][1]["diff"])) == stages[0].changes
    assert (told[2][1]["plugin"], told[2][1]["code"]) == ("Guard", 403)
    assert (told[1][1]["annotation"], told[1][1]["value"]) == ("guard/says", "no")
    assert all(len(event.message) <= 120 for event in trace)


def test_a_second_round_comes_when_it_is_asked_for_and_never_a_third() -> None:
    objects = Objects()
    first, restless = Labels("first", "1", once=True), Labels("restless", "2", again=True)
    chain = Chain([first, restless], objects)
    attributes = objects.attributes("pods", POD, namespace="default")
    objects.run(chain.admit(attributes))
    assert (first.calls, restless.calls) == (2, 2)
    stages = list(objects.passage(chain, "pods", POD, namespace="default"))
    assert [(stage.plugin, stage.again) for stage in stages] == [
        ("first", False),
        ("restless", False),
        ("first", True),
        ("restless", True),
    ]


def test_the_whole_chain_stands_alone_in_five_lines() -> None:
    objects = Objects(
        [{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "default"}}]
    )
    chain = Chain(plugins(), objects)
    attributes = objects.attributes("pods", POD, namespace="default")
    admitted = objects.run(chain.admit(attributes))
    objects.run(chain.validate(attributes))
    assert admitted["spec"]["priority"] == 0 and len(admitted["spec"]["tolerations"]) == 2


def test_objects_are_read_and_written_as_a_server_would() -> None:
    objects = Objects()
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "default"}}
    stored = objects.put(quota)
    written = objects.run(objects.replace_status("resourcequotas", {**stored, "status": {"used": {}}}))
    assert objects.cached("resourcequotas", "default", "q") == written
    with pytest.raises(ConflictError, match="the object has been modified"):
        objects.run(objects.replace_status("resourcequotas", stored))
    objects.remove("resourcequotas", "default", "q")
    with pytest.raises(NotFoundError):
        objects.run(objects.replace_status("resourcequotas", stored))
    with pytest.raises(ValueError, match="operation 'PATCH': expected one of CREATE, UPDATE, DELETE"):
        objects.attributes("pods", POD, operation="PATCH")
    with pytest.raises(ValueError, match=r"metadata\.name of a ConfigMap"):
        objects.put({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}})


# -- differences -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("new", "old", "shown"),
    [
        pytest.param({"a": 1}, {"a": 1}, [], id="nothing"),
        pytest.param({"a": True}, {"a": 1}, ["a: 1 -> true"], id="a boolean is no number"),
        pytest.param({"a": [1, 3, 4]}, {"a": [1, 2]}, ["a[1]: 2 -> 3", "a[2]: + 4"], id="lists by their places"),
        pytest.param({}, {"a": {"b": "c"}}, ['a: - {"b":"c"}'], id="a map that goes is one change"),
        pytest.param({"a": [1]}, {"a": [1, "x"]}, ["a[1]: - x"], id="an item that goes"),
        pytest.param(
            {"metadata": {"labels": {"k8s.io/x": "y"}}},
            {"metadata": {"labels": {}}},
            ["metadata.labels[k8s.io/x]: + y"],
            id="keys with dots or slashes stand in brackets",
        ),
    ],
)
def test_differences(new: Json, old: Json, shown: list[str]) -> None:
    assert [str(change) for change in differences(new, old)] == shown


LEAVES = st.booleans() | st.integers(0, 2) | st.sampled_from(["", "x"])
KEYS = st.sampled_from("abc")
TREES = st.recursive(
    LEAVES, lambda t: st.lists(t, max_size=3) | st.dictionaries(KEYS, t | st.none(), max_size=2), max_leaves=6
)


@given(st.dictionaries(KEYS, TREES | st.none()), st.dictionaries(KEYS, TREES | st.none()))
def test_there_are_differences_exactly_when_objects_differ(new: Json, old: Json) -> None:
    """Null and absent are one; that is the only thing that is overlooked."""

    def bare(value: Json) -> Json:
        if isinstance(value, dict):
            return ("map", sorted((k, bare(v)) for k, v in value.items() if v is not None))
        if isinstance(value, list):
            return ("list", [bare(v) for v in value])
        return (type(value).__name__, repr(value))

    assert (differences(new, old) == []) == (bare(new) == bare(old))
    assert differences(new, new) == []
    assert changed_fields(new, new) == 0


def test_as_one_scalar_of_an_event_a_difference_stays_short() -> None:
    many = differences({str(i): "x" * 200 for i in range(100)}, {})
    text = to_text(many)
    assert len(of_text(text)) == 40 and all(len(str(change.new)) <= 80 for change in of_text(text))


def test_a_trace_that_is_told_to_has_every_stage_with_its_diff(bench: Bench) -> None:
    bench.call("create", SERVICEACCOUNTS, body={"metadata": {"name": "default"}})
    trace = bench.loop.trace
    assert not [event for event in trace if event.kind == "admission.stage"], "left out by default"
    trace.without -= {"admission.stage"}
    seq = len(trace)
    bench.call("create", PODS, body=POD)
    told = [event for event in trace.since(seq) if event.kind in ("admission", "admission.stage")]
    stages = [str(event.data.get("stage") or event.data["plugin"]) for event in told]
    server = bench.server.chain
    assert stages == [
        "request",
        *(plugin.name for plugin in server.mutating),
        "prepare",
        *(plugin.name for plugin in server.validating),
    ]
    paths = {
        stage: [change.path for change in of_text(str(e.data["diff"]))] for stage, e in zip(stages, told, strict=True)
    }
    assert "spec.restartPolicy" in paths["request"] and "metadata.uid" in paths["prepare"]
    assert paths["PodSecurity"] == [] and "spec.priority" not in paths["request"]
    seq = len(trace)
    bench.call("patch", PODS, "p", {"metadata": {"labels": {"a": "b"}}}, patch_type=MERGE)
    first = next(event for event in trace.since(seq) if event.kind == "admission.stage")
    assert [str(change) for change in of_text(str(first.data["diff"]))] == ['metadata.labels: + {"a":"b"}']
