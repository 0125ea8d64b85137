"""Mutating policies: one after the other, each sees what the one before made of the object.

Upstream: apiserver/pkg/admission/plugin/policy/mutating/{plugin,dispatcher,compilation}.go,
apiserver/pkg/admission/plugin/policy/mutating/patch, apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go
"""

from __future__ import annotations

from typing import Any, NamedTuple

from k8slab.api.cel import Scope, evaluate, fields_of_message, mismatch, type_of_message
from k8slab.api.decoding import DecodeError, decode, strict_error, unknown_field
from k8slab.api.defaults import set_defaults
from k8slab.api.errors import StatusError
from k8slab.api.objects import Object, thaw
from k8slab.api.patch.go_values import PatchError
from k8slab.api.patch.json_patch import json_patch
from k8slab.api.scheme import GVK, SCHEME
from k8slab.apiserver.admission.attributes import Attributes, Lister, forbidden
from k8slab.apiserver.admission.policy.hooks import (
    ConfigurationError,
    Matched,
    PolicyHook,
    binding_matches,
    definition_matches,
    policies_with_bindings,
)
from k8slab.apiserver.admission.policy.merging import MergeError, apply_configuration
from k8slab.apiserver.admission.policy.namespace import namespace_object
from k8slab.apiserver.admission.policy.params import collect_params, param_resource
from k8slab.apiserver.admission.webhook.match_conditions import match, variables_of
from k8slab.apiserver.admission.webhook.outside import Outside
from k8slab.apiserver.admission.webhook.reinvocation import Reinvocations
from k8slab.apiserver.admission.webhook.rules import is_exempt
from k8slab.apiserver.admission.webhook.subject import internal_error, request_kind, versioned

__all__ = ["MutatingAdmissionPolicy"]

POLICIES = "mutatingadmissionpolicies.admissionregistration.k8s.io"
BINDINGS = "mutatingadmissionpolicybindings.admissionregistration.k8s.io"


class _MutationError(ValueError):
    """A mutation has no result; failurePolicy decides what follows."""


class _Invocation(NamedTuple):
    hook: PolicyHook
    binding: Object
    param: Object | None
    matched: Matched

    @property
    def key(self) -> tuple[str, ...]:
        param = {} if self.param is None else self.param["metadata"]
        names = (self.hook.name, self.binding["metadata"]["name"])
        return (*names, param.get("namespace", ""), param.get("name", ""))


class _Failure(NamedTuple):
    """`reason` replaces the refusal's, not its code."""

    hook: PolicyHook
    binding: str
    message: str
    reason: str = ""

    def __str__(self) -> str:
        if self.binding:
            return f"policy '{self.hook.name}' with binding '{self.binding}' denied request: {self.message}"
        return f'policy "{self.hook.name}" denied request: {self.message}'


class MutatingAdmissionPolicy:
    name = "MutatingAdmissionPolicy"

    def __init__(self, outside: Outside | None = None) -> None:
        self._outside = outside if outside is not None else Outside()

    async def admit(self, attributes: Attributes, lister: Lister) -> Object | None:
        """The object after all policies; in the second round only after those that may be applied again."""
        bindings = lister.cached_all(BINDINGS)
        if not bindings or attributes.operation == "DELETE" or is_exempt(request_kind(attributes)):
            return None
        failures: list[_Failure] = []
        invocations: list[_Invocation] = []
        for hook in policies_with_bindings(lister.cached_all(POLICIES), bindings):
            invocations += await self._invocations(hook, attributes, lister, failures)
        before = attributes.object
        if invocations:
            await self._carry_out(invocations, attributes, lister, failures)
        counted = [one for one in failures if not one.hook.is_ignoring_failures]
        if counted:
            raise _refusal(attributes, counted)
        return attributes.object if attributes.object is not before else None

    async def _invocations(
        self, hook: PolicyHook, attributes: Attributes, lister: Lister, failures: list[_Failure]
    ) -> list[_Invocation]:
        """What there is to do for one policy: once for each binding and each of its parameters."""
        outside, found = self._outside, []
        try:
            matched = await definition_matches(hook, attributes, lister, outside.equivalents)
            if matched is None:
                return []
            info = param_resource(hook, outside)
        except ConfigurationError as error:
            failures.append(_Failure(hook, "", f"failed to configure policy: {error}"))
            return []
        for binding in hook.bindings:
            try:
                if await binding_matches(binding, attributes, lister, outside.equivalents) is None:
                    continue
                params = await collect_params(info, binding, attributes, lister)
            except ConfigurationError as error:
                failures.append(_Failure(hook, binding["metadata"]["name"], f"failed to configure binding: {error}"))
                continue
            found += [_Invocation(hook, binding, param, matched) for param in params]
        return found

    async def _carry_out(
        self, invocations: list[_Invocation], attributes: Attributes, lister: Lister, failures: list[_Failure]
    ) -> None:
        again = attributes.reinvocation
        memory = again.values.setdefault(self.name, Reinvocations())
        memory.begin(attributes.object, is_second=again.is_reinvoke)
        is_touched = False
        namespace = await namespace_object(attributes, lister)
        try:
            for one in invocations:
                scope = _scope(one, attributes, namespace)
                if not _holds(one, scope, failures) or (again.is_reinvoke and not memory.should_call(one.key)):
                    continue
                before = attributes.object
                is_touched = _mutate(one, attributes, namespace, failures) or is_touched
                if attributes.object != before:
                    memory.require()
                    again.requested = True
                    self._tell(one, attributes)
                if one.hook.spec.get("reinvocationPolicy") == "IfNeeded":
                    memory.called(one.key)
            if is_touched:  # upstream counts any patch as a change here, also one that changed nothing
                memory.require()
                again.requested = True
        finally:
            memory.end(attributes.object)

    def _tell(self, invocation: _Invocation, attributes: Attributes) -> None:
        key = f"{attributes.namespace}/{attributes.name}" if attributes.namespace else attributes.name
        self._outside.loop.trace.emit(
            "policy.mutated",
            self._outside.lane,
            policy=invocation.hook.name,
            binding=invocation.binding["metadata"]["name"],
            resource=attributes.resource.group_resource,
            key=key,
        )


def _refusal(attributes: Attributes, failures: list[_Failure]) -> StatusError:
    error: StatusError = forbidden(attributes, "admission request denied by policy")
    error.message = str(failures[0])
    error.reason = failures[0].reason or error.reason
    error.details = {**(error.details or {}), "causes": [{"message": str(one)} for one in failures]}
    return error


def _scope(invocation: _Invocation, attributes: Attributes, namespace: Object | None) -> Scope:
    hook, matched = invocation.hook, invocation.matched
    more = {"params": thaw(invocation.param)} if hook.spec.get("paramKind") is not None else {}
    given = variables_of(attributes, matched.resource, matched.kind, namespace=namespace, **more)
    return hook.composition.scope(given)


def _holds(invocation: _Invocation, scope: Scope, failures: list[_Failure]) -> bool:
    """Whether the match conditions hold."""
    hook = invocation.hook
    conditions = hook.spec.get("matchConditions") or ()
    if not conditions:
        return True
    found = match(conditions, scope, ignores_failures=hook.is_ignoring_failures)
    if found.error:
        failures.append(_Failure(hook, invocation.binding["metadata"]["name"], found.error, "Invalid"))
    return found.matches


def _mutate(
    invocation: _Invocation, attributes: Attributes, namespace: Object | None, failures: list[_Failure]
) -> bool:
    """Apply all mutations in order; one that fails is passed over. Whether any could be applied."""
    is_touched = False
    for mutation in invocation.hook.spec.get("mutations") or ():
        if attributes.object is None:
            continue
        kind = invocation.matched.kind
        before = versioned(attributes.object, kind)
        assert before is not None, "there is an object"
        try:
            after = _patched(mutation, before, kind, _scope(invocation, attributes, namespace))
        except _MutationError as error:
            name = invocation.binding["metadata"]["name"]
            failures.append(_Failure(invocation.hook, name, str(error), "Invalid"))
            continue
        back = versioned(after, request_kind(attributes))
        assert back is not None, "there is an object"
        attributes.object = back
        is_touched = True
    return is_touched


def _patched(mutation: Object, before: Object, kind: GVK, scope: Scope) -> Object:
    """The object after one mutation, typed and defaulted. Raises _MutationError, StatusErrors."""
    if mutation.get("patchType") == "JSONPatch":
        after = _json_patched((mutation.get("jsonPatch") or {}).get("expression") or "", before, scope)
    else:
        expression = (mutation.get("applyConfiguration") or {}).get("expression") or ""
        after = _applied(expression, before, kind, scope)
    if kind not in SCHEME:
        return after
    try:
        decoded = decode(after, kind)
    except DecodeError as error:
        raise internal_error(error) from None
    if decoded.unknown:
        raise internal_error(strict_error(map(unknown_field, decoded.unknown)))
    typed = decoded.object
    typed.update(apiVersion=kind.api_version, kind=kind.kind)
    return set_defaults(typed, kind)


def _json_patched(expression: str, before: Object, scope: Scope) -> dict[str, Any]:
    result = evaluate(expression, scope, ("list",))
    if result.error:
        raise _MutationError(result.error)
    if not isinstance(result.value, list):
        raise _MutationError("type mismatch: JSONPatchType.expression should evaluate to array")
    operations = [_operation(one) for one in result.value]
    try:
        patched: dict[str, Any] = json_patch(before, operations)
    except PatchError as error:
        if "test" in error.message and "failed" in error.message:
            return thaw(before)  # type: ignore[no-any-return]
        raise _MutationError(f"JSON Patch: {error.message}") from None
    return patched


def _operation(value: Any) -> dict[str, Any]:
    if type_of_message(value) != "JSONPatch":
        raise _MutationError("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch")
    fields = value["k8s.fields"]
    if problem := mismatch(fields.get("value"), type_of_message(fields.get("value")) or "Object"):
        raise _MutationError(f"type mismatch: {problem}")
    found: dict[str, Any] = fields_of_message(value)
    return {name: item for name, item in found.items() if item is not None or name == "value"}


def _applied(expression: str, before: Object, kind: GVK, scope: Scope) -> dict[str, Any]:
    result = evaluate(expression, scope, ("object",))
    if result.error:
        raise _MutationError(result.error)
    if type_of_message(result.value) != "Object":
        raise _MutationError("unsupported return type from ApplyConfiguration expression: expected Object")
    if problem := mismatch(result.value):
        raise _MutationError(f"type mismatch: {problem}")
    try:
        return apply_configuration(before, fields_of_message(result.value), kind)
    except MergeError as error:
        raise _MutationError(f"error applying patch: {error}") from None
