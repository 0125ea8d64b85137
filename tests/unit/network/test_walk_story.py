"""A packet's way as steps."""

from __future__ import annotations

import random

import pytest

from k8slab.network import Fabric, SandboxNetwork, WalkStory, network_for
from k8slab.widgets import Stepper
from tests.cni_machines import pod


def world() -> tuple[Fabric, dict[str, str]]:
    """Two Pods on two nodes; their namespaces' names by path."""
    fabric, names = Fabric(random.Random(7)), {}
    for number, who in ((1, "a"), (2, "b")):
        cidr = f"10.244.{number}.0/24"
        fabric.add_machine(f"node-{number}", f"10.0.0.{number}", pod_cidr=cidr)
        runtime = SandboxNetwork(fabric, f"node-{number}", network_for("bridge", cidr))
        runtime.set_up(pod(who))
        names[runtime.netns_of(f"default/{who}")] = who
    return fabric, names


def test_each_step_is_a_hop_and_the_answer_comes_after() -> None:
    fabric, names = world()
    story = WalkStory(fabric, "node-1", "10.244.2.2", netns=next(iter(names)), names=names)
    steps = 0
    while story.step():
        steps += 1
    hops = story.view()["walk"]["hops"]
    assert story.delivered and story.back is not None
    assert steps == len(hops) == len(story.there.hops) + len(story.back.hops)
    assert [hop["b"] for hop in hops.values()] == [False] * len(story.there.hops) + [True] * len(story.back.hops)
    assert story.view()["walk"]["columns"] == {0: "a", 1: "node-1", 2: "node-2", 3: "b"}
    assert hops["0"]["c"] == 0 and hops[str(steps - 1)]["c"] == 0


def test_a_lost_packet_ends_with_a_drop_and_has_no_answer() -> None:
    fabric, names = world()
    fabric.drop_route("node-1", "10.244.2.0/24")
    story = WalkStory(fabric, "node-1", "10.244.2.2", netns=next(iter(names)), names=names)
    while story.step():
        pass
    assert not story.delivered and story.back is None
    assert [event.kind for event in story.trace][-1] == "packet.drop"


def test_a_stepper_shows_it() -> None:
    fabric, names = world()
    stepper = Stepper(WalkStory(fabric, "node-1", "10.244.2.2", netns=next(iter(names)), names=names))
    assert stepper.frames["views"] == ["walk"]
    with pytest.raises(ValueError, match="has no such namespace"):
        WalkStory(fabric, "node-1", "10.244.2.2", netns="/nowhere")
