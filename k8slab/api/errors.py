"""API failures: one class per Kubernetes StatusReason, with upstream's wording.

Upstream: apimachinery/pkg/api/errors/errors.go, apimachinery/pkg/apis/meta/v1/types.go (StatusReason)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from k8slab.api.objects import Object

__all__ = [
    "AlreadyExistsError",
    "BadRequestError",
    "Cause",
    "ConflictError",
    "ExpiredError",
    "ForbiddenError",
    "GoneError",
    "InternalError",
    "InvalidError",
    "MethodNotSupportedError",
    "NotAcceptableError",
    "NotFoundError",
    "ServerPanicError",
    "StatusError",
    "TimeoutStatusError",
    "TooManyRequestsError",
    "UnauthorizedError",
    "UnsupportedMediaTypeError",
    "error_of_status",
]


class Cause(NamedTuple):
    """One entry of `details.causes`: `reason` as FieldValueInvalid, `message`, `field` as spec.replicas."""

    reason: str
    message: str
    field: str = ""


class StatusError(Exception):
    """A failure the server answered with. `is_definite`: the request was surely not carried out. `warnings`: what came
    beside it in Warning headers."""

    code: int = 500
    reason: str = ""
    warnings: tuple[str, ...] = ()
    is_definite: ClassVar[bool] = True

    def __init__(
        self,
        message: str,
        *,
        code: int | None = None,
        reason: str | None = None,
        details: dict[str, Any] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code
        if reason is not None:
            self.reason = reason
        self.details = details
        self.metadata = metadata or {}

    def status(self) -> dict[str, Any]:
        """The `Status` object, as the server sends it."""
        status: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


def _details(name: str, group: str, kind: str, causes: Sequence[Cause] = ()) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    if causes:
        details["causes"] = [
            {k: v for k, v in (("reason", c.reason), ("message", c.message), ("field", c.field)) if v} for c in causes
        ]
    return details


def _qualified(resource: str, group: str) -> str:
    return f"{resource}.{group}" if group else resource


class NotFoundError(StatusError):
    code, reason = 404, "NotFound"

    @classmethod
    def of(cls, resource: str, name: str, group: str = "") -> NotFoundError:
        return cls(f'{_qualified(resource, group)} "{name}" not found', details=_details(name, group, resource))


class AlreadyExistsError(StatusError):
    code, reason = 409, "AlreadyExists"

    @classmethod
    def of(cls, resource: str, name: str, group: str = "") -> AlreadyExistsError:
        return cls(f'{_qualified(resource, group)} "{name}" already exists', details=_details(name, group, resource))


class ConflictError(StatusError):
    code, reason = 409, "Conflict"

    @classmethod
    def of(cls, resource: str, name: str, why: str, group: str = "") -> ConflictError:
        return cls(
            f'Operation cannot be fulfilled on {_qualified(resource, group)} "{name}": {why}',
            details=_details(name, group, resource),
        )


class InvalidError(StatusError):
    code, reason = 422, "Invalid"

    @classmethod
    def of(cls, kind: str, name: str, causes: Sequence[Cause], group: str = "") -> InvalidError:
        """`causes` as `field.ErrorList` gives them. The message repeats each as `field: message`; several are
        put in brackets, as upstream's Aggregate does (equal texts once)."""
        texts = list(dict.fromkeys(f"{c.field}: {c.message}" for c in causes))
        text = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
        subject = f'{_qualified(kind, group)} "{name}" is invalid'
        return cls(f"{subject}: {text}" if causes else subject, details=_details(name, group, kind, causes))


class BadRequestError(StatusError):
    code, reason = 400, "BadRequest"


class UnauthorizedError(StatusError):
    code, reason = 401, "Unauthorized"


class ForbiddenError(StatusError):
    code, reason = 403, "Forbidden"

    @classmethod
    def of(cls, resource: str, name: str, why: str, group: str = "") -> ForbiddenError:
        subject = f'{_qualified(resource, group)} "{name}"' if name else _qualified(resource, group)
        text = f"{subject} is forbidden: {why}" if resource else f"forbidden: {why}"
        return cls(text, details=_details(name, group, resource))


class MethodNotSupportedError(StatusError):
    code, reason = 405, "MethodNotAllowed"


class NotAcceptableError(StatusError):
    code, reason = 406, "NotAcceptable"


class ExpiredError(StatusError):
    """410: the resourceVersion or continue token is older than the history kept."""

    code, reason = 410, "Expired"


class GoneError(StatusError):
    code, reason = 410, "Gone"


class UnsupportedMediaTypeError(StatusError):
    code, reason = 415, "UnsupportedMediaType"


class TooManyRequestsError(StatusError):
    code, reason = 429, "TooManyRequests"


class InternalError(StatusError):
    code, reason = 500, "InternalError"
    is_definite = False


class ServerPanicError(InternalError):
    """The server's handler broke: over HTTP the plain text `said`, and here what client-go makes of that."""

    said = "This request caused apiserver to panic. Look in the logs for details."

    def __init__(self) -> None:
        why = {"reason": "UnexpectedServerResponse", "message": self.said}
        text = f'an error on the server ("{self.said}") has prevented the request from succeeding'
        super().__init__(text, details={"causes": [why]})


class TimeoutStatusError(StatusError):
    """504: the server gave up waiting; whether the write happened is unknown."""

    code, reason = 504, "Timeout"
    is_definite = False


_BY_REASON: dict[str, type[StatusError]] = {
    c.reason: c
    for c in (
        NotFoundError,
        AlreadyExistsError,
        ConflictError,
        InvalidError,
        BadRequestError,
        UnauthorizedError,
        ForbiddenError,
        MethodNotSupportedError,
        NotAcceptableError,
        ExpiredError,
        GoneError,
        UnsupportedMediaTypeError,
        TooManyRequestsError,
        InternalError,
        TimeoutStatusError,
    )
}


def error_of_status(status: Object) -> StatusError:
    """The exception for a `Status` object that came over the wire."""
    kind = _BY_REASON.get(status.get("reason", ""), StatusError)
    return kind(
        status.get("message", ""),
        code=status.get("code"),
        reason=status.get("reason", ""),
        details=status.get("details"),
        metadata=dict(status.get("metadata") or {}),
    )
