"""Coding tasks about a cycle: Permit for a gang, room for a gang, an extender's scores, victims, work before binding.

The functions are run inside the framework: as a Permit plugin on a loop, as a PreBind plugin; or they are compared with
what the in-tree plugins decide.

Simplified: see `k8slab.scheduler`.
"""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.times import rfc3339
from k8slab.drill.scheduling import make_node, make_pod
from k8slab.drill.task import Call, Task, Wrong, a_list, a_mapping, a_status, a_whole_number, distinct, shown
from k8slab.scheduler import SUCCESS, CycleState, Framework, PluginError, Snapshot, Status
from k8slab.scheduler.extender_wire import (
    MAX_EXTENDER_PRIORITY,
    MIN_EXTENDER_PRIORITY,
    WireError,
    encode,
    host_priorities,
    node_list,
)
from k8slab.scheduler.preemption import select_victims_on_node
from k8slab.sim.loop import Loop

__all__ = ["CYCLE_TASKS", "Volumes"]

Json = dict[str, Any]
PLUGIN = "Mine"
_MINUTE = 60_000


def _alone_at(point: str) -> Json:
    """A profile in which the reader's plugin is the only one at a point."""
    return {"plugins": {point: {"enabled": [{"name": PLUGIN}], "disabled": [{"name": "*"}]}}}


# -- gang --------------------------------------------------------------------------------------------


def _judge_gang(call: Call, rng: random.Random, number: int) -> None:
    _GangRun(call, f"job{number}").run(rng, number)


class _GangRun:
    """The reader's function as the Permit plugin of a real framework, and Pods that come one by one."""

    def __init__(self, call: Call, prefix: str) -> None:
        self._call, self._prefix = call, prefix
        self._loop = Loop(seed=1)
        self._outcome: dict[str, Status] = {}
        self._gang_of: dict[str, str] = {}
        self._notes: list[str] = []
        run = self

        class Mine:
            name = PLUGIN

            def __init__(self, args: Any, handle: Any) -> None:
                self._handle = handle

            def permit(self, state: CycleState, pod: Object, node_name: str) -> tuple[Status, int]:
                return run._asked(self._handle, pod)

        self._framework = Framework.from_profile(_alone_at("permit"), registry={PLUGIN: Mine}, loop=self._loop)

    def run(self, rng: random.Random, number: int) -> None:
        """Two gangs and a Pod without one; in every third case the first members time out before the others come."""
        sizes = {f"{self._prefix}-{name}": rng.randint(2, 2 + min(number // 10, 3)) for name in ("a", "b")}
        coming = ["", *(gang for gang, size in sizes.items() for _ in range(size))]
        if number:
            rng.shuffle(coming)
        try:
            if number % 3 == 2:
                gang = next(iter(sizes))
                for _ in range(sizes[gang] - 1):
                    self._arrive(gang, sizes[gang])
                self._pass(20 * _MINUTE)
                self._check_timed_out()
            for gang in coming:
                self._arrive(gang, sizes.get(gang, 0))
                self._pass(rng.choice([0, 1_000, 5_000]))
                self._check_nobody_lost()
        finally:
            self._loop.close()

    def _asked(self, handle: Any, pod: Object) -> tuple[Status, int]:
        answer = self._call(handle, pod)
        if not isinstance(answer, tuple) or len(answer) != 2:
            raise Wrong("answers", f"It returned {shown(answer)}. Expected a pair: (Status, timeout in ms).")
        return a_status(answer[0]), a_whole_number(answer[1], 0, 10**9)

    def _note(self, text: str) -> None:
        self._notes.append(text)
        self._call.case = {str(n): note for n, note in enumerate(self._notes, 1)}

    def _waiting(self, gang: str) -> list[str]:
        names = (waiting.pod["metadata"]["name"] for waiting in self._framework.waiting_pods())
        return [name for name in names if self._gang_of[name] == gang]

    def _arrive(self, gang: str, size: int) -> None:
        name = f"pod-{len(self._gang_of) + 1}"
        self._gang_of[name] = gang
        before = {other: self._waiting(other) for other in dict.fromkeys(self._gang_of.values())}
        pod = make_pod(name)
        pod["metadata"]["uid"] = f"{self._prefix}-{name}"
        pod["metadata"]["labels"] = {"gang": gang, "gang-size": str(size)} if gang else {}
        self._note(f"{name} of gang {gang}, size {size}" if gang else f"{name}, of no gang")
        status = self._framework.run_permit(CycleState(), pod, "n1")
        self._note(f"{name}: {status.code}" + (f" ({status.message})" if status.is_rejected else ""))
        if status.is_wait:
            self._loop.spawn(f"wait/{name}", self._wait(name, pod))
        self._loop.run(for_ms=0)
        self._check_released(gang, before)
        self._check_verdict(name, gang, size, status, len(before.get(gang, ())))

    async def _wait(self, name: str, pod: Object) -> None:
        self._outcome[name] = await self._framework.wait_on_permit(pod)

    def _check_verdict(self, name: str, gang: str, size: int, status: Status, others: int) -> None:
        if not gang:
            if not status.is_success:
                raise Wrong("alone", f"{name} belongs to no gang, and was told {status.code}.")
            return
        have = f"{others + 1} of {size} members of {gang} have a place"
        if others + 1 < size and not status.is_wait:
            tail = "" if others else " Members that timed out hold no place any more."
            raise Wrong("early", f"{have}, and {name} was told {status.code}.{tail if status.is_success else ''}")
        if others + 1 >= size and not status.is_success:
            raise Wrong(
                "late", f"{have}, and {name} was told {status.code}. A count that is kept in a copy stays at 1."
            )
        if others + 1 >= size and (left := self._waiting(gang)):
            raise Wrong(
                "late", f"{have}; {name} may go, and {', '.join(left)} still waits: nobody called allow({PLUGIN!r})."
            )

    def _check_released(self, gang: str, before: dict[str, list[str]]) -> None:
        for other, names in before.items():
            gone = [name for name in names if name not in self._waiting(other)]
            if gone and other != gang:
                raise Wrong("others", f"{', '.join(gone)} of gang {other} were let go by a Pod of another gang.")

    def _pass(self, ms: int) -> None:
        if ms:
            self._note(f"{ms // 1000} s pass")
            self._loop.run(for_ms=ms)

    def _check_nobody_lost(self) -> None:
        for name, status in self._outcome.items():
            if status.is_rejected and name not in self._timed_out:
                raise Wrong("patience", f"{name} was sent back: {status.message}. The timeout is in milliseconds.")

    def _check_timed_out(self) -> None:
        self._timed_out = tuple(self._outcome)
        if self._framework.waiting_pods():
            raise Wrong("answers", "A member still waits after 20 minutes.")

    _timed_out: tuple[str, ...] = ()


_GANG_TASK = Task(
    "gang",
    "gang(handle, pod)",
    {
        "alone": "A Pod without the label `gang` is not kept waiting.",
        "early": "Nobody of a gang goes on before `gang-size` members hold a place at the same time.",
        "late": "With the last member all of the gang go on.",
        "others": "A gang lets go its own members only.",
        "patience": "Members that come some seconds later are waited for.",
    },
    _judge_gang,
    "pkg/scheduler/framework/runtime/framework.go (RunPermitPlugins, WaitOnPermit)",
    cases=60,
)


# -- place-gang --------------------------------------------------------------------------------------


def _judge_place_gang(call: Call, rng: random.Random, number: int) -> None:
    members, ask = rng.randint(1, 2 + min(number // 10, 6)), rng.choice([250, 500, 700, 1000])
    free = {f"n{n}": rng.choice([0, 200, 600, 900, 1000, 1500, 2000]) for n in range(1, rng.randint(2, 5))}
    call.case = {"members": members, "ask": ask, "free": free}
    possible = _framework_places(members, ask, free)
    given = a_mapping(call.on_copies(members, ask, free), "a dict: name of a Node -> how many members")
    for node, count in given.items():
        if node not in free:
            raise Wrong("answers", f"It names {shown(node)}. Expected Nodes among {', '.join(free)}.")
        a_whole_number(count, 0, 10**6)
    for node, count in given.items():
        if count * ask > free[node]:
            raise Wrong("room", f"It puts {count} members of {ask}m on {node}, which has {free[node]}m left.")
    placed = sum(given.values())
    if placed not in (0, members):
        raise Wrong("all-or-nothing", f"It places {placed} of {members} members: they hold room and cannot work.")
    if possible and not placed:
        raise Wrong("found", f"It places nobody, and there is room for all {members}.")


def _framework_places(members: int, ask: int, free: dict[str, int]) -> bool:
    """Whether the scheduler, one Pod after the other, finds a place for all. (They are alike: any order will do.)"""
    snapshot = Snapshot.of(make_node(name, f"{cpu}m") for name, cpu in free.items())
    framework = Framework.from_profile()
    for number in range(members):
        pod = make_pod(f"m{number}", {"cpu": f"{ask}m"})
        result = framework.schedule(pod, snapshot)
        if not result.node:
            return False
        snapshot.assume(pod, result.node)
    return True


_PLACE_GANG_TASK = Task(
    "place-gang",
    "place_gang(members, ask, free)",
    {
        "room": "No Node gets more than it has room for. Rests of several Nodes do not add up to a place.",
        "all-or-nothing": "All members are placed, or none.",
        "found": "Where there is room for all, they are placed.",
    },
    _judge_place_gang,
    "pkg/scheduler/schedule_one_podgroup.go",
    cases=120,
)


# -- prioritize --------------------------------------------------------------------------------------

_TIERS = {"gold": 10, "silver": 5}


def _judge_prioritize(call: Call, rng: random.Random, number: int) -> None:
    tiers = {f"n{n}": rng.choice(["gold", "silver", "bronze", ""]) for n in range(1, rng.randint(2, 5))}
    nodes = [make_node(name, labels={"tier": tier} if tier else {}) for name, tier in tiers.items()]
    body = encode({"Pod": make_pod("web"), "Nodes": node_list(nodes), "NodeNames": None})
    call.case = {"keys of the body": list(json.loads(body)), "tier of each Node": tiers}
    try:
        answer = call(body)
    except Wrong as wrong:
        if any(sign in wrong.message for sign in ("KeyError: 'pod", "KeyError: 'node", "NoneType")):
            raise Wrong("keys", f"{wrong.message}. Look at the keys of the request.") from wrong
        raise
    if not isinstance(answer, bytes):
        raise Wrong("answers", f"It returned a {type(answer).__name__}. Expected bytes: the body of the answer.")
    try:
        found = host_priorities(answer)
    except WireError as error:
        raise Wrong("format", f"The scheduler cannot read it: {error}.") from error
    distinct([host for host, _ in found], "each Node")
    given = dict(found)
    for host, score in given.items():
        if host not in tiers:
            raise Wrong("scores", f"It scores {host!r}. Expected the names of the Nodes it was sent.")
        if not MIN_EXTENDER_PRIORITY <= score <= MAX_EXTENDER_PRIORITY:
            counts = f"times 10 it counts {score * 10}, and a plugin of weight 1 gives 100 at most"
            raise Wrong("scale", f"{host} gets {score}. Nobody checks that: {counts}.")
    for name, tier in tiers.items():
        if given.get(name) != _TIERS.get(tier, 0):
            raise Wrong("scores", f"{name} gets {given.get(name)}, expected {_TIERS.get(tier, 0)}.")


_PRIORITIZE_TASK = Task(
    "prioritize",
    "prioritize(body)",
    {
        "keys": "A request has the keys of the Go type, which has no JSON tags: Pod, Nodes, NodeNames.",
        "format": "The answer is a bare JSON list of objects with Host and Score.",
        "scale": "Scores of extenders go from 0 to 10.",
        "scores": "Every Node is scored: gold 10, silver 5, all others 0.",
    },
    _judge_prioritize,
    "staging/src/k8s.io/kube-scheduler/extender/v1/types.go",
    cases=60,
)


# -- victims -----------------------------------------------------------------------------------------


def _judge_victims(call: Call, rng: random.Random, number: int) -> None:
    count = 2 + min(number // 20, 4)
    running: list[Json] = [
        {
            "name": f"p{n}",
            "priority": rng.choice([0, 10, 10, 100, 1000]),
            "cpu": rng.choice([250, 500, 1000]),
            "started": n,
        }
        for n in range(1, count + 1)
    ]
    rng.shuffle(running)
    free, priority = rng.choice([0, 100, 250]), rng.choice([10, 100, 500])
    ask = free + rng.choice([100, 500, 1000, 1500])
    call.case = {"priority": priority, "ask": ask, "free": free, "running": running}
    right = _victims_of_the_plugin(priority, ask, free, running)
    answer = call.on_copies(priority, ask, free, running)
    given = None if answer is None else a_list(answer, str, "a list of names, or None when evicting does not help")
    if given is None or not given:
        if right is not None:
            raise Wrong("room", f"It evicts nobody. Without {', '.join(right)} the Pod fits.")
        if given is not None:
            raise Wrong("room", "It returned an empty list, and the Pod does not fit. Expected None.")
        return
    distinct(given, "victims")
    _check_victims(given, right, priority, ask - free, {pod["name"]: pod for pod in running})


def _check_victims(
    given: list[str], right: list[str] | None, priority: int, needed: int, pods: dict[str, Json]
) -> None:
    for name in given:
        if name not in pods:
            raise Wrong("answers", f"It names {name!r}, which does not run there.")
        if pods[name]["priority"] >= priority:
            raise Wrong("priority", f"{name} has priority {pods[name]['priority']}, the new Pod {priority}.")
    freed = sum(pods[name]["cpu"] for name in given)
    if freed < needed:
        raise Wrong("room", f"Without {', '.join(given)} there are {freed}m more. The Pod needs {needed}m.")
    spared = [name for name in given if freed - pods[name]["cpu"] >= needed]
    if spared:
        raise Wrong("needless", f"It evicts {', '.join(given)}. Without {spared[0]} among them the Pod would fit, too.")
    if right is None or sorted(given) != sorted(right):
        best = ", ".join(right or ())
        raise Wrong(
            "important", f"It evicts {', '.join(given)}, the plugin {best}: the most important come back first."
        )


def _victims_of_the_plugin(priority: int, ask: int, free: int, running: Sequence[Json]) -> list[str] | None:
    used = sum(pod["cpu"] for pod in running)
    node = make_node("n1", f"{used + free}m")
    pods = [make_pod(p["name"], {"cpu": f"{p['cpu']}m"}, priority=p["priority"], nodeName="n1") for p in running]
    for pod, entry in zip(pods, running, strict=True):
        pod["status"] = {"startTime": rfc3339(entry["started"] * 1000)}
    new = make_pod("new", {"cpu": f"{ask}m"}, priority=priority)
    snapshot, framework, state = Snapshot.of([node], pods), Framework.from_profile(), CycleState()
    framework.use_snapshot(snapshot)
    framework.run_pre_filter(state, new, snapshot.nodes)
    victims, _, status = select_victims_on_node(framework, state, new, snapshot.nodes[0].clone(), ())
    return [info.pod["metadata"]["name"] for info in victims] if status is SUCCESS else None


_VICTIMS_TASK = Task(
    "victims",
    "victims(priority, ask, free, running)",
    {
        "priority": "Only Pods of lower priority are evicted. An equal one stays.",
        "room": "Without the victims the Pod fits; None when no eviction helps.",
        "needless": "Nobody is evicted who could have stayed.",
        "important": "The more important stay: higher priority first, and among equals the one that has run longer.",
    },
    _judge_victims,
    "pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go (SelectVictimsOnNode)",
)


# -- pre-bind ----------------------------------------------------------------------------------------


class Volumes:
    """Where volumes are attached: what the task's function works on. `broken` cannot be attached."""

    def __init__(self, attached: dict[str, str], broken: Sequence[str] = ()) -> None:
        self._attached = dict(attached)
        self._broken = tuple(broken)
        self.attempts = 0

    def where(self, name: str) -> str:
        """The Node that a volume is attached to, "" for none."""
        return self._attached.get(name, "")

    def attach(self, name: str, node_name: str) -> None:
        """PluginError when it cannot be attached, or is attached already."""
        self.attempts += 1
        if name in self._attached:
            raise PluginError(f"volume {name}: attached to {self._attached[name]} already")
        if name in self._broken:
            raise PluginError(f"volume {name}: no such disk")
        self._attached[name] = node_name

    def detach(self, name: str) -> None:
        """PluginError when it is not attached."""
        if name not in self._attached:
            raise PluginError(f"volume {name}: not attached")
        del self._attached[name]

    def all(self) -> dict[str, str]:
        """Volume -> Node."""
        return dict(self._attached)

    def __repr__(self) -> str:
        return f"Volumes(attached={self._attached}, broken={list(self._broken)})"


def _judge_pre_bind(call: Call, rng: random.Random, number: int) -> None:
    names = [f"v{n}" for n in range(1, rng.randint(1, 2 + min(number // 5, 3)) + 1)]
    there = [name for name in names if number > 2 and rng.random() < 0.3]
    elsewhere = [name for name in names if name not in there and number > 20 and rng.random() < 0.1]
    broken = [name for name in names if name not in there and rng.random() < (0.5 if number % 2 else 0.0)]
    before = {"other": "n2", **dict.fromkeys(there, "n1"), **dict.fromkeys(elsewhere, "n2")}
    volumes = Volumes(before, broken)
    call.case = {"volumes of the Pod": names, "node_name": "n1", "volumes": repr(volumes)}
    status = _run_pre_bind(call, volumes, make_pod("web", volumes=[{"name": name} for name in names]))
    after, impossible = volumes.all(), [name for name in names if name in broken or name in elsewhere]
    if not impossible:
        if not status.is_success:
            raise Wrong("attached", f"Nothing stands in the way, and it said {status.code}: {status.message}")
        if after != {**before, **dict.fromkeys(names, "n1")}:
            raise Wrong("attached", f"It said Success, and attached are: {after}.")
        return
    if status.is_success:
        raise Wrong("says", f"It said Success, and {impossible[0]} is not attached to n1.")
    if after != before:
        left, lost = ([n for n in names if n in a and n not in b] for a, b in ((after, before), (before, after)))
        what = (
            f"{', '.join(left)} is still attached" if left else f"{', '.join(lost)} was attached before, and is not now"
        )
        raise Wrong("undone", f"It said {status.code}, and {what}.")
    if not any(name in status.message for name in impossible):
        wanted = " or ".join(impossible)
        raise Wrong("says", f"It said {status.message!r}. Expected the name of the volume that failed, {wanted}.")


def _run_pre_bind(call: Call, volumes: Volumes, pod: Object) -> Status:
    """As the framework runs it: any code but Success becomes an error of the binding cycle."""

    class Mine:
        name = PLUGIN

        def __init__(self, args: Any, handle: Any) -> None:
            pass

        def pre_bind_pre_flight(self, state: CycleState, pod: Object, node_name: str) -> Status:
            return SUCCESS

        async def pre_bind(self, state: CycleState, pod: Object, node_name: str) -> Status:
            return a_status(call(volumes, pod, node_name))

    framework = Framework.from_profile(_alone_at("preBind"), registry={PLUGIN: Mine})
    loop, found = Loop(seed=1), list[Status]()

    async def bind() -> None:
        found.append(await framework.run_pre_bind(CycleState(), pod, "n1"))

    loop.spawn("bind", bind())
    try:
        loop.run()
    finally:
        loop.close()
    return found[0]


_PRE_BIND_TASK = Task(
    "pre-bind",
    "pre_bind(volumes, pod, node_name)",
    {
        "attached": "On Success every volume of the Pod is attached to its Node. One that is there already is fine.",
        "says": "When a volume cannot be attached, the verdict is an error that names it.",
        "undone": "After a failure everything is as it was before: what it attached is detached, and nothing else.",
    },
    _judge_pre_bind,
    "pkg/scheduler/schedule_one.go (bindingCycle)",
    cases=100,
)


CYCLE_TASKS: Sequence[Task] = (_GANG_TASK, _PLACE_GANG_TASK, _PRIORITIZE_TASK, _VICTIMS_TASK, _PRE_BIND_TASK)
"""The tasks of this module."""
