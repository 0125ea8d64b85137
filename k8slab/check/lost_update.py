"""No update overwrites a change its writer had not seen.

Upstream: staging/src/k8s.io/apiserver/pkg/storage/etcd3/store.go (GuaranteedUpdate)
"""

from __future__ import annotations

from k8slab.check.judge import Violation
from k8slab.sim import Trace

__all__ = ["NoLostUpdate"]


class NoLostUpdate:
    """A commit names the revision it replaces (`base`); between the two the object must not have changed."""

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
            if base is not None and before is not None and base != before:
                text = f"{place[1]} is written over revision {before} by somebody who had seen revision {base}"
                found.append(Violation(self.name, event.seq, text))
            last[place] = 0 if data["op"] == "delete" else int(data["revision"] or 0)
        return found
