"""Golden topic endpointslice: slices made of Pods, step after step."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from k8slab.controllers.endpointslice.reconciler import Changes, reconcile

NAMESPACE = "ns"

Json = dict[str, Any]


def _placed(obj: Json) -> Json:
    return {**obj, "metadata": {**obj["metadata"], "namespace": NAMESPACE}}


def _apply(slices: dict[str, Json], changes: Changes, step: int) -> dict[str, Json]:
    """What the API server would hold after these writes."""
    gone = {slice["metadata"]["name"] for slice in changes.delete}
    kept = {name: slice for name, slice in slices.items() if name not in gone}
    kept.update({slice["metadata"]["name"]: slice for slice in changes.update})
    for number, slice in enumerate(changes.create):
        name = f"slice-{step}-{number}"
        kept[name] = {**slice, "metadata": {**slice["metadata"], "name": name}}
    return kept


def _shown(slice: Json) -> Json:
    endpoints = sorted(slice["endpoints"], key=lambda endpoint: endpoint["addresses"][0])
    ports = sorted(slice["ports"], key=lambda port: (port["name"], port["port"]))
    shown: Json = {
        "addressType": slice["addressType"],
        "labels": slice["metadata"]["labels"],
        "ports": ports,
        "endpoints": endpoints,
    }
    ordered: Json = json.loads(json.dumps(shown, sort_keys=True))  # the comparator's unions are of JSON texts
    return ordered


def _result(slices: dict[str, Json], changes: Changes) -> Json:
    shown = sorted(
        map(_shown, slices.values()), key=lambda s: (s["addressType"], str(s["ports"]), -len(s["endpoints"]))
    )
    groups = Counter((slice["addressType"], str(slice["ports"])) for slice in shown)
    result: Json = {
        "actions": {"create": len(changes.create), "update": len(changes.update), "delete": len(changes.delete)},
        "error": _aggregate(changes.errors),
    }
    if all(count == 1 for count in groups.values()):
        return {**result, "slices": shown}
    # which endpoint lands in which of several equal slices is arbitrary: the golden cases show sizes and the union
    union = sorted(endpoint["addresses"][0] for slice in shown for endpoint in slice["endpoints"])
    return {**result, "compareUnion": True, "sizes": [len(slice["endpoints"]) for slice in shown], "union": union}


def _aggregate(errors: list[str]) -> str | None:
    unique = list(dict.fromkeys(errors))
    if not unique:
        return None
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def run(case: Json) -> Any:
    nodes = {node["metadata"]["name"]: node for node in case["nodes"]}
    service = _placed(case["service"])
    slices: dict[str, Json] = {}
    steps = []
    for step, pods in enumerate(case["steps"]):
        placed = [_placed(pod) for pod in pods or ()]
        changes = reconcile(service, placed, list(slices.values()), nodes.get, case["maxEndpointsPerSlice"])
        slices = _apply(slices, changes, step)
        steps.append(_result(slices, changes))
    return {"steps": steps}
