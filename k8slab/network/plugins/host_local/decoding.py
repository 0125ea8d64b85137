"""Which of several mistakes in a configuration is told: the one that Go's decoder meets.

It goes through the document in its order. A value of the wrong type is remembered, the first one only, and decoding
goes on; a text that is no address, and whatever is wrong in a subnet or a route, ends it at once.

    >>> check_types({"ipam": {"rangeStart": 5, "gateway": "x"}})
    Traceback (most recent call last):
    ...
    k8slab.network.cni.errors.CNIError: invalid IP address: x

Upstream: Go's encoding/json; plugins/ipam/host-local/backend/allocator/config.go of containernetworking/plugins
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from k8slab.network.cni import fields
from k8slab.network.cni.addresses import parse_cidr, parse_ip, parse_ip_or_cidr
from k8slab.network.cni.errors import CNIError
from k8slab.network.cni.results import read_route

__all__ = ["check_types"]

T = TypeVar("T")
_ARGS = 'struct { A *allocator.IPAMArgs "json:\\"cni\\"" }'
_RUNTIME = (
    'struct { IPRanges []allocator.RangeSet "json:\\"ipRanges,omitempty\\""; IPs []*ip.IP "json:\\"ips,omitempty\\"" }'
)
_INNER = re.compile(r"field route\.\w+ of")
Obj = Mapping[str, Any]


class _Decoder:
    """`error`: the first value of the wrong type."""

    def __init__(self) -> None:
        self.error: fields.WrongTypeError | None = None

    def read(self, field: Callable[..., T], *args: Any, **more: Any) -> T | None:
        try:
            return field(*args, **more)
        except fields.WrongTypeError as error:
            self.error = self.error or error
            return None

    def mapping(self, holder: Obj, key: str, where: str, wanted: str) -> Obj:
        return self.read(fields.mapping, holder, key, where, wanted) or {}

    def sequence(self, holder: Obj, key: str, where: str, wanted: str) -> list[Any]:
        return self.read(fields.sequence, holder, key, where, wanted) or []

    def net(self, config: Obj) -> None:
        for key in config:
            if key == "ipam":
                ipam = self.mapping(config, key, "Net", "allocator.IPAMConfig")
                for name in ipam:
                    self.ipam(ipam, name)
            elif key == "runtimeConfig":
                runtime = self.mapping(config, key, "Net", _RUNTIME)
                for name in runtime:
                    if name == "ips":
                        self.addresses(runtime, ".runtimeConfig")
                    elif name == "ipRanges":
                        self.sets(runtime, name, ".runtimeConfig", "Range.runtimeConfig.ipRanges")
            elif key == "args":
                outer = self.mapping(config, key, "Net", _ARGS)
                if "ips" in (inner := self.mapping(outer, "cni", ".args", "allocator.IPAMArgs")):
                    self.addresses(inner, "IPAMArgs.args.cni")

    def ipam(self, ipam: Obj, key: str) -> None:
        where = "IPAMConfig.ipam"
        if key in ("type", "dataDir", "resolvConf"):
            self.read(fields.text, ipam, key, where)
        elif key == "name":  # a field without a name for JSON
            self.read(fields.text, {"Name": ipam[key]}, "Name", where)
        elif key == "ranges":
            self.sets(ipam, key, where, "Range.ipam.ranges")
        elif key == "routes":
            for one in self.sequence(ipam, key, where, "[]*types.Route"):
                try:
                    read_route(one, f"{where}.routes")
                except fields.WrongTypeError as error:
                    # whatever it is in a route, Go tells of the list
                    raise CNIError(_INNER.sub(f"field {where}.routes of", error.msg)) from None
        else:
            self.range(ipam, key, where)

    def sets(self, holder: Obj, key: str, where: str, within: str) -> None:
        for one in self.sequence(holder, key, where, "[]allocator.RangeSet"):
            for given in self.sequence({key: one}, key, where, "allocator.RangeSet"):
                found = self.mapping({key: given}, key, where, "allocator.Range")
                for name in found:
                    self.range(found, name, within)

    def range(self, given: Obj, key: str, where: str) -> None:
        if key == "subnet":
            parse_cidr(fields.text(given, key, where))
        elif key in ("rangeStart", "rangeEnd", "gateway"):
            words = self.read(fields.text, given, key, where, wanted="net.IP")
            if words:
                parse_ip(words)

    def addresses(self, holder: Obj, where: str) -> None:
        for one in self.sequence(holder, "ips", where, "[]*ip.IP"):
            words = self.read(fields.text, {"ips": one}, "ips", where, wanted="*ip.IP")
            if words is not None:
                parse_ip_or_cidr(words)


def check_types(config: Obj) -> None:
    """CNIError in the words of Go's decoder, if it would not take the configuration."""
    decoder = _Decoder()
    decoder.net(config)
    if decoder.error is not None:
        raise decoder.error
