"""Drills on etcd's store: revisions, reads of the past, watches, compaction, transactions, leases.

Every answer is that of a store which really ran the commands of the question. The commands are written as for
`etcdctl`; several behind `txn` are one transaction without conditions.

Simplified: see `k8slab.etcd`; three keys, short values, one client.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from k8slab.drill.answers import choice, duration, name_set, numbers, sequence, whole, yes_no
from k8slab.drill.exercise import Draft, Drill, Kind, generate, table_block
from k8slab.etcd import (
    FROM_KEY,
    CompactedError,
    Compare,
    CompareResult,
    CompareTarget,
    DeleteRangeRequest,
    EtcdError,
    Event,
    FutureRevisionError,
    KeyValue,
    Lessor,
    PutRequest,
    Store,
    Watcher,
)

__all__ = ["KINDS", "Command", "mvcc", "run"]

_KEYS = ("a", "b", "c")
_RAN = "These commands have run:\n\n"


class Command(NamedTuple):
    """Puts and deletions (a value of "") that are one transaction; `revision`: the store's after it."""

    operations: tuple[tuple[str, str], ...]
    revision: int = 0

    def __str__(self) -> str:
        words = "; ".join(f"put {key} {value}" if value else f"del {key}" for key, value in self.operations)
        return words if len(self.operations) == 1 else f"txn {words}"


def run(store: Store, command: Command) -> Command:
    """Have a store carry a command out."""
    requests = [
        PutRequest(key.encode(), value.encode()) if value else DeleteRangeRequest(key.encode())
        for key, value in command.operations
    ]
    store.txn((), requests)
    return command._replace(revision=store.revision)


def _commands(rng: random.Random, length: int) -> tuple[Store, list[Command]]:
    """A store and what it was told: also deletions of what is not there, and transactions of two."""
    store, found = Store(), list[Command]()
    value = 0
    for number in range(length):
        keys = rng.sample(_KEYS, 2 if number and rng.random() < 0.25 else 1)
        operations = []
        for key in keys:
            value += 1
            operations.append((key, "" if number > 1 and rng.random() < 0.3 else f"v{value}"))
        found.append(run(store, Command(tuple(operations))))
    return store, found


def _table(commands: Sequence[Command], *, revisions: bool = True) -> str:
    """The commands; with the revision that each made, `-` where it made none."""
    if not revisions:
        return table_block([(n, str(command)) for n, command in enumerate(commands, 1)], ("", "COMMAND"))
    rows, before = [], 1
    for command in commands:
        rows.append((command.revision if command.revision > before else "-", str(command)))
        before = command.revision
    return table_block(rows, ("REVISION", "COMMAND"))


def _record(store: Store, key: str, revision: int = 0) -> KeyValue | None:
    found = store.range(key.encode(), revision=revision).kvs
    return found[0] if found else None


# -- counting ---------------------------------------------------------------------------------------


def _revision(rng: random.Random) -> Draft:
    store, commands = _commands(rng, rng.randint(3, 7))
    right = store.revision
    operations = sum(len(command.operations) for command in commands)
    answer = whole(
        right,
        "An empty store is at 1; one more for each transaction that changes something.",
        {
            right - 1: "It starts at 1, not at 0.",
            1 + operations: "All writes of one transaction share one revision, and a deletion of nothing makes none.",
            1 + len(commands): "Deleting a key that is not there changes nothing, and takes no revision.",
        },
    )
    return Draft(
        "A new, empty etcd is at revision 1. At which is it after these "
        f"commands?\n\n{_table(commands, revisions=False)}",
        answer,
        f"{right}.\n\n{_table(commands)}\n\nOne counter for the whole store: a transaction takes one revision, however "
        "many keys it writes, and none if it changes nothing.",
    )


def _fields(rng: random.Random) -> Draft:
    store, commands = _commands(rng, rng.randint(5, 8))
    alive = [key for key in _KEYS if _record(store, key) is not None]
    if not alive:
        commands.append(run(store, Command((("a", "last"),))))
        alive = ["a"]
    key = rng.choice(alive)
    kv = _record(store, key)
    assert kv is not None
    puts = [c.revision for c in commands if any(k == key and v for k, v in c.operations)]
    answer = numbers(
        (kv.create_revision, kv.mod_revision, kv.version),
        "create_revision: the first put of this life; mod_revision: the last put; version: the puts of this life.",
        {
            (puts[0], kv.mod_revision, len(puts)): "A deletion ends a key's life: the next put begins again.",
            (kv.create_revision, store.revision, kv.version): "Other keys' writes leave this key's mod_revision.",
            (kv.create_revision, kv.mod_revision, kv.version - 1): "The version counts from 1.",
        },
    )
    return Draft(
        f"What are the create_revision, mod_revision and version of `{key}` at the end?\n\n{_table(commands)}",
        answer,
        f"{kv.create_revision}, {kv.mod_revision}, {kv.version}. A key lives from a put to its deletion. Two of the "
        "three are revisions of the store; the version alone is the key's own count, and begins again with each life.",
    )


# -- reading ----------------------------------------------------------------------------------------


def _read_at(rng: random.Random) -> Draft:
    store, commands = _commands(rng, rng.randint(5, 7))
    compacted = rng.randint(2, store.revision - 1) if rng.random() < 0.6 and store.revision > 2 else 0
    at = rng.choice([rng.randint(2, store.revision), rng.randint(2, store.revision + 2), compacted or 2])
    key = rng.choice(_KEYS)
    now = _record(store, key)
    if compacted:
        store.compact(compacted)
    try:
        then = _record(store, key, at)
        right = then.value.decode() if then else "absent"
    except CompactedError:
        right = "compacted"
    except FutureRevisionError:
        right = "future"
    values = [value for c in commands for k, value in c.operations if k == key and value]
    hint = "Take the last write of the key at or before that revision, unless the revision itself cannot be read."
    wrong = {
        now.value.decode() if now else "absent": "That is what it holds now; asked is that revision.",
        "compacted": "The compacted revision itself can still be read, as can all after it.",
        "future": "The store has reached that revision.",
    }
    after = f"Then `etcdctl compact {compacted}`. " if compacted else ""
    return Draft(
        f"{_RAN}{_table(commands)}\n\n{after}What does `etcdctl get {key} --rev={at}` answer: the value, `absent`, or "
        "the error `compacted` or `future`?",
        choice(right, [*dict.fromkeys(values), "absent", "compacted", "future"], hint, wrong, {"none": "absent"}),
        f"{right}. {hint} Below the compacted revision the answer is `mvcc: required revision has been compacted`; "
        "beyond the newest, `required revision is a future revision`.",
    )


_NAMES = ("/a", "/a/b", "/a/c", "/a0", "/ab", "/b")


def _interval(rng: random.Random) -> Draft:
    names = sorted(rng.sample(_NAMES, rng.randint(4, 6)))
    key, end = rng.choice([("/a", "/b"), ("/a/", "/a0"), ("/a", "/ab"), ("/a/c", "\\0"), ("/a", ""), ("/ab", "/c")])
    store = Store()
    for name in names:
        store.put(name.encode())
    range_end = FROM_KEY if end == "\\0" else end.encode()
    right = [kv.key.decode() for kv in store.range(key.encode(), range_end).kvs]
    why = "From the key on, up to and without the end, compared byte by byte; without an end just the one key."
    asked = f"`key={key}` and `range_end={end}`" if end else f"`key={key}` and no `range_end`"
    answer = name_set(
        right,
        names,
        why,
        [
            ([n for n in names if n.startswith(key)], "It is an interval of keys; a prefix is only one way to use it."),
            ([n for n in names if n in right or n == end], "The end itself does not belong to the interval."),
            (names, why),
            ([], why),
        ],
    )
    return Draft(
        f"The store holds `{'`, `'.join(names)}`. Which of them does a Range with {asked} return?",
        answer,
        f"{', '.join(right) or 'none'}. {why} `/` is followed by `0`, so all keys below `/a/` are `[/a/, /a0)`; a "
        "`range_end` of one zero byte means to the end of all keys.",
    )


# -- watching ---------------------------------------------------------------------------------------


def _events(watcher: Watcher) -> list[Event]:
    return [event for response in watcher.pending for event in response.events]


def _shown(event: Event) -> str:
    return f"{event.type}/{event.kv.key.decode()}"


def _watch(rng: random.Random) -> Draft:
    store, commands = _commands(rng, rng.randint(5, 7))
    start = rng.randint(2, store.revision)
    one = rng.random() < 0.4
    key = rng.choice(_KEYS)
    only = rng.choice(["", "", "NOPUT", "NODELETE"])
    first, end = (key.encode(), b"") if one else (b"a", FROM_KEY)
    right = [_shown(e) for e in _events(store.watch(first, end, start, filters=[only] if only else []))]
    after = [_shown(e) for e in _events(store.watch(first, end, start + 1, filters=[only] if only else []))]
    unfiltered = [_shown(e) for e in _events(store.watch(first, end, start))]
    answer = sequence(
        right,
        [f"{what}/{name}" for what in ("PUT", "DELETE") for name in _KEYS],
        "Every change at or after the start revision, in order; a transaction's are all there.",
        [
            (after, f"The start revision itself belongs to it: {start} is the first that you are owed."),
            (unfiltered, f"The filter {only} leaves those out."),
            (list(dict.fromkeys(right)), "Each change is an event of its own: nothing is merged."),
        ],
    )
    what = f"key `{key}`" if one else "all keys"
    filters = f" and the filter `{only}`" if only else ""
    return Draft(
        f"{_RAN}{_table(commands)}\n\nThen a watch on {what} begins, with `start_revision={start}`{filters}. Which "
        "events does it get, in order? Write them as `PUT/a, DELETE/b`, or `none`.",
        answer,
        f"`{', '.join(right) or 'none'}`. A watch on a revision is a read of the history from there on: the start "
        "belongs to it, the deletion of a key that was not there is no change, and no event stands for two.",
    )


def _overtaken(rng: random.Random) -> Draft:
    store, commands = _commands(rng, rng.randint(6, 8))
    compacted = rng.randint(3, max(3, store.revision - 1))
    start = rng.choice([compacted - 1, compacted, compacted + 1, rng.randint(2, store.revision + 1)])
    store.compact(compacted)
    watcher = store.watch(b"a", FROM_KEY, start)
    right = not watcher.canceled
    last = store.revision
    why = (
        f"Compaction at {compacted} leaves {compacted} and all after it: only a start before that is refused."
        if start <= last
        else "A start in the future just waits."
    )
    return Draft(
        f"The store is at revision {last} after {len(commands)} commands and has been compacted at {compacted}. A "
        f"client asks for a watch with `start_revision={start}`. Does it get its watch?",
        yes_no(right, why),
        f"{'Yes' if right else 'No: the answer is cancelled, with `compact_revision=' + str(compacted) + '`'}. {why} "
        "Whoever is refused lists anew and watches from there.",
    )


def _prev_kv(rng: random.Random) -> Draft:
    while True:
        store, commands = _commands(rng, rng.randint(6, 8))
        key = rng.choice(_KEYS)
        compacted = rng.randint(2, store.revision - 1) if store.revision > 3 and rng.random() < 0.5 else 0
        start = rng.randint(max(2, compacted), store.revision)
        full = _values(store.watch(key.encode(), b"", start, prev_kv=True))
        if compacted:
            store.compact(compacted)
        right = _values(store.watch(key.encode(), b"", start, prev_kv=True))
        # a deletion at the compacted revision itself is an event from 3.5.16 on: no question about that
        if 1 <= len(right) <= 5 and len(right) == len(full):
            break
    written = [value for c in commands for k, value in c.operations if k == key and value]
    own = [e.kv.value.decode() or "absent" for e in _events(store.watch(key.encode(), b"", start))]
    hint = "The value just before each change; absent where the key did not exist, or that past has been compacted."
    return Draft(
        f"{_RAN}{_table(commands)}\n\n{f'Then `etcdctl compact {compacted}`. ' if compacted else ''}A watch on `{key}` "
        f"with `prev_kv` begins at revision {start}. What is the `prev_kv` value of each of its events, in order? "
        "Write `absent` for an event without one.",
        sequence(
            right,
            [*dict.fromkeys(written), "absent"],
            hint,
            [
                (full, f"What came before revision {compacted} is gone; a watch cannot show it."),
                (own, "That is what was written; `prev_kv` is what was there before."),
            ],
        ),
        f"{', '.join(right)}. {hint} A put that creates the key has no `prev_kv`, also after a deletion.",
    )


def _values(watcher: Watcher) -> list[str]:
    return [event.prev_kv.value.decode() if event.prev_kv else "absent" for event in _events(watcher)]


# -- compaction -------------------------------------------------------------------------------------


def _compaction(rng: random.Random) -> Draft:
    store, commands = _commands(rng, rng.randint(6, 8))
    revisions = range(2, store.revision + 1)
    deletes = [kv.mod_revision for kv in store.since(0) if not kv.version]
    at = rng.choice([n for n in revisions[1:] if n not in deletes] or [2])
    store.compact(at)
    kept = dict.fromkeys(kv.mod_revision for kv in store.since(0))
    names = [str(revision) for revision in revisions]
    right = [str(revision) for revision in kept]
    answer = name_set(
        right,
        names,
        "All above stay; of each key what was current at the compacted revision stays too, unless that is a deletion.",
        [
            ([n for n in names if int(n) > at], "What is current at the compacted revision stays."),
            ([n for n in names if int(n) >= at], "A key that was written long ago and lives keeps its last write."),
            (names, f"Of revisions before {at} only what was still current stays."),
        ],
    )
    return Draft(
        f"{_RAN}{_table(commands)}\n\nThen `etcdctl compact {at}`. Of which revisions does the store still hold a "
        "record?",
        answer,
        f"{', '.join(right)}. Everything above {at} stays. At or below it stays, for each key, the last write, because "
        f"a read at {at} must find it. A deletion before {at} goes (one at {at} itself stays from 3.5.16 on).",
    )


# -- transactions -----------------------------------------------------------------------------------

_SIGNS = {"=": CompareResult.EQUAL, "!=": CompareResult.NOT_EQUAL, ">": CompareResult.GREATER, "<": CompareResult.LESS}
_TARGETS = {
    "mod": CompareTarget.MOD,
    "create": CompareTarget.CREATE,
    "version": CompareTarget.VERSION,
    "value": CompareTarget.VALUE,
}


def _txn(rng: random.Random) -> Draft:
    store, commands = _commands(rng, rng.randint(4, 6))
    words, compares = [], []
    for key in rng.sample(_KEYS, rng.choice([1, 1, 2])):
        kv = _record(store, key)
        target, sign = rng.choice(list(_TARGETS)), rng.choice(["=", "=", "=", "!=", ">", "<"])
        if target == "value":
            text = rng.choice([kv.value.decode() if kv else "v1", "v1"])
            words.append(f'value("{key}") {sign} "{text}"')
            compares.append(Compare(key.encode(), _TARGETS[target], _SIGNS[sign], text.encode()))
        else:
            fields = {"mod": kv.mod_revision, "create": kv.create_revision, "version": kv.version} if kv else {}
            operand = max(0, fields.get(target, 0) + rng.choice([0, 0, 0, 0, -1, 1]))
            words.append(f'{target}("{key}") {sign} "{operand}"')
            compares.append(Compare(key.encode(), _TARGETS[target], _SIGNS[sign], operand))
    right = store.txn(compares).succeeded
    why = (
        "All conditions must hold. A key that does not exist has version, create and mod 0; no condition on its value "
        "holds, not even !=."
    )
    options = {"success": "", "failure": ""}
    name = "success" if right else "failure"
    block = "\n".join(words)
    return Draft(
        f"{_RAN}{_table(commands)}\n\nThen a transaction compares:\n\n```text\n{block}\n```\n\nWhich of its two lists "
        "of requests runs, `success` or `failure`?",
        choice(name, list(options), why, {"success": why, "failure": why}, {"then": "success", "else": "failure"}),
        f"{name}. {why} This is how an API server creates: put, if mod = 0.",
    )


# -- leases -----------------------------------------------------------------------------------------


def _lease(rng: random.Random) -> Draft:
    ttl, election_ms = rng.choice([5, 10, 15, 40, 60]), 1_000
    lessor = Lessor()
    lessor.grant(7, ttl, now_ms=0)
    at, lines = 0, [("0s", f"grant, TTL {ttl}s")]
    for _ in range(rng.randint(1, 4)):
        at += rng.randint(1, ttl - 1)
        if rng.random() < 0.7:
            lessor.renew(7, at * 1000)
            lines.append((f"{at}s", "keep-alive"))
        else:
            lessor.promote(at * 1000, extend_ms=election_ms)
            lines.append((f"{at}s", "another member becomes leader"))
    right = lessor.next_expiry_ms
    assert right is not None
    led = lines[-1][1].startswith("another")
    answer = duration(
        right,
        "A grant, a keep-alive and a new leader each start the whole TTL anew; a new leader adds an election timeout.",
        {
            1000 * ttl: "Keep-alives and new leaders start it anew.",
            1000 * (at + ttl): "A new leader gives each lease an election timeout on top.",
            1000 * (at + ttl) + election_ms: "A keep-alive gives just the TTL.",
            1000 * at: "It lives its TTL on from there.",
        },
    )
    return Draft(
        "The election timeout is 1 s. What happens to a lease:\n\n"
        f"{table_block(lines, ('AT', 'EVENT'))}\n\nNothing else comes. At which time has it expired (from 0, in s or "
        "ms)?",
        answer,
        f"{right / 1000:g} s. The last event starts {ttl} s anew{' and adds the election timeout' if led else ''}. "
        "Only the leader counts the time: a new one does not know how much was left, so it gives all of it again. A "
        "client's key may outlive it by long.",
    )


def _lease_keys(rng: random.Random) -> Draft:
    store = Store()
    for id in (1, 2):
        store.lessor.grant(id, 60, now_ms=0)
    lines: list[tuple[int, str]] = []
    ever: dict[str, None] = {}
    for number in range(rng.randint(4, 7)):
        key = rng.choice(_KEYS)
        lease = rng.choice([0, 1, 1, 2])
        keep = rng.random() < 0.25
        if keep and _record(store, key) is not None:
            store.put(key.encode(), b"x", ignore_lease=True)
            lines.append((number + 1, f"put {key} x --ignore-lease"))
            continue
        if lease == 1:
            ever[key] = None
        store.put(key.encode(), b"x", lease=lease)
        lines.append((number + 1, f"put {key} x" + (f" --lease={lease}" if lease else "")))
    before = [key for key in _KEYS if _record(store, key) is not None]
    store.lessor.revoke(1)
    right = [key for key in before if _record(store, key) is None]
    why = "A put hangs the key on the lease it names; one that names none takes it off, unless it ignores the lease."
    return Draft(
        f"Leases 1 and 2 live.\n\n{table_block(lines, ('', 'COMMAND'))}\n\nThen lease 1 is revoked. Which keys are "
        "deleted?",
        name_set(right, _KEYS, why, [(list(ever), why), (before, "Only the keys of lease 1 go.")]),
        f"{', '.join(right) or 'none'}. {why} A key hangs on one lease at most.",
    )


def _refused(rng: random.Random) -> Draft:
    questions: dict[str, Callable[[Store], object]] = {
        "a put with `--lease=99`, which nobody granted": lambda s: s.put(b"a", b"x", lease=99),
        "a put of a new key with `--ignore-value`": lambda s: s.put(b"z", ignore_value=True),
        "`get a --rev={next}`": lambda s: s.range(b"a", revision=s.revision + 1),
        "`get a --rev={old}`": lambda s: s.range(b"a", revision=s.compact_revision - 1),
        "`get a --rev={at}`": lambda s: s.range(b"a", revision=s.compact_revision),
        "`compact {at}` again": lambda s: s.compact(s.compact_revision),
        "`compact {next}`": lambda s: s.compact(s.revision + 1),
        "`del z`, a key that was never there": lambda s: s.delete_range(b"z"),
        "a transaction that puts `a` twice": lambda s: s.txn((), [PutRequest(b"a"), PutRequest(b"a")]),
        "a transaction that puts `a` and deletes `a`": lambda s: s.txn(
            (), [PutRequest(b"a"), DeleteRangeRequest(b"a")]
        ),
        "a get of the empty key": lambda s: s.range(b""),
    }
    messages = {
        "CompactedError": "compacted", "FutureRevisionError": "future", "LeaseNotFoundError": "lease",
        "KeyNotFoundError": "key", "DuplicateKeyError": "duplicate", "EmptyKeyError": "empty",
    }  # fmt: skip
    words, act = rng.choice(list(questions.items()))
    store = Store()
    for number in range(rng.randint(5, 30)):
        store.put(b"a", str(number).encode())
    store.compact(rng.randint(3, store.revision - 1))
    told = words.format(next=store.revision + 1, old=store.compact_revision - 1, at=store.compact_revision)
    at, last = store.compact_revision, store.revision
    text = "it is done, or finds nothing to do"
    try:
        act(store)
        right = "ok"
    except EtcdError as error:
        right, text = messages[type(error).__name__], error.message
    hint = (
        "Reads go from the compacted revision to the newest, a compaction must move up, a transaction writes a key "
        "once, and what a put names must be there."
    )
    return Draft(
        f"The store is at revision {last} and was compacted at {at}; `a` lives. A client sends {told}. What is the "
        f"answer: `ok`, or the error `{'`, `'.join(messages.values())}` (not found: `lease`, `key`)?",
        choice(right, ["ok", *messages.values()], hint, {"ok": f"etcd says: {text}.", "future": hint}),
        f"{right}: {text}. {hint}",
    )


_MVCC = "etcd server/storage/mvcc"
KINDS = (
    Kind("revision", 1, f"{_MVCC}/kvstore_txn.go (End)", _revision),
    Kind("interval", 1, f"{_MVCC}/index.go (Revisions)", _interval),
    Kind("lease-keys", 1, "etcd server/lease/lessor.go (Attach, Revoke)", _lease_keys),
    Kind("fields", 2, f"{_MVCC}/kvstore_txn.go (put), key_index.go", _fields),
    Kind("read-at", 2, f"{_MVCC}/kvstore_txn.go (rangeKeys)", _read_at),
    Kind("watch", 2, f"{_MVCC}/watchable_store.go (syncWatchers)", _watch),
    Kind("overtaken", 2, f"{_MVCC}/watcher_group.go (chooseAll)", _overtaken),
    Kind("refused", 2, "etcd api/v3rpc/rpctypes/error.go", _refused),
    Kind("txn", 2, "etcd server/etcdserver/txn/txn.go (applyCompare)", _txn),
    Kind("lease", 3, "etcd server/lease/lessor.go (Renew, Promote)", _lease),
    Kind("prev-kv", 3, f"{_MVCC}/watchable_store.go (kvsToEvents)", _prev_kv),
    Kind("compaction", 3, f"{_MVCC}/key_index.go (compact)", _compaction),
)


def mvcc(rng: random.Random) -> Drill:
    """An exercise on etcd's store."""
    return generate("mvcc", KINDS, rng)
