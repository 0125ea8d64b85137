"""Drills on Raft: majorities, votes, elections, what is committed, and what a follower answers.

The nodes of a question are real ones: they get the messages, and what they answer is the answer.

Simplified: see `k8slab.raft`; every answer is its.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from k8slab.drill.answers import choice, name_set, numbers, sequence, whole, yes_no
from k8slab.drill.exercise import Draft, Drill, Kind, generate, table_block
from k8slab.drill.raft_nodes import answer_of, grants, leader_of, log_of, make_node, terms_text
from k8slab.drill.raft_reads import reads
from k8slab.raft import quorum
from k8slab.raft.election import TRANSFER
from k8slab.raft.messages import Entry, Message
from k8slab.raft.replication import maybe_commit

__all__ = ["KINDS", "raft"]

_NAMES = ("n1", "n2", "n3", "n4", "n5")


# -- counting ---------------------------------------------------------------------------------------


def _majority(rng: random.Random) -> Draft:
    size = rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 20, 30])
    needed = quorum.quorum_size(size)
    if rng.random() < 0.5:
        asked, right = "How many of them make a majority?", needed
        wrong = {size - needed: "So many may fail.", -(-size // 2): "Half is not more than half."}
    else:
        asked, right = "How many may fail so that the group still commits?", size - needed
        wrong = {needed: "So many must live.", size // 2: "Then the rest is no majority."}
    return Draft(
        f"A group has {size} voting member{'s' * (size != 1)}. {asked}",
        whole(right, "A majority is more than half of all voters, living or not; the rest may fail.", wrong),
        f"{right}. More than half of {size} is {needed}, so {size - needed} may fail. A member more makes an odd group "
        "even: it needs one more vote and survives not one failure more.",
    )


def _pending(rng: random.Random) -> Draft:
    size = rng.choice([3, 4, 5, 5, 6, 7, 7])
    yes = rng.randint(1, size)
    no = rng.randint(0, size - yes)
    votes = {voter: voter <= yes for voter in range(1, yes + no + 1)}
    words = {"VoteWon": "won", "VoteLost": "lost", "VotePending": "open"}
    right = words[quorum.vote_result(range(1, size + 1), votes)]
    need = quorum.quorum_size(size)
    hint = f"Won with {need} votes for it; lost as soon as those who are silent are too few to make {need}."
    return Draft(
        f"A candidate in a group of {size} has {yes} vote{'s' * (yes != 1)} for it (its own with them) and {no} "
        "against it; nobody else has answered. Is the election `won`, `lost` or still `open`?",
        choice(right, tuple(words.values()), hint, dict.fromkeys(words.values(), hint)),
        f"{right}. {need} of {size} are needed; {yes} are there, and {size - yes - no} may still come.",
    )


def _timeout(rng: random.Random) -> Draft:
    ticks, tick_ms = rng.randint(3, 20), rng.choice([10, 50, 100, 200])
    drawn = [make_node([1], election_tick=ticks, rng=draw).randomized_election_timeout for draw in (_Least(), _Most())]
    low, high = (tick_ms * found for found in drawn)
    answer = numbers(
        (low, high),
        "At least the election timeout, and less than twice as much, drawn anew for each term.",
        {
            (low, 2 * low): "The double itself is not drawn: the last tick is one less.",
            (ticks, 2 * ticks - 1): "Those are ticks; asked are milliseconds.",
            (low, low): "It is not the same for everybody: then all would campaign at once.",
        },
    )
    return Draft(
        f"etcd runs with a tick of {tick_ms} ms and an election timeout of {ticks} ticks (`--heartbeat-interval "
        f"{tick_ms} --election-timeout {ticks * tick_ms}`). After which silence does a follower campaign: shortest and "
        "longest, in ms?",
        answer,
        f"{low} and {high}. Each node draws {ticks} to {2 * ticks - 1} ticks for each term: whoever draws least asks "
        "first, and mostly has won before the next one wakes.",
    )


class _Least(random.Random):
    """Draws the smallest."""

    def randrange(self, *args: int) -> int:  # type: ignore[override]
        return 0


class _Most(random.Random):
    """Draws the largest."""

    def randrange(self, stop: int) -> int:  # type: ignore[override]
        return stop - 1


# -- votes ------------------------------------------------------------------------------------------


def _last(rng: random.Random, term: int) -> tuple[int, int]:
    """(term, index) of a log's last entry."""
    return rng.randint(max(1, term - 2), term), rng.randint(3, 6)


def _vote(rng: random.Random) -> Draft:
    term = rng.randint(4, 8)
    vote = rng.choice([0, 0, 2, 3])
    own = _last(rng, term)
    asked = rng.choice([term - 1, term, term, term, term + 1])
    log_term, index = rng.choice([own, (own[0], own[1] + rng.choice([-1, 1])), _last(rng, term)])
    log_term = min(log_term, asked)
    right = grants(make_node(log_of(*own), term=term, vote=vote), 2, asked, log_term, index)
    if asked < term:
        why = "The request is of an older term: it is not even looked at."
    elif asked == term and vote == 3:
        why = "One vote a term, and this one went to node 3."
    elif (log_term, index) >= own:
        why = "The vote is free or node 2's already, and its log is at least as new: last term first, then last index."
    else:
        why = "The candidate's log is older: the last entry's term decides, and only between equal terms the index."
    voted = f"has voted for node {vote} in it" if vote else "has not voted in it"
    return Draft(
        f"Node 1 is in term {term} and {voted}; its log ends with index {own[1]} of term {own[0]}. It knows of no "
        f"leader. Node 2 asks for its vote in term {asked}; node 2's log ends with index {index} of term {log_term}. "
        "Does node 2 get the vote?",
        yes_no(right, why),
        f"{'Yes' if right else 'No'}. {why} A later term frees the vote; it does not make an old log newer.",
    )


def _election(rng: random.Random) -> Draft:
    size = rng.choice([3, 5, 5])
    names = _NAMES[:size]
    lasts = [(rng.randint(2, 4), rng.randint(4, 7)) for _ in names]
    down = rng.sample(names, rng.randint(0, size // 2 + (rng.random() < 0.15)))
    up = [name for name in names if name not in down]

    def wins(candidate: str) -> bool:
        last = lasts[names.index(candidate)]
        votes = {candidate: True}
        for voter in up:
            if voter != candidate:
                votes[voter] = grants(make_node(log_of(*lasts[names.index(voter)]), term=4), 2, 5, *last)
        return quorum.vote_result(range(size), {names.index(name): yes for name, yes in votes.items()}) == "VoteWon"

    right = [name for name in up if wins(name)]
    best = max((lasts[names.index(name)] for name in up), default=(0, 0))
    longest = max((lasts[names.index(name)][1] for name in up), default=0)
    answer = name_set(
        right,
        names,
        "Count for each living node how many living ones have a log that is not newer; more than half of all must.",
        [
            ([n for n in up if lasts[names.index(n)] == best], "Being newest is enough; it is not needed."),
            ([n for n in up if lasts[names.index(n)][1] == longest], "Compare the last entry's term before its index."),
            (up, "A node refuses its vote to a log that is older than its own."),
        ],
    )
    rows = [(n, *last, "down" if n in down else "up") for n, last in zip(names, lasts, strict=True)]
    return Draft(
        "Nobody leads; all are in term 4 and no node has voted in term 5. Which of them can win an election in term 5, "
        f"if it is the first to ask?\n\n{table_block(rows, ('NODE', 'LAST TERM', 'LAST INDEX', 'STATE'))}",
        answer,
        f"{', '.join(right) or 'none'}. A vote goes to a log that is not older: last term first, then last index. "
        f"{quorum.quorum_size(size)} of {size} votes are needed, and those who are down do not vote. What is committed "
        "is on a majority, so whoever wins has it.",
    )


def _disturbed(rng: random.Random) -> Draft:
    term, elapsed = rng.randint(3, 9), rng.choice([1, 2, 4, 7, 9, 10, 12])
    on, transfer = rng.random() < 0.75, rng.random() < 0.25
    node = make_node(log_of(2, 5), term=term, check_quorum=on)
    node.become_follower(term, 3)
    node.election_elapsed = elapsed
    right = grants(node, 2, term + 1, 2, 5, TRANSFER if transfer else b"")
    if not on:
        why = "Without check-quorum a later term is always looked at, whoever leads: the node that asks disturbs."
    elif transfer:
        why = "The leader itself asked for this election, and the request says so."
    elif elapsed < 10:
        why = "With check-quorum a follower that heard its leader within the election timeout ignores the request."
    else:
        why = "The silence is as long as the election timeout: the leader's lease is over."
    came = "because the leader hands over to it" if transfer else "because it came back from a partition"
    return Draft(
        f"Node 1 follows node 3 in term {term}; the election timeout is 10 ticks, and it last heard its leader "
        f"{elapsed} tick{'s' * (elapsed != 1)} ago. `CheckQuorum` is {'on' if on else 'off'}. Node 2, {came}, asks for "
        f"its vote in term {term + 1}; both logs are the same. Does node 2 get the vote?",
        yes_no(right, why),
        f"{'Yes' if right else 'No'}. {why} etcd has `CheckQuorum` on.",
    )


# -- what is committed ------------------------------------------------------------------------------


def _committed(rng: random.Random) -> Draft:
    size = rng.choice([3, 4, 5, 5, 7])
    match = {voter: rng.randint(3, 20) for voter in range(1, size + 1)}
    right = quorum.committed_index(tuple(match), match.get)
    ordered = sorted(match.values(), reverse=True)
    answer = whole(
        right,
        f"Sort them: the highest index that {quorum.quorum_size(size)} of {size} have.",
        {
            ordered[-1]: "All have that; a majority is enough.",
            ordered[0]: "One has that; a majority must.",
            ordered[size // 2 - 1]: f"Only {size // 2} of {size} have that: no majority.",
        },
    )
    rows = [(f"n{voter}", index) for voter, index in match.items()]
    return Draft(
        "All entries are of the leader's own term; these are the last ones that each member has on its disk (the "
        "leader is one of them). What is the highest index that is "
        f"committed?\n\n{table_block(rows, ('NODE', 'MATCH'))}",
        answer,
        f"{right}. In order: {', '.join(map(str, ordered))}; {quorum.quorum_size(size)} of {size} have {right} or "
        "more.",
    )


def _joint(rng: random.Random) -> Draft:
    old = sorted(rng.sample(range(1, 6), 3))
    new = sorted(rng.sample(range(1, 8), rng.choice([3, 3, 4, 5])))
    match = {node: rng.randint(3, 20) for node in sorted({*old, *new})}
    halves = [quorum.committed_index(half, match.get) for half in (new, old)]
    right = quorum.joint_committed_index(new, old, match.get)
    answer = whole(
        right,
        "Take the majority's index in each half by itself; committed is the smaller one.",
        {
            quorum.committed_index(tuple(match), match.get): "Not a majority of all together: one of each half.",
            max(halves): "That is what one half has; the other must have it too.",
        },
    )
    rows = [
        (f"n{node}", index, "x" if node in old else "-", "x" if node in new else "-") for node, index in match.items()
    ]
    return Draft(
        "The group is in a joint configuration. All entries are of the leader's own term. What is the highest index "
        f"that is committed?\n\n{table_block(rows, ('NODE', 'MATCH', 'OLD', 'NEW'))}",
        answer,
        f"{right}. The new voters' majority has {halves[0]}, the old ones' {halves[1]}. While both count, nothing is "
        "decided that either could undo.",
    )


def _current_term(rng: random.Random) -> Draft:
    term, size = rng.randint(3, 6), rng.choice([3, 5])
    terms = sorted(rng.randint(1, term - 1) for _ in range(rng.randint(3, 5)))
    terms += [term] * rng.choice([0, 1, 1, 2])
    match = [len(terms), *(rng.randint(1, len(terms)) for _ in range(size - 1))]
    commit = rng.randint(0, min(2, len(terms) - 1))
    leader = leader_of(terms, term, size=size, commit=commit)
    for node, index in enumerate(match, 1):
        leader.progress[node].match = index
    counted = leader.committed_by_quorum()
    maybe_commit(leader)
    right = leader.log.committed
    rows = [(f"n{node}", index) for node, index in enumerate(match, 1)]
    answer = whole(
        right,
        "Count, then look at the term of the entry: only one of the leader's own term may be committed by counting.",
        {
            commit: "The leader knows more now: a majority has an entry of its own term.",
            len(terms): "No majority has all of its log.",
            counted: f"A majority has it, but it is of term {terms[counted - 1]}: it may still be overwritten.",
        },
    )
    return Draft(
        f"n1 leads in term {term}. The terms of its log, from index 1 on: `{terms_text(terms)}`. Its commit index is "
        f"{commit}. Then it hears that the members have its log up to these indexes. What is its commit index now?\n\n"
        f"{table_block(rows, ('NODE', 'MATCH'))}",
        answer,
        f"{right}. A majority has index {counted}, of term {terms[counted - 1]}. Entries of older terms are committed "
        "only together with one of the leader's own term (figure 8 of the paper): that is why a new leader appends an "
        "empty entry at once.",
    )


# -- logs -------------------------------------------------------------------------------------------


def _terms(rng: random.Random, length: int, most: int) -> list[int]:
    return sorted(rng.randint(1, most) for _ in range(length))


def _message(rng: random.Random) -> tuple[list[int], int, Message]:
    """A follower's log, its commit index, and a MsgApp from the leader of term 5."""
    own = _terms(rng, rng.randint(3, 6), 4)
    shared = rng.randint(1, len(own))
    theirs = [*own[:shared], *sorted(rng.randint(own[shared - 1], 5) for _ in range(rng.randint(1, 3)))]
    previous = min(rng.choice([shared, shared, shared + 1, shared - 1, len(theirs) - 1]), len(theirs) - 1)
    entries = tuple(Entry(term, at) for at, term in enumerate(theirs, 1) if at > previous)
    commit = rng.randint(0, min(2, shared))
    log_term = theirs[previous - 1] if previous else 0
    return own, commit, Message("MsgApp", 1, 2, 5, log_term, previous, entries, commit)


def _told(own: Sequence[int], commit: int, m: Message) -> str:
    sent = terms_text([entry.term for entry in m.entries])
    return (
        f"A follower in term 5 has a log of these terms, from index 1 on: `{terms_text(own)}`. Its commit index is "
        f"{commit}. The leader of term 5 sends it a `MsgApp`: the entry before is index {m.index} of term "
        f"{m.log_term}, then entries of the terms `{sent}`."
    )


def _append(rng: random.Random) -> Draft:
    own, commit, m = _message(rng)
    answer = answer_of(make_node(own, term=5, commit=commit), m)
    right = "reject" if answer.reject else str(answer.index)
    last = m.index + len(m.entries)
    options = ["reject", *map(str, range(max(last, len(own)) + 2))]
    hint = "It must have the entry before, of that term; then it agrees up to the last entry of the message."
    if m.index < commit:
        hint = "What lies before its commit index needs no comparing: it answers with the commit index."
    wrong = {
        str(last): "Look at its entry before the new ones: it is missing, or of another term.",
        str(len(own)): "Not where its log ends, but how far it is known to agree with the leader's.",
        "reject": "It has the entry before, of that very term.",
    }
    wrong = {text: why for text, why in wrong.items() if text in options} if m.index >= commit else {}
    return Draft(
        f"{_told(own, commit, m)} What does its `MsgAppResp` say: which index agrees, or `reject`?",
        choice(right, options, hint, wrong, {"rejected": "reject"}),
        f"{right}. {hint} The message ends at index {last}; the follower's log ended at {len(own)}.",
    )


def _log_after(rng: random.Random) -> Draft:
    own, commit, m = _message(rng)
    node = make_node(own, term=5, commit=commit)
    refused = answer_of(node, m).reject
    right = [str(entry.term) for entry in node.log.entries(1)]
    sent = [str(entry.term) for entry in m.entries]
    cut = [*map(str, own[: m.index]), *sent]
    why = "What agrees stays, also behind the message; the first entry that differs goes, and all behind it."
    answer = sequence(
        right,
        ["1", "2", "3", "4", "5"],
        why,
        [
            (list(map(str, own)), "Its log has the entry before: it takes the entries."),
            (cut, "It has not the entry before, of that term: it takes nothing." if refused else why),
            ([*map(str, own), *sent], "Entries have their index; they are not added at the end."),
        ],
    )
    return Draft(
        f"{_told(own, commit, m)} Which terms does its log hold afterwards, from index 1 on?",
        answer,
        f"{', '.join(right)}. {why} A message may come late or twice, and must not take back what the follower has "
        "promised since.",
    )


def _rejected(rng: random.Random) -> tuple[list[int], list[int], Message, Message]:
    """The logs of a follower and of the leader of term 6, the leader's probe, and the follower's refusal."""
    while True:
        shared = _terms(rng, rng.randint(1, 4), 3)
        low = shared[-1]
        own = [*shared, *sorted(rng.randint(low, 5) for _ in range(rng.randint(0, 4)))]
        theirs = [*shared, *sorted(rng.randint(low, 5) for _ in range(rng.randint(1, 4)))]
        probe = Message("MsgApp", 1, 2, 6, theirs[-1], len(theirs), (Entry(6, len(theirs) + 1),))
        answer = answer_of(make_node(own, term=6), probe)
        if answer.reject:
            return own, theirs, probe, answer


def _hint(rng: random.Random) -> Draft:
    own, _, probe, answer = _rejected(rng)
    right = (answer.reject_hint, answer.log_term)
    before = own[min(probe.index - 1, len(own)) - 1]
    behind = "It looks no further than the refused index, though its log goes on."
    later = "Its entries of later terms than the refused one cannot agree either."
    answered = numbers(
        right,
        "From the refused index (or where its log ends) back to the first entry of a term that is not later.",
        {
            (probe.index - 1, before): "It goes back past all entries of later terms, and no others.",
            (probe.index, probe.log_term): "That is what was refused.",
            (len(own), own[-1]): behind if len(own) > probe.index else later,
        },
    )
    return Draft(
        f"A follower has a log of these terms, from index 1 on: `{terms_text(own)}`. The leader's `MsgApp` says that "
        f"the entry before is index {probe.index} of term {probe.log_term}; the follower refuses. Which index and "
        "which term does its hint name?",
        answered,
        f"{right[0]}, {right[1]}. Entries of a later term than {probe.log_term} cannot be the leader's at or before "
        "that index, so the hint skips them all: one answer a term, not one an entry.",
    )


def _next_index(rng: random.Random) -> Draft:
    _, theirs, probe, answer = _rejected(rng)
    leader = leader_of(theirs, 6, size=3)
    progress = leader.progress[2]
    progress.next = probe.index + 1
    leader.step(answer._replace(to=1, sender=2))
    right = progress.next
    answered = whole(
        right,
        "In its own log the leader goes back from the hint to an entry of a term that is not later, and sends what "
        "follows.",
        {
            answer.reject_hint + 1: "The leader's entry there is of a later term than the hint: it cannot agree.",
            probe.index: "One back from the refused one: the hint lets it go further at once.",
            right - 1: "That is the entry before; the next one to send follows it.",
        },
    )
    return Draft(
        f"The leader's log has these terms, from index 1 on: `{terms_text(theirs)}`. It probes a follower of which it "
        f"knows nothing: the entry before is index {probe.index}. The follower refuses, with the hint index "
        f"{answer.reject_hint}, term {answer.log_term}. From which index on does the leader send next?",
        answered,
        f"{right}. It looks for its last entry at or before index {answer.reject_hint} whose term is at most "
        f"{answer.log_term}: that one may agree, and the next message starts behind it.",
    )


_RAFT = "go.etcd.io/raft/v3 raft.go"
_QUORUM = "go.etcd.io/raft/v3 quorum/majority.go"
KINDS = (
    Kind("majority", 1, f"{_QUORUM} (VoteResult)", _majority),
    Kind("pending", 1, f"{_QUORUM} (VoteResult)", _pending),
    Kind("timeout", 1, f"{_RAFT} (resetRandomizedElectionTimeout)", _timeout),
    Kind("committed", 1, f"{_QUORUM} (CommittedIndex)", _committed),
    Kind("vote", 2, f"{_RAFT} (Step, MsgVote)", _vote),
    Kind("election", 2, "go.etcd.io/raft/v3 log.go (isUpToDate)", _election),
    Kind("joint", 2, "go.etcd.io/raft/v3 quorum/joint.go (CommittedIndex)", _joint),
    Kind("append", 2, f"{_RAFT} (handleAppendEntries)", _append),
    Kind("reads", 2, f"{_RAFT} (MsgReadIndex), etcd server/etcdserver/v3_server.go (linearizableReadLoop)", reads),
    Kind("log-after", 3, "go.etcd.io/raft/v3 log.go (maybeAppend)", _log_after),
    Kind("current-term", 3, f"{_RAFT} (maybeCommit)", _current_term),
    Kind("disturbed", 3, f"{_RAFT} (Step, checkQuorum)", _disturbed),
    Kind("hint", 3, "go.etcd.io/raft/v3 log.go (findConflictByTerm)", _hint),
    Kind("next-index", 3, "go.etcd.io/raft/v3 tracker/progress.go (MaybeDecrTo)", _next_index),
)


def raft(rng: random.Random) -> Drill:
    """An exercise on Raft."""
    return generate("raft", KINDS, rng)
