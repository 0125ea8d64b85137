"""Raft's parts against naive twins: quorums against all subsets, the log against a list, configurations against sets.

Spec: the definitions of majority, of the log matching property (§5.3) and of joint consensus (§6).
"""

from __future__ import annotations

from itertools import combinations, product

from hypothesis import given, settings
from hypothesis import strategies as st

from k8slab.check import Operation, linearizable
from k8slab.raft import ConfChange, Configuration, Entry, MemoryStorage, RaftError
from k8slab.raft.confchange import Change, changed, restore
from k8slab.raft.log import Log
from k8slab.raft.messages import EntryID, limit_size
from k8slab.raft.quorum import joint_committed_index, joint_vote_result
from tests.counts import examples


def majorities(voters: list[int]) -> list[tuple[int, ...]]:
    """Every set of more than half of the voters; the empty electorate has the empty majority."""
    least = len(voters) // 2 + 1 if voters else 0
    return [some for size in range(least, len(voters) + 1) for some in combinations(voters, size)]


voters = st.lists(st.integers(1, 6), max_size=5, unique=True).map(sorted)


@settings(max_examples=examples(300))
@given(voters, voters, st.dictionaries(st.integers(1, 6), st.integers(1, 9)))
def test_committed_is_the_highest_index_that_a_majority_of_both_halves_has(
    incoming: list[int], outgoing: list[int], acked: dict[int, int]
) -> None:
    def agreed(half: list[int], index: int) -> bool:
        return any(all(acked.get(one, 0) >= index for one in some) for some in majorities(half))

    found = joint_committed_index(incoming, outgoing, acked.get)
    highest = max(index for index in range(11) if agreed(incoming, index) and agreed(outgoing, index))
    assert min(found, 10) == highest


@settings(max_examples=examples(300))
@given(voters, voters, st.dictionaries(st.integers(1, 6), st.booleans()))
def test_a_vote_is_decided_when_no_missing_answer_could_change_it(
    incoming: list[int], outgoing: list[int], votes: dict[int, bool]
) -> None:
    def won(answers: dict[int, bool]) -> bool:
        return all(any(all(answers[one] for one in some) for some in majorities(half)) for half in (incoming, outgoing))

    everyone = sorted({*incoming, *outgoing})
    missing = [voter for voter in everyone if voter not in votes]
    outcomes = {
        won({**votes, **dict(zip(missing, rest, strict=True))}) for rest in product((True, False), repeat=len(missing))
    }
    expected = "VotePending" if len(outcomes) == 2 else "VoteWon" if True in outcomes else "VoteLost"
    result = joint_vote_result(incoming, outgoing, votes)
    # Upstream also calls a vote lost as soon as one half has lost, won only when all missing votes can't matter
    assert result == expected


@settings(max_examples=examples(300))
@given(st.lists(st.tuples(st.integers(0, 12), st.lists(st.integers(0, 2), max_size=4), st.booleans()), max_size=12))
def test_the_log_is_a_list_that_keeps_what_agrees(steps: list[tuple[int, list[int], bool]]) -> None:
    """Leaders of growing terms send entries behind some index; part of it is saved now and then."""
    storage = MemoryStorage()
    log, twin, term = Log(storage), list[int](), 1
    for after, growth, save in steps:
        previous = min(after, len(twin))
        terms = []
        for more in growth:
            term += more
            terms.append(term)
        given = [Entry(one, previous + number) for number, one in enumerate(terms, 1)]
        before = EntryID(twin[previous - 1] if previous else 0, previous)
        assert log.maybe_append(before, given, 0) == previous + len(given)
        for entry in given:
            if entry.index > len(twin) or twin[entry.index - 1] != entry.term:
                twin[entry.index - 1 :] = [entry.term]
        assert [entry.term for entry in log.entries(1)] == twin
        assert log.maybe_append(EntryID(term + 1, previous), given, 0) is None
        if save and log.unstable:
            storage.append(log.next_unstable)
            log.accept_unstable()
            log.stable_to(log.last)
        log.check_invariants()
        storage.check_invariants()
    for index in range(1, len(twin) + 1):
        assert log.term(index) == twin[index - 1]


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(st.sampled_from("vlr"), st.integers(1, 5)), max_size=10), st.booleans())
def test_a_configuration_is_rebuilt_from_its_snapshot(words: list[tuple[str, int]], joint: bool) -> None:
    now = Change(Configuration((1,)), dict(restore(Configuration((1,)).state, last_index=1).progress))
    for at in range(0, len(words), 2):
        text = " ".join(f"{kind}{node}" for kind, node in words[at : at + 2])
        for change in (ConfChange.parse(text, transition="explicit" if joint else "auto"), ConfChange()):
            try:
                now = changed(now, change, last_index=9)
            except RaftError:
                continue
            again = restore(now.config.state, last_index=9)
            assert again.config == now.config
            assert sorted(again.progress) == sorted(now.progress)
            assert {*now.config.voters, *now.config.outgoing}.isdisjoint(now.config.learners)
            assert now.config.voters, "a group without voters could never decide anything again"


@settings(max_examples=examples(200))
@given(st.lists(st.binary(max_size=20), max_size=8), st.integers(0, 120))
def test_a_limited_message_holds_what_fits_and_at_least_one_entry(data: list[bytes], most: int) -> None:
    entries = tuple(Entry(1, index, data=one) for index, one in enumerate(data, 1))
    kept = limit_size(entries, most)
    assert kept == entries[: len(kept)]
    assert bool(kept) == bool(entries)
    assert len(kept) <= 1 or sum(entry.size for entry in kept) <= most
    if len(kept) < len(entries):
        assert sum(entry.size for entry in entries[: len(kept) + 1]) > most


@st.composite
def histories(draw: st.DrawFn) -> list[Operation]:
    history = []
    for number in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(("read", "write", "cas")))
        called = draw(st.integers(0, 12))
        returned = draw(st.one_of(st.none(), st.integers(called, called + 8)))
        value = draw(st.sampled_from((None, "1", "2") if kind == "read" else ("1", "2")))
        expected = draw(st.sampled_from((None, "1", "2"))) if kind == "cas" else None
        history.append(Operation(f"c{number}", "x", kind, value, called, returned, expected, draw(st.booleans())))  # type: ignore[arg-type]
    return history


def explained_by_some_order(history: list[Operation]) -> bool:
    """All orders of all subsets that leave out only what was never answered."""
    from itertools import permutations

    history = [one for one in history if one.kind != "read" or one.returned is not None]
    answered = [one for one in history if one.returned is not None]
    open_ones = [one for one in history if one.returned is None]
    for size in range(len(open_ones) + 1):
        for some in combinations(open_ones, size):
            if any(_fits(order) for order in permutations([*answered, *some])):
                return True
    return False


def _fits(order: tuple[Operation, ...]) -> bool:
    state: str | None = None
    for at, one in enumerate(order):
        if any(later.returned is not None and later.returned < one.called for later in order[at + 1 :]):
            return False
        if one.kind == "read" and one.value != state:
            return False
        succeeds = one.kind == "write" or (one.kind == "cas" and state == one.expected)
        if one.kind == "cas" and one.returned is not None and succeeds != one.ok:
            return False
        state = one.value if succeeds else state
    return True


@settings(max_examples=examples(400))
@given(histories())
def test_a_history_is_linearizable_exactly_if_some_order_explains_it(history: list[Operation]) -> None:
    assert linearizable(history) == explained_by_some_order(history)
