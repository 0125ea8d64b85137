"""What several kinds put into their cells: ages, containers, selectors.

Upstream: pkg/printers/internalversion/printers.go (translateTimestampSince, layoutContainerCells, formatResourceName)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from k8slab.api.tables.durations import human_duration
from k8slab.api.times import parse_time

__all__ = [
    "AGE",
    "NAME",
    "NONE",
    "Column",
    "age",
    "container_cells",
    "first_few",
    "join_labels",
    "since",
    "text_or",
]

NONE = "<none>"
Object = Mapping[str, Any]


class Column(NamedTuple):
    """`priority` above 0: only in wide output. `format` is `name` for the column that names the object."""

    name: str
    type: str = "string"
    priority: int = 0
    format: str = ""


NAME = Column("Name", format="name")
AGE = Column("Age")


def since(time: str | None, now_ms: int) -> str:
    """How long ago a time was; `<unknown>` where there is none."""
    return human_duration(now_ms - parse_time(time)) if time else "<unknown>"


def age(obj: Object, now_ms: int) -> str:
    return since(obj["metadata"].get("creationTimestamp"), now_ms)


def container_cells(template: Object) -> list[str]:
    """Names and images of the containers of a pod template."""
    containers = template.get("spec", {}).get("containers") or ()
    return [",".join(c.get("name", "") for c in containers), ",".join(c.get("image", "") for c in containers)]


def join_labels(labels: Mapping[str, str] | None) -> str:
    """`a=b,c=d` in the order of keys, `<none>` for none."""
    return ",".join(f"{k}={v}" for k, v in sorted((labels or {}).items())) or NONE


def text_or(value: Any, default: str = NONE) -> str:
    return str(value) if value not in (None, "") else default


def first_few(items: Iterable[str], limit: int) -> str:
    """The first `limit` items, and how many more there are."""
    found = list(items)
    more = f" + {len(found) - limit} more..." if len(found) > limit else ""
    return ",".join(found[:limit]) + more
