"""`Object{}` and `JSONPatch{}`: the messages that mutating policies build.

The library knows messages only from protobuf descriptors, so an initialiser is rewritten into a call that keeps its
type's name beside its fields:

>>> rewrite('Object{spec: Object.spec{replicas: 3}}')
'k8s_message("Object", {"spec": k8s_message("Object.spec", {"replicas": 3})})'
>>> rewrite('"Object{a: 1}"')
'"Object{a: 1}"'

Upstream: apiserver/pkg/cel/mutation/{typeresolver,jsonpatch}.go, apiserver/pkg/cel/mutation/dynamic/objects.go
"""

from __future__ import annotations

import re
from typing import Any

from k8slab.api.labels import go_quote

__all__ = ["FUNCTION", "fields_of_message", "message", "mismatch", "rewrite", "type_of_message"]

FUNCTION = "k8s_message"
_TYPE, _FIELDS = "k8s.type", "k8s.fields"
_TOKEN = re.compile(
    r"""(?P<text>[rRbB]{0,2}(?:\"\"\"(?:\\.|[^\\])*?\"\"\"|'''(?:\\.|[^\\])*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'))
    |(?P<comment>//[^\n]*)
    |(?P<head>(?<![\w.])(?:Object(?:\s*\.\s*\w+)*|JSONPatch)\s*\{)
    |(?P<field>[A-Za-z_]\w*|`[^`]*`)(?=\s*:(?!:))
    |(?P<open>[({\[])
    |(?P<close>[)}\]])
    |(?P<other>[A-Za-z_]\w*|.|\n)""",
    re.VERBOSE | re.DOTALL,
)


def rewrite(expression: str) -> str:
    """The expression with initialisers as calls. Everything else stays, to the letter."""
    if "Object" not in expression and "JSONPatch" not in expression:
        return expression
    found: list[str] = []
    brackets: list[bool] = []  # of each open bracket: does it belong to an initialiser?
    is_name_next = False  # directly after the brace or a comma of an initialiser
    for match in _TOKEN.finditer(expression):
        text, kind = match.group(), match.lastgroup
        if kind == "head":
            name = re.sub(r"\s", "", text[:-1])
            found.append(f'{FUNCTION}("{name}", {{')
            brackets.append(True)
            is_name_next = True
            continue
        if kind == "open":
            brackets.append(False)
        elif kind == "close" and brackets and brackets.pop():
            text = "})"
        elif kind == "field" and is_name_next:
            text = f'"{text.strip("`")}"'
        found.append(text)
        if not text.isspace() and kind != "comment":
            is_name_next = text == "," and bool(brackets) and brackets[-1]
    return "".join(found)


def message(name: str, fields: Any) -> dict[str, Any]:
    """What the rewritten call returns."""
    return {_TYPE: name, _FIELDS: fields}


def type_of_message(value: Any) -> str:
    """`Object.spec`, `JSONPatch`; empty for what is no message."""
    return str(value[_TYPE]) if isinstance(value, dict) and set(value) == {_TYPE, _FIELDS} else ""


def fields_of_message(value: Any) -> Any:
    """Messages as plain objects, all the way down."""
    if type_of_message(value):
        return {key: fields_of_message(item) for key, item in value[_FIELDS].items()}
    if isinstance(value, dict):
        return {key: fields_of_message(item) for key, item in value.items()}
    return [fields_of_message(item) for item in value] if isinstance(value, list) else value


def mismatch(value: Any, path: str = "Object") -> str:
    """Upstream's complaint about a message whose type does not say where it stands; empty when all do."""
    name = type_of_message(value)
    if not name:
        return ""
    if name != path:
        expected = f"expected {go_quote(path)}, which matches field name path from root Object type"
        return f"unexpected type name {go_quote(name)}, {expected}"
    for key, item in value[_FIELDS].items():
        for one in item if isinstance(item, list) else [item]:
            if problem := mismatch(one, f"{path}.{key}"):
                return problem
    return ""
