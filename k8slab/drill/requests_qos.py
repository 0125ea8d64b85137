"""Drills on what a Pod asks for: containers, init containers, sidecars, overhead, pod level; QoS class and OOM score.

Simplified: see `k8slab.api.pod_requests` and `k8slab.api.qos`; every answer is theirs.
"""

from __future__ import annotations

import random
from typing import Any

from k8slab.api.defaults import apply_defaults
from k8slab.api.pod_requests import pod_requests
from k8slab.api.qos import BEST_EFFORT, BURSTABLE, GUARANTEED, compute_qos_class, oom_score_adj
from k8slab.api.quantity import ZERO, Quantity, quantity
from k8slab.drill.answers import Answer, amount, choice, whole
from k8slab.drill.exercise import Draft, Drill, Kind, generate, labels_text, yaml_block

__all__ = ["KINDS", "requests_qos"]

_HELPERS = "component-helpers/resource/helpers.go"
_QOS = "pkg/apis/core/v1/helper/qos/qos.go"
_CLASSES = (GUARANTEED, BURSTABLE, BEST_EFFORT)
_CPU = ("100m", "200m", "250m", "500m", "750m", "1", "1500m", "2")
_MEMORY = ("64Mi", "128Mi", "256Mi", "512Mi", "1Gi")
_GI = 1 << 30
_WORD = {"cpu": "CPU", "memory": "memory"}
Pod = dict[str, Any]


def _pod(containers: list[Pod], **spec: Any) -> Pod:
    return {"metadata": {"name": "web"}, "spec": {**spec, "containers": containers}}


def _container(name: str, requests: dict[str, str] | None = None, limits: dict[str, str] | None = None) -> Pod:
    resources = {key: value for key, value in (("requests", requests), ("limits", limits)) if value}
    return {"name": name, **({"resources": resources} if resources else {})}


def _shown(pod: Pod) -> str:
    return yaml_block({"spec": pod["spec"]})


def _cpu_of(pod: Pod) -> Quantity:
    return pod_requests(pod).get("cpu", ZERO)


def _asks(rng: random.Random, name: str, resource: str = "cpu") -> Pod:
    return _container(name, {resource: rng.choice(_CPU if resource == "cpu" else _MEMORY)})


def _total(containers: list[Pod], resource: str) -> Quantity:
    """Requests of some containers as if they were a Pod of their own: what wrong answers are made of."""
    return pod_requests(_pod(containers)).get(resource, ZERO)


def _requests(container: Pod, resource: str) -> str:
    found: str = (container.get("resources", {}).get("requests") or {}).get(resource, "0")
    return found


def _sum(rng: random.Random) -> Draft:
    resource = rng.choice(["cpu", "memory"])
    containers = [_asks(rng, "abc"[n], resource) for n in range(rng.randint(2, 3))]
    if rng.random() < 0.4:
        containers[0]["resources"]["limits"] = {resource: "2" if resource == "cpu" else "2Gi"}
    pod = _pod(containers)
    total = _total(containers, resource)
    most = max(quantity(_requests(c, resource)) for c in containers)
    answer = amount(total, "Add the requests of all containers.", [(most, "That is the largest; containers add up.")])
    parts = " + ".join(_requests(c, resource) for c in containers)
    return Draft(
        f"How much {_WORD[resource]} does the scheduler count for this Pod?\n\n{_shown(pod)}",
        answer,
        f"Containers run side by side, so their requests add up: {parts} = `{total}`. Limits do not come into it.",
    )


def _init(rng: random.Random) -> Draft:
    containers = [_asks(rng, "abc"[n]) for n in range(rng.randint(1, 2))]
    init = [_asks(rng, f"init-{n + 1}") for n in range(rng.randint(1, 2))]
    pod = _pod(containers, initContainers=init)
    right, running = _cpu_of(pod), _total(containers, "cpu")
    peak = max(quantity(_requests(c, "cpu")) for c in init)
    answer = amount(
        right,
        "Init containers run one after the other, before the others: the larger of the two phases counts.",
        [
            (
                _total([*containers, *init], "cpu"),
                "Init containers are over when the others start: they do not add up.",
            ),
            (running, "An init container needs more than that while it runs."),
            (_total(init, "cpu"), "Init containers run one after the other, not side by side."),
        ],
    )
    return Draft(
        f"How much CPU does the scheduler count for this Pod?\n\n{_shown(pod)}",
        answer,
        f"The containers together: `{running}`. The hungriest init container: `{peak}`. The Pod counts with the "
        f"larger one, `{right}`.",
    )


def _sidecar(rng: random.Random) -> Draft:
    containers = [_asks(rng, "app")]
    sidecar = {**_asks(rng, "proxy"), "restartPolicy": "Always"}
    setup = _asks(rng, "setup")
    sidecar_first = rng.random() < 0.5
    init = [sidecar, setup] if sidecar_first else [setup, sidecar]
    pod = _pod(containers, initContainers=init)
    right, running = _cpu_of(pod), _total([*containers, sidecar], "cpu")
    beside = _total([setup, sidecar] if sidecar_first else [setup], "cpu")
    answer = amount(
        right,
        "A sidecar counts beside the containers, and beside the init containers that come after it.",
        [
            (_total([*containers, *init], "cpu"), "`setup` is over when `app` starts: they never run together."),
            (_total(containers, "cpu"), "`restartPolicy: Always` makes `proxy` a sidecar: it keeps running."),
            (_total([setup], "cpu"), "Something runs beside it, or after it, that needs more."),
        ],
    )
    order = "after `proxy`, so both run together" if sidecar_first else "before `proxy` starts"
    return Draft(
        f"How much CPU does the scheduler count for this Pod?\n\n{_shown(pod)}",
        answer,
        f"`proxy` restarts always, so it is a sidecar and runs beside `app`: `{running}`. `setup` runs {order}: "
        f"`{beside}`. The larger one counts, `{right}`.",
    )


def _overhead(rng: random.Random) -> Draft:
    containers = [_asks(rng, "abc"[n], "memory") for n in range(rng.randint(1, 2))]
    extra = rng.choice(["20Mi", "120Mi", "160Mi"])
    pod = _pod(containers, runtimeClassName="kata", overhead={"memory": extra})
    total, bare = pod_requests(pod)["memory"], _total(containers, "memory")
    answer = amount(total, "The sandbox takes memory too.", [(bare, "The overhead of the sandbox is missing.")])
    return Draft(
        f"How much memory does the scheduler count for this Pod?\n\n{_shown(pod)}",
        answer,
        f"The containers ask for `{bare}`, and the RuntimeClass added an overhead of `{extra}` for each Pod: "
        f"`{total}`.",
    )


def _pod_level(rng: random.Random) -> Draft:
    containers = [_asks(rng, "a"), _asks(rng, "b", rng.choice(["cpu", "memory"]))]
    level = {"cpu": rng.choice(["1", "2", "3", "4"])}
    if rng.random() < 0.5:
        level = {"memory": rng.choice(["1Gi", "2Gi"])}
    pod = _pod(containers, resources={"requests": level})
    right, of_containers = _cpu_of(pod), _total(containers, "cpu")
    says = quantity(level["cpu"]) if "cpu" in level else ZERO
    answer = amount(
        right,
        "A resource named at pod level takes the place of the containers' sum; others are summed as ever.",
        [
            (of_containers, "The Pod names CPU itself: that counts in place of the containers' sum."),
            (of_containers + says, "The pod-level request takes the place of the containers' sum, it is not added."),
        ],
    )
    named = f"names `cpu: {level['cpu']}`, which counts" if "cpu" in level else "names memory only, so CPU is summed"
    return Draft(
        f"How much CPU does the scheduler count for this Pod (1.36, pod-level resources)?\n\n{_shown(pod)}",
        answer,
        f"The containers' sum is `{of_containers}`; the pod level {named}: `{right}`.",
    )


def _class_answer(pod: Pod) -> Answer:
    right = compute_qos_class(pod)
    why = {
        GUARANTEED: "Guaranteed needs a CPU and a memory limit for every container, and requests equal to them.",
        BURSTABLE: "Burstable is the rest: it is neither all equal nor nothing at all.",
        BEST_EFFORT: "BestEffort means no request and no limit of CPU or memory anywhere.",
    }
    return choice(right, _CLASSES, why[right], {other: why[other] for other in _CLASSES if other != right})


def _resources(rng: random.Random) -> tuple[dict[str, str], dict[str, str]]:
    """Requests and limits in one of the constellations that matter."""
    cpu, memory = rng.choice(_CPU), rng.choice(_MEMORY)
    both = {"cpu": cpu, "memory": memory}
    return rng.choice(
        [(both, both), (both, both), ({}, {}), (both, {"memory": memory}), ({"cpu": cpu}, {}), (both, {}),
         (both, {"cpu": "4", "memory": memory})]
    )  # fmt: skip


def _which_class(pod: Pod, why: str) -> Draft:
    question = f"Which QoS class does this Pod get?\n\n{_shown(pod)}"
    return Draft(question, _class_answer(pod), f"{compute_qos_class(pod)}. {why}")


def _qos(rng: random.Random) -> Draft:
    pod = _pod([_container("abc"[n], *_resources(rng)) for n in range(rng.randint(1, 2))])
    return _which_class(
        pod,
        "No request and no limit of CPU or memory at all: BestEffort. Limits of both for every container, and requests "
        "that equal them: Guaranteed. Everything else: Burstable.",
    )


def _qos_init(rng: random.Random) -> Draft:
    both = {"cpu": rng.choice(_CPU), "memory": rng.choice(_MEMORY)}
    setup = rng.choice([_container("setup"), _container("setup", both, both), _container("setup", both)])
    pod = _pod([_container("app", both, both)], initContainers=[setup])
    return _which_class(
        pod,
        "Init containers count like the others, although they are gone by the time memory runs out: one without both "
        "limits makes the Pod Burstable.",
    )


def _limits_only(rng: random.Random) -> Draft:
    limits = {"cpu": rng.choice(_CPU), "memory": rng.choice(_MEMORY)}
    if rng.random() < 0.4:
        limits.pop(rng.choice(["cpu", "memory"]))
    pod = {"apiVersion": "v1", "kind": "Pod", **_pod([_container("app", None, limits)])}
    stored = apply_defaults(pod)
    requests = labels_text(stored["spec"]["containers"][0]["resources"]["requests"])
    return Draft(
        f"This Pod is created; it gives limits and no requests. Which QoS class does it get?\n\n{_shown(pod)}",
        _class_answer(stored),
        f"Before anybody looks, the API server copies limits to requests that are missing: requests are "
        f"`{requests}`. So: {compute_qos_class(stored)}.",
    )


def _oom_score(rng: random.Random) -> Draft:
    node_gi = rng.choice([4, 8, 16])
    kind = rng.choice(["burstable", "burstable", "best-effort", "guaranteed"])
    request = rng.choice(["256Mi", "512Mi", "1Gi", "2Gi"])
    both = {"cpu": "1", "memory": request}
    container = {
        "burstable": _container("app", {"memory": request}),
        "best-effort": _container("app"),
        "guaranteed": _container("app", both, both),
    }[kind]
    pod = _pod([container])
    right = oom_score_adj(pod, container, node_gi * _GI)
    share = 1000 * quantity(request).value() // (node_gi * _GI)
    answer = whole(
        right,
        "1000 less the thousandths of the node's memory it asks for; Guaranteed and BestEffort have fixed scores.",
        {
            share: "That is the share of the node in thousandths; the score is 1000 less it.",
            1000: "That is the score of BestEffort.",
        },
    )
    why = {
        "burstable": f"Burstable: 1000 - 1000 * {request} / {node_gi}Gi = 1000 - {share} = {right}",
        "best-effort": "BestEffort is killed first: 1000",
        "guaranteed": "Guaranteed is killed last: -997",
    }[kind]
    return Draft(
        f"The node has {node_gi}Gi of memory. Which `oom_score_adj` does the kubelet give the container `app`?\n\n"
        f"{_shown(pod)}",
        answer,
        f"{why}. The more a container asked for, the less gladly the kernel kills it.",
    )


KINDS = (
    Kind("sum", 1, f"{_HELPERS} (AggregateContainerRequests)", _sum),
    Kind("qos", 1, f"{_QOS} (ComputePodQOS)", _qos),
    Kind("init", 2, f"{_HELPERS} (AggregateContainerRequests)", _init),
    Kind("overhead", 2, f"{_HELPERS} (PodRequests)", _overhead),
    Kind("limits-only", 2, "pkg/apis/core/v1/defaults.go (SetDefaults_Pod)", _limits_only),
    Kind("qos-init", 2, f"{_QOS} (ComputePodQOS)", _qos_init),
    Kind("sidecar", 3, f"{_HELPERS} (AggregateContainerRequests)", _sidecar),
    Kind("pod-level", 3, f"{_HELPERS} (PodRequests)", _pod_level),
    Kind("oom-score", 3, "pkg/kubelet/qos/policy.go (GetContainerOOMScoreAdjust)", _oom_score),
)


def requests_qos(rng: random.Random) -> Drill:
    """An exercise on a Pod's requests and QoS class."""
    return generate("requests-qos", KINDS, rng)
