"""Golden topic `portallocator`: the band of node port ranges, and sequences of operations."""

from __future__ import annotations

import random
from typing import Any

from k8slab.apiserver.allocators import AllocationError, PortAllocator, PortRange


def run(case: dict[str, Any]) -> dict[str, Any]:
    if case["op"] == "range":
        ports = PortAllocator(PortRange(case["base"], case["size"]), random.Random(0))
        return {"free": ports.free, "offset": ports.offset}
    ports = PortAllocator(case["range"], random.Random(0))
    results = []
    for name, port in case["ops"]:
        try:
            result: Any = getattr(ports, name)(port)
        except AllocationError as error:
            result = {"error": str(error)}
        results.append({"result": result, "free": ports.free})
    ports.check_invariants()
    return {"results": results}
