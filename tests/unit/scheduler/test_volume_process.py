"""Binding volumes over a fake API server. The PV controller is a few lines here; it acts when a test says so."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.errors import ConflictError
from k8slab.api.objects import Object, thaw
from k8slab.api.persistent_volumes import BIND_COMPLETED, SELECTED_NODE, is_fully_bound
from k8slab.api.scheme import NODES, PERSISTENTVOLUMECLAIMS, PERSISTENTVOLUMES, PODS, STORAGECLASSES
from tests.scheduler_world import SchedulerWorld
from tests.scheduling import claim, node, pod, storage_class, volume

BY_HAND = "kubernetes.io/no-provisioner"


class VolumeWorld(SchedulerWorld):
    """A scheduler before a fake API server, with a class `late` whose claims wait for their first consumer."""

    def __init__(self, provisioner: str = "csi.example.com", **options: Any) -> None:
        super().__init__(**options)
        self.server.put(NODES, node("a"))
        self.server.put(STORAGECLASSES, storage_class("late", provisioner=provisioner))
        self.server.put(PERSISTENTVOLUMECLAIMS, claim("data", storage_class="late"))
        self.run(20)

    def user(self, name: str = "p", data: str = "data") -> None:
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": data}}]
        self.server.put(PODS, pod(name, volumes=volumes))

    def claim(self, name: str = "data") -> Object:
        return self.server.get(PERSISTENTVOLUMECLAIMS, f"default/{name}")

    def confirm(self, volume_name: str, name: str = "data") -> None:
        """What the PV controller does when a volume is reserved for a claim."""
        found = thaw(self.claim(name))
        found["spec"]["volumeName"] = volume_name
        found["metadata"].setdefault("annotations", {})[BIND_COMPLETED] = "yes"
        found["status"] = {"phase": "Bound"}
        self.server.put(PERSISTENTVOLUMECLAIMS, found)

    def last_event(self, name: str = "p") -> tuple[str, str]:
        return self.events(name)[-1]


def test_a_volume_is_reserved_then_confirmed_then_the_pod_is_bound() -> None:
    world = VolumeWorld(BY_HAND)
    world.server.put(PERSISTENTVOLUMES, volume("pv", storage_class="late"))
    world.user()
    world.run(5_000)
    reserved = world.server.get(PERSISTENTVOLUMES, "pv")
    assert reserved["spec"]["claimRef"]["uid"] == world.claim()["metadata"]["uid"]
    assert world.node_of("p") is None, "nobody has confirmed the binding yet"
    world.confirm("pv")
    world.run(2_000)
    assert is_fully_bound(world.claim())
    assert world.node_of("p") == "a"
    assert world.last_event() == ("Scheduled", "Successfully assigned default/p to a")


def test_a_provisioner_is_told_the_node_and_the_pod_follows_its_volume() -> None:
    world = VolumeWorld()
    world.user()
    world.run(3_000)
    assert world.claim()["metadata"]["annotations"][SELECTED_NODE] == "a"
    world.server.put(PERSISTENTVOLUMES, volume("made", claim_ref="data", storage_class="late"))
    world.confirm("made")
    world.run(2_000)
    assert world.node_of("p") == "a"


def test_the_next_pod_does_not_wait_for_the_volume_of_the_first() -> None:
    world = VolumeWorld()
    world.user()
    world.run(3_000)
    world.server.put(PODS, pod("other"))
    world.run(20)
    assert (world.node_of("other"), world.node_of("p")) == ("a", None)


def test_two_pods_do_not_get_one_volume() -> None:
    world = VolumeWorld(BY_HAND)
    world.server.put(PERSISTENTVOLUMECLAIMS, claim("more", storage_class="late"))
    world.server.put(PERSISTENTVOLUMES, volume("pv", storage_class="late"))
    world.user("first")
    world.user("second", "more")
    world.run(100)
    assert world.server.get(PERSISTENTVOLUMES, "pv")["spec"]["claimRef"]["name"] == "data"
    reason, text = world.last_event("second")
    assert reason == "FailedScheduling"
    assert text.startswith("0/1 nodes are available: 1 node(s) didn't find available persistent volumes to bind. ")
    # A second volume is news that helps.
    world.server.put(PERSISTENTVOLUMES, volume("pv2", storage_class="late"))
    world.run(2_000)
    assert world.server.get(PERSISTENTVOLUMES, "pv2")["spec"]["claimRef"]["name"] == "more"


def test_after_ten_minutes_without_a_volume_the_pod_starts_again() -> None:
    world = VolumeWorld()
    world.user()
    world.run(599_000)
    assert world.kinds("schedule.bind-error") == []
    world.run(2_000)
    assert world.kinds("schedule.bind-error") == ["schedule.bind-error"]
    assert (
        "FailedScheduling",
        'running PreBind plugin "VolumeBinding": binding volumes: context deadline exceeded',
    ) in (world.events("p"))
    world.run(5_000)
    assert world.kinds("schedule.decide") == ["schedule.decide", "schedule.decide"]


def test_a_provisioner_that_gives_up_sends_the_pod_round_again() -> None:
    world = VolumeWorld()
    world.user()
    world.run(3_000)
    found = thaw(world.claim())
    found["metadata"]["annotations"] = {"why": "no space"}
    world.server.put(PERSISTENTVOLUMECLAIMS, found)
    world.run(1_100)
    text = 'running PreBind plugin "VolumeBinding": binding volumes: provisioning failed for PVC "data"'
    assert ("FailedScheduling", text) in world.events("p")
    world.run(5_000)
    assert world.claim()["metadata"]["annotations"][SELECTED_NODE] == "a", "tried again"


def test_a_refused_write_gives_the_volume_back() -> None:
    world = VolumeWorld(BY_HAND)
    world.server.put(PERSISTENTVOLUMES, volume("pv", storage_class="late"))
    world.run(20)
    refusal = ConflictError.of("persistentvolumes", "pv", "the object has been modified")
    world.server.fail_next("update", PERSISTENTVOLUMES, refusal)
    world.user()
    world.run(100)
    plugin: Any = world.scheduler.frameworks["default-scheduler"].plugins["VolumeBinding"]
    assert plugin.binder.volumes.view() == {}
    reason, text = world.last_event()
    assert reason == "FailedScheduling"
    assert text.startswith('running PreBind plugin "VolumeBinding": ') and "the object has been modified" in text
    world.run(5_000)
    assert world.server.get(PERSISTENTVOLUMES, "pv")["spec"]["claimRef"]["name"] == "data", "the next attempt has it"


def test_a_pod_deleted_while_its_volume_is_made_lets_go() -> None:
    world = VolumeWorld()
    world.user()
    world.run(3_000)
    world.server.remove(PODS, "default/p")
    world.run(2_000)
    assert world.kinds("schedule.bind-error") == ["schedule.bind-error"]
    assert not world.scheduler.cache.is_assumed("default/p")


@pytest.mark.parametrize("disabled", [False, True], ids=["with PreBind", "without PreBind"])
def test_without_pre_bind_the_pod_is_bound_and_its_claim_is_not(disabled: bool) -> None:
    """E051: switching VolumeBinding off at PreBind is not "a normal option"."""
    off = {"plugins": {"preBind": {"disabled": [{"name": "VolumeBinding"}]}}}
    world = VolumeWorld(profiles=[off] if disabled else None)
    world.user()
    world.run(60_000)
    assert (world.node_of("p") == "a") is disabled
    assert (SELECTED_NODE in (world.claim()["metadata"].get("annotations") or {})) is not disabled
    assert not is_fully_bound(world.claim())


def test_a_claim_that_appears_brings_its_pod_back() -> None:
    world = VolumeWorld()
    world.user("p", "ghost")
    world.run(100)
    text = '0/1 nodes are available: persistentvolumeclaim "ghost" not found. not found'
    assert world.events("p") == [("FailedScheduling", text)]
    world.server.put(PERSISTENTVOLUMES, volume("pv", claim_ref="ghost"))
    world.server.put(PERSISTENTVOLUMECLAIMS, claim("ghost", "pv"))
    world.run(2_000)
    assert world.node_of("p") == "a"
