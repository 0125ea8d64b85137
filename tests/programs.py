"""Programs of the system that some tests need; in CI a skip that tests/allowed_skips.txt does not name is a failure."""

from __future__ import annotations

import pytest

from k8slab.dev import system

__all__ = ["needs"]


def needs(program: str) -> str:
    """The path of a program that `k8slab.dev.system` knows; where it is not installed, the test is skipped."""
    found = system.find(program)
    if found is None:
        pytest.skip(f"{program} is not installed")
    return found
