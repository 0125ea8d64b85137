"""Who belongs to the group, and how that changes: one voter at a time, or through a joint configuration.

Between two configurations that differ by one voter any two majorities share a node, so such a change is safe at once
(thesis §4.1). Larger changes go through a configuration in which both majorities must agree (paper §6).

Upstream: go.etcd.io/raft/v3 confchange/confchange.go, restore.go, tracker/tracker.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from k8slab.raft import quorum
from k8slab.raft.errors import RaftError
from k8slab.raft.messages import NONE, ConfChange, ConfChangeSingle, ConfState
from k8slab.raft.progress import Inflights, Progress

__all__ = ["Change", "Configuration", "changed", "enter_joint", "leave_joint", "restore", "simple"]


class Configuration(NamedTuple):
    """Node ids, ascending. `outgoing` is empty unless joint. `learners_next`: voters of the outgoing half that become
    learners when it is left."""

    voters: tuple[int, ...] = ()
    outgoing: tuple[int, ...] = ()
    learners: tuple[int, ...] = ()
    learners_next: tuple[int, ...] = ()
    auto_leave: bool = False

    @property
    def is_joint(self) -> bool:
        return bool(self.outgoing)

    @property
    def electorate(self) -> tuple[int, ...]:
        """Everyone who votes."""
        return tuple(sorted({*self.voters, *self.outgoing})) if self.outgoing else self.voters

    @property
    def state(self) -> ConfState:
        """For a snapshot."""
        return ConfState(self.voters, self.learners, self.outgoing, self.learners_next, self.auto_leave)

    def vote_result(self, votes: Mapping[int, bool]) -> quorum.VoteResult:
        if not self.outgoing:
            return quorum.vote_result(self.voters, votes)
        return quorum.joint_vote_result(self.voters, self.outgoing, votes)

    def __str__(self) -> str:
        words = [f"voters={_set(self.voters)}{'&&' + _set(self.outgoing) if self.outgoing else ''}"]
        words += [f"learners={_set(self.learners)}"] if self.learners else []
        words += [f"learners_next={_set(self.learners_next)}"] if self.learners_next else []
        return " ".join([*words, *(["autoleave"] if self.auto_leave else [])])


def _set(nodes: Iterable[int]) -> str:
    return f"({' '.join(map(str, nodes))})"


class Change(NamedTuple):
    """A configuration with the progress of everyone in it, before or after a change."""

    config: Configuration
    progress: dict[int, Progress]


class _Draft:
    """A configuration while it is being changed; the one it came from stays as it is."""

    def __init__(self, now: Change, last_index: int, inflights: tuple[int, int]) -> None:
        self.voters = dict.fromkeys(now.config.voters)
        self.outgoing = dict.fromkeys(now.config.outgoing)
        self.learners = dict.fromkeys(now.config.learners)
        self.learners_next = dict.fromkeys(now.config.learners_next)
        self.progress = dict(now.progress)
        self.now = now
        self._last_index = last_index
        self._inflights = inflights

    def apply(self, changes: Iterable[ConfChangeSingle]) -> None:
        """The changes one after the other. Node 0 stands for a change that was taken back."""
        for change in changes:
            if change.node == NONE:
                continue
            if change.type == "AddNode":
                self.add_voter(change.node)
            elif change.type == "AddLearnerNode":
                self.add_learner(change.node)
            elif change.type == "RemoveNode":
                self.remove(change.node)
            elif change.type != "UpdateNode":
                raise RaftError(f"unexpected conf type {change.type}")
        if not self.voters:
            raise RaftError("removed all voters")

    def add_voter(self, node: int) -> None:
        if node not in self.progress:
            self._start(node, is_learner=False)
            return
        self._set_learner(node, False)
        self.learners.pop(node, None)
        self.learners_next.pop(node, None)
        self.voters[node] = None

    def add_learner(self, node: int) -> None:
        """Also makes a voter a learner: at once, or when the joint configuration is left if it still votes there."""
        if node not in self.progress:
            self._start(node, is_learner=True)
            return
        if self.progress[node].is_learner:
            return
        progress = self.progress[node]
        self.remove(node)
        self.progress[node] = progress
        if node in self.outgoing:
            self.learners_next[node] = None
        else:
            self._set_learner(node, True)
            self.learners[node] = None

    def remove(self, node: int) -> None:
        if node not in self.progress:
            return
        self.voters.pop(node, None)
        self.learners.pop(node, None)
        self.learners_next.pop(node, None)
        if node not in self.outgoing:  # it is needed there until the joint configuration is left
            del self.progress[node]

    def _start(self, node: int, *, is_learner: bool) -> None:
        (self.learners if is_learner else self.voters)[node] = None
        # Probing starts at the last entry; likely it needs a snapshot, but then that comes soon. It counts as active
        # so that a leader that checks its majority does not step down before the node could speak.
        next = max(self._last_index, 1)
        inflights = Inflights(*self._inflights)
        self.progress[node] = Progress(next=next, inflights=inflights, is_learner=is_learner, active=True)

    def _set_learner(self, node: int, is_learner: bool) -> None:
        if self.progress[node].is_learner != is_learner:
            self.progress[node] = self.progress[node].copy()
            self.progress[node].is_learner = is_learner

    def result(self, *, auto_leave: bool = False) -> Change:
        found = Configuration(
            tuple(sorted(self.voters)),
            tuple(sorted(self.outgoing)),
            tuple(sorted(self.learners)),
            tuple(sorted(self.learners_next)),
            auto_leave,
        )
        change = Change(found, dict(sorted(self.progress.items())))
        _check(change)
        return change


def simple(
    now: Change, changes: Iterable[ConfChangeSingle], *, last_index: int, inflights: tuple[int, int] = (256, 0)
) -> Change:
    """Changes that alter at most one voter. RaftError otherwise, and in a joint configuration."""
    if now.config.is_joint:
        raise RaftError("can't apply simple config change in joint config")
    draft = _Draft(now, last_index, inflights)
    draft.apply(changes)
    if len(set(now.config.voters) ^ set(draft.voters)) > 1:
        raise RaftError("more than one voter changed without entering joint config")
    return draft.result()


def enter_joint(
    now: Change,
    changes: Iterable[ConfChangeSingle],
    *,
    auto_leave: bool,
    last_index: int,
    inflights: tuple[int, int] = (256, 0),
) -> Change:
    """From now on the majorities of the old and of the new configuration must agree."""
    if now.config.is_joint:
        raise RaftError("config is already joint")
    if not now.config.voters:
        raise RaftError("can't make a zero-voter config joint")
    draft = _Draft(now, last_index, inflights)
    draft.outgoing = dict.fromkeys(now.config.voters)
    draft.apply(changes)
    return draft.result(auto_leave=auto_leave)


def leave_joint(now: Change) -> Change:
    """Only the new configuration counts; who was a voter of the old one alone is forgotten or becomes a learner."""
    if not now.config.is_joint:
        raise RaftError("can't leave a non-joint config")
    draft = _Draft(now, 0, (1, 0))
    for node in draft.learners_next:
        draft.learners[node] = None
        draft._set_learner(node, True)
    draft.learners_next.clear()
    for node in draft.outgoing:
        if node not in draft.voters and node not in draft.learners:
            del draft.progress[node]
    draft.outgoing.clear()
    return draft.result()


def changed(now: Change, change: ConfChange, *, last_index: int, inflights: tuple[int, int] = (256, 0)) -> Change:
    """What a committed change makes of the configuration. RaftError when it does not fit."""
    if change.leaves_joint:
        return leave_joint(now)
    if change.enters_joint:
        auto_leave = change.auto_leave
        return enter_joint(now, change.changes, auto_leave=auto_leave, last_index=last_index, inflights=inflights)
    return simple(now, change.changes, last_index=last_index, inflights=inflights)


def restore(state: ConfState, *, last_index: int, inflights: tuple[int, int] = (256, 0)) -> Change:
    """The configuration that a snapshot holds, built up change by change."""
    outgoing = [ConfChangeSingle("AddNode", node) for node in state.voters_outgoing]
    incoming = [ConfChangeSingle("RemoveNode", node) for node in state.voters_outgoing]
    incoming += [ConfChangeSingle("AddNode", node) for node in state.voters]
    incoming += [ConfChangeSingle("AddLearnerNode", node) for node in (*state.learners, *state.learners_next)]
    found = Change(Configuration(), {})
    if not outgoing:
        for one in incoming:
            found = simple(found, [one], last_index=last_index, inflights=inflights)
        return found
    for one in outgoing:
        found = simple(found, [one], last_index=last_index, inflights=inflights)
    auto_leave = state.auto_leave
    return enter_joint(found, incoming, auto_leave=auto_leave, last_index=last_index, inflights=inflights)


def _check(change: Change) -> None:
    """RaftError when a configuration and its progress contradict each other."""
    config, progress = change
    for node in (*config.electorate, *config.learners, *config.learners_next):
        if node not in progress:
            raise RaftError(f"no progress for {node}")
    for node in config.learners_next:
        if node not in config.outgoing:
            raise RaftError(f"{node} is in LearnersNext, but not Voters[1]")
        if progress[node].is_learner:
            raise RaftError(f"{node} is in LearnersNext, but is already marked as learner")
    for node in config.learners:
        if node in config.outgoing:
            raise RaftError(f"{node} is in Learners and Voters[1]")
        if node in config.voters:
            raise RaftError(f"{node} is in Learners and Voters[0]")
        if not progress[node].is_learner:
            raise RaftError(f"{node} is in Learners, but is not marked as learner")
    if not config.is_joint and (config.learners_next or config.auto_leave):
        raise RaftError("cfg.LearnersNext and cfg.AutoLeave must be unset when not joint")
