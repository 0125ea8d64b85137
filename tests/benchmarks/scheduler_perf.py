"""The shapes of upstream's scheduler_perf, by the same names, for our scheduling cycle.

`python -m tests.benchmarks.scheduler_perf [NODES ...]` prints the table of docs/performance.md.

What is timed: decide on a Node and count the Pod there (PreemptionBasic: also find the victims, take them away and
decide again), in one process. What upstream's thresholds and the real scheduler's figures include besides: an API
server, etcd, informers, binding.

Upstream: test/integration/scheduler_perf (affinity, misc, default_preemption, topology_spreading)
Simplified: the initial Pods are put on the Nodes in turn instead of being scheduled; Unschedulable has one hopeless Pod
after every tenth, since there is no clock for its rate of 5 a second.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from k8slab.scheduler import Framework, Snapshot
from k8slab.table import Table
from tests.scheduling import node, pod

__all__ = ["WORKLOADS", "Run", "Workload"]

ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"
ONE_ZONE, THREE_ZONES = ("zone1",), ("moon-1", "moon-2", "moon-3")
Json = dict[str, Any]
Maker = Callable[[str, str], Json]


def plain(name: str, namespace: str) -> Json:
    return pod(name, "100m", "500Mi", namespace=namespace)


def different(name: str, namespace: str) -> Json:
    """No two ask for the same."""
    number = int(name.rpartition("-")[2])
    return pod(name, f"{100 + number % 997}m", f"{500 + number % 991}Mi", namespace=namespace)


def low_priority(name: str, namespace: str) -> Json:
    return pod(name, "900m", "500Mi", namespace=namespace, priority=0)


def high_priority(name: str, namespace: str) -> Json:
    return pod(name, "3", "500Mi", namespace=namespace, priority=10)


def hopeless(name: str, namespace: str) -> Json:
    return pod(name, "9", "500Mi", namespace=namespace, priority=10)


def coloured(color: str, **spec: Any) -> Maker:
    def make(name: str, namespace: str) -> Json:
        made = pod(name, "100m", "500Mi", namespace=namespace, **spec)
        made["metadata"]["labels"] = {"name": "test", "color": color}
        return made

    return make


def term(color: str, key: str) -> Json:
    return {
        "labelSelector": {"matchLabels": {"color": color}},
        "topologyKey": key,
        "namespaces": ["sched-1", "sched-0"],
    }


def required(kind: str, color: str, key: str) -> Maker:
    return coloured(color, affinity={kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term(color, key)]}})


def preferred(kind: str, color: str) -> Maker:
    weighted = [{"weight": 1, "podAffinityTerm": term(color, HOST)}]
    return coloured(color, affinity={kind: {"preferredDuringSchedulingIgnoredDuringExecution": weighted}})


def spread(when: str) -> Maker:
    constraint = {"maxSkew": 5, "topologyKey": ZONE, "whenUnsatisfiable": when,
                  "labelSelector": {"matchLabels": {"color": "blue"}}}  # fmt: skip
    return coloured("blue", topologySpreadConstraints=[constraint])


def in_zone(name: str, namespace: str) -> Json:
    expression = {"key": ZONE, "operator": "In", "values": ["zone1", "zone2"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    return pod(name, "100m", "500Mi", namespace=namespace, affinity=affinity)


POD_AFFINITY = required("podAffinity", "blue", ZONE)
POD_ANTI_AFFINITY = required("podAntiAffinity", "green", HOST)
PREFERRED_AFFINITY = preferred("podAffinity", "red")
PREFERRED_ANTI_AFFINITY = preferred("podAntiAffinity", "yellow")


@dataclass(frozen=True)
class Workload:
    """`initial`: (maker, Pods to a Node) in namespace sched-0; `measured` Pods come in sched-1.

    `threshold`: upstream's own, Pods/s at 5,000 nodes; `real`: the real kube-scheduler's at (100, 1,000, 5,000).
    """

    measured: Maker
    initial: tuple[tuple[Maker, float], ...] = ()
    zones: tuple[str, ...] = ()
    threshold: int | None = None
    real: tuple[int, ...] = ()
    preempts: bool = False
    beside: Maker | None = field(default=None)


WORKLOADS: dict[str, Workload] = {
    "SchedulingBasic": Workload(plain, ((plain, 0.2),), threshold=680, real=(608, 478, 407)),
    "SchedulingBasic, all different": Workload(different, ((plain, 0.2),)),
    "SchedulingPodAntiAffinity": Workload(POD_ANTI_AFFINITY, ((POD_ANTI_AFFINITY, 0.2),), threshold=60),
    "SchedulingPodAffinity": Workload(POD_AFFINITY, ((POD_AFFINITY, 1),), ONE_ZONE, 35),
    "SchedulingPreferredPodAffinity": Workload(PREFERRED_AFFINITY, ((PREFERRED_AFFINITY, 1),), threshold=90),
    "SchedulingPreferredPodAntiAffinity": Workload(
        PREFERRED_ANTI_AFFINITY, ((PREFERRED_ANTI_AFFINITY, 1),), threshold=90
    ),
    "SchedulingNodeAffinity": Workload(in_zone, ((in_zone, 1),), ONE_ZONE, 220),
    "TopologySpreading": Workload(spread("DoNotSchedule"), ((plain, 1),), THREE_ZONES, 460),
    "PreferredTopologySpreading": Workload(spread("ScheduleAnyway"), ((plain, 1),), THREE_ZONES, 340),
    "MixedSchedulingBasePod": Workload(
        plain,
        tuple(
            (maker, 0.4)
            for maker in (plain, POD_AFFINITY, POD_ANTI_AFFINITY, PREFERRED_AFFINITY, PREFERRED_ANTI_AFFINITY)
        ),
        ONE_ZONE,
        140,
    ),
    "PreemptionBasic": Workload(high_priority, ((low_priority, 4),), preempts=True),
    "Unschedulable": Workload(plain, ((plain, 0.02),), threshold=590, beside=hopeless),
}


class Run:
    """A workload on so many Nodes; each `place(n)` brings n more Pods.

    `explain`: every plugin's verdict on every Node for every Pod. `memo` and other switches go to the framework.
    """

    def __init__(self, workload: Workload, nodes: int, *, explain: bool = False, **switches: Any) -> None:
        self.workload, self.explain = workload, explain
        self.framework = Framework.from_profile(**switches)
        self.snapshot = Snapshot.of([_node(n, workload.zones) for n in range(nodes)], _initial(workload, nodes))
        self._numbers = count()

    def place(self, pods: int) -> None:
        """Raises AssertionError when a Pod that has room is not placed, or one that has none is."""
        for _ in range(pods):
            number = next(self._numbers)
            self._place(self.workload.measured(f"pod-{number}", "sched-1"))
            if self.workload.beside is not None and number % 10 == 9:
                result = self.framework.schedule(self.workload.beside(f"beside-{number}", "sched-1"), self.snapshot)
                assert not result.node, "a hopeless Pod was placed"

    def _place(self, incoming: Json) -> None:
        result = self.framework.schedule(incoming, self.snapshot, explain=self.explain)
        if self.workload.preempts:
            assert result.post_filter is not None and result.post_filter.preemption is not None, result.message
            chosen = result.post_filter.preemption
            for victim in chosen.victims:
                self.snapshot.take_away(victim.key, chosen.node)
            incoming["status"] = {"nominatedNodeName": chosen.node}
            result = self.framework.schedule(incoming, self.snapshot)
        assert result.node, result.message
        self.snapshot.assume(incoming, result.node)


def _node(number: int, zones: tuple[str, ...]) -> Json:
    labels = {HOST: f"node-{number}"} | ({ZONE: zones[number % len(zones)]} if zones else {})
    return node(f"node-{number}", "4", "32Gi", labels=labels)


def _initial(workload: Workload, nodes: int) -> Iterator[Json]:
    place = 0
    for kind, (maker, each) in enumerate(workload.initial):
        for number in range(max(1, round(nodes * each))):
            made = maker(f"initial-{kind}-{number}", "sched-0")
            made["spec"]["nodeName"] = f"node-{place % nodes}"
            place += 1
            yield made


def rate(workload: Workload, nodes: int, pods: int, **how: Any) -> float:
    """Pods a second of processor time, after a first one."""
    run = Run(workload, nodes, **how)
    run.place(1)
    started = time.process_time()  # one thread: on a quiet machine the same as wall time
    run.place(pods)
    return pods / (time.process_time() - started)


def main(sizes: list[int]) -> None:
    rows = []
    for name, workload in WORKLOADS.items():
        cells: list[str] = [name]
        for nodes in sizes:
            fast, slow = min(nodes // 2, 500), 5
            cells.append(f"{rate(workload, nodes, fast):,.0f} / {rate(workload, nodes, slow, explain=True):,.0f}")
        cells += [str(workload.threshold or "-"), " / ".join(map(str, workload.real)) or "-"]
        rows.append(cells)
        print("| " + " | ".join(cells) + " |", flush=True)
    columns = ["workload", *(f"{nodes:,} nodes" for nodes in sizes), "upstream's threshold at 5,000", "real"]
    print(Table(rows, columns))


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or [100, 1_000, 5_000])
