"""What containers use, and when it becomes too much: memory, disk and processes that grow by the clock.

>>> from k8slab.kubelet.usage import Growth, parse_growth
>>> leak = parse_growth("200Mi+10Mi/s<=1Gi")
>>> leak.at(0) >> 20, leak.at(30_000) >> 20, leak.at(600_000) >> 20, leak.exceeds_ms(300 << 20)
(200, 500, 1024, 10001)

Upstream: none in k/k (programs); pkg/kubelet/stats/cri_stats_provider.go (how it is summed up)
Simplified: see `config.Behaviour`. A program's use is a line that rises from its start to a most; what is written to
disk goes with the container, what is written to a volume with the Pod. An image takes `image_size` of the disk.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from k8slab.api.quantity import Quantity

__all__ = ["NOTHING", "ONE", "Growth", "parse_growth"]

_FORM = re.compile(r"([0-9.]+[a-zA-Z]*)(?:\+([0-9.]+[a-zA-Z]*)/s)?(?:<=([0-9.]+[a-zA-Z]*))?")


@dataclass(frozen=True, slots=True)
class Growth:
    """`start` at the beginning, `per_second` more every second, never more than `most`."""

    start: int
    per_second: int = 0
    most: int | None = None

    def at(self, elapsed_ms: int) -> int:
        """How much it is so long after the beginning."""
        amount = self.start + self.per_second * max(0, elapsed_ms) // 1000
        return amount if self.most is None else min(amount, self.most)

    def exceeds_ms(self, bound: int) -> int | None:
        """The first millisecond at which it is more than `bound`; None: never."""
        if self.start > bound:
            return None if self.most is not None and self.most <= bound else 0
        if self.per_second == 0 or (self.most is not None and self.most <= bound):
            return None
        # the least t with start + per_second * t // 1000 > bound
        return -(-(bound + 1 - self.start) * 1000 // self.per_second)


NOTHING, ONE = Growth(0), Growth(1)


def parse_growth(text: str) -> Growth | None:
    """From `200Mi`, `200Mi+10Mi/s` or `200Mi+10Mi/s<=1Gi`; None for what is none of these."""
    found = _FORM.fullmatch(text.replace(" ", ""))
    if found is None:
        return None
    try:
        amounts = [None if part is None else Quantity.parse(part).value() for part in found.groups()]
    except ValueError:
        return None
    start, per_second, most = amounts
    if min(amount or 0 for amount in amounts) < 0:  # more than an int64 holds has wrapped round
        return None
    return Growth(start or 0, per_second or 0, most)
