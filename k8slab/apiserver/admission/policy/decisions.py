"""What a validating policy says of one object: a decision for each validation, and audit annotations.

Upstream: apiserver/pkg/admission/plugin/policy/validating/{validator,policy_decision}.go
"""

from __future__ import annotations

from typing import NamedTuple

from k8slab.api.cel import Scope, evaluate
from k8slab.api.objects import Object
from k8slab.apiserver.admission.policy.hooks import PolicyHook
from k8slab.apiserver.admission.webhook.match_conditions import match

__all__ = ["CODES", "Decision", "Verdict", "judge"]

CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413, "Invalid": 422}
_LONGEST_MESSAGE = 5 * 1024


class Decision(NamedTuple):
    """`number`: which validation. `denies` False: it holds, or failures are ignored. `reason` empty: none was given."""

    number: int
    denies: bool
    message: str = ""
    reason: str = ""


class Verdict(NamedTuple):
    """`annotations`: (key, value); `failures`: what kept an annotation from being written, which denies."""

    decisions: list[Decision]
    annotations: list[tuple[str, str]]
    failures: list[str]


def judge(hook: PolicyHook, scope: Scope) -> Verdict:
    """Everything the policy has to say. Nothing, if its match conditions do not hold."""
    conditions = hook.spec.get("matchConditions") or ()
    if conditions:
        found = match(conditions, scope, ignores_failures=hook.is_ignoring_failures)
        if found.error:
            return Verdict([Decision(0, not hook.is_ignoring_failures, found.error)], [], [])
        if not found.matches:
            return Verdict([], [], [])
    validations = hook.spec.get("validations") or ()
    decisions = [_decide(index, one, hook, scope) for index, one in enumerate(validations)]
    return Verdict(decisions, *_annotations(hook, scope))


def _decide(index: int, validation: Object, hook: PolicyHook, scope: Scope) -> Decision:
    expression = validation.get("expression") or ""
    result = evaluate(expression, scope)
    if result.error:
        return Decision(index, not hook.is_ignoring_failures, result.error)
    if result.value is True:
        return Decision(index, False)
    message = _spoken(validation, scope) or (validation.get("message") or "").strip()
    return Decision(
        index, True, message or f"failed expression: {expression.strip()}", validation.get("reason") or "Invalid"
    )


def _spoken(validation: Object, scope: Scope) -> str:
    """What messageExpression gives, if it is a text that fits; empty otherwise."""
    expression = validation.get("messageExpression") or ""
    if not expression:
        return ""
    result = evaluate(expression, scope, ("string",))
    text = result.value.strip() if isinstance(result.value, str) else ""
    return "" if len(text.encode()) > _LONGEST_MESSAGE or "\n" in text else text


def _annotations(hook: PolicyHook, scope: Scope) -> tuple[list[tuple[str, str]], list[str]]:
    published, failures = [], []
    for annotation in hook.spec.get("auditAnnotations") or ():
        expression = annotation.get("valueExpression") or ""
        result = evaluate(expression, scope, ("string", "null_type"))
        if result.error:
            failures += [] if hook.is_ignoring_failures else [result.error]
        elif isinstance(result.value, str):
            if text := result.value.strip():
                published.append((annotation.get("key") or "", text))
        elif result.value is not None:
            kind = type(result.value).__name__
            failures.append(
                f"valueExpression '{expression}' resulted in unsupported return type: {kind}. "
                "Return type must be either string or null."
            )
    return published, failures
