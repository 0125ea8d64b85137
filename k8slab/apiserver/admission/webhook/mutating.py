"""Mutating webhooks: one after the other, each sees what the one before made of the object.

Upstream: apiserver/pkg/admission/plugin/webhook/mutating/{plugin,dispatcher}.go
Simplified: the annotation with the patch itself is written only for patches up to 1 KiB.
"""

from __future__ import annotations

from typing import Any

from k8slab.api.decoding import DecodeError, decode
from k8slab.api.defaults import set_defaults
from k8slab.api.go_json import JSONError, go_json, json_kind, parse
from k8slab.api.labels import go_quote
from k8slab.api.objects import Object, thaw
from k8slab.api.patch.go_values import PatchError
from k8slab.api.patch.json_patch import json_patch
from k8slab.api.scheme import GVK, SCHEME
from k8slab.apiserver.admission.attributes import Attributes, Lister
from k8slab.apiserver.admission.webhook.accessors import MUTATING_CONFIGURATIONS, Hook, Hooks
from k8slab.apiserver.admission.webhook.caller import CallError
from k8slab.apiserver.admission.webhook.dispatch import Webhooks
from k8slab.apiserver.admission.webhook.matching import Invocation, should_call
from k8slab.apiserver.admission.webhook.outside import Outside
from k8slab.apiserver.admission.webhook.reinvocation import Reinvocations
from k8slab.apiserver.admission.webhook.review import Answer
from k8slab.apiserver.admission.webhook.rules import is_exempt
from k8slab.apiserver.admission.webhook.subject import internal_error, request_kind, versioned

__all__ = ["MutatingAdmissionWebhook", "patched"]

_PATCH = "patch.webhook.admission.k8s.io/"
_MUTATION = "mutation.webhook.admission.k8s.io/"
_LONGEST_PATCH = 1_024


class MutatingAdmissionWebhook:
    name = "MutatingAdmissionWebhook"

    def __init__(self, outside: Outside | None = None) -> None:
        self._hooks = Hooks()
        self._outside = outside if outside is not None else Outside()
        self._webhooks = Webhooks(self._outside, "mutating")

    async def admit(self, attributes: Attributes, lister: Lister) -> Object | None:
        """The object after all webhooks; in the second round only after those that may be called again."""
        if is_exempt(request_kind(attributes)):
            return None
        hooks = self._hooks.of(lister.cached_all(MUTATING_CONFIGURATIONS))
        again = attributes.reinvocation
        if not hooks:
            return None
        memory = again.values.setdefault(self.name, Reinvocations())
        memory.begin(attributes.object, is_second=again.is_reinvoke)
        before = attributes.object
        try:
            for index, hook in enumerate(hooks):
                await self._dispatch(hook, index, attributes, lister, memory)
        finally:
            memory.end(attributes.object)
        return attributes.object if attributes.object is not before else None

    async def _dispatch(
        self, hook: Hook, index: int, attributes: Attributes, lister: Lister, memory: Reinvocations
    ) -> None:
        """Call one webhook if it wants the request, and apply its patch. Raises StatusErrors."""
        again = attributes.reinvocation
        invocation = await should_call(hook, attributes, lister, self._outside.equivalents)
        if invocation is None or (again.is_reinvoke and not memory.should_call(hook.uid)):
            return
        place = f"round_{int(again.is_reinvoke)}_index_{index}"
        is_changed = False
        try:
            answer = await self._webhooks.ask(invocation, attributes, lister)
            is_changed = _apply(answer, invocation, attributes, place)
        except CallError as error:
            self._webhooks.failed(hook, attributes, error)
            if not hook.is_ignoring_failures:
                raise internal_error(error) from None
            attributes.annotate(f"failed-open.{_MUTATION}{place}", hook.name)
        finally:
            mutation = {"configuration": hook.configuration, "webhook": hook.name, "mutated": is_changed}
            attributes.annotate(f"{_MUTATION}{place}", go_json(mutation))
            if is_changed:
                memory.require()
                again.requested = True
            if hook.is_reinvocable:
                memory.called(hook.uid)


def _apply(answer: Answer, invocation: Invocation, attributes: Attributes, place: str) -> bool:
    """Apply the patch to the object; whether it changed anything. Raises CallError, StatusErrors."""
    if not answer.patch:
        return False
    hook, kind = invocation.hook, invocation.kind
    operations = _operations(answer.patch, hook)
    if not operations:
        return False
    if attributes.object is None:
        text = f"admission webhook {go_quote(hook.name)} attempted to modify the object"
        raise internal_error(f"{text}, which is not supported for this operation")
    if answer.patch_type != "JSONPatch":
        raise CallError(hook.name, f"unsupported patch type {go_quote(answer.patch_type)}")
    before = versioned(attributes.object, kind)
    assert before is not None, "there is an object"
    after, is_changed = patched(before, operations, kind)
    if len(answer.patch) <= _LONGEST_PATCH:
        told = {
            "configuration": hook.configuration,
            "webhook": hook.name,
            "patch": operations,
            "patchType": "JSONPatch",
        }
        attributes.annotate(f"{_PATCH}{place}", go_json(told))
    sent_as = request_kind(attributes)
    back = versioned(after, sent_as)
    assert back is not None, "there is an object"
    attributes.object = back
    return is_changed


def _operations(patch: bytes, hook: Hook) -> list[Any]:
    try:
        operations, _ = parse(patch)
        if operations is not None and not isinstance(operations, list):
            raise JSONError(f"json: cannot unmarshal {json_kind(operations)} into Go value of type jsonpatch.Patch")
        for one in operations or ():
            if one is not None and not isinstance(one, dict):
                raise JSONError(f"json: cannot unmarshal {json_kind(one)} into Go value of type jsonpatch.Operation")
    except JSONError as error:
        raise CallError(hook.name, f"received undecodable patch in webhook response: {error}") from None
    return operations or []


def patched(before: Object, operations: list[Any], kind: GVK) -> tuple[dict[str, Any], bool]:
    """(the object with the patch applied, typed and defaulted; whether it differs). Raises InternalError (500)."""
    try:
        raw = json_patch(before, operations)
        if kind not in SCHEME:
            return raw, raw != thaw(before)
        after = _as_typed(raw, kind)
    except (PatchError, DecodeError) as error:
        raise internal_error(error) from None
    is_changed = after != _as_typed(before, kind)
    return set_defaults(after, kind), is_changed


def _as_typed(obj: Any, kind: GVK) -> dict[str, Any]:
    typed = decode(obj, kind).object
    typed.update(apiVersion=kind.api_version, kind=kind.kind)
    typed.setdefault("metadata", {})
    return typed
