"""Adapter for vectors/kubectl_get.json: server-side tables and durations."""

import re
from typing import Any

from k8slab.api.defaults import apply_defaults
from k8slab.api.scheme import gvk_of
from k8slab.api.tables import columns_of, human_duration, row_cells, short_human_duration
from k8slab.api.times import rfc3339

NOW_MS = 3_000_000_000
_AGO = re.compile(r"@(-?\d+)").fullmatch


def _with_times(value: Any) -> Any:
    if isinstance(value, str) and (match := _AGO(value)):
        return rfc3339(NOW_MS + int(match[1]) * 1000)
    if isinstance(value, dict):
        return {key: _with_times(item) for key, item in value.items()}
    return [_with_times(item) for item in value] if isinstance(value, list) else value


def run(case_input: dict[str, Any]) -> Any:
    if case_input["op"] == "humanduration":
        ms = int(case_input["seconds"] * 1000)
        return {"human": human_duration(ms), "short": short_human_duration(ms)}
    obj = apply_defaults(_with_times(case_input["object"]))
    gvk = gvk_of(obj)
    columns = columns_of(gvk)
    cells = dict(zip((c.name for c in columns), row_cells(gvk, obj, NOW_MS), strict=True))
    return {
        "columns": [c.name for c in columns],
        "cells": cells,
        "wideColumns": [c.name for c in columns if c.priority],
    }
