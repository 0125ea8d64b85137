"""All plugins on a machine, as executables in a folder.

>>> import random
>>> machine = Machine("node-1", random.Random(7))
>>> install_plugins(machine)
>>> sorted(path.rpartition("/")[2] for path in machine.programs.programs)
['bandwidth', 'bridge', 'host-local', 'loopback', 'portmap']

Upstream: containernetworking/plugins (a release is a folder of executables)
"""

from __future__ import annotations

from functools import partial

from k8slab.network.cni.skeleton import Plugin, run
from k8slab.network.fabric.machine import BIN_DIR, Machine
from k8slab.network.plugins.bandwidth import Bandwidth
from k8slab.network.plugins.bridge import Bridge
from k8slab.network.plugins.host_local import HostLocal
from k8slab.network.plugins.loopback import Loopback
from k8slab.network.plugins.portmap import Portmap

__all__ = ["install_plugins"]


def install_plugins(machine: Machine, folder: str = BIN_DIR) -> None:
    """Put bridge, host-local, portmap, bandwidth and loopback there."""
    plugins: tuple[Plugin, ...] = (
        Bridge(machine),
        HostLocal(machine.files),
        Portmap(machine),
        Bandwidth(machine),
        Loopback(machine),
    )
    for plugin in plugins:
        machine.programs.install(folder, plugin.name, partial(run, plugin))
