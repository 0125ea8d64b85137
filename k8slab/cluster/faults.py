"""Faults: what goes wrong in a cluster, on purpose.

Every method checks its arguments and returns the deed, so that a wrong call is refused before it is recorded.

Upstream: none. Spec: the fault model of Jepsen and of chaos engineering: crash, restart, partition, slowness, power.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from k8slab.cluster.control_plane import ControlPlane
from k8slab.cluster.node import Machine
from k8slab.cluster.process import Process
from k8slab.etcd import EtcdCluster
from k8slab.sim import Network, matches
from k8slab.sim.clock import milliseconds

__all__ = ["Faults"]

Deed = Callable[[], None]


class EtcdProcess:
    """A member of etcd, killed and started like any other process; a crash loses what its disk has not synced."""

    def __init__(self, etcd: EtcdCluster, id: int) -> None:
        self.loop = etcd.loop
        self.name = etcd.raft.endpoint(id)
        self._raft = etcd.raft
        self._id = id

    def kill(self) -> None:
        """End it where it stands; idempotent."""
        self._raft.crash(self._id)

    def start(self) -> None:
        """Start it from its disk, unless it runs."""
        if self._id not in self._raft.alive:
            self._raft.restart(self._id)


class Faults:
    """The switches of one cluster."""

    def __init__(self, plane: ControlPlane, nodes: Mapping[str, Machine], network: Network, you: str) -> None:
        self._plane = plane
        self._nodes = nodes
        self._network = network
        self._you = you

    def fail_node(self, name: str) -> Deed:
        return self._machine(name).power_off

    def restore_node(self, name: str) -> Deed:
        return self._machine(name).power_on

    def partition(self, component: str, others: Sequence[str]) -> Deed:
        for name in (component, *others):
            self._check_component(name)
        return lambda: self._network.partition([component], others or ("apiserver",))

    def heal(self) -> Deed:
        return self._network.heal

    def slow_watch(self, component: str, delay_ms: int) -> Deed:
        milliseconds("delay_ms", delay_ms)
        self._check_component(component)

        def slow() -> None:
            for server in self._plane.servers:
                server.slow_watch(component, delay_ms)

        return slow

    def crash(self, component: str, before_call: int | None, restart_after_ms: int | None) -> Deed:
        process = self._process(component)
        if restart_after_ms is not None:
            milliseconds("restart_after_ms", restart_after_ms)
        if before_call is not None and (isinstance(before_call, bool) or not isinstance(before_call, int)):
            raise TypeError(f"before_call: {before_call!r}: expected a whole number of calls")
        if before_call is not None and before_call < 0:
            raise ValueError(f"before_call {before_call}: expected 0 or more")

        def crash() -> None:
            process.kill()
            if restart_after_ms is not None:
                process.loop.call_later(restart_after_ms, process.start)

        if before_call is None:
            return crash
        if process.name not in self._plane.call_points:
            raise ValueError(f"before_call: {component} calls no API server")
        return lambda: self._plane.call_points[process.name].crash_before(before_call, crash)

    def restart(self, component: str) -> Deed:
        return self._process(component).start

    # -- names -------------------------------------------------------------------------------------

    def _machine(self, name: str) -> Machine:
        if not isinstance(name, str) or name not in self._nodes:
            raise ValueError(f"node {name!r}: expected one of {', '.join(self._nodes)}")
        return self._nodes[name]

    def _processes(self) -> dict[str, Process | EtcdProcess]:
        processes: dict[str, Process | EtcdProcess] = {p.name: p for p in (self._plane.manager, self._plane.scheduler)}
        processes |= {process.name: process for process in self._plane.more_schedulers.values()}
        processes |= self._plane.operators
        processes |= {m.kubelet.name: m.kubelet for m in self._nodes.values()}
        etcd = self._plane.etcd
        members = [] if etcd is None else [EtcdProcess(etcd, id) for id in etcd.raft.members]
        return processes | {member.name: member for member in members}

    def _check_component(self, name: str) -> None:
        """ValueError when nobody on the network has this name or prefix."""
        known = [*self._processes(), *(server.name for server in self._plane.servers), self._you]
        if not isinstance(name, str) or not name or not any(matches(one, name) for one in known):
            raise ValueError(f"component {name!r}: expected one of {', '.join(known)}, or the first part of one")

    def _process(self, name: str) -> Process | EtcdProcess:
        processes = self._processes()
        if not isinstance(name, str) or name not in processes:
            raise ValueError(f"component {name!r}: expected one of {', '.join(processes)}")
        return processes[name]
