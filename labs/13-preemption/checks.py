"""Lab 13: victims on a Node and the choice between Nodes, judged over what the functions answered.

Upstream: pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (SelectVictimsOnNode,
filterPodsWithPDBViolation), pkg/scheduler/framework/preemption/preemption.go (pickOneNodeForPreemption)
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from k8slab.lab import Broken, Check, LabSpec, Op, Step

SHIFT = 2**31


class Pod(NamedTuple):
    """A Pod as the words say it."""

    name: str
    app: str
    cpu: int
    priority: int
    started: int


class World(NamedTuple):
    """CPUs by Node, Pods by Node, disruptions allowed by app."""

    cpus: dict[str, int]
    pods: dict[str, list[Pod]]
    budgets: dict[str, int]


def worlds(steps: Sequence[Step]) -> Iterable[tuple[Step, World]]:
    """Each step, with what holds before it. What was answered with False did nothing."""
    world = World({}, {}, {})
    for step in steps:
        yield step, world
        if step.result is not True:
            continue
        if step.verb == "node":
            world.cpus[step.op[1]], world.pods[step.op[1]] = int(step.op[2]), []
        elif step.verb == "pod":
            name, on, app, cpu, priority, started = step.op[1:]
            world.pods[on].append(Pod(name, app, int(cpu), int(priority), int(started)))
        elif step.verb == "budget":
            world.budgets[step.op[1]] = int(step.op[2])


def state(steps: Sequence[Step]) -> dict[str, str]:
    *_, (_, world) = worlds([*steps, Step(0, ("after",), None)])
    lines = {}
    for name, cpu in world.cpus.items():
        pods = [f"{pod.name} ({pod.app}, {pod.cpu} CPU, priority {pod.priority}, since {pod.started})"
                for pod in world.pods[name]]  # fmt: skip
        lines[f"{name}, {cpu} CPU"] = "; ".join(pods) or "empty"
    lines["budgets"] = ", ".join(f"{app} allows {allowed}" for app, allowed in world.budgets.items()) or "none"
    return lines


# -- the rules, and the mistakes that are told apart ------------------------------------------------


def by_importance(pods: Iterable[Pod], *, newest: bool = False, upside: bool = False) -> list[Pod]:
    sign = 1 if upside else -1
    return sorted(pods, key=lambda pod: (sign * pod.priority, -pod.started if newest else pod.started))


def split(pods: Iterable[Pod], budgets: Mapping[str, int]) -> tuple[list[Pod], list[Pod]]:
    """(whose loss breaks a budget, the others)."""
    left = dict(budgets)
    breaking: list[Pod] = []
    others: list[Pod] = []
    for pod in pods:
        if pod.app in left:
            left[pod.app] -= 1
        (breaking if left.get(pod.app, 0) < 0 else others).append(pod)
    return breaking, others


class Node(NamedTuple):
    """What a question about one Node is made of."""

    need: int
    mine: int
    cpu: int
    pods: tuple[Pod, ...]
    budgets: Mapping[str, int]


def reprieve(node: Node, order: Sequence[Pod], lower: Sequence[Pod]) -> list[Pod] | None:
    """Who cannot come back, if they come in this order; None: even without all of them there is no room."""
    used = sum(pod.cpu for pod in node.pods if pod not in lower)
    if used + node.need > node.cpu:
        return None
    victims = []
    for pod in order:
        if used + pod.cpu + node.need > node.cpu:
            victims.append(pod)
        else:
            used += pod.cpu
    return victims


def victims(node: Node, *, equal: bool = False, ordering: str = "") -> tuple[list[Pod], int] | None:
    """(victims, the most important first; how many break a budget), or None."""
    lower = [pod for pod in node.pods if pod.priority < node.mine + equal]
    breaking, others = split(by_importance(lower), node.budgets)
    order = [*breaking, *others]
    if ordering == "by priority alone":
        order = by_importance(lower)
    elif ordering == "the least first":
        order = by_importance(lower, upside=True)
    elif ordering == "budgets last":
        order = [*others, *breaking]
    elif ordering == "newest first":
        breaking, others = split(by_importance(lower, newest=True), node.budgets)
        order = [*breaking, *others]
    found = reprieve(node, order, lower)
    if not found:
        return None
    return by_importance(found), sum(pod in breaking for pod in found)


def from_below(node: Node, *, first: bool = False) -> tuple[list[Pod], int] | None:
    """One after the other from the least important up, until there is room."""
    lower = by_importance(pod for pod in node.pods if pod.priority < node.mine)
    used, gone = sum(pod.cpu for pod in node.pods), []
    while lower and used + node.need > node.cpu:
        gone.append(lower.pop())
        used -= gone[-1].cpu
    return (by_importance(gone), -1) if gone and used + node.need <= node.cpu else None


Judge = Callable[[Sequence[Step]], Broken | None]
Victims = tuple[list[Pod], int] | None


def names_of(found: Victims) -> str:
    return "no candidate" if found is None else " ".join(pod.name for pod in found[0])


def victim_mistakes(node: Node) -> dict[str, str]:
    """By cause the names that it would give; "no candidate" for none."""
    lower = by_importance(pod for pod in node.pods if pod.priority < node.mine)
    everybody = None if reprieve(node, (), lower) is None or not lower else (lower, 0)
    hopeless = (lower, 0) if lower else None
    return {
        "equal": names_of(victims(node, equal=True)),
        "budgets": names_of(victims(node, ordering="by priority alone")),
        "budgets-last": names_of(victims(node, ordering="budgets last")),
        "least-first": names_of(victims(node, ordering="the least first")),
        "newest-first": names_of(victims(node, ordering="newest first")),
        "too-many": names_of(everybody),
        "from-below": names_of(from_below(node)),
        "hopeless": names_of(hopeless),
    }


# -- judges ----------------------------------------------------------------------------------------


def leaves_alone(judge: Judge) -> Judge:
    """The judge, for functions that leave what they are handed as it is."""

    def judged(steps: Sequence[Step]) -> Broken | None:
        for step in steps:
            if str(step.result).startswith("wrong: "):
                return Broken(
                    step.number, f"{step.result.partition(': ')[2]}: whoever called needs it again", "changes"
                )
        return judge(steps)

    return judged


def is_ordered(steps: Sequence[Step]) -> Broken | None:
    for step, world in worlds(steps):
        if step.verb != "order" or step.result == "no such node":
            continue
        pods = world.pods[step.op[1]]
        right = " ".join(pod.name for pod in by_importance(pods))
        if step.result != right:
            mistakes = {
                "newest-first": by_importance(pods, newest=True),
                "least-first": by_importance(pods, upside=True),
                "priority-alone": sorted(pods, key=lambda pod: -pod.priority),
                "start-alone": sorted(pods, key=lambda pod: pod.started),
            }
            given = {cause: " ".join(pod.name for pod in order) for cause, order in mistakes.items()}
            cause = next((cause for cause, order in given.items() if order == step.result), "")
            return Broken(step.number, f"the order is {step.result or 'empty'}; it should be {right or 'empty'}", cause)
    return None


def _parts(found: tuple[Sequence[Pod], Sequence[Pod]]) -> str:
    return " | ".join(" ".join(pod.name for pod in part) or "none" for part in found)


def is_split(steps: Sequence[Step]) -> Broken | None:
    for step, world in worlds(steps):
        if step.verb != "split":
            continue
        pods = [Pod(f"p{number}", app, 0, 0, 0) for number, app in enumerate(step.op[1:], 1)]
        breaking, others = split(pods, world.budgets)
        if step.result != _parts((breaking, others)):
            mistakes = {
                "all-protected": [pod for pod in pods if pod.app in world.budgets],
                "never-counts": [pod for pod in pods if world.budgets.get(pod.app) == 0],
                "nobody": [],
                "one-too-few": split(pods, {app: allowed - 1 for app, allowed in world.budgets.items()})[0],
                "turned": others,
            }
            given = {
                cause: _parts((part, [pod for pod in pods if pod not in part])) for cause, part in mistakes.items()
            }
            cause = next((cause for cause, parts in given.items() if parts == step.result), "")
            told = f"it said {step.result}; it should be {_parts((breaking, others))}"
            return Broken(step.number, told, cause)
    return None


def asked(step: Step, world: World) -> Node:
    name, need, mine = step.op[1:]
    return Node(int(need), int(mine), world.cpus[name], tuple(world.pods[name]), world.budgets)


def picks_victims(steps: Sequence[Step]) -> Broken | None:
    """The cause is the mistake that explains every answer up to the wrong one."""
    explains: dict[str, bool] = {}
    for step, world in worlds(steps):
        if step.verb != "victims" or step.result == "no such node":
            continue
        node = asked(step, world)
        said = step.result.partition(",")[0]
        for cause, wrong in victim_mistakes(node).items():
            explains[cause] = explains.get(cause, True) and sorted(wrong.split()) == sorted(said.split())
        found = victims(node)
        right = names_of(found) if found is None else f"{names_of(found)}, {found[1]} against a budget"
        if step.result == right:
            continue
        told = f"for {node.need} CPU and priority {node.mine} it said {step.result}; it should be {right}"
        if sorted(said.split()) != sorted(names_of(found).split()):
            cause = next((name for name, all_of_it in explains.items() if all_of_it), "")
        else:
            cause = "victims-order" if said != names_of(found) else "violations"
        return Broken(step.number, told, cause)
    return None


class Candidate(NamedTuple):
    """A candidate as the words say it: victims as (priority, start)."""

    node: str
    violations: int
    victims: tuple[tuple[int, int], ...]


def candidates_of(op: Op) -> list[Candidate]:
    found = []
    for word in op[1:]:
        node, violations, listed = word.split(":")
        pairs = [one.partition("@") for one in listed.split(",")]
        found.append(Candidate(node, int(violations), tuple((int(p), int(s)) for p, _, s in pairs)))
    return found


def _top_start(one: Candidate) -> int:
    top = max(priority for priority, _ in one.victims)
    return min(started for priority, started in one.victims if priority == top)


Column = Callable[[Candidate], int]
COLUMNS: dict[str, Column] = {
    "budgets": lambda one: one.violations,
    "highest": lambda one: max(priority for priority, _ in one.victims),
    "sum": lambda one: sum(priority + SHIFT for priority, _ in one.victims),
    "count": lambda one: len(one.victims),
    "start": lambda one: -_top_start(one),
}


def best(candidates: Sequence[Candidate], columns: Iterable[Column]) -> str:
    """The first of those that are least in the columns, from the left."""
    listed = list(columns)
    return min(candidates, key=lambda one: [column(one) for column in listed]).node


def pick_mistakes(candidates: Sequence[Candidate]) -> dict[str, str]:
    def without(*names: str) -> list[Column]:
        return [column for name, column in COLUMNS.items() if name not in names]

    def instead(name: str, column: Column) -> list[Column]:
        return [column if known == name else old for known, old in COLUMNS.items()]

    plain = instead("sum", lambda one: sum(priority for priority, _ in one.victims))
    latest = instead("start", lambda one: -max(started for _, started in one.victims))
    any_start = instead("start", lambda one: -min(started for _, started in one.victims))
    return {
        "budgets": best(candidates, without("budgets")),
        "count-first": best(candidates, [COLUMNS["budgets"], COLUMNS["count"], *without("budgets", "count")]),
        "skips-highest": best(candidates, without("highest")),
        "plain-sum": best(candidates, plain),
        "skips-sum": best(candidates, without("sum")),
        "earliest": best(candidates, instead("start", _top_start)),
        "latest-of-all": best(candidates, latest),
        "earliest-of-all": best(candidates, any_start),
        "no-start": best(candidates, without("start")),
        "added-up": best(candidates, [lambda one: one.violations + sum(priority for priority, _ in one.victims)]),
    }


def is_picked(steps: Sequence[Step]) -> Broken | None:
    explains: dict[str, bool] = {}
    for step in steps:
        candidates = candidates_of(step.op)
        for cause, wrong in pick_mistakes(candidates).items():
            explains[cause] = explains.get(cause, True) and wrong == step.result
        right = best(candidates, COLUMNS.values())
        if step.result != right:
            cause = next((name for name, all_of_it in explains.items() if all_of_it), "")
            return Broken(step.number, f"it picked {step.result}; it should be {right}", cause)
    return None


def preempts(steps: Sequence[Step]) -> Broken | None:
    for step, world in worlds(steps):
        if step.verb != "preempt":
            continue
        need, mine, policy = int(step.op[1]), int(step.op[2]), (*step.op, "PreemptLowerPriority")[3]
        found = {
            name: victims(Node(need, mine, cpu, tuple(world.pods[name]), world.budgets))
            for name, cpu in world.cpus.items()
        }
        there = {name: one for name, one in found.items() if one is not None}
        would = "nobody"
        if there:
            listed = [
                Candidate(name, broken, tuple((pod.priority, pod.started) for pod in gone))
                for name, (gone, broken) in there.items()
            ]
            chosen = best(listed, COLUMNS.values())
            would = f"{chosen}: {' '.join(pod.name for pod in there[chosen][0])}"
        right = "nobody" if policy == "Never" else would
        if step.result == right:
            continue
        told = f"it said {step.result}; it should be {right}"
        if policy == "Never":
            return Broken(step.number, told, "never")
        if step.result == "nobody":
            return Broken(step.number, told, "gives-up")
        if right == "nobody":
            return Broken(step.number, told, "nobody-to-evict")
        same = step.result.partition(":")[0] == right.partition(":")[0]
        return Broken(step.number, told, "victims" if same else "node")
    return None


# -- scripts ---------------------------------------------------------------------------------------

APPS = ("web", "db", "log")


def people(rng: random.Random, nodes: int, *, priorities: int = 5, budgets: bool = True) -> list[Op]:
    """Nodes that are about full, and budgets for some."""
    ops: list[Op] = []
    if budgets:
        ops += [("budget", app, str(rng.randint(0, 2))) for app in APPS if rng.random() < 0.6]
    starts = rng.sample(range(10, 99), 8 * nodes)
    for number in range(1, nodes + 1):
        cpu = rng.randint(3, 8)
        ops.append(("node", f"n{number}", str(cpu)))
        left, index = cpu, 0
        while left > 0 and index < 8:
            size = min(left, rng.choice((1, 1, 1, 2, 2, 3)))
            name, left, index = f"p{number}{index}", left - size, index + 1
            priority = rng.randint(0, priorities)
            ops.append(("pod", name, f"n{number}", rng.choice(APPS), str(size), str(priority), str(starts.pop())))
    return ops


def ordering(rng: random.Random) -> list[Op]:
    return [*people(rng, 1, priorities=2, budgets=False), ("order", "n1")]


def splitting(rng: random.Random) -> list[Op]:
    ops: list[Op] = [("budget", app, str(rng.randint(0, 3))) for app in APPS if rng.random() < 0.7]
    for _ in range(rng.randint(1, 3)):
        ops.append(("split", *(rng.choice(APPS) for _ in range(rng.randint(1, 7)))))
    return ops


def _ask(rng: random.Random) -> Op:
    return ("victims", "n1", str(rng.randint(1, 4)), str(rng.randint(1, 6)))


def alone(rng: random.Random) -> list[Op]:
    return [*people(rng, 1, budgets=False), *(_ask(rng) for _ in range(3))]


def protected(rng: random.Random) -> list[Op]:
    return [*people(rng, 1, priorities=3), *(_ask(rng) for _ in range(3))]


def picking(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(2, 5)):
        words, least = [], rng.choice((0, 0, -10))
        starts = rng.sample(range(10, 99), 16)
        for number in range(1, rng.randint(3, 5)):
            listed = [f"{rng.randint(least, least + 2)}@{starts.pop()}" for _ in range(rng.randint(1, 3))]
            words.append(f"n{number}:{rng.choice((0, 0, 0, 1))}:{','.join(listed)}")
        ops.append(("pick", *words))
    return ops


def whole(rng: random.Random) -> list[Op]:
    ops = people(rng, rng.randint(1, 3), priorities=4)
    for _ in range(2):
        policy = ("Never",) if rng.random() < 0.2 else ()
        ops.append(("preempt", str(rng.randint(1, 4)), str(rng.randint(1, 6)), *policy))
    return ops


# -- the lab ---------------------------------------------------------------------------------------

BUDGETS = [
    "Two groups come back, one after the other: whose loss would break a budget, and all others. Which first?",
    "Split the Pods in order of importance by their budgets, then let them come back: (*breaking, *others).",
]
MANY = [
    "Somebody could have stayed. Who?",
    "All lower Pods leave in thought; then each comes back if the new Pod still fits beside it. Only who does not is a "
    "victim.",
]
CHANGES = {
    "changes": [
        "What you are handed is the caller's: the next Node is asked about with the same Pods and budgets.",
        "sorted(pods) makes a new list, pods.sort() orders the caller's; count down in dict(budgets), not in budgets.",
    ]
}
ORDER = ["Who comes back first has the best chance to stay: the most important."]
NEEDS = ("by_importance", "split_by_budget", "victims_on")

LAB = LabSpec(
    title="Preemption",
    question="One Pod has to go, and three were killed. Then a fourth, which had a budget. Which line did that?",
    names=dict.fromkeys((*NEEDS, "pick", "preempt"), "function"),
    forbidden=("k8slab.scheduler",),
    minutes=75,
    checks=(
        Check(
            "knows-who-matters",
            "by_importance: higher priority first, among equals who runs longest",
            1,
            leaves_alone(is_ordered),
            {
                "priorities": "node n1 9; pod a n1 web 1 2 30; pod b n1 web 1 5 40; order n1",
                "equals": "node n1 9; pod a n1 web 1 2 40; pod b n1 web 1 2 30; pod c n1 web 1 3 50; "
                "pod d n1 web 1 2 60; order n1",
            },
            ordering,
            {
                **CHANGES,
                "newest-first": ["Who has run longest has the smallest start."],
                "least-first": ["The most important comes first: the largest number."],
                "priority-alone": ["Between equal priorities the start decides. A sort key may be a tuple."],
                "start-alone": ["The start is asked only between Pods of equal priority."],
                "": ["sorted(pods, key=...): minus the priority first, the start second."],
            },
            needs=("by_importance",),
            state=state,
        ),
        Check(
            "counts-budgets-down",
            "split_by_budget: a budget of 2 covers the first two Pods it selects, the third breaks it",
            2,
            leaves_alone(is_split),
            {
                "two of three": "budget web 2; split web web web",
                "none left": "budget web 0; split web",
                "two apps": "budget web 1; budget db 0; split web db log web",
                "no budget": "split web db",
            },
            splitting,
            {
                **CHANGES,
                "all-protected": ["A budget that allows one disruption is not broken by one."],
                "never-counts": ["The second Pod of the app meets a budget that the first has used already."],
                "nobody": ["A budget that allows 0 is broken by the first Pod."],
                "one-too-few": ["With 1 allowed the first Pod breaks nothing: broken is what falls below 0."],
                "turned": ["The first list holds those whose loss breaks a budget."],
                "": [
                    "Walk through the Pods and count each down in a copy of the budgets; below 0 it breaks.",
                    "Both lists keep the order. Apps without a budget break nothing.",
                ],
            },
            needs=("split_by_budget",),
            state=state,
        ),
        Check(
            "evicts-no-more-than-needed",
            "victims_on: all less important Pods leave in thought, and who can comes back",
            3,
            leaves_alone(picks_victims),
            {
                "one is enough": "node n1 3; pod a n1 web 1 1 10; pod b n1 web 1 2 20; pod c n1 web 1 3 30; "
                "victims n1 1 9",
                "the large one": "node n1 7; pod a n1 web 4 5 10; pod b n1 web 1 1 20; pod c n1 web 1 2 30; "
                "pod d n1 web 1 6 40; victims n1 4 9",
                "equal": "node n1 2; pod a n1 web 1 5 10; pod b n1 web 1 1 20; victims n1 1 5; victims n1 2 5",
                "hopeless": "node n1 2; pod a n1 web 1 9 10; pod b n1 web 1 1 20; victims n1 2 5",
                "nobody": "node n1 2; pod a n1 web 2 9 10; victims n1 1 5",
                "equals": "node n1 2; pod a n1 web 1 1 40; pod b n1 web 1 1 30; victims n1 1 5",
                "room enough": "node n1 4; pod a n1 web 1 1 40; victims n1 2 5",
            },
            alone,
            {
                **CHANGES,
                "too-many": MANY,
                "from-below": MANY,
                "equal": ["Who may be a victim? A Pod of equal priority never is."],
                "least-first": ORDER,
                "newest-first": ["Among equal priorities the longest running comes back first."],
                "hopeless": ["Does the new Pod fit when all lower ones are gone? If not, the Node is no candidate."],
                "victims-order": ["The victims are wanted in order of importance, the most important first."],
                "violations": ["Without budgets nothing is broken: 0."],
                "": [
                    "Three sets: who is not lower and stays anyway, who has come back, who has not.",
                    "room = cpu - those who stay - the new Pod; who fits into it comes back and takes a share of it.",
                ],
            },
            needs=NEEDS,
            state=state,
        ),
        Check(
            "spares-the-protected",
            "victims_on: whose loss would break a budget comes back before all others",
            3,
            leaves_alone(picks_victims),
            {
                "important and protected": "budget db 0; node n1 2; pod a n1 web 1 1 10; pod b n1 db 1 5 20; "
                "victims n1 1 9",
                "a budget saves": "budget db 0; node n1 2; pod a n1 web 1 5 10; pod b n1 db 1 1 20; victims n1 1 9",
                "allowed": "budget db 1; node n1 2; pod a n1 web 1 5 10; pod b n1 db 1 1 20; victims n1 1 9",
                "both": "budget db 0; budget web 0; node n1 2; pod a n1 web 1 5 10; pod b n1 db 1 1 20; victims n1 1 9",
                "two of three": "budget db 1; node n1 4; pod a n1 db 1 1 10; pod b n1 db 1 2 20; pod c n1 db 1 3 30; "
                "pod d n1 web 1 4 40; victims n1 2 9",
                "all must go": "budget db 0; node n1 2; pod a n1 db 1 1 10; pod b n1 web 1 2 20; victims n1 2 9",
            },
            protected,
            {
                **CHANGES,
                "budgets": BUDGETS,
                "budgets-last": BUDGETS,
                "violations": [
                    "How many of the victims are among those whose loss breaks a budget?",
                    "Not the budgets, and not all protected Pods: the victims from the first group.",
                ],
                "victims-order": ["Two groups came back; the victims of both are wanted in one order of importance."],
                "too-many": MANY,
                "from-below": MANY,
                "least-first": ORDER,
                "equal": ["Who may be a victim? A Pod of equal priority never is."],
                "": [
                    "Split the less important Pods in order of importance: the order decides whom a budget covers.",
                    "Look at counts-budgets-down and evicts-no-more-than-needed first.",
                ],
            },
            needs=NEEDS,
            state=state,
        ),
        Check(
            "compares-column-by-column",
            "pick: broken budgets, then the highest victim, the sum, the number, the latest start",
            3,
            leaves_alone(is_picked),
            {
                "budgets first": "pick n1:1:0@10 n2:0:9@20,9@30",
                "then the highest": "pick n1:0:9@10,0@20 n2:0:8@30,7@40; pick n1:0:7@10 n2:0:5@20,5@30",
                "then the sum": "pick n1:0:5@10,4@20 n2:0:5@30,2@40",
                "negative": "pick n1:0:-10@10,-10@20 n2:0:-10@30",
                "far below zero": "pick n1:0:-2147483648@10,-2147483648@20 n2:0:-2147483648@30; "
                "pick n1:0:5@10,-2147483548@20,-2147483548@30 n2:0:5@40,5@50",
                "then the start": "pick n1:0:5@20 n2:0:5@10; pick n1:0:5@10 n2:0:5@20; "
                "pick n1:0:5@10,2@15 n2:0:5@20,2@5",
                "the first of equals": "pick n1:0:5@10 n2:0:5@10",
            },
            picking,
            {
                **CHANGES,
                "budgets": ["The first column outweighs all others, whatever they say."],
                "count-first": ["The number of victims is the fourth column, not the second."],
                "skips-highest": ["Before the sum comes the most important victim alone."],
                "plain-sum": [
                    "Two victims at -10 must cost more than one. What does -10 + -10 cost?",
                    "Add 2**31 to each priority before you sum.",
                ],
                "skips-sum": ["Between equal highest victims the sum decides, with 2**31 added to each priority."],
                "earliest": ["The last column: whose most important victims started latest. Late is good."],
                "latest-of-all": ["Only the most important victims are asked when they started."],
                "earliest-of-all": ["Only the most important victims are asked when they started."],
                "no-start": ["Where four columns are equal there is a fifth: the start."],
                "added-up": ["Nothing is added up across columns. Compare tuples, or filter column by column."],
                "": [
                    "min(candidates, key=...) with a tuple of five numbers, each of which shall be small.",
                    "Of several victims with the highest priority the earliest start counts, and of the candidates the "
                    "latest of these wins.",
                ],
            },
            needs=("pick",),
        ),
        Check(
            "makes-room",
            "preempt: the Node that does least harm, and its victims; nobody for preemptionPolicy Never",
            2,
            leaves_alone(preempts),
            {
                "two Nodes": "node n1 1; pod a n1 web 1 3 10; node n2 1; pod b n2 web 1 2 20; preempt 1 9",
                "a budget on one": "budget db 0; node n1 1; pod a n1 db 1 1 10; node n2 1; pod b n2 web 1 2 20; "
                "preempt 1 9",
                "Never": "node n1 1; pod a n1 web 1 1 10; preempt 1 9 Never",
                "equal": "node n1 1; pod a n1 web 1 5 10; preempt 1 5",
                "one cannot": "node n1 1; pod a n1 web 1 1 10; node n2 2; pod b n2 web 2 2 20; preempt 2 9",
                "no Node": "preempt 1 9",
                "one budget, two Nodes": "budget web 1; node n1 1; pod a n1 web 1 1 10; node n2 1; "
                "pod b n2 web 1 0 20; preempt 1 9",
            },
            whole,
            {
                **CHANGES,
                "never": ["Look at the Pod before you look at the Nodes: policy is Never or PreemptLowerPriority."],
                "gives-up": ["Each Node is asked by itself. One that cannot help must not end the search."],
                "nobody-to-evict": ["If no Node is a candidate the answer is None."],
                "victims": ["The Node is right, the victims are not: hand on what victims_on says of it."],
                "node": ["Make a candidate of each Node that victims_on has an answer for, and let pick choose."],
                "": ["victims_on for every Node, pick among those that are not None."],
            },
            state=state,
        ),
    ),
)
