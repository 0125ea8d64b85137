"""Coding tasks about one Node or one Pod: requests and room, balance, names, neighbours, a scheduler's own pool.

Each judge asks the in-tree plugin the same question and compares. Where the answers differ, it tries what people get
wrong, and names the mistake that gives the same wrong answer.

Simplified: see `k8slab.scheduler`.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.quantity import quantity
from k8slab.drill.scheduling import examine, make_node, make_pod
from k8slab.drill.task import Call, Task, Wrong, a_list, a_mapping, a_status, a_whole_number, distinct, either
from k8slab.scheduler import Code, Framework, KubeSchedulerConfiguration, Snapshot

__all__ = ["NODE_TASKS"]

Json = dict[str, Any]
_PLUGINS = "pkg/scheduler/framework/plugins"
_GPU = "example.com/gpu"
_MI = 1 << 20


# -- balanced ----------------------------------------------------------------------------------------

_BALANCED = "NodeResourcesBalancedAllocation"
Amounts = dict[str, int]


def _shares(amounts: Amounts, has: Amounts) -> tuple[float, float]:
    return amounts["cpu"] / has["cpu"], amounts["memory"] / has["memory"]


def _with(used: Amounts, asked: Amounts) -> Amounts:
    return {name: used[name] + asked[name] for name in used}


def _through_1_35(used: Amounts, asked: Amounts, has: Amounts) -> int:
    cpu, memory = _shares(_with(used, asked), has)
    return int((1 - abs(cpu - memory) / 2) * 100)


def _of_ten(used: Amounts, asked: Amounts, has: Amounts) -> int:
    cpu, memory = _shares(_with(used, asked), has)
    return int(10 - abs(cpu - memory) * 10)


def _pairs_twice(used: Amounts, asked: Amounts, has: Amounts) -> int:
    cpu, memory = _shares(_with(used, asked), has)
    return max(0, int(100 - 2 * abs(cpu - memory) * 100))


def _whole_difference(used: Amounts, asked: Amounts, has: Amounts) -> int:
    cpu, memory = _shares(_with(used, asked), has)
    return int((1 - abs(cpu - memory)) * 100)


def _without_the_pod(used: Amounts, asked: Amounts, has: Amounts) -> int:
    return _through_1_35(used, dict.fromkeys(used, 0), has)


def _least_allocated(used: Amounts, asked: Amounts, has: Amounts) -> int:
    cpu, memory = _shares(_with(used, asked), has)
    return (int((1 - cpu) * 100) + int((1 - memory) * 100)) // 2


_BALANCE_MISTAKES: Sequence[tuple[Callable[[Amounts, Amounts, Amounts], int], str]] = (
    (_through_1_35, "That is the formula through 1.35, the balance with the Pod there. 1.36 scores the change."),
    (_without_the_pod, "That is the balance before the Pod comes. The score compares it with the balance afterwards."),
    (_of_ten, "That counts to 10. Scores of plugins go to 100 (those of extenders to 10)."),
    (_pairs_twice, "That adds each pair of resources in both orders, so the difference counts twice."),
    (_whole_difference, "That takes off the whole difference. The standard deviation of two numbers is half of it."),
    (_least_allocated, "That is LeastAllocated: how empty the Node is, not how even."),
)  # fmt: skip


def _cut(value: float) -> set[int]:
    """Cut off; where rounding of floats could make it either of two, both."""
    return {math.floor(value - 1e-9), math.floor(value + 1e-9)}


def _scores(used: Amounts, asked: Amounts, has: Amounts) -> set[int]:
    """The score, however the floats of the two balances were rounded."""
    (cpu, memory), (cpu_then, memory_then) = _shares(used, has), _shares(_with(used, asked), has)
    before, then = 100 - 50 * abs(cpu - memory), 100 - 50 * abs(cpu_then - memory_then)
    return {50 + (50 + b - a) // 2 for a in _cut(before) for b in _cut(then)}


def _judge_balanced(call: Call, rng: random.Random, number: int) -> None:
    has = {"cpu": rng.choice([1000, 4000, 16000]), "memory": rng.choice([1000, 8000, 64000])}
    if number % 4 == 3:  # the plain case: even before and after
        share, more = rng.randint(0, 4), rng.randint(1, 5)
        used = {name: amount * share // 10 for name, amount in has.items()}
        asked = {name: amount * (share + more) // 10 - used[name] for name, amount in has.items()}
    else:
        used = {name: rng.randint(0, amount - 1) for name, amount in has.items()}
        asked = {name: rng.randint(0, has[name] - used[name]) for name in has}
        asked["cpu"] = max(1, asked["cpu"])  # a Pod that asks for nothing is not scored
    call.case = {"used": used, "asked": asked, "has": has}
    pod, there = (make_pod(n, {"cpu": f"{a['cpu']}m", "memory": f"{a['memory']}Mi"}) for n, a in
                  (("new", asked), ("old", used)))  # fmt: skip
    there["spec"]["nodeName"] = "n1"
    node = make_node("n1", f"{has['cpu']}m", f"{has['memory']}Mi")
    right = examine(pod, [node], [there], plugin=_BALANCED).nodes[0].raw[_BALANCED]
    given = a_whole_number(call.on_copies(used, asked, has), 0, 100)
    if given == right or {given, right} <= _scores(used, asked, has):
        return
    why = either(text for wrong, text in _BALANCE_MISTAKES if wrong(used, asked, has) == given)
    even = _shares(used, has)[0] == _shares(used, has)[1] and _through_1_35(used, asked, has) == 100
    raise Wrong("unchanged" if even else "plugin", f"It returned {given}, the plugin {right}.{why}")


_BALANCED_TASK = Task(
    "balanced",
    "balanced(used, asked, has)",
    {
        "unchanged": "A Pod that leaves the balance as it is scores 75.",
        "plugin": "The score is the one that NodeResourcesBalancedAllocation of 1.36 gives.",
    },
    _judge_balanced,
    f"{_PLUGINS}/noderesources/balanced_allocation.go",
)


# -- fit ---------------------------------------------------------------------------------------------


def _container(rng: random.Random, number: int) -> Json:
    """Some requests, and perhaps a far higher limit (never alone: the API server would copy it to the request)."""
    cpu, memory, gpu = rng.choice([0, 100, 250, 500, 1000]), rng.choice([0, 128, 256, 512]), rng.choice([0, 0, 1])
    amounts = {"cpu": f"{cpu}m", "memory": f"{memory}Mi", _GPU: str(gpu)}
    requests = {name: amounts[name] for name, amount in (("cpu", cpu), ("memory", memory), (_GPU, gpu)) if amount}
    limits = {"cpu": f"{cpu * 64}m"} if cpu and number > 2 and rng.random() < 0.5 else {}
    return {"name": "app", "resources": {"requests": requests, **({"limits": limits} if limits else {})}}


def _asks(spec: Json, rule: str) -> Amounts:
    """What a Pod asks for by a rule: `right`, or the name of a mistake."""

    def amounts(container: Json) -> dict[str, Any]:
        resources = container["resources"]
        return {**resources["requests"], **(resources.get("limits", {}) if rule == "limits" else {})}

    def total(containers: Sequence[Json], name: str) -> int:
        found = [quantity(amounts(c).get(name, "0")) for c in containers]
        return sum(amount.milli_value() if name == "cpu" else amount.value() for amount in found)

    asks = {}
    for name in ("cpu", "memory", _GPU):
        main, first = total(spec["containers"], name), [total([c], name) for c in spec["initContainers"]]
        if rule == "init-added":
            asks[name] = main + sum(first)
        else:
            asks[name] = main if rule == "init-left-out" else max(main, *first, 0)
    return asks


def _lacks(asks: Amounts, free: Amounts, rule: str) -> list[str]:
    lacks = ["Too many pods"] if free["pods"] < 1 else []
    for name, amount in asks.items():
        asked = amount > 0 or rule == "unasked"
        short = amount >= free[name] if rule == "equal" else amount > free[name]
        lacks += [f"Insufficient {name}"] if asked and short else []
    return lacks


_FIT_MISTAKES = {
    "limits": "That counts limits. The scheduler reads requests only.",
    "init-added": "That adds the init containers. They run before the others: the larger of the two counts.",
    "init-left-out": "That leaves the init containers out. One that asks for more than all others together decides.",
    "equal": "That refuses what fits exactly.",
    "unasked": "That rejects the Pod for a resource it does not ask for.",
}


def _judge_fit(call: Call, rng: random.Random, number: int) -> None:
    spec: Json = {
        "containers": [_container(rng, number) for _ in range(1 if number < 10 else rng.randint(1, 3))],
        "initContainers": [_container(rng, 0) for _ in range(0 if number < 6 else rng.randint(0, 2))],
    }
    pod: Json = {"metadata": {"name": "web", "namespace": "default", "uid": "web"}, "spec": spec}
    asks = _asks(spec, "right")
    free = {
        "cpu": asks["cpu"] + rng.choice([-100, 0, 0, 50, 3000]),
        "memory": asks["memory"] + rng.choice([-1, 0, 1]) * 64 * _MI,
        _GPU: rng.choice([0, 1, 2, 3]),
        "pods": 0 if rng.random() < 0.1 else rng.randint(1, 20),
    }
    call.case = {**spec, "free": free}
    right = _reasons_of_the_plugin(pod, free)
    wanted = "a list of reasons such as 'Insufficient cpu', empty when it fits"
    given = a_list(call.on_copies(pod, free), str, wanted)
    distinct(given, "reasons")
    if sorted(given) == sorted(right):
        return
    rules = [rule for rule in _FIT_MISTAKES if sorted(_lacks(_asks(spec, rule), free, rule)) == sorted(given)]
    broken = rules[0] if rules in (["limits"], ["unasked"]) else "plugin"
    why = either(_FIT_MISTAKES[rule] for rule in rules)
    raise Wrong(broken, f"It returned {given}, expected {right}.{why}")


def _reasons_of_the_plugin(pod: Object, free: Amounts) -> list[str]:
    """On a Node with one Pod, so full that `free` is left; less than nothing is left on a Node that shrank."""
    used = {"cpu": 4000, "memory": 4096 * _MI, _GPU: 4}
    node = make_node("n1", f"{free['cpu'] + used['cpu']}m", str(free["memory"] + used["memory"]), str(free["pods"] + 1))
    node["status"]["allocatable"][_GPU] = str(free[_GPU] + used[_GPU])
    there = make_pod("old", {"cpu": "4", "memory": "4Gi", _GPU: "4"}, nodeName="n1")
    return examine(pod, [node], [there], plugin="NodeResourcesFit").nodes[0].reasons


_FIT_TASK = Task(
    "fit",
    "fit(pod, free)",
    {
        "limits": "Limits change nothing.",
        "unasked": "What a Pod does not ask for cannot keep it away, even from a Node that has less than nothing left.",
        "plugin": "The reasons are those that NodeResourcesFit gives.",
    },
    _judge_fit,
    f"{_PLUGINS}/noderesources/fit.go",
)


# -- node-name ---------------------------------------------------------------------------------------


def _judge_node_name(call: Call, rng: random.Random, number: int) -> None:
    node = rng.choice(["node-1", "node-2", "node-10", "NODE-1"])
    wanted = [None, "", node, "node-1", "node-10", "node"][number % 6]
    pod = make_pod("web")
    pod["spec"] |= {} if wanted is None else {"nodeName": wanted}
    call.case = {"spec.nodeName": wanted, "node_name": node}
    right = examine(pod, [make_node(node)], plugin="NodeName").nodes[0].filters["NodeName"]
    given = a_status(call.on_copies(pod, node))
    if given.is_success != right.is_success:
        raise Wrong("match", f"It said {given.code}, expected {right.code}.")
    if given.code is not right.code:
        preempts = given.code is Code.UNSCHEDULABLE
        why = " Unschedulable would let preemption evict Pods for nothing." if preempts else ""
        raise Wrong("code", f"It said {given.code}, expected {right.code}.{why}")
    if given.reasons != right.reasons:
        raise Wrong("reason", f"Its reason is {given.message!r}, expected {right.message!r}.")


_NODE_NAME_TASK = Task(
    "node-name",
    "node_name(pod, node_name)",
    {
        "match": "A Pod without spec.nodeName passes everywhere, one with it only on the Node of exactly that name.",
        "code": "No eviction can change a Node's name: the verdict is UnschedulableAndUnresolvable.",
        "reason": "The reason is upstream's text.",
    },
    _judge_node_name,
    f"{_PLUGINS}/nodename/node_name.go",
    cases=60,
)


# -- anti-affinity -----------------------------------------------------------------------------------

_APPS = ("web", "db", "cache")


def _some_avoids(rng: random.Random, chance: float) -> list[list[str]]:
    return [[rng.choice(_APPS), rng.choice(["zone", "host"])]] if rng.random() < chance else []


def _affinity_pod(name: str, pod: Json) -> Json:
    terms = [{"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key} for app, key in pod["avoids"]]
    anti = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    made = make_pod(name, affinity=anti if terms else {}, **({"nodeName": pod["node"]} if "node" in pod else {}))
    made["metadata"]["labels"] = {"app": pod["app"]}
    return made


def _allowed(new: Json, running: Sequence[Json], nodes: Mapping[str, Mapping[str, str]], rule: str) -> list[str]:
    """Nodes where it may go by a rule: one of the mistakes."""

    def near(one: str, other: str, key: str) -> bool:
        if rule == "same-node":
            return one == other
        if rule == "missing-key":
            return nodes[one].get(key) == nodes[other].get(key)
        return key in nodes[one] and nodes[one][key] == nodes[other].get(key)

    def clash(node: str, pod: Json) -> bool:
        own = any(app == pod["app"] and near(node, pod["node"], key) for app, key in new["avoids"])
        theirs = any(app == new["app"] and near(node, pod["node"], key) for app, key in pod["avoids"])
        return own or (theirs and rule != "one-sided")

    allowed = [node for node in nodes if not any(clash(node, pod) for pod in running)]
    if rule == "key-needed":
        return [node for node in allowed if all(key in nodes[node] for _, key in new["avoids"])]
    return allowed


_AFFINITY_MISTAKES = {
    "one-sided": "That asks the new Pod only. A running Pod that wants the new one away keeps it away, too.",
    "same-node": "That compares Nodes. Near means: the same value of the topology key.",
    "missing-key": "That takes Nodes without the label for one common place. Without the label they are nowhere.",
    "key-needed": "That refuses Nodes without the label. For anti-affinity they are always allowed.",
}


def _judge_anti_affinity(call: Call, rng: random.Random, number: int) -> None:
    nodes = {}
    for n in range(1, min(2 + number // 20, 5) + 1):
        labels = {"zone": rng.choice("ab"), "host": f"n{n}"}
        nodes[f"n{n}"] = labels if rng.random() < 0.8 else {"host": f"n{n}"}
    running = [{"app": rng.choice(_APPS), "node": rng.choice(list(nodes)), "avoids": _some_avoids(rng, 0.4)}
               for _ in range(rng.randint(1, 1 + min(number // 10, 4)))]  # fmt: skip
    new = {"app": rng.choice(_APPS), "avoids": _some_avoids(rng, 0.7)}
    call.case = {"new": new, "running": running, "nodes": nodes}
    pods = [_affinity_pod(f"p{n}", pod) for n, pod in enumerate(running)]
    found = examine(_affinity_pod("new", new), [make_node(n, labels=labels) for n, labels in nodes.items()], pods,
                    plugin="InterPodAffinity")  # fmt: skip
    right = sorted(row.node for row in found.nodes if row.feasible)
    given = a_list(call.on_copies(new, running, nodes), str, "a list of names of Nodes")
    distinct(given, "Nodes")
    if sorted(given) == right:
        return
    rules = [rule for rule in _AFFINITY_MISTAKES if sorted(_allowed(new, running, nodes, rule)) == sorted(given)]
    said = f"It allowed {', '.join(sorted(given)) or 'no Node'}, expected {', '.join(right) or 'none'}."
    broken = "symmetry" if rules == ["one-sided"] else "domains"
    raise Wrong(broken, f"{said}{either(_AFFINITY_MISTAKES[rule] for rule in rules)}")


_ANTI_AFFINITY_TASK = Task(
    "anti-affinity",
    "anti_affinity(new, running, nodes)",
    {
        "symmetry": "Required anti-affinity holds both ways: for the new Pod, and for those that run.",
        "domains": "Two Nodes are one place when the topology key has the same value on both.",
    },
    _judge_anti_affinity,
    f"{_PLUGINS}/interpodaffinity/filtering.go",
)


# -- pool --------------------------------------------------------------------------------------------


def _judge_pool(call: Call, rng: random.Random, number: int) -> None:
    name = rng.choice(["batch", "gpu-scheduler", "low-latency"])
    key, value = rng.choice([("pool", "batch"), ("scheduler", "custom"), ("example.com/pool", "blue")])
    call.case = {"scheduler_name": name, "key": key, "value": value}
    framework = _framework_of(call.on_copies(name, key, value), name)
    labels = [rng.choice([{key: value}, {key: "other"}, {}, {"disk": value}]) for _ in range(6)]
    nodes = [make_node(f"n{n}", rng.choice(["1", "8"]), labels={**found, "disk": rng.choice(["ssd", "hdd"])})
             for n, found in enumerate(labels, 1)]  # fmt: skip
    own = {"nodeSelector": {"disk": "ssd"}} if number % 2 else {}
    pod = make_pod("web", {"cpu": "2", "memory": "1Gi"}, schedulerName=name, **own)
    labels_of = {node["metadata"]["name"]: node["metadata"]["labels"] for node in nodes}
    call.case = {**call.case, "labels of the Nodes": labels_of, "nodeSelector of the Pod": own.get("nodeSelector")}
    given = {row.node: row for row in framework.explain(pod, Snapshot.of(nodes)).nodes}
    usual = {row.node: row.feasible for row in examine(pod, nodes).nodes}
    for node in nodes:
        where, inside = node["metadata"]["name"], node["metadata"]["labels"].get(key) == value
        if given[where].feasible and not inside:
            raise Wrong("inside", f"A Pod of {name} may go to {where}, which is not in the pool.")
        if given[where].feasible and not usual[where]:
            raise Wrong("filters", f"A Pod of {name} may go to {where}, which the default profile rejects.")
        if inside and usual[where] and not given[where].feasible:
            raise Wrong("whole", f"{where} is in the pool, and is rejected: {', '.join(given[where].reasons)}.")


def _framework_of(raw: Any, name: str) -> Framework:
    config = a_mapping(raw, "a KubeSchedulerConfiguration as a dict")
    try:
        plain = json.loads(json.dumps(config))
    except (TypeError, ValueError, RecursionError) as error:
        raise Wrong("loads", f"It cannot be written as JSON: {error}.") from error
    try:
        found = KubeSchedulerConfiguration.from_dict(plain)
        frameworks = {profile.scheduler_name: Framework.from_profile(profile) for profile in found.profiles}
    except ValueError as error:
        raise Wrong("loads", f"The scheduler does not start: {error}") from error
    if name not in frameworks:
        raise Wrong("named", f"Its profiles are called {', '.join(frameworks)}. A Pod asks for {name}.")
    return frameworks[name]


_POOL_TASK = Task(
    "pool",
    "pool(scheduler_name, key, value)",
    {
        "loads": "kube-scheduler starts with the configuration.",
        "named": "The configuration has a profile with the scheduler's name.",
        "inside": "Pods of the scheduler go only to Nodes with the label.",
        "filters": "The filters of the default profile still hold.",
        "whole": "Every Node with the label that suits the Pod can be used.",
    },
    _judge_pool,
    f"{_PLUGINS}/nodeaffinity/node_affinity.go (addedAffinity)",
    cases=60,
)


NODE_TASKS: Sequence[Task] = (_POOL_TASK, _BALANCED_TASK, _FIT_TASK, _ANTI_AFFINITY_TASK, _NODE_NAME_TASK)
"""The tasks of this module."""
