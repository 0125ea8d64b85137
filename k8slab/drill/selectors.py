"""Drills on label selectors: what matches, what a missing label does, what may be written.

Simplified: see `k8slab.api.labels`; every answer is a `Selector`'s.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from k8slab.api.labels import Requirement, Selector, parse_selector, selector_from_dict
from k8slab.drill.answers import Answer, name_set, whole, yes_no
from k8slab.drill.exercise import Draft, Drill, Kind, generate, labels_text, table_block, yaml_block

__all__ = ["KINDS", "matching", "selectors"]

_SOURCE = "apimachinery/pkg/labels/selector.go"
_META = "apimachinery/pkg/apis/meta/v1/helpers.go (LabelSelectorAsSelector)"
_VALUES = {
    "app": ("web", "db", "cache"),
    "tier": ("front", "back"),
    "env": ("prod", "stage", "dev"),
    "track": ("stable", "canary"),
}
Pods = dict[str, dict[str, str]]


def matching(selector: Selector, pods: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The names of the Pods whose labels the selector matches."""
    return [name for name, labels in pods.items() if selector.matches(labels)]


def _labels(rng: random.Random, at_least: int = 0) -> dict[str, str]:
    keys = [key for key in _VALUES if rng.random() < 0.7]
    keys = keys if len(keys) >= at_least else list(_VALUES)[:at_least]
    return {key: rng.choice(_VALUES[key]) for key in keys}


def _pods(rng: random.Random, count: int) -> Pods:
    return {f"pod-{'abcdef'[n]}": _labels(rng, at_least=n % 2) for n in range(count)}


def _condition(rng: random.Random, key: str) -> str:
    first, *rest = rng.sample(_VALUES[key], 2)
    return rng.choice(
        [f"{key}={first}", f"{key}!={first}", f"{key} in ({first},{rest[0]})", f"{key} notin ({first})", key, f"!{key}"]
    )


def _conditions(rng: random.Random, count: int) -> str:
    return ",".join(_condition(rng, key) for key in rng.sample(list(_VALUES), count))


def _shown(pods: Mapping[str, Mapping[str, str]]) -> str:
    return table_block([(name, labels_text(labels)) for name, labels in pods.items()], ("NAME", "LABELS"))


def _because(selector: Selector, labels: Mapping[str, str]) -> str:
    """One sentence a requirement."""
    parts = []
    for requirement in selector.requirements:
        has = f"is `{labels[requirement.key]}`" if requirement.key in labels else "is missing"
        parts.append(f"`{requirement}`: {requirement.key} {has}, {'holds' if requirement.matches(labels) else 'fails'}")
    return "; ".join(parts)


def _lenient(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """As many read it: a condition on a label that is not there fails, whatever it says."""
    return requirement.key in labels and requirement.matches(labels)


def _pods_answer(selector: Selector, pods: Pods) -> Answer:
    lenient = [name for name, labels in pods.items() if all(_lenient(r, labels) for r in selector.requirements)]
    some = [name for name, labels in pods.items() if any(r.matches(labels) for r in selector.requirements)]
    right = matching(selector, pods)
    wrong = [
        (lenient, "A missing label matches `!=`, `notin` and `!`: there is no value that could be the forbidden one."),
        (some, "Those match one of the conditions; commas mean *and*."),
        ([name for name in pods if name not in right], "Those are the ones it does not match."),
    ]
    return name_set(right, pods, "Go condition by condition; a Pod must satisfy every one.", wrong)


def _each(selector: Selector, pods: Pods) -> str:
    return "\n".join(f"- {name}: {_because(selector, labels)}." for name, labels in pods.items())


def _matches(rng: random.Random) -> Draft:
    text, labels = _conditions(rng, rng.randint(1, 2)), _labels(rng, at_least=1)
    selector = parse_selector(text)
    right = selector.matches(labels)
    why = "Look at each condition on its own; one that fails is enough."
    if right != all(_lenient(r, labels) for r in selector.requirements):
        why = "A missing label satisfies `!=`, `notin` and `!`."
    return Draft(
        f"A Pod has the labels `{labels_text(labels)}`. Does `kubectl get pods -l '{text}'` list it?",
        yes_no(right, why),
        f"{_because(selector, labels)}. So: {'yes' if right else 'no'}.",
    )


def _which(rng: random.Random) -> Draft:
    text, pods = _conditions(rng, rng.randint(1, 2)), _pods(rng, rng.randint(3, 5))
    selector = parse_selector(text)
    return Draft(
        f"Which of these Pods does `kubectl get pods -l '{text}'` list?\n\n{_shown(pods)}",
        _pods_answer(selector, pods),
        _each(selector, pods),
    )


def _missing(rng: random.Random) -> Draft:
    key = rng.choice(list(_VALUES))
    value = rng.choice(_VALUES[key])
    text = rng.choice([f"{key}!={value}", f"{key} notin ({value})"])
    pods = _pods(rng, rng.randint(3, 5))
    pods["pod-a"].pop(key, None)
    pods["pod-b"][key] = value
    selector = parse_selector(text)
    return Draft(
        f"Somebody deletes with `kubectl delete pods -l '{text}'`. Which of these Pods are gone?\n\n{_shown(pods)}",
        _pods_answer(selector, pods),
        f"{_each(selector, pods)}\n\nTo demand that the label is there, say so: `{key},{text}`.",
    )


def _expressions(rng: random.Random) -> dict[str, Any]:
    first, *others = rng.sample(list(_VALUES), rng.randint(2, 3))
    expressions = []
    for key in others:
        operator = rng.choice(["In", "NotIn", "Exists", "DoesNotExist"])
        values = {"values": list(rng.sample(_VALUES[key], rng.randint(1, 2)))} if operator.endswith("In") else {}
        expressions.append({"key": key, "operator": operator, **values})
    return {"matchLabels": {first: rng.choice(_VALUES[first])}, "matchExpressions": expressions}


def _label_selector(rng: random.Random) -> Draft:
    raw, pods = _expressions(rng), _pods(rng, rng.randint(3, 5))
    pods["pod-a"] |= raw["matchLabels"]
    selector = selector_from_dict(raw)
    return Draft(
        f"A PodDisruptionBudget has this selector:\n\n{yaml_block({'selector': raw})}\n\n"
        f"Which of these Pods does it cover?\n\n{_shown(pods)}",
        _pods_answer(selector, pods),
        f"As one line the selector is `{selector}`; all parts must hold.\n\n{_each(selector, pods)}",
    )


def _empty(rng: random.Random) -> Draft:
    count = rng.randint(3, 9)
    fields: list[tuple[str, dict[str, Any] | None]] = [
        ("`podSelector: {}` of a NetworkPolicy", {}),
        ("`matchLabels: {}` (and no matchExpressions)", {"matchLabels": {}}),
        ("a `labelSelector` that is absent (nil)", None),
        ("an empty list of matchExpressions and no matchLabels", {"matchExpressions": []}),
    ]
    field, raw = rng.choice(fields)
    right = count if selector_from_dict(raw).matches({"app": "web"}) else 0
    why = "Empty selects everything (no condition fails); absent selects nothing."
    return Draft(
        f"A namespace holds {count} Pods with all kinds of labels. How many does {field} select?",
        whole(right, why, {count - right: why}, unit="Pods"),
        f"{right}. An empty LabelSelector has no condition that could fail and selects everything; one that is not "
        "there at all selects nothing. `{}` in a NetworkPolicy therefore means the whole namespace.",
    )


def _written(rng: random.Random) -> str:
    """A selector text, right or with a mistake people make."""
    key = rng.choice(list(_VALUES))
    one, other = rng.sample(_VALUES[key], 2)
    return rng.choice(
        [
            f"{key} in ({one},{other})", f"{key} NotIn ({one})", f"{key} in {one}", f"{key}=", f"{key}=={one}",
            f"!{key}", f"{key}!", f"{key}={one},", f"{key} in ()", f"{key}>5", f"{key}>{one}", f"{key}={one}|{other}",
            f"example.com/{key}={one}", f"-{key}={one}", f"{key}={one} {other}", f"{key} notin ({one},)",
            f"{key}=={one},!{key}", f"{key}<-3", f"{key}={one}-", f"{key}.{one}={other}",
        ]
    )  # fmt: skip


def _legal(rng: random.Random) -> Draft:
    text, error = _written(rng), ""
    try:
        printed = str(parse_selector(text))
    except ValueError as problem:
        printed, error = "", str(problem)
    why = f"It is refused: {error}." if error else f"It parses, and prints as `{printed}`."
    return Draft(
        f"Is `{text}` a selector that `kubectl get -l` accepts?",
        yes_no(not error, why),
        f"{why} Conditions are joined by commas; `in` and `notin` are written small, with parentheses; `>` and `<` "
        "take integers.",
    )


def _numeric(rng: random.Random) -> Draft:
    bound = rng.randint(3, 12)
    sign = rng.choice("<>")
    values = rng.sample(["5", "10", "9", "05", "abc", "-3", "100", "12", ""], 4)
    pods: Pods = {f"pod-{'abcde'[n]}": {"weight": value} for n, value in enumerate(values)}
    pods["pod-e"] = {}
    text = f"weight{sign}{bound}"
    selector = parse_selector(text)
    as_text = [n for n, ls in pods.items() if "weight" in ls and (ls["weight"] > str(bound)) == (sign == ">")]
    return Draft(
        f"Which of these Pods match `{text}`?\n\n{_shown(pods)}",
        name_set(
            matching(selector, pods),
            pods,
            "The value must be an integer; what is none, or is not there, never matches.",
            [(as_text, "That compares texts, character by character; `>` and `<` compare integers.")],
        ),
        f"{_each(selector, pods)}\n\nA value that is no integer fails both `<` and `>`, and so does a missing label.",
    )


def _write(rng: random.Random) -> Draft:
    pods = _pods(rng, 5)
    selector, wanted = parse_selector("app"), list(pods)
    while not 0 < len(wanted) < len(pods):  # not all, not none: there is something to select
        pods = _pods(rng, 5)
        selector = parse_selector(_conditions(rng, rng.randint(1, 2)))
        wanted = matching(selector, pods)

    def read(text: str) -> tuple[str, ...]:
        try:
            return tuple(matching(parse_selector(text.strip().strip("`'\"")), pods))
        except ValueError as error:
            raise ValueError(f"expected a selector ({error})") from None

    hint = "It parses, but selects other Pods. Try it on every row of the table."
    return Draft(
        f"Write a selector (as for `kubectl get -l`) that matches {', '.join(wanted)} and no other Pod. Any one that "
        f"does will do.\n\n{_shown(pods)}",
        Answer(str(selector), read, "exact", hint, (_spaced(selector),), runs=True),
        f"`{selector}` does it, among others.\n\n{_each(selector, pods)}",
    )


def _spaced(selector: Selector) -> str:
    return ", ".join(map(str, selector.requirements))


KINDS: Sequence[Kind] = (
    Kind("matches", 1, f"{_SOURCE} (Requirement.Matches)", _matches),
    Kind("which", 1, f"{_SOURCE} (internalSelector.Matches)", _which),
    Kind("missing", 2, f"{_SOURCE} (Requirement.Matches)", _missing),
    Kind("label-selector", 2, _META, _label_selector),
    Kind("legal", 2, f"{_SOURCE} (Parse)", _legal),
    Kind("empty", 2, _META, _empty),
    Kind("numeric", 3, f"{_SOURCE} (Requirement.Matches)", _numeric),
    Kind("write", 3, f"{_SOURCE} (Parse)", _write),
)


def selectors(rng: random.Random) -> Drill:
    """An exercise on label selectors."""
    return generate("selectors", KINDS, rng)
