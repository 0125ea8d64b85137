"""Plays operations on a learner's functions. Runs in the child, next to the learner's code; knows nothing of what is
right.

`group small 4 0 9 1 -`: machines with 4 CPUs, at least 0 and at most 9 of them, daemons that take 1 CPU of each, no
label. `node n1 small ready` (or `coming`) is one of them. `pod a n1 web 2 1 - -`: Pod a on n1, owned by web (`-`: by
nobody), asks for 2 CPUs, uses 1, needs no label, has no mark (`disk`, `safe`, `unsafe`, `disk+safe`); on `-` it waits.
What does not fit does nothing, and is answered with False. A function that changed what it was handed is answered for
with that.
"""

from copy import deepcopy


def _short(found):
    shown = isinstance(found, (int, float, str, list, tuple, dict, type(None)))
    return repr(found)[:60] if shown else f"a {type(found).__name__}"


def _is_pair(found):
    return isinstance(found, (list, tuple)) and len(found) == 2


def _names(found, who, what, known):
    """Names, which must be some of those that were handed over."""
    if not isinstance(found, (list, tuple)):
        raise TypeError(f"{who}: expected a list of names of {what}, found {_short(found)}")
    for one in found:
        if not isinstance(one, str) or one not in known:
            raise TypeError(f"{who}: expected the name of one of the {what} it was given, found {_short(one)}")
    return sorted(found)


class Changed(Exception):
    """A function wrote into what it was handed."""


class Player:
    """Groups, Nodes and Pods by name; how long Nodes are unneeded, as the learner keeps it."""

    def __init__(self, names):
        self.learner = names
        self.groups, self.nodes, self.pods = {}, {}, {}
        self.since, self.now = {}, 0

    # -- what comes and goes ---------------------------------------------------------------------

    def group(self, name, cpu, least, most, daemons, has):
        if name in self.groups:
            return False
        numbers = {"cpu": int(cpu), "min": int(least), "max": int(most), "daemons": int(daemons), "size": 0}
        self.groups[name] = {"name": name, "has": has.strip("-"), **numbers}
        return True

    def node(self, name, group, state):
        if group not in self.groups or name in self.nodes:
            return False
        own = self.groups[group]
        own["size"] += 1
        self.nodes[name] = {
            "name": name, "group": group, "cpu": own["cpu"], "has": own["has"], "coming": state == "coming", "pods": [],
        }  # fmt: skip
        if own["daemons"]:
            self.nodes[name]["pods"].append(
                {"name": f"ds-{name}", "owner": "ds", "cpu": own["daemons"], "uses": own["daemons"], "needs": "",
                 "disk": False, "safe": "", "daemon": True}
            )  # fmt: skip
        return True

    def pod(self, name, on, owner, cpu, uses, needs, mark):
        if name in self.pods or (on != "-" and on not in self.nodes):
            return False
        pod = {
            "name": name, "owner": owner.strip("-"), "cpu": int(cpu), "uses": int(uses), "needs": needs.strip("-"),
            "disk": "disk" in mark, "safe": "false" if "unsafe" in mark else "true" if "safe" in mark else "",
            "daemon": False,
        }  # fmt: skip
        if on != "-":
            node = self.nodes[on]
            used = sum(one["cpu"] for one in node["pods"])
            if node["coming"] or used + pod["cpu"] > node["cpu"] or pod["needs"] not in ("", node["has"]):
                return False
            node["pods"].append(pod)
        self.pods[name] = (on, pod)
        return True

    # -- questions -------------------------------------------------------------------------------

    def ask(self, who, **handed):
        """What a function answers."""
        before = deepcopy(handed)
        given = deepcopy(handed)
        found = self.learner[who](*given.values())
        for name, value in given.items():
            if value != before[name]:
                raise Changed(f"{who} changed the {name} it was handed")
        return found

    def waiting(self):
        return [pod for on, pod in self.pods.values() if on == "-"]

    def ready(self):
        return [node for node in self.nodes.values() if not node["coming"]]

    def estimate(self, group):
        if group not in self.groups:
            return "no such group"
        pods = self.waiting()
        found = self.ask("estimate", pods=pods, group=self.groups[group])
        if not _is_pair(found) or type(found[0]) is not int:
            raise TypeError(f"estimate: expected (a number of nodes, names of Pods), found {_short(found)}")
        placed = _names(found[1], "estimate", "Pods", [pod["name"] for pod in pods])
        return f"{found[0]} for {' '.join(placed) or 'nobody'}"

    def choose(self, *words):
        options = []
        for word in words:
            group, cpu, nodes, used = word.split(":")
            options.append({"group": group, "cpu": int(cpu), "nodes": int(nodes), "used": int(used)})
        found = self.ask("choose", options=options)
        if not isinstance(found, str):
            raise TypeError(f"choose: expected the name of a group, found {_short(found)}")
        return found

    def grow(self):
        found = self.ask("scale_up", pods=self.waiting(), nodes=list(self.nodes.values()), groups=self.groups)
        if found is None:
            return "nothing"
        if not _is_pair(found) or not isinstance(found[0], str) or type(found[1]) is not int:
            raise TypeError(f"scale_up: expected None or (group, number of nodes), found {_short(found)}")
        return f"{found[0]} +{found[1]}"

    def blocks(self, name):
        if name in self.nodes and self.nodes[name]["pods"] and self.nodes[name]["pods"][0]["daemon"]:
            pod = self.nodes[name]["pods"][0]
        elif name in self.pods:
            pod = self.pods[name][1]
        else:
            return "no such Pod"
        found = self.ask("blocks", pod=pod)
        if type(found) is not bool:
            raise TypeError(f"blocks: expected True or False, found {_short(found)}")
        return "stays" if found else "may go"

    def place(self, name):
        if name not in self.nodes or self.nodes[name]["coming"]:
            return "no such node"
        others = [node for node in self.ready() if node["name"] != name]
        found = self.ask("place", node=self.nodes[name], others=others)
        if found is None:
            return "no place"
        if not isinstance(found, dict):
            raise TypeError(f"place: expected None or {{Pod: Node}}, found {_short(found)}")
        pods = _names(list(found), "place", "Pods", [pod["name"] for pod in self.nodes[name]["pods"]])
        _names(list(found.values()), "place", "other Nodes", [node["name"] for node in others])
        return " ".join(f"{pod}>{found[pod]}" for pod in pods) or "nothing to move"

    def unneeded(self):
        nodes = self.ready()
        found = self.ask("unneeded", nodes=nodes)
        return " ".join(_names(found, "unneeded", "Nodes", [node["name"] for node in nodes])) or "none"

    def due(self, now, *names):
        if int(now) < self.now:
            return "time does not go back"
        self.now = int(now)
        known = [name for name in dict.fromkeys(names) if name in self.nodes]
        groups = {name: {"size": one["size"], "min": one["min"]} for name, one in self.groups.items()}
        node_groups = {name: node["group"] for name, node in self.nodes.items()}
        found = self.ask("due", unneeded=known, since=self.since, now=self.now, node_groups=node_groups, groups=groups)
        if not _is_pair(found) or not isinstance(found[0], dict):
            raise TypeError(f"due: expected ({{Node: second}}, names of Nodes), found {_short(found)}")
        if any(type(second) not in (int, float) for second in found[0].values()):
            raise TypeError(f"due: expected seconds by Node, found {_short(found[0])}")
        self.since = dict(found[0])
        return " ".join(_names(found[1], "due", "Nodes", self.nodes)) or "none"


def drive(names, setting):
    player = Player(names)

    def do(verb, *words):
        try:
            return getattr(player, verb)(*words)
        except Changed as changed:
            return f"wrong: {changed}"

    return do
