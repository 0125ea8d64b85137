"""Topic sched_imagelocality: the plugin ImageLocality alone."""

from __future__ import annotations

from typing import Any

from tests.conformance.adapters.sched_plugin import run_plugin


def run(case: dict[str, Any]) -> dict[str, Any]:
    return run_plugin("ImageLocality", case)
