"""Rows of the kinds that run Pods.

Upstream: pkg/printers/internalversion/printers.go (printDeployment, printReplicaSet, printJob, ...)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.labels import format_label_selector
from k8slab.api.tables.cells import AGE, NAME, NONE, Column, age, container_cells, join_labels, since
from k8slab.api.tables.durations import human_duration
from k8slab.api.times import parse_time

__all__ = ["COLUMNS", "ROWS"]

Object = Mapping[str, Any]
_CONTAINERS = (Column("Containers", priority=1), Column("Images", priority=1))
_SELECTOR = Column("Selector", priority=1)


def _integer(name: str) -> Column:
    return Column(name, "integer")


COLUMNS: dict[str, tuple[Column, ...]] = {
    "Deployment": (NAME, Column("Ready"), Column("Up-to-date"), Column("Available"), AGE, *_CONTAINERS, _SELECTOR),
    "ReplicaSet": (NAME, *map(_integer, ("Desired", "Current", "Ready")), AGE, *_CONTAINERS, _SELECTOR),
    "ReplicationController": (NAME, *map(_integer, ("Desired", "Current", "Ready")), AGE, *_CONTAINERS, _SELECTOR),
    "StatefulSet": (NAME, Column("Ready"), AGE, *_CONTAINERS),
    "DaemonSet": (
        NAME,
        *map(_integer, ("Desired", "Current", "Ready", "Up-to-date", "Available")),
        Column("Node Selector"),
        AGE,
        *_CONTAINERS,
        _SELECTOR,
    ),
    "Job": (NAME, Column("Status"), Column("Completions"), Column("Duration"), AGE, *_CONTAINERS, _SELECTOR),
    "CronJob": (
        NAME,
        Column("Schedule"),
        Column("Timezone"),
        Column("Suspend", "boolean"),
        _integer("Active"),
        Column("Last Schedule"),
        AGE,
        *_CONTAINERS,
        _SELECTOR,
    ),
    "ControllerRevision": (NAME, Column("Controller"), Column("Revision"), AGE),
}


def _name(obj: Object) -> str:
    return str(obj["metadata"].get("name", ""))


def _selector(spec: Object) -> str:
    return format_label_selector(spec.get("selector"))


def deployment_cells(deployment: Object, now_ms: int) -> list[Any]:
    spec, status = deployment["spec"], deployment.get("status", {})
    return [
        _name(deployment),
        f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}",
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        age(deployment, now_ms),
        *container_cells(spec["template"]),
        _selector(spec),
    ]


def replica_set_cells(replica_set: Object, now_ms: int) -> list[Any]:
    spec, status = replica_set["spec"], replica_set.get("status", {})
    is_controller = replica_set.get("kind") == "ReplicationController"
    return [
        _name(replica_set),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        age(replica_set, now_ms),
        *container_cells(spec.get("template") or {}),
        join_labels(spec.get("selector")) if is_controller else _selector(spec),
    ]


def stateful_set_cells(stateful_set: Object, now_ms: int) -> list[Any]:
    spec, ready = stateful_set["spec"], stateful_set.get("status", {}).get("readyReplicas", 0)
    name, since_creation = _name(stateful_set), age(stateful_set, now_ms)
    return [name, f"{ready}/{spec.get('replicas', 0)}", since_creation, *container_cells(spec["template"])]


def daemon_set_cells(daemon_set: Object, now_ms: int) -> list[Any]:
    spec, status = daemon_set["spec"], daemon_set.get("status", {})
    counts = ("desired", "current"), ("ready", "updated", "available")
    scheduled = [status.get(f"{kind}NumberScheduled", 0) for kind in (*counts[0], "updated")]
    return [
        _name(daemon_set),
        scheduled[0],
        scheduled[1],
        status.get("numberReady", 0),
        scheduled[2],
        status.get("numberAvailable", 0),
        join_labels(spec["template"].get("spec", {}).get("nodeSelector")),
        age(daemon_set, now_ms),
        *container_cells(spec["template"]),
        _selector(spec),
    ]


def _job_status(job: Object) -> str:
    true = [c["type"] for c in job.get("status", {}).get("conditions", ()) if c.get("status") == "True"]
    for condition, text in (("Complete", "Complete"), ("Failed", "Failed")):
        if condition in true:
            return text
    if job["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for condition in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if condition in true:
            return condition
    return "Running"


def job_cells(job: Object, now_ms: int) -> list[Any]:
    spec, status = job["spec"], job.get("status", {})
    succeeded, parallelism = status.get("succeeded", 0), spec.get("parallelism", 0)
    if "completions" in spec:
        completions = f"{succeeded}/{spec['completions']}"
    else:
        completions = f"{succeeded}/1 of {parallelism}" if parallelism > 1 else f"{succeeded}/1"
    duration = ""
    if start := status.get("startTime"):
        end = status.get("completionTime")
        duration = human_duration((parse_time(end) if end else now_ms) - parse_time(start))
    return [
        _name(job),
        _job_status(job),
        completions,
        duration,
        age(job, now_ms),
        *container_cells(spec["template"]),
        _selector(spec),
    ]


def cron_job_cells(cron_job: Object, now_ms: int) -> list[Any]:
    spec, status = cron_job["spec"], cron_job.get("status", {})
    last, template = status.get("lastScheduleTime"), spec["jobTemplate"].get("spec", {})
    return [
        _name(cron_job),
        spec.get("schedule", ""),
        spec.get("timeZone") or NONE,
        str(bool(spec.get("suspend"))),
        len(status.get("active", ())),
        since(last, now_ms) if last else NONE,
        age(cron_job, now_ms),
        *container_cells(template.get("template", {})),
        format_label_selector(template.get("selector")),
    ]


def controller_revision_cells(revision: Object, now_ms: int) -> list[Any]:
    owner = next((o for o in revision["metadata"].get("ownerReferences", ()) if o.get("controller")), None)
    controller = NONE
    if owner is not None:
        group = owner.get("apiVersion", "").rpartition("/")[0]
        kind = owner.get("kind", "").lower()
        controller = f"{kind}.{group}/{owner.get('name', '')}" if group else f"{kind}/{owner.get('name', '')}"
    return [_name(revision), controller, revision.get("revision", 0), age(revision, now_ms)]


ROWS = {
    "Deployment": deployment_cells,
    "ReplicaSet": replica_set_cells,
    "ReplicationController": replica_set_cells,
    "StatefulSet": stateful_set_cells,
    "DaemonSet": daemon_set_cells,
    "Job": job_cells,
    "CronJob": cron_job_cells,
    "ControllerRevision": controller_revision_cells,
}
