"""What a kubelet may write: its own Node, its own Lease, and Pods that are bound to it.

The authorizer decides which requests of a node are looked at at all; only this plugin sees what is in them.

Upstream: plugin/pkg/admission/noderestriction/admission.go, kubelet/pkg/apis/well_known_labels.go
Simplified: tokens are not served, so there is nothing to check about them; a difference in a claim is not printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from k8slab.api.errors import NotFoundError, StatusError
from k8slab.api.labels import go_quote
from k8slab.api.objects import Object
from k8slab.apiserver.admission.attributes import Attributes, Lister, forbidden

__all__ = ["NodeRestriction", "is_kubelet_label", "node_of"]

USER_PREFIX = "system:node:"
NODES_GROUP = "system:nodes"
MIRROR = "kubernetes.io/config.mirror"
NODE_RESTRICTION = "node-restriction.kubernetes.io"
_NAMESPACES = ("kubelet.kubernetes.io", "node.kubernetes.io")
_LABELS = frozenset(
    (
        *("kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os"),
        *("beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
        *("topology.kubernetes.io/zone", "topology.kubernetes.io/region"),
        *("failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region"),
    )
)


def node_of(user: str) -> str | None:
    """The node of a kubelet's user name; "" when it names none, None for other users."""
    return user.removeprefix(USER_PREFIX) if user.startswith(USER_PREFIX) else None


def is_kubelet_label(key: str) -> bool:
    """Whether a kubelet may set a label of Kubernetes' own namespaces."""
    namespace = _namespace_of(key)
    return key in _LABELS or any(namespace == known or namespace.endswith(f".{known}") for known in _NAMESPACES)


class NodeRestriction:
    name = "NodeRestriction"

    async def admit(self, attributes: Attributes, lister: Lister) -> None:
        """Refuses; changes nothing. It runs with the mutating plugins, as upstream's does."""
        node = node_of(attributes.user)
        if node is None or NODES_GROUP not in attributes.context.env.user(attributes.user).groups:
            return
        if not node:
            raise forbidden(attributes, f"could not determine node from user {go_quote(attributes.user)}")
        match attributes.resource.group_resource, attributes.subresource:
            case "pods", "":
                self._pod(node, attributes, lister)
            case "pods", "status":
                self._pod_status(node, attributes)
            case "pods", "eviction":
                self._bound(
                    node, attributes, lister, "node {node} can only evict pods with spec.nodeName set to itself"
                )
            case "pods", subresource:
                why = f"unexpected pod subresource {go_quote(subresource)}, only 'status' and 'eviction' are allowed"
                raise forbidden(attributes, why)
            case "nodes", _:
                self._node(node, attributes)
            case "persistentvolumeclaims", "status":
                self._claim_status(node, attributes)
            case "persistentvolumeclaims", _:
                raise forbidden(attributes, "may only update PVC status")
            case "leases.coordination.k8s.io", _:
                self._lease(node, attributes)
            case "csinodes.storage.k8s.io", _:
                if attributes.name != node:
                    raise forbidden(attributes, "can only access CSINode with the same name as the requesting node")
            case "resourceslices.resource.k8s.io", _:
                self._slice(node, attributes)

    # -- Pods --------------------------------------------------------------------------------------

    def _pod(self, node: str, attributes: Attributes, lister: Lister) -> None:
        quoted = go_quote(node)
        if attributes.operation == "CREATE":
            why = _of_mirror_pod(node, attributes.object or {}, lister)
            if isinstance(why, StatusError):
                raise why
            if why:
                raise forbidden(attributes, why)
        elif attributes.operation == "DELETE":
            self._bound(
                node, attributes, lister, f"node {quoted} can only delete pods with spec.nodeName set to itself"
            )
        else:
            raise forbidden(
                attributes,
                f"unexpected operation {go_quote(attributes.operation)}, node {quoted} can only create and delete "
                "mirror pods",
            )

    def _bound(self, node: str, attributes: Attributes, lister: Lister, why: str) -> None:
        pod = lister.cached("pods", attributes.namespace, attributes.name)
        if pod is None:
            raise NotFoundError.of("pods", attributes.name)
        if pod["spec"].get("nodeName") != node:
            raise forbidden(attributes, why.replace("{node}", node))

    def _pod_status(self, node: str, attributes: Attributes) -> None:
        pod, old = attributes.object, attributes.old
        quoted = go_quote(node)
        if attributes.operation != "UPDATE" or pod is None or old is None:
            raise forbidden(attributes, f"unexpected operation {go_quote(attributes.operation)}")
        if old["spec"].get("nodeName") != node:
            raise forbidden(
                attributes, f"node {quoted} can only update pod status for pods with spec.nodeName set to itself"
            )
        if _labels(pod) != _labels(old):
            raise forbidden(attributes, f"node {quoted} cannot update labels through pod status")
        if _claim_statuses(pod) != _claim_statuses(old):
            raise forbidden(attributes, f"node {quoted} cannot update resource claim statues")
        field = "extendedResourceClaimStatus"
        if (pod.get("status") or {}).get(field) != (old.get("status") or {}).get(field):
            raise forbidden(attributes, f"node {quoted} cannot update extended resource claim status")

    # -- everything else ---------------------------------------------------------------------------

    def _node(self, node: str, attributes: Attributes) -> None:
        quoted = go_quote(node)
        if attributes.name != node:
            raise forbidden(attributes, f"node {quoted} is not allowed to modify node {go_quote(attributes.name)}")
        obj, old = attributes.object, attributes.old
        if obj is None:
            return
        source = (obj.get("spec") or {}).get("configSource")
        if attributes.operation == "CREATE":
            if source is not None:
                raise forbidden(attributes, f"node {quoted} is not allowed to create pods with a non-nil configSource")
            labels = _forbidden_labels(_labels(obj), {})
            if labels:
                shown = ", ".join(labels)
                raise forbidden(attributes, f"node {quoted} is not allowed to set the following labels: {shown}")
        elif old is not None:
            if source is not None and source != old["spec"].get("configSource"):
                raise forbidden(
                    attributes, f"node {quoted} is not allowed to update configSource to a new non-nil configSource"
                )
            if (obj.get("spec") or {}).get("taints", []) != old["spec"].get("taints", []):
                raise forbidden(attributes, f"node {quoted} is not allowed to modify taints")
            owners = "ownerReferences"
            if obj["metadata"].get(owners, []) != old["metadata"].get(owners, []):
                raise forbidden(attributes, f"node {quoted} is not allowed to modify ownerReferences")
            labels = _forbidden_labels(_labels(obj), _labels(old))
            if labels:
                raise forbidden(attributes, f"is not allowed to modify labels: {', '.join(labels)}")

    def _claim_status(self, node: str, attributes: Attributes) -> None:
        if attributes.operation != "UPDATE" or attributes.object is None or attributes.old is None:
            raise forbidden(attributes, f"unexpected operation {go_quote(attributes.operation)}")
        if _without_capacity(attributes.object) != _without_capacity(attributes.old):
            raise forbidden(
                attributes,
                f"node {go_quote(node)} is not allowed to update fields other than status.quantity and "
                "status.conditions",
            )

    def _lease(self, node: str, attributes: Attributes) -> None:
        if attributes.namespace != "kube-node-lease":
            raise forbidden(attributes, 'can only access leases in the "kube-node-lease" system namespace')
        if attributes.name != node:
            raise forbidden(attributes, "can only access node lease with the same name as the requesting node")

    def _slice(self, node: str, attributes: Attributes) -> None:
        obj = attributes.object if attributes.operation == "CREATE" else attributes.old
        if attributes.operation in ("CREATE", "DELETE") and ((obj or {}).get("spec") or {}).get("nodeName") != node:
            does = attributes.operation.lower()
            raise forbidden(attributes, f"can only {does} ResourceSlice with the same NodeName as the requesting node")


def _of_mirror_pod(node: str, pod: Object, lister: Lister) -> str | StatusError:
    """Why a node may not create this Pod; "" when it may."""
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    quoted = go_quote(node)
    if MIRROR not in (metadata.get("annotations") or {}):
        return f"pod does not have {go_quote(MIRROR)} annotation, node {quoted} can only create mirror pods"
    if spec.get("nodeName") != node:
        return f"node {quoted} can only create pods with spec.nodeName set to itself"
    owners = metadata.get("ownerReferences") or ()
    if len(owners) > 1:
        return f"node {quoted} can only create pods with a single owner reference set to itself"
    owner = owners[0] if owners else {}
    if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
        return f"node {quoted} can only create pods with an owner reference set to itself"
    if not owner.get("controller"):
        return f"node {quoted} can only create pods with a controller owner reference set to itself"
    if owner.get("blockOwnerDeletion"):
        return f"node {quoted} must not set blockOwnerDeletion on an owner reference"
    found = lister.cached("nodes", "", node)
    if found is None:
        return NotFoundError.of("nodes", node)
    uid = found["metadata"].get("uid", "")
    if owner.get("uid") != uid:
        return f"node {node} UID mismatch: expected {owner.get('uid', '')} got {uid}"
    if spec.get("serviceAccountName"):
        return f"node {quoted} can not create pods that reference a service account"
    referenced = set(_references(spec))
    for kind in ("secrets", "configmaps", "clustertrustbundles", "persistentvolumeclaims"):
        if kind in referenced:
            return f"node {quoted} can not create pods that reference {kind}"
    return ""


_VOLUMES = {"secret": "secrets", "configMap": "configmaps", "persistentVolumeClaim": "persistentvolumeclaims"}
_PROJECTED = {"secret": "secrets", "configMap": "configmaps", "clusterTrustBundle": "clustertrustbundles"}
_WITH_SECRETS = ("azureFile", "cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos", "csi")
_ENV = {
    "secretKeyRef": "secrets",
    "secretRef": "secrets",
    "configMapKeyRef": "configmaps",
    "configMapRef": "configmaps",
}


def _references(spec: Mapping[str, Any]) -> Iterator[str]:
    """The kinds of objects that a Pod names."""
    if spec.get("imagePullSecrets"):
        yield "secrets"
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(field) or ():
            sources = [
                *(container.get("envFrom") or ()),
                *(e.get("valueFrom") or {} for e in container.get("env") or ()),
            ]
            yield from (_ENV[name] for source in sources for name in source if name in _ENV)
    for volume in spec.get("volumes") or ():
        yield from (_VOLUMES[name] for name in volume if name in _VOLUMES)
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield from (_PROJECTED[name] for name in source if name in _PROJECTED)
        for name in _WITH_SECRETS:
            given = volume.get(name) or {}
            if any(given.get(ref) for ref in ("secretRef", "secretName", "nodePublishSecretRef")):
                yield "secrets"


def _labels(obj: Object) -> Mapping[str, str]:
    return (obj.get("metadata") or {}).get("labels") or {}


def _namespace_of(key: str) -> str:
    return key.partition("/")[0] if "/" in key else ""


def _forbidden_labels(new: Mapping[str, str], old: Mapping[str, str]) -> list[str]:
    """Of the labels that change those that a kubelet may not touch, by name."""
    changed = sorted(
        key for key in dict.fromkeys((*new, *old)) if new.get(key) != old.get(key) or (key in new) != (key in old)
    )
    return [key for key in changed if _is_forbidden(key)]


def _is_forbidden(key: str) -> bool:
    namespace = _namespace_of(key)
    if namespace == NODE_RESTRICTION or namespace.endswith(f".{NODE_RESTRICTION}"):
        return True
    is_ours = namespace in ("kubernetes.io", "k8s.io") or namespace.endswith((".kubernetes.io", ".k8s.io"))
    return is_ours and not is_kubelet_label(key)


def _claim_statuses(pod: Object) -> list[tuple[Any, Any]]:
    found = (pod.get("status") or {}).get("resourceClaimStatuses") or ()
    return [(one.get("name"), one.get("resourceClaimName")) for one in found]


_MAY_CHANGE = ("capacity", "conditions", "allocatedResourceStatuses", "allocatedResources")


def _without_capacity(claim: Object) -> Object:
    metadata = {k: v for k, v in claim["metadata"].items() if k not in ("resourceVersion", "managedFields")}
    status = {k: v for k, v in (claim.get("status") or {}).items() if k not in _MAY_CHANGE}
    return {**claim, "metadata": metadata, "status": status}
