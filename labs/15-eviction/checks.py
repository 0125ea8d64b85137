"""Lab 15: who is evicted first, when a threshold is crossed, and for how long, judged over what was answered.

Upstream: pkg/kubelet/eviction/helpers.go (rankMemoryPressure, thresholdsMet, thresholdsMetGracePeriod),
pkg/kubelet/eviction/eviction_manager.go (synchronize)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from k8slab.lab import Broken, Check, LabSpec, Op, Step


class Pod(NamedTuple):
    """A Pod as the words say it; sizes in Mi."""

    name: str
    request: int
    used: int | None
    priority: int
    critical: bool

    @property
    def above(self) -> int:
        return 0 if self.used is None else self.used - self.request


class Threshold(NamedTuple):
    """Crossed below `below`; acted on after `grace` seconds; resolved with `reclaim` more."""

    name: str
    below: int
    grace: int
    reclaim: int


class World(NamedTuple):
    """What there is, by name; `clock` and `held` are the last seconds that were named."""

    pods: dict[str, Pod]
    thresholds: dict[str, Threshold]
    numbers: dict[str, int]


def worlds(steps: Sequence[Step]) -> Iterable[tuple[Step, World]]:
    """Each step, with what holds before it. What was answered with False did nothing."""
    world = World({}, {}, {"period": 300})
    for step in steps:
        yield step, world
        if step.verb == "look" and str(step.result).startswith("evicts "):
            world.pods.pop(str(step.result).partition(" ")[2], None)
        if step.result is not True:
            continue
        if step.verb == "pod":
            name, request, used, priority, *critical = step.op[1:]
            use = None if used == "-" else int(used)
            world.pods[name] = Pod(name, int(request), use, int(priority), critical == ["critical"])
        elif step.verb == "threshold":
            name, *numbers = step.op[1:]
            below, grace, reclaim = map(int, numbers)
            world.thresholds[name] = Threshold(name, below, grace, reclaim)
        elif step.verb == "period":
            world.numbers["period"] = int(step.op[1])


def state(steps: Sequence[Step]) -> dict[str, str]:
    *_, (_, world) = worlds([*steps, Step(0, ("after",), None)])
    lines = {}
    for pod in world.pods.values():
        use = "not measured" if pod.used is None else f"uses {pod.used} of {pod.request}"
        lines[f"Pod {pod.name}"] = f"{use}, priority {pod.priority}{', critical' if pod.critical else ''}"
    for one in world.thresholds.values():
        lines[f"threshold {one.name}"] = f"below {one.below}, grace {one.grace} s, {one.reclaim} to reclaim"
    return lines


# -- the rules, and the mistakes that are told apart ------------------------------------------------

Key = Callable[[Pod], tuple[Any, ...]]


def group(pod: Pod) -> int:
    return 0 if pod.used is None else 1 if pod.above > 0 else 2


RIGHT: Key = lambda pod: (group(pod), pod.priority, -pod.above)  # noqa: E731 (a row like those below)
ORDERS: dict[str, Key] = {
    "class": lambda pod: (pod.request > 0, -(pod.used or 0)),
    "class-first": lambda pod: (pod.request > 0, pod.priority, -pod.above),
    "unmeasured-alike": lambda pod: (group(pod), 0 if pod.used is None else pod.priority, -pod.above),
    "critical-last": lambda pod: (pod.critical, *RIGHT(pod)),
    "no-priority": lambda pod: (group(pod), -pod.above),
    "priority-first": lambda pod: (pod.priority, group(pod), -pod.above),
    "high-first": lambda pod: (group(pod), -pod.priority, -pod.above),
    "most-used": lambda pod: (group(pod), pod.priority, -(pod.used or 0)),
    "usage-alone": lambda pod: (-(pod.used or 0),),
    "least-above": lambda pod: (group(pod), pod.priority, pod.above),
    "at-the-request": lambda pod: (
        0 if pod.used is None else 1 if pod.above >= 0 else 2, pod.priority, -pod.above,
    ),
    "unmeasured-last": lambda pod: (group(pod) or 3, pod.priority, -pod.above),
    "unmeasured-as-zero": lambda pod: (group(pod) or 2, pod.priority, pod.request - (pod.used or 0)),
    "no-amount": lambda pod: (group(pod), pod.priority),
    "no-group": lambda pod: (pod.priority, -pod.above),
}  # fmt: skip


def ordered(pods: Iterable[Pod], key: Key = RIGHT) -> list[Pod]:
    return sorted(pods, key=key)


def is_crossed(one: Threshold, free: int, before: Iterable[str], rule: str = "") -> bool:
    acted = one.name in list(before)
    if rule == "inclusive":
        return free <= one.below + (one.reclaim if acted else 0)
    if rule == "no-minimum":
        return free < one.below
    if rule == "always-minimum":
        return free < one.below + one.reclaim
    if rule == "minimum-alone":
        return free < (one.reclaim if acted and one.reclaim else one.below)
    if rule == "only-new":
        return free < one.below and not acted
    if rule == "stays":
        return acted or free < one.below
    return free < one.below + (one.reclaim if acted else 0)


CROSSING = ("inclusive", "no-minimum", "always-minimum", "minimum-alone", "only-new", "stays")


def names_crossed(world: World, free: int, before: Sequence[str], rule: str = "") -> list[str]:
    return [one.name for one in world.thresholds.values() if is_crossed(one, free, before, rule)]


Since = dict[str, int]


def hold(
    thresholds: Iterable[Threshold], names: Sequence[str], since: Since, now: int, rule: str = ""
) -> tuple[Since, list[str]]:
    """(since when each has been crossed, which have been for as long as their grace period)."""
    known = list(thresholds)
    kept = {one.name: since.get(one.name, now) for one in known if one.name in names}
    if rule == "no-break":
        kept = {one.name: since.get(one.name, now) for one in known if one.name in names or one.name in since}
    elif rule == "restarts":
        kept = {one.name: now for one in known if one.name in names}
    due = []
    for one in known:
        if one.name in kept and one.name in names:
            waited = now - kept[one.name]
            late = waited > one.grace if rule == "late" else waited >= one.grace
            if late or rule == "no-grace" or (rule == "hard-only" and one.grace == 0):
                due.append(one.name)
    return kept, [name for name in due if rule != "hard-only" or _grace(known, name) == 0]


def _grace(known: Sequence[Threshold], name: str) -> int:
    return next(one.grace for one in known if one.name == name)


HOLDING = ("no-grace", "no-break", "restarts", "late", "hard-only")


class Manager:
    """The whole, right or with one rule wrong."""

    def __init__(self, thresholds: Sequence[Threshold], period: int, rule: str = "") -> None:
        self.thresholds, self.period, self.rule = thresholds, period, rule
        self.since: Since = {}
        self.acted: list[str] = []
        self.seen: int | None = None
        self.first: int | None = None
        self.known: list[Pod] | None = None

    def look(self, pods: Iterable[Pod], free: int, now: int) -> str:
        crossing = self.rule if self.rule in CROSSING else ""
        names = [one.name for one in self.thresholds if is_crossed(one, free, self.acted, crossing)]
        holding = self.rule if self.rule in HOLDING else ""
        self.since, due = hold(self.thresholds, names, self.since, now, holding)
        pods = self._running(list(pods))
        self.acted = names if self.rule == "minimum-too-soon" else due
        if self.rule == "needs-a-victim" and self._choose(pods) == "nobody":
            self.acted = []
        self.first = None if not names else now if self.first is None else self.first
        if due if self.rule == "after-the-grace" else names:
            self.seen = self.first if self.rule == "from-the-first" else now
        elif self.rule == "only-now":
            self.seen = None
        return self._choose(pods) if due else "nobody"

    def _running(self, pods: list[Pod]) -> list[Pod]:
        self.known = pods if self.known is None or self.rule != "old-pods" else self.known
        return [pod for pod in self.known if pod in pods]

    def _choose(self, pods: Iterable[Pod]) -> str:
        ranked = list(pods) if self.rule == "unsorted" else ordered(pods, ORDERS.get(self.rule, RIGHT))
        for pod in ranked:
            if not pod.critical or self.rule == "critical-too":
                return f"evicts {pod.name}"
            if self.rule == "gives-up":
                return "nobody"
        return "nobody"

    def pressure(self, now: int) -> str:
        if self.seen is None:
            return "no"
        if self.rule == "for-ever":
            return "yes"
        lasts = now - self.seen < self.period + (self.rule == "period-inclusive")
        return "yes" if lasts else "no"


LOOKING = (
    "needs-a-victim", "critical-too", "gives-up", "minimum-too-soon", "no-minimum", *HOLDING, "inclusive", "unsorted",
    "old-pods", *ORDERS,
)  # fmt: skip
PRESSING = ("only-now", "period-inclusive", "for-ever", "from-the-first", "after-the-grace")


# -- judges ----------------------------------------------------------------------------------------

Judge = Callable[[Sequence[Step]], Broken | None]


def leaves_alone(judge: Judge) -> Judge:
    """The judge, for functions that leave what they are handed as it is."""

    def judged(steps: Sequence[Step]) -> Broken | None:
        for step in steps:
            if str(step.result).startswith("wrong: "):
                told = f"{step.result.partition(': ')[2]}: whoever called needs it again"
                return Broken(step.number, told, "changes")
        return judge(steps)

    return judged


class Explained:
    """Which of the known mistakes would have given every answer so far."""

    def __init__(self, rules: Iterable[str]) -> None:
        self.alive = dict.fromkeys(rules, True)

    def heard(self, said: Any, wrong: dict[str, Any]) -> None:
        for rule, would in wrong.items():
            self.alive[rule] = self.alive[rule] and said == would

    @property
    def cause(self) -> str:
        return next((rule for rule, alive in self.alive.items() if alive), "")


def is_ordered(steps: Sequence[Step]) -> Broken | None:
    explained = Explained(ORDERS)
    for step, world in worlds(steps):
        if step.verb != "order":
            continue
        pods = list(world.pods.values())

        def names(key: Key, pods: Sequence[Pod] = pods) -> str:
            return " ".join(pod.name for pod in ordered(pods, key)) or "nobody"

        explained.heard(step.result, {rule: names(key) for rule, key in ORDERS.items()})
        if step.result != names(RIGHT):
            return Broken(step.number, f"the order is {step.result}; it should be {names(RIGHT)}", explained.cause)
    return None


def finds_crossed(steps: Sequence[Step]) -> Broken | None:
    explained = Explained(CROSSING)
    for step, world in worlds(steps):
        if step.verb != "crossed":
            continue
        free, before = int(step.op[1]), step.op[2:]
        said = {rule: " ".join(names_crossed(world, free, before, rule)) or "none" for rule in ("", *CROSSING)}
        right = said.pop("")
        explained.heard(step.result, said)
        if step.result != right:
            told = f"with {free} free it said {step.result}; it should be {right}"
            return Broken(step.number, told, explained.cause)
    return None


def waits(steps: Sequence[Step]) -> Broken | None:
    explained = Explained(HOLDING)
    since: dict[str, Since] = {rule: {} for rule in ("", *HOLDING)}
    for step, world in worlds(steps):
        if step.verb != "hold" or step.result is False:
            continue
        now, names = int(step.op[1]), [name for name in step.op[2:] if name in world.thresholds]
        said = {}
        for rule in since:
            since[rule], due = hold(world.thresholds.values(), names, since[rule], now, rule)
            told = ", ".join(f"{name} since {since[rule][name]}" for name in world.thresholds if name in since[rule])
            said[rule] = f"{told or 'nothing'}; due: {' '.join(due) or 'none'}"
        right = said.pop("")
        explained.heard(step.result, said)
        if step.result != right:
            return Broken(step.number, f"at {now} s it said {step.result}; it should be {right}", explained.cause)
    return None


def manages(verb: str, rules: Sequence[str]) -> Judge:
    """Judges the answers to one verb; those to the other move the managers, right and wrong, all the same."""

    def judged(steps: Sequence[Step]) -> Broken | None:
        explained = Explained(rules)
        managers: dict[str, Manager] = {}
        for step, world in worlds(steps):
            if step.verb not in ("look", "pressure") or step.result is False:
                continue
            if not managers:
                known = list(world.thresholds.values())
                managers = {rule: Manager(known, world.numbers["period"], rule) for rule in ("", *rules)}
            if step.verb == "look":
                pods = list(world.pods.values())
                free, now = map(int, step.op[1:])
                said = {rule: one.look(pods, free, now) for rule, one in managers.items()}
            else:
                now = int(step.op[1])
                said = {rule: one.pressure(now) for rule, one in managers.items()}
            if step.verb != verb:
                continue
            right = said.pop("")
            explained.heard(step.result, said)
            if step.result != right:
                return Broken(step.number, f"at {now} s it said {step.result}; it should be {right}", explained.cause)
        return None

    return judged


# -- hidden scripts --------------------------------------------------------------------------------


def people(rng: random.Random, most: int = 6, critical: float = 0.0) -> list[Op]:
    ops: list[Op] = []
    for number in range(rng.randint(1, most)):
        request = rng.choice((0, 0, 100, 100, 200))
        used = rng.choice(("-", "50", "100", "150", "200", "250", "300")) if rng.random() < 0.9 else "-"
        used = used if rng.random() < 0.9 or used != "-" else "100"
        words = [f"p{number}", str(request), used, str(rng.choice((-5, 0, 0, 0, 10)))]
        ops.append(("pod", *words, *(("critical",) if rng.random() < critical else ())))
    return ops


def ranking(rng: random.Random) -> list[Op]:
    return [*people(rng), ("order",)]


def limits(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for name in rng.sample(("hard", "soft", "late"), rng.randint(1, 3)):
        below, grace, reclaim = rng.choice((100, 150, 200)), rng.choice((0, 0, 30, 60)), rng.choice((0, 0, 50, 100))
        ops.append(("threshold", name, str(below), str(grace), str(reclaim)))
    return ops


def crossing(rng: random.Random) -> list[Op]:
    ops = limits(rng)
    names = [op[1] for op in ops]
    for _ in range(4):
        before = [name for name in names if rng.random() < 0.5]
        ops.append(("crossed", str(rng.choice((40, 80, 99, 100, 120, 149, 150, 199, 200, 249, 250, 300))), *before))
    return ops


def holding(rng: random.Random) -> list[Op]:
    ops = limits(rng)
    names, now = [op[1] for op in ops], 0
    for _ in range(6):
        ops.append(("hold", str(now), *(name for name in names if rng.random() < 0.75)))
        now += rng.choice((10, 20, 30))
    return ops


def looking(rng: random.Random) -> list[Op]:
    ops, now = [*limits(rng), *people(rng, 5, critical=0.2)], 0
    for _ in range(6):
        ops.append(("look", str(rng.choice((50, 90, 99, 120, 160, 180, 220, 260, 400))), str(now)))
        now += rng.choice((1, 10, 30))
    return ops


def pressing(rng: random.Random) -> list[Op]:
    ops = [("period", str(rng.choice((30, 60)))), *limits(rng), *people(rng, 3)]
    now = 0
    for _ in range(5):
        ops.append(("look", str(rng.choice((90, 160, 300, 400))), str(now)))
        now += rng.choice((0, 10, 30, 60))
        ops.append(("pressure", str(now)))
        now += rng.choice((0, 10))
    return ops


# -- the lab ---------------------------------------------------------------------------------------

CHANGES = {
    "changes": [
        "What you are handed is the caller's: the same Pods are asked about again ten seconds later.",
        "sorted(pods) makes a new list, pods.sort() orders the caller's; build a new dict of seconds, too.",
    ]
}
GRACE = ["A grace period is how long a threshold has to be crossed without a break. Compare it with now - since."]
ORDER = ["The order is that of your function order; look at ranks-by-three-questions first."]
FIRST = ["Three questions in this order: more than requested? lowest priority? furthest above the request?"]
UNMEASURED = ["Of a Pod that was not measured nobody knows what it uses. Upstream takes no chances: it goes first."]

LAB = LabSpec(
    title="Eviction",
    question="The node is short of memory. Which of these Pods goes, and why not the other one?",
    names={
        **dict.fromkeys(("order", "crossed", "hold"), "function"),
        "EvictionManager": "class",
    },
    forbidden=("k8slab.kubelet",),
    minutes=75,
    checks=(
        Check(
            "ranks-by-three-questions",
            "order: above the request first, then the lowest priority, then who is furthest above",
            4,
            leaves_alone(is_ordered),
            {
                "six Pods": "pod a 0 50 5; pod b 200 150 0; pod c 0 - 5; pod d 100 50 5; pod e 200 50 0; "
                "pod f 100 100 0; order",
                "above goes first": "pod a 100 90 -5; pod b 100 101 10; order",
                "then priority": "pod a 100 900 10; pod b 100 101 0; order",
                "then the amount": "pod a 100 150 0; pod b 200 260 0; order",
                "no class": "pod a 0 50 0; pod b 100 400 0; order",
                "below, by priority": "pod a 200 50 10; pod b 200 199 0; pod c 200 100 0; order",
                "exactly as requested": "pod a 100 100 0; pod b 100 101 10; order",
                "not measured": "pod a 0 900 0; pod b 100 - 10; order",
                "two not measured": "pod a 100 - 5; pod b 0 - 0; order",
                "alike": "pod b 0 50 0; pod a 0 50 0; order",
                "a critical one": "pod a 100 50 0; pod s 0 900 0 critical; order",
            },
            ranking,
            {
                **CHANGES,
                "class": ["A Pod without requests is above its request, like everybody else who is above theirs."],
                "class-first": ["Whether a Pod requests anything is not asked. Whether it uses more than that is."],
                "unmeasured-alike": ["Between two that were not measured one question can still be answered."],
                "critical-last": ["Whether a Pod is critical is none of the three questions: look asks that."],
                "no-priority": ["Between two Pods above their requests, what is asked before the amount?"],
                "priority-first": ["Priority is the second question. Who is the first about?"],
                "high-first": ["The lowest priority goes first."],
                "most-used": ["The amount is what is used less what is requested."],
                "usage-alone": FIRST,
                "least-above": ["Who is furthest above its request goes first. A sort key can be negative."],
                "at-the-request": ["Using exactly what was requested is not using more."],
                "unmeasured-last": UNMEASURED,
                "unmeasured-as-zero": UNMEASURED,
                "no-amount": ["Of equal priority, who is furthest above its request goes first."],
                "no-group": ["A Pod below its request stays until all above theirs are gone, whatever its priority."],
                "": [*FIRST, "sorted(pods, key=...) with a tuple of three; equals keep the order they came in."],
            },
            needs=("order",),
            state=state,
        ),
        Check(
            "crosses-below",
            "crossed: less than the threshold is free; acted on before, less than threshold and minimum",
            2,
            leaves_alone(finds_crossed),
            {
                "all at once": "threshold a 100 0 60; threshold b 120 0 0; threshold c 80 0 50; threshold d 130 0 0; "
                "threshold e 90 0 5; threshold f 100 0 30; threshold g 50 0 130; crossed 120 a c d e g",
                "less, not equal": "threshold hard 100 0 0; crossed 99; crossed 100",
                "two": "threshold hard 100 0 0; threshold soft 200 60 0; crossed 150; crossed 50",
                "the minimum": "threshold hard 100 0 50; crossed 120; crossed 120 hard; crossed 150 hard; "
                "crossed 90 hard",
                "each its own": "threshold hard 100 0 50; threshold soft 150 30 100; crossed 160 hard; "
                "crossed 160 soft",
            },
            crossing,
            {
                **CHANGES,
                "inclusive": ["Crossed is less than. At the threshold nothing is crossed."],
                "no-minimum": ["What was acted on before counts as crossed until below + reclaim is free."],
                "always-minimum": ["The minimum counts only for those in before."],
                "minimum-alone": ["The minimum comes on top of the threshold: below + reclaim."],
                "only-new": ["What was acted on before can still be crossed: it needs even more."],
                "stays": ["What was acted on before is over as soon as below + reclaim is free."],
                "": ["Go through the thresholds in their order; each has its own bound.", "free < bound"],
            },
            needs=("crossed",),
            state=state,
        ),
        Check(
            "waits-out-the-grace",
            "hold: due is what has been crossed for its grace period without a break",
            3,
            leaves_alone(waits),
            {
                "all of it": "threshold hard 100 0 0; threshold soft 200 30 0; threshold late 150 20 0; "
                "hold 0 soft late; hold 30 soft late; hold 40 hard; hold 50 soft late",
                "hard at once": "threshold hard 100 0 0; hold 0 hard",
                "soft later": "threshold soft 200 60 0; hold 0 soft; hold 59 soft; hold 60 soft; hold 70 soft",
                "a break": "threshold soft 200 60 0; hold 0 soft; hold 30; hold 40 soft; hold 60 soft; hold 100 soft",
                "two": "threshold hard 100 0 0; threshold soft 200 30 0; hold 0 soft; hold 10 hard soft; "
                "hold 30 soft hard",
                "nothing": "threshold hard 100 0 0; hold 0",
            },
            holding,
            {
                **CHANGES,
                "no-grace": GRACE,
                "no-break": ["What is not crossed now is forgotten: its clock starts anew the next time."],
                "restarts": ["What is crossed already keeps the second at which that began."],
                "late": ["After exactly the grace period it is due."],
                "hard-only": ["Soft ones are due, too, once they have waited."],
                "": [
                    "Two results: a new dict with the seconds of those in names, and the names that are due.",
                    "since.get(name, now) for each name that is crossed; due in the order of the thresholds.",
                ],
            },
            needs=("hold",),
            state=state,
        ),
        Check(
            "evicts-one-a-look",
            "look: one Pod while something is due, never a critical one, until the minimum is free",
            4,
            leaves_alone(manages("look", LOOKING)),
            {
                "one a look": "threshold hard 100 0 0; pod a 0 50 0; pod b 0 60 0; look 90 0; look 90 10; look 90 20",
                "enough": "threshold hard 100 0 0; pod a 0 50 0; look 100 0; look 99 10",
                "grace": "threshold soft 200 30 0; pod a 0 50 0; look 150 0; look 150 29; look 150 30",
                "a break": "threshold soft 200 30 0; pod a 0 50 0; look 150 0; look 250 20; look 150 30; look 150 60",
                "critical": "threshold hard 100 0 0; pod s 0 900 0 critical; pod a 100 50 0; look 90 0; look 90 10",
                "minimum": "threshold hard 100 0 100; pod a 0 50 0; pod b 0 40 0; pod c 0 30 0; look 90 0; "
                "look 150 10; look 200 20",
                "a newcomer": "threshold hard 100 0 0; pod a 0 50 0; look 90 0; pod b 0 60 0; look 90 10",
                "nobody to evict": "threshold hard 100 0 100; pod s 100 50 0 critical; look 90 0; "
                "pod a 0 50 0; look 150 10",
                "not acted on yet": "threshold soft 200 30 100; pod a 0 50 0; look 150 0; look 250 10; look 150 30",
            },
            looking,
            {
                **CHANGES,
                **dict.fromkeys(ORDERS, ORDER),
                "unsorted": ["Whom it picks is not the first of order(pods), but the first of pods."],
                **{rule: ["Look at waits-out-the-grace first: only what is due is acted on."] for rule in HOLDING},
                "inclusive": ["Look at crosses-below first."],
                "critical-too": ["A critical Pod is passed over, and the next in the order goes."],
                "old-pods": ["pods are those that run at this look: others than at the look before."],
                "needs-a-victim": ["What was due counts as acted on, also if there was nobody to evict."],
                "gives-up": ["The first in the order may be critical. Go on to the next."],
                "no-minimum": ["Hand crossed the names of those that were due at the look before."],
                "minimum-too-soon": [
                    "The minimum counts for thresholds that were acted on, not for all that were crossed.",
                    "What is kept from one look to the next is what was due.",
                ],
                "": [
                    "crossed, then hold, then the first of order(pods) that is not critical, if anything is due.",
                    "Two things are kept between looks: since when, and what was due.",
                ],
            },
            state=state,
        ),
        Check(
            "keeps-the-pressure",
            "pressure: from the first look that sees something crossed, until a period after the last",
            2,
            leaves_alone(manages("pressure", PRESSING)),
            {
                "all of it": "period 30; threshold hard 100 0 0; look 90 0; look 90 20; look 300 25; pressure 26; "
                "pressure 40; pressure 51",
                "it stays": "period 30; threshold hard 100 0 0; look 90 0; look 300 10; pressure 20; pressure 29; "
                "pressure 30",
                "from the last": "period 30; threshold hard 100 0 0; look 90 0; look 90 20; look 300 25; pressure 40; "
                "pressure 50",
                "at once": "threshold soft 200 60 0; look 150 0; pressure 0",
                "never": "threshold hard 100 0 0; look 300 0; pressure 10",
                "nobody looked": "threshold hard 100 0 0; pressure 10",
            },
            pressing,
            {
                **CHANGES,
                "only-now": ["It stays for a period after the last look that saw something crossed: no flapping."],
                "for-ever": ["After the period it is over."],
                "period-inclusive": ["Less than a period ago, it is still reported; exactly a period ago, no more."],
                "from-the-first": ["The period counts from the last look that saw it, not from the first."],
                "after-the-grace": ["The grace period delays the eviction, not the condition."],
                "": ["Keep the second of the last look at which anything was crossed, and compare."],
            },
            state=state,
        ),
    ),
)
