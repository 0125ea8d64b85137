"""Drills on eviction: who goes first, when a threshold acts, and whom the kernel kills.

Simplified: see `k8slab.kubelet.eviction` and `k8slab.kubelet.oom_killer`; every answer is theirs.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

from k8slab.api.qos import oom_score_adj
from k8slab.drill.answers import choice, duration, sequence, whole, yes_no
from k8slab.drill.exercise import Draft, Drill, Kind, generate, table_block
from k8slab.drill.scheduling import Json
from k8slab.kubelet.eviction import MEMORY_CRITERIA, EvictionManager, PodStats, Summary, rank
from k8slab.kubelet.oom_killer import Process, oom_badness, out_of_memory

__all__ = ["KINDS", "eviction"]

_HELPERS = "pkg/kubelet/eviction/helpers.go"
_POLICY = "pkg/kubelet/qos/policy.go (GetContainerOOMScoreAdjust)"
_MI, _GI = 1 << 20, 1 << 30
_RULE = (
    "Who uses more than it requests goes before who does not; then the lower priority goes first; then whoever is "
    "further above its request."
)


class _Pod(NamedTuple):
    name: str
    request: int
    used: int
    priority: int

    def manifest(self) -> Json:
        requests = {"memory": f"{self.request}Mi"} if self.request else {}
        container = {"name": "c", "resources": {"requests": requests}}
        return {"metadata": {"name": self.name}, "spec": {"priority": self.priority, "containers": [container]}}


def _crowd(rng: random.Random, size: int) -> list[_Pod]:
    """Pods that no two criteria leave alike."""
    pods: list[_Pod] = []
    while len(pods) < size:
        request = rng.choice([0, 0, 100, 200, 300, 400])
        pod = _Pod("ABCDE"[len(pods)], request, rng.randrange(50, 600, 10), rng.choice([0, 0, 10, 100]))
        if pod.used != request and all(pod.used - request != other.used - other.request for other in pods):
            pods.append(pod)
    return pods


def _table(pods: Sequence[_Pod]) -> str:
    rows = [(p.name, f"{p.request}Mi" if p.request else "none", f"{p.used}Mi", p.priority) for p in pods]
    return table_block(rows, ("POD", "REQUEST", "USED", "PRIORITY"))


def _ranking(pods: Sequence[_Pod]) -> list[str]:
    stats = {f"default/{pod.name}": PodStats(memory=pod.used * _MI) for pod in pods}
    return [one.name for one in rank([pod.manifest() for pod in pods], stats, MEMORY_CRITERIA)]


def _by(pods: Sequence[_Pod], *rules: str) -> list[str]:
    """The order that a mistaken rule gives."""
    keys = {
        "class": lambda p: p.request > 0,
        "usage": lambda p: -p.used,
        "amount": lambda p: p.request - p.used,
        "above": lambda p: p.used <= p.request,
        "priority": lambda p: p.priority,
        "important": lambda p: -p.priority,
    }
    return [p.name for p in sorted(pods, key=lambda p: [keys[rule](p) for rule in rules])]


_MISTAKES = {
    ("class", "usage"): "That is by QoS class, which the kubelet does not ask for.",
    ("usage",): "Not who uses most: who uses more than it requests, and by how much.",
    ("above", "amount"): "Before the amount the priority is asked.",
    ("above", "important", "amount"): "The lower priority goes first.",
    ("priority", "above", "amount"): "First comes the question who uses more than it requests, then the priority.",
}


def _first(rng: random.Random) -> Draft:
    pods = _crowd(rng, 3)
    order = _ranking(pods)
    wrong = {_by(pods, *rules)[0]: why for rules, why in reversed(_MISTAKES.items())}
    wrong.pop(order[0], None)
    return Draft(
        f"Memory is short, and the kubelet has to evict one of these. Which?\n\n{_table(pods)}",
        choice(order[0], [pod.name for pod in pods], _RULE, wrong),
        f"{_RULE} The whole order: {', '.join(order)}.",
    )


def _order(rng: random.Random) -> Draft:
    pods = _crowd(rng, 4)
    order = _ranking(pods)
    wrong = [(_by(pods, *rules), why) for rules, why in _MISTAKES.items()]
    return Draft(
        f"In which order would the kubelet evict these for want of memory, the first one first?\n\n{_table(pods)}",
        sequence(order, [pod.name for pod in pods], _RULE, wrong),
        f"{_RULE} So: {', '.join(order)}.",
    )


# -- thresholds ------------------------------------------------------------------------------------


def _evicts(config: Json, looks: Sequence[tuple[int, int]]) -> list[bool]:
    """At each look (second, Mi free): whether somebody is evicted."""
    manager, found = EvictionManager(config), []
    pods = [_Pod(f"p{number}", 0, 1, 0).manifest() for number in range(len(looks))]
    for second, free in looks:
        stats = {f"default/{pod['metadata']['name']}": PodStats(memory=_MI) for pod in pods}
        node = Summary(second * 1000, free * _MI, 4096 * _MI, pods=stats)
        evicted = manager.synchronize(pods, node, second * 1000).evicted
        found.append(bool(evicted))
        pods = [pod for pod in pods if all(pod is not effect.pod for effect in evicted)]
    return found


def _crossed(rng: random.Random) -> Draft:
    below, more = rng.choice([100, 200, 500]), rng.choice([50, 100, 200])
    free = rng.choice([below - 10, below, below + more // 2, below + more - 10, below + more])
    has_minimum = rng.random() < 0.6
    config: Json = {"evictionHard": {"memory.available": f"{below}Mi"}}
    if has_minimum:
        config["evictionMinimumReclaim"] = {"memory.available": f"{more}Mi"}
    acted = has_minimum and rng.random() < 0.7
    looks = [(0, below - 50), (10, free)] if acted else [(10, free)]
    right = _evicts(config, looks)[-1]
    bound = below + more if acted else below
    minimum = f" and `evictionMinimumReclaim: {more}Mi`" if has_minimum else ""
    before = "Ten seconds ago it evicted a Pod" if acted else "Nobody has been evicted yet"
    why = (
        "Crossed is less than the threshold. Once a Pod was evicted for it, threshold and minimum have to be free "
        f"before it is over: here it acts below {bound}Mi."
    )
    return Draft(
        f"A kubelet has `memory.available < {below}Mi` as a hard threshold{minimum}. {before}; now {free}Mi are free. "
        "Does it evict somebody at this look? (yes or no)",
        yes_no(right, why),
        why,
    )


def _soft(rng: random.Random) -> Draft:
    grace, below = rng.choice([30, 60, 90]), rng.choice([200, 500])
    config: Json = {
        "evictionHard": {},
        "evictionSoft": {"memory.available": f"{below}Mi"},
        "evictionSoftGracePeriod": {"memory.available": f"{grace}s"},
    }
    back = rng.choice([0, 0, 20, 30, 40])  # a look that finds enough, or none
    start = rng.choice([10, 20, 30])
    looks = [
        (second, below + 50 if second < start or (back and second == start + back and back < grace) else below - 50)
        for second in range(0, 400, 10)
    ]
    right = looks[_evicts(config, looks).index(True)][0]
    rows = [(f"{second} s", f"{free}Mi") for second, free in looks[: start // 10 + back // 10 + 3]]
    hint = f"{grace} seconds without a break, counted from the first look that found less than {below}Mi."
    return Draft(
        f"A soft threshold: `memory.available < {below}Mi`, grace period `{grace}s`. The kubelet looks every ten "
        f"seconds and finds\n\n{table_block(rows, ('AT', 'FREE'))}\n\nand the last of these at every look after "
        "that. At which second does it evict?",
        duration(
            right * 1000,
            hint,
            {
                (start + grace) * 1000: "A look that found enough ended the count.",
                start * 1000: "That is when the node reports pressure. The eviction waits for the grace period.",
                grace * 1000: "The count begins when the threshold is first crossed.",
            },
        ),
        f"{hint} So at {right} s. (The condition MemoryPressure was reported from {start} s on.)",
    )


# -- the kernel ------------------------------------------------------------------------------------


def _adjust(rng: random.Random) -> Draft:
    gi = rng.choice([4, 8, 10, 16, 20])
    kind = rng.choice(["burstable", "burstable", "burstable", "guaranteed", "best effort", "cpu"])
    request = rng.choice([_GI // 2, _GI, 2 * _GI, gi * _GI // 10])
    requests = {"burstable": {"memory": str(request)}, "cpu": {"cpu": "1"}}.get(kind, {})
    resources: Json = {"requests": requests} if requests else {}
    if kind == "guaranteed":
        both = {"cpu": "1", "memory": str(request)}
        resources = {"requests": both, "limits": both}
    container = {"name": "c", "resources": resources}
    right = oom_score_adj({"metadata": {"name": "p"}, "spec": {"containers": [container]}}, container, gi * _GI)
    said = {
        "burstable": f"requests {request // _MI}Mi of memory and has no limits",
        "guaranteed": f"has requests equal to its limits, 1 CPU and {request // _MI}Mi of memory",
        "best effort": "has neither requests nor limits",
        "cpu": "requests 1 CPU, and says nothing about memory",
    }[kind]
    hint = "Guaranteed -997, BestEffort 1000, Burstable 1000 less the requested thousandths, between 3 and 999."
    return Draft(
        f"A Pod's only container {said}. The node has {gi}Gi. What is its `oom_score_adj`?",
        whole(
            right,
            hint,
            {
                1000 - right: "The other way round: whoever requests little is killed gladly.",
                1000: "1000 is for BestEffort alone.",
                -998: "-998 was Docker's time. It is -997.",
                0: "The kubelet writes it for every container; 0 would be no adjustment.",
            },
        ),
        f"{hint} Here: {right}.",
    )


def _killed(rng: random.Random) -> Draft:
    total, scores = 10 * _GI, [0, 0]
    processes: list[Process] = []
    while len(set(scores)) < len(scores) or max(scores) - sorted(scores)[-2] < total // 4096 // 50:
        adjusted = rng.choices([-997, 300, 500, 800, 900, 999, 1000], k=3)
        processes = [
            Process(number, name, rng.randint(5, 60) * total // 1000 * 10, adj, f"/{name}")
            for number, (name, adj) in enumerate(zip("ABC", adjusted, strict=True), 2)
        ]
        scores = [oom_badness(process, total) or 0 for process in processes]
    filler = Process(9, "system", total, -1000)
    kill = out_of_memory([*processes, filler], [], total)
    assert kill is not None
    rows = [(p.name, f"{round(100 * p.rss / total)} %", p.oom_score_adj) for p in processes]
    sums = {p.name: round(1000 * p.rss / total) + p.oom_score_adj for p in processes}
    hint = (
        "The thousandths of the machine's memory that a process holds, plus its oom_score_adj: the greatest sum dies."
    )
    largest = max(processes, key=lambda p: p.rss).name
    wrong = {largest: "Not who holds most: what it holds and its oom_score_adj together."}
    gladly = max(processes, key=lambda p: p.oom_score_adj).name
    wrong[gladly] = "The oom_score_adj is a head start, not the race."
    wrong.pop(kill.victim.name, None)
    return Draft(
        "The machine has no memory left, and the kernel has to kill one of these. Which?\n\n"
        f"{table_block(rows, ('PROCESS', 'MEMORY', 'OOM_SCORE_ADJ'))}",
        choice(kill.victim.name, [p.name for p in processes], hint, wrong),
        f"{hint} {', '.join(f'{name}: {number}' for name, number in sums.items())}.",
    )


KINDS: Sequence[Kind] = (
    Kind("first", 1, f"{_HELPERS} (rankMemoryPressure)", _first),
    Kind("crossed", 1, f"{_HELPERS} (thresholdsMet)", _crossed),
    Kind("adjust", 1, _POLICY, _adjust),
    Kind("order", 2, f"{_HELPERS} (rankMemoryPressure)", _order),
    Kind("soft", 2, f"{_HELPERS} (thresholdsMetGracePeriod)", _soft),
    Kind("killed", 3, "pkg/kubelet/qos/policy.go, in Linux mm/oom_kill.c (oom_badness)", _killed),
)


def eviction(rng: random.Random) -> Drill:
    """An exercise on who goes when a node has no memory left."""
    return generate("eviction", KINDS, rng)
