"""What can be wrong with a call.

Upstream: go.etcd.io/raft/v3 storage.go, raft.go, rawnode.go (names and texts of the errors)
"""

from __future__ import annotations

__all__ = [
    "CompactedError",
    "PeerNotFoundError",
    "ProposalDroppedError",
    "RaftError",
    "SnapshotOutOfDateError",
    "SnapshotTemporarilyUnavailableError",
    "StepLocalMessageError",
    "UnavailableError",
]


class RaftError(Exception):
    """A refused call: nothing was changed."""

    message = ""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or self.message)


class ProposalDroppedError(RaftError):
    """Nobody can take the proposal now: no leader, a leader that hands over or was removed, too much in flight."""

    message = "raft proposal dropped"


class CompactedError(RaftError):
    """The entry is older than the log: a snapshot holds what it did."""

    message = "requested index is unavailable due to compaction"


class UnavailableError(RaftError):
    """The entry is newer than the log."""

    message = "requested entry at index is unavailable"


class SnapshotOutOfDateError(RaftError):
    """A newer snapshot is there already."""

    message = "requested index is older than the existing snapshot"


class SnapshotTemporarilyUnavailableError(RaftError):
    """The snapshot is being made; ask again."""

    message = "snapshot is temporarily unavailable"


class StepLocalMessageError(RaftError):
    """A message that only a node itself may make came from the network."""

    message = "raft: cannot step raft local message"


class PeerNotFoundError(RaftError):
    """An answer from a node that does not belong to the group."""

    message = "raft: cannot step as peer not found"
