"""Alarms: which member has raised what. They are part of the store, and stay until somebody disarms them.

>>> alarms = AlarmStore()
>>> alarms.activate(1, "NOSPACE") in alarms.get("NONE"), len(alarms.get("CORRUPT"))
(True, 0)
>>> alarms.deactivate(2, "NOSPACE") is None
True

Upstream: etcd server/etcdserver/api/v3alarm/alarms.go
"""

from __future__ import annotations

from collections.abc import Iterable

from k8slab.etcd.messages import AlarmMember, AlarmType

__all__ = ["AlarmStore"]


class AlarmStore:
    """Alarms in the order in which they were raised."""

    def __init__(self, alarms: Iterable[AlarmMember] = ()) -> None:
        self._alarms = dict.fromkeys(alarms)

    def activate(self, member_id: int, alarm: str) -> AlarmMember:
        """Raise an alarm; it may be on already."""
        member = AlarmMember(member_id, AlarmType(alarm))
        self._alarms[member] = None
        return member

    def deactivate(self, member_id: int, alarm: str) -> AlarmMember | None:
        """Disarm an alarm; None if it wasn't on."""
        member = AlarmMember(member_id, AlarmType(alarm))
        return member if self._alarms.pop(member, 0) is None else None

    def get(self, alarm: str = AlarmType.NONE) -> tuple[AlarmMember, ...]:
        """The alarms of a kind, or with NONE all."""
        wanted = AlarmType(alarm)
        return tuple(member for member in self._alarms if wanted == AlarmType.NONE or member.alarm == wanted)
