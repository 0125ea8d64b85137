"""A request as webhooks and policies see it: of which kind, in which namespace, in which version, by whom.

Upstream: apiserver/pkg/admission/{attributes,conversion}.go, apiserver/pkg/admission/plugin/cel/condition.go
"""

from __future__ import annotations

from typing import Any

from k8slab.api.conversion import ConversionError, convert
from k8slab.api.errors import InternalError
from k8slab.api.objects import Object
from k8slab.api.scheme import GVK, GVR, NAMESPACES
from k8slab.apiserver.admission.attributes import Attributes

__all__ = ["admission_request", "internal_error", "namespace_of_request", "request_kind", "versioned"]

_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


def internal_error(why: object) -> InternalError:
    """500, as upstream wraps any error that is none of the API's."""
    return InternalError(f"Internal error occurred: {why}", details={"causes": [{"message": str(why)}]})


def request_kind(attributes: Attributes) -> GVK:
    """The kind that was sent: of a subresource its own (Scale, Binding)."""
    part = attributes.context.info.subresources.get(attributes.subresource)
    return part.gvk if part is not None else attributes.kind


def namespace_of_request(attributes: Attributes) -> str:
    """A request about a Namespace counts as one in it."""
    return attributes.name if attributes.resource == NAMESPACES else attributes.namespace


def versioned(obj: Object | None, kind: GVK) -> Object | None:
    """The object in the version that a webhook asks for. Raises InternalError when there is no way to it."""
    if obj is None or (obj.get("apiVersion"), obj.get("kind")) == (kind.api_version, kind.kind):
        return obj
    if not obj.get("kind"):
        return {"kind": kind.kind, "apiVersion": kind.api_version, **obj}
    try:
        return convert(obj, kind)
    except ConversionError as error:
        raise internal_error(error) from None


def admission_request(attributes: Attributes, resource: GVR, kind: GVK) -> dict[str, Any]:
    """The request without uid and objects: also the CEL variable `request`."""
    context = attributes.context
    sent_as, subresource = request_kind(attributes), attributes.subresource
    found: dict[str, Any] = {"kind": kind._asdict(), "resource": resource._asdict()}
    if subresource:
        found["subResource"] = subresource
    found |= {"requestKind": sent_as._asdict(), "requestResource": attributes.resource._asdict()}
    if subresource:
        found["requestSubResource"] = subresource
    name = "" if context.verb == "deletecollection" else attributes.name  # one request about many
    if name:
        found["name"] = name
    if namespace := namespace_of_request(attributes):
        found["namespace"] = namespace
    options = {"kind": _OPTIONS[attributes.operation], "apiVersion": "meta.k8s.io/v1", **context.options}
    user = context.env.user(context.user).to_object()
    return found | {
        "operation": attributes.operation,
        "userInfo": user,
        "dryRun": context.dry_run,
        "options": options,
    }
