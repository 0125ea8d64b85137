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
        "container.exit": Kind(
            "state",
            2,
            ("node", "key", "container", "code"),
            "{container} exits {code}",
            "container {container} of Pod {key} on {node} exits with code {code}",
        ),
        "container.backoff": Kind(
            "wait",
            2,
            ("node", "key", "container", "ms"),
            "back-off {ms} ms",
            "{node} waits {ms} ms before it starts container {container} of Pod {key} again",
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
        "node.power": Kind("state", 1, ("node", "on"), "power: {on}", "the power of {node} is on: {on}"),
    }
)
