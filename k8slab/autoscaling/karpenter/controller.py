"""Karpenter as a whole: provision for Pods that wait, watch over claims, disrupt, drain.

Plain state: `step(now_ms)` does what is due and returns what is to be written; `next_due_ms` says when to come again.
The cloud is asked directly. The caller keeps `state` as the cluster is (Pods, Nodes, budgets), steps the cloud, and
hands over its notices.

Upstream: kubernetes-sigs/karpenter pkg/controllers/ (provisioning, nodeclaim, disruption, node/termination);
aws/karpenter-provider-aws pkg/controllers/interruption
Simplified: one loop instead of one for each controller; no node repair; no garbage collection of instances without a
claim.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from k8slab.api.objects import Object
from k8slab.api.tolerations import taint_matches
from k8slab.autoscaling.cloud import (
    INTERRUPTION_NOTICE_MS,
    SPOT,
    Cloud,
    Instance,
    InstanceNotFoundError,
    InstanceState,
    LaunchFailedError,
    SpotInterruptionNotice,
)
from k8slab.autoscaling.karpenter.candidates import pods_to_place
from k8slab.autoscaling.karpenter.consolidation import Command
from k8slab.autoscaling.karpenter.disruption import Disruption
from k8slab.autoscaling.karpenter.effects import (
    CreateClaim,
    DeletePod,
    Effect,
    EvictPod,
    Nominate,
    Note,
    RemoveNode,
    WriteNode,
)
from k8slab.autoscaling.karpenter.launch import UnavailableOfferings, claim_for, launch_labels, pools_to_ask
from k8slab.autoscaling.karpenter.node_claim import (
    DISRUPTION_REASON,
    INSTANCE_TERMINATING,
    LAUNCHED,
    NodeClaim,
    drift_reason,
    expires_ms,
    initialize,
    register,
    timed_out,
    times_out_ms,
    update_consolidatable,
    update_drifted,
)
from k8slab.autoscaling.karpenter.packing import NewNode, Packing, pack
from k8slab.autoscaling.karpenter.pods import DISRUPTED_TAINT, is_provisionable
from k8slab.autoscaling.karpenter.state import ClusterState, StateNode
from k8slab.autoscaling.karpenter.termination import MIN_DRAIN_MS, drain, termination_ends_ms
from k8slab.scheduler.framework import pod_key

__all__ = ["BATCH_IDLE_MS", "BATCH_MAX_MS", "IDLE_MS", "NOMINATION_MS", "RECHECK_MS", "Karpenter"]

BATCH_IDLE_MS = 1_000
BATCH_MAX_MS = 10_000
NOMINATION_MS = 20_000
IDLE_MS = 10_000
RECHECK_MS = 10_000
"""Pods that still wait are looked at again."""

_RETRY_MS = 1_000
_DRAINED = "Drained"


class Karpenter:
    """See the module. `image_drift`: says why the provider thinks that a claim has drifted ("" for not).

    `disrupts` False: nodes are made and go when they are deleted or expire, and nobody looks for savings or drift.
    `launches` False: claims are to be stored first (`CreateClaim`), and whoever has stored one calls `launch`.
    `tell` hears every `Note` at the moment of the decision, before it is carried out; they are among the effects, too.
    """

    def __init__(
        self,
        state: ClusterState,
        cloud: Cloud,
        *,
        spot_to_spot: bool = False,
        disrupts: bool = True,
        launches: bool = True,
        image_drift: Callable[[NodeClaim], str] = lambda claim: "",
        tell: Callable[[Note], None] = lambda note: None,
    ) -> None:
        self.state = state
        self._tell = tell
        self._disrupts = disrupts
        self._launches = launches
        self.cloud = cloud
        self.unavailable = UnavailableOfferings()
        self.disruption = Disruption(state, spot_to_spot=spot_to_spot, report=self._report, blocked=self._blocked)
        self.unconsolidatable: dict[str, str] = {}
        self.pod_errors: dict[str, str] = {}
        self._image_drift = image_drift
        self._types = state.catalogue
        self._instances: dict[str, Instance] = {}
        self._batch: tuple[int, int] | None = None  # (first, last) new Pod
        self._seen: set[str] = set()
        self._retry_ms: int | None = None
        self._count = 0
        self._effects: list[Effect] = []

    def _note(self, about: str, reason: str, message: str, because: Iterable[str] = ()) -> None:
        note = Note(about, reason, message, tuple(because))
        self._effects.append(note)
        self._tell(note)

    def _report(self, node: str, reason: str, kind: str = "Unconsolidatable") -> None:
        if self.unconsolidatable.get(node) != reason:
            self.unconsolidatable[node] = reason
            self._note(node, kind, reason)

    def _blocked(self, node: str, reason: str) -> None:
        self._report(node, reason, "DisruptionBlocked")

    # -- time ---------------------------------------------------------------------------------------

    def step(self, now_ms: int) -> tuple[Effect, ...]:
        """Do what is due, and say what is to be written, in order (with what was to be said since the last step)."""
        self.state.catalogue = self._types.without(self.unavailable.at(now_ms))
        self._watch_over_claims(now_ms)
        self._provision_when_due(now_ms)
        self._carry_on(now_ms)
        self._untaint()
        command = self.disruption.step(now_ms) if self._disrupts else None
        if command is not None:
            self._start(command, now_ms)
        self._terminate(now_ms)
        self.state.check_invariants()
        effects, self._effects = tuple(self._effects), []
        return effects

    def next_due_ms(self, now_ms: int) -> int:
        """When `step` has something to do, as far as is known now."""
        due = [self.disruption.next_due_ms()] if self._disrupts else [now_ms + IDLE_MS]
        if self._batch is not None:
            due.append(self._batch_ends_ms(self._batch))
        if self._retry_ms is not None:
            due.append(self._retry_ms)
        if self.disruption.running or any(node.is_deleting for node in self.state.nodes.values()):
            due.append(now_ms + _RETRY_MS)
        for node in self.state.nodes.values():
            if node.claim is not None and node.claim.deleted_ms is None:
                due += [at for at in (expires_ms(node.claim), times_out_ms(node.claim)) if at is not None]
        return max(min(due), now_ms + 1)

    # -- provisioning -------------------------------------------------------------------------------

    @staticmethod
    def _batch_ends_ms(batch: tuple[int, int]) -> int:
        return min(batch[0] + BATCH_MAX_MS, batch[1] + BATCH_IDLE_MS)

    def _provision_when_due(self, now_ms: int) -> None:
        waiting = {key for key, pod in self.state.waiting.items() if is_provisionable(pod)}
        for node in self.state.nodes.values():
            if node.is_deleting:
                waiting |= set(node.pods)
        fresh = waiting - self._seen
        self._seen = (self._seen & waiting) | fresh
        if fresh:
            self._batch = (self._batch[0] if self._batch is not None else now_ms, now_ms)
        is_due = self._batch is not None and now_ms >= self._batch_ends_ms(self._batch)
        if is_due or (self._retry_ms is not None and now_ms >= self._retry_ms):
            self._batch = self._retry_ms = None
            self.provision(now_ms)

    def provision(self, now_ms: int) -> Packing:
        """Pack the Pods that wait and those on nodes that go; make what is missing."""
        waiting, leaving = pods_to_place(self.state, now_ms)
        packing = pack([*waiting, *leaving], self.state, now_ms=now_ms)
        for key, error in packing.errors.items():
            if self.pod_errors.get(key) != error:
                self._note(key, "FailedScheduling", error)
        self.pod_errors = dict(packing.errors)
        if waiting:
            self._retry_ms = now_ms + RECHECK_MS
        self._nominate(packing.existing, now_ms)
        asked = set(map(pod_key, waiting))
        for name, keys in packing.existing.items():
            self._effects += [Nominate(key, name) for key in keys if key in asked]
        for new in packing.new:
            keys = list(map(pod_key, new.pods))
            name = self._create(new, now_ms, keys)
            self._effects += [Nominate(key, name) for key in keys if key in asked]
        return packing

    def _nominate(self, names: Iterable[str], now_ms: int) -> None:
        """Pods are on their way to these nodes: for a while nobody disrupts them."""
        for name in names:
            self.state.nodes[name].nominated_until_ms = now_ms + NOMINATION_MS

    def _create(self, new: NewNode, now_ms: int, because: Iterable[str], reason: str = "") -> str:
        self._count += 1
        claim = claim_for(new, f"{new.pool.name}-{self._count}", now_ms)
        options = len(new.places())
        pods = "1 Pod" if len(new.pods) == 1 else f"{len(new.pods)} Pods"
        text = f"for {pods}, any of {options} instance types will do"
        self._note(claim.name, "Created", text, because)
        node = self.state.add_node(StateNode(claim=claim))
        node.nominated_until_ms = now_ms + NOMINATION_MS
        if self._launches:
            self._launch(claim, now_ms)
        else:
            self._effects.append(CreateClaim(claim, reason))
        return claim.name

    def launch(self, claim_name: str, now_ms: int) -> None:
        """Buy the instance of a claim that is stored. Nothing happens when it has one, is deleted, or is not known."""
        node = self._of_claim(claim_name)
        claim = None if node is None else node.claim
        if claim is not None and claim.deleted_ms is None and not claim.is_true(LAUNCHED):
            self._launch(claim, now_ms)

    def forget(self, claim_name: str) -> None:
        """The claim could not be stored: its Pods are packed anew."""
        self._forget(claim_name)

    def restore(self, claim: NodeClaim, node: Object | None, instance: Instance | None, now_ms: int) -> StateNode:
        """A claim of an earlier life, or somebody else's. `instance`: what was bought for it, if anything was."""
        prefix, _, number = claim.name.rpartition("-")
        if prefix and number.isdecimal():
            self._count = max(self._count, int(number))
        restored = self.state.add_node(StateNode(claim=claim))
        restored.set_node(node)
        restored.nominated_until_ms = now_ms + NOMINATION_MS
        if instance is not None:
            self._bought(claim, instance, now_ms)
        return restored

    def _launch(self, claim: NodeClaim, now_ms: int) -> None:
        pools = pools_to_ask(claim, self.state.catalogue)
        try:
            bought = self.cloud.launch(pools, now_ms, {"karpenter.sh/nodeclaim": claim.name}) if pools else None
        except LaunchFailedError as error:
            self.unavailable.mark(pools, now_ms)
            self._note(claim.name, "InsufficientCapacityError", str(error))
            bought = None
        if bought is None:
            self._forget(claim.name)
            self._retry_ms = now_ms + _RETRY_MS  # another round, in which the pools that refused are left out
            return
        self.unavailable.mark((error.pool for error in bought.refused if error.pool is not None), now_ms)
        self._note(claim.name, LAUNCHED, f"{bought.instance.pool}")
        self._bought(claim, bought.instance, now_ms)

    def _bought(self, claim: NodeClaim, instance: Instance, now_ms: int) -> None:
        kind = instance.instance_type
        own = self._types.requirements[self._types.index[kind.name]]
        claim.labels = {**launch_labels(kind, instance.pool, self.cloud.region, own), **claim.labels}
        claim.provider_id = instance.provider_id
        claim.capacity, claim.allocatable = kind.capacity(), kind.allocatable()
        claim.set(LAUNCHED, "True", now_ms)
        self._instances[claim.name] = instance

    def _forget(self, name: str) -> None:
        self.state.nodes.pop(name, None)
        self._seen.clear()

    # -- claims -------------------------------------------------------------------------------------

    def joined(self, claim_name: str, node: Object) -> None:
        """A Node of this claim's instance has appeared, or has changed."""
        found = self._of_claim(claim_name)
        if found is None:
            raise ValueError(f"nodeclaim {claim_name!r}: not known")
        self.state.nodes.pop(found.name)
        found.set_node(node)
        self.state.add_node(found)

    def _of_claim(self, name: str) -> StateNode | None:
        return next(
            (one for one in self.state.nodes.values() if one.claim is not None and one.claim.name == name), None
        )

    def interrupted(self, notice: SpotInterruptionNotice, now_ms: int) -> None:
        """The cloud takes an instance back: drain it now, and leave its pool alone for a while."""
        for name, instance in self._instances.items():
            if instance.id == notice.instance:
                node = self._of_claim(name)
                if node is not None and node.claim is not None and node.claim.deleted_ms is None:
                    if instance.capacity_type == SPOT:
                        self.unavailable.mark((instance.pool,), now_ms)
                    self._delete(node, now_ms, "SpotInterrupted")

    def lost(self, now_ms: int) -> None:
        """The claims whose instances the cloud has ended are deleted."""
        for name, instance in self._instances.items():
            node = self._of_claim(name)
            if not instance.is_live and node is not None:
                self._delete(node, now_ms, "InstanceTerminating")

    def interruptions(self) -> tuple[SpotInterruptionNotice, ...]:
        """Notices about claims that are not deleted yet."""
        return tuple(
            SpotInterruptionNotice(one.interruption_ms - INTERRUPTION_NOTICE_MS, one.id, one.interruption_ms)
            for name, one in self._instances.items()
            if one.is_live and one.interruption_ms is not None and self._is_kept(name)
        )

    def _is_kept(self, claim_name: str) -> bool:
        node = self._of_claim(claim_name)
        return node is not None and node.claim is not None and node.claim.deleted_ms is None

    def _delete(self, node: StateNode, now_ms: int, reason: str, because: Iterable[str] = ()) -> None:
        assert node.claim is not None
        if node.claim.deleted_ms is None:
            self._note(node.name, reason, f"NodeClaim {node.claim.name} is deleted", because)
            node.claim.deleted_ms = now_ms

    def delete_claim(self, claim_name: str, now_ms: int) -> None:
        """What `kubectl delete nodeclaim` does. ValueError: there is none."""
        node = self._of_claim(claim_name)
        if node is None:
            raise ValueError(f"nodeclaim {claim_name!r}: not known")
        self._delete(node, now_ms, "Deleted")

    def _watch_over_claims(self, now_ms: int) -> None:
        for node in list(self.state.nodes.values()):
            claim = node.claim
            if claim is None or claim.deleted_ms is not None:
                continue
            for advance in (register, initialize):
                written = advance(claim, node.node, now_ms)
                if written is not None:
                    self._note(node.name, claim.stage, f"NodeClaim {claim.name}")
                    self._write(node, written)
            late = timed_out(claim, now_ms)
            expiry = expires_ms(claim)
            if late:
                self._delete(node, now_ms, late)
            elif expiry is not None and now_ms >= expiry:
                self._delete(node, now_ms, "Expired")
            else:
                self._update_conditions(claim, now_ms)

    def _update_conditions(self, claim: NodeClaim, now_ms: int) -> None:
        pool = self.state.pools.get(claim.pool)
        if pool is not None:
            update_drifted(claim, drift_reason(claim, pool, self._types, now_ms, self._image_drift), now_ms)
            update_consolidatable(claim, pool, now_ms)

    def _write(self, node: StateNode, written: Object) -> None:
        before = node.node
        node.set_node(written)
        self._effects.append(WriteNode(written, before))

    # -- disruption ---------------------------------------------------------------------------------

    def _start(self, command: Command, now_ms: int) -> None:
        """Taint, make the replacements, and only then count the candidates as going: no capacity is made twice."""
        self._note(command.candidates[0].name, "DisruptionStarted", str(command))
        for one in command.candidates:
            self._taint(one.node)
            assert one.node.claim is not None
            reason = command.method.reason
            one.node.claim.set(DISRUPTION_REASON, "True", now_ms, reason, reason)
        names, why = [one.name for one in command.candidates], command.method.reason
        claims = [self._create(new, now_ms, names, why) for new in command.replacements]
        for one in command.candidates:
            one.node.is_marked_for_deletion = True
        self._nominate((name for name in command.packing.existing if name in self.state.nodes), now_ms)
        self.disruption.started(command, claims, now_ms)

    def _carry_on(self, now_ms: int) -> None:
        for running in list(self.disruption.running):
            verdict = self.disruption.progress(running, now_ms)
            for one in running.command.candidates if verdict != "wait" else ():
                if verdict == "done":
                    self._delete(one.node, now_ms, f"Disrupted/{running.command.method.reason}", running.claims)
                else:
                    self._roll_back(one.node)

    def _roll_back(self, node: StateNode) -> None:
        node.is_marked_for_deletion = False
        assert node.claim is not None and node.node is not None
        node.claim.clear(DISRUPTION_REASON)
        kept = [taint for taint in node.node["spec"].get("taints") or () if not taint_matches(taint, DISRUPTED_TAINT)]
        self._write(node, {**node.node, "spec": {**node.node["spec"], "taints": kept}})
        self._note(node.name, "RolledBack", "a replacement did not come")

    def _untaint(self) -> None:
        """Nodes that an earlier life was about to take away: nobody remembers why, so they are as before."""
        busy = set(self.disruption.busy)
        for node in self.state.nodes.values():
            if node.claim is None or node.node is None or node.is_deleting or node.name in busy:
                continue
            taints = node.node["spec"].get("taints") or ()
            if any(taint_matches(taint, DISRUPTED_TAINT) for taint in taints):
                kept = [taint for taint in taints if not taint_matches(taint, DISRUPTED_TAINT)]
                node.claim.clear(DISRUPTION_REASON)
                self._write(node, {**node.node, "spec": {**node.node["spec"], "taints": kept}})

    def _taint(self, node: StateNode) -> None:
        if node.node is None:
            return
        taints = list(node.node["spec"].get("taints") or ())
        if not any(taint_matches(taint, DISRUPTED_TAINT) for taint in taints):
            self._write(node, {**node.node, "spec": {**node.node["spec"], "taints": [*taints, DISRUPTED_TAINT]}})

    # -- termination --------------------------------------------------------------------------------

    def _terminate(self, now_ms: int) -> None:
        for node in list(self.state.nodes.values()):
            if node.claim is not None and node.claim.deleted_ms is not None:
                self._taint(node)
                if self._is_drained(node, node.claim, now_ms):
                    self._give_back(node, node.claim, now_ms)

    def _is_drained(self, node: StateNode, claim: NodeClaim, now_ms: int) -> bool:
        instance = self._instances.get(claim.name)
        if node.node is None or claim.is_true(_DRAINED) or instance is None or not instance.is_live:
            return True
        if _DRAINED not in claim.conditions:
            claim.set(_DRAINED, "Unknown", now_ms, "Draining", "Draining")
        plan = drain((info.pod for info in node.pods.values()), now_ms, termination_ends_ms(node))
        self._effects += [DeletePod(key, node.name, seconds) for key, seconds in plan.delete]
        self._effects += [EvictPod(key, node.name) for key in plan.evict]
        if not plan.is_done or now_ms - claim.conditions[_DRAINED].since_ms < MIN_DRAIN_MS:
            return False
        claim.set(_DRAINED, "True", now_ms)
        return True

    def _give_back(self, node: StateNode, claim: NodeClaim, now_ms: int) -> None:
        instance = self._instances.get(claim.name)
        if instance is not None:
            if instance.is_live:
                try:
                    self.cloud.terminate(instance.id, now_ms)
                except InstanceNotFoundError:
                    self._instances.pop(claim.name)
                claim.set(INSTANCE_TERMINATING, "True", now_ms)
                return
            if instance.state is not InstanceState.TERMINATED:
                return
        if node.node is not None:
            self._effects.append(RemoveNode(node.name))
        self.state.nodes.pop(node.name)
        self._instances.pop(claim.name, None)
        self.unconsolidatable.pop(node.name, None)
