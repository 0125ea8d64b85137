"""A create request, stage by stage: what each of them made of the object, and where it ended.

>>> from k8slab.apiserver import APIServer, Passage
>>> from k8slab.etcd import Store
>>> from k8slab.sim import Loop
>>> server = APIServer(Loop(seed=7), Store(), disabled=["ServiceAccount"])
>>> pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"},
...        "spec": {"containers": [{"name": "web", "image": "nginx"}]}}
>>> passage = Passage(server, [pod])
>>> while passage.step():
...     pass
>>> for event in list(passage.trace)[2:]:
...     print(event.message)
Priority changes 2 fields, such as spec.priority
DefaultTolerationSeconds changes 1 field, such as spec.tolerations
Preparing changes 5 fields, such as metadata.creationTimestamp
the object is valid
etcd stores Pod default/web: the answer is 201

The stages are the server's own, in its own order; a plugin that has nothing to say is passed in the same step as the
next one that has.

Upstream: apiserver/pkg/endpoints/handlers/create.go, apiserver/pkg/registry/generic/registry/store.go (Create)
Simplified: only creates; the name is generated once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Coroutine, Generator, Iterable
from typing import Any, NamedTuple, TypeAlias

from k8slab.api.decoding import DecodeError, decode
from k8slab.api.defaults import set_defaults
from k8slab.api.errors import BadRequestError, StatusError
from k8slab.api.names import generate_name
from k8slab.api.objects import Object
from k8slab.api.scheme import gvk_of
from k8slab.apiserver.admission import Attributes, Change, Stage, differences
from k8slab.apiserver.registry import Context, Draft, Store, draft_of
from k8slab.apiserver.registry.rest import before_create, ensure_namespace, wipe_system_fields
from k8slab.apiserver.server import APIServer
from k8slab.apiserver.storage import StorageError, interpret
from k8slab.sim import Kind, Trace, TraceEvent, add_kinds
from k8slab.sim.kinds import cut

__all__ = ["Passage"]

_LANE, _YOU = "apiserver", "you"
_SHOWN = 12
_WHY, _PATH, _VALUE, _NOTE = 70, 60, 60, 110
OBJECT, MUTATING, VALIDATING, STORE = "object", "mutating", "validating", "store"
Steps: TypeAlias = Generator[None, None, None]

add_kinds(
    {
        "passage.sent": Kind("write", 1, ("user", "what"), "create {what}", "{user} wants to create {what}"),
        "passage.change": Kind(
            "serve",
            1,
            ("stage", "changed", "first"),
            "{stage}: {changed}",
            "{stage} changes {changed} {changed:field|fields}, such as {first}",
        ),
        "passage.say": Kind("serve", 1, ("stage", "says"), "{stage}", "{stage}: {says}"),
        "passage.valid": Kind("state", 1, (), "valid", "the object is valid"),
        "passage.refuse": Kind(
            "wait", 1, ("stage", "code", "why"), "{stage}: {code}", "{stage} refuses: {code}, {why}"
        ),
        "passage.stored": Kind("commit", 1, ("what",), "stored", "etcd stores {what}: the answer is 201"),
    }
)


class _Row(NamedTuple):
    """A stage in the picture. `state`: change, say, valid, refuse or stored."""

    band: str
    name: str
    state: str
    note: str
    fields: int


class Passage:
    """A steppable: `objects` are created one after the other, by `user`. `Stepper(Passage(server, [pod]))` shows each
    on its way. `error`: what the last one was refused with. ValueError for an object of an unknown kind.
    """

    views = ("admission",)
    title = "On the way to etcd"
    looks_within = True

    def __init__(self, server: APIServer, objects: Iterable[Object], *, user: str = "system:admin") -> None:
        self.server = server
        self.trace = Trace(server.loop.clock)
        self.error: StatusError | None = None
        self._user = user
        self._todo = deque(objects)
        for obj in self._todo:
            server.scheme.resource_of(gvk_of(obj))
        self._steps: Steps | None = None
        self._rows: dict[str, _Row] = {}
        self._passed: dict[str, list[str]] = {}
        self._notes: dict[str, None] = {}
        self._diff: list[Change] = []
        self._context: Context | None = None
        self._heard: list[str] = []  # what webhooks answered during this stage
        server.loop.trace.listeners.append(self._hear)
        self._what = self._answer = ""
        self._picture = self._draw()

    # -- steppable ---------------------------------------------------------------------------------

    def view(self) -> dict[str, Any]:
        """`admission`: `what` is on its way, `rows` (stages that had something to say: band, name, state, note, how
        many fields changed), `passed` (the names of the others, by band), `diff` of this step, `answer`."""
        return {"admission": self._picture}

    def step(self) -> bool:
        """To the next stage that has something to say; False when there is none left."""
        while True:
            if self._steps is None:
                if not self._todo:
                    return False
                self._steps = self._create(self._todo.popleft())
            try:
                next(self._steps)
            except StopIteration:
                self._steps = None
                continue
            return True

    def check_invariants(self) -> None:
        """AssertionError when a stage is drawn out of its order, or something comes after a refusal."""
        order = [OBJECT, MUTATING, OBJECT, VALIDATING, STORE]
        bands = [row.band for row in self._rows.values()]
        kept = [band for i, band in enumerate(bands) if i == 0 or band != bands[i - 1]]
        rest = iter(order)
        assert all(band in rest for band in kept), f"stages in the order {kept}, expected {order}"
        states = [row.state for row in self._rows.values()]
        assert "refuse" not in states[:-1], "something comes after a refusal"

    # -- the way -----------------------------------------------------------------------------------

    def _create(self, sent: Object) -> Steps:
        info = self.server.scheme.resource_of(gvk_of(sent))
        store = self.server.store(info.gvr)
        metadata = sent.get("metadata") or {}
        namespace = (metadata.get("namespace") or "default") if info.namespaced else ""
        ctx = Context(self.server.env, info, "create", namespace=namespace, name=metadata.get("name") or "")
        ctx.user = self._user
        self._begin(ctx, sent)
        yield
        try:
            obj = self._decoded(ctx, sent)
            if self._changed(OBJECT, "Defaults", differences(obj, sent)):
                yield
            attributes = Attributes(ctx, "CREATE", obj, None)
            for _ in self._admit(attributes):
                yield
            draft = draft_of(attributes.object or obj)
            if not draft["metadata"].get("name") and draft["metadata"].get("generateName"):
                draft["metadata"]["name"] = generate_name(draft["metadata"]["generateName"], ctx.env.names)
            for _ in self._prepare(ctx, store, draft):
                yield
            for _ in self._validate(Attributes(ctx, "CREATE", draft, None)):
                yield
            self._run(self._store(ctx, store, draft))
        except StatusError as error:
            self.error = error
            if not any(row.state == "refuse" for row in self._rows.values()):
                self._refused(OBJECT, "The server", error)
        else:
            self._row(STORE, "etcd", "stored", self._what, 0)
            self._answer = "201 Created"
            self._tell("passage.stored", "etcd", what=self._what)
        yield

    def _begin(self, ctx: Context, sent: Object) -> None:
        name = ctx.key or f"{(sent.get('metadata') or {}).get('generateName', '')}…"
        self.error = None
        self.trace.current = None
        self._rows, self._passed, self._notes, self._diff = {}, {}, {}, []
        self._context = ctx
        self._what, self._answer = f"{ctx.gvk.kind} {name}", ""
        self._tell("passage.sent", _YOU, user=self._user, what=self._what)

    def _decoded(self, ctx: Context, sent: Object) -> Draft:
        try:
            obj: Draft = set_defaults(decode(sent, ctx.gvk).object, ctx.gvk)
        except DecodeError as error:
            kind = ctx.gvk.kind
            raise BadRequestError(
                f'{kind} in version "{ctx.gvk.version}" cannot be handled as a {kind}: {error}'
            ) from None
        obj.setdefault("metadata", {})
        wipe_system_fields(obj)
        ensure_namespace(ctx, obj)
        return obj

    def _admit(self, attributes: Attributes) -> Steps:
        for again in (False, True):
            if again and not attributes.reinvocation.requested:
                return
            attributes.reinvocation.is_reinvoke = again
            for plugin in self.server.chain.mutating:
                stage = self._run(self.server.chain.admit_by(plugin, attributes))
                if self._stage(stage, attributes):
                    yield

    def _validate(self, attributes: Attributes) -> Steps:
        for plugin in self.server.chain.validating:
            stage = self._run(self.server.chain.validate_by(plugin, attributes))
            if self._stage(stage, attributes):
                yield

    def _prepare(self, ctx: Context, store: Store, draft: Draft) -> Steps:
        """The registry's own: what it sets, then whether all of it is valid."""
        before = {**draft, "metadata": dict(draft["metadata"])}
        self._run(store.begin_create(ctx, draft))
        error = None
        try:
            before_create(ctx, store.strategy, draft)
        except StatusError as raised:
            error = raised
        if self._changed(OBJECT, "Preparing", differences(draft, before)):
            yield
        if error is not None:
            self._refused(OBJECT, "Validation", error)
            raise error
        self._diff = []
        self._row(OBJECT, "Validation", "valid", "", 0)
        self._tell("passage.valid", _LANE)
        yield

    async def _store(self, ctx: Context, store: Store, draft: Draft) -> None:
        key = store.key(ctx.namespace, draft["metadata"]["name"])
        try:
            await self.server.storage.create(key, store.to_storage(draft), guards=ctx.guards)
        except StorageError as error:
            failure = interpret(error, ctx.gvr.resource, ctx.name, ctx.gvr.group)
            self._refused(STORE, "etcd", failure)
            raise failure from None

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """The result of a coroutine, as a task of the server; what it raises is raised here."""
        outcome: list[Any] = []

        async def guarded() -> None:
            try:
                outcome.append(await work)
            except StatusError as error:
                outcome.append(error)

        loop = self.server.loop
        loop.spawn(f"{self.server.name}/passage", guarded())
        loop.run(until=lambda: bool(outcome), for_ms=60_000)
        if not outcome:
            raise TimeoutError("the stage did not end within a minute")
        if isinstance(outcome[0], StatusError):
            raise outcome[0]
        return outcome[0]

    # -- telling -----------------------------------------------------------------------------------

    def _stage(self, stage: Stage, attributes: Attributes) -> bool:
        """Whether a plugin had something to say."""
        heard, self._heard = self._heard, []
        if stage.error is not None:
            self._refused(stage.phase, stage.plugin, stage.error)
            raise stage.error
        name = f"{stage.plugin}, again" if stage.again else stage.plugin
        if self._changed(stage.phase, name, stage.changes, ", ".join(heard)):
            return True
        new = heard + self._noted(attributes.context)
        if not new:
            self._passed.setdefault(stage.phase, []).append(stage.plugin)
            return False
        self._diff = []
        for note in new:
            self._row(stage.phase, name, "say", note, 0)
        self._tell("passage.say", _LANE, stage=name, says=cut(new[0], _WHY))
        return True

    def _noted(self, context: Context) -> list[str]:
        """Warnings and audit annotations that nobody was told of yet; not those that say how a webhook was called."""
        told = [f"warns: {text}" for text in context.warnings]
        for key, value in context.audit.items():
            if not key.endswith("enforce-policy") and ".webhook.admission.k8s.io/" not in key:
                told.append(f"audit {key.rpartition('/')[2]}: {value}")
        new = [note for note in told if note not in self._notes]
        self._notes.update(dict.fromkeys(new))
        return new

    def _changed(self, band: str, name: str, changes: list[Change], note: str = "") -> bool:
        if not changes:
            return False
        self._diff = changes
        self._row(band, name, "change", note, len(changes))
        self._tell("passage.change", _LANE, stage=name, changed=len(changes), first=cut(changes[0].path, _PATH))
        return True

    def _hear(self, event: TraceEvent) -> None:
        if event.kind in ("webhook.answer", "webhook.failed"):
            self._heard.append(f"{event.data['webhook']}: {event.data.get('says') or 'no answer'}")

    def _refused(self, band: str, name: str, error: StatusError) -> None:
        self._diff = []
        self._row(band, name, "refuse", f"{error.code} {error.reason}", 0)
        self._answer = f"{error.code} {error.message}"
        self._tell("passage.refuse", _LANE, stage=name, code=error.code, why=cut(error.message, _WHY))

    def _row(self, band: str, name: str, state: str, note: str, count: int) -> None:
        self._rows[f"{len(self._rows):02}"] = _Row(band, name, state, cut(note, _NOTE), count)

    def _tell(self, kind: str, lane: str, **data: Any) -> None:
        self.trace.emit(kind, lane, **data)
        self._picture = self._draw()

    def _draw(self) -> dict[str, Any]:
        shown = [[cut(path, _PATH), _text(old), _text(new)] for path, old, new in self._diff[:_SHOWN]]
        warnings = self._context.warnings if self._context is not None else []
        return {
            "what": self._what,
            "rows": {key: list(row) for key, row in self._rows.items()},
            "passed": {band: ", ".join(dict.fromkeys(names)) for band, names in self._passed.items()},
            "diff": {str(number): change for number, change in enumerate(shown)},
            "more": max(0, len(self._diff) - _SHOWN),
            "answer": self._answer,
            "warnings": len(warnings),
        }


def _text(value: str | int | bool | None) -> str | None:
    return None if value is None else cut(value if isinstance(value, str) else str(value).lower(), _VALUE)
