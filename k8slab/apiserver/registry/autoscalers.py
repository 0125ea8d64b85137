"""HorizontalPodAutoscalers: two feature gates decide what their spec may say.

Upstream: pkg/registry/autoscaling/horizontalpodautoscaler/strategy.go
"""

from __future__ import annotations

from typing import Any

from k8slab.api.errors import Cause
from k8slab.api.objects import Frozen, Object, thaw
from k8slab.api.validation import validate_create, validate_update
from k8slab.apiserver.registry.context import Context, Draft
from k8slab.apiserver.registry.strategy import Strategy

__all__ = ["AutoscalerStrategy"]

_TOO_LOW = "must be greater than or equal to 1"
_LOWEST = "must be greater than or equal to 0"


class AutoscalerStrategy(Strategy):
    """`behavior.*.tolerance` needs HPAConfigurableTolerance, `minReplicas: 0` needs HPAScaleToZero; what an object has
    already, it may keep."""

    has_status = True

    def prepare_for_create(self, ctx: Context, obj: Draft) -> None:
        super().prepare_for_create(ctx, obj)
        self._drop_disabled(ctx, obj, {})

    def prepare_for_update(self, ctx: Context, obj: Draft, old: Frozen) -> None:
        super().prepare_for_update(ctx, obj, old)
        self._drop_disabled(ctx, obj, old)

    def validate(self, ctx: Context, obj: Object) -> list[Cause]:
        return self._allowed(ctx, validate_create(obj))

    def validate_update(self, ctx: Context, obj: Object, old: Frozen) -> list[Cause]:
        return self._allowed(ctx, validate_update(obj, old))

    def _drop_disabled(self, ctx: Context, obj: Draft, old: Object) -> None:
        if ctx.env.features.enabled("HPAConfigurableTolerance") or _has_tolerance(old) or not _has_tolerance(obj):
            return
        spec = thaw(obj["spec"])
        for rules in spec["behavior"].values():
            rules.pop("tolerance", None)
        obj["spec"] = spec

    def _allowed(self, ctx: Context, causes: list[Cause]) -> list[Cause]:
        """Without what the gate HPAScaleToZero allows."""
        if not ctx.env.features.enabled("HPAScaleToZero"):
            return causes
        mine = [one for one in causes if one.field == "spec.minReplicas"]
        rest = [one for one in causes if one.field != "spec.minReplicas"]
        low = [
            one._replace(message=one.message.replace(_TOO_LOW, _LOWEST))
            for one in mine
            if "value: 0:" not in one.message
        ]
        return low + rest


def _has_tolerance(obj: Object) -> bool:
    behavior: Any = (obj.get("spec") or {}).get("behavior") or {}
    return any((rules or {}).get("tolerance") is not None for rules in behavior.values())
