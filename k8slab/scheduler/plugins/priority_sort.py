"""QueueSort: higher priority first, then who has waited longer.

Upstream: pkg/scheduler/framework/plugins/queuesort/priority_sort.go
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from k8slab.scheduler.framework import Handle, QueuedPod

__all__ = ["PrioritySort"]


class PrioritySort:
    name = "PrioritySort"

    def __init__(self, args: Mapping[str, Any], handle: Handle) -> None:
        pass

    def less(self, a: QueuedPod, b: QueuedPod) -> bool:
        return a.priority > b.priority or (a.priority == b.priority and a.timestamp_ms < b.timestamp_ms)
