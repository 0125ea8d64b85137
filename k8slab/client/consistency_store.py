"""The stale-read guard: do not sync on a cache that is behind one's own writes.

A controller remembers at which revision it last wrote something for an owner. Before the next sync of that owner it
asks whether its caches have read that far; if not, the sync is tried again later, instead of acting on old data.

Upstream: pkg/controller/util/consistency/consistency.go (gates StaleControllerConsistency*)
Simplified: no locks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Protocol

from k8slab.api.scheme import GVR

__all__ = ["ConsistencyError", "ConsistencyStore", "LastSyncRV", "NoopConsistencyStore"]


_REVISION = re.compile("[1-9][0-9]*")


class LastSyncRV(Protocol):
    """Something that knows how far it has read: an `Indexer`."""

    @property
    def last_sync_resource_version(self) -> str: ...


class ConsistencyError(Exception):
    """A cache is behind a write. `run_workers` tries the key again."""

    def __init__(self, read_rv: str, wrote_rv: str, group_resource: str) -> None:
        self.read_rv, self.wrote_rv, self.group_resource = read_rv, wrote_rv, group_resource
        super().__init__(
            f"read version: {read_rv} is not as new as written version: {wrote_rv} for group resource {group_resource}"
        )


class ConsistencyStore:
    """`stores`: the caches by resource, as GVR or as text (`replicasets.apps`)."""

    def __init__(self, stores: Mapping[GVR, LastSyncRV] | Mapping[str, LastSyncRV]) -> None:
        self._stores: dict[str, LastSyncRV] = {group_resource(gvr): store for gvr, store in stores.items()}
        self._writes: dict[str, tuple[str, dict[str, str]]] = {}

    def wrote_at(self, owner: str, owner_uid: str, resource: GVR | str, resource_version: str) -> None:
        """Something of `resource` was written for `owner` (a key) at this revision. A record of an earlier owner of
        the same name is dropped; older revisions are ignored."""
        record = self._writes.get(owner)
        if record is None or record[0] != owner_uid:
            record = self._writes[owner] = (owner_uid, {})
        versions = record[1]
        name = group_resource(resource)
        known = versions.get(name)
        if known is None or _is_newer(resource_version, known) is not False:
            versions[name] = resource_version

    def clear(self, owner: str, owner_uid: str = "") -> None:
        """Forget the writes for `owner`, if it is the one with this uid ("": whichever)."""
        record = self._writes.get(owner)
        if record is not None and owner_uid in ("", record[0]):
            del self._writes[owner]

    def ensure_ready(self, owner: str) -> None:
        """ConsistencyError when a cache has not read as far as what was written for `owner`."""
        record = self._writes.get(owner)
        if record is None:
            return
        for name, wrote_rv in record[1].items():
            store = self._stores.get(name)
            read_rv = store.last_sync_resource_version if store is not None else ""
            if read_rv and _is_newer(wrote_rv, read_rv):
                raise ConsistencyError(read_rv, wrote_rv, name)
        del self._writes[owner]

    def check_invariants(self) -> None:
        """AssertionError names what is broken."""
        for owner, (_uid, versions) in self._writes.items():
            assert versions, f"there is an empty record for {owner}"

    def view(self) -> dict[str, dict[str, str]]:
        """Per owner, the revisions written, for the stepper."""
        return {owner: dict(versions) for owner, (_uid, versions) in self._writes.items()}


class NoopConsistencyStore:
    """What stands there when the gate is off: always ready."""

    def wrote_at(self, owner: str, owner_uid: str, resource: GVR | str, resource_version: str) -> None:
        """Remember nothing."""

    def clear(self, owner: str, owner_uid: str = "") -> None:
        """There is nothing to forget."""

    def ensure_ready(self, owner: str) -> None:
        """Always ready."""


def group_resource(resource: GVR | str) -> str:
    return resource if isinstance(resource, str) else resource.group_resource


def _is_newer(one: str, other: str) -> bool | None:
    """Whether revision `one` is newer than `other`; None when they cannot be compared."""
    if not (_REVISION.fullmatch(one) and _REVISION.fullmatch(other)):
        return None
    return int(one) > int(other)
