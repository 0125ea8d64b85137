"""What `k8slab explain-pending` says in its table as on its page.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from k8slab.cluster.snapshots import Finding
    from k8slab.scheduler import NodeVerdict

__all__ = ["MOST_ROWS", "no_remedy", "said_of", "some_of"]

MOST_ROWS = 40
"""Nodes in a table; more of them are grouped by their verdicts."""


def some_of(names: Sequence[str], most: int) -> str:
    """The first few, and how many more.

    >>> some_of(["a", "b", "c", "d"], 2)
    'a, b and 2 more'
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def said_of(row: NodeVerdict) -> str:
    """What every plugin that rejects the Node says; "fits" when none does."""
    said = [f"{plugin}: {status.message}" for plugin, status in row.filters.items() if not status.is_success]
    kept = f" (room kept for {', '.join(row.kept_for)})" if row.kept_for else ""
    return "; ".join(said) + kept if said else "fits"


def no_remedy(finding: Finding) -> str:
    """What is to be said when no change was found."""
    if finding.silent:
        return f"no change that this tool knows makes it fit; {', '.join(finding.silent)} has none to offer"
    if finding.searched_all:
        return "no single change and no pair of changes that this tool knows makes it fit"
    return "no change that was tried makes it fit; there are too many nodes or pairs to try all"
