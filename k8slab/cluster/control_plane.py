"""etcd, API servers, controller manager and scheduler, wired together.

This is the only place that constructs them; they know each other through Protocols.

Upstream: cmd/kube-apiserver, cmd/kube-controller-manager, cmd/kube-scheduler (their app packages)
Simplified: one controller manager, and no leader election; all API servers ask the same member of etcd; the quota
    controller starts with the first ResourceQuota.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from k8slab.api.features import FeatureGates
from k8slab.api.manifests import Manifest
from k8slab.api.names import is_dns1123_label
from k8slab.api.objects import Object
from k8slab.api.scheme import GVK, ResourceInfo, gvk_of
from k8slab.api.transport import Transport
from k8slab.apiserver import KV, APIServer, Members, SingleMember
from k8slab.apiserver.allocators import ServiceRanges
from k8slab.client import Client, SharedInformerFactory, SimulatedHTTP, fifo_kind
from k8slab.cluster.apply import ApplyError, place_of
from k8slab.cluster.autoscaling import AUTOSCALERS, METRICS_SERVER, metrics_server
from k8slab.cluster.calls import CallPoint, CountedTransport
from k8slab.cluster.definitions import defined_kind
from k8slab.cluster.mirror import Mirror
from k8slab.cluster.node import Machine
from k8slab.cluster.on_demand import AUTOSCALED, ON_DEMAND, FirstObject
from k8slab.cluster.process import Process
from k8slab.controllers import REGISTRY, Controller, ControllerContext
from k8slab.etcd import Applier, EtcdCluster, EtcdError, LoggedRequest, LoggedResponse, Store
from k8slab.scheduler import Explanation, KubeSchedulerConfiguration, Scheduler
from k8slab.scheduler.framework import scheduler_name
from k8slab.sim import Component, LatencyProfile, Loop, Network

__all__ = ["ControlPlane", "ControllerFactory", "SchedulerFactory", "controllers_with", "left_out"]

ControllerFactory: TypeAlias = Callable[[ControllerContext], Controller]
SchedulerFactory: TypeAlias = Callable[..., Scheduler]
"""What takes the arguments of `Scheduler`: the class itself, or a `partial` of it."""


class ControlPlane:
    """The components that every cluster has once. `options`: controller settings by upstream's flag names."""

    def __init__(
        self,
        loop: Loop,
        *,
        latency: LatencyProfile,
        features: FeatureGates,
        network: Network,
        options: Mapping[str, Any],
        apiservers: int = 1,
        etcd: int = 1,
        controllers: Mapping[str, ControllerFactory | None] | None = None,
        scheduler: SchedulerFactory | None = None,
        operators: Mapping[str, ControllerFactory] | None = None,
        scheduler_config: KubeSchedulerConfiguration | None = None,
    ) -> None:
        self._controllers = controllers_with(controllers or {})
        self._autoscalers = {name: build for name, build in AUTOSCALERS.items() if name not in (controllers or {})}
        self._is_autoscaled = False
        self.machines: Mapping[str, Machine] = {}
        definitions = [defined_kind(one) for build in (operators or {}).values() for one in _definitions(build)]
        self.loop = loop
        self.features = features
        self.custom_resources: list[ResourceInfo] = []
        self.options = {**options, "custom-resources": self.custom_resources}
        self.etcd: EtcdCluster | None = None
        self.store = Store()
        self.kv: KV = SingleMember(loop, self.store) if etcd == 1 else self._members(etcd, network)
        self.http = SimulatedHTTP(loop)
        common: dict[str, Any] = {"features": features, "latency": latency, "network": network, "http": self.http}
        common["services"] = ServiceRanges.of_flags(options)
        self.servers = [APIServer(loop, self.kv, name=f"apiserver/{n}", **common) for n in range(apiservers)]
        self.mirror = Mirror(self.store, self.server.layout, self.server.codec.decode)
        self._first = FirstObject(self.store, self.server.layout, self._start_late)
        self._context: ControllerContext | None = None
        self.call_points: dict[str, CallPoint] = {}
        self._build_scheduler = scheduler or Scheduler
        self._of_scheduler: dict[str, Any] = {"config": scheduler_config} if scheduler_config is not None else {}
        self.manager = Process(loop, "kcm", self._start_controllers)
        self.scheduler = Process(loop, "scheduler", self._start_scheduler)
        self.more_schedulers: dict[str, Process] = {}
        for kind in definitions:
            self.serve_foreign(*kind)
        self.operators = {name: self._operator(name, build) for name, build in (operators or {}).items()}

    def _members(self, count: int, network: Network) -> KV:
        """Several members of etcd, and `store` as a witness that applies what they agree on."""
        etcd = self.etcd = EtcdCluster(count, loop=self.loop, network=network)
        witness = Applier(store=self.store)
        members = Members(self.loop, etcd)
        members.tell_commits()

        def witnessed(request: LoggedRequest, _: LoggedResponse | EtcdError) -> None:
            witness.try_apply(request)

        etcd.on_applied.append(witnessed)
        return members

    @property
    def server(self) -> APIServer:
        """The API server that clients use unless told otherwise."""
        return self.servers[0]

    def serve_manifests(self, manifests: Sequence[Manifest]) -> None:
        """Serve the kinds that CustomResourceDefinitions among them define, then those of foreign groups that none did.

        ApplyError for a definition that defines nothing; then nothing is served.
        """
        kinds, problems = [], []
        for manifest in manifests:
            if gvk_of(manifest.object).kind == "CustomResourceDefinition":
                try:
                    kinds.append(defined_kind(manifest.object))
                except ValueError as error:
                    problems.append(f"{place_of(manifest)}: {error}")
        if problems:
            raise ApplyError(problems)
        for kind in kinds:
            self.serve_foreign(*kind)
        for manifest in manifests:
            if not manifest.is_builtin:
                self.serve_foreign(gvk_of(manifest.object))

    def autoscale(self) -> None:
        """Start what HorizontalPodAutoscalers need, once: their controller, and (with nodes) a metrics server."""
        if self._is_autoscaled:
            return
        self._is_autoscaled = True
        if self.manager.program is not None and self._context is not None:
            self._start_autoscalers(self._context, self.manager.program)
        if self.machines and METRICS_SERVER not in self.operators:
            from k8slab.cluster.container_usage import ContainerUsage

            self.operators[METRICS_SERVER] = metrics_server(self, ContainerUsage(self.machines, self.mirror))
            self.operators[METRICS_SERVER].start()

    def _start_autoscalers(self, context: ControllerContext, controllers: dict[str, Any]) -> None:
        found = {name: build(context) for name, build in self._autoscalers.items()}
        controllers |= found
        context.informers.start()
        for controller in found.values():
            controller.start()

    def serve_foreign(self, gvk: GVK, plural: str = "", namespaced: bool = True, has_status: bool = True) -> None:
        """Store a kind of a foreign group, as its CustomResourceDefinition would have it; collect and empty it too."""
        infos = [
            server.register_unstructured(gvk, plural, namespaced, has_status=has_status) for server in self.servers
        ]
        if infos[0] in self.custom_resources:
            return
        self.custom_resources.append(infos[0])
        for controller in (self.manager.program or {}).values():
            monitor = getattr(controller, "monitor", None)
            if monitor is not None:
                monitor(infos[0])

    def client(self, name: str, user: str, server: int = 0) -> Client:
        """A client of the process `name`, whose calls are counted."""
        transport: Transport = self.servers[server].transport(name, user=user)
        point = self.call_points.setdefault(name, CallPoint())
        return Client(CountedTransport(self.loop, transport, point))

    def _operator(self, name: str, build: ControllerFactory) -> Process:
        """A process of its own around one controller."""
        return Process(self.loop, name, lambda component: self._start_operator(component, build))

    def _start_operator(self, component: Component, build: ControllerFactory) -> Controller:
        client = self.client(component.name, f"system:serviceaccount:kube-system:{component.name}")
        informers = SharedInformerFactory(self.loop, component, client, fifo=fifo_kind(self.features))
        controller = build(ControllerContext(self.loop, component, client, informers, self.features, self.options))
        informers.start()
        controller.start()
        return controller

    def _start_controllers(self, component: Component) -> dict[str, Any]:
        client = self.client("kcm", "system:kube-controller-manager")
        informers = SharedInformerFactory(self.loop, component, client, fifo=fifo_kind(self.features))
        context = ControllerContext(self.loop, component, client, informers, self.features, self.options)
        self._context = context
        late = [name for name in ON_DEMAND if name not in self._first.wanted]
        wanted = {name: build for name, build in self._controllers.items() if name not in late}
        controllers: dict[str, Any] = {name: build(context) for name, build in wanted.items()}
        informers.start()
        for controller in controllers.values():
            controller.start()
        if self._is_autoscaled:
            self._start_autoscalers(context, controllers)
        return controllers

    def _start_late(self, name: str) -> None:
        """One of `ON_DEMAND` or `AUTOSCALED` is needed now; a manager that is down starts it with the others."""
        if name in AUTOSCALED:
            self.autoscale()
            return
        build, context = self._controllers.get(name), self._context
        if build is not None and context is not None and self.manager.is_alive:
            controller = self.manager.program[name] = build(context)
            context.informers.start()
            controller.start()

    def add_scheduler(self, name: str, **options: Any) -> Process:
        """Start one more scheduler, `schedulers/NAME`. `options`: as of `Scheduler`. It knows nothing of the others."""
        if not isinstance(name, str) or is_dns1123_label(name):
            raise ValueError(f"name {name!r}: expected a DNS label, such as gpu")
        if name in self.more_schedulers:
            raise ValueError(f"name {name!r}: a scheduler of this name is there already")
        process = Process(
            self.loop, f"schedulers/{name}", lambda component: self._start_scheduler(component, **options)
        )
        process.start()
        self.more_schedulers[name] = process
        return process

    def scheduler_of(self, pod: Object) -> Scheduler | None:
        """A scheduler that runs and has the Pod's `spec.schedulerName` among its profiles."""
        name = scheduler_name(pod)
        programs = [process.program for process in (self.scheduler, *self.more_schedulers.values())]
        return next((program for program in programs if program is not None and name in program.frameworks), None)

    def explain_placement(self, pod: Object) -> Explanation:
        """What the Pod's scheduler says of every node. ValueError when it is down, or nobody has the name."""
        scheduler = self.scheduler_of(pod)
        if scheduler is None:
            name = scheduler_name(pod)
            raise ValueError(f"the scheduler is down: nobody can say where the Pod would go, no {name} runs")
        return scheduler.explain(pod)

    def _start_scheduler(self, component: Component, **options: Any) -> Scheduler:
        client = self.client(component.name, "system:kube-scheduler")
        informers = SharedInformerFactory(self.loop, component, client, fifo=fifo_kind(self.features))
        options = {"http": self.http, **options}
        if component.name == self.scheduler.name:
            options |= self._of_scheduler
        scheduler = self._build_scheduler(self.loop, component, client, informers, features=self.features, **options)
        informers.start()
        scheduler.start()
        return scheduler


def _definitions(build: ControllerFactory) -> Sequence[Object]:
    """The CustomResourceDefinitions that an operator brings along: served from the start."""
    maker = build.func if isinstance(build, partial) else build
    found: Sequence[Object] = getattr(maker, "definitions", ())
    return found


def left_out(etcd: int) -> tuple[str, ...]:
    """Kinds of events that a trace leaves out: what recurs for ever, such as the heartbeats of several etcd members."""
    details = ("raft.send", "raft.receive", "raft.append", "raft.apply", "raft.commit")
    return ("lease.renew", "admission.stage", *(details if etcd > 1 else ()))


def controllers_with(changed: Mapping[str, ControllerFactory | None]) -> dict[str, ControllerFactory]:
    """The controllers to run: upstream's, some replaced, some (None) left out. Autoscalers only if they are named."""
    known = (*REGISTRY, *AUTOSCALERS)
    for name in changed:
        if name not in known:
            raise ValueError(f"controllers: {name!r}: expected one of {', '.join(known)}")
    chosen = {name: changed.get(name, REGISTRY.get(name)) for name in known}
    return {name: factory for name, factory in chosen.items() if factory is not None}
