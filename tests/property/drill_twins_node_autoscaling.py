"""Second opinions on the drills about node autoscaling: each reads a question as a reader does, and works it out.

Nothing of k8slab is used here. TWINS: (topic, kind) -> function from the question to an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import yaml

__all__ = ["TWINS"]


def found(pattern: str, question: str) -> tuple[int, ...]:
    match = re.search(pattern, question)
    assert match is not None, (pattern, question)
    return tuple(int(text) for text in match.groups())


def rows(question: str) -> list[list[str]]:
    """The lines of the question's table, without its heading."""
    (block,) = re.findall(r"```\n(.*?)```", question, re.S)
    return [re.split(r"\s{2,}", line.strip()) for line in block.strip().split("\n")[1:]]


def estimate(question: str) -> str:
    count, each = found(r"^(\d+) Pods of a Deployment wait, each asks for (\d+)m", question)
    (cpus,) = found(r"machines have (\d+) CPUs", question)
    daemons = found(r"asks for (\d+)m\. By", question)[0] if "DaemonSet" in question else 0
    nodes, left = 0, 0
    for _ in range(count):
        if left < each:
            nodes, left = nodes + 1, cpus * 1_000 - daemons
        left -= each
    return str(nodes)


def packing(question: str) -> str:
    (cpus,) = found(r"machines have (\d+) CPUs", question)
    free: list[int] = []
    for count, size in sorted(((int(count), int(size)) for count, size in rows(question)), key=lambda row: -row[1]):
        for _ in range(count):
            for index, left in enumerate(free):
                if left >= size:
                    free[index] -= size
                    break
            else:
                free.append(cpus - size)
    return str(len(free))


def balance(question: str) -> str:
    (new,) = found(r"(\d+) more nodes are wanted", question)
    table = [(int(size), int(most)) for _, size, most in rows(question)]
    sizes = [size for size, _ in table]
    for _ in range(new):
        growing = [index for index, (_, most) in enumerate(table) if sizes[index] < most]
        if growing:
            sizes[min(growing, key=lambda index: (sizes[index], table[index][0]))] += 1
    return ", ".join(map(str, sizes))


def priority(question: str) -> str:
    ranks = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", question, re.S)[0])
    ids = re.findall(r"`([\w-]+)`", question.rsplit("```", 1)[1])
    best = {
        id: max((n for n, rules in ranks.items() if any(re.search(r, id) for r in rules)), default=-1) for id in ids
    }
    return ", ".join(id for id in ids if best[id] == max(best.values()))


def requested(question: str) -> str:
    cpus, gib = found(r"has (\d+) CPUs and (\d+)Gi", question)
    room = [cpus * 1_000, gib * 1_024]
    asked = [0, 0]
    for _, kind, cpu, memory, _ in rows(question):
        amounts = int(cpu.rstrip("m")), int(memory.rstrip("Mi"))
        for index, amount in enumerate(amounts):
            if kind == "DaemonSet" and "ignore-daemonsets" in question:
                room[index] -= amount
            else:
                asked[index] += amount
    return str(round(100 * max(one / all_of_it for one, all_of_it in zip(asked, room, strict=True))))


def blocker(question: str) -> str:
    traits = {row[0]: row[1] for row in rows(question)}
    if traits.get("owner") == "a DaemonSet" or traits.get("safe-to-evict") == "true" or "phase" in traits:
        return "may go"
    if traits.get("owner") == "nobody":
        return "NotReplicated"
    if "namespace" in traits and "budget" not in traits:
        return "UnmovableKubeSystemPod" if "10 minutes" in traits["namespace"] else "may go"
    if traits.get("safe-to-evict") == "false":
        return "NotSafeToEvictAnnotation"
    if traits.get("volume") in ("emptyDir", "hostPath"):
        return "LocalStorageRequested"
    return "NotEnoughPdb" if traits.get("budget") == "allows 0" else "may go"


def together(question: str) -> str:
    load = {row[0]: [int(row[1])] for row in rows(question)}
    stays = {row[0] for row in rows(question) if row[2:] == ["false"]}
    gone: list[str] = []
    for name, size in [(name, pods[0]) for name, pods in load.items()]:
        if size > 4 or name in stays:
            continue
        free = {other: 8 - sum(pods) for other, pods in load.items() if other != name and other not in gone}
        moves: list[tuple[int, str]] = []
        for pod in load[name]:
            target = next((other for other, left in free.items() if left >= pod), None)
            if target is None:
                break
            free[target] -= pod
            moves.append((pod, target))
        else:
            gone.append(name)
            for pod, target in moves:
                load[target].append(pod)
    return ", ".join(gone) or "none"


def when(question: str) -> str:
    needed, after = found(r"unneeded-time=(\d+)s`, `--scale-down-delay-after-add=(\d+)s", question)
    (since,) = found(r"unneeded from the round at (\d+) s", question)
    (grew,) = found(r"grew in the round at (\d+) s", question)
    if "once more" in question:
        since = found(r"at (\d+) s it is needed once more", question)[0] + 20
    return str(next(second for second in range(0, 9_999, 20) if second - since > needed and second - grew >= after))


def pause(question: str) -> str:
    minutes = [int(text) for text in re.findall(r"\d+", question.split(".")[0])]
    length, until, last = 5, -1, -1_000
    for minute in minutes:
        if minute - last > 180:
            length = 5
        elif minute > until:
            length = min(2 * length, 30)
        until, last = minute + length, minute
    return str(until)


TWINS: dict[tuple[str, str], Callable[[str], str]] = {
    ("node-autoscaling", one.__name__): one
    for one in (estimate, packing, balance, priority, requested, blocker, together, when, pause)
}
