"""Lab 19: the solution scales as the package's autoscaler does, mistakes are told apart, odd values are named."""

from __future__ import annotations

import random
from typing import Any

import pytest

from k8slab.autoscaling.hpa import (
    Bounds,
    CalculatorError,
    History,
    HorizontalPodAutoscaler,
    MetricsError,
    PodFacts,
    PodMetric,
    ReplicaCalculator,
    Scale,
    ScaleEvent,
    Tolerances,
)
from k8slab.lab import InProcessRunner, Op, find_lab, verify
from tests.labs.taken import Taken

LAB = find_lab("19")
TAKEN = Taken(LAB, InProcessRunner())
NOW_MS = 10_000_000
CONTAINER = {"name": "c", "resources": {"requests": {"cpu": "100m"}}}
SEEDS = range(40)


def script_of(check: str, seed: int) -> list[Op]:
    generate = LAB.spec.check(check).generate
    assert generate is not None
    return list(generate(random.Random(seed)))


def answers(check: str, script: list[Op]) -> list[object]:
    return TAKEN.answers(check, "; ".join(" ".join(op) for op in script))


# -- against the package ---------------------------------------------------------------------------


def pods(count: int, **facts: Any) -> list[PodFacts]:
    return [
        PodFacts(f"p{facts.get('phase', '')}{number}", pod={"spec": {"containers": [CONTAINER]}}, **facts)
        for number in range(count)
    ]


def calculated(target: int, usages: list[int], missing: int = 0, starting: int = 0) -> str:
    """What the package's calculator says; a starting Pod is a Pending one."""
    everybody = [*pods(len(usages) + missing), *pods(starting, phase="Pending")]
    metrics = {f"p{number}": PodMetric(used, NOW_MS) for number, used in enumerate(usages)}
    try:
        found = ReplicaCalculator().resource_replicas(
            len(everybody), target, "cpu", Tolerances(), everybody, metrics, now_ms=NOW_MS
        )
    except CalculatorError:
        return "no count"
    return str(found.replicas)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("check", ["rounds-up", "leaves-small-differences-alone"])
def test_a_count_is_that_of_the_package(check: str, seed: int) -> None:
    script = script_of(check, seed)
    for op, said in zip(script, answers(check, script), strict=True):
        target, *usages = map(int, op[1:])
        assert said == calculated(target, usages), op


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("check", ["counts-the-missing", "leaves-out-who-starts"])
def test_missing_and_starting_pods_count_as_in_the_package(check: str, seed: int) -> None:
    script = script_of(check, seed)
    for op, said in zip(script, answers(check, script), strict=True):
        target, missing, starting, *usages = map(int, op[1:])
        assert said == calculated(target, usages, missing, starting), op


@pytest.mark.parametrize("seed", SEEDS)
def test_the_greatest_proposal_is_that_of_the_package(seed: int) -> None:
    script = script_of("never-goes-down-blind", seed)
    for op, said in zip(script, answers("never-goes-down-blind", script), strict=True):
        current, *words = op[1:]
        queue = {"type": "External", "external": {"metric": {"name": "q"}, "target": {"averageValue": "1"}}}
        hpa = {"metadata": {"name": "web"}, "spec": {"metrics": [queue] * len(words)}}
        samples: list[Any] = [MetricsError("gone") if one == "-" else [1000 * int(one)] for one in words]
        scale = Scale(int(current), 1_000_000)  # so that every proposal is far from the tolerance
        found = HorizontalPodAutoscaler().compute(hpa, scale, [], samples, 0)
        assert said == ("no count" if found.replicas == -1 else str(found.replicas)), op


@pytest.mark.parametrize("seed", SEEDS)
def test_the_window_is_that_of_the_package(seed: int) -> None:
    script = script_of("remembers-the-highest", seed)
    history = History()
    for op, said in zip(script, answers("remembers-the-highest", script), strict=True):
        if op[0] == "window":
            history = History(downscale_stabilization_ms=1000 * int(op[1]))
        else:
            found = history.normalize(Bounds(0, 1_000), 1_000, int(op[2]), now_ms=1000 * int(op[1]))
            assert said == str(found.stabilized), op


@pytest.mark.parametrize("seed", SEEDS)
def test_the_rate_is_that_of_the_package(seed: int) -> None:
    script = script_of("keeps-to-the-rate", seed)
    for op, said in zip(script, answers("keeps-to-the-rate", script), strict=True):
        current, wanted, most, select = op[1:5]
        policies, ups = [], []
        for word in op[5:]:
            kind, _, numbers = word.partition(":")
            one, _, two = numbers.partition("@" if kind == "added" else "/")
            if kind == "added":
                ups.append(ScaleEvent(int(one), NOW_MS - 1000 * int(two)))
            else:
                policies.append({"type": kind.capitalize(), "value": int(one), "periodSeconds": int(two)})
        rules = {"selectPolicy": select, "policies": policies, "stabilizationWindowSeconds": 0}
        behavior = {"scaleUp": rules, "scaleDown": rules}
        bounds = Bounds.of({"minReplicas": 0, "maxReplicas": int(most), "behavior": behavior})
        found = History(ups=ups).normalize(bounds, int(current), int(wanted), now_ms=NOW_MS)
        assert said == str(found.replicas), op


# -- what is wrong ---------------------------------------------------------------------------------

WRONG = {
    "a fraction": (
        "    return -(-used * len(usages) // target)\n",
        "    return used * len(usages) / target\n",
        "rounds-up",
        "wanted: expected a whole number of replicas, found 6.0",
    ),
    "nothing": (
        "    return -(-used * len(usages) // target)\n",
        "    -(-used * len(usages) // target)\n",
        "rounds-up",
        "wanted: expected a whole number of replicas, found None",
    ),
    "a yes": (
        "    if not usages:\n        return None\n",
        "    if not usages:\n        return True\n",
        "counts-the-missing",
        "cautious: expected None or a whole number of replicas, found True",
    ),
    "the remembered pair": (
        "        return max(count for _, count in self.told)\n",
        "        return max(self.told)\n",
        "remembers-the-highest",
        "decide: expected a whole number of replicas, found (0, 9)",
    ),
    "a text": (
        "    return min(max(allowed, current), wanted, most)\n",
        "    return str(min(max(allowed, current), wanted, most))\n",
        "keeps-to-the-rate",
        "limited: expected a whole number of replicas, found '12'",
    ),
}


@pytest.mark.parametrize(("old", "new", "check", "said"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_named(old: str, new: str, check: str, said: str) -> None:
    report = verify(LAB, TAKEN.changed(old, new), only=[check], runner=InProcessRunner())
    assert said in report.results[0].reason


def test_a_solution_that_never_scales_earns_nothing() -> None:
    code = (
        "def wanted(target, usages, current): return current\n"
        "def cautious(target, usages, missing, starting): return len(usages) + missing + starting\n"
        "def greatest(current, proposals): return current\n"
        "class Window:\n"
        "    def __init__(self, seconds): pass\n"
        "    def decide(self, now, asked): return asked\n"
        "def limited(current, wanted, *more): return current\n"
    )
    assert TAKEN.judged(code).points == 0


def test_floats_in_the_order_of_upstream_are_right_too() -> None:
    code = LAB.solution.replace(
        "    if 9 * target <= 10 * used <= 11 * target:\n",
        "    ratio = used / target\n    if 1.0 - 0.1 <= ratio <= 1.0 + 0.1:\n",
    ).replace(
        "    return -(-used * len(usages) // target)\n",
        "    import math\n    return math.ceil(ratio * len(usages))\n",
    )
    assert TAKEN.judged(code, runner=InProcessRunner()).passed


def test_a_window_shows_what_a_right_one_remembers() -> None:
    script = "window 60; asked 0 9; asked 15 2; asked 70 3"
    check = LAB.spec.check("remembers-the-highest")
    assert check.state is not None
    from k8slab.lab import parse_script, replay

    played = replay(LAB, LAB.solution, check, parse_script(script), runner=InProcessRunner())
    assert check.state(played.record.steps) == {
        "window": "60 s",
        "now": "second 70",
        "remembered": "2 (55 s ago), 3 (0 s ago)",
    }
