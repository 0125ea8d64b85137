"""Which fields a fieldSelector may name, per resource, and what the server says about others.

>>> parse_fields("pods", "spec.nodeName=node-1")
parse_field_selector('spec.nodeName=node-1')
>>> parse_fields("pods", "spec.priority=0")
Traceback (most recent call last):
k8slab.api.errors.BadRequestError: field label not supported: spec.priority

Upstream: pkg/apis/*/v1/conversion.go (AddFieldLabelConversionFunc), apimachinery/pkg/runtime/conversion.go
"""

from __future__ import annotations

from k8slab.api.errors import BadRequestError
from k8slab.api.fields import FieldSelector, parse_field_selector
from k8slab.api.labels import go_quote

__all__ = ["FIELD_LABELS", "parse_fields"]

_METADATA = ("metadata.name", "metadata.namespace")
_EVENT = (
    "involvedObject.kind",
    "involvedObject.namespace",
    "involvedObject.name",
    "involvedObject.uid",
    "involvedObject.apiVersion",
    "involvedObject.resourceVersion",
    "involvedObject.fieldPath",
    "reason",
    "reportingComponent",
    "source",
    "type",
    *_METADATA,
)

FIELD_LABELS: dict[str, tuple[str, ...]] = {
    "pods": (
        "metadata.name",
        "metadata.namespace",
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    "nodes": ("metadata.name", "spec.unschedulable"),
    "namespaces": ("metadata.name", "name", "status.phase"),
    "secrets": (*_METADATA, "type"),
    "services": (*_METADATA, "spec.clusterIP", "spec.type"),
    "serviceaccounts": _METADATA,
    "replicationcontrollers": (*_METADATA, "status.replicas"),
    "events": _EVENT,
    "events.events.k8s.io": (
        *(name.replace("involvedObject", "regarding") for name in _EVENT if name.startswith("involvedObject")),
        "reason",
        "reportingController",
        "type",
        *_METADATA,
    ),
    "jobs.batch": (*_METADATA, "status.successful"),
    "certificatesigningrequests.certificates.k8s.io": ("metadata.name", "spec.signerName"),
}
"""Resources with fields of their own. Others can be selected by name and namespace."""

_INTERNAL = {"regarding": "involvedObject", "reportingController": "reportingComponent"}


def parse_fields(resource: str, text: str, *, is_custom: bool = False) -> FieldSelector:
    """The selector, its fields checked and in internal names. Raises BadRequestError."""
    try:
        selector = parse_field_selector(text)
    except ValueError as error:
        raise BadRequestError(str(error)) from None
    known = FIELD_LABELS.get(resource)

    def check(field: str, value: str) -> tuple[str, str]:
        if known is None and field in _METADATA:
            return field, value
        if known is not None and field in known:
            head, dot, tail = field.partition(".")
            return _INTERNAL.get(head, head) + dot + tail, value
        if known is None and not is_custom:
            raise BadRequestError(
                f'{go_quote(field)} is not a known field selector: only "metadata.name", "metadata.namespace"'
            )
        raise BadRequestError(f"field label not supported: {field}")

    return selector.transform(check)
