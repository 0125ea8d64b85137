"""The schema of NodePools: what the API server fills in, and what it refuses before Karpenter sees anything.

>>> from k8slab.autoscaling.karpenter.nodepool_schema import admitted
>>> spec = {"disruption": {"consolidateAfter": None}, "template": {"spec": {"requirements": []}}}
>>> admitted({"metadata": {"name": "default"}, "spec": spec})["spec"]["disruption"]["consolidateAfter"]
'0s'
>>> admitted({"metadata": {"name": "default"}, "spec": {**spec, "weight": 101}})
Traceback (most recent call last):
ValueError: spec.weight: Invalid value: 101: spec.weight in body should be less than or equal to 100

A null counts as a field that is not there, and a field that is not there has its default. Values of another kind than
the schema has are TypeErrors, all else is a ValueError; both name the field.

Upstream: kubernetes-sigs/karpenter pkg/apis/crds/karpenter.sh_nodepools.yaml, with the rules on labels that
aws/karpenter-provider-aws adds to it; apiextensions-apiserver (nulls, defaults, messages)
Simplified: `nodeClassRef` may be left out, and of it the group and the kind; rules about updates (`oldSelf`) are not
asked, since a NodePool is read once. Only the first thing that is wrong is told.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from k8slab.api.labels import go_quote
from k8slab.api.names import is_dns1123_subdomain
from k8slab.api.objects import Object

__all__ = ["admitted"]

_Check = Callable[[Any], str]
"""A rule: what is wrong with the value, "" for nothing."""


@dataclass(frozen=True, slots=True)
class _Schema:
    """One value. `kind`: object, array, string, integer, quantity, any. `fields`: an object's, by name; `rest`: what
    other keys of an object hold (None: there are none). `items`: an array's."""

    kind: str
    fields: Mapping[str, _Schema] = field(default_factory=dict)
    rest: _Schema | None = None
    items: _Schema | None = None
    default: Any = None
    required: tuple[str, ...] = ()
    pattern: str = ""
    enum: tuple[str, ...] = ()
    bounds: tuple[int, int] | None = None
    most: int = 0
    is_set: bool = False
    rules: tuple[_Check, ...] = ()


_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (Mapping,),
    "array": (list, tuple),
    "string": (str,),
    "quantity": (str, int, float),
}
_WORDS = {"object": "a mapping", "array": "a list", "string": "a string", "quantity": "a quantity"}

_KEY = r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"
_SPAN = r"([0-9]+(s|m|h))+"
_NUMBER = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
_QUANTITY = rf"(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?"
_BOUNDS = ("Gt", "Lt", "Gte", "Lte")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", *_BOUNDS)
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OF_KARPENTER = ("karpenter.sh/capacity-type", "karpenter.sh/nodepool")
_INSTANCE = "category family generation size cpu cpu-manufacturer cpu-sustained-clock-speed-mhz memory tenancy"
_MORE_OF_INSTANCES = (
    "ebs-bandwidth network-bandwidth hypervisor local-nvme gpu-name gpu-manufacturer gpu-count gpu-memory "
    "accelerator-name accelerator-manufacturer accelerator-count capability-flex encryption-in-transit-supported"
)
_OTHERS = (
    "capacity-reservation-type capacity-reservation-id capacity-reservation-interruptible ec2nodeclass nitro-sandbox "
    "placement-group-id placement-group-partition"
)
_OF_PROVIDER = frozenset(
    [f"karpenter.k8s.aws/instance-{name}" for name in f"{_INSTANCE} {_MORE_OF_INSTANCES}".split()]
    + [f"karpenter.k8s.aws/{name}" for name in _OTHERS.split()]
)


def _key_is_free(key: str) -> str:
    """The rules on the key of a label. An "ends with" is no border between names: notkarpenter.sh counts, too."""
    domain = key.partition("/")[0]
    if domain.endswith("karpenter.sh") and key not in _OF_KARPENTER:
        return 'label domain "karpenter.sh" is restricted'
    if key in ("karpenter.sh/nodepool", "kubernetes.io/hostname"):
        return f"label {go_quote(key)} is restricted"
    if domain.endswith("karpenter.k8s.aws") and key not in _OF_PROVIDER:
        return 'label domain "karpenter.k8s.aws" is restricted'
    return ""


def _keys_are_free(labels: Mapping[str, Any]) -> str:
    return next(filter(None, map(_key_is_free, labels)), "")


def _in_has_values(rows: Any) -> str:
    wrong = any(row["operator"] == "In" and not row.get("values") for row in rows)
    return "requirements with operator 'In' must have a value defined" if wrong else ""


def _bounds_are_numbers(rows: Any) -> str:
    def is_wrong(row: Any) -> bool:
        values: list[str] = list(row.get("values") or ())
        return row["operator"] in _BOUNDS and not (
            len(values) == 1 and re.fullmatch(r"\+?[0-9]+", values[0], re.ASCII) and int(values[0]) < 1 << 63
        )

    if any(map(is_wrong, rows)):
        return "requirements operator 'Gt', 'Lt', 'Gte', or 'Lte' must have a single positive integer value"
    return ""


def _min_values_can_be(rows: Any) -> str:
    def is_wrong(row: Any) -> bool:
        least = row.get("minValues")
        return row["operator"] == "In" and least is not None and len(row.get("values") or ()) < least

    if any(map(is_wrong, rows)):
        return "requirements with 'minValues' must have at least that many values specified in the 'values' field"
    return ""


def _schedules_have_durations(budgets: Any) -> str:
    wrong = any(("schedule" in one) != ("duration" in one) for one in budgets)
    return "'schedule' must be set with 'duration'" if wrong else ""


_STRING = _Schema("string")
_TAINT = _Schema(
    "object",
    {
        "key": _Schema("string", pattern=_KEY),
        "value": _Schema("string", pattern=_KEY),
        "effect": _Schema("string", enum=_EFFECTS),
        "timeAdded": _STRING,
    },
    required=("effect", "key"),
)
_REQUIREMENT = _Schema(
    "object",
    {
        "key": _Schema("string", pattern=_KEY, most=316, rules=(_key_is_free,)),
        "operator": _Schema("string", enum=_OPERATORS),
        "values": _Schema("array", items=_STRING),  # the pattern stands at the array, where it is of no effect
        "minValues": _Schema("integer", bounds=(1, 50)),
    },
    required=("key", "operator"),
)
_BUDGET = _Schema(
    "object",
    {
        "nodes": _Schema("string", default="10%", pattern=r"((100|[0-9]{1,2})%|[0-9]+)"),
        "reasons": _Schema(
            "array", items=_Schema("string", enum=("Underutilized", "Empty", "Drifted")), most=50, is_set=True
        ),
        "schedule": _STRING,
        "duration": _Schema("string", pattern=r"((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)"),
    },
)
_DISRUPTION = _Schema(
    "object",
    {
        "consolidationPolicy": _Schema(
            "string", default="WhenEmptyOrUnderutilized", enum=("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced")
        ),
        "consolidateAfter": _Schema("string", default="0s", pattern=rf"({_SPAN}|Never)"),
        "budgets": _Schema(
            "array", items=_BUDGET, default=({"nodes": "10%"},), most=50, rules=(_schedules_have_durations,)
        ),
    },
    default={},
)
_NODE_SPEC = _Schema(
    "object",
    {
        "requirements": _Schema(
            "array", items=_REQUIREMENT, most=100, rules=(_in_has_values, _bounds_are_numbers, _min_values_can_be)
        ),
        "taints": _Schema("array", items=_TAINT),
        "startupTaints": _Schema("array", items=_TAINT),
        "expireAfter": _Schema("string", default="720h", pattern=rf"({_SPAN}|Never)"),
        "terminationGracePeriod": _Schema("string", pattern=_SPAN),
        "nodeClassRef": _Schema("object", dict.fromkeys(("group", "kind", "name"), _STRING)),
    },
)
_TEMPLATE = _Schema(
    "object",
    {
        "metadata": _Schema(
            "object",
            {
                "labels": _Schema(
                    "object",
                    rest=_Schema("string", pattern=_LABEL_VALUE, most=63),
                    most=100,
                    rules=(_keys_are_free,),
                ),
                "annotations": _Schema("object", rest=_STRING),
            },
        ),
        "spec": _NODE_SPEC,
    },
    required=("spec",),
)
_SPEC = _Schema(
    "object",
    {
        "disruption": _DISRUPTION,
        "limits": _Schema("object", rest=_Schema("quantity", pattern=_QUANTITY)),
        "replicas": _Schema("integer", bounds=(0, (1 << 63) - 1)),
        "template": _TEMPLATE,
        "weight": _Schema("integer", bounds=(1, 100)),
    },
    required=("template",),
)


def admitted(manifest: Object) -> dict[str, Any]:
    """The NodePool as it would be stored, but for its metadata: without nulls, with defaults. See the module."""
    if not isinstance(manifest, Mapping):
        raise TypeError(f"nodepool: {manifest!r}: expected a mapping")
    metadata = {} if manifest.get("metadata") is None else manifest["metadata"]
    for path, value, kind in (("metadata", metadata, "object"), ("spec", manifest.get("spec") or {}, "object")):
        _check_kind(path, value, _Schema(kind))
    name = metadata.get("name")
    if name is None or name == "":
        raise ValueError("metadata.name: Required value")
    _check_kind("metadata.name", name, _STRING)
    for problem in is_dns1123_subdomain(name):
        raise ValueError(f"metadata.name: Invalid value: {go_quote(name)}: {problem}")
    spec = _filled(manifest.get("spec") or {}, _SPEC, "spec")
    for error in _problems(spec, _SPEC, "spec"):
        raise error
    return {**manifest, "metadata": metadata, "spec": spec}


def _check_kind(path: str, value: Any, schema: _Schema) -> None:
    if schema.kind == "integer":
        if type(value) is not int:
            raise TypeError(f"{path}: {value!r}: expected an integer")
    elif not isinstance(value, _TYPES[schema.kind]) or isinstance(value, bool):
        raise TypeError(f"{path}: {value!r}: expected {_WORDS[schema.kind]}")


def _at(path: str, key: str, schema: _Schema) -> str:
    return f"{path}.{key}" if key in schema.fields else f"{path}[{key}]"


def _filled(value: Any, schema: _Schema, path: str) -> Any:
    """The value without nulls and with defaults; TypeError for another kind, ValueError for a field that there is
    not."""
    _check_kind(path, value, schema)
    if schema.kind == "array" and schema.items is not None:
        return [_filled(one, schema.items, f"{path}[{index}]") for index, one in enumerate(value)]
    if schema.kind != "object":
        return value
    found = {}
    for key, one in value.items():
        inner = schema.fields.get(key) or schema.rest
        if not isinstance(key, str):
            raise TypeError(f"{path}: key {key!r}: expected a string")
        if inner is None:
            raise ValueError(f"unknown field {go_quote(f'{path}.{key}')}: expected one of {', '.join(schema.fields)}")
        if one is not None:
            found[key] = _filled(one, inner, _at(path, key, schema))
    for key, inner in schema.fields.items():
        if key not in found and inner.default is not None:
            found[key] = _filled(inner.default, inner, f"{path}.{key}")
    return found


def _problems(value: Any, schema: _Schema, path: str) -> Iterator[ValueError]:
    """What the schema refuses, outer values before inner ones; rules come last."""
    yield from _own_problems(value, schema, path)
    if schema.kind == "object":
        for key in schema.required:
            if key not in value:
                yield ValueError(f"{path}.{key}: Required value")
        for key, one in value.items():
            yield from _problems(one, schema.fields.get(key) or schema.rest or _STRING, _at(path, key, schema))
    elif schema.items is not None:
        for index, one in enumerate(value):
            yield from _problems(one, schema.items, f"{path}[{index}]")
            if schema.is_set and one in value[:index]:
                yield ValueError(f"{path}[{index}]: Duplicate value: {go_quote(one)}")
    for rule in schema.rules:
        problem = rule(value)
        if problem:
            yield ValueError(f"{path}: Invalid value: {go_quote(schema.kind)}: {problem}")


def _own_problems(value: Any, schema: _Schema, path: str) -> Iterator[ValueError]:
    if schema.most and len(value) > schema.most:
        if schema.kind == "string":
            yield ValueError(f"{path}: Too long: may not be more than {schema.most} bytes")
        else:
            yield ValueError(f"{path}: Too many: {len(value)}: must have at most {schema.most} items")
    if schema.bounds is not None and not schema.bounds[0] <= value <= schema.bounds[1]:
        side, edge = ("greater", schema.bounds[0]) if value < schema.bounds[0] else ("less", schema.bounds[1])
        yield ValueError(f"{path}: Invalid value: {value}: {path} in body should be {side} than or equal to {edge}")
    if schema.enum and value not in schema.enum:
        known = ", ".join(map(go_quote, schema.enum))
        yield ValueError(f"{path}: Unsupported value: {go_quote(value)}: supported values: {known}")
    if schema.pattern and isinstance(value, str) and not re.fullmatch(schema.pattern, value, re.ASCII):
        shown = f"{path} in body should match '^{schema.pattern}$'"
        yield ValueError(f"{path}: Invalid value: {go_quote(value)}: {shown}")
