"""Calls that cannot be: each is refused by a sentence that names what was given and what is expected, and changes
nothing.

Spec: go.etcd.io/raft/v3 raft.go (Config.validate, stepLeader); etcd server/storage/wal, server/etcdserver/api/snap
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from k8slab.etcd import EtcdCluster, PutRequest
from k8slab.raft import (
    ConfState,
    CRCMismatchError,
    MemoryStorage,
    Message,
    Node,
    RaftCluster,
    RaftConfig,
    RaftError,
    Snapshot,
)


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
    assert {str(member.node.raft.config) for member in raft.members.values()} == {"voters=(1 2 3)"}


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
        ({"name": ""}, "name '': expected text that is not empty"),
        ({"election_tick": "a"}, "election_tick 'a': expected a whole number, at least 0"),
        ({"max_size_per_message": -1}, "max_size_per_message -1: expected a whole number, at least 0"),
        ({"pre_vote": "no"}, "pre_vote 'no': expected True or False"),
    ],
    ids=str,
)
def test_options_are_refused_before_anything_runs(options: dict[str, Any], says: str, raft: RaftCluster) -> None:
    tasks = dict(raft.view()["ready"])
    with pytest.raises((ValueError, RaftError)) as error:
        RaftCluster(**{"loop": raft.loop, "name": "second", **options})
    assert str(error.value) == says
    assert raft.view()["ready"] == tasks
    raft.run(for_ms=3_000)
    assert {event.actor for event in raft.trace} == {"raft/1", "raft/2", "raft/3"}


def test_two_groups_of_one_network_have_two_names() -> None:
    first = EtcdCluster(3, seed=7)
    with pytest.raises(ValueError, match=r"^name 'etcd': expected one that no other group on this network has$"):
        EtcdCluster(3, loop=first.loop, network=first.raft.network)
    second = EtcdCluster(3, loop=first.loop, network=first.raft.network, name="events")
    first.run(for_ms=5_000)
    assert first.leader and second.leader
    first.close()


# -- faults ----------------------------------------------------------------------------------------


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
        (
            lambda raft: raft.command("crash ²"),
            "command 'crash ²': expected crash N, restart N, cut N N, heal N N or heal",
        ),
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
