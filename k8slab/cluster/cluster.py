"""The simulated cluster: the face that chapters, the command line and tests use.

>>> cluster = Cluster(nodes=3, seed=7)
>>> _ = cluster.apply(\"\"\"
... apiVersion: apps/v1
... kind: Deployment
... metadata: {name: web}
... spec:
...   replicas: 3
...   selector: {matchLabels: {app: web}}
...   template:
...     metadata: {labels: {app: web}}
...     spec: {containers: [{name: c, image: "nginx:1.27"}]}
... \"\"\")
>>> cluster.run(until=cluster.all_ready, for_ms=60_000)
True
>>> cluster.ready("deploy/web")
True
>>> cluster.close()

Commands (`apply`, `delete`, faults) are inputs: they are recorded with the action and the moment they came at, so
that a run can be replayed, forked and shared.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from k8slab.api.errors import StatusError
from k8slab.api.features import FeatureGates
from k8slab.api.manifests import Manifest
from k8slab.api.objects import Object, thaw
from k8slab.api.scheme import NAMESPACES, PODS, SCHEME
from k8slab.client import SimulatedHTTP
from k8slab.cluster.apply import ApplyError, ApplyResult, apply_manifests, references
from k8slab.cluster.control_plane import ControllerFactory, ControlPlane, SchedulerFactory, left_out
from k8slab.cluster.explain import Explanation, Why, explain, verdict_lines, why
from k8slab.cluster.faults import Faults
from k8slab.cluster.inputs import check_arguments, checked_patch, scheduler_configuration, scheduler_options
from k8slab.cluster.node import Machine, node_configs
from k8slab.cluster.on_request import karpenter_for, node_autoscaling_for, pod_networks_for
from k8slab.cluster.readiness import is_ready, not_ready, not_up
from k8slab.cluster.recorded import as_recorded, blank_recording, cluster_arguments, own_code
from k8slab.cluster.references import Reference, parse_reference
from k8slab.cluster.rehearsal import rehearse
from k8slab.cluster.sources import load
from k8slab.kubelet import ContainerRuntime, Kubelet, NodeConfig, Timings
from k8slab.scheduler import Explanation as Placement
from k8slab.scheduler import KubeSchedulerConfiguration
from k8slab.sim import (
    Chosen,
    Component,
    Hold,
    Input,
    LatencyProfile,
    Loop,
    Network,
    Order,
    Recording,
    Trace,
    latency_profile,
    order_of,
)
from k8slab.sim.clock import Clock
from k8slab.sim.collector import rare_collections

if TYPE_CHECKING:
    from k8slab.cluster.karpenter import KarpenterConfig
    from k8slab.cluster.node_autoscaling import ClusterAutoscalerConfig
    from k8slab.table import Table

__all__ = ["Cluster"]

_BOOT_MS = 120_000


class Cluster:
    """A control plane and some nodes, on one virtual clock, from one seed.

    `nodes`: how many, or a list of `NodeConfig`. `latency`: "lan", "none", "slow-watch" or a `LatencyProfile`.
    `order`: "fifo", "shuffle", "priority", or any `Order`. `release`: which Kubernetes decides the feature gates,
    `gates` overrides single ones. `options`: controller settings by upstream's flag names. `etcd`: how many members,
    which with more than one agree by Raft. `trace` False records nothing. `controllers` replaces controllers by
    upstream's name, or (None) leaves them out: a wrong variant, your own. `scheduler`: what builds the scheduler
    (`partial(Scheduler, registry=...)`); `scheduler_config`: a KubeSchedulerConfiguration, also as YAML. `operators`:
    controllers of your own, each a process of that name. `cluster_autoscaler`: node groups on a simulated cloud, and
    the autoscaler that grows and shrinks them; `karpenter`: NodePools instead, and nodes to measure. `cni`: "bridge",
    or a network configuration list: Pods get their network from plugins, on `fabric`. The constructor returns when all
    nodes are Ready.
    """

    _is_closed = False
    _waits_for = ("", "")  # the place in `_applied` that was not ready when `all_ready` last asked

    def __init__(
        self,
        nodes: int | Sequence[NodeConfig] = 3,
        seed: int | str = 7,
        *,
        latency: str | LatencyProfile = "lan",
        order: str | Order = "fifo",
        release: str = "1.36",
        gates: Mapping[str, bool] | None = None,
        options: Mapping[str, Any] | None = None,
        timings: Timings | None = None,
        apiservers: int = 1,
        etcd: int = 1,
        trace: bool = True,
        choices: Mapping[int, int] | None = None,
        holds: Sequence[Hold] = (),
        controllers: Mapping[str, ControllerFactory | None] | None = None,
        scheduler: SchedulerFactory | None = None,
        operators: Mapping[str, ControllerFactory] | None = None,
        scheduler_config: str | Object | KubeSchedulerConfiguration | None = None,
        cluster_autoscaler: ClusterAutoscalerConfig | None = None,
        karpenter: KarpenterConfig | None = None,
        cni: str | Object | None = None,
    ) -> None:
        own: dict[str, Any] = {"controllers": controllers, "scheduler": scheduler, "operators": operators}
        chosen: dict[str, Any] = {"options": options, "choices": choices, "holds": holds}
        check_arguments(nodes, seed, release, apiservers, etcd, order, **chosen, **own)
        configs, profile = node_configs(nodes), latency_profile(latency)
        counts: dict[str, Any] = {"apiservers": apiservers, "etcd": etcd}
        plain = {"release": release, "gates": dict(gates or {}), "options": dict(options or {}), **counts}
        self.timings, self.features = timings or Timings(), FeatureGates(release, overrides=gates)
        self._recording = blank_recording(
            nodes=nodes if isinstance(nodes, int) else configs,
            seed=seed,
            latency=profile,
            order=order if isinstance(order, str) else "fifo",
            timings=self.timings,
            choices=choices,
            holds=holds,
            **plain,
            **(kept := as_recorded(scheduler_config=scheduler_config, cni=cni)),
        )
        self._is_closed, self._inputs = False, list[Input]()
        own["scheduler_config"] = scheduler_configuration(scheduler_config, self.features)
        mine = {"karpenter": karpenter, **{name: one for name, one in own.items() if name not in kept}}
        self._not_recorded = own_code(order=order, cluster_autoscaler=cluster_autoscaler, **mine)
        who_next = order_of(self._recording) if isinstance(order, str) else order
        self.loop = Loop(seed, order=who_next, trace=Trace(Clock(), on=trace, without=left_out(etcd)))
        self.fabric, self.networks = pod_networks_for(self.loop, configs, cni, options, lambda: self.mirror)
        self.network = Network(self.loop)
        self.node_autoscaling = node_autoscaling_for(self.loop, cluster_autoscaler, own, cni)
        self.karpenter = karpenter_for(self.loop, karpenter, own, cni, cluster_autoscaler)
        given: dict[str, Any] = {"network": self.network, "options": options or {}, **counts, **own}
        self.control_plane = ControlPlane(self.loop, latency=profile, features=self.features, **given)
        self.mirror, self.you = self.control_plane.mirror, Component(self.loop, "you")
        self._client = self.control_plane.client("you", "kubernetes-admin")
        self.nodes = {config.name: self._machine(config) for config in configs}
        self._faults = Faults(self.control_plane, self.nodes, self.network, self.you.name)
        self._applied: dict[tuple[str, str], Reference] = {}
        self._boot()

    def __repr__(self) -> str:
        waiting = len(self.not_ready())
        state = f"{waiting} not ready" if waiting else "all ready"
        what = f"{len(self.nodes)} nodes, seed {self._recording.seed}, t={self.now_ms} ms, {len(self._applied)} applied"
        return f"<Cluster {what}, {state}{', closed' if self._is_closed else ''}>"

    # -- starting ----------------------------------------------------------------------------------

    def _machine(self, config: NodeConfig) -> Machine:
        return Machine(self.loop, config, self.timings, self._start_kubelet, self.networks.get(config.name))

    def _start_kubelet(self, component: Component, runtime: ContainerRuntime) -> Kubelet:
        client = self.control_plane.client(component.name, f"system:node:{runtime.node.name}")
        kubelet = Kubelet(self.loop, component, client, runtime)
        kubelet.start()
        return kubelet

    def _boot(self) -> None:
        try:
            self._start_programs()
        except Exception:  # a program of the caller's that cannot be built: the others must not be left half begun
            self.loop.close()
            raise
        if not self.loop.run(until=self._is_up, for_ms=_BOOT_MS):
            raise RuntimeError(f"the cluster did not come up within {_BOOT_MS} ms: {self._not_up()}")
        self.started_action, self.started_seq = self.loop.actions, len(self.trace)

    def _start_programs(self) -> None:
        self.control_plane.machines = self.nodes
        self.control_plane.manager.start()
        self.control_plane.scheduler.start()
        for operator in self.control_plane.operators.values():
            operator.start()
        for machine in self.nodes.values():
            machine.kubelet.start()
        for autoscaling in (self.node_autoscaling, self.karpenter):
            if autoscaling is not None:
                autoscaling.start(self.nodes, self._machine, self.control_plane)

    def _is_up(self) -> bool:
        return not self._not_up()

    def _not_up(self) -> str:
        tainted = {name for name, machine in self.nodes.items() if machine.config.taints}
        return not_up(self.mirror, list(self.nodes), tainted)

    # -- commands ----------------------------------------------------------------------------------

    def apply(
        self,
        source: str | Path | Object | Iterable[Object],
        *,
        namespace: str = "default",
        keep_going: bool = False,
        wait: bool = True,
    ) -> ApplyResult:
        """Apply manifests: YAML or JSON text, a path to a file or a folder, an object, or several.

        All or nothing unless `keep_going`: ManifestError or ApplyError say what is wrong, and nothing was written.
        `wait` False only sends the first request: step or run to see the rest.
        """
        return self.apply_loaded(
            load(source, self.control_plane.server.scheme), namespace=namespace, keep_going=keep_going, wait=wait
        )

    def apply_loaded(
        self, manifests: Sequence[Manifest], *, namespace: str = "default", keep_going: bool = False, wait: bool = True
    ) -> ApplyResult:
        """`apply` for manifests that were loaded before (from several files, say)."""
        self._check_open()
        self.control_plane.serve_manifests(manifests)
        objects = [thaw(m.object) for m in manifests]
        how = {"namespace": namespace, "keep_going": keep_going, "wait": wait}
        self._input("apply", {"objects": objects, **how})
        scheme = self.control_plane.server.scheme
        job = apply_manifests(
            self._client,
            scheme,
            manifests,
            namespace=namespace,
            keep_going=keep_going,
            trace=self.loop.trace,
            rehearse=lambda targets: rehearse(targets, self.mirror, self.features),
        )
        if not wait:
            self._expect(references(scheme, manifests, namespace))
            self.you.spawn("apply", job)
            return ApplyResult(())
        result: ApplyResult = self._do(job)
        self._expect(Reference(one.info, one.namespace, one.name) for one in result.applied)
        return result

    def _expect(self, wanted: Iterable[Reference]) -> None:
        """`all_ready` speaks of these from now on."""
        for reference in wanted:
            self._applied[(reference.info.gvr.group_resource, reference.key)] = reference

    def delete(
        self,
        reference: str,
        *,
        namespace: str = "default",
        propagation: str = "Background",
        grace_period_seconds: int | None = None,
    ) -> None:
        """Delete one object (`deploy/web`), as kubectl does. NotFoundError when there is none."""
        target = self._reference(reference, namespace)
        self._input(
            "delete",
            {
                "reference": reference,
                "namespace": namespace,
                "propagation": propagation,
                "grace_period_seconds": grace_period_seconds,
            },
        )
        options: dict[str, Any] = {"propagation_policy": propagation}
        if grace_period_seconds is not None:
            options["grace_period_seconds"] = grace_period_seconds
        self._do(self._client.delete(target.info.gvr, target.name, target.namespace, **options))
        self._forget(target)

    def _forget(self, deleted: Reference) -> None:
        """`all_ready` does not speak of this any more, nor of what is in it if it is a namespace."""
        self._applied.pop((deleted.info.gvr.group_resource, deleted.key), None)
        if deleted.info.gvr == NAMESPACES:
            self._applied = {place: ref for place, ref in self._applied.items() if ref.namespace != deleted.name}

    def patch(self, reference: str, patch: Object, *, namespace: str = "default", subresource: str = "") -> Object:
        """A strategic merge patch (merge patch where the kind has no schema). Returns the object, thawed."""
        from k8slab.api.transport import MERGE_PATCH, STRATEGIC_MERGE_PATCH

        target = self._reference(reference, namespace)
        patch = checked_patch(patch)
        args = {"reference": reference, "patch": patch, "namespace": namespace, "subresource": subresource}
        self._input("patch", args)
        kind = STRATEGIC_MERGE_PATCH if target.info.gvk in SCHEME else MERGE_PATCH
        gvr, name, home = target.info.gvr, target.name, target.namespace
        job = self._client.patch(gvr, name, patch, home, patch_type=kind, subresource=subresource)
        return thaw(self._do(job))  # type: ignore[no-any-return]

    def scale(self, reference: str, replicas: int, *, namespace: str = "default") -> None:
        """Set spec.replicas through the scale subresource."""
        self.patch(reference, {"spec": {"replicas": replicas}}, namespace=namespace, subresource="scale")

    # -- faults ------------------------------------------------------------------------------------

    def fail_node(self, name: str) -> None:
        """Cut the power of a node: its kubelet and containers stop, nobody says goodbye."""
        self._carry_out("fail_node", name=name)

    def restore_node(self, name: str) -> None:
        """Power a node on again."""
        self._carry_out("restore_node", name=name)

    def partition(self, component: str, *others: str) -> None:
        """Cut the network between `component` (`kubelet/node-1`, `kcm`) and `others` (the API servers). A
        prefix means all of them: `kubelet`."""
        self._carry_out("partition", component=component, others=list(others))

    def heal(self) -> None:
        """Remove every partition."""
        self._carry_out("heal")

    def slow_watch(self, component: str, delay_ms: int) -> None:
        """Delay every watch event to `component` by `delay_ms` more (0: as before)."""
        self._carry_out("slow_watch", component=component, delay_ms=delay_ms)

    def crash(self, component: str, *, before_call: int | None = None, restart_after_ms: int | None = 1_000) -> None:
        """Kill a process (`kcm`, `scheduler`, `kubelet/node-1`): now, or instead of its `before_call`-th next API
        call. It starts again after `restart_after_ms` (None: stays down)."""
        self._carry_out("crash", component=component, before_call=before_call, restart_after_ms=restart_after_ms)

    def restart(self, component: str) -> None:
        """Start a process that is down."""
        self._carry_out("restart", component=component)

    def _carry_out(self, fault: str, **args: Any) -> None:
        deed = getattr(self._faults, fault)(**args)
        self._input(fault, args)
        deed()

    # -- more programs -----------------------------------------------------------------------------

    @property
    def http(self) -> SimulatedHTTP:
        """Where extenders and webhooks are found: `http.serve(url_prefix, handler, delay_ms=20)`."""
        return self.control_plane.http

    def add_scheduler(self, name: str, **options: Any) -> None:
        """Start one more scheduler as the process `schedulers/NAME`, with `options` of `Scheduler`: config (or YAML, or
        an object), profiles, registry, extenders (or objects). It knows nothing of the others. A run with such a
        scheduler cannot be recorded."""
        self._check_open()
        self.control_plane.add_scheduler(name, **scheduler_options(options, self.features))
        self._not_recorded.append("add_scheduler")

    # -- running -----------------------------------------------------------------------------------

    def run(self, *, until: Callable[[], bool] | None = None, for_ms: int | None = None) -> bool:
        """Let time pass: until a condition over the store holds, or for some time (then until is allowed to fail).

        Without either: until every applied object is ready, for at most 300 s. Returns whether the condition holds.
        """
        if until is None and for_ms is None:
            until, for_ms = self.all_ready, 300_000
        self._check_open()
        return self.loop.run(until=until, for_ms=for_ms)

    def step(self) -> bool:
        """One action of one component. False when nothing is left to do."""
        self._check_open()
        return self.loop.step()

    def step_ready(self, index: int) -> bool:
        """One action of the task that stands at `index` in `loop.ready`: a choice, recorded like a command."""
        ready = self.loop.ready
        if not 0 <= index < len(ready):
            raise ValueError(f"index {index}: expected 0 to {len(ready) - 1}, so many tasks are ready")
        self._input("step_ready", {"index": index})
        usual, self.loop.order = self.loop.order, Chosen(ready[index])
        try:
            return self.loop.step()
        finally:
            self.loop.order = usual

    @property
    def now_ms(self) -> int:
        """Virtual milliseconds since the start."""
        return self.loop.clock.now_ms

    @property
    def trace(self) -> Trace:
        return self.loop.trace

    # -- looking -----------------------------------------------------------------------------------

    def get(
        self, resource: str, *, namespace: str = "default", all_namespaces: bool = False, wide: bool = False
    ) -> Table:
        """A table as `kubectl get` prints it: `pods`, `deploy`, `pod/web-0`, `events`."""
        from k8slab.cluster.tables import table_of  # only where tables are made: import k8slab stays quick

        scheme = self.control_plane.server.scheme
        home = "" if all_namespaces else namespace
        return table_of(scheme, self.mirror, resource, self.now_ms, namespace=home, wide=wide)

    def object(self, reference: str, *, namespace: str = "default") -> dict[str, Any]:
        """One object as the store has it, yours to change. KeyError when there is none."""
        target = self._reference(reference, namespace)
        found = self.mirror.get(target.info.gvr.group_resource, target.key)
        if found is None:
            raise KeyError(f"{target.info.gvr.group_resource} {target.key!r} does not exist")
        return thaw(found)  # type: ignore[no-any-return]

    def objects(self, resource: str, *, namespace: str = "") -> list[dict[str, Any]]:
        """All objects of a resource (of one namespace), yours to change."""
        info = self.control_plane.server.scheme.find(resource)
        return [thaw(o) for o in self.mirror.list(info.gvr.group_resource, namespace)]

    def events(self, *, namespace: str = "") -> Table:
        """The Events recorded so far, oldest first."""
        from k8slab.cluster.tables import events_table

        return events_table(self.mirror.list("events", namespace))

    def explain(self, reference: str, *, namespace: str = "default") -> Explanation:
        """What state an object is in, and why; of a Pod without a node, what each node says to it. KeyError when it
        does not exist."""
        target = self._reference(reference, namespace)
        pod = self.mirror.get(target.info.gvr.group_resource, target.key)
        is_waiting = pod is not None and target.info.gvr == PODS and not pod["spec"].get("nodeName")
        verdicts = []
        if pod is not None and is_waiting and self.control_plane.scheduler_of(pod) is not None:
            verdicts = verdict_lines(self.explain_placement(reference, namespace=namespace))
        return explain(target, self.mirror, verdicts)

    def explain_placement(self, reference: str, *, namespace: str = "default") -> Placement:
        """Every scheduler plugin's verdict and score for a Pod on every node, as the cluster is now.

        KeyError when there is no such Pod, ValueError for another kind or when the Pod's scheduler is down.
        """
        target = self._reference(reference, namespace)
        if target.info.gvr != PODS:
            raise ValueError(f"reference {reference!r}: expected a Pod")
        pod = self.mirror.get(PODS.group_resource, target.key)
        if pod is None:
            raise KeyError(f"pods {target.key!r} does not exist")
        return self.control_plane.explain_placement(pod)

    def why(self, reference: str, *, namespace: str = "default") -> Why:
        """The chain of causes behind the last main step about an object (what somebody decided about it, not each
        status that was written since), first cause first."""
        target = self._reference(reference, namespace)
        return why(self.trace, target.info.gvr.group_resource, target.key)

    def ready(self, reference: str, *, namespace: str = "default") -> bool:
        """Whether an object exists and is ready."""
        target = self._reference(reference, namespace)
        found = self.mirror.get(target.info.gvr.group_resource, target.key)
        return found is not None and is_ready(found, self.mirror)

    def not_ready(self) -> dict[str, str]:
        """The applied objects that are not ready, with the reason of each."""
        reasons = {}
        for (resource, key), reference in self._applied.items():
            found = self.mirror.get(resource, key)
            reason = "it does not exist" if found is None else not_ready(found, self.mirror)
            if reason:
                reasons[str(reference)] = reason
        return reasons

    def all_ready(self) -> bool:
        """Whether everything that was applied, and that the simulation acts on, is ready."""
        if self._waits_for in self._applied and not self._place_is_ready(self._waits_for):
            return False  # asked after every commit: nearly always it is still the same object that is not ready
        self._waits_for = next((place for place in self._applied if not self._place_is_ready(place)), ("", ""))
        return self._waits_for not in self._applied

    def _place_is_ready(self, place: tuple[str, str]) -> bool:
        found = self.mirror.get(*place)
        return found is not None and is_ready(found, self.mirror)

    # -- recording ---------------------------------------------------------------------------------

    def recording(self) -> Recording:
        """This run so far: what `replay` needs. ValueError when it was built with code of your own."""
        if self._not_recorded:
            raise ValueError(f"{self._not_recorded[0]}: a run with objects of your own cannot be recorded")
        r = self._recording
        here = self.loop.actions, self.now_ms
        return Recording(r.config, r.seed, tuple(self._inputs), r.order, r.choices, r.holds, here)

    def share(self) -> str:
        """This run so far as one line of text, with which `Cluster.replay` comes to the same place elsewhere."""
        return self.recording().share()

    @classmethod
    def replay(cls, recording: Recording | str, *, to_action: int | None = None) -> Cluster:
        """Run a recording again, up to `to_action` (default: where it stood). What comes after is yours."""
        if isinstance(recording, str):
            recording = Recording.load(recording)
        if not isinstance(recording, Recording):
            raise TypeError(f"recording: {recording!r}: expected a Recording or the text that `share` wrote")
        cluster = cls(**cluster_arguments(recording))
        for given in recording.inputs:
            if to_action is not None and given.action > to_action:
                break
            cluster._run_to(given.action, given.now_ms)
            with suppress(ApplyError, StatusError, TimeoutError):  # what was refused then is refused again
                cluster._repeat(given)
        if to_action is not None:
            cluster._run_to(to_action, None)
        elif recording.at is not None:
            cluster._run_to(*recording.at)
        return cluster

    def fork(self, action: int) -> Cluster:
        """A second cluster that went through the same up to `action`, and may go on differently."""
        return self.replay(self.recording(), to_action=action)

    def close(self) -> None:
        """Stop everything; the trace and the objects stay readable."""
        self._is_closed = True
        self.loop.close()

    # -- pictures ----------------------------------------------------------------------------------

    def view(self) -> dict[str, Any]:
        """The state to show: objects by `Kind/namespace/name`, and who may act next."""
        objects: dict[str, Any] = {}
        for resource in self.mirror.resources():
            if resource in _HIDDEN:
                continue
            for key, obj in self.mirror.items(resource):
                objects[f"{obj.get('kind', resource)}/{key}"] = obj
        return {"objects": objects, "ready": {task.name: True for task in self.loop.ready}}

    # -- inside ------------------------------------------------------------------------------------

    def _do(self, job: Coroutine[Any, Any, Any]) -> Any:
        """Run the loop until `job` is done, and return its result or raise its error."""
        outcome: dict[str, Any] = {}

        async def wrapped() -> None:
            try:
                outcome["result"] = await job
            except Exception as error:  # handed to the caller, below
                outcome["error"] = error

        task = self.you.spawn("kubectl", wrapped())
        with rare_collections():
            while not task.done:
                if not self.loop.step():
                    raise RuntimeError("the simulation has nothing left to do, and the command is not answered")
        if "error" in outcome:
            raise outcome["error"]
        return outcome["result"]

    def _check_open(self) -> None:
        if self._is_closed:
            raise RuntimeError("this cluster is closed: only its trace and its objects can still be read")

    def _input(self, command: str, args: dict[str, Any]) -> None:
        self._check_open()
        self._inputs.append(Input(self.loop.actions, self.now_ms, command, args))

    def _reference(self, text: str, namespace: str) -> Reference:
        return parse_reference(text, namespace, self.control_plane.server.scheme)

    def _run_to(self, action: int, now_ms: int | None) -> None:
        while self.loop.actions < action and self.loop.step():
            pass
        if now_ms is not None and now_ms > self.now_ms:
            self.loop.run(for_ms=now_ms - self.now_ms)

    def _repeat(self, given: Input) -> None:
        args = dict(given.args)
        if given.command == "apply":
            self.apply(args.pop("objects"), **args)
        elif given.command in ("delete", "patch", "step_ready"):
            getattr(self, given.command)(**args)
        elif given.command in _FAULTS:
            self._carry_out(given.command, **args)
        else:
            raise ValueError(f"recording: command {given.command!r} is not known")


_HIDDEN = ("leases.coordination.k8s.io",)
_FAULTS = ("fail_node", "restore_node", "partition", "heal", "slow_watch", "crash", "restart")
