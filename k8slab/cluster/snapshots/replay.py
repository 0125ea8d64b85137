"""Recordings of what-ifs: all that went in, in one file, so that the same answer comes out anywhere.

The objects in it are those of the snapshot, already reduced to what scheduling reads.

Upstream: none (kube-scheduler-simulator records the events of a cluster)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from k8slab.api.objects import Object, thaw
from k8slab.cluster.snapshots.capacity import WhatIf, WhatIfAnswer
from k8slab.cluster.snapshots.mocks import mocked_results
from k8slab.cluster.snapshots.secrets import without_secrets
from k8slab.cluster.snapshots.snapshot import ClusterSnapshot
from k8slab.cluster.snapshots.stream import SnapshotError
from k8slab.scheduler import KubeSchedulerConfiguration

__all__ = ["WhatIfRecording", "answer_hash", "what_if_report"]

_FORMAT = "k8slab/simulate-schedule/recording/1"


class WhatIfRecording(NamedTuple):
    """A what-if as plain data. `config`: the text of a KubeSchedulerConfiguration, "" for none; `mocks`: as they were
    written."""

    snapshot: ClusterSnapshot
    add: Sequence[Object]
    new_nodes: Sequence[Object]
    config: str = ""
    mocks: Sequence[Any] = ()
    seed: int | str = 7
    fill: bool = False

    def run(self) -> WhatIfAnswer:
        """The answer: the same every time."""
        what_if = WhatIf(
            self.snapshot,
            self.add,
            self.new_nodes,
            config=KubeSchedulerConfiguration.from_yaml(self.config, source="config") if self.config else None,
            mocks=mocked_results(list(self.mocks)),
            seed=self.seed,
        )
        return what_if.run(fill=self.fill)

    def dump(self, answer: WhatIfAnswer) -> str:
        """As text, with the hash of the answer that `run` gave: `load` and `run` give it again, byte for byte. Keys,
        certificates and passwords of the configuration are left out."""
        fields = self._asdict()
        snapshot = fields.pop("snapshot")
        fields |= {"objects": list(snapshot), "server_version": snapshot.server_version}
        fields["config"] = without_secrets(self.config) if self.config else ""
        body = {"format": _FORMAT, "answer": answer_hash(answer), **{k: thaw(v) for k, v in fields.items()}}
        return json.dumps(body, sort_keys=True, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def load(cls, text: str, source: str = "recording") -> tuple[WhatIfRecording, str]:
        """The recording and the hash of the answer it had. ValueError: it is none, or a part of it is missing."""
        try:
            body = json.loads(text)
        except json.JSONDecodeError as error:
            where = f"{source}, line {error.lineno}, column {error.colno}"
            raise ValueError(f"{where}: {error.msg}: expected what `simulate schedule --record` wrote") from None
        except RecursionError:
            raise ValueError(f"{source}: nested too deeply") from None
        except ValueError:
            raise ValueError(f"{source}: a number with too many digits") from None
        if not isinstance(body, dict) or body.get("format") != _FORMAT:
            found = body.get("format") if isinstance(body, dict) else body
            raise ValueError(f"{source}: format: {str(found)[:40]!r}: expected {_FORMAT}")
        for name in _TYPES:
            if name not in body:
                raise ValueError(f"{source}: {name}: missing, expected what `--record` wrote")
        for name, (types, expected) in _TYPES.items():
            if not isinstance(body[name], types) or (types is not bool and isinstance(body[name], bool)):
                raise ValueError(f"{source}: {name}: {str(body[name])[:40]!r}: expected {expected}")
        snapshot = ClusterSnapshot.of(body["objects"], f"{source}: objects", server_version=body["server_version"])
        _check_more(body, source)
        mocked_results(body["mocks"], f"{source}: mocks")
        if body["config"]:
            KubeSchedulerConfiguration.from_yaml(body["config"], source=f"{source}: config")
        return cls(snapshot, *(body[name] for name in cls._fields[1:])), body["answer"]


_TYPES: Mapping[str, tuple[type | tuple[type, ...], str]] = {
    **dict.fromkeys(("objects", "add", "new_nodes", "mocks"), (list, "a list")),
    **dict.fromkeys(("config", "server_version", "answer"), (str, "a text")),
    "seed": ((int, str), "a number or a text"),
    "fill": (bool, "true or false"),
}


def _check_more(body: Mapping[str, Any], source: str) -> None:
    """SnapshotError for an object that a recording cannot have beside those of its snapshot."""
    for name, kinds in (("add", ("Pod",)), ("new_nodes", ("Node", "Pod"))):
        ClusterSnapshot.of(body[name], f"{source}: {name}")
        for index, obj in enumerate(body[name]):
            if obj["kind"] not in kinds:
                what = f"{source}: {name}[{index}]: kind: {obj['kind']!r}"
                raise SnapshotError(f"{what}: expected {' or '.join(kinds)}")
            if obj["kind"] == "Pod" and not isinstance(obj.get("spec"), Mapping):
                raise SnapshotError(f"{source}: {name}[{index}]: spec: missing, expected that of a Pod")


def what_if_report(answer: WhatIfAnswer) -> dict[str, Any]:
    """An answer as plain data."""
    return {
        "placements": [
            {"pod": p.pod, "node": p.node, "message": p.message, "new": p.is_new, "evicted": list(p.evicted)}
            for p in answer.placements
        ],
        "usage": [usage._asdict() for usage in answer.usage],
        "room": dict(answer.room),
        "newNodes": list(answer.new_nodes),
    }


def answer_hash(answer: WhatIfAnswer) -> str:
    """What a recording keeps of its answer: two answers with the same hash are the same."""
    return hashlib.sha256(json.dumps(what_if_report(answer), sort_keys=True).encode()).hexdigest()
