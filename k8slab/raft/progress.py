"""What a leader knows of a follower, and how much it may send without an answer.

Three states. In *probe* nobody knows how far the follower's log agrees: one message at a time. In *replicate* it
does: entries are sent without waiting, as many messages as `Inflights` has room for. In *snapshot* nothing is sent
until the follower has what the leader no longer holds entry by entry.

Upstream: go.etcd.io/raft/v3 tracker/progress.go, inflights.go
"""

from __future__ import annotations

from collections import deque
from typing import Literal, TypeAlias

from k8slab.raft.messages import NO_LIMIT

__all__ = ["Inflights", "Progress", "ProgressState"]

ProgressState: TypeAlias = Literal["StateProbe", "StateReplicate", "StateSnapshot"]


class Inflights:
    """Messages with entries that nobody has answered yet: at most `size` of them, and `max_bytes` (0: no limit)."""

    __slots__ = ("_bytes", "_sent", "max_bytes", "size")

    def __init__(self, size: int, max_bytes: int = 0) -> None:
        self.size = size
        self.max_bytes = max_bytes
        self._sent: deque[tuple[int, int]] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._sent)

    @property
    def full(self) -> bool:
        return len(self._sent) >= self.size or (self.max_bytes != 0 and self._bytes >= self.max_bytes)

    def add(self, last_index: int, size: int) -> None:
        """A message whose last entry is `last_index` was sent."""
        assert not self.full, "cannot add into a Full inflights"
        self._sent.append((last_index, size))
        self._bytes += size

    def free_up_to(self, index: int) -> None:
        """Everything up to `index` has arrived."""
        while self._sent and self._sent[0][0] <= index:
            self._bytes -= self._sent.popleft()[1]

    def clear(self) -> None:
        self._sent.clear()
        self._bytes = 0

    def copy(self) -> Inflights:
        """The same messages under way, counted apart from now on."""
        twin = Inflights(self.size, self.max_bytes)
        twin._sent = self._sent.copy()
        twin._bytes = self._bytes
        return twin


class Progress:
    """One follower as the leader sees it (a leader keeps one for itself, too).

    `match`: the last entry known to agree. `next`: the next one to send. `recent_active`: it answered since the
    leader last asked whether a majority is there. `pending_snapshot`: the index of the snapshot under way.
    """

    __slots__ = (
        "inflights",
        "is_learner",
        "match",
        "next",
        "paused",
        "pending_snapshot",
        "recent_active",
        "sent_commit",
        "state",
    )

    def __init__(
        self, *, match: int = 0, next: int = 1, inflights: Inflights, is_learner: bool = False, active: bool = False
    ) -> None:
        self.match = match
        self.next = next
        self.sent_commit = 0
        self.state: ProgressState = "StateProbe"
        self.pending_snapshot = 0
        self.recent_active = active
        self.paused = False
        self.inflights = inflights
        self.is_learner = is_learner

    def copy(self) -> Progress:
        """The same knowledge, which changes apart from now on."""
        twin = Progress(match=self.match, next=self.next, inflights=self.inflights.copy(), is_learner=self.is_learner)
        twin.sent_commit, twin.state, twin.paused = self.sent_commit, self.state, self.paused
        twin.pending_snapshot, twin.recent_active = self.pending_snapshot, self.recent_active
        return twin

    def _enter(self, state: ProgressState) -> None:
        self.paused = False
        self.pending_snapshot = 0
        self.state = state
        self.inflights.clear()

    def become_probe(self) -> None:
        """Ask again where the logs agree; after a snapshot not before its end."""
        after = self.pending_snapshot + 1 if self.state == "StateSnapshot" else 0
        self._enter("StateProbe")
        self.next = max(self.match + 1, after)
        self.sent_commit = min(self.sent_commit, self.next - 1)

    def become_replicate(self) -> None:
        self._enter("StateReplicate")
        self.next = self.match + 1

    def become_snapshot(self, index: int) -> None:
        self._enter("StateSnapshot")
        self.pending_snapshot = index
        self.next = index + 1
        self.sent_commit = index

    @property
    def is_paused(self) -> bool:
        """Whether sending has to wait for an answer."""
        return self.paused or self.state == "StateSnapshot"

    def sent_entries(self, count: int, size: int) -> None:
        """A message with so many entries was sent."""
        if self.state == "StateReplicate":
            if count:
                self.next += count
                self.inflights.add(self.next - 1, size)
            self.paused = self.inflights.full  # this one, or the one before it, is the probe
        elif count:
            self.paused = True

    def can_bump_commit(self, index: int) -> bool:
        """Whether a message that only tells the commit index would tell something new."""
        return index > self.sent_commit and self.sent_commit < self.next - 1

    def maybe_update(self, index: int) -> bool:
        """An answer says: agrees up to `index`. False for an old answer."""
        if index <= self.match:
            return False
        self.match = index
        self.next = max(self.next, index + 1)
        self.paused = False
        return True

    def maybe_decrease(self, rejected: int, hint: int) -> bool:
        """An answer says: does not agree at `rejected`; try at `hint`. False for an old answer."""
        if self.state == "StateReplicate":
            if rejected <= self.match:
                return False
            self.next = self.match + 1
        else:
            if self.next - 1 != rejected:
                return False
            self.next = max(min(rejected, hint + 1), self.match + 1)
            self.paused = False
        self.sent_commit = min(self.sent_commit, self.next - 1)
        return True

    def __str__(self) -> str:
        words = [f"{self.state} match={self.match} next={self.next}"]
        words += ["learner"] if self.is_learner else []
        words += ["paused"] if self.is_paused else []
        words += [f"pendingSnap={self.pending_snapshot}"] if self.pending_snapshot else []
        words += [] if self.recent_active else ["inactive"]
        if len(self.inflights):
            words.append(f"inflight={len(self.inflights)}{'[full]' if self.inflights.full else ''}")
        return " ".join(words)

    def check_invariants(self) -> None:
        """AssertionError when the parts contradict each other."""
        assert self.match < self.next <= NO_LIMIT, f"match {self.match} is not below next {self.next}"
        assert (self.state == "StateSnapshot") == bool(self.pending_snapshot), f"{self.state} and a pending snapshot"
