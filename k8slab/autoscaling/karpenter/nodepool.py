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
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from k8slab.api.go_duration import parse_duration_ns
from k8slab.api.objects import Object
from k8slab.api.quantity import quantity
from k8slab.api.tolerations import TAINT_EFFECTS
from k8slab.autoscaling.karpenter.budgets import Budget
from k8slab.autoscaling.karpenter.requirements import HOSTNAME, NODEPOOL, WELL_KNOWN_LABELS, Requirements

__all__ = ["WHEN_EMPTY", "WHEN_EMPTY_OR_UNDERUTILIZED", "NodePool", "amounts", "by_weight"]

WHEN_EMPTY = "WhenEmpty"
WHEN_EMPTY_OR_UNDERUTILIZED = "WhenEmptyOrUnderutilized"
_POLICIES = (WHEN_EMPTY, WHEN_EMPTY_OR_UNDERUTILIZED)
_LIFETIME = re.compile(r"([0-9]+(s|m|h))+|Never", re.ASCII)
_DEFAULT_EXPIRY = "720h"
_NODE_CLASS = "karpenter.k8s.aws/ec2nodeclass"
_MOST_BUDGETS = 50
_RESTRICTED_DOMAINS = ("karpenter.k8s.aws", "karpenter.sh")
_SHAPES: tuple[tuple[str, type], ...] = (
    ("metadata", dict),
    ("metadata.name", str),
    ("spec", dict),
    ("spec.limits", dict),
    ("spec.disruption", dict),
    ("spec.disruption.budgets", list),
    ("spec.template", dict),
    ("spec.template.metadata", dict),
    ("spec.template.metadata.labels", dict),
    ("spec.template.metadata.annotations", dict),
    ("spec.template.spec", dict),
    ("spec.template.spec.nodeClassRef", dict),
    ("spec.template.spec.nodeClassRef.name", str),
    ("spec.template.spec.requirements", list),
    ("spec.template.spec.taints", list),
    ("spec.template.spec.startupTaints", list),
)
"""What kind of value each field has, outer fields before inner ones."""
_KINDS: Mapping[type, str] = {dict: "a mapping", list: "a list", str: "a string"}
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


def _check_shapes(manifest: Object) -> None:
    """TypeError that names the first field of another kind than the schema says."""
    for path, kind in _SHAPES:
        value: Any = manifest
        for name in path.split("."):
            value = value.get(name) if isinstance(value, Mapping) else None
        is_right = isinstance(value, Mapping if kind is dict else (list, tuple) if kind is list else str)
        if value is not None and not is_right:
            raise TypeError(f"{path}: {value!r}: expected {_KINDS[kind]}")
    metadata = ((manifest.get("spec") or {}).get("template") or {}).get("metadata") or {}
    for field_name in ("labels", "annotations"):
        for key, text in (metadata.get(field_name) or {}).items():
            if not isinstance(text, str):
                raise TypeError(f"spec.template.metadata.{field_name}[{key}]: {text!r}: expected a string")


def _duration_ms(text: Any, path: str) -> int | None:
    """None for Never."""
    if not isinstance(text, str) or not _LIFETIME.fullmatch(text):
        raise ValueError(f"{path}: Invalid value: {text!r}: expected a duration such as 30m, or Never")
    return None if text == "Never" else parse_duration_ns(text) // 1_000_000


def _taints(raw: Iterable[Mapping[str, Any]], path: str) -> tuple[Object, ...]:
    found = []
    for index, taint in enumerate(raw):
        if not isinstance(taint, Mapping) or not taint.get("key") or taint.get("effect") not in TAINT_EFFECTS:
            raise ValueError(f"{path}[{index}]: {taint!r}: expected key and one effect of {', '.join(TAINT_EFFECTS)}")
        if not isinstance(taint["key"], str) or not isinstance(taint.get("value") or "", str):
            raise TypeError(f"{path}[{index}]: {taint!r}: expected strings for key and value")
        found.append(dict(taint))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class NodePool:
    """A NodePool's manifest, read. Durations in ms, None: never. `limits` in the units of `amounts`, plus `nodes`."""

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

    @classmethod
    def parse(cls, manifest: Object) -> NodePool:
        """ValueError that names the field of what the API server would refuse; TypeError: a value of another kind."""
        try:
            _check_shapes(manifest)
        except TypeError as error:
            raise TypeError(f"nodepool: {error}") from None
        name = (manifest.get("metadata") or {}).get("name") or ""
        if not name:
            raise ValueError("nodepool: metadata.name: Required value")
        try:
            return cls._parse(name, manifest.get("spec") or {})
        except (TypeError, ValueError) as error:
            raise type(error)(f"nodepool {name}: {error}") from None

    @classmethod
    def _parse(cls, name: str, spec: Mapping[str, Any]) -> NodePool:
        if spec.get("replicas") is not None:
            raise ValueError("spec.replicas: static NodePools are not simulated")
        template = spec.get("template")
        if not isinstance(template, Mapping) or not isinstance(template.get("spec"), Mapping):
            raise ValueError("spec.template.spec: Required value")
        inner, metadata = template["spec"], template.get("metadata") or {}
        weight = spec.get("weight", 0)
        if type(weight) is not int or not (1 <= weight <= 100 or "weight" not in spec):
            raise ValueError(f"spec.weight: Invalid value: {weight!r}: expected a number from 1 to 100")
        path = "spec.template.spec"
        own = {**(metadata.get("labels") or {}), NODEPOOL: name}
        if (inner.get("nodeClassRef") or {}).get("name"):
            own[_NODE_CLASS] = inner["nodeClassRef"]["name"]
        requirements = Requirements.parse(inner.get("requirements"), f"{path}.requirements")
        _check_keys((*(one.key for one in requirements), *(metadata.get("labels") or ())))
        requirements.add_all(Requirements.of_labels(own))
        policy, after_ms, budgets = _disruption(spec.get("disruption") or {})
        grace = inner.get("terminationGracePeriod")
        return cls(
            name,
            requirements,
            weight,
            amounts(spec.get("limits") or {}, "spec.limits"),
            own,
            dict(metadata.get("annotations") or {}),
            _taints(inner.get("taints") or (), f"{path}.taints"),
            _taints(inner.get("startupTaints") or (), f"{path}.startupTaints"),
            policy,
            after_ms,
            budgets,
            _duration_ms(inner.get("expireAfter", _DEFAULT_EXPIRY), f"{path}.expireAfter"),
            None if grace is None else _duration_ms(grace, f"{path}.terminationGracePeriod"),
            _hash(template),
        )

    @property
    def static_requirements(self) -> Requirements:
        """`requirements` as a claim must still satisfy them: those that are in the manifest, not the labels."""
        return Requirements(one for one in self.requirements if one.key not in self.labels)


def _check_keys(keys: Iterable[str]) -> None:
    """Some domains belong to Karpenter and its provider, and hostnames are the nodes' own (IsRestrictedLabel)."""
    for key in keys:
        domain = key.partition("/")[0] if "/" in key else ""
        reserved = key == HOSTNAME or any(f".{domain}".endswith(f".{one}") for one in _RESTRICTED_DOMAINS)
        if (reserved and key not in WELL_KNOWN_LABELS) or key == NODEPOOL:
            raise ValueError(
                f"using label {key} is not allowed as it might interfere with the internal provisioning logic; specify "
                f"a well known label: [{' '.join(sorted(WELL_KNOWN_LABELS))}], or a custom label that does not use a "
                f"restricted domain: [{' '.join(_RESTRICTED_DOMAINS)}]"
            )


def _disruption(raw: Mapping[str, Any]) -> tuple[str, int | None, tuple[Budget, ...]]:
    policy = raw.get("consolidationPolicy", WHEN_EMPTY_OR_UNDERUTILIZED)
    if policy not in _POLICIES:
        raise ValueError(
            f"spec.disruption.consolidationPolicy: Unsupported value: {policy!r}: "
            f"expected one of {', '.join(_POLICIES)}"
        )
    after_ms = _duration_ms(raw.get("consolidateAfter", "0s"), "spec.disruption.consolidateAfter")
    budgets: Sequence[Mapping[str, Any]] = raw.get("budgets", [{}])
    if len(budgets) > _MOST_BUDGETS:
        raise ValueError(f"spec.disruption.budgets: Too many: {len(budgets)}: must have at most {_MOST_BUDGETS} items")
    path = "spec.disruption.budgets"
    return policy, after_ms, tuple(Budget.parse(one, f"{path}[{index}]") for index, one in enumerate(budgets))


def _hash(template: Mapping[str, Any]) -> str:
    """Equal for templates that make equal nodes; requirements do not count, they are compared with labels instead."""
    inner = {**template["spec"], "metadata": template.get("metadata") or {}}
    inner.setdefault("expireAfter", _DEFAULT_EXPIRY)
    counted = {name: inner[name] for name in _HASHED if inner.get(name)}
    for name in ("taints", "startupTaints"):
        if name in counted:
            counted[name] = sorted(counted[name], key=lambda taint: json.dumps(taint, sort_keys=True))
    text = json.dumps(counted, sort_keys=True, default=str)
    return str(int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))


def by_weight(pools: Iterable[NodePool]) -> list[NodePool]:
    """Heaviest first; of equals the name that is later in the alphabet (OrderByWeight)."""
    return sorted(sorted(pools, key=lambda pool: pool.name, reverse=True), key=lambda pool: -pool.weight)
