"""The table of all resources that Kubernetes 1.36 serves with its default feature gates, in discovery order.

One line a resource: resource, kind, scope (N namespaced, C cluster-wide), verbs (`*`: all eight), then options:
`short=` names, `in=` categories, `singular=` where it is not the kind in lower case, and `subresource:kind:verbs`
(an empty kind is the resource's own). A line that starts with two blanks continues the one above.

Upstream: pkg/controlplane/apiserver, pkg/registry/*/rest/storage_*.go (what the discovery documents list)
Simplified: of what only an alpha or beta gate turns on there are Workloads and PodGroups; the rest is absent.
"""

from __future__ import annotations

__all__ = ["GATED_RESOURCES", "RESOURCES", "STORED_ELSEWHERE", "UNSERVED_GROUPS", "VERBS"]

VERBS = {
    "c": "create",
    "d": "delete",
    "D": "deletecollection",
    "g": "get",
    "l": "list",
    "p": "patch",
    "u": "update",
    "w": "watch",
}
"""Letters of the verbs column. `*` stands for all of them."""

UNSERVED_GROUPS = ("extensions", "internal.apiserver.k8s.io", "storagemigration.k8s.io")
"""Groups of Kubernetes itself that serve nothing by default: retired, or alpha."""

STORED_ELSEWHERE = {
    "autoscaling/v1 HorizontalPodAutoscaler": "autoscaling/v2",
    "events.k8s.io/v1 Event": "v1",
}
"""Kinds that etcd holds in another version than the one asked for."""

RESOURCES = """
[v1]
bindings Binding N c
componentstatuses ComponentStatus C gl short=cs
configmaps ConfigMap N * short=cm
endpoints Endpoints N * short=ep
events Event N * short=ev
limitranges LimitRange N * short=limits
namespaces Namespace C cdglpuw short=ns finalize::u status::gpu
nodes Node C * short=no proxy:NodeProxyOptions:cdgpu status::gpu
persistentvolumeclaims PersistentVolumeClaim N * short=pvc status::gpu
persistentvolumes PersistentVolume C * short=pv status::gpu
pods Pod N * short=po in=all attach:PodAttachOptions:cg binding:Binding:c ephemeralcontainers::gpu
  eviction:policy/v1/Eviction:c exec:PodExecOptions:cg log::g portforward:PodPortForwardOptions:cg
  proxy:PodProxyOptions:cdgpu resize::gpu status::gpu
podtemplates PodTemplate N *
replicationcontrollers ReplicationController N * short=rc in=all scale:autoscaling/v1/Scale:gpu status::gpu
resourcequotas ResourceQuota N * short=quota status::gpu
secrets Secret N *
serviceaccounts ServiceAccount N * short=sa token:authentication.k8s.io/v1/TokenRequest:c
services Service N * short=svc in=all proxy:ServiceProxyOptions:cdgpu status::gpu
[apiregistration.k8s.io/v1]
apiservices APIService C * in=api-extensions status::gpu
[apps/v1]
controllerrevisions ControllerRevision N *
daemonsets DaemonSet N * short=ds in=all status::gpu
deployments Deployment N * short=deploy in=all scale:autoscaling/v1/Scale:gpu status::gpu
replicasets ReplicaSet N * short=rs in=all scale:autoscaling/v1/Scale:gpu status::gpu
statefulsets StatefulSet N * short=sts in=all scale:autoscaling/v1/Scale:gpu status::gpu
[events.k8s.io/v1]
events Event N * short=ev
[authentication.k8s.io/v1]
selfsubjectreviews SelfSubjectReview C c
tokenreviews TokenReview C c
[authorization.k8s.io/v1]
localsubjectaccessreviews LocalSubjectAccessReview N c
selfsubjectaccessreviews SelfSubjectAccessReview C c
selfsubjectrulesreviews SelfSubjectRulesReview C c
subjectaccessreviews SubjectAccessReview C c
[autoscaling/v2]
horizontalpodautoscalers HorizontalPodAutoscaler N * short=hpa in=all status::gpu
[autoscaling/v1]
horizontalpodautoscalers HorizontalPodAutoscaler N * short=hpa in=all status::gpu
[batch/v1]
cronjobs CronJob N * short=cj in=all status::gpu
jobs Job N * in=all status::gpu
[certificates.k8s.io/v1]
certificatesigningrequests CertificateSigningRequest C * short=csr approval::gpu status::gpu
[networking.k8s.io/v1]
ingressclasses IngressClass C *
ingresses Ingress N * short=ing status::gpu
ipaddresses IPAddress C * short=ip
networkpolicies NetworkPolicy N * short=netpol
servicecidrs ServiceCIDR C * status::gpu
[policy/v1]
poddisruptionbudgets PodDisruptionBudget N * short=pdb status::gpu
[rbac.authorization.k8s.io/v1]
clusterrolebindings ClusterRoleBinding C *
clusterroles ClusterRole C *
rolebindings RoleBinding N *
roles Role N *
[storage.k8s.io/v1]
csidrivers CSIDriver C *
csinodes CSINode C *
csistoragecapacities CSIStorageCapacity N *
storageclasses StorageClass C * short=sc
volumeattachments VolumeAttachment C * status::gpu
volumeattributesclasses VolumeAttributesClass C * short=vac
[admissionregistration.k8s.io/v1]
mutatingadmissionpolicies MutatingAdmissionPolicy C * in=api-extensions
mutatingadmissionpolicybindings MutatingAdmissionPolicyBinding C * in=api-extensions
mutatingwebhookconfigurations MutatingWebhookConfiguration C * in=api-extensions
validatingadmissionpolicies ValidatingAdmissionPolicy C * in=api-extensions status::gpu
validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding C * in=api-extensions
validatingwebhookconfigurations ValidatingWebhookConfiguration C * in=api-extensions
[apiextensions.k8s.io/v1]
customresourcedefinitions CustomResourceDefinition C * short=crd,crds in=api-extensions status::gpu
[scheduling.k8s.io/v1]
priorityclasses PriorityClass C * short=pc
[coordination.k8s.io/v1]
leases Lease N *
[node.k8s.io/v1]
runtimeclasses RuntimeClass C *
[discovery.k8s.io/v1]
endpointslices EndpointSlice N *
[resource.k8s.io/v1]
deviceclasses DeviceClass C *
resourceclaims ResourceClaim N * status::gpu
resourceclaimtemplates ResourceClaimTemplate N *
resourceslices ResourceSlice C *
[flowcontrol.apiserver.k8s.io/v1]
flowschemas FlowSchema C * status::gpu
prioritylevelconfigurations PriorityLevelConfiguration C * status::gpu
"""

GATED_RESOURCES = {
    "GenericWorkload": """
[scheduling.k8s.io/v1alpha2]
podgroups PodGroup N * status::gpu
workloads Workload N *
""",
}
"""What a feature gate adds, by gate, in the same form. (Upstream asks for `--runtime-config` besides.)"""
