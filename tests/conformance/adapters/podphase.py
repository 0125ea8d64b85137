"""podphase: phase and conditions of a Pod from its container statuses."""

from __future__ import annotations

from typing import Any

from k8slab.kubelet.pod_status import (
    containers_ready_condition,
    initialized_condition,
    pod_phase,
    pod_ready_condition,
)


def run(case: dict[str, Any]) -> dict[str, Any]:
    spec, status = case["pod"]["spec"], case["pod"].get("status") or {}
    inits, mains = status.get("initContainerStatuses") or [], status.get("containerStatuses") or []
    phase = pod_phase(spec, inits, mains, is_terminal=case["podIsTerminal"])
    ready = containers_ready_condition(spec, inits, mains, phase)
    conditions = (
        ready,
        pod_ready_condition(spec, status.get("conditions") or [], ready),
        initialized_condition(spec, inits, mains, phase),
    )
    return {"phase": phase, **{c.pop("type"): c for c in map(dict, conditions)}}
