"""A ReplicaSet reduced to the numbers that rollouts are decided by, and the orders they are visited in.

Upstream: pkg/controller/controller_utils.go (ReplicaSetsByCreationTimestamp,
ReplicaSetsBySizeOlder, ReplicaSetsBySizeNewer)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = [
    "Resize",
    "Size",
    "active",
    "by_creation",
    "by_size_newer",
    "by_size_older",
    "total_available",
    "total_replicas",
]


class Size(NamedTuple):
    """One ReplicaSet. `replicas`: spec.replicas. `available`: status.availableReplicas. `created`: any number
    that grows with the creation time (whole seconds, as objects have). `max_replicas`: the annotation
    deployment.kubernetes.io/max-replicas, None where it is missing or no number."""

    name: str
    replicas: int
    available: int = 0
    created: int = 0
    max_replicas: int | None = None


class Resize(NamedTuple):
    """One write: ReplicaSet `name` shall have `replicas`."""

    name: str
    replicas: int


def active(sets: Iterable[Size | None]) -> list[Size]:
    """Those that want any Pods (FilterActiveReplicaSets)."""
    return [rs for rs in sets if rs is not None and rs.replicas > 0]


def by_creation(rs: Size) -> tuple[int, str]:
    """Sort key: oldest first, names within a second."""
    return rs.created, rs.name


def by_size_older(sets: Sequence[Size]) -> list[Size]:
    """Largest first, of equals the older."""
    return sorted(sets, key=lambda rs: (-rs.replicas, rs.created, rs.name))


def by_size_newer(sets: Sequence[Size]) -> list[Size]:
    """Largest first, of equals the newer."""
    newest_first = sorted(sets, key=by_creation, reverse=True)
    return sorted(newest_first, key=lambda rs: -rs.replicas)


def total_replicas(sets: Iterable[Size]) -> int:
    return sum(rs.replicas for rs in sets)


def total_available(sets: Iterable[Size]) -> int:
    return sum(rs.available for rs in sets)
