"""AdmissionReview: what a webhook is sent, and what it may answer.

Spec: admission.k8s.io/v1 (AdmissionReview, AdmissionRequest, AdmissionResponse)
Upstream: apiserver/pkg/admission/plugin/webhook/request/admissionreview.go,
apiserver/pkg/admission/plugin/webhook/errors/statuserror.go
Simplified: a value of a wrong type in an answer is refused in encoding/json's words for the field alone.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from k8slab.api.errors import ServerPanicError, StatusError
from k8slab.api.go_json import JSONError, json_kind, parse
from k8slab.api.labels import go_quote
from k8slab.api.objects import Object, thaw
from k8slab.apiserver.admission.attributes import Attributes
from k8slab.apiserver.admission.webhook.matching import Invocation
from k8slab.apiserver.admission.webhook.subject import admission_request, versioned

__all__ = ["Answer", "ReviewError", "denial", "read_answer", "review_of", "review_version"]

GROUP = "admission.k8s.io"
VERSIONS = ("v1", "v1beta1")
_TYPE_META = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'
_FIELDS = {
    "uid": (str, "string"),
    "allowed": (bool, "bool"),
    "status": (Mapping, "v1.Status"),
    "patch": (str, "[]uint8"),
    "patchType": (str, "v1.PatchType"),
    "auditAnnotations": (Mapping, "map[string]string"),
    "warnings": (list, "[]string"),
}
_STATUS = {
    "metadata": (Mapping, "v1.ListMeta"),
    "status": (str, "string"),
    "message": (str, "string"),
    "reason": (str, "v1.StatusReason"),
    "details": (Mapping, "v1.StatusDetails"),
    "code": (int, "int32"),
}
_DETAILS = {
    "name": (str, "string"),
    "group": (str, "string"),
    "kind": (str, "string"),
    "uid": (str, "types.UID"),
    "causes": (list, "[]v1.StatusCause"),
    "retryAfterSeconds": (int, "int32"),
}
_CAUSE = {"reason": (str, "v1.CauseType"), "message": (str, "string"), "field": (str, "string")}
_HIGHEST_CODE = 999
_INT32 = range(-(1 << 31), 1 << 31)


class ReviewError(ValueError):
    """An answer that is none. `is_call`: it could not even be read, so that the call counts as failed."""

    def __init__(self, message: str, *, is_call: bool = False) -> None:
        super().__init__(message)
        self.is_call = is_call


class Answer(NamedTuple):
    """`patch`: the JSON of a JSON Patch, empty for none. `status`: as the webhook sent it, None for none."""

    allowed: bool
    patch: bytes = b""
    patch_type: str = ""
    status: Object | None = None
    warnings: tuple[str, ...] = ()
    annotations: Mapping[str, str] = {}


# -- asking ------------------------------------------------------------------------------------------


def review_version(accepted: Any) -> str | None:
    """The first version of AdmissionReview that the webhook accepts and the server knows."""
    return next((version for version in accepted or () if version in VERSIONS), None)


def review_of(attributes: Attributes, invocation: Invocation, uid: str, version: str = "v1") -> dict[str, Any]:
    """The AdmissionReview to send; the object and the old object are in the version the webhook asked for."""
    request = admission_request(attributes, invocation.resource, invocation.kind)
    obj, old = (versioned(one, invocation.kind) for one in (attributes.object, attributes.old))
    tail = {name: request.pop(name) for name in ("dryRun", "options")}
    whole = {"uid": uid, **request, "object": _plain(obj), "oldObject": _plain(old), **tail}
    return {"kind": "AdmissionReview", "apiVersion": f"{GROUP}/{version}", "request": whole}


def _plain(obj: Object | None) -> Any:
    if obj is None:
        return None
    metadata = {key: value for key, value in (obj.get("metadata") or {}).items() if key != "managedFields"}
    head = {"kind": obj.get("kind"), "apiVersion": obj.get("apiVersion"), "metadata": metadata}
    return thaw({**head, **{key: value for key, value in obj.items() if key not in head}})


# -- being answered ----------------------------------------------------------------------------------


def read_answer(body: bytes, uid: str, *, is_mutating: bool, version: str = "v1") -> Answer:
    """What a webhook answered. Raises ReviewError with upstream's text."""
    review = _decoded(body)
    given = review.get("response")
    if given is None:
        raise ReviewError("webhook response was absent")
    response = _typed(given)
    patch, patch_type = _patch(response), response.get("patchType")
    if version == "v1":
        _check_identity(review, response, uid)
        _check_patch(patch, patch_type, is_mutating)
    elif patch:
        patch, patch_type = (patch, "JSONPatch") if is_mutating else (b"", None)
    return Answer(
        allowed=response.get("allowed") or False,
        patch=patch,
        patch_type=patch_type or "",
        status=response.get("status"),
        warnings=tuple(text for text in response.get("warnings") or () if text),
        annotations={key: text or "" for key, text in (response.get("auditAnnotations") or {}).items()},
    )


def _decoded(body: bytes) -> Mapping[str, Any]:
    try:
        review, _ = parse(body)
    except JSONError as error:
        raise ReviewError(f"couldn't get version/kind; json parse error: {error}", is_call=True) from None
    review, why = {} if review is None else review, ""
    if not isinstance(review, Mapping):
        why = f"json: cannot unmarshal {json_kind(review)} into Go value of type {_TYPE_META}"
    else:
        wrong = [name for name in ("apiVersion", "kind") if not isinstance(review.get(name) or "", str)]
        if wrong:
            kind = json_kind(review[wrong[0]])
            why = f"json: cannot unmarshal {kind} into Go struct field .{wrong[0]} of type string"
    if why:
        raise ReviewError(f"couldn't get version/kind; json parse error: {why}", is_call=True)
    return dict(review)


def _typed(given: Any) -> Mapping[str, Any]:
    """The response, once everything in it has the type it should have; what is null is not there."""
    _check_fields(given, "response", "AdmissionReview", "AdmissionResponse", _FIELDS)
    for field in ("auditAnnotations", "warnings"):
        values = given.get(field) or ()
        for value in values.values() if isinstance(values, Mapping) else values:
            if value is not None and not isinstance(value, str):
                raise _mismatch(value, "AdmissionResponse", f"response.{field}", "string")
    if (status := given.get("status")) is not None:
        _check_fields(status, "response.status", "AdmissionResponse", "Status", _STATUS)
        details = status.get("details") or {}
        _check_fields(details, "response.status.details", "Status", "StatusDetails", _DETAILS)
        for cause in details.get("causes") or ():
            if cause is not None:
                _check_fields(cause, "response.status.details.causes", "StatusDetails", "StatusCause", _CAUSE)
    return dict(given)


def _check_fields(given: Any, path: str, within: str, struct: str, fields: Mapping[str, tuple[type, str]]) -> None:
    """`given` is a `struct`, at `path`, which is a field of the Go struct `within`."""
    if not isinstance(given, Mapping):
        raise _mismatch(given, within, path, f"v1.{struct}")
    for field, (kind, go_type) in fields.items():
        value = given.get(field)
        is_wrong = not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)
        if value is not None and (is_wrong or (kind is int and value not in _INT32)):
            raise _mismatch(value, struct, f"{path}.{field}", go_type)


def _mismatch(value: Any, struct: str, path: str, go_type: str) -> ReviewError:
    """Go names the innermost struct, and the path from the outermost."""
    kind = json_kind(value)
    if kind == "number" and go_type == "int32":  # a number, but none that fits
        kind = f"number {json.dumps(value)}"
    text = f"json: cannot unmarshal {kind} into Go struct field {struct}.{path} of type {go_type}"
    return ReviewError(text, is_call=True)


def _patch(response: Mapping[str, Any]) -> bytes:
    text = (response.get("patch") or "").replace("\r", "").replace("\n", "")  # Go's decoder skips line ends
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
        at = next((i for i, character in enumerate(text) if character not in alphabet), len(text) // 4 * 4)
        raise ReviewError(f"illegal base64 data at input byte {at}", is_call=True) from None


def _check_identity(review: Mapping[str, Any], response: Mapping[str, Any], uid: str) -> None:
    given = response.get("uid") or ""
    if given != uid:
        raise ReviewError(f"expected response.uid={go_quote(uid)}, got {go_quote(given)}")
    api_version, kind = review.get("apiVersion") or "", review.get("kind") or ""
    if (api_version, kind) != (f"{GROUP}/v1", "AdmissionReview"):
        group, _, version = api_version.rpartition("/")
        shown = f"{group}/{version}, Kind={kind}"
        raise ReviewError(f"expected webhook response of {GROUP}/v1, Kind=AdmissionReview, got {shown}")


def _check_patch(patch: bytes, patch_type: str | None, is_mutating: bool) -> None:
    if not is_mutating:
        if patch:
            raise ReviewError("validating webhook may not return response.patch")
        if patch_type is not None:
            raise ReviewError("validating webhook may not return response.patchType")
        return
    if patch and patch_type is None:
        raise ReviewError("webhook returned response.patch but not response.patchType")
    if not patch and patch_type is not None:
        raise ReviewError("webhook returned response.patchType but not response.patch")
    if patch_type == "":
        raise ReviewError('webhook returned invalid response.patchType of ""')


def denial(webhook: str, status: Object | None) -> StatusError:
    """What the client is told of a webhook that said no: its code and reason, 400 without a code of its own.

    With a code of four digits Go's HTTP server panics as it writes the answer.
    """
    given = status or {}
    if (given.get("code") or 0) > _HIGHEST_CODE:
        return ServerPanicError()
    message, reason = given.get("message") or "", given.get("reason") or ""
    denied = f"admission webhook {go_quote(webhook)} denied the request"
    text = f"{denied}: {message or reason}" if message or reason else f"{denied} without explanation"
    code = given.get("code") or 0
    return StatusError(
        text,
        code=code if code >= 400 else 400,
        reason=reason,
        details=thaw(given["details"]) if given.get("details") else None,
        metadata=dict(given.get("metadata") or {}),
    )
