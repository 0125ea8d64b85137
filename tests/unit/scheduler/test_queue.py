"""The scheduling queue: order, back-off, events, gates, in-flight Pods."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.objects import Object
from k8slab.scheduler import Framework, QueuedPodInfo, QueueName, QueueProfile, SchedulingQueue
from k8slab.scheduler.framework import (
    ASSIGNED_POD_DELETE,
    NODE_ADD,
    ActionType,
    ClusterEvent,
    ClusterEventWithHint,
    EventResource,
    QueueingHint,
)
from tests.scheduling import node, pod

NODE_LABEL = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)


def make(*, moves: list[tuple[str, str, str]] | None = None, **options: Any) -> SchedulingQueue:
    framework = Framework.from_profile()
    events = framework.events_to_register()
    events["Deaf"] = []
    events["Eager"] = [ClusterEventWithHint(NODE_ADD), ClusterEventWithHint(NODE_LABEL)]

    def on_move(info: QueuedPodInfo, event: str, to: QueueName) -> None:
        if moves is not None:
            moves.append((info.key.removeprefix("default/"), event, str(to)))

    return SchedulingQueue(
        framework.queue_sort_plugin,
        {"default-scheduler": QueueProfile(tuple(framework.pre_enqueue_plugins), events)},
        on_move=on_move,
        **options,
    )


def reject(queue: SchedulingQueue, now_ms: int, *plugins: str, pending: tuple[str, ...] = ()) -> QueueName:
    """Pop the next Pod and put it back, rejected by these plugins (none: an error)."""
    info = queue.pop()
    info.unschedulable_plugins = dict.fromkeys(plugins)
    info.pending_plugins = dict.fromkeys(pending)
    where = queue.add_unschedulable(info, now_ms)
    queue.check_invariants()
    return where


def order(queue: SchedulingQueue) -> list[str]:
    names = []
    while queue.has_next:
        info = queue.pop()
        names.append(info.key.removeprefix("default/"))
        queue.done(info.uid)
    return names


def test_the_more_important_pod_comes_first_then_the_older_one() -> None:
    queue = make()
    for now_ms, (name, priority) in enumerate([("a", 0), ("b", 10), ("c", 0), ("d", 10)]):
        queue.add(pod(name, priority=priority), now_ms)
    assert order(queue) == ["b", "d", "a", "c"]


def test_pods_of_one_instant_keep_their_order() -> None:
    queue = make()
    for name in ("b", "a", "c"):
        queue.add(pod(name), 0)
    assert order(queue) == ["b", "a", "c"]


def test_an_empty_queue_has_no_next() -> None:
    with pytest.raises(IndexError, match="empty scheduling queue"):
        make().pop()


def test_a_rejected_pod_waits_for_an_event_that_one_of_its_plugins_registered() -> None:
    queue = make()
    queue.add(pod("a"), 0)
    assert reject(queue, 0, "Eager") is QueueName.UNSCHEDULABLE
    queue.move_all(ASSIGNED_POD_DELETE, pod("x", node_name="n"), None, 10)
    assert queue.where("default/a") is QueueName.UNSCHEDULABLE
    queue.move_all(NODE_ADD, None, node("n"), 20)
    assert queue.where("default/a") is QueueName.BACKOFF


def test_the_plugins_hint_decides() -> None:
    queue = make()
    queue.add(pod("a", cpu="4"), 0)
    reject(queue, 0, "NodeResourcesFit")
    queue.move_all(NODE_ADD, None, node("small", "2"), 10)
    assert queue.where("default/a") is QueueName.UNSCHEDULABLE
    queue.move_all(NODE_ADD, None, node("large", "4"), 10)
    assert queue.where("default/a") is QueueName.BACKOFF


def test_after_its_back_off_an_event_makes_a_pod_active_at_once() -> None:
    queue = make()
    queue.add(pod("a"), 0)
    reject(queue, 0, "Eager")
    queue.move_all(NODE_ADD, None, node("n"), 2_000)
    assert queue.where("default/a") is QueueName.ACTIVE


def test_a_pending_plugins_event_skips_the_back_off() -> None:
    queue = make()
    queue.add(pod("a"), 0)
    reject(queue, 0, pending=("Eager",))
    queue.move_all(NODE_ADD, None, node("n"), 1)
    assert queue.where("default/a") is QueueName.ACTIVE


def test_events_that_happen_during_the_attempt_count() -> None:
    queue = make()
    queue.add(pod("a"), 0)
    queue.add(pod("b"), 0)
    info = queue.pop()
    queue.move_all(NODE_ADD, None, node("n"), 5)
    info.unschedulable_plugins = {"Eager": None}
    assert queue.add_unschedulable(info, 10) is QueueName.BACKOFF
    # Those from before the attempt do not: b is popped after the event.
    assert queue.pop().key == "default/b"


def test_events_nobody_registered_are_not_remembered() -> None:
    queue = make()
    queue.add(pod("a"), 0)
    queue.pop()
    queue.move_all(ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_CONDITION), node("n"), node("n"), 0)
    assert len(queue._log) == 1
    queue.done("uid-default-a")
    assert not queue._log
    queue.check_invariants()


@pytest.mark.parametrize(
    ("failures", "expiry_ms"),
    [
        # Failed at 300 ms; 1 s later it is 1,300: the next full second is 2,000. And so on, never more than 10 s.
        pytest.param(1, 2_000, id="after the first failure one second, to the next full one"),
        pytest.param(2, 3_000, id="after the second failure two seconds"),
        pytest.param(4, 9_000, id="after the fourth failure eight seconds"),
        pytest.param(5, 11_000, id="then ten seconds"),
        pytest.param(50, 11_000, id="and never more"),
    ],
)
def test_back_off_doubles_up_to_ten_seconds(failures: int, expiry_ms: int) -> None:
    queue = make()
    queue.add(pod("a"), 0)
    for _ in range(failures - 1):
        reject(queue, 0, "Deaf")
        queue.activate([pod("a")], 0)
    reject(queue, 300, "Eager")
    queue.move_all(NODE_ADD, None, node("n"), 300)
    assert queue.backoff_due_ms == expiry_ms
    queue.flush(expiry_ms - 1)
    assert queue.where("default/a") is QueueName.BACKOFF
    queue.flush(expiry_ms)
    assert queue.where("default/a") is QueueName.ACTIVE


def test_without_the_gate_back_off_ends_on_the_millisecond() -> None:
    queue = make(pop_from_backoff=False)
    queue.add(pod("a"), 0)
    reject(queue, 300, "Eager")
    queue.move_all(NODE_ADD, None, node("n"), 300)
    assert (queue.backoff_due_ms, queue.has_next) == (1_300, False)


def test_an_idle_scheduler_takes_pods_out_of_back_off() -> None:
    queue = make()
    queue.add(pod("a"), 0)
    reject(queue, 0, "Eager")
    queue.move_all(NODE_ADD, None, node("n"), 1)
    assert queue.where("default/a") is QueueName.BACKOFF
    assert queue.pop().key == "default/a"


def test_pods_of_one_second_leave_back_off_by_priority() -> None:
    queue = make()
    for name, priority in (("low", 1), ("high", 2)):
        queue.add(pod(name, priority=priority), 0)
    for now_ms in (100, 200):  # "high" fails first, so it would be due first
        reject(queue, now_ms, "Eager")
    queue.move_all(NODE_ADD, None, node("n"), 300)
    assert order(queue) == ["high", "low"]


def test_a_pod_that_failed_by_an_error_backs_off_by_itself_and_is_not_taken_early() -> None:
    queue = make()
    queue.add(pod("a"), 0)
    assert reject(queue, 0) is QueueName.BACKOFF
    assert not queue.has_next
    queue.flush(2_000)
    assert queue.has_next


def test_errors_have_a_count_of_their_own_that_a_rejection_resets() -> None:
    queue = make()
    queue.add(pod("a"), 0)
    for now_ms in (0, 2_000):
        reject(queue, now_ms)
        queue.flush(20_000)
    info = queue.get("default/a")
    assert info is not None
    assert (info.consecutive_errors, info.unschedulable_count) == (2, 0)
    reject(queue, 20_000, "Eager")
    assert (info.consecutive_errors, info.unschedulable_count) == (0, 1)


def test_after_five_minutes_every_pod_is_tried_again() -> None:
    queue = make()
    queue.add(pod("a"), 0)
    reject(queue, 1, "Deaf")
    assert queue.flush_due_ms == 30_000
    for now_ms in range(30_000, 300_001, 30_000):
        queue.flush(now_ms)
    assert queue.where("default/a") is QueueName.UNSCHEDULABLE
    queue.flush(330_000)
    assert queue.where("default/a") is QueueName.ACTIVE


def gated(name: str, *gates: str) -> Object:
    return pod(name, schedulingGates=[{"name": gate} for gate in gates])


def test_a_gated_pod_enters_when_its_last_gate_is_gone() -> None:
    moves: list[tuple[str, str, str]] = []
    queue = make(moves=moves)
    first = gated("a", "x", "y")
    queue.add(first, 0)
    assert not queue.has_next
    queue.move_all(NODE_ADD, None, node("n"), 5)
    second = gated("a", "y")
    queue.update(first, second, 10)
    assert queue.where("default/a") is QueueName.UNSCHEDULABLE
    queue.update(second, gated("a"), 20)
    assert queue.where("default/a") is QueueName.ACTIVE
    assert moves == [
        ("a", "UnscheduledPodAdd", "Unschedulable"),
        ("a", "TargetPodUpdatePodSchedulingGatesEliminated", "Active"),
    ]
    queue.check_invariants()


def test_changing_the_pod_itself_can_bring_it_back() -> None:
    queue = make()
    before, after = pod("a", cpu="4"), pod("a", cpu="1")
    queue.add(before, 0)
    reject(queue, 0, "NodeResourcesFit")
    queue.update(before, {**before, "status": {"phase": "Pending"}}, 2_000)
    assert queue.where("default/a") is QueueName.UNSCHEDULABLE
    queue.update(before, after, 2_000)
    assert queue.where("default/a") is QueueName.ACTIVE
    assert queue.pop().pod is after


def test_an_update_in_the_active_queue_can_change_the_order() -> None:
    queue = make()
    queue.add(pod("a"), 0)
    queue.add(pod("b"), 0)
    queue.update(pod("b"), pod("b", priority=5), 1)
    assert order(queue) == ["b", "a"]


def test_deleted_pods_are_gone_from_every_queue() -> None:
    queue = make()
    for name in ("a", "b", "c"):
        queue.add(pod(name), 0)
    reject(queue, 0, "Eager")
    queue.move_all(NODE_ADD, None, node("n"), 0)
    reject(queue, 0, "Deaf")
    for name in ("a", "b", "c"):
        queue.delete(pod(name))
    assert [queue.where(f"default/{name}") for name in ("a", "b", "c")] == [None, None, None]
    queue.check_invariants()


def test_activate_brings_pods_back_now_or_when_they_return() -> None:
    queue = make()
    queue.add(pod("a"), 0)
    queue.add(pod("b"), 0)
    reject(queue, 0, "Deaf")
    flying = queue.pop()
    queue.activate([pod("a"), pod("b"), pod("unknown")], 1)
    assert queue.where("default/a") is QueueName.ACTIVE
    flying.unschedulable_plugins = {"Deaf": None}
    assert queue.add_unschedulable(flying, 1) is QueueName.BACKOFF
    assert queue.where("default/unknown") is None


def test_a_pod_cannot_be_put_back_twice() -> None:
    queue = make()
    queue.add(pod("a"), 0)
    info = queue.pop()
    info.unschedulable_plugins = {"Deaf": None}
    queue.add_unschedulable(info, 0)
    with pytest.raises(ValueError, match="already present in the queue Unschedulable"):
        queue.add_unschedulable(info, 0)


def test_a_hint_is_only_asked_of_plugins_that_rejected() -> None:
    asked: list[str] = []

    def hint(pod: Object, old: Object | None, new: Object | None) -> QueueingHint:
        asked.append(pod["metadata"]["name"])
        return QueueingHint.QUEUE

    framework = Framework.from_profile()
    events = {"One": [ClusterEventWithHint(NODE_ADD, hint)], "Two": [ClusterEventWithHint(NODE_ADD)]}
    queue = SchedulingQueue(framework.queue_sort_plugin, {"default-scheduler": QueueProfile((), events)})
    for name in ("a", "b"):
        queue.add(pod(name), 0)
    reject(queue, 0, "One")
    reject(queue, 0, "Other")
    queue.move_all(NODE_ADD, None, node("n"), 5)
    assert asked == ["a"]
    assert queue.where("default/b") is QueueName.UNSCHEDULABLE


def test_the_view_names_every_pod_and_why_it_is_there() -> None:
    queue = make()
    queue.add(pod("a"), 0)
    queue.add(gated("b", "x"), 0)
    reject(queue, 0, "Deaf")
    view = queue.view()
    assert view["unschedulable"]["default/a"]["rejected_by"] == ["Deaf"]
    assert view["unschedulable"]["default/b"]["gated_by"] == "SchedulingGates"
