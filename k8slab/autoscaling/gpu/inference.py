"""Model servers scaled by the length of their queue: what a burst costs when a replica takes minutes to come.

>>> from k8slab.autoscaling.gpu import QueueScaler, Burst, serve
>>> burst = Burst(quiet_per_s=2, peak_per_s=20, starts_s=60, ends_s=360, until_s=900)
>>> scaler = QueueScaler(per_replica=10, least=1, most=16)
>>> cold, warm = (serve(burst, scaler, seconds_per_request=0.5, cold_start_s=s) for s in (240, 30))
>>> cold.worst_wait_s, warm.worst_wait_s, cold.served == warm.served
(228, 39, True)

Upstream: keda.sh ScaledObject and autoscaling/v2 (desired = ceil(queue / target)), as in HPA with an external metric
Simplified: a replica serves one request at a time; seconds are the smallest step; requests keep their order.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

__all__ = ["Burst", "QueueScaler", "Served", "serve"]


@dataclass(frozen=True, slots=True)
class Burst:
    """Requests a second: a quiet rate, and a peak from `starts_s` to `ends_s`. No more come after `until_s`."""

    quiet_per_s: int
    peak_per_s: int
    starts_s: int
    ends_s: int
    until_s: int

    def __post_init__(self) -> None:
        for name in ("quiet_per_s", "peak_per_s", "starts_s", "ends_s", "until_s"):
            value = getattr(self, name)
            if type(value) is not int or value < 0:
                raise ValueError(f"{name}: {value!r}: expected a whole number from 0 on")
        if self.starts_s > self.ends_s:
            raise ValueError(f"starts_s {self.starts_s}, ends_s {self.ends_s}: expected starts_s <= ends_s")

    def at(self, second: int) -> int:
        """How many arrive in this second."""
        if second >= self.until_s:
            return 0
        return self.peak_per_s if self.starts_s <= second < self.ends_s else self.quiet_per_s


@dataclass(frozen=True, slots=True)
class QueueScaler:
    """Wants a replica for every `per_replica` requests in the queue; looks every `every_s`.

    Downscaling takes the highest wish of the last `window_s`, as an HPA's stabilization does.
    """

    per_replica: int
    least: int = 0
    most: int = 10
    every_s: int = 15
    window_s: int = 300

    def __post_init__(self) -> None:
        if self.per_replica <= 0 or self.every_s <= 0:
            raise ValueError(f"per_replica {self.per_replica}, every_s {self.every_s}: expected more than 0")
        if not 0 <= self.least <= self.most or self.most == 0:
            raise ValueError(f"least {self.least}, most {self.most}: expected 0 <= least <= most, and most above 0")

    def wish(self, queued: int) -> int:
        """ceil(queue / target), within the bounds."""
        return min(max(-(-queued // self.per_replica), self.least), self.most)


@dataclass(slots=True)
class Served:
    """What came of it. `timeline`: (second, queue, ready replicas, replicas) every time the scaler looked."""

    waits_s: list[int] = field(default_factory=list)
    replica_seconds: int = 0
    timeline: list[tuple[int, int, int, int]] = field(default_factory=list)

    @property
    def served(self) -> int:
        return len(self.waits_s)

    @property
    def worst_wait_s(self) -> int:
        return max(self.waits_s, default=0)

    def late(self, than_s: int) -> int:
        """How many waited longer than that."""
        return sum(1 for wait in self.waits_s if wait > than_s)


def serve(
    load: Callable[[int], int] | Burst,
    scaler: QueueScaler,
    *,
    seconds_per_request: float,
    cold_start_s: int,
    for_s: int = 7_200,
) -> Served:
    """Play the load until everything is served, or `for_s` have passed. A replica serves from `cold_start_s` after it
    was wished for, and is paid from then on that it was."""
    if not 0 < seconds_per_request < math.inf:
        raise ValueError(f"seconds_per_request: {seconds_per_request}: expected more than 0, and not endless")
    if cold_start_s < 0:
        raise ValueError(f"cold_start_s: {cold_start_s}: expected 0 or more")
    arrivals = load.at if isinstance(load, Burst) else load
    queue: deque[int] = deque()
    replicas = [0] * scaler.least  # the second from which each serves
    wishes: deque[tuple[int, int]] = deque()
    result, credit = Served(), 0.0
    for second in range(for_s):
        queue.extend([second] * arrivals(second))
        if second % scaler.every_s == 0:
            _scale(second, len(queue), scaler, wishes, replicas, cold_start_s)
            ready = sum(1 for since in replicas if since <= second)
            result.timeline.append((second, len(queue), ready, len(replicas)))
        ready = sum(1 for since in replicas if since <= second)
        credit += ready / seconds_per_request
        while queue and credit >= 1:
            result.waits_s.append(second - queue.popleft())
            credit -= 1
        if not queue:
            credit = 0.0  # time in which nobody waits is not saved up
        result.replica_seconds += len(replicas)
        if isinstance(load, Burst) and second >= load.until_s and not queue:
            break
    return result


def _scale(
    second: int, queued: int, scaler: QueueScaler, wishes: deque[tuple[int, int]], replicas: list[int], cold_s: int
) -> None:
    wishes.append((second, scaler.wish(queued)))
    while wishes[0][0] <= second - scaler.window_s:
        wishes.popleft()
    wanted = max(wishes[-1][1], min(len(replicas), max(wish for _, wish in wishes)))
    replicas += [second + cold_s] * (wanted - len(replicas))
    del replicas[wanted:]  # the youngest go first
