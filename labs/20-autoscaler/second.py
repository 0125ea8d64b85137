"""Another correct solution, built otherwise: copies that Pods are really put on, and one search for all."""

from copy import deepcopy


def settle(pod, nodes):
    """Put the Pod on the first node that takes it; its name, or None."""
    for node in nodes:
        free = node["cpu"] - sum(one["cpu"] for one in node["pods"])
        if free >= pod["cpu"] and (not pod["needs"] or pod["needs"] == node["has"]):
            node["pods"].append(pod)
            return node["name"]
    return None


def by_size(pods):
    return sorted(pods, key=lambda pod: pod["cpu"], reverse=True)


def estimate(pods, group):
    new, placed = [], []
    for pod in by_size(pods):
        blank = {"name": "new", "has": group["has"], "cpu": group["cpu"] - group["daemons"], "pods": []}
        if settle(pod, new) is not None:
            placed.append(pod["name"])
        elif group["size"] + len(new) < group["max"] and settle(pod, [blank]) is not None:
            new.append(blank)
            placed.append(pod["name"])
    return len(new), placed


def choose(options):
    return max(options, key=lambda one: one["used"] / one["cpu"] / one["nodes"])["group"]


def scale_up(pods, nodes, groups):
    copies = deepcopy(nodes)
    left = [pod for pod in pods if settle(pod, copies) is None]
    found = {}
    for name, group in groups.items():
        number, placed = estimate(left, group)
        if placed:
            used = sum(pod["cpu"] for pod in left if pod["name"] in placed)
            found[name] = {"group": name, "cpu": group["cpu"], "nodes": number, "used": used}
    if not found:
        return None
    chosen = choose(list(found.values()))
    return chosen, found[chosen]["nodes"]


def blocks(pod):
    if pod["daemon"]:
        return False
    if pod["safe"]:
        return pod["safe"] == "false"
    return pod["owner"] == "" or pod["disk"]


def place(node, others):
    copies = deepcopy(others)
    found = {pod["name"]: settle(pod, copies) for pod in by_size(node["pods"]) if not pod["daemon"]}
    return None if None in found.values() else found


def unneeded(nodes):
    idle = {node["name"] for node in nodes if sum(pod["cpu"] for pod in node["pods"]) <= node["cpu"] / 2}
    left = {node["name"]: deepcopy(node) for node in nodes}
    gone = []
    for name in [node["name"] for node in nodes if node["name"] in idle]:
        node = left.pop(name)
        found = None if any(map(blocks, node["pods"])) else place(node, list(left.values()))
        if found is None:
            order = [one["name"] for one in nodes]
            left = {one: node if one == name else left[one] for one in order if one == name or one in left}
            continue
        for pod in node["pods"]:
            if not pod["daemon"]:
                left[found[pod["name"]]]["pods"].append(pod)
        gone.append(name)
    return gone


def due(unneeded, since, now, node_groups, groups):
    kept = {name: second for name, second in since.items() if name in unneeded}
    for name in unneeded:
        kept.setdefault(name, now)
    remove = []
    for name in unneeded:
        own = groups[node_groups[name]]
        going = sum(node_groups[other] == node_groups[name] for other in remove)
        if kept[name] + 600 < now and own["size"] - going - 1 >= own["min"]:
            remove.append(name)
    return kept, remove
