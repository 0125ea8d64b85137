"""Another correct solution, built otherwise: verdicts by one table, scores from temperatures, whole seconds."""

import re
from datetime import UTC, datetime

from k8slab.scheduler import SUCCESS, Code, Status
from k8slab.scheduler.framework import NODE_ADD, ActionType, ClusterEvent, ClusterEventWithHint, QueueingHint

TEMPERATURE = "gpu.k8slab.dev/temperature-celsius"
MEASURED_AT = "gpu.k8slab.dev/measured-at"
START = datetime(2026, 1, 1, tzinfo=UTC)


class GPUTemperature:
    name = "GPUTemperature"

    def __init__(self, args, handle):
        self.limits = {"maxTemperatureCelsius": 85, "maxMetricAgeSeconds": 15} | dict(args)
        self.handle = handle
        self.verdicts = {
            "silent": Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) were silent about their GPUs"),
            "hot": Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "node(s) had GPUs above the limit"),
            "fine": SUCCESS,
        }

    def celsius(self, node):
        annotations = (node or {}).get("metadata", {}).get("annotations") or {}
        found = re.fullmatch("-?[0-9]+", annotations.get(TEMPERATURE, ""))
        if not found or MEASURED_AT not in annotations:
            return None
        measured = datetime.fromisoformat(annotations[MEASURED_AT].replace("Z", "+00:00"))
        age = self.handle.now_ms / 1000 - (measured - START).total_seconds()
        return None if age > self.limits["maxMetricAgeSeconds"] else int(found.group())

    def looks(self, node):
        celsius = self.celsius(node)
        if celsius is None:
            return "silent"
        return "hot" if celsius > self.limits["maxTemperatureCelsius"] else "fine"

    def filter(self, state, pod, node):
        return self.verdicts[self.looks(node.node)]

    def score(self, state, pod, node):
        return self.celsius(node.node)

    def normalize_score(self, state, pod, nodes, scores):
        rooms = [self.limits["maxTemperatureCelsius"] - celsius for celsius in scores]
        widest = max(rooms, default=0)
        return [100 * room // widest for room in rooms] if widest else [0 for _ in rooms]

    def after_node_change(self, pod, old, new):
        began = self.looks(new) == "fine" and (old is None or self.looks(old) != "fine")
        return QueueingHint.QUEUE if began else QueueingHint.QUEUE_SKIP

    def events_to_register(self):
        annotated = ClusterEvent(NODE_ADD.resource, ActionType.UPDATE_NODE_ANNOTATION)
        return [ClusterEventWithHint(event, self.after_node_change) for event in (NODE_ADD, annotated)]
