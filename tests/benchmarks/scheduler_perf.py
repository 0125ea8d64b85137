"""The workload shapes of scheduler_perf, on our scheduling cycle: `python -m tests.benchmarks.scheduler_perf`.

A Pod's time is that of one cycle, decide and count, in CPU seconds of one core; API server, etcd and binding are left
out, which upstream's figures include. `--nodes 100,1000,5000`, `--only NAME,...`, `--pods 200`, `--explain` (with every
verdict of every Node).

Upstream: test/integration/scheduler_perf (its performance-config.yaml and templates/*.yaml)
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from k8slab.api.objects import Object
from k8slab.scheduler import Framework, Snapshot
from tests.scheduling import node, pod

__all__ = ["WORKLOADS", "Run", "Workload"]

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
NAMESPACES = ["sched-0", "sched-1"]

# Pods/s that upstream's CI asks for at 5,000 nodes, API server and etcd included (shared/golden/PERFORMANCE.md).
THRESHOLDS = {
    "SchedulingBasic": 680,
    "SchedulingPodAntiAffinity": 60,
    "SchedulingPodAffinity": 35,
    "SchedulingPreferredPodAffinity": 90,
    "SchedulingPreferredPodAntiAffinity": 90,
    "SchedulingNodeAffinity": 220,
    "TopologySpreading": 460,
    "PreferredTopologySpreading": 340,
    "PreemptionBasic": None,
    "Unschedulable": 590,
    "MixedSchedulingBasePod": 140,
}

PodOf = Callable[[str], Object]


def made(name: str, color: str = "", namespace: str = "sched-1", cpu: str = "100m", **spec: Any) -> Object:
    """A Pod of a template: 100m and 500Mi, a label `color`."""
    one = pod(name, cpu, "500Mi", namespace=namespace, **spec)
    return {**one, "metadata": {**one["metadata"], "labels": {"color": color} if color else {}}}


def near(color: str, key: str) -> Object:
    return {"labelSelector": {"matchLabels": {"color": color}}, "topologyKey": key, "namespaces": NAMESPACES}


def required(side: str, color: str, key: str) -> PodOf:
    affinity = {side: {"requiredDuringSchedulingIgnoredDuringExecution": [near(color, key)]}}
    return lambda name: made(name, color, affinity=affinity)


def preferred(side: str, color: str, key: str) -> PodOf:
    terms = [{"weight": 1, "podAffinityTerm": near(color, key)}]
    affinity = {side: {"preferredDuringSchedulingIgnoredDuringExecution": terms}}
    return lambda name: made(name, color, affinity=affinity)


def in_zones(*zones: str) -> PodOf:
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": list(zones)}]}]
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    return lambda name: made(name, affinity=affinity)


def spread(action: str) -> PodOf:
    constraint = {
        "maxSkew": 5,
        "topologyKey": ZONE,
        "whenUnsatisfiable": action,
        "labelSelector": {"matchLabels": {"color": "blue"}},
    }
    return lambda name: made(name, "blue", topologySpreadConstraints=[constraint])


def plain(name: str) -> Object:
    return made(name)


APART, TOGETHER = required("podAntiAffinity", "green", HOST), required("podAffinity", "blue", ZONE)
RATHER_APART = preferred("podAntiAffinity", "yellow", HOST)
RATHER_TOGETHER = preferred("podAffinity", "red", HOST)


@dataclass(frozen=True)
class Workload:
    """What is measured, and what is there before: `before(share)` Pods of each of these kinds for `nodes` Nodes."""

    measured: PodOf
    before: tuple[PodOf, ...] = (plain,)
    per_node: float = 1.0
    zones: int = 1
    preempts: bool = False
    fits: bool = True


WORKLOADS: dict[str, Workload] = {
    "SchedulingBasic": Workload(plain),
    "SchedulingPodAntiAffinity": Workload(APART, (APART,), 0.2),
    "SchedulingPodAffinity": Workload(TOGETHER, (TOGETHER,)),
    "SchedulingPreferredPodAffinity": Workload(RATHER_TOGETHER, (RATHER_TOGETHER,)),
    "SchedulingPreferredPodAntiAffinity": Workload(RATHER_APART, (RATHER_APART,)),
    "SchedulingNodeAffinity": Workload(in_zones("zone-0", "zone-9")),
    "TopologySpreading": Workload(spread("DoNotSchedule"), zones=3),
    "PreferredTopologySpreading": Workload(spread("ScheduleAnyway"), zones=3),
    "PreemptionBasic": Workload(
        lambda name: made(name, cpu="3", priority=10),
        (lambda name: made(name, cpu="900m", priority=0),),
        per_node=4,
        preempts=True,
    ),
    "Unschedulable": Workload(lambda name: made(name, cpu="9"), fits=False),
    "MixedSchedulingBasePod": Workload(plain, (plain, APART, TOGETHER, RATHER_APART, RATHER_TOGETHER), per_node=1.0),
}


class Run:
    """One workload on `nodes` Nodes, ready: `place(count)` runs so many cycles and returns how many Pods were placed.

    `different`: no two Pods ask for the same. `options` go to the framework.
    """

    def __init__(
        self, name: str, nodes: int, *, different: bool = False, explain: bool = False, **options: Any
    ) -> None:
        self.workload, self.different, self.explain = WORKLOADS[name], different, explain
        self.snapshot = Snapshot.of(
            [
                node(f"n{i}", "4", "32Gi", labels={HOST: f"n{i}", ZONE: f"zone-{i % self.workload.zones}"})
                for i in range(nodes)
            ],
            self._before(nodes),
        )
        self.framework = Framework.from_profile(**options)
        self.count = 0

    def _before(self, nodes: int) -> list[Object]:
        """Round robin over the Nodes, the kinds in turn."""
        kinds, total = self.workload.before, int(nodes * self.workload.per_node)
        there = [kinds[i % len(kinds)](f"before-{i}") for i in range(total)]
        spots = (i * (5 if self.workload.per_node < 1 else 1) % nodes for i in range(total))
        return [{**one, "spec": {**one["spec"], "nodeName": f"n{at}"}} for one, at in zip(there, spots, strict=True)]

    def next_pod(self) -> Object:
        self.count += 1
        one = self.workload.measured(f"p{self.count}")
        if self.different:
            requests = one["spec"]["containers"][0]["resources"]["requests"]
            requests["cpu"] = f"{100 + self.count % 997}m"
        return one

    def place(self, count: int) -> int:
        placed = 0
        for _ in range(count):
            incoming = self.next_pod()
            result = self.framework.schedule(incoming, self.snapshot, explain=self.explain)
            target = result.node
            if not target and self.workload.preempts and result.post_filter is not None:
                choice = result.post_filter.preemption
                target = choice.node
                for victim in choice.victims:
                    self.snapshot.evict(victim.key, target)
            if target:
                self.snapshot.assume(incoming, target)
                placed += 1
        return placed


def rate(name: str, nodes: int, pods: int, **how: Any) -> float:
    """Cycles a second of CPU time: the best of three parts."""
    run = Run(name, nodes, **how)
    run.place(max(2, pods // 20))  # warm
    part, best = max(1, pods // 3), 0.0
    for _ in range(3):
        begun = time.process_time()
        run.place(part)
        best = max(best, part / (time.process_time() - begun))
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", default="100,1000,5000")
    parser.add_argument("--only", default=",".join(WORKLOADS))
    parser.add_argument("--pods", type=int, default=150)
    parser.add_argument("--explain", action="store_true")
    given = parser.parse_args()
    sizes = [int(size) for size in given.nodes.split(",")]
    print(f"| workload | {' | '.join(f'{size:,} nodes' for size in sizes)} | upstream's threshold at 5,000 |")
    print(f"| --- |{' --- |' * (len(sizes) + 1)}")
    for name in given.only.split(","):
        pods = max(3, given.pods // 25) if given.explain else given.pods
        rates = [f"{rate(name, size, pods, explain=given.explain):,.0f}" for size in sizes]
        print(f"| {name} | {' | '.join(rates)} | {THRESHOLDS[name] or ''} |", flush=True)
    if "SchedulingBasic" in given.only and not given.explain:
        rates = [f"{rate('SchedulingBasic', size, given.pods, different=True):,.0f}" for size in sizes]
        print(f"| SchedulingBasic, all Pods different | {' | '.join(rates)} | |")


if __name__ == "__main__":
    main()
