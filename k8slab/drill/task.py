"""What a coding task is made of: a judge that asks the reader's function, case by case, the smallest first.

A judge makes a case from a random stream and asks the function through a `Call`. Whatever the function does (raise,
return nonsense, change what it was given) becomes a `Wrong` with the property that broke and the case, never a
traceback. A function that never returns is not survived: interrupt the cell.

Simplified: nothing; this module has no upstream.
"""

from __future__ import annotations

import copy
import inspect
import random
import reprlib
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from k8slab.scheduler import Code, Status

__all__ = [
    "Call",
    "Task",
    "TaskVerdict",
    "Wrong",
    "a_list",
    "a_mapping",
    "a_status",
    "a_whole_number",
    "distinct",
    "either",
    "shown",
]

_T = TypeVar("_T")
_WIDTH = 76

_brief = reprlib.Repr()
_brief.maxstring = _brief.maxother = 120
_brief.maxdict = _brief.maxlist = _brief.maxtuple = _brief.maxset = 12
_brief.maxlevel = 8


def shown(value: Any) -> str:
    """A value of the reader's, short, whatever its `repr` does."""
    try:
        return " ".join(_brief.repr(value).split())
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a class of the reader's may do anything here, and what it did is said
        return f"a {type(value).__name__} whose repr raises {type(error).__name__}"


@dataclass(frozen=True, slots=True)
class TaskVerdict:
    """What became of a function: `right`, and one or two sentences for the reader.

    Of a wrong one also the `property` that broke, as a full sentence, and the `case` in which it did. `cases`: how many
    were run, the broken one included.
    """

    right: bool
    message: str
    property: str = ""
    case: str = ""
    cases: int = 0

    def __str__(self) -> str:
        """All of it, folded to the width of a page."""
        if self.right:
            return self.message
        lines = [*_folded("Not yet.", self.message)]
        if self.property:
            lines += _folded("Broken:", self.property)
        if self.case:
            lines += [f"Case {self.cases}:", *(line for part in self.case.splitlines() for line in _folded("  ", part))]
        return "\n".join(lines)


def _folded(start: str, text: str) -> list[str]:
    joint = "" if start.isspace() else " "
    return textwrap.wrap(f"{start}{joint}{text}", _WIDTH, subsequent_indent="    ", break_long_words=False)


class Wrong(Exception):
    """The function broke a property. `property`: its name in the task's `properties`."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.property, self.message = name, message


@dataclass(slots=True)
class Call:
    """The reader's function in one case. `case`: what a failure shows, line by line. `asked`: it was called."""

    function: Callable[..., Any]
    case: Mapping[str, Any] = field(default_factory=dict)
    asked: bool = False

    def on_copies(self, *args: Any) -> Any:
        """What it returns for copies of `args`: it may change them, nobody sees it."""
        return self(*copy.deepcopy(args))

    def __call__(self, *args: Any) -> Any:
        """What it returns for `args` themselves."""
        self.asked = True
        try:
            value = self.function(*args)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever the reader's code raises is the verdict
            raise Wrong("answers", f"It raised {type(error).__name__}: {_text(error)}") from error
        if inspect.iscoroutine(value):
            value.close()
            raise Wrong("answers", "It returned a coroutine. Expected a plain function: `def`, not `async def`.")
        return value

    def view(self) -> str:
        """The case as text: one line a name, and one for each Node or Pod of several."""
        return "\n".join(line for name, value in self.case.items() for line in _lines(name, value))


def _lines(name: str, value: Any) -> list[str]:
    if isinstance(value, dict) and any(isinstance(item, dict) for item in value.values()):
        return [f"{name}:", *(f"  {key}: {shown(item)}" for key, item in value.items())]
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return [f"{name}:", *(f"  {shown(item)}" for item in value)]
    return [f"{name}: {shown(value)}"]


def _text(error: BaseException) -> str:
    try:
        return " ".join(str(error).split())[:200] or "no message"
    except KeyboardInterrupt:
        raise
    except BaseException as second:  # an exception class of the reader's may do anything here
        return f"a message that raises {type(second).__name__}"


Judge = Callable[[Call, random.Random, int], None]
"""Makes case number `n` (from 0, the larger the harder) from a random stream, and raises Wrong."""


@dataclass(frozen=True, slots=True)
class Task:
    """`signature`: how the function is called. `properties`: what it has to hold, by name, as full sentences."""

    name: str
    signature: str
    properties: Mapping[str, str]
    judge: Judge
    source: str
    cases: int = 200

    def check(self, function: Any, rng: random.Random) -> TaskVerdict:
        """Judge a function by this task's cases. Raises KeyboardInterrupt, and what the judge itself does wrong."""
        if not callable(function):
            return TaskVerdict(False, f"{shown(function)} is no function: expected {self.signature}.")
        for number in range(self.cases):
            call = Call(function)
            try:
                self.judge(call, rng, number)
            except Wrong as wrong:
                says = self.properties.get(wrong.property, ANSWERS)
                return TaskVerdict(False, wrong.message, says, call.view(), number + 1)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # what it returned may do anything when it is looked at
                if not call.asked:
                    raise
                message = f"What it returned cannot be read. That raised {type(error).__name__}: {_text(error)}"
                return TaskVerdict(False, message, ANSWERS, call.view(), number + 1)
        return TaskVerdict(True, f"Right: {self.cases} cases.", cases=self.cases)


ANSWERS = "It answers every case, with the type that was asked for."


# -- reading what came back --------------------------------------------------------------------------


def _expected(value: Any, what: str) -> Wrong:
    if value is None:
        return Wrong("answers", f"It returned None. Expected {what}.")
    return Wrong("answers", f"It returned {shown(value)}, of type {type(value).__name__}. Expected {what}.")


def a_whole_number(value: Any, least: int, most: int) -> int:
    """An int from `least` to `most`; anything else is Wrong."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _expected(value, f"a whole number from {least} to {most}")
    return int(value)


def a_list(value: Any, of: type[_T], what: str) -> list[_T]:
    """A list (or tuple) of `of`; anything else is Wrong. `what`: what was expected, in words."""
    if not isinstance(value, list | tuple) or not all(isinstance(item, of) for item in value):
        raise _expected(value, what)
    return list(value)


def a_mapping(value: Any, what: str) -> dict[Any, Any]:
    """A dict; anything else is Wrong."""
    if not isinstance(value, dict):
        raise _expected(value, what)
    return dict(value)


def a_status(value: Any) -> Status:
    """A Status with a Code and texts as reasons; anything else is Wrong."""
    if not isinstance(value, Status):
        raise _expected(value, "a Status: SUCCESS, or Status(Code.…, 'reason')")
    if not isinstance(value.code, Code):
        told = f"Its code is {shown(value.code)}, of type {type(value.code).__name__}"
        raise Wrong("answers", f"{told}. Expected a Code, such as Code.ERROR.")
    for reason in value.reasons:
        if not isinstance(reason, str):
            told = f"One of its reasons is {shown(reason)}, of type {type(reason).__name__}"
            raise Wrong("answers", f"{told}. Reasons are texts: of an exception, str(error).")
    return value


def distinct(names: Sequence[str], what: str) -> None:
    """Wrong when a name is there twice."""
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise Wrong("answers", f"It names {twice[0]} twice. Expected {what}, each once.")


def either(mistakes: Iterable[str]) -> str:
    """What may have been confused, to be put after a sentence; several where one case cannot tell them apart."""
    return "".join(f" {'Or: ' if number else ''}{text}" for number, text in enumerate(mistakes))
