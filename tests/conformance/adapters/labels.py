"""Golden topic `labels`: label selectors, field selectors and the syntax of names."""

from __future__ import annotations

from typing import Any

from k8slab.api.fields import parse_field_selector
from k8slab.api.labels import format_label_selector, parse_selector, selector_from_dict
from k8slab.api.names import VALIDATORS, is_valid_port_num


def run(case_input: dict[str, Any]) -> Any:
    op = case_input["op"]
    if op == "validate":
        return {"errors": VALIDATORS[case_input["fn"]](case_input["s"])}
    if op == "validint":
        return {"errors": is_valid_port_num(case_input["n"])}
    try:
        return {"ok": True, **_selector(op, case_input)}
    except ValueError as error:
        return {"ok": False, "error": str(error)}


def _selector(op: str, case_input: dict[str, Any]) -> dict[str, Any]:
    sets = case_input.get("sets") or []
    if op == "fieldparse":
        field_selector = parse_field_selector(case_input["s"])
        return {
            "canonical": str(field_selector),
            "empty": field_selector.empty,
            "matches": [field_selector.matches(s) for s in sets],
            "requirements": [r._asdict() for r in field_selector.requirements],
        }
    if op == "labelselector":
        given = case_input.get("selector")
        selector = selector_from_dict(given)
        extra: dict[str, Any] = {"format": format_label_selector(given)}
    else:
        selector = parse_selector(case_input["s"])
        extra = {}
    requirements = [
        {"key": r.key, "operator": r.operator, "values": sorted(set(r.values))} for r in selector.requirements
    ]
    return {
        "canonical": str(selector),
        "empty": selector.empty,
        "matches": [selector.matches(s) for s in sets],
        "requirements": {"requirements": requirements, "selectable": selector.selectable},
        **extra,
    }
