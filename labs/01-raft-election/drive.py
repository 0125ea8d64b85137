"""Plays operations on a learner's `Node`. Runs in the child, next to the learner's code; knows nothing of what
is right.

Setting `node`: n1 is the learner's, the others are words of the script. Setting `group`: all nodes are the learner's;
a network between them takes a tick for a message, loses some if told so, and can be split. Replication is played here:
a follower that accepts a heartbeat gets the leader's log with it.

Every answer says what was sent and what holds then. A word that does not fit (a node that is down, a leader where
there is none) does nothing.
"""

import heapq
import random

ROLES = {"follower": "F", "candidate": "C", "leader": "L"}
MESSAGES = {"request_vote": "('request_vote', term, last_index, last_term)", "heartbeat": "('heartbeat', term)"}
MOST_TICKS = 400
CALM_TICKS = 8
MOST_SAID = 200  # in one step; at 10 ticks of silence, 800 ticks make 80 requests


class Disk:
    """What a node saved last; it survives a crash. Each start gets a new one with the same content, so what a learner
    hangs on it elsewhere is gone."""

    __slots__ = ("saved",)

    def __init__(self, saved=(0, None)):
        self.saved = saved

    def save(self, term, voted_for):
        _expect(term, int, "disk.save: term")
        if voted_for is not None:
            _expect(voted_for, str, "disk.save: voted_for")
        self.saved = term, voted_for

    def load(self):
        return self.saved


class Log:
    """Given to the learner, a new one for each start: `last_index` and `last_term`. `entries` are (term, number)
    pairs."""

    __slots__ = ("entries",)

    def __init__(self, entries=()):
        self.entries = tuple(entries)

    @property
    def last_index(self):
        return len(self.entries)

    @property
    def last_term(self):
        return self.entries[-1][0] if self.entries else 0

    def __str__(self):
        return f"{self.last_index}/{self.last_term}"


def _expect(value, kind, what):
    if type(value) is not kind:
        raise TypeError(f"{what}: expected {kind.__name__}, found {type(value).__name__}")


def _message(found, where):
    """What a method wants to be sent to all others: checked."""
    if found is None:
        return None
    if type(found) is not tuple or not found or type(found[0]) is not str or found[0] not in MESSAGES:
        raise TypeError(f"{where} returned {_short(found)}, expected None, {' or '.join(MESSAGES.values())}")
    if len(found) != MESSAGES[found[0]].count(",") + 1 or any(type(part) is not int for part in found[1:]):
        raise TypeError(f"{where} returned {_short(found)}, expected {MESSAGES[found[0]]} with whole numbers")
    return found


def _short(found):
    return repr(found)[:60] if type(found) in (tuple, str, int, bool, list) else f"a {type(found).__name__}"


def _state(node):
    """Role and term, as the learner's attributes have them."""
    if type(node.role) is not str or node.role not in ROLES:
        raise TypeError(f"role is {_short(node.role)}, expected 'follower', 'candidate' or 'leader'")
    _expect(node.term, int, "term")
    return node.role, node.term


def _ask(node, candidate, term, last_index, last_term):
    """on_request_vote, its answer checked."""
    found = node.on_request_vote(candidate, term, last_index, last_term)
    if type(found) is not tuple or len(found) != 2 or type(found[0]) is not int or type(found[1]) is not bool:
        raise TypeError(f"on_request_vote returned {_short(found)}, expected (term, True) or (term, False)")
    return found


def _beat(node, leader, term):
    """on_heartbeat, its answer checked."""
    found = node.on_heartbeat(leader, term)
    if type(found) is not int:
        raise TypeError(f"on_heartbeat returned {_short(found)}, expected its term, a whole number")
    return found


# -- one node --------------------------------------------------------------------------------------


class Alone:
    """n1, and words of the script for all that the others say."""

    def __init__(self, make):
        self.make = make
        self.group("3", "1")

    def group(self, size, seed="1"):
        self.others = tuple(f"n{number}" for number in range(2, int(size) + 1))
        self.seed, self.starts = seed, 0
        self.disk, self.log = Disk(), Log()
        self.known = self.disk.saved
        return self.restart()

    def restart(self):
        """What it knew is gone; what it saved is there."""
        self.starts += 1
        self.disk, self.log = Disk(self.disk.saved), Log(self.log.entries)
        rng = random.Random(f"{self.seed}/n1/{self.starts}")
        self.node = self.make("n1", self.others, self.log, self.disk, rng)
        return self.now()

    def fill(self, last_index, last_term):
        """The log gets this last entry: `log 5 2`."""
        self.log.entries = ((int(last_term), 0),) * int(last_index)
        return self.now()

    def tick(self, times="1"):
        """Heartbeats of a term in ticks that follow each other are one: `heartbeat 3 @12-40`."""
        said, beats = [], None  # beats: term, first and last tick of the heartbeats at the end of said
        for number in range(1, int(times) + 1):
            found = _message(self.node.tick(), "tick()")
            if found is None:
                continue
            if found[0] == "heartbeat" and beats and beats[::2] == (found[1], number - 1):
                beats = found[1], beats[1], number
                said[-1] = f"heartbeat {found[1]} @{beats[1]}-{number}"
                continue
            beats = (found[1], number, number) if found[0] == "heartbeat" else None
            said.append(self.say(found, "tick()", number))
        return self.now(*said[:MOST_SAID])

    def ask(self, candidate, *numbers):
        term, granted = _ask(self.node, candidate, *map(int, numbers))
        return self.now(f"{'yes' if granted else 'no'} {term}")

    def heartbeat(self, leader, term):
        return self.now(f"term {_beat(self.node, leader, int(term))}")

    def vote(self, voter, term, granted):
        return self.now(self.say(self.node.on_vote(voter, int(term), granted == "yes"), "on_vote"))

    def reply(self, follower, term):
        self.node.on_heartbeat_reply(follower, int(term))
        return self.now()

    def say(self, found, where, at=0):
        """`asks 3 5/2 @12`: sent at the 12th tick."""
        found = _message(found, where)
        if found is None:
            return None
        what = f"heartbeat {found[1]}" if found[0] == "heartbeat" else "asks {} {}/{}".format(*found[1:])
        return f"{what} @{at}"

    def now(self, *said):
        """What was said, what is on the disk if that is new (`saves 3 n2`), role and term."""
        role, term = _state(self.node)
        told = [text for text in said if text]
        if self.disk.saved != self.known:
            self.known = self.disk.saved
            told.append(f"saves {self.known[0]} {self.known[1] or 'nobody'}")
        return "; ".join([*told, f"{role} {term}"])


# -- a group ---------------------------------------------------------------------------------------


class Group:
    """All nodes, and the network."""

    def __init__(self, make):
        self.make = make
        self.group("3", "1")

    def group(self, size, seed="1"):
        self.names = [f"n{number}" for number in range(1, int(size) + 1)]
        self.rng, self.seed = random.Random(f"{seed}/network"), seed
        self.starts = dict.fromkeys(self.names, 0)
        self.disks = {name: Disk() for name in self.names}
        self.logs = {name: Log() for name in self.names}
        self.side = dict.fromkeys(self.names, 0)
        self.loss, self.slowest, self.ticks, self.sent = 0, 1, 0, 0
        self.wire, self.told, self.nodes, self.known, self.acked = [], [], {}, {}, {}
        self.committed = set()
        for name in self.names:
            self.start(name)
        return self.now()

    def start(self, name):
        self.starts[name] += 1
        rng = random.Random(f"{self.seed}/{name}/{self.starts[name]}")
        others = tuple(other for other in self.names if other != name)
        self.disks[name], self.logs[name] = Disk(self.disks[name].saved), Log(self.logs[name].entries)
        self.nodes[name] = self.make(name, others, self.logs[name], self.disks[name], rng)
        self.known[name] = "follower", 0

    # -- words of the script ---------------------------------------------------------------------

    def run(self, ticks):
        for _ in range(int(ticks)):
            self.tick()
        return self.now()

    def settle(self):
        """Until somebody leads all that can hear it, a majority, for CALM_TICKS; not longer than MOST_TICKS."""
        if not any(self.is_majority(name) for name in self.nodes):
            return self.now("no majority is connected")
        before, calm = None, 0
        for number in range(MOST_TICKS):
            self.tick()
            leader = self.settled()
            calm = calm + 1 if leader and leader == before else 0
            before = leader
            if calm == CALM_TICKS:
                return self.now(f"settled {leader[0]} {leader[1]} {number + 1}")
        return self.now("lossy" if self.loss else f"unsettled {MOST_TICKS}")

    def split(self, *names):
        """These on one side, the others on the other."""
        side = [self.known_as(name) for name in names]
        self.side = {name: int(name in side) for name in self.names}
        return self.now(" ".join(["apart", *[name for name in self.names if self.side[name]]]))

    def heal(self):
        self.side = dict.fromkeys(self.names, 0)
        return self.now()

    def net(self, loss, slowest):
        """So many messages of a hundred get lost, and each takes up to so many ticks."""
        self.loss, self.slowest = int(loss), int(slowest)
        return self.now()

    def crash(self, name):
        name = self.known_as(name)
        if name not in self.nodes:
            return None
        del self.nodes[name]
        self.wire = [one for one in self.wire if one[2] != name]
        heapq.heapify(self.wire)
        return self.now()

    def restart(self, name):
        name = self.known_as(name)
        if name in self.nodes or name not in self.disks:
            return None
        self.start(name)
        return self.now()

    def write(self):
        """A client's command, in the log of who leads."""
        leader = self.leader()
        if leader is None:
            return None
        log = self.logs[leader]
        log.entries = (*log.entries, (self.nodes[leader].term, self.ticks))
        return self.now()

    # -- time and network ------------------------------------------------------------------------

    def tick(self):
        self.ticks += 1
        for name in self.names:
            if name in self.nodes:
                found = _message(self.nodes[name].tick(), "tick()")
                self.after(name, found)
        while self.wire and self.wire[0][0] <= self.ticks:
            self.deliver(*heapq.heappop(self.wire)[2:])

    def send(self, source, target, what):
        if self.loss and self.rng.randrange(100) < self.loss:
            return
        delay = self.rng.randint(1, self.slowest) if self.slowest > 1 else 1
        self.sent += 1
        heapq.heappush(self.wire, (self.ticks + delay, self.sent, source, target, what))

    def after(self, name, found):
        """What a node says to all, and what became of it."""
        if found is not None and found[0] == "request_vote":
            self.told.append(f"asks {name} {found[1]}")
        role, term = _state(self.nodes[name])
        if role == "leader" and self.known[name] != (role, term):
            self.told.append(f"leads {name} {term} {self.logs[name]}")
            self.acked[name] = {}
        self.known[name] = role, term
        if found is not None:
            entries = self.logs[name].entries if found[0] == "heartbeat" else ()
            for other in self.names:
                if other != name:
                    self.send(name, other, (*found, entries))

    def deliver(self, source, target, what):
        if target not in self.nodes or self.side[source] != self.side[target]:
            return
        node, found = self.nodes[target], None
        kind, *fields, rest = what
        if kind == "request_vote":
            term, granted = _ask(node, source, *fields)
            if granted:
                self.told.append(f"votes {target} {source} {term}")
            self.send(target, source, ("vote", term, granted, ()))
        elif kind == "heartbeat":
            term = _beat(node, source, *fields)
            if term == fields[0]:
                self.copy(target, rest)
            self.send(target, source, ("reply", term, len(rest)))
        elif kind == "vote":
            found = _message(node.on_vote(source, *fields), "on_vote")
        else:
            node.on_heartbeat_reply(source, *fields)
            self.count(target, source, fields[0], rest)
        self.after(target, found)

    def copy(self, target, entries):
        log = self.logs[target]
        if log.entries[: len(entries)] != entries:
            log.entries = entries

    def count(self, leader, follower, term, length):
        """A follower of this term has so many entries of the leader's."""
        if _state(self.nodes[leader]) != ("leader", term):
            return
        acked, log = self.acked[leader], self.logs[leader]
        acked[follower] = max(length, acked.get(follower, 0))
        lengths = sorted([log.last_index, *acked.values(), *[0] * len(self.names)], reverse=True)
        index = lengths[len(self.names) // 2]  # what a majority has
        if index and log.entries[index - 1][0] == term and (index, term) not in self.committed:
            self.committed.add((index, term))
            self.told.append(f"commits {index}/{term}")

    # -- what holds ------------------------------------------------------------------------------

    def known_as(self, name):
        """`leader` is who leads in the latest term."""
        return self.leader() if name == "leader" else name

    def leader(self):
        leaders = [name for name, node in self.nodes.items() if node.role == "leader"]
        return max(leaders, key=lambda name: self.nodes[name].term, default=None)

    def reach(self, name):
        return [other for other in self.nodes if self.side[other] == self.side[name]]

    def is_majority(self, name):
        return 2 * len(self.reach(name)) > len(self.names)

    def settled(self):
        """Who leads all that can hear it, and in which term."""
        for name, node in self.nodes.items():
            if node.role == "leader" and self.is_majority(name):
                others = [self.nodes[other] for other in self.reach(name) if other != name]
                if all((other.role, other.term) == ("follower", node.term) for other in others):
                    return name, node.term
        return None

    def now(self, *said):
        """`n1:F3 n2:L3 n3:down`, then what happened."""
        states = []
        for name in self.names:
            role, term = _state(self.nodes[name]) if name in self.nodes else ("", "")
            states.append(f"{name}:{ROLES[role]}{term}" if role else f"{name}:down")
        told, self.told = [*self.told, *said], []
        return "; ".join([" ".join(states), *dict.fromkeys(told)])


def drive(names, setting):
    world = (Alone if setting == "node" else Group)(names["Node"])
    words = {"log": "fill"}
    return lambda verb, *rest: getattr(world, words.get(verb, verb))(*rest)
