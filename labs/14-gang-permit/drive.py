"""Plays operations on a learner's `GangPermit`. Runs in the child, next to the learner's code; knows nothing of what is
right.

A Pod `red-0` is of gang `red`. `gang red 3` says what the gang needs, `room 4` how many places the cluster has. `place`
gives a Pod a place, if it has none and there is one, and asks permit; `clock` lets time pass and calls tick; `lose`
takes a Pod's place away (it was deleted, or its binding failed) and calls unreserve. What does not fit does nothing.
"""

WAIT_MS = 100


def _short(found):
    return (
        repr(found)[:60]
        if isinstance(found, (tuple, str, int, float, list, type(None)))
        else f"a {type(found).__name__}"
    )


def _pods(method, found):
    if not isinstance(found, (list, tuple)):
        raise TypeError(f"{method}: expected a list of Pods, found {_short(found)}")
    for pod in found:
        if type(pod) is not str:
            raise TypeError(f"{method}: expected the name of a Pod in the list, found {_short(pod)}")
    return list(found)


def _told(what, pods, nobody):
    return f"{what}: {' '.join(sorted(pods))}" if pods else nobody


class Player:
    def __init__(self, plugin):
        self.plugin = plugin
        self.needs = {}
        self.held = set()  # who has a place, as far as the learner's answers tell
        self.places = 1_000
        self.now = 0

    def room(self, places):
        self.places = int(places)

    def gang(self, name, need):
        self.needs.setdefault(name, int(need))

    def place(self, pod):
        gang = pod.partition("-")[0]
        if gang not in self.needs:
            return None
        if pod not in self.held and len(self.held) >= self.places:
            return "no room"
        self.held.add(pod)
        go = _pods("permit", self.plugin.permit(gang, self.needs[gang], pod, self.now))
        return _told("go", go, "waits")

    def clock(self, ms):
        self.now += int(ms)
        return self._sent_back(_pods("tick", self.plugin.tick(self.now)))

    def lose(self, pod):
        self.held.discard(pod)
        return self._sent_back(_pods("unreserve", self.plugin.unreserve(pod)))

    def _sent_back(self, pods):
        self.held -= set(pods)
        return _told("sent back", pods, "nobody")

    def waiting(self):
        return _told("waiting", _pods("waiting", self.plugin.waiting()), "nobody")

    def count(self, gang):
        found = self.plugin.count(gang)
        if type(found) is not int:
            raise TypeError(f"count: expected a whole number, found {_short(found)}")
        return found


def drive(names, setting):
    player = Player(names["GangPermit"](WAIT_MS))
    return lambda verb, *words: getattr(player, verb)(*words)
