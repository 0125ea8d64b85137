"""Lab 06: webhooks on the way of an object, judged over what the functions answered and whom they asked.

Upstream: apiserver/pkg/admission/plugin/webhook/mutating/dispatcher.go, apiserver/pkg/admission/plugin/webhook/
validating/dispatcher.go, apiserver/pkg/admission/reinvocation.go, apiserver/pkg/endpoints/handlers/create.go
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from k8slab.lab import Broken, Check, LabSpec, Op, Step

NOBODY = frozenset[str]()
EXEMPT = "webhookconfigurations"
Labels = dict[str, str]


class Hook(NamedTuple):
    """A webhook as the words say it."""

    name: str
    kind: str
    configuration: str
    options: Mapping[str, str]

    @property
    def again(self) -> bool:
        return "again" in self.options

    @property
    def ignores(self) -> bool:
        return "ignore" in self.options

    @property
    def timeout(self) -> int:
        return int(self.options.get("timeout", "10000"))


def hook_of(op: Op) -> Hook:
    name, kind, configuration, *options = op[1:]
    split = (one.partition(":") for one in options)
    return Hook(name, kind, configuration, {key: value for key, _, value in split})


def worlds(steps: Sequence[Step]) -> Iterable[tuple[Step, dict[str, Hook]]]:
    """Each step, with the webhooks there are before it."""
    hooks: dict[str, Hook] = {}
    for step in steps:
        yield step, hooks
        if step.verb == "hook" and step.result is True:
            hooks[step.op[1]] = hook_of(step.op)


def state(steps: Sequence[Step]) -> dict[str, str]:
    *_, (_, hooks) = worlds([*steps, Step(0, ("after",), None)])
    lines = {}
    for hook in in_order(hooks.values(), NOBODY):
        options = " ".join(f"{key}:{value}" if value else key for key, value in hook.options.items())
        lines[f"{hook.configuration}/{hook.name}"] = f"{hook.kind}, {options or 'allows all'}"
    return lines or {"webhooks": "none"}


def pairs(text: str) -> Labels:
    return {key: value for key, _, value in (one.partition("=") for one in text.split(",") if one)}


# -- the rules; each name in `but` is a mistake ------------------------------------------------------


class Request(NamedTuple):
    operation: str
    resource: str
    namespace: str
    labels: Labels


def request_of(words: Sequence[str]) -> Request:
    operation, resource, namespace, *labels = words
    return Request(operation, resource, namespace, pairs(",".join(labels)))


Mistakes = frozenset[str]


def wants(hook: Hook, request: Request, but: Mistakes = NOBODY) -> bool:
    is_named = EXEMPT in hook.options.get("on", "").split(",")
    if request.resource == EXEMPT and "exempt" not in but and not ("exempt-unless-named" in but and is_named):
        return False
    for key, asked, cause in (("for", request.operation, "operations"), ("on", request.resource, "resources")):
        named = hook.options.get(key, "*").split(",")
        if asked not in named and ("*" not in named or "star" in but) and cause not in but:
            return False
    skips = [name for name in hook.options.get("skips", "").split(",") if name]
    if "skips-part" in but and any(name in request.namespace or request.namespace in name for name in skips):
        return False
    if "skips" not in but and request.namespace in skips:
        return False
    only = pairs(hook.options.get("only", ""))
    if "only-any" in but:
        return not only or any(request.labels.get(key) == value for key, value in only.items())
    return "only" in but or all(request.labels.get(key) == value for key, value in only.items())


class Answer(NamedTuple):
    took: int
    allowed: bool
    patch: Labels


def answer(hook: Hook, labels: Labels) -> Answer | None:
    options = hook.options
    if "dead" in options:
        return None
    patch = pairs(options.get("sets", ""))
    if "counts" in options:
        patch[options["counts"]] = str(int(labels.get(options["counts"], "0")) + 1)
    source, _, target = options.get("copies", "").partition(">")
    if target and source in labels:
        patch[target] = labels[source]
    denies = "denies" in options and all(labels.get(key) == value for key, value in pairs(options["denies"]).items())
    return Answer(int(options.get("takes", "100")), not denies, {} if denies else patch)


def outcome(hook: Hook, labels: Labels, but: Mistakes = NOBODY) -> tuple[bool, Labels, int]:
    """(allowed, patch, ms)"""
    said = answer(hook, labels)
    waited = hook.timeout - ("on-time" in but)
    is_late = said is not None and said.took > waited and "no-timeout" not in but
    if said is None or is_late:
        ms = 0 if said is None else said.took if "waits-on" in but else hook.timeout
        if said is None and "dead-waits" in but:
            ms = hook.timeout
        patch = said.patch if said is not None and "late-patch" in but else {}
        if said is not None and said.allowed is False and "late-no" in but:
            return False, {}, ms
        lets = hook.ignores
        if "ignore-as-fail" in but:
            lets = False
        if "fail-as-ignore" in but:
            lets = True
        return lets, patch if lets else {}, ms
    allowed = said.allowed or ("ignores-no" in but and hook.ignores)
    return allowed, said.patch, said.took


def in_order(hooks: Iterable[Hook], but: Mistakes) -> list[Hook]:
    listed = list(hooks)
    if "unsorted" in but:
        return listed
    if "by-name" in but:
        return sorted(listed, key=lambda hook: hook.name)
    if "name-last" in but:
        return sorted(listed, key=lambda hook: (hook.configuration, hook.name))
    return sorted(listed, key=lambda hook: hook.configuration)


def text_of(labels: Labels) -> str:
    return " ".join(f"{key}={value}" for key, value in sorted(labels.items())) or "no labels"


class Passage:
    """One request on its way; `shown` is whom it was shown to, and as what."""

    def __init__(self, hooks: Iterable[Hook], request: Request, but: Mistakes) -> None:
        self.hooks = in_order(hooks, but)
        self.request = request
        self.but = but
        self.labels = request.labels
        self.shown: list[str] = []
        self.ms = 0

    def of(self, kind: str) -> list[Hook]:
        return [hook for hook in self.hooks if hook.kind == kind]

    def ask(self, hook: Hook, labels: Labels) -> tuple[bool, Labels, int]:
        self.shown.append(f"{hook.name}({text_of(labels)})")
        return outcome(hook, labels, self.but)

    def wants(self, hook: Hook, *, is_second: bool = False) -> bool:
        if is_second and "unasked-again" in self.but:
            return True
        is_old = "old-labels" in self.but or (is_second and "old-labels-again" in self.but)
        labels = self.request.labels if is_old else self.labels
        return wants(hook, self.request._replace(labels=labels), self.but)

    def mutate(self) -> str:
        """Who refused, or nothing."""
        called: set[str] = set()
        again: set[str] = set()
        ever: set[str] = set()
        refused = ""
        for number in range(1, 12 if "for-ever" in self.but else 4 if "thrice" in self.but else 3):
            before, is_changed = self.labels, False
            for hook in self.of("mutating"):
                if number > 1 and not self._is_due(hook, again, ever):
                    continue
                if not self.wants(hook, is_second=number > 1):
                    continue
                seen = self.request.labels if "parallel" in self.but else self.labels
                allowed, patch, took = self.ask(hook, seen)
                self.ms = max(self.ms, took) if "slowest" in self.but else self.ms + took
                ever.add(hook.name)
                if not allowed and not (number > 1 and "no-second-no" in self.but):
                    refused = refused or hook.name
                    if "goes-on" not in self.but:
                        return refused
                if {**self.labels, **patch} != self.labels:
                    self.labels, is_changed = {**self.labels, **patch}, True
                    again |= called
                    called = set()
                if hook.again or "never-too" in self.but:
                    called.add(hook.name)
            settled = before == self.labels if "end-to-end" in self.but else not is_changed
            if "once" in self.but or settled:
                break
        return refused

    def _is_due(self, hook: Hook, again: set[str], ever: set[str]) -> bool:
        if "everybody" in self.but:
            return True
        if "newcomers" in self.but and hook.again and hook.name not in ever:
            return True
        if "all-willing" in self.but:
            return hook.again and hook.name in ever
        return hook.name in again

    def validate(self) -> str:
        refusals: list[tuple[int, str]] = []
        times = [0]
        for hook in self.of("validating"):
            if not self.wants(hook):
                continue
            allowed, patch, took = self.ask(hook, self.labels)
            times.append(took)
            if "patches" in self.but:
                self.labels = {**self.labels, **patch}
            if not allowed:
                refusals.append((took, hook.name))
                if "stops" in self.but:
                    break
        quick = min((took for took, _ in refusals), default=0)
        self.ms += (
            sum(times) if "adds-up" in self.but else quick if refusals and "leaves-early" in self.but else max(times)
        )
        if not refusals:
            return ""
        if "listed-first" in self.but:
            return refusals[0][1]
        if "slowest-no" in self.but:
            return max(refusals)[1]
        return min(refusals, key=lambda one: one[0])[1]

    def check(self) -> str:
        return "check" if "bad" in self.labels else ""

    def admit(self) -> str:
        but = self.but
        stages: list[Callable[[], str]] = [self.mutate, self.check, self.validate]
        if "check-last" in but:
            stages = [self.mutate, self.validate, self.check]
        elif "check-first" in but:
            stages = [self.check, self.mutate, self.validate]
        elif "no-check" in but:
            stages = [self.mutate, self.validate]
        elif "validates-first" in but:
            stages = [self.validate, self.mutate, self.check]
        elif "validates-early" in but:
            stages = [self.mutate, self.check, self._validate_the_original]
        elif "no-validation" in but:
            stages = [self.mutate, self.check]
        for stage in stages:
            refused = stage()
            if refused:
                return refused
        return ""

    def _validate_the_original(self) -> str:
        after, self.labels = self.labels, self.request.labels
        refused = self.validate()
        self.labels = after
        return refused

    def said(self, refused: str, *, with_object: bool) -> str:
        passes = f"passes with {text_of(self.labels)}" if with_object else "passes"
        asked = " ".join(self.shown) or "nobody"
        return f"{f'refused by {refused}' if refused else passes}, {self.ms} ms, asked {asked}"


def expected(step: Step, hooks: Mapping[str, Hook], but: Mistakes = NOBODY) -> str | None:
    """What the step should answer, or would with a mistake; None for a step that asks nothing."""
    verb, *words = step.op
    if verb in ("wants", "outcome"):
        hook = hooks.get(words[0])
        if hook is None:
            return "no such webhook"
        if verb == "wants":
            return "yes" if wants(hook, request_of(words[1:]), but) else "no"
        allowed, patch, ms = outcome(hook, pairs(",".join(words[1:])), but)
        changes = "nothing" if not patch else text_of(patch)
        return f"{'yes' if allowed else 'no'}, changes {changes}, {ms} ms"
    if verb not in ("mutate", "validate", "admit"):
        return None
    passage = Passage(hooks.values(), request_of(words), but)
    return passage.said(getattr(passage, verb)(), with_object=verb != "validate")


# -- judges ----------------------------------------------------------------------------------------

SELECTION = (
    "exempt-unless-named",
    "exempt",
    "operations",
    "resources",
    "star",
    "skips",
    "skips-part",
    "only",
    "only-any",
)
FAILURES = (
    "ignore-as-fail",
    "fail-as-ignore",
    "ignores-no",
    "no-timeout",
    "on-time",
    "waits-on",
    "dead-waits",
    "late-patch",
    "late-no",
)
ORDER = ("unsorted", "by-name", "name-last", "parallel", "slowest", "goes-on", "old-labels")
AGAIN = (
    "old-labels-again",
    "once",
    "everybody",
    "never-too",
    "all-willing",
    "newcomers",
    "for-ever",
    "thrice",
    "end-to-end",
    "unasked-again",
    "no-second-no",
)
TOGETHER = ("adds-up", "leaves-early", "stops", "listed-first", "slowest-no", "patches")
STAGES = ("check-last", "check-first", "no-check", "validates-first", "validates-early", "no-validation")

Judge = Callable[[Sequence[Step]], Broken | None]


def judge_for(*causes: str) -> Judge:
    """The cause is the mistake that explains every answer up to the wrong one."""

    def judged(steps: Sequence[Step]) -> Broken | None:
        explains = dict.fromkeys(causes, True)
        for step, hooks in worlds(steps):
            if str(step.result).startswith("wrong: "):
                told = step.result.partition(": ")[2]
                return Broken(step.number, f"{told}: whoever called needs it again", "changes")
            right = expected(step, hooks)
            if right is None:
                continue
            for cause in causes:
                if explains[cause]:
                    explains[cause] = expected(step, hooks, frozenset({cause})) == step.result
            if step.result != right:
                cause = next((name for name, holds in explains.items() if holds), "")
                return Broken(step.number, f"it said: {step.result}; it should be: {right}", cause)
        return None

    return judged


# -- scripts ---------------------------------------------------------------------------------------

KEYS = ("size", "team", "zone")


def _selection(rng: random.Random) -> list[str]:
    options = []
    if rng.random() < 0.5:
        options.append(f"for:{','.join(rng.sample(('CREATE', 'UPDATE', 'DELETE'), rng.randint(1, 2)))}")
    if rng.random() < 0.5:
        options.append(f"on:{','.join(rng.sample(('pods', 'services', 'nodes'), rng.randint(1, 2)))}")
    if rng.random() < 0.4:
        options.append(f"skips:{rng.choice(('kube-system', 'dev', 'dev,kube-system'))}")
    if rng.random() < 0.4:
        options.append(f"only:{rng.choice(('size=1', 'team=a', 'size=1,team=a'))}")
    return options


def _request(rng: random.Random, *, exempt: float = 0.0) -> list[str]:
    resource = EXEMPT if rng.random() < exempt else rng.choice(("pods", "pods", "services", "nodes"))
    namespace = rng.choice(("default", "default", "dev", "kube-system"))
    labels = [f"{key}={rng.choice('1a')}" for key in rng.sample(KEYS, rng.randint(0, 2))]
    return [rng.choice(("CREATE", "UPDATE", "DELETE")), resource, namespace, *labels]


def choosing(rng: random.Random) -> list[Op]:
    ops: list[Op] = [("hook", "h", "validating", "conf", *_selection(rng))]
    return [*ops, *(("wants", "h", *_request(rng, exempt=0.2)) for _ in range(5))]


def _behaviour(rng: random.Random, *, failing: float = 0.3) -> list[str]:
    options = [f"takes:{rng.choice((100, 200, 300, 700))}"]
    if rng.random() < failing:
        options += rng.choice((["dead"], ["timeout:150"], ["timeout:250"], ["denies"]))
    if rng.random() < 0.5:
        options.append("ignore")
    return options


def _effect(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.4:
        return f"sets:{rng.choice(KEYS)}={rng.choice('1ab')}"
    if kind < 0.7:
        return f"counts:{rng.choice('mn')}"
    return f"copies:{rng.choice(('size>team', 'team>zone', 'zone>size'))}"


def failing(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for number in range(3):
        ops.append(("hook", f"h{number}", "mutating", "conf", _effect(rng), *_behaviour(rng, failing=0.7)))
        ops.append(("outcome", f"h{number}", *_request(rng)[3:]))
    return ops


def _mutating(rng: random.Random, *, again: float, only: float = 0.2) -> list[Op]:
    names = rng.sample("abcdef", rng.randint(2, 4))
    ops: list[Op] = []
    for name in names:
        options = [_effect(rng), *_behaviour(rng, failing=0.15)]
        if rng.random() < again:
            options.append("again")
        if rng.random() < only:
            options.append(f"only:{rng.choice(KEYS)}={rng.choice('1a')}")
        ops.append(("hook", name, "mutating", rng.choice(("one", "two", "three")), *options))
    return ops


def _plain(rng: random.Random) -> list[str]:
    return [rng.choice(("CREATE", "UPDATE")), "pods", "default", *_request(rng)[3:]]


def one_by_one(rng: random.Random) -> list[Op]:
    return [*_mutating(rng, again=0.0), ("mutate", *_plain(rng)), ("mutate", *_plain(rng))]


def twice(rng: random.Random) -> list[Op]:
    return [*_mutating(rng, again=0.6, only=0.3), ("mutate", *_plain(rng)), ("mutate", *_plain(rng))]


def together(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for name in rng.sample("abcdef", rng.randint(2, 4)):
        denies = [rng.choice(("denies", "denies:size=1"))] if rng.random() < 0.5 else []
        options = [*_behaviour(rng, failing=0.2), *denies]
        ops.append(("hook", name, "validating", rng.choice(("one", "two")), *options))
    return [*ops, ("validate", *_plain(rng)), ("validate", *_plain(rng))]


def whole(rng: random.Random) -> list[Op]:
    ops = _mutating(rng, again=0.4)
    if rng.random() < 0.3:
        ops.append(("hook", "g", "mutating", "zoo", f"sets:bad={rng.choice('12')}"))
    for name in rng.sample("uvw", rng.randint(1, 2)):
        denies = [rng.choice(("denies:size=1", "denies:n=1"))] if rng.random() < 0.5 else []
        ops.append(("hook", name, "validating", rng.choice(("one", "two")), *_behaviour(rng, failing=0.1), *denies))
    bad = ["bad=1"] if rng.random() < 0.2 else []
    return [*ops, ("admit", *_plain(rng), *bad), ("admit", *_plain(rng))]


# -- the lab ---------------------------------------------------------------------------------------

CHANGES = {
    "changes": [
        "The request and its object are the caller's. Do you write into the labels?",
        '{**obj, "labels": {**obj["labels"], **patch}} is a new object.',
    ]
}
WHO = {
    "exempt": ["Webhooks are never asked about webhookconfigurations. Why not? Who could repair a wrong one?"],
    "exempt-unless-named": ["Never means never: also a webhook that names webhookconfigurations itself."],
    "operations": ["A webhook names the operations it is for; all others pass it by."],
    "resources": ["A webhook names the resources it is for; all others pass it by."],
    "star": ['"*" stands for every operation, and for every resource.'],
    "skips": ["The namespaces in skips are exempt."],
    "skips-part": ["A namespace is exempt by its whole name: devops is not dev."],
    "only": ["`only` are labels that the object must have, with these values."],
    "only-any": ["With two labels in `only` both must be there: all, not any."],
}
FAIL = {
    "ignore-as-fail": ["failure is Ignore: the request goes on as if the webhook had said yes, and changes nothing."],
    "fail-as-ignore": ["failure is Fail: a webhook that cannot be asked refuses the request."],
    "ignores-no": ["A no is an answer, not a failure. failure has no say in it."],
    "no-timeout": ["What if `took` is more than the timeout?"],
    "on-time": ["The server waits `timeout` ms: an answer that took exactly that long is in time."],
    "waits-on": ["After the timeout nobody waits any more. How long did it take, then?"],
    "dead-waits": ["Where nobody listens the answer comes at once: None costs 0 ms."],
    "late-patch": ["An answer that came too late is no answer. Neither is its patch."],
    "late-no": ["An answer that came too late is no answer. Neither is its no."],
}
SEQUENCE = {
    "unsorted": ["In which order? By the name of the configuration, not as they were registered."],
    "by-name": ["The configurations' names decide, not the webhooks'."],
    "name-last": ["Within one configuration the order is the one in which it lists them. Python's sort is stable."],
    "parallel": ["Each mutating webhook sees what the one before made of the object."],
    "slowest": ["One after the other: their times add up."],
    "goes-on": ["After a refusal nobody else is asked."],
    "old-labels": ["`only` looks at the object as it is now, not as it was sent."],
}
TWICE = {
    "once": ["Somebody changed the object after a webhook had seen it that wants to see it again."],
    "everybody": ["In the second round only those are asked that have `again`, and only if they need to be."],
    "never-too": ["A webhook without `again` is asked once, whatever happens."],
    "all-willing": [
        "Was the object changed after this webhook saw it? If it was the last to change it, it has seen everything.",
        "Keep two sets: who was asked and has `again`, and who must be asked again. A change joins the first to the "
        "second.",
    ],
    "newcomers": ["Who was not asked in the first round is not asked in the second, even if it would want to be now."],
    "for-ever": ["There are two rounds. Two webhooks that undo each other would never come to an end."],
    "thrice": ["There are two rounds, not three."],
    "unasked-again": ["Who is asked a second time must still want to: the object is another one by now."],
    "old-labels-again": ["`only` looks at the object as it is now: in the second round, too."],
    "no-second-no": ["A no of the second round is a no, too."],
    "end-to-end": ["A change counts when it happens, also if a later one takes it back."],
}
ALL = {
    "adds-up": ["All at once: it takes as long as the slowest."],
    "leaves-early": ["All are waited for, also when somebody has said no already."],
    "stops": ["All are asked at once. Nobody is spared because another one says no."],
    "listed-first": ["Of several that refuse, whose answer came first?"],
    "slowest-no": ["Of several that refuse, whose answer came first?"],
    "patches": ["A validating webhook changes nothing. What would become of its patch?"],
}
WAY = {
    "check-last": ["The server's own check comes before validating webhooks: they never see an object that fails it."],
    "check-first": ["The check looks at what is to be stored: after all mutations."],
    "no-check": ['`check` returns a text when the object is wrong; then it was refused by "check".'],
    "validates-first": ["Validating webhooks come last: what they approved must be what is stored."],
    "validates-early": ["Validating webhooks must see the object as the mutating ones left it."],
    "no-validation": ["mutate, check, validate: the third is missing."],
}
NEEDS = ("wants", "outcome")

LAB = LabSpec(
    title="The admission chain",
    question="A policy said that no image may come from the internet. It was asked, it said yes, and the image in etcd "
    "is from the internet. Who was asked in the wrong order?",
    names=dict.fromkeys((*NEEDS, "mutate", "validate", "admit"), "function"),
    forbidden=("k8slab.apiserver", "k8slab.cluster"),
    minutes=70,
    checks=(
        Check(
            "knows-whom-to-ask",
            "wants: operation, resource, namespace and labels; never about webhook configurations",
            2,
            judge_for(*SELECTION),
            {
                "everything": "hook h validating conf; wants h CREATE pods default; wants h DELETE nodes dev size=1",
                "operations and resources": "hook h validating conf for:CREATE,UPDATE on:pods; "
                "wants h CREATE pods dev; wants h DELETE pods dev; wants h UPDATE services dev",
                "namespaces": "hook h validating conf skips:dev,kube-system; wants h CREATE pods dev; "
                "wants h CREATE pods default; wants h CREATE pods devops; wants h CREATE pods kube",
                "labels": "hook h validating conf only:size=1,team=a; wants h CREATE pods dev; "
                "wants h CREATE pods dev size=1; "
                "wants h CREATE pods dev size=1 team=a zone=1; wants h CREATE pods dev size=2 team=a",
                "itself": "hook h validating conf; wants h UPDATE webhookconfigurations default",
                "itself, by name": "hook h validating conf on:webhookconfigurations; "
                "wants h CREATE webhookconfigurations default",
            },
            choosing,
            {
                **CHANGES,
                **WHO,
                "": ["Five conditions, all of which must hold: four that the webhook names, and one for everybody."],
            },
            needs=("wants",),
            state=state,
        ),
        Check(
            "fails-open-or-closed",
            "outcome: what a dead, a late or a refusing webhook means under Fail and Ignore",
            3,
            judge_for(*FAILURES),
            {
                "it answers": "hook h mutating conf sets:size=1 takes:200; outcome h",
                "it refuses": "hook h mutating conf denies ignore; outcome h; hook g mutating conf denies; outcome g",
                "it is dead": "hook h mutating conf dead; outcome h; hook g mutating conf dead ignore; outcome g",
                "it is late": "hook h mutating conf sets:size=1 takes:700 timeout:250; outcome h; "
                "hook g mutating conf sets:size=1 takes:700 timeout:250 ignore; outcome g",
                "it would refuse, late": "hook g mutating conf takes:700 timeout:250 ignore; outcome g; "
                "hook h mutating conf denies takes:700 timeout:250 ignore; outcome h",
                "in time to the millisecond": "hook h mutating conf sets:size=1 takes:250 timeout:250; outcome h",
            },
            failing,
            {
                **CHANGES,
                **FAIL,
                "": ["Three cases: None, too late, an answer. Only in the first two does failure decide."],
            },
            needs=("outcome",),
            state=state,
        ),
        Check(
            "one-after-the-other",
            "mutate: in order, each on what the one before made of the object; the first refusal ends it",
            3,
            judge_for(*ORDER, *FAILURES, *SELECTION),
            {
                "two of one configuration": "hook z mutating one counts:n; hook y mutating one copies:n>m; "
                "hook a mutating two copies:m>l; mutate CREATE pods default",
                "two configurations": "hook a mutating two copies:n>m; hook b mutating one counts:n; "
                "mutate CREATE pods default",
                "a refusal": "hook a mutating one sets:size=1; hook b mutating one denies takes:300; "
                "hook c mutating two sets:size=2; mutate CREATE pods default",
                "labels that come on the way": "hook a mutating one sets:size=1; hook b mutating two only:size=1 "
                "sets:team=a; mutate CREATE pods default",
                "nobody": "hook v validating one; mutate CREATE pods default size=1",
                "a failure": "hook a mutating one sets:size=1 dead ignore; hook b mutating two takes:700 timeout:150; "
                "mutate CREATE pods default",
            },
            one_by_one,
            {
                **CHANGES,
                **SEQUENCE,
                **{cause: ["mutate goes by what outcome says: look at fails-open-or-closed."] for cause in FAILURES},
                **{cause: ["mutate asks whom wants says: look at knows-whom-to-ask."] for cause in SELECTION},
                "": [
                    "Sort the mutating webhooks by configuration, and go through them with one object that changes.",
                    "call(hook, obj) with the object as it is now, outcome(hook, answer), then a new object.",
                ],
            },
            needs=(*NEEDS, "mutate"),
            state=state,
        ),
        Check(
            "asks-again-once",
            "mutate: who wants to is asked once more if the object was changed after it was asked",
            4,
            judge_for(*AGAIN, *ORDER),
            {
                "nobody wants to": "hook a mutating one; hook b mutating two sets:size=1; mutate CREATE pods default",
                "they undo each other": "hook a mutating one sets:size=1 again; hook b mutating two sets:size=2 again; "
                "mutate CREATE pods default",
                "the first": "hook a mutating one copies:size>team again; hook b mutating two sets:size=1; "
                "mutate CREATE pods default",
                "and the last": "hook a mutating one counts:m again; hook b mutating two counts:n; "
                "hook c mutating three counts:l again; mutate CREATE pods default",
                "its own change": "hook a mutating one; hook b mutating two counts:n again; mutate CREATE pods default",
                "no change": "hook a mutating one again; hook b mutating two sets:size=1 again; "
                "mutate CREATE pods default size=1",
                "a newcomer": "hook a mutating one only:size=1 counts:n again; hook b mutating two sets:size=1; "
                "hook c mutating three sets:team=a again; mutate CREATE pods default",
                "not for it any more": "hook a mutating one sets:size=1; hook b mutating one only:size=1 again; "
                "hook c mutating two sets:size=2; mutate CREATE pods default",
                "for it by now": "hook a mutating one sets:size=1; hook b mutating one only:size=1 again; "
                "hook c mutating two sets:team=a; mutate CREATE pods default",
                "a no the second time": "hook a mutating one denies:size=1 again; hook b mutating two sets:size=1; "
                "mutate CREATE pods default",
                "there and back": "hook a mutating one again; hook b mutating two sets:size=1; "
                "hook c mutating two sets:size=0; mutate CREATE pods default; mutate CREATE pods default size=0",
            },
            twice,
            {
                **CHANGES,
                **TWICE,
                **{
                    cause: ["Is one-after-the-other whole? The second round follows the same rules."] for cause in ORDER
                },
                "": [
                    "Two rounds. In the second only who is in a set that you filled in the first, and go on filling.",
                    "asked: who has `again` and was asked. At a change: again |= asked; then the one who changed it is "
                    "added to asked.",
                ],
            },
            needs=(*NEEDS, "mutate"),
            state=state,
        ),
        Check(
            "asks-all-at-once",
            "validate: all are asked, the slowest sets the time, the first no is told",
            3,
            judge_for(*TOGETHER, *FAILURES, *SELECTION, "unsorted", "by-name", "name-last"),
            {
                "two": "hook a validating one takes:300; hook b validating one takes:200; validate CREATE pods default",
                "three refuse": "hook a validating one denies takes:200; hook b validating one denies; "
                "hook c validating two denies takes:300; hook d validating two takes:700; validate CREATE pods default",
                "equally fast": "hook b validating one denies; hook a validating one denies; "
                "validate CREATE pods default",
                "it sends a patch": "hook a validating one sets:size=1; hook b validating two denies:size=1; "
                "validate CREATE pods default",
                "nobody": "hook m mutating one sets:size=1; validate CREATE pods default",
                "a dead one": "hook a validating one dead; hook b validating one takes:700 timeout:150 ignore; "
                "validate CREATE pods default",
            },
            together,
            {
                **CHANGES,
                **ALL,
                **{cause: ["validate goes by what outcome says: look at fails-open-or-closed."] for cause in FAILURES},
                **{cause: ["validate asks whom wants says: look at knows-whom-to-ask."] for cause in SELECTION},
                "unsorted": ["By the name of the configuration, as for mutating ones."],
                "by-name": ["By the name of the configuration, as for mutating ones."],
                "name-last": ["Within one configuration the order is the one in which it lists them."],
                "": ["A list of (ms, name) of all that refuse; min of it. max over the times of all."],
            },
            needs=(*NEEDS, "validate"),
            state=state,
        ),
        Check(
            "what-is-approved-is-stored",
            "admit: mutate, the server's own check, validate; nothing after the first refusal",
            3,
            judge_for(*STAGES, *AGAIN, *TOGETHER, *ORDER),
            {
                "it was broken": "hook m mutating one sets:size=1; hook v validating one; "
                "admit CREATE pods default bad=1",
                "it was broken, and nobody changes it": "hook v validating one; admit CREATE pods default bad=1",
                "through": "hook m mutating one sets:size=1; hook v validating one denies:size=2 takes:300; "
                "admit CREATE pods default",
                "what the last one did": "hook a mutating one sets:size=1 again; hook b mutating two sets:size=2; "
                "hook v validating one denies:size=1; admit CREATE pods default",
                "a mutation breaks it": "hook m mutating one sets:bad=1; hook v validating one; "
                "admit CREATE pods default",
                "refused early": "hook m mutating one denies; hook v validating one; admit CREATE pods default bad=1",
            },
            whole,
            {
                **CHANGES,
                **WAY,
                **{cause: ["Look at asks-again-once."] for cause in AGAIN},
                **{cause: ["Look at asks-all-at-once."] for cause in TOGETHER},
                **{cause: ["Look at one-after-the-other."] for cause in ORDER},
                "": ["Three steps, each of which may end it. The times of mutate and validate add up."],
            },
            state=state,
        ),
    ),
)
