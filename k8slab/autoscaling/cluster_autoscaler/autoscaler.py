"""The process: every ten seconds it looks at its caches, and carries out what `StaticAutoscaler` decides.

Run it with `Cluster(cluster_autoscaler=...)`, or as an operator of your own before any API server.

Upstream: cluster-autoscaler/main.go, loop/trigger.go
Simplified: no leader election, no metrics, no trigger before the scan interval is over.
"""

from __future__ import annotations

from typing import Any

from k8slab.api.errors import NotFoundError, StatusError
from k8slab.api.objects import Object
from k8slab.api.scheme import (
    CONFIGMAPS,
    DAEMONSETS,
    JOBS,
    NODES,
    PODDISRUPTIONBUDGETS,
    PODS,
    REPLICASETS,
    REPLICATIONCONTROLLERS,
    STATEFULSETS,
)
from k8slab.autoscaling.cluster_autoscaler.actuator import Actuator
from k8slab.autoscaling.cluster_autoscaler.drainability import DrainContext
from k8slab.autoscaling.cluster_autoscaler.expanders import PRIORITY_CONFIG_MAP
from k8slab.autoscaling.cluster_autoscaler.node_groups import NodeGroups
from k8slab.autoscaling.cluster_autoscaler.options import AutoscalingOptions
from k8slab.autoscaling.cluster_autoscaler.pdb import RemainingPdbTracker
from k8slab.autoscaling.cluster_autoscaler.static_autoscaler import RunResult, StaticAutoscaler
from k8slab.autoscaling.cluster_autoscaler.status import last_updated
from k8slab.autoscaling.cluster_autoscaler.view import (
    ClusterView,
    Effect,
    RecordEvent,
    SetSoftTaint,
    StartDeletion,
    WriteStatus,
)
from k8slab.controllers import ControllerContext
from k8slab.scheduler import Framework, KubeSchedulerConfiguration
from k8slab.scheduler.listers import NOT_FINISHED, InformerLister
from k8slab.sim.loop import sleep

__all__ = ["ClusterAutoscaler"]

LAST_UPDATED = "cluster-autoscaler.kubernetes.io/last-updated"
_OWNERS = {
    "ReplicaSet": REPLICASETS,
    "ReplicationController": REPLICATIONCONTROLLERS,
    "StatefulSet": STATEFULSETS,
    "Job": JOBS,
    "DaemonSet": DAEMONSETS,
}


class ClusterAutoscaler:
    """`groups`: what it may grow and shrink; they belong to the cloud and outlive the process.

    `config`: the scheduler's configuration, whose filters the simulation asks. `last`: what the last loop decided.
    """

    def __init__(
        self,
        ctx: ControllerContext,
        *,
        groups: NodeGroups,
        options: AutoscalingOptions | None = None,
        config: KubeSchedulerConfiguration | None = None,
    ) -> None:
        self.ctx = ctx
        self.options = options or AutoscalingOptions()
        informers = ctx.informers
        self._nodes, self._pods = informers.informer(NODES), informers.informer(PODS, field_selector=NOT_FINISHED)
        self._pdbs, self._config_maps = informers.informer(PODDISRUPTIONBUDGETS), informers.informer(CONFIGMAPS)
        self._owners = {kind: informers.informer(gvr) for kind, gvr in _OWNERS.items()}
        self._recorder = ctx.recorder("cluster-autoscaler")
        lister, rng = InformerLister(informers), ctx.loop.stream(f"{ctx.component.name}/expander")
        if config is None:
            framework = Framework.from_profile(lister=lister, features=ctx.features)
        else:
            framework = Framework.from_config(config, lister=lister, features=ctx.features)
        self.mind = StaticAutoscaler(groups, framework, self.options, rng)
        self.actuator = Actuator(
            ctx.loop,
            ctx.component,
            ctx.client,
            self.mind,
            self._recorder,
            nodes=self._nodes,
            pods=self._pods,
            context=self._drain_context,
            status_event=self._status_event,
        )
        self.last: RunResult | None = None
        self.loops = 0
        self._unneeded: dict[str, None] = {}

    def start(self) -> None:
        """Start the loop."""
        self.ctx.component.spawn("loop", self._run())

    async def _run(self) -> None:
        for informer in (self._nodes, self._pods, self._pdbs, self._config_maps, *self._owners.values()):
            await informer.wait_synced()
        await self._write_status("autoscalerStatus: Initializing\n", last_updated(self._now_ms))
        await self.actuator.clean_up()
        while True:
            self.ctx.loop.trace.current = None
            await self.run_once()
            await sleep(self.options.scan_interval_ms, periodic=True)

    @property
    def _now_ms(self) -> int:
        return self.ctx.loop.clock.now_ms

    async def run_once(self) -> RunResult:
        """One time round."""
        result = self.last = self.mind.run_once(self.view(), self._now_ms)
        self.loops += 1
        self._tell(result)
        for effect in result.effects:
            await self._carry_out(effect)
        return result

    def view(self) -> ClusterView:
        """The cluster as the caches have it."""
        pods = self._pods.indexer.list()
        namespace = self.options.namespace
        return ClusterView(
            nodes=sorted(self._nodes.indexer.list(), key=lambda node: node["metadata"]["name"]),
            pods=sorted(pods, key=lambda pod: (pod["metadata"]["namespace"], pod["metadata"]["name"])),
            pdbs=self._pdbs.indexer.list(),
            daemon_sets=self._owners["DaemonSet"].indexer.list(),
            controllers=self._controllers(),
            priority_config_map=self._config_maps.indexer.get(f"{namespace}/{PRIORITY_CONFIG_MAP}"),
        )

    def _controllers(self) -> dict[tuple[str, str, str], Object]:
        return {
            (kind, obj["metadata"]["namespace"], obj["metadata"]["name"]): obj
            for kind, informer in self._owners.items()
            for obj in informer.indexer.list()
        }

    def _drain_context(self) -> DrainContext:
        pdbs = RemainingPdbTracker(self._pdbs.indexer.list())
        return DrainContext(self.options, self._now_ms, pdbs, self._controllers())

    # -- effects ------------------------------------------------------------------------------------

    async def _carry_out(self, effect: Effect) -> None:
        if isinstance(effect, RecordEvent):
            about = self._about(effect.about)
            self._recorder.event(about, effect.type, effect.reason, effect.message)
        elif isinstance(effect, SetSoftTaint):
            await self.actuator.set_soft_taint(effect.node, effect.add)
        elif isinstance(effect, StartDeletion):
            await self.actuator.start(effect)
        elif isinstance(effect, WriteStatus):
            await self._write_status(effect.text, effect.last_updated)

    def _about(self, about: Object | str) -> Object:
        if not isinstance(about, str):
            return about if "kind" in about else {**about, "apiVersion": "v1", "kind": "Pod"}
        name = self.options.status_config_map_name if about == "status" else PRIORITY_CONFIG_MAP
        found = self._config_maps.indexer.get(f"{self.options.namespace}/{name}")
        metadata = {"name": name, "namespace": self.options.namespace}
        return found or {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}

    def _status_event(self, type: str, reason: str, message: str) -> None:
        self._recorder.event(self._about("status"), type, reason, message)

    async def _write_status(self, text: str, updated: str) -> None:
        """Keep the status ConfigMap; what cannot be written now is written the next time."""
        if not self.options.write_status_configmap:
            return
        name, namespace = self.options.status_config_map_name, self.options.namespace
        metadata: dict[str, Any] = {"name": name, "namespace": namespace, "annotations": {LAST_UPDATED: updated}}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"status": text}}
        client = self.ctx.client
        try:
            try:
                patch = {"metadata": {"annotations": metadata["annotations"]}, "data": body["data"]}
                await client.patch(CONFIGMAPS, name, patch, namespace)
            except NotFoundError:
                await client.create(CONFIGMAPS, body, namespace)
        except (StatusError, TimeoutError):
            return

    # -- trace --------------------------------------------------------------------------------------

    def _tell(self, result: RunResult) -> None:
        """The decisions of a loop as events of the trace."""
        lane, emit = self.ctx.component.name, self.ctx.loop.trace.emit
        for info in result.scale_up.infos:
            pods, sizes = len(result.scale_up.triggered), (info.current_size, info.new_size)
            emit("ca.scale-up", lane, group=info.group.id, before=sizes[0], after=sizes[1], pods=pods)
        if result.scale_up.remaining and not result.scale_up.infos:
            texts = [one for _, by_group in result.scale_up.remaining for one in by_group.values()]
            reasons = dict.fromkeys(reason for several in texts for reason in several)
            reasons |= dict.fromkeys(result.scale_up.skipped.values())
            emit("ca.stuck", lane, pods=len(result.scale_up.remaining), why=", ".join(reasons)[:80])
        planner = self.mind.planner
        for name in planner.unneeded:
            used = planner.utilizations.get(name)
            if name not in self._unneeded and used is not None:
                emit("ca.unneeded", lane, resource="nodes", key=name, percent=round(used.value * 100))
        for name in self._unneeded:
            kept = planner.unremovable.reasons.get(name)
            if name not in planner.unneeded and kept is not None:
                emit("ca.needed", lane, resource="nodes", key=name, why=kept.reason.value)
        self._unneeded = dict.fromkeys(planner.unneeded)
        for one in result.deletions:
            group = self.mind.groups.group_of(one.node)
            of = "" if group is None else group.id
            emit("ca.delete", lane, resource="nodes", key=one.name, group=of, pods=len(one.pods))
