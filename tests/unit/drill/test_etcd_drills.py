"""Drills on Raft and etcd: what a wrong form is told, and cases whose answers the papers give."""

from __future__ import annotations

import pytest

from k8slab.drill import Drill, drill
from k8slab.drill.mvcc import Command, run
from k8slab.drill.raft_nodes import answer_of, grants, leader_of, log_of, make_node
from k8slab.drill.raft_reads import NO_ANSWER, Split, read_in
from k8slab.etcd import Store
from k8slab.raft.messages import Message
from k8slab.raft.replication import maybe_commit


def first(topic: str, kind: str) -> Drill:
    """The exercise of a kind with the smallest seed."""
    return next(one for one in (drill(topic, seed) for seed in range(500)) if one.kind == kind)


@pytest.mark.parametrize(
    ("topic", "kind", "given", "says"),
    [
        ("raft", "majority", "two", "expected a whole number"),
        ("raft", "pending", "maybe", "expected one of won, lost, open"),
        ("raft", "timeout", "1000", "expected 2 whole numbers"),
        ("raft", "vote", "perhaps", "expected one of yes, no"),
        ("raft", "election", "n9", "'n9' is none of n1, n2"),
        ("raft", "append", "x", "expected one of reject, 0, 1"),
        ("raft", "log-after", "1 2 9", "'9' is none of 1, 2, 3, 4, 5"),
        ("raft", "hint", "3", "expected 2 whole numbers"),
        ("raft", "reads", "later", NO_ANSWER),
        ("mvcc", "fields", "3, 4", "expected 3 whole numbers"),
        ("mvcc", "read-at", "v99", "compacted, future"),
        ("mvcc", "watch", "ADDED/a", "is none of PUT/a, PUT/b"),
        ("mvcc", "refused", "error", "expected one of ok, compacted"),
        ("mvcc", "lease", "soon", "expected a duration such as"),
        ("mvcc", "compaction", "all", "'all' is none of 2, 3"),
        ("mvcc", "txn", "both", "expected one of success, failure"),
    ],
)
def test_a_wrong_form_is_told_what_was_expected(topic: str, kind: str, given: str, says: str) -> None:
    verdict = first(topic, kind).check(given)
    assert not verdict.right
    assert verdict.message.startswith("Not an answer to this question") and says in verdict.message


def test_figure_8_is_answered_as_in_the_paper() -> None:
    """§5.4.2: S1 leads in term 4; entry 2 of term 2 is on three of five, and is not committed by that."""
    leader = leader_of([1, 2], 4, size=5, commit=1)
    for node, index in enumerate((2, 2, 2, 1, 1), 1):
        leader.progress[node].match = index
    assert not maybe_commit(leader)
    assert leader.log.committed == 1


def test_figure_7_followers_refuse_and_take_as_in_the_paper() -> None:
    """§5.3: the leader of term 8 has the terms 1 1 1 4 4 5 5 6 6 6 and sends what follows index 10."""
    followers = {
        "a": ([1, 1, 1, 4, 4, 5, 5, 6, 6], True),
        "b": ([1, 1, 1, 4], True),
        "c": ([1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 6], False),
        "d": ([1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 7, 7], False),
        "e": ([1, 1, 1, 4, 4, 4, 4], True),
        "f": ([1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3], True),
    }
    for name, (terms, refuses) in followers.items():
        answer = answer_of(make_node(terms, term=8), Message("MsgApp", 1, 2, 8, 6, 10))
        assert answer.reject == refuses, name


@pytest.mark.parametrize(
    ("own", "candidate", "right"),
    [((2, 9), (3, 1), True), ((3, 1), (2, 9), False), ((3, 4), (3, 4), True), ((3, 4), (3, 3), False)],
    ids=["a later term wins", "a longer log of an older term does not", "equal logs will do", "shorter is older"],
)
def test_logs_are_compared_by_term_then_length(own: tuple[int, int], candidate: tuple[int, int], right: bool) -> None:
    assert grants(make_node(log_of(*own), term=3), 2, 4, *candidate) == right


def test_a_node_that_says_nothing_has_no_answer() -> None:
    with pytest.raises(ValueError, match="message MsgUnreachable: node 1 does not answer it, expected one answer"):
        answer_of(make_node([1], term=1), Message("MsgUnreachable", 1, 2, 1))


def test_a_read_by_lease_trusts_the_clock() -> None:
    assert read_in(Split("new", False, "old", "lease"), "1", "2") == "1"
    assert read_in(Split("new", False, "old", "linearizable"), "1", "2") == NO_ANSWER
    assert read_in(Split("old", True, "old", "linearizable"), "1", "2") == "1"


def test_a_command_reads_as_it_is_run() -> None:
    store = Store()
    command = run(store, Command((("a", "v1"), ("b", ""))))
    assert (str(command), command.revision) == ("txn put a v1; del b", 2)
    assert [str(run(store, Command(((key, ""),)))) for key in "bc"] == ["del b", "del c"]
    assert store.revision == 2
