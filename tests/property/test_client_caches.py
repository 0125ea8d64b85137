"""FIFOs, indexer and informer against naive twins and faults."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from k8slab.api.errors import ExpiredError, ForbiddenError, InternalError, TooManyRequestsError
from k8slab.api.objects import Object, freeze
from k8slab.api.scheme import PODS
from k8slab.client import Client, Delta, DeltaFIFO, Indexer, RealFIFO, ReflectorOptions, SharedInformer
from k8slab.client.delta import DeletedFinalStateUnknown, ReplacedAllInfo, SyncAllInfo
from k8slab.sim.component import Component
from k8slab.sim.loop import Loop
from k8slab.sim.order import Shuffle
from tests.counts import examples
from tests.fakes import FakeTransport

NAMES = st.sampled_from("abcd")
OPS = st.sampled_from(["update", "delete", "replace"])
KINDS = ["real", "in-order", "delta"]
CHANGE = st.tuples(st.sampled_from(["put", "remove"]), NAMES)
FIFO_STEPS = st.lists(
    st.one_of(
        CHANGE,
        st.tuples(st.just("gap"), st.lists(CHANGE, min_size=1, max_size=3)),
        st.tuples(st.sampled_from(["resync", "pop", "pop"]), st.just("")),
    ),
    max_size=40,
)
"""`gap`: changes that nobody hears of, and then a list."""


def pod(name: str, revision: int) -> Object:
    found: Object = freeze({"metadata": {"name": name, "resourceVersion": str(revision)}})
    return found


def new_fifo(kind: str, known: Indexer) -> DeltaFIFO | RealFIFO:
    if kind == "delta":
        return DeltaFIFO(known)
    return RealFIFO() if kind == "real" else RealFIFO(known, atomic=False)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(100))
@given(FIFO_STEPS)
def test_a_consumer_that_popped_everything_holds_what_the_server_holds(kind: str, steps: list[tuple[str, Any]]) -> None:
    known = Indexer()
    server: dict[str, Object] = {}
    revision = 1
    fifo = new_fifo(kind, known)
    fifo.replace([], "1")

    def change(op: str, name: str) -> str:
        nonlocal revision
        revision += 1
        if op == "put":
            was = server.get(name)
            server[name] = pod(name, revision)
            return "update" if was is not None else "add"
        return "delete" if server.pop(name, None) is not None else ""

    for op, what in steps:
        if op in ("put", "remove"):
            call = change(op, what)
            if call:
                getattr(fifo, call)(pod(what, revision))
        elif op == "gap":
            for missed in what:
                change(*missed)
            fifo.replace(list(server.values()), str(revision))
        elif op == "resync":
            fifo.resync()
        else:
            fifo.pop(lambda deltas, is_initial: apply(known, deltas))
        fifo.check_invariants()
        known.check_invariants()
    while fifo.pop(lambda deltas, is_initial: apply(known, deltas)) is not None:
        fifo.check_invariants()
    assert {key: known.get(key) for key in known} == server
    assert fifo.has_synced


def apply(known: Indexer, deltas: list[Delta]) -> None:
    for delta in deltas:
        payload: Any = delta.object
        if isinstance(payload, ReplacedAllInfo):
            known.replace(payload.objects, payload.resource_version)
        elif isinstance(payload, DeletedFinalStateUnknown):
            known.delete(payload.key)
        elif delta.type.value == "Deleted":
            known.delete(payload["metadata"]["name"])
        elif not isinstance(payload, SyncAllInfo):
            known.update(payload)


@settings(max_examples=examples(150))
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["update", "delete", "replace"]), NAMES, st.lists(st.sampled_from("xyz"), max_size=3)
        ),
        max_size=30,
    )
)
def test_an_index_finds_what_a_scan_finds(steps: list[tuple[str, str, list[str]]]) -> None:
    cache = Indexer()
    cache.add_index("label", lambda obj: tuple(obj["metadata"]["labels"]))
    twin: dict[str, dict[str, Any]] = {}
    for op, name, labels in steps:
        obj = {"metadata": {"name": name, "labels": labels}}
        if op == "update":
            twin[name] = obj
            cache.update(freeze(obj))
        elif op == "delete":
            twin.pop(name, None)
            cache.delete(name)
        else:
            twin = {name: obj}
            cache.replace([freeze(obj)], "1")
        cache.check_invariants()
        for label in "xyz":
            expected = {key for key, found in twin.items() if label in found["metadata"]["labels"]}
            assert set(cache.index_keys("label", label)) == expected


WHAT = st.one_of(
    st.tuples(st.sampled_from(["put", "put", "remove"]), NAMES),
    st.tuples(st.sampled_from(["drop", "compact", "bookmark", "expire list", "nothing"]), st.just("")),
    st.tuples(st.just("drop with error"), st.sampled_from([ExpiredError, InternalError, TooManyRequestsError])),
    st.tuples(st.sampled_from(["fail", "lose reply"]), st.sampled_from(["list", "watch"])),
    st.tuples(st.just("gap"), st.lists(CHANGE, min_size=1, max_size=3)),
)
FAULTS = st.lists(st.tuples(WHAT, st.sampled_from([0, 0, 1, 7, 2_000, 40_000])), min_size=3, max_size=30)
"""What happens, and how long the informer may work afterwards."""


class Listener:
    """What a handler knows if it believes what it is told, and nothing else."""

    def __init__(self, informer: SharedInformer) -> None:
        self.objects: dict[str, Object] = {}
        informer.add_event_handler(self.add, self.update, self.delete)

    def add(self, obj: Object, is_initial: bool) -> None:
        name = obj["metadata"]["name"]
        assert name not in self.objects, f"{name} was added twice"
        self.objects[name] = obj

    def update(self, old: Object, new: Object) -> None:
        name = new["metadata"]["name"]
        assert self.objects[name] is old, f"the old object of {name} is not the one that was told before"
        assert int(new["metadata"]["resourceVersion"]) >= int(old["metadata"]["resourceVersion"]), "back in time"
        self.objects[name] = new

    def delete(self, obj: Object) -> None:
        del self.objects[obj["metadata"]["name"]]


@pytest.mark.parametrize("fifo", KINDS)
@settings(max_examples=examples(100))
@given(st.integers(0, 10_000), st.booleans(), st.sampled_from([0, 3]), FAULTS)
def test_an_informer_ends_up_with_what_the_server_has_whatever_happens_on_the_way(
    fifo: str, seed: int, watch_list: bool, latency_ms: int, steps: list[tuple[tuple[str, Any], int]]
) -> None:
    loop = Loop(seed=seed, order=Shuffle(random.Random(seed)))
    server = FakeTransport(loop, latency_ms=latency_ms)
    for name in "abcd":
        server.put(PODS, {"metadata": {"name": name}})
    kcm = Component(loop, "kcm")
    options = ReflectorOptions(watch_list=watch_list, page_size=2)
    informer = SharedInformer(loop, kcm, Client(server), PODS, fifo=fifo, resync_ms=5_000, options=options)
    listener = Listener(informer)
    informer.start()
    for (op, what), run_ms in steps:
        step(server, op, what)
        loop.run(for_ms=run_ms)
        informer.check_invariants()
    loop.run(for_ms=600_000)
    informer.check_invariants()
    expected = {key: obj for (_gvr, key), obj in server.objects.items()}
    assert {key: informer.indexer.get(key) for key in informer.indexer} == expected
    assert listener.objects == expected
    kcm.kill()
    assert server.streams == []
    loop.close()


def step(server: FakeTransport, op: str, what: Any) -> None:
    if op == "put":
        server.put(PODS, {"metadata": {"name": what, "labels": {"at": str(server.revision)}}})
    elif op == "remove":
        if (PODS, what) in server.objects:
            server.remove(PODS, what)
    elif op == "drop":
        server.drop_watches()
    elif op == "drop with error":
        server.drop_watches(error=what("scripted"))
    elif op == "compact":
        server.compact()
    elif op == "bookmark":
        server.bookmark()
    elif op == "fail":
        server.fail_next(what, PODS, ForbiddenError("scripted"))
    elif op == "lose reply":
        server.lose_reply(what, PODS)
    elif op == "gap":
        server.drop_watches(error=ExpiredError("scripted"))
        for one, name in what:
            step(server, one, name)
        server.compact()
    elif op == "expire list":
        server.fail_next("list", PODS, ExpiredError("scripted"))
