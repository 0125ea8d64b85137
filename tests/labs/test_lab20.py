"""Lab 20: the solution estimates, blocks and empties as the package's autoscaler does; what does not fit is named."""

from __future__ import annotations

import random
from typing import Any

import pytest

from k8slab.api.objects import Object
from k8slab.autoscaling.cluster_autoscaler import NodeGroupConfig
from k8slab.lab import InProcessRunner, Op, find_lab, verify
from tests.autoscaling import CaWorld, groups_of, machine, waiting_pod
from tests.labs.taken import Taken

LAB = find_lab("20")
TAKEN = Taken(LAB, InProcessRunner())
LABELS = {"-": {}, "ssd": {"disk": "ssd"}}


# -- against the package ---------------------------------------------------------------------------


def pod_of(op: Op) -> Object:
    _, name, _, owner, cpu, _, needs, mark = op
    more: dict[str, Any] = {"nodeSelector": LABELS[needs]}
    if "safe" in mark:
        value = "false" if mark == "unsafe" else "true"
        more["annotations"] = {"cluster-autoscaler.kubernetes.io/safe-to-evict": value}
    if "disk" in mark:
        more["volumes"] = [{"name": "scratch", "emptyDir": {}}]
    return waiting_pod(name, cpu, owner=owner.strip("-"), **more)


@pytest.mark.parametrize("seed", range(40))
def test_the_estimate_is_that_of_the_autoscaler(seed: int) -> None:
    script = TAKEN.script("packs-the-largest-first", seed)
    pods = [pod_of(op) for op in script if op[0] == "pod"]
    cpus = {op[1]: int(op[4]) for op in script if op[0] == "pod"}
    sizes = {name: sum(op[:1] == ("node",) and op[2] == name for op in script) for name in ("g1", "g2")}
    groups = {op[1]: op for op in script if op[0] == "group"}
    for op, said in zip(script, TAKEN.answers("packs-the-largest-first", script), strict=True):
        if op[0] != "estimate":
            continue
        _, name, cpu, _, most, daemons, has = groups[op[1]]
        kind = machine("m", int(cpu) - int(daemons), 64)
        config = NodeGroupConfig(name, "m", max_size=max(0, int(most) - sizes[name]), size=0, labels=LABELS[has])
        world = CaWorld(groups_of(config, types=[kind]))
        world.add(pods)
        world.loop()
        number, _, names = said.partition(" for ")
        assert world.sizes()[name] == int(number), said
        assert world.last is not None
        found = [cpus[one.pod["metadata"]["name"]] for one in (world.last.scale_up.triggered if int(number) else ())]
        assert sorted(found) == sorted(cpus[one] for one in names.split() if one != "nobody")


def still(script: list[Op]) -> CaWorld:
    """A world with the script's Nodes and Pods, for an autoscaler that may empty all of them."""
    configs, kinds = [], []
    for op in (op for op in script if op[0] == "group"):
        size = sum(other[0] == "node" and other[2] == op[1] for other in script)
        kinds.append(machine(f"m-{op[1]}", int(op[2]), 64))
        configs.append(NodeGroupConfig(op[1], f"m-{op[1]}", size=size, labels=LABELS[op[6]]))
    world = CaWorld(groups_of(*configs, types=kinds))
    world.join()
    return world


@pytest.mark.parametrize(("owner", "mark"), [(o, m) for o in ("-", "web") for m in ("-", "disk", "safe", "unsafe")])
def test_who_keeps_a_node_is_whom_the_autoscaler_leaves(owner: str, mark: str) -> None:
    script = [("group", "g1", "20", "0", "9", "0", "-"), ("node", "n1", "g1", "ready"), ("node", "n2", "g1", "ready")]
    script += [("pod", "a", "n1", owner, "1", "1", "-", mark), ("pod", "b", "n2", "web", "15", "1", "-", "-")]
    world = still(script)
    first, second = world.nodes
    world.place(pod_of(script[3]), first)
    world.place(pod_of(script[4]), second)
    world.loop()
    said = TAKEN.answers("knows-who-stays", [*script, ("blocks", "a")])[-1]
    assert (first in world.ca.planner.unneeded) == (said == "may go")


@pytest.mark.parametrize("seed", range(40))
def test_as_many_nodes_are_unneeded_as_for_the_autoscaler_where_order_decides_nothing(seed: int) -> None:
    """Equal Nodes without labels and daemons, and Pods of one size: wherever they go, as many Nodes are emptied."""
    rng = random.Random(seed)
    script: list[Op] = [("group", "g1", "8", "0", "9", "0", "-")]
    for index in range(1, rng.randint(3, 6)):
        script.append(("node", f"n{index}", "g1", "ready"))
        for number in range(rng.randint(0, 8)):
            script.append(("pod", f"p{index}{number}", f"n{index}", "web", "1", "1", "-", "-"))
    world = still(script)
    names = dict(zip([op[1] for op in script if op[0] == "node"], world.nodes, strict=True))
    for op in script:
        if op[0] == "pod":
            world.place(pod_of(op), names[op[2]])
    world.loop()
    said = TAKEN.answers("empties-nodes-together", [*script, ("unneeded",)])[-1]
    assert len(world.ca.planner.unneeded) == len([] if said == "none" else said.split())


# -- what is wrong ---------------------------------------------------------------------------------

WRONG = {
    "the number alone": (
        "    return len(free), placed", "    return len(free)", "packs-the-largest-first",
        "estimate: expected (a number of nodes, names of Pods), found 0",
    ),
    "the option": (
        'one["cpu"]))["group"]', 'one["cpu"]))', "wastes-least",
        "choose: expected the name of a group, found {'group': 'a'",
    ),
    "the group alone": (
        '    return chosen, next(one["nodes"] for one in options if one["group"] == chosen)', "    return chosen",
        "buys-what-is-missing", "scale_up: expected None or (group, number of nodes), found",
    ),
    "a text for a bool": (
        'return pod["safe"] == "false" or not pod["owner"] or pod["disk"]', 'return pod["owner"]', "knows-who-stays",
        "blocks: expected True or False, found 'web'",
    ),
    "Nodes for names": (
        "    return gone\n", "    return nodes\n", "empties-nodes-together",
        "unneeded: expected the name of one of the Nodes it was given, found {",
    ),
    "names alone": ("    return since, remove", "    return remove", "waits-its-time", "due: expected ({Node: second}"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "check", "said"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_named(old: str, new: str, check: str, said: str) -> None:
    report = verify(LAB, TAKEN.changed(old, new), only=[check], runner=InProcessRunner())
    assert said in report.results[0].reason


def test_a_solution_that_never_acts_earns_nothing() -> None:
    code = (
        "def estimate(pods, group): return 0, []\n"
        "def choose(options): return options[0]['group']\n"
        "def scale_up(*some): return None\n"
        "def blocks(pod): return True\n"
        "def place(*some): return None\n"
        "def unneeded(nodes): return []\n"
        "def due(unneeded, since, *some): return since, []\n"
    )
    assert TAKEN.judged(code).points == 0
