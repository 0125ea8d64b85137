"""Who is evicted first, and why this Pod and not that one.

Each resource has a list of criteria. The first on which two Pods differ decides; QoS classes are not among them.

>>> from k8slab.kubelet.eviction import MEMORY_CRITERIA, PodStats, rank
>>> def pod(name, request, priority=0):
...     container = {"name": "c", "resources": {"requests": {"memory": request}}}
...     return {"metadata": {"name": name}, "spec": {"priority": priority, "containers": [container]}}
>>> stats = {f"default/{name}": PodStats(memory=used) for name, used in (("a", 300), ("b", 300), ("c", 900))}
>>> pods = [pod("a", "400"), pod("b", "100", priority=10), pod("c", "100", priority=20)]
>>> ranking = rank(pods, stats, MEMORY_CRITERIA)
>>> [ranked.name for ranked in ranking]
['b', 'c', 'a']
>>> print(ranking[0].before(ranking[1]))
b goes before c: both use more memory than they request; its priority is 10, that of c is 20.

Upstream: pkg/kubelet/eviction/helpers.go (rankMemoryPressure, rankPIDPressure, rankDiskPressureFunc)
Simplified: Pods that no criterion tells apart stay in their order. A kubelet lists its Pods out of a Go map, so there
any of them may go first; and of more than twelve its sort may move equal ones about (of twelve or fewer it does not).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from k8slab.api.objects import Object
from k8slab.api.pod_requests import is_pod_level_resources_set, pod_requests, resource_list
from k8slab.api.pods import pod_priority
from k8slab.api.quantity import BINARY_SI, ZERO, Quantity
from k8slab.kubelet.eviction.signals import Signal
from k8slab.kubelet.eviction.stats import FsStats, PodStats, pod_id

__all__ = [
    "DISK_CRITERIA",
    "INODES_CRITERIA",
    "MEMORY_CRITERIA",
    "PID_CRITERIA",
    "Criterion",
    "RankedPod",
    "disk_criteria",
    "pod_disk_usage",
    "rank",
    "rank_criteria",
    "resource_request",
]

_NOT_FOUND = (0, Fraction(0))
IMAGES, ROOT, LOGS, LOCAL_VOLUMES = "images", "rootfs", "logs", "local volumes"
_ALL_PARTS = (IMAGES, ROOT, LOGS, LOCAL_VOLUMES)


def resource_request(pod: Object, resource: str) -> Quantity:
    """What a Pod asks for of one resource: requests of the Pod as a whole alone where it makes any, overhead on top of
    what is not zero."""
    at_pod_level = is_pod_level_resources_set(pod)
    options = {"skip_container_level_resources": at_pod_level, "exclude_overhead": True}
    request = pod_requests(pod, **options).get(resource, ZERO)  # type: ignore[arg-type]
    overhead = resource_list((pod.get("spec") or {}).get("overhead")).get(resource)
    return request if overhead is None or request.is_zero else request + overhead


def _exact(amount: Quantity) -> Fraction:
    return Fraction(amount.amount) * Fraction(10) ** amount.scale


def _used(disk: FsStats | None, of_inodes: bool) -> int:
    used = None if disk is None else disk.inodes_used if of_inodes else disk.used_bytes
    return used or 0


def _is_local(volume: Object) -> bool:
    """It lies on the node's disk: hostPath, emptyDir not in memory, ConfigMap, gitRepo."""
    empty_dir = volume.get("emptyDir")
    if empty_dir is not None and not empty_dir.get("medium"):
        return True
    return any(volume.get(kind) is not None for kind in ("hostPath", "gitRepo", "configMap"))


def pod_disk_usage(pod: Object, stats: PodStats, parts: Sequence[str], *, inodes: bool = False) -> int:
    """Bytes (or inodes) in those parts. Images are shared: no Pod is charged for them."""
    total = 0
    for container in stats.containers:
        total += _used(container.rootfs, inodes) if ROOT in parts else 0
        total += _used(container.logs, inodes) if LOGS in parts else 0
    if LOCAL_VOLUMES in parts:
        measured = {volume.name: volume.fs for volume in reversed(stats.volumes)}
        for volume in (pod.get("spec") or {}).get("volumes") or ():
            total += _used(measured.get(volume["name"]), inodes) if _is_local(volume) else 0
    return total


Key = tuple[int, Fraction]
"""Lower goes first. The first number is 0 for a Pod without statistics."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """`key(pod, stats)` orders; `say(pod, stats)` and `both(pod, stats)` put it in words, of one Pod and of two that
    are equal."""

    name: str
    key: Callable[[Object, PodStats | None], Key]
    say: Callable[[Object, PodStats | None], str]
    both: Callable[[Object, PodStats | None], str]


Measure = Callable[[Object, PodStats], int]


def _exceeds(what: str, resource: str, usage: Measure) -> Criterion:
    def exceeds(pod: Object, stats: PodStats) -> bool:
        return Fraction(usage(pod, stats)) > _exact(resource_request(pod, resource))

    def key(pod: Object, stats: PodStats | None) -> Key:
        return _NOT_FOUND if stats is None else (1, Fraction(0 if exceeds(pod, stats) else 1))

    def say(pod: Object, stats: PodStats | None) -> str:
        if stats is None:
            return "nothing was measured of it"
        more = "more" if exceeds(pod, stats) else "no more"
        return f"it uses {more} {what} than it requests"

    def both(pod: Object, stats: PodStats | None) -> str:
        if stats is None:
            return "nothing was measured of either"
        return f"both use {'more' if exceeds(pod, stats) else 'no more'} {what} than they request"

    return Criterion(f"uses more {what} than requested", key, say, both)


def _priority() -> Criterion:
    return Criterion(
        "priority",
        lambda pod, stats: (1, Fraction(pod_priority(pod))),
        lambda pod, stats: f"its priority is {pod_priority(pod)}",
        lambda pod, stats: f"both have priority {pod_priority(pod)}",
    )


def _above_request(what: str, resource: str, usage: Measure, *, binary: bool) -> Criterion:
    def above(pod: Object, stats: PodStats) -> Fraction:
        return Fraction(usage(pod, stats)) - _exact(resource_request(pod, resource))

    def size(number: int) -> str:
        return _size(abs(number)) if binary else str(abs(number))

    def say(pod: Object, stats: PodStats | None) -> str:
        if stats is None:
            return "nothing was measured of it"
        number = round(above(pod, stats))
        return f"its use of {what} is {size(number)} {'below' if number < 0 else 'above'} its request"

    def both(pod: Object, stats: PodStats | None) -> str:
        if stats is None:
            return "nothing was measured of either"
        number = round(above(pod, stats))
        if number == 0:
            return f"both use just as much {what} as they request"
        return f"both use {size(number)} {'less' if number < 0 else 'more'} {what} than they request"

    return Criterion(
        f"{what} used above the request",
        lambda pod, stats: _NOT_FOUND if stats is None else (1, -above(pod, stats)),
        say,
        both,
    )


def _size(amount: int) -> str:
    """As quantities are written; what they would write as bytes in Mi."""
    text = str(Quantity(amount, 0, BINARY_SI))
    return f"{amount / (1 << 20):.1f}Mi" if text.isdecimal() and amount >= 1 << 20 else text


def _processes() -> Criterion:
    def say(pod: Object, stats: PodStats | None) -> str:
        return "nothing was measured of it" if stats is None else f"it runs {stats.processes or 0} processes"

    def both(pod: Object, stats: PodStats | None) -> str:
        return "nothing was measured of either" if stats is None else f"both run {stats.processes or 0} processes"

    return Criterion(
        "processes",
        lambda pod, stats: _NOT_FOUND if stats is None else (1, Fraction(-(stats.processes or 0))),
        say,
        both,
    )


def _memory(pod: Object, stats: PodStats) -> int:
    return stats.memory or 0


def disk_criteria(parts: Sequence[str] = _ALL_PARTS, *, inodes: bool = False) -> tuple[Criterion, ...]:
    """For a disk that holds those parts of what Pods write. The last criterion takes the ephemeral-storage request
    (bytes) off, also from a number of inodes: upstream does."""

    def usage(pod: Object, stats: PodStats) -> int:
        return pod_disk_usage(pod, stats, parts, inodes=inodes)

    what, resource = ("inodes", "inodes") if inodes else ("disk", "ephemeral-storage")
    return (
        _exceeds(what, resource, usage),
        _priority(),
        _above_request(what, "ephemeral-storage", usage, binary=not inodes),
    )


MEMORY_CRITERIA = (
    _exceeds("memory", "memory", _memory),
    _priority(),
    _above_request("memory", "memory", _memory, binary=True),
)
PID_CRITERIA = (_priority(), _processes())
DISK_CRITERIA = disk_criteria()
INODES_CRITERIA = disk_criteria(inodes=True)


def rank_criteria(*, image_fs: bool, separate_container_image_fs: bool) -> dict[str, tuple[Criterion, ...]]:
    """The criteria for each signal: which parts of a Pod's data lie on the disk that is full depends on the disks."""
    node: tuple[str, ...]
    image: tuple[str, ...]
    container: tuple[str, ...]
    if not image_fs:
        node = image = container = _ALL_PARTS
    elif separate_container_image_fs:
        node = container = (LOGS, LOCAL_VOLUMES, ROOT)
        image = (IMAGES,)
    else:
        node = (LOGS, LOCAL_VOLUMES)
        image = container = (ROOT, IMAGES)
    return {
        Signal.MEMORY_AVAILABLE: MEMORY_CRITERIA,
        Signal.ALLOCATABLE_MEMORY_AVAILABLE: MEMORY_CRITERIA,
        Signal.PID_AVAILABLE: PID_CRITERIA,
        Signal.NODE_FS_AVAILABLE: disk_criteria(node),
        Signal.NODE_FS_INODES_FREE: disk_criteria(node, inodes=True),
        Signal.IMAGE_FS_AVAILABLE: disk_criteria(image),
        Signal.IMAGE_FS_INODES_FREE: disk_criteria(image, inodes=True),
        Signal.CONTAINER_FS_AVAILABLE: disk_criteria(container),
        Signal.CONTAINER_FS_INODES_FREE: disk_criteria(container, inodes=True),
    }


@dataclass(frozen=True, slots=True)
class RankedPod:
    """A Pod in its place, with what each criterion says of it."""

    pod: Object
    stats: PodStats | None
    criteria: tuple[Criterion, ...]
    keys: tuple[Key, ...]

    @property
    def name(self) -> str:
        return str(self.pod["metadata"]["name"])

    def say(self) -> tuple[str, ...]:
        """What each criterion finds, in the order in which they are asked."""
        return tuple(criterion.say(self.pod, self.stats) for criterion in self.criteria)

    def decides(self, other: RankedPod) -> int | None:
        """Which criterion tells the two apart; None: none does."""
        differ = (i for i, (mine, its) in enumerate(zip(self.keys, other.keys, strict=True)) if mine != its)
        return next(differ, None)

    def before(self, other: RankedPod) -> str:
        """Why this one goes before `other`, criterion by criterion, as a sentence."""
        decisive = self.decides(other)
        equal = self.criteria[:decisive] if decisive is not None else self.criteria
        words = [criterion.both(self.pod, self.stats) for criterion in equal]
        if decisive is None:
            words.append("nothing tells them apart, so the order in which they were listed stays")
        else:
            words.append(self._difference(other, self.criteria[decisive]))
        return f"{self.name} goes before {other.name}: {'; '.join(words)}."

    def _difference(self, other: RankedPod, criterion: Criterion) -> str:
        mine, its = criterion.say(self.pod, self.stats), criterion.say(other.pod, other.stats)
        first, _, rest = its.partition(" ")
        if first == "its" and " is " in rest:
            subject, _, value = rest.partition(" is ")
            its = f"that of {other.name} is {value}" if subject in mine else f"the {rest}"
        elif first == "it":
            its = f"{other.name} {rest}"
        elif its == "nothing was measured of it":
            its = f"nothing was measured of {other.name}"
        return f"{mine}, {its}"


def rank(pods: Iterable[Object], stats: Mapping[str, PodStats], criteria: tuple[Criterion, ...]) -> list[RankedPod]:
    """First evicted first. `stats` by uid (or namespace/name); a Pod that is not in there goes first."""
    ranked = []
    for pod in pods:
        found = stats.get(pod_id(pod))
        ranked.append(RankedPod(pod, found, criteria, tuple(c.key(pod, found) for c in criteria)))
    return sorted(ranked, key=lambda one: one.keys)
