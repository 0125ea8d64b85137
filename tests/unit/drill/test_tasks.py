"""Coding tasks: a right solution passes, and a wrong one is told which property broke; nothing raises."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from k8slab.api.quantity import quantity
from k8slab.drill import TASKS, TaskVerdict, check_task
from k8slab.scheduler import SUCCESS, Code, PluginError, Status

Json = dict[str, Any]
GPU = "example.com/gpu"


# -- solutions ---------------------------------------------------------------------------------------


def pool(scheduler_name: str, key: str, value: str) -> Json:
    """A KubeSchedulerConfiguration whose scheduler stays on the Nodes with a label."""
    there = {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}
    added = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [there]}}
    args = {"name": "NodeAffinity", "args": {"addedAffinity": added}}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": scheduler_name, "pluginConfig": [args]}],
    }


def gang(handle: Any, pod: Json) -> tuple[Status, int]:
    labels = pod["metadata"]["labels"] or {}
    if "gang" not in labels:
        return SUCCESS, 0
    mine = [w for w in handle.waiting_pods() if w.pod["metadata"]["labels"].get("gang") == labels["gang"]]
    if len(mine) + 1 < int(labels["gang-size"]):
        return Status(Code.WAIT), 10 * 60_000
    for waiting in mine:
        waiting.allow("Mine")
    return SUCCESS, 0


def place_gang(members: int, ask: int, free: dict[str, int]) -> dict[str, int]:
    placed: dict[str, int] = {}
    for node, left in free.items():
        placed[node] = min(members - sum(placed.values()), left // ask)
    return placed if sum(placed.values()) == members else {}


def prioritize(body: bytes) -> bytes:
    nodes = json.loads(body)["Nodes"]["items"]
    score = {"gold": 10, "silver": 5}
    return json.dumps(
        [
            {"Host": node["metadata"]["name"], "Score": score.get(node["metadata"].get("labels", {}).get("tier"), 0)}
            for node in nodes
        ]
    ).encode()


def victims(priority: int, ask: int, free: int, running: list[Json]) -> list[str] | None:
    lower = [pod for pod in running if pod["priority"] < priority]
    room = free + sum(pod["cpu"] for pod in lower) - ask
    if room < 0 or not lower:
        return None
    gone = []
    for pod in sorted(lower, key=lambda pod: (-pod["priority"], pod["started"])):
        if pod["cpu"] <= room:
            room -= pod["cpu"]
        else:
            gone.append(pod["name"])
    return gone


def balanced(used: Json, asked: Json, has: Json) -> int:
    def balance(amounts: Json) -> int:
        return int((1 - abs(amounts["cpu"] / has["cpu"] - amounts["memory"] / has["memory"]) / 2) * 100)

    return 50 + (50 + balance({name: used[name] + asked[name] for name in used}) - balance(used)) // 2


def pre_bind(volumes: Any, pod: Json, node_name: str) -> Status:
    done: list[str] = []
    for volume in pod["spec"]["volumes"]:
        if volumes.where(volume["name"]) == node_name:
            continue
        try:
            volumes.attach(volume["name"], node_name)
        except PluginError as error:
            for name in reversed(done):
                volumes.detach(name)
            return Status(Code.ERROR, str(error))
        done.append(volume["name"])
    return SUCCESS


def requests_of(container: Json) -> Json:
    found = {name: quantity(text) for name, text in container["resources"]["requests"].items()}
    return {name: q.milli_value() if name == "cpu" else q.value() for name, q in found.items()}


def fit(pod: Json, free: Json, of: Callable[[Json], Json] = requests_of) -> list[str]:
    reasons = ["Too many pods"] if free["pods"] < 1 else []
    main = [of(container) for container in pod["spec"]["containers"]]
    first = [of(container) for container in pod["spec"]["initContainers"]]
    for name in ("cpu", "memory", GPU):
        asks = max([sum(one.get(name, 0) for one in main), *(one.get(name, 0) for one in first)])
        if asks and asks > free[name]:
            reasons.append(f"Insufficient {name}")
    return reasons


def anti_affinity(new: Json, running: list[Json], nodes: dict[str, Json]) -> list[str]:
    def same_place(one: str, other: str, key: str) -> bool:
        return key in nodes[one] and nodes[one][key] == nodes[other].get(key)

    def clash(node: str, pod: Json) -> bool:
        keys = [key for app, key in new["avoids"] if app == pod["app"]]
        keys += [key for app, key in pod["avoids"] if app == new["app"]]
        return any(same_place(node, pod["node"], key) for key in keys)

    return [node for node in nodes if not any(clash(node, pod) for pod in running)]


NO_MATCH = "node(s) didn't match the requested node name"


def node_name(pod: Json, name: str) -> Status:
    if pod["spec"].get("nodeName") in (None, "", name):
        return SUCCESS
    return Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, NO_MATCH)


SOLUTIONS: dict[str, Callable[..., Any]] = {
    "pool": pool, "gang": gang, "place-gang": place_gang, "prioritize": prioritize, "victims": victims,
    "balanced": balanced, "pre-bind": pre_bind, "fit": fit, "anti-affinity": anti_affinity, "node-name": node_name,
}  # fmt: skip


def test_every_task_has_a_solution_here() -> None:
    assert set(SOLUTIONS) == set(TASKS)


@pytest.mark.parametrize("seed", [1, 2, "again"])
@pytest.mark.parametrize("name", list(TASKS))
def test_a_solution_passes(name: str, seed: int | str) -> None:
    verdict = check_task(name, SOLUTIONS[name], seed)
    assert verdict.right, str(verdict)
    assert str(verdict) == f"Right: {TASKS[name].cases} cases."


# -- wrong solutions ---------------------------------------------------------------------------------


def changed(path: list[Any], value: Any) -> Callable[..., Json]:
    """`pool`, with another value at a place in what it returns."""

    def wrong(*args: str) -> Json:
        config = copy.deepcopy(pool(*args))
        inner: Any = config
        for step in path[:-1]:
            inner = inner[step]
        if callable(value):
            inner[path[-1]] = value(*args)
        else:
            inner[path[-1]] = value
        return config

    return wrong


def node_selector_plugin(name: str, key: str, value: str) -> Json:
    config = changed(["profiles", 0, "plugins"], {"filter": {"enabled": [{"name": "NodeSelector"}]}})(name, key, value)
    config["profiles"][0]["pluginConfig"] = [{"name": "NodeSelector", "args": {"nodeSelector": {key: value}}}]
    return config


def preferred(name: str, key: str, value: str) -> Json:
    term = {"weight": 100, "preference": {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}}
    added = {"preferredDuringSchedulingIgnoredDuringExecution": [term]}
    return changed(["profiles", 0, "pluginConfig", 0, "args", "addedAffinity"], added)(name, key, value)


def struct_copies() -> Callable[..., Any]:
    """The group is a value in a map: what is read from the map is a copy."""
    groups: Json = {}

    def wrong(handle: Any, pod: Json) -> tuple[Status, int]:
        labels = pod["metadata"]["labels"]
        if "gang" not in labels:
            return SUCCESS, 0
        group = dict(groups.setdefault(labels["gang"], {"ready": 0}))
        group["ready"] += 1
        return (SUCCESS, 0) if group["ready"] >= int(labels["gang-size"]) else (Status(Code.WAIT), 600_000)

    return wrong


def own_count(*, allows: bool = True) -> Callable[..., Any]:
    """Counts arrivals, and never takes one back."""
    ready: dict[str, int] = {}

    def wrong(handle: Any, pod: Json) -> tuple[Status, int]:
        labels = pod["metadata"]["labels"]
        if "gang" not in labels:
            return SUCCESS, 0
        name = labels["gang"]
        ready[name] = ready.get(name, 0) + 1
        if ready[name] < int(labels["gang-size"]):
            return Status(Code.WAIT), 600_000
        for waiting in handle.waiting_pods():
            if allows and waiting.pod["metadata"]["labels"].get("gang") == name:
                waiting.allow("Mine")
        return SUCCESS, 0

    return wrong


def lets_all_go(handle: Any, pod: Json) -> tuple[Status, int]:
    status, ms = gang(handle, pod)
    if status.is_success and pod["metadata"]["labels"]:
        for waiting in handle.waiting_pods():
            waiting.allow("Mine")
    return status, ms


def in_seconds(handle: Any, pod: Json) -> tuple[Status, int]:
    status, ms = gang(handle, pod)
    return status, ms // 1000


def through_the_permit_plugin(handle: Any, pod: Json) -> tuple[Status, int]:
    handle.permit_plugin().allow(pod)
    return SUCCESS, 0


def sum_of_rests(members: int, ask: int, free: dict[str, int]) -> dict[str, int]:
    return {next(iter(free)): members} if sum(free.values()) >= members * ask else {}


def as_many_as_fit(members: int, ask: int, free: dict[str, int]) -> dict[str, int]:
    placed: dict[str, int] = {}
    for node, left in free.items():
        placed[node] = min(members - sum(placed.values()), left // ask)
    return placed


def lower_case_keys(body: bytes) -> bytes:
    return b"[]" if json.loads(body)["nodes"] else b""


def no_pod(body: bytes) -> bytes:
    pod = json.loads(body).get("pod")
    return pod["metadata"]["name"].encode()  # type: ignore[no-any-return]


def wrapped(body: bytes) -> bytes:
    return b'{"hostPriorities": ' + prioritize(body) + b"}"


def hundred(body: bytes) -> bytes:
    return json.dumps([{**entry, "Score": entry["Score"] * 10} for entry in json.loads(prioritize(body))]).encode()


def only_gold(body: bytes) -> bytes:
    return json.dumps([entry for entry in json.loads(prioritize(body)) if entry["Score"]]).encode()


def least_important_first(priority: int, ask: int, free: int, running: list[Json]) -> list[str] | None:
    """Evicts from below until it fits: it can evict more than it needs."""
    gone = []
    for pod in sorted(running, key=lambda pod: (pod["priority"], -pod["started"])):
        if pod["priority"] < priority and free < ask:
            free += pod["cpu"]
            gone.append(pod["name"])
    return gone if free >= ask else None


def biggest_first(priority: int, ask: int, free: int, running: list[Json]) -> list[str] | None:
    """Evicts as few as it can, whoever they are."""
    gone = []
    for pod in sorted(running, key=lambda pod: -pod["cpu"]):
        if pod["priority"] < priority and free < ask:
            free += pod["cpu"]
            gone.append(pod["name"])
    return gone if free >= ask else None


def equals_too(priority: int, ask: int, free: int, running: list[Json]) -> list[str] | None:
    return victims(priority + 1, ask, free, running)


def all_below(priority: int, ask: int, free: int, running: list[Json]) -> list[str] | None:
    return [p["name"] for p in running if p["priority"] < priority] if victims(priority, ask, free, running) else None


def until_1_35(used: Json, asked: Json, has: Json) -> int:
    share = {name: (used[name] + asked[name]) / has[name] for name in used}
    return int((1 - abs(share["cpu"] - share["memory"]) / 2) * 100)


def of_ten(used: Json, asked: Json, has: Json) -> int:
    share = {name: (used[name] + asked[name]) / has[name] for name in used}
    return int(10 - abs(share["cpu"] - share["memory"]) * 10)


def every_ordered_pair(used: Json, asked: Json, has: Json) -> int:
    share = [(used[name] + asked[name]) / has[name] for name in used]
    return max(0, int(100 - sum(abs(a - b) for a in share for b in share) * 100))


def hundred_for_no_change(used: Json, asked: Json, has: Json) -> int:
    score = balanced(used, asked, has)
    return 100 if score == 75 and used["cpu"] * has["memory"] == used["memory"] * has["cpu"] else score


def attaches_anyway(volumes: Any, pod: Json, node: str) -> Status:
    for volume in pod["spec"]["volumes"]:
        volumes.attach(volume["name"], node)
    return SUCCESS


def leaves_it(volumes: Any, pod: Json, node: str) -> Status:
    for volume in pod["spec"]["volumes"]:
        if volumes.where(volume["name"]) != node:
            try:
                volumes.attach(volume["name"], node)
            except PluginError as error:
                return Status(Code.ERROR, str(error))
    return SUCCESS


def detaches_all(volumes: Any, pod: Json, node: str) -> Status:
    status = leaves_it(volumes, pod, node)
    if not status.is_success:
        for volume in pod["spec"]["volumes"]:
            if volumes.where(volume["name"]) == node:
                volumes.detach(volume["name"])
    return status


def keeps_silent(volumes: Any, pod: Json, node: str) -> Status:
    status = pre_bind(volumes, pod, node)
    return status if status.is_success else Status(Code.ERROR, "failed")


def says_success(volumes: Any, pod: Json, node: str) -> Status:
    pre_bind(volumes, pod, node)
    return SUCCESS


def with_limits(container: Json) -> Json:
    resources = container["resources"]
    return requests_of({"resources": {"requests": {**resources["requests"], **resources.get("limits", {})}}})


def limits_count(pod: Json, free: Json) -> list[str]:
    return fit(pod, free, with_limits)


def init_added(pod: Json, free: Json) -> list[str]:
    spec = pod["spec"]
    return fit({"spec": {"containers": spec["containers"] + spec["initContainers"], "initContainers": []}}, free)


def init_left_out(pod: Json, free: Json) -> list[str]:
    return fit({"spec": {"containers": pod["spec"]["containers"], "initContainers": []}}, free)


def refuses_equal(pod: Json, free: Json) -> list[str]:
    return fit(pod, {name: amount - (name != "pods") for name, amount in free.items()})


def unasked_counts(pod: Json, free: Json) -> list[str]:
    return fit(pod, free) + [f"Insufficient {n}" for n in ("cpu", "memory") if free[n] < 0]


def one_sided(new: Json, running: list[Json], nodes: dict[str, Json]) -> list[str]:
    return anti_affinity(new, [{**pod, "avoids": []} for pod in running], nodes)


def same_node(new: Json, running: list[Json], nodes: dict[str, Json]) -> list[str]:
    return anti_affinity(new, running, {name: {"zone": name, "host": name} for name in nodes})


def one_common_nowhere(new: Json, running: list[Json], nodes: dict[str, Json]) -> list[str]:
    return anti_affinity(new, running, {name: {"zone": "", **labels} for name, labels in nodes.items()})


def needs_the_label(new: Json, running: list[Json], nodes: dict[str, Json]) -> list[str]:
    return [n for n in anti_affinity(new, running, nodes) if all(key in nodes[n] for _, key in new["avoids"])]


def unschedulable(pod: Json, name: str) -> Status:
    status = node_name(pod, name)
    return status if status.is_success else Status(Code.UNSCHEDULABLE, *status.reasons)


def by_prefix(pod: Json, name: str) -> Status:
    return SUCCESS if name.startswith(pod["spec"].get("nodeName") or "") else node_name(pod, name)


def own_words(pod: Json, name: str) -> Status:
    status = node_name(pod, name)
    return status if status.is_success else Status(status.code, "node name does not match")


WITHOUT_FIT = {"filter": {"disabled": [{"name": "NodeResourcesFit"}]}}
REQUIRED_TERMS = ["profiles", 0, "pluginConfig", 0, "args", "addedAffinity",
                  "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "wrong", "broken", "says"),
    [
        pytest.param("pool", node_selector_plugin, "loads", "NodeSelector", id="a plugin NodeSelector does not exist"),
        pytest.param("pool", preferred, "inside", "not in the pool", id="a preference keeps nobody out"),
        pytest.param("pool", changed(["profiles", 0, "schedulerName"], "mine"), "named", "called mine",
                     id="another scheduler's name"),
        pytest.param("pool", changed(["schedulerName"], "mine"), "loads", 'unknown field "schedulerName"',
                     id="the name outside of the profile"),
        pytest.param("pool", changed(["profiles", 0, "plugins"], WITHOUT_FIT), "filters", "the default profile rejects",
                     id="a filter switched off"),
        pytest.param("pool", changed(REQUIRED_TERMS, lambda name, key, value: [{"matchFields": [
                         {"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]),
                     "inside", "not in the pool", id="Nodes by their names"),
        pytest.param("gang", struct_copies(), "late", "kept in a copy stays at 1", id="a count in a copy"),
        pytest.param("gang", own_count(), "early", "timed out hold no place", id="members that timed out still count"),
        pytest.param("gang", own_count(allows=False), "late", "nobody called allow", id="the others are not let go"),
        pytest.param("gang", lets_all_go, "others", "by a Pod of another gang", id="every gang is let go"),
        pytest.param("gang", in_seconds, "patience", "in milliseconds", id="a timeout in seconds"),
        pytest.param("gang", through_the_permit_plugin, "answers", "AttributeError", id="a method that does not exist"),
        pytest.param("gang", lambda handle, pod: SUCCESS, "answers", "Expected a pair", id="no timeout"),
        pytest.param("gang", lambda handle, pod: (SUCCESS, 0), "early", "was told Success", id="nobody waits"),
        pytest.param("gang", lambda handle, pod: (Status(Code.WAIT), 60_000), "alone", "to no gang", id="all wait"),
        pytest.param("place-gang", sum_of_rests, "room", "which has", id="rests added up"),
        pytest.param("place-gang", as_many_as_fit, "all-or-nothing", "hold room and cannot work", id="some of a gang"),
        pytest.param("place-gang", lambda *_: {}, "found", "there is room", id="nobody is placed"),
        pytest.param("prioritize", lower_case_keys, "keys", "KeyError: 'nodes'", id="keys in lower case"),
        pytest.param("prioritize", no_pod, "keys", "Look at the keys", id="None instead of a Pod"),
        pytest.param("prioritize", wrapped, "format", "cannot unmarshal object", id="the list in an object"),
        pytest.param("prioritize", lambda body: b"", "format", "EOF", id="an empty body"),
        pytest.param("prioritize", hundred, "scale", "times 10 it counts 1000", id="scores to 100"),
        pytest.param("prioritize", only_gold, "scores", "gets None, expected 0", id="Nodes left out"),
        pytest.param("prioritize", lambda body: prioritize(body).decode(), "answers", "Expected bytes", id="a text"),
        pytest.param("victims", least_important_first, "needless", "would fit, too", id="from below until it fits"),
        pytest.param("victims", biggest_first, "important", "most important come back first", id="as few as possible"),
        pytest.param("victims", equals_too, "priority", "has priority", id="equal priority"),
        pytest.param("victims", all_below, "needless", "would fit, too", id="everybody below"),
        pytest.param("victims", lambda *_: None, "room", "evicts nobody", id="nobody is evicted"),
        pytest.param("balanced", until_1_35, "plugin", "the formula through 1.35", id="the formula through 1.35"),
        pytest.param("balanced", of_ten, "plugin", "counts to 10", id="scores to 10"),
        pytest.param("balanced", every_ordered_pair, "plugin", "the difference counts twice", id="each pair twice"),
        pytest.param("balanced", hundred_for_no_change, "unchanged", "It returned 100, the plugin 75",
                     id="100 for no change"),
        pytest.param("balanced", lambda u, a, h: balanced(u, a, h) + 0.5, "answers", "of type float", id="a fraction"),
        pytest.param("pre-bind", attaches_anyway, "answers", "raised PluginError", id="the error is not caught"),
        pytest.param("pre-bind", leaves_it, "undone", "is still attached", id="nothing is undone"),
        pytest.param("pre-bind", detaches_all, "undone", "was attached before", id="too much is undone"),
        pytest.param("pre-bind", keeps_silent, "says", "Expected the name of the volume", id="no reason"),
        pytest.param("pre-bind", says_success, "says", "It said Success", id="a failure is hidden"),
        pytest.param("fit", limits_count, "limits", "counts limits", id="limits count"),
        pytest.param("fit", init_added, "plugin", "adds the init containers", id="init containers added"),
        pytest.param("fit", init_left_out, "plugin", "leaves the init containers out", id="init containers left out"),
        pytest.param("fit", refuses_equal, "plugin", "fits exactly", id="what fits exactly is refused"),
        pytest.param("fit", unasked_counts, "unasked", "does not ask for", id="a resource nobody asked for"),
        pytest.param("fit", lambda pod, free: "Insufficient cpu", "answers", "of type str", id="a text, no list"),
        pytest.param("anti-affinity", one_sided, "symmetry", "asks the new Pod only", id="one side only"),
        pytest.param("anti-affinity", same_node, "domains", "compares Nodes", id="Nodes, not domains"),
        pytest.param("anti-affinity", one_common_nowhere, "domains", "they are nowhere", id="no label is a place"),
        pytest.param("anti-affinity", needs_the_label, "domains", "always allowed", id="the label is demanded"),
        pytest.param("node-name", unschedulable, "code", "evict Pods for nothing", id="Unschedulable"),
        pytest.param("node-name", by_prefix, "match", "It said Success", id="the beginning of a name"),
        pytest.param("node-name", own_words, "reason", NO_MATCH, id="own words"),
    ],
)  # fmt: skip
def test_a_wrong_solution_is_told_what_broke(name: str, wrong: Callable[..., Any], broken: str, says: str) -> None:
    verdict = check_task(name, wrong)
    assert not verdict.right
    assert says in verdict.message, str(verdict)
    properties = {**TASKS[name].properties, "answers": "It answers every case, with the type that was asked for."}
    assert verdict.property == properties[broken]
    assert verdict.case and verdict.cases


# -- whatever a function does ------------------------------------------------------------------------


class Hostile:
    """An answer whose every question raises."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no comparison")

    __hash__ = None  # type: ignore[assignment]


class SilentError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def raises(error: BaseException) -> Callable[..., Any]:
    def wrong(*args: Any) -> Any:
        raise error

    return wrong


async def coroutine(*args: Any) -> Any:
    return SUCCESS


def recursion(*args: Any) -> Any:
    return recursion(*args)


@pytest.mark.parametrize("name", list(TASKS))
@pytest.mark.parametrize(
    "function",
    [
        pytest.param(None, id="None instead of a function"),
        pytest.param(Hostile(), id="an object that cannot be shown"),
        pytest.param(lambda: SUCCESS, id="too few parameters"),
        pytest.param(raises(KeyError("cpu")), id="KeyError"),
        pytest.param(raises(SilentError()), id="an error without text"),
        pytest.param(raises(SystemExit(3)), id="sys.exit"),
        pytest.param(recursion, id="endless recursion"),
        pytest.param(coroutine, id="async def"),
        pytest.param(lambda *_: Hostile(), id="an answer that cannot be shown"),
        pytest.param(lambda *_: float("nan"), id="not a number"),
        pytest.param(lambda *_: True, id="a truth value"),
        pytest.param(lambda *_: [Hostile()], id="a list of nonsense"),
        pytest.param(lambda *_: {Hostile: Hostile()}, id="a dict of nonsense"),
        pytest.param(lambda *_: {"n1": 10**400}, id="a huge number"),
        pytest.param(lambda *_: (Hostile(), Hostile()), id="a pair of nonsense"),
    ],
)
def test_no_function_gets_a_traceback(name: str, function: Any) -> None:
    verdict = check_task(name, function)
    assert isinstance(verdict, TaskVerdict)
    assert not verdict.right
    assert str(verdict).startswith("Not yet.")


@pytest.mark.parametrize("name", ["fit", "balanced", "victims", "anti-affinity", "place-gang", "node-name", "pool"])
def test_a_function_may_spoil_what_it_is_given(name: str) -> None:
    def spoils(*args: Any) -> Any:
        answer = SOLUTIONS[name](*args)
        for arg in args:
            if isinstance(arg, dict | list):
                arg.clear()
        return answer

    assert check_task(name, spoils).right


def test_the_same_seed_gives_the_same_verdict() -> None:
    assert check_task("victims", biggest_first, 3) == check_task("victims", biggest_first, "3")
    assert check_task("victims", biggest_first, 3) != check_task("victims", biggest_first, 4)


def test_an_unknown_task_is_told_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"task 'bind': expected one of pool, gang, .*node-name"):
        check_task("bind", node_name)


def test_a_verdict_folds_to_the_width_of_a_page() -> None:
    text = str(check_task("anti-affinity", one_sided))
    assert text.startswith("Not yet. It allowed")
    assert max(map(len, text.splitlines())) <= 76
    assert "\n  new: {'app': 'db', 'avoids': " in text
    assert "\n  nodes:\n    n1: {" in text
