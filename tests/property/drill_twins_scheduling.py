"""Second opinions on the drills about `FailedScheduling` and preemption: see `drill_twins`. Nothing of k8slab here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from tests.property.drill_twins import Row, labels_of, listed, number, objects, quoted, room, tables, tolerates

__all__ = ["TWINS"]

CPU, MEMORY = "Insufficient cpu", "Insufficient memory"
TAINT, LABEL = "node(s) had untolerated taint(s)", "node(s) didn't match Pod's node affinity/selector"


def messages(q: str) -> list[str]:
    """The lines quoted, without their marks."""
    return re.findall(r"^> (.+)$", q, re.M)


def parts(text: str) -> dict[str, int]:
    """Reason -> count, of the last `0/N nodes are available:` in the text."""
    listing = text.rpartition("available: ")[2].rstrip(".")
    return {part.split(" ", 1)[1]: int(part.split(" ", 1)[0]) for part in listing.split(", ")}


# -- FailedScheduling -------------------------------------------------------------------------------


def told(pod: Any, labels: Sequence[Row], rooms: Sequence[Row]) -> list[list[str]]:
    """By Node what it is rejected for: taint, label, then all that is short."""
    asks = pod["containers"][0]["resources"]["requests"]
    found = []
    for about, row in zip(labels, rooms, strict=True):
        has_cpu, used_cpu, has_memory, used_memory = room(row)
        short = [CPU] * (used_cpu + number(asks["cpu"]) > has_cpu)
        short += [MEMORY] * (used_memory + number(asks["memory"]) > has_memory)
        if about["TAINTS"] != "-" and not tolerates(pod.get("tolerations", []), about["TAINTS"]):
            found.append([TAINT])
        elif any(labels_of(about["LABELS"]).get(key) != value for key, value in pod.get("nodeSelector", {}).items()):
            found.append([LABEL])
        else:
            found.append(short)
    return found


def sentence(reasons: Sequence[Sequence[str]]) -> str:
    counts = Counter(reason for of_node in reasons for reason in of_node)
    return f"0/{len(reasons)} nodes are available: {', '.join(sorted(f'{n} {r}' for r, n in counts.items()))}."


def count(q: str) -> str:
    about, rooms = tables(q)
    return str(sum(quoted(q)[1] in reasons for reasons in told(objects(q)[0]["spec"], about, rooms)))


def lack_both(q: str) -> str:
    counts, size = parts(messages(q)[0]), int(re.search(r"0/(\d+)", q)[1])  # type: ignore[index]
    return str(sum(counts.values()) - size)


def preemption_half(q: str) -> str:
    wanted = "Preemption is not helpful" if "if every Pod left" in q else "No preemption victims"
    return str(next(n for reason, n in parts(messages(q)[0]).items() if reason.startswith(wanted)))


def message(q: str) -> str:
    about, rooms = tables(q)
    right = sentence(told(objects(q)[0]["spec"], about, rooms))
    letters: dict[str, str] = {text: letter for letter, text in re.findall(r"^([A-C]): (.+)$", q, re.M)}
    return letters[right]


def order(q: str) -> str:
    rows = sorted(tables(q)[0], key=lambda row: (row["NODES"] + " " + row["REASON"]).encode())
    return ", ".join(row["PART"] for row in rows)


def helps(q: str) -> str:
    changes, about, rooms = tables(q)
    found = []
    for change in changes:
        pod = {**objects(q)[0]["spec"]}
        what, there = change["WHAT"], [dict(row) for row in rooms]
        if asks := re.match(r"the Pod asks for (\S+) of (\w+)", what):
            requests = {**pod["containers"][0]["resources"]["requests"], asks[2]: asks[1]}
            pod["containers"] = [{"resources": {"requests": requests}}]
        elif "tolerates" in what:
            pod["tolerations"] = [{"operator": "Exists"}]
        elif "nodeSelector" in what:
            del pod["nodeSelector"]
        else:
            name = what.split()[3]
            there = [row | {"PODS THERE ASK FOR (CPU/MEMORY)": "-"} if row["NODE"] == name else row for row in there]
        if [] in told(pod, about, there):
            found.append(change["CHANGE"])
    return listed(found)


ASKED_OF = {  # pkg/scheduler/framework/plugins/*: the constants ErrReason...
    "had untolerated taint": "TaintToleration",
    "match Pod's node affinity/selector": "NodeAffinity",
    "free ports for the requested pod ports": "NodePorts",
    "were unschedulable": "NodeUnschedulable",
    "Insufficient nvidia.com/gpu": "NodeResourcesFit",
    "Too many pods": "NodeResourcesFit",
    "pod topology spread constraints": "PodTopologySpread",
    "affinity rules": "InterPodAffinity",
}


def which_plugin(q: str) -> str:
    return next(plugin for words, plugin in ASKED_OF.items() if words in messages(q)[0])


# -- preemption -------------------------------------------------------------------------------------


def comer(q: str) -> tuple[int, int]:
    """(CPUs, priority) of the Pod that comes."""
    cpu, priority = re.search(r"asks for `(\d+)` CPUs comes, with priority (\d+)", q).groups()  # type: ignore[union-attr]
    return int(cpu), int(priority)


def capacity(q: str) -> int:
    return int(re.search(r"has `(\d+)` CPUs", q)[1])  # type: ignore[index]


def may(q: str) -> str:
    return listed([row["POD"] for row in tables(q)[0] if int(row["PRIORITY"]) < comer(q)[1]])


def eligible(q: str) -> str:
    cpu, priority = comer(q)
    stay = sum(int(row["CPU"]) for row in tables(q)[0] if int(row["PRIORITY"]) >= priority)
    return "yes" if "Never" not in q and stay + cpu <= capacity(q) else "no"


def evicted(q: str, protected: Callable[[Row], bool]) -> str:
    """Of all sets that make room, the one that keeps those who are asked to stay first: by trying every set."""
    cpu, priority = comer(q)
    rows = tables(q)[0]
    lower = [row for row in rows if int(row["PRIORITY"]) < priority]
    lower.sort(key=lambda row: (not protected(row), -int(row["PRIORITY"]), row["STARTED"]))
    free = capacity(q) - sum(int(row["CPU"]) for row in rows)
    best: tuple[list[bool], list[str]] | None = None
    for size in range(len(lower) + 1):
        for gone in combinations(lower, size):
            if free + sum(int(row["CPU"]) for row in gone) < cpu:
                continue
            kept = [row not in gone for row in lower]
            if best is None or kept > best[0]:
                best = kept, [row["POD"] for row in gone]
    assert best is not None
    return listed(best[1])


def victims(q: str) -> str:
    return evicted(q, lambda row: False)


def budget(q: str) -> str:
    """With none allowed, each Pod of the app would break the budget; with one, all but the first to be counted."""
    allowed = int(re.search(r"disruptionsAllowed: (\d)", q)[1])  # type: ignore[index]
    mine = [row for row in tables(q)[0] if row["APP"] == "api" and int(row["PRIORITY"]) < comer(q)[1]]
    mine.sort(key=lambda row: (-int(row["PRIORITY"]), row["STARTED"]))
    return evicted(q, lambda row: row in mine[allowed:])


def which_node(q: str) -> str:
    def harm(row: Row) -> tuple[Any, ...]:
        priorities = [int(text) for text in row["PRIORITIES"].split()]
        top = min(t for t, p in zip(row["STARTED"].split(), priorities, strict=True) if p == max(priorities))
        started = int(top[:2]) * 60 + int(top[3:])
        total = sum(priority + 2**31 for priority in priorities)
        return int(row["BUDGETS BROKEN"]), max(priorities), total, len(priorities), -started

    return min(tables(q)[0], key=harm)["NODE"]


def enough(q: str) -> str:
    percentage, absolute = (int(text) for text in re.findall(r"minCandidateNodes\w+: (\d+)", q))
    nodes = int(re.search(r"help on (\d+) Nodes", q)[1])  # type: ignore[index]
    return str(min(nodes, max(absolute, int(Fraction(nodes * percentage, 100)))))


TWINS: dict[tuple[str, str], Callable[[str], str]] = {
    ("failed-scheduling", "count"): count,
    ("failed-scheduling", "lack-both"): lack_both,
    ("failed-scheduling", "preemption-half"): preemption_half,
    ("failed-scheduling", "message"): message,
    ("failed-scheduling", "order"): order,
    ("failed-scheduling", "helps"): helps,
    ("failed-scheduling", "which-plugin"): which_plugin,
    ("preemption", "may"): may,
    ("preemption", "eligible"): eligible,
    ("preemption", "victims"): victims,
    ("preemption", "budget"): budget,
    ("preemption", "which-node"): which_node,
    ("preemption", "enough"): enough,
}
