"""Topic pvmatch: the volume that the PV controller would bind a claim to. The claims are in the namespace ns."""

from __future__ import annotations

from typing import Any

from k8slab.api.persistent_volumes import best_match_for_claim


def run(case: dict[str, Any]) -> dict[str, Any]:
    claim = {**case["claim"], "metadata": {"namespace": "ns", **case["claim"]["metadata"]}}
    found = best_match_for_claim(claim, case["volumes"], delay_binding=bool(case.get("delayBinding")))
    return {"error": None, "volume": None if found is None else found["metadata"]["name"]}
