"""The Pods that manifests come to: Pods as they are, workloads as often as they want replicas, defaulted as the API
server does.

>>> from k8slab.api.manifests import load_manifests
>>> text = "apiVersion: apps/v1\\nkind: Deployment\\nmetadata: {name: web}\\nspec: {replicas: 2, template: {spec: {}}}"
>>> [pod["metadata"]["name"] for pod in pods_of(load_manifests(text)[0])]
['web-1', 'web-2']

Upstream: pkg/controller/controller_utils.go (GetPodFromTemplate)
Simplified: Pods are numbered instead of named at random, and template hashes are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.api.defaults import apply_defaults
from k8slab.api.manifests import Manifest
from k8slab.api.objects import Object
from k8slab.cluster.snapshots.fields import kept
from k8slab.cluster.snapshots.stream import SnapshotError

__all__ = ["ELSEWHERE", "WORKLOADS", "owner_of", "pods_of"]

WORKLOADS = ("Deployment", "ReplicaSet", "ReplicationController", "StatefulSet", "Job")
"""Kinds that come to Pods which the scheduler may put anywhere."""

ELSEWHERE = ("CronJob", "DaemonSet")
"""Kinds whose Pods are made at other times, or for one Node each."""


def pods_of(manifest: Manifest) -> list[Object]:
    """The Pods of a manifest, cut down as those of a snapshot are. SnapshotError: its kind comes to none."""
    obj = apply_defaults(manifest.object)
    kind, metadata = obj["kind"], obj["metadata"]
    where = f"{manifest.source}, line {manifest.line}"
    if kind == "Pod" and not metadata.get("name") and metadata.get("generateName"):
        metadata = {**metadata, "name": f"{metadata['generateName']}{manifest.line}"}  # the line tells Pods apart
    if not metadata.get("name"):
        raise SnapshotError(f"{where}: {kind}: metadata.name: missing, expected a name")
    if kind == "Pod":
        return [_pod({**obj, "metadata": metadata})]
    if kind not in WORKLOADS:
        raise SnapshotError(f"{where}: kind: {kind!r}: expected Pod, {', '.join(WORKLOADS)}")
    template = (obj.get("spec") or {}).get("template") or {}
    first = 0 if kind == "StatefulSet" else 1
    owner = owner_of(obj)
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": metadata["name"], "controller": True}
    made = []
    for number in range(first, first + _replicas(kind, obj["spec"])):
        own = {
            "name": f"{metadata['name']}-{number}",
            "namespace": metadata.get("namespace") or "default",
            "labels": (template.get("metadata") or {}).get("labels") or {},
            "ownerReferences": [reference],
        }
        made.append(_pod({"metadata": own, "spec": template.get("spec") or {}}))
    return made


def owner_of(obj: Object) -> Object:
    """What the Pods of a workload belong to: of a Deployment's a ReplicaSet, which selects the same."""
    if obj["kind"] != "Deployment":
        return obj
    spec = obj.get("spec") or {}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": obj["metadata"],
        "spec": {"selector": spec.get("selector")} if spec.get("selector") else {},
    }


def _replicas(kind: str, spec: Mapping[str, Any]) -> int:
    if kind != "Job":
        return int(spec.get("replicas", 1))
    parallel, completions = int(spec.get("parallelism", 1)), spec.get("completions")
    return parallel if completions is None else min(parallel, int(completions))


def _pod(obj: Mapping[str, Any]) -> Object:
    defaulted = apply_defaults({**obj, "apiVersion": "v1", "kind": "Pod"})
    cut = kept(defaulted)
    assert cut is not None  # Pods are kept
    return {**cut, "spec": cut.get("spec") or {}}
