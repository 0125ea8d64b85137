"""Nodes for the questions about Raft: with a given term, vote and log, asked one message.

Simplified: see `k8slab.raft`; what is asked of them counts as on disk at once.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from k8slab.raft.messages import ConfState, Entry, HardState, Message, Snapshot
from k8slab.raft.raft import Raft
from k8slab.raft.state import RaftConfig
from k8slab.raft.storage import MemoryStorage

__all__ = ["answer_of", "grants", "leader_of", "log_of", "make_node", "terms_text"]


def terms_text(terms: Sequence[int]) -> str:
    """`1 1 2`."""
    return " ".join(map(str, terms))


def log_of(last_term: int, last_index: int) -> list[int]:
    """The terms of a log that ends so; what came before plays no part."""
    return [1] * (last_index - 1) + [last_term]


def make_node(
    terms: Sequence[int],
    *,
    term: int = 1,
    vote: int = 0,
    commit: int = 0,
    size: int = 3,
    election_tick: int = 10,
    check_quorum: bool = False,
    rng: random.Random | None = None,
) -> Raft:
    """Node 1 of `size`, a follower whose log has entries of these terms on disk."""
    storage = MemoryStorage(Snapshot(conf_state=ConfState(tuple(range(1, size + 1)))))
    storage.append([Entry(entry, index) for index, entry in enumerate(terms, 1)])
    storage.hard_state = HardState(term, vote, commit)
    options = RaftConfig(id=1, election_tick=election_tick, check_quorum=check_quorum)
    return Raft(options, storage, rng or random.Random("drill"))


def leader_of(terms: Sequence[int], term: int, *, size: int, commit: int = 0) -> Raft:
    """Node 1 as the leader of `term`, whose log is just this."""
    node = make_node(terms, term=term - 1, commit=commit, size=size)
    node.become_candidate()
    node.become_leader()
    return node


def answer_of(node: Raft, message: Message) -> Message:
    """What a node answers to a message. ValueError when it says nothing."""
    node.step(message)
    said = [*node.outbox, *node.after_saving]
    if not said:
        raise ValueError(f"message {message.type}: node {node.id} does not answer it, expected one answer")
    return said[-1]


def grants(node: Raft, candidate: int, term: int, log_term: int, index: int, context: bytes = b"") -> bool:
    """Whether a node votes for a candidate whose log ends so. Saying nothing is no vote."""
    node.step(Message("MsgVote", node.id, candidate, term, log_term, index, context=context))
    return any(m.type == "MsgVoteResp" and not m.reject for m in (*node.outbox, *node.after_saving))
