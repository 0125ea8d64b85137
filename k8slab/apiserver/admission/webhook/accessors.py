"""The webhooks of all configurations, in the order in which they are called.

Upstream: apiserver/pkg/admission/plugin/webhook/accessors.go, pkg/admission/configuration/mutating_webhook_manager.go
Simplified: configurations are read from the server's watch cache, which hears of them at once; upstream's own informer
and its debounced merge take up to about a second longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from k8slab.api.labels import Selector, selector_from_dict
from k8slab.api.objects import Frozen, Object

__all__ = ["MUTATING_CONFIGURATIONS", "VALIDATING_CONFIGURATIONS", "Hook", "Hooks", "hooks_of"]

MUTATING_CONFIGURATIONS = "mutatingwebhookconfigurations.admissionregistration.k8s.io"
VALIDATING_CONFIGURATIONS = "validatingwebhookconfigurations.admissionregistration.k8s.io"


@dataclass(frozen=True)
class Hook:
    """One webhook. `uid` names it among all: configuration, name, and which of those with that name it is."""

    uid: str
    configuration: str
    webhook: Object

    @property
    def name(self) -> str:
        return str(self.webhook.get("name") or "")

    @property
    def client_config(self) -> Object:
        return self.webhook.get("clientConfig") or {}

    @property
    def rules(self) -> Iterable[Object]:
        return self.webhook.get("rules") or ()

    @property
    def is_ignoring_failures(self) -> bool:
        return self.webhook.get("failurePolicy") == "Ignore"

    @property
    def is_reinvocable(self) -> bool:
        return self.webhook.get("reinvocationPolicy") == "IfNeeded"

    @property
    def side_effects(self) -> str | None:
        return self.webhook.get("sideEffects")

    @property
    def timeout_seconds(self) -> int:
        return int(self.webhook.get("timeoutSeconds") or 10)

    @property
    def match_conditions(self) -> Iterable[Object]:
        return self.webhook.get("matchConditions") or ()

    @cached_property
    def namespace_selector(self) -> Selector:
        """Raises ValueError for one that was stored although it is invalid."""
        return selector_from_dict(self.webhook.get("namespaceSelector") or {})

    @cached_property
    def object_selector(self) -> Selector:
        return selector_from_dict(self.webhook.get("objectSelector") or {})


def hooks_of(configurations: Iterable[Object]) -> list[Hook]:
    """By the configurations' names, and within one as it lists them."""
    return [hook for one in sorted(configurations, key=_name) for hook in _hooks_in(one)]


def _name(configuration: Object) -> str:
    return str(configuration["metadata"]["name"])


def _hooks_in(configuration: Object) -> list[Hook]:
    found, count = [], dict[str, int]()
    for webhook in configuration.get("webhooks") or ():
        name = str(webhook.get("name") or "")
        number = count.get(name, 0)
        count[name] = number + 1
        found.append(Hook(f"{_name(configuration)}/{name}/{number}", _name(configuration), webhook))
    return found


class Hooks:
    """`hooks_of` that is computed anew only when a configuration has changed."""

    def __init__(self) -> None:
        self._seen: tuple[int, ...] = ()
        self._configurations: list[Frozen] = []
        self._hooks: list[Hook] = []

    def of(self, configurations: list[Frozen]) -> list[Hook]:
        seen = tuple(map(id, configurations))
        if seen != self._seen:  # cached objects are replaced, never changed
            self._seen, self._configurations = seen, configurations
            self._hooks = hooks_of(configurations)
        return self._hooks

    def view(self) -> Mapping[str, Any]:
        return {hook.uid: {"rules": list(hook.rules)} for hook in self._hooks}
