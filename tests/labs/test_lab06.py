"""Lab 06: the solution says what the package's API server does, mistakes are told apart, odd values are named."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import pytest

from k8slab.api.errors import StatusError
from k8slab.api.scheme import GVR
from k8slab.api.transport import HTTPResponse, Request
from k8slab.apiserver import APIServer
from k8slab.client import SimulatedHTTP
from k8slab.etcd import Store
from k8slab.lab import InProcessRunner, Op, find_lab, verify
from k8slab.sim import Loop, sleep
from tests.labs.taken import Taken
from tests.webhooks import MUTATING, VALIDATING

LAB = find_lab("06")
TAKEN = Taken(LAB, InProcessRunner())
KINDS = {"mutating": MUTATING, "validating": VALIDATING}
CONFIGMAPS = GVR("", "v1", "configmaps")
RULE = {"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
SLOWER = 20
"""A millisecond of the lab is this many here: timeouts are whole seconds."""


def script_of(check: str, seed: int) -> list[Op]:
    generate = LAB.spec.check(check).generate
    assert generate is not None
    return list(generate(random.Random(seed)))


def answers(check: str, script: list[Op]) -> list[Any]:
    return TAKEN.answers(check, "; ".join(" ".join(op) for op in script))


# -- against the package ---------------------------------------------------------------------------


def text_of(labels: dict[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in sorted(labels.items())) or "no labels"


def sent(labels: dict[str, str]) -> dict[str, str]:
    """A label called bad gets a value that the server's validation refuses."""
    return {key: f"!{value}" if key == "bad" else value for key, value in labels.items()}


def seen(labels: dict[str, str]) -> dict[str, str]:
    return {key: value.removeprefix("!") for key, value in labels.items()}


def pairs(text: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in text.split(",") if pair)


def patch_of(options: dict[str, str], labels: dict[str, str]) -> dict[str, str]:
    patch = pairs(options.get("sets", ""))
    if "counts" in options:
        patch[options["counts"]] = str(int(labels.get(options["counts"], "0")) + 1)
    if "copies" in options:
        source, _, target = options["copies"].partition(">")
        if source in labels:
            patch[target] = labels[source]
    return patch


class Twin:
    """The same webhooks before an API server; what the lab calls Pods are ConfigMaps here, which no plugin changes."""

    def __init__(self, script: list[Op]) -> None:
        self.loop = Loop(seed=1)
        self.http = SimulatedHTTP(self.loop)
        self.server = APIServer(self.loop, Store(), http=self.http)
        self.shown: list[str] = []
        self.numbers = count(1)
        self.loop.run(for_ms=20)
        webhooks: dict[tuple[str, str], list[Any]] = {}
        for op in script:
            if op[0] == "hook":
                webhooks.setdefault((op[2], op[3]), []).append(self.webhook(*op[1:3], *op[4:]))
        for (kind, name), listed in webhooks.items():
            self.ask(Request("create", KINDS[kind], body={"metadata": {"name": name}, "webhooks": listed}))
        self.loop.run(for_ms=10)

    def webhook(self, name: str, kind: str, *words: str) -> Any:
        options = {key: value for key, _, value in (word.partition(":") for word in words)}
        if "dead" not in options:
            self.http.serve(f"https://hooks/{name}", self.handler(name, kind, options))
        made = {
            "name": f"{name}.example.com",
            "clientConfig": {"url": f"https://hooks/{name}"},
            "rules": [RULE],
            "objectSelector": {"matchLabels": pairs(options.get("only", ""))},
            "failurePolicy": "Ignore" if "ignore" in options else "Fail",
            "timeoutSeconds": min(30, int(options.get("timeout", "10000")) * SLOWER // 1000),
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        return {**made, "reinvocationPolicy": "IfNeeded"} if "again" in options else made

    def handler(self, name: str, kind: str, options: dict[str, str]) -> Callable[..., Awaitable[HTTPResponse]]:
        async def answer(method: str, path: str, body: bytes) -> HTTPResponse:
            request = json.loads(body)["request"]
            labels = seen(request["object"]["metadata"].get("labels") or {})
            self.shown.append(f"{name}({text_of(labels)})")
            await sleep(int(options.get("takes", "100")) * SLOWER)
            denies = "denies" in options and pairs(options["denies"]).items() <= labels.items()
            response: dict[str, Any] = {"uid": request["uid"], "allowed": not denies}
            patch = {} if denies or kind == "validating" else patch_of(options, labels)
            if patch:
                begin = [] if labels else [{"op": "add", "path": "/metadata/labels", "value": {}}]
                changes = [
                    {"op": "add", "path": f"/metadata/labels/{key}", "value": value}
                    for key, value in sent(patch).items()
                ]
                encoded = base64.b64encode(json.dumps([*begin, *changes]).encode()).decode()
                response |= {"patchType": "JSONPatch", "patch": encoded}
            review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
            return HTTPResponse(200, {}, json.dumps(review).encode())

        return answer

    def ask(self, request: Request) -> Any:
        """The object, or the StatusError; and how long it took in the lab's milliseconds."""
        outcome: list[Any] = []
        began = self.loop.clock.now_ms

        async def asked() -> None:
            try:
                outcome.append((await self.server.serve(request, "you")).object)
            except StatusError as error:
                outcome.append(error)
            outcome.append((self.loop.clock.now_ms - began) // SLOWER)

        self.loop.spawn("you", asked())
        self.loop.run(for_ms=300_000)
        return outcome

    def passage(self, verb: str, words: list[str]) -> str:
        """What the lab's verb should have said."""
        self.shown = []
        labels = pairs(",".join(words[3:]))
        body = {"metadata": {"name": f"web-{next(self.numbers)}", "labels": sent(labels)}}
        found, ms = self.ask(Request("create", CONFIGMAPS, namespace="default", body=body))
        asked = " ".join(self.shown) or "nobody"
        if isinstance(found, StatusError):
            name = re.search(r'webhook "(\w+)\.example', found.message)
            return f"refused by {name.group(1) if name else 'check'}, {ms} ms, asked {asked}"
        passes = "passes"
        if verb != "validate":
            passes += f" with {text_of(seen(found['metadata'].get('labels') or {}))}"
        return f"{passes}, {ms} ms, asked {asked}"


def with_the_dead(said: str, script: list[Op]) -> str:
    """Of the lab's answer what the twin can know: whom nobody listens for was never shown anything."""
    dead = [op[1] for op in script if op[0] == "hook" and "dead" in op]
    for name in dead:
        said = re.sub(rf" {name}\([^)]*\)", "", said)
    return said if said.count("asked ") and not said.endswith("asked") else f"{said} nobody"


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize(
    "check", ["one-after-the-other", "asks-again-once", "asks-all-at-once", "what-is-approved-is-stored"]
)
def test_the_solution_says_what_the_api_server_does(check: str, seed: int) -> None:
    script = script_of(check, seed)
    twin = Twin(script)
    for op, said in zip(script, answers(check, script), strict=True):
        if op[0] in ("mutate", "validate", "admit"):
            assert with_the_dead(said, script) == twin.passage(op[0], list(op[1:])), op
    twin.loop.close()


# -- what is wrong ---------------------------------------------------------------------------------


WRONG = {
    "a number for yes": (
        '    return all(labels.get(key) == value for key, value in hook["only"].items())',
        '    return int(all(labels.get(key) == value for key, value in hook["only"].items()))',
        "knows-whom-to-ask",
        "wants: expected True or False, found 1",
    ),
    "the verdict alone": (
        '    return answer["allowed"], answer["patch"], answer["took"]',
        '    return answer["allowed"]',
        "fails-open-or-closed",
        "outcome: expected (allowed, patch, ms), found True",
    ),
    "the webhook's name": (
        "outcome(hook, call(hook, obj))",
        'outcome(hook, call(hook["name"], obj))',
        "one-after-the-other",
        "call: expected a webhook that you were given, found 'a'",
    ),
    "the labels": (
        "outcome(hook, call(hook, obj))",
        'outcome(hook, call(hook, obj["labels"]))',
        "one-after-the-other",
        "call: expected the object, a dict with labels, found {}",
    ),
    "the whole webhook": (
        'return None, hook["name"], ms',
        "return None, hook, ms",
        "one-after-the-other",
        "mutate: expected the name of who refused, found {'name': 'b'",
    ),
    "half a millisecond": (
        "            ms += took\n",
        "            ms += took / 2\n",
        "asks-again-once",
        "mutate: expected whole milliseconds, found 50.0",
    ),
    "the object alone": (
        "    return obj, None, ms + more",
        "    return obj",
        "what-is-approved-is-stored",
        "admit: expected (object, refused_by, ms), found {'name': 'web'",
    ),
}


@pytest.mark.parametrize(("old", "new", "check", "said"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_named(old: str, new: str, check: str, said: str) -> None:
    report = verify(LAB, TAKEN.changed(old, new), only=[check], runner=InProcessRunner())
    (result,) = [result for result in report.results if result.check.name == check]
    assert said in result.reason


def test_a_chain_that_asks_nobody_earns_nothing() -> None:
    code = (
        "def wants(hook, request): return False\n"
        "def outcome(hook, answer): return True, {}, 0\n"
        "def mutate(hooks, request, call): return request['object'], None, 0\n"
        "def validate(hooks, request, call): return None, 0\n"
        "def admit(hooks, request, check, call): return request['object'], None, 0\n"
    )
    assert TAKEN.judged(code).points == 0


def test_what_is_handed_over_stays_as_it_is() -> None:
    code = TAKEN.changed(
        '                obj = {**obj, "labels": labels}\n', '                obj["labels"].update(labels)\n'
    )
    report = verify(LAB, code, only=["one-after-the-other"], runner=InProcessRunner())
    assert "mutate changed what it was handed: whoever called needs it again" in report.results[0].reason
    assert report.results[0].causes == ("changes",)


def test_two_that_undo_each_other_do_not_hang_the_check() -> None:
    code = TAKEN.changed("    for is_second in (False, True):\n", "    for is_second in (False, *[True] * 1000):\n")
    report = verify(LAB, code, only=["asks-again-once"], runner=InProcessRunner())
    assert "200 webhooks were asked about one object" in report.results[0].reason


def test_tuples_and_lists_are_taken() -> None:
    code = TAKEN.changed("    return obj, None, ms + more", "    return [obj, None, ms + more]")
    assert verify(LAB, code, runner=InProcessRunner()).passed
