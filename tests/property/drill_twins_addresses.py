"""Second opinions on the drills about addresses: lists of numbers, searched one by one.

Nothing of k8slab is used here. TWINS: (topic, kind) -> function from the question to an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_network

from tests.property.drill_twins import tables
from tests.property.drill_twins_etcd import found, numbers

__all__ = ["TWINS"]


def subnet_of(q: str) -> str:
    return found(r"`(\d+\.\d+\.\d+\.\d+/\d+)`", q)


def usable(q: str) -> str:
    network = ip_network(subnet_of(q))
    return str(sum(1 for one in network if one not in (network[0], network[1], network[-1])))


def following(q: str) -> str:
    """The pool as a queue: who comes back stands at the end, behind those that were never given."""
    queue = [int(str(one).rpartition(".")[2]) for one in list(ip_network(subnet_of(q)))[2:-1]]
    held: dict[str, int] = {}
    last = queue[0] - 1
    for row in tables(q)[0]:
        command, pod = row["COMMAND"], row["POD"]
        if command == "DEL":
            queue.append(held.pop(pod))
        else:
            last = held[pod] = in_turn(queue, last)
    return str(in_turn(queue, last))


def in_turn(queue: list[int], last: int) -> int:
    """Take out the nearest number above the last one, or the lowest of all."""
    chosen = min([one for one in queue if one > last] or queue)
    queue.remove(chosen)
    return chosen


def twice(q: str) -> str:
    return str(min(int(n) for n in re.findall(r"(\d+)(?: Pods start on the one| on the other)", q)))


def left(q: str) -> str:
    lost = int(found(r"(\d+) (?:Pod|sandbox)", q))
    return str(int(usable(q)) - lost)


def nodes(q: str) -> str:
    cluster, mask = int(found(r"cluster-cidr=\S+?/(\d+)", q)), int(found(r"mask-size=(\d+)", q))
    count = 1
    for _ in range(mask - cluster):
        count *= 2
    return str(count)


def next_node(q: str) -> str:
    free, held = list(range(8)), dict[str, int]()
    last = -1
    for row in tables(q)[0]:
        if row["WHAT"] == "joins":
            last = held[row["NODE"]] = in_turn(free, last)
        else:
            free.append(held.pop(row["NODE"]))
    return str(in_turn(free, last))


def band(q: str) -> str:
    size = int(found(r"\((\d+) (?:ports|addresses)\)", q))
    parts, most = (32, 128) if "ports" in q else (16, 256)
    if size <= 16:
        return "0"
    return str(sorted((16, size // parts, most))[1])


def until_the_band(q: str) -> str:
    usable_ones, size = numbers(found(r"(: \d+ usable)", q))[0], 1 << (32 - int(found(r"/(\d+)`", q)))
    taken = int((re.findall(r"(\d+) of the upper band", q) or ["0"])[0])
    count = int(found(r"(\d+) Services", q))
    static = 0 if size <= 16 else max(16, size // 16)
    upper = usable_ones - static - taken
    return "yes" if static and count <= upper else "no"


def blocks(q: str) -> str:
    size = 1 << (32 - int(found(r"blocks of `/(\d+)`", q)))
    total = 0
    for count in map(int, re.findall(r"(\d+) Pods on", q)):
        while count > 0:
            count, total = count - size, total + 1
    return str(total)


def source(q: str) -> str:
    """Four blocks as lists of eight names; who asks fills its own, opens new ones, then borrows."""
    strict, asked = "affinity is on" in q, re.findall(r"(node-[a-d]) (\d+)", q)
    pool: list[list[str]] = []

    def one(node: str) -> str:
        for block in pool:
            if block[0] == node and len(block) < 9:
                block.append(node)
                return "its own block"
        if len(pool) < 4:
            pool.append([node, node])  # whose it is, and the first address
            return "a new block"
        for block in pool:
            if len(block) < 9 and not strict:
                block.append(node)
                return "another node's block"
        return "nowhere"

    for node, count in asked:
        for _ in range(int(count)):
            one(node)
    return one(found(r"Now (node-[a-d]) needs", q))


TWINS: dict[tuple[str, str], Callable[[str], str]] = {
    ("addresses", "usable"): usable,
    ("addresses", "next"): following,
    ("addresses", "twice"): twice,
    ("addresses", "left"): left,
    ("addresses", "nodes"): nodes,
    ("addresses", "node-next"): next_node,
    ("addresses", "band"): band,
    ("addresses", "until-the-band"): until_the_band,
    ("addresses", "blocks"): blocks,
    ("addresses", "source"): source,
}
