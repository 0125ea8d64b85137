"""Python's garbage collector while a simulation runs.

A run makes a great many objects that stay (the store's history, the trace) and hardly any reference cycles: 3,000 Pods
on 100 nodes leave a million objects, some thirty thousand more die in cycles. Going through all the old ones again and
again took a quarter of the time. Young objects are still collected as usual.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["old_objects_left_alone"]

_SELDOM = 1_000
"""So many collections of the middle generation for one of the oldest; Python's default is 10."""


@contextmanager
def old_objects_left_alone() -> Iterator[None]:
    """Within the block the oldest generation is seldom collected. May be nested."""
    young, middle, old = gc.get_threshold()
    gc.set_threshold(young, middle, max(old, _SELDOM))
    try:
        yield
    finally:
        gc.set_threshold(young, middle, old)
