"""The ownership graph: virtual nodes, wrong coordinates, transitions."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.scheme import GVK
from k8slab.controllers.garbage_collector import EventType, GraphBuilder, GraphEffects, ObjectReference
from k8slab.controllers.garbage_collector.graph import alternate_owner_identity, partition_dependents
from k8slab.controllers.garbage_collector.uid_cache import ReferenceCache

POD = GVK("", "v1", "Pod")
NODE = GVK("", "v1", "Node")
CONFIGMAP = GVK("", "v1", "ConfigMap")


def obj(name: str, *owners: dict[str, Any], namespace: str = "ns", **metadata: Any) -> dict[str, Any]:
    place = {"namespace": namespace} if namespace else {}
    return {"metadata": {"name": name, "uid": f"uid-{name}", "ownerReferences": list(owners), **place, **metadata}}


def ref(name: str, kind: str = "ConfigMap", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "name": name, "uid": f"uid-{name}", **fields}


def to_delete(effects: GraphEffects) -> list[str]:
    return [str(identity) for identity in effects.attempt_to_delete]


def test_an_unseen_owner_is_looked_up_once() -> None:
    graph = GraphBuilder()
    assert to_delete(graph.changed(EventType.ADD, obj("a", ref("owner")), POD)) == ["ConfigMap ns/owner"]
    assert to_delete(graph.changed(EventType.ADD, obj("b", ref("owner")), POD)) == []
    assert list(graph.nodes["uid-owner"].dependents) == ["uid-a", "uid-b"]
    graph.check_invariants()


def test_a_virtual_owner_that_is_seen_as_named_disturbs_nobody() -> None:
    graph = GraphBuilder()
    graph.changed(EventType.ADD, obj("a", ref("owner")), POD)
    assert to_delete(graph.changed(EventType.ADD, obj("owner"), CONFIGMAP)) == []
    assert graph.nodes["uid-owner"].is_observed


def test_a_virtual_owner_that_is_seen_in_another_namespace_is_reported() -> None:
    graph = GraphBuilder()
    graph.changed(EventType.ADD, obj("a", ref("owner")), POD)
    effects = graph.changed(EventType.ADD, obj("owner", namespace="other"), CONFIGMAP)
    assert to_delete(effects) == ["Pod ns/a"]
    assert [str(invalid.owner) for invalid in effects.invalid_owners] == ["ConfigMap ns/owner"]


def test_a_cluster_scoped_owner_may_be_named_from_anywhere() -> None:
    graph = GraphBuilder()
    graph.changed(EventType.ADD, obj("node", namespace=""), NODE)
    assert to_delete(graph.changed(EventType.ADD, obj("a", ref("node", "Node")), POD)) == []


def test_a_virtual_deletion_does_not_remove_an_owner_that_was_seen_elsewhere() -> None:
    graph = GraphBuilder()
    graph.changed(EventType.ADD, obj("owner"), CONFIGMAP)
    graph.changed(EventType.ADD, obj("right", ref("owner")), POD)
    graph.changed(EventType.ADD, obj("wrong", ref("owner", "Secret")), POD)
    effects = graph.virtually_deleted(ObjectReference("v1", "Secret", "owner", "uid-owner", "ns"))
    assert to_delete(effects) == ["Pod ns/wrong"]
    assert "uid-owner" in graph.nodes


def test_dependents_that_disagree_on_a_virtual_owner_are_asked_for_one_after_the_other() -> None:
    graph = GraphBuilder()
    graph.changed(EventType.ADD, obj("a", ref("owner")), POD)
    graph.changed(EventType.ADD, obj("b", ref("owner", "Secret")), POD)
    first = ObjectReference("v1", "ConfigMap", "owner", "uid-owner", "ns")
    effects = graph.virtually_deleted(first)
    assert to_delete(effects) == ["Pod ns/a"]
    assert first in graph.absent_owner_cache
    assert [str(identity) for identity in effects.attempt_to_delete_later] == ["Secret ns/owner"]
    effects = graph.virtually_deleted(first._replace(kind="Secret"))
    assert [str(identity) for identity in effects.attempt_to_delete_later] == ["ConfigMap ns/owner"]


def test_a_deletion_with_the_orphan_finalizer_starts_orphaning_once() -> None:
    graph = GraphBuilder()
    old = obj("owner")
    graph.changed(EventType.ADD, old, CONFIGMAP)
    new = obj("owner", deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["orphan"])
    effects = graph.changed(EventType.UPDATE, new, CONFIGMAP, old)
    assert [str(identity) for identity in effects.attempt_to_orphan] == ["ConfigMap ns/owner"]
    assert graph.changed(EventType.UPDATE, new, CONFIGMAP, new).attempt_to_orphan == []


def test_a_foreground_deletion_looks_at_the_dependents_and_then_at_the_owner() -> None:
    graph = GraphBuilder()
    old = obj("owner")
    graph.changed(EventType.ADD, old, CONFIGMAP)
    graph.changed(EventType.ADD, obj("a", ref("owner")), POD)
    new = obj("owner", deletionTimestamp="2026-01-01T00:00:00Z", finalizers=["foregroundDeletion"])
    assert to_delete(graph.changed(EventType.UPDATE, new, CONFIGMAP, old)) == ["Pod ns/a", "ConfigMap ns/owner"]
    assert to_delete(graph.deleted(obj("a", ref("owner")), POD)) == ["ConfigMap ns/owner"]


def test_view_shows_owners_and_dependents() -> None:
    graph = GraphBuilder()
    graph.changed(EventType.ADD, obj("a", ref("owner")), POD)
    assert graph.view()["uid-owner"]["dependents"] == {"uid-a": "Pod ns/a"}
    assert graph.view()["uid-a"]["owners"] == {"uid-owner": "ConfigMap owner"}


def test_check_invariants_names_a_stale_edge() -> None:
    graph = GraphBuilder()
    graph.changed(EventType.ADD, obj("a", ref("owner")), POD)
    graph.nodes["uid-owner"].dependents.clear()
    with pytest.raises(AssertionError, match="ConfigMap ns/owner does not know Pod ns/a"):
        graph.check_invariants()


def test_a_dependent_with_two_references_to_one_uid_can_match_and_mismatch() -> None:
    graph = GraphBuilder()
    graph.changed(EventType.ADD, obj("a", ref("owner"), ref("owner", "Secret")), POD)
    identity = ObjectReference("v1", "ConfigMap", "owner", "uid-owner", "ns")
    matching, nonmatching = partition_dependents(graph.nodes["uid-owner"].dependents.values(), identity)
    assert [node.identity.name for node in matching + nonmatching] == ["a", "a"]


def test_the_alternate_identity_is_the_next_in_order_or_the_first() -> None:
    graph = GraphBuilder()
    for name, kind in (("a", "Alpha"), ("b", "Beta"), ("c", "Gamma")):
        graph.changed(EventType.ADD, obj(name, ref("owner", kind)), POD)
    dependents = list(graph.nodes["uid-owner"].dependents.values())
    absent = ObjectReference("v1", "Beta", "owner", "uid-owner", "ns")
    found = alternate_owner_identity(dependents, absent)
    assert found is not None and found.kind == "Gamma"
    found = alternate_owner_identity(dependents, absent._replace(kind="Gamma"))
    assert found is not None and found.kind == "Alpha"


def test_the_cache_of_absent_owners_forgets_the_least_recently_used() -> None:
    cache = ReferenceCache(2)
    references = [ObjectReference("v1", "Pod", name, name) for name in ("a", "b", "c")]
    cache.add(references[0])
    cache.add(references[1])
    assert references[0] in cache
    cache.add(references[2])
    assert (references[0] in cache, references[1] in cache, len(cache)) == (True, False, 2)
