"""What counts as a right answer, in which spellings, and what a wrong one has confused.

An `Answer` is judged by reading: the text is turned into a value (an amount, a set of names, a duration) and values are
compared, so `0.5` and `500m`, `web, db` and `db web` are the same answer. A page without Python compares texts in a
normal form instead; `spellings` are those it accepts.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple

from k8slab.api.quantity import Quantity

__all__ = [
    "FORMS",
    "Answer",
    "Mistake",
    "Verdict",
    "amount",
    "choice",
    "duration",
    "exactly",
    "name_set",
    "normal",
    "numbers",
    "sequence",
    "whole",
    "yes_no",
]

LONGEST = 400
FORMS = ("exact", "fold", "set", "list", "letter-set", "letter-list")
_SEPARATORS = re.compile(r"(?:[\s,;()→]|-*>)+")
_NOBODY = ("none", "nobody", "nothing", "-")

Reader = Callable[[str], Any]


class Verdict(NamedTuple):
    """`right`: the answer counts. `message`: one sentence for the reader, of a wrong answer what it confused."""

    right: bool
    message: str


class Mistake(NamedTuple):
    """An answer somebody is likely to give, and what they confused."""

    text: str
    why: str


def normal(text: str, form: str) -> str:
    """The form in which a page without Python compares texts; `static/drill.js` does the same.

    >>> normal(" `web`, DB db ", "set"), normal("5 ms", "fold"), normal("1.50", "exact")
    ('db,web', '5 ms', '1.50')
    >>> normal("B > A.", "letter-list"), normal("BA", "letter-set"), normal("(No.)", "fold")
    ('b,a', 'a,b', 'no')
    """
    text = " ".join(re.sub(r"[`\"']", "", text).split())
    if form == "exact":
        return text
    text = text.lower()
    if form == "fold":
        return text.lstrip("( ").rstrip(").: ")
    words = _split(text)
    if form.startswith("letter") and not (len(words) == 1 and words[0] in _NOBODY):
        words = list("".join(words))
    return ",".join(dict.fromkeys(sorted(words)) if form.endswith("set") else words)


def _split(text: str) -> list[str]:
    """The words of a text in small letters, without what stands between them."""
    words = [word.rstrip(".:") for word in _SEPARATORS.split(text)]
    return [word for word in words if word not in ("", "and")]


@dataclass(frozen=True, slots=True)
class Answer:
    """`canonical`: the right answer as it is shown. `read` turns a text into the value that is compared; its ValueError
    says what was expected. `form`: one of FORMS. `hint`: what is said of a wrong answer that nobody foresaw. `others`:
    more spellings of the right one. `runs`: the answer is run, so no list of spellings can be complete."""

    canonical: str
    read: Reader = field(compare=False, repr=False)
    form: str
    hint: str
    others: tuple[str, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    runs: bool = False

    def problem(self, text: str) -> str:
        """Why a text can be no answer at all, right or wrong: what was expected. Empty when it can be judged."""
        if len(text) > LONGEST:
            return f"that is {len(text)} characters long; expected at most {LONGEST}"
        try:
            self.read(text)
        except ValueError as error:
            return str(error)
        return ""

    def check(self, text: str) -> Verdict:
        """Judge a text somebody typed; never raises. One that has a `problem` is not right, and told it."""
        if problem := self.problem(text):
            return Verdict(False, f"Not an answer to this question: {problem}.")
        given = self.read(text)
        if given == self.read(self.canonical):
            return Verdict(True, "Right.")
        for mistake in self.mistakes:
            if self.read(mistake.text) == given:
                return Verdict(False, mistake.why)
        return Verdict(False, self.hint)

    @property
    def spellings(self) -> tuple[str, ...]:
        """All accepted texts in normal form, the canonical one first."""
        return tuple(dict.fromkeys(normal(text, self.form) for text in (self.canonical, *self.others)))

    def foreseen(self) -> dict[str, str]:
        """Wrong answers in normal form, and what is said of them."""
        return {normal(mistake.text, self.form): mistake.why for mistake in reversed(self.mistakes)}


def _answer(
    canonical: str,
    read: Reader,
    form: str,
    hint: str,
    mistakes: Iterable[tuple[str, str]],
    others: Iterable[str] = (),
) -> Answer:
    """An Answer without mistakes that happen to be right this time, and without two that are the same value."""
    seen = [read(canonical)]
    kept = []
    for text, why in mistakes:
        value = read(text)
        if value not in seen:
            seen.append(value)
            kept.append(Mistake(text, why))
    return Answer(canonical, read, form, hint, tuple(others), tuple(kept))


# -- yes and no, words ------------------------------------------------------------------------------


def _one_of(options: Mapping[str, str]) -> Reader:
    """`options`: accepted word in small letters -> the option it stands for."""
    shown = ", ".join(dict.fromkeys(options.values()))
    words = {normal(word, "fold"): option for word, option in options.items()}

    def read(text: str) -> str:
        word = normal(text, "fold")
        if word not in words:
            raise ValueError(f"expected one of {shown}")
        return words[word]

    return read


def yes_no(right: bool, why: str) -> Answer:
    """`why`: what the other answer has confused."""
    words = {"yes": "yes", "y": "yes", "true": "yes", "no": "no", "n": "no", "false": "no"}
    canonical, other = ("yes", "no") if right else ("no", "yes")
    others = [word for word, means in words.items() if means == canonical]
    return _answer(canonical, _one_of(words), "fold", why, [(other, why)], others)


def choice(
    right: str, options: Collection[str], hint: str, mistakes: Mapping[str, str] | None = None,
    aliases: Mapping[str, str] | None = None,
) -> Answer:  # fmt: skip
    """One of `options`. `aliases`: other words for them."""
    words = {option.lower(): option for option in options} | {k.lower(): v for k, v in (aliases or {}).items()}
    others = [word for word, means in words.items() if means == right]
    return _answer(right, _one_of(words), "fold", hint, (mistakes or {}).items(), others)


def exactly(right: str, hint: str, mistakes: Mapping[str, str] | None = None) -> Answer:
    """A text where every character counts, but for quotes and blanks around it."""

    def read(text: str) -> str:
        text = normal(text, "exact")
        if not text:
            raise ValueError("expected a text")
        return text

    return _answer(right, read, "exact", hint, (mistakes or {}).items())


# -- numbers ----------------------------------------------------------------------------------------


def _whole(text: str, unit: str) -> int:
    digits = normal(text, "fold")
    for word in (unit.lower(), unit.lower().removesuffix("s"), "b" if unit == "bytes" else unit):
        digits = digits.removesuffix(word).strip()
    if not re.fullmatch(r"[+-]?[0-9]{1,3}(?:[,_ ][0-9]{3})+|[+-]?[0-9]{1,24}", digits):
        raise ValueError("expected a whole number")
    return int(re.sub("[,_ ]", "", digits))


def whole(right: int, hint: str, mistakes: Mapping[int, str] | None = None, *, unit: str = "") -> Answer:
    """A whole number. `unit`: a word that may follow it (`bytes`)."""
    others = [f"{right:,}", f"{right:_}", *([f"{right} {unit}", f"{right:,} {unit}"] if unit else [])]
    wrong = ((str(number), why) for number, why in (mistakes or {}).items())
    return _answer(str(right), lambda text: _whole(text, unit), "fold", hint, wrong, others)


_UNITS = {**{s: Fraction(10) ** e for s, e in {"": 0, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12}.items()},
          **{s: Fraction(1 << e) for s, e in {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}.items()}}  # fmt: skip


def _decimal(number: Fraction) -> str | None:
    """The number with at most three decimals; None where that loses something."""
    thousandths = number * 1000
    if thousandths.denominator != 1 or abs(thousandths.numerator) >= 10**16:
        return None
    return f"{float(number):.3f}".rstrip("0").rstrip(".") if number else "0"


def _spellings_of(amount: Quantity) -> list[str]:
    number = Fraction(amount.amount) * Fraction(10) ** amount.scale
    texts = {suffix: _decimal(number / size) for suffix, size in _UNITS.items()}
    found = [f"{text}{suffix}" for suffix, text in texts.items() if text is not None]
    return [text for text in found if Quantity.parse(text) == amount]


def _amount(text: str) -> Quantity:
    try:
        return Quantity.parse(normal(text, "exact"))
    except ValueError:
        raise ValueError("expected a quantity such as 500m, 1.5 or 2Gi") from None


def amount(right: Quantity, hint: str, mistakes: Iterable[tuple[Quantity, str]] = ()) -> Answer:
    """A quantity, in whatever unit."""
    wrong = [(str(quantity), why) for quantity, why in mistakes]
    return _answer(str(right), _amount, "exact", hint, wrong, _spellings_of(right))


_TIME_MS = {"ms": Fraction(1), "s": Fraction(1000), "m": Fraction(60_000), "h": Fraction(3_600_000)}
_TIME = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*(ms|s|m|h)")


def _duration(text: str) -> Fraction:
    """Milliseconds."""
    text = normal(text, "fold").replace(",", "")
    if re.fullmatch(r"[0-9]{1,12}(?:\.[0-9]{1,6})?", text):
        return Fraction(text)
    parts = _TIME.findall(text)
    if not parts or _TIME.sub("", text).strip():
        raise ValueError("expected a duration such as 320ms or 1.28s; a bare number is milliseconds")
    return sum((Fraction(number) * _TIME_MS[unit] for number, unit in parts), Fraction(0))


def _minutes(ms: int) -> str:
    minutes, rest = divmod(ms, 60_000)
    return (f"{minutes}m" if minutes else "") + (f"{_decimal(Fraction(rest, 1000))}s" if rest or not minutes else "")


def duration(right_ms: int, hint: str, mistakes: Mapping[int, str] | None = None) -> Answer:
    """A span of time; a bare number is milliseconds."""
    seconds = _decimal(Fraction(right_ms, 1000))
    others = [str(right_ms), f"{right_ms} ms", f"{right_ms:,}", f"{seconds}s", f"{seconds} s", _minutes(right_ms)]
    wrong = [(f"{ms}ms", why) for ms, why in (mistakes or {}).items() if ms >= 0]
    return _answer(f"{right_ms}ms", _duration, "fold", hint, wrong, others)


# -- several ----------------------------------------------------------------------------------------


def numbers(right: Sequence[int], hint: str, mistakes: Mapping[tuple[int, ...], str] | None = None) -> Answer:
    """Whole numbers in this order."""

    def read(text: str) -> tuple[int, ...]:
        words = _split(normal(text, "fold"))
        if len(words) != len(right) or not all(re.fullmatch("[+-]?[0-9]{1,12}", word) for word in words):
            raise ValueError(f"expected {len(right)} whole numbers, such as {', '.join('123456789'[: len(right)])}")
        return tuple(int(word) for word in words)

    wrong = ((_joined(map(str, row)), why) for row, why in (mistakes or {}).items())
    return _answer(_joined(map(str, right)), read, "list", hint, wrong)


def _joined(words: Iterable[str]) -> str:
    return ", ".join(words) or "none"


def _words(text: str, known: Mapping[str, str]) -> list[str]:
    words = _split(normal(text, "fold"))
    if not words:
        raise ValueError("expected names, or none")
    if len(words) == 1 and words[0] in _NOBODY:
        return []
    if _are_letters(known):
        words = [part for word in words for part in (word if set(word) <= set(known) else [word])]
    unknown = [word for word in words if word not in known]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is none of {', '.join(known.values())}")
    return [known[word] for word in words]


def _are_letters(known: Collection[str]) -> bool:
    """Single letters: they may be written as one word, `ACDB`."""
    return all(len(name) == 1 for name in known)


def name_set(
    right: Collection[str], known: Collection[str], hint: str,
    mistakes: Iterable[tuple[Collection[str], str]] = (),
) -> Answer:  # fmt: skip
    """Some of the names in `known`, in any order; none of them is written `none`."""
    by_word = {name.lower(): name for name in known}
    wrong = [(_joined(n for n in known if n in names), why) for names, why in mistakes]
    canonical = _joined(name for name in known if name in right)
    form = "letter-set" if _are_letters(known) else "set"
    return _answer(
        canonical, lambda text: frozenset(_words(text, by_word)), form, hint, wrong, _NOBODY if not right else ()
    )


def sequence(
    right: Sequence[str], known: Collection[str], hint: str,
    mistakes: Iterable[tuple[Sequence[str], str]] = (),
) -> Answer:  # fmt: skip
    """Words in this order, each as often as it comes; no word at all is written `none`."""
    by_word = {name.lower(): name for name in known}
    wrong = [(_joined(row), why) for row, why in mistakes]
    form = "letter-list" if _are_letters(known) else "list"
    return _answer(
        _joined(right), lambda text: tuple(_words(text, by_word)), form, hint, wrong, _NOBODY if not right else ()
    )
