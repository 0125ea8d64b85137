"""What the framework offers to plugins of one's own: unnamed events, custom resources, sort keys, the time."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from k8slab.api.scheme import GVR
from k8slab.cluster import Cluster
from k8slab.scheduler import Framework, QueueName, QueueProfile, Scheduler, SchedulingQueue
from k8slab.scheduler.framework import (
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    NODE_DELETE,
    UNSCHEDULED_POD_UPDATE,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    Code,
    QueuedPod,
    Status,
    custom_resource,
    custom_resource_of,
)
from k8slab.sim import Loop
from tests.scheduling import Scripted, pod, profile

LAMPS = GVR("example.com", "v1", "lamps")


def test_a_plugin_that_can_reject_and_names_no_events_hears_of_all_of_them() -> None:
    """Upstream: runtime/framework.go, fillEnqueueExtensions and defaultEnqueueExtension."""
    framework = Framework.from_profile(profile("Scripted"), registry={"Scripted": Scripted})
    registered = [entry.event for entry in framework.events_to_register()["Scripted"]]
    for event in (ASSIGNED_POD_DELETE, NODE_ADD, NODE_DELETE, UNSCHEDULED_POD_UPDATE):
        assert any(mine.matches(event) for mine in registered), event.label


def test_events_that_a_generator_yields_are_there_however_often_they_are_read() -> None:
    class Yields(Scripted):
        def events_to_register(self) -> Any:
            yield ClusterEventWithHint(NODE_ADD)

    registered = Framework.from_profile(profile("Yields"), registry={"Yields": Yields}).events_to_register()
    for _ in range(2):
        assert [entry.event for entry in registered["Yields"]] == [NODE_ADD]


def test_a_plugin_that_can_reject_nothing_hears_of_none() -> None:
    registered = Framework.from_profile().events_to_register()
    assert not {"PrioritySort", "ImageLocality", "DefaultBinder"} & set(registered)


def test_the_time_is_that_of_the_loop() -> None:
    loop = Loop()
    framework = Framework.from_profile(loop=loop)
    loop.run(for_ms=1_234)
    assert framework.now_ms == 1_234


# -- custom resources --------------------------------------------------------------------------------


def test_a_custom_resource_is_named_as_upstream_parses_it() -> None:
    """Upstream: schema.ParseResourceArg, as eventhandlers.go uses it."""
    event = ClusterEvent(custom_resource(LAMPS), ActionType.ADD)
    assert event.resource == "lamps.v1.example.com"
    assert custom_resource_of(event) == LAMPS
    assert event.label == "lamps.v1.example.comAdd"
    assert custom_resource_of(NODE_ADD) is None


@pytest.mark.parametrize("text", ["lamps", "lamps.v1", "lamps..example.com"])
def test_a_text_that_names_no_resource_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"event resource '{text}': expected an EventResource, or <plural>"):
        custom_resource_of(ClusterEvent(text, ActionType.ADD))


class Lit(Scripted):
    """Rejects every Node until a Lamp called `on` exists."""

    name = "Lit"

    def filter(self, state: Any, pod: Any, node: Any) -> Status:
        found = self.handle.lister.get(LAMPS, "on")
        return Status(Code.UNSCHEDULABLE, "it is dark") if found is None else super().filter(state, pod, node)

    def events_to_register(self) -> list[ClusterEventWithHint]:
        return [ClusterEventWithHint(ClusterEvent(custom_resource(LAMPS), ActionType.ADD | ActionType.DELETE))]


LAMP_DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "lamps.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Cluster",
        "names": {"kind": "Lamp", "plural": "lamps"},
        "versions": [{"name": "v1", "served": True, "storage": True}],
    },
}


def lamp(name: str) -> dict[str, Any]:
    return {"apiVersion": "example.com/v1", "kind": "Lamp", "metadata": {"name": name}}


def lit_cluster() -> Cluster:
    every = {"plugins": {"multiPoint": {"enabled": [{"name": "Lit"}]}}}
    cluster = Cluster(nodes=1, scheduler=partial(Scheduler, profiles=[every], registry={"Lit": Lit}))
    cluster.apply({"apiVersion": "v1", "kind": "Pod", **pod("p")})
    return cluster


def where(cluster: Cluster) -> QueueName | None:
    found: QueueName | None = cluster.control_plane.scheduler.program.queue.where("default/p")
    return found


def test_a_rejected_pod_comes_back_when_a_custom_object_appears() -> None:
    cluster = lit_cluster()
    cluster.apply([LAMP_DEFINITION, lamp("off")])
    cluster.run(for_ms=10_000)
    assert where(cluster) is QueueName.UNSCHEDULABLE
    cluster.apply(lamp("on"))
    cluster.run(for_ms=5_000)
    assert cluster.object("pod/p")["spec"]["nodeName"] == "node-1"
    cluster.close()


def test_a_scheduler_waits_for_the_definition_that_a_plugin_needs() -> None:
    cluster = lit_cluster()
    cluster.run(for_ms=60_000)
    assert cluster.object("pod/p")["status"].get("conditions") is None  # nobody has looked at it
    cluster.apply([LAMP_DEFINITION, lamp("on")])
    cluster.run(for_ms=60_000)
    assert cluster.object("pod/p")["spec"]["nodeName"] == "node-1"
    cluster.close()


# -- sort keys that change ---------------------------------------------------------------------------


class Live:
    """Sorts by numbers that change, and compares them as they are now: the heap does not know (E083)."""

    def __init__(self, numbers: dict[str, int]) -> None:
        self.numbers = numbers

    def less(self, a: QueuedPod, b: QueuedPod) -> bool:
        return self.numbers[a.pod["metadata"]["name"]] < self.numbers[b.pod["metadata"]["name"]]


class Kept(Live):
    """The same order, by keys that the queue keeps."""

    sorts_by = (LAMPS,)

    def sort_key(self, info: QueuedPod) -> int:
        return self.numbers[info.pod["metadata"]["name"]]


def popped(sort: Live, *, resort: bool) -> list[int]:
    """Seven Pods are queued, the first one's number changes, and all are popped: their numbers."""
    queue = SchedulingQueue(sort, {"default-scheduler": QueueProfile()})
    for name in sort.numbers:
        queue.add(pod(name), 0)
    sort.numbers["a"] = 100
    if resort:
        queue.resort()
    found = [sort.numbers[queue.pop().pod["metadata"]["name"]] for _ in range(7)]
    queue.check_invariants()
    return found


def numbers() -> dict[str, int]:
    return dict(zip("abcdefg", range(1, 8), strict=True))


def test_comparing_live_numbers_in_a_heap_pops_pods_out_of_order() -> None:
    assert popped(Live(numbers()), resort=False) != [2, 3, 4, 5, 6, 7, 100]


def test_kept_keys_pop_in_the_order_of_when_they_were_kept() -> None:
    assert popped(Kept(numbers()), resort=False) == [100, 2, 3, 4, 5, 6, 7]


def test_after_resorting_the_order_is_that_of_now() -> None:
    assert popped(Kept(numbers()), resort=True) == [2, 3, 4, 5, 6, 7, 100]
