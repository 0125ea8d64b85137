"""The disruption loop: one method at a time, a pause before the deed, then replacements first and removals after.

A consolidation is looked at again 15 s after it was decided (the validation window): what has changed by then stops it.

Upstream: kubernetes-sigs/karpenter pkg/controllers/disruption/ (controller.go, validation.go, queue.go)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from k8slab.autoscaling.karpenter.candidates import Candidate, budgets_left, candidates_of, simulate
from k8slab.autoscaling.karpenter.consolidation import Command, Consolidation, Method
from k8slab.autoscaling.karpenter.instance_types import Catalogue
from k8slab.autoscaling.karpenter.state import ClusterState

__all__ = ["POLLING_MS", "VALIDATION_MS", "Disruption", "Running", "ValidationError"]

POLLING_MS = 10_000
VALIDATION_MS = 15_000
_MIN_RETRY_MS = 10 * 60_000
_MAX_RETRY_MS = 3_600_000
_RETRY_SCALE_MS = 80


class ValidationError(Exception):
    """The command no longer holds. `kind`: budget, scheduling or churn."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


@dataclass(slots=True)
class Running:
    """A command at work. `claims`: the names of its replacements; `initialized`: those that were ready once."""

    command: Command
    started_ms: int
    claims: tuple[str, ...] = ()
    initialized: set[str] = field(default_factory=set)

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.command.candidates)


class Disruption:
    """Decides what to disrupt and when. `blocked` hears (node, reason) of nodes that are no candidates, `report` of the
    others that stay (`blocked` None: of all). `step` returns a command that is to be started now, or nothing.

    The caller starts it (taints the candidates, makes the replacements) and says so with `started`.
    """

    def __init__(
        self,
        state: ClusterState,
        *,
        spot_to_spot: bool = False,
        report: Callable[[str, str], None] | None = None,
        blocked: Callable[[str, str], None] | None = None,
    ) -> None:
        self._state = state
        self._report: Callable[[str, str], None] = report or (lambda node, reason: None)
        self._blocked = blocked or self._report
        self.consolidation = Consolidation(state, spot_to_spot=spot_to_spot, report=self._report)
        self.waiting: tuple[int, Command] | None = None
        self.running: list[Running] = []
        self._next_poll_ms = 0

    @property
    def busy(self) -> list[str]:
        """Nodes that a command is about."""
        return [name for one in self.running for name in one.nodes]

    def next_due_ms(self) -> int:
        return self.waiting[0] if self.waiting is not None else self._next_poll_ms

    def step(self, now_ms: int) -> Command | None:
        """A command to start now. Whoever is rejected after the pause is reported, and the next methods have their
        turn."""
        if self.waiting is not None:
            if now_ms < self.waiting[0]:
                return None
            command = self.waiting[1]
            self.waiting = None
            try:
                validated = self.validate(command, now_ms)
            except ValidationError as error:
                for one in command.candidates:
                    self._report(one.name, f"{command} is rejected ({error.kind}): {error}")
                methods = list(Method)
                return self._poll(now_ms, methods[methods.index(command.method) + 1 :])
            self._next_poll_ms = now_ms
            return validated
        return self._poll(now_ms) if now_ms >= self._next_poll_ms else None

    def _poll(self, now_ms: int, methods: Iterable[Method] = Method) -> Command | None:
        """Ask the methods one after the other. Behind one whose command was rejected the round goes on."""
        self._next_poll_ms = now_ms + POLLING_MS
        for method in methods:
            command = self.compute(method, now_ms)
            if command is None:
                continue
            if method is Method.DRIFT:
                self._next_poll_ms = now_ms
                return command
            self.waiting = (now_ms + VALIDATION_MS, command)
            return None
        return None

    def compute(self, method: Method, now_ms: int) -> Command | None:
        """What one method would do now."""
        return self.consolidation.command(method, self._candidates(method, now_ms), now_ms)

    def _candidates(self, method: Method, now_ms: int) -> list[Candidate]:
        return candidates_of(
            self._state,
            now_ms,
            disruption_class=method.disruption_class,
            busy=self.busy,
            blocked=self._blocked,
        )

    # -- validation ---------------------------------------------------------------------------------

    def validate(self, command: Command, now_ms: int) -> Command:
        """The command as it still holds. Of empty nodes those go that are still empty; anything else is all or
        nothing."""
        if command.method is Method.EMPTINESS:
            left = self._still_empty(command, now_ms)
            return Command(command.method, left)
        current = self._still_candidates(command, now_ms)
        self._same_result(command, current, now_ms)
        self._still_candidates(command, now_ms)
        return command

    def _now(self, command: Command, now_ms: int) -> list[Candidate]:
        names = {one.name for one in command.candidates}
        found = (one for one in self._candidates(command.method, now_ms) if one.name in names)
        return [one for one in found if self.consolidation.wants(command.method, one)]

    def _still_empty(self, command: Command, now_ms: int) -> tuple[Candidate, ...]:
        current = self._now(command, now_ms)
        if not current:
            raise ValidationError("churn", f"{len(command.candidates)} candidates are no longer valid")
        left = budgets_left(self._state, command.method.reason, now_ms)
        allowed = [one for one in current if _take(left, one.pool.name)]
        if not allowed:
            raise ValidationError(
                "budget",
                f"{len(command.candidates)} candidates failed validation because it they were nominated for a pod or "
                "would violate disruption budgets",
            )
        return tuple(allowed)

    def _still_candidates(self, command: Command, now_ms: int) -> list[Candidate]:
        current = self._now(command, now_ms)
        if len(current) != len(command.candidates):
            raise ValidationError("churn", f"{len(command.candidates) - len(current)} candidates are no longer valid")
        left = budgets_left(self._state, command.method.reason, now_ms)
        if not all(_take(left, one.pool.name) for one in current):
            raise ValidationError("budget", "a candidate can no longer be disrupted without violating budgets")
        return current

    def _same_result(self, command: Command, current: Sequence[Candidate], now_ms: int) -> None:
        """The simulation must say the same: as many new nodes, of types among which are those that were chosen."""
        found = simulate(self._state, current, now_ms, is_consolidation=True)
        if found.errors:
            raise ValidationError("scheduling", found.message)
        new = found.packing.new
        if len(new) > 1 or len(new) != len(command.replacements):
            raise ValidationError("scheduling", "scheduling simulation produced new results")
        if new and not _names(command.replacements[0].catalogue, command.replacements[0].mask) <= _names(
            new[0].catalogue, new[0].mask
        ):
            raise ValidationError("scheduling", "scheduling simulation produced new results")

    # -- carrying out -------------------------------------------------------------------------------

    def started(self, command: Command, claims: Sequence[str], now_ms: int) -> Running:
        """The caller has tainted the candidates and made these claims."""
        running = Running(command, now_ms, tuple(claims))
        self.running.append(running)
        return running

    def progress(self, running: Running, now_ms: int) -> str:
        """`wait` until the replacements are ready, then `done` (delete the candidates); `failed` to give up.

        It fails when a replacement is gone, or after 10 minutes (up to an hour, when very many nodes are on the way).
        """
        claims = {node.claim.name: node for node in self._state.nodes.values() if node.claim is not None}
        for name in running.claims:
            if name in running.initialized:
                continue
            if name not in claims or claims[name].is_deleting:
                return self._finish(running, "failed")
            if claims[name].is_initialized:
                running.initialized.add(name)
        if len(running.initialized) == len(running.claims):
            return self._finish(running, "done")
        limit = min(max(_RETRY_SCALE_MS * len(self.busy), _MIN_RETRY_MS), _MAX_RETRY_MS)
        return self._finish(running, "failed") if now_ms - running.started_ms > limit else "wait"

    def _finish(self, running: Running, verdict: str) -> str:
        self.running.remove(running)
        return verdict


def _take(left: dict[str, int], pool: str) -> bool:
    if left[pool] <= 0:
        return False
    left[pool] -= 1
    return True


def _names(catalogue: Catalogue, mask: int) -> set[str]:
    return {one.name for one in catalogue.select(mask)}
