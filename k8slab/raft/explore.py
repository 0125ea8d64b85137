"""Every order of events in a small group: whoever may campaign does, messages are late or lost, and nothing goes wrong.

>>> explore(terms=1, entries=1)
Explored(states=153, steps=361, problems=[], cut=False)

A start: node 1 leads in term 1. From each state every possible next event is tried: a campaign (up to term `terms`), a
proposal (up to `entries`), the next message of any connection delivered or (up to `losses`) lost. Different ways to
the same state are followed once.

Upstream: none. Spec: Ongaro's TLA+ specification of Raft (its invariants); Yabandeh et al., "CrystalBall" (searching
states of the real code)
Simplified: connections keep their order; no crashes, no timers beyond campaigns.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from k8slab.raft.errors import RaftError
from k8slab.raft.messages import NO_LIMIT, ConfState, Message, Snapshot
from k8slab.raft.node import Node
from k8slab.raft.state import RaftConfig
from k8slab.raft.storage import MemoryStorage

__all__ = ["Explored", "explore"]


class Explored(NamedTuple):
    """How many different states there are, how many steps lead between them, and which invariants one of them breaks
    (each with the events that lead there). `cut`: there are more than were asked for."""

    states: int
    steps: int
    problems: list[str]
    cut: bool


Channels = tuple[tuple[tuple[int, int], tuple[Message, ...]], ...]


class _State(NamedTuple):
    nodes: tuple[Node, ...]
    node_keys: tuple[Any, ...]
    channels: Channels
    proposed: int
    lost: int
    path: tuple[Any, ...]

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for states that behave alike."""
        return self.node_keys, self.channels, self.proposed, self.lost


def explore(
    *,
    nodes: int = 3,
    terms: int = 2,
    entries: int = 1,
    losses: int = NO_LIMIT,
    most: int = 1_000_000,
    node: type[Node] = Node,
) -> Explored:
    """Look at all states within these bounds, at most `most`. `node`: a wrong one shows what is found."""
    group = _group(nodes, node)
    start = _State(group, tuple(map(_node_key, group)), (), 0, 0, ())
    seen = {start.key: None}
    waiting = deque([start])
    steps = 0
    problems: list[str] = []
    while waiting and len(seen) < most and len(problems) < 3:
        for state in _next(waiting.popleft(), terms, entries, losses):
            steps += 1
            key = state.key
            if key not in seen:
                seen[key] = None
                waiting.append(state)
                problems += [f"{text}: {_told(state.path)}" for text in _broken(state.nodes)]
    return Explored(len(seen), steps, problems, bool(waiting))


def _group(count: int, node: type[Node]) -> tuple[Node, ...]:
    """Node 1 leads, and everybody knows."""
    voters = tuple(range(1, count + 1))
    first = Snapshot(1, 1, ConfState(voters))
    group = [node(RaftConfig(id=id, applied=1), MemoryStorage(first), seed="explore") for id in voters]
    group[0].campaign()
    flying = deque(_settle(group[0]))
    while flying:
        message = flying.popleft()
        group[message.to - 1].step(message)
        flying += _settle(group[message.to - 1])
    return tuple(group)


def _settle(node: Node) -> list[Message]:
    """Save and apply everything; what is sent."""
    sent: list[Message] = []
    storage = node.raft.log.storage
    assert isinstance(storage, MemoryStorage)
    while node.has_ready():
        ready = node.ready()
        storage.append(ready.entries)
        if ready.hard_state is not None:
            storage.hard_state = ready.hard_state
        sent += ready.messages
        node.advance()
    return sent


def _next(state: _State, terms: int, entries: int, losses: int) -> Iterator[_State]:
    for at, node in enumerate(state.nodes):
        if node.raft.term < terms and node.raft.role != "StateLeader":
            yield _changed(state, at, ("campaign", at + 1))
        if node.raft.role == "StateLeader" and state.proposed < entries:
            yield _changed(state, at, ("propose", at + 1))._replace(proposed=state.proposed + 1)
    for channel, messages in state.channels:
        rest = _without_first(state, channel)
        yield _changed(rest, channel[1] - 1, ("deliver", messages[0]))
        if state.lost < losses:
            unlimited = losses >= NO_LIMIT
            lost = state.lost + (not unlimited)  # not counted, so that more states are alike
            yield rest._replace(lost=lost, path=(*state.path, ("lose", messages[0])))


def _changed(state: _State, at: int, event: tuple[Any, ...]) -> _State:
    node = _clone(state.nodes[at])
    with suppress(RaftError):  # a message or a proposal that the node refuses changes nothing
        if event[0] == "campaign":
            node.campaign()
        elif event[0] == "propose":
            node.propose(str(state.proposed).encode())
        else:
            node.step(event[1])
    channels = dict(state.channels)
    for message in _settle(node):
        pair = (message.sender, message.to)
        channels[pair] = (*channels.get(pair, ()), message)
    return state._replace(
        nodes=(*state.nodes[:at], node, *state.nodes[at + 1 :]),
        node_keys=(*state.node_keys[:at], _node_key(node), *state.node_keys[at + 1 :]),
        channels=tuple(sorted(channels.items())),
        path=(*state.path, event),
    )


def _without_first(state: _State, channel: tuple[int, int]) -> _State:
    channels = dict(state.channels)
    rest = channels.pop(channel)[1:]
    if rest:
        channels[channel] = rest
    return state._replace(channels=tuple(sorted(channels.items())))


def _clone(node: Node) -> Node:
    """A node of its own, that shares what never changes."""
    twin = copy.copy(node)
    raft = twin.raft = copy.copy(node.raft)
    log = raft.log = copy.copy(raft.log)
    assert isinstance(log.storage, MemoryStorage)
    log.storage = log.storage.copy()
    log.unstable = list(log.unstable)
    raft.votes = dict(raft.votes)
    raft.outbox, raft.after_saving, raft.read_states = [], [], []
    raft.progress = {id: progress.copy() for id, progress in raft.progress.items()}
    return twin


def _node_key(node: Node) -> tuple[Any, ...]:
    raft = node.raft
    terms = tuple(_terms(node))
    known: tuple[Any, ...] = ()
    if raft.role == "StateCandidate":
        known = tuple(sorted(raft.votes.items()))
    elif raft.role == "StateLeader":
        known = tuple((p.match, p.next, p.state, p.paused, p.sent_commit) for p in raft.progress.values())
    return raft.term, raft.vote, raft.role, raft.lead, terms, raft.log.committed, known


def _broken(nodes: tuple[Node, ...]) -> Iterator[str]:
    """Invariants of one moment: who leads, and what is committed."""
    leaders = [node for node in nodes if node.raft.role == "StateLeader"]
    if len({node.raft.term for node in leaders}) < len(leaders):
        yield "two lead in one term"
    logs = [_terms(node) for node in nodes]
    committed: list[int] = []
    for node, log in zip(nodes, logs, strict=True):
        own = log[: node.raft.log.committed - 1]
        if own[: len(committed)] != committed[: len(own)]:
            yield "two have committed different entries"
        committed = max(committed, own, key=len)
    for node in leaders:
        must = [term for term in committed if term < node.raft.term]
        if _terms(node)[: len(must)] != must:
            yield f"{node.raft.id} leads without a committed entry"
    for at, one in enumerate(logs):
        for other in logs[at + 1 :]:
            same = [index for index, (a, b) in enumerate(zip(one, other, strict=False)) if a == b]
            if same and one[: same[-1]] != other[: same[-1]]:
                yield "two logs agree in an entry and not before it"


def _terms(node: Node) -> list[int]:
    """The terms of a log's entries from the second on: a leader writes each place once, so the term tells the entry."""
    storage = node.raft.log.storage
    return [entry.term for entry in storage.entries(2, storage.last_index() + 1)] if storage.last_index() > 1 else []


def _told(path: tuple[Any, ...]) -> str:
    words = []
    for event, what in path:
        text = f"{what.type} {what.sender}->{what.to}" if isinstance(what, Message) else str(what)
        words.append(f"{event} {text}")
    return "; ".join(words)
