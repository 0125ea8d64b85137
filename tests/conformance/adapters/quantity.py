"""Golden topic `quantity`: parsing, printing and arithmetic of quantities."""

from __future__ import annotations

from typing import Any

from k8slab.api.quantity import Quantity


def run(case_input: dict[str, Any]) -> Any:
    return _OPS[case_input["op"]](case_input)


def _parse(case: dict[str, Any]) -> dict[str, Any]:
    try:
        q = Quantity.parse(case["s"])
    except ValueError as error:
        return {"ok": False, "error": str(error)}
    return {
        "ok": True,
        "canonical": str(q),
        "value": q.value(),
        "milliValue": q.milli_value(),
        "format": q.format,
        "sign": q.sign,
        "isZero": q.is_zero,
    }


def _binary(case: dict[str, Any]) -> dict[str, Any]:
    a, b = Quantity.parse(case["a"]), Quantity.parse(case["b"])
    total, difference = a + b, a - b
    return {
        "cmp": a.cmp(b),
        "equal": a == b,
        "add": str(total),
        "addFormat": total.format,
        "sub": str(difference),
        "subFormat": difference.format,
    }


def _scaled(case: dict[str, Any]) -> dict[str, Any]:
    return {"scaledValue": Quantity.parse(case["s"]).scaled_value(case["scale"])}


def _round_up(case: dict[str, Any]) -> dict[str, Any]:
    rounded, exact = Quantity.parse(case["s"]).round_up(case["scale"])
    return {"exact": exact, "string": str(rounded)}


def _mul(case: dict[str, Any]) -> dict[str, Any]:
    product, fits = Quantity.parse(case["s"]).mul(case["k"])
    return {"ok": fits, "string": str(product)}


_OPS = {"parse": _parse, "binary": _binary, "scaled": _scaled, "roundup": _round_up, "mul": _mul}
