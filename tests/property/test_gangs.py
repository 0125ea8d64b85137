"""Gangs over random sequences with faults: all of a group that is needed is bound, or none of it.

A group is judged by arithmetic over what the server says: its Pods with a Node are none, or at least `minMember`.
Bindings that fail are the exception that no Permit plugin can rule out: their group may stay short until the Pod is
bound after all, and if somebody took its place meanwhile it stays so.
"""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from k8slab.api.errors import InternalError
from k8slab.api.scheme import NODES, PODS
from k8slab.scheduler.plugins.coscheduling import PODGROUPS
from tests.counts import examples
from tests.gangs import GangWorld, group, member
from tests.scheduling import node, pod

WAIT_S = 20


class Story:
    """Some gangs that together want more than there is, and what happens to them."""

    def __init__(self, seed: int, *, shuffled: bool, faulty: bool) -> None:
        self.rng = rng = random.Random(seed)
        args = {
            "permitWaitingTimeSeconds": WAIT_S,
            "podGroupRejectPercentage": rng.choice((0, 10, 100)),
            "podGroupBackoffSeconds": rng.choice((0, 5)),
        }
        self.world = GangWorld(args, seed=seed, latency_ms=rng.choice((0, 2)), shuffled=shuffled)
        self.needs = {name: rng.randrange(2, 5) for name in ("red", "blue", "green")[: rng.randrange(1, 4)]}
        self.faulty = faulty
        self.names = dict.fromkeys(self.needs, 0)
        self.nodes = 0

    def add_node(self) -> None:
        self.nodes += 1
        self.world.server.put(NODES, node(f"n{self.nodes}", str(self.rng.randrange(1, 4))))

    def add_member(self) -> None:
        name = self.rng.choice(list(self.needs))
        self.names[name] += 1
        self.world.server.put(PODS, member(f"{self.names[name]}-{name}", name))

    def delete_unbound(self) -> None:
        """One that waits, or is on its way; deleting a bound one would make its group short by a decision of ours."""
        free = [obj["metadata"]["name"] for obj in self.world.server.of(PODS) if not obj["spec"].get("nodeName")]
        if free and not self.binding():
            self.world.server.remove(PODS, f"default/{self.rng.choice(free)}")

    def refuse_binding(self) -> None:
        if self.faulty:
            self.world.server.fail_next("create", PODS, InternalError("etcdserver: request timed out"))

    def lose_answer(self) -> None:
        if self.faulty:
            self.world.server.lose_reply("create", PODS)

    def drop_watches(self) -> None:
        self.world.server.drop_watches()

    def single(self) -> None:
        """A Pod without a group takes a place that a gang may have counted on."""
        self.nodes += 1
        self.world.server.put(PODS, pod(f"single-{self.nodes}", "1", "1Mi"))

    def binding(self) -> bool:
        """Whether somebody was let go, though it may not have heard of it yet."""
        waiting = self.world.framework.waiting_pods()
        waits = {one.pod["metadata"]["name"] for one in waiting if one.pending_plugins}
        return bool(set(self.world.held()) - waits)

    def bound(self) -> Mapping[str, int]:
        counts = dict.fromkeys(self.needs, 0)
        for name in self.world.bound():
            group_name = name.partition("-")[2]
            if group_name in counts:
                counts[group_name] += 1
        return counts

    def check_all_or_none(self) -> None:
        """Only where no binding is under way."""
        if self.faulty or self.binding():
            return
        for name, count in self.bound().items():
            assert count == 0 or count >= self.needs[name], f"{name}: {count} of {self.needs[name]}"

    def check_waits(self) -> None:
        """Nobody waits for longer than the timeout, and whoever waits holds a place.

        Whoever was let go and has not heard of it yet may have been deleted meanwhile, and its place with it.
        """
        now_ms = self.world.loop.clock.now_ms
        for waiting in self.world.framework.waiting_pods():
            assert now_ms - waiting.since_ms <= WAIT_S * 1000
            assert waiting.pod["metadata"]["name"] in self.world.held() or not waiting.pending_plugins

    def play(self) -> None:
        deeds = [self.add_node] * 3 + [self.add_member] * 12
        deeds += [self.delete_unbound, self.single, self.drop_watches, self.refuse_binding, self.lose_answer]
        self.rng.shuffle(deeds)
        made = list(self.needs)
        for name in made:
            self.world.server.put(PODGROUPS, group(name, self.needs[name]))
        for deed in deeds:
            deed()
            self.world.run(self.rng.choice((0, 1, 2, 5, 700)))
            self.check_all_or_none()
            self.check_waits()
        for _ in range(8):
            self.world.run(self.rng.randrange(20_000))
            self.check_all_or_none()
            self.check_waits()


@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
def test_a_gang_is_bound_as_a_whole_or_not_at_all(shuffled: bool) -> None:
    whole = 0
    for seed in range(examples(12, 400)):
        story = Story(seed, shuffled=shuffled, faulty=False)
        story.play()
        story.world.run(700_000)
        story.check_all_or_none()
        whole += sum(1 for count in story.bound().values() if count)
    assert whole > 6  # it is not that nothing ever runs


@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
def test_after_failed_bindings_nothing_is_held_and_nothing_is_counted_twice(shuffled: bool) -> None:
    """Errors and lost answers of the API server on the way to it, and a Node with room for everybody at the end."""
    for seed in range(examples(12, 400)):
        story = Story(seed, shuffled=shuffled, faulty=True)
        story.play()
        story.world.server.put(NODES, node("big", "64"))
        story.world.run(700_000)
        story.check_waits()
        assert story.world.held() == {}, f"seed {seed}"
        members = dict.fromkeys(story.needs, 0)
        for obj in story.world.server.of(PODS):
            name = obj["metadata"]["name"].partition("-")[2]
            if name in members:
                members[name] += 1
        for name, need in story.needs.items():
            bound = story.bound()[name]
            assert bound == (members[name] if bound or members[name] >= need else 0), f"seed {seed}: {name}"
