"""Node health, zones, taints, and the controller over silent and failing nodes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from k8slab.api.errors import ConflictError, InternalError
from k8slab.api.objects import Object, thaw
from k8slab.api.pods import get_condition
from k8slab.api.scheme import LEASES, NODES, PODS
from k8slab.api.times import micro_time, rfc3339
from k8slab.controllers.node_lifecycle import (
    GracePeriods,
    RateLimitedTimedQueue,
    ZoneState,
    compute_zone_state,
    observe,
    zone_key,
)
from k8slab.controllers.node_lifecycle.controller import no_schedule_diff
from k8slab.controllers.node_lifecycle.labels import labels_to_update
from k8slab.controllers.node_lifecycle.zones import Disruption, disruption
from k8slab.sim.loop import sleep
from tests.unit.controllers.house import House, named, pod

NAME = "node-lifecycle-controller"
FAST = {"node-monitor-period-ms": 1000, "node-monitor-grace-period-ms": 8000}
GRACE = GracePeriods(monitor_ms=8000, startup_ms=60_000)


def node(name: str, ready: str = "True", zone: str = "z", heartbeat: int = 0, **spec: Any) -> dict[str, Any]:
    conditions = [
        {"type": "MemoryPressure", "status": "False", "reason": "KubeletHasSufficientMemory"},
        {"type": "Ready", "status": ready, "reason": "KubeletReady", "lastHeartbeatTime": rfc3339(heartbeat)},
    ]
    labels = {"topology.kubernetes.io/zone": zone}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": {"conditions": conditions}}


def lease(name: str, now_ms: int) -> dict[str, Any]:
    return named(name, "kube-node-lease", spec={"holderIdentity": name, "renewTime": micro_time(now_ms)})


class Nodes:
    """A house with nodes that renew their Leases every 2 s until they are silenced."""

    def __init__(self, count: int = 5, **options: Any) -> None:
        self.house = House(NAME, options={**FAST, **options})
        self.silent: set[str] = set()
        self.names = [f"w{number}" for number in range(count)]
        for name in self.names:
            self.house.server.put(NODES, node(name))
            self.house.server.put(LEASES, lease(name, 0))
        self.house.loop.spawn("kubelets", self._heartbeats())

    async def _heartbeats(self) -> None:
        loop = self.house.loop
        while True:
            await sleep(2000, periodic=True)
            for name in self.names:
                if name not in self.silent:
                    self.house.server.put(LEASES, lease(name, loop.clock.now_ms))

    def taints(self, name: str) -> list[str]:
        found = self.house.server.get(NODES, name)["spec"].get("taints") or []
        return [f"{taint['key'].rpartition('/')[2]}:{taint['effect']}" for taint in found]

    def ready(self, name: str) -> Object:
        condition = get_condition(self.house.server.get(NODES, name), "Ready")
        assert condition is not None
        return condition

    def set_ready(self, name: str, status: str) -> None:
        old = thaw(self.house.server.get(NODES, name))
        old["status"] = node(name, status, heartbeat=self.house.loop.clock.now_ms)["status"]
        self.house.server.put(NODES, old)


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    nodes = Nodes()
    yield nodes
    nodes.house.controllers[NAME].check_invariants()
    nodes.house.close()


def test_a_silent_node_becomes_unknown_then_tainted_and_its_pods_are_not_ready(nodes: Nodes) -> None:
    house = nodes.house
    house.server.put(PODS, pod("web-0", "w0"))
    house.server.put(PODS, pod("web-1", "w1"))
    house.run(1500)
    assert [text for text in house.told() if "taint" in text] == [], "healthy nodes are left alone"
    nodes.silent.add("w0")
    house.run(12_000)
    ready = nodes.ready("w0")
    assert (ready["status"], ready["reason"], ready["message"]) == (
        "Unknown",
        "NodeStatusUnknown",
        "Kubelet stopped posting node status.",
    )
    kinds = {c["type"]: c["status"] for c in house.server.get(NODES, "w0")["status"]["conditions"]}
    assert kinds == dict.fromkeys(("MemoryPressure", "Ready", "DiskPressure", "PIDPressure"), "Unknown")
    assert nodes.taints("w0") == ["unreachable:NoSchedule", "unreachable:NoExecute"]
    pods = {p["metadata"]["name"]: get_condition(p, "Ready") for p in house.server.of(PODS)}
    assert [(name, c and c["status"]) for name, c in pods.items()] == [("web-0", "False"), ("web-1", "True")]
    assert [event for event in house.events() if "Registered" not in event] == [
        "NodeNotReady: Node w0 status is now: NodeNotReady",
        "NodeNotReady: Node is not ready",
    ]
    assert house.told("node.unknown") == [
        "the node lifecycle controller heard nothing from w0 for 9000 ms and marks it Unknown"
    ]


def test_nodes_are_registered_with_an_event(nodes: Nodes) -> None:
    nodes.house.run(1000)
    assert nodes.house.events()[0] == "RegisteredNode: Node w0 event: Registered Node w0 in Controller"
    nodes.house.server.remove(NODES, "w0")
    nodes.house.run(2000)
    assert "RemovingNode: Node w0 event: Removing Node w0 from Controller" in nodes.house.events()


def test_the_no_execute_taint_follows_within_100_ms(nodes: Nodes) -> None:
    nodes.silent.add("w0")
    nodes.house.run(20_000)
    changes = [change for change in nodes.house.server.changes if change.gvr == NODES and change.new is not None]
    times = [event.now_ms for event in nodes.house.loop.trace if event.kind in ("node.unknown", "node.taint")]
    assert len(changes) == 8, "five creations, the status, two taints"
    assert times[-1] - times[0] <= 110


def test_a_node_that_comes_back_loses_its_taints(nodes: Nodes) -> None:
    nodes.silent.add("w0")
    nodes.house.run(12_000)
    nodes.silent.clear()
    nodes.set_ready("w0", "True")
    nodes.house.run(1500)
    assert nodes.taints("w0") == []


def test_a_node_that_says_it_is_not_ready_is_tainted_but_its_pods_are_not_marked(nodes: Nodes) -> None:
    nodes.house.server.put(PODS, pod("web-0", "w0"))
    nodes.house.run(1500)
    nodes.set_ready("w0", "False")
    nodes.house.run(1500)
    assert nodes.taints("w0") == ["not-ready:NoSchedule", "not-ready:NoExecute"]
    assert [event for event in nodes.house.events() if "NodeNotReady" in event] == []


def test_the_two_no_execute_taints_exclude_each_other(nodes: Nodes) -> None:
    nodes.house.run(1500)
    nodes.set_ready("w0", "False")
    nodes.house.run(3000)
    nodes.silent.add("w0")
    nodes.house.run(12_000)
    assert sorted(nodes.taints("w0")) == ["unreachable:NoExecute", "unreachable:NoSchedule"]


def test_a_pod_that_lands_on_a_silent_node_is_marked_not_ready(nodes: Nodes) -> None:
    nodes.silent.add("w0")
    nodes.house.run(12_000)
    nodes.house.server.put(PODS, pod("late", "w0"))
    nodes.house.run(500)
    condition = get_condition(nodes.house.server.get(PODS, "default/late"), "Ready")
    assert condition is not None and condition["status"] == "False"


def test_when_every_node_is_silent_the_controller_doubts_itself() -> None:
    nodes = Nodes(3)
    nodes.house.run(1500)
    nodes.silent.update(nodes.names)
    nodes.house.run(30_000)
    for name in nodes.names:
        assert nodes.ready(name)["status"] == "Unknown"
        assert nodes.taints(name) == ["unreachable:NoSchedule"], "no Pod is evicted"
    nodes.silent.clear()
    for name in nodes.names:
        nodes.set_ready(name, "True")
    nodes.house.run(3000)
    assert [nodes.taints(name) for name in nodes.names] == [[], [], []]
    nodes.house.close()


def test_three_silent_nodes_of_five_stop_tainting_in_a_small_zone(nodes: Nodes) -> None:
    nodes.house.run(1500)
    nodes.silent.update(("w0", "w1", "w2"))
    nodes.house.run(60_000)
    tainted = [name for name in nodes.names if "unreachable:NoExecute" in nodes.taints(name)]
    assert tainted == [], "55 % are not ready: the rate is 0 before the first taint's turn"


def test_two_silent_nodes_are_tainted_ten_seconds_apart(nodes: Nodes) -> None:
    nodes.house.run(1500)
    nodes.silent.update(("w0", "w1"))
    nodes.house.run(60_000)
    times = [
        event.now_ms
        for event in nodes.house.loop.trace
        if event.kind == "node.taint" and "NoExecute" in str(event.data["change"])
    ]
    assert len(times) == 2
    assert 10_000 <= times[1] - times[0] <= 10_200


def test_failing_writes_are_tried_again(nodes: Nodes) -> None:
    house = nodes.house
    house.server.put(PODS, pod("web-0", "w0"))
    house.run(1500)
    nodes.silent.add("w0")
    house.run(6000)
    house.server.fail_next("update", NODES, ConflictError("modified"))
    house.server.fail_next("update", PODS, InternalError("etcd is away"))
    house.server.fail_next("patch", NODES, InternalError("etcd is away"))
    house.run(10_000)
    assert sorted(nodes.taints("w0")) == ["unreachable:NoExecute", "unreachable:NoSchedule"]
    condition = get_condition(house.server.get(PODS, "default/web-0"), "Ready")
    assert condition is not None and condition["status"] == "False"


def test_a_node_without_conditions_has_the_startup_grace_period() -> None:
    bare = named("w0", "", creationTimestamp=None)
    bare["metadata"]["creationTimestamp"] = rfc3339(0)
    seen = observe(bare, None, None, 60_000, GRACE)
    assert (seen.conditions, seen.current) == (None, None)
    later = observe(bare, None, seen.health, 60_001, GRACE)
    assert later.current is not None and later.current["reason"] == "NodeStatusNeverUpdated"


def test_a_renewed_lease_is_a_sign_of_life_and_an_unchanged_one_is_not() -> None:
    health = observe(node("w0"), lease("w0", 0), None, 0, GRACE).health
    kept = observe(node("w0"), lease("w0", 5000), health, 7000, GRACE)
    assert kept.health.probe_ms == 7000
    assert observe(node("w0"), lease("w0", 5000), kept.health, 15_000, GRACE).conditions is None
    assert observe(node("w0"), lease("w0", 5000), kept.health, 15_001, GRACE).conditions is not None


def test_a_new_heartbeat_of_the_status_is_a_sign_of_life() -> None:
    health = observe(node("w0"), None, None, 0, GRACE).health
    assert observe(node("w0", heartbeat=9000), None, health, 9000, GRACE).conditions is None


@pytest.mark.parametrize(
    ("conditions", "unschedulable", "present", "expected"),
    [
        pytest.param({"Ready": "False"}, False, [], (["not-ready"], []), id="not ready adds not-ready"),
        pytest.param({"Ready": "Unknown"}, False, ["not-ready"], (["unreachable"], ["not-ready"]), id="unknown swaps"),
        pytest.param({"MemoryPressure": "True"}, False, [], (["memory-pressure"], []), id="pressure is mirrored"),
        pytest.param({"Ready": "True"}, True, [], (["unschedulable"], []), id="cordoned"),
        pytest.param({"Ready": "True"}, False, ["unschedulable"], ([], ["unschedulable"]), id="uncordoned"),
        pytest.param({"Ready": "True"}, False, ["custom"], ([], []), id="other taints are not touched"),
    ],
)
def test_no_schedule_taints(
    conditions: dict[str, str], unschedulable: bool, present: list[str], expected: tuple[list[str], list[str]]
) -> None:
    taints = [{"key": f"node.kubernetes.io/{name}", "effect": "NoSchedule"} for name in present]
    listed = [{"type": kind, "status": status} for kind, status in conditions.items()]
    spec = {"taints": taints, "unschedulable": unschedulable}
    added, removed = no_schedule_diff({"spec": spec, "status": {"conditions": listed}})
    assert tuple([taint["key"].rpartition("/")[2] for taint in group] for group in (added, removed)) == expected


def test_old_labels_follow_new_ones() -> None:
    labels = {"kubernetes.io/os": "linux", "kubernetes.io/arch": "arm64", "beta.kubernetes.io/arch": "amd64"}
    expected = {"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "arm64"}
    assert labels_to_update({"metadata": {"labels": labels}}) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param({"a": "Normal"}, {"a": "FullDisruption"}, Disruption.ENTER, id="the last zone goes down"),
        pytest.param({"a": "FullDisruption"}, {"a": "Normal"}, Disruption.LEAVE, id="the only zone comes back"),
        pytest.param({"a": "FullDisruption"}, {"a": "FullDisruption"}, Disruption.NOTHING, id="all stay down"),
        pytest.param(
            {"a": "Normal", "b": "Normal"}, {"a": "Normal", "b": "FullDisruption"}, Disruption.FOLLOW, id="one of two"
        ),
        pytest.param({}, {}, Disruption.NOTHING, id="no nodes at all"),
    ],
)
def test_disruption(old: dict[str, str], new: dict[str, str], expected: Disruption) -> None:
    states = [{zone: ZoneState(state) for zone, state in zones.items()} for zones in (old, new)]
    assert disruption(*states) is expected


def test_zone_keys_join_region_and_zone() -> None:
    labels = {"topology.kubernetes.io/region": "r", "topology.kubernetes.io/zone": "z"}
    assert zone_key({"metadata": {"labels": labels}}) == "r:\x00:z"
    assert zone_key({"metadata": {}}) == ""
    assert compute_zone_state(0, 0) is ZoneState.NORMAL


def test_a_stopped_queue_starts_again_with_its_token() -> None:
    queue = RateLimitedTimedQueue(0.1)
    assert (queue.add("a", 0), queue.add("a", 0), queue.remove("a"), queue.remove("a")) == (True, False, True, False)
    queue.swap_limiter(0, 0)
    queue.add("a", 0)
    assert queue.view() == {"a": 0}
    queue.swap_limiter(0.1, 100)
    queue.check_invariants()
    assert queue.qps == 0.1
