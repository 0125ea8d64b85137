"""Selectors of devices: the part of CEL that claims and classes are mostly written in.

>>> from k8slab.autoscaling.gpu import DeviceSelector
>>> big = DeviceSelector('device.driver == "gpu.example.com" && '
...                      'device.capacity["gpu.example.com"].memory.compareTo(quantity("40Gi")) >= 0')
>>> big.matches("gpu.example.com", {"gpu.example.com": {}}, {"gpu.example.com": {"memory": "80Gi"}})
True

Upstream: k8s.io/dynamic-resource-allocation/cel (the variable `device`), the CEL specification
Simplified: literals (text, int, bool, list), `device.driver`, `device.attributes[…].…`, `device.capacity[…].…`, `&& ||
! -`, comparisons, `in`, `quantity()`, and the methods compareTo, isGreaterThan, isLessThan, startsWith, endsWith,
contains. Versions are texts. Anything else is a ValueError when the selector is made. A missing key is an error, as in
CEL, not a no.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from k8slab.api.quantity import Quantity, quantity

__all__ = ["DeviceSelector", "SelectorError"]

_TOKEN = re.compile(
    r"\s*(?:(?P<text>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')|(?P<int>0x[0-9a-fA-F]+|\d+)(?![\w.])|(?P<word>[A-Za-z_]\w*)|"
    r"(?P<sign>&&|\|\||==|!=|<=|>=|[<>!.,()\[\]-]))"
)
_MAX_DEPTH = 50
_MOST_INT = (1 << 63) - 1
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|.)", re.S)
_ESCAPES: Mapping[str, str] = {
    **dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True)),
    **{one: one for one in "\\'\"`?"},
}
_Value = Any
_Node = Callable[[Mapping[str, Any]], _Value]
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: type(a) is type(b) and a == b,
    "!=": lambda a, b: not (type(a) is type(b) and a == b),
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


class SelectorError(Exception):
    """The selector cannot be answered for a device: a key that is not there, values that do not compare."""


class DeviceSelector:
    """A parsed expression. ValueError: not in the part of CEL that is understood, with the place."""

    __slots__ = ("_node", "expression")

    def __init__(self, expression: str) -> None:
        if not isinstance(expression, str):
            raise TypeError(f"selector {expression!r}: expected a text")
        self.expression = expression
        self._node = _Parser(expression).parse()

    def matches(
        self, driver: str, attributes: Mapping[str, Mapping[str, Any]], capacity: Mapping[str, Mapping[str, Any]]
    ) -> bool:
        """Whether the device is selected. `attributes` and `capacity` by domain and name. SelectorError: no answer."""
        amounts = {domain: {name: quantity(value) for name, value in row.items()} for domain, row in capacity.items()}
        verdict = self._node({"driver": driver, "attributes": attributes, "capacity": amounts})
        if not isinstance(verdict, bool):
            raise SelectorError(f"{self.expression}: {verdict!r}: expected true or false")
        return verdict


class _Parser:
    """Recursive descent: or, and, comparison, signs (! and -), then what stands behind dots and brackets."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str]] = []
        place, end = 0, len(text.rstrip())
        while place < end:
            found = _TOKEN.match(text, place)
            if found is None:
                raise ValueError(f"selector {text!r}: {text[place:][:10]!r} at {place} is not understood")
            self._tokens.append((found.lastgroup or "", found[found.lastgroup or 0]))
            place = found.end()
        self._at = self._depth = 0

    def parse(self) -> _Node:
        node = self._or()
        if self._at < len(self._tokens):
            raise ValueError(f"selector {self._text!r}: {self._tokens[self._at][1]!r} is not expected here")
        return node

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _next(self) -> tuple[str, str]:
        if self._at == len(self._tokens):
            raise ValueError(f"selector {self._text!r}: it ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _expect(self, sign: str) -> None:
        found = self._next()[1]
        if found != sign:
            raise ValueError(f"selector {self._text!r}: {found!r}, expected {sign!r}")

    def _or(self) -> _Node:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ValueError(f"selector: more than {_MAX_DEPTH} expressions in each other")
        node = self._and()
        while self._peek() == "||":
            self._next()
            node = _either(node, self._and(), True)
        self._depth -= 1
        return node

    def _and(self) -> _Node:
        node = self._comparison()
        while self._peek() == "&&":
            self._next()
            node = _either(node, self._comparison(), False)
        return node

    def _comparison(self) -> _Node:
        left = self._unary()
        while self._peek() in _COMPARE or self._peek() == "in":
            sign = self._next()[1]
            right = self._unary()
            left = _member(left, right) if sign == "in" else _compared(left, right, _COMPARE[sign], sign)
        return left

    def _unary(self) -> _Node:
        """Signs bind tighter than comparisons, and looser than dots: -a.b is -(a.b), !a == b is (!a) == b."""
        sign, count = self._peek(), 0
        if sign not in ("!", "-"):
            return self._operand()
        while self._peek() == sign:
            self._next()
            count += 1
        inner = self._operand()
        return (_not if sign == "!" else _negated)(inner, count % 2 == 1)

    def _operand(self) -> _Node:
        node = self._primary()
        while self._peek() in (".", "["):
            if self._next()[1] == "[":
                key = self._or()
                self._expect("]")
                node = _item(node, key)
                continue
            name = self._next()[1]
            node = self._call(node, name) if self._peek() == "(" else _item(node, _constant(name))
        return node

    def _call(self, target: _Node, name: str) -> _Node:
        self._expect("(")
        argument = self._or()
        self._expect(")")
        if name not in _METHODS:
            raise ValueError(f"selector {self._text!r}: method {name!r}, expected one of {', '.join(_METHODS)}")
        return _method(target, argument, name)

    def _primary(self) -> _Node:
        kind, text = self._next()
        if kind == "text":
            return _constant(self._unescaped(text[1:-1]))
        if kind == "int":
            number = int(text, 0) if text.startswith("0x") else int(text)
            if number > _MOST_INT:
                raise ValueError(f"selector {self._text!r}: {text} is greater than {_MOST_INT}")
            return _constant(number)
        if text in ("true", "false"):
            return _constant(text == "true")
        if text == "device":
            return lambda device: device
        if text == "quantity":
            self._expect("(")
            inner = self._or()
            self._expect(")")
            return _as_quantity(inner)
        if text == "(":
            node = self._or()
            self._expect(")")
            return node
        if text == "[":
            return self._list()
        raise ValueError(f"selector {self._text!r}: {text!r} is not understood")

    def _unescaped(self, text: str) -> str:
        def read(found: re.Match[str]) -> str:
            escape = found[1]
            if escape[0] in "xuU" and len(escape) > 1:
                number = int(escape[1:], 16)
            elif len(escape) == 3:
                number = int(escape, 8)
            elif escape in _ESCAPES:
                return _ESCAPES[escape]
            else:
                number = -1
            if not 0 <= number <= 0x10FFFF or 0xD800 <= number < 0xE000:
                raise ValueError(f"selector {self._text!r}: {found[0]!r} is no escape that CEL knows")
            return chr(number)

        return _ESCAPE.sub(read, text)

    def _list(self) -> _Node:
        nodes: list[_Node] = []
        while self._peek() != "]":
            nodes.append(self._or())
            if self._peek() != "]":
                self._expect(",")
        self._expect("]")
        return lambda device: [node(device) for node in nodes]


def _constant(value: _Value) -> _Node:
    return lambda _: value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise SelectorError(f"{value!r}: expected true or false")
    return value


def _either(left: _Node, right: _Node, decides: bool) -> _Node:
    """`||` and `&&`: one side that decides is enough, whatever becomes of the other."""

    def evaluate(device: Mapping[str, Any]) -> bool:
        try:
            if _truth(left(device)) is decides:
                return decides
        except SelectorError:
            if _truth(right(device)) is decides:
                return decides
            raise
        return _truth(right(device))

    return evaluate


def _compared(left: _Node, right: _Node, compare: Callable[[Any, Any], bool], sign: str) -> _Node:
    def evaluate(device: Mapping[str, Any]) -> bool:
        a, b = left(device), right(device)
        if sign not in ("==", "!=") and not (type(a) is type(b) and type(a) in (bool, int, str)):
            raise SelectorError(f"no such overload: {a!r} {sign} {b!r}")  # quantities have methods for it
        return compare(a, b)

    return evaluate


def _member(left: _Node, right: _Node) -> _Node:
    def evaluate(device: Mapping[str, Any]) -> bool:
        one, many = left(device), right(device)
        if not isinstance(many, (list, Mapping)):
            raise SelectorError(f"no such overload: {one!r} in {many!r}")
        return any(type(other) is type(one) and other == one for other in many)

    return evaluate


def _not(inner: _Node, is_odd: bool) -> _Node:
    return lambda device: _truth(inner(device)) is not is_odd


def _negated(number: _Node, is_odd: bool) -> _Node:
    def evaluate(device: Mapping[str, Any]) -> int:
        found = number(device)
        if type(found) is not int:
            raise SelectorError(f"no such overload: -{found!r}")
        return -found if is_odd else found

    return evaluate


def _as_quantity(inner: _Node) -> _Node:
    def evaluate(device: Mapping[str, Any]) -> Quantity:
        text = inner(device)
        if not isinstance(text, str):
            raise SelectorError(f"no such overload: quantity({text!r})")
        try:
            return quantity(text)
        except ValueError as error:
            raise SelectorError(f"quantity({text!r}): {error}") from None

    return evaluate


def _item(target: _Node, key: _Node) -> _Node:
    def evaluate(device: Mapping[str, Any]) -> Any:
        found, name = target(device), key(device)
        if not isinstance(found, Mapping) or name not in found:
            raise SelectorError(f"no such key: {name}")
        return found[name]

    return evaluate


def _order(a: Any, b: Any) -> int:
    return 1 if a > b else -1 if a < b else 0


_METHODS: Mapping[str, tuple[type, Callable[[Any, Any], Any]]] = {
    "compareTo": (Quantity, _order),
    "isGreaterThan": (Quantity, lambda a, b: a > b),
    "isLessThan": (Quantity, lambda a, b: a < b),
    "startsWith": (str, lambda a, b: a.startswith(b)),
    "endsWith": (str, lambda a, b: a.endswith(b)),
    "contains": (str, lambda a, b: b in a),
}


def _method(target: _Node, argument: _Node, name: str) -> _Node:
    kind, call = _METHODS[name]

    def evaluate(device: Mapping[str, Any]) -> Any:
        found, given = target(device), argument(device)
        if not isinstance(found, kind) or not isinstance(given, kind):
            raise SelectorError(f"no such overload: {name} of {found!r} with {given!r}")
        return call(found, given)

    return evaluate
