"""Another correct solution, built otherwise: fractions for floats where that is exact, Counters for the zones."""

from collections import Counter
from fractions import Fraction
from math import sqrt


def least_allocated(requested, allocatable, weights):
    rows = [row for row in zip(requested, allocatable, weights, strict=True) if row[1] > 0]
    if not rows:
        return 0
    whole = sum(weight for _, _, weight in rows)
    total = sum(weight * (100 * max(has - used, 0) // has) for used, has, weight in rows)
    return total // whole


def balance(requested, allocatable):
    shares = [min(Fraction(used, has), 1) for used, has in zip(requested, allocatable, strict=True) if has]
    if len(shares) < 2:
        return 100
    if len(shares) == 2:
        return int(100 - 50 * abs(shares[0] - shares[1]))
    mean = Fraction(sum(shares), len(shares))
    return int(100 * (1 - sqrt(sum((share - mean) ** 2 for share in shares) / len(shares))))


def balanced_allocation(used, pod, allocatable):
    full = [one + two for one, two in zip(used, pod, strict=True)]
    return (150 + balance(full, allocatable) - balance(used, allocatable)) // 2


def count_domains(key, app, nodes, pods):
    zones = {name: labels[key] for name, labels in nodes.items() if key in labels}
    stay = Counter(zones.get(pod["node"]) for pod in pods if pod["app"] == app and not pod["terminating"])
    return {zone: stay[zone] for zone in zones.values()}


def fits(constraint, app, node, nodes, pods):
    domain = nodes[node].get(constraint["key"])
    counts = count_domains(constraint["key"], constraint["app"], nodes, pods)
    if domain not in counts:
        return False
    after = counts[domain] + (app == constraint["app"])
    floor = sorted(counts.values())[0] if len(counts) >= constraint["min_domains"] else 0
    return after <= floor + constraint["max_skew"]


def spread_points(crowds):
    known = sorted(crowd for crowd in crowds if crowd is not None)
    if not known:
        return [0] * len(crowds)
    low, high = known[0], known[-1]
    return [0 if crowd is None else 100 if high == 0 else 100 * (low + high - crowd) // high for crowd in crowds]
