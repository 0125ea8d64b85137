"""Which of several groups grows: each expander leaves the best options, the next chooses among those, chance the last.

Upstream: cluster-autoscaler/expander (random, mostpods, leastnodes, waste, price, priority, factory/chain.go)
Simplified: the gRPC expander; prices are those of the simulated cloud (upstream asks the provider).
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from k8slab.api.objects import Object
from k8slab.autoscaling.cluster_autoscaler.node_groups import NodeGroup
from k8slab.scheduler import NodeInfo, PodInfo

__all__ = ["PRIORITY_CONFIG_MAP", "Chosen", "ExpanderStrategy", "Option", "parse_priorities"]

PRIORITY_CONFIG_MAP = "cluster-autoscaler-priority-expander"
_PRIORITIES = "priorities"
_GIB = 1 << 30
_MIB = 1 << 20


@dataclass(slots=True, eq=False)
class Option:
    """A way to grow: so many Nodes of a group would take these Pods. `debug`: what an expander says of it."""

    group: NodeGroup
    node_count: int
    pods: list[PodInfo]
    similar_groups: tuple[NodeGroup, ...] = ()
    debug: str = ""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The best option, None when there is none, and events on the priority ConfigMap: (reason, message)."""

    option: Option | None
    warnings: tuple[tuple[str, str], ...] = ()
    left: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(slots=True)
class _Surroundings:
    """What expanders look at beside the options. `warnings` is filled by them."""

    templates: Mapping[str, NodeInfo]
    node_count: int
    config_map: Object | None
    warnings: list[tuple[str, str]] = field(default_factory=list)


Filter = Callable[[Sequence[Option], _Surroundings], list[Option]]


class ExpanderStrategy:
    """The expanders of `--expander` one after the other, and `rng` among what they leave."""

    def __init__(self, names: Sequence[str], rng: random.Random) -> None:
        self.names = tuple(names)
        self._rng = rng

    def best_option(
        self,
        options: Sequence[Option],
        templates: Mapping[str, NodeInfo],
        *,
        node_count: int = 0,
        config_map: Object | None = None,
    ) -> Chosen:
        """`node_count`: Nodes in the cluster, for the price expander. `config_map`: the priority expander's."""
        around = _Surroundings(templates, node_count, config_map)
        left: list[Option] = list(options)
        told = []
        for name in self.names:
            left = [self._random(left)] if name == "random" and left else _FILTERS[name](left, around)
            told.append((name, tuple(option.group.id for option in left)))
            if len(left) == 1:
                break
        chosen = left[0] if len(left) == 1 else self._random(left) if left else None
        return Chosen(chosen, tuple(around.warnings), tuple(told))

    def _random(self, options: Sequence[Option]) -> Option:
        return options[self._rng.randrange(len(options))]


def _smallest(options: Sequence[Option], scores: Sequence[float]) -> list[Option]:
    lowest = min(scores, default=0.0)
    return [option for option, score in zip(options, scores, strict=True) if score == lowest]


def _most_pods(options: Sequence[Option], around: _Surroundings) -> list[Option]:
    return _smallest(options, [-len(option.pods) for option in options])


def _least_nodes(options: Sequence[Option], around: _Surroundings) -> list[Option]:
    there = [option for option in options if option.node_count]
    return _smallest(there, [option.node_count for option in there])


def _least_waste(options: Sequence[Option], around: _Surroundings) -> list[Option]:
    """The smallest sum of the parts of CPU and of memory that would lie idle."""
    there = [option for option in options if option.group.id in around.templates]
    return _smallest(there, [_waste(option, around.templates[option.group.id]) for option in there])


def _waste(option: Option, template: NodeInfo) -> float:
    cpu, memory = (amount * option.node_count for amount in _capacity(template))
    wasted_cpu = (cpu - sum(pod.requested.milli_cpu for pod in option.pods)) / cpu if cpu else 0.0
    wasted_memory = (memory - sum(pod.requested.memory for pod in option.pods)) / memory if memory else 0.0
    return wasted_cpu + wasted_memory


def _capacity(template: NodeInfo) -> tuple[int, int]:
    from k8slab.api.quantity import milli_value, value

    assert template.node is not None  # templates are made from Nodes
    capacity = (template.node.get("status") or {}).get("capacity") or {}
    return milli_value(capacity.get("cpu", "0")), value(capacity.get("memory", "0"))


# -- price ----------------------------------------------------------------------------------------------

_STABILIZATION_PRICE = (500 * 33 + 500 * _MIB * 3_750 // _GIB) / 1_000_000
_GPU_UNFITNESS = 1_000.0
_PREFERRED = ((2, 1), (6, 2), (20, 4), (60, 8), (200, 16))
"""Up to so many Nodes, Nodes of so many CPUs are preferred; 32 beyond."""


def _price(options: Sequence[Option], around: _Surroundings) -> list[Option]:
    there = [option for option in options if option.group.id in around.templates]
    return _smallest(there, [_price_score(option, around) for option in there])


def _price_score(option: Option, around: _Surroundings) -> float:
    """How well the money is spent, times how far the Nodes are from the size that suits the cluster."""
    template = around.templates[option.group.id]
    nodes = option.group.price_micros() / 1_000_000 * option.node_count
    pods = sum(_pod_price(pod) for pod in option.pods)
    ratio = (nodes + _STABILIZATION_PRICE) / (pods + _STABILIZATION_PRICE)
    preferred = next((cpus for most, cpus in _PREFERRED if around.node_count <= most), 32) * 1_000
    cpu = max(_capacity(template)[0], 1)
    unfitness = max(preferred / cpu, cpu / preferred)
    suppressed = (unfitness - 1.0) * (1.0 - math.tanh((option.node_count - 1) / 15.0)) + 1.0
    if option.group.instance_type.gpus:
        suppressed = _GPU_UNFITNESS
    score = suppressed * ratio
    option.debug = (
        f"all_nodes_price={nodes:f} pods_price={pods:f} stabilized_ratio={ratio:f} unfitness={unfitness:f} "
        f"suppressed={suppressed:f} final_score={score:f}"
    )
    return score


def _pod_price(pod: PodInfo) -> float:
    """What its share of an average machine costs an hour, in dollars."""
    asked = pod.requested
    return asked.milli_cpu * 33 / 1_000_000 + asked.memory * 3_750 / _GIB / 1_000_000


# -- priority -------------------------------------------------------------------------------------------


def parse_priorities(text: str) -> dict[int, list[re.Pattern[str]]]:
    """The ConfigMap's `priorities`: number -> regular expressions for ids. ValueError with upstream's words.

    >>> [one.pattern for one in parse_priorities("10: ['.*spot.*']")[10]]
    ['.*spot.*']
    """
    if not text:
        raise ValueError(
            f"priority configuration in {PRIORITY_CONFIG_MAP} configmap is empty; please provide valid configuration"
        )
    try:
        given = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(f"Can't parse YAML with priorities in the configmap: {_one_line(error)}") from None
    given = {} if given is None else given
    if not isinstance(given, dict) or not all(_is_ranked(number, rules) for number, rules in given.items()):
        raise ValueError(
            "Can't parse YAML with priorities in the configmap: expected a map of numbers to lists of strings"
        )
    return {number: [_compiled(number, rule or "") for rule in rules or ()] for number, rules in given.items()}


def _is_ranked(number: object, rules: object) -> bool:
    """As Go reads it: a list that is null has no rules, a rule that is null is the empty one, which matches all."""
    if isinstance(number, bool) or not isinstance(number, int):
        return False
    return rules is None or (isinstance(rules, list) and all(isinstance(rule, str | None) for rule in rules))


def _compiled(number: int, rule: str) -> re.Pattern[str]:
    try:
        return re.compile(rule)
    except re.error as error:
        raise ValueError(f"Can't compile regexp rule for priority {number} and rule {rule}: {error}") from None


def _one_line(error: Any) -> str:
    return " ".join(str(error).split())


def _priority(options: Sequence[Option], around: _Surroundings) -> list[Option]:
    """The options whose group the ConfigMap ranks highest. Without a usable one all stay."""
    priorities = _load_priorities(around)
    if priorities is None:
        return list(options)
    highest, best = -1, list[Option]()
    for option in options:
        id = option.group.id
        matching = [number for number, rules in priorities.items() if any(rule.search(id) for rule in rules)]
        if not matching:
            around.warnings.append((
                "PriorityConfigMapNotMatchedGroup",
                f"Priority expander: node group {id} not found in priority expander configuration. "
                "The group won't be used.",
            ))  # fmt: skip
            continue
        top = max(matching)
        if top > highest:
            highest, best = top, []
        if top == highest:
            best.append(option)
    if not best:
        around.warnings.append((
            "PriorityConfigMapNoGroupMatched",
            "Priority expander: no priorities info found for any of the expansion options. No options filtered.",
        ))  # fmt: skip
        return list(options)
    return best


def _load_priorities(around: _Surroundings) -> dict[int, list[re.Pattern[str]]] | None:
    if around.config_map is None:
        return None
    data = around.config_map.get("data") or {}
    if _PRIORITIES not in data:
        message = f"Wrong configmap for priority expander, doesn't contain {_PRIORITIES} key. Ignoring update."
        around.warnings.append(("PriorityConfigMapInvalid", message))
        return None
    try:
        return parse_priorities(data[_PRIORITIES])
    except ValueError as error:
        message = f"Wrong configuration for priority expander: {error}. Ignoring update."
        around.warnings.append(("PriorityConfigMapInvalid", message))
        return None


_FILTERS: dict[str, Filter] = {
    "most-pods": _most_pods,
    "least-nodes": _least_nodes,
    "least-waste": _least_waste,
    "price": _price,
    "priority": _priority,
    "random": lambda options, around: list(options),
}
