"""Another correct solution, built otherwise: groups that are sorted one by one, and clocks as objects."""


def order(pods):
    def amount(pod):
        return pod["used"] - pod["request"]

    unmeasured = [pod for pod in pods if pod["used"] is None]
    above = [pod for pod in pods if pod["used"] is not None and amount(pod) > 0]
    below = [pod for pod in pods if pod["used"] is not None and amount(pod) <= 0]
    answer = sorted(unmeasured, key=lambda pod: pod["priority"])
    for part in (above, below):
        by_amount = sorted(part, key=amount, reverse=True)
        answer += sorted(by_amount, key=lambda pod: pod["priority"])
    return answer


def crossed(thresholds, free, before):
    bounds = {one["name"]: one["below"] for one in thresholds}
    for one in thresholds:
        if one["name"] in before:
            bounds[one["name"]] += one["reclaim"]
    return [name for name, bound in bounds.items() if bound > free]


def hold(thresholds, names, since, now):
    fresh = {}
    for name in names:
        fresh[name] = min(now, since.get(name, now))
    due = [one["name"] for one in thresholds if one["name"] in fresh and fresh[one["name"]] + one["grace"] <= now]
    return fresh, due


class EvictionManager:
    def __init__(self, thresholds, period):
        self.thresholds = list(thresholds)
        self.period = period
        self.since = {}
        self.due = []
        self.until = None

    def look(self, pods, free, now):
        names = crossed(self.thresholds, free, self.due)
        if names:
            self.until = now + self.period
        self.since, self.due = hold(self.thresholds, names, self.since, now)
        if not self.due:
            return None
        candidates = [pod["name"] for pod in order(pods) if not pod["critical"]]
        return candidates[0] if candidates else None

    def pressure(self, now):
        return self.until is not None and now < self.until
