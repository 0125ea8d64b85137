"""Functions that Kubernetes adds to CEL, on plain values.

A quantity is a map with one key, so that it travels through the library; equal quantities are equal maps.

>>> add_quantities(quantity("1Gi"), quantity("1Mi"))
{'k8s.quantity': '1025Mi'}

Upstream: apiserver/pkg/cel/library/{lists,regex,urls,quantity,jsonpatch}.go, github.com/google/cel-go/ext (lists, sets)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote, urlsplit

from k8slab.api.cel.initialisers import FUNCTION, message
from k8slab.api.quantity import Quantity

__all__ = ["FUNCTIONS", "FunctionSpec", "add_quantities", "quantity"]

_QUANTITY, _URL = "k8s.quantity", "k8s.url"
Value = Any


class FunctionSpec(NamedTuple):
    """`takes` and `gives`: type names of `program` (`quantity` and `url` are maps). `is_member`: called as `x.f(y)`."""

    name: str
    takes: tuple[str, ...]
    gives: str
    call: Callable[..., Value]
    is_member: bool = True


# -- lists and sets ----------------------------------------------------------------------------------


def _is_sorted(items: Sequence[Value]) -> bool:
    return all(a <= b for a, b in pairwise(items))


def _sum(items: Sequence[Value]) -> Value:
    return sum(items)


def _extreme(choose: Callable[..., Value], name: str) -> Callable[[Sequence[Value]], Value]:
    def chosen(items: Sequence[Value]) -> Value:
        if not items:
            raise ValueError(f"{name} called on empty list")
        return choose(items)

    return chosen


def _distinct(items: Sequence[Value]) -> list[Value]:
    return [item for index, item in enumerate(items) if item not in items[:index]]


def _flatten(items: Sequence[Value]) -> list[Value]:
    return [one for item in items for one in (item if isinstance(item, list) else [item])]


def _contains(items: Sequence[Value], others: Sequence[Value]) -> bool:
    return all(other in items for other in others)


# -- texts -------------------------------------------------------------------------------------------


def _find(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    return found.group() if found else ""


def _find_all(text: str, pattern: str) -> list[str]:
    return [found.group() for found in re.finditer(pattern, text)]


def _escape_key(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


# -- URLs --------------------------------------------------------------------------------------------


def _is_url(text: str) -> bool:
    return bool(urlsplit(text).scheme) or text.startswith("/")


def _url(text: str) -> dict[str, str]:
    if not _is_url(text):
        raise ValueError(f'URL parse error during conversion from string: parse "{text}": invalid URI for request')
    return {_URL: text}


def _url_part(read: Callable[[Any], Value]) -> Callable[[dict[str, str]], Value]:
    return lambda value: read(urlsplit(value[_URL]))


def _port(parts: Any) -> str:
    return "" if parts.port is None else str(parts.port)


# -- quantities --------------------------------------------------------------------------------------


def quantity(text: str) -> dict[str, str]:
    """ValueError for a text that is none."""
    return {_QUANTITY: str(Quantity.parse(text))}


def _is_quantity(text: str) -> bool:
    try:
        Quantity.parse(text)
    except ValueError:
        return False
    return True


def _of(value: Value) -> Quantity:
    return Quantity.parse(str(value) if isinstance(value, int) else value[_QUANTITY])


def add_quantities(one: Value, other: Value) -> dict[str, str]:
    return {_QUANTITY: str(_of(one) + _of(other))}


def _subtract(one: Value, other: Value) -> dict[str, str]:
    return {_QUANTITY: str(_of(one) - _of(other))}


def _compare(one: Value, other: Value) -> int:
    a, b = _of(one), _of(other)
    return (a > b) - (a < b)


def _sign(value: Value) -> int:
    return _compare(value, 0)


def _as_integer(value: Value) -> int:
    whole = _of(value).value()
    if _of(value) != Quantity.parse(str(whole)):
        raise ValueError("cannot convert value to integer")
    return whole


def _is_integer(value: Value) -> bool:
    return bool(_of(value) == Quantity.parse(str(_of(value).value())))


def _as_float(value: Value) -> float:
    return float(_of(value).milli_value()) / 1000


_QUANTITIES = (
    FunctionSpec("quantity", ("string",), "quantity", quantity, False),
    FunctionSpec("isQuantity", ("string",), "bool", _is_quantity, False),
    FunctionSpec("isInteger", ("quantity",), "bool", _is_integer),
    FunctionSpec("asInteger", ("quantity",), "int", _as_integer),
    FunctionSpec("asApproximateFloat", ("quantity",), "double", _as_float),
    FunctionSpec("sign", ("quantity",), "int", _sign),
    FunctionSpec("add", ("quantity", "quantity"), "quantity", add_quantities),
    FunctionSpec("add", ("quantity", "int"), "quantity", add_quantities),
    FunctionSpec("sub", ("quantity", "quantity"), "quantity", _subtract),
    FunctionSpec("sub", ("quantity", "int"), "quantity", _subtract),
    FunctionSpec("isLessThan", ("quantity", "quantity"), "bool", lambda a, b: _compare(a, b) < 0),
    FunctionSpec("isGreaterThan", ("quantity", "quantity"), "bool", lambda a, b: _compare(a, b) > 0),
    FunctionSpec("compareTo", ("quantity", "quantity"), "int", _compare),
)

_URLS = (
    FunctionSpec("url", ("string",), "url", _url, False),
    FunctionSpec("isURL", ("string",), "bool", _is_url, False),
    FunctionSpec("getScheme", ("url",), "string", _url_part(lambda parts: parts.scheme)),
    FunctionSpec("getHost", ("url",), "string", _url_part(lambda parts: parts.netloc.rpartition("@")[2])),
    FunctionSpec("getHostname", ("url",), "string", _url_part(lambda parts: parts.hostname or "")),
    FunctionSpec("getPort", ("url",), "string", _url_part(_port)),
    FunctionSpec(
        "getEscapedPath", ("url",), "string", _url_part(lambda parts: quote(parts.path, safe="/%:@!$&'()*+,;="))
    ),
    FunctionSpec("getQuery", ("url",), "map", _url_part(lambda parts: parse_qs(parts.query, keep_blank_values=True))),
)

FUNCTIONS: tuple[FunctionSpec, ...] = (
    FunctionSpec(FUNCTION, ("string", "map"), "dyn", message, False),
    FunctionSpec("isSorted", ("list",), "bool", _is_sorted),
    FunctionSpec("sum", ("list",), "dyn", _sum),
    FunctionSpec("min", ("list",), "dyn", _extreme(min, "min")),
    FunctionSpec("max", ("list",), "dyn", _extreme(max, "max")),
    FunctionSpec("distinct", ("list",), "list", _distinct),
    FunctionSpec("flatten", ("list",), "list", _flatten),
    FunctionSpec("sort", ("list",), "list", sorted),
    FunctionSpec("slice", ("list", "int", "int"), "list", lambda items, start, end: items[start:end]),
    FunctionSpec("sets.contains", ("list", "list"), "bool", _contains, False),
    FunctionSpec("sets.equivalent", ("list", "list"), "bool", lambda a, b: _contains(a, b) and _contains(b, a), False),
    FunctionSpec("sets.intersects", ("list", "list"), "bool", lambda a, b: any(one in a for one in b), False),
    FunctionSpec("find", ("string", "string"), "string", _find),
    FunctionSpec("findAll", ("string", "string"), "list", _find_all),
    FunctionSpec("jsonpatch.escapeKey", ("string",), "string", _escape_key, False),
    *_QUANTITIES,
    *_URLS,
)
"""All that is added, in the order of the environment."""
