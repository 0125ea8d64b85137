"""Another correct solution, built otherwise: the role is a state of its own with the votes in it, time counts down, and
one place looks at the term of whatever comes in."""

from dataclasses import dataclass, field


@dataclass
class Follower:
    name: str = "follower"


@dataclass
class Candidate:
    missing: int  # how many votes more
    ballots: list = field(default_factory=list)
    name: str = "candidate"


@dataclass
class Leader:
    name: str = "leader"


class Node:
    def __init__(self, me, others, log, disk, rng):
        self.name, self.peers, self.log, self.disk, self.rng = me, others, log, disk, rng
        self.state = Follower()
        self.wind_up()

    @property
    def term(self):
        return self.disk.load()[0]

    @property
    def role(self):
        return self.state.name

    def wind_up(self):
        self.left = self.rng.choice(range(10, 20))

    def meet(self, term):
        """Whoever is behind goes on as a follower."""
        if term > self.term:
            self.disk.save(term, None)
            if isinstance(self.state, Leader):
                self.wind_up()
            self.state = Follower()

    def tick(self):
        if isinstance(self.state, Leader):
            return ("heartbeat", self.term)
        self.left -= 1
        if self.left > 0:
            return None
        self.disk.save(self.term + 1, self.name)
        self.wind_up()
        self.state = Candidate(missing=(len(self.peers) + 1) // 2)
        if self.state.missing == 0:
            self.state = Leader()
        return ("request_vote", self.term, self.log.last_index, self.log.last_term)

    def on_request_vote(self, candidate, term, last_index, last_term):
        self.meet(term)
        mine, vote = self.disk.load()
        if term == mine and vote in (None, candidate) and not self.knows_more(last_index, last_term):
            self.disk.save(mine, candidate)
            self.wind_up()
            return mine, True
        return mine, False

    def knows_more(self, last_index, last_term):
        if self.log.last_term != last_term:
            return self.log.last_term > last_term
        return self.log.last_index > last_index

    def on_vote(self, voter, term, granted):
        self.meet(term)
        state = self.state
        if isinstance(state, Candidate) and granted and term == self.term and voter not in state.ballots:
            state.ballots.append(voter)
            if len(state.ballots) == state.missing:
                self.state = Leader()
                return ("heartbeat", term)
        return None

    def on_heartbeat(self, leader, term):
        self.meet(term)
        if term == self.term:
            self.state = Follower()
            self.wind_up()
        return self.term

    def on_heartbeat_reply(self, follower, term):
        self.meet(term)
