"""Plays operations on a learner's functions. Runs in the child, next to the learner's code; knows nothing of what is
right.

`node n1 4` has 4 CPUs; `pod a n1 web 2 5 30` puts a Pod of app web there that asks for 2 CPUs, has priority 5 and
started at second 30; `budget web 1` allows one disruption of that app. What does not fit (a Node that is not there, a
name or a start that is taken) does nothing, and is answered with False. Candidates are written `n1:0:5@30,2@10`: Node,
violations, and the victims with priority and start. A function that changed what it was handed is answered for with
that.
"""

from copy import deepcopy


def _short(found):
    shown = isinstance(found, (int, float, str, list, tuple, dict, type(None)))
    return repr(found)[:60] if shown else f"a {type(found).__name__}"


def _is_pair(found):
    return isinstance(found, (list, tuple)) and len(found) == 2


def _names(found, who, known):
    """Names of Pods, which must be some of those that were handed over."""
    if not isinstance(found, (list, tuple)):
        raise TypeError(f"{who}: expected a list of Pods, found {_short(found)}")
    for one in found:
        if not isinstance(one, dict) or one.get("name") not in known:
            raise TypeError(f"{who}: expected a Pod that it was given, found {_short(one)}")
    return [one["name"] for one in found]


class Changed(Exception):
    """A function wrote into what it was handed."""


class Player:
    """Nodes, Pods and budgets by name."""

    def __init__(self, names):
        self.learner = names
        self.cpus, self.pods, self.budgets = {}, {}, {}

    # -- what comes and goes ---------------------------------------------------------------------

    def node(self, name, cpu):
        if name in self.cpus:
            return False
        self.cpus[name] = int(cpu)
        return True

    def pod(self, name, on, app, cpu, priority, started):
        taken = any(pod["started"] == int(started) for pod in self.pods.values())
        if on not in self.cpus or name in self.pods or taken:
            return False
        numbers = {"cpu": int(cpu), "priority": int(priority), "started": int(started)}
        self.pods[name] = {"name": name, "node": on, "app": app, **numbers}
        return True

    def budget(self, app, allowed):
        self.budgets[app] = int(allowed)
        return True

    # -- what is handed over ---------------------------------------------------------------------

    def on(self, name):
        return [self.plain(pod) for pod in self.pods.values() if pod["node"] == name]

    @staticmethod
    def plain(pod):
        return {key: value for key, value in pod.items() if key != "node"}

    @staticmethod
    def new(cpu, priority, policy="PreemptLowerPriority"):
        return {"name": "new", "app": "new", "cpu": int(cpu), "priority": int(priority), "policy": policy}

    # -- questions -------------------------------------------------------------------------------

    def ask(self, who, **handed):
        """What a function answers."""
        before = deepcopy(handed)
        found = self.learner[who](*handed.values())
        for name, value in handed.items():
            if value != before[name]:
                raise Changed(f"{who} changed the {name} it was handed")
        return found

    def order(self, name):
        if name not in self.cpus:
            return "no such node"
        return " ".join(_names(self.ask("by_importance", pods=self.on(name)), "by_importance", self.pods))

    def split(self, *apps):
        """Pods of these apps, in this order, against the budgets."""
        pods = [{"name": f"p{number}", "app": app} for number, app in enumerate(apps, 1)]
        found = self.ask("split_by_budget", pods=pods, budgets=dict(self.budgets))
        if not _is_pair(found) or not all(isinstance(part, (list, tuple)) for part in found):
            raise TypeError(f"split_by_budget: expected two lists, found {_short(found)}")
        known = {pod["name"] for pod in pods}
        breaking, others = (_names(part, "split_by_budget", known) for part in found)
        return f"{' '.join(breaking) or 'none'} | {' '.join(others) or 'none'}"

    def victims(self, name, cpu, priority):
        if name not in self.cpus:
            return "no such node"
        here = {"cpu": self.cpus[name], "pods": self.on(name), "budgets": dict(self.budgets)}
        found = self.ask("victims_on", pod=self.new(cpu, priority), **here)
        if found is None:
            return "no candidate"
        if not _is_pair(found) or type(found[1]) is not int:
            raise TypeError(f"victims_on: expected None or (victims, violations), found {_short(found)}")
        return f"{' '.join(_names(found[0], 'victims_on', self.pods)) or 'nobody'}, {found[1]} against a budget"

    def pick(self, *words):
        candidates = []
        for word in words:
            node, violations, victims = word.split(":")
            pods = [one.split("@") for one in victims.split(",")]
            listed = [
                {"name": f"{node}-{number}", "priority": int(priority), "started": int(started)}
                for number, (priority, started) in enumerate(pods, 1)
            ]
            candidates.append({"node": node, "violations": int(violations), "victims": listed})
        found = self.ask("pick", candidates=candidates)
        if not isinstance(found, str):
            raise TypeError(f"pick: expected the name of a Node, found {_short(found)}")
        return found

    def preempt(self, cpu, priority, policy="PreemptLowerPriority"):
        nodes = {name: {"cpu": cpu_of, "pods": self.on(name)} for name, cpu_of in self.cpus.items()}
        new = self.new(cpu, priority, policy)
        found = self.ask("preempt", pod=new, nodes=nodes, budgets=dict(self.budgets))
        if found is None:
            return "nobody"
        if not _is_pair(found) or not isinstance(found[0], str):
            raise TypeError(f"preempt: expected None or (node, victims), found {_short(found)}")
        return f"{found[0]}: {' '.join(_names(found[1], 'preempt', self.pods)) or 'nobody'}"


def drive(names, setting):
    player = Player(names)

    def do(verb, *words):
        try:
            return getattr(player, verb)(*words)
        except Changed as changed:
            return f"wrong: {changed}"

    return do
