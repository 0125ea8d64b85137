"""Dynamic resource allocation in structured form: which devices of a node satisfy a claim?

>>> from k8slab.autoscaling.gpu import Allocator
>>> selectors = [{"cel": {"expression": 'device.driver == "d.io"'}}]
>>> classes = [{"metadata": {"name": "gpu"}, "spec": {"selectors": selectors}}]
>>> devices = [{"name": f"gpu-{n}", "attributes": {"model": {"string": m}}} for n, m in enumerate(("A", "B", "B"))]
>>> slice_ = {"metadata": {"name": "s"}, "spec": {"driver": "d.io", "nodeName": "n1", "devices": devices,
...           "pool": {"name": "n1", "generation": 1, "resourceSliceCount": 1}}}
>>> request = {"name": "two", "exactly": {"deviceClassName": "gpu", "count": 2}}
>>> claim = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": [request],
...          "constraints": [{"matchAttribute": "d.io/model"}]}}}
>>> allocator = Allocator([slice_], classes)
>>> [one.device for one in allocator.allocate(claim, {"metadata": {"name": "n1"}})]
['gpu-1', 'gpu-2']

Upstream: k8s.io/dynamic-resource-allocation/structured (Allocator), k8s.io/api/resource/v1
Simplified: no partitionable devices (counters), no consumable capacity, no device taints, no binding conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from k8slab.api.node_affinity import NodeSelector
from k8slab.api.objects import Object
from k8slab.autoscaling.gpu.selectors import DeviceSelector, SelectorError

__all__ = ["Allocation", "AllocationError", "Allocator", "Device"]

_MOST_DEVICES = 32
_MODES = ("ExactCount", "All")


class AllocationError(Exception):
    """The claim cannot be satisfied on this node, or not be answered; the text says why."""


@dataclass(frozen=True, slots=True)
class Device:
    """One device of a pool. `attributes` and `capacity` by domain and name."""

    driver: str
    pool: str
    name: str
    attributes: Mapping[str, Mapping[str, Any]] = field(hash=False, compare=False)
    capacity: Mapping[str, Mapping[str, Any]] = field(hash=False, compare=False)

    @property
    def id(self) -> tuple[str, str, str]:
        return self.driver, self.pool, self.name


@dataclass(frozen=True, slots=True)
class Allocation:
    """One device of a claim's result. `admin`: it was looked at, not taken."""

    request: str
    driver: str
    pool: str
    device: str
    admin: bool = False


@dataclass(frozen=True, slots=True)
class _Request:
    """A request, or one alternative of it, with its selectors parsed. `count` None: all that match."""

    name: str
    selectors: tuple[DeviceSelector, ...]
    count: int | None
    admin: bool


def _qualified(rows: Mapping[str, Any], driver: str) -> dict[str, dict[str, Any]]:
    """By domain and name; names without a domain are the driver's."""
    found: dict[str, dict[str, Any]] = {driver: {}}
    for key, row in rows.items():
        domain, _, name = key.rpartition("/")
        value = row.get("value") if "value" in row else next(iter(row.values()), None)
        found.setdefault(domain or driver, {})[name] = value
    return found


class Allocator:
    """Slices and classes as they are published, and which devices are taken. ValueError names a bad field."""

    def __init__(
        self, slices: Iterable[Object], classes: Iterable[Object], taken: Iterable[tuple[str, str, str]] = ()
    ) -> None:
        self.taken: dict[tuple[str, str, str], None] = dict.fromkeys(taken)
        self._classes = {one["metadata"]["name"]: _selectors(one.get("spec") or {}) for one in classes}
        self._pools: dict[tuple[str, str], list[Object]] = {}
        for one in slices:
            spec = one["spec"]
            self._add(spec, (spec["driver"], spec["pool"]["name"]))

    def _add(self, spec: Object, key: tuple[str, str]) -> None:
        """Only the newest generation of a pool counts."""
        there = self._pools.setdefault(key, [])
        newest = there[0]["pool"]["generation"] if there else -1
        if spec["pool"]["generation"] > newest:
            there.clear()
        if spec["pool"]["generation"] >= newest:
            there.append(spec)

    def devices(self, node: Object) -> Iterator[Device]:
        """What a node can use, pool by pool; pools of which slices are missing are left out."""
        for (driver, pool), specs in self._pools.items():
            if len(specs) < specs[0]["pool"].get("resourceSliceCount", 1):
                continue
            for spec in specs:
                if _is_for(spec, node):
                    for raw in spec.get("devices") or ():
                        attributes = _qualified(raw.get("attributes") or {}, driver)
                        capacity = _qualified(raw.get("capacity") or {}, driver)
                        yield Device(driver, pool, raw["name"], attributes, capacity)

    def allocate(self, claim: Object, node: Object) -> list[Allocation]:
        """Devices for every request of the claim, taken from now on. AllocationError: nothing was taken."""
        name = claim["metadata"]["name"]
        spec = (claim.get("spec") or {}).get("devices") or {}
        requests = [self._alternatives(raw, name) for raw in spec.get("requests") or ()]
        search = _Search(list(self.devices(node)), self.taken, spec.get("constraints") or (), name)
        found = search.run(requests)
        if found is None:
            where = node["metadata"]["name"]
            raise AllocationError(f"claim {name}: cannot allocate all requested devices on node {where}")
        for request, device in found:
            if not request.admin:
                self.taken[device.id] = None
        return [Allocation(r.name, d.driver, d.pool, d.name, r.admin) for r, d in found]

    def release(self, allocations: Iterable[Allocation]) -> None:
        """The claim's devices are free again."""
        for one in allocations:
            if not one.admin:
                self.taken.pop((one.driver, one.pool, one.device))

    def _alternatives(self, raw: Mapping[str, Any], claim: str) -> list[_Request]:
        name = raw.get("name") or ""
        where = f"claim {claim}, request {name}"
        if "firstAvailable" in raw:
            return [self._request(one, f"{name}/{one['name']}", where) for one in raw["firstAvailable"]]
        if "exactly" not in raw:
            raise ValueError(f"{where}: expected exactly or firstAvailable")
        return [self._request(raw["exactly"], name, where)]

    def _request(self, raw: Mapping[str, Any], name: str, where: str) -> _Request:
        of_class = raw.get("deviceClassName") or ""
        if of_class not in self._classes:
            raise AllocationError(f"{where}: could not retrieve device class {of_class}")
        mode = raw.get("allocationMode") or "ExactCount"
        if mode not in _MODES:
            raise ValueError(f"{where}: allocationMode {mode!r}: expected one of {', '.join(_MODES)}")
        count = raw.get("count", 1)
        if mode == "ExactCount" and not (type(count) is int and 1 <= count <= _MOST_DEVICES):
            raise ValueError(f"{where}: count {count!r}: expected a number from 1 to {_MOST_DEVICES}")
        selectors = (*self._classes[of_class], *_selectors(raw))
        return _Request(name, selectors, None if mode == "All" else count, bool(raw.get("adminAccess")))


def _selectors(raw: Mapping[str, Any]) -> tuple[DeviceSelector, ...]:
    return tuple(DeviceSelector(one["cel"]["expression"]) for one in raw.get("selectors") or ())


def _is_for(spec: Object, node: Object) -> bool:
    if spec.get("allNodes"):
        return True
    if "nodeSelector" in spec:
        return NodeSelector(spec["nodeSelector"]).matches(node)
    return bool(spec.get("nodeName") == node["metadata"]["name"])


class _Search:
    """Depth first: the devices of one request after the other, each in the order of the slices; back when stuck."""

    def __init__(
        self, devices: Sequence[Device], taken: Iterable[tuple[str, str, str]], constraints: Any, claim: str
    ) -> None:
        self._devices = devices
        self._taken = frozenset(taken)
        self._constraints: Sequence[Mapping[str, Any]] = constraints
        self._claim = claim

    def run(self, requests: Sequence[Sequence[_Request]]) -> list[tuple[_Request, Device]] | None:
        return self._requests(list(requests), [])

    def _requests(
        self, left: list[Sequence[_Request]], chosen: list[tuple[_Request, Device]]
    ) -> list[tuple[_Request, Device]] | None:
        if not left:
            return chosen
        for request in left[0]:
            for devices in self._sets(request, chosen):
                found = self._requests(left[1:], [*chosen, *((request, device) for device in devices)])
                if found is not None:
                    return found
        return None

    def _sets(self, request: _Request, chosen: list[tuple[_Request, Device]]) -> Iterator[list[Device]]:
        used = {device.id for other, device in chosen if not other.admin}
        matching = [device for device in self._devices if self._matches(request, device)]
        free = [one for one in matching if request.admin or (one.id not in self._taken and one.id not in used)]
        if request.count is None:
            allowed = all(self._allowed(request, one, [*chosen, *((request, d) for d in free[:i])])
                          for i, one in enumerate(free))  # fmt: skip
            if free and len(free) == len(matching) <= _MOST_DEVICES - len(chosen) and allowed:
                yield free
            return
        yield from self._pick(request, free, request.count, chosen)

    def _pick(
        self, request: _Request, free: list[Device], count: int, chosen: list[tuple[_Request, Device]]
    ) -> Iterator[list[Device]]:
        if count == 0:
            yield []
            return
        if len(chosen) >= _MOST_DEVICES:
            return
        for index, device in enumerate(free):
            if self._allowed(request, device, chosen):
                for rest in self._pick(request, free[index + 1 :], count - 1, [*chosen, (request, device)]):
                    yield [device, *rest]

    def _matches(self, request: _Request, device: Device) -> bool:
        try:
            return all(one.matches(device.driver, device.attributes, device.capacity) for one in request.selectors)
        except SelectorError as error:
            raise AllocationError(
                f"claim {self._claim}, device {'/'.join(device.id)}: runtime error: {error}"
            ) from None

    def _allowed(self, request: _Request, device: Device, chosen: list[tuple[_Request, Device]]) -> bool:
        """Whether the constraints hold with this device beside those that were chosen."""
        for constraint in self._constraints:
            names = constraint.get("requests") or ()
            domain, _, name = constraint["matchAttribute"].rpartition("/")
            others = [(r, d) for r, d in chosen if _concerns(names, r)]
            if not _concerns(names, request):
                continue
            value = (device.attributes.get(domain) or {}).get(name)
            if value is None or any((d.attributes.get(domain) or {}).get(name) != value for _, d in others):
                return False
        return True


def _concerns(names: Sequence[str], request: _Request) -> bool:
    return not names or request.name in names or request.name.partition("/")[0] in names
