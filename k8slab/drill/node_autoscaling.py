"""Drills on node autoscaling: how many nodes an estimate asks, whose, and which node may go, and when.

Simplified: see `k8slab.autoscaling.cluster_autoscaler`; every answer is its own. The machines of the exercises keep
nothing for themselves, so that the arithmetic stays short.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from k8slab.autoscaling.cloud import GIB, Cloud, InstanceType, Offering, node_object
from k8slab.autoscaling.cluster_autoscaler import (
    AutoscalingOptions,
    BlockingReason,
    ClusterView,
    DrainContext,
    ExponentialBackoff,
    NodeGroupConfig,
    NodeGroups,
    RemainingPdbTracker,
    ScaleUpStatus,
    StaticAutoscaler,
    balance,
    drainable,
    utilization,
)
from k8slab.drill.answers import choice, name_set, numbers, whole
from k8slab.drill.exercise import Draft, Drill, Kind, generate, table_block, yaml_block
from k8slab.drill.scheduling import Json
from k8slab.scheduler import Framework, NodeInfo, PodInfo

__all__ = ["KINDS", "node_autoscaling"]

_CA = "cluster-autoscaler"
_KEY = "cluster-autoscaler.kubernetes.io/"
_UNSCHEDULABLE = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
_NOW_MS = 7_200_000
_HOUR_AGO, _JUST_NOW = "2026-01-01T00:30:00Z", "2026-01-01T01:50:00Z"


class _Machine(InstanceType):
    """Allocatable is capacity."""

    __slots__ = ()

    def reserved(self) -> dict[str, int]:
        return {}


def _machine(name: str, cpus: int, gib: int = 512) -> InstanceType:
    offers = (Offering("a", "on-demand", 1_000 * cpus),)
    return _Machine(name, "amd64", "m", name, 5, "large", cpus * 1_000, gib * GIB, 500, offers, is_bare_metal=True)


def _mind(groups: Sequence[tuple[NodeGroupConfig, InstanceType]], **flags: Any) -> StaticAutoscaler:
    """An autoscaler over groups and what their machines are."""
    cloud = Cloud({one.name: one for _, one in groups}.values(), random.Random(7))
    made = NodeGroups(cloud, [config for config, _ in groups])
    return StaticAutoscaler(made, Framework.from_profile(), AutoscalingOptions(**flags), random.Random(7))


def _pod(name: str, milli: int, mib: int = 0, *, owner: str = "web", on: str = "") -> Json:
    """A Pod of a ReplicaSet: it waits, or runs on a node."""
    asks = {"cpu": f"{milli}m", **({"memory": f"{mib}Mi"} if mib else {})}
    spec: Json = {"containers": [{"name": "c", "resources": {"requests": asks}}], **({"nodeName": on} if on else {})}
    owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner, "uid": owner, "controller": True}]
    metadata = {"name": name, "namespace": "default", "uid": name, "ownerReferences": owners}
    status = {"phase": "Running"} if on else {"phase": "Pending", "conditions": [_UNSCHEDULABLE]}
    return {"metadata": metadata, "spec": spec, "status": status}


def _asked(mind: StaticAutoscaler, pods: Sequence[Json], daemons: int = 0, config_map: Any = None) -> ScaleUpStatus:
    asks = {"containers": [{"name": "c", "resources": {"requests": {"cpu": f"{daemons}m"}}}]}
    daemon_set = {"metadata": {"name": "agent", "uid": "agent"}, "spec": {"template": {"spec": asks}}}
    view = ClusterView([], pods, daemon_sets=[daemon_set] if daemons else (), priority_config_map=config_map)
    return mind.run_once(view, _NOW_MS).scale_up


# -- how many ---------------------------------------------------------------------------------------


def _estimate(rng: random.Random) -> Draft:
    cpus, daemons = rng.choice([2, 4, 8]), rng.choice([0, 0, 100, 200, 300])
    each = rng.choice([300, 400, 600, 700, 900, 1100, 1300, 1500, 1700])
    room = cpus * 1_000 - daemons
    count = rng.randint(4, 24)
    pool = NodeGroupConfig("pool", "m", max_size=100)
    status = _asked(_mind([(pool, _machine("m", cpus))]), [_pod(f"p{n}", each) for n in range(count)], daemons)
    right = status.infos[0].new_size
    extra = f" A DaemonSet runs on every node and asks for {daemons}m." if daemons else ""
    hint = f"{room}m of a node are left for Pods, so it takes {room // each} of them; a Pod is not cut in two."
    mistakes = {
        -(-count * each // room): "That divides the sum of all requests. A Pod does not stand on two nodes.",
        -(-count // max(cpus * 1_000 // each, 1)): "The DaemonSet's Pod takes its share of every node.",
        count: "More than one Pod fits on a node.",
        1: "It does not buy one and look again: it estimates.",
    }
    return Draft(
        f"{count} Pods of a Deployment wait, each asks for {each}m of CPU. The only node group has no node; its "
        f"machines have {cpus} CPUs, all for Pods.{extra} By how many nodes does the Cluster Autoscaler grow it in "
        "this round?",
        whole(right, hint, mistakes, unit="nodes"),
        f"{hint} {count} Pods by {room // each}, rounded up: {right}.",
    )


def _placed(sizes: Sequence[int], room: int, *, last: bool = False) -> int:
    """Bins that a fit in this order opens: on the first bin with room, or on the last."""
    free: list[int] = []
    for size in sizes:
        fitting = [index for index, left in enumerate(free) if size <= left]
        if fitting:
            free[fitting[-1 if last else 0]] -= size
        else:
            free.append(room - size)
    return len(free)


def _packing(rng: random.Random) -> Draft:
    cpus = rng.choice([4, 8, 10])
    right, orders = 0, list[int]()
    sizes: list[int] = []
    while not right or len({right, *orders}) > 1 or right < 2:
        kinds = rng.sample(range(1, cpus), min(rng.randint(2, 4), cpus - 1))
        sizes = [size for size in kinds for _ in range(rng.randint(1, 4))]
        pods = [_pod(f"{size}-{n}", size * 1_000, owner=f"o{size}") for n, size in enumerate(sizes)]
        mind = _mind([(NodeGroupConfig("pool", "m", max_size=100), _machine("m", cpus))])
        right = _asked(mind, pods).infos[0].new_size
        descending = sorted(sizes, reverse=True)
        orders = [_placed(descending, cpus), _placed(descending, cpus, last=True)]
    rows = [(f"{sizes.count(size)}", f"{size}") for size in dict.fromkeys(sizes)]
    hint = "The largest Pods first, each on a new node with room for it, else on one more."
    mistakes = {
        _placed(sizes, cpus): "That is in the order of the list. The largest come first.",
        _placed(sorted(sizes), cpus): "That is the smallest first. The largest come first.",
        -(-sum(sizes) // cpus): "That is what all of them ask for by what a node has. Pods are not cut in two.",
        len(sizes): "More than one Pod fits on a node.",
    }
    return Draft(
        f"These Pods wait, and the only node group is empty; its machines have {cpus} CPUs, all for Pods.\n\n"
        f"{table_block(rows, ('PODS', 'CPUS EACH'))}\n\nBy how many nodes does the Cluster Autoscaler grow the group? "
        "(Which of several new nodes with room takes a Pod does not matter here.)",
        whole(right, hint, mistakes, unit="nodes"),
        f"{hint} This is first-fit decreasing: {right}.",
    )


def _balance(rng: random.Random) -> Draft:
    names = ("a", "b", "c")
    most = [rng.randint(4, 9) for _ in names]
    sizes = [rng.randint(0, limit) for limit in most]
    new = rng.randint(3, 9)
    configs = [NodeGroupConfig(n, "m", max_size=m, size=s) for n, m, s in zip(names, most, sizes, strict=True)]
    groups = list(_mind([(config, _machine("m", 2)) for config in configs]).groups)
    grown = {info.group.id: info.new_size for info in balance(groups, new)}
    right = [grown.get(name, size) for name, size in zip(names, sizes, strict=True)]
    evenly = [size + new // 3 + (index < new % 3) for index, size in enumerate(sizes)]
    first = [sizes[0] + new, *sizes[1:]]
    hint = "One node after the other, always to the smallest group that is below its maximum."
    rows = list(zip(names, sizes, most, strict=True))
    mistakes = {
        tuple(evenly): "The new nodes are not dealt out evenly: the sizes are made even.",
        tuple(map(min, evenly, most)): "The new nodes are not dealt out evenly: the sizes are made even.",
        tuple(first): "That is without --balance-similar-node-groups.",
        tuple(sizes): "They do grow, where a maximum allows it.",
    }
    return Draft(
        f"`--balance-similar-node-groups`; {new} more nodes are wanted, and these three groups are alike:\n\n"
        f"{table_block(rows, ('GROUP', 'SIZE', 'MAX'))}\n\nWhat are their sizes then? (three numbers, in this order)",
        numbers(right, hint, mistakes),
        f"{hint} What fits into none of them is left out. So: {', '.join(map(str, right))}.",
    )


# -- whose ------------------------------------------------------------------------------------------

_WHAT = {
    "least-waste": "the smallest sum of the unused shares of CPU and of memory",
    "least-nodes": "the fewest new nodes",
    "most-pods": "the most Pods helped",
}


class _Offer(NamedTuple):
    name: str
    cpus: int
    gib: int
    most: int


def _left(expander: str, offers: Sequence[_Offer], pods: Sequence[Json]) -> tuple[tuple[str, ...], str]:
    """(the groups that are left, what the estimates were)."""
    groups = [(NodeGroupConfig(o.name, o.name, max_size=o.most), _machine(o.name, o.cpus, o.gib)) for o in offers]
    status = _asked(_mind(groups, expander=(expander,)), pods)
    estimates = (f"{one.group.id} {one.node_count} for {len(one.pods)} Pods" for one in status.options)
    return dict(status.left_by_expander)[expander], ", ".join(estimates)


def _expander(rng: random.Random) -> Draft:
    expander = rng.choice(list(_WHAT))
    left: dict[str, tuple[str, ...]] = {}
    while len(left.get("least-waste", ())) != 1 or len(set(left.values())) < 2:
        shapes = rng.sample([(2, 8), (2, 16), (4, 8), (4, 16), (4, 32), (8, 16), (8, 32), (8, 64), (16, 64)], 3)
        offers = [_Offer(name, *shape, rng.choice([2, 3, 4, 9])) for name, shape in zip("abc", shapes, strict=True)]
        count, cpu, gib = rng.randint(3, 10), rng.choice([500, 1000, 1500, 2000]), rng.choice([1, 2, 3, 4, 6])
        pods = [_pod(f"p{n}", cpu, gib * 1_024) for n in range(count)]
        left = {name: _left(name, offers, pods)[0] for name in _WHAT}
    right = left[expander]
    hint = (
        f"Work out for each group how many nodes it would get and whom they help. {expander} leaves {_WHAT[expander]}."
    )
    mistakes = [(names, f"That is what {name} leaves: {_WHAT[name]}.") for name, names in left.items()]
    rows = [(o.name, o.cpus, f"{o.gib}Gi", o.most) for o in offers]
    return Draft(
        f"{count} Pods wait, each asks for {cpu}m of CPU and {gib}Gi of memory. All groups are empty, and their "
        f"machines keep nothing for themselves:\n\n{table_block(rows, ('GROUP', 'CPUS', 'MEMORY', 'MAX'))}\n\n"
        f"`--expander={expander}`. Which groups are left when it has chosen? (one, or several)",
        name_set(right, [o.name for o in offers], hint, mistakes),
        f"{hint} The nodes: {_left(expander, offers, pods)[1]}. Left: {', '.join(right)}. Of several one is drawn.",
    )


_IDS = ("spot-large", "spot-small", "on-demand", "gpu", "gpu-spot")
_PATTERNS = (".*", "spot", "^spot", "on-demand", "gpu", "gpu$", "-small", "^gpu-", "^large", "spot$")


def _priority(rng: random.Random) -> Draft:
    ids = rng.sample(_IDS, 4)
    ranks = {
        number: rng.sample(_PATTERNS, rng.randint(1, 2)) for number in rng.sample([1, 5, 10, 20, 50], rng.randint(2, 3))
    }
    data = {"data": {"priorities": "\n".join(f"{number}: {rules}" for number, rules in ranks.items())}}
    groups = [(NodeGroupConfig(id, "m"), _machine("m", 4)) for id in ids]
    right = dict(_asked(_mind(groups, expander=("priority",)), [_pod("p", 500)], 0, data).left_by_expander)["priority"]
    plain = {
        number: [id for id in ids if any(_plainly(rule) == id for rule in rules)] for number, rules in ranks.items()
    }
    by_rank = [[id for id in ids if any(_plainly(rule) in id for rule in ranks[number])] for number in sorted(ranks)]
    hint = "The highest number of which a regular expression is found in the id, anywhere unless ^ and $ say otherwise."
    mistakes = [
        (ids, "A group that is not of the highest rank, or of none, is not used as long as another one is."),
        (by_rank[0], "The highest number goes first, not the lowest."),
        (max(plain.items())[1], "They are regular expressions, found anywhere in the id."),
    ]
    return Draft(
        f"`--expander=priority`, and its ConfigMap says\n\n{yaml_block(ranks)}\n\nOne Pod would fit on a new node of "
        f"each of the groups {', '.join(f'`{id}`' for id in ids)}. Which groups are left when the expander has chosen?",
        name_set(right, ids, hint, [(names, why) for names, why in mistakes if names]),
        f"{hint} Here: {', '.join(right)}. If no rule matches any group, all stay.",
    )


def _plainly(rule: str) -> str:
    return "" if rule == ".*" else rule.strip("^$")


# -- who may go -------------------------------------------------------------------------------------

_ORDER = (
    "A DaemonSet's Pod, safe-to-evict true and a finished Pod may go. Then, in this order: nobody's Pod keeps the "
    "node; one of kube-system without a budget keeps it for its first hour and may go after that; safe-to-evict false, "
    "local storage and a budget that is used up keep it."
)


def _traits(rng: random.Random) -> dict[str, str]:
    """What is unusual about a Pod; two or three things."""
    kinds = {
        "owner": rng.choice(["nobody", "a DaemonSet"]),
        "safe-to-evict": rng.choice(["true", "false"]),
        "volume": rng.choice(["emptyDir", "emptyDir in memory", "hostPath"]),
        "namespace": rng.choice(["kube-system, 10 minutes old", "kube-system, 90 minutes old"]),
        "budget": rng.choice(["allows 0", "allows 1"]),
        "phase": "Succeeded",
    }
    weights = [3, 4, 4, 3, 3, 1]
    chosen: dict[str, str] = {}
    while len(chosen) < rng.choice([1, 2, 2, 3]):
        chosen |= {(name := rng.choices(list(kinds), weights)[0]): kinds[name]}
    return {name: chosen[name] for name in kinds if name in chosen}


def _with(traits: Mapping[str, str]) -> str:
    """Why the node stays, in the rules' words; "" if this Pod does not keep it."""
    pod = _pod("p", 100, on="n")
    metadata, spec = pod["metadata"], pod["spec"]
    metadata |= {"labels": {"app": "web"}, "creationTimestamp": _JUST_NOW}
    if traits.get("owner") == "nobody":
        del metadata["ownerReferences"]
    elif "owner" in traits:
        metadata["ownerReferences"][0]["kind"] = "DaemonSet"
    if "safe-to-evict" in traits:
        metadata["annotations"] = {_KEY + "safe-to-evict": traits["safe-to-evict"]}
    if "volume" in traits:
        medium = {"medium": "Memory"} if "memory" in traits["volume"] else {}
        source = {"hostPath": {"path": "/data"}} if traits["volume"] == "hostPath" else {"emptyDir": medium}
        spec["volumes"] = [{"name": "data", **source}]
    if "namespace" in traits:
        metadata["namespace"] = "kube-system"
        metadata["creationTimestamp"] = _JUST_NOW if "10" in traits["namespace"] else _HOUR_AGO
    if "phase" in traits:
        pod["status"], spec["restartPolicy"] = {"phase": "Succeeded"}, "Never"
    budgets = []
    if "budget" in traits:
        status = {"disruptionsAllowed": int(traits["budget"][-1])}
        where = {"name": "web", "namespace": metadata["namespace"]}
        budgets = [{"metadata": where, "spec": {"selector": {"matchLabels": {"app": "web"}}}, "status": status}]
    context = DrainContext(AutoscalingOptions(), _NOW_MS, RemainingPdbTracker(budgets))
    reason = drainable(PodInfo(pod), context).reason
    return reason.value if reason is not None else ""


_GOES = "may go"


def _blocker(rng: random.Random) -> Draft:
    traits = _traits(rng)
    right = _with(traits) or _GOES
    options = [
        _GOES,
        *(one.value for one in BlockingReason if one.value not in ("ControllerNotFound", "MinReplicasReached")),
    ]
    mistakes = {}
    for name in traits:
        alone = _with({name: traits[name]}) or _GOES
        said = f"{name} {traits[name]}"
        if alone == _GOES:
            mistakes[_GOES] = f"`{said}` does not outweigh what else there is. {_ORDER}"
        else:
            mistakes[alone] = f"`{said}` would say that, but another rule is asked before. {_ORDER}"
    if right != _GOES:
        mistakes.setdefault(_GOES, f"Look at each line: one of them keeps the node. {_ORDER}")
    mistakes.pop(right, None)
    rows = [*traits.items()]
    return Draft(
        "All flags of the Cluster Autoscaler have their defaults, and there is room elsewhere. On an almost empty node "
        "runs one Pod, 10 minutes old, of a ReplicaSet, in the namespace `default`, without annotations, volumes or a "
        f"budget, except for\n\n{table_block(rows, ('WHAT', 'OF THIS POD'))}\n\nDoes it keep the node? Answer "
        f"`{_GOES}`, or with the reason: {', '.join(f'`{one}`' for one in options[1:])}.",
        choice(right, options, _ORDER, mistakes, {"no": _GOES, "none": _GOES}),
        f"{right}. {_ORDER} The first rule that says anything decides.",
    )


def _requested(rng: random.Random) -> Draft:
    ignores, exact = rng.random() < 0.3, (0.005, 0.005)
    while any(0.4 < 100 * part % 1 < 0.6 for part in exact):  # nobody shall stumble over how a half is rounded
        cpus, gib = rng.choice([2, 4, 8]), rng.choice([8, 16, 32])
        asks = [(rng.randrange(5, 35, 5), rng.randrange(5, 35, 5), rng.randint(1, 90)) for _ in range(3)]
        pods = [_pod(name, cpus * 10 * cpu, gib * 1_024 * memory // 100, on="n")
                for name, (cpu, memory, _) in zip(("agent", "web", "job"), asks, strict=True)]  # fmt: skip
        pods[0]["metadata"]["ownerReferences"][0]["kind"] = "DaemonSet"
        exact = _shares(cpus, gib, pods, ignores)
    cpu, memory = (round(100 * part) for part in exact)
    other, without = _shares(cpus, gib, pods, not ignores), _shares(cpus, gib, pods[1:], ignores)
    hint = "Requests by allocatable, for CPU and for memory; the larger of the two counts, and use does not."
    flag_says = (
        "The DaemonSet's Pod counts like any other; with the flag it does not, and its share of the node neither."
    )
    mistakes = {
        min(cpu, memory): "That is the smaller one. The larger of CPU and memory counts.",
        (cpu + memory) // 2: "No mean: the larger of CPU and memory counts.",
        round(100 * max(other)): flag_says,
        round(100 * max(without)): flag_says,
        sum(use for *_, use in asks): "That is what they use. Requests count.",
    }
    rows = [
        (name, kind, f"{cpus * 10 * ask}m", f"{gib * 1_024 * part // 100}Mi", f"{use} %")
        for name, kind, (ask, part, use) in zip(("agent", "web", "job"), _OWNERS, asks, strict=True)
    ]
    flag = "The flag is `--ignore-daemonsets-utilization=true`." if ignores else "The flags have their defaults."
    return Draft(
        f"A node has {cpus} CPUs and {gib}Gi for Pods. {flag} These run there:\n\n"
        f"{table_block(rows, ('POD', 'OF A', 'CPU', 'MEMORY', 'CPU IN USE'))}\n\nWhat is the node's utilization for "
        "the Cluster Autoscaler, in percent, rounded?",
        whole(max(cpu, memory), hint, mistakes, unit="%"),
        f"{hint} CPU {cpu} %, memory {memory} %. Up to 50 % it is a candidate.",
    )


_OWNERS = ("DaemonSet", "ReplicaSet", "ReplicaSet")


def _shares(cpus: int, gib: int, pods: Sequence[Json], ignores: bool) -> tuple[float, float]:
    """What is requested of CPU and of memory, 0 to 1."""
    node = NodeInfo.of(node_object("n", _machine("m", cpus, gib), "a"), pods)
    found = utilization(node, AutoscalingOptions(ignore_daemonsets_utilization=ignores), _NOW_MS)
    assert found is not None  # the node says what it has
    return found.cpu, found.memory


class _Row(NamedTuple):
    """A node of 8 CPUs: what its one Pod asks for, and whether it must stay."""

    name: str
    cpus: int
    stays: bool


def _greedy(rows: Sequence[_Row], *, last: bool = False) -> list[str]:
    """Who goes, one after the other; Pods on the first node with room, or on the last."""
    load = {row.name: [row.cpus] for row in rows}
    gone: list[str] = []
    for row in rows:
        if 2 * row.cpus > 8 or row.stays:
            continue
        trial = {name: list(pods) for name, pods in load.items() if name != row.name and name not in gone}
        placed = 0
        for pod in load[row.name]:
            fitting = [name for name, pods in trial.items() if sum(pods) + pod <= 8]
            if fitting:
                trial[fitting[-1 if last else 0]].append(pod)
                placed += 1
        if placed == len(load[row.name]):
            load = trial
            gone.append(row.name)
    return gone


def _each_alone(rows: Sequence[_Row]) -> list[str]:
    return [row.name for row in rows if row.name in _greedy([row, *(one for one in rows if one is not row)])[:1]]


def _unneeded(rows: Sequence[_Row]) -> list[str]:
    mind = _mind([(NodeGroupConfig("pool", "m", size=len(rows)), _machine("m", 8))])
    mind.groups.refresh(0)
    (group,) = mind.groups
    nodes, pods = [], []
    for row, one in zip(rows, group.live(), strict=True):
        nodes.append(node_object(row.name, one.instance_type, one.zone, provider_id=one.provider_id))
        pod = _pod(f"p-{row.name}", row.cpus * 1_000, owner=f"o-{row.name}", on=row.name)
        if row.stays:
            pod["metadata"]["annotations"] = {_KEY + "safe-to-evict": "false"}
        pods.append(pod)
    mind.run_once(ClusterView(nodes, pods), _NOW_MS)
    return [row.name for row in rows if row.name in mind.planner.unneeded]


def _together(rng: random.Random) -> Draft:
    rows: list[_Row] = []
    right: list[str] = []
    while not rows or right != _greedy(rows) or right != _greedy(rows, last=True) or not _each_alone(rows):
        rows = [_Row(name, rng.randint(1, 8), rng.random() < 0.15) for name in "abcd"]
        right = _unneeded(rows)
    hint = (
        "At most half requested, nobody who must stay, and a place for the Pod. Once a node counts as gone it is no "
        "place any more, and its Pod takes room where it went."
    )
    shown = [(row.name, row.cpus, "false" if row.stays else "") for row in rows]
    half = [row.name for row in rows if 2 * row.cpus <= 8]
    mistakes = [
        (_each_alone(rows), "Each of these could go by itself. The removals are played one after the other."),
        (half, "Half requested makes a candidate. Its Pod needs a place, too."),
        ([row.name for row in rows if 2 * row.cpus <= 8 and not row.stays], "Do the Pods of all these have a place?"),
    ]
    return Draft(
        "Four nodes of one group, minimum 0, with 8 CPUs each for Pods; on each runs one Pod of a ReplicaSet:\n\n"
        f"{table_block(shown, ('NODE', 'CPUS', 'SAFE-TO-EVICT'))}\n\nThe Cluster Autoscaler looks at them in this "
        "order. Which are unneeded together? (Which of several free nodes takes a Pod does not matter here.)",
        name_set(right, [row.name for row in rows], hint, mistakes),
        f"{hint} So: {', '.join(right) or 'none'}.",
    )


# -- when -------------------------------------------------------------------------------------------


def _deleted_at(busy: Sequence[int], grew: int, unneeded_s: int, after_add_s: int) -> int:
    """Rounds every 20 s from 0: when the deletion of the emptier of two nodes begins. `busy`: rounds at which it is
    needed; `grew`: the round at which another group grew."""
    flags = {"scale_down_unneeded_time_ms": unneeded_s * 1_000, "scale_down_delay_after_add_ms": after_add_s * 1_000}
    mind = _mind([(NodeGroupConfig("pool", "m", size=2), _machine("m", 2))], scan_interval_ms=20_000, **flags)
    mind.groups.refresh(0)
    (group,) = mind.groups
    nodes = [
        node_object(name, one.instance_type, one.zone, provider_id=one.provider_id)
        for name, one in zip("ab", group.live(), strict=True)
    ]
    idle = [_pod("p", 200, on="a"), _pod("q", 1_300, owner="other", on="b")]
    more = _pod("r", 1_500, owner="third", on="a")
    for second in range(0, 3_600, 20):
        if second == grew:
            mind.last_scale_up_ms = second * 1_000
        view = ClusterView(nodes, [*idle, more] if second in busy else idle)
        if mind.run_once(view, second * 1_000).deletions:
            return second
    raise AssertionError("a node that stays unneeded goes in the end")


def _when(rng: random.Random) -> Draft:
    unneeded_s, after_add_s = rng.choice([60, 120, 180]), rng.choice([60, 120, 180, 240])
    first = rng.randrange(20, 120, 20)
    again = rng.choice([0, rng.randrange(first + 20, first + unneeded_s, 20)])
    since = again + 20 if again else first
    grew = rng.randrange(0, min(since + unneeded_s, 240), 20)
    busy = [*range(0, first, 20), *([again] if again else [])]
    right = _deleted_at(busy, grew, unneeded_s, after_add_s)
    hint = (
        f"Unneeded for more than {unneeded_s} s without a break, and {after_add_s} s or more since the last scale-up. "
        "Both count side by side, and only rounds act."
    )
    broken = f" But at {again} s it is needed once more, for that one round." if again else ""
    mistakes = {
        since + unneeded_s: "At exactly that age it is not due yet: more than the time.",
        first + unneeded_s + 20: "The break begins the count anew.",
        max(
            since + unneeded_s + 20, grew + after_add_s + 20
        ): "The pause after a scale-up is over at its end: only the unneeded time has to be exceeded.",
        since
        + unneeded_s
        + 20: f"It has been unneeded long enough by then. A group grew at {grew} s: that is too lately.",
        grew + after_add_s + unneeded_s + 20: "The two do not add up; they are counted side by side.",
        grew + after_add_s: "The pause after the scale-up is over by then. It has not been unneeded long enough.",
    }
    return Draft(
        f"`--scale-down-unneeded-time={unneeded_s}s`, `--scale-down-delay-after-add={after_add_s}s`, and a round every "
        f"20 s, at 0, 20, 40 … A node is found unneeded from the round at {first} s on.{broken} Another group grew in "
        f"the round at {grew} s. In the round at which second does the removal of the node begin?",
        whole(right, hint, mistakes, unit="s"),
        f"{hint} Unneeded since {since} s, so not before {since + unneeded_s + 20} s; after the scale-up not before "
        f"{grew + after_add_s} s. At {right} s.",
    )


def _pause(rng: random.Random) -> Draft:
    minutes, backoff, until = [0], ExponentialBackoff(300_000, 1_800_000, 10_800_000), 0
    pauses = list[int]()
    for count in range(rng.randint(2, 4)):
        if count:
            rest = until - minutes[-1]
            step = rng.choice([rng.randint(1, rest - 1), rest + rng.randint(1, 20), rest + rng.randint(1, 20), 200])
            minutes.append(minutes[-1] + step)
        now_ms = minutes[-1] * 60_000
        backoff.remove_stale(now_ms)
        until = backoff.back_off("pool", None, now_ms) // 60_000
        pauses.append(until - minutes[-1])
    doubled = min(5 * 2 ** (len(minutes) - 1), 30)
    hint = (
        "5 minutes, then twice as long, 30 at most. A failure during the pause begins it anew with the same length; "
        "three hours without one, and it begins with 5 again."
    )
    mistakes = {
        minutes[-1]
        + doubled: "Not every failure doubles it: one during the pause does not, and after three hours all is "
        "forgotten.",
        minutes[-1] + 5 * 2 ** (len(minutes) - 1): "The longest pause is 30 minutes.",
        minutes[-1] + 5: "After a pause that was over, the next one is twice as long.",
        until - pauses[-1] + pauses[-1] * 2: "One failure too many was counted.",
        pauses[-1]: "That is how long. From when does it count?",
    }
    listed = ", ".join(map(str, minutes[:-1]))
    told = [f"{length} minutes from {at}" for at, length in zip(minutes, pauses, strict=True)]
    return Draft(
        f"Scale-ups of a node group failed at the minutes {listed} and {minutes[-1]}. The flags have their defaults. "
        "Until which minute is the group left alone?",
        whole(until, hint, mistakes),
        f"{hint} The pauses: {', '.join(told)}.",
    )


KINDS: Sequence[Kind] = (
    Kind("estimate", 1, f"{_CA}/estimator/binpacking_estimator.go", _estimate),
    Kind("requested", 1, f"{_CA}/simulator/utilization/info.go", _requested),
    Kind("blocker", 2, f"{_CA}/simulator/drainability/rules/rules.go", _blocker),
    Kind("packing", 2, f"{_CA}/estimator/decreasing_pod_orderer.go", _packing),
    Kind("balance", 2, f"{_CA}/processors/nodegroupset/balancing_processor.go", _balance),
    Kind("priority", 2, f"{_CA}/expander/priority/priority.go (BestOptions)", _priority),
    Kind("expander", 3, f"{_CA}/expander/waste/waste.go, expander/leastnodes, expander/mostpods", _expander),
    Kind("together", 3, f"{_CA}/core/scaledown/planner/planner.go (categorizeNodes)", _together),
    Kind("when", 3, f"{_CA}/core/scaledown/unneeded/nodes.go, core/static_autoscaler.go", _when),
    Kind("pause", 3, f"{_CA}/utils/backoff/exponential_backoff.go (Backoff)", _pause),
)


def node_autoscaling(rng: random.Random) -> Drill:
    """An exercise on nodes that come and go."""
    return generate("node-autoscaling", KINDS, rng)
