"""One node whose Pods use more and more: who is evicted, whom the kernel kills, when and why.

The containers, the eviction manager and the kernel of this package on a clock that jumps from moment to moment; no
control plane. `Stepper(NodePressure(...))` shows the node's memory, with the Pods in the order in which they would go.

>>> from k8slab.kubelet import NodeConfig, NodePressure, Use, parse_growth
>>> pods = [{"metadata": {"name": name}, "spec": {"containers": [{"name": "c"}]}} for name in ("web", "leak")]
>>> uses = {"default/web": Use(memory=parse_growth("300Mi")), "default/leak": Use(memory=parse_growth("10Mi+10Mi/s"))}
>>> answer = NodePressure(NodeConfig("n", memory="1Gi"), pods, uses, for_ms=120_000).run()
>>> [(step.at_ms, step.what, step.pod) for step in answer.steps]
[(70000, 'pressure', ''), (70000, 'evicted', 'default/leak')]

Upstream: none (what acts are `eviction`, `oom_killer` and `runtime`)
Simplified: everything runs from the beginning, images and what was written before take no room unless the uses say so;
who is evicted is not made anew elsewhere, and nobody new comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from k8slab.api.objects import Object, freeze
from k8slab.api.pods import pod_priority
from k8slab.api.quantity import value
from k8slab.kubelet.config import Behaviour, NodeConfig, Timings
from k8slab.kubelet.eviction import (
    MEMORY_CRITERIA,
    Decision,
    EvictionManager,
    EvictPod,
    NodeEvent,
    RankedPod,
    Reclaim,
    rank,
    reason_of,
    resource_request,
    signal_observations,
    threshold_quantity,
)
from k8slab.kubelet.node_usage import active_sandboxes, node_summary, oom_kill_at, reclaim, when_memory_is_full
from k8slab.kubelet.runtime import ContainerRuntime, PodSandbox
from k8slab.kubelet.usage import NOTHING, Growth
from k8slab.sim.clock import Clock, milliseconds
from k8slab.sim.trace import Trace

__all__ = ["NodePressure", "PressureAnswer", "PressureStep", "Use", "requested"]

_AT_ONCE = Timings(sandbox_ms=0, pull_ms=0, create_ms=0, start_ms=0)
_LOOK_MS, _CLEANUP_MS = 10_000, 1_000
_MI = 1 << 20
_STATES = {(True, False): "runs", (False, False): "waits", (True, True): "ends", (False, True): "evicted"}
"""By whether something of it runs, and whether it was evicted."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a Pod uses. `container`: the one that does; "" the first. None: of memory what it requests, of disk
    nothing."""

    memory: Growth | None = None
    disk: Growth | None = None
    container: str = ""


class PressureStep(NamedTuple):
    """`what`: pressure, no pressure, reclaimed, evicted, OOM-killed; `pod` as namespace/name, "" for the node."""

    at_ms: int
    what: str
    pod: str
    why: str


@dataclass(frozen=True, slots=True)
class PressureAnswer:
    """`order`: (Pod, why before the next) at the beginning, first evicted first. `left`: the Pods that still run."""

    steps: tuple[PressureStep, ...]
    order: tuple[tuple[str, str], ...]
    left: tuple[str, ...]
    memory_available: int

    @property
    def lost(self) -> list[PressureStep]:
        """The steps at which somebody was evicted or killed."""
        return [step for step in self.steps if step.what in ("evicted", "OOM-killed")]


class NodePressure:
    """One node and its Pods for `for_ms`. `uses` by namespace/name: one, or several for several containers.

    A node without `kubelet_config` gets upstream's defaults.
    """

    views = ("memory",)
    title = "Who goes when the memory is gone?"
    looks_within = True

    def __init__(
        self,
        node: NodeConfig,
        pods: Sequence[Object],
        uses: Mapping[str, Use | Sequence[Use]] | None = None,
        *,
        for_ms: int = 600_000,
    ) -> None:
        self.for_ms = milliseconds("for_ms", for_ms)
        self._uses = {key: (use,) if isinstance(use, Use) else tuple(use) for key, use in (uses or {}).items()}
        self.node = node if node.kubelet_config is not None else replace(node, kubelet_config={})
        self.runtime = ContainerRuntime(self.node, _AT_ONCE, self._behaviour)
        self.manager = EvictionManager(self.node.kubelet_config, dedicated_image_fs=bool(node.image_fs))
        self.trace = Trace(Clock())
        self._steps: list[PressureStep] = []
        self._full_ms: int | None = None
        for pod in pods:
            metadata, key = pod["metadata"], _key(pod)
            whole = {**pod, "metadata": {"namespace": "default", **metadata, "uid": metadata.get("uid") or key}}
            self.runtime.run_pod(freeze(whole), 0)
        if unknown := next((key for key in self._uses if all(s.key != key for s in self._sandboxes())), None):
            raise ValueError(f"uses: {unknown!r}: expected a Pod of the node")
        self._advance(0)
        self._order = self._order_now()
        self._moments = self._play()

    def _sandboxes(self) -> list[PodSandbox]:
        return list(self.runtime.sandboxes.values())

    def _behaviour(self, pod: Object, container: Object) -> Behaviour:
        uses = self._uses.get(_key(pod), ())
        first = pod["spec"]["containers"][0]["name"]
        mine = [use for use in uses if (use.container or first) == container["name"]]
        memory = next((use.memory for use in mine if use.memory is not None), None)
        disk = next((use.disk for use in mine if use.disk is not None), None)
        return Behaviour(memory=memory or requested(container), disk=disk or NOTHING)

    # -- the run -----------------------------------------------------------------------------------

    def step(self) -> bool:
        """The next moment at which something happens or is looked at; False when the time is over."""
        return next(self._moments, None) is not None

    def run(self) -> PressureAnswer:
        """All that is left of the time."""
        while self.step():
            pass
        summary = node_summary(self.runtime, self.for_ms)
        left = tuple(s.key for s in self._sandboxes() if not s.is_terminal())
        return PressureAnswer(tuple(self._steps), self._order, left, summary.memory_available or 0)

    def _play(self) -> Iterator[int]:
        now, look_ms = 0, 0
        while now <= self.for_ms:
            self.trace.clock.now_ms = now
            self._advance(now)
            if self._full_ms is not None and self._full_ms <= now:
                self._kernel(now)
            if now >= look_ms:
                look_ms = now + (_CLEANUP_MS if self._look(now) else _LOOK_MS)
            yield now
            dues = [due for s in self._sandboxes() if (due := s.next_due_ms(now)) is not None]
            moments = [look_ms, *dues, *([self._full_ms] if self._full_ms is not None else [])]
            now = max(now + 1, min(moments))

    def _advance(self, now: int) -> None:
        """Containers start, end and start again."""
        has_changed = now == 0
        for sandbox in self._sandboxes():
            for happened in sandbox.advance(now):
                has_changed = True
                if happened.kind == "oom":
                    self._tell_oom(sandbox, happened.container, happened.value, now)
        if has_changed:
            self._full_ms = when_memory_is_full(self.runtime, now)

    def _tell_oom(self, sandbox: PodSandbox, name: str, pid: int, now: int) -> None:
        self._emit("container.oom", key=sandbox.key, container=name, pid=pid)
        if all(s[:3] != (now, "OOM-killed", sandbox.key) for s in self._steps):
            self._note(now, "OOM-killed", sandbox.key, f"container {name} used more memory than its limit")

    def _kernel(self, now: int) -> None:
        kill = oom_kill_at(self.runtime, now)
        if kill is None:
            return
        dead = {process.pid for process in kill.killed}
        score = next(badness for process, badness in kill.candidates if process is kill.victim)
        where = "the machine's memory was full" if kill.cgroup == "/" else f"the memory of {kill.cgroup} was full"
        for sandbox in self._sandboxes():
            for container in sandbox.containers:
                if container.is_up and container.pid in dead:
                    name = container.name
                    self._emit("kernel.oom", key=sandbox.key, container=name, cgroup=kill.cgroup, score=score)
                    self._note(now, "OOM-killed", sandbox.key, f"{where}, and container {name} had the highest score")
                    sandbox.oom_kill(container, now)
        self._advance(now)

    def _look(self, now: int) -> bool:
        """One look of the eviction manager; whether somebody was evicted."""
        before = list(self.manager.node_conditions)
        sandboxes = {s.uid: s for s in active_sandboxes(self.runtime)}
        summary = node_summary(self.runtime, now)
        self._emit("eviction.look", free=(summary.memory_available or 0) // _MI)
        decision = self.manager.synchronize([s.pod for s in sandboxes.values()], summary, now)
        self._tell_conditions(before, decision, now)
        effects = list(decision.effects)
        for effect in effects:
            if isinstance(effect, NodeEvent):
                self._emit("eviction.threshold", threshold=str(decision.threshold))
            elif isinstance(effect, Reclaim):
                decision = self._reclaim(effect, now)
                effects += decision.evicted
            else:
                self._evict(sandboxes[effect.pod["metadata"]["uid"]], effect, decision.ranking, now)
        return any(isinstance(effect, EvictPod) for effect in effects)

    def _tell_conditions(self, before: Sequence[str], decision: Decision, now: int) -> None:
        for name in [*self.manager.node_conditions, *before]:
            is_now = name in self.manager.node_conditions
            if is_now != (name in before):
                crossed = ", ".join(map(str, decision.met))
                self._emit("node.pressure", condition=name, on=is_now)
                why = f"{name}: {crossed}" if is_now else f"{name} is over"
                self._note(now, "pressure" if is_now else "no pressure", "", why)

    def _reclaim(self, effect: Reclaim, now: int) -> Decision:
        gone = {deed: reclaim(self.runtime, deed) for deed in effect.deeds}
        for deed, count in gone.items():
            self._emit("eviction.reclaim", deed=deed, gone=count)
        self._note(now, "reclaimed", "", ", ".join(f"{deed}: {count}" for deed, count in gone.items()))
        return self.manager.after_reclaim(node_summary(self.runtime, now))

    def _evict(self, sandbox: PodSandbox, effect: EvictPod, ranking: Sequence[RankedPod], now: int) -> None:
        why = reason_of(effect, ranking)
        self._emit("eviction.evict", key=sandbox.key, signal=str(effect.signal), why=why)
        self._note(now, "evicted", sandbox.key, why)
        sandbox.verdict = ("Evicted", effect.message)
        sandbox.stop(now, max(1, effect.grace_period_seconds) * 1000)

    def _note(self, now: int, what: str, pod: str, why: str) -> None:
        self._steps.append(PressureStep(now, what, pod, why))

    def _emit(self, kind: str, **data: Any) -> None:
        self.trace.emit(kind, f"kubelet/{self.node.name}", node=self.node.name, **data)

    # -- looking at it -----------------------------------------------------------------------------

    def ranking(self) -> list[RankedPod]:
        """Who would go first if memory were short now."""
        now = self.trace.clock.now_ms
        return rank(
            [s.pod for s in active_sandboxes(self.runtime)], node_summary(self.runtime, now).pods, MEMORY_CRITERIA
        )

    def _order_now(self) -> tuple[tuple[str, str], ...]:
        ranking = self.ranking()
        following = [*ranking[1:], None][: len(ranking)]
        pairs = zip(ranking, following, strict=True)
        return tuple((_key(one.pod), one.before(other) if other is not None else "") for one, other in pairs)

    def view(self) -> Mapping[str, Any]:
        """`memory` in Mi: the `node`, its `capacity`, what its `system` uses and what is `free`; `bounds` of memory by
        threshold; `pressure`; `pods` by key: `used`, `request`, `limit` (0: none), `priority`, `place` in the order of
        eviction (0: not in it) and `state` (runs, waits after a kill, ends, evicted)."""
        summary = node_summary(self.runtime, self.trace.clock.now_ms)
        seen = signal_observations(summary)
        bounds = {
            str(t): threshold_quantity(t.value, seen[t.signal].capacity).value() // _MI
            for t in self.manager.config.thresholds
            if t.signal == "memory.available"
        }
        place = {one.pod["metadata"]["uid"]: number for number, one in enumerate(self.ranking(), 1)}
        pods = {}
        for sandbox in self._sandboxes():
            stats, runs = summary.pods.get(sandbox.uid), not sandbox.has_stopped()
            pods[sandbox.key] = {
                "used": (stats.memory or 0) // _MI if stats is not None else 0,
                "request": resource_request(sandbox.pod, "memory").value() // _MI,
                "limit": sum(c.memory_limit or 0 for c in sandbox.containers) // _MI,
                "priority": pod_priority(sandbox.pod),
                "place": place.get(sandbox.uid, 0),
                "state": _STATES[runs, sandbox.verdict is not None],
            }
        return {
            "memory": {
                "node": self.node.name,
                "capacity": value(self.node.memory) // _MI,
                "system": value(self.node.system_memory) // _MI,
                "free": (summary.memory_available or 0) // _MI,
                "bounds": bounds,
                "pressure": "MemoryPressure" in self.manager.node_conditions,
                "pods": pods,
            }
        }


def _key(pod: Object) -> str:
    return f"{pod['metadata'].get('namespace') or 'default'}/{pod['metadata']['name']}"


def requested(container: Object) -> Growth:
    """What a container asks for: what it is taken to use where nobody says otherwise."""
    request = ((container.get("resources") or {}).get("requests") or {}).get("memory")
    return Growth(0 if request is None else value(request))
