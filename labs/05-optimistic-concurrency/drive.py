"""Plays operations on a learner's functions. Runs in the child, next to the learner's code; knows nothing of what is
right.

A client is a coroutine. It runs until it awaits something; there it stands, and others may act. `go client-1` carries
out what client-1 waits for and lets it run on. The answer tells what happened, and what it waits for next. A verb that
does not fit (a client that is not running, or that waits for something else) does nothing.
"""

from types import CoroutineType

from k8slab.api.errors import (
    AlreadyExistsError,
    ConflictError,
    NotFoundError,
    StatusError,
    TimeoutStatusError,
)

VALUES = {"none": None, "false": False}


class CancelledError(BaseException):
    """Whoever started the work wants it no more. Like asyncio's, it is no `Exception`."""


FAULTS = {
    "timeout": lambda: TimeoutStatusError("the server did not answer in time"),
    "gone": lambda: NotFoundError.of("configmaps", "web"),
    "exists": lambda: AlreadyExistsError.of("configmaps", "web"),
    "cancel": CancelledError,
}


def conflict():
    return ConflictError.of("configmaps", "web", "the object has been modified")


class Call:
    """Something to await. `act(how, *words)` carries it out: (what to tell, the answer, what to raise); None: it does
    not know how."""

    def __init__(self, what, act):
        self.what, self.act, self.is_awaited = what, act, False
        self.code = {"get": "get(...)", "try": "attempt()"}.get(what, f"{what.split()[0]}(...)")

    def __await__(self):
        self.is_awaited = True
        return (yield self)

    def used(self, *_):
        """What comes of using it as if it were the answer."""
        raise TypeError(f"{self.code}: an await is missing before it")

    __iter__ = __getitem__ = __setitem__ = __delitem__ = __contains__ = __len__ = __getattr__ = __call__ = used
    __bool__ = __int__ = __index__ = __eq__ = __lt__ = __le__ = __gt__ = __ge__ = used
    __add__ = __radd__ = __sub__ = __rsub__ = __or__ = __ror__ = __enter__ = __exit__ = used
    __hash__ = object.__hash__


def shown(value):
    """A value as one word; an object as its fields."""
    if value is None or value is False:
        return "none" if value is None else "false"
    if type(value) is int:
        return str(value)
    if type(value) is dict and type(value.get("data")) is dict:
        return fields(value["data"])
    return f"a-{type(value).__name__}"


def fields(data):
    return " ".join(f"{key}={word}" for key, word in data.items())


class Client:
    """One run of one of the learner's functions."""

    def __init__(self):
        self.told, self.made = [], []
        self.waits = self.coroutine = None

    def call(self, what, act):
        call = Call(what, act)
        self.made.append(call)
        return call

    def sleep(self, ms):
        def act(how, *_):
            if how == "go":
                return f"slept {ms} ms", None, None
            return ("sleep cancel", None, CancelledError()) if how == "cancel" else None

        if type(ms) not in (int, float):
            raise TypeError(f"sleep: expected milliseconds, found {type(ms).__name__}")
        return self.call(f"sleep {ms} ms", act)

    def start(self, function, *arguments, **options):
        self.coroutine = function(*arguments, **options)
        if type(self.coroutine) is not CoroutineType:
            kind = type(self.coroutine).__name__
            raise TypeError(f"calling it gave {kind}, expected something to await: is it an async def?")
        return self.run()

    def go(self, how, *words):
        done = self.waits.act(how, *words)
        if done is None:
            return None
        text, answer, error = done
        self.told.append(text)
        return self.run(answer, error)

    def run(self, answer=None, error=None):
        """Until it waits or ends."""
        self.waits = None
        try:
            waits = self.coroutine.send(answer) if error is None else self.coroutine.throw(error)
        except StopIteration as end:
            self.check_awaits(end.value)
            self.told.append(f"returned {shown(end.value)}")
        except RuntimeError as raised:
            if "no running event loop" in str(raised):
                raised.args = (f"{raised}, nor any in a lab: await the sleep that you were given",)
            raise
        except (StatusError, CancelledError) as raised:
            self.told.append(f"raised {type(raised).__name__}")
        else:
            if type(waits) is not Call:
                raise TypeError("it awaits something that is not of this lab: await what you were given")
            self.waits = waits
            self.told.append(f"next: {waits.what}")
        told, self.told = self.told, []
        return "; ".join(told)

    def check_awaits(self, result):
        """Of a run that ended: what it called and returned should not be waiting still."""
        if type(result) is CoroutineType:
            result.close()
            raise TypeError("it returned a coroutine, which nobody ran: an await is missing")
        for call in self.made:
            if not call.is_awaited:
                raise TypeError(f"{call.code}: it was called and never awaited, so it did nothing")


# -- three worlds ----------------------------------------------------------------------------------


class Store:
    """One key and its number. `start client-1 add 2`, `start client-1 least 8`; `rival 10` adds 10 in one go."""

    def __init__(self, function):
        self.function, self.value, self.revision = function, 5, 1

    def start(self, client, kind, number):
        def change(value):
            new = value + int(number) if kind == "add" else max(value, int(number))
            client.told.append(f"change {value} gives {new}")
            return new

        return client.start(self.function, _Handle(client, get=self.get, put=self.put), "count", change)

    def get(self, client, key):
        def act(how, *_):
            if how == "go":
                return f"get {self.value} @{self.revision}", (self.value, self.revision), None
            how = "timeout" if how == "lose" else how
            return (f"get {how}", None, FAULTS[how]()) if how in FAULTS else None

        _expect(key, str, "key")
        return client.call("get", act)

    def put(self, client, key, value, revision):
        def act(how, *_):
            text = f"put {value} @{revision}"
            if how == "lose":
                how = "lost" if self.write(value, revision) else "timeout"
                return f"{text} {how}", None, FAULTS["timeout"]()
            if how == "go":
                is_written = self.write(value, revision)
                return f"{text} {'ok' if is_written else 'conflict'}", None, None if is_written else conflict()
            return (f"{text} {how}", None, FAULTS[how]()) if how in FAULTS else None

        for what, found, kind in (("key", key, str), ("value", value, int), ("revision", revision, int)):
            _expect(found, kind, what)
        return client.call("put", act)

    def write(self, value, revision):
        if revision != self.revision:
            return False
        self.value, self.revision = value, self.revision + 1
        return True

    def rival(self, number):
        self.write(self.value + int(number), self.revision)
        return f"now {self.value} @{self.revision}"


class Tries:
    """Nothing but attempts, which end as the script says: `conflict client-1`, `ok client-1 7`."""

    def __init__(self, function):
        self.function = function

    def start(self, client, *numbers):
        def act(how, word="none"):
            if how == "ok":
                return f"try ok {word}", VALUES.get(word, word) if word in VALUES else int(word), None
            if how == "conflict":
                return "try conflict", None, conflict()
            return (f"try {how}", None, FAULTS[how]()) if how in FAULTS else None

        options = dict(zip(("steps", "delay_ms"), map(int, numbers), strict=False))
        return client.start(self.function, lambda: client.call("try", act), client.sleep, **options)


class Api:
    """One ConfigMap. `start client-1 a 1`; `rival b 7` sets b in one go."""

    def __init__(self, function):
        self.function, self.data, self.revision = function, {"a": "0", "b": "0", "c": "0"}, 1

    def start(self, client, field, value):
        handle = _Handle(client, get=self.get, update=self.update)
        return client.start(self.function, handle, client.sleep, "web", field, value)

    def now(self):
        return {"metadata": {"name": "web", "resourceVersion": str(self.revision)}, "data": dict(self.data)}

    def get(self, client, name):
        def act(how, *_):
            if how == "go":
                return f"get {fields(self.data)} @{self.revision}", self.now(), None
            how = "timeout" if how == "lose" else how
            return (f"get {how}", None, FAULTS[how]()) if how in FAULTS else None

        _expect(name, str, "name")
        return client.call("get", act)

    def update(self, client, obj):
        def act(how, *_):
            text = f"update {fields(data)} @{version or 'any'}"
            if how == "lose":
                how = "lost" if self.write(data, version) else "timeout"
                return f"{text} {how}", None, FAULTS["timeout"]()
            if how == "go":
                if self.write(data, version):
                    return f"{text} ok", self.now(), None
                return f"{text} conflict", None, conflict()
            return (f"{text} {how}", None, FAULTS[how]()) if how in FAULTS else None

        _expect(obj, dict, "object")
        _expect(obj.get("metadata"), dict, "metadata")
        _expect(obj.get("data"), dict, "data")
        version = obj["metadata"].get("resourceVersion") or ""
        _expect(version, str, "resourceVersion")
        for field, value in obj["data"].items():
            _expect(field, str, "field")
            _expect(value, str, field)
        data = dict(obj["data"])
        return client.call("update", act)

    def write(self, data, version):
        """As for ConfigMaps: without a resourceVersion the update is unconditional."""
        if version and version != str(self.revision):
            return False
        self.data, self.revision = dict(data), self.revision + 1
        return True

    def rival(self, field, value):
        self.write({**self.data, field: value}, "")
        return f"now {fields(self.data)} @{self.revision}"


class _Handle:
    """What a client gets of a world: its calls, made in the client's name."""

    def __init__(self, client, **calls):
        for name, call in calls.items():
            setattr(self, name, lambda *words, call=call: call(client, *words))


def _expect(value, kind, what):
    if type(value) is Call:
        value.used()
    if type(value) is not kind:
        raise TypeError(f"{what}: expected {kind.__name__}, found {type(value).__name__}")


WORLDS = {"store": (Store, "guaranteed_update"), "tries": (Tries, "retry_on_conflict"), "api": (Api, "set_field")}


def drive(names, setting):
    world_of, function = WORLDS[setting]
    world = world_of(names[function])
    clients = {}

    def do(verb, *words):
        if verb == "rival":
            return world.rival(*words)
        name, *rest = words
        running = name in clients and clients[name].waits is not None
        if verb != "start":
            return clients[name].go(verb, *rest) if running else None
        if running:
            return None
        clients[name] = Client()
        return world.start(clients[name], *rest)

    return do
