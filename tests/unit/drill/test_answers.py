"""How answers are read: spellings that mean the same, and what is said of those that cannot be read."""

from __future__ import annotations

import pytest

from k8slab.api.quantity import Quantity
from k8slab.drill.answers import (
    Answer,
    amount,
    choice,
    duration,
    exactly,
    name_set,
    normal,
    numbers,
    sequence,
    whole,
    yes_no,
)

HALF = amount(Quantity.parse("500m"), "hint", [(Quantity.parse("5"), "That is whole CPUs.")])
THREE = whole(3145728, "hint", {3: "That is Mi."}, unit="bytes")
WAIT = duration(80_000, "hint", {40_000: "One doubling short."})
PODS = name_set(["web", "db"], ["web", "db", "cache"], "hint", [(["cache"], "Those are the others.")])
NOBODY = name_set([], ["web", "db"], "hint")
PAIR = numbers([3, 2], "hint", {(2, 3): "The other way round."})
EVENTS = sequence(["ADDED/a", "DELETED/a"], ["ADDED/a", "DELETED/a"], "hint", [(["ADDED/a"], "It is deleted, too.")])
ORDER = sequence("ACDB", "ABCD", "hint", [("ABCD", "Not in the order of the table.")])
SOME = name_set("AC", "ABCD", "hint", [("ABCD", "Not all of them.")])
LETTER = choice("C", "ABC", "hint", {"A": "Not the first."})
CALLED = choice("f(x)", ["f(x)", "g:"], "hint")
QOS = choice("Burstable", ["Guaranteed", "Burstable"], "hint", {"Guaranteed": "Not all are equal."}, {"b": "Burstable"})
TEXT = exactly("1500m", "hint", {"1.5": "That is what was written."})

RIGHT = [
    (HALF, ["500m", "0.5", ".5", "0.50", "`500m`", " 500m ", "500000u", "5e-1"]),
    (THREE, ["3145728", "3,145,728", "3_145_728", "3 145 728", "3145728 bytes", "3145728 B", "+3145728"]),
    (WAIT, ["80000ms", "80000", "80s", "80 s", "1m20s", "1m 20s", "80,000 ms", "80.0s"]),
    (PODS, ["web, db", "db web", "db,web", "DB; WEB", "web and db", "web web db"]),
    (NOBODY, ["none", "nobody", "-", "None"]),
    (PAIR, ["3, 2", "3 2", "3 and 2", "+3;2"]),
    (EVENTS, ["ADDED/a, DELETED/a", "added/a deleted/a"]),
    (ORDER, ["ACDB", "acdb", "A > C > D > B", "A, C, D, B.", "A->C->D->B", "A → C → D → B", "(A) C D B"]),
    (SOME, ["AC", "CA", "A and C", "a, c.", "A: C:"]),
    (LETTER, ["C", "c", "(C)", "c:", "c.", "(c):"]),
    (CALLED, ["f(x)", "F(x)."]),
    (QOS, ["Burstable", "burstable", "b", "BURSTABLE."]),
    (TEXT, ["1500m", "'1500m'", '"1500m"']),
    (yes_no(True, "why"), ["yes", "y", "True", "YES."]),
]
WRONG = [
    (HALF, "5", "That is whole CPUs."),
    (HALF, "5000m", "That is whole CPUs."),
    (HALF, "501m", "hint"),
    (HALF, "half", "expected a quantity such as 500m, 1.5 or 2Gi"),
    (THREE, "3", "That is Mi."),
    (THREE, "3.5", "expected a whole number"),
    (THREE, "1" * 30, "expected a whole number"),
    (WAIT, "40s", "One doubling short."),
    (WAIT, "80 days", "expected a duration such as 320ms"),
    (WAIT, "ms", "expected a duration"),
    (PODS, "cache", "Those are the others."),
    (PODS, "web, dB2", "'db2' is none of web, db, cache"),
    (PODS, "", "expected names, or none"),
    (NOBODY, "web", "hint"),
    (PAIR, "2, 3", "The other way round."),
    (PAIR, "3", "expected 2 whole numbers, such as 1, 2"),
    (EVENTS, "DELETED/a, ADDED/a", "hint"),
    (EVENTS, "ADDED/a", "It is deleted, too."),
    (ORDER, "ABCD", "Not in the order of the table."),
    (ORDER, "ACDX", "'acdx' is none of A, B, C, D"),
    (SOME, "abcd", "Not all of them."),
    (LETTER, "(a)", "Not the first."),
    (CALLED, "g:", "hint"),
    (QOS, "guaranteed", "Not all are equal."),
    (QOS, "best", "expected one of Guaranteed, Burstable"),
    (TEXT, "1.5", "That is what was written."),
    (TEXT, "1500M", "hint"),
    (yes_no(True, "why"), "no", "why"),
    (yes_no(True, "why"), "maybe", "expected one of yes, no"),
    (yes_no(True, "why"), "x" * 500, "500 characters long"),
]


@pytest.mark.parametrize(("answer", "texts"), RIGHT, ids=[answer.canonical for answer, _ in RIGHT])
def test_spellings_that_mean_the_same_are_right(answer: Answer, texts: list[str]) -> None:
    assert [text for text in texts if not answer.check(text).right] == []


@pytest.mark.parametrize("answer", [ORDER, SOME, LETTER, CALLED], ids=lambda answer: answer.canonical)
def test_a_page_takes_letters_in_the_same_spellings(answer: Answer) -> None:
    texts = next(texts for one, texts in RIGHT if one is answer)
    assert [text for text in texts if normal(text, answer.form) not in answer.spellings] == []


@pytest.mark.parametrize(("answer", "text", "says"), WRONG, ids=[f"{a.canonical}: {text[:20]}" for a, text, _ in WRONG])
def test_a_wrong_answer_is_told_what_it_confused(answer: Answer, text: str, says: str) -> None:
    verdict = answer.check(text)
    assert not verdict.right
    assert says in verdict.message


def test_a_mistake_that_is_right_this_time_is_no_mistake() -> None:
    answer = whole(1, "hint", {1: "That forgets the second.", 2: "Once too often."})
    assert [mistake.text for mistake in answer.mistakes] == ["2"]
    assert answer.check("1").right


def test_of_two_reasons_for_one_answer_the_first_counts() -> None:
    answer = amount(Quantity.parse("1"), "hint", [(Quantity.parse("2"), "first"), (Quantity.parse("2000m"), "second")])
    assert answer.check("2").message == "first"
    assert answer.foreseen() == {"2": "first"}


@pytest.mark.parametrize(
    ("text", "form", "expected"),
    [
        (" 1.50 ", "exact", "1.50"),
        ("`Yes`", "fold", "yes"),
        ("b a  a", "set", "a,b"),
        ("b, a;a", "list", "b,a,a"),
        ("", "set", ""),
    ],
)
def test_the_normal_form_of_a_page(text: str, form: str, expected: str) -> None:
    assert normal(text, form) == expected
