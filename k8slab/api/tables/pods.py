"""The row of a Pod: the STATUS column is made up from phase, conditions and the states of all containers.

Upstream: pkg/printers/internalversion/printers.go (printPod)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.pods import get_condition
from k8slab.api.tables.cells import AGE, NAME, Column, age, since, text_or

__all__ = ["COLUMNS", "pod_cells", "pod_conditions", "pod_status"]

COLUMNS = (
    NAME,
    Column("Ready"),
    Column("Status"),
    Column("Restarts"),
    AGE,
    Column("IP", priority=1),
    Column("Node", priority=1),
    Column("Nominated Node", priority=1),
    Column("Readiness Gates", priority=1),
)
Object = Mapping[str, Any]


class _Summary:
    """What the statuses of containers add up to."""

    def __init__(self, pod: Object) -> None:
        status = pod.get("status", {})
        self.reason: str = status.get("reason") or status.get("phase", "")
        scheduled = get_condition(pod, "PodScheduled")
        if scheduled is not None and scheduled.get("reason") == "SchedulingGated":
            self.reason = "SchedulingGated"
        self.ready = 0
        self.restarts = 0
        self.last_restart = ""
        self.is_initializing = False

    def count_restarts(self, status: Object) -> None:
        self.restarts += status.get("restartCount", 0)
        finished = status.get("lastState", {}).get("terminated", {}).get("finishedAt") or ""
        self.last_restart = max(self.last_restart, finished)


def _sidecars(pod: Object) -> list[str]:
    containers = pod["spec"].get("initContainers", ())
    return [c.get("name", "") for c in containers if c.get("restartPolicy") == "Always"]


def _exit_text(terminated: Object) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _add_init_containers(pod: Object, summary: _Summary, sidecars: Sequence[str]) -> _Summary:
    """Walk the init containers up to the first that has not done its part; returns the restarts of sidecars alone."""
    of_sidecars = _Summary(pod)
    total = len(pod["spec"].get("initContainers", ()))
    for index, status in enumerate(pod.get("status", {}).get("initContainerStatuses", ())):
        is_sidecar = status.get("name") in sidecars
        summary.count_restarts(status)
        if is_sidecar:
            of_sidecars.count_restarts(status)
        terminated = status.get("state", {}).get("terminated")
        if terminated is not None and terminated.get("exitCode", 0) == 0:
            continue
        if is_sidecar and status.get("started"):
            summary.ready += bool(status.get("ready"))
            continue
        waiting = status.get("state", {}).get("waiting", {}).get("reason", "")
        if terminated is not None:
            summary.reason = f"Init:{_exit_text(terminated)}"
        elif waiting and waiting != "PodInitializing":
            summary.reason = f"Init:{waiting}"
        else:
            summary.reason = f"Init:{index}/{total}"
        summary.is_initializing = True
        break
    return of_sidecars


def _add_containers(pod: Object, summary: _Summary) -> None:
    has_running = False
    for status in reversed(pod.get("status", {}).get("containerStatuses", ())):
        summary.count_restarts(status)
        state = status.get("state", {})
        if state.get("waiting", {}).get("reason"):
            summary.reason = state["waiting"]["reason"]
        elif "terminated" in state:
            summary.reason = _exit_text(state["terminated"])
        elif status.get("ready") and "running" in state:
            has_running = True
            summary.ready += 1
    if summary.reason == "Completed" and has_running:
        ready = get_condition(pod, "Ready")
        summary.reason = "Running" if ready is not None and ready.get("status") == "True" else "NotReady"


def _summarise(pod: Object) -> _Summary:
    summary = _Summary(pod)
    of_sidecars = _add_init_containers(pod, summary, _sidecars(pod))
    initialized = get_condition(pod, "Initialized")
    if not summary.is_initializing or (initialized is not None and initialized.get("status") == "True"):
        summary.restarts, summary.last_restart = of_sidecars.restarts, of_sidecars.last_restart
        _add_containers(pod, summary)
    if pod["metadata"].get("deletionTimestamp"):
        status = pod.get("status", {})
        if status.get("reason") == "NodeLost":
            summary.reason = "Unknown"
        elif status.get("phase") not in ("Succeeded", "Failed"):
            summary.reason = "Terminating"
    return summary


def pod_status(pod: Object) -> str:
    """The STATUS column: `Running`, `Init:0/1`, `CrashLoopBackOff`, `Terminating`, ..."""
    return _summarise(pod).reason


def pod_cells(pod: Object, now_ms: int) -> list[Any]:
    summary = _summarise(pod)
    total = len(pod["spec"].get("containers") or ()) + len(_sidecars(pod))
    restarts = str(summary.restarts)
    if summary.restarts and summary.last_restart:
        restarts += f" ({since(summary.last_restart, now_ms)} ago)"
    status, addresses = pod.get("status", {}), pod.get("status", {}).get("podIPs", ())
    return [
        pod["metadata"].get("name", ""),
        f"{summary.ready}/{total}",
        summary.reason,
        restarts,
        age(pod, now_ms),
        text_or(addresses[0].get("ip") if addresses else ""),
        text_or(pod["spec"].get("nodeName")),
        text_or(status.get("nominatedNodeName")),
        _readiness_gates(pod),
    ]


def _readiness_gates(pod: Object) -> str:
    gates = pod["spec"].get("readinessGates", ())
    if not gates:
        return "<none>"
    conditions = (get_condition(pod, gate.get("conditionType", "")) for gate in gates)
    return f"{sum(c is not None and c.get('status') == 'True' for c in conditions)}/{len(gates)}"


def pod_conditions(pod: Object) -> list[dict[str, str]]:
    """Conditions of the row: kubectl may hide Pods that have ended."""
    phase = pod.get("status", {}).get("phase")
    texts = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}
    if phase not in texts:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": texts[phase]}]
