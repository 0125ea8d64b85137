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
Simplified: no partitionable devices (counters), no consumable capacity, no device taints, no binding conditions; of
constraints `matchAttribute`; a search ends after a number of steps, where upstream's ends after 10 s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from k8slab.api.node_affinity import NodeSelector
from k8slab.api.objects import Object
from k8slab.api.quantity import quantity
from k8slab.autoscaling.gpu.selectors import DeviceSelector, SelectorError

__all__ = ["Allocation", "AllocationError", "Allocator", "Device"]

_MOST_DEVICES = 32
_MODES = ("ExactCount", "All")
_MOST_STEPS = 200_000
_VALUES: Mapping[str, tuple[type, str]] = {
    "string": (str, "a text"),
    "int": (int, "an integer"),
    "bool": (bool, "true or false"),
    "version": (str, "a text"),
}


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
    selectors: tuple[tuple[str, DeviceSelector], ...]
    count: int | None
    admin: bool
    where: str


class _Version(str):
    """A version is no string, though it is written like one."""

    __slots__ = ()


def _part(value: Any, name: str, kind: type, where: str) -> Any:
    """A field that has to be there. ValueError: it is not; TypeError: it is of another kind."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{where}: {value!r}: expected a mapping")
    found = value.get(name)
    if found is None:
        raise ValueError(f"{where}.{name}: Required value")
    wanted = (Mapping,) if kind is dict else (list, tuple) if kind is list else (kind,)
    if not isinstance(found, wanted) or (kind is int and isinstance(found, bool)):
        words = {dict: "a mapping", list: "a list", str: "a text", int: "an integer"}
        raise TypeError(f"{where}.{name}: {found!r}: expected {words[kind]}")
    return found


def _rows(value: Any, name: str, kind: type, where: str) -> Any:
    """A field that may be left out: empty then."""
    if isinstance(value, Mapping) and value.get(name) is None:
        return kind()
    return _part(value, name, kind, where)


def _attribute(row: Any, where: str) -> Any:
    """The value of an attribute, which has one of four kinds."""
    given = [key for key in row if row[key] is not None] if isinstance(row, Mapping) else []
    if len(given) != 1 or given[0] not in _VALUES:
        raise ValueError(f"{where}: {row!r}: expected exactly one of {', '.join(_VALUES)}")
    kind, words = _VALUES[given[0]]
    if type(row[given[0]]) is not kind:
        raise TypeError(f"{where}.{given[0]}: {row[given[0]]!r}: expected {words}")
    return _Version(row["version"]) if given[0] == "version" else row[given[0]]


def _amount(row: Any, where: str) -> Any:
    value = row.get("value") if isinstance(row, Mapping) else None
    try:
        quantity(value)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {row!r}: {error}") from None
    return value


def _qualified(
    rows: Mapping[str, Any], driver: str, read: Callable[[Any, str], Any], where: str
) -> dict[str, dict[str, Any]]:
    """By domain and name; names without a domain are the driver's."""
    found: dict[str, dict[str, Any]] = {driver: {}}
    for key, row in rows.items():
        domain, _, name = key.rpartition("/")
        found.setdefault(domain or driver, {})[name] = read(row, f"{where}[{key}]")
    return found


def _devices(spec: Object, where: str) -> tuple[Device, ...]:
    driver, pool, found = spec["driver"], spec["pool"]["name"], []
    for index, raw in enumerate(_rows(spec, "devices", list, where)):
        at = f"{where}.devices[{index}]"
        name = _part(raw, "name", str, at)
        attributes = _qualified(_rows(raw, "attributes", dict, at), driver, _attribute, f"{at}.attributes")
        capacity = _qualified(_rows(raw, "capacity", dict, at), driver, _amount, f"{at}.capacity")
        found.append(Device(driver, pool, name, attributes, capacity))
    return tuple(found)


class Allocator:
    """Slices and classes as they are published, and which devices are taken. ValueError names a bad field."""

    def __init__(
        self, slices: Iterable[Object], classes: Iterable[Object], taken: Iterable[tuple[str, str, str]] = ()
    ) -> None:
        self.taken: dict[tuple[str, str, str], None] = dict.fromkeys(taken)
        self._classes: dict[str, tuple[tuple[str, DeviceSelector], ...]] = {}
        for one in classes:
            name = _part(_part(one, "metadata", dict, "device class"), "name", str, "device class: metadata")
            self._classes[name] = _selectors(_rows(one, "spec", dict, f"class {name}"), f"class {name}")
        self._pools: dict[tuple[str, str], list[tuple[Object, tuple[Device, ...]]]] = {}
        for one in slices:
            self._add(one)

    def _add(self, one: Object) -> None:
        """Only the newest generation of a pool counts."""
        name = _part(_part(one, "metadata", dict, "resource slice"), "name", str, "resource slice: metadata")
        where = f"slice {name}: spec"
        spec = _part(one, "spec", dict, f"slice {name}")
        pool = _part(spec, "pool", dict, where)
        key = (_part(spec, "driver", str, where), _part(pool, "name", str, f"{where}.pool"))
        generation = _part(pool, "generation", int, f"{where}.pool")
        _part(pool, "resourceSliceCount", int, f"{where}.pool")
        there = self._pools.setdefault(key, [])
        newest = there[0][0]["pool"]["generation"] if there else -1
        if generation > newest:
            there.clear()
        if generation >= newest:
            there.append((spec, _devices(spec, where)))

    def _of_node(self, node: Object) -> Iterator[tuple[tuple[str, str], str, list[Device]]]:
        """Pools that have something for a node: driver and name, what is wrong with the pool ("" for nothing), and
        the devices there."""
        for key, slices in self._pools.items():
            here = [devices for spec, devices in slices if _is_for(spec, node)]
            if not here:
                continue
            names = [one.name for _, devices in slices for one in devices]
            problem = "invalid" if len(names) != len(set(names)) else ""
            if len(slices) < slices[0][0]["pool"]["resourceSliceCount"]:
                problem = "being updated"
            yield key, problem, [one for devices in here for one in devices]

    def devices(self, node: Object) -> Iterator[Device]:
        """What a node can use, pool by pool. Pools are left out of which slices are missing, or in which a device is
        there twice."""
        for _, problem, devices in self._of_node(node):
            if not problem:
                yield from devices

    def allocate(self, claim: Object, node: Object) -> list[Allocation]:
        """Devices for every request of the claim, taken from now on. AllocationError: nothing was taken."""
        name = _part(_part(claim, "metadata", dict, "claim"), "name", str, "claim: metadata")
        spec = _rows(_rows(claim, "spec", dict, f"claim {name}"), "devices", dict, f"claim {name}: spec")
        requests = self._requests(_rows(spec, "requests", list, f"claim {name}: spec.devices"), name)
        self._refuse_all_of_broken_pools(requests, node)
        constraints = _constraints(_rows(spec, "constraints", list, f"claim {name}: spec.devices"), name)
        search = _Search(list(self.devices(node)), self.taken, constraints, name, requests)
        found = search.run()
        if found is None:
            where = node["metadata"]["name"]
            raise AllocationError(f"claim {name}: cannot allocate all requested devices on node {where}")
        for request, device in found:
            if not request.admin:
                self.taken[device.id] = None
        return [Allocation(r.name, d.driver, d.pool, d.name, r.admin) for r, d in found]

    def _refuse_all_of_broken_pools(self, requests: Sequence[Sequence[_Request]], node: Object) -> None:
        """Nobody knows how many all are, while a pool is not whole."""
        for request in (one for alternatives in requests for one in alternatives if one.count is None):
            for key, problem, _ in self._of_node(node):
                if problem:
                    raise AllocationError(
                        f"{request.where}: asks for all devices, but resource pool {'/'.join(key)} is currently "
                        f"{problem}"
                    )

    def _requests(self, rows: Sequence[Any], claim: str) -> list[list[_Request]]:
        found = [self._alternatives(raw, claim) for raw in rows]
        names = [_part(raw, "name", str, f"claim {claim}: request") for raw in rows]
        for index, name in enumerate(names):
            if name in names[:index]:
                raise ValueError(f'claim {claim}: spec.devices.requests[{index}].name: Duplicate value: "{name}"')
        return found

    def release(self, allocations: Iterable[Allocation]) -> None:
        """The claim's devices are free again."""
        for one in allocations:
            if not one.admin:
                self.taken.pop((one.driver, one.pool, one.device))

    def _alternatives(self, raw: Mapping[str, Any], claim: str) -> list[_Request]:
        name = _part(raw, "name", str, f"claim {claim}: request")
        where = f"claim {claim}, request {name}"
        several = _rows(raw, "firstAvailable", list, where)
        if bool(several) is (raw.get("exactly") is not None):
            raise ValueError(f"{where}: expected exactly or firstAvailable, one of them")
        if not several:
            return [self._request(_part(raw, "exactly", dict, where), name, where, claim)]
        found = []
        for index, one in enumerate(several):
            inner = _part(one, "name", str, f"{where}: firstAvailable[{index}]")
            if one.get("adminAccess"):
                raise ValueError(f"{where}: firstAvailable[{index}].adminAccess: expected it in exactly only")
            found.append(self._request(one, f"{name}/{inner}", f"claim {claim}, request {inner}", claim))
        return found

    def _request(self, raw: Mapping[str, Any], name: str, where: str, claim: str) -> _Request:
        of_class = raw.get("deviceClassName") or ""
        if not of_class:
            raise AllocationError(f"{where}: missing device class name (unsupported request type?)")
        if of_class not in self._classes:
            raise AllocationError(f"{where}: could not retrieve device class {of_class}")
        mode = raw.get("allocationMode") or "ExactCount"
        if mode not in _MODES:
            raise ValueError(f"{where}: allocationMode {mode!r}: expected one of {', '.join(_MODES)}")
        count = raw.get("count")
        if mode == "All" and count:
            raise ValueError(f"{where}: count {count!r}: expected none with allocationMode All")
        count = 1 if count is None else count
        if mode == "ExactCount" and not (type(count) is int and count >= 1):
            raise ValueError(f"{where}: count {count!r}: expected a number from 1 on")
        selectors = (*self._classes[of_class], *_selectors(raw, f"claim {claim}"))
        return _Request(name, selectors, None if mode == "All" else count, bool(raw.get("adminAccess")), where)


def _selectors(raw: Mapping[str, Any], where: str) -> tuple[tuple[str, DeviceSelector], ...]:
    found = []
    for index, one in enumerate(_rows(raw, "selectors", list, where)):
        at = f"{where}: selector #{index}"
        found.append((at, DeviceSelector(_part(_part(one, "cel", dict, at), "expression", str, at))))
    return tuple(found)


def _constraints(rows: Sequence[Any], claim: str) -> list[tuple[Sequence[str], str, str]]:
    """Requests (none: all), domain and name of the attribute that has to be the same."""
    found: list[tuple[Sequence[str], str, str]] = []
    for index, raw in enumerate(rows):
        where = f"claim {claim}, constraint #{index}"
        if not isinstance(raw, Mapping) or raw.get("matchAttribute") is None:
            raise AllocationError(f"{where}: empty constraint (unsupported constraint type?)")
        domain, _, name = _part(raw, "matchAttribute", str, where).rpartition("/")
        if not domain or not name:
            raise ValueError(f"{where}: matchAttribute {raw['matchAttribute']!r}: expected domain/name")
        found.append((tuple(_rows(raw, "requests", list, where)), domain, name))
    return found


def _is_for(spec: Object, node: Object) -> bool:
    if spec.get("allNodes"):
        return True
    if spec.get("nodeSelector") is not None:
        return NodeSelector(spec["nodeSelector"]).matches(node)
    return bool(spec.get("nodeName") == node["metadata"]["name"])


class _Search:
    """Depth first: the devices of one request after the other, each in the order of the slices; back when stuck.

    Of devices that are alike to every request and constraint, one that did not help is not followed by another.
    """

    def __init__(
        self,
        devices: Sequence[Device],
        taken: Iterable[tuple[str, str, str]],
        constraints: Sequence[tuple[Sequence[str], str, str]],
        claim: str,
        requests: Sequence[Sequence[_Request]],
    ) -> None:
        self._devices = devices
        self._taken = frozenset(taken)
        self._constraints = constraints
        self._claim = claim
        self._all_requests = requests
        self._answers: dict[tuple[str, tuple[str, str, str]], bool | str] = {}
        self._alike: dict[tuple[str, str, str], Any] = {}
        self._steps = 0

    def run(self) -> list[tuple[_Request, Device]] | None:
        """The first solution. AllocationError: a request cannot be answered, or too many devices are asked for."""
        least = 0
        for alternatives in self._all_requests:
            least += min(self._asked(one) for one in alternatives)
        if least > _MOST_DEVICES:
            raise AllocationError(
                f"claim {self._claim}: number of requested devices {least} exceeds the claim limit of {_MOST_DEVICES}"
            )
        return self._requests(0, [])

    def _asked(self, request: _Request) -> int:
        if request.count is not None:
            return request.count
        return sum(1 for device in self._devices if self._matches(request, device))

    def _requests(self, number: int, chosen: list[tuple[_Request, Device]]) -> list[tuple[_Request, Device]] | None:
        if number == len(self._all_requests):
            return chosen
        for request in self._all_requests[number]:
            for devices in self._sets(request, chosen):
                found = self._requests(number + 1, [*chosen, *((request, device) for device in devices)])
                if found is not None:
                    return found
        return None

    def _sets(self, request: _Request, chosen: list[tuple[_Request, Device]]) -> Iterator[list[Device]]:
        used = {device.id for _, device in chosen}  # in one claim no device is there twice, not even for looking
        taken = used if request.admin else used | self._taken
        free = [one for one in self._devices if one.id not in taken]
        if request.count is not None:
            if len(chosen) + request.count <= _MOST_DEVICES:
                yield from self._pick(request, free, request.count, chosen)
            return
        wanted = [one for one in self._devices if self._matches(request, one)]
        if not wanted or len(wanted) + len(chosen) > _MOST_DEVICES or any(one.id in taken for one in wanted):
            return
        so_far = list(chosen)
        for one in wanted:
            if not self._allowed(request, one, so_far):
                raise AllocationError(
                    f"{request.where}: cannot add device {'/'.join(one.id)} because a claim constraint would not be "
                    "satisfied"
                )
            so_far.append((request, one))
        yield wanted

    def _pick(
        self, request: _Request, free: list[Device], count: int, chosen: list[tuple[_Request, Device]]
    ) -> Iterator[list[Device]]:
        if count == 0:
            yield []
            return
        tried = set()
        for index, device in enumerate(free[: len(free) - count + 1]):
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise AllocationError(f"claim {self._claim}: given up after {_MOST_STEPS} devices were tried")
            if not self._matches(request, device) or self._kind(device) in tried:
                continue
            tried.add(self._kind(device))
            if self._allowed(request, device, chosen):
                for rest in self._pick(request, free[index + 1 :], count - 1, [*chosen, (request, device)]):
                    yield [device, *rest]

    def _answer(self, request: _Request, device: Device) -> bool | str:
        """Whether the request selects the device, or why nobody can say."""
        key = (request.name, device.id)
        if key not in self._answers:
            self._answers[key] = _verdict(request, device)
        return self._answers[key]

    def _matches(self, request: _Request, device: Device) -> bool:
        found = self._answer(request, device)
        if isinstance(found, str):
            raise AllocationError(found)
        return found

    def _kind(self, device: Device) -> Any:
        """Equal for devices that may stand for each other."""
        if device.id not in self._alike:
            answers = tuple(self._answer(one, device) for row in self._all_requests for one in row)
            values = tuple(_value(device, domain, name) for _, domain, name in self._constraints)
            self._alike[device.id] = (device.id in self._taken, answers, values)
        return self._alike[device.id]

    def _allowed(self, request: _Request, device: Device, chosen: list[tuple[_Request, Device]]) -> bool:
        """Whether the constraints hold with this device beside those that were chosen."""
        for names, domain, name in self._constraints:
            if not _concerns(names, request):
                continue
            value = _value(device, domain, name)
            if value is None or any(_value(d, domain, name) != value for r, d in chosen if _concerns(names, r)):
                return False
        return True


def _verdict(request: _Request, device: Device) -> bool | str:
    for where, selector in request.selectors:
        try:
            if not selector.matches(device.driver, device.attributes, device.capacity):
                return False
        except SelectorError as error:
            return f"{where} on device {'/'.join(device.id)}: CEL runtime error: {error}"
    return True


def _value(device: Device, domain: str, name: str) -> tuple[str, Any] | None:
    """An attribute with its kind: 1 is not true, and a version is no text."""
    value = (device.attributes.get(domain) or {}).get(name)
    return None if value is None else (type(value).__name__, value)


def _concerns(names: Sequence[str], request: _Request) -> bool:
    return not names or request.name in names or request.name.partition("/")[0] in names
