"""The network of a node's Pods: how a runtime asks plugins for it, the plugins, and what they work on.

Four parts, each usable alone. `cni` is the protocol: `run(plugin, env, stdin)` is a plugin's whole `main`, `CNIConfig`
a runtime's side with its chains and cached results. `plugins` are bridge, host-local, portmap, bandwidth and loopback.
`fabric` is what they change: namespaces, veth pairs, bridges, routes, NAT rules; `send` and `exchange` follow a packet
through it and say why it was dropped. `SandboxNetwork` is the runtime of one node, which `Cluster(cni="bridge")` uses.
`ipam` hands out addresses to a whole cluster: blocks with an affinity to a node, and CIDRs of nodes.

>>> import random
>>> from k8slab.network import Fabric, SandboxNetwork, network_for, send
>>> fabric = Fabric(random.Random(7))
>>> runtimes = {}
>>> for n in (1, 2):
...     _ = fabric.add_machine(f"node-{n}", f"10.0.0.{n}", pod_cidr=f"10.244.{n}.0/24")
...     runtimes[n] = SandboxNetwork(fabric, f"node-{n}", network_for("bridge", f"10.244.{n}.0/24"))
>>> pod = {"metadata": {"name": "web", "namespace": "default", "uid": "u1"}, "spec": {"containers": []}}
>>> runtimes[1].set_up(pod), runtimes[2].set_up(pod)
(('10.244.1.2',), ('10.244.2.2',))
>>> walk = send(fabric, "node-1", "10.244.2.2", netns=runtimes[1].netns_of("default/web"))
>>> walk.delivered, [hop.what for hop in walk.hops]
(True, ['route', 'veth', 'bridge', 'route', 'forward', 'wire', 'route', 'forward', 'bridge', 'veth', 'deliver'])

The caller's duties: a DEL for every ADD, also for one that failed; GC never beside ADD or DEL.

Simplified: no VLANs, nftables, firewall rules, or IPAM over DHCP; packets take no time and nobody listens (see the
modules).
"""

from k8slab.network import kinds as _kinds  # noqa: F401  (adds this package's rows to KINDS)
from k8slab.network.cni.conflist import NetworkConfigList, PluginConfig, load_network
from k8slab.network.cni.errors import CNIError, Code
from k8slab.network.cni.files import Files, MemoryFiles
from k8slab.network.cni.invoke import Executables, Execution
from k8slab.network.cni.libcni import Attachment, CNIConfig, RuntimeConf
from k8slab.network.cni.results import DNS, Interface, IPConfig, Result, Route
from k8slab.network.cni.skeleton import Exit, Invocation, Plugin, run
from k8slab.network.fabric.machine import Fabric, Machine
from k8slab.network.fabric.walk import Hop, Walk, exchange, send
from k8slab.network.fabric.walk_story import WalkStory
from k8slab.network.ipam import Datastore, IPAMClient, IPAMConfig, IPPool, LeakFinder
from k8slab.network.plugins.bandwidth import Bandwidth
from k8slab.network.plugins.bridge import Bridge
from k8slab.network.plugins.host_local import HostLocal
from k8slab.network.plugins.host_local.store import Lease, LeaseStore
from k8slab.network.plugins.install import install_plugins
from k8slab.network.plugins.loopback import Loopback
from k8slab.network.plugins.portmap import Portmap
from k8slab.network.sandbox_network import BRIDGE, Sandbox, SandboxNetwork, network_for

__all__ = [
    "BRIDGE",
    "DNS",
    "Attachment",
    "Bandwidth",
    "Bridge",
    "CNIConfig",
    "CNIError",
    "Code",
    "Datastore",
    "Executables",
    "Execution",
    "Exit",
    "Fabric",
    "Files",
    "Hop",
    "HostLocal",
    "IPAMClient",
    "IPAMConfig",
    "IPConfig",
    "IPPool",
    "Interface",
    "Invocation",
    "LeakFinder",
    "Lease",
    "LeaseStore",
    "Loopback",
    "Machine",
    "MemoryFiles",
    "NetworkConfigList",
    "Plugin",
    "PluginConfig",
    "Portmap",
    "Result",
    "Route",
    "RuntimeConf",
    "Sandbox",
    "SandboxNetwork",
    "Walk",
    "WalkStory",
    "exchange",
    "install_plugins",
    "load_network",
    "network_for",
    "run",
    "send",
]
