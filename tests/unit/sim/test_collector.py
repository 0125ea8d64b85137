"""Python's collector runs less often while a simulation does, and as before afterwards."""

import gc

import pytest

from k8slab.sim import Loop, sleep
from k8slab.sim.collector import YOUNG_OBJECTS, rare_collections


def test_the_thresholds_are_back_after_nested_blocks() -> None:
    before = gc.get_threshold()
    with rare_collections(), rare_collections():
        assert gc.get_threshold() == (max(before[0], YOUNG_OBJECTS), *before[1:])
    assert gc.get_threshold() == before


def test_a_collector_that_is_off_stays_off() -> None:
    before = gc.get_threshold()
    gc.set_threshold(0)
    try:
        with rare_collections():
            assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)


def test_the_thresholds_are_back_after_a_run_that_fails() -> None:
    before = gc.get_threshold()
    loop = Loop()
    inside = []

    async def fail() -> None:
        inside.append(gc.get_threshold()[0])
        await sleep(1)
        raise ValueError("boom")

    loop.spawn("a", fail())
    with pytest.raises(ValueError, match="boom"):
        loop.run()
    assert inside == [max(before[0], YOUNG_OBJECTS)]
    assert gc.get_threshold() == before
