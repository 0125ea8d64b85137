"""Adapter for vectors/patch.json: merge, JSON and strategic patches, two-way and three-way."""

from typing import Any

from k8slab.api import patch
from k8slab.api.scheme import GVK, SCHEME


def _gvk(kind: str) -> GVK:
    return next(info.gvk for info in SCHEME if info.gvk.kind == kind)


def _two_way(case: dict[str, Any]) -> Any:
    gvk = _gvk(case["kind"])
    made = patch.create_two_way_strategic_patch(case["original"], case["modified"], gvk)
    return {"patch": made, "result": patch.strategic_merge_patch(case["original"], made, gvk)}


def _three_way(case: dict[str, Any]) -> Any:
    gvk = _gvk(case["kind"])
    made = patch.create_three_way_strategic_patch(
        case["lastApplied"], case["modified"], case["current"], gvk, overwrite=case.get("overwrite", True)
    )
    return {"patch": made, "result": patch.strategic_merge_patch(case["current"], made, gvk)}


def _three_way_json(case: dict[str, Any]) -> Any:
    made = patch.create_three_way_merge_patch(case["lastApplied"], case["modified"], case["current"])
    return {"patch": made, "result": patch.merge_patch(case["current"], made)}


_OPERATIONS = {
    "strategic": lambda c: {"result": patch.strategic_merge_patch(c["original"], c["patch"], _gvk(c["kind"]))},
    "twoway": _two_way,
    "threeway": _three_way,
    "threewayjson": _three_way_json,
    "merge": lambda c: {"result": patch.merge_patch(c["original"], c["patch"])},
    "jsonpatch": lambda c: {"result": patch.json_patch(c["original"], c["patch"])},
}


def run(case_input: dict[str, Any]) -> Any:
    try:
        return _OPERATIONS[case_input["op"]](case_input)
    except patch.PatchError as e:
        is_decoding = case_input["op"] == "jsonpatch" and e.code == 400
        return {"decodeError" if is_decoding else "error": str(e)}
    except patch.PatchConflictError as e:
        return {"errorPrefix": str(e)}
    except ValueError as e:
        return {"error": str(e)}
