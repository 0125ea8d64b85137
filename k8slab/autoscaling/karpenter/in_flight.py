"""A node that is being thought of: which instance types could still be it, once this Pod goes there, too?

Upstream: kubernetes-sigs/karpenter pkg/controllers/provisioning/scheduling/nodeclaim.go, nodeclaimtemplate.go
Simplified: minValues are strict (the policy BestEffort relaxes them); no volumes, no reserved capacity.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from k8slab.api.objects import Object
from k8slab.api.tolerations import any_tolerates
from k8slab.autoscaling.karpenter.instance_types import Catalogue, Mask
from k8slab.autoscaling.karpenter.nodepool import NodePool
from k8slab.autoscaling.karpenter.pod_data import PREFER_NO_SCHEDULE_TOLERATION, PodData, requests_of, tolerates
from k8slab.autoscaling.karpenter.requirement import Requirement
from k8slab.autoscaling.karpenter.requirements import HOSTNAME, WELL_KNOWN_LABELS, Requirements, required_alternatives
from k8slab.autoscaling.karpenter.topology import Topology
from k8slab.scheduler.framework import HostPorts, PodInfo

__all__ = ["Addition", "InFlightNode", "Template", "untolerated"]

_LIFE_CYCLE = ("karpenter.sh/registered", "karpenter.sh/initialized")


class _Group:
    """Instance types on which the same DaemonSets will run: what these take, and their host ports."""

    __slots__ = ("key", "mask", "overhead", "ports")

    def __init__(self, key: tuple[str, ...], mask: Mask, overhead: Mapping[str, int], ports: HostPorts) -> None:
        self.key = key
        self.mask = mask
        self.overhead = overhead
        self.ports = ports


class Addition(NamedTuple):
    """What a node becomes with one Pod more."""

    requirements: Requirements
    mask: Mask
    requests: dict[str, int]


class Template:
    """A NodePool against the catalogue: the types it allows, and what DaemonSets take on each of them."""

    def __init__(self, pool: NodePool, catalogue: Catalogue, daemons: Sequence[PodInfo] = ()) -> None:
        self.pool = pool
        self.catalogue = catalogue
        self.requirements = pool.requirements.copy()
        for key in _LIFE_CYCLE:  # a DaemonSet may select nodes that are ready
            self.requirements.add(Requirement.of(key, "In", ("true",)))
        self.mask = catalogue.compatible(self.requirements) & catalogue.offered(self.requirements)
        self.why_empty = self._check_min_values()
        self.groups = self._group(daemons)

    def _check_min_values(self) -> str:
        unmet = self.catalogue.min_values_unmet(list(Catalogue.places(self.mask)), self.requirements)[1]
        if unmet:
            self.mask = 0
            return f"minValues requirement is not met for label(s) {', '.join(sorted(unmet))}"
        return "" if self.mask else "nodepool requirements filtered out all available instance types"

    def _group(self, daemons: Sequence[PodInfo]) -> list[_Group]:
        running = {info.key: (info, self._runs_on(info)) for info in daemons}
        groups: dict[tuple[str, ...], _Group] = {}
        for place in Catalogue.places(self.mask):
            key = tuple(name for name, (_, mask) in running.items() if mask >> place & 1)
            if key not in groups:
                groups[key] = self._with_daemons(key, [running[name][0] for name in key])
            groups[key].mask |= 1 << place
        return list(groups.values())

    @staticmethod
    def _with_daemons(key: tuple[str, ...], daemons: Iterable[PodInfo]) -> _Group:
        overhead: dict[str, int] = {}
        ports = HostPorts()
        for info in daemons:
            ports.add(info.host_ports)
            for name, amount in requests_of(info).items():
                overhead[name] = overhead.get(name, 0) + amount
        return _Group(key, 0, overhead, ports)

    def _runs_on(self, info: PodInfo) -> Mask:
        """The types of this pool on which the DaemonSet's Pod would run: one of its required terms has to hold."""
        tolerations = (*(info.pod["spec"].get("tolerations") or ()), PREFER_NO_SCHEDULE_TOLERATION)
        mask = 0
        if not untolerated(self.pool.taints, tolerations):
            for wanted in required_alternatives(info.pod):
                if self.requirements.compatible(wanted, WELL_KNOWN_LABELS):
                    mask |= self.mask & self.catalogue.compatible(wanted)
        return mask


def untolerated(taints: Iterable[Object], tolerations: Sequence[Object]) -> str:
    """The taints that nobody tolerates, in words; "" for none."""
    left = [taint for taint in taints if not any_tolerates(tolerations, taint)]
    return "; ".join(f"did not tolerate taint ({_taint_text(taint)})" for taint in left)


def _taint_text(taint: Object) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"taint={taint['key']}{value}:{taint['effect']}"


class InFlightNode:
    """A node to be made. `mask`: the types it may still be; `requirements` grow tighter with every Pod."""

    __slots__ = ("_groups", "hostname", "mask", "pods", "requests", "requirements", "room", "template", "topology")

    def __init__(self, template: Template, topology: Topology, mask: Mask, number: int) -> None:
        """`mask`: types of the template that the pool's limits leave."""
        self.template = template
        self.topology = topology
        self.mask = mask
        self.hostname = f"hostname-placeholder-{number:04d}"
        self.requirements = template.requirements.copy()
        self.requirements.add(Requirement.of(HOSTNAME, "In", (self.hostname,)))
        self.requests: dict[str, int] = {}
        self.pods: list[PodData] = []
        self.room = (0, 0)
        """CPU and memory that the largest types have left: nobody who asks for more needs to be tried."""
        self._groups = [_Group(g.key, g.mask, g.overhead, g.ports.clone()) for g in template.groups]

    @property
    def pool(self) -> NodePool:
        return self.template.pool

    def _merged(self, more: Mapping[str, int]) -> dict[str, int]:
        total = dict(self.requests)
        for name, amount in more.items():
            total[name] = total.get(name, 0) + amount
        return total

    def _fitting(self, data: PodData, total: Mapping[str, int]) -> Mask:
        catalogue, mask = self.template.catalogue, 0
        for group in self._groups:
            if any(group.ports.conflicts(port) for port in data.info.host_ports):
                continue
            needed = total
            if group.overhead:
                needed = {**total, **{n: total.get(n, 0) + amount for n, amount in group.overhead.items()}}
            mask |= group.mask & catalogue.fitting(needed)
        return mask & self.mask

    def can_add(self, data: PodData) -> Addition | None:
        """The node with this Pod on it; None when that cannot be (`why_not` says why)."""
        total = self._merged(data.requests)
        mask = self._fitting(data, total)
        if not mask or not tolerates(data, self.pool.taints):
            return None
        base = self.requirements
        if len(data.requirements):
            if not base.compatible(data.requirements, WELL_KNOWN_LABELS):
                return None
            base = base.copy()
            base.add_all(data.requirements)
        tightened = self.topology.add_requirements(data, base)
        if tightened is None:
            return None
        if tightened is not base and not base.compatible(tightened, WELL_KNOWN_LABELS):
            return None  # the rule is about a label of which the pool knows nothing
        if tightened is not self.requirements:
            catalogue = self.template.catalogue
            mask &= catalogue.compatible(tightened) & catalogue.offered(tightened)
        if not mask or (tightened.has_min_values and self._unmet(mask, tightened)):
            return None
        return Addition(tightened, mask, total)

    def _unmet(self, mask: Mask, requirements: Requirements) -> Mapping[str, int]:
        return self.template.catalogue.min_values_unmet(list(Catalogue.places(mask)), requirements)[1]

    def add(self, data: PodData, addition: Addition) -> None:
        """Take the Pod; `addition` is what `can_add` said."""
        self.pods.append(data)
        self.requirements, self.mask, self.requests = addition
        most, used = self.template.catalogue.most, self.requests
        cpu, memory = (most(name, self.mask) - used.get(name, 0) for name in ("cpu", "memory"))
        self.room = (cpu, memory)
        self.topology.register_hostname(self.hostname)
        self.topology.record(data, self.pool.taints, self.requirements)
        for group in self._groups:
            group.ports.add(data.info.host_ports)

    def why_not(self, data: PodData) -> str:
        """Why `can_add` says no, in upstream's words."""
        refused = untolerated(self.pool.taints, data.tolerations)
        if refused:
            return refused
        wrong = self.requirements.incompatible(data.requirements, WELL_KNOWN_LABELS)
        if wrong:
            return f"incompatible requirements, {wrong}"
        base = self.requirements.copy()
        base.add_all(data.requirements)
        reasons: list[str] = []
        tightened = self.topology.add_requirements(data, base, reasons.append)
        if tightened is None:
            return reasons[0]
        return base.incompatible(tightened, WELL_KNOWN_LABELS) or self._why_no_type(data, tightened)

    def _why_no_type(self, data: PodData, requirements: Requirements) -> str:
        catalogue = self.template.catalogue
        total = self._merged(data.requests)
        met = self.mask & catalogue.compatible(requirements)
        offered = self.mask & catalogue.offered(requirements)
        fits = self._fitting(data, total)
        unmet = self._unmet(met & offered & fits, requirements) if met & offered & fits else {}
        if unmet:
            reason = f"minValues requirement is not met for label(s) {', '.join(sorted(unmet))}"
        else:
            reason = _criteria(met, fits, offered)
        return f"{reason}, requirements={requirements}, resources={_resources(total)}"

    def launchable(self) -> Requirements:
        """The requirements without the placeholder of the hostname."""
        return Requirements(one for one in self.requirements if one.key not in (HOSTNAME, *_LIFE_CYCLE))

    def with_daemons(self) -> dict[str, int]:
        """The requests, and at least what the DaemonSets of every type that is left take."""
        overheads = [group.overhead for group in self._groups if group.mask & self.mask]
        names = {name for overhead in overheads for name in overhead}
        least = {name: min(overhead.get(name, 0) for overhead in overheads) for name in sorted(names)}
        return {name: self.requests.get(name, 0) + least.get(name, 0) for name in {**self.requests, **least}}


def _criteria(met: Mask, fits: Mask, offered: Mask) -> str:
    """Which of the three wishes leave no type: alone, in pairs, or only together."""
    alone = [
        text
        for mask, text in (
            (met, "met the scheduling requirements"),
            (fits, "had enough resources"),
            (offered, "had a required offering"),
        )
        if not mask
    ]
    if len(alone) > 1:
        return f"no instance type {' or '.join(alone)}"
    if not met:
        return "no instance type met all requirements"
    if not fits:
        return "no instance type has enough resources"
    if not offered:
        return "no instance type has the required offering"
    if met & fits:
        return (
            "no instance type which met the scheduling requirements and had enough resources, had a required offering"
        )
    if fits & offered:
        return "no instance type which had enough resources and the required offering met the scheduling requirements"
    if met & offered:
        return (
            "no instance type which met the scheduling requirements and the required offering had the required "
            "resources"
        )
    return "no instance type met the requirements/resources/offering tuple"


def _resources(total: Mapping[str, int]) -> str:
    texts = {name: f"{amount}m" if name == "cpu" else str(amount) for name, amount in sorted(total.items())}
    return "{" + ",".join(f'"{name}":"{text}"' for name, text in texts.items()) + "}"
