"""Lab 05: the properties of optimistic concurrency, judged over what was read, tried and written.

Upstream: apiserver/pkg/storage/etcd3/store.go (GuaranteedUpdate), client-go/util/retry/util.go
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from k8slab.lab import Broken, Check, LabSpec, Op, Step

CLIENTS, FIELDS = ("client-1", "client-2", "client-3"), ("a", "b", "c")
STEPS, DELAY_MS = 5, 10
PATIENCE = 6
"""A client that nobody disturbs has to end within so many of its own steps; it needs two."""


class Event(NamedTuple):
    """One thing that a step told: `get 5 @1` in words. `last`: the one after it in the same step, else ()."""

    step: int
    client: str
    words: tuple[str, ...]
    then: tuple[str, ...]

    @property
    def kind(self) -> str:
        return self.words[0]


@dataclass
class Run:
    """A client, from its start to its end."""

    op: Op
    read: tuple[str, ...] = ()  # the words of the newest read
    is_stale: bool = False  # its last write met a conflict, and it has not read since
    computed: str = ""  # what change gave last
    computed_from: str = "nothing"  # and what it was given for that
    tries: int = 0
    conflicts: int = 0
    errors: int = 0  # calls of all kinds that ended with an error
    pauses: int = 0
    writes: int = 0
    undisturbed: int = 0  # own steps since somebody else wrote

    @property
    def client(self) -> str:
        return self.op[1]


@dataclass
class World:
    """What is true, and who is at work."""

    revision: int = 1
    value: int = 5
    data: dict[str, str] = field(default_factory=lambda: dict.fromkeys(FIELDS, "0"))
    runs: dict[str, Run] = field(default_factory=dict)

    def is_foreign(self, words: Sequence[str]) -> bool:
        """Is a write no longer computed from the newest revision?"""
        return words[-2] != f"@{self.revision}"


def told(steps: Sequence[Step], world: World | None = None) -> Iterator[tuple[Event, World, Run]]:
    """Everything that was told, each with what holds just before it. Rivals' writes are taken in silently. `world`: the
    one to change."""
    world = world or World()
    for step in steps:
        if not isinstance(step.result, str):
            continue
        if step.verb == "rival":
            _rival(world, step.op)
            continue
        client = step.op[1]
        if step.verb == "start":
            world.runs[client] = Run(step.op)
        run = world.runs[client]
        run.undisturbed += 1
        parts = [tuple(part.split()) for part in step.result.split("; ")]
        for number, words in enumerate(parts):
            event = Event(step.number, client, words, (*parts, ())[number + 1])
            yield event, world, run
            _take_in(world, run, event)


def _rival(world: World, op: Op) -> None:
    if len(op) == 2:
        world.value += int(op[1])
    else:
        world.data[op[1]] = op[2]
    _wrote(world, None)


def _wrote(world: World, by: Run | None) -> None:
    world.revision += 1
    for run in world.runs.values():
        if run is not by:
            run.undisturbed = 0


def _take_in(world: World, run: Run, event: Event) -> None:
    words = event.words
    run.pauses += event.kind == "slept"
    run.errors += event.kind in CALLS and words[-1] in SAID
    if event.kind == "get" and len(words) > 2:
        run.read, run.is_stale = words[1:], False
    elif event.kind == "change":
        run.computed_from, run.computed = words[1], words[3]
    elif event.kind in ("put", "update", "try"):
        run.tries += 1
        run.conflicts += words[-1] == "conflict"
        run.is_stale = words[-1] == "conflict"
        if words[-1] in ("ok", "lost") and event.kind != "try":
            if event.kind == "put":
                world.value = int(words[1])
            else:
                world.data = _fields(words)
            run.writes += 1
            _wrote(world, run)


def _fields(words: Sequence[str]) -> dict[str, str]:
    return dict(word.split("=", 1) for word in words if "=" in word)


CALLS = ("get", "put", "update", "try", "sleep")
SAID = {
    "timeout": "TimeoutStatusError",
    "lost": "TimeoutStatusError",
    "gone": "NotFoundError",
    "exists": "AlreadyExistsError",
    "cancel": "CancelledError",
    "conflict": "ConflictError",
}
"""How a call ends, and the error that says so."""


def _endless(event: Event, run: Run) -> Broken | None:
    if event.kind == "next:" and run.undisturbed >= PATIENCE:
        why = f"nobody disturbed {run.client} for {PATIENCE} steps, and it still wants to {event.words[1]}"
        return Broken(event.step, why, "endless")
    return None


def _idle(event: Event, run: Run) -> Broken | None:
    """Doing nothing would keep most promises; so nobody may end who has not begun, or fail where nothing failed."""
    words, name = event.words, run.client
    if event.kind == "raised" and not run.errors:
        return Broken(event.step, f"{name} raised {words[1]}, and nothing that it called had failed", "invented")
    if event.kind == "returned" and not run.errors and not (run.tries or run.read):
        return Broken(event.step, f"{name} returned {words[1]} and had asked nobody for anything", "idle")
    return None


def _idle_server(event: Event, run: Run) -> Broken | None:
    """The same for guaranteed_update, which has to ask change and to write what it says."""
    name = run.client
    if event.words[:2] == ("next:", "put") and not run.read:
        return Broken(event.step, f"{name} wants to write, and has never read", "unread")
    if event.kind == "returned" and run.read and not run.errors:
        if not run.computed:
            return Broken(event.step, f"{name} returned, and never called change", "idle")
        if run.computed != run.read[0] and not run.tries:
            why = f"change made {run.computed} of {run.read[0]}, and {name} returned without trying to write it"
            return Broken(event.step, why, "idle")
    return _idle(event, run) or _endless(event, run)


def _idle_client(event: Event, run: Run) -> Broken | None:
    """The same for retry_on_conflict, which has to try."""
    if event.words[:2] == ("next:", "sleep") and run.pauses >= 2 and not run.tries:
        why = f"{run.client} slept {run.pauses} times, wants to sleep again, and has never tried"
        return Broken(event.step, why, "idle")
    return _idle(event, run)


# -- what holds, to be shown -----------------------------------------------------------------------


def store_state(steps: Sequence[Step]) -> dict[str, str]:
    world = _after(steps)
    return {"stored": f"{world.value} @{world.revision}", **{name: _known(run) for name, run in world.runs.items()}}


def api_state(steps: Sequence[Step]) -> dict[str, str]:
    world = _after(steps)
    fields = " ".join(f"{name}={value}" for name, value in world.data.items())
    return {"stored": f"{fields} @{world.revision}", **{name: _known(run) for name, run in world.runs.items()}}


def tries_state(steps: Sequence[Step]) -> dict[str, str]:
    runs = _after(steps).runs
    return {name: f"{run.tries} of {_steps(run)} tries, {run.conflicts} conflicts" for name, run in runs.items()}


def _after(steps: Sequence[Step]) -> World:
    world = World()
    for _ in told(steps, world):
        pass
    return world


def _known(run: Run) -> str:
    """What a client knows."""
    read = f"read {' '.join(run.read)}" if run.read else "has not read"
    computed = f", computed {run.computed}" if run.computed else ""
    return f"{read}{computed}{', which is out of date' if run.is_stale else ''}"


# -- guaranteed_update -----------------------------------------------------------------------------


def _right(run: Run, value: int) -> int:
    """What the run's change makes of `value`."""
    kind, number = run.op[2], int(run.op[3])
    return value + number if kind == "add" else max(value, number)


def writes_what_it_computed(steps: Sequence[Step]) -> Broken | None:
    for event, _, run in told(steps):
        words, name = event.words, run.client
        if event.kind == "put" and words[1] != (run.computed or run.read[0]):
            why = f"{name} writes {words[1]}; change gave {run.computed or 'nothing'}"
            return Broken(event.step, why, "other-value")
        if event.kind == "put" and words[2] != run.read[1]:
            why = f"{name} read revision {run.read[1][1:]} and writes on the condition that it is {words[2][1:]}"
            return Broken(event.step, why, "other-revision")
        if event.kind == "returned":
            final = run.computed or words[1]
            if words[1] == "none" != final:
                return Broken(event.step, f"{name} returned None; the value is now {final}", "no-result")
            if words[1] != final:
                return Broken(event.step, f"{name} returned {words[1]}; the value is now {final}", "other-result")
        if found := _idle_server(event, run):
            return found
    return None


def nothing_is_overwritten(steps: Sequence[Step]) -> Broken | None:
    """Every change here adds something, so each has to be found in the sum."""
    for event, world, run in told(steps):
        name, added = run.client, run.op[3]
        if event.kind == "put" and event.words[-1] == "ok" and int(event.words[1]) != world.value + int(added):
            why = f"{name} wrote {event.words[1]}, made of {run.computed_from}, over {world.value}"
            if run.conflicts:
                why += ": what others wrote in between is gone"
            return Broken(event.step, why, "overwritten" if run.conflicts else "other")
        if event.kind == "returned" and run.writes == 0:
            why = f"{name} returned {event.words[1]} as if all were well, and its {added} was never written"
            return Broken(event.step, why, "not-written")
        if event.words[:2] == ("next:", "put") and run.writes:
            return Broken(event.step, f"the {added} of {name} is written, and it wants to write again", "twice")
        if event.kind == "raised":
            why = f"{name} raised {event.words[1]}, though nothing but conflicts happened: it has to go on"
            return Broken(event.step, why, "gave-up")
        if found := _idle_server(event, run):
            return found
    return None


def computes_from_the_newest(steps: Sequence[Step]) -> Broken | None:
    for event, _, run in told(steps):
        if event.words[:2] == ("next:", "put") and run.is_stale:
            why = f"{run.client} was told that its read is out of date, and wants to write again without reading"
            return Broken(event.step, why, "stale")
        if event.kind == "put" and run.read:
            right = _right(run, int(run.read[0]))
            if run.conflicts and int(event.words[1]) != right:
                why = f"{run.client} read {run.read[0]} and writes {event.words[1]}; change gives {right} for that"
                return Broken(event.step, why, "old-value")
        if run.conflicts and (event.kind == "raised" or (event.kind == "returned" and not run.writes and run.is_stale)):
            why = f"after a conflict {run.client} {' '.join(event.words)}, and never looked at what is there now"
            return Broken(event.step, why, "no-second-look")
        if found := _idle_server(event, run):
            return found
    return None


def no_needless_write(steps: Sequence[Step]) -> Broken | None:
    for event, _, run in told(steps):
        if found := _idle_server(event, run):
            return found
        if not run.read:
            continue
        read = int(run.read[0])
        right = _right(run, read)
        if event.words[:2] == ("next:", "put") and right == read and not run.is_stale:
            why = f"change leaves {read} as it is, and {run.client} wants to write it: a new revision for nothing"
            return Broken(event.step, why, "needless")
        if event.kind == "returned" and not run.writes and not run.is_stale and right != read:
            why = f"change makes {right} of {read}, and {run.client} returned without writing it"
            return Broken(event.step, why, "skipped")
    return None


def other_errors_pass(steps: Sequence[Step]) -> Broken | None:
    for event, _, run in told(steps):
        fault = event.words[-1]
        if event.kind in ("get", "put") and fault in ("timeout", "lost", "gone", "cancel"):
            if found := _passes(event, run.client, event.kind, fault):
                return found
        elif event.kind == "put" and fault == "ok" and event.then[0] == "next:" and run.writes:
            return Broken(event.step, f"{run.client} wrote its change a second time", "again")
        if found := _idle_server(event, run):
            return found
    return None


def _passes(event: Event, client: str, what: str, fault: str) -> Broken | None:
    """An error that is no conflict has to come out in the same step, as it is."""
    then, wanted = event.then, SAID[fault]
    if then == ("raised", wanted):
        return None
    ended = f"the {what} of {client} ended with {wanted}"
    if then[0] == "returned":
        return Broken(event.step, f"{ended}, and it returned {' '.join(then[1:])} as if all were well", "swallowed")
    if then[0] == "raised":
        return Broken(event.step, f"{ended}, and it raised {then[1]} instead", "other-error")
    if fault == "cancel":
        return Broken(event.step, f"{client} was cancelled, and goes on: it wants to {' '.join(then[1:])}", "cancelled")
    why = f"{ended}, and it wants to {' '.join(then[1:])}"
    if fault == "exists":
        return Broken(event.step, f"{why}: it is a 409, but no conflict", "same-code")
    if fault == "lost":
        return Broken(event.step, f"{why}: but that {what} had been carried out, only the answer was lost", "again")
    return Broken(event.step, why, "again")


# -- retry_on_conflict -----------------------------------------------------------------------------


def _steps(run: Run) -> int:
    return int(run.op[2]) if len(run.op) > 2 else STEPS


def _delay(run: Run) -> str:
    return run.op[3] if len(run.op) > 3 else str(DELAY_MS)


def retries_only_conflicts(steps: Sequence[Step]) -> Broken | None:
    for event, _, run in told(steps):
        if found := _idle_client(event, run):
            return found
        if event.kind != "try":
            continue
        how, then = event.words[1], event.then
        if how == "ok" and then[0] != "returned":
            why = f"the try of {run.client} succeeded, and then: {' '.join(then)}"
            return Broken(event.step, why, "again-after-success")
        if how == "conflict" and run.tries + 1 < _steps(run) and then[0] != "next:":
            why = f"try {run.tries + 1} of {_steps(run)} met a conflict, and {run.client} {' '.join(then)}"
            return Broken(event.step, why, "no-retry")
        if how in ("timeout", "exists", "gone", "cancel") and (found := _passes(event, run.client, "try", how)):
            return found
    return None


def gives_up(steps: Sequence[Step]) -> Broken | None:
    for event, _, run in told(steps):
        most, name = _steps(run), run.client
        if event.words[:2] == ("next:", "try") and run.tries >= most:
            return Broken(event.step, f"{run.tries} tries were allowed and made, and {name} wants another", "too-many")
        if event.kind == "raised" and event.words[1] == "ConflictError" and run.tries < most:
            return Broken(event.step, f"{name} gave up after {run.tries} of {most} tries", "too-few")
        if event.kind == "returned" and run.tries and run.tries == run.conflicts:
            why = f"all {run.tries} tries of {name} met a conflict, and it returned {event.words[1]}"
            return Broken(event.step, why, "swallowed")
        if found := _idle_client(event, run):
            return found
    return None


def waits_between(steps: Sequence[Step]) -> Broken | None:
    for event, _, run in told(steps):
        is_sleep = event.words[:2] == ("next:", "sleep")
        if is_sleep and not run.tries:
            return Broken(event.step, f"{run.client} wants to sleep before its first try", "before-the-first")
        if is_sleep and run.tries >= _steps(run):
            why = f"{run.client} has used up its {_steps(run)} tries, and sleeps before it says so"
            return Broken(event.step, why, "after-the-last")
        if is_sleep and event.words[2] != _delay(run):
            why = f"pause {run.tries} of {run.client} is {event.words[2]} ms, expected {_delay(run)} ms"
            return Broken(event.step, why, "grows" if run.tries > 1 else "other-pause")
        if event.kind == "try" and event.words[1] == "conflict" and event.then[:2] == ("next:", "try"):
            if run.tries + 1 < _steps(run):
                return Broken(event.step, f"{run.client} tries again at once", "no-pause")
        elif event.words == ("try", "conflict") and not run.tries and _steps(run) > 2 and event.then[0] != "next:":
            why = f"the first conflict ended {run.client}: no second try, and no pause before it"
            return Broken(event.step, why, "no-pause")
        elif event.kind == "slept" and event.then[0] == "next:" and event.then[1] != "try":
            return Broken(event.step, f"{run.client} slept, and wants to {' '.join(event.then[1:])}", "other-pause")
        if found := _idle_client(event, run):
            return found
    return None


def returns_the_result(steps: Sequence[Step]) -> Broken | None:
    for event, _, run in told(steps):
        if event.kind == "try" and event.words[1] == "ok":
            right = event.words[2]
            if event.then[0] == "next:":
                why = f"the try of {run.client} returned {right}, which is a result, and it wants another"
                return Broken(event.step, why, "falsy")
            if event.then != ("returned", right):
                why = f"the try of {run.client} returned {right}, and to its caller it {' '.join(event.then)}"
                return Broken(event.step, why, "lost-result")
        if found := _idle_client(event, run):
            return found
    return None


# -- set_field -------------------------------------------------------------------------------------


def keeps_what_others_wrote(steps: Sequence[Step]) -> Broken | None:
    for event, world, run in told(steps):
        if idle := _idle(event, run) or _endless(event, run):
            return idle
        if event.kind == "returned" and not run.tries:
            why = f"{run.client} returned and never sent an update: others' fields are safe, and its own is missing"
            return Broken(event.step, why, "no-update")
        if event.kind != "update" or event.words[-1] not in ("ok", "lost"):
            continue
        own, found = run.op[2], _fields(event.words)
        for name, value in world.data.items():
            if name != own and found.get(name) != value:
                why = f"{run.client} sets {own}, and turned {name} from {value} to {found.get(name, 'nothing')}"
                if event.words[-2] == "@any":
                    return Broken(event.step, f"{why}: its update named no resourceVersion", "unconditional")
                return Broken(event.step, why, "overwritten")
    return None


def fields_arrive(steps: Sequence[Step]) -> Broken | None:
    for event, _, run in told(steps):
        words, name = event.words, run.client
        want = f"{run.op[2]}={run.op[3]}"
        if words[:2] == ("next:", "update") and run.is_stale:
            why = f"{name} met a conflict, and wants to update again with the object it has: that meets another"
            return Broken(event.step, why, "stale")
        if event.kind in ("get", "update") and words[-1] in ("timeout", "lost", "gone", "cancel"):
            if found := _passes(event, name, event.kind, words[-1]):
                return found
        elif event.kind == "update" and want not in words:
            return Broken(event.step, f"{name} should set {want}, and its update says {' '.join(words[1:-2])}", "value")
        elif event.kind == "returned" and not run.writes:
            return Broken(event.step, f"{name} returned, and {want} was never written", "not-written")
        elif event.kind == "returned" and want not in words:
            why = f"{name} wrote {want} and returned {' '.join(words[1:])}, expected the object as it is now"
            return Broken(event.step, why, "lost-result")
        elif event.kind == "raised" and words[1] == "ConflictError" and run.conflicts < STEPS:
            why = f"{name} gave up after {run.conflicts} conflicts; {STEPS} tries are usual"
            return Broken(event.step, why, "gave-up")
        elif event.kind == "next:" and run.conflicts >= STEPS:
            why = f"{name} met {run.conflicts} conflicts and goes on; after {STEPS} tries its caller should know"
            return Broken(event.step, why, "for-ever")
        if found := _idle(event, run) or _endless(event, run):
            return found
    return None


# -- scripts ---------------------------------------------------------------------------------------


def _finish(clients: Sequence[str], goes: int = 3) -> list[Op]:
    return [("go", client) for client in clients for _ in range(goes)]


def one_by_one(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(2, 4)):
        client = rng.choice(CLIENTS)
        ops += [("start", client, rng.choice(["add", "add", "least"]), str(rng.randint(1, 12)))]
        ops += [("rival", str(rng.randint(1, 9)))] * (rng.random() < 0.3)
        ops += _finish([client], 5)
    return ops


def crowd(rng: random.Random) -> list[Op]:
    """Some clients at once, and others who write in between."""
    clients = CLIENTS[: rng.choice([1, 2, 2, 3])]
    ops: list[Op] = [("start", client, "add", str(rng.randint(1, 9))) for client in clients]
    for _ in range(rng.randint(5, 12)):
        if rng.random() < 0.25:
            ops.append(("rival", str(10 * rng.randint(1, 5))))
        else:
            ops.append(("go", rng.choice(clients)))
    return ops + _finish(clients, 4)


def levels(rng: random.Random) -> list[Op]:
    """Changes that may turn out to be none, also after a conflict."""
    ops: list[Op] = []
    for client in rng.sample(CLIENTS, 2):
        ops.append(("start", client, "least", str(rng.choice([4, 5, 6, 8, 12]))))
        ops.append(("go", client))
        ops += [("rival", str(rng.choice([1, 3, 7])))] * (rng.random() < 0.7)
    return ops + _finish(CLIENTS, PATIENCE)


def faulty(rng: random.Random) -> list[Op]:
    ops = crowd(rng)
    for number, op in enumerate(ops):
        if op[0] == "go" and rng.random() < 0.3:
            ops[number] = (rng.choice(["timeout", "lose", "lose", "gone", "cancel"]), op[1])
    return ops


def trying(rng: random.Random) -> list[Op]:
    """Tries that end in all ways; often the steps are used up before."""
    ops: list[Op] = []
    for _ in range(rng.randint(1, 3)):
        numbers = rng.choice([(), (), ("1", "10"), ("2", "5"), ("3", "20"), ("4", "7")])
        ops.append(("start", "client-1", *numbers))
        for _ in range(rng.randint(0, 6)):
            ops += [("conflict", "client-1"), ("go", "client-1")]
        how = rng.choice(["ok", "ok", "timeout", "exists", "gone", "cancel"])
        ops.append((how, "client-1", str(rng.randint(1, 99))) if how == "ok" else (how, "client-1"))
        ops += [("ok", "client-1", "1")] * 2
    return ops


def failing(rng: random.Random) -> list[Op]:
    numbers = rng.choice([(), (), ("1", "10"), ("2", "5"), ("3", "20"), ("4", "7"), ("6", "15")])
    ops: list[Op] = [("start", "client-1", *numbers)]
    for _ in range(7):
        ops += [("conflict", "client-1"), ("go", "client-1")]
    return ops


def succeeding(rng: random.Random) -> list[Op]:
    ops: list[Op] = [("start", "client-1")]
    ops += [("conflict", "client-1"), ("go", "client-1")] * rng.randint(0, 4)
    return [*ops, ("ok", "client-1", rng.choice(["0", "none", "false", str(rng.randint(1, 99))]))]


def setting(rng: random.Random) -> list[Op]:
    clients = CLIENTS[: rng.choice([1, 2, 2, 3])]
    ops: list[Op] = [("start", client, rng.choice(FIELDS), str(rng.randint(1, 9))) for client in clients]
    for _ in range(rng.randint(5, 14)):
        if rng.random() < 0.25:
            ops.append(("rival", rng.choice(FIELDS), str(rng.randint(10, 99))))
        else:
            ops.append(("go", rng.choice(clients)))
    return ops + _finish(clients, 4)


def setting_with_faults(rng: random.Random) -> list[Op]:
    ops = setting(rng)
    for number, op in enumerate(ops):
        if op[0] == "go" and rng.random() < 0.1:
            ops[number] = (rng.choice(["timeout", "lose", "gone", "cancel"]), op[1])
    return ops


BUSY = "; ".join(["start client-1 a 1", *[f"rival b {n}; go client-1" for n in range(1, 16)]])
UNKNOWN = (
    "Did the write happen? Read the schedule: can the client tell a write that was refused from an answer that was "
    "lost?"
)
BEGINS = "It begins with a try: await attempt(). Only an error that came from there may leave."
SERVER, CLIENT, FIELD = ("guaranteed_update",), ("retry_on_conflict",), ("retry_on_conflict", "set_field")

LAB = LabSpec(
    title="Optimistic concurrency",
    question="Two people scaled the same thing within a second, both were told it worked, and one change is nowhere. "
    "Nothing is locked in Kubernetes. What stops this?",
    names=dict.fromkeys(("guaranteed_update", "retry_on_conflict", "set_field"), "function"),
    forbidden=("k8slab.client", "k8slab.apiserver"),
    minutes=60,
    checks=(
        Check(
            "writes-what-it-computed",
            "Undisturbed, it reads, writes what change gave, and returns it",
            1,
            writes_what_it_computed,
            {
                "alone": "start client-1 add 2; go client-1; go client-1; go client-1",
                "two in turn": "start client-1 add 2; go client-1; go client-1; start client-2 least 9; go client-2; "
                "go client-2",
            },
            one_by_one,
            {
                "": ["Four lines: what is read, what change makes of it, what is written, what is returned."],
                "unread": ["The revision that put wants is the one that get gave you."],
                "other-value": ["put takes the new value. Which of your variables is that?"],
                "other-revision": [
                    "put writes only if the key still has the revision you name. Which one did you read it at?"
                ],
                "other-result": [
                    "The caller wants the state after the update.",
                    "Return what change gave, not what was read, and not what put answers.",
                ],
                "no-result": ["The caller waits for the new value. put answers nothing: what do you return?"],
                "endless": ["The write succeeded. What ends your loop?"],
            },
            setting="store",
            needs=SERVER,
            state=store_state,
        ),
        Check(
            "nothing-is-overwritten",
            "However clients interleave, no change is lost and none counts twice",
            2,
            nothing_is_overwritten,
            {
                "a rival in between": "start client-1 add 1; go client-1; rival 10; go client-1; go client-1; "
                "go client-1",
                "two clients": "start client-1 add 1; start client-2 add 2; go client-1; go client-2; go client-1; "
                "go client-2; go client-2; go client-2",
            },
            crowd,
            {
                "overwritten": [
                    "The revision you wrote with was new. How old was the value?",
                    "A new value belongs to the read it was computed from. After a conflict both are out of date.",
                    "Put get, change and put into one loop; a conflict starts it from the top.",
                ],
                "not-written": [
                    "put raised ConflictError: what was written then?",
                    "A 409 means: not written. Returning after it tells the caller the opposite.",
                ],
                "twice": ["The write had succeeded. Why does the loop go round once more?"],
                "gave-up": ["The server's loop has no last try: each conflict means that somebody got ahead."],
                "endless": ["Whose revision does the second put name? It is compared with the newest."],
                "": ["Add up the changes that returned. Which one is missing from the value, and who wrote over it?"],
            },
            setting="store",
            needs=SERVER,
            state=store_state,
        ),
        Check(
            "computes-from-the-newest",
            "After a conflict it reads again, and change gets the newer value",
            1,
            computes_from_the_newest,
            {
                "once": "start client-1 least 8; go client-1; rival 1; go client-1; go client-1; go client-1",
                "twice": "start client-1 add 1; go client-1; rival 1; go client-1; go client-1; rival 2; go client-1; "
                "go client-1; go client-1",
            },
            crowd,
            {
                "stale": [
                    "What has changed between the first put and the second? If nothing, why should it succeed?",
                    "get belongs inside the loop.",
                ],
                "old-value": [
                    "You read again. Did you also compute again?",
                    "change is a function so that it can be called as often as it takes.",
                ],
                "": ["A conflict says: what you read is not there any more. Look again."],
            },
            setting="store",
            needs=SERVER,
            state=store_state,
        ),
        Check(
            "no-needless-write",
            "A change that changes nothing writes nothing",
            1,
            no_needless_write,
            {
                "already so": "start client-1 least 4; go client-1; go client-1",
                "so by now": "start client-1 least 8; go client-1; rival 3; go client-1; go client-1; go client-1",
            },
            levels,
            {
                "needless": [
                    "Every write is a new revision, an event for every watch, and a sync in every controller.",
                    "Compare what change gave with what was read, before put.",
                ],
                "": ["Which two values do you compare, and what does your code do when they differ?"],
            },
            setting="store",
            needs=SERVER,
            state=store_state,
        ),
        Check(
            "other-errors-pass",
            "A timeout, a missing key or a cancellation is raised as it is, at once",
            2,
            other_errors_pass,
            {
                "answer lost": "start client-1 add 1; go client-1; lose client-1; go client-1; go client-1",
                "missing": "start client-1 add 1; gone client-1; go client-1; go client-1",
                "no error": "; ".join(["start client-1 add 1", *["go client-1"] * PATIENCE]),
            },
            faulty,
            {
                "again": [
                    UNKNOWN,
                    "A conflict is definite: not written. After a timeout only the caller can decide what is safe.",
                    "except ConflictError, and nothing wider.",
                ],
                "swallowed": ["Your except catches more than you meant. What does it return then?", UNKNOWN],
                "cancelled": [
                    "CancelledError is a BaseException so that `except Exception` lets it pass. What catches it here?",
                    "A bare except catches everything, also the wish to stop.",
                ],
                "": ["Let it pass: no except, no wrapping."],
            },
            setting="store",
            needs=SERVER,
            state=store_state,
        ),
        Check(
            "retries-only-conflicts",
            "It tries again after a conflict, and after nothing else",
            2,
            retries_only_conflicts,
            {
                "conflict, then well": "start client-1; conflict client-1; go client-1; ok client-1 7; ok client-1 8",
                "timeout": "start client-1; timeout client-1; go client-1; ok client-1 7",
                "exists already": "start client-1; exists client-1; ok client-1 7",
                "cancelled": "start client-1; cancel client-1; go client-1; ok client-1 7",
            },
            trying,
            {
                "no-retry": ["Which exception does your code expect, and which one came?"],
                "again": [UNKNOWN, "except ConflictError, and nothing wider."],
                "same-code": [
                    "AlreadyExists has the code 409 too. Would a second try end otherwise?",
                    "Upstream asks IsConflict(err), which goes by the reason: except ConflictError, no comparing of "
                    "codes.",
                ],
                "again-after-success": ["What ends your loop when attempt returns?"],
                "swallowed": ["Who is told about this error? Without raise nobody is."],
                "cancelled": ["`except BaseException` and a bare except also catch the wish to stop."],
                "": ["except ConflictError, and nothing wider; everything else leaves as it came."],
            },
            setting="tries",
            needs=CLIENT,
            state=tries_state,
        ),
        Check(
            "gives-up-after-its-steps",
            "After `steps` tries the last conflict is raised",
            1,
            gives_up,
            {
                "five": "; ".join(["start client-1", *["conflict client-1; go client-1"] * 7]),
                "one": "start client-1 1 10; conflict client-1; go client-1; conflict client-1",
            },
            failing,
            {
                "too-many": ["steps counts tries, not pauses: five tries have four pauses between them."],
                "too-few": ["Count the tries in the schedule, the first one too. When may you give up?"],
                "swallowed": [
                    "The loop ran out. What does a Python function return then?",
                    "The last conflict has to be raised: the caller must learn that nothing was written.",
                ],
                "": [BEGINS],
            },
            setting="tries",
            needs=CLIENT,
            state=tries_state,
        ),
        Check(
            "waits-between-tries",
            "`delay_ms` passes between two tries, and nowhere else",
            1,
            waits_between,
            {
                "two": "start client-1; conflict client-1; go client-1; conflict client-1; go client-1; ok client-1 1",
                "other numbers": "start client-1 2 30; conflict client-1; go client-1; conflict client-1; go client-1",
            },
            failing,
            {
                "no-pause": ["Whoever was faster may still be writing. Give them delay_ms: await sleep(delay_ms)."],
                "after-the-last": [
                    "Nobody tries again after the last conflict. Whom does that pause help?",
                    "Look whether it was the last try before you sleep, not after.",
                ],
                "before-the-first": ["Nothing has failed yet."],
                "grows": ["DefaultRetry has Factor 1.0: every pause is as long as the first."],
                "other-pause": ["One await sleep(delay_ms) for each try that failed. Milliseconds, as given."],
                "": [BEGINS],
            },
            setting="tries",
            needs=CLIENT,
            state=tries_state,
        ),
        Check(
            "returns-the-result",
            "What the attempt returns comes back, whatever it is",
            1,
            returns_the_result,
            {
                "after a conflict": "start client-1; conflict client-1; go client-1; ok client-1 7",
                "zero": "start client-1; ok client-1 0; ok client-1 1",
                "none": "start client-1; ok client-1 none; ok client-1 1",
            },
            succeeding,
            {
                "falsy": [
                    "How does your code know that a try succeeded? 0 and None are results too.",
                    "A try failed if it raised. Nothing else says so.",
                ],
                "": ["return await attempt(): is the value on its way out through every branch?"],
            },
            setting="tries",
            needs=CLIENT,
            state=tries_state,
        ),
        Check(
            "keeps-what-others-wrote",
            "Fields that others set meanwhile survive",
            2,
            keeps_what_others_wrote,
            {
                "a rival's field": "start client-1 a 1; go client-1; rival b 7; go client-1; go client-1; go client-1; "
                "go client-1",
                "two fields": "start client-1 a 1; start client-2 b 2; go client-1; go client-2; go client-1; "
                "go client-2; go client-2; go client-2; go client-2",
            },
            setting,
            {
                "unconditional": [
                    "An update without resourceVersion is taken: for ConfigMaps, Pods and Deployments it means "
                    "`whatever is there now`.",
                    "Send back the object as you got it, its metadata too.",
                ],
                "no-update": ["Does your attempt get as far as api.update, and does anybody await it?"],
                "": [
                    "Which read do the other fields in your update come from?",
                    "The resourceVersion and the fields have to be of one and the same read: that is the whole "
                    "promise.",
                    "Change the object you just got inside the attempt, and send that.",
                ],
            },
            setting="api",
            needs=FIELD,
            state=api_state,
        ),
        Check(
            "fields-arrive",
            "What it reports as done is written; what it cannot do it raises",
            2,
            fields_arrive,
            {
                "once more": "start client-1 a 1; go client-1; rival b 7; go client-1; go client-1; go client-1; "
                "go client-1",
                "five times": BUSY,
            },
            setting_with_faults,
            {
                "stale": [
                    "Which resourceVersion does the second update carry? Which one is needed?",
                    "With the same object five tries are five conflicts. Who reads it, the attempt or its caller?",
                    "api.get belongs inside the function you hand to retry_on_conflict.",
                ],
                "not-written": ["The update was refused. Where did that conflict go?"],
                "lost-result": ["The attempt returns what api.update gave; does set_field pass it on?"],
                "gave-up": ["One conflict is no failure yet. Who tries again?"],
                "for-ever": [
                    "Who counts the tries of your set_field?",
                    "You have written a loop that counts and pauses: hand it the attempt.",
                ],
                "value": ["obj['data'][field] = value, then update."],
                "again": [UNKNOWN, "Only retry_on_conflict decides what is tried again, and only after a conflict."],
                "": ["Follow the exception: who catches it, and what happens then?"],
            },
            setting="api",
            needs=FIELD,
            state=api_state,
        ),
    ),
)
