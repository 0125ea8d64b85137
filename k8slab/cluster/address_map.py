"""Who has which address: a cluster's nodes, their ranges, and every lease, to step through.

>>> from k8slab import Cluster
>>> cluster = Cluster(nodes=1, cni="bridge")
>>> _ = cluster.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"},
...                    "spec": {"containers": [{"name": "c", "image": "app:1"}]}})
>>> cluster.run()
True
>>> AddressMap(cluster).view()["addresses"]["node-1"]["cells"]["10.244.1.2"]
{'s': 'held', 'who': 'a'}
>>> cluster.close()

Upstream: none; what `ls /var/lib/cni/networks/NETWORK` and `kubectl get pods -o wide` say together.
Simplified: of a range with more than 32 addresses only those are shown that are taken, and the next.
"""

from __future__ import annotations

from ipaddress import IPv4Address, ip_network
from typing import TYPE_CHECKING, Any

from k8slab.sim import Loop, Trace

if TYPE_CHECKING:
    from k8slab.cluster.cluster import Cluster
    from k8slab.network import SandboxNetwork

__all__ = ["AddressMap"]

_MOST = 32


class AddressMap:
    """A steppable around a cluster that was built with `cni`: `Stepper(AddressMap(cluster), for_ms=…)`.

    A cell's state `s` is free, gateway, held, leak (leased to no sandbox the runtime knows), down (its machine has no
    power) or twice (Pods of two nodes have it). ValueError: the cluster has no CNI.
    """

    views = ("addresses", "lanes")
    looks_within = True  # several plugins run in one action
    title = "Who has which address"

    def __init__(self, cluster: Cluster) -> None:
        if cluster.fabric is None:
            raise ValueError("cluster: it has no CNI plugins, expected Cluster(cni='bridge')")
        self.cluster = cluster

    @property
    def loop(self) -> Loop:
        return self.cluster.loop

    @property
    def trace(self) -> Trace:
        return self.cluster.trace

    def step(self) -> bool:
        """One action of the cluster."""
        return self.cluster.step()

    def view(self) -> dict[str, Any]:
        """By node its range, whether it has power, how many addresses it can give, the last one given, and cells."""
        owners = {name: network.owners() for name, network in self.cluster.networks.items()}
        times: dict[str, int] = {}
        for taken in owners.values():
            for address in taken:
                times[address] = times.get(address, 0) + 1
        nodes = {name: self._node(name, owners[name], times) for name in self.cluster.networks}
        return {"addresses": {name: node for name, node in nodes.items() if node}}

    def _node(self, name: str, owners: dict[str, str], times: dict[str, int]) -> dict[str, Any]:
        from k8slab.network import LeaseStore  # only where there is CNI: import k8slab.cluster stays quick
        from k8slab.network.plugins.host_local.allocator import candidates
        from k8slab.network.plugins.host_local.config import DEFAULT_DATA_DIR, load_ipam_config

        network, is_on = self.cluster.networks[name], self.cluster.nodes[name].is_on
        config = _ipam(network)
        if config is None:
            return {}
        ranges = load_ipam_config(config, "").ranges[0]
        store = LeaseStore(network.machine.files, f"{DEFAULT_DATA_DIR}/{config['name']}")
        last = store.last_reserved("0")
        all_given = sum(int(one.end) - int(one.start) + 1 - (one.gateway in one) for one in ranges)
        cells: dict[str, dict[str, str]] = {}
        if all_given < _MOST:
            cells = {str(address): {"s": "free", "who": ""} for address, _ in candidates(ranges, None)}
            cells |= {str(one.gateway): {"s": "gateway", "who": ""} for one in ranges}
        else:
            following = (str(a) for a, _ in candidates(ranges, last) if str(a) not in owners)
            cells = {address: {"s": "free", "who": ""} for address in [*owners, *list(following)[:1]]}
        for address, who in owners.items():
            state = "twice" if times[address] > 1 else "held" if who else "leak"
            cells[address] = {"s": state if is_on else "down", "who": who.removeprefix("default/")}
        ordered = dict(sorted(cells.items(), key=lambda cell: _number(cell[0])))
        shown = ", ".join(str(one.subnet) for one in ranges)
        return {"range": shown, "on": is_on, "size": all_given, "last": str(last or ""), "cells": ordered}


def _ipam(network: SandboxNetwork) -> dict[str, Any] | None:
    """The configuration of the plugin that has host-local behind it, None when none has."""
    for plugin in network.network.plugins if network.network is not None else ():
        ipam = plugin.config.get("ipam")
        if isinstance(ipam, dict) and ipam.get("type") == "host-local":
            found = network.network
            return {**plugin.config, "name": found.name, "cniVersion": found.cni_version} if found else None
    return None


def _number(address: str) -> tuple[int, int]:
    network = ip_network(address)
    return network.version, int(network.network_address if network.version == 6 else IPv4Address(address))
