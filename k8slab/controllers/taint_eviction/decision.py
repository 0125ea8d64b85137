"""How long a Pod may stay on a node with NoExecute taints.

    >>> from k8slab.controllers.taint_eviction.decision import decide
    >>> taints = [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}]
    >>> patience = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "tolerationSeconds": 300}
    >>> decide(taints, [patience]).stay_seconds, decide(taints, []).stay_seconds
    (300, 0)

Upstream: pkg/controller/tainteviction/taint_eviction.go (processPodOnNode), pkg/apis/core/v1/helper/helpers.go
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from k8slab.api.objects import Object
from k8slab.api.tolerations import FOREVER, matching_tolerations, min_toleration_seconds

__all__ = ["Decision", "decide"]


class Decision(NamedTuple):
    """`used`: for each taint the toleration that counts, if every taint has one. `stay_seconds`: FOREVER (-1), 0 for
    at once, or how long the shortest of them lasts."""

    all_tolerated: bool
    used: list[Object]
    stay_seconds: int


def decide(taints: Sequence[Object], tolerations: Sequence[Object]) -> Decision:
    """`taints`: the NoExecute taints of the node. Without any, the Pod stays for ever."""
    used = matching_tolerations(taints, tolerations)
    if used is None:
        return Decision(False, [], 0)
    return Decision(True, used, min_toleration_seconds(used) if taints else FOREVER)
