"""Plays operations on a learner's plugin. Runs in the child, next to the learner's code; knows nothing of what is
right.

Nodes are named; `report a 60` is the agent of node a writing 60 degrees and the present moment into its annotations
(any other word is written as it is), `silent a` a node a without a report. `clock` lets seconds pass, `limits` begins
anew with these arguments. What is asked about a node that does not exist does nothing.
"""

from collections.abc import Iterable

from k8slab.api.times import rfc3339
from k8slab.scheduler import CycleState, NodeInfo, Status
from k8slab.scheduler.framework import (
    NODE_ADD,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)

POD = {
    "metadata": {"name": "train", "namespace": "default", "uid": "1"},
    "spec": {"containers": [{"name": "c", "resources": {"requests": {"nvidia.com/gpu": "1"}}}]},
}


class Handle:
    """What the framework offers, as far as this lab needs it."""

    def __init__(self):
        self.now_ms = 0


class Player:
    """A clock, some nodes, and the learner's plugin."""

    def __init__(self, names, setting):
        self.make, self.asks_for_hints = names["GPUTemperature"], setting == "hints"
        self.begin({})

    def begin(self, args):
        self.handle, self.nodes = Handle(), {}
        self.plugin = self.make(args, self.handle)

    def limits(self, celsius, seconds):
        self.begin({"maxTemperatureCelsius": int(celsius), "maxMetricAgeSeconds": int(seconds)})

    def clock(self, seconds):
        self.handle.now_ms += 1000 * int(seconds)

    def report(self, name, celsius):
        now = rfc3339(self.handle.now_ms)
        return self.change(name, {"gpu.k8slab.dev/temperature-celsius": celsius, "gpu.k8slab.dev/measured-at": now})

    def silent(self, name):
        return self.change(name, {})

    def change(self, name, annotations):
        old = self.nodes.get(name)
        new = {
            "metadata": {"name": name, "annotations": annotations},
            "status": {"allocatable": {"nvidia.com/gpu": "4"}},
        }
        self.nodes[name] = new
        return self.hint(old, new) if self.asks_for_hints else None

    def hint(self, old, new):
        """What the plugin says to the change, if it has registered for such changes."""
        change = NODE_ADD if old is None else ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_ANNOTATION)
        entries = self.plugin.events_to_register()
        if not isinstance(entries, Iterable):
            raise TypeError(f"events_to_register: expected a list of ClusterEventWithHint, found {short(entries)}")
        for entry in entries:
            if not isinstance(entry, ClusterEventWithHint):
                raise TypeError(
                    f"events_to_register: expected a list of ClusterEventWithHint, with {short(entry)} in it"
                )
            if not entry.event.matches(change):
                continue
            found = QueueingHint.QUEUE if entry.hint is None else entry.hint(POD, old, new)
            if not isinstance(found, QueueingHint):
                raise TypeError(
                    f"the hint: expected QueueingHint.QUEUE or QueueingHint.QUEUE_SKIP, found {short(found)}"
                )
            if found is QueueingHint.QUEUE:
                return found.value
        return QueueingHint.QUEUE_SKIP.value

    def ask(self, name):
        return None if name not in self.nodes else self.verdict(CycleState(), NodeInfo.of(self.nodes[name]))

    def verdict(self, state, info):
        found = self.plugin.filter(state, POD, info)
        if not isinstance(found, Status):
            raise TypeError(f"filter: expected a Status, found {short(found)}")
        if found.is_success:
            return "fits"
        if not found.is_rejected:
            raise TypeError(f"filter: expected SUCCESS or a Status of Code.UNSCHEDULABLE, found {found!r}")
        return f"no: {found.message}"

    def rank(self):
        """The scores of the nodes that the plugin itself lets pass."""
        state = CycleState()
        infos = [NodeInfo.of(node) for node in self.nodes.values()]
        fitting = [info for info in infos if self.verdict(state, info) == "fits"]
        raw = [whole("score", self.plugin.score(state, POD, info)) for info in fitting]
        scores = self.plugin.normalize_score(state, POD, fitting, list(raw))
        if not isinstance(scores, (list, tuple)) or len(scores) != len(raw):
            raise TypeError(f"normalize_score: expected a list of {len(raw)} whole numbers, found {short(scores)}")
        found = [whole("normalize_score", score) for score in scores]
        return " ".join(f"{info.name}={score}" for info, score in zip(fitting, found, strict=True)) or "nobody"


def whole(where, found):
    if type(found) is not int:
        raise TypeError(f"{where}: expected a whole number, found {short(found)}")
    return found


def short(found):
    return (
        repr(found)[:60]
        if isinstance(found, (str, int, float, bool, list, tuple, type(None)))
        else f"a {type(found).__name__}"
    )


def drive(names, setting):
    player = Player(names, setting)
    verbs = {
        "report": player.report,
        "silent": player.silent,
        "clock": player.clock,
        "limits": player.limits,
        "ask": player.ask,
        "rank": player.rank,
    }
    return lambda verb, *words: verbs[verb](*words)
