"""Plays operations on a learner's functions. Runs in the child, next to the learner's code; knows nothing of what is
right.

`want 70 100 90` asks for the count when two Pods use 100 % and 90 % and the target is 70 %; `careful 50 1 2 100 100`
when there are a Pod without a sample and two that are starting beside two at 100 %. `best 5 8 - 3` hands proposals over
for a target with 5 replicas; `-` is a metric that failed. `window 300` makes a Window, `asked 15 8` tells it that 8
were asked for at second 15. `rate 4 20 10 Max pods:4/60 percent:100/15 added:3@20` asks how far 4 replicas may go
towards 20 with a maximum of 10, two policies, and 3 replicas that were added 20 s ago. A function that changed what it
was handed is answered for with that.
"""

from copy import deepcopy


def _short(found):
    shown = isinstance(found, (int, float, str, list, tuple, dict, type(None)))
    return repr(found)[:60] if shown else f"a {type(found).__name__}"


def _count(found, who, *, may_be_none=False):
    """A whole number of replicas, or None where that is an answer."""
    if found is None and may_be_none:
        return "no count"
    if type(found) is not int:
        kind = "None or a whole number" if may_be_none else "a whole number"
        raise TypeError(f"{who}: expected {kind} of replicas, found {_short(found)}")
    return str(found)


class Changed(Exception):
    """A function wrote into what it was handed."""


class Player:
    """The functions, and a Window once there is one."""

    def __init__(self, names):
        self.learner = names
        self.made = None

    def call(self, who, **handed):
        """What a function answers."""
        before = deepcopy(handed)
        found = self.learner[who](*handed.values())
        for name, value in handed.items():
            if value != before[name]:
                raise Changed(f"{who} changed the {name} it was handed")
        return found

    def want(self, target, *usages):
        used = [int(one) for one in usages]
        if not used:
            return "no Pods"
        return _count(self.call("wanted", target=int(target), usages=used, current=len(used)), "wanted")

    def careful(self, target, missing, starting, *usages):
        used = [int(one) for one in usages]
        handed = {"target": int(target), "usages": used, "missing": int(missing), "starting": int(starting)}
        return _count(self.call("cautious", **handed), "cautious", may_be_none=True)

    def best(self, current, *proposals):
        listed = [None if one == "-" else int(one) for one in proposals]
        if not listed:
            return "no metrics"
        found = self.call("greatest", current=int(current), proposals=listed)
        return _count(found, "greatest", may_be_none=True)

    def window(self, seconds):
        self.made = self.learner["Window"](int(seconds))
        return True

    def asked(self, now, count):
        if self.made is None:
            return False
        return _count(self.made.decide(int(now), int(count)), "decide")

    def rate(self, current, wanted, most, select, *words):
        policies, added = [], []
        for word in words:
            kind, _, numbers = word.partition(":")
            if kind == "added":
                many, _, ago = numbers.partition("@")
                added.append((int(ago), int(many)))
            else:
                value, _, period = numbers.partition("/")
                policies.append({"type": kind, "value": int(value), "period": int(period)})
        if not policies:
            return "no policy"
        handed = {"current": int(current), "wanted": int(wanted), "most": int(most), "policies": policies}
        return _count(self.call("limited", **handed, select=select, added=added), "limited")


def drive(names, setting):
    player = Player(names)

    def do(verb, *words):
        try:
            return getattr(player, verb)(*words)
        except Changed as changed:
            return f"wrong: {changed}"

    return do
