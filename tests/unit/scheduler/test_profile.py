"""How a profile's plugin sets are merged and spread over the extension points: upstream's tables, in our words
(default_plugins_test.go TestMergePlugins; runtime/framework_test.go TestNewFrameworkMultiPointExpansion,
TestNewFrameworkErrors)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from k8slab.api.features import FeatureGates
from k8slab.scheduler import Framework, NodeInfo, Profile, Status
from k8slab.scheduler.framework import SUCCESS, CycleState
from k8slab.scheduler.profile import PluginSet, default_plugins, score_weights

DEFAULTS = [("One", 0), ("Two", 0), ("Three", 0)]


def merged(default: list[tuple[str, int]], *enabled: tuple[str, int], without: tuple[str, ...] = ()) -> Any:
    return PluginSet(enabled, without).merged_into(default)


@pytest.mark.parametrize(
    ("enabled", "without", "expected"),
    [
        pytest.param([("New", 0)], (), [*DEFAULTS, ("New", 0)], id="a new plugin comes last"),
        pytest.param(
            [("New", 0), ("Two", 0)],
            ("Two",),
            [("One", 0), ("Three", 0), ("New", 0), ("Two", 0)],
            id="a default plugin that is disabled and enabled comes where it is enabled",
        ),
        pytest.param(
            [("Three", 0), ("One", 0)], ("*",), [("Three", 0), ("One", 0)], id="all disabled: only what is new"
        ),
        pytest.param([], (), DEFAULTS, id="nothing said: the defaults"),
        pytest.param(
            [("Three", 2), ("One", 1)],
            (),
            [("One", 1), ("Two", 0), ("Three", 2)],
            id="a default plugin that is configured anew keeps its place",
        ),
        pytest.param(
            [("One", 0), ("Two", 2), ("Three", 0), ("Two", 4)],
            (),
            [("One", 0), ("Two", 4), ("Three", 0), ("Two", 2)],
            id="enabled twice: the last one takes the place, the first one stays at the end",
        ),
        pytest.param([], ("One", "Nobody"), [("Two", 0), ("Three", 0)], id="disabled only"),
    ],
)
def test_plugin_sets_are_merged(enabled: list[tuple[str, int]], without: tuple[str, ...], expected: Any) -> None:
    assert merged(DEFAULTS, *enabled, without=without) == expected


class Everywhere:
    """A plugin of several points, as upstream's TestPlugin."""

    node_local = False

    def __init__(self, args: Mapping[str, Any], handle: Any) -> None:
        self.name = type(self).__name__

    def filter(self, state: CycleState, pod: Any, node: NodeInfo) -> Status:
        return SUCCESS

    def score(self, state: CycleState, pod: Any, node: NodeInfo) -> int:
        return 1

    def reserve(self, state: CycleState, pod: Any, node_name: str) -> Status:
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Any, node_name: str) -> None:
        return None


class Alpha(Everywhere):
    pass


class Beta(Everywhere):
    pass


class Gamma(Everywhere):
    pass


REGISTERED = {"Alpha": Alpha, "Beta": Beta, "Gamma": Gamma}
NEEDED = [{"name": "PrioritySort"}, {"name": "DefaultBinder"}]


def made(multi: list[Any], **points: dict[str, list[Any]]) -> Framework:
    enabled = [*NEEDED, *({"name": entry} if isinstance(entry, str) else entry for entry in multi)]
    plugins = {"multiPoint": {"enabled": enabled, "disabled": [{"name": "*"}]}, **points}
    return Framework.from_profile({"plugins": plugins}, registry=REGISTERED)


def names(plugins: list[Any]) -> list[str]:
    return [plugin.name for plugin in plugins]


def entries(*plugins: str) -> list[dict[str, str]]:
    return [{"name": plugin} for plugin in plugins]


def test_a_plugin_of_multi_point_comes_to_every_point_it_implements() -> None:
    framework = made(["Alpha", "Beta"])
    assert names(framework.filter_plugins) == names(framework.score_plugins) == ["Alpha", "Beta"]
    assert names(framework.reserve_plugins) == ["Alpha", "Beta"]
    assert framework.pre_score_plugins == []


def test_what_a_point_disables_stays_at_the_others() -> None:
    framework = made(["Alpha", "Beta"], score={"disabled": entries("Alpha")}, reserve={"disabled": entries("*")})
    assert names(framework.filter_plugins) == ["Alpha", "Beta"]
    assert names(framework.score_plugins) == ["Beta"]
    assert framework.reserve_plugins == []


def test_what_a_point_enables_besides_comes_last_and_only_there() -> None:
    framework = made(["Alpha", "Beta"], score={"enabled": entries("Gamma")})
    assert names(framework.score_plugins) == ["Alpha", "Beta", "Gamma"]
    assert names(framework.filter_plugins) == ["Alpha", "Beta"]


def test_what_a_point_enables_anew_comes_first_in_the_points_order() -> None:
    framework = made(["Alpha", "Beta", "Gamma"], score={"enabled": entries("Gamma", "Alpha")})
    assert names(framework.score_plugins) == ["Gamma", "Alpha", "Beta"]
    assert names(framework.filter_plugins) == ["Alpha", "Beta", "Gamma"]


def test_all_disabled_at_a_point_leaves_what_it_enables() -> None:
    framework = made(["Alpha", "Beta"], score={"enabled": entries("Beta"), "disabled": entries("*")})
    assert names(framework.score_plugins) == ["Beta"]


def test_the_weight_of_the_point_wins_and_none_counts_as_one() -> None:
    weighed = {"name": "Alpha", "weight": 3}
    assert made([weighed, "Beta"], score={"enabled": [{"name": "Alpha", "weight": 7}]}).weight("Alpha") == 7
    framework = made([weighed, "Beta"], score={"enabled": [{"name": "Alpha", "weight": 0}]})
    assert [framework.weight(name) for name in ("Alpha", "Beta")] == [1, 1]


@pytest.mark.parametrize(
    ("multi", "points", "text"),
    [
        pytest.param(["Nope"], {}, 'PreFilterPlugin "Nope" does not exist', id="unknown in multiPoint"),
        pytest.param([], {"score": {"enabled": entries("Nope")}}, 'ScorePlugin "Nope" does not exist', id="unknown"),
        pytest.param(
            [],
            {"preScore": {"enabled": entries("Alpha")}},
            'plugin "Alpha" does not extend PreScorePlugin plugin',
            id="at a point it does not implement",
        ),
        pytest.param(
            [],
            {"filter": {"enabled": entries("Alpha", "Alpha")}},
            'plugin "Alpha" already registered as "FilterPlugin"',
            id="twice at a point",
        ),
        pytest.param(
            ["Alpha", "Alpha"], {}, 'plugin "Alpha" already registered as "FilterPlugin"', id="twice in multiPoint"
        ),
        pytest.param(
            [],
            {"queueSort": {"disabled": entries("*")}},
            'only one queue sort plugin required for profile with scheduler name "default-scheduler", but got 0',
            id="no order",
        ),
        pytest.param(
            [],
            {"bind": {"disabled": entries("DefaultBinder")}},
            'at least one bind plugin is needed for profile with scheduler name "default-scheduler"',
            id="no binder",
        ),
    ],
)
def test_what_makes_no_framework(multi: list[str], points: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=r".+") as error:
        made(multi, **points)
    assert str(error.value) == text


def test_arguments_of_a_plugin_that_does_not_run_are_ignored() -> None:
    assert Framework.from_profile({"pluginConfig": [{"name": "Nobody", "args": {"x": 1}}]}).plugins


def test_weights_whose_sum_would_not_fit_into_64_bits_are_refused() -> None:
    """The sum of the best totals, 100 times the weights, is at most 2^63 - 1."""
    largest = ((1 << 63) - 1) // 100
    plugins = {"Alpha": Alpha({}, None), "Beta": Beta({}, None)}

    def weights(*own: tuple[str, int]) -> dict[str, int]:
        profile = Profile(multi_point=PluginSet(disabled=("*",)), points={"score": PluginSet(own)})
        return score_weights(profile, FeatureGates(), plugins)

    assert weights(("Alpha", largest)) == {"Alpha": largest}
    for own in ([("Alpha", largest + 1)], [("Alpha", largest), ("Beta", 1)]):
        with pytest.raises(ValueError, match="total score of Score plugins could overflow"):
            weights(*own)


def test_the_default_profile_follows_the_gates() -> None:
    assert "DynamicResources" in dict(default_plugins(FeatureGates("1.36")))
    assert "DynamicResources" not in dict(default_plugins(FeatureGates("1.32")))
