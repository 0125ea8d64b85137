"""NodePools: what nodes may be made, how many, and when they may go.

>>> from k8slab.autoscaling.karpenter import NodePool
>>> amd64 = {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}
>>> spec = {"template": {"spec": {"requirements": [amd64]}}}
>>> pool = NodePool.parse({"metadata": {"name": "default"}, "spec": spec})
>>> pool.consolidation_policy, pool.consolidate_after_ms, pool.expire_after_ms // 3_600_000, pool.budgets[0].nodes
('WhenEmptyOrUnderutilized', 0, 720, '10%')

Upstream: kubernetes-sigs/karpenter pkg/apis/v1/nodepool.go, nodepool_validation.go, pkg/controllers/provisioning/
scheduling/nodeclaimtemplate.go; website concepts/nodepools.md
Simplified: static NodePools (`replicas`, alpha) and the policy Balanced are refused; NodeClasses are names only; the
hash of the template is our own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from k8slab.api.go_duration import parse_duration_ns
from k8slab.api.labels import go_quote
from k8slab.api.names import is_qualified_name, is_valid_label_value
from k8slab.api.objects import Object
from k8slab.api.quantity import quantity
from k8slab.autoscaling.karpenter.budgets import Budget
from k8slab.autoscaling.karpenter.nodepool_schema import admitted
from k8slab.autoscaling.karpenter.requirements import CAPACITY_TYPE, NODEPOOL, Requirements

__all__ = ["WHEN_EMPTY", "WHEN_EMPTY_OR_UNDERUTILIZED", "NodePool", "amounts", "by_weight"]

WHEN_EMPTY = "WhenEmpty"
WHEN_EMPTY_OR_UNDERUTILIZED = "WhenEmptyOrUnderutilized"
_POLICIES = (WHEN_EMPTY, WHEN_EMPTY_OR_UNDERUTILIZED)
_NODE_CLASS = "karpenter.k8s.aws/ec2nodeclass"
_CAPACITY_TYPES = ("on-demand", "reserved", "spot")
_HASHED = ("metadata", "taints", "startupTaints", "nodeClassRef", "terminationGracePeriod", "expireAfter")


def amounts(raw: Mapping[str, Any], path: str) -> dict[str, int]:
    """Quantities as ints: cpu in milli, all else in units. ValueError names the field."""
    found = {}
    for name, text in raw.items():
        try:
            parsed = quantity(text)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}[{name}]: Invalid value: {text!r}: {error}") from None
        found[name] = parsed.milli_value() if name == "cpu" else parsed.value()
    return found


def _duration_ms(text: str, path: str) -> int | None:
    """None for Never."""
    try:
        return None if text == "Never" else parse_duration_ns(text) // 1_000_000
    except ValueError as error:  # the schema knows no greatest duration, Go's int64 does
        raise ValueError(f"{path}: Invalid value: {text!r}: {error}") from None


def _taints(inner: Mapping[str, Any]) -> tuple[tuple[Object, ...], tuple[Object, ...]]:
    """Taints and start-up taints; of one key and effect there is one in both together (validateTaints)."""
    found: dict[str, tuple[Object, ...]] = {}
    seen: set[tuple[str, str]] = set()
    for field_name in ("taints", "startupTaints"):
        found[field_name] = tuple(inner.get(field_name) or ())
        for taint in found[field_name]:
            pair = (taint["key"], taint["effect"])
            if pair in seen:
                raise ValueError(f"spec.template.spec.{field_name}: duplicate taint Key/Effect pair {'='.join(pair)}")
            seen.add(pair)
    return found["taints"], found["startupTaints"]


@dataclass(frozen=True, slots=True)
class NodePool:
    """A NodePool's manifest, read. Durations in ms, None: never. `limits` in the units of `amounts`, plus `nodes`.

    `requirements` with the labels that every node gets; `static_requirements` as the manifest has them, which a claim
    must still satisfy or it has drifted.
    """

    name: str
    requirements: Requirements
    weight: int = 0
    limits: Mapping[str, int] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Object, ...] = ()
    startup_taints: tuple[Object, ...] = ()
    consolidation_policy: str = WHEN_EMPTY_OR_UNDERUTILIZED
    consolidate_after_ms: int | None = 0
    budgets: tuple[Budget, ...] = (Budget(),)
    expire_after_ms: int | None = None
    termination_grace_period_ms: int | None = None
    hash: str = ""
    static_requirements: Requirements = field(default_factory=Requirements)

    @classmethod
    def parse(cls, manifest: Object) -> NodePool:
        """ValueError that names the field of what the API server would refuse; TypeError: a value of another kind."""
        try:
            read = admitted(manifest)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{_who(manifest)}: {error}") from None
        name = read["metadata"]["name"]
        try:
            return cls._parse(name, read["spec"])
        except (TypeError, ValueError) as error:
            raise type(error)(f"nodepool {name}: {error}") from None

    @classmethod
    def _parse(cls, name: str, spec: Mapping[str, Any]) -> NodePool:
        if "replicas" in spec:
            raise ValueError("spec.replicas: static NodePools are not simulated")
        template = spec["template"]
        inner, metadata = template["spec"], template.get("metadata") or {}
        path = "spec.template.spec"
        labels = metadata.get("labels") or {}
        own = {**labels, NODEPOOL: name}
        if (inner.get("nodeClassRef") or {}).get("name"):
            own[_NODE_CLASS] = inner["nodeClassRef"]["name"]
        asked = Requirements.parse(inner.get("requirements"), f"{path}.requirements")
        _check_names(labels, inner.get("requirements") or ())
        requirements = asked.copy()
        requirements.add_all(Requirements.of_labels(own))
        policy, after_ms, budgets = _disruption(spec["disruption"])
        taints, startup_taints = _taints(inner)
        grace = inner.get("terminationGracePeriod")
        return cls(
            name,
            requirements,
            spec.get("weight", 0),
            amounts(spec.get("limits") or {}, "spec.limits"),
            own,
            dict(metadata.get("annotations") or {}),
            taints,
            startup_taints,
            policy,
            after_ms,
            budgets,
            _duration_ms(inner["expireAfter"], f"{path}.expireAfter"),
            None if grace is None else _duration_ms(grace, f"{path}.terminationGracePeriod"),
            _hash(template),
            asked,
        )


def _who(manifest: Any) -> str:
    metadata = manifest.get("metadata") if isinstance(manifest, Mapping) else None
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return f"nodepool {name}" if isinstance(name, str) and name else "nodepool"


def _check_names(labels: Mapping[str, str], requirements: Iterable[Mapping[str, Any]]) -> None:
    """What the schema lets pass and Karpenter itself refuses: such a NodePool is not ready (RuntimeValidate)."""
    for key in labels:
        for problem in is_qualified_name(key):
            raise ValueError(f'invalid key name {go_quote(key)} in labels, "{problem}"')
    for row in requirements:
        for problem in is_qualified_name(row["key"]):
            raise ValueError(f"key {row['key']} is not a qualified name, {problem}")
        for value in row.get("values") or ():
            for problem in is_valid_label_value(value):
                raise ValueError(f"invalid value {value} for key {row['key']}, {problem}")
        if row["key"] == CAPACITY_TYPE and row["operator"] == "In":
            known = [one for one in row["values"] if one in _CAPACITY_TYPES]
            if len(known) < (row.get("minValues") or 1):
                raise ValueError(
                    f"no valid values found in [{' '.join(row['values'])}] for {CAPACITY_TYPE}, expected one of: "
                    f"[{' '.join(_CAPACITY_TYPES)}]"
                )


def _disruption(raw: Mapping[str, Any]) -> tuple[str, int | None, tuple[Budget, ...]]:
    path, policy = "spec.disruption", raw["consolidationPolicy"]
    if policy not in _POLICIES:
        raise ValueError(f"{path}.consolidationPolicy: {policy} is not simulated, expected {' or '.join(_POLICIES)}")
    budgets = tuple(Budget.parse(one, f"{path}.budgets[{index}]") for index, one in enumerate(raw["budgets"]))
    return policy, _duration_ms(raw["consolidateAfter"], f"{path}.consolidateAfter"), budgets


def _hash(template: Mapping[str, Any]) -> str:
    """Equal for templates that make equal nodes; requirements do not count, they are compared with labels instead."""
    inner = {**template["spec"], "metadata": template.get("metadata") or {}}
    counted = {name: inner[name] for name in _HASHED if inner.get(name)}
    for name in ("taints", "startupTaints"):
        if name in counted:
            counted[name] = sorted(counted[name], key=lambda taint: json.dumps(taint, sort_keys=True))
    text = json.dumps(counted, sort_keys=True, default=str)
    return str(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))


def by_weight(pools: Iterable[NodePool]) -> list[NodePool]:
    """Heaviest first; of equals the name that is later in the alphabet (OrderByWeight)."""
    return sorted(sorted(pools, key=lambda pool: pool.name, reverse=True), key=lambda pool: -pool.weight)
