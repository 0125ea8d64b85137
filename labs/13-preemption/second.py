"""Another correct solution, built otherwise: names for who stays, and columns that filter one after the other."""

from collections import Counter


def by_importance(pods):
    longest_running = sorted(pods, key=lambda pod: pod["started"])
    return sorted(longest_running, key=lambda pod: pod["priority"], reverse=True)


def split_by_budget(pods, budgets):
    seen = Counter()
    breaks = []
    for pod in pods:
        seen[pod["app"]] += 1
        breaks.append(pod["app"] in budgets and seen[pod["app"]] > budgets[pod["app"]])
    return (
        [pod for pod, broken in zip(pods, breaks, strict=True) if broken],
        [pod for pod, broken in zip(pods, breaks, strict=True) if not broken],
    )


def victims_on(pod, cpu, pods, budgets):
    lower = [one for one in by_importance(pods) if pod["priority"] > one["priority"]]
    ids = {one["name"] for one in lower}
    staying = {one["name"]: one["cpu"] for one in pods if one["name"] not in ids}

    def fits():
        return sum(staying.values()) <= cpu - pod["cpu"]

    if not lower or not fits():
        return None
    breaking, others = split_by_budget(lower, budgets)
    gone = set()
    for one in breaking + others:
        staying[one["name"]] = one["cpu"]
        if not fits():
            del staying[one["name"]]
            gone.add(one["name"])
    if not gone:
        return None
    return [one for one in lower if one["name"] in gone], len(gone & {one["name"] for one in breaking})


def pick(candidates):
    def latest(one):
        top = max(victim["priority"] for victim in one["victims"])
        return -min(victim["started"] for victim in one["victims"] if victim["priority"] == top)

    columns = [
        lambda one: one["violations"],
        lambda one: max(victim["priority"] for victim in one["victims"]),
        lambda one: sum(victim["priority"] + (1 << 31) for victim in one["victims"]),
        lambda one: len(one["victims"]),
        latest,
    ]
    left = list(candidates)
    for column in columns:
        least = min(map(column, left))
        left = [one for one in left if column(one) == least]
    return left[0]["node"]


def preempt(pod, nodes, budgets):
    if pod["policy"] == "Never":
        return None
    found = {}
    for name, node in nodes.items():
        answer = victims_on(pod, node["cpu"], node["pods"], budgets)
        if answer is not None:
            found[name] = {"node": name, "victims": answer[0], "violations": answer[1]}
    if not found:
        return None
    chosen = pick(list(found.values()))
    return chosen, found[chosen]["victims"]
