"""The plugin host-local: ADD takes an address, DEL gives back what the attachment has.

>>> from k8slab.network.cni.files import MemoryFiles
>>> from k8slab.network.cni.skeleton import run
>>> env = {"CNI_COMMAND": "ADD", "CNI_CONTAINERID": "c1", "CNI_NETNS": "/run/netns/a", "CNI_IFNAME": "eth0",
...        "CNI_PATH": "/opt/cni/bin"}
>>> stdin = b'{"cniVersion": "1.1.0", "name": "net", "ipam": {"type": "host-local", "subnet": "10.1.0.0/24"}}'
>>> plugin = HostLocal(MemoryFiles())
>>> print(run(plugin, env, stdin).stdout.decode().splitlines()[4].strip())
"address": "10.1.0.2/24",

Nothing here knows of other nodes: two nodes with the same range give away the same addresses.

Upstream: containernetworking/plugins plugins/ipam/host-local/main.go, dns.go
Beyond upstream, whose own GC and STATUS do nothing yet: GC frees the leases of attachments that are not valid, STATUS
fails with code 50 when a range set is exhausted, as the specification asks of a plugin.
"""

from __future__ import annotations

from k8slab.network.cni import fields
from k8slab.network.cni.errors import CNIError, Code
from k8slab.network.cni.files import Files
from k8slab.network.cni.results import DNS, Result
from k8slab.network.cni.skeleton import Invocation, Plugin
from k8slab.network.plugins.host_local.allocator import IPAllocator
from k8slab.network.plugins.host_local.config import IPAMConfig, load_ipam_config
from k8slab.network.plugins.host_local.store import LeaseStore

__all__ = ["HostLocal"]


class HostLocal(Plugin):
    """`files`: the machine's, where the leases lie."""

    name = "host-local"

    def __init__(self, files: Files) -> None:
        self.files = files

    def _open(self, config: IPAMConfig) -> tuple[LeaseStore, list[IPAllocator]]:
        store = LeaseStore(self.files, config.folder)
        store.open()
        return store, [IPAllocator(one, store, number) for number, one in enumerate(config.ranges)]

    def _load(self, call: Invocation) -> tuple[LeaseStore, list[IPAllocator]]:
        return self._open(load_ipam_config(call.config, call.args))

    def add(self, call: Invocation) -> Result:
        config = load_ipam_config(call.config, call.args)
        dns = self._resolv_conf(config.resolv_conf)
        _, allocators = self._open(config)
        wanted, ips, used = list(config.requested), [], list[IPAllocator]()
        for number, allocator in enumerate(allocators):
            mine = next((one for one in wanted if allocator.ranges.range_for(one) is not None), None)
            if mine is not None:
                wanted.remove(mine)
            try:
                ips.append(allocator.get(call.container_id, call.if_name, mine))
            except CNIError as error:
                self._undo(used, call)
                raise CNIError(f"failed to allocate for range {number}: {error.msg}") from None
            used.append(allocator)
        if wanted:
            self._undo(used, call)
            raise CNIError(f"failed to allocate all requested IPs: {' '.join(map(str, wanted))}")
        return Result(ips=tuple(ips), routes=config.routes, dns=dns)

    @staticmethod
    def _undo(used: list[IPAllocator], call: Invocation) -> None:
        for allocator in used:
            allocator.release(call.container_id, call.if_name)

    def delete(self, call: Invocation) -> None:
        _, allocators = self._load(call)
        for allocator in allocators:
            allocator.release(call.container_id, call.if_name)

    def check(self, call: Invocation) -> None:
        store, _ = self._load(call)
        if not store.has(call.container_id, call.if_name):
            raise CNIError(f"host-local: Failed to find address added by container {call.container_id}")

    def gc(self, call: Invocation) -> None:
        store, _ = self._load(call)
        given = call.config.get("cni.dev/valid-attachments")
        if given is None:
            given = call.config.get("cni.dev/attachments")
        if given is None:
            raise CNIError("missing key cni.dev/valid-attachments", Code.INVALID_NETWORK_CONFIG)
        items = fields.sequence({"attachments": given}, "attachments", "NetConf", "[]types.GCAttachment")
        valid = []
        for one in items:
            item = fields.mapping({"item": one}, "item", "NetConf", "types.GCAttachment") or {}
            valid.append(tuple(fields.text(item, key, "GCAttachment") for key in ("containerID", "ifname")))
        with store.locked():
            for lease in store.collect([(one[0], one[1]) for one in valid]):
                call.log.append(f"host-local: freed {lease.address} of {lease.container_id or 'nobody'}")

    def status(self, call: Invocation) -> None:
        _, allocators = self._load(call)
        for allocator in allocators:
            if allocator.is_exhausted():
                what = f"no IP addresses available in range set: {allocator.ranges}"
                raise CNIError(what, Code.PLUGIN_NOT_AVAILABLE)

    def _resolv_conf(self, path: str) -> DNS:
        """The DNS settings in a file of the machine."""
        if not path:
            return DNS()
        try:
            lines = self.files.read(path).decode(errors="replace").splitlines()
        except FileNotFoundError:
            raise CNIError(f"open {path}: no such file or directory") from None
        servers, search, options, domain = list[str](), list[str](), list[str](), ""
        for line in lines:
            words = line.split()
            if len(words) < 2 or line.strip()[0] in "#;":
                continue
            if words[0] == "nameserver":
                servers.append(words[1])
            elif words[0] == "domain":
                domain = words[1]
            elif words[0] in ("search", "options"):
                (search if words[0] == "search" else options).extend(words[1:])
        return DNS(tuple(servers), domain, tuple(search), tuple(options))
