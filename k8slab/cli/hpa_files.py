"""What `k8slab simulate hpa` is given: autoscalers and their targets, and a load as a table.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import argparse
import csv
import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from k8slab.cli.run import duration_ms

if TYPE_CHECKING:
    from k8slab.api.objects import Object
    from k8slab.autoscaling import LoadPoint

__all__ = ["Found", "Plan", "read_autoscalers", "read_load", "workload_numbers"]

MOST_ROWS = 500_000
LONGEST_MS = 60 * 86_400_000
MOST_LOAD = 10**12
MOST_PODS = 99_999


class Found(NamedTuple):
    """An autoscaler by the name it is shown under, as defaulted, and its target if the files have it."""

    name: str
    hpa: Object
    target: Object | None


class Plan(NamedTuple):
    """What a Pod requests and serves, in milli-units, how many there are at first (None: the minimum), and notes."""

    request_milli: int
    capacity_milli: int
    replicas: int | None
    notes: list[str]


# -- autoscalers ---------------------------------------------------------------------------------------


def read_autoscalers(files: Sequence[str]) -> list[Found]:
    """All HorizontalPodAutoscalers of some files. ValueError (a ManifestError, or a sentence with the file's name)."""
    from k8slab.api.manifests import load_manifests
    from k8slab.cluster import manifest_files

    autoscalers: list[tuple[str, Object]] = []
    targets: dict[tuple[str, str], Object] = {}
    for name in files:
        for path in manifest_files(Path(name)):
            for manifest in load_manifests(path.read_bytes(), source=str(path)):
                obj = manifest.object
                if obj["kind"] == "HorizontalPodAutoscaler":
                    autoscalers.append((str(path), _checked(obj, str(path))))
                else:
                    targets[(obj["kind"], (obj.get("metadata") or {}).get("name", ""))] = obj
    if not autoscalers:
        raise ValueError(f"{', '.join(files)}: no HorizontalPodAutoscaler in there, expected one or more")
    found = []
    for (source, hpa), name in zip(autoscalers, _names(autoscalers), strict=True):
        reference = hpa["spec"]["scaleTargetRef"]
        target = targets.get((reference["kind"], reference["name"]))
        if target is not None:
            _check_requests(source, hpa, target)
        found.append(Found(name, hpa, target))
    return found


def _checked(obj: Object, source: str) -> Object:
    """The autoscaler as the API server would store it. ValueError with what that server would say."""
    from k8slab.api.conversion import to_storage_version
    from k8slab.api.defaults import apply_defaults
    from k8slab.api.objects import thaw
    from k8slab.api.validation import validate_create

    hpa = apply_defaults(to_storage_version(thaw(obj)))
    hpa["metadata"].setdefault("namespace", "default")
    causes = [one for one in validate_create(hpa) if not _is_minimum_of_zero(one, hpa)]
    if causes:
        said = "; ".join(f"{cause.field}: {cause.message}" for cause in causes)
        raise ValueError(f"{source}: HorizontalPodAutoscaler {hpa['metadata'].get('name')}: {said}")
    most = hpa["spec"]["maxReplicas"]
    if most > MOST_PODS:
        where = f"{source}: HorizontalPodAutoscaler {hpa['metadata'].get('name')}"
        raise ValueError(f"{where}: spec.maxReplicas: {most}: expected at most {MOST_PODS} (this simulation's limit)")
    return hpa


def _is_minimum_of_zero(cause: Any, hpa: Object) -> bool:
    """A minimum of zero, which a feature gate allows: here it is on."""
    return bool(cause.field == "spec.minReplicas" and hpa["spec"].get("minReplicas") == 0)


def _names(autoscalers: Sequence[tuple[str, Object]]) -> Iterator[str]:
    """Names that differ: of several of one name, the file's name comes first, and if need be a number after it."""
    names = [hpa["metadata"].get("name", "") for _, hpa in autoscalers]
    longer = [
        name if names.count(name) == 1 else f"{Path(source).stem}/{name}"
        for (source, _), name in zip(autoscalers, names, strict=True)
    ]
    for index, name in enumerate(longer):
        earlier = longer[:index].count(name)
        yield name if not earlier else f"{name}-{earlier + 1}"


def _template(target: Object) -> Object:
    spec: Object = ((target.get("spec") or {}).get("template") or {}).get("spec") or {}
    return spec


def _check_requests(source: str, hpa: Object, target: Object) -> None:
    """ValueError when a utilisation is asked for of containers that request nothing: it is a part of the request."""
    for metric in hpa["spec"]["metrics"]:
        measured = metric.get("resource") or metric.get("containerResource") or {}
        if (measured.get("target") or {}).get("averageUtilization") is None:
            continue
        only = measured.get("container", "")
        for container in _template(target).get("containers") or ():
            asked = ((container.get("resources") or {}).get("requests") or {}).get(measured["name"])
            name = container.get("name", "")
            if asked is None and only in ("", name):
                where = f"{target['kind']} {target['metadata']['name']}, container {name}"
                raise ValueError(
                    f"{source}: {where}: no request for {measured['name']}, expected one: a utilisation is a "
                    "percentage of what is requested, and without it the autoscaler does nothing"
                )


def workload_numbers(found: Found, request: int | None, capacity: int | None, replicas: int | None) -> Plan:
    """What a Pod of the target requests and serves; what options say goes before what the target says."""
    from k8slab.api.quantity import milli_value

    notes: list[str] = []
    containers = _template(found.target or {}).get("containers") or ()
    resources = [one.get("resources") or {} for one in containers]
    requests = [milli_value(one["requests"]["cpu"]) for one in resources if "cpu" in (one.get("requests") or {})]
    limits = [milli_value(one["limits"]["cpu"]) for one in resources if "cpu" in (one.get("limits") or {})]
    if request is None and requests:
        request = sum(requests)
        if request <= 0:
            raise ValueError(f"{found.name}: its Pods request {request}m CPU, expected more than 0 (or --request)")
    if request is None:
        request = 1_000
        if _is_about_cpu(found.hpa):
            notes.append(f"{found.name}: its target is not in the files: a Pod requests 1 CPU (--request)")
    if capacity is None and _is_about_cpu(found.hpa):
        capacity = sum(limits) if limits and len(limits) == len(resources) else request
        if capacity <= 0:
            raise ValueError(
                f"{found.name}: its Pods are limited to {capacity}m CPU, expected more than 0 (or --capacity)"
            )
    if capacity is None:
        capacity = _target_per_pod(found.hpa)
        notes.append(f"{found.name}: a Pod serves as much as its target, {capacity / 1000:g} (--capacity)")
    if replicas is None and found.target is not None:
        replicas = (found.target.get("spec") or {}).get("replicas")
        if replicas is not None and not 0 <= replicas <= MOST_PODS:
            where = f"{found.target['kind']} {found.target['metadata']['name']}"
            raise ValueError(f"{found.name}: {where}: spec.replicas: {replicas}: expected 0 to {MOST_PODS}")
    return Plan(request, capacity, replicas, notes)


def _is_about_cpu(hpa: Object) -> bool:
    return any(metric["type"] in ("Resource", "ContainerResource") for metric in hpa["spec"]["metrics"])


def _target_per_pod(hpa: Object) -> int:
    """The first target among the metrics, as what one Pod serves."""
    from k8slab.api.quantity import milli_value

    for metric in hpa["spec"]["metrics"]:
        for key in ("pods", "object", "external"):
            target = (metric.get(key) or {}).get("target") or {}
            amount = target.get("averageValue") or target.get("value")
            if amount is not None:
                return milli_value(amount)
    return 1_000


# -- the load ------------------------------------------------------------------------------------------


def read_load(name: str) -> list[LoadPoint]:
    """The rows `time, load` of a CSV file: from this moment on so much, in all. ValueError names file and line."""
    from k8slab.autoscaling import LoadPoint

    try:
        text = Path(name).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{name}: not UTF-8 ({error.reason} at byte {error.start})") from None
    points: list[LoadPoint] = []
    for line, row in enumerate(_rows(name, text), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#") or (line == 1 and _is_head(cells)):
            continue
        where = f"{name}, line {line}"
        if len(cells) < 2:
            raise ValueError(f"{where}: {','.join(row)!r}: expected a time and a load, such as 60,2.5")
        if any(cells[2:]):
            raise ValueError(f"{where}: {','.join(row)!r}: expected two columns, and a point in a number: 60,2.5")
        at_ms, load = _time(where, cells[0]), _load(where, cells[1])
        if points and at_ms <= points[-1].at_ms:
            raise ValueError(f"{where}: time {cells[0]!r}: expected later than the line before")
        points.append(LoadPoint(at_ms, load))
        if len(points) > MOST_ROWS:
            raise ValueError(f"{where}: expected at most {MOST_ROWS} rows")
    if not points:
        raise ValueError(f"{name}: no rows in there, expected a time and a load in each, such as 60,2.5")
    return points


def _rows(name: str, text: str) -> Iterator[list[str]]:
    """The rows of a CSV text. ValueError when it is none."""
    try:
        yield from csv.reader(io.StringIO(text))
    except csv.Error as error:
        raise ValueError(f"{name}: no CSV: {error}") from None


def _number(text: str) -> float:
    """A decimal number in ASCII, without the underscores and other digits that Python allows. ValueError otherwise."""
    if not text.isascii() or "_" in text:
        raise ValueError(f"{text!r}: expected a decimal number")
    return float(text)


def _is_head(cells: Sequence[str]) -> bool:
    """The names of the columns: words in both."""
    return len(cells) > 1 and all(cell[:1].isalpha() and cell.lower() not in ("nan", "inf") for cell in cells[:2])


def _time(where: str, text: str) -> int:
    """Seconds, or a duration such as 5m, in milliseconds."""
    try:
        seconds = _number(text)
    except ValueError:
        try:
            at_ms = duration_ms(text)
        except argparse.ArgumentTypeError:
            at_ms = -1
    else:
        at_ms = round(1000 * seconds) if math.isfinite(seconds) and 0 <= seconds < 1e9 else -1
    if at_ms < 0:
        raise ValueError(f"{where}: time {text!r}: expected seconds from 0 on, or a duration such as 5m")
    if at_ms > LONGEST_MS:
        raise ValueError(f"{where}: time {text!r}: expected 60 days at the most")
    return at_ms


def _load(where: str, text: str) -> int:
    """A number or a quantity, of 0 or more, in milli-units."""
    from k8slab.api.quantity import milli_value

    try:
        number = _number(text)
        milli = round(1000 * number) if math.isfinite(number) else -1
    except ValueError:
        try:
            milli = milli_value(text)
        except ValueError:
            milli = -1
    if not 0 <= milli <= 1000 * MOST_LOAD:
        raise ValueError(f"{where}: load {text!r}: expected a number of 0 or more, such as 2.5 or 500m")
    return milli
