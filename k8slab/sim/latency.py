"""How long requests, replies and watch events take: the seam between a client and an API server.

Upstream: none; real networks. `lan` was chosen because with it a rolling update of ten Pods goes through the same
ReplicaSet sizes as the recorded one (10, 8, 7, 5, 3, 2, 1, 0).
Simplified: delays are uniform between two bounds, and do not depend on the size of what is sent.
"""

from __future__ import annotations

import random
from typing import NamedTuple

__all__ = ["PROFILES", "LatencyProfile", "check_bounds", "latency_profile"]


class LatencyProfile(NamedTuple):
    """Bounds in milliseconds, both inclusive. The order within one watch stream is kept whatever the delays."""

    name: str
    request_ms: tuple[int, int]
    reply_ms: tuple[int, int]
    watch_ms: tuple[int, int]

    def request(self, rng: random.Random) -> int:
        return _draw(self.request_ms, rng)

    def reply(self, rng: random.Random) -> int:
        return _draw(self.reply_ms, rng)

    def watch(self, rng: random.Random) -> int:
        return _draw(self.watch_ms, rng)


def check_bounds(name: str, bounds: object) -> None:
    """ValueError unless `bounds` are two whole numbers of milliseconds, 0 <= low <= high."""
    if isinstance(bounds, tuple | list) and len(bounds) == 2 and all(type(bound) is int for bound in bounds):
        low, high = bounds
        if 0 <= low <= high:
            return
    raise ValueError(f"{name} {bounds!r}: expected two numbers, 0 <= low <= high")


def _draw(bounds: tuple[int, int], rng: random.Random) -> int:
    low, high = bounds
    return low if low == high else rng.randint(low, high)


PROFILES = {
    "none": LatencyProfile("none", (0, 0), (0, 0), (0, 0)),
    "lan": LatencyProfile("lan", (1, 1), (2, 2), (1, 4)),
    "slow-watch": LatencyProfile("slow-watch", (1, 1), (1, 1), (0, 12)),
}
"""Delays by name: none at all, a local network, and one whose watches are slow."""


def latency_profile(profile: str | LatencyProfile) -> LatencyProfile:
    """A profile by name or as it is; ValueError names the known ones."""
    if isinstance(profile, LatencyProfile):
        return profile
    if profile not in PROFILES:
        raise ValueError(f"latency {profile!r}: expected one of {', '.join(PROFILES)} or a LatencyProfile")
    return PROFILES[profile]
