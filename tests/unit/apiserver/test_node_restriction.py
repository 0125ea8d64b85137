"""NodeRestriction: what a kubelet may write, case by case of upstream's plugin."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.errors import StatusError
from k8slab.api.scheme import NODES
from k8slab.apiserver.admission import Chain, NodeRestriction, Objects
from k8slab.apiserver.admission.node_restriction import is_kubelet_label
from tests.unit.apiserver.conftest import MERGE, Bench

Json = Any
MINE = {"metadata": {"name": "mine", "namespace": "ns"}, "spec": {"nodeName": "n1"}}
THEIRS = {"metadata": {"name": "theirs", "namespace": "ns"}, "spec": {"nodeName": "n2"}}
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "u1"}, "spec": {}}
OWNER = {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "u1", "controller": True}


def verdict(resource: str, obj: Json, *, user: str = "system:node:n1", **more: Any) -> str:
    """What the node is told; "" when it may."""
    pods = [{"apiVersion": "v1", "kind": "Pod", **pod} for pod in (MINE, THEIRS)]
    objects = Objects([NODE, *pods])
    chain = Chain([NodeRestriction()], objects)
    try:
        objects.run(chain.admit(objects.attributes(resource, obj, user=user, **more)))
    except StatusError as error:
        return (
            f"{error.code} " + error.message.partition(" is forbidden: ")[2] if error.code == 403 else str(error.code)
        )
    return ""


def mirror(spec: Json = None, annotations: Json = None, owners: Json = None) -> Json:
    metadata = {
        "name": "m",
        "namespace": "ns",
        "annotations": {"kubernetes.io/config.mirror": "x"} if annotations is None else annotations,
        "ownerReferences": [OWNER] if owners is None else owners,
    }
    return {"metadata": metadata, "spec": {"nodeName": "n1", **(spec or {})}}


@pytest.mark.parametrize(
    ("pod", "why"),
    [
        (mirror(), ""),
        (
            mirror(annotations={}),
            'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create',
        ),
        (mirror({"nodeName": "n2"}), 'node "n1" can only create pods with spec.nodeName set to itself'),
        (mirror(owners=[]), 'node "n1" can only create pods with an owner reference set to itself'),
        (mirror(owners=[OWNER, OWNER]), 'node "n1" can only create pods with a single owner reference set to itself'),
        (mirror(owners=[{**OWNER, "name": "n2"}]), 'node "n1" can only create pods with an owner reference'),
        (mirror(owners=[{**OWNER, "controller": False}]), 'node "n1" can only create pods with a controller owner'),
        (mirror(owners=[{**OWNER, "blockOwnerDeletion": True}]), 'node "n1" must not set blockOwnerDeletion'),
        (mirror(owners=[{**OWNER, "uid": "u9"}]), "node n1 UID mismatch: expected u9 got u1"),
        (mirror({"serviceAccountName": "a"}), 'node "n1" can not create pods that reference a service account'),
        (mirror({"volumes": [{"name": "v", "secret": {}}]}), 'node "n1" can not create pods that reference secrets'),
        (mirror({"imagePullSecrets": [{"name": "s"}]}), 'node "n1" can not create pods that reference secrets'),
        (
            mirror({"containers": [{"name": "c", "envFrom": [{"configMapRef": {"name": "m"}}]}]}),
            'node "n1" can not create pods that reference configmaps',
        ),
        (
            mirror({"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]}),
            'node "n1" can not create pods that reference persistentvolumeclaims',
        ),
        (
            mirror({"volumes": [{"name": "v", "projected": {"sources": [{"clusterTrustBundle": {}}]}}]}),
            'node "n1" can not create pods that reference clustertrustbundles',
        ),
    ],
)
def test_a_node_creates_only_mirror_pods_of_its_own(pod: Json, why: str) -> None:
    assert verdict("pods", pod).startswith(f"403 {why}" if why else "") and bool(verdict("pods", pod)) == bool(why)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        pytest.param({"name": "mine", "operation": "DELETE"}, "", id="it deletes its own Pod"),
        pytest.param(
            {"name": "theirs", "operation": "DELETE"},
            '403 node "n1" can only delete pods with spec.nodeName set to itself',
            id="not another's",
        ),
        pytest.param({"name": "gone", "operation": "DELETE"}, "404", id="what is not there is not there"),
        pytest.param({"name": "mine", "subresource": "eviction"}, "", id="it evicts its own Pod"),
        pytest.param(
            {"name": "theirs", "subresource": "eviction"},
            "403 node n1 can only evict pods with spec.nodeName set to itself",
            id="and not another's",
        ),
        pytest.param(
            {"name": "mine", "operation": "UPDATE"},
            '403 unexpected operation "UPDATE", node "n1" can only create and delete mirror pods',
            id="it does not change the spec",
        ),
        pytest.param(
            {"name": "mine", "subresource": "binding"},
            "403 unexpected pod subresource \"binding\", only 'status' and 'eviction' are allowed",
            id="it does not bind",
        ),
    ],
)
def test_pods(more: Json, why: str) -> None:
    assert verdict("pods", {}, namespace="ns", **more) == why


@pytest.mark.parametrize(
    ("old", "change", "why"),
    [
        (MINE, {"status": {"phase": "Running"}}, ""),
        (THEIRS, {}, '403 node "n1" can only update pod status for pods with spec.nodeName set to itself'),
        (MINE, {"metadata": {"labels": {"a": "b"}}}, '403 node "n1" cannot update labels through pod status'),
        (
            MINE,
            {"status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "c"}]}},
            '403 node "n1" cannot update resource claim statues',
        ),
        (
            MINE,
            {"status": {"extendedResourceClaimStatus": {"resourceClaimName": "c"}}},
            '403 node "n1" cannot update extended resource claim status',
        ),
    ],
)
def test_the_status_of_pods(old: Json, change: Json, why: str) -> None:
    assert verdict("pods", {**old, **change}, old=old, operation="UPDATE", subresource="status") == why


@pytest.mark.parametrize(
    ("label", "allowed"),
    [
        ("kubernetes.io/hostname", True),
        ("topology.kubernetes.io/zone", True),
        ("node.kubernetes.io/anything", True),
        ("x.kubelet.kubernetes.io/y", True),
        ("example.com/mine", True),
        ("plain", True),
        ("node-role.kubernetes.io/control-plane", False),
        ("foo.k8s.io/bar", False),
        ("node-restriction.kubernetes.io/x", False),
        ("a.node-restriction.kubernetes.io/x", False),
    ],
)
def test_labels_that_a_node_may_set(label: str, allowed: bool) -> None:
    labelled = {**NODE, "metadata": {"name": "n1", "labels": {label: "x"}}}
    on_create = f'403 node "n1" is not allowed to set the following labels: {label}'
    assert verdict("nodes", labelled) == ("" if allowed else on_create)
    on_update = f"403 is not allowed to modify labels: {label}"
    assert verdict("nodes", labelled, old=NODE, operation="UPDATE") == ("" if allowed else on_update)
    assert verdict("nodes", NODE, old=labelled, operation="UPDATE") == ("" if allowed else on_update)
    assert is_kubelet_label("kubernetes.io/os") and not is_kubelet_label("kubernetes.io/else")


@pytest.mark.parametrize(
    ("new", "why"),
    [
        ({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}}, "modify taints"),
        ({"metadata": {"name": "n1", "ownerReferences": [OWNER]}}, "modify ownerReferences"),
        ({"spec": {"configSource": {}}}, "update configSource to a new non-nil configSource"),
    ],
)
def test_what_a_node_may_not_change_of_itself(new: Json, why: str) -> None:
    text = verdict("nodes", {**NODE, **new}, old=NODE, operation="UPDATE")
    assert text == f'403 node "n1" is not allowed to {why}'


def test_a_node_writes_no_other_node_lease_or_slice() -> None:
    other = {**NODE, "metadata": {"name": "n2"}}
    assert verdict("nodes", other) == '403 node "n1" is not allowed to modify node "n2"'
    lease = {"metadata": {"name": "n1"}}
    leases = "leases.coordination.k8s.io"
    assert verdict(leases, lease, namespace="kube-node-lease") == ""
    assert "kube-node-lease" in verdict(leases, lease, namespace="default")
    assert "same name" in verdict(leases, {"metadata": {"name": "n2"}}, namespace="kube-node-lease")
    assert "may only update PVC status" in verdict("persistentvolumeclaims", {}, namespace="ns")
    claim = {"metadata": {"name": "c"}, "status": {}}
    status: Json = {"operation": "UPDATE", "old": claim, "subresource": "status", "namespace": "ns"}
    assert verdict("persistentvolumeclaims", {**claim, "status": {"capacity": {"storage": "1"}}}, **status) == ""
    assert "other than status.quantity and status.conditions" in verdict(
        "persistentvolumeclaims", {**claim, "spec": {"a": 1}}, **status
    )


@pytest.mark.parametrize(
    ("user", "why"),
    [
        ("alice", ""),
        ("system:node:n2", '403 node "n2" is not allowed to modify node "n1"'),
        ("system:node:", '403 could not determine node from user "system:node:"'),
    ],
)
def test_who_is_a_node(user: str, why: str) -> None:
    assert verdict("nodes", NODE, old=NODE, operation="UPDATE", user=user) == why


def test_on_a_server_it_is_the_plugin_that_keeps_a_kubelet_off_other_nodes(make_bench: Any) -> None:
    """E032: whoever may update Nodes may update all of them, until NodeRestriction looks."""
    for disabled, code in (((), 403), (("NodeRestriction",), 0)):
        bench: Bench = make_bench(disabled=disabled)
        for name in ("a", "b"):
            bench.call("create", NODES, ns="", body={"metadata": {"name": name}})
        bench.you = bench.server.transport("kubelet/a", user="system:node:a")
        patch = {"metadata": {"labels": {"stolen": "yes"}}}
        bench.call("patch", NODES, "a", patch, ns="", patch_type=MERGE)
        try:
            bench.call("patch", NODES, "b", patch, ns="", patch_type=MERGE)
            assert code == 0
        except StatusError as error:
            assert error.code == code
