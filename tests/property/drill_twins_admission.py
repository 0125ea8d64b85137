"""Second opinions on the drills about webhooks: see `drill_twins`. Nothing of k8slab here."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.property.drill_twins import Row, labels_of, listed, objects, quoted, tables

__all__ = ["TWINS"]


def rules(q: str) -> str:
    rule = objects(q)[0]["rules"][0]
    return listed([row["REQUEST"] for row in tables(q)[0] if _is_about(rule, row)])


def _is_about(rule: Any, row: Row) -> bool:
    is_cluster = row["NAMESPACE"] == "-"
    if rule["scope"] == ("Namespaced" if is_cluster else "Cluster"):
        return False
    if not {"*", row["OPERATION"]} & set(rule["operations"]):
        return False
    if not {"*", row["GROUP"].replace("(core)", "")} & set(rule["apiGroups"]):
        return False
    patterns = [re.escape(one).replace(r"\*", "[a-z]+") for one in rule["resources"]]
    if "*/*" in rule["resources"]:
        patterns.append("[a-z]+")
    patterns += [pattern.partition("/")[0] for pattern in patterns if pattern.endswith("/[a-z]+")]
    return any(re.fullmatch(pattern, row["RESOURCE"]) for pattern in patterns)


def selectors(q: str) -> str:
    selector = objects(q)[0]["objectSelector"]
    wanted = [
        row for row in tables(q)[0] if _fits(selector, row["LABELS BEFORE"]) or _fits(selector, row["LABELS AFTER"])
    ]
    return listed([row["REQUEST"] for row in wanted])


def _fits(selector: Any, text: str) -> bool:
    if text == "-":
        return False
    team = labels_of(text).get("team")
    if "matchLabels" in selector:
        return team == "red"
    return {"NotIn": team != "red", "DoesNotExist": team is None, "Exists": team is not None}[
        selector["matchExpressions"][0]["operator"]
    ]


def order(q: str) -> str:
    rows = tables(q)[0]
    found = []
    for kind in ("mutating", "validating"):
        of_kind = [row for row in rows if row["KIND"] == kind]
        for name in sorted({row["CONFIGURATION"] for row in of_kind}):
            found += [row["WEBHOOK"] for row in of_kind if row["CONFIGURATION"] == name]
    return listed(found)


def again(q: str) -> str:
    rows = tables(q)[0]
    labels = labels_of(quoted(q)[0])
    called: list[int] = []
    last_change = -1
    """Where in `called` the object last changed."""

    def ask(index: int) -> None:
        nonlocal last_change
        before = dict(labels)
        words = rows[index]["WHAT IT DOES"].split()
        if words[0] == "sets":
            labels.update([words[1].split("=")])  # type: ignore[list-item]
        elif words[0] == "adds":
            labels["n"] = str(int(labels.get("n", "0")) + 1)
        called.append(index)
        if labels != before:
            last_change = len(called) - 1

    for index in range(len(rows)):
        ask(index)
    if last_change >= 0:
        for index, row in enumerate(rows):
            if row["REINVOCATION"] == "IfNeeded" and last_change > called.index(index):
                ask(index)
    return listed([rows[index]["WEBHOOK"] for index in called])


def time(q: str) -> str:
    waits: dict[str, list[int]] = {"mutating": [], "validating": []}
    for row in tables(q)[0]:
        waits[row["KIND"]].append(min(int(row["TAKES"][:-2]), 1000 * int(row["TIMEOUT"][:-1])))
    return f"{sum(waits['mutating']) + max(waits['validating'])}ms"


def fate(q: str) -> str:
    settings = objects(q)[0]
    took = 15 if "after 15 seconds" in q else 0
    fails = took > settings["timeoutSeconds"] or any(
        text in q for text in ("nobody listens", "HTTP 500", "no AdmissionReview", "another `uid`")
    )
    if fails:
        return "500" if settings["failurePolicy"] == "Fail" else "201"
    if "allowed: true" in q:
        return "201"
    code = re.search(r"status.code: (\d+)", q)
    return code[1] if code else "400"


TWINS: dict[tuple[str, str], Callable[[str], str]] = {
    ("admission", "rules"): rules,
    ("admission", "selectors"): selectors,
    ("admission", "order"): order,
    ("admission", "again"): again,
    ("admission", "time"): time,
    ("admission", "fate"): fate,
}
