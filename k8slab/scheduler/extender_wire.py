"""What goes over the wire between a scheduler and its extenders.

The Go types have no JSON tags, so keys are the names of their fields: `Pod`, `Nodes`, `NodeNames`. Go's decoder takes
`nodenames` as well; a decoder in another language that looks for `pod` finds nothing.

>>> encode({"Pod": {"kind": "Pod", "metadata": {"name": "web"}}, "Nodes": None, "NodeNames": ["a"]})
b'{"Pod":{"metadata":{"name":"web"}},"Nodes":null,"NodeNames":["a"]}'
>>> host_priorities(b'[{"host": "a", "score": 7}]')
[('a', 7)]
>>> host_priorities(b'{"hostPriorities": []}')
Traceback (most recent call last):
  ...
k8slab.scheduler.extender_wire.WireError: json: cannot unmarshal object into Go value of type v1.HostPriorityList

Upstream: staging/src/k8s.io/kube-scheduler/extender/v1/types.go, encoding/json
Simplified: a number of more digits than Python reads (4,300) is refused without the name of its field, and `1e3` where
an integer belongs is told as 1000.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from k8slab.api.go_json import JSONError, go_json, json_kind, parse
from k8slab.api.objects import Object

__all__ = [
    "MAX_EXTENDER_PRIORITY",
    "MIN_EXTENDER_PRIORITY",
    "FilterResult",
    "MetaVictims",
    "WireError",
    "as_struct",
    "binding_error",
    "encode",
    "filter_result",
    "host_priorities",
    "node_list",
    "preemption_result",
    "read_json",
]

MIN_EXTENDER_PRIORITY = 0
MAX_EXTENDER_PRIORITY = 10
"""The scores an extender gives are from 0 to 10. Nobody checks."""


class WireError(ValueError):
    """A body that does not say what it should, in the words of Go's decoder."""


class MetaVictims(NamedTuple):
    """Whom an extender would evict from a Node: uids, and how many of them break a disruption budget."""

    uids: tuple[str, ...]
    num_pdb_violations: int = 0


class FilterResult(NamedTuple):
    """An ExtenderFilterResult. `nodes`: names of the Nodes in its list; None: there is no list. So for `node_names`."""

    nodes: tuple[str, ...] | None
    node_names: tuple[str, ...] | None
    failed: Mapping[str, str]
    failed_and_unresolvable: Mapping[str, str]
    error: str


# -- writing -------------------------------------------------------------------------------------------


def encode(value: Mapping[str, Any] | Sequence[Any]) -> bytes:
    """Compact JSON as Go writes it: objects of the API without apiVersion and kind, which its typed clients drop."""
    return go_json(_typeless(value)).encode()


def _typeless(value: Any) -> Any:
    if isinstance(value, Mapping):
        obj = without_type(value) if "metadata" in value else value
        return {key: _typeless(item) for key, item in obj.items()}
    if isinstance(value, list | tuple):
        return [_typeless(item) for item in value]
    return value


def without_type(obj: Object) -> Object:
    """The object without apiVersion and kind."""
    return {key: value for key, value in obj.items() if key not in ("apiVersion", "kind")}


def node_list(nodes: Sequence[Object]) -> dict[str, Any]:
    """A NodeList."""
    return {"metadata": {}, "items": list(nodes)}


# -- reading -------------------------------------------------------------------------------------------


def read_json(body: bytes) -> Any:
    """The value in a body; WireError with the words of Go's decoder of streams."""
    if not body.strip():
        raise WireError("EOF")
    try:
        value, _ = parse(body)
    except JSONError as error:
        text = str(error)
        raise WireError("unexpected EOF" if text == "unexpected end of JSON input" else text) from None
    return value


def as_struct(value: Any, go_type: str) -> dict[str, Any]:
    """An object with its keys in lower case, as Go matches them; null is an empty one. WireError for anything else."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise WireError(_cannot(value, f"value of type {go_type}"))
    return {key.lower(): item for key, item in value.items()}


def _cannot(value: Any, what: str, number: float | None = None) -> str:
    """Go shows a `number` that is not one of the type; other values by their kind alone."""
    shown = "" if number is None else f" {number}"
    return f"json: cannot unmarshal {json_kind(value)}{shown} into Go {what}"


def _field(
    struct: Mapping[str, Any], name: str, owner: str, go_type: str, fits: Callable[[Any], bool], zero: Any
) -> Any:
    value = struct.get(name.lower())
    if value is None:
        return zero
    if not fits(value):
        number = (
            value if go_type == "int64" and isinstance(value, int | float) and not isinstance(value, bool) else None
        )
        raise WireError(_cannot(value, f"struct field {owner}.{name} of type {go_type}", number))
    return value


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_int64(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63


def _texts(value: Any, where: str) -> tuple[str, ...]:
    for item in value:
        if not isinstance(item, str):
            raise WireError(_cannot(item, f"struct field {where} of type string"))
    return tuple(value)


def filter_result(body: bytes) -> FilterResult:
    """From the answer to a filter call."""
    owner = "ExtenderFilterResult"
    struct = as_struct(read_json(body), f"v1.{owner}")
    nodes = _field(struct, "Nodes", owner, "v1.NodeList", lambda value: isinstance(value, Mapping), None)
    names = _field(struct, "NodeNames", owner, "[]string", lambda value: isinstance(value, list), None)
    return FilterResult(
        None if nodes is None else _node_names(nodes),
        None if names is None else _texts(names, f"{owner}.NodeNames"),
        _messages(struct, "FailedNodes"),
        _messages(struct, "FailedAndUnresolvableNodes"),
        _field(struct, "Error", owner, "string", _is_text, ""),
    )


def _node_names(nodes: Any) -> tuple[str, ...]:
    items = as_struct(nodes, "v1.NodeList").get("items")
    if items is None:
        return ()
    if not isinstance(items, list):
        raise WireError(_cannot(items, "struct field NodeList.items of type []v1.Node"))
    metadata = [as_struct(as_struct(item, "v1.Node").get("metadata"), "v1.ObjectMeta") for item in items]
    return tuple(_field(found, "name", "ObjectMeta", "string", _is_text, "") for found in metadata)


def _messages(struct: Mapping[str, Any], name: str) -> Mapping[str, str]:
    owner = "ExtenderFilterResult"
    found = _field(struct, name, owner, "v1.FailedNodesMap", lambda value: isinstance(value, Mapping), {})
    _texts(found.values(), f"{owner}.{name}")
    return dict(found)


def host_priorities(body: bytes) -> list[tuple[str, int]]:
    """(Node, score) from the answer to a prioritize call: a bare list of {Host, Score}."""
    value = read_json(body)
    if value is None:
        return []
    if not isinstance(value, list):
        raise WireError(_cannot(value, "value of type v1.HostPriorityList"))
    found = []
    for item in value:
        entry, owner = as_struct(item, "v1.HostPriority"), "HostPriority"
        host = _field(entry, "Host", owner, "string", _is_text, "")
        found.append((host, _field(entry, "Score", owner, "int64", _is_int64, 0)))
    return found


def binding_error(body: bytes) -> str:
    """The error in the answer to a bind call, "" for none."""
    owner = "ExtenderBindingResult"
    error: str = _field(as_struct(read_json(body), f"v1.{owner}"), "Error", owner, "string", _is_text, "")
    return error


def preemption_result(body: bytes) -> dict[str, MetaVictims | None]:
    """Node -> victims from the answer to a preempt call; None where it says null."""
    owner = "ExtenderPreemptionResult"
    struct = as_struct(read_json(body), f"v1.{owner}")
    by_node = _field(struct, "NodeNameToMetaVictims", owner, "map[string]*v1.MetaVictims", _is_mapping, {})
    return {node: None if value is None else _meta_victims(value) for node, value in by_node.items()}


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _meta_victims(value: Any) -> MetaVictims:
    struct, owner = as_struct(value, "v1.MetaVictims"), "MetaVictims"
    pods = _field(struct, "Pods", owner, "[]*v1.MetaPod", lambda given: isinstance(given, list), [])
    uids = [_field(as_struct(pod, "v1.MetaPod"), "UID", "MetaPod", "string", _is_text, "") for pod in pods]
    return MetaVictims(tuple(uids), _field(struct, "NumPDBViolations", owner, "int64", _is_int64, 0))
