"""Lab 14: the properties of a gang plugin, judged over what it answered.

Upstream: kubernetes-sigs/scheduler-plugins pkg/coscheduling/coscheduling.go, pkg/coscheduling/core/core.go
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence

from k8slab.lab import Broken, Check, LabSpec, Op, Step

WAIT_MS = 100
GANGS = ("red", "blue")


def gang_of(pod: str) -> str:
    return pod.partition("-")[0]


class Gangs:
    """Who waits since when, who was let go, and what there was before: by the rules, from the operations alone."""

    def __init__(self) -> None:
        self.needs: dict[str, int] = {}
        self.waits: dict[str, int] = {}
        self.goes: set[str] = set()
        self.lost: set[str] = set()  # gangs of which somebody lost a place before
        self.asked_again: set[str] = set()  # gangs with a Pod that was asked twice
        self.places = 1_000
        self.now = 0

    def of(self, gang: str, pods: Iterable[str]) -> list[str]:
        return [pod for pod in pods if gang_of(pod) == gang]

    def count(self, gang: str) -> int:
        return len(self.of(gang, [*self.waits, *self.goes]))

    def send_back(self, gang: str) -> list[str]:
        pods = self.of(gang, self.waits)
        for pod in pods:
            del self.waits[pod]
        if pods:
            self.lost.add(gang)
        return pods

    def place(self, pod: str) -> str | None:
        gang = gang_of(pod)
        if gang not in self.needs:
            return None
        if pod in self.goes:
            self.asked_again.add(gang)
            return told("go", [pod])
        if pod in self.waits:
            self.asked_again.add(gang)
        elif len(self.waits) + len(self.goes) >= self.places:
            return "no room"
        self.waits.setdefault(pod, self.now)
        if self.count(gang) < self.needs[gang]:
            return "waits"
        go = self.of(gang, self.waits)
        for one in go:
            del self.waits[one]
            self.goes.add(one)
        return told("go", go)

    def clock(self, ms: str) -> str:
        self.now += int(ms)
        late = [gang_of(pod) for pod, since in self.waits.items() if self.now - since >= WAIT_MS]
        return told("sent back", [pod for gang in dict.fromkeys(late) for pod in self.send_back(gang)])

    def lose(self, pod: str) -> str:
        gang = gang_of(pod)
        if pod not in self.waits and pod not in self.goes:
            return "nobody"
        self.waits.pop(pod, None)
        self.goes.discard(pod)
        self.lost.add(gang)
        return told("sent back", self.send_back(gang))

    def answer(self, op: Op) -> str | int | None:
        """What a right plugin answers."""
        verb, words = op[0], op[1:]
        if verb == "room":
            self.places = int(words[0])
        elif verb == "gang":
            self.needs.setdefault(words[0], int(words[1]))
        elif verb == "place":
            return self.place(words[0])
        elif verb == "clock":
            return self.clock(words[0])
        elif verb == "lose":
            return self.lose(words[0])
        elif verb == "waiting":
            return told("waiting", self.waits)
        elif verb == "count":
            return self.count(words[0])
        return None


def told(what: str, pods: Iterable[str]) -> str:
    names = sorted(pods)
    return f"{what}: {' '.join(names)}" if names else "nobody"


def named(answer: str | int | None) -> list[str]:
    """The Pods in an answer."""
    return str(answer).partition(": ")[2].split()


def answers(steps: Sequence[Step]) -> Iterator[tuple[Step, Gangs, str | int | None]]:
    """Each step with what held before it, and the right answer."""
    for number, step in enumerate(steps):
        before = after(steps[:number])
        yield step, before, after(steps[:number]).answer(step.op)


def after(steps: Sequence[Step]) -> Gangs:
    gangs = Gangs()
    for step in steps:
        gangs.answer(step.op)
    return gangs


def gangs_state(steps: Sequence[Step]) -> dict[str, str]:
    gangs = after(steps)
    shown = {"time": f"{gangs.now} ms"}
    for gang, need in gangs.needs.items():
        waits = ", ".join(f"{pod} since {gangs.waits[pod]} ms" for pod in gangs.of(gang, gangs.waits)) or "nobody"
        goes = " ".join(sorted(gangs.of(gang, gangs.goes))) or "nobody"
        shown[gang] = f"needs {need}; waits: {waits}; may go: {goes}"
    return shown


# -- what is wrong ---------------------------------------------------------------------------------


def judge(steps: Sequence[Step]) -> Broken | None:
    for step, before, right in answers(steps):
        if step.result != right:
            cause, why = WHY[step.verb](step, before, right)
            return Broken(step.number, why, cause)
    return None


def wrong_place(step: Step, before: Gangs, right: str | int | None) -> tuple[str, str]:
    pod, gang = step.op[1], gang_of(step.op[1])
    has, need = before.count(gang), before.needs[gang]
    with_it = has + (pod not in before.waits)
    if pod in before.goes:
        again = f"{pod} was let go before and is asked for again: {right} is right, and permit answers {step.result}"
        return ("let-go" if pod not in named(step.result) else "counts-twice"), again
    if right == "waits":
        why = f"{gang} needs {need}, with {pod} {with_it} have a place, and permit answers {step.result}"
        if pod in before.waits or gang in before.asked_again:
            return "counts-twice", f"{why}: {pod} was asked before, or another one of the gang"
        return ("stale", f"{why}: some lost their place before") if gang in before.lost else ("early", why)
    if step.result == "waits":
        why = f"{gang} needs {need} and {with_it} have a place, and {pod} is told to wait"
        return ("late-waits" if before.of(gang, before.goes) else "stuck"), why
    missing = sorted(set(named(right)) - set(named(step.result)))
    extra = sorted(set(named(step.result)) - set(named(right)))
    why = f"{right} is right, and permit answers {step.result}"
    if any(gang_of(one) != gang for one in extra):
        return "others", why
    if missing:
        return "left-behind", f"{why}: {missing[0]} is left waiting"
    return "stale", f"{why}: {(extra or [pod])[0]} has no place to go to, or goes twice"


def wrong_clock(step: Step, before: Gangs, right: str | int | None) -> tuple[str, str]:
    missing = sorted(set(named(right)) - set(named(step.result)))
    extra = sorted(set(named(step.result)) - set(named(right)))
    now = before.now + int(step.op[1])
    why = f"at {now} ms {right} is right, and tick answers {step.result}"
    late = [pod for pod in missing if now - before.waits[pod] >= WAIT_MS]
    if late:
        return "never-ends", f"{why}: {late[0]} waits since {before.waits[late[0]]} ms"
    if missing:
        return "alone", f"{why}: {missing[0]} waits for one that has been sent back"
    if extra and extra[0] not in before.waits:
        return "leak", f"{why}: {extra[0]} does not wait"
    if extra and gang_of(extra[0]) not in map(gang_of, named(right)) and named(right):
        return "others", why
    return "too-soon", f"{why}: {extra[0]} waits since {before.waits[extra[0]]} ms" if extra else why


def wrong_lose(step: Step, before: Gangs, right: str | int | None) -> tuple[str, str]:
    missing = sorted(set(named(right)) - set(named(step.result)))
    why = f"{step.op[1]} lost its place; {right} is right, and unreserve answers {step.result}"
    if missing:
        return "keeps-waiting", f"{why}: {missing[0]} waits for it in vain"
    return "wrong-pods", why


def wrong_waiting(step: Step, before: Gangs, right: str | int | None) -> tuple[str, str]:
    more = set(named(step.result)) - set(named(right))
    return ("leak" if more else "forgets"), f"{right} is right, and waiting answers {step.result}"


def wrong_count(step: Step, before: Gangs, right: str | int | None) -> tuple[str, str]:
    why = f"{right} of {step.op[1]} have a place, and count says {step.result}"
    if not isinstance(step.result, int) or isinstance(right, str) or right is None or step.result < right:
        return "forgets", why
    if step.op[1] in before.asked_again:
        return "counts-twice", why
    return ("leak" if step.op[1] in before.lost else "counts-twice"), why


WHY = {
    "place": wrong_place,
    "clock": wrong_clock,
    "lose": wrong_lose,
    "waiting": wrong_waiting,
    "count": wrong_count,
}


def deadlock(steps: Sequence[Step]) -> Broken | None:
    found = judge(steps)
    if found is None or found.cause != "never-ends":
        return found
    return found._replace(cause="deadlock", why=f"{found.why}; while it waits its place is nobody's")


# -- scripts ---------------------------------------------------------------------------------------


def begin(rng: random.Random, least: int = 2) -> list[Op]:
    return [("gang", gang, str(rng.randint(least, 4))) for gang in GANGS]


def pods(rng: random.Random, *, size: int = 6) -> list[str]:
    names = [f"{gang}-{number}" for gang in GANGS for number in range(size)]
    rng.shuffle(names)
    return names


def placing(rng: random.Random) -> list[Op]:
    ops = begin(rng, least=1)
    for pod in pods(rng)[: rng.randint(4, 10)]:
        ops.append(("place", pod))
    return ops


def asking(rng: random.Random) -> list[Op]:
    ops = begin(rng)
    names = pods(rng, size=4)
    for _ in range(rng.randint(6, 14)):
        ops.append(("place", rng.choice(names)))
        if rng.random() < 0.3:
            ops.append(("count", rng.choice(GANGS)))
    return ops


def timed(rng: random.Random) -> list[Op]:
    ops = begin(rng, least=3)
    for pod in pods(rng)[: rng.randint(3, 7)]:
        ops += [("place", pod), ("clock", str(rng.choice((1, 20, 40, 60, 99))))]
    return [*ops, ("clock", "100"), ("clock", "100")]


def again(rng: random.Random) -> list[Op]:
    """Some are sent back, and come again."""
    ops = begin(rng)
    names = pods(rng, size=3)
    for _ in range(rng.randint(8, 16)):
        what = rng.random()
        if what < 0.6:
            ops.append(("place", rng.choice(names)))
        elif what < 0.8:
            ops.append(("clock", str(rng.choice((30, 100)))))
        else:
            ops.append(rng.choice([("count", rng.choice(GANGS)), ("waiting",)]))
    return ops


def losing(rng: random.Random) -> list[Op]:
    ops = begin(rng)
    names = pods(rng, size=4)
    for _ in range(rng.randint(8, 18)):
        what = rng.random()
        if what < 0.6:
            ops.append(("place", rng.choice(names)))
        elif what < 0.9:
            ops.append(("lose", rng.choice(names)))
        else:
            ops.append(rng.choice([("count", rng.choice(GANGS)), ("waiting",)]))
    return ops


def crowded(rng: random.Random) -> list[Op]:
    """Two gangs that fit one at a time, member by member in turn, again and again."""
    size = rng.randint(2, 4)
    ops: list[Op] = [("room", str(size)), *[("gang", gang, str(size)) for gang in GANGS]]
    for number in range(size):
        for gang in GANGS:
            ops += [("place", f"{gang}-{number}"), ("clock", str(rng.randint(1, 20)))]
    ops += [("clock", "100"), ("waiting",)]
    first = rng.choice(GANGS)
    return [*ops, *[("place", f"{first}-{number}") for number in range(size)], ("count", first)]


TWO = "gang red 2; place red-0; place red-1"
STALE = [
    "Who lost a place may not be counted any more. Where do you take it out?",
    "Do you keep a number, or the Pods themselves? From a set of Pods you can take out one that was never in it.",
]
OTHERS = ["Two gangs wait at the same time. Which Pods do you look at, and whose are they?"]
TWICE = [
    "Permit may be asked twice for one Pod. How many places does the Pod have then?",
    "Count Pods, not calls: a dict or a set by the Pod's name.",
]
EARLY = ["How many have a place, this Pod among them? Compare that with what the gang needs: fewer must wait."]
STUCK = [
    "Does your count hold the Pod that permit is asked for? It has a place already.",
    "When there are exactly as many as the gang needs, they may go.",
]
BEHIND = ["The last one may go, and the others? Answer with all of the gang that wait, and with the Pod itself."]
FORGETS = ["Who was let go still has its place: it counts for those that come later."]
LEAK = ["Who was sent back, or lost its place, is still in your list of those that wait or count."]
ENDS = [
    "tick is the only one that knows the time. Whose wait is over at now_ms?",
    "A Pod waits from the moment at which it was asked first; at wait_ms after it the wait is over, not one later.",
]
SOON = ["Did you compare a time with a span? A Pod's wait is over at the time of its first question plus wait_ms."]
ALONE = [
    "One member's time is over. What do the others of its gang wait for now?",
    "Find the gangs of those whose time is over, then send back everybody of these gangs that waits.",
]
KEEPS = [
    "A member is gone, and the others wait for it. Who tells them?",
    "unreserve sends back all of the gang that wait, whether the Pod that is gone waited or was on its way.",
]
WRONG = [
    "unreserve answers with those that are sent back besides: not the Pod itself, and nobody who was let go.",
    "It may be called for a Pod that has no place (upstream does, when Reserve failed): then nothing happens.",
]
LET_GO = [
    "This Pod was let go already. What does permit have to find out about it?",
    "It has its place, and nothing that was promised is taken back: the answer is the Pod, alone.",
]
LATE = ["The gang runs. A Pod that comes later has nobody to wait for: those that were let go count."]

ALL_HINTS = {
    "early": EARLY,
    "stuck": STUCK,
    "left-behind": BEHIND,
    "let-go": LET_GO,
    "late-waits": LATE,
    "others": OTHERS,
    "counts-twice": TWICE,
    "stale": STALE,
    "never-ends": ENDS,
    "too-soon": SOON,
    "alone": ALONE,
    "keeps-waiting": KEEPS,
    "wrong-pods": WRONG,
    "leak": LEAK,
    "forgets": FORGETS,
    "deadlock": [
        "Each gang holds what the other one needs. Nobody will come: only the time can end this.",
        "Does anything make a wait longer? A member that comes later must not give the others more time.",
        *ENDS,
    ],
}

LAB = LabSpec(
    title="A gang in Permit",
    question="Two training jobs hold half of the cluster each and wait for the other half. What would have sent one of "
    "them home?",
    names={"GangPermit": "class"},
    forbidden=("k8slab.scheduler", "k8slab.cluster"),
    minutes=60,
    checks=(
        Check(
            "nobody-goes-early",
            "Fewer than the gang needs wait; with the last one all go",
            2,
            judge,
            {"two of two": TWO, "two of three": "gang red 3; place red-0; place red-1; place red-2"},
            placing,
            ALL_HINTS,
            state=gangs_state,
        ),
        Check(
            "who-comes-later",
            "The gang runs: one more goes at once, and alone",
            1,
            judge,
            {"a third": f"{TWO}; place red-2"},
            placing,
            ALL_HINTS,
            state=gangs_state,
        ),
        Check(
            "gangs-apart",
            "A gang's Pods count for it alone",
            1,
            judge,
            {"one each": "gang red 2; gang blue 2; place red-0; place blue-0; place red-1; waiting"},
            placing,
            ALL_HINTS,
            state=gangs_state,
        ),
        Check(
            "counts-once",
            "A Pod that is asked twice has one place",
            2,
            judge,
            {
                "twice": "gang red 2; place red-0; place red-0; count red; place red-1; count red",
                "it was let go": f"{TWO}; place red-0; count red",
            },
            asking,
            ALL_HINTS,
            state=gangs_state,
        ),
        Check(
            "waits-end",
            "Whoever waits for wait_ms is sent back, not before",
            2,
            judge,
            {"100 ms": "gang red 2; place red-0; clock 99; clock 1; clock 100; waiting"},
            timed,
            ALL_HINTS,
            state=gangs_state,
        ),
        Check(
            "back-together",
            "With one whose time is over its whole gang is sent back",
            2,
            judge,
            {"the younger too": "gang red 3; gang blue 2; place red-0; clock 50; place red-1; place blue-0; clock 50"},
            timed,
            ALL_HINTS,
            state=gangs_state,
        ),
        Check(
            "no-stale-counts",
            "Who was sent back does not count",
            2,
            judge,
            {
                "and one comes": "gang red 3; place red-0; place red-1; clock 100; place red-2; count red; waiting",
                "and all come": "gang red 2; place red-0; clock 100; place red-0; place red-1; count red",
            },
            again,
            ALL_HINTS,
            state=gangs_state,
        ),
        Check(
            "one-is-gone",
            "When a member loses its place, those that wait for it are sent back",
            3,
            judge,
            {
                "it waited": "gang red 3; place red-0; place red-1; lose red-0; waiting; count red",
                "it was let go": "gang red 2; place red-0; place red-1; lose red-0; place red-2; count red",
                "it never had one": "gang red 2; place red-0; lose red-1; waiting; place red-1",
                "twice": "gang red 3; place red-0; lose red-0; lose red-0; place red-1; count red",
                "all are gone, and one comes back": f"{TWO}; lose red-0; lose red-1; place red-0",
                "all are gone, and another comes": f"{TWO}; lose red-0; lose red-1; place red-2",
                "it was let go, and is asked for again": "gang red 3; place red-0; place red-1; place red-2; "
                "lose red-1; lose red-2; place red-0; count red",
                "it was let go, and one waits": "gang red 3; place red-0; place red-1; place red-2; lose red-0; "
                "lose red-1; place red-3; lose red-2",
            },
            losing,
            ALL_HINTS,
            state=gangs_state,
        ),
        Check(
            "no-deadlock",
            "Two gangs that fit one at a time do not hold half each for ever",
            3,
            deadlock,
            {
                "two of two": "room 2; gang red 2; gang blue 2; place red-0; place blue-0; place red-1; place blue-1; "
                "clock 60; place red-0; clock 40; waiting; place blue-0; place blue-1"
            },
            crowded,
            ALL_HINTS,
            state=gangs_state,
        ),
    ),
)
