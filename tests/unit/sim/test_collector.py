"""Python's collector runs less often while a simulation does, and as before afterwards."""

import gc

import pytest

from k8slab.sim import Loop, sleep
from k8slab.sim.collector import RARE, rare_collections


def test_the_thresholds_are_back_after_nested_blocks() -> None:
    before = gc.get_threshold()
    with rare_collections(), rare_collections():
        assert gc.get_threshold() == RARE
    assert gc.get_threshold() == before


@pytest.mark.parametrize(
    "mine", [(0, 10, 10), (90_000, 3, 3)], ids=["a collector that is off stays off", "a rarer one stays as it is"]
)
def test_a_setting_that_is_rarer_is_left_alone(mine: tuple[int, int, int]) -> None:
    before = gc.get_threshold()
    gc.set_threshold(*mine)
    try:
        with rare_collections():
            assert gc.get_threshold() == mine
        assert gc.get_threshold() == mine
    finally:
        gc.set_threshold(*before)


def test_the_thresholds_are_back_after_a_run_that_fails() -> None:
    before = gc.get_threshold()
    loop = Loop()
    inside = []

    async def fail() -> None:
        inside.append(gc.get_threshold())
        await sleep(1)
        raise ValueError("boom")

    loop.spawn("a", fail())
    with pytest.raises(ValueError, match="boom"):
        loop.run()
    assert inside == [RARE]
    assert gc.get_threshold() == before
