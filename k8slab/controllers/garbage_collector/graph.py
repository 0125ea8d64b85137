"""The ownership graph: a node per object, an edge from each owner to its dependents.

Upstream: pkg/controller/garbagecollector/graph.go
Simplified: an owner finds its dependents by uid (upstream: by pointer); no locks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from k8slab.api.objects import Object
from k8slab.api.scheme import GVK

__all__ = [
    "FOREGROUND",
    "ORPHAN",
    "Node",
    "ObjectReference",
    "alternate_owner_identity",
    "blocks_deletion",
    "identity_of",
    "owner_coordinates",
    "partition_dependents",
    "reference_matches",
]

FOREGROUND = "foregroundDeletion"
"""The finalizer of an object that waits for its dependents to be deleted."""

ORPHAN = "orphan"
"""The finalizer of an object whose dependents are to be left without owner."""


class ObjectReference(NamedTuple):
    """Which object: its coordinates and its uid. `namespace` is "" for cluster-scoped objects."""

    api_version: str
    kind: str
    name: str
    uid: str
    namespace: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`, or `name`."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


def owner_coordinates(reference: Object, namespace: str = "") -> ObjectReference:
    """The object that an ownerReference names, were it in `namespace`."""
    return ObjectReference(
        reference.get("apiVersion", ""),
        reference.get("kind", ""),
        reference.get("name", ""),
        reference["uid"],
        namespace,
    )


def identity_of(obj: Object, gvk: GVK) -> ObjectReference:
    metadata = obj["metadata"]
    return ObjectReference(
        gvk.api_version, gvk.kind, metadata["name"], metadata.get("uid", ""), metadata.get("namespace") or ""
    )


def reference_matches(reference: Object, identity: ObjectReference) -> bool:
    """The ownerReference names exactly this object, namespace aside."""
    return owner_coordinates(reference, identity.namespace) == identity


def blocks_deletion(reference: Object) -> bool:
    return reference.get("blockOwnerDeletion") is True


class Node:
    """An object as the graph knows it.

    `virtual`: only heard of through an ownerReference, not yet seen. `being_deleted`: has a deletionTimestamp.
    `deleting_dependents`: also has the finalizer foregroundDeletion, so it waits until its dependents are gone.
    """

    __slots__ = ("being_deleted", "deleting_dependents", "dependents", "identity", "owners", "virtual")

    def __init__(
        self,
        identity: ObjectReference,
        owners: Iterable[Object] = (),
        *,
        virtual: bool = False,
        being_deleted: bool = False,
        deleting_dependents: bool = False,
    ) -> None:
        self.identity = identity
        self.owners: tuple[Object, ...] = tuple(owners)
        self.dependents: dict[str, Node] = {}
        self.virtual = virtual
        self.being_deleted = being_deleted
        self.deleting_dependents = deleting_dependents

    @property
    def uid(self) -> str:
        return self.identity.uid

    @property
    def is_observed(self) -> bool:
        return not self.virtual

    def blocking_dependents(self) -> list[Node]:
        """Dependents whose reference to this object has blockOwnerDeletion."""
        return [
            dependent
            for dependent in self.dependents.values()
            if any(owner["uid"] == self.uid and blocks_deletion(owner) for owner in dependent.owners)
        ]

    def __repr__(self) -> str:
        return f"<Node {self.identity}{' virtual' if self.virtual else ''}>"


def partition_dependents(dependents: Iterable[Node], identity: ObjectReference) -> tuple[list[Node], list[Node]]:
    """Dependents with a reference that names `identity`, and those with one for its uid that does not.

    One with several references can be in both lists.
    """
    matching: list[Node] = []
    nonmatching: list[Node] = []
    for dependent in dependents:
        if identity.namespace and identity.namespace != dependent.identity.namespace:
            nonmatching.append(dependent)
            continue
        verdicts = [reference_matches(owner, identity) for owner in dependent.owners if owner["uid"] == identity.uid]
        if any(verdicts):
            matching.append(dependent)
        if not all(verdicts):
            nonmatching.append(dependent)
    return matching, nonmatching


def alternate_owner_identity(dependents: Iterable[Node], absent: ObjectReference) -> ObjectReference | None:
    """Another identity under which `dependents` refer to the uid of `absent`: the next one in order, else the first."""
    candidates: dict[ObjectReference, None] = {}
    for dependent in dependents:
        for owner in dependent.owners:
            if owner["uid"] != absent.uid:
                continue
            same_namespace = not absent.namespace or absent.namespace == dependent.identity.namespace
            if reference_matches(owner, absent) and same_namespace:
                continue
            found = owner_coordinates(owner, dependent.identity.namespace)
            if not absent.namespace and (found.api_version, found.kind) == (absent.api_version, absent.kind):
                found = found._replace(namespace="")
            if found != absent:
                candidates[found] = None
    ordered = sorted(candidates, key=_reference_order)
    following = [found for found in ordered if _reference_order(found) > _reference_order(absent)]
    return next(iter(following or ordered), None)


def _reference_order(reference: ObjectReference) -> tuple[str, str, str, str, str]:
    return (reference.kind, reference.api_version, reference.namespace, reference.name, reference.uid)
