"""How the network's trace events read."""

from k8slab.sim.kinds import Kind, add_kinds

add_kinds(
    {
        "netns.add": Kind(
            "work",
            2,
            ("node", "key", "netns"),
            "namespace",
            "the runtime on {node} makes a network namespace for {key}",
        ),
        "netns.remove": Kind(
            "work", 2, ("node", "key", "netns"), "no namespace", "the runtime on {node} removes the namespace of {key}"
        ),
        "cni.exec": Kind(
            "work",
            2,
            ("node", "key", "command", "plugin", "caller"),
            "{command} {plugin}",
            "on {node}, {caller} runs {plugin} with {command} for {key}",
        ),
        "cni.fail": Kind(
            "state",
            1,
            ("node", "key", "command", "plugin", "caller", "message"),
            "{command} {plugin} fails",
            "on {node}, {command} of {plugin} for {key} fails: {message}",
        ),
        "sandbox.start": Kind(
            "state",
            2,
            ("node", "key", "ip"),
            "sandbox, {ip}",
            "the network of {key} is there, {ip}: the runtime on {node} starts its sandbox",
        ),
    }
)
