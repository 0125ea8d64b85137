"""What ADD answers: interfaces, addresses, routes, DNS; and how older versions of the specification write it.

>>> result = Result(ips=(IPConfig("10.1.0.2/24", "10.1.0.1"),))
>>> encode(result, "1.1.0")
{'cniVersion': '1.1.0', 'ips': [{'address': '10.1.0.2/24', 'gateway': '10.1.0.1'}]}
>>> encode(result, "0.2.0")
{'cniVersion': '0.2.0', 'ip4': {'gateway': '10.1.0.1', 'ip': '10.1.0.2/24'}, 'dns': {}}

Upstream: containernetworking/cni pkg/types/100/types.go, pkg/types/040/types.go, pkg/types/020/types.go
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from k8slab.network.cni import fields
from k8slab.network.cni.addresses import go_text, parse_cidr, parse_ip
from k8slab.network.cni.errors import CNIError
from k8slab.network.cni.versions import ALL

__all__ = ["DNS", "IPConfig", "Interface", "Result", "Route", "decode", "encode", "previous_result"]

_NO_DESTINATION = "<nil>"  # as Go prints it, in a result too; the next to read that refuses it
_OLDEST = ("0.1.0", "0.2.0")
_OLD = ("0.3.0", "0.3.1", "0.4.0")
_SCOPES = ("table", "scope")
_NUMBERS = ("mtu", "advmss", "priority")


@dataclass(frozen=True, slots=True)
class Interface:
    """`sandbox`: the path of the network namespace it is in, "" on the host."""

    name: str
    mac: str = ""
    sandbox: str = ""
    mtu: int = 0
    socket_path: str = ""
    pci_id: str = ""


@dataclass(frozen=True, slots=True)
class IPConfig:
    """`address` with prefix. `interface`: its place in the result's `interfaces`; None from an IPAM plugin."""

    address: str
    gateway: str = ""
    interface: int | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """`gw` "": the gateway of the address."""

    dst: str
    gw: str = ""
    mtu: int = 0
    advmss: int = 0
    priority: int = 0
    table: int | None = None
    scope: int | None = None


@dataclass(frozen=True, slots=True)
class DNS:
    """How the container is to resolve names: servers in their order, the local domain, where to search, options."""

    nameservers: tuple[str, ...] = ()
    domain: str = ""
    search: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {}
        for key in ("nameservers", "domain", "search", "options"):
            value = getattr(self, key)
            if value:
                body[key] = list(value) if isinstance(value, tuple) else value
        return body


@dataclass(frozen=True, slots=True)
class Result:
    """The current form (1.0.0 and 1.1.0); `encode` writes it as any version has it."""

    interfaces: tuple[Interface, ...] = ()
    ips: tuple[IPConfig, ...] = ()
    routes: tuple[Route, ...] = ()
    dns: DNS = DNS()


# -- reading ---------------------------------------------------------------------------------------


def decode(obj: Mapping[str, Any], version: str) -> Result:
    """A result in `version`. CNIError: not a known version, or a field that is none."""
    version = version or "0.1.0"
    if version not in ALL:
        raise CNIError(f'unsupported CNI result version "{version}"')
    if version in _OLDEST:
        return _decode_oldest(obj)
    interfaces = tuple(_interface(one) for one in fields.sequence(obj, "interfaces", "Result", "[]*Interface"))
    ips = tuple(_ip_config(one) for one in fields.sequence(obj, "ips", "Result", "[]*IPConfig"))
    routes = tuple(read_route(one) for one in fields.sequence(obj, "routes", "Result", "[]*types.Route"))
    return Result(interfaces, ips, routes, read_dns(obj))


def _decode_oldest(obj: Mapping[str, Any]) -> Result:
    ips, routes = [], []
    for key in ("ip4", "ip6"):
        block = fields.mapping(obj, key, "Result", "IPConfig")
        if block is not None:
            ips.append(_checked(fields.text(block, "ip", f"Result.{key}"), fields.text(block, "gateway", key), None))
            routes += [read_route(one) for one in fields.sequence(block, "routes", key, "[]types.Route")]
    return Result((), tuple(ips), tuple(routes), read_dns(obj))


def _interface(obj: Any) -> Interface:
    obj = _object(obj, "Interface")
    of = "Interface.interfaces"
    words = [fields.text(obj, key, of) for key in ("name", "mac", "sandbox")]
    more = [fields.text(obj, key, of) for key in ("socketPath", "pciID")]
    return Interface(words[0], words[1], words[2], fields.number(obj, "mtu", of), more[0], more[1])


def _ip_config(obj: Any) -> IPConfig:
    obj = _object(obj, "IPConfig")
    place = None if obj.get("interface") is None else fields.number(obj, "interface", "ipConfig")
    return _checked(fields.text(obj, "address", "ipConfig"), fields.text(obj, "gateway", "ipConfig"), place)


def _checked(address: str, gateway: str, place: int | None) -> IPConfig:
    return IPConfig(str(parse_cidr(address)), str(parse_ip(gateway)) if gateway else "", place)


def read_route(obj: Any, where: str = "Result.routes") -> Route:
    """One route of a result or of a configuration (`where`: of which field)."""
    holder, _, key = where.rpartition(".")
    obj = fields.mapping({key: obj}, key, holder, "types.route") or {}
    gw = fields.text(obj, "gw", "route", wanted="net.IP")
    numbers = [fields.number(obj, key, "route") for key in _NUMBERS]
    table, scope = (None if obj.get(key) is None else fields.number(obj, key, "route") for key in _SCOPES)
    dst = go_text(parse_cidr(fields.text(obj, "dst", "route"))) if "dst" in obj else _NO_DESTINATION
    return Route(dst, str(parse_ip(gw)) if gw else "", numbers[0], numbers[1], numbers[2], table, scope)


def read_dns(obj: Mapping[str, Any]) -> DNS:
    """The `dns` of a result or of a configuration."""
    dns = fields.mapping(obj, "dns", "Result", "types.DNS") or {}
    lists = [fields.texts(dns, key, "DNS.dns") for key in ("nameservers", "search", "options")]
    return DNS(lists[0], fields.text(dns, "domain", "DNS.dns"), lists[1], lists[2])


def _object(obj: Any, wanted: str) -> dict[str, Any]:
    if not isinstance(obj, dict):
        return fields.mapping({"": obj}, "", wanted, wanted) or {}
    return obj


def previous_result(config: Mapping[str, Any]) -> Result | None:
    """The `prevResult` of a configuration, in its version; None when there is none."""
    raw = fields.mapping(config, "prevResult", "NetConf", "map[string]interface {}")
    if raw is None:
        return None
    version = fields.text(config, "cniVersion", "NetConf") or "0.1.0"
    declared = raw.get("cniVersion")
    if version not in ALL:
        raise CNIError(f'could not parse prevResult: unsupported CNI result version "{version}"')
    if isinstance(declared, str) and declared and _family(declared) != _family(version):
        supported = " ".join(_family(version))
        what = f'result type supports [{supported}] but unmarshalled CNIVersion is "{declared}"'
        raise CNIError(f"could not parse prevResult: {what}")
    return decode(raw, version)


def _family(version: str) -> tuple[str, ...]:
    """The versions that write results in the same way."""
    return next((group for group in (_OLDEST, _OLD) if version in group), ("1.0.0", "1.1.0"))


# -- writing ---------------------------------------------------------------------------------------


def encode(result: Result, version: str) -> dict[str, Any]:
    """The object to print in `version`. CNIError: no such version, or one that cannot say it."""
    version = version or "0.1.0"
    if version not in ALL:
        raise CNIError(f"no converter for CNI result version 1.1.0 to {version}")
    if version in _OLDEST:
        return _encode_oldest(result, version)
    is_old = version in _OLD
    body: dict[str, Any] = {"cniVersion": version}
    lists = {
        "interfaces": [_write_interface(one, is_old) for one in result.interfaces],
        "ips": [_write_ip(one, is_old) for one in result.ips],
        "routes": [_write_route(one) for one in result.routes],
    }
    body |= {key: items for key, items in lists.items() if items}
    dns = result.dns.to_json()
    if dns or is_old:
        body["dns"] = dns
    return body if is_old else _sorted(body)


def _encode_oldest(result: Result, version: str) -> dict[str, Any]:
    """One address of each family, with the routes of its family."""
    body: dict[str, Any] = {"cniVersion": version}
    for key, number in (("ip4", 4), ("ip6", 6)):
        first = next((one for one in result.ips if parse_cidr(one.address).version == number), None)
        if first is None:
            continue
        block: dict[str, Any] = {"gateway": first.gateway} if first.gateway else {}
        block["ip"] = first.address
        mine = [route for route in result.routes if _family_of(route.dst) == number]
        if mine:
            block["routes"] = [_write_route(Route(route.dst, route.gw)) for route in mine]
        body[key] = block
    if len(body) == 1:
        raise CNIError("cannot convert: no valid IP addresses")
    return {**body, "dns": result.dns.to_json()}


def _family_of(destination: str) -> int:
    return 6 if destination == _NO_DESTINATION else parse_cidr(destination).version


def _write_interface(one: Interface, is_old: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"name": one.name, "mac": one.mac, "sandbox": one.sandbox}
    if not is_old:
        body |= {"mtu": one.mtu, "socketPath": one.socket_path, "pciID": one.pci_id}
    return {key: value for key, value in body.items() if value or key == "name"}


def _write_ip(one: IPConfig, is_old: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"version": str(parse_cidr(one.address).version)} if is_old else {}
    if one.interface is not None:
        body["interface"] = one.interface
    body["address"] = one.address
    return {**body, "gateway": one.gateway} if one.gateway else body


def _write_route(one: Route) -> dict[str, Any]:
    body: dict[str, Any] = {"dst": one.dst}
    body |= {key: value for key in ("gw", *_NUMBERS) if (value := getattr(one, key))}
    return body | {key: value for key in _SCOPES if (value := getattr(one, key)) is not None}


def _sorted(value: Any) -> Any:
    """As Go writes what went through a map."""
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
