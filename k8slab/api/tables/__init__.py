"""Tables: what `kubectl get` shows is made by the server, one row an object.

>>> from k8slab.api.scheme import GVK
>>> pod = {"metadata": {"name": "web", "creationTimestamp": "2026-01-01T00:00:00Z"},
...        "spec": {"containers": [{"name": "nginx"}]}, "status": {"phase": "Pending"}}
>>> table(GVK("", "v1", "Pod"), [pod], now_ms=65_000)["rows"][0]["cells"][:5]
['web', '0/1', 'Pending', '0', '65s']

Cells of wide output are always there; their columns have a priority above 0.

Upstream: pkg/printers/internalversion/printers.go, apiserver/pkg/registry/rest/table.go
Simplified: columns carry no descriptions; custom columns of a CustomResourceDefinition are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from k8slab.api.scheme import GVK, SCHEME
from k8slab.api.tables import others, pods, workloads
from k8slab.api.tables.cells import AGE, NAME, Column, age
from k8slab.api.tables.durations import human_duration, short_human_duration

__all__ = ["Column", "columns_of", "human_duration", "row_cells", "short_human_duration", "table"]

_COLUMNS = {"Pod": pods.COLUMNS, **workloads.COLUMNS, **others.COLUMNS}
_ROWS: dict[str, Callable[[Mapping[str, Any], int], list[Any]]] = {
    "Pod": pods.pod_cells,
    **workloads.ROWS,
    **others.ROWS,
}
_CREATED_AT = (NAME, Column("Created At", "date"))


def _has_printer(gvk: GVK) -> bool:
    return gvk.kind in _ROWS and gvk in SCHEME


def columns_of(gvk: GVK) -> tuple[Column, ...]:
    """The columns of a kind: its own, name and creation time for other built-in kinds, name and age for the rest."""
    if _has_printer(gvk):
        return _COLUMNS[gvk.kind]
    return _CREATED_AT if gvk in SCHEME else (NAME, AGE)


def row_cells(gvk: GVK, obj: Mapping[str, Any], now_ms: int) -> list[Any]:
    """The cells of one object, one for each of `columns_of(gvk)`."""
    if _has_printer(gvk):
        return _ROWS[gvk.kind](obj, now_ms)
    metadata = obj["metadata"]
    when = metadata.get("creationTimestamp") if gvk in SCHEME else age(obj, now_ms)
    return [metadata.get("name", ""), when]


def table(
    gvk: GVK,
    objects: Iterable[Mapping[str, Any]],
    now_ms: int,
    *,
    include_object: str = "Metadata",
    metadata: Mapping[str, Any] | None = None,
    with_columns: bool = True,
) -> dict[str, Any]:
    """A `meta.k8s.io/v1` Table.

    `include_object`: what each row carries: None, Metadata or Object (ValueError for other words). `metadata`: of the
    list (resourceVersion, continue). Not `with_columns`: as watches send all events but the first.
    """
    if include_object not in ("None", "Metadata", "Object", ""):
        detail = "must be 'Metadata', 'Object', 'None', or empty"
        raise ValueError(f'includeObject: Invalid value: "{include_object}": {detail}')
    result: dict[str, Any] = {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": dict(metadata or {})}
    columns = columns_of(gvk) if with_columns else ()
    result["columnDefinitions"] = [
        {"name": c.name, "type": c.type, "format": c.format, "description": "", "priority": c.priority} for c in columns
    ] or None
    result["rows"] = [_row(gvk, obj, now_ms, include_object or "Metadata") for obj in objects]
    return result


def _row(gvk: GVK, obj: Mapping[str, Any], now_ms: int, include_object: str) -> dict[str, Any]:
    row: dict[str, Any] = {"cells": row_cells(gvk, obj, now_ms)}
    if gvk == GVK("", "v1", "Pod") and (conditions := pods.pod_conditions(obj)):
        row["conditions"] = conditions
    row["object"] = None
    if include_object == "Object":
        row["object"] = {"kind": gvk.kind, "apiVersion": gvk.api_version, **obj}
    elif include_object == "Metadata":
        partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1"}
        row["object"] = {**partial, "metadata": obj["metadata"]}
    return row
