"""Which requests of a Pod can be lowered so that the whole of it asks for no more than is free.

A Pod's request is not the sum of its containers' alone: an init container that asks for more than all of them counts
instead, the Pod's own `resources` count instead of both, and overhead comes on top. So each place is tried: how much
may it ask for?

>>> pod = {"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "1"}}}],
...                 "initContainers": [{"name": "setup", "resources": {"requests": {"cpu": "3"}}}]}}
>>> [(step.whose, step.after) for [step] in lowered(pod, "cpu", 2000)]
[('init container setup', '2')]

Upstream: none
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any, NamedTuple

from k8slab.api.objects import Object
from k8slab.api.pod_requests import aggregate_container_requests, pod_requests
from k8slab.api.quantity import quantity
from k8slab.scheduler.framework import Resource

__all__ = ["Lowered", "amount_text", "lowered"]

_MOST_PLACES = 8
"""So many places are tried two at a time."""


class Lowered(NamedTuple):
    """One request that is lowered. `place`: as spec.containers[0]; `share`: how much of the Pod's request goes."""

    place: str
    whose: str
    resource: str
    before: Any
    after: str
    share: float

    def applied(self, spec: Mapping[str, Any]) -> dict[str, Any]:
        """The field of `spec` that changes."""
        return _with_request(spec, self.place, self.resource, self.after)


def lowered(pod: Object, resource: str, free: int) -> list[list[Lowered]]:
    """What has to be lowered: one list of alternatives, or two when only two requests together do it. [] nothing does.

    A request is never lowered to nothing: then the Pod could do without the resource, and nobody knows that.
    """
    places = list(_places(pod["spec"], resource))
    ways = [step for place in places if (step := _one(pod, resource, free, place)) is not None]
    if ways:
        return [_least(ways)]
    for pair in combinations(places[:_MOST_PLACES], 2):
        if (steps := _two(pod, resource, free, pair)) is not None:
            return [[step] for step in steps]
    return []


def _least(ways: list[Lowered]) -> list[Lowered]:
    """The largest of containers gives way for all of them."""
    largest: dict[str, Lowered] = {}
    for step in ways:
        kind = step.place.partition("[")[0]
        if kind not in largest or _read(step.resource, step.before) > _read(step.resource, largest[kind].before):
            largest[kind] = step
    return list(largest.values())


def _places(spec: Mapping[str, Any], resource: str) -> Iterator[str]:
    if resource in _requests(spec):
        yield "spec"
    for part in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(part) or ()):
            if resource in _requests(container):
                yield f"spec.{part}[{index}]"


def _requests(holder: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = (holder.get("resources") or {}).get("requests") or {}
    return found


def _holder(spec: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    if place == "spec":
        return spec
    part, _, index = place.removeprefix("spec.").partition("[")
    found: Mapping[str, Any] = spec[part][int(index[:-1])]
    return found


def _with_request(spec: Mapping[str, Any], place: str, resource: str, amount: str) -> dict[str, Any]:
    old = _holder(spec, place)["resources"]
    is_equal = "/" in resource or resource.startswith("hugepages-")  # there a limit equals its request
    limits = (
        {"limits": {**old["limits"], resource: amount}} if is_equal and resource in (old.get("limits") or {}) else {}
    )
    resources = {**old, "requests": {**old["requests"], resource: amount}, **limits}
    if place == "spec":
        return {"resources": resources}
    part, _, index = place.removeprefix("spec.").partition("[")
    return {part: [{**c, "resources": resources} if at == int(index[:-1]) else c for at, c in enumerate(spec[part])]}


def _changed(pod: Object, place: str, resource: str, amount: str) -> Object:
    return {**pod, "spec": {**pod["spec"], **_with_request(pod["spec"], place, resource, amount)}}


def _one(pod: Object, resource: str, free: int, place: str) -> Lowered | None:
    """The most that this place may ask for, by halving. None: nothing at all, or not even that is enough."""
    before = _requests(_holder(pod["spec"], place))[resource]

    def fits(amount: int) -> bool:
        other = _changed(pod, place, resource, f"{amount}m" if resource == "cpu" else str(amount))
        return _wanted(other, resource) <= free

    low, high = 0, _read(resource, before)
    if fits(high) or not fits(0):
        return None
    guess = high - (_wanted(pod, resource) - free)  # right where the places are added up
    if low < guess and fits(guess) and not fits(guess + 1):
        low, high = guess, guess + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    low -= low % _page(resource)
    text = amount_text(resource, low)
    is_below_containers = place == "spec" and low < Resource.of(aggregate_container_requests(pod)).get(resource)
    if _read(resource, text) == 0 or is_below_containers:
        return None
    wanted = _wanted(pod, resource)
    return Lowered(place, _whose(pod["spec"], place), resource, before, text, (_read(resource, before) - low) / wanted)


def _two(pod: Object, resource: str, free: int, pair: tuple[str, str]) -> list[Lowered] | None:
    """Two places that both ask for too much, as an init container beside the containers."""
    first, second = pair
    step = _one(_changed(pod, second, resource, "0"), resource, free, first)
    if step is None:
        return None
    other = _one(_changed(pod, first, resource, step.after), resource, free, second)
    return None if other is None else [step, other]


def _wanted(pod: Object, resource: str) -> int:
    return Resource.of(pod_requests(pod)).get(resource)


def _whose(spec: Mapping[str, Any], place: str) -> str:
    if place == "spec":
        return "the Pod as a whole"
    name = _holder(spec, place).get("name") or f"number {place.partition('[')[2][:-1]}"
    return f"init container {name}" if "initContainers" in place else f"container {name}"


def _page(resource: str) -> int:
    """Huge pages come whole."""
    return max(1, quantity(resource.removeprefix("hugepages-")).value()) if resource.startswith("hugepages-") else 1


def amount_text(resource: str, amount: int) -> str:
    """An amount in the scheduler's unit as people write it, never more than it is.

    >>> amount_text("cpu", 1500), amount_text("cpu", 2000), amount_text("memory", 3 * 2**30 + 5)
    ('1500m', '2', '3072Mi')
    """
    if resource == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if resource not in ("memory", "ephemeral-storage") and not resource.startswith("hugepages-"):
        return str(amount)
    for unit, power in (("Gi", 30), ("Mi", 20), ("Ki", 10)):
        if amount >> power and (amount % (1 << power) == 0 or unit == "Mi"):
            return f"{amount >> power}{unit}"
    return str(amount)


def _read(resource: str, text: Any) -> int:
    parsed = quantity(text)
    return parsed.milli_value() if resource == "cpu" else parsed.value()
