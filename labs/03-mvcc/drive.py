"""Plays operations on a learner's `Mvcc`. Runs in the child, next to the learner's code; does not know what is right.

A record is written `a=x @3 c2 v2` (the value x, written at 3, created at 2, version 2), a tombstone `a gone @4`. A
refusal with a text of etcd's is an answer too.
"""

REFUSAL = "etcdserver: "


def _short(found):
    return repr(found)[:60] if isinstance(found, (tuple, str, int, list, type(None))) else f"a {type(found).__name__}"


def _number(found, what):
    if type(found) is not int:
        raise TypeError(f"{what}: expected a number, found {_short(found)}")
    return found


def _list(found, what):
    if type(found) is not list:
        raise TypeError(f"{what}: expected a list, found {_short(found)}")
    return found


def _record(found, what):
    is_record = isinstance(found, tuple) and [type(part) for part in found] == [str, str, int, int, int]
    if not is_record:
        raise TypeError(f"{what}: expected a KeyValue, found {_short(found)}")
    key, value, created, modified, version = found
    if (value, created, version) == ("", 0, 0):
        return f"{key} gone @{modified}"
    return f"{key}={value} @{modified} c{created} v{version}"


def _records(found, what):
    return ", ".join(_record(one, what) for one in _list(found, what)) or "nothing"


class Player:
    """One store, and the words of a script."""

    def __init__(self, names):
        self.store = names["Mvcc"]()

    def revision(self):
        return f"at {_number(self.store.revision, 'revision')}"

    def put(self, key, value):
        said, there = f"at {_number(self.store.put(key, value), 'put')}", self.revision()
        return there if said == there else f"{said}, and revision says {there}"

    def delete(self, key, end=""):
        return f"{_number(self.store.delete(key, end), 'delete')} deleted, {self.revision()}"

    def get(self, key, end=""):
        return _records(self.store.range(key, end), "range")

    def get_at(self, revision, key, end=""):
        return _records(self.store.range(key, end, int(revision)), "range")

    def compact(self, revision):
        self.store.compact(int(revision))
        return f"done, {self.revision()}"

    def lives(self, key):
        found = [_list(one, "generations") for one in _list(self.store.generations(key), "generations")]
        return " ".join("{" + " ".join(str(_number(n, "generations")) for n in one) + "}" for one in found) or "nothing"

    def records(self):
        return _records(self.store.records(), "records")


def drive(names, setting):
    player = Player(names)

    def do(verb, *words):
        try:
            return getattr(player, verb.replace("-", "_"))(*words)
        except ValueError as error:
            if str(error).startswith(REFUSAL):
                return str(error)
            raise

    return do
