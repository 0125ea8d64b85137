"""No update overwrites a change its writer had not seen.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/etcd3/store.go (GuaranteedUpdate)
"""

from __future__ import annotations

from k8slab.check.judge import Violation
from k8slab.sim import Trace, TraceEvent

__all__ = ["NoLostUpdate"]


class NoLostUpdate:
    """A commit names the revision it replaces (`base`), an update the resourceVersion its writer had read: between
    those and the commit the object must not have changed."""

    name = "no lost update"

    def judge(self, trace: Trace) -> list[Violation]:
        last: dict[tuple[str, str], int] = {}
        found = []
        for event in trace:
            if event.kind != "etcd.commit":
                continue
            data = event.data
            place, base = (str(data["resource"]), str(data["key"])), data["base"]
            before = last.get(place)
            for seen in (base, _read_by_writer(trace, event, place)):
                if seen is not None and before is not None and seen != before:
                    text = f"{place[1]} is written over revision {before} by somebody who had seen revision {seen}"
                    found.append(Violation(self.name, event.seq, text))
                    break
            last[place] = 0 if data["op"] == "delete" else int(data["revision"] or 0)
        return found


def _read_by_writer(trace: Trace, commit: TraceEvent, place: tuple[str, str]) -> int | None:
    """The resourceVersion in the update that led to a commit; None when it named none."""
    event = commit
    while event.cause is not None:
        try:
            event = trace[event.cause]
        except KeyError:
            return None  # not kept any more
        if event.kind == "serve":
            mine = (event.data["resource"], event.data["key"]) == place
            expected = event.data["expected"]
            return int(expected) if mine and isinstance(expected, str) and expected.isdecimal() else None
        if event.kind not in ("admission",):
            return None
    return None
