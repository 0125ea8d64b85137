"""What can go wrong below the registry, and the API error it becomes.

Upstream: apiserver/pkg/storage/errors.go, apiserver/pkg/storage/errors/storage.go
"""

from __future__ import annotations

from typing import Any

from k8slab.api.errors import AlreadyExistsError, ConflictError, ExpiredError, NotFoundError, StatusError
from k8slab.api.errors import TimeoutStatusError as ApiTimeoutError

__all__ = [
    "CONTINUE_EXPIRED",
    "GuardError",
    "KeyExistsError",
    "KeyNotFoundError",
    "ObjectInvalidError",
    "StorageError",
    "interpret",
    "list_expired",
    "too_large",
    "too_old",
]

CONTINUE_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class StorageError(Exception):
    """A storage operation did not take place. `code` as upstream numbers them."""

    code = 0
    text = ""

    def __init__(self, key: str, why: str = "<nil>", revision: int = 0) -> None:
        self.key = key
        super().__init__(
            f"StorageError: {self.text}, Code: {self.code}, Key: {key}, ResourceVersion: {revision}, "
            f"AdditionalErrorMsg: {why}"
        )


class GuardError(Exception):
    """A further condition of a create does not hold any more: compute the object anew."""


class KeyNotFoundError(StorageError):
    code, text = 1, "key not found"


class KeyExistsError(StorageError):
    code, text = 2, "key exists"


class ObjectInvalidError(StorageError):
    """A precondition (uid, resourceVersion) does not hold."""

    code, text = 4, "invalid object"


def interpret(error: StorageError, resource: str, name: str, group: str) -> StatusError:
    """The API error of a storage error."""
    if isinstance(error, KeyNotFoundError):
        return NotFoundError.of(resource, name, group)
    if isinstance(error, KeyExistsError):
        return AlreadyExistsError.of(resource, name, group)
    return ConflictError.of(resource, name, str(error), group)


def too_old(requested: int, oldest: int) -> ExpiredError:
    """A watch asks for history that is gone."""
    return ExpiredError(f"too old resource version: {requested} ({oldest})")


def list_expired(next_token: str = "") -> ExpiredError:
    """A list at a compacted revision. With `next_token` the rest can be had, inconsistently."""
    if next_token:
        return ExpiredError(CONTINUE_EXPIRED, metadata={"continue": next_token})
    return ExpiredError("The resourceVersion for the provided list is too old.")


def too_large(requested: int, current: int) -> ApiTimeoutError:
    """Somebody asks for a resourceVersion that does not exist yet."""
    details: dict[str, Any] = {
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    }
    return ApiTimeoutError(f"Timeout: Too large resource version: {requested}, current: {current}", details=details)
