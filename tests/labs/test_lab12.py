"""Lab 12: the solution says what the package's own plugins say, mistakes are told apart, odd values are named."""

from __future__ import annotations

import random

import pytest

from k8slab.api.objects import Object
from k8slab.lab import InProcessRunner, find_lab, verify
from k8slab.scheduler import Framework, Snapshot
from k8slab.scheduler.plugins.balanced_allocation import BalancedAllocation
from tests.labs.taken import Taken
from tests.scheduling import node, pod

LAB = find_lab("12")
TAKEN = Taken(LAB, InProcessRunner())


def answer(check: str, script: str) -> object:
    return TAKEN.answers(check, script)[-1]


# -- against the package ---------------------------------------------------------------------------


def placed(cpu: int, memory: int) -> Object:
    """A Pod on node a that asks for so much, with no default in between."""
    return pod("there", f"{cpu}m", str(memory), node_name="a")


@pytest.mark.parametrize("seed", range(25))
def test_the_scores_are_those_of_the_plugins(seed: int) -> None:
    rng = random.Random(seed)
    has_cpu, has_memory = rng.choice([1000, 4000, 7000]), rng.choice([4096, 10_000])
    cpu, memory = rng.randint(1, has_cpu // 2), rng.randint(1, has_memory // 2)
    new_cpu, new_memory = rng.randint(1, has_cpu // 2), rng.randint(1, has_memory // 2)
    nodes = [node("a", f"{has_cpu}m", str(has_memory)), node("b", "64", "64Gi")]
    snapshot = Snapshot.of(nodes, [placed(cpu, memory)])
    row = Framework.from_profile().explain(pod("new", f"{new_cpu}m", str(new_memory)), snapshot).node("a")
    words = f"{cpu + new_cpu}/{has_cpu}:1 {memory + new_memory}/{has_memory}:1"
    assert answer("prefers-the-empty", f"least {words}") == row.raw["NodeResourcesFit"]
    words = f"{cpu}+{new_cpu}/{has_cpu} {memory}+{new_memory}/{has_memory}"
    assert answer("rewards-improvement", f"balanced {words}") == row.raw[BalancedAllocation.name]


def spread_pod(name: str, app: str, selects: str = "web", skew: int = 1, domains: int | None = None) -> Object:
    made = pod(name)
    made["metadata"]["labels"] = {"app": app}
    constraint = {
        "maxSkew": skew,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": selects}},
    }
    if domains is not None:
        constraint["minDomains"] = domains
    made["spec"]["topologySpreadConstraints"] = [constraint]
    return made


@pytest.mark.parametrize("seed", range(40))
def test_what_fits_is_what_the_filter_says(seed: int) -> None:
    """The lab's own scripts, asked of PodTopologySpread."""
    rng = random.Random(seed)
    check = rng.choice(["keeps-the-skew", "waits-for-domains", "counts-itself-if-selected"])
    generate = LAB.spec.check(check).generate
    assert generate is not None
    script = list(generate(rng))
    answers = TAKEN.answers(check, "; ".join(" ".join(op) for op in script))
    nodes: dict[str, Object] = {}
    pods: dict[str, Object] = {}
    asked = 0
    for op, said in zip(script, answers, strict=True):
        match op:
            case ["node", name, zone] if said:
                nodes[name] = node(name, labels={} if zone == "-" else {"zone": zone})
            case ["pod", name, on, app] if said:
                pods[name] = pod(name, node_name=on)
                pods[name]["metadata"]["labels"] = {"app": app}
            case ["terminate", name] if said:
                pods[name]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
            case ["delete", name] if said:
                del pods[name]
            case ["fits", on, app, skew, *more] if said != "no such node":
                domains = int(more[0]) if more else None
                new = spread_pod("new", app, more[1] if len(more) > 1 else "web", int(skew), domains)
                row = Framework.from_profile().explain(new, Snapshot.of(nodes.values(), pods.values())).node(on)
                assert said == ("yes" if row.feasible else "no"), op
                asked += 1
    assert asked


@pytest.mark.parametrize("seed", range(20))
def test_points_are_those_of_the_plugin(seed: int) -> None:
    rng = random.Random(seed)
    crowds = [rng.choice([None, *range(9)]) for _ in range(rng.randint(1, 5))]
    plugin = Framework.from_profile().plugins["PodTopologySpread"]

    class State:
        ignored = frozenset(str(n) for n, crowd in enumerate(crowds) if crowd is None)

        def read(self, key: str) -> State:
            return self

    class Named:
        def __init__(self, name: str) -> None:
            self.name = name

    nodes = [Named(str(n)) for n in range(len(crowds))]
    expected = plugin.normalize_score(State(), pod(), nodes, [crowd or 0 for crowd in crowds])  # type: ignore[attr-defined]
    script = f"points {' '.join('-' if crowd is None else str(crowd) for crowd in crowds)}"
    assert answer("the-least-crowded-wins", script) == " ".join(map(str, expected))


# -- what is wrong ---------------------------------------------------------------------------------


MEAN, RULE = "    return total // weight_sum if", '    return counts[domain] + own - least <= constraint["max_skew"]'
WRONG = {
    "a float": (MEAN, MEAN.replace("//", "/"), "prefers-the-empty", "least_allocated: expected an int, found 50.0"),
    "no list": (
        "    return points\n",
        "    return set(points)\n",
        "the-least-crowded-wins",
        "spread_points: expected a list of ints, found a set",
    ),
    "floats": (
        "    return points\n",
        "    return [float(one) for one in points]\n",
        "the-least-crowded-wins",
        "spread_points: expected a list of ints, found [0.0, ",
    ),
    "no dict": (
        "    return counts\n",
        "    return list(counts)\n",
        "counts-by-domain",
        "count_domains: expected a dict of ints by zone, found []",
    ),
    "a number": (RULE, RULE.partition(" <=")[0], "keeps-the-skew", "fits: expected True or False, found 1"),
}


@pytest.mark.parametrize(("old", "new", "check", "said"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_named(old: str, new: str, check: str, said: str) -> None:
    report = verify(LAB, TAKEN.changed(old, new), only=[check], runner=InProcessRunner())
    assert said in report.results[0].reason


def test_dicts_of_every_sort_and_tuples_are_taken() -> None:
    code = TAKEN.changed("    return counts\n", "    return Counter(counts)\n")
    code = code.replace("    return points\n", "    return tuple(points)\n")
    assert verify(LAB, f"from collections import Counter\n\n\n{code}", runner=InProcessRunner()).passed


@pytest.mark.parametrize("answer", ["True", "False"])
def test_one_answer_for_all_earns_nothing(answer: str) -> None:
    scores = ("least_allocated", "balance", "balanced_allocation")
    code = "\n".join(f"def {name}(*some): return 75" for name in scores)
    code += f"\ndef count_domains(*some): return {{}}\ndef fits(*some): return {answer}\n"
    code += "def spread_points(crowds): return [100] * len(crowds)\n"
    assert TAKEN.judged(code).points == 0
