"""Drills on work queues: when a failed key is tried again, and which key a worker gets.

Simplified: see `k8slab.client.workqueue` and `k8slab.client.flowcontrol`; every answer is theirs.
"""

from __future__ import annotations

import random

from k8slab.client.flowcontrol import Backoff
from k8slab.client.workqueue import (
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    Queue,
    RateLimiter,
    WorkQueue,
    default_controller_rate_limiter,
)
from k8slab.drill.answers import duration, sequence, whole
from k8slab.drill.exercise import Draft, Drill, Kind, generate, table_block
from k8slab.sim import Clock, Loop

__all__ = ["KINDS", "delays", "handed_out", "workqueue_delays"]

_LIMITERS = "staging/src/k8s.io/client-go/util/workqueue/default_rate_limiters.go"
_QUEUE = "staging/src/k8s.io/client-go/util/workqueue/queue.go"


def delays(limiter: RateLimiter, key: str, failures: int) -> list[int]:
    """The delay after each of a key's next `failures` failures."""
    return [limiter.when(key) for _ in range(failures)]


def _nth(number: int) -> str:
    return f"{number}{'th' if 10 <= number % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _exponential(rng: random.Random) -> Draft:
    base, failures = rng.choice([1, 5, 10, 50, 100]), rng.randint(2, 10)
    found = delays(ItemExponentialFailureRateLimiter(base, 1_000_000), "web", failures + 1)
    right = found[failures - 1]
    answer = duration(
        right,
        "It starts at the base and doubles with every failure.",
        {
            found[failures]: "One doubling too many: the first failure waits the base, undoubled.",
            base * failures: "It doubles; it does not grow by the base.",
            sum(found[:failures]): "That is all the waiting together; asked is the last wait.",
            found[max(failures - 2, 0)]: "That is the wait after the failure before.",
        },
    )
    return Draft(
        f"A queue has `ItemExponentialFailureRateLimiter({base}ms, 1000s)`. The key `web` has just failed for the "
        f"{_nth(failures)} time in a row. How long until it is queued again?",
        answer,
        f"{base} ms times 2 to the number of *earlier* failures: {base} * 2^{failures - 1} = {right} ms. "
        f"The waits so far: {', '.join(map(str, found[:failures]))} ms.",
    )


def _cap(rng: random.Random) -> Draft:
    base, maximum = rng.choice([(5, 1_000_000), (1, 1_000_000), (10, 60_000), (100, 30_000), (1000, 300_000)])
    found = delays(ItemExponentialFailureRateLimiter(base, maximum), "web", 40)
    right = found.index(maximum) + 1
    answer = whole(
        right,
        "Double from the base until the maximum is reached or passed, and count the base as the first.",
        {
            right
            - 1: "One short: after that one it is still below the maximum, or you counted doublings, not failures.",
            right + 1: "One too many: the wait is cut to the maximum as soon as doubling would pass it.",
        },
    )
    return Draft(
        f"`ItemExponentialFailureRateLimiter({base}ms, {maximum // 1000}s)`: after which failure in a row (counted "
        f"from 1) does a key wait the full {maximum // 1000} s for the first time?",
        answer,
        f"After failure {right - 1} the wait is {found[right - 2]:,} ms; doubled it would be {2 * found[right - 2]:,}, "
        f"so failure {right} is the first that waits {maximum:,} ms.",
    )


def _forget(rng: random.Random) -> Draft:
    base = rng.choice([5, 10, 100])
    before, after = rng.randint(2, 6), rng.randint(1, 4)
    limiter = ItemExponentialFailureRateLimiter(base, 1_000_000)
    unforgotten = delays(ItemExponentialFailureRateLimiter(base, 1_000_000), "web", before + after)
    delays(limiter, "web", before)
    other = delays(limiter, "db", rng.randint(1, 3))
    limiter.forget("web")
    found = delays(limiter, "web", after)
    answer = duration(
        found[-1],
        "`forget` sets the count of that key back to zero.",
        {
            unforgotten[-1]: "That goes on counting; the success called `forget`.",
            limiter.when("db"): "That is another key's wait: every key has its own count.",
        },
    )
    return Draft(
        f"Base {base} ms, exponential. `web` fails {_times(before)}, `db` fails {_times(len(other))}, then "
        "`web` succeeds "
        f"and the worker calls `forget`. After that `web` fails {after} more time{'s' if after > 1 else ''}. How long "
        "does it wait after the last of these failures?",
        answer,
        f"After `forget` the next failure counts as the first: {', '.join(map(str, found))} ms. What `db` does has its "
        "own count. A worker that never calls `forget` makes every key slower for ever.",
    )


def _fast_slow(rng: random.Random) -> Draft:
    fast, slow, attempts = rng.choice([5, 10, 50]), rng.choice([1000, 5000, 10_000]), rng.randint(2, 5)
    asked = rng.choice([attempts - 1, attempts, attempts + 1, attempts + 2])
    right = delays(ItemFastSlowRateLimiter(fast, slow, attempts), "web", asked)[-1]
    other = slow if right == fast else fast
    why = f"The first {attempts} failures wait fast, those after them slow."
    return Draft(
        f"`ItemFastSlowRateLimiter({fast}ms, {slow}ms, maxFastAttempts={attempts})`. How long does a key wait "
        "after its "
        f"{_nth(asked)} failure in a row?",
        duration(right, why, {other: why, fast * asked: "The waits do not grow."}),
        f"Failure {asked} is {'within' if right == fast else 'past'} the {attempts} fast ones: {right} ms.",
    )


def _bucket(rng: random.Random) -> Draft:
    place = rng.choice([rng.randint(20, 99), 100, 101, rng.randint(102, 160)])
    limiter = default_controller_rate_limiter(lambda: 0)
    found = [limiter.when(f"key-{n}") for n in range(place)]
    answer = duration(
        found[-1],
        "Two limiters are asked and the longer wait counts: 5 ms for a first failure, and the bucket of all keys.",
        {
            5: "The 100 tokens of the bucket are used up; from then on it hands out ten a second.",
            0: "The limiter of the single key says 5 ms.",
            (place - 100) * 1000: "The bucket gives ten a second, one each 100 ms.",
            place * 100: "The first 100 need not wait for the bucket: that is the burst.",
        },
    )
    bucket = max(0, place - 100) * 100
    return Draft(
        "The default controller rate limiter (5 ms doubling per key; for all keys together 10 a second, burst "
        "100). An "
        f"API server goes away, and {place} different keys fail in the same instant, each for the first time. How long "
        f"does the {_nth(place)} of them wait?",
        answer,
        f"Its own limiter says 5 ms. The bucket had 100 tokens; the {_nth(place)} key waits {bucket} ms for one. The "
        f"longer wait counts: {found[-1]} ms.",
    )


def _add_after(rng: random.Random) -> Draft:
    loop = Loop(seed=1)
    queue = WorkQueue(loop, "web")
    adds: list[tuple[int, int]] = []
    at = 0
    for _ in range(rng.randint(2, 3)):
        adds.append((at, rng.randint(4, 12) * 100))  # none is due before the last call
        at += rng.randint(1, 3) * 50
    for at_ms, delay_ms in adds:
        loop.run(for_ms=at_ms - loop.clock.now_ms)
        queue.add_after("web", delay_ms)
    loop.run(until=lambda: len(queue) > 0, for_ms=10_000)
    right = loop.clock.now_ms
    due = [at_ms + delay_ms for at_ms, delay_ms in adds]
    answer = duration(
        right,
        "Work out when each call would make it due; a key waits once.",
        {
            due[-1]: "That is when the last call is due; the earliest time counts, not the latest word.",
            max(due): "That is the latest; the earliest time counts.",
            adds[-1][1]: "That is a delay; asked is the time on the clock.",
        },
    )
    loop.close()
    rows = [
        (f"{at_ms} ms", f'add_after("web", {delay_ms}ms)', f"{t} ms")
        for (at_ms, delay_ms), t in zip(adds, due, strict=True)
    ]
    calls = table_block([row[:2] for row in rows], ("AT", "CALL"))
    return Draft(
        f"On an empty queue these calls are made:\n\n{calls}\n\nAt which time does a worker get `web` (no other key, "
        "a worker is free)?",
        answer,
        f"The calls are due at {', '.join(row[2] for row in rows)}. A key waits once, with the earliest time: "
        f"{right} ms. A later call can bring it forward, never put it off.",
    )


def handed_out(operations: list[tuple[str, str]]) -> list[str]:
    """What each `get` of these (operation, key) returns; `none` where nothing is queued."""
    queue, found = Queue(), []
    for operation, key in operations:
        if operation == "get":
            found.append(queue.get() or "none")
        elif operation == "add":
            queue.add(key)
        else:
            queue.done(key)
    return found


def _operations(rng: random.Random) -> list[tuple[str, str]]:
    """A plausible run of one queue and two workers; `done` only for keys that are out."""
    keys, queue = ["web", "db"], Queue()
    out: list[str] = []
    operations = [("add", rng.choice(keys))]
    queue.add(operations[0][1])
    while len(operations) < 8:
        operation = rng.choice(["add", "add", "get", "done", "done"])
        if operation == "done" and out:
            key = out.pop(0)
            queue.done(key)
        elif operation == "get":
            key = ""
            got = queue.get()
            out += [got] if got else []
        else:
            operation, key = "add", rng.choice(keys)
            queue.add(key)
        operations.append((operation, key))
    return [*operations, ("get", "")]


def _deduplicated(rng: random.Random) -> Draft:
    operations = _operations(rng)
    while ("done", "web") not in operations and ("done", "db") not in operations:  # the worker must come back once
        operations = _operations(rng)
    found = handed_out(operations)
    as_list, pending = [], []
    for operation, key in operations:  # a plain list, as many imagine it
        if operation == "add":
            pending.append(key)
        elif operation == "get":
            as_list.append(pending.pop(0) if pending else "none")
    wrong = [(as_list, "That is a plain list. A work queue holds a key once, and not while it is being worked on.")]
    answer = sequence(found, ["web", "db", "none"], "Keep two sets: keys that are dirty, keys being processed.", wrong)
    rows = [(n, f"{operation}({key})") for n, (operation, key) in enumerate(operations, 1)]
    return Draft(
        f"What do the {len(found)} calls of `get` return, in order? Write `none` where nothing is queued (there `get` "
        f"would wait).\n\n{table_block(rows, ('', 'CALL'))}",
        answer,
        f"`{', '.join(found)}`. An `add` of a key that is queued does nothing; an `add` of a key that is being "
        "processed only marks it dirty, and `done` puts it back. No key is ever with two workers.",
    )


def _crash_loop(rng: random.Random) -> Draft:
    crashes = rng.randint(2, 8)
    clock = Clock()
    backoff = Backoff(10_000, 300_000, clock)
    found = []
    for _ in range(crashes):
        clock.now_ms += 1000
        backoff.next("app", clock.now_ms)
        found.append(backoff.get("app"))
        clock.now_ms += found[-1]
    right = found[-1]
    answer = duration(
        right,
        "10 s, doubled with each restart, at most 5 minutes.",
        {
            2 * right: "One doubling too many, or past the cap of 5 minutes.",
            right // 2: "One doubling short: the first crash waits 10 s.",
            10_000 * crashes: "It doubles; it does not grow by 10 s.",
            10_000 * 2 ** (crashes - 1): "It is capped at 5 minutes.",
        },
    )
    return Draft(
        f"A container dies one second after each start. How long does the kubelet wait after crash number {crashes} "
        "before it starts it again (defaults, `CrashLoopBackOff`)?",
        answer,
        f"The waits: {', '.join(f'{ms // 1000}' for ms in found)} s. They begin at 10 s, double, and stop at 300 s; "
        "only 10 minutes without a restart set them back.",
    )


KINDS = (
    Kind("exponential", 1, f"{_LIMITERS} (TypedItemExponentialFailureRateLimiter.When)", _exponential),
    Kind("fast-slow", 1, f"{_LIMITERS} (TypedItemFastSlowRateLimiter.When)", _fast_slow),
    Kind("forget", 2, f"{_LIMITERS} (TypedItemExponentialFailureRateLimiter.Forget)", _forget),
    Kind("crash-loop", 2, "pkg/kubelet/kubelet.go, client-go/util/flowcontrol/backoff.go (Next)", _crash_loop),
    Kind("cap", 2, f"{_LIMITERS} (TypedItemExponentialFailureRateLimiter.When)", _cap),
    Kind("add-after", 2, "staging/src/k8s.io/client-go/util/workqueue/delaying_queue.go (insert)", _add_after),
    Kind("deduplicated", 3, f"{_QUEUE} (Add, Get, Done)", _deduplicated),
    Kind("bucket", 3, f"{_LIMITERS} (DefaultTypedControllerRateLimiter)", _bucket),
)


def workqueue_delays(rng: random.Random) -> Drill:
    """An exercise on work queues and back-offs."""
    return generate("workqueue-delays", KINDS, rng)
