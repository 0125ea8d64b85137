"""Node lifecycle and taint eviction together, with nodes that fall silent and come back, under shuffled orders."""

from __future__ import annotations

import random
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from k8slab.api.objects import Object, thaw
from k8slab.api.pods import get_condition
from k8slab.api.scheme import LEASES, NODES, PODS
from k8slab.api.times import micro_time, rfc3339
from k8slab.api.tolerations import no_execute_taints
from k8slab.controllers.taint_eviction import TimedWorkerQueue, decide
from k8slab.sim.loop import sleep
from k8slab.sim.order import Shuffle
from tests.counts import examples
from tests.unit.controllers.house import House, named, pod

NODE, TAINT = "node-lifecycle-controller", "taint-eviction-controller"
OPTIONS = {"node-monitor-period-ms": 1000, "node-monitor-grace-period-ms": 8000, "node-eviction-rate": 10}
NAMES = [f"w{number}" for number in range(5)]


class Run:
    """Five nodes; a heartbeat renews the Lease every 2 s and, after a silence, says Ready again."""

    def __init__(self, seed: int) -> None:
        self.house = House(NODE, TAINT, order=Shuffle(random.Random(seed)), options=OPTIONS, seed=seed, latency_ms=2)
        self.silent: dict[str, None] = {}
        for name in NAMES:
            ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": rfc3339(0)}
            self.house.server.put(NODES, named(name, "", spec={}, status={"conditions": [ready]}))
            self.renew(name)
            self.house.server.put(PODS, pod(f"plain-{name}", name))
            lasting = {"operator": "Exists", "effect": "NoExecute"}
            self.house.server.put(PODS, pod(f"lasting-{name}", name, tolerations=[lasting]))
        self.house.loop.spawn("kubelets", self.heartbeats())

    def renew(self, name: str) -> None:
        now = micro_time(self.house.loop.clock.now_ms)
        self.house.server.put(LEASES, named(name, "kube-node-lease", spec={"renewTime": now}))

    async def heartbeats(self) -> None:
        while True:
            await sleep(2000, periodic=True)
            for name in NAMES:
                if name not in self.silent:
                    self.renew(name)
                    if self.ready(name) != "True":
                        self.say_ready(name)

    def say_ready(self, name: str) -> None:
        node = thaw(self.house.server.get(NODES, name))
        now = rfc3339(self.house.loop.clock.now_ms)
        ready = {"type": "Ready", "status": "True", "lastHeartbeatTime": now, "lastTransitionTime": now}
        node["status"]["conditions"] = [ready]
        self.house.server.put(NODES, node)

    def ready(self, name: str) -> Any:
        return (get_condition(self.house.server.get(NODES, name), "Ready") or {}).get("status")

    def taints(self, name: str) -> list[Object]:
        return list(self.house.server.get(NODES, name)["spec"].get("taints") or ())


steps = st.lists(st.tuples(st.sampled_from(NAMES[:2]), st.booleans(), st.integers(100, 12_000)), min_size=1, max_size=6)


@settings(max_examples=examples(25), deadline=None)
@given(seed=st.integers(0, 10_000), steps=steps)
def test_silent_nodes_are_tainted_and_emptied_and_the_others_left_alone(
    seed: int, steps: list[tuple[str, bool, int]]
) -> None:
    run = Run(seed)
    house = run.house
    try:
        house.run(1500)
        for name, is_silent, ms in steps:
            if is_silent:
                run.silent[name] = None
            else:
                run.silent.pop(name, None)
            house.run(ms)
        house.run(20_000)
        for controller in house.controllers.values():
            controller.check_invariants()
        for event in house.loop.trace:
            if event.kind == "node.unknown":
                assert int(event.data["silent_ms"] or 0) > OPTIONS["node-monitor-grace-period-ms"]
                assert event.data["key"] in NAMES[:2], "a node that kept its heartbeat was given up"
        pods = house.keys(PODS)
        for name in NAMES:
            if name in run.silent:
                assert run.ready(name) == "Unknown"
                assert [taint["key"] for taint in no_execute_taints(run.taints(name))] == [
                    "node.kubernetes.io/unreachable"
                ]
                assert f"default/plain-{name}" not in pods
            else:
                assert (run.ready(name), run.taints(name)) == ("True", [])
            assert f"default/lasting-{name}" in pods
            assert f"default/plain-{name}" in pods or name in NAMES[:2]
    finally:
        house.close()


taints = st.lists(
    st.fixed_dictionaries(
        {"key": st.sampled_from("ab"), "effect": st.just("NoExecute")}, optional={"value": st.sampled_from("xy")}
    ),
    max_size=3,
)
tolerations = st.lists(
    st.fixed_dictionaries(
        {"operator": st.sampled_from(["Exists", "Equal"])},
        optional={
            "key": st.sampled_from("ab"),
            "value": st.sampled_from("xy"),
            "effect": st.sampled_from(["NoExecute", "NoSchedule"]),
            "tolerationSeconds": st.integers(-2, 5),
        },
    ),
    max_size=3,
)


def naive_stay(taints: list[Any], tolerations: list[Any]) -> float:
    """Seconds a Pod stays: of each taint the first toleration that fits it counts, and the shortest of these."""
    stays = [float("inf")]
    for taint in taints:
        fitting = [
            t
            for t in tolerations
            if t.get("effect") in (None, "NoExecute")
            and t.get("key") in (None, taint["key"])
            and (t["operator"] == "Exists" or t.get("value", "") == taint.get("value", ""))
        ]
        stays.append(max(0, fitting[0].get("tolerationSeconds", float("inf"))) if fitting else 0)
    return min(stays)


@settings(max_examples=examples(300), deadline=None)
@given(taints=taints, tolerations=tolerations)
def test_decide_agrees_with_the_naive_rule(taints: list[Any], tolerations: list[Any]) -> None:
    stay = decide(taints, tolerations).stay_seconds
    assert (float("inf") if stay == -1 else stay) == naive_stay(taints, tolerations)


@settings(max_examples=examples(200), deadline=None)
@given(steps=st.lists(st.tuples(st.sampled_from("acdf"), st.sampled_from("xy"), st.integers(0, 20)), max_size=30))
def test_timed_work_agrees_with_a_list_of_what_is_planned(steps: list[tuple[str, str, int]]) -> None:
    work, now = TimedWorkerQueue(), 0
    planned: dict[str, int | None] = {}  # None: running
    for step, key, amount in steps:
        if step == "a":
            assert work.add_work(key, now, now + amount) is (key not in planned)
            planned.setdefault(key, now + amount)
        elif step == "c":
            assert work.cancel_work(key) is (planned.pop(key, None) is not None)
        elif step == "d":
            now += amount
            at = planned.get(key)
            assert work.due(key, now) == (None if at is None else max(0, at - now))
            if at is not None and at <= now:
                planned[key] = None
        else:
            work.finished(key)
            if planned.get(key, 0) is None:
                del planned[key]
        work.check_invariants()
        assert work.view() == planned
