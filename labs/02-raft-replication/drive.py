"""Plays operations on a learner's `Log` and `Leader`. Runs in the child, next to the learner's code; knows nothing of
what is right.

Setting `log`: one log, and words of the script for what a leader sends. Setting `leader`: one leader, and words for
what its followers answer. Settings `group` and `scripted`: a group of nodes with logs and leaders of the learner's;
elections (lab 01), network and crashes are played here. In `scripted` nobody stands for election unless the script says
so.

An entry is written `2:x`: of term 2, with the command x. Every answer says what was answered and what holds then. What
does not fit (a node that is down, a leader where there is none) does nothing.
"""

import heapq
import random

ELECTION_TICKS, BEAT_TICKS, MOST_TICKS = 10, 3, 400
ROLES = {"follower": "F", "candidate": "C", "leader": "L"}


def _expect(value, kind, what):
    if type(value) is not kind:
        raise TypeError(f"{what}: expected {kind.__name__}, found {type(value).__name__}")
    return value


def _entry(found, what):
    if type(found) is not tuple or len(found) != 2 or type(found[0]) is not int or type(found[1]) is not str:
        raise TypeError(f"{what}: expected an entry (term, command), found {_short(found)}")
    return found


def _entries(found, what):
    return tuple(_entry(one, what) for one in _expect(found, list, what))


def _short(found):
    return repr(found)[:60] if type(found) in (tuple, str, int, bool, list) else f"a {type(found).__name__}"


def _words(entries):
    return " ".join(f"{term}:{command}" for term, command in entries)


def _parsed(words):
    return [(int(term), command) for term, _, command in (word.partition(":") for word in words)]


def _commit(log):
    return _expect(log.commit_index, int, "commit_index")


def _append(log, prev_index, prev_term, entries, commit):
    """on_append_entries, its answer checked."""
    found = log.on_append_entries(prev_index, prev_term, list(entries), commit)
    if type(found) is not tuple or len(found) != 2 or type(found[0]) is not bool or type(found[1]) is not int:
        raise TypeError(f"on_append_entries returned {_short(found)}, expected (True, index) or (False, index)")
    return found


def _message(leader, other):
    """append_entries, checked."""
    found = leader.append_entries(other)
    if type(found) is not tuple or len(found) != 4 or any(type(found[place]) is not int for place in (0, 1, 3)):
        raise TypeError(f"append_entries returned {_short(found)}, expected (prev_index, prev_term, entries, commit)")
    return found[0], found[1], _entries(found[2], "append_entries: entries"), found[3]


def _last(log):
    found = log.last()
    if type(found) is not tuple or len(found) != 2 or any(type(part) is not int for part in found):
        raise TypeError(f"last returned {_short(found)}, expected (index, term)")
    return found


class Disk:
    """What survives a crash: the entries that the learner saved, and for the elections played here term and vote."""

    def __init__(self, entries=()):
        self.entries, self.term, self.voted_for = tuple(entries), 0, None

    def save(self, entries):
        self.entries = _entries(entries, "disk.save: entries")

    def load(self):
        return list(self.entries)


# -- a log, a leader -------------------------------------------------------------------------------


class OneLog:
    """A log, and words for what is sent to it."""

    def __init__(self, names):
        self.make = names["Log"]
        self.have()

    def have(self, *words):
        """Begin with these entries on the disk."""
        self.disk = Disk(_parsed(words))
        return self.restart()

    def restart(self):
        self.log = self.make(self.disk)
        return self.now()

    def append(self, prev, commit, *words):
        """`append 3/1 2 2:x`: the entry before is number 3, of term 1; the leader has committed 2."""
        index, _, term = prev.partition("/")
        success, where = _append(self.log, int(index), int(term), _parsed(words), int(commit))
        return self.now(f"{'yes' if success else 'no'} {where}")

    def now(self, *said):
        entries = _entries(self.log.entries, "entries")
        held = [f"log {_words(entries)}".strip(), f"commit {_commit(self.log)}", "last {}/{}".format(*_last(self.log))]
        if self.disk.entries != entries:
            held.append(f"disk {_words(self.disk.entries)}".strip())
        return "; ".join([*said, *held])


class OneLeader:
    """A leader, and words for what is answered to it."""

    def __init__(self, names):
        self.names = names
        self.lead("1", "3")

    def lead(self, term, size, *words):
        """`lead 3 5 1:x 2:y`: newly elected in term 3, in a group of five, with these entries."""
        self.others = tuple(f"n{number}" for number in range(2, int(size) + 1))
        self.least = len(words)
        self.disk = Disk(_parsed(words))
        self.log = self.names["Log"](self.disk)
        self.leader = self.names["Leader"](int(term), self.log, self.others)
        return self.now()

    def send(self, other):
        if other not in self.others:
            return None
        index, term, entries, commit = _message(self.leader, other)
        return self.now(f"after {index}/{term} commit {commit} entries {_words(entries)}".strip())

    def ok(self, other, index):
        return self.answer(other, True, index)

    def no(self, other, index):
        return self.answer(other, False, index)

    def answer(self, other, success, index):
        """What cannot have been said does nothing: a yes is for a whole log that this leader had at some time."""
        if other not in self.others or (success and not self.least <= int(index) <= len(self.log.entries)):
            return None
        self.leader.on_answer(other, success, int(index))
        return self.now()

    def propose(self, command):
        return self.now(f"index {_expect(self.leader.propose(command), int, 'propose')}")

    def now(self, *said):
        entries = _entries(self.log.entries, "entries")
        held = [f"log {_words(entries)}".strip(), f"commit {_commit(self.log)}"]
        if self.disk.entries != entries:
            held.append(f"disk {_words(self.disk.entries)}".strip())
        return "; ".join([*said, *held])


# -- a member of a group: elections, and when to send ----------------------------------------------


class Member:
    """Lab 01, and the learner's log and leader in it. `world` sends and is told."""

    def __init__(self, name, world, disk, rng):
        self.name, self.world, self.disk, self.rng = name, world, disk, rng
        self.others = tuple(other for other in world.names if other != name)
        self.log = world.learner["Log"](disk)
        self.role, self.leader, self.votes = "follower", None, set()
        self.applied, self.waits, self.beat = 0, {}, 0
        self.restart_timer()

    @property
    def term(self):
        return self.disk.term

    def restart_timer(self):
        self.silence, self.timeout = 0, self.rng.randrange(ELECTION_TICKS, 2 * ELECTION_TICKS)

    def enter(self, term, voted_for=None):
        self.disk.term, self.disk.voted_for = term, voted_for
        self.role, self.leader = "follower", None

    def campaign(self, term):
        self.enter(term, self.name)
        self.role, self.votes = "candidate", {self.name}
        self.restart_timer()
        index, last_term = _last(self.log)
        self.world.send_all(self, "request_vote", term, index, last_term)
        self.win()

    def win(self):
        if 2 * len(self.votes) > len(self.others) + 1:
            self.role, self.waits, self.beat = "leader", {}, 0
            self.leader = self.world.learner["Leader"](self.term, self.log, self.others)
            self.world.told.append("leads {} {} {}/{}".format(self.name, self.term, *_last(self.log)))
            self.speak()

    def tick(self, has_timers):
        if self.role == "leader":
            self.beat += 1
            self.speak()
            return
        self.silence += 1
        if has_timers and self.silence >= self.timeout:
            self.campaign(self.term + 1)

    def speak(self):
        """To whom owes no answer, if there is something to say or it is time for a heartbeat; to the others again."""
        for other in self.others:
            if other not in self.waits:
                message = _message(self.leader, other)
                if message[2] or self.beat % BEAT_TICKS == 0:
                    self.send_entries(other, message)
            elif self.beat - self.waits[other] >= BEAT_TICKS:
                self.send_entries(other, _message(self.leader, other))

    def send_entries(self, other, message):
        self.waits[other] = self.beat
        self.world.rpcs += 1
        self.world.loads += len(message[2])
        self.world.send(self.name, other, "append", self.term, *message)

    # -- what comes in ---------------------------------------------------------------------------

    def hear(self, source, kind, term, *rest):
        if term > self.term:
            self.enter(term)
        getattr(self, f"on_{kind}")(source, term, *rest)
        self.apply()

    def on_request_vote(self, source, term, index, last_term):
        mine = _last(self.log)
        granted = (
            term == self.term and self.disk.voted_for in (None, source) and (last_term, index) >= (mine[1], mine[0])
        )
        if granted:
            self.disk.voted_for = source
            self.restart_timer()
        self.world.send(self.name, source, "vote", self.term, granted)

    def on_vote(self, source, term, granted):
        if self.role == "candidate" and term == self.term and granted:
            self.votes.add(source)
            self.win()

    def on_append(self, source, term, prev_index, prev_term, entries, commit):
        success, index = False, 0
        if term == self.term:
            self.role = "follower"
            self.restart_timer()
            success, index = _append(self.log, prev_index, prev_term, entries, commit)
            if not success:
                self.world.refusals[self.name, source, term] = self.world.refusals.get((self.name, source, term), 0) + 1
        self.world.send(self.name, source, "answer", self.term, term, success, index)

    def on_answer(self, source, term, asked_in, success, index):
        if self.role == "leader" and term == asked_in == self.term:
            self.waits.pop(source, None)
            self.leader.on_answer(source, success, index)
            if not success:
                self.send_entries(source, _message(self.leader, source))

    def propose(self, command):
        index = _expect(self.leader.propose(command), int, "propose")
        self.world.told.append(f"proposed {self.name} {self.term}:{command} {index}")
        self.apply()

    def apply(self):
        """What is committed goes into the state machine, which a restart empties."""
        commit = _commit(self.log)
        if commit > len(self.log.entries):
            raise IndexError(f"commit_index of {self.name} is {commit}, its log has {len(self.log.entries)} entries")
        while self.applied < commit:
            self.applied += 1
            term, command = _entry(self.log.entries[self.applied - 1], "entries")
            self.world.applies(self.name, self.applied, f"{term}:{command}")


# -- a group ---------------------------------------------------------------------------------------


class Group:
    """All nodes, and the network."""

    def __init__(self, learner, has_timers):
        self.learner, self.has_timers = learner, has_timers
        self.group("3", "1")

    def group(self, size, seed="1"):
        self.names = [f"n{number}" for number in range(1, int(size) + 1)]
        self.rng, self.seed = random.Random(f"{seed}/network"), seed
        self.disks = {name: Disk() for name in self.names}
        self.starts = dict.fromkeys(self.names, 0)
        self.side = dict.fromkeys(self.names, 0)
        self.loss, self.slowest, self.ticks, self.sent, self.commands = 0, 1, 0, 0, 0
        self.rpcs, self.loads = 0, 0  # AppendEntries sent, and entries in them
        self.wire, self.told, self.nodes, self.logs, self.done, self.refusals = [], [], {}, {}, {}, {}
        for name in self.names:
            self.start(name)
        return self.now()

    def start(self, name):
        self.starts[name] += 1
        rng = random.Random(f"{self.seed}/{name}/{self.starts[name]}")
        self.nodes[name] = Member(name, self, self.disks[name], rng)

    # -- words of the script ---------------------------------------------------------------------

    def run(self, ticks):
        rpcs, loads = self.rpcs, self.loads
        for _ in range(int(ticks)):
            self.tick(self.has_timers)
        return self.now(f"sent {self.rpcs - rpcs} messages {self.loads - loads} entries")

    def elect(self, name):
        """A node stands for election, in a term that is newer than all those which it can reach."""
        if name not in self.nodes:
            return None
        self.nodes[name].campaign(1 + max(self.nodes[other].term for other in self.reach(name)))
        return self.now()

    def propose(self, name="leader"):
        """The next command, c1, c2, ..., at who leads (or at this node, if it does)."""
        name = self.known_as(name)
        if name not in self.nodes or self.nodes[name].role != "leader":
            return None
        self.client(name)
        return self.now()

    def client(self, leader):
        """A client sends its command, and what it is called."""
        self.commands += 1
        self.nodes[leader].propose(f"c{self.commands}")
        return f"c{self.commands}"

    def agree(self):
        """Until a new command is applied by all who can reach each other, a majority. Clients try again."""
        if not any(2 * len(self.reach(name)) > len(self.names) for name in self.nodes):
            return self.now("no majority is connected")
        rpcs, tries = self.rpcs, {}
        for number in range(MOST_TICKS):
            leader = self.leader()
            if leader and 2 * len(self.reach(leader)) > len(self.names):
                if (leader, self.nodes[leader].term) not in tries:
                    tries[leader, self.nodes[leader].term] = self.client(leader)
                reach = self.reach(leader)
                if any(all(self.done.get((name, command)) for name in reach) for command in tries.values()):
                    return self.now(f"agreed {number} ticks {self.rpcs - rpcs} messages")
            self.tick(True)
        return self.now("lossy" if self.loss or self.slowest > 1 else f"disagreed {MOST_TICKS}")

    def split(self, *names):
        """These on one side, the others on the other."""
        self.drop(lambda source, target: self.side[source] != self.side[target])
        side = [self.known_as(name) for name in names]
        self.side = {name: int(name in side) for name in self.names}
        return self.now(" ".join(["apart", *[name for name in self.names if self.side[name]]]))

    def heal(self):
        self.drop(lambda source, target: self.side[source] != self.side[target])
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
        self.drop(lambda source, _: source == name)
        self.logs.pop(name, None)
        self.done = {key: True for key in self.done if key[0] != name}
        return self.now()

    def restart(self, name):
        if name in self.nodes or name not in self.disks:
            return None
        self.start(name)
        return self.now()

    # -- time and network ------------------------------------------------------------------------

    def tick(self, has_timers):
        self.ticks += 1
        for name in self.names:
            if name in self.nodes:
                self.nodes[name].tick(has_timers)
        while self.wire and self.wire[0][0] <= self.ticks:
            _, _, source, target, message = heapq.heappop(self.wire)
            if target in self.nodes and self.side[source] == self.side[target]:
                self.nodes[target].hear(source, *message)

    def send_all(self, member, *message):
        for other in member.others:
            self.send(member.name, other, *message)

    def send(self, source, target, *message):
        if self.loss and self.rng.randrange(100) < self.loss:
            return
        delay = self.rng.randint(1, self.slowest) if self.slowest > 1 else 1
        self.sent += 1
        heapq.heappush(self.wire, (self.ticks + delay, self.sent, source, target, message))

    def drop(self, is_lost):
        """Of what is on its way, these messages do not arrive."""
        self.wire = [one for one in self.wire if not is_lost(one[2], one[3])]
        heapq.heapify(self.wire)

    def applies(self, name, index, entry):
        self.told.append(f"applies {name} {index} {entry}")
        self.done[name, entry.partition(":")[2]] = True

    # -- what holds ------------------------------------------------------------------------------

    def known_as(self, name):
        """`leader` is who leads in the latest term."""
        return self.leader() if name == "leader" else name

    def leader(self):
        leaders = [name for name, node in self.nodes.items() if node.role == "leader"]
        return max(leaders, key=lambda name: self.nodes[name].term, default=None)

    def reach(self, name):
        return [other for other in self.nodes if self.side[other] == self.side[name]]

    def now(self, *said):
        """`n1:L3(2/5)`: n1 leads in term 3, has 5 entries, and knows that 2 are committed. Then what happened."""
        states = []
        for name in self.names:
            node = self.nodes.get(name)
            if node is None:
                states.append(f"{name}:down")
                continue
            entries = _entries(node.log.entries, "entries")
            states.append(f"{name}:{ROLES[node.role]}{node.term}({_commit(node.log)}/{len(entries)})")
            if len(entries) > self.commands:
                self.told.append(f"swells {name} {len(entries)} {self.commands}")
            elif self.logs.get(name, ()) != entries:
                self.logs[name] = entries
                self.told.append(f"log {name} {_words(entries)}".strip())
        told = [
            *self.told,
            *[f"refuses {' '.join(map(str, key))} {times}" for key, times in self.refusals.items()],
            *said,
        ]
        self.told, self.refusals = [], {}
        return "; ".join([" ".join(states), *told])


def drive(names, setting):
    if setting in ("log", "leader"):
        world = (OneLog if setting == "log" else OneLeader)(names)
    else:
        world = Group(names, setting == "group")
    return lambda verb, *rest: getattr(world, verb)(*rest)
