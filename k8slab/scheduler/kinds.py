"""The trace kinds of the scheduler: one main event for each decision, the rest is detail.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from collections.abc import Sequence

from k8slab.sim.kinds import Kind, add_kinds

__all__ = ["some_of"]

add_kinds(
    {
        "schedule.attempt": Kind(
            "queue",
            2,
            ("resource", "key", "attempt"),
            "takes {key}",
            "the scheduler takes Pod {key} (attempt {attempt})",
        ),
        "schedule.decide": Kind(
            "work",
            1,
            ("resource", "key", "node", "feasible", "evaluated", "score"),
            "{key} -> {node}",
            "the scheduler picks {node} for Pod {key} ({feasible} of {evaluated} nodes fit, score {score})",
        ),
        "schedule.fail": Kind(
            "wait",
            1,
            ("resource", "key", "reason", "message", "queue"),
            "no node for {key}",
            "the scheduler has no node for Pod {key}: {message}",
        ),
        "schedule.preempt": Kind(
            "work",
            1,
            ("resource", "key", "node", "victims"),
            "{key} preempts",
            "the scheduler makes room for Pod {key} on {node}: {victims} must go",
        ),
        "schedule.evict-error": Kind(
            "wait",
            2,
            ("resource", "key", "error"),
            "{key}: eviction failed",
            "the scheduler could not evict Pod {key}: {error}",
        ),
        "schedule.wait": Kind(
            "wait",
            2,
            ("resource", "key", "node", "plugins"),
            "{key} waits",
            "the scheduler holds Pod {key} back from {node}: {plugins} asked to wait",
        ),
        "schedule.group": Kind(
            "work",
            1,
            ("group", "members", "feasible", "outcome"),
            "{group} together",
            "the scheduler tries {members} Pods of {group} together, {feasible} find a place: {outcome}",
        ),
        "schedule.allow": Kind(
            "work",
            1,
            ("resource", "key", "node", "waited_ms"),
            "{key} may go",
            "the scheduler lets Pod {key} go to {node}, {waited_ms} ms after its place was reserved",
        ),
        "schedule.reject": Kind(
            "wait",
            1,
            ("resource", "key", "node", "error"),
            "{key} may not go",
            "the scheduler takes the place on {node} back from Pod {key}: {error}",
        ),
        "schedule.bind-error": Kind(
            "wait",
            1,
            ("resource", "key", "node", "error"),
            "binding {key} failed",
            "the scheduler could not bind Pod {key} to {node}: {error}",
        ),
        "schedule.error": Kind(
            "wait",
            2,
            ("resource", "key", "error"),
            "{key}: write failed",
            "the scheduler could not write the status of Pod {key}: {error}",
        ),
        "extender.ask": Kind(
            "request",
            2,
            ("resource", "key", "url", "verb"),
            "asks to {verb}",
            "the scheduler asks the extender {url} to {verb} for Pod {key}",
        ),
        "extender.answer": Kind(
            "work",
            2,
            ("resource", "key", "url", "verb", "outcome", "took_ms"),
            "{verb}: {outcome}",
            "the extender {url} answers {verb} for Pod {key} after {took_ms} ms: {outcome}",
        ),
        "schedule.queue": Kind(
            "queue",
            2,
            ("resource", "key", "queue", "event"),
            "{key}: {queue}",
            "the scheduling queue puts Pod {key} into {queue} ({event})",
        ),
    }
)


def some_of(names: Sequence[str], length: int) -> str:
    """As many names as fit into `length` characters, at least the first, and how many more there are."""
    shown, text = len(names), ", ".join(names)
    while len(text) > length and shown > 1:
        shown -= 1
        text = f"{', '.join(names[:shown])} and {len(names) - shown} more"
    return text
