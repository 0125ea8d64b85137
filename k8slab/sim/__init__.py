"""The ground floor: one virtual clock, one seed, one loop, one trace.

Everything above is made of tasks (`async def` on this loop, not asyncio) and of plain state that tasks call.

>>> from k8slab.sim import Loop, sleep
>>> loop = Loop(seed=7)
>>> async def heartbeat(name, beats):
...     for _ in range(3):
...         await sleep(10)
...         beats.append((loop.clock.now_ms, name))
>>> beats = []
>>> _ = loop.spawn("kubelet/node-1/lease", heartbeat("node-1", beats))
>>> loop.run(until_idle=True), beats
(True, [(10, 'node-1'), (20, 'node-1'), (30, 'node-1')])

The caller's duties: take randomness from `loop.stream(name)` and time from `loop.clock`; re-check a condition
after waking; put no `await` into a `finally`; end a component with `Component.kill`, a simulation with
`Loop.close`.

Simplified: one process and one clock. Time passes only between actions; computing takes none.
"""

from k8slab.sim.clock import Clock
from k8slab.sim.component import Component
from k8slab.sim.disk import Disk, DiskError
from k8slab.sim.kinds import KINDS, Kind, add_kinds, fill
from k8slab.sim.latency import PROFILES, LatencyProfile, latency_profile
from k8slab.sim.loop import Future, LivelockError, Loop, Mailbox, Task, Wait, Waitable, Waiters, pause, sleep
from k8slab.sim.minimise import find_holds, minimise, minimise_holds
from k8slab.sim.network import Faults, Network
from k8slab.sim.order import Choices, Chosen, Fifo, Hold, Holds, Order, Priority, Shuffle, matches
from k8slab.sim.recording import Input, Recording, order_of
from k8slab.sim.trace import Trace, TraceEvent, is_main, main_story

__all__ = [
    "KINDS",
    "PROFILES",
    "Choices",
    "Chosen",
    "Clock",
    "Component",
    "Disk",
    "DiskError",
    "Faults",
    "Fifo",
    "Future",
    "Hold",
    "Holds",
    "Input",
    "Kind",
    "LatencyProfile",
    "LivelockError",
    "Loop",
    "Mailbox",
    "Network",
    "Order",
    "Priority",
    "Recording",
    "Shuffle",
    "Task",
    "Trace",
    "TraceEvent",
    "Wait",
    "Waitable",
    "Waiters",
    "add_kinds",
    "fill",
    "find_holds",
    "is_main",
    "latency_profile",
    "main_story",
    "matches",
    "minimise",
    "minimise_holds",
    "order_of",
    "pause",
    "sleep",
]
