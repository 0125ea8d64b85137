"""What the kubelet takes, what it ends, and what it starts again: admission, addresses, sidecars, phases, deadlines."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.objects import freeze
from k8slab.api.scheme import EVENTS, PODS
from k8slab.kubelet import Behaviour, ContainerRuntime, NodeConfig, Timings
from k8slab.sim import KINDS
from tests.unit.kubelet.test_kubelet import NODE, World

DEADLINE = "Pod was active on the node longer than the specified deadline"
PROXY = {"name": "proxy", "image": "proxy:1", "restartPolicy": "Always"}


def world_of(**config: Any) -> World:
    """A world whose node is made so."""
    world = World()
    world.component.kill()
    world.runtime = ContainerRuntime(NodeConfig(NODE, **config), Timings())
    world.start()
    return world


def told(world: World, level: int = 1) -> list[tuple[str, Any]]:
    return [
        (e.kind, e.data.get("code", e.data.get("ms")))
        for e in world.loop.trace
        if KINDS[e.kind].level <= level and e.kind.startswith(("container.", "pod.", "sandbox.", "kubelet.reject"))
    ]


def messages(world: World, reason: str) -> list[str]:
    return [e["message"] for e in world.server.of(EVENTS) if e["reason"] == reason]


def patch_status(world: World, **status: Any) -> None:
    pod = dict(world.pod())
    pod["status"] = {**pod["status"], **status}
    world.server.put(PODS, pod)


def set_spec(world: World, **spec: Any) -> None:
    pod = dict(world.pod())
    pod["spec"] = {**pod["spec"], **spec}
    world.server.put(PODS, pod)


# -- admission and addresses ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "requests", "reason", "text"),
    [
        pytest.param({"pods": "1"}, {}, "OutOfpods", "pods, requested: 1, used: 1, capacity: 1", id="one Pod too many"),
        pytest.param(
            {"cpu": "1"},
            {"cpu": "600m"},
            "OutOfcpu",
            "cpu, requested: 600, used: 600, capacity: 1000",
            id="no CPU left",
        ),
        pytest.param(
            {"memory": "1Ki"},
            {"memory": "600"},
            "OutOfmemory",
            "memory, requested: 600, used: 600, capacity: 1024",
            id="no memory left",
        ),
    ],
)
def test_a_pod_that_does_not_fit_is_rejected_and_never_runs(
    config: dict[str, str], requests: dict[str, str], reason: str, text: str
) -> None:
    world = world_of(**config)
    containers = [{"name": "c", "image": "x:1", "resources": {"requests": requests}}]
    world.put_pod("one", containers=containers)
    world.loop.run(for_ms=2_000)
    world.put_pod("two", containers=containers)
    world.loop.run(for_ms=2_000)
    status = world.pod("two")["status"]
    text = f"Node didn't have enough resource: {text}"
    assert (status["phase"], status["reason"]) == ("Failed", reason)
    assert status["message"] == f"Pod was rejected: {text}"
    assert messages(world, reason) == [text]
    assert world.ready("one") == "True" and len(world.runtime.sandboxes) == 1
    assert ("kubelet.reject", None) in told(world)


def test_a_pod_that_has_ended_makes_room_for_another() -> None:
    world = world_of(pods="1")
    world.put_pod("one", restartPolicy="Never", annotations={"k8slab.dev/run-ms": "10"})
    world.loop.run(for_ms=2_000)
    world.put_pod("two")
    world.loop.run(for_ms=2_000)
    assert world.pod("one")["status"]["phase"] == "Succeeded" and world.ready("two") == "True"


def test_a_rejected_pod_is_removed_when_it_is_deleted() -> None:
    world = world_of(pods="0")
    world.put_pod()
    world.loop.run(for_ms=2_000)
    world.delete("web")
    world.loop.run(for_ms=2_000)
    assert world.pod() is None


def test_without_an_address_a_pod_waits_and_the_others_go_on() -> None:
    world = world_of(pod_cidr="10.244.1.0/29")  # 6 hosts, one of them the bridge
    for number in range(6):
        world.put_pod(f"web-{number}")
    world.loop.run(for_ms=5_000)
    assert [world.ready(f"web-{n}") for n in range(6)] == ["True"] * 5 + ["False"]
    assert world.pod("web-5")["status"]["phase"] == "Pending"
    [text] = messages(world, "FailedCreatePodSandBox")
    assert text.startswith("Failed to create pod sandbox: ")
    assert text.endswith("no IP addresses available in range set: 10.244.1.1-10.244.1.6")
    world.runtime.check_invariants()
    world.delete("web-0")
    world.loop.run(for_ms=12_000)
    assert world.ready("web-5") == "True"
    assert [kind for kind, _ in told(world)].count("sandbox.fail") == 1
    world.runtime.check_invariants()


def test_a_finished_pod_gives_its_address_back() -> None:
    world = world_of(pod_cidr="10.244.1.0/29")
    for number in range(20):
        world.put_pod(f"job-{number}", restartPolicy="Never", annotations={"k8slab.dev/run-ms": "10"})
        world.loop.run(for_ms=2_000)
    assert {p["status"]["phase"] for p in world.server.of(PODS)} == {"Succeeded"}
    assert all(p["status"]["podIP"].startswith("10.244.1.") for p in world.server.of(PODS))
    world.runtime.check_invariants()


def test_what_is_left_of_pods_deleted_while_the_kubelet_was_down_makes_no_pod_fail() -> None:
    world = world_of(pods="1")
    world.put_pod("old")
    world.loop.run(for_ms=2_000)
    world.component.kill()
    world.server.remove(PODS, "default/old")
    world.put_pod("new")
    world.start()
    world.loop.run(for_ms=3_000)
    assert world.ready("new") == "True"
    assert [s.key for s in world.runtime.sandboxes.values()] == ["default/new"]


# -- sidecars ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("notes", "phase", "code"),
    [
        ({}, "Succeeded", 0),
        ({"k8slab.dev/exit-code": "3"}, "Failed", 0),
        ({"k8slab.dev/proxy.stop-ms": "60000"}, "Succeeded", 137),
    ],
    ids=["the main container succeeds", "the main container fails", "the sidecar ignores SIGTERM"],
)
def test_a_sidecar_is_stopped_when_the_main_containers_have_ended(notes: dict[str, str], phase: str, code: int) -> None:
    world = World()
    notes = {"k8slab.dev/run-ms": "1000", **notes}
    world.put_pod(restartPolicy="Never", terminationGracePeriodSeconds=5, initContainers=[PROXY], annotations=notes)
    world.loop.run(for_ms=2_300)  # pull, start, pull, start, 1,000 ms: the main container has ended just now
    assert world.pod()["status"]["phase"] == "Running"
    world.loop.run(for_ms=30_000)
    status = world.pod()["status"]
    assert status["phase"] == phase
    [proxy] = status["initContainerStatuses"]
    assert (proxy["state"]["terminated"]["exitCode"], proxy["restartCount"]) == (code, 0)
    assert messages(world, "Killing") == ["Stopping container proxy"]
    [sandbox] = world.runtime.sandboxes.values()
    assert sandbox.is_terminal() and not sandbox.holds_address


def test_a_sidecar_that_ends_before_the_main_container_is_started_again() -> None:
    world = World()
    world.put_pod(initContainers=[PROXY], annotations={"k8slab.dev/proxy.run-ms": "1000"})
    world.loop.run(for_ms=8_000)
    status = world.pod()["status"]
    assert status["initContainerStatuses"][0]["restartCount"] >= 1
    assert status["phase"] == "Running" and world.state()["restartCount"] == 0


def test_annotations_of_one_container_leave_the_others_alone() -> None:
    world = World()
    containers = [{"name": "a", "image": "x:1"}, {"name": "b", "image": "x:1"}]
    notes = {"k8slab.dev/a.run-ms": "100", "k8slab.dev/a.exit-code": "4", "k8slab.dev/exit-code": "5"}
    world.put_pod(restartPolicy="Never", containers=containers, annotations=notes)
    world.loop.run(for_ms=3_000)
    first, second = world.pod()["status"]["containerStatuses"]
    assert first["state"]["terminated"]["exitCode"] == 4 and "running" in second["state"]


# -- phases that are for good --------------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_pod_that_is_over_in_the_api_is_stopped_and_stays_so(phase: str) -> None:
    world = World()
    world.put_pod()
    world.loop.run(for_ms=2_000)
    patch_status(world, phase=phase, reason="Evicted", message="the node was low on resource")
    world.loop.run(for_ms=60_000)
    status = world.pod()["status"]
    assert (status["phase"], status["reason"]) == (phase, "Evicted")
    assert "terminated" in world.state()["state"] and world.state()["restartCount"] == 0
    assert world.ready() == "False" and messages(world, "Killing") == ["Stopping container c"]


def test_a_pod_that_became_failed_while_the_kubelet_was_down_is_stopped_by_the_next_one() -> None:
    world = World()
    world.put_pod()
    world.loop.run(for_ms=2_000)
    world.component.kill()
    patch_status(world, phase="Failed", reason="NodeLost")
    world.start()
    world.loop.run(for_ms=5_000)
    assert (world.pod()["status"]["phase"], world.pod()["status"]["reason"]) == ("Failed", "NodeLost")
    assert not next(iter(world.runtime.sandboxes.values())).containers[0].is_up


def test_a_pod_longer_active_than_its_deadline_fails() -> None:
    world = World()
    world.put_pod(activeDeadlineSeconds=10)
    world.loop.run(for_ms=9_900)
    assert world.ready() == "True"
    world.loop.run(for_ms=150)
    assert world.pod()["status"]["phase"] == "Running", "not Failed before its containers have ended"
    world.loop.run(for_ms=20_000)
    status = world.pod()["status"]
    assert (status["phase"], status["reason"], status["message"]) == ("Failed", "DeadlineExceeded", DEADLINE)
    assert messages(world, "DeadlineExceeded") == [DEADLINE]
    assert world.state()["restartCount"] == 0


# -- what is started again -----------------------------------------------------------------------------


def test_a_container_whose_image_changed_is_started_again_from_the_new_one() -> None:
    world = World()
    world.put_pod(restartPolicy="Never")
    world.loop.run(for_ms=2_000)
    set_spec(world, containers=[{"name": "c", "image": "nginx:2"}])
    world.loop.run(for_ms=100)
    assert world.state()["image"] == "nginx:1", "until it has ended"
    world.loop.run(for_ms=2_000)
    assert messages(world, "Killing") == ["Container c definition changed, will be restarted"]
    assert (world.state()["image"], world.state()["restartCount"], world.ready()) == ("nginx:2", 1, "True")
    assert [kind for kind, _ in told(world)] == ["pod.running", "pod.running"]


def test_another_image_ends_the_back_off_of_the_first() -> None:
    world = World()
    world.put_pod(annotations={"k8slab.dev/pull-error": "not found"})
    world.loop.run(for_ms=3_000)
    pod = dict(world.pod())
    pod["metadata"] = {**pod["metadata"], "annotations": {}}
    pod["spec"] = {**pod["spec"], "containers": [{"name": "c", "image": "nginx:2"}]}
    world.server.put(PODS, pod)
    world.loop.run(for_ms=1_000)
    assert world.ready() == "True"


def test_after_a_power_cut_init_containers_run_again_in_a_new_sandbox() -> None:
    world = World()
    world.put_pod("other")
    world.put_pod(initContainers=[{"name": "setup", "image": "x:1"}])
    world.loop.run(for_ms=3_000)
    before = world.pod()["status"]["podIP"]
    world.component.kill()
    world.runtime.lose_power(world.loop.clock.now_ms)
    world.start()
    starts: list[str] = []
    world.loop.trace.listeners.append(
        lambda e: starts.append(e.data["container"]) if e.kind == "container.start" and "web" in e.data["key"] else None
    )
    world.loop.run(for_ms=5_000)
    assert starts == ["setup", "c"] and world.ready() == "True"
    assert world.pod()["status"]["podIP"] != before
    assert world.pod()["status"]["initContainerStatuses"][0]["restartCount"] == 1
    world.runtime.check_invariants()


def test_after_a_power_cut_a_pod_that_is_never_restarted_has_failed() -> None:
    world = World()
    world.put_pod(restartPolicy="Never", initContainers=[{"name": "setup", "image": "x:1"}])
    world.loop.run(for_ms=3_000)
    world.component.kill()
    world.runtime.lose_power(world.loop.clock.now_ms)
    world.start()
    world.loop.run(for_ms=5_000)
    assert world.pod()["status"]["phase"] == "Failed"
    assert world.state()["state"]["terminated"]["exitCode"] == 255


# -- the story -----------------------------------------------------------------------------------------


def test_a_crash_loop_tells_exits_and_back_offs_and_only_once_that_the_pod_runs() -> None:
    world = World()
    world.put_pod(annotations={"k8slab.dev/run-ms": "1000", "k8slab.dev/exit-code": "1"})
    world.loop.run(for_ms=40_000)
    fail = ("container.fail", 1)
    assert told(world) == [
        ("pod.running", None),
        fail,
        fail,
        ("container.backoff", 10_000),
        fail,
        ("container.backoff", 20_000),
        fail,
        ("container.backoff", 40_000),
    ]


def test_a_pod_that_somebody_else_called_not_ready_is_told_to_run_again() -> None:
    world = World()
    world.put_pod()
    world.loop.run(for_ms=2_000)
    conditions = [dict(c, status="False") if c["type"] == "Ready" else c for c in world.pod()["status"]["conditions"]]
    patch_status(world, conditions=conditions)
    world.loop.run(for_ms=1_000)
    assert told(world) == [("pod.running", None)] * 2 and world.ready() == "True"


@pytest.mark.parametrize(
    ("on", "text"), [(False, "node-2 loses power"), (True, "node-2 has power again")], ids=["off", "on"]
)
def test_power_is_told_in_words(on: bool, text: str) -> None:
    assert KINDS["node.power"].text({"node": "node-2", "on": on}) == text


def test_a_containers_behaviour_is_asked_again_when_the_pod_changes_but_not_when_its_status_does() -> None:
    asked: list[str] = []

    def behaviour_of(pod: Any, container: Any) -> Behaviour:
        asked.append(container["name"])
        return Behaviour()

    pod = freeze({
        "metadata": {"name": "a", "namespace": "b", "uid": "u", "labels": {"x": "y"}},
        "spec": {"containers": [{"name": "c", "image": "i:1"}]},
    })  # fmt: skip
    sandbox = ContainerRuntime(NodeConfig(NODE), Timings(), behaviour_of).run_pod(pod, 0)
    sandbox.update({**pod, "status": {"phase": "Running"}}, 1)
    assert asked == ["c"]
    sandbox.update({**pod, "metadata": {**pod["metadata"], "resourceVersion": "7"}}, 2)
    assert asked == ["c"]
    for part in ("labels", "annotations"):
        pod = freeze({**pod, "metadata": {**pod["metadata"], part: {"a": part}}})
        asked.clear()
        sandbox.update(pod, 3)
        assert asked == ["c"], part
    asked.clear()
    sandbox.update(freeze({**pod, "spec": {"containers": [{"name": "c", "image": "i:1", "args": ["x"]}]}}), 4)
    assert asked == ["c"]
