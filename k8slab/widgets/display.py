"""States as a page shows them: objects without noise, only those that matter, and what each lane holds.

Simplified: managedFields, the token volume that the ServiceAccount admission plugin mounts, a node's list of images
and the applied-configuration annotation are not shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from k8slab.widgets.story import focus_of, lane_of

if TYPE_CHECKING:
    from k8slab.widgets.frames import Moment

__all__ = ["Display", "trimmed"]

MOST_NODES = 5
_NOT_SHOWN = ("Event", "Lease")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_TOKEN = "kube-api-access-"


def trimmed(value: Any) -> Any:
    """A plain copy of an object without what nobody reads: managedFields, token volumes, nulls."""
    if isinstance(value, Mapping):
        return {name: trimmed(part) for name, part in value.items() if not _is_noise(name, part)}
    if isinstance(value, (list, tuple)):
        return [trimmed(part) for part in value if not _is_token(part)]
    return value


def _is_noise(name: str, value: Any) -> bool:
    if value is None or name in ("managedFields", _LAST_APPLIED, "images", "nodeInfo"):
        return True
    return isinstance(value, (list, tuple)) and bool(value) and all(_is_token(part) for part in value)


def _is_token(value: Any) -> bool:
    return isinstance(value, Mapping) and str(value.get("name", "")).startswith(_TOKEN)


class Display:
    """The states of the kept moments, ready to be encoded.

    Objects are shown that some kept step is about or that change while it is recorded; Nodes always, if few.
    `fold` names the lane each lane is shown in.
    """

    def __init__(self, kept: Sequence[Moment], state0: Mapping[str, Any], fold: Mapping[str, str]) -> None:
        self._kept = kept
        self._fold = fold
        self._trimmed: dict[int, tuple[Any, Any]] = {}
        self._shown = _wanted(kept, state0)

    def states(self) -> Iterator[tuple[Moment, dict[str, Any]]]:
        """Each kept moment with the state to show."""
        queued: dict[tuple[str, str], str] = {}
        for moment in self._kept:
            _queue(queued, moment)
            yield moment, self.state(moment.state, queued.values())

    def state(self, raw: Mapping[str, Any], queued: Iterable[str]) -> dict[str, Any]:
        """One state; `queued`: the lane of each key that waits in a work queue."""
        if "objects" not in raw:
            return dict(raw)
        objects = {name: self._trim(obj) for name, obj in raw["objects"].items() if name in self._shown}
        return {**raw, "objects": objects, "badges": self._badges(raw["objects"], queued)}

    def _trim(self, obj: Any) -> Any:
        known = self._trimmed.get(id(obj))
        if known is None:
            known = self._trimmed[id(obj)] = (obj, trimmed(obj))
        return known[1]

    def _badges(self, objects: Mapping[str, Any], queued: Iterable[str]) -> dict[str, list[str]]:
        """Keys that wait in a queue; Pods on a node: outline bound, fill running."""
        badges: dict[str, list[str]] = {}
        for lane in queued:
            badges.setdefault(self._fold.get(lane, lane), []).append("outline")
        for name, pod in objects.items():
            node = (pod.get("spec") or {}).get("nodeName") if name.startswith("Pod/") else None
            if node:
                lane = self._fold.get(f"kubelet/{node}", f"kubelet/{node}")
                phase = (pod.get("status") or {}).get("phase")
                badges.setdefault(lane, []).append("fill" if phase == "Running" else "outline")
        return {lane: marks[:3] for lane, marks in badges.items()}


def _queue(queued: dict[tuple[str, str], str], moment: Moment) -> None:
    data = moment.event.data
    one = (str(data.get("queue")), str(data.get("key")))
    if moment.event.kind == "queue.add":
        queued[one] = lane_of(moment.event.actor)
    elif moment.event.kind == "sync":
        queued.pop(one, None)


def _wanted(kept: Sequence[Moment], state0: Mapping[str, Any]) -> set[str]:
    """Names of the objects to show."""
    before = state0.get("objects", {})
    shown = set()
    nodes = [name for name in before if name.startswith("Node/")]
    if len(nodes) <= MOST_NODES:
        shown.update(nodes)
    for moment in kept:
        objects = moment.state.get("objects", {})
        shown.update(name for name in focus_of(moment.event) if name in objects or name in before)
        if objects is not before:
            shown.update(name for name, obj in objects.items() if before.get(name) is not obj)
            shown.update(name for name in before if name not in objects)
            before = objects
    return {name for name in shown if name.partition("/")[0] not in _NOT_SHOWN}
