"""Validating webhooks: all at once, on the object as it is to be stored. The first that refuses decides.

Upstream: apiserver/pkg/admission/plugin/webhook/validating/{plugin,dispatcher}.go
"""

from __future__ import annotations

from k8slab.api.errors import StatusError
from k8slab.apiserver.admission.attributes import Attributes, Lister
from k8slab.apiserver.admission.webhook.accessors import VALIDATING_CONFIGURATIONS, Hooks
from k8slab.apiserver.admission.webhook.caller import CallError
from k8slab.apiserver.admission.webhook.dispatch import Webhooks
from k8slab.apiserver.admission.webhook.matching import Invocation, should_call
from k8slab.apiserver.admission.webhook.outside import Outside
from k8slab.apiserver.admission.webhook.rules import is_exempt
from k8slab.apiserver.admission.webhook.subject import internal_error, request_kind
from k8slab.sim import Future

__all__ = ["ValidatingAdmissionWebhook"]

_FAILED_OPEN = "failed-open.validating.webhook.admission.k8s.io/"


class ValidatingAdmissionWebhook:
    name = "ValidatingAdmissionWebhook"

    def __init__(self, outside: Outside | None = None) -> None:
        self._hooks = Hooks()
        self._outside = outside if outside is not None else Outside()
        self._webhooks = Webhooks(self._outside, "validating")

    async def validate(self, attributes: Attributes, lister: Lister) -> None:
        """Raises the StatusError of the first webhook to refuse, once all have answered."""
        if is_exempt(request_kind(attributes)):
            return
        wanted = []
        for hook in self._hooks.of(lister.cached_all(VALIDATING_CONFIGURATIONS)):
            invocation = await should_call(hook, attributes, lister, self._outside.equivalents)
            if invocation is not None:
                wanted.append(invocation)
        refusals: list[StatusError] = []
        answered = [self._start(one, index, attributes, lister, refusals) for index, one in enumerate(wanted)]
        for future in answered:
            await future.wait()
        if refusals:
            raise refusals[0]

    def _start(
        self, invocation: Invocation, index: int, attributes: Attributes, lister: Lister, refusals: list[StatusError]
    ) -> Future[None]:
        """Ask one webhook in a task of its own."""
        done: Future[None] = Future(self._outside.loop)

        async def ask() -> None:
            try:
                await self._ask(invocation, index, attributes, lister)
            except StatusError as error:
                refusals.append(error)
            done.resolve(None)

        self._outside.start(f"webhook/{invocation.hook.name}", ask)
        return done

    async def _ask(self, invocation: Invocation, index: int, attributes: Attributes, lister: Lister) -> None:
        hook = invocation.hook
        try:
            await self._webhooks.ask(invocation, attributes, lister)
        except CallError as error:
            self._webhooks.failed(hook, attributes, error)
            if not hook.is_ignoring_failures:
                raise internal_error(error) from None
            attributes.annotate(f"{_FAILED_OPEN}round_0_index_{index}", hook.name)
