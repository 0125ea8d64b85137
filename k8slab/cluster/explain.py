"""Answers in words: what state an object is in and why, from the store, the events and the trace.

Upstream: kubectl describe (the role)
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from k8slab.api.objects import Object
from k8slab.api.scheme import gvk_of
from k8slab.cluster.mirror import Mirror
from k8slab.cluster.readiness import not_acted_on, not_ready
from k8slab.cluster.references import Reference
from k8slab.scheduler import Explanation as Placement
from k8slab.scheduler import NodeVerdict
from k8slab.sim import Trace, TraceEvent, is_main, main_story

__all__ = ["Explanation", "Why", "explain", "last_event_of", "verdict_lines", "why"]


_WIDTH = 76  # of a page's column


@dataclass(frozen=True)
class Explanation:
    """What is known of one object, as text. `ready` and `reason` are the verdict."""

    reference: str
    ready: bool
    reason: str
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True)
class Why:
    """The walk from the first cause to an event, first cause first."""

    events: tuple[TraceEvent, ...]

    def main(self) -> Why:
        """The walk without its details; the event asked for is always there."""
        main = main_story(self.events)
        return Why(tuple(e for e in self.events if e.seq in main or e is self.events[-1]))

    def __len__(self) -> int:
        return len(self.events)

    def __str__(self) -> str:
        width = len(f"{self.events[-1].now_ms:,}") if self.events else 1
        indent = " " * (width + 5)
        lines = []
        for event in self.events:
            text = f"{event.now_ms:>{width},} ms  {event.message}"
            lines.append(textwrap.fill(text, _WIDTH, subsequent_indent=indent, break_on_hyphens=False))
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


def explain(reference: Reference, mirror: Mirror, extra: Sequence[str] = ()) -> Explanation:
    """State, conditions, owner and events of one object. KeyError when it does not exist."""
    obj = mirror.get(reference.info.gvr.group_resource, reference.key)
    if obj is None:
        raise KeyError(f"{reference.info.gvr.group_resource} {reference.key!r} does not exist")
    gvk = gvk_of(obj) if "kind" in obj else reference.info.gvk
    reason = not_ready(obj, mirror)
    head = f"{gvk.kind} {reference.key}"
    note = not_acted_on(gvk)
    lines = [f"{head}: {note or reason or 'ready'}"]
    for owner in obj["metadata"].get("ownerReferences") or []:
        lines.append(f"  controlled by {owner['kind']} {owner['name']}")
    if "deletionTimestamp" in obj["metadata"]:
        finalizers = obj["metadata"].get("finalizers") or []
        waits = f"; waits for finalizers {', '.join(finalizers)}" if finalizers else ""
        lines.append(f"  being deleted since {obj['metadata']['deletionTimestamp']}{waits}")
    for condition in (obj.get("status") or {}).get("conditions") or []:
        text = " ".join(str(condition[k]) for k in ("reason", "message") if condition.get(k))
        lines.append(f"  {condition['type']}: {condition['status']}{f' ({text})' if text else ''}")
    lines += [f"  {line}" for line in extra]
    lines += [f"  event {_event_line(event)}" for event in _events_of(obj, mirror)]
    return Explanation(str(reference), not reason, reason, tuple(lines))


def verdict_lines(placement: Placement) -> list[str]:
    """What each node says to a Pod: why not, or its score; and for whom it keeps the room."""
    return [
        f"{row.node}: fits, score {row.total}" if row.feasible else f"{row.node}: {', '.join(row.reasons)}{_kept(row)}"
        for row in placement.nodes
    ]


def _kept(row: NodeVerdict) -> str:
    return f" (room is kept for {', '.join(row.kept_for)}, nominated for this node)" if row.kept_for else ""


def _event_line(event: Object) -> str:
    series = event.get("series") or {}
    count = event.get("count") or series.get("count") or 1
    times = f" (x{count})" if count > 1 else ""
    return f"{event.get('type')} {event.get('reason')}{times}: {event.get('message') or event.get('note')}"


def _events_of(obj: Object, mirror: Mirror) -> list[Object]:
    uid = obj["metadata"].get("uid")
    found = [e for _, e in mirror.items("events") if _about(e).get("uid") == uid]
    return sorted(found, key=lambda e: int(e["metadata"]["resourceVersion"]))


def _about(event: Object) -> Any:
    return event.get("involvedObject") or event.get("regarding") or {}


def last_event_of(trace: Trace, resource: str, key: str) -> TraceEvent | None:
    """The event that best answers "why is it so": the last main-story event about the object, else its last commit."""
    commit = None
    for event in reversed(list(trace)):
        if event.data.get("key") != key:
            continue
        if event.data.get("resource") == resource and event.kind == "etcd.commit" and commit is None:
            commit = event
        about = event.data.get("resource", "pods")
        if about == resource and is_main(event, trace.get):
            return event
    return commit


def why(trace: Trace, resource: str, key: str) -> Why:
    """The causes of the last thing that happened to an object. KeyError when the trace knows nothing of it."""
    event = last_event_of(trace, resource, key)
    if event is None:
        raise KeyError(f"the trace has no event about {resource} {key!r}")
    return Why(tuple(reversed(trace.causes(event.seq))))
