"""Drills on admission webhooks: what a wrong form is told, and cases that are told in Kubernetes' documentation."""

from __future__ import annotations

import pytest

from k8slab.drill import Drill, drill
from k8slab.drill.admission_server import Guarded, Hook


def first(kind: str) -> Drill:
    """The exercise of a kind with the smallest seed."""
    return next(one for one in (drill("admission", seed) for seed in range(200)) if one.kind == kind)


@pytest.mark.parametrize(
    ("kind", "given", "says"),
    [
        ("rules", "Z", "'z' is none of P, Q, R, S, T"),
        ("selectors", "all", "'all' is none of P, Q, R, S"),
        ("order", "first", "'first' is none of P, Q, R, S, T"),
        ("again", "twice", "'twice' is none of P, Q"),
        ("time", "soon", "expected a duration such as"),
        ("fate", "error", "expected one of 201, 400, 403, 422, 500"),
    ],
)
def test_a_wrong_form_is_told_what_was_expected(kind: str, given: str, says: str) -> None:
    verdict = first(kind).check(given)
    assert not verdict.right
    assert verdict.message.startswith("Not an answer to this question") and says in verdict.message


def test_a_webhook_is_called_again_only_when_a_later_one_changed_something() -> None:
    guarded = Guarded()
    again = {"reinvocationPolicy": "IfNeeded"}
    guarded.register([
        Hook("P", patch=lambda labels: {"p": "1"}, more=again),
        Hook("Q", patch=lambda labels: {"q": "1"}, more=again),
    ])  # fmt: skip
    assert guarded.send("create", "one").asked == ["P", "Q", "P"]
    assert guarded.send("create", "two", {"q": "1"}).asked == ["P", "Q"]


def test_a_refusal_has_the_code_of_the_webhook_and_a_failure_that_of_the_server() -> None:
    guarded = Guarded()
    guarded.register([Hook("P", kind="validating", answer={"allowed": False, "status": {"code": 409}})])
    assert guarded.send("create").code == 409
    other = Guarded()
    other.register([Hook("P", kind="validating", answer="none")])
    assert other.send("create").code == 500


def test_a_webhook_that_cannot_be_registered_is_told() -> None:
    with pytest.raises(ValueError, match="create validatingwebhookconfigurations: 422"):
        Guarded().register([Hook("P", kind="validating", more={"sideEffects": "Some"})])
