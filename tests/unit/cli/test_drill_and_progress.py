"""`k8slab drill` and `k8slab progress`: exit codes, what they print, what they record."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from k8slab.cli import things
from k8slab.drill import TOPICS, drill
from tests.unit.cli.conftest import Answer

Run = Callable[..., Answer]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def typed(monkeypatch: pytest.MonkeyPatch, *lines: str) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal("".join(f"{line}\n" for line in lines)))


# -- drill ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [[], ["--list"], ["rollout", "--list"]])
def test_the_topics_are_listed(k8slab: Run, arguments: list[str]) -> None:
    answer = k8slab("drill", *arguments)
    assert answer.code == 0
    assert [line.split()[0] for line in answer.out.splitlines()[1:]] == list(TOPICS)


@pytest.mark.parametrize("topic", TOPICS)
def test_a_question_says_how_to_go_on_and_not_the_answer(k8slab: Run, topic: str) -> None:
    answer = k8slab("drill", topic, "--seed", "5")
    one = drill(topic, 5)
    assert (answer.code, answer.err) == (0, "")
    assert one.question in answer.out
    assert f"k8slab drill {topic} --seed 5 --answer" in answer.out
    assert one.explanation not in answer.out


def test_the_default_seed_is_1_and_texts_are_seeds(k8slab: Run) -> None:
    assert drill("rollout", 1).question in k8slab("drill", "rollout").out
    assert "--seed 'my own' --answer" in k8slab("drill", "rollout", "--seed", "my own").out


def test_the_answer_comes_with_the_question_and_the_explanation(k8slab: Run) -> None:
    one, out = drill("filters", 3), k8slab("drill", "filters", "--seed", "3", "--answer").out
    assert one.question in out and f"answer: {one.answer}\n" in out and one.explanation in out


def test_an_attempt_is_judged_and_recorded(k8slab: Run, home: Path) -> None:
    one = drill("quantities", 4)
    assert k8slab("drill", "quantities", "--seed", 4, "--try", one.answer) == (0, "Right.\n", "")
    wrong = one.judge.mistakes[0]
    assert k8slab("drill", "quantities", "--seed", 4, "--try", wrong.text) == (1, f"{wrong.why}\n", "")
    assert k8slab("drill", "quantities", "--seed", 5, "--try", drill("quantities", 5).judge.mistakes[0].text).code == 1
    assert "drill   quantities   1 right of 2, 3 tries" in k8slab("progress").out


def test_a_wrong_try_and_a_right_one_is_one_right_in_two_tries(k8slab: Run) -> None:
    one = drill("rollout", 3)
    assert k8slab("drill", "rollout", "--seed", 3, "--try", "7, 7").code == 1
    assert "0 right of 1 " in k8slab("progress").out
    assert k8slab("drill", "rollout", "--seed", 3, "--try", one.answer).code == 0
    assert "1 right of 1, 2 tries " in k8slab("progress").out


@pytest.mark.parametrize(
    ("topic", "text", "says"),
    [
        ("rollout", "banana", "--try 'banana': expected 2 whole numbers, such as 1, 2"),
        ("filters", "banana", "--try 'banana': 'banana' is none of n1, n2, n3, n4"),
        ("filters", "", "--try '': expected names, or none"),
        ("rollout", "9" * 401, "that is 401 characters long; expected at most 400"),
    ],
)
def test_what_is_no_answer_is_refused_with_what_was_expected_and_not_recorded(
    k8slab: Run, home: Path, topic: str, text: str, says: str
) -> None:
    answer = k8slab("drill", topic, "--seed", 3, "--try", text)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("k8slab drill: --try ") and says in answer.err
    assert not home.exists()


def test_an_attempt_can_show_the_answer_too(k8slab: Run) -> None:
    one = drill("scores", 2)
    answer = k8slab("drill", "scores", "--seed", 2, "--try", one.judge.mistakes[0].text, "--answer")
    assert answer.code == 1
    assert one.explanation in answer.out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["paxos"], "topic 'paxos': expected one of quantities, selectors"),
        (["rollout", "--seed", ""], "seed '': expected a number"),
        (["rollout", "--seed", "x" * 65], "expected a number, or 1 to 64 printable characters"),
        (["rollout", "--ask"], "standard input is no terminal; use --try"),
        (["rollout", "--ask", "--try", "1"], "not allowed with argument"),
        (["rollout", "more"], "unrecognized arguments: more"),
        (["--try", "x"], "k8slab drill: --try: which topic? expected one of quantities, selectors"),
        (["--try", ""], "k8slab drill: --try: which topic? expected one of quantities, selectors"),
        (["--ask"], "k8slab drill: --ask: which topic?"),
        (["--answer"], "k8slab drill: --answer: which topic?"),
        (["--seed", "1"], "k8slab drill: --seed: which topic?"),
    ],
)
def test_wrong_usage_is_2_and_says_why(
    k8slab: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    answer = k8slab("drill", *arguments)
    assert answer.code == 2
    assert says in answer.err


def test_a_terminal_is_asked_until_it_is_right(k8slab: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    one = drill("rollout", 6)
    typed(monkeypatch, "rubbish", one.answer)
    answer = k8slab("drill", "rollout", "--seed", 6, "--ask")
    assert answer.code == 0
    assert one.question in answer.out and answer.out.endswith("Right.\n")
    assert "1 right of 1 " in k8slab("progress").out, "rubbish was no try"


def test_an_empty_line_gives_up(k8slab: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, "")
    answer = k8slab("drill", "rollout", "--seed", 6, "--ask")
    assert answer.code == 1
    assert answer.out.endswith(f"the answer is {drill('rollout', 6).answer}\n")


def test_a_verdict_comes_although_it_cannot_be_recorded(k8slab: Run, home: Path) -> None:
    home.mkdir()
    (home / "progress.json").write_text("rubbish")
    one = drill("rollout", 6)
    answer = k8slab("drill", "rollout", "--seed", 6, "--try", one.answer)
    assert (answer.code, answer.out) == (0, "Right.\n")
    assert "progress is not kept: " in answer.err and "progress.json.broken" in answer.err


# -- progress ---------------------------------------------------------------------------------------


def test_nothing_yet(k8slab: Run, home: Path) -> None:
    answer = k8slab("progress")
    assert (answer.code, answer.out) == (0, f"nothing yet (it would be in {home / 'progress.json'})\n")


def test_things_can_be_marked_exported_reset_and_imported(k8slab: Run, tmp_path: Path) -> None:
    assert k8slab("progress", "--done", "chapter", "one-deployment").out == "chapter one-deployment: done\n"
    file = tmp_path / "mine.json"
    assert k8slab("progress", "--export", file).code == 0
    exported = k8slab("progress", "--export", "-").out
    assert json.loads(exported) == json.loads(file.read_text())
    assert k8slab("progress", "--reset", "--yes").code == 0
    assert "nothing yet" in k8slab("progress").out
    assert k8slab("progress", "--import", file).out == "1 new or changed\n"
    assert k8slab("progress", "--import", file).out == "0 new or changed\n"
    assert "chapter   one-deployment   done" in k8slab("progress").out


def test_an_import_keeps_names_that_are_not_known_and_tells_no_result_of_them(k8slab: Run, tmp_path: Path) -> None:
    one = {"first": "2026-05-01T09:00:00Z", "last": "2026-05-01T09:00:00Z", "times": 1, "detail": {"passed": True}}
    kinds: dict[str, list[str]] = {"chapter": ["paxos"], "lab": ["09-workqueue", "99-newer"], "drill": ["paxos/1"]}
    entries = {kind: dict.fromkeys(names, one) for kind, names in kinds.items()}
    file = tmp_path / "theirs.json"
    file.write_text(json.dumps({"version": 1, "entries": entries}))
    assert k8slab("progress", "--import", file).out == "4 new or changed\n"
    assert [" ".join(line.split()) for line in k8slab("progress").out.splitlines()[1:]] == [
        "chapter paxos not in this version of the book 2026-05-01",
        "lab 09-workqueue passed 2026-05-01",
        "lab 99-newer not in this version of the book 2026-05-01",
        "drill paxos not in this version of the book 2026-05-01",
    ]


def test_an_import_that_is_malformed_changes_nothing(k8slab: Run, home: Path, tmp_path: Path) -> None:
    file = tmp_path / "theirs.json"
    file.write_text('{"version": 1, "entries": {"lab": {"09-workqueue": {"first": "x", "last": "y", "times": -1}}}}')
    answer = k8slab("progress", "--import", file)
    assert (answer.code, answer.out) == (1, "")
    assert f"{file}: lab '09-workqueue': first: 'x': expected a time such as 2026-05-01T09:00:00Z" in answer.err
    assert not home.exists()


def test_without_a_book_beside_the_package_chapters_are_told_as_they_are(
    k8slab: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    k8slab("progress", "--done", "chapter", "one-deployment")
    monkeypatch.setattr(things, "__file__", str(tmp_path / "site" / "k8slab" / "cli" / "things.py"))
    foreign = tmp_path / "elsewhere" / "book"
    foreign.mkdir(parents=True)
    (foreign / "_toc.yml").write_text("root: theirs\n")
    monkeypatch.chdir(foreign.parent)
    assert "chapter   one-deployment   done" in k8slab("progress").out


def test_a_drill_that_is_marked_counts_as_right(k8slab: Run) -> None:
    assert k8slab("progress", "--done", "drill", "rollout/7").out == "drill rollout/7: done\n"
    assert "1 right of 1 " in k8slab("progress").out


def test_a_seed_with_a_slash_is_marked_under_the_name_that_its_drill_has(k8slab: Run, home: Path) -> None:
    k8slab("drill", "quantities", "--seed", "1/2", "--try", "5")
    assert k8slab("progress", "--done", "drill", "quantities/1/2").code == 0
    drills = json.loads((home / "progress.json").read_text())["entries"]["drill"]
    assert {name: one["times"] for name, one in drills.items()} == {"quantities/1/2": 2}


def test_without_a_book_there_are_no_chapters_to_mark(
    k8slab: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(things, "__file__", str(tmp_path / "site" / "k8slab" / "cli" / "things.py"))
    monkeypatch.chdir(tmp_path)
    answer = k8slab("progress", "--done", "chapter", "one-deployment")
    assert answer.code == 2 and f"there is no book (book/_toc.yml) in {tmp_path} or above it" in answer.err


def test_an_import_from_standard_input(k8slab: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"version": 1, "entries": {}}')))
    assert k8slab("progress", "--import", "-") == (0, "0 new or changed\n", "")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"rubbish")))
    answer = k8slab("progress", "--import", "-")
    assert answer.code == 1 and "standard input: not JSON" in answer.err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--done", "book", "x"], 2, "kind 'book': expected one of chapter"),
        (["--done", "labs", "09"], 2, "kind 'labs': expected one of chapter, quiz, lab, drill; did you mean lab?"),
        (["--done", "lab"], 2, "expected 2 arguments"),
        (["--done", "lab", "foo"], 2, "lab 'foo': expected one of 01-raft-election, 02-raft-replication"),
        (["--done", "lab", "09-workqeue"], 2, "; did you mean 09-workqueue?"),
        (["--done", "chapter", "one-deploymnt"], 2, "; did you mean one-deployment?"),
        (
            ["--done", "chapter", "glossary"],
            2,
            "chapter 'glossary': expected one of intro, how-to-read, one-deployment",
        ),
        (["--done", "quiz", "objects"], 2, "; did you mean objects-and-apis?"),
        (["--done", "quiz", "none"], 2, "quiz 'none': expected one of admission, affinity-and-spread, bug-museum, "),
        (["--done", "drill", "paxos/1"], 2, "drill 'paxos': expected one of quantities, selectors"),
        (["--done", "drill", "rollout"], 2, "drill 'rollout': expected TOPIC/SEED, such as rollout/1"),
        (["--done", "drill", "rollout/"], 2, "seed '': expected a number"),
        (["--import", "/no/such/file"], 1, "k8slab progress: /no/such/file: No such file or directory\n"),
        (["--import", "/"], 1, "k8slab progress: /: Is a directory\n"),
        (["--import", ""], 2, "argument --import: '': expected the name of a file"),
        (["--export", "/no/such/folder/file"], 1, "k8slab progress: /no/such/folder/file: No such file or directory\n"),
        (["--export", "/"], 1, "k8slab progress: /: Is a directory\n"),
        (["--export", ""], 2, "argument --export: '': expected the name of a file"),
        (["--reset"], 2, "standard input is no terminal; add --yes"),
        (["--reset", "--done", "lab", "09"], 2, "not allowed with argument"),
    ],
)
def test_what_is_not_possible_is_said(
    k8slab: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, says: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    answer = k8slab("progress", *arguments)
    assert answer.code == code
    assert says in answer.err


@pytest.mark.parametrize(("word", "code", "left"), [("y", 0, 0), ("n", 1, 1), ("", 1, 1)])
def test_a_reset_asks(k8slab: Run, monkeypatch: pytest.MonkeyPatch, word: str, code: int, left: int) -> None:
    k8slab("progress", "--done", "lab", "09")
    typed(monkeypatch, word)
    assert k8slab("progress", "--reset").code == code
    assert k8slab("progress").out.count("lab    09-workqueue") == left


def test_a_broken_file_is_named(k8slab: Run, home: Path) -> None:
    home.mkdir()
    (home / "progress.json").write_text("rubbish")
    answer = k8slab("progress")
    assert answer.code == 1
    assert f"{home / 'progress.json'}: cannot be read as progress" in answer.err
