"""Lab 04: the properties of watches, judged over what readers were handed, beside a plain list of all events.

Upstream: etcd server/storage/mvcc/{watchable_store,watcher,watcher_group}.go
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from k8slab.lab import Broken, Check, LabSpec, Op, Step

Judge: TypeAlias = Callable[[Sequence[Step]], Broken | None]
Event: TypeAlias = tuple[str, str | None]
"""A key and its new value; None: deleted."""

ALONE = ", alone "
"""In the setting `beside`: how an answer goes on that depends on the other readers."""
KEYS, VALUES = ("a", "aa", "b", "c"), ("x", "y", "z")
CLIENTS = ("client-1", "client-2", "client-3")
ROOM = 3


class Response(NamedTuple):
    """What a reader is handed. `compacted`: that the watch ends, and why; 0: it does not."""

    revision: int
    events: tuple[Event, ...] = ()
    compacted: int = 0

    def __str__(self) -> str:
        if self.compacted:
            return f"compacted at {self.compacted}"
        return f"{self.revision}: {' '.join(_shown(event) for event in self.events)}".strip()


def _shown(event: Event) -> str:
    key, value = event
    return f"{key} gone" if value is None else f"{key}={value}"


def _parsed(answer: str) -> Response:
    """`3: a=x b gone` or `compacted at 5`; ValueError for anything else."""
    if answer.startswith("compacted at "):
        return Response(0, (), int(answer.removeprefix("compacted at ")))
    revision, _, words = answer.partition(":")
    events: list[Event] = []
    for word in words.split():
        if word == "gone":
            events[-1] = events[-1][0], None
        else:
            key, _, value = word.partition("=")
            events.append((key, value))
    return Response(int(revision), tuple(events))


# -- what is right: all events in one list, and where each watch is --------------------------------


@dataclass
class Watch:
    """One watch. `state`: up to date, behind, ended or cancelled. `missing`: the first revision that it is owed and was
    not queued yet. `waiting`: what is in its queue, each with what led to it, and who took nothing meanwhile. `got`:
    what it was handed."""

    client: str
    keys: tuple[str, ...]
    start: int
    state: str
    missing: int
    waiting: list[tuple[Response, str]] = field(default_factory=list)
    got: list[Response] = field(default_factory=list)
    later: list[Response] = field(default_factory=list)  # what it is handed after something wrong
    is_fed: bool = False  # sync has given it everything; since then it was handed nothing that notify told
    was_slow: bool = False
    is_lost: bool = False  # it was handed something wrong: what follows from that is not told again

    def wants(self, events: Sequence[Event]) -> tuple[Event, ...]:
        return tuple(event for event in events if _is_in(event[0], self.keys))


def _is_in(key: str, keys: Sequence[str]) -> bool:
    return keys[0] <= key < keys[1] if len(keys) > 1 else key == keys[0]


class World:
    """The naive twin: all revisions there ever were, and every watch."""

    def __init__(self, room: int = ROOM, script: Sequence[Response] = (), is_alone_tried: bool = False) -> None:
        """`script`: all that will have been written in the end. `is_alone_tried`: whether answers say where other
        readers make a difference."""
        self.room, self.revision, self.compacted = room, 1, 0
        self.script, self.is_alone_tried = script, is_alone_tried
        self.all: list[Response] = []
        self.untold: list[Response] = []
        self.watches: dict[str, Watch] = {}

    # -- what the store does ---------------------------------------------------------------------

    def write(self, events: Sequence[Event]) -> None:
        self.revision += 1
        self.all.append(Response(self.revision, tuple(events)))
        self.untold.append(self.all[-1])

    def delete(self, keys: Sequence[str]) -> None:
        current: dict[str, str | None] = {}
        for one in self.all:
            current.update(one.events)
        doomed = sorted(key for key, value in current.items() if value is not None and _is_in(key, keys))
        if doomed:
            self.write([(key, None) for key in doomed])

    def compact(self, revision: int) -> None:
        if self.compacted < revision <= self.revision:
            self.compacted = revision

    def tell(self) -> None:
        if self.untold:
            told = self.untold.pop(0)
            others = [watch.client for watch in self.watches.values() if self.is_slow(watch)]
            for watch in self.watches.values():
                self._offer(watch, told, [client for client in others if client != watch.client])

    def tell_all(self) -> None:
        while self.untold:
            self.tell()

    # -- what becomes of watches -----------------------------------------------------------------

    def is_full(self, watch: Watch) -> bool:
        return len(watch.waiting) >= self.room

    def is_slow(self, watch: Watch) -> bool:
        """Its reader has not taken what waits, so it is full or was set aside."""
        return self.is_full(watch) or (watch.state == "behind" and watch.was_slow)

    def _offer(self, watch: Watch, told: Response, slow: Sequence[str]) -> None:
        wanted = watch.wants(told.events)
        if watch.state != "up to date" or told.revision < watch.missing or not wanted:
            return
        if self.is_full(watch):
            watch.state, watch.missing, watch.was_slow = "behind", told.revision, True
        else:
            watch.waiting.append((Response(told.revision, wanted), " ".join(("live", *slow))))

    def sync(self) -> None:
        slow = [watch.client for watch in self.watches.values() if self.is_slow(watch)]
        for watch in self.watches.values():
            if watch.state == "behind" and not self.is_full(watch):
                others = [client for client in slow if client != watch.client]
                self._feed(watch, others)

    def _feed(self, watch: Watch, slow: Sequence[str]) -> None:
        if watch.missing < self.compacted:
            watch.waiting.append((Response(0, (), self.compacted), "compaction"))
            watch.state = "ended"
            return
        how = " ".join(("caught-up" if watch.was_slow else "replayed", *slow))
        for one in self.all:
            wanted = watch.wants(one.events)
            if one.revision >= watch.missing and wanted:
                if self.is_full(watch):
                    watch.missing, watch.was_slow = one.revision, True
                    return
                watch.waiting.append((Response(one.revision, wanted), how))
        watch.missing, watch.state, watch.is_fed = self.revision + 1, "up to date", True

    # -- what readers do -------------------------------------------------------------------------

    def watch(self, client: str, keys: Sequence[str], start: int) -> None:
        """Nothing for one who watches already, and was not told that this is over."""
        before = self.watches.get(client)
        if before is not None and before.state != "cancelled" and not any(one.compacted for one in before.got):
            return
        first = start or self.revision + 1
        state = "behind" if first <= self.revision else "up to date"
        self.watches.pop(client, None)
        self.watches[client] = Watch(client, tuple(keys), first, state, first)

    def cancel(self, client: str) -> None:
        if client in self.watches:
            self.watches[client].state = "cancelled"
            self.watches[client].waiting.clear()

    def owed(self, watch: Watch) -> list[Response]:
        """All that this watch is to be handed, from its start on, if it keeps up."""
        found = [Response(one.revision, watch.wants(one.events)) for one in self.all if one.revision >= watch.start]
        return [one for one in found if one.events]

    def do(self, op: Op) -> None:
        """An operation, except for `take` and `drain`."""
        verb, words = op[0], op[1:]
        if verb == "hub":
            self.__init__(int(words[0]), self.script, self.is_alone_tried)  # type: ignore[misc]
        elif verb in ("put", "write"):
            self.write(list(zip(words[::2], words[1::2], strict=True)))
        elif verb == "delete":
            self.delete(words)
        elif verb == "watch":
            self.watch(words[0], words[1:-1], int(words[-1]))
        elif verb == "compact":
            self.compact(int(words[0]))
        elif verb == "cancel":
            self.cancel(words[0])
        elif verb == "sync":
            self.sync()
        if verb == "tell":
            self.tell()
        elif verb in ("put", "delete"):
            self.tell_all()


# -- what is wrong ---------------------------------------------------------------------------------

Fault: TypeAlias = tuple[str, str]
"""A cause, and why."""


def _faults(steps: Sequence[Step], setting: str) -> Iterator[Broken]:
    """All that is wrong, step by step; of each watch the first thing alone."""
    final = World()
    for step in steps:
        if step.verb not in ("take", "drain"):
            final.do(step.op)
    world = World(script=final.all, is_alone_tried=setting == "beside")
    for number, step in enumerate(steps):
        if step.verb not in ("take", "drain"):
            world.do(step.op)
            continue
        watch = world.watches.get(step.op[1])
        if watch is None or watch.is_lost:
            continue
        fault = _taken(step, watch, world, steps[number + 1 :])
        if fault is not None:
            watch.is_lost = True
            yield Broken(step.number, fault[1], fault[0])


def _responses(step: Step) -> list[Response]:
    return _all_of(step.result.partition(ALONE)[0])


def _alone(step: Step) -> list[Response]:
    """What the same hub hands out at this step if there is no other reader, where that is something else."""
    return _all_of(step.result.partition(ALONE)[2])


def _all_of(answer: str) -> list[Response]:
    return [] if answer in ("", "nothing") else [_parsed(text) for text in answer.split(" | ")]


def _handed(client: str, steps: Sequence[Step]) -> Iterator[Response]:
    """What a client is handed in these steps, until it watches anew."""
    for step in steps:
        if step.result is None or step.op[1:2] != (client,):
            continue
        if step.verb == "watch":
            return
        if step.verb in ("take", "drain"):
            yield from _responses(step)


def _taken(step: Step, watch: Watch, world: World, steps: Sequence[Step]) -> Fault | None:
    """One response, or all that there are, one after the other. `steps`: those that follow."""
    found = _responses(step)
    for number, response in enumerate(found, start=1):
        expected, led = watch.waiting.pop(0) if watch.waiting else (None, "")
        how = "beside a slow one" if " " in led else led
        if response != expected:
            watch.later = [*found[number:], *_handed(watch.client, steps)]
            return _wrong(watch, response, expected, how, world)
        watch.got.append(response)
        watch.is_fed = watch.is_fed and how != "live"
    if watch.waiting and (step.verb == "drain" or not found):
        watch.later = [*_handed(watch.client, steps)]
        return _nothing(watch, world, _alone(step))
    return None


def _nothing(watch: Watch, world: World, alone: Sequence[Response]) -> Fault:
    """It was handed nothing, and something should wait. `alone`: what it is handed without the other readers."""
    expected, led = watch.waiting[0]
    how, *slow = led.split()
    told = f"{watch.client} watches {' up to '.join(watch.keys)} from {watch.start} on; {expected} should wait for it"
    if how == "compaction":
        return "not-told-of-compaction", f"{told}: what it misses is gone, and it was handed nothing"
    if slow and expected in alone:
        why = f"{told}, and does without other readers; while {' and '.join(slow)} took nothing it was handed nothing"
        return "blocked", f"{why}: a slow reader stops others"
    if slow and not world.is_alone_tried:
        return "kept-waiting", f"{told}, and it was handed nothing; {' and '.join(slow)} took nothing meanwhile"
    if _is_start(watch, expected.events, world):
        return "loses-its-start", f"{told}, and it was handed nothing: of all its keys {watch.keys[0]} is left out"
    if how in ("live", "replayed") and _are_deletes([one for one, _ in watch.waiting], [*watch.got, *watch.later]):
        return "loses-a-delete", f"{told}, and it was handed nothing: of all changes, the deletes are left out"
    if how == "live" and watch.is_fed:
        return "stays-behind", f"{told}; sync had given it all there was, then this was told: it was handed nothing"
    if how == "live":
        return "not-told", f"{told}, and it was handed nothing"
    if how == "replayed":
        return "not-replayed", f"{told} since the last sync, and it was handed nothing"
    return "not-caught-up", f"{told}: it has made room and sync was called, and it was handed nothing"


def _is_start(watch: Watch, missing: Sequence[Event], world: World, *found: Response) -> bool:
    """Whether the first key of an interval alone is missing: other keys were handed out, and it never was, neither
    between them nor a second time."""
    first, got = watch.keys[0], {key for one in (*watch.got, *found, *watch.later) for key, _ in one.events}
    if len(watch.keys) == 1 or watch.was_slow or not got or first in got or {key for key, _ in missing} != {first}:
        return False
    changes = [one for one in world.script if one.revision >= watch.start and first in dict(one.events)]
    return bool(watch.got) or len(changes) > 1


def _are_deletes(missing: Sequence[Response], handed: Sequence[Response]) -> bool:
    """Whether deletes alone are missing, and puts alone were handed out."""
    lost, got = ([value for one in some for _, value in one.events] for some in (missing, handed))
    return bool(lost and got) and not any(lost) and all(got)


def _wrong(watch: Watch, found: Response, expected: Response | None, how: str, world: World) -> Fault:
    """It was handed something else, or something where nothing should wait."""
    told = f"{watch.client} watches {' up to '.join(watch.keys)} from {watch.start} on"
    right = f"expected {expected or 'nothing'}, found {found}"
    if watch.state == "cancelled":
        return "after-the-end", f"{watch.client} has cancelled its watch, and was handed {found}"
    if any(one.compacted for one in watch.got):
        return "after-the-end", f"{watch.client} was told of the compaction: that ends its watch, and it got {found}"
    if found.compacted:
        return _ended(watch, found, expected, how, told, right, world)
    if expected is not None and expected.compacted:
        why = f"{told}; it misses revision {watch.missing}, and {world.compacted} was compacted: {right}"
        return "hides-a-compaction", why
    return _other_events(watch, found, told, right, world) or _order(watch, found, expected, how, told, right, world)


def _ended(
    watch: Watch, found: Response, expected: Response | None, how: str, told: str, right: str, world: World
) -> Fault:
    if expected is not None and expected.compacted:
        return "other-compact-revision", f"{told}: {right}"
    if expected is not None and any(one.compacted for one, _ in watch.waiting):
        return "end-before-the-rest", f"{told}: what waited before comes first; {right}"
    if expected is not None and expected.revision == world.compacted:
        why = f"{told}; it misses revision {expected.revision} and later ones, which are all there: {right}"
        return "ends-at-the-border", why
    if expected is not None and how not in ("live", "compaction"):
        return "ends-without-need", f"{told}; it misses revision {expected.revision} and later ones: {right}"
    if watch.state == "up to date":
        return "ends-who-misses-nothing", f"{told}, has been given everything so far, and was told: {found}"
    if watch.state == "behind" and watch.missing < world.compacted:
        return "more-than-room", f"{told}; its queue is full: the word of the compaction has to wait too; {right}"
    return "ends-without-need", f"{told}; it misses revision {watch.missing} and later ones: {right}"


def _other_events(watch: Watch, found: Response, told: str, right: str, world: World) -> Fault | None:
    """Not what was written in that revision, or not what this watch wants of it."""
    if not found.events:
        return "empty", f"{told}, and was handed a response without events: {found}"
    written = next((one.events for one in world.all if one.revision == found.revision), ())
    if any(event not in written for event in found.events):
        return "invented", f"{told} and was handed {found}; revision {found.revision} wrote something else"
    if found.revision < watch.start:
        return "before-its-start", f"{told}, and was handed {found}"
    wanted = watch.wants(written)
    if any(event not in wanted for event in found.events):
        return "other-keys", f"{told}, and was handed {found}"
    if len(found.events) < len(wanted):
        whole = Response(found.revision, wanted)
        rest = [event for event in wanted if event not in found.events]
        if _is_start(watch, rest, world, found):
            why = (
                f"{told}; revision {found.revision} is {whole}, and it was handed {found}: {watch.keys[0]} is left out"
            )
            return "loses-its-start", why
        return "split", f"{told}; revision {found.revision} is {whole}, and it was handed a part of it: {found}"
    if found.events != wanted:
        return "other-order-in-a-revision", f"{told}: {right}"
    return None


def _order(
    watch: Watch, found: Response, expected: Response | None, how: str, told: str, right: str, world: World
) -> Fault:
    """Whole, and its own, and not the next one."""
    if found in watch.got:
        return "twice", f"{told}, and was handed {found} for the second time"
    if watch.got and found.revision < watch.got[-1].revision:
        return "backwards", f"{told}, had {watch.got[-1]}, and was handed {found} after it"
    missing = [one for one in world.owed(watch) if one not in watch.got]
    if found not in missing[:1]:
        why = f"{told}, and was handed {found}; {missing[0] if missing else 'nothing'} comes before that"
        had_room = how == "live" or not watch.was_slow
        return _skipped(watch, found, expected, missing, world) if had_room else "lost-while-slow", why
    if watch.was_slow and watch.state == "behind":
        return "more-than-room", f"{told}; it had {world.room} responses waiting, more should not: {right}"
    if watch.state == "up to date":
        why = f"{told} and is not behind: revision {found.revision} is written, and notify has not told it yet; {right}"
        return "ahead-of-notify", why
    return "fed-without-sync", f"{told}, is behind, sync was not called since, and it was handed {found}"


def _skipped(
    watch: Watch, found: Response, expected: Response | None, missing: Sequence[Response], world: World
) -> str:
    if expected is None:
        return "overtakes"
    if expected in watch.later and found not in watch.later:
        return "out-of-order"
    handed = [*watch.got, found, *watch.later]
    if _is_start(watch, missing[0].events, world, found):
        return "loses-its-start"
    return "loses-a-delete" if _are_deletes([one for one in missing if one not in handed], handed) else "lost"


ALIVE = ("not-told", "stays-behind", "not-replayed", "invented", "empty", "loses-its-start")
"""Wrong in a hub that does nothing, or that leaves out a key: every check notices it."""
LOST = ("lost", "loses-a-delete", "out-of-order")
"""Ways in which a response does not come when it is its turn."""


def hub_with(*causes: str, setting: str = "") -> Judge:
    """The judge for these causes, and for those that every check notices."""
    wanted = {*ALIVE, *causes}

    def judge(steps: Sequence[Step]) -> Broken | None:
        return next((broken for broken in _faults(steps, setting) if broken.cause in wanted), None)

    return judge


def hub_state(steps: Sequence[Step]) -> Mapping[str, str]:
    """Where each watch should be, if all was right so far."""
    world = World()
    for step in steps:
        if step.verb not in ("take", "drain"):
            world.do(step.op)
        elif (watch := world.watches.get(step.op[1])) is not None:
            del watch.waiting[: 1 if step.verb == "take" else None]
    found = {"history": f"at {world.revision}, compacted {f'at {world.compacted}' if world.compacted else 'never'}"}
    if world.untold:
        found["not told yet"] = " ".join(str(one.revision) for one in world.untold)
    for client, watch in sorted(world.watches.items()):
        behind = f", misses {watch.missing} and later" if watch.state == "behind" else ""
        waits = " | ".join(str(one) for one, _ in watch.waiting) or "nothing"
        found[client] = f"{watch.state}{behind}; waiting: {waits}"
    return found


# -- scripts ---------------------------------------------------------------------------------------


class Writer:
    """Makes scripts, and knows where the store is."""

    def __init__(self, rng: random.Random, room: int, keys: Sequence[str] = KEYS) -> None:
        self.rng, self.keys, self.world = rng, keys, World(room)
        self.ops: list[Op] = [("hub", str(room))]

    def say(self, *op: str) -> None:
        self.ops.append(op)
        if op[0] in ("take", "drain"):
            watch = self.world.watches.get(op[1])
            if watch is not None:
                taken = watch.waiting[: 1 if op[0] == "take" else None]
                del watch.waiting[: len(taken)]
                watch.got += [one for one, _ in taken]
        else:
            self.world.do(op)

    def value(self) -> str:
        """Another one in each revision."""
        return f"{self.rng.choice(VALUES)}{self.world.revision + 1}"

    def put(self, verb: str = "put") -> None:
        self.say(verb, self.rng.choice(self.keys), self.value())

    def put_two(self) -> None:
        one, two = self.rng.sample(self.keys, 2)
        self.say("put", one, self.value(), two, self.value())

    def delete(self) -> None:
        if self.rng.random() < 0.5:
            self.say("delete", self.rng.choice(self.keys))
        else:
            self.say("delete", "a", "d")

    def change(self) -> None:
        """Any change that is told at once."""
        self.rng.choice((self.put, self.put, self.put, self.put_two, self.delete))()

    def watch(self, client: str, start: int = 0) -> None:
        """A key or an interval."""
        keys = self.rng.choice(((self.rng.choice(self.keys),), ("a", "b"), ("a", "d"), ("a", "d"), ("aa", "c")))
        self.say("watch", client, *keys, str(start))

    def watch_all(self, client: str, start: int = 0) -> None:
        self.say("watch", client, "a", "d", str(start))

    def past(self) -> int:
        """A revision that can be watched from, and has been."""
        return self.rng.randint(max(self.world.compacted, 2), max(self.world.revision, 2))

    def compact(self) -> None:
        if self.world.compacted < self.world.revision:
            self.say("compact", str(self.rng.randint(self.world.compacted + 1, self.world.revision)))

    def until_quiet(self, clients: Sequence[str], most: int = 60) -> None:
        """Sync and drain until everybody should have everything."""
        for _ in range(most):
            for client in clients:
                self.say("drain", client)
            if all(watch.state != "behind" for watch in self.world.watches.values()):
                break
            self.say("sync")
        for client in clients:
            self.say("drain", client)


def live(rng: random.Random) -> list[Op]:
    """Readers that keep up with what is written, of a key or of all. Nobody is behind: sync may still be unwritten."""
    writer = Writer(rng, 30, KEYS[:2])
    clients = CLIENTS[: rng.randint(1, 2)]
    for client in clients:
        writer.say("watch", client, *rng.choice((("a",), ("a", "d"))), "0")
    for _ in range(rng.randint(3, 6)):
        for _ in range(rng.randint(1, 3)):
            rng.choice((writer.put, writer.put, lambda: writer.say("delete", rng.choice(writer.keys))))()
        for client in clients:
            writer.say(*rng.choice((("drain", client), ("take", client))))
    writer.until_quiet(clients)
    return writer.ops


def ranges(rng: random.Random) -> list[Op]:
    writer = Writer(rng, 9)
    for client in CLIENTS:
        writer.watch(client)
    for _ in range(rng.randint(4, 9)):
        writer.change()
    writer.until_quiet(CLIENTS)
    return writer.ops


def starting(rng: random.Random) -> list[Op]:
    """Watches that begin now, or in the future. Here, too, sync may be unwritten."""
    writer = Writer(rng, 30)
    for client in CLIENTS:
        for _ in range(rng.randint(1, 3)):
            writer.put(rng.choice(("put", "put", "write")))
        writer.watch_all(client, rng.choice((0, 0, writer.world.revision + rng.randint(1, 3))))
    while writer.world.untold:
        writer.say("tell")
    for _ in range(rng.randint(3, 5)):
        writer.put()
    writer.until_quiet(CLIENTS)
    return writer.ops


def replaying(rng: random.Random) -> list[Op]:
    writer = Writer(rng, 30)
    for _ in range(rng.randint(3, 8)):
        writer.change()
    for client in CLIENTS[:2]:
        writer.watch(client, writer.past())
    writer.say("sync")
    for client in CLIENTS[:2]:
        writer.say("drain", client)
    writer.watch_all("client-3", writer.past())
    writer.say("sync")
    writer.say("drain", "client-3")
    return writer.ops


def seams(rng: random.Random) -> list[Op]:
    """The past ends and the present begins: in between anything may be called."""
    writer = Writer(rng, 30)
    writer.put()
    for client in CLIENTS[:2]:
        for _ in range(rng.randint(0, 2)):
            writer.change()
        writer.watch_all(client, rng.choice((0, writer.past(), writer.past())))
    for _ in range(rng.randint(6, 12)):
        kind = rng.choice(("put", "write", "write", "tell", "tell", "sync", "sync", "drain"))
        if kind in ("put", "write"):
            writer.put(kind)
        else:
            writer.say(*((kind, rng.choice(CLIENTS[:2])) if kind == "drain" else (kind,)))
    while writer.world.untold:
        writer.say("tell")
    writer.put()
    writer.until_quiet(CLIENTS[:2])
    return writer.ops


def whole(rng: random.Random) -> list[Op]:
    """Several events in a revision, little room."""
    writer = Writer(rng, rng.randint(1, 3))
    writer.watch_all("client-1")
    writer.put()
    writer.watch_all("client-2", 2)
    for _ in range(rng.randint(4, 8)):
        rng.choice((writer.put_two, writer.put_two, writer.delete))()
        if rng.random() < 0.4:
            writer.say("sync")
        if rng.random() < 0.5:
            writer.say(rng.choice(("take", "drain")), rng.choice(CLIENTS[:2]))
    writer.until_quiet(CLIENTS[:2])
    return writer.ops


def crowded(rng: random.Random) -> list[Op]:
    """More than there is room for, live and from the past."""
    writer = Writer(rng, rng.randint(1, 3))
    writer.watch_all("client-1")
    for _ in range(writer.world.room + rng.randint(1, 4)):
        writer.put()
    writer.watch_all("client-2", 2)
    for _ in range(rng.randint(1, 2)):
        writer.say("sync")
        for client in CLIENTS[:2]:
            writer.say("drain", client)
    return writer.ops


def slow(rng: random.Random) -> list[Op]:
    """A reader that takes too little, and later everything."""
    writer = Writer(rng, rng.randint(1, 3))
    writer.watch_all("client-1")
    for _ in range(rng.randint(6, 14)):
        kind = rng.choice(("change", "change", "change", "take", "sync", "write", "tell"))
        if kind == "change":
            writer.change()
        elif kind == "write":
            writer.put("write")
        else:
            writer.say(*(("take", "client-1") if kind == "take" else (kind,)))
    while writer.world.untold:
        writer.say("tell")
    writer.until_quiet(CLIENTS[:1])
    writer.put()
    writer.say("drain", "client-1")
    return writer.ops


def beside(rng: random.Random) -> list[Op]:
    """One or two readers take nothing, the others everything."""
    writer = Writer(rng, rng.randint(1, 2))
    clients = rng.sample(CLIENTS, 3)
    for client in clients:
        writer.watch_all(client)
    for _ in range(rng.randint(4, 7)):
        writer.put()
        if rng.random() < 0.5:
            writer.say("sync")
        for client in clients[: rng.choice((1, 2))]:
            writer.say("drain", client)
    writer.until_quiet(clients)
    return writer.ops


def overtaken(rng: random.Random) -> list[Op]:
    """Compaction goes over what somebody still misses."""
    writer = Writer(rng, rng.randint(1, 3))
    writer.watch_all("client-1")
    for _ in range(writer.world.room + rng.randint(2, 4)):
        rng.choice((writer.put, writer.put, writer.delete))()
    writer.watch_all("client-2", rng.randint(2, 3))
    if rng.random() < 0.3:
        writer.say("sync")
    writer.say("compact", str(rng.randint(max(3, writer.world.revision - 1), max(3, writer.world.revision))))
    for _ in range(rng.randint(0, 2)):
        writer.change()
    if rng.random() < 0.5:
        writer.say("take", "client-1")
    writer.say("sync")
    writer.until_quiet(CLIENTS[:2])
    writer.put()
    writer.say("sync")
    writer.until_quiet(CLIENTS[:2])
    return writer.ops


def stopped(rng: random.Random) -> list[Op]:
    """sync has to stop for want of room; what it misses then comes later than the compaction."""
    writer = Writer(rng, rng.randint(1, 2))
    for key in ["a"] * writer.world.room + ["b"] * rng.randint(1, 3) + ["a"]:
        writer.say("put", key, writer.value())
    writer.say("watch", "client-1", "a", "2")
    writer.say("sync")
    writer.say("compact", str(writer.world.revision - rng.randint(0, 1)))
    writer.say("take", "client-1")
    writer.say("sync")
    writer.until_quiet(CLIENTS[:1])
    return writer.ops


def spared(rng: random.Random) -> list[Op]:
    """Compaction goes over what nobody misses, up to the very revision that somebody does."""
    if rng.random() < 0.3:
        return stopped(rng)
    writer = Writer(rng, rng.randint(1, 3))
    writer.say("watch", "client-1", "a", "0")
    writer.say("put", "a", writer.value())
    writer.say("drain", "client-1")
    for _ in range(rng.randint(2, 5)):
        writer.say("put", rng.choice(("b", "c")), writer.value())
    if rng.random() < 0.5:
        writer.say("delete", "a", "d")
    writer.say("watch", "client-2", "a", "d", str(writer.world.revision))
    writer.say("compact", str(writer.world.revision))
    if rng.random() < 0.5:
        writer.say("sync")
    for _ in range(writer.world.room):
        writer.say("put", "a", writer.value())
    for _ in range(rng.randint(0, 2)):
        writer.say("put", "b", writer.value())
    behind = [watch for watch in writer.world.watches.values() if watch.state == "behind"]
    if rng.random() < 0.6 and not behind:
        writer.say("compact", str(writer.world.revision))
    for _ in range(rng.randint(0, 2)):
        writer.say("put", "a", writer.value())
    writer.say("sync")
    writer.until_quiet(CLIENTS[:2])
    return writer.ops


def leaving(rng: random.Random) -> list[Op]:
    writer = Writer(rng, rng.randint(1, 3))
    for client in CLIENTS[:2]:
        writer.watch_all(client)
    for _ in range(rng.randint(6, 10)):
        rng.choice((writer.put, writer.put, writer.change))()
        kind = rng.choice(("cancel", "watch", "sync", "take", "drain"))
        client = rng.choice(CLIENTS[:2])
        if kind == "watch":
            writer.watch_all(client, rng.choice((0, writer.past())))
        else:
            writer.say(*((kind,) if kind == "sync" else (kind, client)))
    writer.put()
    writer.say("sync")
    writer.until_quiet(CLIENTS[:2])
    return writer.ops


def storm(rng: random.Random) -> list[Op]:
    writer = Writer(rng, rng.randint(1, 4))
    kinds = ("change", "change", "change", "write", "tell", "watch", "sync", "sync", "take", "take", "drain", "cancel")
    for _ in range(rng.randint(25, 45)):
        kind, client = rng.choice(kinds), rng.choice(CLIENTS)
        if kind == "change":
            writer.change()
        elif kind == "write":
            writer.put("write")
        elif kind == "watch":
            writer.watch(client, rng.choice((0, 0, writer.past(), writer.past(), writer.world.revision + 2)))
        elif kind == "cancel":
            if rng.random() < 0.2:
                writer.compact()
            elif rng.random() < 0.3:
                writer.say("cancel", client)
        else:
            writer.say(*((kind,) if kind in ("tell", "sync") else (kind, client)))
    while writer.world.untold:
        writer.say("tell")
    writer.say("sync")
    writer.until_quiet(CLIENTS)
    return writer.ops


# -- hints -----------------------------------------------------------------------------------------

PLAIN = (
    "For each watch write down: up to date or behind, and the first revision that it misses. Which line changes that?"
)
SEAM = [
    "A revision can reach a watch on two ways: from the history, and by notify. Which of them carried this one?",
    "Who is behind gets everything from the history, so notify passes it by. When it has everything it is up to date.",
    "sync gives all that is in the history, also what notify will still tell: then its first missing revision is "
    "history.revision + 1, and notify skips what lies before that.",
]
SLOW = [
    "Its queue was full when this was written. Where is it to come from, once there is room?",
    "notify notes that the watch is behind, and the revision. sync goes on from there, out of the history.",
    "If sync fills the queue before the end, the next sync begins at the first revision that did not fit.",
]
HINTS: dict[str, Sequence[str]] = {
    "": [PLAIN],
    "not-told": [
        "The watch is up to date and has room. What does notify do with it?",
        "Queue a Response(revision, events that it wants); take hands out the oldest one.",
        "A watch from 0 begins with history.revision + 1: it is up to date from its first moment.",
    ],
    "stays-behind": [
        "After sync has given a watch everything, who feeds it next? notify does, if it knows that it may.",
        "When the history ends, the watch is up to date: also if its queue is full just then, nothing is missing.",
        "A full queue concerns the next response, when there is one: notify finds no room, and sets the watch aside.",
    ],
    "loses-a-delete": [
        "A delete is an event like a put, with the value None. Which line of yours takes it for nothing?",
        "`if value` is false for None. What a watch wants is settled by the keys alone.",
    ],
    "loses-its-start": [
        "It watches from `a` up to, not including, `d`. Is `a` itself one of its keys?",
        "key <= name < end: the start belongs to the interval, the end does not.",
    ],
    "out-of-order": [
        "Everything is there, and comes in another order. Which end of the queue does take look at?",
        "The oldest one first: what is put in at the end comes out at the front.",
    ],
    "not-replayed": [
        "The watch begins in the past. Who gives it what is in the history already?",
        "sync: history.since(start) has all of it, oldest first.",
    ],
    "not-caught-up": SLOW,
    "lost-while-slow": SLOW,
    "more-than-room": [
        "How many responses wait in this queue? Count before you put one more.",
        "Both notify and sync have to stop at room. What does not fit is noted as missing, not kept elsewhere.",
    ],
    "blocked": [
        "One reader takes nothing. What do the loops over the watches do when they come to it?",
        "continue with the next one, where you return or break: the others have room.",
    ],
    "kept-waiting": [
        "Would it be handed this if nobody else watched? a-slow-one-hurts-nobody tries each reader alone as well.",
        "If it would: what do the loops over the watches do when they come to one without room?",
    ],
    "invented": ["Hand on the events of that revision as they are in the history, with their own revision."],
    "empty": ["No event of this revision is about the keys of this watch: then there is no response either."],
    "other-keys": [
        "Which keys does this watch want? Compare each event of the revision, not only the first.",
        "key itself, or key <= name < end. `aa` begins with `a` and is another key.",
    ],
    "before-its-start": [
        "The watch wants nothing from before its start, whichever way it comes.",
        "In notify: skip revisions that are smaller than the first one this watch wants. It may be in the future, and "
        "notify may be late.",
    ],
    "twice": SEAM,
    "backwards": SEAM,
    "lost": SEAM,
    "overtakes": [
        "It was behind, and was handed something newer than what it misses. By whom?",
        "notify passes by who is behind, even if there is room again: the older events come first, with sync.",
    ],
    "fed-without-sync": [
        "Only sync hands out what is in the history; watch and take don't.",
        "Is the watch behind? Then notify gives it nothing, also if there is room.",
    ],
    "ahead-of-notify": [
        "Who is behind: who began in the past, or found no room when notify came. Was this one?",
        "What is written and not told yet is not missed: it comes with notify. sync passes by who is up to date.",
    ],
    "split": [
        "What was written in one revision happened at once. A reader that sees half of it sees what never was.",
        "One response holds all events of a revision that the watch wants, and waits or fits as a whole.",
    ],
    "other-order-in-a-revision": ["The events of a revision stay in the order in which they come."],
    "not-told-of-compaction": [
        "What it misses is gone: nobody can give it that. Does it know?",
        "In sync, before you look into the history: is the first revision it misses smaller than "
        "history.compact_revision?",
        "Then queue Response(0, [], history.compact_revision), and the watch has ended. A full queue gets it later.",
    ],
    "hides-a-compaction": [
        "history.since gives what compaction has left, without a word about what is missing. What if a delete was?",
        "Compare the first revision that the watch misses with history.compact_revision, before you read on.",
    ],
    "other-compact-revision": ["The reader is told history.compact_revision: it lists anew from there or later."],
    "end-before-the-rest": ["What waited before the compaction is whole, and comes first: append at the end."],
    "ends-who-misses-nothing": [
        "That revision was compacted, and this watch has had everything. What does it miss?",
        "Nothing. Compaction concerns only those that are behind, and sync looks only at those.",
    ],
    "ends-without-need": [
        "From which revision on does this watch miss something? Its last event may be long ago, without others since.",
        "When notify finds no room, the first revision it misses is the one that notify was called with.",
        "When sync stops for want of room, it is the first revision that did not fit.",
        "When sync has given everything, it is history.revision + 1, not the last one that had an event for it.",
    ],
    "ends-at-the-border": [
        "The compacted revision itself is still there, with all later ones. Is anything missing?",
        "Ended is who misses a revision smaller than compact_revision. The same is fine.",
    ],
    "after-the-end": [
        "This watch is over. What does still know of it?",
        "cancel takes it out of everything: the loops of notify and sync, and its queue. After the word of the "
        "compaction the loops pass it by as well.",
    ],
}


def _check(
    name: str,
    title: str,
    points: int,
    causes: Sequence[str],
    examples: Mapping[str, str],
    generate: Callable[[random.Random], Sequence[Op]],
    setting: str = "",
) -> Check:
    judge = hub_with(*causes, setting=setting)
    return Check(name, title, points, judge, examples, generate, HINTS, setting=setting, state=hub_state)


ONE, TWO = "watch client-1 a d", "watch client-2 a d"
LAB = LabSpec(
    title="Watches",
    question="A controller was cut off for ten seconds. It goes on watching where it was, gets every event it "
    "asked for, and still believes in a Pod that is gone. Who should have told it what?",
    names={"WatchHub": "class"},
    forbidden=("k8slab.etcd",),
    minutes=75,
    checks=(
        _check(
            "tells-what-happens",
            "Who watches from now on is handed each change, in order",
            1,
            ("twice", "backwards", *LOST),
            {
                "two": f"{ONE} 0; put a x; take client-1; take client-1; put b y; put a z; drain client-1",
                "a delete": f"{ONE} 0; put a x; delete a; drain client-1",
            },
            live,
        ),
        _check(
            "only-its-keys",
            "A watch of a key or an interval is handed its own events and no others",
            1,
            ("other-keys", *LOST),
            {
                "a key": "watch client-1 a 0; put b x; put a y; put aa z; drain client-1",
                "its delete": "watch client-1 a 0; put a x; delete a; drain client-1",
                "an interval": "watch client-1 a c 0; put c x; put b y; put a z; drain client-1",
                "some of a revision": "watch client-1 a b 0; put a x b y; put b x c y; put aa z; drain client-1",
            },
            ranges,
        ),
        _check(
            "from-now-on",
            "A watch from 0 sees nothing that was written before, a watch of the future nothing before its start",
            1,
            ("before-its-start", "fed-without-sync", *LOST),
            {
                "now": f"put a x; {ONE} 0; put a y; drain client-1",
                "written, not told": f"write a x; {ONE} 0; tell; put a y; drain client-1",
                "the future": f"{ONE} 4; put a x; put a y; put a z; put b x; drain client-1",
            },
            starting,
        ),
        _check(
            "replays-the-past",
            "A watch from an old revision is handed all that has happened since, with the next sync",
            2,
            ("before-its-start", *LOST, "other-keys", "fed-without-sync", "twice"),
            {
                "all": f"put a x; put b y; delete a; {ONE} 2; take client-1; sync; drain client-1",
                "a delete": "put a x; delete a; watch client-1 a 2; sync; drain client-1",
                "a part": f"put a x; put b y; put a z; {ONE} 3; sync; drain client-1; sync; drain client-1",
                "of some keys": "put a x; put b y; put c z; put a y; watch client-1 b 2; sync; drain client-1",
            },
            replaying,
        ),
        _check(
            "no-seam",
            "Between the past and the present nothing is lost, doubled or turned round",
            3,
            ("twice", "backwards", *LOST, "overtakes", "before-its-start", "fed-without-sync", "ahead-of-notify"),
            {
                "written while behind": f"put a x; {ONE} 2; put a y; sync; put a z; drain client-1",
                "told after the sync": f"put a x; {ONE} 2; write a y; sync; tell; put a z; drain client-1",
                "not behind": f"{ONE} 0; write a x; sync; take client-1; tell; take client-1",
                "full, and up to date": f"hub 1; put a x; {ONE} 2; sync; take client-1; put a y; take client-1",
                "two untold": f"put a x; {ONE} 2; write a y; write a z; tell; sync; tell; put b x; drain client-1",
            },
            seams,
        ),
        _check(
            "a-revision-is-whole",
            "What was written at once is handed out at once, live and from the past",
            2,
            ("split", "other-order-in-a-revision", "lost"),
            {
                "live": f"{ONE} 0; put a x b y; put b z a x; delete a d; drain client-1",
                "the past": f"put a x c y; delete a d; {ONE} 2; sync; drain client-1",
                "little room": f"hub 1; {ONE} 0; put a x b y; put b x a y; drain client-1; sync; drain client-1",
            },
            whole,
        ),
        _check(
            "bounded",
            "No more responses wait for a reader than it has room for",
            1,
            ("more-than-room", "twice", *LOST),
            {
                "live": f"hub 2; {ONE} 0; put a x; put a y; put a z; put b x; drain client-1",
                "the past": f"hub 2; put a x; put a y; put a z; {ONE} 2; sync; drain client-1",
            },
            crowded,
        ),
        _check(
            "a-slow-one-catches-up",
            "Who was set aside is handed all that it missed, in order, when it makes room",
            2,
            ("lost-while-slow", "not-caught-up", "overtakes", "twice", "backwards"),
            {
                "one round": f"hub 1; {ONE} 0; put a x; put a y; drain client-1; sync; drain client-1",
                "several": f"hub 1; {ONE} 0; put a x; put a y; put a z; take client-1; sync; take client-1; sync; "
                "take client-1; put b x; take client-1",
                "nothing missed": "hub 1; watch client-1 a 0; put a x; put b y; take client-1; put a z; take client-1",
                "new ones meanwhile": f"hub 1; {ONE} 0; put a x; put a y; take client-1; put a z; sync; take client-1; "
                "sync; take client-1",
            },
            slow,
        ),
        _check(
            "a-slow-one-hurts-nobody",
            "A reader that takes nothing does not keep the others waiting",
            2,
            ("blocked", "not-caught-up", *LOST),
            {
                "live": f"hub 1; {ONE} 0; {TWO} 0; put a x; drain client-2; put a y; drain client-2; put a z; "
                "drain client-2",
                "catching up": f"hub 1; {ONE} 0; {TWO} 0; put a x; put a y; drain client-2; sync; drain client-2",
            },
            beside,
            setting="beside",
        ),
        _check(
            "says-what-is-gone",
            "Who misses what was compacted is told so, after what waited before",
            3,
            (
                "hides-a-compaction",
                "not-told-of-compaction",
                "other-compact-revision",
                "end-before-the-rest",
                "more-than-room",
            ),
            {
                "a delete is gone": f"put a x; {ONE} 0; cancel client-1; delete a; put b y; compact 4; {TWO} 3; sync; "
                "drain client-2",
                "a slow one": f"hub 1; {ONE} 0; put a x; put b y; delete b; put a z; compact 5; drain client-1; sync; "
                "drain client-1",
                "no room for it": f"hub 1; {ONE} 0; put a x; put a y; put a z; compact 4; sync; drain client-1; sync; "
                "take client-1",
                "after the rest": f"hub 2; {ONE} 0; put a x; put a y; put a z; put b x; compact 5; take client-1; "
                "sync; drain client-1",
            },
            overtaken,
        ),
        _check(
            "spares-who-misses-nothing",
            "Compaction ends no watch whose missing revisions are all there",
            2,
            ("ends-who-misses-nothing", "ends-without-need", "ends-at-the-border", "not-caught-up", "twice"),
            {
                "up to date": "watch client-1 a 0; put a x; put b y; put b z; compact 4; sync; put a y; drain client-1",
                "at the border": f"put a x; put a y; delete a; compact 4; {ONE} 4; sync; drain client-1",
                "stopped by its room": "hub 1; put a x; put b x; put b y; put a y; watch client-1 a 2; sync; "
                "compact 4; take client-1; sync; take client-1",
                "set aside later": "hub 1; watch client-1 a 0; put a x; put b x; put b y; compact 4; put a y; "
                "drain client-1; sync; drain client-1",
            },
            spared,
        ),
        _check(
            "ends-for-good",
            "After cancel, and after the word of a compaction, nothing more is handed out",
            1,
            ("after-the-end", "kept-waiting", *LOST),
            {
                "cancelled": f"{ONE} 0; {TWO} 0; put a x; cancel client-1; take client-1; put a y; drain client-1; "
                "drain client-2",
                "behind": f"put a x; {ONE} 2; cancel client-1; cancel client-1; sync; take client-1; {ONE} 2; sync; "
                "drain client-1",
                "told of a compaction": f"put a x; put a y; compact 3; {ONE} 2; sync; take client-1; put a z; sync; "
                f"drain client-1; {ONE} 3; sync; drain client-1",
            },
            leaving,
        ),
        Check(
            "all-of-it",
            "Readers that come, go, sleep and wake up",
            3,
            hub_with(*HINTS),
            {
                "short": f"hub 1; put a x; {ONE} 2; put a y; sync; {TWO} 0; write b x; sync; tell; drain client-1; "
                "sync; drain client-1; compact 4; drain client-2; put a z; drain client-2"
            },
            storm,
            HINTS,
            state=hub_state,
        ),
    ),
)
