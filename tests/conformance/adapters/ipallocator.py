"""Golden topic `ipallocator`: sizes and bands of Service ranges, allocation until a range is full, the order of a
search."""

from __future__ import annotations

import random
from ipaddress import ip_address, ip_network
from typing import Any

from k8slab.apiserver.allocators import (
    AllocationError,
    Range,
    broadcast_address,
    calculate_range_offset,
    hosts_per_network,
    ip_iterator,
    range_size,
)


def run(case: dict[str, Any]) -> dict[str, Any]:
    return _OPS[case["op"]](case)


def _range(case: dict[str, Any]) -> dict[str, Any]:
    cidr = case["cidr"]
    return {
        "bitmapFree": Range(cidr, random.Random(0)).free,
        "broadcast": broadcast_address(cidr),
        "hostsPerNetwork": hosts_per_network(cidr),
        "rangeOffset": calculate_range_offset(cidr),
        "rangeSize": range_size(cidr),
    }


def _allocate(case: dict[str, Any]) -> dict[str, Any]:
    addresses = Range(case["cidr"], random.Random(0))
    results = []
    for name, address in case["ops"]:
        try:
            result: Any = getattr(addresses, name)(address)
        except AllocationError as error:
            result = {"error": str(error)}
        results.append({"result": result, "free": addresses.free})
    return {"results": results}


def _exhaust(case: dict[str, Any]) -> dict[str, Any]:
    addresses = Range(case["cidr"], random.Random(case["cidr"]))
    offset = calculate_range_offset(case["cidr"])
    free, first = addresses.free, ip_network(case["cidr"]).network_address + 1
    upper: list[bool] = []
    while True:
        try:
            drawn = addresses.allocate_next()
        except AllocationError as error:
            full = str(error)
            break
        upper.append(int(ip_address(drawn)) - int(first) >= offset)
    in_a_row = upper.index(False) if False in upper else len(upper)
    return {
        "freeAtStart": free,
        "rangeOffset": offset,
        "allocated": len(upper),
        "allocatedFromUpperBandFirst": in_a_row,
        "upperAfterLower": sum(upper[in_a_row:]),
        "errorWhenFull": full,
    }


def _iterator(case: dict[str, Any]) -> dict[str, Any]:
    return {"visited": [*ip_iterator(case["first"], case["last"], case["offset"]), None]}


_OPS = {"range": _range, "allocate": _allocate, "exhaust": _exhaust, "iterator": _iterator}
