"""Lanes and words."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.sim import KINDS, TraceEvent
from k8slab.widgets.story import READS, add_lane, focus_of, lane_of, lanes_of, mark_of, words
from tests import toy_cluster  # noqa: F401  (adds the rows of every floor to KINDS)


def event(kind: str, actor: str = "apiserver", **data: Any) -> TraceEvent:
    fields = KINDS[kind].fields if kind in KINDS else ()
    return TraceEvent(0, 0, 0, actor, kind, {**dict.fromkeys(fields, ""), **data}, None, ())


@pytest.mark.parametrize(
    ("actor", "lane"),
    [
        ("you", "you"),
        ("you/apply", "you"),
        ("apiserver", "apiserver"),
        ("apiserver/0/handle", "apiserver"),
        ("kcm/replicaset", "kcm/replicaset"),
        ("kcm/replicaset/worker-3", "kcm/replicaset"),
        ("kcm/informers", "kcm/informers"),
        ("kcm/pods/reflector", "kcm/informers"),
        ("kcm/events/deployment-controller", "kcm"),
        ("scheduler/informers", "scheduler"),
        ("kubelet/node-1", "kubelet/node-1"),
        ("kubelet/node-1/informers", "kubelet/node-1"),
        ("something/else", "something"),
    ],
)
def test_an_actor_or_a_task_stands_in_a_lane(actor: str, lane: str) -> None:
    assert lane_of(actor) == lane


def test_lanes_stand_in_the_order_of_a_request_with_nodes_counted_as_people_do() -> None:
    ids = ["kubelet/node-10", "scheduler", "kubelet/node-2", "kcm/replicaset", "etcd", "other", "apiserver", "you"]
    lanes = [lane.id for lane in lanes_of(ids)]
    assert lanes == [
        "you",
        "apiserver",
        "etcd",
        "kcm/replicaset",
        "scheduler",
        "kubelet/node-2",
        "kubelet/node-10",
        "other",
    ]


def test_labels_of_lanes_fit() -> None:
    names = [
        "kubelet/node-1",
        "kubelet/a-node-with-a-long-name.example",
        "kcm/garbage-collector",
        "something-unknown-and-long",
    ]
    for lane in lanes_of(names):
        assert 0 < len(lane.label) <= 15
        assert 0 < len(lane.short) <= 7


@pytest.mark.parametrize(
    ("prefix", "label", "short", "role", "says"),
    [
        ("x", "a label of 18 char", "x", "ctl", "at most 15"),
        ("x", "x", "eight ch", "ctl", "at most 15 and 7"),
        ("x", "x", "x", "boss", "expected one of you, api"),
    ],
)
def test_a_lane_that_does_not_fit_is_refused(prefix: str, label: str, short: str, role: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        add_lane(prefix, label, short, role)


def test_sentences_name_kinds_and_leave_the_default_namespace_out() -> None:
    given = event(
        "etcd.commit", "etcd", resource="replicasets.apps", key="default/web-7d9c6b8f5d", revision=8, op="put"
    )
    assert words(given)[1] == "etcd commits revision 8: put ReplicaSet web-7d9c6b8f5d."
    other = event("etcd.commit", "etcd", resource="pods", key="kube-system/dns", revision=9, op="delete")
    assert words(other) == ("rev 9: Pod kube-system/dns", "etcd commits revision 9: delete Pod kube-system/dns.")


def test_you_are_addressed_as_you() -> None:
    deed = {"who": "you", "does": "creates", "verb": "create", "what": "Deployment", "resource": "deployments.apps"}
    assert words(event("write", "you", key="default/web", **deed))[1] == "You create Deployment web."


def test_names_begin_as_they_are_written() -> None:
    assert words(event("container.pull", node="node-1", key="default/a", image="nginx"))[1].startswith("node-1 starts")
    assert words(event("deployment.create", key="default/a", replica_set="default/a-1", replicas=3))[1].startswith(
        "The "
    )


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_words_fit_with_the_longest_names(kind: str) -> None:
    name = "namespace-of-a-team/" + "a" * 52 + "-7d9c6b8f5d-x2k4k"
    label, text = words(event(kind, **dict.fromkeys(KINDS[kind].fields, name)))
    assert 0 < len(label) <= 30
    assert 0 < len(text) <= 120


def test_an_unknown_kind_has_words_too() -> None:
    assert words(event("moon.rises", "sky")) == ("moon.rises", "sky: moon.rises.")
    assert mark_of(event("moon.rises")) == "work"


@pytest.mark.parametrize(
    ("given_event", "names"),
    [
        (event("etcd.commit", resource="pods", key="a/b"), ("Pod/a/b", "pods/a/b")),
        (event("etcd.commit", resource="nodes", key="node-1"), ("Node/node-1", "nodes/node-1")),
        (event("pod.running", node="node-1", key="a/b"), ("Pod/a/b", "pods/a/b")),
        (event("queue.add", queue="deployment", key="a/b"), ("Deployment/a/b", "deployment/a/b")),
        (event("etcd.commit", resource="widgets.example.com", key="a/b"), ("widgets.example.com/a/b",)),
        (event("cache.replace", resource="pods", count=3), ()),
    ],
    ids=["a Pod", "a Node", "the kubelet's Pod", "a key in a queue", "a foreign kind", "no object"],
)
def test_the_object_an_event_is_about(given_event: TraceEvent, names: tuple[str, ...]) -> None:
    assert focus_of(given_event) == names


def test_what_decisions_look_at_belongs_to_known_kinds() -> None:
    assert set(READS) <= set(KINDS)
