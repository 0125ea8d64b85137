"""JSON as Go writes it, and as its decoder reads it: its error texts, and the duplicate keys it reports.

>>> parse(b'{"a": 1, "a": 2}')
({'a': 2}, ('a',))
>>> parse(b'{"a":')
Traceback (most recent call last):
k8slab.api.go_json.JSONError: unexpected end of JSON input

Upstream: encoding/json/encode.go, encoding/json/scanner.go, sigs.k8s.io/json
Simplified: a body may be a few hundred levels deep, upstream's 10,000.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

__all__ = ["JSONError", "go_json", "json_kind", "parse"]

_ALWAYS_ESCAPED = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_LITERALS = ("true", "false", "null")
_HALF_ESCAPED = re.compile(rb"\\u[dD][89a-fA-F]")
_HALF = re.compile("[\ud800-\udfff]")
_ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "'": "\\'",
    "\\": "\\\\",
}


class JSONError(ValueError):
    """Malformed JSON, in Go's words."""


def go_json(value: Any) -> str:
    """Compact JSON as Go's encoding/json writes it: also `<`, `>` and `&` are escaped."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).translate(_ALWAYS_ESCAPED)


class _Object(dict[str, Any]):
    """A parsed object that remembers which keys came twice."""

    duplicates: tuple[str, ...] = ()


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) == len(pairs):
        return result
    marked = _Object(result)
    seen: dict[str, int] = {}
    for key, _ in pairs:
        seen[key] = seen.get(key, 0) + 1
    marked.duplicates = tuple(key for key, count in seen.items() if count > 1)
    return marked


def parse(data: bytes) -> tuple[Any, tuple[str, ...]]:
    """(value, paths of duplicate keys). Raises JSONError."""
    text = data.decode("utf-8", "replace")
    found: list[str] = []
    try:
        value = _loads(text)
        if _HALF_ESCAPED.search(data):
            value = _whole(value)
        return _plain(value, "", found), tuple(found)
    except json.JSONDecodeError as error:
        raise JSONError(_where(data, text, error)) from None
    except JSONError:
        raise
    except ValueError:  # more digits than Python makes a number of
        digits = max(re.findall("-?[0-9]+", text), key=len)
        raise JSONError(f"json: cannot unmarshal number {digits} into Go value of type float64") from None
    except RecursionError:
        deepest = max("{[", key=text.count)
        raise JSONError(f"invalid character {_quote(deepest)} exceeded max depth") from None


def _loads(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_pairs, parse_constant=_refuse, parse_float=_float)


def _where(data: bytes, text: str, error: json.JSONDecodeError) -> str:
    """Go's sentence. Its scanner goes by bytes and shows each as a character: 0xff as 'ÿ'."""
    if data.isascii():
        return _explain(text, error)
    by_byte = data.decode("latin-1")
    try:
        _loads(by_byte)
    except json.JSONDecodeError as found:
        return _explain(by_byte, found)
    return _explain(text, error)


def _whole(value: Any) -> Any:
    """With U+FFFD for each half of a surrogate pair, as Go's decoder has it."""
    if isinstance(value, str):
        return _HALF.sub("\ufffd", value)
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        result = type(value)((_whole(key), _whole(item)) for key, item in value.items())
        if isinstance(value, _Object) and isinstance(result, _Object):
            result.duplicates = value.duplicates
        return result
    return value


def _float(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise JSONError(f"json: cannot unmarshal number {text} into Go value of type float64")
    return value


def _refuse(name: str) -> None:
    raise JSONError(f"invalid character {name[0]!r} looking for beginning of value")


def _plain(value: Any, path: str, found: list[str]) -> Any:
    """Collect duplicates on the way; unmarked objects are returned as they are."""
    if isinstance(value, dict):
        result = dict(value) if isinstance(value, _Object) else value
        if isinstance(value, _Object):
            found.extend(f"{path}{key}" for key in value.duplicates)
        for key, item in value.items():
            if isinstance(item, (dict, list)):
                result[key] = _plain(item, f"{path}{key}.", found)
        return result
    if isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, (dict, list)):
                value[index] = _plain(item, f"{path[:-1]}[{index}].", found)
    return value


def json_kind(value: Any) -> str:
    """Go's name for a JSON value's type."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def _explain(text: str, error: json.JSONDecodeError) -> str:
    """Go's sentence for where Python's parser stopped."""
    at = error.pos
    if error.msg.startswith("Invalid control character"):
        return f"invalid character {_quote(text[at])} in string literal"
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    if at >= len(text) or error.msg.startswith("Unterminated string"):
        return "unexpected end of JSON input"
    literal = _broken_literal(text, at)
    if literal and error.msg == "Expecting value":
        return literal
    wrong = _quote(text[at])
    if error.msg.startswith("Expecting property name"):
        return f"invalid character {wrong} looking for beginning of object key string"
    if error.msg.startswith("Expecting ':'"):
        return f"invalid character {wrong} after object key"
    if error.msg.startswith("Expecting ','"):
        return f"invalid character {wrong} after {_container(text, at)}"
    if error.msg.startswith("Extra data"):
        return f"invalid character {wrong} after top-level value"
    if error.msg.startswith("Invalid \\"):
        return f"invalid character {_quote(text[at + 1 : at + 2])} in string escape code"
    return f"invalid character {wrong} looking for beginning of value"


def _broken_literal(text: str, at: int) -> str:
    for literal in _LITERALS:
        if text[at] == literal[0]:
            for offset, expected in enumerate(literal):
                if at + offset >= len(text):
                    return "unexpected end of JSON input"
                found = text[at + offset]
                if found != expected:
                    return f"invalid character {_quote(found)} in literal {literal} (expecting {_quote(expected)})"
    return ""


def _container(text: str, at: int) -> str:
    depth = 0
    for character in reversed(text[:at]):
        depth += {"}": 1, "]": 1, "{": -1, "[": -1}.get(character, 0)
        if depth < 0:
            return "object key:value pair" if character == "{" else "array element"
    return "top-level value"


def _quote(character: str) -> str:
    """As Go's scanner quotes a byte."""
    if character in _ESCAPES:
        return f"'{_ESCAPES[character]}'"
    if character.isprintable() or not character:
        return f"'{character}'"
    code = ord(character)
    return f"'\\x{code:02x}'" if code < 0x80 else f"'\\u{code:04x}'"
