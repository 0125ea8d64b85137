"""Consolidation: delete empty nodes, delete several for one, replace one by a cheaper one.

Upstream: kubernetes-sigs/karpenter pkg/controllers/disruption/ (consolidation.go, emptiness.go,
multinodeconsolidation.go, singlenodeconsolidation.go, drift.go); website concepts/disruption.md; designs/
spot-consolidation.md
Simplified: no time limits (1 minute for several nodes, 3 for single ones), no memory of an unchanged cluster; the
policy Balanced; pools are taken in turn by name instead of at random.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import zip_longest

from k8slab.autoscaling.cloud import ON_DEMAND, SPOT
from k8slab.autoscaling.karpenter.budgets import DRIFTED, EMPTY, UNDERUTILIZED
from k8slab.autoscaling.karpenter.candidates import EVENTUAL, GRACEFUL, Candidate, budgets_left, simulate
from k8slab.autoscaling.karpenter.instance_types import UNKNOWN_PRICE
from k8slab.autoscaling.karpenter.node_claim import CONSOLIDATABLE, DRIFTED_CONDITION
from k8slab.autoscaling.karpenter.nodepool import WHEN_EMPTY
from k8slab.autoscaling.karpenter.packing import NewNode, Packing
from k8slab.autoscaling.karpenter.requirement import Requirement
from k8slab.autoscaling.karpenter.requirements import CAPACITY_TYPE, ZONE
from k8slab.autoscaling.karpenter.state import ClusterState

__all__ = [
    "MIN_SPOT_TYPES",
    "MOST_AT_ONCE",
    "Command",
    "Consolidation",
    "Decision",
    "Method",
]

MIN_SPOT_TYPES = 15
"""A spot node is replaced by a spot node only if as many types are cheaper than it is."""

MOST_AT_ONCE = 100
"""So many nodes are looked at together, at most."""


class Decision(StrEnum):
    """What a command does."""

    DELETE = "delete"
    REPLACE = "replace"


class Method(StrEnum):
    """The ways to disrupt nodes, in the order they are tried."""

    EMPTINESS = "empty"
    DRIFT = "drift"
    MULTI = "multi"
    SINGLE = "single"

    @property
    def reason(self) -> str:
        """What budgets call it."""
        return {Method.EMPTINESS: EMPTY, Method.DRIFT: DRIFTED}.get(self, UNDERUTILIZED)

    @property
    def disruption_class(self) -> str:
        return EVENTUAL if self is Method.DRIFT else GRACEFUL


@dataclass(slots=True)
class Command:
    """Take the candidates away; first make the replacements, if there are any."""

    method: Method
    candidates: tuple[Candidate, ...]
    replacements: tuple[NewNode, ...] = ()
    packing: Packing = field(default_factory=Packing)

    @property
    def decision(self) -> Decision:
        return Decision.REPLACE if self.replacements else Decision.DELETE

    @property
    def savings_micros(self) -> int:
        """Millionths of a dollar an hour: what the candidates cost, less the replacements at their cheapest."""
        return sum(one.price_micros for one in self.candidates) - sum(
            one.cheapest()[1].price_micros for one in self.replacements
        )

    def __str__(self) -> str:
        names = ", ".join(one.name for one in self.candidates)
        count = len(self.replacements)
        text = f" -> [{count} replacement{'s' if count > 1 else ''}]" if count else ""
        return f"{self.method.reason}: {self.decision}: [{names}]{text} (savings: ${self.savings_micros / 1e6:.2f})"


class Consolidation:
    """Decisions over a cluster state. `report` hears (node, why it stays): the events Unconsolidatable and Blocked.

    `spot_to_spot`: the gate SpotToSpotConsolidation, off by default.
    """

    def __init__(
        self, state: ClusterState, *, spot_to_spot: bool = False, report: Callable[[str, str], None] | None = None
    ) -> None:
        self._state = state
        self._spot_to_spot = spot_to_spot
        self._report: Callable[[str, str], None] = report or (lambda node, reason: None)

    # -- who may be looked at -----------------------------------------------------------------------

    def wants(self, method: Method, candidate: Candidate) -> bool:
        """Whether the method is for this node (ShouldDisrupt)."""
        claim = candidate.node.claim
        assert claim is not None
        if method is Method.DRIFT:
            return claim.is_true(DRIFTED_CONDITION)
        reason = self._why_not(method, candidate)
        if reason:
            self._report(candidate.name, reason)
        return not reason and candidate.is_empty is (method is Method.EMPTINESS) and claim.is_true(CONSOLIDATABLE)

    def _why_not(self, method: Method, candidate: Candidate) -> str:
        pool = candidate.pool
        disabled = f'NodePool "{pool.name}" has consolidation disabled' if pool.consolidate_after_ms is None else ""
        if method is Method.EMPTINESS:
            return disabled
        if candidate.instance_type not in self._state.catalogue.index:
            return f'Instance Type "{candidate.instance_type}" not found'
        for label, value in ((CAPACITY_TYPE, candidate.capacity_type), (ZONE, candidate.zone)):
            if not value:
                return f'Node does not have label "{label}"'
        if disabled:
            return disabled
        if pool.consolidation_policy == WHEN_EMPTY and not candidate.is_empty:
            return f'NodePool "{pool.name}" has consolidation policy WhenEmpty, but node is not empty'
        return ""

    # -- the methods --------------------------------------------------------------------------------

    def command(self, method: Method, candidates: Iterable[Candidate], now_ms: int) -> Command | None:
        """What the method would do with these candidates, within the budgets; None: nothing."""
        wanted = [one for one in candidates if self.wants(method, one)]
        if not wanted:
            return None
        left = budgets_left(self._state, method.reason, now_ms)
        if method is Method.DRIFT:
            return self._drift(wanted, left, now_ms)
        wanted.sort(key=lambda one: -one.savings_ratio)
        if method is Method.SINGLE:
            return self._single(wanted, left, now_ms)
        within = []
        for one in wanted:
            if left[one.pool.name] > 0:
                left[one.pool.name] -= 1
                within.append(one)
        if method is Method.MULTI:
            return self._multi(within[: MOST_AT_ONCE + 1], now_ms)
        return Command(method, tuple(within)) if within else None

    def _drift(self, candidates: Sequence[Candidate], left: dict[str, int], now_ms: int) -> Command | None:
        """The longest drifted first, empty nodes before the others; one at a time."""

        def since(one: Candidate) -> int:
            assert one.node.claim is not None
            return one.node.claim.conditions[DRIFTED_CONDITION].since_ms

        for one in sorted(candidates, key=lambda one: (bool(one.pods), since(one))):
            if left[one.pool.name] == 0:
                continue
            found = simulate(self._state, (one,), now_ms)
            if found.errors:
                self._report(one.name, _sentence(found.message))
                continue
            return Command(Method.DRIFT, (one,), tuple(found.packing.new), found.packing)
        return None

    def _single(self, candidates: Sequence[Candidate], left: dict[str, int], now_ms: int) -> Command | None:
        """The first node, of the pools in turn, that something can be done about."""
        pools: dict[str, list[Candidate]] = {}
        for one in candidates:
            pools.setdefault(one.pool.name, []).append(one)
        for row in zip_longest(*(pools[name] for name in sorted(pools))):
            for one in row:
                if one is not None and left[one.pool.name] > 0:
                    command = self.compute(Method.SINGLE, (one,), now_ms)
                    if command is not None:
                        return command
        return None

    def _multi(self, candidates: Sequence[Candidate], now_ms: int) -> Command | None:
        """The longest beginning of the list that can go together, by bisection; never less than two."""
        if len(candidates) < 2:
            return None
        best: Command | None = None
        low, high = 1, min(len(candidates) - 1, MOST_AT_ONCE)
        while low <= high:
            middle = (low + high) // 2
            command = self.compute(Method.MULTI, tuple(candidates[: middle + 1]), now_ms)
            if command is not None and command.replacements and not self._drop_same_types(command):
                command = None
            if command is not None:
                best, low = command, middle + 1
            else:
                high = middle - 1
        return best

    def _drop_same_types(self, command: Command) -> bool:
        """If a node is replaced by one of its own type, keeping it is the better answer: only cheaper types may
        stay."""
        catalogue, replacement = self._state.catalogue, command.replacements[0]
        prices: dict[str, int] = {}
        for one in command.candidates:
            prices[one.instance_type] = min(one.price_micros, prices.get(one.instance_type, UNKNOWN_PRICE))
        names = (catalogue.types[place].name for place in replacement.places())
        most = min((prices[name] for name in names if name in prices), default=UNKNOWN_PRICE)
        return _keep_cheaper(replacement, most) == "" and replacement.mask != 0

    def compute(self, method: Method, candidates: tuple[Candidate, ...], now_ms: int) -> Command | None:
        """What can be done about these nodes together: delete them, replace them by one cheaper node, or nothing."""
        found = simulate(self._state, candidates, now_ms, is_consolidation=True)
        if found.errors:
            return self._stays(candidates, _sentence(found.message))
        new = found.packing.new
        if not new:
            return Command(method, candidates, (), found.packing)
        if len(new) > 1:
            return self._stays(candidates, f"Can't remove without creating {len(new)} candidates")
        price = sum(one.price_micros for one in candidates)
        capacity_types = new[0].requirements.get(CAPACITY_TYPE)
        if all(one.capacity_type == SPOT for one in candidates) and capacity_types.has(SPOT):
            return self._spot_to_spot_command(method, candidates, found.packing, price)
        reason = _keep_cheaper(new[0], price)
        if reason or not new[0].mask:
            return self._stays(candidates, reason or "Can't replace with a cheaper node")
        if capacity_types.has(SPOT) and capacity_types.has(ON_DEMAND):
            # The prices were those of spot: without spot capacity the launch shall fail rather than cost more.
            new[0].requirements.add(Requirement.of(CAPACITY_TYPE, "In", (SPOT,)))
        return Command(method, candidates, (new[0],), found.packing)

    def _spot_to_spot_command(
        self, method: Method, candidates: tuple[Candidate, ...], packing: Packing, price: int
    ) -> Command | None:
        """A launch of the cheapest types alone would go from one scarce pool to the next: it needs 15 to choose
        from."""
        new = packing.new[0]
        if not self._spot_to_spot:
            return self._stays(
                candidates, "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node"
            )
        new.requirements.add(Requirement.of(CAPACITY_TYPE, "In", (SPOT,)))
        new.mask &= new.catalogue.offered(new.requirements)
        reason = _keep_cheaper(new, price)
        if reason or not new.mask:
            return self._stays(candidates, reason or "Can't replace with a cheaper node")
        if len(candidates) == 1:
            places = new.places()
            if len(places) < MIN_SPOT_TYPES:
                return self._stays(
                    candidates,
                    f"SpotToSpotConsolidation requires {MIN_SPOT_TYPES} cheaper instance type options than the current "
                    f"candidate to consolidate, got {len(places)}",
                )
            needed = new.catalogue.min_values_unmet(places, new.requirements)[0]
            new.mask = sum(1 << place for place in places[: max(MIN_SPOT_TYPES, needed)])
        return Command(method, candidates, (new,), packing)

    def _stays(self, candidates: Sequence[Candidate], reason: str) -> Command | None:
        """No command; of single nodes it is told why."""
        if len(candidates) == 1:
            self._report(candidates[0].name, reason)
        return None


def _keep_cheaper(new: NewNode, price_micros: int) -> str:
    """Leave the types that cost less whatever offering the launch gets; the reason when minValues are lost with
    them."""
    catalogue, requirements = new.catalogue, new.requirements
    places = [place for place in new.places() if catalogue.worst_launch_price(place, requirements) < price_micros]
    unmet = catalogue.min_values_unmet(places, requirements)[1]
    if unmet:
        keys = ", ".join(sorted(unmet))
        return f"Filtering by price: minValues requirement is not met for label(s) {keys}"
    new.mask = sum(1 << place for place in places)
    return ""


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
