"""API objects: dicts as users write them in YAML, read-only once they left the server.

What leaves the server, a watch or a cache is `Frozen`. To change it, build a new one with structural sharing
(`{**obj, "metadata": {**obj["metadata"], ...}}`) or `thaw` it. What you pass in belongs to the receiver.

Upstream: none; Go code copies with DeepCopy and trusts everybody not to write to a shared cache.
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import Any, NoReturn, TypeAlias

__all__ = ["Frozen", "FrozenList", "Object", "freeze", "key_of", "thaw"]

Object: TypeAlias = Mapping[str, Any]
"""An API object as users write it in YAML: wire names, plain values. Read it only, unless you made it."""

_ATOMS = (str, int, bool)  # nothing to freeze, and nearly all there is
_READ_ONLY = "read-only: this object came from the API server or a cache; thaw() it first"


class Frozen(dict[str, Any]):
    """A dict that raises TypeError at the line that writes to it."""

    __slots__ = ()

    def _no(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(_READ_ONLY)

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = __ior__ = _no

    def __deepcopy__(self, memo: Any) -> dict[str, Any]:
        return thaw(self)  # type: ignore[no-any-return]

    def __reduce__(self) -> Any:
        return dict, (thaw(self),)


class FrozenList(list[Any]):
    """A list that raises TypeError at the line that writes to it."""

    __slots__ = ()

    def _no(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise TypeError(_READ_ONLY)

    __setitem__ = __delitem__ = append = extend = insert = pop = remove = clear = _no
    sort = reverse = __iadd__ = __imul__ = _no

    def __deepcopy__(self, memo: Any) -> list[Any]:
        return thaw(self)  # type: ignore[no-any-return]

    def __reduce__(self) -> Any:
        return list, (thaw(self),)


def freeze(value: Any) -> Any:
    """A read-only copy; parts that are frozen already are shared, not copied."""
    kind = type(value)
    if kind is Frozen or kind is FrozenList:
        return value
    if isinstance(value, dict):
        return Frozen({k: v if type(v) in _ATOMS else freeze(v) for k, v in value.items()})
    if isinstance(value, list):
        return FrozenList([v if type(v) in _ATOMS else freeze(v) for v in value])
    return value


def thaw(value: Any) -> Any:
    """A copy that may be written to."""
    if isinstance(value, dict):
        return {k: thaw(v) if isinstance(v, (dict, list)) else v for k, v in value.items()}
    if isinstance(value, list):
        return [thaw(v) if isinstance(v, (dict, list)) else v for v in value]
    return value


def key_of(obj: Object) -> str:
    """`namespace/name`, or `name` for what has no namespace (client-go's MetaNamespaceKeyFunc).

    One string for one key: traces and caches hold the same keys many times over.
    """
    metadata = obj["metadata"]
    namespace = metadata.get("namespace")
    return intern(f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"]))
