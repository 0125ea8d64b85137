"""Defaulting: what the API server fills in before it validates and stores an object.

>>> pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
...        "spec": {"containers": [{"name": "nginx", "image": "nginx:1.27"}]}}
>>> stored = apply_defaults(pod)
>>> stored["spec"]["containers"][0]["imagePullPolicy"], stored["spec"]["restartPolicy"]
('IfNotPresent', 'Always')
>>> pod["spec"].get("restartPolicy") is None
True

The caller does the rest of what happens to a new object: names, uid, status reset, admission.

Upstream: pkg/apis/*/v*/defaults.go, pkg/apis/*/v*/zz_generated.defaults.go
Simplified: volume sources of retired cloud and storage plugins keep only the defaults their published schema states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from k8slab.api.decoding import decode
from k8slab.api.defaults import autoscaling, core, networking, policy, storage, workloads
from k8slab.api.defaults.pod import set_pod_defaults
from k8slab.api.scheme import GVK, gvk_of

__all__ = ["apply_defaults", "set_defaults"]

_DEFAULTERS: dict[tuple[str, str, str], Callable[[dict[str, Any]], None]] = {
    ("", "v1", "ConfigMap"): core.nothing,
    ("", "v1", "Endpoints"): core.set_endpoints_defaults,
    ("", "v1", "LimitRange"): core.set_limit_range_defaults,
    ("", "v1", "Namespace"): core.set_namespace_defaults,
    ("", "v1", "Node"): core.set_node_defaults,
    ("", "v1", "PersistentVolume"): storage.set_persistent_volume_defaults,
    ("", "v1", "PersistentVolumeClaim"): storage.set_persistent_volume_claim_defaults,
    ("", "v1", "Pod"): set_pod_defaults,
    ("", "v1", "PodTemplate"): workloads.set_pod_template_object_defaults,
    ("", "v1", "ReplicationController"): workloads.set_replication_controller_defaults,
    ("", "v1", "ResourceQuota"): core.set_resource_quota_defaults,
    ("", "v1", "Secret"): core.set_secret_defaults,
    ("", "v1", "Service"): core.set_service_defaults,
    ("", "v1", "ServiceAccount"): core.nothing,
    ("apiregistration.k8s.io", "v1", "APIService"): policy.set_api_service_defaults,
    ("apps", "v1", "DaemonSet"): workloads.set_daemon_set_defaults,
    ("apps", "v1", "Deployment"): workloads.set_deployment_defaults,
    ("apps", "v1", "ReplicaSet"): workloads.set_replica_set_defaults,
    ("apps", "v1", "StatefulSet"): workloads.set_stateful_set_defaults,
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): autoscaling.set_v1_defaults,
    ("autoscaling", "v2", "HorizontalPodAutoscaler"): autoscaling.set_v2_defaults,
    ("batch", "v1", "CronJob"): workloads.set_cron_job_defaults,
    ("batch", "v1", "Job"): workloads.set_job_defaults,
    ("discovery.k8s.io", "v1", "EndpointSlice"): networking.set_endpoint_slice_defaults,
    ("networking.k8s.io", "v1", "NetworkPolicy"): networking.set_network_policy_defaults,
    ("networking.k8s.io", "v1", "IngressClass"): networking.set_ingress_class_defaults,
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding"): policy.set_role_binding_defaults,
    ("rbac.authorization.k8s.io", "v1", "RoleBinding"): policy.set_role_binding_defaults,
    ("admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicy"): policy.set_admission_policy_defaults,
    ("admissionregistration.k8s.io", "v1", "MutatingAdmissionPolicyBinding"): policy.set_admission_binding_defaults,
    ("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration"): policy.set_mutating_webhook_defaults,
    ("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy"): policy.set_admission_policy_defaults,
    ("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding"): policy.set_admission_binding_defaults,
    ("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"): policy.set_validating_webhook_defaults,
    ("scheduling.k8s.io", "v1", "PriorityClass"): policy.set_priority_class_defaults,
    ("storage.k8s.io", "v1", "CSIDriver"): storage.set_csi_driver_defaults,
    ("storage.k8s.io", "v1", "StorageClass"): storage.set_storage_class_defaults,
    ("storage.k8s.io", "v1", "VolumeAttributesClass"): core.nothing,
}


def apply_defaults(obj: Mapping[str, Any], gvk: GVK | None = None) -> dict[str, Any]:
    """A new object: `obj` decoded into its kind and defaulted. DecodeError when a value has the wrong type.

    `gvk`: the kind to take it for, the object's own by default. Kinds without defaults come back decoded only.
    """
    return set_defaults(decode(obj, gvk).object, gvk)


def set_defaults(obj: dict[str, Any], gvk: GVK | None = None) -> dict[str, Any]:
    """Default an object that `decode` has just returned, in place; the same object is returned."""
    defaulter = _DEFAULTERS.get(gvk or gvk_of(obj))
    if defaulter is not None:
        defaulter(obj)
    return obj
