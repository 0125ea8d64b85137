"""Another correct solution, built otherwise: fractions for ratios, a deque that forgets, limits as a table."""

from collections import deque
from fractions import Fraction
from math import ceil

LOW, HIGH = Fraction(9, 10), Fraction(11, 10)


def ratio_of(target, usages):
    return Fraction(sum(usages) // len(usages), target)


def wanted(target, usages, current):
    ratio = ratio_of(target, usages)
    return current if LOW <= ratio <= HIGH else ceil(ratio * len(usages))


def cautious(target, usages, missing, starting):
    if not usages:
        return None
    everybody = len(usages) + missing + starting
    before = ratio_of(target, usages)
    if before > 1:
        idle, busy = missing + starting, 0
    else:
        idle, busy = 0, missing if before < 1 else 0
    counted = [*usages, *[0] * idle, *[max(100, target)] * busy]
    after = ratio_of(target, counted)
    if min(before, after) < 1 < max(before, after):
        return everybody
    return wanted(target, counted, everybody)


def greatest(current, proposals):
    best = -1
    for one in proposals:
        if one is not None and one > best:
            best = one
    if best == -1 or (None in proposals and best < current):
        return None
    return best


class Window:
    def __init__(self, seconds):
        self.seconds = seconds
        self.told = deque()

    def decide(self, now, asked):
        self.told.append((now, asked))
        while now - self.told[0][0] > self.seconds:
            self.told.popleft()
        return max(count for _, count in self.told)


def limited(current, wanted, most, policies, select, added):
    limits = []
    for policy in policies:
        start = current
        for ago, many in added:
            if ago < policy["period"]:
                start -= many
        more = policy["value"] if policy["type"] == "pods" else ceil(Fraction(start * policy["value"], 100))
        limits.append(start + more)
    limits.sort()
    chosen = limits[-1] if select == "Max" else limits[0]
    return min(max(chosen, current), wanted, most)
