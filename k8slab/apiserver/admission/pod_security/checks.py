"""What a check is, and the words that all of them use.

Upstream: pod-security-admission/policy/{checks,helpers,visitor}.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from k8slab.api.objects import Object

__all__ = [
    "Check",
    "Finding",
    "Test",
    "containers",
    "count",
    "in_user_namespace",
    "is_windows",
    "quoted",
    "security",
    "setters",
]


class Finding(NamedTuple):
    """Why a check forbids a Pod. `detail` says where."""

    reason: str
    detail: str


Test: TypeAlias = Callable[[Object], Finding | None]
"""Looks at a Pod (or a template with `metadata` and `spec`); None when there is nothing to forbid."""


class Check(NamedTuple):
    """`versions`: from which minor release on which test applies. `overrides`: the baseline check it replaces."""

    id: str
    versions: Sequence[tuple[int, Test]]
    overrides: str = ""

    def at(self, minor: int) -> Test | None:
        """The test of a release."""
        found = None
        for since, test in self.versions:
            if since <= minor:
                found = test
        return found


def containers(pod: Object) -> Iterator[Object]:
    """Init containers, containers, ephemeral containers."""
    spec = pod.get("spec") or {}
    for field in ("initContainers", "containers", "ephemeralContainers"):
        yield from spec.get(field) or ()


def security(part: Object) -> Object:
    """The securityContext of a container or of a Pod's spec."""
    return part.get("securityContext") or {}


def quoted(items: Iterable[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def count(word: str, items: Sequence[object], plural: str = "") -> str:
    """`container`, or `containers` when there are several."""
    return word if len(items) == 1 else plural or f"{word}s"


def setters(pod_does: bool, names: Sequence[str]) -> str:
    """`pod and container "c"`: who set something."""
    parts = ["pod"] if pod_does else []
    if names:
        parts.append(f"{count('container', names)} {quoted(names)}")
    return " and ".join(parts)


def is_windows(pod: Object) -> bool:
    return ((pod.get("spec") or {}).get("os") or {}).get("name") == "windows"


def in_user_namespace(pod: Object) -> bool:
    return (pod.get("spec") or {}).get("hostUsers") is False
