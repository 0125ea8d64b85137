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
            "state",
            1,
            ("node", "key", "netns"),
            "{key} is torn down",
            "the network of {key} is torn down: the runtime on {node} removes its namespace",
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
        "packet.hop": Kind("work", 1, ("what", "place", "link", "text"), "{what} {link}", "{text}"),
        "packet.drop": Kind("state", 1, ("what", "place", "link", "text"), "dropped", "{text}"),
        "sandbox.start": Kind(
            "state",
            1,
            ("node", "key", "ip"),
            "sandbox, {ip}",
            "the network of {key} is there, {ip}: the runtime on {node} starts its sandbox",
        ),
    }
)
