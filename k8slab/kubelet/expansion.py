"""`$(VAR)` in the command, the arguments and the environment of a container.

>>> from k8slab.kubelet.expansion import expand
>>> expand("$(HOST):80 $$(HOST) $(OTHER)", {"HOST": "web"})
'web:80 $(HOST) $(OTHER)'

Upstream: third_party/forked/golang/expansion/expand.go
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["expand"]

_OPERATOR, _OPENER, _CLOSER = b"$()"


def expand(text: str, *scopes: Mapping[str, str]) -> str:
    """`text` with every `$(NAME)` replaced from the first scope that has it; unknown names stay, `$$` is a `$`.

    What was put in is not expanded again. Works on bytes, as upstream does.
    """
    raw = text.encode("utf-8", "surrogatepass")
    out = bytearray()
    at = 0
    while at < len(raw):
        if raw[at] != _OPERATOR or at + 1 == len(raw):
            out.append(raw[at])
            at += 1
            continue
        piece, consumed = _read(raw, at + 1, scopes)
        out += piece
        at += 1 + consumed
    return out.decode("utf-8", "replace")


def _read(raw: bytes, at: int, scopes: tuple[Mapping[str, str], ...]) -> tuple[bytes, int]:
    """What stands for the expression whose operator is before `at`, and how many bytes after that it takes."""
    if raw[at] == _OPERATOR:
        return b"$", 1
    if raw[at] != _OPENER:
        return b"$" + chr(raw[at]).encode(), 1
    end = raw.find(_CLOSER, at)
    if end < 0:
        return b"$(", 1
    name = raw[at + 1 : end].decode("utf-8", "surrogatepass")
    value = next((scope[name] for scope in scopes if name in scope), f"$({name})")
    return value.encode("utf-8", "surrogatepass"), end + 1 - at
