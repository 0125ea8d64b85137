"""Expectations: what a controller has asked for and not yet seen come back through its watch.

A ReplicaSet controller that creates three Pods does not see them in its cache at once. If it synced again before,
it would create three more. So it expects three creations, its handlers lower the number as Pods appear, and while
something is outstanding a sync neither creates nor deletes. Expectations expire after five minutes: a lost watch
event delays a controller, it does not stop it.

Upstream: pkg/controller/controller_utils.go (ControllerExpectations, UIDTrackingControllerExpectations)
Simplified: no atomics, no locks.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from k8slab.sim.clock import Clock

__all__ = ["EXPECTATIONS_TIMEOUT_MS", "ControlleeExpectations", "ControllerExpectations", "UIDTrackingExpectations"]

EXPECTATIONS_TIMEOUT_MS = 5 * 60 * 1000


class ControlleeExpectations:
    """How many creations (`add`) and deletions (`delete`) are outstanding, and since when. Below 0: more came."""

    __slots__ = ("add", "delete", "key", "timestamp_ms")

    def __init__(self, key: str, add: int, delete: int, timestamp_ms: int) -> None:
        self.key = key
        self.add = add
        self.delete = delete
        self.timestamp_ms = timestamp_ms

    @property
    def fulfilled(self) -> bool:
        return self.add <= 0 and self.delete <= 0

    def expired(self, now_ms: int) -> bool:
        return now_ms - self.timestamp_ms > EXPECTATIONS_TIMEOUT_MS


class ControllerExpectations:
    """Expectations by the key of the controller object (`namespace/name` of the ReplicaSet)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._store: dict[str, ControlleeExpectations] = {}

    def get_expectations(self, key: str) -> ControlleeExpectations | None:
        return self._store.get(key)

    def set_expectations(self, key: str, add: int, delete: int) -> None:
        """Expect exactly this from now on; what was expected before is forgotten."""
        self._store[key] = ControlleeExpectations(key, add, delete, self._clock.now_ms)

    def expect_creations(self, key: str, adds: int) -> None:
        self.set_expectations(key, adds, 0)

    def expect_deletions(self, key: str, deletes: int) -> None:
        self.set_expectations(key, 0, deletes)

    def creation_observed(self, key: str) -> None:
        """A creation was seen, or it failed and will never be seen."""
        self.lower_expectations(key, 1, 0)

    def deletion_observed(self, key: str) -> None:
        """A deletion was seen, or it failed."""
        self.lower_expectations(key, 0, 1)

    def lower_expectations(self, key: str, add: int, delete: int) -> None:
        self.raise_expectations(key, -add, -delete)

    def raise_expectations(self, key: str, add: int, delete: int) -> None:
        """Unknown keys are ignored."""
        found = self._store.get(key)
        if found is not None:
            found.add += add
            found.delete += delete

    def satisfied_expectations(self, key: str) -> bool:
        """Nothing is outstanding, or what is has been for more than five minutes, or nothing was ever expected."""
        found = self._store.get(key)
        return found is None or found.fulfilled or found.expired(self._clock.now_ms)

    def delete_expectations(self, key: str) -> None:
        """The controller object is gone: forget."""
        self._store.pop(key, None)

    def check_invariants(self) -> None:
        """AssertionError names what is broken."""
        for key, found in self._store.items():
            assert found.key == key, f"the expectations of {found.key} are kept under {key}"
            assert found.timestamp_ms <= self._clock.now_ms, f"the expectations of {key} are from the future"

    def view(self) -> dict[str, Any]:
        """Outstanding creations and deletions by key, for the stepper."""
        return {key: {"add": found.add, "delete": found.delete} for key, found in self._store.items()}


class UIDTrackingExpectations:
    """Counts every deletion once: by the uid of what is deleted.

    A Pod that gets a deletionTimestamp counts as deleted, and later it disappears: two events, one deletion.
    """

    def __init__(self, clock: Clock) -> None:
        self.expectations = ControllerExpectations(clock)
        self._uids: dict[str, dict[str, None]] = {}

    def get_expectations(self, key: str) -> ControlleeExpectations | None:
        return self.expectations.get_expectations(key)

    def get_uids(self, key: str) -> list[str]:
        """The uids whose deletion is outstanding."""
        return list(self._uids.get(key, ()))

    def expect_creations(self, key: str, adds: int) -> None:
        self.expectations.expect_creations(key, adds)

    def expect_deletions(self, key: str, uids: Iterable[str]) -> None:
        """Expect the deletion of these uids."""
        expected = self._uids[key] = dict.fromkeys(uids)
        self.expectations.expect_deletions(key, len(expected))

    def creation_observed(self, key: str) -> None:
        """A creation was seen, or it failed and will never be seen."""
        self.expectations.creation_observed(key)

    def deletion_observed(self, key: str, uid: str) -> None:
        """The deletion of `uid` was seen, or failed. Uids that are not expected, or no longer, do not count."""
        uids = self._uids.get(key)
        if uids is not None and uid in uids:
            del uids[uid]
            self.expectations.deletion_observed(key)

    def satisfied_expectations(self, key: str) -> bool:
        """As `ControllerExpectations.satisfied_expectations`."""
        return self.expectations.satisfied_expectations(key)

    def delete_expectations(self, key: str) -> None:
        """The controller object is gone: forget."""
        self.expectations.delete_expectations(key)
        self._uids.pop(key, None)

    def check_invariants(self) -> None:
        """AssertionError names what is broken."""
        self.expectations.check_invariants()
        for key in self._uids:
            found = self.expectations.get_expectations(key)
            assert found is not None, f"uids are expected for {key}, for which nothing is"

    def view(self) -> dict[str, Any]:
        """Outstanding creations, deletions and uids by key, for the stepper."""
        return {key: {**row, "uids": dict(self._uids.get(key, {}))} for key, row in self.expectations.view().items()}
