"""Arithmetic on lists of resources: sums, differences, what exceeds what.

Upstream: apiserver/pkg/quota/v1/resources.go
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from k8slab.api.pod_requests import ResourceList
from k8slab.api.quantity import Quantity

__all__ = [
    "add",
    "equal",
    "exceeded",
    "mask",
    "negative",
    "printed",
    "subtract_non_negative",
    "texts",
    "without_zeros",
]

_ZERO = Quantity(0)


def equal(a: Mapping[str, Quantity], b: Mapping[str, Quantity]) -> bool:
    """The same resources with the same amounts."""
    return len(a) == len(b) and all(name in b and amount == b[name] for name, amount in a.items())


def exceeded(a: Mapping[str, Quantity], limits: Mapping[str, Quantity]) -> list[str]:
    """The limits of which `a` has more."""
    return [name for name, limit in limits.items() if name in a and a[name] > limit]


def add(a: Mapping[str, Quantity], b: Mapping[str, Quantity]) -> ResourceList:
    """a + b of each resource."""
    total = {name: amount + b[name] if name in b else amount for name, amount in a.items()}
    return total | {name: amount for name, amount in b.items() if name not in a}


def subtract_non_negative(a: Mapping[str, Quantity], b: Mapping[str, Quantity]) -> ResourceList:
    """a - b of each resource of either; 0 where that would be below."""
    result: ResourceList = {}
    for name, amount in a.items():
        rest = amount - b[name] if name in b else amount
        result[name] = rest if rest.sign > 0 else _ZERO
    return result | {name: _ZERO for name in b if name not in a}


def mask(resources: Mapping[str, Quantity], names: Container[str]) -> ResourceList:
    """Only the resources that are named."""
    return {name: amount for name, amount in resources.items() if name in names}


def without_zeros(resources: Mapping[str, Quantity]) -> ResourceList:
    """Only the resources of which there is something."""
    return {name: amount for name, amount in resources.items() if not amount.is_zero}


def negative(resources: Mapping[str, Quantity]) -> list[str]:
    """The resources of which there is less than nothing."""
    return [name for name, amount in resources.items() if amount.sign < 0]


def printed(resources: Mapping[str, Quantity]) -> str:
    """As messages write it: by name, `cpu=1,pods=2`."""
    return ",".join(f"{name}={amount}" for name, amount in sorted(resources.items()))


def texts(resources: Mapping[str, Quantity]) -> dict[str, str]:
    """As objects write it."""
    return {name: str(amount) for name, amount in resources.items()}
