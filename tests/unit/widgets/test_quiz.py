"""Quiz banks: what is wrong with one is said with file, question, field and what was expected."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml

from k8slab.progress import Progress
from k8slab.widgets import Quiz, QuizError, Score, check_evidence, load_bank

BANK: dict[str, Any] = {
    "title": "One Deployment",
    "questions": [
        {
            "id": "who",
            "source": "M10",
            "question": "Who creates Pods?",
            "hint": "Look at the owner.",
            "options": [
                {"text": "a", "correct": True, "explanation": "It owns them.", "holds": "value == 'a'"},
                {"text": "b", "correct": False, "explanation": "It scales.", "holds": "value == 'b'"},
            ],
            "evidence": "found = ['a', 'b']\nfound[0]",
        },
        {
            "id": "which",
            "source": "experiment",
            "question": "Which are even?",
            "options": [
                {"text": "2", "correct": True, "explanation": "Twice one.", "holds": "2 in value"},
                {"text": "4", "correct": True, "explanation": "Twice two.", "holds": "4 in value"},
                {"text": "5", "correct": False, "explanation": "Odd.", "holds": "5 in value"},
            ],
            "evidence": "[n for n in range(2, 6) if n % 2 == 0]",
        },
    ],
}


def changed(**changes: Any) -> dict[str, Any]:
    """The bank with fields of its first question replaced (None: removed)."""
    bank = deepcopy(BANK)
    question = bank["questions"][0]
    for name, value in changes.items():
        if value is None:
            question.pop(name)
        else:
            question[name] = value
    return bank


def with_option(**changes: Any) -> dict[str, Any]:
    options = deepcopy(BANK["questions"][0]["options"])
    options[1] = {k: v for k, v in {**options[1], **changes}.items() if v is not None}
    return changed(options=options)


WRONG = [
    ("a title that is missing", {"questions": BANK["questions"]}, "field 'title': None: expected text"),
    ("a field nobody knows", {**BANK, "author": "x"}, "field 'author': 'x': expected one of the fields"),
    ("no questions", {"title": "t", "questions": []}, "field 'questions': []: expected a list of 1 or more"),
    ("a question that is text", {"title": "t", "questions": ["why"]}, "question 1: 'why': expected a mapping"),
    ("a question without an id", changed(id=None), "question 1: field 'id': None: expected text"),
    ("an id with spaces", changed(id="Who is"), "field 'id': 'Who is': expected small letters, digits"),
    ("an id that is there twice", changed(id="which"), "question 2: field 'id': 'which': expected an id no other"),
    ("a source of no list", changed(source="Wikipedia"), "question 1 (who): field 'source': 'Wikipedia': expected M10"),
    ("one option", changed(options=BANK["questions"][0]["options"][:1]), "expected a list of 2 or more"),
    ("no right option", changed(options=[BANK["questions"][0]["options"][1]] * 2), "expected at least one correct"),
    ("correct that is a word", with_option(correct="no"), "question 1 (who), option 2: field 'correct': 'no'"),
    ("an option without a reason", with_option(explanation=None), "option 2: field 'explanation': None: expected text"),
    ("a predicate that is no Python", with_option(holds="value =="), "field 'holds': 'value ==': expected a Python"),
    ("no evidence", changed(evidence=None), "question 1 (who): field 'evidence': None: expected text"),
    ("evidence that is no Python", changed(evidence="a b"), "field 'evidence': 'a b': expected Python (invalid"),
    ("evidence that ends in no value", changed(evidence="a = 1"), "expected Python that ends in an expression"),
    ("an empty hint", changed(hint=" "), "field 'hint': ' ': expected text"),
]


@pytest.mark.parametrize(("bank", "says"), [row[1:] for row in WRONG], ids=[row[0] for row in WRONG])
def test_a_mistake_is_named_with_its_place(tmp_path: Path, bank: dict[str, Any], says: str) -> None:
    path = tmp_path / "bank.yml"
    path.write_text(yaml.safe_dump(bank), encoding="utf-8")
    with pytest.raises(QuizError) as caught:
        load_bank(path)
    assert str(caught.value).startswith("bank.yml")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [("title: [", "bank.yml: not YAML"), ("title: a\ntitle: b\n", "bank.yml, line 2: key 'title' is there twice")],
    ids=["malformed", "a key twice"],
)
def test_bad_yaml_is_named_with_its_place(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bank.yml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(QuizError, match=says):
        load_bank(path)


def test_a_bank_is_found_by_name_in_this_folder_or_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "book" / "quizzes"
    folder.mkdir(parents=True)
    (folder / "small.yml").write_text(yaml.safe_dump(BANK), encoding="utf-8")
    below = tmp_path / "book" / "start"
    below.mkdir()
    monkeypatch.chdir(below)
    assert load_bank("small") == load_bank(folder / "small.yml")
    with pytest.raises(FileNotFoundError, match=r"quiz 'large': there is no book/quizzes/large\.yml in .* or above it"):
        load_bank("large")


def test_a_bank_that_is_a_list_takes_its_title_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "one-deployment.yml"
    path.write_text(yaml.safe_dump(BANK["questions"]), encoding="utf-8")
    assert load_bank(path).title == "One deployment"


# -- evidence --------------------------------------------------------------------------------------


def test_evidence_that_bears_out_the_right_options_has_no_problem() -> None:
    assert check_evidence(BANK) == []


@pytest.mark.parametrize(
    ("bank", "says"),
    [
        (
            changed(evidence="'b'"),
            ["option 1 is correct, but \"value == 'a'\" is False", "option 2 is not correct, but"],
        ),
        (with_option(holds="True"), ["option 2 is not correct, but 'True' is True for value 'a'"]),
        (with_option(holds="value.x"), ["option 2: 'value.x' raises AttributeError"]),
        (changed(evidence="1 / 0"), ["the evidence raises ZeroDivisionError: division by zero"]),
    ],
    ids=["another value", "a predicate that always holds", "a predicate that raises", "evidence that raises"],
)
def test_evidence_that_says_something_else_is_a_problem(bank: dict[str, Any], says: list[str]) -> None:
    found = [str(problem) for problem in check_evidence(bank)]
    assert len(found) == len(says)
    for problem, part in zip(found, says, strict=True):
        assert problem.startswith("<dict>, question who: ")
        assert part in problem


def test_snippets_do_not_see_each_other() -> None:
    bank = deepcopy(BANK)
    bank["questions"][1]["evidence"] = "found"
    assert ["NameError" in str(problem) for problem in check_evidence(bank)] == [True]


# -- the widget ------------------------------------------------------------------------------------


def test_answers_reach_python() -> None:
    quiz = Quiz(BANK)
    assert quiz.score == Score(0, 2)
    quiz.widget().chosen = {"who": [1], "which": [0, 1]}
    assert quiz.chosen == {"who": [1], "which": [0, 1]}
    assert str(quiz.score) == "1 of 2"
    quiz.widget().chosen = {"who": [0], "which": [0]}
    assert quiz.score == Score(1, 2)


@pytest.fixture
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("K8SLAB_HOME", str(tmp_path / "home"))
    path = tmp_path / "toy.yml"
    path.write_text(json.dumps(BANK))  # JSON is YAML
    return path


def kept() -> list[tuple[str, ...]]:
    return [tuple(row[:3]) for row in Progress().summary().rows]


def test_answers_reach_the_readers_progress_and_the_last_right_one_finishes_the_chapter(bank: Path) -> None:
    first, second = Quiz(bank, only=["who"]), Quiz(bank, only=["which"])
    first.widget().chosen = {"who": [1]}
    assert kept() == [("quiz", "toy", "0 of 2 right, 1 not answered yet")]
    first.widget().chosen = {}  # try again
    first.widget().chosen = {"who": [0]}
    second.widget().chosen = {"which": [0]}
    assert kept() == [("quiz", "toy", "1 of 2 right")]
    second.widget().chosen = {"which": [1, 0]}
    assert kept() == [("chapter", "toy", "done"), ("quiz", "toy", "2 of 2 right")]


def test_a_quiz_that_is_only_shown_or_has_no_file_leaves_no_trace(bank: Path, tmp_path: Path) -> None:
    Quiz(bank).widget()
    Quiz(BANK).widget().chosen = {"who": [0]}
    assert not (tmp_path / "home").exists()


def test_a_quiz_goes_on_where_progress_cannot_be_written(
    bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "home").write_text("a file where the folder should be")
    quiz = Quiz(bank)
    quiz.widget().chosen = {"who": [0]}
    quiz.widget().chosen = {"who": [0], "which": [0]}
    assert str(quiz.score) == "1 of 2"
    assert capsys.readouterr().err.count("progress is not kept") == 1


def test_questions_can_be_picked() -> None:
    quiz = Quiz(BANK, only=["which"])
    assert [q["id"] for q in json.loads(quiz.widget().bank)["questions"]] == ["which"]
    with pytest.raises(KeyError, match="has no question 'nope'; it has who, which"):
        Quiz(BANK, only=["nope"])


def test_a_quiz_reads_as_text_and_its_repr_is_stable() -> None:
    quiz = Quiz(BANK)
    assert repr(quiz) == "Quiz('One Deployment', 2 questions)"
    assert quiz._repr_mimebundle_()["text/plain"] == repr(quiz)
    assert str(quiz).splitlines()[:4] == ["One Deployment", "", "1. Who creates Pods?", "   (a) a"]
