"""The smallest change that makes a Pod fit: single changes first, then pairs, each tried on the framework.

What is tried comes from the verdicts: a Node stands open when every plugin that rejects it is answered. Nodes that are
rejected for the same reasons are represented by a few in a large cluster: the first, those with most room and the
largest, and the one that is least short of all resources taken together. So with 5,000 Nodes no more changes are tried
than with 100; "all were tried" is then not said.

Upstream: none
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import NamedTuple, TypeAlias

from k8slab.api.pod_requests import pod_requests
from k8slab.cluster.snapshots.changes import Change, Obstacles, add_node, is_daemon, obstacles_of
from k8slab.cluster.snapshots.world import World, accepting
from k8slab.scheduler import Explanation, Framework, NodeInfo, NodeVerdict
from k8slab.scheduler.framework import Resource

__all__ = ["Remedy", "Search", "smallest_changes"]

ALL_OF = 100
"""Up to so many Nodes every one of them is looked at."""

MOST_TRIALS = 2_000
"""How many candidates are run; far more than reasons and rules ever give (a search that stops there says so)."""


class Remedy(NamedTuple):
    """Changes that together make the Pod fit on `nodes`: all of them. Run and found true."""

    changes: tuple[Change, ...]
    nodes: tuple[str, ...]

    @property
    def text(self) -> str:
        return " and ".join(change.text for change in self.changes)


class Search(NamedTuple):
    """Remedies; whether all Nodes, and where there is no remedy all changes and pairs, were tried; and (none found) the
    plugins that reject a Node and that no change is known for (`silent`)."""

    remedies: list[Remedy]
    is_complete: bool
    silent: tuple[str, ...] = ()


class _Candidate(NamedTuple):
    changes: tuple[Change, ...]
    node: str

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(sorted(change.text for change in self.changes))


def smallest_changes(framework: Framework, world: World, explanation: Explanation, most: int = 5) -> Search:
    """What makes the Pod fit: up to `most` remedies of the least number of changes (1 or 2), smallest first."""
    tried = _representatives(world, explanation)
    named = [(node, _obstacles(framework, world, node, row)) for node, row in tried]
    opened = [(node, [obstacle for _, obstacle in found]) for node, found in named]
    silent = tuple(dict.fromkeys(plugin for _, found in named for plugin, obstacle in found if not obstacle))
    is_whole = len(tried) == len(world.nodes)
    for generate in (_singles, _pairs):
        candidates = [one for one in _distinct(generate(world, opened)) if _is_possible(world, one)]
        candidates.sort(key=lambda one: [change.size for change in _by_size(one.changes)])
        found: list[Remedy] = []
        done: dict[object, None] = {}
        for candidate in candidates[:MOST_TRIALS]:
            if len(found) == most:
                break
            marks = _marks(candidate)
            if any(mark in done for mark in marks):
                continue
            changed = _changed(world, candidate)
            if accepting(framework, changed, [candidate.node]):
                done.update(dict.fromkeys(marks))
                found.append(Remedy(tuple(_by_size(candidate.changes)), tuple(accepting(framework, changed))))
        if found:
            return Search(found, is_complete=is_whole)
        if len(candidates) > MOST_TRIALS:
            return Search([], is_complete=False, silent=silent)
    return Search([], is_complete=is_whole and not silent, silent=silent)


def _is_possible(world: World, candidate: _Candidate) -> bool:
    """The DaemonSet controller sets a Pod's required node affinity, and makes another Pod for a new Node."""
    forbidden = ("relax-node-affinity", "drop-node-affinity", "add-node")
    return not (is_daemon(world.pod) and any(change.kind in forbidden for change in candidate.changes))


def _by_size(changes: Iterable[Change]) -> list[Change]:
    return sorted(changes, key=lambda change: change.size)


def _marks(candidate: _Candidate) -> list[object]:
    """What needs no second look: the same changes for another Node; of one request cut, or one maxSkew raised, every
    larger step than the first that works."""
    graded = ("raise-max-skew", "lower-request")
    steps = [(change.kind, change.field) for change in candidate.changes if change.kind in graded]
    return [candidate.key, *(steps if len(candidate.changes) == 1 else [])]


def _changed(world: World, candidate: _Candidate) -> World:
    for change in candidate.changes:
        world = change.apply(world)
    return world


def _distinct(candidates: Iterable[_Candidate]) -> list[_Candidate]:
    """Each set of changes once for each Node it may open."""
    return list({(candidate.key, candidate.node): candidate for candidate in candidates}.values())


# -- which Nodes ---------------------------------------------------------------------------------------


_Tried: TypeAlias = Sequence[tuple[NodeInfo, NodeVerdict]]


def _representatives(world: World, explanation: Explanation) -> _Tried:
    """All Nodes of a small cluster; of a large one a few of each group that is rejected for the same reasons and looks
    the same to the Pod."""
    if len(world.nodes) <= ALL_OF:
        return [(world.node(row.node), row) for row in explanation.nodes]
    selector = world.pod["spec"].get("nodeSelector") or {}
    resources = [r.removeprefix("Insufficient ") for row in explanation.nodes for r in row.reasons if "Insuff" in r]
    requested = Resource.of(pod_requests(world.pod))
    wanted = {resource: requested.get(resource) for resource in dict.fromkeys(resources)}
    groups: dict[object, list[tuple[NodeInfo, NodeVerdict]]] = {}
    by_name = {info.name: info for info in world.nodes}
    for row in explanation.nodes:
        info = by_name[row.node]
        taints = tuple(sorted(f"{t.get('key')}={t.get('value')}:{t.get('effect')}" for t in info.taints))
        values = tuple(info.labels.get(key) for key in selector)
        groups.setdefault((tuple(row.reasons), taints, values), []).append((info, row))
    found: dict[str, tuple[NodeInfo, NodeVerdict]] = {}
    for members in groups.values():
        chosen = members[:2]
        for resource in dict.fromkeys(resources):
            chosen.append(max(members, key=lambda pair: _free(pair[0], resource)))
            chosen.append(max(members, key=lambda pair: pair[0].allocatable.get(resource)))
        chosen.append(min(members, key=lambda pair: _shortfall(wanted, pair[0], is_empty=False)))
        chosen.append(min(members, key=lambda pair: _shortfall(wanted, pair[0], is_empty=True)))
        found.update({info.name: (info, row) for info, row in chosen})
    return list(found.values())


def _shortfall(wanted: Mapping[str, int], info: NodeInfo, *, is_empty: bool) -> float:
    """How much of what the Pod asks for is missing, over all resources; with Pods on the Node or without."""
    free = {r: info.allocatable.get(r) if is_empty else _free(info, r) for r in wanted}
    return sum(max(0, amount - free[resource]) / amount for resource, amount in wanted.items() if amount > 0)


def _free(info: NodeInfo, resource: str) -> int:
    return info.allocatable.get(resource) - info.requested.get(resource)


def _obstacles(framework: Framework, world: World, node: NodeInfo, row: NodeVerdict) -> list[tuple[str, list[Change]]]:
    """Each with the plugin that names it."""
    return [
        (status.plugin or plugin, obstacle)
        for plugin, status in row.filters.items()
        if not status.is_success
        for obstacle in obstacles_of(plugin, status.reasons, world, node, framework)
    ]


# -- which changes -------------------------------------------------------------------------------------


_Opened = Sequence[tuple[NodeInfo, Obstacles]]


def _singles(world: World, opened: _Opened) -> Iterator[_Candidate]:
    """Every way out of every obstacle (one may answer several), and one more Node."""
    for node, obstacles in opened:
        yield from (_Candidate((change,), node.name) for obstacle in obstacles for change in obstacle)
        change, name = add_node(world, node)
        yield _Candidate((change,), name)


def _pairs(world: World, opened: _Opened) -> Iterator[_Candidate]:
    """Two ways out of different obstacles of one Node; or one more Node and a change of the Pod."""
    for node, obstacles in opened:
        for first, second in combinations(obstacles, 2):
            for one, other in product(first, second):
                if one.text != other.text:
                    yield _Candidate((one, other), node.name)
        more, name = add_node(world, node)
        for obstacle in obstacles:
            for change in obstacle:
                if change.object.startswith("pod/") and change.kind != "delete-pod":
                    yield _Candidate((change, more), name)
