"""Requirements on several labels at once: what a Pod asks for, what a NodePool allows, what an instance type has.

>>> from k8slab.autoscaling.karpenter import Requirements
>>> pool = Requirements.of_labels({"kubernetes.io/arch": "arm64", "team": "search"})
>>> pool.incompatible(Requirements.of_labels({"kubernetes.io/arch": "amd64"}))
'key kubernetes.io/arch, kubernetes.io/arch In [amd64] not in kubernetes.io/arch In [arm64]'
>>> pool.incompatible(Requirements.of_labels({"teams": "search"}))
'label "teams" does not have known values'

Upstream: kubernetes-sigs/karpenter pkg/scheduling/requirements.go, pkg/apis/v1/labels.go; the labels of instance types:
aws/karpenter-provider-aws pkg/apis/v1/labels.go
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

from k8slab.api.labels import go_quote
from k8slab.api.objects import Object
from k8slab.autoscaling.karpenter.requirement import Requirement, parse_requirement

__all__ = [
    "ARCH",
    "CAPACITY_TYPE",
    "HOSTNAME",
    "INSTANCE_TYPE",
    "NODEPOOL",
    "NOTHING_UNDEFINED",
    "WELL_KNOWN_LABELS",
    "ZONE",
    "Requirements",
    "pod_requirements",
    "required_alternatives",
    "strict_pod_requirements",
]

ARCH = "kubernetes.io/arch"
CAPACITY_TYPE = "karpenter.sh/capacity-type"
HOSTNAME = "kubernetes.io/hostname"
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
NODEPOOL = "karpenter.sh/nodepool"
ZONE = "topology.kubernetes.io/zone"

_OF_INSTANCES = (
    *(
        "category",
        "family",
        "generation",
        "size",
        "cpu",
        "cpu-manufacturer",
        "memory",
        "network-bandwidth",
        "hypervisor",
    ),
    *("local-nvme", "gpu-name", "gpu-manufacturer", "gpu-count", "gpu-memory", "encryption-in-transit-supported"),
)
WELL_KNOWN_LABELS: Set[str] = frozenset(
    {
        *(NODEPOOL, ZONE, "topology.kubernetes.io/region", INSTANCE_TYPE, ARCH, "kubernetes.io/os", CAPACITY_TYPE),
        "node.kubernetes.io/windows-build",
        *(f"karpenter.k8s.aws/instance-{name}" for name in _OF_INSTANCES),
    }
)
"""Labels whose values Karpenter knows without being told: a Pod may ask for them though no NodePool names them."""

NOTHING_UNDEFINED: Set[str] = frozenset()

_POD_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


class Requirements:
    """Requirements by key. Adding one on a key that is there intersects them; copies are cheap, values never change."""

    __slots__ = ("_by_key",)

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        self._by_key: dict[str, Requirement] = {}
        for requirement in requirements:
            self.add(requirement)

    @classmethod
    def of_labels(cls, labels: Mapping[str, str] | None) -> Requirements:
        """Each label has to have just this value."""
        return cls(Requirement.of(key, "In", (value,)) for key, value in (labels or {}).items())

    @classmethod
    def parse(cls, raw: Iterable[Mapping[str, Any]] | None, path: str) -> Requirements:
        """`spec.template.spec.requirements` of a NodePool. ValueError names the path."""
        return cls(parse_requirement(one, f"{path}[{index}]") for index, one in enumerate(raw or ()))

    def add(self, requirement: Requirement) -> None:
        there = self._by_key.get(requirement.key)
        self._by_key[requirement.key] = requirement if there is None else requirement.intersection(there)

    def add_all(self, others: Requirements) -> None:
        for requirement in others:
            self.add(requirement)

    def replace(self, requirement: Requirement) -> None:
        """Put this in the place of what is said about its key."""
        self._by_key[requirement.key] = requirement

    def copy(self) -> Requirements:
        made = Requirements()
        made._by_key = dict(self._by_key)
        return made

    def get(self, key: str) -> Requirement:
        """What is said about a key; nothing said allows every value (`Exists`)."""
        found = self._by_key.get(key)
        return Requirement(key, True) if found is None else found

    def find(self, key: str) -> Requirement | None:
        """What is said about a key, None when nothing is."""
        return self._by_key.get(key)

    def __contains__(self, key: object) -> bool:
        return key in self._by_key

    def __iter__(self) -> Iterator[Requirement]:
        return iter(self._by_key.values())

    def __len__(self) -> int:
        return len(self._by_key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Requirements) and self._by_key == other._by_key

    __hash__ = None  # type: ignore[assignment]

    @property
    def has_min_values(self) -> bool:
        return any(one.min_values is not None for one in self)

    def compatible(self, incoming: Requirements, allow_undefined: Set[str] = NOTHING_UNDEFINED) -> bool:
        """Whether a node of these requirements can satisfy `incoming` (`incompatible` says why not)."""
        ours = self._by_key
        for key, wanted in incoming._by_key.items():
            if key not in ours:
                if key not in allow_undefined and not wanted.excludes:
                    return False
            elif not _overlap(ours[key], wanted):
                return False
        return True

    def incompatible(self, incoming: Requirements, allow_undefined: Set[str] = NOTHING_UNDEFINED) -> str:
        """Why no node of these requirements satisfies `incoming`; "" when one may.

        A label of which nothing is known is refused, unless it is in `allow_undefined` or the Pod only excludes values.
        """
        for key, wanted in incoming._by_key.items():
            if key not in self._by_key and key not in allow_undefined and not wanted.excludes:
                return f"label {go_quote(key)} does not have known values{self._hint(key, allow_undefined)}"
        return "; ".join(
            f"key {key}, {wanted} not in {self._by_key[key]}"
            for key, wanted in incoming._by_key.items()
            if key in self._by_key and not _overlap(self._by_key[key], wanted)
        )

    def intersects(self, incoming: Requirements) -> bool:
        """Whether the two have common values for every key that both name."""
        ours = self._by_key
        return all(key not in ours or _overlap(ours[key], wanted) for key, wanted in incoming._by_key.items())

    def _hint(self, key: str, allow_undefined: Set[str]) -> str:
        suffix = key.partition("/")[2] or key
        for known in (*sorted(allow_undefined), *self._by_key):
            if key in known or known.endswith(suffix):
                return f" (typo of {go_quote(known)}?)"
        return ""

    def to_manifest(self) -> list[dict[str, Any]]:
        """As `spec.requirements` has them, by key."""
        return [row for key in sorted(self._by_key) for row in self._by_key[key].to_manifest()]

    def __str__(self) -> str:
        return ", ".join(sorted(str(one) for one in self if one.key != HOSTNAME))

    def __repr__(self) -> str:
        return f"Requirements({self})"


def _overlap(existing: Requirement, incoming: Requirement) -> bool:
    """Two requirements that both only exclude are satisfied by a node without the label."""
    return existing.has_intersection(incoming) or (incoming.excludes and existing.excludes)


def _expressions(term: Mapping[str, Any], path: str) -> Iterator[Requirement]:
    for index, raw in enumerate(term.get("matchExpressions") or ()):
        yield parse_requirement(raw, f"{path}.matchExpressions[{index}]", _POD_OPERATORS)


def _required(pod: Object, most: int) -> tuple[Requirements, ...]:
    spec = pod.get("spec") or {}
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    terms = (affinity.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()
    found = []
    for index, term in enumerate(terms[:most] or ({},)):
        one = Requirements.of_labels(spec.get("nodeSelector"))
        path = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms[{index}]"
        one.add_all(Requirements(_expressions(term, path)))
        found.append(one)
    return tuple(found)


def required_alternatives(pod: Object) -> tuple[Requirements, ...]:
    """The node selector with each of the required terms: a node has to satisfy one of these. At least one."""
    return _required(pod, 1 << 30)


def strict_pod_requirements(pod: Object) -> Requirements:
    """The node selector and the first required term (a packing drops that when nothing satisfies it)."""
    return _required(pod, 1)[0]


def pod_requirements(pod: Object) -> Requirements:
    """`strict_pod_requirements`, and the heaviest preferred term as if it were required."""
    found = strict_pod_requirements(pod)
    affinity = ((pod.get("spec") or {}).get("affinity") or {}).get("nodeAffinity") or {}
    preferred = affinity.get(_PREFERRED) or ()
    if preferred:
        index = max(range(len(preferred)), key=lambda i: (preferred[i].get("weight") or 0, -i))
        path = f"spec.affinity.nodeAffinity.{_PREFERRED}[{index}].preference"
        found.add_all(Requirements(_expressions(preferred[index].get("preference") or {}, path)))
    return found
