"""Plays operations on a learner's functions. Runs in the child, next to the learner's code; knows nothing of what is
right.

`hook scan validating beta takes:300 ignore` is a webhook of configuration beta that answers after 300 ms and whose
failures are ignored; `mutate CREATE pods default size=1` hands a Pod with the label size=1 through the mutating ones.
The functions are given plain dicts and `call(hook, obj)`, which asks a webhook and notes what it was shown. A function
that changed what it was handed is answered for with that.
"""


def _short(found):
    shown = isinstance(found, (int, float, str, list, tuple, dict, type(None)))
    return repr(found)[:60] if shown else f"a {type(found).__name__}"


def _pairs(words):
    return dict(word.split("=") for word in words)


def _labels(obj):
    return " ".join(f"{key}={value}" for key, value in sorted(obj["labels"].items())) or "no labels"


class Changed(Exception):
    """A function wrote into what it was handed."""


class Webhook:
    """What the learner is told of a webhook, and how it answers."""

    def __init__(self, name, kind, configuration, *options):
        given = {}
        for option in options:
            key, _, value = option.partition(":")
            given[key] = value
        self.given = given
        self.name, self.kind, self.configuration = name, kind, configuration

    def told(self):
        """A new dict each time: what was written into another one is gone."""
        given = self.given
        return {
            "name": self.name,
            "type": self.kind,
            "configuration": self.configuration,
            "operations": given.get("for", "*").split(","),
            "resources": given.get("on", "*").split(","),
            "skips": given["skips"].split(",") if "skips" in given else [],
            "only": _pairs(given["only"].split(",")) if "only" in given else {},
            "failure": "Ignore" if "ignore" in given else "Fail",
            "again": "again" in given,
            "timeout": int(given.get("timeout", "10000")),
        }

    def answer(self, labels):
        if "dead" in self.given:
            return None
        patch = _pairs(self.given["sets"].split(",")) if "sets" in self.given else {}
        if "counts" in self.given:
            patch[self.given["counts"]] = str(int(labels.get(self.given["counts"], "0")) + 1)
        if "copies" in self.given:
            source, _, target = self.given["copies"].partition(">")
            if source in labels:
                patch[target] = labels[source]
        wanted = _pairs([self.given["denies"]]) if self.given.get("denies") else {}
        denies = "denies" in self.given and all(labels.get(key) == value for key, value in wanted.items())
        return {"took": int(self.given.get("takes", "100")), "allowed": not denies, "patch": {} if denies else patch}


class Player:
    """Webhooks by name, and what they were shown."""

    def __init__(self, names):
        self.learner = names
        self.hooks = {}
        self.shown = []

    def hook(self, name, *words):
        if name in self.hooks:
            return False
        self.hooks[name] = Webhook(name, *words)
        return True

    # -- what is handed over ---------------------------------------------------------------------

    def call(self, hook, obj):
        if not isinstance(hook, dict) or hook.get("name") not in self.hooks:
            raise TypeError(f"call: expected a webhook that you were given, found {_short(hook)}")
        if not isinstance(obj, dict) or not isinstance(obj.get("labels"), dict):
            raise TypeError(f"call: expected the object, a dict with labels, found {_short(obj)}")
        self.shown.append(f"{hook['name']}({_labels(obj)})")
        if len(self.shown) > 200:
            raise RecursionError("call: 200 webhooks were asked about one object")
        return self.hooks[hook["name"]].answer(obj["labels"])

    @staticmethod
    def request(operation, resource, namespace, *labels):
        obj = {"name": "web", "labels": _pairs(labels)}
        return {"operation": operation, "resource": resource, "namespace": namespace, "object": obj}

    @staticmethod
    def check(obj):
        """The API server's own validation: a label called bad is an error."""
        return "a label called bad" if "bad" in obj["labels"] else None

    def ask(self, who, *handed):
        """What a function answers."""
        self.shown = []
        data = [one for one in handed if not callable(one)]
        before = repr(data)
        found = self.learner[who](*handed)
        if repr(data) != before:
            raise Changed(f"{who} changed what it was handed")
        return found

    def told(self):
        return [hook.told() for hook in self.hooks.values()]

    # -- questions -------------------------------------------------------------------------------

    def wants(self, name, *words):
        if name not in self.hooks:
            return "no such webhook"
        found = self.ask("wants", self.hooks[name].told(), self.request(*words))
        if type(found) is not bool:
            raise TypeError(f"wants: expected True or False, found {_short(found)}")
        return "yes" if found else "no"

    def outcome(self, name, *labels):
        if name not in self.hooks:
            return "no such webhook"
        hook = self.hooks[name]
        found = self.ask("outcome", hook.told(), hook.answer(_pairs(labels)))
        if not isinstance(found, (list, tuple)) or len(found) != 3:
            raise TypeError(f"outcome: expected (allowed, patch, ms), found {_short(found)}")
        allowed, patch, ms = found
        if type(allowed) is not bool or not isinstance(patch, dict) or type(ms) is not int:
            raise TypeError(f"outcome: expected (True or False, a dict, a whole number), found {_short(found)}")
        changes = " ".join(f"{key}={value}" for key, value in sorted(patch.items())) or "nothing"
        return f"{'yes' if allowed else 'no'}, changes {changes}, {ms} ms"

    def mutate(self, *words):
        return self._passage("mutate", self.told(), self.request(*words), self.call)

    def admit(self, *words):
        return self._passage("admit", self.told(), self.request(*words), self.check, self.call)

    def _passage(self, who, *handed):
        found = self.ask(who, *handed)
        if not isinstance(found, (list, tuple)) or len(found) != 3:
            raise TypeError(f"{who}: expected (object, refused_by, ms), found {_short(found)}")
        obj, refused_by, ms = found
        if obj is None:
            said = f"refused by {self._name(who, refused_by)}"
        elif isinstance(obj, dict) and isinstance(obj.get("labels"), dict) and refused_by is None:
            if obj.get("name") != "web":
                raise TypeError(f"{who}: expected the object with its name, found {_short(obj)}")
            said = f"passes with {_labels(obj)}"
        else:
            raise TypeError(f"{who}: expected an object and None, or None and a name, found {_short(found)}")
        return f"{said}, {self._time(who, ms)}, {self._asked()}"

    def validate(self, *words):
        found = self.ask("validate", self.told(), self.request(*words), self.call)
        if not isinstance(found, (list, tuple)) or len(found) != 2:
            raise TypeError(f"validate: expected (refused_by, ms), found {_short(found)}")
        refused_by, ms = found
        said = "passes" if refused_by is None else f"refused by {self._name('validate', refused_by)}"
        return f"{said}, {self._time('validate', ms)}, {self._asked()}"

    @staticmethod
    def _name(who, found):
        if type(found) is not str:
            raise TypeError(f"{who}: expected the name of who refused, found {_short(found)}")
        return found

    @staticmethod
    def _time(who, found):
        if type(found) is not int:
            raise TypeError(f"{who}: expected whole milliseconds, found {_short(found)}")
        return f"{found} ms"

    def _asked(self):
        return f"asked {' '.join(self.shown) or 'nobody'}"


def drive(names, setting):
    player = Player(names)

    def do(verb, *words):
        try:
            return getattr(player, verb)(*words)
        except Changed as changed:
            return f"wrong: {changed}"

    return do
