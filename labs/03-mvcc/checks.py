"""Lab 03: the properties of a multi-version store, judged over what it answered, beside a plain list of all changes.

Upstream: etcd server/storage/mvcc/{key_index,index,kvstore,kvstore_txn}.go, api/v3rpc/rpctypes/error.go
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from k8slab.lab import Broken, Check, LabSpec, Op, Step

Judge: TypeAlias = Callable[[Sequence[Step]], Broken | None]

COMPACTED = "etcdserver: mvcc: required revision has been compacted"
FUTURE = "etcdserver: mvcc: required revision is a future revision"
REFUSAL = "etcdserver: "
OTHER_ERROR = re.compile(r"[^\W\d]\w*: ")
"""How an answer begins that is an error, and none of etcd's."""
KEYS, VALUES = ("a", "aa", "ab", "b", "c"), ("x", "y", "z")


class Record(NamedTuple):
    """A key as one change left it; a tombstone has version 0. `puts`: how many puts of the key before and with it."""

    key: str
    value: str
    created: int
    at: int
    version: int
    puts: int = 0

    def __str__(self) -> str:
        if not self.version:
            return f"{self.key} gone @{self.at}"
        return f"{self.key}={self.value} @{self.at} c{self.created} v{self.version}"


def _shown(records: Sequence[Record]) -> str:
    return ", ".join(map(str, records)) or "nothing"


_RECORD = re.compile(r"(\S*)=(\S*) @(-?\d+) c(-?\d+) v(-?\d+)")
_TOMBSTONE = re.compile(r"(\S*) gone @(-?\d+)")


def _parsed(answer: str) -> list[Record]:
    """`a=x @3 c2 v2, b gone @4`; ValueError for anything else."""
    found = []
    for text in answer.split(", ") if answer != "nothing" else ():
        if tombstone := _TOMBSTONE.fullmatch(text):
            found.append(Record(tombstone[1], "", 0, int(tombstone[2]), 0))
        elif record := _RECORD.fullmatch(text):
            key, value, at, created, version = record.groups()
            found.append(Record(key, value, int(created), int(at), int(version)))
        else:
            raise ValueError(f"{text!r} is no record")
    return found


# -- what is right: all changes in one list --------------------------------------------------------


class Changes:
    """The naive twin: it keeps every change for ever, and walks through all of them for each question."""

    def __init__(self) -> None:
        self.revision, self.compacted = 1, 0
        self.all: list[Record] = []

    def of(self, key: str) -> list[Record]:
        """All changes of a key."""
        return [one for one in self.all if one.key == key]

    def last(self, key: str, at: int) -> Record | None:
        """The newest change of a key at a revision, maybe a tombstone."""
        return next((one for one in reversed(self.of(key)) if one.at <= at), None)

    def living(self, at: int) -> list[Record]:
        """What was there at a revision, in the order of the keys."""
        found = [self.last(key, at) for key in sorted({one.key for one in self.all})]
        return [one for one in found if one is not None and one.version]

    def read(self, op: Op) -> list[Record]:
        """`get a`, `get a c`, `get-at 3 a c`"""
        at, keys = (int(op[1]), op[2:]) if op[0] == "get-at" else (self.revision, op[1:])
        return [one for one in self.living(at) if _is_in(one.key, keys)]

    def put(self, key: str, value: str) -> None:
        self.revision += 1
        before, puts = self.last(key, self.revision), 1 + sum(one.version > 0 for one in self.of(key))
        if before is None or not before.version:
            self.all.append(Record(key, value, self.revision, self.revision, 1, puts))
        else:
            self.all.append(Record(key, value, before.created, self.revision, before.version + 1, puts))

    def delete(self, keys: Sequence[str]) -> int:
        doomed = [one.key for one in self.living(self.revision) if _is_in(one.key, keys)]
        self.revision += bool(doomed)
        self.all += [Record(key, "", 0, self.revision, 0) for key in doomed]
        return len(doomed)

    def refusal(self, op: Op) -> str:
        """The error that an operation must end with; "" if none."""
        if op[0] not in ("get-at", "compact"):
            return ""
        revision = int(op[1])
        if revision > self.revision:
            return FUTURE
        too_old = revision <= self.compacted if op[0] == "compact" else revision < self.compacted
        return COMPACTED if too_old else ""

    def kept(self) -> list[Record]:
        """What compaction leaves: every change since, and what was there just then."""
        seen = self.living(self.compacted)
        return [one for one in self.all if one.at >= self.compacted or one in seen]

    def lives(self, key: str) -> list[list[Record]]:
        """What is kept of a key, cut behind each tombstone."""
        found: list[list[Record]] = []
        for one in self.kept():
            if one.key == key:
                if not found or not found[-1][-1].version:
                    found.append([])
                found[-1].append(one)
        return found


def _is_in(key: str, keys: Sequence[str]) -> bool:
    return keys[0] <= key < keys[1] if len(keys) > 1 else key == keys[0]


def _lives(lives: Sequence[Sequence[Record]]) -> str:
    return " ".join("{" + " ".join(str(one.at) for one in life) + "}" for life in lives) or "nothing"


# -- what is wrong ---------------------------------------------------------------------------------


def _faults(steps: Sequence[Step]) -> Iterator[Broken]:
    """All that is wrong, step by step."""
    changes = Changes()
    for step in steps:
        refusal = changes.refusal(step.op)
        if refusal or step.result.startswith(REFUSAL) or OTHER_ERROR.match(step.result):
            fault = _refused(step, refusal, changes)
        elif step.verb in ("get", "get-at"):
            fault = next(_read(step, changes), None)
        else:
            fault = _OTHERS[step.verb](step, changes)
        if fault is not None:
            cause, why = fault
            yield Broken(step.number, why, cause)


Fault: TypeAlias = tuple[str, str]
"""A cause, and why."""


def _refused(step: Step, refusal: str, changes: Changes) -> Fault | None:
    asked, found = " ".join(step.op), step.result
    if found == refusal:
        return None
    where = f"the store is at {changes.revision}, compacted at {changes.compacted or 'no revision'}"
    if not refusal:
        if step.verb == "compact":  # so that what follows is judged as if it had been done
            changes.compacted = int(step.op[1])
        return "refuses", f"{where}, {asked!r} can be answered, and it says: {found}"
    if found.startswith(REFUSAL):
        return "other-text", f"{where}: expected {refusal!r} for {asked!r}, found {found!r}"
    if OTHER_ERROR.match(found):
        return "other-error", f"{where}: expected ValueError({refusal!r}) for {asked!r}, found {found}"
    kind = "future" if refusal == FUTURE else "compacted"
    return f"answers-the-{kind}", f"{where}; {asked!r} has no answer but an error, and it says: {found}"


def _put(step: Step, changes: Changes) -> Fault | None:
    before = changes.revision
    changes.put(step.op[1], step.op[2])
    if step.result == f"at {changes.revision}":
        return None
    why = f"the store was at {before}; the put makes revision {changes.revision}, and it says: {step.result}"
    return "other-revision", why


def _delete(step: Step, changes: Changes) -> Fault | None:
    before = changes.revision
    count = changes.delete(step.op[1:])
    told, at = step.result.split(" deleted, at ")
    if step.result == f"{count} deleted, at {changes.revision}":
        return None
    why = f"the store was at {before}, {count} keys were there: expected '{count} deleted, at {changes.revision}', "
    why += f"found {step.result!r}"
    if int(told) != count:
        return "other-count", why
    if not count:
        return "revision-for-nothing", why
    return ("revision-for-each-key" if int(at) == before + count else "other-revision"), why


def _compact(step: Step, changes: Changes) -> Fault | None:
    changes.compacted = int(step.op[1])
    if step.result == f"done, at {changes.revision}":
        return None
    return "other-revision", f"compaction writes nothing: the store is at {changes.revision}, it says: {step.result}"


def _revision(step: Step, changes: Changes) -> Fault | None:
    if step.result == f"at {changes.revision}":
        return None
    return "other-revision", f"the store is at {changes.revision}, and revision says: {step.result}"


def _generations(step: Step, changes: Changes) -> Fault | None:
    right = _lives(changes.lives(step.op[1]))
    if step.result == right:
        return None
    flat, expected = (re.sub("[{} ]+", " ", text) for text in (step.result, right))
    if flat == expected:
        cause = "lives-run-together" if step.result.count("{") < right.count("{") else "lives-cut-up"
    else:
        cause = "lives-after-compaction" if changes.compacted else "other-lives"
    return cause, f"the lives of {step.op[1]} are {right}, and generations says {step.result}"


def _records(step: Step, changes: Changes) -> Fault | None:
    right, found = changes.kept(), _parsed(step.result)
    if step.result == _shown(right):
        return None
    where = f"compacted at {changes.compacted}" if changes.compacted else "never compacted"
    why = f"{where}: expected the records {_shown(right)}; found {step.result}"
    by_place, expected = {_place(one): one for one in found}, {_place(one) for one in right}
    for one in right:
        if _place(one) not in by_place:
            return _not_kept(one, changes), f"{where}, and the record {one} is not kept"
    for one in found:
        if _place(one) not in expected:
            return _kept(one, changes), f"{where}, and the record {one} is still kept"
    for one in right:
        for cause, what in _other_numbers(one, by_place[_place(one)], changes):
            return cause, f"records: {what}: expected {one}, found {_with_numbers(by_place[_place(one)])}"
    return "records-order", why


def _with_numbers(record: Record) -> str:
    """As `drive.py` writes it: a tombstone with numbers is not shown as one without."""
    if (record.value, record.created, record.version) == ("", 0, 0):
        return str(record)
    return f"{record.key}={record.value} @{record.at} c{record.created} v{record.version}"


def _place(record: Record) -> tuple[str, int]:
    """What no other record has."""
    return record.key, record.at


def _other_numbers(right: Record, found: Record, changes: Changes) -> Iterator[Fault]:
    """(cause, what) for a record that is kept, and is another one than it should be."""
    if right.version:
        yield from _differences(right, found, changes.revision, changes)
    elif (found.value, found.created, found.version) != ("", 0, 0):
        yield "tombstone-has-numbers", "a tombstone has no value, create_revision 0 and version 0"


def _not_kept(record: Record, changes: Changes) -> str:
    if not changes.compacted:
        return "record-missing"
    if record.at < changes.compacted:
        return "drops-the-live-revision"
    return "drops-a-change" if record.version else "loses-a-deletion"


def _kept(record: Record, changes: Changes) -> str:
    if not changes.compacted or record.at >= changes.compacted:
        return "record-invented"
    return "keeps-old-revisions" if record.version else "keeps-old-tombstones"


_OTHERS: dict[str, Callable[[Step, Changes], Fault | None]] = {
    "put": _put,
    "delete": _delete,
    "compact": _compact,
    "revision": _revision,
    "lives": _generations,
    "records": _records,
}


# -- reads -----------------------------------------------------------------------------------------


def _read(step: Step, changes: Changes) -> Iterator[Fault]:
    right, found = changes.read(step.op), _parsed(step.result)
    if step.result == _shown(right):
        return
    at = int(step.op[1]) if step.verb == "get-at" else changes.revision
    when = f"at revision {at}" + (f" (compacted at {changes.compacted})" if changes.compacted else "")
    keys = step.op[2:] if step.verb == "get-at" else step.op[1:]
    by_key = {one.key: one for one in found}
    for one in found:
        if not _is_in(one.key, keys):
            yield "outside", f"asked for {' up to '.join(keys)}, and it returned {one}"
    for one in right:
        if one.key not in by_key:
            yield _missing(one, at, changes), f"{when} there is {one}, and it returned {step.result}"
        else:
            for cause, what in _differences(one, by_key[one.key], at, changes):
                yield cause, f"{when}: {what}: expected {one}, found {by_key[one.key]}"
    for one in found:
        if all(one.key != other.key for other in right) and _is_in(one.key, keys):
            yield _extra(one.key, at, changes), f"{_why_not_there(one.key, at, changes)}, and it returned {one}"
    yield "order", f"{when} expected {_shown(right)}, found {step.result}"


def _missing(record: Record, at: int, changes: Changes) -> str:
    if changes.compacted and record.at <= changes.compacted:
        return "drops-the-live-revision"
    return "lost" if at == changes.revision else "past-lost"


def _differences(right: Record, found: Record, at: int, changes: Changes) -> Iterator[Fault]:
    """(cause, what) for the record of a key that is another one than it should be."""
    if found.at > at:
        yield "from-the-future", f"{found.key} was written at {found.at}, after the revision that was asked for"
    elif found.at != right.at:
        known = any(one.at == found.at for one in changes.of(right.key))
        yield ("stale" if known else "other-mod"), "mod_revision is the revision of the newest write up to there"
    elif found.value != right.value:
        yield "other-value", "that write had another value"
    elif found.created != right.created:
        known = any(one.at == found.created for one in changes.of(right.key))
        old = known and found.created < right.created
        yield ("old-create" if old else "other-create"), "create_revision is the put that began this life"
    elif found.version != right.version:
        yield _other_version(right, found, changes), "version counts the puts of this life up to there"


def _other_version(right: Record, found: Record, changes: Changes) -> str:
    newest = changes.last(right.key, changes.revision)
    if found.version == right.puts:
        return "reuses-version"
    if newest is not None and newest.at > right.at and found.version == newest.version:
        return "version-of-now"
    return "counts-anew" if changes.compacted and found.version < right.version else "other-version"


def _extra(key: str, at: int, changes: Changes) -> str:
    last = changes.last(key, at)
    if last is None:
        return "from-the-future" if changes.of(key) else "invented"
    return "tombstone-visible" if at == changes.revision else "tombstone-visible-in-the-past"


def _why_not_there(key: str, at: int, changes: Changes) -> str:
    last = changes.last(key, at)
    if last is None:
        return f"at revision {at} nobody had put {key}"
    return f"{key} was deleted at {last.at} and is not there at revision {at}"


ALIVE = ("lost", "other-value", "refuses", "other-revision", "other-count")
"""Wrong in any store that does nothing."""


def store_with(*causes: str) -> Judge:
    """The judge for these causes, and for those of a store that does nothing."""
    wanted = {*ALIVE, *causes}

    def judge(steps: Sequence[Step]) -> Broken | None:
        return next((broken for broken in _faults(steps) if broken.cause in wanted), None)

    return judge


def store_state(steps: Sequence[Step]) -> Mapping[str, str]:
    """What a store should hold after these operations, and what was told last of its revision."""
    changes = Changes()
    for step in steps:
        if not changes.refusal(step.op) and step.verb in ("put", "delete", "compact"):
            _OTHERS[step.verb](step, changes)
    told = next((one.result for one in reversed(steps) if one.verb in ("put", "delete", "compact", "revision")), "")
    return {
        "revision": str(changes.revision),
        "compacted": str(changes.compacted or "never"),
        "living": _shown(changes.living(changes.revision)),
        "last told": told or "nothing",
    }


# -- scripts ---------------------------------------------------------------------------------------


def _interval(rng: random.Random) -> tuple[str, str]:
    """Two of the keys or letters around them, the smaller first."""
    first, second = sorted(rng.sample([*KEYS, "d"], 2))
    return first, second


def _keys(rng: random.Random) -> tuple[str, ...]:
    return _interval(rng) if rng.random() < 0.4 else (rng.choice(KEYS),)


class Writer:
    """Makes scripts, and knows roughly at which revision the store is."""

    def __init__(self, rng: random.Random, keys: Sequence[str] = KEYS) -> None:
        self.rng, self.keys = rng, keys
        self.ops: list[Op] = []
        self.changes = Changes()

    def put(self, key: str = "") -> None:
        key = key or self.rng.choice(self.keys)
        self.changes.put(key, "x")
        self.ops.append(("put", key, f"{self.rng.choice(VALUES)}{self.changes.revision}"))

    def delete(self, *keys: str) -> None:
        keys = keys or (self.rng.choice(self.keys),)
        self.changes.delete(keys)
        self.ops.append(("delete", *keys))

    def delete_living(self) -> None:
        """A key that is there; if there is none, one is put."""
        living = self.changes.living(self.changes.revision)
        if living:
            self.delete(self.rng.choice(living).key)
        else:
            self.put()

    def compact(self) -> None:
        if self.changes.compacted < self.changes.revision:
            first, last = self.changes.compacted + 1, self.changes.revision
            self.changes.compacted = max(self.rng.randint(first, last) for _ in range(2))
            self.ops.append(("compact", str(self.changes.compacted)))

    def compact_near_a_delete(self) -> None:
        """At the revision of a delete, one before it or one behind it."""
        deleted = [one.at for one in self.changes.all if not one.version and one.at > self.changes.compacted]
        if deleted:
            wanted = self.rng.choice(deleted) + self.rng.choice((-1, 0, 0, 1))
            self.changes.compacted = min(max(wanted, self.changes.compacted + 1), self.changes.revision)
            self.ops.append(("compact", str(self.changes.compacted)))
        else:
            self.compact()

    def get(self) -> None:
        self.ops.append(("get", *_keys(self.rng)))

    def get_at(self) -> None:
        first = max(1, self.changes.compacted)
        self.ops.append(("get-at", str(self.rng.randint(first, self.changes.revision)), *_keys(self.rng)))

    def say(self, *words: str) -> None:
        self.ops.append(words)


def written(rng: random.Random) -> list[Op]:
    """Puts alone, and reads of keys that are there and of those that are not."""
    writer = Writer(rng)
    for _ in range(rng.randint(5, 10)):
        writer.put()
        if rng.random() < 0.6:
            writer.say("get", rng.choice((*KEYS, "d")))
    writer.say("revision")
    return writer.ops


def intervals(rng: random.Random) -> list[Op]:
    writer = Writer(rng)
    for key in rng.sample(KEYS, len(KEYS)):
        writer.put(key)
    for _ in range(6):
        writer.say("get", *_interval(rng))
        if rng.random() < 0.3:
            writer.put()
    return writer.ops


def lives(rng: random.Random) -> list[Op]:
    """Few keys, which come and go, and are looked at."""
    writer = Writer(rng, KEYS[:2])
    for _ in range(rng.randint(8, 16)):
        rng.choice((writer.put, writer.put, writer.delete_living, writer.get))()
        writer.say("get", rng.choice(writer.keys))
    return writer.ops


def other_lives(rng: random.Random) -> list[Op]:
    """The same; some are deleted by an interval, one at a time: how many revisions more would be, others ask."""
    writer = Writer(rng, KEYS[:2])
    for _ in range(rng.randint(8, 16)):
        rng.choice((writer.put, writer.put, writer.delete_living, writer.get))()
        if rng.random() < 0.2:
            writer.delete(*rng.choice((("a", "aa"), ("aa", "b"))))
        writer.say("get", rng.choice(writer.keys))
    return writer.ops


def deleted(rng: random.Random) -> list[Op]:
    """Deletes of one key, of several, of none."""
    writer = Writer(rng)
    for _ in range(rng.randint(6, 12)):
        if rng.random() < 0.6:
            writer.put()
        else:
            writer.delete(*_keys(rng))
            writer.say("get", *rng.choice((("a", "d"), (rng.choice(KEYS),))))
    return [*writer.ops, ("revision",)]


def _at_all(writer: Writer) -> None:
    """Read everything at every revision that can be read."""
    for revision in range(max(1, writer.changes.compacted), writer.changes.revision + 1):
        writer.say("get-at", str(revision), "a", "d")


def past(rng: random.Random) -> list[Op]:
    writer = Writer(rng, KEYS[:3])
    for _ in range(rng.randint(6, 12)):
        rng.choice((writer.put, writer.put, writer.put, writer.delete_living, writer.get_at))()
    _at_all(writer)
    return writer.ops


def generations(rng: random.Random) -> list[Op]:
    writer = Writer(rng, KEYS[:2])
    for _ in range(rng.randint(6, 12)):
        rng.choice((writer.put, writer.put, writer.delete_living))()
        writer.say("lives", rng.choice(writer.keys))
    return [*writer.ops, ("get", "a", "d")]


def beyond(rng: random.Random) -> list[Op]:
    """Revisions around the newest."""
    writer = Writer(rng)
    for _ in range(rng.randint(4, 8)):
        rng.choice((writer.put, writer.put, writer.delete_living))()
        revision = str(max(1, writer.changes.revision + rng.choice((-1, 0, 1, 1, 2, 7))))
        writer.say("get-at", revision, *_keys(rng))
        if int(revision) > writer.changes.revision:
            writer.say("compact", revision)
        writer.get()
    return writer.ops


def before(rng: random.Random) -> list[Op]:
    """Revisions around the one that was compacted."""
    writer = Writer(rng)
    for _ in range(rng.randint(3, 5)):
        writer.put()
    for _ in range(rng.randint(2, 4)):
        writer.compact()
        for _ in range(3):
            revision = str(max(1, writer.changes.compacted + rng.choice((-2, -1, 0, 0, 1))))
            if rng.random() < 0.6:
                writer.say("get-at", revision, *_keys(rng))
            elif int(revision) <= writer.changes.compacted:
                writer.say("compact", revision)
        rng.choice((writer.put, writer.delete_living))()
        writer.get()
    return writer.ops


def compacted(rng: random.Random) -> list[Op]:
    """History, compaction anywhere in it, and everything read that can be."""
    writer = Writer(rng, KEYS[:3])
    for _ in range(rng.randint(2, 3)):
        for _ in range(rng.randint(3, 8)):
            rng.choice((writer.put, writer.put, writer.delete_living))()
        rng.choice((writer.compact, writer.compact_near_a_delete))()
        _at_all(writer)
    for key in writer.keys:
        writer.put(key)
    return [*writer.ops, ("get", "a", "d")]


def kept(rng: random.Random) -> list[Op]:
    """The same, and what is kept."""
    writer = Writer(rng, KEYS[:3])
    for _ in range(rng.randint(2, 3)):
        for _ in range(rng.randint(3, 8)):
            rng.choice((writer.put, writer.put, writer.delete_living))()
        rng.choice((writer.compact, writer.compact_near_a_delete))()
        writer.say("records")
        writer.say("lives", rng.choice(writer.keys))
        writer.say("get", "a", "d")
    return writer.ops


def everything(rng: random.Random) -> list[Op]:
    writer = Writer(rng)
    for _ in range(rng.randint(20, 35)):
        kind = rng.choice(("put", "put", "put", "delete", "delete", "read", "read", "past", "past", "compact", "kept"))
        if kind == "put":
            writer.put()
        elif kind == "delete":
            rng.choice((writer.delete_living, lambda: writer.delete(*_keys(rng))))()
        elif kind == "read":
            writer.get()
        elif kind == "past":
            writer.get_at()
        elif kind == "compact" and rng.random() < 0.6:
            rng.choice((writer.compact, writer.compact_near_a_delete))()
        else:
            writer.say(*rng.choice((("records",), ("lives", rng.choice(KEYS)), ("revision",))))
    _at_all(writer)
    return writer.ops


# -- hints -----------------------------------------------------------------------------------------

PLAIN = (
    "Write the records below each other, a line for each revision, and put your finger on the line that is asked for."
)
OLD_LIFE = [
    "A delete ended this key's life. What of the old life does the new one take over?",
    "Nothing. The first put after a tombstone is like the first put ever: created now, version 1.",
    "In put: look at the newest record of the key. If there is none, or it is a tombstone, begin anew.",
]
VISIBLE = [
    "The newest record that is not later than the revision asked for is a tombstone. What does a read make of it?",
    "A tombstone is kept as a record, and is the answer 'not there': range leaves the key out.",
    "Do you go on to an older record when you meet a tombstone? Then the key rises from the dead.",
]
LIVE = [
    "The record is older than the compacted revision. Does nobody need it any more?",
    "A read at the compacted revision, and at later ones, still returns it: nothing newer has replaced it by then.",
    "Keep, of each key, the newest record that is not later than the compacted revision, unless it is a tombstone.",
]
HINTS: dict[str, Sequence[str]] = {
    "": [PLAIN],
    "lost": [
        "The put came back, and the key can't be read. Under what did you keep its record, and how do you look for it?",
        "A read without a revision is one at self.revision: the newest record of each key in the interval.",
    ],
    "other-value": ["A record holds the value that this one write gave: make a new record for each write."],
    "stale": [
        "Several records of this key are old enough. Which of them counts?",
        "The one with the largest revision that is not larger than the one asked for.",
    ],
    "invented": ["range returns records that put has made, and nothing else."],
    "refuses": [
        "Which revisions can be read? From the compacted one, itself included, to the newest, itself included.",
        "Compacting at the newest revision is allowed too: it forgets the past and keeps the present.",
    ],
    "other-revision": [
        "An empty store is at revision 1, so the first write makes 2.",
        "One counter for the whole store, not for each key: count it up once for a put, once for a delete that finds "
        "something, and for nothing else.",
    ],
    "outside": [
        "Which keys did you go through? `end` itself is not in the interval, and without it only the key itself is.",
        "A key that begins with the same letters is another key: ab is not a.",
        "name == key, or key <= name < end.",
    ],
    "order": ["Each key once, and in the order of the keys, whenever they were written: sort the names."],
    "other-mod": ["mod_revision is the store's revision at the write that made this record."],
    "other-create": [
        "create_revision is the revision of the put that began this life: all its later records have the same."
    ],
    "other-version": [
        "The first put of a life has version 1, each further one 1 more. Gets and other keys don't count."
    ],
    "reuses-version": OLD_LIFE,
    "old-create": OLD_LIFE,
    "tombstone-visible": VISIBLE,
    "tombstone-visible-in-the-past": [
        "At that revision the key was deleted, and put again only later. Which of its lives did you look into?",
        *VISIBLE[1:],
    ],
    "other-count": ["delete returns how many keys were there, and now are not. A key that is deleted already is none."],
    "revision-for-nothing": [
        "Nothing was there to delete. What has changed?",
        "Look first at what is there (range can tell you), and count the revision up only if that is not empty.",
    ],
    "revision-for-each-key": ["One delete is one change of the store: all its tombstones have the same revision."],
    "past-lost": [
        "That revision is in the past, and the past stays. What did a later write do to the older record?",
        "A write adds a record. Only compaction takes any away.",
    ],
    "from-the-future": [
        "The record was written after the revision that was asked for. Where do you compare?",
        "Of the records of a key, only those with mod_revision <= revision count.",
    ],
    "version-of-now": [
        "At that revision the key had not been written so often yet.",
        "create_revision and version belong to a record, not to the key: store them with it.",
    ],
    "other-lives": [
        "One list for each life, with the revisions of its puts and, if it has ended, of its tombstone.",
        "A get makes no revision, and neither does the delete of a key that is not there.",
    ],
    "lives-run-together": [
        "A life ends with its tombstone: the next put begins a new list.",
        "Also after a compaction: a tombstone that is kept ends its list, if it is all that is left of its life, too.",
    ],
    "lives-cut-up": ["Only a tombstone ends a life. And no list is empty."],
    "lives-after-compaction": [
        "generations tells what is kept: the revisions of exactly those records that records() still returns.",
        "A life of which nothing is kept is no list at all.",
    ],
    "answers-the-future": [
        "That revision does not exist yet. What will be there, nobody knows.",
        "Compare with self.revision first, in range and in compact, and raise ValueError(FUTURE).",
    ],
    "answers-the-compacted": [
        "What was needed for this answer may be gone. A wrong answer is worse than none.",
        "Remember the revision of the last compaction. range: smaller ones are refused. compact: itself, too.",
    ],
    "other-text": ["Two errors, two texts: COMPACTED for what is gone, FUTURE for what is not made yet."],
    "other-error": [
        "This is to be refused, and an error came. Clients see its type and its text: are they those of the docstring?",
        "Look at the revision first, before any record. For what is gone: raise ValueError(COMPACTED). For what is not "
        "made yet: raise ValueError(FUTURE).",
    ],
    "drops-the-live-revision": LIVE,
    "counts-anew": [
        "Compaction took records away. How did you find the version of the next one?",
        "version is in the newest record: add 1 to it. Counting records only works until the first compaction.",
    ],
    "loses-a-deletion": [
        "A watcher may still ask for every change from the compacted revision on. The delete is one of them.",
        "A tombstone from before the compacted revision goes. One at this revision, or after it, stays.",
    ],
    "tombstone-has-numbers": [
        "The record of the delete is kept. What did you write into it?",
        'KeyValue(key, "", 0, revision, 0): only its key and its mod_revision say something.',
    ],
    "drops-a-change": ["Everything from the compacted revision on is kept: this very revision is the first of it."],
    "record-missing": ["records() gives all that is kept, tombstones too; before the first compaction that is all."],
    "record-invented": ["A record for each put, and for each key that a delete found. Compaction makes none."],
    "records-order": ["Oldest first; the tombstones of one delete in the order of their keys."],
    "keeps-old-revisions": [
        "Who could still ask for this record? Only reads before the compacted revision return it.",
        "Of each key, before the compacted revision, one record at most is needed.",
    ],
    "keeps-old-tombstones": [
        "A tombstone says 'not there', and so does having no record. Which reads need it?",
        "Before the compacted revision: none. It goes, and with it all older records of the key.",
    ],
}

DEAD = ("tombstone-visible", "tombstone-visible-in-the-past", "invented")
NUMBERS = ("other-mod", "other-create", "other-version", "stale")


def _check(
    name: str,
    title: str,
    points: int,
    causes: Sequence[str],
    examples: Mapping[str, str],
    generate: Callable[[random.Random], Sequence[Op]],
) -> Check:
    return Check(name, title, points, store_with(*causes), examples, generate, HINTS, state=store_state)


LAB = LabSpec(
    title="A store with a past",
    question="A key was deleted and put again, and its version is 1. Somebody reads at an old revision and gets the "
    "value of its former life. After a compaction the same read is an error. What does the store keep, and until when?",
    names={"Mvcc": "class"},
    forbidden=("k8slab.etcd",),
    minutes=75,
    checks=(
        _check(
            "a-revision-for-a-write",
            "Each put makes the next revision, and can be read",
            1,
            ("stale", "invented"),
            {"three": "revision; put a x; put b y; put a z; revision; get a; get b; get c"},
            written,
        ),
        _check(
            "intervals",
            "An interval holds its first key, not its end, in the order of the keys",
            1,
            ("outside", "order", "invented", "stale"),
            {
                "in order": "put b x; put c y; put a z; get a c; get a d",
                "longer names": "put a x; put ab y; put aa z; get a; get a b; get aa ab",
            },
            intervals,
        ),
        _check(
            "three-numbers",
            "A record says when its key was created, when it was written, and how often",
            1,
            NUMBERS,
            {"two keys": "put a x; put b y; put a z; get a; get b; put a x; get a b"},
            written,
        ),
        _check(
            "a-delete-ends-a-life",
            "What was deleted is not there any more, until it is put again",
            1,
            ("tombstone-visible", "invented", "stale"),
            {"one": "put a x; put b y; delete a; get a; get b; get a c; put a z; get a"},
            lives,
        ),
        _check(
            "a-put-begins-another",
            "After a delete a key begins anew: created now, version 1",
            2,
            ("reuses-version", "old-create", "other-version", "other-create"),
            {
                "again": "put a x; put a y; delete a; put a z; get a; put a x; get a",
                "another key stays": "put a x; put b y; put b z; delete a; put b x; get b",
                "by an interval": "put a x; put b x; delete a b; put a z; get a",
            },
            other_lives,
        ),
        _check(
            "a-delete-is-one-change",
            "A delete of many keys makes one revision, a delete of none makes none",
            2,
            ("revision-for-nothing", "revision-for-each-key", "tombstone-visible", "outside"),
            {
                "three at once": "put a x; put b y; put c z; delete a d; get a d; revision",
                "none": "put a x; delete b; delete a; delete a; delete a d; revision; put b y",
                "end stays": "put a x; put c y; delete a c; get a d",
            },
            deleted,
        ),
        _check(
            "the-past-stays",
            "A read at an old revision returns what a read returned then, with the numbers of then",
            2,
            ("past-lost", "from-the-future", "version-of-now", *NUMBERS),
            {
                "one key": "put a x; put a y; get-at 2 a; get-at 3 a; put a z; get-at 2 a",
                "two": "put a x; put b y; put a z; get-at 3 a c; get-at 2 a c; get-at 1 a c",
            },
            past,
        ),
        _check(
            "between-two-lives",
            "Between a delete and the next put, and before the first, there is no key",
            2,
            (*DEAD, "from-the-future", "past-lost", "reuses-version", "old-create"),
            {"gap": "put a x; delete a; put a y; get-at 1 a; get-at 2 a; get-at 3 a; get-at 4 a"},
            past,
        ),
        _check(
            "generations",
            "The lives of a key: the revisions of each, a tombstone's at the end",
            1,
            ("other-lives", "lives-run-together", "lives-cut-up"),
            {
                "of the text": "put a x; put a y; delete a; put a z; lives a; delete a; lives a; lives b",
                "others between": "put a x; put b y; put a z; delete b; lives a; lives b; delete b; lives b",
            },
            generations,
        ),
        _check(
            "refuses-the-future",
            "A revision that is not made yet cannot be read or compacted",
            1,
            ("answers-the-future", "other-text", "other-error"),
            {"next": "put a x; get-at 2 a; get-at 3 a; compact 3; get-at 2 a; put a y; get-at 3 a; get a"},
            beyond,
        ),
        _check(
            "refuses-the-compacted",
            "What was compacted cannot be read, nor compacted again; the compacted revision itself can be read",
            2,
            ("answers-the-compacted", "other-text", "other-error", "drops-the-live-revision"),
            {
                "around it": "put a x; put a y; put a z; compact 3; get-at 2 a; get-at 3 a; get-at 4 a; compact 3; "
                "compact 2; compact 4; get a",
                "the newest": "put a x; compact 2; get-at 2 a; get-at 1 a; get a",
            },
            before,
        ),
        _check(
            "compaction-changes-no-answer",
            "What can still be read after a compaction reads as before",
            3,
            ("drops-the-live-revision", "counts-anew", "past-lost", "reuses-version", "old-create", *DEAD, *NUMBERS),
            {
                "still alive": "put a x; put b y; put b z; compact 4; get a; get-at 4 a c; get b; put a y; get a",
                "dead": "put a x; delete a; put b y; compact 4; get a; put a z; get a",
                "and counts on": "put a x; put a y; compact 3; put a z; get a; get-at 3 a",
            },
            compacted,
        ),
        _check(
            "compaction-keeps-every-change-since",
            "Every change from the compacted revision on is kept, deletes as well",
            2,
            (
                "loses-a-deletion",
                "drops-a-change",
                "drops-the-live-revision",
                "record-missing",
                "records-order",
                "tombstone-has-numbers",
            ),
            {
                "before it": "put b x; put a y; put a z; records",
                "a delete, just then": "put a x; delete a; put b y; compact 3; records; lives a",
                "a delete, later": "put a x; put b y; delete a; compact 3; records",
            },
            kept,
        ),
        _check(
            "compaction-forgets",
            "What nobody can ask for is gone: older records, old tombstones, whole lives",
            2,
            (
                "keeps-old-revisions",
                "keeps-old-tombstones",
                "record-invented",
                "lives-after-compaction",
                "lives-run-together",
                "lives-cut-up",
                "record-missing",
            ),
            {
                "older ones": "put a x; put a y; put a z; compact 3; records; lives a",
                "a life": "put a x; delete a; put b y; compact 4; records; lives a",
                "and the next": "put a x; delete a; put a y; put a z; compact 4; records; lives a",
                "its end is left": "put a x; delete a; put a y; compact 3; lives a",
            },
            kept,
        ),
        Check(
            "all-of-it",
            "Everything together, at every revision",
            2,
            store_with(*HINTS),
            {"short": "put a x; put b y; delete a d; put a z; compact 3; get-at 3 a d; get-at 4 a d; records; lives a"},
            everything,
            HINTS,
            state=store_state,
        ),
    ),
)
