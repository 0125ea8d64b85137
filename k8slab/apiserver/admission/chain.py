"""The chain: every mutating plugin in order, then (after defaults and validation) every validating one.

>>> from k8slab.apiserver.admission import Chain, Objects, plugins
>>> chain = Chain(plugins(disabled=["ServiceAccount"]), objects := Objects())
>>> pod = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}
>>> for stage in objects.passage(chain, "pods", pod, namespace="default"):
...     if stage.changes:
...         print(stage.plugin, [str(change) for change in stage.changes][:2])
Priority ['spec.priority: + 0', 'spec.preemptionPolicy: + PreemptLowerPriority']
DefaultTolerationSeconds ['spec.tolerations: + [{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":\
"NoExecute","tolerationSeconds":300},{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":\
"NoExecute","tolerationSeconds":300}]']

When somebody asks for it (a webhook or a policy that may be reinvoked), all mutating plugins run a second time, never
a third. In the trace, `admission` tells what each mutating plugin changed (`diff`: see `diff.of_text`),
`admission.refused` who refused and why, `admission.audit` what goes into the audit log. What the stages around the
plugins change (`request`: decoding and defaults, or what an update asks for; `prepare`: the registry's own), and who
only looked on, are `admission.stage`, which a trace leaves out unless told: `trace.without -= {"admission.stage"}`.

Upstream: apiserver/pkg/admission/{chain,reinvocation,audit}.go, pkg/kubeapiserver/options/plugins.go (the order)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from k8slab.api.errors import StatusError
from k8slab.api.objects import Object
from k8slab.apiserver.admission.attributes import Attributes, Lister, MutatingPlugin, ValidatingPlugin
from k8slab.apiserver.admission.diff import Change, changed_fields, differences, to_text
from k8slab.sim import Clock, Trace
from k8slab.sim.kinds import cut

__all__ = ["MUTATING", "VALIDATING", "Chain", "Stage"]

OBJECT, MUTATING, VALIDATING = "object", "mutating", "validating"
_REFUSAL = 80
_NOT_TOLD = ("pod-security.kubernetes.io/enforce-policy",)  # every Pod has it


class Stage(NamedTuple):
    """What one plugin made of a write. `error`: it refused, and nothing came after it. `again`: the second round."""

    plugin: str
    phase: str
    object: Object | None
    changes: list[Change]
    error: StatusError | None = None
    again: bool = False


class Chain:
    """Runs plugins; says in the trace which fields each one changed. Without a `trace` it tells nobody."""

    def __init__(
        self, plugins: Iterable[Any], lister: Lister, trace: Trace | None = None, *, lane: str = "apiserver"
    ) -> None:
        self.plugins = tuple(plugins)
        self.mutating: tuple[MutatingPlugin, ...] = tuple(p for p in self.plugins if hasattr(p, "admit"))
        self.validating: tuple[ValidatingPlugin, ...] = tuple(p for p in self.plugins if hasattr(p, "validate"))
        self.lister = lister
        self._trace = trace if trace is not None else Trace(Clock(), on=False)
        self._lane = lane

    async def admit(self, attributes: Attributes) -> Object | None:
        """The object after all mutating plugins. Raises the StatusError of the first that refuses."""
        await self._admit_once(attributes)
        if attributes.reinvocation.requested:
            attributes.reinvocation.is_reinvoke = True
            await self._admit_once(attributes)
        attributes.context.admitted = attributes.object
        return attributes.object

    def received(self, attributes: Attributes, before: Object | None) -> None:
        """Tell what came of a request before admission: `before` is its body, or the object it wants to change."""
        self._stage("request", OBJECT, attributes, before)

    async def validate(self, attributes: Attributes) -> None:
        """Raises the StatusError of the first plugin that refuses."""
        self._stage("prepare", OBJECT, attributes, attributes.context.admitted)
        for plugin in self.validating:
            stage = await self.validate_by(plugin, attributes)
            if stage.error is not None:
                raise stage.error

    async def _admit_once(self, attributes: Attributes) -> None:
        for plugin in self.mutating:
            stage = await self.admit_by(plugin, attributes, told=False)
            if stage.error is not None:
                raise stage.error

    async def admit_by(self, plugin: MutatingPlugin, attributes: Attributes, *, told: bool = True) -> Stage:
        """One stage. Changes `attributes.object`; does not raise what the plugin raises. `told` False: the stage
        has no list of changes when nobody traces (that costs time)."""
        before, known = attributes.object, len(attributes.context.audit)
        again = attributes.reinvocation.is_reinvoke
        try:
            changed = await plugin.admit(attributes, self.lister)
        except StatusError as error:
            self._refused(plugin.name, MUTATING, attributes, error, known)
            return Stage(plugin.name, MUTATING, before, [], error, again)
        changes: list[Change] = []
        if changed is not None and changed is not before:
            attributes.object = changed
            if told or self._trace.on:
                changes = differences(changed, before)
            if changes and self._trace.on:
                self._changed(plugin.name, attributes, before, changes)
        if not changes:
            self._stage(plugin.name, MUTATING, attributes, attributes.object)
        self._annotated(attributes, known)
        return Stage(plugin.name, MUTATING, attributes.object, changes, None, again)

    async def validate_by(self, plugin: ValidatingPlugin, attributes: Attributes) -> Stage:
        """One stage; does not raise what the plugin raises."""
        known = len(attributes.context.audit)
        try:
            await plugin.validate(attributes, self.lister)
        except StatusError as error:
            self._refused(plugin.name, VALIDATING, attributes, error, known)
            return Stage(plugin.name, VALIDATING, attributes.object, [], error)
        self._stage(plugin.name, VALIDATING, attributes, attributes.object)
        self._annotated(attributes, known)
        return Stage(plugin.name, VALIDATING, attributes.object, [])

    # -- telling -----------------------------------------------------------------------------------

    def _stage(self, stage: str, phase: str, attributes: Attributes, before: Object | None) -> None:
        trace, obj = self._trace, attributes.object
        if not trace.on or "admission.stage" in trace.without or obj is None or before is None:
            return
        changes = differences(obj, before)
        trace.emit(
            "admission.stage",
            self._lane,
            stage=stage,
            phase=phase,
            changed=changed_fields(obj, before),
            resource=attributes.resource.group_resource,
            key=_key(attributes),
            diff=to_text(changes),
        )

    def _changed(self, plugin: str, attributes: Attributes, before: object, changes: list[Change]) -> None:
        self._trace.emit(
            "admission",
            self._lane,
            plugin=plugin,
            phase=MUTATING,
            changed=changed_fields(attributes.object, before),
            resource=attributes.resource.group_resource,
            key=_key(attributes),
            diff=to_text(changes),
        )

    def _refused(self, plugin: str, phase: str, attributes: Attributes, error: StatusError, known: int) -> None:
        self._annotated(attributes, known)
        resource, key = attributes.resource.group_resource, _key(attributes)
        why = cut(error.message, _REFUSAL)
        self._trace.emit(
            "admission.refused",
            self._lane,
            plugin=plugin,
            phase=phase,
            resource=resource,
            key=key,
            code=error.code,
            why=why,
        )

    def _annotated(self, attributes: Attributes, known: int) -> None:
        """Tell of the audit annotations that came with a stage."""
        audit = attributes.context.audit
        if len(audit) == known or not self._trace.on:
            return
        for name in list(audit)[known:]:
            if name not in _NOT_TOLD:
                value = cut(audit[name], _REFUSAL)
                self._trace.emit("admission.audit", self._lane, key=_key(attributes), annotation=name, value=value)


def _key(attributes: Attributes) -> str:
    name = attributes.name
    if not name:  # still to be generated
        metadata: Object = (attributes.object or {}).get("metadata") or {}
        name = f"{metadata.get('generateName', '')}…"
    return f"{attributes.namespace}/{name}" if attributes.namespace else name
