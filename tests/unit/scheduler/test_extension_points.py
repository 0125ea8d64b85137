"""What each extension point may answer, and what comes of it: the rules of upstream's framework
(pkg/scheduler/framework/runtime/framework.go, schedule_one.go), with its texts."""

from __future__ import annotations

from typing import Any

import pytest

from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.api.scheme import NODES, PODS
from k8slab.scheduler import SKIP, SUCCESS, Code, CycleState, Framework, NodeInfo, PluginError, Snapshot, Status
from k8slab.scheduler.framework import PODS_TO_ACTIVATE, PreFilterResult
from k8slab.sim.loop import Loop
from tests.scheduler_world import SchedulerWorld
from tests.scheduling import Scripted, node, pod, profile

NO = Status(Code.UNSCHEDULABLE, "no")
NEVER = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "never")
BROKEN = Status(Code.ERROR, "broken")
NODES_AB = [node("a"), node("b")]


class Plain:
    """Writes down that it was asked; its arguments say what it answers."""

    def __init__(self, args: Any, handle: Any) -> None:
        self.name = type(self).__name__
        self.args, self.handle = args, handle
        self.asked: list[str] = []

    def answer(self, point: str, default: Any = SUCCESS) -> Any:
        self.asked.append(point)
        return self.args.get(point, default)


class Early(Plain):
    """PreFilter and Filter."""

    def pre_filter(self, state: CycleState, pod: Object, nodes: Any) -> Any:
        return self.answer("result", None), self.answer("pre_filter")

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        verdict: Status = self.answer("filter")
        return verdict


class First(Early):
    pass


class Second(Early):
    pass


def early(first: dict[str, Any], second: dict[str, Any] | None = None) -> Framework:
    args = {"First": first, "Second": second or {}}
    return Framework.from_profile(profile("First", "Second", args=args), registry={"First": First, "Second": Second})


def asked(framework: Framework, plugin: str) -> list[str]:
    found: Any = framework.plugins[plugin]
    return list(found.asked)


# -- PreFilter -----------------------------------------------------------------------------------------


def test_after_unschedulable_the_other_pre_filters_still_run_and_the_last_verdict_counts() -> None:
    framework = early({"pre_filter": NO}, {"pre_filter": Status(Code.UNSCHEDULABLE, "nor me")})
    result = framework.schedule(pod(), Snapshot.of(NODES_AB))
    assert result.message == "0/2 nodes are available: nor me."
    assert "pre_filter" in asked(framework, "Second")
    assert list(result.diagnosis.unschedulable_plugins) == ["Second"]


def test_unresolvable_ends_pre_filter_at_once() -> None:
    framework = early({"pre_filter": NEVER})
    assert framework.schedule(pod(), Snapshot.of(NODES_AB)).message == "0/2 nodes are available: never."
    assert asked(framework, "Second") == []


@pytest.mark.parametrize("code", [Code.ERROR, Code.PENDING, Code.WAIT])
def test_pre_filter_may_not_answer_with_other_codes(code: Code) -> None:
    result = early({"pre_filter": Status(code, "hm")}).schedule(pod(), Snapshot.of(NODES_AB))
    assert (result.status.code, result.message) == (Code.ERROR, 'running PreFilter plugin "First": hm')


def test_who_skips_is_remembered_also_when_another_one_rejects() -> None:
    framework, state = early({"pre_filter": SKIP}, {"pre_filter": NEVER}), CycleState()
    framework.run_pre_filter(state, pod(), [])
    assert state.skip_filter == frozenset({"First"})


def test_plugins_that_leave_nobody_are_named_in_order_of_their_names() -> None:
    only = {name: PreFilterResult(frozenset({name})) for name in ("a", "b")}
    args = {"Second": {"result": only["a"]}, "First": {"result": only["b"]}}
    framework = Framework.from_profile(
        profile("Second", "First", args=args), registry={"First": First, "Second": Second}
    )
    text = "0/2 nodes are available: node(s) didn't satisfy plugin(s) [First Second] simultaneously."
    assert framework.schedule(pod(), Snapshot.of(NODES_AB)).message == text


# -- Filter --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [Code.SKIP, Code.WAIT, Code.ERROR])
def test_filter_may_only_accept_or_reject(code: Code) -> None:
    result = early({"filter": Status(code, "hm")}).schedule(pod(), Snapshot.of(NODES_AB))
    assert (result.status.code, result.message) == (Code.ERROR, 'running "First" filter plugin: hm')


def test_without_anybody_who_scores_one_feasible_node_is_enough() -> None:
    many = [node(f"n{index}") for index in range(150)]
    result = early({}).schedule(pod(), Snapshot.of(many))
    assert (result.evaluated, len(result.feasible)) == (1, 1)
    scored = Framework.from_profile(profile("Scripted"), registry={"Scripted": Scripted})
    assert scored.schedule(pod(), Snapshot.of(many)).evaluated == 100


def test_the_nominated_node_is_tried_although_pre_filter_left_it_out() -> None:
    framework = early({"result": PreFilterResult(frozenset({"a"}))})
    nominated = {**pod(), "status": {"nominatedNodeName": "b"}}
    assert framework.schedule(nominated, Snapshot.of(NODES_AB)).node == "b"


# -- PostFilter ----------------------------------------------------------------------------------------


class Later(Plain):
    def post_filter(self, state: CycleState, pod: Object, statuses: Any) -> Any:
        return None, self.answer("post_filter")


class LaterOne(Later):
    pass


class LaterTwo(Later):
    pass


@pytest.mark.parametrize(
    ("one", "two", "code", "text", "rejector"),
    [
        pytest.param(NO, NO, Code.UNSCHEDULABLE, "no, no", "LaterOne", id="all reasons, and the first one signs"),
        pytest.param(NO, NEVER, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "never", "LaterTwo", id="unresolvable ends it"),
        pytest.param(BROKEN, NO, Code.ERROR, "broken", "LaterOne", id="an error ends it"),
        pytest.param(Status(Code.WAIT, "w"), NO, Code.ERROR, "w", "LaterOne", id="other codes are errors"),
        pytest.param(NO, SUCCESS, Code.SUCCESS, "", "", id="the first success wins"),
    ],
)
def test_post_filter(one: Status, two: Status, code: Code, text: str, rejector: str) -> None:
    args = {"LaterOne": {"post_filter": one}, "LaterTwo": {"post_filter": two}}
    framework = Framework.from_profile(
        profile("LaterOne", "LaterTwo", args=args), registry={"LaterOne": LaterOne, "LaterTwo": LaterTwo}
    )
    _, status = framework.run_post_filter(CycleState(), pod(), {})  # type: ignore[arg-type]
    assert (status.code, status.message, status.plugin) == (code, text, rejector)


# -- Score ---------------------------------------------------------------------------------------------


class Rates(Plain):
    def pre_score(self, state: CycleState, pod: Object, nodes: Any) -> Status:
        verdict: Status = self.answer("pre_score")
        return verdict

    def score(self, state: CycleState, pod: Object, node: NodeInfo) -> int:
        if "score error" in self.args:
            raise PluginError(self.args["score error"])
        score: int = self.answer("score", 1)
        return score

    def normalize_score(self, state: CycleState, pod: Object, nodes: Any, scores: list[int]) -> list[int]:
        if "normalize error" in self.args:
            raise PluginError(self.args["normalize error"])
        return scores


class RatesOne(Rates):
    pass


class RatesTwo(Rates):
    pass


def rated(one: dict[str, Any], two: dict[str, Any], *, memo: bool = True) -> Framework:
    args = {"RatesOne": one, "RatesTwo": two}
    registry = {"RatesOne": RatesOne, "RatesTwo": RatesTwo}
    return Framework.from_profile(profile("RatesOne", "RatesTwo", args=args), registry=registry, memo=memo)


@pytest.mark.parametrize(
    ("one", "two", "text"),
    [
        ({"score error": "hot"}, {}, 'running Score plugins: plugin "RatesOne" failed with: hot'),
        ({"normalize error": "odd"}, {}, 'running Normalize on Score plugins: plugin "RatesOne" failed with: odd'),
        (
            {"score": -1},
            {},
            'applying score defaultWeights on Score plugins: plugin "RatesOne" returns an invalid score -1, '
            "it should in the range of [0, 100] after normalizing",
        ),
        (
            {"normalize error": "odd"},
            {"score error": "hot"},
            'running Score plugins: plugin "RatesTwo" failed with: hot',
        ),
        ({"pre_score": NO}, {}, 'running PreScore plugin "RatesOne": no'),
    ],
    ids=["score", "normalize", "out of range", "all score before any normalises", "pre score only skips"],
)
def test_errors_while_scoring(one: dict[str, Any], two: dict[str, Any], text: str) -> None:
    for memo in (True, False):
        framework = rated(one, two, memo=memo)
        for _ in range(3):  # the memo begins to work when a Pod comes again
            result = framework.schedule(pod(), Snapshot.of(NODES_AB))
            assert (result.status.code, result.message) == (Code.ERROR, text)


def test_who_skips_pre_score_does_not_score() -> None:
    framework = rated({"pre_score": SKIP}, {})
    framework.schedule(pod(), Snapshot.of(NODES_AB))
    assert asked(framework, "RatesOne") == ["pre_score"]


# -- Permit --------------------------------------------------------------------------------------------


class Gate(Plain):
    def permit(self, state: CycleState, pod: Object, node_name: str) -> Any:
        return self.answer("permit"), self.args.get("timeout_ms", 0)

    def reserve(self, state: CycleState, pod: Object, node_name: str) -> Status:
        verdict: Status = self.answer("reserve")
        return verdict

    def unreserve(self, state: CycleState, pod: Object, node_name: str) -> None:
        self.asked.append("unreserve")


def gated(**args: Any) -> tuple[Framework, Loop]:
    loop = Loop(1)
    return Framework.from_profile(profile("Gate", args={"Gate": args}), registry={"Gate": Gate}, loop=loop), loop


def test_a_wait_is_said_with_the_pods_name_and_lasts_15_minutes_at_most() -> None:
    framework, loop = gated(permit=Status(Code.WAIT), timeout_ms=60 * 60_000)
    status = framework.run_permit(CycleState(), pod("web"), "a")
    assert status == Status(Code.WAIT, 'one or more plugins asked to wait and no plugin rejected pod "web"')
    ended: list[tuple[str, int]] = []

    async def wait() -> None:
        verdict = await framework.wait_on_permit(pod("web"))
        ended.append((verdict.message, loop.clock.now_ms))

    loop.spawn("wait", wait())
    loop.run(for_ms=60 * 60_000)
    assert ended == [("rejected due to timeout after waiting 15m0s at plugin Gate", 15 * 60_000)]


@pytest.mark.parametrize(
    ("point", "status", "expected"),
    [
        ("permit", NO, Status(Code.UNSCHEDULABLE, "no", plugin="Gate")),
        ("permit", BROKEN, Status(Code.ERROR, 'running Permit plugin "Gate": broken', plugin="Gate")),
        ("permit", Status(Code.SKIP, "s"), Status(Code.ERROR, 'running Permit plugin "Gate": s', plugin="Gate")),
        ("reserve", NEVER, Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "never", plugin="Gate")),
        ("reserve", BROKEN, Status(Code.ERROR, 'running Reserve plugin "Gate": broken')),
        ("reserve", SKIP, Status(Code.ERROR, 'running Reserve plugin "Gate": ')),
    ],
)
def test_reserve_and_permit(point: str, status: Status, expected: Status) -> None:
    framework, _ = gated(**{point: status})
    run = framework.run_permit if point == "permit" else framework.run_reserve
    assert run(CycleState(), pod(), "a") == expected


# -- PreBind -------------------------------------------------------------------------------------------


class Prepares(Plain):
    """PreBind; it takes `takes_ms`."""

    def pre_bind_pre_flight(self, state: CycleState, pod: Object, node_name: str) -> Status:
        verdict: Status = self.answer("pre_flight")
        return verdict

    async def pre_bind(self, state: CycleState, pod: Object, node_name: str) -> Status:
        from k8slab.sim.loop import sleep

        await sleep(self.args.get("takes_ms", 0))
        verdict: Status = self.answer("pre_bind")
        return verdict


class PreparesToo(Prepares):
    pass


def preparing(one: dict[str, Any], two: dict[str, Any], **options: Any) -> SchedulerWorld:
    args = {"Prepares": one, "PreparesToo": two}
    world = SchedulerWorld(
        profiles=[profile("Prepares", "PreparesToo", args=args)],
        registry={"Prepares": Prepares, "PreparesToo": PreparesToo},
        **options,
    )
    world.put(node("a"))
    return world


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        (SKIP, SKIP, SKIP),
        (SKIP, SUCCESS, SUCCESS),
        (BROKEN, SUCCESS, Status(Code.ERROR, 'running PreBindPreFlight "Prepares": broken')),
        (
            NO,
            SUCCESS,
            Status(
                Code.ERROR,
                'PreBindPreFlight Prepares returned "Unschedulable", which is unsupported. '
                "It is supposed to return Success, Skip, or Error status",
            ),
        ),
    ],
)
def test_pre_flight_says_whether_there_is_work(one: Status, two: Status, expected: Status) -> None:
    args = {"Prepares": {"pre_flight": one}, "PreparesToo": {"pre_flight": two}}
    framework = Framework.from_profile(
        profile("Prepares", "PreparesToo", args=args), registry={"Prepares": Prepares, "PreparesToo": PreparesToo}
    )
    assert framework.run_pre_bind_pre_flights(CycleState(), pod(), "a") == expected


def test_who_has_no_work_sits_pre_bind_out() -> None:
    world = preparing({"pre_flight": SKIP}, {})
    world.put(pod("p"))
    world.run(50)
    assert world.node_of("p") == "a"
    assert world.plugin("Prepares").asked == ["pre_flight"]
    assert world.plugin("PreparesToo").asked == ["pre_flight", "pre_bind"]


def test_a_rejection_of_pre_bind_is_told_as_it_is_and_backs_off() -> None:
    world = preparing({"pre_bind": Status(Code.UNSCHEDULABLE, "no disk yet")}, {})
    world.put(pod("p"))
    world.run(50)
    assert world.events("p") == [("FailedScheduling", "no disk yet")]
    (condition,) = world.pod("p")["status"]["conditions"]
    assert (condition["reason"], condition["message"]) == ("Unschedulable", "no disk yet")
    assert (
        str(world.scheduler.queue.where("default/p")) == "Backoff"
    )  # no plugin is to be asked, so no event is waited for


def test_an_error_of_pre_bind_is_a_scheduler_error() -> None:
    world = preparing({"pre_bind": BROKEN}, {})
    world.put(pod("p"))
    world.run(50)
    (condition,) = world.pod("p")["status"]["conditions"]
    text = 'running PreBind plugin "Prepares": broken'
    assert (condition["reason"], condition["message"]) == ("SchedulerError", text)


# -- NominatedNodeNameForExpectation -------------------------------------------------------------------


def nominations(world: SchedulerWorld) -> list[str]:
    bodies: list[Any] = [
        request.body for request in world.server.requests if request.verb == "patch" and request.resource == PODS
    ]
    return [body["status"]["nominatedNodeName"] for body in bodies if "nominatedNodeName" in body.get("status", {})]


def test_a_binding_that_takes_long_says_first_where_the_pod_is_going() -> None:
    world = preparing({"takes_ms": 500}, {"pre_flight": SKIP})
    world.put(pod("p"))
    world.run(100)
    assert world.pod("p")["status"]["nominatedNodeName"] == "a"
    assert world.node_of("p") is None
    world.run(500)
    assert world.node_of("p") == "a"
    assert nominations(world) == ["a"]


def test_a_wait_in_permit_says_so_too() -> None:
    world = SchedulerWorld(
        profiles=[profile("Gate", args={"Gate": {"permit": Status(Code.WAIT), "timeout_ms": 1_000}})],
        registry={"Gate": Gate},
    )
    world.put(node("a"), pod("p"))
    world.run(100)
    assert nominations(world) == ["a"]


@pytest.mark.parametrize(
    ("one", "options"),
    [
        pytest.param({"pre_flight": SKIP}, {}, id="nobody has work"),
        pytest.param({"takes_ms": 500}, {"features": FeatureGates("1.34")}, id="before 1.35"),
    ],
)
def test_a_binding_that_is_done_at_once_says_nothing(one: dict[str, Any], options: dict[str, Any]) -> None:
    world = preparing(one, {"pre_flight": SKIP}, **options)
    world.put(pod("p"))
    world.run(1_000)
    assert world.node_of("p") == "a"
    assert nominations(world) == []


def test_a_nomination_that_cannot_be_written_does_not_stop_the_binding() -> None:
    from k8slab.api.errors import ConflictError

    world = preparing({"takes_ms": 10}, {"pre_flight": SKIP})
    world.run(20)
    world.server.fail_next("patch", PODS, ConflictError("try again"))
    world.put(pod("p"))
    world.run(100)
    assert (world.node_of("p"), world.count("schedule.error")) == ("a", 1)


# -- the queue -----------------------------------------------------------------------------------------


class Silent(Plain):
    """Filters by its attribute, and registers for no events."""

    verdict = NO

    def filter(self, state: CycleState, pod: Object, node: NodeInfo) -> Status:
        return self.verdict


def test_a_plugin_that_registers_for_no_events_is_told_of_all() -> None:
    world = SchedulerWorld(profiles=[profile("Silent")], registry={"Silent": Silent})
    world.put(node("a"), pod("p"))
    world.run(50)
    assert str(world.scheduler.queue.where("default/p")) == "Unschedulable"
    world.plugin("Silent").verdict = SUCCESS
    changed = node("a")
    changed["metadata"]["annotations"] = {"any": "change"}
    world.server.put(NODES, changed)
    world.run(2_000)
    assert world.node_of("p") == "a"


class Wakes(Plain):
    """Asks for another Pod to be tried when one comes through."""

    def reserve(self, state: CycleState, pod: Object, node_name: str) -> Status:
        other = self.handle.other
        if other is not None:
            state.read(PODS_TO_ACTIVATE)["any key"] = other
        return SUCCESS

    def unreserve(self, state: CycleState, pod: Object, node_name: str) -> None:
        self.asked.append("unreserve")


def test_pods_that_a_plugin_wants_activated_are_tried_at_once() -> None:
    world = SchedulerWorld(profiles=[profile("Silent", "Wakes")], registry={"Silent": Silent, "Wakes": Wakes})
    framework: Any = world.scheduler.frameworks["default-scheduler"]
    framework.other = None
    world.put(node("a"), pod("sleeper"))
    world.run(50)
    assert str(world.scheduler.queue.where("default/sleeper")) == "Unschedulable"
    world.plugin("Silent").verdict = SUCCESS
    framework.other = world.pod("sleeper")
    world.put(pod("waker"))
    world.run(50)  # an event would have to wait for the back-off of a second
    assert (world.node_of("waker"), world.node_of("sleeper")) == ("a", "a")


def test_without_post_filter_a_nomination_is_taken_back() -> None:
    world = SchedulerWorld(profiles=[profile("NodeResourcesFit")])
    world.put(node("a", "1"))
    world.run(20)
    world.server.put(PODS, {**pod("p", "2"), "status": {"nominatedNodeName": "a"}})
    world.run(50)
    assert not world.pod("p")["status"].get("nominatedNodeName")
