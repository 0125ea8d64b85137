"""One call of one webhook: what both kinds of webhooks do, from the review to the answer.

Upstream: apiserver/pkg/admission/plugin/webhook/{mutating,validating}/dispatcher.go (callAttrMutatingHook, callHook)
"""

from __future__ import annotations

from typing import Any

from k8slab.api.errors import BadRequestError
from k8slab.api.labels import go_quote
from k8slab.apiserver.admission.attributes import Attributes, Lister
from k8slab.apiserver.admission.webhook.accessors import Hook
from k8slab.apiserver.admission.webhook.caller import CallError, call
from k8slab.apiserver.admission.webhook.matching import Invocation
from k8slab.apiserver.admission.webhook.outside import Outside
from k8slab.apiserver.admission.webhook.review import (
    Answer,
    ReviewError,
    denial,
    read_answer,
    review_of,
    review_version,
)
from k8slab.apiserver.registry.context import new_uid
from k8slab.sim.kinds import cut

__all__ = ["Webhooks"]

_SHOWN = 80


class Webhooks:
    """Calls webhooks of one kind (`phase`: mutating or validating) and tells the trace."""

    def __init__(self, outside: Outside, phase: str) -> None:
        self.outside = outside
        self._phase = phase

    async def ask(self, invocation: Invocation, attributes: Attributes, lister: Lister) -> Answer:
        """The answer of a webhook that allows the request. Its warnings and annotations are taken over.

        Raises CallError when failurePolicy is to decide, StatusError when the webhook refuses.
        """
        hook = invocation.hook
        _check_dry_run(hook, attributes)
        version = review_version(hook.webhook.get("admissionReviewVersions"))
        if version is None:
            why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)"
            raise CallError(hook.name, f"could not create admission objects: {why}")
        uid = new_uid(self.outside.uids)
        self._tell("webhook.call", hook, attributes)
        began_ms = self.outside.loop.clock.now_ms
        attributes.context.waits_outside += 1
        try:
            body = await call(hook, review_of(attributes, invocation, uid, version), self.outside.http, lister)
        finally:
            attributes.context.waits_outside -= 1
        try:
            answer = read_answer(body, uid, is_mutating=self._phase == "mutating", version=version)
        except ReviewError as error:
            prefix = "failed to call webhook" if error.is_call else "received invalid webhook response"
            raise CallError(hook.name, f"{prefix}: {error}") from None
        self._accept(hook, attributes, answer, self.outside.loop.clock.now_ms - began_ms)
        return answer

    def _accept(self, hook: Hook, attributes: Attributes, answer: Answer, took_ms: int) -> None:
        for key in sorted(answer.annotations):
            attributes.annotate(f"{hook.name}/{key}", answer.annotations[key])
        for text in answer.warnings:
            attributes.warn(text)
        says = ("a patch" if answer.patch else "yes") if answer.allowed else "no"
        self._tell("webhook.answer", hook, attributes, says=says, ms=took_ms)
        if not answer.allowed:
            raise denial(hook.name, answer.status)

    def failed(self, hook: Hook, attributes: Attributes, error: CallError) -> None:
        """Tell of a call that failed, and what its failurePolicy makes of it."""
        ends = "goes on" if hook.is_ignoring_failures else "ends"
        self._tell("webhook.failed", hook, attributes, ends=ends, why=cut(error.why, _SHOWN))

    def _tell(self, kind: str, hook: Hook, attributes: Attributes, **more: Any) -> None:
        trace = self.outside.loop.trace
        if trace.on:
            resource, name = attributes.resource.group_resource, attributes.name
            key = f"{attributes.namespace}/{name}" if attributes.namespace else name
            about: dict[str, Any] = {"webhook": hook.name, "phase": self._phase, "resource": resource, "key": key}
            trace.emit(kind, self.outside.lane, **about, **more)


def _check_dry_run(hook: Hook, attributes: Attributes) -> None:
    """A webhook with side effects is not called in a dry run: the request is refused. Raises StatusErrors."""
    if not attributes.context.dry_run:
        return
    if hook.side_effects is None:
        raise CallError(hook.name, "Webhook SideEffects is nil")
    if hook.side_effects not in ("None", "NoneOnDryRun"):
        raise BadRequestError(f"admission webhook {go_quote(hook.name)} does not support dry run")
