"""A store's story: cells as a naive history keeps them, what is refused, words, the steps of a Stepper."""

from __future__ import annotations

import random
from typing import Any

import pytest

from k8slab.etcd import (
    CompactionRequest,
    Compare,
    DeleteRangeRequest,
    Operation,
    PutRequest,
    RangeRequest,
    Store,
    StoreStory,
    TxnRequest,
)
from k8slab.widgets import Stepper, expand


def run(*operations: Operation | str) -> StoreStory:
    story = StoreStory(Store(), operations)
    while story.step():
        pass
    return story


def messages(story: StoreStory) -> list[str]:
    return [event.message for event in story.trace]


def test_every_operation_is_told() -> None:
    new = TxnRequest(
        [Compare(b"b", "VERSION", "EQUAL", 0)], [PutRequest(b"b", b"1"), PutRequest(b"/c", b"2")], [RangeRequest(b"b")]
    )
    story = run("put a 1", "put a 2", "del a", new, new, "get a --rev=3", "get / --prefix", "del x", "compact 4")
    assert messages(story) == [
        "revision 2: put a, its version 1, a new generation begins",
        "revision 3: put a, its version 2",
        "revision 4: del a writes 1 tombstone",
        "revision 5: a transaction with 2 writes",
        "nothing to write for txn: the revision stays 5",
        "at revision 3, get a --rev=3 finds 1 key",
        "at revision 5, get / --prefix finds 1 key",
        "nothing to write for del x: the revision stays 5",
        "compaction at revision 4 forgets 3 older records",
    ]


def test_what_the_store_refuses_is_a_step_with_its_words() -> None:
    story = run("put a 1", "put a 2", "compact 3", "get a --rev=2", "get a --rev=9", "compact 2")
    assert messages(story)[3:] == [
        "etcd refuses get a --rev=2: etcdserver: mvcc: required revision has been compacted",
        "etcd refuses get a --rev=9: etcdserver: mvcc: required revision is a future revision",
        "etcd refuses compact 2: etcdserver: mvcc: required revision has been compacted",
    ]
    assert [step["text"] for step in Stepper(StoreStory(Store(), ["put a 1"])).frames["steps"]] == [
        "Revision 2: put a, its version 1, a new generation begins."
    ]


def test_cells_are_versions_generations_and_tombstones() -> None:
    mvcc = run("put a x", "put a y", "del a", "put a z").view()["mvcc"]
    assert mvcc == {
        "revision": 5,
        "compacted": 0,
        "keys": {
            "a": {
                "2": {"version": 1, "created": 2, "value": "x"},
                "3": {"version": 2, "created": 2, "value": "y"},
                "4": {"version": 0, "created": 2, "value": ""},
                "5": {"version": 1, "created": 5, "value": "z"},
            }
        },
    }


def test_compaction_leaves_the_past_in_the_picture_and_marks_it() -> None:
    mvcc = run("put a 1", "put b 1", "put a 2", "del b", "put c 1", "compact 5").view()["mvcc"]
    assert mvcc["compacted"] == 5
    gone = {(key, int(rev)) for key, cells in mvcc["keys"].items() for rev, cell in cells.items() if "gone" in cell}
    # a at 4 is what a read at 5 sees; b is deleted at 5: etcd 3.5 forgets the tombstone too
    assert gone == {("a", 2), ("b", 3), ("b", 5)}


def test_a_read_is_marked_until_the_next_operation() -> None:
    story = run("put a 1", "put a 2", "put b 1", "get a --rev=2")
    assert story.view()["mvcc"]["read"] == {"at": 2, "found": {"a": 2}}
    story.do(RangeRequest(b"a", b"\x00"))
    assert story.view()["mvcc"]["read"] == {"at": 4, "found": {"a": 3, "b": 4}}
    story.do("put b 2")
    assert "read" not in story.view()["mvcc"]
    story.do("compact 5")
    story.do("get a --rev=3")
    assert story.view()["mvcc"]["read"] == {"at": 3, "refused": True}


def test_a_store_that_was_written_before_shows_what_it_has() -> None:
    store = Store()
    store.put(b"a", b"1")
    store.put(b"a", b"2")
    assert list(StoreStory(store).view()["mvcc"]["keys"]["a"]) == ["2", "3"]


def naive(operations: list[str]) -> tuple[dict[str, dict[str, tuple[int, bool]]], int]:
    """{key: {revision: (version, gone)}} and the revision, from dicts alone."""
    cells: dict[str, dict[int, list[Any]]] = {}
    revision, compacted = 1, -1
    for operation in operations:
        verb, name, *_ = operation.split()
        history = cells.setdefault(name, {}) if verb != "compact" else {}
        last = history[max(history)][0] if history else 0
        if verb == "put" or (verb == "del" and last):
            revision += 1
            history[revision] = [last + 1 if verb == "put" else 0, False]
        elif verb == "compact" and compacted < int(name) <= revision:
            compacted = int(name)
            for one in cells.values():
                old = [at for at in one if at <= compacted]
                for at in old:
                    one[at][1] = at != max(old) or one[at][0] == 0
    shown = {key: {str(at): (cell[0], cell[1]) for at, cell in one.items()} for key, one in cells.items() if one}
    return shown, revision


@pytest.mark.parametrize("seed", range(30))
def test_cells_are_those_of_a_naive_history(seed: int) -> None:
    rng = random.Random(seed)
    verbs = rng.choices(["put", "del", "compact"], [6, 3, 1], k=40)
    operations = [
        f"compact {rng.randint(1, 25)}" if verb == "compact" else f"{verb} {rng.choice('abc')}{' v' * (verb == 'put')}"
        for verb in verbs
    ]
    story = run(*operations)
    mvcc = story.view()["mvcc"]
    shown = {
        key: {revision: (cell["version"], cell.get("gone", False)) for revision, cell in cells.items()}
        for key, cells in mvcc["keys"].items()
    }
    assert (shown, mvcc["revision"]) == naive(operations)


def test_words_are_etcdctls() -> None:
    same: list[tuple[Operation | str, Operation | str]] = [
        ("put a 1", PutRequest(b"a", b"1")),
        ("get a", RangeRequest(b"a")),
        ("get a --rev=2", RangeRequest(b"a", revision=2)),
        ("get a --prefix", RangeRequest(b"a", b"b")),
        ("del a", DeleteRangeRequest(b"a")),
        ("del a --prefix", DeleteRangeRequest(b"a", b"b")),
        ("compact 2", CompactionRequest(2)),
    ]
    for text, request in same:
        one, other = (run("put a 0", "put ab 0", operation) for operation in (text, request))
        assert one.trace.to_jsonl() == other.trace.to_jsonl()
        assert one.view() == other.view()


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        ("", "operation '': expected put KEY VALUE, get KEY"),
        ("put a", "operation 'put a': expected put KEY VALUE"),
        ("put a 1 2", "operation 'put a 1 2': expected"),
        ("put a 1 --prefix", "operation 'put a 1 --prefix': expected"),
        ("get a --rev=new", "operation 'get a --rev=new': revision 'new': expected a number such as 4"),
        ("get a --limit=2", "operation 'get a --limit=2': expected"),
        ("compact now", "operation 'compact now': revision 'now': expected a number such as 4"),
        ("fly", "operation 'fly': expected"),
        (7, "operation 7: expected a request to a store, or put KEY VALUE"),
    ],
)
def test_what_cannot_be_understood_is_refused(operation: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        StoreStory(Store(), [operation])


def test_a_stepper_shows_a_step_for_each_operation() -> None:
    operations = ["put a 1", "get a", "put a 2"]
    stepper = Stepper(StoreStory(Store(), operations))
    assert stepper.frames["views"] == ["mvcc"]
    assert len(stepper.frames["steps"]) == 3
    states = [state["mvcc"] for state in expand(stepper.frames)]
    assert [state["revision"] for state in states] == [2, 2, 3]
    assert ["read" in state for state in states] == [False, True, False]
    assert stepper._json() == Stepper(StoreStory(Store(), operations))._json()


def test_live_a_typed_operation_is_the_next_step() -> None:
    stepper = Stepper(StoreStory(Store(), ["put a 1", "put a 2"]), live=True)
    widget = stepper.widget()
    assert len(stepper.frames["steps"]) == 1
    widget.command = {"n": 1, "do": "step", "actor": "do: put b 7"}
    assert stepper.frames["steps"][-1]["label"] == "rev 3: put b"
    widget.command = {"n": 2, "do": "step", "actor": None}
    assert stepper.frames["steps"][-1]["text"] == "Revision 4: put a, its version 2."
    widget.command = {"n": 3, "do": "step", "actor": "do: fly"}
    assert widget.status.startswith("operation 'fly': expected put KEY VALUE")
    widget.command = {"n": 4, "do": "step", "actor": None}
    assert widget.status == "Nothing is left to do."
