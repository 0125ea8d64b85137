"""The extension points behind the choice of a Node: Reserve, Permit, PreBind, Bind, PostBind, and the way back.

Upstream: pkg/scheduler/framework/runtime/framework.go
Simplified: plugins run one after the other, never in parallel.
"""

from __future__ import annotations

from k8slab.api.objects import Object
from k8slab.scheduler.extender import ExtenderError, Extenders
from k8slab.scheduler.framework import (
    SKIP,
    SUCCESS,
    BindPlugin,
    Code,
    CycleState,
    PermitPlugin,
    PostBindPlugin,
    PreBindPlugin,
    ReservePlugin,
    Status,
    uid_of,
)
from k8slab.scheduler.metrics import SchedulerMetrics, counted, counted_while_waiting
from k8slab.scheduler.verdicts import name_of, not_success_at
from k8slab.scheduler.waiting_pods import WaitingPod
from k8slab.sim.loop import Loop

__all__ = ["PlacementPoints"]

MAX_PERMIT_TIMEOUT_MS = 15 * 60 * 1_000
"""A Permit plugin that asks for more gets this."""


class PlacementPoints:
    """The second half of a `Framework`: what happens to a Pod that has a Node.

    A base class with one heir, and no mechanism of its own: upstream's frameworkImpl has all points in one file, which
    would be too long to read here. It has no state; the attributes below are those that `Framework` sets.
    """

    profile_name: str
    metrics: SchedulerMetrics
    extenders: Extenders
    reserve_plugins: list[ReservePlugin]
    permit_plugins: list[PermitPlugin]
    pre_bind_plugins: list[PreBindPlugin]
    bind_plugins: list[BindPlugin]
    post_bind_plugins: list[PostBindPlugin]
    _loop: Loop | None
    _waiting: dict[str, WaitingPod]

    @counted("Reserve")
    def run_reserve(self, state: CycleState, pod: Object, node_name: str) -> Status:
        """SUCCESS, a rejection, or Error for all other codes; the plugins after it are not asked."""
        for plugin in self.reserve_plugins:
            status = plugin.reserve(state, pod, node_name)
            self.metrics.ran("Reserve", name_of(plugin), status)
            if not status.is_success:
                return not_success_at("Reserve", status, name_of(plugin))
        return SUCCESS

    def run_unreserve(self, state: CycleState, pod: Object, node_name: str) -> None:
        """Undo, last plugin first."""
        for plugin in reversed(self.reserve_plugins):
            plugin.unreserve(state, pod, node_name)
            self.metrics.ran("Unreserve", name_of(plugin), SUCCESS)
        self.metrics.framework_extension_point_duration.observe(0, "Unreserve", Code.SUCCESS, self.profile_name)

    @counted("Permit")
    def ask_permit(self, state: CycleState, pod: Object, node_name: str) -> tuple[Status, dict[str, int]]:
        """SUCCESS, a rejection, or Wait, and who wants to wait for how many ms. Nothing waits yet."""
        timeouts: dict[str, int] = {}
        for plugin in self.permit_plugins:
            status, timeout_ms = plugin.permit(state, pod, node_name)
            name = name_of(plugin)
            self.metrics.ran("Permit", name, status)
            if status.is_wait:
                timeouts[name] = min(timeout_ms, MAX_PERMIT_TIMEOUT_MS)
            elif not status.is_success:
                return not_success_at("Permit", status, name).with_plugin(name), {}
        if not timeouts:
            return SUCCESS, {}
        name = pod["metadata"]["name"]
        text = f'one or more plugins asked to wait and no plugin rejected pod "{name}"'
        return Status(Code.WAIT, text), timeouts

    def run_permit(self, state: CycleState, pod: Object, node_name: str) -> Status:
        """SUCCESS, a rejection, or Wait: then `wait_on_permit` must be awaited before binding."""
        status, timeouts = self.ask_permit(state, pod, node_name)
        if status.is_wait:
            if self._loop is None:
                raise ValueError("loop: None, expected a Loop, since a Permit plugin makes the Pod wait")
            self._waiting[uid_of(pod)] = WaitingPod(self._loop, pod, timeouts)
        return status

    # -- binding cycle -----------------------------------------------------------------------------

    async def wait_on_permit(self, pod: Object) -> Status:
        """The end of the wait that `run_permit` began; SUCCESS at once when there is none."""
        waiting = self._waiting.get(uid_of(pod))
        if waiting is None:
            return SUCCESS
        began_ms = self.now_ms
        status = await waiting.wait()
        self._waiting.pop(uid_of(pod), None)
        self.metrics.permit_wait_duration.observe(self.now_ms - began_ms, status.code)
        return status

    @property
    def now_ms(self) -> int:
        """Virtual time; 0 without a loop."""
        return self._loop.clock.now_ms if self._loop is not None else 0

    @counted("PreBindPreFlight")
    def run_pre_bind_pre_flights(self, state: CycleState, pod: Object, node_name: str) -> Status:
        """SUCCESS when some PreBind plugin has work to do for this Pod, SKIP when none has, or Error.

        Plugins that say Skip sit `run_pre_bind` out. Only Success, Skip and Error are allowed.
        """
        skip: list[str] = []
        verdict = SKIP
        for plugin in self.pre_bind_plugins:
            status, name = plugin.pre_bind_pre_flight(state, pod, node_name), name_of(plugin)
            self.metrics.ran("PreBindPreFlight", name, status)
            if status.is_success:
                verdict = SUCCESS
            elif status.is_skip:
                skip.append(name)
            elif status.code is Code.ERROR:
                return Status(Code.ERROR, f'running PreBindPreFlight "{name}": {status.message}')
            else:
                allowed = "It is supposed to return Success, Skip, or Error status"
                text = f'PreBindPreFlight {name} returned "{status.code}", which is unsupported. {allowed}'
                return Status(Code.ERROR, text)
        state.skip_pre_bind = frozenset(skip)
        return verdict

    @counted_while_waiting("PreBind")
    async def run_pre_bind(self, state: CycleState, pod: Object, node_name: str) -> Status:
        """SUCCESS, a rejection, or Error for all other codes."""
        for plugin in self.pre_bind_plugins:
            name = name_of(plugin)
            if name in state.skip_pre_bind:
                continue
            began_ms = self.now_ms
            status = await plugin.pre_bind(state, pod, node_name)
            self.metrics.ran("PreBind", name, status, self.now_ms - began_ms)
            if not status.is_success:
                return not_success_at("PreBind", status, name)
        return SUCCESS

    @counted_while_waiting("Bind")
    async def run_bind(self, state: CycleState, pod: Object, node_name: str) -> Status:
        """The extender that binds is asked first; otherwise the verdict of the first Bind plugin that does not skip."""
        try:
            if await self.extenders.bind(pod, node_name):
                return SUCCESS
        except ExtenderError as error:
            return Status(Code.ERROR, str(error))
        for plugin in self.bind_plugins:
            began_ms = self.now_ms
            status = await plugin.bind(state, pod, node_name)
            self.metrics.ran("Bind", name_of(plugin), status, self.now_ms - began_ms)
            if status.is_skip:
                continue
            if status.is_success:
                return SUCCESS
            return not_success_at("Bind", status, name_of(plugin))
        return SKIP

    def run_post_bind(self, state: CycleState, pod: Object, node_name: str) -> None:
        for plugin in self.post_bind_plugins:
            plugin.post_bind(state, pod, node_name)
            self.metrics.ran("PostBind", name_of(plugin), SUCCESS)
        self.metrics.framework_extension_point_duration.observe(0, "PostBind", Code.SUCCESS, self.profile_name)
