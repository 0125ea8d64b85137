"""A scheduler's configuration without what is secret in it: keys, certificates, passwords in addresses.

>>> print(without_secrets("extenders: [{urlPrefix: 'https://me:hush@gpu.local/x', tlsConfig: {keyData: aHVzaA==}}]"))
{"extenders": [{"urlPrefix": "https://gpu.local/x"}]}
>>> without_userinfo("extender https://me:hush@gpu.local/x")
'extender https://gpu.local/x'

Upstream: none
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from k8slab.api.yaml_json import YAMLError, parse_documents

__all__ = ["scrubbed", "without_secrets", "without_userinfo"]

_USERINFO = re.compile(r"//[^/\s'\"]*@")
_ECHO = re.compile(r"( is missing) in '.*", re.DOTALL)
_DROPPED = ("clientConnection", "tlsConfig")


def without_userinfo(text: str) -> str:
    """Addresses in a text, without user and password."""
    return _USERINFO.sub("//", text)


def without_secrets(text: str | bytes) -> str:
    """The configuration in a text as JSON, cut down. What cannot be read comes to nothing ("")."""
    documents = list(parse_documents(text))
    if len(documents) != 1 or isinstance(documents[0], YAMLError):
        return ""
    return json.dumps(_cut(documents[0].value), ensure_ascii=False, sort_keys=True)


def scrubbed(message: str, text: str | bytes) -> str:
    """A message about the configuration in `text`, with none of its secrets."""
    message = without_userinfo(_ECHO.sub(r"\1", message))
    for document in parse_documents(text):
        for secret in () if isinstance(document, YAMLError) else _secrets(document.value, is_secret=False):
            message = message.replace(secret, "...")
    return message


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _cut(inner) for name, inner in value.items() if name not in _DROPPED}
    if isinstance(value, list):
        return [_cut(item) for item in value]
    return without_userinfo(value) if isinstance(value, str) else value


def _secrets(value: Any, *, is_secret: bool) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _secrets(inner, is_secret=is_secret or name in _DROPPED)
    elif isinstance(value, list):
        for item in value:
            yield from _secrets(item, is_secret=is_secret)
    elif is_secret and isinstance(value, str) and len(value) > 3:
        yield value
