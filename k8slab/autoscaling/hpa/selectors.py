"""Which autoscalers select which Pods: two that select one Pod would pull its count to and fro.

>>> from k8slab.api.labels import parse_selector
>>> store = SelectorStore()
>>> for key in ("shop/web", "shop/again"):
...     store.register(key)
...     store.put(key, parse_selector("app=web"))
>>> store.matching("shop", [{"metadata": {"name": "web-0", "labels": {"app": "web"}}}])
['shop/web', 'shop/again']

Upstream: pkg/controller/util/selectors/bimultimap.go, pkg/controller/podautoscaler/horizontal.go
(hpasControllingPodsUnderSelector)
Simplified: keys come in the order of registration (upstream's order is random).
"""

from __future__ import annotations

from collections.abc import Iterable

from k8slab.api.labels import Selector
from k8slab.api.objects import Object

__all__ = ["SelectorStore"]


class SelectorStore:
    """Selectors by the key of their autoscaler (`namespace/name`); None until its target's scale was read."""

    def __init__(self) -> None:
        self._selectors: dict[str, Selector | None] = {}

    def register(self, key: str) -> None:
        """An autoscaler is there; it selects nothing yet, unless it was known."""
        self._selectors.setdefault(key, None)

    def put(self, key: str, selector: Selector) -> None:
        """What a registered autoscaler selects. One that is gone is left alone."""
        if key in self._selectors:
            self._selectors[key] = selector

    def delete(self, key: str) -> None:
        self._selectors.pop(key, None)

    def matching(self, namespace: str, pods: Iterable[Object]) -> list[str]:
        """The autoscalers of a namespace that select one of its Pods."""
        labels = [pod["metadata"].get("labels") or {} for pod in pods]
        distinct = [one for index, one in enumerate(labels) if one not in labels[:index]]
        prefix = f"{namespace}/"
        return [
            key
            for key, selector in self._selectors.items()
            if selector is not None and key.startswith(prefix) and any(map(selector.matches, distinct))
        ]
