"""What a namespace says about its own deletion: five conditions, written after every attempt.

Upstream: pkg/controller/namespace/deletion/status_condition_utils.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.scheme import GVR

__all__ = ["NamespaceConditions", "updated_conditions"]

OK: dict[str, tuple[str, str]] = {
    "NamespaceDeletionDiscoveryFailure": ("ResourcesDiscovered", "All resources successfully discovered"),
    "NamespaceDeletionGroupVersionParsingFailure": (
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    "NamespaceDeletionContentFailure": (
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": ("ContentHasNoFinalizers", "All content-preserving finalizers finished"),
}
"""Condition type → reason and message while nothing is wrong (status False)."""


@dataclass(slots=True)
class NamespaceConditions:
    """Collects what went wrong, or is not done yet, in one attempt."""

    errors: list[str] = field(default_factory=list)
    remaining: dict[GVR, int] = field(default_factory=dict)
    finalizers: dict[str, int] = field(default_factory=dict)

    def conditions(self, now: str) -> list[dict[str, Any]]:
        """All five conditions, in their order."""
        found = self._problems()
        return [
            {"type": kind, "status": status, "lastTransitionTime": now, "reason": reason, "message": message}
            for kind, ok in OK.items()
            for status, reason, message in (("True", *found[kind]) if kind in found else ("False", *ok),)
        ]

    def _problems(self) -> dict[str, tuple[str, str]]:
        found: dict[str, tuple[str, str]] = {}
        if self.errors:
            text = ", ".join(sorted(self.errors))
            found["NamespaceDeletionContentFailure"] = (
                "ContentDeletionFailed",
                f"Failed to delete all resource types, {len(self.errors)} remaining: {text}",
            )
        if self.remaining:
            found["NamespaceContentRemaining"] = (
                "SomeResourcesRemain",
                "Some resources are remaining: " + _list(_resources(self.remaining)),
            )
        if self.finalizers:
            found["NamespaceFinalizersRemaining"] = (
                "SomeFinalizersRemain",
                "Some content in the namespace has finalizers remaining: " + _list(_finalizers(self.finalizers)),
            )
        return found


def updated_conditions(old: Sequence[Object], new: Sequence[Object]) -> list[Object] | None:
    """`old` with `new` put in, by type; None if that changes nothing. A status that stays keeps its time."""
    result: list[Object] = list(old)
    for condition in new:
        position = next((i for i, known in enumerate(result) if known["type"] == condition["type"]), None)
        if position is None:
            result.append(condition)
        elif any(result[position].get(name) != condition[name] for name in ("status", "reason", "message")):
            known = result[position]
            stays = known.get("status") == condition["status"]
            kept = {"lastTransitionTime": known["lastTransitionTime"]} if stays else {}
            result[position] = {**known, **condition, **kept}
    return None if result == list(old) else result


def _resources(remaining: Mapping[GVR, int]) -> list[str]:
    return [f"{gvr.resource}.{gvr.group} has {count} resource instances" for gvr, count in remaining.items()]


def _finalizers(finalizers: Mapping[str, int]) -> list[str]:
    return [f"{name} in {count} resource instances" for name, count in finalizers.items()]


def _list(texts: list[str]) -> str:
    return ", ".join(sorted(texts))
