"""Golden topic `eviction`: thresholds, ranking, messages."""

from __future__ import annotations

import struct
from typing import Any

from k8slab.api.quantity import Quantity
from k8slab.kubelet.eviction import (
    DISK_CRITERIA,
    INODES_CRITERIA,
    MEMORY_CRITERIA,
    PID_CRITERIA,
    ContainerStats,
    FsStats,
    Observation,
    PodStats,
    Threshold,
    ThresholdValue,
    eviction_message,
    grace_period_met,
    node_conditions,
    observed_since,
    parse_threshold_config,
    rank,
    threshold_quantity,
    thresholds_met,
)

_CRITERIA = {"memory": MEMORY_CRITERIA, "disk": DISK_CRITERIA, "inodes": INODES_CRITERIA, "pid": PID_CRITERIA}
_SECOND = 1_000_000_000


def run(case_input: dict[str, Any]) -> Any:
    return globals()[f"_{case_input['op']}"](case_input)


def _thresholds(case: dict[str, Any]) -> list[Threshold]:
    return parse_threshold_config(
        case.get("allocatable") or (), case.get("hard"), case.get("soft"), case.get("softGrace"), case.get("minReclaim")
    )


def _shortest(number: float) -> float:
    """The shortest decimal that is the same float32."""
    for digits in range(1, 10):
        text = f"{number:.{digits}g}"
        if struct.pack("f", float(text)) == struct.pack("f", number):
            return float(text)
    return number


def _value(value: ThresholdValue) -> dict[str, Any]:
    if value.quantity is not None:
        return {"quantity": str(value.quantity)}
    return {"percentage": _shortest(value.percentage)}


def _parse(case: dict[str, Any]) -> Any:
    try:
        thresholds = _thresholds(case)
    except ValueError as error:
        return {"error": str(error)}
    rows = []
    for one in sorted(thresholds, key=lambda t: (str(t.signal), t.grace_period_ns)):
        grace = one.grace_period_ns / _SECOND
        row: dict[str, Any] = {"signal": str(one.signal), "operator": one.operator, "value": _value(one.value)}
        row["gracePeriodSeconds"] = int(grace) if grace == int(grace) else grace
        if one.min_reclaim is not None:
            row["minReclaim"] = _value(one.min_reclaim)
        rows.append(row)
    return {"thresholds": rows}


def _name(threshold: Threshold) -> str:
    return f"{threshold.signal}#{threshold.grace_period_ns // _SECOND}"


def _met(case: dict[str, Any]) -> Any:
    thresholds = _thresholds(case)
    seen = {
        signal: Observation(Quantity.parse(row["available"]), Quantity.parse(row["capacity"]))
        for signal, row in case["observations"].items()
    }
    met = thresholds_met(thresholds, seen, enforce_min_reclaim=bool(case.get("enforceMinReclaim")))
    amounts = {
        _name(t): threshold_quantity(t.value, seen[t.signal].capacity).value() for t in thresholds if t.signal in seen
    }
    return {"met": sorted(map(_name, met)), "nodeConditions": sorted(node_conditions(met)), "amounts": amounts}


def _rank(case: dict[str, Any]) -> Any:
    stats = {}
    for name, row in (case.get("stats") or {}).items():
        disk = FsStats(used_bytes=row.get("disk"), inodes_used=row.get("inodes"))
        container = ContainerStats("c", row.get("memory"), rootfs=disk)
        stats[f"default/{name}"] = PodStats(row.get("memory"), (container,), processes=row.get("processes"))
    return {"order": [one.name for one in rank(case["pods"], stats, _CRITERIA[case["kind"]])]}


def _grace(case: dict[str, Any]) -> Any:
    threshold = Threshold(
        "memory.available", ThresholdValue(Quantity.parse("1Gi")), case["gracePeriodSeconds"] * _SECOND
    )
    return {"met": bool(grace_period_met({threshold: 0}, case["secondsAgo"] * 1000))}


def _observedsince(case: dict[str, Any]) -> Any:
    since = {"MemoryPressure": 0}
    return {"reported": bool(observed_since(since, case["periodSeconds"] * 1000, case["secondsAgo"] * 1000))}


def _message(case: dict[str, Any]) -> Any:
    seen = {"memory.available": Observation(Quantity.parse(case["available"]), Quantity.parse(case["capacity"]))}
    containers = tuple(ContainerStats(row["name"], row["memory"]) for row in case.get("containerMemory") or ())
    stats = PodStats(case.get("podMemory"), containers)
    message, annotations = eviction_message("memory", case["pod"], stats, _thresholds(case), seen)
    return {"message": message, "annotations": annotations}
