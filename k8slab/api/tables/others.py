"""Rows of Services, Nodes, configuration, policy and storage.

Upstream: pkg/printers/internalversion/printers.go (printService, printNode, printEvent, ...)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from k8slab.api.labels import format_label_selector
from k8slab.api.tables.cells import AGE, NAME, NONE, Column, age, first_few, join_labels, since, text_or

__all__ = ["COLUMNS", "ROWS"]

Object = Mapping[str, Any]


def _columns(*names: str, wide: tuple[str, ...] = ()) -> tuple[Column, ...]:
    shown = tuple(AGE if name == "Age" else Column(name) for name in names)
    return (NAME, *shown, *(Column(name, priority=1) for name in wide))


COLUMNS: dict[str, tuple[Column, ...]] = {
    "Service": _columns("Type", "Cluster-IP", "External-IP", "Port(s)", "Age", wide=("Selector",)),
    "Node": _columns(
        *("Status", "Roles", "Age", "Version"),
        wide=("Internal-IP", "External-IP", "OS-Image", "Kernel-Version", "Container-Runtime"),
    ),
    "Namespace": _columns("Status", "Age"),
    "ConfigMap": _columns("Data", "Age"),
    "Secret": _columns("Type", "Data", "Age"),
    "ServiceAccount": _columns("Age"),
    "Endpoints": _columns("Endpoints", "Age"),
    "EndpointSlice": _columns("AddressType", "Ports", "Endpoints", "Age"),
    "Lease": _columns("Holder", "Age"),
    "PriorityClass": (
        *(NAME, Column("Value", "integer"), Column("Global-Default", "boolean"), AGE, Column("PreemptionPolicy")),
    ),
    "PodDisruptionBudget": (
        *(NAME, Column("Min Available"), Column("Max Unavailable"), Column("Allowed Disruptions", "integer"), AGE),
    ),
    "HorizontalPodAutoscaler": _columns("Reference", "Targets", "MinPods", "MaxPods", "Replicas", "Age"),
    "PersistentVolumeClaim": _columns(
        *("Status", "Volume", "Capacity", "Access Modes", "StorageClass", "VolumeAttributesClass", "Age"),
        wide=("VolumeMode",),
    ),
    "PersistentVolume": _columns(
        *("Capacity", "Access Modes", "Reclaim Policy", "Status", "Claim", "StorageClass", "VolumeAttributesClass"),
        *("Reason", "Age"),
        wide=("VolumeMode",),
    ),
    "StorageClass": _columns("Provisioner", "ReclaimPolicy", "VolumeBindingMode", "AllowVolumeExpansion", "Age"),
    "Ingress": _columns("Class", "Hosts", "Address", "Ports", "Age"),
    "NetworkPolicy": _columns("Pod-Selector", "Age"),
    "ResourceQuota": _columns("Request", "Limit", "Age"),
    "RoleBinding": _columns("Role", "Age", wide=("Users", "Groups", "ServiceAccounts")),
    "ClusterRoleBinding": _columns("Role", "Age", wide=("Users", "Groups", "ServiceAccounts")),
    "Event": (
        *(Column("Last Seen"), Column("Type"), Column("Reason"), Column("Object")),
        *(Column("Subobject", priority=1), Column("Source", priority=1), Column("Message")),
        *(Column("First Seen", priority=1), Column("Count", priority=1), Column("Name", "string", 1, "name")),
    ),
}


def _name(obj: Object) -> str:
    return str(obj["metadata"].get("name", ""))


def service_cells(service: Object, now_ms: int) -> list[Any]:
    spec = service["spec"]
    addresses = spec.get("clusterIPs", ())
    return [
        _name(service),
        spec.get("type", ""),
        addresses[0] if addresses else NONE,
        _external_ip(service),
        ",".join(map(_service_port, spec.get("ports", ()))) or NONE,
        age(service, now_ms),
        join_labels(spec.get("selector")),
    ]


def _service_port(port: Object) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node_port}/{port.get('protocol', 'TCP')}"


def _external_ip(service: Object) -> str:
    spec = service["spec"]
    kind, external = spec.get("type", ""), list(spec.get("externalIPs", ()))
    if kind == "ExternalName":
        return str(spec.get("externalName", ""))
    if kind != "LoadBalancer":
        return ",".join(external) or NONE
    ingress = service.get("status", {}).get("loadBalancer", {}).get("ingress", ())
    balanced = [i.get("ip") or i.get("hostname", "") for i in ingress]
    return ",".join([*balanced, *external]) or "<pending>"


def node_cells(node: Object, now_ms: int) -> list[Any]:
    status = node.get("status", {})
    info = status.get("nodeInfo", {})
    kernel, architecture = info.get("kernelVersion", ""), info.get("architecture", "")
    return [
        _name(node),
        _node_status(node),
        _node_roles(node),
        age(node, now_ms),
        info.get("kubeletVersion", ""),
        _node_address(status, "InternalIP"),
        _node_address(status, "ExternalIP"),
        text_or(info.get("osImage"), "<unknown>"),
        text_or(f"{kernel} ({architecture})" if kernel and architecture else kernel, "<unknown>"),
        text_or(info.get("containerRuntimeVersion"), "<unknown>"),
    ]


def _node_status(node: Object) -> str:
    ready = next((c for c in node.get("status", {}).get("conditions", ()) if c.get("type") == "Ready"), None)
    words = ["Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"]
    if node.get("spec", {}).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _node_roles(node: Object) -> str:
    roles: list[str] = []
    for label, value in node["metadata"].get("labels", {}).items():
        if label.startswith("node-role.kubernetes.io/"):
            roles.append(label.removeprefix("node-role.kubernetes.io/"))
        elif label == "kubernetes.io/role" and value:
            roles.append(value)
    return ",".join(sorted(filter(None, dict.fromkeys(roles)))) or NONE


def _node_address(status: Object, kind: str) -> str:
    return next((a["address"] for a in status.get("addresses", ()) if a.get("type") == kind), NONE)


def namespace_cells(namespace: Object, now_ms: int) -> list[Any]:
    return [_name(namespace), namespace.get("status", {}).get("phase", ""), age(namespace, now_ms)]


def config_map_cells(config_map: Object, now_ms: int) -> list[Any]:
    count = len(config_map.get("data", {})) + len(config_map.get("binaryData", {}))
    return [_name(config_map), count, age(config_map, now_ms)]


def secret_cells(secret: Object, now_ms: int) -> list[Any]:
    return [_name(secret), secret.get("type", ""), len(secret.get("data", {})), age(secret, now_ms)]


def service_account_cells(account: Object, now_ms: int) -> list[Any]:
    return [_name(account), age(account, now_ms)]


def endpoints_cells(endpoints: Object, now_ms: int) -> list[Any]:
    shown = [
        f"{address.get('ip', '')}:{port.get('port', 0)}" if port else address.get("ip", "")
        for subset in endpoints.get("subsets", ())
        for port in (subset.get("ports") or (None,))
        for address in subset.get("addresses", ())
    ]
    return [_name(endpoints), first_few(shown, 3) or NONE, age(endpoints, now_ms)]


def endpoint_slice_cells(endpoint_slice: Object, now_ms: int) -> list[Any]:
    ports = [str(port.get("port", "*")) for port in endpoint_slice.get("ports") or ()]
    addresses = [a for endpoint in endpoint_slice.get("endpoints") or () for a in endpoint.get("addresses") or ()]
    return [
        _name(endpoint_slice),
        endpoint_slice.get("addressType", ""),
        first_few(ports, 3) or "<unset>",
        first_few(addresses, 3) or "<unset>",
        age(endpoint_slice, now_ms),
    ]


def lease_cells(lease: Object, now_ms: int) -> list[Any]:
    return [_name(lease), lease.get("spec", {}).get("holderIdentity", ""), age(lease, now_ms)]


def priority_class_cells(priority_class: Object, now_ms: int) -> list[Any]:
    policy = priority_class.get("preemptionPolicy", "")
    is_default = bool(priority_class.get("globalDefault"))
    return [_name(priority_class), priority_class.get("value", 0), is_default, age(priority_class, now_ms), policy]


def disruption_budget_cells(budget: Object, now_ms: int) -> list[Any]:
    spec = budget["spec"]
    limits = [str(spec.get(key, "N/A")) for key in ("minAvailable", "maxUnavailable")]
    return [_name(budget), *limits, budget.get("status", {}).get("disruptionsAllowed", 0), age(budget, now_ms)]


def autoscaler_cells(hpa: Object, now_ms: int) -> list[Any]:
    spec, status = hpa["spec"], hpa.get("status", {})
    target = spec.get("scaleTargetRef", {})
    return [
        _name(hpa),
        f"{target.get('kind', '')}/{target.get('name', '')}",
        _metric_targets(spec.get("metrics", ()), status.get("currentMetrics") or ()),
        str(spec["minReplicas"]) if "minReplicas" in spec else "<unset>",
        spec.get("maxReplicas", 0),
        status.get("currentReplicas", 0),
        age(hpa, now_ms),
    ]


_METRICS = {"Resource": "resource", "ContainerResource": "containerResource", "Pods": "pods", "Object": "object"}
_METRICS["External"] = "external"


def _metric_targets(metrics: Any, current: Any) -> str:
    if not metrics:
        return NONE
    shown = [_metric_target(m, current[i] if i < len(current) else {}) for i, m in enumerate(metrics)]
    more = f" + {len(shown) - 2} more..." if len(shown) > 2 else ""
    return ", ".join(shown[:2]) + more


def _metric_target(metric: Object, current: Object) -> str:
    kind = metric.get("type", "")
    source, now = metric.get(_METRICS.get(kind, ""), {}), current.get(_METRICS.get(kind, ""), {}).get("current", {})
    target = source.get("target", {})
    if "averageUtilization" in target:
        value = f"{now['averageUtilization']}%" if "averageUtilization" in now else "<unknown>"
        wanted = f"{target['averageUtilization']}%"
    elif "averageValue" in target:
        value, wanted = now.get("averageValue", "<unknown>"), target["averageValue"]
        if kind in ("Object", "External"):
            value, wanted = f"{value}", f"{wanted} (avg)"
    else:
        value, wanted = now.get("value", "<unknown>"), target.get("value", "<auto>")
    name = f"{source.get('name', '')}: " if kind in ("Resource", "ContainerResource") else ""
    return f"{name}{value}/{wanted}"


_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _access_modes(modes: Any) -> str:
    return ",".join(short for mode, short in _MODES.items() if mode in (modes or ()))


def claim_cells(claim: Object, now_ms: int) -> list[Any]:
    spec, status = claim["spec"], claim.get("status", {})
    phase = "Terminating" if claim["metadata"].get("deletionTimestamp") else status.get("phase", "")
    volume = spec.get("volumeName", "")
    return [
        _name(claim),
        phase,
        volume,
        status.get("capacity", {}).get("storage", "") if volume else "",
        _access_modes(status.get("accessModes")) if volume else "",
        spec.get("storageClassName", ""),
        text_or(spec.get("volumeAttributesClassName"), "<unset>"),
        age(claim, now_ms),
        text_or(spec.get("volumeMode"), "<unset>"),
    ]


def volume_cells(volume: Object, now_ms: int) -> list[Any]:
    spec, status = volume["spec"], volume.get("status", {})
    claim = spec.get("claimRef")
    return [
        _name(volume),
        spec.get("capacity", {}).get("storage", "0"),
        _access_modes(spec.get("accessModes")),
        spec.get("persistentVolumeReclaimPolicy", ""),
        "Terminating" if volume["metadata"].get("deletionTimestamp") else status.get("phase", ""),
        f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else "",
        spec.get("storageClassName", ""),
        text_or(spec.get("volumeAttributesClassName"), "<unset>"),
        status.get("reason", ""),
        age(volume, now_ms),
        text_or(spec.get("volumeMode"), "<unset>"),
    ]


def storage_class_cells(storage_class: Object, now_ms: int) -> list[Any]:
    is_default = storage_class["metadata"].get("annotations", {}).get("storageclass.kubernetes.io/is-default-class")
    return [
        _name(storage_class) + (" (default)" if is_default == "true" else ""),
        storage_class.get("provisioner", ""),
        storage_class.get("reclaimPolicy", "Delete"),
        storage_class.get("volumeBindingMode", "<unset>"),
        bool(storage_class.get("allowVolumeExpansion")),
        age(storage_class, now_ms),
    ]


def ingress_cells(ingress: Object, now_ms: int) -> list[Any]:
    spec = ingress["spec"]
    hosts = [rule["host"] for rule in spec.get("rules", ()) if rule.get("host")]
    balanced = ingress.get("status", {}).get("loadBalancer", {}).get("ingress", ())
    return [
        _name(ingress),
        text_or(spec.get("ingressClassName")),
        first_few(hosts, 3) or "*",
        ",".join(i.get("ip") or i.get("hostname", "") for i in balanced),
        "80, 443" if spec.get("tls") else "80",
        age(ingress, now_ms),
    ]


def network_policy_cells(policy: Object, now_ms: int) -> list[Any]:
    selector = format_label_selector(policy["spec"].get("podSelector"))
    return [_name(policy), selector, age(policy, now_ms)]


def resource_quota_cells(quota: Object, now_ms: int) -> list[Any]:
    status = quota.get("status", {})
    hard, used = status.get("hard", {}), status.get("used", {})
    texts = {name: f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard)}
    limits = [text for name, text in texts.items() if name.startswith("limits.")]
    requests = [text for name, text in texts.items() if not name.startswith("limits.")]
    return [_name(quota), ", ".join(requests), ", ".join(limits), age(quota, now_ms)]


def role_binding_cells(binding: Object, now_ms: int) -> list[Any]:
    reference = binding.get("roleRef", {})
    subjects: dict[str, list[str]] = {"User": [], "Group": [], "ServiceAccount": []}
    for subject in binding.get("subjects", ()):
        name = subject.get("name", "")
        if subject.get("kind") == "ServiceAccount":
            name = f"{subject.get('namespace', '')}/{name}"
        subjects.setdefault(subject.get("kind", ""), []).append(name)
    who = [", ".join(subjects[kind]) for kind in ("User", "Group", "ServiceAccount")]
    role = f"{reference.get('kind', '')}/{reference.get('name', '')}"
    return [_name(binding), role, age(binding, now_ms), *who]


def event_cells(event: Object, now_ms: int) -> list[Any]:
    involved = event.get("involvedObject") or event.get("regarding") or {}
    first, last, count = event.get("firstTimestamp"), event.get("lastTimestamp"), event.get("count", 0)
    first_seen = since(first or event.get("eventTime"), now_ms)
    last_seen = since(last, now_ms) if last else first_seen
    if series := event.get("series"):
        last_seen, count = since(series.get("lastObservedTime"), now_ms), series.get("count", 0)
    elif not count:
        count = 1
    kind, name = involved.get("kind", "").lower(), involved.get("name", "")
    source = event.get("source", {})
    origin = source.get("component", "") or event.get("reportingComponent", "")
    host = source.get("host", "") or event.get("reportingInstance", "")
    return [
        last_seen,
        event.get("type", ""),
        event.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        involved.get("fieldPath", ""),
        f"{origin}, {host}" if host else origin,
        (event.get("message") or event.get("note") or "").strip(),
        first_seen,
        count,
        _name(event),
    ]


ROWS: dict[str, Callable[[Object, int], list[Any]]] = {
    "Service": service_cells,
    "Node": node_cells,
    "Namespace": namespace_cells,
    "ConfigMap": config_map_cells,
    "Secret": secret_cells,
    "ServiceAccount": service_account_cells,
    "Endpoints": endpoints_cells,
    "EndpointSlice": endpoint_slice_cells,
    "Lease": lease_cells,
    "PriorityClass": priority_class_cells,
    "PodDisruptionBudget": disruption_budget_cells,
    "HorizontalPodAutoscaler": autoscaler_cells,
    "PersistentVolumeClaim": claim_cells,
    "PersistentVolume": volume_cells,
    "StorageClass": storage_class_cells,
    "Ingress": ingress_cells,
    "NetworkPolicy": network_policy_cells,
    "ResourceQuota": resource_quota_cells,
    "RoleBinding": role_binding_cells,
    "ClusterRoleBinding": role_binding_cells,
    "Event": event_cells,
}
