"""A scheduling queue as steps: what is told, and that the picture is the queue's state."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from k8slab.scheduler import QueueStory
from k8slab.widgets import Stepper, expand


def told(*operations: str) -> list[str]:
    story = QueueStory(operations)
    while story.step():
        story.check_invariants()
    return [event.message for event in story.trace]


def lanes(story: QueueStory) -> dict[str, str]:
    return {name: pod["lane"] for name, pod in story.view()["queue"]["pods"].items()}


def done(*operations: str) -> QueueStory:
    story = QueueStory(operations)
    while story.step():
        pass
    return story


def test_an_event_that_the_rejecting_plugin_did_not_register_for_moves_nobody() -> None:
    """Upstream: NodeResourcesFit registers for Node Add and UpdateNodeAllocatable (fit.go, EventsToRegister)."""
    messages = told("node small cpu=1", "pod web cpu=2", "next", "node small cpu=1 label=disk:ssd")
    assert messages[-1] == "NodeUpdateNodeLabel leaves Pod web alone: NodeResourcesFit did not ask for it"


def test_a_hint_says_queue_skip_where_more_of_a_resource_is_not_enough() -> None:
    messages = told("node small cpu=1", "pod web cpu=4", "next", "node small cpu=2")
    assert messages[-1] == "NodeUpdateNodeAllocatable leaves Pod web alone: NodeResourcesFit says QueueSkip"


def test_an_event_during_the_flight_is_not_lost() -> None:
    story = done("node small cpu=1", "pod web cpu=2", "pop", "node big cpu=4", "decide")
    messages = [event.message for event in story.trace]
    assert "NodeAdd is noted for Pod web, which is in flight: if it comes back, it is asked about it" in messages
    assert messages[-1] == (
        "ScheduleAttemptFailure puts Pod web into Backoff: what NodeResourcesFit waits for came in flight"
    )
    assert lanes(story) == {"web": "Backoff"}


def test_an_irrelevant_event_during_the_flight_leaves_the_pod_unschedulable() -> None:
    story = done("node small cpu=1", "pod web cpu=2", "pop", "node small cpu=1 label=a:b", "decide")
    assert lanes(story) == {"web": "Unschedulable"}


def test_the_more_important_pod_is_taken_first_and_equals_by_age() -> None:
    messages = told("node n cpu=8", "pod a", "pod b priority=5", "pod c priority=5", "next", "next", "next")
    taken = [m.split()[4] for m in messages if m.startswith("the scheduler takes")]
    assert taken == ["b", "c", "a"]


def test_an_assumed_pod_counts_before_it_is_bound_and_no_longer_when_it_was_refused() -> None:
    story = done("node n cpu=4", "pod a cpu=3", "pod b cpu=3", "pop", "decide", "next")
    assert lanes(story) == {"a": "Placed", "b": "Unschedulable"}
    assert story.view()["queue"]["nodes"] == {"n": {"used": 3000, "has": 4000}}
    story.do("refused a")
    assert lanes(story) == {"a": "Backoff", "b": "Backoff"}
    assert story.view()["queue"]["nodes"] == {"n": {"used": 0, "has": 4000}}


def test_a_gated_pod_waits_until_its_gates_are_gone() -> None:
    story = done("node n cpu=4", "pod a gate=example.com/quota")
    assert lanes(story) == {"a": "Unschedulable"}
    story.do("ungate a")
    assert lanes(story) == {"a": "Active"}


def test_who_has_waited_for_more_than_five_minutes_is_brought_back() -> None:
    """The pool is looked through every 30 s: at 300 s the wait is not longer than 5 minutes, at 330 s it is."""
    story = done("node small cpu=1", "pod web cpu=2", "next", "wait 329s")
    assert lanes(story) == {"web": "Unschedulable"}
    story.do("wait 1s")
    assert lanes(story) == {"web": "Active"}
    assert "it has waited for more than 5 minutes" in list(story.trace)[-2].message


def test_a_move_is_caused_by_the_change_and_the_end_of_a_backoff_by_its_beginning() -> None:
    story = done("node s cpu=1", "pod a cpu=2", "pod b cpu=2", "next", "next", "node big cpu=4", "wait 2s")
    events = list(story.trace)
    change = next(e for e in events if e.message == "the cluster changes: node big is there")
    moves = [e for e in events if e.message.startswith("NodeAdd puts")]
    assert [e.cause for e in moves] == [change.seq, change.seq]
    ends = [e for e in events if e.message.startswith("BackoffComplete")]
    assert [e.cause for e in ends] == [e.seq for e in moves]


def test_each_step_shows_the_state_after_what_it_tells() -> None:
    stepper = Stepper(QueueStory(["node s cpu=1", "pod a cpu=2", "pod b cpu=2", "next", "next", "node big cpu=4"]))
    states = dict(zip((step["text"] for step in stepper.frames["steps"]), expand(stepper.frames), strict=True))
    first = states["NodeAdd puts Pod a into Backoff: NodeResourcesFit says Queue."]["queue"]["pods"]
    assert (first["a"]["lane"], first["b"]["lane"]) == ("Backoff", "Unschedulable")
    assert "big" in states["The cluster changes: node big is there."]["queue"]["nodes"]


@pytest.mark.parametrize(
    "operation",
    ["", "fly", "node", "pop web", "wait", "wait soon", "pod a colour=red", "pod a priority=high", "node n port=1"],
)
def test_an_operation_that_is_not_understood_is_refused_with_what_was_expected(operation: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        QueueStory([operation])


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        ("pop", "pop: no Pod is active or backs off"),
        ("decide", "decide: no Pod was popped, expected `pop` first"),
        ("bound web", "pod 'web': not there, expected `pod web` first"),
        (
            "pod web cpu=abc",
            "operation 'pod web cpu=abc': cpu is 'abc', expected an amount such as 2 or 500m, not below 0",
        ),
        ("node n cpu=-1", "operation 'node n cpu=-1': cpu is '-1', expected an amount such as 2 or 500m, not below 0"),
        (
            "node n taint=gpu:NoSchedul",
            "operation 'node n taint=gpu:NoSchedul': taint is 'gpu:NoSchedul', expected a key, or KEY:EFFECT with one "
            "of NoSchedule, PreferNoSchedule, NoExecute",
        ),
        ("pod web port=0", "operation 'pod web port=0': port is '0', expected a whole number from 1 to 65535"),
        ("pod web priority=--5", "operation 'pod web priority=--5': priority is '--5', expected a whole number"),
    ],
)
def test_an_operation_that_cannot_be_done_now_says_why(operation: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        QueueStory().do(operation)
    assert str(caught.value) == message


def test_only_one_pod_is_decided_at_a_time() -> None:
    with pytest.raises(ValueError, match="pop: the scheduler is busy with a, expected `decide` first"):
        done("node n", "pod a", "pod b", "pop", "pop")


OPERATIONS = st.lists(
    st.sampled_from(
        [
            *(f"node n{n} cpu={cpu}" for n in (1, 2) for cpu in (1, 4)),
            *(f"pod p{n} cpu={cpu}" for n in range(4) for cpu in (1, 3)),
            "pod g gate=x",
            "ungate g",
            "pop",
            "decide",
            "next",
            "wait 1s",
            "wait 12s",
            "wait 400s",
            *(f"{verb} p{n}" for verb in ("bound", "refused", "delete") for n in range(4)),
        ]
    ),
    max_size=40,
)


@given(OPERATIONS)
def test_whatever_is_done_the_picture_is_the_state(operations: list[str]) -> None:
    story = QueueStory()
    for operation in operations:
        try:
            story.do(operation)
        except ValueError as error:
            assert "expected" in str(error) or "no Pod is active" in str(error)
        story.check_invariants()


@pytest.mark.parametrize(
    ("taint", "lane"),
    [("gpu", "Placed"), ("gpu:NoSchedule", "Placed"), ("gpu:NoExecute", "Placed"), ("tpu:NoExecute", "Unschedulable")],
)
def test_a_taint_may_name_its_effect(taint: str, lane: str) -> None:
    assert lanes(done(f"node n taint={taint}", "pod web tolerates=gpu", "next")) == {"web": lane}


def test_a_preferred_taint_keeps_nobody_away() -> None:
    assert lanes(done("node n taint=gpu:PreferNoSchedule", "pod web", "next")) == {"web": "Placed"}
