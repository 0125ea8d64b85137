"""Lab 19: replicas by the load, judged over what the functions answered.

Upstream: pkg/controller/podautoscaler/replica_calculator.go (GetResourceReplicas),
pkg/controller/podautoscaler/horizontal.go (computeReplicasForMetrics, stabilizeRecommendation,
calculateScaleUpLimitWithScalingRules)
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from k8slab.lab import Broken, Check, LabSpec, Op, Step

Judge = Callable[[Sequence[Step]], Broken | None]
NO_COUNT = "no count"
UNASKED = ("no Pods", "no metrics", "no policy")
"""What the words do not ask anything with."""


def up(number: int, by: int) -> int:
    """A division, rounded up."""
    return -(-number // by)


# -- the rules, and the mistakes that are told apart ------------------------------------------------


class Rule(NamedTuple):
    """How a count is made of usages; every field but the defaults is a mistake."""

    tolerant: bool = True
    rounding: str = "up"
    truncated: bool = True
    edges: bool = True
    points: bool = False
    by: str = "mean"


RIGHT = Rule()


def mean(usages: Sequence[int], rule: Rule = RIGHT) -> float:
    if rule.by == "highest":
        return max(usages)
    if rule.by == "sum":
        return sum(usages)
    return sum(usages) // len(usages) if rule.truncated else sum(usages) / len(usages)


def near(target: int, used: float, rule: Rule = RIGHT) -> bool:
    """Within the tolerance of a tenth of the target."""
    if not rule.tolerant:
        return used == target
    if rule.points:
        return abs(used - target) <= 10
    if not rule.edges:
        return abs(1 - used / target) <= 0.1
    return 9 * target <= 10 * used <= 11 * target


def wanted(target: int, usages: Sequence[int], current: int, rule: Rule = RIGHT) -> int:
    used = mean(usages, rule)
    if near(target, used, rule):
        return current
    exact = used * len(usages) / target
    if rule.rounding == "down":
        return math.floor(exact + 1e-9)
    if rule.rounding == "nearest":
        return round(exact)
    return math.ceil(exact - 1e-9)


class Fill(NamedTuple):
    """What Pods without a usable sample count as; every field but the defaults is a mistake."""

    up: int | None = 0
    down: int | None = 100
    over_100: bool = True
    starting_up: bool = True
    starting_down: bool = False
    turns: bool = True
    alike: bool = False
    blind: str = NO_COUNT
    counted_only: bool = False


def cautious(target: int, usages: Sequence[int], missing: int, starting: int, fill: Fill) -> str:
    current = len(usages) + missing + starting
    if not usages:
        return fill.blind if fill.blind != "current" else str(current)
    used = int(mean(usages))
    if fill.alike:
        return str(current if near(target, used) else up(used * current, target))
    counted = list(usages)
    if used > target:
        late = missing + starting if fill.starting_up else missing
        counted += [] if fill.up is None else [fill.up] * late
    elif used < target:
        whole = max(100, target) if fill.over_100 and fill.down == 100 else fill.down
        late = missing + starting if fill.starting_down else missing
        counted += [] if whole is None else [whole] * late
    after = int(mean(counted))
    stays = len(counted) if fill.counted_only else current
    if near(target, after) or (fill.turns and (after - target) * (used - target) < 0):
        return str(stays)
    return str(up(after * len(counted), target))


FILLED_RIGHT = Fill()

CAREFUL_MISTAKES: Mapping[str, Fill] = {
    "alike": Fill(alike=True),
    "left-out": Fill(up=None, down=None),
    "zero": Fill(down=0),
    "whole": Fill(up=100),
    "not-on-the-way-down": Fill(down=None),
    "target-on-the-way-down": Fill(over_100=False),
    "turned": Fill(turns=False),
    "starting-left-out": Fill(starting_up=False),
    "starting-on-the-way-down": Fill(starting_down=True),
    "counted-only": Fill(counted_only=True),
    "blind-zero": Fill(blind="0"),
    "blind-current": Fill(blind="current"),
}


def greatest(current: int, proposals: Sequence[int | None], how: str = "") -> str:
    there = [one for one in proposals if one is not None and (one or how != "zero")]
    if not there:
        return {"failing-is-zero": "0", "keeps": str(current)}.get(how, NO_COUNT)
    best = min(there) if how == "least" else there[0] if how == "first" else there[-1] if how == "last" else max(there)
    if how == "mean":
        best = up(sum(there), len(there))
    if len(there) < len(proposals):
        if how == "stops":
            return NO_COUNT
        if how == "keeps":
            return str(max(best, current))
        if how == "equal-too" and best <= current:
            return NO_COUNT
        if how not in ("goes-down", "failing-is-zero") and best < current:
            return NO_COUNT
    return str(best)


BEST_MISTAKES = (
    "goes-down",
    "failing-is-zero",
    "stops",
    "keeps",
    "least",
    "mean",
    "first",
    "last",
    "equal-too",
    "zero",
)


def highest(seconds: int, told: Sequence[tuple[int, int]], how: str = "") -> str:
    """What a window says after the last of (moment, count)."""
    now, newest = told[-1]
    inside = [count for at, count in told if now - at <= seconds]
    if how == "last":
        return str(newest)
    if how == "edge":
        inside = [count for at, count in told if now - at < seconds or at == now]
    if how == "for-ever" or (how == "zero" and not seconds):
        inside = [count for _, count in told]
    if how == "before":
        inside = [count for at, count in told[:-1] if now - at <= seconds] or [newest]
    if how == "mean":
        return str(up(sum(inside), len(inside)))
    if how == "first":
        return str(inside[0])
    return str(max(inside))


def cool_down(seconds: int, told: Sequence[tuple[int, int]]) -> str:
    """A timer that begins with every change."""
    count, changed = told[0][1], told[0][0]
    for at, asked in told:
        if asked > count or (asked != count and at - changed > seconds):
            count, changed = asked, at
    return str(count)


def decided(seconds: int, told: Sequence[tuple[int, int]]) -> str:
    """What it decided is remembered instead of what was asked for: a high count never leaves."""
    history: list[tuple[int, int]] = []
    for at, asked in told:
        inside = [count for then, count in history if at - then <= seconds]
        history.append((at, max([asked, *inside])))
    return str(history[-1][1])


WINDOW_MISTAKES = ("last", "edge", "zero", "for-ever", "before", "mean", "first")


class Limits(NamedTuple):
    """What a question about a rate is made of."""

    current: int
    wanted: int
    most: int
    select: str
    policies: tuple[tuple[str, int, int], ...]
    added: tuple[tuple[int, int], ...]


def limited(asked: Limits, how: str = "") -> str:
    limits = []
    for kind, value, period in asked.policies:
        recent = sum(many for ago, many in asked.added if ago < period)
        if how == "forgets":
            recent = 0
        if how == "all-of-it":
            recent = sum(many for _, many in asked.added)
        if how == "edge":
            recent = sum(many for ago, many in asked.added if ago <= period)
        start = max(1, asked.current - recent) if how == "one-at-least" else asked.current - recent
        if kind == "pods":
            limits.append(start + value)
        elif how == "rounds-down":
            limits.append(start * (100 + value) // 100)
        elif how == "of-now":
            limits.append(start + up(asked.current * value, 100))
        elif how == "ends-there":
            limits.append(up(start * value, 100))
        else:
            limits.append(up(start * (100 + value), 100))
    turned = {"Max": "Min", "Min": "Max"}
    select = turned[asked.select] if how == "turned" else "Max" if how == "always-max" else asked.select
    allowed = max(limits) if select == "Max" else min(limits)
    if how == "adds-up":
        allowed = asked.current + sum(limit - asked.current for limit in limits)
    if how == "too-many-stay":
        return str(min(asked.wanted, max(asked.current, min(asked.most, allowed))))
    if how != "shrinks":
        allowed = max(asked.current, allowed)
    found = [allowed] if how == "ignores-wanted" else [allowed, asked.wanted]
    return str(min(found if how == "ignores-most" else [*found, asked.most]))


RATE_MISTAKES = (
    *("forgets", "all-of-it", "edge", "rounds-down", "of-now", "ends-there", "turned", "always-max", "adds-up"),
    *("one-at-least", "shrinks", "ignores-wanted", "too-many-stay", "ignores-most"),
)


def limits_of(op: Op) -> Limits:
    current, most_wanted, most, select = op[1:5]
    policies, added = [], []
    for word in op[5:]:
        kind, _, numbers = word.partition(":")
        if kind == "added":
            many, _, ago = numbers.partition("@")
            added.append((int(ago), int(many)))
        else:
            value, _, period = numbers.partition("/")
            policies.append((kind, int(value), int(period)))
    return Limits(int(current), int(most_wanted), int(most), select, tuple(policies), tuple(added))


# -- judges ----------------------------------------------------------------------------------------


def judge(verb: str, right: Callable[[Op], str], mistakes: Callable[[Op], Mapping[str, str]]) -> Judge:
    """Each answer to `verb` is the right one; the cause is the mistake that explains every answer so far."""

    def judged(steps: Sequence[Step]) -> Broken | None:
        explains: dict[str, bool] = {}
        for step in steps:
            if str(step.result).startswith("wrong: "):
                return Broken(
                    step.number, f"{step.result.partition(': ')[2]}: whoever called needs it again", "changes"
                )
            if step.verb != verb or step.result in UNASKED:
                continue
            for cause, said in mistakes(step.op).items():
                explains[cause] = explains.get(cause, True) and said == step.result
            expected = right(step.op)
            if step.result != expected:
                cause = next((one for one, all_of_it in explains.items() if all_of_it), "")
                return Broken(step.number, f"it said {step.result}; it should be {expected}", cause)
        return None

    return judged


def _numbers(op: Op) -> list[int]:
    return [int(word) for word in op[1:]]


def _wants(op: Op, rule: Rule = RIGHT) -> str:
    target, *usages = _numbers(op)
    return str(wanted(target, usages, len(usages), rule))


WANT_MISTAKES: Mapping[str, Rule] = {
    "no-tolerance": Rule(tolerant=False),
    "floor": Rule(rounding="down"),
    "nearest": Rule(rounding="nearest"),
    "not-truncated": Rule(truncated=False),
    "points": Rule(points=True),
    "edges": Rule(edges=False),
    "highest": Rule(by="highest"),
    "sum": Rule(by="sum"),
}


def _careful(op: Op, fill: Fill = FILLED_RIGHT) -> str:
    target, missing, starting, *usages = _numbers(op)
    return cautious(target, usages, missing, starting, fill)


def _best(op: Op, how: str = "") -> str:
    current, *proposals = op[1:]
    return greatest(int(current), [None if one == "-" else int(one) for one in proposals], how)


is_wanted = judge("want", _wants, lambda op: {cause: _wants(op, rule) for cause, rule in WANT_MISTAKES.items()})
is_careful = judge(
    "careful", _careful, lambda op: {cause: _careful(op, fill) for cause, fill in CAREFUL_MISTAKES.items()}
)
is_greatest = judge("best", _best, lambda op: {how: _best(op, how) for how in BEST_MISTAKES})
keeps_the_rate = judge(
    "rate", lambda op: limited(limits_of(op)), lambda op: {how: limited(limits_of(op), how) for how in RATE_MISTAKES}
)


def told(steps: Sequence[Step]) -> tuple[int, list[tuple[int, int]]]:
    """The seconds of the newest Window, and what it was told: (moment, count)."""
    seconds, listed = 0, list[tuple[int, int]]()
    for step in steps:
        if step.verb == "window":
            seconds, listed = int(step.op[1]), []
        elif step.verb == "asked" and step.result is not False:
            listed.append((int(step.op[1]), int(step.op[2])))
    return seconds, listed


def remembers(steps: Sequence[Step]) -> Broken | None:
    """Each answer of a Window is the highest count of its time."""
    explains: dict[str, bool] = {}
    for index, step in enumerate(steps):
        if step.verb != "asked" or step.result is False:
            continue
        seconds, listed = told(steps[: index + 1])
        given = {how: highest(seconds, listed, how) for how in WINDOW_MISTAKES}
        given |= {"cool-down": cool_down(seconds, listed), "decided": decided(seconds, listed)}
        for cause, said in given.items():
            explains[cause] = explains.get(cause, True) and said == step.result
        right = highest(seconds, listed)
        if step.result != right:
            cause = next((one for one, all_of_it in explains.items() if all_of_it), "")
            return Broken(step.number, f"it settled on {step.result}; it should be {right}", cause)
    return None


def state(steps: Sequence[Step]) -> dict[str, str]:
    """What a right Window remembers."""
    seconds, listed = told(steps)
    if not listed:
        return {"window": f"{seconds} s" if seconds else "none yet"}
    now = listed[-1][0]
    inside = [f"{count} ({now - at} s ago)" for at, count in listed if now - at <= seconds]
    return {"window": f"{seconds} s", "now": f"second {now}", "remembered": ", ".join(inside)}


# -- scripts ---------------------------------------------------------------------------------------


def rounding(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(2, 5)):
        target = rng.choice((30, 40, 50, 60, 70, 80))
        usual = rng.choice((rng.randint(1, target // 2), rng.randint(target + 20, 3 * target)))
        ops.append(("want", str(target), *(str(max(0, usual + rng.randint(-5, 5))) for _ in range(rng.randint(1, 9)))))
    return ops


def banded(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(3, 6)):
        target = rng.choice((20, 30, 40, 50, 70, 90, 120))
        used = rng.choice((up(9 * target, 10), 11 * target // 10)) + rng.randint(-2, 2)
        spread = rng.randint(0, 4)
        usages = [used + rng.choice((-spread, spread)) for _ in range(rng.randint(4, 12))]
        ops.append(("want", str(target), *map(str, usages)))
    return ops


def _usages(rng: random.Random, target: int) -> list[str]:
    low, high = rng.choice(((0, target // 2), (target + 5, 3 * target), (target - 4, target + 4)))
    usual = rng.randint(low, high)
    return [str(max(0, usual + rng.randint(-3, 3))) for _ in range(rng.randint(1, 6))]


def without_samples(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(3, 6)):
        target = rng.choice((40, 50, 60, 80, 150, 200))
        usages = [] if rng.random() < 0.1 else _usages(rng, target)
        ops.append(("careful", str(target), str(rng.randint(0, 4)), "0", *usages))
    return ops


def with_starters(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(3, 6)):
        target = rng.choice((40, 50, 60, 80))
        ops.append(("careful", str(target), str(rng.randint(0, 2)), str(rng.randint(0, 4)), *_usages(rng, target)))
    return ops


def several(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(2, 6)):
        proposals = ["-" if rng.random() < 0.3 else str(rng.randint(1, 9)) for _ in range(rng.randint(1, 4))]
        ops.append(("best", str(rng.randint(1, 9)), *proposals))
    return ops


def remembering(rng: random.Random) -> list[Op]:
    seconds = rng.choice((60, 120, 300))
    ops: list[Op] = [("window", str(seconds))]
    now = 0
    for _ in range(rng.randint(4, 24)):
        ops.append(("asked", str(now), str(rng.randint(1, 9))))
        now += rng.choice((0, 15, 15, 30, 60, seconds // 2))
    return ops


def rated(rng: random.Random) -> list[Op]:
    ops: list[Op] = []
    for _ in range(rng.randint(2, 5)):
        current = rng.randint(4, 20)
        words = []
        for _ in range(rng.randint(1, 3)):
            kind = rng.choice(("pods", "percent"))
            value = rng.randint(1, 8) if kind == "pods" else rng.choice((10, 25, 50, 100))
            words.append(f"{kind}:{value}/{rng.choice((15, 30, 60))}")
        left = current - 1
        for _ in range(rng.randint(0, 4)):
            many = rng.randint(1, max(1, left // 2))
            left -= many
            words.append(f"added:{many}@{rng.choice((10, 15, 20, 30, 45, 60, 70))}")
        wanted_now = str(current + rng.randint(1, 25))
        most = str(current + rng.randint(0, 30))
        ops.append(("rate", str(current), wanted_now, most, rng.choice(("Max", "Min")), *words))
    return ops


# -- the lab ---------------------------------------------------------------------------------------

CHANGES = {
    "changes": [
        "What you are handed is the caller's: the next metric is asked about with the same list.",
        "usages + [...] makes a new list; usages.append, += and .sort() write into the caller's.",
    ]
}
ROUND_UP = ["A tenth of a Pod is a Pod.", "Round up: -(-a // b), or math.ceil(a / b)."]
BAND = [
    "From 0.9 to 1.1 times the target nothing changes.",
    "Compare 10 * used with 9 * target and 11 * target, both ends included: no float is off by a hair there.",
]
WANTED: dict[str, list[str]] = {
    **CHANGES,
    "no-tolerance": BAND,
    "points": ["A tenth of the target, not ten percentage points: for a target of 20 that is 2.", *BAND[1:]],
    "edges": ["abs(1 - 1.1) is 0.10000000000000009, which is more than 0.1.", *BAND[1:]],
    "floor": ROUND_UP,
    "nearest": ROUND_UP,
    "not-truncated": ["The mean usage is cut down to whole percent before anything else: sum(usages) // len(usages)."],
    "highest": ["All Pods count, not the busiest one: take the mean."],
    "sum": ["Usage is the mean over the Pods; their number comes in afterwards."],
    "": ["The mean, cut to whole percent; the band; then mean * Pods / target, rounded up."],
}
FILLED: dict[str, list[str]] = {
    **CHANGES,
    "alike": ["The Pods you know nothing of are not like the others. In which direction do the others point?"],
    "left-out": ["Pods without a sample are there. On the way up they count as 0 %, on the way down as 100 %."],
    "zero": ["On the way down a Pod without a sample counts as using its whole request: 100 %."],
    "whole": ["On the way up a Pod without a sample counts as 0 %."],
    "not-on-the-way-down": ["On the way down a Pod without a sample counts as using its whole request: 100 %."],
    "target-on-the-way-down": ["With a target above 100 % a missing Pod counts as the target, or it would pull down."],
    "turned": ["If the filled-in Pods turn the direction round, nothing is done: the count stays."],
    "starting-left-out": ["On the way up Pods that are starting count as 0 %, like those without a sample."],
    "starting-on-the-way-down": ["On the way down Pods that are starting are left out: only the missing count."],
    "counted-only": ["Where nothing changes the count stays what it is: all Pods, also those without a sample."],
    "blind-zero": ["Without a single sample there is no count: None. Zero would take all Pods away."],
    "blind-current": ["Without a single sample there is no count: None, so that whoever asks can tell."],
    "": [
        "Which way do the known ones point? Then add what the others count as, and look again.",
        "Three ends: no sample at all, a change that is too small or turned round, and wanted() of the longer list.",
    ],
}
WINDOW: dict[str, list[str]] = {
    "last": [
        "What was asked for now is one of those in the window. Which of them counts?",
        "On the way down the highest counts: it is the last thing that somebody needed.",
    ],
    "edge": ["One that is exactly as old as the window still counts."],
    "zero": ["A window of 0 seconds remembers what is asked for at this very second, and nothing else."],
    "for-ever": ["What is older than the window is forgotten. How old is each, now?"],
    "before": ["What is asked for now is in the window, too."],
    "mean": ["Nothing is averaged. The highest counts."],
    "first": ["The oldest in the window need not be the highest."],
    "cool-down": ["There is no timer that begins with a change. Remember each count with its moment."],
    "decided": [
        "Remember what was asked for, not what you settled on.",
        "A count that is remembered because it was settled on keeps itself alive for ever.",
    ],
    "": ["A list of (moment, count); max(...) over those with now - moment <= seconds."],
}
RATE: dict[str, list[str]] = {
    **CHANGES,
    "forgets": [
        "What was added in a policy's period is used up: take it off before you add.",
        "start = current - added",
    ],
    "all-of-it": ["Only what was added in this policy's own period counts against it."],
    "edge": ["One that is exactly as old as the period does not count any more: ago < period."],
    "rounds-down": ["A percentage is rounded up, or one Pod would never become two."],
    "of-now": ["The percentage is of the count at the start of the period, not of the present one."],
    "ends-there": ["100 % means as many again: start + 100 % of it."],
    "turned": ["Max takes the policy that allows most, Min the one that allows least."],
    "one-at-least": ["The count at the period's start is a sum, whatever it comes to: do not mend it."],
    "too-many-stay": ["Never above most, not even where more run already."],
    "always-max": ["select may be Min: then the policy that allows least counts."],
    "adds-up": ["Policies are alternatives: one of them is selected, they do not add up."],
    "shrinks": ["A limit below the present count takes nothing away: at least current."],
    "ignores-wanted": ["Never further than wanted."],
    "ignores-most": ["Never above most."],
    "": ["For each policy a limit; one of them by select; at least current; at most wanted and most."],
}
BEST: dict[str, list[str]] = {
    **CHANGES,
    "goes-down": ["A metric is missing, and it may be the one for which the Pods are there: not below current."],
    "failing-is-zero": ["None is no zero: without any count there is None, and with one missing it may not go down."],
    "stops": ["One missing metric does not silence the others: up is allowed."],
    "keeps": ["Where nothing may be done the answer is None, not current: whoever asks shall be able to tell."],
    "least": ["The greatest proposal wins."],
    "mean": ["Nothing is averaged. The greatest proposal wins."],
    "first": ["All proposals count; the greatest wins."],
    "last": ["All proposals count; the greatest wins."],
    "zero": ["0 is a proposal. Only None is a metric that failed."],
    "equal-too": ["Staying at current takes nothing away: that is a count."],
    "": ["Those that are not None; their greatest; None if one is missing and that is below current."],
}

LAB = LabSpec(
    title="Replicas by the load",
    question="The metrics server restarted, and an autoscaler took nine of ten Pods away. Which line of it did that?",
    names={**dict.fromkeys(("wanted", "cautious", "greatest", "limited"), "function"), "Window": "class"},
    forbidden=("k8slab.autoscaling",),
    minutes=60,
    checks=(
        Check(
            "rounds-up",
            "wanted: usage against target, times the Pods, rounded up",
            1,
            is_wanted,
            {
                "twice the target": "want 50 100 100 100",
                "a part of a Pod": "want 70 100 100 100 100; want 70 100 100 100 100 100; want 50 60",
                "down": "want 50 20 20 20 20 20; want 80 10",
                "busy and idle": "want 50 200 0; want 50 90 30 90",
                "cut to whole percent": "want 30 34 33 33; want 30 34 34 33",
            },
            rounding,
            WANTED,
            needs=("wanted",),
        ),
        Check(
            "leaves-small-differences-alone",
            "wanted: from 0.9 to 1.1 times the target the count stays",
            2,
            is_wanted,
            {
                "inside": "want 70 76 76 76 76 76; want 70 64 64 64 64 64 64 64 64 64 64",
                "outside": "want 50 58 58 58 58 58 58 58 58 58 58; want 50 42 42 42 42 42 42 42 42 42 42",
                "cut before the band": "want 75 80 80 80 80 80; want 75 82 83 83 83 83",
                "the edges": "want 70 76 76 76 76 76; want 70 77 77 77 77 77; want 50 45 45 45 45 45 45 45 45 45 45 45",
                "a small target": "want 20 23 23 23 23; want 20 17 17 17 17 17 17 17 17",
            },
            banded,
            WANTED,
            needs=("wanted",),
        ),
        Check(
            "counts-the-missing",
            "cautious: Pods without a sample make every change smaller, and never turn it round",
            3,
            is_careful,
            {
                "one after the other": "careful 50 1 0 68 68 68 68; careful 150 1 0 354 353; careful 80 1 0 76 82; "
                "careful 150 3 0 155; careful 150 2 0 42; careful 40 0 0 15 11 13; careful 60 4 0 135 141",
                "up": "careful 50 1 0 100 100; careful 50 2 0 200",
                "down": "careful 50 1 0 10 10 10; careful 50 2 0 10 10 10 10",
                "turned round": "careful 50 2 0 80; careful 50 2 0 30",
                "too little is left": "careful 50 1 0 68 68 68 68",
                "a target above 100": "careful 200 1 0 10 10 10; careful 150 1 0 20 20",
                "nobody is missing": "careful 50 0 0 100 100; careful 50 0 0 52 52",
                "at the target": "careful 50 2 0 50",
                "no sample at all": "careful 50 3 0; careful 50 0 2",
                "by a hair": "careful 50 1 0 100 101; careful 50 1 0 1 1 1; careful 50 1 0 1 1 2",
                "a tiny target": "careful 5 2 0 6 6 6 6",
            },
            without_samples,
            FILLED,
            needs=("wanted", "cautious"),
        ),
        Check(
            "leaves-out-who-starts",
            "cautious: Pods that are starting count as 0 % on the way up, and not at all on the way down",
            2,
            is_careful,
            {
                "one after the other": "careful 50 1 1 133 130 129; careful 80 2 2 82 79 84; careful 80 2 1 91 89 92; "
                "careful 60 0 4 26 24 28; careful 60 0 3 117; careful 40 1 1 43 43 43; careful 60 2 1 2 1 2",
                "up": "careful 50 0 1 100 100; careful 50 0 3 100",
                "down": "careful 50 0 1 10 10 10; careful 50 0 4 10 10",
                "both": "careful 50 1 1 150 150; careful 50 1 2 10 10 10",
                "nothing changes": "careful 50 0 2 52 52; careful 50 0 2 50",
                "turned round": "careful 50 0 2 80",
            },
            with_starters,
            FILLED,
            needs=("wanted", "cautious"),
        ),
        Check(
            "never-goes-down-blind",
            "greatest: the greatest proposal, and not below the present count while one is missing",
            2,
            is_greatest,
            {
                "one after the other": "best 7 5; best 4 6 4 2 6; best 9 -; best 2 2 6 -; best 7 6 8 2; best 9 - - 8; "
                "best 6 6 - 1",
                "the greatest": "best 3 2 7 4; best 3 1 2",
                "one missing": "best 5 8 -; best 5 - 3; best 5 2 - 4",
                "equal": "best 5 5 -",
                "all missing": "best 5 -; best 5 - -",
                "alone": "best 4 1",
                "none at all": "best 5 0; best 5 0 3",
            },
            several,
            BEST,
            needs=("greatest",),
        ),
        Check(
            "remembers-the-highest",
            "Window: on the way down the highest count asked for in the last seconds",
            3,
            remembers,
            {
                "up and down": "window 60; asked 0 9; asked 100 8; asked 115 1; asked 130 5; asked 160 2; asked 170 2; "
                "asked 175 9",
                "a drop": "window 300; asked 0 8; asked 15 2; asked 300 2; asked 315 2",
                "a spike": "window 60; asked 0 2; asked 15 9; asked 30 2; asked 60 2; asked 75 2; asked 90 2",
                "up at once": "window 60; asked 0 2; asked 15 9",
                "two spikes": "window 60; asked 0 9; asked 45 6; asked 75 1; asked 105 1; asked 120 1",
                "it never settles": "window 30; asked 0 9; asked 20 1; asked 40 1; asked 60 1; asked 80 1",
                "no window": "window 0; asked 0 9; asked 15 1",
                "another window": "window 300; asked 0 9; window 300; asked 15 1",
                "twice in one second": "window 60; asked 0 9; asked 0 2",
                "a long memory": "; ".join(
                    ["window 300", "asked 0 9", *(f"asked {at} 1" for at in range(15, 316, 15))]
                ),
            },
            remembering,
            WINDOW,
            needs=("Window",),
            state=state,
        ),
        Check(
            "keeps-to-the-rate",
            "limited: as far as a policy allows in its period, never above the maximum",
            3,
            keeps_the_rate,
            {
                "one after the other": "rate 8 21 24 Max percent:10/15 percent:50/15; rate 18 24 38 Max percent:10/15 "
                "added:3@45; rate 17 18 44 Min pods:4/15 added:6@15; rate 8 24 8 Min pods:2/15; rate 10 19 39 Min "
                "pods:3/30 pods:8/15 added:4@10 added:1@60; rate 20 33 24 Max pods:3/30 pods:8/15 added:4@30; rate 14 "
                "17 44 Max pods:7/15 percent:50/30 added:1@60 added:1@20; rate 17 36 40 Max percent:100/60 added:7@30",
                "Pods": "rate 4 20 30 Max pods:4/60; rate 4 6 30 Max pods:4/60",
                "percent": "rate 5 30 30 Max percent:100/15; rate 5 30 30 Max percent:10/15",
                "of several": "rate 10 50 50 Max pods:4/60 percent:100/60; rate 10 50 50 Min pods:4/60 percent:100/60",
                "used up": "rate 8 20 30 Max pods:4/60 added:3@20; rate 8 20 30 Max pods:4/60 added:4@20",
                "more than used up": "rate 8 20 30 Max pods:2/60 added:5@20",
                "the edge of a period": "rate 8 20 30 Max pods:4/60 added:4@60; rate 8 20 30 Max pods:4/60 added:4@59",
                "each its own period": "rate 12 50 50 Max pods:4/60 percent:50/15 added:4@30",
                "of the start": "rate 12 50 50 Max percent:50/60 added:4@30",
                "the maximum": "rate 8 20 10 Max pods:9/60; rate 8 20 8 Max pods:9/60",
                "too many already": "rate 12 20 10 Max pods:9/60",
                "added more than there are": "rate 4 20 30 Max pods:4/60 added:6@20",
                "added bit by bit": "rate 9 20 30 Max pods:6/60 added:1@10 added:1@20 added:1@30 added:1@45",
                "nobody is there": "rate 0 5 10 Max percent:100/15; rate 0 5 10 Max pods:2/15",
            },
            rated,
            RATE,
            needs=("limited",),
        ),
    ),
)
