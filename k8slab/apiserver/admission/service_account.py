"""Every Pod runs as a ServiceAccount, and finds its token, the cluster's CA and its namespace in a volume.

Upstream: plugin/pkg/admission/serviceaccount/admission.go
Simplified: no secret-based tokens and no enforce-mountable-secrets annotation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.names import generate_name
from k8slab.api.objects import Frozen, Object, freeze
from k8slab.apiserver.admission.attributes import Attributes, Lister, forbidden

__all__ = ["MOUNT_PATH", "ServiceAccount"]

MIRROR = "kubernetes.io/config.mirror"
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
VOLUME_PREFIX = "kube-api-access-"
TOKEN_SECONDS = 3607

_SOURCES = freeze(
    [
        {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {
            "downwardAPI": {
                "items": [{"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}]
            }
        },
    ]
)


class ServiceAccount:
    name = "ServiceAccount"

    async def admit(self, attributes: Attributes, lister: Lister) -> Object | None:
        """Names the account, mounts its token. Refuses Pods of accounts that do not exist."""
        pod = attributes.object
        if attributes.operation != "CREATE" or attributes.resource.group_resource != "pods" or attributes.subresource:
            return None
        if pod is None:
            return None
        spec = pod.get("spec") or {}
        if MIRROR in (pod["metadata"].get("annotations") or {}):
            _check_mirror(attributes, spec)
            return None
        name = spec.get("serviceAccountName") or spec.get("serviceAccount") or "default"
        account = await _account(attributes, lister, name)
        spec = {**spec, "serviceAccountName": name, "serviceAccount": name}
        if _automounts(spec, account):
            spec = _mount(attributes, spec)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = account["imagePullSecrets"]
        return {**pod, "spec": spec}


def _check_mirror(attributes: Attributes, spec: Mapping[str, Any]) -> None:
    if spec.get("serviceAccountName"):
        raise forbidden(attributes, "a mirror pod may not reference service accounts")
    for volume in spec.get("volumes") or ():
        if "secret" in volume:
            raise forbidden(attributes, "a mirror pod may not reference secrets")
        for source in (volume.get("projected") or {}).get("sources") or ():
            if "serviceAccountToken" in source:
                raise forbidden(attributes, "a mirror pod may not use ServiceAccountToken volume projections")


async def _account(attributes: Attributes, lister: Lister, name: str) -> Frozen:
    namespace = attributes.namespace
    found = lister.cached("serviceaccounts", namespace, name) or await lister.live("serviceaccounts", namespace, name)
    if found is None:
        raise forbidden(
            attributes, f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        )
    return found


def _automounts(spec: Mapping[str, Any], account: Mapping[str, Any]) -> bool:
    for owner in (spec, account):
        if owner.get("automountServiceAccountToken") is not None:
            return bool(owner["automountServiceAccountToken"])
    return True


def _mount(attributes: Attributes, spec: dict[str, Any]) -> dict[str, Any]:
    """The spec with the token volume in every container that has nothing at its path."""
    volumes = list(spec.get("volumes") or ())
    existing = next((v["name"] for v in volumes if v["name"].startswith(VOLUME_PREFIX) and "projected" in v), None)
    name = existing or generate_name(VOLUME_PREFIX, attributes.context.env.names)
    mount = {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}
    needs_volume = False
    result = dict(spec)
    for field in ("initContainers", "containers"):
        containers = []
        for container in spec.get(field) or ():
            mounts = container.get("volumeMounts") or ()
            if not any(m.get("mountPath") == MOUNT_PATH for m in mounts):
                container = {**container, "volumeMounts": [*mounts, mount]}
                needs_volume = True
            containers.append(container)
        if containers:
            result[field] = containers
    if needs_volume and existing is None:
        volumes.append({"name": name, "projected": {"sources": _SOURCES, "defaultMode": 420}})
        result["volumes"] = volumes
    return result
