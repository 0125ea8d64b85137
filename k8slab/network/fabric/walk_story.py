"""A packet's way as steps, for the Stepper: each hop an event, and the answer after it.

>>> import random
>>> from k8slab.network.fabric.machine import Fabric
>>> fabric = Fabric(random.Random(7))
>>> _ = fabric.add_machine("node-1", "10.0.0.2"), fabric.add_machine("node-2", "10.0.0.3")
>>> story = WalkStory(fabric, "node-1", "10.0.0.3", port=22)
>>> while story.step(): pass
>>> [event.data["text"] for event in story.trace][:2]
['in node-1 the route is 10.0.0.0/16 dev eth0', 'in node-1: over the wire to node-2 (10.0.0.3)']

Upstream: none (tcpdump on every interface at once).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from k8slab.network.fabric.machine import HOST_NETNS, Fabric
from k8slab.network.fabric.walk import Hop, Walk, exchange
from k8slab.sim import Trace
from k8slab.sim.clock import Clock
from k8slab.sim.kinds import cut

__all__ = ["WalkStory"]

LANE = "network"
_TEXT = 110


class WalkStory:
    """A steppable: a packet from a namespace of `machine` to `destination`, and the answer. `names`: what namespaces
    are called, by path (a Pod's name). The rest as of `exchange`. ValueError: no such machine or namespace."""

    views = ("walk",)
    title = "A packet's way"

    def __init__(
        self,
        fabric: Fabric,
        machine: str,
        destination: str,
        *,
        netns: str = HOST_NETNS,
        names: Mapping[str, str] | None = None,
        **how: Any,
    ) -> None:
        self.trace = Trace(Clock())
        self.there, self.back = exchange(fabric, machine, destination, netns=netns, **how)
        self._names = dict(names or {})
        walks: list[Walk] = [self.there, *([self.back] if self.back is not None else [])]
        self._todo = deque((hop, number == 1) for number, walk in enumerate(walks) for hop in walk.hops)
        self._columns = list(dict.fromkeys(self._place(hop) for hop, _ in self._todo))
        self._rows = len(self._todo)
        self._last: int | None = None
        self._hops: dict[str, dict[str, Any]] = {}

    @property
    def delivered(self) -> bool:
        """Whether packet and answer both arrived."""
        return self.there.delivered and self.back is not None and self.back.delivered

    def step(self) -> bool:
        """The next hop; False when there was none left."""
        if not self._todo:
            return False
        hop, is_back = self._todo.popleft()
        place = self._place(hop)
        self.trace.current = self._last
        kind, text = "packet.drop" if hop.what == "drop" else "packet.hop", cut(_told(hop, place), _TEXT)
        self._last = self.trace.emit(kind, LANE, what=hop.what, place=place, link=hop.link, text=text)
        shown = {"c": self._columns.index(place), "w": hop.what, "l": hop.link, "p": hop.packet, "b": is_back}
        self._hops[str(len(self._hops))] = shown
        return True

    def _place(self, hop: Hop) -> str:
        """The namespace's name; of a host the machine's."""
        if hop.netns in ("", HOST_NETNS):
            return hop.machine
        return self._names.get(hop.netns, hop.netns.rpartition("/")[2][:12])

    def view(self) -> dict[str, Any]:
        """The places as columns, the hops so far (column, what, link, packet, whether it is the answer), and how many
        there will be, so that the picture can leave room."""
        columns = dict(enumerate(self._columns))
        return {"walk": {"columns": columns, "hops": dict(self._hops), "rows": self._rows}}


def _told(hop: Hop, place: str) -> str:
    """A sentence."""
    if hop.what == "route":
        return f"in {place} the route is {hop.text}"
    if hop.what == "drop":
        return f"dropped in {place}: {hop.text}"
    if hop.what == "deliver":
        return f"delivered in {place}: {hop.text.removeprefix('delivered: ')}"
    return f"in {place}: {hop.text}"
