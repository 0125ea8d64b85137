"""How bad things are in a zone, and how fast nodes may be tainted there.

    >>> compute_zone_state(ready=1, not_ready=3)
    <ZoneState.PARTIAL_DISRUPTION: 'PartialDisruption'>
    >>> reduced_qps(51), reduced_qps(50)
    (0.01, 0.0)

Upstream: pkg/controller/nodelifecycle/node_lifecycle_controller.go (ComputeZoneState, HealthyQPSFunc, ReducedQPSFunc,
    classifyNodes, handleDisruption), component-helpers/node/topology/helpers.go
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from k8slab.api.objects import Object

__all__ = ["Disruption", "ZoneSettings", "ZoneState", "compute_zone_state", "disruption", "reduced_qps", "zone_key"]


class ZoneState(StrEnum):
    INITIAL = "Initial"
    NORMAL = "Normal"
    FULL_DISRUPTION = "FullDisruption"
    PARTIAL_DISRUPTION = "PartialDisruption"


@dataclass(frozen=True, slots=True)
class ZoneSettings:
    """Upstream's flags: node-eviction-rate, secondary-node-eviction-rate, unhealthy-zone-threshold,
    large-cluster-size-threshold. Rates are nodes a second."""

    eviction_rate: float = 0.1
    secondary_eviction_rate: float = 0.01
    unhealthy_threshold: float = 0.55
    large_cluster_size: int = 50

    def qps(self, state: ZoneState, zone_size: int) -> float | None:
        """The rate in a zone that entered `state`; None: as it was."""
        if state is ZoneState.INITIAL:
            return None
        if state is ZoneState.PARTIAL_DISRUPTION:
            return reduced_qps(zone_size, self)
        return self.eviction_rate


DEFAULTS = ZoneSettings()


def compute_zone_state(ready: int, not_ready: int, settings: ZoneSettings = DEFAULTS) -> ZoneState:
    """Full disruption: no node is ready. Partial: at least three are not, and they are 55 % or more."""
    if ready == 0 and not_ready > 0:
        return ZoneState.FULL_DISRUPTION
    if not_ready > 2 and not_ready / (not_ready + ready) >= settings.unhealthy_threshold:
        return ZoneState.PARTIAL_DISRUPTION
    return ZoneState.NORMAL


def reduced_qps(nodes: int, settings: ZoneSettings = DEFAULTS) -> float:
    """The rate in a partly disrupted zone: slower in a large one, none in a small one."""
    return settings.secondary_eviction_rate if nodes > settings.large_cluster_size else 0.0


def zone_key(node: Object) -> str:
    """Region and zone of a node as one text, "" if it has neither label."""
    labels = node["metadata"].get("labels") or {}
    region = labels.get("topology.kubernetes.io/region") or labels.get("failure-domain.beta.kubernetes.io/region") or ""
    zone = labels.get("topology.kubernetes.io/zone") or labels.get("failure-domain.beta.kubernetes.io/zone") or ""
    return f"{region}:\x00:{zone}" if region or zone else ""


class Disruption(StrEnum):
    """What a look at all zones asks for."""

    NOTHING = "nothing"  # every zone is and was down: evictions stay stopped
    ENTER = "enter"  # every zone is down now: stop evictions, take taints off
    LEAVE = "leave"  # every zone was down: start afresh
    FOLLOW = "follow"  # let each zone's rate follow its state


def disruption(old: Mapping[str, ZoneState], new: Mapping[str, ZoneState]) -> Disruption:
    """When every zone is down the fault is likely the controller's, not the nodes'."""
    all_are = all(state is ZoneState.FULL_DISRUPTION for state in new.values())
    all_were = all(state is ZoneState.FULL_DISRUPTION for state in old.values())
    if all_are:
        return Disruption.NOTHING if all_were else Disruption.ENTER
    return Disruption.LEAVE if all_were else Disruption.FOLLOW
