"""loopback: sets `lo` up, which a new namespace has down.

Upstream: containernetworking/plugins plugins/main/loopback/loopback.go
"""

from __future__ import annotations

from k8slab.network.cni.errors import CNIError
from k8slab.network.cni.results import Interface, IPConfig, Result, previous_result
from k8slab.network.cni.skeleton import Invocation, Plugin
from k8slab.network.fabric.machine import HOST_NETNS, Machine, NetnsError
from k8slab.network.fabric.namespace import Namespace

__all__ = ["Loopback"]


class Loopback(Plugin):
    """`machine`: on whose host it runs."""

    name = "loopback"
    own_netns = HOST_NETNS

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def _inside(self, call: Invocation) -> Namespace:
        try:
            return self.machine.namespace(call.netns)
        except NetnsError as error:
            raise CNIError(str(error)) from None

    def add(self, call: Invocation) -> Result:
        previous = previous_result(call.config)
        inside = self._inside(call)
        inside.set_up("lo")
        if previous is not None:
            return previous
        lo = Interface("lo" if call.if_name == "lo" else call.if_name, "00:00:00:00:00:00", call.netns)
        return Result((lo,), tuple(IPConfig(str(one), "", 0) for one in inside.link("lo").addresses))

    def delete(self, call: Invocation) -> None:
        if call.netns in self.machine.namespaces:
            self.machine.namespaces[call.netns].set_up("lo", False)

    def check(self, call: Invocation) -> None:
        if not self._inside(call).link("lo").is_up:
            raise CNIError("loopback interface is down")
