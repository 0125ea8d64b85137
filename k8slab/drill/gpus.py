"""Drills on GPUs and on nodes that are packed: slots of MIG, policies, fragments, links, consolidation, drains.

Simplified: see `k8slab.autoscaling.gpu` and `k8slab.autoscaling.karpenter`; every answer is theirs.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from k8slab.autoscaling.gpu import (
    LINKS,
    MIG_PROFILES,
    GpuNode,
    MigGpu,
    Placer,
    Policy,
    Task,
    TaskClass,
    TimeSlicing,
    best_gpus,
    fragments_for,
)
from k8slab.autoscaling.karpenter import drain, forced_deletion_ms
from k8slab.drill.answers import choice, duration, name_set, numbers, whole, yes_no
from k8slab.drill.consolidating import consolidation_world, decision, left_of, shown
from k8slab.drill.exercise import Draft, Drill, Kind, generate, table_block

__all__ = ["KINDS", "gpus"]

_MIG = "NVIDIA/mig-parted pkg/mig/config/config.go (SetMigConfig)"
_PAPER = "hkust-adsl/kubernetes-scheduler-simulator pkg/utils/frag.go"
_PLUGIN = "NVIDIA/k8s-device-plugin internal/rm/device_map.go"
_KARPENTER = "kubernetes-sigs/karpenter pkg/controllers"


def _cut(rng: random.Random, model: str, most: int = 4) -> MigGpu:
    """A GPU with one to `most` instances, somewhere."""
    gpu = MigGpu(model)
    names = [name for name, row in gpu.profiles.items() if row.slices < gpu.slices]
    for _ in range(rng.randint(1, most)):
        name = rng.choice(names)
        if gpu.starts(name):
            gpu.create(name, rng.choice(gpu.starts(name)))
    return gpu


def _layout(gpu: MigGpu) -> str:
    rows = []
    for start, name in sorted(gpu.instances.items()):
        last = start + gpu.profiles[name].slices - 1
        rows.append((name, f"{start} to {last}" if last > start else str(start), gpu.profiles[name].compute))
    return table_block(rows, ("INSTANCE", "MEMORY SLICES", "COMPUTE SLICES"))


def _wanted(gpu: MigGpu, profile: str) -> str:
    row = gpu.profiles[profile]
    starts = ", ".join(map(str, row.starts))
    return (
        f"`{profile}` takes {row.slices} memory {'slice' if row.slices == 1 else 'slices in a row'}, from one of "
        f"{starts}, and {row.compute} compute {'slice' if row.compute == 1 else 'slices'}"
    )


def _fits(rng: random.Random) -> Draft:
    is_yes = rng.random() < 0.5
    while True:
        gpu = _cut(rng, rng.choice(["A100-40GB", "H100-80GB"]))
        profile = rng.choice([name for name, row in gpu.profiles.items() if 1 < row.slices < gpu.slices])
        if gpu.free_slices >= gpu.profiles[profile].slices and bool(gpu.starts(profile)) is is_yes:
            break
    starts = gpu.starts(profile)
    why = gpu.why_not(profile)
    return Draft(
        f"A GPU {gpu.model} has {gpu.slices} memory slices and {gpu.compute} compute slices. These instances are on "
        f"it:\n\n{_layout(gpu)}\n\n{_wanted(gpu, profile)}. Is there a place for one more?",
        yes_no(bool(starts), "Room is not enough: it begins at fixed slices, and compute slices are counted, too."),
        f"It can begin at {', '.join(map(str, starts))}." if starts else f"No: {why}.",
    )


def _starts(rng: random.Random) -> Draft:
    gpu = _cut(rng, rng.choice(["A100-40GB", "A100-80GB"]))
    profile = rng.choice([name for name, row in gpu.profiles.items() if row.slices in (1, 2)])
    row, free = gpu.profiles[profile], set(range(gpu.slices)) - gpu.taken
    right = gpu.starts(profile)
    by_room = [s for s in range(gpu.slices) if set(range(s, s + row.slices)) <= free]
    by_place = [s for s in row.starts if set(range(s, s + row.slices)) <= free]
    known = [str(n) for n in range(gpu.slices)]
    return Draft(
        f"A GPU {gpu.model} has {gpu.slices} memory slices, 0 to {gpu.slices - 1}, and {gpu.compute} compute slices. "
        f"These instances are on it:\n\n{_layout(gpu)}\n\n{_wanted(gpu, profile)}. At which slices could one more "
        "begin?",
        name_set(
            [str(n) for n in right],
            known,
            "All its slices have to be free, it begins where its profile may, and compute slices have to suffice.",
            [
                ([str(n) for n in by_room], "There is room, but not every slice is a beginning of this profile."),
                ([str(n) for n in by_place], "In memory there is room; count the compute slices."),
                ([str(n) for n in row.starts], "These are all its beginnings; some of their slices are taken."),
            ],
        ),
        f"Free memory slices: {', '.join(str(n) for n in sorted(free)) or 'none'}; free compute slices: "
        f"{gpu.free_compute}. So it may begin at: {', '.join(map(str, right)) or 'no slice'}.",
    )


def _more(rng: random.Random) -> Draft:
    gpu = _cut(rng, rng.choice(["A100-40GB", "A100-80GB", "H100-80GB", "A30-24GB"]), most=2)
    profile = rng.choice([name for name, row in gpu.profiles.items() if row.slices <= 2])
    row, room, compute, table = gpu.profiles[profile], gpu.free_slices, gpu.free_compute, _layout(gpu)
    right = 0
    while gpu.starts(profile):
        gpu.create(profile, gpu.starts(profile)[0])
        right += 1
    return Draft(
        f"A GPU {gpu.model} has {gpu.slices} memory slices and {gpu.compute} compute slices. These instances are on "
        f"it:\n\n{table}\n\n{_wanted(gpu, profile)}. How many more of them can it have, at most?",
        whole(
            right,
            "Count the beginnings whose slices are all free, and stop when the compute slices are used up.",
            {
                room // row.slices: "That divides the free memory slices; where they lie and compute count, too.",
                compute // row.compute: "That divides the free compute slices; memory slices have their places.",
                len(MIG_PROFILES[gpu.model][profile].starts): "That many fit on a GPU without other instances.",
            },
        ),
        f"{room} memory slices and {compute} compute slices are free; the profile begins at "
        f"{', '.join(map(str, row.starts))} only. {right} more can be made.",
    )


def _machines(rng: random.Random) -> list[GpuNode]:
    """Three nodes that no policy finds alike."""
    while True:
        nodes = [
            GpuNode(name, 64_000, 262_144, [rng.choice([0, 0, 500, 1_000, 1_000]) for _ in range(4)]) for name in "ABC"
        ]
        if len({(sum(node.left), node.left.count(1_000)) for node in nodes}) == len({sum(n.left) for n in nodes}) == 3:
            return nodes


def _gpu_table(nodes: Sequence[GpuNode]) -> str:
    rows = [(node.name, *(f"{left / 1_000:g}" for left in node.left)) for node in nodes]
    return table_block(rows, ("NODE", "GPU 0", "GPU 1", "GPU 2", "GPU 3"))


def _placed(nodes: Sequence[GpuNode], policy: Policy, count: int) -> str:
    twins = [GpuNode(node.name, node.milli_cpu, node.memory_mib, node.left) for node in nodes]
    return Placer(twins, policy).place(Task("t", 1_000, 1_024, gpus=count)) or "none"


def _place(rng: random.Random) -> Draft:
    policy = rng.choice([Policy.SPREAD, Policy.BINPACK])
    count = rng.choice([1, 1, 2, 2, 3])
    nodes = _machines(rng)
    right = _placed(nodes, policy, count)
    other = _placed(nodes, Policy.BINPACK if policy is Policy.SPREAD else Policy.SPREAD, count)
    most = max(nodes, key=lambda node: sum(node.left)).name
    word = f"{count} whole GPU{'s' if count > 1 else ''}"
    rule = "most of its GPUs free" if policy is Policy.SPREAD else "least of its GPUs free"
    fitting = [node.name for node in nodes if node.left.count(1_000) >= count]
    return Draft(
        f"What is free of the GPUs of three nodes (CPU and memory there is enough):\n\n{_gpu_table(nodes)}\n\nA task "
        f"asks for {word}. The policy is `{policy}`. Which node gets it (`none` if no node can)?",
        choice(
            right,
            ("A", "B", "C", "none"),
            f"Of the nodes with {word} free, {policy} takes the one with the {rule}.",
            {other: "That is the opposite policy.", most: "It has the most free in all, but look at whole GPUs."},
        ),
        f"With {word} free: {', '.join(fitting) or 'nobody'}."
        + (f" Of these {right} has the {rule}." if fitting else " Halves of different GPUs do not add up."),
    )


def _useless(rng: random.Random) -> Draft:
    left = [rng.choice([0, 100, 250, 300, 500, 600, 800, 1_000]) for _ in range(rng.randint(3, 6))]
    share = rng.choice([0, 0, 200, 400, 500, 700])
    kind = TaskClass(gpu_milli=share) if share else TaskClass(gpus=rng.randint(1, 3))
    node = GpuNode("n", 64_000, 262_144, left)
    free, right = sum(left), fragments_for(kind, node.state)
    wanted = f"{share} thousandths of one GPU" if share else f"{kind.gpus} whole GPU{'s' if kind.gpus > 1 else ''}"
    each = share or 1_000
    partial = sum(one for one in left if one < each)
    return Draft(
        f"The GPUs of a node have {', '.join(map(str, left))} thousandths free. How many of these thousandths are "
        f"fragments for a task that asks for {wanted}?",
        whole(
            right,
            "Where the task can run, GPUs that have less than it asks of one; where it cannot, everything.",
            {
                partial: "The task cannot run here at all, so everything that is free is of no use to it.",
                free: "The task can run here: only GPUs with too little left are of no use.",
                free - each * (kind.gpus or 1): "What the task would leave is not lost.",
            },
        ),
        f"In all {free} are free. "
        + (
            "The task cannot run here, so all of it is fragments."
            if right == free and partial != free
            else f"GPUs with less than {each} left hold {partial}."
        ),
    )


def _sharing(rng: random.Random) -> Draft:
    count, replicas, asked = rng.randint(1, 8), rng.choice([2, 3, 4, 5, 8, 10]), rng.randint(1, 3)
    right = sum(TimeSlicing(replicas).advertised(count).values()) // asked
    return Draft(
        f"A node has {count} GPU{'s' if count > 1 else ''}, and its device plugin shares them by time slicing with "
        f"`replicas: {replicas}`. Each Pod asks for `nvidia.com/gpu: {asked}`. The plugin's other settings are its "
        "defaults. How many such Pods does the node take, if only GPUs are scarce?",
        whole(
            right,
            "Each GPU is advertised as often as `replicas` says; the scheduler divides that by the request.",
            {
                count: "That is one for each GPU: time slicing advertises more.",
                count * replicas: "That is what is advertised; each Pod asks for more than one of it.",
                count // asked: "That forgets the replicas.",
                replicas: "That is one GPU alone.",
            },
        ),
        f"{count} times {replicas} is {count * replicas} advertised, by {asked} each: {right}. (Two of them are no "
        "more of a GPU than one; failRequestsGreaterThanOne would say so.)",
    )


def _links(rng: random.Random) -> Draft:
    free = sorted(rng.sample(range(8), rng.randint(3, 6)))
    right = best_gpus(LINKS["nvlink-bridges-8"], free, 2)
    assert right is not None, "three or more are free"
    first = (free[0], free[1])
    return Draft(
        "Eight GPUs; bridges join 0 with 1, 2 with 3, 4 with 5 and 6 with 7, all others see each other over PCIe. Free "
        f"are {', '.join(map(str, free))}. A container asks for 2. Which two does the best-effort policy of the device "
        "plugin prefer (of equals the ones with the lowest numbers)?",
        numbers(
            right,
            "The pair with the most bandwidth; of equal ones that which leaves the others best joined.",
            {first: "Those are the first two; another pair is better joined, or leaves a bridged pair whole."},
        ),
        f"Bridged and both free: {_pairs(free) or 'none'}. "
        + ("A bridged pair wins." if _pairs(free) else "So any two are equal, and the lowest numbers are taken."),
    )


def _pairs(free: Sequence[int]) -> str:
    return ", ".join(f"{a} and {a + 1}" for a in (0, 2, 4, 6) if {a, a + 1} <= set(free))


def _consolidate(rng: random.Random) -> Draft:
    wanted = rng.choice(["delete", "replace", "stays"])
    for _ in range(20):
        state, node = consolidation_world(rng)
        right, told = decision(state, node)
        if right == wanted:
            break
    words = {
        "delete": "Its Pods would need another node.",
        "replace": "Either no new node is needed at all, or none that is cheaper will do.",
        "stays": "Something can be done: look where the Pods would go, and at the prices.",
    }
    return Draft(
        f"Karpenter looks at the node {node} alone (single-node consolidation). All nodes are on demand, and so is "
        f"whatever it buys. {shown(state)}\n\nDoes it `delete` the node, `replace` it, or say that it `stays`?",
        choice(right, ("delete", "replace", "stays"), words[right], {k: v for k, v in words.items() if k != right}),
        f"Free on the others: {left_of(state, node)}. {told}",
    )


def _drained(rng: random.Random) -> Draft:
    rows, pods = [], []
    for name in "PQRST":
        owner = rng.choice(["ReplicaSet", "ReplicaSet", "DaemonSet"])
        critical = rng.random() < 0.3
        keeps = rng.random() < 0.2
        rows.append((name, owner, "system-node-critical" if critical else "none", "true" if keeps else "none"))
        metadata = {"name": name, "ownerReferences": [{"apiVersion": "apps/v1", "kind": owner, "name": "x"}]}
        notes = {"annotations": {"karpenter.sh/do-not-disrupt": "true"}} if keeps else {}
        spec = {"priorityClassName": "system-node-critical"} if critical else {}
        pods.append({"metadata": metadata | notes, "spec": spec, "status": {"phase": "Running"}})
    plan = drain(pods, now_ms=0)
    right = [key.rpartition("/")[2] for key in plan.evict]
    everybody = [row[0] for row in rows]
    asked = [row[0] for row in rows if row[3] == "none"]
    workers = [row[0] for row in rows if row[1] == "ReplicaSet"]
    table = table_block(rows, ("POD", "OWNER", "PRIORITY CLASS", "DO-NOT-DISRUPT"))
    return Draft(
        f"Karpenter drains a node (it has no terminationGracePeriod) with these Pods:\n\n{table}\n\nFor which of them "
        "does it call the eviction API first, all at once?",
        name_set(
            right,
            everybody,
            "One tier after the other: others, other DaemonSets', critical, critical of DaemonSets. do-not-disrupt "
            "holds its tier.",
            [
                (everybody, "Not all at once: a tier waits until the one before it is gone."),
                (asked, "do-not-disrupt is right; but tiers go one after the other."),
                (workers, "Priority classes make tiers of their own, and do-not-disrupt is not evicted."),
            ],
        ),
        "The first tier that has anybody is asked, without those that are marked do-not-disrupt, for which the drain "
        f"waits: {', '.join(right) or 'nobody is asked, and the drain waits'}.",
    )


def _forced(rng: random.Random) -> Draft:
    node_s, pod_s = rng.choice([600, 900, 1_800, 3_600]), rng.choice([30, 60, 120, 300, 590])
    spec = {"terminationGracePeriodSeconds": pod_s}
    right = forced_deletion_ms({"metadata": {"name": "a"}, "spec": spec}, ends_ms=1_000 * node_s)
    assert right is not None, "it has both"
    return Draft(
        f"A NodeClaim with `terminationGracePeriod: {node_s}s` is deleted. On its node a Pod with "
        f"`terminationGracePeriodSeconds: {pod_s}` is held by a PodDisruptionBudget that never allows anything. How "
        "long after the deletion of the NodeClaim does Karpenter delete the Pod all the same?",
        duration(
            right,
            "As late as leaves the Pod its own grace period before the node's ends.",
            {
                1_000 * node_s: "Then the Pod would have no time to end before the machine goes.",
                1_000 * pod_s: "That is the Pod's own time, counted from the wrong end.",
                1_000 * (node_s + pod_s): "The node's time is a limit for everything on it.",
            },
        ),
        f"{node_s} s less {pod_s} s: then both end together.",
    )


KINDS = (
    Kind("fits", 1, _MIG, _fits),
    Kind("sharing", 1, _PLUGIN, _sharing),
    Kind("place", 1, "pkg/scheduler/framework/plugins/noderesources/least_allocated.go", _place),
    Kind("more", 2, _MIG, _more),
    Kind("useless", 2, _PAPER, _useless),
    Kind("links", 2, "NVIDIA/go-gpuallocator gpuallocator/besteffort_policy.go", _links),
    Kind("forced", 2, f"{_KARPENTER}/node/termination/terminator/eviction.go", _forced),
    Kind("starts", 3, _MIG, _starts),
    Kind("consolidate", 3, f"{_KARPENTER}/disruption/consolidation.go (computeConsolidation)", _consolidate),
    Kind("drained", 3, f"{_KARPENTER}/node/termination/terminator/terminator.go (Drain)", _drained),
)


def gpus(rng: random.Random) -> Drill:
    """An exercise on GPUs and on packed nodes."""
    return generate("gpus", KINDS, rng)
