"""Fakes for unit tests: an API server small enough to see through, with faults on demand.

    transport = FakeTransport(loop)
    transport.put(PODS, {"metadata": {"name": "web-0", "namespace": "default"}})     # another client's write
    transport.fail_next("create", PODS, ForbiddenError("quota"))                     # scripted failures
    transport.lose_reply("create", PODS)                                             # done, but the answer is lost
    transport.drop_watches(PODS)                                                     # the server closes its watches
    transport.compact()                                                              # older revisions are gone

It knows no kinds: no defaulting, no validation, no admission. What it keeps from a real server: resourceVersions,
conflicts, uids, generateName, generation, the status and binding subresources, finalizers, preconditions, selectors,
paging, watches from a revision with the transitions of selectors, bookmarks, initial events, 410.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from k8slab.api.errors import (
    AlreadyExistsError,
    BadRequestError,
    ConflictError,
    ExpiredError,
    NotFoundError,
    StatusError,
)
from k8slab.api.labels import parse_selector
from k8slab.api.objects import Object, freeze, key_of, thaw
from k8slab.api.scheme import GVK, GVR, PODS, SCHEME
from k8slab.api.times import rfc3339
from k8slab.api.transport import Request, StreamClosedError, WatchEvent
from k8slab.sim.loop import Loop, Mailbox, pause, sleep

__all__ = ["FakeStream", "FakeTransport"]

MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"


def kind_of(gvr: GVR) -> GVK:
    """The kind a resource holds; of a custom resource this server only knows the plural."""
    return SCHEME.kind_of(gvr) if gvr in SCHEME else GVK(gvr.group, gvr.version, gvr.resource)


@dataclass
class Fault:
    """What happens to a coming request: `error` is raised instead of it, or (`lost`) TimeoutError after it."""

    verb: str
    gvr: GVR | None
    error: Exception | None
    lost: bool = False

    def hits(self, request: Request) -> bool:
        return self.verb in ("*", request.verb) and self.gvr in (None, request.resource)


@dataclass
class Change:
    """One revision."""

    revision: int
    gvr: GVR
    old: Object | None
    new: Object | None
    cause: int | None = None


class FakeStream:
    """An open watch of a `FakeTransport`."""

    def __init__(self, transport: FakeTransport, request: Request) -> None:
        self.transport = transport
        self.request = request
        self.closed = False
        self.box: Mailbox[WatchEvent] = Mailbox(transport.loop)

    async def next(self) -> WatchEvent:
        event = await self.box.get()
        self.transport.loop.trace.current = event.cause
        return event

    def close(self) -> None:
        self.closed = True
        self.box.close(StreamClosedError("closed by the client"))
        self.transport.streams = [stream for stream in self.transport.streams if stream is not self]

    def end(self) -> None:
        """The server ends it."""
        self.box.close(StreamClosedError("closed by the server"))
        self.transport.streams = [stream for stream in self.transport.streams if stream is not self]

    def offer(self, change: Change) -> None:
        """Send `change` if the watch selects it; leaving the selection is a DELETED, entering it an ADDED."""
        if change.gvr != self.request.resource:
            return
        was = change.old is not None and selects(self.request, change.old)
        now = change.new is not None and selects(self.request, change.new)
        if now:
            self.send("MODIFIED" if was else "ADDED", change.new, change.cause)
        elif was:
            assert change.old is not None
            metadata = {**change.old["metadata"], "resourceVersion": str(change.revision)}
            self.send("DELETED", freeze({**change.old, "metadata": metadata}), change.cause)

    def send(self, type: str, obj: Any, cause: int | None = None) -> None:
        self.box.put(WatchEvent(type, obj, cause))


@dataclass
class FakeTransport:
    """An in-memory API server and the way to it in one. A request takes `latency_ms` to get there and as long back
    (0: one action each)."""

    loop: Loop
    latency_ms: int = 0
    graceful_pods: bool = False
    objects: dict[tuple[GVR, str], Object] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    streams: list[FakeStream] = field(default_factory=list)
    revision: int = 0
    compacted: int = 0

    def __post_init__(self) -> None:
        self.changes: list[Change] = []
        self.faults: deque[Fault] = deque()
        self.watches_down = False
        self.rng: random.Random = self.loop.stream("fake transport")
        self.uids = 0
        self.pages: dict[str, tuple[int, list[Object]]] = {}

    # -- faults --------------------------------------------------------------------------------------

    def fail_next(self, verb: str, gvr: GVR | None, error: Exception, times: int = 1) -> None:
        """The next request with this verb (`*`: any) for this resource (None: any) fails and does nothing."""
        self.faults.extend(Fault(verb, gvr, error) for _ in range(times))

    def lose_reply(self, verb: str, gvr: GVR | None, times: int = 1) -> None:
        """The next such request is carried out, and its answer is lost: the client sees TimeoutError."""
        self.faults.extend(Fault(verb, gvr, None, lost=True) for _ in range(times))

    def drop_watches(self, gvr: GVR | None = None, error: StatusError | None = None) -> None:
        """End all watches (of one resource), with an ERROR event if `error` is given."""
        for stream in list(self.streams):
            if gvr in (None, stream.request.resource):
                if error is not None:
                    stream.send("ERROR", freeze(error.status()))
                stream.end()

    def compact(self) -> None:
        """Forget what happened up to now: watches from an earlier revision get 410."""
        self.compacted = self.revision

    def bookmark(self) -> None:
        """Tell every watch that wants to know: nothing else up to this revision."""
        for stream in self.streams:
            if stream.request.params.get("allowWatchBookmarks") == "true":
                stream.send("BOOKMARK", self._bookmark())

    # -- other clients' writes -------------------------------------------------------------------------

    def put(self, gvr: GVR, obj: Object) -> Object:
        """Create or replace an object, as another client would, without a request."""
        obj = self._complete(gvr, thaw(obj))
        old = self.objects.get((gvr, key_of(obj)))
        if old is not None:
            obj["metadata"] = {**obj["metadata"], "uid": old["metadata"]["uid"]}
        return self._commit(gvr, old, obj)

    def remove(self, gvr: GVR, key: str) -> None:
        """Delete an object at once."""
        self._commit(gvr, self.objects[(gvr, key)], None)

    def of(self, gvr: GVR) -> list[Object]:
        """All objects of one resource, in the order of their creation."""
        return [obj for (found, _key), obj in self.objects.items() if found == gvr]

    def get(self, gvr: GVR, key: str) -> Object:
        """One object; KeyError."""
        return self.objects[(gvr, key)]

    def verbs(self, *wanted: str) -> list[tuple[str, str, str]]:
        """The requests so far as (verb, resource/subresource, namespace/name), without lists and watches or only
        the `wanted` verbs."""
        return [
            (
                request.verb,
                request.resource.resource + (f"/{request.subresource}" if request.subresource else ""),
                "/".join(part for part in (request.namespace, request.name) if part),
            )
            for request in self.requests
            if (request.verb in wanted if wanted else request.verb not in ("list", "watch"))
        ]

    # -- Transport -------------------------------------------------------------------------------------

    async def call(self, request: Request) -> Object:
        self.requests.append(request)
        cause = self.loop.trace.current
        await self._travel()
        fault = self._fault(request)
        try:
            if fault is not None and fault.error is not None:
                raise fault.error
            answer = self._handle(request, cause)
        finally:
            lost = fault is not None and fault.lost
        await self._travel()
        if lost:
            raise TimeoutError(f"no answer to {request.verb} {request.resource.resource} {request.name}")
        return answer

    async def watch(self, request: Request) -> FakeStream:
        self.requests.append(request)
        await self._travel()
        fault = self._fault(request)
        if fault is not None:
            raise fault.error if fault.error is not None else TimeoutError("no answer to watch")
        stream = FakeStream(self, request)
        since = int(request.params.get("resourceVersion") or 0)
        if request.params.get("sendInitialEvents") == "true":
            for obj in self._selected(request):
                stream.send("ADDED", obj, self._cause_of(obj))
            stream.send("BOOKMARK", self._bookmark({"k8s.io/initial-events-end": "true"}))
        elif 0 < since < self.compacted:
            stream.send("ERROR", freeze(ExpiredError(f"too old resource version: {since} ({self.compacted})").status()))
            stream.end()
            return stream
        elif since == 0:
            for obj in self._selected(request):
                stream.send("ADDED", obj, self._cause_of(obj))
        else:
            for change in self.changes:
                if change.revision > since:
                    stream.offer(change)
        self.streams.append(stream)
        return stream

    async def _travel(self) -> None:
        if self.latency_ms:
            await sleep(self.latency_ms)
        else:
            await pause()

    # -- the server ------------------------------------------------------------------------------------

    def _fault(self, request: Request) -> Fault | None:
        for fault in self.faults:
            if fault.hits(request):
                self.faults.remove(fault)
                return fault
        return None

    def _handle(self, request: Request, cause: int | None) -> Object:
        method = getattr(self, f"_{request.verb}")
        answer: Object = method(request, cause)
        return answer

    def _find(self, request: Request) -> Object:
        key = f"{request.namespace}/{request.name}" if request.namespace else request.name
        found = self.objects.get((request.resource, key))
        if found is None:
            raise NotFoundError.of(request.resource.resource, request.name, request.resource.group)
        return found

    def _get(self, request: Request, cause: int | None) -> Object:
        return self._find(request)

    def _list(self, request: Request, cause: int | None) -> Object:
        asked = int(request.params.get("resourceVersion") or 0)
        if asked > self.revision:
            text = f"Too large resource version: {asked}, current: {self.revision}"
            raise StatusError(text, code=504, reason="Timeout")
        limit = int(request.params.get("limit") or 0)
        token = request.params.get("continue")
        revision, rest = self.pages.pop(token) if token else (self.revision, list(self._selected(request)))
        page, rest = (rest[:limit], rest[limit:]) if limit else (rest, [])
        metadata = {"resourceVersion": str(revision)}
        if rest:
            token = metadata["continue"] = f"page-{len(self.requests)}"
            self.pages[token] = (revision, rest)  # all pages of a list are of one revision
        kind = kind_of(request.resource)
        listed: Object = freeze(
            {"apiVersion": kind.api_version, "kind": kind.kind + "List", "metadata": metadata, "items": page}
        )
        return listed

    def _create(self, request: Request, cause: int | None) -> Object:
        if request.subresource == "binding":
            return self._bind(request, cause)
        body = thaw(request.body)
        if request.subresource:
            raise BadRequestError(f"the fake knows no subresource {request.subresource}")
        if request.namespace:
            body["metadata"]["namespace"] = request.namespace
        obj = self._complete(request.resource, body)
        if (request.resource, key_of(obj)) in self.objects:
            raise AlreadyExistsError.of(request.resource.resource, obj["metadata"]["name"], request.resource.group)
        return self._commit(request.resource, None, obj, cause)

    def _bind(self, request: Request, cause: int | None) -> Object:
        old, body = self._find(request), thaw(request.body)
        node, uid = body["target"]["name"], (body.get("metadata") or {}).get("uid")
        if uid and uid != old["metadata"]["uid"]:
            self._wrong_uid(request, uid, old)
        if (old.get("spec") or {}).get("nodeName"):
            raise ConflictError.of("pods/binding", request.name, f"pod {request.name} is already assigned to node")
        new = thaw(old)
        new["spec"] = {**(new.get("spec") or {}), "nodeName": node}
        self._commit(request.resource, old, new, cause)
        done: Object = freeze({"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201})
        return done

    def _update(self, request: Request, cause: int | None) -> Object:
        old = self._find(request)
        new = thaw(request.body)
        expected = new["metadata"].get("resourceVersion")
        if expected and expected != old["metadata"]["resourceVersion"]:
            raise ConflictError.of(request.resource.resource, request.name, MODIFIED, request.resource.group)
        uid = new["metadata"].get("uid")
        if uid and uid != old["metadata"]["uid"]:
            self._wrong_uid(request, uid, old)
        return self._write(request, old, new, cause)

    def _patch(self, request: Request, cause: int | None) -> Object:
        old = self._find(request)
        patch = thaw(request.body)
        if not isinstance(patch, dict):
            raise BadRequestError("the fake takes merge patches only")
        metadata = patch.get("metadata") or {}
        expected, uid = metadata.pop("resourceVersion", None), metadata.pop("uid", None)
        if expected and expected != old["metadata"]["resourceVersion"]:
            raise ConflictError.of(request.resource.resource, request.name, MODIFIED, request.resource.group)
        if uid and uid != old["metadata"]["uid"]:
            self._wrong_uid(request, uid, old)
        return self._write(request, old, merge(thaw(old), patch), cause)

    def _write(self, request: Request, old: Object, new: dict[str, Any], cause: int | None) -> Object:
        """What an update or a patch may change: the status alone on /status, all but the status without."""
        if request.subresource == "status":
            status, annotations = new.get("status") or {}, new["metadata"].get("annotations")
            new = {**thaw(old), "status": status}
            if annotations is not None:  # the status of most kinds is written with the annotations
                new["metadata"] = {**new["metadata"], "annotations": annotations}
        elif "status" in old:
            new["status"] = thaw(old["status"])
        kept = ("uid", "creationTimestamp", "generation", "deletionTimestamp", "name", "namespace")
        new["metadata"].update({name: old["metadata"][name] for name in kept if name in old["metadata"]})
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        if new == old:
            return old
        if new.get("spec") != old.get("spec"):
            new["metadata"]["generation"] = old["metadata"].get("generation", 1) + 1
        if new["metadata"].get("deletionTimestamp") and not new["metadata"].get("finalizers"):
            return self._commit(request.resource, old, None, cause)
        return self._commit(request.resource, old, new, cause)

    def _delete(self, request: Request, cause: int | None) -> Object:
        old = self._find(request)
        options: Any = request.body or {}
        preconditions = options.get("preconditions") or {}
        if preconditions.get("uid") not in (None, old["metadata"]["uid"]):
            self._wrong_uid(request, preconditions["uid"], old)
        if preconditions.get("resourceVersion") not in (None, old["metadata"]["resourceVersion"]):
            raise ConflictError.of(request.resource.resource, request.name, MODIFIED, request.resource.group)
        grace = options.get("gracePeriodSeconds")
        if grace is None:
            grace = (old.get("spec") or {}).get("terminationGracePeriodSeconds", 30)
        graceful = self.graceful_pods and request.resource == PODS and grace and (old.get("spec") or {}).get("nodeName")
        if not (graceful or old["metadata"].get("finalizers")):
            return self._commit(request.resource, old, None, cause)
        if old["metadata"].get("deletionTimestamp"):
            return old
        new = thaw(old)
        new["metadata"]["deletionTimestamp"] = rfc3339(self.loop.clock.now_ms + (grace * 1000 if graceful else 0))
        new["metadata"]["deletionGracePeriodSeconds"] = grace if graceful else 0
        return self._commit(request.resource, old, new, cause)

    def _deletecollection(self, request: Request, cause: int | None) -> Object:
        for obj in list(self._selected(request)):
            metadata = obj["metadata"]
            one = Request("delete", request.resource, metadata.get("namespace") or "", metadata["name"])
            self._delete(one, cause)
        done: Object = freeze({"kind": "Status", "apiVersion": "v1", "status": "Success"})
        return done

    def _wrong_uid(self, request: Request, uid: str, old: Object) -> None:
        found = old["metadata"]["uid"]
        why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {found}"
        raise ConflictError.of(request.resource.resource, request.name, why, request.resource.group)

    # -- inside ----------------------------------------------------------------------------------------

    def _complete(self, gvr: GVR, obj: dict[str, Any]) -> dict[str, Any]:
        kind = kind_of(gvr)
        metadata = dict(obj["metadata"])
        if not metadata.get("name") and metadata.get("generateName"):
            suffix = "".join(self.rng.choice("bcdfghjklmnpqrstvwxz2456789") for _ in range(5))
            metadata["name"] = metadata["generateName"] + suffix
        if not metadata.get("uid"):
            self.uids += 1
            metadata["uid"] = f"uid-{self.uids}"
        metadata.setdefault("creationTimestamp", rfc3339(self.loop.clock.now_ms))
        if "spec" in obj:
            metadata.setdefault("generation", 1)
        return {"apiVersion": kind.api_version, "kind": kind.kind, **obj, "metadata": metadata}

    def _commit(self, gvr: GVR, old: Object | None, new: dict[str, Any] | None, cause: int | None = None) -> Object:
        self.revision += 1
        seen = old if old is not None else new
        assert seen is not None
        key = key_of(seen)
        if new is None:
            del self.objects[(gvr, key)]
            stored: Object = freeze({**seen, "metadata": {**seen["metadata"], "resourceVersion": str(self.revision)}})
        else:
            new["metadata"] = {**new["metadata"], "resourceVersion": str(self.revision)}
            stored = self.objects[(gvr, key)] = freeze(new)
        trace = self.loop.trace
        trace.commit(self.revision, cause)
        trace.record_object(gvr.group_resource, key, self.revision, None if new is None else stored)
        change = Change(self.revision, gvr, old, None if new is None else stored, cause)
        self.changes.append(change)
        self.loop.changed = True
        for stream in list(self.streams):
            stream.offer(change)
        return stored

    def _selected(self, request: Request) -> Iterator[Object]:
        return (obj for (gvr, _key), obj in self.objects.items() if gvr == request.resource and selects(request, obj))

    def _cause_of(self, obj: Object) -> int | None:
        return self.loop.trace.of_revision.get(int(obj["metadata"]["resourceVersion"]))

    def _bookmark(self, annotations: dict[str, str] | None = None) -> Object:
        metadata: dict[str, Any] = {"resourceVersion": str(self.revision)}
        if annotations:
            metadata["annotations"] = annotations
        found: Object = freeze({"metadata": metadata})
        return found


def selects(request: Request, obj: Object) -> bool:
    """Whether a list or watch with these parameters has `obj` in it."""
    metadata = obj["metadata"]
    if request.namespace and metadata.get("namespace") != request.namespace:
        return False
    labels = request.params.get("labelSelector")
    if labels and not parse_selector(labels).matches(metadata.get("labels") or {}):
        return False
    for term in (request.params.get("fieldSelector") or "").split(","):
        if term:
            path, unequal, value = term.partition("!=")
            if not unequal:
                path, _, value = term.partition("=")
            if (lookup(obj, path) == value.lstrip("=")) is bool(unequal):
                return False
    return True


def lookup(obj: Any, path: str) -> str:
    """The field called `path` (`spec.nodeName`) as text, "" where it is absent."""
    for part in path.split("."):
        obj = obj.get(part) if isinstance(obj, dict) else None
    return "" if obj is None else str(obj)


def merge(doc: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """RFC 7386."""
    for name, value in patch.items():
        if value is None:
            doc.pop(name, None)
        elif isinstance(value, dict) and isinstance(doc.get(name), dict):
            doc[name] = merge(doc[name], value)
        else:
            doc[name] = value
    return doc
