"""Topic sched_nodename_ports_unschedulable: NodeName, NodePorts or NodeUnschedulable, as the input says."""

from __future__ import annotations

from typing import Any

from tests.conformance.adapters.sched_plugin import run_plugin


def run(case: dict[str, Any]) -> dict[str, Any]:
    return run_plugin(case["plugin"], case)
