"""API scenarios: `live.py` beside the runner replays them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.conformance.live import Scenario


def records(doc: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    return Scenario(doc).records()
