"""Plays operations on a learner's functions. Runs in the child, next to the learner's code; knows nothing of what is
right.

`pod a 100 250 5` asks for 100Mi, uses 250 (`-`: not measured) and has priority 5, with `critical` behind it, too;
`threshold soft 200 90 50` is crossed below 200Mi free, waits 90 seconds, and wants 50 more when it was acted on;
`period 300` is how long pressure is reported. What does not fit (a name that is taken, a threshold or period when the
manager is there already, a clock that goes back) does nothing, and is answered with False. A function that changed what
it was handed is answered for with that.
"""

from copy import deepcopy


def _short(found):
    shown = isinstance(found, (int, float, str, list, tuple, dict, type(None)))
    return repr(found)[:60] if shown else f"a {type(found).__name__}"


def _names(found, who, known, what):
    if not isinstance(found, (list, tuple)):
        raise TypeError(f"{who}: expected a list of names, found {_short(found)}")
    for one in found:
        if not isinstance(one, str) or one not in known:
            raise TypeError(f"{who}: expected the name of a {what}, found {_short(one)}")
    return list(found)


class Changed(Exception):
    """A function wrote into what it was handed."""


class Player:
    """Pods and thresholds by name, and the learner's manager once somebody looks."""

    def __init__(self, names):
        self.learner = names
        self.pods, self.thresholds, self.since = {}, {}, {}
        self.seconds, self.manager, self.clock, self.held = 300, None, 0, 0
        self.kept = []

    # -- what comes and goes ---------------------------------------------------------------------

    def pod(self, name, request, used, priority, critical=""):
        if name in self.pods:
            return False
        use = None if used == "-" else int(used)
        numbers = {"request": int(request), "used": use, "priority": int(priority)}
        self.pods[name] = {"name": name, **numbers, "critical": critical == "critical"}
        return True

    def threshold(self, name, below, grace, reclaim):
        if name in self.thresholds or self.manager is not None:
            return False
        numbers = {"below": int(below), "grace": int(grace), "reclaim": int(reclaim)}
        self.thresholds[name] = {"name": name, **numbers}
        return True

    def period(self, seconds):
        if self.manager is not None:
            return False
        self.seconds = int(seconds)
        return True

    # -- questions -------------------------------------------------------------------------------

    def ask(self, who, **handed):
        """What a function answers."""
        return self.called(self.learner[who], who, handed)

    @staticmethod
    def called(function, who, handed):
        before = deepcopy(handed)
        found = function(*handed.values())
        for name, value in handed.items():
            if value != before[name]:
                raise Changed(f"{who} changed the {name} it was handed")
        return found

    def order(self):
        found = self.ask("order", pods=[dict(pod) for pod in self.pods.values()])
        if not isinstance(found, (list, tuple)):
            raise TypeError(f"order: expected a list of Pods, found {_short(found)}")
        for one in found:
            if not isinstance(one, dict) or one.get("name") not in list(self.pods):
                raise TypeError(f"order: expected a Pod that it was given, found {_short(one)}")
        return " ".join(one["name"] for one in found) or "nobody"

    def listed(self):
        return [dict(threshold) for threshold in self.thresholds.values()]

    def crossed(self, free, *before):
        acted = [name for name in before if name in self.thresholds]
        found = self.ask("crossed", thresholds=self.listed(), free=int(free), before=acted)
        return " ".join(_names(found, "crossed", self.thresholds, "threshold")) or "none"

    def hold(self, now, *crossed):
        if int(now) < self.held:
            return False
        self.held = int(now)
        names = [name for name in crossed if name in self.thresholds]
        found = self.ask("hold", thresholds=self.listed(), names=names, since=dict(self.since), now=int(now))
        if not isinstance(found, (list, tuple)) or len(found) != 2 or not isinstance(found[0], dict):
            raise TypeError(f"hold: expected (since, due), found {_short(found)}")
        since, due = found
        _names(list(since), "hold", self.thresholds, "threshold")
        for one in since.values():
            if type(one) is not int:
                raise TypeError(f"hold: expected a whole second, found {_short(one)}")
        self.since = dict(since)
        told = ", ".join(f"{name} since {since[name]}" for name in self.thresholds if name in since) or "nothing"
        return f"{told}; due: {' '.join(_names(due, 'hold', self.thresholds, 'threshold')) or 'none'}"

    def managed(self):
        if self.manager is None:
            self.kept = self.listed()
            self.manager = self.learner["EvictionManager"](self.kept, self.seconds)
        self.compare()
        return self.manager

    def compare(self):
        """The manager may keep the thresholds that it was handed, not change them."""
        if self.kept != self.listed():
            raise Changed("EvictionManager changed the thresholds it was handed")

    def look(self, free, now):
        if int(now) < self.clock:
            return False
        self.clock = int(now)
        pods = [dict(pod) for pod in self.pods.values()]
        found = self.called(self.managed().look, "look", {"pods": pods, "free": int(free), "now": int(now)})
        self.compare()
        if found is None:
            return "nobody"
        if not isinstance(found, str) or found not in self.pods:
            raise TypeError(f"look: expected the name of a Pod or None, found {_short(found)}")
        del self.pods[found]
        return f"evicts {found}"

    def pressure(self, now):
        if int(now) < self.clock:
            return False
        self.clock = int(now)
        found = self.managed().pressure(int(now))
        if found is not True and found is not False:
            raise TypeError(f"pressure: expected True or False, found {_short(found)}")
        return "yes" if found else "no"


def drive(names, setting):
    player = Player(names)

    def do(verb, *words):
        try:
            return getattr(player, verb)(*words)
        except Changed as changed:
            return f"wrong: {changed}"

    return do
