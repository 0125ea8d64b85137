"""Lab 01: idle solutions earn nothing, wrong answers are named, and the group of `drive.py` does what it says."""

from __future__ import annotations

import pytest

from k8slab.lab import find_lab, parse_script, replay
from k8slab.lab.inside import hint_for
from k8slab.lab.show import recognised
from tests.labs.taken import Taken

LAB = find_lab("01")
TAKEN = Taken(LAB)
judged, changed = TAKEN.judged, TAKEN.changed
answers = TAKEN.answers


IDLE = """
class Node:
    def __init__(self, me, others, log, disk, rng):
        self.role, self.term = "follower", 0
    def tick(self): return None
    def on_request_vote(self, candidate, term, last_index, last_term): return {answer}
    def on_vote(self, voter, term, granted): return None
    def on_heartbeat(self, leader, term): return 0
    def on_heartbeat_reply(self, follower, term): pass
"""

LAZY = {
    "does nothing": IDLE.format(answer="0, False"),
    "votes for everybody": IDLE.format(answer="term, True"),
    "refuses everybody": IDLE.format(answer="term, False"),
    "an empty class": "class Node:\n    pass\n",
    "raises": IDLE.format(answer="1 / 0"),
}


@pytest.mark.parametrize("code", LAZY.values(), ids=LAZY)
def test_a_lazy_solution_earns_nothing(code: str) -> None:
    assert judged(code).points == 0


def test_who_leads_without_an_election_is_found_out() -> None:
    code = LAB.solution + "\n\nNode.role = property(lambda self: 'leader', lambda self, role: None)\n"
    for name in ("asks-when-silent", "majority-leads", "leader-speaks"):
        assert judged(code, only=[name]).results[0].causes[0] == "uninvited"


WRONG = {
    "a list for a tuple": (
        'return "heartbeat", self.term\n        self.silence', 'return ["heartbeat", self.term]\n        self.silence',
        "leader-speaks", "tick() returned ['heartbeat', 1], expected None, ('request_vote', term, last_index,",
    ),
    "a field is missing": (
        'return "request_vote", self.term, self.log.last_index, self.log.last_term',
        'return "request_vote", self.term', "asks-when-silent",
        "expected ('request_vote', term, last_index, last_term) with whole numbers",
    ),
    "an answer without a term": (
        "return self.term, True", "return True", "one-vote-a-term", "expected (term, True) or (term, False)",
    ),
    "no answer to a heartbeat": (
        "            self.restart_timer()\n        return self.term", "            self.restart_timer()",
        "refuses-the-past", "on_heartbeat returned a NoneType, expected its term, a whole number",
    ),
    "another word for a role": (
        'self.role = "candidate"', 'self.role = "Candidate"', "asks-rightly",
        "role is 'Candidate', expected 'follower', 'candidate' or 'leader'",
    ),
    "a vote on the disk that is no name": (
        "self.voted_for = candidate", "self.voted_for = [candidate]", "survives-a-crash",
        "disk.save: voted_for: expected str, found list",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "check", "said"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_named(old: str, new: str, check: str, said: str) -> None:
    result = judged(changed(old, new), only=[check]).results[0]
    assert said in result.reason


def test_two_votes_are_told_with_their_names() -> None:
    mutant = next(mutant for mutant in LAB.mutants() if mutant.name == "votes-twice")
    assert judged(mutant.code, only=["one-vote-a-term"]).results[0].reason == (
        "in term 1 n1 voted for n2, and now for n3"
    )


def test_a_restarted_node_has_what_it_saved_and_nothing_else() -> None:
    code = changed(
        "        self.votes = set()\n", "        self.votes = set()\n        assert not hasattr(self, 'x')\n"
    )
    code = code.replace('        self.role = "candidate"\n', '        self.role = "candidate"\n        self.x = 1\n')
    said = answers("survives-a-crash", "ask n2 3 0 0; restart; ask n3 3 0 0; tick 19; restart", code)
    assert said[:3] == ["yes 3; saves 3 n2; follower 3", "follower 3", "no 3; follower 3"]
    assert said[4] == "follower 4"


def test_what_is_new_on_the_disk_is_told() -> None:
    said = answers("survives-a-crash", "ask n2 3 0 0; ask n2 3 0 0; heartbeat n4 5; tick 19; restart")
    assert said[0] == "yes 3; saves 3 n2; follower 3"
    assert said[1] == "yes 3; follower 3"
    assert said[2] == "term 5; saves 5 nobody; follower 5"
    assert str(said[3]).endswith("; saves 6 n1; candidate 6")
    assert said[4] == "follower 6"


@pytest.mark.parametrize("given", ["disk", "log"])
def test_nothing_else_can_be_hung_on_what_a_node_is_given(given: str) -> None:
    code = changed(
        "        self.disk.save(self.term, self.voted_for)\n        self.votes",
        f"        self.{given}.stash = self.term, self.voted_for\n        self.votes",
    )
    reason = judged(code, only=["survives-a-crash"]).results[0].reason
    assert f"AttributeError: '{given.title()}' object has no attribute 'stash'" in reason


def test_each_start_has_a_disk_and_a_log_of_its_own() -> None:
    """A node that knows the two objects again finds no memory there."""
    code = changed(
        "        self.votes = set()\n",
        "        self.votes = set()\n"
        "        assert all(log is not one and disk is not other for one, other in SEEN)\n"
        "        SEEN.append((log, disk))\n",
    ).replace("class Node:", "SEEN = []\n\n\nclass Node:")
    alone = replay(LAB, code, LAB.spec.check("survives-a-crash"), parse_script("log 5 2; restart; ask n2 3 4 2"))
    assert alone.broken is None
    assert alone.record.steps[-1].result == "no 3; saves 3 nobody; follower 3"
    group = parse_script("group 3 1; settle; crash n1; restart n1")
    assert replay(LAB, code, LAB.spec.check("re-election"), group).broken is None


MAJORITY = "2 * len(self.votes) > len(self.others) + 1"
HALF_OF_THE_NUMBER = "len(self.votes) >= (len(self.others) + 1) // 2"
ASKS_IN_EVERY_TICK = "        self.votes = {self.me}\n        self.restart_timer()", "        self.votes = {self.me}"


def test_heartbeats_of_ticks_that_follow_each_other_are_told_as_one() -> None:
    """n1 leads from the vote on; in the tick after the reply it is a follower."""
    said = answers("leader-speaks", "tick 20; vote n2 1 yes; tick; tick 40; reply n3 5; tick 3")
    assert said[1:] == ["heartbeat 1 @0; leader 1", "heartbeat 1 @1; leader 1", "heartbeat 1 @1-40; leader 1",
                        "saves 5 nobody; follower 5", "follower 5"]  # fmt: skip


def test_a_leader_that_misses_a_tick_is_still_found_out() -> None:
    code = changed(
        '        if self.role == "leader":\n            return "heartbeat"',
        '        if self.role == "leader":\n            self.silence += 1\n            if self.silence % 7 == 0:\n'
        '                return None\n            return "heartbeat"',
    ).replace('        self.role = "leader"\n', '        self.role = "leader"\n        self.silence = 0\n')
    script = parse_script("tick 20; vote n2 1 yes; tick 40")
    broken = replay(LAB, code, LAB.spec.check("leader-speaks"), script).broken
    assert broken is not None and broken.cause == "falls-silent"
    assert broken.why == "n1 led for 40 ticks and sent 35 heartbeats"  # 40 // 7 are missing


@pytest.mark.parametrize(
    ("wrong", "cause", "reason"),
    [
        ((MAJORITY, HALF_OF_THE_NUMBER), "own-vote", "n1 leads with 1 of 3 votes, its own; 2 are a majority"),
        (ASKS_IN_EVERY_TICK, "too-soon", "n1 asks for votes 1 ticks after its last election; 10 to 19 is the rule"),
    ],
    ids=["a leader for 585 ticks", "a candidate in each of 590 ticks"],
)
def test_who_talks_in_every_tick_is_told_what_is_wrong_and_not_that_it_talks(
    wrong: tuple[str, str], cause: str, reason: str
) -> None:
    for script in ("tick 600", "group 3 1; tick 800"):
        broken = replay(LAB, changed(*wrong), LAB.spec.check("every-silence-differs"), parse_script(script)).broken
        assert broken is not None and (broken.cause, broken.why) == (cause, reason)


def mutant(name: str) -> str:
    return next(one.code for one in LAB.mutants() if one.name == name)


def test_of_two_steps_that_may_have_kept_it_quiet_both_are_named() -> None:
    script = "log 4 2; heartbeat n2 7; tick 8; heartbeat n3 6; tick 8; heartbeat n3 6; ask n4 7 1 1; tick 8"
    check = LAB.spec.check("hears-the-leader")
    broken = replay(LAB, mutant("the-past-restarts-the-timer"), check, parse_script(script)).broken
    assert broken is not None and broken.cause == "either"
    assert broken.why == (
        "20 ticks after a leader's heartbeat n1 is still a follower: a leader of the past (step 6) or a request "
        "that it refused (step 7) kept it quiet"
    )


@pytest.mark.parametrize(
    ("code", "cause", "looks_like"),
    [
        (mutant("half-is-enough"), "half", ""),
        (mutant("votes-by-majority-of-answers"), "minority", "Looks like 'votes-by-majority-of-answers'"),
        (changed(MAJORITY, HALF_OF_THE_NUMBER), "own-vote", ""),
    ],
    ids=["half of the group", "more than half of those who answer", "the half, rounded down"],
)
def test_minorities_of_three_kinds_are_told_apart(code: str, cause: str, looks_like: str) -> None:
    result = judged(code, only=["no-leader-in-a-minority"]).results[0]
    assert result.causes[0] == cause
    assert recognised(LAB, result).partition(":")[0] == looks_like


@pytest.mark.parametrize("wrong", [HALF_OF_THE_NUMBER, "2 * len(self.votes) >= len(self.others) + 1"])
def test_who_leads_with_its_own_vote_gets_a_hint_in_the_first_check_that_fails(wrong: str) -> None:
    report = judged(changed(MAJORITY, wrong), only=["asks-when-silent"])
    assert "its own; 2 are a majority" in report.results[0].reason
    assert "how many more does it need?" in hint_for(LAB, report, "asks-when-silent", 1)


def test_votes_are_counted_with_its_own_and_that_is_said() -> None:
    script = parse_script("group 4; tick 20; vote n2 1 yes")
    broken = replay(LAB, mutant("half-is-enough"), LAB.spec.check("majority-leads"), script).broken
    assert broken is not None
    assert broken.why == "n1 leads with 2 of 4 votes, its own included; 3 are a majority"


ETCD_RESET = (
    "            self.disk.save(self.term, self.voted_for)\n        self.role",
    "            self.disk.save(self.term, self.voted_for)\n            self.restart_timer()\n        self.role",
)


def test_a_newer_term_may_start_the_silence_as_in_etcd() -> None:
    """raft.go: `becomeFollower` calls `reset`, also for a MsgVote that is refused in the end."""
    script = "log 5 2; tick 9; ask n3 7 1 1; tick 9; ask n3 8 1 1; tick 9"
    for code in (LAB.solution, changed(*ETCD_RESET)):
        assert replay(LAB, code, LAB.spec.check("refusals-do-not-count"), parse_script(script)).broken is None
        assert judged(code).passed


BREAKS = {
    "a newer log in one term": (
        "a-newer-log-votes-again", "one-vote-a-term", "ask n2 3 0 0; ask n3 3 1 2", "two-votes",
    ),
    "a heartbeat between two requests": (
        "a-heartbeat-frees-its-vote", "one-vote-a-term", "ask n2 3 0 0; heartbeat n2 3; ask n3 3 0 0", "two-votes",
    ),
    "nine ticks between two requests": (
        "its-vote-expires", "one-vote-a-term", "ask n2 3 0 0; tick 9; ask n3 3 0 0", "two-votes",
    ),
    "told, and not on the disk": ("vote-not-saved", "survives-a-crash", "ask n2 3 0 0", "unsaved"),
    "a term that is told, and not on the disk": (
        "saves-nothing-of-a-newer-term", "survives-a-crash", "heartbeat n2 7", "unsaved",
    ),
    "a new term with an old vote": (
        "saves-the-old-vote", "survives-a-crash", "ask n2 3 0 0; heartbeat n4 5; restart; ask n3 5 0 0",
        "keeps-its-vote",
    ),
    "a new term from a reply": (
        "a-reply-leaves-its-vote", "newer-terms-win", "tick 20; vote n2 1 yes; reply n2 5; ask n3 5 9 9",
        "keeps-its-vote",
    ),
    "equal logs, and a vote in an earlier term": (
        "keeps-its-vote", "one-vote-a-term", "ask n2 1 0 0; ask n3 2 0 0", "keeps-its-vote",
    ),
    "equal logs, and an earlier vote for the same one": (
        "equal-logs-are-not-enough", "one-vote-a-term", "ask n2 1 0 1; ask n2 2 0 0", "refuses-equals",
    ),
    "a leader that stays in its term": (
        "keeps-its-term", "refuses-the-past", "tick 20; vote n2 1 yes; ask n2 5 0 0", "keeps-its-term",
    ),
    "the same start, other dice": (
        "dice-of-its-own", "every-silence-differs", "; ".join(["group 3 17; tick 20"] * 20), "other-dice",
    ),
    "other starts, the same dice": (
        "the-term-is-its-dice", "every-silence-differs", "; ".join(f"group 3 {n}; tick 20" for n in range(8)),
        "no-dice",
    ),
    "other terms, a ladder": ("the-term-is-its-dice", "every-silence-differs", "tick 200", "no-dice"),
    "three lengths of ten": ("three-timeouts-are-enough", "every-silence-differs", "tick 800", "narrow"),
}  # fmt: skip


@pytest.mark.parametrize(("mutant", "check", "script", "cause"), BREAKS.values(), ids=BREAKS)
def test_a_schedule_shows_the_mistake_by_its_name(mutant: str, check: str, script: str, cause: str) -> None:
    code = next(one.code for one in LAB.mutants() if one.name == mutant)
    broken = replay(LAB, code, LAB.spec.check(check), parse_script(script)).broken
    assert broken is not None and broken.cause == cause, broken
    assert replay(LAB, LAB.solution, LAB.spec.check(check), parse_script(script)).broken is None


def test_a_split_group_hears_nothing_across() -> None:
    """Two of five behind a cut: the three have a leader of a later term, the two keep theirs."""
    said = answers("re-election", "group 5 1; settle; split leader; settle; run 30; heal; settle")
    before, after, healed = str(said[1]), str(said[4]), str(said[6])
    old = before.split("settled ")[1].split()[0]
    assert f"{old}:L1" in before and f"{old}:L1" in after
    assert after.count(":L") == 2 and healed.count(":L") == 1


def test_without_a_majority_nobody_waits_for_a_leader() -> None:
    assert str(answers("first-leader", "group 3 1; crash n1; crash n2; settle")[3]).endswith("no majority is connected")


def test_an_entry_is_committed_when_two_of_three_have_it_and_not_before() -> None:
    """A heartbeat takes a tick, and its answer another: sent in the 1st, heard in the 2nd, counted in the 3rd."""
    said = answers("keeps-what-is-committed", "group 3 1; settle; write; run 2; run 1; run 5")
    assert ["commits" in str(one) for one in said] == [False, False, False, False, True, False]
    alone = answers("keeps-what-is-committed", "group 3 1; settle; split leader; write; run 9")
    assert "commits" not in str(alone[-1])


def test_words_that_do_not_fit_do_nothing() -> None:
    said = answers("rough-network", "group 3 1; crash leader; restart n1; crash n9; restart n9; write")
    assert said[1:] == [None] * 5
