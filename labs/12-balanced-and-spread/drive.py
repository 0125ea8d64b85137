"""Plays operations on a learner's functions. Runs in the child, next to the learner's code; knows nothing of what is
right.

Resources are written `used/has`, with a weight `used/has:2` or with what the Pod asks `used+pod/has`. In the setting
"spread" Nodes and Pods come and go here; the functions are handed plain dicts and lists. What does not fit (a Pod on a
Node that is not there, a name that is taken) does nothing, and is answered with False.
"""

from collections.abc import Mapping


def _number(found, name):
    if type(found) is not int:
        raise TypeError(f"{name}: expected an int, found {_short(found)}")
    return found


def _short(found):
    shown = isinstance(found, (int, float, str, list, tuple, dict, type(None)))
    return repr(found)[:60] if shown else f"a {type(found).__name__}"


def _parts(words):
    """`1000+500/4000:2` as (used, pod, has, weight)."""
    for word in words:
        left, _, right = word.partition("/")
        used, _, pod = left.partition("+")
        has, _, weight = right.partition(":")
        yield int(used), int(pod or 0), int(has), int(weight or 1)


def scores(names):
    def least(*words):
        used, _, has, weights = map(list, zip(*_parts(words), strict=True))
        return _number(names["least_allocated"](used, has, weights), "least_allocated")

    def balance(*words):
        used, _, has, _ = map(list, zip(*_parts(words), strict=True))
        return _number(names["balance"](used, has), "balance")

    def balanced(*words):
        used, pod, has, _ = map(list, zip(*_parts(words), strict=True))
        return _number(names["balanced_allocation"](used, pod, has), "balanced_allocation")

    def points(*words):
        found = names["spread_points"]([None if word == "-" else int(word) for word in words])
        if not isinstance(found, (list, tuple)) or any(type(one) is not int for one in found):
            raise TypeError(f"spread_points: expected a list of ints, found {_short(found)}")
        return " ".join(map(str, found))

    return {"least": least, "balance": balance, "balanced": balanced, "points": points}


def spread(names):
    nodes, pods = {}, {}

    def handed():
        return {name: dict(labels) for name, labels in nodes.items()}, [dict(pod) for pod in pods.values()]

    def node(name, zone):
        if name in nodes:
            return False
        nodes[name] = {} if zone == "-" else {"zone": zone}
        return True

    def pod(name, on, app):
        if name in pods or on not in nodes:
            return False
        pods[name] = {"name": name, "node": on, "app": app, "terminating": False}
        return True

    def terminate(name):
        if name not in pods:
            return False
        pods[name]["terminating"] = True
        return True

    def delete(name):
        return pods.pop(name, None) is not None

    def count(app):
        found = names["count_domains"]("zone", app, *handed())
        by_zone = isinstance(found, Mapping) and all(isinstance(one, str) for one in found)
        if not by_zone or any(type(number) is not int for number in found.values()):
            raise TypeError(f"count_domains: expected a dict of ints by zone, found {_short(found)}")
        return " ".join(f"{zone}={found[zone]}" for zone in sorted(found))

    def fits(on, app, max_skew, min_domains="1", selects="web"):
        if on not in nodes:
            return "no such node"
        constraint = {
            "key": "zone",
            "app": selects,
            "max_skew": int(max_skew),
            "min_domains": int(min_domains),
        }
        found = names["fits"](constraint, app, on, *handed())
        if type(found) is not bool:
            raise TypeError(f"fits: expected True or False, found {_short(found)}")
        return "yes" if found else "no"

    return {"node": node, "pod": pod, "terminate": terminate, "delete": delete, "count": count, "fits": fits}


def drive(names, setting):
    verbs = spread(names) if setting == "spread" else scores(names)
    return lambda verb, *words: verbs[verb](*words)
