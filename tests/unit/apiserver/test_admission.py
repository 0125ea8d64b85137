"""The plugins one by one, and the chain in the trace."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.errors import ForbiddenError, StatusError
from k8slab.api.scheme import (
    CONFIGMAPS,
    NAMESPACES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PODS,
    PRIORITYCLASSES,
    SERVICEACCOUNTS,
    STORAGECLASSES,
)
from k8slab.apiserver.admission import (
    OFF_BY_DEFAULT,
    REGISTRY,
    Chain,
    DefaultIngressClass,
    Objects,
    PersistentVolumeClaimResize,
    plugins,
)
from tests.unit.apiserver.conftest import MERGE, Bench

CONTAINER = {"name": "c", "image": "i:1"}


def refused(bench: Bench, *args: Any, **more: Any) -> str:
    with pytest.raises(StatusError) as caught:
        bench.call(*args, **more)
    return f"{caught.value.code} {caught.value.message}"


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [CONTAINER], **spec}}


def test_plugins_can_be_switched_off_by_name() -> None:
    assert [p.name for p in plugins()] == [name for name in REGISTRY if name not in OFF_BY_DEFAULT]
    assert [p.name for p in plugins(enabled=OFF_BY_DEFAULT)] == list(REGISTRY)
    assert "Priority" not in [p.name for p in plugins(["Priority"])]
    with pytest.raises(ValueError, match="admission plugin 'Nope': expected one of NamespaceLifecycle"):
        plugins(["Nope"])


def test_nothing_is_created_where_there_is_no_namespace(bench: Bench) -> None:
    assert (
        refused(bench, "create", CONFIGMAPS, ns="x", body={"metadata": {"name": "a"}}) == '404 namespaces "x" not found'
    )


def test_nothing_new_is_created_in_a_terminating_namespace(bench: Bench) -> None:
    bench.call("create", NAMESPACES, ns="", body={"metadata": {"name": "x"}})
    bench.call("create", CONFIGMAPS, ns="x", body={"metadata": {"name": "a"}})
    bench.call("delete", NAMESPACES, "x", ns="")
    text = refused(bench, "create", CONFIGMAPS, ns="x", body={"metadata": {"name": "b"}})
    assert (
        text
        == '403 configmaps "b" is forbidden: unable to create new content in namespace x because it is being terminated'
    )
    bench.call("patch", CONFIGMAPS, "a", {"data": {"k": "v"}}, ns="x", patch_type=MERGE)


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_three_namespaces_cannot_be_deleted(bench: Bench, name: str) -> None:
    assert refused(bench, "delete", NAMESPACES, name, ns="") == (
        f'403 namespaces "{name}" is forbidden: this namespace may not be deleted'
    )


def test_a_pod_needs_its_service_account(bench: Bench) -> None:
    text = refused(bench, "create", PODS, body=pod("p"))
    assert text.startswith('403 pods "p" is forbidden: error looking up service account default/default: ')
    assert text.endswith('serviceaccount "default" not found')


def test_a_pod_gets_account_token_volume_and_pull_secrets(bench: Bench) -> None:
    secrets = [{"name": "reg"}]
    bench.call("create", SERVICEACCOUNTS, body={"metadata": {"name": "default"}, "imagePullSecrets": secrets})
    spec = bench.call("create", PODS, body=pod("p", initContainers=[{"name": "i", "image": "i:1"}]))["spec"]
    volume = spec["volumes"][0]
    assert volume["name"].startswith("kube-api-access-") and volume["projected"]["defaultMode"] == 420
    assert [next(iter(source)) for source in volume["projected"]["sources"]] == [
        "serviceAccountToken",
        "configMap",
        "downwardAPI",
    ]
    mount = {
        "name": volume["name"],
        "readOnly": True,
        "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    }
    assert spec["containers"][0]["volumeMounts"] == spec["initContainers"][0]["volumeMounts"] == [mount]
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default" and spec["imagePullSecrets"] == secrets


@pytest.mark.parametrize(
    ("account", "spec"),
    [
        pytest.param({}, {"automountServiceAccountToken": False}, id="the Pod declines"),
        pytest.param({"automountServiceAccountToken": False}, {}, id="the account declines"),
        pytest.param(
            {},
            {
                "containers": [
                    {
                        **CONTAINER,
                        "volumeMounts": [{"name": "x", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
                    }
                ],
                "volumes": [{"name": "x", "emptyDir": {}}],
            },
            id="the path is taken",
        ),
    ],
)
def test_no_token_where_it_is_not_wanted(bench: Bench, account: Any, spec: Any) -> None:
    bench.call("create", SERVICEACCOUNTS, body={"metadata": {"name": "default"}, **account})
    created = bench.call("create", PODS, body={"metadata": {"name": "p"}, "spec": {"containers": [CONTAINER], **spec}})
    assert not [v for v in created["spec"].get("volumes") or () if v["name"].startswith("kube-api-access-")]


@pytest.mark.parametrize(
    ("own", "added"),
    [
        pytest.param([], 2, id="both are added"),
        pytest.param([{"operator": "Exists"}], 0, id="a toleration of everything is enough"),
        pytest.param(
            [
                {
                    "key": "node.kubernetes.io/not-ready",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 5,
                }
            ],
            1,
            id="the one that is missing is added",
        ),
        pytest.param(
            [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoSchedule"}],
            2,
            id="another effect does not count",
        ),
    ],
)
def test_default_tolerations(bench: Bench, own: Any, added: int) -> None:
    bench.call("create", SERVICEACCOUNTS, body={"metadata": {"name": "default"}})
    created = bench.call("create", PODS, body=pod("p", tolerations=own))
    assert len(created["spec"]["tolerations"]) == len(own) + added


def test_priority_is_resolved_from_the_class(bench: Bench) -> None:
    bench.call("create", SERVICEACCOUNTS, body={"metadata": {"name": "default"}})
    bench.call("create", PRIORITYCLASSES, ns="", body={"metadata": {"name": "high"}, "value": 1000})
    spec = bench.call("create", PODS, body=pod("a", priorityClassName="high"))["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (1000, "PreemptLowerPriority")
    assert bench.call("create", PODS, body=pod("b"))["spec"]["priority"] == 0
    critical = bench.call("create", PODS, body=pod("c", priorityClassName="system-node-critical"))
    assert critical["spec"]["priority"] == 2_000_001_000
    assert refused(bench, "create", PODS, body=pod("d", priorityClassName="ghost")) == (
        '403 pods "d" is forbidden: no PriorityClass with name ghost was found'
    )
    assert "priority (5) must not be provided" in refused(
        bench, "create", PODS, body=pod("e", priorityClassName="high", priority=5)
    )


def test_there_is_one_default_class_and_system_classes_stay(bench: Bench) -> None:
    for name in ("one", "two"):
        body = {"metadata": {"name": name}, "value": 5, "globalDefault": True}
        if name == "one":
            bench.call("create", PRIORITYCLASSES, ns="", body=body)
        else:
            assert "PriorityClass one is already marked as default" in refused(
                bench, "create", PRIORITYCLASSES, ns="", body=body
            )
    again = {"metadata": {"name": "one"}, "value": 5, "globalDefault": True}
    assert refused(bench, "create", PRIORITYCLASSES, ns="", body=again).startswith("403 "), (
        "before anybody looks in etcd"
    )
    bench.call("update", PRIORITYCLASSES, "one", ns="", body={**again, "description": "still the default"})
    assert "cannot be deleted" in refused(bench, "delete", PRIORITYCLASSES, "system-node-critical", ns="")


def test_a_new_node_is_tainted(bench: Bench) -> None:
    node = bench.call("create", NODES, ns="", body={"metadata": {"name": "n"}})
    assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


def test_the_trace_says_how_many_fields_each_plugin_changed(bench: Bench) -> None:
    bench.call("create", SERVICEACCOUNTS, body={"metadata": {"name": "default"}})
    bench.call("create", PODS, body=pod("p"))
    told = {e.data["plugin"]: e.data["changed"] for e in bench.loop.trace if e.kind == "admission"}
    assert list(told) == ["ServiceAccount", "Priority", "DefaultTolerationSeconds"]
    assert told["Priority"] == 2


def storage_class(name: str, is_default: str = "true") -> dict[str, Any]:
    annotations = {"storageclass.kubernetes.io/is-default-class": is_default}
    return {"metadata": {"name": name, "annotations": annotations}, "provisioner": "x.io/p"}


def test_a_claim_gets_the_youngest_default_class_unless_it_names_one(bench: Bench) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}

    def class_of(name: str, **more: Any) -> Any:
        body = {"metadata": {"name": name}, "spec": {**spec, **more}}
        return bench.call("create", PERSISTENTVOLUMECLAIMS, body=body)["spec"].get("storageClassName")

    assert class_of("none") is None
    bench.call("create", STORAGECLASSES, ns="", body=storage_class("old"))
    bench.loop.run(for_ms=2_000)
    bench.call("create", STORAGECLASSES, ns="", body=storage_class("young"))
    bench.call("create", STORAGECLASSES, ns="", body=storage_class("other", "false"))
    assert (class_of("a"), class_of("b", storageClassName="x"), class_of("c", storageClassName="")) == (
        "young",
        "x",
        "",
    )


def test_the_finalizers_of_volumes_in_use_come_when_they_are_asked_for(make_bench: Any) -> None:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    body = {"metadata": {"name": "c"}, "spec": spec}
    for enabled, finalizers in (((), None), (OFF_BY_DEFAULT, ["kubernetes.io/pvc-protection"])):
        made = make_bench(enabled=enabled).call("create", PERSISTENTVOLUMECLAIMS, body=body)
        assert made["metadata"].get("finalizers") == finalizers


def test_an_empty_list_of_sources_is_none_once_it_is_stored(bench: Bench) -> None:
    made = bench.pod("p", volumes=[{"name": "t", "projected": {"sources": []}}])
    assert made["spec"]["volumes"][0] == {"name": "t", "projected": {"defaultMode": 420}}


@pytest.mark.parametrize(
    ("phase", "named", "expands", "why"),
    [
        pytest.param("Pending", "fast", True, "Only bound persistent volume claims can be expanded", id="not bound"),
        pytest.param("Bound", "fast", True, "", id="bound, and its class allows it"),
        pytest.param(
            "Bound", "fast", False, "only dynamically provisioned pvc can be resized and the", id="it does not"
        ),
        pytest.param(
            "Bound", "gone", True, "only dynamically provisioned pvc can be resized and the", id="no such class"
        ),
        pytest.param(
            "Bound", "", True, "only dynamically provisioned pvc can be resized and the", id="no class at all"
        ),
    ],
)
def test_claims_grow_only_where_their_class_allows_it(phase: str, named: str, expands: bool, why: str) -> None:
    def claim(size: str) -> Any:
        return {
            "metadata": {"name": "c"},
            "spec": {"storageClassName": named, "resources": {"requests": {"storage": size}}},
            "status": {"phase": phase},
        }

    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "x"}
    objects = Objects([{**kind, "metadata": {"name": "fast"}, "allowVolumeExpansion": expands}])
    for size, expected in (("2Gi", why), ("1024Mi", ""), ("500Mi", "")):
        about: dict[str, Any] = {"operation": "UPDATE", "old": claim("1Gi"), "namespace": "default"}
        attributes = objects.attributes("persistentvolumeclaims", claim(size), **about)
        try:
            objects.run(PersistentVolumeClaimResize().validate(attributes, objects))
            refused_for = ""
        except ForbiddenError as error:
            refused_for = error.message
        assert expected in refused_for and bool(expected) == bool(refused_for)


def test_an_ingress_gets_the_youngest_default_class_unless_it_names_one() -> None:
    default = {"ingressclass.kubernetes.io/is-default-class": "true"}
    kind = {"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass"}
    stamps = {"b": "2026-01-01T00:00:00Z", "a": "2026-01-01T00:00:00Z", "old": "2025-01-01T00:00:00Z"}
    made = [
        {**kind, "metadata": {"name": name, "annotations": default, "creationTimestamp": stamp}}
        for name, stamp in stamps.items()
    ]
    chain = Chain([DefaultIngressClass()], objects := Objects(made))

    def class_of(spec: Any, **annotations: str) -> Any:
        ingress = {"metadata": {"name": "i", "annotations": annotations}, "spec": spec}
        stage = next(objects.passage(chain, "ingresses.networking.k8s.io", ingress, namespace="default"))
        return (stage.object or {})["spec"].get("ingressClassName")

    assert class_of({}) == "a" and class_of({"ingressClassName": "old"}) == "old"
    assert class_of({}, **{"kubernetes.io/ingress.class": "x"}) is None
