"""Cluster IPs and node ports of Services: which are free, and who gets them.

Nothing is stored but the Services: what they hold is read from etcd before each allocation, and the write that follows
is made only if no Service was written since (`Taken.guard`). So two servers over one etcd never give out the same, and
an allocation whose write fails leaves nothing behind.

Upstream: pkg/registry/core/service/storage/alloc.go, pkg/registry/core/service/{ipallocator,portallocator}
Simplified: there are no allocator objects (IPAddress, ServiceCIDR, the bitmaps of ports), so nothing can leak; a dry
    run is told an address and ports that are free, upstream's the first of the range.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from k8slab.api.errors import InternalError, InvalidError, StatusError
from k8slab.api.objects import Frozen, Object
from k8slab.api.validation.field import invalid
from k8slab.apiserver.allocators import AddressAllocator, AllocationError, FullError, PortAllocator
from k8slab.apiserver.registry.context import Context, Environment
from k8slab.apiserver.registry.service_families import fill_families, keeps_preference
from k8slab.apiserver.storage import Storage, prefix_end
from k8slab.etcd import Compare

__all__ = ["WITH_NODE_PORT", "Held", "Taken", "allocate", "has_health_check", "has_node_ports", "service_ports"]

WITH_NODE_PORT = ("NodePort", "LoadBalancer")
_INTERNAL = "Internal error occurred: "

Spec = Mapping[str, Any]


def has_node_ports(spec: Spec) -> bool:
    """Whether ports get node ports without having asked for one."""
    kind = spec.get("type")
    return kind == "NodePort" or (kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is not False)


def has_health_check(spec: Spec) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


async def allocate(
    ctx: Context, held: Held, storage: Storage, resource: str, obj: Object, old: Frozen | None
) -> dict[str, Any]:
    """The spec with families, addresses and ports filled in; `ctx.guards` holds the condition for writing it.

    Raises InvalidError when one is taken or out of range, InternalError when none is left.
    """
    spec = dict(obj.get("spec") or {})
    before: Spec = old["spec"] if old is not None else {}
    name = obj["metadata"].get("name", "")
    is_kept = old is not None and keeps_preference(spec, before)
    if not is_kept:
        fill_families(spec, old and before, ctx.env.services.families, name)
    wants_addresses = not is_kept and _wants_addresses(spec, before, is_new=old is None)
    wants_ports = spec.get("type") in WITH_NODE_PORT and _ports_changed(spec, before)
    wants_check = has_health_check(spec) and not has_health_check(before)
    if not (wants_addresses or wants_ports or wants_check):
        return spec
    taken = await held.taken(ctx.env, storage, resource)
    if wants_addresses:
        _take_addresses(spec, before, taken, name)
    if wants_ports:
        choose = _ports_of_new if old is None else _ports_of_changed
        spec["ports"] = choose(spec, before, taken, name)
    if wants_check:
        spec["healthCheckNodePort"] = _health_check_port(spec, taken)
    ctx.guards[:] = [taken.guard]
    return spec


class Held:
    """What the Services in etcd hold, kept by a server from one allocation to the next: only what changed is read."""

    def __init__(self) -> None:
        self.addresses: dict[str, AddressAllocator] = {}
        self.ports: PortAllocator | None = None
        self._services: dict[tuple[str, str], Object] = {}  # by namespace and name, as of `_revision`
        self._revision = 0
        self._counts: dict[str | int, int] = {}

    async def taken(self, env: Environment, storage: Storage, resource: str) -> Taken:
        """For one request, from every Service in etcd as it is now."""
        if self.ports is None:
            self.addresses = env.services.address_allocators(env.features, env.addresses)
            self.ports = env.services.port_allocator(env.addresses)
        prefix = storage.layout.resource_prefix(resource)
        if not await self._read_changes(storage, prefix):
            await self._read_all(storage, prefix)
        guard = Compare(prefix.encode(), "MOD", "LESS", self._revision + 1, prefix_end(prefix))
        addresses = {family: allocator.copy() for family, allocator in self.addresses.items()}
        return Taken(addresses, self.ports.copy(), guard)

    async def _read_changes(self, storage: Storage, prefix: str) -> bool:
        """Only what was written since the last time. False when that does not tell all: a Service is gone."""
        since = self._revision
        if not since:
            return False
        page = await storage.changed(prefix, since)
        if page.revision < since:
            return False  # the store went back
        if page.revision <= self._revision:
            return True  # another request of this server has read more meanwhile
        changed = {_key(service): service for service in page.items}
        if page.total != len(self._services) + sum(key not in self._services for key in changed):
            return False
        self._revision = page.revision
        for key, service in changed.items():
            self._replace(key, service)
        return True

    async def _read_all(self, storage: Storage, prefix: str) -> None:
        since = self._revision
        page = await storage.list(prefix)
        if since <= page.revision < self._revision:
            return  # another request of this server has read more meanwhile
        self._revision = page.revision
        now = {_key(service): service for service in page.items}
        for key in [key for key in self._services if key not in now]:
            self._replace(key, None)
        for key, service in now.items():
            self._replace(key, service)

    def _replace(self, key: tuple[str, str], service: Object | None) -> None:
        before = self._services.pop(key, None)
        if service is not None:
            self._services[key] = service
            if before is not service:
                self._count(service["spec"], 1)
        if before is not None and before is not service:
            self._count(before["spec"], -1)

    def _count(self, spec: Spec, change: int) -> None:
        """What an earlier range allowed, or two Services have, is no error here: the repair loop tells of it."""
        assert self.ports is not None, "the allocators are there before anything is counted"
        held: list[str | int] = [one for one in spec.get("clusterIPs") or () if one != "None"]
        for one in [*held, *service_ports(spec)]:
            count = self._counts.get(one, 0) + change
            self._counts[one] = count
            allocator: Any = self.ports if isinstance(one, int) else self.addresses.get(_family(one))
            if allocator is not None and count == 1 and change > 0:
                allocator.note(one)
            if not count:
                del self._counts[one]
                if allocator is not None:
                    allocator.release(one)


class Taken(NamedTuple):
    """What is taken, for one request, which takes more; the write holds only if `guard` does."""

    addresses: Mapping[str, AddressAllocator]
    ports: PortAllocator
    guard: Compare


def _key(service: Object) -> tuple[str, str]:
    return service["metadata"]["namespace"], service["metadata"]["name"]


def _family(address: str) -> str:
    return "IPv6" if ":" in address else "IPv4"


def _numbers(spec: Spec) -> list[int]:
    return [port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort")]


def service_ports(spec: Spec) -> list[int]:
    """collectServiceNodePorts: what a Service holds. Two ports share one number only with different protocols.

    >>> tcp, udp = {"protocol": "TCP", "nodePort": 30053}, {"protocol": "UDP", "nodePort": 30053}
    >>> service_ports({"ports": [tcp, udp], "healthCheckNodePort": 30080}), service_ports({"ports": [tcp, tcp]})
    ([30053, 30080], [30053, 30053])
    """
    seen: dict[int, set[str]] = {}
    found = []
    for port in spec.get("ports") or ():
        number, protocol = port.get("nodePort") or 0, port.get("protocol", "TCP")
        if not number:
            continue
        if number not in seen or protocol in seen[number]:
            found.append(number)
        seen.setdefault(number, set()).add(protocol)
    check = spec.get("healthCheckNodePort") or 0
    if check and "TCP" in seen.get(check, {"TCP"}):
        found.append(check)
    return found


# -- addresses ---------------------------------------------------------------------------------------


def _wants_addresses(spec: Spec, before: Spec, *, is_new: bool) -> bool:
    if spec.get("type") == "ExternalName" or list(spec.get("clusterIPs") or ())[:1] == ["None"]:
        return False
    if is_new or before.get("type") == "ExternalName":
        return True
    is_headless = list(before.get("clusterIPs") or ())[:1] == ["None"]
    return not is_headless and len(before.get("ipFamilies") or ()) == 1 and len(spec["ipFamilies"]) == 2


def _take_addresses(spec: dict[str, Any], before: Spec, taken: Taken, name: str) -> None:
    """One of each family that has none yet."""
    addresses = list(spec.get("clusterIPs") or ())
    held = 0 if not before or before.get("type") == "ExternalName" else len(before.get("clusterIPs") or ())
    for index, family in enumerate(spec["ipFamilies"]):
        if index < held:
            continue
        allocator = taken.addresses[family]
        wanted = addresses[index] if index < len(addresses) else ""
        try:
            if wanted:
                allocator.allocate(wanted)
            else:
                addresses.append(allocator.allocate_next())
        except FullError as error:
            raise InternalError(f"{_INTERNAL}failed to allocate a serviceIP: {error}") from None
        except AllocationError as error:
            detail = f"failed to allocate IP {wanted}: {error}"
            raise InvalidError.of("Service", name, [invalid("spec.clusterIPs", addresses, detail)]) from None
    spec["clusterIP"], spec["clusterIPs"] = addresses[0], addresses


# -- ports -------------------------------------------------------------------------------------------


def _ports_changed(spec: Spec, before: Spec) -> bool:
    lacks = has_node_ports(spec) and any(not port.get("nodePort") for port in spec.get("ports") or ())
    return lacks or _numbers(spec) != _numbers(before)


def _ports_of_new(spec: Spec, before: Spec, taken: Taken, name: str) -> list[dict[str, Any]]:
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
            chosen = _asked_port(taken, index, asked, name) if asked else _drawn_port(taken)
            by_port[number] = chosen
        elif own and own != chosen:
            chosen = _asked_port(taken, index, own, name)
        result.append({**port, "nodePort": chosen})
    return result


def _ports_of_changed(spec: Spec, before: Spec, taken: Taken, name: str) -> list[dict[str, Any]]:
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
            number = _drawn_port(taken)
        elif number not in held:
            held.append(_asked_port(taken, index, number, name))
        protocol = port.get("protocol", "")
        if (protocol, number) in seen:
            raise StatusError(f"duplicate nodePort: {{{protocol} {number}}}")
        seen.append((protocol, number))
        result.append({**port, "nodePort": number})
    return result


def _asked_port(taken: Taken, index: int, number: int, name: str) -> int:
    try:
        taken.ports.allocate(number)
    except AllocationError as error:
        cause = invalid(f"spec.ports[{index}].nodePort", number, str(error))
        raise InvalidError.of("Service", name, [cause]) from None
    return number


def _drawn_port(taken: Taken) -> int:
    try:
        return taken.ports.allocate_next()
    except FullError as error:
        raise InternalError(f"{_INTERNAL}failed to allocate a nodePort: {error}") from None


def _health_check_port(spec: Spec, taken: Taken) -> int:
    asked: int = spec.get("healthCheckNodePort") or 0
    try:
        if not asked:
            return taken.ports.allocate_next()
        taken.ports.allocate(asked)
    except AllocationError as error:
        what = f"requested HealthCheck NodePort {asked}" if asked else "a HealthCheck NodePort 0"
        raise InternalError(f"{_INTERNAL}failed to allocate {what}: {error}") from None
    return asked
