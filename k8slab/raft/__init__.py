"""Raft: several nodes keep one log, although messages get lost and nodes crash.

A node is a state machine without clock, thread or I/O: time and messages go in, messages and things to save come out.

>>> from k8slab.raft import RaftCluster
>>> raft = RaftCluster(3, seed=7)
>>> raft.run(until=raft.has_leader)
True
>>> write = raft.propose("x=1")
>>> raft.run(until=lambda: write.state == "applied"), write.index
(True, 3)

One node alone is `Node`; `interaction` drives nodes by script; `paper` holds the paper's rules as experiments;
`k8slab.check.RAFT` judges a trace. The caller's duties: save before sending, apply in order, call `advance()`.

Upstream: go.etcd.io/raft/v3 (v3.6), etcd server/storage/wal
Simplified: no asynchronous storage writes; nothing is compressed or encrypted.
"""

from __future__ import annotations

import k8slab.raft.kinds  # noqa: F401  (adds the rows of this package to the table of event kinds)
from k8slab.raft.cluster import KeyValues, Proposal, RaftCluster, Read
from k8slab.raft.confchange import Configuration
from k8slab.raft.errors import (
    CompactedError,
    PeerNotFoundError,
    ProposalDroppedError,
    RaftError,
    SnapshotOutOfDateError,
    SnapshotTemporarilyUnavailableError,
    StepLocalMessageError,
    UnavailableError,
)
from k8slab.raft.interaction import Interaction, parse_script, run_script
from k8slab.raft.member import Machine, Member
from k8slab.raft.messages import (
    NONE,
    ConfChange,
    ConfChangeSingle,
    ConfState,
    Entry,
    HardState,
    Message,
    ReadState,
    Snapshot,
    SoftState,
)
from k8slab.raft.node import Node, Ready
from k8slab.raft.progress import Inflights, Progress
from k8slab.raft.state import RaftConfig
from k8slab.raft.storage import MemoryStorage, Storage
from k8slab.raft.wal import CRCMismatchError, SnapshotFileError, WriteAheadLog

__all__ = [
    "NONE",
    "CRCMismatchError",
    "CompactedError",
    "ConfChange",
    "ConfChangeSingle",
    "ConfState",
    "Configuration",
    "Entry",
    "HardState",
    "Inflights",
    "Interaction",
    "KeyValues",
    "Machine",
    "Member",
    "MemoryStorage",
    "Message",
    "Node",
    "PeerNotFoundError",
    "Progress",
    "Proposal",
    "ProposalDroppedError",
    "RaftCluster",
    "RaftConfig",
    "RaftError",
    "Read",
    "ReadState",
    "Ready",
    "Snapshot",
    "SnapshotFileError",
    "SnapshotOutOfDateError",
    "SnapshotTemporarilyUnavailableError",
    "SoftState",
    "StepLocalMessageError",
    "Storage",
    "UnavailableError",
    "WriteAheadLog",
    "parse_script",
    "run_script",
]
