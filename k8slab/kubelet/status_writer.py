"""The status of a Pod as the kubelet writes it.

Upstream: pkg/kubelet/kubelet_pods.go (generateAPIPodStatus), pkg/kubelet/status/status_manager.go
Simplified: no resource statuses, no volumes, no user of the container; one address family.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.qos import qos_class
from k8slab.api.times import rfc3339
from k8slab.kubelet.pod_status import (
    containers_ready_condition,
    initialized_condition,
    pod_phase,
    pod_ready_condition,
)
from k8slab.kubelet.runtime import Container, ContainerState, PodSandbox

__all__ = ["has_ended", "pod_status", "rejected_status"]

_CONDITION_ORDER = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")


def has_ended(pod: Object) -> bool:
    """The API says that the Pod is over, whoever wrote that: it never runs again."""
    return (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def rejected_status(pod: Object, reason: str, message: str, now_ms: int) -> dict[str, Any]:
    """The status of a Pod that this node does not take."""
    old = pod.get("status") or {}
    return {
        "observedGeneration": pod["metadata"].get("generation", 1),
        "phase": "Failed",
        "reason": reason,
        "message": f"Pod was rejected: {message}",
        "startTime": old.get("startTime") or rfc3339(now_ms),
        "qosClass": old.get("qosClass") or qos_class(pod),
    }


def _phase(sandbox: PodSandbox, pod: Object, computed: str) -> str:
    """The phase to report: Succeeded and Failed are for good, and are not said while something runs or will."""
    old = str((pod.get("status") or {}).get("phase") or "Pending")
    phase = "Failed" if sandbox.verdict is not None else computed
    if has_ended(pod) or (phase in ("Succeeded", "Failed") and not sandbox.is_terminal()):
        return old
    if sandbox.stop_deadline_ms is not None and old == "Running" and phase == "Pending":
        return old  # the status manager never lets a phase go back
    return phase


def pod_status(sandbox: PodSandbox, pod: Object, now_ms: int) -> dict[str, Any]:
    """The whole `status` of `pod`, from what its containers do. Condition times are kept where nothing changed."""
    spec, old = pod["spec"], pod.get("status") or {}
    is_terminal = sandbox.is_terminal()
    inits = [_container_status(c, sandbox, now_ms) for c in sandbox.containers if c.is_init]
    mains = [_container_status(c, sandbox, now_ms) for c in sandbox.containers if not c.is_init]
    phase = _phase(sandbox, pod, pod_phase(spec, inits, mains, is_terminal=is_terminal))
    status: dict[str, Any] = {
        "observedGeneration": pod["metadata"].get("generation", 1),
        "phase": phase,
        "conditions": _conditions(pod, sandbox, inits, mains, phase, now_ms),
        "hostIP": sandbox.runtime.node.internal_ip,
        "hostIPs": [{"ip": sandbox.runtime.node.internal_ip}],
        "startTime": old.get("startTime") or rfc3339(now_ms),
        "qosClass": old.get("qosClass") or qos_class(pod),
    }
    if sandbox.verdict is not None and phase == "Failed" and not has_ended(pod):
        status["reason"], status["message"] = sandbox.verdict
    if inits:
        status["initContainerStatuses"] = inits
    status["containerStatuses"] = mains
    if 0 <= sandbox.sandbox_ready_ms <= now_ms:
        status["podIP"] = sandbox.ip
        status["podIPs"] = [{"ip": ip} for ip in (sandbox.ip, *sandbox.more_ips)]
    return status


def _conditions(
    pod: Object,
    sandbox: PodSandbox,
    inits: Sequence[Object],
    mains: Sequence[Object],
    phase: str,
    now_ms: int,
) -> list[dict[str, Any]]:
    spec = pod["spec"]
    old = {c["type"]: c for c in (pod.get("status") or {}).get("conditions") or []}
    has_network = 0 <= sandbox.sandbox_ready_ms <= now_ms and phase not in ("Succeeded", "Failed")
    ready = containers_ready_condition(spec, inits, mains, phase)
    new: dict[str, dict[str, Any]] = {
        "PodReadyToStartContainers": {
            "type": "PodReadyToStartContainers",
            "status": "True" if has_network else "False",
        },
        "Initialized": initialized_condition(spec, inits, mains, phase),
        "Ready": pod_ready_condition(spec, list(old.values()), ready),
        "ContainersReady": ready,
        "PodScheduled": {"type": "PodScheduled", "status": "True"},
    }
    generation = pod["metadata"].get("generation", 1)
    result = []
    for kind in _CONDITION_ORDER:
        before = old.pop(kind, None)
        condition = new[kind]
        same = before is not None and before["status"] == condition["status"]
        since = before["lastTransitionTime"] if before is not None and same else rfc3339(now_ms)
        whole = {
            "type": kind,
            "observedGeneration": generation,
            "status": condition["status"],
            "lastTransitionTime": since,
        }
        for field in ("reason", "message"):
            if field in condition:
                whole[field] = condition[field]
        result.append(whole)
    return result + [dict(condition) for condition in old.values()]  # those that others own


def _container_status(container: Container, sandbox: PodSandbox, now_ms: int) -> dict[str, Any]:
    image = container.spec.get("image", "")
    if container.state in (ContainerState.RUNNING, ContainerState.EXITED):
        image = container.image
    status: dict[str, Any] = {
        "name": container.name,
        "state": _state(container, sandbox),
        "lastState": _last_state(container, sandbox),
        "ready": container.is_ready(now_ms),
        "restartCount": container.restarts,
        "image": image,
        "imageID": "",
        "started": container.is_up,
    }
    if container.starts:
        status["imageID"] = f"sim://{container.image}"
        status["containerID"] = _container_id(container, sandbox, container.starts)
    return status


def _container_id(container: Container, sandbox: PodSandbox, start: int) -> str:
    return f"sim://{sandbox.uid}/{container.name}/{start}"


def _state(container: Container, sandbox: PodSandbox) -> dict[str, Any]:
    if container.state is ContainerState.RUNNING:
        return {"running": {"startedAt": rfc3339(container.started_ms or 0)}}
    if container.state is ContainerState.EXITED:
        return {
            "terminated": _terminated(
                container.exit_code, container.started_ms, container.finished_ms, container, sandbox, container.starts
            )
        }
    waiting = {"reason": container.reason or _waits_for(container, sandbox)}
    if container.message:
        waiting["message"] = container.message
    return {"waiting": waiting}


def _waits_for(container: Container, sandbox: PodSandbox) -> str:
    has_inits = any(c.is_init for c in sandbox.containers)
    return "PodInitializing" if has_inits else "ContainerCreating"


def _last_state(container: Container, sandbox: PodSandbox) -> dict[str, Any]:
    if container.last is None:
        return {}
    start = container.starts - 1 if container.state is ContainerState.RUNNING else container.starts
    last = container.last
    return {
        "terminated": _terminated(
            last["exit_code"], last["started_ms"], last["finished_ms"], container, sandbox, max(1, start)
        )
    }


def _terminated(
    code: int, started_ms: int | None, finished_ms: int | None, container: Container, sandbox: PodSandbox, start: int
) -> dict[str, Any]:
    return {
        "exitCode": code,
        "reason": "Completed" if code == 0 else "Error",
        "startedAt": rfc3339(started_ms or 0),
        "finishedAt": rfc3339(finished_ms or 0),
        "containerID": _container_id(container, sandbox, start),
    }
