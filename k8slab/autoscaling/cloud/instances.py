"""One instance of the cloud, and what the cloud tells of it.

State machine: pending -> running -> shutting-down -> terminated; pending -> shutting-down too. `is_booted` says more:
the operating system is up, and its kubelet may register.

Upstream: none; the states and the 2 minutes' notice are EC2's, as karpenter and the Cluster Autoscaler meet them.
Simplified: stopped and hibernating instances; rebalance recommendations ahead of an interruption.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from k8slab.autoscaling.cloud.instance_types import InstanceType, Pool

__all__ = [
    "CloudEvent",
    "Instance",
    "InstanceBooted",
    "InstanceRunning",
    "InstanceShuttingDown",
    "InstanceState",
    "InstanceTerminated",
    "SpotInterruptionNotice",
]


class InstanceState(StrEnum):
    """Where an instance is in its life."""

    PENDING = "pending"
    RUNNING = "running"
    SHUTTING_DOWN = "shutting-down"
    TERMINATED = "terminated"


@dataclass(slots=True)
class Instance:
    """A machine that was bought. Moments in ms of virtual time, None: not yet, or never.

    Billed from `running_ms` until `shutting_down_ms`. `interruption_ms`: when the cloud takes it back, once it has
    said so. `will_boot` is the cloud's secret: an instance may run and never come up.
    """

    id: str
    instance_type: InstanceType
    zone: str
    capacity_type: str
    price_micros: int
    launched_ms: int
    tags: Mapping[str, str] = field(default_factory=dict)
    state: InstanceState = InstanceState.PENDING
    running_ms: int | None = None
    booted_ms: int | None = None
    interruption_ms: int | None = None
    shutting_down_ms: int | None = None
    terminated_ms: int | None = None
    will_boot: bool = True

    @property
    def pool(self) -> Pool:
        return Pool(self.instance_type.name, self.zone, self.capacity_type)

    @property
    def is_booted(self) -> bool:
        """Its operating system is up, and stays up."""
        return self.booted_ms is not None and self.state is InstanceState.RUNNING

    @property
    def is_live(self) -> bool:
        """It takes capacity and quota."""
        return self.state in (InstanceState.PENDING, InstanceState.RUNNING)

    @property
    def provider_id(self) -> str:
        """What `spec.providerID` of its Node says."""
        return f"k8slab:///{self.zone}/{self.id}"

    def cost(self, now_ms: int) -> int:
        """What it has cost so far, in micro-dollars times ms an hour (exact; divide sums by 3,600,000)."""
        if self.running_ms is None:
            return 0
        end = now_ms if self.shutting_down_ms is None else self.shutting_down_ms
        return max(end - self.running_ms, 0) * self.price_micros


@dataclass(frozen=True, slots=True)
class InstanceRunning:
    """The machine was given; it boots, and is billed."""

    at_ms: int
    instance: str


@dataclass(frozen=True, slots=True)
class InstanceBooted:
    """Its operating system is up: whoever wires nodes starts a kubelet on it now."""

    at_ms: int
    instance: str


@dataclass(frozen=True, slots=True)
class SpotInterruptionNotice:
    """The cloud takes the instance back at `interruption_ms`, two minutes from now."""

    at_ms: int
    instance: str
    interruption_ms: int


@dataclass(frozen=True, slots=True)
class InstanceShuttingDown:
    """Its power goes now. `reason`: `user` or `spot interruption`."""

    at_ms: int
    instance: str
    reason: str


@dataclass(frozen=True, slots=True)
class InstanceTerminated:
    """It is gone."""

    at_ms: int
    instance: str


CloudEvent: TypeAlias = (
    InstanceRunning | InstanceBooted | SpotInterruptionNotice | InstanceShuttingDown | InstanceTerminated
)
