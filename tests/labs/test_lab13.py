"""Lab 13: the solution evicts whom the package's scheduler evicts, mistakes are told apart, odd values are named."""

from __future__ import annotations

import random

import pytest

from k8slab.api.objects import Object
from k8slab.lab import InProcessRunner, Op, find_lab, verify
from k8slab.scheduler import Framework, PodInfo, Snapshot
from k8slab.scheduler.preemption import Candidate, best_candidates, split_by_pdb_violation
from tests.labs.taken import Taken
from tests.scheduling import node, pod

LAB = find_lab("13")
TAKEN = Taken(LAB, InProcessRunner())


def script_of(check: str, seed: int) -> list[Op]:
    generate = LAB.spec.check(check).generate
    assert generate is not None
    return list(generate(random.Random(seed)))


def answers(check: str, script: list[Op]) -> list[object]:
    return TAKEN.answers(check, "; ".join(" ".join(op) for op in script))


# -- against the package ---------------------------------------------------------------------------


def running(name: str, app: str, cpu: str, priority: str, started: str, on: str = "") -> Object:
    made = pod(name, cpu, "1Mi", node_name=on, priority=int(priority))
    made["metadata"]["labels"] = {"app": app}
    made["status"] = {"startTime": f"2026-01-01T00:0{int(started) // 60}:{int(started) % 60:02}Z"}
    return made


def pdb(app: str, allowed: int) -> Object:
    return {
        "metadata": {"name": app, "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": app}}},
        "status": {"disruptionsAllowed": allowed},
    }


class Twin:
    """The same Nodes, Pods and budgets, for the package's scheduler."""

    def __init__(self) -> None:
        self.nodes: dict[str, Object] = {}
        self.pods: list[Object] = []
        self.budgets: dict[str, int] = {}

    def take(self, op: Op) -> None:
        match op:
            case ["node", name, cpu]:
                self.nodes[name] = node(name, cpu)
            case ["pod", name, on, app, cpu, priority, started]:
                self.pods.append(running(name, app, cpu, priority, started, on))
            case ["budget", app, allowed]:
                self.budgets[app] = int(allowed)

    def candidates(self, names: list[str], cpu: str, priority: str) -> dict[str, Candidate]:
        """What dry runs on these Nodes find, Node by Node."""
        found = {}
        for name in names:
            framework = Framework.from_profile()
            framework.pdbs = lambda: [pdb(app, allowed) for app, allowed in self.budgets.items()]
            here = [one for one in self.pods if one["spec"]["nodeName"] == name]
            new = pod("new", cpu, "1Mi", priority=int(priority))
            result = framework.schedule(new, Snapshot.of([self.nodes[name]], here))
            if result.post_filter is not None and result.post_filter.preemption is not None:
                found[name] = result.post_filter.preemption
        return found


def names_of(candidate: Candidate) -> str:
    return " ".join(info.pod["metadata"]["name"] for info in candidate.victims)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("check", ["evicts-no-more-than-needed", "spares-the-protected"])
def test_the_victims_are_those_of_the_scheduler(check: str, seed: int) -> None:
    script, twin = script_of(check, seed), Twin()
    for op, said in zip(script, answers(check, script), strict=True):
        twin.take(op)
        if op[0] == "victims":
            found = twin.candidates([op[1]], *op[2:]).get(op[1])
            told = "no candidate"
            if found is not None:
                told = f"{names_of(found)}, {found.pdb_violations} against a budget"
            assert said == told, op


@pytest.mark.parametrize("seed", range(40))
def test_the_node_is_one_that_the_scheduler_would_take(seed: int) -> None:
    script, twin = script_of("makes-room", seed), Twin()
    for op, said in zip(script, answers("makes-room", script), strict=True):
        twin.take(op)
        if op[0] == "preempt":
            found = {} if "Never" in op else twin.candidates(list(twin.nodes), *op[1:3])
            best = [f"{one.node}: {names_of(one)}" for one in best_candidates(list(found.values()))]
            assert said in (best or ["nobody"]), op


@pytest.mark.parametrize("seed", range(30))
def test_the_comparison_is_that_of_the_scheduler(seed: int) -> None:
    script = script_of("compares-column-by-column", seed)
    for op, said in zip(script, answers("compares-column-by-column", script), strict=True):
        candidates = []
        for word in op[1:]:
            name, violations, listed = word.split(":")
            victims = [running(one, "web", "1", *one.split("@")) for one in listed.split(",")]
            victims.sort(key=lambda one: -one["spec"]["priority"])
            candidates.append(Candidate(name, tuple(map(PodInfo, victims)), int(violations)))
        assert said == best_candidates(candidates)[0].node, op


@pytest.mark.parametrize("seed", range(30))
def test_budgets_count_as_the_scheduler_counts_them(seed: int) -> None:
    script, twin = script_of("counts-budgets-down", seed), Twin()
    for op, said in zip(script, answers("counts-budgets-down", script), strict=True):
        twin.take(op)
        if op[0] == "split":
            infos = [PodInfo(running(f"p{n}", app, "1", "0", "1")) for n, app in enumerate(op[1:], 1)]
            parts = split_by_pdb_violation(infos, [pdb(app, allowed) for app, allowed in twin.budgets.items()])
            told = (" ".join(info.pod["metadata"]["name"] for info in part) or "none" for part in parts)
            assert said == " | ".join(told), op


# -- what is wrong ---------------------------------------------------------------------------------


WRONG = {
    "names for Pods": (
        "    return by_importance(victims), violations",
        '    return [one["name"] for one in by_importance(victims)], violations',
        "evicts-no-more-than-needed",
        "victims_on: expected a Pod that it was given, found 'a'",
    ),
    "the victims alone": (
        "    return by_importance(victims), violations",
        "    return by_importance(victims)",
        "evicts-no-more-than-needed",
        "victims_on: expected None or (victims, violations), found [{'name': 'a'",
    ),
    "the candidate": (
        '    return min(candidates, key=harm)["node"]',
        "    return min(candidates, key=harm)",
        "compares-column-by-column",
        "pick: expected the name of a Node, found {'node': 'n2'",
    ),
    "one list": (
        "    return breaking, others",
        "    return breaking + others",
        "counts-budgets-down",
        "split_by_budget: expected two lists, found [{'name': 'p1'",
    ),
    "the Node alone": (
        '    return chosen, next(one["victims"] for one in candidates if one["node"] == chosen)',
        "    return chosen",
        "makes-room",
        "preempt: expected None or (node, victims), found 'n2'",
    ),
}


@pytest.mark.parametrize(("old", "new", "check", "said"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_named(old: str, new: str, check: str, said: str) -> None:
    report = verify(LAB, TAKEN.changed(old, new), only=[check], runner=InProcessRunner())
    assert said in report.results[0].reason


def test_a_solution_that_never_evicts_earns_what_needs_no_eviction() -> None:
    code = (
        "def by_importance(pods): return pods\n"
        "def split_by_budget(pods, budgets): return [], pods\n"
        "def victims_on(*some): return None\n"
        "def pick(candidates): return candidates[0]['node']\n"
        "def preempt(*some): return None\n"
    )
    assert TAKEN.judged(code).points == 0


CHANGES = {
    "budgets": ("    left = dict(budgets)\n", "    left = budgets\n", "counts-budgets-down"),
    "pods": (
        '    return sorted(pods, key=lambda pod: (-pod["priority"], pod["started"]))',
        '    return pods.sort(key=lambda pod: (-pod["priority"], pod["started"])) or pods',
        "knows-who-matters",
    ),
    "candidates": (
        '    return min(candidates, key=harm)["node"]',
        '    return (candidates.sort(key=harm) or candidates)[0]["node"]',
        "compares-column-by-column",
    ),
    "nodes": (
        "        if found is not None:\n", "        node.clear()\n        if found is not None:\n", "makes-room",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("what", "change"), CHANGES.items(), ids=CHANGES)
def test_what_is_handed_over_stays_as_it_is(what: str, change: tuple[str, str, str]) -> None:
    old, new, check = change
    report = verify(LAB, TAKEN.changed(old, new), only=[check], runner=InProcessRunner())
    assert f"changed the {what} it was handed: whoever called needs it again" in report.results[0].reason
    assert report.results[0].causes == ("changes",)


@pytest.mark.parametrize("seed", range(7))
def test_budgets_that_are_counted_down_in_place_cost_the_same_under_every_seed(seed: int) -> None:
    code = TAKEN.changed("    left = dict(budgets)\n", "    left = budgets\n")
    report = verify(LAB, code, seed=str(seed), runner=InProcessRunner())
    lost = {result.check.name for result in report.results if not result.passed}
    assert lost == {"counts-budgets-down", "spares-the-protected", "makes-room"}


def test_dicts_lists_and_tuples_of_every_sort_are_taken() -> None:
    code = TAKEN.changed("    return breaking, others", "    return [breaking, others]")
    code = code.replace(
        "    return by_importance(victims), violations",
        "    return [tuple(map(Pod, by_importance(victims))), violations]",
    )
    assert verify(LAB, "class Pod(dict): pass\n\n\n" + code, runner=InProcessRunner()).passed
