"""Every loop a test makes is closed after it, so that no coroutine is left that never ran."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from k8slab.sim.loop import Loop


@pytest.fixture(autouse=True)
def close_loops(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    loops: list[Loop] = []
    plain = Loop.__init__

    def remembered(self: Loop, *args: Any, **kwargs: Any) -> None:
        plain(self, *args, **kwargs)
        loops.append(self)

    monkeypatch.setattr(Loop, "__init__", remembered)
    yield
    for loop in loops:
        loop.close()
