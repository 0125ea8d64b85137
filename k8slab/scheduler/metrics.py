"""The scheduler's metrics, by upstream's names, and the text that Prometheus reads.

    >>> from k8slab.scheduler import Framework, Snapshot
    >>> framework = Framework.from_profile()
    >>> pod = {"metadata": {"name": "web"}, "spec": {"containers": []}}
    >>> node = {"metadata": {"name": "a"}, "status": {"allocatable": {"pods": "9"}}}
    >>> framework.schedule(pod, Snapshot.of([node])).node
    'a'
    >>> framework.metrics.value("scheduler_plugin_evaluation_total", plugin="NodeName", extension_point="Filter")
    1
    >>> print(framework.metrics.text().splitlines()[1])
    # TYPE scheduler_framework_extension_point_duration_seconds histogram

A running `Scheduler` has them as `scheduler.metrics`: `value` sums the series with these labels, `text` is the page
`/metrics`.

Upstream: pkg/scheduler/metrics/metrics.go, profile_metrics.go; Prometheus' text format 0.0.4
Simplified: durations are in virtual time, and what takes none, such as a cycle without extenders, measures 0;
`plugin_execution_duration_seconds` has every cycle instead of one in ten, and not Filter and Score, which run once a
Node. No series for batching and for API calls of the dispatcher, which are not simulated.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from k8slab.scheduler.framework import Gates, Status, scheduler_name

if TYPE_CHECKING:
    from k8slab.scheduler.cache import Cache
    from k8slab.scheduler.executor import Executor
    from k8slab.scheduler.queue import SchedulingQueue
    from k8slab.scheduler.queued_pod import QueuedPodInfo

__all__ = ["Counter", "Gauge", "Histogram", "SchedulerMetrics", "counted", "counted_while_waiting"]

Labels = tuple[str, ...]
Sample = tuple[str, Mapping[str, str], int | float]
"""What is added to the name, the labels, the value."""


class Counter:
    """A number for each combination of label values. `inc` is given these in the order of `labels`."""

    kind = "counter"

    def __init__(self, name: str, help: str, labels: Sequence[str] = (), *, stability: str = "ALPHA") -> None:
        self.name, self.help, self.labels, self.stability = f"scheduler_{name}", help, tuple(labels), stability
        self._values: dict[Labels, int] = {} if labels else {(): 0}

    def inc(self, *values: str, by: int = 1) -> None:
        self._values[values] = self._values.get(values, 0) + by

    def samples(self) -> Iterator[Sample]:
        """All series, by their labels."""
        for values in sorted(self._values):
            yield "", dict(zip(self.labels, values, strict=True)), self._values[values]


class Gauge(Counter):
    """What is so at the moment: `read` works it out when somebody looks. Without `read` it is set by `inc`."""

    kind = "gauge"
    read: Callable[[], Mapping[Labels, int]] | None = None

    def samples(self) -> Iterator[Sample]:
        if self.read is not None:
            self._values = dict(self.read())
        return super().samples()


class Histogram:
    """How often a value came, up to bounds. Durations are given in ms, and told in seconds."""

    kind = "histogram"

    def __init__(
        self,
        name: str,
        help: str,
        bounds: tuple[float, float, int],
        labels: Sequence[str] = (),
        *,
        stability: str = "ALPHA",
        unit: int = 1_000,
    ) -> None:
        """`bounds`: the first one, the factor to the next, how many. `unit`: how many of what is observed make 1."""
        self.name, self.help, self.labels, self.stability = f"scheduler_{name}", help, tuple(labels), stability
        self._unit = unit
        self.bounds: list[float] = []
        start, factor, count = bounds
        for _ in range(count):
            self.bounds.append(start)
            start *= factor
        self._seen: dict[Labels, dict[int, int]] = {} if labels else {(): {}}

    def observe(self, amount: int, *values: str) -> None:
        """One more, of `amount` (ms)."""
        seen = self._seen.get(values)
        if seen is None:
            seen = self._seen[values] = {}
        seen[amount] = seen.get(amount, 0) + 1

    def samples(self) -> Iterator[Sample]:
        """Per series the cumulated buckets, the sum and the count."""
        for values in sorted(self._seen):
            labels = dict(zip(self.labels, values, strict=True))
            seen = self._seen[values]
            for bound in self.bounds:
                below = sum(count for amount, count in seen.items() if amount / self._unit <= bound)
                yield "_bucket", {**labels, "le": _number(bound)}, below
            count = sum(seen.values())
            yield "_bucket", {**labels, "le": "+Inf"}, count
            yield "_sum", labels, sum(amount * count for amount, count in seen.items()) / self._unit
            yield "_count", labels, count


class SchedulerMetrics:
    """All metrics of one scheduler. `features` decides which there are."""

    def __init__(self, features: Gates) -> None:
        self.schedule_attempts = Counter(
            "schedule_attempts_total",
            "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not be scheduled, "
            "while 'error' means an internal scheduler problem.",
            ("result", "profile"),
            stability="STABLE",
        )
        self.event_handling_duration = Histogram(
            "event_handling_duration_seconds", "Event handling latency in seconds.", (0.0001, 2, 12), ("event",)
        )
        self.scheduling_attempt_duration = Histogram(
            "scheduling_attempt_duration_seconds",
            "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
            (0.001, 2, 15),
            ("result", "profile"),
            stability="STABLE",
        )
        self.scheduling_algorithm_duration = Histogram(
            "scheduling_algorithm_duration_seconds", "Scheduling algorithm latency in seconds", (0.001, 2, 15)
        )
        self.preemption_victims = Histogram(
            "preemption_victims", "Number of selected preemption victims", (1, 2, 7), stability="STABLE", unit=1
        )
        self.preemption_attempts = Counter(
            "preemption_attempts_total", "Total preemption attempts in the cluster till now", stability="STABLE"
        )
        self.pending_pods = Gauge(
            "pending_pods",
            "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; 'backoff' means "
            "number of pods in backoffQ; 'unschedulable' means number of pods in unschedulablePods that the scheduler "
            "attempted to schedule and failed; 'gated' is the number of unschedulable pods that the scheduler never "
            "attempted to schedule because they are gated.",
            ("queue",),
            stability="STABLE",
        )
        self.goroutines = Gauge(
            "goroutines", "Number of running goroutines split by the work they do such as binding.", ("operation",)
        )
        self._add_pods_and_plugins()
        self._add_what_depends_on_gates(features)

    def _add_pods_and_plugins(self) -> None:
        self.pod_scheduling_sli_duration = Histogram(
            "pod_scheduling_sli_duration_seconds",
            "E2e latency for a pod being scheduled, from the time the pod enters the scheduling queue and might "
            "involve multiple scheduling attempts.",
            (0.01, 2, 20),
            ("attempts",),
            stability="BETA",
        )
        self.pod_scheduling_attempts = Histogram(
            "pod_scheduling_attempts",
            "Number of attempts to successfully schedule a pod.",
            (1, 2, 5),
            stability="STABLE",
            unit=1,
        )
        self.pod_scheduled_after_flush = Counter(
            "pod_scheduled_after_flush_total",
            "Number of pods that were successfully scheduled after being flushed from unschedulablePods due to "
            "timeout. This metric helps detect potential queueing hint misconfigurations or event handling issues.",
        )
        self.framework_extension_point_duration = Histogram(
            "framework_extension_point_duration_seconds",
            "Latency for running all plugins of a specific extension point.",
            (0.0001, 2, 12),
            ("extension_point", "status", "profile"),
            stability="STABLE",
        )
        self.plugin_execution_duration = Histogram(
            "plugin_execution_duration_seconds",
            "Duration for running a plugin at a specific extension point.",
            (0.00001, 1.5, 20),
            ("plugin", "extension_point", "status"),
        )
        self.queue_incoming_pods = Gauge(
            "queue_incoming_pods_total",
            "Number of pods added to scheduling queues by event and queue type.",
            ("queue", "event"),
            stability="STABLE",
        )
        self.queue_incoming_pods.kind = "counter"  # the queue counts, and is read
        self.permit_wait_duration = Histogram(
            "permit_wait_duration_seconds", "Duration of waiting on permit.", (0.001, 2, 15), ("result",)
        )
        self.cache_size = Gauge(
            "cache_size", "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.", ("type",)
        )
        self.unschedulable_pods = Gauge(
            "unschedulable_pods",
            "The number of unschedulable pods broken down by plugin name. A pod will increment the gauge for all "
            "plugins that caused it to not schedule and so this metric have meaning only when broken down by plugin.",
            ("plugin", "profile"),
        )
        self.plugin_evaluation = Counter(
            "plugin_evaluation_total",
            "Number of attempts to schedule pods by each plugin and the extension point (available only in PreFilter, "
            "Filter, PreScore, and Score).",
            ("plugin", "extension_point", "profile"),
        )

    def _add_what_depends_on_gates(self, features: Gates) -> None:
        self.queueing_hint_execution_duration = Histogram(
            "queueing_hint_execution_duration_seconds",
            "Duration for running a queueing hint function of a plugin.",
            (0.00001, 1.5, 20),
            ("plugin", "event", "hint"),
        )
        self.inflight_events = Gauge(
            "inflight_events", "Number of events currently tracked in the scheduling queue.", ("event",)
        )
        self.preemption_goroutines_duration = Histogram(
            "preemption_goroutines_duration_seconds",
            "Duration in seconds for running goroutines for the preemption.",
            (0.01, 2, 20),
            ("result",),
        )
        self.preemption_goroutines_execution = Counter(
            "preemption_goroutines_execution_total", "Number of preemption goroutines executed.", ("result",)
        )
        groups = self._add_pod_groups()
        left_out: list[Any] = [] if features.enabled("GenericWorkload") else groups
        if not features.enabled("SchedulerQueueingHints"):
            left_out += [self.queueing_hint_execution_duration, self.inflight_events]
        if not features.enabled("SchedulerAsyncPreemption"):
            left_out += [self.preemption_goroutines_duration, self.preemption_goroutines_execution]
        kinds = (Counter, Histogram)
        self.families: list[Counter | Histogram] = sorted(
            (family for family in vars(self).values() if isinstance(family, kinds) and family not in left_out),
            key=lambda family: family.name,
        )

    def _add_pod_groups(self) -> list[Any]:
        self.podgroup_schedule_attempts = Counter(
            "podgroup_schedule_attempts_total",
            "Number of attempts to schedule pod group, by the result. 'unschedulable' means a pod group could not be "
            "scheduled, while 'error' means an internal scheduler problem.",
            ("result", "profile"),
        )
        self.podgroup_scheduling_attempt_duration = Histogram(
            "podgroup_scheduling_attempt_duration_seconds",
            "Pod group scheduling attempt latency in seconds",
            (0.001, 2, 15),
            ("result", "profile"),
        )
        self.podgroup_scheduling_algorithm_duration = Histogram(
            "podgroup_scheduling_algorithm_duration_seconds",
            "Pod group scheduling algorithm latency in seconds",
            (0.001, 2, 15),
        )
        return [
            self.podgroup_schedule_attempts,
            self.podgroup_scheduling_attempt_duration,
            self.podgroup_scheduling_algorithm_duration,
        ]

    # -- counting ----------------------------------------------------------------------------------

    def ran(self, point: str, plugin: str, status: Status, took_ms: int = 0) -> None:
        """A plugin was asked at a point that runs once a cycle."""
        self.plugin_execution_duration.observe(took_ms, plugin, point, status.code)

    def evaluated(self, point: str, plugin: str, status: Status, profile: str) -> None:
        """The same for PreFilter and PreScore, whose calls are counted too."""
        self.plugin_execution_duration.observe(0, plugin, point, status.code)
        self.plugin_evaluation.inc(plugin, point, profile)

    def filtered(
        self, plugins: Iterable[str], nodes: int, rejected_by: Iterable[str], status: Status, profile: str
    ) -> None:
        """`nodes` Nodes were shown to the Filter `plugins`, each until one rejected it: `rejected_by` names those."""
        rejections = Tally(rejected_by)
        for plugin in plugins:
            self.plugin_evaluation.inc(plugin, "Filter", profile, by=nodes)
            nodes -= rejections[plugin]
        self.framework_extension_point_duration.observe(0, "Filter", status.code, profile)

    def scored(self, plugins: Iterable[str], nodes: int, status: Status, profile: str) -> None:
        """All `plugins` scored `nodes` Nodes."""
        for plugin in plugins:
            self.plugin_evaluation.inc(plugin, "Score", profile, by=nodes)
        self.framework_extension_point_duration.observe(0, "Score", status.code, profile)

    def attempted(self, result: str, profile: str, took_ms: int) -> None:
        """An attempt ended: `scheduled`, `unschedulable` or `error`."""
        self.schedule_attempts.inc(result, profile)
        self.scheduling_attempt_duration.observe(took_ms, result, profile)

    def group_attempted(self, status: Status, profile: str, took_ms: int) -> None:
        """The cycle of a pod group ended with `status`."""
        result = "scheduled" if status.is_success else "unschedulable" if status.is_rejected else "error"
        self.podgroup_schedule_attempts.inc(result, profile)
        self.podgroup_scheduling_attempt_duration.observe(took_ms, result, profile)

    def scheduled(self, info: QueuedPodInfo, profile: str, now_ms: int) -> None:
        """A Pod was bound."""
        self.attempted("scheduled", profile, now_ms - info.attempted_ms)
        self.pod_scheduling_attempts.observe(info.attempts)
        if info.initial_attempt_ms is not None:
            attempts = str(info.attempts) if info.attempts < 15 else "15+"
            self.pod_scheduling_sli_duration.observe(now_ms - info.initial_attempt_ms, attempts)
        if info.was_flushed:
            self.pod_scheduled_after_flush.inc()

    def watch(self, queue: SchedulingQueue, cache: Cache, executor: Executor, bindings: Callable[[], int]) -> None:
        """Read from these what they count, or hold, themselves."""
        self.pending_pods.read = lambda: {(name,): count for name, count in queue.counts().items()}
        self.queue_incoming_pods.read = lambda: queue.incoming
        self.inflight_events.read = lambda: {(label,): count for label, count in queue.in_flight_events().items()}
        self.cache_size.read = lambda: {(kind,): count for kind, count in cache.sizes().items()}
        self.goroutines.read = lambda: {("binding",): bindings()}
        self.unschedulable_pods.read = lambda: _by_plugin(queue.infos())
        queue.on_hint = lambda *labels: self.queueing_hint_execution_duration.observe(0, *labels)
        executor.on_start = self.preemption_victims.observe
        executor.on_done = self._preempted

    def _preempted(self, result: str, took_ms: int) -> None:
        self.preemption_goroutines_duration.observe(took_ms, result)
        self.preemption_goroutines_execution.inc(result)

    # -- looking -----------------------------------------------------------------------------------

    def value(self, name: str, **labels: str) -> int | float:
        """The sum over the series of `name` that have these labels, as PromQL's `sum(name{...})`; 0 when there is none.

        Of a histogram ask for `name_count`, `name_sum` or `name_bucket`. KeyError for names and labels there are not.
        """
        for family in self.families:
            extra = name.removeprefix(family.name)
            if not name.startswith(family.name) or extra not in _EXTRA[family.kind]:
                continue
            for label in labels:
                if label not in (*family.labels, *(["le"] if extra == "_bucket" else [])):
                    raise KeyError(f"{name}: no label {label!r}, expected one of {', '.join(family.labels)}")
            return sum(
                value
                for part, found, value in family.samples()
                if part == extra and all(found[label] == wanted for label, wanted in labels.items())
            )
        raise KeyError(f"no metric {name!r}, expected one of {', '.join(family.name for family in self.families)}")

    def text(self) -> str:
        """All metrics in Prometheus' text format; families without a series are left out."""
        lines: list[str] = []
        for family in self.families:
            samples = list(family.samples())
            if not samples:
                continue
            lines.append(f"# HELP {family.name} [{family.stability}] {_escaped(family.help)}")
            lines.append(f"# TYPE {family.name} {family.kind}")
            lines += [f"{family.name}{extra}{_labels(labels)} {_number(value)}" for extra, labels, value in samples]
        return "\n".join(lines) + "\n"


_P = ParamSpec("_P")
_Answer = TypeVar("_Answer")


def counted(point: str) -> Callable[[Callable[_P, _Answer]], Callable[_P, _Answer]]:
    """Marks a method that runs all plugins of a point, and whose answer is a Status, or has one as an item."""

    def wrap(run: Callable[_P, _Answer]) -> Callable[_P, _Answer]:
        @wraps(run)
        def counting(*args: _P.args, **kwargs: _P.kwargs) -> _Answer:
            answer = run(*args, **kwargs)
            _count(args[0], point, answer, 0)
            return answer

        return counting

    return wrap


def counted_while_waiting(
    point: str,
) -> Callable[[Callable[_P, Awaitable[_Answer]]], Callable[_P, Coroutine[Any, Any, _Answer]]]:
    """The same for a coroutine, which takes time."""

    def wrap(run: Callable[_P, Awaitable[_Answer]]) -> Callable[_P, Coroutine[Any, Any, _Answer]]:
        @wraps(run)
        async def counting(*args: _P.args, **kwargs: _P.kwargs) -> _Answer:
            framework: Any = args[0]
            began_ms = framework.now_ms
            answer = await run(*args, **kwargs)
            _count(framework, point, answer, framework.now_ms - began_ms)
            return answer

        return counting

    return wrap


def _count(framework: Any, point: str, answer: Any, took_ms: int) -> None:
    status = answer if isinstance(answer, Status) else next(part for part in answer if isinstance(part, Status))
    framework.metrics.framework_extension_point_duration.observe(took_ms, point, status.code, framework.profile_name)


def _by_plugin(infos: Iterable[QueuedPodInfo]) -> dict[Labels, int]:
    """How many Pods each plugin of each profile has rejected."""
    found: dict[Labels, int] = {}
    for info in infos:
        profile = scheduler_name(info.pod)
        for plugin in info.rejected_by:
            found[plugin, profile] = found.get((plugin, profile), 0) + 1
    return found


_EXTRA = {"counter": ("",), "gauge": ("",), "histogram": ("_bucket", "_sum", "_count")}


def _number(value: int | float) -> str:
    """As Go prints it: the shortest text, without `.0`."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _labels(labels: Mapping[str, str]) -> str:
    """`{a="x",b="y"}` by name, the bound of a bucket last."""
    if not labels:
        return ""
    names = sorted(labels, key=lambda name: (name == "le", name))
    pairs = (f'{name}="{_escaped(labels[name]).replace(chr(34), chr(92) + chr(34))}"' for name in names)
    return "{" + ",".join(pairs) + "}"
