"""A machine: its containers, its kubelet, its power switch.

Upstream: none (hardware).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from k8slab.cluster.process import Process
from k8slab.kubelet import ContainerRuntime, Kubelet, NodeConfig, PodNetwork, Timings
from k8slab.sim import Component, Loop

__all__ = ["Machine", "default_node", "node_configs"]


def default_node(number: int) -> NodeConfig:
    """`node-1`, `node-2`, ...: 4 CPUs, 16 GiB, 110 Pods, addresses from its number."""
    high, low = divmod(number, 250)
    return NodeConfig(
        f"node-{number}", internal_ip=f"10.0.{high}.{low + 1}", pod_cidr=f"10.{244 + number // 256}.{number % 256}.0/24"
    )


def node_configs(nodes: int | Sequence[NodeConfig]) -> list[NodeConfig]:
    if isinstance(nodes, bool) or (isinstance(nodes, int) and not 0 <= nodes <= 5_000):
        raise ValueError(f"nodes {nodes!r}: expected a number from 0 to 5000, or a list of NodeConfig")
    configs = [default_node(n) for n in range(1, nodes + 1)] if isinstance(nodes, int) else list(nodes)
    names = [config.name for config in configs]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"nodes: name {name!r} is there twice")
    return configs


class Machine:
    """A node's hardware. `start_kubelet(component, runtime)` builds the agent. `network`: see `ContainerRuntime`."""

    def __init__(
        self,
        loop: Loop,
        config: NodeConfig,
        timings: Timings,
        start_kubelet: Callable[[Component, ContainerRuntime], Kubelet],
        network: PodNetwork | None = None,
    ) -> None:
        self.loop = loop
        self.config = config
        self.runtime = ContainerRuntime(config, timings, network=network)
        self.is_on = True
        self.kubelet = Process(loop, f"kubelet/{config.name}", lambda component: start_kubelet(component, self.runtime))

    def power_off(self) -> None:
        """Everything on the machine stops at once; nobody says goodbye."""
        if self.is_on:
            self.is_on = False
            self.kubelet.kill()
            self.runtime.lose_power(self.loop.clock.now_ms)
            self.loop.trace.silenced[self.kubelet.name] = self._tell_power()
            self.loop.trace.current = None

    def power_on(self) -> None:
        """The machine boots: its kubelet starts and finds containers that have ended."""
        if not self.is_on:
            self.is_on = True
            self._tell_power()
            self.loop.trace.silenced.pop(self.kubelet.name, None)
            self.kubelet.start()
            self.loop.trace.current = None

    def _tell_power(self) -> int | None:
        """Power comes and goes by the reader's command: nothing in the simulation is its cause."""
        self.loop.trace.current = None
        return self.loop.trace.emit("node.power", self.kubelet.name, node=self.config.name, on=self.is_on)
