"""Drills on addresses: which one the next Pod, the next Node's Pods, the next Service gets, and who gets none.

Every answer is that of the thing that gives addresses, which really gave them: the plugin host-local over a folder, the
range allocator of node CIDRs, the API server's allocators, the block IPAM of several nodes over one datastore.

Simplified: see `k8slab.network`, `k8slab.controllers.nodeipam` and `k8slab.apiserver.allocators`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from k8slab.api.errors import StatusError
from k8slab.api.scheme import NAMESPACES, SERVICES
from k8slab.api.transport import Request
from k8slab.apiserver import APIServer
from k8slab.apiserver.allocators import ServiceRanges, calculate_port_offset, calculate_range_offset, hosts_per_network
from k8slab.controllers.nodeipam import CIDRSet
from k8slab.drill.answers import choice, whole, yes_no
from k8slab.drill.exercise import Draft, Drill, Kind, generate, table_block
from k8slab.etcd import Store
from k8slab.network import HostLocal, MemoryFiles, run
from k8slab.network.ipam import BlockKey, Connection, Datastore, IPAMClient, IPAMConfig, IPPool
from k8slab.sim import Loop

__all__ = ["KINDS", "addresses"]

_HOST_LOCAL = "containernetworking/plugins plugins/ipam/host-local/backend/allocator"
_IPALLOCATOR = "pkg/registry/core/service/ipallocator"
_CALICO = "projectcalico/calico libcalico-go/lib/ipam"


# -- host-local -------------------------------------------------------------------------------------


class _Node:
    """One node's host-local, with one range."""

    def __init__(self, subnet: str, gateway: str = "") -> None:
        self.plugin = HostLocal(MemoryFiles())
        self.range = {"subnet": subnet, **({"gateway": gateway} if gateway else {})}

    def call(self, command: str, pod: str) -> str:
        """The address that ADD gives, without its mask; empty for a failure and for DEL."""
        config = {"cniVersion": "1.1.0", "name": "pods", "ipam": {"type": "host-local", "ranges": [[self.range]]}}
        env = {"CNI_COMMAND": command, "CNI_CONTAINERID": pod, "CNI_NETNS": "/run/netns/x", "CNI_IFNAME": "eth0"}
        done = run(self.plugin, {**env, "CNI_PATH": "/opt/cni/bin"}, json.dumps(config).encode())
        if done.code or command == "DEL":
            return ""
        return str(json.loads(done.stdout)["ips"][0]["address"]).partition("/")[0]

    def fill(self) -> int:
        """How many ADDs succeed."""
        count = 0
        while self.call("ADD", f"fill-{count}"):
            count += 1
        return count


def _subnet(rng: random.Random, *bits: int) -> str:
    return f"10.244.{rng.randint(0, 200)}.0/{rng.choice(bits)}"


def _last(address: str) -> int:
    return int(address.rpartition(".")[2])


def _usable(rng: random.Random) -> Draft:
    subnet = _subnet(rng, 24, 25, 26, 27, 28, 29, 30)
    size = 1 << (32 - int(subnet.rpartition("/")[2]))
    right = _Node(subnet).fill()
    why = "Three cannot be had: the network's own address, the gateway's, and the broadcast address."
    return Draft(
        f"On a node host-local has the range `{subnet}` and nothing else is configured. How many Pods with an address "
        "of their own can run there?",
        whole(right, why, {size: why, size - 1: why, size - 2: "The bridge has one as well: the gateway's, .1."}),
        f"{right}. {why}",
    )


def _changes(rng: random.Random, most: int, steps: int) -> list[tuple[str, str]]:
    """ADDs and DELs of Pods `a`, `b`, ..., at most `most` of them at a time."""
    there: list[str] = []
    names = iter("abcdefghijkl")
    found = []
    for _ in range(steps):
        if there and (len(there) >= most or rng.random() < 0.4):
            found.append(("DEL", there.pop(rng.randrange(len(there)))))
        else:
            there.append(next(names))
            found.append(("ADD", there[-1]))
    return found


def _next(rng: random.Random) -> Draft:
    subnet = _subnet(rng, 28, 29, 29)
    node, changes = _Node(subnet), _changes(rng, 4, rng.randint(4, 8))
    given = [_last(address) for command, pod in changes if (address := node.call(command, pod))]
    right = _last(node.call("ADD", "next"))
    hint = "Behind the last one that was given, round and round: what came back waits until the round is over."
    lowest = min(set(range(2, 15)) - set(_held(changes, given)))
    return Draft(
        f"host-local has the range `{subnet}` on a node. The runtime calls\n\n"
        f"{table_block([(n, *change) for n, change in enumerate(changes, 1)], ('', 'COMMAND', 'POD'))}\n\n"
        "Which address does the next ADD get? Its last number is enough.",
        whole(right, hint, {lowest: "That is the lowest free one; it came back too lately.", given[-1]: hint}),
        f".{right}. {hint} The file `last_reserved_ip.0` says .{given[-1]}.",
    )


def _held(changes: Sequence[tuple[str, str]], given: Sequence[int]) -> list[int]:
    """The last numbers that are in use after the changes."""
    numbers, held = iter(given), dict[str, int]()
    for command, pod in changes:
        if command == "ADD":
            held[pod] = next(numbers)
        else:
            del held[pod]
    return list(held.values())


def _twice(rng: random.Random) -> Draft:
    subnet, counts = _subnet(rng, 24), (rng.randint(2, 12), rng.randint(2, 12))
    given = []
    for count in counts:
        node = _Node(subnet)
        given.append({node.call("ADD", f"p{number}") for number in range(count)})
    right = len(given[0] & given[1])
    why = "host-local knows the files of its own node and nothing else. Each node begins with .2."
    return Draft(
        f"Somebody wrote the same host-local range, `{subnet}`, into the configuration of two fresh nodes. "
        f"{counts[0]} Pods "
        f"start on the one, {counts[1]} on the other. How many addresses does more than one Pod have?",
        whole(right, why, {0: why, sum(counts): "Count addresses, not Pods; and only those that both nodes gave."}),
        f"{right}. {why} So each node needs a range of its own: that is what `spec.podCIDR` is for.",
    )


def _left(rng: random.Random) -> Draft:
    subnet = _subnet(rng, 27, 28, 29)
    lost, crashes = rng.randint(1, 4), rng.random() < 0.5
    node = _Node(subnet)
    for number in range(lost):
        node.call("ADD", f"lost-{number}")
    right = node.fill()
    total = _Node(subnet).fill()
    what = (
        f"The node loses its power with {lost} {'Pod' if lost == 1 else 'Pods'} on it, and afterwards the runtime "
        "remembers no sandbox for which it would have to call DEL."
        if crashes
        else f"A runtime with a bug deletes {lost} {'sandbox' if lost == 1 else 'sandboxes'} without calling DEL."
    )
    why = "An address is a file, and nobody removes it but DEL (or GC): restarts do not."
    return Draft(
        f"host-local has the range `{subnet}`. {what} How many new Pods can get an address on this node now?",
        whole(right, why, {total: why}),
        f"{right}: {total} less {lost}. {why}",
    )


# -- node CIDRs -------------------------------------------------------------------------------------


def _nodes(rng: random.Random) -> Draft:
    bits = rng.randint(12, 22)
    mask = rng.randint(max(bits + 1, 22), 28)
    right = CIDRSet(f"10.{16 * rng.randint(0, 15)}.0.0/{bits}", mask).max_cidrs
    why = "Two to the power of the difference between the two masks."
    pods = 1 << (32 - mask)
    return Draft(
        f"`kube-controller-manager --allocate-node-cidrs --cluster-cidr=10.0.0.0/{bits} "
        f"--node-cidr-mask-size={mask}`: how "
        "many nodes can get a Pod range?",
        whole(right, why, {pods: "That is how many addresses one node has.", right - 1: why}),
        f"{right}: 2^({mask}-{bits}). The next node gets the event `CIDRNotAvailable`, and no Pod network.",
    )


def _node_next(rng: random.Random) -> Draft:
    subnets, there, changes = CIDRSet("10.8.0.0/21", 24), dict[str, str](), list[tuple[str, str]]()
    names = iter("abcdefghijkl")
    for _ in range(rng.randint(4, 9)):
        if there and (len(there) > 5 or rng.random() < 0.4):
            name = rng.choice(list(there))
            subnets.release(there.pop(name))
            changes.append(("leaves", name))
        else:
            name = next(names)
            there[name] = str(subnets.allocate_next())
            changes.append(("joins", name))
    right = int(str(subnets.allocate_next()).split(".")[2])
    free = [n for n in range(8) if f"10.8.{n}.0/24" not in there.values()]
    why = "The search goes on behind the last one that was given, and begins anew only at the end."
    return Draft(
        "The cluster CIDR is `10.8.0.0/21`, the nodes' mask 24, and nodes come and go one after the other:\n\n"
        f"{table_block([(n, name, what) for n, (what, name) in enumerate(changes, 1)], ('', 'NODE', 'WHAT'))}\n\n"
        "The next node that joins gets `10.8.?.0/24`. Which number?",
        whole(right, why, {free[0]: "That is the lowest free one. " + why, len(there): "Nodes that left count too."}),
        f"{right}. {why}",
    )


# -- Services ---------------------------------------------------------------------------------------


def _band(rng: random.Random) -> Draft:
    if rng.random() < 0.3:
        size = rng.choice((10, 16, 100, 500, 1000, 2768, 4096, 8000))
        right = calculate_port_offset(size)
        question = f"`--service-node-port-range=30000-{30000 + size - 1}` ({size} ports)"
        rule = "A thirty-second of the range, at least 16, at most 128; none of a range of 16 or fewer"
    else:
        bits = rng.randint(12, 29)
        right = calculate_range_offset(f"10.96.0.0/{bits}")
        question = f"`--service-cluster-ip-range=10.96.0.0/{bits}` ({1 << (32 - bits)} addresses)"
        rule = "A sixteenth of the range, at least 16, at most 256; none of a range of 16 or fewer"
    return Draft(
        f"{question}: how large is the band at the low end that dynamic allocation leaves alone as long as it can?",
        whole(right, f"{rule}.", {}),
        f"{right}. {rule}. Who asks for a certain one does best to ask for one of these.",
    )


def _until_the_band(rng: random.Random) -> Draft:
    bits = rng.randint(24, 28)
    cidr, taken = f"10.96.0.0/{bits}", rng.randint(0, 3)
    band, total = calculate_range_offset(cidr), hosts_per_network(cidr)
    first = total - band - taken
    count = rng.choice((first, first + 1, rng.randint(1, total - 1 - taken)))
    right = bool(band) and count <= first
    why = "Dynamic allocation takes from the upper band while that has one, then from the lower."
    if not band:
        why = "A range of 16 addresses has no static band: anything can be drawn from the start."
    extra = f" {taken} of the upper band are taken already." if taken else ""
    return Draft(
        f"The Service range is `{cidr}`: {total} usable addresses.{extra} {count} Services without a `clusterIP` are "
        "created. Is `10.96.0.10` certainly still free for the cluster's DNS?",
        yes_no(right, why),
        f"{'Yes' if right else 'No'}. The band has {band}, so {total - band} lie above it. {why}",
    )


def _cluster_ip(rng: random.Random) -> Draft:
    cases: dict[str, dict[str, Any]] = {
        "`clusterIP: 10.96.0.10`": {"clusterIP": "10.96.0.10"},
        "`clusterIP: 10.96.0.1`": {"clusterIP": "10.96.0.1"},
        "`clusterIP: 10.96.0.0`": {"clusterIP": "10.96.0.0"},
        "`clusterIP: 10.96.0.255`": {"clusterIP": "10.96.0.255"},
        "`clusterIP: 10.96.1.7`": {"clusterIP": "10.96.1.7"},
        "`clusterIP: 10.96.0.200`": {"clusterIP": "10.96.0.200"},
        "`clusterIP: 10.96.0.77`, which another Service has": {"clusterIP": "10.96.0.77"},
        "`type: ExternalName` and `externalName: db.example.com`": {
            "type": "ExternalName", "externalName": "db.example.com",
        },
        "`type: NodePort` and `nodePort: 30080`": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]},
        "`type: NodePort` and `nodePort: 8080`": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 8080}]},
        "`type: NodePort` and `nodePort: 30077`, which another Service has": {
            "type": "NodePort", "ports": [{"port": 80, "nodePort": 30077}],
        },
        "`ipFamilyPolicy: RequireDualStack`": {"ipFamilyPolicy": "RequireDualStack"},
        "`ipFamilyPolicy: PreferDualStack`": {"ipFamilyPolicy": "PreferDualStack"},
        "`clusterIP: 10.96.0.300`": {"clusterIP": "10.96.0.300"},
    }  # fmt: skip
    namespace = rng.choice(("shop", "web", "db", "ops", "test", "blue", "green", "red", "dev", "prod", "eu", "us"))
    words, spec = rng.choice(list(cases.items()))
    other = {"clusterIP": "10.96.0.77", "type": "NodePort", "ports": [{"port": 80, "nodePort": 30077}]}
    refusal = _refusal(namespace, other, {"ports": [{"port": 80}], **spec})
    hint = (
        "Inside the range, not its first or last address, and nobody's: then it is yours. A cluster with one family "
        "refuses who requires two, and gives one to who prefers two."
    )
    told = f"no: {refusal}" if refusal else "yes, it is created"
    return Draft(
        "The cluster has `--service-cluster-ip-range=10.96.0.0/24` and the usual node ports. In the namespace "
        f"`{namespace}` somebody creates a Service with {words}. Is it created?",
        yes_no(not refusal, hint),
        f"{told}. {hint}",
    )


def _refusal(namespace: str, *specs: Any) -> str:
    """The message with which the last of these Services is refused; empty when it is created."""
    loop = Loop(seed="drill")
    server = APIServer(loop, Store(), compact_every_ms=0, services=ServiceRanges.parse("10.96.0.0/24"))
    you, found = server.transport("you"), [""]
    loop.run(for_ms=20)

    async def create() -> None:
        try:
            await you.call(Request("create", NAMESPACES, body={"metadata": {"name": namespace}}))
            for number, spec in enumerate(specs):
                body = {"metadata": {"name": f"s{number}"}, "spec": spec}
                await you.call(Request("create", SERVICES, namespace=namespace, body=body))
        except StatusError as error:
            found[0] = error.message

    loop.spawn("you", create())
    loop.run(for_ms=100)
    loop.close()
    return found[0]


# -- blocks -----------------------------------------------------------------------------------------


class _Pool:
    """Nodes that draw addresses from one pool of blocks."""

    def __init__(self, cidr: str, block_size: int, *, strict: bool = False) -> None:
        self.loop, self.store = Loop(seed="drill"), Datastore()
        pools = [IPPool("default", cidr, block_size=block_size)]
        config = IPAMConfig(strict_affinity=strict)
        self.client = IPAMClient(Connection(self.store), pools, self.loop.clock, config=config)

    def assign(self, node: str, count: int) -> list[str]:
        task = self.loop.spawn(f"{node}/cni", self.client.auto_assign(node, count))
        self.loop.run(until_idle=True)
        return list(task.result.addresses)

    def blocks(self) -> dict[str, str]:
        """Whose each block is."""
        return {entry.key.cidr: entry.value.affinity for entry in self.store.list(BlockKey)}


_NODES = ("node-a", "node-b", "node-c")


def _blocks(rng: random.Random) -> Draft:
    bits = rng.choice((26, 27, 28))
    size = 1 << (32 - bits)
    counts = {name: rng.randint(1, 3 * size) for name in _NODES[: rng.randint(2, 3)]}
    pool = _Pool("10.0.0.0/20", bits)
    for node, count in counts.items():
        pool.assign(node, count)
    right = len(pool.blocks())
    why = "A node claims a whole block, also for its first Pod, and another when that is full; all its addresses count."
    together = -(-sum(counts.values()) // size)
    return Draft(
        f"An IP pool is cut into blocks of `/{bits}` and has plenty of them. There are "
        f"{', '.join(f'{count} Pods on {node}' for node, count in counts.items())}. How many blocks are claimed?",
        whole(right, why, {together: "Nodes do not share a block while there are free ones.", len(counts): why}),
        f"{right}: {' + '.join(str(-(-count // size)) for count in counts.values())}, of {size} addresses each. {why}",
    )


_SOURCES = ("its own block", "a new block", "another node's block", "nowhere")
_SOURCE_WORDS = {
    "own": _SOURCES[0], "own block": _SOURCES[0], "new": _SOURCES[1], "new block": _SOURCES[1],
    "borrowed": _SOURCES[2], "another node": _SOURCES[2], "none": _SOURCES[3], "no address": _SOURCES[3],
}  # fmt: skip


def _source(rng: random.Random) -> Draft:
    strict = rng.random() < 0.5
    counts = dict.fromkeys(_NODES, 99)
    while sum(-(-count // 8) for count in counts.values()) > 4:  # whose block the first borrower took is chance
        counts = {name: rng.choice((1, 7, 8, 9, 16)) for name in _NODES}
    asker = rng.choice((*counts, "node-d"))
    pool = _Pool("10.0.0.0/27", 29, strict=strict)
    given = {node: len(pool.assign(node, count)) for node, count in counts.items()}
    before = pool.blocks()
    address = next(iter(pool.assign(asker, 1)), "")
    right = _SOURCES[3]
    if address:
        block = next(cidr for cidr in pool.blocks() if _in_block(address, cidr))
        right = _SOURCES[1] if block not in before else _SOURCES[0] if before[block] == asker else _SOURCES[2]
    hint = "First its own blocks, then a free one, then (unless affinity is strict) single addresses of others."
    return Draft(
        f"A pool `10.0.0.0/27` has four blocks of eight addresses; strict affinity is {'on' if strict else 'off'}. "
        f"In this order they ask for addresses: {', '.join(f'{node} {count}' for node, count in counts.items())}. Now "
        f"{asker} needs one more. Where does it come from: its own block, a new block, another node's block, or "
        "nowhere?",
        choice(right, _SOURCES, hint, {}, _SOURCE_WORDS),
        f"From {right}. They got {', '.join(map(str, given.values()))}, and {len(before)} of the four blocks were "
        f"claimed. {hint}",
    )


def _in_block(address: str, cidr: str) -> bool:
    first = _last(cidr.partition("/")[0])
    return first <= _last(address) < first + 8


KINDS: Sequence[Kind] = (
    Kind("usable", 1, f"{_HOST_LOCAL}/range.go (Canonicalize)", _usable),
    Kind("next", 2, f"{_HOST_LOCAL}/allocator.go (Get)", _next),
    Kind("twice", 2, "containernetworking/plugins plugins/ipam/host-local/backend/disk/backend.go", _twice),
    Kind("left", 2, "containernetworking/plugins plugins/ipam/host-local/backend/disk/backend.go (Reserve)", _left),
    Kind("nodes", 1, "pkg/controller/nodeipam/ipam/cidrset/cidr_set.go (NewCIDRSet)", _nodes),
    Kind("node-next", 3, "pkg/controller/nodeipam/ipam/cidrset/cidr_set.go (AllocateNext)", _node_next),
    Kind("band", 1, f"{_IPALLOCATOR}/bitmap.go (calculateRangeOffset)", _band),
    Kind("until-the-band", 3, f"{_IPALLOCATOR}/ipallocator.go (allocateNextService)", _until_the_band),
    Kind("cluster-ip", 2, "pkg/registry/core/service/storage/alloc.go", _cluster_ip),
    Kind("blocks", 2, f"{_CALICO}/ipam_block_reader_writer.go", _blocks),
    Kind("source", 3, f"{_CALICO}/ipam.go (autoAssign)", _source),
)


def addresses(rng: random.Random) -> Drill:
    """An exercise on who gets which address."""
    return generate("addresses", KINDS, rng)
