"""JSON Patch as the API server applies it, with the oddities of its library.

>>> json_patch({"a": [1, 2]}, [{"op": "add", "path": "/a/-", "value": 3}, {"op": "remove", "path": "/a/-2"}])
{'a': [1, 3]}
>>> json_patch({}, [{"op": "replace", "path": "/missing", "value": 1}])
{'missing': 1}

Differences from RFC 6902: negative indexes count from the end, `replace` of a missing key adds it, `copy` of a missing
key gives null, `test` of a missing path against null passes, `add` without a value stores null, `01` is an index.

Spec: RFC 6902
Upstream: gopkg.in/evanphx/json-patch.v4 patch.go
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from k8slab.api.objects import thaw
from k8slab.api.patch.go_values import PatchError, equal, go_type

__all__ = ["json_patch"]

_MISSING = "missing value"
_BAD_INDEX = "invalid index referenced"
_INTEGER = re.compile(r"[+-]?[0-9]+").fullmatch


def json_patch(document: Any, operations: Any) -> Any:
    """`document` with `operations` applied in order, as a new value.

    PatchError (a ValueError) names the operation and the path: code 400 when `operations` is no list of objects, 422
    when one cannot be applied. Nothing is applied then. null is an empty list, or an empty object, as Go reads it.
    """
    if operations is None:
        operations = []
    if not isinstance(operations, list):
        raise PatchError(f"json: cannot unmarshal {_kind(operations)} into Go value of type jsonpatch.Patch", 400)
    root = [thaw(document)]
    for given in operations:
        operation = {} if given is None else given
        if not isinstance(operation, Mapping):
            text = f"json: cannot unmarshal {_kind(operation)} into Go value of type jsonpatch.Operation"
            raise PatchError(text, 400)
        kind = operation.get("op")
        apply = _OPERATIONS.get(kind) if isinstance(kind, str) else None
        if apply is None:
            raise _failure(f"Unexpected kind: {kind if isinstance(kind, str) else 'unknown'}")
        apply(root, operation)
    return root[0]


def _failure(text: str) -> PatchError:
    return PatchError(text, 422)


def _kind(value: Any) -> str:
    if value is None or isinstance(value, (bool, str)):
        return "bool" if isinstance(value, bool) else "string"
    return "array" if isinstance(value, list) else "object" if isinstance(value, Mapping) else "number"


def _text(operation: Mapping[str, Any], name: str, what: str) -> str:
    value = operation.get(name)
    if isinstance(value, str):
        return value
    if name == "path" and what in ("add", "remove", "copy"):
        why = _MISSING
    elif value is not None:
        why = f"json: cannot unmarshal {_kind(value)} into Go value of type string"
    else:
        why = f"operation{',' if name == 'from' else ''} missing {name} field: {_MISSING}"
    raise _failure(f"{what} operation failed to decode {name}: {why}")


def _unescape(token: str) -> str:
    return token.replace("~1", "/").replace("~0", "~")


def _container(root: list[Any], path: str) -> tuple[Any, str] | None:
    """The object or list that holds the last part of a path, and that part; None where nothing is there."""
    parts = path.split("/")
    if len(parts) < 2:
        return None
    here = root[0]
    for part in parts[1:-1]:
        found, here = _get(here, _unescape(part))
        if not found or not isinstance(here, (dict, list)):
            return None
    return (here, _unescape(parts[-1])) if isinstance(here, (dict, list)) else None


def _index(key: str) -> int:
    if not _INTEGER(key):
        raise _failure(f'strconv.Atoi: parsing "{key}": invalid syntax')
    return int(key)


def _get(container: Any, key: str) -> tuple[bool, Any]:
    """Whether the key is there, and its value (None otherwise)."""
    if isinstance(container, dict):
        return key in container, container.get(key)
    if not isinstance(container, list) or not _INTEGER(key):
        return False, None
    index = int(key)
    if index < 0:
        index += len(container)
    return (True, container[index]) if 0 <= index < len(container) else (False, None)


def _checked_get(container: Any, key: str) -> Any:
    """As `get` upstream: a missing key of an object is no error, a bad index of a list is."""
    if isinstance(container, dict):
        return container.get(key)
    index = _index(key)
    where = index + len(container) if index < 0 else index
    if not 0 <= where < len(container):
        raise _failure(f"Unable to access invalid index: {index}: {_BAD_INDEX}")
    return container[where]


def _insert(container: Any, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
    elif key == "-":
        container.append(value)
    else:
        try:
            index = _index(key)
        except PatchError as e:
            raise _failure(f"value was not a proper array index: '{key}': {e}") from None
        where = index + len(container) + 1 if index < 0 else index
        if not 0 <= where <= len(container):
            raise _failure(f"Unable to access invalid index: {index}: {_BAD_INDEX}")
        container.insert(where, value)


def _set(container: Any, key: str, value: Any) -> None:
    if isinstance(container, dict):
        container[key] = value
        return
    index = _index(key)
    where = index + len(container) if index < 0 else index
    if not 0 <= where < len(container):
        raise _failure(f"Unable to access invalid index: {index}: {_BAD_INDEX}")
    container[where] = value


def _delete(container: Any, key: str) -> None:
    if isinstance(container, dict):
        if key not in container:
            raise _failure(f"Unable to remove nonexistent key: {key}: {_MISSING}")
        del container[key]
        return
    index = _index(key)
    where = index + len(container) if index < 0 else index
    if not 0 <= where < len(container):
        raise _failure(f"Unable to access invalid index: {index}: {_BAD_INDEX}")
    del container[where]


def _add(root: list[Any], operation: Mapping[str, Any]) -> None:
    path = _text(operation, "path", "add")
    found = _container(root, path)
    if found is None:
        raise _failure(f'add operation does not apply: doc is missing path: "{path}": {_MISSING}')
    try:
        _insert(*found, thaw(operation.get("value")))
    except PatchError as e:
        raise _failure(f"error in add for path: '{path}': {e}") from None


def _remove(root: list[Any], operation: Mapping[str, Any]) -> None:
    path = _text(operation, "path", "remove")
    found = _container(root, path)
    if found is None:
        raise _failure(f'remove operation does not apply: doc is missing path: "{path}": {_MISSING}')
    try:
        _delete(*found)
    except PatchError as e:
        raise _failure(f"error in remove for path: '{path}': {e}") from None


def _replace(root: list[Any], operation: Mapping[str, Any]) -> None:
    path = _text(operation, "path", "replace")
    value = thaw(operation.get("value"))
    if path == "":
        if not isinstance(value, (dict, list)):
            raise _failure("replace operation value must be object or array: %!w(<nil>)")
        root[0] = value
        return
    found = _container(root, path)
    if found is None:
        raise _failure(f"replace operation does not apply: doc is missing path: {path}: {_MISSING}")
    container, key = found
    if isinstance(container, list):
        try:
            _checked_get(container, key)
        except PatchError:
            raise _failure(f"replace operation does not apply: doc is missing key: {path}: {_MISSING}") from None
    _set(container, key, value)


def _move(root: list[Any], operation: Mapping[str, Any]) -> None:
    source = _text(operation, "from", "move")
    found = _container(root, source)
    if found is None:
        raise _failure(f"move operation does not apply: doc is missing from path: {source}: {_MISSING}")
    container, key = found
    try:
        value = _checked_get(container, key)
        _delete(container, key)
    except PatchError as e:
        raise _failure(f"error in move for path: '{key}': {e}") from None
    path = _text(operation, "path", "move")
    target = _container(root, path)
    if target is None:
        raise _failure(f"move operation does not apply: doc is missing destination path: {path}: {_MISSING}")
    try:
        _insert(*target, value)
    except PatchError as e:
        raise _failure(f"error in move for path: '{path}': {e}") from None


def _copy(root: list[Any], operation: Mapping[str, Any]) -> None:
    source = _text(operation, "from", "copy")
    found = _container(root, source)
    if found is None:
        raise _failure(f"copy operation does not apply: doc is missing from path: {source}: {_MISSING}")
    container, key = found
    try:
        value = _checked_get(container, key)
    except PatchError as e:
        raise _failure(f"error in copy for from: '{source}': {e}") from None
    path = _text(operation, "path", "copy")
    target = _container(root, path)
    if target is None:
        raise _failure(f"copy operation does not apply: doc is missing destination path: {path}: {_MISSING}")
    try:
        _insert(*target, thaw(value))
    except PatchError as e:
        raise _failure(f"error while adding value during copy: {e}") from None


def _test(root: list[Any], operation: Mapping[str, Any]) -> None:
    path = _text(operation, "path", "test")
    failed = _failure(f"testing value {path} failed: test failed")
    wanted = operation.get("value")
    if path == "":
        if not _json_equal(root[0], wanted):
            raise failed
        return
    found = _container(root, path)
    if found is None:
        raise _failure(f"test operation does not apply: is missing path: {path}: {_MISSING}")
    try:
        value = _checked_get(*found)
    except PatchError as e:
        raise _failure(f"error in test for path: '{path}': {e}") from None
    if not _json_equal(value, wanted):
        raise failed


def _json_equal(a: Any, b: Any) -> bool:
    """Equal as JSON texts, whitespace and key order aside; numbers compare by their text."""
    if isinstance(a, dict) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_json_equal(v, b[k]) for k, v in a.items())
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_json_equal, a, b))
    return go_type(a) == go_type(b) and equal(a, b)


_OPERATIONS: dict[str, Callable[[list[Any], Mapping[str, Any]], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "test": _test,
    "copy": _copy,
}
