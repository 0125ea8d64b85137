"""Validation: whether an object may be stored, and what exactly is wrong with it, in upstream's words and order.

>>> from k8slab.api.defaults import apply_defaults
>>> pod = apply_defaults({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "namespace": "default"},
...                       "spec": {"containers": [{"name": "nginx"}]}})
>>> [(cause.field, cause.message) for cause in validate_create(pod)]
[('spec.containers[0].image', 'Required value')]

The caller gives defaulted objects (`apply_defaults`), sets names, uid and namespace before, and turns causes into an
`InvalidError`. An empty list means valid.

Upstream: pkg/apis/*/validation/validation.go, pkg/registry/*/*/strategy.go, apiserver/pkg/registry/rest/create.go
Simplified: kinds without rules of their own here are checked for metadata only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.scheme import SCHEME, gvk_of
from k8slab.api.validation import (
    admission_policies,
    admission_webhooks,
    api_services,
    autoscaling,
    batch,
    core,
    networking,
    pod,
    pod_update,
    policy,
    service,
    storage,
    workload_groups,
    workloads,
)
from k8slab.api.validation.metadata import (
    NameRule,
    dns_subdomain,
    path_segment,
    validate_common_update,
    validate_metadata,
    validate_metadata_update,
)
from k8slab.api.validation.options import validate_delete_options, validate_request_options

__all__ = [
    "validate_create",
    "validate_delete_options",
    "validate_request_options",
    "validate_status_update",
    "validate_update",
]

Object = Mapping[str, Any]
Create = Callable[[Object], list[Cause]]
Update = Callable[[Object, Object], list[Cause]]

_ADMISSION = "admissionregistration.k8s.io"
_CREATE: dict[tuple[str, str], Create] = {
    (_ADMISSION, "MutatingAdmissionPolicy"): admission_policies.validate_mutating_policy_create,
    (_ADMISSION, "MutatingAdmissionPolicyBinding"): admission_policies.validate_mutating_binding_create,
    (_ADMISSION, "MutatingWebhookConfiguration"): admission_webhooks.validate_mutating_create,
    (_ADMISSION, "ValidatingAdmissionPolicy"): admission_policies.validate_validating_policy_create,
    (_ADMISSION, "ValidatingAdmissionPolicyBinding"): admission_policies.validate_validating_binding_create,
    (_ADMISSION, "ValidatingWebhookConfiguration"): admission_webhooks.validate_validating_create,
    ("", "ConfigMap"): core.validate_config_map_create,
    ("", "LimitRange"): core.validate_limit_range,
    ("", "Namespace"): core.validate_namespace_create,
    ("", "Node"): core.validate_node_create,
    ("", "PersistentVolume"): core.validate_persistent_volume_create,
    ("", "PersistentVolumeClaim"): core.validate_claim_create,
    ("", "Pod"): pod.validate_pod_create,
    ("", "ResourceQuota"): core.validate_resource_quota_create,
    ("", "Secret"): core.validate_secret_create,
    ("", "Service"): service.validate_service_create,
    ("", "ServiceAccount"): core.validate_service_account_create,
    ("apps", "DaemonSet"): workloads.validate_daemon_set_create,
    ("apps", "Deployment"): workloads.validate_deployment_create,
    ("apps", "ReplicaSet"): workloads.validate_replica_set_create,
    ("apps", "StatefulSet"): workloads.validate_stateful_set_create,
    ("apiregistration.k8s.io", "APIService"): api_services.validate_api_service_create,
    ("autoscaling", "HorizontalPodAutoscaler"): autoscaling.validate_autoscaler_create,
    ("batch", "CronJob"): batch.validate_cron_job_create,
    ("batch", "Job"): batch.validate_job_create,
    ("coordination.k8s.io", "Lease"): policy.validate_lease_create,
    ("discovery.k8s.io", "EndpointSlice"): service.validate_endpoint_slice_create,
    ("networking.k8s.io", "Ingress"): networking.validate_ingress_create,
    ("networking.k8s.io", "IngressClass"): networking.validate_ingress_class_create,
    ("networking.k8s.io", "NetworkPolicy"): networking.validate_network_policy_create,
    ("policy", "PodDisruptionBudget"): policy.validate_disruption_budget_create,
    ("rbac.authorization.k8s.io", "ClusterRole"): policy.validate_cluster_role_create,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): policy.validate_cluster_role_binding_create,
    ("rbac.authorization.k8s.io", "Role"): policy.validate_role_create,
    ("rbac.authorization.k8s.io", "RoleBinding"): policy.validate_role_binding_create,
    ("scheduling.k8s.io", "PodGroup"): workload_groups.validate_pod_group_create,
    ("scheduling.k8s.io", "PriorityClass"): policy.validate_priority_class_create,
    ("storage.k8s.io", "CSINode"): storage.validate_csi_node_create,
    ("storage.k8s.io", "StorageClass"): storage.validate_storage_class_create,
    ("scheduling.k8s.io", "Workload"): workload_groups.validate_workload_create,
}

_UPDATE: dict[tuple[str, str], Update] = {
    (_ADMISSION, "MutatingAdmissionPolicy"): admission_policies.validate_mutating_policy_update,
    (_ADMISSION, "MutatingWebhookConfiguration"): admission_webhooks.validate_mutating_update,
    (_ADMISSION, "ValidatingAdmissionPolicy"): admission_policies.validate_validating_policy_update,
    (_ADMISSION, "ValidatingWebhookConfiguration"): admission_webhooks.validate_validating_update,
    ("", "ConfigMap"): core.validate_config_map_update,
    ("", "Node"): core.validate_node_update,
    ("", "PersistentVolumeClaim"): core.validate_claim_update,
    ("", "Pod"): pod_update.validate_pod_update,
    ("", "Secret"): core.validate_secret_update,
    ("", "Service"): service.validate_service_update,
    ("apps", "DaemonSet"): workloads.validate_daemon_set_update,
    ("apps", "Deployment"): workloads.validate_deployment_update,
    ("apps", "ReplicaSet"): workloads.validate_replica_set_update,
    ("apps", "StatefulSet"): workloads.validate_stateful_set_update,
    ("autoscaling", "HorizontalPodAutoscaler"): autoscaling.validate_autoscaler_update,
    ("batch", "CronJob"): batch.validate_cron_job_update,
    ("batch", "Job"): batch.validate_job_update,
    ("discovery.k8s.io", "EndpointSlice"): service.validate_endpoint_slice_update,
    ("networking.k8s.io", "Ingress"): networking.validate_ingress_update,
    ("networking.k8s.io", "IngressClass"): networking.validate_ingress_class_update,
    ("networking.k8s.io", "NetworkPolicy"): networking.validate_network_policy_update,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): policy.validate_cluster_role_binding_update,
    ("rbac.authorization.k8s.io", "RoleBinding"): policy.validate_role_binding_update,
    ("scheduling.k8s.io", "PodGroup"): workload_groups.validate_pod_group_update,
    ("scheduling.k8s.io", "PriorityClass"): policy.validate_priority_class_update,
    ("storage.k8s.io", "CSINode"): storage.validate_csi_node_update,
    ("storage.k8s.io", "StorageClass"): storage.validate_storage_class_update,
    ("scheduling.k8s.io", "Workload"): workload_groups.validate_workload_update,
}

_STATUS_UPDATE: dict[tuple[str, str], Update] = {
    (_ADMISSION, "MutatingAdmissionPolicy"): admission_policies.validate_mutating_policy_update,
    (_ADMISSION, "MutatingWebhookConfiguration"): admission_webhooks.validate_mutating_update,
    (_ADMISSION, "ValidatingAdmissionPolicy"): admission_policies.validate_validating_policy_update,
    (_ADMISSION, "ValidatingWebhookConfiguration"): admission_webhooks.validate_validating_update,
    ("", "Namespace"): core.validate_namespace_status_update,
    ("", "Node"): core.validate_node_update,
    ("", "Pod"): pod_update.validate_pod_status_update,
    ("apps", "DaemonSet"): workloads.validate_workload_status_update,
    ("apps", "Deployment"): workloads.validate_workload_status_update,
    ("apps", "ReplicaSet"): workloads.validate_workload_status_update,
    ("apps", "StatefulSet"): workloads.validate_workload_status_update,
    ("apiregistration.k8s.io", "APIService"): api_services.validate_api_service_status_update,
    ("autoscaling", "HorizontalPodAutoscaler"): autoscaling.validate_autoscaler_status_update,
    ("batch", "Job"): batch.validate_job_status_update,
}

_ANY_NAME: dict[str, NameRule] = {"rbac.authorization.k8s.io": path_segment}


def _is_namespaced(obj: Object) -> bool:
    gvk = gvk_of(obj)
    return SCHEME.resource_of(gvk).namespaced if gvk in SCHEME else "namespace" in obj.get("metadata", {})


def validate_create(obj: Object) -> list[Cause]:
    """What is wrong with a new object. `metadata.name` must have been generated already."""
    return _as_created(obj) or validate_metadata(obj["metadata"], _is_namespaced(obj), path_segment)


def _validate_any(obj: Object) -> list[Cause]:
    rule = _ANY_NAME.get(gvk_of(obj).group, dns_subdomain)
    return validate_metadata(obj.get("metadata", {}), _is_namespaced(obj), rule)


def validate_update(new: Object, old: Object) -> list[Cause]:
    """What is wrong with replacing `old` by `new`. uid, timestamps and generation must have been carried over."""
    return _validate_change(new, old, _UPDATE, _as_created)


def validate_status_update(new: Object, old: Object) -> list[Cause]:
    """What is wrong with a write to `/status`."""
    return _validate_change(new, old, _STATUS_UPDATE, lambda _: [])


def _as_created(obj: Object) -> list[Cause]:
    """By the rules for new objects; an update without rules of its own must pass them too."""
    gvk = gvk_of(obj)
    return _CREATE.get((gvk.group, gvk.kind), _validate_any)(obj)


def _validate_change(new: Object, old: Object, rules: Mapping[tuple[str, str], Update], other: Create) -> list[Cause]:
    gvk = gvk_of(new)
    errors = validate_common_update(new["metadata"], old["metadata"], _is_namespaced(new))
    rule = rules.get((gvk.group, gvk.kind))
    if rule is not None:
        return errors + rule(new, old)
    return errors + validate_metadata_update(new["metadata"], old["metadata"]) + other(new)
