"""Another correct solution, built otherwise: who saw which version of the object, counted in changes."""

from functools import reduce


def wants(hook, request):
    named = {"operations": request["operation"], "resources": request["resource"]}
    for field, asked in named.items():
        if not {"*", asked} & set(hook[field]):
            return False
    labels = request["object"]["labels"]
    if any(labels.get(key) != value for key, value in hook["only"].items()):
        return False
    return request["resource"] != "webhookconfigurations" and request["namespace"] not in hook["skips"]


def outcome(hook, answer):
    took = 0 if answer is None else min(answer["took"], hook["timeout"])
    if answer is not None and answer["took"] == took:
        return answer["allowed"], dict(answer["patch"]), took
    return hook["failure"] == "Ignore", {}, took


def by_configuration(hooks, kind):
    names = sorted({hook["configuration"] for hook in hooks})
    return [hook for name in names for hook in hooks if hook["configuration"] == name and hook["type"] == kind]


def with_labels(obj, patch):
    return dict(obj, labels=reduce(lambda labels, pair: labels | dict([pair]), patch.items(), obj["labels"]))


def mutate(hooks, request, call):
    obj, ms, version = request["object"], 0, 0
    saw = {}  # by name the version of the object right after the webhook was done with it
    for is_second in (False, True):
        if is_second and version == 0:
            break
        for hook in by_configuration(hooks, "mutating"):
            name = hook["name"]
            if is_second and (not hook["again"] or name not in saw or saw[name] == version):
                continue
            if not wants(hook, dict(request, object=obj)):
                continue
            allowed, patch, took = outcome(hook, call(hook, obj))
            ms += took
            if not allowed:
                return None, name, ms
            after = with_labels(obj, patch)
            version += after != obj
            obj, saw[name] = after, version
    return obj, None, ms


def validate(hooks, request, call):
    refused_by, soonest, slowest = None, None, 0
    for hook in by_configuration(hooks, "validating"):
        if wants(hook, request):
            allowed, _, took = outcome(hook, call(hook, request["object"]))
            slowest = max(slowest, took)
            if not allowed and (soonest is None or took < soonest):
                refused_by, soonest = hook["name"], took
    return refused_by, slowest


def admit(hooks, request, check, call):
    obj, refused_by, ms = mutate(hooks, request, call)
    if refused_by is None and check(obj) is not None:
        refused_by = "check"
    if refused_by is None:
        refused_by, more = validate(hooks, dict(request, object=obj), call)
        ms += more
    return (obj if refused_by is None else None), refused_by, ms
