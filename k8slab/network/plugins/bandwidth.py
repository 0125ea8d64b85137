"""bandwidth: a token bucket on the host's end of a veth pair, and another on a detour for the other direction.

What goes *into* the container leaves the host's end and is slowed there; what comes *out* of it enters the host's end,
where nothing can wait, so it takes a detour over an ifb device.

>>> token_bucket(8_000_000, 800_000)
TokenBucket(rate=1000000, burst=100000, limit=125000, buffer=1562500)

Upstream: containernetworking/plugins plugins/meta/bandwidth/main.go, ifb_creator.go
Simplified: the kernel's clock tick is 64 ns, as on today's machines (netlink reads it from /proc/net/psched).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from k8slab.network.cni import fields
from k8slab.network.cni.errors import CNIError
from k8slab.network.cni.results import Interface, Result, previous_result
from k8slab.network.cni.skeleton import Invocation, Plugin
from k8slab.network.cni.versions import versions_from
from k8slab.network.fabric.links import Link, TokenBucket
from k8slab.network.fabric.machine import HOST_NETNS, Machine, NetnsError
from k8slab.network.plugins.chains import hashed_name

__all__ = ["Bandwidth", "token_bucket"]

_LATENCY_MS = 25
_TICKS_PER_US = 15.625
_MOST_BURST = (1 << 32) - 1
_KEYS = ("ingressRate", "ingressBurst", "egressRate", "egressBurst")


def token_bucket(rate_bits: int, burst_bits: int) -> TokenBucket:
    """A bucket for `rate_bits` a second: it may hold the burst, and 25 ms of the rate may wait."""
    rate, burst = rate_bits // 8, burst_bits // 8
    buffer = int(int(burst * 1_000_000 / rate) * _TICKS_PER_US) & 0xFFFFFFFF
    return TokenBucket(rate, burst, int(rate * _LATENCY_MS / 1000) + burst, buffer)


@dataclass(frozen=True, slots=True)
class _Entry:
    """Bits per second, and bits."""

    ingress_rate: int
    ingress_burst: int
    egress_rate: int
    egress_burst: int

    def is_zero(self) -> bool:
        return not any((self.ingress_rate, self.ingress_burst, self.egress_rate, self.egress_burst))


def _load(call: Invocation) -> _Entry | None:
    """The limits: those of the configuration, else those that the runtime gives. CNIError."""
    config = call.config
    runtime = fields.mapping(config, "runtimeConfig", "PluginConf", "struct") or {}
    given = fields.mapping(runtime, "bandwidth", "PluginConf.runtimeConfig", "main.BandwidthEntry")
    source = config if any(key in config for key in _KEYS) else given
    if source is None:
        return None
    entry = _Entry(*(fields.number(source, key, "BandwidthEntry", wanted="uint64") for key in _KEYS))
    for rate, burst in ((entry.ingress_rate, entry.ingress_burst), (entry.egress_rate, entry.egress_burst)):
        if burst == 0 and rate != 0:
            raise CNIError("if rate is set, burst must also be set")
        if rate == 0 and burst != 0:
            raise CNIError("if burst is set, rate must also be set")
        if burst // 8 >= _MOST_BURST:
            raise CNIError("burst cannot be more than 4GB")
    return entry


class Bandwidth(Plugin):
    """`machine`: on whose host it runs."""

    name = "bandwidth"
    versions = versions_from("0.3.0")
    own_netns = HOST_NETNS

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def add(self, call: Invocation) -> Result:
        entry, previous = _load(call), previous_result(call.config)
        if previous is None:
            raise CNIError("must be called as chained plugin")
        if entry is None or entry.is_zero():
            return previous
        host_end = self._host_end(call, previous)
        if entry.ingress_rate and entry.ingress_burst:
            host_end.shaper = token_bucket(entry.ingress_rate, entry.ingress_burst)
        if entry.egress_rate and entry.egress_burst:
            name = _ifb(call)
            if name in self.machine.host.links:
                raise CNIError("adding link: file exists")
            index, mac, mtu = self.machine.index(), self.machine.mac(), host_end.mtu
            ifb = self.machine.host.add_link(name, "ifb", index=index, mac=mac, mtu=mtu)
            ifb.is_up = True
            ifb.shaper = token_bucket(entry.egress_rate, entry.egress_burst)
            host_end.detour = name
            return replace(previous, interfaces=(*previous.interfaces, Interface(name, ifb.mac)))
        return previous

    def _host_end(self, call: Invocation, previous: Result) -> Link:
        """The host's end of the container's veth pair, which must be among the result's interfaces."""
        try:
            inside = self.machine.namespace(call.netns)
        except NetnsError as error:
            raise CNIError(f'failed to open netns "{call.netns}": {error}') from None
        if not previous.interfaces:
            raise CNIError("no interfaces provided")
        link = inside.links.get(call.if_name)
        if link is None or link.kind != "veth":
            why = f'could not look up "{call.if_name}": Link not found'
            if link is not None:
                why = f'interface "{call.if_name}" was not a veth interface'
            raise CNIError(f"container interface {call.if_name} has no veth peer: {why}")
        other = self.machine.peer_of(link)
        if other is None or other[0] is not self.machine.host:
            raise CNIError(f"veth peer with index {link.peer[1] if link.peer else 0} is not in host ns")
        if not any(one.name == other[1].name and not one.sandbox for one in previous.interfaces):
            raise CNIError("no veth peer of container interface found in host ns")
        return other[1]

    def delete(self, call: Invocation) -> None:
        _load(call)
        name = _ifb(call)
        if name in self.machine.host.links:
            self.machine.remove_link(self.machine.host, name)

    def check(self, call: Invocation) -> None:
        entry, previous = _load(call), previous_result(call.config)
        if previous is None:
            raise CNIError("must be called as a chained plugin")
        host_end = self._host_end(call, previous)
        if entry is None or entry.is_zero():
            return
        if entry.ingress_rate:
            _same(host_end.shaper, token_bucket(entry.ingress_rate, entry.ingress_burst))
        if entry.egress_rate:
            ifb = self.machine.host.links.get(_ifb(call))
            if ifb is None:
                raise CNIError("get ifb device: Link not found")
            _same(ifb.shaper, token_bucket(entry.egress_rate, entry.egress_burst))


def _ifb(call: Invocation) -> str:
    """The name of an attachment's detour, 15 characters."""
    return hashed_name(15, "bwp", call.network + call.container_id)


def _same(found: TokenBucket | None, wanted: TokenBucket) -> None:
    if found is None:
        raise CNIError("Failed to find qdisc")
    for name in ("rate", "limit", "buffer"):
        if getattr(found, name) != getattr(wanted, name):
            raise CNIError(f"{name.capitalize()} doesn't match")
