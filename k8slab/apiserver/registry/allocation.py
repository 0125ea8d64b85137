"""Cluster IPs and node ports of Services: which are free, and who gets them.

Nothing is stored but the Services: what they hold is read from etcd before each allocation, and the write that follows
is made only if no Service was written since (`Taken.guard`). So two servers over one etcd never give out the same.

Upstream: pkg/registry/core/service/storage/alloc.go, pkg/registry/core/service/{ipallocator,portallocator}
Simplified: IPv4 single stack in 10.96.0.0/16; there are no allocator objects (IPAddress, ServiceCIDR, port bitmap);
    dynamic addresses avoid the band for static ones, dynamic ports are drawn from the whole range.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from ipaddress import IPv4Address, IPv4Network, ip_address
from typing import Any

from k8slab.api.errors import Cause, InternalError, InvalidError, StatusError
from k8slab.api.objects import Frozen, Object
from k8slab.api.validation.field import invalid
from k8slab.api.validation.service import validate_cluster_ips
from k8slab.apiserver.registry.context import Context
from k8slab.apiserver.storage import Storage, prefix_end
from k8slab.etcd import Compare

__all__ = ["WITH_NODE_PORT", "allocate", "has_health_check", "has_node_ports"]

NETWORK = IPv4Network("10.96.0.0/16")
STATIC_BAND = 256
NODE_PORTS = range(30_000, 32_768)
WITH_NODE_PORT = ("NodePort", "LoadBalancer")
_INTERNAL = "Internal error occurred: "

Spec = Mapping[str, Any]


def has_node_ports(spec: Spec) -> bool:
    """Whether ports get node ports without having asked for one."""
    kind = spec.get("type")
    return kind == "NodePort" or (kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False)


def has_health_check(spec: Spec) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


async def allocate(ctx: Context, storage: Storage, resource: str, obj: Object, old: Frozen | None) -> dict[str, Any]:
    """The spec with families, addresses and ports filled in; `ctx.guards` holds the condition for writing it.

    Raises InvalidError when one is taken or out of range, InternalError when none is left.
    """
    spec = dict(obj.get("spec") or {})
    before: Spec = old["spec"] if old is not None else {}
    name = obj["metadata"].get("name", "")
    _fill_families(spec, before, name)
    wants_address = (
        spec.get("type") != "ExternalName"
        and (old is None or before.get("type") == "ExternalName")
        and list(spec.get("clusterIPs") or ())[:1] != ["None"]
    )
    wants_ports = spec.get("type") in WITH_NODE_PORT and _ports_changed(spec, before)
    wants_check = has_health_check(spec) and not has_health_check(before)
    if not (wants_address or wants_ports or wants_check):
        return spec
    taken = await Taken.read(storage, resource)
    if wants_address:
        _take_address(ctx.env.addresses, spec, taken, name)
    if wants_ports:
        choose = _ports_of_new if old is None else _ports_of_changed
        spec["ports"] = choose(ctx.env.addresses, spec, before, taken, name)
    if wants_check:
        spec["healthCheckNodePort"] = _health_check_port(ctx.env.addresses, spec, taken)
    ctx.guards[:] = [taken.guard]
    return spec


class Taken:
    """What the Services in etcd hold, and what this request took already."""

    def __init__(self, services: Iterable[Object], guard: Compare) -> None:
        self.guard = guard
        self.addresses: set[str] = set()
        self.ports: set[int] = set()
        for service in services:
            spec = service["spec"]
            self.addresses.update(spec.get("clusterIPs") or ())
            self.ports.update(_numbers(spec))
            if spec.get("healthCheckNodePort"):
                self.ports.add(spec["healthCheckNodePort"])

    @classmethod
    async def read(cls, storage: Storage, resource: str) -> Taken:
        prefix = storage.layout.resource_prefix(resource)
        page = await storage.list(prefix)
        return cls(page.items, Compare(prefix.encode(), "MOD", "LESS", page.revision + 1, prefix_end(prefix)))

    def take_address(self, address: str) -> str:
        """Why it cannot be had; empty when it is taken now."""
        parsed = IPv4Address(address)
        if parsed not in NETWORK or parsed in (NETWORK.network_address, NETWORK.broadcast_address):
            return "the provided network does not match the current range"
        if address in self.addresses:
            return "provided IP is already allocated"
        self.addresses.add(address)
        return ""

    def draw_address(self, rng: random.Random) -> str:
        for _ in range(4096):
            address = str(NETWORK[rng.randrange(STATIC_BAND + 1, NETWORK.num_addresses - 1)])
            if not self.take_address(address):
                return address
        raise InternalError(f"{_INTERNAL}failed to allocate a serviceIP: range is full")

    def take_port(self, number: int) -> str:
        """Why it cannot be had; empty when it is taken now."""
        if number not in NODE_PORTS:
            return (
                "provided port is not in the valid range. The range of valid ports is "
                f"{NODE_PORTS.start}-{NODE_PORTS.stop - 1}"
            )
        if number in self.ports:
            return "provided port is already allocated"
        self.ports.add(number)
        return ""

    def draw_port(self, rng: random.Random) -> int:
        """Raises LookupError when none is left."""
        if len(self.ports.intersection(NODE_PORTS)) == len(NODE_PORTS):
            raise LookupError("range is full")
        while True:
            number = rng.choice(NODE_PORTS)
            if not self.take_port(number):
                return number


def _numbers(spec: Spec) -> list[int]:
    return [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]


def _refuse(name: str, causes: list[Cause]) -> InvalidError:
    return InvalidError.of("Service", name, causes)


# -- addresses ---------------------------------------------------------------------------------------


def _fill_families(spec: dict[str, Any], before: Spec, name: str) -> None:
    """ipFamilyPolicy and ipFamilies, as a cluster with IPv4 alone fills them in. Raises InvalidError."""
    if spec.get("type") == "ExternalName":
        return
    is_bare = spec.get("clusterIP") == "None" and not spec.get("selector")
    if not spec.get("ipFamilyPolicy"):
        spec["ipFamilyPolicy"] = before.get("ipFamilyPolicy") or ("RequireDualStack" if is_bare else "SingleStack")
    causes = validate_cluster_ips(spec) or _families_problem(spec)
    if causes:
        raise _refuse(name, causes)
    families = list(spec.get("ipFamilies") or ["IPv4"])
    if is_bare:
        if len(families) < 2 and spec["ipFamilyPolicy"] != "SingleStack":
            families.append("IPv6" if families[0] == "IPv4" else "IPv4")
    else:
        causes = _not_configured(spec, families)
        if causes:
            raise _refuse(name, causes)
    spec["ipFamilies"] = families


def _families_problem(spec: Spec) -> list[Cause]:
    causes = []
    policy, addresses, families = spec["ipFamilyPolicy"], spec.get("clusterIPs") or (), spec.get("ipFamilies") or ()
    if policy == "SingleStack":
        detail = "must be 'RequireDualStack' or 'PreferDualStack' when multiple {} are specified"
        for values, what in ((addresses, "cluster IPs"), (families, "IP families")):
            if len(values) == 2:
                causes.append(invalid("spec.ipFamilyPolicy", policy, detail.format(what)))
    for index, address in enumerate(addresses):
        if address != "None" and index >= len(families) and ip_address(address).version != 4:
            causes.append(
                invalid(f"spec.clusterIPs[{index}]", list(addresses), "IPv6 is not configured on this cluster")
            )
    return causes


def _not_configured(spec: Spec, families: Iterable[str]) -> list[Cause]:
    causes = []
    if spec["ipFamilyPolicy"] == "RequireDualStack":
        detail = "this cluster is not configured for dual-stack services"
        causes.append(invalid("spec.ipFamilyPolicy", "RequireDualStack", detail))
    for index, family in enumerate(families):
        if family != "IPv4":
            causes.append(invalid(f"spec.ipFamilies[{index}]", family, "not configured on this cluster"))
    return causes


def _take_address(rng: random.Random, spec: dict[str, Any], taken: Taken, name: str) -> None:
    wanted = list(spec.get("clusterIPs") or ())
    if wanted:
        why = taken.take_address(wanted[0])
        if why:
            raise _refuse(name, [invalid("spec.clusterIPs", wanted, f"failed to allocate IP {wanted[0]}: {why}")])
    else:
        wanted = [taken.draw_address(rng)]
    spec["clusterIP"], spec["clusterIPs"] = wanted[0], wanted


# -- ports -------------------------------------------------------------------------------------------


def _ports_changed(spec: Spec, before: Spec) -> bool:
    lacks = has_node_ports(spec) and any(not port.get("nodePort") for port in spec.get("ports") or ())
    return lacks or _numbers(spec) != _numbers(before)


def _ports_of_new(rng: random.Random, spec: Spec, before: Spec, taken: Taken, name: str) -> list[dict[str, Any]]:
    """Ports with one number (TCP and UDP) share a node port."""
    ports = spec.get("ports") or ()
    by_port: dict[int, int] = {}
    result = []
    for index, port in enumerate(ports):
        own, number = port.get("nodePort") or 0, port.get("port", 0)
        if not own and not has_node_ports(spec):
            result.append(port)
            continue
        chosen = by_port.get(number, 0)
        if not chosen:
            asked = next((p["nodePort"] for p in ports if p.get("port", 0) == number and p.get("nodePort")), 0)
            chosen = _asked_port(taken, index, asked, name) if asked else _drawn_port(rng, taken)
            by_port[number] = chosen
        elif own and own != chosen:
            chosen = _asked_port(taken, index, own, name)
        result.append({**port, "nodePort": chosen})
    return result


def _ports_of_changed(rng: random.Random, spec: Spec, before: Spec, taken: Taken, name: str) -> list[dict[str, Any]]:
    """What the Service held before it may keep, whichever port it is at now."""
    held = _numbers(before)
    seen: list[tuple[str, int]] = []
    result = []
    for index, port in enumerate(spec.get("ports") or ()):
        number = port.get("nodePort") or 0
        if not number and not has_node_ports(spec):
            result.append(port)
            continue
        if not number:
            number = _drawn_port(rng, taken)
        elif number not in held:
            held.append(_asked_port(taken, index, number, name))
        protocol = port.get("protocol", "")
        if (protocol, number) in seen:
            raise StatusError(f"duplicate nodePort: {{{protocol} {number}}}")
        seen.append((protocol, number))
        result.append({**port, "nodePort": number})
    return result


def _asked_port(taken: Taken, index: int, number: int, name: str) -> int:
    why = taken.take_port(number)
    if why:
        raise _refuse(name, [invalid(f"spec.ports[{index}].nodePort", number, why)])
    return number


def _drawn_port(rng: random.Random, taken: Taken) -> int:
    try:
        return taken.draw_port(rng)
    except LookupError as error:
        raise InternalError(f"{_INTERNAL}failed to allocate a nodePort: {error}") from None


def _health_check_port(rng: random.Random, spec: Spec, taken: Taken) -> int:
    asked: int = spec.get("healthCheckNodePort") or 0
    if asked:
        why = taken.take_port(asked)
        if why:
            raise InternalError(f"{_INTERNAL}failed to allocate requested HealthCheck NodePort {asked}: {why}")
        return asked
    try:
        return taken.draw_port(rng)
    except LookupError as error:
        raise InternalError(f"{_INTERNAL}failed to allocate a HealthCheck NodePort 0: {error}") from None
