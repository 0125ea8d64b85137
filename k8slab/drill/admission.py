"""Drills on admission webhooks: who is asked, in which order, how often, how long it takes, what a failure means.

Every answer but those about rules is that of an API server with the webhooks of the question in front of it.

Simplified: see `k8slab.apiserver.admission.webhook`; the objects are ConfigMaps.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from k8slab.api.labels import selector_from_dict
from k8slab.api.scheme import GVR
from k8slab.apiserver.admission.webhook.rules import rule_matches
from k8slab.drill.admission_server import Guarded, Hook, Labels
from k8slab.drill.answers import choice, duration, name_set, sequence
from k8slab.drill.exercise import Draft, Drill, Kind, generate, labels_text, table_block, yaml_block

__all__ = ["KINDS", "admission"]

_PLUGIN = "apiserver/pkg/admission/plugin/webhook"
_LETTERS = "PQRST"

# -- who is asked ------------------------------------------------------------------------------------------


class _Asked(NamedTuple):
    operation: str
    group: str
    what: str
    namespace: str

    def matches(self, rule: Any) -> bool:
        resource, _, part = self.what.partition("/")
        return rule_matches(rule, self.operation, GVR(self.group, "v1", resource), part, self.namespace)


_REQUESTS = (
    _Asked("CREATE", "", "pods", "default"), _Asked("CREATE", "", "pods/binding", "default"),
    _Asked("UPDATE", "", "pods/status", "default"), _Asked("DELETE", "", "pods", "default"),
    _Asked("CONNECT", "", "pods/exec", "default"), _Asked("CREATE", "apps", "deployments", "default"),
    _Asked("UPDATE", "apps", "deployments/scale", "default"), _Asked("UPDATE", "apps", "deployments/status", "default"),
    _Asked("UPDATE", "apps", "statefulsets", "default"), _Asked("CREATE", "", "namespaces", ""),
    _Asked("UPDATE", "", "nodes", ""), _Asked("UPDATE", "", "nodes/status", ""),
    _Asked("UPDATE", "", "pods", "default"),
)  # fmt: skip
_RESOURCES = (["pods"], ["pods/*"], ["*"], ["*/*"], ["*/scale", "*/status"], ["pods", "pods/status"], ["*", "pods/*"])


def _rules(rng: random.Random) -> Draft:
    right: list[str] = []
    while not 1 <= len(right) <= 3:
        rule = {
            "operations": rng.choice([["*"], ["CREATE", "UPDATE"], ["UPDATE"], ["CREATE"]]),
            "apiGroups": rng.choice([[""], ["*"], ["*"], ["apps"], ["", "apps"]]),
            "apiVersions": ["v1"],
            "resources": list(rng.choice(_RESOURCES)),
            "scope": rng.choice(["*", "*", "Namespaced", "Cluster"]),
        }
        asked = dict(zip(_LETTERS, rng.sample(_REQUESTS, 5), strict=True))
        right = [letter for letter, one in asked.items() if one.matches(rule)]
    main = [letter for letter, one in asked.items() if one._replace(what=one.what.partition("/")[0]).matches(rule)]
    anywhere = [letter for letter, one in asked.items() if one.matches({**rule, "scope": "*"})]
    hint = (
        "`pods` is the resource without its subresources, `pods/*` it with all of them, `*` every resource without "
        "subresources, `*/*` everything, `*/scale` that subresource of whatever has it."
    )
    rows = [(n, one.operation, one.group or "(core)", one.what, one.namespace or "-") for n, one in asked.items()]
    return Draft(
        f"A webhook has this rule. About which requests is it asked?\n\n{yaml_block({'rules': [rule]})}\n\n"
        + table_block(rows, ["REQUEST", "OPERATION", "GROUP", "RESOURCE", "NAMESPACE"]),
        name_set(right, list(asked), hint, [
            (main, "A subresource is a resource of its own here: a rule that does not name it does not mean it."),
            (anywhere, "The scope counts too: Namespaced for what lives in a namespace, Cluster for the rest."),
            ([n for n in asked if n not in right], "Those are the ones it is not asked about."),
        ]),
        f"{hint} All parts of the rule must fit. Here: {', '.join(right)}.",
    )  # fmt: skip


_EITHER = "The selector is put to the new object and to the old one, and either is enough."
_SELECTORS: tuple[Any, ...] = (
    {"matchLabels": {"team": "red"}},
    {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["red"]}]},
    {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]},
    {"matchExpressions": [{"key": "team", "operator": "Exists"}]},
)


def _selectors(rng: random.Random) -> Draft:
    selector = rng.choice(_SELECTORS)
    states: list[Labels | None] = [{"team": "red"}, {"team": "blue"}, {}]
    changes: dict[str, tuple[Labels | None, Labels | None]] = {}
    for letter in _LETTERS[:4]:
        before = rng.choice([*states, None])
        changes[letter] = before, rng.choice(states if before is None else [*states, None])
    guarded = Guarded()
    for letter, (before, _) in changes.items():
        if before is not None:
            guarded.send("create", letter.lower(), before)
    guarded.register([Hook("W", kind="validating", more={"objectSelector": selector})])
    right = []
    for letter, (before, after) in changes.items():
        verb = "create" if before is None else "delete" if after is None else "update"
        if guarded.send(verb, letter.lower(), after).asked:
            right.append(letter)
    fits = selector_from_dict(selector).matches
    new = [n for n, (_, after) in changes.items() if after is not None and fits(after)]
    old = [n for n, (before, _) in changes.items() if before is not None and fits(before)]
    shown = [(n, _state(before), _state(after)) for n, (before, after) in changes.items()]
    return Draft(
        "A webhook for all operations has this selector. About which of these requests is it asked? (`-`: there is no "
        f"such object before a creation, or after a deletion.)\n\n{yaml_block({'objectSelector': selector})}\n\n"
        + table_block(shown, ["REQUEST", "LABELS BEFORE", "LABELS AFTER"]),
        name_set(right, list(changes), _EITHER, [
            (new, "The old object counts too: else nobody could be kept from taking the label away."),
            (old, "The new object counts too, and of a creation there is no other."),
            ([n for n in new if n in old], "One of the two is enough."),
        ]),
        f"{_EITHER} Here: {', '.join(right) or 'none'}.",
    )  # fmt: skip


def _state(labels: Labels | None) -> str:
    return "-" if labels is None else labels_text(labels)


# -- in which order, how often -----------------------------------------------------------------------------

_ORDER = (
    "First the mutating webhooks, one after the other, then the validating ones. Configurations by their names, as "
    "text; within one, as it lists them. When they were created says nothing."
)


def _order(rng: random.Random) -> Draft:
    names = rng.sample(["w-9", "w-10", "w-2", "admit", "zone", "quota"], 3)
    letters = rng.sample(_LETTERS, 5)
    places = [("mutating", rng.choice(names)) for _ in letters[:-1]]
    places.insert(rng.randrange(len(letters)), ("validating", rng.choice(names)))
    hooks = [Hook(letter, name, kind) for letter, (kind, name) in zip(letters, places, strict=True)]
    guarded = Guarded()
    guarded.register(hooks)
    right = guarded.send("create").asked
    by_name = [hook.name for hook in sorted(hooks, key=lambda hook: hook.configuration)]
    numbered = sorted(hooks, key=lambda h: (h.kind, *_natural(h.configuration)))
    return Draft(
        "These webhooks were registered in the order of the table. A ConfigMap is created; nobody changes or refuses "
        "it. In which order are they called? Answer with letters.\n\n"
        + table_block(
            [(hook.name, hook.kind, hook.configuration) for hook in hooks], ["WEBHOOK", "KIND", "CONFIGURATION"]
        ),
        sequence(right, sorted(letters), _ORDER, [
            (letters, "The order of registration is not kept."),
            (by_name, "All mutating webhooks come before every validating one, whatever they are called."),
            ([hook.name for hook in numbered], "Names are compared as text: w-10 comes before w-9."),
        ]),
        f"{_ORDER} Here: {', '.join(right)}.",
    )  # fmt: skip


def _natural(name: str) -> tuple[str, int]:
    word, _, number = name.partition("-")
    return word, int(number or 0)


_AGAIN = (
    "When a webhook has changed the object, there is a second round: for those that ask for it with IfNeeded, and only "
    "if something changed after their call. A patch that changes nothing is no change. There is no third round."
)
_DEEDS = ("nothing", "sets x=1", "sets y=1", "adds 1 to n")


def _does(deed: str, labels: Labels) -> Labels:
    if deed.startswith("sets"):
        key, _, value = deed.removeprefix("sets ").partition("=")
        return {key: value}
    return {"n": str(int(labels.get("n", "0")) + 1)} if deed.startswith("adds") else {}


def _reinvoked(rng: random.Random) -> Draft:
    count = rng.randint(2, 4)
    rows = [(letter, rng.choice(_DEEDS), rng.choice(["IfNeeded", "IfNeeded", "Never"])) for letter in _LETTERS[:count]]
    begin: Labels = rng.choice([{}, {}, {"x": "1"}])
    guarded = Guarded()
    guarded.register([
        Hook(letter, patch=lambda labels, deed=deed: _does(deed, labels), more={"reinvocationPolicy": policy})  # type: ignore[misc]
        for letter, deed, policy in rows
    ])  # fmt: skip
    right = guarded.send("create", labels=begin).asked
    letters = [letter for letter, _, _ in rows]
    willing = [letter for letter, _, policy in rows if policy == "IfNeeded"]
    return Draft(
        f"A ConfigMap with the labels `{labels_text(begin)}` is created. These are the mutating webhooks, in the order "
        "of their configuration. Who is called, in which order, until the object is stored? Whoever sets a label "
        "sends its patch each time. Answer with letters.\n\n"
        + table_block(rows, ["WEBHOOK", "WHAT IT DOES", "REINVOCATION"]),
        sequence(right, letters, _AGAIN, [
            (letters, "There is a second round here: somebody changed the object after a webhook that cares."),
            ([*letters, *willing], "IfNeeded is no wish to be called twice: only if something changed after the call."),
            ([*letters, *letters], "Only those with IfNeeded are called again."),
            ([*letters, *willing, *willing], "There is no third round."),
        ]),
        f"{_AGAIN} Here: {', '.join(right)}.",
    )  # fmt: skip


# -- how long, and what if ---------------------------------------------------------------------------------

_TIME = (
    "Mutating webhooks are called one after the other, so their times add up; validating ones all at once, so the "
    "slowest counts. Nobody is waited for longer than its timeout."
)


def _time(rng: random.Random) -> Draft:
    kinds = ["mutating"] * rng.randint(1, 3) + ["validating"] * rng.randint(1, 3)
    rows = []
    for letter, kind in zip("ABCDEF", kinds, strict=False):
        takes = rng.choice([rng.randint(1, 9) * 100, rng.randint(1, 9) * 100, rng.randint(11, 40) * 100])
        rows.append((letter, kind, takes, rng.choice([1, 2, 5])))
    guarded = Guarded()
    guarded.register([
        Hook(letter, kind=kind, takes_ms=takes, more={"timeoutSeconds": timeout, "failurePolicy": "Ignore"})
        for letter, kind, takes, timeout in rows
    ])  # fmt: skip
    right = guarded.send("create").took_ms
    spent = {kind: [min(takes, timeout * 1000) for _, k, takes, timeout in rows if k == kind] for kind in kinds}
    patient = [takes for _, kind, takes, _ in rows if kind == "mutating"]
    patient_after = max(takes for _, kind, takes, _ in rows if kind == "validating")
    shown = [(letter, kind, f"{takes}ms", f"{timeout}s") for letter, kind, takes, timeout in rows]
    return Draft(
        "A ConfigMap is created, and all these webhooks are called; their failurePolicy is Ignore, and they allow "
        "everything. How long does the server wait for them in all?\n\n"
        + table_block(shown, ["WEBHOOK", "KIND", "TAKES", "TIMEOUT"]),
        duration(right, _TIME, {
            sum(map(sum, spent.values())): "Validating webhooks do not wait for each other: the slowest counts.",
            max(map(max, spent.values())): "Mutating webhooks wait for each other: each sees what the one before made.",
            sum(patient) + patient_after: "Whoever takes longer than its timeout is given up on, and Ignore goes on.",
            sum(map(max, spent.values())): "Mutating webhooks are not called at once; their times add up.",
        }),
        f"{_TIME} Here: {' + '.join(map(str, spent['mutating']))} for the mutating ones, and "
        f"{max(spent['validating'])} for the slowest of the validating: {right}ms.",
    )  # fmt: skip


_CODES = ("201", "400", "403", "422", "500")
_FATE = (
    "A no is a no, with the code the webhook gives, or 400. A failure is no answer: Fail makes it a 500, Ignore goes "
    "on as if nobody had been asked."
)
_FATES: tuple[tuple[str, Any, int], ...] = (
    ("answers `allowed: true`", {"allowed": True}, 0),
    ("answers `allowed: false`", {"allowed": False}, 0),
    ("answers `allowed: false` with `status.code: 422`", {"allowed": False, "status": {"code": 422}}, 0),
    ("answers `allowed: false` with `status.code: 403`", {"allowed": False, "status": {"code": 403}}, 0),
    ("does not exist: nobody listens there", "none", 0),
    ("answers with HTTP 500", "http 500", 0),
    ("answers with a page that is no AdmissionReview", "garbage", 0),
    ("answers `allowed: true`, but under another `uid`", {"uid": "another"}, 0),
    ("answers `allowed: false` after 15 seconds", {"allowed": False}, 15_000),
)


def _fate(rng: random.Random) -> Draft:
    text, answer, takes = rng.choice(_FATES)
    kind, policy = rng.choice(["mutating", "validating"]), rng.choice(["Fail", "Ignore"])
    dry = rng.random() < 0.3
    timeout = rng.choice([5, 10, 20])
    guarded = Guarded()
    settings = {"failurePolicy": policy, "timeoutSeconds": timeout, "sideEffects": "NoneOnDryRun"}
    guarded.register([Hook("W", kind=kind, takes_ms=takes, answer=answer, more=settings)])
    code = guarded.send("create", dry_run=dry).code or 201
    is_failure = answer in ("none", "http 500", "garbage") or "another" in text or takes > timeout * 1000
    explained = {
        "201": "The object passes.",
        "500": f"This is a failure of the call, and failurePolicy is {policy}.",
    }.get(str(code), "The webhook says no, which is no failure: failurePolicy has no say.")
    if is_failure:
        mistakes = dict.fromkeys(("400", "403"), "Only a webhook says no; a call that fails is an error of the server.")
        mistakes |= {"500": "Ignore forgives what goes wrong with the call.", "201": "With Fail nobody passes unseen."}
    else:
        mistakes = dict.fromkeys(("400", "403"), "Its `status.code` is the client's; without one it is 400.")
        mistakes |= {"500": "failurePolicy is about calls that fail; this one has an answer.",
                     "201": "A no counts whatever the failurePolicy."}  # fmt: skip
    request = "created as a dry run" if dry else "created"
    return Draft(
        f"A {kind} webhook with these settings is the only one. A ConfigMap is {request}, and the webhook {text}. "
        f"Which HTTP code does the client get?\n\n{yaml_block(settings)}",
        choice(str(code), _CODES, _FATE, mistakes),
        f"{explained} {_FATE}",
    )


KINDS: Sequence[Kind] = (
    Kind("rules", 1, f"{_PLUGIN}/predicates/rules/rules.go (Matches)", _rules),
    Kind("fate", 1, f"{_PLUGIN}/validating/dispatcher.go (Dispatch)", _fate),
    Kind("selectors", 2, f"{_PLUGIN}/predicates/object/matcher.go (MatchObjectSelector)", _selectors),
    Kind("order", 2, "apiserver/pkg/admission/configuration/mutating_webhook_manager.go", _order),
    Kind("time", 2, f"{_PLUGIN}/validating/dispatcher.go (Dispatch)", _time),
    Kind("again", 3, f"{_PLUGIN}/mutating/reinvocationcontext.go", _reinvoked),
)


def admission(rng: random.Random) -> Drill:
    """An exercise on webhooks."""
    return generate("admission", KINDS, rng)
