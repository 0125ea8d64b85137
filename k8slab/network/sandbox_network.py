"""The container runtime's part: a namespace for each Pod's sandbox, the plugins run on it, the sandbox started after.

This is what containerd's CRI service does in RunPodSandbox and StopPodSandbox: it makes the namespace *itself*, runs
ADD, and only then starts a process in the sandbox. When ADD fails it runs DEL and removes the namespace.

>>> import random
>>> fabric = Fabric(random.Random(7))
>>> node = fabric.add_machine("node-1", "10.0.0.2", pod_cidr="10.244.1.0/24")
>>> runtime = SandboxNetwork(fabric, "node-1", network_for("bridge", "10.244.1.0/24"))
>>> pod = {"metadata": {"name": "web", "namespace": "default", "uid": "u1"}, "spec": {"containers": []}}
>>> runtime.set_up(pod)
('10.244.1.2',)
>>> runtime.tear_down("u1")
>>> sorted(node.namespaces)
['/proc/1/ns/net']

Upstream: containerd internal/cri/server/sandbox_run.go, sandbox_stop.go, internal/cri/bandwidth; containerd/go-cni
Simplified: of the capabilities `portMappings` and `bandwidth` (no `dns`, `cgroupPath`, `podAnnotations`).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from k8slab.api.objects import Object, key_of
from k8slab.api.quantity import Quantity
from k8slab.network.cni.addresses import parse_cidr
from k8slab.network.cni.conflist import NetworkConfigList, load_network
from k8slab.network.cni.errors import CNIError
from k8slab.network.cni.invoke import Execution
from k8slab.network.cni.libcni import Attachment, CNIConfig, RuntimeConf
from k8slab.network.cni.results import Result
from k8slab.network.fabric.machine import Fabric
from k8slab.network.plugins.host_local.config import DEFAULT_DATA_DIR
from k8slab.network.plugins.host_local.store import Lease, LeaseStore
from k8slab.network.plugins.install import install_plugins

__all__ = ["BRIDGE", "Sandbox", "SandboxNetwork", "network_for"]

BRIDGE: dict[str, Any] = {
    "cniVersion": "1.1.0",
    "name": "podnet",
    "plugins": [
        {
            "type": "bridge",
            "bridge": "cni0",
            "isGateway": True,
            "ipam": {"type": "host-local", "routes": [{"dst": "0.0.0.0/0"}]},
        },
        {"type": "portmap", "capabilities": {"portMappings": True}},
        {"type": "bandwidth", "capabilities": {"bandwidth": True}},
    ],
}
"""The list that `cni="bridge"` means. host-local's range is the node's, where none is written."""

_LO = load_network(b'{"cniVersion":"0.3.1","name":"cni-loopback","plugins":[{"type":"loopback"}]}')
_BURST = (1 << 32) - 1
_SMALLEST, _LARGEST = Quantity.parse("1k"), Quantity.parse("1P")

Emit = Callable[..., object]
"""(kind of event, lane, **data)."""


def network_for(cni: str | Mapping[str, Any], pod_cidr: str) -> NetworkConfigList:
    """The list for one node: "bridge", or a list of your own. ValueError: neither, or one that no runtime loads."""
    if cni == "bridge":
        cni = BRIDGE
    if not isinstance(cni, Mapping):
        raise ValueError(f"cni: {cni!r}: expected 'bridge', or a network configuration list")
    body = json.loads(json.dumps(cni))
    for plugin in body.get("plugins") or () if isinstance(body.get("plugins"), list) else ():
        ipam = plugin.get("ipam") if isinstance(plugin, dict) else None
        if isinstance(ipam, dict) and ipam.get("type") == "host-local" and not ("subnet" in ipam or "ranges" in ipam):
            ipam["ranges"] = [[{"subnet": pod_cidr}]]
    try:
        return load_network(json.dumps(body).encode())
    except CNIError as error:
        raise ValueError(f"cni: {error}") from None


@dataclass(slots=True)
class Sandbox:
    """What the runtime has noted of one Pod's sandbox. `result`: None while there is no network."""

    uid: str
    key: str
    id: str
    netns: str
    conf: RuntimeConf
    result: Result | None = None


class SandboxNetwork:
    """One node's. `emit` hears what happens, in the lane `runtime/<node>`. `rng`: for names and ids. `network` may be a
    function that is asked until it has an answer: a list that somebody writes only when the node has a range.

    ValueError: the list names a plugin that is not there, or a version that one does not support.
    """

    def __init__(
        self,
        fabric: Fabric,
        node: str,
        network: NetworkConfigList | Callable[[], NetworkConfigList | None],
        *,
        emit: Emit | None = None,
        rng: random.Random | None = None,
    ) -> None:
        self.fabric = fabric
        self.node = node
        self.network = network if isinstance(network, NetworkConfigList) else None
        self._ask = network if callable(network) else lambda: None
        self.machine = fabric.machines[node]
        install_plugins(self.machine)
        self.machine.programs.on_start, self.machine.programs.on_run = self._starts, self._ended
        self.cni = CNIConfig(self.machine.programs, self.machine.files)
        self.sandboxes: dict[str, Sandbox] = {}
        self._making: Sandbox | None = None
        self.last_error = ""
        self._emit = emit or (lambda kind, lane, **data: None)
        self._rng = rng or self.machine.rng
        self._key = ""
        if self.network is not None:
            self._validate(self.network)

    def _validate(self, network: NetworkConfigList) -> None:
        try:
            self.cni.validate(network)
        except CNIError as error:
            raise ValueError(f"cni: {error}") from None

    def _ready(self) -> NetworkConfigList | None:
        """The list, as soon as there is one."""
        if self.network is None and (found := self._ask()) is not None:
            self._validate(found)
            self.network = found
        return self.network

    # -- what the kubelet's runtime asks -----------------------------------------------------------

    def set_up(self, pod: Object) -> tuple[str, ...]:
        """Make a sandbox's network. Its addresses, IPv4 first; () when it failed: `last_error` says why, and nothing
        of it is left."""
        uid = pod["metadata"]["uid"]
        self.tear_down(uid)
        self._key = key_of(pod)
        sandbox_id = self._rng.randbytes(32).hex()
        network = self._ready()
        if network is None:
            return self._failed(sandbox_id, "cni plugin not initialized")
        try:
            capabilities = _capabilities(pod)
        except CNIError as error:
            return self._failed(sandbox_id, f"get cni namespace options: {error}")
        netns = f"/var/run/netns/cni-{_uuid(self._rng)}"
        conf = RuntimeConf(sandbox_id, netns, "eth0", _labels(pod, sandbox_id), capabilities)
        sandbox = Sandbox(uid, self._key, sandbox_id, netns, conf)
        self._making = sandbox
        try:
            return self._make(sandbox, network)
        finally:
            self._making = None

    def _make(self, sandbox: Sandbox, network: NetworkConfigList) -> tuple[str, ...]:
        """The namespace, the plugins, the sandbox; what was made goes again when one of them fails."""
        netns, sandbox_id = sandbox.netns, sandbox.id
        self.machine.new_namespace(netns)
        self._tell("netns.add", netns=netns.rpartition("/")[2])
        try:
            self.cni.add(_LO, RuntimeConf(sandbox_id, netns, "lo"))
            sandbox.result = self.cni.add(network, sandbox.conf)
        except CNIError as error:
            self._take_down(sandbox)
            return self._failed(sandbox_id, str(error))
        addresses = [str(parse_cidr(one.address).ip) for one in sandbox.result.ips]
        addresses.sort(key=lambda text: ":" in text)
        if not addresses:
            self._take_down(sandbox)
            return self._failed(sandbox_id, "", f'failed to find network info for sandbox "{sandbox_id}"')
        self.sandboxes[sandbox.uid] = sandbox
        self._tell("sandbox.start", ip=addresses[0])
        return tuple(addresses)

    def _failed(self, sandbox_id: str, why: str, instead: str = "") -> tuple[str, ...]:
        what = instead or f'failed to setup network for sandbox "{sandbox_id}": {why}'
        self.last_error = f"rpc error: code = Unknown desc = {what}"
        return ()

    def tear_down(self, uid: str) -> None:
        """Undo it; idempotent. Where DEL fails, the sandbox stays noted and the next call tries again."""
        sandbox = self.sandboxes.get(uid)
        if sandbox is not None and self._take_down(sandbox):
            del self.sandboxes[uid]

    def _take_down(self, sandbox: Sandbox) -> bool:
        """DEL, then the namespace. Whether that went well."""
        self._key = sandbox.key
        assert self.network is not None  # or there would be no sandbox
        try:
            self.cni.delete(self.network, sandbox.conf)
            self.cni.delete(_LO, RuntimeConf(sandbox.id, sandbox.netns, "lo"))
        except CNIError as error:
            self.last_error = f'failed to destroy network for sandbox "{sandbox.id}": {error}'
            return False
        if sandbox.netns in self.machine.namespaces:
            self.machine.remove_namespace(sandbox.netns)
            self._tell("netns.remove", netns=sandbox.netns.rpartition("/")[2])
        return True

    def lose_power(self) -> None:
        """The kernel forgets namespaces, links and rules; leases, cached results and the runtime's notes are files.

        The machine comes back with its card alone: what is left of the sandboxes is torn down when somebody asks."""
        self.machine.lose_power()
        self.fabric.plug_in(self.node)

    # -- what an administrator asks ----------------------------------------------------------------

    def forget(self) -> None:
        """A fault: the runtime's notes are lost (its state was on a disk that did not survive), the leases are not."""
        self.sandboxes.clear()

    def gc(self) -> None:
        """Tell the plugins which attachments are valid, so that they free the rest. CNIError with what failed."""
        self._key = ""
        valid = [Attachment(one.id, one.conf.if_name) for one in self.sandboxes.values()]
        if self.network is not None:
            self.cni.gc(self.network, valid)
        self.cni.gc(_LO, [Attachment(one.id, "lo") for one in self.sandboxes.values()])

    def check(self, uid: str) -> None:
        """CHECK of a Pod's network. KeyError: no such sandbox. CNIError: what is wrong."""
        self._key = self.sandboxes[uid].key
        assert self.network is not None  # or there would be no sandbox
        self.cni.check(self.network, self.sandboxes[uid].conf)

    def netns_of(self, key: str) -> str:
        """The path of a Pod's namespace, by `namespace/name`. KeyError: it has none here."""
        for sandbox in self.sandboxes.values():
            if sandbox.key == key:
                return sandbox.netns
        raise KeyError(f"pod {key!r} has no sandbox on {self.node}")

    def leases(self) -> list[Lease]:
        """What host-local's files say is taken."""
        if self.network is None:
            return []
        return LeaseStore(self.machine.files, f"{DEFAULT_DATA_DIR}/{self.network.name}").leases()

    def owners(self) -> dict[str, str]:
        """By leased address the Pod that has it; "" for a leak: no sandbox is known to have it."""
        known = [*self.sandboxes.values(), *([self._making] if self._making is not None else [])]
        by_id = {sandbox.id: sandbox.key for sandbox in known}
        return {str(lease.address): by_id.get(lease.container_id, "") for lease in self.leases()}

    # -- inside ------------------------------------------------------------------------------------

    def _tell(self, kind: str, **data: Any) -> None:
        self._emit(kind, f"runtime/{self.node}", node=self.node, key=self._key or "all Pods", **data)

    def _starts(self, program: str, command: str, caller: str) -> None:
        if command != "VERSION":
            self._tell("cni.exec", command=command, plugin=program, caller=caller or "the runtime")

    def _ended(self, run: Execution) -> None:
        if run.failed and run.command != "VERSION":
            said = json.loads(run.end.stdout or b"{}").get("msg", "")
            who = run.caller or "the runtime"
            self._tell("cni.fail", command=run.command, plugin=run.program, caller=who, message=said)

    def check_invariants(self) -> None:
        """AssertionError: two sandboxes have one address, or one that is not leased to them."""
        self.machine.check_invariants()
        taken = {str(lease.address): lease.container_id for lease in self.leases()}
        for sandbox in self.sandboxes.values():
            for one in sandbox.result.ips if sandbox.result is not None else ():
                ip = str(parse_cidr(one.address).ip)
                if taken or (self.network is not None and "host-local" in str(self.network.plugins)):
                    assert taken.get(ip) == sandbox.id, f"{sandbox.key} has {ip}, which is leased to {taken.get(ip)}"


def _uuid(rng: random.Random) -> str:
    digits = rng.randbytes(16).hex()
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _labels(pod: Object, sandbox_id: str) -> tuple[tuple[str, str], ...]:
    """What goes into CNI_ARGS."""
    metadata = pod["metadata"]
    return (
        ("IgnoreUnknown", "1"),
        ("K8S_POD_NAMESPACE", metadata.get("namespace", "default")),
        ("K8S_POD_NAME", metadata["name"]),
        ("K8S_POD_INFRA_CONTAINER_ID", sandbox_id),
        ("K8S_POD_UID", metadata["uid"]),
    )


def _capabilities(pod: Object) -> dict[str, Any]:
    """Ports of the host that the Pod's containers ask for, and limits from its annotations. CNIError."""
    found: dict[str, Any] = {}
    spec = pod["spec"]
    ports = [
        {
            "hostPort": port["hostPort"],
            "containerPort": port["containerPort"],
            "protocol": str(port.get("protocol", "TCP")).lower(),
            **({"hostIP": port["hostIP"]} if port.get("hostIP") else {}),
        }
        for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
        for port in container.get("ports") or ()
        if port.get("hostPort")
    ]
    if ports:
        found["portMappings"] = ports
    limits: dict[str, int] = {}
    annotations = pod["metadata"].get("annotations") or {}
    for direction in ("ingress", "egress"):
        text = annotations.get(f"kubernetes.io/{direction}-bandwidth")
        if text:
            limits |= {f"{direction}Rate": _bandwidth(text), f"{direction}Burst": _BURST}
    if limits:
        found["bandwidth"] = limits
    return found


def _bandwidth(text: str) -> int:
    """Bits a second."""
    try:
        rate = Quantity.parse(text)
    except ValueError as error:
        raise CNIError(f"reading pod bandwidth annotations: {error}") from None
    if rate < _SMALLEST:
        raise CNIError("reading pod bandwidth annotations: resource is unreasonably small (< 1kbit)")
    if rate > _LARGEST:
        raise CNIError("reading pod bandwidth annotations: resource is unreasonably large (> 1Pbit)")
    return rate.value()
