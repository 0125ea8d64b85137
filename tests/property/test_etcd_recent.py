"""Reads and conditions by revision look at what was written lately, where that is less: the answers are the same."""

from __future__ import annotations

import random
from typing import Any

import pytest

from k8slab.etcd import Compare, DeleteRangeRequest, PutRequest, RangeRequest, Store, TxnRequest
from tests.counts import examples

ENDS = (b"", b"\0", b"k2", b"k5", b"k9", b"a")


def play(store: Store, rng: random.Random) -> None:
    key, end = f"k{rng.randrange(10)}".encode(), rng.choice(ENDS)
    deed = rng.randrange(8)
    if deed < 4:
        store.put(key, b"v")
    elif deed == 4:
        store.delete_range(key, end if rng.random() < 0.3 else b"")
    elif deed == 5:
        store.txn([], [PutRequest(key, b"t"), DeleteRangeRequest(b"l"), *reads(rng, store.revision)])
    elif deed == 6 and store.revision > max(store.compact_revision, 1):
        store.compact(rng.randint(max(store.compact_revision + 1, 1), store.revision))
    else:
        store.delete_range(key)
        store.put(key, b"again")


def reads(rng: random.Random, newest: int) -> list[RangeRequest]:
    """Some read by the revision of the last change, with other bounds, limits and orders."""
    return [
        RangeRequest(
            f"k{rng.randrange(10)}".encode(),
            rng.choice(ENDS),
            revision=rng.choice((0, 0, newest)),
            limit=rng.choice((0, 0, 1, 2)),
            sort_order=rng.choice(("NONE", "ASCEND", "DESCEND")),
            sort_target=rng.choice(("KEY", "MOD", "VERSION")),
            count_only=rng.random() < 0.1,
            min_mod_revision=max(newest - rng.randrange(-1, 6), 0),
            max_create_revision=rng.choice((0, 0, newest)),
        )
        for _ in range(6)
    ]


@pytest.mark.parametrize("seed", range(examples(60)))
def test_what_changed_lately_is_found_the_same_way_or_that(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, store, used = random.Random(f"recent/{seed}"), Store(), 0
    for _ in range(60):
        play(store, rng)
        store.check_invariants()
        asked = reads(rng, store.revision)
        used += sum(store._recent(one.key, one.range_end, one.min_mod_revision) is not None for one in asked)
        compares = [Compare(one.key, "MOD", "LESS", one.min_mod_revision, one.range_end) for one in asked]
        with_it = answers(store, asked, compares)
        with monkeypatch.context() as changed:
            changed.setattr(Store, "_recent", lambda *args: None)
            assert answers(store, asked, compares) == with_it
    assert used > 20, "the shortcut is taken"


def answers(store: Store, asked: list[RangeRequest], compares: list[Compare]) -> list[object]:
    conditions = [store.txn([one], [], []).succeeded for one in compares]
    nested = store.txn([], [TxnRequest(tuple(compares), tuple(asked), tuple(asked))])
    return [*(store.range(one.key, one.range_end, **options(one)) for one in asked), conditions, nested]


def options(request: RangeRequest) -> dict[str, Any]:
    return {name: value for name, value in request._asdict().items() if name not in ("key", "range_end")}


def test_a_put_in_the_same_transaction_is_read() -> None:
    store = Store()
    for number in range(8):
        store.put(f"k{number}".encode(), b"v")
    newest = store.revision
    read = RangeRequest(b"k", b"l", min_mod_revision=newest + 1)
    with_it = store.txn([], [PutRequest(b"k3", b"t"), DeleteRangeRequest(b"k4"), read]).responses[-1]
    assert [kv.key for kv in with_it.kvs] == [b"k3"] and with_it.count == 7  # type: ignore[union-attr]
