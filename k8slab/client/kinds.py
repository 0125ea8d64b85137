"""The trace kinds of the client: caches, FIFOs, work queues, syncs.

All are details (level 2) but the relist: the story of a request is told by the API server's rows, the story of a
decision by the controllers'.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from k8slab.sim.kinds import Kind, add_kinds

__all__: list[str] = []

add_kinds(
    {
        "cache.update": Kind(
            "watch",
            2,
            ("resource", "key", "revision", "delta"),
            "{delta} {key}",
            "the informer puts {resource} {key} into its cache ({delta}, revision {revision})",
        ),
        "cache.replace": Kind(
            "watch",
            2,
            ("resource", "count", "revision"),
            "{count} {resource} listed",
            "the informer replaces its cache by the list of {count} {resource} at revision {revision}",
        ),
        "cache.resync": Kind(
            "watch", 2, ("resource", "count"), "resync {resource}", "the informer shows its {count} {resource} again"
        ),
        "watch.end": Kind(
            "watch",
            2,
            ("resource", "revision", "why"),
            "watch ended",
            "the watch on {resource} ended at revision {revision}: {why}",
        ),
        "relist": Kind(
            "request",
            1,
            ("resource", "revision", "why"),
            "relist {resource}",
            "the informer lists {resource} again, after revision {revision}: {why}",
        ),
        "list.error": Kind(
            "request",
            2,
            ("resource", "why"),
            "list failed",
            "the informer could not list or watch {resource}: {why}",
        ),
        "queue.add": Kind(
            "queue", 2, ("queue", "key"), "queue {key}", "the {queue} controller's work queue takes {key}"
        ),
        "sync": Kind(
            "work",
            2,
            ("queue", "key", "attempt"),
            "sync {key}",
            "the {queue} controller syncs {key} (attempt {attempt})",
        ),
        "sync.error": Kind(
            "wait",
            2,
            ("queue", "key", "error", "retry_ms"),
            "retry {key}",
            "the {queue} controller's sync of {key} failed, next try in {retry_ms} ms: {error}",
        ),
        "sync.drop": Kind(
            "wait",
            1,
            ("queue", "key", "error", "attempts"),
            "gives up {key}",
            "the {queue} controller gives up on {key} after {attempts} attempts: {error}",
        ),
        "event.record": Kind(
            "work",
            2,
            ("resource", "key", "type", "reason", "note"),
            "{reason}",
            "{type} event {reason} about {resource} {key}: {note}",
        ),
        "event.drop": Kind(
            "wait",
            2,
            ("resource", "key", "reason", "why"),
            "event dropped",
            "the event {reason} about {resource} {key} is dropped: {why}",
        ),
    }
)
