"""Lab 11: the properties of a GPU temperature plugin, judged over its verdicts, scores and hints.

Upstream: staging/src/k8s.io/kube-scheduler/framework/interface.go (FilterPlugin, ScorePlugin, EnqueueExtensions)
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from k8slab.lab import Broken, Check, LabSpec, Op, Step

NODES = ("a", "b", "c", "d")
UNREADABLE = ("warm", "60.5", "-")


def is_whole(text: str) -> bool:
    return text.removeprefix("-").isdigit()


@dataclass
class World:
    """The naive twin: the time in seconds, the limits, and per node what was reported when."""

    now: int = 0
    most: int = 85
    max_age: int = 15
    nodes: dict[str, tuple[str, int]] = field(default_factory=dict)
    """`""`: no report."""

    def situation(self, name: str) -> str:
        """What there is to say of a node."""
        text, at = self.nodes[name]
        if not text:
            return "missing"
        if not is_whole(text):
            return "unreadable"
        if self.now - at > self.max_age:
            return "stale"
        if int(text) > self.most:
            return "hot"
        if int(text) == self.most:
            return "limit"
        if int(text) <= 0:
            return "cold"
        if self.now - at == self.max_age:
            return "age-limit"
        return "young" if self.now > at else "cool"

    def fits(self, name: str) -> bool:
        return self.situation(name) in ("limit", "cold", "age-limit", "young", "cool")

    def headroom(self, name: str) -> int:
        return self.most - int(self.nodes[name][0])

    def told(self, name: str) -> str:
        text, at = self.nodes[name]
        return f"{text} degrees, {self.now - at} s ago" if is_whole(text) else repr(text) if text else "no report"

    def play(self, step: Step) -> None:
        verb, *words = step.op
        if verb == "limits":
            self.now, self.most, self.max_age, self.nodes = 0, int(words[0]), int(words[1]), {}
        elif verb == "clock":
            self.now += int(words[0])
        elif verb == "report":
            self.nodes[words[0]] = words[1], self.now
        elif verb == "silent":
            self.nodes[words[0]] = "", self.now


def worlds(steps: Sequence[Step]) -> Iterator[tuple[Step, World]]:
    """Each step, with what holds just before it."""
    world = World()
    for step in steps:
        yield step, world
        world.play(step)


def state(steps: Sequence[Step]) -> dict[str, str]:
    """What holds after some steps, to be shown beside them."""
    world = World()
    for step in steps:
        world.play(step)
    limits = f"at most {world.most} degrees, {world.max_age} s old"
    return {"limits": limits, **{f"node {name}": world.told(name) for name in world.nodes}}


# -- Filter ----------------------------------------------------------------------------------------

WHY_NOT = {
    "missing": "has no report",
    "unreadable": "has a report that is no whole number",
    "stale": "has a report that is too old",
    "hot": "is too hot",
}


def verdict(step: Step, world: World) -> Broken | None:
    """Whether the answer to `ask` is the right one; the reason is not looked at."""
    name = step.op[1]
    if name not in world.nodes:
        return None
    situation, answer = world.situation(name), str(step.result)
    told = f"node {name} ({world.told(name)})"
    if not world.fits(name) and answer == "fits":
        return Broken(step.number, f"{told} {WHY_NOT[situation]}, and filter lets it pass", f"{situation}-accepted")
    if world.fits(name) and answer != "fits":
        why = f"{told} is within {world.most} degrees and {world.max_age} s, and filter says {answer!r}"
        return Broken(step.number, why, f"{situation}-rejected")
    return None


def verdicts(steps: Sequence[Step]) -> Broken | None:
    for step, world in worlds(steps):
        if step.verb == "ask" and (found := verdict(step, world)):
            return found
    return None


def reasons(steps: Sequence[Step]) -> Broken | None:
    """Nodes that are out for the same cause say the same; another cause says something else."""
    said: dict[str, str] = {}
    for step, world in worlds(steps):
        if step.verb == "limits":
            said = {}
        if step.verb != "ask" or step.op[1] not in world.nodes:
            continue
        if found := verdict(step, world):
            return found
        situation, answer = world.situation(step.op[1]), str(step.result)
        if answer == "fits":
            continue
        if answer == "no: ":
            return Broken(step.number, f"node {step.op[1]} is rejected without a reason", "no-reason")
        kind = "hot" if situation == "hot" else "without a report that counts"
        if said.setdefault(kind, answer) != answer:
            why = f"two nodes that are {kind} say {said[kind]!r} and {answer!r}: that makes two reasons in one message"
            return Broken(step.number, why, "values-in-reason")
        if len(said) == 2 and len(set(said.values())) == 1:
            return Broken(step.number, f"hot nodes and silent ones both say {answer!r}", "one-reason")
    return None


# -- Score -----------------------------------------------------------------------------------------


def scores_of(step: Step, world: World) -> dict[str, int] | Broken:
    """The scores by node, or that the wrong nodes were scored."""
    words = [word.partition("=") for word in str(step.result).split() if "=" in word]
    found = {name: int(score) for name, _, score in words}
    right = [name for name in world.nodes if world.fits(name)]
    if list(found) != right:
        why = f"filter lets {', '.join(found) or 'nobody'} pass; fitting is {', '.join(right) or 'nobody'}"
        return Broken(step.number, why, "verdict")
    return found


def order(steps: Sequence[Step]) -> Broken | None:
    """Cooler nodes never score less, and more where the difference is large enough to be seen."""
    for step, world in worlds(steps):
        if step.verb != "rank":
            continue
        found = scores_of(step, world)
        if isinstance(found, Broken):
            return found
        by_heat = sorted(found, key=world.headroom, reverse=True)
        for cooler, hotter in pairwise(by_heat):
            told = " and ".join(f"{name} ({world.told(name)}) scores {found[name]}" for name in (cooler, hotter))
            ahead = world.headroom(cooler) - world.headroom(hotter)
            if found[cooler] < found[hotter] and ahead:
                return Broken(step.number, told, "hotter-wins")
            if found[cooler] != found[hotter] and not ahead:
                return Broken(step.number, f"{told}: as warm, and not the same score", "equals-differ")
            if found[cooler] == found[hotter] and ahead:
                return Broken(step.number, f"{told}: not as warm, and the same score", "no-difference")
    return None


def scale(steps: Sequence[Step]) -> Broken | None:
    """The most headroom is 100, the others are in proportion, rounded down; without any headroom all are 0."""
    for step, world in worlds(steps):
        if step.verb != "rank":
            continue
        found = scores_of(step, world)
        if isinstance(found, Broken):
            return found
        most = max(map(world.headroom, found), default=0)
        for name, score in found.items():
            right = 100 * world.headroom(name) // most if most else 0
            if score == right:
                continue
            told = f"{name} has {world.headroom(name)} degrees of headroom of at most {most}, and scores {score}"
            if not 0 <= score <= 100:
                return Broken(step.number, f"{told}: outside 0 to 100 the framework fails the attempt", "range")
            if world.headroom(name) == most:
                return Broken(step.number, f"{told}, not {right}", "not-100" if most else "no-headroom")
            return Broken(step.number, f"{told}, not {right}", "proportion")
    return None


# -- the hint --------------------------------------------------------------------------------------


def hints(steps: Sequence[Step]) -> Broken | None:
    """Queue exactly when the node passes now and, with what was known of it before, would not."""
    for step, world in worlds(steps):
        if step.verb not in ("report", "silent"):
            continue
        name, before = step.op[1], None if step.op[1] not in world.nodes else world.situation(step.op[1])
        passed = before is not None and world.fits(name)
        after = World(world.now, world.most, world.max_age, dict(world.nodes))
        after.play(step)
        right = "Queue" if after.fits(name) and not passed else "QueueSkip"
        if step.result == right:
            continue
        told = f"node {name} now: {after.told(name)}; before: {world.told(name) if before is not None else 'not there'}"
        if right == "Queue":
            cause = "missed-new" if before is None else "missed-cooled" if before == "hot" else "missed-silence"
            return Broken(step.number, f"{told}. It would pass now, and the hint is {step.result}", cause)
        cause = "eager-pass" if after.fits(name) else "eager-no"
        return Broken(step.number, f"{told}. That helps nobody, and the hint is {step.result}", cause)
    return None


# -- scripts ---------------------------------------------------------------------------------------


def asked(rng: random.Random, ops: list[Op]) -> list[Op]:
    """Each operation, often followed by a question about a node."""
    found: list[Op] = []
    for op in ops:
        found.append(op)
        if rng.random() < 0.7:
            found.append(("ask", rng.choice(NODES)))
    return [*found, *[("ask", name) for name in NODES]]


def fresh(rng: random.Random) -> list[Op]:
    temperatures = [85, 86, *(rng.choice([-20, 0, 60, 84, 85, 86, 87, 99]) for _ in range(6))]
    rng.shuffle(temperatures)
    return asked(rng, [("report", rng.choice(NODES), str(celsius)) for celsius in temperatures])


def aging(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(3, 7)):
        ops.append(("report", rng.choice(NODES), str(rng.choice([30, 60, 84]))))
        ops.append(("clock", str(rng.choice([1, 5, 9, 14, 15, 16, 40]))))
    return asked(rng, [("report", name, "50") for name in NODES] + ops)


def spotty(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for name in rng.sample(NODES * 2, 7):
        word = rng.choice(["60", "60", "-7", *UNREADABLE])
        ops.append(("silent", name) if rng.random() < 0.4 else ("report", name, word))
    return asked(rng, ops)


def mixed(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(10):
        ops.append(rng.choice([("report", rng.choice(NODES), str(rng.randint(80, 99))), ("silent", rng.choice(NODES))]))
        if rng.random() < 0.3:
            ops.append(("clock", "9"))
    return asked(rng, ops)


def limited(rng: random.Random) -> list[Op]:
    most, age = rng.choice([(70, 15), (85, 60), (95, 15), (85, 5), (60, 30)])
    ops: list[Op] = [("limits", str(most), str(age))]
    for _ in range(8):
        ops.append(("report", rng.choice(NODES), str(most + rng.randint(-12, 12))))
        if rng.random() < 0.6:
            ops.append(("clock", str(rng.choice([1, 4, 6, age, age + 1]))))
    return asked(rng, ops)


def ranked(rng: random.Random) -> list[Op]:
    """Reports that fit; temperatures far enough apart to be seen in a score, or equal."""
    ops: list[Op] = []
    for _ in range(rng.randint(3, 7)):
        ops.append(("report", rng.choice(NODES), str(rng.choice(range(20, 86, 5)))))
        if rng.random() < 0.5:
            ops.append(("rank",))
    return [*ops, ("rank",)]


def scaled(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(3, 7)):
        ops.append(("report", rng.choice(NODES), str(rng.randint(-9, 85))))
        if rng.random() < 0.5:
            ops.append(("rank",))
    return [*ops, ("rank",)]


def changing(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(8, 14)):
        roll = rng.random()
        if roll < 0.65:
            ops.append(("report", rng.choice(NODES[:2]), str(rng.choice([0, 60, 85, 86, 95]))))
        elif roll < 0.75:
            ops.append(("silent", rng.choice(NODES[:2])))
        else:
            ops.append(("clock", str(rng.choice([5, 15, 16, 30]))))
    return ops


# -- hints for people ------------------------------------------------------------------------------

FILTER_HINTS = {
    "hot-accepted": [
        "Which nodes does your comparison let through? Try 84, 85, 86.",
        "More than the limit is out: celsius > the limit.",
    ],
    "limit-rejected": [
        "The limit is the last temperature that is allowed. What does your comparison say at exactly that?",
        "Out is what is *above* the limit: > and not >=.",
    ],
    "cool-rejected": [
        "This node is cool, and its report is young. Which of your conditions turns it down?",
        "Compare numbers, not texts: an annotation is a text, and '9' > '85'.",
    ],
    "stale-accepted": [
        "The agent has been silent since. What do you know of the node now?",
        "handle.now_ms is the time; parse_time gives that of the report. The difference is its age.",
        "An age above the limit counts as no report.",
    ],
    "age-limit-rejected": [
        "A report counts as long as it is at most so old. What does your comparison say at exactly that age?",
        "An age above the limit counts as no report: > and not >=.",
    ],
    "young-rejected": [
        "The report is younger than its limit. In which unit do you compare the two?",
        "maxMetricAgeSeconds is in seconds; handle.now_ms and parse_time(...) are in milliseconds.",
    ],
    "cold-rejected": [
        "0 and -5 are temperatures. What is 0 to an `if`, and a minus to isdigit()?",
        "Ask `is None`, not `not celsius`; take one minus off before isdigit(), or let int(text) try.",
    ],
    "missing-accepted": [
        "What does your filter say of a node whose agent never wrote anything?",
        "Let celsius() return None for it, and reject on None before you compare.",
    ],
    "unreadable-accepted": [
        "What is 'warm' as a temperature?",
        "int(text) raises a ValueError for what is no whole number.",
    ],
}
VERDICT_FIRST = {"verdict": ["The scores are of the wrong nodes. Mend filter first: hot-nodes-are-out tells more."]}

LAB = LabSpec(
    title="A scheduler plugin",
    question="The GPUs cooled down four minutes ago, and the Pod is still Pending. What did the plugin's author "
    "forget?",
    names={"GPUTemperature": "class"},
    forbidden=("k8slab.scheduler.plugins.gpu_temperature",),
    minutes=60,
    checks=(
        Check(
            "hot-nodes-are-out",
            "A node at 85 degrees is kept, one at 86 is out",
            2,
            verdicts,
            {
                "at the limit": "report a 85; ask a",
                "above it": "report a 86; ask a",
                "a small number": "report a 9; ask a; report b 100; ask b",
                "zero": "report a 0; ask a",
            },
            fresh,
            FILTER_HINTS,
            state=state,
        ),
        Check(
            "old-reports-do-not-count",
            "A report counts for 15 seconds",
            2,
            verdicts,
            {
                "young": "report a 60; clock 5; ask a",
                "just young enough": "report a 60; clock 15; ask a",
                "too old": "report a 60; clock 16; ask a; report a 60; ask a",
            },
            aging,
            FILTER_HINTS,
            state=state,
        ),
        Check(
            "silence-is-a-no",
            "A node without a report that can be read is out",
            2,
            verdicts,
            {
                "never reported": "silent a; ask a; report a 60; ask a",
                "no number": "report a warm; ask a; report b 60; ask b",
                "half degrees": "report a 60.5; ask a; report b 60; ask b",
                "below zero": "report a -5; ask a",
            },
            spotty,
            FILTER_HINTS,
            state=state,
        ),
        Check(
            "reasons-can-be-counted",
            "Nodes that are out for the same cause give the same reason",
            1,
            reasons,
            {
                "two hot ones": "report a 86; report b 97; ask a; ask b",
                "hot and silent": "report a 86; silent b; ask a; ask b; report c 60; ask c",
            },
            mixed,
            {
                **FILTER_HINTS,
                "values-in-reason": [
                    "FailedScheduling counts reasons by their text. What would it say of 500 hot nodes?",
                    "Name the limit, not the temperature.",
                ],
                "one-reason": [
                    "Whoever reads the event wants to know which of the two to mend: cooling, or the agent.",
                    "Two texts: one for None, one for above the limit.",
                ],
                "no-reason": ["Status(Code.UNSCHEDULABLE, 'why'): the text is what people see."],
            },
            state=state,
        ),
        Check(
            "the-arguments-decide",
            "Limits come from the profile's arguments",
            1,
            verdicts,
            {
                "a lower limit": "limits 70 15; report a 70; ask a; report b 71; ask b",
                "a longer age": "limits 85 60; report a 60; clock 9; ask a; clock 51; ask a; clock 1; ask a",
                "an hour": "limits 85 3600; report a 60; clock 3601; ask a; report a 60; ask a",
            },
            limited,
            {
                "": [
                    "args is the dict of the profile. Which of its values does this step depend on?",
                    "args.get('maxTemperatureCelsius', 85) and args.get('maxMetricAgeSeconds', 15).",
                ]
            },
            state=state,
        ),
        Check(
            "cooler-is-better",
            "Of two nodes the cooler one scores more",
            2,
            order,
            {"two": "report a 60; report b 40; rank", "as warm": "report a 60; report b 60; report c 30; rank"},
            ranked,
            {
                **VERDICT_FIRST,
                "hotter-wins": [
                    "The highest score wins. Is yours highest where it is hottest?",
                    "Score the headroom: the limit minus the temperature.",
                ],
                "equals-differ": ["Two nodes of one temperature: what else goes into your score?"],
                "no-difference": [
                    "What does your score say that depends on the temperature?",
                    "Rounding too early makes different nodes alike: round once, at the end of normalize_score.",
                ],
            },
            state=state,
        ),
        Check(
            "scores-fill-the-scale",
            "The most headroom scores 100, the others in proportion, rounded down",
            2,
            scale,
            {
                "two": "report a 25; report b 55; rank",
                "one": "report a 60; rank",
                "no headroom": "report a 85; rank; report b 84; rank",
                "nobody": "report a 90; rank; report a 45; rank",
                "below zero": "report a -15; report b 0; report c 35; rank",
            },
            scaled,
            {
                **VERDICT_FIRST,
                "range": [
                    "A score outside 0 to 100 after normalising is an Error for the whole attempt. Where is yours?",
                    "Divide by the largest headroom among the nodes that you were given.",
                ],
                "not-100": [
                    "normalize_score sees all fitting nodes at once. What is the largest of their scores to become?",
                    "100 * score // max(scores): then the largest is 100.",
                ],
                "no-headroom": ["All nodes are at the limit: there is no headroom to share, so all are 0."],
                "proportion": [
                    "60 degrees of headroom are twice 30. What do the two score?",
                    "Do not stretch coolest to hottest over the scale: 0 means no headroom, not last place.",
                    "100 * headroom // the largest headroom, in whole numbers.",
                ],
            },
            state=state,
        ),
        Check(
            "a-pod-comes-back",
            "The hint queues a Pod when a node begins to pass, and only then",
            3,
            hints,
            {
                "cooled": "report a 90; report a 60",
                "cooled to nothing": "report a 90; report a 0; report a -5",
                "still hot": "report a 99; report a 90",
                "cooler than cool": "report a 60; report a 50",
                "after a silence": "report a 60; clock 16; report a 60",
                "a new node": "report a 60; report b 95",
                "the first word": "silent a; report a 60; silent a",
            },
            changing,
            {
                "missed-cooled": [
                    "The Pod was rejected because this node was hot. It is not any more. Who tells the queue?",
                    "Ask the same question of new as filter would, and compare with old.",
                ],
                "missed-silence": [
                    "The report before is too old by now, or was none: the node did not pass, although it was cool.",
                    "Judge old by the present time, too: celsius(old) is None.",
                ],
                "missed-new": ["A new node has no old state: old is None. That is no reason to skip it."],
                "eager-no": [
                    "The node does not pass now. What would another attempt find?",
                    "Queue only if the node passes: filter's question, asked of new.",
                ],
                "eager-pass": [
                    "The node passed before as well, so it was not the reason for the rejection.",
                    "Queue when new passes and old did not.",
                ],
            },
            setting="hints",
            state=state,
        ),
    ),
)
