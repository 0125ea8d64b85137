"""Golden topic `nodeipam_cidrset`: sequences of operations on a CIDR set."""

from __future__ import annotations

from typing import Any

from k8slab.controllers.nodeipam import CIDRRangeNoCIDRsRemainingError, CIDRSet, CIDRSetSubNetTooBigError


def run(case: dict[str, Any]) -> dict[str, Any]:
    try:
        subnets = CIDRSet(case["clusterCIDR"], case["nodeMask"])
    except CIDRSetSubNetTooBigError as error:
        return {"newError": str(error)}
    results = [_apply(subnets, op) for op in case["ops"]]
    subnets.check_invariants()
    return {"maxCIDRs": subnets.max_cidrs, "newError": None, "results": results}


def _apply(subnets: CIDRSet, op: str | list[str]) -> Any:
    try:
        if isinstance(op, str):
            return str(subnets.allocate_next())
        name, cidr = op
        (subnets.occupy if name == "occupy" else subnets.release)(cidr)
    except (CIDRRangeNoCIDRsRemainingError, ValueError) as error:
        return {"error": str(error)}
    return None
