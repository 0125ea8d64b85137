"""Lab 09: the properties of a work queue, judged over what it answered.

Upstream: client-go/util/workqueue/{queue,delaying_queue,default_rate_limiters}.go
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from k8slab.lab import Broken, Check, LabSpec, Op, Step

LAST: Op = ("get", "worker-1")
ITEMS, WORKERS = ("a", "b", "c"), ("worker-1", "worker-2")


class Life(NamedTuple):
    """Where an item is: who works on it, and at which steps it was added since it was last handed out."""

    holders: dict[str, list[str]]
    added: dict[str, list[int]]


def lives(steps: Sequence[Step]) -> Iterator[tuple[Step, Life]]:
    """Each step, with what holds just before it."""
    life, is_open = Life({}, {}), True
    for step in steps:
        yield step, life
        if step.verb == "shut-down":
            is_open = False
        elif step.verb == "add" and is_open:
            life.added.setdefault(step.op[1], []).append(step.number)
        elif step.verb == "get" and step.result is not None:
            life.holders.setdefault(step.result, []).append(step.op[1])
            life.added.pop(step.result, None)
        elif step.verb == "done" and step.result is not None:
            life.holders[step.result].remove(step.op[1])
            if step.result in life.added and not life.holders[step.result]:
                life.added[step.result] = life.added.pop(step.result)  # it waits from now on, behind the others


# -- what holds, to be shown -----------------------------------------------------------------------

AFTER = Step(0, ("after",), None)
"""What stands just before it holds after all steps."""


def queue_state(steps: Sequence[Step]) -> dict[str, str]:
    *_, (_, life) = lives([*steps, AFTER])
    held = {item: workers for item, workers in life.holders.items() if workers}
    return {
        "waiting": _listed(item for item in life.added if item not in held),
        "in work": _listed(f"{item} ({' and '.join(workers)})" for item, workers in held.items()),
        "wanted again": _listed(item for item in life.added if item in held),
    }


def delays_state(steps: Sequence[Step]) -> dict[str, str]:
    *_, (_, now, due, ready) = _dues([*steps, AFTER])
    return {
        "time": f"{now} ms",
        "for later": _listed(f"{item} (at {at} ms)" for at, item in sorted((at, item) for item, at in due.items())),
        "waiting": _listed(ready),
    }


def limiter_state(steps: Sequence[Step]) -> dict[str, str]:
    failures: dict[str, int] = {}
    for step in steps:
        if step.verb == "when":
            failures[step.op[1]] = failures.get(step.op[1], 0) + 1
        elif step.verb == "forget":
            failures.pop(step.op[1], None)
    return {"failures": _listed(f"{item} {count}" for item, count in failures.items())}


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words) or "none"


# -- the queue -------------------------------------------------------------------------------------


def in_order(steps: Sequence[Step]) -> Broken | None:
    """Of different items, each added once: the one that waits longest comes first."""
    waiting: list[str] = []
    for step in steps:
        if step.verb == "add":
            waiting.append(step.op[1])
        elif step.verb == "get":
            first = waiting.pop(0) if waiting else None
            if step.result != first:
                if step.result is None:
                    return Broken(step.number, f"get returned None while {first} was waiting", "hidden-item")
                if first is None:
                    return Broken(step.number, f"nothing was waiting, and get returned {step.result}", "invented")
                return Broken(
                    step.number, f"{first} was added before {step.result}, and {step.result} came out", "order"
                )
    return None


def idle(step: Step, life: Life) -> Broken | None:
    """A queue that hands nothing out, or what nobody added, breaks every promise; else doing nothing would pass."""
    if step.verb != "get":
        return None
    waiting = [item for item in life.added if not life.holders.get(item)]
    if step.result is None and waiting:
        return Broken(step.number, f"{waiting[0]} waits and nobody works on it, and get returned None", "hidden-item")
    if step.result is not None and step.result not in life.added and step.result not in life.holders:
        return Broken(step.number, f"get handed out {step.result}, which nobody added", "invented")
    return None


def at_most_once(steps: Sequence[Step]) -> Broken | None:
    for step, life in lives(steps):
        if found := idle(step, life):
            return found
        if step.verb == "get" and step.result is not None and not life.added.get(step.result):
            why = f"get handed out {step.result} again, though nobody added it since it was last handed out"
            return Broken(step.number, why, "duplicate")
    return None


def one_worker(steps: Sequence[Step]) -> Broken | None:
    for step, life in lives(steps):
        if found := idle(step, life):
            return found
        if step.verb == "get" and step.result is not None and life.holders.get(step.result):
            other = life.holders[step.result][0]
            why = f"{other} still works on {step.result}, and {step.op[1]} was given it too"
            return Broken(step.number, why, "two-workers")
    return None


def _never_empty(steps: Sequence[Step]) -> Broken | None:
    """Who only looks at the first item, and leaves it in the queue, loses nothing and never comes to an end."""
    added: dict[str, int] = {}
    for step in steps:
        if step.verb == "add":
            added[step.op[1]] = added.get(step.op[1], 0) + 1
        elif step.verb == "get" and step.result is not None:
            added[step.result] = added.get(step.result, 0) - 1
            if added[step.result] < 0:
                why = f"{step.result} was handed out more often than it was added: get does not take it out"
                return Broken(step.number, why, "never-empty")
    return None


def nothing_lost(steps: Sequence[Step]) -> Broken | None:
    """The scripts end with the workers finishing and the queue being emptied."""
    owed: dict[str, tuple[int, bool]] = {}
    for step, life in lives(steps):
        found = idle(step, life)
        if found is not None and found.cause == "invented":
            return found
        if step.verb == "add" and step.op[1] not in owed:
            owed[step.op[1]] = step.number, bool(life.holders.get(step.op[1]))
        elif step.verb == "get":
            owed.pop(step.result, None)
    if not _drained(steps):
        return _never_empty(steps)
    last = steps[-1].number
    for item, (number, in_work) in owed.items():
        if in_work:
            why = f"{item} was added in step {number} while it was being worked on, and never came out again"
            return Broken(last, why, "lost-while-in-work")
        return Broken(last, f"{item} was added in step {number} and never came out", "lost")
    return None


def _drained(steps: Sequence[Step]) -> bool:
    """Nobody holds anything, and the last step is a get that found nothing."""
    taken = sum(step.verb == "get" and step.result is not None for step in steps)
    finished = sum(step.verb == "done" and step.result is not None for step in steps)
    return taken == finished and steps[-1].verb == "get" and steps[-1].result is None


def counts(steps: Sequence[Step]) -> Broken | None:
    """len: what could be handed out now."""
    for step, life in lives(steps):
        if found := idle(step, life):
            return found
        ready = [item for item in life.added if not life.holders.get(item)]
        if step.verb == "len" and step.result != len(ready):
            working = [item for item, workers in life.holders.items() if workers]
            told = f"{len(ready)} can be handed out ({', '.join(ready) or 'none'}), and len says {step.result}"
            if step.result == len(ready) + len(working) and not any(item in life.added for item in working):
                return Broken(step.number, f"{told}: items in work do not wait", "counts-work")
            return Broken(step.number, told, "count")
    return None


def shuts_down(steps: Sequence[Step]) -> Broken | None:
    closed = 0
    late: dict[str, int] = {}
    waiting: list[str] = []
    known = {step.op[1] for step in steps if step.verb == "add"}
    for step in steps:
        if step.verb == "shut-down":
            closed = closed or step.number
        elif step.verb == "add" and closed:
            late[step.op[1]] = step.number
        elif step.verb == "add":
            waiting.append(step.op[1])
        elif step.verb == "get":
            if step.result is None and waiting:
                return Broken(step.number, f"{waiting[0]} was added before the end, and get returned None", "dropped")
            if step.result in waiting:
                waiting.remove(step.result)
            elif step.result is not None and step.result not in known:
                return Broken(step.number, f"get handed out {step.result}, which nobody added", "invented")
            elif step.result in late:
                why = f"{step.result} was added in step {late[step.result]}, after shut_down, and was handed out"
                return Broken(step.number, why, "late-add")
    return _never_empty(steps)


# -- delays ----------------------------------------------------------------------------------------


def _dues(steps: Sequence[Step]) -> Iterator[tuple[Step, int, dict[str, int], list[str]]]:
    """Each step with the time, what is due when (the earliest counts), and what is ready, in order of due times."""
    now = 0
    due: dict[str, int] = {}
    ready: list[str] = []
    for step in steps:
        yield step, now, due, ready
        if step.verb == "later":
            item, at = step.op[1], now + int(step.op[2])
            if at <= now:
                ready += [] if item in ready else [item]
            else:
                due[item] = min(at, due.get(item, at))
        elif step.verb == "clock":
            now += int(step.op[1])
            for _, item in sorted((at, item) for item, at in due.items() if at <= now):
                ready += [] if item in ready else [item]
                del due[item]
        elif step.verb == "get" and step.result in ready:
            ready.remove(step.result)


def not_early_not_late(steps: Sequence[Step]) -> Broken | None:
    delayed = set()
    for step, now, due, ready in _dues(steps):
        if step.verb == "later":
            delayed.add(step.op[1])
        if step.verb != "get":
            continue
        if step.result is None and ready:
            return Broken(step.number, f"{ready[0]} was due at {now} ms or before, and get returned None", "late")
        if step.result is not None and step.result not in ready:
            if step.result in due:
                why = f"{step.result} came out at {now} ms; it is due at {due[step.result]} ms"
                return Broken(step.number, why, "early")
            if step.result not in delayed:
                return Broken(step.number, f"get handed out {step.result}, which nobody added", "invented")
            return Broken(step.number, f"{step.result} came out at {now} ms, for a second time", "twice")
    return None


def earliest_wins(steps: Sequence[Step]) -> Broken | None:
    found = not_early_not_late(steps)
    if found is None or found.cause in ("twice", "invented"):
        return found
    return found._replace(cause="postponed" if found.cause == "late" else "early")


def by_due_time(steps: Sequence[Step]) -> Broken | None:
    """The times of these scripts are all different."""
    for step, _, _, ready in _dues(steps):
        if step.verb == "get" and ready and step.result in ready and step.result != ready[0]:
            return Broken(step.number, f"{ready[0]} was due before {step.result}, and {step.result} came out", "order")
    return not_early_not_late(steps)


def tells_next(steps: Sequence[Step]) -> Broken | None:
    for step, _, due, _ in _dues(steps):
        if step.verb == "due" and step.result != min(due.values(), default=None):
            right = f"the next item is due at {min(due.values())}" if due else "nothing waits for its time"
            return Broken(step.number, f"next_due_ms is {step.result}; {right}", "next")
    return not_early_not_late(steps)  # a time is of use if something comes out then


# -- the rate limiter ------------------------------------------------------------------------------

BASE_MS, MOST_MS = 5, 1_000_000


def doubles(steps: Sequence[Step]) -> Broken | None:
    failures: dict[str, int] = {}
    for step in steps:
        item = step.op[1]
        if step.verb == "when":
            right = min(BASE_MS * 2 ** failures.get(item, 0), MOST_MS)
            failures[item] = failures.get(item, 0) + 1
            if step.result != right:
                why = f"delay number {failures[item]} of {item} is {step.result} ms, expected {right} ms"
                return Broken(step.number, why, "cap" if right == MOST_MS else "delay")
        elif step.verb == "requeues" and step.result != failures.get(item, 0):
            why = f"{item} was delayed {failures.get(item, 0)} times, num_requeues says {step.result}"
            return Broken(step.number, why, "requeues")
    return None


def forgets(steps: Sequence[Step]) -> Broken | None:
    failures: dict[str, int] = {}
    forgotten: dict[str, int] = {}
    for step in steps:
        item = step.op[1]
        if step.verb == "forget":
            failures.pop(item, None)
            forgotten[item] = step.number
        elif step.verb == "requeues" and step.result != failures.get(item, 0):
            why = f"num_requeues of {item} is {step.result}, expected {failures.get(item, 0)}"
            return Broken(step.number, why, "kept" if item in forgotten else "requeues")
        elif step.verb == "when":
            right = min(BASE_MS * 2 ** failures.get(item, 0), MOST_MS)
            failures[item] = failures.get(item, 0) + 1
            if step.result != right and item in forgotten and step.result > right:
                why = f"{item} was forgotten in step {forgotten[item]}: {right} ms is next, not {step.result} ms"
                return Broken(step.number, why, "kept")
            if step.result != right:
                others = [other for other in forgotten if other != item]
                also = f" (forgetting {others[0]} is no reason)" if others else ""
                return Broken(
                    step.number, f"the delay of {item} is {step.result} ms, expected {right} ms{also}", "others"
                )
    return None


# -- scripts ---------------------------------------------------------------------------------------


def distinct(rng: random.Random) -> list[Op]:
    names = [f"item-{number}" for number in range(rng.randint(3, 8))]
    rng.shuffle(names)
    ops: list[Op] = []
    while names or rng.random() < 0.5:
        if names and rng.random() < 0.6:
            ops.append(("add", names.pop()))
        else:
            ops.append(("get", rng.choice(WORKERS)))
    return ops + [("get", "worker-1")] * 3


def busy(rng: random.Random) -> list[Op]:
    """Two workers and a few items that keep coming; in the end all is finished."""
    ops: list[Op] = []
    for _ in range(rng.randint(10, 30)):
        ops.append(
            rng.choice([("add", rng.choice(ITEMS)), ("get", rng.choice(WORKERS)), ("done", rng.choice(WORKERS))])
        )
    ops += [("done", worker) for worker in WORKERS for _ in range(12)]
    return [*ops, *[op for _ in range(2 * len(ITEMS)) for op in (("get", "worker-1"), ("done", "worker-1"))], LAST]


def counted(rng: random.Random) -> list[Op]:
    return [op for one in busy(rng)[:25] for op in (one, ("len",))]


def ending(rng: random.Random) -> list[Op]:
    names = [f"item-{number}" for number in range(6)]
    before = [("add", name) for name in names[: rng.randint(1, 4)]]
    after = [("add", name) for name in names[4:]]
    middle = [("get", "worker-1")] * rng.randint(0, 2)
    return [*before, *middle, ("shut-down",), *after, *[("get", "worker-1")] * 6]


def delayed(rng: random.Random) -> list[Op]:
    """Every time is another one."""
    times = rng.sample(range(1, 60), 5)
    ops: list[Op] = [("later", f"item-{number}", str(ms)) for number, ms in enumerate(times)]
    for _ in range(rng.randint(4, 9)):
        ops += [("clock", str(rng.randint(1, 15)))] + [("get", "worker-1")] * rng.randint(0, 2)
    return [*ops, ("clock", "60"), *[("get", "worker-1")] * 6]


def repeated(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(4, 10)):
        ops.append(("later", rng.choice(ITEMS), str(rng.randint(1, 40))))
        if rng.random() < 0.4:
            ops += [("clock", str(rng.randint(1, 10))), ("get", "worker-1")]
    for _ in range(6):
        ops += [("clock", "10"), *[LAST for _ in ITEMS]]
    return ops


def asked(rng: random.Random) -> list[Op]:
    return [op for one in repeated(rng) for op in (one, ("due",))]


def failing(rng: random.Random) -> list[Op]:
    item = rng.choice(ITEMS)
    ops: list[Op] = [("when", item)] * rng.randint(1, 24)
    for _ in range(rng.randint(0, 6)):
        ops.insert(rng.randint(0, len(ops)), ("when", rng.choice(ITEMS)))
    return [*ops, *[("requeues", one) for one in ITEMS]]


def forgetting(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(5, 20)):
        ops.append((rng.choice(["when", "when", "when", "forget", "requeues"]), rng.choice(ITEMS)))
    return ops


PLAIN = (
    "Draw the three places an item can be in: waiting, in work, and wanted again. Which of them does this step read?"
)
TAKES_OUT = "get hands an item out and takes it off the list: after as many gets as adds the list is empty."
INVENTED = "get hands out what was added and nothing else. Where does your answer come from?"

LAB = LabSpec(
    title="A work queue",
    question="Two controllers' workers got the same key at the same time, and one of two changes was lost. Why can't "
    "that happen in client-go?",
    names={"WorkQueue": "class", "DelayingQueue": "class", "RateLimiter": "class"},
    forbidden=("k8slab.client.workqueue", "k8slab.client"),
    minutes=60,
    checks=(
        Check(
            "first-in-first-out",
            "What waits longest comes out first",
            1,
            in_order,
            {"two": "add a; add b; get worker-1; get worker-2", "empty": "get worker-1; add a; get worker-1"},
            distinct,
            {
                "": [
                    "Which end of your list do you add to, and which end do you take from?",
                    "A list with append and pop(0), or a deque with append and popleft, keeps order; a set does not.",
                ],
                "hidden-item": ["get may only return None when nothing waits. What decides that in your code?"],
            },
            needs=("WorkQueue",),
            state=queue_state,
        ),
        Check(
            "at-most-once",
            "An item that was added twice before it is taken comes out once",
            1,
            at_most_once,
            {
                "twice": "add a; add a; get worker-1; done worker-1; get worker-1",
                "done is no add": "add a; get worker-1; done worker-1; get worker-2",
            },
            busy,
            {
                "": [
                    PLAIN,
                    "A key is a level, not an event: ten adds while it waits are one piece of work.",
                    "Keep what is wanted in a set of its own (upstream: dirty), and add to the list only what is not "
                    "in it.",
                ]
            },
            needs=("WorkQueue",),
            state=queue_state,
        ),
        Check(
            "one-worker-a-key",
            "No two workers hold the same item",
            2,
            one_worker,
            {"at once": "add a; get worker-1; add a; get worker-2"},
            busy,
            {
                "": [
                    "When the item is added again, one worker still has it. How can your queue know?",
                    "Remember what was handed out and not yet done (upstream: processing).",
                    "In add: if the item is in processing, note that it is wanted, but do not put it into the list: "
                    "done does that.",
                ]
            },
            needs=("WorkQueue",),
            state=queue_state,
        ),
        Check(
            "nothing-lost",
            "What is added while it is in work comes out again after done",
            2,
            nothing_lost,
            {"while in work": "add a; get worker-1; add a; done worker-1; get worker-2; done worker-2; get worker-2"},
            busy,
            {
                "lost-while-in-work": [
                    "The worker read the object before the change. Who will look at the change?",
                    "done is the moment at which the item may be handed out again: was it added in the meantime?",
                    "In done: take the item out of processing; if it is in dirty, put it into the list.",
                ],
                "lost": [PLAIN, "An item that nobody works on must go into the list as soon as it is added."],
                "never-empty": [TAKES_OUT],
                "invented": [INVENTED],
            },
            needs=("WorkQueue",),
            state=queue_state,
        ),
        Check(
            "counts-what-waits",
            "len is the number of items that could be handed out now",
            1,
            counts,
            {"in work": "add a; add b; get worker-1; len; add a; len; done worker-1; len"},
            counted,
            {
                "": ["len of the list, not of what is wanted: an item in work that was added again does not wait yet."],
                "counts-work": ["Items in work are not waiting: upstream's Len is len(queue)."],
                "hidden-item": ["len counts what get would hand out. Does get hand out what was added?"],
                "invented": [INVENTED],
            },
            needs=("WorkQueue",),
            state=queue_state,
        ),
        Check(
            "shuts-down",
            "After shut_down nothing new is taken in; what waits is still handed out",
            1,
            shuts_down,
            {"both": "add a; shut-down; add b; get worker-1; get worker-1"},
            ending,
            {
                "late-add": ["What should add do when the queue is shutting down?"],
                "dropped": ["shut_down only sets a flag: workers finish what waits, then get returns None."],
                "never-empty": [TAKES_OUT],
                "invented": [INVENTED],
            },
            needs=("WorkQueue",),
            state=queue_state,
        ),
        Check(
            "not-before-its-time",
            "A delayed item comes out when it is due, not before and not never",
            2,
            not_early_not_late,
            {
                "due": "later a 10; clock 9; get worker-1; clock 1; get worker-1",
                "at once": "later a 0; get worker-1; clock 1; get worker-1",
            },
            delayed,
            {
                "early": [
                    "add_after must not add. Who adds, and when?",
                    "Keep (due, item) aside; tick(now_ms) adds those whose due time is not after now_ms.",
                ],
                "late": [
                    "Does tick(now_ms) also take what is due exactly now?",
                    "A delay of 0 or less is an ordinary add: do it at once.",
                ],
                "twice": ["What is due must be taken out of the waiting room when it is added."],
                "invented": [INVENTED],
            },
            setting="delays",
            needs=("WorkQueue", "DelayingQueue"),
            state=delays_state,
        ),
        Check(
            "earliest-wins",
            "Of two delays of one item the earlier counts",
            1,
            earliest_wins,
            {
                "shorter later": "later a 30; later a 10; clock 10; get worker-1",
                "longer later": "later a 10; later a 30; clock 10; get worker-1; clock 20; get worker-1",
            },
            repeated,
            {
                "postponed": ["A second add_after with a longer delay must not postpone the first."],
                "twice": [
                    "Both entries of the item became due. How many should there be?",
                    "Keep one due time for each item: the smaller of the two.",
                ],
                "early": [
                    "Which of the two times did you keep? Compare them as times, not as delays: now_ms + delay_ms."
                ],
                "invented": [INVENTED],
            },
            setting="delays",
            needs=("WorkQueue", "DelayingQueue"),
            state=delays_state,
        ),
        Check(
            "by-due-time",
            "Items that are due together come out by their due times",
            1,
            by_due_time,
            {"crossed": "later a 20; later b 10; clock 30; get worker-1; get worker-1"},
            delayed,
            {
                "": [
                    "tick may find several items due. In which order does it add them?",
                    "Sort by due time, or use a heap.",
                ]
            },
            setting="delays",
            needs=("WorkQueue", "DelayingQueue"),
            state=delays_state,
        ),
        Check(
            "tells-the-next-time",
            "next_due_ms is when tick has something to do again",
            1,
            tells_next,
            {"two": "due; later a 20; later b 10; due; clock 10; due; clock 10; due"},
            asked,
            {
                "next": ["The smallest due time of what still waits; None when nothing does."],
                "": ["The time is right, what comes out then is not: look at not-before-its-time first."],
            },
            setting="delays",
            needs=("WorkQueue", "DelayingQueue"),
            state=delays_state,
        ),
        Check(
            "backs-off",
            "The delays of an item that keeps failing double, up to 1,000 s",
            1,
            doubles,
            {"three": "when a; when a; when a; when b; requeues a", "long": "; ".join(["when a"] * 20)},
            failing,
            {
                "delay": [
                    "5 ms, 10 ms, 20 ms: how often had it failed before?",
                    "base_ms * 2 ** failures, counted per item.",
                ],
                "cap": ["After 18 failures 5 ms have become more than 20 minutes. What is the most?"],
                "requeues": ["num_requeues is the number of delays since it was last forgotten."],
            },
            setting="limiter",
            needs=("RateLimiter",),
            state=limiter_state,
        ),
        Check(
            "forgets",
            "forget makes the next delay the first again, for that item alone",
            2,
            forgets,
            {"back to five": "when a; when a; when b; forget a; when a; when b; requeues a; requeues b"},
            forgetting,
            {
                "kept": [
                    "The item worked again. What should its next failure cost?",
                    "forget removes the item's counter, it does not set a flag.",
                ],
                "others": ["Each item has a counter of its own: what does forget touch?"],
                "requeues": ["An item that never failed, or was forgotten, has 0 requeues."],
            },
            setting="limiter",
            needs=("RateLimiter",),
            state=limiter_state,
        ),
    ),
)
