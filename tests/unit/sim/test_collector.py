"""Python's collector is told to leave old objects alone while a simulation runs, and to go on as before afterwards."""

import gc

import pytest

from k8slab.sim import Loop, sleep
from k8slab.sim.collector import old_objects_left_alone


def test_the_thresholds_are_back_after_nested_blocks() -> None:
    before = gc.get_threshold()
    with old_objects_left_alone(), old_objects_left_alone():
        assert gc.get_threshold() == (before[0], before[1], max(before[2], 1_000))
    assert gc.get_threshold() == before


def test_the_thresholds_are_back_after_a_run_that_fails() -> None:
    before = gc.get_threshold()
    loop = Loop()
    inside = []

    async def fail() -> None:
        inside.append(gc.get_threshold()[2])
        await sleep(1)
        raise ValueError("boom")

    loop.spawn("a", fail())
    with pytest.raises(ValueError, match="boom"):
        loop.run()
    assert inside == [max(before[2], 1_000)]
    assert gc.get_threshold() == before
