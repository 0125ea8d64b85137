"""Label selectors: what `kubectl get -l` takes, what Services and Deployments carry, and how they match.

>>> from k8slab.api.labels import parse_selector
>>> selector = parse_selector("app in (web,db), tier!=front")
>>> selector.matches({"app": "web"}), selector.matches({"app": "web", "tier": "front"})
(True, False)
>>> str(selector)
'app in (db,web),tier!=front'

Upstream: apimachinery/pkg/labels/selector.go, apimachinery/pkg/apis/meta/v1/helpers.go (LabelSelectorAsSelector)
Simplified: requirements are sorted by key stably; Go's sort is stable only up to 12 requirements, so longer
    selectors with equal keys may print in another order upstream.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from k8slab.api.go_json import go_json
from k8slab.api.names import is_qualified_name, is_valid_label_value

__all__ = [
    "EVERYTHING",
    "NOTHING",
    "AggregateError",
    "Labels",
    "Requirement",
    "Selector",
    "format_label_selector",
    "go_quote",
    "new_requirement",
    "parse_int64",
    "parse_selector",
    "parse_uint64",
    "selector_from_dict",
    "selector_from_set",
]

Labels = Mapping[str, str]

_UNARY = ("exists", "!")
_BINARY = ("in", "notin", "=", "==", "!=", "gt", "lt")
_VALUE_COUNT_TEXT = {
    "in": "for 'in', 'notin' operators, values set can't be empty",
    "=": "exact-match compatibility requires one single value",
    "exists": "values set must be empty for exists and does not exist",
    "gt": "for 'Gt', 'Lt' operators, exactly one value is required",
}
_NOT_AN_INTEGER = "for 'Gt', 'Lt' operators, the value must be an integer"
_int_syntax = re.compile("[+-]?[0-9]+").fullmatch


def parse_int64(text: str) -> int | None:
    """Go's strconv.ParseInt(text, 10, 64): None for anything else than a signed decimal that fits."""
    if not _int_syntax(text):
        return None
    value = int(text)
    return value if -(1 << 63) <= value < 1 << 63 else None


_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}


def _quoted_character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def go_quote(text: str) -> str:
    """Go's %q, as error texts show values.

    >>> print(go_quote('a "b"'))
    "a \\"b\\""
    """
    return '"' + "".join(map(_quoted_character, text)) + '"'


def parse_uint64(text: str) -> int:
    """Go's strconv.ParseUint(text, 10, 64): plain digits. ValueError with its text.

    >>> parse_uint64("007")
    7
    """
    if not (text.isascii() and text.isdecimal()):
        raise ValueError(f"strconv.ParseUint: parsing {go_quote(text)}: invalid syntax")
    value = int(text)
    if value >= 1 << 64:
        raise ValueError(f"strconv.ParseUint: parsing {go_quote(text)}: value out of range")
    return value


class AggregateError(ValueError):
    """Several errors as one: a single message as it is, more in brackets, equal ones once.

    >>> str(AggregateError(["a", "b", "a"]))
    '[a, b]'
    """

    def __init__(self, messages: Iterable[str]) -> None:
        self.messages = tuple(dict.fromkeys(messages))
        super().__init__(self.messages[0] if len(self.messages) == 1 else "[" + ", ".join(self.messages) + "]")


def _invalid(path: str, value: str | Sequence[str] | None, detail: str) -> str:
    shown = go_quote(value) if isinstance(value, str) else go_json(value)
    return f"{path}: Invalid value: {shown}: {detail}"


class Requirement(NamedTuple):
    """One condition. `operator`: `=`, `==`, `!=`, `in`, `notin`, `exists`, `!`, `gt` or `lt`."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Labels) -> bool:
        operator = self.operator
        value = labels.get(self.key)
        if operator in ("=", "==", "in"):
            return value is not None and value in self.values
        if operator in ("!=", "notin"):
            return value is None or value not in self.values
        if operator == "exists":
            return value is not None
        if operator == "!":
            return value is None
        number = None if value is None else parse_int64(value)
        bound = parse_int64(self.values[0])
        if number is None or bound is None:
            return False
        return number > bound if operator == "gt" else number < bound

    def __str__(self) -> str:
        if self.operator == "exists":
            return self.key
        if self.operator == "!":
            return f"!{self.key}"
        values = ",".join(sorted(self.values))
        if self.operator in ("in", "notin"):
            return f"{self.key} {self.operator} ({values})"
        return self.key + {"gt": ">", "lt": "<"}.get(self.operator, self.operator) + values


def _value_count_error(operator: str, values: Sequence[str]) -> str:
    if operator in ("in", "notin"):
        return "" if values else _VALUE_COUNT_TEXT["in"]
    if operator in _UNARY:
        return _VALUE_COUNT_TEXT["exists"] if values else ""
    text = _VALUE_COUNT_TEXT["gt" if operator in ("gt", "lt") else "="]
    return "" if len(values) == 1 else text


def new_requirement(key: str, operator: str, values: Sequence[str] | None, path: str = "") -> Requirement:
    """A checked Requirement. `values` None is Go's nil slice and shows as null.

    Raises AggregateError with upstream's texts; `path` is put in front of the field names in it.
    """
    prefix = f"{path}." if path else ""
    errors = []
    key_errors = is_qualified_name(key)
    if key_errors:
        errors.append(_invalid(f"{prefix}key", key, "; ".join(key_errors)))
    given = values or ()
    if operator not in _UNARY and operator not in _BINARY:
        supported = ", ".join(go_quote(o) for o in (*_BINARY, *_UNARY))
        errors.append(f"{prefix}operator: Unsupported value: {go_quote(operator)}: supported values: {supported}")
    elif count_error := _value_count_error(operator, given):
        shown = None if values is None else list(values)
        errors.append(_invalid(f"{prefix}values", shown, count_error))
    if operator in ("gt", "lt"):
        errors += [
            _invalid(f"{prefix}values[{i}]", value, _NOT_AN_INTEGER)
            for i, value in enumerate(given)
            if parse_int64(value) is None
        ]
    for i, value in enumerate(given):
        value_errors = is_valid_label_value(value)
        if value_errors:
            errors.append(_invalid(f"{prefix}values[{i}][{key}]", value, "; ".join(value_errors)))
    if errors:
        raise AggregateError(errors)
    return Requirement(key, operator, tuple(given))


class Selector:
    """A conjunction of requirements, sorted by key; immutable. `selectable` is False for NOTHING only."""

    __slots__ = ("_others", "_pairs", "requirements", "selectable")

    requirements: tuple[Requirement, ...]
    selectable: bool

    def __init__(self, requirements: Iterable[Requirement] = (), *, selectable: bool = True) -> None:
        self.requirements = tuple(sorted(requirements, key=lambda r: r.key))
        self.selectable = selectable
        # Equality with one value is nearly all there is in practice: compare it without a call.
        simple = [r for r in self.requirements if r.operator in ("=", "==", "in") and len(r.values) == 1]
        self._pairs = tuple((r.key, r.values[0]) for r in simple)
        self._others = tuple(r for r in self.requirements if r not in simple)

    @property
    def empty(self) -> bool:
        """Selects everything."""
        return self.selectable and not self.requirements

    def matches(self, labels: Labels | None) -> bool:
        """Whether labels (None: no labels at all) satisfy every requirement."""
        if not self.selectable:
            return False
        found = labels or {}
        for key, value in self._pairs:
            if found.get(key) != value:
                return False
        return all(requirement.matches(found) for requirement in self._others)

    def requires_exact_match(self, key: str) -> str | None:
        """The one value that the first requirement on `key` allows, if it allows just one."""
        for requirement in self.requirements:
            if requirement.key == key:
                exact = requirement.operator in ("=", "==", "in") and len(requirement.values) == 1
                return requirement.values[0] if exact else None
        return None

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __repr__(self) -> str:
        return f"parse_selector({str(self)!r})" if self.selectable else "NOTHING"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selector):
            return NotImplemented
        return self.selectable == other.selectable and self.requirements == other.requirements

    def __hash__(self) -> int:
        return hash((self.selectable, self.requirements))


EVERYTHING = Selector()
"""The selector without requirements: it matches every object."""

NOTHING = Selector(selectable=False)
"""What a nil selector means where it must not mean everything: it matches no object."""

_SPECIAL = "=!(),><"
_WHITESPACE = " \t\r\n"
_WORDS = ("in", "notin")
_END = "end of string"
_IDENTIFIER = "identifier"


class _Token(NamedTuple):
    """`kind`: the symbol or keyword itself, _IDENTIFIER or _END."""

    kind: str
    text: str


def _tokens(text: str) -> list[_Token]:
    """Ends with an end token; a NUL character ends the text, as in the Go lexer."""
    found: list[_Token] = []
    position = 0
    while True:
        while position < len(text) and text[position] in _WHITESPACE:
            position += 1
        if position == len(text) or text[position] == "\0":
            return [*found, _Token(_END, "")]
        if text[position] in _SPECIAL:
            symbol = text[position : position + 2]
            symbol = symbol if symbol in ("==", "!=") else symbol[0]
            token = _Token(symbol, symbol)
            position += len(symbol)
        else:
            start = position
            while position < len(text) and text[position] not in _SPECIAL + _WHITESPACE + "\0":
                position += 1
            word = text[start:position]
            if position < len(text) and text[position] == "\0":
                position += 1
            token = _Token(word if word in _WORDS else _IDENTIFIER, word)
        found.append(token)


class _Parser:
    """Recursive descent over the tokens; each method raises ValueError with upstream's text."""

    __slots__ = ("position", "tokens")

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.position = 0

    def look(self) -> _Token:
        """The next token where a key or value may stand: there `in` and `notin` are plain words."""
        token = self.tokens[self.position]
        return _Token(_IDENTIFIER, token.text) if token.kind in _WORDS else token

    def take(self) -> _Token:
        token = self.look()
        self.position += 1
        return token

    def selector(self) -> Selector:
        requirements: list[Requirement] = []
        while True:
            token = self.look()
            if token.kind == _END:
                return Selector(requirements)
            if token.kind not in (_IDENTIFIER, "!"):
                raise ValueError(f"found '{token.text}', expected: !, identifier, or 'end of string'")
            try:
                requirements.append(self.requirement())
            except ValueError as error:
                raise ValueError(f"unable to parse requirement: {error}") from None
            token = self.take()
            if token.kind == _END:
                return Selector(requirements)
            if token.kind != ",":
                raise ValueError(f"found '{token.text}', expected: ',' or 'end of string'")
            if self.look().kind not in (_IDENTIFIER, "!"):
                raise ValueError(f"found '{self.look().text}', expected: identifier after ','")

    def requirement(self) -> Requirement:
        token = self.take()
        negated = token.kind == "!"
        if negated:
            token = self.take()
        if token.kind != _IDENTIFIER:
            raise ValueError(f"found '{token.text}', expected: identifier")
        key = token.text
        key_errors = is_qualified_name(key)
        if key_errors:
            raise ValueError(_invalid("<nil>", key, "; ".join(key_errors)))
        if negated:
            return new_requirement(key, "!", ())
        if self.look().kind in (_END, ","):
            return new_requirement(key, "exists", ())
        operator = self.operator()
        values = self.values() if operator in _WORDS else {self.exact_value()}
        return new_requirement(key, operator, sorted(values))

    def operator(self) -> str:
        token = self.tokens[self.position]
        self.position += 1
        operator = {">": "gt", "<": "lt"}.get(token.kind, token.kind)
        if operator not in _BINARY:
            raise ValueError(f"found '{token.text}', expected: {', '.join(_BINARY)}")
        return operator

    def exact_value(self) -> str:
        if self.look().kind in (_END, ","):
            return ""
        token = self.take()
        if token.kind != _IDENTIFIER:
            raise ValueError(f"found '{token.text}', expected: identifier")
        return token.text

    def values(self) -> set[str]:
        token = self.take()
        if token.kind != "(":
            raise ValueError(f"found '{token.text}' expected: '('")
        token = self.look()
        if token.kind == ")":
            self.take()
            return {""}
        if token.kind not in (_IDENTIFIER, ","):
            raise ValueError(f"found '{token.text}', expected: ',', ')' or identifier")
        values = self.identifiers()
        self.take()  # the closing parenthesis: identifiers() stops before it only
        return values

    def identifiers(self) -> set[str]:
        """Up to a closing parenthesis. Empty places between commas count as the empty value."""
        values: set[str] = set()
        while True:
            token = self.take()
            if token.kind == _IDENTIFIER:
                values.add(token.text)
                after = self.look()
                if after.kind == ")":
                    return values
                if after.kind != ",":
                    raise ValueError(f"found '{after.text}', expected: ',' or ')'")
            elif token.kind == ",":
                after = self.look()
                if not values or after.kind in (")", ","):
                    values.add("")
                if after.kind == ")":
                    return values
            else:
                raise ValueError(f"found '{token.text}', expected: ',', or identifier")


@lru_cache(maxsize=1024)
def parse_selector(text: str) -> Selector:
    """The selector of a query parameter or of `kubectl -l`; ValueError with upstream's text."""
    return _Parser(text).selector()


def selector_from_set(labels: Labels | None) -> Selector:
    """Equality with each of these labels, unchecked: a Service's `spec.selector`. Nothing given selects everything."""
    return Selector(Requirement(key, "=", (value,)) for key, value in (labels or {}).items())


_OPERATOR_OF: dict[str, str] = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def selector_from_dict(label_selector: Mapping[str, Any] | None) -> Selector:
    """A LabelSelector object (matchLabels, matchExpressions). None selects nothing, an empty one everything.

    Raises ValueError with upstream's text.
    """
    if label_selector is None:
        return NOTHING
    requirements = [new_requirement(k, "=", (v,)) for k, v in (label_selector.get("matchLabels") or {}).items()]
    for expression in label_selector.get("matchExpressions") or ():
        operator = expression.get("operator") or ""
        if operator not in _OPERATOR_OF:
            raise ValueError(f"{go_quote(operator)} is not a valid label selector operator")
        requirements.append(
            new_requirement(expression.get("key") or "", _OPERATOR_OF[operator], expression.get("values") or None)
        )
    return Selector(requirements) if requirements else EVERYTHING


def format_label_selector(label_selector: Mapping[str, Any] | None) -> str:
    """How tables print it: `<none>` where there is nothing to print, `<error>` where it is invalid."""
    try:
        return str(selector_from_dict(label_selector)) or "<none>"
    except ValueError:
        return "<error>"
