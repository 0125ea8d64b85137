"""Answers put into the mouths of plugins, as kube-scheduler-simulator does: what if NodeResourcesFit said no to node-3?

    - {plugin: NodeResourcesFit, node: node-3, reasons: [Insufficient cpu]}         # Filter
    - {plugin: ImageLocality, node: node-1, score: 100, pod: shop/cart-*}           # Score, before normalising

Upstream: none (kubernetes-sigs/kube-scheduler-simulator)
Simplified: a plugin that sits a cycle out (Skip, since the Pod asks nothing of it) is not asked, and its mock neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from k8slab.api.objects import Object
from k8slab.scheduler import SUCCESS, Code, CycleState, Framework, NodeInfo, Status
from k8slab.scheduler.framework import FilterPlugin, ScorePlugin, pod_key
from k8slab.scheduler.runtime import name_of

__all__ = ["MockedResult", "mock", "mocked_results"]

_CODES = (Code.SUCCESS, Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.ERROR)


@dataclass(frozen=True)
class MockedResult:
    """What `plugin` says of Nodes and Pods whose names match: a verdict, or (not None) a raw `score`."""

    plugin: str
    node: str = "*"
    pod: str = "*"
    verdict: Status | None = None
    score: int | None = None

    def concerns(self, pod: Object, node: NodeInfo) -> bool:
        return fnmatchcase(node.name, self.node) and fnmatchcase(pod_key(pod), self.pod)


def mocked_results(raw: Any, where: str = "mocks") -> list[MockedResult]:
    """From a list as above. ValueError names the entry, the field and what was expected."""
    if not isinstance(raw, list):
        raise ValueError(f"{where}: {raw!r}: expected a list of results")
    return [_result(entry, f"{where}[{index}]") for index, entry in enumerate(raw)]


def _result(entry: Any, where: str) -> MockedResult:
    if not isinstance(entry, Mapping):
        raise ValueError(f"{where}: {entry!r}: expected plugin, node and reasons or score")
    for name in entry:
        if name not in ("plugin", "node", "pod", "code", "reasons", "score"):
            raise ValueError(f"{where}.{name}: unknown, expected plugin, node, pod, code, reasons or score")
    for name in ("plugin", "node", "pod"):
        if not isinstance(entry.get(name, "*"), str):
            raise ValueError(f"{where}.{name}: {entry[name]!r}: expected a text")
    if "plugin" not in entry:
        raise ValueError(f"{where}.plugin: None: expected the name of a plugin")
    names = (entry["plugin"], entry.get("node", "*"), entry.get("pod", "*"))
    if "score" not in entry:
        return MockedResult(*names, verdict=_verdict(entry, where))
    score = entry["score"]
    if isinstance(score, bool) or not isinstance(score, int) or "code" in entry or "reasons" in entry:
        raise ValueError(f"{where}.score: {score!r}: expected an integer, and no code and reasons beside it")
    return MockedResult(*names, score=score)


def _verdict(entry: Mapping[str, Any], where: str) -> Status:
    code, reasons = entry.get("code", Code.UNSCHEDULABLE), entry.get("reasons", [])
    if code not in _CODES:
        raise ValueError(f"{where}.code: {code!r}: expected one of {', '.join(_CODES)}")
    if not isinstance(reasons, list) or not all(isinstance(reason, str) for reason in reasons):
        raise ValueError(f"{where}.reasons: {reasons!r}: expected a list of texts")
    if code == Code.SUCCESS:
        if reasons:
            raise ValueError(f"{where}.reasons: {reasons!r}: expected none with Success")
        return SUCCESS
    return Status(Code(code), *reasons)


def mock(framework: Framework, results: Sequence[MockedResult]) -> None:
    """From now on these plugins of `framework` answer so. ValueError for a plugin that has nothing to say there."""
    for result in results:
        point = "filter" if result.score is None else "score"
        plugins: Sequence[object] = framework.filter_plugins if result.score is None else framework.score_plugins
        names = [name_of(plugin) for plugin in plugins]
        if result.plugin not in names:
            what = f"mocks: plugin {result.plugin!r} does not {point} in this profile"
            raise ValueError(f"{what}, expected one of {', '.join(names)}")
    filters = [r for r in results if r.score is None]
    scores = [r for r in results if r.score is not None]
    framework.filter_plugins = [_MockedFilter(p, filters) for p in framework.filter_plugins]
    framework.score_plugins = [_MockedScore(p, scores) for p in framework.score_plugins]


class _MockedFilter:
    def __init__(self, plugin: FilterPlugin, results: Sequence[MockedResult]) -> None:
        self.name = name_of(plugin)
        self._plugin = plugin
        self._results = [result for result in results if result.plugin == self.name]

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        for result in self._results:
            if result.verdict is not None and result.concerns(pod, node):
                return result.verdict
        return self._plugin.filter(state, pod, node)


class _MockedScore:
    def __init__(self, plugin: ScorePlugin, results: Sequence[MockedResult]) -> None:
        self.name = name_of(plugin)
        self._plugin = plugin
        self._results = [result for result in results if result.plugin == self.name]

    def score(self, state: CycleState, pod: Object, node: NodeInfo) -> int:
        for result in self._results:
            if result.score is not None and result.concerns(pod, node):
                return result.score
        return self._plugin.score(state, pod, node)
