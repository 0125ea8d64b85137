"""The chain: every mutating plugin in order, then (after defaults and validation) every validating one.

Upstream: apiserver/pkg/admission/chain.go, pkg/kubeapiserver/options/plugins.go (the order)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from k8slab.api.objects import Object
from k8slab.apiserver.admission.attributes import Attributes, Lister, MutatingPlugin, ValidatingPlugin, changed_fields
from k8slab.sim import Trace

__all__ = ["Chain"]


class Chain:
    """Runs plugins; says in the trace how many fields each one changed."""

    def __init__(self, plugins: Iterable[Any], lister: Lister, trace: Trace, *, lane: str = "apiserver") -> None:
        self.plugins = tuple(plugins)
        self._mutating: tuple[MutatingPlugin, ...] = tuple(p for p in self.plugins if hasattr(p, "admit"))
        self._validating: tuple[ValidatingPlugin, ...] = tuple(p for p in self.plugins if hasattr(p, "validate"))
        self._lister = lister
        self._trace = trace
        self._lane = lane

    async def admit(self, attributes: Attributes) -> Object | None:
        """The object after all mutating plugins. Raises the StatusError of the first that refuses."""
        await self._admit_once(attributes)
        if attributes.reinvocation.requested:
            attributes.reinvocation.is_reinvoke = True
            await self._admit_once(attributes)
        return attributes.object

    async def _admit_once(self, attributes: Attributes) -> None:
        for plugin in self._mutating:
            before = attributes.object
            changed = await plugin.admit(attributes, self._lister)
            if changed is not None and changed is not before:
                attributes.object = changed
                if self._trace.on:
                    self._tell(plugin.name, attributes, changed_fields(changed, before))

    async def validate(self, attributes: Attributes) -> None:
        """Raises the StatusError of the first plugin that refuses."""
        for plugin in self._validating:
            await plugin.validate(attributes, self._lister)

    def _tell(self, plugin: str, attributes: Attributes, changed: int) -> None:
        if changed:
            name = attributes.name
            if not name:  # still to be generated
                metadata: Object = (attributes.object or {}).get("metadata") or {}
                name = f"{metadata.get('generateName', '')}…"
            key = f"{attributes.namespace}/{name}" if attributes.namespace else name
            self._trace.emit(
                "admission",
                self._lane,
                plugin=plugin,
                phase="mutating",
                changed=changed,
                resource=attributes.resource.group_resource,
                key=key,
            )
