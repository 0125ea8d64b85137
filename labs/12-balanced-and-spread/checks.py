"""Lab 12: two resource scores and the arithmetic of topology spread, judged over what the functions answered.

Upstream: pkg/scheduler/framework/plugins/noderesources/{least_allocated,balanced_allocation}.go,
podtopologyspread/{filtering,scoring}.go
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from k8slab.lab import Broken, Check, LabSpec, Op, Step

ZONES = ("a", "b", "c")


class Amount(NamedTuple):
    """One resource, as the words say it: in use, asked by the Pod, what the Node has, the weight."""

    used: int
    pod: int
    has: int
    weight: int


def amounts(op: Op) -> list[Amount]:
    found = []
    for word in op[1:]:
        left, _, right = word.partition("/")
        used, _, pod = left.partition("+")
        has, _, weight = right.partition(":")
        found.append(Amount(int(used), int(pod or 0), int(has), int(weight or 1)))
    return found


def _first(cause_of: Mapping[str, Any], answer: Any) -> str:
    """The first mistake that would have given this answer; "" for none of them."""
    return next((cause for cause, wrong in cause_of.items() if wrong == answer), "")


# -- least allocated -------------------------------------------------------------------------------


def _mean(parts: Iterable[tuple[int, int]]) -> int:
    """Of (score, weight), cut off."""
    listed = list(parts)
    weights = sum(weight for _, weight in listed)
    return sum(score * weight for score, weight in listed) // weights if weights else 0


def least(found: Sequence[Amount]) -> int:
    return _mean((max(0, one.has - one.used) * 100 // one.has, one.weight) for one in found if one.has)


def least_mistakes(found: Sequence[Amount]) -> dict[str, int]:
    there = [one for one in found if one.has]
    return {
        "division": _mean((max(0, one.has - one.used) // one.has * 100, one.weight) for one in there),
        "over-full": _mean(((one.has - one.used) * 100 // one.has, one.weight) for one in there),
        "used": _mean((min(one.used, one.has) * 100 // one.has, one.weight) for one in there),
        "weights": _mean((max(0, one.has - one.used) * 100 // one.has, 1) for one in there),
        "absent": _mean((max(0, one.has - one.used) * 100 // one.has if one.has else 0, one.weight) for one in found),
    }


def allocates_least(steps: Sequence[Step]) -> Broken | None:
    for step in steps:
        found = amounts(step.op)
        right = least(found)
        if step.result != right:
            cause = _first(least_mistakes(found), step.result)
            return Broken(step.number, f"the score is {step.result}; it should be {right}", cause)
    return None


# -- balance ---------------------------------------------------------------------------------------


def _fractions(pairs: Iterable[tuple[int, int]], most: float = 1.0) -> list[float]:
    return [min(used / has, most) for used, has in pairs if has]


def _deviation(fractions: Sequence[float]) -> float:
    if not fractions:
        return 0.0
    mean = sum(fractions) / len(fractions)
    return math.sqrt(sum((one - mean) ** 2 for one in fractions) / len(fractions))


def _cut(value: float) -> set[int]:
    """Cut off; where rounding of floats could make it either of two, both."""
    return {math.floor(value - 1e-9), math.floor(value + 1e-9)}


def balances(fractions: Sequence[float]) -> set[int]:
    if len(set(fractions)) < 2:
        return {100}
    return _cut((1 - _deviation(fractions)) * 100)


def balance_mistakes(pairs: Sequence[tuple[int, int]]) -> dict[str, set[int]]:
    fractions = _fractions(pairs)
    mean = sum(fractions) / len(fractions) if fractions else 0.0
    spread = (max(fractions) - min(fractions)) if fractions else 0.0
    absolute = sum(abs(one - mean) for one in fractions) / len(fractions) if fractions else 0.0
    return {
        "over-full": balances(_fractions(pairs, math.inf)),
        "upside-down": _cut(_deviation(fractions) * 100),
        "variance": _cut((1 - _deviation(fractions) ** 2) * 100),
        "distance": _cut((1 - spread) * 100) | _cut((1 - absolute) * 100),
        "fullness": _cut((1 - mean) * 100),
        "absent": balances([min(used / has, 1.0) if has else 0.0 for used, has in pairs]),
        "whole-numbers": balances([float(min(used // has, 1)) if has else 0.0 for used, has in pairs if has]),
    }


def is_balanced(steps: Sequence[Step]) -> Broken | None:
    for step in steps:
        pairs = [(one.used, one.has) for one in amounts(step.op)]
        right = balances(_fractions(pairs))
        if step.result not in right:
            mistakes = balance_mistakes(pairs)
            cause = next((name for name, wrong in mistakes.items() if step.result in wrong), "")
            return Broken(step.number, f"the balance is {step.result}; it should be {max(right)}", cause)
    return None


def _improved(after: set[int], before: set[int]) -> set[int]:
    return {50 + (50 + one - two) // 2 for one in after for two in before}


def improves(steps: Sequence[Step]) -> Broken | None:
    for step in steps:
        found = amounts(step.op)
        after = balances(_fractions((one.used + one.pod, one.has) for one in found))
        before = balances(_fractions((one.used, one.has) for one in found))
        right = _improved(after, before)
        if step.result not in right:
            mistakes = {
                "only-after": after,
                "turned": _improved(before, after),
                "only-before": before,
                "difference": {one - two for one in after for two in before},
                "not-halved": {50 + (50 + one - two) for one in after for two in before},
            }
            cause = next((name for name, wrong in mistakes.items() if step.result in wrong), "")
            return Broken(step.number, f"the score is {step.result}; it should be {max(right)}", cause)
    return None


# -- domains ---------------------------------------------------------------------------------------


class World(NamedTuple):
    """Zone by Node ("" for none), and Pods by name: where, which app, whether it is terminating."""

    zones: dict[str, str]
    pods: dict[str, tuple[str, str, bool]]


def worlds(steps: Sequence[Step]) -> Iterable[tuple[Step, World]]:
    """Each step, with what holds before it. What was answered with False did nothing."""
    world = World({}, {})
    for step in steps:
        yield step, world
        if step.result is not True:
            continue
        name = step.op[1]
        if step.verb == "node":
            world.zones[name] = "" if step.op[2] == "-" else step.op[2]
        elif step.verb == "pod":
            world.pods[name] = (step.op[2], step.op[3], False)
        elif step.verb == "terminate":
            world.pods[name] = (*world.pods[name][:2], True)
        elif step.verb == "delete":
            del world.pods[name]


def counted(
    world: World, app: str, *, terminating: bool = False, every: bool = False, empty: bool = True
) -> dict[str, int]:
    """Pods by zone. With a mistake: terminating ones too, those of every app, without the zones that have none."""
    found = {zone: 0 for zone in world.zones.values() if zone} if empty else {}
    for on, of, leaves in world.pods.values():
        zone = world.zones[on]
        if zone and (every or of == app) and (terminating or not leaves):
            found[zone] = found.get(zone, 0) + 1
    return found


def _shown(counts: Mapping[str, int]) -> str:
    return " ".join(f"{zone}={counts[zone]}" for zone in sorted(counts))


def count_mistakes(world: World, app: str) -> dict[str, str]:
    nowhere = sum(not world.zones[on] and of == app and not leaves for on, of, leaves in world.pods.values())
    unlabelled = {**counted(world, app), "": nowhere} if "" in world.zones.values() else counted(world, app)
    by_node = dict.fromkeys(world.zones, 0)
    for on, of, leaves in world.pods.values():
        by_node[on] += of == app and not leaves
    return {
        "terminating": _shown(counted(world, app, terminating=True)),
        "missing-domain": _shown(counted(world, app, empty=False)),
        "every-app": _shown(counted(world, app, every=True)),
        "unlabelled": _shown(unlabelled),
        "by-node": _shown(by_node),
    }


def counts_domains(steps: Sequence[Step]) -> Broken | None:
    for step, world in worlds(steps):
        if step.verb != "count":
            continue
        right = _shown(counted(world, step.op[1]))
        if step.result != right:
            cause = _first(count_mistakes(world, step.op[1]), step.result)
            told = f"counted {step.result or 'no zone at all'}; it should be {right or 'no zone at all'}"
            return Broken(step.number, told, cause)
    return None


# -- may it go there -------------------------------------------------------------------------------


class Question(NamedTuple):
    """`fits NODE APP SKEW [DOMAINS [SELECTS]]`"""

    node: str
    app: str
    max_skew: int
    min_domains: int
    selects: str


def asked(op: Op) -> Question:
    domains = int(op[4]) if len(op) > 4 else 1
    return Question(op[1], op[2], int(op[3]), domains, op[5] if len(op) > 5 else "web")


def fitting(world: World, q: Question, counts: Mapping[str, int], **mistake: bool) -> str:
    """The answer; with a mistake by name: `alone`, `strict`, `always`, `fullest`, `few`, `unlabelled`."""
    zone = world.zones[q.node]
    if not zone:
        return "yes" if mistake.get("unlabelled") else "no"
    too_few = len(counts) < q.min_domains and not mistake.get("few")
    values = [value for at, value in counts.items() if at != zone] if mistake.get("others") else list(counts.values())
    least_of = 0 if too_few else min(values, default=0)
    if mistake.get("mean"):
        least_of = sum(counts.values()) // max(1, len(counts))
    own = int(q.app == q.selects)
    if mistake.get("alone"):
        own = 0
    elif mistake.get("always"):
        own = 1
    skew = counts.get(zone, 0) + own - least_of
    ok = skew < q.max_skew if mistake.get("strict") else skew <= q.max_skew
    return "yes" if ok else "no"


def fit_mistakes(world: World, q: Question) -> dict[str, str]:
    right = counted(world, q.selects)
    return {
        "terminating": fitting(world, q, counted(world, q.selects, terminating=True)),
        "missing-domain": fitting(world, q, counted(world, q.selects, empty=False)),
        "every-app": fitting(world, q, counted(world, q.selects, every=True)),
        "alone": fitting(world, q, right, alone=True),
        "always": fitting(world, q, right, always=True),
        "strict": fitting(world, q, right, strict=True),
        "few": fitting(world, q, right, few=True),
        "unlabelled": fitting(world, q, right, unlabelled=True),
        "mean": fitting(world, q, right, mean=True),
        "others": fitting(world, q, right, others=True),
    }


def may_go(steps: Sequence[Step]) -> Broken | None:
    """The cause is the mistake that explains every answer up to the wrong one, not that one alone."""
    explains: dict[str, bool] = {}
    for step, world in worlds(steps):
        if step.verb != "fits" or step.result == "no such node":
            continue
        q = asked(step.op)
        for name, wrong in fit_mistakes(world, q).items():
            explains[name] = explains.get(name, True) and wrong == step.result
        right = fitting(world, q, counted(world, q.selects))
        if step.result != right:
            counts = counted(world, q.selects)
            what = f"with {_shown(counts) or 'no zones'} and maxSkew {q.max_skew}"
            zone = world.zones[q.node]
            place = f"{q.node} in zone {zone}" if zone else f"{q.node}, which has no zone,"
            told = f"{what}, may a Pod of {q.app} go to {place}? It said {step.result}"
            return Broken(step.number, told, next((name for name, all_of_it in explains.items() if all_of_it), ""))
    return None


def spread_state(steps: Sequence[Step]) -> dict[str, str]:
    *_, (_, world) = worlds([*steps, Step(0, ("after",), None)])
    lines = {}
    for name, zone in world.zones.items():
        here = [f"{pod} ({app}{', terminating' if ends else ''})" for pod, (on, app, ends) in world.pods.items()
                if on == name]  # fmt: skip
        lines[f"{name} in zone {zone}" if zone else f"{name}, no zone"] = ", ".join(here) or "empty"
    return lines or {"nodes": "none"}


# -- points ----------------------------------------------------------------------------------------


def points(crowds: Sequence[int | None]) -> str:
    known = [one for one in crowds if one is not None]
    low, high = min(known, default=0), max(known, default=0)
    return " ".join(
        "0" if one is None else str(100 if not high else 100 * (high + low - one) // high) for one in crowds
    )


def point_mistakes(crowds: Sequence[int | None]) -> dict[str, str]:
    known = [one for one in crowds if one is not None]
    low, high = min(known, default=0), max(known, default=0)
    top = max(1, high)

    def all_of(one: Callable[[int], int], without: int = 0) -> str:
        return " ".join(str(without) if crowd is None else str(one(crowd)) for crowd in crowds)

    zeros = [0 if one is None else one for one in crowds]
    nobody = {} if high else {"nobody": all_of(lambda crowd: 0)}
    return {
        **nobody,
        "turned": all_of(lambda crowd: 100 * crowd // top),
        "division": all_of(lambda crowd: (high + low - crowd) // top * 100),
        "min-max": all_of(lambda crowd: 100 * (high - crowd) // max(1, high - low)),
        "by-highest": all_of(lambda crowd: 100 * (high - crowd) // top),
        "raw": all_of(lambda crowd: crowd),
        "unlabelled": points(zeros),
    }


def gives_points(steps: Sequence[Step]) -> Broken | None:
    for step in steps:
        crowds = [None if word == "-" else int(word) for word in step.op[1:]]
        right = points(crowds)
        if step.result != right:
            cause = _first(point_mistakes(crowds), step.result)
            return Broken(step.number, f"the points are {step.result or 'none'}; they should be {right}", cause)
    return None


# -- scripts ---------------------------------------------------------------------------------------


def _has(rng: random.Random) -> int:
    return rng.choice((0, 1000, 2000, 3000, 4000, 7000, 64000))


def leasts(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(3, 8)):
        words = []
        for _ in range(rng.randint(1, 3)):
            has = _has(rng)
            words.append(f"{rng.randint(0, has + has // 4)}/{has}:{rng.randint(1, 5)}")
        ops.append(("least", *words))
    return ops


def balance_words(rng: random.Random, *, pod: bool) -> Op:
    words = []
    for _ in range(rng.choice((2, 2, 3, 4))):
        has = rng.choice((0, 1000, 2000, 4000, 7000, 64000))
        used = rng.randint(0, has)
        words.append(f"{used}+{rng.randint(0, has)}/{has}" if pod else f"{rng.randint(0, has + has // 4)}/{has}")
    return ("balanced" if pod else "balance", *words)


def balance_ops(rng: random.Random) -> list[Op]:
    return [balance_words(rng, pod=False) for _ in range(rng.randint(3, 8))]


def balanced_ops(rng: random.Random) -> list[Op]:
    return [balance_words(rng, pod=True) for _ in range(rng.randint(3, 8))]


def crowded(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(3, 8)):
        words = [rng.choice(("-", *(str(rng.randint(0, 9)) for _ in range(5)))) for _ in range(rng.randint(1, 5))]
        ops.append(("points", *words))
    return ops


def _lives(rng: random.Random, question: Callable[[str], Op]) -> list[Op]:
    """Nodes, then Pods that come, terminate and go, with a question about a Node now and then."""
    nodes = [f"n{number}" for number in range(1, rng.randint(3, 6))]
    ops: list[Op] = [("node", name, rng.choice((*ZONES, *ZONES, "-"))) for name in nodes]
    for number in range(rng.randint(4, 14)):
        ops.append(("pod", f"p{number}", rng.choice(nodes), rng.choice(("web", "web", "web", "api"))))
        if rng.random() < 0.35:
            ops.append((rng.choice(("terminate", "terminate", "delete")), f"p{rng.randint(0, number)}"))
        if rng.random() < 0.6:
            ops.append(question(rng.choice(nodes)))
    return [*ops, question(rng.choice(nodes))]


def counting(rng: random.Random) -> list[Op]:
    return _lives(rng, lambda _: ("count", rng.choice(("web", "web", "api"))))


def fitting_ops(rng: random.Random) -> list[Op]:
    return _lives(rng, lambda node: ("fits", node, "web", str(rng.choice((1, 1, 2)))))


def domains_ops(rng: random.Random) -> list[Op]:
    return _lives(rng, lambda node: ("fits", node, "web", str(rng.choice((1, 2))), str(rng.randint(1, 4))))


def selecting_ops(rng: random.Random) -> list[Op]:
    def question(node: str) -> Op:
        app, selects = rng.choice(("web", "api")), rng.choice(("web", "web", "api"))
        return ("fits", node, app, str(rng.choice((1, 2))), "1", selects)

    return _lives(rng, question)


# -- the lab ---------------------------------------------------------------------------------------

PEOPLE = "node n1 a; node n2 b; node n3 c; "
TERMINATING = [
    "The Pod is still on its Node. Does a spread constraint count it?",
    "Pods that are terminating are skipped: their place is free for the next one.",
]
MISSING = [
    "What does your count say of a zone in which no such Pod runs?",
    "Begin with a 0 for the zone of every Node, then count the Pods: a zone without Pods is the emptiest one.",
]
EVERY = ["Only Pods of the app that the constraint selects count."]
PLAIN_COUNT = "Walk over the Pods by hand: which zone is its Node in, is it of the app, does it stay?"

LAB = LabSpec(
    title="Scores and skew",
    question="A Node is half full and its score is 0. A zone is empty and does not get the next Pod. Both are one "
    "line. Which?",
    names={
        "least_allocated": "function",
        "balance": "function",
        "balanced_allocation": "function",
        "count_domains": "function",
        "fits": "function",
        "spread_points": "function",
    },
    forbidden=("k8slab.scheduler",),
    minutes=75,
    checks=(
        Check(
            "prefers-the-empty",
            "LeastAllocated: the free share of each resource, weighted, in whole numbers",
            2,
            allocates_least,
            {
                "half": "least 2000/4000:1",
                "two": "least 1000/4000:1 3000/4000:1",
                "weighted": "least 0/4000:3 4000/4000:1",
                "over-full": "least 5000/4000:1 0/4000:1",
                "just over-full": "least 9/8:1",
                "without a GPU": "least 1000/4000:1 0/0:4",
                "nothing": "least 0/0:1",
            },
            leasts,
            {
                "division": [
                    "What is (4000 - 2000) // 4000?",
                    "Multiply before you divide: (has - used) * 100 // has.",
                ],
                "used": ["Is an empty Node at 100, or at 0? The free share counts, not the used one."],
                "weights": ["Each resource has a weight. Divide by the sum of the weights, not by how many there are."],
                "over-full": ["More may be used than the Node has. Its free share is then 0, not less."],
                "absent": [
                    "A resource that the Node does not have (has is 0) counts neither in the sum nor in the weights."
                ],
                "": [
                    "Work the failing line out on paper: the share of each resource, then the weighted mean.",
                    "Two divisions that cut off: one for each resource, one for the mean.",
                ],
            },
            needs=("least_allocated",),
        ),
        Check(
            "measures-balance",
            "balance: 100 where all resources are used alike, 50 where one is full and one is empty",
            2,
            is_balanced,
            {
                "alike": "balance 1000/4000 2000/8000",
                "one full": "balance 0/4000 4000/4000",
                "near": "balance 1000/4000 3000/4000",
                "three": "balance 0/4000 2000/4000 4000/4000",
                "over-full": "balance 6000/4000 4000/4000",
                "no GPU": "balance 1000/4000 1000/4000 0/0",
                "nothing": "balance 0/0 0/0",
            },
            balance_ops,
            {
                "over-full": ["A share above 1 counts as 1."],
                "upside-down": ["A deviation of 0 is the best there is. Which number should that be?"],
                "variance": ["The deviation is the square root of the mean square; yours has no root."],
                "distance": [
                    "For two resources the deviation is half their distance. For three it is not the distance of the "
                    "outer two.",
                    "Standard deviation: the root of the mean of the squared distances from the mean.",
                ],
                "fullness": ["A Node that is full of everything is balanced. How full it is does not matter."],
                "absent": ["A resource that the Node does not have has no share: leave it out."],
                "whole-numbers": ["A share is a fraction: / and not //."],
                "": [
                    "Shares first (used / has, at most 1), then their standard deviation, then (1 - deviation) * 100, "
                    "cut off."
                ],
            },
            needs=("balance",),
        ),
        Check(
            "rewards-improvement",
            "balanced_allocation: 75 if the Pod changes nothing, more if it evens things out (1.36)",
            1,
            improves,
            {
                "no change": "balanced 1000+1000/4000 1000+1000/4000",
                "better": "balanced 0+4000/4000 4000+0/4000",
                "worse": "balanced 0+4000/4000 0+0/4000",
                "a little": "balanced 1000+1000/4000 3000+0/4000",
            },
            balanced_ops,
            {
                "only-after": ["That is how it was until 1.35: the balance with the Pod. Now the change counts."],
                "only-before": ["Where does the Pod come in? used + pod."],
                "turned": ["Better must be more: with the Pod minus without it."],
                "difference": ["The difference lies between -50 and 50. The score lies between 50 and 100."],
                "not-halved": ["The difference has 101 values, the score 51: halve it, cut off, with // 2."],
                "": ["50 + (50 + with_pod - without_pod) // 2, both from your balance."],
            },
            needs=("balance", "balanced_allocation"),
        ),
        Check(
            "counts-by-domain",
            "count_domains: Pods of the app that stay, for every zone there is",
            3,
            counts_domains,
            {
                "two zones": PEOPLE + "pod p1 n1 web; pod p2 n1 web; pod p3 n2 web; count web",
                "terminating": "node n1 a; pod p1 n1 web; pod p2 n1 web; terminate p1; count web",
                "an empty zone": "node n1 a; node n2 b; pod p1 n1 web; count web",
                "no label": "node n1 a; node n2 -; pod p1 n1 web; pod p2 n2 web; count web",
                "others": "node n1 a; pod p1 n1 web; pod p2 n1 api; count web",
                "two Nodes": "node n1 a; node n2 a; pod p1 n1 web; pod p2 n2 web; count web",
                "nobody": "count web",
            },
            counting,
            {
                "terminating": TERMINATING,
                "missing-domain": MISSING,
                "every-app": EVERY,
                "unlabelled": ["A Node without the label is in no domain, and neither are its Pods."],
                "by-node": ["A domain is a value of the label, and several Nodes may have it."],
                "": [PLAIN_COUNT],
            },
            setting="spread",
            needs=("count_domains",),
            state=spread_state,
        ),
        Check(
            "keeps-the-skew",
            "fits: with the Pod there its zone is at most maxSkew above the emptiest",
            3,
            may_go,
            {
                "fills the emptiest": "node n1 a; node n2 b; fits n1 web 1; pod p1 n1 web; pod p2 n1 web; "
                "fits n1 web 1; delete p2; fits n1 web 1; fits n2 web 1",
                "after a scale-down": PEOPLE
                + "pod p1 n1 web; fits n1 web 1; pod p2 n1 web; fits n1 web 1; pod p3 n2 web; "
                "fits n1 web 1; fits n2 web 1; fits n3 web 1",
                "terminating": "node n1 a; node n2 b; pod p1 n1 web; terminate p1; fits n1 web 1",
                "two apart": "node n1 a; node n2 b; pod p1 n1 web; fits n1 web 2; pod p2 n1 web; fits n1 web 2",
                "even": "node n1 a; node n2 b; pod p1 n1 web; pod p2 n2 web; fits n1 web 1; fits n2 web 1",
                "no label": "node n1 a; node n2 -; fits n2 web 1",
            },
            fitting_ops,
            {
                "terminating": TERMINATING,
                "missing-domain": MISSING,
                "every-app": EVERY,
                "alone": ["The skew is that of the zone with the new Pod in it. Is it counted?"],
                "strict": ["A skew of exactly maxSkew is allowed."],
                "unlabelled": ["A Node without the label is in no domain: the constraint refuses it."],
                "mean": ["Compare with the emptiest zone, not with the average."],
                "others": ["The emptiest of all zones, its own included: it may be the emptiest itself."],
                "": [
                    "count + 1 - emptiest <= max_skew: which of the three numbers is another one in your code?",
                    "The counts are those of count_domains. Look at counts-by-domain first.",
                ],
            },
            setting="spread",
            needs=("count_domains", "fits"),
            state=spread_state,
        ),
        Check(
            "waits-for-domains",
            "fits: while there are fewer than min_domains zones, the emptiest has 0",
            2,
            may_go,
            {
                "too few": "node n1 a; node n2 b; pod p1 n1 web; pod p2 n2 web; pod p3 n1 web; fits n1 web 1 2; "
                "delete p3; fits n1 web 1 2; fits n1 web 1 3",
                "enough": PEOPLE + "pod p1 n1 web; pod p2 n2 web; pod p3 n3 web; fits n1 web 1 3; fits n1 web 2 4",
                "few and even": "node n1 a; pod p1 n1 web; fits n1 web 1 1; fits n1 web 1 2; fits n1 web 2 2",
            },
            domains_ops,
            {
                "few": [
                    "How many zones are there, and how many shall there be?",
                    "If len(counts) < min_domains, take 0 for the emptiest.",
                ],
                "terminating": TERMINATING,
                "missing-domain": MISSING,
                "": ["Exactly min_domains zones are enough. And with too few the emptiest is 0, not the answer no."],
            },
            setting="spread",
            needs=("count_domains", "fits"),
            state=spread_state,
        ),
        Check(
            "counts-itself-if-selected",
            "fits: a Pod that its own constraint does not select adds nothing",
            1,
            may_go,
            {
                "not selected": "node n1 a; node n2 b; pod p1 n1 web; fits n1 api 1 1 web; fits n1 web 1 1 web",
                "another app": "node n1 a; node n2 b; pod p1 n1 api; fits n1 web 1 1 api; fits n1 api 1 1 api",
            },
            selecting_ops,
            {
                "always": [
                    "Does the constraint select the new Pod? Then it will be counted there, otherwise not.",
                    "Add 1 only if app is the app of the constraint.",
                ],
                "every-app": EVERY,
                "": [
                    "Whose Pods are counted: those of the constraint's app, not those of the new Pod's.",
                    "count_domains(key, constraint['app'], …) and + 1 if the new Pod is of that app.",
                ],
            },
            setting="spread",
            needs=("count_domains", "fits"),
            state=spread_state,
        ),
        Check(
            "the-least-crowded-wins",
            "spread_points: the smallest crowd gets 100, what has no label gets 0",
            2,
            gives_points,
            {
                "three": "points 5 2 0",
                "shifted": "points 6 3 4",
                "alike": "points 4 4",
                "nobody anywhere": "points 0 0",
                "no label": "points 2 - 1",
                "only without": "points - -",
            },
            crowded,
            {
                "turned": ["A crowd is bad. Who should have 100, the smallest or the largest?"],
                "division": ["Multiply by 100 before you divide, or everything between 0 and 1 is gone."],
                "min-max": ["The largest crowd does not get 0: 100 * (largest + smallest - crowd) // largest."],
                "by-highest": ["The smallest crowd must get 100 also if it is not 0: add it."],
                "raw": ["Points lie between 0 and 100."],
                "unlabelled": ["None gets 0 points, and is neither the smallest nor the largest."],
                "nobody": ["If nobody is anywhere, all are equally good: 100."],
                "": [
                    "100 * (largest + smallest - crowd) // largest, over those that have a label.",
                    "Look at the ends: all crowds 0, all None.",
                ],
            },
            needs=("spread_points",),
        ),
    ),
)
