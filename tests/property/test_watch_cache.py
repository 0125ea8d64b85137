"""The watch cache against a naive twin: a list at a revision, plus the watch from there, is the later list."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from k8slab.api.errors import ExpiredError
from k8slab.api.fields import parse_field_selector
from k8slab.api.labels import parse_selector
from k8slab.api.objects import freeze
from k8slab.apiserver import CacheWatch, WatchCache
from k8slab.sim import Clock
from tests.counts import examples

NAMES = st.sampled_from(["d/a", "d/b", "d/c", "e/a"])
CHANGES = st.lists(
    st.tuples(
        NAMES, st.sampled_from(["put", "delete"]), st.sampled_from(["x", "y"]), st.sampled_from(["n1", "n2", ""])
    ),
    max_size=40,
)
SELECTORS = st.tuples(
    st.sampled_from(["", "d/"]), st.sampled_from(["", "l=x", "l!=x"]), st.sampled_from(["", "spec.nodeName=n1"])
)


def attributes(obj: Any) -> dict[str, str]:
    return {"spec.nodeName": obj["spec"]["nodeName"]}


def play(cache: WatchCache, changes: Any, clock: Clock) -> list[dict[str, Any]]:
    """Apply changes; the naive twin is the list of all states, by revision (the first is 1)."""
    states: list[dict[str, Any]] = [{}]
    for key, op, label, node in changes:
        state = dict(states[-1])
        if op == "delete" and key not in state:
            continue
        revision = len(states) + 1
        clock.now_ms += 7
        if op == "delete":
            del state[key]
            cache.apply(key, None, revision)
        else:
            namespace, name = key.split("/")
            metadata = {"name": name, "namespace": namespace, "labels": {"l": label}, "resourceVersion": str(revision)}
            state[key] = freeze({"metadata": metadata, "spec": {"nodeName": node}})
            cache.apply(key, state[key], revision)
        states.append(state)
    return states


def make(**options: Any) -> tuple[WatchCache, Clock]:
    clock = Clock()
    cache = WatchCache("pods", clock, attributes=attributes, index_field="spec.nodeName", **options)
    cache.replace({}, 1)
    return cache, clock


def watch_on(cache: WatchCache, selection: Any) -> CacheWatch:
    prefix, labels, fields = selection
    return CacheWatch(
        cache, prefix=prefix, label_selector=parse_selector(labels), field_selector=parse_field_selector(fields)
    )


def selected(state: dict[str, Any], selection: Any) -> dict[str, Any]:
    prefix, labels, fields = selection
    chosen = {}
    for key, obj in state.items():
        label = obj["metadata"]["labels"]["l"]
        if not key.startswith(prefix) or (labels == "l=x" and label != "x") or (labels == "l!=x" and label == "x"):
            continue
        if fields and obj["spec"]["nodeName"] != "n1":
            continue
        chosen[key] = obj
    return chosen


def replay(state: dict[str, Any], watch: CacheWatch) -> dict[str, Any]:
    """The state after the events of a watch, as a client would keep it; events must fit what the client holds."""
    state, last = dict(state), 0
    for event in watch.pending:
        metadata = event.object["metadata"]
        key = f"{metadata['namespace']}/{metadata['name']}"
        assert int(metadata["resourceVersion"]) == event.revision > last
        last = event.revision
        assert (event.type == "ADDED") == (key not in state), f"{event.type} {key}"
        if event.type == "DELETED":
            del state[key]
        else:
            state[key] = event.object
    return state


@settings(max_examples=examples(150), deadline=None)
@given(CHANGES, SELECTORS, st.integers(0, 40))
def test_a_list_and_the_watch_from_its_revision_give_the_later_list(changes: Any, selection: Any, at: int) -> None:
    cache, clock = make()
    states = play(cache, changes, clock)
    at = min(at, len(states) - 1)
    past = watch_on(cache, selection)
    cache.start(past, at + 1)
    assert replay(selected(states[at], selection), past) == selected(states[-1], selection)
    cache.check_invariants()


@settings(max_examples=examples(150), deadline=None)
@given(CHANGES, CHANGES, SELECTORS)
def test_a_watch_that_begins_with_the_present_follows_the_future(first: Any, second: Any, selection: Any) -> None:
    cache, clock = make()
    states = play(cache, first, clock)
    watch = watch_on(cache, selection)
    cache.start(watch, None)
    initial = {f"{e.object['metadata']['namespace']}/{e.object['metadata']['name']}": e.object for e in watch.pending}
    assert initial == selected(states[-1], selection)
    watch.pending.clear()
    state = states[-1]
    base = len(states)
    for key, op, label, node in second:
        if op == "delete" and key not in state:
            continue
        base += 1
        namespace, name = key.split("/")
        metadata = {"name": name, "namespace": namespace, "labels": {"l": label}, "resourceVersion": str(base)}
        obj = None if op == "delete" else freeze({"metadata": metadata, "spec": {"nodeName": node}})
        cache.apply(key, obj, base)
        state = {k: v for k, v in {**state, key: obj}.items() if v is not None}
    assert replay(initial, watch) == selected(state, selection)


@settings(max_examples=examples(100), deadline=None)
@given(CHANGES)
def test_the_state_at_every_revision_is_what_it_was(changes: Any) -> None:
    cache, clock = make()
    states = play(cache, changes, clock)
    for index, state in enumerate(states):
        assert cache.state_at(index + 1) == state


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(NAMES, min_size=101, max_size=140), st.integers(1, 140))
def test_dropped_history_is_refused_and_never_told_wrongly(keys: Any, since: int) -> None:
    cache, clock = make(capacity=100)
    states = play(cache, [(key, "put", "x", "") for key in keys], clock)
    since = min(since, len(states))
    watch = CacheWatch(cache)
    try:
        cache.start(watch, since)
    except ExpiredError:
        assert since < cache.oldest
    else:
        assert replay(states[since - 1], watch) == states[-1]
