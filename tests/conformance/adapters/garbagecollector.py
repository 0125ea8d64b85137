"""Golden topic garbagecollector: one attempt to delete an item, against a server that writes down what it is sent."""

from __future__ import annotations

from typing import Any

from k8slab.controllers.garbage_collector.decision import (
    DeleteItem,
    Examination,
    PatchItem,
    References,
    classify,
    collect,
    examine,
    remove_finalizer_patch,
)
from k8slab.controllers.garbage_collector.graph import FOREGROUND, Node, ObjectReference

VIRTUAL_DELETE = "enqueued virtual delete event"


def _reference(owner: dict[str, Any]) -> dict[str, Any]:
    reference = {
        "apiVersion": "v1",
        "kind": "ReplicationController",
        "name": owner["name"],
        "uid": f"uid-{owner['name']}",
    }
    return reference | {field: owner[field] for field in ("blockOwnerDeletion", "controller") if field in owner}


def _owners(case: dict[str, Any]) -> list[dict[str, Any]]:
    return case.get("owners") or []


def _owner(owner: dict[str, Any]) -> dict[str, Any] | None:
    """The owner as the server has it."""
    if owner["state"] == "absent":
        return None
    metadata = {"name": owner["name"], "uid": f"uid-{owner['name']}"}
    if owner["state"] == "otherUID":
        metadata["uid"] = "uid-another"
    if owner["state"] == "foreground":
        return {"metadata": {**metadata, "deletionTimestamp": "2000-01-01T00:00:00Z", "finalizers": [FOREGROUND]}}
    return {"metadata": metadata}


def _item(case: dict[str, Any]) -> Node:
    flags = case.get("item") or {}
    waits = flags.get("deletingDependents", False)
    item = Node(
        ObjectReference("v1", "Pod", "item", "uid-item", "ns"),
        [_reference(owner) for owner in _owners(case)],
        being_deleted=flags.get("beingDeleted", False) or waits,
        deleting_dependents=waits,
    )
    for number, dependent in enumerate(case.get("dependents") or ()):
        reference = {"apiVersion": "v1", "kind": "Pod", "name": "item", "uid": item.uid}
        if "blockOwnerDeletion" in dependent:
            reference["blockOwnerDeletion"] = dependent["blockOwnerDeletion"]
        node = Node(
            ObjectReference("v1", "Pod", f"dependent-{number}", f"uid-dependent-{number}", "ns"),
            [reference],
            being_deleted=dependent.get("deletingDependents", False),
            deleting_dependents=dependent.get("deletingDependents", False),
        )
        item.dependents[node.uid] = node
    return item


def _latest(case: dict[str, Any]) -> dict[str, Any] | None:
    flags = case.get("item") or {}
    if not flags.get("exists", True):
        return None
    metadata: dict[str, Any] = {"name": "item", "namespace": "ns", "resourceVersion": "7"}
    metadata["uid"] = "uid-item" if flags.get("uidMatches", True) else "uid-another"
    metadata["finalizers"] = flags.get("finalizers") or []
    metadata["ownerReferences"] = [_reference(owner) for owner in _owners(case)]
    return {"metadata": metadata}


def _sent(write: DeleteItem | PatchItem) -> dict[str, Any]:
    if isinstance(write, PatchItem):
        return {"method": "PATCH", "contentType": write.patch_type, "body": write.body}
    preconditions = {"uid": write.uid, "resourceVersion": write.resource_version}
    body = {"preconditions": preconditions, "propagationPolicy": write.policy}
    return {"method": "DELETE", "contentType": "application/json", "body": body}


def run(case: dict[str, Any]) -> dict[str, Any]:
    item, latest = _item(case), _latest(case)
    writes: list[DeleteItem | PatchItem] = []
    reads = 0
    step = examine(item, latest)
    if step is Examination.DELETING_DEPENDENTS and not item.blocking_dependents():
        patch = remove_finalizer_patch(latest or {}, FOREGROUND)
        writes += [patch] if patch else []
    elif step is Examination.CLASSIFY and latest is not None:
        references = References()
        for owner in _owners(case):
            reads += 1
            references.add(_reference(owner), classify(_reference(owner), _owner(owner)))
        writes += collect(item, latest, references)
    error = VIRTUAL_DELETE if step is Examination.VIRTUAL_DELETE else None
    return {"error": error, "ownerReads": reads, "writes": [_sent(write) for write in writes]}
