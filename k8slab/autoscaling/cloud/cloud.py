"""The simulated cloud: sells machines, boots them, takes some of them back.

Plain state: `launch`, `terminate` and `interrupt` are the API; `step(now_ms)` does what is due and returns what
happened, in order of time; `next_due_ms` says when there will be something to do. Nothing here reads a clock. One
`random.Random` decides boot times, boot failures and interruptions, drawn at launch, in the order of launches.

Upstream: none; behaviour as of EC2 (RunInstances, CreateFleet with a prioritised list of pools).
Simplified: API calls succeed or fail at once (whoever calls adds a delay) and are never throttled.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from k8slab.autoscaling.cloud.errors import (
    CloudError,
    InstanceNotFoundError,
    InsufficientCapacityError,
    LaunchFailedError,
    QuotaExceededError,
)
from k8slab.autoscaling.cloud.instance_types import QUOTAS, SPOT, InstanceType, Pool, check_instance_types
from k8slab.autoscaling.cloud.instances import (
    CloudEvent,
    Instance,
    InstanceBooted,
    InstanceRunning,
    InstanceShuttingDown,
    InstanceState,
    InstanceTerminated,
    SpotInterruptionNotice,
)

__all__ = ["INTERRUPTION_NOTICE_MS", "Cloud", "CloudTimings", "Launch"]

INTERRUPTION_NOTICE_MS = 120_000
_HOUR_MS = 3_600_000


@dataclass(frozen=True, slots=True)
class CloudTimings:
    """How long things take, in ms. A boot takes `boot_ms`, give or take `boot_jitter_ms`; GPU machines need
    `gpu_boot_ms` more. `boot_failures_per_1000` instances run and never come up."""

    pending_ms: int = 8_000
    boot_ms: int = 40_000
    boot_jitter_ms: int = 10_000
    gpu_boot_ms: int = 30_000
    shutdown_ms: int = 15_000
    boot_failures_per_1000: int = 0
    spot_interruptions_per_1000_hours: int = 0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"{name}: {value!r}: expected a number of 0 or more")
        if self.boot_failures_per_1000 > 1_000:
            raise ValueError(f"boot_failures_per_1000: {self.boot_failures_per_1000}: expected at most 1000")
        if self.boot_jitter_ms > self.boot_ms:
            raise ValueError(f"boot_jitter_ms: {self.boot_jitter_ms}: expected at most boot_ms, {self.boot_ms}")


@dataclass(frozen=True, slots=True)
class Launch:
    """What `Cloud.launch` returns: the instance, and the errors of the pools that were asked before it."""

    instance: Instance
    refused: tuple[CloudError, ...] = ()


class _Step(IntEnum):
    """What a due entry is about; at one moment in this order."""

    TERMINATED = 0
    INTERRUPT = 1
    NOTICE = 2
    RUNNING = 3
    BOOTED = 4


class Cloud:
    """Instances, pools of capacity, quotas. See the module.

    `capacity`: how many instances a pool can hold at once (unlimited where it says nothing). `quotas`: CPUs by quota
    name and capacity type, `{"standard/on-demand": 64}` (unlimited likewise): see `InstanceType.quota`. `on_change` is
    called after every launch, interruption and termination that somebody asked for: there is something new to `step`.
    """

    def __init__(
        self,
        instance_types: Iterable[InstanceType],
        rng: random.Random,
        *,
        region: str = "region-1",
        timings: CloudTimings | None = None,
        capacity: Mapping[Pool, int] | None = None,
        quotas: Mapping[str, int] | None = None,
    ) -> None:
        self.instance_types = check_instance_types(instance_types)
        self.region = region
        self.timings = timings or CloudTimings()
        self.instances: dict[str, Instance] = {}
        self.on_change: Callable[[], None] = lambda: None
        self._rng = rng
        self._capacity: dict[Pool, int] = {}
        self._quotas = dict(quotas or {})
        self._in_pool: dict[Pool, int] = {}
        self._cpus: dict[str, int] = {}
        self._due: list[tuple[int, int, int, str]] = []
        self._count = 0
        self._now_ms = 0
        for quota, limit in self._quotas.items():
            if quota not in QUOTAS:
                raise ValueError(f"quotas: {quota!r}: expected one of {', '.join(QUOTAS)}")
            if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
                raise ValueError(f"quotas: {quota}: {limit!r}, expected a whole number, 0 or more")
        for pool, limit in (capacity or {}).items():
            self.set_capacity(pool, limit)

    # -- what is for sale ---------------------------------------------------------------------------

    def set_capacity(self, pool: Pool, limit: int | None) -> None:
        """From now on the pool holds so many instances (None: as many as one likes). Those there stay."""
        self.price(pool)
        if limit is None:
            self._capacity.pop(pool, None)
        elif isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
            raise ValueError(f"capacity of {pool}: {limit!r}, expected a whole number, 0 or more")
        else:
            self._capacity[pool] = limit

    def price(self, pool: Pool) -> int:
        """Micro-dollars an hour. ValueError when the pool is not sold at all."""
        found = self.instance_types.get(pool.instance_type)
        if found is None:
            raise ValueError(f"instance type {pool.instance_type!r}: not in the catalogue")
        offering = found.offering(pool.zone, pool.capacity_type)
        if offering is None:
            raise ValueError(f"pool {pool}: this type is not sold there in this way")
        return offering.price_micros

    def is_available(self, pool: Pool) -> bool:
        """Whether a launch would succeed now. Real clouds do not answer this: for tests and pictures."""
        return self._refusal(pool) is None

    def cpus_in_use(self, quota: str) -> int:
        """CPUs that count against a quota, `standard/spot` for example."""
        return self._cpus.get(quota, 0)

    def _refusal(self, pool: Pool) -> CloudError | None:
        self.price(pool)
        if self._in_pool.get(pool, 0) >= self._capacity.get(pool, 1 << 62):
            return InsufficientCapacityError(pool)
        quota, cpus = self._quota_of(pool)
        limit = self._quotas.get(quota)
        if limit is not None and self.cpus_in_use(quota) + cpus > limit:
            return QuotaExceededError(pool, quota, limit)
        return None

    def _quota_of(self, pool: Pool) -> tuple[str, int]:
        found = self.instance_types[pool.instance_type]
        return f"{found.quota}/{pool.capacity_type}", -(-found.milli_cpu // 1_000)

    # -- the API ------------------------------------------------------------------------------------

    def launch(self, pools: Sequence[Pool] | Pool, now_ms: int, tags: Mapping[str, str] | None = None) -> Launch:
        """Buy one instance from the first of `pools` that has one: what a fleet request with priorities does.

        LaunchFailedError when all refuse (nothing was bought), ValueError for a pool that is not sold.
        """
        wanted = [pools] if isinstance(pools, Pool) else list(pools)
        if not wanted:
            raise ValueError("pools: none, expected at least one")
        self._turn_to(now_ms)
        refused: list[CloudError] = []
        for pool in wanted:
            error = self._refusal(pool)
            if error is None:
                launch = Launch(self._launched(pool, now_ms, dict(tags or {})), tuple(refused))
                self.on_change()
                return launch
            refused.append(error)
        raise LaunchFailedError(refused)

    def _launched(self, pool: Pool, now_ms: int, tags: Mapping[str, str]) -> Instance:
        self._count += 1
        found = self.instance_types[pool.instance_type]
        instance = Instance(
            id=f"i-{self._rng.getrandbits(44):011x}{self._count:06x}",
            instance_type=found,
            zone=pool.zone,
            capacity_type=pool.capacity_type,
            price_micros=self.price(pool),
            launched_ms=now_ms,
            tags=tags,
        )
        self.instances[instance.id] = instance
        self._count_in(instance, 1)
        self._plan(instance)
        return instance

    def _plan(self, instance: Instance) -> None:
        """Draw the instance's fate: the same number of draws for each, so that one does not disturb the next."""
        times, rng = self.timings, self._rng
        jitter = rng.randint(-times.boot_jitter_ms, times.boot_jitter_ms)
        fails = rng.randrange(1_000) < times.boot_failures_per_1000
        life_in_hours = rng.expovariate(1.0)
        instance.will_boot = not fails
        running = instance.launched_ms + times.pending_ms
        self._push(running, _Step.RUNNING, instance.id)
        if not fails:
            extra = times.gpu_boot_ms if instance.instance_type.gpus else 0
            self._push(running + times.boot_ms + jitter + extra, _Step.BOOTED, instance.id)
        rate = times.spot_interruptions_per_1000_hours
        if instance.capacity_type == SPOT and rate:
            self._push(running + int(life_in_hours * 1_000 * _HOUR_MS / rate), _Step.NOTICE, instance.id)

    def terminate(self, instance_id: str, now_ms: int) -> tuple[CloudEvent, ...]:
        """Give an instance back; nothing happens to one that goes already. InstanceNotFoundError: there was none."""
        instance = self._instance(instance_id)
        self._turn_to(now_ms)
        events = self._shut_down(instance, now_ms, "user")
        self.on_change()
        return events

    def interrupt(self, instance_id: str, now_ms: int) -> tuple[CloudEvent, ...]:
        """Take a spot instance back in two minutes. ValueError when it is no live spot instance."""
        instance = self._instance(instance_id)
        if instance.capacity_type != SPOT or not instance.is_live:
            what = f"{instance.capacity_type} and {instance.state}"
            raise ValueError(f"instance {instance_id} is {what}, expected a live spot instance")
        self._turn_to(now_ms)
        events = self._notice(instance, now_ms)
        self.on_change()
        return events

    def _instance(self, instance_id: str) -> Instance:
        found = self.instances.get(instance_id)
        if found is None:
            raise InstanceNotFoundError(instance_id)
        return found

    def live(self) -> Iterator[Instance]:
        """The instances that are pending or running, in the order of their launch."""
        return (one for one in self.instances.values() if one.is_live)

    def cost_micros(self, now_ms: int) -> int:
        """What all instances cost until now, in millionths of a dollar."""
        return sum(one.cost(now_ms) for one in self.instances.values()) // _HOUR_MS

    # -- time ---------------------------------------------------------------------------------------

    def next_due_ms(self) -> int | None:
        """When `step` has something to do; None: never, as things stand."""
        return self._due[0][0] if self._due else None

    def step(self, now_ms: int) -> tuple[CloudEvent, ...]:
        """Do all that is due until `now_ms`, and say what happened, each with its moment."""
        self._turn_to(now_ms)
        events: list[CloudEvent] = []
        while self._due and self._due[0][0] <= now_ms:
            at_ms, kind, _, instance_id = heapq.heappop(self._due)
            events += self._carry_out(_Step(kind), self.instances[instance_id], at_ms)
        return tuple(events)

    def _turn_to(self, now_ms: int) -> None:
        if now_ms < self._now_ms:
            raise ValueError(f"now_ms {now_ms}: expected {self._now_ms} or later, time does not go back")
        self._now_ms = now_ms

    def _push(self, at_ms: int, kind: _Step, instance_id: str) -> None:
        heapq.heappush(self._due, (at_ms, int(kind), int(instance_id[-6:], 16), instance_id))

    def _carry_out(self, kind: _Step, instance: Instance, at_ms: int) -> tuple[CloudEvent, ...]:
        if kind is _Step.TERMINATED:
            instance.state, instance.terminated_ms = InstanceState.TERMINATED, at_ms
            return (InstanceTerminated(at_ms, instance.id),)
        if not instance.is_live:
            return ()  # it was given back before
        if kind is _Step.RUNNING:
            instance.state, instance.running_ms = InstanceState.RUNNING, at_ms
            return (InstanceRunning(at_ms, instance.id),)
        if kind is _Step.BOOTED:
            instance.booted_ms = at_ms
            return (InstanceBooted(at_ms, instance.id),)
        if kind is _Step.NOTICE:
            return self._notice(instance, at_ms)
        return self._shut_down(instance, at_ms, "spot interruption")

    def _notice(self, instance: Instance, at_ms: int) -> tuple[CloudEvent, ...]:
        if instance.interruption_ms is not None:
            return ()
        instance.interruption_ms = at_ms + INTERRUPTION_NOTICE_MS
        self._push(instance.interruption_ms, _Step.INTERRUPT, instance.id)
        return (SpotInterruptionNotice(at_ms, instance.id, instance.interruption_ms),)

    def _shut_down(self, instance: Instance, at_ms: int, reason: str) -> tuple[CloudEvent, ...]:
        if not instance.is_live:
            return ()
        instance.state, instance.shutting_down_ms = InstanceState.SHUTTING_DOWN, at_ms
        self._count_in(instance, -1)
        self._push(at_ms + self.timings.shutdown_ms, _Step.TERMINATED, instance.id)
        return (InstanceShuttingDown(at_ms, instance.id, reason),)

    def _count_in(self, instance: Instance, sign: int) -> None:
        pool = instance.pool
        quota, cpus = self._quota_of(pool)
        self._in_pool[pool] = self._in_pool.get(pool, 0) + sign
        self._cpus[quota] = self._cpus.get(quota, 0) + sign * cpus

    def check_invariants(self) -> None:
        """Pools and quotas hold what the live instances take, and every moment is after the one before."""
        pools: dict[Pool, int] = {}
        cpus: dict[str, int] = {}
        for one in self.live():
            quota, count = self._quota_of(one.pool)
            pools[one.pool] = pools.get(one.pool, 0) + 1
            cpus[quota] = cpus.get(quota, 0) + count
        assert pools == {pool: count for pool, count in self._in_pool.items() if count}, "cloud: pools miscounted"
        assert cpus == {quota: count for quota, count in self._cpus.items() if count}, "cloud: quotas miscounted"
        for one in self.instances.values():
            moments = (one.launched_ms, one.running_ms, one.booted_ms, one.shutting_down_ms, one.terminated_ms)
            known = [moment for moment in moments if moment is not None]
            assert known == sorted(known), f"cloud: {one.id} has its moments out of order: {moments}"
            assert (one.state is InstanceState.TERMINATED) == (one.terminated_ms is not None), f"cloud: {one.id}"
