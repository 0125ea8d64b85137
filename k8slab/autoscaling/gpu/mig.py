"""MIG: one GPU cut into instances that sit in fixed slots. Room is not enough, it has to be in the right place.

>>> from k8slab.autoscaling.gpu import MigGpu
>>> gpu = MigGpu("A100-40GB")
>>> gpu.create("3g.20gb", start=0), gpu.create("1g.5gb", start=4)
(0, 4)
>>> gpu.free_slices, gpu.starts("3g.20gb"), gpu.starts("2g.10gb")
(3, [], [])
>>> gpu.why_not("2g.10gb")
'2g.10gb takes 2 slices from 0, 2 or 4, and each of these is taken in part'

Upstream: NVIDIA MIG User Guide, Supported MIG Profiles (placements as `nvidia-smi mig -lgipp` lists them);
k8s-device-plugin, MIG strategies `single` and `mixed`
Simplified: memory slices decide the place, compute slices the number; no media extensions (+me), no compute instances.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

__all__ = ["MIG_PROFILES", "MigGpu", "MigProfile", "mig_resource_names"]


class MigProfile(NamedTuple):
    """`slices` of memory in a row, from one of `starts`; `compute` of the seven compute slices."""

    compute: int
    slices: int
    starts: tuple[int, ...]


def _eight(gib: int) -> dict[str, MigProfile]:
    """The profiles of GPUs with eight memory slices of `gib` GB."""
    return {
        f"1g.{gib}gb": MigProfile(1, 1, (0, 1, 2, 3, 4, 5, 6)),
        f"1g.{2 * gib}gb": MigProfile(1, 2, (0, 2, 4, 6)),
        f"2g.{2 * gib}gb": MigProfile(2, 2, (0, 2, 4)),
        f"3g.{4 * gib}gb": MigProfile(3, 4, (0, 4)),
        f"4g.{4 * gib}gb": MigProfile(4, 4, (0,)),
        f"7g.{8 * gib}gb": MigProfile(7, 8, (0,)),
    }


MIG_PROFILES: Mapping[str, Mapping[str, MigProfile]] = {
    "A30-24GB": {
        "1g.6gb": MigProfile(1, 1, (0, 1, 2, 3)),
        "2g.12gb": MigProfile(2, 2, (0, 2)),
        "4g.24gb": MigProfile(4, 4, (0,)),
    },
    "A100-40GB": _eight(5),
    "A100-80GB": _eight(10),
    "H100-80GB": _eight(10),
}
"""By model and profile."""

_SIZES = {"A30-24GB": (4, 4)}
_USUAL = (8, 7)


class MigGpu:
    """One GPU in MIG mode: which instances it has, and where. ValueError: a model without MIG."""

    def __init__(self, model: str) -> None:
        if model not in MIG_PROFILES:
            raise ValueError(f"model {model!r}: expected one of {', '.join(MIG_PROFILES)}")
        self.model = model
        self.profiles = MIG_PROFILES[model]
        self.slices, self.compute = _SIZES.get(model, _USUAL)
        self.instances: dict[int, str] = {}

    @property
    def taken(self) -> frozenset[int]:
        """The memory slices that belong to instances."""
        return frozenset(
            slot for start, name in self.instances.items() for slot in range(start, start + self.profiles[name].slices)
        )

    @property
    def free_slices(self) -> int:
        return self.slices - len(self.taken)

    @property
    def free_compute(self) -> int:
        return self.compute - sum(self.profiles[name].compute for name in self.instances.values())

    def starts(self, profile: str) -> list[int]:
        """Where such an instance could begin now."""
        wanted, taken = self._profile(profile), self.taken
        if wanted.compute > self.free_compute:
            return []
        return [start for start in wanted.starts if taken.isdisjoint(range(start, start + wanted.slices))]

    def _profile(self, name: str) -> MigProfile:
        if name not in self.profiles:
            raise ValueError(f"profile {name!r}: {self.model} has {', '.join(self.profiles)}")
        return self.profiles[name]

    def create(self, profile: str, start: int | None = None) -> int:
        """Make an instance, at `start` or where it takes the least from the others. Returns its start.

        ValueError: there is no place for it.
        """
        possible = self.starts(profile)
        if not possible or (start is not None and start not in possible):
            where = "" if start is None else f" at {start}"
            raise ValueError(f"{self.model}: no place for {profile}{where}: {self.why_not(profile) or 'it is taken'}")
        chosen = start if start is not None else max(possible, key=lambda at: (self._left_with(profile, at), -at))
        self.instances[chosen] = profile
        return chosen

    def _left_with(self, profile: str, start: int) -> tuple[int, ...]:
        """How many places would be left for each profile, the largest first."""
        self.instances[start] = profile
        left = tuple(len(self.starts(name)) for name in sorted(self.profiles, key=lambda n: -self.profiles[n].slices))
        del self.instances[start]
        return left

    def destroy(self, start: int) -> None:
        """The instance at `start` is gone. KeyError: there is none."""
        del self.instances[start]

    def why_not(self, profile: str) -> str:
        """Why there is no place for such an instance, "" when there is one."""
        if self.starts(profile):
            return ""
        wanted = self._profile(profile)
        if wanted.compute > self.free_compute:
            return f"{profile} takes {wanted.compute} compute slices, and {self.free_compute} are free"
        if wanted.slices > self.free_slices:
            return f"{profile} takes {wanted.slices} memory slices, and {self.free_slices} are free"
        *first, last = map(str, wanted.starts)
        where = f"{', '.join(first)} or {last}" if first else last
        return f"{profile} takes {wanted.slices} slices from {where}, and each of these is taken in part"

    def check_invariants(self) -> None:
        """No slice belongs to two instances, none begins where it may not, and compute slices suffice."""
        seen: list[int] = []
        for start, name in self.instances.items():
            assert start in self.profiles[name].starts, f"{self.model}: {name} at {start}"
            seen += range(start, start + self.profiles[name].slices)
        assert len(seen) == len(set(seen)), f"{self.model}: slices {seen} overlap"
        assert self.free_compute >= 0 and max(seen, default=0) < self.slices, f"{self.model}: too much is taken"


def mig_resource_names(strategy: str, profiles: list[str]) -> dict[str, int]:
    """What the device plugin advertises for instances: `mixed` a resource for each profile, `single` plain GPUs.

    >>> mig_resource_names("mixed", ["1g.5gb", "1g.5gb", "2g.10gb"])
    {'nvidia.com/mig-1g.5gb': 2, 'nvidia.com/mig-2g.10gb': 1}

    ValueError: `single` with instances that differ, or another strategy.
    """
    if strategy == "single":
        if len(set(profiles)) > 1:
            raise ValueError(f"strategy single: profiles {profiles}: expected all of them to be the same")
        return {"nvidia.com/gpu": len(profiles)}
    if strategy != "mixed":
        raise ValueError(f"strategy {strategy!r}: expected single or mixed")
    counts: dict[str, int] = {}
    for profile in profiles:
        name = f"nvidia.com/mig-{profile}"
        counts[name] = counts.get(name, 0) + 1
    return counts
