"""Drills on resourceVersion: conflicts, what it counts, lists and watches from a version, versions that are gone.

Every answer is that of an API server over an etcd store that really ran the requests of the question.

Simplified: see `k8slab.apiserver`; ConfigMaps in one namespace, and nobody else writes.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from k8slab.api.errors import StatusError
from k8slab.api.scheme import CONFIGMAPS
from k8slab.api.transport import Request, StreamClosedError
from k8slab.apiserver import APIServer
from k8slab.drill.answers import choice, name_set, sequence, whole, yes_no
from k8slab.drill.exercise import Draft, Drill, Kind, generate, table_block
from k8slab.etcd import Store
from k8slab.sim import Loop

__all__ = ["KINDS", "Session", "resource_version"]

_ETCD3 = "apiserver/pkg/storage/etcd3/store.go"
_CACHER = "apiserver/pkg/storage/cacher/cacher.go"
_OPTIONS = "apimachinery/pkg/apis/meta/internalversion/validation/validation.go"
_MERGE = "application/merge-patch+json"
_NAMES = ("a", "b", "c")
_CODES = ("200", "400", "404", "409", "410", "422", "504")
_WORDS = {
    "ok": "200", "bad request": "400", "badrequest": "400", "not found": "404", "notfound": "404", "conflict": "409",
    "409 conflict": "409", "gone": "410", "expired": "410", "410 gone": "410", "invalid": "422", "timeout": "504",
}  # fmt: skip


class Session:
    """An API server over an empty store, and a client that does one thing after the other."""

    def __init__(self) -> None:
        self.loop = Loop(seed="drill")
        self.etcd = Store()
        self._start("apiserver/0")

    def _start(self, name: str) -> None:
        self.server = APIServer(self.loop, self.etcd, name=name, compact_every_ms=0)
        self.you = self.server.transport("you")
        self.loop.run(for_ms=20)

    def compact_and_restart(self) -> None:
        """History before now is compacted, and the API server restarts without a memory of its own."""
        self.etcd.compact(self.etcd.revision)
        self.server.kill()
        self._start("apiserver/1")

    def send(self, verb: str, name: str = "", body: Any = None, **params: str) -> Any:
        """The answer to one request about ConfigMaps. Raises StatusErrors."""
        outcome: list[Any] = []
        patch_type = _MERGE if verb == "patch" else ""
        request = Request(verb, CONFIGMAPS, "default", name, "", body, params, patch_type)

        async def call() -> None:
            try:
                outcome.append(await self.you.call(request))
            except StatusError as error:
                outcome.append(error)

        self.loop.spawn("you", call())
        self.loop.run(until=lambda: bool(outcome), for_ms=10_000)
        if isinstance(outcome[0], StatusError):
            raise outcome[0]
        return outcome[0]

    def code(self, verb: str, name: str = "", body: Any = None, **params: str) -> str:
        """The HTTP code of the answer; 200 for every success."""
        try:
            self.send(verb, name, body, **params)
        except StatusError as error:
            return str(error.code)
        return "200"

    def version(self, name: str) -> int:
        """The object's resourceVersion."""
        return int(self.send("get", name)["metadata"]["resourceVersion"])

    def names(self, **params: str) -> list[str]:
        """The names in a list."""
        return [item["metadata"]["name"] for item in self.send("list", **params)["items"]]

    def watch(self, **params: str) -> list[tuple[str, str, int]]:
        """Open a watch; the list returned fills with (type, name, resourceVersion) as the session goes on."""
        found: list[tuple[str, str, int]] = []
        request = Request("watch", CONFIGMAPS, namespace="default", params=params)

        async def read() -> None:
            stream = await self.you.watch(request)
            with contextlib.suppress(StreamClosedError):
                while True:
                    event = await stream.next()
                    metadata = event.object.get("metadata") or {}
                    found.append((event.type, metadata.get("name", ""), int(metadata.get("resourceVersion") or 0)))

        self.loop.spawn("you/watch", read())
        self.loop.run(for_ms=10)
        return found

    def settle(self) -> None:
        """Let what is under way arrive."""
        self.loop.run(for_ms=10)


@contextlib.contextmanager
def _session() -> Iterator[Session]:
    session = Session()
    try:
        yield session
    finally:
        session.loop.close()


class Write(NamedTuple):
    """One write of a history. `revision`: the store's after it; the resourceVersion of what was written."""

    what: str
    name: str
    revision: int


def _object(name: str, value: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": {"n": value}}


def _history(session: Session, rng: random.Random, length: int) -> list[Write]:
    """Creates, patches and deletes that succeed; the first three create."""
    alive: list[str] = []
    writes = []
    for number in range(length):
        gone = [name for name in _NAMES if name not in alive]
        what = "create" if number < 2 or not alive else rng.choice(["patch", "patch", "delete", "create"])
        if what == "create" and not gone:
            what = "patch"
        name = rng.choice(gone if what == "create" else alive)
        if what == "create":
            session.send("create", body=_object(name, str(number)))
            alive.append(name)
        elif what == "patch":
            session.send("patch", name, {"data": {"n": str(number)}})
        else:
            session.send("delete", name)
            alive.remove(name)
        writes.append(Write(what, name, session.etcd.revision))
    session.settle()
    return writes


def _rows(writes: Sequence[Write]) -> str:
    return table_block([(w.revision, f"{w.what} {w.name}") for w in writes], ("REVISION", "WRITE"))


def _alive(writes: Sequence[Write]) -> list[str]:
    """The names that exist after these writes, for wrong answers."""
    last = {w.name: w.what for w in writes}
    return [name for name in _NAMES if last.get(name, "delete") != "delete"]


def _one_alive(session: Session, rng: random.Random, writes: list[Write]) -> str:
    """The name of an object that exists; where none does, one is created."""
    alive = _alive(writes)
    name = rng.choice(alive or ["a"])
    if not alive:
        session.send("create", body=_object(name, "again"))
        writes.append(Write("create", name, session.etcd.revision))
    return name


# -- writes -----------------------------------------------------------------------------------------


def _attempts(old: int, new: int) -> dict[str, tuple[str, str, Any]]:
    """What the second client sends: words -> (verb, name, body)."""
    mine = {"metadata": {"name": "settings", "resourceVersion": str(old)}, "data": {"n": "mine"}}
    newest = {**mine, "metadata": {**mine["metadata"], "resourceVersion": str(new)}}
    bare = {**mine, "metadata": {"name": "settings"}}
    return {
        f"PUT with `resourceVersion: {old}`": ("update", "settings", mine),
        f"PUT with `resourceVersion: {new}`": ("update", "settings", newest),
        "PUT without a resourceVersion": ("update", "settings", bare),
        "a merge PATCH of `data` without a resourceVersion": ("patch", "settings", {"data": {"n": "mine"}}),
        f"a merge PATCH that carries `metadata.resourceVersion: {old}`": ("patch", "settings", mine),
        f"DELETE with `preconditions.resourceVersion: {old}`": (
            "delete", "settings", {"preconditions": {"resourceVersion": str(old)}},
        ),
        "DELETE without preconditions": ("delete", "settings", None),
    }  # fmt: skip


def _conflict(rng: random.Random) -> Draft:
    with _session() as session:
        session.send("create", body=_object("settings", "1"))
        old = session.version("settings")
        session.send("patch", "settings", {"data": {"n": "theirs"}})
        new = session.version("settings")
        words, (verb, name, body) = rng.choice(list(_attempts(old, new).items()))
        right = session.code(verb, name, body)
    conditional = "A version that is sent is a condition: it must be the newest."
    blind = "Without a version there is no condition: the request wins, whoever wrote before."
    hint = conditional if str(old) in words or str(new) in words else blind
    return Draft(
        f"You read the ConfigMap `settings` at resourceVersion {old}. Somebody else patches it; it is at {new} now. "
        f"You send {words}. Which HTTP code do you get?",
        choice(right, _CODES, hint, {"409": hint, "200": hint}, _WORDS),
        f"{right}. {conditional} {blind} On 409: read again, apply your change to what is there now, send again.",
    )


def _moves(rng: random.Random) -> Draft:
    changes: dict[str, tuple[str, Any]] = {
        "a merge patch that sets `data.n` to the value it has": ("patch", {"data": {"n": "1"}}),
        "a merge patch that sets `data.n` to another value": ("patch", {"data": {"n": "2"}}),
        "a PUT of exactly what you read": ("update", None),
        "a merge patch that adds a label": ("patch", {"metadata": {"labels": {"team": "blue"}}}),
        "a merge patch that removes a key of `data` that is not there": ("patch", {"data": {"x": None}}),
        "an empty merge patch, `{}`": ("patch", {}),
        "a merge patch that adds an annotation": ("patch", {"metadata": {"annotations": {"note": "hello"}}}),
    }
    words, (verb, body) = rng.choice(list(changes.items()))
    with _session() as session:
        stored = session.send("create", body=_object("settings", "1"))
        before = session.version("settings")
        code = session.code(verb, "settings", body if body is not None else stored)
        after = session.version("settings")
    why = "A write that changes nothing is not written: no revision, no event." if after == before else (
        "Anything that changes the stored object is a new revision, labels and annotations too."
    )  # fmt: skip
    return Draft(
        f'A ConfigMap (`data: {{n: "1"}}`) is at resourceVersion {before}. It gets {words}. The answer is {code}. Does '
        "its resourceVersion change?",
        yes_no(after != before, why),
        f"It is {after} then. {why}",
    )


def _counter(rng: random.Random) -> Draft:
    with _session() as session:
        writes = _history(session, rng, rng.randint(4, 7))
        name = _one_alive(session, rng, writes)
        right = session.version(name)
    first = writes[0].revision
    own = sum(w.name == name for w in writes)
    answer = whole(
        right,
        "One counter for the whole store: count on from the first row, and take the row that last wrote this object.",
        {
            writes[-1].revision: "That is the store's revision; the object keeps that of its own last write.",
            first + own - 1: "Writes to other objects move the counter as well: it is the store's.",
            own: "It does not count the object's changes.",
        },
    )
    rows = [(w.revision if n == 0 else "?", f"{w.what} {w.name}") for n, w in enumerate(writes)]
    return Draft(
        f"These writes follow each other, and nobody else writes to the store. What is `{name}`'s resourceVersion at "
        f"the end?\n\n{table_block(rows, ('REVISION', 'WRITE'))}",
        answer,
        f"{right}. Every write of any object takes the next revision of the store, and an object shows the revision of "
        f"its own last write.\n\n{_rows(writes)}",
    )


# -- lists ------------------------------------------------------------------------------------------


def _list(rng: random.Random) -> Draft:
    with _session() as session:
        writes = _history(session, rng, rng.randint(5, 7))
        cuts = range(1, len(writes) - 1)
        telling = [n for n in cuts if _alive(writes[: n + 1]) != _alive(writes)]
        cut = rng.choice(telling or cuts)
        version = str(writes[cut].revision)
        options: list[dict[str, str]] = [
            {},
            {"resourceVersion": "0"},
            {"resourceVersion": version},
            {"resourceVersion": version, "resourceVersionMatch": "Exact"},
            {"resourceVersion": version, "resourceVersionMatch": "NotOlderThan"},
            {"resourceVersion": version, "limit": "500"},
        ]
        params = rng.choice(options)
        right = session.names(**params)
    query = "&".join(f"{key}={value}" for key, value in params.items())
    then, now = _alive(writes[: cut + 1]), _alive(writes)
    why = "Without `Exact` (or a limit) a version means *at least as new*: the server answers with what it has now."
    exact = "With `Exact`, or a version and a limit, the server shows the state at just that revision."
    answer = name_set(right, _NAMES, why if right == now else exact, [(then, why), (now, exact)])
    return Draft(
        f"The API server has seen all of these writes.\n\n{_rows(writes)}\n\nWhich ConfigMaps does "
        f"`GET …/configmaps{'?' if query else ''}{query}` list?",
        answer,
        f"{', '.join(right) or 'none'}. {why} {exact} At revision {version} there were "
        f"{', '.join(then) or 'none'}; now "
        f"there are {', '.join(now) or 'none'}.",
    )


def _refused(rng: random.Random) -> Draft:
    future = str(rng.randint(5_000, 90_000))
    questions: dict[str, dict[str, str]] = {
        f"`resourceVersion={future}`, a number the store has not reached": {"resourceVersion": future},
        "`resourceVersion=-1`": {"resourceVersion": "-1"},
        "`resourceVersion=latest`": {"resourceVersion": "latest"},
        "`resourceVersionMatch=Exact` and no version": {"resourceVersionMatch": "Exact"},
        "`resourceVersion=0&resourceVersionMatch=Exact`": {"resourceVersion": "0", "resourceVersionMatch": "Exact"},
        "`resourceVersion=0`": {"resourceVersion": "0"},
        "`resourceVersion=5&resourceVersionMatch=Newest`": {"resourceVersion": "5", "resourceVersionMatch": "Newest"},
        "a `continue` token and `resourceVersion=5`": {"continue": "abc", "resourceVersion": "5"},
    }
    words, params = rng.choice(list(questions.items()))
    message = "what the cache has"
    with _session() as session:
        session.send("create", body=_object("a", "1"))
        try:
            session.send("list", "", None, **params)
            right = "200"
        except StatusError as error:
            right, message = str(error.code), error.message
    hint = (
        "400: it cannot be read as a version. 422: it can be read, but the options do not go together. 504: it lies in "
        "the future, and the server waited. 410: it lies too far back."
    )
    return Draft(
        f"A LIST of ConfigMaps asks for {words}. Which HTTP code is the answer?",
        choice(right, _CODES, hint, aliases=_WORDS),
        f"{right}: {message}. {hint}",
    )


def _compacted(rng: random.Random) -> Draft:
    asked: list[tuple[str, bool]] = [("exact", False), ("exact", True), ("newer", True), ("consistent", True)]
    what, restarts = rng.choice(asked)
    with _session() as session:
        writes = _history(session, rng, rng.randint(4, 6))
        version = str(writes[1].revision)
        if restarts:
            session.compact_and_restart()
        else:
            session.etcd.compact(session.etcd.revision)
        params = {
            "exact": {"resourceVersion": version, "resourceVersionMatch": "Exact"},
            "newer": {"resourceVersion": version},
            "consistent": {},
        }[what]
        right = session.code("list", **params)
    query = "&".join(f"{key}={value}" for key, value in params.items())
    hint = (
        "etcd has forgotten what was before; an API server still remembers what it saw itself. Only who asks for that "
        "very state can miss it."
    )
    return Draft(
        f"These writes happened, then etcd was compacted at its newest revision"
        f"{', and the API server was restarted' if restarts else ' (the API server runs on)'}.\n\n{_rows(writes)}\n\n"
        f"Which HTTP code does `GET …/configmaps{'?' if query else ''}{query}` answer?",
        choice(right, _CODES, hint, {"410": hint, "200": hint}, _WORDS),
        f"{right}. {hint} After 410 a client lists again, without a version.",
    )


# -- watches ----------------------------------------------------------------------------------------


def _types(names: Sequence[str]) -> list[str]:
    return [f"{kind}/{name}" for kind in ("ADDED", "MODIFIED", "DELETED") for name in names]


def _events(found: Sequence[tuple[str, str, int]]) -> list[str]:
    return [f"{kind}/{name}" for kind, name, _ in found]


def _watch(rng: random.Random) -> Draft:
    with _session() as session:
        writes = _history(session, rng, rng.randint(4, 6))
        cut = rng.randint(max(0, len(writes) - 5), len(writes) - 2)
        version = str(writes[cut].revision)
        right = _events(session.watch(resourceVersion=version))
        with_it = _events(session.watch(resourceVersion=str(writes[cut].revision - 1)))
        present = _events(session.watch())
    hint = "Every change after that revision, one event each, in the order of the store."
    wrong = [
        (with_it, "A watch begins *after* the version it names: that one you have seen."),
        (present, "That is a watch without a version: it begins with what is there."),
    ]
    return Draft(
        f"The API server has seen these writes.\n\n{_rows(writes)}\n\nYou open a watch with "
        f"`resourceVersion={version}`. "
        "Which events arrive, in order? Write them as `TYPE/name`, such as `ADDED/a`, or `none`.",
        sequence(right, _types(_NAMES), hint, wrong),
        f"`{', '.join(right) or 'none'}`. {hint} The version itself is not among them.",
    )


def _deleted(rng: random.Random) -> Draft:
    with _session() as session:
        writes = _history(session, rng, rng.randint(3, 5))
        name = _one_alive(session, rng, writes)
        last, seen = session.version(name), session.watch(resourceVersion=str(session.etcd.revision))
        session.send("delete", name)
        writes.append(Write("delete", name, session.etcd.revision))
        session.settle()
        right = seen[-1][2]
    answer = whole(
        right,
        "The event carries the object as it was, but with a version from which one can go on watching.",
        {
            last: "That is the object's last version; the event has that of the deletion.",
            0: "There is an object in it.",
        },
    )
    return Draft(
        f"{_rows(writes)}\n\nA watch sees the last of these writes. Which resourceVersion does the object in the event "
        "`DELETED` carry?",
        answer,
        f"{right}, the revision of the deletion, although the object was last written at {last}. So the version of the "
        "last event is always the place to go on from.",
    )


_STEPS: dict[str, Any] = {
    "gets the label `tier=front`": {"metadata": {"labels": {"tier": "front"}}},
    "gets the label `tier=back`": {"metadata": {"labels": {"tier": "back"}}},
    "loses the label `tier`": {"metadata": {"labels": {"tier": None}}},
    "gets other data": {"data": {"n": "other"}},
}


def _selected(rng: random.Random) -> Draft:
    with _session() as session:
        begins = rng.choice(["front", "back"])
        session.send("create", body={**_object("a", "0"), "metadata": {"name": "a", "labels": {"tier": begins}}})
        found = session.watch(labelSelector="tier=front", resourceVersion=str(session.etcd.revision))
        every = session.watch(resourceVersion=str(session.etcd.revision))
        lines: list[tuple[int, str]] = []
        for number in range(rng.randint(2, 4)):
            before = session.etcd.revision
            while session.etcd.revision == before:  # steps that change nothing make no event and no sense here
                words = rng.choice(list(_STEPS))
                patch = {"data": {"n": f"other {number}"}} if "data" in _STEPS[words] else _STEPS[words]
                session.send("patch", "a", patch)
            lines.append((len(lines) + 1, words.replace("`", "")))
        session.settle()
        right, unselected = [kind for kind, _, _ in found], [kind for kind, _, _ in every]
    hint = "Compare before and after each step: in to in, in to out, out to in, out to out."
    wrong = [
        (unselected, "A watch with a selector tells only of what it selects: coming in is ADDED, leaving DELETED.")
    ]
    return Draft(
        f"The ConfigMap `a` has the label `tier={begins}`. A watch with `labelSelector=tier=front` is open and "
        "has caught "
        f"up. Then the object\n\n{table_block(lines, ('', 'STEP'))}\n\nWhich event types arrive, in order? (`none` if "
        "none.)",
        sequence(right, ["ADDED", "MODIFIED", "DELETED"], hint, wrong),
        f"`{', '.join(right) or 'none'}`. Coming to match is ADDED, ceasing to match is DELETED although the object "
        "lives on, a change that matches before and after is MODIFIED, and one that matches neither is not told.",
    )


KINDS: Sequence[Kind] = (
    Kind("conflict", 1, f"{_ETCD3} (GuaranteedUpdate), registry/generic/registry/store.go (Update)", _conflict),
    Kind("moves", 1, f"{_ETCD3} (GuaranteedUpdate)", _moves),
    Kind("counter", 1, f"{_ETCD3}, etcd server/storage/mvcc/kvstore.go", _counter),
    Kind("list", 2, f"{_CACHER} (GetList)", _list),
    Kind("watch", 2, f"{_CACHER} (Watch)", _watch),
    Kind("refused", 2, f"{_OPTIONS}, apiserver/pkg/storage/cacher/watch_cache.go", _refused),
    Kind("deleted", 3, "apiserver/pkg/storage/etcd3/watcher.go (transform)", _deleted),
    Kind("compacted", 3, f"{_ETCD3} (GetList), {_CACHER}", _compacted),
    Kind("selected", 3, "apiserver/pkg/storage/cacher/cache_watcher.go (convertToWatchEvent)", _selected),
)


def resource_version(rng: random.Random) -> Drill:
    """An exercise on what a resourceVersion means."""
    return generate("resource-version", KINDS, rng)
