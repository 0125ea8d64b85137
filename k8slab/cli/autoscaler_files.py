"""What `k8slab simulate autoscaler` reads: node groups and their cloud, NodePools, changes of scale.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from k8slab.cli.run import duration_ms

if TYPE_CHECKING:
    from k8slab.api.manifests import Manifest
    from k8slab.api.objects import Object
    from k8slab.autoscaling.cloud import Pool
    from k8slab.autoscaling.cluster_autoscaler import NodeGroupConfig
    from k8slab.cluster.node_autoscaling import ClusterAutoscalerConfig

__all__ = ["Change", "as_stored", "change", "node_groups", "node_pools", "read_limits"]

_GROUP = {
    "id": str,
    "instanceType": str,
    "min": int,
    "max": int,
    "size": int,
    "zones": list,
    "capacityType": str,
    "labels": dict,
    "taints": list,
    "options": dict,
}
_FILE = {"groups": list, "options": dict, "quotas": dict, "capacity": dict}
_KINDS = {str: "a text", int: "a number", list: "a list", dict: "a map"}


class Change(NamedTuple):
    """At a moment, so many replicas of `deploy/web`."""

    at_ms: int
    reference: str
    replicas: int


def change(text: str) -> Change:
    """An argument such as `10m:deploy/web=2`."""
    when, _, rest = text.partition(":")
    reference, _, replicas = rest.rpartition("=")
    if not reference or "/" not in reference or not replicas.isdecimal() or len(replicas) > 5:
        raise argparse.ArgumentTypeError(f"{text!r}: expected WHEN:KIND/NAME=REPLICAS, such as 10m:deploy/web=2")
    return Change(duration_ms(when), reference, int(replicas))


def _read(path: str) -> Any:
    from k8slab.api.yaml_json import YAMLError, parse_documents

    found = []
    for document in parse_documents(Path(path).read_bytes()):
        if isinstance(document, YAMLError):
            raise ValueError(f"{path}, line {document.line}: {document}")
        found.append(document.value)
    if len(found) != 1:
        raise ValueError(f"{path}: {len(found)} documents, expected one")
    return found[0]


def _checked(where: str, given: Any, known: Mapping[str, type]) -> dict[str, Any]:
    """A map with these fields, each of its kind. ValueError names the first that is not."""
    if not isinstance(given, dict):
        raise ValueError(f"{where}: expected a map with {', '.join(known)}")
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"{where}: {name!r}: expected one of {', '.join(known)}")
        wanted = known[name]
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise ValueError(f"{where}: {name}: {value!r}: expected {_KINDS[wanted]}")
    return given


def node_groups(path: str) -> ClusterAutoscalerConfig:
    """The file of `--groups`. ValueError names the file, the group and the field."""
    from k8slab.autoscaling.cluster_autoscaler import AutoscalingOptions
    from k8slab.cluster.node_autoscaling import CloudConfig, ClusterAutoscalerConfig

    found = _checked(path, _read(path), _FILE)
    listed = found.get("groups") or []
    if not listed:
        raise ValueError(f"{path}: groups: none, expected at least one")
    groups = [_group(f"{path}: groups[{index}]", one) for index, one in enumerate(listed)]
    try:
        options = AutoscalingOptions.from_flags(found.get("options") or {})
    except ValueError as error:
        raise ValueError(f"{path}: options: {error}") from None
    quotas, capacity = read_limits(path, found.get("quotas") or {}, found.get("capacity") or {})
    return ClusterAutoscalerConfig(groups, options, CloudConfig(quotas=quotas, capacity=capacity))


def _group(where: str, given: Any) -> NodeGroupConfig:
    from k8slab.autoscaling.cluster_autoscaler import AutoscalingOptions, NodeGroupConfig

    fields = _checked(where, given, _GROUP)
    for name in ("id", "instanceType"):
        if name not in fields:
            raise ValueError(f"{where}: {name}: missing, expected a text")
    try:
        flags = fields.get("options") or {}
        changed = AutoscalingOptions.from_flags(flags)
        own = {name: getattr(changed, name) for flag in flags for name in _fields_of(flag)}
        return NodeGroupConfig(
            fields["id"],
            fields["instanceType"],
            min_size=fields.get("min", 0),
            max_size=fields.get("max", 10),
            size=fields.get("size"),
            zones=tuple(fields.get("zones") or ()),
            capacity_type=fields.get("capacityType", "on-demand"),
            labels=fields.get("labels") or {},
            taints=tuple(fields.get("taints") or ()),
            options=own,
        )
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _fields_of(flag: str) -> list[str]:
    """The field of `AutoscalingOptions` that a flag sets."""
    from dataclasses import fields

    from k8slab.autoscaling.cluster_autoscaler import AutoscalingOptions

    name = flag.removeprefix("--").replace("-", "_")
    return [field.name for field in fields(AutoscalingOptions) if field.name in (name, f"{name}_ms")]


def read_limits(
    path: str, quotas: Mapping[str, Any], capacity: Mapping[str, Any]
) -> tuple[dict[str, int], dict[Pool, int]]:
    """What the cloud has: CPUs by quota, machines by pool (`m5.large/region-1a/spot`). ValueError names the entry."""
    from k8slab.autoscaling.cloud import Pool

    for name, value in [*quotas.items(), *capacity.items()]:
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise ValueError(f"{path}: {name}: {value!r}: expected a number of 0 or more")
    pools = {}
    for text, number in capacity.items():
        parts = str(text).split("/")
        if len(parts) != 3:
            raise ValueError(f"{path}: capacity: {text!r}: expected TYPE/ZONE/on-demand or TYPE/ZONE/spot")
        pools[Pool(*parts)] = number
    return dict(quotas), pools


def as_stored(manifest: Manifest) -> Object:
    """A workload as the API server would store it, with its defaults. ValueError with what that server would say."""
    from k8slab.api.conversion import to_storage_version
    from k8slab.api.defaults import apply_defaults
    from k8slab.api.objects import thaw
    from k8slab.api.validation import validate_create

    obj = apply_defaults(to_storage_version(thaw(manifest.object)))
    obj["metadata"].setdefault("namespace", "default")
    causes = validate_create(obj)
    if causes:
        said = "; ".join(f"{cause.field}: {cause.message}" for cause in causes)
        name = f"{obj['kind']} {obj['metadata'].get('name', '')}"
        raise ValueError(f"{manifest.source}, line {manifest.line}: {name}: {said}")
    return obj


def node_pools(path: str) -> list[Object]:
    """The NodePools of a file. ValueError when there is none, or one that cannot be used."""
    from k8slab.api.manifests import load_manifests
    from k8slab.autoscaling.karpenter import NodePool

    pools: list[Object] = []
    for manifest in load_manifests(Path(path).read_bytes(), source=path):
        if manifest.object.get("kind") == "NodePool":
            try:
                read = NodePool.parse(manifest.object)
            except (TypeError, ValueError) as error:
                raise ValueError(f"{path}, line {manifest.line}: {error}") from None
            if any(read.name == one["metadata"]["name"] for one in pools):
                raise ValueError(f"{path}, line {manifest.line}: nodepool {read.name}: is there twice")
            pools.append(manifest.object)
    if not pools:
        raise ValueError(f"{path}: no NodePool in there, expected at least one")
    return pools
