"""Every question bank of the book loads, and its evidence bears out exactly the options that are said to be right."""

from __future__ import annotations

import contextlib
import gc
import io
from pathlib import Path

import pytest

from k8slab.widgets import check_evidence, load_bank

ROOT = Path(__file__).resolve().parents[2]
BANKS = sorted((ROOT / "book" / "quizzes").glob("*.yml"))
QUESTIONS = [(path, question.id) for path in BANKS for question in load_bank(path).questions]


# Evidence is as short as a reader's cell, and closes no cluster: what its tasks leave unawaited is thrown away at once,
# or it would be told of a later test.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore:coroutine:RuntimeWarning")
@pytest.mark.parametrize(("path", "ident"), QUESTIONS, ids=[f"{path.stem}: {ident}" for path, ident in QUESTIONS])
def test_the_evidence_decides_for_the_right_options(path: Path, ident: str, monkeypatch: pytest.MonkeyPatch) -> None:
    gc.freeze()  # what earlier tests left is not looked at again for every question
    monkeypatch.chdir(ROOT / "book")
    bank = load_bank(path)
    one = type(bank)(bank.name, bank.title, tuple(q for q in bank.questions if q.id == ident))
    with contextlib.redirect_stdout(io.StringIO()):
        assert [str(problem) for problem in check_evidence(one)] == []
    gc.collect()


def test_ids_are_unique_over_all_banks() -> None:
    found: dict[str, Path] = {}
    for path, ident in QUESTIONS:
        assert ident not in found, f"{ident} is in {path.name} and in {found[ident].name}"
        found[ident] = path
