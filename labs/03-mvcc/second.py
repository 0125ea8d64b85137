"""Another correct solution, built otherwise: one list of records and no index; every read walks through the list."""

from typing import NamedTuple


class KeyValue(NamedTuple):
    key: str
    value: str
    create_revision: int
    mod_revision: int
    version: int


class Mvcc:
    def __init__(self):
        self._records = []
        self._newest = 1
        self._oldest_readable = 0

    @property
    def revision(self):
        return self._newest

    def _state(self, at):
        """key -> its record, of all keys that were there at this revision."""
        state = {}
        for record in self._records:
            if record.mod_revision > at:
                break
            if record.version:
                state[record.key] = record
            else:
                state.pop(record.key, None)
        return state

    def put(self, key, value):
        before = self._state(self._newest).get(key)
        self._newest += 1
        if before:
            record = before._replace(value=value, mod_revision=self._newest, version=before.version + 1)
        else:
            record = KeyValue(key, value, self._newest, self._newest, 1)
        self._records.append(record)
        return self._newest

    def delete(self, key, end=""):
        doomed = [record.key for record in self.range(key, end)]
        if doomed:
            self._newest += 1
            self._records += [KeyValue(name, "", 0, self._newest, 0) for name in doomed]
        return len(doomed)

    def range(self, key, end="", revision=0):
        if revision > self._newest:
            raise ValueError("etcdserver: mvcc: required revision is a future revision")
        if revision and revision < self._oldest_readable:
            raise ValueError("etcdserver: mvcc: required revision has been compacted")
        state = self._state(revision or self._newest)
        wanted = [name for name in state if (key <= name < end if end else name == key)]
        return [state[name] for name in sorted(wanted)]

    def compact(self, revision):
        if revision > self._newest:
            raise ValueError("etcdserver: mvcc: required revision is a future revision")
        if revision <= self._oldest_readable:
            raise ValueError("etcdserver: mvcc: required revision has been compacted")
        living = set(self._state(revision).values())
        self._records = [one for one in self._records if one.mod_revision >= revision or one in living]
        self._oldest_readable = revision

    def generations(self, key):
        lives, is_over = [], True
        for record in self._records:
            if record.key == key:
                if is_over:
                    lives.append([])
                lives[-1].append(record.mod_revision)
                is_over = not record.version
        return lives

    def records(self):
        return list(self._records)
