"""The garbage collector against the rule itself, under shuffled orders.

The twin is a fixpoint over what the server holds: an object that names owners and has none left must be gone; nothing
else may have been collected.
"""

from __future__ import annotations

import random
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

from k8slab.api.objects import Object, key_of, thaw
from k8slab.api.scheme import CONFIGMAPS, GVR, SECRETS
from k8slab.api.transport import Request
from k8slab.sim.order import Shuffle
from tests.counts import examples
from tests.unit.controllers.house import House, HouseTransport, named, owned

GC = "garbage-collector-controller"
KINDS = (CONFIGMAPS, SECRETS)
FOREGROUND, ORPHAN = "foregroundDeletion", "orphan"


def finalizers(obj: Object) -> list[str]:
    return list(obj["metadata"].get("finalizers") or ())


def owners(obj: Object) -> list[str]:
    return [owner["uid"] for owner in obj["metadata"].get("ownerReferences") or ()]


def blocks(dependent: Object, owner: Object) -> bool:
    references = dependent["metadata"].get("ownerReferences") or ()
    return any(each["uid"] == owner["metadata"]["uid"] and each["blockOwnerDeletion"] for each in references)


class WatchfulTransport(HouseTransport):
    """Looks at every deletion that the collector asks for."""

    def by_uid(self) -> dict[str, Object]:
        return {obj["metadata"]["uid"]: obj for obj in self.objects.values()}

    def _delete(self, request: Request, cause: int | None) -> Object:
        options: Any = request.body
        version = options["preconditions"].get("resourceVersion")
        obj = self._find(request)
        if version == obj["metadata"]["resourceVersion"]:
            living = self.by_uid()
            states = [living[uid] for uid in owners(obj) if uid in living]
            assert owners(obj), f"{key_of(obj)} has no owner and was deleted"
            assert all(FOREGROUND in finalizers(owner) for owner in states), f"{key_of(obj)} had a living owner"
        return super()._delete(request, cause)


operations = st.one_of(
    st.tuples(st.just("create"), st.lists(st.integers(0, 30), max_size=2, unique=True), st.booleans()),
    st.tuples(st.just("adopt"), st.integers(0, 30), st.lists(st.integers(0, 30), max_size=2, unique=True)),
    st.tuples(st.just("delete"), st.integers(0, 30), st.sampled_from(["Background", "Foreground", "Orphan"])),
    st.tuples(st.just("wait"), st.integers(0, 40), st.just(None)),
    st.tuples(st.just("crash"), st.just(None), st.just(None)),
)


class Run:
    """Applies operations to a running collector. Objects are known by their number."""

    def __init__(self, seed: int) -> None:
        self.house = House(
            GC, order=Shuffle(random.Random(seed)), options={"garbage-collector-resources": KINDS}, latency_ms=2,
            transport=WatchfulTransport,
        )  # fmt: skip
        self.made: list[tuple[GVR, Object]] = []
        self.orphaned: list[str] = []

    def find(self, number: int) -> tuple[GVR, str] | None:
        """Where the object of this number is; None if it was never made or is gone."""
        if not self.made:
            return None
        gvr, obj = self.made[number % len(self.made)]
        found = self.house.server.objects.get((gvr, key_of(obj)))
        return (gvr, key_of(obj)) if found is not None else None

    def references(self, numbers: list[int]) -> list[Object]:
        """Objects to name as owners, gone ones too."""
        return [self.made[number % len(self.made)][1] for number in numbers] if self.made else []

    def create(self, numbers: list[int], block: bool) -> None:
        gvr = KINDS[len(self.made) % 2]
        obj = owned(named(f"o{len(self.made)}"), *dedup(self.references(numbers)), block=block)
        self.made.append((gvr, self.house.server.put(gvr, obj)))

    def adopt(self, number: int, numbers: list[int]) -> None:
        place = self.find(number)
        if place is not None:
            obj = thaw(self.house.server.objects[place])
            uid = obj["metadata"]["uid"]
            fresh = [owner for owner in dedup(self.references(numbers)) if owner["metadata"]["uid"] != uid]
            self.house.server.put(place[0], owned(obj, *fresh))

    def delete(self, number: int, policy: str) -> None:
        place = self.find(number)
        if place is None:
            return
        server = self.house.server
        obj = server.objects[place]
        if obj["metadata"].get("deletionTimestamp"):
            return
        if policy == "Background":
            server.remove(*place)
            return
        server.start_deletion(*place, FOREGROUND if policy == "Foreground" else ORPHAN)

    def wait(self, ms: int, nothing: None) -> None:
        self.house.run(ms)

    def crash(self, *nothing: None) -> None:
        self.house.crash()
        self.house.start()


def dedup(objects: list[Object]) -> list[Object]:
    return list({obj["metadata"]["uid"]: obj for obj in objects}.values())


@settings(max_examples=examples(60), deadline=None)
@given(seed=st.integers(0, 10_000), steps=st.lists(operations, min_size=8, max_size=30))
def test_after_quiescence_nothing_is_left_whose_owners_are_all_gone(
    seed: int, steps: list[tuple[str, Any, Any]]
) -> None:
    run = Run(seed)
    try:
        for name, *arguments in steps:
            getattr(run, name)(*arguments)
        run.house.run(60_000)
        run.house.controllers[GC].check_invariants()
        living = run.house.server.by_uid()
        for obj in living.values():
            assert not owners(obj) or any(uid in living for uid in owners(obj)), f"{key_of(obj)} is garbage"
            assert ORPHAN not in finalizers(obj), f"{key_of(obj)} still waits for its dependents to be orphaned"
            if FOREGROUND in finalizers(obj):
                waits_for = [other for other in living.values() if blocks(other, obj)]
                assert any(other["metadata"].get("deletionTimestamp") for other in waits_for), f"{key_of(obj)} is stuck"
    finally:
        run.house.close()
