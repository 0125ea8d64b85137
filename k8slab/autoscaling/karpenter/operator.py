"""The process: watches Pods and Nodes, buys machines for those that wait, and carries out what `Karpenter` decides.

Run it with `Cluster(karpenter=...)`. NodePools and NodeClaims are objects: a claim is stored before anything is bought
for it, and its instance carries the claim's name, so that a process that comes back finds what it has, and buys nothing
twice.

Upstream: kubernetes-sigs/karpenter pkg/operator, pkg/controllers/controllers.go; pkg/controllers/nodeclaim/lifecycle/,
pkg/controllers/node/termination/, pkg/controllers/disruption/events, pkg/controllers/nodepool/validation;
aws/karpenter-provider-aws pkg/controllers/interruption
Simplified: no leader election, no metrics. An eviction that a budget refuses is asked for again every second, without
backoff. Notices of interruptions come at once, without a queue. A Pod that a NodeClaim was made for is told so once.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import k8slab.autoscaling.karpenter.kinds  # noqa: F401  (adds the rows of this package)
from k8slab.api.errors import AlreadyExistsError, ConflictError, NotFoundError, StatusError
from k8slab.api.objects import Object
from k8slab.api.scheme import NODES, PODS
from k8slab.api.transport import MERGE_PATCH
from k8slab.autoscaling.cloud import Cloud
from k8slab.autoscaling.karpenter.controller import Karpenter
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
from k8slab.autoscaling.karpenter.instance_types import Catalogue
from k8slab.autoscaling.karpenter.node_changes import changed_node
from k8slab.autoscaling.karpenter.node_claim import LAUNCHED, NodeClaim
from k8slab.autoscaling.karpenter.nodepool import NodePool
from k8slab.autoscaling.karpenter.objects import (
    DEFINITIONS,
    NODECLAIMS,
    NODEPOOLS,
    TERMINATION_FINALIZER,
    claim_object,
    claim_status,
    read_claim,
)
from k8slab.autoscaling.karpenter.state import ClusterState, StateNode
from k8slab.autoscaling.karpenter.tidings import Tidings
from k8slab.autoscaling.karpenter.watcher import Watcher
from k8slab.controllers import ControllerContext
from k8slab.sim import Wait, Waiters, pause
from k8slab.sim.loop import sleep

__all__ = ["NODECLAIM_TAG", "KarpenterOperator"]

NODECLAIM_TAG = "karpenter.sh/nodeclaim"
_RETRY_MS = 1_000
_Again = (TimeoutError, StatusError)


class KarpenterOperator:
    """`cloud` and `catalogue`: what it buys from; they outlive the process. `pools`: NodePools that are no objects.

    `news` is woken when the cloud has done something. `mind` is the `Karpenter` that decides.
    """

    definitions: Sequence[dict[str, Any]] = DEFINITIONS

    def __init__(
        self,
        ctx: ControllerContext,
        *,
        cloud: Cloud,
        catalogue: Catalogue,
        news: Waiters,
        pools: Mapping[str, NodePool] | None = None,
        spot_to_spot: bool = False,
        disrupts: bool = True,
    ) -> None:
        self.ctx = ctx
        self._cloud, self._news, self._changed = cloud, news, Waiters(ctx.loop)
        self.state = ClusterState(dict(pools or {}).values(), catalogue)
        self.watcher = Watcher(ctx.loop, ctx.informers, self.state, dict(pools or {}), self._wake)
        self._claims = ctx.informers.informer(NODECLAIMS)
        self._claims.add_event_handler(
            lambda obj, _: self._claim_seen(obj), lambda _, obj: self._claim_seen(obj), self._claim_gone
        )
        self.tidings = Tidings(ctx, self.state, self.watcher, self._claims)
        self.mind = Karpenter(
            self.state, cloud, spot_to_spot=spot_to_spot, disrupts=disrupts, launches=False, tell=self.tidings.hear
        )
        self._stored: dict[str, tuple[Any, Any]] = {}
        self._created: set[str] = set()
        self._deleted: set[str] = set()
        self._foreign: dict[str, Object] = {}
        self._told_problems: dict[str, str] = {}
        self._unmarked: set[str] = set()
        self._is_dirty = False
        self._is_ready = False

    def start(self) -> None:
        """Start the loop."""
        self.ctx.component.spawn("loop", self._run())

    @property
    def _now_ms(self) -> int:
        return self.ctx.loop.clock.now_ms

    def _wake(self) -> None:
        self._is_dirty = True
        self._changed.wake()

    async def _run(self) -> None:
        for informer in (*self.watcher.informers, self._claims):
            await informer.wait_synced()
        self._recover()
        while True:
            self._is_dirty = False
            await self.run_once()
            if not self._is_dirty:
                due_ms = self.mind.next_due_ms(self._now_ms) - self._now_ms
                await pause(Wait((self._changed, self._news), max(due_ms, 0), periodic=True))

    async def run_once(self) -> None:
        """Do what is due."""
        self.ctx.loop.trace.current = None
        await self._adopt_foreign()
        for notice in self.mind.interruptions():
            self.mind.interrupted(notice, self._now_ms)
        self.mind.lost(self._now_ms)
        for effect in self.mind.step(self._now_ms):
            await self._carry_out(effect)
        await self._store_claims()
        self.tidings.tell_drains(self._now_ms)
        await self._judge_pools()
        self.ctx.loop.trace.current = None

    # -- claims -------------------------------------------------------------------------------------

    def _recover(self) -> None:
        """What an earlier life left behind: its claims, and by their names the instances that were bought for them."""
        for obj in sorted(self._claims.indexer.list(), key=lambda one: str(one["metadata"]["name"])):
            self._foreign[obj["metadata"]["name"]] = obj
        self._restore_all()
        self.watcher.fill()
        self._is_ready = True

    def _restore_all(self) -> list[StateNode]:
        found, self._foreign = self._foreign, {}
        restored = []
        for name, obj in found.items():
            if name in self.state.nodes or name in self._created:
                continue
            try:
                claim = read_claim(obj, self._now_ms)
            except (KeyError, TypeError, ValueError) as error:
                self.tidings.hear(Note(name, "Ignored", f"the NodeClaim cannot be read: {error}"))
                continue
            instances = [one for one in self._cloud.instances.values() if one.tags.get(NODECLAIM_TAG) == name]
            restored.append(self.mind.restore(claim, None, instances[-1] if instances else None, self._now_ms))
            self._created.add(name)
            marks = obj["metadata"].get("finalizers") or ()
            if TERMINATION_FINALIZER not in marks and "deletionTimestamp" not in obj["metadata"]:
                self._unmarked.add(name)
            self._stored[name] = (dict(obj["metadata"].get("labels") or {}), dict(obj.get("status") or {}))
        return restored

    async def _adopt_foreign(self) -> None:
        """Claims that somebody else stored, or that a request of the earlier life stored late."""
        for one in self._restore_all():
            self.watcher.adopt(one)
        for node in list(self.state.nodes.values()):
            if node.claim is not None and node.claim.name in self._stored and not node.claim.is_true(LAUNCHED):
                self.tidings.caused_by(node.claim.name)
                self.mind.launch(node.claim.name, self._now_ms)

    def _claim_seen(self, obj: Object) -> None:
        name, is_going = obj["metadata"]["name"], obj["metadata"].get("deletionTimestamp") is not None
        if not self._is_ready:
            return
        if name not in self._created:
            self._foreign[name] = obj
            self._wake()
        elif is_going and self._node_of(name) is not None:
            self._deleted.add(name)
            self.mind.delete_claim(name, self._now_ms)
            self._wake()

    def _claim_gone(self, obj: Object) -> None:
        name = obj["metadata"]["name"]
        self._foreign.pop(name, None)
        if self._is_ready and self._node_of(name) is not None:  # somebody took the finalizer away
            self.mind.delete_claim(name, self._now_ms)
            self._wake()

    def _node_of(self, claim: str) -> StateNode | None:
        found = self.state.nodes.get(claim)
        return found if found is not None and found.claim is not None else None

    async def _store_claims(self) -> None:
        """Bring the stored claims up to date, delete those that go, and let go of those that are gone."""
        for node in list(self.state.nodes.values()):
            claim = node.claim
            if claim is None or claim.name not in self._stored:
                continue
            self.tidings.caused_by(claim.name)
            await self._update(claim)
            if self._is_leaving(node):
                self.mind.delete_claim(claim.name, self._now_ms)
            if claim.deleted_ms is not None:
                await self._begin_deletion(claim, node)
        for name in [name for name in self._stored if self._node_of(name) is None]:
            self.tidings.caused_by(name)
            await self._let_go(name)
        for node in [node for node in self.state.nodes.values() if node.claim is None and _is_orphan(node.node)]:
            await self._remove_node(node.name)

    @staticmethod
    def _is_leaving(node: StateNode) -> bool:
        """Somebody deleted the Node: its claim goes, too."""
        assert node.claim is not None
        gone = node.node is not None and node.node["metadata"].get("deletionTimestamp") is not None
        return gone and node.claim.deleted_ms is None

    async def _update(self, claim: NodeClaim) -> None:
        labels, status = dict(claim.labels), claim_status(claim)
        before = self._stored[claim.name]
        if before[0] != labels or claim.name in self._unmarked:
            metadata: dict[str, Any] = {"labels": labels}
            if claim.name in self._unmarked:  # somebody else's claim: it must not vanish before its machine
                self._unmarked.discard(claim.name)
                metadata["finalizers"] = [TERMINATION_FINALIZER]
            patch = {"metadata": metadata}
            await self._ask(lambda: self.ctx.client.patch(NODECLAIMS, claim.name, patch, patch_type=MERGE_PATCH))
        if before[1] != status:
            more = {"status": status}
            await self._ask(
                lambda: self.ctx.client.patch(
                    NODECLAIMS, claim.name, more, patch_type=MERGE_PATCH, subresource="status"
                )
            )
        self._stored[claim.name] = (labels, status)

    async def _begin_deletion(self, claim: NodeClaim, node: StateNode) -> None:
        if claim.name not in self._deleted:
            await self._ask(lambda: self.ctx.client.delete(NODECLAIMS, claim.name))
            self._deleted.add(claim.name)
        if node.node is not None and node.node["metadata"].get("deletionTimestamp") is None:
            key = f"node/{node.name}"
            if key not in self._deleted:
                await self._ask(lambda: self.ctx.client.delete(NODES, node.name))
                self._deleted.add(key)

    async def _let_go(self, name: str) -> None:
        if name not in self._deleted:
            await self._ask(lambda: self.ctx.client.delete(NODECLAIMS, name))
        patch = {"metadata": {"finalizers": None}}
        await self._ask(lambda: self.ctx.client.patch(NODECLAIMS, name, patch, patch_type=MERGE_PATCH))
        self._stored.pop(name)
        self._deleted -= {name, f"node/{name}"}
        self.watcher.causes.pop(name, None)

    # -- effects ------------------------------------------------------------------------------------

    async def _carry_out(self, effect: Effect) -> None:
        match effect:
            case CreateClaim():
                await self._create(effect)
            case Nominate():
                self.tidings.nominate(effect)
            case WriteNode():
                await self._write_node(effect)
            case EvictPod():
                await self._evict(effect)
            case DeletePod():
                await self._delete_pod(effect)
            case RemoveNode():
                await self._remove_node(effect.name)
            case Note():
                pass  # it was heard when it was decided

    async def _create(self, effect: CreateClaim) -> None:
        claim = effect.claim
        self.tidings.caused_by(claim.name)
        self._created.add(claim.name)
        is_sent = False
        while True:
            try:
                owner = self.watcher.pools.indexer.get(claim.pool)
                await self.ctx.client.create(NODECLAIMS, claim_object(claim, owner))
                break
            except AlreadyExistsError:
                if is_sent:  # the answer to the first try was lost
                    break
                self._created.discard(claim.name)
                self.mind.forget(claim.name)
                return
            except _Again:
                is_sent = True
                await sleep(_RETRY_MS)
        self._stored[claim.name] = (dict(claim.labels), None)
        self.tidings.caused_by(claim.name)
        self.tidings.created(claim, effect.reason)
        self.mind.launch(claim.name, self._now_ms)

    async def _write_node(self, effect: WriteNode) -> None:
        """Make the same change to the Node as it is now, until nobody comes between."""
        before = effect.before or effect.node
        await self._change_node(effect.node["metadata"]["name"], lambda node: changed_node(node, before, effect.node))

    async def _evict(self, effect: EvictPod) -> None:
        pod = self.watcher.object_of(effect.key)
        if pod is None:
            return
        self.tidings.caused_by(effect.node)
        self.tidings.drains(effect)
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        options = {"preconditions": {"uid": pod["metadata"]["uid"]}}
        metadata = {"name": name, "namespace": namespace}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata, "deleteOptions": options}
        try:
            await self.ctx.client.create_subresource(PODS, namespace, name, "eviction", body)
        except _Again:
            return  # refused by a budget, gone, or no answer: the next look will tell
        self.tidings.say(pod, "Normal", "Evicted", "Evicted pod")

    async def _delete_pod(self, effect: DeletePod) -> None:
        pod = self.watcher.object_of(effect.key)
        if pod is None:
            return
        self.tidings.caused_by(effect.node)
        metadata, seconds = pod["metadata"], effect.grace_period_seconds
        self.tidings.deletes(effect, pod)
        await self._ask(
            lambda: self.ctx.client.delete(
                PODS, metadata["name"], metadata["namespace"], uid=metadata["uid"], grace_period_seconds=seconds
            )
        )

    async def _remove_node(self, name: str) -> None:
        self.tidings.caused_by(name)
        await self._ask(lambda: self.ctx.client.delete(NODES, name))
        await self._change_node(name, _without_finalizer)

    async def _change_node(self, name: str, change: Callable[[Object], dict[str, Any]]) -> None:
        """Write the Node as it is now, changed, until nobody comes between or it is gone."""
        self.tidings.caused_by(name)
        while True:
            try:
                await self.ctx.client.update(NODES, change(await self.ctx.client.get(NODES, name)))
                return
            except NotFoundError:
                return
            except ConflictError:
                continue
            except _Again:
                await sleep(_RETRY_MS)

    async def _ask(self, call: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        """Until there is an answer. What is gone, or is not what it was, needs nothing any more."""
        while True:
            try:
                await call()
                return
            except _Again as error:
                if isinstance(error, StatusError) and error.code < 500 and error.code != 429:
                    return
            await sleep(_RETRY_MS)

    # -- NodePools ----------------------------------------------------------------------------------

    async def _judge_pools(self) -> None:
        """Say on each NodePool whether it can be used."""
        for pool in sorted(self.watcher.pools.indexer.list(), key=lambda one: str(one["metadata"]["name"])):
            name = pool["metadata"]["name"]
            problem = self.watcher.problems.get(name, "")
            if self._told_problems.get(name) == problem:
                continue
            self._told_problems[name] = problem
            patch = {"status": {"conditions": _pool_conditions(problem)}}
            await self._ask(
                lambda name=name, patch=patch: self.ctx.client.patch(  # type: ignore[misc]
                    NODEPOOLS, name, patch, patch_type=MERGE_PATCH, subresource="status"
                )
            )


def _without_finalizer(node: Object) -> dict[str, Any]:
    finalizers = [one for one in node["metadata"].get("finalizers") or () if one != TERMINATION_FINALIZER]
    return {**node, "metadata": {**node["metadata"], "finalizers": finalizers}}


def _is_orphan(node: Object | None) -> bool:
    """A Node that waits for Karpenter although its claim is gone."""
    metadata = {} if node is None else node["metadata"]
    return "deletionTimestamp" in metadata and TERMINATION_FINALIZER in (metadata.get("finalizers") or ())


def _pool_conditions(problem: str) -> list[dict[str, Any]]:
    if not problem:
        return [{"type": name, "status": "True", "reason": name} for name in ("ValidationSucceeded", "Ready")]
    failed = {"type": "ValidationSucceeded", "status": "False", "reason": "NodePoolValidationFailed"}
    unready = {"type": "Ready", "status": "False", "reason": "UnhealthyDependents"}
    return [{**failed, "message": problem}, {**unready, "message": "ValidationSucceeded=False"}]
