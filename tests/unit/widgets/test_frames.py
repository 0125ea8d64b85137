"""Frames: states survive the encoding, causes stay connected, budgets hold."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from k8slab.sim import KINDS, TraceEvent
from k8slab.widgets.display import Display, trimmed
from k8slab.widgets.frames import Chosen, Moment, Recorder, choose, delta, encode, expand
from k8slab.widgets.story import folded, is_noise, lane_of
from tests.counts import examples
from tests.toy_cluster import ToyCluster

leaves = st.none() | st.booleans() | st.integers(-3, 3) | st.text("ab/.", max_size=3)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab/.", max_size=2), inner, max_size=3)
)
maps = st.dictionaries(st.text("abc/.", max_size=2), values, max_size=4)


def recorded(pods: int = 3, nodes: int = 3) -> Recorder:
    recorder = Recorder(ToyCluster(pods, nodes))
    recorder.run()
    return recorder


def frames_of(recorder: Recorder, chosen: Chosen | None = None) -> dict[str, Any]:
    events = {m.event.seq: m.event for m in recorder.moments}
    return encode(chosen or choose(recorder.moments), recorder.state0, events, title="A test")


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(maps, min_size=1, max_size=5))
def test_deltas_expand_to_the_states_they_were_taken_from(states: list[dict[str, Any]]) -> None:
    pairs = zip([states[0], *states], states, strict=False)
    steps = [{"d": delta(before, after)} for before, after in pairs]
    frames = json.loads(json.dumps({"state0": states[0], "steps": steps}))
    assert expand(frames) == states


@settings(max_examples=examples(100), deadline=None)
@given(maps, maps)
def test_a_delta_names_only_what_differs(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert (delta(before, after) == []) == (before == after)
    assert delta(after, after) == []


def test_the_states_of_a_run_survive_the_encoding() -> None:
    recorder = recorded()
    chosen = choose(recorder.moments)
    display = Display(chosen.kept, recorder.state0, {m: m for m in {lane_of(x.event.actor) for x in chosen.kept}})
    wanted = [state for _, state in display.states()]
    assert expand(json.loads(json.dumps(frames_of(recorder, chosen)))) == json.loads(json.dumps(wanted))


def test_the_last_state_has_the_objects_of_the_store() -> None:
    recorder = recorded(pods=2)
    objects = expand(frames_of(recorder))[-1]["objects"]
    store = recorder.thing.view()["objects"]
    assert objects == {name: trimmed(obj) for name, obj in store.items()}


def test_an_object_appears_with_the_commit_that_made_it() -> None:
    frames = frames_of(recorded())
    states = [frames["state0"], *expand(frames)]
    for before, after, step in zip(states, states[1:], frames["steps"], strict=False):
        if before["objects"] != after["objects"]:
            assert step["kind"] == "commit"
    assert sum(a["objects"] != b["objects"] for a, b in pairwise(states)) == 2 + 3 * 3


def test_what_happened_before_is_rebuilt_from_the_history() -> None:
    toy = ToyCluster()
    while toy.step():
        pass
    past = Recorder(toy, since=toy.started_seq)
    assert frames_of(past) == frames_of(recorded())


def test_recording_can_start_in_the_past_and_go_on() -> None:
    toy = ToyCluster()
    for _ in range(20):
        toy.step()
    recorder = Recorder(toy, since=toy.started_seq)
    recorder.run()
    assert frames_of(recorder) == frames_of(recorded())


# -- causes ----------------------------------------------------------------------------------------


def ancestors(events: dict[int, TraceEvent], seq: int | None) -> list[int]:
    walk = []
    while seq is not None and seq in events:
        walk.append(seq)
        seq = events[seq].cause
    return walk


@pytest.mark.parametrize("only", [(), ("kcm/replicaset", "scheduler"), ("etcd",)], ids=str)
def test_every_cause_is_the_nearest_kept_ancestor(only: tuple[str, ...]) -> None:
    recorder = recorded()
    events = {m.event.seq: m.event for m in recorder.moments}
    frames = frames_of(recorder, choose(recorder.moments, only=only))
    kept = [step["seq"] for step in frames["steps"]]
    assert kept == sorted(kept)
    for step in frames["steps"]:
        shown = [seq for seq in ancestors(events, events[step["seq"]].cause) if seq in kept]
        assert step.get("cause") == (shown[0] if shown else None)


def test_further_causes_are_kept_and_are_earlier_steps() -> None:
    steps = frames_of(recorded())["steps"]
    seqs = {step["seq"] for step in steps}
    also = [(step["seq"], more) for step in steps for more in step.get("also", ())]
    assert len(also) == 1 + 2  # the second sync merges one add, the third two
    assert all(more in seqs and more < seq for seq, more in also)


# -- budgets ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pods", "most"), [(3, 30), (12, 30), (30, 30), (12, 10)])
def test_the_main_story_is_not_longer_than_asked(pods: int, most: int) -> None:
    chosen = choose(recorded(pods).moments, main=most)
    assert 0 < len(chosen.main) <= most


def test_the_main_story_is_thinned_in_the_middle_of_what_repeats() -> None:
    moments = recorded(pods=30).moments
    chosen = choose(moments, main=12)
    ones = [m.event for m in moments if m.event.kind == "pod.running"]
    assert ones[0].seq in chosen.main
    assert ones[-1].seq in chosen.main
    kinds = {m.event.kind for m in moments if KINDS[m.event.kind].level == 1}
    assert {m.event.kind for m in moments if m.event.seq in chosen.main} == kinds


def test_commits_join_the_main_story_where_there_is_room() -> None:
    recorder = recorded()
    by_seq = {m.event.seq: m.event for m in recorder.moments}
    few, many = choose(recorder.moments, main=9), choose(recorder.moments, main=30)
    assert not any(by_seq[seq].kind == "etcd.commit" for seq in few.main)
    assert sum(by_seq[seq].kind == "etcd.commit" for seq in many.main) == 2 + 3 * 2  # creations and bindings


@pytest.mark.parametrize("steps", [400, 100, 20])
def test_there_are_not_more_steps_than_asked(steps: int) -> None:
    moments = recorded(pods=40).moments
    chosen = choose(moments, steps=steps)
    assert len(chosen.kept) <= steps
    assert chosen.main <= {m.event.seq for m in chosen.kept}
    if chosen.cut:
        assert frames_of(recorded(pods=40), chosen)["cut"] == chosen.cut


def test_details_go_before_the_end_does() -> None:
    moments = recorded(pods=40).moments
    assert choose(moments, steps=len(moments) - 5).cut == 0


def test_a_run_of_three_pods_is_light() -> None:
    assert len(json.dumps(frames_of(recorded()), separators=(",", ":"))) < 25_000


def test_a_title_that_does_not_fit_is_refused() -> None:
    recorder = recorded()
    with pytest.raises(ValueError, match=r"title .*: 41 characters, expected at most 40"):
        encode(choose(recorder.moments), recorder.state0, {}, title="x" * 41)


# -- what is shown ---------------------------------------------------------------------------------


def event(kind: str, actor: str = "apiserver", **data: Any) -> TraceEvent:
    return TraceEvent(0, 0, 0, actor, kind, data, None, ())


@pytest.mark.parametrize(
    ("given_event", "noise"),
    [
        (event("lease.renew", resource="leases.coordination.k8s.io"), True),
        (event("etcd.commit", resource="leases.coordination.k8s.io", key="a/b"), True),
        (event("write", resource="events", key="default/web.1"), True),
        (event("request", resource="pods", verb="list"), True),
        (event("serve", resource="pods", verb="get"), True),
        (event("watch.event", resource="pods", type="BOOKMARK"), True),
        (event("serve", resource="pods", verb="create"), False),
        (event("etcd.commit", resource="pods", key="a/b"), False),
        (event("response.error", resource="pods", verb="get"), False),
    ],
    ids=lambda value: value.kind + str(dict(value.data)) if isinstance(value, TraceEvent) else "",
)
def test_noise_is_what_a_reader_need_not_see(given_event: TraceEvent, noise: bool) -> None:
    assert is_noise(given_event) is noise


def test_objects_are_shown_without_noise() -> None:
    pod = {
        "metadata": {"name": "a", "managedFields": [{}], "deletionTimestamp": None},
        "spec": {
            "volumes": [{"name": "kube-api-access-x7x7x"}],
            "containers": [{"volumeMounts": [{"name": "data"}, {"name": "kube-api-access-x7x7x"}], "args": []}],
        },
    }
    assert trimmed(pod) == {
        "metadata": {"name": "a"},
        "spec": {"containers": [{"volumeMounts": [{"name": "data"}], "args": []}]},
    }


def test_objects_nobody_touches_are_not_carried() -> None:
    recorder = recorded()
    state = {**recorder.state0, "objects": {**recorder.state0["objects"], "ConfigMap/default/kube-root-ca.crt": {}}}
    moments = [
        Moment(m.event, {**m.state, "objects": {**state["objects"], **m.state["objects"]}}) for m in recorder.moments
    ]
    frames = encode(choose(moments), state, {}, title="t")
    assert set(frames["state0"]["objects"]) == {"Node/node-1", "Node/node-2", "Node/node-3"}


def test_a_lane_holds_its_pods_and_its_queued_keys() -> None:
    frames = frames_of(recorded())
    states = expand(frames)
    assert states[-1]["badges"] == {f"kubelet/node-{n}": ["fill"] for n in (1, 2, 3)}
    queued = next(n for n, step in enumerate(frames["steps"]) if step["kind"] == "queue")
    assert states[queued]["badges"]["kcm/deployment"] == ["outline"]
    assert "kcm/deployment" not in states[queued + 1]["badges"]


def test_many_kubelets_share_a_row() -> None:
    frames = frames_of(recorded(pods=20, nodes=20))
    assert [lane["id"] for lane in frames["lanes"]][-2:] == ["scheduler", "kubelet"]
    assert frames["lanes"][-1]["label"] == "all kubelets"
    assert {step["actor"] for step in frames["steps"]} <= {lane["id"] for lane in frames["lanes"]}
    assert folded(["kubelet/node-1"]) == {"kubelet/node-1": "kubelet/node-1"}
