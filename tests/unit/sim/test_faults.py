"""Network, disk, recordings, minimisation."""

from __future__ import annotations

import base64
import json
import random
import zlib
from collections.abc import Sequence

import pytest

from k8slab.sim import (
    Disk,
    DiskError,
    Faults,
    Hold,
    Input,
    Loop,
    Network,
    Recording,
    find_holds,
    minimise,
    minimise_holds,
    order_of,
)


def _deliver(faults: Faults, count: int = 200, seed: int = 3) -> list[int]:
    loop = Loop(seed=seed)
    network = Network(loop, faults)
    got: list[int] = []
    network.listen("b", lambda source, message: got.append(message))
    for number in range(count):
        network.send("a", "b", number)
    loop.run(until_idle=True)
    network.check_invariants()
    assert not network.in_flight
    return got


def test_without_faults_everything_arrives_once_and_in_order() -> None:
    assert _deliver(Faults(delay_ms=(1, 20))) == list(range(200))


def test_reordering_changes_the_order_and_loses_nothing() -> None:
    got = _deliver(Faults(delay_ms=(1, 20), reorder=True))
    assert got != list(range(200)) and sorted(got) == list(range(200))


def test_loss_and_duplication_come_at_about_their_rates() -> None:
    lost = _deliver(Faults(loss=0.3), 2_000)
    assert 0.25 < 1 - len(lost) / 2_000 < 0.35
    twice = _deliver(Faults(duplicate=0.2), 2_000)
    assert 0.15 < len(twice) / 2_000 - 1 < 0.25


def test_a_one_way_cut_blocks_one_way_and_also_what_is_in_flight() -> None:
    loop = Loop()
    network = Network(loop, Faults(delay_ms=(5, 5)))
    got: list[object] = []
    for name in ("kubelet/n1", "apiserver/0"):
        network.listen(name, lambda source, message, name=name: got.append((name, message)))  # type: ignore[misc]
    network.send("kubelet/n1", "apiserver/0", "early")
    network.cut("kubelet/n1", "apiserver")
    network.send("apiserver/0", "kubelet/n1", "reply")
    loop.run(until_idle=True)
    assert got == [("kubelet/n1", "reply")]
    assert network.blocked("kubelet/n1/lease", "apiserver/0") and not network.blocked("kubelet/n10", "apiserver/0")
    network.heal()
    assert not network.blocked("kubelet/n1", "apiserver/0")


@pytest.mark.parametrize(
    "bad",
    [
        {"loss": 1.5},
        {"loss": "x"},
        {"duplicate": -0.1},
        {"delay_ms": (5, 2)},
        {"delay_ms": (-1, 2)},
        {"delay_ms": -1},
        {"delay_ms": ("a", "b")},
        {"delay_ms": (1, 2, 3)},
    ],
    ids=str,
)
def test_impossible_faults_are_refused_by_name(bad: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        Faults(**bad)  # type: ignore[arg-type]


def test_a_network_takes_faults_and_nothing_else() -> None:
    with pytest.raises(ValueError, match=r"^faults 'x': expected Faults$"):
        Network(Loop(), "x")  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [5, (5, 1), (-1, -1), ("a", "b")], ids=str)
def test_a_disk_takes_the_bounds_of_a_delay(bad: object) -> None:
    with pytest.raises(ValueError, match=r"^sync_ms .*: expected two numbers, 0 <= low <= high$"):
        Disk(random.Random(1), sync_ms=bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(30))
def test_a_crash_keeps_synced_bytes_and_a_prefix_of_the_rest(seed: int) -> None:
    disk = Disk(random.Random(seed))
    disk.append("wal", b"a" * 700)
    disk.sync("wal")
    disk.append("wal", b"b" * 700)
    assert disk.unsynced("wal") == 700
    disk.crash()
    left = disk.read("wal")
    assert left.startswith(b"a" * 700) and (b"a" * 700 + b"b" * 700).startswith(left)
    disk.check_invariants()


def test_some_crash_tears_a_write_and_some_crash_loses_all_of_it() -> None:
    lengths = set()
    for seed in range(60):
        disk = Disk(random.Random(seed))
        disk.append("wal", b"x" * 1_500)
        disk.crash()
        lengths.add(len(disk.read("wal")) % 512)
    assert 0 in lengths and len(lengths) > 3


def test_a_replaced_file_is_old_or_new_after_a_crash_never_mixed() -> None:
    seen = set()
    for seed in range(20):
        disk = Disk(random.Random(seed))
        disk.replace("snap", b"old")
        disk.sync("snap")
        disk.replace("snap", b"newer")
        disk.crash()
        seen.add(disk.read("snap"))
    assert seen == {b"old", b"newer"}


def test_injected_faults_and_a_full_disk_raise_and_change_nothing() -> None:
    disk = Disk(random.Random(0), capacity=10)
    disk.append("f", b"12345")
    disk.fail_next("append")
    with pytest.raises(DiskError, match="injected"):
        disk.append("f", b"6")
    with pytest.raises(DiskError, match="no space"):
        disk.append("f", b"678901")
    assert disk.read("f") == b"12345"
    with pytest.raises(ValueError, match="operation 'write'"):
        disk.fail_next("write")
    with pytest.raises(FileNotFoundError):
        disk.read("none")


def test_a_shared_recording_comes_back_equal() -> None:
    recording = Recording(
        {"nodes": 3},
        7,
        (Input(0, 0, "apply", {"text": "kind: Pod"}), Input(40, 12, "fail_node", {"name": "node-1"})),
        "holds",
        {},
        (Hold("kcm/replicaset", 339, 200),),
    )
    text = recording.share()
    assert Recording.load(text) == recording
    assert "\n" not in text and len(text) < 400
    assert recording.until(10).inputs == recording.inputs[:1]


@pytest.mark.parametrize("text", ["", "hello", "k8slab1.", "k8slab1.AAAA", "k8slab1.%%%"])
def test_text_that_is_no_recording_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="recording"):
        Recording.load(text)


def test_a_text_from_before_places_were_shared_still_opens() -> None:
    data = {"config": {"nodes": 3}, "seed": 7, "inputs": [], "order": "fifo", "choices": {}, "holds": []}
    old = base64.urlsafe_b64encode(zlib.compress(json.dumps(data).encode())).decode().rstrip("=")
    assert Recording.load(f"k8slab1.{old}") == Recording({"nodes": 3}, 7)


def test_a_truncated_recording_is_refused() -> None:
    text = Recording({"nodes": 3}, 7).share()
    with pytest.raises(ValueError, match="damaged"):
        Recording.load(text[:-6])


def test_an_unknown_order_is_refused() -> None:
    with pytest.raises(ValueError, match="order 'best'"):
        order_of(Recording({}, 1, order="best"))


def test_minimise_finds_the_two_items_that_matter() -> None:
    tried = []

    def fails(items: Sequence[int]) -> bool:
        tried.append(len(items))
        return 17 in items and 63 in items

    assert minimise(range(100), fails) == [17, 63]
    assert len(tried) < 100


def test_minimise_refuses_what_does_not_fail() -> None:
    with pytest.raises(ValueError, match="does not fail"):
        minimise([1, 2], lambda items: False)


def test_minimised_holds_are_few_short_and_late() -> None:
    def fails(holds: Sequence[Hold]) -> bool:
        return any(h.covers("kcm/replicaset/worker", 120) for h in holds)

    [hold] = minimise_holds([Hold("scheduler", 5, 100), Hold("kcm/replicaset", 50, 100)], fails)
    assert hold.actor == "kcm/replicaset" and fails([hold]) and hold.length <= 40


def test_find_holds_searches_and_returns_a_readable_schedule() -> None:
    def fails(holds: Sequence[Hold]) -> bool:
        return any(h.covers("kcm/replicaset/worker", a) for h in holds for a in (100, 101, 102, 103))

    found = find_holds(["scheduler", "kcm/replicaset"], fails, random.Random(1), span=200)
    assert found is not None and len(found) == 1
    assert str(found[0]).startswith("kcm/replicaset held from action ")
    assert find_holds(["scheduler"], lambda holds: False, random.Random(1), span=200, tries=5) is None
