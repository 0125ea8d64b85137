"""Validating policies: all that match are evaluated; the first violation that denies is what the client hears of.

Upstream: apiserver/pkg/admission/plugin/policy/validating/{plugin,dispatcher}.go
"""

from __future__ import annotations

from typing import Any, NamedTuple

from k8slab.api.cel import Scope
from k8slab.api.errors import StatusError
from k8slab.api.go_json import go_json
from k8slab.api.objects import Object, thaw
from k8slab.apiserver.admission.attributes import Attributes, Lister, forbidden
from k8slab.apiserver.admission.policy.decisions import CODES, Decision, judge
from k8slab.apiserver.admission.policy.hooks import (
    ConfigurationError,
    Matched,
    PolicyHook,
    binding_matches,
    definition_matches,
    policies_with_bindings,
)
from k8slab.apiserver.admission.policy.namespace import namespace_object
from k8slab.apiserver.admission.policy.params import collect_params, param_resource
from k8slab.apiserver.admission.webhook.match_conditions import variables_of
from k8slab.apiserver.admission.webhook.outside import Outside
from k8slab.apiserver.admission.webhook.rules import is_exempt
from k8slab.apiserver.admission.webhook.subject import request_kind
from k8slab.sim.kinds import cut

__all__ = ["ValidatingAdmissionPolicy"]

POLICIES = "validatingadmissionpolicies.admissionregistration.k8s.io"
BINDINGS = "validatingadmissionpolicybindings.admissionregistration.k8s.io"
_FAILURES = "validation.policy.admission.k8s.io/validation_failure"
_MOST_FAILURES = 50
_LONGEST_ANNOTATION = 10 * 1024
_SHOWN = 60


class _Denied(NamedTuple):
    policy: str
    binding: str
    decision: Decision


class ValidatingAdmissionPolicy:
    name = "ValidatingAdmissionPolicy"

    def __init__(self, outside: Outside | None = None) -> None:
        self._outside = outside if outside is not None else Outside()

    async def validate(self, attributes: Attributes, lister: Lister) -> None:
        """Raises a StatusError for the first violation that denies."""
        bindings = lister.cached_all(BINDINGS)
        if not bindings or is_exempt(request_kind(attributes)):
            return
        request = _Request(attributes, lister, self._outside)
        for hook in policies_with_bindings(lister.cached_all(POLICIES), bindings):
            await request.apply(hook)
        request.finish()


class _Request:
    """One request on its way through all policies."""

    def __init__(self, attributes: Attributes, lister: Lister, outside: Outside) -> None:
        self._attributes = attributes
        self._lister = lister
        self._outside = outside
        self._denied: list[_Denied] = []
        self._audited: list[dict[str, Any]] = []

    async def apply(self, hook: PolicyHook) -> None:
        """Evaluate a policy with each of its bindings that match."""
        outside = self._outside
        try:
            matched = await definition_matches(hook, self._attributes, self._lister, outside.equivalents)
            if matched is None:
                return
            info = param_resource(hook, outside)
        except ConfigurationError as error:
            self._misconfigured(hook, "", f"failed to configure policy: {error}")
            return
        annotations: dict[str, list[str]] = {}
        for binding in hook.bindings:
            try:
                if await binding_matches(binding, self._attributes, self._lister, outside.equivalents) is None:
                    continue
                params = await collect_params(info, binding, self._attributes, self._lister)
            except ConfigurationError as error:
                self._misconfigured(hook, binding["metadata"]["name"], f"failed to configure binding: {error}")
                continue
            for param in params:
                await self._judge(hook, binding, matched, param, annotations)
        for key, values in annotations.items():
            self._attributes.annotate(f"{hook.name}/{key}", ", ".join(values))

    async def _judge(
        self,
        hook: PolicyHook,
        binding: Object,
        matched: Matched,
        param: Object | None,
        annotations: dict[str, list[str]],
    ) -> None:
        verdict = judge(hook, await _scope(hook, matched, param, self._attributes, self._lister))
        for decision in verdict.decisions:
            if decision.denies:
                self._violated(hook, binding, decision)
        for key, value in verdict.annotations:
            value = value.encode()[:_LONGEST_ANNOTATION].decode(errors="ignore")
            known = annotations.setdefault(key, [])
            if value not in known:
                known.append(value)
        for text in verdict.failures:
            self._denied.append(_Denied(hook.name, binding["metadata"]["name"], Decision(0, True, text)))

    def _violated(self, hook: PolicyHook, binding: Object, decision: Decision) -> None:
        name, actions = binding["metadata"]["name"], list((binding.get("spec") or {}).get("validationActions") or ())
        for action in actions:
            if action == "Deny":
                self._denied.append(_Denied(hook.name, name, decision))
            elif action == "Audit":
                self._audited.append(
                    {
                        "message": decision.message,
                        "policy": hook.name,
                        "binding": name,
                        "expressionIndex": decision.number,
                        "validationActions": actions,
                    }
                )
            elif action == "Warn":
                head = f"Validation failed for ValidatingAdmissionPolicy '{hook.name}' with binding '{name}'"
                self._attributes.warn(f"{head}: {decision.message}")
        self._tell(hook.name, name, actions, decision.message)

    def _misconfigured(self, hook: PolicyHook, binding: str, message: str) -> None:
        if not hook.is_ignoring_failures:
            self._denied.append(_Denied(hook.name, binding, Decision(0, True, message)))
            self._tell(hook.name, binding or "nothing", ["Deny"], message)

    def _tell(self, policy: str, binding: str, actions: list[str], why: str) -> None:
        attributes = self._attributes
        key = f"{attributes.namespace}/{attributes.name}" if attributes.namespace else attributes.name
        self._outside.loop.trace.emit(
            "policy.violated",
            self._outside.lane,
            policy=policy,
            binding=binding,
            resource=attributes.resource.group_resource,
            key=key,
            actions=", ".join(actions),
            why=cut(why, _SHOWN),
        )

    def finish(self) -> None:
        """Write the audit annotation; raise the first denial."""
        if self._audited:
            self._attributes.annotate(_FAILURES, go_json(self._audited[:_MOST_FAILURES]))
        if self._denied:
            raise _refusal(self._attributes, self._denied[0])


async def _scope(
    hook: PolicyHook, matched: Matched, param: Object | None, attributes: Attributes, lister: Lister
) -> Scope:
    """What the policy's expressions see."""
    namespace = await namespace_object(attributes, lister)
    more = {"params": thaw(param)} if hook.spec.get("paramKind") is not None else {}
    return hook.composition.scope(variables_of(attributes, matched.resource, matched.kind, namespace=namespace, **more))


def _refusal(attributes: Attributes, denied: _Denied) -> StatusError:
    bound = f" with binding '{denied.binding}'" if denied.binding else ""
    message = f"ValidatingAdmissionPolicy '{denied.policy}'{bound} denied request: {denied.decision.message}"
    error: StatusError = forbidden(attributes, message)
    error.reason = denied.decision.reason or "Invalid"
    error.code = CODES.get(error.reason, 422)
    details = error.details or {}
    error.details = {**details, "causes": [*(details.get("causes") or ()), {"message": message}]}
    return error
