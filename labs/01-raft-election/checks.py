"""Lab 01: the properties of elections, judged over what nodes said and what they were then.

Spec: Ongaro, Ousterhout, "In Search of an Understandable Consensus Algorithm (Extended Version)", figure 2, §5.2, §5.4
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from k8slab.lab import Broken, Check, LabSpec, Op, Step

SOONEST, LATEST = 10, 19
"""After so many silent ticks a node may, and must, have become a candidate."""
OTHERS = ("n2", "n3", "n4", "n5")
ENOUGH_WAITS = 8
FEWEST_WAITS = 6


# -- one node: what it said, and what holds --------------------------------------------------------


class Said(NamedTuple):
    """One thing that a step told: `asks 3 5/2 @12` in words, or `heartbeat 3 @12-40`: in each of these ticks."""

    kind: str
    term: int
    last: str = ""  # of asks: index/term; of saves: whom it voted for
    tick: int = 0
    until: int = 0  # the last tick of several

    @property
    def ticks(self) -> range:
        return range(self.tick, self.until + 1)


@dataclass
class View:
    """What is known of n1 before a step, from what it said and what its attributes were."""

    size: int = 3
    seed: str = "1"
    role: str = "follower"
    term: int = 0
    disk: tuple[int, str] = (0, "nobody")  # term and vote that were saved last
    last: tuple[int, int] = (0, 0)  # (term, index), as logs are compared
    granted: dict[int, str] = field(default_factory=dict)  # term -> who got its vote
    asked: dict[int, int] = field(default_factory=dict)  # term -> the step in which it asked for votes
    restarts: list[int] = field(default_factory=list)
    voters: set[str] = field(default_factory=set)  # who gave it a vote in its term
    extras: list[str] = field(default_factory=list)  # causes to suspect: votes that do not count

    @property
    def majority(self) -> int:
        return self.size // 2 + 1


class Told(NamedTuple):
    """A step, what was said in it, and role and term after it."""

    step: Step
    said: list[Said]
    role: str
    term: int

    @property
    def op(self) -> Op:
        return self.step.op

    @property
    def verb(self) -> str:
        return self.step.op[0]

    @property
    def answer(self) -> Said:
        return self.said[0]

    def disk(self, view: View) -> tuple[int, str]:
        """What is on the disk after this step."""
        return next(((said.term, said.last) for said in self.said if said.kind == "saves"), view.disk)


def told(steps: Sequence[Step]) -> Iterator[tuple[Told, View]]:
    view = View()
    for step in steps:
        *said, state = [part.split() for part in step.result.split("; ")]
        one = Told(step, [_said(words) for words in said], state[0], int(state[1]))
        if one.verb == "group":
            view = View(size=int(step.op[1]), seed=step.op[2] if len(step.op) > 2 else "1")
        yield one, view
        _take_in(view, one)


def _said(words: list[str]) -> Said:
    first, _, last = words.pop()[1:].partition("-") if words[-1].startswith("@") else ("0", "", "")
    return Said(words[0], int(words[1]), words[2] if len(words) > 2 else "", int(first), int(last or first))


def _take_in(view: View, one: Told) -> None:
    if one.verb == "log":
        view.last = int(one.op[2]), int(one.op[1])
    elif one.verb == "restart":
        view.restarts.append(one.step.number)
        view.voters, view.extras = set(), []
    elif one.verb == "ask" and one.answer.kind == "yes":
        view.granted.setdefault(int(one.op[2]), one.op[1])
    elif one.verb == "vote":
        _count(view, one.op)
    for said in one.said:
        if said.kind == "asks":
            view.asked[said.term] = one.step.number
            view.voters, view.extras = set(), []
    view.role, view.term, view.disk = one.role, one.term, one.disk(view)


def _count(view: View, op: Op) -> None:
    voter, term, granted = op[1], int(op[2]), op[3] == "yes"
    if view.role != "candidate":
        return
    if not granted:
        view.extras.append("counts-refusals")
    elif term != view.term:
        view.extras.append("counts-old-votes")
    elif voter in view.voters:
        view.extras.append("counts-twice")
    else:
        view.voters.add(voter)


# -- the timer -------------------------------------------------------------------------------------


@dataclass
class Timer:
    """When silence began: at the latest (`surely`), and where rules differ, maybe later (`maybe`).

    They differ where a node enters a newer term or another role. The paper's timer does not notice that; etcd's
    `becomeFollower` resets it, also when it goes on to refuse its vote.
    """

    now: int = 0
    surely: int = 0
    maybe: int = 0
    since: str = "the start"
    refused: int = 0  # the step in which a request was refused since then, the last one
    old: int = 0  # the same of an old heartbeat
    grows: list[int] = field(default_factory=list)  # silences between two elections with nothing in between
    first: dict[tuple[int, str, int], int] = field(default_factory=dict)  # size, seed, start -> its first silence

    def starts(self, since: str) -> None:
        self.surely = self.maybe = self.now
        self.since, self.refused, self.old = since, 0, 0


_IMPATIENT = {"a leader's heartbeat": "deaf-to-heartbeats", "its vote": "votes-and-asks"}


def _timed(steps: Sequence[Step]) -> Iterator[tuple[Told, View, Timer, Broken | None]]:
    """Each step with the timer after it, and what was too early or too late in it."""
    timer = Timer()
    for one, view in told(steps):
        broken = None
        if one.verb in ("group", "restart"):
            timer.starts("its start")
        elif one.verb == "tick":
            broken = _ticks(one, view, timer)
        elif one.verb == "heartbeat" and int(one.op[2]) >= view.term:
            timer.starts("a leader's heartbeat")
        elif one.verb == "ask" and one.answer.kind == "yes":
            timer.starts("its vote")
        elif one.term > view.term or one.role != view.role:
            timer.maybe = timer.now
        elif one.verb == "ask":
            timer.refused = one.step.number
        elif one.verb == "heartbeat":
            timer.old = one.step.number
        if one.role == "leader" != view.role and one.verb != "vote" and view.size > 1:
            broken = _unelected(one, view)
        yield one, view, timer, broken


def _unelected(one: Told, view: View) -> Broken:
    """It leads since a step in which nobody voted for it."""
    if one.verb == "tick" and one.term > view.term:
        why = f"n1 leads with 1 of {view.size} votes, its own; {view.majority} are a majority"
        return Broken(one.step.number, why, "own-vote")
    return Broken(one.step.number, "n1 leads, and nobody has voted for it", "uninvited")


def _ticks(one: Told, view: View, timer: Timer) -> Broken | None:
    alone = view.size == 1  # who is alone need not ask: its first heartbeat is its election
    asks = {
        tick for said in one.said if said.kind == "asks" or (alone and said.kind == "heartbeat") for tick in said.ticks
    }
    leads = view.role == "leader"
    for tick in range(1, int(one.op[1] if len(one.op) > 1 else 1) + 1):
        timer.now += 1
        if leads:
            continue
        if tick in asks:
            waited = timer.now - timer.surely
            if waited < SOONEST:
                why = f"n1 asks for votes {waited} ticks after {timer.since}; {SOONEST} to {LATEST} is the rule"
                return Broken(one.step.number, why, _IMPATIENT.get(timer.since, "too-soon"))
            if timer.now - timer.maybe > LATEST:
                why = f"{timer.now - timer.maybe} ticks after {timer.since} n1 asks for votes; {LATEST} are the most"
                return Broken(one.step.number, why, "too-late")
            if timer.since == "its last election":
                timer.grows.append(waited)
            elif timer.since == "its start":
                start = view.size, view.seed, len(view.restarts)
                if timer.first.setdefault(start, waited) != waited:
                    why = f"with the same rng n1 first waited {timer.first[start]} ticks, and now {waited}"
                    return Broken(one.step.number, why, "other-dice")
            timer.starts("its last election")
            leads = alone
        elif timer.now - timer.maybe > LATEST:
            why = f"{timer.now - timer.maybe} ticks after {timer.since} n1 is still a {view.role}"
            return _kept_quiet(one.step.number, why, timer)
    return None


def _kept_quiet(step: int, why: str, timer: Timer) -> Broken:
    """By what? When a request was refused and an old heartbeat was heard, either may have been it."""
    if timer.refused and timer.old:
        either = f"a leader of the past (step {timer.old}) or a request that it refused (step {timer.refused})"
        return Broken(step, f"{why}: {either} kept it quiet", "either")
    if timer.refused:
        return Broken(step, f"{why}: a request that it refused kept it quiet", "kept-quiet")
    if timer.old:
        return Broken(step, f"{why}: a leader of the past kept it quiet", "old-heartbeat")
    return Broken(step, why, "waits-for-ever")


def times_out(steps: Sequence[Step]) -> Broken | None:
    return next((broken for _, _, _, broken in _timed(steps) if broken), None)


def not_by_refusals(steps: Sequence[Step]) -> Broken | None:
    for one, view, _, broken in _timed(steps):
        if broken:
            return broken
        if one.verb == "ask" and one.answer.kind == "yes" and not _due(view, one.op)[0]:
            why = f"{one.op[1]} asks in term {one.op[2]} and may not have n1's vote, and gets it"
            return Broken(one.step.number, why, "votes")
    return None


def differs(steps: Sequence[Step]) -> Broken | None:
    for one, _, timer, broken in _timed(steps):
        if broken:
            return broken
        if len(timer.grows) >= ENOUGH_WAITS and len(set(timer.grows)) == 1:
            why = f"{len(timer.grows)} times in a row n1 waited exactly {timer.grows[0]} ticks for its next election"
            return Broken(one.step.number, why, "no-dice")
        if len(timer.grows) >= ENOUGH_WAITS and _is_a_ladder(timer.grows):
            waits = ", ".join(map(str, timer.grows[:ENOUGH_WAITS]))
            return Broken(one.step.number, f"n1 waited {waits} ticks: each follows from the one before", "no-dice")
        if len(timer.first) >= ENOUGH_WAITS and len(set(timer.first.values())) == 1:
            wait = next(iter(timer.first.values()))
            why = (
                f"{len(timer.first)} times n1 was started with another rng, and first it waited {wait} ticks each time"
            )
            return Broken(one.step.number, why, "no-dice")
        if len(timer.grows) >= 5 * ENOUGH_WAITS and (found := _lopsided(timer.grows)):
            return Broken(one.step.number, found, "narrow")
    return None


def _lopsided(waits: list[int]) -> str:
    """Of 40 draws out of ten, none below 13 or none above 15 has a chance of one in a million at most, and five
    different ones or less a chance of 252 / 2**40."""
    if len(set(waits)) < FEWEST_WAITS:
        return f"{len(waits)} silences, and only {len(set(waits))} lengths: {', '.join(map(str, sorted(set(waits))))}"
    if min(waits) > SOONEST + 2 or max(waits) < LATEST - 2:
        return f"{len(waits)} silences were all between {min(waits)} and {max(waits)} ticks"
    return ""


def _is_a_ladder(waits: list[int]) -> bool:
    """Does each wait differ from the one before by the same number, round and round from 10 to 19?"""
    return len({(later - wait) % (LATEST - SOONEST + 1) for wait, later in itertools.pairwise(waits)}) == 1


def _silent(broken: Broken | None) -> Broken | None:
    """Of what is wrong with the timer that nothing happens: else a node that never asks would pass."""
    return broken if broken and broken.cause in ("waits-for-ever", "uninvited", "own-vote") else None


def asks_rightly(steps: Sequence[Step]) -> Broken | None:
    for one, view, _, broken in _timed(steps):
        if _silent(broken):
            return broken
        term = view.term
        for said in one.said:
            if said.kind != "asks":
                continue
            if said.term != term + 1:
                why = f"n1 was in term {term} and asks for votes in term {said.term}"
                return Broken(one.step.number, why, "same-term" if said.term <= term else "skips-terms")
            index, last_term = map(int, said.last.split("/"))
            if (last_term, index) != view.last:
                why = f"n1's last entry is {view.last[1]} of term {view.last[0]}, it says {index} of term {last_term}"
                return Broken(one.step.number, why, "other-entry")
            term = said.term
        if one.verb == "tick" and term != view.term and view.size > 1 and (one.role, one.term) != ("candidate", term):
            why = f"n1 asked for votes in term {term} and is a {one.role} of term {one.term}"
            return Broken(one.step.number, why, "no-candidate")
        if one.verb == "ask" and int(one.op[2]) in view.asked and one.answer.kind == "yes":
            if view.restarts and view.restarts[-1] > view.asked[int(one.op[2])]:
                continue
            why = f"n1 asks for votes in term {one.op[2]} itself, and votes for {one.op[1]} in it"
            return Broken(one.step.number, why, "not-its-own")
    return None


# -- votes -----------------------------------------------------------------------------------------


def _due(view: View, op: Op) -> tuple[bool, str]:
    """Should n1 vote for this candidate, and if not why not?"""
    who, term, index, last_term = op[1], *map(int, op[2:5])
    if term < view.term:
        return False, "old-term"
    if term in view.asked:
        return False, "itself"
    if view.granted.get(term, who) != who:
        return False, "other"
    if (last_term, index) < view.last:
        return False, "old-log"
    return True, ""


def _refused(one: Told, view: View) -> Broken | None:
    """A vote that nothing speaks against; else a node that never votes would pass."""
    if one.verb != "ask" or one.answer.kind == "yes" or not _due(view, one.op)[0]:
        return None
    who, term, index, last_term = one.op[1:5]
    told_as = f"{who} asks in term {term} with last entry {index} of term {last_term}"
    mine = f"n1 is in term {view.term}, its last entry is {view.last[1]} of term {view.last[0]}"
    if int(term) in view.granted:
        return Broken(one.step.number, f"{who} has n1's vote in term {term}, asks again, and is refused", "not-again")
    cause = "refuses"
    if one.term < int(term):
        cause = "keeps-its-term"
    elif int(last_term) > view.last[0] and int(index) < view.last[1]:
        cause = "by-length"
    elif _has_an_old_vote(view, who, int(term)):
        cause = "keeps-its-vote"
    elif (int(last_term), int(index)) == view.last:
        cause = "refuses-equals"
    return Broken(one.step.number, f"{told_as}; {mine}; nothing speaks against a vote, and it says no", cause)


def _has_an_old_vote(view: View, who: str, term: int) -> bool:
    """Did n1 vote last for somebody else, in an earlier term?"""
    votes = {**view.granted, **dict.fromkeys(view.asked, "itself")}
    latest = max((voted for voted in votes if voted < term), default=None)
    return latest is not None and votes[latest] != who


def one_vote(steps: Sequence[Step]) -> Broken | None:
    for one, view in told(steps):
        if found := _refused(one, view):
            return found
        if one.verb == "ask" and one.answer.kind == "yes" and _due(view, one.op)[1] == "other":
            other, term = view.granted[int(one.op[2])], one.op[2]
            return Broken(one.step.number, f"in term {term} n1 voted for {other}, and now for {one.op[1]}", "two-votes")
    return None


def up_to_date(steps: Sequence[Step]) -> Broken | None:
    for one, view in told(steps):
        if found := _refused(one, view):
            return found
        if one.verb == "ask" and one.answer.kind == "yes" and _due(view, one.op)[1] == "old-log":
            index, last_term = map(int, one.op[3:5])
            why = (
                f"{one.op[1]}'s last entry is {index} of term {last_term}, n1's is {view.last[1]} of term "
                f"{view.last[0]}: n1 knows more, and votes for it"
            )
            if last_term < view.last[0] and index >= view.last[1]:
                return Broken(one.step.number, why, "by-length")
            return Broken(one.step.number, why, "shorter" if last_term == view.last[0] else "ignores-the-log")
    return None


def refuses_the_past(steps: Sequence[Step]) -> Broken | None:
    for one, view in told(steps):
        if found := _refused(one, view):
            return found
        if one.verb not in ("ask", "heartbeat") or int(one.op[2]) == view.term:
            continue
        if int(one.op[2]) > view.term:
            if one.term < int(one.op[2]):
                why = f"n1 hears of term {one.op[2]} and stays in term {one.term}: nothing is past for it"
                return Broken(one.step.number, why, "knows-no-past")
            continue
        where = f"{one.op[1]} speaks of term {one.op[2]}, n1 is in term {view.term}"
        if one.verb == "ask" and one.answer.kind == "yes":
            return Broken(one.step.number, f"{where}, and votes for it", "votes-in-the-past")
        if one.answer.term != view.term:
            return Broken(one.step.number, f"{where}, and answers with term {one.answer.term}", "other-term")
        if (one.role, one.term) != (view.role, view.term):
            why = f"{where} as a {view.role}; now it is a {one.role} of term {one.term}"
            return Broken(one.step.number, why, "follows-the-past")
    return None


STEPS_DOWN = (("follower", "candidate"), ("follower", "leader"))


def takes_newer_terms(steps: Sequence[Step]) -> Broken | None:
    for one, view in told(steps):
        if one.verb not in ("ask", "heartbeat", "vote", "reply"):
            if one.term < view.term and one.verb == "tick":
                return Broken(one.step.number, f"n1 went back from term {view.term} to {one.term}", "back")
            continue
        term = int(one.op[2])
        where = f"n1 is a {view.role} of term {view.term} and hears of term {term}"
        if term > view.term and one.term != term:
            return Broken(one.step.number, f"{where}; after that it is in term {one.term}", "keeps-its-term")
        if term > view.term and one.role != "follower":
            return Broken(one.step.number, f"{where}; after that it is still a {one.role}", "keeps-its-role")
        if term > view.term and one.verb in ("ask", "heartbeat") and one.answer.term != term:
            return Broken(one.step.number, f"{where}; it answers with term {one.answer.term}", "answers-old")
        if term == view.term and one.verb == "heartbeat" and view.role == "candidate" and one.role != "follower":
            why = f"{one.op[1]} leads in term {term}, and n1 is still a {one.role} in it"
            return Broken(one.step.number, why, "no-follower")
        if term == view.term and one.verb != "heartbeat" and (one.role, view.role) in STEPS_DOWN:
            return Broken(one.step.number, f"{where}, which is its own; after that it is a follower", "gives-up")
        if found := _refused(one, view):
            return found
    return None


# -- winning ---------------------------------------------------------------------------------------


def _won(one: Told, view: View) -> Broken | None:
    """Of a step with a vote in it: was the right conclusion drawn?"""
    if one.verb == "tick" and view.size == 1 and any(said.kind == "asks" for said in one.said):
        if one.role != "leader":
            return Broken(one.step.number, "n1 is alone in its group and has its own vote: it should lead", "alone")
        return None
    if one.verb != "vote" or view.role == "leader":
        return None
    voter, term, granted = one.op[1], int(one.op[2]), one.op[3] == "yes"
    counts = view.role == "candidate" and granted and term == view.term and voter not in view.voters
    votes = 1 + len(view.voters) + counts
    if one.role == "leader" and view.role == "follower":
        return Broken(one.step.number, f"n1 is a follower, hears of a vote, and leads in term {one.term}", "uninvited")
    if one.role == "leader" and votes < view.majority:
        why = f"n1 leads with {votes} of {view.size} votes, its own included; {view.majority} are a majority"
        extras = [*view.extras, *([] if counts else [_extra(view, one.op)])]
        return Broken(one.step.number, why, extras[0] if extras else "too-few")
    if one.role == "candidate" and counts and votes >= view.majority:
        return Broken(one.step.number, f"n1 has {votes} of {view.size} votes and does not lead", "too-many")
    return None


def _extra(view: View, op: Op) -> str:
    probe = View(role=view.role, term=view.term, voters=set(view.voters))
    _count(probe, op)
    return probe.extras[0] if probe.extras else "too-few"


def majority_leads(steps: Sequence[Step]) -> Broken | None:
    for one, view, _, broken in _timed(steps):
        if found := _silent(broken) or _won(one, view):
            return found
    return None


def leader_speaks(steps: Sequence[Step]) -> Broken | None:
    for one, view, _, broken in _timed(steps):
        if found := _silent(broken) or _won(one, view):
            return found
        beats = [said for said in one.said if said.kind == "heartbeat"]
        if one.verb == "vote" and (view.role, one.role) == ("candidate", "leader") and not beats:
            return Broken(one.step.number, f"n1 leads in term {one.term} and tells nobody", "says-nothing")
        if one.verb == "tick" and view.role == "leader":
            times = int(one.op[1]) if len(one.op) > 1 else 1
            sent = sum(len(said.ticks) for said in beats)
            if sent != times:
                why = f"n1 led for {times} ticks and sent {sent} heartbeats"
                return Broken(one.step.number, why, "falls-silent")
            if any(said.kind == "asks" for said in one.said):
                return Broken(one.step.number, "n1 leads and asks for votes", "asks-as-leader")
        if beats and "leader" not in (view.role, one.role):
            return Broken(one.step.number, f"n1 is a {one.role} and sends heartbeats", "not-its-place")
        if beats and beats[0].term != one.term:
            why = f"n1 leads in term {one.term} and says term {beats[0].term}"
            return Broken(one.step.number, why, "other-term")
    return None


def survives_a_crash(steps: Sequence[Step]) -> Broken | None:
    for one, view in told(steps):
        if one.verb == "restart" and one.role != "follower":
            return Broken(one.step.number, f"n1 starts as a {one.role}", "no-follower")
        if one.verb == "restart" and one.term != view.term:
            why = f"n1 was in term {view.term} before the crash, and is in term {one.term} after it"
            return Broken(one.step.number, why, "forgets-its-term")
        for said in one.said:
            if said.kind == "asks" and said.term in view.asked:
                return Broken(one.step.number, f"n1 asks for votes in term {said.term} again", "forgets-its-term")
        if one.verb == "ask" and one.answer.kind == "yes" and _due(view, one.op)[1] in ("other", "itself"):
            other = view.granted.get(int(one.op[2]), "itself")
            crash = " before a crash" if view.restarts else ""
            why = f"in term {one.op[2]} n1 voted for {other}{crash}, and now for {one.op[1]}"
            return Broken(one.step.number, why, "forgets-its-vote")
        if found := _refused(one, view):
            return found
    return _not_on_disk(steps)


def _not_on_disk(steps: Sequence[Step]) -> Broken | None:
    """A term or a vote that others were told, and that is not on the disk then."""
    for one, view in told(steps):
        term, vote = one.disk(view)
        said = next((said for said in reversed(one.said) if said.kind != "saves"), None)
        if said is None:
            continue
        voted = one.op[1] if said.kind == "yes" else "n1" if said.kind == "asks" else vote
        if term < said.term or (term == said.term and voted != vote):
            told_as = f"told term {said.term}" if voted == vote else f"voted for {voted} in term {said.term}"
            why = f"n1 has {told_as}, and on its disk stand term {term} and a vote for {vote}"
            return Broken(one.step.number, why, "unsaved")
    return None


# -- a group ---------------------------------------------------------------------------------------


@dataclass
class World:
    """What is known of a group before an event."""

    size: int = 3
    apart: frozenset[str] = frozenset()
    down: frozenset[str] = frozenset()
    is_lossy: bool = False
    calm: str = ""  # who leads, with nothing disturbed since
    since: dict[str, int] = field(default_factory=dict)  # the term in which each asked since the last split
    asked: set[tuple[str, int]] = field(default_factory=set)
    leaders: dict[int, str] = field(default_factory=dict)
    committed: list[tuple[int, int]] = field(default_factory=list)  # (term, index)
    votes: dict[tuple[str, int], str] = field(default_factory=dict)

    def side(self, name: str) -> set[str]:
        names = {f"n{number}" for number in range(1, self.size + 1)}
        return (set(self.apart) if name in self.apart else names - self.apart) - self.down


class Event(NamedTuple):
    """`leads n2 3 5/2` in words."""

    step: int
    words: tuple[str, ...]

    @property
    def kind(self) -> str:
        return self.words[0]


def events(steps: Sequence[Step]) -> Iterator[tuple[Event, World]]:
    world = World()
    for step in steps:
        if not isinstance(step.result, str):
            continue
        states, *parts = step.result.split("; ")
        if step.verb == "group":
            world = World(size=int(step.op[1]))
        elif step.verb == "net":
            world.is_lossy = step.op[1] != "0"
        elif step.verb == "heal":
            world.apart = frozenset()
        if step.verb not in ("run", "settle", "write"):
            world.calm, world.since = "", {}
        world.down = frozenset(state.split(":")[0] for state in states.split() if state.endswith(":down"))
        for part in parts:
            event = Event(step.number, tuple(part.split()))
            yield event, world
            _note(world, event)


def _note(world: World, event: Event) -> None:
    words = event.words
    if event.kind == "apart":
        world.apart = frozenset(words[1:])
    elif event.kind == "settled":
        world.calm = words[1]
    elif event.kind == "asks":
        world.since[words[1]] = int(words[2])
        world.asked.add((words[1], int(words[2])))
    elif event.kind == "leads":
        world.leaders.setdefault(int(words[2]), words[1])
    elif event.kind == "votes":
        world.votes.setdefault((words[1], int(words[3])), words[2])
    elif event.kind == "commits":
        index, term = map(int, words[1].split("/"))
        world.committed.append((term, index))


Watch = Callable[[Event, World], Broken | None]


def _two_leaders(event: Event, world: World) -> Broken | None:
    if event.kind == "leads":
        other = world.leaders.get(int(event.words[2]), event.words[1])
        if other != event.words[1]:
            why = f"{other} and {event.words[1]} both lead in term {event.words[2]}"
            return Broken(event.step, why, "two-leaders")
    if event.kind == "votes":
        voter, candidate, term = event.words[1], event.words[2], int(event.words[3])
        other = world.votes.get((voter, term), candidate)
        if other != candidate:
            why = f"in term {term} {voter} voted for {other}, and for {candidate}"
            return Broken(event.step, why, "two-votes")
    return None


def _no_leader(event: Event, world: World) -> Broken | None:
    if event.kind == "unsettled":
        why = f"a majority is connected, nothing gets lost, and after {event.words[1]} ticks nobody leads all of them"
        return Broken(event.step, why, "no-leader")
    return None


def _unrest(event: Event, world: World) -> Broken | None:
    if event.kind == "asks" and world.calm and not world.is_lossy and event.words[1] in world.side(world.calm):
        why = f"{world.calm} leads, nothing is disturbed, and {event.words[1]} asks for votes in term {event.words[2]}"
        return Broken(event.step, why, "unrest")
    return None


def _by_a_minority(event: Event, world: World) -> Broken | None:
    if event.kind == "leads" and world.size > 1 and (event.words[1], int(event.words[2])) not in world.asked:
        why = f"{event.words[1]} leads in term {event.words[2]}, and has asked nobody for a vote"
        return Broken(event.step, why, "own-vote")
    if event.kind == "leads" and world.since.get(event.words[1]) == int(event.words[2]):
        side = world.side(event.words[1])
        if 2 * len(side) <= world.size:
            who, term = event.words[1:3]
            why = f"{who} became the leader of term {term}; it can reach {len(side)} of {world.size}, itself included"
            cause = "half" if 2 * len(side) == world.size else "minority"
            return Broken(event.step, why, cause)
    return None


def _without_what_counts(event: Event, world: World) -> Broken | None:
    if event.kind == "leads":
        index, term = map(int, event.words[3].split("/"))
        for committed_term, committed in world.committed:
            if (term, index) < (committed_term, committed):
                why = (
                    f"{event.words[1]} leads in term {event.words[2]} with last entry {index} of term {term}; "
                    f"entry {committed} of term {committed_term} was committed, and is lost now"
                )
                return Broken(event.step, why, "loses-entries")
    return None


def watches(*all_of: Watch) -> Callable[[Sequence[Step]], Broken | None]:
    """The judge that several watches make."""

    def judge(steps: Sequence[Step]) -> Broken | None:
        for event, world in events(steps):
            for watch in all_of:
                if found := watch(event, world):
                    return found
        return None

    return judge


# -- scripts ---------------------------------------------------------------------------------------


def silence(rng: random.Random) -> list[Op]:
    ops: list[Op] = [("group", rng.choice("235"), str(rng.randrange(10_000)))]
    for _ in range(rng.randint(2, 5)):
        ops += [("tick", str(rng.randint(1, 9)))] * rng.randint(1, 5)
        ops.append(rng.choice([("restart",), ("tick", "40")]))
    return [*ops, ("tick", "60")]


def long_silence(rng: random.Random) -> list[Op]:
    return [("group", "3", str(rng.randrange(10_000))), ("tick", "800")]


def other_dice(rng: random.Random) -> list[Op]:
    """Twelve starts with ten streams of dice."""
    seeds = [str(seed) for seed in rng.sample(range(10_000), 10)]
    return [op for seed in (*seeds, *rng.sample(seeds, 2)) for op in (("group", "3", seed), ("tick", "20"))]


def dice(rng: random.Random) -> list[Op]:
    return rng.choice((long_silence, other_dice))(rng)


def small_talk(rng: random.Random) -> list[Op]:
    """Heartbeats, requests and silence: what starts the timer anew?"""
    term = 1
    ops: list[Op] = [("group", "5", str(rng.randrange(10_000))), ("log", "2", "1"), ("heartbeat", "n2", "1")]
    for _ in range(rng.randint(12, 24)):
        ops.append(("tick", str(rng.randint(3, 9))))
        kind = rng.choice(("good-heartbeat", "old-heartbeat", "good-ask", "refused", "refused", "restart"))
        if kind == "good-heartbeat":
            term += rng.randrange(2)
            ops.append(("heartbeat", "n2", str(term)))
        elif kind == "old-heartbeat":
            ops.append(("heartbeat", "n3", str(max(0, term - 1))))
        elif kind == "good-ask":
            term += 1
            ops.append(("ask", rng.choice(OTHERS), str(term), "9", "9"))
        elif kind == "refused":
            ops.append(("ask", rng.choice(OTHERS), str(term), "1", "1"))
        else:
            ops.append(("restart",))
    return ops


def after_refusals(rng: random.Random) -> list[Op]:
    """Two silences, cut into pieces by what must not count."""
    ops: list[Op] = [("group", "5", str(rng.randrange(10_000))), ("log", "4", "2"), ("heartbeat", "n2", "7")]
    left = 45
    while left > 0:
        ticks = rng.randint(2, 7)
        left -= ticks
        ops.append(("tick", str(ticks)))
        term = str(rng.choice((6, 7, 7)))
        who = rng.choice(OTHERS)
        ops.append(rng.choice([("ask", who, term, "3", "2"), ("heartbeat", who, "6"), ("ask", who, "7", "1", "1")]))
    return ops


GOOD_LOGS = (("0", "0"), ("0", "0"), ("3", "1"), ("1", "2"))


def requests(rng: random.Random) -> list[Op]:
    """Who asks in which term, with a log that is good enough. In between a leader speaks or some time passes, so little
    that n1 stays a follower."""
    term, quiet = 0, 0
    ops: list[Op] = []
    for _ in range(rng.randint(8, 20)):
        newer = rng.choice((0, 0, 0, 1, 2))
        term += newer
        if newer:
            quiet = 0
        elif rng.random() < 0.3 and quiet < SOONEST - 1:
            ticks = rng.randint(1, SOONEST - 1 - quiet)
            quiet += ticks
            ops.append(("tick", str(ticks)))
        if rng.random() < 0.2:
            ops.append(("heartbeat", "n4", str(term)))
        asked = max(0, term - rng.choice((0, 0, 0, 1)))
        ops.append(("ask", rng.choice(OTHERS[:3]), str(asked), *rng.choice(GOOD_LOGS)))
    return ops


def requests_in_a_new_term(rng: random.Random) -> list[Op]:
    """Each request is the first of its term, so the log alone decides."""
    mine = rng.randint(1, 3), rng.randint(1, 5)  # term, index
    ops: list[Op] = [("group", "5", "1"), ("log", str(mine[1]), str(mine[0]))]
    term = 4
    for _ in range(rng.randint(8, 16)):
        term += 1
        last = rng.choice([mine, (mine[0] + rng.randint(-1, 1), max(1, mine[1] + rng.randint(-2, 2)))])
        ops.append(("ask", rng.choice(OTHERS), str(term), str(last[1]), str(last[0])))
        if rng.random() < 0.3:
            mine = mine[0] + rng.randrange(2), mine[1] + 1
            ops.append(("log", str(mine[1]), str(mine[0])))
    return ops


def past_and_present(rng: random.Random) -> list[Op]:
    ops = requests(rng)
    for number, op in enumerate(ops):
        if op[0] == "ask" and rng.random() < 0.4:
            ops[number] = ("heartbeat", *op[1:3])
    return [*ops, ("tick", "25"), ("ask", "n2", "0", "9", "9"), ("heartbeat", "n3", "0")]


def conversation(rng: random.Random) -> list[Op]:
    """Everything, around the terms that n1 goes through."""
    ops: list[Op] = [("group", rng.choice("345"), str(rng.randrange(10_000)))]
    term = 0
    for _ in range(rng.randint(10, 25)):
        who = rng.choice(OTHERS[: int(ops[0][1]) - 1])
        kind = rng.choice(("tick", "votes", "votes", "ask", "heartbeat", "reply", "jump"))
        if kind == "tick":
            ops.append(("tick", "20"))
            term += 1
        elif kind == "votes":
            ops += [("tick", "20"), *[("vote", other, str(term + 1), "yes") for other in OTHERS[:2]]]
            term += 1
        elif kind == "ask":
            ops.append(("ask", who, str(term + rng.choice((0, 1, 2))), "0", "0"))
        elif kind in ("heartbeat", "reply"):
            ops.append((kind, who, str(max(0, term + rng.choice((0, 0, 1, 3))))))
        else:
            term += rng.randint(1, 3)
            ops.append(("vote", who, str(term), rng.choice(("yes", "no"))))
    return ops


def ballots(rng: random.Random) -> list[Op]:
    """Elections one after the other, each with votes of all sorts."""
    size = rng.randint(2, 5)
    ops: list[Op] = [("group", str(size), str(rng.randrange(10_000)))]
    term = 0
    for _ in range(rng.randint(2, 4)):
        ops += [("heartbeat", "n2", str(term)), ("tick", "9"), *[("tick",)] * 10]
        term += 1
        for _ in range(rng.randint(1, 2 * size)):
            voter = rng.choice(OTHERS[: size - 1])
            heard = str(max(0, term - (rng.random() < 0.2)))
            ops.append(("vote", voter, heard, "yes" if rng.random() < 0.7 else "no"))
        ops.append(("tick", "2"))
        term += 1
    return ops


def crashes(rng: random.Random) -> list[Op]:
    ops = requests(rng)
    for number in range(len(ops), 0, -1):
        if rng.random() < 0.4:
            ops.insert(number, ("restart",))
    spot = rng.randrange(len(ops))
    silent: list[Op] = [("tick", "22"), ("restart",), ("ask", "n3", "1", "0", "0"), ("tick", "22")]
    return ops[:spot] + silent + ops[spot:]


def healthy(rng: random.Random) -> list[Op]:
    return [
        ("group", rng.choice("1234567"), str(rng.randrange(10_000))),
        ("settle",),
        *[("run", str(rng.randint(5, 40)))] * 4,
    ]


def leaders_leave(rng: random.Random) -> list[Op]:
    size = rng.choice((3, 4, 5, 7))
    ops: list[Op] = [("group", str(size), str(rng.randrange(10_000))), ("settle",)]
    for _ in range(rng.randint(2, 4)):
        ops.append(rng.choice([("split", "leader"), ("crash", "leader")]))
        ops += [("settle",), ("run", "30")]
        ops += [("heal",), *[("restart", f"n{number}") for number in range(1, size + 1)], ("settle",), ("run", "20")]
    return ops


def minorities(rng: random.Random) -> list[Op]:
    size = rng.choice((2, 3, 4, 5))
    names = [f"n{number}" for number in range(1, size + 1)]
    ops: list[Op] = [("group", str(size), str(rng.randrange(10_000))), ("settle",)]
    for _ in range(2):
        few = rng.sample(names, size // 2)
        ops += [("split", *few), ("run", "40"), ("run", "40"), ("heal",), ("settle",)]
    return ops


def many(rng: random.Random) -> list[Op]:
    """Ten partitions of seven nodes, as MIT's suite has them."""
    names = [f"n{number}" for number in range(1, 8)]
    ops: list[Op] = [("group", "7", str(rng.randrange(10_000))), ("settle",)]
    for _ in range(8):
        ops += [("split", *rng.sample(names, 3)), ("settle",), ("run", "10")]
    return [*ops, ("heal",), ("settle",), ("run", "30")]


def writing(rng: random.Random) -> list[Op]:
    """Leaders with commands, cut off and crashed, so that logs differ."""
    size = rng.choice((3, 5))
    names = [f"n{number}" for number in range(1, size + 1)]
    ops: list[Op] = [("group", str(size), str(rng.randrange(10_000))), ("settle",)]
    for _ in range(rng.randint(3, 6)):
        ops += [("write",)] * rng.randint(1, 2)
        ops.append(("run", str(rng.choice((1, 4, 8)))))
        away = rng.choice([("split", "leader"), ("crash", "leader"), ("split", *rng.sample(names, size // 2))])
        ops += [away, ("write",), ("settle",), ("write",), ("run", "6"), ("heal",)]
        ops += [("restart", name) for name in names]
    return [*ops, ("settle",), ("write",), ("run", "10")]


def rough(rng: random.Random) -> list[Op]:
    """Loss, delay, crashes and partitions; in the end everything is repaired."""
    size = rng.choice((3, 5))
    names = [f"n{number}" for number in range(1, size + 1)]
    loss, slowest = str(rng.choice((10, 30))), str(rng.choice((1, 3, 6)))
    ops: list[Op] = [("group", str(size), str(rng.randrange(10_000))), ("net", loss, slowest)]
    for _ in range(rng.randint(5, 10)):
        ops.append(("run", str(rng.randint(5, 40))))
        ops.append(
            rng.choice(
                [
                    ("crash", rng.choice((*names, "leader"))),
                    ("restart", rng.choice(names)),
                    ("restart", rng.choice(names)),
                    ("split", *rng.sample(names, rng.randint(1, size - 1))),
                    ("heal",),
                    ("write",),
                ]
            )
        )
    return [*ops, ("net", "0", "1"), ("heal",), *[("restart", name) for name in names], ("run", "10"), ("settle",),
            ("run", "20")]  # fmt: skip


SEVEN = " ".join(["group 7 3; settle;", *(f"split n{a} n{b} n{c}; settle; run 10;" for a, b, c in
                                          ("123", "345", "567", "712", "246", "135"))])  # fmt: skip
TEN = "; ".join(f"group 3 {seed}; tick 20" for seed in (*range(17, 27), 17, 18))
PLAIN = "Read the schedule from the last line upwards: what did n1 know before that step?"
SAVE = [
    "What does this node know after the crash? Only what was on its disk.",
    "Every change of term or vote goes to the disk before anybody hears of it: before return.",
    "There are three places: a newer term, your own candidacy, a vote given.",
]
OWN_VOTE = [
    "It has voted for itself, and leads. Its own vote counts; how many more does it need?",
    "How many are more than half of three? The group is the others and you: 2 * votes > len(others) + 1.",
]
QUIET = {
    "kept-quiet": [
        "One node with an old log asks and asks, and never wins. Whom does it keep from asking?",
        "Only a vote that is given starts the timer anew; a no does not.",
    ],
    "old-heartbeat": [
        "A leader that was cut off goes on speaking in its old term. May it hold up the new election?",
        "In on_heartbeat: look at the term first, then at the timer.",
    ],
    "either": [
        "Neither a request that is refused nor a leader of the past may start the timer anew. Which one does?",
        "Replay the schedule without one of the two steps.",
        "In on_heartbeat: look at the term first, then at the timer. In on_request_vote: restart it with a yes only.",
    ],
}
VOTES: dict[str, list[str]] = {
    "refuses": [
        "Which of your conditions refuses this candidate? Go through figure 2, RequestVote, with the numbers shown.",
        "A vote belongs to a term. What becomes of it when a newer term begins?",
        "voted_for is None again as soon as the term grows.",
    ],
    "refuses-equals": [
        "Equal logs are at least as up to date. Which comparison do you use?",
        "At the first start all logs are empty: with > instead of >= nobody would ever win.",
    ],
    "by-length": [
        "Which log is newer: the longer one, or the one whose last entry has the later term?",
        "Compare the last terms first; the lengths only if these are equal. Tuples compare like that.",
    ],
    "keeps-its-vote": [
        "It voted in an earlier term. Does that bind it in this one?",
        "A new term begins without a vote, by whichever message n1 learns of it: voted_for is None.",
    ],
    "keeps-its-term": [
        "Whoever hears of a newer term takes it first, and is a follower in it. Then look at the rest.",
    ],
    "not-again": [
        "The answer got lost, and the candidate asks again. Would a second yes do harm?",
        "Refuse if voted_for is somebody else: voted_for not in (None, candidate).",
    ],
}

LAB = LabSpec(
    title="Raft: elections",
    question="The leader is gone, five nodes can talk to each other, and nobody may decide alone. How do they agree on "
    "the next one, without ever having two?",
    names={"Node": "class"},
    forbidden=("k8slab.raft", "k8slab.etcd"),
    minutes=75,
    checks=(
        Check(
            "asks-when-silent",
            "After 10 to 19 silent ticks a node asks for votes, and again and again",
            1,
            times_out,
            {"one": "tick 9; tick; tick 10", "three": "tick 60", "after a crash": "tick 8; restart; tick 20"},
            silence,
            {
                "waits-for-ever": [
                    "Who counts the ticks, and what is the count compared with?",
                    "silence grows by one in each tick; when it reaches the timeout, become a candidate.",
                    "A candidate is silent too: it goes on counting, and asks again in another term.",
                ],
                "too-late": [
                    "The draw is 10 to 19. In which tick after it does your node ask: when the count reaches it?",
                    "self.silence >= self.timeout, and silence starts from 0.",
                ],
                "too-soon": [
                    "How many ticks had passed since the last election? A new one begins a new silence.",
                    "randrange(10, 20) gives 10 to 19; restart_timer belongs into become_candidate too.",
                ],
                "own-vote": OWN_VOTE,
                "": [PLAIN],
            },
            setting="node",
        ),
        Check(
            "every-silence-differs",
            "How long a node bears silence is drawn anew for each election",
            2,
            differs,
            {"in a row": "tick 600", "other dice": TEN},
            dice,
            {
                "no-dice": [
                    "If all nodes wait equally long, all ask at the same time, and nobody has a vote left.",
                    "Drawing once is not enough: two nodes that drew the same would split every vote.",
                    "Draw in restart_timer, not in __init__: self.rng.randrange(10, 20).",
                    "Names, terms and counters are no dice: two nodes in step stay in step.",
                ],
                "other-dice": [
                    "The group was started twice, and rng gave the same numbers. Where do yours come from?",
                    "Draw from self.rng, the stream you were given: then a schedule runs the same way each time.",
                ],
                "narrow": ["10 to 19, each as likely as the others. Which numbers can your draw give?"],
                "own-vote": OWN_VOTE,
                "": ["First: does it ask at all, and not before 10 or after 19 ticks?"],
            },
            public=2,
            hidden=4,
            setting="node",
        ),
        Check(
            "hears-the-leader",
            "A leader's heartbeat, and a vote given, start the silence anew",
            1,
            times_out,
            {
                "heartbeat": "heartbeat n2 1; tick 8; heartbeat n2 1; tick 9; tick 11",
                "a vote": "tick 8; ask n2 5 9 9; tick 9; tick 11",
            },
            small_talk,
            {
                "deaf-to-heartbeats": [
                    "The leader spoke. What did your node do with its count?",
                    "on_heartbeat, if the term is not of the past: restart_timer.",
                ],
                "votes-and-asks": [
                    "It has just given its vote. Should it not wait and see whether that candidate wins?",
                    "restart_timer where on_request_vote says yes.",
                ],
                **QUIET,
                "own-vote": OWN_VOTE,
                "": [PLAIN],
            },
            setting="node",
        ),
        Check(
            "refusals-do-not-count",
            "A request that is refused, and a leader of the past, leave the silence as it is",
            2,
            not_by_refusals,
            {
                "refused": "log 4 2; heartbeat n2 7; tick 8; ask n3 7 1 1; tick 8; ask n3 7 1 1; tick 8",
                "of the past": "heartbeat n2 7; tick 8; heartbeat n3 6; tick 8; heartbeat n3 6; tick 8",
            },
            after_refusals,
            {
                "votes": ["First the votes: the next checks say which of them are refused."],
                **QUIET,
                "own-vote": OWN_VOTE,
                "": [PLAIN],
            },
            setting="node",
        ),
        Check(
            "asks-rightly",
            "A candidate is in a new term, has its own vote, and tells its last entry",
            1,
            asks_rightly,
            {
                "two terms": "log 5 2; tick 20; tick 20",
                "its own vote": "tick 20; ask n2 1 0 0; tick 20; ask n3 2 0 0",
                "a longer log": "log 5 2; heartbeat n2 3; log 6 3; tick 20",
            },
            lambda rng: [*silence(rng), ("ask", "n2", "1", "9", "9"), ("log", "3", "1"), ("tick", "20")],
            {
                "same-term": ["An election is for a new term: self.term + 1, each time."],
                "skips-terms": ["One more than the term it was in. What else adds to your term?"],
                "other-entry": [
                    "The log changes without you: read log.last_index and log.last_term when you ask.",
                    '("request_vote", term, last_index, last_term): is that the order of yours?',
                ],
                "not-its-own": [
                    "Whom did it vote for in this term? A candidate votes for itself.",
                    "In become_candidate: voted_for is me.",
                ],
                "no-candidate": ["What is role after the request went out?"],
                "own-vote": OWN_VOTE,
                "": [PLAIN],
            },
            setting="node",
        ),
        Check(
            "one-vote-a-term",
            "In one term a node votes for one candidate, the first that may have its vote",
            2,
            one_vote,
            {
                "two ask": "ask n2 1 0 0; ask n3 1 0 0",
                "twice the same": "ask n2 1 0 0; ask n2 1 0 0",
                "two terms": "ask n2 1 0 0; ask n3 2 0 0; ask n2 2 0 0",
                "a newer log": "ask n2 3 0 0; ask n3 3 1 2",
                "the leader speaks": "ask n2 3 0 0; heartbeat n2 3; ask n3 3 0 0",
                "much later": "ask n2 3 0 0; tick 9; ask n3 3 0 0",
            },
            requests,
            {
                "two-votes": [
                    "Two candidates with this node's vote in one term: can both have a majority?",
                    "Remember whom you voted for, and compare: voted_for is None, or this candidate.",
                    "A vote is for the whole term. Only a newer term ends it: no heartbeat, no time, no better log.",
                ],
                **VOTES,
            },
            setting="node",
        ),
        Check(
            "newer-logs-only",
            "It votes for nobody who knows less: last terms decide, then lengths",
            2,
            up_to_date,
            {
                "older": "log 5 2; ask n2 3 4 1",
                "shorter": "log 5 2; ask n2 3 4 2",
                "longer, but old": "log 5 2; ask n2 3 9 1",
                "shorter, but new": "log 5 2; ask n2 3 1 3",
                "as long": "log 5 2; ask n2 3 5 2",
            },
            requests_in_a_new_term,
            {
                "ignores-the-log": [
                    "What would the new leader do with the entries that it has not?",
                    "Figure 2: candidate's log is at least as up-to-date as receiver's log (§5.4.1).",
                    "(last_term, last_index) >= (self.log.last_term, self.log.last_index)",
                ],
                "shorter": ["The last terms are equal. Then the longer log is the newer one."],
                **VOTES,
            },
            setting="node",
        ),
        Check(
            "refuses-the-past",
            "Who speaks of an older term gets no vote, and hears of the newer one",
            1,
            refuses_the_past,
            {
                "request": "ask n2 3 0 0; ask n3 2 9 9",
                "heartbeat": "ask n2 3 0 0; heartbeat n3 2",
                "to a leader": "tick 20; vote n2 1 yes; ask n2 5 0 0; heartbeat n3 1",
            },
            past_and_present,
            {
                "knows-no-past": ["What is the term of your node after it heard of a newer one?"],
                "votes-in-the-past": ["RequestVote, rule 1: reply false if term < currentTerm."],
                "other-term": ["The answer carries your own term: that is how the other one learns of it."],
                "follows-the-past": [
                    "Who leads in an old term leads nobody.",
                    "become_follower only if the term is at least as new as yours.",
                ],
                **VOTES,
            },
            setting="node",
        ),
        Check(
            "newer-terms-win",
            "Whoever hears of a newer term takes it, and is a follower in it",
            2,
            takes_newer_terms,
            {
                "a request": "ask n2 3 0 0",
                "a candidate": "tick 20; heartbeat n2 4",
                "a leader of its term": "tick 20; heartbeat n2 1",
                "a leader, by a reply": "tick 20; vote n2 1 yes; reply n3 4",
                "a candidate, by a vote": "tick 20; vote n2 4 no",
                "with an old log": "log 5 2; ask n2 3 1 1",
                "no newer one": "tick 20; vote n2 1 yes; ask n3 1 0 0",
                "and has no vote in it": "tick 20; vote n2 1 yes; reply n2 5; ask n3 5 9 9",
                "a candidate has none either": "tick 20; vote n2 5 no; ask n3 5 9 9",
            },
            conversation,
            {
                **VOTES,
                "keeps-its-term": [
                    "Rules for all servers: if a request or an answer has a newer term, set yours to it. Which of the "
                    "four on_… methods forgets that?",
                    "A refusal does not change it: a candidate with an old log still brings a newer term.",
                ],
                "keeps-its-role": ["A newer term has another leader, or none yet: role is follower."],
                "answers-old": ["Take the newer term first, then answer."],
                "no-follower": ["Somebody won the election you stand in: in on_heartbeat, an equal term counts too."],
                "gives-up": [
                    "Another candidate stands in the same term. Is that a reason to give up?",
                    "Only a newer term is, or a leader of this one: term > self.term.",
                ],
                "back": ["Terms only grow. Where is yours set to something smaller?"],
            },
            setting="node",
        ),
        Check(
            "majority-leads",
            "With the votes of more than half of the group a candidate leads; with fewer it does not",
            2,
            majority_leads,
            {
                "three": "group 3; tick 20; vote n2 1 yes",
                "five": "group 5; tick 20; vote n2 1 yes; vote n3 1 yes",
                "four": "group 4; tick 20; vote n2 1 yes; vote n3 1 yes",
                "the same twice": "group 5; tick 20; vote n2 1 yes; vote n2 1 yes",
                "refusals": "group 3; tick 20; vote n2 1 no; vote n3 1 no",
                "an old vote": "group 3; tick 20; tick 20; vote n2 1 yes",
                "too late": "group 3; tick 20; heartbeat n3 1; vote n2 1 yes",
                "alone": "group 1; tick 20",
            },
            ballots,
            {
                "counts-twice": [
                    "A network may deliver a message twice. How many voters is that?",
                    "Keep a set of names, not a number.",
                ],
                "counts-refusals": ["granted says yes or no. Which one counts?"],
                "counts-old-votes": [
                    "That vote was for an election that is over.",
                    "A vote counts if its term is the one you stand in.",
                ],
                "too-few": [
                    "How many are more than half of four? And of five?",
                    "The group is the others and you: 2 * votes > len(others) + 1.",
                ],
                "own-vote": OWN_VOTE,
                "too-many": ["Your own vote counts too: it is there from the start of the election."],
                "uninvited": ["Only a candidate can win. What was its role when the vote came?"],
                "alone": ["A group of one: after voting for itself it has a majority. Who notices, and when?"],
                "": [PLAIN],
            },
            setting="node",
        ),
        Check(
            "leader-speaks",
            "A leader speaks at once and in every tick; nobody else does",
            1,
            leader_speaks,
            {
                "at once": "tick 20; vote n2 1 yes; tick 3; tick 40",
                "until it is none": "tick 20; vote n2 1 yes; tick 2; reply n3 5; tick 5",
            },
            conversation,
            {
                "own-vote": OWN_VOTE,
                "says-nothing": ["The others may be about to lose patience. Return the first heartbeat from on_vote."],
                "falls-silent": ['tick of a leader returns ("heartbeat", term), each time.'],
                "asks-as-leader": ["Does a leader count the silence? Whose?"],
                "not-its-place": ["What decides in tick who speaks: the role now, or that it led once?"],
                "other-term": ["The heartbeat says the term in which you lead."],
                "": [PLAIN],
            },
            setting="node",
        ),
        Check(
            "survives-a-crash",
            "After a crash it knows its term, and whom it voted for",
            2,
            survives_a_crash,
            {
                "its vote": "ask n2 3 0 0; restart; ask n3 3 0 0",
                "its own vote": "tick 20; restart; ask n3 1 0 0",
                "its term": "heartbeat n2 7; restart; tick 20",
                "a refusal": "log 5 2; ask n2 7 1 1; restart; tick 20",
                "the same again": "ask n2 3 0 0; restart; ask n2 3 0 0",
                "no vote in a newer term": "ask n2 3 0 0; heartbeat n4 5; restart; ask n3 5 0 0",
            },
            crashes,
            {
                "forgets-its-vote": SAVE,
                "forgets-its-term": SAVE,
                "unsaved": [
                    "Where is this kept? Of all that a node has, only what disk.save wrote survives a crash.",
                    *SAVE,
                ],
                **VOTES,
                "keeps-its-vote": [
                    "A newer term has no vote. What did your node save when it entered that term?",
                    "First voted_for = None, then disk.save: the order of these two lines counts.",
                ],
                "": [PLAIN],
            },
            setting="node",
        ),
        Check(
            "first-leader",
            "A group that is left alone has one leader soon, and keeps it",
            1,
            watches(_two_leaders, _no_leader, _unrest),
            {"three": "group 3 1; settle; run 60", "five": "group 5 1; settle; run 60"},
            healthy,
            {
                "no-leader": [
                    "Who asked when, and who had a vote left? Step through the schedule.",
                    "If all ask in the same tick, again and again: is each timeout drawn anew?",
                ],
                "unrest": ["The leader speaks in every tick. Who does not hear it, or does not count it?"],
                "": ["Two yes in one term: run the checks of a single node first, they say it in fewer words."],
            },
            public=4,
            hidden=8,
            setting="group",
        ),
        Check(
            "re-election",
            "When the leader is cut off or crashes there is another; when it returns it follows",
            1,
            watches(_two_leaders, _no_leader, _unrest),
            {
                "cut off": "group 3 2; settle; split leader; settle; run 20; heal; settle; run 20",
                "crashed": "group 3 2; settle; crash leader; settle; run 20; restart n1; restart n2; restart n3; "
                "settle",
                "both": "group 5 4; settle; split leader; settle; crash leader; settle; heal; settle; run 20",
            },
            leaders_leave,
            {
                "no-leader": [
                    "The old leader returns with its old term. What tells it that it is over?",
                    "A node that asked alone for long returns with a high term: does the group take it over?",
                ],
                "": [PLAIN],
            },
            public=4,
            hidden=8,
            setting="group",
        ),
        Check(
            "no-leader-in-a-minority",
            "Who can reach half of the group or less does not become leader",
            1,
            watches(_two_leaders, _no_leader, _by_a_minority),
            {
                "one of three": "group 3 1; settle; split n1; run 60; heal; settle; run 20",
                "two of five": "group 5 1; settle; split n1 n2; run 60; heal; settle; run 20",
                "two and two": "group 4 1; settle; split n1 n2; run 60; heal; settle; run 20",
            },
            minorities,
            {
                "own-vote": OWN_VOTE,
                "half": [
                    "Two halves of four nodes: if two were enough, both halves would have a leader.",
                    "The group is the others and you: 2 * votes > len(others) + 1.",
                ],
                "minority": ["More than half of the group, not of those who answer."],
                "": [PLAIN],
            },
            public=4,
            hidden=8,
            setting="group",
        ),
        Check(
            "many-elections",
            "Through any number of partitions: one leader a term, and always one in the end",
            1,
            watches(_two_leaders, _no_leader, _unrest, _by_a_minority),
            {"seven nodes": SEVEN},
            many,
            {"": [PLAIN, "The checks of a single node show the same mistake in fewer steps."]},
            public=3,
            hidden=6,
            setting="group",
        ),
        Check(
            "keeps-what-is-committed",
            "Whoever leads has every entry that a majority had agreed on",
            2,
            watches(_without_what_counts, _no_leader),
            {
                "one was away": "group 3 1; settle; split n1; settle; write; run 4; heal; crash leader; settle; run 10",
                "one was away too": "group 3 1; settle; split n2; settle; write; run 4; heal; crash leader; settle",
                "and the third": "group 3 1; settle; split n3; settle; write; run 4; heal; crash leader; settle",
            },
            writing,
            {
                "loses-entries": [
                    "A majority has the entry, a majority voted for the new leader. At least one voter is in both. "
                    "What should it have said?",
                    "Compare the logs before you vote: last terms first, then lengths.",
                ],
                "": [PLAIN],
            },
            public=4,
            hidden=8,
            setting="group",
        ),
        Check(
            "rough-network",
            "Loss, delay, crashes, partitions: never two leaders in a term, and one when all is repaired",
            2,
            watches(_two_leaders, _no_leader, _by_a_minority, _without_what_counts),
            {
                "all at once": "group 3 1; net 20 4; run 30; crash n1; restart n1; run 20; crash n2; restart n2; "
                "run 20; net 0 1; settle; run 20",
            },
            rough,
            {
                "two-votes": [*SAVE],
                "two-leaders": [*SAVE],
                "": [PLAIN, "Which message arrived late, or twice, or from a term that is over?"],
            },
            public=5,
            hidden=10,
            setting="group",
        ),
    ),
)
