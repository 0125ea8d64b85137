"""How many examples the property tests run: modest in `make test`, large in `make soak`."""

from __future__ import annotations

import os

__all__ = ["SOAK", "examples"]

SOAK = os.environ.get("K8SLAB_SOAK") == "1"


def examples(usual: int, soak: int | None = None) -> int:
    """`usual`, or in a soak run `soak` (ten times as many if not given)."""
    return (usual * 10 if soak is None else soak) if SOAK else usual
