"""Gangs for tests: Pods and PodGroups of both plugins, as short as the tests can read them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.api.scheme import EVENTS, PODS
from k8slab.scheduler.plugins import coscheduling
from k8slab.scheduler.plugins.coscheduling import POD_GROUP_LABEL
from k8slab.sim.order import Shuffle
from tests.scheduler_world import SchedulerWorld
from tests.scheduling import pod

__all__ = ["GangWorld", "group", "member"]

BORN = "2026-01-01T00:00:00Z"


def member(name: str, of: str, cpu: str = "1", **spec: Any) -> dict[str, Any]:
    """A Pod of a group of the Coscheduling plugin."""
    made = pod(name, cpu, "1Mi", **spec)
    made["metadata"]["labels"] = {POD_GROUP_LABEL: of}
    return made


def group(name: str, min_member: Any, *, born: str = BORN, **spec: Any) -> dict[str, Any]:
    """A PodGroup of the Coscheduling plugin."""
    metadata = {"name": name, "namespace": "default", "creationTimestamp": born}
    return {"metadata": metadata, "spec": {"minMember": min_member, **spec}}


class GangWorld(SchedulerWorld):
    """A fake API server, and one scheduler with the Coscheduling plugin before it (`gates`: these instead)."""

    def __init__(
        self,
        args: Mapping[str, Any] | None = None,
        *,
        seed: int = 7,
        latency_ms: int = 1,
        shuffled: bool = False,
        gates: Mapping[str, bool] | None = None,
    ) -> None:
        how: dict[str, Any] = {"features": FeatureGates(overrides=gates)}
        if gates is None:
            config = [{"name": "Coscheduling", "args": args or {}}]
            how |= {
                "profiles": [{**coscheduling.PROFILE, "pluginConfig": config}],
                "registry": coscheduling.REGISTRY,
            }
        order = Shuffle(random.Random(seed)) if shuffled else None
        super().__init__(seed, latency_ms=latency_ms, order=order, **how)
        self.framework = self.scheduler.frameworks["default-scheduler"]

    def bound(self) -> dict[str, str]:
        """Pods with a Node, by name."""
        return {
            obj["metadata"]["name"]: obj["spec"]["nodeName"]
            for obj in self.server.of(PODS)
            if obj["spec"].get("nodeName")
        }

    def held(self) -> dict[str, str]:
        """Pods that are assumed on a Node, by name."""
        assumed = self.scheduler.view()["cache"]["assumed"]
        return {key.partition("/")[2]: node for key, node in assumed.items()}

    def said(self, name: str) -> list[str]:
        """The messages of a Pod's Events, in their order."""
        events: list[Object] = self.server.of(EVENTS)
        return [event["message"] for event in events if event["involvedObject"]["name"] == name]
