"""A create stage by stage: it ends where the server's own create ends, and makes the same object."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.objects import thaw
from k8slab.api.scheme import CONFIGMAPS, NAMESPACES, PODS, SERVICEACCOUNTS, SERVICES
from k8slab.api.transport import Request
from k8slab.apiserver import APIServer, Passage
from k8slab.apiserver.admission.pod_security.levels import PREFIX
from k8slab.client import SimulatedHTTP
from k8slab.etcd import Store
from k8slab.sim import Loop
from tests.unit.apiserver.conftest import Bench
from tests.webhooks import MUTATING, Backend, configuration, label, reply, webhook

Json = Any
POD: Json = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


def prepared(make: Any) -> Bench:
    bench: Bench = make()
    bench.call("create", SERVICEACCOUNTS, body={"metadata": {"name": "default"}})
    return bench


def walk(passage: Passage) -> list[str]:
    """The sentences, with the invariants checked after every step."""
    while passage.step():
        passage.check_invariants()
    return [event.message for event in passage.trace]


def states(passage: Passage) -> list[tuple[str, str]]:
    return [(row[1], row[2]) for row in passage.view()["admission"]["rows"].values()]


@pytest.mark.parametrize(
    ("resource", "obj"),
    [
        (PODS, POD),
        (CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}, "data": {"a": "b"}}),
        (
            SERVICES,
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}},
        ),
        (NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}),
    ],
    ids=["a Pod", "a ConfigMap", "a Service, which gets an address", "a Namespace"],
)
def test_what_is_stored_is_what_a_create_would_have_stored(make_bench: Any, resource: Any, obj: Json) -> None:
    """The twin: the same object by the server's own create, on a server of the same seed."""
    one, two = prepared(make_bench), prepared(make_bench)
    ns = "" if resource == NAMESPACES else "default"
    name = obj["metadata"]["name"]
    created = two.call("create", resource, body=obj, ns=ns)
    walk(Passage(one.server, [obj]))
    stored = one.call("get", resource, name, ns=ns)
    assert thaw(stored) == thaw(created)


def test_each_kind_of_refusal_ends_the_way_where_it_happens(make_bench: Any) -> None:
    bench = prepared(make_bench)
    bench.call(
        "create", NAMESPACES, ns="", body={"metadata": {"name": "b", "labels": {f"{PREFIX}enforce": "baseline"}}}
    )
    bench.call("create", SERVICEACCOUNTS, ns="b", body={"metadata": {"name": "default"}})

    def pod(spec: Json, namespace: str = "default", **metadata: Json) -> Json:
        return {**POD, "metadata": {"name": "p", "namespace": namespace, **metadata}, "spec": {**POD["spec"], **spec}}

    ends = {}
    for what, obj in {
        "a type": pod({"hostPID": "yes"}),
        "a namespace": pod({}, "nowhere"),
        "a class": pod({"priorityClassName": "ghost"}),
        "a rule": pod({"restartPolicy": "Sometimes"}),
        "a policy": pod({"hostPID": True}, "b"),
    }.items():
        passage = Passage(bench.server, [obj])
        walk(passage)
        name, state = states(passage)[-1]
        assert state == "refuse" and passage.error is not None
        ends[what] = (name, passage.error.code)
        with pytest.raises(type(passage.error)) as caught:
            bench.call("create", PODS, body=obj, ns=obj["metadata"]["namespace"])
        assert caught.value.message == passage.error.message, "the server's own create says the same"
    assert ends == {
        "a type": ("The server", 400),
        "a namespace": ("NamespaceLifecycle", 404),
        "a class": ("Priority", 403),
        "a rule": ("Validation", 422),
        "a policy": ("PodSecurity", 403),
    }
    assert "PodSecurity refuses: 403" in [event.message for event in passage.trace][-1]


def test_a_name_that_is_taken_is_found_out_last(make_bench: Any) -> None:
    bench = prepared(make_bench)
    passage = Passage(bench.server, [POD, POD])
    walk(passage)
    assert states(passage)[-1] == ("etcd", "refuse")
    assert passage.error is not None and passage.error.code == 409


def test_warnings_and_audit_annotations_are_told(make_bench: Any) -> None:
    bench = prepared(make_bench)
    labels = {f"{PREFIX}warn": "baseline", f"{PREFIX}audit": "baseline"}
    bench.call("create", NAMESPACES, ns="", body={"metadata": {"name": "w", "labels": labels}})
    bench.call("create", SERVICEACCOUNTS, ns="w", body={"metadata": {"name": "default"}})
    pod = {**POD, "metadata": {"name": "p", "namespace": "w"}, "spec": {**POD["spec"], "hostPID": True}}
    passage = Passage(bench.server, [pod])
    walk(passage)
    notes = [row[3] for row in passage.view()["admission"]["rows"].values() if row[1] == "PodSecurity"]
    assert [note.partition(":")[0] for note in notes] == ["warns", "audit audit-violations"]
    assert passage.view()["admission"]["warnings"] == 1
    assert states(passage)[-1] == ("etcd", "stored")


def test_webhooks_are_named_and_a_second_round_is_shown() -> None:
    loop = Loop(seed=3)
    http = SimulatedHTTP(loop)
    server = APIServer(loop, Store(), http=http)
    loop.run(for_ms=50)
    http.serve(
        "https://hooks", Backend(a=lambda r: reply(r, label(r, "a", "1")), b=lambda r: reply(r, label(r, "b", "2")))
    )
    hooks = configuration("hooks", webhook("a", reinvocationPolicy="IfNeeded"), webhook("b"))
    you = server.transport("you")

    async def prepare() -> None:
        await you.call(Request("create", MUTATING, body=hooks))

    loop.spawn("you", prepare())
    loop.run(for_ms=50)
    passage = Passage(server, [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m"}}])
    walk(passage)
    rows = [row for row in passage.view()["admission"]["rows"].values() if row[0] == "mutating"]
    assert rows[0][1] == "MutatingAdmissionWebhook" and "a.example.com" in rows[0][3] and "b.example.com" in rows[0][3]
    assert rows[-1][1] == "MutatingAdmissionWebhook, again"
    loop.close()


def test_an_object_of_no_kind_is_refused_at_once(make_bench: Any) -> None:
    with pytest.raises(ValueError, match="kind"):
        Passage(make_bench().server, [{"metadata": {"name": "x"}}])


def test_many_changes_are_cut_in_the_picture(make_bench: Any) -> None:
    bench = prepared(make_bench)
    passage = Passage(bench.server, [POD])
    passage.step()
    passage.step()
    picture = passage.view()["admission"]
    assert len(picture["diff"]) + picture["more"] == next(iter(picture["rows"].values()))[4]
    assert len(picture["diff"]) <= 12 and all(isinstance(key, str) for key in picture["diff"])
