"""Second opinions on the drills about GPUs and packed nodes: each reads a question as a reader does.

Nothing of k8slab is used here. TWINS: (topic, kind) -> function from the question to an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["TWINS"]


def block(question: str) -> list[list[str]]:
    """The rows of a question's (last) table, in words that two blanks part."""
    lines = re.findall(r"```\n(.*?)\n```", question, re.S)[-1].split("\n")
    return [re.split(r"\s{2,}", line.strip()) for line in lines[1:]]


def mig(question: str) -> tuple[set[int], int, int, list[int], int]:
    """Free memory slices and compute slices; what the profile takes of memory, where it begins, and its compute."""
    found = re.search(r"has (\d+) memory slices.* and (\d+) compute slices", question)
    assert found is not None
    free, compute = set(range(int(found[1]))), int(found[2])
    for _, where, of_compute in block(question):
        first, _, last = where.partition(" to ")
        free -= set(range(int(first), int(last or first) + 1))
        compute -= int(of_compute)
    asked = re.search(r"takes (\d+) memory slice.*?from one of ([\d, ]+), and (\d+) compute", question)
    assert asked is not None
    return free, compute, int(asked[1]), [int(one) for one in asked[2].split(", ")], int(asked[3])


def beginnings(question: str) -> list[int]:
    free, compute, size, places, needed = mig(question)
    return [one for one in places if needed <= compute and all(one + n in free for n in range(size))]


def fits(question: str) -> str:
    return "yes" if beginnings(question) else "no"


def starts(question: str) -> str:
    return ", ".join(map(str, beginnings(question))) or "none"


def more(question: str) -> str:
    _, compute, _, _, needed = mig(question)
    return str(min(len(beginnings(question)), compute // needed))


def sharing(question: str) -> str:
    found = re.search(r"has (\d+) GPU.*replicas: (\d+)`.*gpu: (\d+)`", question)
    assert found is not None
    count, replicas, asked = map(int, found.groups())
    return str(count * replicas // asked)


def place(question: str) -> str:
    found = re.search(r"asks for (\d) whole GPU.*policy is `(\w+)`", question)
    assert found is not None
    rows = [(sum(map(float, row[1:])), row[0]) for row in block(question) if row[1:].count("1") >= int(found[1])]
    if not rows:
        return "none"
    return (max(rows) if found[2] == "spread" else min(rows))[1]


def useless(question: str) -> str:
    left = [int(one) for one in re.findall(r"\d+", question.partition("have ")[2].partition(" thousandths free")[0])]
    share = re.search(r"asks for (\d+) thousandths", question)
    whole = re.search(r"asks for (\d) whole", question)
    each, count = (int(share[1]), 1) if share else (1_000, int(whole[1]) if whole else 0)
    usable = [one for one in left if one >= each]
    return str(sum(left) - sum(usable) if len(usable) >= count else sum(left))


def links(question: str) -> str:
    free = [int(one) for one in re.findall(r"\d", question.partition("Free are ")[2].partition(". A container")[0])]
    pairs = [(a, b) for a in free for b in free if a < b]

    ranked = []
    for chosen in pairs:
        rest = [pair for pair in pairs if not set(pair) & set(chosen)]
        ranked.append((-bridged(*chosen), -sum(bridged(*pair) for pair in rest), chosen))
    return ", ".join(map(str, min(ranked)[2]))


def bridged(a: int, b: int) -> bool:
    return a // 2 == b // 2


def drained(question: str) -> str:
    tiers: dict[tuple[bool, bool], list[str]] = {}
    for name, owner, priority, keeps in block(question):
        asked = tiers.setdefault((priority != "none", owner == "DaemonSet"), [])
        asked += [name] if keeps == "none" else []
    return ", ".join(tiers[min(tiers)]) or "none"


def forced(question: str) -> str:
    node, pod = (int(one) for one in re.findall(r"Period(?:Seconds)?: (\d+)", question))
    return f"{node - pod}s"


TWINS: dict[tuple[str, str], Callable[[str], str]] = {
    ("gpus", one.__name__): one for one in (fits, starts, more, sharing, place, useless, links, drained, forced)
}
