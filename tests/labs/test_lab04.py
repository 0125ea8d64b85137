"""Lab 04: idle solutions earn nothing, wrong answers are named, and readers get what our own store would send."""

from __future__ import annotations

import pytest

from k8slab.etcd import Store
from k8slab.etcd.messages import EventType, PutRequest
from k8slab.etcd.watch import Watcher
from k8slab.lab import Check, InProcessRunner, Op, Step, find_lab, parse_script, replay, verify
from k8slab.lab.show import recognised
from tests.labs.taken import Taken

LAB = find_lab("04")
TAKEN = Taken(LAB, InProcessRunner())
judged, changed = TAKEN.judged, TAKEN.changed


def answers(check: str, script: str, code: str = "") -> list[str]:
    return [str(answer) for answer in TAKEN.answers(check, script, code)]


# -- solutions that are none -----------------------------------------------------------------------

IDLE = """
class WatchHub:
    def __init__(self, history, room):
        self.history = history
        self.number = 0
    def watch(self, key, end="", start=0):
        self.number += 1
        return self.number
    def notify(self, revision, events): pass
    def sync(self): pass
    def take(self, watch_id): return ANSWER
    def cancel(self, watch_id): pass
"""


@pytest.mark.parametrize(
    "answer",
    ["None", "(2, [], 0)", "(2, [('a', 'x')], 0)", "(0, [], self.history.compact_revision)",
     "(self.history.since(1) or [(1, [])])[-1] + (0,)", "[]"],
    ids=["nothing", "an empty response", "always the same", "the compacted revision", "the newest change", "a list"],
)  # fmt: skip
def test_an_idle_solution_earns_nothing(answer: str) -> None:
    assert judged(IDLE.replace("ANSWER", answer)).points == 0


def test_a_hub_that_only_knows_the_present_earns_what_it_does() -> None:
    """It hands on what notify brings, and never looks into the history: no replay, no seam, nobody catches up."""
    code = changed("            if watcher.is_behind and len(watcher.queue) < self.room:\n", "            if False:\n")
    passed = {result.check.name for result in judged(code).results if result.passed}
    assert passed == {"tells-what-happens", "only-its-keys", "from-now-on"}


def test_what_is_not_written_yet_costs_only_the_checks_that_use_it() -> None:
    """As the text says: the first three checks need neither sync nor cancel, the ones before compaction no cancel."""
    assert TAKEN.passed_without("sync", "cancel") == {"tells-what-happens", "only-its-keys", "from-now-on"}
    names = [check.name for check in LAB.spec.checks]
    assert TAKEN.passed_without("cancel") >= {*names[: names.index("says-what-is-gone")]}


# -- what does not fit -----------------------------------------------------------------------------

WRONG = {
    "events without a response": (
        "        return watcher.queue.pop(0)\n", "        return watcher.queue.pop(0).events\n", "tells-what-happens",
        "take: expected a Response or None, found [('a', '",
    ),
    "a tuple of events": (
        "                watcher.queue.append(Response(revision, wanted))\n            else:",
        "                watcher.queue.append(Response(revision, tuple(wanted)))\n            else:",
        "tells-what-happens",
        "take: expected a list of events, found (('a', '",
    ),
    "keys in place of events": (
        "return [event for event in events if", "return [event[0] for event in events if", "tells-what-happens",
        "take: expected an event (key, value), found '",
    ),
    "the end with events": (
        "Response(0, [], compacted)", "Response(watcher.next_revision, [], compacted)", "says-what-is-gone",
        "take: expected revision 0 and no events with a compact_revision, found Response(revision=",
    ),
    "a watch without a number": (
        "        return self.next_id\n", "        return None\n", "tells-what-happens",
        "watch: expected a number, found None",
    ),
    "the same number twice": (
        "        self.next_id += 1\n", "        self.next_id = 1\n", "a-slow-one-hurts-nobody",
        "watch returned 1, the number of an earlier watch",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "check", "said"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_named(old: str, new: str, check: str, said: str) -> None:
    report = verify(LAB, changed(old, new), only=[check], runner=InProcessRunner())
    assert said in report.results[0].reason


def looks(code: str, check: str) -> tuple[str, str]:
    """The cause by which a check notices code, and the mutant it is said to look like."""
    (result,) = verify(LAB, code, only=[check], runner=InProcessRunner()).results
    assert result.failure is not None and result.failure.broken is not None
    return result.failure.broken.cause, recognised(LAB, result).partition(":")[0].removeprefix("Looks like ")


def test_an_interval_without_its_start_looks_like_nothing_else() -> None:
    """Written as somebody may: in one expression for each kind of watch. Other checks have no picture of it: none is
    better than that of another mistake."""
    code = changed(
        "return [event for event in events if event[0] == self.key or self.key <= event[0] < self.end]",
        "if self.end:\n            return [one for one in events if self.key < one[0] < self.end]\n"
        "        return [one for one in events if one[0] == self.key]",
    )
    assert looks(code, "only-its-keys") == ("loses-its-start", "'start-is-excluded'")
    for check in ("tells-what-happens", "replays-the-past", "a-revision-is-whole"):
        assert looks(code, check) == ("loses-its-start", "")


ONE_AND_TWO = (
    "hub 1; watch client-1 a d 0; watch client-2 a d 0; put a x; put a y; drain client-2; sync; drain client-2"
)


def mutant(name: str) -> str:
    (code,) = (one.code for one in LAB.mutants() if one.name == name)
    return code


def test_a_slow_reader_is_blamed_only_for_what_comes_without_it() -> None:
    """The same schedule, and the same answer, by two mistakes: only one of them has to do with client-1."""
    blocks, misses = mutant("slow-watcher-stops-sync"), mutant("misses-the-first-one")
    check = LAB.spec.check("a-slow-one-hurts-nobody")
    assert answers(check.name, ONE_AND_TWO)[-1] == "3: a=y"
    assert answers(check.name, ONE_AND_TWO, blocks)[-1] == "nothing, alone 3: a=y"
    assert answers(check.name, ONE_AND_TWO, misses)[-1] == "nothing"
    assert looks(blocks, check.name)[0] == "blocked"
    assert looks(misses, check.name) == ("not-caught-up", "'misses-the-first-one-beside-others'")
    (result,) = verify(LAB, misses, only=[check.name], runner=InProcessRunner()).results
    assert "a slow reader stops others" not in result.reason


def test_where_no_reader_is_tried_alone_nobody_is_blamed() -> None:
    for name in ("slow-watcher-stops-sync", "misses-the-first-one"):
        assert looks(mutant(name), "ends-for-good") == ("kept-waiting", "")


def test_a_lost_delete_is_told_with_what_was_expected() -> None:
    mutant = next(mutant for mutant in LAB.mutants() if mutant.name == "loses-a-delete-at-compaction")
    assert judged(mutant.code, only=["says-what-is-gone"]).results[0].reason == (
        "client-2 watches a up to d from 3 on; it misses revision 3, and 4 was compacted: "
        "expected compacted at 4, found 4: b=y"
    )


LOST = {
    "only the deletes": ("drain client-1", "2: a=x", "loses-a-delete"),
    "the newest first": ("drain client-1", "4: a=y | 3: a gone | 2: a=x", "out-of-order"),
    "a put, and handed a delete": ("drain client-1", "3: a gone | 4: a=y", "lost"),
    "a delete and a put": ("drain client-1", "2: a=x | 3: a gone", "not-told"),
    "the delete between two puts": ("drain client-1", "2: a=x | 4: a=y", "loses-a-delete"),
    "everything": ("drain client-1", "nothing", "not-told"),
}


@pytest.mark.parametrize(("op", "answer", "cause"), LOST.values(), ids=LOST)
def test_what_is_missing_is_told_apart(op: str, answer: str, cause: str) -> None:
    """Of the changes 2: a=x, 3: a gone, 4: a=y. Deletes are called lost if everything else is there."""
    script = "watch client-1 a 0; put a x; delete a" + ("" if answer == "2: a=x" else "; put a y")
    record = replay(
        LAB, LAB.solution, LAB.spec.check("all-of-it"), parse_script(script), runner=InProcessRunner()
    ).record
    steps = [*record.steps, Step(len(record.steps) + 1, tuple(op.split()), answer)]
    broken = LAB.spec.check("all-of-it").judge(steps)
    assert broken is not None and (broken.step, broken.cause) == (len(steps), cause)


def test_one_at_a_time_what_is_missing_is_told_apart_as_well() -> None:
    """What is handed out later on says what it was."""
    script = "watch client-1 a 0; put a x; put a y"
    record = replay(
        LAB, LAB.solution, LAB.spec.check("all-of-it"), parse_script(script), runner=InProcessRunner()
    ).record
    for second, cause in (("2: a=x", "out-of-order"), ("nothing", "lost")):
        taken = [Step(4, ("take", "client-1"), "3: a=y"), Step(5, ("take", "client-1"), second)]
        broken = LAB.spec.check("all-of-it").judge([*record.steps, *taken])
        assert broken is not None and (broken.step, broken.cause) == (4, cause)


def test_a_lost_event_is_left_to_the_check_that_is_about_it() -> None:
    """Who loses what had no room does not lose the points for whole revisions and full queues."""
    mutant = next(mutant for mutant in LAB.mutants() if mutant.name == "misses-the-first-one")
    report = judged(mutant.code, only=["a-revision-is-whole", "bounded", "a-slow-one-catches-up"])
    assert [result.passed for result in report.results] == [True, True, False]


# -- what is right ---------------------------------------------------------------------------------


def test_the_history_keeps_what_etcd_keeps() -> None:
    """Before the compacted revision the puts that still live, from it on everything, a delete too."""
    drive: dict[str, object] = {}
    exec(compile(LAB.drive, "drive.py", "exec"), drive)
    history = drive["History"]()  # type: ignore[operator]
    for events in ([("a", "x")], [("b", "y")], [("a", None)], [("c", "z")], [("c", None), ("b", None)]):
        history.write(events)
    assert history.since(3) == [
        (3, [("b", "y")]),
        (4, [("a", None)]),
        (5, [("c", "z")]),
        (6, [("c", None), ("b", None)]),
    ]
    history.compact_revision = 4
    assert history.since(1) == [
        (3, [("b", "y")]),
        (4, [("a", None)]),
        (5, [("c", "z")]),
        (6, [("c", None), ("b", None)]),
    ]
    history.compact_revision = 5
    assert history.since(1) == [(3, [("b", "y")]), (5, [("c", "z")]), (6, [("c", None), ("b", None)])]
    history.since(1)[0][1].clear()
    assert history.since(1)[0] == (3, [("b", "y")])


class OurStore:
    """Writes of a script on `k8slab.etcd.Store`, with a watch of its own, with room for everything, for each client."""

    def __init__(self) -> None:
        self.store = Store()
        self.watches: dict[str, Watcher] = {}

    def do(self, op: Op) -> None:
        words = [word.encode() for word in op[1:]]
        if op[0] in ("put", "write"):
            self.store.txn((), [PutRequest(*pair) for pair in zip(words[::2], words[1::2], strict=True)])
        elif op[0] == "delete":
            self.store.delete_range(words[0], words[1] if len(words) > 1 else b"")

    def watch(self, client: str, *words: str) -> None:
        key, *end, start = words
        self.watches[client] = self.store.watch(key.encode(), "".join(end).encode(), start_revision=int(start))

    def sent(self, client: str) -> list[str]:
        """Everything, a text for each revision."""
        found: dict[int, list[str]] = {}
        for response in self.watches[client].pending:
            for event in response.events:
                kv, is_put = event.kv, event.type == EventType.PUT
                text = f"{kv.key.decode()}={kv.value.decode()}" if is_put else f"{kv.key.decode()} gone"
                found.setdefault(kv.mod_revision, []).append(text)
        return [f"{revision}: {' '.join(events)}" for revision, events in found.items()]


@pytest.mark.parametrize("check", LAB.spec.checks, ids=lambda check: check.name)
def test_readers_get_what_our_store_would_send(check: Check) -> None:
    """The same events in the same order; all of them, for whoever is left at the end; up to a compaction or a cancel.

    Our store is not compacted here: a watch of it has what this one should have had.
    """
    for case in check.cases("our store"):
        ours, got, over = OurStore(), dict[str, list[str]](), dict[str, str]()
        record = replay(LAB, LAB.solution, check, case.script, runner=InProcessRunner()).record
        for step in record.steps:
            if step.verb == "hub":
                ours, got, over = OurStore(), {}, {}
            elif step.verb == "watch" and step.result is not None:
                ours.watch(*step.op[1:])
                got[step.op[1]] = []
                over.pop(step.op[1], None)
            elif step.verb == "cancel" and step.result is not None:
                over[step.op[1]] = "cancelled"
            elif step.verb in ("take", "drain") and step.result not in (None, "nothing"):
                for text in step.result.split(" | "):
                    if text.startswith("compacted"):
                        over[step.op[1]] = text
                    else:
                        assert step.op[1] not in over
                        got[step.op[1]].append(text)
            else:
                ours.do(step.op)
        is_drained = not case.name and check.name not in ("bounded", "ends-for-good")
        for client, texts in got.items():
            sent = ours.sent(client)
            assert texts == sent[: len(texts)], case.script
            if is_drained and client not in over:
                assert len(texts) == len(sent), case.script


def test_scripts_ask_for_what_they_are_about() -> None:
    """Full queues, late news, compactions that end a watch and some that don't."""

    def said(check: str) -> list[list[str]]:
        return [answers(check, "; ".join(map(" ".join, c.script))) for c in LAB.spec.check(check).cases("0")]

    assert any("told" in one for answer in said("no-seam") for one in answer)
    ended = [any("compacted at" in one.split(" | ")[-1] for one in answer) for answer in said("says-what-is-gone")]
    assert sum(ended) > len(ended) // 2
    spared = [any("compacted at" in one for one in answer) for answer in said("spares-who-misses-nothing")]
    assert not any(spared)


def test_a_delete_of_nothing_tells_what_is_not_told_yet() -> None:
    """As every put and delete does: the judge and `drive.py` have to agree."""
    script = "watch client-1 a d 0; write a x; delete b; take client-1"
    assert answers("no-seam", script)[1:] == ["at 2, not told yet", "at 2", "2: a=x"]
    for code in (LAB.solution, LAB.second):
        check = LAB.spec.check("no-seam")
        assert replay(LAB, code, check, parse_script(script), runner=InProcessRunner()).broken is None


def test_state_tells_where_each_watch_should_be() -> None:
    check = LAB.spec.check("all-of-it")
    script = "hub 1; watch client-1 a 0; watch client-2 a c 2; put a x; put a y; write b z; compact 2; take client-2"
    steps = replay(LAB, LAB.solution, check, parse_script(script)).record.steps
    assert check.state is not None
    assert check.state(steps) == {
        "history": "at 4, compacted at 2",
        "not told yet": "4",
        "client-1": "behind, misses 3 and later; waiting: 2: a=x",
        "client-2": "behind, misses 3 and later; waiting: nothing",
    }
