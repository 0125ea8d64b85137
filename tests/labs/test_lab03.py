"""Lab 03: idle solutions earn nothing, wrong answers are named, and its judge agrees with our own store."""

from __future__ import annotations

import pytest

from k8slab.etcd import CompactedError, FutureRevisionError, Store, museum
from k8slab.lab import InProcessRunner, Op, Step, find_lab, parse_script, replay, verify
from k8slab.raft.museum import in_place
from tests.labs.taken import Taken

LAB = find_lab("03")
TAKEN = Taken(LAB, InProcessRunner())
judged, changed = TAKEN.judged, TAKEN.changed


def answers(check: str, script: str, code: str = "") -> list[str]:
    return [str(answer) for answer in TAKEN.answers(check, script, code)]


# -- solutions that are none -----------------------------------------------------------------------

IDLE = """
class Mvcc:
    def __init__(self):
        self.revision = 1
        self.values = {}
    def put(self, key, value):
        PUT
        return self.revision
    def delete(self, key, end=""): return 0
    def range(self, key, end="", revision=0): RANGE
    def compact(self, revision): COMPACT
    def generations(self, key): return []
    def records(self): return []
"""
COUNTS = "self.revision += 1"
IDLERS = {
    "does nothing": ("pass", "return []", "pass"),
    "counts, and keeps nothing": (COUNTS, "return []", "pass"),
    "counts, and refuses what it should not know": (
        COUNTS,
        "raise ValueError('etcdserver: mvcc: required revision has been compacted')",
        "raise ValueError('etcdserver: mvcc: required revision is a future revision')",
    ),
}


@pytest.mark.parametrize(("put", "read", "compact"), IDLERS.values(), ids=IDLERS)
def test_an_idle_solution_earns_nothing(put: str, read: str, compact: str) -> None:
    code = IDLE.replace("PUT", put).replace("RANGE", read).replace("COMPACT", compact)
    assert judged(code).points == 0


def test_a_dict_of_newest_values_earns_what_it_does() -> None:
    """Without deletes, lives, past and compaction there is the first put of each key, and reads of the present."""
    code = IDLE.replace("PUT", f"{COUNTS}; self.values[key] = (key, value, self.revision, self.revision, 1)")
    code = code.replace("RANGE", "return [self.values[k] for k in sorted(self.values) if k == key or key <= k < end]")
    report = judged(code.replace("COMPACT", "pass"))
    passed = [result.check.name for result in report.results if result.passed]
    assert passed == ["a-revision-for-a-write", "intervals"]


# -- what does not fit -----------------------------------------------------------------------------

WRONG = {
    "a put that returns nothing": (
        "        return self.revision\n", "        return None\n", "a-revision-for-a-write",
        "put: expected a number, found None",
    ),
    "a delete that returns the keys": (
        "        return len(found)\n", "        return found\n", "a-delete-is-one-change",
        "delete: expected a number, found [",
    ),
    "a single record in place of a list": (
        "return [kv for kv in found if kv is not None]",
        "return next((kv for kv in found if kv is not None), [])", "a-revision-for-a-write",
        "range: expected a list, found KeyValue(key='a', value='",
    ),
    "values in place of records": (
        "return [kv for kv in found if kv is not None]",
        "return [kv.value for kv in found if kv is not None]", "a-revision-for-a-write",
        "range: expected a KeyValue, found '",
    ),
    "a tombstone without a value": (
        'KeyValue(kv.key, "", 0', "KeyValue(kv.key, None, 0", "compaction-keeps-every-change-since",
        "records: expected a KeyValue, found KeyValue(key='a', value=None",
    ),
    "one list of revisions": (
        "return [list(life) for life in self.index.get(key, [])]",
        "return [one for life in self.index.get(key, []) for one in life]", "generations",
        "generations: expected a list, found 2",
    ),
    "an error of another kind": (
        "        if revision > self.revision:\n            raise ValueError(FUTURE)\n        if revision and",
        "        if revision > self.revision:\n            raise KeyError(FUTURE)\n        if revision and",
        "refuses-the-future",
        "required revision is a future revision') for 'get-at 3 a', found KeyError: 'etcdserver: mvcc: required",
    ),
    "a text of its own": (
        'FUTURE = "etcdserver: mvcc: required revision is a future revision"', 'FUTURE = "too new"',
        "refuses-the-future", "for 'get-at 3 a', found ValueError: too new",
    ),
    "a text that is not quite etcd's": (
        "required revision has been compacted", "revision has been compacted", "refuses-the-compacted",
        "expected 'etcdserver: mvcc: required revision has been compacted'",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "check", "said"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_named(old: str, new: str, check: str, said: str) -> None:
    report = verify(LAB, changed(old, new), only=[check], runner=InProcessRunner())
    assert said in report.results[0].reason


def test_a_mistake_on_the_way_to_an_answer_keeps_its_line() -> None:
    """Only where something is to be refused is an error an answer."""
    code = changed(
        "        at = revision or self.revision\n", "        at = revision or self.revision\n        {}[at]\n"
    )
    report = verify(LAB, code, only=["the-past-stays", "refuses-the-future"], runner=InProcessRunner())
    assert all("raised KeyError: 2 in Mvcc.range" in result.reason for result in report.results)


def test_what_is_not_written_is_no_refusal() -> None:
    code = changed(
        "            raise ValueError(FUTURE)\n        if revision and",
        "            raise NotImplementedError\n        if revision and",
    )
    report = verify(LAB, code, only=["refuses-the-future"], runner=InProcessRunner())
    assert report.results[0].reason == "Mvcc.range is not written yet"


def test_a_loss_at_compaction_is_told_with_the_record() -> None:
    mutant = next(mutant for mutant in LAB.mutants() if mutant.name == "compaction-loses-a-deletion")
    report = judged(mutant.code, only=["compaction-keeps-every-change-since"])
    assert report.results[0].reason == "compacted at 3, and the record a gone @3 is not kept"


def test_a_record_with_other_numbers_is_not_called_missing() -> None:
    """It is kept: what is wrong with it is said, and by the check that is about that."""
    mutants = {mutant.name: mutant.code for mutant in LAB.mutants()}
    report = judged(mutants["a-tombstone-keeps-its-create-revision"], only=["compaction-keeps-every-change-since"])
    assert report.results[0].reason == (
        "records: a tombstone has no value, create_revision 0 and version 0: expected a gone @3, found a= @3 c2 v0"
    )
    code, check = mutants["an-interval-ends-no-count"], LAB.spec.check("all-of-it")
    script = parse_script("put a x; delete a b; put a z; records")
    broken = replay(LAB, code, check, script, runner=InProcessRunner()).broken
    assert broken is not None and broken.cause == "reuses-version"
    assert broken.why.endswith("expected a=z @4 c4 v1, found a=z @4 c4 v2")


def test_a_revision_for_each_key_does_not_cost_the_next_life() -> None:
    """The intervals of `a-put-begins-another` take one key at a time: how many revisions is another check's."""
    mutant = next(mutant for mutant in LAB.mutants() if mutant.name == "a-revision-for-each-deleted-key")
    assert judged(mutant.code, only=["a-put-begins-another"]).passed


# -- what is right ---------------------------------------------------------------------------------


def test_the_history_of_the_text() -> None:
    """The numbers of the figures in the notebook."""
    history = "put a x; put a y; put b z; delete a; put a w"
    reads = [f"get-at {revision} a" for revision in range(1, 7)]
    said = answers("all-of-it", "; ".join([history, *reads, "lives a"]))
    assert said[5:] == [
        "nothing", "a=x @2 c2 v1", "a=y @3 c2 v2", "a=y @3 c2 v2", "nothing", "a=w @6 c6 v1", "{2 3 5} {6}",
    ]  # fmt: skip
    left = {
        4: "a=y @3 c2 v2, b=z @4 c4 v1, a gone @5, a=w @6 c6 v1",
        5: "b=z @4 c4 v1, a gone @5, a=w @6 c6 v1",
        6: "b=z @4 c4 v1, a=w @6 c6 v1",
    }
    for revision, records in left.items():
        assert answers("all-of-it", f"{history}; compact {revision}; records")[-1] == records


class OurStore:
    """`k8slab.etcd.Store` behind the words of the scripts."""

    def __init__(self) -> None:
        self.store = Store()

    def do(self, op: Op) -> str:
        try:
            return self._do(op)
        except (CompactedError, FutureRevisionError) as error:
            return str(error)

    def _do(self, op: Op) -> str:
        store, verb, words = self.store, op[0], [word.encode() for word in op[1:]]
        if verb == "put":
            return f"at {store.put(words[0], words[1]).revision}"
        if verb == "delete":
            end = words[1] if len(words) > 1 else b""
            return f"{store.delete_range(words[0], end).deleted} deleted, at {store.revision}"
        if verb in ("get", "get-at"):
            at = int(op[1]) if verb == "get-at" else 0
            kvs = store.range(*words[verb == "get-at" :], revision=at).kvs
            return ", ".join(map(self._shown, kvs)) or "nothing"
        if verb == "compact":
            store.compact(int(op[1]))
            return f"done, at {store.revision}"
        if verb == "lives":
            found = store.view()["generations"].get(op[1], {}).values()
            lives = [" ".join(one.split(".")[0] for one in life) for life in found if life]
            return " ".join(f"{{{life}}}" for life in lives) or "nothing"
        if verb == "records":
            return ", ".join(map(self._shown, store.since(0))) or "nothing"
        return f"at {store.revision}"

    @staticmethod
    def _shown(kv: object) -> str:
        key, value, created, modified, version = (getattr(kv, name) for name in (
            "key", "value", "create_revision", "mod_revision", "version"))  # fmt: skip
        if not version:
            return f"{key.decode()} gone @{modified}"
        return f"{key.decode()}={value.decode()} @{modified} c{created} v{version}"


@pytest.mark.parametrize("check", LAB.spec.checks, ids=lambda check: check.name)
def test_the_judge_agrees_with_our_store(check: object) -> None:
    """With the lines of etcd 3.5.16 put in, which keep a tombstone at the compacted revision."""
    with in_place(museum.EXHIBITS["deletion-compacted"].mended):
        for case in check.cases("against our store"):  # type: ignore[attr-defined]
            ours = OurStore()
            steps = [Step(number, op, ours.do(op)) for number, op in enumerate(case.script, start=1)]
            assert check.judge(steps) is None, case.script  # type: ignore[attr-defined]


def test_without_them_the_lost_deletion_is_noticed() -> None:
    check, ours = LAB.spec.check("compaction-keeps-every-change-since"), OurStore()
    script = parse_script(check.examples["a delete, just then"])
    broken = check.judge([Step(number, op, ours.do(op)) for number, op in enumerate(script, start=1)])
    assert broken is not None and broken.cause == "loses-a-deletion"


def test_scripts_ask_for_what_they_are_about() -> None:
    """Deletes of several keys and of none, compactions at a delete, reads of both sides of a border."""
    scripts = {check.name: [case.script for case in check.cases("0")] for check in LAB.spec.checks}
    assert any(op[0] == "delete" and len(op) == 3 for script in scripts["a-delete-is-one-change"] for op in script)
    refused = [answers("refuses-the-future", "; ".join(map(" ".join, s))) for s in scripts["refuses-the-future"]]
    assert all(any("future" in one for one in said) for said in refused)
    kept = [answers("all-of-it", "; ".join(map(" ".join, s))) for s in scripts["compaction-keeps-every-change-since"]]
    assert sum(any("gone" in one for one in said) for said in kept) > len(kept) // 2


def test_state_tells_what_should_hold() -> None:
    check = LAB.spec.check("all-of-it")
    script = parse_script("put a x; put b y; delete a; compact 3; get b")
    steps = replay(LAB, LAB.solution, check, script).record.steps
    assert check.state is not None
    assert check.state(steps) == {
        "revision": "4", "compacted": "3", "living": "b=y @3 c3 v1", "last told": "done, at 4",
    }  # fmt: skip
