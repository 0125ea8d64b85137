"""Judges: what must never happen, looked for in a recorded trace.

A judge never touches live objects. It reads `Trace` (events with causes, and every recorded state of every object)
and returns violations; the same judges serve tests, chapters and the grading of labs.

>>> from k8slab.check import ALL, judge
>>> from k8slab.sim import Clock, Trace
>>> trace = Trace(Clock())
>>> for revision, base in ((1, 0), (2, 1), (3, 1)):
...     _ = trace.emit("etcd.commit", "etcd", resource="pods", key="a/b", revision=revision, op="put", base=base)
>>> [violation.message for violation in judge(trace, ALL)]
['a/b is written over revision 2 by somebody who had seen revision 1']

The caller's duties: keep the whole trace (`keep=None`) of the run that is judged.

Raft's five properties are in `RAFT`; answers that clients got are judged by `not_linearizable`.

Simplified: a history is judged as one of registers (read, write, compare and set), key by key.
"""

from k8slab.check.convergence import Convergence
from k8slab.check.judge import Change, Judge, Violation, judge, timeline
from k8slab.check.linearizability import Operation, linearizable, not_linearizable
from k8slab.check.lost_update import NoLostUpdate
from k8slab.check.ownership import Ownership, RolloutBounds
from k8slab.check.raft import (
    RAFT,
    ElectionSafety,
    LeaderAppendOnly,
    LeaderCompleteness,
    LogMatching,
    StateMachineSafety,
)
from k8slab.check.watch_order import WatchOrder

ALL: tuple[Judge, ...] = (WatchOrder(), NoLostUpdate(), Ownership(), RolloutBounds(), Convergence())
"""Every judge, for runs that have come to rest."""

__all__ = [
    "ALL",
    "RAFT",
    "Change",
    "Convergence",
    "ElectionSafety",
    "Judge",
    "LeaderAppendOnly",
    "LeaderCompleteness",
    "LogMatching",
    "NoLostUpdate",
    "Operation",
    "Ownership",
    "RolloutBounds",
    "StateMachineSafety",
    "Violation",
    "WatchOrder",
    "judge",
    "linearizable",
    "not_linearizable",
    "timeline",
]
