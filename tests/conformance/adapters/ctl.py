"""ctl-*: timelines of controllers, replayed with hollow nodes."""

from __future__ import annotations

from tests.conformance.timelines import records

__all__ = ["records"]
