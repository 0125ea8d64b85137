"""Extenders: what goes over the wire, and where the scheduler asks. Expected bytes are Go's types written out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from k8slab.api.features import FeatureGates
from k8slab.api.objects import Object
from k8slab.api.scheme import NODES, PODGROUPS, PODS
from k8slab.api.transport import HTTPResponse
from k8slab.client import SimulatedHTTP
from k8slab.scheduler import Code, Extender, ExtenderServer, Framework, ScheduleResult, Snapshot, Status
from k8slab.scheduler.extender import at_once
from k8slab.scheduler.extender_wire import WireError, encode, filter_result, host_priorities, preemption_result
from tests.scheduler_world import SchedulerWorld
from tests.scheduling import Scripted, node, pod, profile
from tests.unit.scheduler.test_gang_scheduling import in_group, pod_group

URL = "http://gpu.local/scheduler"
Answer = Callable[[Mapping[str, Any]], Any]


class Recorded:
    """An extender that answers by verb: a JSON value, a function of the request, bytes, a status. It keeps requests."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.requests: list[tuple[str, bytes]] = []

    def handle(self, method: str, path: str, body: bytes) -> HTTPResponse:
        verb = path.removeprefix("/")
        self.requests.append((verb, body))
        answer = self.answers[verb]
        if callable(answer):
            answer = answer(json.loads(body))
        if isinstance(answer, int):
            return HTTPResponse(answer, {}, b"no")
        return HTTPResponse(200, {}, answer if isinstance(answer, bytes) else json.dumps(answer).encode())

    def asked(self, verb: str) -> list[Any]:
        return [json.loads(body) for asked, body in self.requests if asked == verb]


def config(**more: Any) -> Extender:
    """An extender that knows Nodes, and is asked for every verb it is told."""
    return Extender.from_dict({"urlPrefix": URL, "nodeCacheCapable": True, "weight": 1, **more})


def framework(extender: Recorded, *configs: Extender, plugins: tuple[str, ...] = (), **more: Any) -> Framework:
    http = SimulatedHTTP()
    http.serve(URL, extender.handle)
    chosen = profile(*(plugins or ("Scripted",)), **more)
    return Framework.from_profile(chosen, registry={"Scripted": Scripted}, extenders=configs, http=http)


def placed(extender: Recorded, *configs: Extender, names: str = "ab", **more: Any) -> ScheduleResult:
    return framework(extender, *configs, **more).schedule(pod(), Snapshot.of([node(name) for name in names]))


# -- the wire ------------------------------------------------------------------------------------------

SMALL_POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web", "uid": "u"}, "spec": {"containers": []}}
SMALL_NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a<b"}, "status": {"allocatable": {"pods": "9"}}}


def ask(extender: Recorded, *configs: Extender) -> ScheduleResult:
    made = framework(extender, *configs)
    return made.schedule(SMALL_POD, Snapshot.of([SMALL_NODE, node("z", "1", "1Gi")]))


def test_a_request_carries_go_field_names_and_names_of_nodes() -> None:
    extender = Recorded(filter={"NodeNames": ["z"]})
    assert ask(extender, config(filterVerb="filter")).node == "z"
    assert extender.requests == [
        (
            "filter",
            b'{"Pod":{"metadata":{"name":"web","uid":"u"},"spec":{"containers":[]}},'
            b'"Nodes":null,"NodeNames":["a\\u003cb","z"]}',
        )
    ]


def test_without_a_cache_of_its_own_an_extender_is_sent_the_nodes() -> None:
    extender = Recorded(filter=lambda args: {"Nodes": {"items": args["Nodes"]["items"][:1]}})
    assert ask(extender, config(filterVerb="filter", nodeCacheCapable=False)).node == "a<b"
    (args,) = extender.asked("filter")
    assert list(args) == ["Pod", "Nodes", "NodeNames"] and args["NodeNames"] is None
    assert args["Nodes"]["items"][0] == {"metadata": {"name": "a<b"}, "status": {"allocatable": {"pods": "9"}}}


def test_a_reader_of_lower_case_keys_finds_nothing() -> None:
    """E068: requests arrive with Pod, Nodes and NodeNames; the other way Go is lenient."""
    extender = Recorded(filter={"nodenames": ["z"], "failednodes": {"a<b": "too hot"}})
    result = ask(extender, config(filterVerb="filter"))
    (args,) = extender.asked("filter")
    assert (args.get("pod"), args.get("nodenames")) == (None, None)
    assert (result.node, result.diagnosis.node_to_status.get("a<b").reasons) == ("z", ("too hot",))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(b"", "EOF", id="nothing"),
        pytest.param(b'[{"Host": "a"', "unexpected EOF", id="half an answer"),
        pytest.param(b"<html>", "invalid character '<' looking for beginning of value", id="a page"),
        pytest.param(
            b'{"hostPriorities": []}',
            "json: cannot unmarshal object into Go value of type v1.HostPriorityList",
            id="a wrapped list",
        ),
        pytest.param(
            b'[{"Host": "a", "Score": "7"}]',
            "json: cannot unmarshal string into Go struct field HostPriority.Score of type int64",
            id="a score in quotes",
        ),
        pytest.param(
            b'[{"Host": "a", "Score": 0.5}]',
            "json: cannot unmarshal number 0.5 into Go struct field HostPriority.Score of type int64",
            id="half a point",
        ),
        pytest.param(
            b'[{"Host": "a", "Score": 9223372036854775808}]',
            "json: cannot unmarshal number 9223372036854775808 into Go struct field HostPriority.Score of type int64",
            id="beyond 64 bits",
        ),
        pytest.param(
            b"{not json",
            "invalid character 'n' looking for beginning of object key string",
            id="a bare key",
        ),
        pytest.param(b"nul!", "invalid character '!' in literal null (expecting 'l')", id="half a null"),
        pytest.param(b"[1 true]", "invalid character 't' after array element", id="no comma"),
        pytest.param(b"[1,]", "invalid character ']' looking for beginning of value", id="a comma too many"),
        pytest.param(b"\xff", "invalid character '\u00ff' looking for beginning of value", id="a byte"),
        pytest.param('["é" é'.encode(), "invalid character '\u00c3' after array element", id="by bytes"),
        pytest.param(b"[\x07", r"invalid character '\a' looking for beginning of value", id="a bell"),
        pytest.param(b"[\\", r"invalid character '\\' looking for beginning of value", id="a backslash"),
        pytest.param(b"[\x85", r"invalid character '\u0085' looking for beginning of value", id="a control character"),
    ],
)
def test_what_is_no_list_of_scores_is_told_as_go_does(body: bytes, text: str) -> None:
    with pytest.raises(WireError) as error:
        host_priorities(body)
    assert str(error.value) == text


def test_line_separators_are_escaped_on_the_wire() -> None:
    assert encode({"Error": "a\u2028b<c"}) == rb'{"Error":"a\u2028b\u003cc"}'


def test_more_digits_than_python_reads_are_a_wire_error() -> None:
    with pytest.raises(WireError, match=r"json: cannot unmarshal number 9{5000} into Go value"):
        host_priorities(b'[{"Host": "a", "Score": ' + b"9" * 5_000 + b"}]")


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (filter_result, b'{"NodeNames": [1]}'),
        (filter_result, b'{"Nodes": {"items": {}}}'),
        (filter_result, b'{"FailedNodes": {"a": 1}}'),
        (filter_result, b"[]"),
        (preemption_result, b'{"NodeNameToMetaVictims": []}'),
        (preemption_result, b'{"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": 1}]}}}'),
    ],
)
def test_wrong_types_are_wire_errors(read: Callable[[bytes], Any], body: bytes) -> None:
    with pytest.raises(WireError, match="json: cannot unmarshal"):
        read(body)


# -- filter --------------------------------------------------------------------------------------------


def test_what_an_extender_says_of_nodes_stands_in_the_diagnosis() -> None:
    answer = {
        "NodeNames": [],
        "FailedNodes": {"a": "too hot", "b": "too hot"},
        "FailedAndUnresolvableNodes": {"b": "no GPU"},
    }
    result = placed(Recorded(filter=answer), config(filterVerb="filter"))
    statuses = result.diagnosis.node_to_status
    assert statuses.get("a") == Status(Code.UNSCHEDULABLE, "too hot")
    assert statuses.get("b") == Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, "no GPU"), "it goes before FailedNodes"
    assert result.message == "0/2 nodes are available: 1 no GPU, 1 too hot."
    assert result.diagnosis.unschedulable_plugins == {"Extender": None}


def test_only_nodes_that_passed_our_filters_are_asked_about() -> None:
    extender = Recorded(filter=lambda args: {"NodeNames": args["NodeNames"]})
    args = {"Scripted": {"filter": {"a": Status(Code.UNSCHEDULABLE, "no")}}}
    assert placed(extender, config(filterVerb="filter"), names="abc", args=args).feasible == ["b", "c"]
    assert [asked["NodeNames"] for asked in extender.asked("filter")] == [["b", "c"]]


def test_two_extenders_narrow_one_after_the_other_those_to_be_ignored_last() -> None:
    def but(name: str) -> Answer:
        return lambda args: {"NodeNames": [n for n in args["NodeNames"] if n != name]}

    extender = Recorded(first=but("a"), second=but("b"))
    result = placed(extender, config(filterVerb="second", ignorable=True), config(filterVerb="first"), names="abc")
    assert result.feasible == ["c"]
    assert [(verb, json.loads(body)["NodeNames"]) for verb, body in extender.requests] == [
        ("first", ["a", "b", "c"]),
        ("second", ["b", "c"]),
    ]


BROKEN = [
    pytest.param(500, f"failed filter with extender at URL {URL}/filter, code 500", id="a 500"),
    pytest.param(204, f"failed filter with extender at URL {URL}/filter, code 204", id="a 204 is not a 200"),
    pytest.param(b"{", "unexpected EOF", id="half an object"),
    pytest.param({"Error": "the GPU database is down"}, "the GPU database is down", id="an error of its own"),
    pytest.param(
        {"NodeNames": ["a", "ghost"]},
        f'extender "{URL}" claims a filtered node "ghost" which is not found in the input node list',
        id="a node that nobody asked about",
    ),
    pytest.param({"NodeNames": "a"}, None, id="a text in the place of a list"),
]


@pytest.mark.parametrize(("answer", "text"), BROKEN)
def test_an_extender_that_fails_fails_the_pod(answer: Any, text: str | None) -> None:
    result = placed(Recorded(filter=answer), config(filterVerb="filter"))
    assert result.status.code is Code.ERROR and result.node == ""
    assert text is None or result.message == text


@pytest.mark.parametrize(("answer", "text"), BROKEN)
def test_an_ignorable_extender_that_fails_is_left_out(answer: Any, text: str | None) -> None:
    result = placed(Recorded(filter=answer), config(filterVerb="filter", ignorable=True))
    assert result.node in ("a", "b")
    assert result.diagnosis.unschedulable_plugins == {}


def test_nobody_listening_is_upstreams_dial_error() -> None:
    made = framework(Recorded(), Extender.from_dict({"urlPrefix": "http://nowhere:9", "filterVerb": "filter"}))
    result = made.schedule(pod(), Snapshot.of([node("a")]))
    assert result.message == 'Post "http://nowhere:9/filter": dial tcp nowhere:9: connect: connection refused'


def test_without_nodes_nobody_is_asked() -> None:
    extender = Recorded()
    args = {"Scripted": {"filter": {"a": Status(Code.UNSCHEDULABLE, "no")}}}
    placed(extender, config(filterVerb="filter"), names="a", args=args)
    assert extender.requests == []


# -- scores --------------------------------------------------------------------------------------------


def test_scores_from_0_to_10_count_times_weight_times_10() -> None:
    extender = Recorded(prioritize=[{"Host": "a", "Score": 3}, {"Host": "b", "Score": 10}])
    args = {"Scripted": {"score": {"a": 100, "b": 20}}}
    result = placed(extender, config(prioritizeVerb="prioritize", weight=2), args=args)
    assert dict(result.scores) == {"a": {"Scripted": 100, URL: 3 * 2 * 10}, "b": {"Scripted": 20, URL: 10 * 2 * 10}}
    assert (result.node, result.score) == ("b", 220)


def test_a_score_of_100_is_not_clamped_and_drowns_all_plugins() -> None:
    """E069."""
    extender = Recorded(prioritize=[{"Host": "a", "Score": 100}])
    args = {"Scripted": {"score": {"a": 0, "b": 100}}}
    result = placed(extender, config(prioritizeVerb="prioritize"), args=args)
    assert (result.node, dict(result.totals)) == ("a", {"a": 1000, "b": 100})


def test_scores_of_unknown_nodes_are_nobodys_and_of_one_twice_add_up() -> None:
    scores = [{"Host": "ghost", "Score": 10}, {"Host": "b", "Score": 1}, {"Host": "b", "Score": 2}]
    result = placed(Recorded(prioritize=scores), config(prioritizeVerb="prioritize"))
    assert dict(result.totals) == {"a": 0, "b": 30}


def test_scores_wrap_around_as_in_go() -> None:
    """(2^63 - 1) x 10 is -10 in 64 bits; two scores that are half of the range each add up to the lowest number."""
    result = placed(Recorded(prioritize=[{"Host": "a", "Score": 2**63 - 1}]), config(prioritizeVerb="prioritize"))
    assert (result.node, dict(result.totals)) == ("b", {"a": -10, "b": 0})
    twice = [{"Host": "a", "Score": 2**62}] * 2
    result = placed(Recorded(prioritize=twice), config(prioritizeVerb="prioritize"))
    assert dict(result.totals) == {"a": 0, "b": 0}


def test_half_a_surrogate_pair_is_the_replacement_character() -> None:
    """As Go's decoder has it; a whole pair is its character."""
    assert filter_result(rb'{"Error": "\ud800 \ud83d\ude00", "FailedNodes": {"\udc00": "x"}}')[3:] == (
        {},
        "\ufffd \U0001f600",
    )
    assert filter_result(rb'{"FailedNodes": {"\udc00": "x"}}').failed == {"\ufffd": "x"}


@pytest.mark.parametrize(
    "answer",
    [500, b"{", {"hostPriorities": []}, b"[" + b"9" * 5_000 + b"]"],
    ids=["500", "half", "wrapped", "endless number"],
)
def test_an_extender_that_cannot_score_is_left_out_ignorable_or_not(answer: Any) -> None:
    args = {"Scripted": {"score": {"b": 1}}}
    result = placed(Recorded(prioritize=answer), config(prioritizeVerb="prioritize"), args=args)
    assert (result.node, dict(result.totals)) == ("b", {"a": 0, "b": 1})


def test_a_single_node_is_not_scored() -> None:
    extender = Recorded(prioritize=500)
    assert placed(extender, config(prioritizeVerb="prioritize"), names="a").node == "a"
    assert extender.requests == []


def test_scores_with_the_memo_are_those_without() -> None:
    nodes = [node("a", "2"), node("b", "4"), node("c", "8")]
    scores = [{"Host": "a", "Score": 9}, {"Host": "c", "Score": 1}]
    totals = []
    for memo in (True, False):
        http = SimulatedHTTP()
        http.serve(URL, Recorded(prioritize=scores).handle)
        made = Framework.from_profile(extenders=[config(prioritizeVerb="prioritize")], http=http, memo=memo)
        snapshot = Snapshot.of(nodes)
        totals.append([made.schedule(pod(f"p{i}"), snapshot).totals for i in range(3)])
    assert totals[0] == totals[1]


# -- resources -----------------------------------------------------------------------------------------


def gpu_pod(where: str = "containers", kind: str = "requests") -> Object:
    incoming = pod()
    container = {"name": "g", "resources": {kind: {"example.com/gpu": "1"}}}
    incoming["spec"][where] = [*incoming["spec"].get(where, ()), container]
    return incoming


@pytest.mark.parametrize("where", ["containers", "initContainers"])
@pytest.mark.parametrize("kind", ["requests", "limits"])
def test_only_pods_that_ask_for_a_managed_resource_are_sent(where: str, kind: str) -> None:
    extender = Recorded(filter=lambda args: {"NodeNames": args["NodeNames"]})
    made = framework(extender, config(filterVerb="filter", managedResources=[{"name": "example.com/gpu"}]))
    snapshot = Snapshot.of([node("a")])
    assert made.schedule(pod(), snapshot).node == "a"
    assert extender.requests == []
    assert made.schedule(gpu_pod(where, kind), snapshot).node == "a"
    assert len(extender.requests) == 1


def test_a_resource_that_the_scheduler_ignores_needs_not_be_on_the_node() -> None:
    def verdict(**managed: Any) -> str:
        entry = {"name": "example.com/gpu", **managed}
        made = framework(Recorded(), config(managedResources=[entry]), plugins=("NodeResourcesFit",))
        return made.schedule(gpu_pod(), Snapshot.of([node("a")])).message

    assert verdict() == "0/1 nodes are available: 1 Insufficient example.com/gpu."
    assert verdict(ignoredByScheduler=True) == ""


# -- preemption ----------------------------------------------------------------------------------------


def preempting(answer: Any, **more: Any) -> tuple[ScheduleResult, Recorded]:
    """Two full Nodes with less important Pods, and an extender with a say."""
    extender = Recorded(preempt=answer)
    made = framework(
        extender,
        config(preemptVerb="preempt", **more),
        plugins=("NodeResourcesFit", "DefaultPreemption"),
    )
    victims = [pod(f"v{name}", "4", node_name=name, priority=1) for name in "ab"]
    others = [pod(f"w{name}", "0", node_name=name, priority=2) for name in "ab"]
    snapshot = Snapshot.of([node("a"), node("b")], [*victims, *others])
    return made.schedule(pod(cpu="1", priority=5), snapshot), extender


def names(result: ScheduleResult) -> tuple[str, list[str]] | None:
    if result.post_filter is None or not result.post_filter.nominated_node_name:
        return None
    choice = result.post_filter.preemption
    return choice.node, [victim.key for victim in choice.victims]


def test_victims_are_counted_when_they_are_told_to_go() -> None:
    """Two victims were chosen: the extender spares one of them, or (its answer is an error) both."""

    def counted(answer: Any) -> float:
        world = ExtendedWorld(Recorded(preempt=answer).handle, preemptVerb="preempt")
        for name in "ab":
            low = [pod(f"{number}{name}", "2", node_name=name, priority=1) for number in (1, 2)]
            for victim in low:
                world.server.put(PODS, {**victim, "status": {"phase": "Running"}})
        world.run(50)
        world.server.put(PODS, pod("vip", "4", priority=5))
        world.run(50)
        return world.scheduler.metrics.value("scheduler_preemption_victims_sum")

    one = {"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "uid-default-1a"}]}}}
    assert counted(one) == 1
    assert counted({"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "nobody"}]}}}) == 0


def test_an_extender_is_sent_uids_and_picks_the_node() -> None:
    result, extender = preempting(lambda args: {"NodeNameToMetaVictims": {"b": args["NodeNameToMetaVictims"]["b"]}})
    assert names(result) == ("b", ["default/vb"])
    (args,) = extender.asked("preempt")
    assert list(args) == ["Pod", "NodeNameToVictims", "NodeNameToMetaVictims"]
    assert args["NodeNameToVictims"] is None
    assert args["NodeNameToMetaVictims"] == {
        name: {"Pods": [{"UID": f"uid-default-v{name}"}], "NumPDBViolations": 0} for name in "ab"
    }


def test_an_extender_without_a_cache_is_sent_the_victims_and_still_answers_uids() -> None:
    def agree_on_a(args: Mapping[str, Any]) -> Any:
        victims = args["NodeNameToVictims"]["a"]
        uids = [{"UID": victim["metadata"]["uid"]} for victim in victims["Pods"]]
        return {"NodeNameToMetaVictims": {"a": {"Pods": uids, "NumPDBViolations": 0}}}

    result, _ = preempting(agree_on_a, nodeCacheCapable=False)
    assert names(result) == ("a", ["default/va"])


def test_an_extender_may_name_other_victims() -> None:
    other = {"Pods": [{"UID": "uid-default-va"}, {"UID": "uid-default-wa"}], "NumPDBViolations": 0}
    result, _ = preempting({"NodeNameToMetaVictims": {"a": other}})
    assert names(result) == ("a", ["default/va", "default/wa"])


NO_ROOM = "0/2 nodes are available: 2 Insufficient cpu. "


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        pytest.param({"NodeNameToMetaVictims": {}}, "preemption: no candidate node for preemption", id="no node left"),
        pytest.param(
            {"NodeNameToMetaVictims": {"a": {"Pods": [{"UID": "ghost"}]}}},
            f"preemption: extender: {URL} claims to preempt pod (UID: &{{ghost}}) on node: a, "
            "but the pod is not found on that node",
            id="a pod that is not there",
        ),
        pytest.param(
            {"NodeNameToMetaVictims": {"ghost": {"Pods": []}}},
            'preemption: nodeinfo not found for node name "ghost"',
            id="a node that is not there",
        ),
        pytest.param(
            {"NodeNameToMetaVictims": {"a": {"Pods": []}}},
            'preemption: expected at least one victim pod on node "a"',
            id="a node without victims",
        ),
        pytest.param(500, f"preemption: failed preempt with extender at URL {URL}/preempt, code 500", id="a 500"),
    ],
)
def test_an_extender_can_spoil_a_preemption(answer: Any, text: str) -> None:
    result, _ = preempting(answer)
    assert names(result) is None
    assert result.message == NO_ROOM + text


@pytest.mark.parametrize("answer", [500, {"NodeNameToMetaVictims": {"ghost": {}}}], ids=["500", "unknown node"])
def test_an_ignorable_one_cannot(answer: Any) -> None:
    result, _ = preempting(answer, ignorable=True)
    assert names(result) in (("a", ["default/va"]), ("b", ["default/vb"]))


def test_an_ignorable_one_that_names_no_victims_loses_that_node() -> None:
    answer = {"NodeNameToMetaVictims": {"a": {"Pods": []}, "b": {"Pods": [{"UID": "uid-default-vb"}]}}}
    result, _ = preempting(answer, ignorable=True)
    assert names(result) == ("b", ["default/vb"])


def test_the_nominated_node_is_shown_to_the_extender_too() -> None:
    extender = Recorded(filter=lambda args: {"NodeNames": [n for n in args["NodeNames"] if n != "a"]})
    made = framework(extender, config(filterVerb="filter"))
    nominated = {**pod(), "status": {"nominatedNodeName": "a"}}
    assert made.schedule(nominated, Snapshot.of([node("a"), node("b")])).node == "b"
    assert [asked["NodeNames"] for asked in extender.asked("filter")] == [["a"], ["a", "b"]]


# -- configuration -------------------------------------------------------------------------------------


def test_two_binders_are_refused() -> None:
    with pytest.raises(ValueError, match="found 2 extenders implementing bind: only one extender can implement bind"):
        framework(Recorded(), config(bindVerb="bind"), config(bindVerb="bind"))


def test_extenders_need_somebody_to_call_them() -> None:
    with pytest.raises(ValueError, match="http: None, expected an HTTPCaller"):
        Framework.from_profile(extenders=[config(filterVerb="filter")])


def test_no_verb_is_required() -> None:
    """E070: an extender with prioritize alone works, and so does one with nothing."""
    assert placed(Recorded(prioritize=[]), config(prioritizeVerb="prioritize")).node in ("a", "b")
    assert placed(Recorded(), config()).node in ("a", "b")


# -- the process ---------------------------------------------------------------------------------------


class ExtendedWorld(SchedulerWorld):
    """A scheduler with one extender, before a fake API server."""

    def __init__(
        self, handler: Any, *, delay_ms: int = 0, gates: Mapping[str, bool] | None = None, **more: Any
    ) -> None:
        self.handler, self.delay_ms = handler, delay_ms
        self.http: SimulatedHTTP | None = None
        super().__init__(extenders=[config(**more)], http=self, features=FeatureGates(overrides=gates))
        self.server.put(NODES, node("a"))
        self.server.put(NODES, node("b"))
        self.run(20)

    async def post(self, url: str, headers: Mapping[str, str], body: bytes, timeout_ms: int) -> HTTPResponse:
        if self.http is None:
            self.http = SimulatedHTTP(self.loop)
            self.http.serve(URL, self.handler, delay_ms=self.delay_ms)
        return await self.http.post(url, headers, body, timeout_ms)


def only(*wanted: str) -> Recorded:
    return Recorded(filter=lambda args: {"NodeNames": [n for n in args["NodeNames"] if n in wanted]})


def test_the_next_pod_waits_for_the_extender_too() -> None:
    world = ExtendedWorld(only("a").handle, delay_ms=300, filterVerb="filter")
    world.server.put(PODS, pod("one"))
    world.server.put(PODS, pod("two"))
    world.run(350)
    assert (world.node_of("one"), world.node_of("two")) == ("a", None)
    world.run(300)
    assert world.node_of("two") == "a"
    answers = [event.data for event in world.loop.trace if event.kind == "extender.answer"]
    assert [(data["key"], data["outcome"], data["took_ms"]) for data in answers] == [
        ("default/one", "200", 300),
        ("default/two", "200", 300),
    ]
    value = world.scheduler.metrics.value
    assert value("scheduler_scheduling_algorithm_duration_seconds_sum") == 0.6, "a cycle lasts as long as its extender"


def test_an_extender_that_hangs_costs_the_pod_five_seconds_and_the_attempt() -> None:
    world = ExtendedWorld(only("a").handle, delay_ms=60_000, filterVerb="filter")
    world.server.put(PODS, pod("p"))
    world.run(4_990)
    assert world.events("p") == []
    world.run(100)
    waited = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
    assert world.events("p") == [("FailedScheduling", f'Post "{URL}/filter": {waited}')]
    (condition,) = world.pod("p")["status"]["conditions"]
    assert condition["reason"] == "SchedulerError"
    # An error backs off by itself: the extender is asked again.
    world.run(10_000)
    assert world.kinds("schedule.attempt").count("schedule.attempt") >= 2


def test_an_ignorable_one_that_hangs_costs_only_time() -> None:
    world = ExtendedWorld(only("a").handle, delay_ms=60_000, filterVerb="filter", ignorable=True, httpTimeout="200ms")
    world.server.put(PODS, pod("p"))
    world.run(190)
    assert world.node_of("p") is None
    world.run(50)
    assert world.node_of("p") in ("a", "b")


def test_a_pod_that_an_extender_rejected_comes_back_with_any_event() -> None:
    gate = only()
    world = ExtendedWorld(gate.handle, filterVerb="filter")
    world.server.put(PODS, pod("p"))
    world.run(100)
    helpless = "preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    text = f"0/2 nodes are available: no new claims to deallocate, {helpless}"
    # It gave no reasons, so there are none to show; the Pod's own new condition is an event too, hence two attempts.
    assert world.events("p") == [("FailedScheduling", text)] * 2
    world.run(10_000)
    assert len(world.events("p")) == 2
    gate.answers = only("b").answers
    world.server.put(PODS, pod("other", node_name="a"))  # no plugin would take this for help
    world.run(2_000)
    assert world.node_of("p") == "b"


def test_an_extender_binds() -> None:
    world = ExtendedWorld(None, bindVerb="bind")
    binder = ExtenderServer(Framework.from_profile(), client=world.scheduler.client)
    asked: list[bytes] = []

    async def handle(method: str, path: str, body: bytes) -> HTTPResponse:
        asked.append(body)
        return await binder.handle(method, path, body)

    world.handler = handle
    world.server.put(PODS, pod("p"))
    world.run(200)
    where = world.node_of("p")
    assert where in ("a", "b")
    uid = world.pod("p")["metadata"]["uid"]
    assert [json.loads(body) for body in asked] == [
        {"PodName": "p", "PodNamespace": "default", "PodUID": uid, "Node": where}
    ]
    assert world.events("p") == [("Scheduled", f"Successfully assigned default/p to {where}")]


@pytest.mark.parametrize("ignorable", [False, True], ids=["fatal", "ignorable"])
def test_an_extender_that_refuses_to_bind(ignorable: bool) -> None:
    world = ExtendedWorld(Recorded(bind={"Error": "not today"}).handle, bindVerb="bind", ignorable=ignorable)
    world.server.put(PODS, pod("p"))
    world.run(200)
    assert (world.node_of("p") is not None) is ignorable, "DefaultBinder steps in for one that may be ignored"
    assert (("FailedScheduling", "not today") in world.events("p")) is not ignorable


def test_a_pod_bound_by_another_while_the_extender_thinks_is_not_bound_again() -> None:
    world = ExtendedWorld(only("a").handle, delay_ms=500, filterVerb="filter")
    world.server.put(PODS, pod("p"))
    world.run(100)
    stolen = {**world.pod("p")}
    stolen["spec"] = {**stolen["spec"], "nodeName": "b"}
    world.server.put(PODS, stolen)
    world.run(3_000)
    assert world.node_of("p") == "b"
    text = "pod uid-default-p(default/p) is in the cache, so can't be assumed"
    assert world.events("p") == [("FailedScheduling", text)]
    assert world.kinds("schedule.bind-error") == []


def extended_gang(delay_ms: int, answer: Recorded, *names: str) -> ExtendedWorld:
    """The named Pods of a gang that needs all of them, on two Nodes with 8 cores."""
    gates = {"GenericWorkload": True, "GangScheduling": True}
    world = ExtendedWorld(answer.handle, delay_ms=delay_ms, gates=gates, filterVerb="filter")
    world.server.put(PODGROUPS, pod_group("g", len(names)))
    for name in names:
        world.server.put(PODS, in_group(name, "g"))
    return world


def test_a_gang_waits_for_the_extender_once_for_each_member() -> None:
    extender = only("a")
    world = extended_gang(300, extender, "m0", "m1")
    world.run(350)
    assert world.scheduler.view()["cache"]["assumed"] == {"default/m0": "a"}, "the place is held meanwhile"
    world.run(300)
    assert (world.node_of("m0"), world.node_of("m1")) == ("a", "a")
    assert [args["Pod"]["metadata"]["name"] for args in extender.asked("filter")] == ["m0", "m1"]


def test_a_gang_that_an_extender_rejects_holds_nothing() -> None:
    world = extended_gang(10, only(), "m0", "m1")
    world.run(200)
    assert (world.node_of("m0"), world.scheduler.view()["cache"]["assumed"]) == (None, {})
    assert world.events("m1")[0][1].startswith("0/2 nodes are available")


def test_a_member_bound_by_another_while_the_extender_thinks_is_an_error_of_the_gang() -> None:
    world = extended_gang(300, only("a"), "m0", "m1")
    world.run(450)  # the extender thinks about m1
    stolen = world.pod("m1")
    world.server.put(PODS, {**stolen, "spec": {**stolen["spec"], "nodeName": "b"}})
    world.run(250)
    text = "pod uid-default-m1(default/m1) is in the cache, so can't be assumed"
    assert world.events("m1") == [("FailedScheduling", text)]
    assert world.events("m0") == [("FailedScheduling", f"failed to schedule other pod from a pod group: {text}")]
    assert world.scheduler.view()["cache"]["assumed"] == {}
    world.run(5_000)
    assert world.node_of("m0") == "a", "with the other one placed there are enough"


def test_a_framework_alone_cannot_wait() -> None:
    world = ExtendedWorld(only("a").handle, delay_ms=10, filterVerb="filter")
    made = world.scheduler.frameworks["default-scheduler"]
    with pytest.raises(RuntimeError, match="the cycle waits for an extender"):
        made.schedule(pod(), Snapshot.of([node("a")]))


# -- the other direction -------------------------------------------------------------------------------


def served(server: ExtenderServer, verb: str, args: Any, method: str = "POST") -> tuple[int, Any]:
    body = args if isinstance(args, bytes) else json.dumps(args).encode()
    answer = at_once(server.handle(method, f"/any/where/{verb}", body))
    return answer.status, json.loads(answer.body)


BUSY = [pod("big", "3", node_name="a", priority=1)]
CLUSTER = [node("a"), node("b", labels={"disk": "ssd"})]


def known_cluster() -> ExtenderServer:
    return ExtenderServer(Framework.from_profile(), lambda: Snapshot.of(CLUSTER, BUSY))


def test_the_default_profile_as_an_extender_places_as_the_default_profile() -> None:
    """The same policy in process and over HTTP: a scheduler that can nothing, and an extender that can all."""
    http = SimulatedHTTP()
    http.serve(URL, known_cluster().handle)
    bare = Framework.from_profile(
        profile("NodeName"), extenders=[config(filterVerb="filter", prioritizeVerb="prioritize")], http=http
    )
    incoming = [pod("p", "2"), pod("q", "500m"), pod("s", "500m", nodeSelector={"disk": "ssd"}), pod("x", "9")]
    for one in incoming:
        own = Framework.from_profile().schedule(one, Snapshot.of(CLUSTER, BUSY))
        other = bare.schedule(one, Snapshot.of(CLUSTER, BUSY))
        assert other.node == own.node, (one["metadata"]["name"], other.message)


def test_filter_tells_hopeless_nodes_from_others() -> None:
    status, answer = served(known_cluster(), "filter", {"Pod": pod(cpu="2"), "NodeNames": ["a", "b"]})
    assert (status, answer["NodeNames"], answer["FailedNodes"]) == (200, ["b"], {"a": "Insufficient cpu"})
    status, answer = served(known_cluster(), "filter", {"Pod": pod(cpu="9"), "NodeNames": ["a", "b"]})
    assert answer["FailedAndUnresolvableNodes"] == {"a": "Insufficient cpu", "b": "Insufficient cpu"}


def test_without_a_snapshot_it_knows_the_nodes_it_is_sent_and_no_pods() -> None:
    server = ExtenderServer(Framework.from_profile())
    status, answer = served(server, "filter", {"Pod": pod(cpu="2"), "Nodes": {"items": CLUSTER}})
    assert (status, [found["metadata"]["name"] for found in answer["Nodes"]["items"]]) == (200, ["a", "b"])
    status, answer = served(server, "filter", {"Pod": pod(), "NodeNames": ["a"]})
    assert (status, answer["Error"].split(":")[0]) == (400, "NodeNames")


def test_scores_are_from_0_to_10() -> None:
    scripted = Framework.from_profile(
        profile("Scripted", args={"Scripted": {"score": {"a": 100, "b": 49}}}), registry={"Scripted": Scripted}
    )
    server = ExtenderServer(scripted, lambda: Snapshot.of(CLUSTER))
    status, answer = served(server, "prioritize", {"Pod": pod(), "NodeNames": ["a", "b"]})
    assert (status, answer) == (200, [{"Host": "a", "Score": 10}, {"Host": "b", "Score": 4}])


@pytest.mark.parametrize("key", ["NodeNameToMetaVictims", "NodeNameToVictims"])
def test_preempt_agrees_where_the_pod_would_fit(key: str) -> None:
    victim = BUSY[0]
    enough = {"UID": victim["metadata"]["uid"]} if key == "NodeNameToMetaVictims" else victim
    args = {"Pod": pod(cpu="3"), key: {"a": {"Pods": [enough], "NumPDBViolations": 1}, "ghost": {"Pods": []}}}
    status, answer = served(known_cluster(), "preempt", args)
    agreed = {"a": {"Pods": [{"UID": victim["metadata"]["uid"]}], "NumPDBViolations": 1}}
    assert (status, answer) == (200, {"NodeNameToMetaVictims": agreed})
    args[key] = {"a": {"Pods": [], "NumPDBViolations": 0}}
    assert served(known_cluster(), "preempt", args) == (200, {"NodeNameToMetaVictims": {}})


@pytest.mark.parametrize(
    ("verb", "args", "status", "text"),
    [
        ("filter", b"{", 400, "unexpected EOF"),
        ("filter", b"[]", 400, "json: cannot unmarshal array into Go value of type v1.ExtenderArgs"),
        ("filter", {"NodeNames": ["a"]}, 400, "Pod: null: expected an object with metadata.name"),
        ("filter", {"Pod": {"metadata": {"name": "p"}}, "NodeNames": []}, 400, "Pod.spec: None: expected an object"),
        ("filter", {"Pod": pod(), "NodeNames": ["ghost"]}, 400, "node 'ghost': not known here"),
        ("filter", {"Pod": pod(), "NodeNames": "a"}, 400, "NodeNames: 'a': expected a list of names"),
        ("bind", {"PodName": "p", "Node": "a"}, 200, "this extender does not bind"),
        ("validate", {}, 404, "no such verb: validate"),
    ],
)
def test_bad_requests_are_told_why(verb: str, args: Any, status: int, text: str) -> None:
    found, answer = served(known_cluster(), verb, args)
    assert (found, answer["Error"]) == (status, text)


def test_other_methods_are_405() -> None:
    assert served(known_cluster(), "filter", b"", method="GET") == (405, {"Error": "method GET: expected POST"})
