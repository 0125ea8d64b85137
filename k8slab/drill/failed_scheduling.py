"""Drills on the message of `FailedScheduling`: who counts, in which order, and what would help.

Simplified: see `k8slab.scheduler`; every message is the scheduler's.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from k8slab.drill.answers import choice, name_set, sequence, whole
from k8slab.drill.exercise import Draft, Drill, Kind, generate, labels_text, table_block
from k8slab.drill.scheduling import Json, examine, make_node, make_pod, nodes_table, pod_block, some_pods
from k8slab.scheduler import Framework, Snapshot

__all__ = ["KINDS", "failed_scheduling"]

_LETTERS = "ABCDE"
_TYPES = "pkg/scheduler/framework/types.go (FitError)"
_RUN = "pkg/scheduler/framework/runtime/framework.go (RunFilterPlugins)"
_PREEMPTION = "pkg/scheduler/framework/preemption/preemption.go (Preempt)"
_TAINT = {"key": "gpu", "effect": "NoSchedule"}
_FIRST_NO = (
    "A Node counts under the first filter that rejects it: taints, then affinity, then resources. Only "
    "NodeResourcesFit names several resources at once."
)


class _Case(NamedTuple):
    """A Pod and a cluster where no Node takes it."""

    pod: Json
    nodes: list[Json]
    used: dict[str, list[Json]]

    @property
    def pods(self) -> list[Json]:
        return [pod for pods in self.used.values() for pod in pods]

    def message(self) -> str:
        """What the scheduler says, both halves; empty when it finds a Node."""
        result = Framework.from_profile().schedule(self.pod, Snapshot.of(self.nodes, self.pods))
        return "" if result.node else result.message

    def reasons(self) -> dict[str, int]:
        """Reason -> Nodes, as the first half of the message counts them."""
        return _counts(_first_half(self.message()))

    def tables(self) -> str:
        rows = []
        for node in self.nodes:
            taints = ", ".join(f"{taint['key']}:{taint['effect']}" for taint in node["spec"].get("taints", ()))
            rows.append((node["metadata"]["name"], labels_text(node["metadata"]["labels"]), taints or "-"))
        return f"{table_block(rows, ('NODE', 'LABELS', 'TAINTS'))}\n\n{nodes_table(self.nodes, self.used)}"


def _first_half(message: str) -> str:
    return message.partition(" preemption: ")[0].removesuffix(" no new claims to deallocate,")


def _counts(half: str) -> dict[str, int]:
    """`0/3 nodes are available: 1 a, 2 b.` -> {"a": 1, "b": 2}."""
    rest = half.partition("available: ")[2].rstrip(".")
    return {reason: int(count) for count, reason in re.findall(r"(\d+) (.+?)(?=, \d+ |$)", rest)}


def _draw(rng: random.Random, count: int) -> _Case:
    """One draw; the Pod may have a Node."""
    nodes = []
    for number in range(1, count + 1):
        labels = {"disk": rng.choice(["ssd", "ssd", "ssd", "hdd"])}
        taints = [_TAINT] if rng.random() < 0.3 else []
        size = rng.choice([("1", "4Gi"), ("2", "1Gi"), ("1", "1Gi"), ("4", "2Gi")])
        nodes.append(make_node(f"n{number}", *size, taints=taints, labels=labels))
    used = {node["metadata"]["name"]: some_pods(rng, node, rng.randint(0, 2)) for node in nodes}
    requests = {"cpu": rng.choice(["1500m", "2", "3"]), "memory": rng.choice(["1536Mi", "2Gi", "3Gi"])}
    return _Case(make_pod("web", requests, nodeSelector={"disk": "ssd"}), nodes, used)


def _stuck(rng: random.Random, fewest: int, most: int, fits: Callable[[_Case], bool] = lambda case: True) -> _Case:
    """A case where nothing is feasible and that suits the question."""
    while True:
        case = _draw(rng, rng.randint(fewest, most))
        if case.message() and fits(case):
            return case


def _told(case: _Case) -> str:
    found = examine(case.pod, case.nodes, case.pods)
    lines = [f"- {row.node}: {', '.join(next(s for s in row.filters.values() if s.reasons).reasons)}."
             for row in found.nodes]  # fmt: skip
    return "\n".join(lines)


# -- counting --------------------------------------------------------------------------------------------


def _count(rng: random.Random) -> Draft:
    case = _stuck(rng, 3, 5, lambda case: any(reason.startswith("Insufficient") for reason in case.reasons()))
    reason = rng.choice([reason for reason in case.reasons() if reason.startswith("Insufficient")])
    right = case.reasons()[reason]
    rows = examine(case.pod, case.nodes, case.pods).nodes
    everywhere = sum(reason in row.reasons for row in rows)
    return Draft(
        f"No Node takes this Pod. How many does its `FailedScheduling` count under `{reason}`?\n\n"
        f"{pod_block(case.pod)}\n\n{case.tables()}",
        whole(
            right,
            _FIRST_NO,
            {
                everywhere: "On some of these a taint or the nodeSelector said no first; nobody asked about resources.",
                len(case.nodes): "Not every Node is rejected for this.",
            },
        ),
        f"{_told(case)}\n\n{_FIRST_NO}\n\n> {_first_half(case.message())}",
    )


def _lack_both(rng: random.Random) -> Draft:
    def both(case: _Case) -> bool:
        return {"Insufficient cpu", "Insufficient memory"} <= set(case.reasons())

    case = _stuck(rng, 5, 9, both)
    counts = case.reasons()
    right = sum(counts.values()) - len(case.nodes)
    less = min(counts["Insufficient cpu"], counts["Insufficient memory"])
    hint = "Add the counts and take away the number of Nodes: only a Node that is short of both counts twice."
    return Draft(
        f"A Pod that asks for CPU and memory is told:\n\n> {_first_half(case.message())}\n\nOn how many Nodes were "
        "both CPU and memory short?",
        whole(
            right,
            hint,
            {
                less: "That many at most; the sum of all counts says how many.",
                counts["Insufficient cpu"] + counts["Insufficient memory"]: "These are counts, and a Node may count "
                "under both.",
            },
        ),
        f"The counts add up to {sum(counts.values())}, the cluster has {len(case.nodes)} Nodes, so {right} "
        f"count{'s' if right == 1 else ''} twice. {_FIRST_NO}",
    )


# -- the text --------------------------------------------------------------------------------------------

_WHO: Mapping[str, str] = {
    "node(s) had untolerated taint(s)": "TaintToleration",
    "node(s) didn't match Pod's node affinity/selector": "NodeAffinity",
    "node(s) didn't have free ports for the requested pod ports": "NodePorts",
    "node(s) were unschedulable": "NodeUnschedulable",
    "Insufficient nvidia.com/gpu": "NodeResourcesFit",
    "Too many pods": "NodeResourcesFit",
    "node(s) didn't match pod topology spread constraints": "PodTopologySpread",
    "node(s) didn't match pod anti-affinity rules": "InterPodAffinity",
    "node(s) didn't match pod affinity rules": "InterPodAffinity",
    "node(s) didn't satisfy existing pods anti-affinity rules": "InterPodAffinity",
}


def _which_plugin(rng: random.Random) -> Draft:
    reason = rng.choice(list(_WHO))
    right, count = _WHO[reason], rng.randint(2, 12)
    wrong = {
        "node(s) were unschedulable": ("TaintToleration", "A cordoned Node has that taint too, but this filter is "
                                       "asked first."),
        "Too many pods": ("NodePorts", "Pods are a resource: the Node's `allocatable` names how many."),
        "node(s) didn't match Pod's node affinity/selector": ("InterPodAffinity", "Node affinity is about the Node's "
                                                              "labels, not about the Pods there."),
        "node(s) didn't match pod affinity rules": ("NodeAffinity", "Pod affinity is about the Pods there."),
        "node(s) didn't match pod anti-affinity rules": ("NodeAffinity", "Pod affinity is about the Pods there."),
    }.get(reason)  # fmt: skip
    text = f"0/{count} nodes are available: {count} {reason}."
    return Draft(
        f"> {text}\n\nWhich plugin said no? Answer with its name ({', '.join(sorted(set(_WHO.values())))}).",
        choice(
            right,
            sorted(set(_WHO.values())),
            "Each filter has its own words; the Node's labels, taints, ports, room and Pods are five questions.",
            dict([wrong]) if wrong else {},
        ),
        f"`{reason}` is the verdict of {right}. The plugin's name is not in the message, but the words are its own.",
    )


def _order(rng: random.Random) -> Draft:
    reasons = rng.sample(list(_WHO), rng.randint(3, 4))
    counts = [rng.choice([1, 2, 3, 9, 10, 11, 20, 100]) for _ in reasons]
    rows = list(zip(_LETTERS, counts, reasons, strict=False))
    right = [letter for letter, *_ in sorted(rows, key=lambda row: f"{row[1]} {row[2]}")]
    by_number = [letter for letter, *_ in sorted(rows, key=lambda row: (row[1], row[2]))]
    falling = [letter for letter, *_ in sorted(rows, key=lambda row: (-row[1], row[2]))]
    hint = "The parts are sorted as text, count and all: 10 comes before 2."
    parts = ", ".join(sorted(f"{count} {reason}" for _, count, reason in rows))
    return Draft(
        "Each Node was rejected for one of these reasons. In which order does the message name them? Answer with "
        f"letters.\n\n{table_block(rows, ('PART', 'NODES', 'REASON'))}",
        sequence(
            right,
            [letter for letter, *_ in rows],
            hint,
            [(by_number, hint), (falling, "Not by how often: as text, from the first character on.")],
        ),
        f"> 0/{sum(counts)} nodes are available: {parts}.\n\n{hint} The first part is not the most common reason.",
    )


def _message(rng: random.Random) -> Draft:
    def forms(case: _Case) -> list[str]:
        rows = examine(case.pod, case.nodes, case.pods).nodes
        size = len(rows)
        one_each: dict[str, int] = {}
        for row in rows:
            first = row.reasons[0]
            one_each[first] = one_each.get(first, 0) + 1
        everything: dict[str, int] = {}
        for reason in [reason for row in rows for reason in row.reasons]:
            everything[reason] = everything.get(reason, 0) + 1
        wrong = [_text(size, one_each), _text(size, everything)]
        return list(dict.fromkeys([_first_half(case.message()), *wrong]))

    case = _stuck(rng, 3, 4, lambda case: len(forms(case)) == 3)
    right, single, everything = forms(case)
    shown = [right, single, everything]
    rng.shuffle(shown)
    letter = {text: _LETTERS[index] for index, text in enumerate(shown)}
    listed = "\n\n".join(f"{letter[text]}: {text}" for text in shown)
    return Draft(
        f"Which of these is said of this Pod? Answer with a letter.\n\n{listed}\n\n{pod_block(case.pod)}\n\n"
        f"{case.tables()}",
        choice(
            letter[right],
            [letter[text] for text in shown],
            _FIRST_NO,
            {letter[single]: "NodeResourcesFit names every resource that is short, not the first only.",
             letter[everything]: "The filters after the first no are not asked."},
        ),
        f"{_told(case)}\n\n{_FIRST_NO}",
    )  # fmt: skip


def _text(size: int, reasons: Mapping[str, int]) -> str:
    """The first half for counts that somebody else worked out."""
    parts = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"0/{size} nodes are available: {parts}."


# -- what would help -------------------------------------------------------------------------------------

_NOT_HELPFUL = "Preemption is not helpful for scheduling"
_NO_VICTIMS = "No preemption victims found for incoming pod"


def _preemption_half(rng: random.Random) -> Draft:
    def two(case: _Case) -> bool:
        return {_NOT_HELPFUL, _NO_VICTIMS} <= set(_second(case))

    case = _stuck(rng, 4, 9, two)
    counts = _second(case)
    about = rng.choice([_NOT_HELPFUL, _NO_VICTIMS])
    asked = {
        _NOT_HELPFUL: "On how many Nodes would it not help if every Pod left?",
        _NO_VICTIMS: "On how many Nodes is room missing, or something else that leaving Pods could give, with "
        "nobody there who is less important?",
    }[about]
    other = counts[_NO_VICTIMS if about == _NOT_HELPFUL else _NOT_HELPFUL]
    hint = f"`{_NOT_HELPFUL}`: the Node itself does not suit. `{_NO_VICTIMS}`: it might, but nobody may be evicted."
    return Draft(
        f"> {case.message()}\n\n{asked}",
        whole(counts[about], hint, {other: "That is the other reason of the second half."}),
        f"{hint} The first is the verdict UnschedulableAndUnresolvable of a filter, the second a dry run that found "
        "no Pod of lower priority.",
    )


def _second(case: _Case) -> dict[str, int]:
    return _counts(case.message().partition(" preemption: ")[2])


def _helps(rng: random.Random) -> Draft:
    case, changes = _with_changes(rng)
    right = [letter for letter, (_, after) in changes.items() if not after.message()]
    rows = [(letter, text) for letter, (text, _) in changes.items()]
    hint = "Make the change in thought and ask all filters about each Node again."
    said = [f"- {letter}: {_first_half(after.message()) or 'the Pod gets a Node.'}"
            for letter, (_, after) in changes.items()]  # fmt: skip
    wrong = [
        (list(changes), "Some of them only change which filter says no."),
        ([letter for letter in changes if letter not in right], "Those are the ones that do not help."),
    ]
    return Draft(
        f"> {_first_half(case.message())}\n\nWhich of these changes, each by itself, gets the Pod a Node?\n\n"
        f"{table_block(rows, ('CHANGE', 'WHAT'))}\n\n{pod_block(case.pod)}\n\n{case.tables()}",
        name_set(right, list(changes), hint, wrong),
        "What would be said then:\n\n" + "\n".join(said),
    )


def _with_changes(rng: random.Random) -> tuple[_Case, dict[str, tuple[str, _Case]]]:
    """A case, and four changes (letter -> what, the case after it) of which one at least helps and one does not."""
    while True:
        case = _stuck(rng, 3, 4)
        some = rng.sample(_changes(rng, case), 4)
        changes = dict(zip(_LETTERS, sorted(some, key=lambda change: change[0]), strict=False))
        if len({bool(after.message()) for _, after in changes.values()}) == 2:
            return case, changes


def _changes(rng: random.Random, case: _Case) -> list[tuple[str, _Case]]:
    found = []
    spec, requests = case.pod["spec"], case.pod["spec"]["containers"][0]["resources"]["requests"]
    for resource, amount in (("cpu", rng.choice(["500m", "1"])), ("memory", rng.choice(["512Mi", "1Gi"]))):
        pod = make_pod("web", {**requests, resource: amount}, nodeSelector=spec["nodeSelector"])
        found.append((f"the Pod asks for {amount} of {resource}", case._replace(pod=pod)))
    tolerant = make_pod("web", requests, nodeSelector=spec["nodeSelector"], tolerations=[{"operator": "Exists"}])
    found.append(("the Pod tolerates every taint", case._replace(pod=tolerant)))
    found.append(("the Pod has no nodeSelector", case._replace(pod=make_pod("web", requests))))
    for node in rng.sample(case.nodes, 2):
        name = node["metadata"]["name"]
        found.append((f"the Pods on {name} are deleted", case._replace(used={**case.used, name: []})))
    return found


KINDS: Sequence[Kind] = (
    Kind("which-plugin", 1, "pkg/scheduler/framework/plugins/noderesources/fit.go and its neighbours", _which_plugin),
    Kind("preemption-half", 1, _PREEMPTION, _preemption_half),
    Kind("count", 2, _RUN, _count),
    Kind("lack-both", 2, _TYPES, _lack_both),
    Kind("message", 2, _TYPES, _message),
    Kind("order", 3, _TYPES, _order),
    Kind("helps", 3, _RUN, _helps),
)


def failed_scheduling(rng: random.Random) -> Drill:
    """An exercise on reading `FailedScheduling`."""
    return generate("failed-scheduling", KINDS, rng)
