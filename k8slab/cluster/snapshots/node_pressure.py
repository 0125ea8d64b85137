"""What if Pods of a node used more: who is evicted, whom the kernel kills, when and why.

The node's own containers, eviction manager and kernel of `k8slab.kubelet`, on a clock that jumps from one event to the
next; no control plane.

>>> from k8slab.cluster.snapshots.node_pressure import NodePressure, Use
>>> from k8slab.kubelet import NodeConfig, parse_growth
>>> pods = [{"metadata": {"name": name}, "spec": {"containers": [{"name": "c"}]}} for name in ("web", "leak")]
>>> uses = {"default/web": Use(memory=parse_growth("300Mi")), "default/leak": Use(memory=parse_growth("10Mi+10Mi/s"))}
>>> answer = NodePressure(NodeConfig("n", memory="1Gi", kubelet_config={}), pods, uses).run(for_ms=120_000)
>>> [(step.at_ms, step.what, step.pod) for step in answer.steps]
[(70000, 'pressure', ''), (70000, 'evicted', 'default/leak')]

Simplified: everything runs from the beginning, images and what was written before take no room unless the uses say so;
who is evicted is not made anew elsewhere, and nobody new comes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from k8slab.api.objects import Object, freeze
from k8slab.api.quantity import value
from k8slab.kubelet import Behaviour, ContainerRuntime, Growth, NodeConfig, Timings
from k8slab.kubelet.eviction import MEMORY_CRITERIA, EvictionManager, EvictPod, RankedPod, Reclaim, rank
from k8slab.kubelet.node_usage import active_sandboxes, node_summary, oom_kill_at, reclaim, when_memory_is_full
from k8slab.kubelet.runtime import PodSandbox

__all__ = ["NodePressure", "PressureAnswer", "PressureStep", "Use", "requested"]

_AT_ONCE = Timings(sandbox_ms=0, pull_ms=0, create_ms=0, start_ms=0)
_LOOK_MS, _CLEANUP_MS = 10_000, 1_000
_NOTHING = Growth(0)


@dataclass(frozen=True, slots=True)
class Use:
    """What a Pod uses. `container`: the one that does; "" the first. None: what it requests."""

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
    """One node and its Pods. `uses` by namespace/name: one, or several for several containers."""

    def __init__(
        self, node: NodeConfig, pods: Sequence[Object], uses: Mapping[str, Use | Sequence[Use]] | None = None
    ) -> None:
        given = {key: (use,) if isinstance(use, Use) else tuple(use) for key, use in (uses or {}).items()}
        self._uses = given
        self.node = node if node.kubelet_config is not None else replace(node, kubelet_config={})
        self.runtime = ContainerRuntime(self.node, _AT_ONCE, self._behaviour)
        self.manager = EvictionManager(self.node.kubelet_config, dedicated_image_fs=bool(node.image_fs))
        self._steps: list[PressureStep] = []
        self._full_ms: int | None = None
        for pod in pods:
            metadata = pod["metadata"]
            key = _key(pod)
            whole = {**pod, "metadata": {"namespace": "default", **metadata, "uid": metadata.get("uid") or key}}
            self.runtime.run_pod(freeze(whole), 0)
        if unknown := next((key for key in given if all(s.key != key for s in self._sandboxes())), None):
            raise ValueError(f"uses: {unknown!r}: expected a Pod of the node")

    def _sandboxes(self) -> list[PodSandbox]:
        return list(self.runtime.sandboxes.values())

    def _behaviour(self, pod: Object, container: Object) -> Behaviour:
        uses = self._uses.get(_key(pod), ())
        first = pod["spec"]["containers"][0]["name"]
        mine = [use for use in uses if (use.container or first) == container["name"]]
        memory = next((use.memory for use in mine if use.memory is not None), None)
        disk = next((use.disk for use in mine if use.disk is not None), None)
        return Behaviour(memory=memory or requested(container), disk=disk or _NOTHING)

    # -- the run -----------------------------------------------------------------------------------

    def run(self, for_ms: int) -> PressureAnswer:
        """Let `for_ms` pass from the beginning on."""
        now, look_ms = 0, 0
        self._advance(now)
        order = self._order(now)
        while now <= for_ms:
            if self._full_ms is not None and self._full_ms <= now:
                self._kernel(now)
            if now >= look_ms:
                look_ms = now + (_CLEANUP_MS if self._look(now) else _LOOK_MS)
            dues = [due for s in self._sandboxes() if (due := s.next_due_ms(now)) is not None]
            moments = [look_ms, *dues, *([self._full_ms] if self._full_ms is not None else [])]
            now = max(now + 1, min(moments))
            if now <= for_ms:
                self._advance(now)
        summary = node_summary(self.runtime, for_ms)
        left = tuple(s.key for s in self._sandboxes() if not s.is_terminal())
        return PressureAnswer(tuple(self._steps), order, left, summary.memory_available or 0)

    def _advance(self, now: int) -> None:
        """Containers start, end and start again."""
        has_changed = now == 0
        for sandbox in self._sandboxes():
            for happened in sandbox.advance(now):
                has_changed = True
                if happened.kind == "oom" and sandbox.verdict is None:
                    self._tell_oom(sandbox, happened.container, now)
        if has_changed:
            self._full_ms = when_memory_is_full(self.runtime, now)

    def _tell_oom(self, sandbox: PodSandbox, name: str, now: int) -> None:
        told = any(s.at_ms == now and s.pod == sandbox.key and s.what == "OOM-killed" for s in self._steps)
        if not told:
            why = f"container {name} used more memory than its limit; it is started again after a back-off"
            self._steps.append(PressureStep(now, "OOM-killed", sandbox.key, why))

    def _kernel(self, now: int) -> None:
        kill = oom_kill_at(self.runtime, now)
        if kill is None:
            return
        dead = {process.pid for process in kill.killed}
        where = "the machine's memory was full" if kill.cgroup == "/" else f"the memory of {kill.cgroup} was full"
        for sandbox in self._sandboxes():
            for container in sandbox.containers:
                if container.is_up and container.pid in dead:
                    why = f"{where}, and container {container.name} had the highest score"
                    self._steps.append(PressureStep(now, "OOM-killed", sandbox.key, why))
                    sandbox.oom_kill(container, now)
        self._advance(now)

    def _look(self, now: int) -> bool:
        """One look of the eviction manager; whether somebody was evicted."""
        before = list(self.manager.node_conditions)
        sandboxes = {s.uid: s for s in active_sandboxes(self.runtime)}
        decision = self.manager.synchronize([s.pod for s in sandboxes.values()], node_summary(self.runtime, now), now)
        for name in [*self.manager.node_conditions, *before]:
            if (name in before) != (name in self.manager.node_conditions):
                what = "no pressure" if name in before else "pressure"
                self._steps.append(PressureStep(now, what, "", self._why(name, what, decision.met)))
        effects = list(decision.effects)
        for effect in effects:
            if isinstance(effect, Reclaim):
                gone = [f"{deed}: {reclaim(self.runtime, deed)}" for deed in effect.deeds]
                self._steps.append(PressureStep(now, "reclaimed", "", ", ".join(gone)))
                decision = self.manager.after_reclaim(node_summary(self.runtime, now))
                effects += decision.evicted
            elif isinstance(effect, EvictPod):
                self._evict(sandboxes[effect.pod["metadata"]["uid"]], effect, decision.ranking, now)
        return any(isinstance(effect, EvictPod) for effect in effects)

    @staticmethod
    def _why(name: str, what: str, met: Sequence[Any]) -> str:
        crossed = ", ".join(str(threshold) for threshold in met)
        return f"{name}: {crossed}" if what == "pressure" else f"{name} is over"

    def _evict(self, sandbox: PodSandbox, effect: EvictPod, ranking: Sequence[RankedPod], now: int) -> None:
        others = [one for one in ranking if one.pod is not effect.pod]
        me = next((one for one in ranking if one.pod is effect.pod), None)
        following = next((one for one in others if me is not None and one.keys >= me.keys), None)
        why = effect.message.strip() if me is None or following is None else me.before(following)
        self._steps.append(PressureStep(now, "evicted", sandbox.key, why))
        sandbox.verdict = ("Evicted", effect.message)
        sandbox.stop(now, max(1, effect.grace_period_seconds) * 1000)

    def _order(self, now: int) -> tuple[tuple[str, str], ...]:
        """Who would go first if memory were short now."""
        pods = [s.pod for s in active_sandboxes(self.runtime)]
        ranking = rank(pods, node_summary(self.runtime, now).pods, MEMORY_CRITERIA)
        following = [*ranking[1:], None]
        return tuple(
            (_key(one.pod), one.before(other) if other is not None else "")
            for one, other in zip(ranking, following, strict=True)
        )


def _key(pod: Object) -> str:
    return f"{pod['metadata'].get('namespace') or 'default'}/{pod['metadata']['name']}"


def requested(container: Object) -> Growth:
    """What a container asks for: what it is taken to use where nobody says otherwise."""
    request = ((container.get("resources") or {}).get("requests") or {}).get("memory")
    return Growth(0 if request is None else value(request))
