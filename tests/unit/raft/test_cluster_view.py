"""What a RaftCluster shows: each state is what the trace has told so far; looking changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from k8slab.etcd import EtcdCluster, PutRequest
from k8slab.raft import RaftCluster
from k8slab.sim import Faults, TraceEvent
from k8slab.widgets import Stepper, expand
from k8slab.widgets.story import lane_of


def eventful(size: int = 5, **options: Any) -> RaftCluster:
    """A group in which writes are lost, a member crashes and comes back, and all heals; planned, not run."""
    raft = RaftCluster(size, seed=7, **options)
    at = raft.loop.call_later
    at(1_400, lambda: raft.propose("x=1"))
    at(1_450, lambda: raft.partition([raft.leader]))
    at(1_460, lambda: raft.propose("x=2"))
    at(3_600, lambda: raft.propose("x=3"))
    at(3_700, lambda: raft.crash(next(id for id in raft.alive if id != raft.leader)))
    at(3_800, raft.heal)
    at(5_500, lambda: raft.restart(next(id for id in raft.members if id not in raft.alive)))
    return raft


Group = Callable[..., RaftCluster]


@pytest.fixture
def group() -> Iterator[Group]:
    """RaftClusters that are closed in the end: some tests never run theirs."""
    made: list[RaftCluster] = []

    def make(size: int, **options: Any) -> RaftCluster:
        made.append(RaftCluster(size, **options))
        return made[-1]

    yield make
    for raft in made:
        raft.close()


class Told:
    """The naive twin: members as the events alone tell of them."""

    def __init__(self, size: int) -> None:
        self.members: dict[str, dict[str, Any]] = {
            str(id): {"role": "follower", "term": 0, "log": {}, "committed": 1, "applied": 1}
            for id in range(1, size + 1)
        }

    def hear(self, kind: str, data: dict[str, Any]) -> None:
        if "id" not in data:
            return
        member = self.members[str(data["id"])]
        match kind:
            case "raft.role":
                member |= {"role": data["role"], "term": data["term"]}
            case "raft.append":
                kept = {index: entry for index, entry in member["log"].items() if int(index) < data["index"]}
                member["log"] = {**kept, str(data["index"]): f"{data['term']} {data['what']}".rstrip()}
            case "raft.commit":
                member["committed"] = data["index"]
            case "raft.apply":
                member["applied"] = data["index"]
            case "raft.crash":
                member["role"] = "crashed"
            case "raft.start":
                member |= {"role": "follower", "term": data["term"]}


def test_no_state_shows_an_entry_as_committed_that_others_have_otherwise() -> None:
    """State machine safety, for whoever looks: a leader with entries of its own comes home to a later one."""
    raft = RaftCluster(3, seed=7)
    raft.run(until=raft.has_leader)
    raft.run(for_ms=300)
    old, at = raft.leader, raft.loop.call_later
    at(20, lambda: raft.isolate(old))
    at(30, lambda: raft.propose("a=2", via=old))
    at(1_400, lambda: raft.propose("a=4", via=raft.leader))
    at(1_450, raft.heal)
    stepper, overwritten = Stepper(raft, for_ms=1_600), set()
    frames = [state["raft"]["members"] for state in expand(stepper.frames)]
    for members in frames:
        committed: dict[str, set[str]] = {}
        for member in members.values():
            for index, entry in member["log"].items():
                if int(index) <= member["committed"]:
                    committed.setdefault(index, set()).add(entry)
        assert all(len(entries) == 1 for entries in committed.values()), committed
        overwritten.add(members[str(old)]["log"].get("3"))
    assert {"1 a=2", "2 an empty entry"} <= overwritten


def test_each_state_is_what_was_told_so_far() -> None:
    raft = eventful()
    stepper = Stepper(raft, for_ms=8_000)
    told, kinds = Told(5), set()
    down: set[str] = set()
    for step, state in zip(stepper.frames["steps"], expand(stepper.frames), strict=True):
        event = raft.trace[step["seq"]]
        kinds.add(event.kind)
        told.hear(event.kind, dict(event.data))
        if event.kind in ("raft.crash", "raft.start"):
            down ^= {str(event.data["id"])}
            # what a restarted member knows to be committed is what its disk says: nothing is told of it
            told.members[str(event.data["id"])]["committed"] = state["raft"]["members"][str(event.data["id"])][
                "committed"
            ]
            told.members[str(event.data["id"])]["applied"] = 1
        shown = {
            id: {name: member.get(name, 1) for name in ("role", "term", "log", "committed", "applied")}
            for id, member in state["raft"]["members"].items()
        }
        assert shown == told.members, f"after event {event.seq}, {event.kind} of {event.actor}"
    assert down == set()
    assert {"raft.role", "raft.append", "raft.commit", "raft.apply", "raft.crash", "raft.start", "raft.split"} <= kinds


def test_a_message_is_on_its_way_from_its_sending_to_its_hearing(group: Group) -> None:
    raft = group(3, seed=7)
    stepper = Stepper(raft)
    before: dict[str, Any] = {}
    for step, state in zip(stepper.frames["steps"], expand(stepper.frames), strict=True):
        event, now = raft.trace[step["seq"]], state["raft"]["messages"]
        new = [message for number, message in now.items() if number not in before]
        if event.kind == "raft.send":
            assert len(new) == 1
            assert (new[0]["from"], new[0]["to"]) == (str(event.data["id"]), str(event.data["to"]))
            assert (new[0]["type"], new[0]["term"], new[0]["at"]) == (
                event.data["type"],
                event.data["term"],
                event.now_ms,
            )
            assert new[0].get("count", 0) == event.data["count"]
        else:
            assert new == []
        before = now


def test_looking_changes_nothing() -> None:
    def run(look: bool) -> str:
        raft = eventful(3, faults=Faults(delay_ms=(1, 9), loss=0.1), sync_ms=(1, 8))
        for _ in range(3_000):
            raft.step()
            if look:
                raft.view()
        return raft.trace.to_jsonl()

    assert run(look=True) == run(look=False)


def test_the_same_seed_gives_the_same_frames() -> None:
    one, other = (Stepper(eventful(3), for_ms=4_000) for _ in range(2))
    assert one._json() == other._json()


@pytest.mark.parametrize("seed", range(5))
def test_a_crashed_member_shows_what_its_disk_holds(seed: int, group: Group) -> None:
    raft = group(3, seed=seed, sync_ms=(50, 50))
    assert raft.run(until=raft.has_leader)
    raft.run(for_ms=500)
    lead = raft.leader
    before = raft.view()["raft"]["members"][str(lead)]
    raft.propose("x=1")
    raft.run(for_ms=20)
    raft.crash(lead)
    left = raft.view()["raft"]["members"][str(lead)]
    assert (left["role"], left["term"], left["vote"]) == ("crashed", before["term"], before["vote"])
    assert before["log"].items() <= left["log"].items()
    assert "applied" not in left  # that was in memory
    raft.restart(lead)
    again = raft.view()["raft"]["members"][str(lead)]
    assert {**again, "role": "crashed"}.items() >= left.items()


def test_a_member_that_was_removed_has_left(group: Group) -> None:
    raft = group(3, seed=7)
    assert raft.run(until=raft.has_leader)
    gone = next(id for id in raft.members if id != raft.leader)
    raft.change(f"r{gone}")
    assert raft.run(until=lambda: gone not in raft.alive)
    assert raft.view()["raft"]["members"][str(gone)]["role"] == "left"


def test_a_long_log_shows_its_newest_24_entries(group: Group) -> None:
    raft = group(1, seed=7)
    assert raft.run(until=raft.has_leader)
    for number in range(40):
        raft.propose(f"x={number}")
    raft.run(for_ms=100)
    member = raft.view()["raft"]["members"]["1"]
    last = 1 + 1 + 40  # the first configuration, the new leader's empty entry, the writes
    assert [int(index) for index in member["log"]] == list(range(last - 23, last + 1))
    assert member["first"] == 2


def test_states_share_members_that_did_not_change(group: Group) -> None:
    raft = group(3, seed=7)
    one, other = raft.view(), raft.view()
    assert all(other["raft"]["members"][id] is member for id, member in one["raft"]["members"].items())


# -- cuts ------------------------------------------------------------------------------------------


def cuts(raft: RaftCluster) -> set[str]:
    return set(raft.view()["raft"]["cuts"])


def test_cuts_are_shown_by_direction(group: Group) -> None:
    raft = group(4)
    raft.cut(1, 2)
    assert cuts(raft) == {"1>2"}
    raft.heal_link(1, 2)
    raft.cut_link(3, 4)
    assert cuts(raft) == {"3>4", "4>3"}
    raft.heal()
    raft.partition([1, 2])
    assert cuts(raft) == {"1>3", "3>1", "1>4", "4>1", "2>3", "3>2", "2>4", "4>2"}
    raft.heal_link(2, 3)
    assert cuts(raft) == {"1>3", "3>1", "1>4", "4>1", "2>4", "4>2"}


@pytest.mark.parametrize("fault", ["cut", "cut_link", "heal_link"])
def test_a_link_to_nobody_is_refused(fault: str, group: Group) -> None:
    with pytest.raises(ValueError, match="member 9: expected one of 1, 2, 3"):
        getattr(group(3), fault)(1, 9)


def test_faults_are_told_in_sentences(group: Group) -> None:
    raft = group(5)
    raft.partition([1, 2])
    raft.cut(3, 4)
    raft.cut_link(4, 5)
    raft.heal_link(4, 5)
    raft.heal()
    assert [event.message for event in raft.trace if event.actor == "network"] == [
        "messages between nodes 1,2 and 3,4,5 are lost from now on",
        "messages from node 3 to node 4 are lost from now on",
        "messages between nodes 4 and 5 are lost from now on",
        "messages between nodes 4 and 5 pass again",
        "all messages pass again",
    ]


# -- orders from the picture -----------------------------------------------------------------------


def test_orders_of_the_picture(group: Group) -> None:
    raft = group(3, seed=7)
    raft.command("crash 2")
    assert raft.alive == [1, 3]
    raft.command("restart 2")
    assert raft.alive == [1, 3, 2] or raft.alive == [1, 2, 3]
    raft.command("cut 1 3")
    assert cuts(raft) == {"1>3", "3>1"}
    raft.command("heal 1 3")
    assert cuts(raft) == set()
    raft.command("cut 1 2")
    raft.command("heal")
    assert cuts(raft) == set()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "command '': expected crash N, restart N, cut N N, heal N N or heal"),
        ("crash", "command 'crash': expected"),
        ("crash two", "command 'crash two': expected"),
        ("explode 1", "command 'explode 1': expected"),
        ("cut 1", "command 'cut 1': expected"),
        ("crash 9", "member 9: expected one of 1, 2, 3"),
        ("restart 1", "member 1 is running: crash it first"),
    ],
)
def test_an_order_that_cannot_be_done_is_refused(text: str, says: str, group: Group) -> None:
    with pytest.raises(ValueError, match=says):
        group(3).command(text)


def test_live_a_crash_is_a_step_and_a_wrong_order_is_told_to_the_reader(group: Group) -> None:
    raft = group(3, seed=7)
    stepper = Stepper(raft, until=raft.has_leader, live=True)
    widget, lead = stepper.widget(), raft.leader
    before = len(stepper.frames["steps"])
    widget.command = {"n": 1, "do": "step", "actor": f"do: crash {lead}"}
    assert widget.status == ""
    assert len(stepper.frames["steps"]) == before + 1
    assert stepper.frames["steps"][-1]["text"] == f"Node {lead} crashes; what its disk has not synced is lost."
    assert expand(stepper.frames)[-1]["raft"]["members"][str(lead)]["role"] == "crashed"
    widget.command = {"n": 2, "do": "step", "actor": "do: crash 9"}
    assert widget.status == "member 9: expected one of 1, 2, 3."
    with pytest.raises(ValueError, match="member 9"):
        stepper.step("do: crash 9")


# -- the story -------------------------------------------------------------------------------------


def test_a_stepper_runs_until_all_have_applied_what_was_proposed(group: Group) -> None:
    raft = group(3, seed=7)
    Stepper(raft)
    assert raft.has_leader()
    raft.propose("x=1")
    assert not raft.all_ready()
    Stepper(raft)
    assert [member.machine.values for member in raft.members.values()] == [{"x": "1"}] * 3  # type: ignore[attr-defined]
    assert raft.all_ready()


def test_of_a_long_run_the_heartbeats_are_left_out_and_not_the_end() -> None:
    raft = RaftCluster(3, seed=7)
    raft.loop.call_later(25_000, lambda: raft.crash(raft.leader))
    stepper = Stepper(raft, for_ms=28_000)
    kinds = [event.kind for event in raft.trace]
    assert len(kinds) > 1_000
    shown = [raft.trace[step["seq"]] for step in stepper.frames["steps"]]
    assert "cut" not in stepper.frames
    assert not any(str(event.data.get("type", "")).startswith("MsgHeartbeat") for event in shown)
    for kind in ("raft.role", "raft.crash", "raft.commit", "raft.append"):
        assert [event.kind for event in shown].count(kind) == kinds.count(kind)


def told_by(raft: RaftCluster, commit: TraceEvent) -> tuple[TraceEvent, TraceEvent]:
    """The message from which a member has a commit (its receipt), and the cause of its sending."""
    received = raft.trace[commit.also[0] if commit.also else commit.cause or 0]
    assert (received.kind, received.actor) == ("raft.receive", commit.actor)
    sent = raft.trace[received.cause or 0]
    assert sent.kind == "raft.send" and sent.actor != commit.actor
    return received, raft.trace[sent.cause or 0]


@pytest.mark.parametrize("seed", range(5))
def test_a_follower_knows_a_commit_from_a_message_and_that_goes_back_to_the_leaders_commit(seed: int) -> None:
    """§5.3: "Once a follower learns that a log entry is committed": from the leader's commitIndex in a message. That is
    the cause, not what else the message was due for, nor the entries that came with it."""
    raft = RaftCluster(3, seed=seed, faults=Faults(delay_ms=(1, 9), loss=0.05))
    raft.run(until=raft.has_leader)
    away = next(id for id in raft.members if id != raft.leader)
    raft.loop.call_later(300, lambda: raft.isolate(away))
    raft.loop.call_later(1_900, raft.heal)
    for number in range(12):
        raft.loop.call_later(200 * number, lambda number=number: raft.propose(f"x={number}"))  # type: ignore[misc]
    raft.run(for_ms=4_000)
    because, ways = {}, set()
    for commit in (event for event in raft.trace if event.kind == "raft.commit"):
        cause = raft.trace[commit.cause or 0]
        received, reason = told_by(raft, commit)
        if received.data["type"] == "MsgAppResp":  # the leader's own: an answer, and it has a quorum
            assert commit.also == ()
            continue
        leader = cause if commit.also else reason
        assert leader.kind == "raft.commit" and leader.actor != commit.actor
        assert leader.data["index"] >= commit.data["index"] and leader.data["term"] >= commit.data["term"]
        assert cause in (received, leader) and (commit.also != ()) == (reason != leader)
        because[commit.seq] = leader
        ways.add(bool(commit.also))
    assert ways == {True, False}, "messages sent because of the commit, and such as were due anyhow"
    told = {event.data["index"] for event in because.values()}
    assert told and max(told) == max(member.applied for member in raft.members.values())


def test_a_follower_answers_what_it_was_sent_not_what_it_commits() -> None:
    raft = eventful(3)
    raft.run(for_ms=7_000)
    causes = {raft.trace[event.cause or 0].kind for event in raft.trace if event.data.get("type") == "MsgAppResp"
              and event.kind == "raft.send"}  # fmt: skip
    assert causes == {"raft.append", "raft.receive"}


def test_the_past_of_a_group_is_refused(group: Group) -> None:
    raft = group(3, seed=7)
    raft.run(until=raft.has_leader)
    with pytest.raises(ValueError, match="since: the past of a RaftCluster is not recorded"):
        Stepper(raft, since=0)


def test_sentences_name_who_acts_and_lanes_are_nodes() -> None:
    stepper = Stepper(eventful(3), for_ms=6_000)
    for step in stepper.frames["steps"]:
        if step["actor"].startswith("raft/"):
            assert step["text"].startswith(f"Node {step['actor'][5:]} ")
        else:
            assert step["actor"] in ("you", "network")
    assert [(lane["id"], lane["label"], lane["role"]) for lane in stepper.frames["lanes"]] == [
        ("you", "kubectl (you)", "you"),
        ("raft/1", "node 1", "etcd"),
        ("raft/2", "node 2", "etcd"),
        ("raft/3", "node 3", "etcd"),
        ("network", "Network", "net"),
    ]
    assert lane_of("etcd/2/run") == "etcd/2"
    assert lane_of("etcd") == "etcd"


def test_a_cluster_of_etcd_is_shown_the_same_way() -> None:
    etcd = EtcdCluster(3, seed=7)
    etcd.raft.run(until=etcd.raft.has_leader)
    etcd.loop.spawn("you/request", etcd.attempt(etcd.leader, PutRequest(b"k", b"v")))
    stepper = Stepper(etcd)
    assert stepper.frames["views"] == ["raft", "lanes"]
    assert {step["actor"] for step in stepper.frames["steps"]} == {"etcd/1", "etcd/2", "etcd/3"}
    assert [store["revision"] for store in expand(stepper.frames)[-1]["stores"].values()] == [2, 2, 2]
    etcd.command("crash 1")
    assert etcd.raft.alive == [2, 3]
