"""Requests as three actions, with delays, loss and partitions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from k8slab.api.errors import NotFoundError
from k8slab.api.scheme import CONFIGMAPS, GVR, PODS
from k8slab.api.transport import Request, StreamClosedError
from k8slab.sim import LatencyProfile
from tests.unit.apiserver.conftest import Bench

CREATE = Request("create", CONFIGMAPS, namespace="default", body={"metadata": {"name": "a"}})
GET = Request("get", CONFIGMAPS, namespace="default", name="a")


class Cuts:
    """A network whose cuts a test sets by hand."""

    def __init__(self, *pairs: tuple[str, str]) -> None:
        self.pairs = list(pairs)

    def blocked(self, source: str, target: str) -> bool:
        return (source, target) in self.pairs


def events(bench: Bench, *kinds: str) -> list[tuple[str, str]]:
    return [(event.kind, event.actor) for event in bench.loop.trace if event.kind in kinds]


def test_a_write_is_a_chain_from_the_client_through_the_server_to_etcd(bench: Bench) -> None:
    bench.run(bench.you.call(CREATE))
    commit = next(
        event for event in bench.loop.trace if event.data.get("key") == "default/a" and event.kind == "etcd.commit"
    )
    walk = [(event.kind, event.actor) for event in bench.loop.trace.causes(commit.seq)]
    assert walk == [("etcd.commit", "etcd"), ("serve", "apiserver"), ("write", "you")]
    assert bench.loop.trace[commit.cause or 0].data["verb"] == "create"


def test_send_handle_and_reply_are_three_actions(bench: Bench) -> None:
    before = bench.loop.actions
    task = bench.loop.spawn("you", bench.you.call(CREATE))
    bench.loop.run(until_idle=True, for_ms=50)
    assert task.done
    follow = 1  # the watch cache hears of the revision
    assert bench.loop.actions - before == 3 + follow


def test_requests_and_replies_take_the_time_the_profile_says(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(latency=LatencyProfile("slow", (7, 7), (5, 5), (0, 0)))
    start = bench.loop.clock.now_ms
    done: list[int] = []

    async def timed() -> None:
        await bench.you.call(CREATE)
        done.append(bench.loop.clock.now_ms - start)

    bench.loop.spawn("you", timed())
    bench.loop.run(for_ms=100)
    assert done == [12]


def test_a_client_that_dies_does_not_abort_the_server(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(latency=LatencyProfile("slow", (7, 7), (5, 5), (0, 0)))
    task = bench.loop.spawn("client", bench.you.call(CREATE))
    bench.loop.run(for_ms=1)
    bench.loop.cancel(task)
    bench.loop.run(for_ms=100)
    assert bench.server.cached("configmaps", "default", "a") is not None


@pytest.mark.parametrize(
    ("cut", "happened"),
    [
        pytest.param(("you", "apiserver/0"), False, id="a lost request did not happen"),
        pytest.param(("apiserver/0", "you"), True, id="a lost reply did"),
    ],
)
def test_the_client_cannot_tell_which_way_was_cut(
    make_bench: Callable[..., Bench], cut: tuple[str, str], happened: bool
) -> None:
    bench = make_bench(network=Cuts(cut))
    start = bench.loop.clock.now_ms
    with pytest.raises(TimeoutError):
        bench.run(bench.you.call(CREATE), for_ms=20_000)
    lost = [event for event in bench.loop.trace if event.kind == "response.lost"]
    assert [event.now_ms - start for event in lost] == [10_000]
    assert (bench.etcd.range(b"/registry/configmaps/default/a").count == 1) is happened


def test_many_calls_share_one_timer(bench: Bench) -> None:
    for _ in range(50):
        bench.run(bench.you.call(Request("list", PODS)), for_ms=1)
    assert len(bench.you._deadlines) <= 1


def test_failures_come_back_as_errors_and_are_told(bench: Bench) -> None:
    with pytest.raises(NotFoundError):
        bench.run(bench.you.call(GET))
    with pytest.raises(NotFoundError):
        bench.run(bench.you.call(Request("get", GVR("ex.io", "v1", "things"), name="x")))
    told = [event.data["message"] for event in bench.loop.trace if event.kind == "response.error"]
    assert told == ['configmaps "a" not found', "the server could not find the requested resource"]


def test_watch_events_keep_their_order_whatever_their_delays(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(latency=LatencyProfile("jumpy", (0, 0), (0, 0), (0, 40)))
    seen = bench.watch(CONFIGMAPS, resourceVersion="0")
    bench.loop.run(for_ms=100)
    for number in range(30):
        bench.call("create", CONFIGMAPS, body={"metadata": {"name": f"n{number}"}})
    bench.loop.run(for_ms=200)
    assert [name for _, name, _ in seen] == [f"n{number}" for number in range(30)]
    assert [revision for _, _, revision in seen] == sorted(revision for _, _, revision in seen)


def test_a_watch_event_is_caused_by_the_commit_it_tells_of(bench: Bench) -> None:
    bench.watch(CONFIGMAPS, resourceVersion="0")
    bench.call("create", CONFIGMAPS, body={"metadata": {"name": "a"}})
    event = next(event for event in bench.loop.trace if event.kind == "watch.event")
    assert bench.loop.trace[event.cause or 0].kind == "etcd.commit"
    assert event.data == {
        "type": "ADDED",
        "resource": "configmaps",
        "key": "default/a",
        "revision": bench.loop.trace[event.cause or 0].data["revision"],
        "stream": 1,
    }


def test_events_wait_while_the_connection_is_cut_and_arrive_in_order_after_it_healed(
    make_bench: Callable[..., Bench],
) -> None:
    network = Cuts()
    bench = make_bench(network=network)
    seen = bench.watch(CONFIGMAPS, resourceVersion="0")
    bench.loop.run(for_ms=10)
    other = bench.server.transport("other")
    network.pairs.append(("apiserver/0", "you"))
    for name in "ab":
        body = {"metadata": {"name": name}}
        bench.run(other.call(Request("create", CONFIGMAPS, namespace="default", body=body)))
    assert seen == []
    network.pairs.clear()
    bench.loop.run(for_ms=1_000)
    assert [name for _, name, _ in seen] == ["a", "b"]


def test_a_connection_that_stays_cut_is_given_up(make_bench: Callable[..., Bench]) -> None:
    network = Cuts()
    bench = make_bench(network=network)
    stream = bench.run(bench.you.watch(Request("watch", CONFIGMAPS, params={"resourceVersion": "0"})))
    network.pairs.append(("apiserver/0", "you"))
    other = bench.server.transport("other")
    bench.run(other.call(CREATE))
    bench.loop.run(for_ms=50_000)
    assert stream.closed
    closed = [event.data["why"] for event in bench.loop.trace if event.kind == "watch.close"]
    assert closed == ["the connection is lost"]


def test_a_slow_client_loses_its_watch_after_what_was_on_its_way(make_bench: Callable[..., Bench]) -> None:
    bench = make_bench(watch_buffer=3)
    stream = bench.run(bench.you.watch(Request("watch", CONFIGMAPS, params={"resourceVersion": "0"})))
    for number in range(6):
        bench.call("create", CONFIGMAPS, body={"metadata": {"name": f"n{number}"}})
    got: list[str] = []

    async def drain() -> None:
        try:
            while True:
                got.append((await stream.next()).object["metadata"]["name"])
        except StreamClosedError:
            got.append("closed")

    bench.run(drain())
    assert got == ["n0", "n1", "n2", "n3", "closed"]


def test_closing_a_stream_unregisters_it(bench: Bench) -> None:
    stream = bench.run(bench.you.watch(Request("watch", CONFIGMAPS, params={"resourceVersion": "0"})))
    assert len(list(bench.server.caches.of("configmaps").watches())) == 1
    stream.close()
    stream.close()
    assert list(bench.server.caches.of("configmaps").watches()) == [] and bench.server.view()["streams"] == {}


def test_a_server_that_dies_breaks_watches_and_answers_nobody(bench: Bench) -> None:
    stream = bench.run(bench.you.watch(Request("watch", CONFIGMAPS, params={"resourceVersion": "0"})))
    bench.server.kill()
    with pytest.raises(TimeoutError):
        bench.run(bench.you.call(CREATE), for_ms=20_000)

    async def next_event() -> Any:
        try:
            return await stream.next()
        except StreamClosedError as error:
            return str(error)

    assert bench.run(next_event()) == "watch of configmaps: the server died"


def test_two_servers_share_a_store_and_one_may_lag(bench: Bench) -> None:
    from k8slab.apiserver import APIServer

    second = APIServer(bench.loop, bench.etcd, name="apiserver/1", bootstrap=False)
    bench.loop.run(for_ms=10)
    bench.run(bench.you.call(CREATE))
    other = second.transport("other")
    assert bench.run(other.call(GET))["metadata"]["name"] == "a"
    assert second.codec.decoded > 0 and bench.server.codec.decoded == 0
    uids = {bench.call("create", CONFIGMAPS, body={"metadata": {"generateName": "x"}})["metadata"]["uid"]}
    body = {"metadata": {"generateName": "x"}}
    uids.add(bench.run(other.call(Request("create", CONFIGMAPS, namespace="default", body=body)))["metadata"]["uid"])
    assert len(uids) == 2


def test_a_controller_on_a_shared_connection_appears_in_its_own_lane(bench: Bench) -> None:
    shared = bench.server.transport("kcm")

    async def controller() -> None:
        bench.loop.trace.emit("etcd.commit", "kcm/replicaset", resource="x", key="x", revision=0, op="put")
        await shared.call(CREATE)

    bench.run(controller())
    assert ("write", "kcm/replicaset") in events(bench, "write")
    message = next(event.message for event in bench.loop.trace if event.kind == "write")
    assert message == "the ReplicaSet controller creates ConfigMap default/a"


def test_leases_are_not_in_the_trace_unless_asked_for(bench: Bench) -> None:
    lease = GVR("coordination.k8s.io", "v1", "leases")
    bench.call("create", lease, body={"metadata": {"name": "l"}, "spec": {}})
    assert not [event for event in bench.loop.trace if "leases" in str(event.data.get("resource"))]
