"""What the autoscaler reads off a Pod: its controller, what it may lose, whether it counts.

Upstream: cluster-autoscaler/utils/drain/drain.go, utils/pod/pod.go, core/utils/expendable.go
"""

from __future__ import annotations

from collections.abc import Iterable

from k8slab.api.objects import Object
from k8slab.api.times import parse_time

__all__ = [
    "SAFE_TO_EVICT",
    "SAFE_TO_EVICT_LOCAL_VOLUMES",
    "annotation",
    "controller_of",
    "has_blocking_local_storage",
    "is_daemon_set_pod",
    "is_expendable",
    "is_long_terminating",
    "is_mirror_pod",
    "is_terminal",
    "is_unschedulable",
    "recreatable",
]

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_TO_EVICT_LOCAL_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
_DAEMON_SET_POD = "cluster-autoscaler.kubernetes.io/daemonset-pod"
_LONG_TERMINATING_EXTRA_MS = 30_000
_DEFAULT_GRACE_SECONDS = 30


def annotation(obj: Object, name: str) -> str:
    """The value of an annotation; "" when it is not there."""
    return (obj["metadata"].get("annotations") or {}).get(name) or ""


def controller_of(pod: Object) -> Object | None:
    """The owner reference that says it is the controller."""
    owners = pod["metadata"].get("ownerReferences") or ()
    return next((owner for owner in owners if owner.get("controller")), None)


def is_daemon_set_pod(pod: Object) -> bool:
    """One Pod a Node: it comes and goes with its Node."""
    owner = controller_of(pod)
    return (owner is not None and owner.get("kind") == "DaemonSet") or annotation(pod, _DAEMON_SET_POD) == "true"


def is_mirror_pod(pod: Object) -> bool:
    """The image of a static Pod, which the kubelet runs from a file."""
    return "kubernetes.io/config.mirror" in (pod["metadata"].get("annotations") or {})


def is_terminal(pod: Object) -> bool:
    """It will not run again: finished, or rejected by the kubelet."""
    phase = (pod.get("status") or {}).get("phase")
    policy = pod["spec"].get("restartPolicy")
    if phase == "Succeeded":
        return policy in ("Never", "OnFailure")
    return phase == "Failed"


def is_long_terminating(pod: Object, now_ms: int) -> bool:
    """Its deletion has taken longer than its grace period and half a minute: as good as gone."""
    deleted = pod["metadata"].get("deletionTimestamp")
    if deleted is None:
        return False
    grace = pod["spec"].get("terminationGracePeriodSeconds")
    seconds = _DEFAULT_GRACE_SECONDS if grace is None else grace
    return parse_time(deleted) + seconds * 1_000 + _LONG_TERMINATING_EXTRA_MS < now_ms


def has_blocking_local_storage(pod: Object) -> bool:
    """A hostPath, or an emptyDir on disk, that the annotation does not give free."""
    free = annotation(pod, SAFE_TO_EVICT_LOCAL_VOLUMES).split(",")
    return any(
        volume["name"] not in free
        and (
            volume.get("hostPath") is not None
            or (volume.get("emptyDir") is not None and volume["emptyDir"].get("medium") != "Memory")
        )
        for volume in pod["spec"].get("volumes") or ()
    )


def is_expendable(pod: Object, cutoff: int) -> bool:
    """Below the priority cutoff: it causes no scale-up and prevents no scale-down. Without a priority it is not."""
    priority = pod["spec"].get("priority")
    return priority is not None and priority < cutoff


def is_unschedulable(pod: Object) -> bool:
    """It has no Node, and the scheduler said so (PodScheduled is False, for the reason Unschedulable)."""
    if pod["spec"].get("nodeName") or pod["metadata"].get("deletionTimestamp"):
        return False
    conditions = (pod.get("status") or {}).get("conditions") or ()
    scheduled = next((one for one in conditions if one.get("type") == "PodScheduled"), None)
    return scheduled is not None and scheduled.get("status") == "False" and scheduled.get("reason") == "Unschedulable"


def recreatable(pods: Iterable[Object]) -> list[Object]:
    """Those that somebody will make again elsewhere: neither static nor of a DaemonSet."""
    return [pod for pod in pods if not is_mirror_pod(pod) and not _is_static(pod) and not is_daemon_set_pod(pod)]


def _is_static(pod: Object) -> bool:
    return annotation(pod, "kubernetes.io/config.source") not in ("", "api")
