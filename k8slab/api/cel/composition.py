"""Variables of a policy: named expressions that other expressions read as `variables.name`.

A variable is evaluated when it is read, at most once for one object, and may read those declared before it. What it
cannot be evaluated to is the reader's failure, unless the reader never looks.

>>> scope = Composition([("n", "object.spec.replicas"), ("twice", "variables.n * 2")]).scope({"object": {"spec": {}}})
>>> evaluate("object.spec == {} || variables.twice > 4", scope).value
True
>>> print(evaluate("variables.twice > 4", scope).error)
expression 'variables.twice > 4' resulted in error: composited variable "twice" fails to evaluate: \
composited variable "n" fails to evaluate: no such key: replicas

Upstream: apiserver/pkg/admission/plugin/cel/{composition,condition}.go
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from k8slab.api.cel.program import CELUnavailableError, CompileError, EvaluationError, compile_expression

__all__ = ["ANY", "Composition", "Evaluation", "Scope", "evaluate", "undefined"]

ANY = (
    "bool",
    "string",
    "int",
    "uint",
    "double",
    "bytes",
    "null_type",
    "timestamp",
    "duration",
    "type",
    "map",
    "list",
    "dyn",
)
"""Every type a variable may have."""
_READS = re.compile(r"\bvariables\s*\.\s*(?:\?\s*)?([A-Za-z_]\w*)")


class Evaluation(NamedTuple):
    """`error`: why there is no value, as upstream says it."""

    value: Any = None
    error: str = ""


def undefined(expression: str, known: Iterable[str]) -> str:
    """Upstream's complaint about a variable that is not declared before; empty when all are."""
    names = set(known)
    for found in _READS.finditer(expression):
        if found.group(1) not in names:
            line = expression.count("\n", 0, found.start(1)) + 1
            column = found.start(1) - expression.rfind("\n", 0, found.start(1)) - 1
            return f"compilation failed: ERROR: <input>:{line}:{column}: undefined field '{found.group(1)}'"
    return ""


class Composition:
    """The variables of one policy, in their order."""

    def __init__(self, variables: Sequence[tuple[str, str]] = ()) -> None:
        self.expressions = dict(variables)
        names = list(self.expressions)
        self.before = {name: names[:index] for index, name in enumerate(names)}

    def scope(self, given: Mapping[str, Any]) -> Scope:
        """What the expressions of the policy see of one object."""
        return Scope(self, given)


class Scope:
    """`given`: the values of object, request and so on."""

    def __init__(self, composition: Composition, given: Mapping[str, Any]) -> None:
        self._composition = composition
        self._given = dict(given)
        self._known: dict[str, Evaluation] = {}

    def names(self) -> tuple[str, ...]:
        return tuple(sorted([*self._given, "variables"]))

    def values(self, expression: str) -> tuple[dict[str, Any], dict[str, str]]:
        """(what the expression needs, errors of the variables that have no value)."""
        read = [name for name in _READS.findall(expression) if name in self._composition.expressions]
        found = {name: self._variable(name) for name in read}
        values = {name: one.value for name, one in found.items() if not one.error}
        errors = {name: one.error for name, one in found.items() if one.error}
        return {**self._given, "variables": values}, errors

    def _variable(self, name: str) -> Evaluation:
        known = self._known.get(name)
        if known is None:
            expression = self._composition.expressions[name]
            wrong = undefined(expression, self._composition.before[name])
            known = self._known[name] = (
                Evaluation(error=f'composited variable "{name}" fails to compile: {wrong}')
                if wrong
                else self._evaluated(name, expression)
            )
        return known

    def _evaluated(self, name: str, expression: str) -> Evaluation:
        try:
            program = compile_expression(expression, self.names(), ANY)
        except (CompileError, CELUnavailableError) as error:
            return Evaluation(error=f'composited variable "{name}" fails to compile: {error}')
        values, errors = self.values(expression)
        try:
            return Evaluation(program.evaluate(values))
        except EvaluationError as error:
            return Evaluation(error=f'composited variable "{name}" fails to evaluate: {_first(str(error), errors)}')


def _first(text: str, errors: Mapping[str, str]) -> str:
    """The error of the variable that was missed, if that is what the text complains about."""
    return errors.get(text.removeprefix("no such key: "), text)


def evaluate(expression: str, scope: Scope, returns: tuple[str, ...] = ("bool",)) -> Evaluation:
    """One expression. Never raises: what is wrong is in the result."""
    wrong = undefined(expression, scope._composition.expressions)
    try:
        if wrong:
            raise CompileError(wrong)
        program = compile_expression(expression, scope.names(), returns)
    except (CompileError, CELUnavailableError) as error:
        return Evaluation(error=f"compilation error: {error}")
    values, errors = scope.values(expression)
    try:
        return Evaluation(program.evaluate(values))
    except EvaluationError as error:
        return Evaluation(error=f"expression '{expression}' resulted in error: {_first(str(error), errors)}")
