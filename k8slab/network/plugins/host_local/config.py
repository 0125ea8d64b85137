"""What host-local reads from a configuration: ranges, routes, and the addresses that were asked for.

Upstream: containernetworking/plugins plugins/ipam/host-local/backend/allocator/config.go
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from k8slab.network.cni import fields
from k8slab.network.cni.addresses import Address, parse_ip_or_cidr
from k8slab.network.cni.arguments import load_args
from k8slab.network.cni.errors import CNIError
from k8slab.network.cni.results import Route, read_route
from k8slab.network.cni.versions import at_least
from k8slab.network.plugins.host_local.decoding import check_types
from k8slab.network.plugins.host_local.ranges import RangeSet, RawRange, canonical_set, parse_raw

__all__ = ["DEFAULT_DATA_DIR", "IPAMConfig", "load_ipam_config"]

DEFAULT_DATA_DIR = "/var/lib/cni/networks"


@dataclass(frozen=True, slots=True)
class IPAMConfig:
    """`requested`: addresses that must be among those given. `folder`: where the leases of this network lie."""

    name: str
    ranges: tuple[RangeSet, ...]
    routes: tuple[Route, ...]
    data_dir: str
    resolv_conf: str
    requested: tuple[Address, ...]

    @property
    def folder(self) -> str:
        return f"{(self.data_dir or DEFAULT_DATA_DIR).rstrip('/')}/{self.name}"


def load_ipam_config(config: Mapping[str, Any], args: str) -> IPAMConfig:
    """Read and check everything. CNIError in upstream's words."""
    check_types(config)
    ipam = fields.mapping(config, "ipam", "Net", "allocator.IPAMConfig")
    parts = _parts(config, ipam or {})
    if ipam is None:
        raise CNIError("IPAM config missing 'ipam' key")
    requested: list[Address | None] = []
    wanted = parse_ip_or_cidr(load_args(args, ("IP",), parse_ip_or_cidr).get("IP", ""))
    requested += [wanted] if wanted is not None else []
    requested += parts.requested
    addresses = []
    for one in requested:
        if one is None:
            raise CNIError("cannot understand ip: IP <nil> not v4 nor v6")
        addresses.append(one)
    sets = _range_sets(parts, fields.text(config, "cniVersion", "Net"))
    words = [fields.text(ipam, key, "IPAMConfig.ipam") for key in ("dataDir", "resolvConf")]
    return IPAMConfig(str(config["name"]), sets, parts.routes, words[0], words[1], tuple(dict.fromkeys(addresses)))


@dataclass(frozen=True, slots=True)
class _Parts:
    """What Go's decoder would have read, before any of it is checked."""

    requested: list[Address | None]
    raw_sets: list[list[RawRange]]
    routes: tuple[Route, ...]


def _parts(config: Mapping[str, Any], ipam: Mapping[str, Any]) -> _Parts:
    runtime = fields.mapping(config, "runtimeConfig", "Net", "struct") or {}
    outer = fields.mapping(config, "args", "Net", "struct") or {}
    inner = fields.mapping(outer, "cni", "Net.args", "allocator.IPAMArgs") or {}
    requested: list[Address | None] = []
    for where, holder in (("IPAMArgs.args.cni", inner), ("Net.runtimeConfig", runtime)):
        requested += [_requested(one, where) for one in fields.sequence(holder, "ips", where, "[]*ip.IP")]
    single = parse_raw({key: ipam[key] for key in ("subnet", "rangeStart", "rangeEnd", "gateway") if key in ipam})
    raw_sets = [[single]] if single.subnet is not None else []
    raw_sets += [_raw_set(one) for one in fields.sequence(ipam, "ranges", "IPAMConfig.ipam", "[]allocator.RangeSet")]
    given = fields.sequence(runtime, "ipRanges", "Net.runtimeConfig", "[]allocator.RangeSet")
    raw_sets = [*(_raw_set(one) for one in given), *raw_sets]
    routes = tuple(
        read_route(one, "IPAMConfig.ipam.routes")
        for one in fields.sequence(ipam, "routes", "IPAMConfig.ipam", "[]*types.Route")
    )
    return _Parts(requested, raw_sets, routes)


def _raw_set(given: Any) -> list[RawRange]:
    items = fields.sequence({"ranges": given}, "ranges", "IPAMConfig.ipam", "allocator.RangeSet")
    return [parse_raw(one) for one in items]


def _requested(given: Any, where: str) -> Address | None:
    return parse_ip_or_cidr(fields.text({"ips": given}, "ips", where, wanted="*ip.IP"))


def _range_sets(parts: _Parts, version: str) -> tuple[RangeSet, ...]:
    if not parts.raw_sets:
        raise CNIError("no IP ranges specified")
    sets: list[RangeSet] = []
    for place, raws in enumerate(parts.raw_sets):
        try:
            sets.append(canonical_set(raws))
        except CNIError as error:
            raise CNIError(f"invalid range set {place}: {error.msg}") from None
    families = [one.version for one in sets]
    if max(families.count(4), families.count(6)) > 1 and not _has_many(version):
        raise CNIError(f"CNI version {version} does not support more than 1 address per family")
    for place, one in enumerate(sets):
        for later, other in enumerate(sets[place + 1 :], place + 1):
            if one.overlaps(other):
                raise CNIError(f"range set {place} overlaps with {later}")
    return tuple(sets)


def _has_many(version: str) -> bool:
    try:
        return at_least(version, "0.3.0")
    except CNIError:
        return False
