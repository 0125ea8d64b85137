"""The `continue` token of a paged list: base64 of a small JSON object.

>>> token = encode_continue("/registry/pods/default/web-1", "/registry/pods/", 42)
>>> decode_continue(token, "/registry/pods/")
('/registry/pods/default/web-1', 42)

Upstream: apiserver/pkg/storage/continue.go
"""

from __future__ import annotations

import base64
import binascii
import json
import posixpath
from typing import Any

__all__ = ["ANY_REVISION", "decode_continue", "encode_continue"]

ANY_REVISION = -1
"""In a token: go on at whatever revision is current."""

_VERSION = "meta.k8s.io/v1"
_BAD = "continue key is not valid"


def encode_continue(key: str, prefix: str, revision: int) -> str:
    """The token that goes on at `key` (which lies under `prefix`) in the list as of `revision`."""
    if not key.startswith(prefix):
        raise ValueError(f"continue key {key!r}: expected it to start with {prefix!r}")
    document = {"v": _VERSION, "rv": revision, "start": key.removeprefix(prefix)}
    data = json.dumps(document, separators=(",", ":")).replace("\\x00", "\\u0000")
    return base64.urlsafe_b64encode(data.encode()).decode().rstrip("=")


def decode_continue(token: str, prefix: str) -> tuple[str, int]:
    """(start key, revision) of a token; ValueError with upstream's text."""
    try:
        data = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"{_BAD}: illegal base64 data at input byte {_bad_byte(token)}") from None
    document = _parse(data)
    if document.get("v") != _VERSION:
        raise ValueError(f"{_BAD}: server does not recognize this encoded version {document.get('v') or ''}")
    if not document.get("rv"):
        raise ValueError(f"{_BAD}: incorrect encoded start resourceVersion (version {_VERSION})")
    start = document.get("start") or ""
    if not start:
        raise ValueError(f"{_BAD}: encoded start key empty (version {_VERSION})")
    path = start if start.startswith("/") else "/" + start
    if posixpath.normpath(path) != path or path.startswith("//"):
        raise ValueError(f"{_BAD}: {start}")
    return prefix + path[1:], int(document["rv"])


def _bad_byte(token: str) -> int:
    legal = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    illegal = (i for i, character in enumerate(token) if character not in legal)
    return next(illegal, len(token) - len(token) % 4)  # a lone last character is half a byte


def _parse(data: bytes) -> dict[str, Any]:
    try:
        document = json.loads(data.decode("utf-8", "replace"))
    except json.JSONDecodeError:
        raise ValueError(f"{_BAD}: {_why_no_json(data)}") from None
    if not isinstance(document, dict):
        raise ValueError(f"{_BAD}: json: cannot unmarshal into Go value of type storage.continueToken")
    return document


def _why_no_json(data: bytes) -> str:
    """encoding/json's words, which name the wrong byte as if it were a Latin-1 character."""
    text = data.decode("latin-1")
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        if error.pos < len(text):
            at_value = error.msg.startswith("Expecting value")
            where = "looking for beginning of value" if at_value else "after top-level value"
            return f"invalid character {text[error.pos]!r} {where}"
    return "unexpected end of JSON input"
