"""Taints and tolerations: who may stay where, and for how long.

>>> from k8slab.api.tolerations import matching_tolerations, min_toleration_seconds
>>> taints = [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]
>>> patience = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 300}
>>> used = matching_tolerations(taints, [patience])
>>> used is not None and min_toleration_seconds(used)
300

Upstream: k8s.io/api/core/v1/toleration.go, component-helpers/scheduling/corev1/helpers.go,
    pkg/apis/core/v1/helper/helpers.go (GetMatchingTolerations), pkg/controller/tainteviction/taint_eviction.go
    (getMinTolerationTime), pkg/util/taints/taints.go
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from k8slab.api.labels import parse_int64
from k8slab.api.objects import Object

__all__ = [
    "FOREVER",
    "NO_EXECUTE",
    "NO_SCHEDULE",
    "PREFER_NO_SCHEDULE",
    "TAINT_EFFECTS",
    "any_tolerates",
    "find_matching_untolerated_taint",
    "is_scheduling_taint",
    "matching_tolerations",
    "min_toleration_seconds",
    "no_execute_taints",
    "taint_exists",
    "taint_matches",
    "tolerates",
]

NO_SCHEDULE = "NoSchedule"
PREFER_NO_SCHEDULE = "PreferNoSchedule"
NO_EXECUTE = "NoExecute"
TAINT_EFFECTS = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)

FOREVER = -1
_NEVER_SET = (1 << 63) - 1


def tolerates(toleration: Object, taint: Object, *, comparison_operators: bool = False) -> bool:
    """One toleration against one taint. An empty effect or key of the toleration matches all of them.

    `comparison_operators`: the gate TaintTolerationComparisonOperators (Gt: the taint's number is greater).
    """
    effect = toleration.get("effect")
    if effect and effect != taint.get("effect"):
        return False
    key = toleration.get("key")
    if key and key != taint.get("key"):
        return False
    operator = toleration.get("operator") or "Equal"
    if operator == "Exists":
        return True
    if operator == "Equal":
        return (toleration.get("value") or "") == (taint.get("value") or "")
    return comparison_operators and _compares(operator, taint.get("value") or "", toleration.get("value") or "")


def _canonical_int64(text: str) -> int | None:
    number = parse_int64(text)
    return number if number is not None and str(number) == text else None


def _compares(operator: str, taint_value: str, bound: str) -> bool:
    number, limit = _canonical_int64(taint_value), _canonical_int64(bound)
    if number is None or limit is None or operator not in ("Gt", "Lt"):
        return False
    return number > limit if operator == "Gt" else number < limit


def any_tolerates(tolerations: Iterable[Object], taint: Object, *, comparison_operators: bool = False) -> bool:
    """TolerationsTolerateTaint."""
    return any(tolerates(toleration, taint, comparison_operators=comparison_operators) for toleration in tolerations)


def is_scheduling_taint(taint: Object) -> bool:
    """Keeps new Pods away: NoSchedule or NoExecute."""
    return taint.get("effect") in (NO_SCHEDULE, NO_EXECUTE)


def find_matching_untolerated_taint(
    taints: Iterable[Object],
    tolerations: Sequence[Object],
    predicate: Callable[[Object], bool] | None = None,
    *,
    comparison_operators: bool = False,
) -> Object | None:
    """The first taint that satisfies `predicate` (None: all do) and that no toleration tolerates."""
    for taint in taints:
        if (predicate is None or predicate(taint)) and not any_tolerates(
            tolerations, taint, comparison_operators=comparison_operators
        ):
            return taint
    return None


def matching_tolerations(taints: Iterable[Object], tolerations: Sequence[Object]) -> list[Object] | None:
    """For each taint the first toleration that matches it, in the order of the taints; None if one has none.

    Only the first counts: `[300 s, forever]` means 300 s and `[forever, 300 s]` means forever.
    """
    used: list[Object] = []
    for taint in taints:
        first = next((t for t in tolerations if tolerates(t, taint)), None)
        if first is None:
            return None
        used.append(first)
    return used


def min_toleration_seconds(tolerations: Iterable[Object]) -> int:
    """How long all of these last: FOREVER, or seconds; 0 (at once) for none at all or one of zero or less."""
    least = _NEVER_SET
    empty = True
    for toleration in tolerations:
        empty = False
        seconds = toleration.get("tolerationSeconds")
        if seconds is not None:
            least = min(least, max(seconds, 0))
    if empty:
        return 0
    return FOREVER if least == _NEVER_SET else least


def no_execute_taints(taints: Iterable[Object] | None) -> list[Object]:
    """Those that evict."""
    return [taint for taint in taints or () if taint.get("effect") == NO_EXECUTE]


def taint_matches(a: Object, b: Object) -> bool:
    """Same key and effect: a node has one such taint at most."""
    return a.get("key") == b.get("key") and a.get("effect") == b.get("effect")


def taint_exists(taints: Iterable[Object] | None, wanted: Object) -> bool:
    return any(taint_matches(taint, wanted) for taint in taints or ())
