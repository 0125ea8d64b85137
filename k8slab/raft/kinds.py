"""The event kinds of a group, and how they look and read.

Upstream: none.
"""

from __future__ import annotations

from k8slab.sim import Kind, add_kinds

add_kinds(
    {
        "raft.role": Kind(
            "state", 1, ("id", "role", "term"), "{role}, term {term}", "node {id} becomes {role} at term {term}"
        ),
        "raft.send": Kind(
            "request",
            2,
            ("id", "type", "to", "term", "index", "count"),
            "{type} to {to}",
            "node {id} sends {type} to node {to}, term {term}",
        ),
        "raft.receive": Kind(
            "serve",
            2,
            ("id", "type", "sender", "term"),
            "{type} from {sender}",
            "node {id} hears {type} from node {sender}, term {term}",
        ),
        "raft.append": Kind(
            "write",
            2,
            ("id", "index", "term", "what"),
            "saves {term}/{index}",
            "node {id} saves entry {index} of term {term}: {what}",
        ),
        "raft.commit": Kind(
            "commit", 1, ("id", "index", "term"), "committed to {index}", "node {id} knows entry {index} is committed"
        ),
        "raft.apply": Kind(
            "work",
            2,
            ("id", "index", "term", "what"),
            "applies {index}",
            "node {id} applies entry {index} of term {term}: {what}",
        ),
        "raft.snapshot": Kind(
            "write",
            1,
            ("id", "index", "term", "how"),
            "snapshot at {index}",
            "node {id} {how} a snapshot up to entry {index}",
        ),
        "raft.propose": Kind("request", 1, ("what",), "propose {what}", "you propose {what}"),
        "raft.drop": Kind(
            "wait", 1, ("id", "what", "why"), "drops {what}", "node {id} takes no proposal {what}: {why}"
        ),
        "raft.config": Kind(
            "state", 1, ("id", "config"), "{config}", "node {id} works with the configuration {config}"
        ),
        "raft.leave": Kind("state", 1, ("id",), "leaves", "node {id} was removed from the group and stops"),
        "raft.crash": Kind("state", 1, ("id",), "crashes", "node {id} crashes; what its disk has not synced is lost"),
        "raft.start": Kind(
            "state",
            1,
            ("id", "term", "last"),
            "starts",
            "node {id} starts with what its disk has: term {term}, entries up to {last}",
        ),
    }
)
