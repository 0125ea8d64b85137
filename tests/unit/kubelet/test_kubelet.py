"""The kubelet against a fake API server: registration, heartbeats, a Pod's life and its end."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from k8slab.api.errors import InternalError
from k8slab.api.scheme import EVENTS, LEASES, NODES, PODS
from k8slab.client import Client
from k8slab.kubelet import ContainerRuntime, Kubelet, NodeConfig, Timings
from k8slab.sim import Component, Loop
from tests.fakes import FakeTransport

NODE = "node-1"


class World:
    """One node, one fake server."""

    def __init__(self, timings: Timings | None = None) -> None:
        self.loop = Loop(seed=1)
        self.server = FakeTransport(self.loop)
        self.runtime = ContainerRuntime(NodeConfig(NODE), timings)
        self.start()

    def start(self) -> None:
        self.component = Component(self.loop, f"kubelet/{NODE}")
        self.kubelet = Kubelet(self.loop, self.component, Client(self.server), self.runtime)
        self.kubelet.start()

    def put_pod(self, name: str = "web", **spec: Any) -> None:
        annotations = spec.pop("annotations", {})
        finalizers = spec.pop("finalizers", [])
        body = {"nodeName": NODE, "restartPolicy": "Always", "containers": [{"name": "c", "image": "nginx:1"}], **spec}
        metadata = {"name": name, "namespace": "default", "annotations": annotations, "finalizers": finalizers}
        self.server.put(PODS, {"metadata": metadata, "spec": body})

    def delete(self, name: str, grace: int = 30) -> None:
        pod = dict(self.server.get(PODS, f"default/{name}"))
        pod["metadata"] = {
            **pod["metadata"],
            "deletionTimestamp": "2026-01-01T00:00:30Z",
            "deletionGracePeriodSeconds": grace,
        }
        self.server.put(PODS, pod)

    def pod(self, name: str = "web") -> Any:
        found = [p for p in self.server.of(PODS) if p["metadata"]["name"] == name]
        return found[0] if found else None

    def state(self, name: str = "web") -> Any:
        return self.pod(name)["status"]["containerStatuses"][0]

    def reasons(self) -> list[str]:
        return [e["reason"] for e in self.server.of(EVENTS) if e["involvedObject"]["kind"] == "Pod"]

    def ready(self, name: str = "web") -> str:
        conditions = (self.pod(name).get("status") or {}).get("conditions") or []
        return next((c["status"] for c in conditions if c["type"] == "Ready"), "?")


def test_it_registers_its_node_and_reports_it_ready() -> None:
    world = World()
    world.loop.run(for_ms=100)
    [node] = world.server.of(NODES)
    assert node["status"]["capacity"]["cpu"] == "4"
    assert node["metadata"]["labels"]["kubernetes.io/hostname"] == NODE
    assert {c["type"]: c["status"] for c in node["status"]["conditions"]} == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }


def test_it_takes_up_a_node_that_exists_already() -> None:
    world = World()
    world.loop.run(for_ms=100)
    world.component.kill()
    world.start()
    world.loop.run(for_ms=100)
    assert len(world.server.of(NODES)) == 1


def test_the_lease_is_renewed_about_every_ten_seconds() -> None:
    world = World()
    world.loop.run(for_ms=100_000)
    [lease] = world.server.of(LEASES)
    assert lease["spec"]["holderIdentity"] == NODE and lease["spec"]["leaseDurationSeconds"] == 40
    renewals = [v for v in world.server.verbs("patch") if v[1] == "leases"]
    assert 9 <= len(renewals) <= 11


def test_a_pod_runs_and_its_events_tell_the_steps() -> None:
    world = World()
    world.put_pod()
    world.loop.run(for_ms=2_000)
    status = world.pod()["status"]
    assert status["phase"] == "Running" and world.ready() == "True"
    assert status["podIP"].startswith("10.244.0.") and status["qosClass"] == "BestEffort"
    assert world.reasons() == ["Pulling", "Pulled", "Created", "Started"]
    assert [c["type"] for c in status["conditions"]] == [
        "PodReadyToStartContainers",
        "Initialized",
        "Ready",
        "ContainersReady",
        "PodScheduled",
    ]


def test_an_image_that_is_present_is_not_pulled_again() -> None:
    world = World()
    world.put_pod("one")
    world.loop.run(for_ms=2_000)
    world.put_pod("two")
    world.loop.run(for_ms=2_000)
    assert world.reasons()[4:] == ["Pulled", "Created", "Started"]
    assert "already present on machine" in world.server.of(EVENTS)[-3]["message"]


def test_init_containers_run_one_after_the_other_before_the_main_ones() -> None:
    world = World()
    world.put_pod(initContainers=[{"name": "a", "image": "x:1"}, {"name": "b", "image": "x:1"}])
    order = []
    world.loop.trace.listeners.append(
        lambda event: order.append(event.data["container"]) if event.kind == "container.start" else None
    )
    world.loop.run(for_ms=5_000)
    assert order == ["a", "b", "c"]
    assert [s["state"]["terminated"]["exitCode"] for s in world.pod()["status"]["initContainerStatuses"]] == [0, 0]


def test_a_sidecar_starts_first_and_runs_on() -> None:
    world = World()
    world.put_pod(initContainers=[{"name": "proxy", "image": "x:1", "restartPolicy": "Always"}])
    world.loop.run(for_ms=5_000)
    assert world.ready() == "True"
    assert "running" in world.pod()["status"]["initContainerStatuses"][0]["state"]


def test_a_crashing_container_restarts_at_once_and_then_backs_off_10_20_40_seconds() -> None:
    world = World(Timings(create_ms=0, start_ms=0, pull_ms=0, sandbox_ms=0))
    starts = []
    world.loop.trace.listeners.append(
        lambda event: starts.append(event.now_ms) if event.kind == "container.start" else None
    )
    world.put_pod(annotations={"k8slab.dev/run-ms": "1000", "k8slab.dev/exit-code": "1"})
    world.loop.run(for_ms=120_000)
    gaps = [b - a - 1_000 for a, b in itertools.pairwise(starts)]
    assert gaps[:4] == [0, 10_000, 20_000, 40_000]
    assert world.state()["restartCount"] == len(starts) - 1
    assert world.state()["lastState"]["terminated"]["exitCode"] == 1


def test_while_it_backs_off_the_status_says_crashloopbackoff() -> None:
    world = World()
    world.put_pod(annotations={"k8slab.dev/run-ms": "100", "k8slab.dev/exit-code": "2"})
    world.loop.run(for_ms=5_000)
    waiting = world.state()["state"]["waiting"]
    assert waiting["reason"] == "CrashLoopBackOff"
    assert waiting["message"].startswith("back-off 10s restarting failed container c in pod web_default(")
    assert world.pod()["status"]["phase"] == "Running"


def test_an_image_that_cannot_be_pulled_leaves_the_pod_in_imagepullbackoff() -> None:
    world = World()
    world.put_pod(annotations={"k8slab.dev/pull-error": "not found"})
    world.loop.run(for_ms=5_000)
    assert world.state()["state"]["waiting"]["reason"] == "ImagePullBackOff"
    assert world.pod()["status"]["phase"] == "Pending"
    assert world.reasons()[:4] == ["Pulling", "Failed", "Failed", "BackOff"]


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [("Never", "0", "Succeeded"), ("Never", "3", "Failed"), ("OnFailure", "0", "Succeeded")],
    ids=["never, exit 0", "never, exit 3", "on failure, exit 0"],
)
def test_a_pod_whose_containers_are_not_restarted_ends(policy: str, code: str, phase: str) -> None:
    world = World()
    world.put_pod(restartPolicy=policy, annotations={"k8slab.dev/run-ms": "100", "k8slab.dev/exit-code": code})
    world.loop.run(for_ms=5_000)
    assert world.pod()["status"]["phase"] == phase
    assert world.state()["state"]["terminated"]["exitCode"] == int(code)


def test_readiness_comes_after_the_probes_initial_delay() -> None:
    world = World()
    world.put_pod(containers=[{"name": "c", "image": "x:1", "readinessProbe": {"initialDelaySeconds": 5}}])
    world.loop.run(for_ms=3_000)
    assert (world.pod()["status"]["phase"], world.ready()) == ("Running", "False")
    world.loop.run(for_ms=4_000)
    assert world.ready() == "True"


def test_a_deleted_pod_is_stopped_reported_and_then_removed() -> None:
    world = World()
    world.put_pod()
    world.loop.run(for_ms=2_000)
    seen = []
    world.loop.trace.listeners.append(lambda event: seen.append(event.kind))
    world.delete("web")
    world.loop.run(for_ms=100)
    assert world.pod() is not None and world.ready() == "True"
    world.loop.run(for_ms=500)
    assert world.pod() is None
    assert "pod.stop" in seen and world.reasons()[-1] == "Killing"
    assert not world.runtime.sandboxes


def test_a_container_that_ignores_sigterm_is_killed_when_the_grace_period_is_over() -> None:
    world = World()
    world.put_pod(annotations={"k8slab.dev/stop-ms": "60000"}, finalizers=["example.com/keep"])
    world.loop.run(for_ms=2_000)
    world.delete("web", grace=5)
    world.loop.run(for_ms=4_900)
    assert "running" in world.state()["state"]
    world.loop.run(for_ms=300)
    assert world.state()["state"]["terminated"]["exitCode"] == 137
    assert world.pod()["status"]["phase"] == "Failed"


def test_a_pod_with_a_finalizer_stays_until_that_is_gone() -> None:
    world = World()
    world.put_pod(finalizers=["example.com/keep"])
    world.loop.run(for_ms=2_000)
    world.delete("web")
    world.loop.run(for_ms=60_000)
    assert world.pod()["status"]["phase"] == "Succeeded"
    deletes = [v for v in world.server.verbs("delete") if v[1] == "pods"]
    assert len(deletes) <= 2, "it must not ask again and again"


def test_a_pod_that_vanished_from_the_api_is_stopped_at_once() -> None:
    world = World()
    world.put_pod()
    world.loop.run(for_ms=2_000)
    world.server.remove(PODS, "default/web")
    world.loop.run(for_ms=100)
    assert not world.runtime.sandboxes


def test_containers_run_on_while_the_kubelet_is_down_and_are_found_again() -> None:
    world = World()
    world.put_pod()
    world.loop.run(for_ms=2_000)
    world.component.kill()
    world.loop.run(for_ms=60_000)
    [sandbox] = world.runtime.sandboxes.values()
    assert sandbox.containers[0].is_up
    world.start()
    world.loop.run(for_ms=2_000)
    assert world.state()["restartCount"] == 0 and world.ready() == "True"


def test_after_a_power_cut_containers_start_again_and_count_it() -> None:
    world = World()
    world.put_pod()
    world.loop.run(for_ms=2_000)
    world.component.kill()
    world.runtime.lose_power(world.loop.clock.now_ms)
    world.start()
    world.loop.run(for_ms=3_000)
    assert world.state()["restartCount"] == 1 and world.ready() == "True"
    assert world.state()["lastState"]["terminated"]["exitCode"] == 255


def test_a_status_that_cannot_be_written_is_tried_again() -> None:
    world = World()
    world.loop.run(for_ms=200)
    world.server.fail_next("patch", PODS, InternalError("etcdserver: request timed out"), times=3)
    world.server.lose_reply("patch", PODS)
    world.put_pod()
    world.loop.run(for_ms=20_000)
    assert world.ready() == "True"


def test_a_second_pod_of_the_same_name_is_not_hit_by_the_firsts_removal() -> None:
    world = World()
    world.put_pod()
    world.loop.run(for_ms=2_000)
    first = world.pod()["metadata"]["uid"]
    world.server.remove(PODS, "default/web")
    world.put_pod()
    world.loop.run(for_ms=3_000)
    assert world.pod()["metadata"]["uid"] != first and world.ready() == "True"
    world.runtime.check_invariants()


def test_not_ready_is_reported_and_taken_back() -> None:
    world = World()
    world.loop.run(for_ms=200)
    world.kubelet.set_ready(False)
    world.loop.run(for_ms=100)
    ready = next(c for c in world.server.of(NODES)[0]["status"]["conditions"] if c["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "KubeletNotReady")
    world.kubelet.set_ready(True)
    world.loop.run(for_ms=100)
    assert world.server.of(NODES)[0]["status"]["conditions"][3]["status"] == "True"


@pytest.mark.parametrize("bad", [{"pull_ms": -1}, {"lease_renew_ms": -5}], ids=str)
def test_negative_timings_are_refused_by_name(bad: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        Timings(**bad)


def cause_of_the_stop(world: World) -> Any:
    [stop] = [event for event in world.loop.trace if event.kind == "pod.stop"]
    assert stop.cause is not None
    return world.loop.trace.get(stop.cause)


def test_what_stops_a_pod_is_the_deletion_that_the_watch_brought_however_long_it_was_quiet() -> None:
    world = World()
    world.put_pod()
    world.loop.run(for_ms=10_000)
    world.delete("web")
    world.loop.run(for_ms=10)
    cause = cause_of_the_stop(world)
    assert (cause.now_ms, cause.kind, cause.data["delta"]) == (10_000, "cache.update", "Updated")
    assert cause.data["revision"] == int(world.pod()["metadata"]["resourceVersion"])


def test_a_deletion_that_the_answer_to_a_patch_tells_waits_for_the_watch() -> None:
    world = World()
    world.server.latency_ms = 5
    world.put_pod(finalizers=["example.com/keep"])
    world.loop.run(until=lambda: any(event.kind == "container.start" for event in world.loop.trace))
    [stream] = [stream for stream in world.server.streams if stream.request.resource == PODS]
    world.server.streams.remove(stream)  # the watch is slow
    world.delete("web")
    world.loop.run(for_ms=100)
    assert world.ready() == "True"  # written since the deletion: the answer had it
    assert "pod.stop" not in [event.kind for event in world.loop.trace]
    late = world.loop.clock.now_ms
    stream.send("MODIFIED", world.pod())
    world.loop.run(for_ms=10)
    cause = cause_of_the_stop(world)
    assert (cause.now_ms, cause.kind) == (late, "cache.update")
