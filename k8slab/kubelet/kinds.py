"""How the kubelet's trace events read."""

from k8slab.sim.kinds import Kind, add_kinds

add_kinds(
    {
        "kubelet.admit": Kind(
            "work", 2, ("node", "key"), "takes {key}", "the kubelet on {node} finds Pod {key} assigned to its node"
        ),
        "container.pull": Kind(
            "work", 2, ("node", "key", "image"), "pulls {image}", "{node} starts pulling image {image} for Pod {key}"
        ),
        "container.start": Kind(
            "state",
            2,
            ("node", "key", "container"),
            "starts {container}",
            "{node} starts container {container} of Pod {key}",
        ),
        "kubelet.reject": Kind(
            "state",
            1,
            ("node", "key", "reason"),
            "rejects: {reason}",
            "the kubelet on {node} rejects Pod {key}: {reason}",
        ),
        "sandbox.fail": Kind(
            "wait",
            1,
            ("node", "key", "ms"),
            "no address left",
            "{node} has no address left for Pod {key}; it tries again every {ms} ms",
        ),
        "container.exit": Kind(
            "state",
            2,
            ("node", "key", "container", "code"),
            "{container} exits {code}",
            "container {container} of Pod {key} on {node} exits with code {code}",
        ),
        "container.fail": Kind(
            "state",
            1,
            ("node", "key", "container", "code"),
            "{container} exits {code}",
            "container {container} of Pod {key} on {node} exits with code {code}",
        ),
        "container.oom": Kind(
            "state",
            1,
            ("node", "key", "container", "pid"),
            "{container} out of memory",
            "the kernel on {node} kills container {container} of Pod {key}: no memory is left for it",
        ),
        "kernel.oom": Kind(
            "state",
            1,
            ("node", "key", "container", "cgroup", "score"),
            "memory is full: kills {container}",
            "memory of cgroup {cgroup} on {node} is full; the kernel kills {container} of Pod {key}",
        ),
        "eviction.look": Kind(
            "work",
            2,
            ("node", "free"),
            "{free}Mi free",
            "the kubelet on {node} looks: {free}Mi of memory are free",
        ),
        "eviction.threshold": Kind(
            "work", 1, ("node", "threshold"), "{threshold}", "on {node} a threshold is crossed: {threshold}"
        ),
        "eviction.reclaim": Kind(
            "work", 1, ("node", "deed", "gone"), "{deed}: {gone}", "{node} frees disk: {deed}, and {gone} of them go"
        ),
        "eviction.evict": Kind(
            "state",
            1,
            ("node", "key", "signal", "why"),
            "evicts {key}",
            "the kubelet on {node} evicts Pod {key} for want of {signal}",
        ),
        "node.pressure": Kind(
            "state",
            1,
            ("node", "condition", "on"),
            "{condition}: {on:True|False}",
            "the kubelet on {node} {on:notes|no longer notes} {condition}",
        ),
        "container.backoff": Kind(
            "wait",
            1,
            ("node", "key", "container", "ms"),
            "back-off {ms} ms",
            "{node} waits {ms} ms before it starts container {container} of Pod {key} again",
        ),
        "container.pull-backoff": Kind(
            "wait",
            1,
            ("node", "key", "container", "ms"),
            "pull fails, {ms} ms",
            "{node} cannot pull the image of container {container} of Pod {key}; it tries again in {ms} ms",
        ),
        "pod.running": Kind(
            "state",
            1,
            ("node", "key"),
            "runs {key}",
            "on {node} every container of Pod {key} runs and is ready; its kubelet reports that",
        ),
        "pod.stop": Kind(
            "work",
            1,
            ("node", "key", "grace_ms"),
            "stops {key}",
            "{node} sends SIGTERM to the containers of Pod {key}; they have {grace_ms} ms",
        ),
        "node.power": Kind("state", 1, ("node", "on"), "power {on:on|off}", "{node} {on:has power again|loses power}"),
    }
)
