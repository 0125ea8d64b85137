"""The scheduler's cache against a twin that keeps a list of Pods and counts again whenever it is asked."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from k8slab.scheduler import Cache, Snapshot
from k8slab.scheduler.framework import NodeInfo
from tests.counts import examples
from tests.scheduling import node, pod

NODES = ["a", "b", "c"]
PODS = ["p", "q", "r", "s"]
ZONE = "topology.kubernetes.io/zone"


class CacheMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.cache = Cache()
        self.snapshot = Snapshot()
        self.nodes: dict[str, tuple[str, str]] = {}  # name -> cpu, zone
        self.images: dict[str, tuple[str, ...]] = {}  # by Node
        self.pods: dict[str, tuple[str, str, bool]] = {}  # name -> node, cpu, assumed

    def pod(self, name: str) -> dict[str, object]:
        where, cpu, _ = self.pods[name]
        return pod(name, cpu, node_name=where)

    @rule(
        name=st.sampled_from(NODES),
        cpu=st.sampled_from(["1", "2"]),
        zone=st.sampled_from(["x", "y"]),
        images=st.sampled_from([(), ("app:1",), ("app:1", "db:1"), ("db:1",)]),
    )
    def node_seen(self, name: str, cpu: str, zone: str, images: tuple[str, ...]) -> None:
        known = name in self.nodes
        self.nodes[name] = (cpu, zone)
        self.images[name] = images
        seen = node(name, cpu, labels={ZONE: zone}, images=dict.fromkeys(images, 7))
        (self.cache.update_node if known else self.cache.add_node)(seen)

    @rule(name=st.sampled_from(NODES))
    def node_gone(self, name: str) -> None:
        if self.nodes.pop(name, None) is not None:
            del self.images[name]
            self.cache.remove_node(name)

    @rule(name=st.sampled_from(PODS), where=st.sampled_from(NODES), cpu=st.sampled_from(["100m", "1"]))
    def assume(self, name: str, where: str, cpu: str) -> None:
        if name not in self.pods:
            self.pods[name] = (where, cpu, True)
            self.cache.assume(self.pod(name), where)

    @rule(name=st.sampled_from(PODS))
    def forget(self, name: str) -> None:
        if name in self.pods and self.pods[name][2]:
            del self.pods[name]
        self.cache.forget(f"default/{name}")

    @rule(name=st.sampled_from(PODS), where=st.sampled_from(NODES), cpu=st.sampled_from(["100m", "1"]))
    def seen_bound(self, name: str, where: str, cpu: str) -> None:
        if name not in self.pods or self.pods[name][2]:
            self.pods[name] = (where, cpu, False)
            self.cache.add_pod(self.pod(name))

    @rule(name=st.sampled_from(PODS), cpu=st.sampled_from(["100m", "1"]))
    def resized(self, name: str, cpu: str) -> None:
        if name in self.pods and not self.pods[name][2]:
            self.pods[name] = (self.pods[name][0], cpu, False)
            self.cache.update_pod(self.pod(name))

    @rule(name=st.sampled_from(PODS))
    def pod_gone(self, name: str) -> None:
        self.pods.pop(name, None)
        self.cache.remove_pod(f"default/{name}")

    @rule()
    def update_snapshot(self) -> None:
        self.cache.update_snapshot(self.snapshot)
        self.snapshot.check_invariants()
        assert sorted(info.name for info in self.snapshot.nodes) == sorted(self.nodes)
        there = [image for images in self.images.values() for image in images]
        assert self.snapshot.image_nodes == {image: there.count(image) for image in there}
        fresh = self.cache.snapshot()
        assert [shape(info) for info in self.snapshot.nodes] == [shape(info) for info in fresh.nodes]

    @invariant()
    def agree(self) -> None:
        self.cache.check_invariants()
        for name in NODES:
            mine = [self.pod(p) for p, (where, _, _) in self.pods.items() if where == name]
            info = self.cache.node(name)
            if name not in self.nodes and not mine:
                assert info is None
                continue
            cpu, zone = self.nodes.get(name, ("", ""))
            twin = NodeInfo.of(node(name, cpu or "1", labels={ZONE: zone}), mine)
            assert info is not None
            assert shape(info)[1:] == shape(twin)[1:]
            assert (info.node is not None) == (name in self.nodes)
            if info.node is not None:
                assert info.allocatable.milli_cpu == 1000 * int(cpu)
        assumed = [p for p in PODS if self.cache.is_assumed(f"default/{p}")]
        assert assumed == [p for p in PODS if p in self.pods and self.pods[p][2]]


def shape(info: NodeInfo) -> tuple[object, ...]:
    """All that plugins see of a Node, but the order of its Pods."""
    totals = (info.requested.as_dict(), info.non_zero_cpu, info.non_zero_memory)
    return (info.allocatable.as_dict(), *totals, sorted(info.pods))


TestCache = CacheMachine.TestCase
TestCache.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)
