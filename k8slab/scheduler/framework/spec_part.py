"""A part of a Pod's spec, with every type as it should be: what the API server checks, for Pods that come past none.

>>> from k8slab.scheduler.framework.spec_part import decoded_part
>>> decoded_part("topologySpreadConstraints", [{"maxSkew": "1"}])
Traceback (most recent call last):
  ...
ValueError: spec.topologySpreadConstraints[0].maxSkew: '1': expected a 32-bit integer

Upstream: none (the scheduler's Pods are Go structs)
"""

from __future__ import annotations

from typing import Any

from k8slab.api.decoding import DecodeError, decode
from k8slab.api.scheme import GVK
from k8slab.sim.kinds import cut

__all__ = ["decoded_part"]

_POD = GVK("", "v1", "Pod")


def decoded_part(field: str, value: Any) -> Any:
    """The `value` of `spec.<field>` as a Go struct holds it: what is required and missing is 0 or "". None for nothing.

    ValueError that names path, value and what was expected.
    """
    try:
        return decode({"spec": {field: value}}, _POD).object["spec"].get(field)
    except DecodeError as error:
        raise ValueError(f"{error.path}: {cut(repr(error.value), 60)}: expected {error.expected}") from None
