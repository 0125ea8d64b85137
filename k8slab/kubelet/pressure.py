"""The kubelet under pressure: the loop that evicts, and the kernel that does not wait for it.

Two tasks of a kubelet. `eviction` measures the node every ten seconds and carries out what the `EvictionManager` says;
after an eviction it waits for the Pod to be gone and measures again at once. `oom` stands for the kernel: it acts at
the millisecond at which memory runs out.

Upstream: pkg/kubelet/kubelet.go (evictionMonitoringPeriod), pkg/kubelet/eviction/eviction_manager.go (Start),
    pkg/kubelet/pod_workers.go (killPodNow), pkg/kubelet/oom/oom_watcher_linux.go
Simplified: the kernel sleeps while the kubelet is down, as the containers do. That a Pod is gone is looked at every
second from its eviction on (upstream: from its end on).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from k8slab.api.objects import Object
from k8slab.kubelet.eviction import REASON, Decision, EvictionManager, EvictPod, NodeEvent, Reclaim, reason_of
from k8slab.kubelet.eviction.config import EvictionConfig
from k8slab.kubelet.node_usage import active_sandboxes, node_summary, oom_kill_at, reclaim, when_memory_is_full
from k8slab.kubelet.oom_killer import OOMKill
from k8slab.kubelet.runtime import ContainerRuntime, PodSandbox
from k8slab.sim.loop import Loop, Wait, Waiters, pause, sleep

__all__ = ["Pressure"]

MONITORING_PERIOD_MS = 10_000
MINIMUM_KILL_TIMEOUT_MS = 10_000
POD_CLEANUP_TIMEOUT_MS = 30_000
POD_CLEANUP_POLL_MS = 1_000


class TellPod(Protocol):
    """Record an Event about a Pod."""

    def __call__(self, pod: Object, type: str, reason: str, message: str, annotations: Mapping[str, str]) -> None: ...


class Pressure:
    """What one kubelet does about want of memory, disk and processes."""

    def __init__(
        self,
        loop: Loop,
        runtime: ContainerRuntime,
        lane: str,
        *,
        config: EvictionConfig,
        tell_node: Callable[[str, str, str], None],
        tell_pod: TellPod,
        wake: Callable[[str, int | None], None],
    ) -> None:
        self.loop, self.runtime, self.lane = loop, runtime, lane
        self.manager = EvictionManager(config, dedicated_image_fs=bool(runtime.node.image_fs))
        self.last = Decision()
        self._tell_node, self._tell_pod, self._wake = tell_node, tell_pod, wake
        self._changed = Waiters(loop)

    def changed(self) -> None:
        """A container started or ended: what was foreseen about memory no longer holds."""
        self._changed.wake()

    # -- eviction ----------------------------------------------------------------------------------

    async def eviction_loop(self) -> None:
        """Look, act, wait; for ever."""
        while True:
            evicted = self._synchronize()
            if evicted:
                await self._wait_for_cleanup(evicted)
            else:
                await sleep(MONITORING_PERIOD_MS, periodic=True)
            self.loop.trace.current = None

    def _synchronize(self) -> list[PodSandbox]:
        now, before = self.loop.clock.now_ms, list(self.manager.node_conditions)
        sandboxes = {s.uid: s for s in active_sandboxes(self.runtime)}
        pods = [s.pod for s in sandboxes.values()]
        decision = self.manager.synchronize(pods, node_summary(self.runtime, now), now)
        self._tell_conditions(before)
        todo, evicted = list(decision.effects), []
        while todo:
            effect = todo.pop(0)
            if isinstance(effect, NodeEvent):
                self._emit("eviction.threshold", threshold=str(decision.threshold))
                self._tell_node(effect.type, effect.reason, effect.message)
            elif isinstance(effect, Reclaim):
                decision = self._reclaim(effect)
                todo = list(decision.evicted)
            else:
                evicted.append(self._evict(sandboxes[effect.pod["metadata"]["uid"]], effect, decision))
        self.last = decision
        return evicted

    def _tell_conditions(self, before: list[str]) -> None:
        after = self.manager.node_conditions
        for name in [*after, *before]:
            if (name in after) != (name in before):
                self._emit("node.pressure", condition=name, on=name in after)

    def _reclaim(self, effect: Reclaim) -> Decision:
        for deed in effect.deeds:
            gone = reclaim(self.runtime, deed)
            self._emit("eviction.reclaim", deed=deed, gone=gone)
        return self.manager.after_reclaim(node_summary(self.runtime, self.loop.clock.now_ms))

    def _evict(self, sandbox: PodSandbox, effect: EvictPod, decision: Decision) -> PodSandbox:
        why = reason_of(effect, decision.ranking)
        self._emit("eviction.evict", key=sandbox.key, signal=str(effect.signal), why=why)
        cause = self.loop.trace.current
        self._tell_pod(effect.pod, "Warning", REASON, effect.message, effect.annotations)
        sandbox.verdict = (REASON, effect.message)
        sandbox.verdict_grace_ms = max(1, effect.grace_period_seconds) * 1000
        sandbox.disruption = effect.condition
        self._wake(sandbox.uid, cause)
        return sandbox

    async def _wait_for_cleanup(self, evicted: list[PodSandbox]) -> None:
        """Until they are gone: half as long again as they were given (at least ten seconds), and thirty seconds."""
        grace_ms = max(sandbox.verdict_grace_ms or 0 for sandbox in evicted)
        patience_ms = max(MINIMUM_KILL_TIMEOUT_MS, grace_ms * 3 // 2) + POD_CLEANUP_TIMEOUT_MS
        for _ in range(patience_ms // POD_CLEANUP_POLL_MS):
            await sleep(POD_CLEANUP_POLL_MS)
            if all(s.is_terminal() for s in evicted):
                return

    def _emit(self, kind: str, **data: Any) -> None:
        self.loop.trace.emit(kind, self.lane, node=self.runtime.node.name, **data)

    # -- the kernel --------------------------------------------------------------------------------

    async def oom_loop(self) -> None:
        """Kill when memory is full; look ahead otherwise."""
        while True:
            now = self.loop.clock.now_ms
            full_ms = when_memory_is_full(self.runtime, now)
            if full_ms is None or full_ms > now:
                await pause(Wait((self._changed,), None if full_ms is None else full_ms - now))
                self.loop.trace.current = None
                continue
            kill = oom_kill_at(self.runtime, now)
            if kill is not None:
                self._kill(kill, now)
            await pause(Wait((self._changed,), POD_CLEANUP_POLL_MS))  # until what was killed has ended

    def _kill(self, kill: OOMKill, now: int) -> None:
        dead = {process.pid for process in kill.killed}
        score = next(badness for process, badness in kill.candidates if process is kill.victim)
        for sandbox in list(self.runtime.sandboxes.values()):
            for container in sandbox.containers:
                if container.is_up and container.pid in dead:
                    self._emit("kernel.oom", key=sandbox.key, container=container.name, cgroup=kill.cgroup, score=score)
                    sandbox.oom_kill(container, now)
                    self._wake(sandbox.uid, self.loop.trace.current)
        if kill.constraint == "CONSTRAINT_NONE":
            text = f"System OOM encountered, victim process: {kill.victim.name}, pid: {kill.victim.pid}"
            self._tell_node("Warning", "SystemOOM", text)
