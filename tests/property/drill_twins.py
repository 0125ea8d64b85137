"""Second opinions on the drills: each reads a question as a reader does and works the answer out by hand.

Nothing of k8slab is used here. TWINS: (topic, kind) -> function from the question to an answer.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import yaml

__all__ = ["TWINS"]

Row = dict[str, str]
UNITS = {"": 0, "m": -3, "k": 3, "M": 6, "G": 9, "e1": 1}
BINARY = {"Ki": 10, "Mi": 20, "Gi": 30}


def number(text: str) -> Fraction:
    """A quantity as an exact number."""
    digits, suffix = re.fullmatch(r"([0-9.]+)([a-zA-Z0-9]*)", text).groups()  # type: ignore[union-attr]
    return Fraction(digits) * (2 ** BINARY[suffix] if suffix in BINARY else Fraction(10) ** UNITS[suffix])


def quoted(question: str) -> list[str]:
    """What stands between backticks, outside of blocks."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", question, flags=re.S))


def milli(amount: Fraction) -> str:
    return f"{math.ceil(amount * 1000)}m"


def fenced(question: str) -> list[tuple[str, str]]:
    """(language, text) of each block."""
    return re.findall(r"```(\w*)\n(.*?)```", question, re.S)


def objects(question: str) -> list[Any]:
    return [yaml.safe_load(text) for language, text in fenced(question) if language == "yaml"]


def tables(question: str) -> list[list[Row]]:
    return [table(text) for language, text in fenced(question) if not language]


def table(text: str) -> list[Row]:
    head, *lines = text.rstrip("\n").split("\n")
    columns = [(match[0], match.start()) for match in re.finditer(r"\S+(?: \S+)*", head)]
    ends = [start for _, start in columns[1:]] + [None]
    return [{name: line[start:end].strip() for (name, start), end in zip(columns, ends, strict=True)} for line in lines]


def listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


# -- quantities -------------------------------------------------------------------------------------


def to_bytes(q: str) -> str:
    return str(math.ceil(number(quoted(q)[0].split()[1])))


def to_milli(q: str) -> str:
    return str(math.ceil(number(quoted(q)[0].split()[1]) * 1000))


def larger(q: str) -> str:
    a, b = quoted(q)[:2]
    return "equal" if number(a) == number(b) else max(a, b, key=number)


def total(q: str) -> str:
    return milli(sum((number(text) for text in quoted(q)), Fraction(0)))


def left_over(q: str) -> str:
    has, one, two = (number(text) for text in quoted(q))
    return milli(has - one - two)


def rounds_up(q: str) -> str:
    return str(-(-int(quoted(q)[0][:-1]) // 1000))


# -- selectors --------------------------------------------------------------------------------------


def labels_of(text: str) -> Row:
    return {} if text == "<none>" else dict(pair.split("=") for pair in text.split(","))


def condition(text: str, labels: Row) -> bool:
    for pattern, holds in (
        (r"(\S+) in \((.*)\)", lambda k, v: labels.get(k) in v.split(",")),
        (r"(\S+) notin \((.*)\)", lambda k, v: labels.get(k) not in v.split(",")),
        (r"(\w+)!=(\S+)", lambda k, v: labels.get(k) != v),
        (r"(\w+)=(\S+)", lambda k, v: labels.get(k) == v),
        (r"(\w+)([<>]\d+)", lambda k, v: _compared(labels.get(k), v)),
        (r"!(\w+)()", lambda k, v: k not in labels),
        (r"(\w+)()", lambda k, v: k in labels),
    ):
        if match := re.fullmatch(pattern, text):
            return bool(holds(*match.groups()))
    raise AssertionError(f"no such condition: {text}")


def _compared(value: str | None, bound: str) -> bool:
    if value is None or not re.fullmatch(r"-?\d+", value):
        return False
    return int(value) > int(bound[1:]) if bound[0] == ">" else int(value) < int(bound[1:])


def conditions(text: str) -> list[str]:
    return re.split(r",(?![^(]*\))", text)


def selected(text: str, rows: list[Row]) -> str:
    return listed([r["NAME"] for r in rows if all(condition(c, labels_of(r["LABELS"])) for c in conditions(text))])


def matches(q: str) -> str:
    labels, command = quoted(q)
    text = command.split("'")[1]
    return "yes" if all(condition(c, labels_of(labels)) for c in conditions(text)) else "no"


def which(q: str) -> str:
    return selected(quoted(q)[0].split("'")[1], tables(q)[0])


def numeric(q: str) -> str:
    return selected(quoted(q)[0], tables(q)[0])


def label_selector(q: str) -> str:
    spec = objects(q)[0]["selector"]
    found = [f"{key}={value}" for key, value in spec["matchLabels"].items()]
    for e in spec["matchExpressions"]:
        values = ",".join(e.get("values", ()))
        texts = {"In": f"{e['key']} in ({values})", "NotIn": f"{e['key']} notin ({values})"}
        found.append({**texts, "Exists": e["key"], "DoesNotExist": f"!{e['key']}"}[e["operator"]])
    return selected(",".join(found), tables(q)[0])


# -- requests and QoS -------------------------------------------------------------------------------


def asks(container: Any, resource: str) -> Fraction:
    return number(str(container.get("resources", {}).get("requests", {}).get(resource, "0")))


def pod_total(q: str) -> str:
    spec = objects(q)[0]["spec"]
    resource = "memory" if "How much memory" in q else "cpu"
    sidecars, peak = Fraction(0), Fraction(0)
    for container in spec.get("initContainers", ()):
        if container.get("restartPolicy") == "Always":
            sidecars += asks(container, resource)
        else:
            peak = max(peak, sidecars + asks(container, resource))
    found = max(peak, sidecars + sum(asks(c, resource) for c in spec["containers"]))
    level = spec.get("resources", {}).get("requests", {}).get(resource)
    found = found if level is None else number(str(level))
    return milli(found + number(str(spec.get("overhead", {}).get(resource, "0"))))


def qos(q: str) -> str:
    spec = objects(q)[0]["spec"]
    containers = [*spec["containers"], *spec.get("initContainers", ())]
    blocks = [
        (c.get("resources", {}).get("requests", {}), c.get("resources", {}).get("limits", {})) for c in containers
    ]
    if "limits and no requests" in q:
        blocks = [({**limits, **requests}, limits) for requests, limits in blocks]
    if not any(requests or limits for requests, limits in blocks):
        return "BestEffort"
    return "Guaranteed" if all(len(limits) == 2 and limits == requests for requests, limits in blocks) else "Burstable"


def oom_score(q: str) -> str:
    resources = objects(q)[0]["spec"]["containers"][0].get("resources", {})
    if "limits" in resources:
        return "-997"
    if not resources:
        return "1000"
    node = number(re.search(r"has (\w+) of memory", q)[1])  # type: ignore[index]
    return str(1000 - math.floor(1000 * number(resources["requests"]["memory"]) / node))


# -- resourceVersion --------------------------------------------------------------------------------


def history(q: str) -> list[tuple[int, str, str]]:
    rows = tables(q)[0]
    first = int(rows[0]["REVISION"])
    return [(first + n, *row["WRITE"].split()) for n, row in enumerate(rows)]  # type: ignore[misc]


def counter(q: str) -> str:
    name = quoted(q)[0].split("'")[0]
    return str([revision for revision, _, written in history(q) if written == name][-1])


def deleted(q: str) -> str:
    return str(history(q)[-1][0])


def state_at(q: str, limit: int) -> str:
    alive: dict[str, None] = {}
    for revision, what, name in history(q):
        if revision <= limit:
            alive.pop(name, None) if what == "delete" else alive.setdefault(name)
    return listed(list(alive))


def list_names(q: str) -> str:
    query = quoted(q)[-1]
    version = re.search(r"resourceVersion=(\d+)", query)
    exact = version and version[1] != "0" and ("Exact" in query or "limit" in query)
    return state_at(q, int(version[1]) if version and exact else 10**9)


def watched(q: str) -> str:
    version = int(re.search(r"with `resourceVersion=(\d+)`", q)[1])  # type: ignore[index]
    types = {"create": "ADDED", "patch": "MODIFIED", "delete": "DELETED"}
    return listed([f"{types[what]}/{name}" for revision, what, name in history(q) if revision > version])


def selected_events(q: str) -> str:
    tier: str | None = re.search(r"label `tier=(\w+)`", q)[1]  # type: ignore[index]
    events = []
    for row in tables(q)[0]:
        before, words = tier == "front", row["STEP"]
        tier = None if "loses" in words else words.split("=")[1] if "tier=" in words else tier
        events += {(True, True): ["MODIFIED"], (False, True): ["ADDED"], (True, False): ["DELETED"]}.get(
            (before, tier == "front"), []
        )
    return listed(events)


# -- work queues ------------------------------------------------------------------------------------


def ints(text: str) -> list[int]:
    return [int(found) for found in re.findall(r"\d+", text)]


def exponential(q: str) -> str:
    base, maximum, failures = ints(q)[:3]
    return f"{min(base * 2 ** (failures - 1), maximum * 1000)}ms"


def cap(q: str) -> str:
    base, maximum = ints(q)[:2]
    failure = 1
    while base * 2 ** (failure - 1) < maximum * 1000:
        failure += 1
    return str(failure)


def forget(q: str) -> str:
    base, *_, after = ints(q)
    return f"{base * 2 ** (after - 1)}ms"


def fast_slow(q: str) -> str:
    fast, slow, attempts, failure = ints(q)
    return f"{fast if failure <= attempts else slow}ms"


def bucket(q: str) -> str:
    place = int(re.search(r"and (\d+) different", q)[1])  # type: ignore[index]
    return f"{max(5, (place - 100) * 100)}ms"


def add_after(q: str) -> str:
    return f"{min(int(row['AT'].split()[0]) + ints(row['CALL'])[0] for row in tables(q)[0])}ms"


def crash_loop(q: str) -> str:
    crash = int(re.search(r"number (\d+)", q)[1])  # type: ignore[index]
    return f"{min(10 * 2 ** (crash - 1), 300)}s"


# -- rollouts ---------------------------------------------------------------------------------------


def share(text: str, desired: int, rounded: Callable[[Fraction], int]) -> int:
    return rounded(Fraction(int(text[:-1]) * desired, 100)) if text.endswith("%") else int(text)


def rollout_of(q: str) -> tuple[int, int, int]:
    """(desired, surge, unavailable)."""
    desired, surge, unavailable = (part.split(": ")[1] for part in quoted(q)[:3])
    up, down = share(surge, int(desired), math.ceil), share(unavailable, int(desired), math.floor)
    return int(desired), up, 1 if up == down == 0 else min(down, int(desired))


def resolved(q: str) -> str:
    return "{1}, {2}".format(*rollout_of(q))


def bounds(q: str) -> str:
    desired, surge, unavailable = rollout_of(q)
    return f"{desired + surge}, {desired - unavailable}"


def next_step(q: str) -> str:
    desired, surge, unavailable = rollout_of(q)
    (old, old_ok), (new, new_ok) = ((int(r["REPLICAS"]), int(r["AVAILABLE"])) for r in tables(q)[0])
    grow = max(0, min(desired + surge - old - new, desired - new))
    if grow:
        return f"{old}, {new + grow}"
    may_go = old + new_ok - (desired - unavailable)
    sick = min(max(0, may_go), old - old_ok)
    healthy = max(0, old_ok + new_ok - (desired - unavailable))
    return f"{old - min(old, sick + healthy)}, {new}"


def all_steps(q: str) -> str:
    desired, surge, unavailable = rollout_of(q)
    old, new, steps = desired, 0, 0
    while (old, new) != (0, desired):
        grow = max(0, min(desired + surge - old - new, desired - new))
        new += grow
        old -= 0 if grow else min(old, old + new - (desired - unavailable))
        steps += 1
    return str(steps)


def stuck(q: str) -> str:
    desired, surge, unavailable = rollout_of(q)
    return f"{desired - unavailable}, {min(desired, surge + unavailable)}"


# -- scheduling -------------------------------------------------------------------------------------


def room(row: Row) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    """(CPU there is, CPU asked for, memory there is, memory asked for)."""
    asked = [pair.split("/") for pair in row["PODS THERE ASK FOR (CPU/MEMORY)"].split() if pair != "-"]
    cpu, memory = (sum((number(pair[n]) for pair in asked), Fraction(0)) for n in (0, 1))
    return number(row["CPU"]), cpu, number(row["MEMORY"]), memory


def wanted(q: str) -> tuple[Fraction, Fraction]:
    cpu, memory = re.search(r"asks for `(\S+)` of CPU and `(\S+)` of memory", q).groups()  # type: ignore[union-attr]
    return number(cpu), number(memory)


def fit(q: str) -> str:
    cpu, memory = wanted(q)
    found = []
    for row in tables(q)[0]:
        has_cpu, used_cpu, has_memory, used_memory = room(row)
        if used_cpu + cpu <= has_cpu and used_memory + memory <= has_memory:
            found.append(row["NODE"])
    return listed(found)


def tolerates(tolerations: list[Any], taint: str) -> bool:
    pair, effect = taint.split(":")
    key, _, value = pair.partition("=")
    return any(
        t.get("effect", effect) == effect
        and t.get("key", key) == key
        and (t.get("operator") == "Exists" or t.get("value", "") == value)
        for t in tolerations
    )


def taints(q: str) -> str:
    tolerations = objects(q)[0]["tolerations"]
    found = []
    for row in tables(q)[0]:
        hard = [t for t in row["TAINTS"].split(", ") if t != "-" and not t.endswith("PreferNoSchedule")]
        if all(tolerates(tolerations, t) for t in hard):
            found.append(row["NODE"])
    return listed(found)


def cordoned(q: str) -> str:
    tolerations = objects(q)[0]["tolerations"] if objects(q) else []
    free = tolerates(tolerations, "node.kubernetes.io/unschedulable:NoSchedule")
    return listed([r["NODE"] for r in tables(q)[0] if free or r["SPEC.UNSCHEDULABLE"] == "false"])


def ports(q: str) -> str:
    def parts(text: str) -> list[str]:
        return re.split("[:/]", text)

    mine = parts(quoted(q)[1])
    found = []
    for row in tables(q)[0]:
        theirs = row["HOST PORTS IN USE"]
        same = theirs != "-" and parts(theirs)[1:] == mine[1:]
        if not (same and (parts(theirs)[0] == mine[0] or "0.0.0.0" in (parts(theirs)[0], mine[0]))):
            found.append(row["NODE"])
    return listed(found)


def expression(e: Any, labels: Row) -> bool:
    value, values = labels.get(e["key"]), e.get("values", ())
    if e["operator"] in ("Gt", "Lt"):
        return value is not None and (int(value) > int(values[0])) == (e["operator"] == "Gt") and value != values[0]
    return {
        "In": value in values,
        "NotIn": value not in values,
        "Exists": value is not None,
        "DoesNotExist": value is None,
    }[e["operator"]]


def affinity(q: str) -> str:
    terms = objects(q)[0]["nodeSelectorTerms"]
    return listed(
        [
            row["NODE"]
            for row in tables(q)[0]
            if any(all(expression(e, labels_of(row["LABELS"])) for e in term["matchExpressions"]) for term in terms)
        ]
    )


def filled(q: str) -> list[int]:
    """How full the Node would be, in per mille of CPU and memory, rounded as integer division does."""
    cpu, memory = wanted(q)
    has_cpu, used_cpu, has_memory, used_memory = room(tables(q)[0][0])
    return [Fraction(used_cpu + cpu) / has_cpu, Fraction(used_memory + memory) / has_memory]  # type: ignore[list-item]


def least(q: str) -> str:
    return str(sum(math.floor(100 * (1 - used)) for used in filled(q)) // 2)


def most(q: str) -> str:
    return str(sum(math.floor(100 * used) for used in filled(q)) // 2)


def weighted(q: str) -> str:
    return str(sum(int(r["SCORE"]) * int(r["WEIGHT"]) for r in tables(q)[0]))


def taint_scores(q: str) -> str:
    tolerations = objects(q)[0]["tolerations"] if objects(q) else []
    rows = [[t for t in row["TAINTS"].split(", ") if t != "-"] for row in tables(q)[0]]
    counts = [sum(not tolerates(tolerations, t) for t in row) for row in rows]
    return listed([str(100 - 100 * count // max(counts) if max(counts) else 100) for count in counts])


def affinity_scores(q: str) -> str:
    (terms,) = objects(q)[0].values()
    sums = []
    for row in tables(q)[0]:
        labels = {"disk": row["DISK"], "zone": row["ZONE"]}
        sums.append(sum(t["weight"] for t in terms if expression(t["preference"]["matchExpressions"][0], labels)))
    return listed([str(100 * found // max(sums) if max(sums) else 0) for found in sums])


def unrequested(q: str) -> str:
    cpu, memory = (number(text) for text in quoted(q)[1:3])
    count = int(re.search(r"with (\d) container", q)[1])  # type: ignore[index]
    used = (count * number("100m") / cpu, count * number("200Mi") / memory)
    return str(sum(math.floor(100 * max(Fraction(0), 1 - part)) for part in used) // 2)


def ratio(q: str) -> str:
    points = [(int(x), 10 * int(y)) for x, y in re.findall(r"(\d+) % → (\d+)", q)]
    used = math.floor(number(quoted(q)[-2]) * 10)
    for (x0, y0), (x1, y1) in pairwise(points):
        if x0 <= used <= x1:
            return str(y0 + int(Fraction((y1 - y0) * (used - x0), x1 - x0)))
    raise AssertionError(f"{used} % is in no part of the shape")


TWINS: dict[tuple[str, str], Callable[[str], str]] = {
    ("quantities", "to-bytes"): to_bytes,
    ("quantities", "to-milli"): to_milli,
    ("quantities", "larger"): larger,
    ("quantities", "sum"): total,
    ("quantities", "left-over"): left_over,
    ("quantities", "rounds-up"): rounds_up,
    ("selectors", "matches"): matches,
    ("selectors", "which"): which,
    ("selectors", "missing"): which,
    ("selectors", "numeric"): numeric,
    ("selectors", "label-selector"): label_selector,
    ("requests-qos", "sum"): pod_total,
    ("requests-qos", "init"): pod_total,
    ("requests-qos", "sidecar"): pod_total,
    ("requests-qos", "overhead"): pod_total,
    ("requests-qos", "pod-level"): pod_total,
    ("requests-qos", "qos"): qos,
    ("requests-qos", "qos-init"): qos,
    ("requests-qos", "limits-only"): qos,
    ("requests-qos", "oom-score"): oom_score,
    ("resource-version", "counter"): counter,
    ("resource-version", "deleted"): deleted,
    ("resource-version", "list"): list_names,
    ("resource-version", "watch"): watched,
    ("resource-version", "selected"): selected_events,
    ("workqueue-delays", "exponential"): exponential,
    ("workqueue-delays", "cap"): cap,
    ("workqueue-delays", "forget"): forget,
    ("workqueue-delays", "fast-slow"): fast_slow,
    ("workqueue-delays", "bucket"): bucket,
    ("workqueue-delays", "add-after"): add_after,
    ("workqueue-delays", "crash-loop"): crash_loop,
    ("rollout", "resolved"): resolved,
    ("rollout", "bounds"): bounds,
    ("rollout", "next"): next_step,
    ("rollout", "sick-old"): next_step,
    ("rollout", "all-steps"): all_steps,
    ("rollout", "stuck"): stuck,
    ("filters", "fit"): fit,
    ("filters", "taints"): taints,
    ("filters", "cordoned"): cordoned,
    ("filters", "ports"): ports,
    ("filters", "affinity"): affinity,
    ("scores", "least"): least,
    ("scores", "most"): most,
    ("scores", "weighted"): weighted,
    ("scores", "taint-scores"): taint_scores,
    ("scores", "affinity-scores"): affinity_scores,
    ("scores", "unrequested"): unrequested,
    ("scores", "ratio"): ratio,
}
