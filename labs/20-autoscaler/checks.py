"""Lab 20: what a backlog needs and which nodes may go, judged over what the functions answered.

Upstream: cluster-autoscaler/estimator/binpacking_estimator.go, expander/waste/waste.go,
core/scaledown/planner/planner.go, core/scaledown/unneeded/nodes.go, simulator/drainability/rules
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from k8slab.lab import Broken, Check, LabSpec, Op, Step

UNNEEDED_S = 600


class Pod(NamedTuple):
    """A Pod as the words say it."""

    name: str
    owner: str
    cpu: int
    uses: int
    needs: str
    mark: str
    daemon: bool = False


class Group(NamedTuple):
    """A node group as the words say it."""

    name: str
    cpu: int
    least: int
    most: int
    daemons: int
    has: str


@dataclass
class Node:
    """A Node, and the Pods that are there."""

    name: str
    group: Group
    coming: bool
    pods: list[Pod] = field(default_factory=list)

    @property
    def requested(self) -> int:
        return sum(pod.cpu for pod in self.pods)

    @property
    def free(self) -> int:
        return self.group.cpu - self.requested

    def takes(self, pod: Pod) -> bool:
        return pod.needs in ("", self.group.has)


@dataclass
class World:
    """What the words have made so far."""

    groups: dict[str, Group] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    waiting: list[Pod] = field(default_factory=list)

    def size(self, group: str) -> int:
        return sum(node.group.name == group for node in self.nodes.values())

    def ready(self) -> list[Node]:
        return [node for node in self.nodes.values() if not node.coming]

    def take(self, op: Op) -> None:
        if op[0] == "group":
            name, cpu, least, most, daemons, has = op[1:]
            self.groups[name] = Group(name, int(cpu), int(least), int(most), int(daemons), has.strip("-"))
        elif op[0] == "node":
            name, own, state = op[1:]
            node = self.nodes[name] = Node(name, self.groups[own], state == "coming")
            if share := node.group.daemons:
                node.pods.append(Pod(f"ds-{name}", "ds", share, share, "", "", daemon=True))
        elif op[0] == "pod":
            name, on, owner, cpu, uses, needs, mark = op[1:]
            pod = Pod(name, owner.strip("-"), int(cpu), int(uses), needs.strip("-"), mark.strip("-"))
            (self.waiting if on == "-" else self.nodes[on].pods).append(pod)


def worlds(steps: Sequence[Step]) -> Iterable[tuple[Step, World]]:
    """Each step, with what holds before it. What was answered with False did nothing."""
    world = World()
    for step in steps:
        yield step, world
        if step.result is True:
            world.take(step.op)


def _told(pod: Pod) -> str:
    words = [pod.owner or "nobody's", f"asks for {pod.cpu} CPU, uses {pod.uses}"]
    return f"{pod.name} ({', '.join([*words, *filter(None, (pod.needs and f'needs {pod.needs}', pod.mark))])})"


def state(steps: Sequence[Step]) -> dict[str, str]:
    *_, (_, world) = worlds([*steps, Step(0, ("after",), None)])
    lines = {}
    for group in world.groups.values():
        lines[f"group {group.name}"] = (
            f"{world.size(group.name)} nodes of {group.cpu} CPU, {group.least} to {group.most}, daemons take "
            f"{group.daemons}" + (f", has {group.has}" if group.has else "")
        )
    for node in world.nodes.values():
        what = "; ".join(map(_told, node.pods)) or "empty"
        lines[f"{node.name} of {node.group.name}"] = "coming" if node.coming else what
    if world.waiting:
        lines["waiting"] = "; ".join(map(_told, world.waiting))
    return lines


# -- up: the rules, and the mistakes that are told apart --------------------------------------------


def largest_first(pods: Iterable[Pod]) -> list[Pod]:
    return sorted(pods, key=lambda pod: -pod.cpu)


ESTIMATE_MISTAKES = (
    "next-fit", "emptiest", "one", "order", "smallest", "daemons", "size", "max", "needs", "one-each", "stops",
)  # fmt: skip


def estimate(pods: Sequence[Pod], group: Group, size: int, wrong: str = "") -> tuple[int, list[Pod]]:
    """(new Nodes, who goes on them)."""
    order = {"order": list(pods), "smallest": largest_first(pods)[::-1]}.get(wrong, largest_first(pods))
    room = group.cpu - (0 if wrong == "daemons" else group.daemons)
    most = {"max": len(pods), "one": min(1, group.most - size), "size": group.most}.get(wrong, group.most - size)
    free: list[int] = []
    placed = []
    for pod in order:
        if wrong != "needs" and pod.needs not in ("", group.has):
            continue
        fitting = [index for index, left in enumerate(free) if pod.cpu <= left]
        if wrong == "next-fit":
            fitting = [index for index in fitting if index == len(free) - 1]
        if wrong == "emptiest":
            fitting.sort(key=lambda index: -free[index])
        if wrong == "one-each":
            fitting = []
        if not fitting:
            if pod.cpu > room or len(free) >= most:
                if wrong == "stops":
                    break
                continue
            fitting = [len(free)]
            free.append(room)
        free[fitting[0]] -= pod.cpu
        placed.append(pod)
    return len(free), placed


class Option(NamedTuple):
    """What a group would buy."""

    group: str
    cpu: int
    nodes: int
    used: int


def waste(one: Option) -> Fraction:
    return 1 - Fraction(one.used, one.nodes * one.cpu)


CHOICES: dict[str, Callable[[Option], Fraction | int]] = {
    "absolute": lambda one: one.nodes * one.cpu - one.used,
    "per-node": lambda one: one.cpu - one.used,
    "most-used": lambda one: -one.used,
    "fewest": lambda one: one.nodes,
    "smallest": lambda one: one.cpu,
    "most": lambda one: -waste(one),
}


def choose(options: Sequence[Option], wrong: str = "") -> str:
    if wrong == "first":
        return options[0].group
    if wrong == "last-of-equals":
        return min(reversed(options), key=waste).group
    return min(options, key=CHOICES.get(wrong, waste)).group


GROW_MISTAKES = ("coming", "nodes", "alone", "labels", "first", "all", "one", "empty")


def grow(world: World, wrong: str = "") -> str:
    nodes = [] if wrong == "nodes" else world.ready() if wrong == "coming" else list(world.nodes.values())
    free = {node.name: node.group.cpu if wrong == "empty" and node.coming else node.free for node in nodes}
    left = []
    for pod in world.waiting:
        for node in nodes:
            if (node.takes(pod) or wrong == "labels") and pod.cpu <= free[node.name]:
                free[node.name] -= 0 if wrong == "alone" else pod.cpu
                break
        else:
            left.append(pod)
    if wrong == "all" and left:
        left = world.waiting
    options = []
    for group in world.groups.values():
        number, placed = estimate(left, group, world.size(group.name))
        if number > 0:
            options.append(Option(group.name, group.cpu, number, sum(pod.cpu for pod in placed)))
    if not options:
        return "nothing"
    chosen = choose(options, "first" if wrong == "first" else "")
    number = next(one.nodes for one in options if one.group == chosen)
    return f"{chosen} +{1 if wrong == 'one' else number}"


# -- down ------------------------------------------------------------------------------------------


BLOCK_MISTAKES = ("daemon", "unsafe", "safe", "bare", "disk", "turned")


def blocks(pod: Pod, wrong: str = "") -> bool:
    if pod.daemon:
        return wrong in ("daemon", "turned")
    safe = "" if wrong in ("safe", "turned") else pod.mark.replace("disk", "").strip("+")
    answer = (wrong != "bare" and not pod.owner) or (wrong != "disk" and "disk" in pod.mark)
    if pod.mark == "unsafe":
        answer = wrong != "unsafe" or not pod.owner
    elif safe == "safe":
        answer = False
    return not answer if wrong == "turned" else answer


PLACE_MISTAKES = ("needs", "use", "alone", "daemons", "order", "smallest", "full")


def place(pods: Sequence[Pod], others: Sequence[Node], wrong: str = "") -> dict[str, Node] | None:
    moving = [pod for pod in pods if wrong == "daemons" or not pod.daemon]
    free = {node.name: node.free for node in others}
    if wrong == "use":
        free = {node.name: node.group.cpu - sum(pod.uses for pod in node.pods) for node in others}
    elif wrong == "full":
        free = {node.name: node.group.cpu for node in others}
    order = {"order": moving, "smallest": largest_first(moving)[::-1]}.get(wrong, largest_first(moving))
    found = {}
    for pod in order:
        asks = pod.uses if wrong == "use" else pod.cpu
        for node in others:
            if (wrong == "needs" or node.takes(pod)) and asks <= free[node.name]:
                free[node.name] -= 0 if wrong == "alone" else asks
                found[pod.name] = node
                break
        else:
            return None
    return found


def placing(found: Mapping[str, Node] | None) -> str:
    if found is None:
        return "no place"
    return " ".join(f"{pod}>{found[pod].name}" for pod in sorted(found)) or "nothing to move"


UNNEEDED_MISTAKES = (
    "use", "blockers", "half", "share-ignored", "in-front", "stay", "no-room", "onto-gone", "each-alone", "places",
    "after", "own", "daemons", "stops",
)  # fmt: skip


def unneeded(nodes: Sequence[Node], wrong: str = "") -> str:
    pods = {node.name: list(node.pods) for node in nodes}
    gone: list[str] = []
    for node in nodes:
        mine = node.pods if wrong == "stay" else pods[node.name]
        counted = pods[node.name] if wrong == "after" else node.pods
        if wrong == "daemons":
            counted = [pod for pod in counted if not pod.daemon]
        asked = 2 * sum(pod.uses if wrong == "use" else pod.cpu for pod in counted)
        if asked > node.group.cpu - (wrong == "half") and wrong != "share-ignored":
            continue
        if wrong != "blockers" and any(map(blocks, mine)):
            continue
        out = () if wrong == "onto-gone" else tuple(gone)
        others = [
            Node(other.name, other.group, coming=False, pods=pods[other.name])
            for other in nodes
            if other.name not in out and (other is not node or wrong == "own")
        ]
        found = place(mine, others)
        if found is None and wrong == "stops":
            break
        if found is None and wrong != "places":
            continue
        gone.append(node.name)
        if wrong == "no-room":
            continue
        for pod in list(mine):
            if found and pod.name in found:
                there = pods[found[pod.name].name]
                there.insert(0 if wrong == "in-front" else len(there), pod)
    return " ".join(sorted(gone)) or "none"


def each_alone(nodes: Sequence[Node]) -> str:
    """Every Node asked by itself, as if no other went."""
    found = []
    for node in nodes:
        others = [other for other in nodes if other is not node]
        may_go = 2 * node.requested <= node.group.cpu and not any(map(blocks, node.pods))
        if may_go and place(node.pods, others) is not None:
            found.append(node.name)
    return " ".join(sorted(found)) or "none"


class Timer:
    """Rounds of `due`, right or with one mistake."""

    def __init__(self, wrong: str = "") -> None:
        self.wrong, self.since = wrong, dict[str, int]()

    def round(self, now: int, names: Sequence[str], world: World) -> str:
        kept = {name: self.since.get(name, now) for name in names}
        self.since = {**self.since, **kept} if self.wrong == "break" else kept
        left = {group.name: world.size(group.name) - group.least for group in world.groups.values()}
        found = []
        for name in sorted(names, key=lambda one: self.since[one]) if self.wrong == "oldest" else names:
            group, waited = world.nodes[name].group.name, now - self.since[name]
            late = waited > UNNEEDED_S or self.wrong == "at-once" or (self.wrong == "exactly" and waited >= UNNEEDED_S)
            if self.wrong == "young-count" and not late:
                left[group] -= 1
            if late and (left[group] > 0 or self.wrong == "min"):
                left[group] -= self.wrong != "min-each"
                found.append(name)
        return " ".join(sorted(found)) or "none"


TIMER_MISTAKES = ("exactly", "at-once", "break", "min-each", "min", "young-count", "never", "oldest")


# -- judges ----------------------------------------------------------------------------------------

Judge = Callable[[Sequence[Step]], Broken | None]
Rule = Callable[[Step, World, str], str | None]
"""What one step should have been answered, with a mistake or without (""); None: it is no question."""


def judge(rule: Callable[[], Rule], mistakes: Sequence[str]) -> Judge:
    """The cause is the mistake that explains every answer up to the wrong one."""

    def judged(steps: Sequence[Step]) -> Broken | None:
        for step in steps:
            if str(step.result).startswith("wrong: "):
                told = f"{step.result.partition(': ')[2]}: whoever called needs it again"
                return Broken(step.number, told, "changes")
        of, explains = rule(), dict.fromkeys(mistakes, True)
        for step, world in worlds(steps):
            right = of(step, world, "")
            if right is None:
                continue
            for cause in mistakes:
                explains[cause] = of(step, world, cause) == step.result and explains[cause]
            if step.result != right:
                cause = next((name for name, all_of_it in explains.items() if all_of_it), "")
                return Broken(step.number, f"it said {step.result}; it should be {right}", cause)
        return None

    return judged


def plain(verb: str, answer: Callable[[Step, World, str], str]) -> Callable[[], Rule]:
    """A rule that keeps nothing. What was not found is no question."""

    def of(step: Step, world: World, wrong: str) -> str | None:
        known = step.verb == verb and not str(step.result).startswith("no such")
        return answer(step, world, wrong) if known else None

    return lambda: of


def _estimated(step: Step, world: World, wrong: str) -> str:
    group = world.groups[step.op[1]]
    number, placed = estimate(world.waiting, group, world.size(group.name), wrong)
    return f"{number} for {' '.join(sorted(pod.name for pod in placed)) or 'nobody'}"


def _chosen(step: Step, world: World, wrong: str) -> str:
    options = [word.split(":") for word in step.op[1:]]
    return choose([Option(group, *map(int, numbers)) for group, *numbers in options], wrong)


def _blocking(step: Step, world: World, wrong: str) -> str:
    every = [*world.waiting, *(pod for node in world.nodes.values() for pod in node.pods)]
    name = step.op[1]
    pod = next((pod for pod in every if pod.name == f"ds-{name}"), None) or next(p for p in every if p.name == name)
    return "stays" if blocks(pod, wrong) else "may go"


def _placing(step: Step, world: World, wrong: str) -> str:
    node = world.nodes[step.op[1]]
    return placing(place(node.pods, [other for other in world.ready() if other is not node], wrong))


def _unneeded(step: Step, world: World, wrong: str) -> str:
    return each_alone(world.ready()) if wrong == "each-alone" else unneeded(world.ready(), wrong)


def timers() -> Rule:
    known = {wrong: Timer(wrong) for wrong in ("", *TIMER_MISTAKES)}

    def of(step: Step, world: World, wrong: str) -> str | None:
        if step.verb != "due" or step.result == "time does not go back":
            return None
        names = [name for name in dict.fromkeys(step.op[2:]) if name in world.nodes]
        return "none" if wrong == "never" else known[wrong].round(int(step.op[1]), names, world)

    return of


# -- scripts ---------------------------------------------------------------------------------------


def some_groups(rng: random.Random, number: int, *, daemons: float = 0.4) -> list[Op]:
    ops: list[Op] = []
    for index in range(1, number + 1):
        share = 1 if rng.random() < daemons else 0
        has = rng.choice(("-", "-", "ssd"))
        cpu, least, most = rng.randint(4, 9), rng.randint(0, 2), rng.randint(2, 7)
        ops.append(("group", f"g{index}", str(cpu), str(least), str(most), str(share), has))
    rng.shuffle(ops)
    return ops


def backlog(rng: random.Random, number: int) -> list[Op]:
    return [
        ("pod", f"p{index}", "-", "web", str(rng.choice((1, 2, 2, 3, 3, 4, 5))), "1",
         rng.choice(("-", "-", "-", "ssd")), "-")
        for index in rng.sample(range(1, number + 1), number)
    ]  # fmt: skip


def crowd(rng: random.Random, nodes: int, groups: int, *, most: int = 3, marks: float = 0.1) -> list[Op]:
    ops: list[Op] = []
    for index in rng.sample(range(1, nodes + 1), nodes):
        ops.append(("node", f"n{index}", f"g{rng.randint(1, groups)}", "ready"))
        count = rng.randint(0, most)
        for number in rng.sample(range(1, count + 1), count):
            cpu = rng.choice((1, 1, 1, 2, 2, 3))
            owner = "-" if rng.random() < marks / 2 else rng.choice(("web", "db"))
            mark = rng.choice(("disk", "safe", "unsafe", "disk+safe")) if rng.random() < marks else "-"
            needs = "ssd" if rng.random() < 0.15 else "-"
            ops.append(("pod", f"p{index}{number}", f"n{index}", owner, str(cpu), str(rng.randint(0, 3)), needs, mark))
    return ops


def packing(rng: random.Random) -> list[Op]:
    ops = some_groups(rng, 2)
    if rng.random() < 0.5:
        ops += [("node", "n1", "g1", "ready"), ("node", "n2", "g2", "coming")]
    return [*ops, *backlog(rng, rng.randint(3, 8)), ("estimate", "g1"), ("estimate", "g2")]


def choosing(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(3):
        words = []
        for index in range(1, rng.randint(3, 5)):
            cpu, nodes = rng.choice((2, 4, 8, 16)), rng.randint(1, 4)
            words.append(f"g{index}:{cpu}:{nodes}:{rng.randint(cpu * nodes // 2, cpu * nodes)}")
        ops.append(("choose", *words))
    return ops


def growing(rng: random.Random) -> list[Op]:
    groups = rng.randint(2, 3)
    ops = [*some_groups(rng, groups), *crowd(rng, rng.randint(0, 2), groups)]
    if rng.random() < 0.5:
        ops.append(("node", "n9", f"g{rng.randint(1, groups)}", "coming"))
    return [*ops, *backlog(rng, rng.randint(1, 7)), ("grow",)]


def blocking(rng: random.Random) -> list[Op]:
    ops: list[Op] = [("group", "g1", "20", "0", "9", "1", "-"), ("node", "n1", "g1", "ready")]
    for index in range(1, 5):
        owner, mark = rng.choice(("-", "web")), rng.choice(("-", "disk", "safe", "unsafe", "disk+safe"))
        ops += [("pod", f"p{index}", "n1", owner, "1", "1", "-", mark), ("blocks", f"p{index}")]
    return [*ops, ("blocks", "n1")]


def moving(rng: random.Random) -> list[Op]:
    ops = [*some_groups(rng, 2), *crowd(rng, rng.randint(2, 4), 2, most=4)]
    return [*ops, ("place", "n1"), ("place", "n2")]


def emptying(rng: random.Random) -> list[Op]:
    return [*some_groups(rng, 2, daemons=0.3), *crowd(rng, rng.randint(2, 6), 2, most=2), ("unneeded",)]


def waiting(rng: random.Random) -> list[Op]:
    ops = some_groups(rng, 2)
    names = [f"n{index}" for index in range(1, rng.randint(3, 6))]
    rng.shuffle(names)
    ops += [("node", name, f"g{rng.randint(1, 2)}", "ready") for name in names]
    now, out = rng.randint(0, 50), ""
    for _ in range(rng.randint(3, 6)):
        listed = [name for name in names if name != out]
        ops.append(("due", str(now), *listed))
        out = rng.choice(names) if rng.random() < 0.3 else ""
        now += rng.choice((100, 200, 300, 300, 301, 600, 601))
    return ops


# -- the lab ---------------------------------------------------------------------------------------

CHANGES = {
    "changes": [
        "What you are handed is the caller's: the next group, and the next node, is asked about with the same.",
        "sorted(pods) makes a new list; keep what is free in numbers of your own, not in the dicts.",
    ]
}

LAB = LabSpec(
    title="An autoscaler",
    question="Two nodes, each half empty. Both are removed, each for the sake of the other. Which line did that?",
    names=dict.fromkeys(("estimate", "choose", "scale_up", "blocks", "place", "unneeded", "due"), "function"),
    forbidden=("k8slab.autoscaling",),
    minutes=90,
    checks=(
        Check(
            "packs-the-largest-first",
            "estimate: the largest Pods first, each on the first new node with room, else on one more",
            3,
            judge(plain("estimate", _estimated), ESTIMATE_MISTAKES),
            {
                "one node": "group g 4 0 1 0 -; pod a - web 3 1 - -; pod b - web 2 1 - -; estimate g",
                "in another order": "group g 4 0 1 0 -; pod a - web 2 1 - -; pod b - web 3 1 - -; estimate g",
                "a gap in the first": "group g 6 0 9 0 -; pod a - web 5 1 - -; pod b - web 4 1 - -; "
                "pod c - web 2 1 - -; pod d - web 1 1 - -; estimate g",
                "daemons": "group g 4 0 9 1 -; pod a - web 2 1 - -; pod b - web 2 1 - -; estimate g",
                "too large": "group g 4 0 9 0 -; pod a - web 5 1 - -; pod b - web 2 1 - -; estimate g",
                "small before large": "group g 4 0 9 0 -; pod a - web 1 1 - -; pod b - web 1 1 - -; "
                "pod c - web 3 1 - -; pod d - web 3 1 - -; estimate g",
                "no more than max": "group g 4 0 1 0 -; pod a - web 3 1 - -; pod b - web 3 1 - -; estimate g",
                "one is there": "group g 4 0 2 0 -; node n1 g ready; pod a - web 3 1 - -; pod b - web 3 1 - -; "
                "pod c - web 1 1 - -; estimate g",
                "a label": "group g 4 0 9 0 -; group s 4 0 9 0 ssd; pod a - web 1 1 ssd -; pod b - web 1 1 - -; "
                "estimate g; estimate s",
                "two with room": "group g 8 0 2 0 -; pod a - web 5 1 - -; pod b - web 4 1 - -; pod c - web 3 1 - -; "
                "pod d - web 2 1 - -; pod e - web 2 1 - -; estimate g",
                "equals in their order": "group g 4 0 1 0 -; pod b - web 3 1 - -; pod a - web 3 1 - -; estimate g",
            },
            packing,
            {
                **CHANGES,
                "one": ["How many nodes would be enough for all of them? Not: what helps the next one."],
                "order": ["In which order are the Pods packed? Small ones first leave gaps that no large one fits."],
                "smallest": ["The largest first. A sort is ascending unless told otherwise."],
                "daemons": ["A new node does not come empty: its daemons are there before your Pods."],
                "max": ["The group has a maximum."],
                "size": ["The nodes that the group has already count towards its maximum."],
                "needs": ["A Pod that needs a label fits on no node of a group without it."],
                "emptiest": ["The first of the new nodes with room, not the emptiest: that one is for a larger Pod."],
                "next-fit": ["Look at all the new nodes, not only at the last one."],
                "one-each": ["A new node has room for more than one Pod."],
                "stops": ["A Pod that finds no place does not end it: a smaller one may still find one."],
                "": [
                    "A list with what is free on each new node; it starts empty.",
                    "For each Pod: the first index with room, or a new one if the group may grow, or skip it.",
                ],
            },
            needs=("estimate",),
            state=state,
        ),
        Check(
            "wastes-least",
            "choose: the smallest share of the new CPUs unused; of equals the first",
            2,
            judge(plain("choose", _chosen), ("last-of-equals", "first", *CHOICES)),
            {
                "all or little": "choose a:4:1:4 b:8:2:3",
                "large machines": "choose a:8:1:8 b:4:1:3",
                "many machines": "choose a:4:2:8 b:4:1:3",
                "the most Pods": "choose a:4:1:4 b:8:1:7",
                "two for one": "choose a:4:1:4 b:4:2:7",
                "a share": "choose a:8:2:13 b:8:1:6",
                "not the first": "choose a:8:2:3 b:4:1:4",
                "equals": "choose a:4:1:2 b:8:1:4; choose a:8:1:4 b:4:2:4",
                "three": "choose a:4:3:9 b:8:2:11 c:16:1:13",
            },
            choosing,
            {
                **CHANGES,
                "absolute": ["2 of 16 CPUs unused is less than 1 of 2. It is a share."],
                "per-node": ["The Pods are spread over all the option's nodes: how many CPUs do those have together?"],
                "most-used": ["Who places most does not waste least."],
                "fewest": ["The number of nodes does not count, the unused share does."],
                "smallest": ["The size of the machine does not count, the unused share does."],
                "most": ["Least waste, not most."],
                "first": ["Compare the options."],
                "last-of-equals": ["Of equals the first: min keeps the first it meets."],
                "": ["min(options, key=...) of 1 - used / (nodes * cpu)."],
            },
            needs=("choose",),
        ),
        Check(
            "buys-what-is-missing",
            "scale_up: whom no node has room for, there or coming; then the group that wastes least",
            3,
            judge(plain("grow", lambda _, world, wrong: grow(world, wrong)), GROW_MISTAKES),
            {
                "two groups": "group a 8 0 9 0 -; group b 4 0 9 0 -; pod p - web 3 1 - -; pod q - web 3 1 - -; "
                "pod r - web 3 1 - -; grow",
                "room is there": "group a 4 0 9 0 -; node n1 a ready; pod p - web 3 1 - -; grow",
                "room is coming": "group a 4 0 9 0 -; node n1 a coming; pod p - web 3 1 - -; grow",
                "room for one": "group a 4 0 9 0 -; node n1 a ready; pod p - web 3 1 - -; pod q - web 3 1 - -; "
                "pod r - web 3 1 - -; grow",
                "the wrong label": "group a 4 0 9 0 -; group s 4 0 9 0 ssd; node n1 a ready; "
                "pod p - web 3 1 ssd -; grow",
                "nobody helps": "group a 4 0 9 0 -; pod p - web 5 1 - -; grow",
                "what is taken": "group a 4 0 9 1 -; node n1 a ready; pod o n1 web 2 1 - -; pod p - web 2 1 - -; grow",
                "nobody waits": "group a 4 0 9 0 -; grow",
                "groups in their order": "group b 4 0 9 0 -; group a 4 0 9 0 -; pod p - web 3 1 - -; grow",
                "nodes in their order": "group a 4 0 2 0 -; group b 8 0 9 0 -; node n2 a ready; node n1 b ready; "
                "pod p - web 3 1 - -; pod q - web 6 1 - -; grow",
                "pods in their order": "group a 4 0 9 0 -; group b 2 0 9 0 -; node n1 a ready; pod p - web 2 1 - -; "
                "pod q - web 3 1 - -; grow",
                "some are helped": "group s 4 0 1 0 -; group b 6 0 9 0 -; pod p - web 3 1 - -; pod q - web 3 1 - -; "
                "pod r - web 3 1 - -; pod t - web 3 1 - -; grow",
                "one large, two small": "group s 4 0 1 0 ssd; group b 2 0 9 0 -; pod p - web 4 1 ssd -; "
                "pod q - web 1 1 - -; pod r - web 1 1 - -; grow",
                "daemons of what is coming": "group a 4 0 9 1 -; group b 9 0 9 0 -; node n1 a coming; "
                "pod p - web 4 1 - -; grow",
            },
            growing,
            {
                **CHANGES,
                "nodes": ["Do all of these Pods need a new node? Some fit on one that is there."],
                "coming": ["The machine bought a minute ago still boots. Whose place is it?"],
                "alone": ["A Pod that has found a place takes the room from the next one."],
                "labels": ["A free node without the label that a Pod needs is no place for it."],
                "first": ["Several groups help. Which one wastes least?"],
                "all": ["Whoever has found a place on a node does not need one on a new node."],
                "one": ["As many as the estimate says, at once."],
                "empty": ["On the node that is coming daemons will run, too."],
                "": [
                    "Take the Pods that fit out of the list; estimate the rest for every group; choose.",
                    "An option's used: the CPUs of the Pods that the estimate has placed, nobody else's.",
                ],
            },
            needs=("estimate", "choose", "scale_up"),
            state=state,
        ),
        Check(
            "knows-who-stays",
            "blocks: do-not-evict, nobody's Pods and data on the node hold it; daemons and safe ones do not",
            2,
            judge(plain("blocks", _blocking), BLOCK_MISTAKES),
            {
                "of an owner": "pod a - web 1 1 - -; blocks a",
                "nobody's": "pod a - - 1 1 - -; blocks a",
                "a disk": "pod a - web 1 1 - disk; blocks a",
                "unsafe": "pod a - web 1 1 - unsafe; blocks a",
                "safe": "pod a - - 1 1 - safe; blocks a; pod b - web 1 1 - disk+safe; blocks b",
                "a daemon": "group g 4 0 9 1 -; node n1 g ready; blocks n1",
            },
            blocking,
            {
                **CHANGES,
                "daemon": ["A daemon's Pod is gone with the node and missed by nobody: it holds nothing."],
                "unsafe": ['Somebody wrote safe-to-evict: "false" on it. That is an order.'],
                "safe": ['"true" overrules all others: the owner says that it may go.'],
                "bare": ["Who would make it again?"],
                "disk": ["What it keeps on the node is lost with the node."],
                "turned": ["True means that it keeps the node."],
                "": ["Daemon, then the annotation's two values, then the owner, then the disk."],
            },
            needs=("blocks",),
            state=state,
        ),
        Check(
            "finds-a-place",
            "place: the largest first, each on the first of the others with room for what it requests",
            2,
            judge(plain("place", _placing), PLACE_MISTAKES),
            {
                "one": "group g 4 0 9 0 -; node n1 g ready; node n2 g ready; pod a n1 web 2 1 - -; place n1",
                "full": "group g 4 0 9 0 -; node n1 g ready; node n2 g ready; pod a n1 web 2 0 - -; "
                "pod b n2 web 3 0 - -; place n1",
                "room for one": "group g 4 0 9 0 -; node n1 g ready; node n2 g ready; pod a n1 web 2 2 - -; "
                "pod b n1 web 2 2 - -; pod c n2 web 2 2 - -; place n1",
                "largest first": "group g 4 0 9 0 -; node n1 g ready; node n2 g ready; node n3 g ready; "
                "pod a n1 web 1 1 - -; pod b n1 web 3 1 - -; pod c n2 web 1 1 - -; place n1",
                "a label": "group g 4 0 9 0 -; group s 4 0 9 0 ssd; node n1 s ready; node n2 g ready; "
                "pod a n1 web 1 1 ssd -; place n1; node n3 s ready; place n1",
                "daemons": "group g 4 0 9 1 -; node n1 g ready; place n1; node n2 g ready; "
                "pod a n1 web 3 1 - -; place n1",
                "nodes in their order": "group g 4 0 9 0 -; node n1 g ready; node n3 g ready; node n2 g ready; "
                "pod a n1 web 2 2 - -; place n1",
                "the first, not the fullest": "group g 4 0 9 0 -; node n1 g ready; node n2 g ready; node n3 g ready; "
                "pod a n1 web 2 2 - -; pod c n3 web 2 2 - -; place n1",
                "equals in their order": "group g 4 0 9 0 -; node n1 g ready; node n2 g ready; node n3 g ready; "
                "pod b n1 web 2 2 - -; pod a n1 web 2 2 - -; pod c n2 web 2 2 - -; place n1",
            },
            moving,
            {
                **CHANGES,
                "needs": ["A node without the label is no place for a Pod that needs it."],
                "use": ["Room is what is not requested. Use plays no part: the scheduler will not look at it either."],
                "alone": ["A Pod that has found a place takes the room from the next one."],
                "daemons": ["Daemons do not move: every node has its own."],
                "order": ["In which order do they look for a place?"],
                "smallest": ["The largest first."],
                "full": ["The others are not empty."],
                "": ["As in scale_up: what is free on each of the others, and the first with label and room."],
            },
            needs=("place",),
            state=state,
        ),
        Check(
            "empties-nodes-together",
            "unneeded: at most half requested, nobody stays, and a place for all once the others are gone too",
            4,
            judge(plain("unneeded", _unneeded), UNNEEDED_MISTAKES),
            {
                "no place": "group g 8 0 9 0 -; node n1 g ready; node n2 g ready; pod a n1 web 3 3 - -; "
                "pod b n2 web 6 6 - -; unneeded",
                "two half empty, one full": "group g 8 0 9 0 -; node n1 g ready; node n2 g ready; node n3 g ready; "
                "pod a n1 web 3 3 - -; pod b n2 web 3 3 - -; pod c n3 web 8 8 - -; unneeded",
                "two half empty": "group g 8 0 9 0 -; node n1 g ready; node n2 g ready; pod a n1 web 2 2 - -; "
                "pod b n2 web 3 3 - -; unneeded",
                "by requests": "group g 8 0 9 0 -; node n1 g ready; node n2 g ready; node n3 g ready; "
                "pod a n1 web 2 8 - -; pod b n2 web 6 0 - -; pod c n3 web 5 5 - -; unneeded",
                "more than half": "group g 8 0 9 0 -; group big 16 0 9 0 -; node n1 g ready; node n2 big ready; "
                "pod a n1 web 5 5 - -; pod b n2 web 9 9 - -; unneeded",
                "exactly half": "group g 8 0 9 0 -; node n1 g ready; node n2 g ready; pod a n1 web 4 4 - -; "
                "pod b n2 web 4 4 - -; unneeded",
                "somebody stays": "group g 8 0 9 0 -; node n1 g ready; node n2 g ready; pod a n1 web 1 1 - unsafe; "
                "pod b n2 web 5 5 - -; unneeded",
                "full enough in the middle": "group g 8 0 9 0 -; node n1 g ready; node n2 g ready; node n3 g ready; "
                "pod a n1 web 3 3 - -; pod b n2 web 5 5 - -; pod c n3 web 3 3 - -; unneeded",
                "three": "group g 8 0 9 0 -; node n1 g ready; node n2 g ready; node n3 g ready; pod a n1 web 3 3 - -; "
                "pod b n2 web 3 3 - -; pod c n3 web 3 3 - -; unneeded",
                "moved on": "group g 8 0 9 0 -; group big 16 0 9 0 -; node n1 g ready; node n2 big ready; "
                "node n3 big ready; pod a n1 web 3 3 - -; pod b n2 web 6 6 - -; pod c n3 web 7 7 - -; unneeded",
                "daemons count": "group g 4 0 9 1 -; node n1 g ready; node n2 g ready; pod a n1 web 2 2 - -; unneeded",
                "nodes in their order": "group g 8 0 9 0 -; node n2 g ready; node n1 g ready; pod a n2 web 3 3 - -; "
                "pod b n1 web 3 3 - -; unneeded",
                "a no in between": "group s 8 0 9 0 ssd; group g 8 0 9 0 -; node n1 s ready; node n2 g ready; "
                "pod a n1 web 2 2 ssd -; pod b n2 web 1 1 - -; unneeded",
                "behind those there": "group s 4 0 9 0 ssd; group g 4 0 9 0 -; node n1 s ready; node n2 s ready; "
                "node n3 s ready; node n4 g ready; pod a n1 web 2 2 ssd -; pod b n2 web 2 2 - -; "
                "pod c n3 web 2 2 - unsafe; pod d n4 web 2 2 - unsafe; unneeded",
                "all empty": "group g 8 0 9 1 -; node n1 g ready; node n2 g ready; unneeded",
            },
            emptying,
            {
                **CHANGES,
                "use": ["What a node's Pods use plays no part, here either. Requests."],
                "blockers": ["Is there somebody on it who must not be moved?"],
                "each-alone": [
                    "Each of them could go. Can both?",
                    "When a node is gone it is no place any more, and its Pods take room where they went.",
                ],
                "half": ["At most half. Exactly half is not too much."],
                "share-ignored": [
                    "A node with more than half requested is no candidate, even if its Pods had a place."
                ],
                "places": ["Where do its Pods go?"],
                "onto-gone": ["Pods are sent to a node that is about to be removed."],
                "stay": ["The Pods that moved here in thought are here now: they have to move again."],
                "no-room": ["The Pods that moved take room where they are now."],
                "after": ["The share is that of the nodes as they are, before anybody moves."],
                "own": ["A node is not among the others: its Pods cannot stay."],
                "daemons": ["The share counts the daemons too."],
                "stops": ["A node that has to stay does not end it: a later one may go."],
                "in-front": ["Of equals the first in the list: who moved there stands behind those that were there."],
                "": [
                    "Keep for every node who is there in thought, and who is gone.",
                    "place({**node, 'pods': those in thought}, the others that are not gone), then move them.",
                ],
            },
            needs=("blocks", "place", "unneeded"),
            state=state,
        ),
        Check(
            "waits-its-time",
            "due: more than 600 seconds without a break, and no group below its minimum",
            2,
            judge(timers, TIMER_MISTAKES),
            {
                "ten minutes": "group g 4 0 9 0 -; node n1 g ready; due 10 n1; due 610 n1; due 611 n1",
                "a break": "group g 4 0 9 0 -; node n1 g ready; due 0 n1; due 300; due 601 n1; due 902 n1; due 1202 n1",
                "the minimum": "group g 4 1 9 0 -; node n1 g ready; due 0 n1; due 700 n1",
                "both": "group g 4 1 9 0 -; node n1 g ready; node n2 g ready; due 0 n1 n2; due 700 n1 n2",
                "two groups": "group g 4 0 9 0 -; group h 4 1 9 0 -; node n1 h ready; node n2 g ready; due 0 n1 n2; "
                "due 700 n1 n2",
                "one is young": "group g 4 1 9 0 -; node n1 g ready; node n2 g ready; due 0 n2; due 601 n1 n2",
                "the order of the list": "group g 4 1 9 0 -; node n1 g ready; node n2 g ready; due 0 n2; "
                "due 100 n1 n2; due 800 n1 n2",
            },
            waiting,
            {
                **CHANGES,
                "exactly": ["More than 600 seconds: at exactly 600 it is not due."],
                "at-once": ["Since when is it unneeded? The next wave of Pods may come in a minute."],
                "break": ["Whoever was needed in between begins anew. Keep only those that are unneeded now."],
                "min": ["The group has a minimum."],
                "min-each": ["Two are removed in this round. How many are left then?"],
                "young-count": ["A node that is not due takes nobody's turn: only what is removed counts."],
                "oldest": ["In the order of the list, not of age."],
                "never": ["What do you return for the next time? You are handed it again as since."],
                "": ["since = {name: since.get(name, now) for name in unneeded}; then count what each group has left."],
            },
            needs=("due",),
            state=state,
        ),
    ),
)
