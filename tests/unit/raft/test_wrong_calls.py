"""Calls that cannot be: each is refused by a sentence that names what was given and what is expected, and changes
nothing.

Spec: go.etcd.io/raft/v3 raft.go (Config.validate, stepLeader), raftpb/raft.proto (node_id is a uint64); etcd
server/storage/wal, server/etcdserver/api/snap
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any

import pytest

from k8slab.etcd import EtcdCluster, PutRequest
from k8slab.raft import (
    ConfChange,
    ConfChangeSingle,
    ConfState,
    CRCMismatchError,
    Entry,
    MemoryStorage,
    Message,
    Node,
    RaftCluster,
    RaftConfig,
    RaftError,
    Snapshot,
)
from k8slab.raft.messages import conf_change_of


@pytest.fixture
def raft() -> Iterator[RaftCluster]:
    """A group of three that has a leader, which all know."""
    group = RaftCluster(3, seed=7)
    assert group.run(until=group.has_leader)
    group.run(for_ms=100)
    yield group
    group.close()


def other(raft: RaftCluster) -> int:
    return raft.leader % 3 + 1


def flip(raft: RaftCluster, id: int, name: str, place: int, bit: int) -> None:
    """Damage a file of a crashed member."""
    disk = raft.members[id].wal.disk
    data = bytearray(disk.read(name))
    data[place] ^= 1 << bit
    disk.replace(name, bytes(data))
    disk.sync(name)


# -- disks -----------------------------------------------------------------------------------------


def test_a_voter_whose_log_was_damaged_does_not_come_back_without_its_vote(raft: RaftCluster) -> None:
    id = other(raft)
    raft.crash(id)
    flip(raft, id, "wal", 3, 6)  # the length of the first record
    with pytest.raises(CRCMismatchError):
        raft.restart(id)
    assert id not in raft.alive
    assert raft.view()["raft"]["members"][str(id)]["disk"] == "walpb: crc mismatch"


def test_a_picture_shows_that_a_snapshot_is_damaged() -> None:
    raft = RaftCluster(3, seed=7, snapshot_count=5)
    raft.run(until=raft.has_leader)
    for number in range(9):
        raft.propose(f"x={number}")
        raft.run(for_ms=100)
    id = other(raft)
    raft.crash(id)
    flip(raft, id, "snap", 0, 0)
    assert raft.view()["raft"]["members"][str(id)]["disk"] == "snap: crc mismatch"
    raft.close()


def test_a_member_that_cannot_start_keeps_what_is_known_of_it() -> None:
    etcd = EtcdCluster(3, seed=7)
    assert etcd.do(PutRequest(b"k", b"v")).revision == 2
    etcd.run(for_ms=500)
    id = other(etcd.raft)
    etcd.raft.crash(id)
    flip(etcd.raft, id, "wal", 20, 0)
    before = etcd.machines[id]
    with pytest.raises(CRCMismatchError):
        etcd.raft.restart(id)
    assert etcd.machines[id] is before
    assert etcd.store(id).revision == 2
    etcd.close()


# -- running and closing ---------------------------------------------------------------------------


@pytest.mark.parametrize("make", [RaftCluster, EtcdCluster])
@pytest.mark.parametrize("for_ms", [float("inf"), 1.5, True, "x", -5], ids=repr)
def test_a_group_runs_for_whole_milliseconds(make: Callable[..., Any], for_ms: Any) -> None:
    group = make(3, seed=7)
    expected = "0 milliseconds or more" if for_ms == -5 else "a whole number of milliseconds"
    for condition in (None, group.all_ready):
        with pytest.raises((TypeError, ValueError)) as error:
            group.run(until=condition, for_ms=for_ms)
        assert str(error.value) == f"for_ms: {for_ms!r}: expected {expected}"
    assert group.now_ms == 0
    group.close()


CLOSED: dict[str, Callable[[RaftCluster], object]] = {
    "run": lambda raft: raft.run(for_ms=100),
    "step": lambda raft: raft.step(),
    "propose": lambda raft: raft.propose("x=1"),
    "read": lambda raft: raft.read("x", via=1, how="serializable"),
    "change": lambda raft: raft.change("v4"),
    "transfer": lambda raft: raft.transfer(2),
    "campaign": lambda raft: raft.campaign(2),
    "crash": lambda raft: raft.crash(1),
    "restart": lambda raft: raft.restart(1),
    "partition": lambda raft: raft.partition([1]),
    "a word of the picture": lambda raft: raft.command("heal"),
    "another word": lambda raft: raft.command("x"),
    "skew": lambda raft: raft.skew(1, 50),
}


@pytest.mark.parametrize("call", CLOSED.values(), ids=CLOSED)
def test_a_closed_group_says_so_and_time_stands_still(raft: RaftCluster, call: Callable[[RaftCluster], object]) -> None:
    raft.close()
    seen, now_ms = raft.trace.to_jsonl(), raft.now_ms
    with pytest.raises(ValueError, match=r"^the cluster is closed, expected one that runs$"):
        call(raft)
    assert (raft.trace.to_jsonl(), raft.now_ms) == (seen, now_ms)
    raft.close()


def test_a_closed_etcd_says_so_and_so_does_who_shares_its_loop() -> None:
    etcd = EtcdCluster(3, seed=7)
    beside = RaftCluster(3, loop=etcd.loop)
    etcd.run(for_ms=100)
    etcd.close()
    for call in (lambda: etcd.run(for_ms=1), etcd.step, lambda: etcd.watch(1, b"k"), lambda: beside.run(for_ms=1)):
        with pytest.raises(ValueError, match=r"^the cluster is closed, expected one that runs$"):
            call()


@pytest.mark.parametrize("make", [RaftCluster, EtcdCluster])
def test_a_group_that_nobody_ran_is_thrown_away_without_a_warning(make: Callable[..., Any]) -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for seed in range(20):
            group = make(3, seed=seed)
        del group
        gc.collect()
    assert [str(warning.message) for warning in told] == []


# -- changes of the group --------------------------------------------------------------------------


def test_a_change_tells_what_became_of_it_and_its_member_starts_with_it(raft: RaftCluster) -> None:
    change = raft.change("v4")
    assert (change.what, change.state, list(raft.members)) == ("v4", "pending", [1, 2, 3])
    assert raft.run(until=lambda: change.state == "applied", for_ms=500)
    assert raft.members[raft.leader].node.raft.config.voters == (1, 2, 3, 4)
    assert raft.alive == [1, 2, 3, 4]
    assert raft.run(until=lambda: raft.members[4].applied == raft.members[raft.leader].applied, for_ms=1_000)
    assert change.index == raft.members[4].applied  # the newest entry there is


def test_a_follower_passes_a_change_on(raft: RaftCluster) -> None:
    change = raft.change("l4", via=other(raft))
    assert raft.run(until=lambda: change.state == "applied", for_ms=500)
    assert raft.alive == [1, 2, 3, 4]


def test_members_of_etcd_are_added_too() -> None:
    etcd = EtcdCluster(3, seed=7)
    etcd.do(PutRequest(b"k", b"v"))
    change = etcd.raft.change("v4")
    assert etcd.run(until=lambda: change.state == "applied", for_ms=500)
    assert etcd.run(until=lambda: etcd.store(4).revision == 2, for_ms=2_000)
    etcd.close()


@pytest.mark.parametrize("text", ["r1 r2 r3", ""], ids=["no voter is left", "there is no joint configuration to leave"])
@pytest.mark.parametrize("by_follower", [False, True], ids=["by the leader", "by a follower"])
def test_a_change_that_does_not_fit_is_dropped(raft: RaftCluster, text: str, by_follower: bool) -> None:
    change = raft.change(text, via=other(raft) if by_follower else raft.leader)
    raft.run(for_ms=500)
    # upstream's leader puts an empty entry in place of a change that it refuses, and tells nobody
    assert change.state == ("pending" if by_follower and not text else "dropped")
    if change.state == "dropped":
        assert change.why == ("removed all voters" if text else "can't leave a non-joint config")
    assert {str(member.node.raft.config) for member in raft.members.values()} == {"voters=(1 2 3)"}


@pytest.mark.parametrize("text", ["r9", "v1", "v4 r4", "u2"], ids=["a stranger", "a voter", "a guest", "an update"])
@pytest.mark.parametrize("by_follower", [False, True], ids=["by the leader", "by a follower"])
def test_a_change_that_changes_nobody_is_applied_and_says_so(raft: RaftCluster, text: str, by_follower: bool) -> None:
    change = raft.change(text, via=other(raft) if by_follower else raft.leader)
    assert raft.run(until=lambda: change.state == "applied", for_ms=500)
    assert change.why == "nobody's part changes: voters=(1 2 3) as before"
    raft.run(for_ms=500)
    assert {str(member.node.raft.config) for member in raft.members.values()} == {"voters=(1 2 3)"}


def test_what_changes_the_group_needs_no_reason(raft: RaftCluster) -> None:
    for text in ("r9", "v4", "l4", "r4"):
        change = raft.change(text)
        assert raft.run(until=lambda change=change: change.state == "applied", for_ms=500)  # type: ignore[misc]
        assert bool(change.why) == (text == "r9")


def test_a_proposal_says_why_it_was_dropped(raft: RaftCluster) -> None:
    one, two = raft.change("v4"), raft.change("v5")
    raft.run(for_ms=500)
    assert (one.why, two.why) == ("", f"the change at index {one.index} comes first: it is not applied yet")
    for id in (1, 2, 3, 4):
        raft.crash(id)
    assert raft.propose("x=1", via=2).why == "member 2 does not run"


def test_two_changes_at_once_are_one_too_many(raft: RaftCluster) -> None:
    one, two = raft.change("v4"), raft.change("v5")
    raft.run(for_ms=500)
    assert (one.state, two.state, list(raft.members)) == ("applied", "dropped", [1, 2, 3, 4])


def test_a_joint_configuration_is_left_when_asked(raft: RaftCluster) -> None:
    for text, transition, config in (
        ("v4", "explicit", "voters=(1 2 3 4)&&(1 2 3)"),
        ("", "auto", "voters=(1 2 3 4)"),
    ):
        change = raft.change(text, transition=transition)  # type: ignore[arg-type]
        assert raft.run(until=lambda change=change: change.state == "applied", for_ms=500)  # type: ignore[misc]
        assert str(raft.members[raft.leader].node.raft.config) == config
    assert [event.data["what"] for event in raft.trace if event.kind == "raft.apply"][-1] == "leave joint"


def test_a_change_that_nobody_takes_leaves_no_member_behind(raft: RaftCluster) -> None:
    for id in (1, 2, 3):
        raft.crash(id)
    assert raft.change("v4").state == "dropped"
    assert (raft.alive, list(raft.members)) == ([], [1, 2, 3])


def test_a_change_that_a_follower_without_a_leader_drops_leaves_no_member_behind() -> None:
    raft = RaftCluster(3, seed=7)
    change = raft.change("v4", via=2)
    raft.run(for_ms=50)
    assert (change.state, raft.alive) == ("dropped", [1, 2, 3])
    raft.close()


@pytest.mark.parametrize(
    ("text", "transition", "says"),
    [
        ("v4", "bogus", "transition 'bogus': expected one of auto, implicit, explicit"),
        ("v9999", "auto", "change 'v9999': member 9999: expected a number from 1 to 50"),
        ("v0", "auto", "change 'v0': member 0: expected a number from 1 to 50"),
        ("v²", "auto", "change 'v²': expected v, l, r or u and a node id, such as v4"),
        ("v٤", "auto", "change 'v٤': expected v, l, r or u and a node id, such as v4"),
        ("v" + "9" * 5_000, "auto", f"change 'v{'9' * 5_000}': expected v, l, r or u and a node id, such as v4"),
        (
            "v99999999999999999999",
            "auto",
            "node 99999999999999999999 of a change: expected a number from 0 to 18446744073709551615",
        ),
        (None, "auto", "changes None: expected text, such as v4"),
    ],
)
def test_a_change_that_cannot_be_read_is_refused(raft: RaftCluster, text: Any, transition: Any, says: str) -> None:
    with pytest.raises((ValueError, RaftError)) as error:
        raft.change(text, transition=transition)
    assert str(error.value) == says
    assert list(raft.members) == [1, 2, 3]


# -- proposals and reads ---------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["x=a\0b", None, b"x", 5, "\udc80"], ids=ascii)
def test_what_is_no_text_is_neither_proposed_nor_read(raft: RaftCluster, what: Any) -> None:
    for call, name in ((raft.propose, "what"), (raft.read, "key")):
        with pytest.raises(ValueError) as error:
            call(what)
        assert str(error.value) == f"{name} {what!r}: expected text without NUL and surrogates, such as x=1"
    assert "raft.propose" not in [event.kind for event in raft.trace]


@pytest.mark.parametrize("how", ["linearizable", "serializable"])
def test_a_group_with_another_machine_is_not_asked_for_keys_and_runs_on(how: str) -> None:
    etcd = EtcdCluster(3, seed=7)
    etcd.run(until=etcd.raft.has_leader)
    says = f"^machine of member {etcd.leader}: EtcdMachine, expected KeyValues; ask whoever made it$"
    with pytest.raises(ValueError, match=says):
        etcd.raft.propose("x=1")
    with pytest.raises(ValueError, match=says):
        etcd.raft.read("x", how=how)
    assert etcd.do(PutRequest(b"k", b"v")).revision == 2
    etcd.close()


# -- options ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"size": True}, "size True: expected a number from 1 to 50"),
        ({"size": 51}, "size 51: expected a number from 1 to 50"),
        ({"snapshot_count": 0}, "snapshot_count 0: expected a whole number, at least 1"),
        ({"keep_entries": -5}, "keep_entries -5: expected a whole number, at least 0"),
        ({"keep_entries": "x"}, "keep_entries 'x': expected a whole number, at least 0"),
        ({"tick_ms": 0}, "tick_ms 0: expected a whole number, at least 1"),
        ({"tick_ms": 0.5}, "tick_ms 0.5: expected a whole number, at least 1"),
        ({"sync_ms": (5, 1)}, "sync_ms (5, 1): expected two numbers, 0 <= low <= high"),
        ({"sync_ms": (-1, -1)}, "sync_ms (-1, -1): expected two numbers, 0 <= low <= high"),
        ({"sync_ms": 5}, "sync_ms 5: expected two numbers, 0 <= low <= high"),
        ({"faults": "x"}, "faults 'x': expected Faults"),
        ({"loop": 5}, "loop 5: expected a Loop"),
        ({"loop": 0}, "loop 0: expected a Loop"),
        ({"network": 3}, "network 3: expected a Network"),
        ({"machine": None}, "machine None: expected a function that makes a member's machine from its id"),
        ({"on_start": 1}, "on_start 1: expected a function of an id and a Member"),
        ({"loop": None, "seed": None}, "seed: None: expected a number or a text"),
        ({"loop": None, "seed": []}, "seed: []: expected a number or a text"),
        ({"name": ""}, "name '': expected text that is not empty"),
        ({"election_tick": "a"}, "election_tick 'a': expected a whole number, at least 0"),
        ({"max_size_per_message": -1}, "max_size_per_message -1: expected a whole number, at least 0"),
        ({"pre_vote": "no"}, "pre_vote 'no': expected True or False"),
    ],
    ids=str,
)
def test_options_are_refused_before_anything_runs(options: dict[str, Any], says: str, raft: RaftCluster) -> None:
    tasks = dict(raft.view()["ready"])
    with pytest.raises((TypeError, ValueError, RaftError)) as error:
        RaftCluster(**{"loop": raft.loop, "name": "second", **options})
    assert str(error.value) == says
    assert raft.view()["ready"] == tasks
    raft.run(for_ms=3_000)
    assert {event.actor for event in raft.trace} == {"raft/1", "raft/2", "raft/3"}


@pytest.mark.parametrize("make", [RaftCluster, EtcdCluster])
@pytest.mark.parametrize("name", ["id", "election_ticks"], ids=["each member has its own", "no such option"])
def test_an_option_that_is_none_is_answered_with_those_there_are(make: Callable[..., Any], name: str) -> None:
    with pytest.raises(ValueError) as error:
        make(3, **{name: 5})
    head, _, known = str(error.value).partition(": expected one of ")
    assert head == f"option {name!r}"
    assert known.split(", ") == [field.name for field in fields(RaftConfig)][1:]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"network": 3}, "network 3: expected a Network"),
        ({"loop": 0}, "loop 0: expected a Loop"),
        ({"seed": None}, "seed: None: expected a number or a text"),
        ({"tick_ms": None}, "tick_ms None: expected a whole number, at least 1"),
        ({"election_tick": None}, "election_tick None: expected a whole number, at least 0"),
        ({"compactor": 5}, "compactor is 5, expected a function that makes a Compactor"),
    ],
    ids=str,
)
def test_an_etcd_refuses_its_parts_likewise(options: dict[str, Any], says: str) -> None:
    with pytest.raises((TypeError, ValueError, RaftError)) as error:
        EtcdCluster(3, **options)
    assert str(error.value) == says


def test_two_groups_of_one_network_have_two_names() -> None:
    first = EtcdCluster(3, seed=7)
    with pytest.raises(ValueError, match=r"^name 'etcd': expected one that no other group on this network has$"):
        EtcdCluster(3, loop=first.loop, network=first.raft.network)
    second = EtcdCluster(3, loop=first.loop, network=first.raft.network, name="events")
    first.run(for_ms=5_000)
    assert first.leader and second.leader
    first.close()


# -- faults ----------------------------------------------------------------------------------------

WORDS = "crash N, restart N, cut N N, heal N N or heal"


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (lambda raft: raft.isolate(9), "member 9: expected one of 1, 2, 3"),
        (lambda raft: raft.isolate("1"), "member '1': expected one of 1, 2, 3"),
        (lambda raft: raft.isolate(True), "member True: expected one of 1, 2, 3"),
        (lambda raft: raft.partition([9], [1]), "member 9: expected one of 1, 2, 3"),
        (lambda raft: raft.partition("12"), "member '1': expected one of 1, 2, 3"),
        (lambda raft: raft.partition(1), "sides (1,): expected members in lists, such as [1, 2]"),
        (lambda raft: raft.partition([1], [1, 2]), "sides [[1], [1, 2]]: expected each member once"),
        (lambda raft: raft.cut(1, 1), "member 1: expected two that differ"),
        (lambda raft: raft.cut_link(2, 2), "member 2: expected two that differ"),
        (lambda raft: raft.heal_link(3, 3), "member 3: expected two that differ"),
        *[
            (lambda raft, text=text: raft.command(text), f"command {text!r}: expected {WORDS}")
            for text in ("crash ²", "crash ٢", "", " ", None, 5)
        ],
        *[
            (
                lambda raft, percent=percent: raft.skew(1, percent),
                f"percent {percent!r}: expected a whole number, at least 1",
            )
            for percent in (0, "50", True)
        ],
    ],
)
def test_a_fault_names_members_of_the_group(raft: RaftCluster, fault: Callable[[Any], None], says: str) -> None:
    before = len(raft.trace)
    with pytest.raises(ValueError) as error:
        fault(raft)
    assert str(error.value) == says
    assert (raft.network.cuts, len(raft.trace)) == ([], before)


# -- a node ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda node: node.step(None), r"message None: expected a Message$"),
        (lambda node: node.step(Message("MsgBogus", 1, 2)), r"type 'MsgBogus' of a message: expected one of MsgApp, "),  # type: ignore[arg-type]
        (lambda node: node.propose("x"), r"data 'x': expected bytes$"),
        (lambda node: node.propose_conf_change("v4"), r"change 'v4': expected a ConfChange, such as "),
    ],
    ids=["no message", "a message of an unknown type", "text", "a change as text"],
)
def test_a_node_takes_messages_bytes_and_changes(call: Callable[[Any], None], says: str) -> None:
    node = Node(RaftConfig(id=1, applied=1), MemoryStorage(Snapshot(1, 1, ConfState((1,)))))
    with pytest.raises(ValueError, match=f"^{says}"):
        call(node)
    assert not node.has_ready()
    node.campaign()
    assert node.has_ready()


ADD = ConfChangeSingle("AddNode", 4)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            ConfChange((ConfChangeSingle("Nope", 4),)),
            "type 'Nope' of a change: expected one of AddNode, AddLearnerNode, RemoveNode, UpdateNode",
        ),
        (
            ConfChange((ConfChangeSingle([], 4),)),  # type: ignore[arg-type]
            "type [] of a change: expected one of AddNode, AddLearnerNode, RemoveNode, UpdateNode",
        ),
        (
            ConfChange((ConfChangeSingle("AddNode", "4"),)),  # type: ignore[arg-type]
            "node '4' of a change: expected a number from 0 to 18446744073709551615",
        ),
        (
            ConfChange((ConfChangeSingle("AddNode", True),)),
            "node True of a change: expected a number from 0 to 18446744073709551615",
        ),
        (
            ConfChange((ConfChangeSingle("AddNode", 2**64),)),
            "node 18446744073709551616 of a change: expected a number from 0 to 18446744073709551615",
        ),
        (
            ConfChange(("v4",)),  # type: ignore[arg-type]
            "change 'v4': expected one such as ConfChangeSingle('AddNode', 4)",
        ),
        (ConfChange("v4"), "changes 'v4': expected a tuple of ConfChangeSingle"),  # type: ignore[arg-type]
        (ConfChange((), "x"), "transition 'x': expected one of auto, implicit, explicit"),  # type: ignore[arg-type]
        (
            ConfChange((ADD, ConfChangeSingle("RemoveNode", 1)), v1=True),
            "changes 'v4 r1': expected one, for the first kind of change (v1)",
        ),
        (ConfChange((), v1=True), "changes '': expected one, for the first kind of change (v1)"),
        (ConfChange((ADD,), context="x"), "context 'x': expected bytes"),  # type: ignore[arg-type]
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_change_that_cannot_be_is_neither_encoded_nor_proposed_nor_applied(change: ConfChange, says: str) -> None:
    node = Node(RaftConfig(id=1, applied=1), MemoryStorage(Snapshot(1, 1, ConfState((1,)))))
    node.campaign()
    for call in (change.entry, lambda: node.propose_conf_change(change), lambda: node.apply_conf_change(change)):
        with pytest.raises(RaftError) as error:
            call()
        assert str(error.value) == says
    assert str(node.raft.config) == "voters=(1)"


@pytest.mark.parametrize(
    "data",
    [
        b'{"changes": [["Nope", 4]], "context": "", "transition": "auto"}',
        b'{"changes": [["AddNode", "x"]], "context": "", "transition": "auto"}',
        b'{"changes": [], "context": "", "transition": "x"}',
        b"rubbish",
    ],
    ids=["an unknown type", "a node that is no number", "an unknown transition", "no JSON"],
)
def test_an_entry_that_holds_no_change_is_not_read_as_one(data: bytes) -> None:
    with pytest.raises(RaftError, match=r"^entry 7: no readable change of the configuration: "):
        conf_change_of(Entry(index=7, type="EntryConfChangeV2", data=data))
