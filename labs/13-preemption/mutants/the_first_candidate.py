"""The first Node that can be cleared is cleared."""

KILLED_BY = "makes-room"
CAUSE = "node"
CHANGES = (
    (
        "    chosen = pick(candidates)",
        '    chosen = candidates[0]["node"]',
    ),
)
