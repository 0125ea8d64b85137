"""Checks of what callers hand to a group: a wrong value is named before anything happens.

Upstream: none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields

from k8slab.raft.state import RaftConfig
from k8slab.sim import Loop, Network

__all__ = ["check_number", "check_options", "check_parts"]


def check_parts(loop: object, network: object, machine: object, on_start: object) -> None:
    """ValueError for what a group cannot be made of; all but `machine` may be None."""
    if not isinstance(loop, Loop | None):
        raise ValueError(f"loop {loop!r}: expected a Loop")
    if not isinstance(network, Network | None):
        raise ValueError(f"network {network!r}: expected a Network")
    if not callable(machine):
        raise ValueError(f"machine {machine!r}: expected a function that makes a member's machine from its id")
    if on_start is not None and not callable(on_start):
        raise ValueError(f"on_start {on_start!r}: expected a function of an id and a Member")


def check_options(options: Iterable[str]) -> None:
    """ValueError for the name of an option that RaftConfig has not, or that each member has of its own."""
    known = [field.name for field in fields(RaftConfig) if field.name != "id"]
    for name in options:
        if name not in known:
            raise ValueError(f"option {name!r}: expected one of {', '.join(known)}")


def check_number(name: str, value: object, least: int, most: int | None = None) -> None:
    """ValueError unless `value` is a whole number from `least` to `most`."""
    if type(value) is not int or value < least or (most is not None and value > most):
        expected = f"a whole number, at least {least}" if most is None else f"a number from {least} to {most}"
        raise ValueError(f"{name} {value!r}: expected {expected}")
