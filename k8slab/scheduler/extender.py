"""Asking extenders: HTTP servers that filter and score Nodes, choose victims, or bind Pods for a scheduler.

A call blocks the scheduling cycle, as upstream's does: with extenders the scheduling task waits between Filter and
Score (and in preemption) while nothing else of this scheduler schedules. Only the bind call runs beside it, in the
Pod's binding task. The cycle itself is one coroutine for both cases: where nobody waits it ends in its first step, so
that `Framework.schedule` needs no loop (`at_once`).

Upstream: pkg/scheduler/extender.go, schedule_one.go (findNodesThatPassExtenders, prioritizeNodes, extendersBinding),
pkg/scheduler/scheduler.go (buildExtenders), pkg/scheduler/framework/preemption/preemption.go (callExtenders)
Simplified: extenders score one after the other instead of all at once; a Node that comes back as an object is looked up
by its name, and an unknown one is an error (upstream believes the object). TLS is the caller's.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from k8slab.api.labels import go_quote
from k8slab.api.objects import Object
from k8slab.api.quantity import wrap_int64
from k8slab.api.transport import HTTPCaller
from k8slab.scheduler.config_extender import Extender
from k8slab.scheduler.diagnosis import Diagnosis
from k8slab.scheduler.extender_wire import (
    MAX_EXTENDER_PRIORITY,
    MetaVictims,
    WireError,
    binding_error,
    encode,
    filter_result,
    host_priorities,
    node_list,
    preemption_result,
)
from k8slab.scheduler.framework import (
    MAX_NODE_SCORE,
    SUCCESS,
    Code,
    NodeInfo,
    PostFilterResult,
    SnapshotView,
    Status,
    namespace_of,
    pod_key,
)
from k8slab.scheduler.preemption import Candidate, choose
from k8slab.sim.kinds import cut
from k8slab.sim.loop import Loop

__all__ = ["EXTENDER", "ExtenderError", "Extenders", "Filtered", "HTTPExtender", "at_once"]

EXTENDER = "Extender"
"""In the place of a plugin's name where an extender rejected a Node: any event brings the Pod back."""

_SCALE = MAX_NODE_SCORE // MAX_EXTENDER_PRIORITY
_T = TypeVar("_T")


class ExtenderError(Exception):
    """An extender could not be asked, or did not answer what it may. The text is upstream's."""


def at_once(work: Coroutine[Any, Any, _T]) -> _T:
    """The result of a coroutine that waits for nobody; RuntimeError for one that does."""
    try:
        work.send(None)
    except StopIteration as done:
        result: _T = done.value
        return result
    work.close()
    raise RuntimeError("the cycle waits for an extender: expected one that answers at once, or a Scheduler on a loop")


class Filtered(NamedTuple):
    """What an extender leaves of the Nodes, and what it says of the others."""

    nodes: list[NodeInfo]
    failed: Mapping[str, str] = {}
    failed_and_unresolvable: Mapping[str, str] = {}


class HTTPExtender:
    """One extender. `loop` (may be None) dates the events `extender.ask` and `extender.answer`."""

    def __init__(self, config: Extender, http: HTTPCaller, loop: Loop | None = None) -> None:
        self.config = config
        self._http = http
        self._loop = loop
        self.lane = "scheduler"
        self._managed = frozenset(resource.name for resource in config.managed_resources)

    @property
    def name(self) -> str:
        """The URL it is known by."""
        return self.config.url_prefix

    def is_interested(self, pod: Object) -> bool:
        """Whether the Pod asks for a resource of this extender; without managed resources every Pod does."""
        if not self._managed:
            return True
        spec = pod["spec"]
        for container in (*(spec.get("containers") or ()), *(spec.get("initContainers") or ())):
            resources = container.get("resources") or {}
            for amounts in (resources.get("requests") or {}, resources.get("limits") or {}):
                if not self._managed.isdisjoint(amounts):
                    return True
        return False

    # -- the four verbs ----------------------------------------------------------------------------

    async def filter(self, pod: Object, nodes: Sequence[NodeInfo]) -> Filtered:
        """Raises ExtenderError."""
        if not self.config.filter_verb:
            return Filtered(list(nodes))
        body = await self._send(self.config.filter_verb, pod, self._args(pod, nodes))
        result = _decoded(filter_result, body)
        if result.error:
            raise ExtenderError(result.error)
        by_name = {node.name: node for node in nodes}
        names = result.node_names if self.config.node_cache_capable else None
        names = result.nodes or () if names is None else names
        for name in names:
            if name not in by_name:
                text = f"extender {go_quote(self.name)} claims a filtered node {go_quote(name)}"
                raise ExtenderError(f"{text} which is not found in the input node list")
        return Filtered([by_name[name] for name in names], result.failed, result.failed_and_unresolvable)

    async def prioritize(self, pod: Object, nodes: Sequence[NodeInfo]) -> list[tuple[str, int]]:
        """(Node, score), as they come; raises ExtenderError."""
        body = await self._send(self.config.prioritize_verb, pod, self._args(pod, nodes))
        return _decoded(host_priorities, body)

    async def process_preemption(
        self, pod: Object, candidates: Sequence[Candidate], snapshot: SnapshotView
    ) -> list[Candidate]:
        """Those of `candidates` that it agrees with, perhaps with other victims; raises ExtenderError."""
        args: dict[str, Any] = {"Pod": pod, "NodeNameToVictims": None, "NodeNameToMetaVictims": None}
        if self.config.node_cache_capable:
            args["NodeNameToMetaVictims"] = {
                found.node: _victims(
                    [{"UID": victim.pod["metadata"].get("uid") or ""} for victim in found.victims], found
                )
                for found in sorted(candidates)
            }
        else:
            args["NodeNameToVictims"] = {
                found.node: _victims([victim.pod for victim in found.victims], found) for found in sorted(candidates)
            }
        answer = _decoded(preemption_result, await self._send(self.config.preempt_verb, pod, args))
        return [self._candidate(node, victims, snapshot) for node, victims in answer.items()]

    async def bind(self, pod: Object, node_name: str) -> None:
        """Let it bind the Pod; raises ExtenderError."""
        metadata = pod["metadata"]
        args = {
            "PodName": metadata["name"],
            "PodNamespace": namespace_of(pod),
            "PodUID": metadata.get("uid") or "",
            "Node": node_name,
        }
        if error := _decoded(binding_error, await self._send(self.config.bind_verb, pod, args)):
            raise ExtenderError(error)

    # -- inside ------------------------------------------------------------------------------------

    def _args(self, pod: Object, nodes: Sequence[NodeInfo]) -> dict[str, Any]:
        if self.config.node_cache_capable:
            return {"Pod": pod, "Nodes": None, "NodeNames": [node.name for node in nodes]}
        return {"Pod": pod, "Nodes": node_list([node.node or {} for node in nodes]), "NodeNames": None}

    def _candidate(self, node_name: str, victims: MetaVictims | None, snapshot: SnapshotView) -> Candidate:
        """From uids back to Pods."""
        node = snapshot.get(node_name)
        if node is None:
            raise ExtenderError(f"nodeinfo not found for node name {go_quote(node_name)}")
        by_uid = {info.uid: info for info in node.pods.values()}
        found = []
        for uid in victims.uids if victims is not None else ():
            if uid not in by_uid:
                text = f"extender: {self.name} claims to preempt pod (UID: &{{{uid}}}) on node: {node_name}"
                raise ExtenderError(f"{text}, but the pod is not found on that node")
            found.append(by_uid[uid])
        return Candidate(node_name, tuple(found), victims.num_pdb_violations if victims is not None else 0)

    async def _send(self, verb: str, pod: Object, args: Mapping[str, Any]) -> bytes:
        url = f"{self.name.rstrip('/')}/{verb}"
        started = self._emit("extender.ask", pod, verb)
        try:
            response = await self._http.post(
                url, {"Content-Type": "application/json"}, encode(args), self.config.http_timeout_ms
            )
        except TimeoutError:
            self._emit("extender.answer", pod, verb, outcome="timeout", started=started)
            waited = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
            raise ExtenderError(f"Post {go_quote(url)}: {waited}") from None
        except ConnectionError as error:
            self._emit("extender.answer", pod, verb, outcome="no connection", started=started)
            raise ExtenderError(f"Post {go_quote(url)}: {error}") from None
        self._emit("extender.answer", pod, verb, outcome=str(response.status), started=started)
        if response.status != 200:
            raise ExtenderError(f"failed {verb} with extender at URL {url}, code {response.status}")
        return response.body

    def _emit(self, kind: str, pod: Object, verb: str, *, outcome: str = "", started: int = 0) -> int:
        """Say it in the trace, and return the time."""
        if self._loop is None:
            return 0
        now_ms = self._loop.clock.now_ms
        data: dict[str, Any] = {"resource": "pods", "key": pod_key(pod), "url": cut(self.name, 40), "verb": verb}
        if outcome:
            data |= {"outcome": outcome, "took_ms": now_ms - started}
        self._loop.trace.emit(kind, self.lane, **data)
        return now_ms


def _victims(pods: list[Any], candidate: Candidate) -> dict[str, Any]:
    return {"Pods": pods, "NumPDBViolations": candidate.pdb_violations}


def _decoded(read: Callable[[bytes], _T], body: bytes) -> _T:
    try:
        return read(body)
    except WireError as error:
        raise ExtenderError(str(error)) from None


class Extenders:
    """All extenders of a scheduler, in the order they are asked: those that may be ignored come last."""

    def __init__(self, configs: Sequence[Extender], http: HTTPCaller | None, loop: Loop | None = None) -> None:
        if configs and http is None:
            raise ValueError("http: None, expected an HTTPCaller, since there are extenders")
        binders = sum(bool(config.bind_verb) for config in configs)
        if binders > 1:
            raise ValueError(
                f"extenders: found {binders} extenders implementing bind: only one extender can implement bind"
            )
        made = [] if http is None else [HTTPExtender(config, http, loop) for config in configs]
        self._all = sorted(made, key=lambda extender: extender.config.ignorable)

    def __bool__(self) -> bool:
        return bool(self._all)

    def stand_in(self, lane: str) -> None:
        """In which lane of a trace they are asked: the scheduler's."""
        for extender in self._all:
            extender.lane = lane

    @property
    def choose_nodes(self) -> bool:
        """Whether any of them filters or scores: then one feasible Node is not enough."""
        return any(extender.config.filter_verb or extender.config.prioritize_verb for extender in self._all)

    async def filter(self, pod: Object, nodes: list[NodeInfo], diagnosis: Diagnosis) -> list[NodeInfo]:
        """The Nodes that all of them leave; what they say of the others goes into `diagnosis`.

        Raises ExtenderError when one fails that may not be ignored.
        """
        for extender in self._all:
            if not nodes:
                break
            if not extender.is_interested(pod):
                continue
            try:
                found = await extender.filter(pod, nodes)
            except ExtenderError:
                if extender.config.ignorable:
                    continue
                raise
            for name, text in found.failed_and_unresolvable.items():
                diagnosis.node_to_status.set(name, Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text))
            for name, text in found.failed.items():
                if name not in found.failed_and_unresolvable:
                    diagnosis.node_to_status.set(name, Status(Code.UNSCHEDULABLE, text))
            nodes = found.nodes
        return nodes

    async def prioritize(self, pod: Object, nodes: Sequence[NodeInfo]) -> list[tuple[str, list[int], list[int]]]:
        """Per extender that scores: (its URL, scores over `nodes`, the same times weight, scaled to 0 to 100).

        One that fails gives no scores: the others decide. Products wrap around, as Go's int64.
        """
        columns = []
        for extender in self._all:
            if not extender.config.prioritize_verb or not extender.is_interested(pod):
                continue
            try:
                answer = await extender.prioritize(pod, nodes)
            except ExtenderError:
                continue  # said in the trace
            sums: dict[str, int] = {}
            for host, score in answer:
                sums[host] = sums.get(host, 0) + score
            raw = [wrap_int64(sums.get(node.name, 0)) for node in nodes]
            columns.append((extender.name, raw, [wrap_int64(score * extender.config.weight * _SCALE) for score in raw]))
        return columns

    async def process_preemption(
        self, pod: Object, candidates: Sequence[Candidate], snapshot: SnapshotView
    ) -> list[Candidate]:
        """What they make of the candidates, one after the other. Raises ExtenderError."""
        left = list(candidates)
        for extender in self._all:
            if not left:
                break
            if not extender.config.preempt_verb or not extender.is_interested(pod):
                continue
            try:
                found = await extender.process_preemption(pod, left, snapshot)
            except ExtenderError:
                if extender.config.ignorable:
                    continue
                raise
            idle = [candidate.node for candidate in found if not candidate.victims]
            if idle and not extender.config.ignorable:
                raise ExtenderError(f"expected at least one victim pod on node {go_quote(idle[0])}")
            left = [candidate for candidate in found if candidate.victims]
        return left

    async def choose_again(
        self, pod: Object, result: PostFilterResult, snapshot: SnapshotView, rng: random.Random
    ) -> tuple[PostFilterResult | None, Status]:
        """Let them say which of a preemption's candidates will do, and choose among those."""
        try:
            left = await self.process_preemption(pod, result.candidates, snapshot)
        except ExtenderError as error:
            return None, Status(Code.ERROR, f"preemption: {error}")
        if not left:
            return None, Status(Code.UNSCHEDULABLE, "preemption: no candidate node for preemption")
        choice = choose(left, rng)
        return PostFilterResult(choice.node, choice, left), SUCCESS

    @property
    def preempt(self) -> bool:
        """Whether one of them has a say in preemption."""
        return any(extender.config.preempt_verb for extender in self._all)

    async def bind(self, pod: Object, node_name: str) -> bool:
        """Whether an extender has bound the Pod; raises ExtenderError."""
        for extender in self._all:
            if not extender.config.bind_verb or not extender.is_interested(pod):
                continue
            try:
                await extender.bind(pod, node_name)
            except ExtenderError:
                if extender.config.ignorable:
                    continue
                raise
            return True
        return False
