"""Raft: the paper clause by clause, upstream's scripts line for line, schedules of faults, every order in small scopes.

Spec: Ongaro, Ousterhout, "In Search of an Understandable Consensus Algorithm (Extended Version)"; go.etcd.io/raft/v3.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from k8slab.raft.chaos import Schedule, generate, play, shortest
from k8slab.raft.explore import explore
from k8slab.raft.interaction import run_script
from k8slab.raft.log import Log
from k8slab.raft.messages import NO_LIMIT
from k8slab.raft.museum import EXHIBITS, show
from k8slab.raft.paper import CLAUSES, Clause
from tests.conformance.raft_scripts import answers, difference, scripts
from tests.counts import SOAK, examples

UPSTREAM = Path(__file__).resolve().parents[3] / "shared" / "golden" / "raft"
SCHEDULES, PARTS = examples(1_000), 20


@pytest.mark.parametrize("clause", CLAUSES, ids=lambda clause: f"{clause.where}-{clause.rule}-{clause.says[:40]}")
def test_a_clause_of_the_paper(clause: Clause) -> None:
    clause.experiment()


def test_every_part_of_figure_2_and_the_sections_that_are_used_have_clauses() -> None:
    """The rules of figure 2 by their numbers there, and the sections whose algorithms are implemented."""
    found = {f"{clause.where} {clause.rule}" for clause in CLAUSES}
    figure = [f"AppendEntries {n}" for n in (1, 2, 3, 4, 5)] + [f"RequestVote {n}" for n in (1, 2)]
    figure += ["State", "All servers", "Followers", "Candidates", *(f"Leaders {n}" for n in (1, 2, 3, 4))]
    assert [rule for rule in figure if f"figure 2 {rule}" not in found] == []
    sections = (
        "§5.2",
        "§5.3",
        "§5.4.1",
        "§5.4.2",
        "§5.4.3",
        "§6",
        "§7",
        "§8",
        "thesis §3.10",
        "thesis §4.1",
        "thesis §6.4",
    )
    assert [section for section in sections if not any(clause.where == section for clause in CLAUSES)] == []


@pytest.mark.skipif(not UPSTREAM.exists(), reason="upstream's scripts lie beside the clone")
@pytest.mark.parametrize("script", scripts(UPSTREAM) if UPSTREAM.exists() else [None], ids=lambda s: s and s.stem)
def test_upstreams_script(script: Path) -> None:
    wrong = [difference(answer) for answer in answers(script) if answer.actual != answer.expected]
    assert not wrong, wrong[0]


def test_a_script_of_our_own_is_what_it_prints() -> None:
    commands = ("add-nodes 3 voters=(1,2,3) index=2", "campaign 1", "stabilize log-level=none", "raft-state")
    text = "".join(f"{command}\n----\n\n" for command in commands)
    once = run_script(text)
    state = ("1: StateLeader (Voter)", "2: StateFollower (Voter)", "3: StateFollower (Voter)")
    assert once.endswith("".join(f"{one} Term:1 Lead:1\n" for one in state))
    assert run_script(once) == once


@pytest.mark.parametrize("part", range(PARTS))
def test_schedules_of_faults_break_nothing_and_the_group_recovers(part: int) -> None:
    for seed in range(part, SCHEDULES, PARTS):
        schedule = generate(seed)
        outcome = play(schedule)
        if outcome.problems or not outcome.alive:
            small = shortest(schedule, lambda one: bool(play(one).problems) or not play(one).alive)
            pytest.fail(f"seed {seed}: {outcome.problems or 'no write goes through afterwards'}\n{small}")


# The one removed leaves and is waited for, although as many others are there: one with a shorter log, one of the old
# half of a joint group.
LOST = (
    "size=3 seed=7992 pre_vote=1 delay_ms=1 duplicate=20 snapshot_count=20 keep_entries=0: "
    "crash 2; run 140; change r2; run 17; change r3; run 77; crash 1",
    "size=2 seed=3879 pre_vote=1 sync_ms=20 delay_ms=3 loss=30 snapshot_count=5 keep_entries=0 max_size_per_message=0: "
    "run 373; change v6; run 92; change l7; run 56; change r7; run 87; change r2; run 52; change v7 r6; transfer 6; "
    "run 40",
)


@pytest.mark.parametrize("text", LOST)
def test_a_group_that_waits_for_one_who_left_is_lost_and_no_fault_of_raft(text: str) -> None:
    schedule = Schedule.parse(text)
    raft = play(schedule)
    assert raft.problems == []
    assert raft.alive
    writes = [event for event in raft.trace if event.kind == "raft.propose" and event.data["what"] == "healed=yes"]
    assert len(writes) == 5, "none of five went through"


def test_a_schedule_is_its_text() -> None:
    for seed in range(100):
        schedule = generate(seed)
        assert Schedule.parse(str(schedule)) == schedule


def test_the_same_schedule_gives_the_same_bytes() -> None:
    schedule = generate(5)
    assert play(schedule).trace.to_jsonl() == play(schedule).trace.to_jsonl()


SCOPES = [
    {"terms": 1, "entries": 2},
    {"terms": 2, "entries": 1, "losses": 1},
    *([{"terms": 2, "entries": 2, "losses": 0}, {"terms": 2, "entries": 1}] if SOAK else []),
    *([{"terms": 3, "entries": 0, "losses": 0}] if SOAK else []),
]


@pytest.mark.parametrize("scope", SCOPES, ids=lambda scope: "-".join(f"{k}={v}" for k, v in scope.items()))
def test_no_order_of_events_in_a_small_scope_breaks_anything(scope: dict[str, int]) -> None:
    found = explore(**{"losses": NO_LIMIT, **scope})
    assert found.problems == []
    assert not found.cut


@pytest.mark.parametrize("name", EXHIBITS)
def test_an_exhibit_of_the_museum_is_caught_by_the_check_it_names_and_the_right_variant_is_not(name: str) -> None:
    found = show(name)
    assert any(problem.startswith((EXHIBITS[name].check, "a node refuses")) for problem in found), found
    assert show(name, mended=True) == []


def test_votes_that_compare_no_logs_are_found_by_exploring() -> None:
    with pytest.MonkeyPatch.context() as wrong:
        wrong.setattr(Log, "is_up_to_date", lambda self, other: True)
        found = explore(terms=2, entries=1, losses=0, most=20_000)
    assert any("leads without a committed entry" in problem for problem in found.problems)
