"""Coding tasks: what a function may return, and that whatever it returns there is a verdict."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from k8slab.drill import TASKS, check_task
from k8slab.drill.task import Call, Task
from k8slab.scheduler import SUCCESS, Code, PluginError, Status

Json = dict[str, Any]
ANSWERS = "It answers every case, with the type that was asked for."


def pre_bind_that_returns_the_exception(volumes: Any, pod: Json, node_name: str) -> Status:
    for volume in pod["spec"]["volumes"]:
        try:
            volumes.attach(volume["name"], node_name)
        except PluginError as error:
            return Status(Code.ERROR, error)  # type: ignore[arg-type]
    return SUCCESS


def node_name_with_a_list(pod: Json, node_name: str) -> Status:
    if pod["spec"].get("nodeName") in (None, "", node_name):
        return SUCCESS
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, ["another name"])  # type: ignore[arg-type]


def gang_with_an_exception(handle: Any, pod: Json) -> tuple[Status, int]:
    return Status(Code.UNSCHEDULABLE, ValueError("no gang")), 0  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "function", "says"),
    [
        pytest.param("pre-bind", pre_bind_that_returns_the_exception, "of type PluginError", id="an exception"),
        pytest.param("node-name", node_name_with_a_list, "['another name'], of type list", id="a list"),
        pytest.param("gang", gang_with_an_exception, "ValueError('no gang'), of type ValueError", id="in a pair"),
    ],
)
def test_a_reason_that_is_no_text_is_told_that_reasons_are_texts(
    name: str, function: Callable[..., Any], says: str
) -> None:
    verdict = check_task(name, function)
    assert not verdict.right
    assert says in verdict.message
    assert "Reasons are texts" in verdict.message
    assert verdict.property == ANSWERS


def test_a_code_given_as_a_text_is_told_that_it_is_one() -> None:
    def node_name(pod: Json, node_name: str) -> Status:
        if pod["spec"].get("nodeName") in (None, "", node_name):
            return SUCCESS
        return Status("UnschedulableAndUnresolvable", "other")  # type: ignore[arg-type]

    verdict = check_task("node-name", node_name)
    told = "Its code is 'UnschedulableAndUnresolvable', of type str. Expected a Code, such as Code.ERROR."
    assert (verdict.message, verdict.property) == (told, ANSWERS)


# -- pre-bind ----------------------------------------------------------------------------------------


def attach_all(volumes: Any, names: list[str], node_name: str) -> Status:
    done: list[str] = []
    for name in names:
        try:
            volumes.attach(name, node_name)
        except PluginError as error:
            for attached in reversed(done):
                volumes.detach(attached)
            return Status(Code.ERROR, str(error))
        done.append(name)
    return SUCCESS


def pre_bind_from_the_last(volumes: Any, pod: Json, node_name: str) -> Status:
    names = [volume["name"] for volume in pod["spec"]["volumes"]]
    return attach_all(volumes, [name for name in reversed(names) if volumes.where(name) != node_name], node_name)


def pre_bind_that_looks_first(volumes: Any, pod: Json, node_name: str) -> Status:
    names = [volume["name"] for volume in pod["spec"]["volumes"]]
    for name in names:
        if volumes.where(name) not in ("", node_name):
            return Status(Code.ERROR, f"{name} is on {volumes.where(name)}")
    return attach_all(volumes, [name for name in names if not volumes.where(name)], node_name)


@pytest.mark.parametrize("function", [pre_bind_from_the_last, pre_bind_that_looks_first])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_of_several_volumes_that_cannot_be_attached_any_may_be_named(function: Callable[..., Any], seed: int) -> None:
    verdict = check_task("pre-bind", function, seed)
    assert verdict.right, str(verdict)


def test_a_volume_that_could_be_attached_is_not_the_one_to_name() -> None:
    def names_another(volumes: Any, pod: Json, node_name: str) -> Status:
        status = pre_bind_that_looks_first(volumes, pod, node_name)
        return status if status.is_success else Status(Code.ERROR, "volume other")

    verdict = check_task("pre-bind", names_another)
    assert not verdict.right
    assert "volume other'. Expected the name of the volume that failed, v" in verdict.message


# -- balanced ----------------------------------------------------------------------------------------


def balanced_by(balance: Callable[[Fraction, Fraction], int]) -> Callable[[Json, Json, Json], int]:
    def balanced(used: Json, asked: Json, has: Json) -> int:
        def of(amounts: Json) -> int:
            return balance(*(Fraction(amounts[name], has[name]) for name in ("cpu", "memory")))

        return 50 + (50 + of({name: used[name] + asked[name] for name in used}) - of(used)) // 2

    return balanced


@pytest.mark.parametrize("seed", [1, 8, 17, 33])
@pytest.mark.parametrize(
    "balance",
    [
        pytest.param(lambda cpu, memory: int(100 - 50 * abs(cpu - memory)), id="exact"),
        pytest.param(lambda cpu, memory: int(100 - 100 * abs(float(cpu) - float(memory)) / 2), id="of a hundred"),
        pytest.param(lambda cpu, memory: int((1 - abs(float(cpu) - float(memory)) / 2) * 100), id="as upstream"),
    ],
)
def test_how_floats_are_rounded_does_not_decide(balance: Callable[[Fraction, Fraction], int], seed: int) -> None:
    verdict = check_task("balanced", balanced_by(balance), seed)
    assert verdict.right, str(verdict)


def test_a_balance_that_is_rounded_to_the_nearest_is_wrong() -> None:
    assert not check_task("balanced", balanced_by(lambda cpu, memory: round(100 - 50 * abs(cpu - memory)))).right


# -- whatever a function does ------------------------------------------------------------------------


class OwnError(BaseException):
    """Neither an Exception nor SystemExit."""


class NoClass:
    @property
    def __class__(self) -> Any:
        raise OwnError("no class")

    @__class__.setter
    def __class__(self, value: Any) -> None:
        pass


class Number(int):
    def __ge__(self, other: object) -> bool:
        raise OwnError("no comparison")

    def __int__(self) -> int:
        raise OwnError("no number")


class Items(list[Any]):
    def __iter__(self) -> Any:
        raise OwnError("no items")


class Keys(dict[Any, Any]):
    def keys(self) -> Any:
        raise OwnError("no keys")

    items = __iter__ = keys


class Text(str):
    def __lt__(self, other: str) -> bool:
        raise OwnError("no order")

    __hash__ = None  # type: ignore[assignment]


class Exits:
    def __repr__(self) -> str:
        raise SystemExit("no repr")

    __str__ = __repr__


class ExitingError(Exception):
    def __str__(self) -> str:
        raise SystemExit("no text")


class BareStatus(Status):
    def __init__(self) -> None:
        pass


def raises(error: BaseException) -> Callable[..., Any]:
    def wrong(*args: Any) -> Any:
        raise error

    return wrong


def returns(value: Any) -> Callable[..., Any]:
    return lambda *args: value


@pytest.mark.parametrize("name", list(TASKS))
@pytest.mark.parametrize(
    "function",
    [
        pytest.param(raises(OwnError("mine")), id="raises a BaseException"),
        pytest.param(raises(GeneratorExit()), id="raises GeneratorExit"),
        pytest.param(raises(asyncio.CancelledError()), id="raises CancelledError"),
        pytest.param(raises(ExitingError()), id="raises an error whose text exits"),
        pytest.param(returns(NoClass()), id="an object without a class"),
        pytest.param(returns((NoClass(), 0)), id="a pair of one without a class"),
        pytest.param(returns(Number(7)), id="a number that cannot be compared"),
        pytest.param(returns((SUCCESS, Number(7))), id="a pair with such a number"),
        pytest.param(returns(Items(["n1"])), id="a list that cannot be read"),
        pytest.param(returns(Keys(n1=1)), id="a dict without keys"),
        pytest.param(returns([Text("n1"), Text("n2")]), id="texts that cannot be sorted"),
        pytest.param(returns(Exits()), id="an object whose repr exits"),
        pytest.param(Exits(), id="no function, and its repr exits"),
        pytest.param(returns(BareStatus()), id="a Status that is none"),
        pytest.param(returns((BareStatus(), 0)), id="a pair with such a Status"),
        pytest.param(returns(Status(Code.ERROR, Exits())), id="a reason that exits"),  # type: ignore[arg-type]
    ],
)
def test_whatever_a_function_returns_or_raises_there_is_a_verdict(name: str, function: Any) -> None:
    verdict = check_task(name, function)
    assert not verdict.right
    assert str(verdict).startswith("Not yet.")


def test_an_answer_that_cannot_be_read_is_told_what_it_raised() -> None:
    verdict = check_task("balanced", returns(Number(7)))
    assert verdict.message == "What it returned cannot be read. That raised OwnError: no comparison"
    assert (verdict.property, verdict.cases) == (ANSWERS, 1)
    assert verdict.case.startswith("used: ")


def test_an_interrupt_is_let_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        check_task("balanced", raises(KeyboardInterrupt()))


def test_a_judge_that_fails_before_it_asks_is_not_blamed_on_the_reader() -> None:
    def judge(call: Call, rng: random.Random, number: int) -> None:
        raise LookupError("the judge's own")

    with pytest.raises(LookupError, match="the judge's own"):
        Task("mine", "mine()", {}, judge, "").check(returns(0), random.Random(1))
