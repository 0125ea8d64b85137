"""Is it ready, and if not, why: per object, from what the store holds.

Upstream: staging/src/k8s.io/kubectl/pkg/polymorphichelpers/rollout_status.go (Deployments), kubectl wait
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

from k8slab.api.objects import Object
from k8slab.api.pods import get_condition
from k8slab.api.scheme import GVK, NODES, SERVICEACCOUNTS, gvk_of
from k8slab.cluster.mirror import Mirror

__all__ = ["ACTED_ON", "DATA", "is_ready", "not_acted_on", "not_ready", "not_up"]

_BUDGET = GVK("policy", "", "PodDisruptionBudget")
_NOT_SEEN = "its last change has not been seen by the controller"


def not_ready(obj: Object, mirror: Mirror) -> str:
    """Why `obj` (as the store has it) is not ready; "" when it is, or when readiness means nothing for its kind."""
    check = ACTED_ON.get(gvk_of(obj)._replace(version=""))
    return check(obj, mirror) if check is not None else ""


def is_ready(obj: Object, mirror: Mirror) -> bool:
    """Whether `obj` is ready, without looking for a reason: cheap enough to ask after every commit."""
    gvk = gvk_of(obj)
    if gvk.group == "apps" and gvk.kind in ("Deployment", "ReplicaSet"):
        return _has_its_replicas(obj)
    return not not_ready(obj, mirror)


def not_up(mirror: Mirror, nodes: Sequence[str], tainted: Container[str]) -> str:
    """What a cluster that is starting waits for; "" when all is there. `tainted`: Nodes that keep a taint of theirs."""
    found = mirror.list(NODES.group_resource)
    if len(found) < len(nodes):
        return f"{len(found)} of {len(nodes)} nodes are registered"
    for node in found:
        name = node["metadata"]["name"]
        if name not in tainted and (not_ready(node, mirror) or (node.get("spec") or {}).get("taints")):
            return f"node {name} is not ready"
    for namespace in ("default", "kube-system"):
        if mirror.get(SERVICEACCOUNTS.group_resource, f"{namespace}/default") is None:
            return f"namespace {namespace} has no ServiceAccount yet"
    return ""


def _is_observed(obj: Object) -> bool:
    status = obj.get("status") or {}
    return bool(status.get("observedGeneration", 0) >= obj["metadata"].get("generation", 0))


def _has_its_replicas(obj: Object) -> bool:
    """Of a Deployment or ReplicaSet: the last change was seen, and all replicas are new and available."""
    status, want = obj.get("status") or {}, obj["spec"].get("replicas", 1)
    if status.get("availableReplicas", 0) != want or status.get("replicas", 0) != want:
        return False
    is_new = obj.get("kind") != "Deployment" or status.get("updatedReplicas", 0) == want
    return bool(is_new and _is_observed(obj))


def not_acted_on(gvk: GVK) -> str:
    """What to say of a kind that is stored and nothing more; "" for kinds the simulation acts on, and plain data."""
    key = gvk._replace(version="")
    if key in ACTED_ON or key in DATA:
        return ""
    if key == _BUDGET:
        return (
            "stored; nobody here works out status.disruptionsAllowed: until you patch it, the budget counts as used up"
        )
    return f"stored; nothing in this simulation acts on {gvk.kind} objects"


def _condition(obj: Object, kind: str) -> Object:
    return get_condition(obj, kind) or {}


def _namespace(obj: Object, mirror: Mirror) -> str:
    phase = (obj.get("status") or {}).get("phase")
    return "" if phase == "Active" else f"phase is {phase}"


def _node(obj: Object, mirror: Mirror) -> str:
    ready = _condition(obj, "Ready")
    return "" if ready.get("status") == "True" else f"not ready: {ready.get('message', 'no kubelet reports')}"


def _pod(obj: Object, mirror: Mirror) -> str:
    status = obj.get("status") or {}
    phase = status.get("phase", "Pending")
    if phase == "Succeeded" or _condition(obj, "Ready").get("status") == "True":
        return ""
    if phase == "Failed":
        return f"failed: {status.get('message') or status.get('reason') or 'a container exited with an error'}"
    scheduled = _condition(obj, "PodScheduled")
    if scheduled.get("status") == "False":
        return f"{scheduled.get('reason')}: {scheduled.get('message')}"
    if not obj["spec"].get("nodeName"):
        return "not scheduled yet"
    for container in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
        waiting = (container.get("state") or {}).get("waiting")
        if waiting and waiting.get("reason") not in ("ContainerCreating", "PodInitializing"):
            return f"container {container['name']}: {waiting['reason']}: {waiting.get('message', '')}".rstrip(": ")
    return f"{phase}: {_condition(obj, 'Ready').get('message') or 'its containers are being created'}"


def _of_owner(obj: Object, mirror: Mirror, resource: str) -> list[Object]:
    uid = obj["metadata"]["uid"]
    return [
        other
        for other in mirror.list(resource, obj["metadata"]["namespace"])
        if any(ref["uid"] == uid for ref in other["metadata"].get("ownerReferences") or [])
    ]


def _first_pod_reason(pods: list[Object], mirror: Mirror) -> str:
    for pod in pods:
        reason = _pod(pod, mirror)
        if reason:
            return f"; pod {pod['metadata']['name']}: {reason}"
    return ""


def _replica_set(obj: Object, mirror: Mirror) -> str:
    status, want = obj.get("status") or {}, obj["spec"].get("replicas", 1)
    if _has_its_replicas(obj):
        return ""
    if not _is_observed(obj):
        return _NOT_SEEN
    have = status.get("availableReplicas", 0)
    failure = _condition(obj, "ReplicaFailure")
    if failure.get("status") == "True":
        return f"{have} of {want} replicas available: {failure.get('message')}"
    return f"{have} of {want} replicas available{_first_pod_reason(_of_owner(obj, mirror, 'pods'), mirror)}"


def _deployment(obj: Object, mirror: Mirror) -> str:
    status, want = obj.get("status") or {}, obj["spec"].get("replicas", 1)
    if _has_its_replicas(obj):
        return ""
    if not _is_observed(obj):
        return _NOT_SEEN
    available = status.get("availableReplicas", 0)
    progressing = _condition(obj, "Progressing")
    why = f": {progressing.get('message')}" if progressing.get("reason") == "ProgressDeadlineExceeded" else ""
    if obj["spec"].get("paused"):
        why += ": the rollout is paused"
    failure = _condition(obj, "ReplicaFailure")
    if failure.get("status") == "True":
        why += f": {failure.get('message')}"
    pods = [pod for rs in _of_owner(obj, mirror, "replicasets.apps") for pod in _of_owner(rs, mirror, "pods")]
    return f"{available} of {want} replicas available{why}{_first_pod_reason(pods, mirror)}"


def _service(obj: Object, mirror: Mirror) -> str:
    metadata, spec = obj["metadata"], obj["spec"]
    if not spec.get("selector") or spec.get("type") == "ExternalName":
        return ""
    for endpoints in mirror.list("endpointslices.discovery.k8s.io", metadata["namespace"]):
        if (endpoints["metadata"].get("labels") or {}).get("kubernetes.io/service-name") != metadata["name"]:
            continue
        if any((e.get("conditions") or {}).get("ready", True) for e in endpoints.get("endpoints") or []):
            return ""
    return "no ready endpoints: no ready Pod matches its selector"


def _autoscaler(obj: Object, mirror: Mirror) -> str:
    able = _condition(obj, "AbleToScale")
    if not able:
        return "its controller has not looked at it yet"
    return "" if able.get("status") == "True" else f"{able.get('reason')}: {able.get('message')}"


ACTED_ON: dict[GVK, Callable[[Object, Mirror], str]] = {
    GVK("", "", "Namespace"): _namespace,
    GVK("", "", "Node"): _node,
    GVK("", "", "Pod"): _pod,
    GVK("", "", "Service"): _service,
    GVK("apps", "", "Deployment"): _deployment,
    GVK("apps", "", "ReplicaSet"): _replica_set,
    GVK("autoscaling", "", "HorizontalPodAutoscaler"): _autoscaler,
}
"""Kinds that something in the simulation acts on, with what makes them ready."""

DATA = frozenset(
    {
        GVK("", "", "ConfigMap"),
        GVK("", "", "Secret"),
        GVK("", "", "ServiceAccount"),
        GVK("", "", "Event"),
        GVK("scheduling.k8s.io", "", "PriorityClass"),
        GVK("discovery.k8s.io", "", "EndpointSlice"),
        GVK("coordination.k8s.io", "", "Lease"),
    }
)
"""Kinds that are read by others and need nobody to act on them."""
