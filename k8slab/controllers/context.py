"""What every controller gets when it is built: the loop, a client, shared informers, gates and options.

Upstream: cmd/kube-controller-manager/app/controllermanager.go (ControllerContext, ControllerDescriptor)
Simplified: one client for all controllers (upstream gives each its own user agent and, with
--use-service-account-credentials, its own ServiceAccount); no leader election around the whole process here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from k8slab.api.features import FeatureGates
from k8slab.client import Client, EventRecorder, SharedInformerFactory
from k8slab.sim.component import Component
from k8slab.sim.loop import Loop

__all__ = ["OPTIONS", "Controller", "ControllerContext"]

OPTIONS = (
    "allocate-node-cidrs",
    "cluster-cidr",
    "concurrent-deployment-syncs",
    "concurrent-gc-syncs",
    "concurrent-namespace-syncs",
    "concurrent-replicaset-syncs",
    "concurrent-service-endpoint-syncs",
    "concurrent-serviceaccount-syncs",
    "custom-resources",
    "garbage-collector-resources",
    "large-cluster-size-threshold",
    "max-endpoints-per-slice",
    "namespaced-resources",
    "node-cidr-mask-size-ipv4",
    "node-cidr-mask-size-ipv6",
    "node-eviction-rate",
    "node-monitor-grace-period-ms",
    "node-monitor-period-ms",
    "node-startup-grace-period-ms",
    "root-ca",
    "secondary-node-eviction-rate",
    "service-cluster-ip-range",
    "service-node-port-range",
    "terminated-pod-gc-threshold",
    "unhealthy-zone-threshold",
)
"""What `ControllerContext.options` may hold: upstream's flags, and what upstream discovers or reads from files."""


class Controller(Protocol):
    """What all controllers have in common once they are built."""

    def start(self) -> None:
        """Start the tasks; they wait for the informers by themselves."""


@dataclass(slots=True)
class ControllerContext:
    """The surroundings of the controllers of one controller manager.

    `component` is the process (`kcm`); each controller's tasks are `kcm/<name>`. `informers` is shared by all
    controllers and is started by whoever built the context, after every controller registered its handlers.
    `options` holds settings by upstream's flag names, durations with the suffix `-ms`
    (`node-monitor-grace-period-ms`), `concurrent-deployment-syncs`.
    """

    loop: Loop
    component: Component
    client: Client
    informers: SharedInformerFactory
    features: FeatureGates
    options: Mapping[str, Any] = field(default_factory=dict)
    _recorders: dict[str, EventRecorder] = field(default_factory=dict)

    def recorder(self, source: str) -> EventRecorder:
        """The event recorder whose events name `source` (`deployment-controller`) as their component."""
        found = self._recorders.get(source)
        if found is None:
            found = self._recorders[source] = EventRecorder(self.loop, self.client, self.component, source)
        return found

    def option(self, flag: str, default: int) -> int:
        """The integer option called `flag`, or `default`. ValueError when it is set to something else."""
        value = self.options.get(flag, default)
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"option {flag}: {value!r}: expected an integer")
        return value
