"""Adapter for vectors/defaulting.json: API defaulting of a manifest."""

from typing import Any

from k8slab.api.defaults import apply_defaults


def run(case_input: dict[str, Any]) -> Any:
    return {"object": apply_defaults(case_input["manifest"])}
