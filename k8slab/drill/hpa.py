"""Drills on replicas by the load: ratios, tolerance, missing samples, windows, policies.

Simplified: see `k8slab.autoscaling.hpa`; every answer is its autoscaler's.
"""

from __future__ import annotations

import math
import random
from typing import Any

from k8slab.autoscaling.hpa import (
    Bounds,
    Decision,
    History,
    HorizontalPodAutoscaler,
    MetricsError,
    PodFacts,
    PodMetric,
    ReplicaCalculator,
    Scale,
)
from k8slab.autoscaling.hpa.pod_facts import group_pods
from k8slab.drill.answers import name_set, whole
from k8slab.drill.exercise import Draft, Drill, Kind, generate, table_block, yaml_block

__all__ = ["KINDS", "hpa"]

_CALCULATOR = "pkg/controller/podautoscaler/replica_calculator.go"
_HORIZONTAL = "pkg/controller/podautoscaler/horizontal.go"
_CONTAINER = {"name": "c", "resources": {"requests": {"cpu": "100m"}}}


def _pods(count: int) -> list[PodFacts]:
    return [PodFacts(f"web-{n}", pod={"spec": {"containers": [_CONTAINER]}}) for n in range(count)]


def _cpu(target: int) -> dict[str, Any]:
    goal = {"type": "Utilization", "averageUtilization": target}
    return {"type": "Resource", "resource": {"name": "cpu", "target": goal}}


def _queue(name: str, average: int) -> dict[str, Any]:
    target = {"type": "AverageValue", "averageValue": str(average)}
    return {"type": "External", "external": {"metric": {"name": name}, "target": target}}


def _decide(metrics: list[Any], count: int, samples: list[Any], most: int = 1_000) -> Decision:
    obj = {"metadata": {"name": "web"}, "spec": {"minReplicas": 1, "maxReplicas": most, "metrics": metrics}}
    return HorizontalPodAutoscaler().decide(obj, Scale(count, count), _pods(count), samples, now_ms=0)


def _asked(target: int, used: list[int | None]) -> int:
    """What the metric asks for; None is a Pod without a sample."""
    samples = {f"web-{n}": PodMetric(one) for n, one in enumerate(used) if one is not None}
    found = _decide([_cpu(target)], len(used), [samples]).recommendation
    assert found is not None, "every drill has a Pod with a sample"
    return found


def _ratio(rng: random.Random) -> Draft:
    target, count = rng.choice([40, 50, 60, 70, 75, 80]), rng.randint(3, 24)
    used = max(1, round(target * rng.choice([0.4, 0.6, 0.8, 0.87, 0.93, 1.05, 1.09, 1.14, 1.3, 1.7, 2.2])))
    used += rng.randint(-1, 1)
    right, exact = _asked(target, [used] * count), count * used / target
    answer = whole(
        right,
        "Divide usage by target. From 0.9 to 1.1 nothing changes; else multiply by the Pods and round up.",
        {
            math.ceil(exact): f"That is the formula; but {used}/{target} is {used / target:.3f}, within the tolerance.",
            math.floor(exact): "That is rounded down. A part of a Pod is a Pod.",
            count: f"{used}/{target} is {used / target:.3f}: outside of 0.9 to 1.1.",
        },
    )
    return Draft(
        f"{count} Pods, all ready, use {used} % of their CPU requests. The target is {target} %. How many "
        "replicas do the metrics ask for?",
        answer,
        f"The ratio is {used}/{target} = {used / target:.3f}. "
        + (
            "Within 0.9 to 1.1 the count stays."
            if right == count
            else f"{count} times that is {exact:.2f}, rounded up."
        ),
    )


def _band(rng: random.Random) -> Draft:
    target, count, is_upper = rng.randint(20, 95), 10, rng.random() < 0.5
    stays = [used for used in range(1, 2 * target) if _asked(target, [used] * count) == count]
    # below the band a count of ten may still be rounded up to ten: only the tolerance is asked for
    inside = [used for used in stays if used / target >= 0.9]
    right = max(inside) if is_upper else min(inside)
    edge = target * (1.1 if is_upper else 0.9)
    answer = whole(
        right,
        "The tolerance is a tenth of the target, not ten percentage points.",
        {
            target + 10
            if is_upper
            else target - 10: "Those are ten percentage points; it is ten percent of the target.",
            target: "At exactly the target, of course; there is a band around it.",
            right + 1 if is_upper else right - 1: "Just outside: the ratio is beyond the tolerance.",
        },
    )
    return Draft(
        f"The CPU target of an autoscaler is {target} %, its tolerance the usual one. Which is the "
        f"{'highest' if is_upper else 'lowest'} utilisation, in whole percent, that is still within the tolerance?",
        answer,
        f"{'1.1' if is_upper else '0.9'} times {target} is {edge:.1f}, and a utilisation of {right} % is a ratio "
        f"of {right / target:.3f}. Utilisation is truncated to whole percent before.",
    )


def _missing(rng: random.Random) -> Draft:
    target, known, unknown = rng.choice([40, 50, 60, 80]), rng.randint(2, 8), rng.randint(2, 4)
    used = rng.choice([rng.randint(1, target // 2), rng.randint(target + 20, 3 * target)])
    count = known + unknown
    right = _asked(target, [*[used] * known, *[None] * unknown])
    fill = 0 if used > target else 100
    mean = (known * used + unknown * fill) // count
    answer = whole(
        right,
        "On the way up Pods without a sample count as 0 %, on the way down as 100 % of their request.",
        {
            math.ceil(count * used / target): "That takes the missing ones to be like the others.",
            math.ceil(known * used / target): "That leaves the missing ones out altogether.",
            count: "Enough of the change is left for the count to move.",
        },
    )
    return Draft(
        f"{count} Pods run and are ready; the target is {target} % CPU. {known} of them use {used} % of their "
        f"request; of the other {unknown} there is no sample. How many replicas do the metrics ask for?",
        answer,
        f"The {known} point {'up' if used > target else 'down'}, so the missing count as {fill} %: together "
        f"{mean} %, a ratio of {mean / target:.3f}. "
        + (
            "That leaves too little of the change, or turns it round." if right == count else f"Times {count}: {right}."
        ),
    )


def _several(rng: random.Random) -> Draft:
    count, used, length = rng.randint(3, 9), rng.choice([10, 25, 50, 80, 110]), rng.randint(1, 12) * 10
    is_gone = rng.random() < 0.6
    samples = {f"web-{n}": PodMetric(used) for n in range(count)}
    third: Any = MetricsError("no metrics returned") if is_gone else [1_000]
    decision = _decide([_cpu(50), _queue("mail", 10), _queue("video", 10)], count, [samples, [1_000 * length], third])
    by_cpu, by_queue = _asked(50, [used] * count), math.ceil(length / 10)
    if abs(length / 10 / count - 1) <= 0.1:
        by_queue = count
    asked = max(by_cpu, by_queue)
    right = count if decision.recommendation is None else decision.recommendation
    answer = whole(
        right,
        "The greatest count wins. With one metric missing the count may only grow.",
        {
            asked: "That would take Pods away while one metric is missing.",
            by_cpu: "That is CPU alone; the greatest of all counts wins.",
            by_queue: "That is one queue alone; the greatest of all counts wins.",
            count: "The metrics that are there may act.",
        },
    )
    lost = "cannot be read" if is_gone else "has 1 message"
    return Draft(
        f"{count} replicas. The autoscaler has three metrics: CPU with a target of 50 %, and two queues with a "
        f"target of 10 messages for each Pod. CPU is at {used} %, the queue `mail` has {length} messages, the "
        f"queue `video` {lost}. How many replicas are wanted (before windows and bounds)?",
        answer,
        f"CPU asks for {by_cpu}, `mail` for {by_queue}"
        + ("" if is_gone else f", `video` for {1 if count > 1 else count}")
        + f". The greatest is {asked}. "
        + ("One metric is missing: not below the present count. " if is_gone else "")
        + f"So it is {right}.",
    )


def _window(rng: random.Random) -> Draft:
    rounds = rng.randint(6, 9)
    step = rng.choice([30, 45, 60])
    asks = [rng.randint(2, 12) for _ in range(rounds)]
    asks[-1] = rng.randint(1, 4)
    current = max(asks)
    history, right = History(), current
    for number, want in enumerate(asks):
        right = history.normalize(Bounds(1, 100), current, want, now_ms=1000 * step * number).stabilized
    ages = [step * (rounds - 1 - number) for number in range(rounds)]
    answer = whole(
        right,
        "The highest recommendation that is not older than 300 s counts.",
        {
            max(asks): "That one is older than 300 s, and forgotten.",
            asks[-1]: "That is the newest one; the highest in the window counts.",
        },
    )
    table = table_block([(f"{age} s", want) for age, want in zip(ages, asks, strict=True)], ("AGE", "ASKED FOR"))
    return Draft(
        f"An autoscaler without a behavior has {current} replicas. What the metrics asked for in the last rounds "
        f"(the last row is this one):\n\n{table}\n\nHow many replicas does it settle on now, if nothing else "
        "limits it?",
        answer,
        "In the window are those of an age up to 300 s: "
        f"{', '.join(str(w) for w, age in zip(asks, ages, strict=True) if age <= 300)}. The highest is {right}.",
    )


def _leaves(rng: random.Random) -> Draft:
    high, low, peak = rng.randint(6, 14), rng.randint(1, 3), rng.randint(2, 6)
    last = 15 * (peak - 1)
    history, count, second = History(), high, -15
    while count == high:
        second += 15
        want = high if second <= last else low
        count = history.normalize(Bounds(1, 100), count, want, now_ms=1000 * second).replicas
    answer = whole(
        second,
        "A recommendation that is exactly 300 s old still counts.",
        {
            last + 300: "At that moment the last high one is exactly 300 s old, and still counts.",
            300: "The window begins with the last high recommendation, not with the first.",
            last + 15: "That is the first low recommendation; the window holds the count.",
        },
        unit="s",
    )
    return Draft(
        f"Rounds are 15 s apart, the first at 0 s. In the first {peak} rounds the metrics ask for {high} "
        f"replicas, in all later ones for {low}; there are {high}, and there is no behavior. At which second does "
        "the count fall?",
        answer,
        f"The last {high} is of {last} s. At {last + 300} s it is 300 s old and counts; the round after is at "
        f"{second} s.",
    )


def _limit(rng: random.Random) -> Draft:
    current, most = rng.randint(1, 12), rng.choice([3, 8, 15, 30, 100])
    most = max(most, current)
    wanted = current + rng.randint(3, 40)
    right = History().normalize(Bounds(1, most), current, wanted, now_ms=0).replicas
    answer = whole(
        right,
        "In one round a count may double, 4 are always allowed, and the maximum is never passed.",
        {
            wanted: "That is what is asked for; one round may not go that far.",
            min(2 * current, wanted): "Twice as many; but 4 are always allowed, and the maximum bounds it.",
            most: "That is the maximum; one round may not go that far.",
        },
    )
    return Draft(
        f"An autoscaler without a behavior has {current} {'replica' if current == 1 else 'replicas'} and "
        f"`maxReplicas: {most}`. The metrics ask for {wanted}. How many replicas does it set in this round?",
        answer,
        f"max(2 times {current}, 4) is {max(2 * current, 4)}, the maximum is {most}, and {wanted} are wanted: the "
        f"least of these is {right}.",
    )


def _rules(rng: random.Random) -> dict[str, Any]:
    policies = [
        {"type": "Pods", "value": rng.randint(1, 6), "periodSeconds": 60},
        {"type": "Percent", "value": rng.choice([10, 20, 25, 50, 100]), "periodSeconds": 60},
    ]
    return {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": rng.choice(["Max", "Min"]),
        "policies": policies,
    }


def _policy(rng: random.Random) -> Draft:
    current, is_up, rules = rng.randint(3, 40), rng.random() < 0.5, _rules(rng)
    other: dict[str, Any] = {"selectPolicy": "Max"}
    other["policies"] = [{"type": "Percent", "value": 100, "periodSeconds": 15}]
    other["stabilizationWindowSeconds"] = 0
    half = "scaleUp" if is_up else "scaleDown"
    behavior = {"scaleUp": other, "scaleDown": other, half: rules}
    bounds = Bounds.of({"minReplicas": 1, "maxReplicas": 1_000, "behavior": behavior})
    wanted = 1_000 if is_up else 1
    right = History().normalize(bounds, current, wanted, now_ms=0).replicas
    pods, percent = rules["policies"][0]["value"], rules["policies"][1]["value"]
    by_pods = current + pods if is_up else max(1, current - pods)
    by_percent = math.ceil(current * (1 + percent / 100)) if is_up else max(1, int(current * (1 - percent / 100)))
    answer = whole(
        right,
        "Max takes the policy that changes most, Min the one that changes least.",
        {
            by_pods: "That is the policy in Pods; the other one is selected.",
            by_percent: "That is the policy in percent; the other one is selected.",
            wanted: "That is what is asked for; the policies bound it.",
        },
    )
    shown = yaml_block({half: {key: rules[key] for key in ("selectPolicy", "policies")}})
    return Draft(
        f"{current} replicas, nothing changed in the last minutes, no windows. The metrics ask for "
        f"{wanted}.\n\n{shown}\n\nHow many replicas are there after this round?",
        answer,
        f"{pods} Pods would make {by_pods}, {percent} % would make {by_percent} (away from {current}, whatever is "
        f"left of a Pod). {rules['selectPolicy']} selects {right}.",
    )


def _period(rng: random.Random) -> Draft:
    start, step, rounds = rng.randint(1, 6), rng.randint(2, 5), rng.randint(5, 13)
    rules = {
        "stabilizationWindowSeconds": 0,
        "selectPolicy": "Max",
        "policies": [{"type": "Pods", "value": step, "periodSeconds": 60}],
    }
    bounds = Bounds.of({"minReplicas": 1, "maxReplicas": 1_000, "behavior": {"scaleUp": rules, "scaleDown": rules}})
    history, count = History(), start
    for number in range(rounds):
        after = history.normalize(bounds, count, 1_000, now_ms=15_000 * number).replicas
        if after != count:
            history.store_scale_event(bounds.behavior, count, after, 15_000 * number)
        count = after
    answer = whole(
        count,
        "What was added less than 60 s ago counts against the policy.",
        {
            start + step * rounds: "That is once a round. What was added in the last 60 s counts against it.",
            start + step: "That is the first minute alone.",
        },
    )
    return Draft(
        f"An autoscaler has {start} {'replica' if start == 1 else 'replicas'}; from 0 s on the metrics ask for "
        f"1000. Its only policy upwards is {step} Pods in 60 s, and rounds are 15 s apart. How many replicas are "
        f"there after the round at {15 * (rounds - 1)} s?",
        answer,
        f"It may add {step} at 0 s, and again when that is 60 s old: at 60 s, 120 s and so on. By then "
        f"{(count - start) // step} times: {count}.",
    )


def _counted(rng: random.Random) -> Draft:
    now = 2_000_000
    rows, pods, metrics = [], [], {}
    for name in ("a", "b", "c", "d"):
        age = rng.choice([30, 60, 120, 240, 400, 900])
        is_ready = rng.random() < 0.6
        since = rng.randint(1, age - 1) if rng.random() < 0.7 else age - rng.randint(0, min(25, age))
        phase = "Pending" if rng.random() < 0.12 else "Running"
        pods.append(
            PodFacts(
                name,
                phase=phase,
                ready="True" if is_ready else "False",
                started_ms=now - 1000 * age,
                ready_since_ms=now - 1000 * since,
            )
        )
        metrics[name] = PodMetric(50, now, 30_000)
        rows.append((name, phase, f"{age} s", "True" if is_ready else "False", f"{since} s"))
    calculator = ReplicaCalculator()
    groups = group_pods(
        pods,
        metrics,
        "cpu",
        now,
        calculator.cpu_initialization_period_ms,
        calculator.delay_of_initial_readiness_status_ms,
    )
    right = [pod.name for pod in pods if pod.name not in groups.unready]
    answer = name_set(
        right,
        [pod.name for pod in pods],
        "Young Pods count once a whole sample is from after they were ready; old ones unless they were never ready.",
    )
    table = table_block(rows, ("POD", "PHASE", "STARTED", "READY", "SINCE"))
    return Draft(
        "Four Pods, each with a CPU sample of just now, over 30 s. STARTED and SINCE (of the condition Ready) "
        f"are ages.\n\n{table}\n\nThe usual settings: 300 s for initialization, 30 s for the first readiness. "
        "Which Pods' samples count?",
        answer,
        f"Left out: {', '.join(groups.unready) or 'nobody'}. A Pod younger than 300 s counts if it is ready for "
        "30 s or more; an older one unless it is not ready and became so less than 30 s after its start; a "
        "Pending one never.",
    )


KINDS = (
    Kind("ratio", 1, f"{_CALCULATOR} (GetResourceReplicas)", _ratio),
    Kind("band", 1, f"{_CALCULATOR} (isWithin)", _band),
    Kind("limit", 1, f"{_HORIZONTAL} (convertDesiredReplicasWithRules)", _limit),
    Kind("missing", 2, f"{_CALCULATOR} (GetResourceReplicas)", _missing),
    Kind("several", 2, f"{_HORIZONTAL} (computeReplicasForMetrics)", _several),
    Kind("window", 2, f"{_HORIZONTAL} (stabilizeRecommendation)", _window),
    Kind("policy", 2, f"{_HORIZONTAL} (calculateScaleUpLimitWithScalingRules)", _policy),
    Kind("leaves", 3, f"{_HORIZONTAL} (stabilizeRecommendation)", _leaves),
    Kind("period", 3, f"{_HORIZONTAL} (getReplicasChangePerPeriod)", _period),
    Kind("counted", 3, f"{_CALCULATOR} (groupPods)", _counted),
)


def hpa(rng: random.Random) -> Drill:
    """An exercise on replicas by the load."""
    return generate("hpa", KINDS, rng)
