"""Manifests: files of objects, as `kubectl apply -f` takes them.

>>> text = "apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: a}\\ndata: {k: 5}"
>>> load_manifests(text, "cm.yaml")
Traceback (most recent call last):
  ...
k8slab.api.manifests.ManifestError: cm.yaml, document 1, line 4, column 8: data.k: 5: expected a string

Each object must name a kind that is served, or a kind of a group that Kubernetes does not own (those are stored as they
are). Values must fit their fields; fields that the kind does not have are warnings, as for kubectl.

Upstream: cli-runtime/pkg/resource/visitor.go, apimachinery/pkg/util/yaml/decoder.go
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from k8slab.api.decoding import DecodeError, decode, unknown_field
from k8slab.api.plain import path_text
from k8slab.api.scheme import SCHEME, Scheme, UnknownKindError, foreign_kind_problem, gvk_of
from k8slab.api.yaml_json import Document, YAMLError, parse_documents

__all__ = ["Manifest", "ManifestError", "load_manifests"]


class ManifestError(ValueError):
    """A manifest that cannot be used. Each attribute is empty (0, None) where it does not apply.

    `source`: file name; `document`: number from 1; `line`, `column`: from 1; `field`: as `spec.replicas`; `value`: what
    was there; `expected`: what should be there; `reason`: the same in upstream's words.
    """

    def __init__(
        self,
        reason: str,
        *,
        source: str,
        document: int = 0,
        line: int = 0,
        column: int = 0,
        field: str = "",
        value: Any = None,
        expected: str = "",
    ) -> None:
        self.reason, self.source, self.document, self.line, self.column = reason, source, document, line, column
        self.field, self.value, self.expected = field, value, expected
        super().__init__(self._text())

    def _text(self) -> str:
        where = [self.source]
        where += [f"{name} {n}" for name in ("document", "line", "column") if (n := getattr(self, name))]
        what = [self.field] if self.field else []
        if self.expected:
            what += [_short(self.value), f"expected {self.expected}"]
        else:
            what.append(self.reason)
        return ": ".join([", ".join(where), *what])


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object of a file. `object`: as written; `line`: where it begins; `warnings`: such as unknown fields."""

    object: dict[str, Any]
    source: str
    document: int
    line: int
    warnings: tuple[str, ...] = ()
    is_builtin: bool = True
    _location: Callable[[Sequence[str | int]], tuple[int, int]] | None = field(default=None, repr=False, compare=False)

    def locate(self, *steps: str | int) -> tuple[int, int]:
        """Line and column of a field: `locate("spec", "containers", 0)`."""
        return self._location(steps) if self._location else (self.line, 1)


def load_manifests(
    text: str | bytes,
    source: str = "stdin",
    *,
    scheme: Scheme = SCHEME,
    on_error: Callable[[ManifestError], None] | None = None,
) -> list[Manifest]:
    """The objects of a YAML or JSON text, lists (`kind: List`) flattened, empty documents skipped.

    Raises ManifestError at the first bad one; with `on_error` it goes on, and calls that for each.
    """
    manifests: list[Manifest] = []
    for number, document in enumerate(parse_documents(text), 1):
        try:
            if isinstance(document, YAMLError):
                raise ManifestError(
                    document.message, source=source, document=number, line=document.line, column=document.column
                )
            for steps, value in _flatten(document, source, number):
                manifests.append(_manifest(value, steps, document, source, number, scheme))
        except ManifestError as e:
            if on_error is None:
                raise
            on_error(e)
    return manifests


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:77] + "..."


def _flatten(document: Document, source: str, number: int) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The object itself, or the items of a list, each with its path in the document."""
    value = document.value
    is_list = isinstance(value, dict) and str(value.get("kind", "")).endswith("List") and "items" in value
    if not is_list:
        yield (), value
        return
    items = value["items"]
    if items is not None and not isinstance(items, list):
        line, column = document.locate(("items",))
        raise ManifestError(
            "items must be a list", source=source, document=number, line=line, column=column,
            field="items", value=items, expected="a list",
        )  # fmt: skip
    for index, item in enumerate(items or ()):
        yield ("items", index), item


def _manifest(
    value: Any, steps: tuple[str | int, ...], document: Document, source: str, number: int, scheme: Scheme
) -> Manifest:
    def fail(reason: str, path: Sequence[str | int], bad: Any = None, expected: str = "") -> ManifestError:
        line, column = document.locate((*steps, *path))
        return ManifestError(
            reason, source=source, document=number, line=line, column=column,
            field=path_text(path), value=bad, expected=expected,
        )  # fmt: skip

    if not isinstance(value, dict):
        raise fail("not an object", (), value, "an object with apiVersion, kind and metadata")
    for key, example in (("apiVersion", "apps/v1"), ("kind", "Deployment")):
        if not isinstance(value.get(key), str) or not value[key]:
            raise fail(f"{key} is not set", (key,), value.get(key), f"a text, such as {example}")
    is_builtin = _check_kind(value, scheme, fail)
    try:
        decoded = decode(value)
    except DecodeError as e:
        raise fail(e.message, e.steps, e.value, e.expected) from None
    _check_metadata(value, fail)
    line, _ = document.locate(steps)
    warnings = tuple(map(unknown_field, decoded.unknown))
    return Manifest(value, source, number, line, warnings, is_builtin, lambda path: document.locate((*steps, *path)))


def _check_kind(value: dict[str, Any], scheme: Scheme, fail: Callable[..., ManifestError]) -> bool:
    """Whether Kubernetes itself serves the kind; raises when it should and does not."""
    try:
        gvk = gvk_of(value)
    except ValueError as e:
        raise fail(str(e), ("apiVersion",), value["apiVersion"], "group/version, such as apps/v1") from None
    if gvk in scheme:
        return scheme.is_builtin_group(gvk.group)
    if not scheme.is_builtin_group(gvk.group):
        if problem := foreign_kind_problem(gvk):
            raise fail(problem[1], (problem[0],))
        return False
    try:
        scheme.resource_of(gvk)
    except UnknownKindError as e:
        raise fail(str(e), ("kind",)) from None
    return True


def _check_metadata(value: dict[str, Any], fail: Callable[..., ManifestError]) -> None:
    """What every object needs, also those of foreign groups, whose fields are not known."""
    metadata = value.get("metadata", {})
    if metadata is not None and not isinstance(metadata, dict):
        raise fail("metadata is not an object", ("metadata",), metadata, "an object")
    for key in ("name", "generateName", "namespace"):
        text = (metadata or {}).get(key)
        if text is not None and not isinstance(text, str):
            raise fail(f"{key} is not a text", ("metadata", key), text, "a string")
    for key in ("labels", "annotations"):
        texts = (metadata or {}).get(key)
        if texts is None:
            continue
        if not isinstance(texts, dict):
            raise fail(f"{key} is not an object", ("metadata", key), texts, "an object")
        for name, text in texts.items():
            if not isinstance(text, str):
                raise fail(f"{key}.{name} is not a text", ("metadata", key, name), text, "a string")
