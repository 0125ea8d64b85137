"""Keeps the ownership graph up to date with the changes that informers report, and says what to look at next.

An owner that nobody has seen yet enters the graph as a virtual node; whether it exists is found out at the API server.
If it does not, a *virtual delete event* takes it out again and its dependents are looked at.

Upstream: pkg/controller/garbagecollector/graph_builder.go
Simplified: changes are applied where they are reported, without the queue graphChanges in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.scheme import GVK
from k8slab.controllers.garbage_collector.graph import (
    FOREGROUND,
    ORPHAN,
    Node,
    ObjectReference,
    alternate_owner_identity,
    blocks_deletion,
    identity_of,
    owner_coordinates,
    partition_dependents,
    reference_matches,
)
from k8slab.controllers.garbage_collector.uid_cache import ReferenceCache

__all__ = ["EventType", "GraphBuilder", "GraphEffects", "InvalidOwner", "has_finalizer", "is_being_deleted"]


class EventType(StrEnum):
    ADD = "add"
    UPDATE = "update"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class InvalidOwner:
    """`dependent` names an owner in another namespace: worth a warning event."""

    dependent: ObjectReference
    owner: ObjectReference


@dataclass(slots=True)
class GraphEffects:
    """What the caller does after a change, in this order: warn of `invalid_owners`, then fill the queues."""

    invalid_owners: list[InvalidOwner] = field(default_factory=list)
    attempt_to_delete: list[ObjectReference] = field(default_factory=list)
    attempt_to_delete_later: list[ObjectReference] = field(default_factory=list)
    attempt_to_orphan: list[ObjectReference] = field(default_factory=list)

    def delete(self, nodes: Iterable[Node]) -> None:
        self.attempt_to_delete += [node.identity for node in nodes]


class GraphBuilder:
    """`nodes` by uid. Every method that changes the graph returns GraphEffects."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.absent_owner_cache = ReferenceCache()

    # -- reports -----------------------------------------------------------------------------------

    def changed(self, event: EventType, obj: Object, gvk: GVK, old: Object | None = None) -> GraphEffects:
        """An informer saw `obj` added or updated (from `old`)."""
        effects = GraphEffects()
        identity = identity_of(obj, gvk)
        node = self.nodes.get(identity.uid)
        if node is not None and not node.is_observed:
            self._observe(node, identity, effects)
        if node is None:
            node = Node(
                identity,
                obj["metadata"].get("ownerReferences") or (),
                being_deleted=is_being_deleted(obj),
                deleting_dependents=is_being_deleted(obj) and has_finalizer(obj, FOREGROUND),
            )
            self.nodes[node.uid] = node
            self._add_dependent_to_owners(node, node.owners, effects)
        else:
            node.identity = identity
            self._update_owners(node, obj["metadata"].get("ownerReferences") or (), effects)
            node.being_deleted = node.being_deleted or is_being_deleted(obj)
        self._process_transitions(old, obj, node, effects)
        return effects

    def deleted(self, obj: Object, gvk: GVK) -> GraphEffects:
        """An informer saw `obj` deleted."""
        effects = GraphEffects()
        identity = identity_of(obj, gvk)
        node = self.nodes.get(identity.uid)
        if node is not None:
            if not node.is_observed:
                self._observe(node, identity, effects)
            self._remove(node, identity, effects)
        return effects

    def virtually_deleted(self, identity: ObjectReference) -> GraphEffects:
        """The API server has no object of this identity. Nodes that are known otherwise are kept."""
        effects = GraphEffects()
        node = self.nodes.get(identity.uid)
        if node is None:
            return effects
        matching, nonmatching = partition_dependents(node.dependents.values(), identity)
        if not (nonmatching if node.virtual else node.identity != identity):
            self._remove(node, identity, effects)
            return effects
        if matching:
            self.absent_owner_cache.add(identity)
            effects.delete(matching)
        if node.virtual and node.identity == identity:
            other = alternate_owner_identity(nonmatching, identity)
            if other is not None:
                node.identity = other
                effects.attempt_to_delete_later.append(other)
        return effects

    # -- looking -----------------------------------------------------------------------------------

    def view(self) -> dict[str, Any]:
        """Objects by uid: name, owners, dependents, state."""
        return {
            uid: {
                "object": str(node.identity),
                "owners": {owner["uid"]: f"{owner.get('kind')} {owner.get('name')}" for owner in node.owners},
                "dependents": {dependent.uid: str(dependent.identity) for dependent in node.dependents.values()},
                "virtual": node.virtual,
                "being_deleted": node.being_deleted,
                "deleting_dependents": node.deleting_dependents,
            }
            for uid, node in self.nodes.items()
        }

    def check_invariants(self) -> None:
        """AssertionError naming what is broken."""
        for uid, node in self.nodes.items():
            assert node.uid == uid, f"{node.identity} is filed under {uid}"
            assert not (node.virtual and node.owners), f"virtual {node.identity} has owners"
            assert node.being_deleted or not node.deleting_dependents, f"{node.identity} waits without being deleted"
            for owner in node.owners:
                known = self.nodes.get(owner["uid"])
                assert known is None or uid in known.dependents, f"{known.identity} does not know {node.identity}"
            for dependent in node.dependents.values():
                assert self.nodes.get(dependent.uid) is dependent, f"{node.identity} has a stale {dependent.identity}"
                named = [owner["uid"] for owner in dependent.owners]
                assert uid in named, f"{dependent.identity} is no dependent of {node.identity}"

    # -- inside ------------------------------------------------------------------------------------

    def _observe(self, node: Node, identity: ObjectReference, effects: GraphEffects) -> None:
        """A virtual node turns out to be real; dependents that named something else are looked at."""
        if identity != node.identity:
            _, invalid = partition_dependents(node.dependents.values(), identity)
            for dependent in invalid:
                if identity.namespace and dependent.identity.namespace != identity.namespace:
                    self._report_invalid(dependent, identity.uid, effects)
            effects.delete(invalid)
            node.identity = identity
        node.virtual = False

    def _update_owners(self, node: Node, references: Sequence[Object], effects: GraphEffects) -> None:
        old = {owner["uid"]: owner for owner in node.owners}
        new = {owner["uid"]: owner for owner in references}
        if tuple(references) == node.owners:
            return
        removed = [owner for uid, owner in old.items() if uid not in new]
        unblocked = [owner for owner in removed if blocks_deletion(owner)]
        unblocked += [new[uid] for uid, owner in old.items() if uid in new and _is_unblocked(owner, new[uid])]
        effects.delete(self.nodes[owner["uid"]] for owner in unblocked if owner["uid"] in self.nodes)
        node.owners = tuple(references)
        self._add_dependent_to_owners(node, [owner for uid, owner in new.items() if uid not in old], effects)
        self._remove_dependent_from_owners(node, removed)

    def _add_dependent_to_owners(self, node: Node, owners: Iterable[Object], effects: GraphEffects) -> None:
        is_suspect = False
        for owner in owners:
            known = self.nodes.get(owner["uid"])
            if known is None:
                virtual = Node(owner_coordinates(owner, node.identity.namespace), virtual=True)
                virtual.dependents[node.uid] = node
                self.nodes[virtual.uid] = virtual
                effects.delete([virtual])
                continue
            known.dependents[node.uid] = node
            if not is_suspect:
                is_suspect = self._is_suspect(node, owner, known, effects)
        if is_suspect:
            effects.delete([node])

    def _is_suspect(self, node: Node, owner: Object, known: Node, effects: GraphEffects) -> bool:
        """The reference may not mean the object that the graph knows under its uid."""
        is_elsewhere = known.identity.namespace != node.identity.namespace
        if known.identity.namespace and is_elsewhere:
            if known.is_observed:
                self._report_invalid(node, known.uid, effects)
            return True
        if not reference_matches(owner, known.identity):
            return True
        return is_elsewhere and not known.is_observed

    def _report_invalid(self, dependent: Node, owner_uid: str, effects: GraphEffects) -> None:
        for owner in dependent.owners:
            if owner["uid"] == owner_uid:
                named = owner_coordinates(owner, dependent.identity.namespace)
                effects.invalid_owners.append(InvalidOwner(dependent.identity, named))
                return

    def _process_transitions(self, old: Object | None, new: Object, node: Node, effects: GraphEffects) -> None:
        if _deletion_starts_with(old, new, ORPHAN):
            effects.attempt_to_orphan.append(node.identity)
        elif _deletion_starts_with(old, new, FOREGROUND):
            node.deleting_dependents = True
            effects.delete([*node.dependents.values(), node])

    def _remove(self, node: Node, identity: ObjectReference, effects: GraphEffects) -> None:
        del self.nodes[node.uid]
        self._remove_dependent_from_owners(node, node.owners)
        if node.dependents:
            self.absent_owner_cache.add(identity)
        effects.delete(node.dependents.values())
        for owner in node.owners:
            known = self.nodes.get(owner["uid"])
            if known is not None and known.deleting_dependents:
                effects.delete([known])

    def _remove_dependent_from_owners(self, node: Node, owners: Iterable[Object]) -> None:
        for owner in owners:
            known = self.nodes.get(owner["uid"])
            if known is not None:
                known.dependents.pop(node.uid, None)


def is_being_deleted(obj: Object) -> bool:
    return obj["metadata"].get("deletionTimestamp") is not None


def has_finalizer(obj: Object, finalizer: str) -> bool:
    return finalizer in (obj["metadata"].get("finalizers") or ())


def _deletion_starts_with(old: Object | None, new: Object, finalizer: str) -> bool:
    """From `old` to `new` the object became one that is being deleted and has `finalizer`."""
    if not (is_being_deleted(new) and has_finalizer(new, finalizer)):
        return False
    return old is None or not (is_being_deleted(old) and has_finalizer(old, finalizer))


def _is_unblocked(old: Object, new: Object) -> bool:
    return blocks_deletion(old) and not blocks_deletion(new)
