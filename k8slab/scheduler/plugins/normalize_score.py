"""Bring raw scores into 0 to 100.

Upstream: pkg/scheduler/framework/plugins/helper/normalize_score.go
"""

from __future__ import annotations

from k8slab.scheduler.framework import MAX_NODE_SCORE

__all__ = ["default_normalize_score"]


def default_normalize_score(scores: list[int], *, reverse: bool) -> list[int]:
    """Scale so that the highest raw score becomes 100; `reverse`: so that it becomes 0 (raw scores count faults).

    >>> default_normalize_score([0, 1, 3], reverse=False), default_normalize_score([0, 1, 3], reverse=True)
    ([0, 33, 100], [100, 67, 0])
    """
    highest = max(scores, default=0)
    if highest <= 0:
        return [MAX_NODE_SCORE] * len(scores) if reverse else scores
    if reverse:
        return [MAX_NODE_SCORE - MAX_NODE_SCORE * score // highest for score in scores]
    return [MAX_NODE_SCORE * score // highest for score in scores]
