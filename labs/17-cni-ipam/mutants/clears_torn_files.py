"""DEL removes files without content: their address may be in use."""

KILLED_BY = "writes-it-down"
CAUSE = "torn"
CHANGES = (
    (
        "if content == key]",
        'if content in (key, "")]',
    ),
)
