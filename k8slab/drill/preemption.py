"""Drills on preemption: who may be evicted, who is, and on which Node.

Simplified: see `k8slab.scheduler.preemption`; every choice is the plugin's.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.drill.answers import choice, name_set, whole, yes_no
from k8slab.drill.exercise import Draft, Drill, Kind, generate, table_block
from k8slab.drill.scheduling import Json, make_node, make_pod
from k8slab.scheduler import Framework, PodInfo, Snapshot
from k8slab.scheduler.plugins.default_preemption import DefaultPreemption
from k8slab.scheduler.preemption import CRITERIA, Candidate, best_candidates

__all__ = ["KINDS", "preemption"]

_PLUGIN = "pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go"
_RULES = "pkg/scheduler/framework/preemption/preemption.go"
_NAMES = "pqrstu"
_REPRIEVE = (
    "In thought all Pods of lower priority leave. Then they come back one by one as long as the new Pod still fits: "
    "those that a budget protects first, and among equals the most important first. Who cannot come back is evicted."
)


class _Outcome(NamedTuple):
    """`node` "": nobody is evicted, and `message` says why."""

    node: str
    victims: list[str]
    message: str


def _preempt(pod: Object, nodes: Sequence[Object], pods: Sequence[Object], pdbs: Sequence[Object] = ()) -> _Outcome:
    framework = Framework.from_profile()
    framework.pdbs = lambda: pdbs
    result = framework.schedule(pod, Snapshot.of(nodes, pods))
    chosen = result.post_filter.preemption if result.post_filter is not None else None
    victims = [info.pod["metadata"]["name"] for info in chosen.victims] if chosen else []
    return _Outcome(chosen.node if chosen else "", victims, result.message)


def _running(name: str, cpu: int, priority: int, node: str, **more: Any) -> Json:
    """A Pod on a Node. `more`: app (a label), started (minutes past ten)."""
    pod = make_pod(name, {"cpu": str(cpu)}, priority=priority, nodeName=node)
    pod["metadata"]["labels"] = {"app": more.get("app", name)}
    pod["status"] = {"startTime": f"2026-01-01T10:{more.get('started', 0):02d}:00Z"}
    return pod


def _budget(app: str, allowed: int) -> Json:
    return {
        "metadata": {"name": app, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allowed},
    }


def _cpu(pod: Object) -> int:
    return int(pod["spec"]["containers"][0]["resources"]["requests"]["cpu"])


def _started(pod: Object) -> str:
    text: str = pod["status"]["startTime"]
    return text[11:16]


def _full(rng: random.Random, name: str, apps: Sequence[str] = ()) -> tuple[Json, list[Json]]:
    """A Node of 3 to 5 Pods that leave at most one CPU free."""
    pods = []
    for letter in _NAMES[: rng.randint(3, 5)]:
        more = {"started": rng.randint(0, 59), "app": rng.choice(apps)} if apps else {"started": rng.randint(0, 59)}
        pods.append(_running(letter, rng.randint(1, 3), rng.choice([0, 10, 20, 50, 100]), name, **more))
    total = sum(map(_cpu, pods)) + rng.randint(0, 1)
    return make_node(name, str(total), "64Gi"), pods


def _pods_table(pods: Sequence[Object], *, apps: bool = False) -> str:
    rows = []
    for pod in pods:
        row = [pod["metadata"]["name"], str(_cpu(pod)), str(pod["spec"]["priority"]), _started(pod)]
        rows.append([*row, pod["metadata"]["labels"]["app"]] if apps else row)
    return table_block(rows, ["POD", "CPU", "PRIORITY", "STARTED", *(["APP"] if apps else [])])


def _comes(pod: Object) -> str:
    policy = "" if pod["spec"].get("preemptionPolicy") != "Never" else " and `preemptionPolicy: Never`"
    return f"A Pod that asks for `{_cpu(pod)}` CPUs comes, with priority {pod['spec']['priority']}{policy}"


def _holds(node: Object) -> str:
    return f"`{node['metadata']['name']}` has `{node['status']['allocatable']['cpu']}` CPUs"


# -- one Node ----------------------------------------------------------------------------------------------


def _may(rng: random.Random) -> Draft:
    _, pods = _full(rng, "n1")
    mine = rng.choice([10, 20, 50, 100])
    pod = make_pod("web", {"cpu": "1"}, priority=mine)
    right = [one["metadata"]["name"] for one in pods if PodInfo(one).priority < PodInfo(pod).priority]
    equal = [one["metadata"]["name"] for one in pods if one["spec"]["priority"] <= mine]
    names = [one["metadata"]["name"] for one in pods]
    hint = "Only Pods of strictly lower priority; equals never evict each other, however long they wait."
    return Draft(
        f"{_comes(pod)}. Which Pods of this Node could be evicted for it at all?\n\n{_pods_table(pods)}",
        name_set(right, names, hint, [(equal, hint), ([n for n in names if n not in right], "The other way round.")]),
        f"Lower than {mine}: {', '.join(right) or 'none'}. {hint}",
    )


def _eligible(rng: random.Random) -> Draft:
    node, pods = _full(rng, "n1")
    top = max(one["spec"]["priority"] for one in pods)
    low = min(one["spec"]["priority"] for one in pods)
    mine = rng.choice([low, low, top, top + 10])
    more = {"preemptionPolicy": "Never"} if rng.random() < 0.3 else {}
    pod = make_pod("web", {"cpu": str(rng.randint(2, 4))}, priority=mine, **more)
    found = _preempt(pod, [node], pods)
    why = {
        True: "There are Pods of lower priority, and without them there is room.",
        False: "Whoever may be evicted must have a lower priority, their CPUs must be enough, and the Pod's policy "
        "must not be Never.",
    }[bool(found.node)]
    return Draft(
        f"{_holds(node)}; it is the only Node. {_comes(pod)}. Is anybody evicted for it? (yes or no)\n\n"
        f"{_pods_table(pods)}",
        yes_no(bool(found.node), why),
        f"{why} {'Evicted: ' + ', '.join(found.victims) + '.' if found.node else 'The scheduler says:'}"
        + ("" if found.node else f"\n\n> {found.message}"),
    )


def _victims(rng: random.Random) -> Draft:
    found = _Outcome("", [], "")
    while not found.node or len(found.victims) > 3:
        node, pods = _full(rng, "n1")
        pod = make_pod("web", {"cpu": str(rng.randint(2, 5))}, priority=rng.choice([50, 100, 200]))
        found = _preempt(pod, [node], pods)
    return Draft(
        f"{_holds(node)}; it is the only Node, and there are no disruption budgets. {_comes(pod)}. Who is evicted?\n\n"
        f"{_pods_table(pods)}",
        name_set(found.victims, [one["metadata"]["name"] for one in pods], _REPRIEVE, _wrong(pod, pods)),
        f"{_REPRIEVE} Here: {', '.join(sorted(found.victims))}.",
    )


def _wrong(pod: Object, pods: Sequence[Object]) -> list[tuple[list[str], str]]:
    """What one might think: all who are less important, or the least important until there is room."""
    mine = pod["spec"]["priority"]
    lower = sorted((one for one in pods if one["spec"]["priority"] < mine), key=lambda one: one["spec"]["priority"])
    upward: list[str] = []
    room = 0
    for one in lower:
        if room < _cpu(pod):
            upward.append(one["metadata"]["name"])
            room += _cpu(one)
    return [
        ([one["metadata"]["name"] for one in lower], "Not all: whoever still fits beside the new Pod comes back."),
        (upward, "Nobody is picked from the bottom up; the most important come back from the top down, until full."),
    ]


def _with_budget(rng: random.Random) -> Draft:
    found = plain = _Outcome("", [], "")
    while not found.node or found.victims == plain.victims:
        node, pods = _full(rng, "n1", ["api", "job"])
        pod = make_pod("web", {"cpu": str(rng.randint(2, 5))}, priority=200)
        allowed = rng.randint(0, 1)
        found, plain = _preempt(pod, [node], pods, [_budget("api", allowed)]), _preempt(pod, [node], pods)
    hint = f"{_REPRIEVE} A budget is a wish here, not a wall: without another way its Pods go too."
    return Draft(
        f"{_holds(node)}; it is the only Node. A PodDisruptionBudget for `app=api` says `disruptionsAllowed: {allowed}`"
        f". {_comes(pod)}. Who is evicted?\n\n{_pods_table(pods, apps=True)}",
        name_set(
            found.victims,
            [one["metadata"]["name"] for one in pods],
            hint,
            [(plain.victims, "That would be right without the budget."), *_wrong(pod, pods)],
        ),
        f"{hint} Here: {', '.join(sorted(found.victims))}.",
    )


# -- which Node --------------------------------------------------------------------------------------------

_CRITERIA = (
    "Asked in this order, and the next only among equals: fewest broken budgets; lowest priority of the most important "
    "victim; lowest sum of priorities; fewest victims; the most important victims started latest."
)
_DECIDED = (
    "the number of broken budgets", "the priority of the most important victim", "the sum of priorities",
    "the number of victims", "the start of the most important victims",
)  # fmt: skip


def _candidate(rng: random.Random, name: str, deciding: int) -> Candidate:
    """Candidates of one question are equal in what comes before the criterion that is meant to decide."""
    top = 10 if deciding > 1 else rng.choice([10, 50, 100])
    others = [rng.choice([1, 2, 5]) for _ in range(rng.randint(0, 2))] if deciding in (0, 1, 2) else [5]
    pods = [
        PodInfo(_running(f"{name}-{n}", 1, priority, name, started=rng.randint(0, 59)))
        for n, priority in enumerate([top, *others])
    ]
    return Candidate(name, tuple(pods), rng.randint(0, 1) if deciding == 0 else 0)


def _which_node(rng: random.Random) -> Draft:
    best: list[Candidate] = []
    while len(best) != 1:
        deciding = rng.choice([0, 1, 2, 4])
        candidates = [_candidate(rng, f"n{n}", deciding) for n in range(1, 4)]
        best = best_candidates(candidates)
    right = best[0].node
    rows = [(c.node, str(c.pdb_violations), " ".join(str(info.priority) for info in c.victims),
             " ".join(_started(info.pod) for info in c.victims)) for c in candidates]  # fmt: skip
    oldest = min(candidates, key=lambda c: _started(c.victims[0].pod)).node
    mistakes = {oldest: "The Pods that ran longest are spared, not sought."} if oldest != right else {}
    counts = sorted((len(c.victims), c.node) for c in candidates)
    if counts[0][0] < counts[1][0] and counts[0][1] != right:
        mistakes[counts[0][1]] = "The number of victims is asked only fourth."
    decided = next(n for n, criterion in enumerate(CRITERIA) if len({criterion(c) for c in candidates}) > 1)
    return Draft(
        "The new Pod would fit on each of these Nodes once the victims are gone (the most important first). Which Node "
        f"is chosen?\n\n{table_block(rows, ('NODE', 'BUDGETS BROKEN', 'PRIORITIES', 'STARTED'))}",
        choice(right, [c.node for c in candidates], _CRITERIA, mistakes),
        f"{_CRITERIA} The first on which they differ here is {_DECIDED[decided]}.",
    )


def _enough(rng: random.Random) -> Draft:
    nodes = rng.choice([rng.randint(2, 99), rng.randint(100, 999), rng.randint(1000, 5000)])
    percentage, absolute = rng.choice([(10, 100), (10, 100), (5, 50), (20, 10), (50, 100)])
    args = {"minCandidateNodesPercentage": percentage, "minCandidateNodesAbsolute": absolute}
    right = DefaultPreemption(args, Framework.from_profile()).num_candidates(nodes)
    share = nodes * percentage // 100
    hint = "The percentage of the Nodes, at least the absolute number, and no more than there are."
    return Draft(
        f"`minCandidateNodesPercentage: {percentage}`, `minCandidateNodesAbsolute: {absolute}`. Evicting Pods might "
        f"help on {nodes} Nodes. How many candidates does the dry run look for?",
        whole(
            right,
            hint,
            {share: "The absolute number is the least.", absolute: "The percentage is more here, or there are fewer "
             "Nodes.", nodes: "It stops when it has enough."},
        ),
        f"{percentage} % of {nodes}, rounded down, is {share}; at least {absolute}; at most {nodes}: {right}. So the "
        "choice need not be the best of the cluster.",
    )  # fmt: skip


KINDS: Sequence[Kind] = (
    Kind("may", 1, f"{_PLUGIN} (SelectVictimsOnNode)", _may),
    Kind("eligible", 1, f"{_PLUGIN} (PodEligibleToPreemptOthers)", _eligible),
    Kind("enough", 2, f"{_PLUGIN} (calculateNumCandidates)", _enough),
    Kind("victims", 2, f"{_PLUGIN} (SelectVictimsOnNode)", _victims),
    Kind("which-node", 2, f"{_RULES} (pickOneNodeForPreemption)", _which_node),
    Kind("budget", 3, f"{_PLUGIN} (filterPodsWithPDBViolation)", _with_budget),
)


def preemption(rng: random.Random) -> Drill:
    """An exercise on who is evicted for whom."""
    return generate("preemption", KINDS, rng)
