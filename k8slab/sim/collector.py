"""Python's garbage collector while a simulation runs.

A run makes a great many objects that stay (the store's history, the trace) and hardly any reference cycles: 3,000 Pods
on 100 nodes leave a million objects, some thirty thousand more die in cycles. Looking for those after every 700 new
objects, and through all the old ones again and again, took a quarter of the time.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["RARE", "rare_collections"]

RARE = (25_000, 10, 2)
"""A collection for so many new objects, of the middle generation for so many of the young, of the old for so many of
the middle: a simulation that was thrown away is gone after half a million new objects. Python's default is 700, 10, 10.
"""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Within the block the collector runs less often. May be nested."""
    before = gc.get_threshold()
    if 0 < before[0] < RARE[0]:  # 0: somebody turned it off
        gc.set_threshold(*RARE)
    try:
        yield
    finally:
        gc.set_threshold(*before)
