"""Watches as steps: what is told, where each event is, what is refused, the steps of a Stepper."""

from __future__ import annotations

import random
from typing import Any

import pytest

from k8slab.etcd import (
    CompactionRequest,
    DeleteRangeRequest,
    Operation,
    PutRequest,
    RangeRequest,
    Store,
    TxnRequest,
    WatchStory,
)
from k8slab.widgets import Stepper, expand


def run(*operations: Operation | str, capacity: int = 3) -> WatchStory:
    story = WatchStory(Store(), operations, capacity=capacity)
    while story.step():
        pass
    return story


def messages(story: WatchStory) -> list[str]:
    return [event.message for event in story.trace]


def watch(story: WatchStory, id: int) -> dict[str, Any]:
    shown: dict[str, Any] = story.view()["watches"]["by"][str(id)]
    return shown


def test_every_operation_is_told() -> None:
    both = TxnRequest((), [PutRequest(b"a", b"3"), PutRequest(b"b", b"3")])
    story = run("put a 1", "watch a", "watch / --prefix --rev=2", "put a 2", both, "del x", "sync", "read 0", "read 1")
    assert messages(story) == [
        "revision 2: put a goes to nobody",
        "watch 0 on a, from revision 3 on, is synced",
        "watch 1 on /*, from revision 2 on, is unsynced",
        "revision 3: put a goes to watch 0",
        "revision 4: txn goes to watch 0",
        "nothing to write for del x: the revision stays 4",
        "the loop finds nothing to do",
        "the reader of watch 0 takes revisions 3 4",
        "the reader of watch 1 takes nothing: nothing waits",
    ]
    assert watch(story, 1)["group"] == "synced"


def test_a_full_queue_makes_a_victim_which_is_told_the_rest_from_the_history() -> None:
    story = run("watch a", "put a 1", "put a 2", "put a 3", "put a 4", capacity=2)
    assert messages(story)[-2:] == [
        "revision 4: put a goes to nobody; watch 0 had no room",
        "revision 5: put a goes to nobody",
    ]
    assert watch(story, 0) == {
        "key": "a",
        "group": "victim",
        "starts": 2,
        "next": 5,
        "events": {"2": "waits", "3": "waits", "4": "kept"},
    }
    for operation in ("sync", "read 0", "sync"):
        story.do(operation)
    assert messages(story)[-3:] == [
        "the loop finds nothing to do",
        "the reader of watch 0 takes revisions 2 3",
        "the loop feeds watch 0 revisions 4 5",
    ]
    assert watch(story, 0)["events"] == {"2": "read", "3": "read", "4": "waits", "5": "waits"}
    assert (watch(story, 0)["group"], watch(story, 0)["next"]) == ("synced", 6)


def test_compaction_cancels_the_watch_that_it_overtakes_and_marks_what_it_took() -> None:
    story = run("put a 1", "put a 2", "del a", "put b 1", "compact 4", "watch a --rev=2", "watch a --rev=5", "sync")
    assert messages(story)[4] == "compaction takes the history before revision 4"
    assert messages(story)[-1] == "the loop cancels watch 0: revision 2 is compacted"
    assert (watch(story, 0)["group"], watch(story, 1)["group"]) == ("canceled", "synced")
    records = story.view()["watches"]["records"]
    assert {revision: (record["what"], record["gone"]) for revision, record in records.items()} == {
        "2": ("put a", True),
        "3": ("put a", True),
        "4": ("del a", True),  # etcd 3.5 forgets the tombstone at the compacted revision too
        "5": ("put b", False),
    }


def test_what_the_store_refuses_is_a_step_with_its_words() -> None:
    story = run("compact 9", PutRequest(b"a", b"1", lease=7))
    assert messages(story) == [
        "etcd refuses compact 9: etcdserver: mvcc: required revision is a future revision",
        "etcd refuses put a: etcdserver: requested lease not found",
    ]


def test_revisions_in_a_row_are_told_by_their_ends_and_many_are_counted() -> None:
    story = run(*(f"put {'ab'[n % 2]} {n}" for n in range(20)), "watch a --rev=2", "sync", "read 0")
    assert messages(story)[-1] == "the reader of watch 0 takes revisions 2 4 6 8 10 12 and 4 more"
    story = run(*(f"put a {n}" for n in range(20)), "watch a --rev=3", "sync", "read 0")
    assert messages(story)[-1] == "the reader of watch 0 takes revisions 3 to 21"


def test_a_write_of_several_keys_is_one_record() -> None:
    story = run("put a 1", "put ab 1", "del a --prefix")
    assert story.view()["watches"]["records"]["4"]["what"] == "del a, del ab"


def test_requests_may_stand_for_words() -> None:
    words = run("watch a --prefix", "put a 1", "del a --prefix", "put b 1", "compact 3")
    requests = run(
        "watch a --prefix", PutRequest(b"a", b"1"), DeleteRangeRequest(b"a", b"b"), PutRequest(b"b", b"1"),
        CompactionRequest(3),
    )  # fmt: skip
    assert words.trace.to_jsonl() == requests.trace.to_jsonl()
    assert words.view() == requests.view()


@pytest.mark.parametrize("seed", range(30))
def test_events_are_those_of_a_naive_history(seed: int) -> None:
    """What a watch got, waits for or has kept: every revision of its key from its start up to its cursor, once."""
    rng = random.Random(seed)
    history: list[tuple[int, str]] = []  # (revision, key)
    started: list[tuple[str, int]] = []
    story = WatchStory(Store(), capacity=rng.randint(1, 3))
    for _ in range(80):
        verb = rng.choices(["put", "watch", "sync", "read"], [6, 1, 2, 3])[0]
        now, key = len(history) + 1, rng.choice("ab")
        if verb == "put":
            history.append((now + 1, key))
            story.do(f"put {key} v")
        elif verb == "watch":
            started.append((key, rng.randint(1, now + 1)))
            story.do(f"watch {key} --rev={started[-1][1]}")
        elif verb == "sync":
            story.do("sync")
        elif started:
            story.do(f"read {rng.randrange(len(started))}")
        for id, (key, start) in enumerate(started):
            shown = watch(story, id)
            due = [str(revision) for revision, name in history if name == key and start <= revision < shown["next"]]
            assert list(shown["events"]) == due
    for id in list(range(len(started))) * 40:
        story.do(f"read {id}")
        story.do("sync")
    for id, (key, start) in enumerate(started):
        every = [str(revision) for revision, name in history if name == key and revision >= start]
        assert watch(story, id)["events"] == dict.fromkeys(every, "read")


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        ("", "operation '': expected put KEY VALUE, del KEY"),
        ("get a", "operation 'get a': expected put KEY VALUE"),
        ("watch", "operation 'watch': expected"),
        ("watch a --rev=new", "operation 'watch a --rev=new': revision 'new': expected a number such as 4"),
        ("watch a --rev", "operation 'watch a --rev': revision '': expected a number"),
        ("watch a --limit=2", "operation 'watch a --limit=2': expected"),
        ("sync now", "operation 'sync now': expected"),
        ("read me", "operation 'read me': watch 'me': expected a number such as 0"),
        ("put a", "operation 'put a': expected put KEY VALUE"),
        (RangeRequest(b"a"), "expected a write or a compaction"),
        (7, "operation 7: expected a request to a store"),
    ],
)
def test_what_cannot_be_understood_is_refused(operation: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        WatchStory(Store(), [operation])


def test_a_watch_that_is_not_there_cannot_read() -> None:
    story = run("watch a")
    with pytest.raises(ValueError, match="operation 'read 1': watch 1: expected one of the 1 there are"):
        story.do("read 1")


def test_a_capacity_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="capacity is 0, expected at least 1"):
        WatchStory(Store(), capacity=0)


def test_a_store_that_was_written_before_shows_what_it_has() -> None:
    store = Store()
    store.put(b"a", b"1")
    store.delete_range(b"a")
    records = WatchStory(store).view()["watches"]["records"]
    assert records == {"2": {"what": "put a", "gone": False}, "3": {"what": "del a", "gone": False}}


def test_a_stepper_shows_a_step_for_each_operation() -> None:
    operations = ["put a 1", "watch a --rev=2", "sync", "read 0"]
    stepper = Stepper(WatchStory(Store(), operations))
    assert stepper.frames["views"] == ["watches"]
    assert [step["text"] for step in stepper.frames["steps"]][-1] == "The reader of watch 0 takes revision 2."
    states = [state["watches"]["by"].get("0", {}).get("events") for state in expand(stepper.frames)]
    assert states == [None, {}, {"2": "waits"}, {"2": "read"}]
    assert stepper._json() == Stepper(WatchStory(Store(), operations))._json()


def test_live_a_typed_operation_is_the_next_step() -> None:
    stepper = Stepper(WatchStory(Store(), ["put a 1", "put a 2"]), live=True)
    widget = stepper.widget()
    widget.command = {"n": 1, "do": "step", "actor": "do: watch a --rev=2"}
    assert stepper.frames["steps"][-1]["label"] == "watch 0 on a"
    widget.command = {"n": 2, "do": "step", "actor": "do: read 3"}
    assert "watch 3: expected one of the 1 there are" in widget.status
