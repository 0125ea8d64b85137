"""How the GPUs of a machine are connected, and which of them should work together.

>>> from k8slab.autoscaling.gpu import LINKS, best_gpus
>>> cube = LINKS["dgx-1"]
>>> best_gpus(cube, free=[0, 1, 3, 4, 5, 6], count=2), best_gpus(cube, free=[0, 3, 5, 6], count=2)
((0, 3), (0, 3))
>>> best_gpus(cube, free=range(8), count=4), best_gpus(cube, free=[0, 3], count=4)
((0, 1, 2, 3), None)

Upstream: the GPU allocator of the NVIDIA device plugin (its best-effort policy): a set is worth the bandwidth between
its GPUs, and among equals that one is taken which leaves the most to those that stay. The kubelet asks it through
GetPreferredAllocation (KEP-693's neighbour, "topology-aware device allocation").
Simplified: one number for each pair (GB/s in one direction, as marketed); no NICs, no NUMA nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

__all__ = ["LINKS", "PCIE", "Links", "bandwidth", "best_gpus", "pairwise"]

Links = Sequence[Sequence[int]]
"""By two places: GB/s between the GPUs there."""

PCIE = 16
_NVLINK = 25
_BRIDGE = 56


def pairwise(count: int, joined: Mapping[tuple[int, int], int], rest: int = PCIE) -> Links:
    """A table from the pairs that are joined better than the rest. ValueError: a pair that there is not."""
    table = [[0 if a == b else rest for b in range(count)] for a in range(count)]
    for (a, b), speed in joined.items():
        if not (0 <= a < count and 0 <= b < count and a != b):
            raise ValueError(f"links: pair {(a, b)}: expected two different places from 0 to {count - 1}")
        table[a][b] = table[b][a] = speed
    return table


def _all_pairs(count: int, speed: int) -> dict[tuple[int, int], int]:
    return dict.fromkeys(combinations(range(count), 2), speed)


_DOUBLE = ((0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7))
_SINGLE = ((0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7))

LINKS: Mapping[str, Links] = {
    "pcie-8": pairwise(8, {}),
    "nvlink-bridges-8": pairwise(8, {(a, a + 1): _BRIDGE for a in (0, 2, 4, 6)}),
    "dgx-1": pairwise(8, {**dict.fromkeys(_SINGLE, _NVLINK), **dict.fromkeys(_DOUBLE, 2 * _NVLINK)}),
    "nvswitch-8": pairwise(8, _all_pairs(8, 12 * _NVLINK)),
}
"""PCIe alone (g5, g6), bridges between pairs (A40 and the like), the hybrid cube of DGX-1 (p3.16xlarge: one or two
links between some pairs, none between others), NVSwitch (p4d, p5: everybody with everybody)."""


def bandwidth(links: Links, chosen: Iterable[int]) -> int:
    """The sum over the pairs of a set."""
    return sum(links[a][b] for a, b in combinations(sorted(chosen), 2))


def slowest(links: Links, chosen: Iterable[int]) -> int:
    """The slowest pair of a set, which a ring over all of it has to wait for at worst; 0 for less than two."""
    return min((links[a][b] for a, b in combinations(sorted(chosen), 2)), default=0)


def best_gpus(links: Links, free: Iterable[int], count: int) -> tuple[int, ...] | None:
    """The `count` free GPUs with the most bandwidth between them; None: there are not so many.

    Among equal sets that one whose removal leaves the rest best connected, and then the one that sorts first.
    """
    if count < 0:
        raise ValueError(f"count: {count}: expected 0 or more")
    places = sorted(set(free))
    if any(not 0 <= place < len(links) for place in places):
        raise ValueError(f"free: {places}: expected places from 0 to {len(links) - 1}")
    if len(places) < count:
        return None

    def worth(chosen: tuple[int, ...]) -> tuple[int, int, tuple[int, ...]]:
        rest = [place for place in places if place not in chosen]
        return -bandwidth(links, chosen), -bandwidth(links, rest), chosen

    return min(combinations(places, count), key=worth)
