"""Causes inside a Status: why exactly a create was refused.

Upstream: apimachinery/pkg/api/errors/errors.go (HasStatusCause), api/core/v1/types.go (NamespaceTerminatingCause)
"""

from __future__ import annotations

from k8slab.api.errors import StatusError

__all__ = ["has_namespace_terminating_cause"]


def has_namespace_terminating_cause(error: BaseException) -> bool:
    """The create was refused because its namespace is being deleted: trying again is of no use."""
    details = error.details if isinstance(error, StatusError) else None
    causes = (details or {}).get("causes") or ()
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)
