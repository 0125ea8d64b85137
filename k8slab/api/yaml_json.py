"""YAML as kubectl reads it: a way to write JSON, with positions for error messages.

Scalars become what kubectl's library (sigs.k8s.io/yaml over go-yaml v2) makes of them: `yes`, `on` and `y` are true,
`0o17` and `017` are 15, `1_000` is 1000, `3.0` is 3; dates and `1:30` stay texts. Keys become texts. A merge key
(`<<`) overrides what stands above it and yields to what stands below. A key written twice is an error.

>>> [d.value for d in parse_documents("a: yes\\n---\\nb: [1_000, 2026-01-01, 1:30, 3.0, 0x1F]")]
[{'a': True}, {'b': [1000, '2026-01-01', '1:30', 3, 31]}]

Spec: YAML 1.1
Upstream: sigs.k8s.io/yaml yaml.go, go.yaml.in/yaml/v2 resolve.go and decode.go, apimachinery/pkg/util/yaml/decoder.go
Simplified: a key that overrides one from a merge key is allowed, which upstream's strict mode refuses.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import yaml

from k8slab.api.plain import MAX_DEPTH, UnfitError, plain_copy

__all__ = ["Document", "YAMLError", "parse_documents"]

_SEPARATOR = re.compile(r"^---[ \t]*(?:#.*)?\r?$")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?").fullmatch
_INTEGERS = (
    (re.compile(r"[-+]?0[xX][0-9a-fA-F]+").fullmatch, 16),
    (re.compile(r"[-+]?0[bB][01]+").fullmatch, 2),
    (re.compile(r"[-+]?0[oO]?[0-7]+").fullmatch, 8),
    (re.compile(r"[-+]?(?:0|[1-9][0-9]*)").fullmatch, 10),
)
_MOST_DIGITS = 1000  # far more than 64 bits have; Python refuses to read very long ones
_SURROGATE = re.compile("[\ud800-\udfff]")
_TAG = "tag:yaml.org,2002:"
_PLAIN = "plain"
_CONSTANTS: dict[str, Any] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_NOT_NUMBERS = (".nan", ".inf", "+.inf", "-.inf")


class YAMLError(ValueError):
    """The text is not what it should be, at `line` and `column` (both from 1; 0 where unknown)."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message, self.line, self.column = message, line, column


class Document(NamedTuple):
    """`value`: dicts, lists and scalars as JSON has them. `line`: where the document begins, from 1."""

    value: Any
    line: int
    node: yaml.Node | None
    text: str
    offset: int

    def locate(self, steps: Sequence[str | int]) -> tuple[int, int]:
        """Line and column (from 1) of the value at a path of keys and indexes, or of its nearest parent."""
        node = self.node or _compose_quietly(self.text)
        if node is None:
            return self.line, 1
        mark = node.start_mark
        for step in steps:
            found = _child(node, step)
            if found is None:
                break
            node, mark = found
        return mark.line + 1 + self.offset, mark.column + 1


class _Loader(yaml.BaseLoader):
    """Composes nodes only; plain scalars get a tag of their own, since our rules differ from PyYAML's."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        if kind is yaml.ScalarNode and implicit[0]:
            return _PLAIN
        return super().resolve(kind, value, implicit)  # type: ignore[no-untyped-call]


def parse_documents(text: str | bytes) -> Iterator[Document | YAMLError]:
    """The documents of a text, in order; a document that cannot be read comes out as its YAMLError.

    Empty documents are skipped. A text that begins with `{` or `[` may be JSON (several values one after the other,
    too).
    """
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as e:
            yield YAMLError(f"not UTF-8: {e.reason} at byte {e.start}", e.object.count(b"\n", 0, e.start) + 1)
            return
    text = text.removeprefix("\ufeff")
    if text.lstrip()[:1] in ("{", "["):
        documents = _parse_json(text)
        if documents is not None:
            yield from documents
            return
    for offset, chunk in _split(text):
        yield from _parse_chunk(chunk, offset)


def _split(text: str) -> Iterator[tuple[int, str]]:
    """Chunks between lines of `---`, each with the number of lines before it."""
    start = 0
    lines = text.split("\n")
    for index, line in enumerate(lines):
        if _SEPARATOR.match(line):
            yield start, "".join(f"{line}\n" for line in lines[start:index])
            start = index + 1
    yield start, "\n".join(lines[start:])


def _parse_chunk(chunk: str, offset: int) -> Iterator[Document | YAMLError]:
    try:
        for node in yaml.compose_all(chunk, _Loader):
            value = _Construction(offset).value(node, 0)
            if value is not None:
                yield Document(value, node.start_mark.line + 1 + offset, node, chunk, offset)
    except YAMLError as e:
        yield e
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        text = ", ".join(str(part) for part in (e.context, e.problem) if part)
        yield YAMLError(text, mark.line + 1 + offset if mark else 0, mark.column + 1 if mark else 0)
    except yaml.reader.ReaderError as e:
        before = chunk[: int(e.position)]
        yield YAMLError(
            f"character #x{ord(chunk[int(e.position)]):04x} is not allowed", before.count("\n") + 1 + offset
        )
    except RecursionError:
        yield YAMLError("nested too deeply", offset + 1)


def _compose_quietly(text: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, _Loader)
    except (yaml.YAMLError, RecursionError):
        return None


def _child(node: yaml.Node, step: str | int) -> tuple[yaml.Node, yaml.Mark] | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        item = node.value[step]
        return item, item.start_mark
    if isinstance(node, yaml.MappingNode):
        for key, value in reversed(node.value):
            if isinstance(key, yaml.ScalarNode) and key.value == step:
                return value, key.start_mark
    return None


class _Construction:
    """One document on its way from nodes to values; counts what aliases multiply."""

    def __init__(self, offset: int) -> None:
        self.offset = offset
        self.decoded = self.aliased = 0
        self.alias_depth = 0
        self.seen: dict[int, None] = {}
        self.open: dict[int, None] = {}

    def error(self, message: str, node: yaml.Node) -> YAMLError:
        mark = node.start_mark
        return YAMLError(message, mark.line + 1 + self.offset, mark.column + 1)

    def value(self, node: yaml.Node, depth: int) -> Any:
        """The value of a node. Composing shares a node between its anchor and aliases: seen before = an alias."""
        is_alias = id(node) in self.seen
        if id(node) in self.open:
            raise self.error("an anchor's value contains itself", node)
        if depth > MAX_DEPTH:
            raise self.error("nested too deeply", node)
        self.seen[id(node)] = None
        self.open[id(node)] = None
        if is_alias:
            self._count(node)
        self.alias_depth += is_alias
        self._count(node)
        try:
            if isinstance(node, yaml.ScalarNode):
                return self.scalar(node)
            if isinstance(node, yaml.SequenceNode):
                return [self.value(item, depth + 1) for item in node.value]
            return self.mapping(node, depth)
        finally:
            self.alias_depth -= is_alias
            del self.open[id(node)]

    def _count(self, node: yaml.Node) -> None:
        self.decoded += 1
        self.aliased += self.alias_depth > 0
        if self.aliased > 100 and self.decoded > 1000 and self.aliased / self.decoded > _allowed_ratio(self.decoded):
            raise self.error("document contains excessive aliasing", node)

    def mapping(self, node: yaml.Node, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        written: dict[str, None] = {}
        for key_node, value_node in node.value:
            if isinstance(key_node, yaml.ScalarNode) and key_node.tag == _PLAIN and key_node.value == "<<":
                self.merge(value_node, result, depth)
                continue
            key = self.key(key_node)
            if key in written:
                raise self.error(f'key "{key}" already set in map', key_node)
            written[key] = None
            result[key] = self.value(value_node, depth + 1)
        return result

    def merge(self, node: yaml.Node, result: dict[str, Any], depth: int) -> None:
        sources = reversed(node.value) if isinstance(node, yaml.SequenceNode) else [node]
        for source in sources:
            if not isinstance(source, yaml.MappingNode):
                raise self.error("map merge requires map or sequence of maps as the value", node)
            result.update(self.value(source, depth + 1))

    def key(self, node: yaml.Node) -> str:
        self._count(node)
        if not isinstance(node, yaml.ScalarNode):
            raise self.error("a key must be a text, a number or a boolean", node)
        value = self.scalar(node)
        if value is None:
            raise self.error("a key must not be null", node)
        if isinstance(value, bool):
            return "true" if value else "false"
        return value if isinstance(value, str) else json.dumps(value)

    def scalar(self, node: yaml.ScalarNode) -> Any:
        text, tag = str(node.value), str(node.tag)
        if _SURROGATE.search(text):
            raise self.error("found invalid Unicode character escape code", node)
        if tag == _PLAIN:
            return self.plain(text, node)
        if tag == f"{_TAG}binary":
            try:
                return base64.b64decode(text, validate=False).decode("utf-8", "replace")
            except binascii.Error:
                raise self.error("!!binary value contains invalid base64 data", node) from None
        if tag in (f"{_TAG}int", f"{_TAG}float", f"{_TAG}bool", f"{_TAG}null"):
            return self.plain(text, node)
        return text

    def plain(self, text: str, node: yaml.Node) -> Any:
        if text in _CONSTANTS:
            return _CONSTANTS[text]
        if text[0] not in "0123456789+-.":
            return text
        if text.lower() in _NOT_NUMBERS:
            raise self.error(f"{text} has no JSON value", node)
        return _number(text.replace("_", ""), text)


def _number(digits: str, text: str) -> Any:
    """The number a plain scalar means, or the text itself."""
    for matches, base in _INTEGERS:
        if len(digits) <= _MOST_DIGITS and matches(digits):
            number = int(digits, base)
            if -(1 << 63) <= number < 1 << 64:
                return number
    if _FLOAT(digits):
        value = float(digits)
        if math.isinf(value):
            return text
        return int(value) if value.is_integer() and abs(value) < 1e21 else value
    return text


def _allowed_ratio(decoded: int) -> float:
    """How much of a document may come from aliases: nearly all of a small one, a tenth of a huge one."""
    low, high = 400_000, 4_000_000
    if decoded <= low:
        return 0.99
    return 0.1 if decoded >= high else 0.99 - 0.89 * (decoded - low) / (high - low)


def _parse_json(text: str) -> list[Document | YAMLError] | None:
    """The values of a JSON text; None when it is not JSON (it may be YAML in flow style then)."""
    documents: list[Document | YAMLError] = []
    decoder = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_parse_float)
    position = 0
    while position < len(text):
        rest = len(text) - len(text[position:].lstrip())
        if rest == len(text):
            break
        offset = text.count("\n", 0, rest)
        try:
            value, position = decoder.raw_decode(text, rest)
        except _DuplicateKey as e:
            as_yaml = [d for d in _parse_chunk(text[rest:], offset) if isinstance(d, YAMLError) and d.message == str(e)]
            return [as_yaml[0] if as_yaml else YAMLError(str(e), offset + 1)]
        except RecursionError:
            return [YAMLError("nested too deeply", offset + 1)]
        except ValueError:
            return None
        value = _without_surrogates(value, text[rest:position])
        document = Document(value, offset + 1, None, text[rest:position], offset)
        problem = _problem(document)
        if problem is not None:
            return [problem]
        if value is not None:
            documents.append(document)
    return documents


def _without_surrogates(value: Any, text: str) -> Any:
    """Half of a surrogate pair is no character: Go's decoder reads U+FFFD in its place, and so do we."""
    if "\\ud" not in text.lower() and not _SURROGATE.search(text):
        return value
    return json.loads(_SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False)))


def _problem(document: Document) -> YAMLError | None:
    """What Python's parser lets pass: numbers that are none (NaN, 1e999), and too many levels."""
    try:
        plain_copy(document.value)
    except UnfitError as error:
        if not isinstance(error.value, float):
            return YAMLError("nested too deeply", document.line)
        return YAMLError(str(error), *document.locate(error.steps))
    return None


class _DuplicateKey(Exception):
    pass


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for index, key in enumerate(keys) if key in keys[:index])
        raise _DuplicateKey(f'key "{twice}" already set in map')
    return result


def _parse_float(text: str) -> float | int:
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < 1e21 and "." not in text else value
