"""The controller loop: syncs, retries, giving up, bugs, crashes."""

from __future__ import annotations

import pytest

from k8slab.api.errors import AlreadyExistsError, ConflictError, StatusError
from k8slab.api.scheme import PODS
from k8slab.client import Client, ConsistencyError, SharedInformer, WorkQueue, is_retriable, run_workers
from k8slab.client.workqueue import ItemExponentialFailureRateLimiter
from k8slab.sim.component import Component
from k8slab.sim.loop import Loop, sleep
from tests.fakes import FakeTransport


class World:
    def __init__(self) -> None:
        self.loop = Loop(seed=1)
        self.kcm = Component(self.loop, "kcm")
        self.queue = WorkQueue(self.loop, "web", ItemExponentialFailureRateLimiter(5, 1000), lane="kcm/web")
        self.synced: list[tuple[int, str]] = []
        self.errors: list[Exception] = []

    async def sync(self, key: str) -> None:
        self.synced.append((self.loop.clock.now_ms, key))
        if self.errors:
            raise self.errors.pop(0)

    def of_kind(self, kind: str) -> list[dict[str, object]]:
        return [dict(event.data) for event in self.loop.trace if event.kind == kind]


def test_a_failed_sync_is_tried_again_with_growing_delays_and_forgotten_when_it_succeeds() -> None:
    world = World()
    world.errors = [
        ConflictError.of("pods", "a", "it changed"),
        TimeoutError("no answer"),
        ConsistencyError("1", "2", "pods"),
    ]
    run_workers(world.kcm, world.queue, world.sync)
    world.queue.add("default/a")
    world.loop.run(for_ms=1000)
    assert world.synced == [(0, "default/a"), (5, "default/a"), (15, "default/a"), (35, "default/a")]
    assert world.queue.num_requeues("default/a") == 0
    assert [data["retry_ms"] for data in world.of_kind("sync.error")] == [5, 10, 20]
    assert [data["attempt"] for data in world.of_kind("sync")] == [1, 2, 3, 4]
    world.queue.check_invariants()


def test_after_the_last_allowed_retry_a_key_is_given_up_and_its_failures_are_forgotten() -> None:
    world = World()
    world.errors = [ConflictError("again") for _ in range(10)]
    run_workers(world.kcm, world.queue, world.sync, max_retries=2)
    world.queue.add("a")
    world.loop.run(for_ms=1000)
    assert len(world.synced) == 3
    assert world.of_kind("sync.drop") == [{"queue": "web", "key": "a", "error": "again", "attempts": 3}]
    assert world.queue.num_requeues("a") == 0
    world.queue.add("a")
    world.loop.run(for_ms=0)
    assert len(world.synced) == 4


def test_a_bug_in_a_sync_stops_the_loop_with_the_worker_s_name_and_leaves_the_key_done() -> None:
    world = World()
    world.errors = [ZeroDivisionError("bug")]
    run_workers(world.kcm, world.queue, world.sync)
    world.queue.add("a")
    with pytest.raises(ZeroDivisionError) as caught:
        world.loop.run(for_ms=10)
    assert any("kcm/web/worker" in note for note in caught.value.__notes__)
    assert not world.queue.queue.processing


def test_the_event_of_a_sync_names_the_adds_that_led_to_it() -> None:
    world = World()
    seqs = []
    for _ in range(2):
        world.loop.trace.current = None
        seqs.append(world.loop.trace.emit("cache.resync", "x", resource="pods", count=1))
        world.queue.add("a")
    world.loop.trace.current = None
    run_workers(world.kcm, world.queue, world.sync)
    world.loop.run(for_ms=0)
    (sync,) = [event for event in world.loop.trace if event.kind == "sync"]
    assert sync.cause is not None
    assert world.loop.trace[sync.cause].kind == "queue.add"
    assert world.loop.trace[sync.cause].cause == seqs[0]
    assert sync.also == (seqs[1],)


def test_a_retry_is_caused_by_the_error_before_it() -> None:
    world = World()
    world.errors = [ConflictError("again")]
    run_workers(world.kcm, world.queue, world.sync)
    world.queue.add("a")
    world.loop.run(for_ms=10)
    last = [event for event in world.loop.trace if event.kind == "sync"][-1]
    walk = [event.kind for event in world.loop.trace.causes(last.seq)]
    assert walk == ["sync", "queue.add", "sync.error", "sync", "queue.add"]


def test_workers_wait_until_their_informers_have_synced() -> None:
    world = World()
    server = FakeTransport(world.loop, latency_ms=20)
    informer = SharedInformer(world.loop, world.kcm, Client(server), PODS)
    run_workers(world.kcm, world.queue, world.sync, informers=[informer])
    world.queue.add("a")
    world.loop.run(for_ms=10)
    assert world.synced == []
    informer.start()
    world.loop.run(for_ms=100)
    assert world.synced == [(50, "a")]


def test_several_workers_work_at_the_same_time_but_never_on_the_same_key() -> None:
    world = World()
    running: list[str] = []
    most: list[int] = []

    async def sync(key: str) -> None:
        assert key not in running
        running.append(key)
        most.append(len(running))
        await sleep(10)
        running.remove(key)

    tasks = run_workers(world.kcm, world.queue, sync, workers=2)
    assert [task.name for task in tasks] == ["kcm/web/worker-0", "kcm/web/worker-1"]
    for key in ("a", "b", "c"):
        world.queue.add(key)
    world.loop.run(for_ms=5)
    world.queue.add("a")
    world.loop.run(for_ms=100)
    assert max(most) == 2
    assert len(most) == 4


def test_a_killed_component_takes_no_more_keys_and_its_delayed_ones_leave_no_trace() -> None:
    world = World()
    run_workers(world.kcm, world.queue, world.sync)
    world.queue.add_after("a", 10)
    world.loop.run(for_ms=1)
    world.kcm.kill()
    before = len(world.loop.trace)
    world.queue.add("b")
    world.loop.run(for_ms=100)
    assert (world.synced, len(world.loop.trace)) == ([], before)


def test_workers_end_when_the_queue_is_shut_down() -> None:
    world = World()
    (task,) = run_workers(world.kcm, world.queue, world.sync)
    world.queue.add("a")
    world.queue.shut_down()
    world.loop.run(for_ms=1)
    assert task.done
    assert world.synced == [(0, "a")]


def test_a_lost_reply_to_a_create_is_a_timeout_and_the_retry_finds_the_object() -> None:
    world = World()
    server = FakeTransport(world.loop)
    client = Client(server)
    server.lose_reply("create", PODS)

    async def sync(key: str) -> None:
        namespace, name = key.split("/")
        await client.create(PODS, {"metadata": {"name": name, "namespace": namespace}})

    run_workers(world.kcm, world.queue, sync, max_retries=1)
    world.queue.add("default/a")
    world.loop.run(for_ms=100)
    assert len(server.of(PODS)) == 1
    assert "no answer" in str(world.of_kind("sync.error")[0]["error"])
    assert "already exists" in str(world.of_kind("sync.drop")[0]["error"])


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (StatusError("x"), True),
        (TimeoutError("x"), True),
        (ExceptionGroup("two", [AlreadyExistsError("x"), TimeoutError("x")]), True),
        (ExceptionGroup("two", [AlreadyExistsError("x"), KeyError("x")]), False),
        (KeyError("x"), False),
    ],
    ids=["an API error", "a timeout", "a group of these", "a group with a bug in it", "a bug"],
)
def test_what_is_tried_again(error: Exception, expected: bool) -> None:
    assert is_retriable(error) is expected
