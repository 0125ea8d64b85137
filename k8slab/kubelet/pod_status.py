"""Phase and conditions of a Pod, from the states of its containers.

Upstream: pkg/kubelet/kubelet_pods.go (getPhase), pkg/kubelet/status/generate.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.objects import Object

__all__ = [
    "containers_ready_condition",
    "initialized_condition",
    "is_restartable_init_container",
    "pod_phase",
    "pod_ready_condition",
]

Condition = dict[str, Any]


def is_restartable_init_container(container: Object) -> bool:
    """A sidecar: an init container with restartPolicy Always of its own."""
    return container.get("restartPolicy") == "Always"


def _by_name(statuses: Sequence[Object]) -> dict[str, Object]:
    return {status["name"]: status for status in statuses}


def _state(status: Object | None, kind: str) -> Mapping[str, Any] | None:
    state: Object = (status or {}).get("state") or {}
    found = state.get(kind)
    return found if found is not None else None


def _last_terminated(status: Object) -> Mapping[str, Any] | None:
    return (status.get("lastState") or {}).get("terminated")


def pod_phase(spec: Object, init_statuses: Sequence[Object], statuses: Sequence[Object], *, is_terminal: bool) -> str:
    """Pending, Running, Succeeded or Failed. `is_terminal`: the pod worker decided that nothing is restarted."""
    pending_init, failed_init = _init_progress(spec, _by_name(init_statuses))
    mains = _by_name(statuses)
    counts = _container_counts(spec, mains)
    sidecars = _sidecars(spec, _by_name(init_statuses))
    if not any(_has_started(mains.get(container["name"])) for container in spec.get("containers") or []):
        pending_init += sidecars["pending"]
    policy = spec.get("restartPolicy", "Always")

    if failed_init and policy == "Never":
        return "Failed"
    waiting, running, stopped, succeeded, unknown = (
        counts[k] + sidecars.get(k, 0) for k in ("waiting", "running", "stopped", "succeeded", "unknown")
    )
    if pending_init > 0 or waiting > 0:
        return "Pending"
    if running > 0 and unknown == 0:
        return "Running"
    if running == 0 and stopped > 0 and unknown == 0:
        if is_terminal:
            return "Succeeded" if stopped == succeeded else "Failed"
        if policy == "Always":
            return "Running"
        if stopped == succeeded:
            return "Succeeded"
        return "Failed" if policy == "Never" else "Running"
    return "Pending"


def _init_progress(spec: Object, statuses: Mapping[str, Object]) -> tuple[int, int]:
    pending = failed = 0
    for container in spec.get("initContainers") or []:
        if is_restartable_init_container(container):
            continue
        status = statuses.get(container["name"])
        if status is None:
            pending += 1
            continue
        terminated, waiting = _state(status, "terminated"), _state(status, "waiting")
        if _state(status, "running") is not None:
            pending += 1
        elif terminated is not None:
            failed += terminated.get("exitCode", 0) != 0
        elif waiting is not None:
            last = _last_terminated(status)
            if last is None:
                pending += 1
            else:
                failed += last.get("exitCode", 0) != 0
        else:
            pending += 1
    return pending, failed


def _tally(status: Object | None) -> str:
    if status is None:
        return "unknown"
    terminated, waiting = _state(status, "terminated"), _state(status, "waiting")
    if _state(status, "running") is not None:
        return "running"
    if terminated is not None:
        return "succeeded" if terminated.get("exitCode", 0) == 0 else "stopped"
    if waiting is not None:
        return "stopped" if _last_terminated(status) is not None else "waiting"
    return "unknown"


def _container_counts(spec: Object, statuses: Mapping[str, Object]) -> dict[str, int]:
    counts = dict.fromkeys(("waiting", "running", "stopped", "succeeded", "unknown"), 0)
    for container in spec.get("containers") or []:
        kind = _tally(statuses.get(container["name"]))
        counts[kind] += 1
        counts["stopped"] += kind == "succeeded"
    return counts


def _sidecars(spec: Object, statuses: Mapping[str, Object]) -> dict[str, int]:
    """What sidecars do; one that ended, or is started again, has no say in the phase."""
    counts = dict.fromkeys(("waiting", "running", "unknown", "pending"), 0)
    for container in spec.get("initContainers") or []:
        if not is_restartable_init_container(container):
            continue
        status = statuses.get(container["name"])
        kind = _tally(status)
        if kind in counts:
            counts[kind] += 1
        if kind == "running":
            counts["pending"] += not (status or {}).get("started")
        elif status is not None:
            counts["pending"] += kind in ("waiting", "unknown")
    return counts


def _unready(spec: Object, init_statuses: Sequence[Object], statuses: Sequence[Object]) -> tuple[list[str], list[str]]:
    unknown, unready = [], []
    inits, mains = _by_name(init_statuses), _by_name(statuses)
    for container in spec.get("initContainers") or []:
        if is_restartable_init_container(container):
            status = inits.get(container["name"])
            if status is None:
                unknown.append(container["name"])
            elif not status.get("ready"):
                unready.append(container["name"])
    for container in spec.get("containers") or []:
        status = mains.get(container["name"])
        if status is None:
            unknown.append(container["name"])
        elif not status.get("ready"):
            unready.append(container["name"])
    return unknown, unready


def _list(names: Sequence[str]) -> str:
    return "[" + " ".join(names) + "]"


def _when_none_lack(condition: str, reason: str, lacking: Mapping[str, Sequence[str]]) -> Condition:
    """True, or False naming the containers with a status of each sort."""
    texts = [f"containers with {sort} status: {_list(names)}" for sort, names in lacking.items() if names]
    if texts:
        return {"type": condition, "status": "False", "reason": reason, "message": ", ".join(texts)}
    return {"type": condition, "status": "True"}


def containers_ready_condition(
    spec: Object, init_statuses: Sequence[Object], statuses: Sequence[Object], phase: str
) -> Condition:
    """`ContainersReady`, without times."""
    unknown, unready = _unready(spec, init_statuses, statuses)
    if phase == "Succeeded" and not unknown:
        return {"type": "ContainersReady", "status": "False", "reason": "PodCompleted"}
    if phase == "Failed" and not unknown:
        return {"type": "ContainersReady", "status": "False", "reason": "PodFailed"}
    return _when_none_lack("ContainersReady", "ContainersNotReady", {"unknown": unknown, "unready": unready})


def pod_ready_condition(spec: Object, conditions: Sequence[Object], containers_ready: Object) -> Condition:
    """`Ready`: containers are ready, and so is every readiness gate (`conditions`: what is in the status)."""
    if containers_ready["status"] != "True":
        return {**containers_ready, "type": "Ready"}
    have = {c["type"]: c.get("status") for c in conditions}
    messages = []
    for gate in spec.get("readinessGates") or []:
        kind = gate["conditionType"]
        if kind not in have:
            messages.append(f'corresponding condition of pod readiness gate "{kind}" does not exist.')
        elif have[kind] != "True":
            messages.append(f'the status of pod readiness gate "{kind}" is not "True", but {have[kind]}')
    if messages:
        return {"type": "Ready", "status": "False", "reason": "ReadinessGatesNotReady", "message": ", ".join(messages)}
    return {"type": "Ready", "status": "True"}


def _has_started(status: Object | None) -> bool:
    return _state(status, "running") is not None or _state(status, "terminated") is not None


def initialized_condition(
    spec: Object, init_statuses: Sequence[Object], statuses: Sequence[Object], phase: str
) -> Condition:
    """`Initialized`. A main container that has started proves it, whatever is known of the init containers."""
    inits, mains = _by_name(init_statuses), _by_name(statuses)
    unknown, incomplete = [], []
    for container in spec.get("initContainers") or []:
        status = inits.get(container["name"])
        if status is None:
            unknown.append(container["name"])
        elif is_restartable_init_container(container):
            if not status.get("started"):
                incomplete.append(container["name"])
        elif not status.get("ready"):
            incomplete.append(container["name"])
    if phase == "Succeeded" and not unknown:
        return {"type": "Initialized", "status": "True", "reason": "PodCompleted"}
    if any(_has_started(mains.get(container["name"])) for container in spec.get("containers") or []):
        unknown, incomplete = [], []
    return _when_none_lack("Initialized", "ContainersNotInitialized", {"unknown": unknown, "incomplete": incomplete})
