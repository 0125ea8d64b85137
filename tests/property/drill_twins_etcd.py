"""Second opinions on the drills about Raft and etcd's store: logs are lists, a store is a list of changes.

Nothing of k8slab is used here. TWINS: (topic, kind) -> function from the question to an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import combinations
from typing import NamedTuple

from tests.property.drill_twins import Row, fenced, listed, quoted, tables

__all__ = ["TWINS"]


def numbers(text: str) -> list[int]:
    """The numbers that are words of their own, so not the 1 of `n1`."""
    return [int(found) for found in re.findall(r"(?<![\w.])\d+", text)]


def found(pattern: str, text: str) -> str:
    """What the one group of a pattern matches; AssertionError when there is no match."""
    match = re.search(pattern, text)
    assert match is not None, f"{pattern!r} is not in {text!r}"
    return match[1]


def yes(right: bool) -> str:
    return "yes" if right else "no"


# -- Raft: counting ---------------------------------------------------------------------------------


def majority(q: str) -> str:
    size = numbers(q)[0]
    most_lost = max(lost for lost in range(size) if size - lost > lost)
    return str(most_lost if "fail" in q else size - most_lost)


def pending(q: str) -> str:
    size, for_it, against = numbers(q)
    if 2 * for_it > size:
        return "won"
    return "open" if 2 * (size - against) > size else "lost"


def timeout(q: str) -> str:
    tick, ticks = numbers(q)[:2]
    possible = [tick * count for count in range(ticks, 2 * ticks)]
    return f"{min(possible)}, {max(possible)}"


def had_by_majority(match: dict[str, int]) -> int:
    """The best that some majority has together: by trying all of them."""
    size = len(match) // 2 + 1
    return max(min(match[name] for name in group) for group in combinations(match, size))


def matches(rows: Iterable[Row]) -> dict[str, int]:
    return {row["NODE"]: int(row["MATCH"]) for row in rows}


def committed(q: str) -> str:
    return str(had_by_majority(matches(tables(q)[0])))


def joint(q: str) -> str:
    rows = tables(q)[0]
    return str(min(had_by_majority(matches(row for row in rows if row[half] == "x")) for half in ("OLD", "NEW")))


def current_term(q: str) -> str:
    term, commit = int(found(r"leads in term (\d+)", q)), int(found(r"commit index is (\d+)", q))
    log = [int(word) for word in quoted(q)[0].split()]
    counted = had_by_majority(matches(tables(q)[0]))
    return str(counted if counted > commit and log[counted - 1] == term else commit)


# -- Raft: votes ------------------------------------------------------------------------------------


def vote(q: str) -> str:
    term = int(found(r"is in term (\d+)", q))
    voted_for = found(r"voted for node (\d)", q) if "voted for node" in q else "2"
    asked = int(found(r"its vote in term (\d+)", q))
    (own_index, own_term), (index, log_term) = (
        (int(a), int(b)) for a, b in re.findall(r"log ends with index (\d+) of term (\d+)", q)
    )
    newer = log_term > own_term or (log_term == own_term and index >= own_index)
    return yes(newer and (asked > term or (asked == term and voted_for == "2")))


def election(q: str) -> str:
    rows = tables(q)[0]
    logs = {row["NODE"]: (int(row["LAST TERM"]), int(row["LAST INDEX"])) for row in rows}
    up = [row["NODE"] for row in rows if row["STATE"] == "up"]
    return listed([one for one in up if 2 * sum(logs[voter] <= logs[one] for voter in up) > len(rows)])


def disturbed(q: str) -> str:
    heard = int(found(r"heard its leader (\d+) tick", q))
    return yes("`CheckQuorum` is off" in q or "hands over" in q or heard >= 10)


# -- Raft: logs -------------------------------------------------------------------------------------


class Sent(NamedTuple):
    """A follower's log as a list of terms, its commit index, and what it is sent."""

    log: list[int]
    commit: int
    after: int
    term: int
    entries: list[int]

    @property
    def fits(self) -> bool:
        return self.after == 0 or (self.after <= len(self.log) and self.log[self.after - 1] == self.term)


def sent(q: str) -> Sent:
    blocks = [[int(word) for word in text.split()] for text in quoted(q) if re.fullmatch(r"[\d ]+", text)]
    index, term = re.search(r"before is index (\d+) of term (\d+)", q).groups()  # type: ignore[union-attr]
    commit = re.search(r"commit index is (\d+)", q)
    return Sent(blocks[0], int(commit[1]) if commit else 0, int(index), int(term), blocks[1] if blocks[1:] else [])


def append(q: str) -> str:
    one = sent(q)
    if one.after < one.commit:
        return str(one.commit)
    return str(one.after + len(one.entries)) if one.fits else "reject"


def log_after(q: str) -> str:
    one = sent(q)
    log = list(one.log)
    if one.after >= one.commit and one.fits:
        for place, term in enumerate(one.entries, one.after):
            if place >= len(log):
                log.append(term)
            elif log[place] != term:
                log[place:] = [term]
    return listed(list(map(str, log)))


def last_not_later(log: list[int], index: int, term: int) -> int:
    return max((place for place, own in enumerate(log, 1) if place <= index and own <= term), default=0)


def hint(q: str) -> str:
    one = sent(q)
    place = last_not_later(one.log, one.after, one.term)
    return f"{place}, {one.log[place - 1] if place else 0}"


def next_index(q: str) -> str:
    log = [int(word) for word in quoted(q)[0].split()]
    index, term = re.search(r"hint index (\d+), term (\d+)", q).groups()  # type: ignore[union-attr]
    return str(last_not_later(log, int(index), int(term)) + 1)


def read(q: str) -> str:
    first: str
    second: str
    first, second = re.findall(r"`x=(\d+)`", q)
    if "is sent to the old leader" in q:
        second = first  # never committed
    at_old = "comes, at the old leader," in q
    if not at_old or "The split ends" in q:
        return second
    return "no answer" if "a linearizable read. What" in q else first


# -- etcd: a store is a list of changes -------------------------------------------------------------


class Change(NamedTuple):
    """A put, or with an empty value a deletion."""

    revision: int
    key: str
    value: str


def history(q: str) -> list[Change]:
    """What really changed, numbered anew: the column of revisions is not looked at."""
    changes: list[Change] = []
    revision = 1
    for row in tables(q)[0]:
        mine = []
        for part in row["COMMAND"].removeprefix("txn ").split("; "):
            what, key, *value = part.split()
            if what == "put" or alive(changes, key, revision):
                mine.append(Change(revision + 1, key, value[0] if value else ""))
        changes += mine
        revision += bool(mine)
    return changes


def alive(changes: list[Change], key: str, at: int) -> str:
    """The value of a key at a revision, "" when it does not exist."""
    values = [c.value for c in changes if c.key == key and c.revision <= at]
    return values[-1] if values else ""


def life(changes: list[Change], key: str) -> list[Change]:
    """The puts since the key was last deleted."""
    own = [c for c in changes if c.key == key]
    dead = max((place for place, c in enumerate(own, 1) if not c.value), default=0)
    return own[dead:]


def compacted_at(q: str) -> int:
    match = re.search(r"etcdctl compact (\d+)", q)
    return int(match[1]) if match else 0


def revision(q: str) -> str:
    return str(history(q)[-1].revision)


def fields(q: str) -> str:
    puts = life(history(q), quoted(q)[0])
    return f"{puts[0].revision}, {puts[-1].revision}, {len(puts)}"


def read_at(q: str) -> str:
    changes = history(q)
    key, at = re.search(r"etcdctl get (\w) --rev=(\d+)", q).groups()  # type: ignore[union-attr]
    if int(at) > changes[-1].revision:
        return "future"
    return "compacted" if int(at) < compacted_at(q) else alive(changes, key, int(at)) or "absent"


def interval(q: str) -> str:
    asked = next(text for text in quoted(q) if text.startswith("key="))
    start = asked.removeprefix("key=")
    ends = [text.removeprefix("range_end=") for text in quoted(q) if text.startswith("range_end=")]
    names = [text for text in quoted(q) if text.startswith("/")]
    if not ends:
        return listed([name for name in names if name == start])
    return listed([name for name in names if start <= name and (ends[0] == r"\0" or name < ends[0])])


def watched(q: str) -> list[Change]:
    start = int(found(r"(?:start_revision=|begins at revision )(\d+)", q))
    key = re.search(r"[Aa] watch on (?:key )?`(\w)`", q)
    return [c for c in history(q) if c.revision >= start and (key is None or c.key == key[1])]


def watch(q: str) -> str:
    events = [f"{'PUT' if c.value else 'DELETE'}/{c.key}" for c in watched(q)]
    return listed([event for event in events if f"`NO{event.split('/')[0]}`" not in q])


def overtaken(q: str) -> str:
    _, _, compacted, start = numbers(q.replace("=", " ").replace("`", " "))
    return yes(start >= compacted)


def prev_kv(q: str) -> str:
    changes, kept_from = history(q), compacted_at(q)
    values = [
        alive(changes, c.key, c.revision - 1) if c.revision - 1 >= kept_from else "" for c in watched(q)
    ]  # fmt: skip
    return listed([value or "absent" for value in values])


def compaction(q: str) -> str:
    """A revision stays if some read at the compacted one or later shows what it wrote, or it comes later."""
    changes, at = history(q), compacted_at(q)
    kept = {c.revision for c in changes if c.revision > at}
    for key in {c.key for c in changes}:
        own = [c for c in changes if c.key == key and c.revision <= at]
        if own and own[-1].value:
            kept.add(own[-1].revision)
    return listed([str(number) for number in sorted(kept)])


def txn(q: str) -> str:
    changes = history(q)
    (block,) = (text for language, text in fenced(q) if language == "text")
    results = []
    for line in block.split("\n")[:-1]:
        target, key, sign, text = re.fullmatch(r'(\w+)\("(\w)"\) (\S+) "(.*)"', line).groups()  # type: ignore[union-attr]
        puts = life(changes, key)
        if target == "value":
            one, two = (puts[-1].value if puts else None), text
            if one is None:
                results.append(False)
                continue
            results.append({"=": one == two, "!=": one != two, ">": one > two, "<": one < two}[sign])
        else:
            known = {"mod": puts[-1].revision, "create": puts[0].revision, "version": len(puts)} if puts else {}
            own, asked = known.get(target, 0), int(text)
            results.append({"=": own == asked, "!=": own != asked, ">": own > asked, "<": own < asked}[sign])
    return "success" if all(results) else "failure"


# -- etcd: leases and refusals ----------------------------------------------------------------------


def lease(q: str) -> str:
    rows = tables(q)[0]
    ttl = int(found(r"TTL (\d+)s", rows[0]["EVENT"]))
    at = int(rows[-1]["AT"][:-1])
    return f"{at + ttl + rows[-1]['EVENT'].startswith('another')}s"


def lease_keys(q: str) -> str:
    hangs: dict[str, str] = {}
    for row in tables(q)[0]:
        _, key, _, *flags = row["COMMAND"].split()
        if flags != ["--ignore-lease"]:
            hangs[key] = flags[0].removeprefix("--lease=") if flags else "0"
    return listed([key for key in sorted(hangs) if hangs[key] == "1"])


def refused(q: str) -> str:
    last, compacted = numbers(q)[:2]
    asked = found(r"A client sends (.*)\. What is the answer", q)
    if match := re.search(r"--rev=(\d+)", asked):
        at = int(match[1])
        return "future" if at > last else "compacted" if at < compacted else "ok"
    if match := re.search(r"compact (\d+)", asked):
        at = int(match[1])
        return "future" if at > last else "compacted" if at <= compacted else "ok"
    words = {
        "--lease=99": "lease",
        "--ignore-value": "key",
        "del z": "ok",
        "transaction": "duplicate",
        "empty": "empty",
    }
    return next(answer for word, answer in words.items() if word in asked)


TWINS: dict[tuple[str, str], Callable[[str], str]] = {
    ("raft", "majority"): majority,
    ("raft", "pending"): pending,
    ("raft", "timeout"): timeout,
    ("raft", "committed"): committed,
    ("raft", "vote"): vote,
    ("raft", "election"): election,
    ("raft", "joint"): joint,
    ("raft", "append"): append,
    ("raft", "reads"): read,
    ("raft", "log-after"): log_after,
    ("raft", "current-term"): current_term,
    ("raft", "disturbed"): disturbed,
    ("raft", "hint"): hint,
    ("raft", "next-index"): next_index,
    ("mvcc", "revision"): revision,
    ("mvcc", "interval"): interval,
    ("mvcc", "lease-keys"): lease_keys,
    ("mvcc", "fields"): fields,
    ("mvcc", "read-at"): read_at,
    ("mvcc", "watch"): watch,
    ("mvcc", "overtaken"): overtaken,
    ("mvcc", "refused"): refused,
    ("mvcc", "txn"): txn,
    ("mvcc", "lease"): lease,
    ("mvcc", "prev-kv"): prev_kv,
    ("mvcc", "compaction"): compaction,
}
