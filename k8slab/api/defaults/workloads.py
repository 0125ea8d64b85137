"""Defaults of the kinds that hold a pod template.

Upstream: pkg/apis/apps/v1/defaults.go, pkg/apis/batch/v1/defaults.go, pkg/apis/core/v1/defaults.go
"""

from __future__ import annotations

from typing import Any

from k8slab.api.defaults.pod import set_claim_spec_defaults, set_pod_spec_defaults

__all__ = [
    "set_cron_job_defaults",
    "set_daemon_set_defaults",
    "set_deployment_defaults",
    "set_job_defaults",
    "set_pod_template_object_defaults",
    "set_replica_set_defaults",
    "set_replication_controller_defaults",
    "set_stateful_set_defaults",
]

_MAX_INT32 = 2**31 - 1


def set_deployment_defaults(deployment: dict[str, Any]) -> None:
    spec = deployment["spec"]
    spec.setdefault("replicas", 1)
    strategy = spec["strategy"]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    set_pod_spec_defaults(spec["template"]["spec"])


def set_replica_set_defaults(replica_set: dict[str, Any]) -> None:
    replica_set["spec"].setdefault("replicas", 1)
    set_pod_spec_defaults(replica_set["spec"]["template"]["spec"])


def set_daemon_set_defaults(daemon_set: dict[str, Any]) -> None:
    spec = daemon_set["spec"]
    strategy = spec["updateStrategy"]
    if strategy.setdefault("type", "RollingUpdate") == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", 10)
    set_pod_spec_defaults(spec["template"]["spec"])


def set_stateful_set_defaults(stateful_set: dict[str, Any]) -> None:
    spec = stateful_set["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec["updateStrategy"]
    if "type" not in strategy:
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    set_pod_spec_defaults(spec["template"]["spec"])
    for claim in spec.get("volumeClaimTemplates", ()):
        claim["status"].setdefault("phase", "Pending")
        set_claim_spec_defaults(claim["spec"])


def set_job_defaults(job: dict[str, Any]) -> None:
    spec = job["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _MAX_INT32 if "backoffLimitPerIndex" in spec else 6)
    labels = spec["template"]["metadata"].get("labels")
    if labels and not job["metadata"].get("labels"):
        job["metadata"]["labels"] = dict(labels)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    if "podReplacementPolicy" not in spec:
        spec["podReplacementPolicy"] = "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"
    spec.setdefault("manualSelector", False)
    _set_pod_failure_policy_defaults(spec)
    set_pod_spec_defaults(spec["template"]["spec"])


def _set_pod_failure_policy_defaults(spec: dict[str, Any]) -> None:
    for rule in spec.get("podFailurePolicy", {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern.get("status"):
                pattern["status"] = "True"


def set_cron_job_defaults(cron_job: dict[str, Any]) -> None:
    spec = cron_job["spec"]
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    template = spec["jobTemplate"]["spec"]
    _set_pod_failure_policy_defaults(template)
    set_pod_spec_defaults(template["template"]["spec"])


def set_pod_template_object_defaults(pod_template: dict[str, Any]) -> None:
    set_pod_spec_defaults(pod_template["template"]["spec"])


def set_replication_controller_defaults(controller: dict[str, Any]) -> None:
    spec = controller["spec"]
    template = spec.get("template")
    labels = template["metadata"].get("labels") if template else None
    if labels:
        spec.setdefault("selector", dict(labels))
        controller["metadata"].setdefault("labels", dict(labels))
    spec.setdefault("replicas", 1)
    if template:
        set_pod_spec_defaults(template["spec"])
