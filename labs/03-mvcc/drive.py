"""Plays operations on a learner's `Mvcc`. Runs in the child, next to the learner's code; does not know what is right.

A record is written `a=x @3 c2 v2` (the value x, written at 3, created at 2, version 2), a tombstone `a gone @4`. A
refusal with a text of etcd's is an answer too. So is any error, `KeyError: 2`, at a revision before the one that the
store has compacted or after the one that it says is the newest; elsewhere that is a mistake, and told with its line.
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
        self.compacted = 0

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
        try:
            found = self.store.range(key, end, int(revision))
        except Exception as error:
            return self._error(error, int(revision), self.compacted)
        return _records(found, "range")

    def compact(self, revision):
        try:
            self.store.compact(int(revision))
        except Exception as error:
            return self._error(error, int(revision), self.compacted + 1)
        self.compacted = max(self.compacted, int(revision))
        return f"done, {self.revision()}"

    def lives(self, key):
        found = [_list(one, "generations") for one in _list(self.store.generations(key), "generations")]
        return " ".join("{" + " ".join(str(_number(n, "generations")) for n in one) + "}" for one in found) or "nothing"

    def records(self):
        return _records(self.store.records(), "records")

    def _error(self, error, revision, first):
        """An error in words. Raised again, if it is not one of etcd's, from the first good revision to the newest."""
        is_etcds = isinstance(error, ValueError) and str(error).startswith(REFUSAL)
        is_for_the_kit = isinstance(error, (NotImplementedError, MemoryError))
        if is_for_the_kit or (not is_etcds and first <= revision <= _number(self.store.revision, "revision")):
            raise error
        return str(error) if is_etcds else f"{type(error).__name__}: {' '.join(str(error).split())}"


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
