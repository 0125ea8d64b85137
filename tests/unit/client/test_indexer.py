"""The informer's cache."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.objects import Object, freeze
from k8slab.client import Indexer


def pod(name: str, namespace: str = "default", revision: int = 1, *owners: str, node: str = "") -> Object:
    metadata: dict[str, Any] = {"name": name, "namespace": namespace, "resourceVersion": str(revision)}
    if owners:
        metadata["ownerReferences"] = [{"uid": uid} for uid in owners]
    found: Object = freeze({"metadata": metadata, "spec": {"nodeName": node} if node else {}})
    return found


def test_objects_are_found_by_key_namespace_and_owner() -> None:
    cache = Indexer()
    for obj in (pod("a", "x", 1, "u1", "u2"), pod("b", "y", 2, "u2"), pod("c", "x", 3)):
        cache.update(obj)
    cache.check_invariants()
    assert cache.get("x/a") == pod("a", "x", 1, "u1", "u2")
    assert cache.get("x/b") is None
    assert cache.keys() == list(cache) == ["x/a", "y/b", "x/c"]
    assert [obj["metadata"]["name"] for obj in cache.list("x")] == ["a", "c"]
    assert cache.index_keys("owner-uid", "u2") == ["x/a", "y/b"]
    assert cache.index_values("namespace") == ["x", "y"]
    assert cache.by_index("namespace", "z") == []
    assert (len(cache), "x/a" in cache, "x/b" in cache) == (3, True, False)


def test_an_update_that_changes_an_indexed_value_moves_the_object() -> None:
    cache = Indexer()
    cache.add_index("node", lambda obj: [obj["spec"]["nodeName"]] if "nodeName" in obj["spec"] else [])
    cache.update(pod("a"))
    cache.update(pod("a", revision=2, node="n1"))
    assert cache.index_keys("node", "n1") == ["default/a"]
    cache.update(pod("a", revision=3, node="n2"))
    assert (cache.index_keys("node", "n1"), cache.index_keys("node", "n2")) == ([], ["default/a"])
    cache.delete("default/a", "4")
    cache.delete("default/never")
    assert cache.index_values("node") == []
    cache.check_invariants()


def test_an_index_that_is_added_late_files_what_is_there() -> None:
    cache = Indexer()
    cache.update(pod("a", node="n1"))
    by_node = lambda obj: (obj["spec"].get("nodeName", ""),)  # noqa: E731
    cache.add_index("node", by_node)
    cache.add_index("node", by_node)
    assert cache.index_keys("node", "n1") == ["default/a"]
    with pytest.raises(ValueError, match="index 'node': there is another index of this name"):
        cache.add_index("node", lambda obj: ())


def test_an_unknown_index_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="index 'node': expected one of namespace, owner-uid"):
        Indexer().by_index("node", "n1")


def test_replacing_drops_everything_else() -> None:
    cache = Indexer()
    cache.update(pod("a", "x"))
    cache.update(pod("b", "y"))
    cache.replace([pod("b", "y", 8), pod("c", "y", 9)], "9")
    assert cache.view() == {"y/b": "8", "y/c": "9"}
    assert cache.index_values("namespace") == ["y"]
    cache.check_invariants()


def test_the_cache_knows_the_newest_revision_it_saw_also_of_deletions_and_bookmarks() -> None:
    cache = Indexer()
    assert cache.last_sync_resource_version == ""
    cache.replace([], "3")
    cache.update(pod("a", revision=5))
    assert cache.last_sync_resource_version == "5"
    cache.delete("default/a", "6")
    assert cache.last_sync_resource_version == "6"
    cache.delete("default/a")
    cache.bookmark("9")
    assert cache.last_sync_resource_version == "9"


def test_the_invariants_name_a_broken_index() -> None:
    cache = Indexer()
    cache.update(pod("a"))
    cache._indexes["namespace"].clear()
    with pytest.raises(AssertionError, match="index 'namespace'"):
        cache.check_invariants()
