"""Drills on scores: how full, how balanced, how tainted, how preferred, and which Node wins.

Simplified: see `k8slab.scheduler`; every score is a plugin's.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from k8slab.api.pod_requests import pod_requests
from k8slab.api.quantity import quantity
from k8slab.drill.answers import choice, numbers, whole
from k8slab.drill.exercise import Draft, Drill, Kind, generate, table_block, yaml_block
from k8slab.drill.scheduling import Json, examine, make_node, make_pod, nodes_table, pod_block, some_pods
from k8slab.scheduler import Explanation

__all__ = ["KINDS", "scores", "scores_of"]

_PLUGINS = "pkg/scheduler/framework/plugins"
_FIT, _BALANCED = "NodeResourcesFit", "NodeResourcesBalancedAllocation"
_DOWN = "Percentages are rounded down, of each resource and of the mean."


def scores_of(found: Explanation, plugin: str) -> dict[str, int]:
    """What one plugin, asked alone, gives each feasible Node (normalised; its weight is 1 then)."""
    return {row.node: row.weighted[plugin] for row in found.nodes if plugin in row.weighted}


def _strategy(kind: str) -> Json:
    return {
        "scoringStrategy": {"type": kind, "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}]}
    }


def _simple(rng: random.Random) -> tuple[Json, Json, list[Json]]:
    """A Pod, one Node that has room for it, and the Pods there."""
    node = make_node("n1", rng.choice(["4", "8", "10"]), rng.choice(["8Gi", "16Gi", "10Gi"]))
    pod = make_pod("web", {"cpu": rng.choice(["500m", "1", "2"]), "memory": rng.choice(["512Mi", "1Gi", "2Gi"])})
    return pod, node, some_pods(rng, node, rng.randint(0, 2))


def _used(pod: Json, there: Sequence[Json], resource: str) -> str:
    """What the Node's Pods and the new one ask for together."""
    asked = [pod_requests(one)[resource] for one in (*there, pod)]
    return str(sum(asked[1:], asked[0]))


def _asked(rng: random.Random, strategy: str, other: str, hint: str, wrong: str) -> Draft:
    pod, node, there = _simple(rng)

    def score(kind: str, used: Sequence[Json]) -> int:
        return scores_of(examine(pod, [node], used, plugin=_FIT, args=_strategy(kind)), _FIT)["n1"]

    right = score(strategy, there)
    answer = whole(
        right,
        hint,
        {
            score(other, there): wrong,
            score(strategy, []): "That forgets the Pods that are there already.",
            right + 1: _DOWN,
        },
    )
    has = node["status"]["allocatable"]
    parts = [f"{name}: {_used(pod, there, name)} of {has[name]}" for name in ("cpu", "memory")]
    return Draft(
        f"NodeResourcesFit scores with `{strategy}` (cpu and memory, weight 1 each). Which score does `n1` get "
        "for a Pod "
        f"that asks for {_wants(pod)}?\n\n{nodes_table([node], {'n1': there})}",
        answer,
        f"With the Pod there: {'; '.join(parts)}. {hint} Score: {right}. {_DOWN}",
    )


def _wants(pod: Json) -> str:
    requests = pod["spec"]["containers"][0]["resources"]["requests"]
    return f"`{requests['cpu']}` of CPU and `{requests['memory']}` of memory"


def _least(rng: random.Random) -> Draft:
    hint = "Per resource the share that stays free, in percent; then the mean of the two."
    return _asked(rng, "LeastAllocated", "MostAllocated", hint, "That is the share that is used: MostAllocated.")


def _most(rng: random.Random) -> Draft:
    hint = "Per resource the share that is used, in percent; then the mean of the two."
    return _asked(rng, "MostAllocated", "LeastAllocated", hint, "That is the share that stays free: LeastAllocated.")


def _unrequested(rng: random.Random) -> Draft:
    node = make_node("n1", rng.choice(["1", "2", "4"]), rng.choice(["2000Mi", "4000Mi", "1000Mi"]))
    containers = rng.randint(1, 3)
    pod = make_pod("web")
    pod["spec"]["containers"] = [{"name": "abc"[n]} for n in range(containers)]
    right = scores_of(examine(pod, [node], plugin=_FIT), _FIT)["n1"]
    single = scores_of(examine(make_pod("web"), [node], plugin=_FIT), _FIT)["n1"]
    answer = whole(
        right,
        "For scoring, a container that says nothing counts as 100m of CPU and 200Mi of memory.",
        {100: "That would be a Pod that needs nothing.", single: "Each container counts."},
    )
    return Draft(
        f"The Node `n1` is empty; it has `{node['status']['allocatable']['cpu']}` of CPU and "
        f"`{node['status']['allocatable']['memory']}` of memory. A Pod with {containers} "
        f"container{'s' if containers > 1 else ''} and no requests at all comes. Which score does NodeResourcesFit "
        "give (default, LeastAllocated)?",
        answer,
        f"{containers} times 100m and 200Mi are taken as used, though not counted by the filter; the mean of "
        "what stays "
        f"free is {right}. Without this default all such Pods would go to the same Node. {_DOWN}",
    )


def _balanced(rng: random.Random) -> Draft:
    pod, node, there = _simple(rng)
    right = scores_of(examine(pod, [node], there, plugin=_BALANCED), _BALANCED)["n1"]
    has = node["status"]["allocatable"]

    def share(pods: Sequence[Json], resource: str) -> float:
        total = sum(pod_requests(one)[resource].milli_value() for one in pods)
        return 100 * total / quantity(has[resource]).milli_value()

    before = [share(there, name) for name in ("cpu", "memory")]
    after = [share([*there, pod], name) for name in ("cpu", "memory")]
    plain = int(100 - abs(after[0] - after[1]) / 2)
    answer = whole(
        right,
        "Balance is 100 less half the distance of the two percentages; the score is 50 + (50 + with - without) / 2.",
        {plain: "That is the balance with the Pod there, the score until 1.35; since 1.36 the improvement counts.",
         75: "75 means that the balance stays the same."},
    )  # fmt: skip
    return Draft(
        f"Kubernetes 1.36. Which score does NodeResourcesBalancedAllocation give `n1` for a Pod that asks for "
        f"{_wants(pod)}?\n\n{nodes_table([node], {'n1': there})}",
        answer,
        f"Used without the Pod: {before[0]:.1f} % of CPU, {before[1]:.1f} % of memory; with it {after[0]:.1f} % and "
        f"{after[1]:.1f} %. Balance is 100 less half the distance (rounded down), and the score 50 + (50 + with - "
        f"without) / 2, rounded down: {right}. 75 means no change.",
    )


def _prefer(key: str) -> Json:
    return {"key": key, "effect": "PreferNoSchedule"}


def _taint_scores(rng: random.Random) -> Draft:
    counts = [rng.randint(0, 3) for _ in range(3)]
    nodes = [make_node(f"n{n}", taints=[_prefer(f"k{k}") for k in range(count)]) for n, count in enumerate(counts, 1)]
    tolerations: list[Json] = rng.choice([[], [{"key": "k0", "operator": "Exists"}]])
    pod = make_pod("web", tolerations=tolerations)
    found = examine(pod, nodes, plugin="TaintToleration")
    right = list(scores_of(found, "TaintToleration").values())
    bare = list(scores_of(examine(make_pod("web"), nodes, plugin="TaintToleration"), "TaintToleration").values())
    raw = [row.raw["TaintToleration"] for row in found.nodes]
    answer = numbers(
        right,
        "Count the PreferNoSchedule taints that are not tolerated; most becomes 0, none becomes 100.",
        {
            tuple(raw): "Those are the raw counts; they are normalised to 0 to 100, turned round.",
            tuple(bare): "One of the taints is tolerated.",
            tuple(100 - score for score in right): "Turned round: fewer taints are better.",
        },
    )
    rows = [(n["metadata"]["name"], ", ".join(f"{t['key']}:{t['effect']}" for t in n["spec"].get("taints", ())) or "-")
            for n in nodes]  # fmt: skip
    shown = yaml_block({"tolerations": tolerations}) if tolerations else "The Pod has no tolerations."
    return Draft(
        "Which normalised scores (0 to 100) does TaintToleration give n1, n2 and n3? Answer with three "
        f"numbers.\n\n{shown}"
        f"\n\n{table_block(rows, ('NODE', 'TAINTS'))}",
        answer,
        f"Raw scores (taints not tolerated): {', '.join(map(str, raw))}. The highest becomes 0 and 0 becomes "
        "100: 100 - "
        f"100 * raw / highest, the division rounded down: {', '.join(map(str, right))}. Where nobody has such a taint, "
        "all get 100.",
    )


def _preference(rng: random.Random, key: str, values: Sequence[str]) -> Json:
    expression = {"key": key, "operator": "In", "values": [rng.choice(values)]}
    return {"weight": rng.choice([1, 10, 20, 30, 50]), "preference": {"matchExpressions": [expression]}}


def _affinity_scores(rng: random.Random) -> Draft:
    labels = [{"disk": rng.choice(["ssd", "hdd"]), "zone": rng.choice(["a", "b"])} for _ in range(3)]
    nodes = [make_node(f"n{n}", labels=found) for n, found in enumerate(labels, 1)]
    terms = [_preference(rng, "disk", ["ssd", "hdd"]), _preference(rng, "zone", ["a", "b"])]
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    found = examine(make_pod("web", affinity=affinity), nodes, plugin="NodeAffinity")
    right = list(scores_of(found, "NodeAffinity").values())
    raw = [row.raw["NodeAffinity"] for row in found.nodes]
    answer = numbers(
        right,
        "Add the weights of the terms a Node matches; the highest sum becomes 100, the others in proportion.",
        {tuple(raw): "Those are the sums of weights; they are normalised so that the highest is 100."},
    )
    rows = [(n["metadata"]["name"], n["metadata"]["labels"]["disk"], n["metadata"]["labels"]["zone"]) for n in nodes]
    return Draft(
        f"Which normalised scores (0 to 100) does NodeAffinity give n1, n2 and n3? Answer with three numbers.\n\n"
        f"{yaml_block({'preferredDuringSchedulingIgnoredDuringExecution': terms})}\n\n"
        f"{table_block(rows, ('NODE', 'DISK', 'ZONE'))}",
        answer,
        f"Sums of weights: {', '.join(map(str, raw))}. Times 100, divided by the highest, rounded down: "
        f"{', '.join(map(str, right))}. Where nobody matches, all get 0.",
    )


def _ratio(rng: random.Random) -> Draft:
    shape = [{"utilization": 0, "score": 0}, {"utilization": rng.choice([50, 60, 80]), "score": 10},
             {"utilization": 100, "score": rng.choice([0, 2, 5])}]  # fmt: skip
    strategy = {"type": "RequestedToCapacityRatio", "resources": [{"name": "cpu", "weight": 1}],
                "requestedToCapacityRatio": {"shape": shape}}  # fmt: skip
    node = make_node("n1", "10", "64Gi")
    cpu = f"{rng.randint(1, 19) * 500}m"
    pod = make_pod("web", {"cpu": cpu, "memory": "1Gi"})
    right = scores_of(examine(pod, [node], plugin=_FIT, args={"scoringStrategy": strategy}), _FIT)["n1"]
    used = quantity(cpu).milli_value() * 100 // 10_000
    answer = whole(
        right,
        "Find the two points round the utilisation, go along the straight line between them, and times 10.",
        {used: "That is the utilisation; the shape says which score it gets.",
         right // 10: "Scores of a shape go to 10; they are multiplied by 10."},
    )  # fmt: skip
    points = ", ".join(f"{point['utilization']} % → {point['score']}" for point in shape)
    return Draft(
        f"NodeResourcesFit scores with `RequestedToCapacityRatio` over CPU alone; the shape is {points}. The "
        "empty Node "
        f"`n1` has 10 CPUs, the Pod asks for `{cpu}`. Which score does `n1` get?",
        answer,
        f"Utilisation with the Pod there: {used} %. Between two points the score lies on a straight line, and the "
        f"shape's 0 to 10 become 0 to 100: {right}.",
    )


def _weighted(rng: random.Random) -> Draft:
    labels = [{"disk": kind} for kind in rng.sample(["ssd", "hdd", "nvme"], 2)]
    nodes = [
        make_node(
            f"n{n}", rng.choice(["4", "8"]), "8Gi", labels=found, taints=[_prefer("slow")] if rng.random() < 0.5 else []
        )
        for n, found in enumerate(labels, 1)
    ]
    term = _preference(rng, "disk", ["ssd", "hdd", "nvme"])
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    found = examine(make_pod("web", {"cpu": "1", "memory": "1Gi"}, affinity=affinity), nodes)
    row = rng.choice(found.nodes)
    plain = {plugin: score // found.weights[plugin] for plugin, score in row.weighted.items()}
    answer = whole(
        row.total,
        "Each plugin's score (0 to 100) times its weight, then the sum.",
        {sum(plain.values()): "That leaves the weights out.",
         sum(plain.values()) // len(plain): "It is a sum, not a mean."},
    )  # fmt: skip
    rows = [(plugin, score, found.weights[plugin]) for plugin, score in plain.items()]
    sums = " + ".join(f"{score} * {weight}" for _, score, weight in rows)
    return Draft(
        f"The plugins of the default profile gave `{row.node}` these scores. What is its total?\n\n"
        f"{table_block(rows, ('PLUGIN', 'SCORE', 'WEIGHT'))}",
        answer,
        f"{sums} = {row.total}. Totals are compared between the feasible Nodes only; a total means nothing by itself.",
    )


def _winner(rng: random.Random) -> Draft:
    best: list[str] = []
    while len(best) != 1:  # until there is one winner
        nodes = [
            make_node(
                f"n{n}",
                rng.choice(["4", "8"]),
                rng.choice(["8Gi", "16Gi"]),
                taints=[_prefer("slow")] * rng.randint(0, 1),
            )
            for n in range(1, 4)
        ]
        used = {node["metadata"]["name"]: some_pods(rng, node, rng.randint(0, 3)) for node in nodes}
        pod = make_pod("web", {"cpu": "500m", "memory": "512Mi"})
        found = examine(pod, nodes, [one for pods in used.values() for one in pods])
        best = found.best
    names = [row.node for row in found.nodes]
    fullest = min(found.nodes, key=lambda row: row.raw[_FIT]).node
    emptiest = max(found.nodes, key=lambda row: row.raw[_FIT]).node
    answer = choice(
        best[0],
        names,
        "Add the weighted scores: a `PreferNoSchedule` taint costs 300 here, more than room and balance "
        "together bring.",
        {
            name: why
            for name, why in ((emptiest, "Emptier, but a PreferNoSchedule taint costs 300 points."),
                              (fullest, "The default spreads: the fuller Node gets the lower score."))
            if name != best[0]
        },
    )  # fmt: skip
    taints = [(n["metadata"]["name"], "slow:PreferNoSchedule" if n["spec"].get("taints") else "-") for n in nodes]
    rows = [(row.node, *row.weighted.values(), row.total) for row in found.nodes]
    columns = ("NODE", *found.nodes[0].weighted, "TOTAL")
    return Draft(
        f"The default profile. Which Node does this Pod go to?\n\n{pod_block(pod)}\n\n"
        f"{table_block(taints, ('NODE', 'TAINTS'))}\n\n{nodes_table(nodes, used)}",
        answer,
        f"Scores times weights:\n\n{table_block(rows, columns)}\n\n{best[0]} has the highest total.",
    )


KINDS: Sequence[Kind] = (
    Kind("least", 1, f"{_PLUGINS}/noderesources/least_allocated.go", _least),
    Kind("most", 1, f"{_PLUGINS}/noderesources/most_allocated.go", _most),
    Kind("weighted", 1, "pkg/scheduler/framework/runtime/framework.go (RunScorePlugins)", _weighted),
    Kind("taint-scores", 2, f"{_PLUGINS}/tainttoleration/taint_toleration.go (Score)", _taint_scores),
    Kind("affinity-scores", 2, f"{_PLUGINS}/nodeaffinity/node_affinity.go (Score)", _affinity_scores),
    Kind("unrequested", 2, "pkg/scheduler/util/pod_resources.go (GetNonzeroRequests)", _unrequested),
    Kind("balanced", 3, f"{_PLUGINS}/noderesources/balanced_allocation.go", _balanced),
    Kind("ratio", 3, f"{_PLUGINS}/noderesources/requested_to_capacity_ratio.go", _ratio),
    Kind("winner", 3, "pkg/scheduler/schedule_one.go (prioritizeNodes, selectHost)", _winner),
)


def scores(rng: random.Random) -> Drill:
    """An exercise on the scores of Nodes."""
    return generate("scores", KINDS, rng)
