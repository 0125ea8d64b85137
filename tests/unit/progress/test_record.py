"""Progress: what is kept, who may write, and what happens to a file that cannot be read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from k8slab.progress import Progress, ProgressError, remember
from k8slab.progress import record as module
from k8slab.progress.record import default_path

ONE, TWO = "2026-05-01T09:00:00Z", "2026-05-02T10:30:00Z"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "progress.json"


@pytest.fixture
def at(path: Path) -> Callable[[str], Progress]:
    return lambda now: Progress(path, now=lambda: now)


def entry(record: Progress, kind: str, name: str) -> Any:
    return record.export()["entries"][kind][name]


def test_what_is_done_is_kept_with_first_and_last_time(at: Callable[[str], Progress]) -> None:
    at(ONE).done("lab", "01-queue", passed=True, seed=7)
    at(TWO).done("lab", "01-queue", passed=False, seed=8)
    assert entry(at(TWO), "lab", "01-queue") == {
        "first": ONE, "last": TWO, "times": 2, "detail": {"passed": True, "seed": 8},
    }  # fmt: skip


def test_the_real_clock_is_read_at_the_edge(path: Path) -> None:
    Progress(path).done("chapter", "one")
    found = entry(Progress(path), "chapter", "one")["last"]
    assert len(found) == len(ONE) and found.endswith("Z")


@pytest.mark.parametrize(
    ("kind", "name", "detail", "says"),
    [
        ("book", "x", {}, "kind 'book': expected one of chapter, quiz, lab, drill"),
        ("lab", "", {}, "name '': expected 1 to 200 printable characters"),
        ("lab", "a\nb", {}, "expected 1 to 200 printable"),
        ("lab", "x" * 201, {}, "expected 1 to 200 printable"),
        ("lab", "x", {"hints": [1]}, r"detail 'hints': \[1\]: expected text, a number, true or false"),
        ("lab", "x", {"passed": 1}, "detail 'passed': 1: expected true or false"),
        ("lab", "x", {"passed": None}, "detail 'passed': None: expected true or false"),
        ("drill", "x/1", {"right": "yes"}, "detail 'right': 'yes': expected true or false"),
        ("lab", "x", {"points": -1}, "detail 'points': -1: expected a whole number from 0 to 1000000000"),
        ("lab", "x", {"points": True}, "detail 'points': True: expected a whole number"),
        ("lab", "x", {"points": 1.5}, "detail 'points': 1.5: expected a whole number"),
        ("lab", "x", {"of": 10**9 + 1}, "detail 'of': 1000000001: expected a whole number from 0 to 1000000000"),
        ("lab", "x", {"points": 17, "of": 16}, "detail 'points': 17: expected at most 16, which it is of"),
        ("lab", "x", {"load": float("nan")}, r"detail 'load': nan: expected a number from -1e\+30 to 1e\+30"),
        ("lab", "x", {"load": float("inf")}, "detail 'load': inf: expected a number from"),
        ("lab", "x", {"load": 10**400}, "detail 'load': 10+: expected a number from"),
        ("lab", "x", {"note": "\x1b[2J"}, "detail 'note': .*: expected at most 200 printable characters"),
        ("lab", "x", {"note": "y" * 201}, "detail 'note': .*: expected at most 200 printable characters"),
        ("lab", "x", {"a\nb": 1}, "expected a name of at most 200 printable characters"),
    ],
)
def test_what_cannot_be_recorded_is_refused(path: Path, kind: str, name: str, detail: Any, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Progress(path).done(kind, name, **detail)
    assert not path.exists()


def test_the_summary_has_a_row_a_thing_and_one_a_topic(at: Callable[[str], Progress]) -> None:
    record = at(ONE)
    record.done("chapter", "one-deployment")
    record.done("quiz", "one-deployment", score="4 of 5")
    record.done("lab", "01-queue", passed=True)
    for seed, right in enumerate([True, False, True]):
        record.done("drill", f"rollout/{seed}", right=right)
    assert record.summary().rows == (
        ("chapter", "one-deployment", "done", "2026-05-01"),
        ("quiz", "one-deployment", "score=4 of 5", "2026-05-01"),
        ("lab", "01-queue", "passed", "2026-05-01"),
        ("drill", "rollout", "2 right of 3", "2026-05-01"),
    )


def test_tries_are_told_where_an_exercise_took_more_than_one(at: Callable[[str], Progress]) -> None:
    for right in (False, False, True):
        at(ONE).done("drill", "rollout/1", right=right)
    assert at(ONE).summary().rows == (("drill", "rollout", "1 right of 1, 3 tries", "2026-05-01"),)
    at(ONE).done("drill", "rollout/2", right=True)
    assert at(ONE).summary().rows == (("drill", "rollout", "2 right of 2, 4 tries", "2026-05-01"),)


@pytest.mark.parametrize(
    ("details", "result"),
    [
        pytest.param(
            [{"passed": False, "points": 1, "of": 16}], "1 of 16 points", id="what is missing is told by points"
        ),
        pytest.param([{"passed": False, "points": 0, "of": 16}], "0 of 16 points", id="also none of them"),
        pytest.param([{"passed": True, "points": 16, "of": 16}], "passed, 16 of 16 points", id="passed"),
        pytest.param([{"passed": False}], "not passed yet", id="no points are known"),
        pytest.param([{"passed": False, "points": 1}], "1 point", id="one point of an unknown number"),
        pytest.param([{"passed": True, "points": 2}], "passed, 2 points", id="two of an unknown number"),
        pytest.param(
            [{"passed": True, "points": 16, "of": 16}, {"passed": False, "points": 9, "of": 16}],
            "passed, 16 of 16 points",
            id="the best points stay as what was passed stays",
        ),
        pytest.param(
            [{"passed": False, "points": 9, "of": 16}, {"passed": False, "points": 11, "of": 16}],
            "11 of 16 points",
            id="better ones take their place",
        ),
        pytest.param(
            [{"passed": True, "points": 16}, {"passed": False, "points": 9, "of": 16}],
            "passed, 16 of 16 points",
            id="an older record did not say of how many",
        ),
        pytest.param(
            [{"passed": False, "points": 9, "of": 16}, {"passed": True, "points": 16}],
            "passed, 16 of 16 points",
            id="the newer one does not say of how many",
        ),
        pytest.param(
            [{"passed": False, "points": 9, "of": 16}, {"passed": True, "points": 20}],
            "passed, 20 points",
            id="more than there were are of another number",
        ),
        pytest.param(
            [{"passed": True, "points": 16, "of": 16}, {"passed": False, "points": 17, "of": 20}],
            "passed, 16 of 16 points",
            id="16 of 16 is more than 17 of 20",
        ),
        pytest.param(
            [{"passed": False, "points": 10, "of": 20}, {"passed": False, "points": 9, "of": 16}],
            "9 of 16 points",
            id="9 of 16 is more than 10 of 20",
        ),
    ],
)
def test_a_labs_points_are_told_in_words_and_stay_the_best(
    at: Callable[[str], Progress], tmp_path: Path, details: list[dict[str, Any]], result: str
) -> None:
    for now, detail in zip((ONE, TWO), details, strict=False):
        at(now).done("lab", "01-queue", **detail)
    assert at(TWO).summary().rows[0][2] == result
    places = [Progress(tmp_path / f"{n}.json", now=lambda now=now: now) for n, now in enumerate((ONE, TWO))]  # type: ignore[misc]
    for place, detail in zip(places, details, strict=False):
        place.done("lab", "01-queue", **detail)
    for here, there in (places, places[::-1]):
        here.merge(there.export())
    assert {place.summary().rows[0][2] for place in places} == {result}, "from two machines, in either direction"


def test_names_that_this_version_does_not_know_are_kept_without_a_result(at: Callable[[str], Progress]) -> None:
    record = at(ONE)
    record.done("chapter", "raft")
    for lab in ("01-queue", "99-newer"):
        record.done("lab", lab, passed=True)
    for drill in ("rollout/1", "raft/1"):
        record.done("drill", drill, right=True)
    told = [tuple(row[:3]) for row in record.summary({"lab": ["01-queue"], "drill": ["rollout"]}).rows]
    assert told == [
        ("chapter", "raft", "done"),
        ("lab", "01-queue", "passed"),
        ("lab", "99-newer", "not in this version of the book"),
        ("drill", "rollout", "1 right of 1"),
        ("drill", "raft", "not in this version of the book"),
    ]
    assert entry(record, "lab", "99-newer")["detail"] == {"passed": True}


# -- quizzes ----------------------------------------------------------------------------------------


def rows(record: Progress) -> list[tuple[str, ...]]:
    return [tuple(row[:3]) for row in record.summary().rows]


def test_a_quiz_is_kept_answer_by_answer_and_is_a_chapter_done_once_all_were_right(
    at: Callable[[str], Progress],
) -> None:
    def answer(question: str, right: bool) -> None:
        at(ONE).answered("etcd", question, right=right, questions=["one", "two"])

    answer("two", False)
    assert rows(at(ONE)) == [("quiz", "etcd", "0 of 2 right, 1 not answered yet")]
    answer("one", True)
    assert rows(at(ONE)) == [("quiz", "etcd", "1 of 2 right")]
    answer("two", True)
    assert rows(at(ONE)) == [("chapter", "etcd", "done"), ("quiz", "etcd", "2 of 2 right")]
    answer("one", False)
    assert rows(at(ONE))[1] == ("quiz", "etcd", "2 of 2 right"), "what was right once stays right"


def test_a_question_that_the_bank_has_no_more_counts_no_more(at: Callable[[str], Progress]) -> None:
    at(ONE).answered("etcd", "old", right=True, questions=["old", "one"])
    at(ONE).answered("etcd", "one", right=False, questions=["one", "new"])
    assert rows(at(ONE)) == [("quiz", "etcd", "0 of 2 right, 1 not answered yet")]


def test_two_machines_with_two_versions_of_a_quiz_do_not_give_less_than_no_question_left(
    at: Callable[[str], Progress], tmp_path: Path
) -> None:
    at(ONE).answered("etcd", "one", right=True, questions=["one"])
    other = Progress(tmp_path / "other.json", now=lambda: TWO)
    other.answered("etcd", "two", right=False, questions=["two"])
    other.merge(at(ONE).export())
    assert ("quiz", "etcd", "1 of 2 right") in rows(other)


def test_a_question_of_another_quiz_is_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="question 'three': expected one of one, two"):
        Progress(path).answered("etcd", "three", right=True, questions=["one", "two"])
    assert not path.exists()


# -- from a notebook --------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("K8SLAB_HOME", str(tmp_path / "k8slab"))
    return tmp_path / "k8slab"


def test_what_is_remembered_is_in_the_readers_own_record(home: Path) -> None:
    remember(lambda progress: progress.done("lab", "mine", passed=True))
    assert rows(Progress(home / "progress.json")) == [("lab", "mine", "passed")]


def test_a_home_that_cannot_be_written_is_told_once_and_stops_nobody(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home.write_text("a file where the folder should be")
    for _ in range(3):
        remember(lambda progress: progress.done("lab", "mine", passed=True))
    out, err = capsys.readouterr()
    assert (out, err.count("k8slab: progress is not kept: "), err.count("\n")) == ("", 1, 1)
    assert str(home) in err


def test_somebody_without_a_home_is_told_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("K8SLAB_HOME", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    remember(lambda progress: progress.done("lab", "mine", passed=True))
    assert "there is no home folder (Could not determine home directory.); set K8SLAB_HOME" in capsys.readouterr().err


def test_a_mistake_in_the_code_that_records_is_not_hidden(home: Path) -> None:
    with pytest.raises(ValueError, match="kind 'book'"):
        remember(lambda progress: progress.done("book", "x"))


def test_it_loads_no_other_floor() -> None:
    program = (
        "import sys; from k8slab.progress import Progress; "
        "print(sorted(n for n in sys.modules if n.startswith('k8slab.') and not n.startswith('k8slab.progress')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['k8slab.table']"


def test_looking_makes_no_file(path: Path) -> None:
    assert len(Progress(path).summary()) == 0
    Progress(path).reset()
    assert not path.parent.exists()


def test_a_reset_forgets_everything(at: Callable[[str], Progress]) -> None:
    at(ONE).done("lab", "x")
    at(ONE).reset()
    assert len(at(ONE).summary()) == 0


# -- export and import ------------------------------------------------------------------------------


def test_an_export_can_be_imported_elsewhere_and_twice(at: Callable[[str], Progress], tmp_path: Path) -> None:
    at(ONE).done("lab", "a", passed=True)
    at(ONE).done("drill", "rollout/1", right=False)
    other = Progress(tmp_path / "other.json", now=lambda: TWO)
    other.done("lab", "a", passed=False, hints=2)
    exported = json.loads(json.dumps(at(ONE).export()))
    assert other.merge(exported) == 2
    assert entry(other, "lab", "a") == {
        "first": ONE, "last": TWO, "times": 1, "detail": {"passed": True, "hints": 2},
    }  # fmt: skip
    assert other.merge(exported) == 0
    back = at(TWO)
    back.merge(other.export())
    assert back.export() == other.export()


def imported(name: str = "a", **changes: Any) -> dict[str, Any]:
    """A record with one lab, well-formed but for the changes."""
    one = {"first": ONE, "last": TWO, "times": 1, "detail": {"passed": True}, **changes}
    return {"version": 1, "entries": {"lab": {name: one}}}


def test_what_an_import_is_made_of_here_is_well_formed(path: Path) -> None:
    assert Progress(path).merge(imported("99-of-another-version")) == 1
    assert rows(Progress(path)) == [("lab", "99-of-another-version", "passed")]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ([], "there: expected an object with version 1 and entries"),
        ({"version": 1}, "expected an object with version 1 and entries"),
        ({"version": 1, "entries": {"book": {}}}, "entries.book: expected one of chapter, quiz"),
        ({"version": 1, "entries": {"lab": {"a": 3}}}, "lab 'a': expected first, last, times and detail"),
        (
            {"version": 1, "entries": {"lab": {"a": {"first": 1}}}},
            "there: lab 'a': first: 1: expected a time such as 20",
        ),
        (imported(first="yesterday"), "lab 'a': first: 'yesterday': expected a time such as 2026-05-01T09:00:00Z"),
        (imported(last="2026-02-30T09:00:00Z"), "lab 'a': last: '2026-02-30T09:00:00Z': expected a time"),
        (imported(last="2026-5-1T9:0:0Z"), "lab 'a': last: '2026-5-1T9:0:0Z': expected a time"),
        (imported(last="2026-05-01T09:00:00+02:00"), "lab 'a': last: .*: expected a time"),
        (imported(last=None), "lab 'a': last: None: expected a time"),
        (imported(times=-3), "lab 'a': times: -3: expected a whole number from 1 to 1000000000"),
        (imported(times=0), "lab 'a': times: 0: expected a whole number from 1"),
        (imported(times=True), "lab 'a': times: True: expected a whole number from 1"),
        (imported(times=1e300), r"lab 'a': times: 1e\+300: expected a whole number from 1"),
        (imported(times=10**10), "lab 'a': times: 10000000000: expected a whole number from 1 to 1000000000"),
        (imported(detail=[]), r"lab 'a': detail: \[\]: expected an object"),
        (imported(detail={"passed": "yes"}), "lab 'a': detail 'passed': 'yes': expected true or false"),
        (imported(detail={"points": "16"}), "lab 'a': detail 'points': '16': expected a whole number from 0"),
        (imported(detail={"points": float("nan")}), "lab 'a': detail 'points': nan: expected a whole number from 0"),
        (imported(detail={"seed": float("-inf")}), "lab 'a': detail 'seed': -inf: expected a number from"),
        (imported(detail={"question one": 1}), "lab 'a': detail 'question one': 1: expected true or false"),
        (imported(detail={"hints": {}}), "lab 'a': detail 'hints': {}: expected text, a number, true or false"),
        (imported(""), "lab '': name '': expected 1 to 200 printable characters"),
        (imported("\x1b[2J"), "expected 1 to 200 printable characters"),
        (imported("\ud800"), "expected 1 to 200 printable characters"),
    ],
)
def test_what_is_no_record_cannot_be_imported(path: Path, data: Any, says: str) -> None:
    Progress(path).done("lab", "mine")
    before = path.read_bytes()
    with pytest.raises(ProgressError, match=says):
        Progress(path).merge(data, "there")
    assert path.read_bytes() == before


# -- the file ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[]", b'{"version": 1, "entries": {"lab": 3}}'])
def test_a_broken_file_is_moved_aside_and_named(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(ProgressError) as caught:
        Progress(path).done("lab", "x")
    assert str(path) in str(caught.value) and f"{path.name}.broken" in str(caught.value)
    assert path.with_name("progress.json.broken").read_bytes() == content
    Progress(path).done("lab", "x")
    assert "x" in Progress(path).export()["entries"]["lab"]
    path.write_bytes(b"again")
    with pytest.raises(ProgressError, match=r"progress\.json\.broken-2"):
        Progress(path).summary()
    assert path.with_name("progress.json.broken").read_bytes() == content


def test_a_file_of_a_newer_version_stays_where_it_is(path: Path) -> None:
    path.parent.mkdir()
    path.write_text('{"version": 2, "entries": {}}')
    with pytest.raises(ProgressError, match="version 2 was written by a newer k8slab"):
        Progress(path).done("lab", "x")
    assert path.exists()


def test_a_write_that_fails_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Progress(path).done("lab", "x")
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        Progress(path).done("lab", "y")
    assert path.read_bytes() == before
    assert sorted(p.name for p in path.parent.iterdir()) == ["progress.json", "progress.json.lock"]


def test_writers_in_several_processes_lose_nothing(path: Path) -> None:
    program = (
        "import sys; from k8slab.progress import Progress\n"
        "for n in range(25): Progress(sys.argv[1]).done('drill', f'{sys.argv[2]}/{n}', right=True)"
    )
    writers = [subprocess.Popen([sys.executable, "-c", program, str(path), f"topic-{n}"]) for n in range(4)]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0, 0]
    assert len(Progress(path).export()["entries"]["drill"]) == 100


def test_it_works_where_there_is_no_lock(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "flock", None)
    Progress(path).done("lab", "x")
    assert len(Progress(path).summary()) == 1


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"K8SLAB_HOME": "/k", "XDG_DATA_HOME": "/x"}, "/k/progress.json"),
        ({"XDG_DATA_HOME": "/x"}, "/x/k8slab/progress.json"),
        ({"HOME": "/h"}, "/h/.local/share/k8slab/progress.json"),
    ],
    ids=["K8SLAB_HOME first", "then XDG_DATA_HOME", "then the home folder"],
)
def test_where_it_is_kept(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], expected: str) -> None:
    for name in ("K8SLAB_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert default_path() == Path(expected)
