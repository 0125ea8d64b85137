"""Golden topic `workqueue_client`: rate limiters, queues, FIFOs and back-offs of the client."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from k8slab.api.objects import Object, freeze
from k8slab.client import flowcontrol
from k8slab.client.delta import DeletedFinalStateUnknown, Delta, ReplacedAllInfo, SyncAllInfo
from k8slab.client.delta_fifo import DeltaFIFO
from k8slab.client.indexer import Indexer
from k8slab.client.real_fifo import RealFIFO
from k8slab.client.wait import Backoff
from k8slab.client.workqueue import (
    DelayingQueue,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    Limiter,
    MaxOfRateLimiter,
    Queue,
    RateLimiter,
    default_controller_rate_limiter,
)
from k8slab.sim.clock import Clock

__all__ = ["run"]


def run(case_input: dict[str, Any]) -> Any:
    return OPS[case_input["op"]](case_input)


# -- rate limiters -------------------------------------------------------------------------------------


def expfail(case: dict[str, Any]) -> Any:
    out: list[int | None] = []
    limiter = ItemExponentialFailureRateLimiter(case["baseMs"], case["maxMs"])
    for call in case["calls"]:
        _call(limiter, call, out, forget_shows=True)
    return {"out": out}


def fastslow(case: dict[str, Any]) -> Any:
    out: list[int | None] = []
    limiter = ItemFastSlowRateLimiter(case["fastMs"], case["slowMs"], case["maxFast"])
    for call in case["calls"]:
        _call(limiter, call, out, forget_shows=False)
    return {"out": out}


def _call(limiter: RateLimiter, call: str, out: list[int | None], *, forget_shows: bool) -> None:
    if call.startswith("!"):
        limiter.forget(call[1:])
        if forget_shows:
            out.append(None)
    elif call.startswith("?"):
        out.append(limiter.num_requeues(call[1:]))
    else:
        out.append(limiter.when(call))


def maxof(case: dict[str, Any]) -> Any:
    limiter = MaxOfRateLimiter(
        ItemExponentialFailureRateLimiter(*case["exp"]), ItemFastSlowRateLimiter(*case["fastslow"])
    )
    delays = [limiter.when("item") for _ in range(case["n"])]
    return {"delaysMs": delays, "numRequeues": limiter.num_requeues("item")}


def bucket(case: dict[str, Any]) -> Any:
    limiter = Limiter(case["qps"], case["burst"])
    return {"delays": [limiter.reserve(round(at * 1e9)) / 1e9 for at in case["times"]]}


def default(case: dict[str, Any]) -> Any:
    limiter = default_controller_rate_limiter(lambda: 0).limiters[0]
    return {"delaysMs": [limiter.when("item") for _ in range(case["n"])]}


# -- queues --------------------------------------------------------------------------------------------


def queue(case: dict[str, Any]) -> Any:
    found = Queue()
    return {"results": [_queue_op(found, *op.split()) for op in case["ops"]]}


def _queue_op(found: Queue, op: str, key: str = "") -> Any:
    if op == "get":
        got = found.get()
        return got if got is not None else "shutdown" if found.shutting_down else None
    if op == "len":
        return len(found)
    {"add": lambda: found.add(key), "done": lambda: found.done(key), "shutdown": found.shut_down}[op]()
    return None


def delaying(case: dict[str, Any]) -> Any:
    found, waiting, now_ms = Queue(), DelayingQueue(), 0
    for key, delay_ms in case["items"]:
        if delay_ms <= 0:
            found.add(key)
        else:
            waiting.add(key, delay_ms)
    available = [_drain(found)]
    for advance_ms in case["advancesMs"]:
        now_ms += advance_ms
        for entry in waiting.pop_ready(now_ms):
            found.add(entry.key)
        available.append(_drain(found))
    return {"availableAtStartAndAfterEachAdvance": available}


def _drain(found: Queue) -> list[str]:
    keys = []
    while (key := found.get()) is not None:
        found.done(key)
        keys.append(key)
    return sorted(keys)


# -- FIFOs ---------------------------------------------------------------------------------------------


def fifo(case: dict[str, Any]) -> Any:
    known = Indexer()
    found: DeltaFIFO | RealFIFO
    if case["kind"] == "delta":
        found = DeltaFIFO(known)
    else:
        found = RealFIFO() if case["kind"] == "realatomic" else RealFIFO(known, atomic=False)
    pops: list[Any] = []

    def process(deltas: list[Delta], is_in_initial_list: bool) -> None:
        pops.append({"deltas": [_delta(delta) for delta in deltas], "isInInitialList": is_in_initial_list})
        for delta in deltas:
            _apply(known, delta)

    for op in case["ops"]:
        if op == "pop":
            if found.pop(process) is not None:
                pops[-1]["hasSyncedAfter"] = found.has_synced
        else:
            _fifo_op(found, op)
        found.check_invariants()
    return {"pops": pops}


def _fifo_op(found: DeltaFIFO | RealFIFO, op: Any) -> None:
    if op == "resync" or op[0] == "resync":
        found.resync()
    elif op[0] == "replace":
        found.replace([_object(name, rv) for name, rv in op[2]], op[1])
    else:
        {"add": found.add, "update": found.update, "delete": found.delete}[op[0]](_object(op[1], op[2]))


def _object(name: str, rv: int) -> Object:
    found: Object = freeze({"kind": "Pod", "metadata": {"name": name, "resourceVersion": str(rv)}})
    return found


def _delta(delta: Delta) -> Any:
    payload: Any = delta.object
    kind = delta.type.value
    if isinstance(payload, ReplacedAllInfo):
        names = [f"{obj['metadata']['name']}@{obj['metadata']['resourceVersion']}" for obj in payload.objects]
        return {"type": kind, "objects": names, "resourceVersion": payload.resource_version}
    if isinstance(payload, SyncAllInfo):
        return {"type": kind, "goType": "cache.SyncAllInfo"}
    if isinstance(payload, DeletedFinalStateUnknown):
        last = payload.object
        return {
            "type": kind,
            "tombstoneKey": payload.key,
            "lastKnownRv": last["metadata"]["resourceVersion"] if last is not None else "",
        }
    return {"type": kind, "name": payload["metadata"]["name"], "rv": payload["metadata"]["resourceVersion"]}


def _apply(known: Indexer, delta: Delta) -> None:
    payload: Any = delta.object
    if isinstance(payload, ReplacedAllInfo):
        known.replace(payload.objects, payload.resource_version)
    elif isinstance(payload, DeletedFinalStateUnknown):
        known.delete(payload.key)
    elif delta.type.value == "Deleted":
        known.delete(payload["metadata"]["name"])
    elif not isinstance(payload, SyncAllInfo):
        known.update(payload)


# -- back-offs -----------------------------------------------------------------------------------------


def waitbackoff(case: dict[str, Any]) -> Any:
    backoff = Backoff(case["durationMs"], case["factor"], 0, case["steps"], case["capMs"])
    return {"stepMsAndStepsLeft": [[int(backoff.step()), backoff.steps] for _ in range(12)]}


def podbackoff(case: dict[str, Any]) -> Any:
    clock = Clock()
    backoff = flowcontrol.Backoff(case["initialMs"], case["maxMs"], clock)
    results: list[Any] = []
    for event, at_ms in case["events"]:
        clock.now_ms = at_ms
        if event == "inBackOffSinceUpdate":
            results.append(backoff.is_in_backoff_since_update("id", at_ms))
            continue
        if event == "next":
            backoff.next("id", at_ms)
        elif event == "gc":
            backoff.gc()
        results.append(backoff.get("id"))
    return {"results": results}


def podbackoff_crashloop(case: dict[str, Any]) -> Any:
    clock = Clock()
    backoff = flowcontrol.Backoff(case["initialMs"], case["maxMs"], clock)
    found = []
    for _ in range(case["crashes"]):
        clock.now_ms += 1000
        backoff.next("id", clock.now_ms)
        found.append(backoff.get("id"))
        clock.now_ms += found[-1]
    return {"backoffMs": found}


OPS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "expfail": expfail,
    "fastslow": fastslow,
    "maxof": maxof,
    "bucket": bucket,
    "default": default,
    "queue": queue,
    "delaying": delaying,
    "fifo": fifo,
    "waitbackoff": waitbackoff,
    "podbackoff": podbackoff,
    "podbackoff-crashloop": podbackoff_crashloop,
}
