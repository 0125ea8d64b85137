"""Lab 15: the solution decides as the eviction manager does, mistakes are told apart, odd values are named."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.quantity import Quantity
from k8slab.kubelet.eviction import (
    MEMORY_CRITERIA,
    EvictionConfig,
    EvictionManager,
    Observation,
    PodStats,
    Summary,
    Threshold,
    ThresholdValue,
    rank,
    thresholds_met,
)
from k8slab.lab import InProcessRunner, Op, find_lab, verify
from tests.labs.taken import Taken

LAB = find_lab("15")
TAKEN = Taken(LAB, InProcessRunner())
MI, SECOND = 1 << 20, 1_000_000_000


# -- against the package ---------------------------------------------------------------------------


def mebibytes(text: str) -> Quantity:
    return Quantity.parse(f"{text}Mi")


class Twin:
    """The same Pods and thresholds, for the package's manager."""

    def __init__(self) -> None:
        self.pods: dict[str, Any] = {}
        self.stats: dict[str, PodStats] = {}
        self.thresholds: list[Threshold] = []
        self.period = 300
        self.manager: EvictionManager | None = None

    def take(self, op: Op) -> None:
        match op:
            case ["pod", name, request, used, priority, *critical]:
                annotations = {"kubernetes.io/config.source": "file"} if critical else {}
                resources = {"requests": {"memory": f"{request}Mi"}}
                spec = {"priority": int(priority), "containers": [{"name": "c", "resources": resources}]}
                self.pods[name] = {"metadata": {"name": name, "annotations": annotations}, "spec": spec}
                if used != "-":
                    self.stats[f"default/{name}"] = PodStats(memory=int(used) * MI)
            case ["threshold", name, below, grace, reclaim]:
                value, more = ThresholdValue(mebibytes(below)), ThresholdValue(mebibytes(reclaim))
                one = Threshold("memory.available", value, int(grace) * SECOND, more)
                self.thresholds.append(one)
            case ["period", seconds]:
                self.period = int(seconds)

    def look(self, free: str, now: str) -> str:
        if self.manager is None:
            config = EvictionConfig(tuple(self.thresholds), self.period * 1000)
            self.manager = EvictionManager(config)
        node = Summary(int(now) * 1000, int(free) * MI, 4096 * MI, pods=self.stats)
        evicted = self.manager.synchronize(list(self.pods.values()), node, int(now) * 1000).evicted
        if not evicted:
            return "nobody"
        name = evicted[0].pod["metadata"]["name"]
        del self.pods[name]
        return f"evicts {name}"


@pytest.mark.parametrize("seed", range(60))
def test_the_order_is_that_of_the_kubelet(seed: int) -> None:
    script, twin = TAKEN.script("ranks-by-three-questions", seed), Twin()
    for op, said in zip(script, TAKEN.answers("ranks-by-three-questions", script), strict=True):
        twin.take(op)
        if op[0] == "order":
            ranking = rank(twin.pods.values(), twin.stats, MEMORY_CRITERIA)
            assert said == " ".join(one.name for one in ranking)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_crossed_is_what_the_kubelet_finds_met(seed: int) -> None:
    script, twin = TAKEN.script("crosses-below", seed), Twin()
    names = [op[1] for op in script if op[0] == "threshold"]
    for op, said in zip(script, TAKEN.answers("crosses-below", script), strict=True):
        twin.take(op)
        if op[0] == "crossed":
            seen = {"memory.available": Observation(mebibytes(op[1]), mebibytes("4096"))}
            met = []
            for name, threshold in zip(names, twin.thresholds, strict=True):
                before = name in op[2:]
                met += [name] if thresholds_met([threshold], seen, enforce_min_reclaim=before) else []
            assert said == (" ".join(met) or "none"), op


def unlike(script: list[Op]) -> bool:
    """No two thresholds of one value and grace period: the package takes those for one."""
    rows = [op[2:4] for op in script if op[0] == "threshold"]
    return len(set(rows)) == len(rows)


def apart(script: list[Op]) -> bool:
    """No two looks in one second: the package acts on a measurement once."""
    seconds = [op[2] for op in script if op[0] == "look"]
    return len(set(seconds)) == len(seconds)


@pytest.mark.parametrize("check", ["evicts-one-a-look", "keeps-the-pressure"])
def test_from_look_to_look_it_does_what_the_package_does(check: str) -> None:
    compared = 0
    for seed in range(80):
        script, twin = TAKEN.script(check, seed), Twin()
        if not unlike(script) or not apart(script):
            continue
        for op, said in zip(script, TAKEN.answers(check, script), strict=True):
            twin.take(op)
            if op[0] == "look":
                assert said == twin.look(op[1], op[2]), (seed, op)
            elif op[0] == "pressure" and twin.manager is not None:
                since = twin.manager._condition_observed.get("MemoryPressure")
                lasts = since is not None and int(op[1]) * 1000 - since < twin.period * 1000
                assert said == ("yes" if lasts else "no"), (seed, op)
        compared += 1
    assert compared > 30


# -- what is wrong ---------------------------------------------------------------------------------


WRONG = {
    "names for Pods": (
        "    return sorted(pods, key=key)",
        '    return [pod["name"] for pod in sorted(pods, key=key)]',
        "ranks-by-three-questions",
        "order: expected a Pod that it was given, found 'f'",
    ),
    "thresholds for names": (
        '            names.append(one["name"])',
        "            names.append(one)",
        "crosses-below",
        "crossed: expected the name of a threshold, found {'name': ",
    ),
    "the due alone": (
        "    return fresh, due",
        "    return due",
        "waits-out-the-grace",
        "hold: expected (since, due), found [",
    ),
    "the Pod itself": (
        '        names = [pod["name"] for pod in order(pods) if not pod["critical"]]',
        '        names = [pod for pod in order(pods) if not pod["critical"]]',
        "evicts-one-a-look",
        "look: expected the name of a Pod or None, found {'name': ",
    ),
    "a number for yes": (
        "        return self.seen is not None and now - self.seen < self.period",
        "        return int(self.seen is not None and now - self.seen < self.period)",
        "keeps-the-pressure",
        "pressure: expected True or False, found ",
    ),
}


@pytest.mark.parametrize(("old", "new", "check", "said"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_named(old: str, new: str, check: str, said: str) -> None:
    report = verify(LAB, TAKEN.changed(old, new), only=[check], runner=InProcessRunner())
    assert said in report.results[0].reason


def test_a_solution_that_never_evicts_earns_nothing() -> None:
    code = (
        "def order(pods): return pods\n"
        "def crossed(thresholds, free, before): return []\n"
        "def hold(thresholds, names, since, now): return {}, []\n"
        "class EvictionManager:\n"
        "    def __init__(self, thresholds, period): pass\n"
        "    def look(self, pods, free, now): return None\n"
        "    def pressure(self, now): return False\n"
    )
    assert TAKEN.judged(code).points == 0


CHANGES = {
    "pods": ("    return sorted(pods, key=key)", "    pods.sort(key=key)\n    return pods", "ranks-by-three-questions"),
    "thresholds": (
        '        bound = one["below"]\n',
        '        one["below"] += one["reclaim"] if one["name"] in before else 0\n        bound = one["below"]\n',
        "crosses-below",
    ),
    "since": (
        "    fresh = {name: since.get(name, now) for name in names}\n",
        "    fresh = {name: since.setdefault(name, now) for name in names}\n",
        "waits-out-the-grace",
    ),
}


@pytest.mark.parametrize(("what", "change"), CHANGES.items(), ids=CHANGES)
def test_what_is_handed_over_stays_as_it_is(what: str, change: tuple[str, str, str]) -> None:
    old, new, check = change
    report = verify(LAB, TAKEN.changed(old, new), only=[check], runner=InProcessRunner())
    assert f"changed the {what} it was handed: whoever called needs it again" in report.results[0].reason
    assert report.results[0].causes == ("changes",)


@pytest.mark.parametrize("seed", range(5))
def test_sorting_by_class_is_told_under_every_seed(seed: int) -> None:
    by_class = '    return sorted(pods, key=lambda pod: (pod["request"] > 0, -(pod["used"] or 0)))'
    code = TAKEN.changed("    return sorted(pods, key=key)", by_class)
    report = verify(LAB, code, seed=str(seed), only=["ranks-by-three-questions"], runner=InProcessRunner())
    assert report.results[0].causes[0] == "class"


def test_tuples_and_other_dicts_are_taken() -> None:
    code = TAKEN.changed("    return sorted(pods, key=key)", "    return tuple(map(Pod, sorted(pods, key=key)))")
    code = code.replace("    return fresh, due", "    return [Pod(fresh), tuple(due)]")
    assert verify(LAB, "class Pod(dict): pass\n\n\n" + code, runner=InProcessRunner()).passed
