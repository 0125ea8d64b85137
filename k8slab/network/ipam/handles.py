"""Handles: how many addresses of which block belong to one owner, so that all can be released by its name.

A handle is counted up before the block is written and down after: a crash in between leaves it counting too many,
never too few, and a release by handle finds what is there.

Upstream: libcalico-go/lib/ipam/{ipam.go,ipam_handle.go} of projectcalico/calico
"""

from __future__ import annotations

from collections.abc import Mapping

from k8slab.network.ipam.datastore import Backend, HandleKey
from k8slab.network.ipam.errors import AlreadyExistsError, ConflictError, DoesNotExistError, IPAMError

__all__ = ["DATASTORE_RETRIES", "decrement", "increment"]

DATASTORE_RETRIES = 100
"""How often a request that met a conflict is computed anew."""


async def increment(backend: Backend, handle: str, cidr: str, num: int) -> None:
    """The handle has `num` more addresses of a block."""
    for _ in range(DATASTORE_RETRIES):
        try:
            entry = await backend.get(HandleKey(handle))
        except DoesNotExistError:
            try:
                await backend.create(HandleKey(handle), {cidr: num})
            except AlreadyExistsError:
                continue
            return
        counts: Mapping[str, int] = entry.value
        try:
            await backend.update(entry._replace(value={**counts, cidr: counts.get(cidr, 0) + num}))
        except (ConflictError, DoesNotExistError):
            continue
        return
    raise IPAMError("Max retries hit - excessive concurrent IPAM requests")


async def decrement(backend: Backend, handle: str, cidr: str, num: int) -> None:
    """The handle has `num` fewer; it goes with its last. What it does not have is overlooked: it was counted before."""
    for _ in range(DATASTORE_RETRIES):
        try:
            entry = await backend.get(HandleKey(handle))
        except DoesNotExistError:
            return
        counts: dict[str, int] = dict(entry.value)
        left = counts.pop(cidr, 0) - num
        if left > 0:
            counts[cidr] = left
        try:
            if counts:
                await backend.update(entry._replace(value=counts))
            else:
                await backend.delete(entry)
        except ConflictError:
            continue
        except DoesNotExistError:
            return
        return
    raise IPAMError("Max retries hit - excessive concurrent IPAM requests")
