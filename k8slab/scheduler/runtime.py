"""The framework at work: instantiates a profile's plugins and runs them point by point.

Upstream: pkg/scheduler/framework/runtime/framework.go
Simplified: plugins run one after the other, never in parallel.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, TypeVar, Unpack

from k8slab.api.features import FeatureGates
from k8slab.api.labels import go_quote
from k8slab.api.objects import Object
from k8slab.api.pods import pod_priority
from k8slab.api.transport import HTTPCaller
from k8slab.scheduler.config_extender import Extender, resources_ignored_by_scheduler
from k8slab.scheduler.extender import EXTENDER, Extenders, at_once
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
    PluginError,
    PodInfo,
    PostBindPlugin,
    PostFilterPlugin,
    PostFilterResult,
    PreBindPlugin,
    PreEnqueuePlugin,
    PreFilterExtensions,
    PreFilterPlugin,
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
from k8slab.scheduler.manifest_check import check_pod
from k8slab.scheduler.metrics import SchedulerMetrics, counted, counted_while_waiting
from k8slab.scheduler.nominator import Nominator
from k8slab.scheduler.placement_points import PlacementPoints
from k8slab.scheduler.plugin_set_up import Factory, known_plugins, make_plugins
from k8slab.scheduler.pod_groups import PodGroupManager
from k8slab.scheduler.profile import Profile, points_of, score_weights
from k8slab.scheduler.snapshot import Snapshot
from k8slab.scheduler.tally import Tallies, Tally
from k8slab.scheduler.verdicts import left_out_by, name_of, narrowed, nobody_left, signed_filter_status
from k8slab.scheduler.waiting_pods import WaitingPod
from k8slab.sim.kinds import cut
from k8slab.sim.loop import Loop

if TYPE_CHECKING:
    from k8slab.scheduler.config import KubeSchedulerConfiguration
    from k8slab.scheduler.cycle import ScheduleResult
    from k8slab.scheduler.explain import Explanation

__all__ = [
    "Factory",
    "Framework",
    "FrameworkOptions",
    "WeightedScore",
    "left_out_by",
    "name_of",
    "signed_filter_status",
]

_Key = TypeVar("_Key", bound=Hashable)

EVERY_EVENT = ClusterEventWithHint(ClusterEvent(EventResource.WILD_CARD, ActionType.ALL))
_CAN_REJECT = (PreEnqueuePlugin, PreFilterPlugin, FilterPlugin, ReservePlugin, PermitPlugin)


def _check_question(pod: Object, snapshot: Snapshot) -> None:
    check_pod(pod)
    if not isinstance(snapshot, Snapshot):
        shown = cut(repr(snapshot), 60)
        raise TypeError(f"snapshot: {shown}: expected a Snapshot, such as Snapshot.of(nodes, pods)")


class WeightedScore(NamedTuple):
    """One plugin's scores over the feasible Nodes, in their order: raw, and normalised times weight."""

    plugin: str
    raw: list[int]
    weighted: list[int]


class FrameworkOptions(TypedDict, total=False):
    """What a `Framework` may be given besides its profile.

    `registry`: out-of-tree plugins, name -> class, beside the in-tree ones. `loop` is needed only where plugins make
    Pods wait or ask for the time; `client` only to bind. `lister`: Namespaces, Services and owners of Pods that plugins
    look up; None: there are none. `memo` False works out every verdict anew. `extenders` are asked through `http`.
    NodeResourcesFit leaves out what they take off its hands, and (where they are not asked) `ignored_resources`.
    `percentage_of_nodes_to_score` counts where the profile has none. `nominator` and `metrics` may be shared with
    others.
    """

    registry: Mapping[str, Factory] | None
    features: Gates | None
    client: Any
    lister: Lister | None
    loop: Loop | None
    rng: random.Random | None
    memo: bool
    nominator: Nominator | None
    extenders: Sequence[Extender]
    http: HTTPCaller | None
    ignored_resources: Sequence[str]
    percentage_of_nodes_to_score: int
    metrics: SchedulerMetrics | None


class Framework(PlacementPoints):
    """A profile, ready to run. It is also the `Handle` its plugins are given.

    Use `from_profile`. Preemption asks `pdbs` (a function) for the disruption budgets and `is_preempting`; `activator`
    carries `activate` out.
    """

    def __init__(
        self,
        profile: Profile,
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
        ignored_resources: Sequence[str] = (),
        percentage_of_nodes_to_score: int = 0,
        metrics: SchedulerMetrics | None = None,
    ) -> None:
        from k8slab.scheduler.cycle import SchedulingAlgorithm

        self.profile = profile
        self.profile_name = profile.scheduler_name
        own = profile.percentage_of_nodes_to_score
        self.percentage_of_nodes_to_score = percentage_of_nodes_to_score if own is None else own
        self.features = features if features is not None else FeatureGates()
        self.metrics = metrics if metrics is not None else SchedulerMetrics(self.features)
        self.client = client
        self.lister: Lister = lister if lister is not None else ObjectLister()
        self.rng = rng or random.Random("scheduler")
        self.nominator = nominator if nominator is not None else Nominator()
        self.pdbs: Callable[[], Sequence[Object]] = lambda: ()
        self.is_preempting: Callable[[str], bool] = lambda uid: False
        self.extenders = Extenders(extenders, http, loop)
        self.activator: Callable[[Sequence[Object], bool], None] = lambda pods, after_backoff: None
        self.pod_groups = PodGroupManager()
        self._loop = loop
        self._snapshot = Snapshot()
        self._tallies = Tallies() if memo else None
        self._waiting: dict[str, WaitingPod] = {}
        ignored = [*resources_ignored_by_scheduler(extenders), *ignored_resources]
        self.plugins = make_plugins(profile, known_plugins(registry or {}), self.features, self, ignored)
        self._weights: dict[str, int] = {}
        self._arrange()
        self.algorithm = SchedulingAlgorithm(self, self.rng, memo=memo)

    @classmethod
    def from_profile(cls, profile: Profile | Object | None = None, **options: Unpack[FrameworkOptions]) -> Framework:
        """A framework for a `Profile`, a profile as a dict, or (None) the default profile of the release.

        `options`: the fields of `FrameworkOptions`. Unknown plugins, a second QueueSort or none, and no Bind plugin are
        ValueErrors.
        """
        return cls(profile if isinstance(profile, Profile) else Profile.from_dict(profile or {}), **options)

    @classmethod
    def from_config(
        cls, config: KubeSchedulerConfiguration, scheduler_name: str = "", **options: Unpack[FrameworkOptions]
    ) -> Framework:
        """A framework for one profile of a configuration: the first, or the one called `scheduler_name`.

        `options`: as for `from_profile`; its extenders are not among them. ValueError when there is no such profile.
        """
        names = [profile.scheduler_name for profile in config.profiles]
        if scheduler_name and scheduler_name not in names:
            raise ValueError(f"scheduler_name: {scheduler_name!r}, expected one of {', '.join(names)}")
        profile = config.profiles[names.index(scheduler_name) if scheduler_name else 0]
        options.setdefault("percentage_of_nodes_to_score", config.percentage_of_nodes_to_score)
        options.setdefault("ignored_resources", resources_ignored_by_scheduler(config.extenders))
        return cls.from_profile(profile, **options)

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
        self._weights = score_weights(self.profile, self.features, self.plugins)
        # Whether an object has the methods of a Protocol is slow to ask, so it is asked once.
        self._normalizers = {n: p for n, p in self.plugins.items() if isinstance(p, ScoreExtensions)}
        self._pre_filter_extensions = [p for p in self.pre_filter_plugins if isinstance(p, PreFilterExtensions)]
        self._active_filters: dict[frozenset[str], list[FilterPlugin]] = {}  # which sit out is nearly always the same
        self._active_extensions: dict[frozenset[str], list[PreFilterExtensions]] = {}
        self._signers = [p for p in self.plugins.values() if isinstance(p, SignPlugin) and p.node_local]
        whose = f"profile with scheduler name {go_quote(self.profile_name)}"
        if len(queue_sort) != 1:
            raise ValueError(f"only one queue sort plugin required for {whose}, but got {len(queue_sort)}")
        if not self.bind_plugins:
            raise ValueError(f"at least one bind plugin is needed for {whose}")
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
        """Everything asked meanwhile is worked out anew, and neither kept nor counted in the metrics."""
        kept, self._tallies = self._tallies, None
        metrics, self.metrics = self.metrics, SchedulerMetrics(self.features)
        try:
            yield
        finally:
            self._tallies, self.metrics = kept, metrics

    def waiting_pods(self) -> list[WaitingPod]:
        return list(self._waiting.values())

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        return self._waiting.get(uid)

    def reject_waiting_pod(self, uid: str) -> bool:
        waiting = self._waiting.get(uid)
        return waiting is not None and waiting.reject("", "removed")

    def activate(self, pods: Sequence[Object], *, after_backoff: bool = False) -> None:
        self.activator(pods, after_backoff)

    # -- one Pod, no API server --------------------------------------------------------------------

    def schedule(self, pod: Object, snapshot: Snapshot, *, explain: bool = False) -> ScheduleResult:
        """Pick a Node for `pod`: see `cycle.SchedulingAlgorithm.schedule`. `explain` fills `result.explanation`.

        With extenders `http` must answer at once; where calls take time, a `Scheduler` awaits `algorithm.cycle`.
        What is no Pod or no Snapshot is a TypeError, what an API server would refuse a ValueError.
        """
        _check_question(pod, snapshot)
        return self.algorithm.schedule(pod, snapshot, explain=explain)

    def explain(self, pod: Object, snapshot: Snapshot) -> Explanation:
        """Every plugin's verdict and score for every Node: see `explain.explain`. Errors as for `schedule`."""
        from k8slab.scheduler.explain import explain

        _check_question(pod, snapshot)
        return explain(self, pod, snapshot)

    def weight(self, plugin: str) -> int:
        """The weight of a Score plugin."""
        return self._weights[plugin]

    def normalizes(self, plugin: str) -> bool:
        """Whether its scores depend on each other."""
        return plugin in self._normalizers

    def events_to_register(self) -> dict[str, list[ClusterEventWithHint]]:
        """Per plugin the cluster events that may help a Pod it rejected.

        Plugins that can reject and say nothing of events are told of all of them, and so are extenders: nobody knows
        what may help.
        """
        events = {
            name: list(plugin.events_to_register()) if isinstance(plugin, EnqueueExtensions) else [EVERY_EVENT]
            for name, plugin in self.plugins.items()
            if isinstance(plugin, _CAN_REJECT)
        }
        if self.extenders:
            events[EXTENDER] = [EVERY_EVENT]
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

    def filter_signature(self, state: CycleState, pod: Object) -> str | None:
        return self.algorithm.filter_signature(state, pod)

    # -- scheduling cycle --------------------------------------------------------------------------

    @counted("PreFilter")
    def run_pre_filter(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]
    ) -> tuple[frozenset[str] | None, Status, list[str]]:
        """(Nodes worth looking at or None for all, verdict, plugins that narrowed the Nodes).

        UnschedulableAndUnresolvable ends it at once. After Unschedulable the other plugins still run, since preemption
        may follow and needs what they work out; the last such verdict counts. All other codes are errors.
        """
        skip: list[str] = []
        narrowed_by: list[str] = []
        names: frozenset[str] | None = None
        verdict = SUCCESS
        for plugin in self.pre_filter_plugins:
            result, status = plugin.pre_filter(state, pod, nodes)
            self.metrics.evaluated("PreFilter", name_of(plugin), status, self.profile_name)
            if status is not SUCCESS and not status.is_success:
                name = name_of(plugin)
                if status.is_skip:
                    skip.append(name)
                    continue
                if status.code is Code.UNSCHEDULABLE:
                    verdict = status.with_plugin(name)
                    continue
                state.skip_filter = frozenset(skip)
                if status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                    return None, status.with_plugin(name), []
                text = f'running PreFilter plugin "{name}": {status.message}'
                return None, Status(Code.ERROR, text, plugin=name), []
            if result is not None and result.node_names is not None:
                narrowed_by.append(name_of(plugin))
                names = narrowed(names, result)
                if not names:
                    verdict = nobody_left(narrowed_by)
                    break
        state.skip_filter = frozenset(skip)
        return names, verdict, narrowed_by

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
        priority, uid = pod_priority(pod), uid_of(pod)
        return [info for info in promised if info.priority >= priority and info.uid != uid]

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
        """The first Success (room was made), Error or UnschedulableAndUnresolvable; else all reasons together."""
        return at_once(self.post_filter(state, pod, statuses))

    @counted_while_waiting("PostFilter")
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
            self.metrics.ran("PostFilter", name, status)
            if status.is_success:
                return result, SUCCESS
            if status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return result, status.with_plugin(name)
            if not status.is_rejected:
                return None, Status(Code.ERROR, *status.reasons, plugin=name)
            found = result if result is not None else found
            reasons += status.reasons
            rejector = rejector or name
        return found, Status(Code.UNSCHEDULABLE, *reasons, plugin=rejector)

    @counted("PreScore")
    def run_pre_score(self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]) -> Status:
        """SUCCESS, or Error for every code but Success and Skip."""
        skip: list[str] = []
        for plugin in self.pre_score_plugins:
            status = plugin.pre_score(state, pod, nodes)
            self.metrics.evaluated("PreScore", name_of(plugin), status, self.profile_name)
            if status is SUCCESS or status.is_success:
                continue
            name = name_of(plugin)
            if not status.is_skip:
                state.skip_score = frozenset(skip)
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
            try:
                scores = self._normalizers[name].normalize_score(state, pod, nodes, raw)
            except PluginError as error:
                text = f'running Normalize on Score plugins: plugin "{name}" failed with: {error}'
                raise PluginError(text) from error
        if scores and (max(scores) > MAX_NODE_SCORE or min(scores) < MIN_NODE_SCORE):
            bad = next(s for s in scores if not MIN_NODE_SCORE <= s <= MAX_NODE_SCORE)
            raise PluginError(
                f'applying score defaultWeights on Score plugins: plugin "{name}" returns an invalid score {bad}, '
                f"it should in the range of [{MIN_NODE_SCORE}, {MAX_NODE_SCORE}] after normalizing"
            )
        weight = self._weights[name]
        return WeightedScore(name, raw, scores if weight == 1 else [score * weight for score in scores])

    def run_score(
        self, state: CycleState, pod: Object, nodes: Sequence[NodeInfo]
    ) -> tuple[list[WeightedScore], Status]:
        """Each active plugin's scores over `nodes`, or Error. All score before the first one normalises."""
        raw: list[list[int]] = []
        plugins = self.active_scorers(state)
        for plugin in plugins:
            score = plugin.score
            try:
                raw.append([score(state, pod, node) for node in nodes])
            except PluginError as error:
                text = f'running Score plugins: plugin "{name_of(plugin)}" failed with: {error}'
                return [], Status(Code.ERROR, text)
        try:
            finished = (self.finish_score(state, pod, nodes, *one) for one in zip(plugins, raw, strict=True))
            return list(finished), SUCCESS
        except PluginError as error:
            return [], Status(Code.ERROR, str(error))
