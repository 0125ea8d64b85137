"""Packing endpoints into slices: nothing lost, nothing doubled, nothing moved, nothing written twice."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from k8slab.controllers.endpointslice import Changes, reconcile
from tests.counts import examples
from tests.unit.controllers.test_endpointslice import node, pod, service

pods = st.dictionaries(st.integers(0, 30), st.tuples(st.booleans(), st.sampled_from((8080, 9090))), max_size=12)


def applied(slices: dict[str, Any], changes: Changes, step: int) -> dict[str, Any]:
    """The naive server: slices by name."""
    gone = {slice["metadata"]["name"] for slice in changes.delete}
    assert gone <= slices.keys()
    assert {slice["metadata"]["name"] for slice in changes.update} <= slices.keys() - gone
    kept = {name: slice for name, slice in slices.items() if name not in gone}
    kept |= {slice["metadata"]["name"]: slice for slice in changes.update}
    for number, slice in enumerate(changes.create):
        name = f"{step}-{number}"
        kept[name] = {**slice, "metadata": {**slice["metadata"], "name": name}}
    return kept


def places(slices: dict[str, Any]) -> dict[str, list[str]]:
    """Slice names by Pod."""
    found: dict[str, list[str]] = {}
    for name, slice in slices.items():
        for endpoint in slice["endpoints"]:
            found.setdefault(endpoint["targetRef"]["name"], []).append(name)
    return found


@settings(max_examples=examples(200))
@given(st.lists(pods, min_size=1, max_size=5), st.integers(1, 5))
def test_slices_hold_exactly_the_endpoints(steps: list[dict[int, tuple[bool, int]]], limit: int) -> None:
    slices: dict[str, Any] = {}
    ports: dict[str, int] = {}
    for step, wanted in enumerate(steps):
        current = [pod(number, ready=ready, port=port) for number, (ready, port) in wanted.items()]
        before = places(slices)
        changes = reconcile(service(), current, list(slices.values()), node, limit)
        slices = applied(slices, changes, step)
        after = places(slices)
        assert all(len(names) == 1 for names in after.values()), "an endpoint is in two slices"
        assert after.keys() == {f"web-{number}" for number in wanted}
        assert all(len(slice["endpoints"]) <= limit for slice in slices.values())
        assert slices, "one slice is always left"
        now = {f"web-{number}": port for number, (_ready, port) in wanted.items()}
        stayed = [name for name, port in now.items() if ports.get(name) == port]
        assert all(before[name] == after[name] for name in stayed if name in before), "an endpoint moved"
        assert reconcile(service(), current, list(slices.values()), node, limit) == ([], [], [], [])
        for slice in slices.values():
            for endpoint in slice["endpoints"]:
                ready, port = wanted[int(endpoint["targetRef"]["name"].removeprefix("web-"))]
                assert endpoint["conditions"]["ready"] is ready
                assert slice["ports"][0]["port"] == port
        ports = now
