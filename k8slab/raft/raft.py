"""One Raft node: ticks and messages in, messages and changed state out.

The algorithm of the paper is in `election` and `replication`; `snapshots`, `membership`, `reads`, `transfer` and
`check_quorum` are what a real system adds. This module decides who looks at a message: first its term, then the role.

Upstream: go.etcd.io/raft/v3 raft.go (Step, stepLeader, stepCandidate, stepFollower, tickElection, tickHeartbeat)
"""

from __future__ import annotations

from k8slab.raft import check_quorum, election, membership, reads, replication, snapshots, transfer
from k8slab.raft.errors import ProposalDroppedError, RaftError
from k8slab.raft.messages import NONE, Message
from k8slab.raft.state import RaftState

__all__ = ["Raft"]

_FROM_A_LEADER = ("MsgApp", "MsgHeartbeat", "MsgSnap")


class Raft(RaftState):
    """A node as a state machine: `tick()` and `step(message)` change it and fill its outbox."""

    # -- time --------------------------------------------------------------------------------------

    def tick(self) -> None:
        """One unit of time passes."""
        self.election_elapsed += 1
        if self.role == "StateLeader":
            self._tick_as_leader()
        elif self.is_promotable and self.election_elapsed >= self.randomized_election_timeout:
            self.election_elapsed = 0
            self.step(Message("MsgHup", sender=self.id))

    def _tick_as_leader(self) -> None:
        self.heartbeat_elapsed += 1
        if self.election_elapsed >= self.options.election_tick:
            self.election_elapsed = 0
            if self.options.check_quorum:
                self.step(Message("MsgCheckQuorum", sender=self.id))
            self.transferee = NONE  # who has not taken over by now will not
        if self.role == "StateLeader" and self.heartbeat_elapsed >= self.options.heartbeat_tick:
            self.heartbeat_elapsed = 0
            self.step(Message("MsgBeat", sender=self.id))

    # -- messages ----------------------------------------------------------------------------------

    def step(self, m: Message) -> None:
        """Take a message. ProposalDroppedError for a proposal that nobody can take now."""
        if m.term > self.term:
            if not self._enter_term_of(m):
                return
        elif m.term < self.term and m.term:
            self._answer_old_term(m)
            return
        match m.type:
            case "MsgVote" | "MsgPreVote":
                election.answer_vote_request(self, m)
            case "MsgHup":
                election.start(self, "pre-vote" if self.options.pre_vote else "vote")
            case _ if self.role == "StateLeader":
                self._step_as_leader(m)
            case _ if self.role == "StateFollower":
                self._step_as_follower(m)
            case _:
                self._step_as_candidate(m)

    def _enter_term_of(self, m: Message) -> bool:
        """A later term than this node's: follow. False when the message is to be ignored."""
        if m.type in ("MsgVote", "MsgPreVote") and check_quorum.ignores_vote_request(self, m):
            return False
        if m.type == "MsgPreVote" or (m.type == "MsgPreVoteResp" and not m.reject):
            return True  # both speak of a term that has not begun
        text = "%x [term: %d] received a %s message with higher term from %x [term: %d]"
        self.say("INFO", text, self.id, self.term, m.type, m.sender, m.term)
        self.become_follower(m.term, m.sender if m.type in _FROM_A_LEADER else NONE)
        return True

    def _answer_old_term(self, m: Message) -> None:
        """The sender is behind. Mostly it will hear so from others; in two cases it would wait for ever."""
        if m.type in ("MsgHeartbeat", "MsgApp") and (self.options.check_quorum or self.options.pre_vote):
            # A node with a later term that cannot win (its log is old, or it is ignored) must be told to, and tells,
            # the leader: the answer's term makes that one step down, and the next election takes the node in.
            self.send("MsgAppResp", m.sender)
        elif m.type == "MsgPreVote":
            election.log_vote_request(self, "rejected %s from", m)
            self.send("MsgPreVoteResp", m.sender, term=self.term, reject=True)
        else:
            text = "%x [term: %d] ignored a %s message with lower term from %x [term: %d]"
            self.say("INFO", text, self.id, self.term, m.type, m.sender, m.term)

    def _step_as_follower(self, m: Message) -> None:
        if m.type in _FROM_A_LEADER:
            self.election_elapsed = 0
            self.lead = m.sender
            self._hear_leader(m)
            return
        match m.type:
            case "MsgProp":
                self._forward_proposal(m)
            case "MsgReadIndex" | "MsgTransferLeader":
                if self.lead == NONE:
                    what = "index reading msg" if m.type == "MsgReadIndex" else "leader transfer msg"
                    self.say("INFO", "%x no leader at term %d; dropping %s", self.id, self.term, what)
                else:
                    self.forward(m)
            case "MsgReadIndexResp":
                reads.handle_response(self, m)
            case "MsgTimeoutNow":
                text = "%x [term %d] received MsgTimeoutNow from %x and starts an election to get leadership."
                self.say("INFO", text, self.id, self.term, m.sender)
                election.start(self, "transfer")  # never a pre-vote: the leader itself asks for it
            case "MsgForgetLeader":
                self._forget_leader()

    def _hear_leader(self, m: Message) -> None:
        if m.type == "MsgApp":
            replication.handle_append(self, m)
        elif m.type == "MsgHeartbeat":
            replication.handle_heartbeat(self, m)
        else:
            snapshots.handle_snapshot(self, m)

    def _forward_proposal(self, m: Message) -> None:
        if self.lead == NONE:
            self.say("INFO", "%x no leader at term %d; dropping proposal", self.id, self.term)
            raise ProposalDroppedError
        if self.options.disable_proposal_forwarding:
            text = "%x not forwarding to leader %x at term %d; dropping proposal"
            self.say("INFO", text, self.id, self.lead, self.term)
            raise ProposalDroppedError
        self.forward(m)

    def _forget_leader(self) -> None:
        """Somebody knows that the leader is gone: let the next vote not wait for the timeout."""
        if self.options.read_only == "lease-based":
            self.say("ERROR", "ignoring MsgForgetLeader due to ReadOnlyLeaseBased")
        elif self.lead != NONE:
            self.say("INFO", "%x forgetting leader %x at term %d", self.id, self.lead, self.term)
            self.lead = NONE

    def _step_as_candidate(self, m: Message) -> None:
        """For candidates and pre-candidates; each counts only the answers to its own question."""
        if m.type in _FROM_A_LEADER:
            self.become_follower(m.term, m.sender)
            self._hear_leader(m)
        elif m.type == ("MsgPreVoteResp" if self.role == "StatePreCandidate" else "MsgVoteResp"):
            election.count_vote(self, m)
        elif m.type == "MsgProp":
            self.say("INFO", "%x no leader at term %d; dropping proposal", self.id, self.term)
            raise ProposalDroppedError
        elif m.type == "MsgTimeoutNow":
            text = "%x [term %d state %s] ignored MsgTimeoutNow from %x"
            self.say("DEBUG", text, self.id, self.term, self.role, m.sender)

    def _step_as_leader(self, m: Message) -> None:
        match m.type:
            case "MsgBeat":
                replication.send_heartbeats(self, self.reads.last_context)
            case "MsgCheckQuorum":
                check_quorum.check(self)
            case "MsgProp":
                self._take_proposal(m)
            case "MsgReadIndex":
                reads.handle_read(self, m)
            case "MsgForgetLeader":
                pass
            case _:
                self._hear_follower(m)

    def _take_proposal(self, m: Message) -> None:
        if not m.entries:
            raise RaftError(f"{self.id:x} stepped empty MsgProp")
        if self.id not in self.progress:
            raise ProposalDroppedError  # it leads until its own removal is committed, but takes nothing new
        if self.transferee != NONE:
            text = "%x [term %d] transfer leadership to %x is in progress; dropping proposal"
            self.say("DEBUG", text, self.id, self.term, self.transferee)
            raise ProposalDroppedError
        if not replication.append(self, membership.screened(self, m.entries)):
            raise ProposalDroppedError
        replication.send_to_all(self)

    def _hear_follower(self, m: Message) -> None:
        progress = self.progress.get(m.sender)
        if progress is None:
            self.say("DEBUG", "%x no progress available for %x", self.id, m.sender)
            return
        match m.type:
            case "MsgAppResp":
                replication.handle_append_response(self, m, progress)
            case "MsgHeartbeatResp":
                replication.handle_heartbeat_response(self, m, progress)
            case "MsgSnapStatus":
                snapshots.handle_status(self, m, progress)
            case "MsgTransferLeader":
                transfer.handle_transfer(self, m, progress)
            case "MsgUnreachable":
                if progress.state == "StateReplicate":
                    progress.become_probe()  # what was sent on trust is probably lost
                text = "%x failed to send message to %x because it is unreachable [%s]"
                self.say("DEBUG", text, self.id, m.sender, progress)

    # -- applying ----------------------------------------------------------------------------------

    def applied_to(self, index: int) -> None:
        """Everything up to `index` is in the state machine; leave a joint configuration that ends by itself."""
        self.log.applied_to(max(index, self.log.applied))
        proposal = membership.leave_when_due(self)
        if proposal is None:
            return
        try:
            self.step(proposal)
        except ProposalDroppedError as error:
            text = "not initiating automatic transition out of joint configuration %s: %s"
            self.say("DEBUG", text, self.config, error)
        else:
            self.say("INFO", "initiating automatic transition out of joint configuration %s", self.config)
