"""Defaults of volumes, claims and storage classes.

Upstream: pkg/apis/core/v1/defaults.go, pkg/apis/storage/v1/defaults.go
"""

from __future__ import annotations

from typing import Any

from k8slab.api.defaults.pod import round_up_resources, set_claim_spec_defaults

__all__ = [
    "set_csi_driver_defaults",
    "set_persistent_volume_claim_defaults",
    "set_persistent_volume_defaults",
    "set_storage_class_defaults",
]


def set_persistent_volume_defaults(volume: dict[str, Any]) -> None:
    volume["status"].setdefault("phase", "Pending")
    spec = volume["spec"]
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    if "hostPath" in spec:
        spec["hostPath"].setdefault("type", "")
    round_up_resources(spec.get("capacity"))


def set_persistent_volume_claim_defaults(claim: dict[str, Any]) -> None:
    claim["status"].setdefault("phase", "Pending")
    set_claim_spec_defaults(claim["spec"])
    round_up_resources(claim["status"].get("capacity"))


def set_storage_class_defaults(storage_class: dict[str, Any]) -> None:
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


def set_csi_driver_defaults(driver: dict[str, Any]) -> None:
    spec = driver["spec"]
    for name, value in (
        ("attachRequired", True),
        ("podInfoOnMount", False),
        ("storageCapacity", False),
        ("fsGroupPolicy", "ReadWriteOnceWithFSType"),
        ("volumeLifecycleModes", ["Persistent"]),
        ("requiresRepublish", False),
        ("seLinuxMount", False),
    ):
        spec.setdefault(name, value)
