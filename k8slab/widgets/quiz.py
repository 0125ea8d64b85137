"""Quizzes: banks of questions in YAML, whose answers are decided by code that runs.

A bank (`book/quizzes/<name>.yml`):

    title: One Deployment                     # at most 60 characters
    questions:
      - id: who-creates-pods                  # letters, digits, hyphens; unique in the bank
        source: M10                           # M10 | E045 | SURPRISES | experiment
        question: Who creates the `Pod` objects of a Deployment?
        hint: Look at the owner references.   # optional
        options:                              # two or more; at least one correct, one not
          - text: the ReplicaSet controller
            correct: true
            explanation: It owns them.
            holds: value == "ReplicaSet"      # a Python expression on `value`
          - text: the Deployment controller
            correct: false
            explanation: It only makes ReplicaSets.
            holds: value == "Deployment"
        evidence: |                           # Python; the value of its last expression is `value`
          from k8slab import Cluster
          …

`check_evidence` runs the evidence and finds banks whose predicates hold for other options than the right ones.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from k8slab.progress import Progress, remember
from k8slab.widgets.assets import quiz_esm
from k8slab.widgets.model import mimebundle, quiz_model

__all__ = ["Bank", "EvidenceProblem", "Option", "Question", "Quiz", "QuizError", "Score", "check_evidence", "load_bank"]

_SOURCE = re.compile(r"[ME]\d{1,3}|SURPRISES|experiment")
_ID = re.compile(r"[a-z0-9][a-z0-9-]*")
_FOLDER = Path("book") / "quizzes"
NO_FILE = "<dict>"


class QuizError(ValueError):
    """A bank that cannot be used: says the file, the question, the field and what was expected."""


@dataclass(frozen=True, slots=True)
class Option:
    """One answer. `holds`: a Python expression on `value` that is true exactly when the answer is right."""

    text: str
    correct: bool
    explanation: str
    holds: str


@dataclass(frozen=True, slots=True)
class Question:
    """One question. `evidence`: Python whose last expression is the deciding value."""

    id: str
    source: str
    question: str
    options: tuple[Option, ...]
    evidence: str
    hint: str = ""

    @property
    def right(self) -> tuple[int, ...]:
        """The numbers of the right options, from 0."""
        return tuple(n for n, option in enumerate(self.options) if option.correct)


@dataclass(frozen=True, slots=True)
class Bank:
    """The questions of one file. `name`: the file, for messages; without a file (a dict) `<dict>`."""

    name: str
    title: str
    questions: tuple[Question, ...]


# -- loading ---------------------------------------------------------------------------------------


class _Loader(yaml.SafeLoader):
    """SafeLoader that refuses a key that is there twice."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key, _ in node.value:
            if key.value in seen:
                line = key.start_mark.line + 1
                raise QuizError(f"{self.name}, line {line}: key {key.value!r} is there twice, expected once")
            seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


def load_bank(source: str | Path | Mapping[str, Any]) -> Bank:
    """A bank by name (`book/quizzes/<name>.yml` in this folder or one above it), path, or as a dict.

    FileNotFoundError: no such bank. QuizError: a bank with a mistake, and where.
    """
    if isinstance(source, Mapping):
        return _bank(source, NO_FILE)
    path = _find(source)
    loader = _Loader(path.read_text(encoding="utf-8"))
    loader.name = path.name
    try:
        data = loader.get_single_data()
    except yaml.YAMLError as error:
        raise QuizError(f"{path.name}: not YAML: {' '.join(str(error).split())}") from error
    finally:
        loader.dispose()
    if isinstance(data, list):
        data = {"title": path.stem.replace("-", " ").capitalize(), "questions": data}
    return _bank(data, path.name)


def _find(source: str | Path) -> Path:
    path = Path(source)
    if path.suffix in (".yml", ".yaml") or path.is_file():
        if path.is_file():
            return path
        raise FileNotFoundError(f"quiz {str(source)!r}: there is no such file")
    here = Path.cwd()
    for folder in (here, *here.parents):
        found = folder / _FOLDER / f"{source}.yml"
        if found.is_file():
            return found
    raise FileNotFoundError(f"quiz {str(source)!r}: there is no {_FOLDER / str(source)}.yml in {here} or above it")


def _bank(data: Any, name: str) -> Bank:
    fields = _Fields(data, name, "", {"title", "questions"})
    title = fields.text("title")
    if len(title) > 60:
        fields.fail("title", title, "at most 60 characters")
    questions = [_question(q, n, name) for n, q in enumerate(fields.items("questions", 1), 1)]
    for n, question in enumerate(questions):
        if question.id in [q.id for q in questions[:n]]:
            _Fields(data, name, f", question {n + 1}", None).fail("id", question.id, "an id no other question has")
    return Bank(name, title, tuple(questions))


def _question(data: Any, number: int, name: str) -> Question:
    where = f", question {number}"
    if isinstance(data, Mapping) and isinstance(data.get("id"), str):
        where += f" ({data['id']})"
    fields = _Fields(data, name, where, {"id", "source", "question", "options", "evidence", "hint"})
    ident, source = fields.text("id"), fields.text("source")
    if not _ID.fullmatch(ident):
        fields.fail("id", ident, "small letters, digits and hyphens")
    if not _SOURCE.fullmatch(source):
        fields.fail("source", source, "M10, E045, SURPRISES or experiment")
    options = tuple(_option(o, n, name, where) for n, o in enumerate(fields.items("options", 2), 1))
    if len({option.correct for option in options}) == 1:
        fields.fail("options", [o.correct for o in options], "at least one correct and one that is not")
    evidence = fields.text("evidence")
    _value_of(fields, "evidence", evidence)
    hint = fields.text("hint") if "hint" in fields.data else ""
    return Question(ident, source, fields.text("question"), options, evidence, hint)


def _option(data: Any, number: int, name: str, where: str) -> Option:
    fields = _Fields(data, name, f"{where}, option {number}", {"text", "correct", "explanation", "holds"})
    correct = fields.data.get("correct")
    if not isinstance(correct, bool):
        fields.fail("correct", correct, "true or false")
    holds = fields.text("holds")
    try:
        compile(holds, "holds", "eval")
    except SyntaxError as error:
        fields.fail("holds", holds, f"a Python expression on `value` ({error.msg})")
    return Option(fields.text("text"), bool(correct), fields.text("explanation"), holds)


def _value_of(fields: _Fields, field: str, code: str) -> None:
    try:
        body = ast.parse(code).body
    except SyntaxError as error:
        fields.fail(field, code, f"Python ({error.msg}, line {error.lineno})")
    else:
        if not body or not isinstance(body[-1], ast.Expr):
            fields.fail(field, code, "Python that ends in an expression, the deciding value")


class _Fields:
    """One mapping of the bank, with errors that say where it stands."""

    def __init__(self, data: Any, name: str, where: str, known: set[str] | None) -> None:
        self.place = f"{name}{where}"
        if not isinstance(data, Mapping):
            raise QuizError(f"{self.place}: {data!r}: expected a mapping")
        self.data = data
        for key in data:
            if known is not None and key not in known:
                self.fail(str(key), data[key], f"one of the fields {', '.join(sorted(known))}")

    def text(self, field: str) -> str:
        value = self.data.get(field)
        if not isinstance(value, str) or not value.strip():
            self.fail(field, value, "text")
        return str(value)

    def items(self, field: str, least: int) -> Sequence[Any]:
        value = self.data.get(field)
        if not isinstance(value, list) or len(value) < least:
            self.fail(field, value, f"a list of {least} or more")
        return list(value or ())

    def fail(self, field: str, value: Any, expected: str) -> None:
        shown = repr(value)
        shown = shown if len(shown) <= 80 else shown[:79] + "…"
        raise QuizError(f"{self.place}: field {field!r}: {shown}: expected {expected}")


# -- evidence --------------------------------------------------------------------------------------


class EvidenceProblem(NamedTuple):
    """Something the evidence of a question does not bear out."""

    bank: str
    question: str
    message: str

    def __str__(self) -> str:
        return f"{self.bank}, question {self.question}: {self.message}"


def check_evidence(bank: Bank | str | Path | Mapping[str, Any]) -> list[EvidenceProblem]:
    """Run the evidence of every question; what is wrong with it: nothing, when exactly the right options hold.

    The snippets are run as they are: only for banks you trust.
    """
    bank = bank if isinstance(bank, Bank) else load_bank(bank)
    return [problem for question in bank.questions for problem in _check(bank.name, question)]


def _check(name: str, question: Question) -> Iterator[EvidenceProblem]:
    try:
        value = _run(question.evidence)
    except Exception as error:  # the snippet may do anything; the problem says what it raised
        yield EvidenceProblem(name, question.id, f"the evidence raises {type(error).__name__}: {error}")
        return
    for number, option in enumerate(question.options, 1):
        try:
            holds = bool(eval(option.holds, {"value": value}))
        except Exception as error:  # as above
            yield EvidenceProblem(name, question.id, f"option {number}: {option.holds!r} raises {error!r}")
            continue
        if holds is not option.correct:
            said = "correct" if option.correct else "not correct"
            yield EvidenceProblem(
                name, question.id, f"option {number} is {said}, but {option.holds!r} is {holds} for value {value!r}"
            )


def _run(code: str) -> Any:
    """Execute a snippet; the value of its last expression."""
    tree = ast.parse(code)
    last = tree.body.pop()
    assert isinstance(last, ast.Expr), "load_bank saw to that"
    scope: dict[str, Any] = {"__name__": "evidence"}
    exec(compile(tree, "evidence", "exec"), scope)
    return eval(compile(ast.Expression(last.value), "evidence", "eval"), scope)


# -- the widget ------------------------------------------------------------------------------------


class Score(NamedTuple):
    """How many questions were answered right, and how many there are."""

    right: int
    total: int

    def __str__(self) -> str:
        return f"{self.right} of {self.total}"


class Quiz:
    """Questions to answer. `source` as for `load_bank`; `only`: ids of the questions to ask, in that order.

    `chosen` and `score` know what the reader answered. Answers to a bank that has a file go into the reader's
    `k8slab.progress` as they are given. KeyError: an id the bank does not have.
    """

    def __init__(self, source: str | Path | Mapping[str, Any] | Bank, *, only: Sequence[str] = ()) -> None:
        bank = source if isinstance(source, Bank) else load_bank(source)
        by_id = {question.id: question for question in bank.questions}
        for ident in only:
            if ident not in by_id:
                raise KeyError(f"{bank.name} has no question {ident!r}; it has {', '.join(by_id)}")
        self.title = bank.title
        self.questions = tuple(by_id[ident] for ident in only) if only else bank.questions
        self._bank = bank
        self._model: Any = None

    @property
    def chosen(self) -> dict[str, list[int]]:
        """{question id: numbers of the options ticked, from 0} of the questions answered so far."""
        return dict(self._model.chosen) if self._model is not None else {}

    @property
    def score(self) -> Score:
        """How many are answered right."""
        chosen = self.chosen
        right = sum(sorted(chosen.get(q.id, ())) == list(q.right) for q in self.questions)
        return Score(right, len(self.questions))

    def __str__(self) -> str:
        lines = [self.title]
        for number, question in enumerate(self.questions, 1):
            lines += ["", f"{number}. {' '.join(question.question.split())}"]
            lines += [f"   ({'abcdefghij'[n % 10]}) {o.text.strip()}" for n, o in enumerate(question.options)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"Quiz({self.title!r}, {len(self.questions)} question{'s' * (len(self.questions) != 1)})"

    def _json(self) -> str:
        questions = [
            {
                "id": q.id,
                "question": q.question,
                "hint": q.hint,
                "evidence": q.evidence,
                "options": [{"text": o.text, "correct": o.correct, "explanation": o.explanation} for o in q.options],
            }
            for q in self.questions
        ]
        bank = {"title": self.title, "questions": questions}
        return json.dumps(bank, ensure_ascii=False, separators=(",", ":"))

    def widget(self) -> Any:
        """The Jupyter widget itself, for layouts; ImportError when anywidget is not installed."""
        if self._model is None:
            self._model = quiz_model()(_esm=quiz_esm(), bank=self._json())
            if self._bank.name != NO_FILE:
                self._model.observe(self._remember, "chosen")
        return self._model

    def _remember(self, change: Mapping[str, Any]) -> None:
        """Each answer that is new. `only` may leave some questions to another Quiz, so they are kept one by one."""
        name, ids = Path(self._bank.name).stem, [question.id for question in self._bank.questions]
        for question in self.questions:
            ticked = change["new"].get(question.id)
            if ticked is not None and ticked != change["old"].get(question.id):
                right = sorted(ticked) == list(question.right)
                remember(partial(Progress.answered, quiz=name, question=question.id, right=right, questions=ids))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        return mimebundle(self, **options)
