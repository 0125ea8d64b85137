"""Plays operations on a learner's `WatchHub`. Runs in the child, next to the learner's code; knows nothing of what is
right.

The history is kept here: `put a x b y` writes two keys in one revision and tells the hub, `write` does the first half
of that, `tell` the second, for one revision. A response is written `3: a=x b gone`, the last one `compacted at 5`.
What does not fit (a client that watches already, a compaction of the future) does nothing.
"""

MOST_TAKEN = 60


def _short(found):
    return repr(found)[:60] if isinstance(found, (tuple, str, int, list, type(None))) else f"a {type(found).__name__}"


class History:
    """What the hub may read: what compaction has left of all changes."""

    def __init__(self):
        self.revision, self.compact_revision = 1, 0
        self._all = []  # (revision, events), oldest first

    def since(self, revision):
        return [(at, list(events)) for at, events in self._kept() if at >= revision]

    def _kept(self):
        current = {}  # key -> the revision whose change a read at the compacted revision returns
        for at, events in self._all:
            if at <= self.compact_revision:
                current.update((key, at if value is not None else 0) for key, value in events)
        for at, events in self._all:
            left = [one for one in events if at >= self.compact_revision or current[one[0]] == at]
            if left:
                yield at, left

    def living(self):
        found = {}
        for _, events in self._all:
            found.update(events)
        return sorted(key for key, value in found.items() if value is not None)

    def write(self, events):
        self.revision += 1
        self._all.append((self.revision, events))


def _response(found):
    if not isinstance(found, tuple) or len(found) != 3 or type(found[0]) is not int or type(found[2]) is not int:
        raise TypeError(f"take: expected a Response or None, found {_short(found)}")
    revision, events, compact_revision = found
    if type(events) is not list:
        raise TypeError(f"take: expected a list of events, found {_short(events)}")
    if compact_revision and (revision or events):
        raise TypeError(f"take: expected revision 0 and no events with a compact_revision, found {_short(found)}")
    if compact_revision:
        return f"compacted at {compact_revision}"
    return f"{revision}: {' '.join(_event(one) for one in events)}".strip()


def _event(found):
    if not isinstance(found, tuple) or len(found) != 2 or type(found[0]) is not str:
        raise TypeError(f"take: expected an event (key, value), found {_short(found)}")
    key, value = found
    if value is not None and type(value) is not str:
        raise TypeError(f"take: expected a value or None, found {_short(value)}")
    return f"{key} gone" if value is None else f"{key}={value}"


class Player:
    """A history, a hub, and clients by name."""

    def __init__(self, names):
        self.make = names["WatchHub"]
        self.hub("3")

    def hub(self, room):
        """Begin anew; each watcher has room for so many responses."""
        self.history, self.untold, self.ids, self.used, self.over = History(), [], {}, set(), set()
        self.learner = self.make(self.history, int(room))

    # -- what is written -------------------------------------------------------------------------

    def write(self, *words):
        self._commit(list(zip(words[::2], words[1::2], strict=True)))
        return f"at {self.history.revision}, not told yet"

    def put(self, *words):
        self._commit(list(zip(words[::2], words[1::2], strict=True)))
        return self._tell_all()

    def delete(self, key, end=""):
        doomed = [name for name in self.history.living() if name == key or key <= name < end]
        if doomed:
            self._commit([(name, None) for name in doomed])
        return self._tell_all()

    def compact(self, revision):
        if not self.history.compact_revision < int(revision) <= self.history.revision:
            return None
        self.history.compact_revision = int(revision)
        return f"at {self.history.revision}"

    def _commit(self, events):
        self.history.write(events)
        self.untold.append((self.history.revision, events))

    def tell(self):
        if not self.untold:
            return None
        revision, events = self.untold.pop(0)
        self.learner.notify(revision, list(events))
        return f"told {revision}"

    def _tell_all(self):
        while self.untold:
            self.tell()
        return f"at {self.history.revision}"

    # -- clients ---------------------------------------------------------------------------------

    def watch(self, client, key, *words):
        """`watch client-1 a 3`, `watch client-1 a c 3`. Who was cancelled, or told of a compaction, may watch again."""
        if client in self.ids and client not in self.over:
            return None
        *end, start = words
        since = {"start": int(start)} if int(start) else {}
        found = self.learner.watch(key, *end, **since)
        if type(found) is not int:
            raise TypeError(f"watch: expected a number, found {_short(found)}")
        if found in self.used:
            raise ValueError(f"watch returned {found}, the number of an earlier watch")
        self.used.add(found)
        self.over.discard(client)
        self.ids[client] = found
        return f"from {start}" if int(start) else "from now on"

    def take(self, client):
        if client not in self.ids:
            return None
        found = self.learner.take(self.ids[client])
        said = "nothing" if found is None else _response(found)
        if said.startswith("compacted"):
            self.over.add(client)
        return said

    def drain(self, client):
        """Take until there is nothing."""
        taken = []
        while client in self.ids and len(taken) < MOST_TAKEN and (one := self.take(client)) != "nothing":
            taken.append(one)
        return " | ".join(taken) or "nothing" if client in self.ids else None

    def cancel(self, client):
        if client not in self.ids:
            return None
        self.learner.cancel(self.ids[client])
        self.over.add(client)
        return "cancelled"

    def sync(self):
        self.learner.sync()


def _alone(names, client, played):
    """What the last of these operations hands to a client on a hub that has no other reader."""
    player, said = Player(names), None
    for verb, *words in played:
        if verb not in ("watch", "take", "drain", "cancel") or words[0] == client:
            said = getattr(player, verb)(*words)
    return said


def drive(names, setting):
    """In the setting `beside` each reader is also tried alone: `nothing, alone 3: a=x`, if that makes a difference."""
    player, played = Player(names), []

    def do(verb, *words):
        played.append((verb, *words))
        said = getattr(player, verb)(*words)
        if setting != "beside" or verb not in ("take", "drain") or said is None:
            return said
        alone = _alone(names, words[0], played)
        return said if said == alone else f"{said}, alone {alone}"

    return do
