"""The cache: assumptions and what becomes of them, Nodes that come and go, snapshots."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.scheduler import Cache, NodeInfo, PodInfo, Snapshot
from k8slab.scheduler.framework import HostPort, HostPorts, Resource, is_extended_resource, is_scalar_resource
from tests.scheduling import node, pod

ZONE = "topology.kubernetes.io/zone"


def make(*names: str) -> Cache:
    cache = Cache()
    for name in names:
        cache.add_node(node(name))
    return cache


def used_cpu(cache: Cache, name: str) -> int:
    info = cache.node(name)
    assert info is not None
    cache.check_invariants()
    return info.requested.milli_cpu


def test_an_assumed_pod_counts_and_its_confirmation_changes_nothing() -> None:
    cache = make("a", "b")
    cache.assume(pod("p", "1", node_name="a"), "a")
    assert (used_cpu(cache, "a"), cache.is_assumed("default/p")) == (1000, True)
    before = cache.node("a")
    assert before is not None
    generation = before.generation
    cache.add_pod(pod("p", "1", node_name="a"))
    assert (used_cpu(cache, "a"), cache.is_assumed("default/p")) == (1000, False)
    assert before.generation == generation


def test_a_pod_that_was_bound_elsewhere_moves() -> None:
    cache = make("a", "b")
    cache.assume(pod("p", "1", node_name="a"), "a")
    cache.add_pod(pod("p", "1", node_name="b"))
    assert (used_cpu(cache, "a"), used_cpu(cache, "b")) == (0, 1000)


def test_a_forgotten_assumption_frees_its_node_and_a_bound_pod_cannot_be_forgotten() -> None:
    cache = make("a")
    cache.assume(pod("p", "1", node_name="a"), "a")
    cache.forget("default/p")
    assert used_cpu(cache, "a") == 0
    cache.add_pod(pod("q", "1", node_name="a"))
    cache.forget("default/q")
    assert used_cpu(cache, "a") == 1000


def test_assuming_twice_is_refused() -> None:
    cache = make("a")
    cache.assume(pod("p", node_name="a"), "a")
    with pytest.raises(ValueError, match="pod uid-default-p\\(default/p\\) is in the cache"):
        cache.assume(pod("p", node_name="a"), "a")


def test_assumptions_expire_only_with_a_time_to_live_and_after_their_binding() -> None:
    cache = Cache(ttl_ms=100)
    cache.add_node(node("a"))
    for name in ("bound", "binding"):
        cache.assume(pod(name, "1", node_name="a"), "a")
    cache.finish_binding("default/bound", 50)
    assert cache.expire(149) == []
    assert cache.expire(150) == ["default/bound"]
    assert used_cpu(cache, "a") == 1000
    forever = make("a")
    forever.assume(pod("p", node_name="a"), "a")
    forever.finish_binding("default/p", 0)
    assert forever.expire(10**9) == []


def test_a_resize_counts_anew() -> None:
    cache = make("a")
    cache.add_pod(pod("p", "1", node_name="a"))
    cache.update_pod(pod("p", "2", node_name="a"))
    assert used_cpu(cache, "a") == 2000


def test_a_status_change_leaves_the_generation_alone() -> None:
    cache = make("a")
    cache.add_pod(pod("p", "1", node_name="a"))
    info = cache.node("a")
    assert info is not None
    generation = info.generation
    cache.update_pod({**pod("p", "1", node_name="a"), "status": {"phase": "Running"}})
    assert info.generation == generation


@pytest.mark.parametrize(
    ("metadata", "status"),
    [
        ({"deletionTimestamp": "2026-01-01T00:00:00Z"}, {}),
        ({}, {"startTime": "2026-01-01T00:00:00Z"}),
        ({}, {"conditions": [{"type": "DisruptionTarget", "status": "True"}]}),
    ],
    ids=["it is leaving", "it has started", "it is to be evicted"],
)
def test_a_snapshot_hears_what_preemption_asks_of_a_pod(metadata: dict[str, str], status: dict[str, Any]) -> None:
    cache, snapshot = make("a"), Snapshot()
    placed = pod("p", node_name="a")
    cache.add_pod(placed)
    cache.update_snapshot(snapshot)
    cache.update_pod({**placed, "metadata": {**placed["metadata"], **metadata}, "status": status})
    cache.update_snapshot(snapshot)
    seen = snapshot.nodes[0].pods["default/p"].pod
    assert (seen["metadata"].get("deletionTimestamp"), seen["status"]) == (metadata.get("deletionTimestamp"), status)


def test_pods_of_a_node_that_is_gone_or_unknown_stay_counted() -> None:
    cache = make("a")
    cache.add_pod(pod("p", node_name="a"))
    cache.remove_node("a")
    assert cache.snapshot().nodes == []
    cache.add_pod(pod("early", node_name="later"))
    cache.check_invariants()
    cache.remove_pod("default/p")
    assert cache.node("a") is None
    cache.add_node(node("later"))
    assert [list(info.pods) for info in cache.snapshot().nodes] == [["default/early"]]
    cache.check_invariants()


def test_a_snapshot_does_not_change_and_an_update_copies_only_what_did() -> None:
    cache = make("a", "b")
    snapshot = cache.snapshot()
    a, b = snapshot.nodes
    cache.assume(pod("p", "1", node_name="a"), "a")
    assert a.requested.milli_cpu == 0
    cache.update_snapshot(snapshot)
    assert snapshot.nodes[0] is not a and snapshot.nodes[0].requested.milli_cpu == 1000
    assert snapshot.nodes[1] is b
    snapshot.check_invariants()


def test_a_node_that_changes_its_zone_changes_the_order() -> None:
    cache = Cache()
    for name, zone in (("a", "1"), ("b", "1"), ("c", "2")):
        cache.add_node(node(name, labels={ZONE: zone}))
    snapshot = cache.snapshot()
    assert [info.name for info in snapshot.nodes] == ["a", "c", "b"]
    cache.update_node(node("a", labels={ZONE: "2"}))
    cache.update_snapshot(snapshot)
    assert [info.name for info in snapshot.nodes] == ["b", "c", "a"]
    cache.check_invariants()


def test_a_pod_whose_labels_changed_before_its_binding_was_seen_is_counted_anew() -> None:
    """Spreading and Pod affinity go by labels: the Node has changed for them, though the sums have not."""
    cache = Cache()
    cache.add_node(node("a"))
    cache.assume(pod("p"), "a")
    snapshot = cache.snapshot()
    seen = pod("p", node_name="a")
    seen["metadata"]["labels"] = {"app": "new"}
    cache.add_pod(seen)
    cache.update_snapshot(snapshot)
    assert snapshot.nodes[0].pods["default/p"].labels == {"app": "new"}
    cache.check_invariants()


# -- what is counted -----------------------------------------------------------------------------------


def test_containers_without_requests_count_with_defaults_beside_the_plain_sum() -> None:
    info = PodInfo(pod(cpu=None, memory=None))
    assert info.requested.as_dict() == {}
    assert (info.non_zero_cpu, info.non_zero_memory) == (100, 200 * 1024 * 1024)


def test_pod_level_requests_replace_the_sum_and_stand_in_for_the_defaults() -> None:
    whole = pod(cpu=None, memory=None, resources={"requests": {"cpu": "1"}})
    info = PodInfo(whole)
    assert info.requested.as_dict() == {"cpu": 1000}
    assert (info.non_zero_cpu, info.non_zero_memory) == (1000, 200 * 1024 * 1024)


def test_an_init_container_without_requests_gets_no_default_for_what_the_pod_level_pod_names() -> None:
    # Containers name memory, the pod level names CPU: so nothing is missing, and the init container adds nothing.
    whole = pod(cpu=None, memory="1Mi", resources={"requests": {"cpu": "1"}}, initContainers=[{"name": "i"}])
    info = PodInfo(whole)
    assert (info.non_zero_cpu, info.non_zero_memory) == (1000, 1024 * 1024)


def test_a_pod_whose_pod_level_resources_shrink_counts_with_what_it_still_has() -> None:
    whole = pod(cpu=None, memory=None, resources={"requests": {"cpu": "1"}})
    whole["status"] = {"resources": {"requests": {"cpu": "2"}}, "allocatedResources": {"cpu": "3"}}
    assert PodInfo(whole).requested.as_dict() == {"cpu": 3000}


@pytest.mark.parametrize(
    ("name", "scalar", "extended"),
    [
        pytest.param("cpu", False, False, id="cpu has a place of its own"),
        pytest.param("hugepages-2Mi", True, False, id="huge pages are counted by name"),
        pytest.param("example.com/gpu", True, True, id="a vendor's resource"),
        pytest.param("attachable-volumes-csi", True, False, id="attachable volumes"),
        pytest.param("kubernetes.io/batch-cpu", True, False, id="a resource of kubernetes.io"),
        pytest.param("requests.example.com/gpu", False, False, id="a quota's name is no resource"),
    ],
)
def test_kinds_of_resources(name: str, scalar: bool, extended: bool) -> None:
    assert (is_scalar_resource(name), is_extended_resource(name)) == (scalar, extended)


def test_a_port_that_two_pods_use_is_free_only_when_both_are_gone() -> None:
    ports = HostPorts()
    port = HostPort("0.0.0.0", "TCP", 80)
    ports.add([port])
    ports.add([port])
    ports.remove([port])
    assert ports.conflicts(HostPort("127.0.0.1", "TCP", 80))
    ports.remove([port])
    assert not ports and not ports.conflicts(port)


def test_a_pod_cannot_be_counted_twice_on_a_node() -> None:
    info = NodeInfo.of(node("a"), [pod("p")])
    with pytest.raises(ValueError, match="default/p is counted already"):
        info.add_pod(PodInfo(pod("p")))


def test_resources_clone_without_sharing() -> None:
    first = Resource(1, 2, 3)
    first.scalar["example.com/gpu"] = 1
    second = first.clone()
    second.add(first)
    assert (first.scalar, second.scalar) == ({"example.com/gpu": 1}, {"example.com/gpu": 2})


def test_a_copy_of_a_node_is_its_own_also_where_nothing_was_in_use_yet() -> None:
    info = NodeInfo.of(node("n"))
    copy = info.clone()
    copy.add_pod(PodInfo(pod("p", host_port=80)))
    info.check_invariants()
    copy.check_invariants()
    assert not info.used_ports
