"""Webhooks through the server: who is asked, in which order, how long it takes, and what becomes of the answers."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from k8slab.api.errors import StatusError
from k8slab.api.scheme import CONFIGMAPS, DEPLOYMENTS, GVR, NAMESPACES, PODS
from k8slab.api.transport import HTTPResponse
from k8slab.apiserver.admission import Objects
from k8slab.apiserver.admission.webhook.accessors import hooks_of
from k8slab.apiserver.admission.webhook.matching import selected
from k8slab.client import SimulatedHTTP
from tests.unit.apiserver.conftest import MERGE, Bench
from tests.webhooks import MUTATING, VALIDATING, Backend, configuration, label, reply, webhook

Json = Any
CONFIG = {"metadata": {"name": "c"}, "data": {"k": "v"}}
ANY = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}


class Hooked(Bench):
    """A bench whose server reaches `backend` at https://hooks."""

    def __init__(self, backend: Backend, *, delay_ms: int = 0) -> None:
        self.backend = backend
        super().__init__(http=(http := _Late()))
        http.real = SimulatedHTTP(self.loop)
        http.real.serve("https://hooks", backend, delay_ms=delay_ms)
        self.http_out = http.real

    def configure(self, gvr: GVR, *configurations: Json) -> None:
        for one in configurations:
            self.call("create", gvr, ns="", body=one)

    def create(self, for_ms: int = 100, **more: Any) -> Any:
        from k8slab.api.transport import Request

        request = Request("create", CONFIGMAPS, namespace="default", body=CONFIG, params=more)
        return self.run(self.you.call(request), for_ms=for_ms)

    def refusal(self, for_ms: int = 100, **more: Any) -> StatusError:
        with pytest.raises(StatusError) as caught:
            self.create(for_ms, **more)
        return caught.value


class _Late:
    """An HTTPCaller that is connected once the loop is there."""

    real: SimulatedHTTP

    async def post(self, *args: Any) -> HTTPResponse:
        return await self.real.post(*args)


@pytest.fixture
def hooked() -> Iterator[Callable[..., Hooked]]:
    made: list[Hooked] = []

    def make(delay_ms: int = 0, **handlers: Any) -> Hooked:
        made.append(Hooked(Backend(**handlers), delay_ms=delay_ms))
        return made[-1]

    yield make
    for one in made:
        one.server.check_invariants()
        one.loop.close()


def count(key: str) -> Callable[[Json], HTTPResponse]:
    """Adds one to a label."""

    def handler(request: Json) -> HTTPResponse:
        labels = request["object"]["metadata"].get("labels") or {}
        return reply(request, label(request, key, str(int(labels.get(key, "0")) + 1)))

    return handler


def labels_seen(bench: Hooked) -> list[Json]:
    return [(name, request["object"]["metadata"].get("labels")) for name, request in bench.backend.asked]


def test_mutating_webhooks_run_by_configuration_name_then_index_and_each_sees_the_one_before(hooked: Any) -> None:
    bench = hooked(z=count("z"), b=count("b"), a=count("a"))
    bench.configure(MUTATING, configuration("zz", webhook("z")), configuration("aa", webhook("b"), webhook("a")))
    assert bench.create()["metadata"]["labels"] == {"b": "1", "a": "1", "z": "1"}
    assert labels_seen(bench) == [("b", None), ("a", {"b": "1"}), ("z", {"b": "1", "a": "1"})]


def test_three_mutating_webhooks_of_100_ms_take_300_ms_three_validating_ones_100_ms(hooked: Any) -> None:
    for gvr, expected in ((MUTATING, 300), (VALIDATING, 100)):
        bench = hooked(delay_ms=100)
        bench.configure(gvr, configuration("c", webhook("a"), webhook("b"), webhook("c")))
        began = bench.loop.clock.now_ms
        done: list[int] = []

        async def ask(bench: Hooked = bench, done: list[int] = done) -> None:
            from k8slab.api.transport import Request

            await bench.you.call(Request("create", CONFIGMAPS, namespace="default", body=CONFIG))
            done.append(bench.loop.clock.now_ms)

        bench.loop.spawn("you", ask())
        bench.loop.run(for_ms=1_000)
        assert done[0] - began == expected
        assert bench.backend.names == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("policies", "changing", "expected"),
    [
        (("IfNeeded", "Never", "IfNeeded"), "abc", "abcac"),
        (("Never", "Never", "Never"), "abc", "abc"),
        (("IfNeeded", "Never", "Never"), "a", "abc"),
        (("IfNeeded", "IfNeeded", "IfNeeded"), "b", "abca"),
        (("IfNeeded", "IfNeeded", "IfNeeded"), "ab", "abcabc"),
        (("IfNeeded", "IfNeeded", "IfNeeded"), "", "abc"),
        (("IfNeeded", "IfNeeded", "IfNeeded"), "abc", "abcabc"),
    ],
    ids=[
        "the last is asked again since the first changes the object anew",
        "nobody who does not want to is asked again",
        "a webhook is not asked again because of what it changed itself",
        "a change in the middle brings back who came before it",
        "a change in the second round brings back all who come after it",
        "without a change there is no second round",
        "all are asked again, once, although all change the object again",
    ],
)
def test_reinvocation(hooked: Any, policies: tuple[str, ...], changing: str, expected: str) -> None:
    bench = hooked(**{name: count(name) for name in changing})
    hooks = [webhook(name, reinvocationPolicy=policy) for name, policy in zip("abc", policies, strict=True)]
    bench.configure(MUTATING, configuration("m", *hooks))
    bench.create()
    assert "".join(bench.backend.names) == expected


def test_two_webhooks_that_undo_each_other_end_after_the_second_round(hooked: Any) -> None:
    def sets(value: str) -> Callable[[Json], HTTPResponse]:
        return lambda request: reply(request, label(request, "side", value))

    bench = hooked(left=sets("left"), right=sets("right"))
    both = [webhook(name, reinvocationPolicy="IfNeeded") for name in ("left", "right")]
    bench.configure(MUTATING, configuration("m", *both))
    assert bench.create()["metadata"]["labels"] == {"side": "right"}
    assert bench.backend.names == ["left", "right", "left", "right"]


def test_a_built_in_plugin_that_repairs_the_object_in_the_second_round_brings_webhooks_back(hooked: Any) -> None:
    def strips(request: Json) -> HTTPResponse:
        return reply(request, [{"op": "remove", "path": "/spec/tolerations"}])

    pods = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    bench = hooked(strips=strips)
    first = webhook("looks", rules=[pods], reinvocationPolicy="IfNeeded")
    bench.configure(MUTATING, configuration("m", first, webhook("strips", rules=[pods])))
    pod = bench.pod("p")
    assert bench.backend.names == ["looks", "strips", "looks"]
    assert [t["key"] for t in pod["spec"]["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]


def test_validating_webhooks_see_the_object_as_it_is_stored_and_mutating_ones_before_it_has_a_uid(hooked: Any) -> None:
    bench = hooked(m=count("m"))
    bench.configure(MUTATING, configuration("m", webhook("m")))
    bench.configure(VALIDATING, configuration("v", webhook("v")))
    created = bench.create()
    before, after = (request["object"] for _, request in bench.backend.asked)
    assert before == {
        "kind": "ConfigMap",
        "apiVersion": "v1",
        "metadata": {"name": "c", "namespace": "default"},
        "data": {"k": "v"},
    }
    assert after["metadata"] == {k: v for k, v in created["metadata"].items() if k != "resourceVersion"}


def test_a_field_error_comes_before_any_validating_webhook_is_asked(hooked: Any) -> None:
    """E011: validation stands between mutating and validating admission."""
    bench = hooked(v=lambda request: reply(request, allowed=False))
    bench.configure(VALIDATING, configuration("v", webhook("v")))
    with pytest.raises(StatusError) as caught:
        bench.call("create", CONFIGMAPS, body={"metadata": {"name": "Bad_Name"}})
    assert (caught.value.code, bench.backend.names) == (422, [])


# -- answers -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "code", "reason", "message"),
    [
        (None, 400, "", "without explanation"),
        ({"message": "no", "code": 403, "reason": "Forbidden"}, 403, "Forbidden", ": no"),
        ({"reason": "Teapot"}, 400, "Teapot", ": Teapot"),
        ({"message": "no", "code": 200, "status": "Success"}, 400, "", ": no"),
        ({"code": 599}, 599, "", "without explanation"),
    ],
    ids=[
        "no status is 400 without explanation",
        "code, reason and message are taken over",
        "a reason stands in for a message, and the code is 400",
        "a code below 400 becomes 400",
        "any code from 400 on is taken over",
    ],
)
def test_denial(hooked: Any, status: Json, code: int, reason: str, message: str) -> None:
    extra = {} if status is None else {"status": status}
    bench = hooked(v=lambda request: reply(request, allowed=False, **extra))
    bench.configure(VALIDATING, configuration("v", webhook("v", failurePolicy="Ignore")))
    error = bench.refusal()
    separator = "" if message.startswith(":") else " "
    expected = f'admission webhook "v.example.com" denied the request{separator}{message}'
    assert (error.code, error.reason, error.message) == (code, reason, expected)
    assert error.status()["status"] == "Failure"


def whole(**review: Any) -> Callable[[Json], HTTPResponse]:
    """A handler whose answer is this, whatever was asked; `response` gets the request's uid."""

    def handler(request: Json) -> HTTPResponse:
        full = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", **review}
        if isinstance(full.get("response"), dict):
            full["response"] = {"uid": request["uid"], "allowed": True, **full["response"]}
        return HTTPResponse(200, {}, json.dumps(full).encode())

    return handler


INVALID, FAILED = "received invalid webhook response: ", "failed to call webhook: "
_ASKED = "Internal error occurred: failed calling webhook"


@pytest.mark.parametrize(
    ("handler", "gvr", "why"),
    [
        (whole(), MUTATING, INVALID + "webhook response was absent"),
        (whole(response={"uid": "x"}), MUTATING, INVALID + 'expected response.uid="UID", got "x"'),
        (
            whole(response={}, apiVersion="admission.k8s.io/v1beta1"),
            MUTATING,
            INVALID + "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, "
            "got admission.k8s.io/v1beta1, Kind=AdmissionReview",
        ),
        (
            whole(response={"patch": "W10="}),
            MUTATING,
            INVALID + "webhook returned response.patch but not response.patchType",
        ),
        (
            whole(response={"patchType": "JSONPatch"}),
            MUTATING,
            INVALID + "webhook returned response.patchType but not response.patch",
        ),
        (
            whole(response={"patch": "W10=", "patchType": ""}),
            MUTATING,
            INVALID + 'webhook returned invalid response.patchType of ""',
        ),
        (whole(response={"patch": "W10="}), VALIDATING, INVALID + "validating webhook may not return response.patch"),
        (
            whole(response={"patchType": "JSONPatch"}),
            VALIDATING,
            INVALID + "validating webhook may not return response.patchType",
        ),
        (
            whole(response={"patch": "eyJh", "patchType": "JSONPatch"}),
            MUTATING,
            "received undecodable patch in webhook response: unexpected end of JSON input",
        ),
        (
            whole(response={"patch": base64.b64encode(b'["x"]').decode(), "patchType": "JSONPatch"}),
            MUTATING,
            "received undecodable patch in webhook response: "
            "json: cannot unmarshal string into Go value of type jsonpatch.Operation",
        ),
        (
            whole(response={"patch": "W3t9XQ==", "patchType": "Merge"}),
            MUTATING,
            'unsupported patch type "Merge"',
        ),
        (
            whole(response={"patch": "??", "patchType": "JSONPatch"}),
            MUTATING,
            FAILED + "illegal base64 data at input byte 0",
        ),
        (
            whole(response={"allowed": "yes"}),
            VALIDATING,
            FAILED
            + "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool",
        ),
        (
            whole(response={"allowed": False, "status": {"metadata": "x"}}),
            VALIDATING,
            FAILED + "json: cannot unmarshal string into Go struct field Status.response.status.metadata "
            "of type v1.ListMeta",
        ),
        (
            whole(response={"allowed": False, "status": {"details": ["x"]}}),
            VALIDATING,
            FAILED + "json: cannot unmarshal array into Go struct field Status.response.status.details "
            "of type v1.StatusDetails",
        ),
        (
            whole(response={"allowed": False, "status": {"details": {"causes": "x"}}}),
            VALIDATING,
            FAILED + "json: cannot unmarshal string into Go struct field StatusDetails.response.status.details."
            "causes of type []v1.StatusCause",
        ),
        (
            whole(response={"allowed": False, "status": {"code": 1 << 40}}),
            VALIDATING,
            FAILED + "json: cannot unmarshal number 1099511627776 into Go struct field "
            "Status.response.status.code of type int32",
        ),
        (lambda _: HTTPResponse(200, {}, b"null"), VALIDATING, INVALID + "webhook response was absent"),
        (
            lambda _: HTTPResponse(200, {}, b"hello"),
            VALIDATING,
            FAILED + "couldn't get version/kind; json parse error: "
            "invalid character 'h' looking for beginning of value",
        ),
        (
            lambda _: HTTPResponse(200, {"content-type": "a/b"}, b""),
            VALIDATING,
            FAILED + "0-length response with status code: 200 and content type: a/b",
        ),
        (
            lambda _: HTTPResponse(500, {"Content-Type": "text/plain"}, b"sorry\n"),
            VALIDATING,
            FAILED + 'an error on the server ("sorry") has prevented the request from succeeding',
        ),
        (lambda _: HTTPResponse(404, {}, b""), VALIDATING, FAILED + "the server could not find the requested resource"),
        (
            lambda _: HTTPResponse(418, {}, b""),
            VALIDATING,
            FAILED + "the server responded with the status code 418 but did not return more information",
        ),
        (
            lambda _: HTTPResponse(500, {}, b'{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no"}'),
            VALIDATING,
            FAILED + "no",
        ),
    ],
    ids=[
        "no response",
        "the uid of another request",
        "another version than was sent",
        "a patch without a type",
        "a type without a patch",
        "an empty type",
        "a patch from a validating webhook",
        "a type of patch from a validating webhook",
        "half a patch",
        "a patch with a text where an operation belongs",
        "a patch of another type",
        "a patch that is not base64",
        "a text where true or false belongs",
        "a text where a refusal's metadata belongs",
        "a list where a refusal's details belong",
        "a text where a refusal's causes belong",
        "a code that is no int32",
        "null",
        "no JSON",
        "nothing",
        "500 with a text",
        "404",
        "a code that says nothing",
        "500 with a Status",
    ],
)
def test_malformed_answers_fail_closed_or_open(hooked: Any, handler: Any, gvr: GVR, why: str) -> None:
    bench = hooked(h=handler)
    bench.configure(gvr, configuration("c", webhook("h")))
    error = bench.refusal()
    uid = bench.backend.asked[-1][1]["uid"]
    text = f'failed calling webhook "h.example.com": {why.replace("UID", uid)}'
    assert (error.code, error.reason, error.message) == (500, "InternalError", f"Internal error occurred: {text}")
    assert error.details == {"causes": [{"message": text}]}
    open_ = hooked(h=handler)
    open_.configure(gvr, configuration("c", webhook("h", failurePolicy="Ignore")))
    assert open_.create()["metadata"]["name"] == "c"


def test_go_reads_null_as_nothing_and_base64_over_several_lines(hooked: Any) -> None:
    """`base64` breaks its lines after 76 characters unless it is told not to."""
    patch = base64.encodebytes(json.dumps([{"op": "add", "path": "/data", "value": {"k": "v" * 80}}]).encode()).decode()
    assert patch.count("\n") > 1
    response = {"patch": patch, "patchType": "JSONPatch", "warnings": [None, ""], "auditAnnotations": {"a": None}}
    bench = hooked(h=whole(response={**response, "status": {"details": None, "metadata": None}}))
    bench.configure(MUTATING, configuration("c", webhook("h")))
    assert bench.create()["data"] == {"k": "v" * 80}


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (
            [{"op": "remove", "path": "/nope"}],
            "error in remove for path: '/nope': Unable to remove nonexistent key: nope: missing value",
        ),
        ([{"op": "add", "path": "/data", "value": 7}], "json: cannot unmarshal number into Go"),
        ([None], "Unexpected kind: unknown"),
    ],
    ids=["a patch that does not apply", "a patch that makes another type of a field", "an operation that is null"],
)
def test_a_patch_that_cannot_be_applied_is_no_matter_of_failure_policy(hooked: Any, patch: Json, message: str) -> None:
    bench = hooked(h=lambda request: reply(request, patch))
    bench.configure(MUTATING, configuration("c", webhook("h", failurePolicy="Ignore")))
    error = bench.refusal()
    assert (error.code, error.reason) == (500, "InternalError")
    assert error.message.startswith(f"Internal error occurred: {message}")


def test_unknown_fields_of_a_patch_are_dropped_and_defaults_are_set(hooked: Any) -> None:
    def handler(request: Json) -> HTTPResponse:
        container = {"name": "side", "image": "proxy:1", "nonsense": True}
        return reply(request, [{"op": "add", "path": "/spec/containers/-", "value": container}])

    pods = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    bench = hooked(h=handler)
    bench.configure(MUTATING, configuration("c", webhook("h", rules=[pods])))
    side = bench.pod("p")["spec"]["containers"][1]
    assert side["imagePullPolicy"] == "IfNotPresent" and "nonsense" not in side


def test_warnings_and_audit_annotations_are_taken_over(hooked: Any) -> None:
    bench = hooked(
        v=lambda request: reply(request, warnings=["look out"], auditAnnotations={"k": "1"}),
        m=count("m"),
    )
    bench.configure(MUTATING, configuration("mm", webhook("m")))
    bench.configure(VALIDATING, configuration("v", webhook("v")))
    body = json.dumps(CONFIG).encode()
    response = bench.run(bench.server.handle("POST", "/api/v1/namespaces/default/configmaps", {}, {}, body))
    assert response.headers["warning"] == ['299 - "look out"']


def test_a_webhook_that_refuses_may_warn_too(hooked: Any) -> None:
    bench = hooked(v=lambda request: reply(request, allowed=False, warnings=["first", "second"]))
    bench.configure(VALIDATING, configuration("v", webhook("v")))
    status, answer, headers = bench.http("POST", "/api/v1/namespaces/default/configmaps", {**CONFIG, "x": 1})
    assert (status, answer["status"]) == (400, "Failure")
    assert headers["warning"] == ['299 - "unknown field \\"x\\""', '299 - "first"', '299 - "second"']
    assert bench.refusal().warnings == ("first", "second")


def test_a_code_of_four_digits_cannot_be_written(hooked: Any) -> None:
    bench = hooked(v=lambda request: reply(request, allowed=False, status={"code": 1_000}))
    bench.configure(VALIDATING, configuration("v", webhook("v")))
    status, text, headers = bench.http("POST", "/api/v1/namespaces/default/configmaps", CONFIG)
    assert (status, headers["content-type"]) == (500, "text/plain; charset=utf-8")
    assert text == "This request caused apiserver to panic. Look in the logs for details.\n"
    assert bench.refusal().status()["code"] == 500


# -- failure and time --------------------------------------------------------------------------------


def test_a_dead_webhook_ends_the_request_or_is_passed_over(hooked: Any) -> None:
    bench = hooked()
    bench.http_out.stop("https://hooks")
    bench.configure(VALIDATING, configuration("v", webhook("v")))
    assert bench.refusal().message == (
        f'{_ASKED} "v.example.com": failed to call webhook: Post "https://hooks/v?timeout=10s": '
        "dial tcp hooks: connect: connection refused"
    )
    patch = {"webhooks": [webhook("v", failurePolicy="Ignore")]}
    bench.call("patch", VALIDATING, "v", patch, ns="", patch_type=MERGE)
    assert bench.create()


@pytest.mark.parametrize("gvr", [MUTATING, VALIDATING], ids=["mutating", "validating"])
def test_a_slow_webhook_costs_its_timeout_and_the_client_waits_longer_than_its_own(hooked: Any, gvr: GVR) -> None:
    """E028: with the defaults every write that matches waits 10 s and fails; the client knows the outcome."""
    bench = hooked(delay_ms=60_000)
    bench.configure(gvr, configuration("c", webhook("h")))
    assert bench.call("get", gvr, "c", ns="")["webhooks"][0]["timeoutSeconds"] == 10
    began = bench.loop.clock.now_ms
    error = bench.refusal(for_ms=10_001)
    assert bench.loop.clock.now_ms - began <= 10_001
    assert error.message.endswith('Post "https://hooks/h?timeout=10s": context deadline exceeded')


def test_ignore_lets_a_slow_webhook_pass_after_its_timeout_and_says_so_in_the_audit(hooked: Any) -> None:
    bench = hooked(delay_ms=60_000)
    bench.configure(VALIDATING, configuration("c", webhook("h", failurePolicy="Ignore", timeoutSeconds=2)))
    assert bench.create(for_ms=2_001)["metadata"]["name"] == "c"


def test_the_first_validating_webhook_to_refuse_is_the_one_the_client_hears_of(hooked: Any) -> None:
    from k8slab.sim import sleep

    def after(ms: int, message: str) -> Any:
        async def late(request: Json) -> HTTPResponse:
            await sleep(ms)
            return reply(request, allowed=False, status={"message": message})

        return late

    bench = hooked(slow=after(50, "slow"), quick=after(10, "quick"))
    bench.configure(VALIDATING, configuration("c", webhook("slow"), webhook("quick")))
    assert bench.refusal().message.endswith(": quick")


def test_a_server_that_dies_while_it_waits_leaves_no_task(hooked: Any) -> None:
    bench = hooked(delay_ms=5_000)
    bench.configure(VALIDATING, configuration("c", webhook("h", timeoutSeconds=30)))
    with pytest.raises(AssertionError, match="no answer yet"):
        bench.create()
    bench.server.kill()
    bench.loop.run(for_ms=20_000)
    assert not [task.name for task in bench.loop.tasks.values() if not task.done and "webhook" in task.name]


# -- who is asked ------------------------------------------------------------------------------------


def test_namespace_selectors_exempt_namespaces_but_nothing_outside_of_them(hooked: Any) -> None:
    bench = hooked()
    selector = {"matchExpressions": [{"key": "exempt", "operator": "DoesNotExist"}]}
    bench.configure(VALIDATING, configuration("v", webhook("v", rules=[ANY], namespaceSelector=selector)))
    asked = bench.backend.names
    bench.call("create", NAMESPACES, ns="", body={"metadata": {"name": "free", "labels": {"exempt": "y"}}})
    assert bench.backend.names == asked, "a new Namespace is judged by its own labels"
    bench.call("create", CONFIGMAPS, ns="free", body=CONFIG)
    assert bench.backend.names == []
    bench.create()
    assert bench.backend.names == ["v"]
    bench.call("patch", NAMESPACES, "free", {"metadata": {"labels": {"exempt": None}}}, ns="", patch_type=MERGE)
    assert bench.backend.names == ["v", "v"], "an update by the new labels"
    node = {"metadata": {"name": "n"}}
    bench.call("create", GVR("", "v1", "nodes"), ns="", body=node)
    assert bench.backend.names == ["v"] * 3, "what lives in no namespace is never exempt"


def test_object_selectors_look_at_the_new_and_at_the_old_object(hooked: Any) -> None:
    bench = hooked()
    selector = {"matchLabels": {"t": "1"}}
    bench.configure(VALIDATING, configuration("v", webhook("v", objectSelector=selector)))
    bench.create()
    assert bench.backend.names == []
    for value, expected in (("1", 1), ("2", 2), ("3", 2)):
        bench.call("patch", CONFIGMAPS, "c", {"metadata": {"labels": {"t": value}}}, patch_type=MERGE)
        assert len(bench.backend.names) == expected


def test_reads_are_never_admitted(hooked: Any) -> None:
    """E024"""
    bench = hooked()
    bench.configure(VALIDATING, configuration("v", webhook("v", rules=[ANY])))
    bench.create()
    asked = len(bench.backend.asked)
    bench.call("get", CONFIGMAPS, "c")
    bench.call("list", CONFIGMAPS)
    bench.watch(CONFIGMAPS)
    assert len(bench.backend.asked) == asked


def test_configurations_are_never_shown_to_webhooks_so_that_they_can_always_be_removed(hooked: Any) -> None:
    bench = hooked(v=lambda request: reply(request, allowed=False))
    bench.configure(VALIDATING, configuration("v", webhook("v", rules=[ANY])))
    bench.configure(MUTATING, configuration("m"))
    bench.call("delete", VALIDATING, "v", ns="")
    assert bench.backend.names == []
    assert bench.create()


def test_a_rule_for_another_version_is_met_with_the_object_in_that_version(hooked: Any) -> None:
    """matchPolicy Equivalent: the webhook patches v1, what is stored is v2."""
    v1 = {"operations": ["CREATE"], "apiGroups": ["autoscaling"], "apiVersions": ["v1"], "resources": ["*"]}
    handler = Backend(h=lambda request: reply(request, [{"op": "replace", "path": "/spec/maxReplicas", "value": 3}]))
    for policy, calls, most in (("Equivalent", ["h"], 3), ("Exact", [], 9)):
        bench = hooked(**handler.handlers)
        bench.configure(MUTATING, configuration("c", webhook("h", rules=[v1], matchPolicy=policy)))
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
        metric = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}
        metric["resource"]["target"]["averageUtilization"] = 70  # type: ignore[index]
        spec = {"maxReplicas": 9, "scaleTargetRef": target, "metrics": [metric]}
        hpa = {"metadata": {"name": "web"}, "spec": spec}
        made = bench.call("create", GVR("autoscaling", "v2", "horizontalpodautoscalers"), body=hpa)
        assert (bench.backend.names, made["spec"]["maxReplicas"]) == (calls, most)
        if calls:
            request = bench.backend.asked[0][1]
            assert request["object"]["apiVersion"] == "autoscaling/v1"
            assert request["object"]["spec"]["targetCPUUtilizationPercentage"] == 70
            assert (request["kind"]["version"], request["requestKind"]["version"]) == ("v1", "v2")


def test_scale_is_admitted_as_a_scale_and_not_as_the_deployment(hooked: Any) -> None:
    rules = [{"operations": ["*"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments/scale"]}]
    bench = hooked(h=lambda request: reply(request, allowed=request["object"]["spec"]["replicas"] < 5))
    bench.configure(VALIDATING, configuration("v", webhook("h", rules=rules)))
    container = {"name": "c", "image": "i"}
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container]}}
    spec = {"replicas": 9, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    bench.call("create", DEPLOYMENTS, body={"metadata": {"name": "d"}, "spec": spec})
    assert bench.backend.names == []
    patch = {"patch_type": MERGE, "subresource": "scale"}
    bench.call("patch", DEPLOYMENTS, "d", {"spec": {"replicas": 4}}, **patch)
    with pytest.raises(StatusError, match="denied the request"):
        bench.call("patch", DEPLOYMENTS, "d", {"spec": {"replicas": 5}}, **patch)
    request = bench.backend.asked[0][1]
    assert (request["kind"]["kind"], request["subResource"], request["operation"]) == ("Scale", "scale", "UPDATE")
    assert (request["oldObject"]["spec"], request["object"]["spec"]) == ({"replicas": 9}, {"replicas": 4})


def test_a_deletion_is_shown_with_the_old_object_alone(hooked: Any) -> None:
    rules = [{"operations": ["DELETE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]
    bench = hooked(h=lambda request: reply(request, [{"op": "add", "path": "/data", "value": {}}]))
    bench.create()
    bench.configure(VALIDATING, configuration("v", webhook("v", rules=rules)))
    bench.call("delete", CONFIGMAPS, "c", {"gracePeriodSeconds": 3})
    request = bench.backend.asked[0][1]
    assert request["object"] is None and request["oldObject"]["data"] == {"k": "v"}
    assert request["options"] == {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "gracePeriodSeconds": 3}
    bench.create()
    bench.configure(MUTATING, configuration("m", webhook("h", rules=rules)))
    with pytest.raises(StatusError, match=r"attempted to modify the object, which is not supported for this operation"):
        bench.call("delete", CONFIGMAPS, "c")


def test_a_dry_run_reaches_webhooks_without_side_effects_and_says_so(hooked: Any) -> None:
    bench = hooked()
    bench.configure(VALIDATING, configuration("v", webhook("v", sideEffects="NoneOnDryRun")))
    bench.create(dryRun="All")
    request = bench.backend.asked[0][1]
    assert request["dryRun"] is True and request["options"]["dryRun"] == ["All"]


def test_a_dry_run_is_refused_where_a_webhook_with_side_effects_would_be_asked(hooked: Any) -> None:
    """v1 does not accept such a webhook any more; one stored by an old release is still there."""
    bench = hooked()
    stored = configuration("v", webhook("v", sideEffects="Some", timeoutSeconds=5))
    stored |= {"kind": "ValidatingWebhookConfiguration", "apiVersion": "admissionregistration.k8s.io/v1"}
    key = bench.server.layout.key("validatingwebhookconfigurations.admissionregistration.k8s.io", "", "v").encode()
    bench.etcd.put(key, json.dumps(stored).encode())
    bench.loop.run(for_ms=10)
    error = bench.refusal(dryRun="All")
    assert (error.code, error.message) == (400, 'admission webhook "v.example.com" does not support dry run')
    assert bench.backend.names == []
    bench.create()
    assert bench.backend.names == ["v"]


@pytest.mark.parametrize(
    ("expression", "names", "outcome"),
    [
        ('object.metadata.name.startsWith("x")', [], "created"),
        ('object.metadata.name == "c"', ["v"], "denied the request"),
        (
            'object.data.nope == "x"',
            [],
            'configmaps "c" is forbidden: expression \'object.data.nope == "x"\' resulted in error: no such key: nope',
        ),
        ('request.operation == "CREATE" && request.userInfo.username == "system:admin"', ["v"], "denied the request"),
        ("request.dryRun || oldObject != null", [], "created"),
    ],
    ids=[
        "a condition that is false spares the webhook",
        "a condition that holds lets it be asked",
        "a condition that cannot be told ends the request",
        "request and user",
        "old object and dry run",
    ],
)
def test_match_conditions(hooked: Any, expression: str, names: list[str], outcome: str) -> None:
    bench = hooked(v=lambda request: reply(request, allowed=False))
    condition = {"name": "only", "expression": expression}
    bench.configure(VALIDATING, configuration("v", webhook("v", matchConditions=[condition])))
    try:
        bench.create()
        result = "created"
    except StatusError as error:
        result = error.message
    assert outcome in result and bench.backend.names == names


def test_a_name_still_to_be_generated_is_not_told_of_a_condition(hooked: Any) -> None:
    bench = hooked()
    condition = {"name": "only", "expression": 'object.data.nope == "x"'}
    bench.configure(MUTATING, configuration("m", webhook("m", matchConditions=[condition])))
    _, status, _ = bench.http("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"generateName": "c-"}})
    assert status["message"].startswith("configmaps is forbidden: expression ") and "name" not in status["details"]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        pytest.param({"a": "b"}, (True, 'namespaces "gone" not found'), id="both would be needed"),
        pytest.param({}, (False, None), id="the object's selector says no, whatever the namespace is"),
    ],
)
def test_a_namespace_that_cannot_be_found_matters_only_where_the_other_selector_admits(
    labels: Json, expected: Any
) -> None:
    objects = Objects()
    attributes = objects.attributes("configmaps", {"metadata": {"name": "c", "labels": labels}}, namespace="gone")
    chosen = {"namespaceSelector": {"matchLabels": {"x": "y"}}, "objectSelector": {"matchLabels": {"a": "b"}}}
    (hook,) = hooks_of([configuration("v", webhook("v", **chosen))])
    is_selected, problem = objects.run(selected(hook, attributes, objects))
    assert (is_selected, problem and problem.message) == expected


def test_a_condition_that_cannot_be_told_spares_a_webhook_that_ignores_failures(hooked: Any) -> None:
    bench = hooked()
    conditions = [{"name": "a", "expression": "object.nope.x"}, {"name": "b", "expression": "true"}]
    conditions[0]["expression"] = "object.nope.x == 1"
    bench.configure(VALIDATING, configuration("v", webhook("v", matchConditions=conditions, failurePolicy="Ignore")))
    bench.create()
    assert bench.backend.names == []


def test_binding_and_status_are_admitted(hooked: Any) -> None:
    rules = [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods/*"]}]
    bench = hooked(v=lambda request: reply(request, allowed=False))
    bench.pod("p")
    bench.configure(VALIDATING, configuration("v", webhook("v", rules=rules)))
    target = {"metadata": {"name": "p"}, "target": {"kind": "Node", "name": "n"}}
    for verb, part, body in (("create", "binding", target), ("patch", "status", {"status": {"message": "m"}})):
        more = {"patch_type": MERGE} if verb == "patch" else {}
        with pytest.raises(StatusError, match="denied the request"):
            bench.call(verb, PODS, "p", body, subresource=part, **more)
    kinds = [(request["kind"]["kind"], request["subResource"]) for _, request in bench.backend.asked]
    assert kinds == [("Binding", "binding"), ("Pod", "status")]


# -- Services ----------------------------------------------------------------------------------------

SERVICE = {"metadata": {"name": "hook"}, "spec": {"ports": [{"port": 443}], "clusterIP": "10.96.0.7"}}


def endpoints(ready: bool) -> Json:
    return {
        "metadata": {"name": "hook-1", "labels": {"kubernetes.io/service-name": "hook"}},
        "addressType": "IPv4",
        "ports": [{"name": "", "port": 8443, "protocol": "TCP"}],
        "endpoints": [{"addresses": ["10.0.0.9"], "conditions": {"ready": ready}}],
    }


def test_a_webhook_behind_a_service_is_reached_while_one_of_its_endpoints_is_ready(hooked: Any) -> None:
    bench = hooked()
    place = {"service": {"name": "hook", "namespace": "default", "path": "/check"}}
    bench.configure(VALIDATING, configuration("v", webhook("v", clientConfig=place)))
    url = 'Post "https://hook.default.svc:443/check?timeout=10s": '
    services, slices = GVR("", "v1", "services"), GVR("discovery.k8s.io", "v1", "endpointslices")
    assert bench.refusal().message.endswith(url + 'service "hook" not found')
    wrong = {**SERVICE, "spec": {**SERVICE["spec"], "ports": [{"port": 80}]}}  # type: ignore[dict-item]
    bench.call("create", services, body=wrong)
    assert bench.refusal().message.endswith(url + 'no service port 443 found for service "hook"')
    bench.call("patch", services, "hook", {"spec": {"ports": [{"port": 443}]}}, patch_type=MERGE)
    refused = url + "dial tcp 10.96.0.7:443: connect: connection refused"
    assert bench.refusal().message.endswith(refused)
    bench.call("create", slices, body=endpoints(ready=False))
    assert bench.refusal().message.endswith(refused)
    bench.call("update", slices, "hook-1", endpoints(ready=True))
    bench.http_out.serve("https://hook.default.svc:443", bench.backend)
    assert bench.create()
    assert bench.backend.names == ["check"]
