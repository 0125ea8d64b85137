"""The worker loop of every controller: take a key, sync it, try again later if that failed.

Upstream: staging/src/k8s.io/sample-controller/controller.go (processNextWorkItem), as in every controller of
pkg/controller
Simplified: an error that is neither an API error nor a timeout stops the simulation (upstream logs it and goes on).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from k8slab.api.errors import StatusError
from k8slab.client.consistency_store import ConsistencyError
from k8slab.client.shared_informer import SharedInformer
from k8slab.client.workqueue.rate_limiting_queue import WorkQueue
from k8slab.sim.component import Component
from k8slab.sim.loop import Task

__all__ = ["RETRIABLE", "is_retriable", "run_workers"]

RETRIABLE = (StatusError, TimeoutError, ConsistencyError)
"""Failures of a sync that are tried again. Anything else is a bug, and stops the loop."""


def is_retriable(error: BaseException) -> bool:
    """One of `RETRIABLE`, or an ExceptionGroup of nothing else."""
    if isinstance(error, ExceptionGroup):
        return all(is_retriable(inner) for inner in error.exceptions)
    return isinstance(error, RETRIABLE)


def run_workers(
    component: Component,
    queue: WorkQueue,
    sync: Callable[[str], Awaitable[None]],
    workers: int = 1,
    lane: str | None = None,
    max_retries: int | None = None,
    informers: Iterable[SharedInformer] = (),
) -> list[Task]:
    """Start `workers` tasks that sync the keys of `queue`. They begin when `informers` have synced.

    A sync that fails with one of `RETRIABLE` is tried again as the queue's rate limiter says, at most `max_retries`
    times (None: for ever). `lane` (the queue's if None) is the actor of the trace events `sync` and `sync.error`; the
    tasks are called `<lane>/worker`, or `<component>/<queue>/worker` if the lane is not the component's. The queue
    is shut down when the component is killed.
    """
    actor = queue.lane if lane is None else lane
    prefix = f"{component.name}/"
    role = actor.removeprefix(prefix) if actor.startswith(prefix) else queue.name
    waits = tuple(informers)

    async def work() -> None:
        for informer in waits:
            await informer.wait_synced()
        while await process_next_work_item(queue, sync, actor, max_retries):
            pass

    component.on_close(queue.shut_down)
    names = [f"{role}/worker" if workers == 1 else f"{role}/worker-{number}" for number in range(workers)]
    return [component.spawn(name, work()) for name in names]


async def process_next_work_item(
    queue: WorkQueue, sync: Callable[[str], Awaitable[None]], actor: str, max_retries: int | None = None
) -> bool:
    """Get one key and sync it. False: the queue is shut down and empty."""
    key = await queue.get()
    if key is None:
        return False
    queue.loop.trace.emit(
        "sync",
        actor,
        also=queue.take_merged(),
        queue=queue.name,
        key=str(key),
        attempt=queue.num_requeues(key) + 1,
    )
    try:
        await sync(key)
    except Exception as error:
        if not is_retriable(error):
            raise
        _failed(queue, key, actor, error, max_retries)
    else:
        queue.forget(key)
    finally:
        queue.done(key)
    return True


def _failed(queue: WorkQueue, key: str, actor: str, error: Exception, max_retries: int | None) -> None:
    text = (str(error) or type(error).__name__)[:80]
    trace = queue.loop.trace
    tries = queue.num_requeues(key)
    if max_retries is not None and tries >= max_retries:
        queue.forget(key)
        trace.emit("sync.drop", actor, queue=queue.name, key=str(key), error=text, attempts=tries + 1)
        return
    delay_ms = queue.rate_limiter.when(key)
    trace.emit("sync.error", actor, queue=queue.name, key=str(key), error=text, retry_ms=delay_ms)
    queue.add_after(key, delay_ms)
