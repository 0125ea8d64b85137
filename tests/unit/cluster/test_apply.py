"""`Cluster.apply` as `kubectl apply`: created, configured, unchanged, what is removed, what is said, all or nothing.

Upstream: staging/src/k8s.io/kubectl/pkg/cmd/apply,
kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from k8slab.api.manifests import Manifest, ManifestError
from k8slab.api.objects import freeze
from k8slab.api.scheme import SCHEME, gvk_of
from k8slab.cluster import ApplyError, Cluster, manifest_files
from k8slab.cluster.apply import LAST_APPLIED, MAX_REPLICAS, Target
from k8slab.cluster.rehearsal import rehearse
from tests.deployments import deployment, settle


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster(nodes=1)
    yield made
    made.close()


def config_map(name: str = "a", data: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": data or {}}


def widget(size: Any = 1, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": size, **spec}}


def written(cluster: Cluster) -> int:
    """The store's revision: unchanged means that nothing was written."""
    return cluster.control_plane.store.revision


# -- created, configured, unchanged ----------------------------------------------------------------


@pytest.mark.parametrize("obj", [config_map(data={"k": "v"}), deployment(1), widget()], ids=["data", "spec", "foreign"])
def test_the_second_time_is_unchanged_and_writes_nothing(cluster: Cluster, obj: dict[str, Any]) -> None:
    assert [one.what for one in cluster.apply(obj)] == ["created"]
    cluster.run(for_ms=5_000)
    before = written(cluster)
    assert [one.what for one in cluster.apply(obj)] == ["unchanged"]
    assert written(cluster) == before


def test_a_change_is_configured(cluster: Cluster) -> None:
    cluster.apply(config_map(data={"k": "v"}))
    result = cluster.apply(config_map(data={"k": "w"}))
    assert str(result) == "configmap/a configured"
    assert cluster.object("cm/a")["data"] == {"k": "w"}


def test_a_field_that_is_no_longer_wanted_is_removed(cluster: Cluster) -> None:
    cluster.apply(config_map(data={"keep": "1", "drop": "2"}, labels={"app": "a", "tier": "b"}))
    cluster.apply(config_map(data={"keep": "1"}, labels={"app": "a"}))
    found = cluster.object("cm/a")
    assert found["data"] == {"keep": "1"}
    assert found["metadata"]["labels"] == {"app": "a"}


def test_a_field_that_somebody_else_set_is_kept(cluster: Cluster) -> None:
    cluster.apply(config_map(data={"mine": "1"}))
    cluster.patch("cm/a", {"data": {"theirs": "2"}})
    assert [one.what for one in cluster.apply(config_map(data={"mine": "1"}))] == ["unchanged"]
    cluster.apply(config_map(data={"mine": "3"}))
    assert cluster.object("cm/a")["data"] == {"mine": "3", "theirs": "2"}


def test_a_field_that_drifted_is_set_again(cluster: Cluster) -> None:
    cluster.apply(config_map(data={"k": "mine"}))
    cluster.patch("cm/a", {"data": {"k": "theirs"}})
    assert [one.what for one in cluster.apply(config_map(data={"k": "mine"}))] == ["configured"]
    assert cluster.object("cm/a")["data"] == {"k": "mine"}


def test_a_number_of_replicas_that_was_never_applied_stays_as_scaled(cluster: Cluster) -> None:
    """The documented way to let an autoscaler own `replicas`: leave it out."""
    wanted = deployment(1)
    del wanted["spec"]["replicas"]
    cluster.apply(wanted)
    cluster.scale("deploy/web", 3)
    cluster.apply(wanted)
    assert cluster.object("deploy/web")["spec"]["replicas"] == 3


def test_containers_are_merged_by_name(cluster: Cluster) -> None:
    wanted = deployment(1)
    containers = wanted["spec"]["template"]["spec"]["containers"]
    containers.append({"name": "second", "image": "busybox:1"})
    cluster.apply(wanted)
    containers.pop(0)
    cluster.apply(wanted)
    found = cluster.object("deploy/web")["spec"]["template"]["spec"]["containers"]
    assert [c["name"] for c in found] == ["second"]


def test_the_annotation_holds_what_was_applied_last(cluster: Cluster) -> None:
    cluster.apply(config_map(data={"k": "v"}, annotations={"note": "n"}))
    annotations = cluster.object("cm/a")["metadata"]["annotations"]
    assert annotations["note"] == "n"
    remembered = json.loads(annotations[LAST_APPLIED])
    assert remembered == config_map(data={"k": "v"}, annotations={"note": "n"}, namespace="default")


def test_an_object_that_was_not_applied_before_is_adopted(cluster: Cluster) -> None:
    assert [one.what for one in cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})] == ["configured"]  # fmt: skip  # noqa: E501
    assert LAST_APPLIED in cluster.object("ns/default")["metadata"]["annotations"]


def test_an_immutable_field_is_refused_and_nothing_changes(cluster: Cluster) -> None:
    cluster.apply(deployment(1))
    wrong = deployment(1)
    wrong["spec"]["selector"]["matchLabels"] = wrong["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    before = cluster.object("deploy/web")["spec"]
    with pytest.raises(ApplyError, match=r"spec\.selector: Invalid value: .*field is immutable"):
        cluster.apply(wrong)
    assert cluster.object("deploy/web")["spec"] == before


def test_foreign_objects_are_replaced_as_a_whole_where_they_are_lists(cluster: Cluster) -> None:
    """A JSON merge patch: nothing is known of their fields."""
    cluster.apply(widget(items=[{"name": "a"}, {"name": "b"}], gone=True))
    cluster.apply(widget(items=[{"name": "b"}]))
    assert cluster.object("widgets.example.org/w")["spec"] == {"size": 1, "items": [{"name": "b"}]}


# -- several, in order -----------------------------------------------------------------------------


def test_what_others_need_comes_first(cluster: Cluster) -> None:
    result = cluster.apply([
        {**deployment(1), "metadata": {"name": "web", "namespace": "shop"}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "shop"}},
        config_map(namespace="shop"),
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 5},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
    ])  # fmt: skip
    assert [one.reference for one in result] == [
        "namespace/shop",
        "priorityclass.scheduling.k8s.io/high",
        "serviceaccount/robot",
        "deployment.apps/web",
        "configmap/a",
    ]
    assert len(result) == 5


@pytest.mark.parametrize("latency", ["none", "lan", "slow-watch"])
@pytest.mark.parametrize("order", ["fifo", "shuffle", "priority"])
def test_a_pod_in_a_new_namespace_waits_for_its_account(latency: str, order: str) -> None:
    cluster = Cluster(nodes=1, latency=latency, order=order)
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop"},
           "spec": {"containers": [{"name": "c", "image": "nginx"}]}}  # fmt: skip
    cluster.apply([pod, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}])
    assert cluster.run(until=cluster.all_ready, for_ms=10_000)
    assert cluster.ready("pod/p", namespace="shop")
    cluster.close()


def test_a_pod_may_come_with_its_account_and_priority(cluster: Cluster) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
           "spec": {"serviceAccountName": "robot", "priorityClassName": "high",
                    "containers": [{"name": "c", "image": "nginx"}]}}  # fmt: skip
    cluster.apply([
        pod,
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}},
        {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"}, "value": 5},
    ])  # fmt: skip
    assert cluster.object("pod/p")["spec"]["priority"] == 5
    assert cluster.object("pod/p")["spec"]["serviceAccountName"] == "robot"


# -- what only shows when objects meet -------------------------------------------------------------


def pod(*containers: str, **spec: Any) -> dict[str, Any]:
    shown = [{"name": name, "image": "nginx:1.27"} for name in containers or ("c",)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": shown, **spec}}


def service(name: str, **spec: Any) -> dict[str, Any]:
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}], **spec}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def node_port(name: str) -> dict[str, Any]:
    return service(name, type="NodePort", ports=[{"port": 80, "nodePort": 30080}])


def other_selector() -> dict[str, Any]:
    wanted = deployment(1)
    wanted["spec"]["selector"]["matchLabels"] = wanted["spec"]["template"]["metadata"]["labels"] = {"app": "other"}
    return wanted


FROZEN = {**config_map(data={"k": "v"}), "immutable": True}
TOGETHER = {
    "a Deployment with another selector": ([deployment(1), other_selector()], "field is immutable"),
    "a Pod on another node": ([pod(), pod(nodeName="elsewhere")], "pod updates may not change fields"),
    "a Pod with another container": ([pod(), pod("d")], "pod updates may not change fields"),
    "an address after one was given": ([service("a"), service("a", clusterIP="10.96.3.3")], "may not change once set"),
    "an immutable ConfigMap": ([FROZEN, {**FROZEN, "data": {"k": "w"}}], "field is immutable when `immutable` is set"),
    "the third time": (
        [pod(), pod(activeDeadlineSeconds=9), pod()],
        "must not update from a positive integer to nil value",
    ),
    "two Services, one address": (
        [service("a", clusterIP="10.96.3.3"), service("b", clusterIP="10.96.3.3")],
        "provided IP is already allocated",
    ),
    "two Services, one port": ([node_port("a"), node_port("b")], "provided port is already allocated"),
}


@pytest.mark.parametrize(("objects", "why"), TOGETHER.values(), ids=TOGETHER)
def test_what_the_manifest_before_forbids_is_known_before_anything_is_written(
    objects: list[dict[str, Any]], why: str, cluster: Cluster
) -> None:
    """One after the other the first is taken and the second is not: so neither is."""
    before, events, now_ms = written(cluster), len(cluster.trace), cluster.now_ms
    with pytest.raises(ApplyError, match=re.escape(why)) as refused:
        cluster.apply([config_map("other"), *objects])
    assert "(once the manifests before it are applied)" in str(refused.value)
    assert refused.value.applied == ()
    assert written(cluster) == before
    for one in objects[:-1]:
        cluster.apply(one)
    with pytest.raises(ApplyError, match=re.escape(why)):
        cluster.apply(objects[-1])
    assert (len(cluster.trace) > events, cluster.now_ms > now_ms) == (True, True)


def test_it_counts_what_the_cluster_has_already(cluster: Cluster) -> None:
    cluster.apply(service("old", clusterIP="10.96.3.3"))
    with pytest.raises(ApplyError, match="provided IP is already allocated"):
        cluster.apply([service("new"), service("newer", clusterIP="10.96.3.3")])
    assert [one["metadata"]["name"] for one in cluster.mirror.list("services", "default")] == ["kubernetes", "old"]
    cluster.apply(pod())
    with pytest.raises(ApplyError, match="pod updates may not change fields"):
        cluster.apply([pod(), pod("d")])
    assert [one["name"] for one in cluster.object("pod/p")["spec"]["containers"]] == ["c"]


def test_the_same_object_twice_is_fine_when_the_second_may_follow_the_first(cluster: Cluster) -> None:
    result = cluster.apply([config_map(data={"k": "v"}), config_map(data={"k": "w"}), widget(1), widget(2)])
    assert [one.what for one in result] == ["created", "configured"] * 2
    assert cluster.object("cm/a")["data"] == {"k": "w"}


def test_what_could_not_be_created_as_it_is_cannot_be_tried_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something that only an update may give an object: nothing is said about its next state."""
    cluster = Cluster(nodes=1)
    cluster.apply(config_map(data={"k": "v"}))
    held = cluster.mirror.get("configmaps", "default/a")
    assert held is not None
    for name, refused in (("a", True), ("Not a name", False)):
        wanted = {**FROZEN, "metadata": {"name": name}, "data": {"k": "x"}}
        odd = freeze({**held, "metadata": {**held["metadata"], "name": name}, "immutable": True})
        monkeypatch.setattr(cluster.mirror, "list", lambda resource, odd=odd: [odd])
        target = Target(Manifest(wanted, "a test", 1, 1), SCHEME.resource_of(gvk_of(wanted)), "default", name, wanted)
        assert bool(rehearse([target, target], cluster.mirror, cluster.features)) is refused
    cluster.close()


def test_keep_going_applies_the_first(cluster: Cluster) -> None:
    result = cluster.apply([pod(), pod("d")], keep_going=True)
    assert [one.what for one in result] == ["created"]
    assert len(result.errors) == 1


def test_the_namespace_argument_is_for_objects_that_name_none(cluster: Cluster) -> None:
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    cluster.apply([config_map("a"), config_map("b", namespace="default")], namespace="shop")
    assert [(o["metadata"]["namespace"], o["metadata"]["name"]) for o in cluster.objects("cm")
            if o["metadata"]["name"] in "ab"] == [("default", "b"), ("shop", "a")]  # fmt: skip


# -- what is said ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("obj", "note"),
    [
        (config_map(), ""),
        (deployment(1), ""),
        (widget(), "stored; nothing in this simulation acts on Widget objects"),
        (
            {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "i"},
             "spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}},
            "stored; nothing in this simulation acts on Ingress objects",
        ),
        (
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"},
             "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}},
            "stored; nobody here works out status.disruptionsAllowed: until you patch it, the budget counts as used up",
        ),
    ],
    ids=["data", "acted on", "foreign", "built in, not acted on", "heeded by the scheduler, kept by nobody"],
)  # fmt: skip
def test_what_is_only_stored_is_said(cluster: Cluster, obj: dict[str, Any], note: str) -> None:
    [one] = cluster.apply(obj)
    assert one.note == note
    assert (f"  ({note})" if note else "created") in str(one)


def test_unknown_fields_are_warnings(cluster: Cluster) -> None:
    wanted = deployment(1)
    wanted["spec"]["replica"] = 3
    result = cluster.apply(wanted)
    assert result.warnings == ('object 1, document 1: Deployment web: unknown field "spec.replica"',)
    assert "replica" not in cluster.object("deploy/web")["spec"]


# -- refusals --------------------------------------------------------------------------------------

NEW_NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
BATCHES: dict[str, list[dict[str, Any]]] = {
    "a bad object among good ones": [config_map(), {**deployment(-1)}, config_map("b")],
    "a bad object in a namespace that comes with it": [NEW_NAMESPACE, config_map("Bad_Name", namespace="shop")],
    "a Pod whose account is missing in a namespace that comes with it": [
        NEW_NAMESPACE,
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop"},
         "spec": {"serviceAccountName": "x", "containers": [{"name": "c", "image": "i"}]}},
    ],
    "an object in a namespace that does not exist": [config_map(), config_map("b", namespace="nowhere")],
    "too many replicas": [config_map(), deployment(MAX_REPLICAS + 1)],
    "no name": [config_map(), {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}],
}  # fmt: skip


@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
def test_all_or_nothing(cluster: Cluster, batch: list[dict[str, Any]]) -> None:
    before = written(cluster)
    with pytest.raises(ApplyError) as caught:
        cluster.apply(batch)
    assert written(cluster) == before
    assert caught.value.applied == ()
    assert len(caught.value.problems) == 1
    assert cluster.all_ready(), "nothing is waited for"


@pytest.mark.parametrize("batch", BATCHES.values(), ids=BATCHES)
def test_keep_going_applies_the_rest_and_tells(cluster: Cluster, batch: list[dict[str, Any]]) -> None:
    result = cluster.apply(batch, keep_going=True)
    assert (len(result), len(result.errors)) == (len(batch) - 1, 1)
    assert result.errors[0] in str(result)


def test_all_problems_are_named_at_once(cluster: Cluster) -> None:
    with pytest.raises(ApplyError) as caught:
        cluster.apply([config_map("A"), config_map("B"), deployment(10**6)])
    assert [p.split(":")[0] for p in caught.value.problems] == [
        "object 3, document 1, line 1, column " + str(json.dumps(deployment(10**6)).index('"replicas"') + 1),
        "object 1, document 1",
        "object 2, document 1",
    ]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("a: [\n", "text, document 1, line 2"),
        ("apiVersion: v1\nkind: Gizmo\n", 'no matches for kind "Gizmo"'),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: 1}\n", "data.k: 1: expected a string"),
        ("no manifest", "expected an object with apiVersion, kind and metadata"),
    ],
)
def test_wrong_manifests_are_refused_before_anything_is_sent(cluster: Cluster, text: str, match: str) -> None:
    before = cluster.loop.actions
    with pytest.raises(ManifestError, match=match):
        cluster.apply(text)
    assert cluster.loop.actions == before


def test_a_file_that_does_not_exist_is_named(cluster: Cluster) -> None:
    with pytest.raises(FileNotFoundError, match=r"no-such-file\.yaml"):
        cluster.apply("no-such-file.yaml")


def test_nothing_at_all_is_applied_as_nothing(cluster: Cluster) -> None:
    assert len(cluster.apply("# nothing\n---\n")) == 0
    assert len(cluster.apply([])) == 0


# -- sources ---------------------------------------------------------------------------------------


def test_a_path_a_text_and_objects_mean_the_same(cluster: Cluster, tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    file = tmp_path / "a.yaml"
    file.write_text("\ufeff" + text, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("no manifest")
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    for source, what in (
        (text, "created"), (file, "unchanged"), (str(file), "unchanged"), (tmp_path, "unchanged"),
        (str(tmp_path), "unchanged"), (obj, "unchanged"),
    ):  # fmt: skip
        assert [one.what for one in cluster.apply(source)] == [what], source


def test_a_missing_file_names_itself(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"gone\.yaml"):
        cluster.apply(tmp_path / "gone.yaml")


def test_files_of_a_folder_come_sorted(tmp_path: Path) -> None:
    for name in ("b.yml", "a.yaml", "c.json", "d.txt"):
        (tmp_path / name).write_text("")
    (tmp_path / "e.yaml").mkdir()
    assert [path.name for path in manifest_files(tmp_path)] == ["a.yaml", "b.yml", "c.json"]


def test_without_waiting_only_the_first_request_is_on_its_way(cluster: Cluster) -> None:
    before = written(cluster)
    assert len(cluster.apply(deployment(1), wait=False)) == 0
    assert written(cluster) == before
    assert not cluster.all_ready()
    assert cluster.not_ready() == {"deployments.apps/default/web": "it does not exist"}
    settle(cluster, 1)
