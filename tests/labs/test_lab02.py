"""Lab 02: idle solutions earn nothing, wrong answers are named, and the group of `drive.py` does what it says."""

from __future__ import annotations

import pytest

from k8slab.lab import find_lab, parse_script, replay
from tests.labs.taken import Taken

LAB = find_lab("02")
TAKEN = Taken(LAB)
judged, changed = TAKEN.judged, TAKEN.changed


def answers(check: str, script: str, code: str = "") -> list[str]:
    return [str(answer) for answer in TAKEN.answers(check, script, code)]


IDLE = """
class Log:
    def __init__(self, disk):
        self.entries, self.commit_index = [], 0
    def last(self): return 0, 0
    def append(self, term, command): return 1
    def on_append_entries(self, prev_index, prev_term, entries, leader_commit): return {answer}

class Leader:
    def __init__(self, term, log, others): pass
    def propose(self, command): return 1
    def append_entries(self, other): return 0, 0, [], 0
    def on_answer(self, other, success, index): pass
"""


@pytest.mark.parametrize(
    "answer",
    ["(False, 1)", "(True, 0)", "(True, prev_index + len(entries))", "(False, prev_index)", "None"],
    ids=["refuses everything", "takes nothing", "takes everything and keeps nothing", "goes back", "does nothing"],
)
def test_an_idle_solution_earns_nothing(answer: str) -> None:
    assert judged(IDLE.format(answer=answer)).points == 0


def test_an_empty_class_earns_nothing() -> None:
    assert judged("class Log:\n    pass\n\n\nclass Leader:\n    pass\n").points == 0


def test_a_right_log_earns_its_points_without_a_leader() -> None:
    code = LAB.solution[: LAB.solution.index("class Leader")] + IDLE[IDLE.index("class Leader") :]
    report = judged(code)
    passed = [result.check.name for result in report.results if result.passed]
    assert passed == [check.name for check in LAB.spec.checks if check.setting == "log"]


WRONG = {
    "an answer without an index": (
        "        return True, last_compared", "        return True", "adds-what-follows",
        "on_append_entries returned True, expected (True, index) or (False, index)",
    ),
    "an answer that is no bool": (
        "        return True, last_compared", "        return 1, last_compared", "adds-what-follows",
        "on_append_entries returned (1, 1), expected (True, index) or (False, index)",
    ),
    "entries that are lists": (
        "self.entries.append((term, command))", "self.entries.append([term, command])", "sends-what-is-missing",
        "disk.save: entries: expected an entry (term, command), found [1, 'x']",
    ),
    "another order of fields": (
        "return prev_index, self.log.term_at(prev_index), entries, self.log.commit_index",
        "return prev_index, self.log.term_at(prev_index), self.log.commit_index, entries", "sends-what-is-missing",
        "expected (prev_index, prev_term, entries, commit)",
    ),
    "no index for a proposal": (
        "        self.advance()\n        return index", "        self.advance()", "commits-by-majority",
        "propose: expected int, found NoneType",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "check", "said"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_named(old: str, new: str, check: str, said: str) -> None:
    assert said in judged(changed(old, new), only=[check]).results[0].reason


def test_a_commit_index_beyond_the_log_is_named() -> None:
    code = changed("min(leader_commit, last_compared)", "leader_commit + 1")
    reason = judged(code, only=["agreement"]).results[0].reason
    assert "commit_index of n" in reason and "its log has" in reason


def test_the_loss_in_figure_8_is_told_with_both_entries() -> None:
    mutant = next(mutant for mutant in LAB.mutants() if mutant.name == "counts-its-term-and-before")
    assert judged(mutant.code, only=["figure-8"]).results[0].reason == (
        "at index 1 n1 applied 1:c1, and n5 applies 2:c2: a committed entry is lost"
    )


def test_figure_8_as_the_paper_has_it() -> None:
    """In (c) the old entry is on n1, n2 and n3, of term 1 in term 3, and not committed; in (d) all have that of n5."""
    said = answers("figure-8", LAB.spec.check("figure-8").examples["of the paper"])
    partly = next(one for one in said if "n3:F3(0/1)" in one)
    assert "n1:L3(0/1) n2:F3(0/1) n3:F3(0/1)" in partly
    assert not any("applies" in one for one in said[: said.index(partly) + 1])
    assert "applies n5 1 2:c2" in " ".join(said) and "1:c1" not in said[-1].split("; log")[1]


def test_next_may_only_grow_with_a_yes_as_in_etcd() -> None:
    """tracker/progress.go, MaybeUpdate: Next = max(Next, n + 1)."""
    old = "self.next_index[other] = self.match_index[other] + 1"
    assert judged(
        changed(old, "self.next_index[other] = max(self.next_index[other], self.match_index[other] + 1)")
    ).passed


def test_a_yes_that_no_follower_can_have_said_does_nothing() -> None:
    """The leader began with three entries and has four: its messages went up to 3 or up to 4."""
    said = answers("learns-from-answers", "lead 3 3 1:a 1:b 1:c; propose x; ok n2 2; ok n2 5; ok n2 3; ok n2 4")
    assert [one == "None" for one in said] == [False, False, True, True, False, False]


BREAKS = {
    "figure 8, the leader has an entry of its own": (
        "its-last-entry-decides", "figure-8", LAB.spec.check("figure-8").examples["with an entry of its own"],
        "differs",
    ),
    "two entries, and five are committed": (
        "new-entries-bring-the-commit", "commits-what-was-compared", "have 1:a; append 1/1 5 1:b", "beyond-its-log",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("mutant", "check", "script", "cause"), BREAKS.values(), ids=BREAKS)
def test_a_schedule_shows_the_mistake_by_its_name(mutant: str, check: str, script: str, cause: str) -> None:
    code = next(one.code for one in LAB.mutants() if one.name == mutant)
    broken = replay(LAB, code, LAB.spec.check(check), parse_script(script)).broken
    assert broken is not None and broken.cause == cause, broken
    assert replay(LAB, LAB.solution, LAB.spec.check(check), parse_script(script)).broken is None


def test_an_entry_takes_two_ticks_to_be_committed_and_a_heartbeat_to_be_known() -> None:
    said = answers("agreement", "group 3 1; elect n1; run 4; propose; run 1; run 1; run 1; run 3")
    assert [one.split()[0] for one in said[3:7]] == ["n1:L1(0/1)", "n1:L1(0/1)", "n1:L1(0/1)", "n1:L1(1/1)"]
    assert "n2:F1(1/1) n3:F1(1/1)" in said[-1]


def test_what_was_not_saved_is_gone_after_a_crash() -> None:
    code = changed("                self.disk.save(self.entries)\n                break", "                break")
    script = "group 3 1; elect n1; run 4; propose; run 8; crash n2; restart n2"
    assert "n2:F1(1/1)" in answers("agreement", script, code)[4]
    assert "n2:F1(0/0)" in answers("agreement", script, code)[-1]
    assert "n2:F1(0/1)" in answers("agreement", script)[-1]


def test_in_a_scripted_group_nobody_stands_by_itself() -> None:
    assert "L" not in answers("figure-8", "group 3; run 200")[-1].split(";")[0]
    assert ":L" in answers("agreement", "group 3; run 200")[-1].split(";")[0]


def test_messages_across_a_cut_do_not_arrive_when_it_is_mended() -> None:
    said = answers("figure-8", "group 3; elect n1; run 4; split n1; propose; run 1; heal; split n1; run 9")
    assert "n2:F1(0/0) n3:F1(0/0)" in said[-1]


def test_a_log_that_swells_is_told_in_a_few_words() -> None:
    """Answers take up to 12 ticks, so entries are sent again after 3, and added once more."""
    mutant = next(mutant for mutant in LAB.mutants() if mutant.name == "adds-without-looking")
    script = parse_script("group 3 1; elect n1; run 4; net 0 6; propose; run 40")
    broken = replay(LAB, mutant.code, LAB.spec.check("unreliable"), script).broken
    assert broken is not None and broken.cause == "swells"
    assert broken.why.startswith("1 commands were proposed, and the log of n")


def test_a_group_that_never_agrees_says_so_in_one_sentence() -> None:
    mutant = next(mutant for mutant in LAB.mutants() if mutant.name == "prev-term-is-the-leaders")
    for name in ("agreement", "figure-8", "figure-8-unreliable"):
        assert judged(mutant.code, only=[name]).results[0].causes == ("no-agreement",)


def test_words_that_do_not_fit_do_nothing() -> None:
    said = answers("unreliable", "group 3 1; crash leader; propose n2; restart n1; crash n9; restart n9; elect n9")
    assert said[1:] == ["None"] * 6
