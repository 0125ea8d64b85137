"""Drills on filters: which Nodes a Pod may go to, and what the others are told.

Simplified: see `k8slab.scheduler`; every verdict is a plugin's.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from k8slab.api.tolerations import any_tolerates
from k8slab.drill.answers import choice, name_set
from k8slab.drill.exercise import Draft, Drill, Kind, generate, labels_text, table_block, yaml_block
from k8slab.drill.scheduling import Json, examine, make_node, make_pod, nodes_table, pod_block, some_pods
from k8slab.scheduler import Code, Explanation

__all__ = ["KINDS", "feasible", "filters", "helpless"]

_PLUGINS = "pkg/scheduler/framework/plugins"
_FIT = f"{_PLUGINS}/noderesources/fit.go (fitsRequest)"


def feasible(found: Explanation) -> list[str]:
    """The Nodes that pass every filter."""
    return [row.node for row in found.nodes if row.feasible]


def helpless(found: Explanation) -> list[str]:
    """The rejected Nodes where evicting Pods could not help (UnschedulableAndUnresolvable)."""
    gone = Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    return [row.node for row in found.nodes if any(status.code is gone for status in row.filters.values())]


def _said(found: Explanation) -> str:
    lines = []
    for row in found.nodes:
        reasons = "; ".join(f"{name}: {', '.join(s.reasons)}" for name, s in row.filters.items() if s.reasons)
        lines.append(f"- {row.node}: {reasons or 'fits'}.")
    return "\n".join(lines)


def _others(found: Explanation) -> tuple[list[str], str]:
    names = [row.node for row in found.nodes]
    return [name for name in names if name not in feasible(found)], "Those are the ones that are rejected."


def _names(count: int) -> list[str]:
    return [f"n{number}" for number in range(1, count + 1)]


def _fit(rng: random.Random) -> Draft:
    nodes = [make_node(name, rng.choice(["2", "4"]), rng.choice(["2Gi", "4Gi"])) for name in _names(rng.randint(3, 4))]
    used = {node["metadata"]["name"]: some_pods(rng, node, rng.randint(0, 3)) for node in nodes}
    pod = make_pod("web", {"cpu": rng.choice(["500m", "1", "1500m"]), "memory": rng.choice(["512Mi", "1Gi", "2Gi"])})
    there = [one for pods in used.values() for one in pods]
    found = examine(pod, nodes, there, plugin="NodeResourcesFit")
    empty = feasible(examine(pod, nodes, plugin="NodeResourcesFit"))
    by_cpu = make_pod("web", {"cpu": pod["spec"]["containers"][0]["resources"]["requests"]["cpu"]})
    cpu_alone = feasible(examine(by_cpu, nodes, there, plugin="NodeResourcesFit"))
    wrong = [
        (empty, "That forgets the Pods that are there already."),
        (cpu_alone, "There is enough CPU there, but not enough memory everywhere."),
        _others(found),
    ]
    hint = "Per Node: allocatable less the requests of the Pods there; both CPU and memory must suffice."
    return Draft(
        f"The Pod `web` asks for {_wants(pod)}. On which Nodes is there room?\n\n{nodes_table(nodes, used)}",
        name_set(feasible(found), [row.node for row in found.nodes], hint, wrong),
        f"{_said(found)}\n\nThe sums of requests count, not what is really used, and each Node by itself.",
    )


def _wants(pod: Json) -> str:
    requests = pod["spec"]["containers"][0].get("resources", {}).get("requests", {})
    words = {"cpu": "CPU", "memory": "memory"}
    return " and ".join(f"`{amount}` of {words[name]}" for name, amount in requests.items())


_TAINTS = ({"key": "gpu", "effect": "NoSchedule"}, {"key": "team", "value": "blue", "effect": "NoSchedule"},
           {"key": "maintenance", "effect": "NoExecute"}, {"key": "slow", "effect": "PreferNoSchedule"})  # fmt: skip
_TOLERATIONS = (
    {"key": "gpu", "operator": "Exists"},
    {"key": "team", "operator": "Equal", "value": "blue", "effect": "NoSchedule"},
    {"key": "team", "operator": "Equal", "value": "red", "effect": "NoSchedule"},
    {"operator": "Exists"},
    {"key": "gpu", "operator": "Exists", "effect": "NoExecute"},
    {"key": "maintenance", "operator": "Exists", "effect": "NoExecute"},
    {"key": "team", "operator": "Exists"},
)


def _taint_text(taint: Json) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint['key']}{value}:{taint['effect']}"


def _taints_text(node: Json) -> str:
    return ", ".join(map(_taint_text, node["spec"].get("taints", ()))) or "-"


def _tainted(nodes: Sequence[Json]) -> str:
    return table_block([(node["metadata"]["name"], _taints_text(node)) for node in nodes], ("NODE", "TAINTS"))


def _taints(rng: random.Random) -> Draft:
    nodes = [make_node(name, taints=rng.sample(_TAINTS, rng.randint(0, 2))) for name in _names(4)]
    tolerations = rng.sample(_TOLERATIONS, rng.randint(1, 2))
    pod = make_pod("web", tolerations=tolerations)
    found = examine(pod, nodes, plugin="TaintToleration")
    names = [row.node for row in found.nodes]
    untainted = [n["metadata"]["name"] for n in nodes if not n["spec"].get("taints")]
    one_will_do = [
        n["metadata"]["name"] for n in nodes
        if not n["spec"].get("taints") or any(any_tolerates(tolerations, taint) for taint in n["spec"]["taints"])
    ]  # fmt: skip
    wrong = [
        (untainted, "A toleration opens Nodes with that taint, and `PreferNoSchedule` never rejects."),
        (one_will_do, "Every taint of a Node must be tolerated, not just one."),
        ([name for name in names if name not in untainted], "A toleration allows; it does not attract."),
        _others(found),
    ]
    hint = "A Node passes if each of its NoSchedule and NoExecute taints is matched by some toleration."
    return Draft(
        f"Which Nodes pass TaintToleration for this Pod?\n\n{yaml_block({'tolerations': tolerations})}\n\n"
        f"{_tainted(nodes)}",
        name_set(feasible(found), names, hint, wrong),
        f"{_said(found)}\n\n{hint} No key with `Exists` matches every taint, no effect matches every effect.",
    )


_LABELS = {"disk": ("ssd", "hdd"), "zone": ("a", "b", "c"), "gen": ("3", "5", "12")}


def _labelled(rng: random.Random, count: int) -> list[Json]:
    return [
        make_node(name, labels={key: rng.choice(values) for key, values in _LABELS.items() if rng.random() < 0.75})
        for name in _names(count)
    ]


def _labels_table(nodes: Sequence[Json]) -> str:
    rows = [(node["metadata"]["name"], labels_text(node["metadata"]["labels"])) for node in nodes]
    return table_block(rows, ("NODE", "LABELS"))


def _expression(rng: random.Random, key: str) -> Json:
    operator = rng.choice(["In", "NotIn", "Exists", "DoesNotExist", *(["Gt", "Lt"] if key == "gen" else [])])
    if operator.endswith("In"):
        return {"key": key, "operator": operator, "values": rng.sample(_LABELS[key], rng.randint(1, 2))}
    values: Json = {"values": [rng.choice(["3", "4", "10"])]} if operator in ("Gt", "Lt") else {}
    return {"key": key, "operator": operator, **values}


def _required(terms: list[Json]) -> Json:
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def _affinity(rng: random.Random) -> Draft:
    nodes = _labelled(rng, rng.randint(4, 5))
    terms = [
        {"matchExpressions": [_expression(rng, key) for key in rng.sample(list(_LABELS), rng.randint(1, 2))]}
        for _ in range(rng.randint(1, 2))
    ]
    found = examine(make_pod(affinity=_required(terms)), nodes, plugin="NodeAffinity")
    together = [expression for term in terms for expression in term["matchExpressions"]]
    split = [{"matchExpressions": [expression]} for expression in together]

    def under(other: list[Json]) -> list[str]:
        return feasible(examine(make_pod(affinity=_required(other)), nodes, plugin="NodeAffinity"))

    wrong = [
        (under([{"matchExpressions": together}]), "Terms are alternatives: one that matches is enough."),
        (under(split), "Within a term all expressions must hold."),
        _others(found),
    ]
    hint = "Terms are joined by *or*, the expressions of a term by *and*; a missing label matches NotIn."
    return Draft(
        f"Which Nodes match this required node affinity?\n\n{yaml_block({'nodeSelectorTerms': terms})}\n\n"
        f"{_labels_table(nodes)}",
        name_set(feasible(found), [row.node for row in found.nodes], hint, wrong),
        f"{_said(found)}\n\n{hint} Gt and Lt compare integers.",
    )


def _empty_terms(rng: random.Random) -> Draft:
    nodes = _labelled(rng, 4)
    key = rng.choice(list(_LABELS))
    value = rng.choice(_LABELS[key])
    other = rng.choice([name for name in _LABELS if name != key])
    both: Json = {
        "nodeSelector": {key: value},
        "affinity": _required([{"matchExpressions": [_expression(rng, other)]}]),
    }
    spec = rng.choice(
        [
            {"affinity": _required([{}])},
            {"affinity": _required([{}, {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}])},
            both,
            both,
            {"nodeSelector": {}},
        ]
    )
    found = examine(make_pod(**spec), nodes, plugin="NodeAffinity")
    names = [row.node for row in found.nodes]
    wrong = [
        (names, "Something is excluded here: an empty term matches nothing, and all parts must hold."),
        _others(found),
    ]
    hint = "nodeSelector and affinity must both hold; an empty term matches no Node, an empty nodeSelector every one."
    return Draft(
        f"Which Nodes may this Pod go to?\n\n{yaml_block(spec)}\n\n{_labels_table(nodes)}",
        name_set(feasible(found), names, hint, wrong),
        f"{_said(found)}\n\n{hint}",
    )


def _port_text(port: Json) -> str:
    return f"{port.get('hostIP', '0.0.0.0')}:{port['hostPort']}/{port.get('protocol', 'TCP')}"


def _port(rng: random.Random) -> Json:
    port: Json = {"containerPort": 80, "hostPort": rng.choice([80, 80, 443, 8080])}
    if rng.random() < 0.3:
        port["protocol"] = "UDP"
    if rng.random() < 0.4:
        port["hostIP"] = rng.choice(["127.0.0.1", "10.0.0.7"])
    return port


def _ports(rng: random.Random) -> Draft:
    nodes = [make_node(name) for name in _names(4)]
    there = [make_pod(f"on-{n}", host_port=_port(rng), nodeName=n) for n in _names(4)[: rng.randint(2, 4)]]
    wanted = _port(rng)
    pod = make_pod("web", host_port=wanted)
    found = examine(pod, nodes, there, plugin="NodePorts")
    same = [
        one["spec"]["nodeName"]
        for one in there
        if one["spec"]["containers"][0]["ports"][0]["hostPort"] == wanted["hostPort"]
    ]
    names = [row.node for row in found.nodes]
    wrong = [
        ([n for n in names if n not in same], "The same number alone is no conflict: protocol and address count too."),
        (names, "Two Pods cannot have the same port of one Node; 0.0.0.0 means all addresses."),
        _others(found),
    ]
    rows = [(one["spec"]["nodeName"], _port_text(one["spec"]["containers"][0]["ports"][0])) for one in there]
    rows += [(name, "-") for name in names[len(there) :]]
    hint = "Conflict: the same port and protocol, and the same address or one of the two is 0.0.0.0."
    return Draft(
        f"The Pod `web` wants the host port `{_port_text(wanted)}`. Which Nodes can give it?\n\n"
        f"{table_block(rows, ('NODE', 'HOST PORTS IN USE'))}",
        name_set(feasible(found), names, hint, wrong),
        f"{_said(found)}\n\n{hint}",
    )


def _cordoned(rng: random.Random) -> Draft:
    nodes = [make_node(name, unschedulable=rng.random() < 0.5) for name in _names(4)]
    tolerations: list[Json] = rng.choice(
        [
            [],
            [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}],
            [{"key": "node.kubernetes.io/unschedulable", "operator": "Equal", "value": "x"}],
            [{"operator": "Exists"}],
            [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}],
        ]
    )
    pod = make_pod("web", tolerations=tolerations)
    found = examine(pod, nodes, plugin="NodeUnschedulable")
    names = [row.node for row in found.nodes]
    rows = [(node["metadata"]["name"], "true" if node["spec"].get("unschedulable") else "false") for node in nodes]
    free = [name for name, cordoned in rows if cordoned == "false"]
    wrong = [
        (names, "Nothing in this Pod tolerates a cordon."),
        (free, "This Pod tolerates a cordon."),
        _others(found),
    ]
    hint = "A cordon is treated as the taint node.kubernetes.io/unschedulable:NoSchedule with an empty value."
    shown = yaml_block({"tolerations": tolerations}) if tolerations else "The Pod has no tolerations."
    return Draft(
        f"Some Nodes are cordoned. Which pass NodeUnschedulable for this Pod?\n\n{shown}\n\n"
        f"{table_block(rows, ('NODE', 'SPEC.UNSCHEDULABLE'))}",
        name_set(feasible(found), names, hint, wrong),
        f"{_said(found)}\n\n{hint} That is how DaemonSet Pods get onto cordoned Nodes.",
    )


def _mixed(rng: random.Random) -> tuple[Json, list[Json], dict[str, list[Json]]]:
    """A Pod, Nodes of which some are full, tainted or without the label, and the Pods there."""
    nodes = []
    for name in _names(4):
        taints = [_TAINTS[0]] if rng.random() < 0.3 else []
        labels = {"disk": rng.choice(["ssd", "ssd", "hdd"])}
        nodes.append(make_node(name, rng.choice(["1", "2", "4"]), "4Gi", taints=taints, labels=labels))
    used = {node["metadata"]["name"]: some_pods(rng, node, rng.randint(0, 3)) for node in nodes}
    pod = make_pod("web", {"cpu": rng.choice(["500m", "1", "1500m"]), "memory": "512Mi"}, nodeSelector={"disk": "ssd"})
    return pod, nodes, used


def _cluster(nodes: Sequence[Json], used: dict[str, list[Json]]) -> str:
    rows = [(n["metadata"]["name"], labels_text(n["metadata"]["labels"]), _taints_text(n)) for n in nodes]
    about = table_block(rows, ("NODE", "LABELS", "TAINTS"))
    return f"{about}\n\n{nodes_table(nodes, used)}"


def _all_filters(rng: random.Random) -> Draft:
    pod, nodes, used = _mixed(rng)
    found = examine(pod, nodes, [one for pods in used.values() for one in pods])
    names = [row.node for row in found.nodes]

    def without(plugin: str) -> list[str]:
        return [r.node for r in found.nodes if all(s.is_success for name, s in r.filters.items() if name != plugin)]

    wrong: list[tuple[list[str], str]] = [
        (without("TaintToleration"), "One of those has a taint the Pod does not tolerate."),
        (without("NodeAffinity"), "One of those does not have the label of the nodeSelector."),
        (without("NodeResourcesFit"), "One of those has no room left."),
        _others(found),
    ]
    return Draft(
        f"Which Nodes pass all filters for this Pod?\n\n{pod_block(pod)}\n\n{_cluster(nodes, used)}",
        name_set(feasible(found), names, "Check taints, the nodeSelector and room, Node by Node.", wrong),
        f"{_said(found)}\n\nA Node must pass every filter; the scheduler stops at the first that says no.",
    )


_REASONS = {
    "node(s) had untolerated taint(s)": "taint",
    "node(s) didn't match Pod's node affinity/selector": "affinity",
    "Insufficient cpu": "cpu",
    "Insufficient memory": "memory",
}


def _reason(rng: random.Random) -> Draft:
    rejected: list[Any] = []
    while not rejected:  # until the cluster drawn has a Node that says no
        pod, nodes, used = _mixed(rng)
        found = examine(pod, nodes, [one for pods in used.values() for one in pods])
        rejected = [row for row in found.nodes if not row.feasible]
    row = rng.choice(rejected)
    first = next(status for status in row.filters.values() if status.reasons)
    right = _REASONS[first.reasons[0]]
    later = [_REASONS[reason] for reason in row.reasons if _REASONS[reason] != right]
    order = "Filters run in the order of the profile (taints, then affinity, then resources) and stop at the first no."
    return Draft(
        f"`{row.node}` is rejected. Which reason is counted for it in `FailedScheduling`? Answer with `taint`, "
        f"`affinity`, `cpu` or `memory`.\n\n{pod_block(pod)}\n\n{_cluster(nodes, used)}",
        choice(right, list(_REASONS.values()), order, dict.fromkeys(later, order)),
        f"`{first.reasons[0]}`, from {first.plugin}. {order}\n\n{_said(found)}",
    )


def _preemption(rng: random.Random) -> Draft:
    rejected: list[str] = []
    while len(rejected) < 2:  # until the cluster drawn has Nodes that say no; only those are shown
        pod, nodes, used = _mixed(rng)
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = rng.choice(["1500m", "2", "3"])
        there = [one for pods in used.values() for one in pods]
        rejected = [row.node for row in examine(pod, nodes, there).nodes if not row.feasible]
    nodes = [node for node in nodes if node["metadata"]["name"] in rejected]
    found = examine(pod, nodes, there)
    names = [row.node for row in found.nodes]
    right = [name for name in rejected if name not in helpless(found)]
    wrong = [
        (rejected, "Evicting Pods removes no taint, adds no label, and makes no Node larger."),
        (helpless(found), "Those are the ones where it cannot help."),
    ]
    hint = "It can help where the Pod would fit if the Node were empty, and nothing but room is missing."
    return Draft(
        f"No Node accepts this Pod, which has a high priority. On which of them could evicting other Pods help?\n\n"
        f"{pod_block(pod)}\n\n{_cluster(nodes, used)}",
        name_set(right, names, hint, wrong),
        f"{_said(found)}\n\n{hint} The verdict of the others is UnschedulableAndUnresolvable, and preemption does not "
        "look at them.",
    )


KINDS: Sequence[Kind] = (
    Kind("fit", 1, _FIT, _fit),
    Kind("taints", 1, f"{_PLUGINS}/tainttoleration/taint_toleration.go (Filter)", _taints),
    Kind("cordoned", 1, f"{_PLUGINS}/nodeunschedulable/node_unschedulable.go (Filter)", _cordoned),
    Kind("affinity", 2, "component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go (Match)", _affinity),
    Kind("ports", 2, f"{_PLUGINS}/nodeports/node_ports.go (Filter)", _ports),
    Kind("all-filters", 2, "pkg/scheduler/framework/runtime/framework.go (RunFilterPlugins)", _all_filters),
    Kind("empty-terms", 3, "component-helpers/scheduling/corev1/nodeaffinity/nodeaffinity.go (Match)", _empty_terms),
    Kind("reason", 3, "pkg/scheduler/framework/runtime/framework.go (RunFilterPlugins)", _reason),
    Kind("preemption", 3, f"{_FIT}, pkg/scheduler/framework/preemption/preemption.go", _preemption),
)


def filters(rng: random.Random) -> Drill:
    """An exercise on which Nodes are feasible."""
    return generate("filters", KINDS, rng)
