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

__all__ = ["YOUNG_OBJECTS", "rare_collections"]

YOUNG_OBJECTS = 50_000
"""So many new objects start a collection; Python's default is 700."""


@contextmanager
def rare_collections() -> Iterator[None]:
    """Within the block the collector runs less often. May be nested."""
    young, middle, old = gc.get_threshold()
    gc.set_threshold(max(young, YOUNG_OBJECTS) if young else 0, middle, old)  # 0: somebody turned it off
    try:
        yield
    finally:
        gc.set_threshold(young, middle, old)
