"""Match conditions: CEL expressions that must all hold before a webhook or a policy looks at a request.

One that is false ends the matter at once; if none is false but some cannot be evaluated, failurePolicy decides.

Upstream: apiserver/pkg/admission/plugin/webhook/matchconditions/matcher.go, apiserver/pkg/admission/plugin/cel/
{activation,condition}.go
Simplified: no `authorizer`, since nothing is authorized.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from k8slab.api.cel import CELUnavailableError, CompileError, EvaluationError, compile_expression
from k8slab.api.objects import Object, thaw
from k8slab.api.scheme import GVK, GVR
from k8slab.apiserver.admission.attributes import Attributes
from k8slab.apiserver.admission.webhook.subject import admission_request, versioned

__all__ = ["Evaluation", "Match", "evaluate", "match", "variables_of"]

NAMES = ("namespaceObject", "object", "oldObject", "request")


class Match(NamedTuple):
    """`error`: why the conditions could not be told, when failurePolicy wants to hear of it."""

    matches: bool
    error: str = ""


class Evaluation(NamedTuple):
    value: Any = None
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


def evaluate(expression: str, variables: Mapping[str, Any], returns: tuple[str, ...] = ("bool",)) -> Evaluation:
    """One expression, with upstream's words for what goes wrong."""
    try:
        program = compile_expression(expression, tuple(sorted(variables)), returns)
    except (CompileError, CELUnavailableError) as error:
        return Evaluation(error=f"compilation error: {error}")
    try:
        return Evaluation(program.evaluate(variables))
    except EvaluationError as error:
        return Evaluation(error=f"expression '{expression}' resulted in error: {error}")


def match(conditions: Iterable[Object], variables: Mapping[str, Any], *, ignores_failures: bool) -> Match:
    """Whether all conditions hold."""
    errors = []
    for condition in conditions:
        result = evaluate(condition.get("expression") or "", variables)
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
