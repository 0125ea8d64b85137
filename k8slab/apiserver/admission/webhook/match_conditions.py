"""Match conditions: CEL expressions that must all hold before a webhook or a policy looks at a request.

One that is false ends the matter at once; if none is false but some cannot be evaluated, failurePolicy decides.

Upstream: apiserver/pkg/admission/plugin/webhook/matchconditions/matcher.go, apiserver/pkg/admission/plugin/cel/
{activation,condition}.go
Simplified: no `authorizer`, since nothing is authorized.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from k8slab.api.cel import Scope, evaluate
from k8slab.api.objects import Object, thaw
from k8slab.api.scheme import GVK, GVR
from k8slab.apiserver.admission.attributes import Attributes
from k8slab.apiserver.admission.webhook.subject import admission_request, versioned

__all__ = ["Match", "match", "variables_of"]


class Match(NamedTuple):
    """`error`: why the conditions could not be told, when failurePolicy wants to hear of it."""

    matches: bool
    error: str = ""


def variables_of(
    attributes: Attributes, resource: GVR, kind: GVK, *, namespace: Object | None = None, **more: Any
) -> dict[str, Any]:
    """What expressions see: the object and the old one in version `kind`, the request, the namespace, and `more`."""
    obj, old = versioned(attributes.object, kind), versioned(attributes.old, kind)
    return {
        "object": thaw(obj),
        "oldObject": thaw(old),
        "request": admission_request(attributes, resource, kind),
        "namespaceObject": thaw(namespace),
        **more,
    }


def match(conditions: Iterable[Object], scope: Scope, *, ignores_failures: bool) -> Match:
    """Whether all conditions hold."""
    errors = []
    for condition in conditions:
        result = evaluate(condition.get("expression") or "", scope)
        if result.error:
            errors.append(result.error)
        elif result.value is False:
            return Match(False)
    if not errors:
        return Match(True)
    if ignores_failures:
        return Match(False)
    texts = list(dict.fromkeys(errors))
    return Match(False, texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]")
