"""What to do with an item that may be garbage: delete it, cut some of its owner references, or leave it.

The caller reads the item, hands it to `examine`, reads the owners it is told to classify, and carries out what
`collect` returns, in order.

Upstream: pkg/controller/garbagecollector/garbagecollector.go (attemptToDeleteItem, classifyReferences,
    processDeletingDependentsItem), patch.go, operations.go
Simplified: patches are strategic merge patches; the fallback to JSON merge patch is the caller's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.transport import MERGE_PATCH, STRATEGIC_MERGE_PATCH
from k8slab.controllers.garbage_collector.graph import FOREGROUND, ORPHAN, Node, blocks_deletion
from k8slab.controllers.garbage_collector.graph_builder import has_finalizer, is_being_deleted

__all__ = [
    "DeleteItem",
    "Examination",
    "OwnerState",
    "PatchItem",
    "References",
    "classify",
    "collect",
    "delete_owner_references_patch",
    "examine",
    "remove_finalizer_patch",
    "unblock_owner_references_patch",
]


class Examination(StrEnum):
    """What the look at an item itself says."""

    NOTHING = "nothing"  # being deleted already, or without owners
    VIRTUAL_DELETE = "virtual-delete"  # gone, or another object took its name
    DELETING_DEPENDENTS = "deleting-dependents"  # waits for its dependents
    CLASSIFY = "classify"  # its owners decide


class OwnerState(StrEnum):
    """What an ownerReference leads to."""

    SOLID = "solid"  # the owner exists
    DANGLING = "dangling"  # it does not
    WAITING = "waiting"  # it exists, but waits for its dependents to be deleted


@dataclass(slots=True)
class References:
    """An item's owner references by the state of the owner, each list in the order of the item."""

    solid: list[Object] = field(default_factory=list)
    dangling: list[Object] = field(default_factory=list)
    waiting: list[Object] = field(default_factory=list)

    def add(self, reference: Object, state: OwnerState) -> None:
        {OwnerState.SOLID: self.solid, OwnerState.DANGLING: self.dangling, OwnerState.WAITING: self.waiting}[
            state
        ].append(reference)


@dataclass(frozen=True, slots=True)
class DeleteItem:
    """Delete with this propagation policy, on condition that uid and resourceVersion are still these."""

    policy: str
    uid: str
    resource_version: str


@dataclass(frozen=True, slots=True)
class PatchItem:
    body: dict[str, Any]
    patch_type: str = STRATEGIC_MERGE_PATCH


def examine(item: Node, latest: Object | None) -> Examination:
    """The first look. `latest` is the item at the API server, None if it has none of that name."""
    if item.being_deleted and not item.deleting_dependents:
        return Examination.NOTHING
    if latest is None or latest["metadata"].get("uid") != item.uid:
        return Examination.VIRTUAL_DELETE
    if item.deleting_dependents:
        return Examination.DELETING_DEPENDENTS
    return Examination.CLASSIFY if latest["metadata"].get("ownerReferences") else Examination.NOTHING


def classify(reference: Object, owner: Object | None) -> OwnerState:
    """`owner` is what the API server has under the name the reference gives, None if nothing."""
    if owner is None or owner["metadata"].get("uid") != reference["uid"]:
        return OwnerState.DANGLING
    if is_being_deleted(owner) and has_finalizer(owner, FOREGROUND):
        return OwnerState.WAITING
    return OwnerState.SOLID


def collect(item: Node, latest: Object, references: References) -> list[DeleteItem | PatchItem]:
    """The writes an item needs, now that its owners are known.

    With a solid owner it stays, and loses the references to the others. With a waiting owner and dependents of its own
    it is deleted in the foreground; if one of those waits too there may be a cycle, so it stops blocking its owners
    first. Otherwise it is garbage, deleted as the finalizers it has ask for.
    """
    if references.solid:
        stale = [reference["uid"] for reference in (*references.dangling, *references.waiting)]
        return [delete_owner_references_patch(item.uid, stale)] if stale else []
    resource_version = latest["metadata"].get("resourceVersion", "")
    if references.waiting and item.dependents:
        writes: list[DeleteItem | PatchItem] = []
        if any(dependent.deleting_dependents for dependent in item.dependents.values()):
            writes.append(unblock_owner_references_patch(item))
        return [*writes, DeleteItem("Foreground", item.uid, resource_version)]
    return [DeleteItem(_policy(latest), item.uid, resource_version)]


def delete_owner_references_patch(uid: str, owner_uids: Iterable[str]) -> PatchItem:
    """Removes the references to these owners. The uid in it is a precondition."""
    references = [{"$patch": "delete", "uid": owner_uid} for owner_uid in owner_uids]
    return PatchItem({"metadata": {"ownerReferences": references, "uid": uid}})


def unblock_owner_references_patch(item: Node) -> PatchItem:
    """Sets blockOwnerDeletion to false in the references that have it."""
    blocking = [{**owner, "blockOwnerDeletion": False} for owner in item.owners if blocks_deletion(owner)]
    metadata: dict[str, Any] = {"ownerReferences": blocking} if blocking else {}
    return PatchItem({"metadata": {**metadata, "uid": item.uid}})


def remove_finalizer_patch(latest: Object, finalizer: str) -> PatchItem | None:
    """Takes a finalizer off the object as it is at the API server; None if it has none of that name."""
    if not has_finalizer(latest, finalizer):
        return None
    finalizers: Sequence[str] = [name for name in latest["metadata"]["finalizers"] if name != finalizer]
    metadata = {"resourceVersion": latest["metadata"].get("resourceVersion", ""), "finalizers": finalizers or None}
    return PatchItem({"metadata": metadata}, MERGE_PATCH)


def _policy(latest: Object) -> str:
    if has_finalizer(latest, ORPHAN):
        return "Orphan"
    return "Foreground" if has_finalizer(latest, FOREGROUND) else "Background"
