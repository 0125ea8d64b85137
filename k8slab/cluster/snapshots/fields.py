"""What is kept of a real cluster's objects: the fields that scheduling and eviction read, and nothing else.

Everything not named here is dropped while a file is read: environment, commands, arguments, probes and volume sources
of Pods (the size of an emptyDir stays), annotations (with them the last applied manifest; those few that volume plugins
read and that mark static Pods stay), managed fields, and Secrets and ConfigMaps as a whole.

>>> from k8slab.cluster.snapshots.fields import kept
>>> kept({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a", "managedFields": ["hush"]},
...       "spec": {"containers": [{"name": "c", "env": [{"name": "P", "value": "hush"}]}]}})
{'kind': 'Pod', 'apiVersion': 'v1', 'metadata': {'name': 'a'}, 'spec': {'containers': [{'name': 'c'}]}}
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from k8slab.api.scheme import (
    CSIDRIVERS,
    CSINODES,
    CSISTORAGECAPACITIES,
    GVR,
    NAMESPACES,
    NODES,
    PERSISTENTVOLUMECLAIMS,
    PERSISTENTVOLUMES,
    PODDISRUPTIONBUDGETS,
    PODS,
    PRIORITYCLASSES,
    REPLICASETS,
    REPLICATIONCONTROLLERS,
    SCHEME,
    SERVICES,
    STATEFULSETS,
    STORAGECLASSES,
    VOLUMEATTACHMENTS,
)

__all__ = ["KINDS", "KeptKind", "kept"]

Shape: TypeAlias = "Mapping[str, Shape | None]"
"""Field -> what of it is kept; None: all of it. A list is kept item by item."""


def _all(*names: str) -> dict[str, Shape | None]:
    return dict.fromkeys(names)


_METADATA: Shape = {
    **_all("name", "namespace", "uid", "labels", "creationTimestamp", "deletionTimestamp", "resourceVersion"),
    **_all("generation"),
    "ownerReferences": _all("apiVersion", "kind", "name", "uid", "controller"),
}
_WITH_VOLUME_NOTES: Shape = {
    **_METADATA,
    "annotations": _all(
        "pv.kubernetes.io/bind-completed",
        "pv.kubernetes.io/bound-by-controller",
        "storage.alpha.kubernetes.io/migrated-plugins",
        "volume.beta.kubernetes.io/storage-class",
        "volume.kubernetes.io/selected-node",
    ),
}
"""What the volume plugins read of annotations."""
_CONTAINER: Shape = {
    **_all("name", "image", "resources", "restartPolicy"),
    "ports": _all("containerPort", "hostIP", "hostPort", "protocol", "name"),
}
_STATUS_OF_CONTAINER = _all("name", "resources", "allocatedResources")
_DISK = {
    "gcePersistentDisk": _all("pdName", "readOnly"),
    "awsElasticBlockStore": _all("volumeID", "readOnly"),
    "azureDisk": _all("diskName", "diskURI"),
    "iscsi": _all("targetPortal", "iqn", "lun", "readOnly"),
    "rbd": _all("monitors", "pool", "image", "readOnly"),
    "cinder": _all("volumeID"),
}
_POD: Shape = {
    "metadata": {**_METADATA, "annotations": _all("kubernetes.io/config.mirror", "kubernetes.io/config.source")},
    "spec": {
        **_all("affinity", "hostNetwork", "nodeName", "nodeSelector", "overhead", "preemptionPolicy", "priority"),
        **_all("priorityClassName", "resourceClaims", "resources", "schedulerName", "schedulingGates"),
        **_all("tolerations", "topologySpreadConstraints", "schedulingGroup", "workloadRef"),
        **_all("restartPolicy", "terminationGracePeriodSeconds"),
        "containers": _CONTAINER,
        "initContainers": _CONTAINER,
        "volumes": {
            "name": None,
            "persistentVolumeClaim": _all("claimName", "readOnly"),
            "ephemeral": {"volumeClaimTemplate": {"spec": _all("accessModes", "resources", "storageClassName")}},
            "csi": _all("driver"),
            "emptyDir": _all("medium", "sizeLimit"),
            **_DISK,
        },
    },
    "status": {
        **_all("phase", "startTime", "nominatedNodeName", "resourceClaimStatuses", "resources", "allocatedResources"),
        **_all("resize"),
        "conditions": _all("type", "status", "reason", "message", "lastTransitionTime"),
        "containerStatuses": _STATUS_OF_CONTAINER,
        "initContainerStatuses": _STATUS_OF_CONTAINER,
    },
}
_NODE: Shape = {
    "metadata": _METADATA,
    "spec": _all("taints", "unschedulable"),
    "status": {
        **_all("allocatable", "capacity", "declaredFeatures"),
        "images": _all("names", "sizeBytes"),
        "nodeInfo": _all("kubeletVersion"),
    },
}
_SELECTING: Shape = {"metadata": _METADATA, "spec": _all("selector")}
_WHOLE_SPEC: Shape = {"metadata": _WITH_VOLUME_NOTES, **_all("spec", "status")}


class KeptKind(NamedTuple):
    """One kind: its resource, and what is kept of its objects."""

    gvr: GVR
    shape: Shape


_SHAPES: Mapping[GVR, Shape] = {
    PODS: _POD,
    NODES: _NODE,
    NAMESPACES: {"metadata": _METADATA},
    SERVICES: _SELECTING,
    REPLICATIONCONTROLLERS: _SELECTING,
    REPLICASETS: _SELECTING,
    STATEFULSETS: _SELECTING,
    PRIORITYCLASSES: {"metadata": _METADATA, **_all("value", "globalDefault", "preemptionPolicy")},
    PODDISRUPTIONBUDGETS: {
        "metadata": _METADATA,
        "spec": _all("selector"),
        "status": _all("disruptionsAllowed", "disruptedPods"),
    },
    PERSISTENTVOLUMES: {
        "metadata": _WITH_VOLUME_NOTES,
        "spec": {
            **_all("accessModes", "capacity", "claimRef", "nodeAffinity", "storageClassName", "volumeMode"),
            "csi": _all("driver", "volumeHandle"),
            **_DISK,
        },
        "status": _all("phase"),
    },
    PERSISTENTVOLUMECLAIMS: _WHOLE_SPEC,
    STORAGECLASSES: {"metadata": _METADATA, **_all("allowedTopologies", "provisioner", "volumeBindingMode")},
    VOLUMEATTACHMENTS: {
        "metadata": _METADATA,
        "spec": {**_all("attacher", "nodeName"), "source": _all("persistentVolumeName")},
    },
    CSINODES: _WHOLE_SPEC,
    CSIDRIVERS: _WHOLE_SPEC,
    CSISTORAGECAPACITIES: {
        "metadata": _METADATA,
        **_all("capacity", "maximumVolumeSize", "nodeTopology", "storageClassName"),
    },
}

KINDS: Mapping[tuple[str, str], KeptKind] = {
    (gvr.group, SCHEME.kind_of(gvr).kind): KeptKind(gvr, shape) for gvr, shape in _SHAPES.items()
}
"""By (group, kind): the kinds that scheduling looks at."""


_SURROGATE = re.compile("[\\ud800-\\udfff]")


def kept(obj: Mapping[str, Any]) -> dict[str, Any] | None:
    """A new object with the fields that are kept; None for a kind that is not. Wrong types are left to be refused."""
    group, _, _ = str(obj.get("apiVersion") or "").rpartition("/")
    row = KINDS.get((group, str(obj.get("kind") or "")))
    if row is None:
        return None
    found: dict[str, Any] = {name: obj[name] for name in ("kind", "apiVersion") if name in obj}
    found.update(_cut(obj, row.shape))
    return found


def _cut(value: Any, shape: Shape | None) -> Any:
    if shape is None:
        return _own(value)
    if isinstance(value, Mapping):
        return {name: _cut(value[name], inner) for name, inner in shape.items() if name in value}
    if isinstance(value, list):
        return [_cut(item, shape) for item in value]
    return value


def _text(value: str) -> str:
    """Half a surrogate pair, which no file and no terminal takes, as Go's decoder reads it."""
    return value if value.isascii() else _SURROGATE.sub("\ufffd", value)


def _own(value: Any) -> Any:
    """A copy whose short texts are shared: 50,000 Pods have few different labels and resources."""
    if isinstance(value, str):
        return sys.intern(_text(value)) if len(value) < 64 else _text(value)
    if isinstance(value, Mapping):
        return {sys.intern(_text(str(name))): _own(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_own(item) for item in value]
    return value
