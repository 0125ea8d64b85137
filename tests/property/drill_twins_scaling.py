"""Second opinions on the drills about scaling: each reads a question as a reader does and works it out by hand.

Nothing of k8slab is used here. TWINS: (topic, kind) -> function from the question to an answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import yaml

__all__ = ["TWINS"]


def integers(question: str) -> list[int]:
    """The whole numbers of a question, in their order, without those of its blocks."""
    return [
        int(text) for text in re.findall(r"(?<![\w.])\d+(?![\w.]\d)", re.sub(r"```.*?```", "", question, flags=re.S))
    ]


def near(ratio: float) -> bool:
    return 1.0 - 0.1 <= ratio <= 1.0 + 0.1


def ratio(question: str) -> str:
    count, used, target = integers(question)[:3]
    return str(count if near(used / target) else math.ceil(used / target * count))


def band(question: str) -> str:
    target = integers(question)[0]
    inside = [used for used in range(1, 200) if near(used / target)]
    return str(max(inside) if "highest" in question else min(inside))


def missing(question: str) -> str:
    count, target, known, used, unknown = integers(question)[:5]
    fill = 100 if used < target else 0
    together = (known * used + unknown * fill) // count
    after = together / target
    if near(after) or (used / target - 1) * (after - 1) < 0:
        return str(count)
    return str(math.ceil(after * count))


def several(question: str) -> str:
    count = integers(question)[0]
    found = re.search(r"CPU is at (\d+) %, the queue `mail` has (\d+) messages", question)
    assert found is not None
    used, length = int(found[1]), int(found[2])
    proposals = [count if near(used / 50) else math.ceil(used / 50 * count)]
    proposals.append(count if near(length / (10 * count)) else math.ceil(length / 10))
    if "cannot be read" in question:
        return str(max(*proposals, count))
    return str(max(*proposals, 1))


def window(question: str) -> str:
    rows = re.findall(r"^(\d+) s\s+(\d+)$", question, re.M)
    return str(max(int(want) for age, want in rows if int(age) <= 300))


def leaves(question: str) -> str:
    _, _, peak = integers(question)[:3]
    return str(15 * (peak - 1) + 315)


def limit(question: str) -> str:
    found = re.search(r"has (\d+) replicas? and `maxReplicas: (\d+)`. The metrics ask for (\d+)", question)
    assert found is not None
    current, most, wanted = (int(text) for text in found.groups())
    return str(min(max(2 * current, 4), most, wanted))


def policy(question: str) -> str:
    current = integers(question)[0]
    block = yaml.safe_load(re.findall(r"```yaml\n(.*?)```", question, re.S)[0])
    ((half, rules),) = block.items()
    pods, percent = (one["value"] for one in rules["policies"])
    if half == "scaleUp":
        both = [current + pods, math.ceil(current * (1 + percent / 100))]
        return str(max(both) if rules["selectPolicy"] == "Max" else min(both))
    both = [current - pods, int(current * (1 - percent / 100))]
    return str(max(1, min(both) if rules["selectPolicy"] == "Max" else max(both)))


def period(question: str) -> str:
    found = re.search(r"has (\d+) replicas?;.*is (\d+) Pods in 60 s.*round at (\d+) s", question, re.S)
    assert found is not None
    start, step, end = (int(text) for text in found.groups())
    return str(start + step * (1 + end // 60))


def counted(question: str) -> str:
    found = []
    for name, phase, age, ready, since in re.findall(r"^(\w)\s+(\w+)\s+(\d+) s\s+(\w+)\s+(\d+) s$", question, re.M):
        if phase == "Pending":
            continue
        if int(age) < 300:
            counts = ready == "True" and int(since) >= 30
        else:
            counts = ready == "True" or int(age) - int(since) >= 30
        found += [name] if counts else []
    return ", ".join(found) or "none"


TWINS: dict[tuple[str, str], Callable[[str], str]] = {
    ("hpa", one.__name__): one
    for one in (ratio, band, missing, several, window, leaves, limit, policy, period, counted)
}
