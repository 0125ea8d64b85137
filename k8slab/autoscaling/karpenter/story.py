"""Karpenter as steps: nodes come, Pods go there, and what costs more than it must is taken away.

>>> from k8slab.autoscaling.cloud import small_catalogue
>>> from k8slab.autoscaling.karpenter import KarpenterStory
>>> pool = {"metadata": {"name": "default"}, "spec": {"template": {"spec": {"requirements": []}}}}
>>> story = KarpenterStory([pool], small_catalogue(), ["scale web 2 cpu=900m memory=1Gi", "wait 2m"])
>>> while story.step():
...     pass
>>> story.dollars_an_hour, [row["stage"] for row in story.view()["consolidation"]["nodes"].values()]
('0.022', ['Initialized'])

Upstream: none; see `small_world`
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import k8slab.autoscaling.karpenter.kinds  # noqa: F401  (adds the rows of this package)
from k8slab.api.go_duration import format_duration_ms, parse_duration_ns
from k8slab.api.objects import Object
from k8slab.api.quantity import Quantity
from k8slab.autoscaling.cloud import InstanceType, SpotInterruptionNotice
from k8slab.autoscaling.karpenter.node_claim import LAUNCHED
from k8slab.autoscaling.karpenter.pod_data import requests_of
from k8slab.autoscaling.karpenter.pods import DO_NOT_DISRUPT
from k8slab.autoscaling.karpenter.small_world import SmallWorld
from k8slab.autoscaling.karpenter.state import StateNode
from k8slab.scheduler.framework import PodInfo
from k8slab.sim import Clock, Trace
from k8slab.sim.kinds import cut

__all__ = ["KarpenterStory", "dollars"]

_QUIET = ("Unconsolidatable", "DisruptionBlocked", "FailedScheduling")
_MOST_WORDS = 74


def dollars(micros: int) -> str:
    """Millionths of a dollar as people write prices, to a tenth of a cent."""
    return f"{micros / 1e6:.3f}"


class KarpenterStory:
    """A steppable: carries `operations` out; each step is a moment at which something happened.

    Operations are texts: `scale web 6 cpu=900m memory=1Gi` (also `gpu=1`, `protect=true` for do-not-disrupt; what a Pod
    needs is said once), `wait 5m`, `interrupt default-1` (the cloud takes a spot instance back), `delete default-1`
    (the NodeClaim). `more`: as for `SmallWorld`. ValueError: an operation that cannot be understood, or not be done
    now.
    """

    views = ("consolidation",)
    title = "Karpenter"
    looks_within = True

    def __init__(
        self, pools: Iterable[Object], types: Sequence[InstanceType], operations: Iterable[str] = (), **more: Any
    ) -> None:
        self.clock = Clock()
        self.trace = Trace(self.clock)
        self.world = SmallWorld(pools, types, tell=self._hear, **more)
        self._todo = deque(operations)
        self._until_ms: int | None = None
        for operation in self._todo:
            _checked(operation)

    # -- steppable ---------------------------------------------------------------------------------

    def view(self) -> dict[str, Any]:
        """`consolidation`: `now_ms`, `price` (micro-dollars an hour), `spent` (micro-dollars), `waiting` Pods, and
        `nodes` with type, zone, kind, price, stage, milli-CPU used and there, Pods, and whether they go."""
        world = self.world
        rows = {name: self._row(node) for name, node in world.state.nodes.items()}
        waiting = {key.partition("/")[2]: _cpu(PodInfo(pod)) for key, pod in world.state.waiting.items()}
        return {
            "consolidation": {
                "now_ms": world.now_ms,
                "price": sum(row["price"] for row in rows.values()),
                "spent": world.cloud.cost_micros(world.now_ms),
                "waiting": waiting,
                "nodes": rows,
            }
        }

    def _row(self, node: StateNode) -> dict[str, Any]:
        claim = node.claim
        assert claim is not None
        price = self.world.state.catalogue.price(claim.instance_type, claim.zone, claim.capacity_type)
        used = sum(requests_of(info).get("cpu", 0) for info in node.pods.values())
        stage = "Draining" if claim.deleted_ms is not None else claim.stage
        return {
            "type": claim.instance_type,
            "zone": claim.zone,
            "kind": claim.capacity_type,
            "price": price or 0,
            "stage": stage if claim.is_true(LAUNCHED) else "Created",
            "goes": node.is_deleting,
            "cpu": {"used": used, "has": node.allocatable().get("cpu", 0)},
            "pods": {key.partition("/")[2]: _cpu(info) for key, info in node.pods.items()},
        }

    def step(self) -> bool:
        """On to the next moment at which something happens; False when nothing is left to do."""
        before = len(self.trace)
        while len(self.trace) == before:
            if self._until_ms is not None:
                self._go_on()
            elif self._todo:
                self.do(self._todo.popleft())
            else:
                return False
        return True

    def _go_on(self) -> None:
        assert self._until_ms is not None
        due = self.world.next_due_ms()
        if due > self._until_ms:
            self.world.now_ms = self.clock.now_ms = self._until_ms
            self._until_ms = None
            self._tell("karpenter.time", "autoscaler", now=format_duration_ms(self.clock.now_ms))
            return
        self.clock.now_ms = due
        self.trace.current = None
        self.world.advance()

    def command(self, text: str) -> None:
        """An operation that a reader typed in a live Stepper: done now. ValueError: not understood."""
        self.do(text)

    def do(self, operation: str) -> None:
        """Carry an operation out; a `wait` begins, and is over some steps later."""
        verb, name, words = _checked(operation)
        self.trace.current = None
        match verb:
            case "wait":
                self._until_ms = self.clock.now_ms + parse_duration_ns(name) // 1_000_000
                self.world.settle()
            case "scale":
                replicas = int(words.pop(""))
                count = f"{replicas} replica{'' if replicas == 1 else 's'}"
                self._tell("karpenter.change", "you", what=f"{name} has {count}")
                fresh = bool(words) or not self.world.knows(name)
                self.world.scale(name, replicas, _template(words) if fresh else None)
            case "interrupt":
                self._interrupt(name)
            case "delete":
                self._tell("karpenter.change", "you", what=f"nodeclaim {name} is deleted")
                self.world.karpenter.delete_claim(name, self.clock.now_ms)

    def _interrupt(self, claim: str) -> None:
        cloud = self.world.cloud
        found = next((one for one in cloud.live() if one.tags.get("karpenter.sh/nodeclaim") == claim), None)
        if found is None:
            raise ValueError(f"interrupt {claim}: no live instance has this name")
        notices = cloud.interrupt(found.id, self.clock.now_ms)
        self._tell("karpenter.cloud", "autoscaler", node=claim, what="will be taken back in two minutes")
        for notice in notices:
            if isinstance(notice, SpotInterruptionNotice):
                self.world.karpenter.interrupted(notice, self.clock.now_ms)

    # -- what happens ------------------------------------------------------------------------------

    def _hear(self, kind: str, about: str, message: str) -> None:
        match kind:
            case "decide":
                reason, _, why = message.partition(": ")
                quiet = "karpenter.look" if reason in _QUIET else "karpenter.decide"
                self._tell(quiet, "autoscaler", about=about, reason=reason, why=cut(why, _MOST_WORDS))
            case "bind":
                self._tell("karpenter.bind", "scheduler", pod=about, node=message)
            case "wait":
                self._tell("karpenter.wait", "scheduler", pod=about, why=cut(message, _MOST_WORDS))
            case "evict":
                self._tell("karpenter.evict", "autoscaler", pod=about, node=message)
            case "node":
                self._tell("karpenter.node", "autoscaler", node=about, what=cut(message, _MOST_WORDS))
            case _:
                self._tell("karpenter.cloud", "autoscaler", node=about, what=message)

    def _tell(self, kind: str, lane: str, **data: Any) -> None:
        self.trace.emit(kind, lane, **data)

    @property
    def dollars_an_hour(self) -> str:
        """What the live instances cost."""
        return dollars(self.world.price_micros)


def _cpu(info: PodInfo) -> int:
    return info.requested.milli_cpu


def _checked(operation: str) -> tuple[str, str, dict[str, str]]:
    """Verb, name, and words by their keys; a word without `=` is at ""."""
    verb, *rest = operation.split()
    shapes = {"scale": "scale NAME REPLICAS [cpu=… memory=… gpu=… protect=true]", "wait": "wait DURATION"}
    shapes |= {"interrupt": "interrupt NODE", "delete": "delete NODE"}
    if verb not in shapes or len(rest) < (2 if verb == "scale" else 1):
        raise ValueError(f"operation {operation!r}: expected one of {'; '.join(shapes.values())}")
    words: dict[str, str] = {}
    for word in rest[1:]:
        key, equals, value = word.partition("=")
        words[key if equals else ""] = value if equals else key
    known = ("", "cpu", "memory", "gpu", "protect") if verb == "scale" else ()
    if any(key not in known for key in words) or (verb == "scale" and not words.get("", "").isdecimal()):
        raise ValueError(f"operation {operation!r}: expected {shapes[verb]}")
    if verb == "wait":
        try:
            parse_duration_ns(rest[0])
        except ValueError as error:
            raise ValueError(f"operation {operation!r}: {error}") from None
    for key in ("cpu", "memory", "gpu"):
        if key in words:
            Quantity.parse(words[key])
    return verb, rest[0], words


def _template(words: dict[str, str]) -> Object:
    requests = {"cpu": words.get("cpu", "500m"), "memory": words.get("memory", "512Mi")}
    if "gpu" in words:
        requests["nvidia.com/gpu"] = words["gpu"]
    annotations = {DO_NOT_DISRUPT: words["protect"]} if "protect" in words else {}
    return {"metadata": {"annotations": annotations}, "spec": {"containers": [{"resources": {"requests": requests}}]}}
