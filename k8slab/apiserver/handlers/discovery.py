"""Discovery documents: `/api`, `/apis`, their groups and versions, and `/version`.

Upstream: apiserver/pkg/endpoints/discovery/{root,group,version,legacy}.go, component-base/version
Simplified: no aggregated discovery.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from k8slab.api.scheme import ResourceInfo, Scheme

__all__ = ["VERSION", "discovery"]

VERSION: dict[str, str] = {
    "major": "1",
    "minor": "36",
    "emulationMajor": "1",
    "emulationMinor": "36",
    "minCompatibilityMajor": "1",
    "minCompatibilityMinor": "35",
    "gitVersion": "v1.36.2",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "",
    "compiler": "gc",
    "platform": "linux/amd64",
}

_STORED_AS_BETA = ("CustomResourceDefinition", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
"""Kinds that upstream still stores as v1beta1; here they are stored as v1, and only the hash says otherwise."""

_ADDRESS = [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"}]


def discovery(path: str, scheme: Scheme) -> dict[str, Any] | None:
    """The document under a path, None when there is none."""
    parts = [part for part in path.split("/") if part]
    if parts == ["version"]:
        return dict(VERSION)
    if not parts:
        return {"paths": _paths(scheme)}
    if parts == ["api"]:
        return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": _ADDRESS}
    if parts == ["apis"]:
        groups = [_group(scheme, name) for name in _groups(scheme)]
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
    if len(parts) == 2 and parts[0] == "api" and parts[1] in scheme.versions(""):
        return _resources(scheme, "", parts[1])
    if len(parts) == 2 and parts[0] == "apis" and scheme.versions(parts[1]):
        return {"kind": "APIGroup", "apiVersion": "v1", **_group(scheme, parts[1])}
    if len(parts) == 3 and parts[0] == "apis" and parts[2] in scheme.versions(parts[1]):
        return _resources(scheme, parts[1], parts[2])
    return None


def _paths(scheme: Scheme) -> list[str]:
    """What `/` lists: every path of the tree that is served."""
    found = {"/api", "/api/v1", "/apis", "/apis/", "/healthz", "/livez", "/readyz", "/version"}
    for group in _groups(scheme):
        found.add(f"/apis/{group}")
        found.update(f"/apis/{group}/{version}" for version in scheme.versions(group))
    return sorted(found)


def _groups(scheme: Scheme) -> list[str]:
    return list(dict.fromkeys(info.gvr.group for info in scheme if info.gvr.group))


def _group(scheme: Scheme, name: str) -> dict[str, Any]:
    versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in scheme.versions(name)]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _resources(scheme: Scheme, group: str, version: str) -> dict[str, Any]:
    rows = []
    for info in sorted(scheme, key=lambda info: info.gvr.resource):
        if (info.gvr.group, info.gvr.version) == (group, version):
            rows.append(_row(scheme, info))
            rows.extend(_subresource_rows(info))
    document: dict[str, Any] = {"kind": "APIResourceList"}
    if group:
        document["apiVersion"] = "v1"
    return {**document, "groupVersion": f"{group}/{version}" if group else version, "resources": rows}


def _row(scheme: Scheme, info: ResourceInfo) -> dict[str, Any]:
    row: dict[str, Any] = {
        "name": info.gvr.resource,
        "singularName": info.singular,
        "namespaced": info.namespaced,
        "kind": info.gvk.kind,
        "verbs": sorted(info.verbs),
    }
    if info.short_names:
        row["shortNames"] = list(info.short_names)
    if info.categories:
        row["categories"] = list(info.categories)
    if "watch" in info.verbs:
        stored = scheme.storage_gvk(info.gvk)
        version = "v1beta1" if stored.kind in _STORED_AS_BETA else stored.version
        row["storageVersionHash"] = _storage_hash(f"{stored.group}/{version}/{stored.kind}")
    return row


def _storage_hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()[:8]).decode()


def _subresource_rows(info: ResourceInfo) -> list[dict[str, Any]]:
    rows = []
    for name, subresource in sorted(info.subresources.items()):
        row: dict[str, Any] = {
            "name": f"{info.gvr.resource}/{name}",
            "singularName": "",
            "namespaced": info.namespaced,
        }
        if subresource.gvk[:2] != info.gvk[:2]:
            row |= {"group": subresource.gvk.group, "version": subresource.gvk.version}
        rows.append({**row, "kind": subresource.gvk.kind, "verbs": sorted(subresource.verbs)})
    return rows
