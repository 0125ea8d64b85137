"""The objects of a dump one by one: a file of 300 MB is never in memory as a whole.

`kubectl get ... -o json` writes one List. Its items are decoded where they lie, one after the other, each with the
line it begins on; a syntax error names line and column. The standard library's decoder can start anywhere in a text
(`raw_decode`), which is all that takes; YAML is read by `api.yaml_json`, at once.

>>> import io
>>> [item.where for item in objects_of(io.BytesIO(b'{"kind": "List", "items": [{"kind": "Pod"}]}'), "pods.json")]
['pods.json, line 1: items[0]']
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, NoReturn

from k8slab.api.yaml_json import YAMLError, parse_documents

__all__ = ["Item", "SnapshotError", "objects_of"]

_BLOCK = 1 << 20
_LONGEST_VALUE = 16 << 20
"""An object in etcd has at most 1.5 MiB: an error so far from the end of what was read is no cut-off text."""
_SPACE = re.compile(r"[ \t\n\r]*")
_DECODE = json.JSONDecoder().raw_decode


class SnapshotError(ValueError):
    """A dump, or an object in it, that cannot be used. The text says where, what was there and what was expected."""


class Item(NamedTuple):
    """One object. `where`: file, line and place in the List, for messages."""

    where: str
    value: Any


def objects_of(stream: BinaryIO, source: str) -> Iterator[Item]:
    """Objects of a List, of several Lists or objects one after the other, in JSON or YAML. SnapshotError otherwise."""
    head = stream.read(_BLOCK)
    text = _Text(stream, head, source)
    if text.peek() in ("{", "["):
        yield from text.objects()
        return
    yield from _yaml(head + stream.read(), source)


def _yaml(raw: bytes, source: str) -> Iterator[Item]:
    try:
        text = raw.decode("utf-16") if _encoding(raw) == "utf-16" else raw
    except UnicodeDecodeError as error:
        raise SnapshotError(f"{source}: not UTF-16: {error.reason} at byte {error.start}") from None
    for document in parse_documents(text):
        if isinstance(document, YAMLError):
            place = f", line {document.line}, column {document.column}" if document.line else ""
            raise SnapshotError(f"{source}{place}: {document.message}")
        value = document.value
        if not (isinstance(value, dict) and "items" in value and str(value.get("kind", "")).endswith("List")):
            yield Item(f"{source}, line {document.line}", value)
            continue
        if not isinstance(value["items"] or [], list):
            raise SnapshotError(f"{source}, line {document.locate(('items',))[0]}: items: expected a list")
        for index, item in enumerate(value["items"] or ()):
            line, _ = document.locate(("items", index))
            yield Item(f"{source}, line {line}: items[{index}]", item)


def _encoding(head: bytes) -> str:
    """UTF-8, or what PowerShell's `>` makes of it."""
    return "utf-16" if head[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"


class _Text:
    """A JSON text that is read as far as it is looked at. `at`: where we are in what is there of it."""

    def __init__(self, stream: BinaryIO, head: bytes, source: str) -> None:
        self._stream, self._source = stream, source
        self._decoder = codecs.getincrementaldecoder(_encoding(head))()
        self._lines = 1  # the line of `_counted`, a place in what is there
        self._counted = 0
        self._margin = 0  # how much of its first line lies before it
        self._is_end = False
        self._at = 0
        self._text = self._decoded(head)

    # -- reading -----------------------------------------------------------------------------------

    def _decoded(self, block: bytes) -> str:
        try:
            self._is_end = not block
            return self._decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            expected = "UTF-16" if error.encoding.startswith("utf-16") else "UTF-8"
            raise SnapshotError(f"{self._source}, after line {self._lines}: not {expected}: {error.reason}") from None

    def _more(self) -> bool:
        """Read another block, at least as much as is left; False at the end. What lies behind us is forgotten."""
        if self._is_end:
            return False
        self._line()
        self._margin = self._column(self._at) - 1
        rest = self._text[self._at :]
        self._text = rest + self._decoded(self._stream.read(max(_BLOCK, len(rest))))
        self._at = self._counted = 0
        return len(self._text) > len(rest) or not self._is_end

    def _line(self) -> int:
        """The line we are on."""
        self._lines += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._lines

    def _column(self, at: int) -> int:
        start = self._text.rfind("\n", 0, at)
        return at - start if start >= 0 else self._margin + at + 1

    def peek(self) -> str:
        """The next character that is no space; "" at the end."""
        while True:
            found = _SPACE.match(self._text, self._at)
            assert found is not None  # it matches nothing, too
            self._at = found.end()
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def _take(self, wanted: str) -> None:
        if self.peek() != wanted:
            self._fail(f"expected {wanted!r}", self._at)
        self._at += 1

    def _value(self) -> Any:
        self.peek()
        while True:
            try:
                value, end = _DECODE(self._text, self._at)
            except json.JSONDecodeError as error:
                ahead = error.pos - self._at
                if len(self._text) - error.pos > _LONGEST_VALUE or not self._more():
                    is_cut_off = error.msg.startswith("Unterminated string") and self._is_end
                    self._fail(error.msg, self._at + ahead, is_cut_off=is_cut_off)
                continue
            except ValueError:  # Python reads no longer ones, for the time that takes
                self._fail("a number with too many digits", self._at)
            except RecursionError:
                self._fail("nested too deeply", self._at)
            length = end - self._at
            if end < len(self._text) or not self._more():  # a number may go on in the next block
                self._at += length
                return value

    def _fail(self, what: str, at: int, *, is_cut_off: bool = False) -> NoReturn:
        line = self._line() + self._text.count("\n", self._at, at)
        column = self._column(at)
        end = " (the file ends there)" if is_cut_off or (at >= len(self._text) and self._is_end) else ""
        raise SnapshotError(f"{self._source}, line {line}, column {column}: {what}{end}")

    def _here(self) -> str:
        return f"{self._source}, line {self._line()}"

    # -- what is in it -----------------------------------------------------------------------------

    def objects(self) -> Iterator[Item]:
        """One value after the other, Lists flattened."""
        while self.peek():
            where = self._here()
            if self.peek() != "{":
                self._fail("expected an object with apiVersion and kind", self._at)
            fields: dict[str, Any] = {}
            is_list = False
            for name in self._names():
                if name == "items" and self.peek() == "[":
                    is_list = True
                    yield from self._items()
                else:
                    fields[name] = self._value()
            if not is_list and not self._is_empty_list(fields, where):
                yield Item(where, fields)

    def _is_empty_list(self, fields: dict[str, Any], where: str) -> bool:
        """Go writes a list without items as null. Anything else in its place is refused."""
        if "items" not in fields or not str(fields.get("kind", "")).endswith("List"):
            return False
        if fields["items"] is not None:
            raise SnapshotError(f"{where}: items: expected a list")
        return True

    def _names(self) -> Iterator[str]:
        """The names in an object; whoever asks for them reads the values."""
        self._take("{")
        if self.peek() == "}":
            self._at += 1
            return
        while True:
            if self.peek() != '"':
                self._fail("expected the name of a field", self._at)
            name = self._value()
            self._take(":")
            yield name
            if self.peek() == "}":
                self._at += 1
                return
            self._take(",")

    def _items(self) -> Iterator[Item]:
        self._take("[")
        if self.peek() == "]":
            self._at += 1
            return
        index = 0
        while True:
            self.peek()
            where = f"{self._here()}: items[{index}]"
            yield Item(where, self._value())
            index += 1
            if self.peek() == "]":
                self._at += 1
                return
            self._take(",")
