"""Bodies to objects and objects to bodies.

Upstream: apiserver/pkg/endpoints/handlers/{create,update,rest,response}.go, apimachinery/pkg/runtime/serializer
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from k8slab.api.decoding import DecodeError, decode, strict_error, unknown_field
from k8slab.api.errors import BadRequestError, StatusError
from k8slab.api.go_json import JSONError, json_kind, parse
from k8slab.api.objects import Object, thaw
from k8slab.api.plain import UnfitError, path_text, plain_copy
from k8slab.api.scheme import GVK, Scheme, gvk_of
from k8slab.apiserver.handlers.negotiation import JSON, YAML

__all__ = [
    "Body",
    "decode_body",
    "encode_body",
    "error_body",
    "not_registered",
    "parse_body",
    "strict_problems",
    "unknown_conversion",
]

_REGISTERED_IN = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"
_TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'


class Body(NamedTuple):
    """A decoded body. `warnings`: what the strict decoder found, when the client asked only to be warned."""

    object: dict[str, Any]
    warnings: tuple[str, ...]


def parse_body(data: bytes, media_type: str) -> tuple[Any, list[str]]:
    """(value, strict problems) of JSON or YAML text. Raises JSONError."""
    if media_type == YAML:
        return _parse_yaml(data)
    value, duplicates = parse(data)
    return value, [f'duplicate field "{path}"' for path in duplicates]


def _parse_yaml(data: bytes) -> tuple[Any, list[str]]:
    import yaml

    found: list[str] = []
    try:
        _yaml_duplicates(yaml.compose(data, Loader=yaml.SafeLoader), found)
        value = json.loads(json.dumps(yaml.safe_load(data), default=str))
        plain_copy(value)
    except yaml.YAMLError as error:
        raise JSONError(f"yaml: {error}") from None
    except RecursionError:
        raise JSONError("yaml: exceeded max depth") from None
    except UnfitError as error:
        raise JSONError(f"{path_text(error.steps)}: {error.reason}") from None
    except ValueError as error:  # a date that there is not
        raise JSONError(f"yaml: {error}") from None
    if found:
        found[0] = "yaml: unmarshal errors:\n  " + found[0]
    return value, found


def _yaml_duplicates(node: Any, found: list[str]) -> None:
    from yaml import MappingNode, SequenceNode

    if isinstance(node, MappingNode):
        seen: dict[str, None] = {}
        for key, value in node.value:
            if key.value in seen:
                found.append(f'line {key.start_mark.line + 1}: key "{key.value}" already set in map')
            seen[key.value] = None
            _yaml_duplicates(value, found)
    elif isinstance(node, SequenceNode):
        for item in node.value:
            _yaml_duplicates(item, found)


def decode_body(data: bytes, media_type: str, expected: GVK, scheme: Scheme, directive: str) -> Body:
    """The object in a request's body, of the kind the resource holds. Raises BadRequestError.

    `directive`: the query parameter fieldValidation (Strict, Warn or Ignore; empty is Warn).
    """
    try:
        value, problems = parse_body(data, media_type)
    except JSONError as error:
        raise _unrecognized(expected, data, f"couldn't get version/kind; json parse error: {error}") from None
    obj = _with_kind(value, expected, data)
    _check_kind(gvk_of(obj), expected, scheme)
    prefix = f'{expected.kind} in version "{expected.version}" cannot be handled as a {expected.kind}: '
    try:
        decoded = decode(obj, expected)
    except DecodeError as error:
        raise BadRequestError(prefix + str(error)) from None
    problems += map(unknown_field, decoded.unknown)
    if problems and directive == "Strict":
        raise BadRequestError(prefix + strict_error(problems))
    return Body(obj, () if directive == "Ignore" else strict_problems(problems))


def strict_problems(problems: list[str]) -> tuple[str, ...]:
    """Problems as warnings: one each, without the heading of YAML's."""
    return tuple(text.removeprefix("yaml: unmarshal errors:\n  ") for text in problems)


def _with_kind(value: Any, expected: GVK, data: bytes) -> dict[str, Any]:
    if not isinstance(value, dict):
        reason = f"json: cannot unmarshal {json_kind(value)} into Go value of type {_TYPE_META}"
        raise _unrecognized(expected, data, f"couldn't get version/kind; json parse error: {reason}")
    for field in ("apiVersion", "kind"):
        given = value.get(field)
        if given is not None and not isinstance(given, str):
            reason = f"json: cannot unmarshal {json_kind(given)} into Go struct field .{field} of type string"
            raise _unrecognized(expected, data, f"couldn't get version/kind; json parse error: {reason}")
    own = {"apiVersion": value.get("apiVersion") or expected.api_version, "kind": value.get("kind") or expected.kind}
    return {**value, **own}


def _check_kind(given: GVK, expected: GVK, scheme: Scheme) -> None:
    if given == expected:
        return
    as_other = f'{given.kind} in version "{given.version}" cannot be handled as a {expected.kind}: '
    if given.kind == expected.kind and (given in scheme or scheme.is_builtin_group(given.group)):
        raise BadRequestError(
            f"the API version in the data ({given.api_version}) does not match the expected API version "
            f"({expected.api_version})"
        )
    raise BadRequestError(
        as_other + (unknown_conversion(given, expected) if given in scheme else not_registered(given))
    )


def unknown_conversion(given: GVK, expected: GVK) -> str:
    """Why an object of one kind is none of another."""
    internal = expected.group.partition(".")[0] or "core"
    return f"converting ({given.version}.{given.kind}) to ({internal}.{expected.kind}): unknown conversion"


def not_registered(given: GVK) -> str:
    """Why an object of a kind that Kubernetes does not have cannot be read."""
    return f'no kind "{given.kind}" is registered for version "{given.api_version}" in scheme "{_REGISTERED_IN}"'


def _unrecognized(expected: GVK, data: bytes, why: str) -> BadRequestError:
    return BadRequestError(
        f"the object provided is unrecognized (must be of type {expected.kind}): {why} ({_summary(data)})"
    )


def _summary(data: bytes, length: int = 30) -> str:
    if not data:
        return "<empty>"
    start = data[:length]
    text = start.decode("utf-8", "replace") if data.startswith(b"{") else start.hex()
    return text + " ..." if len(data) > length else text


def encode_body(obj: Object, media_type: str) -> bytes:
    """The body of an answer."""
    if media_type == YAML:
        import yaml

        text: str = yaml.safe_dump(thaw(obj), sort_keys=True)
        return text.encode()
    return json.dumps(obj, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def error_body(error: StatusError, media_type: str = JSON) -> tuple[int, Mapping[str, Any], bytes]:
    """(code, headers, body) of a failure."""
    headers: dict[str, Any] = {"content-type": media_type}
    retry = (error.details or {}).get("retryAfterSeconds")
    if retry:
        headers["retry-after"] = str(retry)
    return error.code, headers, encode_body(error.status(), media_type)
