"""Applying a patch to the object as it is.

Upstream: apiserver/pkg/endpoints/handlers/patch.go
Simplified: no server-side apply; only the top-level fields a strategic patch names go through the merge.
"""

from __future__ import annotations

import json
from typing import Any

from k8slab.api.decoding import DecodeError, decode, strict_error, unknown_field
from k8slab.api.errors import BadRequestError, Cause, InternalError, InvalidError, StatusError
from k8slab.api.go_json import JSONError, json_kind, parse
from k8slab.api.labels import go_quote
from k8slab.api.objects import Object, thaw
from k8slab.api.patch.go_values import PatchError, go_text
from k8slab.api.patch.json_patch import json_patch
from k8slab.api.patch.merge import merge_patch
from k8slab.api.patch.strategic import strategic_merge_patch
from k8slab.api.scheme import GVK, SCHEME, gvk_of
from k8slab.api.transport import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from k8slab.apiserver.handlers.codecs import not_registered, unknown_conversion

__all__ = ["apply_patch", "parse_patch"]

_REJECTED = "the server rejected our request due to an error in our request"
_MOST_OPERATIONS = 10_000


def parse_patch(data: bytes, patch_type: str) -> Any:
    """The patch document of a body. Raises BadRequestError with upstream's texts."""
    try:
        patch, _ = parse(data)
    except JSONError as error:
        raise BadRequestError(f"{_prefix(patch_type)}{error}") from None
    _check_document(patch, patch_type)
    return patch


def _prefix(patch_type: str) -> str:
    return "" if patch_type == STRATEGIC_MERGE_PATCH else "error decoding patch: "


def _check_document(patch: Any, patch_type: str) -> None:
    """A JSON Patch is a list, any other an object; null is either, as Go reads it."""
    wanted, go_type = (
        (list, "[]handlers.jsonPatchOp") if patch_type == JSON_PATCH else (dict, "map[string]interface {}")
    )
    if not isinstance(patch, wanted) and patch is not None:
        why = f"json: cannot unmarshal {json_kind(patch)} into Go value of type {go_type}"
        raise BadRequestError(_prefix(patch_type) + why)


def _check_operations(operations: list[Any], lenient: bool) -> None:
    """What json_patch cannot be asked: too much, and (unless the client wants no checks) values of a wrong type."""
    if len(operations) > _MOST_OPERATIONS:
        most = f"The allowed maximum operations in a JSON patch is {_MOST_OPERATIONS}, got {len(operations)}"
        raise StatusError(f"Request entity is too large: {most}", code=413, reason="RequestEntityTooLarge")
    for operation in () if lenient else operations:
        if operation is None:
            continue
        why = ""
        if not isinstance(operation, dict):
            why = f"json: cannot unmarshal {json_kind(operation)} into Go value of type handlers.jsonPatchOp"
        else:
            for field in ("op", "path", "from"):
                value = operation.get(field)
                if value is not None and not isinstance(value, str):
                    into = f"Go struct field jsonPatchOp.{field} of type string"
                    why = why or f"json: cannot unmarshal {json_kind(value)} into {into}"
        if why:
            raise BadRequestError(_prefix(JSON_PATCH) + why)


def apply_patch(
    existing: Object, patch: Any, patch_type: str, gvk: GVK, *, strict: bool = False, lenient: bool = False
) -> tuple[Object, list[str]]:
    """(the patched object, paths of unknown fields). Unchanged parts are shared with `existing`.

    `strict`, `lenient`: the fieldValidation Strict and Ignore. Raises BadRequestError, InvalidError, InternalError, and
    a StatusError (413) for too many operations, with upstream's texts.
    """
    _check_document(patch, patch_type)
    if patch_type == JSON_PATCH:
        _check_operations(patch or [], lenient)
    try:
        patched = _apply(existing, patch, patch_type, gvk)
    except PatchError as error:
        if patch_type == JSON_PATCH and error.code == 422:
            raise InvalidError(_REJECTED, details={}) from None
        raise _of_code(error.code, error.message) from None
    except ValueError as error:
        raise BadRequestError(str(error)) from None
    typed, unknown = _typed(existing, patched, patch_type, patch, gvk)
    if strict and unknown:
        shown = go_text(patch) if patch_type == STRATEGIC_MERGE_PATCH else _json(patched)
        raise _invalid_patch(shown, strict_error(map(unknown_field, unknown)))
    return typed, unknown


def _apply(existing: Object, patch: Any, patch_type: str, gvk: GVK) -> dict[str, Any]:
    if patch_type == JSON_PATCH:
        return json_patch(existing, patch)  # type: ignore[no-any-return]
    if patch_type == MERGE_PATCH:
        return merge_patch(existing, patch)  # type: ignore[no-any-return]
    if patch_type != STRATEGIC_MERGE_PATCH:
        raise BadRequestError(f"unknown Content-Type header for patch: {patch_type}")
    patch = patch or {}  # a nil map changes nothing
    if any(name.startswith("$") for name in patch):
        return strategic_merge_patch(existing, patch, gvk)
    touched = strategic_merge_patch({k: existing[k] for k in patch if k in existing}, patch, gvk)
    return {**{k: v for k, v in existing.items() if k not in patch}, **touched}


def _of_code(code: int, message: str) -> StatusError:
    if code == 400:
        return BadRequestError(message)
    return InternalError(message, reason="") if code == 500 else StatusError(message, code=code)


def _typed(
    existing: Object, patched: dict[str, Any], patch_type: str, patch: Any, gvk: GVK
) -> tuple[Object, list[str]]:
    """Check types of what changed, and drop what the kind does not have."""
    if patch_type != STRATEGIC_MERGE_PATCH:  # which works on a typed object: its kind is that of the type
        patched = _of_kind(patched, gvk)
    try:
        decoded = decode(patched, gvk, known=existing)
    except DecodeError as error:
        shown = go_text(patch) if patch_type == STRATEGIC_MERGE_PATCH else _json(patched)
        raise _invalid_patch(shown, str(error)) from None
    merged = {**decoded.object, "apiVersion": gvk.api_version, "kind": gvk.kind}
    return {k: merged[k] for k in dict.fromkeys((*existing, *merged)) if k in merged}, sorted(decoded.unknown)


def _of_kind(patched: dict[str, Any], gvk: GVK) -> dict[str, Any]:
    """The object in the version that is served, when the patch gave it another. InvalidError for another kind."""
    for field in ("apiVersion", "kind"):
        given = patched.get(field)
        if given is not None and not isinstance(given, str):
            why = f"json: cannot unmarshal {json_kind(given)} into Go struct field .{field} of type string"
            raise _invalid_patch(_json(patched), f"couldn't get version/kind; json parse error: {why}")
    try:
        given = gvk_of({"apiVersion": gvk.api_version, "kind": gvk.kind} | {k: v for k, v in patched.items() if v})
    except ValueError as error:
        raise _invalid_patch(_json(patched), str(error)) from None
    if given == gvk:
        return patched
    if given not in SCHEME:
        raise _invalid_patch(_json(patched), not_registered(given))
    if (given.group, given.kind) != (gvk.group, gvk.kind):
        raise _invalid_patch(_json(patched), unknown_conversion(given, gvk))
    from k8slab.api.conversion import convert

    try:
        return thaw(convert(decode(patched, given).object, gvk))  # type: ignore[no-any-return]
    except DecodeError as error:
        raise _invalid_patch(_json(patched), str(error)) from None


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _invalid_patch(shown: str, why: str) -> InvalidError:
    text = f"Invalid value: {go_quote(shown)}: {why}"
    return InvalidError(
        f' "" is invalid: patch: {text}',
        details={"causes": [Cause("FieldValueInvalid", text, "patch")._asdict()]},
    )
