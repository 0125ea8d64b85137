"""The words of a `QueueStory`, and the Pods and Nodes that they make.

>>> from k8slab.scheduler.queue_words import checked
>>> checked("pod web cpu=2 priority=5")
('pod', 'web', {'cpu': '2', 'priority': '5'})

Upstream: none
"""

from __future__ import annotations

import re
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.quantity import Quantity
from k8slab.api.tolerations import TAINT_EFFECTS

__all__ = ["WORDS", "checked", "newer", "node_of", "pod_of", "seconds", "short", "span_ms_of"]

WORDS = (
    "node NAME [cpu=4] [taint=KEY[:EFFECT]] [label=KEY:VALUE], pod NAME [cpu=1] [priority=0] [gate=NAME] "
    "[selector=KEY:VALUE] [tolerates=KEY] [port=80], ungate NAME, delete NAME, pop, decide, bound NAME, "
    "refused NAME, next or wait 2s"
)
_NODE_WORDS = ("cpu", "taint", "label")
_POD_WORDS = ("cpu", "priority", "gate", "selector", "tolerates", "port")


def checked(operation: str) -> tuple[str, str, dict[str, str]]:
    """(verb, name or "", its `key=value` words). ValueError: not understood."""
    verb, *rest = operation.split() or [""]
    named = verb in ("node", "pod", "ungate", "delete", "bound", "refused", "wait")
    known = named or verb in ("pop", "decide", "next")
    allowed = _NODE_WORDS if verb == "node" else _POD_WORDS if verb == "pod" else ()
    words = dict(word.partition("=")[::2] for word in rest[1:])
    plain = all("=" in word for word in rest[1:]) and set(words) <= set(allowed)
    if not known or (named and not rest) or (not named and rest) or not plain:
        raise ValueError(f"operation {operation!r}: expected {WORDS}")
    if verb == "wait":
        span_ms_of(rest[0])
    for word, value in words.items():
        if expected := _refused(word, value):
            raise ValueError(f"operation {operation!r}: {word} is {value!r}, expected {expected}")
    return verb, rest[0] if rest else "", words


def _refused(word: str, value: str) -> str:
    """What was expected of the value of a word; "" if it is one."""
    if word == "cpu" and not _is_amount(value):
        return "an amount such as 2 or 500m, not below 0"
    if word == "taint" and (not value.partition(":")[0] or _effect_of(value) not in TAINT_EFFECTS):
        return f"a key, or KEY:EFFECT with one of {', '.join(TAINT_EFFECTS)}"
    if word == "priority" and not re.fullmatch(r"-?\d+", value, re.ASCII):
        return "a whole number"
    if word == "port" and not (re.fullmatch(r"\d+", value, re.ASCII) and 0 < int(value) < 65_536):
        return "a whole number from 1 to 65535"
    return ""


def _is_amount(text: str) -> bool:
    try:
        return Quantity.parse(text).milli_value() >= 0
    except ValueError:
        return False


def _effect_of(taint: str) -> str:
    return taint.partition(":")[2] or "NoSchedule"


def node_of(name: str, words: dict[str, str]) -> Object:
    key, _, value = words.get("label", "").partition(":")
    spec: dict[str, Any] = {}
    if "taint" in words:
        spec["taints"] = [{"key": words["taint"].partition(":")[0], "effect": _effect_of(words["taint"])}]
    return {
        "metadata": {"name": name, "labels": {key: value} if key else {}},
        "spec": spec,
        "status": {"allocatable": {"cpu": words.get("cpu", "4"), "memory": "64Gi", "pods": "110"}},
    }


def pod_of(name: str, words: dict[str, str]) -> Object:
    requests = {"cpu": words.get("cpu", "1")}
    container: dict[str, Any] = {"name": name, "image": "app", "resources": {"requests": requests}}
    if "port" in words:
        container["ports"] = [{"containerPort": int(words["port"]), "hostPort": int(words["port"])}]
    spec: dict[str, Any] = {"containers": [container]}
    if "priority" in words:
        spec["priority"] = int(words["priority"])
    if "gate" in words:
        spec["schedulingGates"] = [{"name": words["gate"]}]
    if "selector" in words:
        key, _, value = words["selector"].partition(":")
        spec["nodeSelector"] = {key: value}
    if "tolerates" in words:
        spec["tolerations"] = [{"key": words["tolerates"], "operator": "Exists"}]
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "1"}
    return {"metadata": metadata, "spec": spec}


def newer(obj: Object) -> Object:
    return {**obj["metadata"], "resourceVersion": str(int(obj["metadata"]["resourceVersion"]) + 1)}


def short(key: str) -> str:
    return key.partition("/")[2]


def span_ms_of(text: str) -> int:
    number, factor = (text[:-2], 1) if text.endswith("ms") else (text.removesuffix("s"), 1_000)
    if not number.isdecimal():
        raise ValueError(f"wait {text!r}: expected a span such as 2s or 500ms")
    return int(number) * factor


def seconds(span_ms: int) -> str:
    return f"{span_ms} ms" if span_ms % 1_000 and span_ms < 1_000 else f"{span_ms / 1_000:g} s"
