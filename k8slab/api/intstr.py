"""Values that are a number or a percentage: `maxSurge: 1`, `maxSurge: 25%`.

Upstream: apimachinery/pkg/util/intstr/intstr.go
"""

from __future__ import annotations

import re

from k8slab.api.labels import go_quote

__all__ = ["IntOrString", "scaled_value"]

IntOrString = int | str

_DECIMAL = re.compile(r"[+-]?[0-9]+", re.ASCII)


def _percent_of(text: str) -> int:
    """The number before the `%`; ValueError with Go's wording."""
    if not text.endswith("%"):
        raise ValueError("invalid value for IntOrString: invalid type: string is not a percentage")
    digits = text[:-1]
    if _DECIMAL.fullmatch(digits) is None:
        why = "invalid syntax"
    elif not -(2**63) <= int(digits) < 2**63:
        why = "value out of range"
    else:
        return int(digits)
    raise ValueError(
        f"invalid value for IntOrString: invalid value {go_quote(text)}: "
        f"strconv.Atoi: parsing {go_quote(digits)}: {why}"
    )


def scaled_value(value: IntOrString | None, total: int, *, round_up: bool) -> int:
    """`value` itself, or that percentage of `total` (GetScaledValueFromIntOrPercent).

    `round_up`: towards plus infinity, else towards minus infinity. ValueError carries upstream's text.

    >>> scaled_value("25%", 10, round_up=True), scaled_value("25%", 10, round_up=False)
    (3, 2)
    """
    if value is None:
        raise ValueError("nil value for IntOrString")
    if isinstance(value, str):
        product = _percent_of(value) * total
        return -(-product // 100) if round_up else product // 100
    return value
