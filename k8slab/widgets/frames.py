"""Recording a steppable: what happened, and the state after each event, as the frames a page can carry.

A steppable has `view() -> dict` (maps keyed by stable names), `step() -> bool` and `trace`. A `Recorder` collects
`Moment`s (an event and the state after it); `choose` picks those that a reader shall see; `encode` writes frames,
schema version 1: a first state and, for each step, the difference as a list of `[path, value]` (set) or `[path]`
(delete). `expand` is the way back, and the twin of what the page does.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

from k8slab.sim import KINDS, Trace, TraceEvent, main_story
from k8slab.widgets.display import Display
from k8slab.widgets.story import OUTCOMES, READS, focus_of, folded, is_noise, lane_of, lanes_of, mark_of, words

__all__ = ["Chosen", "Moment", "Recorder", "Steppable", "choose", "delta", "encode", "expand"]

State = dict[str, Any]
MAIN_STEPS, STEPS, TITLE = 30, 1_000, 40
MOST_ALSO = 4
_GUARD_ACTIONS = 200_000
# Left out first when there are too many steps: what repeats the step before it.
_DETAILS = (
    "admission",
    "serve",
    "cache.update",
    "watch.event",
    "queue.add",
    "event.record",
    "request",
    "write.detail",
    "raft.receive",
    "raft.send",
)

_HEARTBEATS = ("MsgHeartbeat", "MsgHeartbeatResp")


class Steppable(Protocol):
    """Whatever a Stepper can show."""

    @property
    def trace(self) -> Trace:
        """What happened so far."""

    def view(self) -> Mapping[str, Any]:
        """The state now: maps by stable names; `objects` by `Kind/namespace/name`, `ready` by task name."""

    def step(self) -> bool:
        """One action. False: nothing is left to do."""


class Moment(NamedTuple):
    """An event, and the state after it. States share what did not change."""

    event: TraceEvent
    state: State


class Recorder:
    """Collects the moments of `thing` from event number `since` on (None: from now on).

    What already happened is rebuilt from the recorded history of the objects (`Trace.object_at`); a thing whose view
    has no `objects` has no such past: ValueError.

    A thing with `looks_within` emits each event before it does what the event tells: of an action with several events
    the state after each is recorded then. Of other things all states of an action change at its commit, or at its end.
    """

    def __init__(self, thing: Steppable, *, since: int | None = None) -> None:
        self.thing = thing
        self.moments: list[Moment] = []
        self._within: dict[int, State] = {}  # the state before an event, by its number
        kept = thing.trace.since(0)
        self._next = kept[-1].seq + 1 if kept else 0
        self.state0 = self._now()
        if since is not None and since < self._next:
            self._rebuild([event for event in kept if event.seq < since], thing.trace.since(since))

    # -- going on ----------------------------------------------------------------------------------

    def run(self, *, until: Callable[[], bool] | None = None, for_ms: int | None = None) -> bool:
        """Step until `until()` holds, `for_ms` have passed or nothing is left. Whether `until()` came true."""
        clock = self.thing.trace.clock
        end = None if for_ms is None else clock.now_ms + for_ms
        seen = None
        for _ in range(_GUARD_ACTIONS):
            now = (len(self.moments), clock.now_ms)
            if until is not None and now != seen and until():
                return True
            seen = now
            if (end is not None and clock.now_ms >= end) or not self._act(end):
                break
        return until is not None and until()

    def step(self, lane: str | None = None) -> tuple[list[Moment], bool]:
        """One action (of a task of `lane`, if one is ready): the new moments, and whether anything is left to do."""
        before = len(self.moments)
        with self._looking():
            alive = self.thing.step() if lane is None else _step_lane(self.thing, lane)
        self._collect()
        return self.moments[before:], alive

    def command(self, text: str) -> list[Moment]:
        """Have the thing do what a picture asks for: the new moments. ValueError: it cannot."""
        before = len(self.moments)
        command = getattr(self.thing, "command", None)
        if command is None:
            raise ValueError(f"command {text!r}: {type(self.thing).__name__} takes none")
        command(text)
        self._collect()
        return self.moments[before:]

    def _act(self, end: int | None) -> bool:
        """One action, but none after `end`."""
        loop = getattr(self.thing, "loop", None)
        with self._looking():
            if loop is None or end is None:
                alive = self.thing.step()
            else:
                actions = loop.actions
                loop.run(for_ms=max(0, end - loop.clock.now_ms), max_actions=1)
                alive = loop.actions > actions
        self._collect()
        return alive

    @contextmanager
    def _looking(self) -> Iterator[None]:
        """Take the state before each event, if the thing allows it."""
        if not getattr(self.thing, "looks_within", False):
            yield
            return
        listeners = self.thing.trace.listeners
        listeners.append(self._look)
        try:
            yield
        finally:
            listeners.remove(self._look)

    def _look(self, event: TraceEvent) -> None:
        self._within[event.seq] = self._now()

    def _collect(self) -> None:
        """Attach the state now to the events that came since the last look."""
        events = self.thing.trace.since(self._next)
        if not events:
            return
        self._next = events[-1].seq + 1
        before = self.moments[-1].state if self.moments else self.state0
        after = self._now()
        if self._within:
            self.moments += self._states_within(events, after)
            self._within = {}
            return
        commits = [n for n, event in enumerate(events) if mark_of(event) == "commit"]
        turn = commits[0] if commits else len(events) - 1
        self.moments += [Moment(event, after if n >= turn else before) for n, event in enumerate(events)]

    def _states_within(self, events: Sequence[TraceEvent], after: State) -> list[Moment]:
        """Each event with the state that the next one found."""
        moments = []
        for event in reversed(events):
            moments.append(Moment(event, after))
            after = self._within.get(event.seq, after)
        return moments[::-1]

    def _now(self) -> State:
        return {name: value for name, value in self.thing.view().items() if name != "ready"}

    # -- the past ----------------------------------------------------------------------------------

    def _rebuild(self, before: Sequence[TraceEvent], events: Sequence[TraceEvent]) -> None:
        now = self.state0
        if "objects" not in now:
            raise ValueError(
                f"since: the past of a {type(self.thing).__name__} is not recorded; make the Stepper first, and plan "
                "what shall happen (`thing.loop.call_later(ms, deed)`) or go on live"
            )
        revision = max((e.data.get("revision", 0) for e in before if e.kind == "etcd.commit"), default=0)  # type: ignore[type-var]
        trace = self.thing.trace
        objects: dict[str, Any] = {}
        for resource, key in trace.objects():
            obj = trace.object_at(resource, key, int(revision or 0))
            if obj is not None:
                objects[_object_key(resource, key, obj, now)] = obj
        self.state0 = {**now, "objects": objects}
        for event in events:
            if event.kind == "etcd.commit":
                objects = self._committed(objects, event)
            self.moments.append(Moment(event, {**now, "objects": objects}))
        if self.moments:
            self.moments[-1] = Moment(self.moments[-1].event, now)

    def _committed(self, objects: dict[str, Any], event: TraceEvent) -> dict[str, Any]:
        resource, key, revision = (event.data.get(name) for name in ("resource", "key", "revision"))
        try:
            obj = self.thing.trace.object_at(str(resource), str(key), int(revision or 0))
        except KeyError:
            return objects
        names = focus_of(event)
        if obj is None:
            return {name: value for name, value in objects.items() if name not in names}
        name = next((n for n in names if n in objects), _object_key(str(resource), str(key), obj, {}))
        return {**objects, name: obj}


def _object_key(resource: str, key: str, obj: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    return f"{obj.get('kind', resource)}/{key}"


class _Pick:
    """The order for one action by hand: a task of `lane` if one is ready, else as before."""

    def __init__(self, lane: str, usual: Any) -> None:
        self._lane = lane
        self._usual = usual

    def pick(self, ready: Sequence[Any], action: int) -> int | None:
        for index, task in enumerate(ready):
            if lane_of(task.name) == self._lane:
                return index
        return self._usual.pick(ready, action)  # type: ignore[no-any-return]


def _step_lane(thing: Steppable, lane: str) -> bool:
    """One action of a task of `lane`. A thing with `step_ready` (a choice by number) or `step_lane` records it."""
    loop, own = getattr(thing, "loop", None), getattr(thing, "step_lane", None)
    if loop is None:
        return thing.step() if own is None else bool(own(lane))
    choose = getattr(thing, "step_ready", None)
    if choose is not None:
        index = next((n for n, task in enumerate(loop.ready) if lane_of(task.name) == lane), None)
        return thing.step() if index is None else bool(choose(index))
    usual = loop.order
    loop.order = _Pick(lane, usual)
    try:
        return thing.step()
    finally:
        loop.order = usual


# -- choosing --------------------------------------------------------------------------------------


class Chosen(NamedTuple):
    """`kept`: the moments to show, in order; `main`: numbers of the events of the main story; `cut`: how many more
    there were that did not fit."""

    kept: list[Moment]
    main: frozenset[int]
    cut: int


def choose(
    moments: Sequence[Moment],
    *,
    main: int = MAIN_STEPS,
    steps: int = STEPS,
    only: Sequence[str] = (),
    noise: Callable[[TraceEvent], bool] = is_noise,
) -> Chosen:
    """What a reader shall see: at most `steps` moments, at most `main` of them in the main story.

    Left out: noise; lanes that are not in `only` (if given); then heartbeats and details, kind after kind, until the
    rest fits; then the end. An event that something kept was caused by may go: causes are linked past it (`encode`).
    """
    kept = [m for m in moments if not noise(m.event) and (not only or lane_of(m.event.actor) in only)]
    if len(kept) > steps:
        kept = [m for m in kept if m.event.data.get("type") not in _HEARTBEATS]
    for kind in _DETAILS:
        if len(kept) <= steps:
            break
        kept = [m for m in kept if m.event.kind != kind]
    cut = max(0, len(kept) - steps)
    kept = kept[:steps]
    return Chosen(kept, frozenset(_main(kept, {m.event.seq: m.event for m in moments}, main)), cut)


def _main(kept: Sequence[Moment], events: Mapping[int, TraceEvent], most: int) -> set[int]:
    """The main story (`main_story`), thinned where it repeats itself; the commit it ends with, and those of its
    writes where there is room."""
    by_kind: dict[str, list[int]] = {}
    told = main_story(events.values())
    for moment in kept:
        if moment.event.seq in told:
            by_kind.setdefault(moment.event.kind, []).append(moment.event.seq)
    while sum(map(len, by_kind.values())) > most:
        longest = max(by_kind.values(), key=len)
        del longest[len(longest) // 2]
    chosen = {seq for seqs in by_kind.values() for seq in seqs}
    folded = {seq for seq, event in events.items() if seq not in told and _is_write(event)}
    ends = {kind: m.event.seq for m in kept for kind in OUTCOMES if m.event.kind == kind}
    if chosen and len(chosen) + len(ends) <= most:
        chosen |= set(ends.values())
    if 0 < len(chosen) < most:
        chosen |= _outcome(kept, events, max(chosen))  # the reader shall see the object that the last step speaks of
    for wanted in (True, False):
        more = {seq for seq, created in _commits(kept, events, chosen | folded) if created is wanted}
        if chosen and len(chosen) + len(more) <= most:
            chosen |= more
    return chosen


def _outcome(kept: Sequence[Moment], events: Mapping[int, TraceEvent], last: int) -> set[int]:
    """The first commit that the event `last` led to over nothing but its request, if that was kept."""
    for moment in kept:
        if moment.event.seq > last and moment.event.kind == "etcd.commit":
            at = moment.event.cause
            while (
                at is not None and at > last and at in events and mark_of(events[at]) in ("write", "request", "serve")
            ):
                at = events[at].cause
            if at == last:
                return {moment.event.seq}
    return set()


def _is_write(event: TraceEvent) -> bool:
    """Whether a write would be told if the decision before it were not."""
    kind = KINDS.get(event.kind)
    return kind is not None and kind.level == 1 and kind.mark == "write"


def _commits(kept: Sequence[Moment], events: Mapping[int, TraceEvent], chosen: Iterable[int]) -> list[tuple[int, bool]]:
    """(seq, whether it created the object) of the commits that a chosen write led to."""
    found = []
    writes = set(chosen)
    before: State = {}
    for moment in kept:
        event = moment.event
        if event.kind == "etcd.commit":
            at = event.cause
            while at is not None and at in events and at not in writes and events[at].kind in ("serve", "admission"):
                at = events[at].cause
            if at in writes and at in events and mark_of(events[at]) in ("write", "request"):
                old = before.get("objects", {})
                found.append((event.seq, not any(name in old for name in focus_of(event))))
        before = moment.state
    return found


# -- encoding --------------------------------------------------------------------------------------


def encode(
    chosen: Chosen,
    state0: Mapping[str, Any],
    events: Mapping[int, TraceEvent],
    *,
    title: str,
    views: Sequence[str] = ("lanes",),
    ready: Iterable[str] = (),
) -> dict[str, Any]:
    """Frames, schema version 1. `events`: every event by number, to link causes past those left out.

    `ready`: lanes that must have a row although nothing happened in them. ValueError: a title over 40 characters.
    """
    if len(title) > TITLE:
        raise ValueError(f"title {title!r}: {len(title)} characters, expected at most {TITLE}")
    fold = folded([*(lane_of(m.event.actor) for m in chosen.kept), *ready])
    display = Display(chosen.kept, state0, fold)
    links = _Links(events, [m.event.seq for m in chosen.kept])
    before = display.state(state0, ())
    frames: dict[str, Any] = {
        "v": 1,
        "title": title,
        "views": list(views),
        "lanes": [lane._asdict() for lane in lanes_of(fold.values())],
        "state0": before,
        "steps": [],
    }
    for moment, state in display.states():
        step = _step(moment.event, links, fold, state)
        if moment.event.seq in chosen.main:
            step["level"] = 1
        if difference := delta(before, state):
            step["d"] = difference
        frames["steps"].append(step)
        before = state
    if chosen.cut:
        frames["cut"] = chosen.cut
    return frames


def _step(event: TraceEvent, links: _Links, fold: Mapping[str, str], state: State) -> dict[str, Any]:
    label, text = words(event)
    lane = lane_of(event.actor)
    step: dict[str, Any] = {
        "seq": event.seq,
        "t": event.now_ms,
        "actor": fold.get(lane, lane),
        "kind": mark_of(event),
        "label": label,
        "text": text,
    }
    cause = links.nearest(event.cause)
    if cause is not None:
        step["cause"] = cause
    also = {links.nearest(seq): None for seq in event.also}
    more = [seq for seq in also if seq is not None and seq not in (cause, event.seq)][:MOST_ALSO]
    if more:
        step["also"] = more
    objects = state.get("objects", {})
    focus = next((name for name in focus_of(event) if name in objects), None)
    if focus is not None:
        step["focus"] = focus
        if event.kind in READS:
            step["reads"] = list(READS[event.kind])
    return step


class _Links:
    """Causes among the kept events only."""

    def __init__(self, events: Mapping[int, TraceEvent], kept: Iterable[int]) -> None:
        self._events = events
        self._kept = set(kept)

    def nearest(self, seq: int | None) -> int | None:
        """The event itself if it is kept, else its nearest cause that is."""
        while seq is not None and seq not in self._kept:
            event = self._events.get(seq)
            seq = event.cause if event is not None else None
        return seq


def delta(old: Any, new: Any, path: tuple[Any, ...] = ()) -> list[list[Any]]:
    """What turns `old` into `new`: `[path, value]` sets, `[path]` deletes. Identical parts are not looked into."""
    if old is new or old == new:
        return []
    if isinstance(old, dict) and isinstance(new, dict):
        out: list[list[Any]] = [[[*path, key]] for key in old if key not in new]
        for key, value in new.items():
            out += delta(old[key], value, (*path, key)) if key in old else [[[*path, key], value]]
        return out
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [one for n, (a, b) in enumerate(zip(old, new, strict=True)) for one in delta(a, b, (*path, n))]
    return [[list(path), new]]


def expand(frames: Mapping[str, Any]) -> list[State]:
    """The state after each step, as the page computes it."""
    states = []
    state = frames["state0"]
    for step in frames["steps"]:
        for path, *value in step.get("d", ()):
            state = _put(state, path, value)
        states.append(state)
    return states


def _put(node: Any, path: Sequence[Any], value: Sequence[Any]) -> Any:
    if not path:
        return value[0]
    copy = list(node) if isinstance(node, list) else dict(node)
    key = path[0]
    if len(path) == 1 and not value:
        del copy[key]
    else:
        copy[key] = _put(None if len(path) == 1 else node[key], path[1:], value)
    return copy
