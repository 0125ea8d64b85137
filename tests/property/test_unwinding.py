"""Whatever fails after a Pod was placed, everything is as it was before: ledgers of plugins, cache, queue.

The twin is arithmetic: what a Node has given away is the sum over the Pods that the server says are bound to it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest

from k8slab.api.errors import InternalError
from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.api.scheme import EVENTS, NODES, PODS
from k8slab.scheduler import SUCCESS, Code, CycleState, QueueName, Status
from k8slab.sim.loop import sleep
from k8slab.sim.order import Shuffle
from tests.counts import examples
from tests.scheduler_world import SchedulerWorld
from tests.scheduling import node, pod, profile

POINTS = ("reserve", "permit", "wait", "pre_bind", "bind")
WAIT_MS = 700


class Ledger:
    """Reserves one unit a Pod; `held` is what it believes to have given away."""

    name = "Ledger"

    def __init__(self, args: Any, handle: Any) -> None:
        self.held: dict[str, str] = {}

    def reserve(self, state: CycleState, pod: Object, node_name: str) -> Status:
        uid = pod["metadata"]["uid"]
        assert uid not in self.held, f"{uid} is reserved twice"
        self.held[uid] = node_name
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Object, node_name: str) -> None:
        self.held.pop(pod["metadata"]["uid"], None)


class LateLedger(Ledger):
    """Another one, behind the plugin that fails in Reserve."""

    name = "LateLedger"


class Faulty:
    """Fails where its `plan` says: for each Pod a list of (point, code), one for each attempt, then no more."""

    name = "Faulty"

    def __init__(self, args: Any, handle: Any) -> None:
        self.plan: dict[str, list[tuple[str, Code]]] = {name: list(faults) for name, faults in args["plan"].items()}
        self.hit: list[tuple[str, str]] = []

    def _verdict(self, pod: Object, point: str) -> Status:
        faults = self.plan.get(pod["metadata"]["name"])
        if not faults or faults[0][0] != point:
            return SUCCESS
        _, code = faults.pop(0)
        self.hit.append((pod["metadata"]["name"], point))
        return Status(code, f"{point} says no")

    def reserve(self, state: CycleState, pod: Object, node_name: str) -> Status:
        return self._verdict(pod, "reserve")

    def unreserve(self, state: CycleState, pod: Object, node_name: str) -> None:
        pass

    def permit(self, state: CycleState, pod: Object, node_name: str) -> tuple[Status, int]:
        if not self._verdict(pod, "wait").is_success:
            return Status(Code.WAIT), WAIT_MS
        return self._verdict(pod, "permit"), 0

    def pre_bind_pre_flight(self, state: CycleState, pod: Object, node_name: str) -> Status:
        return SUCCESS

    async def pre_bind(self, state: CycleState, pod: Object, node_name: str) -> Status:
        await sleep(3)
        return self._verdict(pod, "pre_bind")

    async def bind(self, state: CycleState, pod: Object, node_name: str) -> Status:
        status = self._verdict(pod, "bind")
        return Status(Code.SKIP) if status.is_success else status

    def events_to_register(self) -> list[Any]:
        """None in particular: what it rejected comes back when the pool is looked through."""
        return []


class World(SchedulerWorld):
    def __init__(self, plan: Mapping[str, list[tuple[str, Code]]], seed: int = 1, *, shuffled: bool = False) -> None:
        plugins = ("NodeResourcesFit", "Ledger", "Faulty", "LateLedger")
        registry = {"Ledger": Ledger, "Faulty": Faulty, "LateLedger": LateLedger}
        super().__init__(
            seed,
            order=Shuffle(random.Random(seed)) if shuffled else None,
            profiles=[profile(*plugins, args={"Faulty": {"plan": plan}})],
            registry=registry,
            features=FeatureGates(overrides={"SchedulerPopFromBackoffQ": False}),
        )
        self.framework = self.scheduler.frameworks["default-scheduler"]

    def check_quiet(self) -> None:
        """Nothing is on its way: what everybody believes is what the server has."""
        bound = _nodes(self.server.of(PODS))
        ever = _nodes([change.new for change in self.server.changes if change.gvr == PODS and change.new])
        cache = self.scheduler.view()["cache"]
        assert self.plugin("Ledger").held == ever  # nobody tells a plugin that a bound Pod was deleted
        assert self.plugin("LateLedger").held == ever
        assert cache["assumed"] == {}
        assert self.scheduler.queue.view()["in_flight"] == {}
        assert self.framework.waiting_pods() == []
        for name, info in cache["nodes"].items():
            here = sum(1 for where in bound.values() if where == name)
            assert (info["requested"].get("cpu", 0), len(info["pods"])) == (1_000 * here, here)


def _nodes(pods: list[Object]) -> dict[str, str]:
    return {obj["metadata"]["uid"]: obj["spec"]["nodeName"] for obj in pods if obj["spec"].get("nodeName")}


@pytest.mark.parametrize("code", [Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.ERROR])
@pytest.mark.parametrize("point", POINTS)
def test_a_failure_at_any_point_is_unwound(point: str, code: Code) -> None:
    """One Pod, one failure: Node, ledgers and queue are as before.

    A rejected Pod waits for an event; one that failed by an error, or after it was no longer in flight (so that nobody
    knows which events it missed), backs off.
    """
    world = World({"p": [(point, code)]})
    world.server.put(NODES, node("a"))
    world.run(20)
    before = world.scheduler.view()["cache"]
    world.server.put(PODS, pod("p", "1", "1Mi"))
    world.run(WAIT_MS + 100)
    assert world.plugin("Faulty").hit == [("p", point)]
    rejected = code is not Code.ERROR or point == "wait"
    where = world.scheduler.queue.where("default/p")
    waits = rejected and point not in ("pre_bind", "bind")
    assert where is (QueueName.UNSCHEDULABLE if waits else QueueName.BACKOFF)
    assert world.scheduler.view()["cache"] == before
    world.check_quiet()
    (event,) = world.server.of(EVENTS)
    text = {
        "wait": f"rejected due to timeout after waiting {WAIT_MS}ms at plugin Faulty",
    }.get(point, f"{point} says no")
    name = {"pre_bind": "PreBind"}.get(point, point.capitalize())
    # Permit is the last point that can make a Pod unschedulable; what PreBind and Bind say is told as they say it.
    told = f"0/1 nodes are available: 1 {text}." if waits else text
    expected = told if rejected else f'running {name} plugin "Faulty": {text}'
    assert event["message"] == expected


@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
def test_after_any_faults_in_any_order_nothing_is_left_over(shuffled: bool) -> None:
    """Six Pods for Nodes that hold four; faults by a plan and by the server; one Pod is deleted somewhere on the way,
    another deleted and created again. The pool of rejected Pods is looked through after five minutes."""
    for seed in range(examples(15, 150)):
        rng = random.Random(seed)
        names = [f"p{index}" for index in range(6)]
        plan = {
            name: [(rng.choice(POINTS), rng.choice((Code.UNSCHEDULABLE, Code.ERROR))) for _ in range(rng.randrange(4))]
            for name in names
        }
        world = World(plan, seed, shuffled=shuffled)
        for name in ("a", "b"):
            world.server.put(NODES, node(name, "2"))
        for name in names:
            world.server.put(PODS, pod(name, "1", "1Mi"))
            world.run(rng.randrange(5))
        gone, again = rng.sample(names, 2)
        if rng.random() < 0.5:
            world.server.fail_next("create", PODS, InternalError("etcdserver: request timed out"))
        for deed in rng.sample(("delete", "replace"), 2):
            world.run(rng.choice((0, 1, 3, WAIT_MS // 2)))
            if deed == "delete":
                world.server.remove(PODS, f"default/{gone}")
            else:
                world.server.remove(PODS, f"default/{again}")
                world.server.put(PODS, {**pod(again, "1", "1Mi"), "metadata": {"name": again, "namespace": "default"}})
        for _ in range(4):
            world.run(6 * 60_000)
        world.check_quiet()
        pods = world.server.of(PODS)
        placed = [obj["spec"]["nodeName"] for obj in pods if obj["spec"].get("nodeName")]
        assert sorted(placed) == ["a", "a", "b", "b"], f"seed {seed}: {placed}"
        assert len(pods) == 5
