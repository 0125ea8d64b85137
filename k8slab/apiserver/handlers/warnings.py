"""Warning headers: what a client is told beside its answer, be that a refusal.

>>> warning_headers(['say "x"', "", 'say "x"'])
['299 - "say \\\\"x\\\\""']
>>> [len(text) for text in warning_headers(["a" * 4_000, "b" * 200])]
[264, 208]

As long as all texts together have at most 4,096 characters they go out whole. The one that exceeds that cuts every
text, those before and those to come, to 256 characters; once the cut ones fill 4,096, nothing more is said.

Spec: RFC 7234 5.5 (warn-code 299, warn-agent -)
Upstream: apiserver/pkg/endpoints/filters/warning.go, apimachinery/pkg/util/net/http.go (NewWarningHeader)
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

__all__ = ["warning_headers"]

_TOTAL, _EACH = 4 * 1_024, 256


def warning_headers(texts: Iterable[str]) -> list[str]:
    """The values of the headers. Empty texts, repeated ones and those with control characters have none."""
    ordered: list[str] = []
    said: list[str] = []
    total, is_cutting = 0, False
    for text in dict.fromkeys(texts):
        if not text or (is_cutting and total >= _TOTAL):
            continue
        ordered.append(text)
        shown = text[:_EACH] if is_cutting else text
        if _has_controls(shown):
            continue
        said.append(shown)
        total += len(shown)
        if total > _TOTAL and not is_cutting:
            is_cutting = True
            said = [one for one in (whole[:_EACH] for whole in ordered) if not _has_controls(one)]
            total = sum(map(len, said))
    return [f"299 - {_quoted(text)}" for text in said]


def _has_controls(text: str) -> bool:
    return any(unicodedata.category(character) == "Cc" for character in text)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
