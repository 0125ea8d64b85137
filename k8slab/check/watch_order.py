"""Watches deliver each change of an object once and in order; caches never go back in time.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/cacher (the promise), tools/cache/reflector.go
"""

from __future__ import annotations

from k8slab.check.judge import Violation
from k8slab.sim import Trace

__all__ = ["WatchOrder"]


class WatchOrder:
    """Per stream: revisions rise, each was committed to that object, and a life begins with ADDED. Per cache: the
    revision of an object never falls."""

    name = "watch order"

    def judge(self, trace: Trace) -> list[Violation]:
        committed: dict[tuple[str, str], list[int]] = {}
        streams: dict[tuple[str, str, int], int] = {}
        lives: dict[tuple[tuple[str, str, int], str], str] = {}
        cached: dict[tuple[str, str, str], int] = {}
        found: list[Violation] = []

        def report(seq: int, message: str) -> None:
            found.append(Violation(self.name, seq, message))

        for event in trace:
            data = event.data
            if event.kind == "etcd.commit":
                committed.setdefault((str(data["resource"]), str(data["key"])), []).append(int(data["revision"] or 0))
            elif event.kind == "watch.event" and data["type"] in ("ADDED", "MODIFIED", "DELETED"):
                stream = (event.actor, str(data["resource"]), int(data["stream"] or 0))
                key, revision, name = str(data["key"]), int(data["revision"] or 0), f"stream {stream[2]} of {stream[0]}"
                if revision <= streams.get(stream, 0) and data["type"] != "ADDED":
                    report(event.seq, f"{name} delivers revision {revision} after {streams[stream]}")
                streams[stream] = max(revision, streams.get(stream, 0))
                known = committed.get((str(data["resource"]), key))
                if known is not None and revision not in known:
                    report(event.seq, f"{name} delivers {key} at revision {revision}, which never was")
                before, now = lives.get((stream, key)), str(data["type"])
                if (now == "ADDED") == (before in ("ADDED", "MODIFIED")) and before is not None:
                    report(event.seq, f"{name} delivers {now} of {key} after {before}")
                lives[(stream, key)] = now
            elif event.kind == "cache.update" and data["revision"] is not None:
                place = (event.actor, str(data["resource"]), str(data["key"]))
                revision = int(data["revision"])
                if revision < cached.get(place, 0):
                    report(event.seq, f"the cache of {event.actor} takes {place[2]} back to revision {revision}")
                cached[place] = max(revision, cached.get(place, 0))
        return found
