"""What creates, updates and deletes do, by the rules of upstream's registry."""

from __future__ import annotations

import re
from typing import Any

import pytest

from k8slab.api.errors import StatusError
from k8slab.api.features import FeatureGates
from k8slab.api.scheme import (
    CONFIGMAPS,
    DAEMONSETS,
    DEPLOYMENTS,
    ENDPOINTSLICES,
    EVENTS,
    GVK,
    GVR,
    JOBS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    REPLICASETS,
)
from tests.unit.apiserver.conftest import MERGE, Bench

LOOP: dict[str, Any] = {}
LOOP["me"] = LOOP
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}


def workload(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE, **spec},
    }


def refused(bench: Bench, code: int, *args: Any, **more: Any) -> str:
    with pytest.raises(StatusError) as caught:
        bench.call(*args, **more)
    assert caught.value.code == code, caught.value.message
    return caught.value.message


# -- create ------------------------------------------------------------------------------------------


def test_the_server_sets_uid_time_and_namespace(bench: Bench) -> None:
    body = {"metadata": {"name": "a", "uid": "mine", "creationTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/x"}}
    metadata = bench.call("create", CONFIGMAPS, body=body)["metadata"]
    assert re.fullmatch(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}", metadata["uid"])
    assert metadata["creationTimestamp"] == "2026-01-01T00:00:00Z" and metadata["namespace"] == "default"
    assert "selfLink" not in metadata


def test_generated_names_have_five_random_characters(bench: Bench) -> None:
    names = {
        bench.call("create", CONFIGMAPS, body={"metadata": {"generateName": "x-"}})["metadata"]["name"] for _ in "ab"
    }
    assert len(names) == 2
    assert all(re.fullmatch("x-[bcdfghjklmnpqrstvwxz2456789]{5}", name) for name in names)


def test_a_generated_name_that_is_taken_is_drawn_again(bench: Bench) -> None:
    state = bench.server.env.names.getstate()
    first = bench.call("create", CONFIGMAPS, body={"metadata": {"generateName": "x-"}})
    bench.server.env.names.setstate(state)
    second = bench.call("create", CONFIGMAPS, body={"metadata": {"generateName": "x-"}})
    assert first["metadata"]["name"] != second["metadata"]["name"]


def test_eight_taken_names_are_enough(bench: Bench) -> None:
    state = bench.server.env.names.getstate()
    for _ in range(8):
        bench.call("create", CONFIGMAPS, body={"metadata": {"generateName": "x-"}})
    bench.server.env.names.setstate(state)
    with pytest.raises(StatusError) as caught:
        bench.call("create", CONFIGMAPS, body={"metadata": {"generateName": "x-"}})
    error = caught.value
    tail = '" already exists, the server was not able to generate a unique name for the object'
    assert error.code == 409 and error.reason == "AlreadyExists" and error.message.endswith(tail)
    assert error.details is not None and error.details["retryAfterSeconds"] == 1
    bench.server.env.names.setstate(state)
    bench.call("delete", CONFIGMAPS, error.details["name"])
    again = bench.call("create", CONFIGMAPS, body={"metadata": {"generateName": "x-"}})
    assert again["metadata"]["name"] == error.details["name"]


def test_a_taken_name_with_a_prefix_to_generate_from_says_to_try_again(bench: Bench) -> None:
    body = {"metadata": {"name": "a", "generateName": "x-"}}
    bench.call("create", CONFIGMAPS, body=body)
    message = refused(bench, 409, "create", CONFIGMAPS, body=body)
    assert message.endswith("already exists, the server was not able to generate a unique name for the object")


def test_a_namespace_in_a_cluster_wide_object_is_dropped(bench: Bench) -> None:
    created = bench.call("create", NODES, ns="", body={"metadata": {"name": "n", "namespace": "x"}})
    assert "namespace" not in created["metadata"]


def test_a_name_that_is_being_deleted_is_said_to_be_so(bench: Bench) -> None:
    bench.call("create", CONFIGMAPS, body={"metadata": {"name": "a", "finalizers": ["ex.io/a"]}})
    assert (
        refused(bench, 409, "create", CONFIGMAPS, body={"metadata": {"name": "a"}}) == 'configmaps "a" already exists'
    )
    bench.call("delete", CONFIGMAPS, "a")
    message = refused(bench, 409, "create", CONFIGMAPS, body={"metadata": {"name": "a"}})
    assert message == 'object is being deleted: configmaps "a" already exists'


def test_a_dry_run_of_every_write_leaves_etcd_alone(bench: Bench) -> None:
    bench.call("create", CONFIGMAPS, body={"metadata": {"name": "a"}, "data": {"k": "1"}})
    before = bench.etcd.revision
    created = bench.call("create", CONFIGMAPS, body={"metadata": {"name": "b"}}, dryRun="All")
    patched = bench.call("patch", CONFIGMAPS, "a", {"data": {"k": "2"}}, patch_type=MERGE, dryRun="All")
    bench.call("delete", CONFIGMAPS, "a", dryRun="All")
    assert bench.etcd.revision == before
    assert "resourceVersion" not in created["metadata"] and patched["data"] == {"k": "2"}


def test_a_status_in_a_create_is_dropped_but_a_node_keeps_its_own(bench: Bench) -> None:
    assert bench.call("create", DEPLOYMENTS, body={**workload("d"), "status": {"replicas": 9}})["status"] == {}
    assert bench.call("create", REPLICASETS, body={**workload("r"), "status": {"replicas": 9}})["status"] == {
        "replicas": 0
    }
    node = {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4"}}}
    assert bench.call("create", NODES, ns="", body=node)["status"]["capacity"] == {"cpu": "4"}


# -- generation --------------------------------------------------------------------------------------


def test_annotations_of_deployments_count_as_spec_and_labels_do_not(bench: Bench) -> None:
    bench.call("create", DEPLOYMENTS, body=workload("d"))

    def generation(patch: Any) -> int:
        return int(bench.call("patch", DEPLOYMENTS, "d", patch, patch_type=MERGE)["metadata"]["generation"])

    assert generation({"metadata": {"labels": {"l": "1"}}}) == 1
    assert generation({"metadata": {"annotations": {"a": "1"}}}) == 2
    assert generation({"spec": {"replicas": 3}}) == 3
    assert generation({"spec": {"replicas": 3}}) == 3
    assert generation({"metadata": {"generation": 99}}) == 3


def test_annotations_of_replica_sets_do_not_count(bench: Bench) -> None:
    bench.call("create", REPLICASETS, body=workload("r"))
    patch = {"metadata": {"annotations": {"a": "1"}}}
    assert bench.call("patch", REPLICASETS, "r", patch, patch_type=MERGE)["metadata"]["generation"] == 1


def test_a_config_map_keeps_the_generation_its_client_set(bench: Bench) -> None:
    created = bench.call("create", CONFIGMAPS, body={"metadata": {"name": "a", "generation": 7}})
    assert created["metadata"]["generation"] == 7
    patched = bench.call("patch", CONFIGMAPS, "a", {"data": {"k": "v"}}, patch_type=MERGE)
    assert patched["metadata"]["generation"] == 7


def test_an_endpoint_slice_counts_labels_and_everything_below_the_metadata(bench: Bench) -> None:
    body = {"metadata": {"name": "s"}, "addressType": "IPv4", "endpoints": [], "ports": []}
    assert bench.call("create", ENDPOINTSLICES, body=body)["metadata"]["generation"] == 1
    for expected, patch in ((2, {"metadata": {"labels": {"a": "b"}}}), (2, {"metadata": {"annotations": {"x": "y"}}})):
        patched = bench.call("patch", ENDPOINTSLICES, "s", patch, patch_type=MERGE)
        assert patched["metadata"]["generation"] == expected


def test_daemon_sets_count_their_template_in_an_annotation(bench: Bench) -> None:
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}
    bench.call("create", DAEMONSETS, body={"metadata": {"name": "x"}, "spec": spec})
    image = {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "j:2"}]}}}}
    patched = bench.call("patch", DAEMONSETS, "x", image, patch_type=MERGE)
    assert patched["metadata"]["annotations"] == {"deprecated.daemonset.template.generation": "2"}


# -- update ------------------------------------------------------------------------------------------


def test_a_put_without_a_version_overwrites_and_a_stale_one_conflicts(bench: Bench) -> None:
    first = bench.call("create", CONFIGMAPS, body={"metadata": {"name": "a"}, "data": {"k": "1"}})
    bench.call("update", CONFIGMAPS, "a", {"metadata": {"name": "a"}, "data": {"k": "2"}})
    stale = {"metadata": {"name": "a", "resourceVersion": first["metadata"]["resourceVersion"]}, "data": {"k": "3"}}
    assert refused(bench, 409, "update", CONFIGMAPS, "a", stale).endswith(
        "apply your changes to the latest version and try again"
    )


def test_a_put_that_changes_nothing_makes_no_revision(bench: Bench) -> None:
    created = bench.call("create", CONFIGMAPS, body={"metadata": {"name": "a"}, "data": {"k": "1"}})
    before = bench.etcd.revision
    assert bench.call("update", CONFIGMAPS, "a", created) == created
    assert bench.etcd.revision == before


def test_a_put_creates_leases_but_not_config_maps(bench: Bench) -> None:
    assert bench.call("update", LEASES, "l", {"metadata": {"name": "l"}, "spec": {}})["metadata"]["uid"]
    assert refused(bench, 404, "update", CONFIGMAPS, "a", {"metadata": {"name": "a"}}) == 'configmaps "a" not found'


def test_a_lease_needs_a_version_for_an_update(bench: Bench) -> None:
    lease = bench.call("create", LEASES, body={"metadata": {"name": "l"}, "spec": {}})
    unversioned = {"metadata": {"name": "l"}, "spec": {"holderIdentity": "x"}}
    assert "must be specified for an update" in refused(bench, 422, "update", LEASES, "l", unversioned)
    bench.call("update", LEASES, "l", {**lease, "spec": {"holderIdentity": "x"}})


def test_the_main_endpoint_ignores_the_status_and_status_ignores_the_rest(bench: Bench) -> None:
    bench.call("create", DEPLOYMENTS, body=workload("d"))
    main = bench.call("patch", DEPLOYMENTS, "d", {"status": {"replicas": 5}}, patch_type=MERGE)
    assert main["status"] == {}
    body = {"metadata": {"name": "d", "labels": {"x": "y"}, "annotations": {"via": "status"}}, "spec": {"replicas": 9}}
    changed = bench.call("update", DEPLOYMENTS, "d", {**body, "status": {"replicas": 2}}, subresource="status")
    assert changed["spec"]["replicas"] == 2 and changed["status"] == {"replicas": 2}
    assert changed["metadata"].get("labels") is None and changed["metadata"]["annotations"] == {"via": "status"}
    assert changed["metadata"]["generation"] == 1


def test_a_pods_status_keeps_its_qos_class_and_owners(bench: Bench) -> None:
    bench.pod("p")
    body = {"metadata": {"name": "p", "ownerReferences": []}, "status": {"phase": "Running"}}
    changed = bench.call("update", PODS, "p", body, subresource="status")
    assert changed["status"] == {"phase": "Running", "qosClass": "BestEffort"}
    assert changed["spec"]["containers"][0]["name"] == "c"


def test_unchanged_parts_of_an_object_are_shared_between_its_revisions(bench: Bench) -> None:
    first = bench.pod("p")
    second = bench.call("patch", PODS, "p", {"status": {"phase": "Running"}}, subresource="status", patch_type=MERGE)
    assert second["spec"] is first["spec"]


# -- scale, binding ----------------------------------------------------------------------------------


def test_a_scale_is_read_and_written(bench: Bench) -> None:
    bench.call("create", DEPLOYMENTS, body=workload("d"))
    scale = bench.call("get", DEPLOYMENTS, "d", subresource="scale")
    assert scale["spec"] == {"replicas": 2} and scale["status"] == {"replicas": 0, "selector": "a=b"}
    assert bench.call("update", DEPLOYMENTS, "d", {**scale, "spec": {"replicas": 5}}, subresource="scale")["spec"] == {
        "replicas": 5
    }
    assert refused(bench, 409, "update", DEPLOYMENTS, "d", scale, subresource="scale")
    assert bench.call("get", DEPLOYMENTS, "d")["metadata"]["generation"] == 2
    zero = bench.call("patch", DEPLOYMENTS, "d", {"spec": {"replicas": 0}}, subresource="scale", patch_type=MERGE)
    assert zero["spec"] == {}


def test_a_pod_is_bound_once(bench: Bench) -> None:
    bench.pod("p")
    body = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    assert bench.call("create", PODS, "p", body, subresource="binding")["status"] == "Success"
    pod = bench.call("get", PODS, "p")
    assert pod["spec"]["nodeName"] == "n" and pod["metadata"]["generation"] == 1
    assert pod["status"]["conditions"][0]["type"] == "PodScheduled"
    message = refused(bench, 409, "create", PODS, "p", body, subresource="binding")
    assert message.endswith('pod p is already assigned to node "n"')


@pytest.mark.parametrize(("release", "kept"), [("1.36", False), ("1.34", True)], ids=["since 1.35", "before"])
def test_binding_clears_the_nomination_since_1_35(release: str, kept: bool) -> None:
    bench = Bench(features=FeatureGates(release))
    bench.pod("p")
    nominated = {"status": {"nominatedNodeName": "m"}}
    bench.call("patch", PODS, "p", nominated, subresource="status", patch_type=MERGE)
    body = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    bench.call("create", PODS, "p", body, subresource="binding")
    assert ("nominatedNodeName" in bench.call("get", PODS, "p")["status"]) == kept


def test_a_gated_pod_cannot_be_bound(bench: Bench) -> None:
    pod = bench.pod("p", schedulingGates=[{"name": "g"}])
    assert pod["status"]["conditions"][0]["reason"] == "SchedulingGated"
    body = {"metadata": {"name": "p"}, "target": {"name": "n"}}
    assert refused(bench, 409, "create", PODS, "p", body, subresource="binding").endswith(
        "non-empty .spec.schedulingGates"
    )


def test_the_legacy_bindings_resource_binds_too(bench: Bench) -> None:
    bench.pod("p")
    bench.call("create", GVR("", "v1", "bindings"), body={"metadata": {"name": "p"}, "target": {"name": "n"}})
    assert bench.call("get", PODS, "p")["spec"]["nodeName"] == "n"


# -- delete ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("node", "phase", "asked", "grace"),
    [
        pytest.param("", "", None, 0, id="a Pod without a node goes at once"),
        pytest.param("n", "", None, 30, id="a bound Pod gets its own grace period"),
        pytest.param("n", "Succeeded", None, 0, id="a finished Pod goes at once"),
        pytest.param("n", "Failed", 10, 0, id="a failed Pod goes at once even when asked to wait"),
        pytest.param("n", "", 5, 5, id="the request decides"),
        pytest.param("n", "", -1, 1, id="a negative period is one second"),
        pytest.param("n", "", 0, 0, id="zero removes at once"),
    ],
)
def test_how_long_a_pod_may_live_on(bench: Bench, node: str, phase: str, asked: int | None, grace: int) -> None:
    bench.pod("p")
    if node:
        bench.call("create", PODS, "p", {"metadata": {"name": "p"}, "target": {"name": node}}, subresource="binding")
    if phase:
        bench.call("patch", PODS, "p", {"status": {"phase": phase}}, subresource="status", patch_type=MERGE)
    deleted = bench.call("delete", PODS, "p", None if asked is None else {"gracePeriodSeconds": asked})
    assert deleted["metadata"]["deletionGracePeriodSeconds"] == grace
    assert (bench.server.cached("pods", "default", "p") is None) == (grace == 0)
    assert deleted["metadata"]["generation"] == 2


def test_a_second_delete_may_only_shorten_the_period(bench: Bench) -> None:
    bench.pod("p")
    bench.call("create", PODS, "p", {"metadata": {"name": "p"}, "target": {"name": "n"}}, subresource="binding")
    bench.call("delete", PODS, "p")
    before = bench.etcd.revision
    bench.call("delete", PODS, "p", {"gracePeriodSeconds": 60})
    assert bench.etcd.revision == before
    shorter = bench.call("delete", PODS, "p", {"gracePeriodSeconds": 5})
    assert shorter["metadata"]["deletionGracePeriodSeconds"] == 5
    assert shorter["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:05Z"


def test_the_last_finalizer_takes_the_object_with_it(bench: Bench) -> None:
    bench.call("create", CONFIGMAPS, body={"metadata": {"name": "a", "finalizers": ["ex.io/a"]}})
    assert bench.call("delete", CONFIGMAPS, "a")["metadata"]["deletionGracePeriodSeconds"] == 0
    patched = bench.call("patch", CONFIGMAPS, "a", {"metadata": {"finalizers": None}}, patch_type=MERGE)
    assert "finalizers" not in patched["metadata"]
    assert refused(bench, 404, "get", CONFIGMAPS, "a") == 'configmaps "a" not found'


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        pytest.param({"propagationPolicy": "Foreground"}, ["foregroundDeletion"], id="foreground waits for dependents"),
        pytest.param({"propagationPolicy": "Orphan"}, ["orphan"], id="orphan releases them first"),
        pytest.param({"orphanDependents": True}, ["orphan"], id="the old option means the same"),
        pytest.param({"propagationPolicy": "Background"}, None, id="background deletes at once"),
        pytest.param({}, None, id="background is the default"),
    ],
)
def test_the_propagation_policy_becomes_a_finalizer(bench: Bench, options: Any, finalizers: Any) -> None:
    bench.call("create", REPLICASETS, body=workload("r"))
    bench.call("delete", REPLICASETS, "r", options or None)
    left = bench.server.cached("replicasets.apps", "default", "r")
    assert (left["metadata"].get("finalizers") if left else None) == finalizers


def test_jobs_leave_their_pods_behind_by_default_and_events_never_orphan(bench: Bench) -> None:
    template = {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}  # type: ignore[dict-item]
    bench.call("create", JOBS, body={"metadata": {"name": "j"}, "spec": {"template": template}})
    assert bench.call("delete", JOBS, "j")["metadata"]["finalizers"] == ["orphan"]
    event = {"metadata": {"name": "e"}, "involvedObject": {"namespace": "default", "name": "x", "kind": "Pod"}}
    bench.call("create", EVENTS, body=event)
    assert bench.call("delete", EVENTS, "e", {"propagationPolicy": "Orphan"})["status"] == "Success"


@pytest.mark.parametrize(
    ("options", "text"),
    [
        pytest.param(
            {"preconditions": {"uid": "other"}}, "The object might have been deleted and then recreated", id="uid"
        ),
        pytest.param({"preconditions": {"resourceVersion": "1"}}, "The object might have been modified", id="version"),
    ],
)
def test_preconditions_of_a_delete_are_checked(bench: Bench, options: Any, text: str) -> None:
    bench.call("create", CONFIGMAPS, body={"metadata": {"name": "a"}})
    assert refused(bench, 409, "delete", CONFIGMAPS, "a", options).endswith(text)


def test_deletecollection_deletes_what_the_selector_names(bench: Bench) -> None:
    for name, group in (("a", "x"), ("b", "x"), ("c", "y")):
        bench.call("create", CONFIGMAPS, body={"metadata": {"name": name, "labels": {"g": group}}})
    deleted = bench.call("deletecollection", CONFIGMAPS, labelSelector="g=x")
    assert [item["metadata"]["name"] for item in deleted["items"]] == ["a", "b"]
    assert [item["metadata"]["name"] for item in bench.call("list", CONFIGMAPS)["items"]] == ["c"]


# -- namespaces, jobs, custom kinds --------------------------------------------------------


def test_a_namespace_terminates_and_goes_when_it_is_finalized(bench: Bench) -> None:
    created = bench.call("create", NAMESPACES, ns="", body={"metadata": {"name": "x"}})
    assert created["spec"] == {"finalizers": ["kubernetes"]} and created["status"] == {"phase": "Active"}
    assert created["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}
    deleted = bench.call("delete", NAMESPACES, "x", ns="")
    assert deleted["status"]["phase"] == "Terminating"
    assert bench.call("delete", NAMESPACES, "x", ns="") == deleted
    bench.call("update", NAMESPACES, "x", {**deleted, "spec": {}}, ns="", subresource="finalize")
    assert refused(bench, 404, "get", NAMESPACES, "x", ns="") == 'namespaces "x" not found'


def test_a_job_is_selected_by_its_uid(bench: Bench) -> None:
    template = {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}  # type: ignore[dict-item]
    job = bench.call("create", JOBS, body={"metadata": {"name": "j"}, "spec": {"template": template}})
    uid = job["metadata"]["uid"]
    assert job["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}
    assert job["metadata"]["labels"] == job["spec"]["template"]["metadata"]["labels"]


def test_kinds_of_foreign_groups_are_stored_and_need_a_version_on_put(bench: Bench) -> None:
    info = bench.server.register_unstructured(GVK("ex.io", "v1", "Widget"), "widgets", True)
    assert bench.server.register_unstructured(GVK("ex.io", "v1", "Widget"), "widgets", True) == info
    created = bench.call("create", info.gvr, body={"metadata": {"name": "w"}, "spec": {"any": [1, {"x": None}]}})
    assert created["kind"] == "Widget" and created["metadata"]["generation"] == 1
    assert bench.etcd.range(b"/registry/ex.io/widgets/default/w").count == 1
    message = refused(bench, 422, "update", info.gvr, "w", {"metadata": {"name": "w"}, "spec": {}})
    assert (
        message
        == 'widgets.ex.io "w" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update'
    )
    patched = bench.call("patch", info.gvr, "w", {"spec": {"size": 2}}, patch_type=MERGE)
    assert patched["metadata"]["generation"] == 2
    assert bench.watch(info.gvr)[0][:2] == ("ADDED", "w")
    with pytest.raises(ValueError, match="expected a group that is not built in"):
        bench.server.register_unstructured(GVK("apps", "v1", "Widget"), "widgets", True)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        pytest.param({"x": [float("nan")]}, "NaN", id="not a number"),
        pytest.param({"x": {1, 2}}, "json: unsupported type: set", id="a set"),
        pytest.param(LOOP, "exceeded max depth", id="a dict that contains itself"),
    ],
)
def test_what_json_cannot_hold_is_refused(bench: Bench, spec: Any, text: str) -> None:
    info = bench.server.register_unstructured(GVK("ex.io", "v1", "Widget"))
    assert text in refused(bench, 400, "create", info.gvr, body={"metadata": {"name": "w"}, "spec": spec})
    bench.call("create", info.gvr, body={"metadata": {"name": "w"}, "spec": {}})
    for patch_type in (MERGE, "application/json-patch+json"):
        patch: Any = {"spec": spec} if patch_type == MERGE else [{"op": "add", "path": "/spec/x", "value": spec}]
        assert text in refused(bench, 400, "patch", info.gvr, "w", patch, patch_type=patch_type)
    assert bench.call("get", info.gvr, "w")["spec"] == {}


def test_kinds_have_the_names_of_custom_resources(bench: Bench) -> None:
    with pytest.raises(ValueError, match='kind: "foo bar": may have mixed case, but should otherwise match'):
        bench.server.register_unstructured(GVK("ex.io", "v1", "foo bar"))


LABEL_KEYS = {
    "labelSelector": {"matchLabels": {"app": "web"}},
    "topologyKey": "zone",
    "matchLabelKeys": ["hash", "absent"],
}


def test_label_keys_of_a_new_pod_are_written_into_its_selectors(bench: Bench) -> None:
    required, preferred = (f"{kind}DuringSchedulingIgnoredDuringExecution" for kind in ("required", "preferred"))
    soft = {"weight": 1, "podAffinityTerm": {**LABEL_KEYS, "mismatchLabelKeys": ["tier"]}}
    spec = {
        "containers": [{"name": "c", "image": "i:1"}],
        "affinity": {"podAffinity": {required: [LABEL_KEYS]}, "podAntiAffinity": {preferred: [soft]}},
        "topologySpreadConstraints": [{**LABEL_KEYS, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}],
    }
    labels = {"app": "web", "hash": "1", "tier": "front"}
    bench.pod("other")  # and with it the ServiceAccount
    made = bench.call("create", PODS, "p", {"metadata": {"name": "p", "labels": labels}, "spec": spec})["spec"]
    own = {"key": "hash", "operator": "In", "values": ["1"]}
    others = {"key": "tier", "operator": "NotIn", "values": ["front"]}
    hard = made["affinity"]["podAffinity"][required][0]
    assert hard["labelSelector"] == {"matchLabels": {"app": "web"}, "matchExpressions": [own]}
    assert hard["matchLabelKeys"] == ["hash", "absent"]
    weighted = made["affinity"]["podAntiAffinity"][preferred][0]["podAffinityTerm"]
    assert weighted["labelSelector"]["matchExpressions"] == [own, others]
    assert made["topologySpreadConstraints"][0]["labelSelector"]["matchExpressions"] == [own]


def test_label_keys_need_a_selector(bench: Bench) -> None:
    bare = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "matchLabelKeys": ["hash"]}
    spec = {"containers": [{"name": "c", "image": "i:1"}], "topologySpreadConstraints": [bare]}
    pod = {"metadata": {"name": "p", "labels": {"hash": "1"}}, "spec": spec}
    bench.pod("other")
    message = refused(bench, 422, "create", PODS, "p", pod)
    assert "matchLabelKeys: Forbidden: must not be specified when labelSelector is not set" in message


SELECTED_TWICE = "exists in both matchLabelKeys and labelSelector"
LISTED_TWICE = "exists in both matchLabelKeys and mismatchLabelKeys"
BY_APP = {"matchLabels": {"app": "web"}}


@pytest.mark.parametrize(
    ("selector", "keys", "at", "key"),
    [
        pytest.param(BY_APP, ["app"], "[0]", "app", id="a key of matchLabels"),
        pytest.param(
            {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
            ["hash", "app"],
            "[1]",
            "app",
            id="a key of matchExpressions, the second in the list",
        ),
        pytest.param(BY_APP, ["hash", "hash"], "[1]", "hash", id="a key listed twice"),
    ],
)
def test_a_label_key_that_the_selector_has_already_is_refused_where_upstream_says(
    selector: dict[str, Any], keys: list[str], at: str, key: str, bench: Bench
) -> None:
    term = {"labelSelector": selector, "topologyKey": "zone", "matchLabelKeys": keys}
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    soft = {"podAffinity": {preferred: [{"weight": 1, "podAffinityTerm": term}]}}
    spread = [{**term, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]
    bench.pod("other")
    for path, field in (
        (f"spec.affinity.podAffinity.{preferred}[0].podAffinityTerm", {"affinity": soft}),
        ("spec.topologySpreadConstraints[0]", {"topologySpreadConstraints": spread}),
    ):
        spec = {"containers": [{"name": "c", "image": "i:1"}], **field}
        pod = {"metadata": {"name": "p", "labels": {"app": "web", "hash": "1"}}, "spec": spec}
        message = refused(bench, 422, "create", PODS, "p", pod)
        assert message == f'Pod "p" is invalid: {path}{at}: Invalid value: "{key}": {SELECTED_TWICE}'


def test_a_label_key_that_the_pod_does_not_carry_is_not_merged_and_so_may_be_in_the_selector(bench: Bench) -> None:
    term = {"labelSelector": BY_APP, "matchLabelKeys": ["app", "app"], "topologyKey": "zone"}
    spread = [{**term, "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}]
    bench.pod("other")
    spec = {"containers": [{"name": "c", "image": "i:1"}], "topologySpreadConstraints": spread}
    made = bench.call("create", PODS, "p", {"metadata": {"name": "p"}, "spec": spec})["spec"]
    assert made["topologySpreadConstraints"] == spread


def test_a_key_in_both_lists_is_named_in_match_label_keys(bench: Bench) -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    term = {"labelSelector": BY_APP, "topologyKey": "zone", "matchLabelKeys": ["a", "b"], "mismatchLabelKeys": ["b"]}
    spec = {"containers": [{"name": "c", "image": "i:1"}], "affinity": {"podAntiAffinity": {required: [term]}}}
    bench.pod("other")
    message = refused(bench, 422, "create", PODS, "p", {"metadata": {"name": "p"}, "spec": spec})
    path = f"spec.affinity.podAntiAffinity.{required}[0]"
    assert message == f'Pod "p" is invalid: {path}.matchLabelKeys[1]: Invalid value: "b": {LISTED_TWICE}'
