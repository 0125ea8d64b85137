"""The framework at work: instantiates a profile's plugins and runs them point by point.

Upstream: pkg/scheduler/framework/runtime/framework.go
Simplified: plugins run one after the other, never in parallel; no metrics.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.api.transport import HTTPCaller
from k8slab.scheduler.config_extender import Extender
from k8slab.scheduler.extender import EXTENDER, ExtenderError, Extenders, at_once
from k8slab.scheduler.framework import (
    MAX_NODE_SCORE,
    MIN_NODE_SCORE,
    SUCCESS,
    ActionType,
    BindPlugin,
    ClusterEvent,
    ClusterEventWithHint,
    Code,
    Contribution,
    CycleState,
    EnqueueExtensions,
    EventResource,
    FilterPlugin,
    Gates,
    Lister,
    NodeInfo,
    NodeStatuses,
    PermitPlugin,
    Plugin,
    PluginError,
    PodInfo,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterExtensions,
    PreFilterPlugin,
    PreFilterResult,
    PreScorePlugin,
    QueueSortPlugin,
    ReservePlugin,
    ScoreExtensions,
    ScorePlugin,
    SignPlugin,
    Status,
    uid_of,
)
from k8slab.scheduler.listers import ObjectLister
from k8slab.scheduler.nominator import Nominator
from k8slab.scheduler.plugins import REGISTRY
from k8slab.scheduler.profile import Profile, default_plugins, points_of
from k8slab.scheduler.snapshot import Snapshot
from k8slab.scheduler.tally import Tallies, Tally
from k8slab.scheduler.waiting_pods import WaitingPod
from k8slab.sim.loop import Loop

if TYPE_CHECKING:
    from k8slab.scheduler.cycle import ScheduleResult
    from k8slab.scheduler.explain import Explanation

__all__ = ["Factory", "Framework", "WeightedScore"]

_Key = TypeVar("_Key", bound=Hashable)

Factory = Callable[[Mapping[str, Any], Any], Plugin]


class WeightedScore(NamedTuple):
    """One plugin's scores over the feasible Nodes, in their order: raw, and normalised times weight."""

    plugin: str
    raw: list[int]
    weighted: list[int]


class Framework:
    """A profile, ready to run. It is also the `Handle` its plugins are given.

    Use `from_profile`. `loop` is needed only where Permit plugins make Pods wait; `client` only to bind. `lister`:
    Namespaces, Services and owners of Pods that plugins look up; None: there are none. `nominator` may be shared with
    others. Preemption asks `pdbs` (a function) for the disruption budgets and `is_preempting`. `extenders` are asked
    through `http`.
    """

    def __init__(
        self,
        profile: Profile,
        plugins: Mapping[str, Factory],
        *,
        features: Gates,
        client: Any = None,
        lister: Lister | None = None,
        loop: Loop | None = None,
        rng: random.Random | None = None,
        memo: bool = True,
        nominator: Nominator | None = None,
        extenders: Sequence[Extender] = (),
        http: HTTPCaller | None = None,
    ) -> None:
        from k8slab.scheduler.cycle import SchedulingAlgorithm

        self.profile = profile
        self.profile_name = profile.scheduler_name
        self.features = features
        self.client = client
        self.lister: Lister = lister if lister is not None else ObjectLister()
        self.rng = rng or random.Random("scheduler")
        self.nominator = nominator if nominator is not None else Nominator()
        self.pdbs: Callable[[], Sequence[Object]] = lambda: ()
        self.is_preempting: Callable[[str], bool] = lambda uid: False
        self.extenders = Extenders(extenders, http, loop)
        self._loop = loop
        self._snapshot = Snapshot()
        self._tallies = Tallies() if memo else None
        self._waiting: dict[str, WaitingPod] = {}
        self.plugins = self._instantiate(plugins)
        self._weights: dict[str, int] = {}
        self._arrange()
        self.algorithm = SchedulingAlgorithm(self, self.rng, memo=memo)

    @classmethod
    def from_profile(
        cls,
        profile: Profile | Object | None = None,
        *,
        registry: Mapping[str, Factory] | None = None,
        features: Gates | None = None,
        client: Any = None,
        lister: Lister | None = None,
        loop: Loop | None = None,
        rng: random.Random | None = None,
        memo: bool = True,
        nominator: Nominator | None = None,
        extenders: Sequence[Extender] = (),
        http: HTTPCaller | None = None,
    ) -> Framework:
        """A framework for a `Profile`, a profile as a dict, or (None) the default profile of the release.

        `registry`: out-of-tree plugins, name -> class, beside the in-tree ones. Unknown plugins, a second
        QueueSort or none, and no Bind plugin are ValueErrors.
        """
        if not isinstance(profile, Profile):
            profile = Profile.from_dict(profile or {})
        known: dict[str, Factory] = dict(REGISTRY)
        for name, factory in (registry or {}).items():
            if name in known:
                raise ValueError(f"a plugin named {name} already exists")
            known[name] = factory
        gates = features if features is not None else FeatureGates()
        return cls(
            profile,
            known,
            features=gates,
            client=client,
            lister=lister,
            loop=loop,
            rng=rng,
            memo=memo,
            nominator=nominator,
            extenders=extenders,
            http=http,
        )

    def _instantiate(self, known: Mapping[str, Factory]) -> dict[str, Plugin]:
        multi = self.profile.multi_point.merged_into(default_plugins(self.features))
        wanted = dict.fromkeys(name for name, _ in multi)
        for plugin_set in self.profile.points.values():
            wanted.update(dict.fromkeys(name for name, _ in plugin_set.enabled))
        made = {}
        for name in wanted:
            if name not in known:
                raise ValueError(f"profile {self.profile_name}: plugin {name!r} does not exist")
            args = self.profile.plugin_config.get(name, {})
            if name == "NodeResourcesFit" and (ignored := self.extenders.ignored_resources):
                args = {**args, "ignoredResources": ignored}  # in the place of what the configuration says
            made[name] = known[name](args, self)
        for name in self.profile.plugin_config:
            if name not in known:
                raise ValueError(f"pluginConfig: plugin {name!r} does not exist")
        return made

    def _arrange(self) -> None:
        points = points_of(self.profile, self.features, self.plugins)

        def at(point: str) -> list[Any]:
            return [self.plugins[name] for name, _ in points[point]]

        self.pre_enqueue_plugins: list[PreEnqueuePlugin] = at("preEnqueue")
        queue_sort: list[QueueSortPlugin] = at("queueSort")
        self.pre_filter_plugins: list[PreFilterPlugin] = at("preFilter")
        self.filter_plugins: list[FilterPlugin] = at("filter")
        self.post_filter_plugins: list[PostFilterPlugin] = at("postFilter")
        self.pre_score_plugins: list[PreScorePlugin] = at("preScore")
        self.score_plugins: list[ScorePlugin] = at("score")
        self.reserve_plugins: list[ReservePlugin] = at("reserve")
        self.permit_plugins: list[PermitPlugin] = at("permit")
        self.pre_bind_plugins: list[PreBindPlugin] = at("preBind")
        self.bind_plugins: list[BindPlugin] = at("bind")
        self.post_bind_plugins: list[PostBindPlugin] = at("postBind")
        self._weights = {name: weight or 1 for name, weight in points["score"]}
        # Whether an object has the methods of a Protocol is slow to ask, so it is asked once.
        self._normalizers = {n: p for n, p in self.plugins.items() if isinstance(p, ScoreExtensions)}
        self._pre_filter_extensions = [p for p in self.pre_filter_plugins if isinstance(p, PreFilterExtensions)]
        self._active_filters: dict[frozenset[str], list[FilterPlugin]] = {}  # which sit out is nearly always the same
        self._active_extensions: dict[frozenset[str], list[PreFilterExtensions]] = {}
        self._signers = [p for p in self.plugins.values() if isinstance(p, SignPlugin) and p.node_local]
        if len(queue_sort) != 1:
            names = [name_of(plugin) for plugin in queue_sort]
            raise ValueError(
                f"only one queue sort plugin required for profile with scheduler name {self.profile_name!r}, "
                f"but got {len(names)}: {', '.join(names) or 'none'}"
            )
        if not self.bind_plugins:
            raise ValueError(
                f"at least one bind plugin is needed for profile with scheduler name {self.profile_name!r}"
            )
        self.queue_sort_plugin = queue_sort[0]

    # -- Handle ------------------------------------------------------------------------------------

    def snapshot(self) -> Snapshot:
        return self._snapshot

    def use_snapshot(self, snapshot: Snapshot) -> None:
        """Make `snapshot` the one that plugins see in the coming cycle."""
        self._snapshot = snapshot

    def tally(self, key: Hashable, contribute: Contribution[_Key]) -> dict[_Key, int]:
        if self._tallies is None:
            return Tally(contribute).over(self._snapshot)
        return self._tallies.over(key, contribute, self._snapshot)

    def check_invariants(self) -> None:
        """What is kept between cycles equals what is there."""
        if self._tallies is not None:
            self._tallies.check_invariants()

    @contextmanager
    def without_memory(self) -> Iterator[None]:
        """Everything asked meanwhile is worked out anew, and not kept."""
        kept, self._tallies = self._tallies, None
        try:
            yield
        finally:
            self._tallies = kept

    def waiting_pods(self) -> list[WaitingPod]:
        return list(self._waiting.values())

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        return self._waiting.get(uid)

    # -- one Pod, no API server --------------------------------------------------------------------

    def schedule(self, pod: Object, snapshot: Snapshot, *, explain: bool = False) -> ScheduleResult:
        """Pick a Node for `pod`: see `cycle.SchedulingAlgorithm.schedule`. `explain` fills `result.explanation`.

        With extenders `http` must answer at once; where calls take time, a `Scheduler` awaits `algorithm.cycle`.
        """
        return self.algorithm.schedule(pod, snapshot, explain=explain)

    def explain(self, pod: Object, snapshot: Snapshot) -> Explanation:
        """Every plugin's verdict and score for every Node: see `explain.explain`."""
        from k8slab.scheduler.explain import explain

        return explain(self, pod, snapshot)

    def weight(self, plugin: str) -> int:
        """The weight of a Score plugin."""
        return self._weights[plugin]

    def normalizes(self, plugin: str) -> bool:
        """Whether its scores depend on each other."""
        return plugin in self._normalizers

    def events_to_register(self) -> dict[str, list[ClusterEventWithHint]]:
        """Per plugin the cluster events that may help a Pod it rejected. Extenders cannot say: any event may."""
        events = {
            name: plugin.events_to_register()
            for name, plugin in self.plugins.items()
            if isinstance(plugin, EnqueueExtensions)
        }
        if self.extenders:
            events[EXTENDER] = [ClusterEventWithHint(ClusterEvent(EventResource.WILD_CARD, ActionType.ALL))]
        return events

    def sign(self, pod: Object) -> str | None:
        """Equal text: node-local plugins give equal verdicts. None: one of them cannot sign this Pod."""
        fragments: dict[str, Any] = {}
        for plugin in self._signers:
            part = plugin.sign_pod(pod)
            if part is None:
                return None
            fragments.update(part)
        return json.dumps(fragments, sort_keys=True)

    # -- scheduling cycle --------------------------------------------------------------------------

    def run_pre_filter(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]
    ) -> tuple[frozenset[str] | None, Status, list[str]]:
        """(Nodes worth looking at or None for all, verdict, plugins that narrowed the Nodes)."""
        skip: list[str] = []
        narrowed_by: list[str] = []
        names: frozenset[str] | None = None
        for plugin in self.pre_filter_plugins:
            result, status = plugin.pre_filter(state, pod, nodes)
            name = name_of(plugin)
            if status is not SUCCESS:
                if status.is_skip:
                    skip.append(name)
                    continue
                if status.is_rejected:
                    return None, status.with_plugin(name), narrowed_by
                text = f'running PreFilter plugin "{name}": {status.message}'
                return None, Status(Code.ERROR, text, plugin=name), narrowed_by
            if result is not None and result.node_names is not None:
                narrowed_by.append(name)
                names = _merge(names, result)
                if not names:
                    return names, _nobody_left(narrowed_by), narrowed_by
        state.skip_filter = frozenset(skip)
        return names, SUCCESS, narrowed_by

    def active_filters(self, state: CycleState) -> list[FilterPlugin]:
        """Filter plugins that did not sit this cycle out."""
        found = self._active_filters.get(state.skip_filter)
        if found is None:
            found = [plugin for plugin in self.filter_plugins if name_of(plugin) not in state.skip_filter]
            self._active_filters[state.skip_filter] = found
        return found

    def run_filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        """The first verdict other than Success, signed by its plugin; SUCCESS when all agree."""
        for plugin in self.active_filters(state):
            status = plugin.filter(state, pod, node)
            if status is not SUCCESS and not status.is_success:
                return signed_filter_status(status, name_of(plugin))
        return SUCCESS

    def nominated_pods(self, pod: Object, node_name: str) -> list[PodInfo]:
        """The Pods that `pod` has to leave room for on a Node: nominated there and not less important."""
        promised = self.nominator.for_node(node_name)
        if not promised:
            return promised
        mine = PodInfo(pod)
        return [info for info in promised if info.priority >= mine.priority and info.uid != mine.uid]

    def run_filter_with_nominated(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        """Filter twice where Pods are nominated for the Node: with them, and without them.

        Both must pass: nobody knows whether they will come, and a Pod may need them away (its ports) or there (its
        affinity).
        """
        nominated = self.nominated_pods(pod, node.name)
        if nominated:
            state_then, node_then = state.clone(), node.clone()
            for info in nominated:
                node_then.add_pod(info)
                status = self.run_add_pod(state_then, pod, info, node_then)
                if status is not SUCCESS:
                    return status
            status = self.run_filter(state_then, pod, node_then)
            if status is not SUCCESS:
                return status
        return self.run_filter(state, pod, node)

    def run_add_pod(self, state: CycleState, pod: Object, to_add: PodInfo, node: NodeInfo) -> Status:
        """Tell PreFilter plugins that `to_add` came to the Node; SUCCESS or Error."""
        for plugin in self._with_extensions(state):
            status = plugin.add_pod(state, pod, to_add, node)
            if not status.is_success:
                name = name_of(plugin)
                return Status(Code.ERROR, f'running AddPod on PreFilter plugin "{name}": {status.message}')
        return SUCCESS

    def run_remove_pod(self, state: CycleState, pod: Object, to_remove: PodInfo, node: NodeInfo) -> Status:
        """Tell PreFilter plugins that `to_remove` left the Node; SUCCESS or Error."""
        for plugin in self._with_extensions(state):
            status = plugin.remove_pod(state, pod, to_remove, node)
            if not status.is_success:
                name = name_of(plugin)
                return Status(Code.ERROR, f'running RemovePod on PreFilter plugin "{name}": {status.message}')
        return SUCCESS

    def _with_extensions(self, state: CycleState) -> list[PreFilterExtensions]:
        found = self._active_extensions.get(state.skip_filter)
        if found is None:
            found = [plugin for plugin in self._pre_filter_extensions if name_of(plugin) not in state.skip_filter]
            self._active_extensions[state.skip_filter] = found
        return found

    def run_post_filter(
        self, state: CycleState, pod: Object, statuses: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        """The first Success (room was made), or all reasons together."""
        return at_once(self.post_filter(state, pod, statuses))

    async def post_filter(
        self, state: CycleState, pod: Object, statuses: NodeStatuses
    ) -> tuple[PostFilterResult | None, Status]:
        """`run_post_filter` that waits for extenders with a say in preemption."""
        found: PostFilterResult | None = None
        reasons: list[str] = []
        rejector = ""
        for plugin in self.post_filter_plugins:
            result, status = plugin.post_filter(state, pod, statuses)
            name = name_of(plugin)
            if status.is_success and result is not None and result.candidates and self.extenders.preempt:
                result, status = await self.extenders.choose_again(pod, result, self._snapshot, self.rng)
            if status.is_success:
                return result, SUCCESS
            if status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE or not status.is_rejected:
                return result, status.with_plugin(name)
            found = result if result is not None else found
            reasons += status.reasons
            rejector = rejector or name
        return found, Status(Code.UNSCHEDULABLE, *reasons, plugin=rejector)

    def run_pre_score(self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]) -> Status:
        skip: list[str] = []
        for plugin in self.pre_score_plugins:
            status = plugin.pre_score(state, pod, nodes)
            if status is SUCCESS or status.is_success:
                continue
            name = name_of(plugin)
            if not status.is_skip:
                return Status(Code.ERROR, f'running PreScore plugin "{name}": {status.message}', plugin=name)
            skip.append(name)
        state.skip_score = frozenset(skip)
        return SUCCESS

    def active_scorers(self, state: CycleState) -> list[ScorePlugin]:
        """Score plugins that did not sit this cycle out."""
        skip = state.skip_score
        return [plugin for plugin in self.score_plugins if name_of(plugin) not in skip]

    def finish_score(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo], plugin: ScorePlugin, raw: list[int]
    ) -> WeightedScore:
        """Normalise and weigh one plugin's raw scores. PluginError when one ends outside 0 to 100."""
        name, scores = name_of(plugin), raw
        if name in self._normalizers:
            scores = self._normalizers[name].normalize_score(state, pod, nodes, raw)
        if scores and (max(scores) > MAX_NODE_SCORE or min(scores) < MIN_NODE_SCORE):
            bad = next(s for s in scores if not MIN_NODE_SCORE <= s <= MAX_NODE_SCORE)
            raise PluginError(
                f'plugin "{name}" returns an invalid score {bad}, it should in the range of '
                f"[{MIN_NODE_SCORE}, {MAX_NODE_SCORE}] after normalizing"
            )
        weight = self._weights[name]
        return WeightedScore(name, raw, scores if weight == 1 else [score * weight for score in scores])

    def run_score(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]
    ) -> tuple[list[WeightedScore], Status]:
        """Each active plugin's scores over `nodes`, or Error."""
        found = []
        for plugin in self.active_scorers(state):
            score = plugin.score
            try:
                raw = [score(state, pod, node) for node in nodes]
                found.append(self.finish_score(state, pod, nodes, plugin, raw))
            except PluginError as error:
                return [], Status(Code.ERROR, f"running Score plugins: {error}", plugin=name_of(plugin))
        return found, SUCCESS

    def run_reserve(self, state: CycleState, pod: Object, node_name: str) -> Status:
        for plugin in self.reserve_plugins:
            status = plugin.reserve(state, pod, node_name)
            if not status.is_success:
                name = name_of(plugin)
                if status.is_rejected:
                    return status.with_plugin(name)
                return Status(Code.ERROR, f'running Reserve plugin "{name}": {status.message}', plugin=name)
        return SUCCESS

    def run_unreserve(self, state: CycleState, pod: Object, node_name: str) -> None:
        """Undo, last plugin first."""
        for plugin in reversed(self.reserve_plugins):
            plugin.unreserve(state, pod, node_name)

    def run_permit(self, state: CycleState, pod: Object, node_name: str) -> Status:
        """SUCCESS, a rejection, or Wait: then `wait_on_permit` must be awaited before binding."""
        timeouts: dict[str, int] = {}
        for plugin in self.permit_plugins:
            status, timeout_ms = plugin.permit(state, pod, node_name)
            name = name_of(plugin)
            if status.is_wait:
                timeouts[name] = min(timeout_ms, 15 * 60 * 1000)
            elif not status.is_success:
                if status.is_rejected:
                    return status.with_plugin(name)
                return Status(Code.ERROR, f'running Permit plugin "{name}": {status.message}', plugin=name)
        if not timeouts:
            return SUCCESS
        if self._loop is None:
            raise ValueError("loop: None, expected a Loop, since a Permit plugin makes the Pod wait")
        self._waiting[uid_of(pod)] = WaitingPod(self._loop, pod, timeouts)
        return Status(Code.WAIT, "one or more plugins asked to wait and no plugin rejected pod")

    # -- binding cycle -----------------------------------------------------------------------------

    async def wait_on_permit(self, pod: Object) -> Status:
        """The end of the wait that `run_permit` began; SUCCESS at once when there is none."""
        waiting = self._waiting.get(uid_of(pod))
        if waiting is None:
            return SUCCESS
        status = await waiting.wait()
        self._waiting.pop(uid_of(pod), None)
        return status

    async def run_pre_bind(self, state: CycleState, pod: Object, node_name: str) -> Status:
        for plugin in self.pre_bind_plugins:
            name = name_of(plugin)
            status = plugin.pre_bind_pre_flight(state, pod, node_name)
            if status.is_skip:
                continue
            if status.is_success:
                status = await plugin.pre_bind(state, pod, node_name)
            if not status.is_success:
                return Status(Code.ERROR, f'running PreBind plugin "{name}": {status.message}', plugin=name)
        return SUCCESS

    async def run_bind(self, state: CycleState, pod: Object, node_name: str) -> Status:
        """The extender that binds is asked first; otherwise the verdict of the first Bind plugin that does not skip."""
        try:
            if await self.extenders.bind(pod, node_name):
                return SUCCESS
        except ExtenderError as error:
            return Status(Code.ERROR, str(error))
        for plugin in self.bind_plugins:
            status = await plugin.bind(state, pod, node_name)
            if status.is_skip:
                continue
            if status.is_success:
                return SUCCESS
            name = name_of(plugin)
            if status.is_rejected:
                return status.with_plugin(name)
            return Status(Code.ERROR, f'running Bind plugin "{name}": {status.message}', plugin=name)
        return Status(Code.SKIP)

    def run_post_bind(self, state: CycleState, pod: Object, node_name: str) -> None:
        for plugin in self.post_bind_plugins:
            plugin.post_bind(state, pod, node_name)


def name_of(plugin: Any) -> str:
    name: str = plugin.name
    return name


def signed_filter_status(status: Status, plugin: str) -> Status:
    """A Filter verdict with its plugin's name; codes that Filter may not use become Error."""
    if status.is_rejected:
        return status.with_plugin(plugin)
    return Status(Code.ERROR, f'running "{plugin}" filter plugin: {status.message}', plugin=plugin)


def left_out_by(plugins: Sequence[str]) -> Status:
    """The verdict of Nodes that PreFilter plugins left out."""
    text = f"node(s) didn't satisfy plugin(s) [{' '.join(sorted(plugins))}]"
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text)


def _merge(names: frozenset[str] | None, result: PreFilterResult) -> frozenset[str]:
    found = result.node_names or frozenset()
    return found if names is None else names & found


def _nobody_left(narrowed_by: Sequence[str]) -> Status:
    plugins = " ".join(narrowed_by)
    text = (
        f"node(s) didn't satisfy plugin {plugins}"
        if len(narrowed_by) == 1
        else f"node(s) didn't satisfy plugin(s) [{plugins}] simultaneously"
    )
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, text)
